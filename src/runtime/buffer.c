// Buffers: a PJRT buffer with its shape at hand, from records that are used again.
#include <string.h>

#include "runtime/internal.h"

void tt_rt_buffer_handle_destroy(tt_rt_client_t* client, PJRT_Buffer* handle) {
  if (!handle) return;
  TT_RT_ARGS(Buffer_Destroy, args);
  args.buffer = handle;
  // a buffer that does not want to go is the plugin's fault, not the caller's
  TT_RT_RELEASE(client->plugin, Buffer_Destroy, &args);
}

// Type and shape as the plugin tells them.
static tt_status_t ask_shape(tt_rt_buffer_t* buffer) {
  const tt_rt_plugin_t* plugin = buffer->client->plugin;
  TT_RT_ARGS(Buffer_ElementType, type);
  type.buffer = buffer->handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, Buffer_ElementType, &type));
  buffer->dtype = tt_dtype_from_pjrt((int)type.type);
  if (buffer->dtype == TT_DTYPE_INVALID) {
    return tt_status_create(TT_UNIMPLEMENTED, "the plugin '%s' gives a buffer of the unknown type %d",
                            plugin->path, (int)type.type);
  }
  TT_RT_ARGS(Buffer_Dimensions, dims);
  dims.buffer = buffer->handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(plugin, Buffer_Dimensions, &dims));
  if (dims.num_dims > TT_MAX_RANK) {
    return tt_status_create(TT_UNIMPLEMENTED, "the plugin '%s' gives a buffer of rank %zu; at most %d",
                            plugin->path, dims.num_dims, TT_MAX_RANK);
  }
  buffer->rank = (uint32_t)dims.num_dims;
  for (uint32_t i = 0; i < buffer->rank; ++i) buffer->dims[i] = dims.dims[i];
  return TT_OK_STATUS;
}

tt_status_t tt_rt_buffer_reserve(tt_rt_client_t* client, size_t count, tt_rt_buffer_t** out_buffers) {
  for (size_t i = 0; i < count; ++i) {
    void* record;
    tt_status_t status = tt_freelist_take(&client->free_buffers, &record);
    if (TT_UNLIKELY(!tt_status_is_ok(status))) {
      tt_rt_buffer_unreserve(client, i, out_buffers);
      return status;
    }
    out_buffers[i] = record;
  }
  return TT_OK_STATUS;
}

void tt_rt_buffer_unreserve(tt_rt_client_t* client, size_t count, tt_rt_buffer_t** buffers) {
  for (size_t i = 0; i < count; ++i) {
    tt_freelist_give(&client->free_buffers, buffers[i]);
    buffers[i] = NULL;
  }
}

tt_status_t tt_rt_buffer_fill(tt_rt_client_t* client, size_t device, PJRT_Buffer* handle, tt_dtype_t dtype,
                              size_t rank, const int64_t* dims, tt_rt_buffer_t** reserved) {
  tt_rt_buffer_t* buffer = *reserved;
  if (TT_UNLIKELY(!handle)) {
    tt_rt_buffer_unreserve(client, 1, reserved);
    return tt_status_create(TT_INTERNAL, "the plugin '%s' gave no buffer and no error", client->plugin->path);
  }
  tt_rt_client_retain(client);
  buffer->references = 1;
  buffer->error = TT_OK_STATUS;
  buffer->device = (uint32_t)device;
  buffer->client = client;
  buffer->handle = handle;
  buffer->note = NULL;
  buffer->dtype = dtype;
  buffer->rank = (uint32_t)rank;
  if (TT_LIKELY(dims != NULL)) {
    for (size_t i = 0; i < rank; ++i) buffer->dims[i] = dims[i];
  } else {
    tt_status_t status = ask_shape(buffer);
    if (!tt_status_is_ok(status)) {
      *reserved = NULL;
      tt_rt_buffer_release(buffer);
      return status;
    }
  }
  size_t bytes = tt_dtype_bytes(buffer->dtype);
  for (uint32_t i = 0; i < buffer->rank; ++i) bytes *= (size_t)buffer->dims[i];
  buffer->bytes = bytes;
  return TT_OK_STATUS;
}

tt_status_t tt_rt_buffer_wrap(tt_rt_client_t* client, size_t device, PJRT_Buffer* handle, tt_dtype_t dtype,
                              size_t rank, const int64_t* dims, tt_rt_buffer_t** out_buffer) {
  *out_buffer = NULL;
  tt_status_t status = tt_rt_buffer_reserve(client, 1, out_buffer);
  if (TT_UNLIKELY(!tt_status_is_ok(status))) {
    tt_rt_buffer_handle_destroy(client, handle);
    return status;
  }
  return tt_rt_buffer_fill(client, device, handle, dtype, rank, dims, out_buffer);
}

void tt_rt_buffer_retain(tt_rt_buffer_t* buffer) {
  if (buffer) __atomic_fetch_add(&buffer->references, 1, __ATOMIC_RELAXED);
}

void tt_rt_buffer_release(tt_rt_buffer_t* buffer) {
  // acq_rel: every use comes before the record is used again
  if (!buffer || __atomic_sub_fetch(&buffer->references, 1, __ATOMIC_ACQ_REL) != 0) return;
  tt_rt_client_t* client = buffer->client;
  tt_rt_buffer_handle_destroy(client, buffer->handle);
  buffer->handle = NULL;
  tt_rt_note_release(buffer->note);
  if (TT_UNLIKELY(buffer->error != NULL)) tt_status_free(buffer->error);
  buffer->error = TT_OK_STATUS;
  tt_freelist_give(&client->free_buffers, buffer);
  tt_rt_client_release(client);
}

// ---- host to device ----------------------------------------------------------------------------
static tt_status_t check_shape(tt_dtype_t dtype, size_t rank, const int64_t* dims, size_t* out_bytes) {
  if (rank > TT_MAX_RANK) {
    return tt_status_create(TT_INVALID_ARGUMENT, "rank %zu; at most %d", rank, TT_MAX_RANK);
  }
  if (dtype == TT_DTYPE_INVALID) return tt_status_create(TT_INVALID_ARGUMENT, "invalid dtype");
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) {
      return tt_status_create(TT_INVALID_ARGUMENT, "dimension %zu is %lld", i, (long long)dims[i]);
    }
  }
  int64_t elems;
  if (!tt_checked_product(dims, rank, &elems) ||
      !tt_checked_mul((size_t)elems, tt_dtype_bytes(dtype), out_bytes)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "the array is too large");
  }
  return TT_OK_STATUS;
}

// out_event NULL: the host memory is free on return.
static tt_status_t upload(tt_rt_client_t* client, size_t device, tt_dtype_t dtype, size_t rank,
                          const int64_t* dims, const int64_t* byte_strides, const void* data, size_t bytes,
                          tt_rt_buffer_t** out_buffer, tt_rt_event_t** out_event) {
  static const char nothing[8];
  TT_RT_ARGS(Client_BufferFromHostBuffer, args);
  args.client = client->handle;
  args.data = data ? data : nothing;
  args.type = (PJRT_Buffer_Type)tt_dtype_pjrt(dtype);
  args.dims = dims;
  args.num_dims = rank;
  args.byte_strides = byte_strides;
  args.num_byte_strides = byte_strides ? rank : 0;
  args.host_buffer_semantics = out_event ? PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes
                                         : PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = client->devices[device].handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(client->plugin, Client_BufferFromHostBuffer, &args));
  tt_status_t status = out_event
                           ? tt_rt_event_wrap(client, args.done_with_host_buffer, NULL, out_event)
                           : tt_rt_event_await(client->plugin, args.done_with_host_buffer);
  if (!tt_status_is_ok(status)) {
    tt_rt_buffer_handle_destroy(client, args.buffer);
    return status;
  }
  TT_RT_COUNT(bytes_to_device, bytes);
  TT_RT_COUNT(copies_to_device, 1);
  status = tt_rt_buffer_wrap(client, device, args.buffer, dtype, rank, dims, out_buffer);
  if (!tt_status_is_ok(status) && out_event && *out_event) {   // the memory is the caller's again
    tt_status_ignore(tt_rt_event_wait(*out_event));
    tt_rt_event_release(*out_event);
    *out_event = NULL;
  }
  return status;
}

tt_status_t tt_rt_buffer_from_host(tt_rt_client_t* client, size_t device, tt_dtype_t dtype, size_t rank,
                                   const int64_t* dims, const void* data, tt_rt_buffer_t** out_buffer) {
  *out_buffer = NULL;
  size_t bytes;
  TT_RETURN_IF_ERROR(tt_rt_check_device(client, device));
  TT_RETURN_IF_ERROR(check_shape(dtype, rank, dims, &bytes));
  return upload(client, device, dtype, rank, dims, NULL, data, bytes, out_buffer, NULL);
}

tt_status_t tt_rt_buffer_from_host_async(tt_rt_client_t* client, size_t device, tt_dtype_t dtype, size_t rank,
                                         const int64_t* dims, const void* data, tt_rt_buffer_t** out_buffer,
                                         tt_rt_event_t** out_event) {
  *out_buffer = NULL;
  *out_event = NULL;
  size_t bytes;
  TT_RETURN_IF_ERROR(tt_rt_check_device(client, device));
  TT_RETURN_IF_ERROR(check_shape(dtype, rank, dims, &bytes));
  return upload(client, device, dtype, rank, dims, NULL, data, bytes, out_buffer, out_event);
}

// Packs a strided array densely.
static char* pack(char* to, const char* from, size_t elem, size_t rank, const int64_t* dims,
                  const int64_t* strides) {
  if (rank == 0) {
    memcpy(to, from, elem);
    return to + elem;
  }
  if (rank == 1 && strides[0] == (int64_t)elem) {
    size_t bytes = (size_t)dims[0] * elem;
    memcpy(to, from, bytes);
    return to + bytes;
  }
  for (int64_t i = 0; i < dims[0]; ++i) {
    to = pack(to, from + i * strides[0], elem, rank - 1, dims + 1, strides + 1);
  }
  return to;
}

tt_status_t tt_rt_buffer_from_host_strided(tt_rt_client_t* client, size_t device, tt_dtype_t dtype,
                                           size_t rank, const int64_t* dims, const int64_t* byte_strides,
                                           const void* data, tt_rt_buffer_t** out_buffer) {
  *out_buffer = NULL;
  size_t bytes;
  TT_RETURN_IF_ERROR(tt_rt_check_device(client, device));
  TT_RETURN_IF_ERROR(check_shape(dtype, rank, dims, &bytes));
  bool dense = true;
  int64_t stride = (int64_t)tt_dtype_bytes(dtype);
  for (size_t i = rank; i-- > 0;) {
    if (dims[i] > 1 && byte_strides[i] != stride) dense = false;
    stride *= dims[i];
  }
  if (dense || bytes == 0)
    return upload(client, device, dtype, rank, dims, NULL, data, bytes, out_buffer, NULL);
  // only of our own plugin is it known that it takes every stride
  if (client->plugin->extension) {
    return upload(client, device, dtype, rank, dims, byte_strides, data, bytes, out_buffer, NULL);
  }
  void* packed;
  TT_RETURN_IF_ERROR(tt_alloc(bytes, &packed));
  pack(packed, data, tt_dtype_bytes(dtype), rank, dims, byte_strides);
  tt_status_t status = upload(client, device, dtype, rank, dims, NULL, packed, bytes, out_buffer, NULL);
  tt_free(packed);
  return status;
}

// ---- device to host, device to device ----------------------------------------------------------
static tt_status_t download(tt_rt_buffer_t* buffer, void* data, size_t bytes, PJRT_Event** out_event) {
  static const int64_t descending[TT_MAX_RANK] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  if (bytes != buffer->bytes) {
    return tt_status_create(TT_INVALID_ARGUMENT, "the host array has %zu bytes, the buffer %zu", bytes,
                            buffer->bytes);
  }
  char nothing[8];
  PJRT_Buffer_MemoryLayout layout;   // row-major, whatever the device's own layout is
  memset(&layout, 0, sizeof(layout));
  layout.struct_size = sizeof(layout);
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = sizeof(layout.tiled);
  layout.tiled.minor_to_major = descending + (TT_MAX_RANK - buffer->rank);
  layout.tiled.minor_to_major_size = buffer->rank;
  TT_RT_ARGS(Buffer_ToHostBuffer, args);
  args.src = buffer->handle;
  args.host_layout = &layout;
  args.dst = bytes ? data : nothing;
  args.dst_size = bytes;
  TT_RETURN_IF_ERROR(tt_rt_buffer_check(buffer));
  TT_RETURN_IF_ERROR(TT_RT_CALL(buffer->client->plugin, Buffer_ToHostBuffer, &args));
  *out_event = args.event;
  TT_RT_COUNT(bytes_to_host, bytes);
  TT_RT_COUNT(copies_to_host, 1);
  return TT_OK_STATUS;
}

tt_status_t tt_rt_buffer_to_host(tt_rt_buffer_t* buffer, void* data, size_t bytes) {
  PJRT_Event* event = NULL;
  tt_status_t status = download(buffer, data, bytes, &event);
  if (tt_status_is_ok(status)) status = tt_rt_event_await(buffer->client->plugin, event);
  return tt_rt_note_annotate(buffer->note, status);
}

tt_status_t tt_rt_buffer_to_host_async(tt_rt_buffer_t* buffer, void* data, size_t bytes,
                                       tt_rt_event_t** out_event) {
  PJRT_Event* event = NULL;
  *out_event = NULL;
  tt_status_t status = download(buffer, data, bytes, &event);
  if (!tt_status_is_ok(status)) return tt_rt_note_annotate(buffer->note, status);
  return tt_rt_event_wrap(buffer->client, event, buffer->note, out_event);
}

tt_status_t tt_rt_buffer_copy_to_device(tt_rt_buffer_t* buffer, size_t device, tt_rt_buffer_t** out_buffer) {
  *out_buffer = NULL;
  tt_rt_client_t* client = buffer->client;
  TT_RETURN_IF_ERROR(tt_rt_check_device(client, device));
  TT_RETURN_IF_ERROR(tt_rt_buffer_check(buffer));
  TT_RT_ARGS(Buffer_CopyToDevice, args);
  args.buffer = buffer->handle;
  args.dst_device = client->devices[device].handle;
  tt_status_t status;
  if (client->devices[device].memory && TT_RT_HAS(client->plugin, Buffer_CopyToMemory)) {
    TT_RT_ARGS(Buffer_CopyToMemory, memory);   // the published way; CopyToDevice is for older plugins
    memory.buffer = buffer->handle;
    memory.dst_memory = client->devices[device].memory;
    status = TT_RT_CALL(client->plugin, Buffer_CopyToMemory, &memory);
    args.dst_buffer = memory.dst_buffer;
  } else {
    status = TT_RT_CALL(client->plugin, Buffer_CopyToDevice, &args);
  }
  if (!tt_status_is_ok(status)) return tt_rt_note_annotate(buffer->note, status);
  TT_RETURN_IF_ERROR(tt_rt_buffer_wrap(client, device, args.dst_buffer, buffer->dtype, buffer->rank,
                                       buffer->dims, out_buffer));
  tt_rt_buffer_set_note(*out_buffer, buffer->note);
  return TT_OK_STATUS;
}

// ---- state -------------------------------------------------------------------------------------
tt_status_t tt_rt_buffer_gone(const tt_rt_buffer_t* buffer) {
  return tt_status_copy(__atomic_load_n(&buffer->error, __ATOMIC_ACQUIRE));
}

void tt_rt_buffers_consumed(size_t count, tt_rt_buffer_t* const* inputs, const bool* donate,
                            tt_status_t why) {
  if (!donate) return;
  for (size_t i = 0; i < count; ++i) {
    const tt_rt_plugin_t* plugin = inputs[i]->client->plugin;
    if (!donate[i]) continue;
    TT_RT_ARGS(Buffer_IsDeleted, args);
    args.buffer = inputs[i]->handle;
    tt_status_t status = TT_RT_CALL(plugin, Buffer_IsDeleted, &args);
    bool is_gone = tt_status_is_ok(status) && args.is_deleted;
    tt_status_ignore(status);   // not told: the plugin's own error comes with the next use, if it is gone
    if (!is_gone) continue;
    tt_status_t copy = tt_status_copy(why), none = TT_OK_STATUS;
    // release: the status before its pointer; the first reason stays
    if (!__atomic_compare_exchange_n(&inputs[i]->error, &none, copy, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
      tt_status_free(copy);
    }
  }
}

static tt_status_t ready_event(tt_rt_buffer_t* buffer, PJRT_Event** out_event) {
  TT_RETURN_IF_ERROR(tt_rt_buffer_check(buffer));
  TT_RT_ARGS(Buffer_ReadyEvent, args);
  args.buffer = buffer->handle;
  TT_RETURN_IF_ERROR(TT_RT_CALL(buffer->client->plugin, Buffer_ReadyEvent, &args));
  *out_event = args.event;
  return TT_OK_STATUS;
}

tt_status_t tt_rt_buffer_await(tt_rt_buffer_t* buffer) {
  PJRT_Event* event = NULL;
  tt_status_t status = ready_event(buffer, &event);
  if (tt_status_is_ok(status)) status = tt_rt_event_await(buffer->client->plugin, event);
  return tt_rt_note_annotate(buffer->note, status);
}

tt_status_t tt_rt_buffer_ready_event(tt_rt_buffer_t* buffer, tt_rt_event_t** out_event) {
  PJRT_Event* event = NULL;
  *out_event = NULL;
  tt_status_t status = ready_event(buffer, &event);
  if (!tt_status_is_ok(status)) return tt_rt_note_annotate(buffer->note, status);
  return tt_rt_event_wrap(buffer->client, event, buffer->note, out_event);
}

bool tt_rt_buffer_is_sole(const tt_rt_buffer_t* buffer) {
  // acquire: what the others did with it comes before what the last holder does
  return __atomic_load_n(&buffer->references, __ATOMIC_ACQUIRE) == 1;
}

void tt_rt_buffer_set_note(tt_rt_buffer_t* buffer, tt_rt_note_t* note) {
  tt_rt_note_retain(note);
  tt_rt_note_release(buffer->note);
  buffer->note = note;
}

// ---- accessors ---------------------------------------------------------------------------------
tt_dtype_t tt_rt_buffer_dtype(const tt_rt_buffer_t* buffer) { return buffer->dtype; }
size_t tt_rt_buffer_rank(const tt_rt_buffer_t* buffer) { return buffer->rank; }
const int64_t* tt_rt_buffer_dims(const tt_rt_buffer_t* buffer) { return buffer->dims; }
tt_rt_note_t* tt_rt_buffer_note(const tt_rt_buffer_t* buffer) { return buffer->note; }
size_t tt_rt_buffer_bytes(const tt_rt_buffer_t* buffer) { return buffer->bytes; }
size_t tt_rt_buffer_device(const tt_rt_buffer_t* buffer) { return buffer->device; }
void* tt_rt_buffer_host_pointer(tt_rt_buffer_t* buffer) {
  const tt_pjrt_extension_t* extension = buffer->client->plugin->extension;
  return extension ? extension->host_pointer(buffer->handle) : NULL;
}
