// Scalar double functions of math.def: libm where it has them, else math_special.c.
#ifndef TT_VTPU_KERNELS_MATH_SCALAR_H_
#define TT_VTPU_KERNELS_MATH_SCALAR_H_

#include <math.h>

// math_special.c; each within about 1e-15 relative (absolute next to a zero of the function).
double tt_math_lgamma(double x);
double tt_math_digamma(double x);
double tt_math_erf_inv(double x);
double tt_math_bessel_i1e(double x);
double tt_math_zeta(double s, double q);          // Hurwitz
double tt_math_polygamma(double n, double x);

static inline double tt_math_exp(double x) { return exp(x); }
static inline double tt_math_expm1(double x) { return expm1(x); }
static inline double tt_math_log(double x) { return log(x); }
static inline double tt_math_log1p(double x) { return log1p(x); }
static inline double tt_math_logistic(double x) {
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
static inline double tt_math_cos(double x) { return cos(x); }
static inline double tt_math_sin(double x) { return sin(x); }
static inline double tt_math_tan(double x) { return tan(x); }
static inline double tt_math_tanh(double x) { return tanh(x); }
static inline double tt_math_rsqrt(double x) { return 1.0 / sqrt(x); }
static inline double tt_math_cbrt(double x) { return cbrt(x); }
static inline double tt_math_acos(double x) { return acos(x); }
static inline double tt_math_acosh(double x) { return acosh(x); }
static inline double tt_math_asin(double x) { return asin(x); }
static inline double tt_math_asinh(double x) { return asinh(x); }
static inline double tt_math_atan(double x) { return atan(x); }
static inline double tt_math_atanh(double x) { return atanh(x); }
static inline double tt_math_cosh(double x) { return cosh(x); }
static inline double tt_math_sinh(double x) { return sinh(x); }
static inline double tt_math_erf(double x) { return erf(x); }
static inline double tt_math_erfc(double x) { return erfc(x); }
static inline double tt_math_pow(double x, double y) { return pow(x, y); }
static inline double tt_math_atan2(double y, double x) { return atan2(y, x); }
static inline double tt_math_fmod(double x, double y) { return fmod(x, y); }

#endif  // TT_VTPU_KERNELS_MATH_SCALAR_H_
