#include "base/test.h"
#include "ir/text.h"

static tt_status_t parse(const char* text, tt_module_t** module) {
  return tt_module_parse(text, strlen(text), module);
}

// Reads, prints, reads and prints again: both prints and both modules must be equal.
static void round_trip(const char* text) {
  tt_module_t *first = NULL, *second = NULL;
  tt_strbuf_t a, b;
  tt_strbuf_initialize(&a);
  tt_strbuf_initialize(&b);
  tt_status_t status = parse(text, &first);
  if (tt_status_is_ok(status)) status = tt_module_verify(first);
  if (tt_status_is_ok(status)) status = tt_module_print(first, TT_PRINT_DEFAULT, &a);
  if (tt_status_is_ok(status)) status = parse(tt_strbuf_text(&a), &second);
  if (tt_status_is_ok(status)) status = tt_module_print(second, TT_PRINT_DEFAULT, &b);
  if (!tt_status_is_ok(status)) {
    TT_TEST_FAIL("%s\n%s\n%s", tt_status_message(status), text, tt_strbuf_text(&a));
    tt_status_free(status);
  } else {
    if (!tt_module_equal(first, second)) TT_TEST_FAIL("modules differ after\n%s", tt_strbuf_text(&a));
    if (tt_module_hash(first) != tt_module_hash(second))
      TT_TEST_FAIL("hashes differ after\n%s", tt_strbuf_text(&a));
    if (strcmp(tt_strbuf_text(&a), tt_strbuf_text(&b)))
      TT_TEST_FAIL("printed differently:\n%s\n%s", tt_strbuf_text(&a), tt_strbuf_text(&b));
  }
  tt_module_release(first);
  tt_module_release(second);
  tt_strbuf_deinitialize(&a);
  tt_strbuf_deinitialize(&b);
}

#define MAIN(arguments, results, body) "func.func @main(" arguments ") -> (" results ") {\n" body "\n}"

TT_TEST(text, elementwise_forms) {
  round_trip(
      MAIN("%a: tensor<4x8xf32>, %b: tensor<4x8xf32>", "tensor<4x8xf32>",
           "%0 = stablehlo.add %a, %b : tensor<4x8xf32>\n"
           "%1 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<mode = "
           "#stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<4x8xf32>\n"
           "%2 = \"stablehlo.multiply\"(%1, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>\n"
           "%3 = stablehlo.compare LT, %2, %b, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>\n"
           "%4 = stablehlo.select %3, %2, %b : tensor<4x8xi1>, tensor<4x8xf32>\n"
           "%5 = chlo.erf %4 : tensor<4x8xf32> -> tensor<4x8xf32>\n"
           "return %5 : tensor<4x8xf32>"));
}

TT_TEST(text, constants) {
  round_trip(MAIN(
      "", "tensor<2x2xf32>, tensor<3xi1>, tensor<f32>, tensor<2xcomplex<f32>>, tensor<0xi32>, tensor<ui64>",
      "%0 = stablehlo.constant dense<[[1.0, -2.5e-3], [0x7FC00000, 0xFF800000]]> : tensor<2x2xf32>\n"
      "%1 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>\n"
      "%2 = stablehlo.constant dense<0x3F800000> : tensor<f32>\n"
      "%3 = stablehlo.constant dense<[(1.0, 2.0), (0.0, -1.0)]> : tensor<2xcomplex<f32>>\n"
      "%4 = stablehlo.constant dense<> : tensor<0xi32>\n"
      "%5 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>\n"
      "return %0, %1, %2, %3, %4, %5 : tensor<2x2xf32>, tensor<3xi1>, tensor<f32>, tensor<2xcomplex<f32>>, "
      "tensor<0xi32>, tensor<ui64>"));
}

TT_TEST(text, constant_bits) {
  tt_module_t* module = NULL;
  TT_EXPECT_OK(parse(MAIN("", "tensor<3xf32>, tensor<2xi16>",
                          "%0 = stablehlo.constant dense<[1.5, 0xFF800000, -0.0]> : tensor<3xf32>\n"
                          "%1 = stablehlo.constant dense<\"0x0100FFFF\"> : tensor<2xi16>\n"
                          "return %0, %1 : tensor<3xf32>, tensor<2xi16>"),
                     &module));
  const tt_op_t* op = tt_module_main(module)->body.block.first;
  const float* floats = tt_op_attr(op, TT_ATTR_VALUE)->dense.data;
  const int16_t* shorts = tt_op_attr(op->next, TT_ATTR_VALUE)->dense.data;
  bool right = floats[0] == 1.5f && isinf(floats[1]) && floats[1] < 0 && signbit(floats[2]) &&
               shorts[0] == 1 && shorts[1] == -1;
  tt_module_release(module);
  TT_EXPECT(right);
}

TT_TEST(text, reduce_and_while) {
  round_trip(MAIN(
      "%a: tensor<4x8xf32>", "tensor<4xf32>, tensor<4xi32>",
      "%cst = stablehlo.constant dense<0.0> : tensor<f32>\n%c = stablehlo.constant dense<0> : tensor<i32>\n"
      "%i = stablehlo.iota dim = 1 : tensor<4x8xi32>\n"
      "%s = stablehlo.reduce(%a init: %cst) applies stablehlo.add across dimensions = [1] : "
      "(tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>\n"
      "%1:2 = stablehlo.reduce(%a init: %cst), (%i init: %c) across dimensions = [1] : (tensor<4x8xf32>, "
      "tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)\n"
      " reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {\n"
      "  %2 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "  %3 = stablehlo.select %2, %x, %y : tensor<i1>, tensor<f32>\n  %4 = stablehlo.select %2, %p, %q : "
      "tensor<i1>, tensor<i32>\n"
      "  stablehlo.return %3, %4 : tensor<f32>, tensor<i32>\n }\n"
      "%5:2 = stablehlo.while(%n = %c, %v = %s) : tensor<i32>, tensor<4xf32>\n cond {\n"
      "  %k = stablehlo.constant dense<3> : tensor<i32>\n  %t = stablehlo.compare LT, %n, %k, SIGNED : "
      "(tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "  stablehlo.return %t : tensor<i1>\n } do {\n  %one = stablehlo.constant dense<1> : tensor<i32>\n  %m "
      "= stablehlo.add %n, %one : tensor<i32>\n"
      "  stablehlo.return %m, %v : tensor<i32>, tensor<4xf32>\n }\n"
      "return %5#1, %1#1 : tensor<4xf32>, tensor<4xi32>"));
}

TT_TEST(text, products_and_shapes) {
  round_trip(
      "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
      "  func.func public @main(%a: tensor<2x4x8xf32> {tf.aliasing_output = 0 : i32}, %k: "
      "tensor<3x3x2x6xf32>, %x: tensor<1x8x8x4xf32>) -> (tensor<2x4x4xf32> {jax.result_info = \"r\"}) {\n"
      "    %0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [2], "
      "precision = [DEFAULT, HIGHEST] : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>\n"
      "    %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window "
      "= {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = "
      "[false, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = "
      "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, "
      "tensor<3x3x2x6xf32>) -> tensor<1x3x15x6xf32>\n"
      "    %2 = stablehlo.slice %0 [0:2, 1:3, 0:4:2] : (tensor<2x4x4xf32>) -> tensor<2x2x2xf32>\n"
      "    %3 = stablehlo.transpose %2, dims = [2, 0, 1] : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>\n"
      "    %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "    %4 = stablehlo.pad %3, %c, low = [0, 1, -1], high = [0, 0, 0], interior = [1, 0, 0] : "
      "(tensor<2x2x2xf32>, tensor<f32>) -> tensor<3x3x1xf32>\n"
      "    %5 = call @f(%4) : (tensor<3x3x1xf32>) -> tensor<9xf32>\n"
      "    return %0 : tensor<2x4x4xf32>\n  }\n"
      "  func.func private @f(%a: tensor<3x3x1xf32>) -> tensor<9xf32> {\n    %0 = stablehlo.reshape %a : "
      "(tensor<3x3x1xf32>) -> tensor<9xf32>\n    return %0 : tensor<9xf32>\n  }\n}\n");
}

TT_TEST(text, indexing_and_calls) {
  round_trip(MAIN(
      "%a: tensor<4x8xf32>, %i: tensor<2x1xi32>, %u: tensor<2x8xf32>", "tensor<4x8xf32>",
      "%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
      "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, "
      "slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>\n"
      "%1 = \"stablehlo.scatter\"(%a, %i, %0) <{indices_are_sorted = false, scatter_dimension_numbers = "
      "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims "
      "= [0], index_vector_dim = 1>, unique_indices = false}> ({\n"
      "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  %s = stablehlo.add %x, %y : tensor<f32>\n  "
      "stablehlo.return %s : tensor<f32>\n}) : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2x8xf32>) -> "
      "tensor<4x8xf32>\n"
      "%values, %indices = chlo.top_k(%1, k = 3) : tensor<4x8xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)\n"
      "%2 = stablehlo.custom_call @Sharding(%1) {backend_config = \"\", mhlo.sharding = \"{replicated}\", "
      "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
      "return %2 : tensor<4x8xf32>"));
}

TT_TEST(text, generic_module) {
  round_trip(
      "\"builtin.module\"() <{sym_name = \"m\"}> ({\n  \"func.func\"() <{function_type = (tensor<2xf32>) -> "
      "tensor<2xf32>, sym_name = \"main\"}> ({\n"
      "  ^bb0(%arg0: tensor<2xf32>):\n    %0 = \"stablehlo.negate\"(%arg0) : (tensor<2xf32>) -> "
      "tensor<2xf32>\n"
      "    \"func.return\"(%0) : (tensor<2xf32>) -> ()\n  }) : () -> ()\n}) : () -> ()\n");
}

TT_TEST(text, locations) {
  tt_module_t* module = NULL;
  TT_EXPECT_OK(parse(
      "#loc = loc(\"model.py\":7:3)\n" MAIN("%a: tensor<2xf32> loc(unknown)", "tensor<2xf32>",
                                            "%0 = stablehlo.tanh %a : tensor<2xf32> loc(#loc1)\nreturn %0 : "
                                            "tensor<2xf32> loc(#loc)") "\n#loc1 = loc(\"layer\"(#loc))\n",
      &module));
  const tt_loc_t* loc = tt_module_main(module)->body.block.first->loc;
  bool right = loc && !strcmp(loc->file, "model.py") && loc->line == 7 && loc->column == 3 &&
               !strcmp(loc->name, "layer");
  tt_module_release(module);
  TT_EXPECT(right);
}

TT_TEST(text, errors_have_positions) {
  tt_module_t* module = NULL;
  TT_EXPECT_ERROR(parse("func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.nonesuch %a "
                        ": tensor<2xf32>\n}",
                        &module),
                  TT_INVALID_ARGUMENT, "2:8: unknown operation 'stablehlo.nonesuch'");
  TT_EXPECT_ERROR(parse("func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.add %a, %b "
                        ": tensor<2xf32>\n}",
                        &module),
                  TT_INVALID_ARGUMENT, "2:26: use of undefined value '%b'");
  TT_EXPECT_ERROR(parse("func.func @main(%a: tensor<2xf99>) {}", &module), TT_INVALID_ARGUMENT,
                  "unknown element type 'f99'");
  TT_EXPECT_ERROR(parse("", &module), TT_INVALID_ARGUMENT, "no function");
  TT_EXPECT_ERROR(parse("func.func @main() -> tensor<9223372036854775807x8xf32> {", &module),
                  TT_INVALID_ARGUMENT, "overflows");
  TT_EXPECT_ERROR(
      parse("func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n return %a : tensor<2xf32>\n}", &module),
      TT_INVALID_ARGUMENT, "differs from the declared");
  TT_EXPECT_ERROR(parse(MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
                             "%0 = stablehlo.add %a : tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
                        &module),
                  TT_INVALID_ARGUMENT, "has 1 operands");
}

// Every prefix and every single-character deletion is an error or a program, never a crash.
TT_TEST(text, mutilated) {
  static const char text[] =
      "module @m {\n func.func @main(%a: tensor<4x?xf32, #stablehlo.bounds<?, 8>>, %b: "
      "tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2xf32> {\n"
      "  %c = stablehlo.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>\n  %1:2 = "
      "\"stablehlo.custom_call\"(%c) <{call_target_name = \"x\", k = [1 : i32, {a = @f}]}> : (tensor<2xf32>) "
      "-> (tensor<2xf32>, tuple<tensor<f32>>)\n"
      "  return %1#0 : tensor<2xf32>\n }\n}";
  char copy[sizeof(text)];
  tt_alloc_stats_t before = tt_alloc_stats();
  for (size_t i = 0; i < sizeof(text) - 1; ++i) {
    tt_module_t* module = NULL;
    tt_status_free(tt_module_parse(text, i, &module));
    tt_module_release(module);
    module = NULL;
    memcpy(copy, text, i);
    memcpy(copy + i, text + i + 1, sizeof(text) - 1 - i);
    tt_status_free(tt_module_parse(copy, sizeof(text) - 2, &module));
    tt_module_release(module);
  }
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before.live_blocks);
}

TT_TEST(text, depth_is_bounded) {
  enum { DEPTH = 20000 };
  char* text = malloc(DEPTH * 2 + 64);
  strcpy(text, "module attributes {a = ");
  size_t at = strlen(text);
  memset(text + at, '[', DEPTH);
  memset(text + at + DEPTH, ']', DEPTH);
  strcpy(text + at + DEPTH * 2, "} {}");
  tt_module_t* module = NULL;
  tt_status_t status = parse(text, &module);
  free(text);
  TT_EXPECT_ERROR(status, TT_INVALID_ARGUMENT, "nested deeper than");
}

TT_TEST(text, nth_allocation_fails) {
  static const char text[] = MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
                                  "%0 = stablehlo.add %a, %a : tensor<2xf32>\nreturn %0 : tensor<2xf32>");
  tt_alloc_stats_t before = tt_alloc_stats();
  for (uint64_t nth = 1;; ++nth) {
    tt_module_t* module = NULL;
    tt_alloc_fault_arm(nth);
    tt_status_t status = parse(text, &module);
    bool fired = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    bool ok = tt_status_is_ok(status);
    if (fired && ok) tt_module_release(module);
    tt_status_free(status);
    if (!fired) {
      tt_module_release(module);
      TT_EXPECT(ok);
      break;
    }
    TT_EXPECT(!ok);
  }
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before.live_blocks);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
