// Runs plans. An execution is resumable: it returns DONE, or WAIT when a collective's peers are not there
// yet, so a waiting device never holds a worker (design D7).
#ifndef TT_VTPU_EXEC_EXEC_H_
#define TT_VTPU_EXEC_EXEC_H_

#include "compile/plan.h"
#include "exec/memory.h"

typedef struct tt_exec_args_s {
  const tt_plan_t* plan;
  tt_vmem_pool_t* memory;           // results and temporaries come from here, all before the first step runs
  tt_vmem_t* const* parameters;     // borrowed; [parameter_count]
  const bool* donated;              // parameter may be overwritten for its aliased result; NULL: none
  tt_vmem_t** results;              // out, owned: [result_count]; a result that is a donated parameter or an
                                    // unchanged parameter is that block retained
  int32_t replica_id, partition_id;
  struct tt_rendezvous_s* rendezvous;   // of the run's devices; NULL for one device
} tt_exec_args_t;

typedef enum tt_exec_state_e { TT_EXEC_DONE, TT_EXEC_WAIT } tt_exec_state_t;
typedef struct tt_exec_s tt_exec_t;

// One-shot for plans without collectives. On an error nothing is written to donated parameters (D3) and
// results are NULL. No allocation besides device memory after warm-up.
tt_status_t tt_exec_run(const tt_exec_args_t* args) TT_MUST_USE;

// The same, and may return before the work is done: it runs behind the caller (queue.h) where the plan cannot fail and
// is worth it, or where other work is still running behind. Results and temporaries are there in any case; whoever
// reads or writes them outside of this function waits for the queue first. Blocks may be released at once.
tt_status_t tt_exec_submit(const tt_exec_args_t* args) TT_MUST_USE;

// Resumable form.
tt_status_t tt_exec_begin(const tt_exec_args_t* args, tt_exec_t** out_exec) TT_MUST_USE;
tt_status_t tt_exec_resume(tt_exec_t* exec, tt_exec_state_t* out_state) TT_MUST_USE;
void tt_exec_end(tt_exec_t* exec);   // frees; results not taken are released

// In-process meeting point of the devices of one multi-device run.
tt_status_t tt_rendezvous_create(int32_t num_replicas, int32_t num_partitions, struct tt_rendezvous_s** out) TT_MUST_USE;
void tt_rendezvous_release(struct tt_rendezvous_s* rendezvous);

#endif  // TT_VTPU_EXEC_EXEC_H_
