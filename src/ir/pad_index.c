// Padded dimensions of gather, scatter, sort and slices at run-time places.
#include "ir/pad_internal.h"

static const tt_value_t* result_of(const tt_op_t* op) { return &op->results[0]; }
static bool holds(tt_i64s_t list, int64_t value) {
  for (size_t i = 0; i < list.size; ++i)
    if (list.data[i] == value) return true;
  return false;
}

// ---- gather ------------------------------------------------------------------------------------
static const tt_gather_dims_t* gather_dims(const tt_op_t* op) {
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS);
  return attr && attr->kind == TT_AK_GATHER ? attr->gather : NULL;
}

// Calls `each` for the result's dimensions: offset dimensions with the operand's dimension, batch ones with the
// indices' dimension.
typedef void (*pair_fn_t)(tt_pad_t* p, const tt_op_t* op, bool is_offset, uint32_t result_dim,
                          uint32_t other_dim);
static void gather_pairs(tt_pad_t* p, const tt_op_t* op, const tt_gather_dims_t* dims, pair_fn_t each) {
  uint32_t window = 0, batch = 0, rank = op->operands[0]->type->rank;
  for (uint32_t d = 0; d < result_of(op)->type->rank; ++d) {
    if (holds(dims->offset_dims, d)) {
      while (window < rank &&
             (holds(dims->collapsed_slice_dims, window) || holds(dims->operand_batching_dims, window)))
        ++window;
      each(p, op, true, d, window++);
    } else {
      if (batch == (uint32_t)dims->index_vector_dim) ++batch;
      each(p, op, false, d, batch++);
    }
  }
}

static void relate_pair(tt_pad_t* p, const tt_op_t* op, bool is_offset, uint32_t d, uint32_t other) {
  tt_i64s_t sizes = tt_op_attr_i64s(op, TT_ATTR_SLICE_SIZES);
  if (!is_offset) tt_pad_unite(p, op->operands[1], other, result_of(op), d);
  else if (sizes.data[other] == op->operands[0]->type->dims[other])
    tt_pad_unite(p, op->operands[0], other, result_of(op), d);
}

void tt_pad_relate_gather(tt_pad_t* p, const tt_op_t* op) {
  const tt_gather_dims_t* dims = gather_dims(op);
  if (!dims) return;
  gather_pairs(p, op, dims, relate_pair);
  for (size_t i = 0; i < dims->operand_batching_dims.size; ++i)
    tt_pad_unite(p, op->operands[0], (uint32_t)dims->operand_batching_dims.data[i], op->operands[1],
                 (uint32_t)dims->start_indices_batching_dims.data[i]);
}

// Result dimensions that are slices of an operand's dimension, not all of it.
typedef struct windows_s {
  uint32_t partial;
} windows_t;
static uint32_t partial_windows(const tt_op_t* op, const tt_gather_dims_t* dims) {
  uint32_t mask = 0, window = 0, rank = op->operands[0]->type->rank;
  tt_i64s_t sizes = tt_op_attr_i64s(op, TT_ATTR_SLICE_SIZES);
  for (uint32_t d = 0; d < result_of(op)->type->rank; ++d) {
    if (!holds(dims->offset_dims, d)) continue;
    while (window < rank &&
           (holds(dims->collapsed_slice_dims, window) || holds(dims->operand_batching_dims, window)))
      ++window;
    if (sizes.data[window] != op->operands[0]->type->dims[window]) mask |= 1u << d;
    ++window;
  }
  return mask;
}

// Component k of `index` (vectors along `vector`; one past the rank: scalars) limited to [0, limit].
static tt_value_t* limit_component(tt_pad_t* p, tt_value_t* index, int64_t vector, size_t k, size_t count,
                                   tt_value_t* limit) {
  tt_builder_t* b = &p->clone.builder;
  if (!tt_builder_ok(b) || !index) return NULL;
  uint32_t rank = index->type->rank;
  const int64_t* dims = index->type->dims;
  tt_dtype_t dtype = index->type->dtype;
  tt_value_t* zero = tt_b_broadcast_to(b, tt_pad_zero(p, dtype), rank, dims);
  tt_value_t* top = tt_b_broadcast_to(b, tt_b_convert(b, limit, dtype), rank, dims);
  tt_value_t* limited = tt_b_clamp(b, zero, index, top);
  if (count == 1) return limited;
  tt_value_t* place = tt_b_iota(b, tt_b_type(b, TT_DTYPE_S32, rank, dims), vector);
  tt_value_t* mine = tt_b_compare(
      b, "EQ", place, tt_b_broadcast_to(b, tt_b_scalar_i64(b, TT_DTYPE_S32, (int64_t)k), rank, dims));
  return tt_b_select(b, mine, limited, index);
}

void tt_pad_emit_gather(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_gather_dims_t* dims = gather_dims(op);
  const tt_value_t *x = op->operands[0], *indices = op->operands[1], *y = result_of(op);
  tt_i64s_t slice = tt_op_attr_i64s(op, TT_ATTR_SLICE_SIZES);
  int64_t sizes[TT_MAX_RANK], result[TT_MAX_RANK];
  if (!dims) {
    tt_pad_emit_exact(p, op);
    return;
  }
  bool has_vector = dims->index_vector_dim < (int64_t)indices->type->rank;
  tt_value_t *operand = tt_pad_value(p, x),
             *index = tt_pad_exact(p, indices, has_vector ? 1u << dims->index_vector_dim : 0);
  for (uint32_t d = 0; d < x->type->rank; ++d) {
    bool whole = slice.data[d] == x->type->dims[d] && !holds(dims->collapsed_slice_dims, d) &&
                 !holds(dims->operand_batching_dims, d);
    sizes[d] = whole ? tt_pad_form_size(p, x, d) : slice.data[d];
  }
  for (size_t k = 0; k < dims->start_index_map.size; ++k) {
    uint32_t d = (uint32_t)dims->start_index_map.data[k];
    if (!tt_pad_grows(p, x, d) || sizes[d] == tt_pad_form_size(p, x, d)) continue;
    // gather moves a slice that would leave the operand: by the logical size
    tt_value_t* limit = tt_b_binary(b, TT_OP_SUBTRACT, tt_pad_extent(p, x, d),
                                    tt_b_scalar_i64(b, TT_DTYPE_S32, slice.data[d]));
    index = limit_component(p, index, dims->index_vector_dim, k, dims->start_index_map.size, limit);
  }
  uint32_t partial = partial_windows(op, dims);
  for (uint32_t d = 0; d < y->type->rank; ++d)
    result[d] = partial >> d & 1 ? y->type->dims[d] : tt_pad_form_size(p, y, d);
  if (!tt_builder_ok(b)) return;
  tt_value_t* operands[2] = {operand, index};
  const tt_type_t* type = tt_pad_type(p, y->type, y->type->rank, result);
  if (!type) return;
  tt_op_t* copy = tt_clone_op(&p->clone, op, operands, &type);
  if (!copy) return;
  memcpy((int64_t*)tt_op_attr_i64s(copy, TT_ATTR_SLICE_SIZES).data, sizes, x->type->rank * sizeof(*sizes));
  tt_pad_define(p, y, &copy->results[0]);
}

// ---- scatter -----------------------------------------------------------------------------------
static const tt_scatter_dims_t* scatter_dims(const tt_op_t* op) {
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_SCATTER_DIMENSION_NUMBERS);
  return attr && attr->kind == TT_AK_SCATTER ? attr->scatter : NULL;
}

// Operand dimension of each update dimension, or -1 - (indices' dimension).
static void update_map(const tt_op_t* op, const tt_scatter_dims_t* dims, const tt_value_t* update,
                       int64_t* out) {
  uint32_t window = 0, batch = 0, rank = op->operands[0]->type->rank;
  for (uint32_t d = 0; d < update->type->rank; ++d) {
    if (holds(dims->update_window_dims, d)) {
      while (window < rank &&
             (holds(dims->inserted_window_dims, window) || holds(dims->input_batching_dims, window)))
        ++window;
      out[d] = window++;
    } else {
      if (batch == (uint32_t)dims->index_vector_dim) ++batch;
      out[d] = -1 - (int64_t)batch++;
    }
  }
}

void tt_pad_relate_scatter(tt_pad_t* p, const tt_op_t* op) {
  const tt_scatter_dims_t* dims = scatter_dims(op);
  uint32_t inputs = op->result_count;
  int64_t map[TT_MAX_RANK];
  if (!dims || op->operand_count != 2 * inputs + 1) return;
  const tt_value_t* indices = op->operands[inputs];
  for (uint32_t i = 0; i < inputs; ++i) {
    const tt_value_t *x = op->operands[i], *update = op->operands[inputs + 1 + i];
    tt_pad_unite_all(p, x, &op->results[i]);
    tt_pad_unite_all(p, x, op->operands[0]);
    update_map(op, dims, update, map);
    for (uint32_t d = 0; d < update->type->rank; ++d) {
      if (map[d] >= 0) tt_pad_unite(p, x, (uint32_t)map[d], update, d);
      else tt_pad_unite(p, indices, (uint32_t)(-1 - map[d]), update, d);
    }
  }
  for (size_t i = 0; i < dims->input_batching_dims.size; ++i)
    tt_pad_unite(p, op->operands[0], (uint32_t)dims->input_batching_dims.data[i], indices,
                 (uint32_t)dims->scatter_indices_batching_dims.data[i]);
}

void tt_pad_emit_scatter(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_scatter_dims_t* dims = scatter_dims(op);
  uint32_t inputs = op->result_count;
  if (!dims || op->operand_count != 2 * inputs + 1) {
    tt_pad_emit_exact(p, op);
    return;
  }
  tt_value_t** operands = tt_pad_room(p, op->operand_count, sizeof(*operands));
  if (!operands) return;
  const tt_value_t* indices = op->operands[inputs];
  bool has_vector = dims->index_vector_dim < (int64_t)indices->type->rank;
  uint32_t vector = has_vector ? 1u << dims->index_vector_dim : 0;
  // updates of the padding hit no place
  tt_value_t* index = tt_pad_exact(p, indices, vector);
  uint32_t batch = tt_pad_mask(p, indices) & ~vector;
  if (batch) index = tt_pad_filled(p, indices, index, batch, tt_b_scalar_i64(b, indices->type->dtype, -1));
  for (uint32_t i = 0; i < inputs; ++i) {
    const tt_value_t *x = op->operands[i], *update = op->operands[inputs + 1 + i];
    int64_t map[TT_MAX_RANK];
    uint32_t exact = 0;
    update_map(op, dims, update, map);
    for (uint32_t d = 0; d < update->type->rank; ++d)
      if (map[d] >= 0 && update->type->dims[d] != x->type->dims[map[d]]) exact |= 1u << d;
    operands[i] = tt_pad_value(p, x);
    operands[inputs + 1 + i] = tt_pad_exact(p, update, exact);
  }
  operands[inputs] = index;
  tt_pad_copy(p, op, operands);
}

// ---- sort: padding behind everything ---------------------------------------------------------------
void tt_pad_relate_last(tt_pad_t* p, const tt_op_t* op) {
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    tt_pad_unite_all(p, op->operands[0], op->operands[i]);
    tt_pad_unite_all(p, op->operands[0], &op->results[i]);
  }
}

// The comparator with one more pair of arguments, "is padding": an element precedes padding.
static void emit_comparator(tt_pad_t* p, const tt_op_t* op, tt_op_t* sort) {
  tt_builder_t* b = &p->clone.builder;
  const tt_block_t* from = &op->regions[0].block;
  uint32_t count = from->arg_count;
  const tt_type_t** types = tt_pad_room(p, count + 2, sizeof(*types));
  if (!types) return;
  for (uint32_t i = 0; i < count; ++i) types[i] = tt_type_intern(b->module, from->args[i].type);
  types[count] = types[count + 1] = tt_b_type(b, TT_DTYPE_PRED, 0, NULL);
  tt_block_t* saved = tt_b_region_begin(b, sort, 0, count + 2, types);
  if (!tt_builder_ok(b)) return;
  for (uint32_t i = 0; i < count; ++i) p->clone.values[from->args[i].id] = tt_b_region_arg(sort, 0, i);
  tt_clone_block(&p->clone, from);
  if (!tt_builder_ok(b)) return;
  tt_op_t* end = b->block->last;
  tt_value_t *before = end->operands[0], *x = tt_b_region_arg(sort, 0, count),
             *y = tt_b_region_arg(sort, 0, count + 1);
  tt_op_unlink(end);
  tt_value_t* differ = tt_b_binary(b, TT_OP_XOR, x, y);
  tt_value_t* result = tt_b_select(b, differ, y, before);
  tt_b_region_end(b, saved, 1, &result);
}

void tt_pad_emit_last(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t* x = op->operands[0];
  uint32_t rank = x->type->rank, count = op->operand_count;
  int64_t dim = tt_op_attr_int(op, TT_ATTR_DIMENSION, rank ? rank - 1 : 0);
  if (dim < 0) dim += rank;
  tt_value_t** operands = tt_pad_room(p, count + 1u, sizeof(*operands));
  if (!operands) return;
  for (uint32_t i = 0; i < count; ++i) operands[i] = tt_pad_value(p, op->operands[i]);
  if (!rank || !tt_pad_grows(p, x, (uint32_t)dim)) {
    tt_pad_copy(p, op, operands);
    return;
  }
  int64_t dims[TT_MAX_RANK];
  tt_pad_form_dims(p, x, dims);
  tt_value_t* place = tt_b_iota(b, tt_b_type(b, TT_DTYPE_S32, rank, dims), dim);
  operands[count] =
      tt_b_compare(b, "GE", place, tt_b_broadcast_to(b, tt_pad_extent(p, x, (uint32_t)dim), rank, dims));
  const tt_type_t** types = tt_pad_room(p, count + 1u, sizeof(*types));
  if (!types) return;
  for (uint32_t i = 0; i < count; ++i) types[i] = tt_pad_form(p, &op->results[i]);
  types[count] = tt_b_type(b, TT_DTYPE_PRED, rank, dims);
  tt_attr_t attrs[2] = {tt_attr_int(TT_ATTR_DIMENSION, dim),
                        tt_attr_bool(TT_ATTR_IS_STABLE, tt_op_attr_bool(op, TT_ATTR_IS_STABLE, false))};
  if (!tt_builder_ok(b)) return;
  tt_op_t* sort = tt_b_op(b, TT_OP_SORT, count + 1, operands, 2, attrs, count + 1, types, 1);
  if (!sort) return;
  emit_comparator(p, op, sort);
  for (uint32_t i = 0; i < count; ++i) p->clone.values[op->results[i].id] = &sort->results[i];
}

// ---- slices at run-time places ---------------------------------------------------------------------
// 0-d start of dimension d as s32, limited so that `taken` logical places follow.
static tt_value_t* limited_start(tt_pad_t* p, const tt_value_t* x, uint32_t d, tt_value_t* start,
                                 int64_t taken) {
  tt_builder_t* b = &p->clone.builder;
  if (!tt_builder_ok(b) || !start) return NULL;
  tt_dtype_t dtype = start->type->dtype;
  tt_value_t* last = tt_pad_number(p, dtype, x->type->dims[d] - taken);
  return tt_b_clamp(b, tt_pad_zero(p, dtype), start, last);
}

void tt_pad_relate_dynamic_slice(tt_pad_t* p, const tt_op_t* op) {
  tt_pad_unite_all(p, op->operands[0], result_of(op));  // equal sizes: taken whole
}

void tt_pad_emit_dynamic_slice(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t *x = op->operands[0], *y = result_of(op);
  uint32_t rank = x->type->rank;
  tt_value_t** starts = tt_pad_room(p, rank, sizeof(*starts));
  int64_t sizes[TT_MAX_RANK];
  tt_value_t* value = tt_pad_value(p, x);
  for (uint32_t d = 0; starts && d < rank && tt_builder_ok(b); ++d) {
    starts[d] = tt_pad_value(p, op->operands[1 + d]);
    bool whole = x->type->dims[d] == y->type->dims[d];
    sizes[d] = tt_pad_form_size(p, y, d);
    if (whole) {
      if (sizes[d] != value->type->dims[d]) value = tt_pad_resize_dim(p, value, d, sizes[d]);
      continue;
    }
    if (!tt_pad_grows(p, x, d) && !tt_pad_grows(p, y, d)) continue;
    starts[d] = limited_start(p, x, d, starts[d], y->type->dims[d]);
    if (tt_pad_grows(p, y, d)) value = tt_pad_resize_dim(p, value, d, value->type->dims[d] + sizes[d]);
  }
  if (starts) tt_pad_define(p, y, tt_b_dynamic_slice(b, value, starts, sizes));
}

void tt_pad_relate_dynamic_update(tt_pad_t* p, const tt_op_t* op) {
  tt_pad_unite_all(p, op->operands[0], result_of(op));
  tt_pad_unite_all(p, op->operands[0], op->operands[1]);
}

void tt_pad_emit_dynamic_update(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t *x = op->operands[0], *update = op->operands[1], *y = result_of(op);
  uint32_t rank = x->type->rank, open = 0;
  tt_value_t** starts = tt_pad_room(p, rank, sizeof(*starts));
  int64_t sizes[TT_MAX_RANK], room[TT_MAX_RANK];
  tt_value_t *value = tt_pad_value(p, x), *piece = tt_pad_value(p, update);
  for (uint32_t d = 0; starts && d < rank && tt_builder_ok(b); ++d) {
    starts[d] = tt_pad_value(p, op->operands[2 + d]);
    sizes[d] = tt_pad_form_size(p, update, d);
    room[d] = tt_pad_form_size(p, x, d);
    if (x->type->dims[d] == update->type->dims[d]) continue;
    if (tt_pad_grows(p, x, d) || tt_pad_grows(p, update, d))
      starts[d] = limited_start(p, x, d, starts[d], update->type->dims[d]);
    if (!tt_pad_grows(p, update, d)) continue;
    open |= 1u << d;
    room[d] += sizes[d];
  }
  if (!starts || !tt_builder_ok(b)) return;
  if (open) {  // behind the update's elements the old ones stay
    value = tt_pad_resize(p, value, room);
    tt_value_t* old = tt_b_dynamic_slice(b, value, starts, sizes);
    for (uint32_t d = 0; d < rank && tt_builder_ok(b); ++d) {
      if (!(open >> d & 1)) continue;
      tt_value_t* place = tt_b_iota(b, tt_b_type(b, TT_DTYPE_S32, rank, sizes), d);
      tt_value_t* inside =
          tt_b_compare(b, "LT", place, tt_b_broadcast_to(b, tt_pad_extent(p, update, d), rank, sizes));
      piece = tt_b_select(b, inside, piece, old);
    }
  }
  tt_pad_define(p, y, tt_b_dynamic_update_slice(b, value, piece, starts));
}
