// Special functions in double, one lane at a time. Formulas: NIST DLMF sections given at each.
#include "kernels/math_scalar.h"

#include <stdint.h>

static const double kPi = 3.14159265358979323846;

// The reentrant form: signgam is a race.
extern double lgamma_r(double x, int* sign);
double tt_math_lgamma(double x) {
  int sign;
  if (isinf(x)) return INFINITY;
  return lgamma_r(x, &sign);
}

// DLMF 5.5.2 (recurrence), 5.5.4 (reflection), 5.11.2 (asymptotic series).
double tt_math_digamma(double x) {
  if (x == 0) return copysign(INFINITY, -x);
  if (isnan(x)) return x;
  if (isinf(x)) return x > 0 ? x : NAN;
  double result = 0;
  if (x < 0) {
    if (x == floor(x)) return NAN;
    double fraction = x - rint(x);       // tan has period 1 here; the reduced argument is exact
    result = -kPi / tan(kPi * fraction);
    x = 1 - x;
  }
  // next to the zero 1.4616...: Taylor's series about it, else the sum would cancel
  const double root_high = 1.4616321449683622, root_low = 9.549995429965697e-17;
  double from_root = (x - root_high) - root_low;
  if (fabs(from_root) < 0.02 && result == 0) {
    // psi^(k)(root) / k!
    static const double c[] = {0.96767224544762117, -0.44276316898359211, 0.25849976095565101, -0.16394270544240653,
                               0.10782405069126237, -0.07219956125645471, 0.048804288164143107, -0.033161126474847359,
                               0.022597648232218105, -0.015424765904948959};
    double sum = 0;
    for (int i = 9; i >= 0; --i) sum = sum * from_root + c[i];
    return sum * from_root;
  }
  double shift = 0;
  while (x < 12) {
    shift += 1 / x;
    x += 1;
  }
  double z = 1 / (x * x);
  double series = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return result + ((log(x) - 0.5 / x - series) - shift);
}

// Halley's iteration on erf (or erfc, which keeps relative accuracy next to 1) from Winitzki's approximation.
double tt_math_erf_inv(double x) {
  double a = fabs(x);
  if (!(a <= 1)) return NAN;
  if (a == 1) return copysign(INFINITY, x);
  if (a < 1e-8) return x * 0.88622692545275801;   // sqrt(pi) / 2; the next term is x^3 * 0.23
  double q = 1 - a;
  double l = log1p(-a * a), k = 0.147;
  double t = 2 / (kPi * k) + 0.5 * l;
  double y = sqrt(sqrt(t * t - l / k) - t);
  for (int i = 0; i < 3; ++i) {
    double error = a < 0.5 ? erf(y) - a : q - erfc(y);
    double step = error * 0.88622692545275801 * exp(y * y);
    y -= step / (1 + y * step);
  }
  return copysign(y, x);
}

// exp(-|x|) I1(x): DLMF 10.25.2 (power series, all terms positive), 10.40.1 (large x).
double tt_math_bessel_i1e(double x) {
  if (isnan(x)) return x;
  double a = fabs(x), value;
  if (a <= 25) {
    double quarter = 0.25 * a * a, term = 0.5 * a, sum = term;
    for (int k = 1; k < 200; ++k) {
      term *= quarter / ((double)k * (k + 1));
      sum += term;
      if (term < sum * 0x1p-56) break;
    }
    value = sum * exp(-a);
  } else if (isinf(a)) {
    value = 0;
  } else {
    double term = 1, sum = 1, previous = 2;
    for (int k = 1; k < 40; ++k) {
      double odd = 2.0 * k - 1;
      term *= -(4 - odd * odd) / (8.0 * k * a);
      if (fabs(term) >= previous || fabs(term) < 0x1p-58) break;   // smallest term reached
      previous = fabs(term);
      sum += term;
    }
    value = sum / sqrt(2 * kPi * a);
  }
  return copysign(value, x);
}

// Euler-Maclaurin, DLMF 25.11.5, for q > 0.
static double tt_zeta_positive(double s, double q) {
  double sum = 0;
  for (int k = 0; k < 12 && q < 1e8; ++k) {
    double term = pow(q, -s);
    sum += term;
    if (term < sum * 0x1p-60) return sum;
    q += 1;
  }
  double tail = pow(q, -s);
  sum += tail * q / (s - 1) + 0.5 * tail;
  // B_2j / (2j)!
  static const double b[] = {8.3333333333333333e-2, -1.3888888888888889e-3, 3.3068783068783069e-5, -8.2671957671957672e-7,
                             2.0876756987868099e-8, -5.2841901386874932e-10, 1.3382536530684679e-11,
                             -3.3896802963225829e-13, 8.5860620562778446e-15, -2.1748686985580619e-16,
                             5.5090028283602295e-18, -1.3954464685812523e-19};
  double factor = s * tail / q;
  for (int j = 0; j < 12; ++j) {
    double term = b[j] * factor;
    sum += term;
    if (fabs(term) < fabs(sum) * 0x1p-58) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum;
}

double tt_math_zeta(double s, double q) {
  if (isnan(s) || isnan(q)) return NAN;
  if (s == 1) return INFINITY;
  if (s < 1) return NAN;
  if (q > 0) return isinf(q) ? 0 : tt_zeta_positive(s, q);
  if (q == floor(q)) return INFINITY;
  if (s != floor(s)) return NAN;           // a negative base to a broken power
  // the terms below zero are those of two positive sums: constant time for any q
  double fraction = q - floor(q);
  double sign = fmod(s, 2) == 0 ? 1 : -1;
  return tt_zeta_positive(s, fraction) + sign * (tt_zeta_positive(s, 1 - fraction) - tt_zeta_positive(s, 1 - q));
}

// DLMF 5.15.1: (-1)^(n+1) n! zeta(n + 1, x).
double tt_math_polygamma(double n, double x) {
  if (isnan(n) || isnan(x) || n < 0 || n != floor(n)) return NAN;
  if (n == 0) return tt_math_digamma(x);
  double sign = fmod(n, 2) == 0 ? -1 : 1;
  return sign * tgamma(n + 1) * tt_math_zeta(n + 1, x);
}
