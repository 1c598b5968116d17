// For tests: runs a module on host arrays.
#ifndef TT_VTPU_EXEC_TEST_PROGRAM_H_
#define TT_VTPU_EXEC_TEST_PROGRAM_H_

#include "base/test.h"
#include "compile/plan.h"
#include "exec/exec.h"
#include "ir/builder.h"

static inline tt_vmem_pool_t* test_pool(void) {
  static tt_vmem_pool_t* pool;
  if (!pool) tt_status_ignore(tt_vmem_pool_create("test", (int64_t)1 << 32, &pool));   // NULL shows at the first use
  return pool;
}

typedef struct test_run_s {
  const void* inputs[16];
  bool donated[16];
  bool inputs_kept;                    // out: the input blocks still hold what was put in
  void* outputs[16];                   // malloc'ed
  size_t bytes[16];
  bool in_place[16];                   // result lies in a donated parameter's block
} test_run_t;

static inline tt_status_t test_execute(const tt_plan_t* plan, test_run_t* run) {
  const tt_plan_info_t* info = tt_plan_info(plan);
  tt_vmem_t *parameters[16] = {0}, *results[16] = {0};
  tt_status_t status = TT_OK_STATUS;
  for (size_t i = 0; i < info->parameter_count && tt_status_is_ok(status); ++i) {
    status = tt_vmem_allocate(test_pool(), (size_t)info->parameters[i].bytes, &parameters[i]);
    if (tt_status_is_ok(status)) memcpy(parameters[i]->data, run->inputs[i], (size_t)info->parameters[i].bytes);
  }
  tt_exec_args_t args = {.plan = plan, .memory = test_pool(), .parameters = parameters, .donated = run->donated, .results = results};
  if (tt_status_is_ok(status)) status = tt_exec_run(&args);
  run->inputs_kept = true;
  for (size_t i = 0; i < info->parameter_count && parameters[i]; ++i)
    run->inputs_kept = run->inputs_kept && memcmp(parameters[i]->data, run->inputs[i], (size_t)info->parameters[i].bytes) == 0;
  for (size_t i = 0; i < info->result_count; ++i) {
    run->outputs[i] = NULL;
    run->in_place[i] = false;
    if (!results[i]) continue;
    run->bytes[i] = (size_t)info->results[i].bytes;
    run->outputs[i] = malloc(run->bytes[i] + 1);
    memcpy(run->outputs[i], results[i]->data, run->bytes[i]);
    for (size_t k = 0; k < info->parameter_count; ++k) run->in_place[i] = run->in_place[i] || results[i] == parameters[k];
    tt_vmem_release(results[i]);
  }
  for (size_t i = 0; i < info->parameter_count; ++i) tt_vmem_release(parameters[i]);
  return status;
}

static inline void test_run_free(test_run_t* run) {
  for (int i = 0; i < 16; ++i) { free(run->outputs[i]); run->outputs[i] = NULL; }
}

static inline tt_status_t test_compile(const tt_module_t* module, bool reference, tt_plan_t** out_plan) {
  tt_plan_options_t options = {.reference_kernels = reference};
  return tt_plan_compile(module, &options, out_plan);
}

#endif  // TT_VTPU_EXEC_TEST_PROGRAM_H_
