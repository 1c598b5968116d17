// The table of ATen ops: entries from aten.def, and a name index (open addressing, built once).
//
// Invariant: index slots hold entry + 1 (0 empty); each of an entry's up to three names has one slot. The
// index is published by pthread_once and read-only afterwards.
#include <pthread.h>
#include <string.h>

#include "lower/lower.h"

#define TT_ATEN(symbol, functional, out, inplace, flags, value_args) void tt_lower_##symbol(tt_lower_t* L);
#include "lower/aten.def"
#undef TT_ATEN

// Short names of the flags, for the columns of aten_*.def.
#define FAST TT_ATEN_FAST
#define PW TT_ATEN_POINTWISE
#define GRAPH TT_ATEN_GRAPH_ONLY
#define SIZED TT_ATEN_SIZED
#define RANDOM TT_ATEN_RANDOM
#define VTPU TT_ATEN_VTPU_ONLY
#define MIXED TT_ATEN_MIXED_DEVICE
#define COMPOSITE TT_ATEN_COMPOSITE
#define ONE TT_ATEN_ONE_VALUE
#define EXACT TT_ATEN_OUT_EXACT
#define CASTS TT_ATEN_OUT_CASTS
#define LIKE TT_ATEN_LIKE
#define LINALG TT_ATEN_LINALG
static const tt_aten_entry_t entries[] = {
#define TT_ATEN(symbol, functional, out, inplace, flags, value_args) \
  {{functional, out, inplace, flags}, value_args, tt_lower_##symbol},
#include "lower/aten.def"
#undef TT_ATEN
};

#define INDEX_SLOTS 8192u   // a power of two, more than twice the names
_Static_assert(TT_ARRAY_LENGTH(entries) * 3 < INDEX_SLOTS, "enlarge the name index");
static uint16_t name_index[INDEX_SLOTS];
static pthread_once_t index_once = PTHREAD_ONCE_INIT;

static uint32_t hash_name(const char* name) {
  uint32_t hash = 2166136261u;
  for (; *name; ++name) hash = (hash ^ (uint8_t)*name) * 16777619u;
  return hash;
}

static bool has_name(const tt_aten_info_t* info, const char* name) {
  return !strcmp(info->functional, name) || !strcmp(info->out, name) || !strcmp(info->inplace, name);
}

static void index_build(void) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(entries); ++i) {
    const char* names[3] = {entries[i].info.functional, entries[i].info.out, entries[i].info.inplace};
    for (int k = 0; k < 3; ++k) {
      if (!*names[k]) continue;
      uint32_t slot = hash_name(names[k]) & (INDEX_SLOTS - 1);
      while (name_index[slot]) slot = (slot + 1) & (INDEX_SLOTS - 1);
      name_index[slot] = (uint16_t)(i + 1);
    }
  }
}

size_t tt_aten_count(void) { return TT_ARRAY_LENGTH(entries); }

const tt_aten_entry_t* tt_aten_entry(size_t op) {
  return op < TT_ARRAY_LENGTH(entries) ? &entries[op] : NULL;
}

const tt_aten_info_t* tt_aten_info(size_t op) {
  return op < TT_ARRAY_LENGTH(entries) ? &entries[op].info : NULL;
}

size_t tt_aten_find(const char* name) {
  if (!name || !*name) return SIZE_MAX;
  pthread_once(&index_once, index_build);
  for (uint32_t slot = hash_name(name) & (INDEX_SLOTS - 1); name_index[slot];
       slot = (slot + 1) & (INDEX_SLOTS - 1)) {
    size_t op = name_index[slot] - 1u;
    if (has_name(&entries[op].info, name)) return op;
  }
  return SIZE_MAX;
}
