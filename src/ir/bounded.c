// Symbolic dimensions become `?` with upper bounds, for plugins that take bounded dynamic shapes.
//
// A dynamic extent must come from data there, so ops whose result extents stand only in their type change:
//   iota, broadcast_in_dim, slice   computed at the bound, then set_dimension_size for each extent not inherited
//   reshape                         dynamic_reshape with the extents as an i32 operand
// Extents are computed from get_dimension_size of the function's arguments, in i32.
#include <string.h>

#include "ir/builder_internal.h"
#include "ir/clone.h"
#include "ir/dim_table.h"

// The upper bound of a dimension; false: unbounded or unknown, the error is set.
static bool bound_of(tt_clone_t* clone, const tt_type_t* type, uint32_t i, int64_t* out) {
  int64_t min;
  tt_dim_range(clone->from, type->dims[i], &min, out);
  if (type->dims[i] == TT_DIM_UNKNOWN) *out = type->bounds ? type->bounds[i] : TT_DIM_UNKNOWN;
  if (*out >= 0 && *out <= INT32_MAX) return true;
  bool unbounded = *out == INT64_MAX || type->dims[i] == TT_DIM_UNKNOWN;
  tt_builder_fail(&clone->builder, TT_INVALID_ARGUMENT, "dimension %s of %s %s",
                  TT_DIM_TEXT(clone->from, type->dims[i]), TT_TYPE_TEXT(clone->from, type),
                  unbounded ? "has no upper bound" : "has a bound over the int32 limit");
  return false;
}

static const tt_type_t* bounded_type(tt_clone_t* clone, const tt_type_t* type) {
  tt_module_t* module = clone->builder.module;
  if (tt_type_is_static(type)) return tt_type_intern(module, type);
  if (type->kind != TT_TYPE_TENSOR) {
    const tt_type_t** elements = tt_arena_alloc_array(&module->arena, type->element_count, sizeof(*elements));
    if (!elements) return NULL;
    tt_type_t mapped = *type;
    for (uint32_t i = 0; i < type->element_count; ++i) {
      elements[i] = bounded_type(clone, type->elements[i]);
      if (!elements[i]) return NULL;
    }
    mapped.elements = elements;
    return tt_type_intern(module, &mapped);
  }
  int64_t dims[TT_MAX_RANK], bounds[TT_MAX_RANK];
  tt_type_t mapped = *type;
  mapped.dims = dims;
  mapped.bounds = bounds;
  for (uint32_t i = 0; i < type->rank; ++i) {
    dims[i] = type->dims[i];
    bounds[i] = TT_DIM_UNKNOWN;
    if (dims[i] >= 0) continue;
    if (!bound_of(clone, type, i, &bounds[i])) return NULL;
    dims[i] = TT_DIM_UNKNOWN;
  }
  return tt_type_intern(module, &mapped);
}

// ---- extents as values -------------------------------------------------------------------------
static tt_value_t* extent_value(tt_clone_t* clone, tt_dim_t d);

static tt_value_t* symbol_value(tt_clone_t* clone, tt_dim_t d) {
  tt_builder_t* b = &clone->builder;
  const tt_block_t* block = &clone->from_func->body.block;
  for (uint32_t i = 0; i < block->arg_count; ++i) {
    const tt_type_t* type = block->args[i].type;
    for (uint32_t k = 0; type->kind == TT_TYPE_TENSOR && k < type->rank; ++k) {
      if (type->dims[k] != d) continue;
      tt_attr_t attr = tt_attr_int(TT_ATTR_DIMENSION, k);
      tt_value_t* arg = tt_b_func_arg(clone->func, i);
      return tt_b_one(b, TT_OP_GET_DIMENSION_SIZE, 1, &arg, 1, &attr, NULL);
    }
  }
  return tt_builder_fail(b, TT_INVALID_ARGUMENT,
                         "symbol %s is no dimension of an argument, its extent is not known at run time",
                         TT_DIM_TEXT(clone->from, d));
}

static tt_value_t* constant(tt_clone_t* clone, int64_t value) {
  if (value < INT32_MIN || value > INT32_MAX) {
    return tt_builder_fail(&clone->builder, TT_OUT_OF_RANGE, "extent %lld is over the int32 limit",
                           (long long)value);
  }
  return tt_b_scalar_i64(&clone->builder, TT_DTYPE_S32, value);
}

static tt_value_t* extent_value(tt_clone_t* clone, tt_dim_t d) {
  tt_builder_t* b = &clone->builder;
  if (!tt_builder_ok(b)) return NULL;
  if (d >= 0) return constant(clone, d);
  const tt_dim_entry_t* e = tt_dim_entry(clone->from, d);
  if (!e) return tt_builder_fail(b, TT_INVALID_ARGUMENT, "an unknown dimension has no extent to compute");
  if (e->kind == TT_DIM_SYMBOL) return symbol_value(clone, d);
  if (e->kind == TT_DIM_ADD || e->kind == TT_DIM_MUL) {
    tt_value_t* sum = NULL;
    for (uint32_t i = 0; i < e->term_count; ++i) {
      tt_value_t* product =
          e->terms[i].count && e->terms[i].coefficient == 1 ? NULL : constant(clone, e->terms[i].coefficient);
      for (uint32_t k = 0; k < e->terms[i].count; ++k) {
        tt_value_t* factor = extent_value(clone, -1 - (tt_dim_t)e->terms[i].factors[k]);
        product = product ? tt_b_binary(b, TT_OP_MULTIPLY, product, factor) : factor;
      }
      sum = sum ? tt_b_binary(b, TT_OP_ADD, sum, product) : product;
    }
    return sum;
  }
  tt_value_t *x = extent_value(clone, e->a), *y = extent_value(clone, e->b);
  int64_t min, max;
  tt_dim_range(clone->from, e->a, &min, &max);
  if ((e->kind == TT_DIM_FLOORDIV || e->kind == TT_DIM_MOD) && min < 0) {  // divide truncates
    return tt_builder_fail(b, TT_UNIMPLEMENTED, "extent %s divides what may be negative",
                           TT_DIM_TEXT(clone->from, d));
  }
  tt_op_kind_t kind = e->kind == TT_DIM_FLOORDIV ? TT_OP_DIVIDE : e->kind == TT_DIM_MOD ? TT_OP_REMAINDER
                      : e->kind == TT_DIM_MIN    ? TT_OP_MINIMUM : TT_OP_MAXIMUM;
  return tt_b_binary(b, kind, x, y);
}

// ---- ops ---------------------------------------------------------------------------------------
// Is dimension i of the result a dimension of an operand unchanged? Then plugins carry its extent along.
static bool is_inherited(const tt_op_t* op, uint32_t i) {
  const tt_type_t* x = op->operand_count ? op->operands[0]->type : NULL;
  if (op->kind == TT_OP_SLICE) {
    tt_i64s_t start = tt_op_attr_i64s(op, TT_ATTR_START_INDICES), limit = tt_op_attr_i64s(op, TT_ATTR_LIMIT_INDICES);
    tt_i64s_t strides = tt_op_attr_i64s(op, TT_ATTR_STRIDES);
    return start.data[i] == 0 && limit.data[i] == x->dims[i] && (strides.size == 0 || strides.data[i] == 1);
  }
  if (op->kind != TT_OP_BROADCAST_IN_DIM) return false;
  tt_i64s_t map = tt_op_attr_i64s(op, TT_ATTR_BROADCAST_DIMENSIONS);
  for (size_t k = 0; k < map.size; ++k) {
    if (map.data[k] == (int64_t)i) return x->dims[k] < 0;
  }
  return false;
}

static bool sets_sizes(const tt_op_t* op) {
  return (op->kind == TT_OP_IOTA || op->kind == TT_OP_BROADCAST_IN_DIM || op->kind == TT_OP_SLICE) &&
         !tt_type_is_static(op->results[0].type);
}

// The largest limit of a slice: of its expression and of the operand.
static bool limit_bound(tt_clone_t* clone, const tt_op_t* op, uint32_t i, int64_t* out) {
  const tt_type_t* x = op->operands[0]->type;
  tt_dim_t limit = tt_op_attr_i64s(op, TT_ATTR_LIMIT_INDICES).data[i];
  if (tt_op_attr_i64s(op, TT_ATTR_START_INDICES).data[i] < 0) {
    tt_builder_fail(&clone->builder, TT_UNIMPLEMENTED, "%s with a symbolic start has no form with bounds",
                    tt_op_info(op->kind)->name);
    return false;
  }
  if (limit >= 0) {
    *out = limit;
    return true;
  }
  int64_t min, extent = x->dims[i];
  if (extent < 0 && !bound_of(clone, x, i, &extent)) return false;
  tt_dim_range(clone->from, limit, &min, out);
  *out = TT_MIN(*out, extent);
  return true;
}

// Extents that nothing hands down stand at their bound first.
static bool full_size_types(tt_clone_t* clone, const tt_op_t* op, const tt_type_t** types) {
  if (!sets_sizes(op)) return false;
  const tt_type_t* type = op->results[0].type;
  int64_t dims[TT_MAX_RANK], bounds[TT_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; ++i) {
    dims[i] = type->dims[i];
    bounds[i] = TT_DIM_UNKNOWN;
    if (dims[i] >= 0) continue;
    if (!bound_of(clone, type, i, &bounds[i])) return false;
    if (is_inherited(op, i)) {
      dims[i] = TT_DIM_UNKNOWN;
      continue;
    }
    dims[i] = bounds[i];
    bounds[i] = TT_DIM_UNKNOWN;
    if (op->kind == TT_OP_SLICE) {
      int64_t limit, start = tt_op_attr_i64s(op, TT_ATTR_START_INDICES).data[i];
      tt_i64s_t strides = tt_op_attr_i64s(op, TT_ATTR_STRIDES);
      int64_t stride = strides.size ? strides.data[i] : 1;
      if (!limit_bound(clone, op, i, &limit)) return false;
      dims[i] = limit > start ? (limit - start - 1) / stride + 1 : 0;
    }
  }
  types[0] = tt_type_tensor_bounded(clone->builder.module, type->dtype, type->rank, dims, bounds);
  if (!types[0]) tt_b_out_of_memory(&clone->builder);
  return true;
}

static tt_value_t* set_sizes(tt_clone_t* clone, const tt_op_t* from, tt_op_t* copy) {
  tt_value_t* x = &copy->results[0];
  for (uint32_t i = 0; i < from->results[0].type->rank && x; ++i) {
    if (x->type->dims[i] < 0 || from->results[0].type->dims[i] >= 0) continue;
    tt_value_t* operands[2] = {x, extent_value(clone, from->results[0].type->dims[i])};
    tt_attr_t attr = tt_attr_int(TT_ATTR_DIMENSION, i);
    x = tt_b_one(&clone->builder, TT_OP_SET_DIMENSION_SIZE, 2, operands, 1, &attr, NULL);
  }
  return x;
}

// reshape -> dynamic_reshape: the copied op stays in place and loses its last use.
static tt_value_t* dynamic_reshape(tt_clone_t* clone, const tt_op_t* from, tt_op_t* copy) {
  tt_builder_t* b = &clone->builder;
  const tt_type_t* type = from->results[0].type;
  tt_value_t* extents[TT_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; ++i) {
    extents[i] = tt_b_reshape(b, extent_value(clone, type->dims[i]), 1, (tt_dim_t[]){1});
  }
  tt_value_t* operands[2] = {copy->operands[0], tt_b_concatenate(b, type->rank, extents, 0)};
  const tt_type_t* result = copy->results[0].type;
  tt_op_t* op = tt_b_op(b, TT_OP_DYNAMIC_RESHAPE, 2, operands, 0, NULL, 1, &result, 0);
  if (!op) return NULL;
  // Unlink the static form.
  --copy->operands[0]->uses;
  if (copy->prev) copy->prev->next = copy->next; else copy->block->first = copy->next;
  copy->next->prev = copy->prev;
  return &op->results[0];
}

// Writes the bounds of symbolic entries into the copy's list. False: an entry is no whole extent of the operand.
static bool bound_list(tt_clone_t* clone, const tt_op_t* from, tt_op_t* copy, tt_attr_name_t name) {
  const tt_attr_t* attr = tt_op_attr(copy, name);
  if (!attr || attr->kind != TT_AK_I64S) return true;
  int64_t* list = (int64_t*)attr->i64s.data;  // the copy's own memory
  for (uint32_t i = 0; i < attr->i64s.size; ++i) {
    if (list[i] >= 0) continue;
    const tt_type_t* x = from->operands[0]->type;
    bool ok = from->kind == TT_OP_SLICE ? limit_bound(clone, from, i, &list[i])
                                        : from->kind != TT_OP_BROADCAST && i < x->rank && list[i] == x->dims[i] &&
                                              bound_of(clone, x, i, &list[i]);
    if (!ok) return false;
  }
  return true;
}

static tt_value_t* bounded_op(tt_clone_t* clone, const tt_op_t* from, tt_op_t* copy) {
  if (!clone->from->dims) return NULL;
  bool ok = true;
  switch (from->kind) {
    case TT_OP_SLICE: ok = bound_list(clone, from, copy, TT_ATTR_LIMIT_INDICES); break;
    case TT_OP_GATHER: case TT_OP_DYNAMIC_SLICE: ok = bound_list(clone, from, copy, TT_ATTR_SLICE_SIZES); break;
    case TT_OP_BROADCAST: ok = bound_list(clone, from, copy, TT_ATTR_BROADCAST_SIZES); break;
    case TT_OP_REDUCE_WINDOW: ok = bound_list(clone, from, copy, TT_ATTR_WINDOW_DIMENSIONS); break;
    case TT_OP_RESHAPE:
      return tt_type_is_static(from->results[0].type) ? NULL : dynamic_reshape(clone, from, copy);
    default: break;
  }
  if (!ok) {
    return tt_builder_fail(&clone->builder, TT_UNIMPLEMENTED, "%s with symbolic sizes has no form with bounds",
                           tt_op_info(from->kind)->name);
  }
  return sets_sizes(from) ? set_sizes(clone, from, copy) : NULL;
}

tt_status_t tt_module_to_bounded(const tt_module_t* module, tt_module_t** out_module) {
  tt_clone_t clone = {
      .from = module, .map_type = bounded_type, .after_op = bounded_op, .result_types = full_size_types};
  TT_RETURN_IF_ERROR(tt_clone_run(&clone, out_module));
  tt_status_t status = tt_module_verify(*out_module);
  if (!tt_status_is_ok(status)) {
    tt_module_release(*out_module);
    *out_module = NULL;
    return tt_status_annotate(status, "bounded program");
  }
  return TT_OK_STATUS;
}
