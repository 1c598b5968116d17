// The general builder: errors, functions, ops, regions.
#include <setjmp.h>
#include <stdarg.h>

#include "ir/builder_internal.h"
#include "ir/type_table.h"

void tt_builder_initialize(tt_builder_t* b, tt_module_t* module) {
  *b = (tt_builder_t){.module = module};
}

void tt_builder_deinitialize(tt_builder_t* b) {
  tt_status_free(b->status);
  *b = (tt_builder_t){0};
}

tt_status_t tt_builder_take_status(tt_builder_t* b) {
  tt_status_t status = b->status;
  b->status = TT_OK_STATUS;
  return status;
}

bool tt_builder_ok(const tt_builder_t* b) { return tt_status_is_ok(b->status); }

// After an error: leaves for the caller's escape, if there is one.
static void escape(tt_builder_t* b) {
  if (b->status && b->escape) longjmp(*(jmp_buf*)b->escape, 1);
}

tt_value_t* tt_builder_fail(tt_builder_t* b, tt_status_code_t code, const char* format, ...) {
  if (!tt_builder_ok(b)) return NULL;
  va_list args;
  va_start(args, format);
  b->status = tt_status_create_va(code, format, args);
  va_end(args);
  escape(b);
  return NULL;
}

void* tt_b_out_of_memory(tt_builder_t* b) {
  tt_builder_fail(b, TT_RESOURCE_EXHAUSTED, "out of host memory building a program");
  return NULL;
}

bool tt_b_ready(tt_builder_t* b, const tt_value_t* x, const char* what) {
  if (TT_UNLIKELY(!tt_builder_ok(b))) return false;
  if (TT_LIKELY(x != NULL)) return true;
  tt_builder_fail(b, TT_INTERNAL, "%s: an operand is NULL", what);
  return false;
}

bool tt_b_ready_list(tt_builder_t* b, size_t count, tt_value_t* const* xs, const char* what) {
  if (!tt_builder_ok(b)) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!tt_b_ready(b, xs[i], what)) return false;
  }
  return true;
}

// ---- ops ---------------------------------------------------------------------------------------
static tt_op_t* allocate_op(tt_builder_t* b, const tt_op_t* shape) {
  // One block: the op, its results, operands, attributes, regions.
  size_t results = tt_align_up(sizeof(tt_op_t), 16);
  size_t operands = results + tt_align_up(shape->result_count * sizeof(tt_value_t), 16);
  size_t attrs = operands + tt_align_up(shape->operand_count * sizeof(tt_value_t*), 16);
  size_t regions = attrs + tt_align_up(shape->attr_count * sizeof(tt_attr_t), 16);
  size_t bytes = regions + shape->region_count * sizeof(tt_region_t);
  char* block = tt_arena_alloc(&b->module->arena, bytes);
  if (!block) return tt_b_out_of_memory(b);
  tt_op_t* op = (tt_op_t*)block;
  *op = *shape;
  op->results = (tt_value_t*)(block + results);
  op->operands = (tt_value_t**)(block + operands);
  op->attrs = (tt_attr_t*)(block + attrs);
  op->regions = (tt_region_t*)(block + regions);
  for (uint16_t i = 0; i < op->region_count; ++i) {
    op->regions[i].op = op;
    op->regions[i].block.region = &op->regions[i];
  }
  return op;
}

static void append_op(tt_block_t* block, tt_op_t* op) {
  op->block = block;
  op->prev = block->last;
  if (block->last) block->last->next = op; else block->first = op;
  block->last = op;
}

// Allocates and appends an op like `shape`, whose operands and attributes are the caller's.
static tt_op_t* place_op(tt_builder_t* b, const tt_op_t* shape, const tt_type_t* const* result_types,
                         tt_type_map_t map, void* self) {
  tt_op_t* op = allocate_op(b, shape);
  if (!op) return NULL;
  for (uint32_t i = 0; i < shape->operand_count; ++i) {
    op->operands[i] = shape->operands[i];
    ++op->operands[i]->uses;
  }
  for (uint16_t i = 0; i < shape->attr_count; ++i) {
    tt_attr_t* attr = &op->attrs[i];
    if (!tt_attr_copy(&b->module->arena, &shape->attrs[i], map, self, attr)) return tt_b_out_of_memory(b);
    if (attr->kind == TT_AK_DENSE && !(attr->dense.type = tt_type_intern(b->module, attr->dense.type))) {
      return tt_b_out_of_memory(b);
    }
  }
  for (uint32_t i = 0; i < shape->result_count; ++i) {
    if (!result_types[i]) return tt_b_out_of_memory(b);  // the interner's only way to fail
    op->results[i] =
        (tt_value_t){.type = result_types[i], .op = op, .index = i, .id = b->module->value_count++};
  }
  append_op(b->block, op);
  return op;
}

// Writes up to `capacity` inferred types; the number, or -1 after an error.
static int64_t infer_types(tt_builder_t* b, const tt_op_t* shape, const tt_type_t** types,
                           uint32_t capacity) {
  tt_infer_t in = {.module = b->module, .names = b->module, .op = shape, .out = types, .capacity = capacity};
  b->status = tt_infer_op(&in);
  escape(b);
  if (!tt_builder_ok(b)) return -1;
  if (in.open) {
    tt_builder_fail(b, TT_INVALID_ARGUMENT, "%s: result types cannot be inferred and were not given",
                    tt_op_info(shape->kind)->name);
    return -1;
  }
  return in.count;
}

tt_op_t* tt_b_op(tt_builder_t* b, tt_op_kind_t kind, size_t operand_count, tt_value_t* const* operands,
                 size_t attr_count, const tt_attr_t* attrs, size_t result_count,
                 const tt_type_t* const* result_types, size_t region_count) {
  if (TT_UNLIKELY(!tt_builder_ok(b))) return NULL;
  const char* name = tt_op_info(kind)->name;
  if (TT_UNLIKELY(!b->block)) return (void*)tt_builder_fail(b, TT_INTERNAL, "%s: no insertion point", name);
  if (!tt_b_ready_list(b, operand_count, operands, name)) return NULL;
  if (attr_count > UINT16_MAX || region_count > UINT16_MAX || operand_count > UINT32_MAX) {
    return (void*)tt_builder_fail(b, TT_INVALID_ARGUMENT, "%s: too many operands, attributes or regions",
                                  name);
  }
  tt_op_t shape = {.kind = kind, .attr_count = (uint16_t)attr_count, .region_count = (uint16_t)region_count,
                   .operand_count = (uint32_t)operand_count, .operands = (tt_value_t**)operands,
                   .attrs = (tt_attr_t*)attrs, .loc = b->loc};
  const tt_type_t* few[8];
  if (!result_types) {
    const tt_type_t** types = few;
    uint32_t capacity = TT_ARRAY_LENGTH(few);
    if (operand_count + 3 > capacity || kind == TT_OP_FUNC_CALL) {  // no op infers more than operands + 3
      capacity = (uint32_t)operand_count + 3;
      if (kind == TT_OP_FUNC_CALL) {
        const tt_attr_t* callee_name = tt_attr_find(attrs, attr_count, TT_ATTR_CALLEE);
        const tt_func_t* callee = callee_name && callee_name->text.data
                                      ? tt_module_find_func(b->module, callee_name->text.data)
                                      : NULL;
        if (callee) capacity = TT_MAX(capacity, callee->result_count);
      }
      types = tt_arena_alloc_array(&b->module->arena, capacity, sizeof(*types));
      if (!types) return tt_b_out_of_memory(b);
    }
    int64_t count = infer_types(b, &shape, types, capacity);
    if (count < 0) return NULL;
    if (result_count && result_count != (size_t)count) {
      return (void*)tt_builder_fail(b, TT_INTERNAL, "%s: %zu results asked for, it has %lld", name,
                                    result_count, (long long)count);
    }
    result_types = types;
    result_count = (size_t)count;
  }
  shape.result_count = (uint32_t)result_count;
  return place_op(b, &shape, result_types, NULL, NULL);
}

tt_op_t* tt_b_op_mapped(tt_builder_t* b, const tt_op_t* like, tt_value_t* const* operands,
                        const tt_type_t* const* result_types, tt_type_map_t map, void* self) {
  if (!tt_b_ready_list(b, like->operand_count, operands, tt_op_info(like->kind)->name)) return NULL;
  tt_op_t shape = {.kind = like->kind, .attr_count = like->attr_count, .region_count = like->region_count,
                   .operand_count = like->operand_count, .result_count = like->result_count,
                   .operands = (tt_value_t**)operands, .attrs = like->attrs, .loc = b->loc};
  return place_op(b, &shape, result_types, map, self);
}

tt_value_t* tt_b_checked(tt_builder_t* b, tt_op_t* op) {
  if (!op) return NULL;
  b->status = tt_op_check(b->module, op);
  escape(b);
  return tt_builder_ok(b) ? &op->results[0] : NULL;
}

// ---- functions ---------------------------------------------------------------------------------
static void set_arg(tt_builder_t* b, tt_block_t* block, uint32_t index, const tt_type_t* type) {
  block->args[index] =
      (tt_value_t){.type = type, .block = block, .index = index, .id = b->module->value_count++};
}

tt_func_t* tt_b_func_begin(tt_builder_t* b, const char* name, bool is_public, size_t arg_count,
                           const tt_type_t* const* arg_types) {
  if (!tt_builder_ok(b)) return NULL;
  tt_module_t* module = b->module;
  if (arg_count > UINT32_MAX / 2) {
    return (void*)tt_builder_fail(b, TT_INVALID_ARGUMENT, "@%s: %zu arguments", name, arg_count);
  }
  if (tt_module_find_func(module, name)) {
    return (void*)tt_builder_fail(b, TT_INVALID_ARGUMENT, "function @%s exists already", name);
  }
  tt_func_t* func = tt_arena_alloc(&module->arena, sizeof(*func));
  if (!func) return tt_b_out_of_memory(b);
  func->arg_capacity = TT_MAX((uint32_t)arg_count, 4u);
  func->name = tt_arena_strndup(&module->arena, name, strlen(name));
  func->body.block.args = tt_arena_alloc_array(&module->arena, func->arg_capacity, sizeof(tt_value_t));
  if (!func->name || !func->body.block.args) return tt_b_out_of_memory(b);
  func->module = module;
  func->is_public = is_public;
  func->body.func = func;
  func->body.block.region = &func->body;
  for (size_t i = 0; i < arg_count; ++i) {
    if (!arg_types[i]) return tt_b_out_of_memory(b);
    set_arg(b, &func->body.block, (uint32_t)i, arg_types[i]);
  }
  func->body.block.arg_count = (uint32_t)arg_count;
  if (module->last_func) module->last_func->next = func; else module->first_func = func;
  module->last_func = func;
  b->block = &func->body.block;
  return func;
}

tt_value_t* tt_b_func_arg(tt_func_t* func, size_t index) {
  return func && index < func->body.block.arg_count ? &func->body.block.args[index] : NULL;
}

tt_value_t* tt_b_func_add_arg(tt_builder_t* b, tt_func_t* func, const tt_type_t* type) {
  if (!tt_builder_ok(b)) return NULL;
  if (!func || !type) return tt_builder_fail(b, TT_INTERNAL, "an argument needs a function and a type");
  tt_block_t* block = &func->body.block;
  if (block->arg_count == func->arg_capacity) {
    // Old argument values stay readable for those who hold them; tt_b_func_end redirects their uses.
    uint32_t capacity = func->arg_capacity * 2;
    tt_value_t* args = tt_arena_alloc_array(&b->module->arena, capacity, sizeof(*args));
    if (!args) return tt_b_out_of_memory(b);
    memcpy(args, block->args, block->arg_count * sizeof(*args));
    for (uint32_t i = 0; i < block->arg_count; ++i) args[i].uses = 0;  // counted again at the end
    if (func->arg_attrs) {
      void* attrs = tt_arena_alloc_array(&b->module->arena, capacity, sizeof(*func->arg_attrs));
      if (!attrs) return tt_b_out_of_memory(b);
      memcpy(attrs, func->arg_attrs, block->arg_count * sizeof(*func->arg_attrs));
      func->arg_attrs = attrs;
    }
    block->args = args;
    func->arg_capacity = capacity;
    func->args_moved = true;
  }
  set_arg(b, block, block->arg_count, type);
  return &block->args[block->arg_count++];
}

void tt_b_func_arg_attr(tt_builder_t* b, tt_func_t* func, size_t arg, tt_attr_t attr) {
  if (!tt_builder_ok(b)) return;
  if (!func || arg >= func->body.block.arg_count) {
    tt_builder_fail(b, TT_INTERNAL, "attribute of argument %zu, which does not exist", arg);
    return;
  }
  tt_arena_t* arena = &b->module->arena;
  if (!func->arg_attrs) {
    func->arg_attrs = tt_arena_alloc_array(arena, func->arg_capacity, sizeof(*func->arg_attrs));
    if (!func->arg_attrs) {
      tt_b_out_of_memory(b);
      return;
    }
  }
  size_t size = func->arg_attrs[arg].size;
  tt_attr_t* list = tt_arena_alloc_array(arena, size + 1, sizeof(*list));
  if (!list || !tt_attr_copy(arena, &attr, NULL, NULL, &list[size])) {
    tt_b_out_of_memory(b);
    return;
  }
  if (size) memcpy(list, func->arg_attrs[arg].data, size * sizeof(*list));
  func->arg_attrs[arg].data = list;
  func->arg_attrs[arg].size = size + 1;
}

static tt_status_t redirect_arguments(void* self, tt_op_t* op) {
  tt_block_t* block = self;
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    tt_value_t* x = op->operands[i];
    if (x->op || x->block != block) continue;
    op->operands[i] = &block->args[x->index];
    ++op->operands[i]->uses;
  }
  return TT_OK_STATUS;
}

void tt_b_func_end(tt_builder_t* b, tt_func_t* func, size_t count, tt_value_t* const* results) {
  if (!tt_builder_ok(b)) return;
  if (!func || b->block != &func->body.block) {
    tt_builder_fail(b, TT_INTERNAL, "the insertion point is not in the function to end");
    return;
  }
  if (!tt_b_ready_list(b, count, results, "func.return")) return;
  if (!tt_b_op(b, TT_OP_FUNC_RETURN, count, results, 0, NULL, 0, NULL, 0)) return;
  func->result_types = tt_arena_alloc_array(&b->module->arena, count, sizeof(*func->result_types));
  if (!func->result_types) {
    tt_b_out_of_memory(b);
    return;
  }
  for (size_t i = 0; i < count; ++i) func->result_types[i] = results[i]->type;
  func->result_count = (uint32_t)count;
  if (func->args_moved) {
    for (uint32_t i = 0; i < func->body.block.arg_count; ++i) func->body.block.args[i].uses = 0;
    tt_status_ignore(tt_func_walk(func, redirect_arguments, &func->body.block));  // the visitor cannot fail
    func->args_moved = false;
  }
  b->block = NULL;
}

// ---- regions -----------------------------------------------------------------------------------
bool tt_b_region_add_args(tt_builder_t* b, tt_op_t* op, size_t region, size_t count,
                          const tt_type_t* const* types) {
  tt_block_t* block = &op->regions[region].block;
  if (count == 0) return true;
  if (block->arg_count != 0) {
    tt_builder_fail(b, TT_INTERNAL, "%s: region %zu has its arguments already", tt_op_info(op->kind)->name,
                    region);
    return false;
  }
  block->args = tt_arena_alloc_array(&b->module->arena, count, sizeof(*block->args));
  if (!block->args) {
    tt_b_out_of_memory(b);
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!types[i]) {
      tt_b_out_of_memory(b);
      return false;
    }
    set_arg(b, block, (uint32_t)i, types[i]);
  }
  block->arg_count = (uint32_t)count;
  return true;
}

tt_block_t* tt_b_region_begin(tt_builder_t* b, tt_op_t* op, size_t index, size_t arg_count,
                              const tt_type_t* const* arg_types) {
  if (!tt_builder_ok(b)) return NULL;
  if (!op || index >= op->region_count) {
    return (void*)tt_builder_fail(b, TT_INTERNAL, "region %zu does not exist", index);
  }
  if (!tt_b_region_add_args(b, op, index, arg_count, arg_types)) return NULL;
  tt_block_t* saved = b->block;
  b->block = &op->regions[index].block;
  return saved;
}

void tt_b_region_end(tt_builder_t* b, tt_block_t* saved, size_t count, tt_value_t* const* results) {
  if (!tt_builder_ok(b)) return;
  tt_b_op(b, TT_OP_RETURN, count, results, 0, NULL, 0, NULL, 0);
  b->block = saved;
}

tt_value_t* tt_b_region_arg(tt_op_t* op, size_t region, size_t index) {
  if (!op || region >= op->region_count || index >= op->regions[region].block.arg_count) return NULL;
  return &op->regions[region].block.args[index];
}

void tt_b_binary_region(tt_builder_t* b, tt_op_t* op, size_t region, tt_op_kind_t kind,
                        const tt_type_t* type) {
  if (!tt_builder_ok(b) || !op) return;
  const tt_type_t* types[2] = {type, type};
  tt_block_t* saved = tt_b_region_begin(b, op, region, 2, types);
  tt_value_t* result = tt_b_binary(b, kind, tt_b_region_arg(op, region, 0), tt_b_region_arg(op, region, 1));
  tt_b_region_end(b, saved, 1, &result);
}
