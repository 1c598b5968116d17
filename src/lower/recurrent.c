// Fused recurrent cells, as PyTorch's own fused kernels define their workspaces.
#include "lower/expr.h"

// [B, n*H] gates with optional biases, in the accumulation dtype.
static V gates(tt_lower_t* L, uint32_t arg, uint32_t bias_arg) {
  V g = UP(tt_l_tensor(L, arg)), bias = tt_l_tensor_or_null(L, bias_arg);
  return bias && g ? ADD(g, tt_lx_broadcast_like(L, CAST(bias, tt_lx_dtype(g)), g)) : g;
}
static V chunk(tt_lower_t* L, V x, int64_t index, int64_t count) {
  if (!x) return NULL;
  int64_t width = tt_lx_static_size(L, x, 1) / count;
  return tt_lx_slice_dim(L, x, 1, index * width, (index + 1) * width, 1);
}
static V cat(tt_lower_t* L, size_t count, V* parts) {
  return parts[0] ? tt_b_concatenate(L->b, count, parts, 1) : NULL;
}
static V one_minus(tt_lower_t* L, V x) { return SUB(K(x, 1), x); }
static V sum_batch(tt_lower_t* L, V x) {
  int64_t zero = 0;
  return x ? tt_b_reduce(L->b, TT_OP_ADD, x, 1, &zero, false) : NULL;
}

// (input_gates, hidden_gates, cx, input_bias?, hidden_bias?) -> (hy, cy, workspace: activated i f g o)
TT_LOWERING(thnn_fused_lstm_cell) {
  V input = tt_l_tensor(L, 0), all = ADD(gates(L, 0, 3), gates(L, 1, 4)), cx = UP(tt_l_tensor(L, 2));
  if (!all || !cx) return;
  V i = SIGMOID(chunk(L, all, 0, 4)), f = SIGMOID(chunk(L, all, 1, 4)), g = TANH(chunk(L, all, 2, 4)),
    o = SIGMOID(chunk(L, all, 3, 4));
  V cy = ADD(MUL(f, cx), MUL(i, g)), hy = MUL(o, TANH(cy));
  V parts[4] = {i, f, g, o};
  tt_dtype_t dtype = tt_lx_dtype(input);
  tt_l_return(L, CAST(hy, dtype));
  tt_l_return(L, CAST(cy, dtype));
  tt_l_return(L, CAST(cat(L, 4, parts), dtype));
}

// (grad_hy?, grad_cy?, cx, cy, workspace, has_bias) -> (grad_gates, grad_cx, grad_bias)
TT_LOWERING(thnn_fused_lstm_cell_backward) {
  V workspace = tt_l_tensor(L, 4), w = UP(workspace), cx = UP(tt_l_tensor(L, 2)), cy = UP(tt_l_tensor(L, 3));
  V ghy = UP(tt_l_tensor_or_null(L, 0)), gcy = UP(tt_l_tensor_or_null(L, 1));
  if (!w || !cx || !cy) return;
  if (!ghy && !gcy) {
    for (int k = 0; k < 3; ++k) tt_l_return_none(L);
    return;
  }
  if (!ghy) ghy = K(cx, 0);
  if (!gcy) gcy = K(cx, 0);
  V i = chunk(L, w, 0, 4), f = chunk(L, w, 1, 4), g = chunk(L, w, 2, 4), o = chunk(L, w, 3, 4), t = TANH(cy);
  V gc = ADD(MUL(MUL(ghy, o), one_minus(L, MUL(t, t))), gcy);
  V parts[4] = {MUL(MUL(MUL(gc, g), i), one_minus(L, i)), MUL(MUL(MUL(gc, cx), f), one_minus(L, f)),
                MUL(MUL(gc, i), one_minus(L, MUL(g, g))), MUL(MUL(MUL(ghy, t), o), one_minus(L, o))};
  V grad = cat(L, 4, parts);
  tt_dtype_t dtype = tt_lx_dtype(workspace);
  tt_l_return(L, CAST(grad, dtype));
  tt_l_return(L, CAST(MUL(gc, f), dtype));
  if (tt_l_bool(L, 5, false)) tt_l_return(L, CAST(sum_batch(L, grad), dtype));
  else tt_l_return_none(L);
}

// (input_gates, hidden_gates, hx, input_bias?, hidden_bias?) -> (hy, workspace: r z n hx (hidden n + bias))
TT_LOWERING(thnn_fused_gru_cell) {
  V input = tt_l_tensor(L, 0), ig = gates(L, 0, 3), hg = gates(L, 1, 4), hx = UP(tt_l_tensor(L, 2));
  if (!ig || !hg || !hx) return;
  V r = SIGMOID(ADD(chunk(L, ig, 0, 3), chunk(L, hg, 0, 3))),
    z = SIGMOID(ADD(chunk(L, ig, 1, 3), chunk(L, hg, 1, 3)));
  V hn = chunk(L, hg, 2, 3), n = TANH(ADD(chunk(L, ig, 2, 3), MUL(r, hn)));
  V hy = ADD(n, MUL(z, SUB(hx, n)));
  V parts[5] = {r, z, n, hx, hn};
  tt_dtype_t dtype = tt_lx_dtype(input);
  tt_l_return(L, CAST(hy, dtype));
  tt_l_return(L, CAST(cat(L, 5, parts), dtype));
}

// (grad_hy, workspace, has_bias) -> (grad_input_gates, grad_hidden_gates, grad_hx, grad_input_bias, grad_hidden_bias)
TT_LOWERING(thnn_fused_gru_cell_backward) {
  V workspace = tt_l_tensor(L, 1), w = UP(workspace), go = UP(tt_l_tensor(L, 0));
  if (!w || !go) return;
  V r = chunk(L, w, 0, 5), z = chunk(L, w, 1, 5), n = chunk(L, w, 2, 5), hx = chunk(L, w, 3, 5),
    hn = chunk(L, w, 4, 5);
  V gz = MUL(MUL(MUL(go, SUB(hx, n)), one_minus(L, z)), z);
  V gn = MUL(MUL(go, one_minus(L, z)), one_minus(L, MUL(n, n)));
  V ghn = MUL(gn, r), gr = MUL(MUL(MUL(gn, hn), one_minus(L, r)), r);
  V input_parts[3] = {gr, gz, gn}, hidden_parts[3] = {gr, gz, ghn};
  V gi = cat(L, 3, input_parts), gh = cat(L, 3, hidden_parts);
  tt_dtype_t dtype = tt_lx_dtype(workspace);
  tt_l_return(L, CAST(gi, dtype));
  tt_l_return(L, CAST(gh, dtype));
  tt_l_return(L, CAST(MUL(go, z), dtype));
  if (tt_l_bool(L, 2, false)) {
    tt_l_return(L, CAST(sum_batch(L, gi), dtype));
    tt_l_return(L, CAST(sum_batch(L, gh), dtype));
  } else {
    tt_l_return_none(L);
    tt_l_return_none(L);
  }
}
