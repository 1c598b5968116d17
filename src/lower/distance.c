// Distances between rows: cdist (two sets of rows) and pdist (the pairs of one).
#include <math.h>

#include "lower/expr.h"

// The p-norm of d's last dimension.
static V norm_of(tt_lower_t* L, V d, double p) {
  if (!d) return NULL;
  int64_t last = tt_lx_rank(d) - 1;
  V size = ABS(d);
  if (p == 0) return tt_b_reduce(L->b, TT_OP_ADD, CAST(NE(d, K(d, 0)), tt_lx_dtype(d)), 1, &last, false);
  if (p == 1) return tt_b_reduce(L->b, TT_OP_ADD, size, 1, &last, false);
  if (p == 2) return SQRT(tt_b_reduce(L->b, TT_OP_ADD, MUL(d, d), 1, &last, false));
  if (isinf(p)) {
    tt_op_kind_t kind = tt_lx_size(d, last) ? TT_OP_MAXIMUM : TT_OP_ADD;  // of nothing: 0
    return tt_b_reduce(L->b, kind, size, 1, &last, false);
  }
  V sum = tt_b_reduce(L->b, TT_OP_ADD, POW(size, K(size, p)), 1, &last, false);
  return POW(sum, K(sum, 1 / p));
}
// Its slope by d: r is the norm, broadcast to d's shape.
static V slope_of(tt_lower_t* L, V d, V r, double p) {
  V sign = tt_b_unary(L->b, TT_OP_SIGN, d), zero = K(d, 0);
  if (p == 0) return zero;
  if (p == 1) return sign;
  if (p == 2) return SEL(EQ(r, zero), zero, DIV(d, r));
  if (isinf(p)) return SEL(EQ(ABS(d), r), sign, zero);
  V slope = MUL(MUL(sign, POW(ABS(d), K(d, p - 1))), POW(r, K(r, 1 - p)));
  if (p < 1) slope = SEL(EQ(d, zero), zero, slope);  // 0 times an infinite power
  return SEL(EQ(r, zero), zero, slope);
}

// x1 [.., P, M], x2 [.., R, M]: differences [.., P, R, M].
static V differences(tt_lower_t* L, V x1, V x2) {
  if (!x1 || !x2) return NULL;
  V both[2] = {x1, x2};
  for (int i = 0; i < 2; ++i) {
    tt_dtype_t dtype = tt_lx_dtype(both[i]);
    if ((dtype == TT_DTYPE_F32 || dtype == TT_DTYPE_F64) && dtype == tt_lx_dtype(x1)) continue;
    return tt_builder_fail(
        L->b, dtype == TT_DTYPE_F32 || dtype == TT_DTYPE_F64 ? TT_INVALID_ARGUMENT : TT_UNIMPLEMENTED,
        "\"cdist\" not implemented for '%s' (the other input is %s)", tt_lx_torch_name(dtype),
        tt_lx_torch_name(tt_lx_dtype(both[1 - i])));
  }
  V values[2] = {tt_lx_unsqueeze(L, x1, tt_lx_rank(x1) - 1), tt_lx_unsqueeze(L, x2, tt_lx_rank(x2) - 2)};
  tt_lx_broadcast(L, 2, values, TT_DTYPE_INVALID);
  return SUB(values[0], values[1]);
}
TT_LOWERING(cdist_forward) {
  tt_l_return(L, norm_of(L, differences(L, tt_l_tensor(L, 0), tt_l_tensor(L, 1)), tt_l_float(L, 2, 2)));
}
// (grad [.., P, R], x1, x2, p, cdist) -> gradient of x1
TT_LOWERING(cdist_backward) {
  V grad = tt_l_tensor(L, 0), d = differences(L, tt_l_tensor(L, 1), tt_l_tensor(L, 2)),
    dist = tt_l_tensor(L, 4);
  if (!d || !grad || !dist) return;
  int64_t rank = tt_lx_rank(d), sum_over = rank - 2;
  V g = tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, grad, rank - 1), d),
    r = tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, dist, rank - 1), d);
  tt_l_return(
      L, tt_b_reduce(L->b, TT_OP_ADD, MUL(g, slope_of(L, d, r, tt_l_float(L, 3, 2))), 1, &sum_over, false));
}

// ---- pairs of one set --------------------------------------------------------------------------

// The rows of each pair i < j of n, in order: i64 [n (n - 1) / 2].
static bool pairs_of(tt_lower_t* L, int64_t n, V* first, V* second) {
  int64_t count = n < 2 ? 0 : n * (n - 1) / 2;
  int64_t* begin = tt_arena_alloc_array(L->scratch, (size_t)TT_MAX(n, 1), sizeof *begin);
  if (!begin) {
    tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "out of host memory");
    return false;
  }
  for (int64_t i = 0; i < n; ++i) begin[i] = i * (2 * n - i - 1) / 2;  // the first pair of row i
  V place = tt_b_iota(L->b, tt_b_type(L->b, TT_DTYPE_S64, 1, &count), 0);
  if (count == 0) {
    *first = *second = place;
    return place != NULL;
  }
  V begins = tt_b_i64s(L->b, (size_t)n, begin), row = tt_lx_search_sorted(L, begins, place, true);
  *first = SUB(row, tt_lx_splat_i64(L, row, 1));
  *second = ADD(SUB(place, tt_lx_take_rows(L, begins, *first)), row);
  return tt_builder_ok(L->b);
}
static bool pdist_input(tt_lower_t* L, V x) {
  if (!x) return false;
  if (tt_lx_rank(x) == 2 && (tt_lx_dtype(x) == TT_DTYPE_F32 || tt_lx_dtype(x) == TT_DTYPE_F64)) return true;
  tt_builder_fail(
      L->b, tt_lx_rank(x) == 2 ? TT_UNIMPLEMENTED : TT_INVALID_ARGUMENT,
      tt_lx_rank(x) == 2 ? "\"pdist\" not implemented for '%s'" : "pdist only supports 2D tensors, got %s",
      tt_lx_torch_name(tt_lx_dtype(x)));
  return false;
}
TT_LOWERING(pdist_forward) {
  V x = tt_l_tensor(L, 0), first, second;
  if (!pdist_input(L, x) || !pairs_of(L, tt_lx_static_size(L, x, 0), &first, &second)) return;
  V d = SUB(tt_lx_take_rows(L, x, first), tt_lx_take_rows(L, x, second));
  tt_l_return(L, norm_of(L, d, tt_l_float(L, 1, 2)));
}
// (grad, self, p, pdist)
TT_LOWERING(pdist_backward) {
  V grad = tt_l_tensor(L, 0), x = tt_l_tensor(L, 1), dist = tt_l_tensor(L, 3), first, second;
  if (!grad || !dist || !pdist_input(L, x) || !pairs_of(L, tt_lx_static_size(L, x, 0), &first, &second))
    return;
  V d = SUB(tt_lx_take_rows(L, x, first), tt_lx_take_rows(L, x, second));
  V r = tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, dist, 1), d),
    g = tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, grad, 1), d);
  V part = MUL(g, slope_of(L, d, r, tt_l_float(L, 2, 2)));
  V sum = tt_lx_scatter_rows(L, TT_OP_ADD, K(x, 0), first, part, false);
  tt_l_return(L, tt_lx_scatter_rows(L, TT_OP_ADD, sum, second, NEG(part), false));
}
