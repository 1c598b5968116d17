#include "lower/util.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int64_t tt_lx_numel(tt_lower_t* L, const tt_value_t* v) {
  if (!v) return 0;
  int64_t elems = tt_type_elems(v->type);
  if (elems < 0) tt_builder_fail(L->b, TT_UNIMPLEMENTED, "needs a static shape");
  return elems < 0 ? 0 : elems;
}

int64_t tt_lx_static_size(tt_lower_t* L, const tt_value_t* v, int64_t dim) {
  if (!v) return 1;
  if (dim < 0 || dim >= (int64_t)v->type->rank) {
    if (v->type->rank != 0)
      tt_builder_fail(L->b, TT_INTERNAL, "dimension %lld of rank %u", (long long)dim, v->type->rank);
    return 1;
  }
  tt_dim_t d = v->type->dims[dim];
  if (!tt_dim_is_static(d)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "needs a static size of dimension %lld", (long long)dim);
    return 1;
  }
  return d;
}

const char* tt_lx_torch_name(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_PRED: return "Bool";
    case TT_DTYPE_S8: return "Char";
    case TT_DTYPE_S16: return "Short";
    case TT_DTYPE_S32: return "Int";
    case TT_DTYPE_S64: return "Long";
    case TT_DTYPE_U8: return "Byte";
    case TT_DTYPE_U16: return "UInt16";
    case TT_DTYPE_U32: return "UInt32";
    case TT_DTYPE_U64: return "UInt64";
    case TT_DTYPE_F16: return "Half";
    case TT_DTYPE_BF16: return "BFloat16";
    case TT_DTYPE_F32: return "Float";
    case TT_DTYPE_F64: return "Double";
    case TT_DTYPE_C64: return "ComplexFloat";
    case TT_DTYPE_C128: return "ComplexDouble";
    default: return tt_dtype_name(dtype);
  }
}

tt_value_t* tt_lx_to(tt_lower_t* L, tt_value_t* v, tt_dtype_t dtype) {
  if (!v || dtype == TT_DTYPE_INVALID || v->type->dtype == dtype) return v;
  return tt_l_cast(L->b, v, dtype);
}

// To int32 or int64; out of range and NaN give the lowest value, as the x86 instruction does.
static tt_value_t* checked_integer(tt_builder_t* b, tt_value_t* v, tt_dtype_t dtype) {
  double limit = dtype == TT_DTYPE_S32 ? 0x1p31 : 0x1p63;
  tt_value_t* whole = tt_b_convert(b, v, dtype);
  tt_value_t* inside = tt_b_binary(b, TT_OP_AND, tt_b_compare(b, "GE", v, tt_b_splat_like(b, v, -limit)),
                                   tt_b_compare(b, "LT", v, tt_b_splat_like(b, v, limit)));
  int64_t lowest = dtype == TT_DTYPE_S32 ? INT32_MIN : INT64_MIN;
  return whole ? tt_b_select(b, inside, whole, tt_b_splat_i64(b, whole->type, lowest)) : NULL;
}

tt_value_t* tt_l_cast(tt_builder_t* b, tt_value_t* v, tt_dtype_t dtype) {
  if (!v || v->type->dtype == dtype) return v;
  tt_dtype_t from = v->type->dtype;
  if (dtype == TT_DTYPE_PRED) return tt_b_compare(b, "NE", v, tt_b_splat_f64(b, v->type, 0));
  if (!tt_dtype_is_integer(dtype) || !(tt_dtype_is_float(from) || tt_dtype_is_complex(from))) return tt_b_convert(b, v, dtype);
  v = tt_b_convert(b, v, from == TT_DTYPE_F64 || from == TT_DTYPE_C128 ? TT_DTYPE_F64 : TT_DTYPE_F32);
  switch (dtype) {
    case TT_DTYPE_S64:
    case TT_DTYPE_S32: return checked_integer(b, v, dtype);
    case TT_DTYPE_U32: return tt_b_convert(b, checked_integer(b, v, TT_DTYPE_S64), dtype);
    case TT_DTYPE_U64:
      return tt_b_select(b, tt_b_compare(b, "LT", v, tt_b_splat_like(b, v, 0x1p63)),
                         tt_b_convert(b, checked_integer(b, v, TT_DTYPE_S64), dtype), tt_b_convert(b, v, dtype));
    default: return tt_b_convert(b, checked_integer(b, v, TT_DTYPE_S32), dtype);
  }
}

tt_value_t* tt_lx_operand(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype) {
  tt_value_t* v = tt_l_tensor_or_null(L, arg);
  if (v) return tt_lx_to(L, v, dtype);
  if (tt_l_is_none(L, arg)) return tt_l_tensor(L, arg);   // fails
  return dtype == TT_DTYPE_INVALID ? tt_l_tensor(L, arg) : tt_l_scalar(L, arg, dtype);
}

void tt_lx_broadcast(tt_lower_t* L, size_t count, tt_value_t** values, tt_dtype_t dtype) {
  int64_t dims[TT_MAX_RANK];
  size_t rank = 0;
  tt_l_broadcast_shape(L, count, values, &rank, dims);
  if (!tt_builder_ok(L->b)) return;
  for (size_t i = 0; i < count; ++i) {
    if (values[i]) values[i] = tt_b_broadcast_to(L->b, tt_lx_to(L, values[i], dtype), rank, dims);
  }
}

tt_value_t* tt_lx_broadcast_like(tt_lower_t* L, tt_value_t* v, const tt_value_t* like) {
  return v && like ? tt_b_broadcast_to(L->b, v, like->type->rank, like->type->dims) : NULL;
}

tt_value_t* tt_lx_along(tt_lower_t* L, tt_value_t* v, int64_t dim, const tt_value_t* like) {
  if (!v || !like) return NULL;
  return tt_b_broadcast_in_dim(L->b, v, like->type->rank, like->type->dims, &dim);
}

tt_value_t* tt_lx_splat(tt_lower_t* L, tt_value_t* like, double value) {
  return like ? tt_b_splat_f64(L->b, like->type, value) : NULL;
}

tt_value_t* tt_lx_splat_i64(tt_lower_t* L, tt_value_t* like, int64_t value) {
  return like ? tt_b_splat_i64(L->b, like->type, value) : NULL;
}

tt_value_t* tt_lx_constant(tt_lower_t* L, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims,
                           const double* values) {
  const tt_type_t* type = tt_b_type(L->b, dtype, rank, dims);
  if (!type) return NULL;
  int64_t count = tt_type_elems(type);
  size_t size = tt_dtype_bytes(dtype);
  char* data = count < 0 ? NULL : tt_arena_alloc_array(L->scratch, (size_t)count + 1, size);
  if (!data) return tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "out of host memory");
  for (int64_t i = 0; i < count; ++i) {
    const double complex_value[2] = {values[i], 0};
    if (tt_dtype_is_complex(dtype)) tt_scalar_store_complex(dtype, complex_value, data + (size_t)i * size);
    else tt_scalar_store_f64(dtype, values[i], data + (size_t)i * size);
  }
  return tt_b_constant(L->b, type, data, false);
}

tt_value_t* tt_lx_full(tt_lower_t* L, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims, double value) {
  const tt_type_t* type = tt_b_type(L->b, dtype, rank, dims);
  return type ? tt_b_splat_f64(L->b, type, value) : NULL;
}

tt_value_t* tt_lx_splat_max(tt_lower_t* L, tt_value_t* like) {
  if (!like) return NULL;
  tt_dtype_t d = like->type->dtype;
  if (tt_dtype_is_float(d)) return tt_lx_splat(L, like, INFINITY);
  if (d == TT_DTYPE_PRED) return tt_lx_splat_i64(L, like, 1);
  size_t bits = 8 * tt_dtype_bytes(d);
  if (tt_dtype_is_unsigned_int(d))
    return tt_lx_splat_i64(L, like, bits == 64 ? -1 : (INT64_C(1) << bits) - 1);
  return tt_lx_splat_i64(L, like, bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1);
}

tt_value_t* tt_lx_splat_lowest(tt_lower_t* L, tt_value_t* like) {
  if (!like) return NULL;
  tt_dtype_t d = like->type->dtype;
  if (tt_dtype_is_float(d)) return tt_lx_splat(L, like, -INFINITY);
  if (!tt_dtype_is_signed_int(d)) return tt_lx_splat_i64(L, like, 0);
  size_t bits = 8 * tt_dtype_bytes(d);
  return tt_lx_splat_i64(L, like, bits == 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1)));
}

tt_value_t* tt_lx_is_nan(tt_lower_t* L, tt_value_t* v) {
  if (!v) return NULL;
  tt_dtype_t d = v->type->dtype;
  if (tt_dtype_is_float(d)) return TT_CMP(NE, v, v);
  if (tt_dtype_is_complex(d)) {
    tt_value_t *re = TT_B1(REAL, v), *im = TT_B1(IMAG, v);
    return TT_B2(OR, TT_CMP(NE, re, re), TT_CMP(NE, im, im));
  }
  return tt_lx_full(L, TT_DTYPE_PRED, v->type->rank, v->type->dims, 0);
}

tt_value_t* tt_lx_unsqueeze(tt_lower_t* L, tt_value_t* v, int64_t dim) {
  if (!v) return NULL;
  tt_dim_t dims[TT_MAX_RANK + 1];
  int64_t rank = tt_lx_rank(v), k = 0;
  if (rank >= TT_MAX_RANK) return tt_builder_fail(L->b, TT_UNIMPLEMENTED, "rank over %d", TT_MAX_RANK);
  for (int64_t i = 0; i <= rank; ++i) dims[i] = i == dim ? 1 : v->type->dims[k++];
  return tt_b_reshape(L->b, v, (size_t)rank + 1, dims);
}

tt_value_t* tt_lx_squeeze(tt_lower_t* L, tt_value_t* v, int64_t dim) {
  if (!v) return NULL;
  tt_dim_t dims[TT_MAX_RANK];
  int64_t rank = tt_lx_rank(v), k = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != dim) dims[k++] = v->type->dims[i];
  }
  return tt_b_reshape(L->b, v, (size_t)k, dims);
}

tt_value_t* tt_lx_flatten(tt_lower_t* L, tt_value_t* v) {
  if (!v || v->type->rank == 1) return v;
  tt_dim_t n = tt_lx_numel(L, v);
  return tt_b_reshape(L->b, v, 1, &n);
}

tt_value_t* tt_lx_move_dim(tt_lower_t* L, tt_value_t* v, int64_t from, int64_t to) {
  if (!v) return NULL;
  int64_t permutation[TT_MAX_RANK], rank = tt_lx_rank(v), next = 0;
  if (rank == 0) return v;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == to) {
      permutation[i] = from;
    } else {
      if (next == from) ++next;
      permutation[i] = next++;
    }
  }
  return tt_b_transpose(L->b, v, permutation);
}

tt_value_t* tt_lx_slice_dim(tt_lower_t* L, tt_value_t* v, int64_t dim, int64_t start, int64_t limit,
                            int64_t step) {
  if (!v) return NULL;
  int64_t starts[TT_MAX_RANK], limits[TT_MAX_RANK], steps[TT_MAX_RANK];
  bool whole = true;
  for (int64_t i = 0; i < tt_lx_rank(v); ++i) {
    starts[i] = i == dim ? start : 0;
    limits[i] = i == dim ? limit : tt_lx_static_size(L, v, i);
    steps[i] = i == dim ? step : 1;
    if (starts[i] != 0 || limits[i] != v->type->dims[i] || steps[i] != 1) whole = false;
  }
  return whole ? v : tt_b_slice(L->b, v, starts, limits, steps);
}

tt_value_t* tt_lx_iota(tt_lower_t* L, tt_dtype_t dtype, const tt_value_t* like, int64_t dim) {
  if (!like) return NULL;
  if (like->type->rank == 0) return tt_b_scalar_i64(L->b, dtype, 0);
  return tt_b_iota(L->b, tt_b_type(L->b, dtype, like->type->rank, like->type->dims), dim);
}

tt_value_t* tt_lx_reduce_all(tt_lower_t* L, tt_op_kind_t kind, tt_value_t* v) {
  if (!v || v->type->rank == 0) return v;
  int64_t dims[TT_MAX_RANK];
  for (int64_t i = 0; i < tt_lx_rank(v); ++i) dims[i] = i;
  return tt_b_reduce(L->b, kind, v, v->type->rank, dims, false);
}

void tt_lx_reduce_dims(tt_lower_t* L, tt_i64s_t dims, int64_t rank, size_t* out_count, int64_t* out) {
  bool marked[TT_MAX_RANK] = {false};
  *out_count = 0;
  for (size_t i = 0; i < dims.size; ++i) {
    int64_t d = tt_l_dim(L, dims.data[i], rank);
    if (!tt_builder_ok(L->b)) return;
    if (rank == 0) continue;
    if (marked[d]) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "dim %lld appears multiple times in the list of dims",
                      (long long)d);
      return;
    }
    marked[d] = true;
  }
  for (int64_t d = 0; d < rank; ++d) {
    if (dims.size == 0 || marked[d]) out[(*out_count)++] = d;
  }
}

tt_value_t* tt_lx_cumulative(tt_lower_t* L, tt_value_t* v, int64_t dim, const char* op, bool reverse) {
  if (!v || v->type->rank == 0) return v;
  tt_attr_t attrs[3] = {tt_attr_int(TT_ATTR_AXIS, dim), tt_attr_string(TT_ATTR_OP, op),
                        tt_attr_bool(TT_ATTR_REVERSE, reverse)};
  tt_op_t* made = tt_b_composite(L->b, "tt.cumulative", 1, &v, 1, &v->type, 3, attrs, NULL);
  return made ? &made->results[0] : NULL;
}

// One gather whose index vector is the full coordinate: the other coordinates are iotas.
tt_value_t* tt_lx_gather_along(tt_lower_t* L, tt_value_t* v, int64_t dim, tt_value_t* index) {
  if (!v || !index) return NULL;
  int64_t rank = tt_lx_rank(v);
  if (rank == 0) return tt_lx_broadcast_like(L, v, index);
  if (tt_lx_rank(index) != rank) return tt_builder_fail(L->b, TT_INTERNAL, "gather along: ranks differ");
  if (tt_type_elems(v->type) == 0) return tt_lx_full(L, tt_lx_dtype(v), (size_t)rank, index->type->dims, 0);
  index = tt_lx_to(L, index, TT_DTYPE_S64);
  tt_value_t* parts[TT_MAX_RANK];
  for (int64_t i = 0; i < rank; ++i) {
    tt_value_t* coordinate = i == dim ? index : tt_lx_iota(L, TT_DTYPE_S64, index, i);
    parts[i] = tt_lx_unsqueeze(L, coordinate, rank);
  }
  tt_value_t* coordinates = tt_b_concatenate(L->b, (size_t)rank, parts, rank);
  int64_t all[TT_MAX_RANK], ones[TT_MAX_RANK];
  for (int64_t i = 0; i < rank; ++i) all[i] = i, ones[i] = 1;
  tt_gather_dims_t dims = {.collapsed_slice_dims = {all, (size_t)rank},
                           .start_index_map = {all, (size_t)rank},
                           .index_vector_dim = rank};
  return tt_b_gather(L->b, v, coordinates, &dims, ones, false);
}

void tt_lx_check_index(tt_lower_t* L, tt_value_t* index, int64_t low, int64_t high, const char* message) {
  tt_lx_check_range(L, index, low, high, TT_OUT_OF_RANGE, message);
}

void tt_lx_check_range(tt_lower_t* L, tt_value_t* index, int64_t low, int64_t high, tt_status_code_t code,
                       const char* message) {
  if (!index || !L->target->checks || tt_type_elems(index->type) == 0) return;
  tt_value_t* ok = TT_B2(AND, TT_CMP(GE, index, tt_lx_splat_i64(L, index, low)),
                         TT_CMP(LT, index, tt_lx_splat_i64(L, index, high)));
  // The value shown: any bad one, by a maximum over those out of range (0 where good).
  tt_value_t* bad = TT_SEL(ok, tt_lx_splat_lowest(L, index), index);
  tt_value_t* shown = tt_lx_reduce_all(L, TT_OP_MAXIMUM, bad);
  tt_b_check(L->b, tt_lx_reduce_all(L, TT_OP_AND, ok), code, message, 1, &shown);
}

tt_value_t* tt_lx_wrap_index(tt_lower_t* L, tt_value_t* index, int64_t size) {
  if (!index) return NULL;
  index = tt_lx_to(L, index, TT_DTYPE_S64);
  return TT_SEL(TT_CMP(LT, index, tt_lx_splat_i64(L, index, 0)),
                TT_B2(ADD, index, tt_lx_splat_i64(L, index, size)), index);
}

void tt_lx_sort(tt_lower_t* L, tt_value_t* v, int64_t dim, bool descending, bool with_index,
                tt_value_t** out_values, tt_value_t** out_indices) {
  *out_values = NULL;
  if (out_indices) *out_indices = NULL;
  if (!v) return;
  if (v->type->rank == 0) {
    *out_values = v;
    if (out_indices) *out_indices = tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0);
    return;
  }
  tt_value_t* inputs[2] = {v, with_index ? tt_lx_iota(L, TT_DTYPE_S64, v, dim) : NULL};
  tt_op_t* op = tt_b_sort(L->b, with_index ? 2 : 1, inputs, dim, true);
  if (!op) return;
  tt_block_t* saved = tt_b_region_begin(L->b, op, 0, 0, NULL);
  tt_value_t *x = tt_b_region_arg(op, 0, 0), *y = tt_b_region_arg(op, 0, 1);
  tt_value_t* less;
  if (x && tt_lx_dtype(x) == TT_DTYPE_PRED) {   // compare takes no order on i1 in some readers: go by bytes
    x = tt_b_convert(L->b, x, TT_DTYPE_U8);
    y = tt_b_convert(L->b, y, TT_DTYPE_U8);
  }
  less = descending ? TT_CMP(GT, x, y) : TT_CMP(LT, x, y);
  if (x && tt_dtype_is_float(tt_lx_dtype(x))) {
    tt_value_t *nan_x = TT_CMP(NE, x, x), *nan_y = TT_CMP(NE, y, y);
    tt_value_t* by_nan =
        descending ? TT_B2(AND, nan_x, TT_B1(NOT, nan_y)) : TT_B2(AND, nan_y, TT_B1(NOT, nan_x));
    less = TT_B2(OR, less, by_nan);
  }
  tt_b_region_end(L->b, saved, 1, &less);
  *out_values = &op->results[0];
  if (out_indices && with_index) *out_indices = &op->results[1];
}

tt_value_t* tt_lx_take_rows(tt_lower_t* L, tt_value_t* operand, tt_value_t* index) {
  if (!operand || !index) return NULL;
  int64_t rank = tt_lx_rank(operand), index_rank = tt_lx_rank(index), offsets[TT_MAX_RANK],
          sizes[TT_MAX_RANK], zero = 0;
  if (rank < 1 || index_rank + rank - 1 > TT_MAX_RANK)
    return tt_builder_fail(L->b, TT_UNIMPLEMENTED, "rank over %d", TT_MAX_RANK);
  for (int64_t i = 0; i < rank - 1; ++i) offsets[i] = index_rank + i;
  sizes[0] = 1;
  for (int64_t i = 1; i < rank; ++i) sizes[i] = tt_lx_static_size(L, operand, i);
  tt_gather_dims_t dims = {.offset_dims = {offsets, (size_t)rank - 1},
                           .collapsed_slice_dims = {&zero, 1},
                           .start_index_map = {&zero, 1},
                           .index_vector_dim = index_rank};
  if (tt_lx_size(operand, 0) == 0) {   // nothing to take from: only an empty index is in range
    tt_dim_t out[TT_MAX_RANK];
    for (int64_t i = 0; i < index_rank; ++i) out[i] = index->type->dims[i];
    for (int64_t i = 1; i < rank; ++i) out[index_rank + i - 1] = sizes[i];
    return tt_lx_full(L, tt_lx_dtype(operand), (size_t)(index_rank + rank - 1), out, 0);
  }
  return tt_b_gather(L->b, operand, tt_lx_unsqueeze(L, index, index_rank), &dims, sizes, false);
}

tt_value_t* tt_lx_scatter_rows(tt_lower_t* L, tt_op_kind_t kind, tt_value_t* operand, tt_value_t* index,
                               tt_value_t* updates, bool unique) {
  if (!operand || !index || !updates) return NULL;
  if (tt_type_elems(updates->type) == 0 || tt_type_elems(operand->type) == 0) return operand;
  int64_t window[TT_MAX_RANK], zero = 0, rank = tt_lx_rank(operand);
  for (int64_t i = 1; i < rank; ++i) window[i - 1] = i;
  tt_scatter_dims_t dims = {.update_window_dims = {window, (size_t)rank - 1},
                            .inserted_window_dims = {&zero, 1},
                            .scatter_dims_to_operand_dims = {&zero, 1},
                            .index_vector_dim = 1};
  return tt_b_scatter(L->b, kind, operand, tt_lx_unsqueeze(L, index, 1), updates, &dims, false, unique);
}

tt_value_t* tt_lx_take_flat(tt_lower_t* L, tt_value_t* flat, tt_value_t* index) {
  return tt_lx_take_rows(L, flat, index);
}

tt_value_t* tt_lx_scatter_flat(tt_lower_t* L, tt_op_kind_t kind, tt_value_t* flat, tt_value_t* index,
                               tt_value_t* updates) {
  return tt_lx_scatter_rows(L, kind, flat, tt_lx_flatten(L, index), tt_lx_flatten(L, updates), false);
}

tt_value_t* tt_lx_pad_dim(tt_lower_t* L, tt_value_t* v, int64_t dim, int64_t low, int64_t high,
                          int64_t interior) {
  if (!v || (low == 0 && high == 0 && interior == 0)) return v;
  int64_t lows[TT_MAX_RANK] = {0}, highs[TT_MAX_RANK] = {0}, interiors[TT_MAX_RANK] = {0};
  lows[dim] = low;
  highs[dim] = high;
  interiors[dim] = interior;
  return tt_b_pad(L->b, v, tt_b_scalar_f64(L->b, tt_lx_dtype(v), 0), lows, highs, interiors);
}

void tt_lx_contiguous_strides(size_t rank, const int64_t* sizes, int64_t* strides) {
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= TT_MAX(sizes[i], 1);
  }
}

void tt_lx_check(tt_lower_t* L, tt_value_t* ok, tt_status_code_t code, const char* message) {
  if (!ok || !L->target->checks || tt_type_elems(ok->type) == 0) return;
  tt_b_check(L->b, tt_lx_reduce_all(L, TT_OP_AND, ok), code, message, 0, NULL);
}

tt_value_t* tt_lx_take(tt_lower_t* L, tt_value_t* v, int64_t dim, tt_value_t* index) {
  if (!v || !index) return NULL;
  int64_t offsets[TT_MAX_RANK], slice[TT_MAX_RANK];
  size_t kept = 0;
  for (int64_t d = 0; d < tt_lx_rank(v); ++d) {
    slice[d] = d == dim ? 1 : tt_lx_size(v, d);
    if (d != dim) offsets[kept++] = d;
  }
  if (tt_lx_size(v, dim) == 0) {  // nothing to take from: only an empty index is in range
    for (int64_t d = 0; d < tt_lx_rank(v); ++d) slice[d] = tt_lx_size(d == dim ? index : v, d == dim ? 0 : d);
    return tt_lx_full(L, tt_lx_dtype(v), v->type->rank, slice, 0);
  }
  tt_gather_dims_t dims;
  memset(&dims, 0, sizeof(dims));
  dims.offset_dims = (tt_i64s_t){offsets, kept};
  dims.collapsed_slice_dims = (tt_i64s_t){&dim, 1};
  dims.start_index_map = (tt_i64s_t){&dim, 1};
  dims.index_vector_dim = 1;
  return tt_b_gather(L->b, v, tt_lx_unsqueeze(L, index, 1), &dims, slice, true);
}

tt_value_t* tt_lx_matrix_along(tt_lower_t* L, tt_value_t* v, int64_t dim, tt_value_t* matrix, bool transposed) {
  if (!v || !matrix) return NULL;
  int64_t contract = transposed ? 0 : 1;
  tt_dot_dims_t dims = {{NULL, 0}, {NULL, 0}, {&dim, 1}, {&contract, 1}};
  return tt_lx_move_dim(L, tt_b_dot_general(L->b, v, matrix, &dims, TT_DTYPE_INVALID), tt_lx_rank(v) - 1, dim);
}

void tt_lx_sizes_text(const tt_value_t* v, const char* more, char* text, size_t size) {
  size_t at = (size_t)snprintf(text, size, "[");
  for (int64_t d = 0; d < tt_lx_rank(v) && at < size; ++d)
    at += (size_t)snprintf(text + at, size - at, d ? ", %lld" : "%lld", (long long)tt_lx_size(v, d));
  if (at < size) snprintf(text + at, size - at, "%s]", more);
}
