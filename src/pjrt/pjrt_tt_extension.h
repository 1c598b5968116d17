// What our plugin offers beyond PJRT. Found by type in the extension chain of PJRT_Api; a client that finds
// it checks `struct_size` and `fingerprint` before it uses a function. All functions are thread-safe.
#ifndef TT_PJRT_PJRT_TT_EXTENSION_H_
#define TT_PJRT_PJRT_TT_EXTENSION_H_

#include "pjrt/pjrt_c_api.h"

typedef struct tt_pjrt_extension_s {
  PJRT_Extension_Base base;          // type PJRT_Extension_Type_TtVtpu
  // The in-memory IR's fingerprint: equal ones may hand over a `const tt_module_t*` (program format
  // "tt-ir/<fingerprint>", code = the pointer's 8 bytes; the module is only read, during the call).
  const char* fingerprint;
  void (*trim)(PJRT_Device* device);            // cached device memory back to the system
  void (*reset_peak)(PJRT_Device* device);
  void (*set_threads)(PJRT_Client* client, int threads);
  int (*threads)(PJRT_Client* client);
  // At most `threads` of them, the caller included, in later calls of this thread; below 1: all.
  void (*limit_threads)(int threads);
  // For programs compiled from now on: 0, 1, 3 or 6 (tt_plan_options_t.matmul_passes).
  void (*set_matmul_passes)(PJRT_Client* client, int passes);
  void (*set_reference_kernels)(PJRT_Client* client, bool reference);
  // The buffer's memory, NULL if it was deleted; waits for what is running. No reference is taken.
  void* (*host_pointer)(PJRT_Buffer* buffer);
  // Readable listing of a program's steps; free with free_text. NULL when memory is short.
  char* (*plan_text)(PJRT_Executable* executable);
  void (*free_text)(char* text);
  // One device, events left out: as LoadedExecutable_Execute with num_devices 1. `donate` may be NULL (all
  // aliased parameters may be donated); an input that was consumed is marked deleted.
  PJRT_Error* (*execute)(PJRT_LoadedExecutable* executable, size_t num_args, PJRT_Buffer* const* args,
                         const bool* donate, PJRT_Buffer** outputs);
  // Compile-time settings of one call, instead of the client's: see PJRT_Client_Compile.
  PJRT_Error* (*compile)(PJRT_Client_Compile_Args* args, int matmul_passes, bool reference_kernels);
  // Host allocations of the plugin: all so far, and blocks not freed yet.
  void (*allocations)(int64_t* out_allocations, int64_t* out_live_blocks);
  // Programs may run on behind execute, in the order of the calls. A position stands for all called so far; what
  // reads a buffer through this table or PJRT waits by itself.
  uint64_t (*position)(PJRT_Client* client);
  bool (*is_done)(PJRT_Client* client, uint64_t position);
  void (*wait)(PJRT_Client* client, uint64_t position);
} tt_pjrt_extension_t;

#endif  // TT_PJRT_PJRT_TT_EXTENSION_H_
