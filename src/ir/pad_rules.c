// Rules of padding.def: how each operation carries padded dimensions along.
#include "ir/pad_internal.h"

#include <math.h>

static const tt_value_t* result_of(const tt_op_t* op) { return &op->results[0]; }

static tt_value_t** operand_values(tt_pad_t* p, const tt_op_t* op) {
  tt_value_t** values = tt_pad_room(p, op->operand_count, sizeof(*values));
  for (uint32_t i = 0; values && i < op->operand_count; ++i) values[i] = tt_pad_value(p, op->operands[i]);
  return values;
}

// ---- exact -------------------------------------------------------------------------------------
typedef struct captures_s {
  tt_pad_t* p;
  const tt_op_t* op;
} captures_t;

static bool is_inside(const tt_region_t* region, const tt_value_t* v) {
  const tt_block_t* block = v->op ? v->op->block : v->block;
  for (; block; block = block->region->op ? block->region->op->block : NULL) {
    if (block->region == region) return true;
  }
  return false;
}

// Values that the op's regions take from around it, exact while the op is copied.
static void capture_exact(tt_pad_t* p, const tt_region_t* region, const tt_block_t* block) {
  for (const tt_op_t* op = block->first; op; op = op->next) {
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      const tt_value_t* v = op->operands[i];
      if (!is_inside(region, v) && tt_pad_mask(p, v)) p->clone.values[v->id] = tt_pad_exact(p, v, ~0u);
    }
    for (uint16_t r = 0; r < op->region_count; ++r) capture_exact(p, region, &op->regions[r].block);
  }
}

static void restore_captured(tt_pad_t* p, const tt_region_t* region, const tt_block_t* block) {
  for (const tt_op_t* op = block->first; op; op = op->next) {
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      const tt_value_t* v = op->operands[i];
      if (!is_inside(region, v) && tt_pad_mask(p, v)) tt_pad_define(p, v, p->clone.values[v->id]);
    }
    for (uint16_t r = 0; r < op->region_count; ++r) restore_captured(p, region, &op->regions[r].block);
  }
}

void tt_pad_emit_exact(tt_pad_t* p, const tt_op_t* op) {
  tt_value_t** operands = tt_pad_room(p, op->operand_count, sizeof(*operands));
  const tt_type_t** types = tt_pad_room(p, op->result_count, sizeof(*types));
  if (!operands || !types) return;
  for (uint32_t i = 0; i < op->operand_count; ++i) operands[i] = tt_pad_exact(p, op->operands[i], ~0u);
  for (uint32_t i = 0; i < op->result_count; ++i)
    types[i] = tt_pad_type(p, op->results[i].type, op->results[i].type->rank, op->results[i].type->dims);
  for (uint16_t r = 0; r < op->region_count; ++r) capture_exact(p, &op->regions[r], &op->regions[r].block);
  if (!tt_builder_ok(&p->clone.builder)) return;
  tt_clone_op(&p->clone, op, operands, types);
  for (uint16_t r = 0; r < op->region_count; ++r) restore_captured(p, &op->regions[r], &op->regions[r].block);
  for (uint32_t i = 0; i < op->result_count; ++i)
    tt_pad_define(p, &op->results[i], tt_pad_value(p, &op->results[i]));
}

// ---- same --------------------------------------------------------------------------------------
static void relate_same(tt_pad_t* p, const tt_op_t* op) {
  if (op->kind == TT_OP_OPTIMIZATION_BARRIER) {
    for (uint32_t i = 0; i < op->operand_count && i < op->result_count; ++i)
      tt_pad_unite_all(p, op->operands[i], &op->results[i]);
    return;
  }
  for (uint32_t i = 0; i < op->operand_count; ++i) tt_pad_unite_all(p, op->operands[i], result_of(op));
}
static void emit_same(tt_pad_t* p, const tt_op_t* op) {
  tt_value_t** operands = operand_values(p, op);
  if (operands) tt_pad_copy(p, op, operands);
}

// ---- bitcast: the narrower type may have one dimension more, which is exact ------------------------
static void relate_bitcast(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t *x = op->operands[0], *y = result_of(op);
  uint32_t rank = TT_MIN(x->type->rank, y->type->rank);
  for (uint32_t d = 0; d < rank; ++d) tt_pad_unite(p, x, d, y, d);
}
static void emit_bitcast(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t *x = op->operands[0], *y = result_of(op);
  if (x->type->rank == y->type->rank) {
    emit_same(p, op);
    return;
  }
  uint32_t rank = TT_MIN(x->type->rank, y->type->rank);
  tt_value_t* operand = tt_pad_exact(p, x, x->type->rank > rank ? 1u << rank : 0);
  int64_t dims[TT_MAX_RANK];
  tt_pad_form_dims(p, y, dims);
  if (y->type->rank > rank) dims[rank] = y->type->dims[rank];
  const tt_type_t* type = tt_pad_type(p, y->type, y->type->rank, dims);
  if (tt_builder_ok(&p->clone.builder)) tt_clone_op(&p->clone, op, &operand, &type);
  tt_pad_define(p, y, tt_pad_value(p, y));
}

// ---- create ------------------------------------------------------------------------------------
static void emit_create(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t* y = result_of(op);
  if (op->kind == TT_OP_IOTA) {
    tt_pad_copy(p, op, NULL);
    return;
  }
  const tt_attr_t* value = tt_op_attr(op, TT_ATTR_VALUE);
  if (!tt_pad_is_splat(op)) {
    tt_pad_emit_exact(p, op);
    return;
  }
  uint32_t at = p->constants++;
  tt_dtype_t dtype = value->dense.type->dtype;
  int64_t dims[TT_MAX_RANK];
  tt_pad_form_dims(p, y, dims);
  tt_value_t* made;
  if (p->request->hoisted && p->request->hoisted[at] && !y->type->quant)
    made = tt_b_broadcast_to(b, tt_pad_number_bytes(p, dtype, value->dense.data), y->type->rank, dims);
  else if (y->type->quant || !tt_pad_mask(p, y)) {
    tt_pad_emit_exact(p, op);
    return;
  } else made = tt_b_constant(b, tt_pad_form(p, y), value->dense.data, true);
  p->clone.values[y->id] = made;
}

// ---- reductions --------------------------------------------------------------------------------
static uint32_t dimension_mask(const tt_op_t* op) {
  tt_i64s_t list = tt_op_attr_i64s(op, TT_ATTR_DIMENSIONS);
  uint32_t mask = 0;
  for (size_t i = 0; i < list.size; ++i) mask |= 1u << list.data[i];
  return mask;
}

static void relate_fill(tt_pad_t* p, const tt_op_t* op) {
  uint32_t inputs = op->operand_count / 2, reduced = dimension_mask(op);
  for (uint32_t i = 0; i < inputs; ++i) {
    const tt_value_t* x = op->operands[i];
    tt_pad_unite_all(p, op->operands[0], x);
    uint32_t kept = 0;
    for (uint32_t d = 0; d < x->type->rank; ++d)
      if (!(reduced >> d & 1)) tt_pad_unite(p, x, d, &op->results[i], kept++);
  }
}

// The initial values are the identity, by StableHLO's own rule.
static void emit_fill(tt_pad_t* p, const tt_op_t* op) {
  tt_value_t** operands = operand_values(p, op);
  uint32_t inputs = op->operand_count / 2, reduced = dimension_mask(op);
  if (!operands) return;
  for (uint32_t i = 0; i < inputs; ++i)
    operands[i] = tt_pad_filled(p, op->operands[i], operands[i], reduced, operands[inputs + i]);
  tt_pad_copy(p, op, operands);
}

// ---- products ----------------------------------------------------------------------------------
static bool holds(tt_i64s_t list, int64_t value) {
  for (size_t i = 0; i < list.size; ++i)
    if (list.data[i] == value) return true;
  return false;
}

static const tt_dot_dims_t* dot_dims(const tt_op_t* op) {
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DOT_DIMENSION_NUMBERS);
  return attr && attr->kind == TT_AK_DOT ? attr->dot : NULL;
}

static void relate_product(tt_pad_t* p, const tt_op_t* op) {
  const tt_dot_dims_t* dims = dot_dims(op);
  const tt_value_t *x = op->operands[0], *y = op->operands[1], *z = result_of(op);
  if (!dims) return;
  for (size_t i = 0; i < dims->lhs_contracting.size; ++i)
    tt_pad_unite(p, x, (uint32_t)dims->lhs_contracting.data[i], y, (uint32_t)dims->rhs_contracting.data[i]);
  uint32_t at = 0;
  for (size_t i = 0; i < dims->lhs_batch.size; ++i, ++at) {
    tt_pad_unite(p, x, (uint32_t)dims->lhs_batch.data[i], z, at);
    tt_pad_unite(p, y, (uint32_t)dims->rhs_batch.data[i], z, at);
  }
  for (uint32_t d = 0; d < x->type->rank; ++d)
    if (!holds(dims->lhs_batch, d) && !holds(dims->lhs_contracting, d)) tt_pad_unite(p, x, d, z, at++);
  for (uint32_t d = 0; d < y->type->rank; ++d)
    if (!holds(dims->rhs_batch, d) && !holds(dims->rhs_contracting, d)) tt_pad_unite(p, y, d, z, at++);
}

static uint32_t mask_of(tt_i64s_t list) {
  uint32_t mask = 0;
  for (size_t i = 0; i < list.size; ++i) mask |= 1u << list.data[i];
  return mask;
}

// Both sides: what lies in the padding of one may be inf or NaN, and zero times that is none.
static void emit_product(tt_pad_t* p, const tt_op_t* op) {
  const tt_dot_dims_t* dims = dot_dims(op);
  if (!dims) {
    tt_pad_emit_exact(p, op);
    return;
  }
  tt_value_t* operands[2];
  for (uint32_t i = 0; i < 2; ++i) {
    const tt_value_t* v = op->operands[i];
    uint32_t mask = mask_of(i ? dims->rhs_contracting : dims->lhs_contracting) & tt_pad_mask(p, v);
    operands[i] = tt_pad_value(p, v);
    if (mask) operands[i] = tt_pad_filled(p, v, operands[i], mask, tt_pad_zero(p, v->type->dtype));
  }
  tt_pad_copy(p, op, operands);
}

// ---- triangular matrices: behind the end goes the identity ---------------------------------------------
static uint32_t last_two(const tt_value_t* v) { return v->type->rank < 2 ? 0 : 3u << (v->type->rank - 2); }

// v's square matrices as blocks diag(v, I).
static tt_value_t* with_identity(tt_pad_t* p, const tt_value_t* v) {
  tt_builder_t* b = &p->clone.builder;
  tt_value_t* x = tt_pad_value(p, v);
  uint32_t row = v->type->rank - 2, column = v->type->rank - 1;
  if (!tt_pad_grows(p, v, column) || !tt_builder_ok(b)) return x;
  x = tt_pad_filled(p, v, x, last_two(v), tt_pad_zero(p, v->type->dtype));
  if (!x) return NULL;
  size_t rank = x->type->rank;
  const tt_type_t* type = tt_b_type(b, TT_DTYPE_S32, rank, x->type->dims);
  tt_value_t *i = tt_b_iota(b, type, row), *j = tt_b_iota(b, type, column);
  tt_value_t* end = tt_b_broadcast_to(b, tt_pad_extent(p, v, column), rank, x->type->dims);
  tt_value_t* behind = tt_b_compare(b, "GE", i, end);
  tt_value_t* one = tt_b_scalar_i64(b, v->type->dtype, 1);
  return tt_b_select(b, tt_b_binary(b, TT_OP_AND, behind, tt_b_compare(b, "EQ", i, j)),
                     tt_b_broadcast_to(b, one, rank, x->type->dims), x);
}

static void relate_factor(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t* x = op->operands[0];
  if (x->type->rank >= 2) tt_pad_unite(p, x, x->type->rank - 2, x, x->type->rank - 1);
  tt_pad_unite_all(p, x, result_of(op));
}
static void emit_factor(tt_pad_t* p, const tt_op_t* op) {
  tt_value_t* operand = with_identity(p, op->operands[0]);
  tt_pad_copy(p, op, &operand);
}

static uint32_t solved_dim(const tt_op_t* op) {
  return op->operands[1]->type->rank - (tt_op_attr_bool(op, TT_ATTR_LEFT_SIDE, false) ? 2 : 1);
}
static void relate_solve(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t *a = op->operands[0], *x = op->operands[1];
  uint32_t rank = a->type->rank;
  if (rank < 2 || x->type->rank != rank) return;
  for (uint32_t d = 0; d + 2 < rank; ++d) tt_pad_unite(p, a, d, x, d);
  tt_pad_unite(p, a, rank - 2, a, rank - 1);
  tt_pad_unite(p, a, rank - 1, x, solved_dim(op));
  tt_pad_unite_all(p, x, result_of(op));
}
static void emit_solve(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t* x = op->operands[1];
  tt_value_t* operands[2] = {with_identity(p, op->operands[0]), tt_pad_value(p, x)};
  operands[1] = tt_pad_filled(p, x, operands[1], 1u << solved_dim(op), tt_pad_zero(p, x->type->dtype));
  tt_pad_copy(p, op, operands);
}

// ---- broadcast, transpose, reverse ---------------------------------------------------------------
static void relate_broadcast(tt_pad_t* p, const tt_op_t* op) {
  tt_i64s_t map = tt_op_attr_i64s(op, TT_ATTR_BROADCAST_DIMENSIONS);
  for (size_t k = 0; k < map.size; ++k)
    tt_pad_unite(p, op->operands[0], (uint32_t)k, result_of(op), (uint32_t)map.data[k]);
}
static void emit_broadcast(tt_pad_t* p, const tt_op_t* op) {
  tt_i64s_t map = tt_op_attr_i64s(op, TT_ATTR_BROADCAST_DIMENSIONS);
  const tt_value_t* x = op->operands[0];
  uint32_t stretched = 0;
  for (size_t k = 0; k < map.size; ++k)
    if (x->type->dims[k] != result_of(op)->type->dims[map.data[k]]) stretched |= 1u << k;
  tt_value_t* operand = tt_pad_exact(p, x, stretched);
  tt_pad_copy(p, op, &operand);
}

static void relate_transpose(tt_pad_t* p, const tt_op_t* op) {
  tt_i64s_t order = tt_op_attr_i64s(op, TT_ATTR_PERMUTATION);
  for (size_t i = 0; i < order.size; ++i)
    tt_pad_unite(p, op->operands[0], (uint32_t)order.data[i], result_of(op), (uint32_t)i);
}

static tt_value_t** zero_starts(tt_pad_t* p, uint32_t rank) {
  tt_value_t** starts = tt_pad_room(p, rank, sizeof(*starts));
  tt_value_t* zero = tt_pad_zero(p, TT_DTYPE_S32);
  for (uint32_t d = 0; starts && d < rank; ++d) starts[d] = zero;
  return starts;
}

// size places of x along d from `start` (0-d s32); x has them.
static tt_value_t* from_place(tt_pad_t* p, tt_value_t* x, uint32_t d, tt_value_t* start, int64_t size) {
  tt_builder_t* b = &p->clone.builder;
  if (!tt_builder_ok(b) || !x) return NULL;
  tt_value_t** starts = zero_starts(p, x->type->rank);
  if (!starts) return NULL;
  int64_t sizes[TT_MAX_RANK];
  memcpy(sizes, x->type->dims, x->type->rank * sizeof(*sizes));
  sizes[d] = size;
  starts[d] = start;
  return tt_b_dynamic_slice(b, x, starts, sizes);
}

// The elements end up behind the padding, and are moved to the front.
static void emit_reverse(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t* x = op->operands[0];
  uint32_t mask = dimension_mask(op) & tt_pad_mask(p, x);
  emit_same(p, op);
  tt_value_t* y = tt_pad_value(p, result_of(op));
  for (uint32_t d = 0; d < x->type->rank && tt_builder_ok(&p->clone.builder); ++d) {
    if (!(mask >> d & 1)) continue;
    int64_t size = tt_pad_form_size(p, x, d);
    tt_value_t* start =
        tt_b_binary(&p->clone.builder, TT_OP_SUBTRACT, tt_b_scalar_i64(&p->clone.builder, TT_DTYPE_S32, size),
                    tt_pad_extent(p, x, d));
    y = from_place(p, tt_pad_resize_dim(p, y, d, 2 * size), d, start, size);
  }
  p->clone.values[result_of(op)->id] = y;
}

// ---- slice -------------------------------------------------------------------------------------
typedef struct cut_s {
  int64_t start, limit, stride;
  bool whole;
} cut_t;
static cut_t cut_of(const tt_op_t* op, uint32_t d) {
  tt_i64s_t start = tt_op_attr_i64s(op, TT_ATTR_START_INDICES),
            limit = tt_op_attr_i64s(op, TT_ATTR_LIMIT_INDICES),
            strides = tt_op_attr_i64s(op, TT_ATTR_STRIDES);
  cut_t cut = {start.data[d], limit.data[d], strides.size ? strides.data[d] : 1, false};
  cut.whole = cut.start == 0 && cut.stride == 1 && cut.limit == op->operands[0]->type->dims[d];
  return cut;
}
// Most of a growing dimension grows with it (all but the first), a small part does not (the last).
static void relate_slice(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t *x = op->operands[0], *y = result_of(op);
  for (uint32_t d = 0; d < x->type->rank; ++d) {
    cut_t cut = cut_of(op, d);
    if (cut.whole) tt_pad_unite(p, x, d, y, d);
    else if (tt_pad_grows(p, x, d) && 2 * y->type->dims[d] * cut.stride > x->type->dims[d])
      tt_pad_grow(p, y, d);
  }
}

// Every stride-th place: through a reshape to (places, stride).
static tt_value_t* every(tt_pad_t* p, tt_value_t* x, uint32_t d, int64_t stride) {
  tt_builder_t* b = &p->clone.builder;
  int64_t start[TT_MAX_RANK] = {0}, limit[TT_MAX_RANK], strides[TT_MAX_RANK];
  if (!tt_builder_ok(b) || !x || stride == 1) return x;
  for (uint32_t i = 0; i < x->type->rank; ++i) {
    limit[i] = x->type->dims[i];
    strides[i] = i == d ? stride : 1;
  }
  return tt_b_slice(b, x, start, limit, strides);
}

static void emit_slice(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t *x = op->operands[0], *y = result_of(op);
  int64_t start[TT_MAX_RANK], limit[TT_MAX_RANK], strides[TT_MAX_RANK];
  tt_value_t* value = tt_pad_value(p, x);
  bool cuts = false;
  uint32_t moving = 0;
  for (uint32_t d = 0; d < x->type->rank; ++d) {
    cut_t cut = cut_of(op, d);
    bool grows = tt_pad_grows(p, x, d) || tt_pad_grows(p, y, d);
    start[d] = 0;
    limit[d] = tt_pad_form_size(p, x, d);
    strides[d] = 1;
    if (cut.whole) continue;
    if (grows) {
      moving |= 1u << d;
      continue;
    }
    start[d] = cut.start;
    limit[d] = cut.limit;
    strides[d] = cut.stride;
    cuts = true;
  }
  if (cuts) value = tt_b_slice(b, value, start, limit, strides);
  for (uint32_t d = 0; d < x->type->rank && tt_builder_ok(b) && value; ++d) {
    if (!(moving >> d & 1)) continue;
    cut_t cut = cut_of(op, d);
    int64_t wanted = tt_pad_form_size(p, y, d), span = (wanted - 1) * cut.stride + 1;
    if (wanted == 0) span = 0;
    if (cut.start == 0) {
      value = tt_pad_resize_dim(p, value, d, span);
    } else {
      // room behind: a place near the end would be moved otherwise
      if (tt_pad_grows(p, y, d)) value = tt_pad_resize_dim(p, value, d, value->type->dims[d] + span);
      value = from_place(p, value, d, tt_pad_number(p, TT_DTYPE_S32, cut.start), span);
    }
    value = every(p, value, d, cut.stride);
  }
  tt_pad_define(p, y, value);
}

// ---- edges -------------------------------------------------------------------------------------
typedef struct edge_s {
  int64_t low, high, interior;
} edge_t;
static edge_t edge_of(const tt_op_t* op, uint32_t d) {
  tt_i64s_t low = tt_op_attr_i64s(op, TT_ATTR_EDGE_PADDING_LOW),
            high = tt_op_attr_i64s(op, TT_ATTR_EDGE_PADDING_HIGH),
            interior = tt_op_attr_i64s(op, TT_ATTR_INTERIOR_PADDING);
  return (edge_t){low.size ? low.data[d] : 0, high.size ? high.data[d] : 0,
                  interior.size ? interior.data[d] : 0};
}
static void relate_edges(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t* x = op->operands[0];
  for (uint32_t d = 0; d < x->type->rank; ++d) {
    edge_t e = edge_of(op, d);
    if (!e.low && !e.high && !e.interior) tt_pad_unite(p, x, d, result_of(op), d);
    else if (tt_pad_grows(p, x, d)) tt_pad_grow(p, result_of(op), d);
  }
}
static void emit_edges(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t *x = op->operands[0], *y = result_of(op);
  int64_t low[TT_MAX_RANK], high[TT_MAX_RANK], interior[TT_MAX_RANK];
  tt_value_t *value = tt_pad_value(p, x), *fill = tt_pad_value(p, op->operands[1]);
  for (uint32_t d = 0; d < x->type->rank && value; ++d) {
    edge_t e = edge_of(op, d);
    low[d] = e.low;
    high[d] = e.high;
    interior[d] = e.interior;
    if (!tt_pad_grows(p, x, d) && !tt_pad_grows(p, y, d)) continue;
    bool changes = e.low || e.high || e.interior;
    if (changes && tt_pad_grows(p, x, d)) value = tt_pad_keep(p, value, d, tt_pad_extent(p, x, d), fill);
    int64_t from = value ? value->type->dims[d] : 0, spread = from ? (from - 1) * (e.interior + 1) + 1 : 0;
    high[d] = tt_pad_form_size(p, y, d) - e.low - spread;
  }
  tt_pad_define(p, y, tt_b_pad(b, value, fill, low, high, interior));
}

// ---- concatenate: pieces go to run-time places, each over the padding of the one before ---------------
static uint32_t joint_of(const tt_op_t* op) { return (uint32_t)tt_op_attr_int(op, TT_ATTR_DIMENSION, 0); }
static void relate_concatenate(tt_pad_t* p, const tt_op_t* op) {
  const tt_value_t* y = result_of(op);
  uint32_t joint = joint_of(op);
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    for (uint32_t d = 0; d < y->type->rank; ++d) {
      if (d != joint) tt_pad_unite(p, op->operands[i], d, y, d);
      else if (tt_pad_grows(p, op->operands[i], d)) tt_pad_grow(p, y, d);
    }
  }
}
static void emit_concatenate(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t* y = result_of(op);
  uint32_t joint = joint_of(op);
  if (!tt_pad_grows(p, y, joint)) {
    emit_same(p, op);
    return;
  }
  int64_t size = tt_pad_form_size(p, y, joint), room = size, at = 0;
  for (uint32_t i = 1; i < op->operand_count; ++i)
    if (tt_pad_grows(p, op->operands[i], joint))
      room = TT_MAX(room, size + tt_pad_form_size(p, op->operands[i], joint));
  tt_value_t* value = NULL;
  for (uint32_t i = 0; i < op->operand_count && tt_builder_ok(b); ++i) {
    tt_value_t* piece = tt_pad_value(p, op->operands[i]);
    if (i == 0) {
      value = tt_pad_resize_dim(p, piece, joint, room);
    } else if (piece->type->dims[joint]) {
      tt_value_t** starts = zero_starts(p, y->type->rank);
      if (!starts) return;
      starts[joint] = tt_pad_number(p, TT_DTYPE_S32, at);
      value = tt_b_dynamic_update_slice(b, value, piece, starts);
    }
    at += op->operands[i]->type->dims[joint];
  }
  tt_pad_define(p, y, value);
}

// ---- the rest ----------------------------------------------------------------------------------
static void emit_extent(tt_pad_t* p, const tt_op_t* op) {
  p->clone.values[result_of(op)->id] =
      tt_pad_extent(p, op->operands[0], (uint32_t)tt_op_attr_int(op, TT_ATTR_DIMENSION, 0));
}

static void relate_call(tt_pad_t* p, const tt_op_t* op) {
  const tt_func_t* callee = tt_pad_callee(p, op);
  if (!callee) return;
  const tt_block_t* block = &callee->body.block;
  for (uint32_t i = 0; i < op->operand_count; ++i) tt_pad_unite_all(p, op->operands[i], &block->args[i]);
  tt_pad_relate_block(p, block);
  for (uint32_t i = 0; i < op->result_count; ++i)
    tt_pad_unite_all(p, &op->results[i], block->last->operands[i]);
}
static void emit_call(tt_pad_t* p, const tt_op_t* op) {
  const tt_func_t* callee = tt_pad_callee(p, op);
  if (!callee) {
    tt_builder_fail(&p->clone.builder, TT_INTERNAL, "a call of a function that is not there");
    return;
  }
  const tt_block_t* block = &callee->body.block;
  for (uint32_t i = 0; i < op->operand_count; ++i)
    p->clone.values[block->args[i].id] = tt_pad_value(p, op->operands[i]);
  tt_pad_emit_block(p, block);
  for (uint32_t i = 0; i < op->result_count; ++i)
    p->clone.values[op->results[i].id] = tt_pad_value(p, block->last->operands[i]);
}

// Composites that are not replaced by their bodies before: scans and random words.
static bool is_named(const tt_op_t* op, const char* name) {
  return !strcmp(tt_op_attr_text(op, TT_ATTR_NAME), name);
}
static int64_t composite_int(const tt_op_t* op, tt_attr_name_t name) {
  const tt_attr_t* attr = tt_composite_attr(op, name);
  return !attr ? 0 : attr->kind == TT_AK_BOOL ? attr->b : attr->kind == TT_AK_INT ? attr->i : 0;
}
// Random word i belongs to element i in row-major order: a longer outermost dimension only adds words behind.
static uint32_t outermost(const tt_value_t* v) {
  for (uint32_t d = 0; d < v->type->rank; ++d)
    if (v->type->dims[d] != 1) return d;
  return v->type->rank;
}
static void relate_composite(tt_pad_t* p, const tt_op_t* op) {
  if (is_named(op, "tt.cumulative")) tt_pad_unite_all(p, op->operands[0], result_of(op));
}
static void emit_composite(tt_pad_t* p, const tt_op_t* op) {
  tt_builder_t* b = &p->clone.builder;
  const tt_value_t* y = result_of(op);
  if (is_named(op, "tt.rng") && tt_pad_mask(p, y) == 1u << outermost(y)) {
    emit_same(p, op);
    return;
  }
  if (!is_named(op, "tt.cumulative")) {
    tt_pad_emit_exact(p, op);
    return;
  }
  const tt_value_t* x = op->operands[0];
  tt_value_t* value = tt_pad_value(p, x);
  uint32_t axis = (uint32_t)composite_int(op, TT_ATTR_AXIS);
  if (composite_int(op, TT_ATTR_REVERSE) && tt_pad_grows(p, x, axis)) {
    const tt_attr_t* attr = tt_composite_attr(op, TT_ATTR_OP);
    const char* kind = attr && attr->text.data ? attr->text.data : "";
    tt_op_kind_t reducer = !strcmp(kind, "sum")    ? TT_OP_ADD
                           : !strcmp(kind, "prod") ? TT_OP_MULTIPLY
                           : !strcmp(kind, "min")  ? TT_OP_MINIMUM
                                                   : TT_OP_MAXIMUM;  // logsumexp: -inf too
    value = tt_pad_filled(p, x, value, 1u << axis, tt_b_identity(b, reducer, x->type->dtype));
  }
  tt_pad_copy(p, op, &value);
}

// ---- the table ---------------------------------------------------------------------------------
#define relate_create NULL
#define relate_extent NULL
#define relate_reverse relate_same
#define emit_transpose emit_same
#define relate_convolution tt_pad_relate_convolution
#define emit_convolution tt_pad_emit_convolution
#define relate_window tt_pad_relate_window
#define emit_window tt_pad_emit_window
#define relate_reshape tt_pad_relate_reshape
#define emit_reshape tt_pad_emit_reshape
#define relate_gather tt_pad_relate_gather
#define emit_gather tt_pad_emit_gather
#define relate_scatter tt_pad_relate_scatter
#define emit_scatter tt_pad_emit_scatter
#define relate_last tt_pad_relate_last
#define emit_last tt_pad_emit_last
#define relate_dynamic_slice tt_pad_relate_dynamic_slice
#define emit_dynamic_slice tt_pad_emit_dynamic_slice
#define relate_dynamic_update tt_pad_relate_dynamic_update
#define emit_dynamic_update tt_pad_emit_dynamic_update

const tt_pad_rule_t* tt_pad_rule(const tt_op_t* op) {
  static const tt_pad_rule_t rules[TT_OP_COUNT] = {
#define TT_PADDING(OP, rule) [TT_OP_##OP] = {relate_##rule, emit_##rule},
#include "ir/padding.def"
#undef TT_PADDING
  };
  static const tt_pad_rule_t same = {relate_same, emit_same}, exact = {NULL, tt_pad_emit_exact};
  if (rules[op->kind].emit) return &rules[op->kind];
  return tt_op_info(op->kind)->traits & TT_TRAIT_ELEMENTWISE ? &same : &exact;
}
