// A loaded plan: its bytes and what names in them resolve to on this machine. For compile/ and exec/ only.
#ifndef TT_VTPU_COMPILE_PLAN_LOAD_H_
#define TT_VTPU_COMPILE_PLAN_LOAD_H_

#include "compile/plan.h"
#include "compile/plan_data.h"
#include "kernels/elementwise.h"
#include "kernels/kernel.h"

struct tt_plan_s {
  int32_t references;                 // atomic
  void* bytes;                        // 64-byte aligned, owned
  size_t size;
  const pd_header_t* header;
  const pd_buffer_t* buffers;
  const pd_block_t* blocks;
  void** lanes;                       // [lane_count], then the rest of one allocation
  const tt_k_op_t** kernels;
  tt_plan_value_t *parameters, *results;
  tt_plan_info_t info;
  bool may_run_behind;                // no step can fail or wait: may run behind its caller (exec/queue.h)
  bool is_worth_it;                   // enough work that the caller gains by it
  // One lane kernel over whole contiguous buffers: run without the machinery.
  struct { bool on; uint8_t op; void* fn; int64_t n; int32_t param[3]; int64_t offset[3]; int64_t esize; uint8_t imm[16]; } fast;
};

static inline const pd_step_t* tt_plan_steps(const tt_plan_t* plan, uint32_t block) {
  return PD_AT(plan->bytes, plan->blocks[block].steps_at, pd_step_t);
}
static inline const pd_region_t* tt_plan_region(const tt_plan_t* plan, uint32_t number) {
  return PD_AT(plan->bytes, PD_AT(plan->bytes, plan->header->regions_at, uint32_t)[number], pd_region_t);
}
// validate.c: INVALID_ARGUMENT or DATA_LOSS names what is wrong.
tt_status_t tt_plan_validate(const void* bytes, size_t size) TT_MUST_USE;
tt_status_t tt_plan_load(void* bytes, size_t size, bool trusted, tt_plan_t** out_plan) TT_MUST_USE;   // takes bytes
uint32_t tt_plan_fingerprint(void);
void* tc_lane_resolve(pd_lane_t lane);   // NULL: no such kernel

#endif  // TT_VTPU_COMPILE_PLAN_LOAD_H_
