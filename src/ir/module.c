// Modules: life time, look-up, walking.
#include <string.h>

#include "ir/type_table.h"

tt_status_t tt_module_create(tt_module_t** out_module) {
  // The module stands in its own arena: one allocation for a small program.
  tt_arena_t arena;
  tt_arena_initialize(&arena);
  *out_module = NULL;
  tt_module_t* module = tt_arena_alloc(&arena, sizeof(*module));
  tt_type_table_t* table = module ? tt_arena_alloc(&arena, sizeof(*table)) : NULL;
  if (!table) {
    tt_arena_deinitialize(&arena);
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory creating a module");
  }
  table->items = table->inline_items;
  table->capacity = TT_TYPE_TABLE_INLINE;
  module->arena = arena;
  module->references = 1;
  module->types = table;
  *out_module = module;
  return TT_OK_STATUS;
}

void tt_module_retain(tt_module_t* module) {
  if (module) __atomic_add_fetch(&module->references, 1, __ATOMIC_RELAXED);
}

void tt_module_release(tt_module_t* module) {
  // acquire-release: the last owner sees what the others wrote before it frees the arena
  if (!module || __atomic_sub_fetch(&module->references, 1, __ATOMIC_ACQ_REL) != 0) return;
  tt_arena_t arena = module->arena;
  tt_arena_deinitialize(&arena);
}

tt_func_t* tt_module_find_func(const tt_module_t* module, const char* name) {
  for (tt_func_t* func = module->first_func; func; func = func->next) {
    if (strcmp(func->name, name) == 0) return func;
  }
  return NULL;
}

tt_func_t* tt_module_main(const tt_module_t* module) {
  tt_func_t* only = NULL;
  int count = 0;
  for (tt_func_t* func = module->first_func; func; func = func->next) {
    if (strcmp(func->name, "main") == 0) return func;
    if (func->is_public) {
      only = func;
      ++count;
    }
  }
  return count == 1 ? only : NULL;
}

static tt_status_t walk_block(tt_block_t* block, tt_op_visitor_t visit, void* self) {
  for (tt_op_t *op = block->first, *next; op; op = next) {
    next = op->next;  // the visitor may unlink the op
    TT_RETURN_IF_ERROR(visit(self, op));
    for (uint16_t i = 0; i < op->region_count; ++i) {
      TT_RETURN_IF_ERROR(walk_block(&op->regions[i].block, visit, self));
    }
  }
  return TT_OK_STATUS;
}

tt_status_t tt_func_walk(tt_func_t* func, tt_op_visitor_t visit, void* self) {
  return walk_block(&func->body.block, visit, self);
}

tt_op_kind_t tt_region_binary_kind(const tt_region_t* region) {
  const tt_block_t* block = &region->block;
  const tt_op_t* op = block->first;
  if (block->arg_count != 2 || !op || op->operand_count != 2 || op->result_count != 1 ||
      op->region_count != 0) {
    return TT_OP_INVALID;
  }
  uint32_t traits = tt_op_info(op->kind)->traits;
  if (!(traits & TT_TRAIT_BINARY)) return TT_OP_INVALID;
  bool in_order = op->operands[0] == &block->args[0] && op->operands[1] == &block->args[1];
  bool swapped = op->operands[0] == &block->args[1] && op->operands[1] == &block->args[0];
  if (!in_order && !(swapped && (traits & TT_TRAIT_COMMUTATIVE))) return TT_OP_INVALID;
  const tt_op_t* end = op->next;
  bool returns = end && !end->next && (tt_op_info(end->kind)->traits & TT_TRAIT_TERMINATOR) &&
                 end->operand_count == 1 && end->operands[0] == &op->results[0];
  return returns ? op->kind : TT_OP_INVALID;
}

void tt_op_unlink(tt_op_t* op) {
  if (op->prev) op->prev->next = op->next;
  else op->block->first = op->next;
  if (op->next) op->next->prev = op->prev;
  else op->block->last = op->prev;
  for (uint32_t i = 0; i < op->operand_count; ++i) --op->operands[i]->uses;
}
