// The hot f32 functions in f32 arithmetic (within 2 ulp); the rest through the f64 vectors, rounded once.
#define TT_VIA_DOUBLE(function)                             \
  TT_VI vf f_##function(vf x) {                             \
    vd low, high;                                           \
    f_widen(x, &low, &high);                                \
    return f_narrow(d_##function(low), d_##function(high)); \
  }
TT_VIA_DOUBLE(expm1) TT_VIA_DOUBLE(log1p) TT_VIA_DOUBLE(tan) TT_VIA_DOUBLE(cbrt) TT_VIA_DOUBLE(acos)
TT_VIA_DOUBLE(acosh) TT_VIA_DOUBLE(asin) TT_VIA_DOUBLE(asinh) TT_VIA_DOUBLE(atan) TT_VIA_DOUBLE(atanh)
TT_VIA_DOUBLE(cosh) TT_VIA_DOUBLE(sinh) TT_VIA_DOUBLE(erfc)

TT_VI vf f_exp(vf x) {
  vf clamped = f_min(f_set(89), f_max(f_set(-104), x));    // NaN passes: min and max give their second operand
  vf n = f_rint(clamped * 0x1.715476p+0f);
  vf r = f_fnma(n, f_set(0x1.62ep-1f), clamped);
  vf t = f_fnma(n, f_set(0x1.0bfbe8p-15f), r);
  vf p = f_fma(t * t, F_POLY(t, kFExp), t);
  return f_scale(p + 1.0f, n);
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

TT_VI vf f_logistic(vf x) {
  vf e = f_exp((vf)((vi)x | i_set(INT32_MIN)));
  // 1 / (1 + e) as two parts: its rounding and the exponential's would add up
  vf d = e + 1.0f, d_lo = e - (d - 1.0f), inverse = 1.0f / d;
  vf rest = f_fnma(inverse, d_lo, f_fnma(inverse, d, f_set(1))) * inverse;
  vf numerator = f_sel(f_lt(x, f_set(0)), e, f_set(1));
  return f_fma(numerator, inverse, numerator * rest);
}

TT_VI vf f_tanh(vf x) {
  vf a = f_abs(x), z = f_min(x * x, f_set(0.41f));
  vf near = f_fma(x * z, F_POLY(z, kFTanh), x);
  vf e = f_exp(f_min(2.0f * a, f_set(30)));
  vf far = 1.0f - 2.0f / (e + 1.0f);
  vf r = f_copysign(f_sel(f_lt(a, f_set(0.63f)), near, far), x);
  return f_sel(f_nan(x, x), x, r);
}

// The nearest of 16 table entries, and a polynomial of the distance from it. erf is 1 in f32 from kFErfLast on.
TT_VI vf f_erf(vf x) {
  vf a = f_min(f_set(kFErfLast), f_abs(x));            // NaN passes, and takes entry 0
  vf n = f_rint(a * (1 / kFErfStep)), d = f_fnma(n, f_set(kFErfStep), a);
  vi i = i_from_f(n);
  vf p = f_table(kFErf[5], i);
  for (int k = 4; k >= 1; --k) p = f_fma(d, p, f_table(kFErf[k], i));
  return f_copysign(f_fma(d, p, f_sel(f_eq(n, f_set(0)), d, f_table(kFErf[0], i))), x);
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
TT_VI int f_any_huge(vf x) { return fm_bits(f_le(f_abs(x), f_set(0x1p23f))) != fm_bits(f_eq(f_set(0), f_set(0))); }
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
  return __builtin_expect(f_any_huge(x), 0) ? f_huge_fix(v, x, tt_math_sin) : v;
}
TT_VI vf f_cos(vf x) {
  vf v = f_sincos(x, 1);
  return __builtin_expect(f_any_huge(x), 0) ? f_huge_fix(v, x, tt_math_cos) : v;
}

// ---- two operands ------------------------------------------------------------------------------
// |x|^y = 2^(y log2 |x|) with the logarithm as an unevaluated sum of two f32 (to about 2^-35), because y log2 |x|
// reaches 150 and its absolute error is the result's relative one.
TT_VI vf f_pow(vf x, vf y) {
  vf zero = f_set(0), one = f_set(1), infinity = f_set(INFINITY), a = f_abs(x);
  mf tiny = f_lt(a, f_set(0x1p-126f));
  vi shifted = (vi)f_sel(tiny, a * 0x1p23f, a) - 0x3f3504f3;
  vf k = f_from_i(shifted >> 23) - f_sel(tiny, f_set(23), zero);
  vf m = (vf)((shifted & 0x7fffff) + 0x3f3504f3);
  k = f_sel(f_lt(a, infinity), k, a);                  // infinity and NaN travel in the exponent
  k = f_sel(f_eq(a, zero), f_set(-INFINITY), k);
  // s = (m - 1) / (m + 1); log m = 2 (s + s z (1/3 + z Q(z))), z = s^2
  vf f = m - 1.0f, t = m + 1.0f, t_lo = f - (t - 2.0f), reciprocal = 1.0f / t;
  vf s = f * reciprocal;
  vf s_lo = f_fnma(s, t_lo, f_fnma(s, t, f)) * reciprocal;
  vf z = s * s, z_lo = f_fma(s + s, s_lo, f_fma(s, s, -z));
  vf w = f_fma(z, F_POLY(z, kFLogTail), f_set(-0x1.555556p-27f));
  vf c = w + 0x1.555556p-2f, c_lo = w - (c - 0x1.555556p-2f);
  vf b = z * c, b_lo = f_fma(z, c, -b) + f_fma(z, c_lo, z_lo * c);
  vf q = s * b, q_lo = f_fma(s, b, -q);
  vf h = s + q, h_lo = (q - (h - s)) + (q_lo + f_fma(s, b_lo, f_fma(s_lo, b, s_lo)));
  // times 2 log2(e), plus k
  vf v = h * 0x1.715476p+1f, v_lo = f_fma(h, f_set(0x1.715476p+1f), -v) + f_fma(h, f_set(0x1.4ae0cp-25f), h_lo * 0x1.715476p+1f);
  vf l = k + v, l_lo = (v - (l - k)) + v_lo;
  vf p = y * l, p_lo = f_fma(y, l, -p) + y * l_lo;
  p_lo = f_sel(f_lt(f_abs(p), f_set(200)), p_lo, zero);
  p = f_min(f_set(140), f_max(f_set(-160), p));        // NaN passes
  vf n = f_rint(p), r = f_fma(p - n, f_set(0x1.62e43p-1f), p_lo * 0x1.62e43p-1f);
  r = f_scale(f_fma(r * r, F_POLY(r, kFExp), r) + 1.0f, n);
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
#define TT_VIA_DOUBLE_2(function, double_function)                                      \
  TT_VI vf f_##function(vf x, vf y) {                                                   \
    vd x0, x1, y0, y1;                                                                  \
    f_widen(x, &x0, &x1);                                                               \
    f_widen(y, &y0, &y1);                                                               \
    return f_narrow(double_function(x0, y0), double_function(x1, y1));                  \
  }
TT_VIA_DOUBLE_2(atan2, d_atan2)
