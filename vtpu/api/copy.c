// Between host arrays with any strides and our dense row-major blocks; buffers made from host data.
#include <string.h>

#include "api/api.h"
#include "exec/pool.h"
#include "exec/queue.h"

#define PARALLEL_BYTES ((size_t)4 << 20)
#define PART_BYTES ((size_t)1 << 20)

// ---- byte moving -------------------------------------------------------------------------------
typedef struct part_s {
  char* to;
  const char* from;
  size_t bytes;
} part_t;
static void copy_part(void* self, size_t index) {
  const part_t* all = self;
  size_t at = index * PART_BYTES;
  memcpy(all->to + at, all->from + at, TT_MIN(PART_BYTES, all->bytes - at));
}
static void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes < PARALLEL_BYTES) {
    if (bytes) memcpy(to, from, bytes);
    return;
  }
  part_t all = {to, from, bytes};
  tt_pool_run(tt_pool_get(), (bytes + PART_BYTES - 1) / PART_BYTES, copy_part, &all);
}

// Strided on both sides, walked by recursion from dimension `depth` on.
typedef struct move_s {
  size_t rank, elem;
  int64_t dims[TT_MAX_RANK], to[TT_MAX_RANK], from[TT_MAX_RANK];   // strides in bytes
} move_t;

static void move_row(char* to, const char* from, int64_t count, int64_t to_stride, int64_t from_stride,
                     size_t elem) {
#define ROW(type)                                                  \
  for (int64_t i = 0; i < count; ++i) {                            \
    type value;                                                    \
    memcpy(&value, from + i * from_stride, sizeof(type));          \
    memcpy(to + i * to_stride, &value, sizeof(type));              \
  }                                                                \
  return
  switch (elem) {
    case 1: ROW(uint8_t);
    case 2: ROW(uint16_t);
    case 4: ROW(uint32_t);
    case 8: ROW(uint64_t);
    default: break;
  }
#undef ROW
  for (int64_t i = 0; i < count; ++i) memcpy(to + i * to_stride, from + i * from_stride, elem);
}

// A transposition: walked in tiles, so that every cache line read is used whole.
#define TILE 32
static void move_plane(const move_t* move, size_t d, char* to, const char* from) {
  for (int64_t i0 = 0; i0 < move->dims[d]; i0 += TILE) {
    int64_t i1 = TT_MIN(i0 + TILE, move->dims[d]);
    for (int64_t j = 0; j < move->dims[d + 1]; j += TILE) {
      int64_t count = TT_MIN((int64_t)TILE, move->dims[d + 1] - j);
      for (int64_t i = i0; i < i1; ++i) {
        move_row(to + i * move->to[d] + j * move->to[d + 1], from + i * move->from[d] + j * move->from[d + 1],
                 count, move->to[d + 1], move->from[d + 1], move->elem);
      }
    }
  }
}

static int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

static void move_dims(const move_t* move, size_t depth, char* to, const char* from) {
  if (depth + 1 == move->rank) {
    if (move->to[depth] == (int64_t)move->elem && move->from[depth] == (int64_t)move->elem) {
      memcpy(to, from, (size_t)move->dims[depth] * move->elem);
    } else {
      move_row(to, from, move->dims[depth], move->to[depth], move->from[depth], move->elem);
    }
    return;
  }
  if (depth + 2 == move->rank && (magnitude(move->from[depth]) < magnitude(move->from[depth + 1]) ||
                                  magnitude(move->to[depth]) < magnitude(move->to[depth + 1]))) {
    move_plane(move, depth, to, from);
    return;
  }
  for (int64_t i = 0; i < move->dims[depth]; ++i) {
    move_dims(move, depth + 1, to + i * move->to[depth], from + i * move->from[depth]);
  }
}

// Large arrays are split along their first dimension.
typedef struct split_s {
  const move_t* move;
  char* to;
  const char* from;
  int64_t step;
} split_t;
static void move_part(void* self, size_t index) {
  const split_t* all = self;
  move_t part = *all->move;
  int64_t first = (int64_t)index * all->step;
  part.dims[0] = TT_MIN(all->step, part.dims[0] - first);
  move_dims(&part, 0, all->to + first * part.to[0], all->from + first * part.from[0]);
}
static void move_strided(const move_t* move, char* to, const char* from) {
  size_t bytes = move->elem;
  for (size_t i = 0; i < move->rank; ++i) bytes *= (size_t)move->dims[i];
  int64_t parts = (int64_t)(bytes / PART_BYTES);
  if (bytes < PARALLEL_BYTES || move->dims[0] < 2 || parts < 2) {
    move_dims(move, 0, to, from);
    return;
  }
  split_t all = {move, to, from, (move->dims[0] + parts - 1) / parts};
  if (all.step < TILE && move->dims[0] >= TILE) all.step = TILE;   // whole tiles
  tt_pool_run(tt_pool_get(), (size_t)((move->dims[0] + all.step - 1) / all.step), move_part, &all);
}

static void dense_strides(size_t rank, const int64_t* dims, size_t elem, int64_t* strides) {
  int64_t stride = (int64_t)elem;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
}

// Copies an array; drops dimensions of extent 1 and joins neighbours that are dense on both sides.
static void move_array(size_t rank, const int64_t* dims, size_t elem, char* to, const int64_t* to_strides,
                       const char* from, const int64_t* from_strides) {
  move_t move = {.elem = elem};
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == 0) return;
    if (dims[i] == 1) continue;
    size_t r = move.rank;
    if (r > 0 && move.to[r - 1] == dims[i] * to_strides[i] && move.from[r - 1] == dims[i] * from_strides[i]) {
      move.dims[r - 1] *= dims[i];
      move.to[r - 1] = to_strides[i];
      move.from[r - 1] = from_strides[i];
      continue;
    }
    move.dims[r] = dims[i];
    move.to[r] = to_strides[i];
    move.from[r] = from_strides[i];
    ++move.rank;
  }
  if (move.rank == 0) {
    memcpy(to, from, elem);
  } else if (move.rank == 1 && move.to[0] == (int64_t)elem && move.from[0] == (int64_t)elem) {
    copy_bytes(to, from, (size_t)move.dims[0] * elem);
  } else {
    move_strided(&move, to, from);
  }
}

// ---- layouts -----------------------------------------------------------------------------------
// Byte strides of a host layout; NULL means dense row-major.
static tt_status_t layout_strides(const PJRT_Buffer_MemoryLayout* layout, size_t rank, const int64_t* dims,
                                  size_t elem, int64_t* strides) {
  dense_strides(rank, dims, elem, strides);
  if (!layout) return TT_OK_STATUS;
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    if (layout->strides.num_byte_strides != rank) {
      return tt_status_create(TT_INVALID_ARGUMENT, "layout of %zu strides for an array of rank %zu",
                              layout->strides.num_byte_strides, rank);
    }
    for (size_t i = 0; i < rank; ++i) strides[i] = layout->strides.byte_strides[i];
    return TT_OK_STATUS;
  }
  const PJRT_Buffer_MemoryLayout_Tiled* tiled = &layout->tiled;
  if (tiled->num_tiles != 0) {
    return tt_status_create(TT_UNIMPLEMENTED, "vtpu has no tiled layouts; %zu tiles were asked for",
                            tiled->num_tiles);
  }
  if (tiled->minor_to_major_size != rank) {
    return tt_status_create(TT_INVALID_ARGUMENT, "layout of %zu dimensions for an array of rank %zu",
                            tiled->minor_to_major_size, rank);
  }
  uint32_t seen = 0;
  int64_t stride = (int64_t)elem;
  for (size_t i = 0; i < rank; ++i) {
    int64_t d = tiled->minor_to_major[i];
    if (d < 0 || d >= (int64_t)rank || (seen >> d & 1)) {
      return tt_status_create(TT_INVALID_ARGUMENT, "minor_to_major is not a permutation of %zu dimensions",
                              rank);
    }
    seen |= 1u << d;
    strides[d] = stride;
    stride *= dims[d];
  }
  return TT_OK_STATUS;
}

static bool is_dense(size_t rank, const int64_t* dims, size_t elem, const int64_t* strides) {
  int64_t dense[TT_MAX_RANK];
  dense_strides(rank, dims, elem, dense);
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] > 1 && dense[i] != strides[i]) return false;
  }
  return true;
}

// Device layouts: dense row-major is the only one.
static tt_status_t check_device_layout(const PJRT_Buffer_MemoryLayout* layout, size_t rank,
                                       const int64_t* dims, size_t elem) {
  int64_t strides[TT_MAX_RANK];
  TT_RETURN_IF_ERROR(layout_strides(layout, rank, dims, elem, strides));
  if (is_dense(rank, dims, elem, strides)) return TT_OK_STATUS;
  return tt_status_create(TT_UNIMPLEMENTED,
                          "vtpu buffers are dense row-major; another device layout was asked for");
}

// ---- places and shapes -------------------------------------------------------------------------
static tt_status_t find_memory(PJRT_Client* client, PJRT_Device* device, PJRT_Memory* memory,
                               PJRT_Memory** out) {
  *out = memory ? memory : device ? device->memory_list[0] : NULL;
  if (!*out) return tt_status_create(TT_INVALID_ARGUMENT, "neither a device nor a memory was given");
  if ((*out)->client != client) {
    return tt_status_create(TT_INVALID_ARGUMENT, "memory %d belongs to another client", (*out)->id);
  }
  return TT_OK_STATUS;
}

static tt_status_t check_shape(PJRT_Buffer_Type type, size_t rank, const int64_t* dims, tt_dtype_t* out_dtype,
                               size_t* out_bytes) {
  *out_dtype = tt_dtype_from_pjrt((int)type);
  if (*out_dtype == TT_DTYPE_INVALID || *out_dtype == TT_DTYPE_TOKEN) {
    return tt_status_create(TT_UNIMPLEMENTED, "vtpu has no arrays of PJRT_Buffer_Type %d", (int)type);
  }
  if (rank > TT_MAX_RANK) {
    return tt_status_create(TT_INVALID_ARGUMENT, "rank %zu; at most %d", rank, TT_MAX_RANK);
  }
  if (!tt_api_dense_bytes(*out_dtype, rank, dims, out_bytes)) {
    return tt_status_create(TT_INVALID_ARGUMENT, "an array extent is negative or the array is too large");
  }
  return TT_OK_STATUS;
}

// A few bytes, such as a program's numbers, take their place in the queue instead of waiting for it.
typedef struct upload_s {
  void* to;
  size_t bytes;
  unsigned char data[64];
} upload_t;
static void run_upload(void* payload) {
  const upload_t* upload = payload;
  memcpy(upload->to, upload->data, upload->bytes);
}
static bool upload_behind(tt_vmem_t* block, const void* data, size_t bytes) {
  upload_t* upload;
  if (TT_LIKELY(tt_queue_is_idle()) || bytes > sizeof(upload->data) || !tt_queue_is_useful()) return false;
  upload = tt_queue_reserve();
  upload->to = block->data;
  upload->bytes = bytes;
  if (bytes) memcpy(upload->data, data, bytes);
  tt_queue_commit(run_upload);
  return true;
}

// ---- slots: creation ---------------------------------------------------------------------------
PJRT_Error* tt_api_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  TT_API_CHECK_ARGS(args, Client_BufferFromHostBuffer, buffer);
  tt_dtype_t dtype;
  size_t bytes;
  PJRT_Memory* memory;
  TT_API_RETURN_IF_ERROR(check_shape(args->type, args->num_dims, args->dims, &dtype, &bytes));
  TT_API_RETURN_IF_ERROR(find_memory(args->client, args->device, args->memory, &memory));
  size_t elem = tt_dtype_bytes(dtype);
  if (args->device_layout) {
    TT_API_RETURN_IF_ERROR(check_device_layout(args->device_layout, args->num_dims, args->dims, elem));
  }
  int64_t dense[TT_MAX_RANK];
  dense_strides(args->num_dims, args->dims, elem, dense);
  const int64_t* strides = dense;
  if (args->byte_strides && args->num_byte_strides) {
    if (args->num_byte_strides != args->num_dims) {
      TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT,
                          "PJRT_Client_BufferFromHostBuffer: %zu byte strides for rank %zu",
                          args->num_byte_strides, args->num_dims);
    }
    strides = args->byte_strides;
  }
  if (!args->data && bytes) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT, "PJRT_Client_BufferFromHostBuffer: data is NULL");
  }
  tt_vmem_t* block;
  TT_API_RETURN_IF_ERROR(tt_vmem_allocate(memory->pool, bytes, &block));
  if (!upload_behind(block, args->data, strides == dense ? bytes : SIZE_MAX)) {
    tt_queue_drain();
    move_array(args->num_dims, args->dims, elem, block->data, dense, args->data, strides);
  }
  TT_API_RETURN_IF_ERROR(
      tt_api_buffer_create(memory, dtype, args->num_dims, args->dims, block, &args->buffer));
  // copied already, so every host buffer semantics is kept and the host may go on at once
  args->done_with_host_buffer = tt_api_event_done(TT_OK_STATUS);
  return NULL;
}

PJRT_Error* tt_api_Client_CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args* args) {
  TT_API_CHECK_ARGS(args, Client_CreateUninitializedBuffer, buffer);
  tt_dtype_t dtype;
  size_t bytes;
  PJRT_Memory* memory;
  TT_API_RETURN_IF_ERROR(
      check_shape(args->shape_element_type, args->shape_num_dims, args->shape_dims, &dtype, &bytes));
  TT_API_RETURN_IF_ERROR(find_memory(args->client, args->device, args->memory, &memory));
  if (args->shape_layout) {
    TT_API_RETURN_IF_ERROR(check_device_layout(args->shape_layout, args->shape_num_dims, args->shape_dims,
                                               tt_dtype_bytes(dtype)));
  }
  tt_vmem_t* block;
  TT_API_RETURN_IF_ERROR(tt_vmem_allocate(memory->pool, bytes, &block));
  return tt_api_error(
      tt_api_buffer_create(memory, dtype, args->shape_num_dims, args->shape_dims, block, &args->buffer));
}

PJRT_Error* tt_api_Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args* args) {
  TT_API_CHECK_ARGS(args, Client_CreateErrorBuffer, buffer);
  tt_dtype_t dtype;
  size_t bytes;
  PJRT_Memory* memory;
  TT_API_RETURN_IF_ERROR(
      check_shape(args->shape_element_type, args->shape_num_dims, args->shape_dims, &dtype, &bytes));
  TT_API_RETURN_IF_ERROR(find_memory(args->client, NULL, args->memory, &memory));
  if (args->error_code == PJRT_Error_Code_OK) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT, "PJRT_Client_CreateErrorBuffer: the error code is OK");
  }
  PJRT_Buffer* buffer;
  TT_API_RETURN_IF_ERROR(
      tt_api_buffer_create(memory, dtype, args->shape_num_dims, args->shape_dims, NULL, &buffer));
  buffer->bytes = bytes;
  buffer->error = tt_status_create((tt_status_code_t)args->error_code, "%.*s", (int)args->error_message_size,
                                   args->error_message ? args->error_message : "");
  args->buffer = buffer;
  return NULL;
}

PJRT_Error* tt_api_Buffer_Bitcast(PJRT_Buffer_Bitcast_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_Bitcast, out_buffer);
  tt_dtype_t dtype;
  size_t bytes;
  TT_API_RETURN_IF_ERROR(check_shape(args->element_type, args->num_dims, args->dims, &dtype, &bytes));
  if (args->device_layout) {
    TT_API_RETURN_IF_ERROR(
        check_device_layout(args->device_layout, args->num_dims, args->dims, tt_dtype_bytes(dtype)));
  }
  if (bytes != args->buffer->bytes) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT,
                        "PJRT_Buffer_Bitcast: the new shape has %zu bytes, the buffer %zu", bytes,
                        args->buffer->bytes);
  }
  TT_API_RETURN_IF_ERROR(tt_api_buffer_hold(args->buffer));
  tt_vmem_t* block = args->buffer->block;
  tt_vmem_retain(block);  // shared: neither is donated in place from now on (A3)
  tt_api_buffer_unhold(args->buffer);
  return tt_api_error(tt_api_buffer_create(args->buffer->memory, dtype, args->num_dims, args->dims, block,
                                           &args->out_buffer));
}

// ---- slots: copies -----------------------------------------------------------------------------
static tt_status_t copy_to_memory(PJRT_Buffer* source, PJRT_Memory* memory, PJRT_Buffer** out_buffer) {
  *out_buffer = NULL;
  if (!memory) return tt_status_create(TT_INVALID_ARGUMENT, "the destination of a buffer copy is NULL");
  TT_RETURN_IF_ERROR(tt_api_buffer_hold(source));
  tt_vmem_t* block;
  tt_status_t status = tt_vmem_allocate(memory->pool, source->bytes, &block);
  if (tt_status_is_ok(status)) {
    tt_queue_drain();
    copy_bytes(block->data, source->block->data, source->bytes);
    status = tt_api_buffer_create(memory, source->dtype, source->rank, source->dims, block, out_buffer);
  }
  tt_api_buffer_unhold(source);
  return status;
}

PJRT_Error* tt_api_Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_CopyToDevice, dst_buffer);
  PJRT_Memory* memory = args->dst_device ? args->dst_device->memory_list[0] : NULL;
  return tt_api_error(copy_to_memory(args->buffer, memory, &args->dst_buffer));
}

PJRT_Error* tt_api_Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_CopyToMemory, dst_buffer);
  return tt_api_error(copy_to_memory(args->buffer, args->dst_memory, &args->dst_buffer));
}

PJRT_Error* tt_api_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_ToHostBuffer, event);
  PJRT_Buffer* source = args->src;
  size_t elem = tt_dtype_bytes(source->dtype);
  int64_t strides[TT_MAX_RANK];
  TT_API_RETURN_IF_ERROR(layout_strides(args->host_layout, source->rank, source->dims, elem, strides));
  // the bytes from the first to past the last element; negative strides reach before `dst`
  size_t needed = source->bytes ? elem : 0;
  for (size_t i = 0; i < source->rank && source->bytes; ++i) {
    if (strides[i] > 0) needed += (size_t)(source->dims[i] - 1) * (size_t)strides[i];
  }
  if (!args->dst) {
    args->dst_size = needed;
    return NULL;
  }
  if (args->dst_size < needed) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT,
                        "PJRT_Buffer_ToHostBuffer: the host buffer has %zu bytes, %zu are needed",
                        args->dst_size, needed);
  }
  TT_API_RETURN_IF_ERROR(tt_api_buffer_hold(source));
  tt_queue_drain();
  int64_t dense[TT_MAX_RANK];
  dense_strides(source->rank, source->dims, elem, dense);
  move_array(source->rank, source->dims, elem, args->dst, strides, source->block->data, dense);
  tt_api_buffer_unhold(source);
  args->event = tt_api_event_done(TT_OK_STATUS);
  return NULL;
}

static tt_status_t check_raw(const char* what, PJRT_Buffer* buffer, int64_t offset, int64_t size) {
  if (offset < 0 || size < 0 || (uint64_t)offset + (uint64_t)size > buffer->bytes) {
    return tt_status_create(TT_INVALID_ARGUMENT, "%s: %lld bytes at offset %lld of a buffer of %zu bytes",
                            what, (long long)size, (long long)offset, buffer->bytes);
  }
  return TT_OK_STATUS;
}

PJRT_Error* tt_api_Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_CopyRawToHost, event);
  TT_API_RETURN_IF_ERROR(
      check_raw("PJRT_Buffer_CopyRawToHost", args->buffer, args->offset, args->transfer_size));
  TT_API_RETURN_IF_ERROR(tt_api_buffer_hold(args->buffer));
  tt_queue_drain();
  copy_bytes(args->dst, (char*)args->buffer->block->data + args->offset, (size_t)args->transfer_size);
  tt_api_buffer_unhold(args->buffer);
  args->event = tt_api_event_done(TT_OK_STATUS);
  return NULL;
}
