// Ops whose size depends on data, and their relatives: nonzero, masked_select, unique, bincount,
// repeat_interleave. Phase 0 gives the size, phase 1 finds it in L->sized.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

static V sizes_1(tt_lower_t* L, V count) { return tt_lx_unsqueeze(L, CAST(count, TT_DTYPE_S64), 0); }
static V true_count(tt_lower_t* L, V mask) {
  return tt_lx_reduce_all(L, TT_OP_ADD, CAST(mask, TT_DTYPE_S64));
}
static int64_t sized(tt_lower_t* L) {
  if (L->sized_count < 1) tt_builder_fail(L->b, TT_INTERNAL, "the size pass gave no size");
  return L->sized_count ? L->sized[0] : 0;
}

V tt_lx_nonzero_flat(tt_lower_t* L, V mask, int64_t count) {
  if (!mask) return NULL;
  V zeros = tt_lx_full(L, TT_DTYPE_S64, 1, &count, 0);
  if (count == 0 || tt_lx_numel(L, mask) == 0) return zeros;
  V place = tt_lx_cumulative(L, CAST(mask, TT_DTYPE_S64), 0, "sum", false);
  place = SEL(mask, SUB(place, tt_lx_splat_i64(L, place, 1)),
              tt_lx_splat_i64(L, place, count));   // out of range: dropped
  return tt_lx_scatter_rows(L, TT_OP_INVALID, zeros, place, tt_lx_iota(L, TT_DTYPE_S64, mask, 0), false);
}

// Flat positions as coordinates [count, rank].
static V coordinates_of(tt_lower_t* L, V flat, V like) {
  if (!flat || !like) return NULL;
  int64_t rank = tt_lx_rank(like), count = tt_lx_size(flat, 0), dims[2] = {count, 0};
  if (rank == 0) return tt_lx_full(L, TT_DTYPE_S64, 2, dims, 0);
  V parts[TT_MAX_RANK], rest = flat;
  for (int64_t d = rank; d-- > 0;) {
    V size = tt_lx_splat_i64(L, rest, TT_MAX(tt_lx_static_size(L, like, d), 1));
    parts[d] = tt_lx_unsqueeze(L, d ? REM(rest, size) : rest, 1);
    rest = DIV(rest, size);
  }
  return rank == 1 ? parts[0] : tt_b_concatenate(L->b, (size_t)rank, parts, 1);
}

TT_LOWERING(nonzero) {
  V x = tt_l_tensor(L, 0), mask = CAST(x, TT_DTYPE_PRED);
  if (L->sized_phase == 0) {
    tt_l_return(L, sizes_1(L, true_count(L, mask)));
    return;
  }
  tt_l_return(L, coordinates_of(L, tt_lx_nonzero_flat(L, tt_lx_flatten(L, mask), sized(L)), x));
}
TT_LOWERING(nonzero_static) {
  V x = tt_l_tensor(L, 0), mask = tt_lx_flatten(L, CAST(x, TT_DTYPE_PRED));
  int64_t size = tt_l_int(L, 1, 0), fill = tt_l_int(L, 2, -1), one = 1;
  if (size < 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "nonzero_static: 'size' must be an non-negative integer");
    return;
  }
  if (!mask) return;
  V count = true_count(L, mask), result = coordinates_of(L, tt_lx_nonzero_flat(L, mask, size), x);
  if (!result) return;
  if (tt_lx_numel(L, result) == 0) {
    tt_l_return(L, result);
    return;
  }
  (void)one;
  V row = tt_lx_iota(L, TT_DTYPE_S64, result, 0);
  tt_l_return(L,
              SEL(LT(row, tt_lx_broadcast_like(L, count, result)), result, tt_lx_splat_i64(L, result, fill)));
}
TT_LOWERING(masked_select) {
  V both[2] = {tt_l_tensor(L, 0), tt_l_tensor(L, 1)};
  if (both[1] && tt_lx_dtype(both[1]) != TT_DTYPE_PRED) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "masked_select: expected BoolTensor for mask");
  }
  tt_lx_broadcast(L, 2, both, TT_DTYPE_INVALID);
  if (L->sized_phase == 0) {
    tt_l_return(L, sizes_1(L, true_count(L, both[1])));
    return;
  }
  V place = tt_lx_nonzero_flat(L, tt_lx_flatten(L, both[1]), sized(L));
  tt_l_return(L, tt_lx_take_flat(L, tt_lx_flatten(L, both[0]), place));
}

// ---- unique ------------------------------------------------------------------------------------
// rows [n, m] in the order of `order` (NULL: as they are); flags [n]: a row differs from the one before.
static V first_flags(tt_lower_t* L, V rows) {
  int64_t n = tt_lx_static_size(L, rows, 0), last = 1;
  V before = tt_lx_pad_dim(L, tt_lx_slice_dim(L, rows, 0, 0, n - 1, 1), 0, 1, 0, 0);
  V differs = tt_b_reduce(L->b, TT_OP_OR, NE(rows, before), 1, &last, false);
  V first = EQ(tt_lx_iota(L, TT_DTYPE_S64, differs, 0),
               tt_lx_splat_i64(L, tt_lx_iota(L, TT_DTYPE_S64, differs, 0), 0));
  return OR(differs, first);
}

// Row numbers that sort rows [n, m] lexicographically.
static V row_order(tt_lower_t* L, V rows) {
  int64_t n = tt_lx_static_size(L, rows, 0), m = tt_lx_static_size(L, rows, 1);
  if (m > 256)
    return tt_builder_fail(L->b, TT_UNIMPLEMENTED,
                           "unique along a dimension with more than 256 elements a slice");
  V inputs[257];
  for (int64_t k = 0; k < m; ++k) {
    inputs[k] = tt_lx_squeeze(L, tt_lx_slice_dim(L, rows, 1, k, k + 1, 1), 1);
    if (tt_lx_dtype(inputs[k]) == TT_DTYPE_PRED) inputs[k] = CAST(inputs[k], TT_DTYPE_U8);
  }
  const tt_type_t* type = tt_b_type(L->b, TT_DTYPE_S64, 1, &n);
  if (!type) return NULL;
  inputs[m] = tt_b_iota(L->b, type, 0);
  tt_op_t* op = tt_b_sort(L->b, (size_t)m + 1, inputs, 0, true);
  if (!op) return NULL;
  tt_block_t* saved = tt_b_region_begin(L->b, op, 0, 0, NULL);
  V less = NULL;
  for (int64_t k = m; k-- > 0;) {   // a_k < b_k or (a_k == b_k and the rest)
    V a = tt_b_region_arg(op, 0, (size_t)(2 * k)), c = tt_b_region_arg(op, 0, (size_t)(2 * k + 1));
    V below = LT(a, c);
    if (tt_dtype_is_float(tt_lx_dtype(a))) below = OR(below, AND(NE(c, c), EQ(a, a)));
    less = less ? OR(below, AND(EQ(a, c), less)) : below;
  }
  if (!less) less = tt_b_scalar_i64(L->b, TT_DTYPE_PRED, 0);
  tt_b_region_end(L->b, saved, 1, &less);
  return &op->results[m];
}

// rows [n, m...]: distinct rows, each row's number among them, how often each occurs.
static void unique_rows(tt_lower_t* L, V rows, bool sort, V* out_rows, V* out_inverse, V* out_counts) {
  *out_rows = *out_inverse = *out_counts = NULL;
  if (!rows) return;
  int64_t n = tt_lx_static_size(L, rows, 0), m = 1;
  for (int64_t d = 1; d < tt_lx_rank(rows); ++d) m *= tt_lx_static_size(L, rows, d);
  int64_t flat_dims[2] = {n, m};
  if (n == 0) {
    int64_t zero = 0;
    if (L->sized_phase == 0) *out_counts = tt_lx_full(L, TT_DTYPE_S64, 1, flat_dims, 0);
    *out_rows = rows;
    *out_inverse = *out_counts = tt_lx_full(L, TT_DTYPE_S64, 1, &zero, 0);
    return;
  }
  V flat = tt_b_reshape(L->b, rows, 2, flat_dims), order = NULL;
  if (sort && m == 1) {
    V values;
    tt_lx_sort(L, tt_lx_flatten(L, flat), 0, false, true, &values, &order);
  } else if (sort) {
    order = row_order(L, flat);
  }
  V sorted = order ? tt_lx_take_rows(L, flat, order) : flat;
  V flags = first_flags(L, sorted);
  if (L->sized_phase == 0) {
    *out_counts = true_count(L, flags);
    return;
  }
  int64_t count = sized(L);
  V group = tt_lx_cumulative(L, CAST(flags, TT_DTYPE_S64), 0, "sum", false);
  group = SUB(group, tt_lx_splat_i64(L, group, 1));
  V firsts = tt_lx_nonzero_flat(L, flags, count);
  V distinct = tt_lx_take_rows(L, sorted, firsts);
  tt_dim_t shape[TT_MAX_RANK];
  memcpy(shape, rows->type->dims, rows->type->rank * sizeof *shape);
  shape[0] = count;
  *out_rows = tt_b_reshape(L->b, distinct, rows->type->rank, shape);
  V zeros = tt_lx_full(L, TT_DTYPE_S64, 1, &n, 0);
  *out_inverse = order ? tt_lx_scatter_rows(L, TT_OP_INVALID, zeros, order, group, true) : group;
  V none = tt_lx_full(L, TT_DTYPE_S64, 1, &count, 0), ones = tt_lx_full(L, TT_DTYPE_S64, 1, &n, 1);
  *out_counts = tt_lx_scatter_rows(L, TT_OP_ADD, none, group, ones, false);
}

static void unique(tt_lower_t* L, bool sort, bool has_dim, int64_t dim, bool inverse, bool counts) {
  V x = tt_l_tensor(L, 0), rows, places, totals;
  if (!x) return;
  if (tt_dtype_is_complex(tt_lx_dtype(x)))
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"unique\" not implemented for '%s'",
                    tt_lx_torch_name(tt_lx_dtype(x)));
  V lines = has_dim && x->type->rank ? tt_lx_move_dim(L, x, dim, 0) : tt_lx_flatten(L, x);
  unique_rows(L, lines, sort, &rows, &places, &totals);
  if (L->sized_phase == 0) {
    V count = totals && totals->type->rank == 1 ? tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0) : totals;
    tt_l_return(L, sizes_1(L, count));
    return;
  }
  int64_t zero = 0;
  V empty = tt_lx_full(L, TT_DTYPE_S64, 1, &zero, 0);
  tt_l_return(L, has_dim && x->type->rank ? tt_lx_move_dim(L, rows, 0, dim) : rows);
  if (inverse && !has_dim && places) places = tt_b_reshape(L->b, places, x->type->rank, x->type->dims);
  tt_l_return(L, inverse ? places : empty);
  tt_l_return(L, counts ? totals : empty);
}
TT_LOWERING(unique2) { unique(L, true, false, 0, tt_l_bool(L, 2, false), tt_l_bool(L, 3, false)); }
TT_LOWERING(unique_plain) {
  unique(L, true, false, 0, tt_l_bool(L, 2, false), false);
  if (L->sized_phase == 1 && L->result_count == 3) L->result_count = 2;
}
TT_LOWERING(unique_dim) {
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(tt_l_tensor(L, 0)));
  unique(L, true, true, dim, tt_l_bool(L, 3, false), tt_l_bool(L, 4, false));
}
TT_LOWERING(unique_dim_consecutive) {
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(tt_l_tensor(L, 0)));
  unique(L, false, true, dim, tt_l_bool(L, 2, false), tt_l_bool(L, 3, false));
}
TT_LOWERING(unique_consecutive) {
  bool has_dim = !tt_l_is_none(L, 3);
  int64_t dim = has_dim ? tt_l_dim(L, tt_l_int(L, 3, 0), tt_lx_rank(tt_l_tensor(L, 0))) : 0;
  unique(L, false, has_dim, dim, tt_l_bool(L, 1, false), tt_l_bool(L, 2, false));
}

// ---- counting ----------------------------------------------------------------------------------
TT_LOWERING(bincount) {
  V x = tt_l_tensor(L, 0), weights = tt_l_tensor_or_null(L, 1);
  int64_t least = tt_l_int(L, 2, 0);
  if (!x) return;
  if (!tt_lx_is_int(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"bincount_cpu\" not implemented for '%s'",
                    tt_lx_torch_name(tt_lx_dtype(x)));
    return;
  }
  if (x->type->rank != 1) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "bincount only supports 1-d non-negative integral inputs.");
    return;
  }
  if (least < 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "minlength should be >= 0");
    return;
  }
  V index = CAST(x, TT_DTYPE_S64);
  if (L->sized_phase == 0) {
    tt_lx_check(L, GE(index, tt_lx_splat_i64(L, index, 0)), TT_INVALID_ARGUMENT,
                "bincount only supports 1-d non-negative integral inputs.");
    V floor = tt_b_scalar_i64(L->b, TT_DTYPE_S64, least);
    V size = tt_lx_numel(L, x)
                 ? MAX(ADD(tt_lx_reduce_all(L, TT_OP_MAXIMUM, index), tt_b_scalar_i64(L->b, TT_DTYPE_S64, 1)),
                       floor)
                 : floor;
    tt_l_return(L, sizes_1(L, size));
    return;
  }
  int64_t count = sized(L);
  tt_dtype_t dtype = !weights                               ? TT_DTYPE_S64
                     : tt_lx_dtype(weights) == TT_DTYPE_F32 ? TT_DTYPE_F32
                                                            : TT_DTYPE_F64;
  if (weights && tt_lx_numel(L, x) == 0)
    dtype = tt_lx_dtype(weights) == TT_DTYPE_F32 ? TT_DTYPE_F32 : TT_DTYPE_F64;
  V updates = weights ? CAST(weights, dtype) : tt_lx_full(L, dtype, 1, x->type->dims, 1);
  tt_l_return(L, tt_lx_scatter_rows(L, TT_OP_ADD, tt_lx_full(L, dtype, 1, &count, 0), index, updates, false));
}

TT_LOWERING(repeat_interleave) {
  V repeats = tt_l_tensor(L, 0);
  if (!repeats) return;
  if (repeats->type->rank != 1) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "repeat_interleave only accept 1D vector as repeat");
    return;
  }
  V wide = CAST(repeats, TT_DTYPE_S64);
  if (L->sized_phase == 0) {
    tt_lx_check(L, GE(wide, tt_lx_splat_i64(L, wide, 0)), TT_INVALID_ARGUMENT, "repeats can not be negative");
    tt_l_return(L, sizes_1(L, tt_lx_reduce_all(L, TT_OP_ADD, wide)));
    return;
  }
  int64_t count = sized(L);
  V marks = tt_lx_full(L, TT_DTYPE_S64, 1, &count, 0);
  if (count > 0) {
    // position j belongs to the entry after all whose running sum is at most j
    V ends = tt_lx_cumulative(L, wide, 0, "sum", false);
    marks = tt_lx_scatter_rows(L, TT_OP_ADD, marks, ends, tt_lx_splat_i64(L, ends, 1), false);
    marks = tt_lx_cumulative(L, marks, 0, "sum", false);
  }
  tt_l_return(L, CAST(marks, tt_lx_dtype(repeats)));
}

TT_LOWERING(histc) {
  V narrow = tt_l_tensor(L, 0);
  if (!narrow) return;
  tt_dtype_t dtype = tt_lx_dtype(narrow);
  int64_t bins = tt_l_int(L, 1, 100);
  tt_dtype_t out = tt_l_out_dtype(L, 0);
  if (out != TT_DTYPE_INVALID && out != dtype) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
                    "%s and hist %s",
                    tt_lx_torch_name(dtype), tt_lx_torch_name(out));
    return;
  }
  if (bins <= 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "bins must be > 0");
    return;
  }
  V x = tt_lx_flatten(L, UP(narrow)), zeros = tt_lx_full(L, tt_lx_dtype(x), 1, &bins, 0);
  if (!x) return;
  if (tt_lx_is_int(dtype)) x = CAST(x, TT_DTYPE_F64);
  double low = tt_l_float(L, 2, 0), high = tt_l_float(L, 3, 0);
  if (low > high) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "torch.histc: max must be larger than min");
    return;
  }
  if (tt_lx_numel(L, x) == 0) {
    tt_l_return(L, CAST(zeros, dtype));
    return;
  }
  V lo, hi;
  if (low == high) {
    lo = low == 0 ? tt_lx_reduce_all(L, TT_OP_MINIMUM, x) : tt_b_scalar_f64(L->b, tt_lx_dtype(x), low);
    hi = low == 0 ? tt_lx_reduce_all(L, TT_OP_MAXIMUM, x) : lo;
    V flat = EQ(lo, hi), one = K(lo, 1), new_lo = SEL(flat, SUB(lo, one), lo);
    hi = SEL(flat, ADD(hi, one), hi);
    lo = new_lo;
    tt_lx_check(L, AND(TT_B1(IS_FINITE, lo), TT_B1(IS_FINITE, hi)), TT_INVALID_ARGUMENT,
                "range of [min, max] is not finite");
  } else {
    lo = tt_b_scalar_f64(L->b, tt_lx_dtype(x), low);
    hi = tt_b_scalar_f64(L->b, tt_lx_dtype(x), high);
  }
  lo = tt_lx_broadcast_like(L, lo, x);
  hi = tt_lx_broadcast_like(L, hi, x);
  V place = FLOOR(MUL(DIV(SUB(x, lo), SUB(hi, lo)), K(x, (double)bins)));
  V index = CAST(MIN(place, K(place, (double)(bins - 1))), TT_DTYPE_S64);
  V inside = AND(GE(x, lo), LE(x, hi));
  index = SEL(inside, index, tt_lx_splat_i64(L, index, bins));
  // a 16-bit float cannot count: S64 then the result's dtype
  V counts = tt_lx_full(L, TT_DTYPE_S64, 1, &bins, 0);
  counts = tt_lx_scatter_rows(L, TT_OP_ADD, counts, index, tt_lx_splat_i64(L, index, 1), false);
  tt_l_return(L, CAST(counts, dtype));
}
