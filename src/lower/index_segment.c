// segment_reduce and its gradient: data [B, m, R], one segment number an element of [B, m].
#include <math.h>
#include <string.h>

#include "lower/expr.h"

typedef struct segments_s {
  int64_t batch, length, rest, count;   // B, m, R, segments a line
  V data;                               // [B * m, R], widened
  V place;   // [B * m] row of [B * count]; out of range where no segment covers it
  tt_dim_t shape[TT_MAX_RANK];   // of the output
  size_t rank;
} segments_t;

// Rows of values laid out as data.
static V rows_of(tt_lower_t* L, V v, int64_t rows, int64_t rest) {
  int64_t dims[2] = {rows, rest};
  return v ? tt_b_reshape(L->b, UP(v), 2, dims) : NULL;
}

static bool segments_of(tt_lower_t* L, V data, V lengths, V offsets, int64_t axis, segments_t* s) {
  if (!data || (!lengths && !offsets)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Either lengths or offsets must be defined");
    return false;
  }
  *s = (segments_t){.batch = 1, .rest = 1, .rank = data->type->rank};
  axis = tt_l_dim(L, axis, tt_lx_rank(data));
  if (!tt_builder_ok(L->b) || data->type->rank == 0) return false;
  s->length = tt_lx_static_size(L, data, axis);
  for (int64_t d = 0; d < tt_lx_rank(data); ++d) {
    s->shape[d] = data->type->dims[d];
    if (d < axis) s->batch *= tt_lx_static_size(L, data, d);
    if (d > axis) s->rest *= tt_lx_static_size(L, data, d);
  }
  V given = lengths ? lengths : offsets;
  int64_t last = tt_lx_rank(given) - 1, entries = tt_lx_static_size(L, given, last);
  s->count = lengths ? entries : entries - 1;
  s->shape[axis] = s->count;
  int64_t line[2] = {s->batch, entries}, grid[2] = {s->batch, s->length};
  V ends = tt_b_reshape(L->b, CAST(given, TT_DTYPE_S64), 2, line);
  if (lengths) {
    ends = tt_lx_cumulative(L, ends, 1, "sum", false);
  } else {
    ends = tt_lx_slice_dim(L, ends, 1, 1, entries, 1);
  }
  const tt_type_t* type = tt_b_type(L->b, TT_DTYPE_S64, 2, grid);
  if (!type || !ends) return false;
  V at = tt_lx_search_sorted(L, ends, tt_b_iota(L->b, type, 1), true), row = tt_b_iota(L->b, type, 0);
  V flat = ADD(MUL(row, tt_lx_splat_i64(L, row, s->count)), at);
  flat = SEL(LT(at, tt_lx_splat_i64(L, at, s->count)), flat, tt_lx_splat_i64(L, flat, s->batch * s->count));
  s->place = tt_lx_flatten(L, flat);
  s->data = rows_of(L, data, s->batch * s->length, s->rest);
  return tt_builder_ok(L->b);
}

static V gathered(tt_lower_t* L, const segments_t* s, V rows) {   // [B * count, R] -> [B * m, R]
  V safe = MIN(s->place, tt_lx_splat_i64(L, s->place, TT_MAX(s->batch * s->count - 1, 0)));
  return tt_lx_take_rows(L, rows, safe);
}
static V counts_of(tt_lower_t* L, const segments_t* s, V counted) {
  int64_t dims[2] = {s->batch * s->count, s->rest};
  return tt_lx_scatter_rows(L, TT_OP_ADD, tt_lx_full(L, tt_lx_dtype(s->data), 2, dims, 0), s->place, counted,
                            false);
}

static tt_op_kind_t kind_of(tt_lower_t* L, const char* reduce, double* neutral) {
  *neutral = 0;
  if (!strcmp(reduce, "sum") || !strcmp(reduce, "mean")) return TT_OP_ADD;
  *neutral = 1;
  if (!strcmp(reduce, "prod")) return TT_OP_MULTIPLY;
  *neutral = !strcmp(reduce, "max") ? -INFINITY : INFINITY;
  if (strcmp(reduce, "max") && strcmp(reduce, "min"))
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "unsupported reduction %s", reduce);
  return !strcmp(reduce, "max") ? TT_OP_MAXIMUM : TT_OP_MINIMUM;
}

TT_LOWERING(segment_reduce) {
  V data = tt_l_tensor(L, 0);
  const char* reduce = tt_l_text(L, 1, "sum");
  segments_t s;
  if (!segments_of(L, data, tt_l_tensor_or_null(L, 2), tt_l_tensor_or_null(L, 4), tt_l_int(L, 5, 0), &s))
    return;
  double neutral;
  tt_op_kind_t kind = kind_of(L, reduce, &neutral);
  int64_t dims[2] = {s.batch * s.count, s.rest};
  V start =
      tt_lx_full(L, tt_lx_dtype(s.data), 2, dims, tt_l_is_none(L, 7) ? neutral : tt_l_float(L, 7, neutral));
  V result = tt_lx_scatter_rows(L, kind, start, s.place, s.data, false);
  if (!strcmp(reduce, "mean")) {
    V count = counts_of(L, &s, K(s.data, 1)), empty = EQ(count, K(count, 0));
    V mean = DIV(result, SEL(empty, K(count, 1), count));
    result = SEL(empty, tt_l_is_none(L, 7) ? K(mean, NAN) : result, mean);
  }
  tt_l_return(L, CAST(tt_b_reshape(L->b, result, s.rank, s.shape), tt_lx_dtype(data)));
}

TT_LOWERING(segment_reduce_backward) {
  V grad = tt_l_tensor(L, 0), output = tt_l_tensor(L, 1), data = tt_l_tensor(L, 2);
  const char* reduce = tt_l_text(L, 3, "sum");
  segments_t s;
  if (!grad || !output ||
      !segments_of(L, data, tt_l_tensor_or_null(L, 4), tt_l_tensor_or_null(L, 5), tt_l_int(L, 6, 0), &s))
    return;
  int64_t rows = s.batch * s.count;
  V g = rows_of(L, grad, rows, s.rest), out = rows_of(L, output, rows, s.rest), one = K(s.data, 1),
    zero = K(s.data, 0), result;
  if (rows == 0) {
    tt_l_return(L, K(data, 0));
    return;
  }
  if (!strcmp(reduce, "sum")) {
    result = gathered(L, &s, g);
  } else if (!strcmp(reduce, "mean")) {
    V count = counts_of(L, &s, one);
    result = gathered(L, &s, DIV(g, MAX(count, K(count, 1))));
  } else if (!strcmp(reduce, "prod")) {
    // the product of the others: by division, or by counting zeros
    V is_zero = EQ(s.data, zero), zeros = counts_of(L, &s, CAST(is_zero, tt_lx_dtype(s.data)));
    V start = K(out, tt_l_is_none(L, 7) ? 1 : tt_l_float(L, 7, 1));
    V rest = tt_lx_scatter_rows(L, TT_OP_MULTIPLY, start, s.place, SEL(is_zero, one, s.data), false);
    V many = gathered(L, &s, zeros), others = gathered(L, &s, rest);
    V single = SEL(EQ(many, one), others, zero);
    V plain = SEL(GT(many, zero), zero, DIV(others, SEL(is_zero, one, s.data)));
    result = MUL(gathered(L, &s, g), SEL(is_zero, single, plain));
  } else {   // the elements that reach the extreme share the gradient
    V reached = gathered(L, &s, out),
      same = OR(EQ(s.data, reached), AND(tt_lx_is_nan(L, s.data), tt_lx_is_nan(L, reached)));
    V share = counts_of(L, &s, CAST(same, tt_lx_dtype(s.data)));
    result = SEL(same, gathered(L, &s, DIV(g, MAX(share, K(share, 1)))), zero);
  }
  V covered = LT(s.place, tt_lx_splat_i64(L, s.place, rows));
  result = SEL(tt_lx_along(L, covered, 0, result), result, zero);
  tt_l_return(L, result
                     ? CAST(tt_b_reshape(L->b, result, data->type->rank, data->type->dims), tt_lx_dtype(data))
                     : NULL);
}
