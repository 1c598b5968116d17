// Buffers: a dense row-major block with a shape.
//
// The state word:  bits 0..27 readers | EXCLUSIVE being donated | DELETED | RELEASED its block is gone
//
//          hold/unhold            donate_begin               commit
//   [0] <------------> [n]   [0] ------------> [EXCLUSIVE] --------> [DELETED] -> [DELETED|RELEASED]
//                                    ^ cancel <----|            delete: from any, EXCLUSIVE included; the last
//                                                               reader releases
//
// Invariants:
//  B1 `block` is read only between hold and unhold, or by the holder of EXCLUSIVE;
//  B2 the block is released once, by whoever moves DELETED with no readers to RELEASED;
//  B3 an external reference (a raw pointer given out) is a hold that lasts until it is given back.
#include <string.h>

#include "api/api.h"
#include "exec/queue.h"

#define READERS 0x0fffffffu
#define EXCLUSIVE (1u << 28)
#define DELETED (1u << 29)
#define RELEASED (1u << 30)

bool tt_api_dense_bytes(tt_dtype_t dtype, size_t rank, const int64_t* dims, size_t* out_bytes) {
  size_t bytes = tt_dtype_bytes(dtype);
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return false;
  }
  int64_t elems;
  if (!tt_checked_product(dims, rank, &elems)) return false;
  return tt_checked_mul((size_t)elems, bytes, out_bytes) && *out_bytes <= (size_t)INT64_MAX;
}

tt_status_t tt_api_buffer_create(PJRT_Memory* memory, tt_dtype_t dtype, size_t rank, const int64_t* dims,
                                 tt_vmem_t* block, PJRT_Buffer** out_buffer) {
  *out_buffer = NULL;
  PJRT_Client* client = memory->client;
  void* record;
  tt_status_t status = tt_freelist_take(&client->free_buffers, &record);
  if (TT_UNLIKELY(!tt_status_is_ok(status))) {
    tt_vmem_release(block);
    return status;
  }
  PJRT_Buffer* buffer = record;
  tt_api_client_retain(client);
  buffer->state = 0;
  buffer->external_references = 0;
  buffer->client = client;
  buffer->memory = memory;
  buffer->block = block;
  buffer->error = TT_OK_STATUS;
  buffer->dtype = dtype;
  buffer->rank = (uint32_t)rank;
  buffer->bytes = block ? block->bytes : 0;
  for (size_t i = 0; i < rank; ++i) buffer->dims[i] = dims[i];
  *out_buffer = buffer;
  return TT_OK_STATUS;
}

// ---- state -------------------------------------------------------------------------------------
static void release_if_unused(PJRT_Buffer* buffer) {
  uint32_t expected = DELETED;
  // acquire: the readers' uses come before the block goes (B2)
  if (__atomic_compare_exchange_n(&buffer->state, &expected, DELETED | RELEASED, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED)) {
    tt_vmem_release(buffer->block);
    buffer->block = NULL;
  }
}

void tt_api_buffer_unhold(PJRT_Buffer* buffer) {
  uint32_t left = __atomic_sub_fetch(&buffer->state, 1, __ATOMIC_ACQ_REL);
  if (TT_UNLIKELY(left == DELETED)) release_if_unused(buffer);
}

tt_status_t tt_api_buffer_hold(PJRT_Buffer* buffer) {
  // acquire: pairs with the releases of commit and cancel
  uint32_t before = __atomic_fetch_add(&buffer->state, 1, __ATOMIC_ACQUIRE);
  if (TT_UNLIKELY(before & (DELETED | EXCLUSIVE))) {
    tt_api_buffer_unhold(buffer);
    return before & DELETED
               ? tt_status_create(TT_INVALID_ARGUMENT, "the buffer was deleted or donated")
               : tt_status_create(TT_INVALID_ARGUMENT, "the buffer is being donated to a running program");
  }
  if (TT_UNLIKELY(buffer->error != TT_OK_STATUS)) {
    tt_status_t error = tt_status_copy(buffer->error);
    tt_api_buffer_unhold(buffer);
    return error;
  }
  return TT_OK_STATUS;
}

bool tt_api_buffer_donate_begin(PJRT_Buffer* buffer) {
  uint32_t expected = 0;
  if (__atomic_load_n(&buffer->external_references, __ATOMIC_ACQUIRE) != 0 ||
      !__atomic_compare_exchange_n(&buffer->state, &expected, EXCLUSIVE | 1, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return false;
  }
  if (TT_LIKELY(buffer->block != NULL)) return true;
  tt_api_buffer_donate_cancel(buffer);  // an error buffer: a hold gives its error
  return false;
}

void tt_api_buffer_donate_commit(PJRT_Buffer* buffer) {
  // two steps, for a delete may have set DELETED meanwhile; our own hold keeps the block until the last line
  __atomic_fetch_or(&buffer->state, DELETED, __ATOMIC_ACQ_REL);
  __atomic_fetch_and(&buffer->state, ~EXCLUSIVE, __ATOMIC_ACQ_REL);
  tt_api_buffer_unhold(buffer);
}

void tt_api_buffer_donate_cancel(PJRT_Buffer* buffer) {
  __atomic_fetch_sub(&buffer->state, EXCLUSIVE, __ATOMIC_ACQ_REL);
  tt_api_buffer_unhold(buffer);
}

void tt_api_buffer_delete(PJRT_Buffer* buffer) {
  __atomic_fetch_or(&buffer->state, DELETED, __ATOMIC_ACQ_REL);
  release_if_unused(buffer);
}

bool tt_api_buffer_is_deleted(const PJRT_Buffer* buffer) {
  return (__atomic_load_n(&buffer->state, __ATOMIC_ACQUIRE) & DELETED) != 0;
}

void tt_api_buffer_destroy(PJRT_Buffer* buffer) {
  if (!buffer) return;
  PJRT_Client* client = buffer->client;
  // nobody may use it now, pointers given out included
  if (!(buffer->state & RELEASED)) tt_vmem_release(buffer->block);
  buffer->block = NULL;
  if (TT_UNLIKELY(buffer->error != TT_OK_STATUS)) {
    tt_status_free(buffer->error);
    buffer->error = TT_OK_STATUS;
  }
  buffer->state = DELETED | RELEASED;
  tt_freelist_give(&client->free_buffers, buffer);
  tt_api_client_release(client);
}

// ---- slots: life -------------------------------------------------------------------------------
PJRT_Error* tt_api_Buffer_Destroy(PJRT_Buffer_Destroy_Args* args) {
  tt_api_buffer_destroy(args->buffer);
  return NULL;
}

PJRT_Error* tt_api_Buffer_Delete(PJRT_Buffer_Delete_Args* args) {
  tt_api_buffer_delete(args->buffer);
  return NULL;
}

PJRT_Error* tt_api_Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_IsDeleted, is_deleted);
  args->is_deleted = tt_api_buffer_is_deleted(args->buffer);
  return NULL;
}

PJRT_Error* tt_api_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_ReadyEvent, event);
  if (tt_api_buffer_is_deleted(args->buffer)) {
    TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT, "PJRT_Buffer_ReadyEvent: the buffer was deleted or donated");
  }
  tt_queue_drain();
  args->event = tt_api_event_done(tt_status_copy(args->buffer->error));
  if (!args->event) {
    TT_API_RETURN_ERROR(TT_RESOURCE_EXHAUSTED, "PJRT_Buffer_ReadyEvent: no memory for an event");
  }
  return NULL;
}

// ---- slots: shape and place --------------------------------------------------------------------
PJRT_Error* tt_api_Buffer_ElementType(PJRT_Buffer_ElementType_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_ElementType, type);
  args->type = (PJRT_Buffer_Type)tt_dtype_pjrt(args->buffer->dtype);
  return NULL;
}

PJRT_Error* tt_api_Buffer_Dimensions(PJRT_Buffer_Dimensions_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_Dimensions, num_dims);
  args->dims = args->buffer->dims;
  args->num_dims = args->buffer->rank;
  return NULL;
}

PJRT_Error* tt_api_Buffer_UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_UnpaddedDimensions, num_dims);
  args->unpadded_dims = args->buffer->dims;
  args->num_dims = args->buffer->rank;
  return NULL;
}

PJRT_Error* tt_api_Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_DynamicDimensionIndices, num_dynamic_dims);
  static const size_t none[1];
  args->dynamic_dim_indices = none;
  args->num_dynamic_dims = 0;
  return NULL;
}

PJRT_Error* tt_api_Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_GetMemoryLayout, layout);
  // row-major, minor to major: the tail of a descending list
  static const int64_t descending[TT_MAX_RANK] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  PJRT_Buffer_MemoryLayout* layout = &args->layout;
  memset(layout, 0, sizeof(*layout));
  layout->struct_size = sizeof(*layout);
  layout->type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout->tiled.struct_size = sizeof(layout->tiled);
  layout->tiled.minor_to_major = descending + (TT_MAX_RANK - args->buffer->rank);
  layout->tiled.minor_to_major_size = args->buffer->rank;
  return NULL;
}

PJRT_Error* tt_api_Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_OnDeviceSizeInBytes, on_device_size_in_bytes);
  args->on_device_size_in_bytes = args->buffer->bytes;
  return NULL;
}

PJRT_Error* tt_api_Buffer_Device(PJRT_Buffer_Device_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_Device, device);
  args->device = args->buffer->memory->device;
  return NULL;
}

PJRT_Error* tt_api_Buffer_Memory(PJRT_Buffer_Memory_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_Memory, memory);
  args->memory = args->buffer->memory;
  return NULL;
}

// "On CPU" would let a client read our memory directly and skip the copy; a virtual TPU is not the host.
PJRT_Error* tt_api_Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_IsOnCpu, is_on_cpu);
  args->is_on_cpu = false;
  return NULL;
}

// ---- slots: raw pointers -----------------------------------------------------------------------
PJRT_Error* tt_api_Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_UnsafePointer, buffer_pointer);
  TT_API_RETURN_IF_ERROR(tt_api_buffer_hold(args->buffer));
  tt_queue_drain();
  args->buffer_pointer = (uintptr_t)args->buffer->block->data;
  tt_api_buffer_unhold(args->buffer);
  return NULL;
}

PJRT_Error* tt_api_Buffer_OpaqueDeviceMemoryDataPointer(
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_OpaqueDeviceMemoryDataPointer, device_memory_ptr);
  TT_API_RETURN_IF_ERROR(tt_api_buffer_hold(args->buffer));
  tt_queue_drain();
  args->device_memory_ptr = args->buffer->block->data;
  tt_api_buffer_unhold(args->buffer);
  return NULL;
}

PJRT_Error* tt_api_Buffer_IncreaseExternalReferenceCount(
    PJRT_Buffer_IncreaseExternalReferenceCount_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_IncreaseExternalReferenceCount, buffer);
  PJRT_Buffer* buffer = args->buffer;
  TT_API_RETURN_IF_ERROR(tt_api_buffer_hold(buffer));
  tt_queue_drain();
  // the count stays with the buffer: a held buffer is not donated, so the block is not written
  __atomic_fetch_add(&buffer->external_references, 1, __ATOMIC_ACQ_REL);
  return NULL;  // the hold is ended by Decrease
}

PJRT_Error* tt_api_Buffer_DecreaseExternalReferenceCount(
    PJRT_Buffer_DecreaseExternalReferenceCount_Args* args) {
  TT_API_CHECK_ARGS(args, Buffer_DecreaseExternalReferenceCount, buffer);
  PJRT_Buffer* buffer = args->buffer;
  int32_t count = __atomic_load_n(&buffer->external_references, __ATOMIC_ACQUIRE);
  do {
    if (count <= 0) {
      TT_API_RETURN_ERROR(TT_INVALID_ARGUMENT,
                          "PJRT_Buffer_DecreaseExternalReferenceCount: the buffer has no external reference");
    }
  } while (!__atomic_compare_exchange_n(&buffer->external_references, &count, count - 1, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  tt_api_buffer_unhold(buffer);
  return NULL;
}
