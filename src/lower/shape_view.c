// Views on logical values, for whole graphs; scatters into views and their gradients; copies and
// constructors.
#include <stdio.h>
#include <string.h>

#include "lower/expr.h"

// ---- reshapes ----------------------------------------------------------------------------------
static V reshape_to(tt_lower_t* L, V x, tt_i64s_t sizes) {
  if (!x) return NULL;
  tt_dim_t dims[TT_MAX_RANK];
  if (sizes.size > TT_MAX_RANK) return tt_builder_fail(L->b, TT_UNIMPLEMENTED, "rank over %d", TT_MAX_RANK);
  int64_t known = 1, hole = -1;
  bool symbolic = false;
  for (size_t i = 0; i < sizes.size; ++i) {
    dims[i] = sizes.data[i];
    if (dims[i] == -1 && hole < 0) hole = (int64_t)i;
    else if (!tt_dim_is_static(dims[i])) symbolic = true;
    else known *= dims[i];
  }
  int64_t elems = tt_type_elems(x->type);
  if (hole >= 0 && elems >= 0 && !symbolic) dims[hole] = known ? elems / known : 0;
  int64_t total = hole >= 0 ? known * dims[hole] : known;
  if (elems >= 0 && !symbolic && total != elems) {
    char text[256] = "";
    size_t at = 0;
    for (size_t i = 0; i < sizes.size && at < sizeof text - 24; ++i) {
      at += (size_t)snprintf(text + at, sizeof text - at, i ? ", %lld" : "%lld", (long long)sizes.data[i]);
    }
    return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "shape '[%s]' is invalid for input of size %lld", text,
                           (long long)elems);
  }
  return tt_b_reshape(L->b, x, sizes.size, dims);
}
TT_LOWERING(view) { tt_l_return(L, reshape_to(L, tt_l_tensor(L, 0), tt_l_ints(L, 1))); }

TT_LOWERING(flatten) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  int64_t rank = tt_lx_rank(x), first = tt_l_dim(L, tt_l_int(L, 1, 0), rank),
          last = tt_l_dim(L, tt_l_int(L, 2, -1), rank);
  tt_dim_t dims[TT_MAX_RANK], product = 1;
  size_t k = 0;
  if (rank == 0) product = 1;
  for (int64_t d = 0; d < first && d < rank; ++d) dims[k++] = x->type->dims[d];
  for (int64_t d = first; d <= last && d < rank; ++d) product *= tt_lx_static_size(L, x, d);
  dims[k++] = product;
  for (int64_t d = last + 1; d < rank; ++d) dims[k++] = x->type->dims[d];
  tt_l_return(L, tt_b_reshape(L->b, x, k, dims));
}

TT_LOWERING(unsqueeze) {
  V x = tt_l_tensor(L, 0);
  tt_l_return(L, tt_lx_unsqueeze(L, x, tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x) + 1)));
}
TT_LOWERING(squeeze) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  tt_i64s_t list = tt_l_ints(L, 1);
  int64_t rank = tt_lx_rank(x), kept[TT_MAX_RANK];
  bool all = tt_l_is_none(L, 1), drop[TT_MAX_RANK] = {false};
  for (size_t i = 0; i < list.size; ++i) {
    int64_t d = tt_l_dim(L, list.data[i], rank);
    if (rank) drop[d] = true;
  }
  size_t k = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (x->type->dims[d] == 1 && (all || drop[d])) continue;
    kept[k++] = x->type->dims[d];
  }
  tt_l_return(L, tt_b_reshape(L->b, x, k, kept));
}

TT_LOWERING(identity) { tt_l_return(L, tt_l_tensor(L, 0)); }

// ---- permutations ------------------------------------------------------------------------------
TT_LOWERING(permute) {
  V x = tt_l_tensor(L, 0);
  tt_i64s_t list = tt_l_ints(L, 1);
  int64_t permutation[TT_MAX_RANK], rank = tt_lx_rank(x);
  if ((int64_t)list.size != rank) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
                    "of the desired ordering "
                    "of dimensions i.e. input.dim() = %lld is not equal to len(dims) = %zu",
                    (long long)rank, list.size);
    return;
  }
  for (size_t i = 0; i < list.size; ++i) permutation[i] = tt_l_dim(L, list.data[i], rank);
  tt_l_return(L, rank ? tt_b_transpose(L->b, x, permutation) : x);
}
static V swap_dims(tt_lower_t* L, V x, int64_t a, int64_t c) {
  int64_t permutation[TT_MAX_RANK], rank = tt_lx_rank(x);
  if (rank == 0) return x;
  for (int64_t d = 0; d < rank; ++d) permutation[d] = d;
  permutation[a] = c;
  permutation[c] = a;
  return tt_b_transpose(L->b, x, permutation);
}
TT_LOWERING(transpose) {
  V x = tt_l_tensor(L, 0);
  int64_t rank = tt_lx_rank(x);
  tt_l_return(L, swap_dims(L, x, tt_l_dim(L, tt_l_int(L, 1, 0), rank), tt_l_dim(L, tt_l_int(L, 2, 1), rank)));
}
TT_LOWERING(t_2d) {
  V x = tt_l_tensor(L, 0);
  if (tt_lx_rank(x) > 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "t() expects a tensor with <= 2 dimensions, but self is %lldD",
                    (long long)tt_lx_rank(x));
  }
  tt_l_return(L, tt_lx_rank(x) == 2 ? swap_dims(L, x, 0, 1) : x);
}

TT_LOWERING(expand_view) {
  V x = tt_l_tensor(L, 0);
  tt_i64s_t sizes = tt_l_ints(L, 1);
  if (!x) return;
  int64_t shift = (int64_t)sizes.size - tt_lx_rank(x);
  tt_dim_t dims[TT_MAX_RANK];
  if (shift < 0 || sizes.size > TT_MAX_RANK) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "expand: the number of sizes provided (%zu) must be greater or equal to the number of "
                    "dimensions in the tensor (%lld)",
                    sizes.size, (long long)tt_lx_rank(x));
    return;
  }
  for (size_t i = 0; i < sizes.size; ++i) {
    int64_t d = (int64_t)i - shift;
    tt_dim_t have = d >= 0 ? x->type->dims[d] : 1;
    dims[i] = sizes.data[i] == -1 ? have : sizes.data[i];
    if (have != 1 && tt_dim_is_static(have) && tt_dim_is_static(dims[i]) && have != dims[i]) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                      "non-singleton dimension %zu.",
                      (long long)dims[i], (long long)have, i);
      return;
    }
  }
  tt_l_return(L, tt_b_broadcast_to(L->b, x, sizes.size, dims));
}

// ---- cuts --------------------------------------------------------------------------------------
typedef struct cut_s {
  int64_t dim, start, limit, step, size;   // limit: exclusive, start + count steps
} cut_t;
static cut_t slice_of(tt_lower_t* L, tt_dim_t size, int64_t dim, uint32_t start_arg, uint32_t end_arg,
                      uint32_t step_arg) {
  cut_t c = {.dim = dim, .size = size, .step = tt_l_int(L, step_arg, 1)};
  if (c.step <= 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "slice step must be positive");
    c.step = 1;
  }
  int64_t start = tt_l_int(L, start_arg, 0), end = tt_l_int(L, end_arg, INT64_MAX);
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = start < 0 ? 0 : start > size ? size : start;
  end = end < start ? start : end > size ? size : end;
  c.start = start;
  c.limit = end;
  return c;
}
static int64_t cut_count(const cut_t* c) { return (c->limit - c->start + c->step - 1) / c->step; }

TT_LOWERING(slice) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  if (x->type->rank == 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "slice() cannot be applied to a 0-dim tensor.");
    return;
  }
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x));
  if (!tt_dim_is_static(x->type->dims[dim]) && tt_l_int(L, 2, 0) == 0 &&
      tt_l_int(L, 3, INT64_MAX) == INT64_MAX) {
    tt_l_return(L, x);
    return;
  }
  cut_t c = slice_of(L, tt_lx_static_size(L, x, dim), dim, 2, 3, 4);
  tt_l_return(L, tt_lx_slice_dim(L, x, dim, c.start, c.limit, c.step));
}
TT_LOWERING(narrow) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x)), size = tt_lx_static_size(L, x, dim);
  int64_t start = tt_l_int(L, 2, 0), length = tt_l_int(L, 3, 0);
  if (start < 0) start += size;
  if (start < 0 || length < 0 || start + length > size) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "start (%lld) + length (%lld) exceeds dimension size (%lld).",
                    (long long)start, (long long)length, (long long)size);
    return;
  }
  tt_l_return(L, tt_lx_slice_dim(L, x, dim, start, start + length, 1));
}

static bool select_place(tt_lower_t* L, int64_t rank, const int64_t* sizes, uint32_t dim_arg,
                         uint32_t index_arg, int64_t* dim, int64_t* index) {
  if (rank == 0) {
    tt_builder_fail(L->b, TT_OUT_OF_RANGE, "select() cannot be applied to a 0-dim tensor.");
    return false;
  }
  *dim = tt_l_dim(L, tt_l_int(L, dim_arg, 0), rank);
  *index = tt_l_int(L, index_arg, 0);
  if (!tt_builder_ok(L->b)) return false;
  int64_t size = sizes[*dim];
  if (!tt_dim_is_static(size)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "select along a symbolic dimension");
    return false;
  }
  if (*index < -size || *index >= size) {
    tt_builder_fail(L->b, TT_OUT_OF_RANGE,
                    "select(): index %lld out of range for tensor of size %lld at dimension %lld",
                    (long long)*index, (long long)size, (long long)*dim);
    return false;
  }
  if (*index < 0) *index += size;
  return true;
}
TT_LOWERING(select) {
  V x = tt_l_tensor(L, 0);
  int64_t dim, index;
  if (!x || !select_place(L, tt_lx_rank(x), x->type->dims, 1, 2, &dim, &index)) return;
  tt_l_return(L, tt_lx_squeeze(L, tt_lx_slice_dim(L, x, dim, index, index + 1, 1), dim));
}

static void return_pieces(tt_lower_t* L, V x, int64_t dim, size_t count, const int64_t* sizes) {
  int64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    tt_l_return(L, tt_lx_slice_dim(L, x, dim, at, at + sizes[i], 1));
    at += sizes[i];
  }
}
TT_LOWERING(split) {
  V x = tt_l_tensor(L, 0);
  int64_t size = tt_l_int(L, 1, 1), dim = tt_l_dim(L, tt_l_int(L, 2, 0), tt_lx_rank(x));
  int64_t n = tt_lx_static_size(L, x, dim), sizes[TT_LOWER_MAX_RESULTS];
  size_t count = 0;
  if (size <= 0 && n > 0)
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
                    (long long)n);
  do {
    if (count == TT_LOWER_MAX_RESULTS) {
      tt_builder_fail(L->b, TT_UNIMPLEMENTED, "more than %d pieces", TT_LOWER_MAX_RESULTS);
      return;
    }
    sizes[count] = TT_MIN(size, n);
    n -= sizes[count++];
  } while (n > 0 && tt_builder_ok(L->b));
  return_pieces(L, x, dim, count, sizes);
}
TT_LOWERING(split_with_sizes) {
  V x = tt_l_tensor(L, 0);
  tt_i64s_t sizes = tt_l_ints(L, 1);
  int64_t dim = tt_l_dim(L, tt_l_int(L, 2, 0), tt_lx_rank(x)), total = 0, n = tt_lx_static_size(L, x, dim);
  for (size_t i = 0; i < sizes.size; ++i) total += sizes.data[i];
  if (total != n) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at "
                    "dimension %lld), but got %lld",
                    (long long)n, (long long)dim, (long long)total);
    return;
  }
  return_pieces(L, x, dim, sizes.size, sizes.data);
}
TT_LOWERING(unbind) {
  V x = tt_l_tensor(L, 0);
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x)), n = tt_lx_static_size(L, x, dim);
  for (int64_t i = 0; i < n && tt_builder_ok(L->b); ++i) {
    tt_l_return(L, tt_lx_squeeze(L, tt_lx_slice_dim(L, x, dim, i, i + 1, 1), dim));
  }
}

// ---- strided views -----------------------------------------------------------------------------
// A view of a contiguous value.
typedef struct strided_s {
  size_t rank;
  int64_t sizes[TT_MAX_RANK], strides[TT_MAX_RANK], offset;
} strided_t;

static bool strided_of(tt_lower_t* L, size_t rank, const tt_dim_t* dims, strided_t* s) {
  *s = (strided_t){.rank = rank};
  for (size_t d = 0; d < rank; ++d) {
    if (!tt_dim_is_static(dims[d])) {
      tt_builder_fail(L->b, TT_UNIMPLEMENTED, "needs a static shape");
      return false;
    }
    s->sizes[d] = dims[d];
  }
  tt_lx_contiguous_strides(rank, s->sizes, s->strides);
  return true;
}
static void strided_drop(strided_t* s, size_t dim) {
  for (size_t d = dim; d + 1 < s->rank; ++d) s->sizes[d] = s->sizes[d + 1], s->strides[d] = s->strides[d + 1];
  --s->rank;
}
static bool strided_diagonal(tt_lower_t* L, strided_t* s, int64_t offset, int64_t dim1, int64_t dim2) {
  dim1 = tt_l_dim(L, dim1, (int64_t)s->rank);
  dim2 = tt_l_dim(L, dim2, (int64_t)s->rank);
  if (!tt_builder_ok(L->b)) return false;
  if (dim1 == dim2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "diagonal dimensions cannot be identical %lld, %lld",
                    (long long)dim1, (long long)dim2);
    return false;
  }
  int64_t size = offset >= 0 ? TT_MIN(s->sizes[dim1], s->sizes[dim2] - offset)
                             : TT_MIN(s->sizes[dim1] + offset, s->sizes[dim2]);
  size = TT_MAX(size, 0);
  int64_t stride = s->strides[dim1] + s->strides[dim2];
  if (size > 0) s->offset += offset >= 0 ? offset * s->strides[dim2] : -offset * s->strides[dim1];
  strided_drop(s, (size_t)TT_MAX(dim1, dim2));
  strided_drop(s, (size_t)TT_MIN(dim1, dim2));
  s->sizes[s->rank] = size;
  s->strides[s->rank++] = stride;
  return true;
}
static bool strided_as(tt_lower_t* L, strided_t* s, uint32_t size_arg, uint32_t stride_arg,
                       uint32_t offset_arg, int64_t elems) {
  tt_i64s_t sizes = tt_l_ints(L, size_arg), strides = tt_l_ints(L, stride_arg);
  if (sizes.size != strides.size || sizes.size > TT_MAX_RANK) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "mismatch in length of strides and shape");
    return false;
  }
  *s = (strided_t){.rank = sizes.size, .offset = tt_l_int(L, offset_arg, 0)};
  int64_t reach = s->offset + 1;
  bool empty = false;
  for (size_t d = 0; d < sizes.size; ++d) {
    s->sizes[d] = sizes.data[d];
    s->strides[d] = strides.data[d];
    empty = empty || s->sizes[d] == 0;
    reach += (s->sizes[d] - 1) * s->strides[d];
  }
  if (!empty && reach > elems) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "setStorage: a view that reaches element %lld is out of bounds for storage of %lld elements",
        (long long)reach, (long long)elems);
    return false;
  }
  return true;
}
static V strided_read(tt_lower_t* L, V x, const strided_t* s) {
  return x ? tt_b_strided_read(L->b, x, tt_lx_dtype(x), s->rank, s->sizes, s->strides, s->offset) : NULL;
}
static V strided_write(tt_lower_t* L, V x, V value, const strided_t* s) {
  if (!x || !value) return NULL;
  value = tt_b_broadcast_to(L->b, CAST(value, tt_lx_dtype(x)), s->rank, s->sizes);
  if (value && tt_type_elems(value->type) == 0) return x;
  return tt_b_strided_write(L->b, x, value, s->strides, s->offset);
}

TT_LOWERING(as_strided) {
  V x = tt_l_tensor(L, 0);
  strided_t s;
  if (x && strided_as(L, &s, 1, 2, 3, tt_lx_numel(L, x))) tt_l_return(L, strided_read(L, x, &s));
}
TT_LOWERING(as_strided_scatter) {
  V x = tt_l_tensor(L, 0);
  strided_t s;
  if (x && strided_as(L, &s, 2, 3, 4, tt_lx_numel(L, x)))
    tt_l_return(L, strided_write(L, x, tt_l_tensor(L, 1), &s));
}
TT_LOWERING(diagonal) {
  V x = tt_l_tensor(L, 0);
  strided_t s;
  if (x && strided_of(L, x->type->rank, x->type->dims, &s) &&
      strided_diagonal(L, &s, tt_l_int(L, 1, 0), tt_l_int(L, 2, 0), tt_l_int(L, 3, 1))) {
    tt_l_return(L, strided_read(L, x, &s));
  }
}
TT_LOWERING(diagonal_scatter) {
  V x = tt_l_tensor(L, 0);
  strided_t s;
  if (x && strided_of(L, x->type->rank, x->type->dims, &s) &&
      strided_diagonal(L, &s, tt_l_int(L, 2, 0), tt_l_int(L, 3, 0), tt_l_int(L, 4, 1))) {
    tt_l_return(L, strided_write(L, x, tt_l_tensor(L, 1), &s));
  }
}
static V zeros_of(tt_lower_t* L, tt_dtype_t dtype, tt_i64s_t sizes) {
  return tt_lx_full(L, dtype, sizes.size, sizes.data, 0);
}
TT_LOWERING(diagonal_backward) {
  V grad = tt_l_tensor(L, 0);
  tt_i64s_t sizes = tt_l_ints(L, 1);
  strided_t s;
  if (grad && strided_of(L, sizes.size, sizes.data, &s) &&
      strided_diagonal(L, &s, tt_l_int(L, 2, 0), tt_l_int(L, 3, 0), tt_l_int(L, 4, 1))) {
    tt_l_return(L, strided_write(L, zeros_of(L, tt_lx_dtype(grad), sizes), grad, &s));
  }
}
TT_LOWERING(diag_embed) {
  V x = tt_l_tensor(L, 0);
  int64_t offset = tt_l_int(L, 1, 0), rank = tt_lx_rank(x) + 1;
  if (!x || x->type->rank == 0) return;
  int64_t dim1 = tt_l_dim(L, tt_l_int(L, 2, -2), rank), dim2 = tt_l_dim(L, tt_l_int(L, 3, -1), rank);
  if (dim1 == dim2)
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "diagonal dimensions cannot be identical %lld, %lld",
                    (long long)dim1, (long long)dim2);
  int64_t n = tt_lx_static_size(L, x, rank - 2) + (offset < 0 ? -offset : offset), sizes[TT_MAX_RANK + 1];
  for (int64_t d = 0, k = 0; d < rank; ++d) sizes[d] = d == dim1 || d == dim2 ? n : x->type->dims[k++];
  strided_t s;
  if (tt_builder_ok(L->b) && strided_of(L, (size_t)rank, sizes, &s) &&
      strided_diagonal(L, &s, offset, dim1, dim2)) {
    tt_l_return(L, strided_write(L, tt_lx_full(L, tt_lx_dtype(x), (size_t)rank, sizes, 0), x, &s));
  }
}
TT_LOWERING(unfold) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x)), size = tt_l_int(L, 2, 1),
          step = tt_l_int(L, 3, 1);
  int64_t extent = x->type->rank ? tt_lx_static_size(L, x, dim) : 1;
  if (size > extent) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "maximum size for tensor at dimension %lld is %lld but size is %lld", (long long)dim,
                    (long long)extent, (long long)size);
    return;
  }
  if (step <= 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "step is %lld but must be > 0", (long long)step);
    return;
  }
  strided_t s;
  if (!strided_of(L, x->type->rank, x->type->dims, &s)) return;
  int64_t stride = s.rank ? s.strides[dim] : 1;
  if (s.rank) {
    s.sizes[dim] = (extent - size) / step + 1;
    s.strides[dim] = stride * step;
  }
  s.sizes[s.rank] = size;
  s.strides[s.rank++] = stride;
  tt_l_return(L, strided_read(L, x, &s));
}

// ---- writes into cuts --------------------------------------------------------------------------
static V slice_write(tt_lower_t* L, V x, V value, const cut_t* c) {
  if (!x || !value) return NULL;
  tt_dim_t dims[TT_MAX_RANK];
  memcpy(dims, x->type->dims, x->type->rank * sizeof *dims);
  dims[c->dim] = cut_count(c);
  value = tt_b_broadcast_to(L->b, CAST(value, tt_lx_dtype(x)), x->type->rank, dims);
  if (!value || tt_type_elems(value->type) == 0) return x;
  if (value->type == x->type) return value;
  if (c->step == 1) {
    V starts[TT_MAX_RANK];
    for (int64_t d = 0; d < tt_lx_rank(x); ++d)
      starts[d] = tt_b_scalar_i64(L->b, TT_DTYPE_S64, d == c->dim ? c->start : 0);
    return tt_b_dynamic_update_slice(L->b, x, value, starts);
  }
  strided_t s;
  if (!strided_of(L, x->type->rank, x->type->dims, &s)) return NULL;
  s.offset = c->start * s.strides[c->dim];
  s.sizes[c->dim] = cut_count(c);
  s.strides[c->dim] *= c->step;
  return strided_write(L, x, value, &s);
}
TT_LOWERING(slice_scatter) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 2, 0), tt_lx_rank(x));
  cut_t c = slice_of(L, tt_lx_static_size(L, x, dim), dim, 3, 4, 5);
  tt_l_return(L, slice_write(L, x, tt_l_tensor(L, 1), &c));
}
TT_LOWERING(select_scatter) {
  V x = tt_l_tensor(L, 0), value = tt_l_tensor(L, 1);
  int64_t dim, index;
  if (!x || !select_place(L, tt_lx_rank(x), x->type->dims, 2, 3, &dim, &index)) return;
  cut_t c = {.dim = dim, .start = index, .limit = index + 1, .step = 1};
  if (value && tt_lx_rank(value) < tt_lx_rank(x) - 1) {
    tt_dim_t dims[TT_MAX_RANK];
    size_t k = 0;
    for (int64_t d = 0; d < tt_lx_rank(x); ++d) {
      if (d != dim) dims[k++] = x->type->dims[d];
    }
    value = tt_b_broadcast_to(L->b, value, k, dims);
  }
  tt_l_return(L, slice_write(L, x, tt_lx_unsqueeze(L, value, dim), &c));
}
TT_LOWERING(slice_backward) {
  V grad = tt_l_tensor(L, 0);
  tt_i64s_t sizes = tt_l_ints(L, 1);
  int64_t dim = tt_l_dim(L, tt_l_int(L, 2, 0), (int64_t)sizes.size);
  if (!grad || sizes.size == 0) return;
  cut_t c = slice_of(L, sizes.data[dim], dim, 3, 4, 5);
  int64_t count = cut_count(&c);
  if (count == 0) {
    tt_l_return(L, zeros_of(L, tt_lx_dtype(grad), sizes));
    return;
  }
  int64_t covered = (count - 1) * c.step + 1;
  tt_l_return(L, tt_lx_pad_dim(L, grad, dim, c.start, c.size - c.start - covered, c.step - 1));
}
TT_LOWERING(select_backward) {
  V grad = tt_l_tensor(L, 0);
  tt_i64s_t sizes = tt_l_ints(L, 1);
  int64_t dim, index;
  if (!grad || !select_place(L, (int64_t)sizes.size, sizes.data, 2, 3, &dim, &index)) return;
  tt_l_return(L, tt_lx_pad_dim(L, tt_lx_unsqueeze(L, grad, dim), dim, index, sizes.data[dim] - 1 - index, 0));
}

// ---- dtypes and copies -------------------------------------------------------------------------
TT_LOWERING(view_dtype) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  tt_dtype_t to = tt_l_dtype(L, 1, tt_lx_dtype(x)), from = tt_lx_dtype(x);
  size_t have = tt_dtype_bytes(from), want = tt_dtype_bytes(to);
  strided_t s;
  if (from == to) {
    tt_l_return(L, x);
    return;
  }
  if (have == want && from != TT_DTYPE_PRED && to != TT_DTYPE_PRED && !tt_dtype_is_complex(from) &&
      !tt_dtype_is_complex(to)) {
    tt_l_return(L, tt_b_bitcast(L->b, x, to));
    return;
  }
  if (!strided_of(L, x->type->rank, x->type->dims, &s)) return;
  if (s.rank) {
    int64_t* last = &s.sizes[s.rank - 1];
    if (want > have && (*last * (int64_t)have) % (int64_t)want) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "self.size(-1) must be divisible by %zu to view %s as %s (different element sizes)",
                      want / have, tt_lx_torch_name(from), tt_lx_torch_name(to));
      return;
    }
    *last = *last * (int64_t)have / (int64_t)want;
  } else if (have != want) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                    tt_lx_torch_name(from), tt_lx_torch_name(to));
    return;
  }
  tt_lx_contiguous_strides(s.rank, s.sizes, s.strides);
  tt_l_return(L, tt_b_strided_read(L->b, x, to, s.rank, s.sizes, s.strides, 0));
}
TT_LOWERING(view_as_real) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  if (!tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "view_as_real is only supported for complex tensors");
    return;
  }
  int64_t rank = tt_lx_rank(x);
  V parts[2] = {tt_lx_unsqueeze(L, REAL(x), rank), tt_lx_unsqueeze(L, IMAG(x), rank)};
  tt_l_return(L, tt_b_concatenate(L->b, 2, parts, rank));
}
TT_LOWERING(view_as_complex) {
  V x = tt_l_tensor(L, 0);
  int64_t last = tt_lx_rank(x) - 1;
  if (!x) return;
  if (last < 0 || tt_lx_static_size(L, x, last) != 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Tensor must have a last dimension of size 2");
    return;
  }
  V re = tt_lx_squeeze(L, tt_lx_slice_dim(L, x, last, 0, 1, 1), last),
    im = tt_lx_squeeze(L, tt_lx_slice_dim(L, x, last, 1, 2, 1), last);
  tt_l_return(L, tt_b_complex(L->b, re, im));
}
TT_LOWERING(to_dtype) {
  V x = tt_l_tensor(L, 0);
  tt_l_return(L, CAST(x, tt_l_dtype(L, 1, tt_lx_dtype(x))));
}
TT_LOWERING(copy) {
  V self = tt_l_tensor(L, 0), source = tt_l_tensor(L, 1);
  if (!self || !source) return;
  int64_t dims[TT_MAX_RANK];
  size_t rank;
  V both[2] = {self, source};
  tt_l_broadcast_shape(L, 2, both, &rank, dims);
  tt_l_return(L, tt_lx_broadcast_like(L, CAST(source, tt_lx_dtype(self)), self));
}

static void full(tt_lower_t* L, tt_i64s_t sizes, uint32_t value_arg, uint32_t dtype_arg,
                 tt_dtype_t fallback) {
  tt_dtype_t dtype = tt_l_dtype(L, dtype_arg, fallback);
  V value = value_arg == 99 ? tt_b_scalar_f64(L->b, dtype, 0) : tt_l_scalar(L, value_arg, dtype);
  tt_l_return(L, tt_b_broadcast_to(L->b, value, sizes.size, sizes.data));
}
static tt_dtype_t scalar_dtype(const tt_lower_t* L, uint32_t arg) {
  switch (arg < L->arg_count ? L->args[arg].kind : TT_ARG_NONE) {
    case TT_ARG_BOOL: return TT_DTYPE_PRED;
    case TT_ARG_INT: return TT_DTYPE_S64;
    case TT_ARG_COMPLEX: return TT_DTYPE_C64;
    default: return TT_DTYPE_F32;
  }
}
static tt_i64s_t sizes_like(tt_lower_t* L) {
  V x = tt_l_tensor(L, 0);
  return x ? (tt_i64s_t){x->type->dims, x->type->rank} : (tt_i64s_t){NULL, 0};
}
TT_LOWERING(full) { full(L, tt_l_ints(L, 0), 1, 2, scalar_dtype(L, 1)); }
TT_LOWERING(full_like) { full(L, sizes_like(L), 1, 2, tt_lx_dtype(tt_l_tensor(L, 0))); }
TT_LOWERING(zeros) { full(L, tt_l_ints(L, 0), 99, 1, TT_DTYPE_F32); }
TT_LOWERING(zeros_like) { full(L, sizes_like(L), 99, 1, tt_lx_dtype(tt_l_tensor(L, 0))); }
TT_LOWERING(new_zeros) { full(L, tt_l_ints(L, 1), 99, 2, tt_lx_dtype(tt_l_tensor(L, 0))); }
TT_LOWERING(new_full) { full(L, tt_l_ints(L, 1), 2, 3, tt_lx_dtype(tt_l_tensor(L, 0))); }
TT_LOWERING(empty_strided) { full(L, tt_l_ints(L, 0), 99, 2, TT_DTYPE_F32); }
TT_LOWERING(new_empty_strided) { full(L, tt_l_ints(L, 1), 99, 3, tt_lx_dtype(tt_l_tensor(L, 0))); }
TT_LOWERING(scalar_tensor) { full(L, (tt_i64s_t){NULL, 0}, 0, 1, TT_DTYPE_F32); }
static void ones(tt_lower_t* L, tt_i64s_t sizes, tt_dtype_t dtype) {
  tt_l_return(L, tt_lx_full(L, dtype, sizes.size, sizes.data, 1));
}
TT_LOWERING(ones) { ones(L, tt_l_ints(L, 0), tt_l_dtype(L, 1, TT_DTYPE_F32)); }
TT_LOWERING(ones_like) { ones(L, sizes_like(L), tt_l_dtype(L, 1, tt_lx_dtype(tt_l_tensor(L, 0)))); }
TT_LOWERING(new_ones) { ones(L, tt_l_ints(L, 1), tt_l_dtype(L, 2, tt_lx_dtype(tt_l_tensor(L, 0)))); }

TT_LOWERING(pixel_shuffle) {
  V x = tt_l_tensor(L, 0);
  int64_t r = tt_l_int(L, 1, 1), rank = tt_lx_rank(x);
  if (!x || rank < 3 || rank + 2 > TT_MAX_RANK || r <= 0) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "pixel_shuffle expects input to have at least 3 dimensions, but got input with %lld dimension(s)",
        (long long)rank);
    return;
  }
  int64_t base = rank - 3, c = tt_lx_static_size(L, x, base), h = tt_lx_static_size(L, x, base + 1),
          w = tt_lx_static_size(L, x, base + 2);
  tt_dim_t wide[TT_MAX_RANK], out[TT_MAX_RANK];
  int64_t permutation[TT_MAX_RANK];
  for (int64_t d = 0; d < base; ++d) wide[d] = out[d] = x->type->dims[d], permutation[d] = d;
  int64_t parts[5] = {c / (r * r), r, r, h, w}, order[5] = {0, 3, 1, 4, 2};
  for (int i = 0; i < 5; ++i) wide[base + i] = parts[i], permutation[base + i] = base + order[i];
  out[base] = c / (r * r), out[base + 1] = h * r, out[base + 2] = w * r;
  V moved = tt_b_transpose(L->b, tt_b_reshape(L->b, x, (size_t)rank + 2, wide), permutation);
  tt_l_return(L, tt_b_reshape(L->b, moved, (size_t)rank, out));
}
TT_LOWERING(pixel_unshuffle) {
  V x = tt_l_tensor(L, 0);
  int64_t r = tt_l_int(L, 1, 1), rank = tt_lx_rank(x);
  if (!x || rank < 3 || rank + 2 > TT_MAX_RANK || r <= 0) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "pixel_unshuffle expects input to have at least 3 dimensions, but got input with %lld dimension(s)",
        (long long)rank);
    return;
  }
  int64_t base = rank - 3, c = tt_lx_static_size(L, x, base), h = tt_lx_static_size(L, x, base + 1),
          w = tt_lx_static_size(L, x, base + 2);
  tt_dim_t wide[TT_MAX_RANK], out[TT_MAX_RANK];
  int64_t permutation[TT_MAX_RANK];
  for (int64_t d = 0; d < base; ++d) wide[d] = out[d] = x->type->dims[d], permutation[d] = d;
  int64_t parts[5] = {c, h / r, r, w / r, r}, order[5] = {0, 2, 4, 1, 3};
  for (int i = 0; i < 5; ++i) wide[base + i] = parts[i], permutation[base + i] = base + order[i];
  out[base] = c * r * r, out[base + 1] = h / r, out[base + 2] = w / r;
  V moved = tt_b_transpose(L->b, tt_b_reshape(L->b, x, (size_t)rank + 2, wide), permutation);
  tt_l_return(L, tt_b_reshape(L->b, moved, (size_t)rank, out));
}

TT_LOWERING(rot90) {
  V x = tt_l_tensor(L, 0);
  int64_t k = tt_l_int(L, 1, 1);
  tt_i64s_t list = tt_l_ints(L, 2);
  int64_t first = tt_l_dim(L, list.size > 0 ? list.data[0] : 0, tt_lx_rank(x)),
          second = tt_l_dim(L, list.size > 1 ? list.data[1] : 1, tt_lx_rank(x));
  k = ((k % 4) + 4) % 4;
  int64_t both[2] = {first, second};
  if (k == 1) x = swap_dims(L, tt_b_reverse(L->b, x, 1, &second), first, second);
  else if (k == 2) x = tt_b_reverse(L->b, x, 2, both);
  else if (k == 3) x = swap_dims(L, tt_b_reverse(L->b, x, 1, &first), first, second);
  tt_l_return(L, x);
}

// The check fails the program; eager and graphs alike return nothing.
TT_LOWERING(assert_async) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  if (tt_lx_numel(L, x) != 1) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Boolean value of Tensor with more than one value is ambiguous");
    return;
  }
  tt_lx_check(L, CAST(x, TT_DTYPE_PRED), TT_INVALID_ARGUMENT,
              tt_l_text(L, 1, "Expected Tensor with single nonzero value, but got zero"));
}
