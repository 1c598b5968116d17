// Whole graphs: building, layouts, scalars, writing into inputs.
#include "tt/graph.h"

#include "eager/test_support.h"

static const float six[] = {1, 2, 3, 4, 5, 6};

static tt_arg_t value_arg(int32_t value) {
  return (tt_arg_t){.kind = TT_ARG_TENSOR, .tensor = {.graph_value = value, .is_defined = true}};
}

static tt_status_t graph_op(tt_graph_t* graph, const char* name, uint32_t count, const tt_arg_t* args,
                            int32_t* out_value) {
  tt_result_t results[4];
  uint32_t got = 0;
  size_t op = tt_aten_find(name);
  if (op == SIZE_MAX) return tt_status_create(TT_NOT_FOUND, "no op %s", name);
  tt_status_t status = tt_graph_call(graph, op, count, args, results, 4, &got);
  if (tt_status_is_ok(status)) *out_value = (int32_t)results[0].integer;
  return status;
}

// out = (a + b * s) ; a <- a * b
static tt_status_t build(tt_graph_t** out_graph) {
  tt_graph_t* graph = NULL;
  int32_t a, b, s, scaled, sum, product;
  TT_RETURN_IF_ERROR(tt_graph_create(0, "axpy", &graph));
  *out_graph = graph;
  TT_RETURN_IF_ERROR(tt_graph_input(graph, TT_DTYPE_F32, 2, (int64_t[]){2, 3}, &a));
  TT_RETURN_IF_ERROR(tt_graph_input(graph, TT_DTYPE_F32, 2, (int64_t[]){2, 3}, &b));
  TT_RETURN_IF_ERROR(tt_graph_scalar(graph, TT_DTYPE_F64, &s));
  tt_arg_t mul[] = {value_arg(b), value_arg(s)};
  TT_RETURN_IF_ERROR(graph_op(graph, "mul.Tensor", 2, mul, &scaled));
  tt_arg_t add[] = {value_arg(a), value_arg(scaled), int_arg(1)};
  TT_RETURN_IF_ERROR(graph_op(graph, "add.Tensor", 3, add, &sum));
  tt_arg_t times[] = {value_arg(a), value_arg(b)};
  TT_RETURN_IF_ERROR(graph_op(graph, "mul.Tensor", 2, times, &product));
  TT_RETURN_IF_ERROR(tt_graph_output(graph, sum));
  return tt_graph_output_into(graph, product, a);
}

static tt_status_t run(tt_graph_executable_t* executable, fixture_t* a, fixture_t* b, double s,
                       fixture_t* out) {
  tt_tensor_t inputs[2] = {a->view, b->view};
  inputs[0].sizes = a->sizes, inputs[0].strides = a->strides;
  inputs[1].sizes = b->sizes, inputs[1].strides = b->strides;
  tt_scalar_t scalar = {.kind = TT_ARG_FLOAT, .c = {s, 0}};
  tt_result_t results[2];
  uint32_t count = 0;
  tt_status_t status = tt_graph_run(executable, 2, inputs, 1, &scalar, NULL, results, 2, &count);
  if (!tt_status_is_ok(status)) return status;
  memset(out, 0, sizeof(*out));
  out->view = (tt_tensor_t){.storage = results[0].storage,
                            .graph_value = -1,
                            .dtype = results[0].dtype,
                            .rank = results[0].rank,
                            .is_defined = true};
  memcpy(out->sizes, results[0].sizes, sizeof(out->sizes));
  memcpy(out->strides, results[0].strides, sizeof(out->strides));
  fix(out);
  return TT_OK_STATUS;
}

TT_TEST(graph, runs_with_any_layout) {
  tt_graph_t* graph = NULL;
  tt_graph_executable_t* executable = NULL;
  TT_EXPECT_OK(build(&graph));
  TT_EXPECT_OK(tt_graph_compile(graph, &executable));
  tt_graph_release(graph);
  fixture_t a, b, out;
  TT_EXPECT_OK(fixture_make(&a, TT_DTYPE_F32, SIZES(2, 3), six));
  TT_EXPECT_OK(fixture_make(&b, TT_DTYPE_F32, SIZES(2, 3), six));
  tt_compile_stats_t before, after;
  tt_compile_stats(&before);
  TT_EXPECT_OK(run(executable, &a, &b, 10, &out));
  EXPECT_F32(&out, 11, 22, 33, 44, 55, 66);
  EXPECT_F32(&a, 1, 4, 9, 16, 25, 36);
  drop(&out);
  TT_EXPECT_OK(run(executable, &a, &b, -1, &out));   // another scalar
  EXPECT_F32(&out, 0, 2, 6, 12, 20, 30);
  drop(&out);
  tt_compile_stats(&after);
  TT_EXPECT_EQ(after.misses, before.misses);   // the dense layout was compiled ahead
  // a and b views of one storage: rows of a 4x3 base, b permuted.
  fixture_t base;
  float data[12];
  for (int i = 0; i < 12; ++i) data[i] = (float)i;
  TT_EXPECT_OK(fixture_make(&base, TT_DTYPE_F32, SIZES(4, 3), data));
  fixture_t top = fixture_view(&base, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1}, 0);
  fixture_t low = fixture_view(&base, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2}, 6);   // [[6,8,10],[7,9,11]]
  TT_EXPECT_OK(run(executable, &top, &low, 1, &out));
  EXPECT_F32(&out, 6, 9, 12, 10, 13, 16);
  EXPECT_F32(&base, 0, 8, 20, 21, 36, 55, 6, 7, 8, 9, 10, 11);
  drop(&a), drop(&b), drop(&out), drop(&base);
  tt_graph_executable_release(executable);
}

// A run-time number as add's alpha: one program, and the number goes through the op's own promotion.
TT_TEST(graph, scalar_in_a_scalars_place) {
  size_t op = tt_aten_find("add.Tensor");
  TT_EXPECT_EQ(tt_graph_value_args(op), 1u << 2);
  TT_EXPECT_EQ(tt_graph_value_args(SIZE_MAX), 0);
  tt_graph_t* graph = NULL;
  tt_graph_executable_t* executable = NULL;
  int32_t a, b, s, sum;
  TT_EXPECT_OK(tt_graph_create(0, "alpha", &graph));
  TT_EXPECT_OK(tt_graph_input(graph, TT_DTYPE_F32, 2, (int64_t[]){2, 3}, &a));
  TT_EXPECT_OK(tt_graph_input(graph, TT_DTYPE_F32, 2, (int64_t[]){2, 3}, &b));
  TT_EXPECT_OK(tt_graph_scalar(graph, TT_DTYPE_F64, &s));
  tt_arg_t add[] = {value_arg(a), value_arg(b), value_arg(s)};
  TT_EXPECT_OK(graph_op(graph, "add.Tensor", 3, add, &sum));
  TT_EXPECT_OK(tt_graph_output(graph, sum));
  TT_EXPECT_OK(tt_graph_compile(graph, &executable));
  tt_graph_release(graph);
  fixture_t x, y, out;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(2, 3), six));
  TT_EXPECT_OK(fixture_make(&y, TT_DTYPE_F32, SIZES(2, 3), six));
  tt_compile_stats_t before, after;
  tt_compile_stats(&before);
  TT_EXPECT_OK(run(executable, &x, &y, 10, &out));
  EXPECT_F32(&out, 11, 22, 33, 44, 55, 66);
  drop(&out);
  TT_EXPECT_OK(run(executable, &x, &y, 0.5, &out));
  EXPECT_F32(&out, 1.5f, 3, 4.5f, 6, 7.5f, 9);
  drop(&out);
  tt_compile_stats(&after);
  TT_EXPECT_EQ(after.misses, before.misses);
  drop(&x), drop(&y);
  tt_graph_executable_release(executable);
}

TT_TEST(graph, says_what_is_wrong) {
  tt_graph_t* graph = NULL;
  TT_EXPECT_OK(build(&graph));
  char* text = NULL;
  TT_EXPECT_OK(tt_graph_text(graph, &text));
  TT_EXPECT_CONTAINS(text, "stablehlo.multiply");
  tt_text_free(text);
  int32_t value;
  TT_EXPECT_ERROR(tt_graph_scalar(graph, TT_DTYPE_S64, &value), TT_FAILED_PRECONDITION, "is compiled");
  tt_graph_executable_t* executable = NULL;
  TT_EXPECT_OK(tt_graph_compile(graph, &executable));
  tt_graph_release(graph);
  fixture_t a, out;
  TT_EXPECT_OK(fixture_make(&a, TT_DTYPE_F32, SIZES(6), six));
  TT_EXPECT_ERROR(run(executable, &a, &a, 1, &out), TT_INVALID_ARGUMENT,
                  "graph 'axpy': input 0 has another dtype or other sizes");
  drop(&a);
  tt_graph_executable_release(executable);
  TT_EXPECT_OK(tt_graph_create(0, "bad", &graph));
  int32_t x, y;
  TT_EXPECT_OK(tt_graph_input(graph, TT_DTYPE_F32, 1, (int64_t[]){3}, &x));
  TT_EXPECT_OK(tt_graph_input(graph, TT_DTYPE_F32, 1, (int64_t[]){2}, &y));
  tt_arg_t add[] = {value_arg(x), value_arg(y), int_arg(1)};
  TT_EXPECT_ERROR(graph_op(graph, "add.Tensor", 3, add, &value), TT_INVALID_ARGUMENT,
                  "aten::add.Tensor(tensor<3xf32>, tensor<2xf32>, 1): The size of tensor a (3)");
  TT_EXPECT_ERROR(tt_graph_output(graph, x), TT_FAILED_PRECONDITION, "failed");
  tt_graph_release(graph);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
