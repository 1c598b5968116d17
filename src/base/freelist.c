#include "base/freelist.h"

#include <string.h>

#include "base/alloc.h"

#define CHUNK_RECORDS 64
#define CHUNK_HEADER 16  // the next chunk's address; keeps the records 16-byte aligned

void tt_freelist_initialize(tt_freelist_t* list, uint32_t record_bytes, uint32_t link_offset) {
  memset(list, 0, sizeof(*list));
  list->record_bytes = (uint32_t)tt_align_up(record_bytes, 16);
  list->link_offset = link_offset;
}

void tt_freelist_deinitialize(tt_freelist_t* list) {
  while (list->chunks) {
    void* next = *(void**)list->chunks;
    tt_free(list->chunks);
    list->chunks = next;
  }
  list->first = NULL;
}

// Two threads may both find the list empty and both add a chunk: neither is lost.
tt_status_t tt_freelist_grow(tt_freelist_t* list, void** out_record) {
  *out_record = NULL;
  void* chunk;
  TT_RETURN_IF_ERROR(tt_alloc(CHUNK_HEADER + (size_t)CHUNK_RECORDS * list->record_bytes, &chunk));
  char* records = (char*)chunk + CHUNK_HEADER;
  for (uint32_t i = 1; i + 1 < CHUNK_RECORDS; ++i) {
    *tt_freelist_link(list, records + (size_t)i * list->record_bytes) =
        records + (size_t)(i + 1) * list->record_bytes;
  }
  tt_freelist_lock(list);
  *tt_freelist_link(list, records + (size_t)(CHUNK_RECORDS - 1) * list->record_bytes) = list->first;
  list->first = records + list->record_bytes;
  *(void**)chunk = list->chunks;
  list->chunks = chunk;
  tt_freelist_unlock(list);
  *out_record = records;
  return TT_OK_STATUS;
}
