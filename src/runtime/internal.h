// Shared by the files of runtime/ only.
#ifndef TT_RUNTIME_INTERNAL_H_
#define TT_RUNTIME_INTERNAL_H_

#include <string.h>

#include "base/alloc.h"
#include "base/freelist.h"
#include "base/thread.h"
#include "pjrt/pjrt_c_api.h"
#include "pjrt/pjrt_tt_extension.h"
#include "runtime/runtime.h"

struct tt_rt_plugin_s {            // made once, never freed (R1)
  const PJRT_Api* api;
  char* path;
  const tt_pjrt_extension_t* extension;   // NULL: not ours
  char fingerprint[32];            // "" if not ours
  struct tt_rt_plugin_s* next;     // registry
};

typedef struct tt_rt_device_s {
  PJRT_Device* handle;
  PJRT_Memory* memory;             // default; NULL if the plugin has none
  tt_rt_device_info_t info;        // strings belong to the plugin
  char* kind;                      // NUL-terminated copies
  char* debug_string;
} tt_rt_device_t;

struct tt_rt_client_s {
  int32_t references;              // atomic
  tt_rt_plugin_t* plugin;
  PJRT_Client* handle;
  char* platform;
  tt_rt_device_t* devices;
  size_t device_count;
  tt_target_t target;
  uint32_t handover;               // atomic
  tt_rt_store_t store;             // get NULL: a run of one process
  tt_freelist_t free_buffers;      // of tt_rt_buffer_t
};

struct tt_rt_buffer_s {
  int32_t references;              // atomic
  uint32_t device;
  tt_rt_client_t* client;
  PJRT_Buffer* handle;
  tt_status_t error;               // atomic, set once: why it is gone (R5); NULL: it is not
  tt_dtype_t dtype;
  uint32_t rank;
  size_t bytes;
  int64_t dims[TT_MAX_RANK];
  tt_rt_note_t* note;              // NULL: none
  tt_rt_buffer_t* next_free;
};

struct tt_rt_note_s {
  int32_t references;              // atomic
  char text[];
};

struct tt_rt_event_s {
  int32_t references;              // atomic
  tt_rt_client_t* client;
  PJRT_Event* handle;
  tt_rt_note_t* note;              // NULL: none
};

struct tt_rt_executable_s {
  int32_t references;              // atomic
  tt_rt_client_t* client;
  PJRT_LoadedExecutable* handle;
  size_t device_count;             // replicas * partitions
  uint32_t* devices;               // [device_count] indices of the client's devices
  size_t output_count;
  // per output, NULL when the plugin does not say: then each buffer is asked
  tt_dtype_t* output_dtypes;
  uint32_t* output_ranks;
  const int64_t** output_dims;
  int64_t* extents;
};

// ---- calls -------------------------------------------------------------------------------------
// A zeroed argument struct that carries its size (R2).
#define TT_RT_ARGS(slot, name) \
  PJRT_##slot##_Args name;     \
  memset(&name, 0, sizeof(name)); \
  name.struct_size = sizeof(name)
#define TT_RT_HAS(plugin, slot) \
  ((plugin)->api->struct_size >= PJRT_SIZE_THROUGH(PJRT_Api, slot) && (plugin)->api->slot != NULL)
// Calls a slot; the status says what went wrong (R2, R3), or is an injected fault.
#define TT_RT_CALL(plugin, slot, args)                                                       \
  (TT_UNLIKELY(!TT_RT_HAS(plugin, slot)) ? tt_rt_absent(plugin, "PJRT_" #slot)               \
   : TT_UNLIKELY(tt_rt_fault_due()) ? tt_rt_injected("PJRT_" #slot)                          \
                                    : tt_rt_take_error(plugin, "PJRT_" #slot, (plugin)->api->slot(args)))
tt_status_t tt_rt_absent(const tt_rt_plugin_t* plugin, const char* slot);
tt_status_t tt_rt_injected(const char* slot);
// Consumes `error`. The message of a foreign plugin gets the call's name; ours are worded for the user.
tt_status_t tt_rt_error_to_status(const tt_rt_plugin_t* plugin, const char* slot, PJRT_Error* error);
static inline tt_status_t tt_rt_take_error(const tt_rt_plugin_t* plugin, const char* slot,
                                           PJRT_Error* error) {
  return TT_LIKELY(error == NULL) ? TT_OK_STATUS : tt_rt_error_to_status(plugin, slot, error);
}
// Calls a slot that gives something back; the table was checked for those at loading. Nothing can be done
// about an object that does not want to go, so its error has no consequence. No fault is injected.
#define TT_RT_RELEASE(plugin, slot, args) \
  tt_status_ignore(tt_rt_take_error(plugin, "PJRT_" #slot, (plugin)->api->slot(args)))
extern int64_t tt_rt_fault_countdown;   // atomic; 0: disarmed
bool tt_rt_fault_step(void);
static inline bool tt_rt_fault_due(void) {
  return TT_UNLIKELY(__atomic_load_n(&tt_rt_fault_countdown, __ATOMIC_RELAXED) != 0) && tt_rt_fault_step();
}

// Waits for an event and destroys it; NULL counts as done.
tt_status_t tt_rt_event_await(const tt_rt_plugin_t* plugin, PJRT_Event* event) TT_MUST_USE;
// Takes over `handle`, also with an error; NULL gives NULL.
tt_status_t tt_rt_event_wrap(tt_rt_client_t* client, PJRT_Event* handle, tt_rt_note_t* note,
                             tt_rt_event_t** out_event) TT_MUST_USE;
// The note in front of an error.
tt_status_t tt_rt_note_annotate(const tt_rt_note_t* note, tt_status_t status) TT_MUST_USE;

// What a compile call takes: `code` and `format` are borrowed.
static inline PJRT_Program tt_rt_program(const void* code, size_t size, const char* format) {
  PJRT_Program program;
  memset(&program, 0, sizeof(program));
  program.struct_size = sizeof(program);
  program.code = (char*)(uintptr_t)code;
  program.code_size = size;
  program.format = format;
  program.format_size = strlen(format);
  return program;
}

// ---- objects -----------------------------------------------------------------------------------
// Takes over `handle`. dims NULL: the plugin is asked for type and shape.
tt_status_t tt_rt_buffer_wrap(tt_rt_client_t* client, size_t device, PJRT_Buffer* handle, tt_dtype_t dtype,
                              size_t rank, const int64_t* dims, tt_rt_buffer_t** out_buffer) TT_MUST_USE;
// Every use of a buffer asks first (R5).
tt_status_t tt_rt_buffer_gone(const tt_rt_buffer_t* buffer) TT_MUST_USE;
static inline tt_status_t tt_rt_buffer_check(const tt_rt_buffer_t* buffer) {
  // acquire: the status before its pointer
  return TT_LIKELY(!__atomic_load_n(&buffer->error, __ATOMIC_ACQUIRE)) ? TT_OK_STATUS
                                                                       : tt_rt_buffer_gone(buffer);
}
// Records for `count` results, taken before the run so that nothing can fail after it (D3); each is then
// filled, or all are given back. fill() takes over `handle`; on failure *reserved is NULL and both are gone.
tt_status_t tt_rt_buffer_reserve(tt_rt_client_t* client, size_t count,
                                 tt_rt_buffer_t** out_buffers) TT_MUST_USE;
void tt_rt_buffer_unreserve(tt_rt_client_t* client, size_t count, tt_rt_buffer_t** buffers);
tt_status_t tt_rt_buffer_fill(tt_rt_client_t* client, size_t device, PJRT_Buffer* handle, tt_dtype_t dtype,
                              size_t rank, const int64_t* dims, tt_rt_buffer_t** reserved) TT_MUST_USE;
void tt_rt_buffer_handle_destroy(tt_rt_client_t* client, PJRT_Buffer* handle);
tt_status_t tt_rt_check_device(const tt_rt_client_t* client, size_t device) TT_MUST_USE;

// CompileOptionsProto; ids: [replicas * partitions], partition fastest. *out_bytes is the caller's to free.
tt_status_t tt_rt_options_encode(int replicas, int partitions, const int32_t* ids, void** out_bytes,
                                 size_t* out_size) TT_MUST_USE;
// A foreign plugin may end the process on an unbounded dimension: INVALID_ARGUMENT names it (D6, D17).
tt_status_t tt_rt_check_bounded(const tt_module_t* module) TT_MUST_USE;

// Points the creation at the client's store (store.c); nothing without one.
void tt_rt_store_attach(tt_rt_client_t* client, PJRT_Client_Create_Args* args);

// ---- counters ----------------------------------------------------------------------------------
extern tt_rt_counters_t tt_rt_counts;   // each field atomic
#define TT_RT_COUNT(field, amount) \
  __atomic_fetch_add(&tt_rt_counts.field, (uint64_t)(amount), __ATOMIC_RELAXED)

// ---- the dynamic loader (plugin_os.c) ----------------------------------------------------------
typedef const PJRT_Api* (*tt_rt_get_api_t)(void);
// NOT_FOUND: no such library; UNIMPLEMENTED: it does not export GetPjrtApi.
tt_status_t tt_rt_os_load(const char* path, tt_rt_get_api_t* out_get_api) TT_MUST_USE;

#endif  // TT_RUNTIME_INTERNAL_H_
