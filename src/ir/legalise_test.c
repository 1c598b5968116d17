// What reaches another compiler: refusals by name, and the products that are rewritten or told their precision.
// The values of rewritten products are compared through XLA in tests/lower/test_legalise.py.
#include <string.h>

#include "base/test.h"
#include "ir/legalise.h"
#include "ir/text.h"

static tt_status_t legalise(const char* text, const char* chip, tt_legalise_options_t options,
                            tt_module_t** out) {
  tt_target_t target;
  tt_module_t* module = NULL;
  *out = NULL;
  TT_RETURN_IF_ERROR(tt_target_by_name(chip, &target));
  TT_RETURN_IF_ERROR(tt_module_parse(text, strlen(text), &module));
  tt_status_t status = tt_module_legalise(module, &target, &options, out);
  if (tt_status_is_ok(status)) status = tt_module_verify(*out);
  tt_module_release(module);
  return status;
}

static tt_status_t try_one(const char* text, const char* chip, bool emulate) {
  tt_module_t* module = NULL;
  tt_status_t status = legalise(text, chip, (tt_legalise_options_t){0, emulate}, &module);
  tt_module_release(module);
  return status;
}

#define UNARY(type, op) \
  "func.func @main(%a: tensor<" type ">) -> tensor<" type "> {\n" op "\nreturn %r : tensor<" type ">}"
#define DOT(type)                                                                                          \
  UNARY("4x4x" type, "%r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4x4x" type \
                     ">, tensor<4x4x" type ">) -> tensor<4x4x" type ">")
#define FFT(type)    \
  UNARY("4x8x" type, \
        "%r = stablehlo.fft %a, type = FFT, length = [8] : (tensor<4x8x" type ">) -> tensor<4x8x" type ">")
static const char add_f64[] = UNARY("4xf64", "%r = stablehlo.add %a, %a : tensor<4xf64>");
static const char hidden_f64[] = UNARY("4xf32",
                                       "%w = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf64>\n"
                                       "%r = stablehlo.convert %w : (tensor<4xf64>) -> tensor<4xf32>");
static const char open_size[] = UNARY("?x4xf32", "%r = stablehlo.add %a, %a : tensor<?x4xf32>");
static const char bounded_size[] =
    UNARY("?x4xf32, #stablehlo.bounds<8, ?>",
          "%r = stablehlo.add %a, %a : tensor<?x4xf32, #stablehlo.bounds<8, ?>>");
static const char call_foo[] =
    UNARY("4xf32", "%r = stablehlo.custom_call @foo(%a) : (tensor<4xf32>) -> tensor<4xf32>");
static const char call_ours[] =
    UNARY("4xf32", "%r = stablehlo.custom_call @tt.svd(%a) : (tensor<4xf32>) -> tensor<4xf32>");
static const char call_sharding[] =
    UNARY("4xf32", "%r = stablehlo.custom_call @Sharding(%a) : (tensor<4xf32>) -> tensor<4xf32>");

TT_TEST(legalise, refuses_by_name) {
  TT_EXPECT_ERROR(try_one(add_f64, "v5e", false), TT_UNIMPLEMENTED, "f64 is not supported on v5e");
  TT_EXPECT_ERROR(try_one(hidden_f64, "tpu7x", false), TT_UNIMPLEMENTED, "f64 is not supported on tpu7x");
  TT_EXPECT_ERROR(try_one(open_size, "v6e", false), TT_INVALID_ARGUMENT,
                  "dimension 0 of tensor<?x4xf32> has no bound");
  TT_EXPECT_ERROR(try_one(open_size, "foreign", false), TT_INVALID_ARGUMENT, "has no bound");
  TT_EXPECT_ERROR(try_one(call_foo, "v5p", false), TT_UNIMPLEMENTED, "\"foo\" is not one that v5p has");
  TT_EXPECT_ERROR(try_one(call_ours, "foreign", false), TT_UNIMPLEMENTED,
                  "\"tt.svd\" is not one that foreign has");
  TT_EXPECT_ERROR(try_one(FFT("complex<f64>"), "v5e", true), TT_UNIMPLEMENTED, "transforms of complex<f64>");
  TT_EXPECT_OK(try_one(add_f64, "v5e", true));
  TT_EXPECT_OK(try_one(add_f64, "foreign", false));
  TT_EXPECT_OK(try_one(bounded_size, "v5e", false));
  TT_EXPECT_OK(try_one(call_foo, "foreign", false));
  TT_EXPECT_OK(try_one(call_sharding, "v5e", false));
  TT_EXPECT_OK(try_one(FFT("complex<f32>"), "v5e", false));
  TT_EXPECT_OK(try_one(FFT("complex<f64>"), "foreign", false));
}

static size_t count_ops(const tt_module_t* module, tt_op_kind_t kind) {
  size_t count = 0;
  for (const tt_op_t* op = tt_module_main(module)->body.block.first; op; op = op->next)
    count += op->kind == kind;
  return count;
}

TT_TEST(legalise, integer_products) {
  static const char* const types[] = {"i64", "ui64"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(types); ++i) {
    tt_module_t *chip = NULL, *foreign = NULL;
    const char* text = i ? DOT("ui64") : DOT("i64");
    TT_EXPECT_OK(legalise(text, "v5e", (tt_legalise_options_t){0, false}, &chip));
    TT_EXPECT_OK(legalise(text, "foreign", (tt_legalise_options_t){0, false}, &foreign));
    TT_EXPECT_EQ(count_ops(chip, TT_OP_DOT_GENERAL), 0);
    TT_EXPECT_EQ(count_ops(chip, TT_OP_REDUCE), 1);
    TT_EXPECT_EQ(count_ops(foreign, TT_OP_DOT_GENERAL), 1);
    tt_module_release(chip);
    tt_module_release(foreign);
  }
}

// Words of the precision attribute by bfloat16 passes; a TPU rounds to bfloat16 unless it is told otherwise.
TT_TEST(legalise, precision_of_float32_products) {
  static const struct {
    const char *text, *chip;
    int passes;
    const char* word;
  } cases[] = {
      {DOT("f32"), "v5e", 0, "HIGHEST"},
      {DOT("f32"), "v5e", 6, "HIGHEST"},
      {DOT("f32"), "v6e", 3, "HIGH"},
      {DOT("f32"), "v5e", 1, NULL},
      {DOT("bf16"), "v5e", 0, NULL},
      {DOT("f32"), "foreign", 0, NULL},
      {DOT("complex<f32>"), "tpu7x", 0, "HIGHEST"},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    tt_module_t* module = NULL;
    TT_EXPECT_OK(
        legalise(cases[i].text, cases[i].chip, (tt_legalise_options_t){cases[i].passes, false}, &module));
    TT_EXPECT_EQ(count_ops(module, TT_OP_DOT_GENERAL), 1);
    for (const tt_op_t* op = tt_module_main(module)->body.block.first; op; op = op->next) {
      if (op->kind != TT_OP_DOT_GENERAL) continue;
      const tt_attr_t* precision = tt_op_attr(op, TT_ATTR_PRECISION_CONFIG);
      TT_EXPECT((precision != NULL) == (cases[i].word != NULL));
      if (!precision || !cases[i].word) continue;
      TT_EXPECT_EQ(precision->array.size, 2);
      TT_EXPECT_STR(precision->array.data[0].text.data, cases[i].word);
      TT_EXPECT_STR(precision->array.data[1].text.data, cases[i].word);
    }
    tt_module_release(module);
  }
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
