// Epilogues and loops with several results: the same bits as separate steps, in fewer of them.
#include "compile/test_pair.h"

// x [M, K] times w [N, K] (or [K, N]), plus a bias, GELU by tanh, plus a residual, converted.
static void linear_case(const char* dtype, const char* out, int m, int n, int k, bool transposed, bool keep, bool donated) {
  char text[4096];
  char type[64], row[64], scalar[32], wide[64];
  snprintf(type, sizeof type, "tensor<%dx%dx%s>", m, n, dtype);
  snprintf(row, sizeof row, "tensor<%dx%s>", n, dtype);
  snprintf(scalar, sizeof scalar, "tensor<%s>", dtype);
  snprintf(wide, sizeof wide, "tensor<%dx%dx%s>", m, n, out);
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<%dx%dx%s>, %%w: tensor<%dx%dx%s>, %%b: %s, %%r: %s%s) -> (%s%s%s) {\n"
           "  %%d = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [%d] : (tensor<%dx%dx%s>, tensor<%dx%dx%s>) -> %s\n"
           "  %%bb = stablehlo.broadcast_in_dim %%b, dims = [1] : (%s) -> %s\n"
           "  %%a = stablehlo.add %%d, %%bb : %s\n"
           "  %%c = stablehlo.constant dense<0.7978845608> : %s\n"
           "  %%cb = stablehlo.broadcast_in_dim %%c, dims = [] : (%s) -> %s\n"
           "  %%s = stablehlo.multiply %%a, %%cb : %s\n"
           "  %%t = stablehlo.tanh %%s : %s\n"
           "  %%p = stablehlo.multiply %%a, %%t : %s\n"
           "  %%q = stablehlo.add %%p, %%r : %s\n"
           "  %%o = stablehlo.convert %%q : (%s) -> %s\n"
           "  return %%o%s : %s%s%s\n}\n",
           m, k, dtype, transposed ? n : k, transposed ? k : n, dtype, row, type, donated ? " {tf.aliasing_output = 0 : i32}" : "", wide, keep ? ", " : "", keep ? type : "",
           transposed ? 1 : 0, m, k, dtype, transposed ? n : k, transposed ? k : n, dtype, type, row, type, type, scalar, scalar, type, type, type, type, type, type, wide,
           keep ? ", %a" : "", wide, keep ? ", " : "", keep ? type : "");
  tt_plan_t *fused = test_pair_compile(text, false), *separate = test_pair_compile(text, true);
  TT_EXPECT(fused && separate);
  char what[128];
  snprintf(what, sizeof what, "%s -> %s, %d x %d x %d, isa %s", dtype, out, m, n, k, tt_k_isa_name(tt_k_isa()));
  if (tt_k_isa() >= TT_ISA_AVX2) {
    TT_EXPECT_EQ(test_pair_steps(fused, PD_S_OP, true), 1);
    TT_EXPECT_EQ(test_pair_steps(fused, PD_S_LOOP, false), 0);
  }
  test_pair_same_bits(fused, separate, what);
  tt_plan_release(fused);
  tt_plan_release(separate);
}

static void linear_cases(void) {
  static const int shapes[][3] = {{70, 50, 33}, {33, 600, 20}, {601, 530, 400}, {3, 700, 50}, {300, 7, 40}, {1, 64, 64}, {17, 1, 5}, {520, 96, 800}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(shapes); ++i) {
    const int *s = shapes[i], flip = (int)i & 1;
    linear_case("f32", "f32", s[0], s[1], s[2], flip, false, !flip);
    linear_case("bf16", "bf16", s[0], s[1], s[2], flip, false, flip);
    linear_case("f32", "bf16", s[0], s[1], s[2], !flip, true, false);
    linear_case("f64", "f64", s[0], s[1], s[2], flip, flip, false);
    linear_case("f16", "f32", s[0], s[1], s[2], !flip, false, false);
  }
}
TT_TEST(fuse, epilogue_of_a_product) { test_every_isa(linear_cases); }

static void convolution_cases(void) {
  static const struct { int n, c, h, o, k, stride; bool last; } shapes[] = {
      {2, 5, 13, 11, 3, 1, false}, {1, 16, 28, 40, 3, 2, false}, {3, 8, 17, 20, 1, 1, false}, {2, 4, 10, 6, 3, 1, true}, {1, 1, 30, 1, 5, 1, false}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(shapes); ++i) {
    for (int half = 0; half < 2; ++half) {
      const int n = shapes[i].n, c = shapes[i].c, h = shapes[i].h, o = shapes[i].o, k = shapes[i].k, stride = shapes[i].stride;
      const int out = (h - k) / stride + 1;
      const char* dtype = half ? "bf16" : "f32";
      char text[2048], type[64];
      if (shapes[i].last) snprintf(type, sizeof type, "tensor<%dx%dx%dx%dx%s>", n, out, out, o, dtype);
      else snprintf(type, sizeof type, "tensor<%dx%dx%dx%dx%s>", n, o, out, out, dtype);
      char x[64];
      if (shapes[i].last) snprintf(x, sizeof x, "tensor<%dx%dx%dx%dx%s>", n, h, h, c, dtype);
      else snprintf(x, sizeof x, "tensor<%dx%dx%dx%dx%s>", n, c, h, h, dtype);
      snprintf(text, sizeof text,
               "func.func @main(%%x: %s, %%w: tensor<%dx%dx%dx%dx%s>, %%b: tensor<%dx%s>) -> %s {\n"
               "  %%y = stablehlo.convolution(%%x, %%w) dim_numbers = [%s]x[o, i, 0, 1]->[%s], window = {stride = [%d, %d]} "
               "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, tensor<%dx%dx%dx%dx%s>) -> %s\n"
               "  %%bb = stablehlo.broadcast_in_dim %%b, dims = [%d] : (tensor<%dx%s>) -> %s\n"
               "  %%a = stablehlo.add %%y, %%bb : %s\n"
               "  %%z = stablehlo.constant dense<0.0> : %s\n"
               "  %%r = stablehlo.maximum %%a, %%z : %s\n"
               "  return %%r : %s\n}\n",
               x, o, c, k, k, dtype, o, dtype, type, shapes[i].last ? "b, 0, 1, f" : "b, f, 0, 1", shapes[i].last ? "b, 0, 1, f" : "b, f, 0, 1", stride, stride, x, o, c,
               k, k, dtype, type, shapes[i].last ? 3 : 1, o, dtype, type, type, type, type, type);
      tt_plan_t *fused = test_pair_compile(text, false), *separate = test_pair_compile(text, true);
      TT_EXPECT(fused && separate);
      if (tt_k_isa() >= TT_ISA_AVX2) TT_EXPECT_EQ(test_pair_steps(fused, PD_S_OP, true), 1);
      test_pair_same_bits(fused, separate, text);
      tt_plan_release(fused);
      tt_plan_release(separate);
    }
  }
}
TT_TEST(fuse, epilogue_of_a_convolution) { test_every_isa(convolution_cases); }

// One AdamW step on a matrix, all state donated.
static const char adamw[] =
    "func.func @main(%p: tensor<70x130xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<70x130xf32>, %m: tensor<70x130xf32> {tf.aliasing_output = 1 : i32},\n"
    "    %v: tensor<70x130xf32> {tf.aliasing_output = 2 : i32}) -> (tensor<70x130xf32>, tensor<70x130xf32>, tensor<70x130xf32>) {\n"
    "  %b1 = stablehlo.constant dense<0.9> : tensor<70x130xf32>\n"
    "  %c1 = stablehlo.constant dense<0.1> : tensor<70x130xf32>\n"
    "  %b2 = stablehlo.constant dense<0.999> : tensor<70x130xf32>\n"
    "  %c2 = stablehlo.constant dense<0.001> : tensor<70x130xf32>\n"
    "  %eps = stablehlo.constant dense<1.0e-8> : tensor<70x130xf32>\n"
    "  %lr = stablehlo.constant dense<0.003> : tensor<70x130xf32>\n"
    "  %m0 = stablehlo.multiply %m, %b1 : tensor<70x130xf32>\n"
    "  %m1 = stablehlo.multiply %g, %c1 : tensor<70x130xf32>\n"
    "  %mn = stablehlo.add %m0, %m1 : tensor<70x130xf32>\n"
    "  %gg = stablehlo.multiply %g, %g : tensor<70x130xf32>\n"
    "  %v0 = stablehlo.multiply %v, %b2 : tensor<70x130xf32>\n"
    "  %v1 = stablehlo.multiply %gg, %c2 : tensor<70x130xf32>\n"
    "  %vn = stablehlo.add %v0, %v1 : tensor<70x130xf32>\n"
    "  %va = stablehlo.abs %vn : tensor<70x130xf32>\n"
    "  %s = stablehlo.sqrt %va : tensor<70x130xf32>\n"
    "  %d = stablehlo.add %s, %eps : tensor<70x130xf32>\n"
    "  %q = stablehlo.divide %mn, %d : tensor<70x130xf32>\n"
    "  %u = stablehlo.multiply %q, %lr : tensor<70x130xf32>\n"
    "  %pn = stablehlo.subtract %p, %u : tensor<70x130xf32>\n"
    "  return %pn, %mn, %vn : tensor<70x130xf32>, tensor<70x130xf32>, tensor<70x130xf32>\n"
    "}\n";
TT_TEST(fuse, optimizer_step_is_one_loop_in_place) {
  tt_plan_t *fused = test_pair_compile(adamw, false), *separate = test_pair_compile(adamw, true);
  TT_EXPECT(fused && separate);
  TT_EXPECT_EQ(fused->header->step_count, 1);
  TT_EXPECT(separate->header->step_count > 1);
  TT_EXPECT_EQ(fused->header->temp_bytes, 0);
  const pd_value_t* results = PD_AT(fused->bytes, fused->header->results_at, pd_value_t);
  TT_EXPECT_EQ(results[0].donor, 0);
  TT_EXPECT_EQ(results[1].donor, 2);
  TT_EXPECT_EQ(results[2].donor, 3);
  test_pair_same_bits(fused, separate, "adamw");
  tt_plan_release(fused);
  tt_plan_release(separate);
}

// A loop that still reads x after it wrote another result may not write that result over x.
TT_TEST(fuse, no_result_over_what_is_still_read) {
  static const char text[] =
      "func.func @main(%x: tensor<5000xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<5000xf32>, tensor<5000xf32>, tensor<5000xf32>) {\n"
      "  %s = stablehlo.sine %x : tensor<5000xf32>\n"
      "  %c = stablehlo.cosine %x : tensor<5000xf32>\n"
      "  %r = stablehlo.reverse %s, dims = [0] : tensor<5000xf32>\n"
      "  return %s, %c, %r : tensor<5000xf32>, tensor<5000xf32>, tensor<5000xf32>\n"
      "}\n";
  tt_plan_t *fused = test_pair_compile(text, false), *separate = test_pair_compile(text, true);
  TT_EXPECT(fused && separate);
  TT_EXPECT_EQ(fused->header->step_count, 2);
  test_pair_same_bits(fused, separate, "sine and cosine");
  tt_plan_release(fused);
  tt_plan_release(separate);
}

// Results that are written past the caches, one of them over a donated operand.
TT_TEST(fuse, large_results_of_one_loop) {
  static const char text[] =
      "func.func @main(%x: tensor<2101x4001xf32>, %y: tensor<2101x4001xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<2101x4001xf32>, tensor<2101x4001xf32>, tensor<2101x4001xbf16>) {\n"
      "  %a = stablehlo.add %x, %y : tensor<2101x4001xf32>\n"
      "  %b = stablehlo.subtract %y, %x : tensor<2101x4001xf32>\n"
      "  %c = stablehlo.multiply %a, %x : tensor<2101x4001xf32>\n"
      "  %h = stablehlo.convert %c : (tensor<2101x4001xf32>) -> tensor<2101x4001xbf16>\n"
      "  return %a, %b, %h : tensor<2101x4001xf32>, tensor<2101x4001xf32>, tensor<2101x4001xbf16>\n"
      "}\n";
  tt_plan_t *fused = test_pair_compile(text, false), *separate = test_pair_compile(text, true);
  TT_EXPECT(fused && separate);
  TT_EXPECT_EQ(fused->header->step_count, 1);
  test_pair_same_bits(fused, separate, "large results");
  tt_plan_release(fused);
  tt_plan_release(separate);
}

// Different cuts of the same elements (a row broadcast, a column broadcast, none), a value that only the joined loop
// reads, and one stored twice.
TT_TEST(fuse, loops_of_different_dimensions) {
  static const char text[] =
      "func.func @main(%x: tensor<60x40xf32>, %a: tensor<40xf32>, %b: tensor<60xf32>) -> (tensor<60x40xf32>, tensor<2400xf32>, tensor<6x10x40xf32>, tensor<60xf32>) {\n"
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %e = stablehlo.exponential %x : tensor<60x40xf32>\n"
      "  %ab = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<40xf32>) -> tensor<60x40xf32>\n"
      "  %bb = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<60xf32>) -> tensor<60x40xf32>\n"
      "  %y = stablehlo.multiply %e, %ab : tensor<60x40xf32>\n"
      "  %w = stablehlo.add %e, %bb : tensor<60x40xf32>\n"
      "  %wf = stablehlo.reshape %w : (tensor<60x40xf32>) -> tensor<2400xf32>\n"
      "  %ws = stablehlo.add %wf, %wf : tensor<2400xf32>\n"
      "  %y3 = stablehlo.reshape %y : (tensor<60x40xf32>) -> tensor<6x10x40xf32>\n"
      "  %r = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [1] : (tensor<60x40xf32>, tensor<f32>) -> tensor<60xf32>\n"
      "  return %y, %ws, %y3, %r : tensor<60x40xf32>, tensor<2400xf32>, tensor<6x10x40xf32>, tensor<60xf32>\n"
      "}\n";
  tt_plan_t *fused = test_pair_compile(text, false), *separate = test_pair_compile(text, true);
  TT_EXPECT(fused && separate);
  TT_EXPECT(test_pair_steps(fused, PD_S_LOOP, false) < test_pair_steps(separate, PD_S_LOOP, false));
  test_pair_same_bits(fused, separate, "loops of different dimensions");
  tt_plan_release(fused);
  tt_plan_release(separate);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
