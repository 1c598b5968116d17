// Reductions with their producer fused in: each tile of values is folded as soon as it is computed.
//
// Order of operations depends on shapes only. INNER: tiles of one output are folded left to right (sums use the
// fixed tree of tt_k_fold inside a tile); few outputs over much data are cut into chunks whose partial results
// are combined in order. OUTER: one accumulator an output column, flushed every FLUSH_ROWS rows so that the
// error of long sums stays small.
#include <string.h>

#include "exec/tile.h"

enum { GRAIN = 32768, FLUSH_ROWS = 64, MAX_COUNT = 8, ACC_BYTES = 32768 };

typedef struct red_s {
  const tt_plan_t* plan;
  void* const* bases;
  const pd_reduce_t* r;
  const pd_loop_t* loop;
  const pd_reduce_operand_t* operands;
  tt_k_fold_fn_t fold;
  tt_k_binary_fn_t combine;
  tt_region_run_t region;
  size_t region_scratch, each;        // each: bytes of one operand's accumulators
  int64_t region_lanes;
  int64_t n_in, outs, col_tiles, units, tasks;
  char* partial[MAX_COUNT];
} red_t;

// ---- combining ---------------------------------------------------------------------------------
// acc[i] = acc[i] op x[i]; `spare`: as large as the accumulators (regions may not write over their arguments).
static void combine(const red_t* d, char* const* acc, char* const* x, char* const* spare, void* scratch, int64_t n) {
  if (d->combine) { d->combine(acc[0], acc[0], x[0], (size_t)n); return; }
  for (int64_t at = 0; at < n; at += d->region_lanes) {
    size_t lanes = (size_t)TT_MIN(n - at, d->region_lanes);
    void *args[2 * MAX_COUNT], *results[MAX_COUNT];
    uint32_t count = d->r->count;
    for (uint32_t i = 0; i < count; ++i) {
      size_t skip = (size_t)at * d->operands[i].acc_esize;
      args[i] = acc[i] + skip;
      args[count + i] = x[i] + skip;
      results[i] = spare[i];
    }
    tt_region_run(&d->region, scratch, args, results, lanes);
    for (uint32_t i = 0; i < count; ++i) memcpy(args[i], results[i], lanes * d->operands[i].acc_esize);
  }
}

// Applies the initial value, narrows and stores outputs [o, o + n) of every operand.
static void finish(const red_t* d, char* const* acc, char* const* temp, char* const* spare, void* scratch, int64_t o, int64_t n) {
  bool init = false;
  for (uint32_t i = 0; i < d->r->count; ++i) {
    const pd_reduce_operand_t* p = &d->operands[i];
    if (p->init == PD_NONE) continue;
    uint8_t wide[16];
    const void* value = d->bases[p->init];
    if (p->widen != PD_NONE) { ((tt_k_unary_fn_t)d->plan->lanes[p->widen])(wide, value, 1); value = wide; }
    tt_k_fill(temp[i], value, p->acc_esize, (size_t)n);
    init = true;
  }
  if (init) combine(d, temp, acc, spare, scratch, n);      // init comes first
  char* const* from = init ? temp : acc;
  for (uint32_t i = 0; i < d->r->count; ++i) {
    const pd_reduce_operand_t* p = &d->operands[i];
    char* out = (char*)d->bases[p->out] + o * p->out_esize;
    if (p->narrow != PD_NONE) ((tt_k_unary_fn_t)d->plan->lanes[p->narrow])(out, from[i], (size_t)n);
    else memcpy(out, from[i], (size_t)n * p->out_esize);
  }
}

// ---- one worker --------------------------------------------------------------------------------
typedef struct worker_s {
  const red_t* d;
  tt_tile_t tile;
  bool started;                       // acc holds something
  char *acc[MAX_COUNT], *total[MAX_COUNT], *spare[MAX_COUNT];   // each ACC_BYTES in all
  void* region_scratch;
} worker_t;

// All n elements of each operand into one, in order: neighbours pairwise.
static void tree(worker_t* w, char* const* x, int64_t n) {
  const red_t* d = w->d;
  uint32_t count = d->r->count;
  char *even[MAX_COUNT], *odd[MAX_COUNT], *out[MAX_COUNT];
  char* from[MAX_COUNT];
  // spare and total hold half a tile twice each
  for (uint32_t i = 0; i < count; ++i) from[i] = x[i];
  bool flip = false;
  while (n > 1) {
    int64_t half = n / 2;
    void *args[2 * MAX_COUNT], *results[MAX_COUNT];
    for (uint32_t i = 0; i < count; ++i) {
      size_t e = d->operands[i].acc_esize, bytes = d->each / 2;
      even[i] = w->spare[i];
      odd[i] = w->spare[i] + bytes;
      out[i] = w->total[i] + (flip ? bytes : 0);
      tt_k_gather_strided(even[i], from[i], 2, e, (size_t)half);
      tt_k_gather_strided(odd[i], from[i] + e, 2, e, (size_t)half);
      args[i] = even[i];
      args[count + i] = odd[i];
      results[i] = out[i];
    }
    tt_region_run(&d->region, w->region_scratch, args, results, (size_t)half);
    for (uint32_t i = 0; i < count; ++i) {
      size_t e = d->operands[i].acc_esize;
      if (n & 1) memcpy(out[i] + (size_t)half * e, from[i] + (size_t)(n - 1) * e, e);
      from[i] = out[i];
    }
    n = half + (n & 1);
    flip = !flip;
  }
  char *one[MAX_COUNT], *two[MAX_COUNT];
  for (uint32_t i = 0; i < count; ++i) { one[i] = w->acc[i]; two[i] = from[i]; }
  if (w->started) {
    combine(d, one, two, w->spare, w->region_scratch, 1);
  } else {
    for (uint32_t i = 0; i < count; ++i) memcpy(one[i], two[i], d->operands[i].acc_esize);
    w->started = true;
  }
}

static void fold_values(worker_t* w, int64_t skip, int64_t n) {   // of the current tile, into acc[0]
  const red_t* d = w->d;
  char* x[MAX_COUNT];
  for (uint32_t i = 0; i < d->r->count; ++i) x[i] = (char*)w->tile.regs[d->operands[i].reg] + skip * d->operands[i].acc_esize;
  if (d->fold) d->fold(w->acc[0], x[0], (size_t)n);
  else tree(w, x, n);
}

static void reset(worker_t* w) {
  w->started = false;
  if (w->d->fold) memcpy(w->acc[0], w->d->operands[0].identity, w->d->operands[0].acc_esize);
}

static void inner_range(worker_t* w, int64_t o, int64_t e0, int64_t e1) {
  const red_t* d = w->d;
  const pd_loop_t* l = d->loop;
  int64_t base = o * d->r->reduced_rows;
  reset(w);
  if (l->mode == PD_MODE_ROWS) {
    for (int64_t row = e0 / d->n_in, end = e1 / d->n_in; row < end; row += l->tile_rows) {
      int64_t rows = TT_MIN((int64_t)l->tile_rows, end - row);
      tt_tile_rows(&w->tile, base + row, rows, 0, d->n_in);
      fold_values(w, 0, rows * d->n_in);
    }
    return;
  }
  for (int64_t e = e0; e < e1;) {
    int64_t col = e % d->n_in, cols = TT_MIN(TT_MIN((int64_t)l->tile_cols, d->n_in - col), e1 - e);
    tt_tile_rows(&w->tile, base + e / d->n_in, 1, col, cols);
    fold_values(w, 0, cols);
    e += cols;
  }
}

static void store_partial(worker_t* w, int64_t chunk, int64_t o, int64_t n, char* const* acc) {
  for (uint32_t i = 0; i < w->d->r->count; ++i) {
    size_t e = w->d->operands[i].acc_esize;
    memcpy(w->d->partial[i] + (size_t)(chunk * w->d->outs + o) * e, acc[i], (size_t)n * e);
  }
}

static void inner_units(worker_t* w, int64_t begin, int64_t end) {
  const red_t* d = w->d;
  const pd_reduce_t* r = d->r;
  if (r->chunks > 1) {
    for (int64_t u = begin; u < end; ++u) {
      int64_t o = u / r->chunks, c = u % r->chunks, e0 = c * r->chunk;
      inner_range(w, o, e0, TT_MIN(e0 + r->chunk, r->reduced));
      store_partial(w, c, o, 1, w->acc);
    }
    return;
  }
  int64_t together = d->loop->mode == PD_MODE_ROWS ? d->loop->tile_rows / r->reduced_rows : 0;
  if (together < 2) {
    for (int64_t o = begin; o < end; ++o) {
      inner_range(w, o, 0, r->reduced);
      finish(d, w->acc, w->total, w->spare, w->region_scratch, o, 1);
    }
    return;
  }
  for (int64_t o = begin; o < end; o += together) {      // short rows: several outputs a tile
    int64_t n = TT_MIN(together, end - o);
    tt_tile_rows(&w->tile, o * r->reduced_rows, n * r->reduced_rows, 0, d->n_in);
    if (d->fold) {
      size_t e = d->operands[0].acc_esize;
      char *acc[1] = {w->acc[0]}, *x = w->tile.regs[d->operands[0].reg];
      for (int64_t k = 0; k < n; ++k) {
        memcpy(acc[0] + (size_t)k * e, d->operands[0].identity, e);
        d->fold(acc[0] + (size_t)k * e, x + (size_t)(k * r->reduced) * e, (size_t)r->reduced);
      }
      finish(d, acc, w->total, w->spare, w->region_scratch, o, n);
      continue;
    }
    for (int64_t k = 0; k < n; ++k) {
      reset(w);
      fold_values(w, k * r->reduced, r->reduced);
      finish(d, w->acc, w->total, w->spare, w->region_scratch, o + k, 1);
    }
  }
}

static void add_into(worker_t* w, char* const* acc, char* const* x, int64_t n, bool first) {
  if (!first) { combine(w->d, acc, x, w->spare, w->region_scratch, n); return; }
  for (uint32_t i = 0; i < w->d->r->count; ++i) memcpy(acc[i], x[i], (size_t)n * w->d->operands[i].acc_esize);
}

static void outer_unit(worker_t* w, int64_t unit) {
  const red_t* d = w->d;
  const pd_reduce_t* r = d->r;
  const pd_loop_t* l = d->loop;
  uint32_t count = r->count;
  int64_t chunk = unit % r->chunks;
  unit /= r->chunks;
  int64_t col = unit % d->col_tiles * l->tile_cols, o = unit / d->col_tiles;
  int64_t cols = TT_MIN((int64_t)l->tile_cols, d->n_in - col);
  int64_t r0 = chunk * r->chunk, r1 = TT_MIN(r0 + r->chunk, r->reduced);
  char* x[MAX_COUNT];
  bool first = true, total = false;
  int64_t tile_rows = l->mode == PD_MODE_ROWS ? l->tile_rows : 1, flushed = 0;
  bool by_row = !d->fold && tile_rows > 1;             // regions: keep the order of the elements
  int64_t filled = 0;                                  // rows of acc in use
  for (int64_t row = r0; row < r1; row += tile_rows) {
    int64_t rows = TT_MIN(tile_rows, r1 - row);
    tt_tile_rows(&w->tile, o * r->reduced + row, rows, col, cols);
    for (uint32_t i = 0; i < count; ++i) x[i] = w->tile.regs[d->operands[i].reg];
    if (by_row) {
      for (int64_t k = 0; k < rows; ++k) {
        add_into(w, w->acc, x, cols, first);
        first = false;
        for (uint32_t i = 0; i < count; ++i) x[i] += cols * d->operands[i].acc_esize;
      }
      filled = 1;
      continue;
    }
    add_into(w, w->acc, x, rows * cols, first);
    filled = TT_MAX(filled, rows);
    first = false;
    if (++flushed % FLUSH_ROWS == 0 && row + tile_rows < r1 && d->fold) {
      add_into(w, w->total, w->acc, filled * cols, !total);
      total = true;
      first = true;
    }
  }
  if (total) {
    // A partial last tile fills fewer rows; the rest of acc is stale then, so add only what was written.
    int64_t rows = first ? 0 : TT_MIN(filled, r1 - r0);
    int64_t since = (r1 - r0 + tile_rows - 1) / tile_rows % FLUSH_ROWS;
    if (since == 0) since = FLUSH_ROWS;
    if (since == 1) rows = (r1 - r0 - 1) % tile_rows + 1;
    combine(d, w->total, w->acc, w->spare, w->region_scratch, rows * cols);
    for (uint32_t i = 0; i < count; ++i) { char* t = w->acc[i]; w->acc[i] = w->total[i]; w->total[i] = t; }
  }
  for (int64_t k = 1; k < filled; ++k) {
    for (uint32_t i = 0; i < count; ++i) x[i] = w->acc[i] + k * cols * d->operands[i].acc_esize;
    combine(d, w->acc, x, w->spare, w->region_scratch, cols);
  }
  int64_t out = o * r->inner + col;
  if (r->chunks > 1) store_partial(w, chunk, out, cols, w->acc);
  else finish(d, w->acc, w->total, w->spare, w->region_scratch, out, cols);
}

static void worker_begin(worker_t* w, const red_t* d, char* slots, char* memory, void* region_scratch) {
  w->d = d;
  w->started = false;
  w->region_scratch = region_scratch;
  size_t each = d->each;
  for (uint32_t i = 0; i < d->r->count; ++i) {
    w->acc[i] = memory + i * each;
    w->total[i] = memory + ACC_BYTES + 64 + i * each;
    w->spare[i] = memory + 2 * (ACC_BYTES + 64) + i * each;
  }
  tt_tile_begin(&w->tile, d->plan, d->bases, d->loop, slots);
}

static void reduce_task(void* self, size_t index) {
  const red_t* d = self;
  char slots[PD_SLOT_BYTES] TT_ALIGNED(64);
  char memory[3 * (ACC_BYTES + 64)] TT_ALIGNED(64);
  void* region_scratch = d->region_scratch ? __builtin_alloca(d->region_scratch) : NULL;
  worker_t w;
  worker_begin(&w, d, slots, memory, region_scratch);
  int64_t begin = 0, end = d->units;
  if (d->tasks > 1) {
    begin = (int64_t)((__int128)d->units * (int64_t)index / d->tasks);
    end = (int64_t)((__int128)d->units * (int64_t)(index + 1) / d->tasks);
  }
  if (d->r->layout == PD_R_INNER) inner_units(&w, begin, end);
  else for (int64_t u = begin; u < end; ++u) outer_unit(&w, u);
}

static void combine_partials(const red_t* d) {
  char memory[3 * (ACC_BYTES + 64)] TT_ALIGNED(64);
  void* region_scratch = d->region_scratch ? __builtin_alloca(d->region_scratch) : NULL;
  uint32_t count = d->r->count;
  size_t each = d->each, widest = 1;
  char *acc[MAX_COUNT], *temp[MAX_COUNT], *spare[MAX_COUNT], *x[MAX_COUNT];
  for (uint32_t i = 0; i < count; ++i) {
    widest = TT_MAX(widest, (size_t)d->operands[i].acc_esize);
    temp[i] = memory + i * each;
    spare[i] = memory + ACC_BYTES + 64 + i * each;
  }
  int64_t lanes = (int64_t)(each / widest);
  for (int64_t o = 0; o < d->outs; o += lanes) {
    int64_t n = TT_MIN(lanes, d->outs - o);
    for (uint32_t i = 0; i < count; ++i) acc[i] = d->partial[i] + (size_t)o * d->operands[i].acc_esize;
    for (int64_t c = 1; c < d->r->chunks; ++c) {
      for (uint32_t i = 0; i < count; ++i) x[i] = d->partial[i] + (size_t)(c * d->outs + o) * d->operands[i].acc_esize;
      combine(d, acc, x, spare, region_scratch, n);
    }
    finish(d, acc, temp, spare, region_scratch, o, n);
  }
}

void tt_reduce_run(const tt_plan_t* plan, void* const* bases, const pd_reduce_t* r, tt_pool_t* pool) {
  red_t d;
  memset(&d, 0, sizeof d);
  d.plan = plan;
  d.bases = bases;
  d.r = r;
  d.loop = PD_AT(plan->bytes, r->loop_at, pd_loop_t);
  d.operands = PD_AT(plan->bytes, r->operands_at, pd_reduce_operand_t);
  if (r->region == PD_NONE) {
    d.fold = (tt_k_fold_fn_t)plan->lanes[r->fold];
    d.combine = (tt_k_binary_fn_t)plan->lanes[r->combine];
  } else {
    d.region = (tt_region_run_t){plan, bases, tt_plan_region(plan, r->region)};
    d.region_scratch = tt_region_scratch_bytes(d.region.region);
  }
  size_t widest = 1;
  for (uint32_t i = 0; i < r->count; ++i) widest = TT_MAX(widest, (size_t)d.operands[i].acc_esize);
  d.each = ACC_BYTES / r->count & ~(size_t)63;
  d.region_lanes = TT_MIN((int64_t)(d.each / widest), (int64_t)PD_REGION_LANES);
  d.n_in = PD_AT(plan->bytes, d.loop->dims_at, int64_t)[d.loop->rank - 1];
  d.outs = r->kept * r->inner;
  if (r->scratch != PD_NONE) {
    char* at = bases[r->scratch];
    for (uint32_t i = 0; i < r->count; ++i) {
      d.partial[i] = at;
      at += tt_align_up((size_t)(d.outs * r->chunks) * d.operands[i].acc_esize, 64);
    }
  }
  d.col_tiles = r->layout == PD_R_OUTER ? (d.n_in + d.loop->tile_cols - 1) / d.loop->tile_cols : 1;
  d.units = r->kept * d.col_tiles * r->chunks;
  int64_t work = d.loop->elems * (int64_t)(d.loop->work + 1);
  d.tasks = work > GRAIN ? TT_MIN(TT_MIN((work + GRAIN - 1) / GRAIN, d.units), (int64_t)tt_pool_threads(pool) * 4) : 1;
  if (d.tasks <= 1) { d.tasks = 1; reduce_task(&d, 0); }
  else tt_pool_run(pool, (size_t)d.tasks, reduce_task, &d);
  if (r->chunks > 1) combine_partials(&d);
}
