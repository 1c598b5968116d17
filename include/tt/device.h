// Devices, memory figures, settings and counters of the process.
//
// Threads: every function may be called from any thread. The plugin opens on the first call that needs it.
// After fork, a child's calls that need a device return FAILED_PRECONDITION ("forked").
#ifndef TT_DEVICE_H_
#define TT_DEVICE_H_

#include "tt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Path or name ("vtpu", "libtpu") of a PJRT plugin, or NULL for the rule: TORCH_TPU_PLUGIN, else
// TORCH_TPU_VIRTUAL, else an entry `tpu` of PJRT_NAMES_AND_LIBRARY_PATHS, else the machine's TPU, else the
// embedded vtpu.
// FAILED_PRECONDITION once the devices are open.
TT_API_MUST_USE tt_status_t tt_select_plugin(const char* path);
typedef struct tt_discovery_s {
  char source[32];                      // which rule: "select_plugin", ..., "hardware", "embedded"
  char plugin[512];                     // path; "" unknown
  char reason[128];
  char generation[16];                  // of the TPUs on the PCI bus; "" none
  int32_t chips, visible_chips;         // on the bus; of those, this process's
  int32_t devices;                      // visible chips x devices a chip
  int32_t nodes;                        // /dev/accelN and /dev/vfio/N
  int32_t process_count, process_index;
} tt_discovery_t;
// The plugin that is or would be opened, and why; opens none. With an error, what was found out is filled in.
TT_API_MUST_USE tt_status_t tt_discover(tt_discovery_t* out_discovery);
// Directory in which libvtpu.so lies; the shim sets it at load time.
TT_API void tt_set_library_dir(const char* directory);
TT_API_MUST_USE tt_status_t tt_initialize(void);
TT_API bool tt_is_initialized(void);
TT_API void tt_shutdown(void);          // waits for work; called at exit; later calls fail cleanly
TT_API_MUST_USE tt_status_t tt_device_count(int* out_count);

typedef struct tt_device_properties_s {
  char name[64];                        // "TPU v6e (virtual, CPU)"
  char platform[32];                    // "vtpu", "tpu", ...
  char plugin[256];                     // path
  char reason[128];                     // why this plugin was chosen
  char generation[16];                  // "v6e"
  int64_t total_memory_bytes;           // budget of this device; -1 unknown
  int64_t chip_memory_bytes;            // HBM of the chip that it stands for
  int64_t coords[3];                    // -1 unknown
  int64_t core_on_chip;
  int32_t process_index;
  bool is_virtual;
} tt_device_properties_t;
TT_API_MUST_USE tt_status_t tt_device_properties(int device, tt_device_properties_t* out_properties);
// 0 refused, 1 emulated, 2 native on this device (design D12).
TT_API_MUST_USE tt_status_t tt_device_dtype_support(int device, int dtype, int* out_support);

// Waits for all work of a device (-1: of all devices); returns the first deferred error.
TT_API_MUST_USE tt_status_t tt_device_synchronize(int device);

typedef struct tt_memory_stats_s {      // bytes; -1 unknown
  int64_t allocated_bytes, peak_allocated_bytes;   // live storages, logical bytes
  int64_t reserved_bytes, peak_reserved_bytes;     // held by the plugin's allocator
  int64_t limit_bytes, free_bytes;
  int64_t allocations, frees, out_of_memory_errors;
} tt_memory_stats_t;
TT_API_MUST_USE tt_status_t tt_device_memory_stats(int device, tt_memory_stats_t* out_stats);
TT_API_MUST_USE tt_status_t tt_device_empty_cache(int device);
TT_API_MUST_USE tt_status_t tt_device_reset_peak(int device);
// Table of the largest live storages (op, shape, dtype, bytes), at most `rows` rows. Free with tt_text_free.
TT_API_MUST_USE tt_status_t tt_device_memory_table(int device, int rows, char** out_text);
TT_API void tt_text_free(char* text);

// ---- settings ----------------------------------------------------------------------------------
typedef enum tt_setting_e {
  TT_SETTING_MATMUL_PASSES,      // 0: true float32 (vtpu default); 1, 3, 6: bf16 passes of the MXU
  TT_SETTING_SAFE_INPLACE,       // 1: no donation (TORCH_TPU_SAFE_INPLACE)
  TT_SETTING_DEBUG,              // 1: debug eager: blocking, locations, checks
  TT_SETTING_LOCATIONS,          // 1: file:line in messages (TORCH_TPU_LOCATIONS)
  TT_SETTING_THREADS,            // of the plugin's pool
  TT_SETTING_CACHE_ENTRIES,      // bound of the executable cache: of signatures, and of the programs behind them
  TT_SETTING_IR_HANDOVER,        // 0: programs go to our own plugin as text too
  TT_SETTING_FORBID_RECOMPILES,  // 1: a compile raises FAILED_PRECONDITION with its reason
  TT_SETTING_DEFAULT_FLOAT,      // torch.get_default_dtype() as a dtype of the core; 0: float32
  TT_SETTING_ROUNDING,           // growing dimensions, plugins with slow compiles: 0 exact; 1 rounded up; 2 also poisoned
  TT_SETTING_COUNT,
} tt_setting_t;
TT_API_MUST_USE tt_status_t tt_setting_set(tt_setting_t setting, int64_t value);   // INVALID_ARGUMENT names the range
TT_API int64_t tt_setting_get(tt_setting_t setting);
// At most `threads` threads of vtpu's pool, this one included, work on later calls of this thread; below 1: all. Results
// do not depend on it. Opens the plugin; other plugins have threads of their own and are not told.
TT_API_MUST_USE tt_status_t tt_thread_limit(int threads);

// ---- counters ----------------------------------------------------------------------------------
typedef struct tt_compile_stats_s {
  int64_t hits, misses, plans, evictions, entries, compile_ns, executions;
  int64_t plugin_ns;             // of compile_ns: in the plugin's compiler
  int64_t rounded;               // of misses: programs at rounded sizes (TT_SETTING_ROUNDING)
} tt_compile_stats_t;
TT_API void tt_compile_stats(tt_compile_stats_t* out_stats);
// Newest first, one line a miss: "aten::add.Tensor: sizes of argument 1: [4, 4] -> [8, 4]". Free with tt_text_free.
TT_API_MUST_USE tt_status_t tt_compile_reasons(int rows, char** out_text);
TT_API void tt_compile_cache_clear(void);
typedef struct tt_transfer_stats_s {
  int64_t bytes_to_device, bytes_to_host, copies_to_device, copies_to_host;
} tt_transfer_stats_t;
TT_API void tt_transfer_stats(tt_transfer_stats_t* out_stats);
// Of host memory. The plugin's are 0 before the first use of a device, and on plugins that do not say.
typedef struct tt_allocation_stats_s {
  int64_t core_allocations, core_live_blocks, plugin_allocations, plugin_live_blocks;
} tt_allocation_stats_t;
TT_API void tt_allocation_stats(tt_allocation_stats_t* out_stats);

// ---- fault injection (tests) -------------------------------------------------------------------
TT_API void tt_fault_arm_allocation(uint64_t nth);    // the nth host allocation of the core fails; 0 disarms
TT_API void tt_fault_arm_plugin_call(uint64_t nth);
TT_API bool tt_fault_fired(void);                     // either, since armed

// ---- profiling ---------------------------------------------------------------------------------
typedef struct tt_trace_event_s {
  const char* name;              // op name, static or interned
  int64_t begin_ns, end_ns;      // CLOCK_MONOTONIC
  int32_t device;
  int32_t thread;
  uint64_t correlation;          // id given to tt_trace_correlation by the host op, 0: none
} tt_trace_event_t;
TT_API void tt_trace_enable(bool enabled);            // a ring of 65536 events a process
TT_API void tt_trace_correlation(uint64_t id);        // of this thread, for the next calls
// Takes up to `capacity` events out of the ring, oldest first; the count is returned. *out_dropped: overwritten ones.
TT_API size_t tt_trace_take(tt_trace_event_t* events, size_t capacity, uint64_t* out_dropped);
TT_API int64_t tt_trace_clock_ns(void);

#ifdef __cplusplus
}
#endif
#endif  // TT_DEVICE_H_
