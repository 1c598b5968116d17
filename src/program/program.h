// The compile driver: module -> (expanded and made legal for foreign plugins) -> structural cache -> runtime.
//
// Invariants:
//  P1 equal modules (tt_module_equal) for one client, device and options give one executable;
//  P2 a module given here is read-only from then on; the cache retains it for comparing;
//  P3 text is printed only by the runtime, for plugins that need it; never for a key;
//  P4 a failed compile leaves no entry.
#ifndef TT_PROGRAM_PROGRAM_H_
#define TT_PROGRAM_PROGRAM_H_

#include "ir/ir.h"
#include "runtime/runtime.h"

typedef struct tt_program_options_s {
  size_t device;
  int matmul_passes;
  bool emulate_float64;  // allowed on a device that only emulates it
  bool only_cached;  // FAILED_PRECONDITION instead of a compile
} tt_program_options_t;

typedef struct tt_program_stats_s {
  int64_t compiles, reuses, compile_ns, entries, evictions;
} tt_program_stats_t;

// *out_executable is owned by the caller.
tt_status_t tt_program_compile(tt_rt_client_t* client, tt_module_t* module,
                               const tt_program_options_t* options,
                               tt_rt_executable_t** out_executable) TT_MUST_USE;
void tt_program_cache_clear(void);
void tt_program_cache_set_capacity(size_t entries);
void tt_program_stats(tt_program_stats_t* out_stats);

#endif  // TT_PROGRAM_PROGRAM_H_
