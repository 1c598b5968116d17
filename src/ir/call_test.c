// Calls, composites, checks, strided access; many types; every attribute kind survives copying; targets.
#include "base/test.h"
#include "ir/builder.h"
#include "ir/describe.h"
#include "ir/target.h"
#include "ir/type_table.h"

TT_TEST(call, composites_and_checks) {
  tt_module_t* module = NULL;
  TT_EXPECT_OK(tt_module_create(&module));
  tt_builder_t state, *b = &state;
  tt_builder_initialize(b, module);
  const tt_type_t* types[2] = {tt_b_type(b, TT_DTYPE_U8, 1, (tt_dim_t[]){96}),
                               tt_b_type(b, TT_DTYPE_PRED, 0, NULL)};
  tt_func_t* twice = tt_b_func_begin(b, "twice", false, 1, types);
  tt_value_t* x = tt_b_func_arg(twice, 0);
  tt_value_t* sum = tt_b_binary(b, TT_OP_ADD, x, x);
  tt_b_func_end(b, twice, 1, &sum);
  tt_func_t* func = tt_b_func_begin(b, "main", true, 2, types);
  tt_value_t* base = tt_b_func_arg(func, 0);
  tt_b_func_arg_attr(b, func, 0, tt_attr_int(TT_ATTR_ALIASING_OUTPUT, 0));
  tt_b_func_arg_attr(b, func, 0, tt_attr_bool(TT_ATTR_BUFFER_DONOR, true));
  tt_b_check(b, tt_b_func_arg(func, 1), TT_OUT_OF_RANGE, "index {0}", 1, &base);
  tt_value_t* view = tt_b_strided_read(b, base, TT_DTYPE_F32, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2}, 4);
  tt_value_t* written = tt_b_strided_write(b, base, view, (int64_t[]){3, 1}, 0);
  tt_op_t* call = tt_b_call(b, twice, 1, &written);
  tt_b_func_end(b, func, 2, (tt_value_t*[]){call ? call->results : NULL, view});
  TT_EXPECT_OK(tt_builder_take_status(b));
  TT_EXPECT_OK(tt_module_verify(module));
  TT_EXPECT_STR(TT_TYPE_TEXT(module, view->type), "tensor<2x3xf32>");
  TT_EXPECT_STR(tt_op_attr_text(view->op, TT_ATTR_NAME), "tt.strided_read");
  const tt_attr_t* strides = tt_composite_attr(view->op, TT_ATTR_STRIDES);
  TT_EXPECT(strides && strides->i64s.size == 2 && strides->i64s.data[1] == 2);
  TT_EXPECT_EQ(tt_composite_attr(view->op, TT_ATTR_OFFSET)->i, 4);
  TT_EXPECT(written->type == base->type);
  const tt_op_t* check = func->body.block.first;
  TT_EXPECT_EQ(check->kind, TT_OP_CUSTOM_CALL);
  TT_EXPECT_STR(tt_op_attr_text(check, TT_ATTR_CALL_TARGET_NAME), "tt.check");
  TT_EXPECT_EQ(tt_op_attr_int(check, TT_ATTR_CODE, 0), TT_OUT_OF_RANGE);
  TT_EXPECT(tt_op_attr_bool(check, TT_ATTR_HAS_SIDE_EFFECT, false));
  TT_EXPECT_EQ(func->arg_attrs[0].size, 2);
  TT_EXPECT_EQ(func->arg_attrs[1].size, 0);
  func->arg_attrs[0].data[0].i = 2;
  TT_EXPECT_ERROR(tt_module_verify(module), TT_INVALID_ARGUMENT, "argument 0 aliases result 2, there are 2");
  tt_builder_deinitialize(b);
  tt_module_release(module);
}

TT_TEST(call, scatter_replaces) {
  tt_module_t* module = NULL;
  TT_EXPECT_OK(tt_module_create(&module));
  tt_builder_t b;
  tt_builder_initialize(&b, module);
  const tt_type_t* types[3] = {tt_b_type(&b, TT_DTYPE_F32, 1, (tt_dim_t[]){8}),
                               tt_b_type(&b, TT_DTYPE_S32, 2, (tt_dim_t[]){3, 1}),
                               tt_b_type(&b, TT_DTYPE_F32, 1, (tt_dim_t[]){3})};
  tt_func_t* func = tt_b_func_begin(&b, "main", true, 3, types);
  int64_t zero = 0;
  tt_scatter_dims_t dims = {.inserted_window_dims = {&zero, 1}, .scatter_dims_to_operand_dims = {&zero, 1},
                            .index_vector_dim = 1};
  tt_value_t* y = tt_b_scatter(&b, TT_OP_INVALID, tt_b_func_arg(func, 0), tt_b_func_arg(func, 1),
                               tt_b_func_arg(func, 2), &dims, false, true);
  tt_b_func_end(&b, func, 1, &y);
  TT_EXPECT_OK(tt_builder_take_status(&b));
  TT_EXPECT_OK(tt_module_verify(module));
  TT_EXPECT_EQ(tt_region_binary_kind(&y->op->regions[0]), TT_OP_INVALID);
  const tt_block_t* block = &y->op->regions[0].block;
  TT_EXPECT(block->first == block->last && block->first->operands[0] == &block->args[1]);
  tt_builder_deinitialize(&b);
  tt_module_release(module);
}

TT_TEST(call, reducer_argument_order) {
  tt_module_t* module = NULL;
  TT_EXPECT_OK(tt_module_create(&module));
  tt_builder_t b;
  tt_builder_initialize(&b, module);
  const tt_type_t* type = tt_b_type(&b, TT_DTYPE_F32, 1, (tt_dim_t[]){8});
  tt_func_t* func = tt_b_func_begin(&b, "main", true, 1, &type);
  tt_value_t *x = tt_b_func_arg(func, 0), *zero = tt_b_scalar_f64(&b, TT_DTYPE_F32, 0);
  static const struct { tt_op_kind_t kind; bool swap; tt_op_kind_t expected;
  } rows[] = {{TT_OP_ADD, true, TT_OP_ADD},
              {TT_OP_SUBTRACT, false, TT_OP_SUBTRACT},
              {TT_OP_SUBTRACT, true, TT_OP_INVALID}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(rows); ++i) {
    tt_op_t* op = tt_b_reduce_general(&b, 1, &x, &zero, 1, (int64_t[]){0});
    tt_block_t* saved = tt_b_region_begin(&b, op, 0, 0, NULL);
    tt_value_t *left = tt_b_region_arg(op, 0, rows[i].swap), *right = tt_b_region_arg(op, 0, !rows[i].swap);
    tt_value_t* r = tt_b_binary(&b, rows[i].kind, left, right);
    tt_b_region_end(&b, saved, 1, &r);
    TT_EXPECT(op);
    TT_EXPECT_EQ(tt_region_binary_kind(&op->regions[0]), rows[i].expected);
  }
  tt_builder_deinitialize(&b);
  tt_module_release(module);
}

TT_TEST(call, identities) {
  tt_module_t* module = NULL;
  TT_EXPECT_OK(tt_module_create(&module));
  tt_builder_t b;
  tt_builder_initialize(&b, module);
  tt_func_t* func = tt_b_func_begin(&b, "main", true, 0, NULL);
  static const struct { tt_op_kind_t kind; tt_dtype_t dtype; double expected;
  } rows[] = {{TT_OP_ADD, TT_DTYPE_F32, 0},
              {TT_OP_MULTIPLY, TT_DTYPE_S8, 1},
              {TT_OP_MAXIMUM, TT_DTYPE_F32, -INFINITY},
              {TT_OP_MINIMUM, TT_DTYPE_BF16, INFINITY},
              {TT_OP_MAXIMUM, TT_DTYPE_S32, INT32_MIN},
              {TT_OP_MINIMUM, TT_DTYPE_S64, 9223372036854775807.0},
              {TT_OP_MAXIMUM, TT_DTYPE_U8, 0},
              {TT_OP_MINIMUM, TT_DTYPE_U16, 65535},
              {TT_OP_AND, TT_DTYPE_PRED, 1},
              {TT_OP_OR, TT_DTYPE_PRED, 0},
              {TT_OP_AND, TT_DTYPE_S32, -1},
              {TT_OP_AND, TT_DTYPE_U8, 255},
              {TT_OP_MINIMUM, TT_DTYPE_PRED, 1},
              {TT_OP_MAXIMUM, TT_DTYPE_F8E4M3FN, -448}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(rows); ++i) {
    tt_value_t* x = tt_b_identity(&b, rows[i].kind, rows[i].dtype);
    TT_EXPECT(x);
    double got = tt_scalar_load_f64(rows[i].dtype, tt_op_attr(x->op, TT_ATTR_VALUE)->dense.data);
    if (got != rows[i].expected) TT_TEST_FAIL("row %zu: %g", i, got);
  }
  TT_EXPECT(func);
  TT_EXPECT(tt_b_identity(&b, TT_OP_MAXIMUM, TT_DTYPE_C64) == NULL);
  tt_builder_deinitialize(&b);
  tt_module_release(module);
}

TT_TEST(type, interning_past_the_linear_limit) {
  tt_module_t* module = NULL;
  TT_EXPECT_OK(tt_module_create(&module));
  const tt_type_t* seen[500];
  for (int64_t i = 0; i < 500; ++i) seen[i] = tt_type_tensor(module, TT_DTYPE_F32, 2, (tt_dim_t[]){i, i % 7});
  for (int64_t i = 0; i < 500; ++i) {
    TT_EXPECT(seen[i] && seen[i] == tt_type_tensor(module, TT_DTYPE_F32, 2, (tt_dim_t[]){i, i % 7}));
    TT_EXPECT_EQ(seen[i]->dims[0], i);
  }
  const tt_type_t* pair[2] = {seen[0], tt_type_token(module)};
  const tt_type_t* tuple = tt_type_tuple(module, 2, pair);
  TT_EXPECT(tuple == tt_type_tuple(module, 2, pair));
  TT_EXPECT(tt_type_function(module, 1, pair, 1, pair + 1) != tt_type_function(module, 2, pair, 0, NULL));
  TT_EXPECT(tt_type_tensor(module, TT_DTYPE_F32, 17, (tt_dim_t[17]){0}) == NULL);
  int64_t open[2] = {TT_DIM_UNKNOWN, 4}, bound[2] = {8, TT_DIM_UNKNOWN},
          none[2] = {TT_DIM_UNKNOWN, TT_DIM_UNKNOWN};
  TT_EXPECT(tt_type_tensor_bounded(module, TT_DTYPE_F32, 2, open, none) ==
            tt_type_tensor(module, TT_DTYPE_F32, 2, open));
  TT_EXPECT(tt_type_tensor_bounded(module, TT_DTYPE_F32, 2, open, bound) !=
            tt_type_tensor(module, TT_DTYPE_F32, 2, open));
  TT_EXPECT_EQ(
      tt_type_elems(tt_type_tensor(module, TT_DTYPE_F32, 3, (tt_dim_t[]){1 << 30, 1 << 30, 1 << 30})), -1);
  TT_EXPECT_EQ(tt_type_bytes(tt_type_tensor(module, TT_DTYPE_C64, 2, (tt_dim_t[]){3, 5})), 120);
  // A foreign type becomes the module's own.
  tt_module_t* other = NULL;
  TT_EXPECT_OK(tt_module_create(&other));
  const tt_type_t* own = tt_type_intern(other, tuple);
  TT_EXPECT(own && own != tuple && tt_type_equal(own, tuple) && tt_type_is_interned(other, own->elements[0]));
  tt_module_release(other);
  tt_module_release(module);
}

TT_TEST(target, tables) {
  tt_target_t t, first;
  tt_target_vtpu(&t);
  TT_EXPECT(t.is_vtpu && t.checks && t.int64_dot && t.dtype_support[TT_DTYPE_F64] == TT_SUPPORT_NATIVE);
  static const char* const chips[] = {"v5e", "v5p", "v6e", "tpu7x"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(chips); ++i) {
    TT_EXPECT_OK(tt_target_by_name(chips[i], &t));
    TT_EXPECT_STR(t.name, chips[i]);
    TT_EXPECT(!t.is_vtpu && !t.int64_dot);
    TT_EXPECT_EQ(t.dtype_support[TT_DTYPE_F64], TT_SUPPORT_REFUSED);
    TT_EXPECT_EQ(t.dtype_support[TT_DTYPE_C128], TT_SUPPORT_REFUSED);
    TT_EXPECT_EQ(t.dtype_support[TT_DTYPE_S64], TT_SUPPORT_EMULATED);
    TT_EXPECT_EQ(t.dtype_support[TT_DTYPE_BF16], TT_SUPPORT_NATIVE);
    // All generations get the same programs: tests/tpu/gate.py collects them once. What differs, float8's
    // rate, is not seen by lowerings.
    TT_EXPECT_OK(tt_target_by_name("v5e", &first));
    TT_EXPECT(t.fft64 == first.fft64 && t.rounds_f32 == first.rounds_f32 && t.checks == first.checks);
    TT_EXPECT(t.custom_calls == first.custom_calls && t.matmul_passes == first.matmul_passes);
    for (int d = 1; d < TT_DTYPE_COUNT; ++d) {
      TT_EXPECT_EQ(t.dtype_support[d] == TT_SUPPORT_REFUSED, first.dtype_support[d] == TT_SUPPORT_REFUSED);
    }
  }
  TT_EXPECT_OK(tt_target_by_name("foreign", &t));
  TT_EXPECT(!t.is_vtpu && !t.checks);
  TT_EXPECT_ERROR(tt_target_by_name("v1", &t), TT_NOT_FOUND, "no target named \"v1\"");
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
