// A storage is a value cell: unbound, ready(buffer), or, on plugins that fail late, a buffer that carries
// its error.
//
// Execution is inline: a call looks its executable up and runs it on the caller's thread; a plugin's own
// asynchrony is the queue. So there is no pending state here.
//
// Invariants:
//  E1 unbound = no buffer. A read of an unbound storage gives zeros, a partial write starts from zeros;
//  E2 a bound storage's buffer covers exactly its bytes: product(dims) * bytes(dtype) == bytes; with `padded` (E10)
//     it has tt_pad_size(dims[d]) places in the dimensions of that mask, and what lies behind dims[d] is unspecified;
//  E3 dtype and dims (the canonical form) are those of the buffer. The first whole write fixes them; a whole
//     overwrite rebinds them. Row-major physical order: a permuted dense tensor is stored transposed;
//  E4 buffer, canonical form, version, holds and origin are guarded by `lock`. Several cells are locked in
//     address order (rank TT_RANK_CELL), held over look-up, execution and publication, so that two threads
//     that write disjoint views both win;
//  E5 version rises with every write; a failed call changes nothing (D3): it rebinds no storage;
//  E6 the buffer is donated only while holds == 0: whoever reads it without the lock holds it. One that
//     several cells have (`is_shared`: copies that nobody has written since) only when this cell is the last;
//  E7 logical bytes of live storages count against the device's budget; an allocation calls no plugin;
//  E8 a small storage object keeps its address slot when it is freed; a large one gives it back;
//  E10 padded == 0 unless the target has slow compiles; whoever looks at a buffer's memory asks padded.h. bytes,
//     sizes and strides are always the logical ones;
//  E9 references == 0 means free: look-up by address gives NULL then.
#ifndef TT_EAGER_CELL_H_
#define TT_EAGER_CELL_H_

#include <stdatomic.h>

#include "base/thread.h"
#include "runtime/runtime.h"
#include "tt/storage.h"

struct tt_storage_s {
  _Atomic int32_t references;
  int32_t device;
  size_t bytes;
  void* address;
  tt_mutex_t lock;
  tt_rt_buffer_t* buffer;  // NULL: unbound
  const char* origin;  // name of the op that wrote it last; static
  uint32_t version;
  int32_t holds;
  uint8_t dtype, rank;  // canonical form; meaningless while unbound
  uint16_t padded;  // bit d: dimension d of the buffer is rounded up
  bool is_shared;  // other cells may have the same buffer
  bool is_raw;  // written as bytes: the first typed whole view re-forms it once
  uint8_t size_class;  // address.h; 0: large
  int64_t dims[TT_MAX_RANK];
  tt_storage_t* next;  // free list
};

// Binds (takes the reference on `buffer`); the previous buffer is handed back for release after unlocking.
// Under the lock, or before anyone else knows the storage.
static inline tt_rt_buffer_t* tt_cell_bind(tt_storage_t* cell, tt_rt_buffer_t* buffer, uint8_t dtype,
                                           size_t rank, const int64_t* dims, const char* origin) {
  tt_rt_buffer_t* before = cell->buffer;
  cell->buffer = buffer;
  cell->dtype = dtype;
  cell->rank = (uint8_t)rank;
  for (size_t i = 0; i < rank; ++i) cell->dims[i] = dims[i];
  cell->padded = 0;
  cell->is_raw = false;
  cell->is_shared = false;
  cell->origin = origin;
  ++cell->version;
  return before;
}

// Locks `count` distinct cells given in any order (sorted in place) / unlocks them.
void tt_cells_lock(size_t count, tt_storage_t** cells);
void tt_cells_unlock(size_t count, tt_storage_t** cells);
// The buffer for reading without the lock (E6); NULL if unbound. Ends with tt_cell_unhold. out_form: its dtype, rank,
// dims, padding, buffer and bytes, and nothing else.
tt_rt_buffer_t* tt_cell_hold(tt_storage_t* cell, tt_storage_t* out_form);
void tt_cell_unhold(tt_storage_t* cell, tt_rt_buffer_t* buffer);
// "RESOURCE_EXHAUSTED" with the table of the largest live storages of the device (annotates `status`,
// consumed).
tt_status_t tt_cell_out_of_memory(int device, tt_status_t status) TT_MUST_USE;

#endif  // TT_EAGER_CELL_H_
