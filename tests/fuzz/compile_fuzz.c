// StableHLO text through the verifier and vtpu's compiler: a valid plan or an error. Small plans are run, in both
// kernel sets, so that a plan that validates but writes where it must not is seen.
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-function"   // the test harness comes with test_program.h
#include "compile/plan_load.h"
#include "exec/test_program.h"
#include "fuzz.h"
#include "ir/text.h"

// Work that a test can afford: few steps over little data and no loop that might not end.
static bool is_small(const tt_plan_t* plan) {
  const tt_plan_info_t* info = tt_plan_info(plan);
  int64_t bytes = info->temp_bytes;
  if (info->parameter_count > 16 || info->result_count > 16 || info->has_collectives ||
      info->flops > 1e7) return false;
  for (size_t i = 0; i < info->parameter_count; ++i) bytes += TT_MIN(info->parameters[i].bytes, INT32_MAX);
  for (size_t i = 0; i < info->result_count; ++i) bytes += TT_MIN(info->results[i].bytes, INT32_MAX);
  if (bytes > 1 << 20 || info->step_count > 200) return false;
  for (uint32_t b = 0; b < plan->header->block_count; ++b) {
    const pd_step_t* steps = tt_plan_steps(plan, b);
    for (uint32_t i = 0; i < plan->blocks[b].step_count; ++i) {
      uint32_t at = steps[i].data_at;
      if (steps[i].kind == PD_S_WHILE) return false;
      if (steps[i].kind == PD_S_REDUCE) at = PD_AT(plan->bytes, at, pd_reduce_t)->loop_at;
      else if (steps[i].kind != PD_S_LOOP) continue;
      if (PD_AT(plan->bytes, at, pd_loop_t)->elems > 1 << 18) return false;
    }
  }
  return true;
}

static void run(const tt_plan_t* plan) {
  static uint64_t noise[(1 << 20) / 8];
  uint64_t state = 3;
  if (!noise[0]) {
    for (size_t i = 0; i < TT_ARRAY_LENGTH(noise); ++i) noise[i] = state = state * 6364136223846793005ull + 1442695040888963407ull;
  }
  test_run_t run = {0};
  for (int i = 0; i < 16; ++i) run.inputs[i] = noise;
  tt_status_free(test_execute(plan, &run));   // a failed check is a good answer
  test_run_free(&run);
}

static void compile(const tt_module_t* module, tt_plan_options_t options) {
  tt_plan_t* plan = NULL;
  tt_status_t status = tt_plan_compile(module, &options, &plan);
  if (!tt_status_is_ok(status)) {
    tt_status_code_t code = tt_status_code(status);
    FUZZ_REQUIRE(code != TT_INTERNAL, "%s", tt_status_message(status));
    tt_status_free(status);
    return;
  }
  status = tt_plan_validate(plan->bytes, plan->size);
  FUZZ_REQUIRE(tt_status_is_ok(status), "%s", tt_status_message(status));
  void* bytes;
  size_t size;
  tt_plan_t* again = NULL;
  status = tt_plan_serialise(plan, &bytes, &size);
  if (tt_status_is_ok(status)) {
    status = tt_plan_deserialise(bytes, size, &again);
    FUZZ_REQUIRE(tt_status_is_ok(status), "%s", tt_status_message(status));
    tt_free(bytes);
  }
  tt_status_free(status);
  tt_plan_release(again);
  if (is_small(plan)) run(plan);
  tt_plan_release(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tt_module_t* module = NULL;
  tt_status_t status = tt_module_parse((const char*)data, size, &module);
  if (tt_status_is_ok(status)) status = tt_module_verify(module);
  if (tt_status_is_ok(status)) {
    compile(module, (tt_plan_options_t){0});
    compile(module, (tt_plan_options_t){.reference_kernels = true});
    if (size % 4 == 0) compile(module, (tt_plan_options_t){.matmul_passes = 3});
  }
  tt_status_free(status);
  tt_module_release(module);
  return 0;
}
