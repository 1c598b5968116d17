// The tile interpreter: runs the programs of loops and regions on tiles that fit the first-level cache.
//
// Invariants:
//  T1 a register holds `count` elements of the current tile; its address is a slot of this worker or, for a
//     direct access, the element itself in a buffer;
//  T2 results depend on the plan alone: neither the split into tasks nor the thread count changes a bit;
//  T3 nothing here fails or allocates; slots lie on the stack of the worker;
//  T4 a streamed store's register is its part of `stage`, copied out past the caches when the tile is done.
#ifndef TT_VTPU_EXEC_TILE_H_
#define TT_VTPU_EXEC_TILE_H_

#include "compile/plan_load.h"
#include "kernels/stream.h"

#define TT_TILE_STREAMS 4
#define TT_TILE_STAGE_BYTES 16384     // a tile of mode ROWS has 1024 elements at most

typedef struct tt_tile_s {
  const tt_plan_t* plan;
  void* const* bases;                 // of the plan's buffers
  const pd_loop_t* loop;
  const int64_t* dims;
  const pd_access_t* accesses;
  const pd_instr_t* instrs;
  int64_t rows, cols, row_start[TT_MAX_RANK];
  int64_t row_loaded;                 // what the once-a-row registers hold; -1 nothing
  int64_t most_cols;                  // of any tile to come
  char* at[PD_MAX_ACCESSES];          // first element of the current tile
  void* regs[PD_MAX_REGS];
  const tt_k_stream_t* stream;        // NULL: stores go straight to memory
  uint32_t stores[TT_TILE_STREAMS], store_count;   // the streamed accesses
  char* stage;                        // TT_TILE_STAGE_BYTES for each of them
} tt_tile_t;

// `slots`: PD_SLOT_BYTES, 64-byte aligned, alive as long as the tile.
void tt_tile_begin(tt_tile_t* tile, const tt_plan_t* plan, void* const* bases, const pd_loop_t* loop, char* slots);
// Rows `row`.. of the dimensions before the last, columns `col`.. of the last one. Modes ROW (rows == 1), ROWS.
void tt_tile_rows(tt_tile_t* tile, int64_t row, int64_t rows, int64_t col, int64_t cols);

void tt_loop_run(const tt_plan_t* plan, void* const* bases, const pd_loop_t* loop, tt_pool_t* pool);
// Elements first + i * stride + [0, cols) for i in [0, rows), on this thread. Modes ROW and ROWS.
void tt_loop_run_block(const tt_plan_t* plan, void* const* bases, const pd_loop_t* loop, int64_t first, int64_t rows,
                       int64_t stride, int64_t cols);
void tt_reduce_run(const tt_plan_t* plan, void* const* bases, const pd_reduce_t* reduce, tt_pool_t* pool);

// What kernels get as a region.
typedef struct tt_region_s_ { const tt_plan_t* plan; void* const* bases; const pd_region_t* region; } tt_region_run_t;
void tt_region_run(const void* region, void* scratch, void* const* args, void* const* results, size_t lanes);
static inline size_t tt_region_scratch_bytes(const pd_region_t* r) { return (size_t)r->slot_count * r->slot_bytes + 64; }

#endif  // TT_VTPU_EXEC_TILE_H_
