// What a kernel sees, and how kernels are chosen.
//
// Two kinds:
//  - lane kernels (elementwise.h): n contiguous elements, called by the tile interpreter;
//  - op kernels (this file): one StableHLO op or composite that is not elementwise, called as one plan step.
//
// An op kernel is chosen at compile time by tt_k_op_find(op): the first candidate of tt_k_op_table() that
// supports it; the plain C reference stands last for its op kind. Its parameters are encoded into
// position-independent bytes (a plan is data: no pointers), read back by run().
#ifndef TT_VTPU_KERNELS_KERNEL_H_
#define TT_VTPU_KERNELS_KERNEL_H_

#include "base/arena.h"
#include "base/base.h"
#include "base/status.h"
#include "exec/pool.h"
#include "ir/ir.h"

typedef enum tt_isa_e {
  TT_ISA_GENERIC = 0, TT_ISA_AVX2 = 1, TT_ISA_AVX512 = 2, TT_ISA_AVX512BF16 = 3, TT_ISA_AMX = 4, TT_ISA_COUNT
} tt_isa_t;
// Best ISA of this CPU, lowered by TORCH_TPU_ISA=generic|avx2|avx512|avx512bf16|amx (read once) or by
// tt_k_isa_set (tests; not while kernels run).
tt_isa_t tt_k_isa(void);
tt_isa_t tt_k_isa_supported(void);
void tt_k_isa_set(tt_isa_t isa);
const char* tt_k_isa_name(tt_isa_t isa);

typedef struct tt_k_tensor_s {     // dims and strides in elements, [rank]; dense row-major unless the kernel accepts strides
  void* data;
  tt_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
  const int64_t* strides;          // may be 0 or negative
} tt_k_tensor_t;

// Evaluates a scalar region (a reducer, comparator, ...) on `lanes` lanes: args[i] and results[i] point to
// `lanes` contiguous elements of the region's 0-d types (PRED: one byte 0/1). Results never overlap args.
// Many threads may call it at once, each with its own `scratch` (region_scratch_bytes of the env).
typedef void (*tt_k_region_fn_t)(const void* region, void* scratch, void* const* args, void* const* results, size_t lanes);

// A loop over the elements of the result that the executor wants run on each block of them once they are final.
// A kernel that can sets `taken` and calls run(self, ...) for every element once, from any of its tasks, after it
// has written them: elements first + i * stride + [0, cols) for i in [0, rows), numbered row-major. Nothing that the
// kernel still reads is written. Not taken: the executor runs the whole loop afterwards.
typedef struct tt_k_epilogue_s {
  void (*run)(const void* self, int64_t first, int64_t rows, int64_t stride, int64_t cols);
  const void* self;
  bool taken;
} tt_k_epilogue_t;

typedef struct tt_k_env_s {
  tt_pool_t* pool;
  void* scratch;                   // scratch_bytes() of the kernel, 64-byte aligned
  tt_k_epilogue_t* epilogue;       // NULL: none
  const void* const* regions;      // compiled regions of the op, in order
  tt_k_region_fn_t region_fn;
  size_t region_scratch_bytes;     // a thread
  size_t region_max_lanes;         // most lanes a region_fn call takes
} tt_k_env_t;

typedef struct tt_k_blob_s {       // parameters under construction
  void* data;                      // arena memory, 8-byte aligned
  size_t size;
} tt_k_blob_t;

typedef struct tt_k_op_s {
  const char* name;                // house grammar: tt_k_<dtype>_<op>_<tile>__<isa>; unique, it is the kernel's id in plans
  tt_op_kind_t kind;               // COMPOSITE and CUSTOM_CALL match `target` as well
  const char* target;              // NULL otherwise
  tt_isa_t isa;                    // needs at least this
  uint32_t strided_operands;       // bit i: operand i may have any strides; others come dense row-major
  // NULL: always. False: the next candidate; *why (static text) says why not, for the verbose switch.
  bool (*supports)(const tt_op_t* op, const char** why);
  // Encodes what run() needs beyond the tensors. NULL: no parameters. Attributes are already verified.
  tt_status_t (*encode)(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out_blob);
  // NULL: none. From blob and tensors' shapes (data is NULL at this call).
  size_t (*scratch_bytes)(const void* blob, int threads, const tt_k_tensor_t* operands, size_t operand_count,
                          const tt_k_tensor_t* results, size_t result_count);
  // An error only for tt.check-like kernels. Fully writes every result. Results never overlap operands unless
  // `inplace` names it.
  tt_status_t (*run)(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* operands, size_t operand_count,
                     const tt_k_tensor_t* results, size_t result_count);
  // Operand whose memory result 0 may take over (dynamic_update_slice, scatter, sort, strided_write), plus 1; 0: none.
  // When taken over, operands[inplace-1].data == results[0].data; otherwise run() copies first itself.
  uint8_t inplace;
  uint32_t unused_operands;        // bit i: run() reads neither data nor shape of operand i (the executor need not make it)
  bool epilogue;                   // run() may take one (one dense result)
  bool replaces_loop;              // better than the executor's own loop, for op kinds that it has one for (reduce)
} tt_k_op_t;

// Every op kernel, best first within its kind; NULL-terminated array of tables (one a file).
const tt_k_op_t* const* tt_k_op_tables(void);
// First candidate that supports `op` on the current ISA; NULL if none. `log`: NULL or called a rejection.
const tt_k_op_t* tt_k_op_find(const tt_op_t* op, void (*log)(void* self, const char* kernel, const char* why), void* self);
const tt_k_op_t* tt_k_op_by_name(const char* name);   // NULL if absent

#endif  // TT_VTPU_KERNELS_KERNEL_H_
