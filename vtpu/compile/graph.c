// Module -> nodes. One node per op that computes; calls, composites with a body and stablehlo.map disappear,
// tokens, barriers, tuples and reshapes of equal types become the same value, small constants fold.
#include "compile/internal.h"

#include <stdarg.h>
#include <string.h>

#include "ir/text.h"

enum { FOLD_ELEMS = 64, INLINE_DEPTH = 64 };

void* tc_fail(tc_t* c, tt_status_code_t code, const char* format, ...) {
  if (!tc_ok(c)) return NULL;
  va_list args;
  va_start(args, format);
  c->status = tt_status_create_va(code, format, args);
  va_end(args);
  return NULL;
}

void* tc_alloc(tc_t* c, size_t count, size_t size) {
  if (!tc_ok(c)) return NULL;
  void* block = tt_arena_alloc_array(&c->arena, count, size);
  if (!block) return tc_fail(c, TT_RESOURCE_EXHAUSTED, "out of memory while compiling");
  return block;
}

bool tc_push(tc_t* c, void** array, size_t* capacity, size_t count, size_t size) {
  if (count < *capacity) return tc_ok(c);
  size_t wanted = *capacity ? *capacity * 2 : 16;
  void* grown = tc_alloc(c, wanted, size);
  if (!grown) return false;
  if (count) memcpy(grown, *array, count * size);
  *array = grown;
  *capacity = wanted;
  return true;
}

void tc_row_strides(const int64_t* dims, uint32_t rank, int64_t* out_strides) {
  int64_t stride = 1;
  for (uint32_t d = rank; d-- > 0;) {
    out_strides[d] = stride;
    stride *= dims[d];
  }
}

static void* fail_op(tc_t* c, tt_status_code_t code, const tt_op_t* op, const char* what) {
  if (!tc_ok(c)) return NULL;
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_op_print(op, &text);
  tc_fail(c, code, "vtpu: %s: %s", what, tt_strbuf_text(&text));
  tt_strbuf_deinitialize(&text);
  return NULL;
}

// ---- values ------------------------------------------------------------------------------------
static bool set_type(tc_t* c, tc_value_t* value, const tt_type_t* type, const tt_op_t* op) {
  value->buffer = PD_NONE;
  if (type->kind == TT_TYPE_TOKEN) { value->dtype = TT_DTYPE_TOKEN; return true; }
  if (type->kind == TT_TYPE_TUPLE) { value->dtype = TT_DTYPE_INVALID; return true; }
  if (type->kind != TT_TYPE_TENSOR) { tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: a value has a function type"); return false; }
  value->dtype = type->dtype;
  value->rank = type->rank;
  value->dims = type->dims;
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (type->dims[d] < 0) {
      tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: dimension %u of %s is not static; specialise the program first", d,
              op ? tt_op_info(op->kind)->name : "an argument");
      return false;
    }
  }
  if (c->lifting) {                    // scalar code of a map, over its shape
    value->rank = c->lift_rank;
    value->dims = c->lift_dims;
  }
  if (!tt_checked_product(value->dims, value->rank, &value->elems) ||
      !tt_checked_mul_i64(value->elems, (int64_t)tt_dtype_bytes(value->dtype), &value->bytes)) {
    tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: a tensor's byte count overflows");
    return false;
  }
  return true;
}

static tc_value_t* get(tc_t* c, const tt_value_t* value) {
  tc_value_t* found = tc_ok(c) ? c->values[value->id] : NULL;
  if (!found && tc_ok(c)) tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: a value is used before its definition");
  return found;
}
static void set(tc_t* c, const tt_value_t* value, tc_value_t* to) {
  if (tc_ok(c)) c->values[value->id] = to;
}

static tc_node_t* node_add(tc_t* c, tc_block_t* block, tc_class_t cls, const tt_op_t* op, uint32_t in_count,
                           uint32_t out_count) {
  tc_node_t* node = TC_NEW(c, tc_node_t);
  if (!node) return NULL;
  node->cls = cls;
  node->op = op;
  node->kind = op ? op->kind : TT_OP_INVALID;
  node->in_count = in_count;
  node->out_count = out_count;
  node->in = in_count ? TC_ARRAY(c, tc_value_t*, in_count) : NULL;
  node->out = out_count ? TC_ARRAY(c, tc_value_t, out_count) : NULL;
  if (!tc_ok(c)) return NULL;
  node->block = block;
  node->id = ++c->next_id;
  node->prev = block->last;
  if (block->last) block->last->next = node; else block->first = node;
  block->last = node;
  for (uint32_t i = 0; i < out_count; ++i) {
    node->out[i].def = node;
    node->out[i].block = block;
    node->out[i].buffer = PD_NONE;
  }
  return node;
}

// A node for `op` with its operands and result types.
static tc_node_t* node_from_op(tc_t* c, tc_block_t* block, tc_class_t cls, const tt_op_t* op) {
  tc_node_t* node = node_add(c, block, cls, op, op->operand_count, op->result_count);
  if (!node) return NULL;
  for (uint32_t i = 0; i < op->operand_count; ++i) node->in[i] = get(c, op->operands[i]);
  for (uint32_t i = 0; i < op->result_count; ++i) {
    if (!set_type(c, &node->out[i], op->results[i].type, op)) return NULL;
    set(c, &op->results[i], &node->out[i]);
  }
  return tc_ok(c) ? node : NULL;
}

static void node_remove_last(tc_block_t* block) {
  tc_node_t* node = block->last;
  block->last = node->prev;
  if (node->prev) node->prev->next = NULL; else block->first = NULL;
}

static void make_constant(tc_node_t* node, const void* data, bool splat) {
  node->cls = TC_CONSTANT;
  node->out[0].data = data;
  node->out[0].splat = splat || node->out[0].elems == 1 || (node->op && tt_type_elems(node->op->results[0].type) == 1);
}

// ---- elementwise -------------------------------------------------------------------------------
static int compare_direction(const char* text) {
  static const char* const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  for (int i = 0; i < 6; ++i) if (strcmp(text, names[i]) == 0) return i;
  return -1;
}

static void set_lane(tc_node_t* node, pd_instr_op_t instr, pd_lane_class_t cls, uint32_t kind, tt_dtype_t dtype) {
  node->instr = (uint8_t)instr;
  node->lane = (pd_lane_t){.cls = (uint8_t)cls, .dtype = (uint8_t)dtype, .kind = kind};
}

bool tc_elementwise_describe(tc_t* c, const tt_op_t* op, tc_node_t* node) {
  tt_dtype_t dtype = op->operand_count ? op->operands[0]->type->dtype : TT_DTYPE_INVALID;
  const tt_op_info_t* info = tt_op_info(op->kind);
  bool found = true;
  switch (op->kind) {
    case TT_OP_COMPARE: {
      int direction = compare_direction(tt_op_attr_text(op, TT_ATTR_COMPARISON_DIRECTION));
      if (direction < 0) { fail_op(c, TT_INVALID_ARGUMENT, op, "unknown comparison direction"); return false; }
      set_lane(node, PD_I_BINARY, PD_LANE_COMPARE, (uint32_t)direction, dtype);
      node->lane.extra = strcmp(tt_op_attr_text(op, TT_ATTR_COMPARE_TYPE), "TOTALORDER") == 0;
      found = tt_k_compare((tt_k_compare_t)direction, dtype, node->lane.extra) != NULL;
      break;
    }
    case TT_OP_CONVERT:
      set_lane(node, PD_I_UNARY, PD_LANE_CONVERT, 0, dtype);
      node->lane.dtype2 = (uint8_t)op->results[0].type->dtype;
      node->cheap = true;
      found = tt_k_convert(dtype, op->results[0].type->dtype) != NULL;
      break;
    case TT_OP_SELECT:
      set_lane(node, PD_I_TERNARY, PD_LANE_SELECT, 0, TT_DTYPE_INVALID);
      node->lane.extra = (uint8_t)tt_dtype_bytes(op->results[0].type->dtype);
      found = tt_k_select(node->lane.extra) != NULL;
      break;
    case TT_OP_CLAMP:
      set_lane(node, PD_I_TERNARY, PD_LANE_CLAMP, 0, dtype);
      found = tt_k_clamp(dtype) != NULL;
      break;
    case TT_OP_REDUCE_PRECISION:
      node->instr = PD_I_RPREC;
      node->lane.dtype = (uint8_t)dtype;
      node->imm[0] = tt_op_attr_int(op, TT_ATTR_EXPONENT_BITS, 8);
      node->imm[1] = tt_op_attr_int(op, TT_ATTR_MANTISSA_BITS, 23);
      break;
    case TT_OP_UNIFORM_QUANTIZE: case TT_OP_UNIFORM_DEQUANTIZE:
      return false;
    default:
      if (!(info->traits & TT_TRAIT_ELEMENTWISE)) return false;
      if (op->operand_count == 1) {
        set_lane(node, PD_I_UNARY, PD_LANE_UNARY, (uint32_t)op->kind, dtype);
        found = tt_k_unary(op->kind, dtype) != NULL;
      } else if (op->operand_count == 2) {
        set_lane(node, PD_I_BINARY, PD_LANE_BINARY, (uint32_t)op->kind, dtype);
        found = tt_k_binary(op->kind, dtype) != NULL;
      } else {
        return false;
      }
  }
  if (!found) fail_op(c, TT_UNIMPLEMENTED, op, "no kernel for this dtype");
  return found && tc_ok(c);
}

void* tc_lane_resolve(pd_lane_t lane);   // plan.c

// All operands constant and small: compute now. True if `node` became a constant.
static bool fold_elementwise(tc_t* c, tc_node_t* node) {
  tc_value_t* out = &node->out[0];
  bool splat = true;
  if (node->instr == PD_I_RPREC || c->options.reference_kernels) return false;
  for (uint32_t i = 0; i < node->in_count; ++i) {
    if (!node->in[i]->data) return false;
    splat = splat && node->in[i]->splat;
  }
  int64_t n = splat ? 1 : out->elems;
  if (n > FOLD_ELEMS || out->elems == 0) return false;
  size_t esize = tt_dtype_bytes(out->dtype);
  const void* in[3] = {NULL, NULL, NULL};
  for (uint32_t i = 0; i < node->in_count; ++i) {
    tc_value_t* v = node->in[i];
    in[i] = v->data;
    if (v->splat && n > 1) {
      size_t bytes = tt_dtype_bytes(v->dtype);
      char* wide = tc_alloc(c, (size_t)n + 64, bytes);
      if (!wide) return false;
      for (int64_t k = 0; k < n; ++k) memcpy(wide + (size_t)k * bytes, v->data, bytes);
      in[i] = wide;
    }
  }
  void* fn = tc_lane_resolve(node->lane);
  char* data = tc_alloc(c, (size_t)n * esize + 64, 1);
  if (!fn || !data) return false;
  if (node->instr == PD_I_UNARY) ((tt_k_unary_fn_t)fn)(data, in[0], (size_t)n);
  else if (node->instr == PD_I_BINARY) ((tt_k_binary_fn_t)fn)(data, in[0], in[1], (size_t)n);
  else ((tt_k_ternary_fn_t)fn)(data, in[0], in[1], in[2], (size_t)n);
  make_constant(node, data, splat);
  node->in_count = 0;
  return true;
}

// The same computation earlier in this block: reuse it (a small direct-mapped table, not exhaustive).
static bool same_attrs(const tt_op_t* a, const tt_op_t* b) {
  if (a->attr_count != b->attr_count) return false;
  for (uint32_t i = 0; i < a->attr_count; ++i) {
    const tt_attr_t *x = &a->attrs[i], *y = &b->attrs[i];
    if (x->name != y->name || x->kind != y->kind || x->dtype != y->dtype || x->name == TT_ATTR_OTHER) return false;
    switch (x->kind) {
      case TT_AK_UNIT: break;
      case TT_AK_BOOL: if (x->b != y->b) return false; break;
      case TT_AK_INT: if (x->i != y->i) return false; break;
      case TT_AK_STRING: case TT_AK_ENUM:
        if (x->text.size != y->text.size || memcmp(x->text.data, y->text.data, x->text.size) != 0) return false;
        break;
      case TT_AK_I64S:
        if (x->i64s.size != y->i64s.size ||
            (x->i64s.size && memcmp(x->i64s.data, y->i64s.data, x->i64s.size * sizeof(int64_t)) != 0)) return false;
        break;
      case TT_AK_DENSE:
        if (x->dense.data != y->dense.data || x->dense.is_splat != y->dense.is_splat) return false;
        break;
      default: return false;
    }
  }
  return true;
}

static bool reuse_equal(tc_t* c, tc_block_t* block, tc_node_t* node) {
  if (c->options.reference_kernels || c->lifting) return false;
  uint64_t hash = (uint64_t)node->kind * 0x9e3779b97f4a7c15ull;
  for (uint32_t i = 0; i < node->in_count; ++i) hash = (hash ^ (uintptr_t)node->in[i]) * 0xff51afd7ed558ccdull;
  tc_node_t** slot = &c->cse[(hash >> 40) % TT_ARRAY_LENGTH(c->cse)];
  tc_node_t* other = *slot;
  if (other && other != node && other->kind == node->kind && other->block == block && other->in_count == node->in_count &&
      other->out_count == 1 && other->op && node->op && other->op->results[0].type == node->op->results[0].type &&
      (node->in_count == 0 || memcmp(other->in, node->in, node->in_count * sizeof(tc_value_t*)) == 0) && same_attrs(other->op, node->op)) {
    set(c, &node->op->results[0], &other->out[0]);
    node_remove_last(block);
    return true;
  }
  *slot = node;
  return false;
}

// ---- ops ---------------------------------------------------------------------------------------
// Enclosing values that regions of `op` read.
static bool defined_inside(const tt_value_t* v, const tt_op_t* op) {
  const tt_block_t* block = v->op ? v->op->block : v->block;
  while (block && block->region && block->region->op) {
    if (block->region->op == op) return true;
    block = block->region->op->block;
  }
  return false;
}
static void find_captures(tc_t* c, tc_node_t* node, const tt_block_t* block, size_t* capacity) {
  for (const tt_op_t* op = block->first; op && tc_ok(c); op = op->next) {
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      const tt_value_t* v = op->operands[i];
      if (defined_inside(v, node->op)) continue;
      bool known = false;
      for (uint32_t k = 0; k < node->capture_count; ++k) known = known || node->capture_from[k] == v;
      size_t twin = *capacity;
      if (known || !tc_push(c, (void**)&node->captures, &twin, node->capture_count, sizeof(tc_value_t*)) ||
          !tc_push(c, (void**)&node->capture_from, capacity, node->capture_count, sizeof(tt_value_t*))) continue;
      node->captures[node->capture_count] = get(c, v);
      node->capture_from[node->capture_count++] = v;
    }
    for (uint32_t i = 0; i < op->region_count; ++i) find_captures(c, node, &op->regions[i].block, capacity);
  }
}
static void capture(tc_t* c, tc_node_t* node) {
  size_t capacity = 0;
  for (uint32_t i = 0; node && i < node->op->region_count; ++i) find_captures(c, node, &node->op->regions[i].block, &capacity);
}

static void build_block(tc_t* c, tc_block_t* block, const tt_block_t* from);
static void build_op(tc_t* c, tc_block_t* block, const tt_op_t* op);

static void alias(tc_t* c, const tt_op_t* op, uint32_t result, tc_value_t* value) { set(c, &op->results[result], value); }

// Views: out coordinate -> element of the operand.
static void build_view(tc_t* c, tc_block_t* block, const tt_op_t* op) {
  tc_value_t* in = get(c, op->operands[0]);
  if (!in) return;
  if (op->results[0].type == op->operands[0]->type && op->kind != TT_OP_SLICE && op->kind != TT_OP_REVERSE &&
      op->kind != TT_OP_TRANSPOSE) {
    alias(c, op, 0, in);               // same shape: nothing moves
    return;
  }
  bool reshape = op->kind == TT_OP_RESHAPE || op->kind == TT_OP_DYNAMIC_RESHAPE || op->kind == TT_OP_BITCAST_CONVERT;
  tc_node_t* node = node_from_op(c, block, reshape ? TC_RESHAPE : TC_VIEW, op);
  if (!node) return;
  node->in_count = 1;                  // shape operands of dynamic forms are dead
  node->in[0] = in;
  tc_value_t* out = &node->out[0];
  node->cheap = true;
  if (reshape && op->kind != TT_OP_BITCAST_CONVERT && in->elems != out->elems) {
    fail_op(c, TT_INVALID_ARGUMENT, op, "reshape changes the element count");
    return;
  }
  // A bitcast of a splat is one only if the elements stay as wide; else it is laid out in memory first.
  bool same_width = tt_dtype_bytes(in->dtype) == tt_dtype_bytes(out->dtype);
  if (in->data && in->splat && same_width) { make_constant(node, in->data, true); node->in_count = 0; return; }
  if (reshape) {
    if (in->data && !in->splat && in->bytes == out->bytes && !c->options.reference_kernels) { make_constant(node, in->data, false); node->in_count = 0; }
    else if (op->kind == TT_OP_BITCAST_CONVERT && in->bytes != out->bytes) fail_op(c, TT_INVALID_ARGUMENT, op, "sizes differ");
    return;
  }
  int64_t* weights = TC_ARRAY(c, int64_t, out->rank + 1);
  if (!weights) return;
  node->weights = weights;
  int64_t rows[TT_MAX_RANK];
  tc_row_strides(in->dims, in->rank, rows);
  switch (op->kind) {
    case TT_OP_BROADCAST:
      for (uint32_t d = 0; d < in->rank; ++d) weights[out->rank - in->rank + d] = rows[d];
      break;
    case TT_OP_BROADCAST_IN_DIM: case TT_OP_DYNAMIC_BROADCAST_IN_DIM: {
      tt_i64s_t dims = tt_op_attr_i64s(op, TT_ATTR_BROADCAST_DIMENSIONS);
      for (uint32_t d = 0; d < in->rank && d < dims.size; ++d) {
        if (in->dims[d] != 1) weights[dims.data[d]] = rows[d];
      }
      break;
    }
    case TT_OP_TRANSPOSE: {
      tt_i64s_t perm = tt_op_attr_i64s(op, TT_ATTR_PERMUTATION);
      for (uint32_t d = 0; d < out->rank && d < perm.size; ++d) weights[d] = rows[perm.data[d]];
      break;
    }
    case TT_OP_SLICE: {
      tt_i64s_t start = tt_op_attr_i64s(op, TT_ATTR_START_INDICES), strides = tt_op_attr_i64s(op, TT_ATTR_STRIDES);
      for (uint32_t d = 0; d < out->rank; ++d) {
        node->base += start.data[d] * rows[d];
        weights[d] = rows[d] * (d < strides.size ? strides.data[d] : 1);
      }
      break;
    }
    case TT_OP_REVERSE: {
      tt_i64s_t dims = tt_op_attr_i64s(op, TT_ATTR_DIMENSIONS);
      for (uint32_t d = 0; d < out->rank; ++d) weights[d] = rows[d];
      for (size_t k = 0; k < dims.size; ++k) {
        int64_t d = dims.data[k];
        node->base += (in->dims[d] - 1) * rows[d];
        weights[d] = -rows[d];
      }
      if (out->elems == 0) node->base = 0;
      break;
    }
    default: break;
  }
  (void)reuse_equal(c, block, node);
}

static void build_strided(tc_t* c, tc_block_t* block, const tt_op_t* op, bool write) {
  const tt_attr_t* strides = tt_composite_attr(op, TT_ATTR_STRIDES);
  const tt_attr_t* offset = tt_composite_attr(op, TT_ATTR_OFFSET);
  if (!strides || strides->kind != TT_AK_I64S || !offset || offset->kind != TT_AK_INT ||
      op->operand_count != (write ? 2u : 1u) || op->result_count != 1) {
    fail_op(c, TT_INVALID_ARGUMENT, op, "needs operands, strides and offset as composites.def says");
    return;
  }
  tc_node_t* node = node_from_op(c, block, write ? TC_STRIDED_WRITE : TC_STRIDED_READ, op);
  if (!node) return;
  tc_value_t* base = node->in[0];
  tc_value_t* shape = write ? node->in[1] : &node->out[0];
  node->cheap = true;
  node->weights = TC_ARRAY(c, int64_t, shape->rank + 1);
  if (!node->weights) return;
  if (strides->i64s.size != shape->rank) { fail_op(c, TT_INVALID_ARGUMENT, op, "one stride a dimension expected"); return; }
  node->base = offset->i;
  int64_t lo = offset->i, hi = offset->i, capacity = base->bytes / (int64_t)tt_dtype_bytes(shape->dtype);
  bool bad = false;
  for (uint32_t d = 0; d < shape->rank; ++d) {
    int64_t span;
    node->weights[d] = strides->i64s.data[d];
    if (shape->dims[d] == 0) continue;
    bad = bad || !tt_checked_mul_i64(shape->dims[d] - 1, strides->i64s.data[d], &span) ||
          __builtin_add_overflow(span < 0 ? lo : hi, span, span < 0 ? &lo : &hi);
  }
  if (bad || (shape->elems && (lo < 0 || hi >= capacity))) {
    tc_fail(c, TT_OUT_OF_RANGE, "vtpu: %s reaches elements %lld..%lld of a base that holds %lld",
            write ? "tt.strided_write" : "tt.strided_read", (long long)lo, (long long)hi, (long long)capacity);
  }
}

static tc_block_t* block_new(tc_t* c, tc_block_t* parent, tc_node_t* owner) {
  tc_block_t* block = TC_NEW(c, tc_block_t);
  if (!block) return NULL;
  block->parent = parent;
  block->owner = owner;
  block->depth = parent ? parent->depth + 1 : 0;
  if (block->depth >= PD_MAX_DEPTH - 2) return tc_fail(c, TT_UNIMPLEMENTED, "vtpu: control flow is nested deeper than %u", PD_MAX_DEPTH - 2);
  if (!tc_push(c, (void**)&c->block_list, &c->block_capacity, c->blocks, sizeof(tc_block_t*))) return NULL;
  block->number = c->blocks;
  c->block_list[c->blocks++] = block;
  return block;
}

static tc_block_t* build_region(tc_t* c, tc_block_t* parent, tc_node_t* owner, const tt_region_t* region) {
  tc_block_t* block = block_new(c, parent, owner);
  if (!block) return NULL;
  const tt_block_t* from = &region->block;
  block->arg_count = from->arg_count;
  block->args = TC_ARRAY(c, tc_value_t*, from->arg_count + 1);
  for (uint32_t i = 0; tc_ok(c) && i < from->arg_count; ++i) {
    tc_value_t* arg = TC_NEW(c, tc_value_t);
    if (!arg || !set_type(c, arg, from->args[i].type, NULL)) return NULL;
    arg->block = block;
    block->args[i] = arg;
    set(c, &from->args[i], arg);
  }
  tc_node_t* saved[TT_ARRAY_LENGTH(c->cse)];
  memcpy(saved, c->cse, sizeof saved);
  build_block(c, block, from);
  memcpy(c->cse, saved, sizeof saved);
  return tc_ok(c) ? block : NULL;
}

static void build_control(tc_t* c, tc_block_t* block, const tt_op_t* op) {
  tc_node_t* node = node_from_op(c, block, op->kind == TT_OP_WHILE ? TC_WHILE : TC_CASE, op);
  if (!node) return;
  node->block_count = op->region_count;
  node->blocks = TC_ARRAY(c, tc_block_t*, op->region_count + 1);
  for (uint32_t i = 0; tc_ok(c) && i < op->region_count; ++i) {
    node->blocks[i] = build_region(c, block, node, &op->regions[i]);
    if (!node->blocks[i]) return;
    node->effect = node->effect || node->blocks[i]->effect;
  }
  block->effect = block->effect || node->effect;
}

// The body of `func` in place of `op`.
static void inline_func(tc_t* c, tc_block_t* block, const tt_op_t* op, const tt_func_t* func) {
  if (!func) { fail_op(c, TT_INVALID_ARGUMENT, op, "calls a function that the module lacks"); return; }
  if (func->body.block.arg_count != op->operand_count) { fail_op(c, TT_INVALID_ARGUMENT, op, "argument count differs"); return; }
  if (c->depth >= INLINE_DEPTH) { fail_op(c, TT_INVALID_ARGUMENT, op, "calls are nested deeper than 64 (recursion?)"); return; }
  ++c->depth;
  const tt_block_t* body = &func->body.block;
  for (uint32_t i = 0; i < op->operand_count; ++i) set(c, &body->args[i], get(c, op->operands[i]));
  for (const tt_op_t* inner = body->first; inner && tc_ok(c); inner = inner->next) {
    if (inner->kind != TT_OP_FUNC_RETURN) { build_op(c, block, inner); continue; }
    for (uint32_t i = 0; i < op->result_count && i < inner->operand_count; ++i) alias(c, op, i, get(c, inner->operands[i]));
  }
  --c->depth;
}

static void build_map(tc_t* c, tc_block_t* block, const tt_op_t* op) {
  const tt_block_t* body = &op->regions[0].block;
  const tt_type_t* type = op->results[0].type;
  if (c->lifting) { fail_op(c, TT_UNIMPLEMENTED, op, "nested map"); return; }
  for (uint32_t i = 0; i < body->arg_count && i < op->operand_count; ++i) set(c, &body->args[i], get(c, op->operands[i]));
  c->lifting = true;
  c->lift_dims = type->dims;
  c->lift_rank = type->rank;
  for (const tt_op_t* inner = body->first; inner && tc_ok(c); inner = inner->next) {
    if (inner->kind == TT_OP_RETURN) alias(c, op, 0, get(c, inner->operands[0]));
    else build_op(c, block, inner);
  }
  c->lifting = false;
}

static bool is_identity_call(const char* target) {
  static const char* const names[] = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
                                      "xla.sdy.FuncResultSharding", "LayoutConstraint"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(names); ++i) if (strcmp(target, names[i]) == 0) return true;
  return false;
}

static void build_kernel_op(tc_t* c, tc_block_t* block, const tt_op_t* op) {
  const tt_k_op_t* kernel = tt_k_op_find(op, NULL, NULL);
  if (!kernel) { fail_op(c, TT_UNIMPLEMENTED, op, "this op is not supported"); return; }
  if (c->options.reference_kernels) {      // the reference stands last for its op
    for (const tt_k_op_t* const* table = tt_k_op_tables(); *table; ++table) {
      for (const tt_k_op_t* k = *table; k->name; ++k) {
        const char* why = NULL;
        if (k->kind == op->kind && k->isa <= kernel->isa && (!k->target || (kernel->target && strcmp(k->target, kernel->target) == 0)) &&
            k->isa == TT_ISA_GENERIC && (!k->supports || k->supports(op, &why))) kernel = k;
      }
    }
  }
  tc_node_t* node = node_from_op(c, block, TC_OP, op);
  if (!node) return;
  node->kernel = kernel;
  for (uint32_t i = 1; i < node->in_count && i < 32; ++i) {   // not read: operand 0 stands in, so nothing is computed for it
    if (kernel->unused_operands >> i & 1) node->in[i] = node->in[0];
  }
  capture(c, node);
  node->effect = (tt_op_info(op->kind)->traits & TT_TRAIT_SIDE_EFFECT) != 0 && op->kind != TT_OP_RNG;
  if (op->kind == TT_OP_CUSTOM_CALL) node->effect = tt_op_attr_bool(op, TT_ATTR_HAS_SIDE_EFFECT, false);
  block->effect = block->effect || node->effect;
}

static bool has_quantised(const tt_op_t* op) {
  for (uint32_t i = 0; i < op->operand_count; ++i) if (op->operands[i]->type->quant) return true;
  for (uint32_t i = 0; i < op->result_count; ++i) if (op->results[i].type->quant) return true;
  return false;
}

// Ops that are not computed but bound: nothing for a reference kernel to do.
static bool is_structural(tt_op_kind_t kind) {
  switch (kind) {
    case TT_OP_CONSTANT: case TT_OP_WHILE: case TT_OP_IF: case TT_OP_CASE: case TT_OP_MAP: case TT_OP_FUNC_CALL:
    case TT_OP_COMPOSITE: case TT_OP_CUSTOM_CALL: case TT_OP_OPTIMIZATION_BARRIER: case TT_OP_AFTER_ALL: case TT_OP_TUPLE:
    case TT_OP_GET_TUPLE_ELEMENT: case TT_OP_GET_DIMENSION_SIZE: case TT_OP_SET_DIMENSION_SIZE: case TT_OP_REPLICA_ID:
    case TT_OP_PARTITION_ID: case TT_OP_RETURN: case TT_OP_FUNC_RETURN: return true;
    default: return false;
  }
}

static void build_op(tc_t* c, tc_block_t* block, const tt_op_t* op) {
  tc_node_t* node;
  if ((has_quantised(op) || (c->options.reference_kernels && !c->lifting)) && !is_structural(op->kind) &&
      tt_k_op_find(op, NULL, NULL)) {
    build_kernel_op(c, block, op);
    return;
  }
  switch (op->kind) {
    case TT_OP_CONSTANT: {
      const tt_attr_t* value = tt_op_attr(op, TT_ATTR_VALUE);
      if (!value || value->kind != TT_AK_DENSE) { fail_op(c, TT_INVALID_ARGUMENT, op, "has no dense value"); return; }
      node = node_from_op(c, block, TC_CONSTANT, op);
      if (!node) return;
      make_constant(node, value->dense.data, value->dense.is_splat);
      (void)reuse_equal(c, block, node);
      return;
    }
    case TT_OP_IOTA: case TT_OP_DYNAMIC_IOTA:
      node = node_from_op(c, block, TC_IOTA, op);
      if (!node) return;
      node->in_count = 0;
      node->dim = tt_op_attr_int(op, TT_ATTR_IOTA_DIMENSION, 0);
      node->cheap = true;
      return;
    case TT_OP_RESHAPE: case TT_OP_DYNAMIC_RESHAPE: case TT_OP_BITCAST_CONVERT: case TT_OP_BROADCAST:
    case TT_OP_BROADCAST_IN_DIM: case TT_OP_DYNAMIC_BROADCAST_IN_DIM: case TT_OP_TRANSPOSE: case TT_OP_SLICE:
    case TT_OP_REVERSE:
      build_view(c, block, op);
      return;
    case TT_OP_CONCATENATE:
      if (op->operand_count == 1) { alias(c, op, 0, get(c, op->operands[0])); return; }
      node = node_from_op(c, block, TC_CONCAT, op);
      if (node) node->dim = tt_op_attr_int(op, TT_ATTR_DIMENSION, 0);
      return;
    case TT_OP_PAD:
      node = node_from_op(c, block, TC_PAD, op);
      return;
    case TT_OP_REDUCE: {
      const tt_k_op_t* kernel = tt_k_op_find(op, NULL, NULL);
      if (kernel && kernel->replaces_loop) { build_kernel_op(c, block, op); return; }
      node = node_from_op(c, block, TC_REDUCE, op);
      capture(c, node);
      return;
    }
    case TT_OP_WHILE: case TT_OP_IF: case TT_OP_CASE:
      build_control(c, block, op);
      return;
    case TT_OP_MAP:
      build_map(c, block, op);
      return;
    case TT_OP_FUNC_CALL:
      inline_func(c, block, op, tt_module_find_func(c->module, tt_op_attr_text(op, TT_ATTR_CALLEE)));
      return;
    case TT_OP_COMPOSITE: {
      const char* name = tt_op_attr_text(op, TT_ATTR_NAME);
      if (strcmp(name, "tt.strided_read") == 0) { build_strided(c, block, op, false); return; }
      if (strcmp(name, "tt.strided_write") == 0) { build_strided(c, block, op, true); return; }
      const char* body = tt_op_attr_text(op, TT_ATTR_DECOMPOSITION);
      const tt_func_t* func = body[0] ? tt_module_find_func(c->module, body) : NULL;
      if (func && (c->options.reference_kernels || !tt_k_op_find(op, NULL, NULL))) inline_func(c, block, op, func);
      else build_kernel_op(c, block, op);
      return;
    }
    case TT_OP_CUSTOM_CALL: {
      const char* target = tt_op_attr_text(op, TT_ATTR_CALL_TARGET_NAME);
      if (strcmp(target, "tt.check") == 0) {
        node = node_from_op(c, block, TC_CHECK, op);
        if (!node) return;
        if (node->in_count == 0 || node->in[0]->dtype != TT_DTYPE_PRED || node->in[0]->elems != 1) {
          fail_op(c, TT_INVALID_ARGUMENT, op, "wants one i1 [] first");
          return;
        }
        node->effect = block->effect = true;
        c->can_fail = true;
        return;
      }
      if (is_identity_call(target) && op->operand_count == 1 && op->result_count == 1 &&
          op->results[0].type == op->operands[0]->type) {
        alias(c, op, 0, get(c, op->operands[0]));
        return;
      }
      build_kernel_op(c, block, op);
      return;
    }
    case TT_OP_OPTIMIZATION_BARRIER:
      for (uint32_t i = 0; i < op->operand_count; ++i) alias(c, op, i, get(c, op->operands[i]));
      return;
    case TT_OP_AFTER_ALL: {
      tc_value_t* token = TC_NEW(c, tc_value_t);
      if (token && set_type(c, token, op->results[0].type, op)) { token->block = block; alias(c, op, 0, token); }
      return;
    }
    case TT_OP_TUPLE: {
      tc_value_t* tuple = TC_NEW(c, tc_value_t);
      if (!tuple || !set_type(c, tuple, op->results[0].type, op)) return;
      tuple->tuple = TC_ARRAY(c, tc_value_t*, op->operand_count + 1);
      for (uint32_t i = 0; tc_ok(c) && i < op->operand_count; ++i) tuple->tuple[i] = get(c, op->operands[i]);
      alias(c, op, 0, tuple);
      return;
    }
    case TT_OP_GET_TUPLE_ELEMENT: {
      tc_value_t* tuple = get(c, op->operands[0]);
      if (tuple && !tuple->tuple) { fail_op(c, TT_UNIMPLEMENTED, op, "this tuple does not come from stablehlo.tuple"); return; }
      if (tuple) alias(c, op, 0, tuple->tuple[tt_op_attr_int(op, TT_ATTR_INDEX, 0)]);
      return;
    }
    case TT_OP_GET_DIMENSION_SIZE: {
      tc_value_t* in = get(c, op->operands[0]);
      node = node_from_op(c, block, TC_CONSTANT, op);
      int32_t* size = TC_ARRAY(c, int32_t, 32);
      if (!node || !size || !in) return;
      *size = (int32_t)in->dims[tt_op_attr_int(op, TT_ATTR_DIMENSION, 0)];
      node->in_count = 0;
      make_constant(node, size, true);
      return;
    }
    case TT_OP_SET_DIMENSION_SIZE:
      if (op->results[0].type->rank == op->operands[0]->type->rank && tt_type_elems(op->results[0].type) == tt_type_elems(op->operands[0]->type)) {
        alias(c, op, 0, get(c, op->operands[0]));
        return;
      }
      fail_op(c, TT_UNIMPLEMENTED, op, "bounded dimensions are not supported");
      return;
    case TT_OP_REPLICA_ID: case TT_OP_PARTITION_ID:
      node = node_from_op(c, block, TC_DEVICE_ID, op);
      return;
    case TT_OP_ALL_REDUCE: case TT_OP_ALL_GATHER: case TT_OP_REDUCE_SCATTER: case TT_OP_ALL_TO_ALL:
    case TT_OP_COLLECTIVE_PERMUTE: case TT_OP_COLLECTIVE_BROADCAST:
      node = node_from_op(c, block, TC_COLLECTIVE, op);
      if (node) node->effect = block->effect = true;
      capture(c, node);
      return;
    case TT_OP_RETURN: case TT_OP_FUNC_RETURN:
      block->result_count = op->operand_count;
      block->results = TC_ARRAY(c, tc_value_t*, op->operand_count + 1);
      for (uint32_t i = 0; tc_ok(c) && i < op->operand_count; ++i) block->results[i] = get(c, op->operands[i]);
      return;
    default: break;
  }
  if (op->kind == TT_OP_CONVERT && op->results[0].type == op->operands[0]->type) { alias(c, op, 0, get(c, op->operands[0])); return; }
  tc_node_t described;
  memset(&described, 0, sizeof described);
  if (tc_elementwise_describe(c, op, &described)) {
    node = node_from_op(c, block, TC_ELEMENTWISE, op);
    if (!node) return;
    node->instr = described.instr;
    node->lane = described.lane;
    node->imm[0] = described.imm[0];
    node->imm[1] = described.imm[1];
    node->cheap = described.cheap;
    if (!fold_elementwise(c, node)) (void)reuse_equal(c, block, node);
    return;
  }
  if (!tc_ok(c)) return;
  if (c->lifting) { fail_op(c, TT_UNIMPLEMENTED, op, "not supported inside stablehlo.map"); return; }
  build_kernel_op(c, block, op);
}

static void build_block(tc_t* c, tc_block_t* block, const tt_block_t* from) {
  for (const tt_op_t* op = from->first; op && tc_ok(c); op = op->next) build_op(c, block, op);
}

void tc_graph_build(tc_t* c) {
  c->func = tt_module_main(c->module);
  if (!c->func) { tc_fail(c, TT_INVALID_ARGUMENT, "vtpu: the module has no function main"); return; }
  c->values = TC_ARRAY(c, tc_value_t*, c->module->value_count + 1);
  c->main = block_new(c, NULL, NULL);
  if (!tc_ok(c)) return;
  const tt_block_t* body = &c->func->body.block;
  c->main->arg_count = body->arg_count;
  c->main->args = TC_ARRAY(c, tc_value_t*, body->arg_count + 1);
  for (uint32_t i = 0; tc_ok(c) && i < body->arg_count; ++i) {
    tc_value_t* arg = TC_NEW(c, tc_value_t);
    if (!arg || !set_type(c, arg, body->args[i].type, NULL)) return;
    arg->block = c->main;
    c->main->args[i] = arg;
    set(c, &body->args[i], arg);
  }
  build_block(c, c->main, body);
}
