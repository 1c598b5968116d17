#include "ir/clone.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/builder_internal.h"

static const tt_type_t* map_type(void* self, const tt_type_t* type) {
  tt_clone_t* clone = self;
  const tt_type_t* mapped = clone->map_type(clone, type);
  return mapped ? mapped : tt_b_out_of_memory(&clone->builder);  // keeps an error that is set
}

static bool copy_attr_list(tt_clone_t* clone, const tt_attr_t* from, size_t count, tt_attr_t** out) {
  tt_arena_t* arena = &clone->builder.module->arena;
  tt_attr_t* list = tt_arena_alloc_array(arena, count, sizeof(*list));
  for (size_t i = 0; list && i < count; ++i) {
    if (!tt_attr_copy(arena, &from[i], map_type, clone, &list[i])) list = NULL;
  }
  if (!list) tt_b_out_of_memory(&clone->builder);
  *out = list;
  return list != NULL;
}

static const tt_loc_t* copy_loc(tt_clone_t* clone, const tt_loc_t* loc) {
  tt_arena_t* arena = &clone->builder.module->arena;
  if (!loc) return NULL;
  tt_loc_t* copy = tt_arena_copy(arena, loc, sizeof(*loc));
  if (copy && loc->file) copy->file = tt_arena_strndup(arena, loc->file, strlen(loc->file));
  if (copy && loc->name) copy->name = tt_arena_strndup(arena, loc->name, strlen(loc->name));
  return copy;  // a location lost to short memory is no error
}

static bool map_args(tt_clone_t* clone, const tt_block_t* from, tt_block_t* to) {
  if (!to || from->arg_count != to->arg_count) return false;
  for (uint32_t i = 0; i < from->arg_count; ++i) clone->values[from->args[i].id] = &to->args[i];
  return true;
}

static void copy_block(tt_clone_t* clone, const tt_block_t* from);

// Pointers of mapped things, few on the stack. NULL: the builder holds the error.
static void* room(tt_clone_t* clone, size_t count, void* few, size_t few_count) {
  if (count <= few_count) return few;
  void* block = tt_arena_alloc_array(&clone->builder.module->arena, count, sizeof(void*));
  return block ? block : tt_b_out_of_memory(&clone->builder);
}

static const tt_type_t** block_types(tt_clone_t* clone, const tt_block_t* block, void* few,
                                     size_t few_count) {
  const tt_type_t** types = room(clone, block->arg_count, few, few_count);
  for (uint32_t i = 0; types && i < block->arg_count; ++i) {
    types[i] = map_type(clone, block->args[i].type);
    if (!types[i]) return NULL;
  }
  return types;
}

// The op itself, its regions still empty.
static tt_op_t* copy_alone(tt_clone_t* clone, const tt_op_t* from, tt_value_t* const* operands,
                           const tt_type_t* const* types) {
  tt_builder_t* b = &clone->builder;
  if (!tt_builder_ok(b)) return NULL;
  b->loc = copy_loc(clone, from->loc);
  tt_op_t* op = tt_b_op_mapped(b, from, operands, types, map_type, clone);
  if (!op) return NULL;
  for (uint32_t i = 0; i < from->result_count; ++i) clone->values[from->results[i].id] = &op->results[i];
  return op;
}

static void copy_regions(tt_clone_t* clone, const tt_op_t* from, tt_op_t* op) {
  tt_builder_t* b = &clone->builder;
  for (uint16_t i = 0; i < from->region_count && tt_builder_ok(b); ++i) {
    const tt_block_t* block = &from->regions[i].block;
    void* few[16];
    const tt_type_t** args = block_types(clone, block, few, 16);
    if (!args) return;
    tt_block_t* saved = tt_b_region_begin(b, op, i, block->arg_count, args);
    if (!tt_builder_ok(b)) return;
    if (map_args(clone, block, &op->regions[i].block)) copy_block(clone, block);
    b->block = saved;
  }
}

tt_op_t* tt_clone_op(tt_clone_t* clone, const tt_op_t* from, tt_value_t* const* operands,
                     const tt_type_t* const* types) {
  tt_op_t* op = copy_alone(clone, from, operands, types);
  if (op) copy_regions(clone, from, op);
  return tt_builder_ok(&clone->builder) ? op : NULL;
}

void tt_clone_block(tt_clone_t* clone, const tt_block_t* from) { copy_block(clone, from); }

static void copy_op(tt_clone_t* clone, const tt_op_t* from) {
  tt_builder_t* b = &clone->builder;
  void *few_operands[16], *few_types[16];
  tt_value_t** operands = room(clone, from->operand_count, few_operands, 16);
  const tt_type_t** types = room(clone, from->result_count, few_types, 16);
  if (!operands || !types) return;
  for (uint32_t i = 0; i < from->operand_count; ++i) operands[i] = clone->values[from->operands[i]->id];
  bool given = clone->result_types && clone->result_types(clone, from, types);
  for (uint32_t i = 0; !given && i < from->result_count; ++i) {
    types[i] = map_type(clone, from->results[i].type);
    if (!types[i]) return;
  }
  tt_op_t* op = copy_alone(clone, from, operands, types);
  if (!op) return;
  if (clone->after_op) {
    tt_value_t* instead = clone->after_op(clone, from, op);
    if (!tt_builder_ok(b)) return;
    if (instead) clone->values[from->results[0].id] = instead;
  }
  copy_regions(clone, from, op);
}

static void copy_block(tt_clone_t* clone, const tt_block_t* from) {
  for (const tt_op_t* op = from->first; op && tt_builder_ok(&clone->builder); op = op->next)
    copy_op(clone, op);
}

static void copy_func(tt_clone_t* clone, const tt_func_t* from) {
  tt_builder_t* b = &clone->builder;
  tt_arena_t* arena = &b->module->arena;
  const tt_block_t* block = &from->body.block;
  void* few[16];
  const tt_type_t** types = block_types(clone, block, few, 16);
  if (!types) return;
  tt_func_t* func = tt_b_func_begin(b, from->name, from->is_public, block->arg_count, types);
  if (!func || !map_args(clone, block, &func->body.block)) return;
  clone->from_func = from;
  clone->func = func;
  func->attrs.size = from->attrs.size;
  if (!copy_attr_list(clone, from->attrs.data, from->attrs.size, &func->attrs.data)) return;
  if (from->arg_attrs) {
    func->arg_attrs = tt_arena_alloc_array(arena, func->arg_capacity, sizeof(*func->arg_attrs));
    for (uint32_t i = 0; func->arg_attrs && i < block->arg_count; ++i) {
      func->arg_attrs[i].size = from->arg_attrs[i].size;
      if (!copy_attr_list(clone, from->arg_attrs[i].data, from->arg_attrs[i].size, &func->arg_attrs[i].data))
        return;
    }
  }
  func->result_types = tt_arena_alloc_array(arena, from->result_count, sizeof(*func->result_types));
  if (from->result_attrs) {
    func->result_attrs = tt_arena_alloc_array(arena, from->result_count, sizeof(*func->result_attrs));
    for (uint32_t i = 0; func->result_attrs && i < from->result_count; ++i) {
      func->result_attrs[i].size = from->result_attrs[i].size;
      if (!copy_attr_list(clone, from->result_attrs[i].data, from->result_attrs[i].size,
                          &func->result_attrs[i].data))
        return;
    }
  }
  if (!func->result_types || (from->arg_attrs && !func->arg_attrs) ||
      (from->result_attrs && !func->result_attrs)) {
    tt_b_out_of_memory(b);
    return;
  }
  copy_block(clone, block);
  if (!tt_builder_ok(b)) return;
  const tt_op_t* end = func->body.block.last;
  for (uint32_t i = 0; i < from->result_count; ++i) {
    func->result_types[i] =
        end && i < end->operand_count ? end->operands[i]->type : map_type(clone, from->result_types[i]);
  }
  func->result_count = from->result_count;
}

tt_status_t tt_clone_run(tt_clone_t* clone, tt_module_t** out_module) {
  tt_module_t* module = NULL;
  void* values = NULL;
  *out_module = NULL;
  TT_RETURN_IF_ERROR(tt_alloc_array(clone->from->value_count, sizeof(tt_value_t*), &values));
  tt_status_t status = tt_module_create(&module);
  if (tt_status_is_ok(status)) {
    tt_builder_t* b = &clone->builder;
    tt_builder_initialize(b, module);
    clone->values = values;
    if (clone->from->name) {
      module->name = tt_arena_strndup(&module->arena, clone->from->name, strlen(clone->from->name));
      if (!module->name) tt_b_out_of_memory(b);
    }
    module->attrs.size = clone->from->attrs.size;
    if (tt_builder_ok(b))
      copy_attr_list(clone, clone->from->attrs.data, clone->from->attrs.size, &module->attrs.data);
    for (const tt_func_t* func = clone->from->first_func; func && tt_builder_ok(b); func = func->next) {
      copy_func(clone, func);
      if (!tt_builder_ok(b)) b->status = tt_status_annotate(b->status, "function @%s", func->name);
    }
    status = tt_builder_take_status(b);
    tt_builder_deinitialize(b);
  }
  tt_free(values);
  if (!tt_status_is_ok(status)) {
    tt_module_release(module);
    return status;
  }
  *out_module = module;
  return TT_OK_STATUS;
}
