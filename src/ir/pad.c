// Padding a program: classes of dimensions, then a walk that emits each operation at its padded form.
#include "ir/pad.h"

#include <math.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "ir/pad_internal.h"

int64_t tt_pad_size(int64_t size) {
  int64_t padded = TT_PAD_FLOOR;
  if (size > (int64_t)1 << 40) return size;
  while (padded < size) padded *= 2;
  return padded;
}

// ---- classes -----------------------------------------------------------------------------------
void tt_pad_grow(tt_pad_t* p, const tt_value_t* v, uint32_t d) {
  uint32_t root = tt_pad_root(p, v, d);
  if (p->grows[root]) return;
  p->grows[root] = p->changed = true;
}

void tt_pad_unite(tt_pad_t* p, const tt_value_t* a, uint32_t da, const tt_value_t* b, uint32_t db) {
  if (a->type->dims[da] != b->type->dims[db]) return;
  uint32_t x = tt_pad_root(p, a, da), y = tt_pad_root(p, b, db);
  if (x == y) return;
  if (x > y) {
    uint32_t larger = x;
    x = y;
    y = larger;
  }
  if (p->grows[x] != p->grows[y]) p->changed = true;
  p->parent[y] = x;
  p->grows[x] |= p->grows[y];
}

void tt_pad_unite_all(tt_pad_t* p, const tt_value_t* a, const tt_value_t* b) {
  if (a->type->rank != b->type->rank) return;
  for (uint32_t d = 0; d < a->type->rank; ++d) tt_pad_unite(p, a, d, b, d);
}

uint32_t tt_pad_mask(tt_pad_t* p, const tt_value_t* v) {
  uint32_t mask = 0;
  for (uint32_t d = 0; d < v->type->rank; ++d) mask |= (uint32_t)tt_pad_grows(p, v, d) << d;
  return mask;
}

// ---- forms -------------------------------------------------------------------------------------
void* tt_pad_room(tt_pad_t* p, size_t count, size_t size) {
  void* block = tt_arena_alloc_array(p->arena, count + 1, size);
  return block ? block : tt_b_out_of_memory(&p->clone.builder);
}

void tt_pad_form_dims(tt_pad_t* p, const tt_value_t* v, int64_t* out_dims) {
  for (uint32_t d = 0; d < v->type->rank; ++d) out_dims[d] = tt_pad_form_size(p, v, d);
}

const tt_type_t* tt_pad_type(tt_pad_t* p, const tt_type_t* like, size_t rank, const int64_t* dims) {
  tt_type_t type = *like;
  if (type.kind == TT_TYPE_TENSOR) {
    type.rank = (uint32_t)rank;
    type.dims = dims;
    type.bounds = NULL;
  }
  const tt_type_t* result = tt_type_intern(p->clone.builder.module, &type);
  return result ? result : tt_b_out_of_memory(&p->clone.builder);
}

const tt_type_t* tt_pad_form(tt_pad_t* p, const tt_value_t* v) {
  int64_t dims[TT_MAX_RANK];
  if (v->type->kind == TT_TYPE_TENSOR) tt_pad_form_dims(p, v, dims);
  return tt_pad_type(p, v->type, v->type->rank, dims);
}

tt_value_t* tt_pad_zero(tt_pad_t* p, tt_dtype_t dtype) {
  return tt_b_scalar_i64(&p->clone.builder, dtype, 0);
}

tt_value_t* tt_pad_resize(tt_pad_t* p, tt_value_t* x, const int64_t* dims) {
  tt_builder_t* b = &p->clone.builder;
  if (!tt_builder_ok(b) || !x) return NULL;
  int64_t start[TT_MAX_RANK] = {0}, limit[TT_MAX_RANK], ones[TT_MAX_RANK], high[TT_MAX_RANK];
  bool cuts = false, pads = false;
  for (uint32_t d = 0; d < x->type->rank; ++d) {
    int64_t have = x->type->dims[d];
    limit[d] = TT_MIN(have, dims[d]);
    high[d] = dims[d] - limit[d];
    ones[d] = 1;
    cuts |= have > dims[d];
    pads |= have < dims[d];
  }
  if (cuts) x = tt_b_slice(b, x, start, limit, ones);
  if (pads && x) x = tt_b_pad(b, x, tt_pad_zero(p, x->type->dtype), start, high, NULL);
  return x;
}

tt_value_t* tt_pad_resize_dim(tt_pad_t* p, tt_value_t* x, uint32_t d, int64_t size) {
  int64_t dims[TT_MAX_RANK];
  if (!tt_builder_ok(&p->clone.builder) || !x) return NULL;
  memcpy(dims, x->type->dims, x->type->rank * sizeof(*dims));
  dims[d] = size;
  return tt_pad_resize(p, x, dims);
}

void tt_pad_define(tt_pad_t* p, const tt_value_t* v, tt_value_t* x) {
  int64_t dims[TT_MAX_RANK];
  if (x && v->type->kind == TT_TYPE_TENSOR) {
    tt_pad_form_dims(p, v, dims);
    x = tt_pad_resize(p, x, dims);
  }
  p->clone.values[v->id] = x;
}

tt_value_t* tt_pad_exact(tt_pad_t* p, const tt_value_t* v, uint32_t mask) {
  int64_t dims[TT_MAX_RANK];
  if (v->type->kind != TT_TYPE_TENSOR) return tt_pad_value(p, v);
  for (uint32_t d = 0; d < v->type->rank; ++d)
    dims[d] = mask >> d & 1 ? v->type->dims[d] : tt_pad_form_size(p, v, d);
  return tt_pad_resize(p, tt_pad_value(p, v), dims);
}

// ---- run-time numbers --------------------------------------------------------------------------
tt_value_t* tt_pad_number_bytes(tt_pad_t* p, tt_dtype_t dtype, const void* data) {
  tt_builder_t* b = &p->clone.builder;
  if (!tt_builder_ok(b)) return NULL;
  if (p->number_count == p->number_capacity) {
    uint32_t capacity = p->number_capacity ? 2 * p->number_capacity : 16;
    tt_pad_number_t* numbers = tt_pad_room(p, capacity, sizeof(*numbers));
    if (!numbers) return NULL;
    if (p->number_count) memcpy(numbers, p->numbers, p->number_count * sizeof(*numbers));
    p->numbers = numbers;
    p->number_capacity = capacity;
  }
  tt_pad_number_t* number = &p->numbers[p->number_count++];
  *number = (tt_pad_number_t){.dtype = dtype};
  memcpy(number->data, data, tt_dtype_bytes(dtype));
  return tt_b_func_add_arg(b, p->clone.func, tt_b_type(b, dtype, 0, NULL));
}

tt_value_t* tt_pad_number(tt_pad_t* p, tt_dtype_t dtype, int64_t value) {
  unsigned char data[16] = {0};
  tt_scalar_store_i64(dtype, value, data);
  return tt_pad_number_bytes(p, dtype, data);
}

tt_value_t* tt_pad_extent(tt_pad_t* p, const tt_value_t* v, uint32_t d) {
  int64_t size = v->type->dims[d];
  uint32_t root = tt_pad_root(p, v, d);
  if (!p->grows[root]) return tt_b_scalar_i64(&p->clone.builder, TT_DTYPE_S32, size);
  // a module's values stay readable where they are, also when the argument array moves (ir/README.md)
  if (!p->extents[root]) p->extents[root] = tt_pad_number(p, TT_DTYPE_S32, size);
  return p->extents[root];
}

tt_value_t* tt_pad_keep(tt_pad_t* p, tt_value_t* x, uint32_t d, tt_value_t* limit, tt_value_t* fill) {
  tt_builder_t* b = &p->clone.builder;
  if (!tt_builder_ok(b) || !x) return NULL;
  const tt_type_t* type = tt_b_type(b, TT_DTYPE_S32, x->type->rank, x->type->dims);
  tt_value_t* place = tt_b_iota(b, type, d);
  tt_value_t* inside =
      tt_b_compare(b, "LT", place, tt_b_broadcast_to(b, limit, x->type->rank, x->type->dims));
  return tt_b_select(b, inside, x, tt_b_broadcast_to(b, fill, x->type->rank, x->type->dims));
}

tt_value_t* tt_pad_filled(tt_pad_t* p, const tt_value_t* v, tt_value_t* x, uint32_t mask, tt_value_t* fill) {
  for (uint32_t d = 0; d < v->type->rank; ++d) {
    if (mask >> d & 1 && tt_pad_grows(p, v, d)) x = tt_pad_keep(p, x, d, tt_pad_extent(p, v, d), fill);
  }
  return x;
}

void tt_pad_copy(tt_pad_t* p, const tt_op_t* op, tt_value_t* const* operands) {
  const tt_type_t** types = tt_pad_room(p, op->result_count, sizeof(*types));
  if (!types) return;
  for (uint32_t i = 0; i < op->result_count; ++i) types[i] = tt_pad_form(p, &op->results[i]);
  if (tt_builder_ok(&p->clone.builder)) tt_clone_op(&p->clone, op, operands, types);
}

// ---- walks -------------------------------------------------------------------------------------
bool tt_pad_is_splat(const tt_op_t* op) {
  const tt_attr_t* value = op->kind == TT_OP_CONSTANT ? tt_op_attr(op, TT_ATTR_VALUE) : NULL;
  return value && value->kind == TT_AK_DENSE && value->dense.is_splat;
}

const tt_func_t* tt_pad_callee(tt_pad_t* p, const tt_op_t* op) {
  return tt_module_find_func(p->clone.from, tt_op_attr_text(op, TT_ATTR_CALLEE));
}

// What nobody reads is left out: a written tensor's old value has exact sizes.
static bool is_live(tt_pad_t* p, const tt_op_t* op) {
  uint32_t traits = tt_op_info(op->kind)->traits;
  bool has_effects = !(traits & TT_TRAIT_PURE) && op->kind != TT_OP_FUNC_CALL && op->kind != TT_OP_COMPOSITE;
  for (uint32_t i = 0; i < op->result_count && !has_effects; ++i) has_effects = p->live[op->results[i].id];
  return has_effects;
}

static void mark_operands(tt_pad_t* p, const tt_op_t* op) {
  for (uint32_t i = 0; i < op->operand_count; ++i) p->live[op->operands[i]->id] = true;
  for (uint16_t r = 0; r < op->region_count; ++r)
    for (const tt_op_t* inner = op->regions[r].block.first; inner; inner = inner->next)
      mark_operands(p, inner);
}

static void mark_live(tt_pad_t* p, const tt_block_t* block) {
  for (const tt_op_t* op = block->last->prev; op; op = op->prev) {
    if (!is_live(p, op)) continue;
    const tt_func_t* callee = op->kind == TT_OP_FUNC_CALL ? tt_pad_callee(p, op) : NULL;
    if (!callee) {
      mark_operands(p, op);
      continue;
    }
    const tt_block_t* body = &callee->body.block;
    for (uint32_t i = 0; i < op->result_count; ++i)
      p->live[body->last->operands[i]->id] |= p->live[op->results[i].id];
    mark_live(p, body);
    for (uint32_t i = 0; i < op->operand_count; ++i)
      p->live[op->operands[i]->id] |= p->live[body->args[i].id];
  }
}

void tt_pad_relate_block(tt_pad_t* p, const tt_block_t* block) {
  for (const tt_op_t* op = block->first; op; op = op->next) {
    const tt_pad_rule_t* rule = tt_pad_rule(op);
    if (rule->relate && is_live(p, op)) rule->relate(p, op);
  }
}

// Constants are counted whether they are emitted or not.
static void skip(tt_pad_t* p, const tt_op_t* op) {
  p->constants += tt_pad_is_splat(op);
  const tt_func_t* callee = op->kind == TT_OP_FUNC_CALL ? tt_pad_callee(p, op) : NULL;
  for (const tt_op_t* inner = callee ? callee->body.block.first : NULL; inner; inner = inner->next)
    skip(p, inner);
}

void tt_pad_emit_block(tt_pad_t* p, const tt_block_t* block) {
  for (const tt_op_t* op = block->first; op && op->next && tt_builder_ok(&p->clone.builder); op = op->next) {
    if (is_live(p, op)) tt_pad_rule(op)->emit(p, op);
    else skip(p, op);
  }
}

// Inside regions types stay: their values are 0-d, or belong to an operation with exact operands.
static const tt_type_t* same_type(tt_clone_t* clone, const tt_type_t* type) {
  return tt_type_intern(clone->builder.module, type);
}

static void* node_room(tt_arena_t* arena, size_t count, size_t size) {
  void* block = tt_arena_alloc_array(arena, count + 1, size);
  if (block) memset(block, 0, (count + 1) * size);
  return block;
}

// One node a dimension of every value of the module. Ids are dense, so one walk fills `first`.
typedef struct numbering_s {
  tt_pad_t* p;
  uint32_t nodes;
} numbering_t;
static void number_value(numbering_t* n, const tt_value_t* v) {
  n->p->first[v->id] = n->nodes;
  if (v->type->kind == TT_TYPE_TENSOR) n->nodes += v->type->rank;
}
static void number_block(numbering_t* n, const tt_block_t* block) {
  for (uint32_t i = 0; i < block->arg_count; ++i) number_value(n, &block->args[i]);
  for (const tt_op_t* op = block->first; op; op = op->next) {
    for (uint32_t i = 0; i < op->result_count; ++i) number_value(n, &op->results[i]);
    for (uint16_t i = 0; i < op->region_count; ++i) number_block(n, &op->regions[i].block);
  }
}

static tt_status_t number_module(tt_pad_t* p, const tt_module_t* module) {
  p->first = node_room(p->arena, module->value_count, sizeof(*p->first));
  if (!p->first) return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for padding a program");
  numbering_t n = {.p = p};
  for (const tt_func_t* func = module->first_func; func; func = func->next)
    number_block(&n, &func->body.block);
  p->parent = node_room(p->arena, n.nodes, sizeof(*p->parent));
  p->grows = node_room(p->arena, n.nodes, sizeof(*p->grows));
  p->extents = node_room(p->arena, n.nodes, sizeof(*p->extents));
  if (!p->parent || !p->grows || !p->extents)
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for padding a program");
  for (uint32_t i = 0; i < n.nodes; ++i) p->parent[i] = i;
  return TT_OK_STATUS;
}

// What the padding of results is filled with when somebody wants to see who reads it.
static tt_value_t* poison_of(tt_pad_t* p, tt_dtype_t dtype) {
  tt_builder_t* b = &p->clone.builder;
  if (tt_dtype_is_complex(dtype) || tt_dtype_is_float(dtype)) return tt_b_scalar_f64(b, dtype, NAN);
  return tt_b_scalar_i64(b, dtype, dtype == TT_DTYPE_PRED ? 1 : 113);
}

static void seed(tt_pad_t* p, const tt_func_t* main) {
  const tt_block_t* block = &main->body.block;
  for (uint32_t i = 0; i < block->arg_count; ++i) {
    const tt_type_t* type = block->args[i].type;
    for (uint32_t d = 0; type->kind == TT_TYPE_TENSOR && d < type->rank; ++d)
      if (p->request->params[i] >> d & 1) tt_pad_grow(p, &block->args[i], d);
  }
  for (uint32_t i = 0; i < block->last->operand_count; ++i) {
    const tt_value_t* result = block->last->operands[i];
    for (uint32_t d = 0; d < result->type->rank; ++d)
      if (p->request->results[i] >> d & 1) tt_pad_grow(p, result, d);
  }
}

static tt_func_t* begin_main(tt_pad_t* p, const tt_func_t* main) {
  const tt_block_t* block = &main->body.block;
  const tt_type_t** types = tt_pad_room(p, block->arg_count, sizeof(*types));
  if (!types) return NULL;
  for (uint32_t i = 0; i < block->arg_count; ++i) {
    const tt_type_t* type = block->args[i].type;
    int64_t dims[TT_MAX_RANK];
    for (uint32_t d = 0; type->kind == TT_TYPE_TENSOR && d < type->rank; ++d)
      dims[d] = p->request->params[i] >> d & 1 ? tt_pad_size(type->dims[d]) : type->dims[d];
    types[i] = tt_pad_type(p, type, type->rank, dims);
    if (!types[i]) return NULL;
  }
  tt_func_t* func = tt_b_func_begin(&p->clone.builder, main->name, main->is_public, block->arg_count, types);
  p->clone.from_func = main;
  p->clone.func = func;
  for (uint32_t i = 0; func && i < block->arg_count; ++i)
    tt_pad_define(p, &block->args[i], tt_b_func_arg(func, i));
  return func;
}

// Arguments whose buffer an output may still take.
static void keep_aliases(tt_pad_t* p, const tt_func_t* main, tt_func_t* func) {
  for (uint32_t i = 0; main->arg_attrs && i < main->body.block.arg_count; ++i) {
    const tt_attr_t* alias =
        tt_attr_find(main->arg_attrs[i].data, main->arg_attrs[i].size, TT_ATTR_ALIASING_OUTPUT);
    if (!alias || (uint64_t)alias->i >= func->result_count) continue;
    if (func->body.block.args[i].type == func->result_types[alias->i])
      tt_b_func_arg_attr(&p->clone.builder, func, i, *alias);
  }
}

static void emit_main(tt_pad_t* p, const tt_func_t* main, uint32_t* masks) {
  tt_builder_t* b = &p->clone.builder;
  const tt_block_t* block = &main->body.block;
  tt_func_t* func = begin_main(p, main);
  if (!func) return;
  tt_pad_emit_block(p, block);
  tt_value_t** results = tt_pad_room(p, block->last->operand_count, sizeof(*results));
  for (uint32_t i = 0; results && tt_builder_ok(b) && i < block->last->operand_count; ++i) {
    const tt_value_t* v = block->last->operands[i];
    results[i] = tt_pad_value(p, v);
    masks[i] = tt_pad_mask(p, v);
    if (p->request->poison)
      results[i] = tt_pad_filled(p, v, results[i], masks[i], poison_of(p, v->type->dtype));
  }
  if (!tt_builder_ok(b)) return;
  tt_b_func_end(b, func, block->last->operand_count, results);
  if (tt_builder_ok(b)) keep_aliases(p, main, func);
}

tt_status_t tt_module_pad(const tt_module_t* module, const tt_pad_request_t* request, tt_arena_t* arena,
                          tt_padded_t* out) {
  *out = (tt_padded_t){0};
  const tt_func_t* main = tt_module_main(module);
  if (!main || !main->body.block.last)
    return tt_status_create(TT_INVALID_ARGUMENT, "a program without a main function cannot be padded");
  tt_pad_t p = {.clone = {.from = module, .map_type = same_type}, .request = request, .arena = arena};
  p.clone.values = node_room(arena, module->value_count, sizeof(tt_value_t*));
  p.live = node_room(arena, module->value_count, sizeof(*p.live));
  uint32_t* masks = node_room(arena, main->body.block.last->operand_count, sizeof(*masks));
  if (!p.clone.values || !p.live || !masks)
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for padding a program");
  TT_RETURN_IF_ERROR(number_module(&p, module));
  mark_operands(&p, main->body.block.last);
  mark_live(&p, &main->body.block);
  seed(&p, main);
  do {
    p.changed = false;
    tt_pad_relate_block(&p, &main->body.block);
  } while (p.changed);
  tt_module_t* padded = NULL;
  TT_RETURN_IF_ERROR(tt_module_create(&padded));
  tt_builder_initialize(&p.clone.builder, padded);
  emit_main(&p, main, masks);
  tt_status_t status = tt_builder_take_status(&p.clone.builder);
  tt_builder_deinitialize(&p.clone.builder);
#ifdef TT_DEBUG
  if (tt_status_is_ok(status)) status = tt_module_verify(padded);
#endif
  if (!tt_status_is_ok(status)) {
    tt_module_release(padded);
    return tt_status_annotate(status, "padded program");
  }
  *out =
      (tt_padded_t){.module = padded, .results = masks, .numbers = p.numbers, .number_count = p.number_count};
  return TT_OK_STATUS;
}

// ---- shape key ---------------------------------------------------------------------------------
typedef struct key_walk_s {
  const tt_module_t* module;
  tt_arena_t* arena;
  uint64_t hash;
  uint32_t* order;  // [value ids]: place in the walk
  uint32_t values;
  uint64_t* constants;
  uint32_t count, capacity;
  bool failed;
} key_walk_t;

// Attributes that hold sizes, or what the walk covers otherwise.
static bool is_size_attr(tt_attr_name_t name) {
  switch (name) {
    case TT_ATTR_START_INDICES:
    case TT_ATTR_LIMIT_INDICES:
    case TT_ATTR_SLICE_SIZES:
    case TT_ATTR_SIZES:
    case TT_ATTR_STRIDES:
    case TT_ATTR_OFFSET:
    case TT_ATTR_WINDOW_DIMENSIONS:
    case TT_ATTR_PADDING:
    case TT_ATTR_EDGE_PADDING_LOW:
    case TT_ATTR_EDGE_PADDING_HIGH:
    case TT_ATTR_BROADCAST_SIZES:
    case TT_ATTR_VALUE:
    case TT_ATTR_CALLEE:
    case TT_ATTR_COMPOSITE_ATTRIBUTES: return true;
    default: return false;
  }
}

static void hash_attrs(key_walk_t* w, const tt_op_t* op) {
  for (uint16_t i = 0; i < op->attr_count; ++i) {
    const tt_attr_t* attr = &op->attrs[i];
    if (is_size_attr(attr->name)) continue;
    uint64_t hash = tt_hash_mix(w->hash, (uint64_t)attr->name << 8 | (uint64_t)attr->kind);
    switch (attr->kind) {
      case TT_AK_BOOL: hash = tt_hash_mix(hash, attr->b); break;
      case TT_AK_INT: hash = tt_hash_mix(hash, (uint64_t)attr->i); break;
      case TT_AK_STRING:
      case TT_AK_ENUM: hash = tt_hash_bytes(hash, attr->text.data, attr->text.size); break;
      case TT_AK_I64S: hash = tt_hash_bytes(hash, attr->i64s.data, attr->i64s.size * sizeof(int64_t)); break;
      default: break;
    }
    w->hash = hash;
  }
}

static void key_constant(key_walk_t* w, const tt_op_t* op) {
  if (!tt_pad_is_splat(op)) return;
  const tt_attr_t* value = tt_op_attr(op, TT_ATTR_VALUE);
  if (w->count == w->capacity) {
    uint32_t capacity = w->capacity ? 2 * w->capacity : 16;
    uint64_t* more = tt_arena_alloc_array(w->arena, capacity, sizeof(*more));
    if (!more) {
      w->failed = true;
      return;
    }
    if (w->count) memcpy(more, w->constants, w->count * sizeof(*more));
    w->constants = more;
    w->capacity = capacity;
  }
  uint64_t word = 0;
  size_t bytes = tt_dtype_bytes(value->dense.type->dtype);
  memcpy(&word, value->dense.data, TT_MIN(bytes, sizeof(word)));
  if (bytes > sizeof(word)) word = tt_hash_bytes(word, value->dense.data, bytes);
  w->constants[w->count++] = word;
}

static void key_value(key_walk_t* w, const tt_value_t* v) {
  w->order[v->id] = w->values++;
  w->hash = tt_hash_mix(w->hash, (uint64_t)v->type->dtype << 8 | v->type->rank);
}

static void key_block(key_walk_t* w, const tt_block_t* block) {
  for (const tt_op_t* op = block->first; op && !w->failed; op = op->next) {
    w->hash = tt_hash_mix(w->hash, (uint64_t)op->kind << 32 | op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; ++i)
      w->hash = tt_hash_mix(w->hash, w->order[op->operands[i]->id]);
    hash_attrs(w, op);
    if (op->kind == TT_OP_CONSTANT) key_constant(w, op);
    for (uint32_t i = 0; i < op->result_count; ++i) key_value(w, &op->results[i]);
    if (op->kind != TT_OP_FUNC_CALL) continue;
    const tt_func_t* callee = tt_module_find_func(w->module, tt_op_attr_text(op, TT_ATTR_CALLEE));
    for (uint32_t i = 0; callee && i < callee->body.block.arg_count; ++i)
      key_value(w, &callee->body.block.args[i]);
    if (callee) key_block(w, &callee->body.block);
  }
}

tt_status_t tt_module_shape_key(const tt_module_t* module, tt_arena_t* arena, tt_shape_key_t* out) {
  *out = (tt_shape_key_t){0};
  const tt_func_t* main = tt_module_main(module);
  if (!main || !main->body.block.last) return tt_status_create(TT_INVALID_ARGUMENT, "no main function");
  const tt_block_t* block = &main->body.block;
  key_walk_t w = {.module = module, .arena = arena, .hash = 0x70616464};
  w.order = node_room(arena, module->value_count, sizeof(*w.order));
  uint32_t count = 0;
  for (uint32_t i = 0; i < block->arg_count; ++i) count += block->args[i].type->rank;
  for (uint32_t i = 0; i < block->last->operand_count; ++i) count += block->last->operands[i]->type->rank;
  int64_t* sizes = node_room(arena, count, sizeof(*sizes));
  if (!w.order || !sizes) return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for a shape key");
  count = 0;
  for (uint32_t i = 0; i < block->arg_count; ++i) {
    const tt_type_t* type = block->args[i].type;
    key_value(&w, &block->args[i]);
    for (uint32_t d = 0; d < type->rank; ++d) sizes[count++] = type->dims[d];
  }
  key_block(&w, block);
  for (uint32_t i = 0; i < block->last->operand_count; ++i) {
    const tt_type_t* type = block->last->operands[i]->type;
    for (uint32_t d = 0; d < type->rank; ++d) sizes[count++] = type->dims[d];
  }
  if (w.failed) return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for a shape key");
  *out = (tt_shape_key_t){.skeleton = w.hash,
                          .size_count = count,
                          .sizes = sizes,
                          .constant_count = w.count,
                          .constants = w.constants};
  return TT_OK_STATUS;
}
