// Addresses of storages: one reserved, inaccessible range a device, cut into chunks; a chunk holds slots of
// one size class (a power of two) or part of one large storage. Address -> storage is two array look-ups.
//
// Invariants:
//  A1 ranges of live storages are disjoint, ascending by address, inside the reservation, 512-byte aligned;
//  A2 nothing in the reservation can be read or written (PROT_NONE);
//  A3 a small slot keeps its owner when that is freed: the storage object is reused with its slot;
//  A4 all functions run under the owner's lock (device.h).
#ifndef TT_EAGER_ADDRESS_H_
#define TT_EAGER_ADDRESS_H_

#include "base/base.h"
#include "base/status.h"
#include "tt/storage.h"

enum { TT_ADDRESS_MIN_SHIFT = 9, TT_ADDRESS_MAX_CLASSES = 32 };

typedef struct tt_address_chunk_s {
  uint8_t kind;  // 0 free, 1 slots, 2 head of a large storage, 3 continuation
  uint8_t shift;  // kind 1: log2 of the slot size
  uint32_t span;  // kind 2: chunks; kind 3: distance to the head
  tt_storage_t** owners;  // kind 1: [slots]; kind 2: one, in `owner`
  tt_storage_t* owner;
} tt_address_chunk_t;

typedef struct tt_address_range_s {
  char* base;
  size_t bytes;
  unsigned chunk_shift;
  size_t chunk_count;
  size_t first_free;  // no free chunk below
  tt_address_chunk_t* chunks;
  struct {
    size_t chunk, next, end;
  } open[TT_ADDRESS_MAX_CLASSES];  // slots not handed out yet, by class
} tt_address_range_t;

// Reserves up to `wanted` bytes, halving under a small address-space limit down to 64 MB.
tt_status_t tt_address_range_initialize(tt_address_range_t* range, size_t wanted) TT_MUST_USE;
void tt_address_range_deinitialize(tt_address_range_t* range);
// Size class of `bytes`: log2 of its slot, or 0 for a large one (own chunks).
unsigned tt_address_class(const tt_address_range_t* range, size_t bytes);
tt_status_t tt_address_allocate(tt_address_range_t* range, size_t bytes, tt_storage_t* owner,
                                void** out_address) TT_MUST_USE;
void tt_address_free_large(tt_address_range_t* range, void* address);
// Owner of the slot that holds `address` (live or not), or NULL.
tt_storage_t* tt_address_owner(const tt_address_range_t* range, const void* address);
static inline bool tt_address_range_holds(const tt_address_range_t* range, const void* address) {
  return (size_t)((const char*)address - range->base) < range->bytes;
}

// The storage that a live slot belongs to from now on (two live storages change places).
void tt_address_set_owner(tt_address_range_t* range, const void* address, tt_storage_t* owner);

// address_os.c
void* tt_address_reserve_os(size_t bytes);  // NULL if the system refuses
void tt_address_unreserve_os(void* base, size_t bytes);

#endif  // TT_EAGER_ADDRESS_H_
