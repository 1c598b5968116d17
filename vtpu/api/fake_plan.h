// A plan and executor for the tests of this folder only: what a program does is chosen by its module's name,
// shapes come from its main function. So the PJRT side is tested without the compiler.
//
//   add   results[0] = p0 + p1          inc   results[0] = p0 + 1, may take p0 over (alias)
//   same  results[0] is p0's block      fail  as inc, but the run gives OUT_OF_RANGE
//   sum   results[0] = sum of p0 over all devices, through the rendezvous
#ifndef TT_VTPU_API_FAKE_PLAN_H_
#define TT_VTPU_API_FAKE_PLAN_H_

#include <string.h>

#include "api/api.h"

struct tt_plan_s {
  int32_t references;
  char name[16];
  tt_plan_info_t info;
  tt_plan_value_t parameters[8], results[2];
  int64_t dims[10][TT_MAX_RANK];
};
struct tt_rendezvous_s { int wanted, arrived; float sums[64]; };
struct tt_exec_s { tt_exec_args_t args; bool arrived; };

static void fake_value(const tt_type_t* type, int64_t* dims, tt_plan_value_t* value) {
  for (uint32_t i = 0; i < type->rank; ++i) dims[i] = type->dims[i];
  *value = (tt_plan_value_t){type->dtype, type->rank, dims, tt_type_bytes(type), -1};
}

tt_status_t tt_plan_compile(const tt_module_t* module, const tt_plan_options_t* options,
                            tt_plan_t** out_plan) {
  (void)options;
  *out_plan = NULL;
  tt_func_t* func = tt_module_main(module);
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_plan_t), &memory));
  tt_plan_t* plan = memory;
  plan->references = 1;
  strncpy(plan->name, module->name ? module->name : "", sizeof(plan->name) - 1);
  plan->info.parameter_count = func->body.block.arg_count;
  plan->info.result_count = func->result_count;
  plan->info.parameters = plan->parameters;
  plan->info.results = plan->results;
  plan->info.flops = 42;
  plan->info.plan_bytes = 100;
  plan->info.has_collectives = strcmp(plan->name, "sum") == 0;
  for (uint32_t i = 0; i < func->body.block.arg_count; ++i) {
    fake_value(func->body.block.args[i].type, plan->dims[i], &plan->parameters[i]);
  }
  for (uint32_t i = 0; i < func->result_count; ++i) {
    fake_value(func->result_types[i], plan->dims[8 + i], &plan->results[i]);
  }
  if (strcmp(plan->name, "inc") == 0 || strcmp(plan->name, "fail") == 0) {
    plan->parameters[0].alias = 0;
    plan->results[0].alias = 0;
  }
  *out_plan = plan;
  return TT_OK_STATUS;
}
void tt_plan_retain(tt_plan_t* plan) { __atomic_fetch_add(&plan->references, 1, __ATOMIC_RELAXED); }
void tt_plan_release(tt_plan_t* plan) {
  if (plan && __atomic_sub_fetch(&plan->references, 1, __ATOMIC_ACQ_REL) == 0) tt_free(plan);
}
const tt_plan_info_t* tt_plan_info(const tt_plan_t* plan) { return &plan->info; }
void tt_plan_print(const tt_plan_t* plan, tt_strbuf_t* out) {
  tt_strbuf_printf(out, "fake %s\n", plan->name);
}
tt_status_t tt_plan_serialise(const tt_plan_t* plan, void** out_bytes, size_t* out_size) {
  *out_size = sizeof(*plan);
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(*plan), out_bytes));
  memcpy(*out_bytes, plan, sizeof(*plan));
  return TT_OK_STATUS;
}
tt_status_t tt_plan_deserialise(const void* bytes, size_t size, tt_plan_t** out_plan) {
  void* memory;
  if (size != sizeof(tt_plan_t)) return tt_status_create(TT_DATA_LOSS, "bad plan");
  TT_RETURN_IF_ERROR(tt_alloc(size, &memory));
  tt_plan_t* plan = memory;
  memcpy(plan, bytes, size);
  plan->references = 1;
  plan->info.parameters = plan->parameters;
  plan->info.results = plan->results;
  for (int i = 0; i < 8; ++i) plan->parameters[i].dims = plan->dims[i];
  for (int i = 0; i < 2; ++i) plan->results[i].dims = plan->dims[8 + i];
  *out_plan = plan;
  return TT_OK_STATUS;
}

tt_status_t tt_exec_run(const tt_exec_args_t* args) {
  const tt_plan_t* plan = args->plan;
  const float* a = args->parameters[0]->data;
  size_t count = (size_t)plan->results[0].bytes / 4;
  if (strcmp(plan->name, "fail") == 0) return tt_status_create(TT_OUT_OF_RANGE, "index 7 is out of range");
  if (strcmp(plan->name, "same") == 0 || (args->donated && args->donated[0])) {
    tt_vmem_retain(args->parameters[0]);
    args->results[0] = args->parameters[0];
  } else {
    TT_RETURN_IF_ERROR(tt_vmem_allocate(args->memory, (size_t)plan->results[0].bytes, &args->results[0]));
  }
  float* out = args->results[0]->data;
  if (strcmp(plan->name, "add") == 0) {
    const float* b = args->parameters[1]->data;
    for (size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
  } else if (strcmp(plan->name, "inc") == 0) {
    for (size_t i = 0; i < count; ++i) out[i] = a[i] + 1;
  }
  return TT_OK_STATUS;
}
tt_status_t tt_exec_submit(const tt_exec_args_t* args) { return tt_exec_run(args); }
tt_status_t tt_exec_begin(const tt_exec_args_t* args, tt_exec_t** out_exec) {
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_exec_t), &memory));
  *out_exec = memory;
  (*out_exec)->args = *args;
  return TT_OK_STATUS;
}
tt_status_t tt_exec_resume(tt_exec_t* exec, tt_exec_state_t* out_state) {
  const tt_exec_args_t* args = &exec->args;
  *out_state = TT_EXEC_DONE;
  if (!args->plan->info.has_collectives) return tt_exec_run(args);
  struct tt_rendezvous_s* meeting = args->rendezvous;
  size_t count = (size_t)args->plan->results[0].bytes / 4;
  if (!exec->arrived) {
    for (size_t i = 0; i < count; ++i) meeting->sums[i] += ((float*)args->parameters[0]->data)[i];
    ++meeting->arrived;
    exec->arrived = true;
  }
  if (meeting->arrived < meeting->wanted) {
    *out_state = TT_EXEC_WAIT;
    return TT_OK_STATUS;
  }
  TT_RETURN_IF_ERROR(tt_vmem_allocate(args->memory, count * 4, &args->results[0]));
  memcpy(args->results[0]->data, meeting->sums, count * 4);
  return TT_OK_STATUS;
}
void tt_exec_end(tt_exec_t* exec) { tt_free(exec); }
tt_status_t tt_rendezvous_create(int32_t num_replicas, int32_t num_partitions, struct tt_rendezvous_s** out) {
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(struct tt_rendezvous_s), &memory));
  *out = memory;
  (*out)->wanted = num_replicas * num_partitions;
  return TT_OK_STATUS;
}
void tt_rendezvous_release(struct tt_rendezvous_s* rendezvous) { tt_free(rendezvous); }

#endif  // TT_VTPU_API_FAKE_PLAN_H_
