#include "eager/address.h"

#include <string.h>

#include "base/alloc.h"

enum { MAX_CHUNK_SHIFT = 26, MIN_CHUNK_SHIFT = 16 };
static const size_t MIN_RANGE = (size_t)64 << 20;
enum { KIND_FREE, KIND_SLOTS, KIND_HEAD, KIND_REST };

static unsigned log2_up(size_t value) {
  return value <= 1 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)value - 1);
}

tt_status_t tt_address_range_initialize(tt_address_range_t* range, size_t wanted) {
  memset(range, 0, sizeof(*range));
  size_t bytes = (size_t)1 << log2_up(wanted);
  void* base = NULL;
  for (; bytes >= MIN_RANGE && !base; base ? 0 : (bytes >>= 1)) base = tt_address_reserve_os(bytes);
  if (!base) {
    return tt_status_create(TT_RESOURCE_EXHAUSTED,
                            "cannot reserve %zu bytes of address space for a device (address-space limit?)",
                            MIN_RANGE);
  }
  unsigned range_shift = log2_up(bytes);
  range->chunk_shift = TT_MAX(TT_MIN((int)range_shift - 14, MAX_CHUNK_SHIFT), MIN_CHUNK_SHIFT);
  range->base = base;
  range->bytes = bytes;
  range->chunk_count = bytes >> range->chunk_shift;
  void* block = NULL;
  tt_status_t status = tt_alloc_array(range->chunk_count, sizeof(tt_address_chunk_t), &block);
  if (!tt_status_is_ok(status)) {
    tt_address_unreserve_os(base, bytes);
    memset(range, 0, sizeof(*range));
    return status;
  }
  range->chunks = block;
  return TT_OK_STATUS;
}

void tt_address_range_deinitialize(tt_address_range_t* range) {
  for (size_t i = 0; i < range->chunk_count; ++i) tt_free(range->chunks[i].owners);
  tt_free(range->chunks);
  if (range->base) tt_address_unreserve_os(range->base, range->bytes);
  memset(range, 0, sizeof(*range));
}

unsigned tt_address_class(const tt_address_range_t* range, size_t bytes) {
  unsigned shift = bytes <= ((size_t)1 << TT_ADDRESS_MIN_SHIFT) ? TT_ADDRESS_MIN_SHIFT : log2_up(bytes);
  return shift < range->chunk_shift ? shift : 0;
}

// First run of `span` free chunks; chunk_count if there is none.
static size_t find_free(tt_address_range_t* range, size_t span) {
  while (range->first_free < range->chunk_count && range->chunks[range->first_free].kind != KIND_FREE)
    ++range->first_free;
  size_t run = 0;
  for (size_t i = range->first_free; i < range->chunk_count; ++i) {
    run = range->chunks[i].kind == KIND_FREE ? run + 1 : 0;
    if (run == span) return i + 1 - span;
  }
  return range->chunk_count;
}

static tt_status_t range_is_full(const tt_address_range_t* range, size_t bytes) {
  return tt_status_create(TT_RESOURCE_EXHAUSTED,
                          "no address range of %zu bytes is left in the device's reservation of %zu bytes",
                          bytes, range->bytes);
}

static tt_status_t open_chunk(tt_address_range_t* range, unsigned shift) {
  size_t chunk = find_free(range, 1);
  if (chunk == range->chunk_count) return range_is_full(range, (size_t)1 << shift);
  size_t slots = (size_t)1 << (range->chunk_shift - shift);
  void* owners = NULL;
  TT_RETURN_IF_ERROR(tt_alloc_array(slots, sizeof(tt_storage_t*), &owners));
  range->chunks[chunk] = (tt_address_chunk_t){.kind = KIND_SLOTS, .shift = (uint8_t)shift, .owners = owners};
  range->open[shift].chunk = chunk;
  range->open[shift].next = 0;
  range->open[shift].end = slots;
  return TT_OK_STATUS;
}

tt_status_t tt_address_allocate(tt_address_range_t* range, size_t bytes, tt_storage_t* owner,
                                void** out_address) {
  unsigned shift = tt_address_class(range, bytes);
  if (shift) {
    if (range->open[shift].next == range->open[shift].end) TT_RETURN_IF_ERROR(open_chunk(range, shift));
    size_t chunk = range->open[shift].chunk, slot = range->open[shift].next++;
    range->chunks[chunk].owners[slot] = owner;
    *out_address = range->base + (chunk << range->chunk_shift) + (slot << shift);
    return TT_OK_STATUS;
  }
  if (bytes > range->bytes) return range_is_full(range, bytes);
  size_t span = (bytes + ((size_t)1 << range->chunk_shift) - 1) >> range->chunk_shift;
  size_t head = find_free(range, span);
  if (head == range->chunk_count) return range_is_full(range, bytes);
  for (size_t i = 0; i < span; ++i) {
    range->chunks[head + i] =
        (tt_address_chunk_t){.kind = i ? KIND_REST : KIND_HEAD, .span = (uint32_t)(i ? i : span)};
  }
  range->chunks[head].owner = owner;
  *out_address = range->base + (head << range->chunk_shift);
  return TT_OK_STATUS;
}

void tt_address_free_large(tt_address_range_t* range, void* address) {
  size_t head = (size_t)((char*)address - range->base) >> range->chunk_shift;
  size_t span = range->chunks[head].span;
  memset(&range->chunks[head], 0, span * sizeof(tt_address_chunk_t));
  range->first_free = TT_MIN(range->first_free, head);
}

// The entry of the slot that holds `address`; NULL where there is none.
static tt_storage_t** owner_entry(const tt_address_range_t* range, const void* address) {
  size_t at = (size_t)((const char*)address - range->base);
  if (at >= range->bytes) return NULL;
  size_t index = at >> range->chunk_shift;
  tt_address_chunk_t* chunk = &range->chunks[index];
  switch (chunk->kind) {
    case KIND_SLOTS: return &chunk->owners[(at & (((size_t)1 << range->chunk_shift) - 1)) >> chunk->shift];
    case KIND_HEAD: return &chunk->owner;
    case KIND_REST: return &range->chunks[index - chunk->span].owner;
    default: return NULL;
  }
}

tt_storage_t* tt_address_owner(const tt_address_range_t* range, const void* address) {
  tt_storage_t** entry = owner_entry(range, address);
  return entry ? *entry : NULL;
}

void tt_address_set_owner(tt_address_range_t* range, const void* address, tt_storage_t* owner) {
  tt_storage_t** entry = owner_entry(range, address);
  if (entry) *entry = owner;
}
