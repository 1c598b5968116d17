// One program built symbolically and statically: specialising the first gives the second.
#include "base/test.h"
#include "ir/builder.h"
#include "ir/describe.h"
#include "ir/dim.h"

// relu(concat(x, y)[..., ::2] @ w + bias), pooled; n and m are the extents.
static tt_status_t build(tt_module_t* module, tt_dim_t n, tt_dim_t m) {
  tt_builder_t state, *b = &state;
  tt_builder_initialize(b, module);
  const tt_type_t* types[4] = {
      tt_b_type(b, TT_DTYPE_F32, 2, (tt_dim_t[]){n, m}), tt_b_type(b, TT_DTYPE_F32, 2, (tt_dim_t[]){n, 4}),
      tt_b_type(b, TT_DTYPE_F32, 2, (tt_dim_t[]){tt_dim_floordiv(module, tt_dim_add(module, m, 5), 2), 8}),
      tt_b_type(b, TT_DTYPE_F32, 1, (tt_dim_t[]){8})};
  tt_func_t* func = tt_b_func_begin(b, "main", true, 4, types);
  tt_value_t* joined =
      tt_b_concatenate(b, 2, (tt_value_t*[]){tt_b_func_arg(func, 0), tt_b_func_arg(func, 1)}, 1);
  tt_value_t* thin = tt_b_slice(b, joined, NULL, NULL, (int64_t[]){1, 2});
  tt_value_t* product = tt_b_matmul(b, thin, tt_b_func_arg(func, 2));
  tt_value_t* bias = tt_b_broadcast_to(b, tt_b_func_arg(func, 3), 2, (tt_dim_t[]){n, 8});
  tt_value_t* sum = tt_b_binary(b, TT_OP_ADD, product, bias);
  tt_value_t* padded =
      tt_b_pad(b, sum, tt_b_scalar_f64(b, TT_DTYPE_F32, 0), (int64_t[]){1, 0}, (int64_t[]){2, 0}, NULL);
  tt_window_t window = {.dimensions = (int64_t[]){2, 2}, .strides = (int64_t[]){2, 2}};
  tt_value_t* pooled =
      tt_b_reduce_window(b, TT_OP_MAXIMUM, padded, tt_b_identity(b, TT_OP_MAXIMUM, TT_DTYPE_F32), &window);
  tt_value_t* flat =
      tt_b_reshape(b, pooled, 1,
                   (tt_dim_t[]){tt_dim_mul(module, tt_dim_floordiv(module, tt_dim_add(module, n, 3), 2), 4)});
  tt_value_t* count = pooled ? tt_b_iota(b, tt_b_type(b, TT_DTYPE_S32, 1, (tt_dim_t[]){n}), 0) : NULL;
  tt_b_func_end(b, func, 2, (tt_value_t*[]){flat, count});
  tt_status_t status = tt_builder_take_status(b);
  tt_builder_deinitialize(b);
  return status;
}

static tt_status_t symbolic(int64_t max_n, tt_module_t** out) {
  tt_dim_t n, m;
  size_t index;
  TT_RETURN_IF_ERROR(tt_module_create(out));
  TT_RETURN_IF_ERROR(tt_dim_symbol(*out, "n", 1, max_n, &n, &index));
  TT_RETURN_IF_ERROR(tt_dim_symbol(*out, "m", 2, 100, &m, &index));
  return build(*out, n, m);
}

TT_TEST(specialise, equals_static_build) {
  tt_module_t* generic = NULL;
  TT_EXPECT_OK(symbolic(INT64_MAX, &generic));
  TT_EXPECT_OK(tt_module_verify(generic));
  TT_EXPECT_STR(TT_TYPE_TEXT(generic, tt_module_main(generic)->result_types[0]),
                "tensor<4*floordiv(n + 1, 2) + 4xf32>");
  static const int64_t extents[][2] = {{1, 2}, {4, 7}, {33, 64}, {2, 100}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(extents); ++i) {
    tt_module_t *bound = NULL, *fixed = NULL;
    TT_EXPECT_OK(tt_module_specialise(generic, extents[i], 2, &bound));
    TT_EXPECT_OK(tt_module_create(&fixed));
    TT_EXPECT_OK(build(fixed, extents[i][0], extents[i][1]));
    TT_EXPECT(tt_module_equal(bound, fixed));
    TT_EXPECT(tt_module_hash(bound) == tt_module_hash(fixed));
    tt_module_release(bound);
    tt_module_release(fixed);
  }
  tt_module_t* none = NULL;
  TT_EXPECT_ERROR(tt_module_specialise(generic, (int64_t[]){3, 101}, 2, &none), TT_OUT_OF_RANGE,
                  "symbol m is bound to 101");
  TT_EXPECT_ERROR(tt_module_specialise(generic, (int64_t[]){3}, 1, &none), TT_OUT_OF_RANGE,
                  "symbol m (number 1)");
  TT_EXPECT(none == NULL);
  tt_module_release(generic);
}

// What the prover leaves open when building is judged here.
TT_TEST(specialise, settles_open_shapes) {
  tt_module_t *module = NULL, *bound = NULL;
  TT_EXPECT_OK(tt_module_create(&module));
  tt_dim_t p, q;
  size_t index;
  TT_EXPECT_OK(tt_dim_symbol(module, "p", 1, 9, &p, &index));
  TT_EXPECT_OK(tt_dim_symbol(module, "q", 1, 9, &q, &index));
  tt_builder_t b;
  tt_builder_initialize(&b, module);
  const tt_type_t* types[2] = {tt_b_type(&b, TT_DTYPE_F32, 1, &p), tt_b_type(&b, TT_DTYPE_F32, 1, &q)};
  tt_func_t* func = tt_b_func_begin(&b, "main", true, 2, types);
  tt_value_t* sum = tt_b_binary(&b, TT_OP_ADD, tt_b_func_arg(func, 0), tt_b_func_arg(func, 1));
  tt_b_func_end(&b, func, 1, &sum);
  TT_EXPECT_OK(tt_builder_take_status(&b));
  TT_EXPECT_OK(tt_module_specialise(module, (int64_t[]){4, 4}, 2, &bound));
  tt_module_release(bound);
  TT_EXPECT_ERROR(tt_module_specialise(module, (int64_t[]){4, 5}, 2, &bound), TT_INVALID_ARGUMENT,
                  "operand shapes tensor<4xf32> and tensor<5xf32> differ");
  tt_builder_deinitialize(&b);
  tt_module_release(module);
}

TT_TEST(bounded, types_and_extents) {
  tt_module_t *generic = NULL, *bounded = NULL;
  TT_EXPECT_OK(symbolic(31, &generic));
  TT_EXPECT_OK(tt_module_to_bounded(generic, &bounded));
  tt_func_t* func = tt_module_main(bounded);
  TT_EXPECT_STR(TT_TYPE_TEXT(bounded, func->body.block.args[0].type), "tensor<?x?xf32, bounds 31, 100>");
  TT_EXPECT_STR(TT_TYPE_TEXT(bounded, func->body.block.args[2].type), "tensor<?x8xf32, bounds 52, ?>");
  TT_EXPECT_STR(TT_TYPE_TEXT(bounded, func->result_types[0]), "tensor<?xf32, bounds 68>");
  int sizes = 0, reshapes = 0;
  for (tt_op_t* op = func->body.block.first; op; op = op->next) {
    sizes += op->kind == TT_OP_SET_DIMENSION_SIZE;
    reshapes += op->kind == TT_OP_DYNAMIC_RESHAPE;
    TT_EXPECT(op->kind != TT_OP_IOTA || tt_type_is_static(op->results[0].type));
  }
  TT_EXPECT_EQ(sizes, 3);      // the strided slice, the broadcast bias and the iota
  TT_EXPECT_EQ(reshapes, 1);
  tt_module_release(bounded);
  tt_module_release(generic);
  TT_EXPECT_OK(symbolic(INT64_MAX, &generic));
  TT_EXPECT_ERROR(tt_module_to_bounded(generic, &bounded), TT_INVALID_ARGUMENT,
                  "dimension n of tensor<nxmxf32> has no upper bound");
  tt_module_release(generic);
}

TT_TEST(fault, passes) {
  tt_module_t* generic = NULL;
  TT_EXPECT_OK(symbolic(31, &generic));
  for (uint64_t nth = 1; nth < 200; ++nth) {
    int64_t live = tt_alloc_stats().live_blocks;
    tt_module_t *bound = NULL, *bounded = NULL, *again = NULL;
    tt_alloc_fault_arm(nth);
    tt_status_t status = tt_module_specialise(generic, (int64_t[]){4, 7}, 2, &bound);
    if (tt_status_is_ok(status)) status = tt_module_to_bounded(generic, &bounded);
    if (tt_status_is_ok(status)) status = symbolic(31, &again);
    bool fired = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    if (!fired) TT_EXPECT_OK(status);
    else TT_EXPECT(!tt_status_is_ok(status));
    tt_status_free(status);
    tt_module_release(bound);
    tt_module_release(bounded);
    tt_module_release(again);
    TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
    if (!fired) break;
  }
  tt_module_release(generic);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
