// Inference rules of gather, scatter, sort, collectives, control flow and the rest.
#include <string.h>

#include "ir/infer.h"

static bool contains(tt_i64s_t list, int64_t value) {
  for (size_t i = 0; i < list.size; ++i) {
    if (list.data[i] == value) return true;
  }
  return false;
}

static tt_status_t check_ascending(const tt_infer_t* in, const char* what, tt_i64s_t list, size_t rank) {
  TT_RETURN_IF_ERROR(tt_infer_unique(in, what, list, rank));
  for (size_t i = 1; i < list.size; ++i) {
    if (list.data[i] < list.data[i - 1]) return tt_infer_fail(in, "%s is not ascending", what);
  }
  return TT_OK_STATUS;
}

// The shape of the index tensor without its vector dimension; also checks the vector's length.
static tt_status_t index_batch(const tt_infer_t* in, const tt_type_t* indices, int64_t vector_dim,
                               size_t map_size, tt_dim_t* dims, size_t* out_rank) {
  if (!tt_dtype_is_integer(indices->dtype)) {
    return tt_infer_fail(in, "indices are %s, need an integer dtype", TT_TYPE_TEXT(in->names, indices));
  }
  if (vector_dim < 0 || vector_dim > (int64_t)indices->rank) {
    return tt_infer_fail(in, "index_vector_dim %lld is outside [0, %u]", (long long)vector_dim,
                         indices->rank);
  }
  tt_dim_t length = vector_dim == (int64_t)indices->rank ? 1 : indices->dims[vector_dim];
  if (!tt_infer_dims_fit(in, length, (tt_dim_t)map_size)) {
    return tt_infer_fail(in, "index vectors of %s along dimension %lld have %lld elements, the map has %zu",
                         TT_TYPE_TEXT(in->names, indices), (long long)vector_dim, (long long)length,
                         map_size);
  }
  size_t rank = 0;
  for (uint32_t i = 0; i < indices->rank; ++i) {
    if ((int64_t)i != vector_dim) dims[rank++] = indices->dims[i];
  }
  *out_rank = rank;
  return TT_OK_STATUS;
}

static tt_status_t infer_gather(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  const tt_type_t *x = tt_infer_type(in, 0), *indices = tt_infer_type(in, 1);
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_GATHER) return tt_infer_fail(in, "has no dimension numbers");
  const tt_gather_dims_t* d = attr->gather;
  TT_RETURN_IF_ERROR(check_ascending(in, "collapsed_slice_dims", d->collapsed_slice_dims, x->rank));
  TT_RETURN_IF_ERROR(check_ascending(in, "operand_batching_dims", d->operand_batching_dims, x->rank));
  TT_RETURN_IF_ERROR(tt_infer_unique(in, "start_index_map", d->start_index_map, x->rank));
  TT_RETURN_IF_ERROR(
      tt_infer_unique(in, "start_indices_batching_dims", d->start_indices_batching_dims, indices->rank));
  if (d->operand_batching_dims.size != d->start_indices_batching_dims.size) {
    return tt_infer_fail(in, "operand and start_indices batching dims differ in number");
  }
  for (size_t i = 0; i < d->operand_batching_dims.size; ++i) {
    int64_t a = d->operand_batching_dims.data[i], b = d->start_indices_batching_dims.data[i];
    if (contains(d->collapsed_slice_dims, a) || contains(d->start_index_map, a)) {
      return tt_infer_fail(in, "dimension %lld is a batching dimension and an indexed or collapsed one",
                           (long long)a);
    }
    if (b == d->index_vector_dim || !tt_infer_dims_fit(in, x->dims[a], indices->dims[b])) {
      return tt_infer_fail(in, "batching dimensions %lld of %s and %lld of %s differ", (long long)a,
                           TT_TYPE_TEXT(in->names, x), (long long)b, TT_TYPE_TEXT(in->names, indices));
    }
  }
  tt_dim_t batch[TT_MAX_RANK + 1];
  size_t batch_rank;
  TT_RETURN_IF_ERROR(
      index_batch(in, indices, d->index_vector_dim, d->start_index_map.size, batch, &batch_rank));
  int64_t sizes[TT_MAX_RANK];
  tt_dim_t offsets[TT_MAX_RANK];
  size_t offset_rank = 0;
  if (op->kind == TT_OP_DYNAMIC_GATHER) {
    for (uint32_t i = 0; i < x->rank; ++i) sizes[i] = TT_DIM_UNKNOWN;
  } else {
    if (!tt_op_attr(op, TT_ATTR_SLICE_SIZES)) return tt_infer_fail(in, "has no slice_sizes");
    TT_RETURN_IF_ERROR(tt_infer_list(in, TT_ATTR_SLICE_SIZES, x->rank, 0, sizes));
  }
  for (uint32_t i = 0; i < x->rank; ++i) {
    bool is_batch = contains(d->operand_batching_dims, i);
    bool gone = is_batch || contains(d->collapsed_slice_dims, i);
    if (sizes[i] < 0 && sizes[i] != TT_DIM_UNKNOWN && !in->names->dims) {
      return tt_infer_fail(in, "slice size %lld of dimension %u is negative", (long long)sizes[i], i);
    }
    if ((sizes[i] >= 0 && x->dims[i] >= 0 && sizes[i] > x->dims[i]) || (gone && sizes[i] > 1)) {
      return tt_infer_fail(in, "slice size %lld of dimension %u does not fit %s%s", (long long)sizes[i], i,
                           TT_TYPE_TEXT(in->names, x), gone ? ": collapsed, at most 1" : "");
    }
    if (!gone) offsets[offset_rank++] = sizes[i];
  }
  size_t rank = batch_rank + offset_rank;
  if (rank > TT_MAX_RANK)
    return tt_infer_fail(in, "result rank %zu is over the limit of %d", rank, TT_MAX_RANK);
  TT_RETURN_IF_ERROR(check_ascending(in, "offset_dims", d->offset_dims, rank));
  if (d->offset_dims.size != offset_rank) {
    return tt_infer_fail(in, "offset_dims has %zu elements, %zu dimensions are kept", d->offset_dims.size,
                         offset_rank);
  }
  tt_dim_t dims[TT_MAX_RANK];
  size_t from_batch = 0, from_offset = 0;
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = contains(d->offset_dims, (int64_t)i) ? offsets[from_offset++] : batch[from_batch++];
  }
  return tt_infer_emit_shape(in, x->dtype, rank, dims, NULL);
}

static tt_status_t infer_scatter(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  if (op->operand_count % 2 != 1)
    return tt_infer_fail(in, "has %u operands, needs an odd number", op->operand_count);
  uint32_t n = op->operand_count / 2;
  const tt_type_t *x = tt_infer_type(in, 0), *indices = tt_infer_type(in, n);
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_SCATTER_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_SCATTER) return tt_infer_fail(in, "has no dimension numbers");
  const tt_scatter_dims_t* d = attr->scatter;
  TT_RETURN_IF_ERROR(check_ascending(in, "inserted_window_dims", d->inserted_window_dims, x->rank));
  TT_RETURN_IF_ERROR(check_ascending(in, "input_batching_dims", d->input_batching_dims, x->rank));
  TT_RETURN_IF_ERROR(
      tt_infer_unique(in, "scatter_dims_to_operand_dims", d->scatter_dims_to_operand_dims, x->rank));
  TT_RETURN_IF_ERROR(
      tt_infer_unique(in, "scatter_indices_batching_dims", d->scatter_indices_batching_dims, indices->rank));
  if (d->input_batching_dims.size != d->scatter_indices_batching_dims.size) {
    return tt_infer_fail(in, "input and scatter_indices batching dims differ in number");
  }
  for (size_t i = 0; i < d->input_batching_dims.size; ++i) {
    int64_t a = d->input_batching_dims.data[i], b = d->scatter_indices_batching_dims.data[i];
    if (contains(d->inserted_window_dims, a) || contains(d->scatter_dims_to_operand_dims, a)) {
      return tt_infer_fail(in, "dimension %lld is a batching dimension and an indexed or inserted one",
                           (long long)a);
    }
    if (b == d->index_vector_dim || !tt_infer_dims_fit(in, x->dims[a], indices->dims[b])) {
      return tt_infer_fail(in, "batching dimensions %lld of %s and %lld of %s differ", (long long)a,
                           TT_TYPE_TEXT(in->names, x), (long long)b, TT_TYPE_TEXT(in->names, indices));
    }
  }
  tt_dim_t batch[TT_MAX_RANK + 1], window[TT_MAX_RANK];
  size_t batch_rank, window_rank = 0;
  TT_RETURN_IF_ERROR(index_batch(in, indices, d->index_vector_dim, d->scatter_dims_to_operand_dims.size,
                                 batch, &batch_rank));
  for (uint32_t i = 0; i < x->rank; ++i) {
    if (!contains(d->inserted_window_dims, i) && !contains(d->input_batching_dims, i))
      window[window_rank++] = x->dims[i];
  }
  if (d->update_window_dims.size != window_rank) {
    return tt_infer_fail(in, "update_window_dims has %zu elements, %s has %zu window dimensions",
                         d->update_window_dims.size, TT_TYPE_TEXT(in->names, x), window_rank);
  }
  for (uint32_t k = 0; k < n; ++k) {
    const tt_type_t *input = tt_infer_type(in, k), *update = tt_infer_type(in, n + 1 + k);
    if (!tt_infer_shapes_fit(in, x, input)) {
      return tt_infer_fail(in, "input shapes %s and %s differ", TT_TYPE_TEXT(in->names, x),
                           TT_TYPE_TEXT(in->names, input));
    }
    bool fits = update->rank == batch_rank + window_rank && update->dtype == input->dtype;
    if (fits)
      TT_RETURN_IF_ERROR(check_ascending(in, "update_window_dims", d->update_window_dims, update->rank));
    size_t from_batch = 0, from_window = 0;
    for (uint32_t i = 0; fits && i < update->rank; ++i) {
      if (contains(d->update_window_dims, i)) {
        tt_dim_t limit = window[from_window++];
        fits = update->dims[i] < 0 || limit < 0 || update->dims[i] <= limit;
      } else {
        fits = tt_infer_dims_fit(in, update->dims[i], batch[from_batch++]);
      }
    }
    if (!fits) {
      return tt_infer_fail(in, "updates %s do not fit input %s and indices %s",
                           TT_TYPE_TEXT(in->names, update), TT_TYPE_TEXT(in->names, input),
                           TT_TYPE_TEXT(in->names, indices));
    }
    TT_RETURN_IF_ERROR(tt_infer_emit(in, input));
  }
  return TT_OK_STATUS;
}

static tt_status_t emit_operands(tt_infer_t* in) {
  for (uint32_t i = 0; i < in->op->operand_count; ++i)
    TT_RETURN_IF_ERROR(tt_infer_emit(in, tt_infer_type(in, i)));
  return TT_OK_STATUS;
}

static tt_status_t infer_sort(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  int64_t d = tt_op_attr_int(in->op, TT_ATTR_DIMENSION, -1);
  if (d < -(int64_t)x->rank || d >= (int64_t)TT_MAX(x->rank, 1u)) {
    return tt_infer_fail(in, "dimension %lld is outside %s", (long long)d, TT_TYPE_TEXT(in->names, x));
  }
  for (uint32_t i = 1; i < in->op->operand_count; ++i) {
    if (!tt_infer_shapes_fit(in, x, tt_infer_type(in, i))) {
      return tt_infer_fail(in, "input shapes %s and %s differ", TT_TYPE_TEXT(in->names, x),
                           TT_TYPE_TEXT(in->names, tt_infer_type(in, i)));
    }
  }
  return emit_operands(in);
}

static tt_status_t infer_top_k(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 0);
  int64_t k = tt_op_attr_int(in->op, TT_ATTR_K, -1);
  if (x->rank == 0 || k < 0 || (x->dims[x->rank - 1] >= 0 && k > x->dims[x->rank - 1])) {
    return tt_infer_fail(in, "k = %lld does not fit %s", (long long)k, TT_TYPE_TEXT(in->names, x));
  }
  tt_dim_t dims[TT_MAX_RANK];
  memcpy(dims, x->dims, x->rank * sizeof(*dims));
  dims[x->rank - 1] = k;
  TT_RETURN_IF_ERROR(tt_infer_emit_shape(in, x->dtype, x->rank, dims, NULL));
  return tt_infer_emit_shape(in, TT_DTYPE_S32, x->rank, dims, NULL);
}

// Members of one replica group, or -1.
static int64_t group_size(const tt_op_t* op) {
  const tt_attr_t* groups = tt_op_attr(op, TT_ATTR_REPLICA_GROUPS);
  if (!groups || groups->kind != TT_AK_DENSE || groups->dense.type->rank != 2) return -1;
  return groups->dense.type->dims[1];
}

static tt_status_t infer_collective(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  int64_t members = group_size(op);
  tt_attr_name_t name = op->kind == TT_OP_ALL_GATHER ? TT_ATTR_ALL_GATHER_DIM : TT_ATTR_SCATTER_DIMENSION;
  for (uint32_t k = 0; k < op->operand_count; ++k) {
    const tt_type_t* x = tt_infer_type(in, k);
    tt_dim_t dims[TT_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof(*dims));
    if (op->kind == TT_OP_ALL_TO_ALL) {
      int64_t split = tt_op_attr_int(op, TT_ATTR_SPLIT_DIMENSION, -1);
      int64_t concat = tt_op_attr_int(op, TT_ATTR_CONCAT_DIMENSION, -1);
      int64_t count = tt_op_attr_int(op, TT_ATTR_SPLIT_COUNT, -1);
      if (split < 0 || split >= (int64_t)x->rank || concat < 0 || concat >= (int64_t)x->rank || count < 1 ||
          (dims[split] >= 0 && dims[split] % count)) {
        return tt_infer_fail(
            in, "split_dimension %lld, concat_dimension %lld, split_count %lld do not fit %s",
            (long long)split, (long long)concat, (long long)count, TT_TYPE_TEXT(in->names, x));
      }
      dims[split] = tt_infer_floordiv(in, dims[split], count);
      dims[concat] = tt_infer_mul(in, dims[concat], count);
    } else {
      int64_t d = tt_op_attr_int(op, name, -1);
      if (d < 0 || d >= (int64_t)x->rank) {
        return tt_infer_fail(in, "%s %lld is outside %s", tt_attr_name_text(name), (long long)d,
                             TT_TYPE_TEXT(in->names, x));
      }
      // With use_global_device_ids off and partitions on, the group's size is the compiler's business.
      if (members < 1 || !in->module) {
        if (in->module) {
          in->open = true;
          return TT_OK_STATUS;
        }
        dims[d] = TT_DIM_UNKNOWN;
      } else if (op->kind == TT_OP_ALL_GATHER) {
        dims[d] = tt_infer_mul(in, dims[d], members);
      } else if (dims[d] >= 0 && dims[d] % members) {
        return tt_infer_fail(in, "dimension %lld of %s does not divide into %lld parts", (long long)d,
                             TT_TYPE_TEXT(in->names, x), (long long)members);
      } else {
        dims[d] = tt_infer_floordiv(in, dims[d], members);
      }
    }
    TT_RETURN_IF_ERROR(tt_infer_emit_shape(in, x->dtype, x->rank, dims, NULL));
  }
  return TT_OK_STATUS;
}

static tt_status_t infer_index_select(tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *index = tt_infer_type(in, 1);
  int64_t d = tt_op_attr_int(in->op, TT_ATTR_DIM, -1), batch = tt_op_attr_int(in->op, TT_ATTR_BATCH_DIMS, 0);
  if (d < 0 || d >= (int64_t)x->rank || batch < 0 || batch > d || batch > (int64_t)index->rank ||
      x->rank + index->rank > TT_MAX_RANK) {
    return tt_infer_fail(in, "dim %lld, batch_dims %lld do not fit %s and %s", (long long)d, (long long)batch,
                         TT_TYPE_TEXT(in->names, x), TT_TYPE_TEXT(in->names, index));
  }
  tt_dim_t dims[TT_MAX_RANK];
  size_t rank = 0;
  for (int64_t i = 0; i < d; ++i) dims[rank++] = x->dims[i];
  for (int64_t i = batch; i < (int64_t)index->rank; ++i) dims[rank++] = index->dims[i];
  for (int64_t i = d + 1; i < (int64_t)x->rank; ++i) dims[rank++] = x->dims[i];
  return tt_infer_emit_shape(in, x->dtype, rank, dims, NULL);
}

static tt_status_t infer_call(tt_infer_t* in) {
  const char* name = tt_op_attr_text(in->op, TT_ATTR_CALLEE);
  const tt_func_t* callee = tt_module_find_func(in->names, name);
  if (!callee) return tt_infer_fail(in, "callee @%s does not exist", name);
  if (callee->body.block.arg_count != in->op->operand_count) {
    return tt_infer_fail(in, "@%s takes %u arguments, given %u", name, callee->body.block.arg_count,
                         in->op->operand_count);
  }
  for (uint32_t i = 0; i < in->op->operand_count; ++i) {
    const tt_type_t *wanted = callee->body.block.args[i].type, *given = tt_infer_type(in, i);
    if (wanted != given && (wanted->dtype != given->dtype || !tt_infer_shapes_fit(in, wanted, given))) {
      return tt_infer_fail(in, "argument %u of @%s is %s, given %s", i, name, TT_TYPE_TEXT(in->names, wanted),
                           TT_TYPE_TEXT(in->names, given));
    }
  }
  if (in->module && !callee->result_types) return tt_infer_fail(in, "callee @%s is not finished", name);
  for (uint32_t i = 0; i < callee->result_count; ++i) {
    TT_RETURN_IF_ERROR(tt_infer_emit(in, callee->result_types[i]));
  }
  return TT_OK_STATUS;
}

static tt_status_t infer_tuple(tt_infer_t* in) {
  const tt_type_t* few[16];
  const tt_type_t** types = few;
  uint32_t n = in->op->operand_count;
  if (!in->module) {
    in->open = true;  // compared element by element in tt_op_check
    return TT_OK_STATUS;
  }
  if (n > TT_ARRAY_LENGTH(few) && !(types = tt_arena_alloc_array(&in->module->arena, n, sizeof(*types)))) {
    return tt_infer_emit(in, NULL);
  }
  for (uint32_t i = 0; i < n; ++i) types[i] = tt_infer_type(in, i);
  return tt_infer_emit(in, tt_type_tuple(in->module, n, types));
}

static tt_status_t infer_tuple_element(tt_infer_t* in) {
  const tt_type_t* tuple = tt_infer_type(in, 0);
  int64_t index = tt_op_attr_int(in->op, TT_ATTR_INDEX, -1);
  if (tuple->kind != TT_TYPE_TUPLE || index < 0 || index >= (int64_t)tuple->element_count) {
    return tt_infer_fail(in, "index %lld is outside %s", (long long)index, TT_TYPE_TEXT(in->names, tuple));
  }
  return tt_infer_emit(in, tuple->elements[index]);
}

static tt_status_t infer_token(tt_infer_t* in) {
  if (in->module) return tt_infer_emit(in, tt_type_token(in->module));
  const tt_type_t token = {.kind = TT_TYPE_TOKEN, .dtype = TT_DTYPE_TOKEN};
  if (in->op->result_count == 1 && in->op->results[0].type->kind == TT_TYPE_TOKEN) {
    return tt_infer_emit(in, in->op->results[0].type);
  }
  return tt_infer_emit(in, &token);
}

tt_status_t tt_infer_index_op(tt_infer_t* in) {
  switch (in->op->kind) {
    case TT_OP_GATHER: return infer_gather(in);
    case TT_OP_DYNAMIC_GATHER:
      if (!in->module) return infer_gather(in);
      in->open = true;
      return TT_OK_STATUS;
    case TT_OP_SCATTER: return infer_scatter(in);
    case TT_OP_SORT: return infer_sort(in);
    case TT_OP_CHLO_TOP_K: return infer_top_k(in);
    case TT_OP_ALL_GATHER: case TT_OP_ALL_TO_ALL: case TT_OP_REDUCE_SCATTER: return infer_collective(in);
    case TT_OP_ALL_REDUCE: case TT_OP_COLLECTIVE_BROADCAST: case TT_OP_COLLECTIVE_PERMUTE: case TT_OP_WHILE:
    case TT_OP_OPTIMIZATION_BARRIER: return emit_operands(in);
    case TT_OP_TORCH_INDEX_SELECT: return infer_index_select(in);
    case TT_OP_FUNC_CALL: return infer_call(in);
    case TT_OP_TUPLE: return infer_tuple(in);
    case TT_OP_GET_TUPLE_ELEMENT: return infer_tuple_element(in);
    case TT_OP_AFTER_ALL: case TT_OP_OUTFEED: case TT_OP_SEND: return infer_token(in);
    case TT_OP_REPLICA_ID:
    case TT_OP_PARTITION_ID:
      return tt_infer_emit_shape(in, TT_DTYPE_U32, 0, NULL, NULL);
    case TT_OP_RETURN: case TT_OP_FUNC_RETURN: return TT_OK_STATUS;
    default:
      in->open = true;  // regions, shape operands or the outside decide
      return TT_OK_STATUS;
  }
}
