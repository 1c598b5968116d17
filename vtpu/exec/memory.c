// Two-level segregated fit over mapped segments, with the block records kept apart from the data.
//
// Invariants (beside M1..M4 of memory.h):
//  A1 a segment is tiled by blocks in address order (prev/next); no two neighbours are both free;
//  A2 every free block is in the bin of its size in its heap, its bit set; a live block is in no bin;
//  A3 reserved = sum of segment bytes - sum of decommitted bytes of free blocks;
//  A4 a block of the small heap (requests up to 1 MB) never lies in a segment of the large one, so small
//     long-lived blocks do not cut large segments;
//  A5 everything in the pool is guarded by its mutex, except a live block's reference count.
#include "exec/memory.h"

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "exec/memory_os.h"
#include "exec/queue.h"

#define GRANULE ((size_t)64)
#define SMALL_LIMIT ((size_t)1 << 20)
#define MAX_SHARED_SEGMENT ((size_t)32 << 20)
#define SUB_BITS 3
#define SUB_COUNT (1 << SUB_BITS)
#define LEVELS 44
#define RECORDS_PER_CHUNK 128

typedef struct block_s block_t;
typedef struct segment_s segment_t;

struct block_s {
  tt_vmem_t vmem;             // first: a tt_vmem_t* of ours is a block_t*
  block_t *prev, *next;       // neighbours in the segment
  block_t *bin_prev, *bin_next;
  segment_t* segment;
  size_t size;                // == vmem.capacity
  size_t decommitted;         // free blocks: bytes given back to the system
  bool is_free;
};

struct segment_s {
  void* data;
  size_t bytes;
  segment_t *prev, *next;
  uint8_t heap;
};

typedef struct heap_s {
  uint64_t level_bits;
  uint8_t sub_bits[LEVELS];
  block_t* bins[LEVELS][SUB_COUNT];
} heap_t;

typedef struct chunk_s {
  struct chunk_s* next;
  block_t records[RECORDS_PER_CHUNK];
} chunk_t;

struct tt_vmem_pool_s {
  tt_mutex_t mutex;
  heap_t heaps[2];            // 0 small, 1 large
  segment_t* segments;
  block_t* spare;             // unused records, by bin_next
  chunk_t* chunks;
  tt_vmem_stats_t stats;
  int64_t live;               // blocks
  bool released;
  char name[48];
};

// ---- bins --------------------------------------------------------------------------------------
// Sizes are in granules; below SUB_COUNT granules every size has its own bin at level 0.
static inline void bin_of(size_t size, int* level, int* sub) {
  size_t units = size / GRANULE;
  if (units < SUB_COUNT) {
    *level = 0;
    *sub = (int)units;
    return;
  }
  int log = 63 - __builtin_clzll(units);
  *level = log - SUB_BITS + 1;
  *sub = (int)((units >> (log - SUB_BITS)) & (SUB_COUNT - 1));
}

static void bin_insert(heap_t* heap, block_t* block) {
  int level, sub;
  bin_of(block->size, &level, &sub);
  block->is_free = true;
  block->bin_prev = NULL;
  block->bin_next = heap->bins[level][sub];
  if (block->bin_next) block->bin_next->bin_prev = block;
  heap->bins[level][sub] = block;
  heap->level_bits |= 1ull << level;
  heap->sub_bits[level] |= (uint8_t)(1u << sub);
}

static void bin_remove(heap_t* heap, block_t* block) {
  int level, sub;
  bin_of(block->size, &level, &sub);
  block->is_free = false;
  if (block->bin_next) block->bin_next->bin_prev = block->bin_prev;
  if (block->bin_prev) {
    block->bin_prev->bin_next = block->bin_next;
  } else {
    heap->bins[level][sub] = block->bin_next;
    if (!block->bin_next) {
      heap->sub_bits[level] &= (uint8_t)~(1u << sub);
      if (!heap->sub_bits[level]) heap->level_bits &= ~(1ull << level);
    }
  }
}

// A free block of at least `size`, or NULL. The own bin is searched a few entries deep first, so that a
// size that is freed and asked again finds its block; every block of a higher bin fits.
static block_t* bin_find(heap_t* heap, size_t size) {
  int level, sub;
  bin_of(size, &level, &sub);
  block_t* block = heap->bins[level][sub];
  for (int i = 0; block && i < 8; ++i, block = block->bin_next) {
    if (block->size >= size) return block;
  }
  unsigned subs = heap->sub_bits[level] & (unsigned)(0xfeu << sub) & 0xffu;
  if (!subs) {
    uint64_t levels = heap->level_bits & ~((2ull << level) - 1);
    if (!levels) return NULL;
    level = __builtin_ctzll(levels);
    subs = heap->sub_bits[level];
  }
  return heap->bins[level][__builtin_ctz(subs)];
}

// ---- records -----------------------------------------------------------------------------------
static block_t* record_take(tt_vmem_pool_t* pool) {
  if (!pool->spare) {
    void* memory;
    tt_status_t status = tt_alloc(sizeof(chunk_t), &memory);
    if (!tt_status_is_ok(status)) {
      tt_status_ignore(status);  // the caller makes its own, naming the pool
      return NULL;
    }
    chunk_t* chunk = memory;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    for (int i = RECORDS_PER_CHUNK - 1; i >= 0; --i) {
      chunk->records[i].bin_next = pool->spare;
      pool->spare = &chunk->records[i];
    }
  }
  block_t* block = pool->spare;
  pool->spare = block->bin_next;
  return block;
}

static void record_give(tt_vmem_pool_t* pool, block_t* block) {
  block->bin_next = pool->spare;
  pool->spare = block;
}

// ---- segments ----------------------------------------------------------------------------------
static void add_reserved(tt_vmem_pool_t* pool, int64_t bytes) { pool->stats.bytes_reserved += bytes; }

static void segment_unmap(tt_vmem_pool_t* pool, segment_t* segment, block_t* only) {
  bin_remove(&pool->heaps[segment->heap], only);
  add_reserved(pool, (int64_t)only->decommitted - (int64_t)segment->bytes);
  if (segment->prev) segment->prev->next = segment->next;
  else pool->segments = segment->next;
  if (segment->next) segment->next->prev = segment->prev;
  tt_vmem_os_unmap(segment->data, segment->bytes);
  record_give(pool, only);
  tt_free(segment);
}

// Gives back whole free segments, and with `pages` the pages of the other free blocks.
static void give_back(tt_vmem_pool_t* pool, bool pages) {
  tt_queue_drain();             // a free block may still be in use there (queue.h)
  for (int h = 0; h < 2; ++h) {
    heap_t* heap = &pool->heaps[h];
    for (int level = 0; level < LEVELS; ++level) {
      for (int sub = 0; sub < SUB_COUNT; ++sub) {
        block_t* next;
        for (block_t* block = heap->bins[level][sub]; block; block = next) {
          next = block->bin_next;
          if (!block->prev && !block->next) {
            segment_unmap(pool, block->segment, block);
          } else if (pages && block->size >= 4096) {
            size_t given = tt_vmem_os_decommit(block->vmem.data, block->size);
            add_reserved(pool, (int64_t)block->decommitted - (int64_t)given);
            block->decommitted = given;
          }
        }
      }
    }
  }
}

// Puts a block into its bin, joined with free neighbours (A1).
static void block_give(tt_vmem_pool_t* pool, block_t* block) {
  heap_t* heap = &pool->heaps[block->segment->heap];
  block_t* next = block->next;
  if (next && next->is_free) {
    bin_remove(heap, next);
    block->size += next->size;
    block->decommitted += next->decommitted;
    block->next = next->next;
    if (block->next) block->next->prev = block;
    record_give(pool, next);
  }
  block_t* prev = block->prev;
  if (prev && prev->is_free) {
    bin_remove(heap, prev);
    prev->size += block->size;
    prev->decommitted += block->decommitted;
    prev->next = block->next;
    if (prev->next) prev->next->prev = prev;
    record_give(pool, block);
    block = prev;
  }
  bin_insert(heap, block);
}

// Maps a segment for a request of `size` and returns its one free block, NULL when the budget or the
// system refuses it.
static block_t* segment_map(tt_vmem_pool_t* pool, size_t size, int heap) {
  int64_t room = pool->stats.bytes_limit - pool->stats.bytes_reserved;
  if (room < (int64_t)size) return NULL;
  // Segments grow with the pool, so that few mappings serve many blocks.
  size_t bytes = tt_align_up(size, TT_VMEM_PAGE_BYTES);
  size_t grown = (size_t)pool->stats.bytes_reserved / 8 & ~(TT_VMEM_PAGE_BYTES - 1);
  if (grown > MAX_SHARED_SEGMENT) grown = MAX_SHARED_SEGMENT;
  if (size <= MAX_SHARED_SEGMENT / 2 && bytes < grown) bytes = grown;
  if ((int64_t)bytes > room) bytes = size;
  segment_t* segment = NULL;
  void* memory;
  tt_status_t status = tt_alloc(sizeof(segment_t), &memory);
  if (tt_status_is_ok(status)) {
    segment = memory;
    status = tt_vmem_os_map(bytes, &segment->data);
  }
  block_t* block = tt_status_is_ok(status) ? record_take(pool) : NULL;
  if (!block) {
    tt_status_ignore(status);  // the caller names pool and budget
    if (segment && segment->data) tt_vmem_os_unmap(segment->data, bytes);
    tt_free(segment);
    return NULL;
  }
  segment->bytes = bytes;
  segment->heap = (uint8_t)heap;
  segment->prev = NULL;
  segment->next = pool->segments;
  if (segment->next) segment->next->prev = segment;
  pool->segments = segment;
  add_reserved(pool, (int64_t)bytes);
  ++pool->stats.num_system_allocs;
  memset(block, 0, sizeof(*block));
  block->segment = segment;
  block->size = bytes;
  block->vmem.data = segment->data;
  bin_insert(&pool->heaps[heap], block);
  return block;
}

// ---- pool --------------------------------------------------------------------------------------
tt_status_t tt_vmem_pool_create(const char* name, int64_t budget_bytes, tt_vmem_pool_t** out_pool) {
  *out_pool = NULL;
  if (budget_bytes < 0) {
    return tt_status_create(TT_INVALID_ARGUMENT, "memory budget of %s is %lld bytes; it cannot be negative",
                            name, (long long)budget_bytes);
  }
  void* memory;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_vmem_pool_t), &memory));
  tt_vmem_pool_t* pool = memory;
  tt_mutex_initialize(&pool->mutex, TT_RANK_ALLOCATOR);
  pool->stats.bytes_limit = budget_bytes;
  strncpy(pool->name, name, sizeof(pool->name) - 1);
  *out_pool = pool;
  return TT_OK_STATUS;
}

static void pool_destroy(tt_vmem_pool_t* pool) {
  give_back(pool, false);
  while (pool->chunks) {
    chunk_t* next = pool->chunks->next;
    tt_free(pool->chunks);
    pool->chunks = next;
  }
  tt_mutex_deinitialize(&pool->mutex);
  tt_free(pool);
}

void tt_vmem_pool_release(tt_vmem_pool_t* pool) {
  if (!pool) return;
  tt_mutex_lock(&pool->mutex);
  pool->released = true;
  bool last = pool->live == 0;
  tt_mutex_unlock(&pool->mutex);
  if (last) pool_destroy(pool);
}

static tt_status_t refuse(tt_vmem_pool_t* pool, size_t bytes) {
  int64_t in_use = pool->stats.bytes_in_use, reserved = pool->stats.bytes_reserved,
          limit = pool->stats.bytes_limit;
  tt_mutex_unlock(&pool->mutex);
  return tt_status_create(
      TT_RESOURCE_EXHAUSTED,
      "out of memory on %s: %zu bytes asked, %lld in use, %lld reserved, budget %lld bytes", pool->name,
      bytes, (long long)in_use, (long long)reserved, (long long)limit);
}

tt_status_t tt_vmem_allocate(tt_vmem_pool_t* pool, size_t bytes, tt_vmem_t** out_block) {
  *out_block = NULL;
  size_t size = bytes <= GRANULE ? GRANULE : tt_align_up(bytes, GRANULE);
  tt_mutex_lock(&pool->mutex);
  if (TT_UNLIKELY(size < bytes || size > (size_t)INT64_MAX / 2 ||
                  pool->stats.bytes_in_use + (int64_t)size > pool->stats.bytes_limit)) {
    return refuse(pool, bytes);
  }
  int h = size > SMALL_LIMIT;
  heap_t* heap = &pool->heaps[h];
  block_t* block = bin_find(heap, size);
  if (TT_UNLIKELY(!block)) {
    block = segment_map(pool, size, h);
    if (!block) {
      give_back(pool, true);
      block = segment_map(pool, size, h);
    }
    if (!block) return refuse(pool, bytes);
  }
  bin_remove(heap, block);
  add_reserved(pool, (int64_t)block->decommitted);  // its pages are backed again
  block->decommitted = 0;
  // Large remainders stay usable, small ones are not worth a record.
  size_t rest = block->size - size;
  if (rest >= (h ? SMALL_LIMIT : GRANULE)) {
    block_t* tail = record_take(pool);
    if (tail) {
      memset(tail, 0, sizeof(*tail));
      tail->segment = block->segment;
      tail->vmem.data = (char*)block->vmem.data + size;
      tail->size = rest;
      tail->prev = block;
      tail->next = block->next;
      if (tail->next) tail->next->prev = tail;
      block->next = tail;
      block->size = size;
      bin_insert(heap, tail);
    }
  }
  if (TT_UNLIKELY(pool->stats.bytes_reserved > pool->stats.bytes_limit)) {
    give_back(pool, true);
    if (pool->stats.bytes_reserved > pool->stats.bytes_limit) {
      block_give(pool, block);
      give_back(pool, true);
      return refuse(pool, bytes);
    }
  }
  tt_vmem_stats_t* stats = &pool->stats;
  if (stats->bytes_reserved > stats->peak_bytes_reserved) stats->peak_bytes_reserved = stats->bytes_reserved;
  stats->bytes_in_use += (int64_t)block->size;
  if (stats->bytes_in_use > stats->peak_bytes_in_use) stats->peak_bytes_in_use = stats->bytes_in_use;
  ++stats->num_allocs;
  if ((int64_t)bytes > stats->largest_alloc_bytes) stats->largest_alloc_bytes = (int64_t)bytes;
  ++pool->live;
  block->vmem.bytes = bytes;
  block->vmem.capacity = block->size;
  block->vmem.pool = pool;
  block->vmem.references = 1;
  tt_mutex_unlock(&pool->mutex);
  *out_block = &block->vmem;
  return TT_OK_STATUS;
}

void tt_vmem_retain(tt_vmem_t* block) {
  if (block) __atomic_fetch_add(&block->references, 1, __ATOMIC_RELAXED);
}

void tt_vmem_release(tt_vmem_t* vmem) {
  if (!vmem) return;
  // release: our uses happen before the block is handed to its next owner; acquire: those of others too
  if (__atomic_fetch_sub(&vmem->references, 1, __ATOMIC_ACQ_REL) != 1) return;
  block_t* block = (block_t*)vmem;
  tt_vmem_pool_t* pool = vmem->pool;
  tt_mutex_lock(&pool->mutex);
  pool->stats.bytes_in_use -= (int64_t)block->size;
  ++pool->stats.num_frees;
  --pool->live;
  block_give(pool, block);
  bool last = pool->released && pool->live == 0;
  tt_mutex_unlock(&pool->mutex);
  if (last) pool_destroy(pool);
}

void tt_vmem_trim(tt_vmem_pool_t* pool) {
  tt_mutex_lock(&pool->mutex);
  give_back(pool, true);
  tt_mutex_unlock(&pool->mutex);
}

void tt_vmem_stats(tt_vmem_pool_t* pool, tt_vmem_stats_t* out_stats) {
  tt_mutex_lock(&pool->mutex);
  *out_stats = pool->stats;
  tt_mutex_unlock(&pool->mutex);
}

void tt_vmem_reset_peak(tt_vmem_pool_t* pool) {
  tt_mutex_lock(&pool->mutex);
  pool->stats.peak_bytes_in_use = pool->stats.bytes_in_use;
  pool->stats.peak_bytes_reserved = pool->stats.bytes_reserved;
  tt_mutex_unlock(&pool->mutex);
}
