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
#define kLn2 0x1.62e42fefa39efp-1
#define kLn2Rest 0x1.abc9e3b39803fp-56
#define kLog2E 0x1.71547652b82fep+0
#define kLog2ELow 0x1.777d0ffda0d24p-56
#define kPiHalfA 0x1.921fb54442d18p+0
#define kPiHalfB 0x1.1a62633145c07p-54
#define kPiHalfC -0x1.f1976b7ed8fbcp-110
#define kHalfRootPi 0x1.c5bf891b4ef6ap-1
#define kHalfLog2Pi 0x1.d67f1c864beb4p-1
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
// The same in 2 or 4 interleaved parts: where the chain of a long polynomial is what takes the time
// (schedulers hold two or three lanes' work at once) and its last bits do not matter.
#define D_WIDE_POLY(u, table) d_wide_poly(u, table, (int)(sizeof(table) / sizeof((table)[0])))
TT_VI vd d_spaced_poly(vd u, const double* c, int n, int step) {
  int last = (n - 1) / step * step;
  vd r = d_set(c[last]);
#pragma GCC unroll 32
  for (int i = last - step; i >= 0; i -= step) r = d_fma(r, u, d_set(c[i]));
  return r;
}
TT_VI vd d_wide_poly(vd u, const double* c, int n) {
  vd uu = u * u, u4 = uu * uu;
  if (n < 12) return d_fma(d_spaced_poly(uu, c + 1, n - 1, 2), u, d_spaced_poly(uu, c, n, 2));
  vd low = d_fma(d_spaced_poly(u4, c + 1, n - 1, 4), u, d_spaced_poly(u4, c, n, 4));
  vd high = d_fma(d_spaced_poly(u4, c + 3, n - 3, 4), u, d_spaced_poly(u4, c + 2, n - 2, 4));
  return d_fma(high, uu, low);
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
// Is a lane false? Rare values of a function go behind one branch on it; what is computed there has the same
// bits in the other lanes.
#define TT_RARE static __attribute__((noinline))
TT_VI int d_some_not(md m) { return __builtin_expect(dm_bits(m) != (1 << kD) - 1, 0); }
TT_VI int f_some_not(mf m) { return __builtin_expect(fm_bits(m) != (1 << kF) - 1, 0); }

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
// exp(x) = exp(t) 2^n, |t| < 0.347; d_exp_tail: exp(t) - 1
TT_VI vd d_exp_reduce(vd x, vd* n) {
  *n = d_rint(x * kLog2E);
  return d_fnma(*n, d_set(kLn2Low), d_fnma(*n, d_set(kLn2High), x));
}
TT_VI vd d_exp_tail(vd t) { return d_fma(t * t, D_WIDE_POLY(t, kExp), t); }
TT_RARE vd d_exp_rare(vd x) {
  vd n, t = d_exp_reduce(d_min(d_max(x, d_set(-800)), d_set(800)), &n);
  return d_scale(d_exp_tail(t) + 1.0, n);
}
TT_VI vd d_exp(vd x) {
  if (d_some_not(d_lt(d_abs(x), d_set(708)))) return d_exp_rare(x);
  vd n, t = d_exp_reduce(x, &n);
  return d_scale_normal(d_exp_tail(t) + 1.0, n);
}
// -45 <= x <= 710
TT_VI vd d_expm1_core(vd x) {
  vd n, p = d_exp_tail(d_exp_reduce(x, &n));
  vd half = (vd)((vl)(n + (0x1.8p52 + 1022)) << 52);   // 2^(n - 1): n reaches 1024
  return d_sel(d_lt(d_abs(x), d_set(0x1p-60)), x, 2.0 * d_fma(p, half, half - 0.5));
}
TT_VI vd d_expm1(vd x) { return d_expm1_core(d_min(d_max(x, d_set(-45)), d_set(710))); }

// ---- log ---------------------------------------------------------------------------------------
// x = 2^k m, m in [sqrt(1/2), sqrt(2)); x positive and finite, denormals included. The exponent steps at
// `base`, the bits of m's lower bound: returns the distance from it, in whose low 52 bits is m's.
static const int64_t kLogBase = 0x3fe6a09e00000000;
TT_VI vl d_exponent(vd x, int64_t base, vd* k) {
  vl shifted = (vl)x - base;
  vl e = (vl)((vu)(shifted + (1024ll << 52)) >> 52);     // >= 0 for every finite positive double
  *k = (vd)(e | 0x4330000000000000ll) - (0x1p52 + 1024);
  return shifted;
}
TT_VI vd d_split_normal(vd x, vd* k) {
  return (vd)((d_exponent(x, kLogBase, k) & 0xfffffffffffffll) + kLogBase);
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
// log(2^k (1 + f)), 1 + f in [sqrt(1/2), sqrt(2))
TT_VI vd d_log_core(vd f, vd k) {
  vd s = f / (f + 2.0), z = s * s;
  vd h = 0.5 * f * f;
  // log m = f - f^2/2 + s (f^2/2 + z P(z)), so that the rounding of s matters little
  vd r = s * (h + z * D_WIDE_POLY(z, kLog));
  return d_fma(k, d_set(kLn2High), f - (h - d_fma(k, d_set(kLn2Low), r)));
}
TT_RARE vd d_log_rare(vd x) {
  vd k, m = d_split(x, &k);
  return d_log_edges(d_log_core(m - 1.0, k), x);
}
TT_VI vd d_log(vd x) {
  if (d_some_not(dm_and(d_le(d_set(0x1p-1022), x), d_lt(x, d_set(INFINITY))))) return d_log_rare(x);
  vd k, m = d_split_normal(x, &k);
  return d_log_core(m - 1.0, k);
}
// log(u + c); u positive and normal, c small against it. u = 1 and a tiny c keep c's relative
// accuracy.
TT_VI vd d_log_sum(vd u, vd c) {
  vd k;
  vl shifted = d_exponent(u, kLogBase, &k);
  vd unit = (vd)(0x3ff0000000000000ll - (shifted & ~0xfffffffffffffll));   // 2^-k; k = 1024: < 0
  vd m = (vd)((shifted & 0xfffffffffffffll) + kLogBase);
  return d_log_core(d_fma(c, d_max(unit, d_set(0)), m - 1.0), k);
}
// log(1 + w), -1 < w < infinity; the sum's error, w - (u - 1), is exact wherever it matters.
TT_VI vd d_log1p_core(vd w) {
  vd u = w + 1.0;
  return d_log_sum(u, w - (u - 1.0));
}
TT_VI vd d_log1p(vd x) {
  vd r = d_log1p_core(x);
  r = d_sel(d_lt(d_set(-1), x), r, d_sel(d_eq(x, d_set(-1)), d_set(-INFINITY), d_set(NAN)));
  return d_sel(dm_or(d_eq(x, d_set(0)), d_eq(x, d_set(INFINITY))), x, r);
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
  vd a = d_abs(x), e = d_expm1_core(d_min(2.0 * a, d_set(60)));
  return d_copysign(e / (e + 2.0), x);
}
// exp(a) / 4, 0 <= a; infinite hyperbolic functions come from 2 e
TT_VI vd d_exp_quarter(vd a) {
  vd n, p = d_exp_tail(d_exp_reduce(d_min(a, d_set(710.5)), &n));
  return (p + 1.0) * (vd)((vl)(n + (0x1.8p52 + 1021)) << 52);
}
TT_VI vd d_cosh(vd x) {
  vd e = d_exp_quarter(d_abs(x));
  return d_fma(d_set(2), e, 0.125 / e);
}
TT_VI vd d_sinh(vd x) {
  vd a = d_abs(x), e = d_exp_quarter(a), z = a * a;
  vd near = d_fma(a * z, D_POLY(z, kSinh), a);
  vd far = d_fma(d_set(2), e, -0.125 / e);
  return d_copysign(d_sel(d_lt(a, d_set(1)), near, far), x);
}
// log 2 a of 2^60 < a
TT_RARE vd d_asinh_rare(vd r, vd a) {
  vd k, m = d_split_normal(a, &k);
  r = d_sel(d_lt(d_set(0x1p60), a), d_log_core(m - 1.0, k + 1.0), r);
  return d_sel(d_lt(a, d_set(INFINITY)), r, a);
}
TT_VI vd d_asinh(vd x) {
  vd a = d_abs(x), b = d_min(a, d_set(0x1p60)), z = b * b, root = d_sqrt(z + 1.0);
  vd near = d_fma(a * z, D_WIDE_POLY(z, kAsinh), a);
  // log(root + a), the sum in two parts; root is the larger
  vd u = root + b, r = d_log_sum(u, b - (u - root));
  r = d_sel(d_lt(a, d_set(0.5)), near, r);
  if (d_some_not(d_lt(a, d_set(0x1p60)))) r = d_asinh_rare(r, a);
  return d_copysign(r, x);
}
TT_VI vd d_acosh_core(vd x) {
  vd t = x - 1.0;
  return d_log1p_core(t + d_sqrt(d_fma(t, t, t + t)));
}
TT_RARE vd d_acosh_rare(vd x) {
  vd k, m = d_split_normal(x, &k);
  md big = d_le(d_set(0x1p500), x);                    // log 2 x
  vd r = d_sel(big, d_log_core(m - 1.0, k + 1.0), d_acosh_core(d_min(x, d_set(0x1p500))));
  return d_sel(d_le(d_set(1), x), d_sel(d_eq(x, d_set(INFINITY)), x, r), d_set(NAN));
}
TT_VI vd d_acosh(vd x) {
  if (d_some_not(dm_and(d_le(d_set(1), x), d_lt(x, d_set(0x1p500))))) return d_acosh_rare(x);
  return d_acosh_core(x);
}
TT_VI vd d_atanh(vd x) {
  vd a = d_abs(x), one = d_set(1);
  vd r = 0.5 * d_log1p_core((a + a) / (one - a));
  r = d_sel(d_lt(a, one), r, d_sel(d_eq(a, one), d_set(INFINITY), d_set(NAN)));
  return d_copysign(r, x);
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
  *offset_lo = d_fma(t * z, D_WIDE_POLY(z, kAtan), *offset_lo);
  return t;
}
// The angle of |x|, |y| to that of the signs.
TT_VI vd d_atan2_core(vd small, vd large, md swap, vd y, vd x) {
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
  return d_copysign(r + (error + lo), y);
}
TT_RARE vd d_atan2_rare(vd y, vd x) {
  vd ay = d_abs(y), ax = d_abs(x);
  md infinite = dm_and(d_eq(ay, d_set(INFINITY)), d_eq(ax, d_set(INFINITY)));
  ay = d_sel(infinite, d_set(1), ay);
  ax = d_sel(infinite, d_set(1), ax);
  md swap = d_lt(ax, ay);
  vd small = d_sel(swap, ax, ay), large = d_sel(swap, ay, ax);
  md big = d_lt(d_set(0x1p1000), large);                       // the sum must not overflow
  small = d_sel(big, small * 0x1p-10, small);
  large = d_sel(big, large * 0x1p-10, large);
  md flat = dm_or(d_eq(large, d_set(INFINITY)), d_eq(large, d_set(0)));
  small = d_sel(flat, d_set(0), small);
  large = d_sel(flat, d_set(1), large);
  vd r = d_atan2_core(small, large, swap, y, x);
  return d_sel(dm_or(d_nan(x, x), d_nan(y, y)), d_set(NAN), r);
}
TT_VI vd d_atan2(vd y, vd x) {
  vd ay = d_abs(y), ax = d_abs(x);
  md swap = d_lt(ax, ay);
  vd large = d_max(ax, ay);
  md plain = dm_and(d_lt(d_set(0), large), d_lt(ax + ay, d_set(0x1p1000)));
  if (d_some_not(plain)) return d_atan2_rare(y, x);
  return d_atan2_core(d_min(ax, ay), large, swap, y, x);
}
TT_VI vd d_atan(vd x) {
  vd a = d_abs(x);
  // beyond tan pi/8, tan 3 pi/8
  md middle = d_lt(d_set(0x1.a827999fcef32p-2), a), far = d_lt(d_set(0x1.3504f333f9de6p+1), a);
  // pi/2 + atan(-1 / a), pi/4 + atan((a - 1) / (a + 1)), atan(a)
  vd t = d_sel(far, d_set(-1), d_sel(middle, a - 1.0, a)) / d_sel(far, a, d_sel(middle, a + 1.0, d_set(1)));
  vd base = d_sel(far, d_set(kPiHalfA), d_sel(middle, d_set(0.5 * kPiHalfA), d_set(0)));
  vd z = t * t;
  vd tail = d_fma(base, d_set(kPiHalfB / kPiHalfA), t * z * D_WIDE_POLY(z, kAtan));
  return d_copysign(base + (t + tail), x);
}
TT_VI vd d_asin(vd x) {
  vd a = d_abs(x);
  md high = d_lt(d_set(0.5), a);
  vd z = d_sel(high, 0.5 * (1.0 - a), a * a);
  vd s = d_sel(high, d_sqrt(z), a);
  vd p = d_fma(s * z, D_WIDE_POLY(z, kAsin), s);
  // pi/2 - 2 asin(s)
  vd r = d_sel(high, kPiHalfA - (2.0 * p - kPiHalfB), p);
  return d_copysign(r, x);
}
TT_VI vd d_acos(vd x) {
  vd a = d_abs(x);
  md high = d_lt(d_set(0.5), a), negative = d_lt(x, d_set(0));
  vd z = d_sel(high, 0.5 * (1.0 - a), a * a);
  vd s = d_sel(high, d_sqrt(z), a);
  vd tail = s * z * D_WIDE_POLY(z, kAsin);
  // pi/2 - asin x; 2 asin s; pi - 2 asin s
  vd base = d_sel(high, d_sel(negative, d_set(2 * kPiHalfA), d_set(0)), d_set(kPiHalfA));
  vd factor = d_xorsign(d_sel(high, d_set(2), d_set(-1)), x);
  return d_fma(factor, s, d_fma(factor, tail, base * (kPiHalfB / kPiHalfA))) + base;
}

// ---- cbrt, rsqrt, logistic ---------------------------------------------------------------------
// y = a^(-1/3) from the third of the upper half's bits (kCbrtStart: |h| < 0.103), by the series of (1 -
// h)^(-1/3), h = 1 - a y^3, to 2^-16 and 2^-53; then x = a y^2 and one step of Newton's with the residual in
// two parts.
static const int64_t kCbrtStart = 0x553ee900;
TT_VI vd d_cbrt(vd x) {
  vd a = d_abs(x);
  md tiny = d_lt(a, d_set(0x1p-600));
  vd m = d_sel(tiny, a * 0x1p600, a);
  vl third = (vl)((vu)l_product((vl)((vu)(vl)m >> 32), l_set(0x55555556)) >> 32);
  vd y = (vd)((l_set(kCbrtStart) - third) << 32);
  for (int i = 0; i < 2; ++i) {
    vd h = d_fnma(m * y, y * y, d_set(1));
    y = d_fma(y * h, d_fma(h, d_fma(h, d_set(14.0 / 81), d_set(2.0 / 9)), d_set(1.0 / 3)), y);
  }
  vd yy = y * y, r = m * yy;
  vd s = r * r, s_lo = d_fma(r, r, d_neg(s));
  vd residual = d_fma(s_lo, r, d_fma(s, r, d_neg(m)));
  r = d_fnma(residual * (1.0 / 3), yy, r);
  r = d_copysign(d_sel(tiny, r * 0x1p-200, r), x);
  md plain = dm_and(d_lt(d_set(0), a), d_lt(a, d_set(INFINITY)));
  return d_sel(plain, r, x);
}
TT_VI vd d_rsqrt(vd x) { return 1.0 / d_sqrt(x); }
TT_VI vd d_logistic(vd x) {
  vd e = d_exp(d_neg(d_abs(x)));
  return d_sel(d_lt(x, d_set(0)), e, d_set(1)) / (e + 1.0);
}

// ---- erf, erfc ---------------------------------------------------------------------------------
// exp(-a^2) P(t) / (a + c), t = (a - c) / (a + c): a >= 0.8, to 2^-54 absolutely with c = 3, else relatively
// with c = 4. z_lo makes -a^2 exact; the quotient is in two parts.
TT_VI vd d_erf(vd x) {
  vd a = d_min(d_abs(x), d_set(6)), z = a * a;          // NaN stays
  vd near = a * D_POLY(z, kErf);
  vd t = (a - 3.0) / (a + 3.0);
  vd n, p = d_exp_tail(d_exp_reduce(d_neg(z), &n)), q = D_WIDE_POLY(t, kErfFar) / (a + 3.0);
  vd far = 1.0 - d_fma(p, q, q) * (vd)((vl)(n + (0x1.8p52 + 1023)) << 52);
  return d_copysign(d_sel(d_lt(a, d_set(0.85)), near, far), x);
}
TT_VI vd d_erfc(vd x) {
  vd a = d_min(d_abs(x), d_set(28)), z = a * a, z_lo = d_fma(a, a, d_neg(z));
  vd near = 1.0 - x * D_POLY(d_min(z, d_set(1)), kErf);
  vd d = a + 4.0, d_lo = a - (d - 4.0), inverse = 1.0 / d;
  vd rest = d_fnma(inverse, d_lo, d_fnma(inverse, d, d_set(1)));
  vd w = D_WIDE_POLY((a - 4.0) * inverse, kErfc), g = w * inverse, g_lo = d_fma(w, inverse, d_neg(g));
  vd n, p = d_exp_tail(d_exp_reduce(d_neg(z), &n) - z_lo);
  vd tail = d_scale(g + d_fma(g, rest + p, g_lo), n);
  vd far = d_sel(d_lt(x, d_set(0)), 2.0 - tail, tail);
  // between 0.5 and 0.8 1 - erf loses a bit at most
  return d_sel(d_lt(a, d_set(0.8)), near, far);
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
// log2 of 2^k m, m = the mantissa's bits in `shifted` + kLog2Base, as hi + lo to about 2^-68 absolutely and,
// next to 1, 2^-64 relatively. m / c = 1 + r + p_lo of the table's c, exactly; the terms of r and r^2 are in
// two parts.
static const int64_t kLog2Base = 0x3fe6555555555555;   // 0.698: 1 is in the middle of a sixteenth
TT_VI void d_log2_pair(vl shifted, vd k, vd* hi, vd* lo) {
  vd m = (vd)((shifted & 0xfffffffffffffll) + kLog2Base);
  vl i = shifted >> 48;
  vd inverse = d_table(kLog2[0], i);
  vd p = m * inverse, p_lo = d_fma(m, inverse, d_neg(p)), r = p - 1.0;
  vd top = k + d_table(kLog2[1], i);                   // exact: 12 bits before the point, 40 behind it
  vd h = r * kLog2E, s = r * r, t = s * (-0.5 * kLog2E);
  vd h_lo = d_fma(r, d_set(kLog2E), d_neg(h)), s_lo = d_fma(r, r, d_neg(s));
  vd t_lo = d_fma(s, d_set(-0.5 * kLog2E), d_neg(t));
  vd tail = d_fma(s, d_fma(r, D_WIDE_POLY(r, kLog2Tail), d_set(-0.5 * kLog2ELow)), d_table(kLog2[2], i));
  vd slope = d_fma(r, d_fma(r, d_set(kLog2E), d_set(-kLog2E)), d_set(kLog2E));   // of log2 at 1 + r
  vd rest = d_fma(r, d_set(kLog2ELow), h_lo) + d_fma(p_lo, slope, d_fma(s_lo, d_set(-0.5 * kLog2E), t_lo));
  vd sum = top + h, l = sum + t;
  vd l_lo = ((h - (sum - top)) + (t - (l - sum))) + (rest + tail);
  *hi = l + l_lo;                                      // tail reaches 2^-10 of l
  *lo = l_lo - (*hi - l);
}
// 2^(p + p_lo) = the result times 2^n; p_lo tiny
TT_VI vd d_exp2_pair(vd p, vd p_lo, vd* n) {
  *n = d_rint(p);
  vd u = p - *n, t = u * kLn2;
  vd lo = d_fma(u, d_set(kLn2), d_neg(t)) + d_fma(u, d_set(kLn2Rest), p_lo * kLn2);
  vd q = t * t * D_WIDE_POLY(t, kExp);
  return (d_fma(lo, q + t, q + lo) + t) + 1.0;         // exp(t) + lo exp(t)
}
// Any operands.
TT_RARE vd d_pow_rare(vd x, vd y) {
  vd a = d_abs(x), zero = d_set(0), k, l, l_lo, n;
  md tiny = d_lt(a, d_set(0x1p-1022)), finite = dm_and(d_lt(zero, a), d_lt(a, d_set(INFINITY)));
  vl shifted = d_exponent(d_sel(tiny, a * 0x1p54, a), kLog2Base, &k);
  d_log2_pair(shifted, d_sel(tiny, k - 54.0, k), &l, &l_lo);
  l = d_sel(finite, l, d_sel(d_eq(a, zero), d_set(-INFINITY), a));      // infinity and NaN stay
  vd p = y * l, p_lo = d_fma(y, l_lo, d_fma(y, l, d_neg(p)));
  p_lo = d_sel(d_lt(d_abs(p), d_set(1100)), p_lo, zero);
  vd r = d_exp2_pair(d_min(d_max(p, d_set(-1100)), d_set(1100)), p_lo, &n);
  return d_pow_edges(d_scale(r, n), x, y);
}
// As f_pow.
TT_VI vd d_pow(vd x, vd y) {
  vd k, l, l_lo, n;
  vl shifted = d_exponent(x, kLog2Base, &k);
  d_log2_pair(shifted, k, &l, &l_lo);
  vd p = y * l, p_lo = d_fma(y, l_lo, d_fma(y, l, d_neg(p)));
  md plain = dm_and(dm_and(d_le(d_set(0x1p-1022), x), d_lt(x, d_set(INFINITY))), d_lt(d_abs(p), d_set(1020)));
  if (d_some_not(plain)) return d_pow_rare(x, y);
  vd r = d_exp2_pair(p, p_lo, &n);
  return d_scale_normal(r, n);
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

// ---- lgamma ------------------------------------------------------------------------------------
// x positive, normal and finite. Below 7/2 lgamma(2 + d) = d P(d), |d| <= 1/2, and the logarithm of the steps
// from 2 + d to x, exact near both zeros; above Stirling's series in 1 / x (DLMF 5.11.1).
TT_VI vd d_lgamma_core(vd x) {
  vd j = d_rint(x), d = x - j;
  vd steps = d_sel(d_eq(j, d_set(0)), d_fma(x, x, x), x);
  steps = d_sel(d_eq(j, d_set(2)), d_set(1), d_sel(d_eq(j, d_set(3)), x - 1.0, steps));
  // its logarithm in two parts, as d_log_core
  vd k, f = d_split_normal(steps, &k) - 1.0;
  vd s = f / (f + 2.0), z = s * s, h = 0.5 * f * f;
  vd base = k * kLn2High, hi = base + f;
  vd lo = (f - (hi - base)) - (h - d_fma(k, d_set(kLn2Low), s * (h + z * D_WIDE_POLY(z, kLog))));
  vd sign = d_sel(d_lt(j, d_set(2)), d_set(-0.0), d_set(0));
  // in this order, because the first two terms nearly cancel
  vd tail = d_wide_poly(d, kLgamma + 1, TT_ARRAY_LENGTH(kLgamma) - 1);
  vd small = d_fma(d, d_set(kLgamma[0]), d_xorsign(hi, sign)) + d_fma(d * d, tail, d_xorsign(lo, sign));
  vd inverse = 1.0 / x, t = x - 0.5;
  vd rest = d_fma(inverse, D_WIDE_POLY(inverse * inverse, kStirling), d_set(kHalfLog2Pi - 0.5));
  vd large = d_fma(t, hi - 1.0, d_fma(t, lo, rest));
  return d_sel(d_le(d_set(3.5), x), large, small);
}
// lgamma(-a) = log(pi / (a |sin pi a|)) - lgamma(a) (DLMF 5.5.3); next to its zeros the error is absolute.
TT_RARE vd d_lgamma_rare(vd x) {
  vd a = d_abs(x), infinity = d_set(INFINITY);
  md tiny = d_lt(a, d_set(0x1p-1022));
  vd r = d_lgamma_core(d_min(d_max(a, d_set(0x1p-1022)), d_set(0x1.fffffffffffffp+1023)));
  r = d_sel(tiny, d_neg(d_log_rare(a)), r);
  vd sine = d_abs(d_sin((a - d_rint(a)) * (2 * kPiHalfA)));
  vd reflected = d_sel(d_eq(sine, d_set(0)), infinity, d_log_rare(2 * kPiHalfA / (a * sine)) - r);
  r = d_sel(dm_and(d_signed(x), d_lt(d_set(0x1p-60), a)), reflected, r);
  return d_sel(d_nan(x, x), x, d_sel(d_eq(a, infinity), infinity, r));
}
TT_VI vd d_lgamma(vd x) {
  if (d_some_not(dm_and(d_le(d_set(0x1p-1022), x), d_lt(x, d_set(INFINITY))))) return d_lgamma_rare(x);
  return d_lgamma_core(x);
}

// ---- erf_inv, digamma --------------------------------------------------------------------------
// One step of Halley's on erf, or on erfc next to 1, from a value to 2^-19.
TT_VI vd d_erf_inv(vd x) {
  vd a = d_abs(x), q = 1.0 - a, w = d_neg(d_log(q * (a + 1.0)));
  vd near = D_WIDE_POLY(w - 2.5, kErfInv), far = D_WIDE_POLY(d_sqrt(w) - 3.0, kErfInvFar);
  vd y = a * d_sel(d_lt(w, d_set(5)), near, far);
  vd error = d_sel(d_lt(a, d_set(0.5)), d_erf(y) - a, q - d_erfc(y));
  vd step = error * kHalfRootPi * d_exp(y * y);
  y = y - step / d_fma(y, step, d_set(1));
  y = d_sel(d_lt(a, d_set(1e-8)), a * kHalfRootPi, y);         // the next term is x^3 * 0.23
  return d_copysign(d_sel(d_eq(a, d_set(1)), d_set(INFINITY), y), x);
}
// log y - 1/(2 y) - the asymptotic series (DLMF 5.11.2) of y = x + 6 below 6; the six steps' reciprocals in
// pairs with z = x (x + 5): their sum is (2 x + 5) (1/z + 1/(z + 4) + 1/(z + 6)).
TT_VI vd d_digamma(vd x) {
  md below = d_lt(x, d_set(6));
  vd y = d_sel(below, x + 6.0, x), inverse = 1.0 / y, u = inverse * inverse, z = d_fma(x, x, 5.0 * x);
  vd sum = d_fma(z, d_fma(d_set(3), z, d_set(20)), d_set(24)) / (z * (z + 4.0) * (z + 6.0));
  vd steps = d_fma(d_set(2), x, d_set(5)) * sum;
  vd r = d_log(y) - d_fma(u, D_WIDE_POLY(u, kDigamma), 0.5 * inverse);
  r = d_sel(below, r - steps, r);
  // negative and huge x, and next to the zero, where the difference would cancel
  md plain = dm_and(d_lt(d_set(0x1p-300), x), d_lt(x, d_set(0x1p300)));
  plain = dm_and(plain, d_lt(d_set(0.02), d_abs(x - 1.4616321449683622)));
  return d_fix(r, dm_not(plain), x, tt_math_digamma);
}
