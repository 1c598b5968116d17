// Bump allocator for per-program and per-call scratch: everything is freed together.
// Not thread-safe; one owner at a time.
#ifndef TT_BASE_ARENA_H_
#define TT_BASE_ARENA_H_

#include "base/base.h"
#include "base/status.h"

typedef struct tt_arena_chunk_s tt_arena_chunk_t;

typedef struct tt_arena_s {
  tt_arena_chunk_t* chunks;  // newest first
  char* cursor;
  char* limit;
} tt_arena_t;

// No allocation happens before the first tt_arena_alloc.
void tt_arena_initialize(tt_arena_t* arena);
void tt_arena_deinitialize(tt_arena_t* arena);
// Frees all but one chunk and starts over; pointers handed out before are dead.
void tt_arena_reset(tt_arena_t* arena);

// Zeroed, 16-byte aligned; NULL when memory is short (the caller turns it into RESOURCE_EXHAUSTED).
void* tt_arena_alloc(tt_arena_t* arena, size_t bytes);
// Overflow of count * size gives NULL.
void* tt_arena_alloc_array(tt_arena_t* arena, size_t count, size_t size);
// Copies `bytes` bytes; NULL when memory is short. Zero bytes give a valid pointer.
void* tt_arena_copy(tt_arena_t* arena, const void* data, size_t bytes);
char* tt_arena_strndup(tt_arena_t* arena, const char* text, size_t size);
char* tt_arena_printf(tt_arena_t* arena, const char* format, ...) TT_PRINTF(2, 3);

#endif  // TT_BASE_ARENA_H_
