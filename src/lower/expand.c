// Replaces the composites of ir/composites.def, and its custom calls of linear algebra, by calls of functions that
// hold their StableHLO bodies, in a copy of the module. tt.check disappears: a foreign plugin has no place to report
// to. A custom call without a body stays: legalise.c refuses it by name.
#include "lower/expand.h"

#include <stdio.h>
#include <string.h>

typedef struct body_s {
  const char* name;
  tt_expand_fn_t expand;
} body_t;
static const body_t bodies[] = {
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
// Custom calls. Their products keep full precision whatever the program's other products do.
static const body_t calls[] = {
    {"tt.cholesky", tt_expand_cholesky},
    {"tt.lu", tt_expand_lu},
    {"tt.qr", tt_expand_qr},
    {"tt.geqrf", tt_expand_geqrf},
    {"tt.orgqr", tt_expand_orgqr},
    {"tt.eigh", tt_expand_eigh},
    {"tt.svd", tt_expand_svd},
    {"tt.ldl", tt_expand_ldl},
    {"tt.ldl_solve", tt_expand_ldl_solve},
};

static const tt_attr_t* composite_attr(const tt_expand_t* e, tt_attr_name_t name) {
  return e->op->kind == TT_OP_COMPOSITE ? tt_composite_attr(e->op, name) : tt_op_attr(e->op, name);
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

// ---- loops -------------------------------------------------------------------------------------
void tt_expand_while(tt_lower_t* L, size_t count, V* state, tt_expand_more_t more, tt_expand_step_t step,
                     void* self) {
  tt_op_t* loop = tt_b_while(L->b, count, state);
  if (!loop) return;
  for (size_t region = 0; region < 2; ++region) {
    tt_block_t* saved = tt_b_region_begin(L->b, loop, region, 0, NULL);
    for (size_t i = 0; i < count; ++i) state[i] = tt_b_region_arg(loop, region, i);
    V next = NULL;
    if (region == 0) next = more(L, state, self);
    else step(L, state, self);
    tt_b_region_end(L->b, saved, region == 0 ? 1 : count, region == 0 ? &next : state);
  }
  for (size_t i = 0; i < count; ++i) state[i] = tt_builder_ok(L->b) ? &loop->results[i] : NULL;
}

typedef struct counted_s {
  int64_t to;
  tt_expand_step_t step;
  void* self;
} counted_t;
static V is_below(tt_lower_t* L, V* state, void* self) {
  return LT(state[0], tt_b_scalar_i64(L->b, TT_DTYPE_S32, ((counted_t*)self)->to));
}
static void count_step(tt_lower_t* L, V* state, void* self) {
  counted_t* counted = self;
  V number = state[0];
  counted->step(L, state, counted->self);
  state[0] = ADD(number, tt_b_scalar_i64(L->b, TT_DTYPE_S32, 1));
}
void tt_expand_for(tt_lower_t* L, int64_t from, int64_t to, size_t count, V* state, tt_expand_step_t step,
                   void* self) {
  counted_t counted = {to, step, self};
  state[0] = tt_b_scalar_i64(L->b, TT_DTYPE_S32, from);
  tt_expand_while(L, count, state, is_below, count_step, &counted);
}

// ---- the walk ----------------------------------------------------------------------------------
typedef struct walk_s {
  tt_lower_t* L;
  const char* const* kept;   // NULL-terminated names; NULL: none
  uint32_t made;
} walk_t;

static const body_t* find_body(const body_t* list, size_t count, const char* name) {
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(list[i].name, name)) return &list[i];
  return NULL;
}

static void keep_precision(tt_builder_t* b, tt_block_t* block) {
  for (tt_op_t* op = block->first; op && tt_builder_ok(b); op = op->next) {
    tt_dtype_t dtype = op->operand_count ? op->operands[0]->type->dtype : TT_DTYPE_INVALID;
    if (op->kind == TT_OP_DOT_GENERAL && (dtype == TT_DTYPE_F32 || dtype == TT_DTYPE_C64) &&
        !tt_op_attr(op, TT_ATTR_PRECISION_CONFIG)) {
      tt_attr_t* attrs = tt_b_with_precision(b, op, "HIGHEST");
      if (!attrs) return;
      op->attrs = attrs;
      ++op->attr_count;
    }
    for (uint16_t r = 0; r < op->region_count; ++r) keep_precision(b, &op->regions[r].block);
  }
}

// The op becomes a call of a function that `body` fills.
static tt_status_t replace(walk_t* w, tt_op_t* op, const body_t* body) {
  tt_builder_t* b = w->L->b;
  if (op->operand_count > 16 || op->result_count > 4)
    return tt_status_create(TT_INTERNAL, "%s: too many operands", body->name);
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
  body->expand(&e);
  for (uint32_t i = 0; i < op->result_count; ++i) {
    if (e.out[i] && e.out[i]->type != op->results[i].type) {
      tt_builder_fail(b, TT_INTERNAL, "%s: result %u of its body has another type", body->name, i);
    }
  }
  tt_b_func_end(b, func, op->result_count, e.out);
  if (tt_builder_ok(b) && op->kind == TT_OP_CUSTOM_CALL) keep_precision(b, &func->body.block);
  if (!tt_builder_ok(b)) return tt_status_annotate(tt_builder_take_status(b), "body of %s", body->name);
  tt_attr_t* callee = tt_arena_alloc(&b->module->arena, sizeof *callee);
  if (!callee) return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for a call");
  *callee = tt_attr_string(TT_ATTR_CALLEE, func->name);
  callee->kind = TT_AK_SYMBOL;
  op->kind = TT_OP_FUNC_CALL;
  op->attrs = callee;
  op->attr_count = 1;
  return TT_OK_STATUS;
}

static tt_status_t expand_op(walk_t* w, tt_op_t* op) {
  if (op->kind == TT_OP_CUSTOM_CALL) {
    const char* target = tt_op_attr_text(op, TT_ATTR_CALL_TARGET_NAME);
    const body_t* body = find_body(calls, TT_ARRAY_LENGTH(calls), target);
    if (body) return replace(w, op, body);
    if (!strcmp(target, "tt.check")) tt_op_unlink(op);
    return TT_OK_STATUS;
  }
  if (op->kind != TT_OP_COMPOSITE || tt_op_attr(op, TT_ATTR_DECOMPOSITION)) return TT_OK_STATUS;
  const char* name = tt_op_attr_text(op, TT_ATTR_NAME);
  for (const char* const* kept = w->kept; kept && *kept; ++kept)
    if (!strcmp(*kept, name)) return TT_OK_STATUS;
  const body_t* body = find_body(bodies, TT_ARRAY_LENGTH(bodies), name);
  if (!body) return tt_status_create(TT_UNIMPLEMENTED, "the composite %s has no StableHLO body", name);
  return replace(w, op, body);
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
