#include "ir/legalise.h"

#include <string.h>

#include "ir/clone.h"
#include "ir/describe.h"

typedef struct legal_s {
  const tt_target_t* target;
  const tt_legalise_options_t* options;
} legal_t;

// ---- types -------------------------------------------------------------------------------------
static bool refuses(const legal_t* legal, tt_dtype_t dtype) {
  if (legal->options->emulate_float64 && (dtype == TT_DTYPE_F64 || dtype == TT_DTYPE_C128)) return false;
  return legal->target->dtype_support[dtype] == TT_SUPPORT_REFUSED;
}

static const tt_type_t* check_type(tt_clone_t* clone, const tt_type_t* type) {
  const legal_t* legal = clone->self;
  tt_builder_t* b = &clone->builder;
  for (uint32_t i = 0; i < type->element_count; ++i) {
    if (!check_type(clone, type->elements[i])) return NULL;
  }
  if (type->kind == TT_TYPE_TENSOR && refuses(legal, type->dtype)) {
    tt_builder_fail(b, TT_UNIMPLEMENTED, "dtype %s is not supported on %s", tt_dtype_name(type->dtype),
                    legal->target->name);
    return NULL;
  }
  if (type->quant) {
    tt_builder_fail(b, TT_UNIMPLEMENTED, "quantised type %s: %s takes none", TT_TYPE_TEXT(clone->from, type),
                    legal->target->name);
    return NULL;
  }
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (type->dims[i] >= 0 || (type->bounds && type->bounds[i] >= 0)) continue;
    tt_builder_fail(b, TT_INVALID_ARGUMENT,
                    "dimension %u of %s has no bound: %s takes static and bounded sizes", i,
                    TT_TYPE_TEXT(clone->from, type), legal->target->name);
    return NULL;
  }
  return tt_type_intern(b->module, type);
}

// ---- ops ---------------------------------------------------------------------------------------
static bool is_wide_integer(tt_dtype_t dtype) { return dtype == TT_DTYPE_S64 || dtype == TT_DTYPE_U64; }

// The product with its precision as an attribute; NULL: as it is.
static tt_value_t* say_precision(tt_builder_t* b, const tt_op_t* op, int passes) {
  const char* word = passes == 1 ? "DEFAULT" : passes == 3 ? "HIGH" : "HIGHEST";
  if (passes == 1 || tt_op_attr(op, TT_ATTR_PRECISION_CONFIG)) return NULL;
  tt_attr_t* attrs = tt_b_with_precision(b, op, word);
  if (!attrs) return NULL;
  tt_op_t* made = tt_b_op(b, op->kind, op->operand_count, op->operands, op->attr_count + 1u, attrs, 1,
                          &op->results[0].type, 0);
  return made ? &made->results[0] : NULL;
}

static tt_value_t* legal_product(tt_builder_t* b, const legal_t* legal, const tt_op_t* op) {
  tt_dtype_t dtype = op->operands[0]->type->dtype;
  if (!legal->target->int64_dot && (is_wide_integer(dtype) || is_wide_integer(op->results[0].type->dtype)))
    return tt_legalise_product(b, op);
  bool rounds = legal->target->rounds_f32 && (dtype == TT_DTYPE_F32 || dtype == TT_DTYPE_C64);
  return rounds ? say_precision(b, op, legal->options->matmul_passes) : NULL;
}

static void check_custom_call(tt_builder_t* b, const tt_target_t* target, const tt_op_t* op) {
  const char* name = tt_op_attr_text(op, TT_ATTR_CALL_TARGET_NAME);
  bool known = !target->custom_calls && strncmp(name, "tt.", 3) != 0;
  for (const char* const* call = target->custom_calls; call && *call && !known; ++call)
    known = strcmp(*call, name) == 0;
  if (!known)
    tt_builder_fail(b, TT_UNIMPLEMENTED, "the custom call \"%s\" is not one that %s has", name, target->name);
}

static tt_value_t* legal_op(tt_clone_t* clone, const tt_op_t* from, tt_op_t* copy) {
  const legal_t* legal = clone->self;
  tt_builder_t* b = &clone->builder;
  tt_value_t* instead = NULL;
  switch (from->kind) {
    case TT_OP_DOT_GENERAL:
    case TT_OP_CONVOLUTION: instead = legal_product(b, legal, copy); break;
    case TT_OP_FFT: {
      tt_dtype_t dtype = copy->operands[0]->type->dtype;
      if (!legal->target->fft64 && (dtype == TT_DTYPE_F64 || dtype == TT_DTYPE_C128))
        tt_builder_fail(b, TT_UNIMPLEMENTED, "Fourier transforms of %s do not exist on %s",
                        tt_dtype_name(dtype), legal->target->name);
      break;
    }
    case TT_OP_CUSTOM_CALL: check_custom_call(b, legal->target, copy); break;
    case TT_OP_COMPOSITE:
      if (!tt_op_attr(from, TT_ATTR_DECOMPOSITION))
        tt_builder_fail(b, TT_INTERNAL, "the composite %s is not expanded",
                        tt_op_attr_text(from, TT_ATTR_NAME));
      break;
    default: break;
  }
  if (instead) tt_op_unlink(copy);
  return instead;
}

tt_status_t tt_module_legalise(const tt_module_t* module, const tt_target_t* target,
                               const tt_legalise_options_t* options, tt_module_t** out_module) {
  *out_module = NULL;
  legal_t legal = {target, options};
  tt_clone_t clone = {.from = module, .map_type = check_type, .after_op = legal_op, .self = &legal};
  return tt_clone_run(&clone, out_module);
}
