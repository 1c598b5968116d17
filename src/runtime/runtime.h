// PJRT client: plugins, devices, buffers, executables, events. Any plugin by path or by name; every error a
// status. Nothing here knows ATen or vtpu's internals; the embedded plugin is reached by its GetPjrtApi.
//
// Invariants:
//  R1 every object holds a reference on what made it: buffer -> client -> plugin; a plugin is never dlclosed;
//  R2 each PJRT args struct is zeroed and carries its own struct_size; slots past the plugin's own size are
//     treated as absent (UNIMPLEMENTED);
//  R3 a PJRT_Error becomes a status with the same code and is destroyed exactly once;
//  R4 counters (bytes host-to-device, device-to-host, executions, compiles) never go down;
//  R5 a buffer that a failed execution consumed gives that execution's error at every use.
#ifndef TT_RUNTIME_RUNTIME_H_
#define TT_RUNTIME_RUNTIME_H_

#include "base/base.h"
#include "base/status.h"
#include "ir/ir.h"
#include "ir/target.h"

typedef struct tt_rt_plugin_s tt_rt_plugin_t;
typedef struct tt_rt_client_s tt_rt_client_t;
typedef struct tt_rt_buffer_s tt_rt_buffer_t;
typedef struct tt_rt_executable_s tt_rt_executable_t;
typedef struct tt_rt_event_s tt_rt_event_t;

// `path`: a shared library exporting GetPjrtApi. Loading twice gives the same plugin. NOT_FOUND,
// FAILED_PRECONDITION (version: message names both), UNIMPLEMENTED (no GetPjrtApi).
tt_status_t tt_rt_plugin_load(const char* path, tt_rt_plugin_t** out_plugin) TT_MUST_USE;
// From a PJRT_Api that the caller has (tests, static link).
tt_status_t tt_rt_plugin_from_api(const void* pjrt_api, const char* name,
                                  tt_rt_plugin_t** out_plugin) TT_MUST_USE;
const char* tt_rt_plugin_path(const tt_rt_plugin_t* plugin);
void tt_rt_plugin_version(const tt_rt_plugin_t* plugin, int* out_major, int* out_minor);
// Plugin attribute "tt_ir" (string): fingerprint of our in-memory IR, "" if the plugin is not ours. Equal to
// tt_rt_ir_fingerprint() means modules are handed over unprinted.
const char* tt_rt_plugin_ir_fingerprint(const tt_rt_plugin_t* plugin);

typedef struct tt_rt_option_s {
  const char* name;
  const char* text;
  int64_t integer;
} tt_rt_option_t;  // text NULL: integer
tt_status_t tt_rt_client_create(tt_rt_plugin_t* plugin, const tt_rt_option_t* options, size_t option_count,
                                tt_rt_client_t** out_client) TT_MUST_USE;
// The key-value store of a run of several processes, which the plugin uses to find its peers. Called from any
// thread, also after the creation; it lives as long as the client.
typedef struct tt_rt_store_s {
  void* self;
  tt_status_t (*put)(void* self, const char* key, size_t key_size, const char* value, size_t value_size);
  // Waits up to timeout_ms; 0: NOT_FOUND at once. *out_value from tt_alloc.
  tt_status_t (*get)(void* self, const char* key, size_t key_size, int64_t timeout_ms, char** out_value,
                     size_t* out_size);
} tt_rt_store_t;
tt_status_t tt_rt_client_create_with_store(tt_rt_plugin_t* plugin, const tt_rt_option_t* options,
                                           size_t option_count, const tt_rt_store_t* store,
                                           tt_rt_client_t** out_client) TT_MUST_USE;
void tt_rt_client_retain(tt_rt_client_t* client);
void tt_rt_client_release(tt_rt_client_t* client);
tt_rt_plugin_t* tt_rt_client_plugin(const tt_rt_client_t* client);
const char* tt_rt_client_platform(const tt_rt_client_t* client);
const tt_target_t* tt_rt_client_target(const tt_rt_client_t* client);
size_t tt_rt_client_device_count(const tt_rt_client_t* client);   // addressable
void tt_rt_client_set_ir_handover(tt_rt_client_t* client, bool enabled);   // default on where it fits

typedef struct tt_rt_device_info_s {
  int32_t id;
  const char *kind, *debug_string;          // "TPU v6e (virtual, CPU)"
  int64_t coords[3]; int coord_count;       // -1 unknown
  int64_t core_on_chip;
} tt_rt_device_info_t;
tt_status_t tt_rt_device_info(tt_rt_client_t* client, size_t device,
                              tt_rt_device_info_t* out_info) TT_MUST_USE;
typedef struct tt_rt_memory_stats_s {       // -1: the plugin does not say
  int64_t bytes_in_use, peak_bytes_in_use, bytes_reserved, peak_bytes_reserved, bytes_limit, num_allocs,
      largest_alloc_bytes;
} tt_rt_memory_stats_t;
tt_status_t tt_rt_device_memory_stats(tt_rt_client_t* client, size_t device,
                                      tt_rt_memory_stats_t* out_stats) TT_MUST_USE;
// vtpu only (through our plugin attribute table); no-ops elsewhere.
void tt_rt_device_trim(tt_rt_client_t* client, size_t device);
void tt_rt_device_reset_peak(tt_rt_client_t* client, size_t device);
// Host allocations of the plugin, and blocks not freed yet; 0 where it does not say.
void tt_rt_client_allocations(tt_rt_client_t* client, int64_t* out_allocations, int64_t* out_live_blocks);
void tt_rt_client_set_threads(tt_rt_client_t* client, int threads);
// Of later calls of this thread; below 1: none.
void tt_rt_client_limit_threads(tt_rt_client_t* client, int threads);
// vtpu runs programs in the order of the calls, perhaps behind them: the position of the last call, whether all up
// to one are done, and the wait for that. Others: 0, true, nothing; their buffers have events.
uint64_t tt_rt_client_position(tt_rt_client_t* client);
bool tt_rt_client_is_done(tt_rt_client_t* client, uint64_t position);
void tt_rt_client_wait(tt_rt_client_t* client, uint64_t position);
void tt_rt_client_synchronize(tt_rt_client_t* client);   // the wait for all called so far

// ---- buffers -----------------------------------------------------------------------------------
// Copies from dense row-major host memory; complete (the host memory is free) on return.
tt_status_t tt_rt_buffer_from_host(tt_rt_client_t* client, size_t device, tt_dtype_t dtype, size_t rank,
                                   const int64_t* dims, const void* data,
                                   tt_rt_buffer_t** out_buffer) TT_MUST_USE;
// As above with byte strides ([rank], any sign) where the plugin takes them; else the runtime packs first.
tt_status_t tt_rt_buffer_from_host_strided(tt_rt_client_t* client, size_t device, tt_dtype_t dtype,
                                           size_t rank, const int64_t* dims, const int64_t* byte_strides,
                                           const void* data, tt_rt_buffer_t** out_buffer) TT_MUST_USE;
tt_status_t tt_rt_buffer_to_host(tt_rt_buffer_t* buffer, void* data, size_t bytes) TT_MUST_USE;  // waits
// Transfers that may go on after the return: *out_event is done when `data` may be written or freed (from
// host), or has arrived (to host); NULL: at once. The buffer itself stays with the transfer.
tt_status_t tt_rt_buffer_from_host_async(tt_rt_client_t* client, size_t device, tt_dtype_t dtype, size_t rank,
                                         const int64_t* dims, const void* data, tt_rt_buffer_t** out_buffer,
                                         tt_rt_event_t** out_event) TT_MUST_USE;
tt_status_t tt_rt_buffer_to_host_async(tt_rt_buffer_t* buffer, void* data, size_t bytes,
                                       tt_rt_event_t** out_event) TT_MUST_USE;
// When the buffer's values are there. It outlives the buffer, also one that a program consumes.
tt_status_t tt_rt_buffer_ready_event(tt_rt_buffer_t* buffer, tt_rt_event_t** out_event) TT_MUST_USE;
tt_status_t tt_rt_buffer_copy_to_device(tt_rt_buffer_t* buffer, size_t device,
                                        tt_rt_buffer_t** out_buffer) TT_MUST_USE;
tt_status_t tt_rt_buffer_await(tt_rt_buffer_t* buffer) TT_MUST_USE;      // the buffer's own error
void tt_rt_buffer_retain(tt_rt_buffer_t* buffer);
void tt_rt_buffer_release(tt_rt_buffer_t* buffer);
// Whether the caller's reference is the only one: then nobody else can see the buffer.
bool tt_rt_buffer_is_sole(const tt_rt_buffer_t* buffer);
tt_dtype_t tt_rt_buffer_dtype(const tt_rt_buffer_t* buffer);
size_t tt_rt_buffer_rank(const tt_rt_buffer_t* buffer);
const int64_t* tt_rt_buffer_dims(const tt_rt_buffer_t* buffer);
size_t tt_rt_buffer_bytes(const tt_rt_buffer_t* buffer);
size_t tt_rt_buffer_device(const tt_rt_buffer_t* buffer);
// What computed a buffer: stands in front of the errors of await, to_host and copy_to_device, which come
// after the call that caused them. Shared by reference count.
typedef struct tt_rt_note_s tt_rt_note_t;
tt_status_t tt_rt_note_create(const char* text, tt_rt_note_t** out_note) TT_MUST_USE;
void tt_rt_note_retain(tt_rt_note_t* note);
void tt_rt_note_release(tt_rt_note_t* note);
const char* tt_rt_note_text(const tt_rt_note_t* note);
// Retains the note; before anyone else knows the buffer.
void tt_rt_buffer_set_note(tt_rt_buffer_t* buffer, tt_rt_note_t* note);
tt_rt_note_t* tt_rt_buffer_note(const tt_rt_buffer_t* buffer);   // borrowed; NULL: none
// Host pointer of a vtpu buffer (debug memory, zero-copy reads); NULL elsewhere.
void* tt_rt_buffer_host_pointer(tt_rt_buffer_t* buffer);

// ---- events ------------------------------------------------------------------------------------
// Something the plugin does behind our back. Any thread may ask, any number of times. Errors carry the
// buffer's note.
tt_status_t tt_rt_event_wait(tt_rt_event_t* event) TT_MUST_USE;
// Not done: *out_done false. Done: its error, if it has one.
tt_status_t tt_rt_event_poll(tt_rt_event_t* event, bool* out_done) TT_MUST_USE;
// Calls back once when it is done (whatever its error), from this or any other thread; with an error never.
tt_status_t tt_rt_event_on_done(tt_rt_event_t* event, void (*callback)(void* self), void* self) TT_MUST_USE;
void tt_rt_event_retain(tt_rt_event_t* event);
void tt_rt_event_release(tt_rt_event_t* event);

// ---- programs ----------------------------------------------------------------------------------
typedef struct tt_rt_compile_options_s {
  int num_replicas, num_partitions;   // 0: 1
  size_t device;                      // for one device
  int matmul_passes;                  // vtpu: see tt_plan_options_t
  bool reference_kernels;             // vtpu
} tt_rt_compile_options_t;
// The module is printed for foreign plugins, handed over for ours; it is not kept.
tt_status_t tt_rt_compile(tt_rt_client_t* client, const tt_module_t* module,
                          const tt_rt_compile_options_t* options,
                          tt_rt_executable_t** out_executable) TT_MUST_USE;
tt_status_t tt_rt_compile_text(tt_rt_client_t* client, const char* text, size_t size,
                               const tt_rt_compile_options_t* options,
                               tt_rt_executable_t** out_executable) TT_MUST_USE;
void tt_rt_executable_retain(tt_rt_executable_t* executable);
void tt_rt_executable_release(tt_rt_executable_t* executable);
size_t tt_rt_executable_output_count(const tt_rt_executable_t* executable);

// One device. `donate[i]`: input i may be consumed; a consumed buffer must not be used again (its reference
// stays the caller's to release). Inputs are borrowed, outputs owned. With an error no output is set and, on
// vtpu, donated inputs keep their bits and stay usable.
tt_status_t tt_rt_execute(tt_rt_executable_t* executable, size_t input_count, tt_rt_buffer_t* const* inputs,
                          const bool* donate, size_t output_count, tt_rt_buffer_t** outputs) TT_MUST_USE;
// All devices of the program: inputs[d * input_count + i].
tt_status_t tt_rt_execute_sharded(tt_rt_executable_t* executable, size_t device_count, size_t input_count,
                                  tt_rt_buffer_t* const* inputs, size_t output_count,
                                  tt_rt_buffer_t** outputs) TT_MUST_USE;

// After an execution that failed late (an output's error): notes which donated inputs it consumed (R5).
// tt_rt_execute does so itself for an error of its own.
void tt_rt_buffers_consumed(size_t count, tt_rt_buffer_t* const* inputs, const bool* donate, tt_status_t why);

typedef struct tt_rt_counters_s {
  uint64_t bytes_to_device, bytes_to_host, copies_to_device, copies_to_host, executions, compiles, compile_ns;
} tt_rt_counters_t;
void tt_rt_counters(tt_rt_counters_t* out_counters);   // process-wide

// Fault injection: the nth plugin call from now fails with INTERNAL "injected"; 0 disarms.
void tt_rt_fault_arm(uint64_t nth);
bool tt_rt_fault_fired(void);
const char* tt_rt_ir_fingerprint(void);

#endif  // TT_RUNTIME_RUNTIME_H_
