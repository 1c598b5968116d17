#include "lower/expr.h"

#include <math.h>

static tt_dtype_t bits_dtype(tt_dtype_t dtype) {
  switch (tt_dtype_bytes(dtype)) {
    case 1: return TT_DTYPE_S8;
    case 2: return TT_DTYPE_S16;
    case 4: return TT_DTYPE_S32;
    default: return TT_DTYPE_S64;
  }
}

V tt_lx_sign_bit(tt_lower_t* L, V x) {
  if (!x) return NULL;
  tt_dtype_t d = tt_lx_dtype(x);
  if (d == TT_DTYPE_PRED || tt_dtype_is_unsigned_int(d))
    return tt_lx_full(L, TT_DTYPE_PRED, x->type->rank, x->type->dims, 0);
  V bits = tt_dtype_is_float(d) ? tt_b_bitcast(L->b, x, bits_dtype(d)) : x;
  return LT(bits, tt_lx_splat_i64(L, bits, 0));
}

V tt_lx_copysign(tt_lower_t* L, V x, V s) {
  if (!x || !s) return NULL;
  tt_dtype_t d = tt_lx_dtype(x), bits = bits_dtype(d);
  V low = tt_b_bitcast(L->b, x, bits), high = tt_b_bitcast(L->b, s, bits);
  size_t width = 8 * tt_dtype_bytes(d);
  int64_t top = width == 64 ? INT64_MIN : -(INT64_C(1) << (width - 1));
  V mask = low ? tt_lx_splat_i64(L, low, top) : NULL;
  return tt_b_bitcast(L->b, OR(AND(low, NOT(mask)), AND(high, mask)), d);
}

V tt_lx_trunc(tt_lower_t* L, V x) {
  if (!x || !tt_dtype_is_float(tt_lx_dtype(x))) return x;
  // -0.5 must give -0
  return tt_lx_copysign(L, FLOOR(ABS(x)), x);
}

void tt_lx_check_divisor(tt_lower_t* L, V y) {
  if (!y || !L->target->checks || tt_type_elems(y->type) == 0) return;
  V ok = tt_lx_reduce_all(L, TT_OP_AND, NE(y, tt_lx_splat_i64(L, y, 0)));
  tt_b_check(L->b, ok, TT_INVALID_ARGUMENT, "ZeroDivisionError", 0, NULL);
}

V tt_lx_fmod(tt_lower_t* L, V x, V y) {
  if (x && tt_lx_is_int(tt_lx_dtype(x))) tt_lx_check_divisor(L, y);
  return REM(x, y);
}

V tt_lx_floor_divide(tt_lower_t* L, V x, V y) {
  if (!x || !y) return NULL;
  tt_dtype_t d = tt_lx_dtype(x);
  if (tt_lx_is_int(d)) {
    tt_lx_check_divisor(L, y);
    V quotient = DIV(x, y);
    if (tt_dtype_is_unsigned_int(d)) return quotient;
    V zero = tt_lx_splat_i64(L, x, 0);
    V inexact = NE(MUL(quotient, y), x);
    V opposite = NE(LT(x, zero), LT(y, zero));
    return SEL(AND(inexact, opposite), SUB(quotient, tt_lx_splat_i64(L, x, 1)), quotient);
  }
  // Python's float floor division: exact where (x - fmod(x, y)) / y is.
  V a = UP(x), c = UP(y), zero = K(a, 0), one = K(a, 1);
  V mod = REM(a, c), quotient = DIV(SUB(a, mod), c);
  V lower = AND(NE(mod, zero), NE(LT(c, zero), LT(mod, zero)));
  quotient = SEL(lower, SUB(quotient, one), quotient);
  V whole = FLOOR(quotient);
  whole = SEL(GT(SUB(quotient, whole), K(a, 0.5)), ADD(whole, one), whole);
  V plain = DIV(a, c);
  V result = SEL(NE(quotient, zero), whole, tt_lx_copysign(L, zero, plain));
  return CAST(SEL(EQ(c, zero), plain, result), d);
}

V tt_lx_polynomial(tt_lower_t* L, V x, size_t count, const double* c) {
  if (!x || count == 0) return NULL;
  V sum = K(x, c[count - 1]);
  for (size_t i = count - 1; i-- > 0;) sum = ADD(MUL(sum, x), K(x, c[i]));
  return sum;
}

V tt_lx_chebyshev(tt_lower_t* L, V x, size_t count, const double* c) {
  if (!x || count == 0) return NULL;
  // Clenshaw
  V twice = ADD(x, x), b1 = K(x, c[count - 1]), b2 = K(x, 0);
  if (count == 1) return MUL(b1, K(x, 0.5));
  for (size_t i = count - 1; i-- > 1;) {
    V b0 = ADD(SUB(MUL(twice, b1), b2), K(x, c[i]));
    b2 = b1;
    b1 = b0;
  }
  return ADD(SUB(MUL(x, b1), b2), K(x, 0.5 * c[0]));
}

// From the side of the larger real part; -inf is the neutral element.
V tt_lx_complex_logaddexp(tt_lower_t* L, V x, V y) {
  if (!x || !y) return NULL;
  V first = GE(REAL(x), REAL(y)), high = SEL(first, x, y), low = SEL(first, y, x);
  V gone = EQ(REAL(low), K(REAL(low), -INFINITY)), same = SUB(low, high);
  V nothing = tt_b_complex(L->b, K(REAL(low), -INFINITY), K(REAL(low), 0));
  V power = EXP(SEL(gone, nothing, same));
  V sum = ADD(high, LOG(ADD(K(power, 1), SEL(gone, K(power, 0), power))));
  return SEL(gone, high, sum);
}
