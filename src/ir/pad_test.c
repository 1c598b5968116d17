// Padded programs: equal for every size up to the next power of two, valid, with the sizes as numbers.
#include "ir/pad.h"

#include "base/test.h"
#include "ir/builder.h"
#include "ir/describe.h"

typedef tt_value_t* (*body_fn_t)(tt_builder_t* b, tt_value_t* x, int64_t n);

// softmax(x)^T x, with a mean
static tt_value_t* attention(tt_builder_t* b, tt_value_t* x, int64_t n) {
  int64_t rows = 0, swap[2] = {1, 0};
  tt_value_t* top = tt_b_reduce(b, TT_OP_MAXIMUM, x, 1, &rows, true);
  tt_value_t* powers = tt_b_unary(
      b, TT_OP_EXPONENTIAL, tt_b_binary(b, TT_OP_SUBTRACT, x, tt_b_broadcast_to(b, top, 2, x->type->dims)));
  tt_value_t* product = tt_b_matmul(b, tt_b_transpose(b, powers, swap), x);
  tt_value_t* mean = tt_b_reduce(b, TT_OP_ADD, x, 1, &rows, false);
  mean = tt_b_binary(b, TT_OP_DIVIDE, mean, tt_b_splat_i64(b, mean->type, n));
  return tt_b_binary(b, TT_OP_ADD, product, tt_b_broadcast_to(b, mean, 2, product->type->dims));
}

// cat([x, x[n - 1:]]), then its reshape to pairs and back
static tt_value_t* growing(tt_builder_t* b, tt_value_t* x, int64_t n) {
  tt_value_t* last = tt_b_slice(b, x, (int64_t[]){n - 1, 0}, (int64_t[]){n, 4}, NULL);
  tt_value_t* joined = tt_b_concatenate(b, 2, (tt_value_t*[]){x, last}, 0);
  tt_value_t* split = tt_b_reshape(b, joined, 3, (int64_t[]){n + 1, 2, 2});
  return tt_b_reshape(b, split, 1, (int64_t[]){4 * (n + 1)});
}

static tt_value_t* square(tt_builder_t* b, tt_value_t* x) {
  return tt_b_matmul(b, x, tt_b_transpose(b, x, (int64_t[]){1, 0}));
}

// The sum of what `op` makes of x x^T.
static tt_value_t* sum_of(tt_builder_t* b, tt_op_t* op) {
  return op ? tt_b_reduce(b, TT_OP_ADD, &op->results[0], 2, (int64_t[]){0, 1}, false) : NULL;
}
static tt_value_t* called(tt_builder_t* b, tt_value_t* x, int64_t n) {  // has no rule
  (void)n;
  tt_value_t* operand = square(b, x);
  return operand ? sum_of(b, tt_b_custom_call(b, "Eigh", 1, &operand, 1, &operand->type, false, 0, NULL)) : NULL;
}
static tt_value_t* factor(tt_builder_t* b, tt_value_t* x, int64_t n) {
  (void)n;
  tt_value_t* operand = square(b, x);
  tt_attr_t attr = tt_attr_bool(TT_ATTR_LOWER, true);
  return sum_of(b, tt_b_op(b, TT_OP_CHOLESKY, 1, &operand, 1, &attr, 1, NULL, 0));
}

// Rows as an image [1, 1, n, 4] under a kernel of 3 x 3 with stride 2, then windows of 3 rows.
static tt_value_t* windows(tt_builder_t* b, tt_value_t* x, int64_t n) {
  static const int64_t spatial[2] = {2, 3}, two[2] = {2, 1}, one[2] = {1, 1};
  tt_value_t* image = tt_b_reshape(b, x, 4, (int64_t[]){1, 1, n, 4});
  tt_value_t* kernel = tt_b_splat_i64(b, tt_b_type(b, TT_DTYPE_F32, 4, (int64_t[]){1, 1, 3, 3}), 1);
  tt_i64s_t dims = {spatial, 2};
  tt_conv_t conv = {two, one, one, NULL, NULL, NULL, 1, 1, {0, 1, 1, 0, 0, 1, dims, dims, dims}};
  tt_value_t* y = tt_b_convolution(b, image, kernel, &conv);
  tt_window_t window = {.dimensions = (int64_t[]){1, 1, 3, 1}, .pad_low = (int64_t[]){0, 0, 1, 0},
                        .pad_high = (int64_t[]){0, 0, 1, 0}};
  return tt_b_reduce_window(b, TT_OP_MAXIMUM, y, tt_b_identity(b, TT_OP_MAXIMUM, TT_DTYPE_F32), &window);
}

typedef struct case_s {
  tt_module_t *plain, *padded;
  tt_padded_t out;
  tt_arena_t arena;
} case_t;

static tt_status_t build(case_t* c, body_fn_t body, int64_t n) {
  tt_builder_t state, *b = &state;
  tt_arena_initialize(&c->arena);
  TT_RETURN_IF_ERROR(tt_module_create(&c->plain));
  tt_builder_initialize(b, c->plain);
  const tt_type_t* type = tt_b_type(b, TT_DTYPE_F32, 2, (int64_t[]){n, 4});
  tt_func_t* func = tt_b_func_begin(b, "main", true, 1, &type);
  tt_value_t* result = body(b, tt_b_func_arg(func, 0), n);
  tt_b_func_end(b, func, 1, &result);
  tt_status_t status = tt_builder_take_status(b);
  tt_builder_deinitialize(b);
  TT_RETURN_IF_ERROR(status);
  tt_shape_key_t key;
  TT_RETURN_IF_ERROR(tt_module_shape_key(c->plain, &c->arena, &key));
  uint8_t* hoisted = tt_arena_alloc(&c->arena, key.constant_count + 1u);
  for (uint32_t i = 0; i < key.constant_count; ++i) hoisted[i] = key.constants[i] != 0;
  uint32_t params = 1, results = 0;
  tt_pad_request_t request = {.params = &params, .results = &results, .hoisted = hoisted};
  TT_RETURN_IF_ERROR(tt_module_pad(c->plain, &request, &c->arena, &c->out));
  c->padded = c->out.module;
  return tt_module_verify(c->padded);
}

static void drop(case_t* c) {
  tt_module_release(c->plain);
  tt_module_release(c->padded);
  tt_arena_deinitialize(&c->arena);
}

static bool has_number(const case_t* c, tt_dtype_t dtype, double value) {
  for (uint32_t i = 0; i < c->out.number_count; ++i) {
    if (c->out.numbers[i].dtype == dtype && tt_scalar_load_f64(dtype, c->out.numbers[i].data) == value)
      return true;
  }
  return false;
}

TT_TEST(pad, size) {
  TT_EXPECT(tt_pad_size(0) == 8 && tt_pad_size(8) == 8 && tt_pad_size(9) == 16 && tt_pad_size(512) == 512 &&
            tt_pad_size(513) == 1024);
}

TT_TEST(pad, one_program_for_a_range_of_sizes) {
  static const struct {
    body_fn_t body;
    uint32_t results;
  } bodies[] = {{attention, 0}, {growing, 1}, {factor, 0}, {windows, 4}};
  for (size_t k = 0; k < TT_ARRAY_LENGTH(bodies); ++k) {
    case_t a = {0}, b = {0}, c = {0};
    TT_EXPECT_OK(build(&a, bodies[k].body, 9));
    TT_EXPECT_OK(build(&b, bodies[k].body, 13));
    TT_EXPECT_OK(build(&c, bodies[k].body, 17));
    TT_EXPECT(tt_module_equal(a.padded, b.padded));
    TT_EXPECT(!tt_module_equal(a.padded, c.padded));
    TT_EXPECT_EQ(a.out.results[0], bodies[k].results);
    drop(&a);
    drop(&b);
    drop(&c);
  }
}

TT_TEST(pad, sizes_are_numbers) {
  case_t c = {0};
  TT_EXPECT_OK(build(&c, attention, 11));
  TT_EXPECT(has_number(&c, TT_DTYPE_S32, 11) && has_number(&c, TT_DTYPE_F32, 11));
  const tt_func_t* main = tt_module_main(c.padded);
  TT_EXPECT(main->body.block.arg_count == 1 + c.out.number_count);
  TT_EXPECT_STR(TT_TYPE_TEXT(c.padded, main->body.block.args[0].type), "tensor<16x4xf32>");
  TT_EXPECT_STR(TT_TYPE_TEXT(c.padded, main->result_types[0]), "tensor<4x4xf32>");
  drop(&c);
}

// The type of the operand of the one op of this kind.
static const char* operand_text(const case_t* c, tt_op_kind_t kind) {
  for (const tt_op_t* op = tt_module_main(c->padded)->body.block.first; op; op = op->next)
    if (op->kind == kind) return TT_TYPE_TEXT(c->padded, op->operands[0]->type);
  return "none";
}

TT_TEST(pad, without_a_rule_operands_are_cut) {
  case_t c = {0}, d = {0};
  TT_EXPECT_OK(build(&c, called, 11));
  TT_EXPECT_STR(operand_text(&c, TT_OP_CUSTOM_CALL), "tensor<11x11xf32>");
  TT_EXPECT_OK(build(&d, factor, 11));
  TT_EXPECT_STR(operand_text(&d, TT_OP_CHOLESKY), "tensor<16x16xf32>");
  drop(&c);
  drop(&d);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
