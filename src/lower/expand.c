// Replaces the composites of ir/composites.def by calls of functions that hold their StableHLO bodies, in a
// copy of the module. tt.check disappears: a foreign plugin has no place to report to.
#include "lower/expand.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char* name;
  tt_expand_fn_t expand;
} bodies[] = {
    {"tt.strided_read", tt_expand_strided_read},
    {"tt.strided_write", tt_expand_strided_write},
    {"tt.rng", tt_expand_rng},
    {"tt.softmax", tt_expand_softmax},
    {"tt.softmax_backward", tt_expand_softmax_backward},
    {"tt.layer_norm", tt_expand_layer_norm},
    {"tt.sdpa", tt_expand_sdpa},
    {"tt.sdpa_backward", tt_expand_sdpa_backward},
    {"tt.cumulative", tt_expand_cumulative},
};

static const tt_attr_t* composite_attr(const tt_expand_t* e, tt_attr_name_t name) {
  return tt_composite_attr(e->op, name);
}
int64_t tt_expand_int(const tt_expand_t* e, tt_attr_name_t name, int64_t fallback) {
  const tt_attr_t* a = composite_attr(e, name);
  return a && a->kind == TT_AK_INT ? a->i : fallback;
}
bool tt_expand_bool(const tt_expand_t* e, tt_attr_name_t name) {
  const tt_attr_t* a = composite_attr(e, name);
  return a && ((a->kind == TT_AK_BOOL && a->b) || (a->kind == TT_AK_INT && a->i));
}
double tt_expand_float(const tt_expand_t* e, tt_attr_name_t name, double fallback) {
  const tt_attr_t* a = composite_attr(e, name);
  return a && a->kind == TT_AK_FLOAT ? a->f : fallback;
}
const char* tt_expand_text(const tt_expand_t* e, tt_attr_name_t name) {
  const tt_attr_t* a = composite_attr(e, name);
  return a && a->text.data ? a->text.data : "";
}
tt_i64s_t tt_expand_i64s(const tt_expand_t* e, tt_attr_name_t name) {
  const tt_attr_t* a = composite_attr(e, name);
  return a && a->kind == TT_AK_I64S ? a->i64s : (tt_i64s_t){NULL, 0};
}

typedef struct walk_s {
  tt_lower_t* L;
  const char* const* kept;   // NULL-terminated names; NULL: none
  uint32_t made;
} walk_t;

static tt_status_t expand_op(walk_t* w, tt_op_t* op) {
  if (op->kind == TT_OP_CUSTOM_CALL && !strcmp(tt_op_attr_text(op, TT_ATTR_CALL_TARGET_NAME), "tt.check")) {
    tt_op_unlink(op);
    return TT_OK_STATUS;
  }
  if (op->kind != TT_OP_COMPOSITE || tt_op_attr(op, TT_ATTR_DECOMPOSITION)) return TT_OK_STATUS;
  const char* name = tt_op_attr_text(op, TT_ATTR_NAME);
  tt_expand_fn_t expand = NULL;
  for (const char* const* kept = w->kept; kept && *kept; ++kept)
    if (!strcmp(*kept, name)) return TT_OK_STATUS;
  for (size_t i = 0; i < TT_ARRAY_LENGTH(bodies); ++i) {
    if (!strcmp(bodies[i].name, name)) expand = bodies[i].expand;
  }
  if (!expand) return tt_status_create(TT_UNIMPLEMENTED, "the composite %s has no StableHLO body", name);
  tt_builder_t* b = w->L->b;
  if (op->operand_count > 16 || op->result_count > 4)
    return tt_status_create(TT_INTERNAL, "%s: too many operands", name);
  const tt_type_t* types[16];
  V in[16];
  for (uint32_t i = 0; i < op->operand_count; ++i) types[i] = op->operands[i]->type;
  char text[64];
  snprintf(text, sizeof text, "tt_body_%u", w->made++);
  tt_func_t* func = tt_b_func_begin(b, tt_arena_strndup(&b->module->arena, text, strlen(text)), false,
                                    op->operand_count, types);
  if (!func) return tt_builder_take_status(b);
  for (uint32_t i = 0; i < op->operand_count; ++i) in[i] = tt_b_func_arg(func, i);
  tt_expand_t e = {.L = w->L, .op = op, .in = in};
  expand(&e);
  for (uint32_t i = 0; i < op->result_count; ++i) {
    if (e.out[i] && e.out[i]->type != op->results[i].type) {
      tt_builder_fail(b, TT_INTERNAL, "%s: result %u of its body has another type", name, i);
    }
  }
  tt_b_func_end(b, func, op->result_count, e.out);
  if (!tt_builder_ok(b)) return tt_status_annotate(tt_builder_take_status(b), "body of %s", name);
  tt_attr_t* callee = tt_arena_alloc(&b->module->arena, sizeof *callee);
  if (!callee) return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for a call");
  *callee = tt_attr_string(TT_ATTR_CALLEE, func->name);
  callee->kind = TT_AK_SYMBOL;
  op->kind = TT_OP_FUNC_CALL;
  op->attrs = callee;
  op->attr_count = 1;
  return TT_OK_STATUS;
}

static tt_status_t expand_block(walk_t* w, tt_block_t* block) {
  for (tt_op_t *op = block->first, *next; op; op = next) {
    next = op->next;
    for (uint32_t r = 0; r < op->region_count; ++r)
      TT_RETURN_IF_ERROR(expand_block(w, &op->regions[r].block));
    TT_RETURN_IF_ERROR(expand_op(w, op));
  }
  return TT_OK_STATUS;
}

tt_status_t tt_lower_expand(const tt_module_t* module, const char* const* kept, tt_module_t** out_module) {
  *out_module = NULL;
  tt_module_t* copy;
  TT_RETURN_IF_ERROR(tt_module_specialise(module, NULL, 0, &copy));
  tt_builder_t b;
  tt_builder_initialize(&b, copy);
  tt_arena_t scratch;
  tt_arena_initialize(&scratch);
  tt_target_t target = {.name = "foreign"};
  tt_lower_t L = {.b = &b, .target = &target, .scratch = &scratch, .op = "expand"};
  walk_t walk = {.L = &L, .kept = kept};
  tt_status_t status = TT_OK_STATUS;
  // Bodies come behind the last function of the copy and hold no composites themselves.
  const tt_func_t* last = copy->last_func;
  for (tt_func_t* func = copy->first_func; func && tt_status_is_ok(status); func = func->next) {
    status = expand_block(&walk, &func->body.block);
    if (func == last) break;
  }
  tt_arena_deinitialize(&scratch);
  tt_builder_deinitialize(&b);
  if (!tt_status_is_ok(status)) {
    tt_module_release(copy);
    return status;
  }
  *out_module = copy;
  return TT_OK_STATUS;
}
