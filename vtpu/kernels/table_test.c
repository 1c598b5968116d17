// The kernel table: unique names, coverage of ops.def, look-up; and tt.check's status.
#include "base/test.h"
#include "ir/builder.h"
#include "kernels/loops.h"

struct tt_pool_s { int threads; };
static tt_pool_t the_pool = {1};
tt_pool_t* tt_pool_get(void) { return &the_pool; }
int tt_pool_threads(const tt_pool_t* pool) { return pool->threads; }
void tt_pool_set_threads(tt_pool_t* pool, int threads) { pool->threads = threads; }
void tt_pool_run(tt_pool_t* pool, size_t count, tt_pool_fn_t fn, void* self) {
  (void)pool;
  for (size_t i = 0; i < count; ++i) fn(self, i);
}

TT_TEST(table, names_are_unique_and_found) {
  int count = 0;
  for (const tt_k_op_t* const* t = tt_k_op_tables(); *t; ++t) {
    for (const tt_k_op_t* k = *t; k->name; ++k, ++count) {
      TT_EXPECT(strncmp(k->name, "tt_k_", 5) == 0);
      TT_EXPECT(k->run != NULL);
      if (tt_k_op_by_name(k->name) != k) TT_TEST_FAIL("%s twice", k->name);
    }
  }
  TT_EXPECT(count > 100);
  TT_EXPECT(tt_k_op_by_name("tt_k_none") == NULL);
}

// Every op has a kernel except those that are the executor's own.
TT_TEST(table, covers_ops) {
  static const tt_op_kind_t executor[] = {
      TT_OP_AFTER_ALL, TT_OP_ALL_GATHER, TT_OP_ALL_REDUCE, TT_OP_ALL_TO_ALL, TT_OP_CASE, TT_OP_COLLECTIVE_BROADCAST,
      TT_OP_COLLECTIVE_PERMUTE, TT_OP_CONSTANT, TT_OP_GET_TUPLE_ELEMENT, TT_OP_IF, TT_OP_INFEED, TT_OP_OPTIMIZATION_BARRIER,
      TT_OP_OUTFEED, TT_OP_PARTITION_ID, TT_OP_RECV, TT_OP_REDUCE_SCATTER, TT_OP_REPLICA_ID, TT_OP_RETURN, TT_OP_SEND,
      TT_OP_TUPLE, TT_OP_WHILE, TT_OP_FUNC_CALL, TT_OP_FUNC_RETURN,
  };
  for (int kind = 1; kind < TT_OP_COUNT; ++kind) {
    bool found = false;
    for (size_t i = 0; i < TT_ARRAY_LENGTH(executor); ++i) found = found || executor[i] == (tt_op_kind_t)kind;
    for (const tt_k_op_t* const* t = tt_k_op_tables(); *t && !found; ++t) {
      for (const tt_k_op_t* k = *t; k->name; ++k) found = found || k->kind == (tt_op_kind_t)kind;
    }
    if (!found) TT_TEST_FAIL("no kernel for %s", tt_op_info((tt_op_kind_t)kind)->name);
  }
}

TT_TEST(check, message) {
  tt_module_t* module;
  TT_EXPECT_OK(tt_module_create(&module));
  tt_builder_t b;
  tt_builder_initialize(&b, module);
  const tt_type_t* types[3] = {tt_type_tensor(module, TT_DTYPE_PRED, 0, NULL), tt_type_tensor(module, TT_DTYPE_S64, 0, NULL),
                               tt_type_tensor(module, TT_DTYPE_F32, 0, NULL)};
  tt_func_t* func = tt_b_func_begin(&b, "main", true, 3, types);
  tt_value_t* values[2] = {tt_b_func_arg(func, 1), tt_b_func_arg(func, 2)};
  tt_b_check(&b, tt_b_func_arg(func, 0), TT_OUT_OF_RANGE, "index {0} of {1} {2} {", 2, values);
  tt_b_func_end(&b, func, 0, NULL);
  TT_EXPECT(tt_builder_ok(&b));
  const tt_op_t* op = func->body.block.first;
  const tt_k_op_t* kernel = tt_k_op_find(op, NULL, NULL);
  TT_EXPECT(kernel != NULL);
  tt_arena_t arena;
  tt_arena_initialize(&arena);
  tt_k_blob_t blob = {0};
  TT_EXPECT_OK(kernel->encode(op, &arena, &blob));
  uint8_t pred = 1;
  int64_t index = -7;
  float size = 2.5f;
  tt_k_tensor_t x[3] = {{&pred, TT_DTYPE_PRED, 0, NULL, NULL}, {&index, TT_DTYPE_S64, 0, NULL, NULL}, {&size, TT_DTYPE_F32, 0, NULL, NULL}};
  tt_k_env_t env = {.pool = &the_pool};
  TT_EXPECT_OK(kernel->run(&env, blob.data, x, 3, NULL, 0));
  pred = 0;
  TT_EXPECT_ERROR(kernel->run(&env, blob.data, x, 3, NULL, 0), TT_OUT_OF_RANGE, "index -7 of 2.5 {2} {");
  tt_arena_deinitialize(&arena);
  tt_builder_deinitialize(&b);
  tt_module_release(module);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
