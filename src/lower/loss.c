// Losses and their gradients. reduction: 0 none, 1 mean, 2 sum.
#include "lower/expr.h"

static V reduced(tt_lower_t* L, V loss, int64_t reduction, tt_dtype_t dtype) {
  if (!loss) return NULL;
  if (reduction == 0) return CAST(loss, dtype);
  V wide = UP(loss);
  double n = (double)tt_lx_numel(L, loss);
  V total = tt_lx_reduce_all(L, TT_OP_ADD, wide);
  if (reduction == 1) total = DIV(total, K(total, n));
  return CAST(total, dtype);
}

// grad_output spread over the elements, divided by their number for a mean.
static V spread_gradient(tt_lower_t* L, V grad, V like, int64_t reduction) {
  if (!grad || !like) return NULL;
  V g = tt_lx_broadcast_like(L, CAST(grad, tt_lx_dtype(like)), like);
  return reduction == 1 ? DIV(g, K(g, (double)tt_lx_numel(L, like))) : g;
}

// Arguments `a` and `b` promoted and broadcast; *dtype is the result's.
static bool pair(tt_lower_t* L, uint32_t a, uint32_t b, V* x, V* y, tt_dtype_t* dtype) {
  V values[2] = {tt_l_tensor(L, a), tt_l_tensor(L, b)};
  uint32_t args[2] = {a, b};
  *dtype = tt_l_result_type(L, 2, args);
  tt_lx_broadcast(L, 2, values, tt_l_accumulate(*dtype));
  *x = values[0];
  *y = values[1];
  return *x && *y;
}

TT_LOWERING(mse_loss) {
  V x, y;
  tt_dtype_t dtype;
  if (!pair(L, 0, 1, &x, &y, &dtype)) return;
  V d = SUB(x, y);
  tt_l_return(L, reduced(L, MUL(d, d), tt_l_int(L, 2, 1), dtype));
}
TT_LOWERING(mse_loss_backward) {
  V x, y;
  tt_dtype_t dtype;
  if (!pair(L, 1, 2, &x, &y, &dtype)) return;
  V d = SUB(x, y), g = spread_gradient(L, tt_l_tensor(L, 0), d, tt_l_int(L, 3, 1));
  tt_l_return(L, CAST(MUL(MUL(d, K(d, 2)), g), dtype));
}

static V smooth_l1(tt_lower_t* L, V d, double beta) {
  V a = ABS(d);
  if (beta == 0) return a;
  return SEL(LT(a, K(a, beta)), MUL(MUL(d, d), K(d, 0.5 / beta)), SUB(a, K(a, 0.5 * beta)));
}
TT_LOWERING(smooth_l1_loss) {
  V x, y;
  tt_dtype_t dtype;
  if (!pair(L, 0, 1, &x, &y, &dtype)) return;
  tt_l_return(L, reduced(L, smooth_l1(L, SUB(x, y), tt_l_float(L, 3, 1)), tt_l_int(L, 2, 1), dtype));
}
TT_LOWERING(smooth_l1_loss_backward) {
  V x, y;
  tt_dtype_t dtype;
  if (!pair(L, 1, 2, &x, &y, &dtype)) return;
  double beta = tt_l_float(L, 4, 1);
  V d = SUB(x, y), sign = tt_b_unary(L->b, TT_OP_SIGN, d),
    g = spread_gradient(L, tt_l_tensor(L, 0), d, tt_l_int(L, 3, 1));
  V slope = beta == 0 ? sign : SEL(LT(ABS(d), K(d, beta)), DIV(d, K(d, beta)), sign);
  tt_l_return(L, CAST(MUL(slope, g), dtype));
}

TT_LOWERING(huber_loss) {
  V x, y;
  tt_dtype_t dtype;
  if (!pair(L, 0, 1, &x, &y, &dtype)) return;
  double delta = tt_l_float(L, 3, 1);
  V d = SUB(x, y), a = ABS(d);
  V loss = SEL(LE(a, K(a, delta)), MUL(MUL(d, d), K(d, 0.5)), MUL(SUB(a, K(a, 0.5 * delta)), K(a, delta)));
  tt_l_return(L, reduced(L, loss, tt_l_int(L, 2, 1), dtype));
}
TT_LOWERING(huber_loss_backward) {
  V x, y;
  tt_dtype_t dtype;
  if (!pair(L, 1, 2, &x, &y, &dtype)) return;
  double delta = tt_l_float(L, 4, 1);
  V d = SUB(x, y), g = spread_gradient(L, tt_l_tensor(L, 0), d, tt_l_int(L, 3, 1));
  V slope = SEL(LE(ABS(d), K(d, delta)), d, MUL(tt_b_unary(L->b, TT_OP_SIGN, d), K(d, delta)));
  tt_l_return(L, CAST(MUL(slope, g), dtype));
}

TT_LOWERING(soft_margin_loss) {
  V x, y;
  tt_dtype_t dtype;
  if (!pair(L, 0, 1, &x, &y, &dtype)) return;
  tt_l_return(L, reduced(L, LOG1P(EXP(NEG(MUL(x, y)))), tt_l_int(L, 2, 1), dtype));
}
TT_LOWERING(soft_margin_loss_backward) {
  V x, y;
  tt_dtype_t dtype;
  if (!pair(L, 1, 2, &x, &y, &dtype)) return;
  V z = EXP(NEG(MUL(x, y))), g = spread_gradient(L, tt_l_tensor(L, 0), x, tt_l_int(L, 3, 1));
  tt_l_return(L, CAST(MUL(DIV(MUL(NEG(y), z), ADD(z, K(z, 1))), g), dtype));
}

// ---- binary cross entropy ----------------------------------------------------------------------

static void check_unit_interval(tt_lower_t* L, V x, const char* message) {
  V inside = AND(GE(x, K(x, 0)), LE(x, K(x, 1)));
  V bad_one = x && tt_builder_ok(L->b) ? tt_lx_reduce_all(L, TT_OP_AND, inside) : NULL;
  if (bad_one) tt_b_check(L->b, bad_one, TT_INVALID_ARGUMENT, message, 0, NULL);
}
static V weighted(tt_lower_t* L, V loss, V weight) {
  return weight && loss ? MUL(loss, tt_lx_broadcast_like(L, CAST(weight, tt_lx_dtype(loss)), loss)) : loss;
}

// -(t log x + (1 - t) log(1 - x)), logarithms cut at -100 as PyTorch does
TT_LOWERING(binary_cross_entropy) {
  V x, t;
  tt_dtype_t dtype;
  if (!pair(L, 0, 1, &x, &t, &dtype)) return;
  check_unit_interval(L, x, "all elements of input should be between 0 and 1");
  V one = K(x, 1), low = K(x, -100);
  V loss = SUB(MUL(SUB(t, one), MAX(LOG1P(NEG(x)), low)), MUL(t, MAX(LOG(x), low)));
  tt_l_return(L, reduced(L, weighted(L, loss, tt_l_tensor_or_null(L, 2)), tt_l_int(L, 3, 1), dtype));
}
TT_LOWERING(binary_cross_entropy_backward) {
  V x, t;
  tt_dtype_t dtype;
  if (!pair(L, 1, 2, &x, &t, &dtype)) return;
  V g = spread_gradient(L, tt_l_tensor(L, 0), x, tt_l_int(L, 4, 1));
  V denominator = MAX(MUL(SUB(K(x, 1), x), x), K(x, 1e-12));
  tt_l_return(L, CAST(weighted(L, DIV(MUL(g, SUB(x, t)), denominator), tt_l_tensor_or_null(L, 3)), dtype));
}
// (input, target, weight?, pos_weight?, reduction)
TT_LOWERING(binary_cross_entropy_with_logits) {
  V x, t;
  tt_dtype_t dtype;
  if (!pair(L, 0, 1, &x, &t, &dtype)) return;
  V softplus = ADD(LOG1P(EXP(NEG(ABS(x)))), MAX(NEG(x), K(x, 0)));  // log(1 + exp(-x))
  V rest = MUL(SUB(K(t, 1), t), x), pos = tt_l_tensor_or_null(L, 3), loss;
  if (pos) {
    V p = tt_lx_broadcast_like(L, CAST(pos, tt_lx_dtype(x)), x);
    loss = ADD(rest, MUL(ADD(MUL(SUB(p, K(p, 1)), t), K(t, 1)), softplus));
  } else {
    loss = ADD(rest, softplus);
  }
  tt_l_return(L, reduced(L, weighted(L, loss, tt_l_tensor_or_null(L, 2)), tt_l_int(L, 4, 1), dtype));
}

// ---- negative log likelihood -------------------------------------------------------------------

typedef struct nll_s {
  V x, target;  // x [N, C, ...] in f32 or wider; target [N, ...] i64
  V valid, weight;  // valid i1 [N, ...]; weight of each target, 0 where ignored
  int64_t classes, axis;
  bool unbatched;
  tt_dtype_t dtype;
} nll_t;

static bool nll_begin(tt_lower_t* L, uint32_t x_arg, uint32_t target_arg, uint32_t weight_arg, int64_t ignore,
                      nll_t* s) {
  V x = tt_l_tensor(L, x_arg), target = tt_l_tensor(L, target_arg),
    weight = tt_l_tensor_or_null(L, weight_arg);
  if (!x || !target) return false;
  s->dtype = tt_lx_dtype(x);
  if (tt_lx_dtype(target) != TT_DTYPE_S64 && tt_lx_dtype(target) != TT_DTYPE_U8) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "expected target dtype to be Long or Byte, but got %s",
                    tt_lx_torch_name(tt_lx_dtype(target)));
    return false;
  }
  s->unbatched = tt_lx_rank(x) == 1;
  if (s->unbatched) {
    x = tt_lx_unsqueeze(L, x, 0);
    if (tt_lx_rank(target) == 0) target = tt_lx_unsqueeze(L, target, 0);
  }
  if (tt_lx_rank(x) != tt_lx_rank(target) + 1 || tt_lx_size(x, 0) != tt_lx_size(target, 0)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "size mismatch (got input: rank %lld, batch %lld; target: rank %lld, batch %lld)",
                    (long long)tt_lx_rank(x), (long long)tt_lx_size(x, 0), (long long)tt_lx_rank(target),
                    (long long)(tt_lx_rank(target) ? tt_lx_size(target, 0) : 1));
    return false;
  }
  s->axis = 1;
  s->classes = tt_lx_static_size(L, x, 1);
  s->x = UP(x);
  V t = CAST(target, TT_DTYPE_S64);
  s->valid = NE(t, tt_lx_splat_i64(L, t, ignore));
  V inside = AND(GE(t, tt_lx_splat_i64(L, t, 0)), LT(t, tt_lx_splat_i64(L, t, s->classes)));
  V fine = OR(inside, NOT(s->valid));
  if (!tt_builder_ok(L->b)) return false;
  // The message shows the offending target: the largest or smallest of those out of range.
  V bad = tt_lx_reduce_all(L, TT_OP_MAXIMUM, SEL(fine, tt_lx_splat_i64(L, t, INT64_MIN), t));
  tt_b_check(L->b, tt_lx_reduce_all(L, TT_OP_AND, fine), TT_OUT_OF_RANGE, "Target {0} is out of bounds.", 1,
             &bad);
  s->target = SEL(AND(inside, s->valid), t, tt_lx_splat_i64(L, t, 0));
  if (weight) {
    V table = CAST(weight, tt_lx_dtype(s->x));
    V flat = tt_lx_flatten(L, s->target);
    V picked = tt_lx_gather_along(L, table, 0, flat);
    s->weight = picked ? tt_b_reshape(L->b, picked, s->target->type->rank, s->target->type->dims) : NULL;
  } else {
    s->weight = tt_lx_full(L, tt_lx_dtype(s->x), s->target->type->rank, s->target->type->dims, 1);
  }
  s->weight = SEL(s->valid, s->weight, K(s->weight, 0));
  return tt_builder_ok(L->b);
}

// (self, target, weight?, reduction, ignore_index) -> (output, total_weight)
TT_LOWERING(nll_loss_forward) {
  nll_t s;
  if (!nll_begin(L, 0, 1, 2, tt_l_int(L, 4, -100), &s)) return;
  int64_t reduction = tt_l_int(L, 3, 1);
  V index = tt_lx_unsqueeze(L, s.target, 1);
  V picked = tt_lx_squeeze(L, tt_lx_gather_along(L, s.x, 1, index), 1);
  // A weight of zero hides an infinite log-probability of an ignored target.
  V loss = SEL(s.valid, NEG(MUL(picked, s.weight)), K(s.weight, 0));
  if (!loss) return;
  V total = tt_lx_reduce_all(L, TT_OP_ADD, s.weight);
  if (reduction == 0) {
    if (s.unbatched) loss = tt_b_reshape(L->b, loss, 0, NULL);
    tt_l_return(L, CAST(loss, s.dtype));
    tt_l_return(L, CAST(K(total, 0), s.dtype));
    return;
  }
  V sum = tt_lx_reduce_all(L, TT_OP_ADD, loss);
  tt_l_return(L, CAST(reduction == 1 ? DIV(sum, total) : sum, s.dtype));
  tt_l_return(L, CAST(total, s.dtype));
}

// (grad_output, self, target, weight?, reduction, ignore_index, total_weight)
TT_LOWERING(nll_loss_backward) {
  nll_t s;
  V self = tt_l_tensor(L, 1);
  if (!self || !nll_begin(L, 1, 2, 3, tt_l_int(L, 5, -100), &s)) return;
  int64_t reduction = tt_l_int(L, 4, 1);
  V g = CAST(tt_l_tensor(L, 0), tt_lx_dtype(s.x));
  if (reduction == 1) g = DIV(g, CAST(tt_l_tensor(L, 6), tt_lx_dtype(s.x)));
  if (reduction == 0 && s.unbatched) g = tt_lx_broadcast_like(L, g, s.weight);
  V per_row = NEG(MUL(tt_lx_broadcast_like(L, g, s.weight), s.weight));
  per_row = SEL(s.valid, per_row, K(per_row, 0));
  V wide_target = tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, s.target, 1), s.x);
  V hit = EQ(tt_lx_iota(L, TT_DTYPE_S64, s.x, 1), wide_target);
  V dx = SEL(hit, tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, per_row, 1), s.x), K(s.x, 0));
  tt_l_return(L, dx ? tt_b_reshape(L->b, CAST(dx, s.dtype), self->type->rank, self->type->dims) : NULL);
}
