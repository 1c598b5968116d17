// The verifier accepts what the builder makes and names what is wrong; hash and equality.
#include "base/test.h"
#include "ir/builder.h"

typedef struct program_s {
  tt_module_t* module;
  tt_op_t *add, *reduce, *loop, *sort;
} program_t;

// A program with a region of every sort; `scale` varies a constant.
static tt_status_t build(double scale, program_t* out) {
  tt_builder_t state, *b = &state;
  TT_RETURN_IF_ERROR(tt_module_create(&out->module));
  tt_builder_initialize(b, out->module);
  const tt_type_t* type = tt_b_type(b, TT_DTYPE_F32, 2, (tt_dim_t[]){4, 6});
  const tt_type_t* types[2] = {type, type};
  tt_func_t* func = tt_b_func_begin(b, "main", true, 2, types);
  tt_value_t* sum = tt_b_binary(b, TT_OP_ADD, tt_b_func_arg(func, 0), tt_b_func_arg(func, 1));
  out->add = sum ? sum->op : NULL;
  tt_value_t* scaled = tt_b_binary(b, TT_OP_MULTIPLY, sum, tt_b_splat_like(b, sum, scale));
  tt_value_t* reduced = tt_b_reduce(b, TT_OP_ADD, scaled, 1, (int64_t[]){1}, false);
  out->reduce = reduced ? reduced->op : NULL;
  tt_value_t* state_in[2] = {tt_b_scalar_i64(b, TT_DTYPE_S32, 0), reduced};
  out->loop = tt_b_while(b, 2, state_in);
  tt_block_t* saved = tt_b_region_begin(b, out->loop, 0, 0, NULL);
  tt_value_t* go =
      tt_b_compare(b, "LT", tt_b_region_arg(out->loop, 0, 0), tt_b_scalar_i64(b, TT_DTYPE_S32, 3));
  tt_b_region_end(b, saved, 1, &go);
  saved = tt_b_region_begin(b, out->loop, 1, 0, NULL);
  tt_value_t* next[2] = {
      tt_b_binary(b, TT_OP_ADD, tt_b_region_arg(out->loop, 1, 0), tt_b_scalar_i64(b, TT_DTYPE_S32, 1)),
      tt_b_binary(b, TT_OP_ADD, tt_b_region_arg(out->loop, 1, 1), reduced)};
  tt_b_region_end(b, saved, 2, next);
  tt_value_t* keys = out->loop ? &out->loop->results[1] : NULL;
  out->sort = tt_b_sort(b, 1, &keys, 0, true);
  saved = tt_b_region_begin(b, out->sort, 0, 0, NULL);
  tt_value_t* less =
      tt_b_compare(b, "LT", tt_b_region_arg(out->sort, 0, 0), tt_b_region_arg(out->sort, 0, 1));
  tt_b_region_end(b, saved, 1, &less);
  tt_value_t* result = out->sort ? out->sort->results : NULL;
  tt_b_func_end(b, func, 1, &result);
  tt_status_t status = tt_builder_take_status(b);
  tt_builder_deinitialize(b);
  return status;
}

TT_TEST(verify, accepts_built_program) {
  program_t p = {0};
  TT_EXPECT_OK(build(2, &p));
  TT_EXPECT_OK(tt_module_verify(p.module));
  tt_module_release(p.module);
}

TT_TEST(verify, names_what_is_wrong) {
  program_t p = {0};
  TT_EXPECT_OK(build(2, &p));
  const tt_type_t* good = p.add->results[0].type;
  p.add->results[0].type = tt_type_tensor(p.module, TT_DTYPE_F32, 2, (tt_dim_t[]){4, 7});
  TT_EXPECT_ERROR(
      tt_module_verify(p.module), TT_INVALID_ARGUMENT,
      "function @main: in `%2 = stablehlo.add(%0, %1)`: stablehlo.add: result 0 is tensor<4x7xf32>, "
      "inferred tensor<4x6xf32>");
  p.add->results[0].type = good;
  tt_value_t* old = p.add->operands[0];
  p.add->operands[0] = &p.sort->results[0];
  TT_EXPECT_ERROR(tt_module_verify(p.module), TT_INVALID_ARGUMENT, "does not dominate its use");
  p.add->operands[0] = &p.loop->regions[1].block.args[0];  // a value of an inner region
  TT_EXPECT_ERROR(tt_module_verify(p.module), TT_INVALID_ARGUMENT, "does not dominate its use");
  p.add->operands[0] = old;
  tt_op_t* last = p.reduce->regions[0].block.last;
  p.reduce->regions[0].block.last = last->prev;
  TT_EXPECT_ERROR(tt_module_verify(p.module), TT_INVALID_ARGUMENT, "does not end with stablehlo.return");
  p.reduce->regions[0].block.last = last;
  p.reduce->attr_count = 0;
  TT_EXPECT_ERROR(tt_module_verify(p.module), TT_INVALID_ARGUMENT, "\"dimensions\" is missing");
  p.reduce->attr_count = 1;
  tt_type_t stray = *good;
  p.add->results[0].type = &stray;
  TT_EXPECT_ERROR(tt_module_verify(p.module), TT_INVALID_ARGUMENT, "not interned");
  p.add->results[0].type = good;
  TT_EXPECT_OK(tt_module_verify(p.module));
  tt_module_release(p.module);
}

TT_TEST(verify, refuses_recursion) {
  tt_module_t* module = NULL;
  TT_EXPECT_OK(tt_module_create(&module));
  tt_builder_t b;
  tt_builder_initialize(&b, module);
  const tt_type_t* type = tt_b_type(&b, TT_DTYPE_F32, 0, NULL);
  tt_func_t* inner = tt_b_func_begin(&b, "inner", false, 1, &type);
  tt_value_t* x = tt_b_func_arg(inner, 0);
  tt_attr_t callee = {.name = TT_ATTR_CALLEE, .kind = TT_AK_SYMBOL, .text = {"main", 4}};
  tt_op_t* back = tt_b_op(&b, TT_OP_FUNC_CALL, 1, &x, 1, &callee, 1, &type, 0);
  tt_b_func_end(&b, inner, 1, (tt_value_t*[]){back ? back->results : NULL});
  tt_func_t* func = tt_b_func_begin(&b, "main", true, 1, &type);
  x = tt_b_func_arg(func, 0);
  tt_op_t* call = tt_b_call(&b, inner, 1, &x);
  tt_b_func_end(&b, func, 1, (tt_value_t*[]){call ? call->results : NULL});
  TT_EXPECT_OK(tt_builder_take_status(&b));
  TT_EXPECT_ERROR(tt_module_verify(module), TT_INVALID_ARGUMENT, "function @inner calls itself");
  tt_builder_deinitialize(&b);
  tt_module_release(module);
}

TT_TEST(hash, equal_programs) {
  program_t p = {0}, q = {0}, r = {0};
  TT_EXPECT_OK(build(2, &p));
  TT_EXPECT_OK(build(2, &q));
  TT_EXPECT_OK(build(3, &r));
  TT_EXPECT(tt_module_equal(p.module, q.module));
  TT_EXPECT(tt_module_hash(p.module) == tt_module_hash(q.module));
  TT_EXPECT(!tt_module_equal(p.module, r.module));
  TT_EXPECT(tt_module_hash(p.module) != tt_module_hash(r.module));
  // Ids and locations do not count.
  tt_loc_t loc = {.file = "x.py", .line = 3};
  q.add->loc = &loc;
  uint32_t id = q.add->results[0].id;
  q.add->results[0].id = q.reduce->results[0].id;
  q.reduce->results[0].id = id;
  TT_EXPECT(tt_module_equal(p.module, q.module));
  TT_EXPECT(tt_module_hash(p.module) == tt_module_hash(q.module));
  // Another operand order does.
  tt_value_t* first = q.add->operands[0];
  q.add->operands[0] = q.add->operands[1];
  q.add->operands[1] = first;
  TT_EXPECT(!tt_module_equal(p.module, q.module));
  tt_module_release(p.module);
  tt_module_release(q.module);
  tt_module_release(r.module);
}

// Every allocation fails once: an error, or success when nothing failed, and never a leak.
TT_TEST(fault, building) {
  for (uint64_t nth = 1; nth < 200; ++nth) {
    int64_t live = tt_alloc_stats().live_blocks;
    program_t p = {0};
    tt_alloc_fault_arm(nth);
    tt_status_t status = build(2, &p);
    if (tt_status_is_ok(status)) status = tt_module_verify(p.module);
    bool fired = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    TT_EXPECT_EQ(tt_status_code(status), fired ? TT_RESOURCE_EXHAUSTED : TT_OK);
    tt_status_free(status);
    tt_module_release(p.module);
    TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
    if (!fired) return;
  }
  TT_TEST_FAIL("never got through");
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
