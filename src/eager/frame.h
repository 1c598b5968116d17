// Scratch of one call: its views, their partition into storages, the key, and the arrays of the run.
//
// Invariants:
//  F1 frames are pooled: after warm-up a call allocates nothing from the host;
//  F2 views lie in argument order, outputs of an out= call behind; storages in order of first appearance, so
//     equal calls give equal partitions wherever their storages lie;
//  F3 between lock and unlock the frame's storages are locked, each once, in address order;
//  F4 buffers put on `dead` are released after unlocking (a release may free device memory).
#ifndef TT_EAGER_FRAME_H_
#define TT_EAGER_FRAME_H_

#include "base/arena.h"
#include "eager/describe.h"
#include "eager/device.h"
#include "tt/op.h"

// Calls of our own beside the table of lower/: the key's op number.
enum { TT_EAGER_OP_COPY = 0x7fffff00, TT_EAGER_OP_GRAPH = 0x7fffff01 };

typedef struct tt_frame_s {
  tt_engine_t* engine;
  int device;
  const tt_call_t* call;               // eager
  const tt_scalar_t* scalars;          // graph
  char location[TT_LOCATION_BYTES];    // foreign plugins, locations on: " (file:line)"
  void* generator;
  const tt_tensor_t** views;           // [view_count]; NULL never
  int32_t* storage_of;                 // [view_count]: index into storages, or -1
  uint32_t* arg_view;                  // [arg_count + 1]: first view of each argument; last: first out
  tt_storage_t **storages, **locked;   // [storage_count]
  size_t view_count, storage_count;
  bool is_locked;
  uint64_t* key;
  size_t key_count;
  tt_rt_buffer_t **inputs, **outputs, **temporaries, **dead;
  bool* donate;
  tt_storage_t** fresh;
  size_t dead_count;
  uint32_t* table;                     // for partitioning long argument lists
  size_t view_capacity, storage_of_capacity, arg_view_capacity, storage_capacity, locked_capacity,
      key_capacity, input_capacity, output_capacity, temporary_capacity, dead_capacity, donate_capacity,
      fresh_capacity, table_capacity;
  tt_arena_t scratch;                  // for misses; reset at the end
  char* scratch_start;                 // its cursor while unused: a reset clears a whole chunk
} tt_frame_t;

tt_status_t tt_frame_begin(tt_engine_t* engine, int device, tt_frame_t** out_frame) TT_MUST_USE;
void tt_frame_end(tt_frame_t* frame);   // unlocks, releases the dead, gives the frame back
// Gathers the views of a call and partitions them. INVALID_ARGUMENT on a second device.
tt_status_t tt_frame_gather_call(tt_frame_t* frame, const tt_call_t* call) TT_MUST_USE;
tt_status_t tt_frame_gather_views(tt_frame_t* frame, size_t count, const tt_tensor_t* views) TT_MUST_USE;
// Locks the storages, and re-forms those written as bytes that are now read as something else.
tt_status_t tt_frame_lock(tt_frame_t* frame) TT_MUST_USE;
void tt_frame_unlock(tt_frame_t* frame);
// Appends one word to the key; the caller ensured room.
tt_status_t tt_frame_reserve_key(tt_frame_t* frame, size_t words) TT_MUST_USE;
static inline void tt_frame_put(tt_frame_t* frame, uint64_t word) { frame->key[frame->key_count++] = word; }

#endif  // TT_EAGER_FRAME_H_
