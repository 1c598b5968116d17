// f32 functions in f32 arithmetic (2 ulp, a few of them 3); tan and digamma through the f64 vectors, rounded
// once.
#define TT_VIA_DOUBLE(function)                             \
  TT_VI vf f_##function(vf x) {                             \
    vd low, high;                                           \
    f_widen(x, &low, &high);                                \
    return f_narrow(d_##function(low), d_##function(high)); \
  }
TT_VIA_DOUBLE(tan) TT_VIA_DOUBLE(digamma)

#define kFLog2E 0x1.715476p+0f
#define kFLog2ELow 0x1.4ae0cp-26f
#define kFLn2High 0x1.62ep-1f              // 12 bits: products with exponents are exact
#define kFLn2Low 0x1.0bfbe8p-15f
#define kFPiHalf 0x1.921fb6p+0f
#define kFPiHalfLow -0x1.777a5cp-25f

// exp(x) = (1 + p) 2^n
TT_VI vf f_exp_reduce(vf x, vf* n) {
  *n = f_rint(x * kFLog2E);
  return f_fnma(*n, f_set(kFLn2Low), f_fnma(*n, f_set(kFLn2High), x));
}
TT_VI vf f_exp_tail(vf t) { return f_fma(t * t, F_POLY(t, kFExp), t); }

// 2^i of a table of 2^(j/16) and a short polynomial: x = (16 i + j) log(2) / 16 + t. The table's powers have a common
// factor that leaves them small roundings; the polynomial takes it back.
TT_VI vf f_exp(vf x) {
  // NaN passes: min and max give their second operand
  vf a = f_min(f_set(89), f_max(f_set(-104), x));
  vf z = f_fma(a, f_set(16 * kFLog2E), f_set(0x1.8p23f)), n = z - 0x1.8p23f;   // the sum rounds; its low bits are j
  vf t = f_fnma(n, f_set(kFLn2Low / 16), f_fnma(n, f_set(kFLn2High / 16), a));
  vf power = f_table(kFExpPowers[0], (vi)z);
  return f_scale_floor(f_fma(power, F_POLY(t, kFExpNear), power), n * 0.0625f);
}
// -18 <= x <= 89; loses a bit of odd denormals
TT_VI vf f_expm1_core(vf x) {
  vf n, p = f_exp_tail(f_exp_reduce(x, &n));
  vf half = (vf)((i_from_f(n) + 126) << 23);           // 2^(n - 1): n reaches 128
  return 2.0f * f_fma(p, half, half - 0.5f);
}
TT_VI vf f_expm1(vf x) {
  vf r = f_expm1_core(f_min(f_set(89), f_max(f_set(-18), x)));
  return f_sel(f_lt(f_abs(x), f_set(0x1p-30f)), x, r);
}
TT_VI vf f_tanh(vf x) {
  vf a = f_abs(x), e = f_expm1_core(f_min(f_set(30), a + a));
  // e / (e + 2) with the quotient in two parts: three roundings would add up
  vf d = e + 2.0f, d_lo = e - (d - 2.0f), inverse = 1.0f / d, q = e * inverse;
  vf rest = f_fnma(inverse, d_lo, f_fnma(inverse, d, f_set(1)));
  return f_copysign(q + f_fma(q, rest, f_fma(e, inverse, -q)), x);
}
// exp(a) / 4, 0 <= a; infinite hyperbolic functions come from 2 e
TT_VI vf f_exp_quarter(vf a) {
  vf n, p = f_exp_tail(f_exp_reduce(f_min(f_set(89.42f), a), &n));
  return (p + 1.0f) * (vf)((i_from_f(n) + 125) << 23);
}
TT_VI vf f_cosh(vf x) {
  vf e = f_exp_quarter(f_abs(x));
  return f_fma(f_set(2), e, 0.125f / e);
}
TT_VI vf f_sinh(vf x) {
  vf a = f_abs(x), e = f_exp_quarter(a), z = a * a;
  vf near = f_fma(a * z, F_POLY(z, kFSinh), a);
  vf far = f_fma(f_set(2), e, -0.125f / e);
  return f_copysign(f_sel(f_lt(a, f_set(1)), near, far), x);
}

TT_VI vf f_log(vf x) {
  mf tiny = f_lt(x, f_set(0x1p-126f));
  vf y = f_sel(tiny, x * 0x1p23f, x);
  vi shifted = (vi)y - 0x3f3504f3;
  vf k = f_from_i(shifted >> 23) - f_sel(tiny, f_set(23), f_set(0));
  vf f = (vf)((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  vf s = f * f;
  vf tail = f_fma(s * f, F_POLY(f, kFLog), -0.5f * s);
  vf low = f_fma(k, f_set(0x1.0bfbe8p-15f), tail);
  vf r = f_fma(k, f_set(0x1.62ep-1f), f + low);
  r = f_sel(f_eq(x, f_set(INFINITY)), x, r);
  r = f_sel(f_eq(x, f_set(0)), f_set(-INFINITY), r);
  return f_sel(f_le(f_set(0), x), r, f_set(NAN));
}

// log(u + c) + more log 2; u positive and normal, c small against it. u = 1 and a tiny c keep c's relative
// accuracy.
TT_VI vf f_log_sum(vf u, vf c, vf more) {
  vi shifted = (vi)u - 0x3f3504f3;
  vf k = f_from_i(shifted >> 23) + more;
  vf unit = f_max(f_set(0), (vf)(0x3f800000 - (shifted & -0x800000)));   // 2^-k; k = 128 would give -infinity
  vf f = f_fma(c, unit, (vf)((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f);
  vf s = f * f;
  vf tail = f_fma(s * f, F_POLY(f, kFLog), -0.5f * s);
  return f_fma(k, f_set(kFLn2High), f + f_fma(k, f_set(kFLn2Low), tail));
}
// log(1 + w) + more log 2 for 0 <= w, or -1 < w; the sum's error is w - (u - 1) exactly wherever it matters
TT_VI vf f_log1p_core(vf w, vf more) {
  vf u = w + 1.0f;
  return f_log_sum(u, w - (u - 1.0f), more);
}
TT_VI vf f_log1p(vf x) {
  vf r = f_log1p_core(x, f_set(0));
  r = f_sel(f_lt(f_set(-1), x), r, f_sel(f_eq(x, f_set(-1)), f_set(-INFINITY), f_set(NAN)));
  return f_sel(fm_or(f_eq(x, f_set(0)), f_eq(x, f_set(INFINITY))), x, r);
}
TT_VI vf f_asinh(vf x) {
  vf a = f_abs(x), b = f_min(a, f_set(0x1p30f)), z = b * b;
  mf big = f_lt(f_set(0x1p30f), a);                    // log(2 a)
  vf w = b + z / (f_sqrt(z + 1.0f) + 1.0f);
  vf r = f_log1p_core(f_sel(big, a, w), f_sel(big, f_set(1), f_set(0)));
  return f_copysign(f_sel(f_lt(a, f_set(INFINITY)), r, a), x);
}
TT_VI vf f_acosh(vf x) {
  vf t = f_min(x, f_set(0x1p30f)) - 1.0f;
  mf big = f_lt(f_set(0x1p30f), x);
  vf w = t + f_sqrt(f_fma(t, t, t + t));
  vf r = f_log1p_core(f_sel(big, x, w), f_sel(big, f_set(1), f_set(0)));
  r = f_sel(f_lt(x, f_set(INFINITY)), r, x);
  return f_sel(f_lt(x, f_set(1)), f_set(NAN), r);
}
TT_VI vf f_atanh(vf x) {
  vf a = f_abs(x), one = f_set(1);
  vf r = 0.5f * f_log1p_core((a + a) / (one - a), f_set(0));
  r = f_sel(f_lt(a, one), r, f_sel(f_eq(a, one), f_set(INFINITY), f_set(NAN)));
  return f_copysign(r, x);
}

TT_VI vf f_logistic(vf x) {
  vf e = f_exp((vf)((vi)x | i_set(INT32_MIN)));
  // 1 / (1 + e) as two parts: its rounding and the exponential's would add up
  vf d = e + 1.0f, d_lo = e - (d - 1.0f), inverse = 1.0f / d;
  vf rest = f_fnma(inverse, d_lo, f_fnma(inverse, d, f_set(1))) * inverse;
  vf numerator = f_sel(f_lt(x, f_set(0)), e, f_set(1));
  return f_fma(numerator, inverse, numerator * rest);
}

// The nearest of 16 table entries, and a polynomial of the distance from it. erf is 1 in f32 from kFErfLast
// on.
TT_VI vf f_erf(vf x) {
  vf a = f_min(f_set(kFErfLast), f_abs(x));            // NaN passes
  vf z = f_fma(a, f_set(1 / kFErfStep), f_set(0x1.8p23f)), n = z - 0x1.8p23f;   // the sum rounds; its low bits are n
  vf d = f_fnma(n, f_set(kFErfStep), a);
  vi i = (vi)z;
  vf p = f_table(kFErf[5], i);
  for (int k = 4; k >= 1; --k) p = f_fma(d, p, f_table(kFErf[k], i));
  return f_copysign(f_fma(d, p, f_sel(f_eq(n, f_set(0)), d, f_table(kFErf[0], i))), x);
}

// erfc a = exp(-a^2) P(t) / (a + 2) with t = (a - 2) / (a + 2); -a^2 and the quotient in two parts.
TT_VI vf f_erfc(vf x) {
  vf a = f_min(f_set(10.2f), f_abs(x));                // NaN passes
  vf z = a * a, z_lo = f_fma(a, a, -z);
  vf n, p = f_exp_tail(f_exp_reduce(-z, &n) - z_lo);
  vf d = a + 2.0f, d_lo = a - (d - 2.0f), inverse = 1.0f / d;
  vf rest = f_fnma(inverse, d_lo, f_fnma(inverse, d, f_set(1)));
  vf t = (a - 2.0f) * inverse, w = F_POLY(t, kFErfc), g = w * inverse, g_lo = f_fma(w, inverse, -g);
  vf r = f_scale(g + f_fma(g, rest + p, g_lo), n);
  r = f_sel(f_lt(x, f_set(0)), 2.0f - r, r);
  return f_sel(f_eq(x, f_set(0)), f_set(1), r);
}

// y = a^(-1/3) from the exponent's third (kFCbrtStart: |h| < 0.103), by the series of (1 - h)^(-1/3), h = 1 -
// a y^3, to 2^-16 and 2^-31; then x = a y^2 and one step of Newton's with the residual in two parts.
static const int32_t kFCbrtStart = 0x54a1f400;
TT_VI vf f_cbrt(vf x) {
  vf a = f_abs(x);
  mf tiny = f_lt(a, f_set(0x1p-60f));
  vf m = f_sel(tiny, a * 0x1p90f, a);
  vf y = (vf)(i_set(kFCbrtStart) - i_from_f(f_from_i((vi)m) * (1.0f / 3)));
  vf h = f_fnma(m * y, y * y, f_set(1));
  y = f_fma(y * h, f_fma(h, f_fma(h, f_set(14.0f / 81), f_set(2.0f / 9)), f_set(1.0f / 3)), y);
  h = f_fnma(m * y, y * y, f_set(1));
  y = f_fma(y * h, f_set(1.0f / 3), y);
  vf yy = y * y, r = m * yy;
  vf s = r * r, s_lo = f_fma(r, r, -s);
  vf residual = f_fma(s_lo, r, f_fma(s, r, -m));
  r = f_fnma(residual * (1.0f / 3), yy, r);
  r = f_copysign(f_sel(tiny, r * 0x1p-30f, r), x);
  mf plain = fm_and(f_lt(f_set(0), a), f_lt(a, f_set(INFINITY)));
  return f_sel(plain, r, x);
}

// ---- inverse trigonometric ---------------------------------------------------------------------
// atan t = t + t z P(z) of t in [0, 1]; of what is beyond, its complement
TT_VI vf f_atan_of(vf t, mf swap, mf left) {
  vf z = t * t, tail = t * z * F_POLY(z, kFAtan);
  // in the second octant pi/2 - t, in the third pi/2 + t, in the fourth pi - t
  vf base = f_sel(swap, f_set(kFPiHalf), f_sel(left, f_set(2 * kFPiHalf), f_set(0)));
  vf sign = f_sel(fm_xor(swap, left), f_set(-0.0f), f_set(0));
  vf low = f_fma(base, f_set(kFPiHalfLow / kFPiHalf), f_xorsign(tail, sign));
  return base + (f_xorsign(t, sign) + low);
}
TT_VI vf f_atan(vf x) {
  vf a = f_abs(x), one = f_set(1);
  mf swap = f_lt(one, a);
  vf t = f_sel(swap, one, a) / f_sel(swap, a, one);
  return f_copysign(f_atan_of(t, swap, f_lt(one, one)), x);
}
TT_VI vf f_atan2(vf y, vf x) {
  vf ay = f_abs(y), ax = f_abs(x);
  mf swap = f_lt(ax, ay);
  vf small = f_sel(swap, ax, ay), large = f_max(f_sel(swap, ay, ax), f_set(0x1p-149f));   // 0 / 0 gives 0
  vf t = f_sel(f_eq(small, f_set(INFINITY)), f_set(1), small / large);
  vf r = f_copysign(f_atan_of(t, swap, f_signed(x)), y);
  return f_sel(f_nan(x, y), f_set(NAN), r);
}
// asin s + s's tail for s in [0, 1/2], or for the half angle's sine of |x| above 1/2
TT_VI vf f_asin_of(vf a, mf high, vf* tail) {
  vf z = f_sel(high, f_fnma(f_set(0.5f), a, f_set(0.5f)), a * a);
  vf s = f_sel(high, f_sqrt(z), a);
  *tail = s * z * F_POLY(z, kFAsin);
  return s;
}
TT_VI vf f_asin(vf x) {
  vf a = f_abs(x), tail;
  mf high = f_lt(f_set(0.5f), a);
  vf s = f_asin_of(a, high, &tail);
  vf complement = f_fnma(f_set(2), s, f_set(kFPiHalf)) + f_fnma(f_set(2), tail, f_set(kFPiHalfLow));
  vf r = f_sel(high, complement, s + tail);
  return f_copysign(r, x);
}
TT_VI vf f_acos(vf x) {
  vf a = f_abs(x), tail;
  mf high = f_lt(f_set(0.5f), a), negative = f_lt(x, f_set(0));
  vf s = f_asin_of(a, high, &tail);
  // pi/2 - asin x; 2 asin s; pi - 2 asin s
  vf base = f_sel(high, f_sel(negative, f_set(2 * kFPiHalf), f_set(0)), f_set(kFPiHalf));
  vf factor = f_sel(high, f_set(2), f_set(-1));
  factor = f_sel(negative, -factor, factor);
  return f_fma(factor, s, f_fma(factor, tail, base * (kFPiHalfLow / kFPiHalf))) + base;
}

TT_VI vf f_rsqrt(vf x) { return 1.0f / f_sqrt(x); }

// Quadrant and remainder in f64, the polynomials in f32.
TT_VI vf f_reduce(vf x, vi* q) {
  vd low, high;
  f_widen(x, &low, &high);
  vd n0 = d_rint(low * kTwoByPi), n1 = d_rint(high * kTwoByPi);
  vd r0 = d_fnma(n0, d_set(kPiHalfB), d_fnma(n0, d_set(kPiHalfA), low));
  vd r1 = d_fnma(n1, d_set(kPiHalfB), d_fnma(n1, d_set(kPiHalfA), high));
  *q = i_from_f(f_narrow(n0, n1));
  return f_narrow(r0, r1);
}
TT_VI vf f_huge_fix(vf r, vf x, double (*f)(double)) {
  float in[kF], out[kF];
  f_store(in, x);
  f_store(out, r);
  for (int i = 0; i < kF; ++i) {
    if (!(__builtin_fabsf(in[i]) <= 0x1p23f)) out[i] = (float)f((double)in[i]);
  }
  return f_load(out);
}
TT_VI vf f_sincos(vf x, int32_t shift) {
  vi q;
  vf r = f_reduce(x, &q), z = r * r;
  vf s = f_fma(r * z, F_POLY(z, kFSin), r);
  vf c = f_fma(z * z, F_POLY(z, kFCos), f_fma(z, f_set(-0.5f), f_set(1)));
  q = q + shift;
  vf v = f_sel(i_bit(q, 1), c, s);
  v = (vf)((vi)v ^ ((q & 2) << 30));
  return shift ? v : f_sel(f_lt(f_abs(x), f_set(0x1p-13f)), x, v);
}
TT_VI vf f_sin(vf x) {
  vf v = f_sincos(x, 0);
  return f_some_not(f_le(f_abs(x), f_set(0x1p23f))) ? f_huge_fix(v, x, tt_math_sin) : v;
}
TT_VI vf f_cos(vf x) {
  vf v = f_sincos(x, 1);
  return f_some_not(f_le(f_abs(x), f_set(0x1p23f))) ? f_huge_fix(v, x, tt_math_cos) : v;
}

// ---- lgamma ------------------------------------------------------------------------------------
// As d_lgamma_core.
TT_VI vf f_lgamma_core(vf x) {
  vf j = f_rint(x), d = x - j, zero = f_set(0);
  vf steps = f_sel(f_eq(j, zero), f_fma(x, x, x), x);
  steps = f_sel(f_eq(j, f_set(2)), f_set(1), f_sel(f_eq(j, f_set(3)), x - 1.0f, steps));
  vi shifted = (vi)steps - 0x3f3504f3;
  vf k = f_from_i(shifted >> 23), f = (vf)((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  vf s = f * f, base = k * kFLn2High, hi = base + f;
  vf lo = (f - (hi - base)) + f_fma(k, f_set(kFLn2Low), f_fma(s * f, F_POLY(f, kFLog), -0.5f * s));
  vf sign = f_sel(f_lt(j, f_set(2)), f_set(-0.0f), zero);
  // in this order, because the first two terms nearly cancel
  vf tail = f_poly(d, kFLgamma + 1, TT_ARRAY_LENGTH(kFLgamma) - 1);
  vf small = f_fma(d, f_set(kFLgamma[0]), f_xorsign(hi, sign)) + f_fma(d * d, tail, f_xorsign(lo, sign));
  vf inverse = 1.0f / x, t = x - 0.5f;
  vf rest = f_fma(inverse, F_POLY(inverse * inverse, kFStirling), f_set((float)(kHalfLog2Pi - 0.5)));
  vf large = f_fma(t, hi - 1.0f, f_fma(t, lo, rest));
  return f_sel(f_le(f_set(3.5f), x), large, small);
}
TT_RARE vf f_lgamma_rare(vf r, mf plain, vf x) {
  vd low, high;
  f_widen(x, &low, &high);
  return f_sel(plain, r, f_narrow(d_lgamma(low), d_lgamma(high)));
}
TT_VI vf f_lgamma(vf x) {
  mf plain = fm_and(f_le(f_set(0x1p-126f), x), f_lt(x, f_set(INFINITY)));
  vf r = f_lgamma_core(x);
  return f_some_not(plain) ? f_lgamma_rare(r, plain, x) : r;
}

// x P(w) of w = -log(1 - x^2)
TT_VI vf f_erf_inv(vf x) {
  vf w = -f_log((1.0f - x) * (1.0f + x));
  vf y = x * f_sel(f_lt(w, f_set(5)), F_POLY(w - 2.5f, kFErfInv), F_POLY(f_sqrt(w) - 3.0f, kFErfInvFar));
  return f_sel(f_eq(f_abs(x), f_set(1)), x * INFINITY, y);
}

// ---- two operands ------------------------------------------------------------------------------
// log2 of 2^k m, m = the mantissa's bits in `shifted` + kFLog2Base, as hi + lo to about 2^-37 absolutely and,
// next to 1, 2^-33 relatively. m / c = 1 + r of the table's c, with r exact; then the terms of r and r^2 in
// two parts.
static const int32_t kFLog2Base = 0x3f32aaab;         // 0.698: 1 is in the middle of a sixteenth
TT_VI void f_log2_pair(vi shifted, vf k, vf* hi, vf* lo) {
  vf m = (vf)((shifted & 0x7fffff) + kFLog2Base);
  vi i = shifted >> 19;
  vf inverse = f_table(kFLog2[0], i);
  vf p = m * inverse, p_lo = f_fma(m, inverse, -p), r = p - 1.0f;
  vf top = k + f_table(kFLog2[1], i);                  // exact: 9 bits before the point, 15 behind it
  vf h = r * kFLog2E, s = r * r, t = s * (-0.5f * kFLog2E);
  vf h_lo = f_fma(r, f_set(kFLog2E), -h), s_lo = f_fma(r, r, -s), t_lo = f_fma(s, f_set(-0.5f * kFLog2E), -t);
  vf tail = f_fma(s, f_fma(r, F_POLY(r, kFLog2Tail), f_set(-0.5f * kFLog2ELow)), f_table(kFLog2[2], i));
  vf slope = f_fma(r, f_fma(r, f_set(kFLog2E), f_set(-kFLog2E)), f_set(kFLog2E));   // of log2 at 1 + r
  vf rest = f_fma(r, f_set(kFLog2ELow), h_lo) + f_fma(p_lo, slope, f_fma(s_lo, f_set(-0.5f * kFLog2E), t_lo));
  vf sum = top + h;
  *hi = sum + t;
  *lo = ((h - (sum - top)) + (t - (*hi - sum))) + (rest + tail);
}
// 2^(p + p_lo) = the result times 2^n
TT_VI vf f_exp2_pair(vf p, vf p_lo, vf* n) {
  *n = f_rint(p);
  vf z = (p - *n) + p_lo;
  return f_fma(z, F_POLY(z, kFExp2), f_set(1));
}
// Any operands.
TT_RARE vf f_pow_rare(vf x, vf y) {
  vf zero = f_set(0), one = f_set(1), infinity = f_set(INFINITY), a = f_abs(x);
  mf tiny = f_lt(a, f_set(0x1p-126f)), finite = fm_and(f_lt(zero, a), f_lt(a, infinity));
  vi shifted = (vi)f_sel(tiny, a * 0x1p23f, a) - kFLog2Base;
  vf l, l_lo;
  f_log2_pair(shifted, f_from_i(shifted >> 23) - f_sel(tiny, f_set(23), zero), &l, &l_lo);
  l = f_sel(finite, l, f_sel(f_eq(a, zero), f_set(-INFINITY), a));   // infinity and NaN stay
  vf p = y * l, p_lo = f_fma(y, l_lo, f_fma(y, l, -p));
  p_lo = f_sel(f_lt(f_abs(p), f_set(200)), p_lo, zero);
  vf n, r = f_exp2_pair(f_min(f_set(140), f_max(f_set(-160), p)), p_lo, &n);   // NaN passes
  r = f_scale(r, n);
  r = f_sel(f_eq(a, one), one, r);                     // also 1 to an infinite power
  // negative bases: odd integers flip the sign, broken powers of finite bases are NaN
  vf half = y * 0.5f, whole = f_rint(y);
  mf integer = f_eq(whole, y);
  vf sign = f_sel(f_eq(f_rint(half), half), zero, f_set(-0.0f));
  sign = f_sel(fm_and(integer, f_lt(f_abs(y), f_set(0x1p24f))), sign, zero);
  r = (vf)((vi)r ^ ((vi)sign & (vi)x));
  r = f_sel(fm_and(fm_not(integer), fm_and(f_lt(x, zero), f_lt(a, infinity))), f_set(NAN), r);
  return f_sel(fm_or(f_eq(y, zero), f_eq(x, one)), one, f_sel(f_nan(x, y), f_set(NAN), r));
}
// x^y = 2^(y log2 x) with the logarithm as an unevaluated sum of two f32, because y log2 x reaches 150 and
// its absolute error is the result's relative one. Here positive normal x and a normal result.
TT_VI vf f_pow(vf x, vf y) {
  vi shifted = (vi)x - kFLog2Base;
  vf l, l_lo, n;
  f_log2_pair(shifted, f_from_i(shifted >> 23), &l, &l_lo);
  vf p = y * l, p_lo = f_fma(y, l_lo, f_fma(y, l, -p));
  mf plain = fm_and(fm_and(f_le(f_set(0x1p-126f), x), f_lt(x, f_set(INFINITY))), f_lt(f_abs(p), f_set(125)));
  if (f_some_not(plain)) return f_pow_rare(x, y);
  vf r = f_exp2_pair(p, p_lo, &n);
  return f_scale_normal(r, n);
}

// The remainder is exact: trunc of the rounded quotient is the true one or, where that rounded up to an
// integer, one more.
TT_RARE vf f_fmod_rare(vf r, mf plain, vf x, vf y) {
  vd x0, x1, y0, y1;
  f_widen(x, &x0, &x1);
  f_widen(y, &y0, &y1);
  return f_sel(plain, r, f_narrow(d_fmod(x0, y0), d_fmod(x1, y1)));
}
TT_VI vf f_fmod(vf x, vf y) {
  vf a = f_abs(x), b = f_abs(y), q = a / b;
  vf r = f_fnma(f_trunc(q), b, a);
  r = f_sel(f_lt(r, f_set(0)), r + b, r);
  r = f_copysign(r, x);
  mf plain = fm_and(f_lt(q, f_set(0x1p24f)), f_lt(b, f_set(INFINITY)));
  return f_some_not(plain) ? f_fmod_rare(r, plain, x, y) : r;
}
