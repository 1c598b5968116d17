// Sorting and searching: sort, topk, kthvalue, median, mode, searchsorted.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

static bool has_order(tt_lower_t* L, V x, const char* kernel) {
  if (x && tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                    tt_lx_torch_name(tt_lx_dtype(x)));
  }
  return tt_builder_ok(L->b);
}

static void sort_with(tt_lower_t* L, uint32_t dim_arg) {
  V x = tt_l_tensor(L, 0), values, indices;
  int64_t dim = tt_l_dim(L, tt_l_int(L, dim_arg, -1), tt_lx_rank(x));
  if (!has_order(L, x, "sort")) return;
  tt_lx_sort(L, x, dim, tt_l_bool(L, dim_arg + 1, false), true, &values, &indices);
  tt_l_return(L, values);
  tt_l_return(L, indices);
}
TT_LOWERING(sort_stable) { sort_with(L, 2); }
TT_LOWERING(sort) { sort_with(L, 1); }
TT_LOWERING(argsort) {
  V x = tt_l_tensor(L, 0), values, indices;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, -1), tt_lx_rank(x));
  if (!has_order(L, x, "sort")) return;
  tt_lx_sort(L, x, dim, tt_l_bool(L, 2, false), true, &values, &indices);
  tt_l_return(L, indices);
}

TT_LOWERING(topk) {
  V x = tt_l_tensor(L, 0), values, indices;
  int64_t k = tt_l_int(L, 1, 1), dim = tt_l_dim(L, tt_l_int(L, 2, -1), tt_lx_rank(x));
  if (!x || !has_order(L, x, "topk_cpu")) return;
  int64_t size = x->type->rank ? tt_lx_static_size(L, x, dim) : 1;
  if (k < 0 || k > size) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "selected index k out of range");
    return;
  }
  tt_lx_sort(L, x, dim, tt_l_bool(L, 3, true), true, &values, &indices);
  if (x->type->rank == 0) {
    if (k == 0) {
      tt_builder_fail(L->b, TT_UNIMPLEMENTED, "k = 0 of a 0-dimensional tensor");
      return;
    }
    tt_l_return(L, values);
    tt_l_return(L, indices);
    return;
  }
  tt_l_return(L, tt_lx_slice_dim(L, values, dim, 0, k, 1));
  tt_l_return(L, tt_lx_slice_dim(L, indices, dim, 0, k, 1));
}

static V pick(tt_lower_t* L, V v, int64_t dim, int64_t at, bool keep) {
  V one = tt_lx_slice_dim(L, v, dim, at, at + 1, 1);
  return keep ? one : tt_lx_squeeze(L, one, dim);
}
static bool check_lines(tt_lower_t* L, V x, int64_t dim, const char* name) {
  if (x && x->type->rank && tt_lx_static_size(L, x, dim) == 0) {
    tt_builder_fail(L->b, TT_OUT_OF_RANGE, "%s(): Expected reduction dim %lld to have non-zero size.", name,
                    (long long)dim);
  }
  return x && tt_builder_ok(L->b);
}

TT_LOWERING(kthvalue) {
  V x = tt_l_tensor(L, 0), values, indices;
  int64_t k = tt_l_int(L, 1, 1), dim = tt_l_dim(L, tt_l_int(L, 2, -1), tt_lx_rank(x));
  bool keep = tt_l_bool(L, 3, false);
  if (!check_lines(L, x, dim, "kthvalue") || !has_order(L, x, "kthvalue_cpu")) return;
  int64_t size = x->type->rank ? tt_lx_static_size(L, x, dim) : 1;
  if (k < 1 || k > size) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "kthvalue(): selected number k out of range for dimension %lld", (long long)dim);
    return;
  }
  tt_lx_sort(L, x, dim, false, true, &values, &indices);
  tt_l_return(L, x->type->rank ? pick(L, values, dim, k - 1, keep) : values);
  tt_l_return(L, x->type->rank ? pick(L, indices, dim, k - 1, keep) : indices);
}

// The lower median. With NaN in a line, `median` is NaN (sorted last, so the last element tells) at the first
// NaN; nanmedian takes the middle of those that are not.
static void median_along(tt_lower_t* L, V x, int64_t dim, bool keep, bool skip_nan, V* out_value,
                         V* out_index) {
  V values, indices;
  tt_lx_sort(L, x, dim, false, true, &values, &indices);
  *out_value = values;
  *out_index = indices;
  if (!values || x->type->rank == 0) return;
  int64_t n = tt_lx_static_size(L, x, dim);
  if (!tt_dtype_is_float(tt_lx_dtype(x))) {
    *out_value = pick(L, values, dim, (n - 1) / 2, keep);
    *out_index = pick(L, indices, dim, (n - 1) / 2, keep);
    return;
  }
  V good = CAST(EQ(values, values), TT_DTYPE_S64), count = tt_b_reduce(L->b, TT_OP_ADD, good, 1, &dim, true);
  V one = tt_lx_splat_i64(L, count, 1), zero = tt_lx_splat_i64(L, count, 0);
  V place;
  if (skip_nan) place = DIV(MAX(SUB(count, one), zero), tt_lx_splat_i64(L, count, 2));
  else place = SEL(LT(count, tt_lx_splat_i64(L, count, n)), count, tt_lx_splat_i64(L, count, (n - 1) / 2));
  V value = tt_lx_gather_along(L, values, dim, place), index = tt_lx_gather_along(L, indices, dim, place);
  *out_value = keep ? value : tt_lx_squeeze(L, value, dim);
  *out_index = keep ? index : tt_lx_squeeze(L, index, dim);
}
static void median_all(tt_lower_t* L, bool skip_nan) {
  V x = tt_l_tensor(L, 0), value, index;
  if (!x || !has_order(L, x, "median_cpu")) return;
  if (tt_lx_numel(L, x) == 0) {
    tt_l_return(L, tt_b_scalar_f64(L->b, tt_lx_dtype(x), tt_dtype_is_float(tt_lx_dtype(x)) ? NAN : 0));
    return;
  }
  median_along(L, tt_lx_flatten(L, x), 0, false, skip_nan, &value, &index);
  tt_l_return(L, value);
}
TT_LOWERING(median_all) { median_all(L, false); }
TT_LOWERING(nanmedian_all) { median_all(L, true); }
static void median_dim(tt_lower_t* L, bool skip_nan) {
  V x = tt_l_tensor(L, 0), value, index;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x));
  if (!check_lines(L, x, dim, "median") || !has_order(L, x, "median_out")) return;
  median_along(L, x, dim, tt_l_bool(L, 2, false), skip_nan, &value, &index);
  tt_l_return(L, value);
  tt_l_return(L, index);
}
TT_LOWERING(median_dim) { median_dim(L, false); }
TT_LOWERING(nanmedian_dim) { median_dim(L, true); }

// The smallest among the most frequent, with its last index: the longest run of the sorted line.
TT_LOWERING(mode) {
  V x = tt_l_tensor(L, 0), values, indices, length, end;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, -1), tt_lx_rank(x));
  bool keep = tt_l_bool(L, 2, false);
  if (!check_lines(L, x, dim, "mode") || !has_order(L, x, "mode_cpu")) return;
  tt_lx_sort(L, x, dim, false, true, &values, &indices);
  if (!values || x->type->rank == 0) {
    tt_l_return(L, values);
    tt_l_return(L, indices);
    return;
  }
  int64_t n = tt_lx_static_size(L, x, dim);
  V before = tt_lx_pad_dim(L, tt_lx_slice_dim(L, values, dim, 0, n - 1, 1), dim, 1, 0, 0);
  V place = tt_lx_iota(L, TT_DTYPE_S64, values, dim), zero = tt_lx_splat_i64(L, place, 0);
  V keys = tt_lx_dtype(values) == TT_DTYPE_PRED ? CAST(values, TT_DTYPE_U8) : values;
  V keys_before = tt_lx_dtype(values) == TT_DTYPE_PRED ? CAST(before, TT_DTYPE_U8) : before;
  V starts = OR(NE(keys, keys_before), EQ(place, zero));
  V start = tt_lx_cumulative(L, SEL(starts, place, zero), dim, "max", false);
  tt_lx_extreme_index(L, true, SUB(place, start), dim, true, &length, &end);
  V value = tt_lx_gather_along(L, values, dim, end), index = tt_lx_gather_along(L, indices, dim, end);
  tt_l_return(L, keep ? value : tt_lx_squeeze(L, value, dim));
  tt_l_return(L, keep ? index : tt_lx_squeeze(L, index, dim));
}

// ---- searching ---------------------------------------------------------------------------------
// Halving, unrolled: log2(n) gathers.
V tt_lx_search_sorted(tt_lower_t* L, V sequence, V x, bool right) {
  if (!sequence || !x) return NULL;
  int64_t last = tt_lx_rank(sequence) - 1, n = tt_lx_static_size(L, sequence, last);
  V low = tt_lx_full(L, TT_DTYPE_S64, x->type->rank, x->type->dims, 0), high = tt_lx_splat_i64(L, low, n);
  if (n == 0) return low;
  for (int64_t span = n; span > 0; span /= 2) {
    V open = LT(low, high), middle = DIV(ADD(low, high), tt_lx_splat_i64(L, low, 2));
    V safe = MIN(middle, tt_lx_splat_i64(L, middle, n - 1));
    V probe = last == 0 ? tt_lx_take_flat(L, sequence, safe) : tt_lx_gather_along(L, sequence, last, safe);
    V go_right = NOT(right ? GT(probe, x) : GE(probe, x));
    if (tt_dtype_is_float(tt_lx_dtype(x))) {   // NaN sorts last
      V probe_nan = NE(probe, probe), x_nan = NE(x, x);
      go_right = right ? OR(go_right, x_nan) : AND(go_right, NOT(probe_nan));
      if (right) go_right = AND(go_right, OR(NOT(probe_nan), x_nan));
      else go_right = OR(go_right, AND(x_nan, NOT(probe_nan)));
    }
    low = SEL(AND(open, go_right), ADD(middle, tt_lx_splat_i64(L, middle, 1)), low);
    high = SEL(AND(open, NOT(go_right)), middle, high);
  }
  return low;
}

static void search(tt_lower_t* L, V sequence, V x, bool int32, bool right) {
  if (!sequence || !x) return;
  tt_dtype_t dtype = tt_l_promote(tt_lx_dtype(sequence), tt_lx_dtype(x));
  if (dtype == TT_DTYPE_PRED) dtype = TT_DTYPE_U8;
  V result = tt_lx_search_sorted(L, CAST(sequence, dtype), CAST(x, dtype), right);
  tt_l_return(L, CAST(result, int32 ? TT_DTYPE_S32 : TT_DTYPE_S64));
}
// The value in the boundaries' dtype when it is a number.
static V search_value(tt_lower_t* L, uint32_t arg, V boundaries) {
  V x = tt_l_tensor_or_null(L, arg);
  if (x || !boundaries) return x;
  bool whole = L->args[arg].kind == TT_ARG_INT || tt_dtype_is_float(tt_lx_dtype(boundaries));
  return tt_l_scalar(L, arg, whole ? tt_lx_dtype(boundaries) : TT_DTYPE_F32);
}
TT_LOWERING(bucketize) {
  V boundaries = tt_l_tensor(L, 1), x = search_value(L, 0, boundaries);
  if (tt_lx_rank(boundaries) != 1) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "boundaries tensor must be 1 dimension, but got dim(%lld)",
                    (long long)tt_lx_rank(boundaries));
    return;
  }
  search(L, boundaries, x, tt_l_bool(L, 2, false), tt_l_bool(L, 3, false));
}
TT_LOWERING(searchsorted) {
  V sequence = tt_l_tensor(L, 0), x = search_value(L, 1, sequence), sorter = tt_l_tensor_or_null(L, 5);
  const char* side = tt_l_text(L, 4, "");
  bool right = tt_l_bool(L, 3, false);
  if (!sequence || !x) return;
  if (*side && strcmp(side, "left") && strcmp(side, "right")) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.searchsorted(): side can only be 'left' or 'right' but got %s", side);
    return;
  }
  if (right && !strcmp(side, "left")) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
                    "right was True");
    return;
  }
  if (!strcmp(side, "right")) right = true;
  if (sequence->type->rank == 0) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1");
    return;
  }
  if (sequence->type->rank > 1) {
    bool bad = sequence->type->rank != x->type->rank;
    for (int64_t d = 0; !bad && d + 1 < tt_lx_rank(x); ++d) bad = tt_lx_size(sequence, d) != tt_lx_size(x, d);
    if (bad) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                      "dimensions of boundaries tensor and "
                      "input value tensor must match");
      return;
    }
  }
  if (sorter) sequence = tt_lx_gather_along(L, sequence, tt_lx_rank(sequence) - 1, sorter);
  search(L, sequence, x, tt_l_bool(L, 2, false), right);
}
