#include "eager/cell.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "eager/device.h"

enum { CELLS_A_BLOCK = 64, TABLE_ROWS = 8 };

struct tt_storage_block_s {
  tt_storage_block_t* next;
  tt_storage_t cells[CELLS_A_BLOCK];
};

// A cell object without an address, from the device's pool. Under the device's lock.
static tt_status_t take_bare_cell(tt_engine_device_t* device, int index, tt_storage_t** out) {
  if (!device->free_cells[0]) {
    void* memory = NULL;
    TT_RETURN_IF_ERROR(tt_alloc(sizeof(tt_storage_block_t), &memory));
    tt_storage_block_t* block = memory;
    block->next = device->blocks;
    device->blocks = block;
    for (size_t i = CELLS_A_BLOCK; i-- > 0;) {
      tt_storage_t* cell = &block->cells[i];
      tt_mutex_initialize(&cell->lock, TT_RANK_CELL);
      cell->device = index;
      cell->next = device->free_cells[0];
      device->free_cells[0] = cell;
    }
  }
  *out = device->free_cells[0];
  device->free_cells[0] = (*out)->next;
  return TT_OK_STATUS;
}

// Under the device's lock.
static tt_status_t allocate_locked(tt_engine_device_t* device, int index, size_t bytes, tt_storage_t** out) {
  unsigned size_class = tt_address_class(&device->range, bytes);
  tt_storage_t* cell = size_class ? device->free_cells[size_class] : NULL;
  if (cell) {
    device->free_cells[size_class] = cell->next;
  } else {
    TT_RETURN_IF_ERROR(take_bare_cell(device, index, &cell));
    tt_status_t status = tt_address_allocate(&device->range, bytes, cell, &cell->address);
    if (!tt_status_is_ok(status)) {
      cell->next = device->free_cells[0];
      device->free_cells[0] = cell;
      return status;
    }
    cell->size_class = (uint8_t)size_class;
  }
  cell->bytes = bytes;
  cell->next = NULL;
  cell->rank = 0;
  cell->dtype = 0;
  cell->padded = 0;
  cell->is_raw = false;
  cell->is_shared = false;
  cell->version = 0;
  cell->holds = 0;
  cell->origin = NULL;
  device->allocated_bytes += (int64_t)bytes;
  device->peak_bytes = TT_MAX(device->peak_bytes, device->allocated_bytes);
  ++device->allocations;
  // relaxed: nobody else knows the cell yet; the device's lock orders look-ups by address
  atomic_store_explicit(&cell->references, 1, memory_order_relaxed);
  *out = cell;
  return TT_OK_STATUS;
}

tt_status_t tt_storage_allocate(int device_index, size_t bytes, tt_storage_t** out_storage) {
  *out_storage = NULL;
  tt_engine_t* engine = NULL;
  tt_engine_device_t* device = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(device_index, &engine, &device));
  tt_mutex_lock(&device->lock);
  if (TT_LIKELY(
          bytes <= (size_t)INT64_MAX &&
          (device->limit_bytes < 0 || (int64_t)bytes <= device->limit_bytes - device->allocated_bytes))) {
    tt_status_t status = allocate_locked(device, device_index, bytes, out_storage);
    if (TT_UNLIKELY(!tt_status_is_ok(status))) ++device->out_of_memory_errors;
    tt_mutex_unlock(&device->lock);
    return TT_LIKELY(tt_status_is_ok(status)) ? status : tt_cell_out_of_memory(device_index, status);
  }
  int64_t allocated = device->allocated_bytes, limit = device->limit_bytes;
  ++device->out_of_memory_errors;
  tt_mutex_unlock(&device->lock);
  return tt_cell_out_of_memory(device_index,
                               tt_status_create(TT_RESOURCE_EXHAUSTED,
                                                "tpu out of memory: tried to allocate %zu bytes on tpu:%d "
                                                "(limit %lld bytes, %lld allocated)",
                                                bytes, device_index, (long long)limit, (long long)allocated));
}

void tt_storage_retain(tt_storage_t* storage) {
  // relaxed: the caller already holds a reference
  atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
}

void tt_storage_release(tt_storage_t* storage) {
  if (!storage) return;
  // acq_rel: the last holder sees every write of the others before it takes the cell apart
  if (atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) != 1) return;
  if (TT_UNLIKELY(tt_is_forked_child())) return;   // the parent's locks and threads are not ours: leak
  tt_rt_buffer_t* buffer = storage->buffer;
  storage->buffer = NULL;
  tt_rt_buffer_release(buffer);
  tt_engine_t* engine = tt_engine_any();
  tt_engine_device_t* device = &engine->devices[storage->device];
  tt_mutex_lock(&device->lock);
  device->allocated_bytes -= (int64_t)storage->bytes;
  ++device->frees;
  if (!storage->size_class) {
    tt_address_free_large(&device->range, storage->address);
    storage->address = NULL;
  }
  storage->next = device->free_cells[storage->size_class];
  device->free_cells[storage->size_class] = storage;
  tt_mutex_unlock(&device->lock);
}

void* tt_storage_address(const tt_storage_t* storage) { return storage->address; }
size_t tt_storage_bytes(const tt_storage_t* storage) { return storage->bytes; }
int tt_storage_device(const tt_storage_t* storage) { return storage->device; }

tt_storage_t* tt_storage_from_address(const void* address, size_t* out_offset) {
  tt_engine_t* engine = tt_engine_any();
  if (!engine) return NULL;
  for (int i = 0; i < engine->device_count; ++i) {
    tt_engine_device_t* device = &engine->devices[i];
    if (!tt_address_range_holds(&device->range, address)) continue;
    tt_mutex_lock(&device->lock);
    tt_storage_t* cell = tt_address_owner(&device->range, address);
    if (cell && atomic_load_explicit(&cell->references, memory_order_relaxed) <= 0) cell = NULL;   // E9
    if (cell && (size_t)((const char*)address - (char*)cell->address) > cell->bytes) cell = NULL;
    tt_mutex_unlock(&device->lock);
    if (cell && out_offset) *out_offset = (size_t)((const char*)address - (char*)cell->address);
    return cell;
  }
  return NULL;
}

// ---- locks -------------------------------------------------------------------------------------
static int compare_cells(const void* a, const void* b) {
  const tt_storage_t *x = *(tt_storage_t* const*)a, *y = *(tt_storage_t* const*)b;
  return x < y ? -1 : x > y;
}

void tt_cells_lock(size_t count, tt_storage_t** cells) {
  if (count > 24) {
    qsort(cells, count, sizeof(*cells), compare_cells);
  } else {
    for (size_t i = 1; i < count; ++i) {
      tt_storage_t* cell = cells[i];
      size_t j = i;
      for (; j > 0 && cells[j - 1] > cell; --j) cells[j] = cells[j - 1];
      cells[j] = cell;
    }
  }
  for (size_t i = 0; i < count; ++i) tt_mutex_lock(&cells[i]->lock);
}

void tt_cells_unlock(size_t count, tt_storage_t** cells) {
  for (size_t i = count; i-- > 0;) tt_mutex_unlock(&cells[i]->lock);
}

tt_rt_buffer_t* tt_cell_hold(tt_storage_t* cell, tt_storage_t* out_form) {
  tt_mutex_lock(&cell->lock);
  tt_rt_buffer_t* buffer = cell->buffer;
  if (buffer) {
    out_form->buffer = buffer;
    out_form->bytes = cell->bytes;
    out_form->padded = cell->padded;
    out_form->dtype = cell->dtype;
    out_form->rank = cell->rank;
    memcpy(out_form->dims, cell->dims, cell->rank * sizeof(*cell->dims));
    tt_rt_buffer_retain(buffer);
    ++cell->holds;
  }
  tt_mutex_unlock(&cell->lock);
  return buffer;
}

void tt_cell_unhold(tt_storage_t* cell, tt_rt_buffer_t* buffer) {
  if (!buffer) return;
  tt_mutex_lock(&cell->lock);
  --cell->holds;
  tt_mutex_unlock(&cell->lock);
  tt_rt_buffer_release(buffer);
}

// ---- table of live storages --------------------------------------------------------------------
typedef struct row_s {
  size_t bytes;
  const char* origin;
  uint8_t dtype, rank;
  bool is_bound;
  int64_t dims[TT_MAX_RANK];
} row_t;

// The cells' fields are read without their locks: a row may be stale, never out of bounds.
static size_t collect_rows(tt_engine_device_t* device, size_t capacity, row_t* rows, size_t* out_live) {
  size_t count = 0, live = 0;
  tt_mutex_lock(&device->lock);
  for (tt_storage_block_t* block = device->blocks; block; block = block->next) {
    for (size_t i = 0; i < CELLS_A_BLOCK; ++i) {
      const tt_storage_t* cell = &block->cells[i];
      if (atomic_load_explicit(&cell->references, memory_order_relaxed) <= 0) continue;
      ++live;
      size_t at = count < capacity ? count++ : capacity;
      if (at == capacity) {
        if (!capacity || cell->bytes <= rows[capacity - 1].bytes) continue;
        at = capacity - 1;
      }
      while (at > 0 && rows[at - 1].bytes < cell->bytes) {
        rows[at] = rows[at - 1];
        --at;
      }
      rows[at] = (row_t){.bytes = cell->bytes,
                         .origin = cell->origin,
                         .dtype = cell->dtype,
                         .rank = TT_MIN(cell->rank, TT_MAX_RANK),
                         .is_bound = cell->buffer != NULL};
      memcpy(rows[at].dims, cell->dims, sizeof(rows[at].dims));
    }
  }
  tt_mutex_unlock(&device->lock);
  *out_live = live;
  return count;
}

static tt_status_t print_table(tt_engine_device_t* device, int index, int rows_wanted, tt_strbuf_t* text) {
  size_t capacity = (size_t)TT_MAX(TT_MIN(rows_wanted, 4096), 0);
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc_array(capacity ? capacity : 1, sizeof(row_t), &block));
  row_t* rows = block;
  size_t live = 0;
  size_t count = collect_rows(device, capacity, rows, &live);
  tt_strbuf_printf(text, "largest live storages of tpu:%d (%zu of %zu):\n", index, count, live);
  for (size_t i = 0; i < count; ++i) {
    tt_strbuf_printf(text, "  %14zu bytes  ", rows[i].bytes);
    if (rows[i].is_bound) {
      tt_strbuf_puts(text, "tensor<");
      for (size_t d = 0; d < rows[i].rank; ++d) tt_strbuf_printf(text, "%lldx", (long long)rows[i].dims[d]);
      tt_strbuf_printf(text, "%s>", tt_dtype_name(rows[i].dtype));
    } else {
      tt_strbuf_puts(text, "not yet written");
    }
    tt_strbuf_printf(text, "  from %s\n", rows[i].origin ? rows[i].origin : "empty");
  }
  tt_free(rows);
  return tt_strbuf_status(text);
}

tt_status_t tt_cell_out_of_memory(int device, tt_status_t status) {
  tt_engine_t* engine = tt_engine_any();
  if (!engine) return status;
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_status_t printed = print_table(&engine->devices[device], device, TABLE_ROWS, &text);
  if (tt_status_is_ok(printed)) {
    tt_status_t full =
        tt_status_create(tt_status_code(status), "%s\n%s", tt_status_message(status), tt_strbuf_text(&text));
    tt_status_free(status);
    status = full;
  }
  tt_status_ignore(printed);   // the first message stands without its table
  tt_strbuf_deinitialize(&text);
  return status;
}

tt_status_t tt_device_memory_table(int device, int rows, char** out_text) {
  *out_text = NULL;
  tt_engine_t* engine = NULL;
  tt_engine_device_t* slot = NULL;
  TT_RETURN_IF_ERROR(tt_engine_device(device, &engine, &slot));
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_status_t status = print_table(slot, device, rows, &text);
  if (tt_status_is_ok(status)) status = tt_strdup(tt_strbuf_text(&text), out_text);
  tt_strbuf_deinitialize(&text);
  return status;
}

void tt_text_free(char* text) { tt_free(text); }
