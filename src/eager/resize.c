// Resizing a storage in place: the object stays, so that calls of other threads, which find it without a lock,
// go on with what it holds when they come to lock it.
#include "base/base.h"
#include "eager/cell.h"
#include "eager/device.h"

#define SWAP(type, a, b) \
  do {                   \
    type kept = (a);     \
    (a) = (b);           \
    (b) = kept;          \
  } while (0)

// Contents, extent and address of two cells, which are locked. Holds stay: they only forbid donations (E6).
static void swap_cells(tt_engine_device_t* device, tt_storage_t* a, tt_storage_t* b) {
  tt_mutex_lock(&device->lock);   // the table of live storages, look-ups by address
  SWAP(size_t, a->bytes, b->bytes);
  SWAP(void*, a->address, b->address);
  SWAP(uint8_t, a->size_class, b->size_class);
  tt_address_set_owner(&device->range, a->address, a);
  tt_address_set_owner(&device->range, b->address, b);
  tt_mutex_unlock(&device->lock);
  SWAP(tt_rt_buffer_t*, a->buffer, b->buffer);
  SWAP(const char*, a->origin, b->origin);
  SWAP(uint8_t, a->dtype, b->dtype);
  SWAP(uint8_t, a->rank, b->rank);
  SWAP(uint16_t, a->padded, b->padded);
  SWAP(bool, a->is_shared, b->is_shared);
  SWAP(bool, a->is_raw, b->is_raw);
  for (size_t i = 0; i < TT_MAX_RANK; ++i) SWAP(int64_t, a->dims[i], b->dims[i]);
  ++a->version;
  ++b->version;
}

tt_status_t tt_storage_resize(tt_storage_t* storage, size_t bytes) {
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(storage->device, &engine, &device));
  tt_storage_t* fresh = NULL;
  TT_RETURN_IF_ERROR(tt_storage_allocate(storage->device, bytes, &fresh));
  tt_status_t status = TT_OK_STATUS;
  for (bool is_done = false; !is_done && tt_status_is_ok(status);) {
    tt_mutex_lock(&storage->lock);
    uint32_t version = storage->version;
    size_t kept = storage->buffer ? TT_MIN(bytes, storage->bytes) : 0;   // unbound: zeros either way (E1)
    tt_mutex_unlock(&storage->lock);
    if (kept) status = tt_storage_copy(fresh, 0, storage, 0, kept);
    if (!tt_status_is_ok(status)) break;
    tt_storage_t* cells[2] = {storage, fresh};
    tt_cells_lock(2, cells);
    is_done = storage->version == version;   // else a write came between: once more
    if (is_done) swap_cells(device, storage, fresh);
    tt_cells_unlock(2, cells);
  }
  tt_storage_release(fresh);
  return status;
}
