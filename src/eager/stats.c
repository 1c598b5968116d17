// Memory figures and fault injection of the C API.
#include "base/alloc.h"
#include "eager/device.h"

tt_status_t tt_device_memory_stats(int index, tt_memory_stats_t* out_stats) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(index, &engine, &device));
  *out_stats = (tt_memory_stats_t){.reserved_bytes = -1, .peak_reserved_bytes = -1};
  tt_rt_memory_stats_t plugin;
  tt_status_t status = tt_rt_device_memory_stats(engine->client, (size_t)index, &plugin);
  if (tt_status_is_ok(status)) {
    out_stats->reserved_bytes = plugin.bytes_reserved >= 0 ? plugin.bytes_reserved : plugin.bytes_in_use;
    out_stats->peak_reserved_bytes =
        plugin.peak_bytes_reserved >= 0 ? plugin.peak_bytes_reserved : plugin.peak_bytes_in_use;
  }
  tt_status_ignore(status);   // the plugin keeps no statistics: -1 says so
  tt_mutex_lock(&device->lock);
  out_stats->allocated_bytes = device->allocated_bytes;
  out_stats->peak_allocated_bytes = device->peak_bytes;
  out_stats->limit_bytes = device->limit_bytes;
  out_stats->free_bytes = device->limit_bytes < 0 ? -1 : device->limit_bytes - device->allocated_bytes;
  out_stats->allocations = device->allocations;
  out_stats->frees = device->frees;
  out_stats->out_of_memory_errors = device->out_of_memory_errors;
  tt_mutex_unlock(&device->lock);
  return TT_OK_STATUS;
}

tt_status_t tt_device_empty_cache(int index) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(index, &engine, &device));
  tt_rt_device_trim(engine->client, (size_t)index);
  return TT_OK_STATUS;
}

tt_status_t tt_device_reset_peak(int index) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(index, &engine, &device));
  tt_mutex_lock(&device->lock);
  device->peak_bytes = device->allocated_bytes;
  tt_mutex_unlock(&device->lock);
  tt_rt_device_reset_peak(engine->client, (size_t)index);
  return TT_OK_STATUS;
}

void tt_allocation_stats(tt_allocation_stats_t* out_stats) {
  tt_alloc_stats_t stats = tt_alloc_stats();
  *out_stats = (tt_allocation_stats_t){(int64_t)stats.allocations, stats.live_blocks, 0, 0};
  tt_engine_t* engine = tt_engine_any();
  if (!engine) return;
  tt_rt_client_allocations(engine->client, &out_stats->plugin_allocations, &out_stats->plugin_live_blocks);
}

void tt_fault_arm_allocation(uint64_t nth) { tt_alloc_fault_arm(nth); }
void tt_fault_arm_plugin_call(uint64_t nth) { tt_rt_fault_arm(nth); }
bool tt_fault_fired(void) { return tt_alloc_fault_fired() || tt_rt_fault_fired(); }
