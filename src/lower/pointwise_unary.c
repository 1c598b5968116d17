// Unary pointwise ops.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lower/expr.h"

static void refuse(tt_lower_t* L, const char* kernel, V x) {
  tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                  tt_lx_torch_name(tt_lx_dtype(x)));
}

// Argument 0, ints and bool made f32.
static V float_operand(tt_lower_t* L) {
  V x = tt_l_tensor(L, 0);
  return CAST(x, tt_l_default_float(L, tt_lx_dtype(x)));
}

// One StableHLO op on the float form.
#define FLOAT_UNARY(symbol, KIND)   \
  TT_LOWERING(symbol) {             \
    V x = float_operand(L);         \
    tt_l_return(L, TT_B1(KIND, x)); \
  }
FLOAT_UNARY(acos, CHLO_ACOS)
FLOAT_UNARY(acosh, CHLO_ACOSH)
FLOAT_UNARY(asin, CHLO_ASIN)
FLOAT_UNARY(asinh, CHLO_ASINH)
FLOAT_UNARY(atan, CHLO_ATAN)
FLOAT_UNARY(atanh, CHLO_ATANH)
FLOAT_UNARY(cos, COSINE)
FLOAT_UNARY(cosh, CHLO_COSH)
FLOAT_UNARY(erf, CHLO_ERF)
FLOAT_UNARY(erfc, CHLO_ERFC)
FLOAT_UNARY(erfinv, CHLO_ERF_INV)
FLOAT_UNARY(exp, EXPONENTIAL)
FLOAT_UNARY(expm1, EXPONENTIAL_MINUS_ONE)
FLOAT_UNARY(lgamma, CHLO_LGAMMA)
FLOAT_UNARY(log, LOG)
FLOAT_UNARY(log1p, LOG_PLUS_ONE)
FLOAT_UNARY(rsqrt, RSQRT)
FLOAT_UNARY(sigmoid, LOGISTIC)
FLOAT_UNARY(sin, SINE)
FLOAT_UNARY(sinh, CHLO_SINH)
FLOAT_UNARY(sqrt, SQRT)
FLOAT_UNARY(tan, TAN)
FLOAT_UNARY(tanh, TANH)

// A formula in `x`, 16-bit floats computed in f32.
#define FLOAT_FORMULA(symbol, ...)                            \
  TT_LOWERING(symbol) {                                       \
    V narrow = float_operand(L), x = UP(narrow);              \
    tt_l_return(L, CAST((__VA_ARGS__), tt_lx_dtype(narrow))); \
  }
FLOAT_FORMULA(log2, MUL(LOG(x), K(x, 1.4426950408889634)))
FLOAT_FORMULA(log10, MUL(LOG(x), K(x, 0.43429448190325183)))
FLOAT_FORMULA(deg2rad, MUL(x, K(x, M_PI / 180)))
FLOAT_FORMULA(rad2deg, MUL(x, K(x, 180 / M_PI)))
FLOAT_FORMULA(reciprocal, DIV(K(x, 1), x))
FLOAT_FORMULA(sinc, SEL(EQ(x, K(x, 0)), K(x, 1), DIV(SIN(MUL(x, K(x, M_PI))), MUL(x, K(x, M_PI)))))

TT_LOWERING(exp2) {
  V narrow = float_operand(L), x = UP(narrow);
  // POW keeps exact powers of two exact, exp(x ln 2) would not
  V result = tt_dtype_is_complex(tt_lx_dtype(x)) ? EXP(MUL(x, K(x, 0.6931471805599453))) : POW(K(x, 2), x);
  tt_l_return(L, CAST(result, tt_lx_dtype(narrow)));
}

TT_LOWERING(digamma) {
  V narrow = float_operand(L), x = UP(narrow);
  V result = TT_B1(CHLO_DIGAMMA, x);
  result = SEL(EQ(x, K(x, 0)), tt_lx_copysign(L, K(x, INFINITY), NEG(x)), result);
  tt_l_return(L, CAST(result, tt_lx_dtype(narrow)));
}

// ---- sign and rounding -------------------------------------------------------------------------
TT_LOWERING(abs) {
  V x = tt_l_tensor(L, 0);
  tt_dtype_t d = tt_lx_dtype(x);
  // magnitudes go into any real out=, or into the dtype of the numbers
  tt_dtype_t out = tt_l_out_dtype(L, 0);
  L->out_casts = tt_dtype_is_complex(d) && (out == d || !tt_dtype_is_complex(out));
  tt_l_return(L, d == TT_DTYPE_PRED || tt_dtype_is_unsigned_int(d) ? x : ABS(x));
}

TT_LOWERING(neg) {
  V x = tt_l_tensor(L, 0);
  if (tt_lx_dtype(x) == TT_DTYPE_PRED) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
                    "invert a mask, use "
                    "the `~` or `logical_not()` operator instead.");
  }
  tt_l_return(L, NEG(x));
}

static V sign_of(tt_lower_t* L, V x) {
  if (!x) return NULL;
  tt_dtype_t d = tt_lx_dtype(x);
  if (d == TT_DTYPE_PRED) return x;
  V zero = K(x, 0);
  if (tt_dtype_is_unsigned_int(d)) return CAST(NE(x, zero), d);
  // PyTorch: (0 < x) - (x < 0), so NaN gives 0
  return SUB(CAST(LT(zero, x), d), CAST(LT(x, zero), d));
}

TT_LOWERING(sign) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Unlike NumPy, torch.sign doesn't support complex numbers; use torch.sgn instead.");
  }
  tt_l_return(L, sign_of(L, x));
}

TT_LOWERING(sgn) {
  V x = tt_l_tensor(L, 0);
  if (!tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_l_return(L, sign_of(L, x));
    return;
  }
  V size = ABS(x), zero = EQ(size, K(size, 0)), divisor = SEL(zero, K(size, 1), size);
  V re = DIV(REAL(x), divisor), im = DIV(IMAG(x), divisor);
  tt_l_return(L, tt_b_complex(L->b, SEL(zero, K(re, 0), re), SEL(zero, K(im, 0), im)));
}

TT_LOWERING(signbit) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "signbit is not implemented for complex tensors.");
  }
  tt_l_return(L, tt_lx_sign_bit(L, x));
}

static void round_with(tt_lower_t* L, tt_op_kind_t kind, const char* name) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x)))
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s is not supported for complex inputs", name);
  if (tt_lx_dtype(x) == TT_DTYPE_PRED) refuse(L, name, x);
  tt_l_return(L, tt_dtype_is_float(tt_lx_dtype(x)) ? tt_b_unary(L->b, kind, x) : x);
}
TT_LOWERING(floor) { round_with(L, TT_OP_FLOOR, "floor_vml_cpu"); }
TT_LOWERING(ceil) { round_with(L, TT_OP_CEIL, "ceil_vml_cpu"); }
TT_LOWERING(round) { round_with(L, TT_OP_ROUND_NEAREST_EVEN, "round_vml_cpu"); }

TT_LOWERING(trunc) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x)))
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "trunc is not supported for complex inputs");
  tt_l_return(L, tt_lx_trunc(L, x));
}

TT_LOWERING(frac) {
  V x = tt_l_tensor(L, 0);
  if (!tt_dtype_is_float(tt_lx_dtype(x))) refuse(L, "frac_cpu", x);
  tt_l_return(L, SUB(x, tt_lx_trunc(L, x)));
}

TT_LOWERING(round_decimals) {
  V narrow = tt_l_tensor(L, 0);
  if (!tt_dtype_is_float(tt_lx_dtype(narrow))) refuse(L, "round_cpu", narrow);
  int64_t decimals = tt_l_int(L, 1, 0);
  V x = UP(narrow), result;
  if (decimals == 0) {
    result = TT_B1(ROUND_NEAREST_EVEN, x);
  } else {
    V power = K(x, pow(10.0, (double)llabs(decimals)));
    result = decimals < 0 ? MUL(TT_B1(ROUND_NEAREST_EVEN, DIV(x, power)), power)
                          : DIV(TT_B1(ROUND_NEAREST_EVEN, MUL(x, power)), power);
  }
  tt_l_return(L, CAST(result, tt_lx_dtype(narrow)));
}

// mantissa in [0.5, 1) and exponent, by the bits; subnormals are scaled up first.
TT_LOWERING(frexp) {
  V narrow = tt_l_tensor(L, 0);
  if (!narrow) return;
  if (!tt_dtype_is_float(tt_lx_dtype(narrow))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "torch.frexp() only supports floating-point dtypes");
    return;
  }
  V x = UP(narrow);
  bool is_double = tt_lx_dtype(x) == TT_DTYPE_F64;
  tt_dtype_t bits_type = is_double ? TT_DTYPE_S64 : TT_DTYPE_S32;
  int mantissa = is_double ? 52 : 23, bias = is_double ? 1022 : 126;
  V small = LT(ABS(x), K(x, is_double ? 0x1p-1022 : 0x1p-126));
  V scaled = SEL(small, MUL(x, K(x, is_double ? 0x1p54 : 0x1p25)), x);
  V bits = tt_b_bitcast(L->b, scaled, bits_type);
  if (!bits) return;
  int64_t field_mask = is_double ? 0x7ff : 0xff;
  V field = AND(TT_B2(SHIFT_RIGHT_LOGICAL, bits, tt_lx_splat_i64(L, bits, mantissa)),
                tt_lx_splat_i64(L, bits, field_mask));
  V exponent = SUB(field, tt_lx_splat_i64(L, bits, bias));
  exponent = SEL(small, SUB(exponent, tt_lx_splat_i64(L, bits, is_double ? 54 : 25)), exponent);
  int64_t clear = ~((field_mask << mantissa));
  V fraction_bits =
      OR(AND(bits, tt_lx_splat_i64(L, bits, clear)), tt_lx_splat_i64(L, bits, (int64_t)bias << mantissa));
  V fraction = tt_b_bitcast(L->b, fraction_bits, tt_lx_dtype(x));
  V special = OR(EQ(x, K(x, 0)), NOT(TT_B1(IS_FINITE, x)));
  tt_l_return(L, CAST(SEL(special, x, fraction), tt_lx_dtype(narrow)));
  tt_l_return(L, CAST(SEL(special, tt_lx_splat_i64(L, exponent, 0), exponent), TT_DTYPE_S32));
}

// ---- predicates --------------------------------------------------------------------------------
static V falses(tt_lower_t* L, V x) {
  return x ? tt_lx_full(L, TT_DTYPE_PRED, x->type->rank, x->type->dims, 0) : NULL;
}

TT_LOWERING(isnan) { tt_l_return(L, tt_lx_is_nan(L, tt_l_tensor(L, 0))); }

static V is_infinite(tt_lower_t* L, V x, double which) {
  if (!tt_dtype_is_float(tt_lx_dtype(x))) return falses(L, x);
  return which == 0 ? EQ(ABS(x), K(x, INFINITY)) : EQ(x, K(x, which));
}
TT_LOWERING(isinf) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x)))
    tt_l_return(L, OR(is_infinite(L, REAL(x), 0), is_infinite(L, IMAG(x), 0)));
  else tt_l_return(L, is_infinite(L, x, 0));
}
static void one_infinity(tt_lower_t* L, double which, const char* name) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x)))
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s does not support complex inputs.", name);
  tt_l_return(L, is_infinite(L, x, which));
}
TT_LOWERING(isposinf) { one_infinity(L, INFINITY, "isposinf"); }
TT_LOWERING(isneginf) { one_infinity(L, -INFINITY, "isneginf"); }
TT_LOWERING(isfinite) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x)))
    tt_l_return(L, AND(TT_B1(IS_FINITE, REAL(x)), TT_B1(IS_FINITE, IMAG(x))));
  else if (tt_dtype_is_float(tt_lx_dtype(x))) tt_l_return(L, TT_B1(IS_FINITE, x));
  else tt_l_return(L, NOT(falses(L, x)));
}

static double type_limit(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_F16: return 65504;
    case TT_DTYPE_BF16: return 0x1.fep127;
    case TT_DTYPE_F32: return 0x1.fffffep127;
    default: return 0x1.fffffffffffffp1023;
  }
}

static V replace_special(tt_lower_t* L, V x) {
  double limit = type_limit(tt_lx_dtype(x));
  V nan_value = K(x, tt_l_float(L, 1, 0));
  V high = K(x, tt_l_float(L, 2, limit)), low = K(x, tt_l_float(L, 3, -limit));
  V result = SEL(EQ(x, K(x, INFINITY)), high, SEL(EQ(x, K(x, -INFINITY)), low, x));
  return SEL(NE(x, x), nan_value, result);
}
TT_LOWERING(nan_to_num) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_l_return(L, tt_b_complex(L->b, replace_special(L, REAL(x)), replace_special(L, IMAG(x))));
  } else {
    tt_l_return(L, tt_dtype_is_float(tt_lx_dtype(x)) ? replace_special(L, x) : x);
  }
}

// ---- complex -----------------------------------------------------------------------------------
TT_LOWERING(angle) {
  V x = tt_l_tensor(L, 0);
  if (tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_l_return(L, TT_B2(ATAN2, IMAG(x), REAL(x)));
    return;
  }
  x = CAST(x, tt_l_default_float(L, tt_lx_dtype(x)));
  V result = SEL(LT(x, K(x, 0)), K(x, M_PI), K(x, 0));
  tt_l_return(L, SEL(NE(x, x), x, result));
}
TT_LOWERING(conj_physical) {
  V x = tt_l_tensor(L, 0);
  tt_l_return(L, tt_dtype_is_complex(tt_lx_dtype(x)) ? tt_b_complex(L->b, REAL(x), NEG(IMAG(x))) : x);
}
TT_LOWERING(real) {
  V x = tt_l_tensor(L, 0);
  tt_l_return(L, tt_dtype_is_complex(tt_lx_dtype(x)) ? REAL(x) : x);
}
TT_LOWERING(imag) {
  V x = tt_l_tensor(L, 0);
  if (!tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "imag is not implemented for tensors with non-complex dtypes.");
  }
  tt_l_return(L, IMAG(x));
}

TT_LOWERING(square) {
  V x = tt_l_tensor(L, 0);
  tt_l_return(L, tt_lx_dtype(x) == TT_DTYPE_PRED ? x : MUL(x, x));
}

// ---- writes ------------------------------------------------------------------------------------
TT_LOWERING(fill) {
  V self = tt_l_tensor(L, 0), value = tt_l_tensor_or_null(L, 1);
  if (value && value->type->rank != 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "fill_ only supports 0-dimension value tensor but got tensor with %u dimensions.",
                    value->type->rank);
  }
  if (!value && self && L->args[1].kind == TT_ARG_COMPLEX && !tt_dtype_is_complex(tt_lx_dtype(self))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "value cannot be converted to type %s without overflow",
                    tt_lx_dtype(self) == TT_DTYPE_F64 ? "double" : "float");
  }
  tt_l_return(L, self ? tt_lx_broadcast_like(L, tt_l_scalar(L, 1, tt_lx_dtype(self)), self) : NULL);
}
TT_LOWERING(zero) {
  V self = tt_l_tensor(L, 0);
  tt_l_return(L, K(self, 0));
}
