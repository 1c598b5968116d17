// Inferred shapes against jax (infer_cases.h), and the messages of bad ones.
#include "base/test.h"
#include "ir/builder.h"
#include "ir/describe.h"
#include "ir/infer_cases.h"

typedef struct fixture_s { tt_module_t* module; tt_builder_t b; tt_func_t* func; } fixture_t;

static bool open_fixture(fixture_t* f) {
  if (!tt_status_is_ok(tt_module_create(&f->module))) return false;
  tt_builder_initialize(&f->b, f->module);
  f->func = tt_b_func_begin(&f->b, "main", true, 0, NULL);
  return f->func != NULL;
}
static void close_fixture(fixture_t* f) {
  tt_builder_deinitialize(&f->b);
  tt_module_release(f->module);
}
static tt_value_t* arg(fixture_t* f, tt_dtype_t dtype, size_t rank, const int64_t* dims) {
  return tt_b_func_add_arg(&f->b, f->func, tt_b_type(&f->b, dtype, rank, dims));
}

// Reports a difference; also runs the verifier's comparing form through a whole module.
static void judge(fixture_t* f, const char* what, size_t i, tt_value_t* got, size_t rank,
                  const int64_t* dims) {
  if (!got) {
    TT_TEST_FAIL("%s %zu: %s", what, i, tt_status_message(f->b.status));
    return;
  }
  bool same = got->type->rank == rank;
  for (size_t k = 0; same && k < rank; ++k) same = got->type->dims[k] == dims[k];
  if (!same) TT_TEST_FAIL("%s %zu gives %s", what, i, TT_TYPE_TEXT(f->module, got->type));
  tt_b_func_end(&f->b, f->func, 1, &got);
  tt_status_t status = tt_status_join(tt_builder_take_status(&f->b), tt_module_verify(f->module));
  if (!tt_status_is_ok(status)) TT_TEST_FAIL("%s %zu: %s", what, i, tt_status_message(status));
  tt_status_free(status);
}

TT_TEST(infer, convolution) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(conv_cases); ++i) {
    const int64_t *in = conv_cases[i].in_spec, *k = conv_cases[i].kernel_spec, *out = conv_cases[i].out_spec;
    fixture_t f;
    TT_EXPECT(open_fixture(&f));
    tt_conv_t conv = {
        .strides = conv_cases[i].stride,
        .pad_low = conv_cases[i].low,
        .pad_high = conv_cases[i].high,
        .lhs_dilation = conv_cases[i].lhs_dilation,
        .rhs_dilation = conv_cases[i].rhs_dilation,
        .feature_group_count = conv_cases[i].groups,
        .batch_group_count = conv_cases[i].batch_groups,
        .dims = {in[0], in[1], k[1], k[0], out[0], out[1], {in + 2, 2}, {k + 2, 2}, {out + 2, 2}}};
    tt_value_t* y = tt_b_convolution(&f.b, arg(&f, TT_DTYPE_F32, 4, conv_cases[i].input),
                                     arg(&f, TT_DTYPE_F32, 4, conv_cases[i].kernel), &conv);
    judge(&f, "convolution", i, y, 4, conv_cases[i].out);
    close_fixture(&f);
  }
}

TT_TEST(infer, reduce_window) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(window_cases); ++i) {
    fixture_t f;
    TT_EXPECT(open_fixture(&f));
    tt_window_t w = {window_cases[i].window,   window_cases[i].stride, window_cases[i].base,
                     window_cases[i].dilation, window_cases[i].low,    window_cases[i].high};
    tt_value_t* x = arg(&f, TT_DTYPE_F32, 3, window_cases[i].dims);
    judge(&f, "reduce_window", i,
          tt_b_reduce_window(&f.b, TT_OP_ADD, x, tt_b_identity(&f.b, TT_OP_ADD, TT_DTYPE_F32), &w), 3,
          window_cases[i].out);
    close_fixture(&f);
  }
}

TT_TEST(infer, pad_and_slice) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(pad_cases); ++i) {
    fixture_t f;
    TT_EXPECT(open_fixture(&f));
    tt_value_t* x = arg(&f, TT_DTYPE_F32, 3, pad_cases[i].dims);
    judge(&f, "pad", i,
          tt_b_pad(&f.b, x, tt_b_scalar_f64(&f.b, TT_DTYPE_F32, 0), pad_cases[i].low, pad_cases[i].high,
                   pad_cases[i].interior),
          3, pad_cases[i].out);
    close_fixture(&f);
  }
  for (size_t i = 0; i < TT_ARRAY_LENGTH(slice_cases); ++i) {
    fixture_t f;
    TT_EXPECT(open_fixture(&f));
    tt_value_t* x = arg(&f, TT_DTYPE_F32, 3, slice_cases[i].dims);
    judge(&f, "slice", i,
          tt_b_slice(&f.b, x, slice_cases[i].start, slice_cases[i].limit, slice_cases[i].stride), 3,
          slice_cases[i].out);
    close_fixture(&f);
  }
}

TT_TEST(infer, dot_general) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(dot_cases); ++i) {
    fixture_t f;
    TT_EXPECT(open_fixture(&f));
    size_t nb = (size_t)dot_cases[i].batch, nc = (size_t)dot_cases[i].contract;
    tt_dot_dims_t dims = {
        {dot_cases[i].xb, nb}, {dot_cases[i].yb, nb}, {dot_cases[i].xc, nc}, {dot_cases[i].yc, nc}};
    tt_value_t* y = tt_b_dot_general(&f.b, arg(&f, TT_DTYPE_BF16, 4, dot_cases[i].x),
                                     arg(&f, TT_DTYPE_BF16, 3, dot_cases[i].y), &dims, TT_DTYPE_F32);
    if (y) TT_EXPECT_EQ(y->type->dtype, TT_DTYPE_F32);
    judge(&f, "dot_general", i, y, (size_t)dot_cases[i].rank, dot_cases[i].out);
    close_fixture(&f);
  }
}

TT_TEST(infer, gather_and_scatter) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(gather_cases); ++i) {
    fixture_t f;
    TT_EXPECT(open_fixture(&f));
#define LIST(field, count) {gather_cases[i].field, (size_t)gather_cases[i].count}
    tt_gather_dims_t dims = {LIST(offset, n_offset), LIST(collapsed, n_collapsed),
                             LIST(ob, n_ob),         LIST(sb, n_sb),
                             LIST(map, n_map),       gather_cases[i].vector_dim};
    // The transpose of a gather is a scatter with the same numbers; its update has the gather's shape.
    tt_scatter_dims_t back = {LIST(offset, n_offset), LIST(collapsed, n_collapsed),
                              LIST(ob, n_ob),         LIST(sb, n_sb),
                              LIST(map, n_map),       gather_cases[i].vector_dim};
    tt_value_t* x = arg(&f, TT_DTYPE_F32, (size_t)gather_cases[i].rank, gather_cases[i].operand);
    tt_value_t* indices = arg(&f, TT_DTYPE_S32, (size_t)gather_cases[i].index_rank, gather_cases[i].indices);
    tt_value_t* y = tt_b_gather(&f.b, x, indices, &dims, gather_cases[i].sizes, false);
    tt_value_t* z = tt_b_scatter(&f.b, TT_OP_ADD, x, indices, y, &back, false, false);
    TT_EXPECT(!z || z->type == x->type);
    if (z) TT_EXPECT_EQ(tt_region_binary_kind(&z->op->regions[0]), TT_OP_ADD);
    judge(&f, "gather", i, y, (size_t)gather_cases[i].out_rank, gather_cases[i].out);
    close_fixture(&f);
  }
}

TT_TEST(infer, others) {
  fixture_t f;
  TT_EXPECT(open_fixture(&f));
  tt_builder_t* b = &f.b;
  tt_value_t* x = arg(&f, TT_DTYPE_F32, 3, (int64_t[]){2, 8, 6});
  tt_attr_t fft[2] = {tt_attr_enum(TT_ATTR_FFT_TYPE, "RFFT"),
                      tt_attr_i64s(TT_ATTR_FFT_LENGTH, 2, (int64_t[]){8, 6})};
  tt_op_t* op = tt_b_op(b, TT_OP_FFT, 1, &x, 2, fft, 1, NULL, 0);
  TT_EXPECT(op);
  TT_EXPECT_STR(TT_TYPE_TEXT(f.module, op->results[0].type), "tensor<2x8x4xcomplex<f32>>");
  tt_value_t* spectrum = &op->results[0];
  TT_EXPECT_STR(TT_TYPE_TEXT(f.module, tt_b_unary(b, TT_OP_ABS, spectrum)->type), "tensor<2x8x4xf32>");
  fft[0] = tt_attr_enum(TT_ATTR_FFT_TYPE, "IRFFT");
  op = tt_b_op(b, TT_OP_FFT, 1, &spectrum, 2, fft, 1, NULL, 0);
  TT_EXPECT(op && op->results[0].type == x->type);
  tt_attr_t k = tt_attr_int(TT_ATTR_K, 3);
  op = tt_b_op(b, TT_OP_CHLO_TOP_K, 1, &x, 1, &k, 2, NULL, 0);
  TT_EXPECT(op);
  TT_EXPECT_STR(TT_TYPE_TEXT(f.module, op->results[1].type), "tensor<2x8x3xi32>");
  TT_EXPECT_STR(TT_TYPE_TEXT(f.module, tt_b_bitcast(b, x, TT_DTYPE_U16)->type), "tensor<2x8x6x2xui16>");
  TT_EXPECT_STR(TT_TYPE_TEXT(f.module, tt_b_convert(b, x, TT_DTYPE_PRED)->type), "tensor<2x8x6xi1>");
  TT_EXPECT_STR(TT_TYPE_TEXT(f.module, tt_b_broadcast_to(b, x, 4, (int64_t[]){3, 2, 8, 6})->type),
                "tensor<3x2x8x6xf32>");
  TT_EXPECT_STR(TT_TYPE_TEXT(f.module, tt_b_matmul(b, x, tt_b_transpose(b, x, (int64_t[]){0, 2, 1}))->type),
                "tensor<2x8x8xf32>");
  tt_value_t* pair[2] = {x, x};
  TT_EXPECT_STR(TT_TYPE_TEXT(f.module, tt_b_concatenate(b, 2, pair, 1)->type), "tensor<2x16x6xf32>");
  TT_EXPECT(tt_b_reshape(b, x, 3, x->type->dims) == x);
  TT_EXPECT_OK(tt_builder_take_status(b));
  close_fixture(&f);
}

#define EXPECT_FAULT(expression, text)                                        \
  do {                                                                        \
    TT_EXPECT((expression) == NULL);                                          \
    TT_EXPECT_ERROR(tt_builder_take_status(b), TT_INVALID_ARGUMENT, text);    \
  } while (0)

TT_TEST(infer, messages) {
  fixture_t f;
  TT_EXPECT(open_fixture(&f));
  tt_builder_t* b = &f.b;
  tt_value_t* x = arg(&f, TT_DTYPE_F32, 2, (int64_t[]){2, 3});
  tt_value_t* n = arg(&f, TT_DTYPE_S32, 2, (int64_t[]){2, 3});
  EXPECT_FAULT(tt_b_binary(b, TT_OP_ADD, x, n),
               "stablehlo.add: operand dtypes of tensor<2x3xf32> and tensor<2x3xi32> differ");
  EXPECT_FAULT(tt_b_unary(b, TT_OP_TANH, n),
               "stablehlo.tanh: operand 0 is tensor<2x3xi32>: dtype i32 is not supported");
  EXPECT_FAULT(tt_b_reshape(b, x, 1, (int64_t[]){5}),
               "stablehlo.reshape: tensor<2x3xf32> does not reshape to tensor<5xf32>");
  EXPECT_FAULT(tt_b_broadcast_to(b, x, 2, (int64_t[]){4, 3}),
               "tensor<2x3xf32> does not broadcast to tensor<4x3xf32>");
  EXPECT_FAULT(tt_b_transpose(b, x, (int64_t[]){1, 1}), "stablehlo.transpose: permutation holds 1 twice");
  EXPECT_FAULT(tt_b_slice(b, x, (int64_t[]){0, 1}, (int64_t[]){2, 4}, NULL),
               "stablehlo.slice: [1:4] of dimension 1 is outside tensor<2x3xf32>");
  EXPECT_FAULT(tt_b_matmul(b, x, x),
               "contracting dimensions 1 of tensor<2x3xf32> and 0 of tensor<2x3xf32> differ");
  EXPECT_FAULT(tt_b_reduce(b, TT_OP_ADD, x, 1, (int64_t[]){2}, false),
               "stablehlo.reduce: dimensions holds 2, outside [0, 2)");
  EXPECT_FAULT(tt_b_select(b, x, x, x), "stablehlo.select: predicate is tensor<2x3xf32>, needs i1");
  tt_dim_t seventeen[17] = {0};
  TT_EXPECT(tt_b_type(b, TT_DTYPE_F32, 17, seventeen) == NULL);
  TT_EXPECT_ERROR(tt_builder_take_status(b), TT_INVALID_ARGUMENT, "rank 17 is over the limit of 16");
  EXPECT_FAULT((tt_value_t*)tt_b_op(b, TT_OP_IF, 1, &x, 0, NULL, 1, NULL, 2),
               "stablehlo.if: result types cannot be inferred");
  close_fixture(&f);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
