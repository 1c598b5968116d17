#include "ir/precision.h"

#include "ir/clone.h"

#define MAX_PARTS 3

static const tt_type_t* same_type(tt_clone_t* clone, const tt_type_t* type) {
  return tt_type_intern(clone->builder.module, type);
}

// x = parts[0] + parts[1] + ...: each the bfloat16 nearest to what is left. Nothing is left of an infinity or a NaN.
static void split(tt_builder_t* b, tt_value_t* x, int count, tt_value_t** parts) {
  for (int i = 0; i < count; ++i) {
    parts[i] = tt_b_reduce_precision(b, x, 8, 7);
    if (i + 1 == count || !tt_builder_ok(b)) continue;
    tt_value_t* finite = tt_b_unary(b, TT_OP_IS_FINITE, parts[i]);
    tt_value_t* rest = tt_b_binary(b, TT_OP_SUBTRACT, x, parts[i]);
    x = tt_b_select(b, finite, rest, tt_b_splat_f64(b, rest ? rest->type : NULL, 0));
  }
}

static tt_value_t* product(tt_builder_t* b, const tt_op_t* like, tt_value_t* x, tt_value_t* y) {
  tt_value_t* operands[2] = {x, y};
  tt_op_t* op =
      tt_b_op(b, like->kind, 2, operands, like->attr_count, like->attrs, 1, &like->results[0].type, 0);
  return op ? &op->results[0] : NULL;
}

static tt_value_t* round_product(tt_clone_t* clone, const tt_op_t* from, tt_op_t* copy) {
  if (from->kind != TT_OP_DOT_GENERAL && from->kind != TT_OP_CONVOLUTION) return NULL;
  if (from->operands[0]->type->dtype != TT_DTYPE_F32 || from->operands[1]->type->dtype != TT_DTYPE_F32) return NULL;
  // {left part, right part}, the smallest products first
  static const struct { int passes, x, y; } terms[] = {{6, 2, 0}, {6, 0, 2}, {6, 1, 1}, {3, 1, 0}, {3, 0, 1}, {1, 0, 0}};
  int passes = *(const int*)clone->self, count = passes == 6 ? 3 : passes == 3 ? 2 : 1;
  tt_builder_t* b = &clone->builder;
  tt_value_t *x[MAX_PARTS], *y[MAX_PARTS], *sum = NULL;
  split(b, copy->operands[0], count, x);
  split(b, copy->operands[1], count, y);
  for (size_t i = 0; i < TT_ARRAY_LENGTH(terms) && tt_builder_ok(b); ++i) {
    if (terms[i].passes > passes) continue;
    tt_value_t* term = product(b, copy, x[terms[i].x], y[terms[i].y]);
    sum = sum ? tt_b_binary(b, TT_OP_ADD, sum, term) : term;
  }
  return sum;   // the copied product has no users left
}

tt_status_t tt_module_round_products(const tt_module_t* module, int passes, tt_module_t** out_module) {
  *out_module = NULL;
  if (passes != 1 && passes != 3 && passes != 6) {
    return tt_status_create(TT_INVALID_ARGUMENT, "%d bfloat16 passes; allowed: 1, 3, 6", passes);
  }
  tt_clone_t clone = {.from = module, .map_type = same_type, .after_op = round_product, .self = &passes};
  return tt_clone_run(&clone, out_module);
}
