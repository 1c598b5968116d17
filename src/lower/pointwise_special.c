// Special functions: Bessel, Airy, error-function relatives, incomplete gamma, orthogonal polynomials.
// Small arguments by Chebyshev sums, large ones by the asymptotic form with Chebyshev-fitted factors.
#include <math.h>
#include <string.h>

#include "lower/expr.h"
#include "lower/special_coefficients.h"

#define CHEB(x, name) tt_lx_chebyshev(L, (x), TT_ARRAY_LENGTH(tt_special_##name), tt_special_##name)

static V float_operand(tt_lower_t* L, uint32_t arg) {
  V x = tt_l_tensor(L, arg);
  if (tt_dtype_is_complex(tt_lx_dtype(x))) {
    return tt_builder_fail(L->b, TT_UNIMPLEMENTED, "not implemented for '%s'",
                           tt_lx_torch_name(tt_lx_dtype(x)));
  }
  return CAST(x, tt_l_default_float(L, tt_lx_dtype(x)));
}
// A function of one value, in f32 for 16-bit floats.
#define SPECIAL(symbol, function)                              \
  TT_LOWERING(symbol) {                                        \
    V narrow = float_operand(L, 0), x = UP(narrow);            \
    tt_l_return(L, CAST(function(L, x), tt_lx_dtype(narrow))); \
  }

// ---- modified Bessel ---------------------------------------------------------------------------
// argument of the small fits: x in [0, 8]; of the large ones: 8 / x in (0, 1]
static V small_8(tt_lower_t* L, V x) { return SUB(MUL(MIN(x, K(x, 8)), K(x, 0.25)), K(x, 1)); }
static V large_of(tt_lower_t* L, V x, double edge) {
  return SUB(DIV(K(x, 2 * edge), MAX(x, K(x, edge))), K(x, 1));
}
static V i0e(tt_lower_t* L, V x) {
  V a = ABS(x);
  V large = DIV(CHEB(large_of(L, a, 8), i0e_large), SQRT(MAX(a, K(a, 8))));
  return SEL(LE(a, K(a, 8)), CHEB(small_8(L, a), i0e_small), SEL(NE(x, x), x, large));
}
static V i1e(tt_lower_t* L, V x) {
  V a = ABS(x);
  V small = MUL(a, CHEB(small_8(L, a), i1e_small));
  V large = DIV(CHEB(large_of(L, a, 8), i1e_large), SQRT(MAX(a, K(a, 8))));
  V value = SEL(LE(a, K(a, 8)), small, large);
  return SEL(NE(x, x), x, SEL(LT(x, K(x, 0)), NEG(value), value));
}
static V i0(tt_lower_t* L, V x) { return MUL(EXP(ABS(x)), i0e(L, x)); }
static V i1(tt_lower_t* L, V x) { return MUL(EXP(ABS(x)), i1e(L, x)); }
SPECIAL(i0, i0)
SPECIAL(i0e, i0e)
SPECIAL(i1, i1)
SPECIAL(i1e, i1e)

static V bessel_k(tt_lower_t* L, V x, int order, bool scaled) {
  V s = MIN(MAX(x, K(x, 0)), K(x, 2)), u = SUB(MUL(MUL(s, s), K(x, 0.5)), K(x, 1)),
    half_log = LOG(MUL(s, K(x, 0.5)));
  V small = order == 0 ? SUB(CHEB(u, k0_small), MUL(half_log, i0(L, s)))
                       : ADD(DIV(CHEB(u, k1_small), s), MUL(half_log, i1(L, s)));
  V wide = MAX(x, K(x, 2)), t = large_of(L, wide, 2);
  V large = DIV(order == 0 ? CHEB(t, k0_large) : CHEB(t, k1_large), SQRT(wide));
  if (scaled) small = MUL(small, EXP(s));
  else large = MUL(large, EXP(NEG(wide)));
  V value = SEL(LE(x, K(x, 2)), small, large);
  value = SEL(EQ(x, K(x, 0)), K(x, INFINITY), value);
  return SEL(GE(x, K(x, 0)), value, K(x, NAN));
}
static V k0(tt_lower_t* L, V x) { return bessel_k(L, x, 0, false); }
static V k1(tt_lower_t* L, V x) { return bessel_k(L, x, 1, false); }
static V k0e(tt_lower_t* L, V x) { return bessel_k(L, x, 0, true); }
static V k1e(tt_lower_t* L, V x) { return bessel_k(L, x, 1, true); }
SPECIAL(bessel_k0, k0)
SPECIAL(bessel_k1, k1)
SPECIAL(scaled_k0, k0e)
SPECIAL(scaled_k1, k1e)

// ---- Bessel ------------------------------------------------------------------------------------
static V asymptotic(tt_lower_t* L, V a, int order, bool second) {
  V w = MAX(a, K(a, 8)), r = DIV(K(a, 8), w), u = SUB(MUL(K(a, 2), MUL(r, r)), K(a, 1));
  V p = order == 0 ? CHEB(u, jy0_p) : CHEB(u, jy1_p);
  V q = MUL(r, order == 0 ? CHEB(u, jy0_q) : CHEB(u, jy1_q));
  V chi = SUB(w, K(a, (2 * order + 1) * M_PI_4)), c = COS(chi), s = SIN(chi);
  V sum = second ? ADD(MUL(p, s), MUL(q, c)) : SUB(MUL(p, c), MUL(q, s));
  return MUL(SQRT(DIV(K(a, M_2_PI), w)), sum);
}
static V square_8(tt_lower_t* L, V a) {
  V s = MIN(a, K(a, 8));
  return SUB(MUL(MUL(s, s), K(a, 1.0 / 32)), K(a, 1));
}
static V j0_value(tt_lower_t* L, V x) {
  V a = ABS(x);
  return SEL(LE(a, K(a, 8)), CHEB(square_8(L, a), j0_small), asymptotic(L, a, 0, false));
}
static V j1_value(tt_lower_t* L, V x) {
  V a = ABS(x),
    value = SEL(LE(a, K(a, 8)), MUL(a, CHEB(square_8(L, a), j1_small)), asymptotic(L, a, 1, false));
  return SEL(LT(x, K(x, 0)), NEG(value), value);
}
static V bessel_y(tt_lower_t* L, V x, int order) {
  V s = MIN(MAX(x, K(x, 0)), K(x, 8)), u = square_8(L, s), small;
  if (order == 0) {
    small = ADD(CHEB(u, y0_small), MUL(MUL(K(x, M_2_PI), LOG(s)), j0_value(L, s)));
  } else {
    V inner = SUB(MUL(LOG(s), j1_value(L, s)), DIV(K(x, 1), s));
    small = ADD(MUL(s, CHEB(u, y1_small)), MUL(K(x, M_2_PI), inner));
  }
  V value = SEL(LE(x, K(x, 8)), small, asymptotic(L, x, order, true));
  value = SEL(EQ(x, K(x, 0)), K(x, -INFINITY), value);
  return SEL(LT(x, K(x, 0)), K(x, NAN), value);
}
static V y0_value(tt_lower_t* L, V x) { return bessel_y(L, x, 0); }
static V y1_value(tt_lower_t* L, V x) { return bessel_y(L, x, 1); }
SPECIAL(bessel_j0, j0_value)
SPECIAL(bessel_j1, j1_value)
SPECIAL(bessel_y0, y0_value)
SPECIAL(bessel_y1, y1_value)

static V spherical_j0(tt_lower_t* L, V x) {
  V x2 = MUL(x, x);
  static const double series[] = {1.0,          -1.0 / 6,        1.0 / 120,         -1.0 / 5040,
                                  1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0};
  V value =
      SEL(LT(ABS(x), K(x, 0.5)), tt_lx_polynomial(L, x2, TT_ARRAY_LENGTH(series), series), DIV(SIN(x), x));
  return SEL(EQ(ABS(x), K(x, INFINITY)), K(x, 0), value);
}
SPECIAL(spherical_bessel_j0, spherical_j0)

static V airy(tt_lower_t* L, V x) {
  V middle = CHEB(MUL(MIN(MAX(x, K(x, -4)), K(x, 4)), K(x, 0.25)), airy_middle);
  V a = MAX(ABS(x), K(x, 4)), root = SQRT(a), z = MUL(K(x, 2.0 / 3), MUL(a, root)), fourth = SQRT(root);
  V t = DIV(K(x, 16.0 / 3), z);
  V large = DIV(MUL(EXP(NEG(z)), CHEB(SUB(MUL(K(x, 2), t), K(x, 1)), airy_large)),
                MUL(K(x, 2 * 1.7724538509055161), fourth));
  V u = SUB(MUL(K(x, 2), MUL(t, t)), K(x, 1)), phase = SUB(z, K(x, M_PI_4));
  V wave = ADD(MUL(CHEB(u, airy_negative_f), COS(phase)), MUL(MUL(t, CHEB(u, airy_negative_g)), SIN(phase)));
  V negative = DIV(wave, MUL(K(x, 1.7724538509055161), fourth));
  V value = SEL(GT(x, K(x, 4)), large, SEL(LT(x, K(x, -4)), negative, middle));
  return SEL(EQ(x, K(x, INFINITY)), K(x, NAN), SEL(NE(x, x), x, value));   // as PyTorch
}
SPECIAL(airy_ai, airy)

// ---- relatives of the error function -----------------------------------------------------------
static V erfcx_value(tt_lower_t* L, V x) {
  V a = ABS(x), y = DIV(K(x, 4), ADD(a, K(x, 4)));
  V value = MUL(y, CHEB(SUB(MUL(K(x, 2), y), K(x, 1)), erfcx));
  V reflected = SUB(MUL(K(x, 2), EXP(MUL(x, x))), value);
  return SEL(NE(x, x), x, SEL(LT(x, K(x, 0)), reflected, value));
}
SPECIAL(erfcx, erfcx_value)

static V log_ndtr_value(tt_lower_t* L, V x) {
  V t = MUL(x, K(x, M_SQRT1_2)), low = MIN(t, K(x, -0.5));
  V left = SUB(LOG(MUL(erfcx_value(L, NEG(low)), K(x, 0.5))), MUL(low, low));
  V right = LOG1P(MUL(TT_B1(CHLO_ERFC, t), K(x, -0.5)));
  return SEL(LT(x, K(x, -1)), left, right);
}
SPECIAL(log_ndtr, log_ndtr_value)

// A rational start (Hastings) and three Newton steps on the logarithm, in the lower half; the upper by
// symmetry.
static V ndtri_value(tt_lower_t* L, V p) {
  V upper = GT(p, K(p, 0.5)), q = SEL(upper, SUB(K(p, 1), p), p);
  V safe = MIN(MAX(q, K(p, tt_lx_dtype(p) == TT_DTYPE_F64 ? 0x1p-1022 : 0x1p-126)), K(p, 0.5));
  V target = LOG(safe), t = SQRT(MUL(K(p, -2), target));
  static const double top[] = {2.515517, 0.802853, 0.010328}, bottom[] = {1, 1.432788, 0.189269, 0.001308};
  V x = SUB(DIV(tt_lx_polynomial(L, t, 3, top), tt_lx_polynomial(L, t, 4, bottom)), t);
  for (int i = 0; i < 3; ++i) {
    V value = log_ndtr_value(L, x);
    V inverse_slope = MUL(EXP(ADD(value, MUL(MUL(x, x), K(x, 0.5)))), K(x, 2.5066282746310002));
    x = SUB(x, MUL(SUB(value, target), inverse_slope));
  }
  x = SEL(EQ(q, K(p, 0.5)), K(p, 0), SEL(upper, NEG(x), x));
  x = SEL(EQ(p, K(p, 0)), K(p, -INFINITY), SEL(EQ(p, K(p, 1)), K(p, INFINITY), x));
  return SEL(AND(GE(p, K(p, 0)), LE(p, K(p, 1))), x, K(p, NAN));
}
SPECIAL(ndtri, ndtri_value)

static V entr_value(tt_lower_t* L, V x) {
  V value = SEL(GT(x, K(x, 0)), NEG(MUL(x, LOG(x))), SEL(EQ(x, K(x, 0)), K(x, 0), K(x, -INFINITY)));
  return SEL(NE(x, x), x, value);
}
SPECIAL(entr, entr_value)

// ---- gamma and zeta ----------------------------------------------------------------------------
static tt_dtype_t two_operands(tt_lower_t* L, V* x, V* y) {
  static const uint32_t both[2] = {0, 1};
  tt_dtype_t dtype = tt_l_default_float(L, tt_l_result_type(L, 2, both)), wide = tt_l_accumulate(dtype);
  V values[2] = {tt_lx_operand(L, 0, wide), tt_lx_operand(L, 1, wide)};
  tt_lx_broadcast(L, 2, values, wide);
  *x = values[0];
  *y = values[1];
  return dtype;
}
// Hurwitz zeta: terms until q > 9 (many where q is very negative), then the Euler-Maclaurin tail.
static V zeta_value(tt_lower_t* L, V s, V q_in) {
  if (!s || !q_in) return NULL;
  V one = K(s, 1), zero = K(s, 0), nan = K(s, NAN), infinity = K(s, INFINITY);
  V pole = AND(LE(q_in, zero), EQ(q_in, FLOOR(q_in)));
  V undefined = OR(LT(s, one), AND(LT(q_in, zero), NE(s, FLOOR(s))));
  V plain = AND(AND(GT(s, one), TT_B1(IS_FINITE, q_in)), AND(NOT(pole), NOT(undefined)));
  V q = SEL(plain, q_in, K(s, 10)), power = SEL(plain, s, K(s, 2));
  V state[3] = {tt_b_scalar_f64(L->b, tt_lx_dtype(s), 0), q, zero};
  tt_op_t* loop = tt_b_while(L->b, 3, state);
  if (!loop) return NULL;
  tt_block_t* saved = tt_b_region_begin(L->b, loop, 0, 0, NULL);
  V k = tt_b_region_arg(loop, 0, 0), at = tt_b_region_arg(loop, 0, 1);
  V more = AND(tt_lx_reduce_all(L, TT_OP_OR, LE(at, K(at, 9))), LT(k, K(k, 100000)));
  tt_b_region_end(L->b, saved, 1, &more);
  saved = tt_b_region_begin(L->b, loop, 1, 0, NULL);
  V k0_arg = tt_b_region_arg(loop, 1, 0), a = tt_b_region_arg(loop, 1, 1), sum = tt_b_region_arg(loop, 1, 2);
  V open = LE(a, K(a, 9));
  V next[3] = {ADD(k0_arg, K(k0_arg, 1)), SEL(open, ADD(a, one), a),
               SEL(open, ADD(sum, POW(a, NEG(power))), sum)};
  tt_b_region_end(L->b, saved, 3, next);
  a = &loop->results[1];
  sum = &loop->results[2];
  V last = POW(a, NEG(power));   // a^-s
  sum = ADD(sum, ADD(DIV(MUL(last, a), SUB(power, one)), MUL(last, K(s, 0.5))));
  // B_2j / (2j)!
  static const double bernoulli[] = {1.0 / 12,
                                     -1.0 / 720,
                                     1.0 / 30240,
                                     -1.0 / 1209600,
                                     1.0 / 47900160,
                                     -691.0 / 1307674368000.0,
                                     1.0 / 74724249600.0,
                                     -3617.0 / 10670622842880000.0};
  V term = DIV(MUL(last, power), a), square = MUL(a, a);
  for (int j = 0; j < 8; ++j) {
    sum = ADD(sum, MUL(term, K(s, bernoulli[j])));
    V rise = MUL(ADD(power, K(s, 2 * j + 1)), ADD(power, K(s, 2 * j + 2)));
    term = DIV(MUL(term, rise), square);
  }
  V edge = SEL(pole, infinity, nan);
  edge = SEL(EQ(s, one), infinity, SEL(LT(s, one), nan, edge));
  return SEL(plain, sum, edge);
}

TT_LOWERING(zeta) {
  V x, q;
  tt_dtype_t dtype = two_operands(L, &x, &q);
  tt_l_return(L, CAST(zeta_value(L, x, q), dtype));
}
// Steps and reflection of the CPU kernel: near the poles sin(pi x) decides the last digits.
static V trigamma(tt_lower_t* L, V x) {
  V one = K(x, 1), reflect = LT(x, K(x, 0.5)), sine = SIN(MUL(x, K(x, M_PI)));
  V result = SEL(reflect, NEG(DIV(K(x, M_PI * M_PI), MUL(sine, sine))), K(x, 0));
  x = SEL(reflect, SUB(one, x), x);
  for (int i = 0; i < 6; ++i) {
    result = ADD(result, DIV(one, MUL(x, x)));
    x = ADD(x, one);
  }
  V square = DIV(one, MUL(x, x));
  V tail = SUB(K(x, 1.0 / 30), DIV(square, K(x, 42)));
  tail = MUL(square, SUB(K(x, 1.0 / 6), MUL(square, tail)));
  tail = DIV(ADD(ADD(one, DIV(one, MUL(K(x, 2), x))), tail), x);
  result = ADD(result, tail);
  return SEL(reflect, NEG(result), result);
}

TT_LOWERING(polygamma) {
  int64_t n = tt_l_int(L, 0, 0);
  V narrow = float_operand(L, 1), x = UP(narrow), value;
  if (n < 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "polygamma(n, x) does not support negative n.");
    return;
  }
  if (n == 0) {
    value = SEL(EQ(x, K(x, 0)), tt_lx_copysign(L, K(x, INFINITY), NEG(x)), TT_B1(CHLO_DIGAMMA, x));
  } else if (n == 1) {
    value = trigamma(L, x);
  } else {   // (-1)^(n+1) n! zeta(n + 1, x)
    double factorial = tgamma((double)n + 1);
    value = MUL(K(x, n % 2 ? factorial : -factorial), zeta_value(L, K(x, (double)n + 1), x));
  }
  tt_l_return(L, CAST(value, tt_lx_dtype(narrow)));
}
TT_LOWERING(mvlgamma) {
  V narrow = float_operand(L, 0), x = UP(narrow);
  int64_t p = tt_l_int(L, 1, 1);
  if (p < 1) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "p has to be greater than or equal to 1");
    return;
  }
  V sum = K(x, (double)(p * (p - 1)) / 4 * 1.1447298858494002);
  for (int64_t j = 0; j < p; ++j) sum = ADD(sum, TT_B1(CHLO_LGAMMA, SUB(x, K(x, 0.5 * (double)j))));
  tt_l_return(L, CAST(sum, tt_lx_dtype(narrow)));
}

// Series below x = a + 1, continued fraction (Lentz) above, both advanced in one loop until every element
// rests.
static void incomplete_gamma(tt_lower_t* L, bool upper) {
  V a_in, x_in;
  tt_dtype_t dtype = two_operands(L, &a_in, &x_in);
  bool f64 = L->target->is_vtpu || L->target->dtype_support[TT_DTYPE_F64] == TT_SUPPORT_NATIVE;
  tt_dtype_t work = f64 ? TT_DTYPE_F64 : tt_lx_dtype(a_in);
  double epsilon = work == TT_DTYPE_F64 ? 0x1p-52 : 0x1p-24, tiny = work == TT_DTYPE_F64 ? 1e-290 : 1e-30;
  V a = CAST(a_in, work), x = CAST(x_in, work);
  if (!a || !x) return;
  V ordinary = AND(AND(GT(a, K(a, 0)), GT(x, K(x, 0))), AND(TT_B1(IS_FINITE, a), TT_B1(IS_FINITE, x)));
  a = SEL(ordinary, a, K(a, 1));
  x = SEL(ordinary, x, K(x, 1));
  V zero = K(a, 0), one = K(a, 1);
  V b0 = SUB(ADD(x, one), a), safe_b0 = SEL(EQ(b0, zero), K(a, tiny), b0);
  // k; term and sum of the series; c, d, h of the fraction
  V operands[6] = {
      tt_b_scalar_f64(L->b, work, 1), one, one, K(a, 1 / tiny), DIV(one, safe_b0), DIV(one, safe_b0)};
  V use_series = LT(x, ADD(a, one));
  // one more: what moved last, to know when to stop
  V state[7];
  memcpy(state, operands, sizeof operands);
  state[6] = one;
  tt_op_t* loop = tt_b_while(L->b, 7, state);
  if (!loop) return;
  tt_block_t* saved = tt_b_region_begin(L->b, loop, 0, 0, NULL);
  V k = tt_b_region_arg(loop, 0, 0), moved = tt_b_region_arg(loop, 0, 6);
  V running = tt_lx_reduce_all(L, TT_OP_OR, GT(moved, K(moved, epsilon)));
  V more = AND(running, LT(k, K(k, 5000)));
  tt_b_region_end(L->b, saved, 1, &more);
  saved = tt_b_region_begin(L->b, loop, 1, 0, NULL);
  V n0 = tt_b_region_arg(loop, 1, 0), term = tt_b_region_arg(loop, 1, 1), sum = tt_b_region_arg(loop, 1, 2);
  V c = tt_b_region_arg(loop, 1, 3), d = tt_b_region_arg(loop, 1, 4), h = tt_b_region_arg(loop, 1, 5);
  V n = tt_lx_broadcast_like(L, n0, a);
  V next_term = MUL(term, DIV(x, ADD(a, n))), next_sum = ADD(sum, next_term);
  V an = MUL(NEG(n), SUB(n, a)), bn = ADD(b0, MUL(K(a, 2), n));
  V dn = ADD(MUL(an, d), bn), cn = ADD(bn, DIV(an, c));
  dn = SEL(LT(ABS(dn), K(a, tiny)), K(a, tiny), dn);
  cn = SEL(LT(ABS(cn), K(a, tiny)), K(a, tiny), cn);
  dn = DIV(one, dn);
  V delta = MUL(dn, cn);
  V change = SEL(use_series, DIV(next_term, next_sum), ABS(SUB(delta, one)));
  V next[7] = {ADD(n0, K(n0, 1)), next_term, next_sum, cn, dn, MUL(h, delta), change};
  tt_b_region_end(L->b, saved, 7, next);
  V log_front = SUB(SUB(MUL(a, LOG(x)), x), TT_B1(CHLO_LGAMMA, a)), front = EXP(log_front);
  V lower_series = DIV(MUL(front, &loop->results[2]), a), upper_fraction = MUL(front, &loop->results[5]);
  V value = upper ? SEL(use_series, SUB(one, lower_series), upper_fraction)
                  : SEL(use_series, lower_series, SUB(one, upper_fraction));
  value = CAST(value, tt_lx_dtype(a_in));
  V low = K(value, upper ? 1 : 0), high = K(value, upper ? 0 : 1), nan = K(value, NAN);
  V zero_in = K(a_in, 0), infinity = K(a_in, INFINITY);
  // the order of PyTorch's tests, last one first
  V edge = SEL(EQ(x_in, infinity), high, nan);
  edge = SEL(EQ(a_in, infinity), SEL(EQ(x_in, infinity), nan, low), edge);
  edge = SEL(EQ(x_in, zero_in), low, edge);
  edge = SEL(EQ(a_in, zero_in), SEL(GT(x_in, zero_in), high, nan), edge);
  edge = SEL(OR(LT(x_in, zero_in), LT(a_in, zero_in)), nan, edge);
  tt_l_return(L, CAST(SEL(ordinary, value, edge), dtype));
}
TT_LOWERING(igamma) { incomplete_gamma(L, false); }
TT_LOWERING(igammac) { incomplete_gamma(L, true); }

// ---- orthogonal polynomials --------------------------------------------------------------------
typedef enum polynomial_e { POLY_T, POLY_U, POLY_V, POLY_W, POLY_H, POLY_HE, POLY_L, POLY_P } polynomial_t;

// Three-term recurrence up to the largest degree asked for; each element keeps the value of its own degree.
static void polynomial(tt_lower_t* L, polynomial_t kind, bool shifted) {
  V x, degree;
  tt_dtype_t dtype = two_operands(L, &x, &degree);
  if (!x || !degree) return;
  V one = K(x, 1), two = K(x, 2);
  if (shifted) x = SUB(ADD(x, x), one);
  degree = tt_lx_trunc(L, degree);
  V first = one, second;
  switch (kind) {
    case POLY_T:
    case POLY_HE:
    case POLY_P: second = x; break;
    case POLY_U:
    case POLY_H: second = ADD(x, x); break;
    case POLY_V: second = SUB(ADD(x, x), one); break;
    case POLY_W: second = ADD(ADD(x, x), one); break;
    default: second = SUB(one, x); break;
  }
  V result = SEL(EQ(degree, K(x, 0)), first, SEL(EQ(degree, one), second, K(x, 0)));
  if (tt_lx_numel(L, x) == 0) {
    tt_l_return(L, CAST(result, dtype));
    return;
  }
  V highest = tt_lx_reduce_all(L, TT_OP_MAXIMUM, degree);
  V state[4] = {tt_b_scalar_f64(L->b, tt_lx_dtype(x), 1), first, second, result};
  tt_op_t* loop = tt_b_while(L->b, 4, state);
  if (!loop) return;
  tt_block_t* saved = tt_b_region_begin(L->b, loop, 0, 0, NULL);
  V more = LT(tt_b_region_arg(loop, 0, 0), highest);
  tt_b_region_end(L->b, saved, 1, &more);
  saved = tt_b_region_begin(L->b, loop, 1, 0, NULL);
  V k0_arg = tt_b_region_arg(loop, 1, 0), p = tt_b_region_arg(loop, 1, 1), q = tt_b_region_arg(loop, 1, 2),
    kept = tt_b_region_arg(loop, 1, 3);
  V k = tt_lx_broadcast_like(L, k0_arg, x), next_k = ADD(k, one), next;
  switch (kind) {
    case POLY_H: next = MUL(two, SUB(MUL(x, q), MUL(k, p))); break;
    case POLY_HE: next = SUB(MUL(x, q), MUL(k, p)); break;
    case POLY_L: next = DIV(SUB(MUL(SUB(ADD(MUL(two, k), one), x), q), MUL(k, p)), next_k); break;
    case POLY_P: next = DIV(SUB(MUL(MUL(ADD(MUL(two, k), one), x), q), MUL(k, p)), next_k); break;
    default: next = SUB(MUL(ADD(x, x), q), p); break;
  }
  V out[4] = {ADD(k0_arg, K(k0_arg, 1)), q, next, SEL(EQ(degree, next_k), next, kept)};
  tt_b_region_end(L->b, saved, 4, out);
  tt_l_return(L, CAST(&loop->results[3], dtype));
}
TT_LOWERING(chebyshev_t) { polynomial(L, POLY_T, false); }
TT_LOWERING(chebyshev_u) { polynomial(L, POLY_U, false); }
TT_LOWERING(chebyshev_v) { polynomial(L, POLY_V, false); }
TT_LOWERING(chebyshev_w) { polynomial(L, POLY_W, false); }
TT_LOWERING(shifted_chebyshev_t) { polynomial(L, POLY_T, true); }
TT_LOWERING(shifted_chebyshev_u) { polynomial(L, POLY_U, true); }
TT_LOWERING(shifted_chebyshev_v) { polynomial(L, POLY_V, true); }
TT_LOWERING(shifted_chebyshev_w) { polynomial(L, POLY_W, true); }
TT_LOWERING(hermite_h) { polynomial(L, POLY_H, false); }
TT_LOWERING(hermite_he) { polynomial(L, POLY_HE, false); }
TT_LOWERING(laguerre_l) { polynomial(L, POLY_L, false); }
TT_LOWERING(legendre_p) { polynomial(L, POLY_P, false); }
