// Scaled dot-product attention: the fused kernels that PyTorch calls for out-of-tree devices.
#include <math.h>

#include "lower/expr.h"

#define SDP_MATH 0  // torch.nn.attention.SDPBackend
#define SDP_OVERRIDEABLE 4

// (query, key, value, attn_mask?, dropout_p, is_causal, scale?, enable_gqa) -> which backend runs
TT_LOWERING(fused_sdp_choice) {
  V q = tt_l_tensor(L, 0), k = tt_l_tensor(L, 1), v = tt_l_tensor(L, 2);
  if (!q || !k || !v) return;
  bool fused = tt_lx_rank(q) == 4 && tt_lx_rank(k) == 4 && tt_lx_rank(v) == 4 &&
               tt_dtype_is_float(tt_lx_dtype(q)) && tt_l_float(L, 4, 0) == 0;
  for (int64_t d = 0; fused && d < 4; ++d)
    fused = tt_lx_size(q, d) > 0 && tt_lx_size(k, d) > 0 && tt_lx_size(v, d) > 0;
  // grouped heads only when asked for; broadcast batches take the general path
  fused = fused && tt_lx_size(q, 0) == tt_lx_size(k, 0) && tt_lx_size(q, 0) == tt_lx_size(v, 0) &&
          tt_lx_size(k, 1) == tt_lx_size(v, 1) &&
          (tt_l_bool(L, 7, false) ? tt_lx_size(q, 1) % tt_lx_size(k, 1) == 0
                                  : tt_lx_size(q, 1) == tt_lx_size(k, 1));
  tt_l_return_int(L, fused ? SDP_OVERRIDEABLE : SDP_MATH);
}

static V as_rank4(tt_lower_t* L, V bias) {
  while (bias && tt_lx_rank(bias) < 4) bias = tt_lx_unsqueeze(L, bias, 0);
  return bias;
}

static double scale_of(tt_lower_t* L, uint32_t arg, V q) {
  return tt_l_float(L, arg, 1.0 / sqrt((double)tt_lx_static_size(L, q, 3)));
}

// (query, key, value, attn_bias?, dropout_p, is_causal, return_debug_mask, scale?)
//   -> (output, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, philox_seed, philox_offset, debug_attn_mask)
TT_LOWERING(sdpa_forward) {
  V q = tt_l_tensor(L, 0), k = tt_l_tensor(L, 1), v = tt_l_tensor(L, 2),
    bias = as_rank4(L, tt_l_tensor_or_null(L, 3));
  if (!q || !k || !v) return;
  if (tt_l_float(L, 4, 0) != 0) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "fused attention with dropout (the math path has it)");
    return;
  }
  V operands[4] = {q, k, v, bias};
  tt_dim_t out[4] = {tt_lx_size(q, 0), tt_lx_size(q, 1), tt_lx_size(q, 2), tt_lx_size(v, 3)};
  tt_dtype_t wide = tt_l_accumulate(tt_lx_dtype(q));
  const tt_type_t* types[2] = {tt_b_type(L->b, tt_lx_dtype(q), 4, out), tt_b_type(L->b, wide, 3, out)};
  tt_attr_t attrs[] = {tt_attr_float(TT_ATTR_SCALE, scale_of(L, 7, q)),
                       tt_attr_bool(TT_ATTR_CAUSAL, tt_l_bool(L, 5, false)),
                       tt_attr_bool(TT_ATTR_HAS_BIAS, bias != NULL)};
  tt_op_t* op =
      tt_b_composite(L->b, "tt.sdpa", bias ? 4 : 3, operands, 2, types, TT_ARRAY_LENGTH(attrs), attrs, NULL);
  if (!op) return;
  V nothing = tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0);
  tt_l_return(L, &op->results[0]);
  tt_l_return(L, &op->results[1]);
  tt_l_return_none(L);
  tt_l_return_none(L);
  tt_l_return_int(L, tt_lx_static_size(L, q, 2));
  tt_l_return_int(L, tt_lx_static_size(L, k, 2));
  tt_l_return(L, nothing);
  tt_l_return(L, nothing);
  tt_l_return_none(L);
}

// The bias's own gradient: the scores' gradient summed over what the bias was broadcast along. Scores exist here.
static V bias_gradient(tt_lower_t* L, V grad, V q, V k, V v, V bias, V out, V logsumexp, double scale,
                       bool causal) {
  int64_t last = 3;
  V g = UP(grad), o = UP(out), scores = tt_b_matmul(L->b, UP(q), tt_lx_swap_last(L, UP(k)));
  if (!scores) return NULL;
  scores =
      ADD(MUL(scores, K(scores, scale)), tt_lx_broadcast_like(L, CAST(bias, tt_lx_dtype(scores)), scores));
  V p = EXP(SUB(
      scores, tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, CAST(logsumexp, tt_lx_dtype(scores)), 3), scores)));
  if (causal) p = SEL(GE(tt_lx_iota(L, TT_DTYPE_S64, p, 2), tt_lx_iota(L, TT_DTYPE_S64, p, 3)), p, K(p, 0));
  V dp = tt_b_matmul(L->b, g, tt_lx_swap_last(L, UP(v)));
  V row = tt_b_reduce(L->b, TT_OP_ADD, MUL(g, o), 1, &last, true);
  V ds = MUL(p, SUB(dp, tt_lx_broadcast_like(L, row, dp)));
  int64_t dims[4];
  size_t count = 0;
  for (int64_t d = 0; ds && d < 4; ++d) {
    if (tt_lx_size(bias, d) == 1 && tt_lx_size(ds, d) != 1) dims[count++] = d;
  }
  if (count) ds = tt_b_reduce(L->b, TT_OP_ADD, ds, count, dims, true);
  return CAST(ds, tt_lx_dtype(bias));
}

// (grad_out, query, key, value, attn_bias, mask[4], out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
//  philox_seed, philox_offset, scale?) -> (dq, dk, dv, dbias)
TT_LOWERING(sdpa_backward) {
  V grad = tt_l_tensor(L, 0), q = tt_l_tensor(L, 1), k = tt_l_tensor(L, 2), v = tt_l_tensor(L, 3),
    raw_bias = tt_l_tensor_or_null(L, 4);
  V out = tt_l_tensor(L, 6), logsumexp = tt_l_tensor(L, 7), bias = as_rank4(L, raw_bias);
  if (!grad || !q || !k || !v || !out || !logsumexp) return;
  const bool* mask = L->args[5].bools;
  double scale = scale_of(L, 16, q);
  bool causal = tt_l_bool(L, 13, false);
  V operands[7] = {grad, q, k, v, out, logsumexp, bias};
  const tt_type_t* types[3] = {q->type, k->type, v->type};
  tt_attr_t attrs[] = {tt_attr_float(TT_ATTR_SCALE, scale), tt_attr_bool(TT_ATTR_CAUSAL, causal),
                       tt_attr_bool(TT_ATTR_HAS_BIAS, bias != NULL)};
  tt_op_t* op = tt_b_composite(L->b, "tt.sdpa_backward", bias ? 7 : 6, operands, 3, types,
                               TT_ARRAY_LENGTH(attrs), attrs, NULL);
  if (!op) return;
  for (int i = 0; i < 3; ++i) {
    if (mask[i]) tt_l_return(L, &op->results[i]);
    else tt_l_return_none(L);
  }
  if (!mask[3] || !bias) {
    tt_l_return_none(L);
    return;
  }
  if (tt_lx_size(q, 1) != tt_lx_size(k, 1)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "gradient of an attention bias with grouped heads");
    return;
  }
  V db = bias_gradient(L, grad, q, k, v, bias, out, logsumexp, scale, causal);
  tt_l_return(L, db ? tt_b_reshape(L->b, db, raw_bias->type->rank, raw_bias->type->dims) : NULL);
}
