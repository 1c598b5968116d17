#include "base/arena.h"

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format.h"

// Under AddressSanitizer every block is exact and followed by poisoned bytes: an overrun shows as on the heap.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_GUARD_BYTES 16
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_GUARD_BYTES 16
#endif
#ifdef ARENA_GUARD_BYTES
#include <sanitizer/asan_interface.h>
#else
#define ARENA_GUARD_BYTES 0
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)0)
#endif

struct tt_arena_chunk_s {
  tt_arena_chunk_t* next;
  size_t bytes;
};

#define CHUNK_HEADER_BYTES 32
#define FIRST_CHUNK_BYTES ((size_t)4096)
#define MAX_CHUNK_BYTES ((size_t)1 << 20)

void tt_arena_initialize(tt_arena_t* arena) { memset(arena, 0, sizeof(*arena)); }

static void free_chunks(tt_arena_chunk_t* chunk) {
  while (chunk) {
    tt_arena_chunk_t* next = chunk->next;
    ASAN_UNPOISON_MEMORY_REGION(chunk, chunk->bytes);
    tt_free(chunk);
    chunk = next;
  }
}

void tt_arena_deinitialize(tt_arena_t* arena) {
  free_chunks(arena->chunks);
  memset(arena, 0, sizeof(*arena));
}

void tt_arena_reset(tt_arena_t* arena) {
  tt_arena_chunk_t* newest = arena->chunks;
  if (!newest) return;
  free_chunks(newest->next);
  newest->next = NULL;
  char* start = (char*)newest + CHUNK_HEADER_BYTES;
  ASAN_UNPOISON_MEMORY_REGION(start, (size_t)(arena->cursor - start));
  memset(start, 0, (size_t)(arena->cursor - start));  // the rest was never handed out
  ASAN_POISON_MEMORY_REGION(start, (size_t)(arena->cursor - start));
  arena->cursor = start;
}

static bool add_chunk(tt_arena_t* arena, size_t bytes) {
  size_t wanted = arena->chunks ? TT_MIN(arena->chunks->bytes * 2, MAX_CHUNK_BYTES) : FIRST_CHUNK_BYTES;
  size_t needed;
  if (!tt_checked_add(bytes, CHUNK_HEADER_BYTES, &needed)) return false;
  wanted = TT_MAX(wanted, needed);
  void* block = NULL;
  tt_status_t status = tt_alloc(wanted, &block);
  if (!tt_status_is_ok(status)) {
    tt_status_ignore(status);  // NULL is how the arena says it
    return false;
  }
  tt_arena_chunk_t* chunk = block;
  chunk->bytes = wanted;
  chunk->next = arena->chunks;
  arena->chunks = chunk;
  arena->cursor = (char*)chunk + CHUNK_HEADER_BYTES;
  arena->limit = (char*)chunk + wanted;
  ASAN_POISON_MEMORY_REGION(arena->cursor, wanted - CHUNK_HEADER_BYTES);
  return true;
}

void* tt_arena_alloc(tt_arena_t* arena, size_t bytes) {
  if (bytes > SIZE_MAX - 64) return NULL;
  size_t taken = tt_align_up(bytes ? bytes : 1, 16) + ARENA_GUARD_BYTES;
  if (TT_UNLIKELY((size_t)(arena->limit - arena->cursor) < taken) && !add_chunk(arena, taken)) return NULL;
  void* result = arena->cursor;
  ASAN_UNPOISON_MEMORY_REGION(result, bytes);
  arena->cursor += taken;
  return result;
}

void* tt_arena_alloc_array(tt_arena_t* arena, size_t count, size_t size) {
  size_t bytes;
  return tt_checked_mul(count, size, &bytes) ? tt_arena_alloc(arena, bytes) : NULL;
}

void* tt_arena_copy(tt_arena_t* arena, const void* data, size_t bytes) {
  void* result = tt_arena_alloc(arena, bytes);
  if (result && bytes) memcpy(result, data, bytes);
  return result;
}

char* tt_arena_strndup(tt_arena_t* arena, const char* text, size_t size) {
  char* result = size == SIZE_MAX ? NULL : tt_arena_alloc(arena, size + 1);
  if (result && size) memcpy(result, text, size);
  return result;
}

char* tt_arena_printf(tt_arena_t* arena, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int length = tt_format_va(NULL, 0, format, args);
  va_end(args);
  if (length < 0) return NULL;
  char* result = tt_arena_alloc(arena, (size_t)length + 1);
  if (!result) return NULL;
  va_start(args, format);
  tt_format_va(result, (size_t)length + 1, format, args);
  va_end(args);
  return result;
}
