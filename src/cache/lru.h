// A bounded map from byte keys to reference-counted values, least recently used out first.
//
// Invariants:
//  C1 entries <= capacity after every insert; the entry evicted is the one whose last find or insert is
//    oldest;
//  C2 the map holds one reference on each value; find gives the caller one more;
//  C3 keys are compared byte for byte after their hash; equal hashes never merge different keys;
//  C4 value callbacks run without the map's lock (a release may free an executable, which takes other locks),
//     except retain, which must only count;
//  C5 find allocates nothing.
#ifndef TT_CACHE_LRU_H_
#define TT_CACHE_LRU_H_

#include "base/base.h"
#include "base/status.h"

typedef struct tt_lru_s tt_lru_t;
typedef void (*tt_lru_value_fn_t)(void* value);

typedef struct tt_lru_stats_s {
  int64_t hits, misses, evictions, entries;
} tt_lru_stats_t;

tt_status_t tt_lru_create(size_t capacity, tt_lru_value_fn_t retain, tt_lru_value_fn_t release,
                          tt_lru_t** out_lru) TT_MUST_USE;
void tt_lru_release(tt_lru_t* lru);
// Retained value, or NULL.
void* tt_lru_find(tt_lru_t* lru, uint64_t hash, const void* key, size_t key_bytes);
// As find, but the caller says equality (structural keys): `equal(self, value)` under the lock.
typedef bool (*tt_lru_equal_t)(const void* self, const void* value);
void* tt_lru_find_equal(tt_lru_t* lru, uint64_t hash, tt_lru_equal_t equal, const void* self);
// Retains `value`. An entry with the same key is replaced. The key is copied.
tt_status_t tt_lru_insert(tt_lru_t* lru, uint64_t hash, const void* key, size_t key_bytes,
                          void* value) TT_MUST_USE;
void tt_lru_clear(tt_lru_t* lru);
void tt_lru_set_capacity(tt_lru_t* lru, size_t capacity);  // evicts down to it; at least 1
void tt_lru_stats(tt_lru_t* lru, tt_lru_stats_t* out_stats);

#endif  // TT_CACHE_LRU_H_
