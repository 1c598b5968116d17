// Bodies: scaled dot-product attention and its gradient, written out (the scores exist in memory).
#include <math.h>

#include "lower/expand.h"

typedef struct scores_s {
  V q, k, v;        // f32 (f64); k and v repeated to q's heads
  V scores;         // [B, H, Lq, Lk]
  int64_t repeat;   // q heads a kv head
} scores_t;

// [B, Hk, L, D] -> [B, Hk * repeat, L, D]
static V repeat_heads(tt_lower_t* L, V x, int64_t repeat) {
  if (!x || repeat == 1) return x;
  const tt_dim_t* d = x->type->dims;
  tt_dim_t wide[5] = {d[0], d[1], repeat, d[2], d[3]}, flat[4] = {d[0], d[1] * repeat, d[2], d[3]};
  int64_t places[4] = {0, 1, 3, 4};
  return tt_b_reshape(L->b, tt_b_broadcast_in_dim(L->b, x, 5, wide, places), 4, flat);
}
static V sum_heads(tt_lower_t* L, V x, int64_t repeat) {
  if (!x || repeat == 1) return x;
  const tt_dim_t* d = x->type->dims;
  tt_dim_t wide[5] = {d[0], d[1] / repeat, repeat, d[2], d[3]};
  int64_t dim = 2;
  return tt_b_reduce(L->b, TT_OP_ADD, tt_b_reshape(L->b, x, 5, wide), 1, &dim, false);
}

static bool scores_of(tt_expand_t* e, uint32_t q_at, V bias, scores_t* s) {
  tt_lower_t* L = e->L;
  s->q = UP(e->in[q_at]);
  if (!s->q || !e->in[q_at + 1] || !e->in[q_at + 2]) return false;
  s->repeat = tt_lx_size(s->q, 1) / tt_lx_size(e->in[q_at + 1], 1);
  s->k = repeat_heads(L, UP(e->in[q_at + 1]), s->repeat);
  s->v = repeat_heads(L, UP(e->in[q_at + 2]), s->repeat);
  V scores = tt_b_matmul(L->b, s->q, tt_lx_swap_last(L, s->k));
  if (!scores) return false;
  scores = MUL(scores, K(scores, tt_expand_float(e, TT_ATTR_SCALE, 1)));
  if (bias && tt_lx_dtype(bias) == TT_DTYPE_PRED) {
    scores = SEL(tt_lx_broadcast_like(L, bias, scores), scores, K(scores, -INFINITY));
  } else if (bias) {
    scores = ADD(scores, tt_lx_broadcast_like(L, CAST(bias, tt_lx_dtype(scores)), scores));
  }
  if (tt_expand_bool(e, TT_ATTR_CAUSAL)) {
    V row = tt_lx_iota(L, TT_DTYPE_S64, scores, 2), column = tt_lx_iota(L, TT_DTYPE_S64, scores, 3);
    scores = SEL(GE(row, column), scores, K(scores, -INFINITY));
  }
  s->scores = scores;
  return scores != NULL;
}

void tt_expand_sdpa(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  scores_t s;
  V bias = tt_expand_bool(e, TT_ATTR_HAS_BIAS) ? e->in[3] : NULL;
  if (!scores_of(e, 0, bias, &s)) return;
  int64_t last = 3;
  V top = tt_b_reduce(L->b, TT_OP_MAXIMUM, s.scores, 1, &last, true);
  V base = SEL(EQ(top, K(top, -INFINITY)), K(top, 0), top);   // a row without any key gives zeros
  V powers = EXP(SUB(s.scores, tt_lx_broadcast_like(L, base, s.scores)));
  V total = tt_b_reduce(L->b, TT_OP_ADD, powers, 1, &last, true);
  V divisor = SEL(EQ(total, K(total, 0)), K(total, 1), total);
  V weights = DIV(powers, tt_lx_broadcast_like(L, divisor, powers));
  e->out[0] = CAST(tt_b_matmul(L->b, weights, s.v), e->op->results[0].type->dtype);
  e->out[1] = CAST(tt_lx_squeeze(L, ADD(LOG(total), base), 3), e->op->results[1].type->dtype);
}

void tt_expand_sdpa_backward(tt_expand_t* e) {
  tt_lower_t* L = e->L;
  scores_t s;
  V grad = UP(e->in[0]), out = UP(e->in[4]), log_sum = e->in[5];
  V bias = tt_expand_bool(e, TT_ATTR_HAS_BIAS) ? e->in[6] : NULL;
  if (!scores_of(e, 1, bias, &s)) return;
  log_sum = CAST(log_sum, tt_lx_dtype(s.scores));
  log_sum = SEL(EQ(log_sum, K(log_sum, -INFINITY)), K(log_sum, 0), log_sum);
  V weights = EXP(SUB(s.scores, tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, log_sum, 3), s.scores)));
  int64_t last = 3;
  V delta = tt_b_reduce(L->b, TT_OP_ADD, MUL(grad, out), 1, &last, true);
  V d_weights = tt_b_matmul(L->b, grad, tt_lx_swap_last(L, s.v));
  V d_scores = MUL(weights, SUB(d_weights, tt_lx_broadcast_like(L, delta, d_weights)));
  d_scores = MUL(d_scores, K(d_scores, tt_expand_float(e, TT_ATTR_SCALE, 1)));
  V dq = tt_b_matmul(L->b, d_scores, s.k), dk = tt_b_matmul(L->b, tt_lx_swap_last(L, d_scores), s.q);
  V dv = tt_b_matmul(L->b, tt_lx_swap_last(L, weights), grad);
  e->out[0] = CAST(dq, e->op->results[0].type->dtype);
  e->out[1] = CAST(sum_heads(L, dk, s.repeat), e->op->results[1].type->dtype);
  e->out[2] = CAST(sum_heads(L, dv, s.repeat), e->op->results[2].type->dtype);
}
