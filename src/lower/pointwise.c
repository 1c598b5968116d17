// Binary and ternary pointwise ops: arithmetic, comparison, logic, bits, selection.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

static const uint32_t first_two[2] = {0, 1};

// Both operands in the common dtype (made a float one if `as_float`), broadcast.
static tt_dtype_t binary_operands(tt_lower_t* L, bool as_float, V* x, V* y) {
  tt_dtype_t dtype = tt_l_result_type(L, 2, first_two);
  if (as_float) dtype = tt_l_default_float(L, dtype);
  V values[2] = {tt_lx_operand(L, 0, dtype), tt_lx_operand(L, 1, dtype)};
  tt_lx_broadcast(L, 2, values, dtype);
  *x = values[0];
  *y = values[1];
  return dtype;
}

static bool is_number(const tt_lower_t* L, uint32_t arg) {
  if (arg >= L->arg_count) return false;
  const tt_larg_t* a = &L->args[arg];
  return a->kind != TT_ARG_TENSOR || (a->tensor.value && a->tensor.value->type->rank == 0);
}

// As binary_operands, but 16-bit floats go up to f32 when `always` or when one side is a number: PyTorch
// keeps the number in f32 then. The caller converts back to the dtype returned.
static tt_dtype_t binary_wide(tt_lower_t* L, bool as_float, bool always, V* x, V* y) {
  tt_dtype_t dtype = tt_l_result_type(L, 2, first_two);
  if (as_float) dtype = tt_l_default_float(L, dtype);
  tt_dtype_t wide = tt_l_accumulate(dtype);
  if (!always && is_number(L, 0) == is_number(L, 1)) wide = dtype;
  V values[2] = {tt_lx_operand(L, 0, wide), tt_lx_operand(L, 1, wide)};
  tt_lx_broadcast(L, 2, values, wide);
  *x = values[0];
  *y = values[1];
  return dtype;
}

static void refuse(tt_lower_t* L, const char* kernel, tt_dtype_t dtype) {
  tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s\" not implemented for '%s'", kernel, tt_lx_torch_name(dtype));
}

// ---- arithmetic --------------------------------------------------------------------------------
static void check_alpha(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype) {
  if (arg >= L->arg_count) return;
  tt_arg_kind_t kind = L->args[arg].kind;
  if (kind == TT_ARG_BOOL && dtype != TT_DTYPE_PRED) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Boolean alpha only supported for Boolean results.");
  } else if ((kind == TT_ARG_FLOAT || kind == TT_ARG_COMPLEX) && tt_lx_is_int_or_bool(dtype)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "For integral input tensors, argument alpha must not be a floating point number.");
  } else if (kind == TT_ARG_COMPLEX && !tt_dtype_is_complex(dtype)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "For non-complex input tensors, argument alpha must not be a complex number.");
  }
}

static bool is_bool_argument(const tt_lower_t* L, uint32_t arg) {
  if (arg >= L->arg_count) return false;
  const tt_larg_t* a = &L->args[arg];
  return a->kind == TT_ARG_BOOL ||
         (a->kind == TT_ARG_TENSOR && a->tensor.value && a->tensor.value->type->dtype == TT_DTYPE_PRED);
}

static void add_scaled(tt_lower_t* L, bool subtract, bool reversed) {
  V x, y;
  bool plain = tt_l_is_none(L, 2) || tt_l_scalar_is(L, 2, 1);
  tt_dtype_t dtype = binary_wide(L, false, !plain, &x, &y);
  check_alpha(L, 2, dtype);
  if (subtract) {
    bool first = is_bool_argument(L, 0), second = is_bool_argument(L, 1);
    if (first && second) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                      "`logical_xor()` "
                      "operator instead.");
    } else if (first || second) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
                      "to invert a mask, "
                      "use the `~` or `logical_not()` operator instead.");
    }
  }
  if (dtype == TT_DTYPE_PRED) {
    if (!plain) y = AND(y, tt_l_scalar_splat(L, 2, y));
    tt_l_return(L, OR(x, y));
    return;
  }
  if (reversed) {
    V swap = x;
    x = y;
    y = swap;
  }
  if (!plain) y = MUL(y, tt_l_scalar_splat(L, 2, y));
  tt_l_return(L, CAST(subtract ? SUB(x, y) : ADD(x, y), dtype));
}
TT_LOWERING(add) { add_scaled(L, false, false); }
TT_LOWERING(sub) { add_scaled(L, true, false); }
TT_LOWERING(rsub) { add_scaled(L, true, true); }

TT_LOWERING(mul) {
  V x, y;
  tt_dtype_t dtype = binary_wide(L, false, false, &x, &y);
  tt_l_return(L, dtype == TT_DTYPE_PRED ? AND(x, y) : CAST(MUL(x, y), dtype));
}

TT_LOWERING(div) {
  V x, y;
  tt_dtype_t dtype = binary_wide(L, true, false, &x, &y);
  tt_l_return(L, CAST(DIV(x, y), dtype));
}

TT_LOWERING(floor_divide) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (dtype == TT_DTYPE_PRED || tt_dtype_is_complex(dtype)) refuse(L, "div_floor_cpu", dtype);
  tt_l_return(L, tt_lx_floor_divide(L, x, y));
}

TT_LOWERING(div_mode) {
  const char* mode = tt_l_text(L, 2, "");
  if (!*mode) {
    tt_lower_div(L);
  } else if (!strcmp(mode, "floor")) {
    tt_lower_floor_divide(L);
  } else if (!strcmp(mode, "trunc")) {
    V x, y;
    tt_dtype_t dtype = binary_wide(L, false, true, &x, &y);
    if (dtype == TT_DTYPE_PRED || tt_dtype_is_complex(dtype)) refuse(L, "div_trunc_cpu", dtype);
    if (tt_lx_is_int(dtype)) tt_lx_check_divisor(L, y);
    tt_l_return(L, CAST(tt_lx_trunc(L, DIV(x, y)), dtype));
  } else {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", mode);
  }
}

TT_LOWERING(remainder) {
  V x, y;
  tt_dtype_t dtype = binary_wide(L, false, true, &x, &y);
  if (dtype == TT_DTYPE_PRED || tt_dtype_is_complex(dtype)) refuse(L, "remainder_cpu", dtype);
  V mod = tt_lx_fmod(L, x, y), zero = K(mod, 0);
  if (!tt_dtype_is_unsigned_int(dtype)) {
    mod = SEL(AND(NE(mod, zero), NE(LT(y, zero), LT(mod, zero))), ADD(mod, y), mod);
  }
  tt_l_return(L, CAST(mod, dtype));
}

TT_LOWERING(fmod) {
  V x, y;
  tt_dtype_t dtype = binary_wide(L, false, true, &x, &y);
  if (dtype == TT_DTYPE_PRED || tt_dtype_is_complex(dtype)) refuse(L, "fmod_cpu", dtype);
  tt_l_return(L, CAST(tt_lx_fmod(L, x, y), dtype));
}

// x ** n for the exponents that fold; NULL if n is not one of them.
static V power_special(tt_lower_t* L, uint32_t arg, V x) {
  V one = K(x, 1);
  if (tt_l_scalar_is(L, arg, 0)) return one;
  if (tt_l_scalar_is(L, arg, 1)) return x;
  if (tt_l_scalar_is(L, arg, 2)) return MUL(x, x);
  if (tt_l_scalar_is(L, arg, 3)) return MUL(MUL(x, x), x);
  if (tt_lx_is_int(tt_lx_dtype(x))) return NULL;
  if (tt_l_scalar_is(L, arg, 0.5)) return SQRT(x);
  if (tt_l_scalar_is(L, arg, -0.5)) return DIV(one, SQRT(x));
  if (tt_l_scalar_is(L, arg, -1)) return DIV(one, x);
  if (tt_l_scalar_is(L, arg, -2)) return DIV(one, MUL(x, x));
  return NULL;
}

// x ** n of integers that wrap. XLA looks only at the low bits of n that count the bits of the type (64-bit
// numbers: six), so n goes in by digits of that many: x ** (d0 + d1 R + ..) = x ** d0 * (x ** R) ** d1 ..
static V integer_power(tt_lower_t* L, V x, V n) {
  if (L->target->is_vtpu || !x || !n) return POW(x, n);
  int bits = 8 * (int)tt_dtype_bytes(tt_lx_dtype(x)), digit_bits = 0;
  while (1 << (digit_bits + 1) <= bits) ++digit_bits;
  V mask = tt_lx_splat_i64(L, n, (1 << digit_bits) - 1), by = tt_lx_splat_i64(L, n, digit_bits);
  V result = NULL, is_negative = LT(n, K(n, 0)), inverse = POW(x, n);
  for (int at = 0; at < bits; at += digit_bits) {
    V part = POW(x, AND(n, mask));
    result = result ? MUL(result, part) : part;
    n = tt_b_binary(L->b, TT_OP_SHIFT_RIGHT_LOGICAL, n, by);
    for (int i = 0; i < digit_bits && at + digit_bits < bits; ++i) x = MUL(x, x);
  }
  return SEL(is_negative, inverse, result);
}

TT_LOWERING(pow) {
  tt_dtype_t dtype = tt_l_result_type(L, 2, first_two), wide = tt_l_accumulate(dtype);
  bool scalar_exponent = tt_l_tensor_or_null(L, 1) == NULL;
  if (dtype == TT_DTYPE_PRED) {
    V bools[2] = {tt_lx_operand(L, 0, dtype), tt_lx_operand(L, 1, dtype)};
    tt_lx_broadcast(L, 2, bools, dtype);
    tt_l_return(L, OR(bools[0], NOT(bools[1])));
    return;
  }
  if (scalar_exponent) {
    if (tt_lx_is_int(dtype) && L->args[1].kind == TT_ARG_INT && !L->args[1].is_value &&
        L->args[1].scalar.i < 0) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Integers to negative integer powers are not allowed.");
    }
    if (tt_lx_is_int(dtype) && L->args[1].kind == TT_ARG_INT && L->args[1].is_value && L->target->checks) {
      V exponent = tt_l_scalar(L, 1, TT_DTYPE_S64);
      tt_b_check(L->b, GE(exponent, K(exponent, 0)), TT_INVALID_ARGUMENT,
                 "Integers to negative integer powers are not allowed.", 0, NULL);
    }
    V special = power_special(L, 1, tt_lx_operand(L, 0, wide));
    if (special) {
      tt_l_return(L, CAST(special, dtype));
      return;
    }
  }
  V values[2] = {tt_lx_operand(L, 0, wide), tt_lx_operand(L, 1, wide)};
  tt_lx_broadcast(L, 2, values, wide);
  V result = tt_lx_is_int(wide) ? integer_power(L, values[0], values[1]) : POW(values[0], values[1]);
  tt_l_return(L, CAST(result, dtype));
}

TT_LOWERING(atan2) {
  V x, y;
  tt_dtype_t dtype = binary_wide(L, true, true, &x, &y);
  tt_l_return(L, CAST(TT_B2(ATAN2, x, y), dtype));
}

TT_LOWERING(hypot) {
  V x, y;
  tt_dtype_t dtype = binary_wide(L, false, true, &x, &y);
  if (!tt_dtype_is_float(dtype)) refuse(L, "hypot_cpu", dtype);
  x = ABS(x);
  y = ABS(y);
  // scaled by the larger one: no overflow
  V large = MAX(x, y), ratio = DIV(MIN(x, y), large);
  V result = MUL(large, SQRT(ADD(MUL(ratio, ratio), K(x, 1))));
  V infinite = OR(EQ(x, K(x, INFINITY)), EQ(y, K(x, INFINITY)));
  result = SEL(EQ(large, K(x, 0)), large, result);
  tt_l_return(L, CAST(SEL(infinite, K(x, INFINITY), result), dtype));
}

static void log_add(tt_lower_t* L, bool base2) {
  V x, y;
  tt_dtype_t dtype = binary_wide(L, true, true, &x, &y);
  if (tt_dtype_is_complex(dtype)) {
    if (base2) refuse(L, "logaddexp2_cpu", dtype);
    tt_l_return(L, tt_lx_complex_logaddexp(L, x, y));
    return;
  }
  V difference = NEG(ABS(SUB(x, y)));
  V tail = base2 ? MUL(LOG1P(EXP(MUL(difference, K(x, 0.6931471805599453)))), K(x, 1.4426950408889634))
                 : LOG1P(EXP(difference));
  V same_infinity = AND(EQ(x, y), EQ(ABS(x), K(x, INFINITY)));
  tt_l_return(L, CAST(SEL(same_infinity, x, ADD(MAX(x, y), tail)), dtype));
}
TT_LOWERING(logaddexp) { log_add(L, false); }
TT_LOWERING(logaddexp2) { log_add(L, true); }

static void extremum(tt_lower_t* L, tt_op_kind_t kind, bool ignore_nan, const char* kernel) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (tt_dtype_is_complex(dtype)) refuse(L, kernel, dtype);
  if (dtype == TT_DTYPE_PRED) {
    tt_l_return(L, kind == TT_OP_MAXIMUM ? OR(x, y) : AND(x, y));
    return;
  }
  V result = tt_b_binary(L->b, kind, x, y);
  if (ignore_nan && tt_dtype_is_float(dtype)) result = SEL(NE(x, x), y, SEL(NE(y, y), x, result));
  tt_l_return(L, result);
}
TT_LOWERING(maximum) { extremum(L, TT_OP_MAXIMUM, false, "maximum_cpu"); }
TT_LOWERING(minimum) { extremum(L, TT_OP_MINIMUM, false, "minimum_cpu"); }
TT_LOWERING(fmax) { extremum(L, TT_OP_MAXIMUM, true, "fmax_cpu"); }
TT_LOWERING(fmin) { extremum(L, TT_OP_MINIMUM, true, "fmin_cpu"); }

TT_LOWERING(copysign) {
  V x, y;
  binary_operands(L, true, &x, &y);
  tt_l_return(L, tt_lx_copysign(L, x, y));
}

TT_LOWERING(nextafter) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (!tt_dtype_is_float(dtype)) refuse(L, "nextafter_cpu", dtype);
  tt_l_return(L, TT_B2(CHLO_NEXT_AFTER, x, y));
}

// Euclid's loop over the whole tensor: ends when every remainder is zero.
static V gcd_values(tt_lower_t* L, V x, V y) {
  if (!x || !y) return NULL;
  bool has_sign = !tt_dtype_is_unsigned_int(tt_lx_dtype(x));
  V operands[2] = {has_sign ? ABS(x) : x, has_sign ? ABS(y) : y};
  tt_op_t* loop = tt_b_while(L->b, 2, operands);
  if (!loop) return NULL;
  tt_block_t* saved = tt_b_region_begin(L->b, loop, 0, 0, NULL);
  V other = tt_b_region_arg(loop, 0, 1);
  V more = tt_lx_reduce_all(L, TT_OP_OR, NE(other, tt_lx_splat_i64(L, other, 0)));
  tt_b_region_end(L->b, saved, 1, &more);
  saved = tt_b_region_begin(L->b, loop, 1, 0, NULL);
  V a = tt_b_region_arg(loop, 1, 0), c = tt_b_region_arg(loop, 1, 1);
  V zero = tt_lx_splat_i64(L, c, 0), one = tt_lx_splat_i64(L, c, 1), done = EQ(c, zero);
  V next[2] = {SEL(done, a, c), SEL(done, c, REM(a, SEL(done, one, c)))};
  tt_b_region_end(L->b, saved, 2, next);
  return &loop->results[0];
}

TT_LOWERING(gcd) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (!tt_lx_is_int(dtype)) refuse(L, "gcd_cpu", dtype);
  tt_l_return(L, gcd_values(L, x, y));
}

TT_LOWERING(lcm) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (!tt_lx_is_int(dtype)) refuse(L, "lcm_cpu", dtype);
  V divisor = gcd_values(L, x, y), zero = tt_lx_splat_i64(L, x, 0), one = tt_lx_splat_i64(L, x, 1);
  V none = EQ(divisor, zero);
  V product = MUL(DIV(x, SEL(none, one, divisor)), y);
  if (!tt_dtype_is_unsigned_int(dtype)) product = ABS(product);
  tt_l_return(L, SEL(none, zero, product));
}

TT_LOWERING(heaviside) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (tt_lx_dtype(tt_l_tensor_or_null(L, 0)) != tt_lx_dtype(tt_l_tensor_or_null(L, 1))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "heaviside is not yet implemented for tensors with different dtypes.");
  }
  if (dtype == TT_DTYPE_PRED) {
    tt_l_return(L, OR(x, y));
    return;
  }
  V zero = K(x, 0);
  tt_l_return(L, SEL(EQ(x, zero), y, CAST(LT(zero, x), dtype)));
}

static void x_log(tt_lower_t* L, bool plus_one) {
  V x, y;
  tt_dtype_t dtype = binary_wide(L, true, true, &x, &y);
  V product = MUL(x, plus_one ? LOG1P(y) : LOG(y));
  V result = SEL(EQ(x, K(x, 0)), K(x, 0), product);
  if (tt_dtype_is_float(dtype)) result = SEL(NE(y, y), y, result);
  tt_l_return(L, CAST(result, dtype));
}
TT_LOWERING(xlogy) { x_log(L, false); }
TT_LOWERING(xlog1py) { x_log(L, true); }

// ---- comparison, logic, bits -------------------------------------------------------------------
static void comparison(tt_lower_t* L, const char* direction, const char* kernel) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (kernel && tt_dtype_is_complex(dtype)) refuse(L, kernel, dtype);
  if (dtype == TT_DTYPE_PRED) {
    x = CAST(x, TT_DTYPE_U8);
    y = CAST(y, TT_DTYPE_U8);
  }
  tt_l_return(L, tt_b_compare(L->b, direction, x, y));
}
TT_LOWERING(eq) { comparison(L, "EQ", NULL); }
TT_LOWERING(ne) { comparison(L, "NE", NULL); }
TT_LOWERING(lt) { comparison(L, "LT", "lt_cpu"); }
TT_LOWERING(le) { comparison(L, "LE", "le_cpu"); }
TT_LOWERING(gt) { comparison(L, "GT", "gt_cpu"); }
TT_LOWERING(ge) { comparison(L, "GE", "ge_cpu"); }

static void logical(tt_lower_t* L, tt_op_kind_t kind) {
  V values[2] = {CAST(tt_l_tensor(L, 0), TT_DTYPE_PRED), CAST(tt_l_tensor(L, 1), TT_DTYPE_PRED)};
  tt_lx_broadcast(L, 2, values, TT_DTYPE_INVALID);
  tt_l_return(L, tt_b_binary(L->b, kind, values[0], values[1]));
}
TT_LOWERING(logical_and) { logical(L, TT_OP_AND); }
TT_LOWERING(logical_or) { logical(L, TT_OP_OR); }
TT_LOWERING(logical_xor) { logical(L, TT_OP_XOR); }
TT_LOWERING(logical_not) {
  V x = CAST(tt_l_tensor(L, 0), TT_DTYPE_PRED);
  tt_l_return(L, NOT(x));
}

static void bitwise(tt_lower_t* L, tt_op_kind_t kind, const char* kernel) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (!tt_lx_is_int_or_bool(dtype)) refuse(L, kernel, dtype);
  tt_l_return(L, tt_b_binary(L->b, kind, x, y));
}
TT_LOWERING(bitwise_and) { bitwise(L, TT_OP_AND, "bitwise_and_cpu"); }
TT_LOWERING(bitwise_or) { bitwise(L, TT_OP_OR, "bitwise_or_cpu"); }
TT_LOWERING(bitwise_xor) { bitwise(L, TT_OP_XOR, "bitwise_xor_cpu"); }
TT_LOWERING(bitwise_not) {
  V x = tt_l_tensor(L, 0);
  if (x && !tt_lx_is_int_or_bool(tt_lx_dtype(x))) refuse(L, "bitwise_not_cpu", tt_lx_dtype(x));
  tt_l_return(L, NOT(x));
}

// Shifts by less than 0 or at least the width: left gives 0, right fills with the sign.
static void shift(tt_lower_t* L, bool left) {
  V x, y;
  tt_dtype_t dtype = binary_operands(L, false, &x, &y);
  if (dtype == TT_DTYPE_PRED || !tt_lx_is_int(dtype)) {
    if (tt_dtype_is_float(dtype)) {   // __lshift__ of floats: times a power of two
      V scale = POW(K(x, 2), y);
      tt_l_return(L, left ? MUL(x, scale) : DIV(x, scale));
      return;
    }
    refuse(L, left ? "lshift_cpu" : "rshift_cpu", dtype);
  }
  int64_t width = 8 * (int64_t)tt_dtype_bytes(dtype);
  bool is_unsigned = tt_dtype_is_unsigned_int(dtype);
  V outside = GE(y, tt_lx_splat_i64(L, y, width));
  if (!is_unsigned) outside = OR(outside, LT(y, tt_lx_splat_i64(L, y, 0)));
  V zero = tt_lx_splat_i64(L, y, 0);
  if (left) {
    tt_l_return(L, SEL(outside, zero, TT_B2(SHIFT_LEFT, x, SEL(outside, zero, y))));
  } else if (is_unsigned) {
    tt_l_return(L, SEL(outside, zero, TT_B2(SHIFT_RIGHT_LOGICAL, x, SEL(outside, zero, y))));
  } else {
    tt_l_return(L, TT_B2(SHIFT_RIGHT_ARITHMETIC, x, SEL(outside, tt_lx_splat_i64(L, y, width - 1), y)));
  }
}
TT_LOWERING(shift_left) { shift(L, true); }
TT_LOWERING(shift_right) { shift(L, false); }

// ---- selection ---------------------------------------------------------------------------------
TT_LOWERING(where) {
  static const uint32_t branches[2] = {1, 2};
  tt_dtype_t dtype = tt_l_result_type(L, 2, branches);
  V condition = tt_l_tensor(L, 0);
  if (condition && tt_lx_dtype(condition) != TT_DTYPE_PRED && tt_lx_dtype(condition) != TT_DTYPE_U8) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                    tt_lx_torch_name(tt_lx_dtype(condition)));
  }
  V values[3] = {CAST(condition, TT_DTYPE_PRED), tt_lx_operand(L, 1, dtype), tt_lx_operand(L, 2, dtype)};
  tt_lx_broadcast(L, 3, values, TT_DTYPE_INVALID);
  tt_l_return(L, SEL(values[0], values[1], values[2]));
}

TT_LOWERING(masked_fill) {
  V self = tt_l_tensor(L, 0), mask = tt_l_tensor(L, 1);
  if (mask && tt_lx_dtype(mask) != TT_DTYPE_PRED) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "masked_fill only supports boolean masks, but got mask with dtype %s",
                    tt_lx_torch_name(tt_lx_dtype(mask)));
  }
  V value = tt_l_tensor_or_null(L, 2);
  if (value && value->type->rank != 0) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "masked_fill only supports a 0-dimensional value tensor, but got tensor with %u dimension(s).",
        value->type->rank);
  }
  if (value && self && tt_dtype_is_complex(tt_lx_dtype(value)) && !tt_dtype_is_complex(tt_lx_dtype(self))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "value cannot be converted to type %s without overflow",
                    tt_lx_torch_name(tt_lx_dtype(self)));
  }
  V values[3] = {mask, self, tt_lx_operand(L, 2, tt_lx_dtype(self))};
  tt_lx_broadcast(L, 3, values, TT_DTYPE_INVALID);
  tt_l_return(L, SEL(values[0], values[1] ? values[2] : NULL, values[1]));
}

// max and min order -0 before +0; PyTorch's clamp by numbers keeps x where it equals one (by tensors it has no
// rule).
static V bounded(tt_lower_t* L, V x, V bound, uint32_t arg, bool is_lower) {
  if (!x || !bound) return x;
  if (tt_lx_dtype(x) == TT_DTYPE_PRED) return is_lower ? OR(x, bound) : AND(x, bound);
  V result = is_lower ? MAX(x, bound) : MIN(x, bound);
  const tt_larg_t* from = arg < L->arg_count ? &L->args[arg] : NULL;
  bool may_be_zero = from && from->kind != TT_ARG_TENSOR && (from->is_value || tt_l_scalar_is(L, arg, 0));
  if (!tt_dtype_is_float(tt_lx_dtype(x)) || !may_be_zero) return result;
  return SEL(EQ(x, bound), x, result);
}
V tt_lx_clamp(tt_lower_t* L, V x, V lo, V hi, uint32_t min_arg, uint32_t max_arg) {
  return bounded(L, bounded(L, x, lo, min_arg, true), hi, max_arg, false);
}

static void clamp(tt_lower_t* L, uint32_t min_arg, uint32_t max_arg) {
  uint32_t args[3] = {0}, count = 1;
  bool has_min = min_arg && !tt_l_is_none(L, min_arg), has_max = max_arg && !tt_l_is_none(L, max_arg);
  if (has_min) args[count++] = min_arg;
  if (has_max) args[count++] = max_arg;
  if (count == 1) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.clamp: At least one of 'min' or 'max' must not be None");
    return;
  }
  tt_dtype_t dtype = tt_l_result_type(L, count, args);
  if (tt_dtype_is_complex(dtype))
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "clamp is not supported for complex types");
  V values[3] = {tt_lx_operand(L, 0, dtype), has_min ? tt_lx_operand(L, min_arg, dtype) : NULL,
                 has_max ? tt_lx_operand(L, max_arg, dtype) : NULL};
  tt_lx_broadcast(L, 3, values, dtype);
  tt_l_return(L, tt_lx_clamp(L, values[0], values[1], values[2], min_arg, max_arg));
}
TT_LOWERING(clamp) { clamp(L, 1, 2); }
TT_LOWERING(clamp_min) { clamp(L, 1, 0); }
TT_LOWERING(clamp_max) { clamp(L, 0, 1); }

// As PyTorch prints a TypeMeta.
static const char* c_name(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_F32: return "float";
    case TT_DTYPE_F64: return "double";
    case TT_DTYPE_F16: return "c10::Half";
    case TT_DTYPE_BF16: return "c10::BFloat16";
    case TT_DTYPE_C64: return "c10::complex<float>";
    case TT_DTYPE_C128: return "c10::complex<double>";
    default: return tt_lx_torch_name(dtype);
  }
}

TT_LOWERING(lerp) {
  uint32_t args[3] = {0, 1, 2};
  tt_dtype_t dtype = tt_l_result_type(L, tt_l_tensor_or_null(L, 2) ? 3 : 2, args),
             wide = tt_l_accumulate(dtype);
  if (tt_lx_dtype(tt_l_tensor_or_null(L, 0)) != tt_lx_dtype(tt_l_tensor_or_null(L, 1))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "expected dtype %s for `end` but got dtype %s",
                    c_name(tt_lx_dtype(tt_l_tensor_or_null(L, 0))),
                    c_name(tt_lx_dtype(tt_l_tensor_or_null(L, 1))));
  }
  V values[3] = {tt_lx_operand(L, 0, wide), tt_lx_operand(L, 1, wide), tt_lx_operand(L, 2, wide)};
  tt_lx_broadcast(L, 3, values, wide);
  V start = values[0], end = values[1], weight = values[2], delta = SUB(end, start), one = K(weight, 1);
  // The form nearer to its end is exact there.
  V magnitude = weight && tt_dtype_is_complex(wide) ? ABS(weight) : ABS(weight);
  V near = LT(magnitude, K(magnitude, 0.5));
  tt_l_return(L,
              CAST(SEL(near, ADD(start, MUL(weight, delta)), SUB(end, MUL(delta, SUB(one, weight)))), dtype));
}

static void add_combined(tt_lower_t* L, bool divide) {
  uint32_t args[3] = {0, 1, 2};
  tt_dtype_t dtype = tt_l_result_type(L, 3, args), wide = tt_l_accumulate(dtype);
  if (divide && tt_lx_is_int_or_bool(dtype)) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform "
        "a "
        "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + "
        "value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * "
        "tensor1 / tensor2) for float inputs.");
  }
  V values[3] = {tt_lx_operand(L, 0, wide), tt_lx_operand(L, 1, wide), tt_lx_operand(L, 2, wide)};
  tt_lx_broadcast(L, 3, values, wide);
  V scaled = values[1];
  if (!tt_l_is_none(L, 3) && !tt_l_scalar_is(L, 3, 1)) scaled = MUL(tt_l_scalar_splat(L, 3, scaled), scaled);
  scaled = divide ? DIV(scaled, values[2]) : MUL(scaled, values[2]);
  tt_l_return(L, CAST(ADD(values[0], scaled), dtype));
}
TT_LOWERING(addcmul) { add_combined(L, false); }
TT_LOWERING(addcdiv) { add_combined(L, true); }

TT_LOWERING(complex) {
  V values[2] = {tt_l_tensor(L, 0), tt_l_tensor(L, 1)};
  tt_lx_broadcast(L, 2, values, TT_DTYPE_INVALID);
  if (values[0] && tt_lx_dtype(values[0]) == TT_DTYPE_F16) refuse(L, "complex (ComplexHalf)", TT_DTYPE_F16);
  if (values[0] && tt_lx_dtype(values[0]) != TT_DTYPE_F32 && tt_lx_dtype(values[0]) != TT_DTYPE_F64) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
                    tt_lx_torch_name(tt_lx_dtype(values[0])), tt_lx_torch_name(tt_lx_dtype(values[1])));
  }
  tt_l_return(L, tt_b_complex(L->b, values[0], values[1]));
}

TT_LOWERING(polar) {
  V values[2] = {tt_l_tensor(L, 0), tt_l_tensor(L, 1)};
  tt_lx_broadcast(L, 2, values, TT_DTYPE_INVALID);
  tt_l_return(L, tt_b_complex(L->b, MUL(values[0], COS(values[1])), MUL(values[0], SIN(values[1]))));
}

TT_LOWERING(isin) {
  V elements = tt_l_tensor(L, 0), test = tt_l_tensor(L, 1);
  static const uint32_t both[2] = {0, 1};
  tt_dtype_t dtype = tt_l_result_type(L, 2, both);
  elements = CAST(elements, dtype);
  test = tt_lx_flatten(L, CAST(test, dtype));
  if (!elements || !test) return;
  bool invert = tt_l_bool(L, 3, false);
  if (tt_lx_numel(L, test) == 0) {
    tt_l_return(L, tt_lx_full(L, TT_DTYPE_PRED, elements->type->rank, elements->type->dims, invert));
    return;
  }
  int64_t rank = tt_lx_rank(elements);
  V pair[2] = {tt_lx_unsqueeze(L, elements, rank), test};
  tt_lx_broadcast(L, 2, pair, TT_DTYPE_INVALID);
  V found = tt_b_reduce(L->b, TT_OP_OR, EQ(pair[0], pair[1]), 1, &rank, false);
  tt_l_return(L, invert ? NOT(found) : found);
}
