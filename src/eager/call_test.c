// Ops through the whole stack: cells, views, in-place, out=, keys. Run with TORCH_TPU_PLUGIN=path of
// libvtpu.so.
#include "eager/test_support.h"

static const float two_by_three[] = {1, 2, 3, 4, 5, 6};

TT_TEST(call, add_and_alpha) {
  fixture_t x, y, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(3), two_by_three));
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&y), int_arg(1)};
  TT_EXPECT_OK(call_one("add.Tensor", 3, args, &z));
  EXPECT_F32(&z, 2, 4, 6, 5, 7, 9);
  drop(&z);
  args[2] = float_arg(10);  // a run-time value
  TT_EXPECT_OK(call_one("add.Tensor", 3, args, &z));
  EXPECT_F32(&z, 11, 22, 33, 14, 25, 36);
  drop(&z);
  tt_compile_stats_t before, after;
  tt_compile_stats(&before);
  args[2] = float_arg(-7.5);
  TT_EXPECT_OK(call_one("add.Tensor", 3, args, &z));
  EXPECT_F32(&z, 1 - 7.5f, 2 - 15.f, 3 - 22.5f, 4 - 7.5f, 5 - 15.f, 6 - 22.5f);
  tt_compile_stats(&after);
  TT_EXPECT_EQ(after.misses, before.misses);  // another value is no other program
  drop(&x), drop(&y), drop(&z);
}

TT_TEST(call, mm_of_transposed_views) {
  fixture_t x, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  fixture_t t = fixture_view(&x, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&t)};
  TT_EXPECT_OK(call_one("mm", 2, args, &z));
  EXPECT_F32(&z, 14, 32, 32, 77);  // numpy: x @ x.T
  drop(&x), drop(&z);
}

TT_TEST(call, sum_and_views) {
  fixture_t x, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  fixture_t column = fixture_view(&x, 1, (int64_t[]){2}, (int64_t[]){3}, 1);
  EXPECT_F32(&column, 2, 5);
  fixture_t wide = fixture_view(&x, 3, (int64_t[]){2, 2, 2}, (int64_t[]){3, 0, 1},
                                1);  // x[:, 1:].unsqueeze(1).expand(2, 2, 2)
  tt_arg_t args[] = {tensor_arg(&wide), tensor_arg(&column), int_arg(1)};
  TT_EXPECT_OK(call_one("add.Tensor", 3, args, &z));
  EXPECT_F32(&z, 4, 8, 4, 8, 7, 11, 7, 11);
  drop(&z);
  tt_arg_t sum_args[] = {tensor_arg(&x),
                         {.kind = TT_ARG_INTS, .count = 1, .ints = (int64_t[]){1}},
                         {.kind = TT_ARG_BOOL},
                         none_arg()};
  TT_EXPECT_OK(call_one("sum.dim_IntList", 4, sum_args, &z));
  EXPECT_F32(&z, 6, 15);
  drop(&x), drop(&z);
}

TT_TEST(call, inplace_on_views_writes_the_base) {
  fixture_t x, y;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  fixture_t column = fixture_view(&x, 1, (int64_t[]){2}, (int64_t[]){3}, 1);
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(2), two_by_three));
  tt_arg_t args[] = {tensor_arg(&column), tensor_arg(&y), int_arg(1)};
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));
  EXPECT_F32(&x, 1, 3, 3, 4, 7, 6);
  fixture_t t = fixture_view(&x, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);  // x.T.mul_(2)
  fixture_t two;
  TT_EXPECT_OK(fixture_make(&two, TT_DTYPE_F32, 0, NULL, (float[]){2}));
  tt_arg_t whole[] = {tensor_arg(&t), tensor_arg(&two)};
  TT_EXPECT_OK(call_inplace("mul_.Tensor", 2, whole));
  EXPECT_F32(&x, 2, 6, 6, 8, 14, 12);
  EXPECT_F32(&t, 2, 8, 6, 14, 6, 12);
  drop(&x), drop(&y), drop(&two);
}

TT_TEST(call, unbound_reads_as_zeros_e1) {
  fixture_t x, y, z;
  TT_EXPECT_OK(fixture_empty(&x, TT_DTYPE_F32, SIZES(2, 3)));
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(3), two_by_three));
  EXPECT_F32(&x, 0, 0, 0, 0, 0, 0);
  fixture_t row = fixture_view(&x, 1, (int64_t[]){3}, (int64_t[]){1}, 3);
  tt_arg_t args[] = {tensor_arg(&row), tensor_arg(&y), int_arg(1)};
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));
  EXPECT_F32(&x, 0, 0, 0, 1, 2, 3);
  args[0] = tensor_arg(&x);
  TT_EXPECT_OK(call_one("add.Tensor", 3, args, &z));
  EXPECT_F32(&z, 1, 2, 3, 2, 4, 6);
  drop(&x), drop(&y), drop(&z);
}

TT_TEST(call, out_variant_converts_and_resizes) {
  fixture_t x, out;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  TT_EXPECT_OK(fixture_empty(&out, TT_DTYPE_F64, SIZES(2, 3)));
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&x), int_arg(1)};
  tt_result_t results[4];
  uint32_t count = 0;
  TT_EXPECT_OK(call_op("add.out", 3, args, 1, &out.view, results, &count));
  TT_EXPECT_EQ(count, 1);
  TT_EXPECT_EQ(results[0].kind, TT_RESULT_WRITTEN);
  double got[6];
  TT_EXPECT_OK(tt_tensor_to_host(&out.view, got));
  TT_EXPECT_NEAR(got[5], 12, 0);
  drop(&out);
  TT_EXPECT_OK(fixture_empty(&out, TT_DTYPE_F32, SIZES(0)));
  TT_EXPECT_OK(call_op("add.out", 3, args, 1, &out.view, results, &count));
  TT_EXPECT_EQ(results[0].kind, TT_RESULT_TENSOR);
  TT_EXPECT_EQ(results[0].rank, 2);
  tt_storage_release(results[0].storage);
  drop(&out);
  TT_EXPECT_OK(fixture_empty(&out, TT_DTYPE_S32, SIZES(2, 3)));
  TT_EXPECT_ERROR(call_op("add.out", 3, args, 1, &out.view, results, &count), TT_INVALID_ARGUMENT,
                  "result type Float can't be cast to the desired output type Int");
  drop(&out), drop(&x);
}

TT_TEST(call, overlaps_are_cpu_pytorchs) {
  fixture_t x;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(6), two_by_three));
  fixture_t tail = fixture_view(&x, 1, (int64_t[]){5}, (int64_t[]){1}, 1),
            head = fixture_view(&x, 1, (int64_t[]){5}, (int64_t[]){1}, 0);
  tt_arg_t args[] = {tensor_arg(&tail), tensor_arg(&head), int_arg(1)};
  TT_EXPECT_ERROR(call_inplace("add_.Tensor", 3, args), TT_INVALID_ARGUMENT,
                  "some elements of the input tensor and the written-to tensor");
  fixture_t even = fixture_view(&x, 1, (int64_t[]){3}, (int64_t[]){2}, 0),
            odd = fixture_view(&x, 1, (int64_t[]){3}, (int64_t[]){2}, 1);
  tt_arg_t mixed[] = {tensor_arg(&even), tensor_arg(&odd), int_arg(1)};
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, mixed));
  EXPECT_F32(&x, 3, 2, 7, 4, 11, 6);
  fixture_t expanded = fixture_view(&x, 1, (int64_t[]){5}, (int64_t[]){0}, 0);
  args[0] = tensor_arg(&expanded);
  TT_EXPECT_ERROR(call_inplace("add_.Tensor", 3, args), TT_INVALID_ARGUMENT,
                  "more than one element of the written-to tensor");
  EXPECT_F32(&x, 3, 2, 7, 4, 11, 6);
  drop(&x);
}

TT_TEST(call, broadcast_and_shape_errors) {
  fixture_t x, y;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(2), two_by_three));
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&y), int_arg(1)};
  fixture_t z;
  TT_EXPECT_ERROR(call_one("add.Tensor", 3, args, &z), TT_INVALID_ARGUMENT,
                  "aten::add.Tensor(tensor<2x3xf32>, tensor<2xf32>, 1): The size of tensor a (3) must match "
                  "the size of tensor b (2)");
  fixture_t row = fixture_view(&x, 1, (int64_t[]){3}, (int64_t[]){1}, 0);
  tt_arg_t in[] = {tensor_arg(&row), tensor_arg(&x), int_arg(1)};
  TT_EXPECT_ERROR(call_inplace("add_.Tensor", 3, in), TT_INVALID_ARGUMENT,
                  "output with shape [3] doesn't match the broadcast shape [2, 3]");
  drop(&x), drop(&y);
}

TT_TEST(call, host_scalars_and_promotion) {
  fixture_t x, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  double half = 0.5;
  tt_arg_t number = {.kind = TT_ARG_TENSOR,
                     .tensor = {.host_scalar = &half,
                                .graph_value = -1,
                                .dtype = TT_DTYPE_F64,
                                .is_wrapped_number = true,
                                .is_defined = true}};
  tt_arg_t args[] = {tensor_arg(&x), number};
  TT_EXPECT_OK(call_one("mul.Tensor", 2, args, &z));
  TT_EXPECT_EQ(z.view.dtype, TT_DTYPE_F32);
  EXPECT_F32(&z, 0.5, 1, 1.5, 2, 2.5, 3);
  drop(&x), drop(&z);
}

TT_TEST(call, result_strides_follow_the_inputs) {
  fixture_t x, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  fixture_t t = fixture_view(&x, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
  tt_arg_t args[] = {tensor_arg(&t)};
  TT_EXPECT_OK(call_one("neg", 1, args, &z));
  TT_EXPECT_EQ(z.strides[0], 1);
  TT_EXPECT_EQ(z.strides[1], 3);
  EXPECT_F32(&z, -1, -4, -2, -5, -3, -6);
  drop(&x), drop(&z);
}

TT_TEST(call, empty_tensors) {
  fixture_t x, z;
  TT_EXPECT_OK(fixture_empty(&x, TT_DTYPE_F32, SIZES(0, 3)));
  tt_arg_t args[] = {tensor_arg(&x)};
  TT_EXPECT_OK(call_one("neg", 1, args, &z));
  TT_EXPECT_EQ(z.sizes[0], 0);
  TT_EXPECT_EQ(z.sizes[1], 3);
  drop(&z);
  tt_arg_t sum_args[] = {tensor_arg(&x),
                         {.kind = TT_ARG_INTS, .count = 1, .ints = (int64_t[]){0}},
                         {.kind = TT_ARG_BOOL},
                         none_arg()};
  TT_EXPECT_OK(call_one("sum.dim_IntList", 4, sum_args, &z));
  EXPECT_F32(&z, 0, 0, 0);
  drop(&x), drop(&z);
}

TT_TEST(call, copies_do_not_alias) {
  fixture_t x, y;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  TT_EXPECT_OK(fixture_empty(&y, TT_DTYPE_F32, SIZES(2, 3)));
  TT_EXPECT_OK(tt_tensor_copy(&y.view, &x.view));
  tt_arg_t args[] = {tensor_arg(&y), tensor_arg(&y), int_arg(1)};
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));
  EXPECT_F32(&x, 1, 2, 3, 4, 5, 6);
  EXPECT_F32(&y, 2, 4, 6, 8, 10, 12);
  args[0] = args[1] = tensor_arg(&x);
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));
  TT_EXPECT_OK(call_inplace("add_.Tensor", 3, args));
  EXPECT_F32(&x, 4, 8, 12, 16, 20, 24);
  EXPECT_F32(&y, 2, 4, 6, 8, 10, 12);
  drop(&x), drop(&y);
}

TT_TEST(call, reasons_and_forbidden_recompiles) {
  fixture_t x, y, z;
  TT_EXPECT_OK(tt_setting_set(TT_SETTING_ROUNDING, 0));   // it would add a word elsewhere than on vtpu
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(6), two_by_three));
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&x)};
  TT_EXPECT_OK(call_one("maximum", 2, args, &z));
  drop(&z);
  tt_arg_t other[] = {tensor_arg(&x), tensor_arg(&y)};
  fixture_t pair = fixture_view(&y, 2, (int64_t[]){1, 3}, (int64_t[]){3, 1}, 3);
  other[1] = tensor_arg(&pair);
  TT_EXPECT_OK(tt_setting_set(TT_SETTING_FORBID_RECOMPILES, 1));
  tt_status_t status = call_one("maximum", 2, other, &z);
  TT_EXPECT_OK(tt_setting_set(TT_SETTING_FORBID_RECOMPILES, 0));
  TT_EXPECT_ERROR(status, TT_FAILED_PRECONDITION, "aten::maximum: sizes of argument 1: [2, 3] -> [1, 3]");
  TT_EXPECT_OK(call_one("maximum", 2, other, &z));
  EXPECT_F32(&z, 4, 5, 6, 4, 5, 6);
  char* text = NULL;
  TT_EXPECT_OK(tt_compile_reasons(1, &text));
  TT_EXPECT_STR(text, "aten::maximum: sizes of argument 1: [2, 3] -> [1, 3]\n");
  TT_EXPECT_OK(tt_setting_set(TT_SETTING_ROUNDING, 1));
  tt_text_free(text);
  drop(&x), drop(&y), drop(&z);
}

TT_TEST(call, hits_allocate_nothing_f1) {
  fixture_t x, y, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  tt_arg_t args[] = {tensor_arg(&x), tensor_arg(&y), float_arg(0.3)};
  for (int i = 0; i < 50; ++i) {
    TT_EXPECT_OK(call_one("add.Tensor", 3, args, &z));
    drop(&z);
  }
  tt_alloc_stats_t before = tt_alloc_stats();
  for (int i = 0; i < 1000; ++i) {
    TT_EXPECT_OK(call_one("add.Tensor", 3, args, &z));
    drop(&z);
  }
  tt_alloc_stats_t after = tt_alloc_stats();
  TT_EXPECT_EQ(after.live_blocks, before.live_blocks);
  // The client wraps each result buffer once; the engine itself adds nothing.
  TT_EXPECT(after.allocations - before.allocations <= 1000);
  drop(&x), drop(&y);
}

// D17: whichever host allocation fails while a program is built and run, the call says so and nothing leaks.
TT_TEST(call, every_failing_allocation) {
  fixture_t x, z;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), two_by_three));
  tt_tensor_t pair[2] = {x.view, x.view};
  pair[0].sizes = pair[1].sizes = x.sizes;
  pair[0].strides = pair[1].strides = x.strides;
  tt_arg_t cat[] = {{.kind = TT_ARG_TENSORS, .count = 2, .tensors = pair}, int_arg(0)};
  tt_arg_t softmax[] = {tensor_arg(&x), int_arg(1), {.kind = TT_ARG_BOOL}};
  tt_arg_t sum[] = {tensor_arg(&x),
                    {.kind = TT_ARG_INTS, .count = 1, .ints = (int64_t[]){1}},
                    {.kind = TT_ARG_BOOL},
                    none_arg()};
  struct {
    const char* name;
    uint32_t count;
    const tt_arg_t* args;
  } calls[] = {{"cat", 2, cat},
               {"_softmax", 3, softmax},
               {"sum.dim_IntList", 4, sum},
               {"std.correction", 4, sum},
               {"gelu", 1, sum}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(calls); ++i) {
    TT_EXPECT_OK(call_one(calls[i].name, calls[i].count, calls[i].args, &z));
    drop(&z);
    for (uint64_t nth = 1; nth < 200; ++nth) {
      tt_compile_cache_clear();
      int64_t before = tt_alloc_stats().live_blocks;
      tt_fault_arm_allocation(nth);
      tt_status_t status = call_one(calls[i].name, calls[i].count, calls[i].args, &z);
      bool fired = tt_fault_fired(), ok = tt_status_is_ok(status);
      tt_fault_arm_allocation(0);
      if (!ok) TT_EXPECT_EQ(tt_status_code(status), TT_RESOURCE_EXHAUSTED);
      tt_status_free(status);
      if (ok) drop(&z);
      if (!fired) break;
      tt_compile_cache_clear();
      TT_EXPECT(tt_alloc_stats().live_blocks <= before + 2);   // a pool of records may have grown
    }
  }
  drop(&x);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
