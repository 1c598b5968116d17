// The verifier: I1..I5 of ir.h for the whole module, then each op's own rules.
#include <string.h>

#include "base/alloc.h"
#include "ir/dim_table.h"
#include "ir/infer.h"
#include "ir/type_table.h"

#define MAX_DEPTH 200   // of nested regions

typedef struct verifier_s {
  const tt_module_t* module;
  uint64_t* visible;       // bit a value id
  size_t word_count;
  const tt_loc_t* at;      // of what is wrong
} verifier_t;

static bool test_bit(const verifier_t* v, uint32_t id) { return v->visible[id / 64] >> (id % 64) & 1; }
static void set_bit(verifier_t* v, uint32_t id, bool on) {
  uint64_t bit = (uint64_t)1 << (id % 64);
  if (on) v->visible[id / 64] |= bit; else v->visible[id / 64] &= ~bit;
}

// I1, I5
static tt_status_t check_type(const verifier_t* v, const tt_type_t* type) {
  if (!type) return tt_status_create(TT_INVALID_ARGUMENT, "a value has no type");
  if (!tt_type_is_interned(v->module, type)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "type %s is not interned in the module",
                            TT_TYPE_TEXT(v->module, type));
  }
  if (type->kind != TT_TYPE_TENSOR) {
    for (uint32_t i = 0; i < type->element_count; ++i) TT_RETURN_IF_ERROR(check_type(v, type->elements[i]));
    return TT_OK_STATUS;
  }
  if (type->dtype == TT_DTYPE_INVALID || type->dtype >= TT_DTYPE_COUNT || type->dtype == TT_DTYPE_TOKEN) {
    return tt_status_create(TT_INVALID_ARGUMENT, "%s has no element type", TT_TYPE_TEXT(v->module, type));
  }
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (type->dims[i] < 0 && type->dims[i] != TT_DIM_UNKNOWN && !tt_dim_entry(v->module, type->dims[i])) {
      return tt_status_create(TT_INVALID_ARGUMENT, "dimension %u of %s (%lld) is not in the dimension table",
                              i, TT_TYPE_TEXT(v->module, type), (long long)type->dims[i]);
    }
    int64_t bound = type->bounds ? type->bounds[i] : TT_DIM_UNKNOWN;
    if (bound != TT_DIM_UNKNOWN && (bound < 0 || (type->dims[i] >= 0 && type->dims[i] > bound))) {
      return tt_status_create(TT_INVALID_ARGUMENT, "bound %lld of dimension %u of %s does not fit",
                              (long long)bound, i, TT_TYPE_TEXT(v->module, type));
    }
  }
  if (tt_type_is_static(type) && tt_type_bytes(type) < 0) {
    return tt_status_create(TT_INVALID_ARGUMENT, "the size of %s overflows int64",
                            TT_TYPE_TEXT(v->module, type));
  }
  return TT_OK_STATUS;
}

static tt_status_t define(verifier_t* v, const tt_value_t* value) {
  if (value->id >= v->module->value_count) {
    return tt_status_create(TT_INVALID_ARGUMENT, "value %%%u: the module has only %u values", value->id,
                            v->module->value_count);
  }
  if (test_bit(v, value->id))
    return tt_status_create(TT_INVALID_ARGUMENT, "value %%%u is defined twice", value->id);
  set_bit(v, value->id, true);
  return check_type(v, value->type);
}

// I2: the operand is visible here and is where it says.
static tt_status_t check_operand(const verifier_t* v, const tt_op_t* op, uint32_t i) {
  const tt_value_t* x = op->operands[i];
  if (!x) return tt_status_create(TT_INVALID_ARGUMENT, "operand %u is missing", i);
  bool placed = x->op ? x->index < x->op->result_count && x == &x->op->results[x->index]
                      : x->block && x->index < x->block->arg_count && x == &x->block->args[x->index];
  if (!placed || x->id >= v->module->value_count || !test_bit(v, x->id)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "operand %u (%%%u) does not dominate its use", i, x->id);
  }
  return TT_OK_STATUS;
}

// I4, and what a kind cannot do without (further ones are asked for by the inference rules).
static tt_status_t check_attrs(const tt_op_t* op) {
  for (uint16_t i = 0; i < op->attr_count; ++i) {
    for (uint16_t k = 0; k < i; ++k) {
      const tt_attr_t *a = &op->attrs[i], *b = &op->attrs[k];
      bool same = a->name == b->name &&
                  (a->name != TT_ATTR_OTHER ||
                   (a->other_name && b->other_name && strcmp(a->other_name, b->other_name) == 0));
      if (same) {
        return tt_status_create(TT_INVALID_ARGUMENT, "attribute \"%s\" stands twice",
                                a->name == TT_ATTR_OTHER ? a->other_name : tt_attr_name_text(a->name));
      }
    }
  }
  static const struct { uint16_t kind, name;
  } required[] = {
      {TT_OP_ALL_GATHER, TT_ATTR_ALL_GATHER_DIM},
      {TT_OP_ALL_GATHER, TT_ATTR_REPLICA_GROUPS},
      {TT_OP_ALL_REDUCE, TT_ATTR_REPLICA_GROUPS},
      {TT_OP_ALL_TO_ALL, TT_ATTR_SPLIT_COUNT},
      {TT_OP_BATCH_NORM_GRAD, TT_ATTR_EPSILON},
      {TT_OP_BATCH_NORM_INFERENCE, TT_ATTR_EPSILON},
      {TT_OP_BATCH_NORM_TRAINING, TT_ATTR_EPSILON},
      {TT_OP_BROADCAST, TT_ATTR_BROADCAST_SIZES},
      {TT_OP_BROADCAST_IN_DIM, TT_ATTR_BROADCAST_DIMENSIONS},
      {TT_OP_CHLO_TOP_K, TT_ATTR_K},
      {TT_OP_COLLECTIVE_PERMUTE, TT_ATTR_SOURCE_TARGET_PAIRS},
      {TT_OP_COMPARE, TT_ATTR_COMPARISON_DIRECTION},
      {TT_OP_COMPOSITE, TT_ATTR_NAME},
      {TT_OP_CONCATENATE, TT_ATTR_DIMENSION},
      {TT_OP_CONSTANT, TT_ATTR_VALUE},
      {TT_OP_CUSTOM_CALL, TT_ATTR_CALL_TARGET_NAME},
      {TT_OP_DYNAMIC_SLICE, TT_ATTR_SLICE_SIZES},
      {TT_OP_DYNAMIC_BROADCAST_IN_DIM, TT_ATTR_BROADCAST_DIMENSIONS},
      {TT_OP_DYNAMIC_IOTA, TT_ATTR_IOTA_DIMENSION},
      {TT_OP_FFT, TT_ATTR_FFT_TYPE},
      {TT_OP_FUNC_CALL, TT_ATTR_CALLEE},
      {TT_OP_IOTA, TT_ATTR_IOTA_DIMENSION},
      {TT_OP_PAD, TT_ATTR_EDGE_PADDING_LOW},
      {TT_OP_PAD, TT_ATTR_EDGE_PADDING_HIGH},
      {TT_OP_REDUCE, TT_ATTR_DIMENSIONS},
      {TT_OP_REDUCE_PRECISION, TT_ATTR_EXPONENT_BITS},
      {TT_OP_REDUCE_PRECISION, TT_ATTR_MANTISSA_BITS},
      {TT_OP_REDUCE_SCATTER, TT_ATTR_SCATTER_DIMENSION},
      {TT_OP_REDUCE_WINDOW, TT_ATTR_WINDOW_DIMENSIONS},
      {TT_OP_REVERSE, TT_ATTR_DIMENSIONS},
      {TT_OP_RNG, TT_ATTR_RNG_DISTRIBUTION},
      {TT_OP_RNG_BIT_GENERATOR, TT_ATTR_RNG_ALGORITHM},
      {TT_OP_SLICE, TT_ATTR_START_INDICES},
      {TT_OP_SLICE, TT_ATTR_LIMIT_INDICES},
      {TT_OP_TRANSPOSE, TT_ATTR_PERMUTATION},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(required); ++i) {
    if (required[i].kind == op->kind && !tt_op_attr(op, (tt_attr_name_t)required[i].name)) {
      return tt_status_create(TT_INVALID_ARGUMENT, "attribute \"%s\" is missing",
                              tt_attr_name_text((tt_attr_name_t)required[i].name));
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t verify_block(verifier_t* v, const tt_block_t* block, int depth);

static tt_status_t check_arity(const tt_op_t* op) {
  const tt_op_info_t* info = tt_op_info(op->kind);
  if (op->kind == TT_OP_INVALID || op->kind >= TT_OP_COUNT) {
    return tt_status_create(TT_INVALID_ARGUMENT, "op kind %d does not exist", (int)op->kind);
  }
  if (info->results >= 0 && op->result_count != (uint32_t)info->results) {
    return tt_status_create(TT_INVALID_ARGUMENT, "has %u results, needs %d", op->result_count, info->results);
  }
  if (info->regions >= 0 && op->region_count != info->regions) {
    return tt_status_create(TT_INVALID_ARGUMENT, "has %u regions, needs %d", op->region_count, info->regions);
  }
  return TT_OK_STATUS;
}

static tt_status_t verify_op(verifier_t* v, const tt_op_t* op, int depth) {
  TT_RETURN_IF_ERROR(check_arity(op));
  for (uint32_t i = 0; i < op->operand_count; ++i) TT_RETURN_IF_ERROR(check_operand(v, op, i));
  for (uint32_t i = 0; i < op->result_count; ++i) {
    if (op->results[i].op != op || op->results[i].index != i) {
      return tt_status_create(TT_INVALID_ARGUMENT, "result %u does not point back to its op", i);
    }
  }
  TT_RETURN_IF_ERROR(check_attrs(op));
  for (uint16_t i = 0; i < op->region_count; ++i)
    TT_RETURN_IF_ERROR(verify_block(v, &op->regions[i].block, depth + 1));
  for (uint32_t i = 0; i < op->result_count; ++i) TT_RETURN_IF_ERROR(define(v, &op->results[i]));
  tt_infer_t in = {.names = v->module, .op = op};
  TT_RETURN_IF_ERROR(tt_infer_op(&in));
  if (!in.open && in.count != op->result_count) {
    return tt_infer_fail(&in, "has %u results, needs %u", op->result_count, in.count);
  }
  return tt_op_check(v->module, op);
}

static tt_status_t verify_block(verifier_t* v, const tt_block_t* block, int depth) {
  if (depth > MAX_DEPTH) {
    return tt_status_create(TT_INVALID_ARGUMENT, "regions are nested deeper than %d", MAX_DEPTH);
  }
  for (uint32_t i = 0; i < block->arg_count; ++i) {
    if (block->args[i].block != block || block->args[i].index != i) {
      return tt_status_create(TT_INVALID_ARGUMENT, "argument %u does not point back to its block", i);
    }
    TT_RETURN_IF_ERROR(define(v, &block->args[i]));
  }
  tt_op_kind_t wanted = depth == 0 ? TT_OP_FUNC_RETURN : TT_OP_RETURN;
  if (!block->last || block->last->kind != wanted) {  // I3
    return tt_status_create(TT_INVALID_ARGUMENT, "a %s does not end with %s",
                            depth ? "region" : "function body", tt_op_info(wanted)->name);
  }
  for (const tt_op_t* op = block->first; op; op = op->next) {
    tt_status_t status = TT_OK_STATUS;
    if (op != block->last && (tt_op_info(op->kind)->traits & TT_TRAIT_TERMINATOR)) {
      status = tt_status_create(TT_INVALID_ARGUMENT, "a terminator stands before the end of its block");
    }
    if (tt_status_is_ok(status)) status = verify_op(v, op, depth);
    // The innermost op names itself; outer ones would only repeat the path.
    if (!tt_status_is_ok(status)) {
      if (!v->at) v->at = op->loc;
      bool named = strstr(tt_status_message(status), "in `") != NULL;
      return named ? status : tt_status_annotate(status, "in `%s`", TT_OP_TEXT(op));
    }
  }
  // Values of an op's region end with it.
  if (depth) {
    for (uint32_t i = 0; i < block->arg_count; ++i) set_bit(v, block->args[i].id, false);
    for (const tt_op_t* op = block->first; op; op = op->next) {
      for (uint32_t i = 0; i < op->result_count; ++i) set_bit(v, op->results[i].id, false);
    }
  }
  return TT_OK_STATUS;
}

// "line:column: " of a program that was read from text.
static tt_status_t at_text(tt_status_t status, const tt_loc_t* loc) {
  if (!loc || !loc->text_line) return status;
  return tt_status_annotate(status, "%d:%d", (int)loc->text_line, (int)loc->text_column);
}

// A donated argument names the result that takes its buffer, each at most once.
static tt_status_t check_aliases(const tt_func_t* func) {
  for (uint32_t i = 0; func->arg_attrs && i < func->body.block.arg_count; ++i) {
    const tt_attr_t* alias =
        tt_attr_find(func->arg_attrs[i].data, func->arg_attrs[i].size, TT_ATTR_ALIASING_OUTPUT);
    if (!alias) continue;
    if (alias->kind != TT_AK_INT || alias->i < 0 || alias->i >= (int64_t)func->result_count) {
      return tt_status_create(TT_INVALID_ARGUMENT, "argument %u aliases result %lld, there are %u", i,
                              (long long)(alias->kind == TT_AK_INT ? alias->i : -1), func->result_count);
    }
    for (uint32_t k = 0; k < i; ++k) {
      const tt_attr_t* other =
          tt_attr_find(func->arg_attrs[k].data, func->arg_attrs[k].size, TT_ATTR_ALIASING_OUTPUT);
      if (other && other->i == alias->i) {
        return tt_status_create(TT_INVALID_ARGUMENT, "arguments %u and %u alias result %lld", k, i,
                                (long long)alias->i);
      }
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t verify_func(verifier_t* v, const tt_func_t* func) {
  if (func->module != v->module) return tt_status_create(TT_INVALID_ARGUMENT, "belongs to another module");
  memset(v->visible, 0, v->word_count * sizeof(*v->visible));
  TT_RETURN_IF_ERROR(verify_block(v, &func->body.block, 0));
  const tt_op_t* end = func->body.block.last;
  if (end->operand_count != func->result_count) {
    return tt_status_create(TT_INVALID_ARGUMENT, "returns %u values, declares %u", end->operand_count,
                            func->result_count);
  }
  for (uint32_t i = 0; i < func->result_count; ++i) {
    if (end->operands[i]->type != func->result_types[i]) {
      return tt_status_create(TT_INVALID_ARGUMENT, "result %u is %s, declared %s", i,
                              TT_TYPE_TEXT(v->module, end->operands[i]->type),
                              TT_TYPE_TEXT(v->module, func->result_types[i]));
    }
  }
  return check_aliases(func);
}

// ---- calls ---------------------------------------------------------------------------------------
// StableHLO has no recursion: whoever inlines or walks calls must come to an end.
typedef struct call_graph_s {
  const tt_module_t* module;
  uint8_t* state;   // by place in the list of functions: 0 new, 1 on the path, 2 done
} call_graph_t;

static size_t place_of_func(const tt_module_t* module, const tt_func_t* func) {
  size_t i = 0;
  for (const tt_func_t* f = module->first_func; f != func; f = f->next) ++i;
  return i;
}

static tt_status_t visit_func(call_graph_t* graph, const tt_func_t* func, int depth);

static tt_status_t visit_calls(call_graph_t* graph, const tt_block_t* block, int depth) {
  for (const tt_op_t* op = block->first; op; op = op->next) {
    for (uint16_t i = 0; i < op->region_count; ++i)
      TT_RETURN_IF_ERROR(visit_calls(graph, &op->regions[i].block, depth));
    tt_attr_name_t name = op->kind == TT_OP_FUNC_CALL   ? TT_ATTR_CALLEE
                          : op->kind == TT_OP_COMPOSITE ? TT_ATTR_DECOMPOSITION
                                                        : TT_ATTR_OTHER;
    const char* callee_name = name == TT_ATTR_OTHER ? "" : tt_op_attr_text(op, name);
    const tt_func_t* callee = *callee_name ? tt_module_find_func(graph->module, callee_name) : NULL;
    if (callee) TT_RETURN_IF_ERROR(visit_func(graph, callee, depth + 1));
  }
  return TT_OK_STATUS;
}

static tt_status_t visit_func(call_graph_t* graph, const tt_func_t* func, int depth) {
  uint8_t* state = &graph->state[place_of_func(graph->module, func)];
  if (*state == 2) return TT_OK_STATUS;
  if (*state == 1) {
    return at_text(tt_status_create(TT_INVALID_ARGUMENT, "function @%s calls itself", func->name), func->loc);
  }
  if (depth > MAX_DEPTH) {
    return at_text(tt_status_create(TT_INVALID_ARGUMENT, "function @%s: calls are nested deeper than %d",
                                    func->name, MAX_DEPTH),
                   func->loc);
  }
  *state = 1;
  TT_RETURN_IF_ERROR(visit_calls(graph, &func->body.block, depth));
  *state = 2;
  return TT_OK_STATUS;
}

static tt_status_t check_calls(const tt_module_t* module) {
  size_t count = 0;
  for (const tt_func_t* func = module->first_func; func; func = func->next) ++count;
  void* state = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(count, &state));
  call_graph_t graph = {module, state};
  tt_status_t status = TT_OK_STATUS;
  for (const tt_func_t* func = module->first_func; func && tt_status_is_ok(status); func = func->next) {
    status = visit_func(&graph, func, 0);
  }
  tt_free(state);
  return status;
}

tt_status_t tt_module_verify(const tt_module_t* module) {
  verifier_t v = {.module = module, .word_count = module->value_count / 64 + 1};
  void* words = NULL;
  TT_RETURN_IF_ERROR(tt_alloc_array(v.word_count, sizeof(*v.visible), &words));
  v.visible = words;
  tt_status_t status = TT_OK_STATUS;
  for (const tt_func_t* func = module->first_func; func && tt_status_is_ok(status); func = func->next) {
    const tt_func_t* first = tt_module_find_func(module, func->name);
    status =
        first == func ? verify_func(&v, func) : tt_status_create(TT_INVALID_ARGUMENT, "is defined twice");
    if (tt_status_is_ok(status)) continue;
    status = at_text(tt_status_annotate(status, "function @%s", func->name), v.at ? v.at : func->loc);
  }
  tt_free(words);
  return tt_status_is_ok(status) ? check_calls(module) : status;
}
