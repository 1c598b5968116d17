// Compilation for devices that are not here: a topology by name, a program's text in, a serialised executable
// and what the compiler says about it out. No client is made.
//
// Invariants: R1-R4 of runtime.h; a topology holds its plugin and nothing else, an outcome owns its memory.
//
// libtpu keeps state of the process (a lock file, threads) and may end it on a program that it does not
// expect: a caller that must survive compiles in a child process (tools/tt-compile).
#ifndef TT_RUNTIME_AHEAD_H_
#define TT_RUNTIME_AHEAD_H_

#include "ir/chip.h"
#include "runtime/runtime.h"

typedef struct tt_rt_topology_s tt_rt_topology_t;
// `name`: see ir/chip.h. INVALID_ARGUMENT: no such slice, or the plugin refuses it (its own message);
// UNIMPLEMENTED: a plugin that compiles only for devices that it has.
tt_status_t tt_rt_topology_create(tt_rt_plugin_t* plugin, const char* name,
                                  tt_rt_topology_t** out_topology) TT_MUST_USE;
void tt_rt_topology_release(tt_rt_topology_t* topology);
const char* tt_rt_topology_name(const tt_rt_topology_t* topology);    // canonical, "v5e:2x4"
const char* tt_rt_topology_kind(const tt_rt_topology_t* topology);    // of its devices
size_t tt_rt_topology_device_count(const tt_rt_topology_t* topology);
const tt_slice_t* tt_rt_topology_slice(const tt_rt_topology_t* topology);

typedef enum tt_rt_collective_e {
  TT_RT_ALL_REDUCE, TT_RT_ALL_GATHER, TT_RT_REDUCE_SCATTER, TT_RT_ALL_TO_ALL, TT_RT_RAGGED_ALL_TO_ALL,
  TT_RT_COLLECTIVE_PERMUTE, TT_RT_COLLECTIVE_BROADCAST, TT_RT_COLLECTIVE_COUNT,
} tt_rt_collective_t;
const char* tt_rt_collective_name(tt_rt_collective_t collective);     // XLA's: "all-reduce"

typedef struct tt_rt_alias_s {
  int64_t output, parameter;          // numbers of a flat list of results and of arguments
} tt_rt_alias_t;
typedef struct tt_rt_ahead_s {
  void* bytes;                        // the serialised executable
  size_t size;
  // bytes of device memory; -1: the plugin does not say
  int64_t argument_bytes, output_bytes, alias_bytes, temp_bytes, code_bytes, peak_bytes;
  double flops, accessed_bytes;       // -1: the plugin does not say
  bool has_program;                   // the two below are known: of the optimised program, or as vtpu tells them
  tt_rt_alias_t* aliases;
  size_t alias_count, alias_capacity;
  int64_t collectives[TT_RT_COLLECTIVE_COUNT];
} tt_rt_ahead_t;

// `options->device` is not used. A text that our reader knows is checked for unbounded dimensions first.
// *out is valid only with OK; release it with tt_rt_ahead_deinitialize.
tt_status_t tt_rt_compile_ahead(tt_rt_topology_t* topology, const char* text, size_t size,
                                const tt_rt_compile_options_t* options, tt_rt_ahead_t* out) TT_MUST_USE;
void tt_rt_ahead_deinitialize(tt_rt_ahead_t* ahead);

#endif  // TT_RUNTIME_AHEAD_H_
