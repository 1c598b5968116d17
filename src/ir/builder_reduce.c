// Reductions, windows, sorting, products.
#include <math.h>

#include "ir/builder_internal.h"

// ---- reductions --------------------------------------------------------------------------------
tt_value_t* tt_b_identity(tt_builder_t* b, tt_op_kind_t reducer, tt_dtype_t dtype) {
  if (!tt_builder_ok(b)) return NULL;
  bool is_unsigned = tt_dtype_is_unsigned_int(dtype), is_integer = tt_dtype_is_integer(dtype);
  bool is_pred = dtype == TT_DTYPE_PRED;
  switch (reducer) {
    case TT_OP_ADD: case TT_OP_OR: case TT_OP_XOR:
      return tt_b_scalar_i64(b, dtype, 0);
    case TT_OP_MULTIPLY:
      return tt_b_scalar_i64(b, dtype, 1);
    case TT_OP_AND:
      return tt_b_scalar_i64(b, dtype, is_pred ? 1 : -1);
    case TT_OP_MAXIMUM:
      if (is_pred || is_unsigned) return tt_b_scalar_i64(b, dtype, 0);
      // Storing a double saturates to the integer's limits; float formats without infinity saturate or
      // give NaN, so their largest finite value stands in.
      if (is_integer) return tt_b_scalar_f64(b, dtype, -INFINITY);
      break;
    case TT_OP_MINIMUM:
      if (is_pred) return tt_b_scalar_i64(b, dtype, 1);
      if (is_integer) return tt_b_scalar_f64(b, dtype, INFINITY);
      break;
    default:
      return tt_builder_fail(b, TT_INVALID_ARGUMENT, "%s has no identity as a reducer",
                             tt_op_info(reducer)->name);
  }
  if (!tt_dtype_is_float(dtype)) {
    return tt_builder_fail(b, TT_INVALID_ARGUMENT, "%s has no identity for %s", tt_op_info(reducer)->name,
                           tt_dtype_name(dtype));
  }
  double sign = reducer == TT_OP_MAXIMUM ? -1 : 1, limit = INFINITY;
  switch (dtype) {
    case TT_DTYPE_F8E4M3FN: limit = 448; break;
    case TT_DTYPE_F8E4M3B11FNUZ: limit = 30; break;
    case TT_DTYPE_F8E5M2FNUZ: limit = 57344; break;
    case TT_DTYPE_F8E4M3FNUZ: limit = 240; break;
    case TT_DTYPE_F4E2M1FN: limit = 6; break;
    case TT_DTYPE_F8E8M0FNU: return tt_b_scalar_f64(b, dtype, sign < 0 ? 0x1p-127 : 0x1p127);
    default: break;
  }
  return tt_b_scalar_f64(b, dtype, sign * limit);
}

tt_op_t* tt_b_reduce_general(tt_builder_t* b, size_t count, tt_value_t* const* inputs,
                             tt_value_t* const* inits, size_t dim_count, const int64_t* dimensions) {
  if (!tt_b_ready_list(b, count, inputs, "stablehlo.reduce") ||
      !tt_b_ready_list(b, count, inits, "stablehlo.reduce")) {
    return NULL;
  }
  tt_value_t* few[16];
  const tt_type_t* few_types[16];
  tt_value_t** operands = few;
  const tt_type_t** types = few_types;
  if (count * 2 > TT_ARRAY_LENGTH(few)) {
    operands = tt_arena_alloc_array(&b->module->arena, count * 2, sizeof(*operands));
    types = tt_arena_alloc_array(&b->module->arena, count * 2, sizeof(*types));
    if (!operands || !types) return tt_b_out_of_memory(b);
  }
  for (size_t i = 0; i < count; ++i) {
    operands[i] = inputs[i];
    operands[count + i] = inits[i];
    types[i] = types[count + i] = inits[i]->type;
  }
  tt_attr_t attr = tt_attr_i64s(TT_ATTR_DIMENSIONS, dim_count, dimensions);
  tt_op_t* op = tt_b_op(b, TT_OP_REDUCE, count * 2, operands, 1, &attr, count, NULL, 1);
  return op && tt_b_region_add_args(b, op, 0, count * 2, types) ? op : NULL;
}

// {return kind(arg0, arg1)} in a region whose arguments exist.
static void fill_binary(tt_builder_t* b, tt_op_t* op, tt_op_kind_t kind) {
  if (!op) return;
  tt_block_t* saved = tt_b_region_begin(b, op, 0, 0, NULL);
  tt_value_t* result = tt_b_binary(b, kind, tt_b_region_arg(op, 0, 0), tt_b_region_arg(op, 0, 1));
  tt_b_region_end(b, saved, 1, &result);
}

tt_value_t* tt_b_reduce(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* x, size_t count,
                        const int64_t* dimensions, bool keep_dims) {
  if (!tt_b_ready(b, x, "stablehlo.reduce")) return NULL;
  if (count == 0) return x;
  tt_value_t* init = tt_b_identity(b, kind, x->type->dtype);
  tt_op_t* op = tt_b_reduce_general(b, 1, &x, &init, count, dimensions);
  fill_binary(b, op, kind);
  tt_value_t* result = tt_b_result(op);
  if (!keep_dims || !tt_builder_ok(b)) return tt_builder_ok(b) ? result : NULL;
  tt_dim_t dims[TT_MAX_RANK];
  memcpy(dims, x->type->dims, x->type->rank * sizeof(*dims));
  for (size_t i = 0; i < count; ++i) dims[dimensions[i]] = 1;
  return tt_b_reshape(b, result, x->type->rank, dims);
}

tt_attr_t tt_b_padding_attr(tt_builder_t* b, size_t rank, const int64_t* low, const int64_t* high,
                            int64_t* pairs) {
  for (size_t i = 0; i < rank; ++i) {
    pairs[2 * i] = low ? low[i] : 0;
    pairs[2 * i + 1] = high ? high[i] : 0;
  }
  tt_dim_t dims[2] = {(tt_dim_t)rank, 2};
  // A NULL type is caught by tt_b_op's callers through the sticky error.
  return (tt_attr_t){.name = TT_ATTR_PADDING,
                     .kind = TT_AK_DENSE,
                     .dense = {tt_b_type(b, TT_DTYPE_S64, 2, dims), false, pairs}};
}

// Window attributes in StableHLO's order; the number written.
static size_t window_attrs(tt_builder_t* b, const tt_window_t* w, size_t rank, bool with_dilations,
                           int64_t* pairs, tt_attr_t* attrs) {
  size_t n = 0;
  attrs[n++] = tt_attr_i64s(TT_ATTR_WINDOW_DIMENSIONS, rank, w->dimensions);
  if (w->strides) attrs[n++] = tt_attr_i64s(TT_ATTR_WINDOW_STRIDES, rank, w->strides);
  if (with_dilations && w->base_dilations)
    attrs[n++] = tt_attr_i64s(TT_ATTR_BASE_DILATIONS, rank, w->base_dilations);
  if (with_dilations && w->window_dilations) {
    attrs[n++] = tt_attr_i64s(TT_ATTR_WINDOW_DILATIONS, rank, w->window_dilations);
  }
  if (w->pad_low || w->pad_high) attrs[n++] = tt_b_padding_attr(b, rank, w->pad_low, w->pad_high, pairs);
  return n;
}

tt_op_t* tt_b_reduce_window_general(tt_builder_t* b, size_t count, tt_value_t* const* inputs,
                                    tt_value_t* const* inits, const tt_window_t* window) {
  const char* name = "stablehlo.reduce_window";
  if (!tt_b_ready_list(b, count, inputs, name) || !tt_b_ready_list(b, count, inits, name)) return NULL;
  tt_value_t* operands[16];
  const tt_type_t* types[16];
  if (count == 0 || count > 8) {
    return (void*)tt_builder_fail(b, TT_INVALID_ARGUMENT, "%s: %zu inputs, the builder takes 1 to 8", name,
                                  count);
  }
  for (size_t i = 0; i < count; ++i) {
    operands[i] = inputs[i];
    operands[count + i] = inits[i];
    types[i] = types[count + i] = inits[i]->type;
  }
  int64_t pairs[TT_MAX_RANK * 2];
  tt_attr_t attrs[5];
  size_t n = window_attrs(b, window, inputs[0]->type->rank, true, pairs, attrs);
  tt_op_t* op = tt_b_op(b, TT_OP_REDUCE_WINDOW, count * 2, operands, n, attrs, count, NULL, 1);
  return op && tt_b_region_add_args(b, op, 0, count * 2, types) ? op : NULL;
}

tt_value_t* tt_b_reduce_window(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* x, tt_value_t* init,
                               const tt_window_t* window) {
  tt_op_t* op = tt_b_reduce_window_general(b, 1, &x, &init, window);
  fill_binary(b, op, kind);
  return tt_builder_ok(b) ? tt_b_result(op) : NULL;
}

tt_value_t* tt_b_select_and_scatter(tt_builder_t* b, const char* select_direction, tt_value_t* x,
                                    tt_value_t* source, tt_value_t* init, const tt_window_t* window) {
  const char* name = "stablehlo.select_and_scatter";
  tt_value_t* operands[3] = {x, source, init};
  if (!tt_b_ready_list(b, 3, operands, name)) return NULL;
  int64_t pairs[TT_MAX_RANK * 2];
  tt_attr_t attrs[5];
  size_t n = window_attrs(b, window, x->type->rank, false, pairs, attrs);
  tt_op_t* op = tt_b_op(b, TT_OP_SELECT_AND_SCATTER, 3, operands, n, attrs, 1, NULL, 2);
  if (!op) return NULL;
  const tt_type_t* element = tt_b_type(b, x->type->dtype, 0, NULL);
  const tt_type_t* types[2] = {element, element};
  tt_block_t* saved = tt_b_region_begin(b, op, 0, 2, types);
  tt_value_t* chosen =
      tt_b_compare(b, select_direction, tt_b_region_arg(op, 0, 0), tt_b_region_arg(op, 0, 1));
  tt_b_region_end(b, saved, 1, &chosen);
  tt_b_binary_region(b, op, 1, TT_OP_ADD, element);
  return tt_builder_ok(b) ? tt_b_result(op) : NULL;
}

tt_op_t* tt_b_sort(tt_builder_t* b, size_t count, tt_value_t* const* inputs, int64_t dimension,
                   bool is_stable) {
  if (!tt_b_ready_list(b, count, inputs, "stablehlo.sort")) return NULL;
  const tt_type_t* few[16];
  const tt_type_t** types = few;
  if (count * 2 > TT_ARRAY_LENGTH(few) &&
      !(types = tt_arena_alloc_array(&b->module->arena, count * 2, sizeof(*types))))
    return tt_b_out_of_memory(b);
  for (size_t i = 0; i < count; ++i) {
    types[2 * i] = types[2 * i + 1] = tt_b_type(b, inputs[i]->type->dtype, 0, NULL);
  }
  tt_attr_t attrs[2] = {tt_attr_int(TT_ATTR_DIMENSION, dimension),
                        tt_attr_bool(TT_ATTR_IS_STABLE, is_stable)};
  tt_op_t* op = tt_b_op(b, TT_OP_SORT, count, inputs, 2, attrs, count, NULL, 1);
  return op && tt_b_region_add_args(b, op, 0, count * 2, types) ? op : NULL;
}

// ---- products ----------------------------------------------------------------------------------
// Gives a fresh op's result another dtype.
static tt_value_t* retype(tt_builder_t* b, tt_value_t* x, tt_dtype_t dtype) {
  if (!x || dtype == TT_DTYPE_INVALID || x->type->dtype == dtype) return x;
  x->type = tt_b_type(b, dtype, x->type->rank, x->type->dims);
  return x->type ? x : NULL;
}

tt_value_t* tt_b_dot_general(tt_builder_t* b, tt_value_t* x, tt_value_t* y, const tt_dot_dims_t* dims,
                             tt_dtype_t result) {
  tt_attr_t attr = {.name = TT_ATTR_DOT_DIMENSION_NUMBERS, .kind = TT_AK_DOT, .dot = dims};
  tt_value_t* operands[2] = {x, y};
  return retype(b, tt_b_one(b, TT_OP_DOT_GENERAL, 2, operands, 1, &attr, NULL), result);
}

tt_value_t* tt_b_matmul(tt_builder_t* b, tt_value_t* x, tt_value_t* y) {
  if (!tt_b_ready(b, x, "stablehlo.dot_general") || !tt_b_ready(b, y, "stablehlo.dot_general")) return NULL;
  uint32_t rank = x->type->rank;
  if (rank < 2 || rank != y->type->rank) {
    return tt_builder_fail(b, TT_INVALID_ARGUMENT,
                           "stablehlo.dot_general: %s and %s are no batches of matrices of one rank",
                           TT_TYPE_TEXT(b->module, x->type), TT_TYPE_TEXT(b->module, y->type));
  }
  int64_t batch[TT_MAX_RANK], left = (int64_t)rank - 1, right = (int64_t)rank - 2;
  for (uint32_t i = 0; i + 2 < rank; ++i) batch[i] = i;
  tt_dot_dims_t dims = {{batch, rank - 2}, {batch, rank - 2}, {&left, 1}, {&right, 1}};
  return tt_b_dot_general(b, x, y, &dims, TT_DTYPE_INVALID);
}

tt_value_t* tt_b_convolution(tt_builder_t* b, tt_value_t* input, tt_value_t* kernel, const tt_conv_t* conv) {
  if (!tt_b_ready(b, input, "stablehlo.convolution") || !tt_b_ready(b, kernel, "stablehlo.convolution"))
    return NULL;
  size_t n = 0, spatial = conv->dims.input_spatial.size;
  if (spatial > TT_MAX_RANK - 2) {
    return tt_builder_fail(b, TT_INVALID_ARGUMENT, "stablehlo.convolution: %zu spatial dimensions", spatial);
  }
  int64_t pairs[TT_MAX_RANK * 2];
  uint8_t reversal[TT_MAX_RANK];
  tt_attr_t attrs[8];
  if (conv->strides) attrs[n++] = tt_attr_i64s(TT_ATTR_WINDOW_STRIDES, spatial, conv->strides);
  if (conv->pad_low || conv->pad_high)
    attrs[n++] = tt_b_padding_attr(b, spatial, conv->pad_low, conv->pad_high, pairs);
  if (conv->lhs_dilation) attrs[n++] = tt_attr_i64s(TT_ATTR_LHS_DILATION, spatial, conv->lhs_dilation);
  if (conv->rhs_dilation) attrs[n++] = tt_attr_i64s(TT_ATTR_RHS_DILATION, spatial, conv->rhs_dilation);
  if (conv->window_reversal) {
    for (size_t i = 0; i < spatial; ++i) reversal[i] = conv->window_reversal[i];
    attrs[n++] =
        (tt_attr_t){.name = TT_ATTR_WINDOW_REVERSAL, .kind = TT_AK_BOOLS, .bools = {reversal, spatial}};
  }
  attrs[n++] = (tt_attr_t){.name = TT_ATTR_DIMENSION_NUMBERS, .kind = TT_AK_CONV, .conv = &conv->dims};
  attrs[n++] =
      tt_attr_int(TT_ATTR_FEATURE_GROUP_COUNT, conv->feature_group_count ? conv->feature_group_count : 1);
  attrs[n++] = tt_attr_int(TT_ATTR_BATCH_GROUP_COUNT, conv->batch_group_count ? conv->batch_group_count : 1);
  tt_value_t* operands[2] = {input, kernel};
  return tt_b_one(b, TT_OP_CONVOLUTION, 2, operands, n, attrs, NULL);
}

tt_attr_t* tt_b_with_precision(tt_builder_t* b, const tt_op_t* op, const char* word) {
  if (!tt_builder_ok(b)) return NULL;
  tt_attr_t each = {.kind = TT_AK_ENUM, .text = {word, strlen(word)}};
  tt_attr_t *both = tt_arena_alloc_array(&b->module->arena, 2, sizeof(*both)),
            *attrs = tt_arena_alloc_array(&b->module->arena, op->attr_count + 1u, sizeof(*attrs));
  if (!both || !attrs) return tt_b_out_of_memory(b);
  both[0] = both[1] = each;
  if (op->attr_count) memcpy(attrs, op->attrs, op->attr_count * sizeof(*attrs));
  attrs[op->attr_count] =
      (tt_attr_t){.name = TT_ATTR_PRECISION_CONFIG, .kind = TT_AK_ARRAY, .array = {both, 2}};
  return attrs;
}
