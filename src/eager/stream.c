// Streams and events.
//
// Invariants:
//  S1 execution is inline, so on vtpu every stream is idle between calls and an event is complete when
//    recorded;
//  S2 on other plugins an event holds the newest result of its stream and waits for it: a device runs its
//     programs in order, so that result comes last;
//  S3 timestamps are of the recording on vtpu; elsewhere of the recording too, after waiting (timing events).
#include "base/alloc.h"
#include "eager/device.h"
#include "tt/op.h"

struct tt_event_s {
  int device;
  bool timing;
  tt_mutex_t lock;  // guards the rest
  bool is_recorded;
  int64_t time_ns;
  tt_rt_buffer_t* pending;  // foreign plugins
};

static _Thread_local int64_t current[TT_MAX_DEVICES];

static tt_status_t check_stream(int device, int64_t stream, tt_engine_t** out_engine,
                                tt_engine_device_t** out_device) {
  TT_RETURN_IF_ERROR(tt_engine_device(device, out_engine, out_device));
  if (stream < 0 || stream >= TT_STREAMS_A_DEVICE) {
    return tt_status_create(TT_INVALID_ARGUMENT, "stream %lld of tpu:%d does not exist", (long long)stream,
                            device);
  }
  return TT_OK_STATUS;
}

static tt_rt_buffer_t* take_last(tt_engine_device_t* device, int64_t stream) {
  tt_mutex_lock(&device->lock);
  tt_rt_buffer_t* buffer = device->last[stream];
  if (buffer) tt_rt_buffer_retain(buffer);
  tt_mutex_unlock(&device->lock);
  return buffer;
}

tt_status_t tt_event_create(int device, bool timing, tt_event_t** out_event) {
  *out_event = NULL;
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(device, &engine, &slot));
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_event_t), &block));
  tt_event_t* event = block;
  event->device = device;
  event->timing = timing;
  tt_mutex_initialize(&event->lock, TT_RANK_LEAF);
  *out_event = event;
  return TT_OK_STATUS;
}

void tt_event_release(tt_event_t* event) {
  if (!event) return;
  tt_rt_buffer_release(event->pending);
  tt_mutex_deinitialize(&event->lock);
  tt_free(event);
}

tt_status_t tt_event_record(tt_event_t* event, int64_t stream) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(check_stream(event->device, stream, &engine, &device));
  tt_rt_buffer_t* pending = engine->is_vtpu ? NULL : take_last(device, stream);
  if (pending && event->timing) {
    tt_status_ignore(tt_rt_buffer_await(pending));  // the error belongs to whoever reads the buffer
    tt_rt_buffer_release(pending);
    pending = NULL;
  }
  tt_mutex_lock(&event->lock);
  tt_rt_buffer_t* before = event->pending;
  event->pending = pending;
  event->is_recorded = true;
  event->time_ns = tt_clock_ns();
  tt_mutex_unlock(&event->lock);
  tt_rt_buffer_release(before);
  return TT_OK_STATUS;
}

static tt_rt_buffer_t* pending_of(tt_event_t* event) {
  tt_mutex_lock(&event->lock);
  tt_rt_buffer_t* pending = event->pending;
  if (pending) tt_rt_buffer_retain(pending);
  tt_mutex_unlock(&event->lock);
  return pending;
}

tt_status_t tt_event_query(tt_event_t* event, bool* out_done) {
  tt_rt_buffer_t* pending = pending_of(event);
  *out_done = !pending || tt_rt_buffer_is_ready(pending);
  tt_rt_buffer_release(pending);
  return TT_OK_STATUS;
}

tt_status_t tt_event_synchronize(tt_event_t* event) {
  tt_rt_buffer_t* pending = pending_of(event);
  if (!pending) return TT_OK_STATUS;
  tt_status_t status = tt_rt_buffer_await(pending);
  tt_rt_buffer_release(pending);
  return status;
}

tt_status_t tt_event_elapsed_ms(tt_event_t* begin, tt_event_t* end, double* out_ms) {
  *out_ms = 0;
  if (!begin->timing || !end->timing) {
    return tt_status_create(TT_INVALID_ARGUMENT,
                            "Both events must be created with argument 'enable_timing=True'.");
  }
  if (begin->device != end->device) {
    return tt_status_create(TT_INVALID_ARGUMENT, "events of tpu:%d and tpu:%d have no common clock",
                            begin->device, end->device);
  }
  tt_mutex_lock(&begin->lock);
  bool has_begin = begin->is_recorded;
  int64_t from = begin->time_ns;
  tt_mutex_unlock(&begin->lock);
  tt_mutex_lock(&end->lock);
  bool has_end = end->is_recorded;
  int64_t to = end->time_ns;
  tt_mutex_unlock(&end->lock);
  if (!has_begin || !has_end) {
    return tt_status_create(TT_INVALID_ARGUMENT,
                            "Both events must be recorded before calculating elapsed time.");
  }
  *out_ms = (double)(to - from) * 1e-6;
  return TT_OK_STATUS;
}

tt_status_t tt_stream_create(int device, int priority, int64_t* out_stream) {
  (void)priority;  // one in-order queue a device: there is nothing to prefer
  *out_stream = 0;
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(device, &engine, &slot));
  tt_mutex_lock(&slot->lock);
  // Streams come from a fixed pool, as CUDA's do: after the last one, the first pooled one again.
  *out_stream = 1 + (slot->stream_count++ - 1) % (TT_STREAMS_A_DEVICE - 1);
  tt_mutex_unlock(&slot->lock);
  return TT_OK_STATUS;
}

tt_status_t tt_stream_query(int device, int64_t stream, bool* out_done) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  *out_done = true;
  TT_RETURN_IF_ERROR(check_stream(device, stream, &engine, &slot));
  if (engine->is_vtpu) return TT_OK_STATUS;
  tt_rt_buffer_t* last = take_last(slot, stream);
  *out_done = !last || tt_rt_buffer_is_ready(last);
  tt_rt_buffer_release(last);
  return TT_OK_STATUS;
}

tt_status_t tt_stream_synchronize(int device, int64_t stream) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  TT_RETURN_IF_ERROR(check_stream(device, stream, &engine, &slot));
  if (engine->is_vtpu) return TT_OK_STATUS;
  tt_rt_buffer_t* last = take_last(slot, stream);
  if (!last) return TT_OK_STATUS;
  tt_status_t status = tt_rt_buffer_await(last);
  tt_rt_buffer_release(last);
  return status;
}

tt_status_t tt_stream_wait_event(int device, int64_t stream, tt_event_t* event) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  TT_RETURN_IF_ERROR(check_stream(device, stream, &engine, &slot));
  // A device runs in order, and a program waits for its inputs: only another device's event needs a wait.
  return event->device == device ? TT_OK_STATUS : tt_event_synchronize(event);
}

void tt_stream_set_current(int device, int64_t stream) {
  if (device >= 0 && device < TT_MAX_DEVICES && stream >= 0 && stream < TT_STREAMS_A_DEVICE)
    current[device] = stream;
}
int64_t tt_stream_current(int device) { return device >= 0 && device < TT_MAX_DEVICES ? current[device] : 0; }

tt_status_t tt_device_synchronize(int device) {
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  if (device >= engine->device_count || device < -1) {
    tt_engine_device_t* slot = NULL;
    return tt_engine_device(device, &engine, &slot);  // the range error
  }
  tt_status_t status = TT_OK_STATUS;
  for (int d = 0; d < engine->device_count; ++d) {
    if (engine->is_vtpu || (device >= 0 && d != device)) continue;
    for (int64_t stream = 0; stream < TT_STREAMS_A_DEVICE; ++stream) {
      tt_rt_buffer_t* last = take_last(&engine->devices[d], stream);
      if (last) status = tt_status_join(status, tt_rt_buffer_await(last));
      tt_rt_buffer_release(last);
    }
  }
  return status;
}
