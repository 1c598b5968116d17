// For tests: one program as two plans, fused and in separate steps, which must give the same bits.
#ifndef TT_VTPU_COMPILE_TEST_PAIR_H_
#define TT_VTPU_COMPILE_TEST_PAIR_H_

#include "compile/plan_load.h"
#include "exec/pool.h"
#include "exec/test_program.h"
#include "ir/text.h"

// In [-1, 1).
static inline float test_noise(void) {
  static uint32_t seed;
  seed = seed * 1664525u + 1013904223u;
  return (float)(int32_t)seed * 0x1p-31f;
}

static inline tt_plan_t* test_pair_compile(const char* text, bool separate) {
  tt_module_t* module = NULL;
  tt_plan_t* plan = NULL;
  tt_plan_options_t options = {.separate_steps = separate};
  tt_status_t status = tt_module_parse(text, strlen(text), &module);
  if (tt_status_is_ok(status)) status = tt_module_verify(module);
  if (tt_status_is_ok(status)) status = tt_plan_compile(module, &options, &plan);
  if (tt_status_is_ok(status)) status = tt_plan_validate(plan->bytes, plan->size);
  if (!tt_status_is_ok(status)) TT_TEST_FAIL("%s", tt_status_message(status));
  tt_status_free(status);
  tt_module_release(module);
  return plan;
}

static inline size_t test_pair_steps(const tt_plan_t* plan, pd_step_kind_t kind, bool epilogue) {
  size_t n = 0;
  for (uint32_t b = 0; b < plan->header->block_count; ++b) {
    const pd_step_t* steps = tt_plan_steps(plan, b);
    for (uint32_t i = 0; i < plan->blocks[b].step_count; ++i) {
      if (steps[i].kind != (uint32_t)kind) continue;
      n += !epilogue || PD_AT(plan->bytes, steps[i].data_at, pd_op_t)->epilogue_at != 0;
    }
  }
  return n;
}

// Runs both plans on equal inputs, donated or not, on several thread counts; every result must have the same bytes.
static inline void test_pair_same_bits(const tt_plan_t* fused, const tt_plan_t* separate, const char* what) {
  const tt_plan_info_t* info = tt_plan_info(fused);
  test_run_t runs[2];
  memset(runs, 0, sizeof runs);
  void* inputs[16];
  for (size_t p = 0; p < info->parameter_count; ++p) {
    const tt_plan_value_t* v = &info->parameters[p];
    inputs[p] = malloc((size_t)v->bytes + 64);
    size_t e = tt_dtype_bytes(v->dtype);
    for (int64_t i = 0; i < v->bytes / (int64_t)e; ++i) tt_scalar_store_f64(v->dtype, (double)test_noise() * 2, (char*)inputs[p] + (size_t)i * e);
    runs[0].inputs[p] = runs[1].inputs[p] = inputs[p];
  }
  tt_pool_t* pool = tt_pool_get();
  int before = tt_pool_threads(pool);
  for (int donate = 0; donate < 2; ++donate) {
    for (int threads = 1; threads <= 3; ++threads) {
      tt_pool_set_threads(pool, threads);
      for (size_t p = 0; p < info->parameter_count; ++p) runs[0].donated[p] = runs[1].donated[p] = donate;
      TT_EXPECT_OK(test_execute(fused, &runs[0]));
      TT_EXPECT_OK(test_execute(separate, &runs[1]));
      if (!donate) TT_EXPECT(runs[0].inputs_kept);
      for (size_t r = 0; r < info->result_count; ++r) {
        if (memcmp(runs[0].outputs[r], runs[1].outputs[r], runs[0].bytes[r]) != 0) TT_TEST_FAIL("%s: result %zu differs on %d threads", what, r, threads);
      }
      test_run_free(&runs[0]);
      test_run_free(&runs[1]);
    }
  }
  tt_pool_set_threads(pool, before);
  for (size_t p = 0; p < info->parameter_count; ++p) free(inputs[p]);
}

static inline void test_every_isa(void (*fn)(void)) {
  const tt_isa_t best = tt_k_isa_supported();
  for (int isa = 0; isa <= (int)best; ++isa) {
    tt_k_isa_set((tt_isa_t)isa);
    fn();
  }
  tt_k_isa_set(best);
}

#endif  // TT_VTPU_COMPILE_TEST_PAIR_H_
