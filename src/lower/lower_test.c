// Promotion, accessors, error texts and a few whole lowerings. Expected values: torch.promote_types and the
// messages of PyTorch 2.13 on the CPU.
#include "lower/lower.h"

#include "base/strbuf.h"
#include "base/test.h"
#include "ir/text.h"

typedef struct fixture_s {
  tt_module_t* module;
  tt_builder_t b;
  tt_arena_t scratch;
  tt_target_t target;
  tt_func_t* func;
  tt_larg_t args[16];
  tt_lower_t L;
} fixture_t;

static void fixture_begin(fixture_t* f) {
  memset(f, 0, sizeof *f);
  tt_status_free(tt_module_create(&f->module));
  tt_builder_initialize(&f->b, f->module);
  tt_arena_initialize(&f->scratch);
  tt_target_vtpu(&f->target);
  f->func = tt_b_func_begin(&f->b, "main", true, 0, NULL);
  f->L = (tt_lower_t){.b = &f->b, .target = &f->target, .args = f->args, .scratch = &f->scratch};
}
static void fixture_tensor(fixture_t* f, tt_dtype_t dtype, size_t rank, const int64_t* dims) {
  tt_larg_t* a = &f->args[f->L.arg_count++];
  a->kind = TT_ARG_TENSOR;
  a->tensor.value = tt_b_func_add_arg(&f->b, f->func, tt_b_type(&f->b, dtype, rank, dims));
}
static void fixture_int(fixture_t* f, int64_t value) {
  tt_larg_t* a = &f->args[f->L.arg_count++];
  a->kind = a->scalar.kind = TT_ARG_INT;
  a->scalar.i = value;
}
static void fixture_float(fixture_t* f, double value) {
  tt_larg_t* a = &f->args[f->L.arg_count++];
  a->kind = a->scalar.kind = TT_ARG_FLOAT;
  a->scalar.c[0] = value;
}
// Runs the op and verifies the module.
static tt_status_t fixture_run(fixture_t* f, const char* name) {
  TT_RETURN_IF_ERROR(tt_lower_run(tt_aten_find(name), &f->L));
  tt_value_t* results[TT_LOWER_MAX_RESULTS];
  for (uint32_t i = 0; i < f->L.result_count; ++i) results[i] = f->L.results[i].value;
  tt_b_func_end(&f->b, f->func, f->L.result_count, results);
  TT_RETURN_IF_ERROR(tt_builder_take_status(&f->b));
  return tt_module_verify(f->module);
}
static void fixture_end(fixture_t* f) {
  tt_builder_deinitialize(&f->b);
  tt_arena_deinitialize(&f->scratch);
  tt_module_release(f->module);
}

TT_TEST(lower, promotes_as_torch) {
  static const struct {
    tt_dtype_t a, b, want;
  } cases[] = {
      {TT_DTYPE_U8, TT_DTYPE_S8, TT_DTYPE_S16},    {TT_DTYPE_U8, TT_DTYPE_S64, TT_DTYPE_S64},
      {TT_DTYPE_PRED, TT_DTYPE_U8, TT_DTYPE_U8},   {TT_DTYPE_F16, TT_DTYPE_BF16, TT_DTYPE_F32},
      {TT_DTYPE_S64, TT_DTYPE_F16, TT_DTYPE_F16},  {TT_DTYPE_F32, TT_DTYPE_F64, TT_DTYPE_F64},
      {TT_DTYPE_C64, TT_DTYPE_F64, TT_DTYPE_C128}, {TT_DTYPE_C64, TT_DTYPE_BF16, TT_DTYPE_C64},
      {TT_DTYPE_S32, TT_DTYPE_S16, TT_DTYPE_S32},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    TT_EXPECT_EQ(tt_l_promote(cases[i].a, cases[i].b), cases[i].want);
    TT_EXPECT_EQ(tt_l_promote(cases[i].b, cases[i].a), cases[i].want);
  }
}

TT_TEST(lower, numbers_are_weakest_in_the_result_type) {
  fixture_t f;
  fixture_begin(&f);
  int64_t dims[2] = {2, 3};
  fixture_tensor(&f, TT_DTYPE_BF16, 2, dims);   // 0
  fixture_tensor(&f, TT_DTYPE_F64, 0, NULL);    // 1: 0-d
  fixture_float(&f, 1.5);                       // 2
  fixture_tensor(&f, TT_DTYPE_S32, 2, dims);    // 3
  fixture_int(&f, 7);                           // 4
  static const uint32_t pairs[5][2] = {{0, 1}, {0, 2}, {3, 2}, {3, 4}, {3, 1}};
  static const tt_dtype_t want[5] = {TT_DTYPE_BF16, TT_DTYPE_BF16, TT_DTYPE_F32, TT_DTYPE_S32, TT_DTYPE_F64};
  for (int i = 0; i < 5; ++i) TT_EXPECT_EQ(tt_l_result_type(&f.L, 2, pairs[i]), want[i]);
  fixture_end(&f);
}

TT_TEST(lower, add_broadcasts_and_verifies) {
  fixture_t f;
  fixture_begin(&f);
  int64_t a[2] = {2, 3}, c[1] = {3};
  fixture_tensor(&f, TT_DTYPE_F32, 2, a);
  fixture_tensor(&f, TT_DTYPE_S64, 1, c);
  fixture_int(&f, 1);
  TT_EXPECT_OK(fixture_run(&f, "add.Tensor"));
  TT_EXPECT_EQ(f.L.result_count, 1);
  TT_EXPECT_EQ(f.L.results[0].value->type->dtype, TT_DTYPE_F32);
  TT_EXPECT_EQ(f.L.results[0].value->type->rank, 2);
  fixture_end(&f);
}

TT_TEST(lower, errors_carry_torch_texts) {
  fixture_t f;
  fixture_begin(&f);
  int64_t a[1] = {3}, c[1] = {4};
  fixture_tensor(&f, TT_DTYPE_F32, 1, a);
  fixture_tensor(&f, TT_DTYPE_F32, 1, c);
  fixture_int(&f, 1);
  TT_EXPECT_ERROR(
      fixture_run(&f, "mul.Tensor"), TT_INVALID_ARGUMENT,
      "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0");
  fixture_end(&f);
  fixture_begin(&f);
  fixture_tensor(&f, TT_DTYPE_F32, 1, a);
  fixture_int(&f, 2);
  TT_EXPECT_ERROR(fixture_run(&f, "sum.dim_IntList"), TT_OUT_OF_RANGE,
                  "Dimension out of range (expected to be in range of [-1, 0], but got 2)");
  fixture_end(&f);
  fixture_begin(&f);
  fixture_tensor(&f, TT_DTYPE_S64, 1, a);
  TT_EXPECT_ERROR(fixture_run(&f, "mean"), TT_INVALID_ARGUMENT, "could not infer output dtype");
  fixture_end(&f);
}

TT_TEST(lower, sums_of_16_bit_floats_go_through_f32) {
  fixture_t f;
  fixture_begin(&f);
  int64_t a[1] = {100};
  fixture_tensor(&f, TT_DTYPE_BF16, 1, a);
  TT_EXPECT_OK(fixture_run(&f, "sum"));
  TT_EXPECT_EQ(f.L.results[0].value->type->dtype, TT_DTYPE_BF16);
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  TT_EXPECT_OK(tt_module_print(f.module, 0, &text));
  TT_EXPECT_CONTAINS(tt_strbuf_text(&text), "tensor<f32>");
  tt_strbuf_deinitialize(&text);
  fixture_end(&f);
}

TT_TEST(lower, indices_are_checked) {
  fixture_t f;
  fixture_begin(&f);
  int64_t a[2] = {5, 4}, n[1] = {3};
  fixture_tensor(&f, TT_DTYPE_F32, 2, a);
  fixture_int(&f, 0);
  fixture_tensor(&f, TT_DTYPE_S64, 1, n);
  TT_EXPECT_OK(fixture_run(&f, "index_select"));
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  TT_EXPECT_OK(tt_module_print(f.module, 0, &text));
  TT_EXPECT_CONTAINS(tt_strbuf_text(&text), "index out of range in self");
  tt_strbuf_deinitialize(&text);
  fixture_end(&f);
}

TT_TEST(lower, expansion_leaves_no_composite) {
  fixture_t f;
  fixture_begin(&f);
  int64_t a[2] = {5, 4};
  fixture_tensor(&f, TT_DTYPE_F32, 2, a);
  fixture_int(&f, 1);
  fixture_int(&f, 0);
  TT_EXPECT_OK(fixture_run(&f, "_softmax"));
  tt_module_t* expanded = NULL;
  TT_EXPECT_OK(tt_lower_expand(f.module, NULL, &expanded));
  TT_EXPECT_OK(tt_module_verify(expanded));
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  TT_EXPECT_OK(tt_module_print(expanded, 0, &text));
  TT_EXPECT(strstr(tt_strbuf_text(&text), "composite") == NULL);
  TT_EXPECT_CONTAINS(tt_strbuf_text(&text), "stablehlo.exponential");
  tt_strbuf_deinitialize(&text);
  tt_module_release(expanded);
  fixture_end(&f);
}

// Runs the entry on the fixture's arguments and makes the program that other plugins get; ends the fixture.
static void expect_expanded(fixture_t* f, const char* name, bool has_elements) {
  TT_EXPECT_OK(fixture_run(f, name));
  tt_module_t* expanded = NULL;
  TT_EXPECT_OK(tt_lower_expand(f->module, NULL, &expanded));
  TT_EXPECT_OK(tt_module_verify(expanded));
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  TT_EXPECT_OK(tt_module_print(expanded, 0, &text));
  TT_EXPECT(strstr(tt_strbuf_text(&text), "custom_call") == NULL);
  if (has_elements) TT_EXPECT_CONTAINS(tt_strbuf_text(&text), "stablehlo.while");
  tt_strbuf_deinitialize(&text);
  tt_module_release(expanded);
  fixture_end(f);
}

static const tt_dtype_t matrix_dtypes[] = {TT_DTYPE_F32, TT_DTYPE_C64, TT_DTYPE_F64, TT_DTYPE_C128};

// An entry on matrices [.., m, n], and `tau` reflectors' factors unless it is negative.
static void expand_factors(const char* name, tt_dtype_t dtype, const int64_t* dims, int64_t tau) {
  fixture_t f;
  fixture_begin(&f);
  fixture_tensor(&f, dtype, 4, dims);
  const int64_t factors[3] = {dims[0], dims[1], tau};
  if (tau >= 0) fixture_tensor(&f, dtype, 3, factors);
  expect_expanded(&f, name, false);
}

TT_TEST(lower, expansion_leaves_no_factorisation) {
  static const int64_t shapes[][4] = {{1, 1, 5, 5},    {2, 3, 4, 7}, {1, 2, 7, 4}, {1, 1, 130, 70},
                                      {2, 1, 70, 130}, {1, 0, 3, 3}, {1, 2, 0, 3}, {1, 2, 3, 0},
                                      {1, 1, 1, 1},    {1, 2, 100, 100}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(shapes) * TT_ARRAY_LENGTH(matrix_dtypes); ++i) {
    tt_dtype_t dtype = matrix_dtypes[i % TT_ARRAY_LENGTH(matrix_dtypes)];
    const int64_t* dims = shapes[i / TT_ARRAY_LENGTH(matrix_dtypes)];
    int64_t m = dims[2], n = dims[3];
    if (m == n) expand_factors("linalg_cholesky_ex", dtype, dims, -1);
    expand_factors("linalg_lu_factor_ex", dtype, dims, -1);
    expand_factors("linalg_qr", dtype, dims, -1);
    expand_factors("geqrf", dtype, dims, -1);
    if (m >= n) expand_factors("linalg_householder_product", dtype, dims, n / 2);
  }
}

static void expand_eigen(const char* name, tt_dtype_t dtype, int64_t m, int64_t n) {
  fixture_t f;
  fixture_begin(&f);
  int64_t a[3] = {2, m, n}, pivots[2] = {2, n};
  bool solves = !strcmp(name, "linalg_ldl_solve");
  fixture_tensor(&f, dtype, 3, a);
  if (solves) fixture_tensor(&f, TT_DTYPE_S32, 2, pivots);
  if (solves || !strcmp(name, "linalg_lstsq")) fixture_tensor(&f, dtype, 3, a);
  expect_expanded(&f, name, m && n);
}

TT_TEST(lower, expansion_leaves_no_eigenproblem) {
  static const char* const square[] = {"_linalg_eigh", "linalg_ldl_factor_ex", "linalg_ldl_solve"};
  static const char* const any[] = {"_linalg_svd", "linalg_lstsq"};
  for (size_t d = 0; d < TT_ARRAY_LENGTH(matrix_dtypes); ++d) {
    for (int64_t n = 0; n < 5; ++n) {
      for (size_t i = 0; i < TT_ARRAY_LENGTH(square); ++i) expand_eigen(square[i], matrix_dtypes[d], n, n);
      for (size_t i = 0; i < TT_ARRAY_LENGTH(any); ++i) {
        expand_eigen(any[i], matrix_dtypes[d], 3, n);
        expand_eigen(any[i], matrix_dtypes[d], n, 3);
      }
    }
  }
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
