// Symbols bound to extents: a fully static copy, verified, because what the prover left open is decided now.
#include <string.h>

#include "ir/clone.h"
#include "ir/describe.h"
#include "ir/dim_table.h"

typedef struct bindings_s { const int64_t* values; size_t count; } bindings_t;

// False: the error is set.
static bool bind_dim(tt_clone_t* clone, tt_dim_t d, int64_t* out) {
  const bindings_t* bindings = clone->self;
  tt_status_t status = tt_dim_evaluate(clone->from, d, bindings->values, bindings->count, out);
  if (tt_status_is_ok(status)) return true;
  if (tt_builder_ok(&clone->builder)) {
    clone->builder.status = status;
  } else {
    tt_status_free(status);
  }
  return false;
}

static const tt_type_t* bind_type(tt_clone_t* clone, const tt_type_t* type) {
  tt_module_t* module = clone->builder.module;
  if (type->kind != TT_TYPE_TENSOR) {
    if (type->element_count == 0 || tt_type_is_static(type)) return tt_type_intern(module, type);
    const tt_type_t** elements = tt_arena_alloc_array(&module->arena, type->element_count, sizeof(*elements));
    if (!elements) return NULL;
    tt_type_t bound = *type;
    for (uint32_t i = 0; i < type->element_count; ++i) {
      elements[i] = bind_type(clone, type->elements[i]);
      if (!elements[i]) return NULL;
    }
    bound.elements = elements;
    return tt_type_intern(module, &bound);
  }
  int64_t dims[TT_MAX_RANK];
  tt_type_t bound = *type;
  bound.dims = dims;
  bound.bounds = NULL;
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (type->dims[i] == TT_DIM_UNKNOWN) {
      tt_builder_fail(&clone->builder, TT_INVALID_ARGUMENT, "dimension %u of %s is unknown, not a symbol", i,
                      TT_TYPE_TEXT(clone->from, type));
      return NULL;
    }
    if (!bind_dim(clone, type->dims[i], &dims[i])) return NULL;
  }
  return tt_type_intern(module, &bound);
}

// Lists that cannot be negative may hold symbolic dimensions.
static bool may_be_symbolic(tt_attr_name_t name) {
  switch (name) {
    case TT_ATTR_START_INDICES: case TT_ATTR_LIMIT_INDICES: case TT_ATTR_STRIDES: case TT_ATTR_SLICE_SIZES:
    case TT_ATTR_BROADCAST_SIZES:
    case TT_ATTR_SIZES:
    case TT_ATTR_OFFSET:
    case TT_ATTR_WINDOW_DIMENSIONS:
      return true;
    default: return false;
  }
}

static void bind_attrs(tt_clone_t* clone, const tt_attr_t* attrs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    tt_attr_t* attr = (tt_attr_t*)&attrs[i];  // the copy's own memory
    if (attr->kind == TT_AK_DICT) bind_attrs(clone, attr->dict.data, attr->dict.size);
    if (!may_be_symbolic(attr->name)) continue;
    if (attr->kind == TT_AK_INT && attr->i < 0) bind_dim(clone, attr->i, &attr->i);
    if (attr->kind != TT_AK_I64S) continue;
    int64_t* list = (int64_t*)attr->i64s.data;
    for (size_t k = 0; k < attr->i64s.size; ++k) {
      if (list[k] < 0 && !bind_dim(clone, list[k], &list[k])) return;
    }
  }
}

static tt_value_t* bind_op(tt_clone_t* clone, const tt_op_t* from, tt_op_t* copy) {
  bool has_attrs = from->kind == TT_OP_SLICE || from->kind == TT_OP_GATHER ||
                   from->kind == TT_OP_DYNAMIC_SLICE || from->kind == TT_OP_BROADCAST ||
                   from->kind == TT_OP_COMPOSITE || from->kind == TT_OP_REDUCE_WINDOW;
  if (has_attrs && clone->from->dims) bind_attrs(clone, copy->attrs, copy->attr_count);
  return NULL;
}

tt_status_t tt_module_specialise(const tt_module_t* module, const int64_t* bindings, size_t binding_count,
                                 tt_module_t** out_module) {
  *out_module = NULL;
  // Also symbols that no type mentions must keep their promise.
  for (uint32_t i = 0; module->dims && i < module->dims->symbol_count; ++i) {
    int64_t value;
    TT_RETURN_IF_ERROR(
        tt_dim_evaluate(module, -1 - (tt_dim_t)module->dims->symbols[i], bindings, binding_count, &value));
  }
  bindings_t self = {bindings, binding_count};
  tt_clone_t clone = {.from = module, .map_type = bind_type, .after_op = bind_op, .self = &self};
  tt_module_t* copy = NULL;
  TT_RETURN_IF_ERROR(tt_clone_run(&clone, &copy));
  tt_status_t status = tt_module_verify(copy);
  if (!tt_status_is_ok(status)) {
    tt_module_release(copy);
    return tt_status_annotate(status, "specialised program");
  }
  *out_module = copy;
  return TT_OK_STATUS;
}
