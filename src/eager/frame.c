#include "eager/frame.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "eager/padded.h"
#include "eager/view.h"

// ---- pool --------------------------------------------------------------------------------------
// A few parked frames; a thread takes one by exchange, so there is no lock and no thread-local to clean up.
enum { PARKED = 8, LINEAR_VIEWS = 16 };
static _Atomic(tt_frame_t*) parked[PARKED];

static void frame_free(tt_frame_t* frame) {
  tt_free(frame->views);
  tt_free(frame->storage_of);
  tt_free(frame->arg_view);
  tt_free(frame->storages);
  tt_free(frame->locked);
  tt_free(frame->key);
  tt_free(frame->inputs);
  tt_free(frame->outputs);
  tt_free(frame->temporaries);
  tt_free(frame->dead);
  tt_free(frame->donate);
  tt_free(frame->fresh);
  tt_free(frame->table);
  tt_arena_deinitialize(&frame->scratch);
  tt_free(frame);
}

tt_status_t tt_frame_begin(tt_engine_t* engine, int device, tt_frame_t** out_frame) {
  tt_frame_t* frame = NULL;
  for (int i = 0; i < PARKED && !frame; ++i) {
    if (!atomic_load_explicit(&parked[i], memory_order_relaxed)) continue;
    // acquire: pairs with the release of tt_frame_end, so the frame's arrays are seen whole
    frame = atomic_exchange_explicit(&parked[i], NULL, memory_order_acquire);
  }
  if (!frame) {
    void* block = NULL;
    *out_frame = NULL;
    TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_frame_t), &block));
    frame = block;
    tt_arena_initialize(&frame->scratch);
  }
  frame->engine = engine;
  frame->device = device;
  frame->call = NULL;
  frame->scalars = NULL;
  frame->generator = NULL;
  frame->location[0] = 0;
  // Before any lock: the callback may wait. Elsewhere the position is looked up when there is an error.
  if (TT_UNLIKELY(!engine->is_vtpu)) tt_location_describe(frame->location, sizeof(frame->location));
  frame->view_count = frame->storage_count = frame->key_count = frame->dead_count = 0;
  frame->is_locked = false;
  *out_frame = frame;
  return TT_OK_STATUS;
}

// Keeps one small chunk: a large program's scratch would be cleared again after every later miss.
static void reset_scratch(tt_frame_t* frame) {
  enum { KEPT_BYTES = 1 << 16 };
  tt_arena_t* arena = &frame->scratch;
  tt_arena_reset(arena);
  if (arena->limit - arena->cursor > KEPT_BYTES) {
    tt_arena_deinitialize(arena);
    tt_arena_initialize(arena);
  }
  frame->scratch_start = arena->cursor;
}

void tt_frame_end(tt_frame_t* frame) {
  if (!frame) return;
  tt_frame_unlock(frame);
  if (TT_UNLIKELY(frame->scratch.cursor != frame->scratch_start)) reset_scratch(frame);
  for (int i = 0; i < PARKED; ++i) {
    tt_frame_t* expected = NULL;
    if (atomic_load_explicit(&parked[i], memory_order_relaxed)) continue;
    if (atomic_compare_exchange_strong_explicit(&parked[i], &expected, frame, memory_order_release,
                                                memory_order_relaxed))
      return;
  }
  frame_free(frame);
}

// ---- views -------------------------------------------------------------------------------------
static tt_status_t grow(void** block, size_t* capacity, size_t needed, size_t size) {
  return TT_LIKELY(*capacity >= needed) ? TT_OK_STATUS : tt_grow(block, capacity, needed, size);
}

static tt_status_t reserve_views(tt_frame_t* frame, size_t count) {
  TT_RETURN_IF_ERROR(grow((void**)&frame->views, &frame->view_capacity, count, sizeof(*frame->views)));
  TT_RETURN_IF_ERROR(
      grow((void**)&frame->storage_of, &frame->storage_of_capacity, count, sizeof(*frame->storage_of)));
  TT_RETURN_IF_ERROR(
      grow((void**)&frame->storages, &frame->storage_capacity, count, sizeof(*frame->storages)));
  TT_RETURN_IF_ERROR(grow((void**)&frame->locked, &frame->locked_capacity, count, sizeof(*frame->locked)));
  return grow((void**)&frame->dead, &frame->dead_capacity, count, sizeof(*frame->dead));
}

static tt_status_t wrong_device(const tt_frame_t* frame, const tt_storage_t* storage) {
  return tt_status_create(TT_INVALID_ARGUMENT,
                          "Expected all tensors to be on the same device, but found at least two devices, "
                          "tpu:%d and tpu:%d!",
                          frame->device, storage->device);
}

// Long lists (foreach): open addressing over a table of 1-based storage numbers.
static tt_status_t partition_many(tt_frame_t* frame) {
  size_t slots = 64;
  while (slots < 2 * frame->view_count) slots *= 2;
  TT_RETURN_IF_ERROR(grow((void**)&frame->table, &frame->table_capacity, slots, sizeof(uint32_t)));
  memset(frame->table, 0, slots * sizeof(uint32_t));
  for (size_t i = 0; i < frame->view_count; ++i) {
    tt_storage_t* storage = frame->views[i]->storage;
    frame->storage_of[i] = -1;
    if (!storage) continue;
    if (storage->device != frame->device) return wrong_device(frame, storage);
    size_t slot = (size_t)tt_hash_u64(0, (uint64_t)(uintptr_t)storage) & (slots - 1);
    while (frame->table[slot] && frame->storages[frame->table[slot] - 1] != storage)
      slot = (slot + 1) & (slots - 1);
    if (!frame->table[slot]) {
      frame->storages[frame->storage_count] = storage;
      frame->table[slot] = (uint32_t)++frame->storage_count;
    }
    frame->storage_of[i] = (int32_t)frame->table[slot] - 1;
  }
  return TT_OK_STATUS;
}

static tt_status_t partition(tt_frame_t* frame) {
  for (size_t i = 0; i < frame->view_count; ++i) {
    if (TT_LIKELY(frame->views[i]->rank <= TT_MAX_RANK)) continue;
    return tt_status_create(TT_UNIMPLEMENTED, "a tensor of %d dimensions: tpu supports up to %d",
                            frame->views[i]->rank, TT_MAX_RANK);
  }
  if (frame->view_count > LINEAR_VIEWS) return partition_many(frame);
  for (size_t i = 0; i < frame->view_count; ++i) {
    tt_storage_t* storage = frame->views[i]->storage;
    int32_t index = -1;
    if (storage) {
      if (TT_UNLIKELY(storage->device != frame->device)) return wrong_device(frame, storage);
      size_t k = 0;
      while (k < frame->storage_count && frame->storages[k] != storage) ++k;
      if (k == frame->storage_count) frame->storages[frame->storage_count++] = storage;
      index = (int32_t)k;
    }
    frame->storage_of[i] = index;
  }
  return TT_OK_STATUS;
}

tt_status_t tt_frame_gather_call(tt_frame_t* frame, const tt_call_t* call) {
  size_t count = call->out_count;
  for (uint32_t a = 0; a < call->arg_count; ++a) {
    if (call->args[a].kind == TT_ARG_TENSOR)
      ++count;
    else if (call->args[a].kind == TT_ARG_TENSORS)
      count += call->args[a].count;
  }
  TT_RETURN_IF_ERROR(reserve_views(frame, count ? count : 1));
  TT_RETURN_IF_ERROR(
      grow((void**)&frame->arg_view, &frame->arg_view_capacity, call->arg_count + 1, sizeof(uint32_t)));
  frame->call = call;
  size_t at = 0;
  for (uint32_t a = 0; a < call->arg_count; ++a) {
    const tt_arg_t* arg = &call->args[a];
    frame->arg_view[a] = (uint32_t)at;
    if (arg->kind == TT_ARG_TENSOR) {
      frame->views[at++] = &arg->tensor;
    } else if (arg->kind == TT_ARG_TENSORS) {
      for (uint32_t i = 0; i < arg->count; ++i) frame->views[at++] = &arg->tensors[i];
    } else if (arg->kind == TT_ARG_GENERATOR) {
      frame->generator = arg->generator;
    }
  }
  frame->arg_view[call->arg_count] = (uint32_t)at;
  for (uint32_t i = 0; i < call->out_count; ++i) frame->views[at++] = &call->outs[i];
  frame->view_count = at;
  return partition(frame);
}

tt_status_t tt_frame_gather_views(tt_frame_t* frame, size_t count, const tt_tensor_t* views) {
  TT_RETURN_IF_ERROR(reserve_views(frame, count ? count : 1));
  for (size_t i = 0; i < count; ++i) frame->views[i] = &views[i];
  frame->view_count = count;
  return partition(frame);
}

// ---- locks -------------------------------------------------------------------------------------
// Storages written as raw bytes (loading a checkpoint) take the form of the first whole typed view, once:
// after that every program reads them as plain parameters.
static tt_status_t reform(tt_frame_t* frame, tt_storage_t* cell, const tt_tensor_t* view) {
  int64_t elems, order[TT_MAX_RANK], dims[TT_MAX_RANK];
  size_t size = tt_dtype_bytes(view->dtype);
  if (view->dtype == cell->dtype || !size || view->offset != 0 || view->rank > TT_MAX_RANK)
    return TT_OK_STATUS;
  if (!tt_view_numel(view->rank, view->sizes, &elems) || (size_t)elems * size != cell->bytes)
    return TT_OK_STATUS;
  if (!tt_view_physical_order(view->rank, view->sizes, view->strides, order)) return TT_OK_STATUS;
  for (size_t j = 0; j < view->rank; ++j) dims[j] = view->sizes[order[j]];
  const void* bytes = tt_rt_buffer_host_pointer(cell->buffer);
  void* copy = NULL;
  tt_status_t status = TT_OK_STATUS;
  if (!bytes) {
    status = tt_alloc(cell->bytes, &copy);
    if (tt_status_is_ok(status)) status = tt_rt_buffer_to_host(cell->buffer, copy, cell->bytes);
    bytes = copy;
  }
  tt_rt_buffer_t* fresh = NULL;
  if (tt_status_is_ok(status)) {
    status = tt_rt_buffer_from_host(frame->engine->client, (size_t)frame->device, view->dtype, view->rank,
                                    dims, bytes, &fresh);
  }
  tt_free(copy);
  TT_RETURN_IF_ERROR(status);
  tt_rt_buffer_release(tt_cell_bind(cell, fresh, view->dtype, view->rank, dims, cell->origin));
  return TT_OK_STATUS;
}

tt_status_t tt_frame_lock(tt_frame_t* frame) {
  memcpy(frame->locked, frame->storages, frame->storage_count * sizeof(*frame->locked));
  tt_cells_lock(frame->storage_count, frame->locked);
  frame->is_locked = true;
  bool has_raw = false;
  for (size_t i = 0; i < frame->storage_count; ++i) has_raw |= frame->storages[i]->is_raw;
  // whole graphs are compiled for exact sizes
  if (TT_UNLIKELY(frame->engine->target.slow_compiles) && !frame->call) {
    for (size_t i = 0; i < frame->storage_count; ++i)
      TT_RETURN_IF_ERROR(tt_padded_make_exact(frame->engine, frame->storages[i]));
  }
  if (TT_LIKELY(!has_raw)) return TT_OK_STATUS;
  for (size_t i = 0; i < frame->view_count; ++i) {
    tt_storage_t* cell = frame->views[i]->storage;
    if (cell && cell->is_raw && cell->buffer) TT_RETURN_IF_ERROR(reform(frame, cell, frame->views[i]));
  }
  return TT_OK_STATUS;
}

void tt_frame_unlock(tt_frame_t* frame) {
  if (!frame->is_locked) return;
  frame->is_locked = false;
  tt_cells_unlock(frame->storage_count, frame->locked);
  for (size_t i = 0; i < frame->dead_count; ++i) tt_rt_buffer_release(frame->dead[i]);
  frame->dead_count = 0;
}

tt_status_t tt_frame_reserve_key(tt_frame_t* frame, size_t words) {
  return grow((void**)&frame->key, &frame->key_capacity, frame->key_count + words, sizeof(uint64_t));
}
