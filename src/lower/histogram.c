// histogram (over all elements) and histogramdd (over points, each a row of the innermost dimension).
#include <math.h>
#include <stdio.h>

#include "lower/expr.h"

#define MAX_HISTOGRAM_DIMS TT_LOWER_MAX_RESULTS

typedef struct histogram_s {
  V x;  // [points, dims]
  V weight;  // [points], NULL: 1 each
  int64_t points, dims;
  V edges[MAX_HISTOGRAM_DIMS];  // [bins + 1]
} histogram_t;

// Counts (or weights) between neighbouring edges of each dimension, the last bin closed on both sides.
static V counts_of(tt_lower_t* L, const histogram_t* h, bool density) {
  tt_dtype_t dtype = tt_lx_dtype(h->x);
  tt_dim_t sizes[MAX_HISTOGRAM_DIMS];
  int64_t total = 1;
  V flat = NULL, outside = NULL;
  if (h->dims == 0) return tt_b_scalar_f64(L->b, dtype, 0);
  for (int64_t d = 0; d < h->dims; ++d) {
    V edges = h->edges[d], x = tt_lx_squeeze(L, tt_lx_slice_dim(L, h->x, 1, d, d + 1, 1), 1);
    int64_t bins = sizes[d] = tt_lx_static_size(L, edges, 0) - 1;
    total *= bins;
    V place = tt_lx_search_sorted(L, edges, x, true);
    place = SUB(place, tt_lx_splat_i64(L, place, 1));
    V last = tt_lx_broadcast_like(L, tt_lx_slice_dim(L, edges, 0, bins, bins + 1, 1), x);
    place = SEL(EQ(x, last), tt_lx_splat_i64(L, place, bins - 1), place);
    V off = OR(LT(place, tt_lx_splat_i64(L, place, 0)), GE(place, tt_lx_splat_i64(L, place, bins)));
    outside = outside ? OR(outside, off) : off;
    flat = flat ? ADD(MUL(flat, tt_lx_splat_i64(L, flat, bins)), place) : place;
  }
  flat = SEL(outside, tt_lx_splat_i64(L, flat, total), flat);  // dropped
  V updates =
      h->weight ? CAST(h->weight, dtype) : K(tt_lx_squeeze(L, tt_lx_slice_dim(L, h->x, 1, 0, 1, 1), 1), 1);
  V counts = tt_lx_scatter_rows(L, TT_OP_ADD, tt_lx_full(L, dtype, 1, &total, 0), flat, updates, false);
  counts = tt_b_reshape(L->b, counts, (size_t)h->dims, sizes);
  if (!density) return counts;
  counts = DIV(counts, tt_lx_broadcast_like(L, tt_lx_reduce_all(L, TT_OP_ADD, counts), counts));
  for (int64_t d = 0; d < h->dims; ++d) {
    V width = SUB(tt_lx_slice_dim(L, h->edges[d], 0, 1, sizes[d] + 1, 1),
                  tt_lx_slice_dim(L, h->edges[d], 0, 0, sizes[d], 1));
    counts = DIV(counts, tt_lx_along(L, width, d, counts));
  }
  return counts;
}

// bins + 1 edges between the smallest and largest value of dimension `dim`, or of the given range.
static V equal_edges(tt_lower_t* L, const histogram_t* h, int64_t dim, int64_t bins, const tt_larg_t* range) {
  tt_dtype_t dtype = tt_lx_dtype(h->x);
  int64_t points = bins + 1;
  V lo, hi;
  if (range) {
    lo = tt_b_scalar_f64(L->b, dtype, range->floats[2 * dim]);
    hi = tt_b_scalar_f64(L->b, dtype, range->floats[2 * dim + 1]);
  } else if (h->points == 0) {
    lo = tt_b_scalar_f64(L->b, dtype, 0);
    hi = tt_b_scalar_f64(L->b, dtype, 1);
  } else {
    V x = tt_lx_slice_dim(L, h->x, 1, dim, dim + 1, 1);
    lo = tt_lx_reduce_all(L, TT_OP_MINIMUM, x);
    hi = tt_lx_reduce_all(L, TT_OP_MAXIMUM, x);
    V finite = AND(LT(ABS(lo), K(lo, INFINITY)), LT(ABS(hi), K(hi, INFINITY))), ends[2] = {lo, hi};
    char message[96];
    snprintf(message, sizeof message, "torch.histogramdd: dimension %lld's range [{0}, {1}] is not finite",
             (long long)dim);
    if (L->target->checks) tt_b_check(L->b, finite, TT_INVALID_ARGUMENT, message, 2, ends);
  }
  V same = EQ(lo, hi), half = K(lo, 0.5), low = SEL(same, SUB(lo, half), lo);
  hi = SEL(same, ADD(hi, half), hi);
  V index = tt_b_iota(L->b, tt_b_type(L->b, dtype, 1, &points), 0), steps = K(index, (double)bins);
  V wide_lo = tt_lx_broadcast_like(L, low, index), wide_hi = tt_lx_broadcast_like(L, hi, index);
  V step = DIV(SUB(wide_hi, wide_lo), steps);
  return SEL(LT(index, K(index, (double)(points / 2))), ADD(wide_lo, MUL(step, index)),
             SUB(wide_hi, MUL(step, SUB(steps, index))));
}

static const char* type_text(tt_dtype_t dtype) {  // as C++ calls it in PyTorch's messages
  return dtype == TT_DTYPE_F32 ? "float" : dtype == TT_DTYPE_F64 ? "double" : tt_lx_torch_name(dtype);
}

static bool float_input(tt_lower_t* L, V x) {
  tt_dtype_t dtype = tt_lx_dtype(x);
  if (dtype == TT_DTYPE_F32 || dtype == TT_DTYPE_F64) return true;
  tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"histogramdd\" not implemented for '%s'",
                  tt_lx_torch_name(dtype));
  return false;
}
static bool weight_fits(tt_lower_t* L, V x, V weight, int64_t kept, const char* last) {
  if (!weight) return true;
  if (tt_lx_dtype(weight) != tt_lx_dtype(x)) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the "
        "same dtype, but got input(%s), and weight(%s)",
        type_text(tt_lx_dtype(x)), type_text(tt_lx_dtype(weight)));
    return false;
  }
  bool same = tt_lx_rank(weight) == kept;
  for (int64_t d = 0; same && d < kept; ++d) same = tt_lx_size(weight, d) == tt_lx_size(x, d);
  if (same) return true;
  char have[160], of[160];
  tt_lx_sizes_text(x, last, have, sizeof have);
  tt_lx_sizes_text(weight, "", of, sizeof of);
  tt_builder_fail(
      L->b, TT_INVALID_ARGUMENT,
      "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
      "excluding its innermost dimension, but got input with shape %s and weight with shape %s",
      have, of);
  return false;
}

// The points of argument 0, and their weights; `flat`: every element is a point of one dimension.
static bool histogram_begin(tt_lower_t* L, uint32_t weight_arg, bool flat, histogram_t* h) {
  V x = tt_l_tensor(L, 0), weight = tt_l_tensor_or_null(L, weight_arg);
  if (!x) return false;
  int64_t rank = tt_lx_rank(x);
  if (!flat && rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.histogramdd: input tensor should have at least 2 dimensions");
    return false;
  }
  h->dims = flat ? 1 : tt_lx_static_size(L, x, rank - 1);
  if (h->dims > MAX_HISTOGRAM_DIMS) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "a histogram of %lld dimensions (at most %d)", (long long)h->dims,
                    MAX_HISTOGRAM_DIMS);
    return false;
  }
  if (!float_input(L, x)) return false;
  if (flat && weight && tt_lx_numel(L, weight) == tt_lx_numel(L, x)) {
    if (!weight_fits(L, tt_lx_flatten(L, x), tt_lx_flatten(L, weight), 1, "")) return false;
  } else if (!weight_fits(L, flat ? tt_lx_flatten(L, x) : x, weight, flat ? 1 : rank - 1,
                          flat ? ", 1" : "")) {
    return false;
  }
  h->points = 1;
  for (int64_t d = 0; d < (flat ? rank : rank - 1); ++d) h->points *= tt_lx_static_size(L, x, d);
  tt_dim_t matrix[2] = {h->points, h->dims};
  h->x = tt_b_reshape(L->b, x, 2, matrix);
  h->weight = weight ? tt_lx_flatten(L, weight) : NULL;
  return tt_builder_ok(L->b);
}

// Edges from the numbers of bins and the range in argument 2.
static bool edges_from_counts(tt_lower_t* L, histogram_t* h, tt_i64s_t bins) {
  if ((int64_t)bins.size != h->dims) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "histogramdd: The size of bins must be equal to the innermost dimension of the input.");
    return false;
  }
  const tt_larg_t* range = 2 < L->arg_count && L->args[2].kind == TT_ARG_FLOATS ? &L->args[2] : NULL;
  if (range && (int64_t)range->count != 2 * h->dims) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "torch.histogramdd: for a %lld-dimensional histogram range should have %lld elements, but got %u",
        (long long)h->dims, (long long)(2 * h->dims), range->count);
    return false;
  }
  for (int64_t d = 0; d < h->dims; ++d) {
    double low = range ? range->floats[2 * d] : 0, high = range ? range->floats[2 * d + 1] : 0;
    if (!isfinite(low) || !isfinite(high)) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "torch.histogramdd: dimension %lld's range [%g, %g] is not finite", (long long)d, low,
                      high);
      return false;
    }
    if (low > high) {
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "torch.histogramdd: min should not exceed max, but got min %g max %g for dimension %lld", low, high,
          (long long)d);
      return false;
    }
    if (bins.data[d] <= 0) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "torch.histogram(): bins must be > 0, but got %lld for dimension %lld",
                      (long long)bins.data[d], (long long)d);
      return false;
    }
    h->edges[d] = equal_edges(L, h, d, bins.data[d], range);
  }
  return tt_builder_ok(L->b);
}
static bool edges_given(tt_lower_t* L, histogram_t* h, size_t count, V* edges) {
  if ((int64_t)count != h->dims) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "torch.histogramdd: expected %lld sequences of bin edges for a %lld-dimensional "
                    "histogram but got %zu",
                    (long long)h->dims, (long long)h->dims, count);
    return false;
  }
  for (size_t d = 0; d < count; ++d) {
    V e = edges[d];
    if (tt_lx_dtype(e) != tt_lx_dtype(h->x)) {
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with "
          "dtype %s and bins for dimension %zu with dtype %s",
          type_text(tt_lx_dtype(h->x)), d, type_text(tt_lx_dtype(e)));
      return false;
    }
    if (tt_lx_rank(e) != 1) {
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "torch.histogramdd: bins tensor should have one dimension, but got %lld dimensions in the bins "
          "tensor for dimension %zu",
          (long long)tt_lx_rank(e), d);
      return false;
    }
    if (tt_lx_static_size(L, e, 0) < 2) {
      bool none = tt_lx_size(e, 0) == 0;
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          none ? "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the "
                 "bins tensor for dimension %zu"
               : "torch.histogram(): bins must be > 0, but got 0 for dimension %zu",
          d);
      return false;
    }
    h->edges[d] = e;
  }
  return true;
}

// (self, bins, range?, weight?, density) -> (hist, bin_edges)
TT_LOWERING(histogram_count) {
  histogram_t h;
  int64_t bins = tt_l_int(L, 1, 100);
  if (!histogram_begin(L, 3, true, &h) || !edges_from_counts(L, &h, (tt_i64s_t){&bins, 1})) return;
  tt_l_return(L, counts_of(L, &h, tt_l_bool(L, 4, false)));
  tt_l_return(L, h.edges[0]);
}
// (self, bins, weight?, density)
TT_LOWERING(histogram_edges) {
  histogram_t h;
  V edges = tt_l_tensor(L, 1);
  if (!edges || !histogram_begin(L, 2, true, &h) || !edges_given(L, &h, 1, &edges)) return;
  tt_l_return(L, counts_of(L, &h, tt_l_bool(L, 3, false)));
  tt_l_return(L, edges);
}
// (self, bins, range?, weight?, density) -> the edges of each dimension
TT_LOWERING(histogramdd_edges) {
  histogram_t h;
  if (!histogram_begin(L, 3, false, &h) || !edges_from_counts(L, &h, tt_l_ints(L, 1))) return;
  for (int64_t d = 0; d < h.dims; ++d) tt_l_return(L, h.edges[d]);
}
TT_LOWERING(histogramdd_count) {
  histogram_t h;
  if (!histogram_begin(L, 3, false, &h) || !edges_from_counts(L, &h, tt_l_ints(L, 1))) return;
  tt_l_return(L, counts_of(L, &h, tt_l_bool(L, 4, false)));
}
// (self, bins: tensors, weight?, density)
TT_LOWERING(histogramdd_tensors) {
  histogram_t h;
  size_t count;
  V* edges = tt_l_tensors(L, 1, &count);
  if (!histogram_begin(L, 2, false, &h) || !edges_given(L, &h, count, edges)) return;
  tt_l_return(L, counts_of(L, &h, tt_l_bool(L, 3, false)));
}
