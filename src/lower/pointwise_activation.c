// Activations and their gradients. 16-bit floats are computed in f32, as the CPU kernels do.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

static V wide_operand(tt_lower_t* L, uint32_t arg) {
  V x = tt_l_tensor(L, arg);
  return UP(x);
}

static void require_float(tt_lower_t* L, const char* kernel, V x) {
  if (x && tt_lx_is_int_or_bool(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                    tt_lx_torch_name(tt_lx_dtype(x)));
  }
}

// Two tensors, widened and broadcast; returns the dtype of the result.
static tt_dtype_t two(tt_lower_t* L, uint32_t a, uint32_t c, V* x, V* y) {
  uint32_t args[2] = {a, c};
  tt_dtype_t dtype = tt_l_result_type(L, 2, args), wide = tt_l_accumulate(dtype);
  V values[2] = {tt_lx_operand(L, a, wide), tt_lx_operand(L, c, wide)};
  tt_lx_broadcast(L, 2, values, wide);
  *x = values[0];
  *y = values[1];
  return dtype;
}
#define RETURN_AS(value, dtype) tt_l_return(L, CAST((value), (dtype)))

TT_LOWERING(relu) {
  V x = tt_l_tensor(L, 0);
  if (tt_lx_dtype(x) == TT_DTYPE_PRED)
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Boolean inputs not supported for relu");
  tt_l_return(L, SEL(LT(x, K(x, 0)), K(x, 0), x));  // not a maximum: -0.0 and NaN stay
}

TT_LOWERING(threshold) {
  V x = tt_l_tensor(L, 0);
  tt_l_return(L, SEL(LE(x, tt_l_scalar_splat(L, 1, x)), tt_l_scalar_splat(L, 2, x), x));
}
TT_LOWERING(threshold_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  RETURN_AS(SEL(LE(x, tt_l_scalar_splat(L, 2, x)), K(grad, 0), grad), dtype);
}

static V normal_cdf(tt_lower_t* L, V x) { return MUL(K(x, 0.5), ADD(K(x, 1), ERF(MUL(x, K(x, M_SQRT1_2))))); }
V tt_lx_gelu(tt_lower_t* L, V x) { return MUL(x, normal_cdf(L, x)); }
#define GELU_BETA (M_SQRT2 * M_2_SQRTPI * 0.5)
#define GELU_KAPPA 0.044715
static V gelu_inner(tt_lower_t* L, V x) {
  V cube = MUL(MUL(x, x), x);
  return TANH(MUL(K(x, GELU_BETA), ADD(x, MUL(K(x, GELU_KAPPA), cube))));
}
static bool is_tanh(tt_lower_t* L, uint32_t arg) {
  const char* how = tt_l_text(L, arg, "none");
  if (strcmp(how, "tanh") && strcmp(how, "none")) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "approximate argument must be either none or tanh.");
  }
  return !strcmp(how, "tanh");
}
TT_LOWERING(gelu) {
  V x = wide_operand(L, 0);
  require_float(L, "GeluKernelImpl", x);
  V result =
      is_tanh(L, 1) ? MUL(MUL(K(x, 0.5), x), ADD(K(x, 1), gelu_inner(L, x))) : MUL(x, normal_cdf(L, x));
  RETURN_AS(result, tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(gelu_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V derivative;
  if (is_tanh(L, 2)) {
    V inner = gelu_inner(L, x), half = K(x, 0.5), one = K(x, 1);
    V left = MUL(half, ADD(one, inner));
    V slope = MUL(K(x, GELU_BETA), ADD(one, MUL(K(x, 3 * GELU_KAPPA), MUL(x, x))));
    derivative = ADD(left, MUL(MUL(MUL(half, x), SUB(one, MUL(inner, inner))), slope));
  } else {
    V density = MUL(K(x, M_2_SQRTPI * M_SQRT1_2 * 0.5), EXP(MUL(MUL(x, x), K(x, -0.5))));
    derivative = ADD(normal_cdf(L, x), MUL(x, density));
  }
  RETURN_AS(MUL(grad, derivative), dtype);
}

TT_LOWERING(silu) {
  V x = wide_operand(L, 0);
  require_float(L, "silu_cpu", x);
  RETURN_AS(DIV(x, ADD(K(x, 1), EXP(NEG(x)))), tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(silu_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V s = SIGMOID(x), one = K(x, 1);
  RETURN_AS(MUL(MUL(grad, s), ADD(one, MUL(x, SUB(one, s)))), dtype);
}

// log(1 + exp(x)) without overflow
static V soft_plus(tt_lower_t* L, V x) { return ADD(MAX(x, K(x, 0)), LOG1P(EXP(NEG(ABS(x))))); }

TT_LOWERING(mish) {
  V x = wide_operand(L, 0);
  require_float(L, "mish_cpu", x);
  RETURN_AS(MUL(x, TANH(LOG1P(EXP(x)))), tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(mish_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V s = SIGMOID(x), t = TANH(soft_plus(L, x)), one = K(x, 1);
  RETURN_AS(MUL(grad, ADD(t, MUL(MUL(x, s), SUB(one, MUL(t, t))))), dtype);
}

TT_LOWERING(hardtanh) {
  V x = tt_l_tensor(L, 0);
  if (tt_lx_dtype(x) == TT_DTYPE_PRED) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Bool inputs not supported for hardtanh");
  }
  V lo = tt_l_is_none(L, 1) ? K(x, -1) : tt_l_scalar_splat(L, 1, x),
    hi = tt_l_is_none(L, 2) ? K(x, 1) : tt_l_scalar_splat(L, 2, x);
  tt_l_return(L, tt_lx_clamp(L, x, lo, hi, 1, 2));
}
TT_LOWERING(hardtanh_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V outside = OR(LE(x, tt_l_scalar_splat(L, 2, x)), GE(x, tt_l_scalar_splat(L, 3, x)));
  RETURN_AS(SEL(outside, K(grad, 0), grad), dtype);
}

static V relu6(tt_lower_t* L, V x) { return MIN(MAX(x, K(x, 0)), K(x, 6)); }
TT_LOWERING(hardsigmoid) {
  V x = wide_operand(L, 0);
  require_float(L, "hardsigmoid_cpu", x);
  RETURN_AS(DIV(relu6(L, ADD(x, K(x, 3))), K(x, 6)), tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(hardsigmoid_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V inside = AND(GT(x, K(x, -3)), LT(x, K(x, 3)));
  RETURN_AS(SEL(inside, MUL(grad, K(grad, 1.0 / 6)), K(grad, 0)), dtype);
}
TT_LOWERING(hardswish) {
  V x = wide_operand(L, 0);
  require_float(L, "hardswish_cpu", x);
  RETURN_AS(DIV(MUL(x, relu6(L, ADD(x, K(x, 3)))), K(x, 6)), tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(hardswish_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V inner = MUL(grad, ADD(DIV(x, K(x, 3)), K(x, 0.5)));
  RETURN_AS(SEL(LE(x, K(x, -3)), K(grad, 0), SEL(LT(x, K(x, 3)), inner, grad)), dtype);
}

static V number_or(tt_lower_t* L, uint32_t arg, V like, double if_none) {
  return tt_l_is_none(L, arg) ? K(like, if_none) : tt_l_scalar_splat(L, arg, like);
}

TT_LOWERING(elu) {
  V x = wide_operand(L, 0);
  require_float(L, "elu_cpu", x);
  V alpha = number_or(L, 1, x, 1), scale = number_or(L, 2, x, 1), input_scale = number_or(L, 3, x, 1);
  V negative = MUL(EXPM1(MUL(x, input_scale)), MUL(alpha, scale));
  RETURN_AS(SEL(LT(x, K(x, 0)), negative, MUL(x, scale)), tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(elu_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 5, &grad, &x);
  V alpha = number_or(L, 1, x, 1), scale = number_or(L, 2, x, 1), input_scale = number_or(L, 3, x, 1);
  V negative_coefficient = MUL(alpha, scale), zero = K(x, 0), negative;
  if (tt_l_bool(L, 4, false)) {
    negative = MUL(MUL(grad, input_scale), ADD(x, negative_coefficient));
  } else {
    negative = MUL(MUL(MUL(grad, input_scale), negative_coefficient), EXP(MUL(x, input_scale)));
  }
  RETURN_AS(SEL(LE(x, zero), negative, MUL(grad, scale)), dtype);
}

TT_LOWERING(leaky_relu) {
  V x = wide_operand(L, 0);
  require_float(L, "leaky_relu_cpu", x);
  RETURN_AS(SEL(GT(x, K(x, 0)), x, MUL(x, number_or(L, 1, x, 0.01))), tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(leaky_relu_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  RETURN_AS(SEL(GT(x, K(x, 0)), grad, MUL(grad, tt_l_scalar_splat(L, 2, grad))), dtype);
}

TT_LOWERING(softplus) {
  V x = wide_operand(L, 0);
  require_float(L, "softplus_cpu", x);
  V beta = number_or(L, 1, x, 1), limit = number_or(L, 2, x, 20), scaled = MUL(x, beta);
  RETURN_AS(SEL(GT(scaled, limit), x, DIV(LOG1P(EXP(scaled)), beta)), tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(softplus_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V scaled = MUL(x, tt_l_scalar_splat(L, 2, x));
  RETURN_AS(SEL(GT(scaled, tt_l_scalar_splat(L, 3, x)), grad, MUL(grad, SIGMOID(scaled))), dtype);
}

TT_LOWERING(softshrink) {
  V x = wide_operand(L, 0);
  require_float(L, "softshrink_cpu", x);
  V lambda = number_or(L, 1, x, 0.5);
  V shrunk = SEL(GT(x, lambda), SUB(x, lambda), SEL(LT(x, NEG(lambda)), ADD(x, lambda), MUL(x, K(x, 0))));
  RETURN_AS(shrunk, tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(hardshrink) {
  V x = wide_operand(L, 0);
  require_float(L, "hardshrink_cpu", x);
  V lambda = number_or(L, 1, x, 0.5);
  RETURN_AS(SEL(AND(GE(x, NEG(lambda)), LE(x, lambda)), K(x, 0), x), tt_lx_dtype(tt_l_tensor(L, 0)));
}
TT_LOWERING(shrink_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V lambda = tt_l_scalar_splat(L, 2, x);
  RETURN_AS(SEL(AND(GE(x, NEG(lambda)), LE(x, lambda)), K(grad, 0), grad), dtype);
}

TT_LOWERING(prelu_kernel) {
  V x, weight;
  tt_dtype_t dtype = two(L, 0, 1, &x, &weight);
  RETURN_AS(SEL(GT(x, K(x, 0)), x, MUL(weight, x)), dtype);
}
TT_LOWERING(prelu_kernel_backward) {
  V values[3] = {wide_operand(L, 0), wide_operand(L, 1), wide_operand(L, 2)};
  tt_dtype_t dtype = tt_lx_dtype(tt_l_tensor(L, 0));
  tt_lx_broadcast(L, 3, values, TT_DTYPE_INVALID);
  V grad = values[0], x = values[1], weight = values[2], positive = GT(x, K(x, 0));
  RETURN_AS(SEL(positive, grad, MUL(weight, grad)), dtype);
  RETURN_AS(SEL(positive, K(x, 0), MUL(x, grad)), dtype);
}

TT_LOWERING(log_sigmoid_forward) {
  V x = wide_operand(L, 0);
  tt_dtype_t dtype = tt_lx_dtype(tt_l_tensor(L, 0));
  require_float(L, "log_sigmoid_cpu", x);
  V buffer = EXP(NEG(ABS(x)));
  RETURN_AS(SUB(MIN(x, K(x, 0)), LOG1P(buffer)), dtype);
  RETURN_AS(buffer, dtype);
}
TT_LOWERING(log_sigmoid_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V z = wide_operand(L, 2);
  if (z && x && z->type != x->type) z = EXP(NEG(ABS(x)));
  V negative = LT(x, K(x, 0)), one = K(x, 1);
  V derivative = SUB(SEL(negative, one, K(x, 0)), MUL(SEL(negative, one, K(x, -1)), DIV(z, ADD(one, z))));
  RETURN_AS(MUL(grad, derivative), dtype);
}

TT_LOWERING(sigmoid_backward) {
  V grad, y;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &y);
  if (tt_dtype_is_complex(dtype)) y = tt_b_complex(L->b, REAL(y), NEG(IMAG(y)));
  RETURN_AS(MUL(MUL(grad, SUB(K(y, 1), y)), y), dtype);
}
TT_LOWERING(tanh_backward) {
  V grad, y;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &y);
  if (tt_dtype_is_complex(dtype)) y = tt_b_complex(L->b, REAL(y), NEG(IMAG(y)));
  RETURN_AS(MUL(grad, SUB(K(y, 1), MUL(y, y))), dtype);
}

TT_LOWERING(logit) {
  V x = tt_l_tensor(L, 0);
  x = UP(CAST(x, tt_l_default_float(L, tt_lx_dtype(x))));
  if (!tt_l_is_none(L, 1)) {
    double eps = tt_l_float(L, 1, 0);
    V low = K(x, eps), high = SUB(K(x, 1), low);
    x = SEL(LT(x, low), low, SEL(GT(x, high), high, x));
  }
  RETURN_AS(LOG(DIV(x, SUB(K(x, 1), x))), tt_l_default_float(L, tt_lx_dtype(tt_l_tensor(L, 0))));
}
TT_LOWERING(logit_backward) {
  V grad, x;
  tt_dtype_t dtype = two(L, 0, 1, &grad, &x);
  V one = K(x, 1), derivative = DIV(grad, MUL(x, SUB(one, x)));
  if (tt_l_is_none(L, 2)) {
    derivative = SEL(OR(LT(x, K(x, 0)), GT(x, one)), K(x, NAN), derivative);
  } else {
    V low = K(x, tt_l_float(L, 2, 0)), high = SUB(one, low);
    derivative = SEL(OR(LT(x, low), GT(x, high)), K(x, 0), derivative);
  }
  RETURN_AS(derivative, dtype);
}

// ---- glu ---------------------------------------------------------------------------------------
static bool glu_halves(tt_lower_t* L, V x, int64_t dim, V* first, V* second) {
  if (!x) return false;
  if (x->type->rank == 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "glu does not support 0-dimensional tensors");
    return false;
  }
  int64_t size = tt_lx_static_size(L, x, dim);
  if (size % 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Halving dimension must be even, but dimension %lld is size %lld", (long long)dim,
                    (long long)size);
    return false;
  }
  *first = tt_lx_slice_dim(L, x, dim, 0, size / 2, 1);
  *second = tt_lx_slice_dim(L, x, dim, size / 2, size, 1);
  return tt_builder_ok(L->b);
}
TT_LOWERING(glu) {
  V x = tt_l_tensor(L, 0), first, second;
  if (!glu_halves(L, x, tt_l_dim(L, tt_l_int(L, 1, -1), tt_lx_rank(x)), &first, &second)) return;
  RETURN_AS(MUL(UP(first), SIGMOID(UP(second))), tt_lx_dtype(x));
}
TT_LOWERING(glu_backward) {
  V grad = wide_operand(L, 0), x = tt_l_tensor(L, 1), first, second;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 2, -1), tt_lx_rank(x));
  if (!glu_halves(L, x, dim, &first, &second)) return;
  first = UP(first);
  V gate = SIGMOID(UP(second));
  V parts[2] = {MUL(gate, grad), MUL(MUL(MUL(SUB(K(gate, 1), gate), gate), first), grad)};
  RETURN_AS(tt_b_concatenate(L->b, 2, parts, dim), tt_lx_dtype(x));
}

TT_LOWERING(celu) {
  V x = wide_operand(L, 0), alpha = number_or(L, 1, x, 1);
  RETURN_AS(SEL(GT(x, K(x, 0)), x, MUL(alpha, EXPM1(DIV(x, alpha)))), tt_lx_dtype(tt_l_tensor(L, 0)));
}
