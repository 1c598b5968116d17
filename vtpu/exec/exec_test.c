// Programs as StableHLO text with hand-computed results: control flow, regions, donation, checks, collectives.
#include "exec/test_program.h"

#include "ir/text.h"
#include "kernels/work.h"

static tt_plan_t* compile_text(const char* text, const tt_plan_options_t* options) {
  tt_module_t* module = NULL;
  tt_plan_t* plan = NULL;
  tt_status_t status = tt_module_parse(text, strlen(text), &module);
  if (tt_status_is_ok(status)) status = tt_module_verify(module);
  if (tt_status_is_ok(status)) status = tt_plan_compile(module, options, &plan);
  if (!tt_status_is_ok(status)) TT_TEST_FAIL("%s", tt_status_message(status));
  tt_status_free(status);
  tt_module_release(module);
  return plan;
}

#define F32(r, i) (((const float*)(r).outputs[i]))
#define S32(r, i) (((const int32_t*)(r).outputs[i]))
#define RUN(plan, run)                                    \
  do {                                                    \
    TT_EXPECT((plan) != NULL);                            \
    TT_EXPECT_OK(test_execute((plan), &(run)));           \
  } while (0)
#define DONE(plan, run) do { test_run_free(&(run)); tt_plan_release(plan); } while (0)

TT_TEST(exec, while_sums) {
  tt_plan_t* plan = compile_text(
      "func.func @main(%n: tensor<i32>, %x: tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>) {\n"
      "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %r:2 = \"stablehlo.while\"(%zero, %x) ({\n"
      "  ^bb0(%i: tensor<i32>, %a: tensor<3xf32>):\n"
      "    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n"
      "  }, {\n"
      "  ^bb0(%i: tensor<i32>, %a: tensor<3xf32>):\n"
      "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %j = stablehlo.add %i, %one : tensor<i32>\n"
      "    %b = stablehlo.add %a, %a : tensor<3xf32>\n"
      "    \"stablehlo.return\"(%j, %b) : (tensor<i32>, tensor<3xf32>) -> ()\n"
      "  }) : (tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>)\n"
      "  return %r#0, %r#1 : tensor<i32>, tensor<3xf32>\n"
      "}\n", NULL);
  int32_t n = 5;
  float x[] = {1, 2, 3};
  test_run_t run = {.inputs = {&n, x}};
  RUN(plan, run);
  TT_EXPECT_EQ(S32(run, 0)[0], 5);
  TT_EXPECT_NEAR(F32(run, 1)[2], 96, 0);
  test_run_free(&run);
  n = -1;
  RUN(plan, run);
  TT_EXPECT_EQ(S32(run, 0)[0], 0);
  TT_EXPECT_NEAR(F32(run, 1)[0], 1, 0);
  DONE(plan, run);
}

TT_TEST(exec, bitcast_of_a_splat) {  // a splat holds one element: its bitcast is a splat too
  tt_plan_t* plan = compile_text(
      "func.func @main(%x: tensor<8xi32>) -> (tensor<8xi32>, tensor<16xi16>) {\n"
      "  %c = stablehlo.constant dense<1.0> : tensor<8xf32>\n"
      "  %b = stablehlo.bitcast_convert %c : (tensor<8xf32>) -> tensor<8xi32>\n"
      "  %r = stablehlo.add %b, %x : tensor<8xi32>\n"
      "  %h = stablehlo.bitcast_convert %c : (tensor<8xf32>) -> tensor<8x2xi16>\n"
      "  %f = stablehlo.reshape %h : (tensor<8x2xi16>) -> tensor<16xi16>\n"
      "  return %r, %f : tensor<8xi32>, tensor<16xi16>\n"
      "}\n", NULL);
  int32_t x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  test_run_t run = {.inputs = {x}};
  RUN(plan, run);
  for (int i = 0; i < 8; ++i) {
    TT_EXPECT_EQ(S32(run, 0)[i], 0x3f800000 + i);
    TT_EXPECT_EQ(((const int16_t*)run.outputs[1])[2 * i], 0);
    TT_EXPECT_EQ(((const int16_t*)run.outputs[1])[2 * i + 1], 0x3f80);
  }
  DONE(plan, run);
}

TT_TEST(exec, while_swaps) {          // (a, b) -> (b, a + b): Fibonacci; next values may not clobber each other
  tt_plan_t* plan = compile_text(
      "func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {\n"
      "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %r:3 = \"stablehlo.while\"(%zero, %zero, %one) ({\n"
      "  ^bb0(%i: tensor<i32>, %a: tensor<i32>, %b: tensor<i32>):\n"
      "    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n"
      "  }, {\n"
      "  ^bb0(%i: tensor<i32>, %a: tensor<i32>, %b: tensor<i32>):\n"
      "    %j = stablehlo.add %i, %one : tensor<i32>\n"
      "    %s = stablehlo.add %a, %b : tensor<i32>\n"
      "    \"stablehlo.return\"(%j, %b, %s) : (tensor<i32>, tensor<i32>, tensor<i32>) -> ()\n"
      "  }) : (tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>)\n"
      "  return %r#1, %r#2 : tensor<i32>, tensor<i32>\n"
      "}\n", NULL);
  int32_t n = 10;
  test_run_t run = {.inputs = {&n}};
  RUN(plan, run);
  TT_EXPECT_EQ(S32(run, 0)[0], 55);
  TT_EXPECT_EQ(S32(run, 1)[0], 89);
  DONE(plan, run);
}

TT_TEST(exec, while_updates_in_place) {   // out[i] = i * i by dynamic_update_slice
  tt_plan_t* plan = compile_text(
      "func.func @main() -> tensor<6xi32> {\n"
      "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %init = stablehlo.constant dense<-1> : tensor<6xi32>\n"
      "  %r:2 = \"stablehlo.while\"(%zero, %init) ({\n"
      "  ^bb0(%i: tensor<i32>, %a: tensor<6xi32>):\n"
      "    %five = stablehlo.constant dense<5> : tensor<i32>\n"
      "    %c = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n"
      "  }, {\n"
      "  ^bb0(%i: tensor<i32>, %a: tensor<6xi32>):\n"
      "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %sq = stablehlo.multiply %i, %i : tensor<i32>\n"
      "    %u = stablehlo.reshape %sq : (tensor<i32>) -> tensor<1xi32>\n"
      "    %b = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<6xi32>, tensor<1xi32>, tensor<i32>) -> tensor<6xi32>\n"
      "    %j = stablehlo.add %i, %one : tensor<i32>\n"
      "    \"stablehlo.return\"(%j, %b) : (tensor<i32>, tensor<6xi32>) -> ()\n"
      "  }) : (tensor<i32>, tensor<6xi32>) -> (tensor<i32>, tensor<6xi32>)\n"
      "  return %r#1 : tensor<6xi32>\n"
      "}\n", NULL);
  TT_EXPECT(plan != NULL);
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_plan_print(plan, &text);
  TT_EXPECT(!strstr(tt_strbuf_text(&text), "copy"));    // neither in nor out of the update
  tt_strbuf_deinitialize(&text);
  test_run_t run = {.inputs = {NULL}};
  RUN(plan, run);
  static const int32_t expected[] = {0, 1, 4, 9, 16, -1};
  TT_EXPECT(memcmp(run.outputs[0], expected, sizeof expected) == 0);
  DONE(plan, run);
}

TT_TEST(exec, if_and_case) {
  tt_plan_t* plan = compile_text(
      "func.func @main(%p: tensor<i1>, %k: tensor<i32>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {\n"
      "  %y = stablehlo.add %x, %x : tensor<2xf32>\n"
      "  %a = \"stablehlo.if\"(%p) ({\n"
      "    %t = stablehlo.negate %y : tensor<2xf32>\n"
      "    \"stablehlo.return\"(%t) : (tensor<2xf32>) -> ()\n"
      "  }, {\n"
      "    \"stablehlo.return\"(%y) : (tensor<2xf32>) -> ()\n"
      "  }) : (tensor<i1>) -> tensor<2xf32>\n"
      "  %b = \"stablehlo.case\"(%k) ({\n"
      "    \"stablehlo.return\"(%x) : (tensor<2xf32>) -> ()\n"
      "  }, {\n"
      "    %e = stablehlo.multiply %y, %a : tensor<2xf32>\n"
      "    \"stablehlo.return\"(%e) : (tensor<2xf32>) -> ()\n"
      "  }) : (tensor<i32>) -> tensor<2xf32>\n"
      "  return %a, %b : tensor<2xf32>, tensor<2xf32>\n"
      "}\n", NULL);
  uint8_t p = 1;
  int32_t k = 0;
  float x[] = {1, 2};
  test_run_t run = {.inputs = {&p, &k, x}};
  RUN(plan, run);
  TT_EXPECT_NEAR(F32(run, 0)[1], -4, 0);
  TT_EXPECT_NEAR(F32(run, 1)[1], 2, 0);
  test_run_free(&run);
  p = 0;
  k = 7;                               // out of range: the last branch
  RUN(plan, run);
  TT_EXPECT_NEAR(F32(run, 0)[1], 4, 0);
  TT_EXPECT_NEAR(F32(run, 1)[1], 16, 0);
  DONE(plan, run);
}

TT_TEST(exec, call_map_barrier_tuple) {
  tt_plan_t* plan = compile_text(
      "func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %c = stablehlo.constant dense<[1.0, 10.0]> : tensor<2xf32>\n"
      "  %r = stablehlo.add %a, %c : tensor<2xf32>\n"
      "  return %r : tensor<2xf32>\n"
      "}\n"
      "func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %a = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
      "  %b = func.call @f(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
      "  %m = \"stablehlo.map\"(%b, %x) <{dimensions = array<i64: 0>}> ({\n"
      "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
      "    %two = stablehlo.constant dense<2.0> : tensor<f32>\n"
      "    %s = stablehlo.multiply %p, %two : tensor<f32>\n"
      "    %t = stablehlo.subtract %s, %q : tensor<f32>\n"
      "    \"stablehlo.return\"(%t) : (tensor<f32>) -> ()\n"
      "  }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
      "  %o = stablehlo.optimization_barrier %m : tensor<2xf32>\n"
      "  return %o : tensor<2xf32>\n"
      "}\n", NULL);
  float x[] = {3, 4};
  test_run_t run = {.inputs = {x}};
  RUN(plan, run);
  TT_EXPECT_NEAR(F32(run, 0)[0], 7, 0);
  TT_EXPECT_NEAR(F32(run, 0)[1], 44, 0);
  DONE(plan, run);
}

static const char argmax_text[] =
    "func.func @main(%%x: tensor<%dx%dxf32>) -> (tensor<%dxf32>, tensor<%dxi32>) {\n"
    "  %%i = stablehlo.iota dim = %d : tensor<%dx%dxi32>\n"
    "  %%lo = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    "  %%z = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %%r:2 = \"stablehlo.reduce\"(%%x, %%i, %%lo, %%z) <{dimensions = array<i64: %d>}> ({\n"
    "  ^bb0(%%a: tensor<f32>, %%ai: tensor<i32>, %%b: tensor<f32>, %%bi: tensor<i32>):\n"
    "    %%gt = stablehlo.compare GT, %%a, %%b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    %%eq = stablehlo.compare EQ, %%a, %%b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    %%lt = stablehlo.compare LT, %%ai, %%bi, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    %%tie = stablehlo.and %%eq, %%lt : tensor<i1>\n"
    "    %%pick = stablehlo.or %%gt, %%tie : tensor<i1>\n"
    "    %%v = stablehlo.select %%gt, %%a, %%b : tensor<i1>, tensor<f32>\n"
    "    %%vi = stablehlo.select %%pick, %%ai, %%bi : tensor<i1>, tensor<i32>\n"
    "    \"stablehlo.return\"(%%v, %%vi) : (tensor<f32>, tensor<i32>) -> ()\n"
    "  }) : (tensor<%dx%dxf32>, tensor<%dx%dxi32>, tensor<f32>, tensor<i32>) -> (tensor<%dxf32>, tensor<%dxi32>)\n"
    "  return %%r#0, %%r#1 : tensor<%dxf32>, tensor<%dxi32>\n"
    "}\n";

static void argmax_case(int rows, int cols, int dim) {
  char text[4096];
  int out = dim ? rows : cols;
  snprintf(text, sizeof text, argmax_text, rows, cols, out, out, dim, rows, cols, dim, rows, cols, rows, cols, out, out, out, out);
  tt_plan_t* plan = compile_text(text, NULL);
  float* x = malloc((size_t)rows * (size_t)cols * 4);
  for (int i = 0; i < rows * cols; ++i) x[i] = (float)((i % 1009 * 7919 + 13) % 1009);
  test_run_t run = {.inputs = {x}};
  RUN(plan, run);
  for (int o = 0; o < out; ++o) {
    int best = 0, n = dim ? cols : rows;
#define AT(k) x[dim ? o * cols + (k) : (k) * cols + o]
    for (int k = 1; k < n; ++k) if (AT(k) > AT(best)) best = k;
    TT_EXPECT_NEAR(F32(run, 0)[o], AT(best), 0);
    TT_EXPECT_EQ(S32(run, 1)[o], best);
  }
  free(x);
  DONE(plan, run);
}

TT_TEST(exec, argmax) {
  argmax_case(1, 1, 1);
  argmax_case(3, 7, 1);
  argmax_case(7, 3, 0);
  argmax_case(40, 700, 1);
  argmax_case(700, 40, 0);
  argmax_case(2, 100000, 1);
  argmax_case(100000, 3, 0);
  argmax_case(5000, 3, 1);
  argmax_case(9, 6000, 0);
}

static void sum_case(const char* dtype_text, tt_dtype_t dtype, int rows, int cols, int dim, double tolerance) {
  char text[2048];
  int out = dim == 2 ? 1 : dim ? rows : cols;
  char out_type[64];
  if (dim == 2) snprintf(out_type, sizeof out_type, "tensor<%s>", dtype_text);
  else snprintf(out_type, sizeof out_type, "tensor<%dx%s>", out, dtype_text);
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<%dx%dx%s>) -> %s {\n"
           "  %%z = stablehlo.constant dense<0.0> : tensor<%s>\n"
           "  %%r = stablehlo.reduce(%%x init: %%z) applies stablehlo.add across dimensions = [%s] : (tensor<%dx%dx%s>, tensor<%s>) -> %s\n"
           "  return %%r : %s\n}\n",
           rows, cols, dtype_text, out_type, dtype_text, dim == 2 ? "0, 1" : dim ? "1" : "0", rows, cols, dtype_text, dtype_text, out_type, out_type);
  tt_plan_t* plan = compile_text(text, NULL);
  size_t e = tt_dtype_bytes(dtype);
  char* x = malloc((size_t)rows * (size_t)cols * e);
  for (int i = 0; i < rows * cols; ++i) tt_scalar_store_f64(dtype, 0.1 + (i * 31 % 17) * 0.01, x + (size_t)i * e);
  test_run_t run = {.inputs = {x}};
  RUN(plan, run);
  for (int o = 0; o < out; ++o) {
    long double sum = 0;
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < cols; ++k)
        if (dim == 2 || (dim ? r : k) == o) sum += tt_scalar_load_f64(dtype, x + ((size_t)r * (size_t)cols + (size_t)k) * e);
    TT_EXPECT_NEAR(tt_scalar_load_f64(dtype, (char*)run.outputs[0] + (size_t)o * e), (double)sum, tolerance * (double)sum);
  }
  free(x);
  DONE(plan, run);
}

TT_TEST(exec, sums_are_accurate) {
  sum_case("f32", TT_DTYPE_F32, 1000, 1000, 2, 2e-7);
  sum_case("f32", TT_DTYPE_F32, 3, 300000, 1, 3e-7);
  sum_case("f32", TT_DTYPE_F32, 100000, 3, 0, 3e-7);
  sum_case("f32", TT_DTYPE_F32, 3000, 70, 0, 3e-7);
  sum_case("f32", TT_DTYPE_F32, 40, 5000, 1, 3e-7);
  sum_case("f32", TT_DTYPE_F32, 700, 1500, 0, 3e-7);
  sum_case("bf16", TT_DTYPE_BF16, 1000, 100, 0, 4e-3);
  sum_case("bf16", TT_DTYPE_BF16, 10, 70000, 1, 4e-3);
  sum_case("f16", TT_DTYPE_F16, 20, 3000, 1, 5e-4);
  sum_case("f64", TT_DTYPE_F64, 1000, 1000, 2, 1e-15 * 4);
}

TT_TEST(exec, sort_with_comparator) {
  tt_plan_t* plan = compile_text(
      "func.func @main(%x: tensor<5xf32>, %y: tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>) {\n"
      "  %r:2 = \"stablehlo.sort\"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):\n"
      "    %na = stablehlo.negate %a : tensor<f32>\n"
      "    %nb = stablehlo.negate %b : tensor<f32>\n"
      "    %p = stablehlo.compare LT, %na, %nb, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "    \"stablehlo.return\"(%p) : (tensor<i1>) -> ()\n"
      "  }) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)\n"
      "  return %r#0, %r#1 : tensor<5xf32>, tensor<5xi32>\n"
      "}\n", NULL);
  float x[] = {1, 5, 3, 5, 2};
  int32_t y[] = {0, 1, 2, 3, 4};
  test_run_t run = {.inputs = {x, y}};
  RUN(plan, run);
  static const int32_t expected[] = {1, 3, 2, 4, 0};
  TT_EXPECT(memcmp(run.outputs[1], expected, sizeof expected) == 0);
  DONE(plan, run);
}

TT_TEST(exec, region_reads_enclosing_scalar) {
  tt_plan_t* plan = compile_text(
      "func.func @main(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<f32> {\n"
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %k = stablehlo.add %s, %s : tensor<f32>\n"
      "  %r = \"stablehlo.reduce\"(%x, %z) <{dimensions = array<i64: 0>}> ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "    %m = stablehlo.maximum %a, %b : tensor<f32>\n"
      "    %c = stablehlo.minimum %m, %k : tensor<f32>\n"
      "    \"stablehlo.return\"(%c) : (tensor<f32>) -> ()\n"
      "  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
      "  return %r : tensor<f32>\n"
      "}\n", NULL);
  float x[] = {1, 9, 3, 5}, s = 2;
  test_run_t run = {.inputs = {x, &s}};
  RUN(plan, run);
  TT_EXPECT_NEAR(F32(run, 0)[0], 4, 0);
  DONE(plan, run);
}

TT_TEST(exec, empty_and_passed_through) {
  tt_plan_t* plan = compile_text(
      "func.func @main(%x: tensor<2x3xf32>, %e: tensor<0x4xf32>) -> (tensor<2x3xf32>, tensor<6xf32>, tensor<0x4xf32>, tensor<4xf32>) {\n"
      "  %z = stablehlo.constant dense<7.0> : tensor<f32>\n"
      "  %f = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>\n"
      "  %n = stablehlo.negate %e : tensor<0x4xf32>\n"
      "  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>\n"
      "  return %x, %f, %n, %s : tensor<2x3xf32>, tensor<6xf32>, tensor<0x4xf32>, tensor<4xf32>\n"
      "}\n", NULL);
  float x[] = {1, 2, 3, 4, 5, 6};
  test_run_t run = {.inputs = {x, ""}};
  RUN(plan, run);
  TT_EXPECT(run.in_place[0] && run.in_place[1]);
  TT_EXPECT_NEAR(F32(run, 1)[5], 6, 0);
  TT_EXPECT_NEAR(F32(run, 3)[3], 7, 0);
  DONE(plan, run);
}

// ---- donation and checks -----------------------------------------------------------------------
TT_TEST(exec, donation_elementwise) {
  tt_plan_t* plan = compile_text(
      "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %r = stablehlo.add %x, %y : tensor<4xf32>\n"
      "  return %r : tensor<4xf32>\n"
      "}\n", NULL);
  float x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40};
  for (int donated = 0; donated < 2; ++donated) {
    test_run_t run = {.inputs = {x, y}, .donated = {donated}};
    RUN(plan, run);
    TT_EXPECT_EQ(run.in_place[0], donated);
    TT_EXPECT_EQ(run.inputs_kept, !donated);
    TT_EXPECT_NEAR(F32(run, 0)[3], 44, 0);
    test_run_free(&run);
  }
  tt_plan_release(plan);
}

TT_TEST(exec, donation_refused_when_read_elsewhere) {   // reverse(x) + x may not run in x
  tt_plan_t* plan = compile_text(
      "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {\n"
      "  %v = stablehlo.reverse %x, dims = [0] : tensor<4xf32>\n"
      "  %r = stablehlo.add %x, %v : tensor<4xf32>\n"
      "  return %r : tensor<4xf32>\n"
      "}\n", NULL);
  float x[] = {1, 2, 3, 5};
  test_run_t run = {.inputs = {x}, .donated = {true}};
  RUN(plan, run);
  TT_EXPECT(!run.in_place[0] && run.inputs_kept);
  static const float expected[] = {6, 5, 5, 6};
  TT_EXPECT(memcmp(run.outputs[0], expected, sizeof expected) == 0);
  DONE(plan, run);
}

typedef struct build_s { tt_module_t* module; tt_builder_t b; tt_func_t* f; } build_t;
static void build_begin(build_t* s, size_t count, const tt_type_t** (*types)(build_t*)) {
  tt_status_ignore(tt_module_create(&s->module));   // NULL crashes the test at once
  tt_builder_initialize(&s->b, s->module);
  s->f = tt_b_func_begin(&s->b, "main", true, count, types(s));
}
static const tt_type_t** eight_floats(build_t* s) {
  static const tt_type_t* types[2];
  int64_t dims[] = {8};
  types[0] = types[1] = tt_b_type(&s->b, TT_DTYPE_F32, 1, dims);
  return types;
}
static tt_plan_t* build_end(build_t* s, tt_value_t* result) {
  tt_b_func_arg_attr(&s->b, s->f, 0, tt_attr_int(TT_ATTR_ALIASING_OUTPUT, 0));
  tt_b_func_end(&s->b, s->f, 1, &result);
  tt_plan_t* plan = NULL;
  tt_status_t status = tt_builder_take_status(&s->b);
  if (tt_status_is_ok(status)) status = test_compile(s->module, false, &plan);
  if (!tt_status_is_ok(status)) TT_TEST_FAIL("%s", tt_status_message(status));
  tt_status_free(status);
  tt_builder_deinitialize(&s->b);
  tt_module_release(s->module);
  return plan;
}

// x[to::stride][:n] += x[from::stride][:n], donated and not.
static void strided_case(int64_t n, int64_t stride, int64_t from, int64_t to) {
  build_t s;
  build_begin(&s, 1, eight_floats);
  tt_value_t* x = tt_b_func_arg(s.f, 0);
  tt_value_t* a = tt_b_strided_read(&s.b, x, TT_DTYPE_F32, 1, &n, &stride, from);
  tt_value_t* b = tt_b_strided_read(&s.b, x, TT_DTYPE_F32, 1, &n, &stride, to);
  tt_plan_t* plan = build_end(&s, tt_b_strided_write(&s.b, x, tt_b_binary(&s.b, TT_OP_ADD, a, b), &stride, to));
  float in[] = {1, 2, 4, 8, 16, 32, 64, 128}, expected[8];
  memcpy(expected, in, sizeof in);
  for (int64_t i = 0; i < n; ++i) expected[to + i * stride] = in[to + i * stride] + in[from + i * stride];
  for (int donated = 0; donated < 2; ++donated) {
    test_run_t run = {.inputs = {in}, .donated = {donated}};
    RUN(plan, run);
    TT_EXPECT_EQ(run.in_place[0], donated);
    TT_EXPECT(memcmp(run.outputs[0], expected, sizeof expected) == 0);
    TT_EXPECT(donated || run.inputs_kept);
    test_run_free(&run);
  }
  tt_plan_release(plan);
}
TT_TEST(exec, strided_write_interleaved) { strided_case(4, 2, 1, 0); }
TT_TEST(exec, strided_write_overlapping) { strided_case(7, 1, 0, 1); }
TT_TEST(exec, strided_write_disjoint) { strided_case(4, 1, 4, 0); }
TT_TEST(exec, strided_write_same) { strided_case(3, 2, 1, 1); }

TT_TEST(exec, strided_writes_compose) {   // two writes to one donated base: no copy at all
  build_t s;
  build_begin(&s, 1, eight_floats);
  int64_t n = 3, one = 1, two = 2;
  tt_value_t* x = tt_b_func_arg(s.f, 0);
  tt_value_t* r = tt_b_strided_read(&s.b, x, TT_DTYPE_F32, 1, &n, &two, 0);
  tt_value_t* y = tt_b_strided_write(&s.b, x, tt_b_unary(&s.b, TT_OP_NEGATE, r), &two, 0);
  tt_value_t* q = tt_b_strided_read(&s.b, y, TT_DTYPE_F32, 1, &n, &one, 3);
  tt_plan_t* plan = build_end(&s, tt_b_strided_write(&s.b, y, tt_b_binary(&s.b, TT_OP_ADD, q, q), &one, 3));
  float in[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const float expected[] = {-1, 2, -3, 8, -10, 12, 7, 8};
  test_run_t run = {.inputs = {in}, .donated = {true}};
  RUN(plan, run);
  TT_EXPECT(run.in_place[0]);
  TT_EXPECT(memcmp(run.outputs[0], expected, sizeof expected) == 0);
  DONE(plan, run);
}

TT_TEST(exec, check_before_overwrite) {   // D3: a failing check leaves the donated parameter as it was
  for (int late = 0; late < 2; ++late) {
    build_t s;
    build_begin(&s, 2, eight_floats);
    tt_value_t *x = tt_b_func_arg(s.f, 0), *y = tt_b_func_arg(s.f, 1);
    int64_t dim = 0;
    tt_value_t *sum = NULL, *most = tt_b_reduce(&s.b, TT_OP_MAXIMUM, y, 1, &dim, false);
    tt_value_t* ok = tt_b_compare(&s.b, "LT", most, tt_b_scalar_f64(&s.b, TT_DTYPE_F32, 100));
    if (late) sum = tt_b_binary(&s.b, TT_OP_ADD, x, y);
    tt_b_check(&s.b, ok, TT_OUT_OF_RANGE, "value {0} is too large", 1, &most);
    if (!late) sum = tt_b_binary(&s.b, TT_OP_ADD, x, y);
    tt_plan_t* plan = build_end(&s, sum);
    float a[8] = {1, 1, 1, 1, 1, 1, 1, 1}, b[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    test_run_t run = {.inputs = {a, b}, .donated = {true}};
    RUN(plan, run);
    TT_EXPECT_NEAR(F32(run, 0)[7], 8, 0);
    TT_EXPECT_EQ(run.in_place[0], !late);
    test_run_free(&run);
    b[5] = 250;
    tt_status_t status = test_execute(plan, &run);
    TT_EXPECT_EQ(tt_status_code(status), TT_OUT_OF_RANGE);
    TT_EXPECT_STR(tt_status_message(status), "value 250 is too large");
    tt_status_free(status);
    TT_EXPECT(run.inputs_kept && run.outputs[0] == NULL);
    DONE(plan, run);
  }
}

// ---- serialisation -----------------------------------------------------------------------------
static const char softmax_text[] =
    "func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {\n"
    "  %lo = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %w = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>\n"
    "  %m = stablehlo.reduce(%x init: %lo) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>\n"
    "  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xf32>) -> tensor<3x5xf32>\n"
    "  %d = stablehlo.subtract %x, %mb : tensor<3x5xf32>\n"
    "  %e = stablehlo.exponential %d : tensor<3x5xf32>\n"
    "  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>\n"
    "  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<3xf32>) -> tensor<3x5xf32>\n"
    "  %q = stablehlo.divide %e, %sb : tensor<3x5xf32>\n"
    "  %wb = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<5xf32>) -> tensor<3x5xf32>\n"
    "  %r = stablehlo.multiply %q, %wb : tensor<3x5xf32>\n"
    "  return %r : tensor<3x5xf32>\n"
    "}\n";

// D3: whichever reservation fails, a donated tensor keeps its bits; the in-place write follows kernels that reserve.
TT_TEST(exec, failed_reservation_keeps_donated_bits) {
  static const char* const programs[] = {
      // a comparator that no kernel knows, after x's new value has been made
      "func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {\n"
      "  %n = stablehlo.add %x, %y : tensor<64xf32>\n"
      "  %s = \"stablehlo.sort\"(%y) <{dimension = 0 : i64, is_stable = true}> ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "    %p = stablehlo.cosine %a : tensor<f32>\n"
      "    %q = stablehlo.cosine %b : tensor<f32>\n"
      "    %c = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "    \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n"
      "  }) : (tensor<64xf32>) -> tensor<64xf32>\n"
      "  return %n, %s : tensor<64xf32>, tensor<64xf32>\n}\n",
      // the same in place: the sort itself takes x over
      "func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<64xf32>) -> tensor<64xf32> {\n"
      "  %s = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "    %p = stablehlo.cosine %a : tensor<f32>\n"
      "    %q = stablehlo.cosine %b : tensor<f32>\n"
      "    %c = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "    \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n"
      "  }) : (tensor<64xf32>) -> tensor<64xf32>\n"
      "  return %s : tensor<64xf32>\n}\n",
      "func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<33xcomplex<f32>>) {\n"
      "  %n = stablehlo.multiply %x, %y : tensor<64xf32>\n"
      "  %f = stablehlo.fft %n, type = RFFT, length = [64] : (tensor<64xf32>) -> tensor<33xcomplex<f32>>\n"
      "  return %n, %f : tensor<64xf32>, tensor<33xcomplex<f32>>\n}\n",
      "func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<8x8xf32>) {\n"
      "  %n = stablehlo.subtract %x, %y : tensor<64xf32>\n"
      "  %m = stablehlo.reshape %y : (tensor<64xf32>) -> tensor<8x8xf32>\n"
      "  %l = \"stablehlo.cholesky\"(%m) <{lower = true}> : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
      "  return %n, %l : tensor<64xf32>, tensor<8x8xf32>\n}\n",
  };
  for (size_t k = 0; k < TT_ARRAY_LENGTH(programs); ++k) {
    tt_plan_t* plan = compile_text(programs[k], NULL);
    TT_EXPECT(plan != NULL);
    float x[64], y[64];
    for (int i = 0; i < 64; ++i) {
      x[i] = (float)(i * 29 % 64) / 8;
      y[i] = i % 9 == 0 ? 4.0f : 0.25f;
    }
    bool failed = false, in_place = false;
    for (uint64_t n = 1; n < 60; ++n) {
      tt_vmem_t *parameters[2] = {NULL, NULL}, *results[2] = {NULL, NULL};
      const bool donated[2] = {true, false};
      for (int i = 0; i < 2; ++i) {
        TT_EXPECT_OK(tt_vmem_allocate(test_pool(), sizeof x, &parameters[i]));
        memcpy(parameters[i]->data, i ? y : x, sizeof x);
      }
      tt_exec_args_t args = {.plan = plan, .memory = test_pool(), .parameters = parameters, .donated = donated, .results = results};
      tt_k_work_trim();                // so that kernels have to allocate
      tt_alloc_fault_arm(n);
      tt_status_t status = tt_exec_run(&args);
      bool fired = tt_alloc_fault_fired();
      tt_alloc_fault_arm(0);
      if (!tt_status_is_ok(status)) {
        failed = true;
        TT_EXPECT_EQ(tt_status_code(status), TT_RESOURCE_EXHAUSTED);
        TT_EXPECT(memcmp(parameters[0]->data, x, sizeof x) == 0);
      } else {
        in_place = in_place || results[0] == parameters[0];
      }
      tt_status_free(status);
      for (int i = 0; i < 2; ++i) {
        tt_vmem_release(results[i]);
        tt_vmem_release(parameters[i]);
      }
      if (!fired) break;
    }
    TT_EXPECT(failed);
    if (k == 1) TT_EXPECT(in_place);
    tt_plan_release(plan);
  }
}

// Views of what has no elements: their maps are never followed, and dividing by their sizes ended the process.
TT_TEST(exec, views_without_elements) {
  static const char* const programs[] = {
      "func.func @main(%x: tensor<8x4x0xf32>) -> tensor<8x5x4xf32> {\n"
      "  %t = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<8x4x0xf32>) -> tensor<0x8x4xf32>\n"
      "  %w = stablehlo.constant dense<1.0> : tensor<5x0xf32>\n"
      "  %r = stablehlo.reshape %t : (tensor<0x8x4xf32>) -> tensor<0x32xf32>\n"
      "  %d = stablehlo.dot_general %w, %r, contracting_dims = [1] x [0] : (tensor<5x0xf32>, tensor<0x32xf32>) -> tensor<5x32xf32>\n"
      "  %e = stablehlo.reshape %d : (tensor<5x32xf32>) -> tensor<5x8x4xf32>\n"
      "  %y = stablehlo.transpose %e, dims = [1, 0, 2] : (tensor<5x8x4xf32>) -> tensor<8x5x4xf32>\n"
      "  return %y : tensor<8x5x4xf32>\n}\n",
      "func.func @main(%x: tensor<8x0x4xf32>) -> tensor<8x5x4xf32> {\n"
      "  %t = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<8x0x4xf32>) -> tensor<4x8x0xf32>\n"
      "  %w = stablehlo.constant dense<1.0> : tensor<5x0xf32>\n"
      "  %d = stablehlo.dot_general %t, %w, contracting_dims = [2] x [1] : (tensor<4x8x0xf32>, tensor<5x0xf32>) -> tensor<4x8x5xf32>\n"
      "  %y = stablehlo.transpose %d, dims = [1, 2, 0] : (tensor<4x8x5xf32>) -> tensor<8x5x4xf32>\n"
      "  return %y : tensor<8x5x4xf32>\n}\n"};
  for (size_t k = 0; k < TT_ARRAY_LENGTH(programs); ++k) {
    tt_plan_t* plan = compile_text(programs[k], NULL);
    TT_EXPECT(plan != NULL);
    test_run_t run = {.inputs = {""}};
    RUN(plan, run);
    for (int i = 0; i < 160; ++i) TT_EXPECT_NEAR(((const float*)run.outputs[0])[i], 0, 0);   // sums of nothing
    test_run_free(&run);
    tt_plan_release(plan);
  }
}

TT_TEST(exec, serialise_round_trip) {
  tt_plan_t *plan = compile_text(softmax_text, NULL), *again = NULL;
  TT_EXPECT(plan != NULL);
  void* bytes;
  size_t size;
  TT_EXPECT_OK(tt_plan_serialise(plan, &bytes, &size));
  TT_EXPECT_OK(tt_plan_deserialise(bytes, size, &again));
  float x[15];
  for (int i = 0; i < 15; ++i) x[i] = (float)(i * 7 % 5);
  test_run_t a = {.inputs = {x}}, b = {.inputs = {x}};
  RUN(plan, a);
  RUN(again, b);
  TT_EXPECT(memcmp(a.outputs[0], b.outputs[0], 60) == 0);
  double sum = 0;
  for (int k = 0; k < 5; ++k) sum += exp(x[k] - 4.0);
  for (int k = 0; k < 5; ++k) TT_EXPECT_NEAR(F32(a, 0)[k], (k + 1) * exp(x[k] - 4.0) / sum, 1e-6);
  for (size_t cut = 0; cut < size; cut += 7) {           // truncated
    tt_plan_t* broken = NULL;
    tt_status_t status = tt_plan_deserialise(bytes, cut, &broken);
    TT_EXPECT(!tt_status_is_ok(status) && broken == NULL);
    tt_status_free(status);
  }
  tt_free(bytes);
  test_run_free(&b);
  tt_plan_release(again);
  DONE(plan, a);
}

// ---- collectives -------------------------------------------------------------------------------
enum { DEVICES = 4 };
// One worker resumes all devices in turn; `order` rotates who goes first.
static void run_devices(const char* text, int replicas, int partitions, const float* inputs, size_t in_elems, float* outputs,
                        size_t out_elems, int order, const char* error) {
  tt_plan_options_t options = {.num_replicas = replicas, .num_partitions = partitions};
  tt_plan_t* plan = compile_text(text, &options);
  TT_EXPECT(plan != NULL);
  struct tt_rendezvous_s* meet;
  TT_EXPECT_OK(tt_rendezvous_create(replicas, partitions, &meet));
  int n = replicas * partitions, left = n;
  tt_exec_t* execs[DEVICES] = {0};
  tt_vmem_t *params[DEVICES][1], *results[DEVICES][1];
  bool done[DEVICES] = {0};
  for (int d = 0; d < n; ++d) {
    TT_EXPECT_OK(tt_vmem_allocate(test_pool(), in_elems * 4, &params[d][0]));
    memcpy(params[d][0]->data, inputs + (size_t)d * in_elems, in_elems * 4);
    tt_exec_args_t args = {.plan = plan, .memory = test_pool(), .parameters = params[d], .results = results[d],
                           .replica_id = d / partitions, .partition_id = d % partitions, .rendezvous = meet};
    TT_EXPECT_OK(tt_exec_begin(&args, &execs[d]));
  }
  bool failed = false;
  for (int turn = 0; left && turn < 100 && !failed; ++turn) {
    for (int k = 0; k < n && !failed; ++k) {
      int d = (k + order) % n;
      if (done[d]) continue;
      tt_exec_state_t state;
      tt_status_t status = tt_exec_resume(execs[d], &state);
      if (!tt_status_is_ok(status)) {
        failed = true;
        if (!error || !strstr(tt_status_message(status), error)) TT_TEST_FAIL("%s", tt_status_message(status));
        tt_status_free(status);
      } else if (state == TT_EXEC_DONE) {
        done[d] = true;
        --left;
        memcpy(outputs + (size_t)d * out_elems, results[d][0]->data, out_elems * 4);
        tt_vmem_release(results[d][0]);
      }
    }
  }
  if (!error) { TT_EXPECT_EQ(left, 0); }
  if (error) { TT_EXPECT(failed); }
  for (int d = 0; d < n; ++d) {
    if (error && !done[d]) {           // peers of a failed device learn of it
      tt_exec_state_t state;
      tt_status_t status = tt_exec_resume(execs[d], &state);
      TT_EXPECT(!tt_status_is_ok(status));
      tt_status_free(status);
    }
  }
  for (int d = 0; d < n; ++d) {
    tt_exec_end(execs[d]);
    tt_vmem_release(params[d][0]);
  }
  tt_rendezvous_release(meet);
  tt_plan_release(plan);
}

TT_TEST(collective, all_reduce) {
  static const char text[] =
      "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %y = stablehlo.add %x, %x : tensor<2xf32>\n"
      "  %r = \"stablehlo.all_reduce\"(%y) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "    %s = stablehlo.add %a, %b : tensor<f32>\n"
      "    \"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n"
      "  }) : (tensor<2xf32>) -> tensor<2xf32>\n"
      "  %id = stablehlo.replica_id : tensor<ui32>\n"
      "  %f = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>\n"
      "  %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
      "  %o = stablehlo.add %r, %g : tensor<2xf32>\n"
      "  return %o : tensor<2xf32>\n"
      "}\n";
  float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8];
  for (int order = 0; order < 4; ++order) {
    run_devices(text, 4, 1, in, 2, out, 2, order, NULL);
    for (int d = 0; d < 4; ++d) {
      TT_EXPECT_NEAR(out[2 * d], 32 + d, 0);
      TT_EXPECT_NEAR(out[2 * d + 1], 40 + d, 0);
    }
  }
}

TT_TEST(collective, all_gather_groups) {
  static const char text[] =
      "func.func @main(%x: tensor<2x1xf32>) -> tensor<2x2xf32> {\n"
      "  %r = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2x1xf32>) -> tensor<2x2xf32>\n"
      "  return %r : tensor<2x2xf32>\n"
      "}\n";
  float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[16];
  run_devices(text, 4, 1, in, 2, out, 4, 1, NULL);
  static const float expected[16] = {1, 5, 2, 6, 3, 7, 4, 8, 1, 5, 2, 6, 3, 7, 4, 8};
  TT_EXPECT(memcmp(out, expected, sizeof expected) == 0);
}

TT_TEST(collective, reduce_scatter_partitions) {   // global ids over 2 replicas x 2 partitions
  static const char text[] =
      "func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {\n"
      "  %r = \"stablehlo.reduce_scatter\"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "    %s = stablehlo.add %a, %b : tensor<f32>\n"
      "    \"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n"
      "  }) : (tensor<4xf32>) -> tensor<2xf32>\n"
      "  return %r : tensor<2xf32>\n"
      "}\n";
  float in[16], out[8];
  for (int i = 0; i < 16; ++i) in[i] = (float)(1 << i);
  run_devices(text, 2, 2, in, 4, out, 2, 2, NULL);
  for (int k = 0; k < 2; ++k) {
    TT_EXPECT_NEAR(out[0 + k], in[k] + in[12 + k], 0);           // device 0: first half of {0, 3}
    TT_EXPECT_NEAR(out[6 + k], in[2 + k] + in[14 + k], 0);       // device 3: second half
    TT_EXPECT_NEAR(out[2 + k], in[4 + k] + in[8 + k], 0);        // device 1: first half of {1, 2}
    TT_EXPECT_NEAR(out[4 + k], in[6 + k] + in[10 + k], 0);
  }
}

TT_TEST(collective, all_to_all) {
  static const char text[] =
      "func.func @main(%x: tensor<2x2xf32>) -> tensor<4x1xf32> {\n"
      "  %r = \"stablehlo.all_to_all\"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<4x1xf32>\n"
      "  return %r : tensor<4x1xf32>\n"
      "}\n";
  float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8];
  run_devices(text, 2, 1, in, 4, out, 4, 1, NULL);
  static const float expected[8] = {1, 3, 5, 7, 2, 4, 6, 8};
  TT_EXPECT(memcmp(out, expected, sizeof expected) == 0);
}

TT_TEST(collective, permute_and_broadcast) {
  static const char text[] =
      "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %p = \"stablehlo.collective_permute\"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>\n"
      "  %b = \"stablehlo.collective_broadcast\"(%x) <{replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>\n"
      "  %r = stablehlo.add %p, %b : tensor<2xf32>\n"
      "  return %r : tensor<2xf32>\n"
      "}\n";
  float in[6] = {1, 2, 3, 4, 5, 6}, out[6];
  run_devices(text, 3, 1, in, 2, out, 2, 0, NULL);
  static const float expected[6] = {0, 0, 1 + 5, 2 + 6, 3 + 5, 4 + 6};
  TT_EXPECT(memcmp(out, expected, sizeof expected) == 0);
}

TT_TEST(collective, in_a_loop_with_failure) {   // three rounds of x = sum over devices; device 1 fails a check
  static const char text[] =
      "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %limit = stablehlo.constant dense<1.000000e+03> : tensor<f32>\n"
      "  %lo = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %most = stablehlo.reduce(%x init: %lo) applies stablehlo.maximum across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>\n"
      "  %ok = stablehlo.compare LT, %most, %limit, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "  \"stablehlo.custom_call\"(%ok, %most) <{call_target_name = \"tt.check\", has_side_effect = true}> {code = 3 : i64, message = \"bad {0}\"} : (tensor<i1>, tensor<f32>) -> ()\n"
      "  %r:2 = \"stablehlo.while\"(%zero, %x) ({\n"
      "  ^bb0(%i: tensor<i32>, %a: tensor<2xf32>):\n"
      "    %three = stablehlo.constant dense<3> : tensor<i32>\n"
      "    %c = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n"
      "  }, {\n"
      "  ^bb0(%i: tensor<i32>, %a: tensor<2xf32>):\n"
      "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %j = stablehlo.add %i, %one : tensor<i32>\n"
      "    %s = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({\n"
      "    ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
      "      %t = stablehlo.add %p, %q : tensor<f32>\n"
      "      \"stablehlo.return\"(%t) : (tensor<f32>) -> ()\n"
      "    }) : (tensor<2xf32>) -> tensor<2xf32>\n"
      "    \"stablehlo.return\"(%j, %s) : (tensor<i32>, tensor<2xf32>) -> ()\n"
      "  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)\n"
      "  return %r#1 : tensor<2xf32>\n"
      "}\n";
  float in[4] = {1, 2, 3, 4}, out[4];
  run_devices(text, 2, 1, in, 2, out, 2, 0, NULL);
  for (int d = 0; d < 2; ++d) TT_EXPECT(out[2 * d] == 16 && out[2 * d + 1] == 24);
  in[3] = 5000;
  run_devices(text, 2, 1, in, 2, out, 2, 0, "bad 5000");
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
