// Moving data: host <-> storage, storage <-> storage, device <-> device.
//
// Whole dense destinations are bound directly; all else goes through one program, `copy_` (read view,
// convert, write view), so that views have one implementation.
#include <string.h>

#include "base/alloc.h"
#include "eager/describe.h"
#include "eager/executable.h"
#include "eager/padded.h"
#include "eager/stream.h"
#include "eager/view.h"

static _Atomic int64_t bytes_to_device, bytes_to_host, copies_to_device, copies_to_host;

void tt_transfer_stats(tt_transfer_stats_t* out_stats) {
  *out_stats = (tt_transfer_stats_t){
      .bytes_to_device = atomic_load_explicit(&bytes_to_device, memory_order_relaxed),
      .bytes_to_host = atomic_load_explicit(&bytes_to_host, memory_order_relaxed),
      .copies_to_device = atomic_load_explicit(&copies_to_device, memory_order_relaxed),
      .copies_to_host = atomic_load_explicit(&copies_to_host, memory_order_relaxed),
  };
}

static void count_to_device(size_t bytes) {
  atomic_fetch_add_explicit(&bytes_to_device, (int64_t)bytes, memory_order_relaxed);
  atomic_fetch_add_explicit(&copies_to_device, 1, memory_order_relaxed);
}
static void count_to_host(size_t bytes) {
  atomic_fetch_add_explicit(&bytes_to_host, (int64_t)bytes, memory_order_relaxed);
  atomic_fetch_add_explicit(&copies_to_host, 1, memory_order_relaxed);
}

// A view that covers its storage whole and dense; out_order as tt_view_physical_order.
static bool is_whole(const tt_tensor_t* view, int64_t elems, int64_t* out_order) {
  return view->offset == 0 && view->rank <= TT_MAX_RANK &&
         (size_t)elems * tt_dtype_bytes(view->dtype) == view->storage->bytes &&
         tt_view_physical_order(view->rank, view->sizes, view->strides, out_order);
}

static tt_status_t check_view(const tt_tensor_t* view, int64_t* out_elems) {
  if (!view->storage || !view->is_defined)
    return tt_status_create(TT_INVALID_ARGUMENT, "the tensor has no tpu storage");
  if (view->dtype == 0 || view->dtype >= TT_DTYPE_COUNT || view->dtype == TT_DTYPE_TOKEN) {
    return tt_status_create(TT_UNIMPLEMENTED, "dtype number %d is not one that tpu knows", view->dtype);
  }
  if (view->rank > TT_MAX_RANK) {
    return tt_status_create(TT_UNIMPLEMENTED, "a tensor of %d dimensions: tpu supports up to %d", view->rank,
                            TT_MAX_RANK);
  }
  if (!tt_view_numel(view->rank, view->sizes, out_elems)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "sizes are negative or overflow");
  }
  return tt_view_check_range(view, tt_dtype_bytes(view->dtype), view->storage->bytes);
}

static tt_status_t check_support(tt_engine_t* engine, int device, tt_dtype_t dtype) {
  if (engine->target.dtype_support[dtype] != TT_SUPPORT_REFUSED) return TT_OK_STATUS;
  return tt_status_create(TT_UNIMPLEMENTED, "dtype %s is not supported on %s", tt_dtype_name(dtype),
                          engine->devices[device].properties.name);
}

// Binds under the cell's lock and releases what was there after it.
static void rebind(tt_storage_t* cell, tt_rt_buffer_t* buffer, tt_dtype_t dtype, size_t rank,
                   const int64_t* dims, const char* origin, bool is_raw, uint16_t padded) {
  tt_mutex_lock(&cell->lock);
  tt_rt_buffer_t* before = tt_cell_bind(cell, buffer, (uint8_t)dtype, rank, dims, origin);
  cell->is_raw = is_raw;
  cell->padded = padded;
  tt_mutex_unlock(&cell->lock);
  tt_rt_buffer_release(before);
}

// The copy's name, tensor and user's line in front of an error that the op did not describe.
static tt_status_t describe_copy(tt_status_t status, const char* what, const tt_tensor_t* view) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_strbuf_printf(&text, "%s of ", what);
  tt_describe_tensor(view, &text);
  tt_describe_location(&text);
  status = tt_status_annotate(status, "%s", tt_strbuf_text(&text));
  tt_strbuf_deinitialize(&text);
  return status;
}

// A dense view of all of `storage` with from's sizes.
static tt_tensor_t dense_view(tt_storage_t* storage, tt_dtype_t dtype, size_t rank, const int64_t* sizes,
                              int64_t* strides) {
  tt_view_contiguous_strides(rank, sizes, strides);
  return (tt_tensor_t){.storage = storage,
                       .graph_value = -1,
                       .dtype = (uint8_t)dtype,
                       .rank = (uint8_t)rank,
                       .is_defined = true,
                       .sizes = sizes,
                       .strides = strides};
}

// ---- on one device -----------------------------------------------------------------------------
static tt_status_t copy_program(const tt_tensor_t* to, const tt_tensor_t* from) {
  tt_arg_t args[2] = {{.kind = TT_ARG_TENSOR, .tensor = *to}, {.kind = TT_ARG_TENSOR, .tensor = *from}};
  tt_call_t call = {.op = TT_EAGER_OP_COPY,
                    .variant = TT_VARIANT_INPLACE,
                    .device = to->storage->device,
                    .arg_count = 2,
                    .args = args};
  tt_result_t result;
  uint32_t count = 0;
  return tt_call_execute(&call, &result, 1, &count);
}

// ---- host -> device ----------------------------------------------------------------------------
// Uploads dense memory. out_event NULL: complete on return; else NULL in it says the same.
static tt_status_t upload(tt_engine_t* engine, int device, tt_dtype_t dtype, size_t rank, const int64_t* dims,
                          const void* host, tt_rt_buffer_t** out_buffer, tt_rt_event_t** out_event) {
  if (out_event)
    return tt_rt_buffer_from_host_async(engine->client, (size_t)device, dtype, rank, dims, host, out_buffer,
                                        out_event);
  return tt_rt_buffer_from_host(engine->client, (size_t)device, dtype, rank, dims, host, out_buffer);
}

// With padding; complete on return, the memory is ours.
static tt_status_t upload_padded(tt_engine_t* engine, int device, tt_dtype_t dtype, size_t rank,
                                 const int64_t* dims, uint16_t padded, const void* host,
                                 tt_rt_buffer_t** out_buffer) {
  int64_t full[TT_MAX_RANK];
  size_t bytes = 0;
  void* block = NULL;
  tt_padded_dims(rank, dims, padded, full);
  if (!tt_padded_bytes(rank, dims, padded, tt_dtype_bytes(dtype), &bytes))
    return tt_status_create(TT_INVALID_ARGUMENT, "sizes overflow");
  TT_RETURN_IF_ERROR(tt_alloc(bytes, &block));
  tt_padded_spread(rank, dims, padded, dtype, host, block);
  tt_status_t status =
      tt_rt_buffer_from_host(engine->client, (size_t)device, dtype, rank, full, block, out_buffer);
  tt_free(block);
  return status;
}

static tt_status_t from_host(const tt_tensor_t* to, const void* host, tt_dtype_t host_dtype,
                             tt_rt_event_t** out_event) {
  int64_t elems = 0, order[TT_MAX_RANK];
  TT_RETURN_IF_ERROR(check_view(to, &elems));
  if (host_dtype == TT_DTYPE_INVALID || host_dtype >= TT_DTYPE_COUNT || host_dtype == TT_DTYPE_TOKEN) {
    return tt_status_create(TT_UNIMPLEMENTED, "dtype number %d is not one that tpu knows",
                            (int)host_dtype);
  }
  if (elems == 0) return TT_OK_STATUS;
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  int index = to->storage->device;
  TT_RETURN_IF_ERROR(tt_engine_device(index, &engine, &device));
  TT_RETURN_IF_ERROR(check_support(engine, index, host_dtype));
  size_t size = tt_dtype_bytes(host_dtype);
  tt_rt_buffer_t* buffer = NULL;
  if (to->dtype == host_dtype && is_whole(to, elems, order)) {
    int64_t logical[TT_MAX_RANK], dims[TT_MAX_RANK], byte_strides[TT_MAX_RANK];
    tt_view_contiguous_strides(to->rank, to->sizes, logical);
    bool is_permuted = false;
    for (size_t j = 0; j < to->rank; ++j) {
      dims[j] = to->sizes[order[j]];
      byte_strides[j] = logical[order[j]] * (int64_t)size;
      is_permuted |= order[j] != (int64_t)j;
    }
    uint16_t padded = is_permuted ? 0 : tt_padded_upload(engine, host_dtype, to->rank, dims);
    if (padded) {
      TT_RETURN_IF_ERROR(upload_padded(engine, index, host_dtype, to->rank, dims, padded, host, &buffer));
      rebind(to->storage, buffer, host_dtype, to->rank, dims, "host", false, padded);
      count_to_device((size_t)elems * size);
      return TT_OK_STATUS;
    }
    tt_status_t status =
        is_permuted ? tt_rt_buffer_from_host_strided(engine->client, (size_t)index, host_dtype, to->rank,
                                                     dims, byte_strides, host, &buffer)
                    : upload(engine, index, host_dtype, to->rank, dims, host, &buffer, out_event);
    TT_RETURN_IF_ERROR(status);
    rebind(to->storage, buffer, host_dtype, to->rank, dims, "host", false, 0);
    count_to_device((size_t)elems * size);
    return TT_OK_STATUS;
  }
  tt_storage_t* temporary = NULL;
  TT_RETURN_IF_ERROR(tt_storage_allocate(index, (size_t)elems * size, &temporary));
  tt_status_t status = upload(engine, index, host_dtype, to->rank, to->sizes, host, &buffer, out_event);
  if (tt_status_is_ok(status)) {
    rebind(temporary, buffer, host_dtype, to->rank, to->sizes, "host", false, 0);
    int64_t strides[TT_MAX_RANK];
    tt_tensor_t from = dense_view(temporary, host_dtype, to->rank, to->sizes, strides);
    status = copy_program(to, &from);
  }
  if (tt_status_is_ok(status)) count_to_device((size_t)elems * size);
  tt_storage_release(temporary);
  return status;
}

tt_status_t tt_tensor_from_host(const tt_tensor_t* to, const void* host, tt_dtype_t host_dtype) {
  tt_status_t status = from_host(to, host, host_dtype, NULL);
  return TT_LIKELY(tt_status_is_ok(status)) ? status : describe_copy(status, "copy to tpu", to);
}

// The stream is busy with a transfer; its reference moves there.
static void add_transfer(int device, tt_rt_event_t* event, bool* out_pending) {
  *out_pending = event != NULL;
  tt_engine_t* engine = tt_engine_any();
  if (event) tt_stream_add(&engine->devices[device], tt_stream_current(device), event);
}

tt_status_t tt_tensor_from_host_async(const tt_tensor_t* to, const void* host, tt_dtype_t host_dtype,
                                      bool* out_pending) {
  *out_pending = false;
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  if (engine->is_vtpu) return tt_tensor_from_host(to, host, host_dtype);   // execution is inline
  tt_rt_event_t* event = NULL;
  tt_status_t status = from_host(to, host, host_dtype, &event);
  if (to->storage) add_transfer(to->storage->device, event, out_pending);
  return TT_LIKELY(tt_status_is_ok(status)) ? status : describe_copy(status, "copy to tpu", to);
}

// ---- device -> host ----------------------------------------------------------------------------
// Rows of a strided view out of memory that the plugin shows; `data` is the element at offset 0 of the view.
static void gather_strided(size_t rank, const int64_t* sizes, const int64_t* strides, size_t size,
                           const char* data, char* out) {
  int64_t index[TT_MAX_RANK] = {0};
  size_t inner = rank ? rank - 1 : 0;
  int64_t count = rank ? sizes[inner] : 1, step = rank ? strides[inner] * (int64_t)size : 0;
  for (;;) {
    if (step == (int64_t)size || count == 1) {
      memcpy(out, data, (size_t)count * size);
      out += (size_t)count * size;
    } else {
      for (int64_t i = 0; i < count; ++i, out += size) memcpy(out, data + i * step, size);
    }
    size_t d = inner;
    for (;;) {
      if (d == 0) return;
      --d;
      data += strides[d] * (int64_t)size;
      if (++index[d] < sizes[d]) break;
      data -= strides[d] * (int64_t)size * sizes[d];
      index[d] = 0;
    }
  }
}

enum { DIRECT_BYTES = 1 << 16 };  // above, a program's kernels beat the plain loop

static tt_status_t download(tt_rt_buffer_t* buffer, void* host, size_t bytes, tt_rt_event_t** out_event) {
  return out_event ? tt_rt_buffer_to_host_async(buffer, host, bytes, out_event)
                   : tt_rt_buffer_to_host(buffer, host, bytes);
}

static tt_status_t read_held(const tt_tensor_t* from, tt_rt_buffer_t* buffer, bool is_dense, int64_t elems,
                             void* host, tt_rt_event_t** out_event, bool* out_done) {
  size_t size = tt_dtype_bytes(from->dtype), bytes = (size_t)elems * size;
  *out_done = true;
  if (is_dense && bytes == tt_rt_buffer_bytes(buffer)) return download(buffer, host, bytes, out_event);
  const char* data = tt_rt_buffer_host_pointer(buffer);
  if (data && (is_dense || bytes <= DIRECT_BYTES)) {
    TT_RETURN_IF_ERROR(tt_rt_buffer_await(buffer));
    data += from->offset * (int64_t)size;
    if (is_dense)
      memcpy(host, data, bytes);
    else
      gather_strided(from->rank, from->sizes, from->strides, size, data, host);
    return TT_OK_STATUS;
  }
  *out_done = false;
  return TT_OK_STATUS;
}

// A view of a padded storage: cropped, then gathered, on the host. A small part of a large storage is left to a
// program.
static tt_status_t read_padded(const tt_tensor_t* from, const tt_storage_t* form, bool is_dense, size_t bytes,
                               void* host, bool* out_done) {
  enum { WHOLE_BYTES = 1 << 20 };
  *out_done = form->bytes <= WHOLE_BYTES || bytes >= form->bytes / 8;
  if (!*out_done) return TT_OK_STATUS;
  if (is_dense && bytes == form->bytes) return tt_padded_read(form, host);
  size_t size = tt_dtype_bytes(from->dtype);
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(form->bytes, &block));
  tt_status_t status = tt_padded_read(form, block);
  const char* data = (const char*)block + from->offset * (int64_t)size;
  if (tt_status_is_ok(status) && is_dense)
    memcpy(host, data, bytes);
  else if (tt_status_is_ok(status))
    gather_strided(from->rank, from->sizes, from->strides, size, data, host);
  tt_free(block);
  return status;
}

static tt_status_t to_host(const tt_tensor_t* from, void* host, tt_rt_event_t** out_event) {
  int64_t elems = 0;
  TT_RETURN_IF_ERROR(check_view(from, &elems));
  if (elems == 0) return TT_OK_STATUS;
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  size_t bytes = (size_t)elems * tt_dtype_bytes(from->dtype);
  tt_storage_t form;
  tt_rt_buffer_t* buffer = tt_cell_hold(from->storage, &form);
  if (!buffer) {  // E1
    memset(host, 0, bytes);
    return TT_OK_STATUS;
  }
  // Bytes are bytes: the canonical dtype does not matter for reading dense memory.
  bool done = false, is_dense = tt_view_is_contiguous(from->rank, from->sizes, from->strides);
  tt_status_t status = TT_UNLIKELY(form.padded)
                           ? read_padded(from, &form, is_dense, bytes, host, &done)
                           : read_held(from, buffer, is_dense, elems, host, out_event, &done);
  tt_cell_unhold(from->storage, buffer);
  if (tt_status_is_ok(status) && !done) {
    tt_storage_t* temporary = NULL;
    int64_t strides[TT_MAX_RANK];
    status = tt_storage_allocate(from->storage->device, bytes, &temporary);
    if (tt_status_is_ok(status)) {
      tt_tensor_t to = dense_view(temporary, from->dtype, from->rank, from->sizes, strides);
      status = copy_program(&to, from);
    }
    if (tt_status_is_ok(status)) {
      status = temporary->padded ? tt_padded_read(temporary, host)
                                 : download(temporary->buffer, host, bytes, out_event);
    }
    tt_storage_release(temporary);
  }
  if (tt_status_is_ok(status)) count_to_host(bytes);
  return status;
}

tt_status_t tt_tensor_to_host(const tt_tensor_t* from, void* host) {
  tt_status_t status = to_host(from, host, NULL);
  return TT_LIKELY(tt_status_is_ok(status)) ? status : describe_copy(status, "copy from tpu", from);
}

tt_status_t tt_tensor_to_host_async(const tt_tensor_t* from, void* host, bool* out_pending) {
  *out_pending = false;
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  if (engine->is_vtpu) return tt_tensor_to_host(from, host);   // execution is inline
  tt_rt_event_t* event = NULL;
  tt_status_t status = to_host(from, host, &event);
  if (from->storage) add_transfer(from->storage->device, event, out_pending);
  return TT_LIKELY(tt_status_is_ok(status)) ? status : describe_copy(status, "copy from tpu", from);
}

// ---- tensor -> tensor --------------------------------------------------------------------------
// from's bytes, dense, as a buffer on device `to`. Through a dense temporary if the view is not its whole
// base.
static tt_status_t cross_buffer(const tt_tensor_t* from, int to_device, tt_rt_buffer_t** out_buffer) {
  int64_t elems = 0, strides[TT_MAX_RANK];
  tt_view_numel(from->rank, from->sizes, &elems);
  size_t bytes = (size_t)elems * tt_dtype_bytes(from->dtype);
  tt_storage_t* temporary = NULL;
  TT_RETURN_IF_ERROR(tt_storage_allocate(from->storage->device, bytes, &temporary));
  tt_tensor_t dense = dense_view(temporary, from->dtype, from->rank, from->sizes, strides);
  tt_status_t status = copy_program(&dense, from);
  if (tt_status_is_ok(status)) status = tt_padded_make_exact(tt_engine_any(), temporary);
  if (tt_status_is_ok(status))
    status = tt_rt_buffer_copy_to_device(temporary->buffer, (size_t)to_device, out_buffer);
  tt_storage_release(temporary);
  return status;
}

static tt_status_t copy_across(const tt_tensor_t* to, const tt_tensor_t* from, int64_t elems) {
  tt_rt_buffer_t* buffer = NULL;
  int64_t order[TT_MAX_RANK], strides[TT_MAX_RANK];
  TT_RETURN_IF_ERROR(cross_buffer(from, to->storage->device, &buffer));
  tt_engine_t* engine = tt_engine_any();
  if (!engine->is_vtpu) {
    int device = to->storage->device;
    tt_stream_add_buffer(&engine->devices[device], tt_stream_current(device), buffer);
  }
  if (to->dtype == from->dtype && is_whole(to, elems, order) &&
      tt_view_is_contiguous(to->rank, to->sizes, to->strides)) {
    rebind(to->storage, buffer, from->dtype, from->rank, from->sizes, "copy_", false, 0);
    return TT_OK_STATUS;
  }
  tt_storage_t* temporary = NULL;
  tt_status_t status =
      tt_storage_allocate(to->storage->device, (size_t)elems * tt_dtype_bytes(from->dtype), &temporary);
  if (!tt_status_is_ok(status)) {
    tt_rt_buffer_release(buffer);
    return status;
  }
  rebind(temporary, buffer, from->dtype, from->rank, from->sizes, "copy_", false, 0);
  tt_tensor_t dense = dense_view(temporary, from->dtype, from->rank, from->sizes, strides);
  status = copy_program(to, &dense);
  tt_storage_release(temporary);
  return status;
}

tt_status_t tt_tensor_copy(const tt_tensor_t* to, const tt_tensor_t* from) {
  int64_t elems = 0, from_elems = 0;
  TT_RETURN_IF_ERROR(tt_status_annotate(check_view(to, &elems), "copy_"));
  if (from->host_scalar) {
    if (from->rank != to->rank)
      return tt_status_create(TT_INVALID_ARGUMENT, "copy_: a CPU scalar into a tensor of %d dimensions",
                              to->rank);
    return copy_program(to, from);
  }
  TT_RETURN_IF_ERROR(tt_status_annotate(check_view(from, &from_elems), "copy_"));
  bool same = to->rank == from->rank && memcmp(to->sizes, from->sizes, to->rank * sizeof(int64_t)) == 0;
  if (!same) return tt_status_create(TT_INVALID_ARGUMENT, "copy_: sizes of source and destination differ");
  if (elems == 0) return TT_OK_STATUS;
  return to->storage->device == from->storage->device ? copy_program(to, from) : copy_across(to, from, elems);
}

// ---- bytes -------------------------------------------------------------------------------------
static tt_status_t check_bytes(const tt_storage_t* storage, size_t offset, size_t bytes, const char* what) {
  size_t end;
  if (tt_checked_add(offset, bytes, &end) && end <= storage->bytes) return TT_OK_STATUS;
  return tt_status_create(TT_OUT_OF_RANGE, "%s: bytes %zu to %zu + %zu lie outside the storage of %zu bytes",
                          what, offset, offset, bytes, storage->bytes);
}

static tt_tensor_t byte_view(tt_storage_t* storage, size_t offset, const int64_t* size,
                             const int64_t* stride) {
  return (tt_tensor_t){.storage = storage,
                       .graph_value = -1,
                       .dtype = TT_DTYPE_U8,
                       .rank = 1,
                       .is_defined = true,
                       .sizes = size,
                       .strides = stride,
                       .offset = (int64_t)offset};
}

tt_status_t tt_storage_read(tt_storage_t* storage, size_t offset, size_t bytes, void* out_data) {
  TT_RETURN_IF_ERROR(check_bytes(storage, offset, bytes, "storage read"));
  if (bytes == 0) return TT_OK_STATUS;
  int64_t size = (int64_t)bytes, stride = 1;
  tt_tensor_t view = byte_view(storage, offset, &size, &stride);
  return tt_tensor_to_host(&view, out_data);
}

tt_status_t tt_storage_write(tt_storage_t* storage, size_t offset, size_t bytes, const void* data) {
  TT_RETURN_IF_ERROR(check_bytes(storage, offset, bytes, "storage write"));
  if (bytes == 0) return TT_OK_STATUS;
  tt_engine_t* engine = NULL;
  TT_RETURN_IF_ERROR(tt_engine_get(&engine));
  int64_t size = (int64_t)bytes, stride = 1;
  if (bytes == storage->bytes) {
    tt_rt_buffer_t* buffer = NULL;
    TT_RETURN_IF_ERROR(tt_rt_buffer_from_host(engine->client, (size_t)storage->device, TT_DTYPE_U8, 1, &size,
                                              data, &buffer));
    rebind(storage, buffer, TT_DTYPE_U8, 1, &size, "host", true, 0);
    count_to_device(bytes);
    return TT_OK_STATUS;
  }
  tt_tensor_t view = byte_view(storage, offset, &size, &stride);
  return tt_tensor_from_host(&view, data, TT_DTYPE_U8);
}

// Both storages have one buffer until either is written: the program that writes makes another.
static void share(tt_storage_t* to, tt_storage_t* from) {
  int64_t dims[TT_MAX_RANK];
  tt_mutex_lock(&from->lock);
  tt_rt_buffer_t* buffer = from->buffer;
  tt_rt_buffer_retain(buffer);
  from->is_shared = true;
  bool is_raw = from->is_raw;
  uint8_t dtype = from->dtype;
  uint16_t padded = from->padded;
  size_t rank = from->rank;
  const char* origin = from->origin;
  memcpy(dims, from->dims, rank * sizeof(int64_t));
  tt_mutex_unlock(&from->lock);
  tt_mutex_lock(&to->lock);
  tt_rt_buffer_t* before = tt_cell_bind(to, buffer, dtype, rank, dims, origin);
  to->is_shared = true;
  to->is_raw = is_raw;
  to->padded = padded;
  tt_mutex_unlock(&to->lock);
  tt_rt_buffer_release(before);
}

tt_status_t tt_storage_copy(tt_storage_t* to, size_t to_offset, tt_storage_t* from, size_t from_offset,
                            size_t bytes) {
  TT_RETURN_IF_ERROR(check_bytes(to, to_offset, bytes, "storage copy, destination"));
  TT_RETURN_IF_ERROR(check_bytes(from, from_offset, bytes, "storage copy, source"));
  if (bytes == 0 || (to == from && to_offset == from_offset)) return TT_OK_STATUS;
  if (to != from && bytes == to->bytes && bytes == from->bytes && to->device == from->device) {
    share(to, from);
    return TT_OK_STATUS;
  }
  tt_mutex_lock(&from->lock);
  bool is_bound = from->buffer != NULL;
  tt_dtype_t dtype = from->dtype;
  size_t rank = from->rank;
  int64_t dims[TT_MAX_RANK], strides[TT_MAX_RANK];
  memcpy(dims, from->dims, rank * sizeof(int64_t));
  tt_mutex_unlock(&from->lock);
  if (is_bound && to != from && bytes == to->bytes && bytes == from->bytes) {
    // the canonical form goes along
    tt_view_contiguous_strides(rank, dims, strides);
    tt_tensor_t target = dense_view(to, dtype, rank, dims, strides),
                source = dense_view(from, dtype, rank, dims, strides);
    return tt_tensor_copy(&target, &source);
  }
  // Growing or shrinking a storage: keep its dtype where all positions fit it.
  size_t size = is_bound ? tt_dtype_bytes(dtype) : 1;
  if (!is_bound || bytes % size || to_offset % size || from_offset % size || to->bytes % size) {
    dtype = TT_DTYPE_U8;
    size = 1;
  }
  int64_t count = (int64_t)(bytes / size), one = 1;
  tt_tensor_t target = byte_view(to, to_offset / size, &count, &one),
              source = byte_view(from, from_offset / size, &count, &one);
  target.dtype = source.dtype = (uint8_t)dtype;
  return tt_tensor_copy(&target, &source);
}
