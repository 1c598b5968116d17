// The fused inference paths of torch.nn.MultiheadAttention and TransformerEncoderLayer (mask true: hidden).
#include <math.h>

#include "lower/expr.h"

// Masks of nn.MultiheadAttention.merge_masks.
enum { MASK_SOURCE, MASK_PADDING, MASK_MERGED };

static V linear(tt_lower_t* L, V x, V weight, V bias) {
  if (!x || !weight) return NULL;
  int64_t last = tt_lx_rank(x) - 1, one = 1;
  tt_dot_dims_t dims = {{NULL, 0}, {NULL, 0}, {&last, 1}, {&one, 1}};
  V y = tt_b_dot_general(L->b, x, weight, &dims, tt_l_accumulate(tt_lx_dtype(x)));
  if (y && bias) y = ADD(y, tt_lx_broadcast_like(L, CAST(bias, tt_lx_dtype(y)), y));
  return CAST(y, tt_lx_dtype(x));
}

// [batch, length, heads * head] -> [batch, heads, length, head]
static V split_heads(tt_lower_t* L, V x, int64_t heads, int64_t head) {
  static const int64_t swap[4] = {0, 2, 1, 3};
  if (!x) return NULL;
  tt_dim_t dims[4] = {tt_lx_size(x, 0), tt_lx_size(x, 1), heads, head};
  return tt_b_transpose(L->b, tt_b_reshape(L->b, x, 4, dims), swap);
}

// The mask as something added to scores [batch, heads, length, keys].
static V mask_bias(tt_lower_t* L, V mask, int64_t kind, tt_dtype_t dtype) {
  if (!mask) return NULL;
  int64_t rank = tt_lx_rank(mask);
  if (rank != (kind == MASK_MERGED ? 4 : 2) || kind < MASK_SOURCE || kind > MASK_MERGED) {
    return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "a mask of type %lld has %lld dimensions",
                           (long long)kind, (long long)rank);
  }
  mask = CAST(mask, TT_DTYPE_PRED);
  if (kind == MASK_SOURCE) mask = tt_lx_unsqueeze(L, tt_lx_unsqueeze(L, mask, 0), 0);
  if (kind == MASK_PADDING) mask = tt_lx_unsqueeze(L, tt_lx_unsqueeze(L, mask, 1), 1);
  if (!mask) return NULL;
  V zero = tt_lx_full(L, dtype, 4, mask->type->dims, 0);
  return SEL(mask, tt_lx_full(L, dtype, 4, mask->type->dims, -INFINITY), zero);
}

typedef struct {
  int64_t width, heads;
  V qkv_weight, qkv_bias, out_weight, out_bias, mask;
  int64_t mask_kind;
  bool average;
  V* weights;   // out: the attention weights; NULL if they are not wanted
} attention_t;

static V attention(tt_lower_t* L, V query, V key, V value, const attention_t* a) {
  if (!query || !key || !value || !a->qkv_weight || !a->qkv_bias) return NULL;
  if (tt_lx_rank(query) != 3 || tt_lx_rank(key) != 3 || tt_lx_rank(value) != 3 || a->heads <= 0 ||
      a->width % a->heads || tt_lx_size(query, 2) != a->width) {
    return tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                           "expected [batch, length, embed_dim] with embed_dim %lld divisible by num_heads %lld",
                           (long long)a->width, (long long)a->heads);
  }
  const int64_t head = a->width / a->heads;
  V inputs[3] = {query, key, value}, parts[3];
  for (int i = 0; i < 3; ++i) {
    V weight = tt_lx_slice_dim(L, a->qkv_weight, 0, i * a->width, (i + 1) * a->width, 1);
    V bias = tt_lx_slice_dim(L, a->qkv_bias, 0, i * a->width, (i + 1) * a->width, 1);
    parts[i] = split_heads(L, linear(L, inputs[i], weight, bias), a->heads, head);
  }
  V q = parts[0], k = parts[1], v = parts[2], bias = mask_bias(L, a->mask, a->mask_kind, tt_lx_dtype(query));
  if (!tt_builder_ok(L->b)) return NULL;
  const double scale = 1.0 / sqrt((double)head);
  static const int64_t back[4] = {0, 2, 1, 3};
  V out;
  if (a->weights) {
    int64_t last = 3, second = 1;
    V scores = tt_b_matmul(L->b, MUL(UP(q), K(UP(q), scale)), tt_lx_swap_last(L, UP(k)));
    if (bias) scores = ADD(scores, tt_lx_broadcast_like(L, CAST(bias, tt_lx_dtype(scores)), scores));
    V top = tt_b_reduce(L->b, TT_OP_MAXIMUM, scores, 1, &last, true);
    V p = EXP(SUB(scores, tt_lx_broadcast_like(L, top, scores)));
    p = DIV(p, tt_lx_broadcast_like(L, tt_b_reduce(L->b, TT_OP_ADD, p, 1, &last, true), p));
    out = CAST(tt_b_matmul(L->b, p, UP(v)), tt_lx_dtype(query));
    if (a->average) {
      V sum = tt_b_reduce(L->b, TT_OP_ADD, p, 1, &second, false);
      p = DIV(sum, K(sum, (double)a->heads));
    }
    *a->weights = CAST(p, tt_lx_dtype(query));
  } else {
    V operands[4] = {q, k, v, bias};
    tt_dim_t dims[4] = {tt_lx_size(q, 0), tt_lx_size(q, 1), tt_lx_size(q, 2), tt_lx_size(v, 3)};
    tt_dtype_t wide = tt_l_accumulate(tt_lx_dtype(q));
    const tt_type_t* types[2] = {tt_b_type(L->b, tt_lx_dtype(q), 4, dims), tt_b_type(L->b, wide, 3, dims)};
    tt_attr_t attrs[] = {tt_attr_float(TT_ATTR_SCALE, scale), tt_attr_bool(TT_ATTR_CAUSAL, false),
                         tt_attr_bool(TT_ATTR_HAS_BIAS, bias != NULL)};
    tt_op_t* op = tt_b_composite(L->b, "tt.sdpa", bias ? 4 : 3, operands, 2, types, TT_ARRAY_LENGTH(attrs),
                                 attrs, NULL);
    out = op ? &op->results[0] : NULL;
  }
  if (!out) return NULL;
  tt_dim_t joined[3] = {tt_lx_size(out, 0), tt_lx_size(out, 2), a->width};
  out = tt_b_reshape(L->b, tt_b_transpose(L->b, out, back), 3, joined);
  return linear(L, out, a->out_weight, a->out_bias);
}

// (query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask?, need_weights,
//  average_attn_weights, mask_type?) -> (output, weights or none)
TT_LOWERING(native_multi_head_attention) {
  V weights = NULL;
  attention_t a = {
      .width = tt_l_int(L, 3, 0),
      .heads = tt_l_int(L, 4, 1),
      .qkv_weight = tt_l_tensor(L, 5),
      .qkv_bias = tt_l_tensor(L, 6),
      .out_weight = tt_l_tensor(L, 7),
      .out_bias = tt_l_tensor(L, 8),
      .mask = tt_l_tensor_or_null(L, 9),
      .mask_kind = tt_l_int(L, 12, MASK_MERGED),
      .average = tt_l_bool(L, 11, true),
      .weights = tt_l_bool(L, 10, true) ? &weights : NULL,
  };
  tt_l_return(L, attention(L, tt_l_tensor(L, 0), tt_l_tensor(L, 1), tt_l_tensor(L, 2), &a));
  if (a.weights) tt_l_return(L, weights);
  else tt_l_return_none(L);
}

// (src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1,
//  norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask?, mask_type?)
TT_LOWERING(transformer_encoder_layer) {
  V src = tt_l_tensor(L, 0);
  if (!src) return;
  const bool norm_first = tt_l_bool(L, 8, false);
  const double eps = tt_l_float(L, 9, 1e-5);
  const int64_t axis = tt_lx_rank(src) - 1;
  V weight[2] = {tt_l_tensor(L, 10), tt_l_tensor(L, 12)}, bias[2] = {tt_l_tensor(L, 11), tt_l_tensor(L, 13)};
  attention_t a = {
      .width = tt_l_int(L, 1, 0),
      .heads = tt_l_int(L, 2, 1),
      .qkv_weight = tt_l_tensor(L, 3),
      .qkv_bias = tt_l_tensor(L, 4),
      .out_weight = tt_l_tensor(L, 5),
      .out_bias = tt_l_tensor(L, 6),
      .mask = tt_l_tensor_or_null(L, 18),
      .mask_kind = tt_l_int(L, 19, MASK_MERGED),
  };
  V x = norm_first ? tt_lx_layer_norm(L, src, weight[0], bias[0], axis, eps) : src;
  x = ADD(attention(L, x, x, x, &a), src);
  if (!norm_first) x = tt_lx_layer_norm(L, x, weight[0], bias[0], axis, eps);
  V kept = x;
  if (norm_first) x = tt_lx_layer_norm(L, x, weight[1], bias[1], axis, eps);
  V hidden = UP(linear(L, x, tt_l_tensor(L, 14), tt_l_tensor(L, 15)));
  if (!hidden) return;
  hidden = tt_l_bool(L, 7, false) ? tt_lx_gelu(L, hidden) : MAX(hidden, K(hidden, 0));
  x = ADD(linear(L, CAST(hidden, tt_lx_dtype(src)), tt_l_tensor(L, 16), tt_l_tensor(L, 17)), kept);
  if (!norm_first) x = tt_lx_layer_norm(L, x, weight[1], bias[1], axis, eps);
  tt_l_return(L, x);
}
