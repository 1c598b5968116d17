// Constants, element-wise ops and data movement.
#include <math.h>

#include "ir/builder_internal.h"

// ---- types and constants -----------------------------------------------------------------------
const tt_type_t* tt_b_type(tt_builder_t* b, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims) {
  if (!tt_builder_ok(b)) return NULL;
  if (rank > TT_MAX_RANK) {
    tt_builder_fail(b, TT_INVALID_ARGUMENT, "a tensor of rank %zu is over the limit of %d", rank,
                    TT_MAX_RANK);
    return NULL;
  }
  const tt_type_t* type = tt_type_tensor(b->module, dtype, rank, dims);
  return type ? type : tt_b_out_of_memory(b);
}

tt_value_t* tt_b_constant(tt_builder_t* b, const tt_type_t* type, const void* data, bool is_splat) {
  if (!tt_builder_ok(b)) return NULL;
  if (!type || type->kind != TT_TYPE_TENSOR || tt_type_bytes(type) < 0) {
    return tt_builder_fail(b, TT_INVALID_ARGUMENT, "stablehlo.constant: %s is not a static tensor type",
                           TT_TYPE_TEXT(b->module, type));
  }
  tt_attr_t attr = {.name = TT_ATTR_VALUE, .kind = TT_AK_DENSE, .dense = {type, is_splat, data}};
  return tt_b_one(b, TT_OP_CONSTANT, 0, NULL, 1, &attr, type);
}

typedef union scalar_u { uint8_t bytes[16]; double align; } scalar_t;

tt_value_t* tt_b_scalar_f64(tt_builder_t* b, tt_dtype_t dtype, double value) {
  return tt_b_splat_f64(b, tt_b_type(b, dtype, 0, NULL), value);
}
tt_value_t* tt_b_scalar_i64(tt_builder_t* b, tt_dtype_t dtype, int64_t value) {
  return tt_b_splat_i64(b, tt_b_type(b, dtype, 0, NULL), value);
}

// A splat of a symbolic type is a scalar, broadcast.
static tt_value_t* splat(tt_builder_t* b, const tt_type_t* type, const scalar_t* data) {
  if (tt_type_is_static(type)) return tt_b_constant(b, type, data, true);
  tt_value_t* scalar = tt_b_constant(b, tt_b_type(b, type->dtype, 0, NULL), data, true);
  tt_attr_t attr = tt_attr_i64s(TT_ATTR_BROADCAST_DIMENSIONS, 0, NULL);
  return tt_b_one(b, TT_OP_BROADCAST_IN_DIM, 1, &scalar, 1, &attr, type);
}

static bool splat_ready(tt_builder_t* b, const tt_type_t* type) {
  if (!tt_builder_ok(b)) return false;
  if (type && type->kind == TT_TYPE_TENSOR) return true;
  tt_builder_fail(b, TT_INTERNAL, "stablehlo.constant: %s is not a tensor type",
                  TT_TYPE_TEXT(b->module, type));
  return false;
}

tt_value_t* tt_b_splat_f64(tt_builder_t* b, const tt_type_t* type, double value) {
  scalar_t data = {{0}};
  if (!splat_ready(b, type)) return NULL;
  tt_scalar_store_f64(type->dtype, value, &data);
  return splat(b, type, &data);
}

tt_value_t* tt_b_splat_i64(tt_builder_t* b, const tt_type_t* type, int64_t value) {
  scalar_t data = {{0}};
  if (!splat_ready(b, type)) return NULL;
  tt_scalar_store_i64(type->dtype, value, &data);
  return splat(b, type, &data);
}

tt_value_t* tt_b_splat_like(tt_builder_t* b, tt_value_t* like, double value) {
  if (!tt_b_ready(b, like, "stablehlo.constant")) return NULL;
  return tt_b_splat_f64(b, like->type, value);
}

tt_value_t* tt_b_i64s(tt_builder_t* b, size_t count, const int64_t* values) {
  tt_dim_t dims[1] = {(tt_dim_t)count};
  return tt_b_constant(b, tt_b_type(b, TT_DTYPE_S64, 1, dims), values, false);
}

tt_value_t* tt_b_iota(tt_builder_t* b, const tt_type_t* type, int64_t dimension) {
  tt_attr_t attr = tt_attr_int(TT_ATTR_IOTA_DIMENSION, dimension);
  if (!splat_ready(b, type)) return NULL;
  return tt_b_checked(b, tt_b_op(b, TT_OP_IOTA, 0, NULL, 1, &attr, 1, &type, 0));
}

// ---- element-wise ------------------------------------------------------------------------------
tt_value_t* tt_b_unary(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* x) {
  return tt_b_one(b, kind, 1, &x, 0, NULL, NULL);
}

tt_value_t* tt_b_binary(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* x, tt_value_t* y) {
  tt_value_t* operands[2] = {x, y};
  return tt_b_one(b, kind, 2, operands, 0, NULL, NULL);
}

tt_value_t* tt_b_compare(tt_builder_t* b, const char* direction, tt_value_t* x, tt_value_t* y) {
  if (!tt_b_ready(b, x, "stablehlo.compare")) return NULL;
  tt_dtype_class_t cls = tt_dtype_class(x->type->dtype);
  const char* type = cls == TT_DTYPE_CLASS_F || cls == TT_DTYPE_CLASS_C ? "FLOAT"
                     : cls == TT_DTYPE_CLASS_I                          ? "SIGNED"
                                                                        : "UNSIGNED";
  tt_attr_t attrs[2] = {tt_attr_enum(TT_ATTR_COMPARISON_DIRECTION, direction),
                        tt_attr_enum(TT_ATTR_COMPARE_TYPE, type)};
  tt_value_t* operands[2] = {x, y};
  return tt_b_one(b, TT_OP_COMPARE, 2, operands, 2, attrs, NULL);
}

tt_value_t* tt_b_select(tt_builder_t* b, tt_value_t* pred, tt_value_t* on_true, tt_value_t* on_false) {
  tt_value_t* operands[3] = {pred, on_true, on_false};
  return tt_b_one(b, TT_OP_SELECT, 3, operands, 0, NULL, NULL);
}

tt_value_t* tt_b_clamp(tt_builder_t* b, tt_value_t* lo, tt_value_t* x, tt_value_t* hi) {
  tt_value_t* operands[3] = {lo, x, hi};
  return tt_b_one(b, TT_OP_CLAMP, 3, operands, 0, NULL, NULL);
}

// x's type with another dtype; bounds are kept.
static const tt_type_t* with_dtype(tt_builder_t* b, const tt_type_t* type, tt_dtype_t dtype) {
  const tt_type_t* result = tt_type_tensor_bounded(b->module, dtype, type->rank, type->dims, type->bounds);
  return result ? result : tt_b_out_of_memory(b);
}

tt_value_t* tt_b_convert(tt_builder_t* b, tt_value_t* x, tt_dtype_t dtype) {
  if (!tt_b_ready(b, x, "stablehlo.convert")) return NULL;
  tt_dtype_t from = x->type->dtype;
  if (from == dtype) return x;
  if (dtype == TT_DTYPE_PRED && (tt_dtype_is_float(from) || tt_dtype_is_complex(from))) {
    return tt_b_compare(b, "NE", x, tt_b_splat_like(b, x, 0));
  }
  if (tt_dtype_is_complex(from) && !tt_dtype_is_complex(dtype)) {
    x = tt_b_unary(b, TT_OP_REAL, x);
    if (!x || x->type->dtype == dtype) return x;
  }
  return tt_b_one(b, TT_OP_CONVERT, 1, &x, 0, NULL, with_dtype(b, x->type, dtype));
}

tt_value_t* tt_b_bitcast(tt_builder_t* b, tt_value_t* x, tt_dtype_t dtype) {
  if (!tt_b_ready(b, x, "stablehlo.bitcast_convert")) return NULL;
  const tt_type_t* type = x->type;
  if (type->dtype == dtype) return x;
  int64_t from = tt_dtype_element_bits(type->dtype), to = tt_dtype_element_bits(dtype);
  if (from == 1 && to == 8) from = 8;  // i1 is held in a byte
  if (to == 1 && from == 8) to = 8;
  tt_dim_t dims[TT_MAX_RANK + 1];
  size_t rank = type->rank;
  memcpy(dims, type->dims, rank * sizeof(*dims));
  if (from > to) {
    dims[rank++] = to ? from / to : 0;
  } else if (from < to) {
    if (rank == 0 || dims[rank - 1] != (from ? to / from : 0)) {
      return tt_builder_fail(
          b, TT_INVALID_ARGUMENT, "stablehlo.bitcast_convert: %s to %s needs a last dimension of %lld",
          TT_TYPE_TEXT(b->module, type), tt_dtype_name(dtype), (long long)(from ? to / from : 0));
    }
    --rank;
  }
  const tt_type_t* result = tt_b_type(b, dtype, rank, dims);
  if (!result) return NULL;
  return tt_b_checked(b, tt_b_op(b, TT_OP_BITCAST_CONVERT, 1, &x, 0, NULL, 1, &result, 0));
}

tt_value_t* tt_b_complex(tt_builder_t* b, tt_value_t* re, tt_value_t* im) {
  return tt_b_binary(b, TT_OP_COMPLEX, re, im);
}

tt_value_t* tt_b_reduce_precision(tt_builder_t* b, tt_value_t* x, int exponent_bits, int mantissa_bits) {
  tt_attr_t attrs[2] = {tt_attr_int(TT_ATTR_EXPONENT_BITS, exponent_bits),
                        tt_attr_int(TT_ATTR_MANTISSA_BITS, mantissa_bits)};
  attrs[0].dtype = attrs[1].dtype = TT_DTYPE_S32;
  return tt_b_one(b, TT_OP_REDUCE_PRECISION, 1, &x, 2, attrs, NULL);
}

// ---- shape -------------------------------------------------------------------------------------
static bool same_dims(const tt_type_t* type, size_t rank, const tt_dim_t* dims) {
  if (type->rank != rank) return false;
  for (size_t i = 0; i < rank; ++i) {
    if (type->dims[i] != dims[i] || dims[i] == TT_DIM_UNKNOWN) return false;
  }
  return true;
}

tt_value_t* tt_b_reshape(tt_builder_t* b, tt_value_t* x, size_t rank, const tt_dim_t* dims) {
  if (!tt_b_ready(b, x, "stablehlo.reshape")) return NULL;
  if (same_dims(x->type, rank, dims)) return x;
  const tt_type_t* type = tt_b_type(b, x->type->dtype, rank, dims);
  if (!type) return NULL;
  return tt_b_checked(b, tt_b_op(b, TT_OP_RESHAPE, 1, &x, 0, NULL, 1, &type, 0));
}

tt_value_t* tt_b_broadcast_in_dim(tt_builder_t* b, tt_value_t* x, size_t rank, const tt_dim_t* dims,
                                  const int64_t* broadcast_dimensions) {
  if (!tt_b_ready(b, x, "stablehlo.broadcast_in_dim")) return NULL;
  const tt_type_t* type = tt_b_type(b, x->type->dtype, rank, dims);
  if (!type) return NULL;
  tt_attr_t attr = tt_attr_i64s(TT_ATTR_BROADCAST_DIMENSIONS, x->type->rank, broadcast_dimensions);
  return tt_b_checked(b, tt_b_op(b, TT_OP_BROADCAST_IN_DIM, 1, &x, 1, &attr, 1, &type, 0));
}

tt_value_t* tt_b_broadcast_to(tt_builder_t* b, tt_value_t* x, size_t rank, const tt_dim_t* dims) {
  if (!tt_b_ready(b, x, "stablehlo.broadcast_in_dim")) return NULL;
  if (same_dims(x->type, rank, dims)) return x;
  int64_t map[TT_MAX_RANK];
  if (x->type->rank > rank) {
    return tt_builder_fail(b, TT_INVALID_ARGUMENT,
                           "stablehlo.broadcast_in_dim: %s does not broadcast to rank %zu",
                           TT_TYPE_TEXT(b->module, x->type), rank);
  }
  for (uint32_t i = 0; i < x->type->rank; ++i) map[i] = (int64_t)(rank - x->type->rank + i);
  return tt_b_broadcast_in_dim(b, x, rank, dims, map);
}

tt_value_t* tt_b_transpose(tt_builder_t* b, tt_value_t* x, const int64_t* permutation) {
  if (!tt_b_ready(b, x, "stablehlo.transpose")) return NULL;
  bool identity = true;
  for (uint32_t i = 0; i < x->type->rank; ++i) identity &= permutation[i] == (int64_t)i;
  if (identity) return x;
  tt_attr_t attr = tt_attr_i64s(TT_ATTR_PERMUTATION, x->type->rank, permutation);
  return tt_b_one(b, TT_OP_TRANSPOSE, 1, &x, 1, &attr, NULL);
}

tt_value_t* tt_b_slice(tt_builder_t* b, tt_value_t* x, const int64_t* start, const int64_t* limit,
                       const int64_t* strides) {
  if (!tt_b_ready(b, x, "stablehlo.slice")) return NULL;
  uint32_t rank = x->type->rank;
  int64_t zeros[TT_MAX_RANK] = {0}, ones[TT_MAX_RANK];
  for (uint32_t i = 0; i < rank; ++i) ones[i] = 1;
  tt_attr_t attrs[3] = {tt_attr_i64s(TT_ATTR_START_INDICES, rank, start ? start : zeros),
                        tt_attr_i64s(TT_ATTR_LIMIT_INDICES, rank, limit ? limit : x->type->dims),
                        tt_attr_i64s(TT_ATTR_STRIDES, rank, strides ? strides : ones)};
  return tt_b_one(b, TT_OP_SLICE, 1, &x, 3, attrs, NULL);
}

tt_value_t* tt_b_pad(tt_builder_t* b, tt_value_t* x, tt_value_t* value, const int64_t* low,
                     const int64_t* high, const int64_t* interior) {
  if (!tt_b_ready(b, x, "stablehlo.pad")) return NULL;
  uint32_t rank = x->type->rank;
  int64_t zeros[TT_MAX_RANK] = {0};
  tt_attr_t attrs[3] = {tt_attr_i64s(TT_ATTR_EDGE_PADDING_LOW, rank, low ? low : zeros),
                        tt_attr_i64s(TT_ATTR_EDGE_PADDING_HIGH, rank, high ? high : zeros),
                        tt_attr_i64s(TT_ATTR_INTERIOR_PADDING, rank, interior ? interior : zeros)};
  tt_value_t* operands[2] = {x, value};
  return tt_b_one(b, TT_OP_PAD, 2, operands, 3, attrs, NULL);
}

tt_value_t* tt_b_concatenate(tt_builder_t* b, size_t count, tt_value_t* const* xs, int64_t dimension) {
  tt_attr_t attr = tt_attr_int(TT_ATTR_DIMENSION, dimension);
  if (count == 1) return tt_b_ready(b, xs[0], "stablehlo.concatenate") ? xs[0] : NULL;
  return tt_b_one(b, TT_OP_CONCATENATE, count, xs, 1, &attr, NULL);
}

tt_value_t* tt_b_reverse(tt_builder_t* b, tt_value_t* x, size_t count, const int64_t* dimensions) {
  if (!tt_b_ready(b, x, "stablehlo.reverse")) return NULL;
  if (count == 0) return x;
  tt_attr_t attr = tt_attr_i64s(TT_ATTR_DIMENSIONS, count, dimensions);
  return tt_b_one(b, TT_OP_REVERSE, 1, &x, 1, &attr, NULL);
}

tt_value_t* tt_b_dynamic_slice(tt_builder_t* b, tt_value_t* x, tt_value_t* const* starts,
                               const int64_t* sizes) {
  if (!tt_b_ready(b, x, "stablehlo.dynamic_slice")) return NULL;
  tt_value_t* operands[TT_MAX_RANK + 1] = {x};
  memcpy(operands + 1, starts, x->type->rank * sizeof(*starts));
  tt_attr_t attr = tt_attr_i64s(TT_ATTR_SLICE_SIZES, x->type->rank, sizes);
  return tt_b_one(b, TT_OP_DYNAMIC_SLICE, x->type->rank + 1, operands, 1, &attr, NULL);
}

tt_value_t* tt_b_dynamic_update_slice(tt_builder_t* b, tt_value_t* x, tt_value_t* update,
                                      tt_value_t* const* starts) {
  if (!tt_b_ready(b, x, "stablehlo.dynamic_update_slice")) return NULL;
  tt_value_t* operands[TT_MAX_RANK + 2] = {x, update};
  memcpy(operands + 2, starts, x->type->rank * sizeof(*starts));
  return tt_b_one(b, TT_OP_DYNAMIC_UPDATE_SLICE, x->type->rank + 2, operands, 0, NULL, NULL);
}
