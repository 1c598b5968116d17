#include "eager/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "eager/call.h"
#include "eager/executable.h"
#include "eager/scalar.h"
#include "eager/stream.h"
#include "program/program.h"
#include "runtime/discovery.h"
#include "tt/op.h"

_Atomic(tt_engine_t*) tt_engine_open_;
static _Atomic(tt_engine_t*) ever_open;   // N1
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tt_mutex_t opening;                // guards all below, and the opening itself
static char selected_plugin[256];
static char library_directory[256];
static tt_rt_plugin_t* given_plugin;
static bool is_shut_down;

static void initialize(void) {
  tt_mutex_initialize(&opening, TT_RANK_ENGINE);
}

static void lock_opening(void) {
  pthread_once(&once, initialize);
  tt_mutex_lock(&opening);
}

tt_engine_t* tt_engine_any(void) { return atomic_load_explicit(&ever_open, memory_order_acquire); }

static tt_status_t fork_error(void) {
  return tt_status_create(TT_FAILED_PRECONDITION,
                          "Cannot re-initialize tpu in forked subprocess. To use tpu with multiprocessing, "
                          "you must use the "
                          "'spawn' start method");
}

// ---- which plugin ------------------------------------------------------------------------------
typedef tt_rt_discovery_t choice_t;

static bool own_directory(char* out, size_t size) {
  if (!library_directory[0]) return tt_device_own_directory_os(out, size);
  snprintf(out, size, "%s", library_directory);
  return true;
}

static tt_status_t embedded_plugin(const char* directory, choice_t* choice) {
  if (!directory) {
    return tt_status_create(TT_NOT_FOUND, "the directory of the embedded plugin libvtpu.so is not known");
  }
  snprintf(choice->path, sizeof(choice->path), "%s/libvtpu.so", directory);
  if (tt_device_file_exists_os(choice->path)) return TT_OK_STATUS;
  return tt_status_create(TT_NOT_FOUND, "the embedded plugin %s does not exist", choice->path);
}

// Under the opening lock.
static tt_status_t choose_plugin(choice_t* choice) {
  char directory[256];
  const char* start = own_directory(directory, sizeof(directory)) ? directory : NULL;
  tt_rt_system_t system = tt_rt_system();
  TT_RETURN_IF_ERROR(tt_rt_discover(&system, selected_plugin, start, choice));
  return choice->is_embedded ? embedded_plugin(start, choice) : TT_OK_STATUS;
}

// ---- properties --------------------------------------------------------------------------------
static int64_t memory_override(void) {
  const char* text = getenv("TORCH_TPU_MEMORY_BYTES");  // a smaller budget, to rehearse running out of memory
  return text && text[0] ? strtoll(text, NULL, 10) : -1;
}

static tt_status_t open_device(tt_engine_t* engine, int index, const choice_t* choice) {
  tt_engine_device_t* device = &engine->devices[index];
  tt_mutex_initialize(&device->lock, TT_RANK_LEAF);
  device->stream_count = 1;
  tt_streams_initialize(device);
  tt_device_properties_t* p = &device->properties;
  tt_rt_device_info_t info;
  TT_RETURN_IF_ERROR(tt_rt_device_info(engine->client, (size_t)index, &info));
  snprintf(p->name, sizeof(p->name), "%s", info.kind ? info.kind : "TPU");
  snprintf(p->platform, sizeof(p->platform), "%s", tt_rt_client_platform(engine->client));
  snprintf(p->plugin, sizeof(p->plugin), "%s", tt_rt_plugin_path(engine->plugin));
  snprintf(p->reason, sizeof(p->reason), "%s", choice->reason);
  const tt_chip_t* chip = tt_chip_by_kind(p->name);
  snprintf(p->generation, sizeof(p->generation), "%s", chip ? chip->name : "unknown");
  for (int i = 0; i < 3; ++i) p->coords[i] = i < info.coord_count ? info.coords[i] : -1;
  p->core_on_chip = info.core_on_chip;
  p->is_virtual = engine->is_vtpu;
  p->chip_memory_bytes = chip ? chip->hbm_bytes : -1;
  p->total_memory_bytes = -1;
  tt_rt_memory_stats_t stats;
  tt_status_t status = tt_rt_device_memory_stats(engine->client, (size_t)index, &stats);
  if (tt_status_is_ok(status) && stats.bytes_limit > 0) p->total_memory_bytes = stats.bytes_limit;
  if (!tt_status_is_ok(status) && tt_status_code(status) != TT_UNIMPLEMENTED) return status;
  tt_status_ignore(status);  // a plugin without statistics has no budget that we could know
  if (engine->is_vtpu) {
    int64_t share = (int64_t)((double)tt_host_memory_limit_bytes() * 0.9 / engine->device_count);
    if (p->chip_memory_bytes > 0) share = TT_MIN(share, p->chip_memory_bytes);
    if (p->total_memory_bytes < 0 || p->total_memory_bytes > share) p->total_memory_bytes = share;
  }
  int64_t override_bytes = memory_override();
  if (override_bytes > 0 && (p->total_memory_bytes < 0 || override_bytes < p->total_memory_bytes)) {
    p->total_memory_bytes = override_bytes;
  }
  device->limit_bytes = p->total_memory_bytes;
  size_t range = (size_t)1 << (engine->device_count <= 8 ? 40 : 36);
  return tt_address_range_initialize(&device->range, range);
}

static void close_engine(tt_engine_t* engine) {
  if (!engine) return;
  for (int i = 0; engine->devices && i < engine->device_count; ++i) {
    tt_address_range_deinitialize(&engine->devices[i].range);
  }
  tt_lru_release(engine->programs);
  tt_free(engine->devices);
  tt_rt_client_release(engine->client);
  tt_free(engine);
}

// TORCH_TPU_EMULATE_FLOAT64=1: a TPU computes float64 and complex128 by pairs of float32, slowly (D12).
static void allow_emulation(tt_target_t* target) {
  static const tt_dtype_t wide[] = {TT_DTYPE_F64, TT_DTYPE_C128};
  const char* text = getenv("TORCH_TPU_EMULATE_FLOAT64");
  if (!text || strcmp(text, "1") != 0) return;
  for (size_t i = 0; i < TT_ARRAY_LENGTH(wide); ++i) {
    uint8_t* support = &target->dtype_support[wide[i]];
    if (*support == TT_SUPPORT_REFUSED) *support = TT_SUPPORT_EMULATED;
  }
}

static tt_status_t open_client(tt_engine_t* engine, const choice_t* choice) {
  engine->plugin = given_plugin;
  if (!engine->plugin) TT_RETURN_IF_ERROR(tt_rt_plugin_load(choice->path, &engine->plugin));
  tt_rt_option_t options[1];
  size_t option_count = 0;
  const char* topology = getenv("TORCH_TPU_VIRTUAL");
  bool is_ours = tt_rt_plugin_ir_fingerprint(engine->plugin)[0] != 0;
  if (is_ours && topology && topology[0]) options[option_count++] = (tt_rt_option_t){"virtual", topology, 0};
  TT_RETURN_IF_ERROR(tt_rt_client_create(engine->plugin, options, option_count, &engine->client));
  engine->target = *tt_rt_client_target(engine->client);
  engine->is_vtpu = engine->target.is_vtpu;
  allow_emulation(&engine->target);
  size_t count = tt_rt_client_device_count(engine->client);
  if (count == 0 || count > TT_MAX_DEVICES) {
    return tt_status_create(TT_FAILED_PRECONDITION, "the plugin %s offers %zu devices; 1 to %d are supported",
                            tt_rt_plugin_path(engine->plugin), count, TT_MAX_DEVICES);
  }
  engine->device_count = (int)count;
  return TT_OK_STATUS;
}

static tt_status_t open_engine(tt_engine_t** out) {
  choice_t choice = {.reason = "given by the program"};
  if (!given_plugin) TT_RETURN_IF_ERROR(choose_plugin(&choice));
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_engine_t), &block));
  tt_engine_t* engine = block;
  tt_status_t status = open_client(engine, &choice);
  if (tt_status_is_ok(status)) {
    void* devices = NULL;
    status = tt_alloc_array((size_t)engine->device_count, sizeof(tt_engine_device_t), &devices);
    engine->devices = devices;
  }
  for (int i = 0; tt_status_is_ok(status) && i < engine->device_count; ++i)
    status = open_device(engine, i, &choice);
  if (tt_status_is_ok(status)) {
    status = tt_lru_create((size_t)tt_setting_get(TT_SETTING_CACHE_ENTRIES), tt_eager_program_retain,
                           tt_eager_program_release, &engine->programs);
  }
  if (!tt_status_is_ok(status)) {
    close_engine(engine);
    if (!given_plugin && choice.hardware.chip && strcmp(choice.source, "hardware") == 0) {
      status = tt_status_annotate(
          status,
          "the TPU of this machine (%s%s) does not open; TORCH_TPU_PLUGIN=vtpu works on a virtual TPU",
          choice.reason, choice.hardware.nodes ? "" : "; no /dev/accel or /dev/vfio node is there");
    }
    return tt_status_annotate(status, "cannot open the tpu plugin");
  }
  tt_program_cache_set_capacity((size_t)tt_setting_get(TT_SETTING_CACHE_ENTRIES));
  tt_rt_client_set_ir_handover(engine->client, tt_setting_get(TT_SETTING_IR_HANDOVER) != 0);
  if (tt_setting_get(TT_SETTING_THREADS) > 0)
    tt_rt_client_set_threads(engine->client, (int)tt_setting_get(TT_SETTING_THREADS));
  *out = engine;
  return TT_OK_STATUS;
}

// A virtual TPU that this core was not built with works, as any plugin does, without what the two share.
static void warn_of_another_build(const tt_rt_plugin_t* plugin) {
  const char* fingerprint = tt_rt_plugin_ir_fingerprint(plugin);
  if (!fingerprint[0] || strcmp(fingerprint, tt_rt_ir_fingerprint()) == 0) return;
  char text[1024];
  snprintf(text, sizeof(text),
           "the virtual TPU %.600s is of another build than torch_tpu (%s, not %s): torch's thread count, profiles "
           "and programs handed over in memory do not reach it. Build or install both anew",
           tt_rt_plugin_path(plugin), fingerprint, tt_rt_ir_fingerprint());
  tt_warn(text);
}

tt_status_t tt_engine_open_slow(tt_engine_t** out_engine) {
  *out_engine = NULL;
  if (tt_is_forked_child() && tt_engine_any()) return fork_error();
  lock_opening();
  bool is_new = false;
  tt_status_t status = TT_OK_STATUS;
  tt_engine_t* engine = atomic_load_explicit(&tt_engine_open_, memory_order_acquire);
  if (!engine && is_shut_down) {
    status = tt_status_create(TT_FAILED_PRECONDITION, "the tpu backend was shut down");
  } else if (!engine) {
    status = open_engine(&engine);
    is_new = tt_status_is_ok(status);
    if (is_new) {
      tt_fork_guard_initialize();   // only now: a child forked before may open an engine of its own (N3)
      // release: pairs with the acquire of tt_engine_get
      atomic_store_explicit(&ever_open, engine, memory_order_release);
      atomic_store_explicit(&tt_engine_open_, engine, memory_order_release);
    }
  }
  tt_mutex_unlock(&opening);
  *out_engine = engine;
  if (is_new) warn_of_another_build(engine->plugin);
  return status;
}

tt_status_t tt_engine_device(int index, tt_engine_t** out_engine, tt_engine_device_t** out_device) {
  TT_RETURN_IF_ERROR(tt_engine_get(out_engine));
  if (TT_UNLIKELY(index < 0 || index >= (*out_engine)->device_count)) {
    return tt_status_create(
        TT_INVALID_ARGUMENT, "device index tpu:%d is out of range: there %s %d tpu device%s (tpu:0%s)", index,
        (*out_engine)->device_count == 1 ? "is" : "are", (*out_engine)->device_count,
        (*out_engine)->device_count == 1 ? "" : "s", (*out_engine)->device_count == 1 ? "" : " and up");
  }
  *out_device = &(*out_engine)->devices[index];
  return TT_OK_STATUS;
}

tt_status_t tt_engine_use_plugin(tt_rt_plugin_t* plugin) {
  lock_opening();
  tt_status_t status = TT_OK_STATUS;
  if (atomic_load_explicit(&tt_engine_open_, memory_order_acquire)) {
    status = tt_status_create(TT_FAILED_PRECONDITION, "the tpu devices are open already");
  } else {
    given_plugin = plugin;
  }
  tt_mutex_unlock(&opening);
  return status;
}

// ---- C API -------------------------------------------------------------------------------------
tt_status_t tt_thread_limit(int threads) {
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  tt_rt_client_limit_threads(engine->client, threads);
  return TT_OK_STATUS;
}

tt_status_t tt_select_plugin(const char* path) {
  lock_opening();
  tt_status_t status = TT_OK_STATUS;
  if (atomic_load_explicit(&tt_engine_open_, memory_order_acquire)) {
    status =
        tt_status_create(TT_FAILED_PRECONDITION, "cannot select plugin %s: the tpu devices are open already",
                         path ? path : "(default)");
  } else if (path && strlen(path) >= sizeof(selected_plugin)) {
    status = tt_status_create(TT_INVALID_ARGUMENT, "plugin path of %zu characters is longer than %zu",
                              strlen(path), sizeof(selected_plugin) - 1);
  } else {
    snprintf(selected_plugin, sizeof(selected_plugin), "%s", path ? path : "");
  }
  tt_mutex_unlock(&opening);
  return status;
}

tt_status_t tt_discover(tt_discovery_t* out) {
  memset(out, 0, sizeof(*out));
  choice_t choice;
  lock_opening();
  tt_status_t status = choose_plugin(&choice);
  tt_mutex_unlock(&opening);
  const tt_rt_hardware_t* hardware = &choice.hardware;
  snprintf(out->source, sizeof(out->source), "%s", choice.source);
  snprintf(out->plugin, sizeof(out->plugin), "%s", choice.path);
  snprintf(out->reason, sizeof(out->reason), "%s", choice.reason);
  if (hardware->chip) snprintf(out->generation, sizeof(out->generation), "%s", hardware->chip->name);
  out->chips = hardware->chips;
  out->visible_chips = hardware->visible_chips;
  out->devices = hardware->devices;
  out->nodes = hardware->nodes;
  out->process_count = hardware->process_count;
  out->process_index = hardware->process_index;
  return status;
}

void tt_set_library_dir(const char* directory) {
  lock_opening();
  snprintf(library_directory, sizeof(library_directory), "%s", directory ? directory : "");
  tt_mutex_unlock(&opening);
}

tt_status_t tt_initialize(void) {
  tt_engine_t* engine = NULL;
  return tt_engine_get(&engine);
}

bool tt_is_initialized(void) {
  return atomic_load_explicit(&tt_engine_open_, memory_order_acquire) != NULL && !tt_is_forked_child();
}

void tt_shutdown(void) {
  if (tt_is_forked_child()) return;
  if (tt_is_initialized())
    tt_status_ignore(tt_device_synchronize(-1));  // nobody is left to hear of a late error
  lock_opening();
  tt_engine_t* engine = atomic_load_explicit(&tt_engine_open_, memory_order_acquire);
  atomic_store_explicit(&tt_engine_open_, NULL, memory_order_release);
  is_shut_down = true;
  tt_mutex_unlock(&opening);
  if (!engine) return;
  // Live storages keep their buffers, and through them the client, until they are released (N4).
  tt_lru_clear(engine->programs);
  tt_program_cache_clear();
  tt_scalar_cache_clear();
  for (int i = 0; i < engine->device_count; ++i) tt_streams_drop(&engine->devices[i]);
  tt_rt_client_t* client = engine->client;
  engine->client = NULL;
  tt_rt_client_release(client);
}

tt_status_t tt_device_count(int* out_count) {
  tt_engine_t* engine = NULL;
  *out_count = 0;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  *out_count = engine->device_count;
  return TT_OK_STATUS;
}

tt_status_t tt_device_properties(int index, tt_device_properties_t* out_properties) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(index, &engine, &device));
  *out_properties = device->properties;
  return TT_OK_STATUS;
}

tt_status_t tt_device_dtype_support(int index, int dtype, int* out_support) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(index, &engine, &device));
  if (dtype <= 0 || dtype >= TT_DTYPE_COUNT) {
    return tt_status_create(TT_INVALID_ARGUMENT, "dtype number %d is not one of 1 to %d", dtype,
                            TT_DTYPE_COUNT - 1);
  }
  *out_support = engine->target.dtype_support[dtype];
  return TT_OK_STATUS;
}
