// The process's engine: plugin, client and devices, opened once by the first call that needs them.
//
// Invariants:
//  N1 the engine object is published once and lives to the end of the process: storages may outlast shutdown;
//  N2 opening is serialised; a failed opening leaves nothing and may be tried again;
//  N3 a child forked while an engine is open never touches the plugin: every entry asks tt_engine_get first;
//     one forked before may open an engine of its own;
//  N4 after shutdown tt_engine_get fails, releasing storages still works.
#ifndef TT_EAGER_DEVICE_H_
#define TT_EAGER_DEVICE_H_

#include <stdatomic.h>

#include "base/thread.h"
#include "cache/lru.h"
#include "eager/address.h"
#include "eager/cell.h"
#include "runtime/runtime.h"
#include "tt/device.h"

enum { TT_MAX_DEVICES = 256, TT_STREAMS_A_DEVICE = 64 };

typedef struct tt_storage_block_s tt_storage_block_t;

typedef struct tt_stream_work_s {
  tt_rt_event_t** events;  // under way, oldest first
  size_t count, capacity;
  tt_status_t failed;  // of work that is done; for the next wait
} tt_stream_work_t;

typedef struct tt_engine_device_s {
  tt_mutex_t lock;  // rank LEAF; guards all below
  tt_address_range_t range;
  tt_storage_t* free_cells[TT_ADDRESS_MAX_CLASSES];  // by size class; [0]: without an address
  tt_storage_block_t* blocks;  // every cell object of the device
  int64_t allocated_bytes, peak_bytes, limit_bytes;
  int64_t allocations, frees, out_of_memory_errors;
  uint32_t stream_count;
  tt_device_properties_t properties;
  tt_mutex_t work_lock;  // rank PROGRAM; guards `work`
  tt_stream_work_t work[TT_STREAMS_A_DEVICE];  // foreign plugins only
} tt_engine_device_t;

typedef struct tt_engine_s {
  tt_rt_plugin_t* plugin;
  tt_rt_client_t* client;
  tt_target_t target;
  bool is_vtpu;
  int device_count;
  tt_lru_t* programs;  // signature -> tt_eager_program_t
  tt_engine_device_t* devices;
} tt_engine_t;

extern _Atomic(tt_engine_t*) tt_engine_open_;  // NULL: not open or shut down

tt_status_t tt_engine_open_slow(tt_engine_t** out_engine) TT_MUST_USE;
// The open engine; opens it if need be. FAILED_PRECONDITION after a fork or shutdown.
static inline tt_status_t tt_engine_get(tt_engine_t** out_engine) {
  // acquire: pairs with the publication, so the devices are seen whole
  tt_engine_t* engine = atomic_load_explicit(&tt_engine_open_, memory_order_acquire);
  if (TT_UNLIKELY(!engine || tt_is_forked_child())) return tt_engine_open_slow(out_engine);
  *out_engine = engine;
  return TT_OK_STATUS;
}
// As above, with a range check of `device`.
tt_status_t tt_engine_device(int device, tt_engine_t** out_engine,
                             tt_engine_device_t** out_device) TT_MUST_USE;
// Opens through a plugin that the caller has (tests, static link). Before anything else opens it.
tt_status_t tt_engine_use_plugin(tt_rt_plugin_t* plugin) TT_MUST_USE;
// The engine even after shutdown, for releases; NULL if it never opened.
tt_engine_t* tt_engine_any(void);

// device_os.c
bool tt_device_own_directory_os(char* path, size_t size);  // folder of the library that holds this code
bool tt_device_file_exists_os(const char* path);

#endif  // TT_EAGER_DEVICE_H_
