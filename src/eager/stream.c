// Streams and events.
//
// Invariants:
//  S1 on vtpu all streams are one in-order queue of the plugin: an event is a position in it, and one with a
//    time is recorded once the queue has come there;
//  S2 on other plugins a stream knows what is under way: the ready events of its results and transfers, and
//    those it was told to wait for. Programs wait for their inputs by themselves, so that waiting for an event
//    never blocks;
//  S3 an error that comes late is told once by the next wait of its stream, besides whoever reads the value;
//  S4 the time of an event is when the last of what it waits for was done; without any, when it was recorded.
#include "eager/stream.h"

#include <string.h>

#include "base/alloc.h"
#include "eager/device.h"
#include "tt/op.h"

// When all events of a recording are done. Shared with the plugin's callbacks.
typedef struct stamp_s {
  _Atomic int32_t references;
  tt_mutex_t lock;   // guards the rest
  tt_cond_t reached;
  int32_t remaining;
  int64_t time_ns;
} stamp_t;

typedef struct list_s {
  tt_rt_event_t** events;
  size_t count;
} list_t;

struct tt_event_s {
  int device;
  bool timing;
  tt_mutex_t lock;  // guards the rest
  bool is_recorded;
  int64_t time_ns;
  uint64_t position;  // vtpu (S1)
  list_t pending;  // foreign plugins
  stamp_t* stamp;  // NULL: time_ns is the time
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

// ---- what is under way -------------------------------------------------------------------------
static void release_list(list_t* list) {
  for (size_t i = 0; i < list->count; ++i) tt_rt_event_release(list->events[i]);
  tt_free(list->events);
  *list = (list_t){0};
}

static void keep_error(tt_stream_work_t* work, tt_status_t status) {
  if (tt_status_is_ok(work->failed))
    work->failed = status;
  else
    tt_status_free(status);
}

// Drops what is done; `all`: anywhere in the list, else at its old end only. Under the streams' lock.
static void prune(tt_stream_work_t* work, bool all) {
  size_t kept = 0, i = 0;
  for (; i < work->count; ++i) {
    bool done = false;
    tt_status_t status = tt_rt_event_poll(work->events[i], &done);
    if (done) {
      keep_error(work, status);
      tt_rt_event_release(work->events[i]);
      continue;
    }
    tt_status_ignore(status);   // the poll itself failed: asked again later
    work->events[kept++] = work->events[i];
    if (!all) break;
  }
  if (i < work->count) {
    size_t rest = work->count - i - 1;
    memmove(&work->events[kept], &work->events[i + 1], rest * sizeof(*work->events));
    kept += rest;
  }
  work->count = kept;
}

// Takes over the reference. Without memory it is waited for.
static void add_locked(tt_stream_work_t* work, tt_rt_event_t* event) {
  tt_status_t status =
      tt_grow((void**)&work->events, &work->capacity, work->count + 1, sizeof(*work->events));
  if (tt_status_is_ok(status)) {
    work->events[work->count++] = event;
    return;
  }
  tt_status_free(status);
  keep_error(work, tt_rt_event_wait(event));
  tt_rt_event_release(event);
}

void tt_stream_add(tt_engine_device_t* device, int64_t stream, tt_rt_event_t* event) {
  if (!event) return;
  tt_stream_work_t* work = &device->work[stream % TT_STREAMS_A_DEVICE];
  tt_mutex_lock(&device->work_lock);
  prune(work, false);
  add_locked(work, event);
  tt_mutex_unlock(&device->work_lock);
}

void tt_stream_add_buffer(tt_engine_device_t* device, int64_t stream, tt_rt_buffer_t* buffer) {
  tt_rt_event_t* event = NULL;
  tt_status_t status = tt_rt_buffer_ready_event(buffer, &event);
  if (tt_status_is_ok(status)) {
    tt_stream_add(device, stream, event);
    return;
  }
  // Nothing to know it by later (no memory, or the call failed): it is waited for. Its own error is what counts.
  tt_status_free(status);
  status = tt_rt_buffer_await(buffer);
  tt_mutex_lock(&device->work_lock);
  keep_error(&device->work[stream % TT_STREAMS_A_DEVICE], status);
  tt_mutex_unlock(&device->work_lock);
}

void tt_streams_initialize(tt_engine_device_t* device) {
  tt_mutex_initialize(&device->work_lock, TT_RANK_PROGRAM);  // held over calls of the plugin
}

void tt_streams_drop(tt_engine_device_t* device) {
  for (size_t i = 0; i < TT_STREAMS_A_DEVICE; ++i) {
    tt_stream_work_t* work = &device->work[i];
    for (size_t k = 0; k < work->count; ++k) tt_rt_event_release(work->events[k]);
    tt_free(work->events);
    tt_status_free(work->failed);
    *work = (tt_stream_work_t){0};
  }
}

// What is under way now, for the caller to keep.
static tt_status_t snapshot(tt_engine_device_t* device, int64_t stream, list_t* out) {
  tt_stream_work_t* work = &device->work[stream];
  *out = (list_t){0};
  tt_mutex_lock(&device->work_lock);
  prune(work, true);
  void* block = NULL;
  tt_status_t status = TT_OK_STATUS;
  if (work->count) status = tt_alloc_array(work->count, sizeof(tt_rt_event_t*), &block);
  if (block) {
    out->events = block;
    out->count = work->count;
    memcpy(block, work->events, work->count * sizeof(tt_rt_event_t*));
    for (size_t i = 0; i < out->count; ++i) tt_rt_event_retain(out->events[i]);
  }
  tt_mutex_unlock(&device->work_lock);
  return status;
}

static tt_status_t synchronize(tt_engine_device_t* device, int64_t stream) {
  list_t list;
  TT_RETURN_IF_ERROR(snapshot(device, stream, &list));
  for (size_t i = 0; i < list.count; ++i)
    tt_status_ignore(tt_rt_event_wait(list.events[i]));   // the pruning below finds the same error
  release_list(&list);
  tt_stream_work_t* work = &device->work[stream];
  tt_mutex_lock(&device->work_lock);
  prune(work, true);
  tt_status_t status = work->failed;
  work->failed = TT_OK_STATUS;
  tt_mutex_unlock(&device->work_lock);
  return status;
}

// ---- stamps ------------------------------------------------------------------------------------
static void stamp_release(stamp_t* stamp) {
  // acq_rel: the last holder sees the others' use before it frees
  if (!stamp || atomic_fetch_sub_explicit(&stamp->references, 1, memory_order_acq_rel) != 1) return;
  tt_cond_deinitialize(&stamp->reached);
  tt_mutex_deinitialize(&stamp->lock);
  tt_free(stamp);
}

// One event less to wait for; gives up the caller's reference.
static void stamp_step(void* self) {
  stamp_t* stamp = self;
  tt_mutex_lock(&stamp->lock);
  if (--stamp->remaining == 0) {
    stamp->time_ns = tt_clock_ns();
    tt_cond_broadcast(&stamp->reached);
  }
  tt_mutex_unlock(&stamp->lock);
  stamp_release(stamp);
}

static tt_status_t stamp_create(const list_t* list, stamp_t** out_stamp) {
  void* block = NULL;
  *out_stamp = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(stamp_t), &block));
  stamp_t* stamp = block;
  atomic_init(&stamp->references, 2 + (int32_t)list->count);
  tt_mutex_initialize(&stamp->lock, TT_RANK_LEAF);
  tt_cond_initialize(&stamp->reached);
  stamp->remaining = 1 + (int32_t)list->count;
  for (size_t i = 0; i < list->count; ++i) {
    tt_status_t status = tt_rt_event_on_done(list->events[i], stamp_step, stamp);
    if (tt_status_is_ok(status)) continue;
    tt_status_free(status);   // the plugin has no callbacks: wait for this one now
    tt_status_ignore(tt_rt_event_wait(list->events[i]));
    stamp_step(stamp);
  }
  stamp_step(stamp);
  *out_stamp = stamp;
  return TT_OK_STATUS;
}

// The time, once all is done: the plugin's callbacks may come a moment after the events say so.
static int64_t stamp_time(stamp_t* stamp) {
  tt_mutex_lock(&stamp->lock);
  while (stamp->remaining != 0) tt_cond_wait(&stamp->reached, &stamp->lock);
  int64_t time_ns = stamp->time_ns;
  tt_mutex_unlock(&stamp->lock);
  return time_ns;
}

// ---- events ------------------------------------------------------------------------------------
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
  release_list(&event->pending);
  stamp_release(event->stamp);
  tt_mutex_deinitialize(&event->lock);
  tt_free(event);
}

tt_status_t tt_event_record(tt_event_t* event, int64_t stream) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(check_stream(event->device, stream, &engine, &device));
  list_t pending = {0};
  stamp_t* stamp = NULL;
  const uint64_t position = tt_rt_client_position(engine->client);
  if (engine->is_vtpu) {
    if (event->timing) tt_rt_client_wait(engine->client, position);
  } else {
    TT_RETURN_IF_ERROR(snapshot(device, stream, &pending));
    tt_status_t status = event->timing && pending.count ? stamp_create(&pending, &stamp) : TT_OK_STATUS;
    if (!tt_status_is_ok(status)) {
      release_list(&pending);
      return status;
    }
  }
  tt_mutex_lock(&event->lock);
  list_t before = event->pending;
  stamp_t* stamp_before = event->stamp;
  event->pending = pending;
  event->stamp = stamp;
  event->position = position;
  event->is_recorded = true;
  event->time_ns = tt_clock_ns();
  tt_mutex_unlock(&event->lock);
  release_list(&before);
  stamp_release(stamp_before);
  return TT_OK_STATUS;
}

static tt_status_t pending_of(tt_event_t* event, uint64_t* out_position, list_t* out) {
  *out = (list_t){0};
  tt_mutex_lock(&event->lock);
  *out_position = event->position;
  void* block = NULL;
  size_t count = event->pending.count;
  tt_status_t status = count ? tt_alloc_array(count, sizeof(tt_rt_event_t*), &block) : TT_OK_STATUS;
  if (block) {
    *out = (list_t){block, count};
    memcpy(block, event->pending.events, count * sizeof(tt_rt_event_t*));
    for (size_t i = 0; i < count; ++i) tt_rt_event_retain(out->events[i]);
  }
  tt_mutex_unlock(&event->lock);
  return status;
}

tt_status_t tt_event_query(tt_event_t* event, bool* out_done) {
  list_t pending;
  uint64_t position;
  *out_done = false;
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  TT_RETURN_IF_ERROR(pending_of(event, &position, &pending));
  bool done = tt_rt_client_is_done(engine->client, position);
  for (size_t i = 0; i < pending.count && done; ++i)
    tt_status_ignore(tt_rt_event_poll(pending.events[i], &done));   // an error counts as done: waits tell it
  release_list(&pending);
  *out_done = done;
  return TT_OK_STATUS;
}

tt_status_t tt_event_synchronize(tt_event_t* event) {
  list_t pending;
  uint64_t position;
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  TT_RETURN_IF_ERROR(pending_of(event, &position, &pending));
  tt_rt_client_wait(engine->client, position);
  tt_status_t status = TT_OK_STATUS;
  for (size_t i = 0; i < pending.count; ++i)
    status = tt_status_join(status, tt_rt_event_wait(pending.events[i]));
  release_list(&pending);
  return status;
}

static tt_status_t event_time(tt_event_t* event, int64_t* out_ns) {
  bool done = false;
  TT_RETURN_IF_ERROR(tt_event_query(event, &done));
  tt_mutex_lock(&event->lock);
  bool is_recorded = event->is_recorded;
  *out_ns = event->time_ns;
  stamp_t* stamp = event->stamp;
  // relaxed: the event holds a reference
  if (stamp) atomic_fetch_add_explicit(&stamp->references, 1, memory_order_relaxed);
  tt_mutex_unlock(&event->lock);
  tt_status_t status = TT_OK_STATUS;
  if (!is_recorded || !done) {
    status = tt_status_create(TT_INVALID_ARGUMENT, "Both events must be %s before calculating elapsed time.",
                              is_recorded ? "completed" : "recorded");
  } else if (stamp) {
    *out_ns = stamp_time(stamp);
  }
  stamp_release(stamp);
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
  int64_t from = 0, to = 0;
  TT_RETURN_IF_ERROR(event_time(begin, &from));
  TT_RETURN_IF_ERROR(event_time(end, &to));
  *out_ms = (double)(to - from) * 1e-6;
  return TT_OK_STATUS;
}

// ---- streams -----------------------------------------------------------------------------------
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
  if (engine->is_vtpu) {
    *out_done = tt_rt_client_is_done(engine->client, tt_rt_client_position(engine->client));
    return TT_OK_STATUS;
  }
  tt_mutex_lock(&slot->work_lock);
  prune(&slot->work[stream], true);
  *out_done = slot->work[stream].count == 0;
  tt_mutex_unlock(&slot->work_lock);
  return TT_OK_STATUS;
}

tt_status_t tt_stream_synchronize(int device, int64_t stream) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  TT_RETURN_IF_ERROR(check_stream(device, stream, &engine, &slot));
  if (!engine->is_vtpu) return synchronize(slot, stream);
  tt_rt_client_synchronize(engine->client);
  return TT_OK_STATUS;
}

tt_status_t tt_stream_wait_event(int device, int64_t stream, tt_event_t* event) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  TT_RETURN_IF_ERROR(check_stream(device, stream, &engine, &slot));
  if (engine->is_vtpu) return TT_OK_STATUS;   // what is called later comes later anyway
  list_t pending;
  uint64_t position;
  TT_RETURN_IF_ERROR(pending_of(event, &position, &pending));
  tt_mutex_lock(&slot->work_lock);
  prune(&slot->work[stream], false);
  for (size_t i = 0; i < pending.count; ++i) add_locked(&slot->work[stream], pending.events[i]);
  tt_mutex_unlock(&slot->work_lock);
  tt_free(pending.events);   // the references moved
  return TT_OK_STATUS;
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
  tt_rt_client_synchronize(engine->client);
  tt_status_t status = TT_OK_STATUS;
  for (int d = 0; d < engine->device_count; ++d) {
    if (engine->is_vtpu || (device >= 0 && d != device)) continue;
    for (int64_t stream = 0; stream < TT_STREAMS_A_DEVICE; ++stream)
      status = tt_status_join(status, synchronize(&engine->devices[d], stream));
  }
  return status;
}
