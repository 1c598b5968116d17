// A free list of equal records for objects that are made and dropped at every call: records come in chunks,
// go back to the list and return to the heap only with the whole list.
//
// Invariants:
//  F1 a record is either in the list or with one holder; give() hands it over, link included;
//  F2 the lock is a spin lock held for a few instructions and never around an allocation;
//  F3 what a holder wrote before give() is seen by the next holder (release / acquire of the lock).
#ifndef TT_BASE_FREELIST_H_
#define TT_BASE_FREELIST_H_

#include "base/base.h"
#include "base/status.h"

typedef struct tt_freelist_s {
  uint32_t spin;         // atomic; guards the two below
  void* first;
  void* chunks;
  uint32_t record_bytes;
  uint32_t link_offset;  // of a pointer inside the record that the list uses while it has the record
} tt_freelist_t;

#define TT_FREELIST_INITIALIZE(list, type, link) \
  tt_freelist_initialize(list, (uint32_t)sizeof(type), (uint32_t)offsetof(type, link))
// No allocation before the first take.
void tt_freelist_initialize(tt_freelist_t* list, uint32_t record_bytes, uint32_t link_offset);
// Every record must be back or unused from now on.
void tt_freelist_deinitialize(tt_freelist_t* list);

// A new chunk's records are zeroed; a used one holds what its last holder left. 16-byte aligned.
tt_status_t tt_freelist_grow(tt_freelist_t* list, void** out_record) TT_MUST_USE;

static inline void tt_freelist_lock(tt_freelist_t* list) {
  while (__atomic_exchange_n(&list->spin, 1, __ATOMIC_ACQUIRE)) {
    while (__atomic_load_n(&list->spin, __ATOMIC_RELAXED)) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }
}
static inline void tt_freelist_unlock(tt_freelist_t* list) {
  __atomic_store_n(&list->spin, 0, __ATOMIC_RELEASE);
}
static inline void** tt_freelist_link(const tt_freelist_t* list, void* record) {
  return (void**)((char*)record + list->link_offset);
}

static inline TT_MUST_USE tt_status_t tt_freelist_take(tt_freelist_t* list, void** out_record) {
  tt_freelist_lock(list);
  void* record = list->first;
  if (TT_LIKELY(record != NULL)) list->first = *tt_freelist_link(list, record);
  tt_freelist_unlock(list);
  if (TT_UNLIKELY(!record)) return tt_freelist_grow(list, out_record);
  *out_record = record;
  return TT_OK_STATUS;
}
static inline void tt_freelist_give(tt_freelist_t* list, void* record) {
  tt_freelist_lock(list);
  *tt_freelist_link(list, record) = list->first;
  list->first = record;
  tt_freelist_unlock(list);
}

#endif  // TT_BASE_FREELIST_H_
