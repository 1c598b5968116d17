// Gathers and scatters: index, index_put, gather, scatter_*, index_*, take, put, embedding.
//
// Range checks use CPU PyTorch's texts and classes: `index` and index_fill wrap negative indices, gather and
// scatter do not and raise RuntimeError, index_select and index_add say "index out of range in self".
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lower/expr.h"

static const char* text_of(tt_lower_t* L, const char* format, int64_t a, int64_t c) {
  char* text = tt_arena_alloc(L->scratch, 160);
  if (!text) return "index is out of range";
  snprintf(text, 160, format, (long long)a, (long long)c);
  return text;
}
#define SELF_BOUNDS "index out of range in self: index {0}, size %lld"
#define BOUNDS "index {0} is out of bounds for dimension %lld with size %lld"

static V index_operand(tt_lower_t* L, V index, const char* op) {
  if (!index) return NULL;
  tt_dtype_t d = tt_lx_dtype(index);
  if (d != TT_DTYPE_S64 && d != TT_DTYPE_S32 && tt_type_elems(index->type) != 0) {
    return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: Expected dtype int32/int64 for index", op);
  }
  return CAST(index, TT_DTYPE_S64);
}

// ---- index, index_put --------------------------------------------------------------------------
typedef struct advanced_s {
  size_t count;                        // indexed dimensions
  int64_t dims[TT_MAX_RANK];
  V coordinates;                       // [B..., count]
  size_t batch_rank, rank;             // of B, of the result
  int64_t batch_at;                    // where B stands in the result
  int64_t offset_dims[TT_MAX_RANK];    // places of the other dimensions in the result
  size_t offset_count;
  tt_dim_t shape[TT_MAX_RANK];         // of the result
  bool empty_operand;                  // an indexed dimension has no elements
} advanced_t;

static bool advanced_of(tt_lower_t* L, V self, uint32_t arg, bool check, advanced_t* a) {
  *a = (advanced_t){0};
  size_t given;
  V* list = tt_l_tensors(L, arg, &given);
  if (!self || !list) return false;
  int64_t rank = tt_lx_rank(self);
  if ((int64_t)given > rank) {
    tt_builder_fail(L->b, TT_OUT_OF_RANGE, "too many indices for tensor of dimension %lld (got %zu)",
                    (long long)rank, given);
    return false;
  }
  V parts[TT_MAX_RANK];
  for (size_t i = 0; i < given; ++i) {
    if (!list[i]) continue;
    tt_dtype_t d = tt_lx_dtype(list[i]);
    if (d == TT_DTYPE_PRED || d == TT_DTYPE_U8) {
      tt_builder_fail(L->b, TT_UNIMPLEMENTED,
                      "a mask among the indices must be made positions (nonzero) first");
      return false;
    }
    if (!tt_dtype_is_signed_int(d)) {
      tt_builder_fail(L->b, TT_OUT_OF_RANGE,
                      "tensors used as indices must be long, int, byte or bool tensors");
      return false;
    }
    int64_t size = tt_lx_static_size(L, self, (int64_t)i);
    V index = CAST(list[i], TT_DTYPE_S64);
    if (check)
      tt_lx_check_range(L, index, -size, size, TT_OUT_OF_RANGE, text_of(L, BOUNDS, (int64_t)i, size));
    if (size == 0) a->empty_operand = true;
    parts[a->count] = tt_lx_wrap_index(L, index, size);
    a->dims[a->count++] = (int64_t)i;
  }
  if (a->count == 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "at least one index must be given");
    return false;
  }
  int64_t batch[TT_MAX_RANK];
  // the message differs from that of arithmetic
  for (size_t i = 1; i < a->count && tt_builder_ok(L->b); ++i) {
    V pair[2] = {parts[0], parts[i]};
    for (int64_t k = 1; k <= TT_MIN(tt_lx_rank(pair[0]), tt_lx_rank(pair[1])); ++k) {
      tt_dim_t x = tt_lx_size(pair[0], tt_lx_rank(pair[0]) - k),
               y = tt_lx_size(pair[1], tt_lx_rank(pair[1]) - k);
      if (x != y && x != 1 && y != 1 && tt_dim_is_static(x) && tt_dim_is_static(y)) {
        tt_builder_fail(L->b, TT_OUT_OF_RANGE,
                        "shape mismatch: indexing tensors could not be broadcast together");
        return false;
      }
    }
  }
  tt_l_broadcast_shape(L, a->count, parts, &a->batch_rank, batch);
  if (!tt_builder_ok(L->b)) return false;
  for (size_t i = 0; i < a->count; ++i) {
    parts[i] =
        tt_lx_unsqueeze(L, tt_b_broadcast_to(L->b, parts[i], a->batch_rank, batch), (int64_t)a->batch_rank);
  }
  a->coordinates = a->count == 1 ? parts[0] : tt_b_concatenate(L->b, a->count, parts, (int64_t)a->batch_rank);
  bool adjacent = a->dims[a->count - 1] - a->dims[0] + 1 == (int64_t)a->count;
  a->batch_at = adjacent ? a->dims[0] : 0;
  size_t at = 0, next = 0;
  for (int64_t d = 0; d <= rank; ++d) {
    if (a->rank == (size_t)a->batch_at && at == 0) {
      for (size_t k = 0; k < a->batch_rank; ++k) a->shape[a->rank++] = batch[k];
      at = 1;
      if (a->rank > TT_MAX_RANK) break;
    }
    if (d == rank) break;
    if (next < a->count && a->dims[next] == d) {
      ++next;
      continue;
    }
    if (a->rank >= TT_MAX_RANK) {
      tt_builder_fail(L->b, TT_UNIMPLEMENTED, "result rank over %d", TT_MAX_RANK);
      return false;
    }
    a->offset_dims[a->offset_count++] = (int64_t)a->rank;
    a->shape[a->rank++] = self->type->dims[d];
  }
  return tt_builder_ok(L->b);
}

static void index_with(tt_lower_t* L, bool check) {
  V self = tt_l_tensor(L, 0);
  advanced_t a;
  if (!advanced_of(L, self, 1, check, &a)) return;
  int64_t sizes[TT_MAX_RANK];
  for (int64_t d = 0; d < tt_lx_rank(self); ++d) sizes[d] = tt_lx_static_size(L, self, d);
  for (size_t i = 0; i < a.count; ++i) sizes[a.dims[i]] = 1;
  if (a.empty_operand) {
    tt_l_return(L, tt_lx_full(L, tt_lx_dtype(self), a.rank, a.shape, 0));
    return;
  }
  tt_gather_dims_t dims = {.offset_dims = {a.offset_dims, a.offset_count},
                           .collapsed_slice_dims = {a.dims, a.count},
                           .start_index_map = {a.dims, a.count},
                           .index_vector_dim = (int64_t)a.batch_rank};
  tt_l_return(L, tt_b_gather(L->b, self, a.coordinates, &dims, sizes, false));
}
TT_LOWERING(index) { index_with(L, true); }
TT_LOWERING(unsafe_index) { index_with(L, false); }

static V put_values(tt_lower_t* L, V self, V values, bool accumulate, const advanced_t* a) {
  int64_t rank = tt_lx_rank(values), excess = rank - (int64_t)a->rank;
  if (excess > 0) {   // leading ones are allowed
    bool ones = true;
    for (int64_t d = 0; d < excess; ++d) ones = ones && tt_lx_size(values, d) == 1;
    if (ones) values = tt_b_reshape(L->b, values, a->rank, values->type->dims + excess);
  }
  if (tt_lx_dtype(values) != tt_lx_dtype(self)) {
    if (values->type->rank != 0) {
      return tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                             "Index put requires the source and destination dtypes match, got %s for the "
                             "destination and %s for the "
                             "source.",
                             tt_lx_torch_name(tt_lx_dtype(self)), tt_lx_torch_name(tt_lx_dtype(values)));
    }
    values = CAST(values, tt_lx_dtype(self));
  }
  if (!values) return NULL;
  for (int64_t k = 1; k <= tt_lx_rank(values); ++k) {
    tt_dim_t have = tt_lx_size(values, tt_lx_rank(values) - k),
             want = k <= (int64_t)a->rank ? a->shape[a->rank - (size_t)k] : 0;
    if (have != want && have != 1) {
      return tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "shape mismatch: value tensor cannot be broadcast to indexing result (size %lld, expected %lld)",
          (long long)have, (long long)want);
    }
  }
  V updates = tt_b_broadcast_to(L->b, values, a->rank, a->shape);
  if (!updates || a->empty_operand || tt_type_elems(updates->type) == 0) return self;
  tt_scatter_dims_t dims = {.update_window_dims = {a->offset_dims, a->offset_count},
                            .inserted_window_dims = {a->dims, a->count},
                            .scatter_dims_to_operand_dims = {a->dims, a->count},
                            .index_vector_dim = (int64_t)a->batch_rank};
  tt_op_kind_t kind = !accumulate ? TT_OP_INVALID : tt_lx_dtype(self) == TT_DTYPE_PRED ? TT_OP_OR : TT_OP_ADD;
  return tt_b_scatter(L->b, kind, self, a->coordinates, updates, &dims, false, false);
}
static void index_put_with(tt_lower_t* L, bool check) {
  V self = tt_l_tensor(L, 0), values = tt_l_tensor(L, 2);
  advanced_t a;
  if (!values || !advanced_of(L, self, 1, check, &a)) return;
  tt_l_return(L, put_values(L, self, values, tt_l_bool(L, 3, false), &a));
}
TT_LOWERING(index_put) { index_put_with(L, true); }
TT_LOWERING(unsafe_index_put) { index_put_with(L, false); }

// ---- gather, scatter ---------------------------------------------------------------------------
static bool check_along(tt_lower_t* L, V self, V index, V src, int64_t dim, const char* op) {
  if (!self || !index) return false;
  if (tt_type_elems(index->type) == 0) return true;
  int64_t rank = TT_MAX(tt_lx_rank(self), 1);
  if (TT_MAX(tt_lx_rank(index), 1) != rank) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Index tensor must have the same number of dimensions as %s tensor",
                    src ? "self" : "input");
    return false;
  }
  if (src && TT_MAX(tt_lx_rank(src), 1) != rank) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Index tensor must have the same number of dimensions as src tensor");
    return false;
  }
  for (int64_t d = 0; d < tt_lx_rank(index); ++d) {
    tt_dim_t n = tt_lx_size(index, d), limit = self->type->rank ? tt_lx_size(self, d) : 1,
             source = src && src->type->rank ? tt_lx_size(src, d) : n;
    if ((d != dim && n > limit) || n > source) {
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "Expected index [..] to be no larger than %s apart from dimension %lld%s (%s: size %lld "
          "at dimension %lld)",
          src ? "self and src" : "self", (long long)dim, src ? " and to be no larger than src" : "", op,
          (long long)n, (long long)d);
      return false;
    }
  }
  return true;
}
// 0-d operands are handled as 1-d.
static V at_least_1d(tt_lower_t* L, V v) { return v && v->type->rank == 0 ? tt_lx_unsqueeze(L, v, 0) : v; }

TT_LOWERING(gather) {
  V self = tt_l_tensor(L, 0), index = index_operand(L, tt_l_tensor(L, 2), "gather()");
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(self));
  if (!check_along(L, self, index, NULL, dim, "gather")) return;
  V flat_self = at_least_1d(L, self), flat_index = at_least_1d(L, index);
  if (!flat_self || !flat_index) return;
  if (tt_lx_numel(L, index) == 0) {
    tt_l_return(L, tt_lx_full(L, tt_lx_dtype(self), index->type->rank, index->type->dims, 0));
    return;
  }
  int64_t size = tt_lx_static_size(L, flat_self, dim);
  tt_lx_check_range(L, index, 0, size, TT_INVALID_ARGUMENT, text_of(L, BOUNDS, dim, size));
  V result = tt_lx_gather_along(L, flat_self, dim, flat_index);
  tt_l_return(L, tt_b_reshape(L->b, result, index->type->rank, index->type->dims));
}

// Combines `updates` (index's shape) into self at `index` along `dim`.
static V scatter_along(tt_lower_t* L, tt_op_kind_t kind, V self, int64_t dim, V index, V updates) {
  if (!self || !index || !updates) return NULL;
  int64_t rank = tt_lx_rank(self), all[TT_MAX_RANK];
  V parts[TT_MAX_RANK];
  for (int64_t d = 0; d < rank; ++d) {
    all[d] = d;
    parts[d] = tt_lx_unsqueeze(L, d == dim ? index : tt_lx_iota(L, TT_DTYPE_S64, index, d), rank);
  }
  V coordinates = rank == 1 ? parts[0] : tt_b_concatenate(L->b, (size_t)rank, parts, rank);
  tt_scatter_dims_t dims = {.inserted_window_dims = {all, (size_t)rank},
                            .scatter_dims_to_operand_dims = {all, (size_t)rank},
                            .index_vector_dim = rank};
  return tt_b_scatter(L->b, kind, self, coordinates, updates, &dims, false, false);
}

// src cut to the index's shape.
static V cut_like(tt_lower_t* L, V src, V index) {
  for (int64_t d = 0; src && index && d < tt_lx_rank(index); ++d)
    src = tt_lx_slice_dim(L, src, d, 0, tt_lx_static_size(L, index, d), 1);
  return src;
}

// reduce: "" replaces, else sum prod mean amax amin (add and multiply are sum and prod).
static void scatter_with(tt_lower_t* L, V src, V value, const char* reduce, bool include_self,
                         const char* op) {
  V self = tt_l_tensor(L, 0), index = index_operand(L, tt_l_tensor(L, 2), op);
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(self));
  if (!check_along(L, self, index, src, dim, op)) return;
  if (src && tt_lx_dtype(src) != tt_lx_dtype(self)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: Expected self.dtype to be equal to src.dtype", op);
    return;
  }
  if (tt_lx_numel(L, index) == 0) {
    tt_l_return(L, self);
    return;
  }
  V target = at_least_1d(L, self), places = at_least_1d(L, index);
  if (!target || !places) return;
  int64_t size = tt_lx_static_size(L, target, dim);
  tt_lx_check_range(L, index, 0, size, TT_INVALID_ARGUMENT, text_of(L, BOUNDS, dim, size));
  V updates = src ? cut_like(L, at_least_1d(L, src), places) : tt_lx_broadcast_like(L, value, places);
  if (!updates) return;
  tt_dtype_t dtype = tt_lx_dtype(self);
  bool is_bool = dtype == TT_DTYPE_PRED, mean = !strcmp(reduce, "mean");
  tt_op_kind_t kind;
  V neutral = K(updates, 0);
  if (!*reduce) {
    kind = TT_OP_INVALID;
  } else if (!strcmp(reduce, "sum") || !strcmp(reduce, "add") || mean) {
    kind = is_bool ? TT_OP_OR : TT_OP_ADD;
  } else if (!strcmp(reduce, "prod") || !strcmp(reduce, "multiply")) {
    kind = is_bool ? TT_OP_AND : TT_OP_MULTIPLY;
    neutral = K(updates, 1);
  } else if (!strcmp(reduce, "amax")) {
    kind = is_bool ? TT_OP_OR : TT_OP_MAXIMUM;
    neutral = tt_lx_splat_lowest(L, updates);
  } else if (!strcmp(reduce, "amin")) {
    kind = is_bool ? TT_OP_AND : TT_OP_MINIMUM;
    neutral = tt_lx_splat_max(L, updates);
  } else {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "reduce argument must be either sum, prod, mean, amax or amin, got %s", reduce);
    return;
  }
  V base = target;
  if (*reduce && !include_self) base = scatter_along(L, TT_OP_INVALID, base, dim, places, neutral);
  V result = scatter_along(L, kind, base, dim, places, updates);
  if (mean) {
    V ones = tt_lx_full(L, dtype, target->type->rank, target->type->dims, 1);
    V count = include_self ? ones : scatter_along(L, TT_OP_INVALID, ones, dim, places, K(updates, 0));
    count = scatter_along(L, TT_OP_ADD, count, dim, places, K(updates, 1));
    result = tt_lx_is_int(dtype) ? tt_lx_floor_divide(L, result, count) : DIV(result, count);
  }
  tt_l_return(L, tt_b_reshape(L->b, result, self->type->rank, self->type->dims));
}
TT_LOWERING(scatter_src) { scatter_with(L, tt_l_tensor(L, 3), NULL, "", true, "scatter()"); }
TT_LOWERING(scatter_value) {
  scatter_with(L, NULL, tt_l_scalar(L, 3, tt_lx_dtype(tt_l_tensor(L, 0))), "", true, "scatter()");
}
TT_LOWERING(scatter_reduce_old) {
  scatter_with(L, tt_l_tensor(L, 3), NULL, tt_l_text(L, 4, ""), true, "scatter()");
}
TT_LOWERING(scatter_value_reduce) {
  scatter_with(L, NULL, tt_l_scalar(L, 3, tt_lx_dtype(tt_l_tensor(L, 0))), tt_l_text(L, 4, ""), true,
               "scatter()");
}
TT_LOWERING(scatter_add) { scatter_with(L, tt_l_tensor(L, 3), NULL, "sum", true, "scatter()"); }
TT_LOWERING(scatter_reduce) {
  scatter_with(L, tt_l_tensor(L, 3), NULL, tt_l_text(L, 4, "sum"), tt_l_bool(L, 5, true), "scatter_reduce()");
}

// ---- index_select, index_add, index_copy, index_fill, index_reduce -----------------------------
static V index_vector(tt_lower_t* L, V index, const char* op) {
  if (!index) return NULL;
  if (index->type->rank > 1)
    return tt_builder_fail(L->b, TT_OUT_OF_RANGE, "%s: Index is supposed to be a vector", op);
  tt_dtype_t d = tt_lx_dtype(index);
  if (d != TT_DTYPE_S64 && d != TT_DTYPE_S32) {
    return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: Expected dtype int32/int64 for index", op);
  }
  return at_least_1d(L, CAST(index, TT_DTYPE_S64));
}

TT_LOWERING(index_select) {
  V self = tt_l_tensor(L, 0), index = index_vector(L, tt_l_tensor(L, 2), "index_select()");
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(self));
  V rows = at_least_1d(L, self);
  if (!rows || !index) return;
  int64_t size = tt_lx_static_size(L, rows, dim);
  tt_lx_check_range(L, index, 0, size, TT_OUT_OF_RANGE, text_of(L, SELF_BOUNDS, size, 0));
  int64_t rank = tt_lx_rank(rows), offsets[TT_MAX_RANK], sizes[TT_MAX_RANK];
  tt_dim_t shape[TT_MAX_RANK];
  size_t n = 0;
  for (int64_t d = 0; d < rank; ++d) {
    sizes[d] = d == dim ? 1 : tt_lx_static_size(L, rows, d);
    shape[d] = d == dim ? index->type->dims[0] : rows->type->dims[d];
    if (d != dim) offsets[n++] = d;
  }
  V result;
  if (size == 0) {
    result = tt_lx_full(L, tt_lx_dtype(rows), (size_t)rank, shape, 0);
  } else {
    tt_gather_dims_t dims = {.offset_dims = {offsets, n},
                             .collapsed_slice_dims = {&dim, 1},
                             .start_index_map = {&dim, 1},
                             .index_vector_dim = 1};
    result = tt_b_gather(L->b, rows, tt_lx_unsqueeze(L, index, 1), &dims, sizes, false);
  }
  tt_l_return(L, self->type->rank ? result : tt_b_reshape(L->b, result, 0, NULL));
}

// source [.., m at dim, ..] into self at rows `index` of `dim`.
static V rows_into(tt_lower_t* L, tt_op_kind_t kind, V self, int64_t dim, V index, V source) {
  V target = at_least_1d(L, self);
  source = at_least_1d(L, source);
  if (!target || !source || !index) return NULL;
  V moved = tt_lx_scatter_rows(L, kind, tt_lx_move_dim(L, target, dim, 0), index,
                               tt_lx_move_dim(L, source, dim, 0), false);
  V result = tt_lx_move_dim(L, moved, 0, dim);
  return result ? tt_b_reshape(L->b, result, self->type->rank, self->type->dims) : NULL;
}

static bool check_rows(tt_lower_t* L, V self, int64_t dim, V index, V source, const char* op) {
  if (!self || !index || !source) return false;
  if (tt_lx_dtype(self) != tt_lx_dtype(source)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: self (%s) and source (%s) must have the same scalar type",
                    op, tt_lx_torch_name(tt_lx_dtype(self)), tt_lx_torch_name(tt_lx_dtype(source)));
    return false;
  }
  if (self->type->rank > 0 && source->type->rank > 0) {
    bool bad = source->type->rank != self->type->rank;
    for (int64_t d = 0; !bad && d < tt_lx_rank(self); ++d)
      bad = d != dim && tt_lx_size(self, d) != tt_lx_size(source, d);
    if (bad) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "%s: source and destination must have the same shape apart from dimension %lld", op,
                      (long long)dim);
      return false;
    }
  }
  int64_t have = source->type->rank ? tt_lx_static_size(L, source, dim) : 1,
          want = tt_lx_static_size(L, index, 0);
  if (have != want) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "%s: Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %lld",
                    op, (long long)want, (long long)have, (long long)dim);
    return false;
  }
  return true;
}
static int64_t rows_of(tt_lower_t* L, V self, int64_t dim) {
  return self && self->type->rank ? tt_lx_static_size(L, self, dim) : 1;
}

TT_LOWERING(index_add) {
  V self = tt_l_tensor(L, 0), index = index_vector(L, tt_l_tensor(L, 2), "index_add_()"),
    source = tt_l_tensor(L, 3);
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(self));
  if (!check_rows(L, self, dim, index, source, "index_add_()")) return;
  int64_t rows = rows_of(L, self, dim);
  tt_lx_check_range(L, index, 0, rows, TT_OUT_OF_RANGE, text_of(L, SELF_BOUNDS, rows, 0));
  if (!tt_l_is_none(L, 4) && !tt_l_scalar_is(L, 4, 1)) source = MUL(source, tt_l_scalar_splat(L, 4, source));
  tt_l_return(
      L, rows_into(L, tt_lx_dtype(self) == TT_DTYPE_PRED ? TT_OP_OR : TT_OP_ADD, self, dim, index, source));
}
TT_LOWERING(index_copy) {
  V self = tt_l_tensor(L, 0), index = index_vector(L, tt_l_tensor(L, 2), "index_copy_()"),
    source = tt_l_tensor(L, 3);
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(self));
  if (!check_rows(L, self, dim, index, source, "index_copy_()")) return;
  int64_t size = rows_of(L, self, dim);
  tt_lx_check_range(L, index, 0, size, TT_OUT_OF_RANGE, text_of(L, "index_copy_(): " BOUNDS, dim, size));
  tt_l_return(L, rows_into(L, TT_OP_INVALID, self, dim, index, source));
}
TT_LOWERING(index_fill) {
  V self = tt_l_tensor(L, 0), index = index_vector(L, tt_l_tensor(L, 2), "index_fill_()");
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(self));
  if (!self || !index) return;
  V given = tt_l_tensor_or_null(L, 3);
  if (given && given->type->rank != 0) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %u dimension(s).",
        given->type->rank);
    return;
  }
  int64_t size = rows_of(L, self, dim);
  tt_lx_check_range(L, index, -size, size, TT_OUT_OF_RANGE, text_of(L, BOUNDS, dim, size));
  index = tt_lx_wrap_index(L, index, size);
  if (self->type->rank == 0) {
    tt_l_return(L, tt_lx_numel(L, index) ? tt_l_scalar(L, 3, tt_lx_dtype(self)) : self);
    return;
  }
  tt_dim_t dims[TT_MAX_RANK];
  memcpy(dims, self->type->dims, self->type->rank * sizeof *dims);
  dims[dim] = tt_lx_size(index, 0);
  V source = tt_b_broadcast_to(L->b, tt_l_scalar(L, 3, tt_lx_dtype(self)), self->type->rank, dims);
  tt_l_return(L, rows_into(L, TT_OP_INVALID, self, dim, index, source));
}
TT_LOWERING(index_reduce) {
  V self = tt_l_tensor(L, 0), index = index_vector(L, tt_l_tensor(L, 2), "index_reduce_()"),
    source = tt_l_tensor(L, 3);
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(self));
  if (!check_rows(L, self, dim, index, source, "index_reduce_()")) return;
  const char* reduce = tt_l_text(L, 4, "");
  bool include_self = tt_l_bool(L, 5, true), mean = !strcmp(reduce, "mean");
  int64_t rows = rows_of(L, self, dim);
  tt_lx_check_range(L, index, 0, rows, TT_OUT_OF_RANGE, text_of(L, SELF_BOUNDS, rows, 0));
  tt_op_kind_t kind = mean                      ? TT_OP_ADD
                      : !strcmp(reduce, "prod") ? TT_OP_MULTIPLY
                      : !strcmp(reduce, "amax") ? TT_OP_MAXIMUM
                                                : TT_OP_MINIMUM;
  V neutral = mean                     ? K(source, 0)
              : kind == TT_OP_MULTIPLY ? K(source, 1)
              : kind == TT_OP_MAXIMUM  ? tt_lx_splat_lowest(L, source)
                                       : tt_lx_splat_max(L, source);
  V base = include_self ? self : rows_into(L, TT_OP_INVALID, self, dim, index, neutral);
  V result = rows_into(L, kind, base, dim, index, source);
  if (mean) {
    V count = include_self ? K(self, 1) : rows_into(L, TT_OP_INVALID, K(self, 1), dim, index, K(source, 0));
    count = rows_into(L, TT_OP_ADD, count, dim, index, K(source, 1));
    result = tt_lx_is_int(tt_lx_dtype(self)) ? tt_lx_floor_divide(L, result, count) : DIV(result, count);
  }
  tt_l_return(L, result);
}

// ---- take, put, masked_scatter -----------------------------------------------------------------
#define TAKE_BOUNDS "out of range: tried to access index {0} on a tensor of %lld elements."
TT_LOWERING(take) {
  V self = tt_l_tensor(L, 0), index = tt_l_tensor(L, 1);
  if (!self || !index) return;
  if (tt_lx_dtype(index) != TT_DTYPE_S64) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "take(): Expected a long tensor for index, but got %s",
                    tt_lx_torch_name(tt_lx_dtype(index)));
    return;
  }
  int64_t size = tt_lx_numel(L, self);
  if (size == 0 && tt_lx_numel(L, index) > 0) {
    tt_builder_fail(L->b, TT_OUT_OF_RANGE, "take(): tried to take from an empty tensor");
    return;
  }
  tt_lx_check_range(L, index, -size, size, TT_OUT_OF_RANGE, text_of(L, TAKE_BOUNDS, size, 0));
  tt_l_return(L, tt_lx_take_flat(L, tt_lx_flatten(L, self), tt_lx_wrap_index(L, index, size)));
}
TT_LOWERING(put) {
  V self = tt_l_tensor(L, 0), index = tt_l_tensor(L, 1), source = tt_l_tensor(L, 2);
  if (!self || !index || !source) return;
  bool accumulate = tt_l_bool(L, 3, false);
  if (tt_lx_numel(L, index) != tt_lx_numel(L, source)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "put_(): Expected source and index to have the same number of elements");
    return;
  }
  int64_t size = tt_lx_numel(L, self);
  tt_lx_check_range(L, index, -size, size, TT_OUT_OF_RANGE, text_of(L, TAKE_BOUNDS, size, 0));
  tt_op_kind_t kind = !accumulate ? TT_OP_INVALID : tt_lx_dtype(self) == TT_DTYPE_PRED ? TT_OP_OR : TT_OP_ADD;
  V flat = tt_lx_scatter_flat(L, kind, tt_lx_flatten(L, self), tt_lx_wrap_index(L, index, size), source);
  tt_l_return(L, tt_b_reshape(L->b, flat, self->type->rank, self->type->dims));
}
TT_LOWERING(masked_scatter) {
  V self = tt_l_tensor(L, 0), mask = tt_l_tensor(L, 1), source = tt_l_tensor(L, 2);
  if (!self || !mask || !source) return;
  if (tt_lx_dtype(self) != tt_lx_dtype(source)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                    tt_lx_torch_name(tt_lx_dtype(self)), tt_lx_torch_name(tt_lx_dtype(source)));
    return;
  }
  if (tt_lx_dtype(mask) != TT_DTYPE_PRED) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                    tt_lx_torch_name(tt_lx_dtype(mask)));
    return;
  }
  V both[2] = {self, mask};
  tt_lx_broadcast(L, 2, both, TT_DTYPE_INVALID);
  V flat_mask = tt_lx_flatten(L, both[1]), flat = tt_lx_flatten(L, both[0]);
  int64_t n = tt_lx_numel(L, source);
  if (!flat || n == 0) {
    tt_lx_check(L, NOT(flat_mask), TT_INVALID_ARGUMENT,
                "masked_scatter: expected at least one source element");
    tt_l_return(L, both[0]);
    return;
  }
  V place = tt_lx_cumulative(L, CAST(flat_mask, TT_DTYPE_S64), 0, "sum", false);
  place = SUB(place, tt_lx_splat_i64(L, place, 1));
  tt_lx_check(L, LT(place, tt_lx_splat_i64(L, place, n)), TT_INVALID_ARGUMENT,
              "Number of elements of source < number of ones in mask");
  place = MIN(MAX(place, tt_lx_splat_i64(L, place, 0)), tt_lx_splat_i64(L, place, n - 1));
  V taken = tt_lx_take_flat(L, tt_lx_flatten(L, source), place);
  V result = SEL(flat_mask, taken, flat);
  tt_l_return(L, tt_b_reshape(L->b, result, both[0]->type->rank, both[0]->type->dims));
}

// ---- embedding ---------------------------------------------------------------------------------
TT_LOWERING(embedding) {
  V weight = tt_l_tensor(L, 0), index = tt_l_tensor(L, 1);
  if (!weight || !index) return;
  if (weight->type->rank != 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "'weight' must be 2-D");
    return;
  }
  index = index_operand(L, index, "embedding()");
  int64_t rows = tt_lx_static_size(L, weight, 0);
  tt_lx_check_range(L, index, 0, rows, TT_OUT_OF_RANGE, text_of(L, SELF_BOUNDS, rows, 0));
  tt_l_return(L, tt_lx_take_rows(L, weight, index));
}
TT_LOWERING(embedding_dense_backward) {
  V grad = tt_l_tensor(L, 0), index = tt_l_tensor(L, 1);
  if (!grad || !index) return;
  int64_t rows = tt_l_int(L, 2, 0), padding = tt_l_int(L, 3, -1);
  int64_t width = tt_lx_static_size(L, grad, tt_lx_rank(grad) - 1), count = tt_lx_numel(L, index);
  tt_dtype_t dtype = tt_lx_dtype(grad);
  int64_t flat[2] = {count, width}, shape[2] = {rows, width};
  V updates = tt_b_reshape(L->b, UP(grad), 2, flat);
  index = tt_lx_flatten(L, CAST(index, TT_DTYPE_S64));
  if (!updates || !index) return;
  if (tt_l_bool(L, 4, false)) {   // divided by how often each row occurs
    V one = K(tt_lx_slice_dim(L, updates, 1, 0, width > 0, 1), 1);
    V ones = tt_lx_full(L, tt_lx_dtype(updates), 1, &count, 1),
      zeros = tt_lx_full(L, tt_lx_dtype(updates), 1, &rows, 0);
    (void)one;
    V frequency = tt_lx_take_flat(L, tt_lx_scatter_rows(L, TT_OP_ADD, zeros, index, ones, false), index);
    updates = DIV(updates, tt_lx_along(L, frequency, 0, updates));
  }
  V result = tt_lx_full(L, tt_lx_dtype(updates), 2, shape, 0);
  // rows of the padding index get nothing: an index out of range is dropped
  V place = SEL(EQ(index, tt_lx_splat_i64(L, index, padding)), tt_lx_splat_i64(L, index, rows), index);
  if (padding < 0) place = index;
  tt_l_return(L, CAST(tt_lx_scatter_rows(L, TT_OP_ADD, result, place, updates, false), dtype));
}
TT_LOWERING(embedding_renorm) {
  V weight = tt_l_tensor(L, 0), index = tt_l_tensor(L, 1);
  if (!weight || !index) return;
  double limit = tt_l_float(L, 2, 1), p = tt_l_float(L, 3, 2);
  int64_t rows = tt_lx_static_size(L, weight, 0), one = 1;
  index = tt_lx_flatten(L, CAST(index, TT_DTYPE_S64));
  V used = tt_lx_full(L, TT_DTYPE_PRED, 1, &rows, 0);
  used = tt_lx_scatter_rows(L, TT_OP_INVALID, used, index,
                            index ? tt_lx_full(L, TT_DTYPE_PRED, 1, index->type->dims, 1) : NULL, false);
  V x = UP(weight), size = ABS(x), norm;
  if (p == INFINITY) norm = tt_b_reduce(L->b, TT_OP_MAXIMUM, size, 1, &one, false);
  else if (p == 1) norm = tt_b_reduce(L->b, TT_OP_ADD, size, 1, &one, false);
  else if (p == 2) norm = SQRT(tt_b_reduce(L->b, TT_OP_ADD, MUL(size, size), 1, &one, false));
  else {
    V total = tt_b_reduce(L->b, TT_OP_ADD, POW(size, K(size, p)), 1, &one, false);
    norm = POW(total, K(total, 1 / p));
  }
  V factor =
      SEL(AND(used, GT(norm, K(norm, limit))), DIV(K(norm, limit), ADD(norm, K(norm, 1e-7))), K(norm, 1));
  tt_l_return(L, CAST(MUL(x, tt_lx_along(L, factor, 0, x)), tt_lx_dtype(weight)));
}
