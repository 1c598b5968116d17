// Indexing, calls, custom calls, composites, loops.
#include "ir/builder_internal.h"

// ---- indexing ----------------------------------------------------------------------------------
tt_value_t* tt_b_gather(tt_builder_t* b, tt_value_t* operand, tt_value_t* indices,
                        const tt_gather_dims_t* dims, const int64_t* slice_sizes, bool sorted) {
  if (!tt_b_ready(b, operand, "stablehlo.gather")) return NULL;
  tt_attr_t attrs[3] = {{.name = TT_ATTR_DIMENSION_NUMBERS, .kind = TT_AK_GATHER, .gather = dims},
                        tt_attr_i64s(TT_ATTR_SLICE_SIZES, operand->type->rank, slice_sizes),
                        tt_attr_bool(TT_ATTR_INDICES_ARE_SORTED, sorted)};
  tt_value_t* operands[2] = {operand, indices};
  return tt_b_one(b, TT_OP_GATHER, 2, operands, 3, attrs, NULL);
}

tt_value_t* tt_b_scatter(tt_builder_t* b, tt_op_kind_t kind, tt_value_t* operand, tt_value_t* indices,
                         tt_value_t* updates, const tt_scatter_dims_t* dims, bool sorted, bool unique) {
  tt_value_t* operands[3] = {operand, indices, updates};
  tt_attr_t attrs[3] = {{.name = TT_ATTR_SCATTER_DIMENSION_NUMBERS, .kind = TT_AK_SCATTER, .scatter = dims},
                        tt_attr_bool(TT_ATTR_INDICES_ARE_SORTED, sorted),
                        tt_attr_bool(TT_ATTR_UNIQUE_INDICES, unique)};
  tt_op_t* op = tt_b_op(b, TT_OP_SCATTER, 3, operands, 3, attrs, 1, NULL, 1);
  if (!op) return NULL;
  const tt_type_t* element = tt_b_type(b, operand->type->dtype, 0, NULL);
  if (kind == TT_OP_INVALID) {
    const tt_type_t* types[2] = {element, element};
    tt_block_t* saved = tt_b_region_begin(b, op, 0, 2, types);
    tt_value_t* update = tt_b_region_arg(op, 0, 1);
    tt_b_region_end(b, saved, 1, &update);
  } else {
    tt_b_binary_region(b, op, 0, kind, element);
  }
  return tt_builder_ok(b) ? tt_b_result(op) : NULL;
}

// ---- calls -------------------------------------------------------------------------------------
tt_op_t* tt_b_call(tt_builder_t* b, tt_func_t* callee, size_t count, tt_value_t* const* operands) {
  if (!tt_builder_ok(b)) return NULL;
  if (!callee) return (void*)tt_builder_fail(b, TT_INTERNAL, "func.call: no callee");
  tt_attr_t attr = {
      .name = TT_ATTR_CALLEE, .kind = TT_AK_SYMBOL, .text = {callee->name, strlen(callee->name)}};
  return tt_b_op(b, TT_OP_FUNC_CALL, count, operands, 1, &attr, callee->result_count, NULL, 0);
}

tt_op_t* tt_b_custom_call(tt_builder_t* b, const char* target, size_t count, tt_value_t* const* operands,
                          size_t result_count, const tt_type_t* const* result_types, bool has_side_effect,
                          size_t attr_count, const tt_attr_t* attrs) {
  tt_attr_t all[16];
  if (!tt_builder_ok(b)) return NULL;
  if (attr_count > TT_ARRAY_LENGTH(all) - 2) {
    return (void*)tt_builder_fail(b, TT_INVALID_ARGUMENT,
                                  "stablehlo.custom_call @%s: %zu attributes, the builder takes %zu", target,
                                  attr_count, TT_ARRAY_LENGTH(all) - 2);
  }
  all[0] = tt_attr_string(TT_ATTR_CALL_TARGET_NAME, target);
  all[1] = tt_attr_bool(TT_ATTR_HAS_SIDE_EFFECT, has_side_effect);
  for (size_t i = 0; i < attr_count; ++i) all[2 + i] = attrs[i];
  const tt_type_t* none[1] = {NULL};
  return tt_b_op(b, TT_OP_CUSTOM_CALL, count, operands, 2 + attr_count, all, result_count,
                 result_count ? result_types : none, 0);
}

tt_op_t* tt_b_composite(tt_builder_t* b, const char* name, size_t count, tt_value_t* const* operands,
                        size_t result_count, const tt_type_t* const* result_types, size_t attr_count,
                        const tt_attr_t* attrs, tt_func_t* decomposition) {
  if (!tt_builder_ok(b)) return NULL;
  tt_attr_t all[3];
  size_t n = 0;
  all[n++] = tt_attr_string(TT_ATTR_NAME, name);
  if (attr_count) {
    all[n++] =
        (tt_attr_t){.name = TT_ATTR_COMPOSITE_ATTRIBUTES, .kind = TT_AK_DICT, .dict = {attrs, attr_count}};
  }
  if (decomposition) {
    all[n++] = (tt_attr_t){.name = TT_ATTR_DECOMPOSITION, .kind = TT_AK_SYMBOL,
                           .text = {decomposition->name, strlen(decomposition->name)}};
  }
  const tt_type_t* none[1] = {NULL};
  return tt_b_op(b, TT_OP_COMPOSITE, count, operands, n, all, result_count,
                 result_count ? result_types : none, 0);
}

void tt_b_check(tt_builder_t* b, tt_value_t* ok, tt_status_code_t code, const char* message,
                size_t value_count, tt_value_t* const* values) {
  tt_value_t* operands[17] = {ok};
  if (!tt_b_ready(b, ok, "tt.check")) return;
  if (ok->type->dtype != TT_DTYPE_PRED || ok->type->rank != 0) {
    tt_builder_fail(b, TT_INVALID_ARGUMENT, "tt.check: predicate is %s, needs tensor<i1>",
                    TT_TYPE_TEXT(b->module, ok->type));
    return;
  }
  if (value_count > 16) {
    tt_builder_fail(b, TT_INVALID_ARGUMENT, "tt.check: %zu values, at most 16", value_count);
    return;
  }
  for (size_t i = 0; i < value_count; ++i) operands[1 + i] = values[i];
  tt_attr_t attrs[2] = {tt_attr_int(TT_ATTR_CODE, code), tt_attr_string(TT_ATTR_MESSAGE, message)};
  tt_b_custom_call(b, "tt.check", 1 + value_count, operands, 0, NULL, true, 2, attrs);
}

tt_value_t* tt_b_strided_read(tt_builder_t* b, tt_value_t* base, tt_dtype_t dtype, size_t rank,
                              const int64_t* sizes, const int64_t* strides, int64_t offset) {
  const tt_type_t* type = tt_b_type(b, dtype, rank, sizes);
  tt_attr_t attrs[3] = {tt_attr_i64s(TT_ATTR_SIZES, rank, sizes),
                        tt_attr_i64s(TT_ATTR_STRIDES, rank, strides), tt_attr_int(TT_ATTR_OFFSET, offset)};
  return tt_b_result(tt_b_composite(b, "tt.strided_read", 1, &base, 1, &type, 3, attrs, NULL));
}

tt_value_t* tt_b_strided_write(tt_builder_t* b, tt_value_t* base, tt_value_t* value, const int64_t* strides,
                               int64_t offset) {
  tt_value_t* operands[2] = {base, value};
  if (!tt_b_ready(b, base, "tt.strided_write") || !tt_b_ready(b, value, "tt.strided_write")) return NULL;
  tt_attr_t attrs[2] = {tt_attr_i64s(TT_ATTR_STRIDES, value->type->rank, strides),
                        tt_attr_int(TT_ATTR_OFFSET, offset)};
  return tt_b_result(tt_b_composite(b, "tt.strided_write", 2, operands, 1, &base->type, 2, attrs, NULL));
}

tt_op_t* tt_b_while(tt_builder_t* b, size_t count, tt_value_t* const* operands) {
  if (!tt_b_ready_list(b, count, operands, "stablehlo.while")) return NULL;
  const tt_type_t* few[16];
  const tt_type_t** types = few;
  if (count > TT_ARRAY_LENGTH(few) &&
      !(types = tt_arena_alloc_array(&b->module->arena, count, sizeof(*types)))) return tt_b_out_of_memory(b);
  for (size_t i = 0; i < count; ++i) types[i] = operands[i]->type;
  tt_op_t* op = tt_b_op(b, TT_OP_WHILE, count, operands, 0, NULL, count, types, 2);
  if (!op) return NULL;
  for (size_t region = 0; region < 2; ++region) {
    if (!tt_b_region_add_args(b, op, region, count, types)) return NULL;
  }
  return op;
}
