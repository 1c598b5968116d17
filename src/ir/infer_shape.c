// Inference rules of data movement.
#include <string.h>

#include "ir/infer.h"

static tt_status_t infer_broadcast(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  tt_i64s_t sizes = tt_op_attr_i64s(in->op, TT_ATTR_BROADCAST_SIZES);
  if (sizes.size + x->rank > TT_MAX_RANK) {
    return tt_infer_fail(in, "result rank %zu is over the limit of %d", sizes.size + x->rank, TT_MAX_RANK);
  }
  tt_dim_t dims[TT_MAX_RANK];
  for (size_t i = 0; i < sizes.size; ++i) dims[i] = sizes.data[i];
  for (uint32_t i = 0; i < x->rank; ++i) dims[sizes.size + i] = x->dims[i];
  return tt_infer_emit_shape(in, x->dtype, sizes.size + x->rank, dims, NULL);
}

static tt_status_t infer_concatenate(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  const tt_type_t* first = tt_infer_type(in, 0);
  int64_t d = tt_op_attr_int(op, TT_ATTR_DIMENSION, -1);
  if (d < 0 || d >= (int64_t)first->rank) {
    return tt_infer_fail(in, "dimension %lld is outside [0, %u)", (long long)d, first->rank);
  }
  tt_dim_t dims[TT_MAX_RANK];
  for (uint32_t i = 0; i < first->rank; ++i) dims[i] = first->dims[i];
  for (uint32_t k = 1; k < op->operand_count; ++k) {
    const tt_type_t* x = tt_infer_type(in, k);
    bool fits = x->rank == first->rank && x->dtype == first->dtype;
    for (uint32_t i = 0; fits && i < x->rank; ++i) {
      if (i == (uint32_t)d) continue;
      fits = tt_infer_dims_fit(in, dims[i], x->dims[i]);
      if (dims[i] < 0 && (x->dims[i] >= 0 || dims[i] == TT_DIM_UNKNOWN)) dims[i] = x->dims[i];
    }
    if (!fits) {
      return tt_infer_fail(in, "operands %s and %s cannot be joined along dimension %lld",
                           TT_TYPE_TEXT(in->names, first), TT_TYPE_TEXT(in->names, x), (long long)d);
    }
    dims[d] = tt_infer_add(in, dims[d], x->dims[d]);
  }
  return tt_infer_emit_shape(in, first->dtype, first->rank, dims, NULL);
}

static tt_status_t infer_pad(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  const tt_type_t* value = tt_infer_type(in, 1);
  if (value->rank != 0 || value->dtype != x->dtype) {
    return tt_infer_fail(in, "padding value is %s, needs a 0-d %s", TT_TYPE_TEXT(in->names, value),
                         tt_dtype_name(x->dtype));
  }
  int64_t low[TT_MAX_RANK], high[TT_MAX_RANK], interior[TT_MAX_RANK];
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_EDGE_PADDING_LOW, x->rank, 0, low));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_EDGE_PADDING_HIGH, x->rank, 0, high));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_INTERIOR_PADDING, x->rank, 0, interior));
  tt_dim_t dims[TT_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; ++i) {
    if (interior[i] < 0)
      return tt_infer_fail(in, "interior padding %lld is negative", (long long)interior[i]);
    int64_t edges;
    if (__builtin_add_overflow(low[i], high[i], &edges) || edges == INT64_MIN) {
      return tt_infer_fail(in, "padding overflows int64");
    }
    if (x->dims[i] >= 0) {
      // d + max(d - 1, 0) * interior + low + high
      int64_t size = x->dims[i], between = size > 0 ? size - 1 : 0;
      if (!tt_checked_mul_i64(between, interior[i], &between) ||
          __builtin_add_overflow(size, between, &size) || __builtin_add_overflow(size, edges, &size)) {
        return tt_infer_fail(in, "dimension %u overflows int64", i);
      }
      if (size < 0) {
        return tt_infer_fail(in, "padding (%lld, %lld) of dimension %u of %s leaves %lld", (long long)low[i],
                             (long long)high[i], i, TT_TYPE_TEXT(in->names, x), (long long)size);
      }
      dims[i] = size;
      continue;
    }
    tt_dim_t size = x->dims[i];
    if (interior[i] && size != TT_DIM_UNKNOWN && in->module) {
      tt_dim_t between = tt_dim_sub(in->module, tt_dim_max(in->module, size, 1), 1);
      size = tt_infer_add(in, size, tt_infer_mul(in, between, interior[i]));
    } else if (interior[i]) {
      size = TT_DIM_UNKNOWN;
    }
    dims[i] = edges >= 0 ? tt_infer_add(in, size, edges) : tt_infer_sub(in, size, -edges);
  }
  return tt_infer_emit_shape(in, x->dtype, x->rank, dims, NULL);
}

static tt_status_t infer_slice(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  int64_t start[TT_MAX_RANK], limit[TT_MAX_RANK], strides[TT_MAX_RANK];
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_START_INDICES, x->rank, 0, start));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_LIMIT_INDICES, x->rank, 0, limit));
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_STRIDES, x->rank, 1, strides));
  tt_dim_t dims[TT_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; ++i) {
    bool symbolic = start[i] < 0 || limit[i] < 0;
    if (symbolic && (!in->names->dims || start[i] == TT_DIM_UNKNOWN || limit[i] == TT_DIM_UNKNOWN)) {
      return tt_infer_fail(in, "start %lld, limit %lld of dimension %u: negative", (long long)start[i],
                           (long long)limit[i], i);
    }
    if (strides[i] <= 0)
      return tt_infer_fail(in, "stride %lld of dimension %u is not positive", (long long)strides[i], i);
    bool bad = !symbolic && (start[i] > limit[i] || (x->dims[i] >= 0 && limit[i] > x->dims[i]));
    if (symbolic || (x->dims[i] < 0 && x->dims[i] != TT_DIM_UNKNOWN)) {
      bad = tt_dim_less_equal(in->names, start[i], limit[i]) == TT_NO ||
            (x->dims[i] != TT_DIM_UNKNOWN && tt_dim_less_equal(in->names, limit[i], x->dims[i]) == TT_NO);
    }
    if (bad) {
      return tt_infer_fail(in, "[%s:%s] of dimension %u is outside %s", TT_DIM_TEXT(in->names, start[i]),
                           TT_DIM_TEXT(in->names, limit[i]), i, TT_TYPE_TEXT(in->names, x));
    }
    tt_dim_t size = tt_infer_sub(in, limit[i], start[i]);
    dims[i] =
        strides[i] == 1 ? size : tt_infer_floordiv(in, tt_infer_add(in, size, strides[i] - 1), strides[i]);
  }
  return tt_infer_emit_shape(in, x->dtype, x->rank, dims, NULL);
}

static tt_status_t infer_transpose(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  tt_i64s_t permutation = tt_op_attr_i64s(in->op, TT_ATTR_PERMUTATION);
  if (permutation.size != x->rank) {
    return tt_infer_fail(in, "permutation has %zu elements, %s has rank %u", permutation.size,
                         TT_TYPE_TEXT(in->names, x), x->rank);
  }
  TT_RETURN_IF_ERROR(tt_infer_unique(in, "permutation", permutation, x->rank));
  tt_dim_t dims[TT_MAX_RANK];
  int64_t bounds[TT_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; ++i) {
    dims[i] = x->dims[permutation.data[i]];
    if (x->bounds) bounds[i] = x->bounds[permutation.data[i]];
  }
  return tt_infer_emit_shape(in, x->dtype, x->rank, dims, x->bounds ? bounds : NULL);
}

static tt_status_t check_starts(const tt_infer_t* in, uint32_t first, const tt_type_t* x) {
  const tt_op_t* op = in->op;
  if (op->operand_count - first != x->rank) {
    return tt_infer_fail(in, "has %u start indices, %s has rank %u", op->operand_count - first,
                         TT_TYPE_TEXT(in->names, x), x->rank);
  }
  for (uint32_t i = first; i < op->operand_count; ++i) {
    const tt_type_t* start = tt_infer_type(in, i);
    if (start->rank != 0 || !tt_dtype_is_integer(start->dtype)) {
      return tt_infer_fail(in, "start index %u is %s, needs a 0-d integer", i - first,
                           TT_TYPE_TEXT(in->names, start));
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t infer_dynamic_slice(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  TT_RETURN_IF_ERROR(check_starts(in, 1, x));
  int64_t sizes[TT_MAX_RANK];
  TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_SLICE_SIZES, x->rank, 0, sizes));
  for (uint32_t i = 0; i < x->rank; ++i) {
    bool symbolic = sizes[i] < 0 && in->names->dims;
    if ((sizes[i] < 0 && !symbolic) || (!symbolic && x->dims[i] >= 0 && sizes[i] > x->dims[i])) {
      return tt_infer_fail(in, "slice size %lld of dimension %u is outside %s", (long long)sizes[i], i,
                           TT_TYPE_TEXT(in->names, x));
    }
  }
  return tt_infer_emit_shape(in, x->dtype, x->rank, sizes, NULL);
}

static tt_status_t infer_dynamic_update_slice(tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *update = tt_infer_type(in, 1);
  bool fits = x->rank == update->rank && x->dtype == update->dtype;
  for (uint32_t i = 0; fits && i < x->rank; ++i) {
    fits = x->dims[i] == TT_DIM_UNKNOWN || update->dims[i] == TT_DIM_UNKNOWN ||
           (x->dims[i] >= 0 && update->dims[i] >= 0
                ? update->dims[i] <= x->dims[i]
                : tt_dim_less_equal(in->names, update->dims[i], x->dims[i]) != TT_NO);
  }
  if (!fits) {
    return tt_infer_fail(in, "update %s does not fit into %s", TT_TYPE_TEXT(in->names, update),
                         TT_TYPE_TEXT(in->names, x));
  }
  TT_RETURN_IF_ERROR(check_starts(in, 2, x));
  return tt_infer_emit(in, x);
}

static tt_status_t infer_reverse(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  TT_RETURN_IF_ERROR(tt_infer_unique(in, "dimensions", tt_op_attr_i64s(in->op, TT_ATTR_DIMENSIONS), x->rank));
  return tt_infer_emit(in, x);
}

static tt_status_t infer_constant(tt_infer_t* in) {
  const tt_attr_t* value = tt_op_attr(in->op, TT_ATTR_VALUE);
  if (!value || value->kind != TT_AK_DENSE) return tt_infer_fail(in, "has no dense value");
  if (tt_type_bytes(value->dense.type) < 0) {
    return tt_infer_fail(in, "value type %s is not static", TT_TYPE_TEXT(in->names, value->dense.type));
  }
  if (!in->module) return tt_infer_emit(in, value->dense.type);
  return tt_infer_emit(in, tt_type_intern(in->module, value->dense.type));
}

static tt_status_t infer_dimension_size(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  int64_t d = tt_op_attr_int(in->op, TT_ATTR_DIMENSION, -1);
  if (d < 0 || d >= (int64_t)x->rank) {
    return tt_infer_fail(in, "dimension %lld is outside [0, %u)", (long long)d, x->rank);
  }
  if (in->op->kind == TT_OP_GET_DIMENSION_SIZE) return tt_infer_emit_shape(in, TT_DTYPE_S32, 0, NULL, NULL);
  const tt_type_t* size = tt_infer_type(in, 1);
  if (size->rank != 0 || !tt_dtype_is_integer(size->dtype)) {
    return tt_infer_fail(in, "size is %s, needs a 0-d integer", TT_TYPE_TEXT(in->names, size));
  }
  tt_dim_t dims[TT_MAX_RANK];
  int64_t bounds[TT_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; ++i) {
    dims[i] = x->dims[i];
    bounds[i] = x->bounds ? x->bounds[i] : TT_DIM_UNKNOWN;
  }
  if (dims[d] >= 0) bounds[d] = dims[d];
  dims[d] = TT_DIM_UNKNOWN;
  return tt_infer_emit_shape(in, x->dtype, x->rank, dims, bounds);
}

tt_status_t tt_infer_movement(tt_infer_t* in) {
  switch (in->op->kind) {
    case TT_OP_BROADCAST: return infer_broadcast(in);
    case TT_OP_CONCATENATE: return infer_concatenate(in);
    case TT_OP_PAD: return infer_pad(in);
    case TT_OP_SLICE: return infer_slice(in);
    case TT_OP_TRANSPOSE: return infer_transpose(in);
    case TT_OP_DYNAMIC_SLICE: return infer_dynamic_slice(in);
    case TT_OP_DYNAMIC_UPDATE_SLICE: return infer_dynamic_update_slice(in);
    case TT_OP_REVERSE: return infer_reverse(in);
    case TT_OP_CONSTANT: return infer_constant(in);
    case TT_OP_GET_DIMENSION_SIZE: case TT_OP_SET_DIMENSION_SIZE: return infer_dimension_size(in);
    default:
      in->open = true;  // reshape, broadcast_in_dim, iota, bitcast_convert: the result says it (tt_op_check)
      return TT_OK_STATUS;
  }
}
