// Vector maths of one ISA, written once in the vocabulary of math_vector_<isa>.h.
//
// f64 functions are within 4 ulp. f32 functions have f32 code of their own (math_impl_f32.h). A lane outside
// the range of a fast path is recomputed by the scalar reference for that lane alone, so a result never
// depends on its neighbours.
#include "kernels/math_coefficients.h"
#include "kernels/math_lanes.h"
#include "kernels/math_scalar.h"

#include <string.h>

#define kLn2High 0x1.62e42fefa0000p-1      // 38 bits: products with exponents are exact
#define kLn2Low 0x1.cf79abc9e3b3ap-40
#define kLog2E 0x1.71547652b82fep+0
#define kPiHalfA 0x1.921fb54442d18p+0
#define kPiHalfB 0x1.1a62633145c07p-54
#define kPiHalfC -0x1.f1976b7ed8fbcp-110
#define kTwoByPi 0x1.45f306dc9c883p-1

// Horner's rule over a constant table; unrolled by the compiler.
#define D_POLY(u, table) d_poly(u, table, (int)(sizeof(table) / sizeof((table)[0])))
#define F_POLY(u, table) f_poly(u, table, (int)(sizeof(table) / sizeof((table)[0])))
TT_VI vd d_poly(vd u, const double* c, int n) {
  vd r = d_set(c[n - 1]);
#pragma GCC unroll 32
  for (int i = n - 2; i >= 0; --i) r = d_fma(r, u, d_set(c[i]));
  return r;
}
TT_VI vf f_poly(vf u, const float* c, int n) {
  vf r = f_set(c[n - 1]);
#pragma GCC unroll 32
  for (int i = n - 2; i >= 0; --i) r = f_fma(r, u, f_set(c[i]));
  return r;
}

TT_VI vl l_set(int64_t v) { return (vl){0} + v; }
TT_VI vi i_set(int32_t v) { return (vi){0} + v; }
TT_VI vd d_abs(vd a) { return (vd)((vl)a & l_set(INT64_MAX)); }
TT_VI vd d_neg(vd a) { return (vd)((vl)a ^ l_set(INT64_MIN)); }
TT_VI vd d_copysign(vd a, vd s) { return (vd)(((vl)a & l_set(INT64_MAX)) | ((vl)s & l_set(INT64_MIN))); }
TT_VI vd d_xorsign(vd a, vd s) { return (vd)((vl)a ^ ((vl)s & l_set(INT64_MIN))); }
TT_VI md d_signed(vd a) { return l_bit((vl)a, INT64_MIN); }
TT_VI vf f_abs(vf a) { return (vf)((vi)a & i_set(INT32_MAX)); }
TT_VI vf f_copysign(vf a, vf s) { return (vf)(((vi)a & i_set(INT32_MAX)) | ((vi)s & i_set(INT32_MIN))); }
TT_VI mf f_signed(vf a) { return i_bit((vi)a, INT32_MIN); }
TT_VI vf f_xorsign(vf a, vf s) { return (vf)((vi)a ^ ((vi)s & i_set(INT32_MIN))); }
TT_VI vd d_max(vd a, vd b) { return d_sel(d_lt(a, b), b, a); }   // NaN of a stays
TT_VI vd d_min(vd a, vd b) { return d_sel(d_lt(b, a), b, a); }

// Recomputes the lanes of `m` by the scalar function.
TT_VI vd d_fix(vd r, md m, vd x, double (*f)(double)) {
  int bits = dm_bits(m);
  if (__builtin_expect(bits != 0, 0)) {
    double in[kD], out[kD];
    d_store(in, x);
    d_store(out, r);
    for (int i = 0; i < kD; ++i) {
      if (bits >> i & 1) out[i] = f(in[i]);
    }
    r = d_load(out);
  }
  return r;
}

TT_VI vd d_fix_2(vd r, md m, vd x, vd y, double (*f)(double, double)) {
  int bits = dm_bits(m);
  if (__builtin_expect(bits != 0, 0)) {
    double in[kD], second[kD], out[kD];
    d_store(in, x);
    d_store(second, y);
    d_store(out, r);
    for (int i = 0; i < kD; ++i) {
      if (bits >> i & 1) out[i] = f(in[i], second[i]);
    }
    r = d_load(out);
  }
  return r;
}

// ---- exp ---------------------------------------------------------------------------------------
// exp(hi + lo); |lo| is tiny against 1.
TT_VI vd d_exp2parts(vd x, vd lo) {
  // the clamp keeps n in d_scale's range; beyond it the result is 0 or infinity anyway
  vd clamped = d_min(d_max(x, d_set(-800)), d_set(800));
  vd n = d_rint(clamped * kLog2E);
  vd r = d_fnma(n, d_set(kLn2High), clamped);
  vd t = d_fnma(n, d_set(kLn2Low), r);
  lo = lo + ((r - t) - n * kLn2Low);
  vd q = t * t * D_POLY(t, kExp);
  vd p = d_fma(lo, q + t, q + lo) + t;       // exp(t) - 1 + lo exp(t)
  return d_scale(p + 1.0, n);
}
TT_VI vd d_exp(vd x) { return d_exp2parts(x, d_set(0)); }

TT_VI vd d_expm1(vd x) {
  vd clamped = d_min(d_max(x, d_set(-45)), d_set(800));
  vd n = d_rint(clamped * kLog2E);
  vd r = d_fnma(n, d_set(kLn2High), clamped);
  vd t = d_fnma(n, d_set(kLn2Low), r);
  vd lo = (r - t) - n * kLn2Low;
  vd p = d_fma(t * t, D_POLY(t, kExp), lo) + t;
  vd one = d_scale(d_set(1), d_neg(d_min(n, d_set(200))));
  vd result = d_scale(p + (1.0 - one), n);
  return d_sel(d_eq(x, d_set(0)), x, result);
}

// ---- log ---------------------------------------------------------------------------------------
// x = 2^k m, m in [sqrt(1/2), sqrt(2)); x positive and finite, denormals included.
TT_VI vd d_split_normal(vd x, vd* k) {
  vl bits = (vl)x;
  vl shifted = bits - 0x3fe6a09e00000000ll;               // so that the exponent steps at sqrt(1/2)
  vl e = (vl)((vu)(shifted + (1024ll << 52)) >> 52);     // >= 0 for every finite positive double
  *k = (vd)(e | 0x4330000000000000ll) - (0x1p52 + 1024);
  return (vd)((shifted & 0xfffffffffffffll) + 0x3fe6a09e00000000ll);
}
TT_VI vd d_split(vd x, vd* k) {
  md tiny = d_lt(x, d_set(0x1p-1022));
  vd m = d_split_normal(d_sel(tiny, x * 0x1p54, x), k);
  *k = d_sel(tiny, *k - 54.0, *k);
  return m;
}
// the values that d_split does not cover
TT_VI vd d_log_edges(vd r, vd x) {
  r = d_sel(d_eq(x, d_set(INFINITY)), x, r);
  r = d_sel(d_eq(x, d_set(0)), d_set(-INFINITY), r);
  return d_sel(dm_or(d_lt(x, d_set(0)), d_nan(x, x)), d_set(NAN), r);
}
TT_VI vd d_log(vd x) {
  vd k, m = d_split(x, &k);
  vd f = m - 1.0;
  vd s = f / (f + 2.0), z = s * s;
  vd h = 0.5 * f * f;
  // log m = f - f^2/2 + s (f^2/2 + z P(z)), so that the rounding of s matters little
  vd r = s * (h + z * D_POLY(z, kLog));
  return d_log_edges(d_fma(k, d_set(kLn2High), f - (h - d_fma(k, d_set(kLn2Low), r))), x);
}
// log x = hi + lo to about 2^-64; positive finite x.
TT_VI void d_log_pair(vd x, vd* hi, vd* lo) {
  vd k, m = d_split(x, &k);
  vd f = m - 1.0, t = f + 2.0;
  vd t_lo = f - (t - 2.0);
  vd s = f / t;
  vd s_lo = (d_fnma(s, t, f) - s * t_lo) / t;
  vd z = s * s, z_lo = d_fma(2.0 * s, s_lo, d_fma(s, s, d_neg(z)));
  vd q = z * D_POLY(z, kLogTail);
  vd a = q + 0x1.5555555555555p-1, a_lo = (q - (a - 0x1.5555555555555p-1)) + 0x1.5555555555555p-55;
  vd b = z * a, b_lo = d_fma(z, a, d_neg(b)) + d_fma(z, a_lo, z_lo * a);
  vd c = b + 2.0, c_lo = (b - (c - 2.0)) + b_lo;
  vd l = s * c, l_lo = d_fma(s, c, d_neg(l)) + d_fma(s, c_lo, s_lo * c);
  vd kh = k * kLn2High;
  vd sum = kh + l;
  vd rest = (l - (sum - kh)) + d_fma(k, d_set(kLn2Low), l_lo);
  *hi = sum + rest;
  *lo = rest - (*hi - sum);
}
TT_VI vd d_log1p(vd x) {
  vd u = x + 1.0, b = u - 1.0;
  vd c = (1.0 - (u - b)) + (x - b);          // 1 + x = u + c exactly
  vd r = d_log(u) + c / u;
  r = d_sel(d_lt(d_abs(x), d_set(0x1p-54)), x, r);
  r = d_sel(d_eq(x, d_set(INFINITY)), x, r);
  return d_sel(d_eq(x, d_set(-1)), d_set(-INFINITY), r);
}

// ---- sin, cos, tan -----------------------------------------------------------------------------
// x = q pi/2 + r + r_lo; q as the low bits of a double's mantissa. Good for |x| <= 2^27.
TT_VI vl d_reduce(vd x, vd* r, vd* r_lo) {
  vd magic = d_fma(x, d_set(kTwoByPi), d_set(0x1.8p52));
  vd n = magic - 0x1.8p52;
  vd a = d_fnma(n, d_set(kPiHalfA), x);       // exact
  vd p = n * kPiHalfB, p_lo = d_fma(n, d_set(kPiHalfB), d_neg(p));
  vd hi = a - p, v = hi - a;
  vd lo = (a - (hi - v)) - (p + v);
  lo = lo - d_fma(n, d_set(kPiHalfC), p_lo);
  *r = hi + lo;
  *r_lo = lo - (*r - hi);
  return (vl)magic;
}
TT_VI vd d_sin_kernel(vd r, vd lo) {
  vd z = r * r;
  vd p = D_POLY(z, kSin);
  return r + d_fma(z * r, p, lo * d_fma(z, d_set(-0.5), d_set(1)));
}
TT_VI vd d_cos_kernel(vd r, vd lo) {
  vd z = r * r, h = 0.5 * z, w = 1.0 - h;
  return w + (((1.0 - w) - h) + d_fma(z * z, D_POLY(z, kCos), d_neg(r * lo)));
}
TT_VI md d_huge(vd x) { return dm_not(d_le(d_abs(x), d_set(0x1p27))); }
TT_VI vd d_sin(vd x) {
  vd r, lo;
  vl q = d_reduce(x, &r, &lo);
  vd v = d_sel(l_bit(q, 1), d_cos_kernel(r, lo), d_sin_kernel(r, lo));
  v = (vd)((vl)v ^ ((q & 2) << 62));
  v = d_sel(d_lt(d_abs(x), d_set(0x1p-30)), x, v);   // keeps -0 and denormals
  return d_fix(v, d_huge(x), x, tt_math_sin);
}
TT_VI vd d_cos(vd x) {
  vd r, lo;
  vl q = d_reduce(x, &r, &lo);
  vd v = d_sel(l_bit(q, 1), d_sin_kernel(r, lo), d_cos_kernel(r, lo));
  v = (vd)((vl)v ^ (((q + 1) & 2) << 62));
  return d_fix(v, d_huge(x), x, tt_math_cos);
}
TT_VI vd d_tan(vd x) {
  vd r, lo;
  vl q = d_reduce(x, &r, &lo);
  vd s = d_sin_kernel(r, lo), c = d_cos_kernel(r, lo);
  md odd = l_bit(q, 1);
  vd v = d_sel(odd, d_neg(c), s) / d_sel(odd, s, c);
  v = d_sel(d_lt(d_abs(x), d_set(0x1p-30)), x, v);
  return d_fix(v, d_huge(x), x, tt_math_tan);
}

// ---- hyperbolic --------------------------------------------------------------------------------
TT_VI vd d_tanh(vd x) {
  vd a = d_abs(x), e = d_expm1(d_min(2.0 * a, d_set(60)));
  vd r = d_copysign(e / (e + 2.0), x);
  return d_sel(d_nan(x, x), x, r);
}
TT_VI vd d_sinh(vd x) {
  vd a = d_abs(x), e = d_expm1(a);
  vd small = 0.5 * (e + e / (e + 1.0));
  vd half = d_exp(0.5 * a);
  vd r = d_sel(d_lt(a, d_set(700)), small, (0.5 * half) * half);
  return d_copysign(r, x);
}
TT_VI vd d_cosh(vd x) {
  vd a = d_abs(x), e = d_exp(a), half = d_exp(0.5 * a);
  return d_sel(d_lt(a, d_set(700)), d_fma(d_set(0.5), e, 0.5 / e), (0.5 * half) * half);
}
TT_VI vd d_asinh(vd x) {
  vd a = d_abs(x), b = d_min(a, d_set(0x1p30)), z = b * b;
  vd small = d_log1p(b + z / (1.0 + d_sqrt(z + 1.0)));
  vd large = d_log(a) + 0x1.62e42fefa39efp-1;
  vd r = d_copysign(d_sel(d_lt(a, d_set(0x1p29)), small, large), x);
  return d_sel(d_nan(x, x), x, r);
}
TT_VI vd d_acosh(vd x) {
  vd t = d_min(x, d_set(0x1p30)) - 1.0;
  vd small = d_log1p(t + d_sqrt(d_fma(t, t, 2.0 * t)));
  vd r = d_sel(d_lt(x, d_set(0x1p29)), small, d_log(x) + 0x1.62e42fefa39efp-1);
  return d_sel(d_le(d_set(1), x), r, d_set(NAN));
}
TT_VI vd d_atanh(vd x) {
  vd a = d_abs(x);
  vd r = 0.5 * d_log1p(2.0 * a / (1.0 - a));
  r = d_sel(d_eq(a, d_set(1)), d_set(INFINITY), r);
  return d_sel(d_le(a, d_set(1)), d_copysign(r, x), d_set(NAN));
}

// ---- inverse trigonometric ---------------------------------------------------------------------
// atan(small / large) for 0 <= small <= large, as hi + lo added to `base` by the caller's signs.
TT_VI vd d_atan_ratio(vd small, vd large, vd* offset, vd* offset_lo) {
  md high = d_lt(0x1.a827999fcef32p-2 * large, small);        // ratio above tan(pi/8)
  vd numerator = d_sel(high, small - large, small);
  vd denominator = d_sel(high, small + large, large);
  vd t = numerator / denominator;
  t = d_sel(d_eq(denominator, d_set(0)), d_set(0), t);
  *offset = d_sel(high, d_set(0x1.921fb54442d18p-1), d_set(0));
  *offset_lo = d_sel(high, d_set(0x1.1a62633145c07p-55), d_set(0));
  vd z = t * t;
  *offset_lo = d_fma(t * z, D_POLY(z, kAtan), *offset_lo);
  return t;
}
TT_VI vd d_atan2(vd y, vd x) {
  vd ay = d_abs(y), ax = d_abs(x);
  md infinite = dm_and(d_eq(ay, d_set(INFINITY)), d_eq(ax, d_set(INFINITY)));
  ay = d_sel(infinite, d_set(1), ay);
  ax = d_sel(infinite, d_set(1), ax);
  md swap = d_lt(ax, ay);
  vd small = d_sel(swap, ax, ay), large = d_sel(swap, ay, ax);
  md big = d_lt(d_set(0x1p1000), large);                       // the sum must not overflow
  small = d_sel(big, small * 0x1p-10, small);
  large = d_sel(big, large * 0x1p-10, large);
  md flat = d_eq(large, d_set(INFINITY));
  small = d_sel(flat, d_set(0), small);
  large = d_sel(flat, d_set(1), large);
  vd offset, lo, t = d_atan_ratio(small, large, &offset, &lo);
  // pi/2 - angle, then pi - angle
  t = d_sel(swap, d_neg(t), t);
  lo = d_sel(swap, 0x1.1a62633145c07p-54 - lo, lo);
  offset = d_sel(swap, kPiHalfA - offset, offset);
  md left = d_signed(x);
  t = d_sel(left, d_neg(t), t);
  lo = d_sel(left, 0x1.1a62633145c07p-53 - lo, lo);
  offset = d_sel(left, 0x1.921fb54442d18p+1 - offset, offset);
  // offset and t may cancel partly (0.75 pi - t); both are exact enough for 1 ulp
  vd r = offset + t;
  vd error = t - (r - offset);
  r = r + (error + lo);
  r = d_sel(dm_or(d_nan(x, x), d_nan(y, y)), d_set(NAN), d_copysign(r, y));
  return r;
}
TT_VI vd d_atan(vd x) { return d_atan2(x, d_set(1)); }
TT_VI vd d_asin(vd x) {
  vd a = d_abs(x);
  md high = d_lt(d_set(0.5), a);
  vd z = d_sel(high, 0.5 * (1.0 - a), a * a);
  vd s = d_sel(high, d_sqrt(z), a);
  vd p = d_fma(s * z, D_POLY(z, kAsin), s);
  // pi/2 - 2 asin(s)
  vd r = d_sel(high, kPiHalfA - (2.0 * p - kPiHalfB), p);
  return d_copysign(r, x);
}
TT_VI vd d_acos(vd x) {
  vd a = d_abs(x);
  md high = d_lt(d_set(0.5), a), negative = d_lt(x, d_set(0));
  vd z = d_sel(high, 0.5 * (1.0 - a), a * a);
  vd s = d_sel(high, d_sqrt(z), a);
  vd tail = s * z * D_POLY(z, kAsin);
  vd signed_s = d_sel(negative, d_neg(s), s), signed_tail = d_sel(negative, d_neg(tail), tail);
  vd middle = kPiHalfA - (signed_s - (kPiHalfB - signed_tail));
  vd near_one = 2.0 * (s + tail);
  vd near_minus = 2.0 * (kPiHalfA - (s + (tail - kPiHalfB)));
  return d_sel(high, d_sel(negative, near_minus, near_one), middle);
}

// ---- cbrt, rsqrt, logistic ---------------------------------------------------------------------
// within 0.6% on [0.7, 5.7]
static const double kCbrtStart[] = {0.577170706154474, 0.532815038400607, -0.13039211962571534,
                                    0.019962100158153417, -0.001224099841089424};
TT_VI vd d_cbrt(vd x) {
  vd a = d_abs(x), k, m = d_split(a, &k);
  // k = 3 n + j, j in 0, 1, 2; the cube root of m 2^j by Halley's iteration, then 2^n
  vd n = d_rint((k - 1.0) * (1.0 / 3));
  vd j = k - 3.0 * n;
  m = d_scale(m, j);
  vd y = D_POLY(m, kCbrtStart);
  for (int i = 0; i < 2; ++i) {
    vd c = y * y * y;
    y = y * (c + 2.0 * m) / (2.0 * c + m);
  }
  // last step with the residual formed exactly enough to leave half an ulp
  vd sq = y * y, sq_lo = d_fma(y, y, d_neg(sq));
  vd residual = d_fma(sq, y, d_neg(m)) + sq_lo * y;
  y = y - residual / (3.0 * sq);
  vd r = d_copysign(d_scale(y, n), x);
  md plain = dm_and(d_lt(d_set(0), a), d_lt(a, d_set(INFINITY)));
  return d_sel(plain, r, x);
}
TT_VI vd d_rsqrt(vd x) { return 1.0 / d_sqrt(x); }
TT_VI vd d_logistic(vd x) {
  vd e = d_exp(d_neg(d_abs(x)));
  return d_sel(d_lt(x, d_set(0)), e, d_set(1)) / (e + 1.0);
}

// ---- erf, erfc ---------------------------------------------------------------------------------
// exp(-a^2) Q: a >= 0.8
TT_VI vd d_erfc_tail(vd a) {
  a = d_min(a, d_set(28));
  vd t = (a - 4.0) / (a + 4.0);
  vd z = a * a, z_lo = d_fma(a, a, d_neg(z));
  return d_exp2parts(d_neg(z), d_neg(z_lo)) * D_POLY(t, kErfc) / d_fma(d_set(2), a, d_set(1));
}
TT_VI vd d_erf(vd x) {
  vd a = d_abs(x), z = d_min(a * a, d_set(1));
  vd near = a * D_POLY(z, kErf);
  vd far = 1.0 - d_erfc_tail(d_max(a, d_set(0.8)));
  vd r = d_copysign(d_sel(d_lt(a, d_set(0.85)), near, far), x);
  return d_sel(d_nan(x, x), x, r);
}
TT_VI vd d_erfc(vd x) {
  vd a = d_abs(x), z = d_min(a * a, d_set(1));
  vd near = 1.0 - x * D_POLY(z, kErf);
  vd tail = d_erfc_tail(d_max(a, d_set(0.8)));
  vd far = d_sel(d_lt(x, d_set(0)), 2.0 - tail, tail);
  // between 0.5 and 0.8 1 - erf loses a bit at most
  vd r = d_sel(d_lt(a, d_set(0.8)), near, far);
  return d_sel(d_nan(x, x), x, r);
}

// ---- pow ---------------------------------------------------------------------------------------
// Special values of C's pow around r = |x|^y.
TT_VI vd d_pow_edges(vd r, vd x, vd y) {
  vd ax = d_abs(x), ay = d_abs(y);
  vd zero = d_set(0), one = d_set(1), infinity = d_set(INFINITY);
  md y_negative = d_lt(y, zero);
  md y_integer = d_eq(d_rint(y), y);
  vd half = y * 0.5;
  md y_odd = dm_and(y_integer, dm_and(dm_not(d_eq(d_rint(half), half)), d_lt(ay, d_set(0x1p53))));
  r = d_sel(d_eq(ax, zero), d_sel(y_negative, infinity, zero), r);
  r = d_sel(d_eq(ax, infinity), d_sel(y_negative, zero, infinity), r);
  r = d_sel(dm_and(d_eq(ay, infinity), d_eq(ax, one)), one, r);
  r = d_sel(dm_and(d_signed(x), y_odd), d_neg(r), r);
  // a finite negative base to a broken power
  r = d_sel(dm_and(dm_and(d_lt(x, zero), dm_not(y_integer)), d_lt(ax, infinity)), d_set(NAN), r);
  r = d_sel(dm_or(d_nan(x, x), d_nan(y, y)), d_set(NAN), r);
  return d_sel(dm_or(d_eq(y, zero), d_eq(x, one)), one, r);
}
TT_VI vd d_pow(vd x, vd y) {
  vd hi, lo, a = d_abs(x);
  d_log_pair(a, &hi, &lo);
  vd p = y * hi, p_lo = d_fma(y, hi, d_neg(p)) + y * lo;
  md large = d_lt(d_set(790), d_abs(p));
  p_lo = d_sel(large, d_set(0), p_lo);
  return d_pow_edges(d_exp2parts(p, p_lo), x, y);
}

// ---- remainder ---------------------------------------------------------------------------------
// Exact, as f_fmod says.
TT_VI vd d_fmod(vd x, vd y) {
  vd a = d_abs(x), b = d_abs(y), q = a / b;
  vd r = d_fnma(d_trunc(q), b, a);
  r = d_sel(d_lt(r, d_set(0)), r + b, r);
  r = d_copysign(r, x);
  md plain = dm_and(d_lt(q, d_set(0x1p53)), d_lt(b, d_set(INFINITY)));
  return d_fix_2(r, dm_not(plain), x, y, tt_math_fmod);
}
