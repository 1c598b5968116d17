// A plan: what vtpu runs. Position-independent data (offsets, kernel names, no pointers) made from a module.
//
//   module -> verify -> inline calls, expand composites with bodies -> canonicalise (fold constants, views to
//   index maps) -> fuse (elementwise groups, reductions with producers, loops of several results, epilogues of
//   products) -> order (checks first) -> place buffers (liveness, donation) -> plan bytes
//
// Invariants (tt_plan_validate asserts them, also on bytes from outside):
//  L1 every buffer reference names a parameter, constant, temporary or result and lies inside it;
//  L2 no step writes a parameter, except one donated for its aliased result, and only after its last reader
//     and after the last check that can fail (or the step works on a copy);
//  L3 steps write temporaries before they are read; lifetimes of overlapping temporaries are disjoint;
//  L4 kernels are named, not pointed to; a plan made on one ISA runs on the same ISA only (recorded);
//  L5 a step other than check, collectives and the kernels of kernels/reserve.h cannot fail; those kernels fail
//     before they write.
#ifndef TT_VTPU_COMPILE_PLAN_H_
#define TT_VTPU_COMPILE_PLAN_H_

#include "base/base.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "ir/ir.h"

typedef struct tt_plan_s tt_plan_t;   // immutable, shareable between threads

typedef struct tt_plan_options_s {
  int num_replicas, num_partitions;   // 0: 1
  bool reference_kernels;             // every op by its plain C reference, no fusion: the oracle
  int matmul_passes;                  // 0: true f32; 1, 3, 6: round f32 dot/conv operands as the MXU does
  bool separate_steps;                // no loops of several results, no epilogues; the bits are the same
} tt_plan_options_t;

typedef struct tt_plan_value_s {      // a parameter or result
  tt_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
  int64_t bytes;
  int32_t alias;                      // result: parameter it may take over, or -1; parameter: result or -1
} tt_plan_value_t;

// all-reduce, all-gather, reduce-scatter, all-to-all, collective-permute, collective-broadcast
#define TT_PLAN_COLLECTIVES 6

typedef struct tt_plan_info_s {
  size_t parameter_count, result_count;
  const tt_plan_value_t *parameters, *results;
  int64_t temp_bytes, constant_bytes, plan_bytes;
  size_t step_count;
  double flops, bytes_accessed;       // estimates for cost analysis
  bool has_collectives;
  int64_t collectives[TT_PLAN_COLLECTIVES];   // steps by kind, those of a loop's body once
  bool is_tiny;                       // a few microseconds of work: run inline
} tt_plan_info_t;

// UNIMPLEMENTED names an op that vtpu cannot run; INVALID_ARGUMENT for a bad module.
tt_status_t tt_plan_compile(const tt_module_t* module, const tt_plan_options_t* options, tt_plan_t** out_plan) TT_MUST_USE;
void tt_plan_retain(tt_plan_t* plan);
void tt_plan_release(tt_plan_t* plan);
const tt_plan_info_t* tt_plan_info(const tt_plan_t* plan);
// Readable listing of the steps.
void tt_plan_print(const tt_plan_t* plan, tt_strbuf_t* out);
// Plan bytes: written and read by one function pair; reading validates like hostile input.
tt_status_t tt_plan_serialise(const tt_plan_t* plan, void** out_bytes, size_t* out_size) TT_MUST_USE;  // tt_free
tt_status_t tt_plan_deserialise(const void* bytes, size_t size, tt_plan_t** out_plan) TT_MUST_USE;

#endif  // TT_VTPU_COMPILE_PLAN_H_
