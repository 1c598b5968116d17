#include "cache/lru.h"

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

typedef struct entry_s entry_t;
struct entry_s {
  entry_t* chain;              // next of the bucket
  entry_t *newer, *older;      // recency list
  uint64_t hash;
  void* value;
  size_t key_bytes;
  unsigned char key[];
};

struct tt_lru_s {
  tt_mutex_t lock;             // guards all below
  tt_lru_value_fn_t retain, release;
  size_t capacity;
  size_t bucket_count;         // power of two
  entry_t** buckets;
  entry_t *newest, *oldest;
  tt_lru_stats_t stats;
};

enum { INITIAL_BUCKETS = 256 };

tt_status_t tt_lru_create(size_t capacity, tt_lru_value_fn_t retain, tt_lru_value_fn_t release,
                          tt_lru_t** out_lru) {
  *out_lru = NULL;
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_lru_t), &block));
  tt_lru_t* lru = block;
  void* buckets = NULL;
  tt_status_t status = tt_alloc_array(INITIAL_BUCKETS, sizeof(entry_t*), &buckets);
  if (!tt_status_is_ok(status)) {
    tt_free(lru);
    return status;
  }
  lru->buckets = buckets;
  lru->bucket_count = INITIAL_BUCKETS;
  lru->capacity = capacity ? capacity : 1;
  lru->retain = retain;
  lru->release = release;
  tt_mutex_initialize(&lru->lock, TT_RANK_CACHE);
  *out_lru = lru;
  return TT_OK_STATUS;
}

static entry_t** bucket_of(tt_lru_t* lru, uint64_t hash) {
  return &lru->buckets[hash & (lru->bucket_count - 1)];
}

static void unlink_recency(tt_lru_t* lru, entry_t* entry) {
  if (entry->newer)
    entry->newer->older = entry->older;
  else
    lru->newest = entry->older;
  if (entry->older)
    entry->older->newer = entry->newer;
  else
    lru->oldest = entry->newer;
}

static void link_newest(tt_lru_t* lru, entry_t* entry) {
  entry->newer = NULL;
  entry->older = lru->newest;
  if (lru->newest)
    lru->newest->newer = entry;
  else
    lru->oldest = entry;
  lru->newest = entry;
}

static void unlink_entry(tt_lru_t* lru, entry_t* entry) {
  entry_t** at = bucket_of(lru, entry->hash);
  while (*at != entry) at = &(*at)->chain;
  *at = entry->chain;
  unlink_recency(lru, entry);
  --lru->stats.entries;
}

// Moves the oldest entries over `limit` onto a list threaded through `chain`; freed by free_list without
// the lock.
static entry_t* take_over(tt_lru_t* lru, size_t limit) {
  entry_t* list = NULL;
  while (lru->oldest && (size_t)lru->stats.entries > limit) {
    entry_t* entry = lru->oldest;
    unlink_entry(lru, entry);
    entry->chain = list;
    list = entry;
  }
  return list;
}

static void free_list(tt_lru_t* lru, entry_t* list) {
  while (list) {
    entry_t* next = list->chain;
    if (lru->release) lru->release(list->value);
    tt_free(list);
    list = next;
  }
}

void tt_lru_clear(tt_lru_t* lru) {
  if (!lru) return;
  tt_mutex_lock(&lru->lock);
  entry_t* list = take_over(lru, 0);
  tt_mutex_unlock(&lru->lock);
  free_list(lru, list);
}

void tt_lru_release(tt_lru_t* lru) {
  if (!lru) return;
  tt_lru_clear(lru);
  tt_mutex_deinitialize(&lru->lock);
  tt_free(lru->buckets);
  tt_free(lru);
}

static void* hit(tt_lru_t* lru, entry_t* entry) {
  if (lru->newest != entry) {
    unlink_recency(lru, entry);
    link_newest(lru, entry);
  }
  ++lru->stats.hits;
  if (lru->retain) lru->retain(entry->value);
  return entry->value;
}

void* tt_lru_find(tt_lru_t* lru, uint64_t hash, const void* key, size_t key_bytes) {
  void* value = NULL;
  tt_mutex_lock(&lru->lock);
  for (entry_t* entry = *bucket_of(lru, hash); entry; entry = entry->chain) {
    if (entry->hash == hash && entry->key_bytes == key_bytes && memcmp(entry->key, key, key_bytes) == 0) {
      value = hit(lru, entry);
      break;
    }
  }
  if (!value) ++lru->stats.misses;
  tt_mutex_unlock(&lru->lock);
  return value;
}

void* tt_lru_find_equal(tt_lru_t* lru, uint64_t hash, tt_lru_equal_t equal, const void* self) {
  void* value = NULL;
  tt_mutex_lock(&lru->lock);
  for (entry_t* entry = *bucket_of(lru, hash); entry; entry = entry->chain) {
    if (entry->hash == hash && equal(self, entry->value)) {
      value = hit(lru, entry);
      break;
    }
  }
  if (!value) ++lru->stats.misses;
  tt_mutex_unlock(&lru->lock);
  return value;
}

// Doubles the buckets; when memory is short the chains just get longer.
static void grow(tt_lru_t* lru) {
  void* block = NULL;
  size_t count = lru->bucket_count * 2;
  tt_status_t status = tt_alloc_array(count, sizeof(entry_t*), &block);
  if (!tt_status_is_ok(status)) {
    tt_status_ignore(status);  // longer chains are still right
    return;
  }
  tt_free(lru->buckets);
  lru->buckets = block;
  lru->bucket_count = count;
  for (entry_t* entry = lru->newest; entry; entry = entry->older) {
    entry_t** bucket = bucket_of(lru, entry->hash);
    entry->chain = *bucket;
    *bucket = entry;
  }
}

tt_status_t tt_lru_insert(tt_lru_t* lru, uint64_t hash, const void* key, size_t key_bytes, void* value) {
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(entry_t) + key_bytes, &block));
  entry_t* fresh = block;
  fresh->hash = hash;
  fresh->value = value;
  fresh->key_bytes = key_bytes;
  if (key_bytes) memcpy(fresh->key, key, key_bytes);
  tt_mutex_lock(&lru->lock);
  entry_t* dead = NULL;
  for (entry_t* entry = key_bytes ? *bucket_of(lru, hash) : NULL; entry; entry = entry->chain) {
    if (entry->hash == hash && entry->key_bytes == key_bytes && memcmp(entry->key, key, key_bytes) == 0) {
      unlink_entry(lru, entry);
      entry->chain = NULL;
      dead = entry;
      break;
    }
  }
  if (lru->retain) lru->retain(value);
  if ((size_t)lru->stats.entries >= lru->bucket_count) grow(lru);
  entry_t** bucket = bucket_of(lru, hash);
  fresh->chain = *bucket;
  *bucket = fresh;
  link_newest(lru, fresh);
  ++lru->stats.entries;
  int64_t before = lru->stats.entries;
  entry_t* evicted = take_over(lru, lru->capacity);
  lru->stats.evictions += before - lru->stats.entries;
  tt_mutex_unlock(&lru->lock);
  free_list(lru, dead);
  free_list(lru, evicted);
  return TT_OK_STATUS;
}

void tt_lru_set_capacity(tt_lru_t* lru, size_t capacity) {
  tt_mutex_lock(&lru->lock);
  lru->capacity = capacity ? capacity : 1;
  int64_t before = lru->stats.entries;
  entry_t* evicted = take_over(lru, lru->capacity);
  lru->stats.evictions += before - lru->stats.entries;
  tt_mutex_unlock(&lru->lock);
  free_list(lru, evicted);
}

void tt_lru_stats(tt_lru_t* lru, tt_lru_stats_t* out_stats) {
  tt_mutex_lock(&lru->lock);
  *out_stats = lru->stats;
  tt_mutex_unlock(&lru->lock);
}
