#include "exec/tile.h"

#include <string.h>

enum { GRAIN = 32768 };   // work of one task, in simple element operations

static inline void load_run(void* out, const char* x, int64_t stride, size_t esize, int64_t n) {
  if (stride == (int64_t)esize) memcpy(out, x, (size_t)n * esize);
  else if (stride == 0) tt_k_fill(out, x, esize, (size_t)n);
  else tt_k_gather_strided(out, x, stride / (int64_t)esize, esize, (size_t)n);
}

static inline void store_run(char* out, int64_t stride, const void* x, size_t esize, int64_t n) {
  if (stride == (int64_t)esize) memcpy(out, x, (size_t)n * esize);
  else tt_k_scatter_strided(out, stride / (int64_t)esize, x, esize, (size_t)n);
}

// Next row: index vector and every byte offset that follows it.
static inline int64_t next_row(const tt_tile_t* t, int64_t* index, const int64_t* strides) {
  int64_t delta = 0;
  for (uint32_t k = t->loop->rank - 1; k-- > 0;) {
    delta += strides[k];
    if (++index[k] < t->dims[k]) return delta;
    delta -= strides[k] * t->dims[k];
    index[k] = 0;
  }
  return delta;
}

static void access_rows(tt_tile_t* t, const pd_access_t* a, char* at, char* reg, bool store) {
  const int64_t* strides = PD_AT(t->plan->bytes, a->strides_at, int64_t);
  int64_t inner = strides[t->loop->rank - 1];
  size_t esize = a->esize;
  if (t->loop->mode == PD_MODE_BLOCK) {
    int64_t row = strides[t->loop->row_dim];
    if (!store && row == (int64_t)esize && inner != (int64_t)esize && inner != 0) {
      tt_k_transpose_block(reg, t->cols, at, 1, inner / (int64_t)esize, (size_t)t->rows, (size_t)t->cols, esize);
      return;
    }
    for (int64_t r = 0; r < t->rows; ++r, at += row, reg += t->cols * (int64_t)esize) {
      if (store) store_run(at, inner, reg, esize, t->cols); else load_run(reg, at, inner, esize, t->cols);
    }
    return;
  }
  if (t->rows == 1) {
    if (store) store_run(at, inner, reg, esize, t->cols); else load_run(reg, at, inner, esize, t->cols);
    return;
  }
  int64_t index[TT_MAX_RANK];
  memcpy(index, t->row_start, (t->loop->rank - 1) * sizeof *index);
  for (int64_t r = 0; r < t->rows; ++r) {
    if (store) store_run(at, inner, reg, esize, t->cols); else load_run(reg, at, inner, esize, t->cols);
    reg += t->cols * (int64_t)esize;
    at += next_row(t, index, strides);
  }
}

static void iota_rows(tt_tile_t* t, const pd_instr_t* in, int64_t col, char* reg) {
  const int64_t* s = PD_AT(t->plan->bytes, in->strides_at, int64_t);
  uint32_t inner = t->loop->rank - 1;
  int64_t start = in->imm[0] + col * s[inner], index[TT_MAX_RANK];
  for (uint32_t k = 0; k < inner; ++k) start += t->row_start[k] * s[k];
  memcpy(index, t->row_start, inner * sizeof *index);
  for (int64_t r = 0; r < t->rows; ++r) {
    tt_k_iota((tt_dtype_t)in->dtype, reg, start, s[inner], (size_t)t->cols);
    reg += t->cols * in->esize;
    start += t->loop->mode == PD_MODE_BLOCK ? s[t->loop->row_dim] : next_row(t, index, s);
  }
}

static inline void compute(const tt_plan_t* plan, void** regs, const pd_instr_t* in, size_t n) {
  switch (in->op) {
    case PD_I_UNARY: ((tt_k_unary_fn_t)plan->lanes[in->fn])(regs[in->dst], regs[in->src[0]], n); break;
    case PD_I_BINARY: ((tt_k_binary_fn_t)plan->lanes[in->fn])(regs[in->dst], regs[in->src[0]], regs[in->src[1]], n); break;
    case PD_I_TERNARY:
      ((tt_k_ternary_fn_t)plan->lanes[in->fn])(regs[in->dst], regs[in->src[0]], regs[in->src[1]], regs[in->src[2]], n);
      break;
    case PD_I_MOVE: if (regs[in->dst] != regs[in->src[0]]) memcpy(regs[in->dst], regs[in->src[0]], n * in->esize); break;
    case PD_I_FILL: tt_k_fill(regs[in->dst], in->imm, in->esize, n); break;
    case PD_I_COMPOUND:
      ((tt_k_compound_fn_t)plan->lanes[in->fn])(regs[in->dst], regs[in->src[0]], in->imm, n);
      break;
    case PD_I_RPREC:
      tt_k_reduce_precision((tt_dtype_t)in->dtype, (int)in->imm[0], (int)in->imm[1], regs[in->dst], regs[in->src[0]], n);
      break;
    default: break;
  }
}

void tt_tile_begin(tt_tile_t* t, const tt_plan_t* plan, void* const* bases, const pd_loop_t* loop, char* slots) {
  t->plan = plan;
  t->bases = bases;
  t->loop = loop;
  t->dims = PD_AT(plan->bytes, loop->dims_at, int64_t);
  t->accesses = PD_AT(plan->bytes, loop->accesses_at, pd_access_t);
  t->instrs = PD_AT(plan->bytes, loop->instrs_at, pd_instr_t);
  const uint16_t* slot = PD_AT(plan->bytes, loop->slots_at, uint16_t);
  for (uint32_t r = 0; r < loop->reg_count; ++r) t->regs[r] = slot[r] == PD_NO_REG ? NULL : slots + (size_t)slot[r] * loop->slot_bytes;
  t->row_loaded = -1;
  t->stream = NULL;
  t->most_cols = loop->tile_cols;
  if (loop->hoist_count == 0) return;
  size_t n = (size_t)loop->tile_rows * loop->tile_cols;
  if ((int64_t)n > loop->elems) n = (size_t)loop->elems;
  for (uint32_t i = 0; i < loop->hoist_count; ++i) {
    const pd_instr_t* in = &t->instrs[i];
    if (in->op == PD_I_LOAD) {
      const pd_access_t* a = &t->accesses[in->fn];
      const char* x = (const char*)bases[a->buffer] + a->offset;
      int64_t inner = PD_AT(plan->bytes, a->strides_at, int64_t)[loop->rank - 1];
      if (inner == 0) {
        tt_k_fill(t->regs[in->dst], x, a->esize, n);
      } else {                         // one row, repeated
        char* reg = t->regs[in->dst];
        size_t row = loop->tile_cols, have = row;
        load_run(reg, x, inner, a->esize, (int64_t)row);
        for (; have < n; have = TT_MIN(2 * have, n)) memcpy(reg + have * a->esize, reg, TT_MIN(have, n - have) * a->esize);
      }
    } else {
      compute(plan, t->regs, in, n);
    }
  }
}

static void run_instrs(tt_tile_t* t, int64_t col) {
  const pd_loop_t* l = t->loop;
  size_t n = (size_t)(t->rows * t->cols);
  for (uint32_t i = l->hoist_count + l->row_count; i < l->instr_count; ++i) {
    const pd_instr_t* in = &t->instrs[i];
    switch (in->op) {
      case PD_I_LOAD: access_rows(t, &t->accesses[in->fn], t->at[in->fn], t->regs[in->dst], false); break;
      case PD_I_STORE: access_rows(t, &t->accesses[in->fn], t->at[in->fn], t->regs[in->src[0]], true); break;
      case PD_I_IOTA: iota_rows(t, in, col, t->regs[in->dst]); break;
      default: compute(t->plan, t->regs, in, n); break;
    }
  }
}

// The tile in pieces: each is computed into `stage` and copied out. Its accesses end up behind the tile.
static void stream_tile(tt_tile_t* t, int64_t col) {
  const pd_access_t* stores[TT_TILE_STREAMS];
  uint32_t accesses = t->loop->access_count, inner = t->loop->rank - 1, ahead[8], count = 0;
  int64_t cols = t->cols, piece = cols, widest = 1, steps[PD_MAX_ACCESSES];
  for (uint32_t k = 0; k < t->store_count; ++k) {
    stores[k] = &t->accesses[t->stores[k]];
    widest = TT_MAX(widest, (int64_t)stores[k]->esize);
  }
  for (uint32_t i = 0; i < accesses; ++i) {            // a piece costs 25 ns beside its work: nothing in it twice
    const pd_access_t* a = &t->accesses[i];
    steps[i] = PD_AT(t->plan->bytes, a->strides_at, int64_t)[inner];
    if (a->direct && !a->store && a->esize == stores[0]->esize && count < TT_ARRAY_LENGTH(ahead)) ahead[count++] = i;
  }
  if (t->rows == 1) piece = TT_MIN(cols, (int64_t)TT_K_STREAM_PIECE / widest);
  for (int64_t done = 0; done < cols; done += piece) {
    t->cols = TT_MIN(piece, cols - done);
    char* out[TT_TILE_STREAMS];
    for (uint32_t k = 0; k < t->store_count; ++k) {
      t->regs[stores[k]->reg] = t->stage + k * TT_TILE_STAGE_BYTES;
      out[k] = t->at[t->stores[k]];
    }
    run_instrs(t, col + done);
    int64_t elems = t->rows * t->cols;                 // rows > 1: dense
    for (uint32_t i = 0; i < accesses; ++i) {
      t->at[i] += elems * steps[i];
      if (t->accesses[i].direct) t->regs[t->accesses[i].reg] = t->at[i];
    }
    const char* next[TT_ARRAY_LENGTH(ahead)];
    for (uint32_t k = 0; k < count; ++k) next[k] = t->at[ahead[k]];
    for (uint32_t k = 0; k < t->store_count; ++k) {
      t->stream->copy(out[k], t->stage + k * TT_TILE_STAGE_BYTES, (size_t)elems * stores[k]->esize, next, k ? 0 : count);
    }
  }
}

void tt_tile_rows(tt_tile_t* t, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  const pd_loop_t* l = t->loop;
  uint32_t inner = l->rank - 1;
  bool row_fills = l->row_count > 0;
  t->rows = rows;
  t->cols = cols;
  if (l->row_count && t->row_loaded != row) {
    t->row_loaded = row;
  } else if (l->row_count) {
    row_fills = false;
  }
  if (inner == 0) {
  } else if (inner == 1) {
    t->row_start[0] = row;
  } else {
    for (uint32_t k = inner; k-- > 0;) {
      t->row_start[k] = row % t->dims[k];
      row /= t->dims[k];
    }
  }
  for (uint32_t i = 0; i < l->access_count; ++i) {
    const pd_access_t* a = &t->accesses[i];
    const int64_t* s = PD_AT(t->plan->bytes, a->strides_at, int64_t);
    char* at = (char*)t->bases[a->buffer] + a->offset + col * s[inner];
    for (uint32_t k = 0; k < inner; ++k) at += t->row_start[k] * s[k];
    t->at[i] = at;
    if (a->direct) t->regs[a->reg] = at;
  }
  if (row_fills) {
    int64_t n = TT_MIN(t->most_cols, t->dims[inner]);
    for (uint32_t i = l->hoist_count; i < l->hoist_count + l->row_count; ++i) {
      const pd_instr_t* in = &t->instrs[i];
      tt_k_fill(t->regs[in->dst], t->at[in->fn], t->accesses[in->fn].esize, (size_t)n);
    }
  }
  if (t->stream) stream_tile(t, col);
  else run_instrs(t, col);
}

// Tile `index` of a BLOCK loop: outer dimensions, then blocks of rows, then blocks of columns.
static void tile_block(tt_tile_t* t, int64_t index) {
  const pd_loop_t* l = t->loop;
  uint32_t inner = l->rank - 1;
  int64_t col_blocks = (t->dims[inner] + l->tile_cols - 1) / l->tile_cols;
  int64_t row_blocks = (t->dims[l->row_dim] + l->tile_rows - 1) / l->tile_rows;
  int64_t col = index % col_blocks * l->tile_cols;
  index /= col_blocks;
  int64_t row = index % row_blocks * l->tile_rows;
  index /= row_blocks;
  for (uint32_t k = inner; k-- > 0;) {
    if (k == l->row_dim) { t->row_start[k] = row; continue; }
    t->row_start[k] = index % t->dims[k];
    index /= t->dims[k];
  }
  t->rows = TT_MIN((int64_t)l->tile_rows, t->dims[l->row_dim] - row);
  t->cols = TT_MIN((int64_t)l->tile_cols, t->dims[inner] - col);
  for (uint32_t i = 0; i < l->access_count; ++i) {
    const pd_access_t* a = &t->accesses[i];
    const int64_t* s = PD_AT(t->plan->bytes, a->strides_at, int64_t);
    char* at = (char*)t->bases[a->buffer] + a->offset + col * s[inner];
    for (uint32_t k = 0; k < inner; ++k) at += t->row_start[k] * s[k];
    t->at[i] = at;
  }
  run_instrs(t, col);
}

typedef struct loop_task_s {
  const tt_plan_t* plan;
  void* const* bases;
  const pd_loop_t* loop;
  int64_t tasks;
  const tt_k_stream_t* stream;
  uint32_t stores[TT_TILE_STREAMS], store_count;
} loop_task_t;

// One instruction that computes for longer than memory takes: the CPU overlaps the two by itself, and a stage would
// come between them. exp over 2^24 f32, Zen 4: 4.5 ms in place of 5.7 on one thread; gelu 6.2 in place of 9.7.
static bool is_one_function(const pd_loop_t* l) {
  enum { FUNCTION_WORK = 8 };          // loop.c's cost of exp, erf and the like
  return l->instr_count == l->hoist_count + l->row_count + 1 && l->slot_count == 0 && l->work >= FUNCTION_WORK;
}

// Large results that are not written over an operand: its lines are in the cache already.
static void choose_stream(loop_task_t* task) {
  const pd_loop_t* l = task->loop;
  if (l->mode == PD_MODE_BLOCK || is_one_function(l)) return;
  const pd_access_t* accesses = PD_AT(task->plan->bytes, l->accesses_at, pd_access_t);
  for (uint32_t s = 0; s < l->access_count; ++s) {
    const pd_access_t* store = &accesses[s];
    if (!store->store || !store->direct || task->store_count == TT_TILE_STREAMS) continue;
    int64_t tile_bytes = (int64_t)l->tile_rows * l->tile_cols * store->esize;
    if (l->mode == PD_MODE_ROWS && tile_bytes > TT_TILE_STAGE_BYTES) continue;
    const char* out = (const char*)task->bases[store->buffer] + store->offset;
    bool over = false;
    for (uint32_t i = 0; i < l->access_count; ++i)
      over = over || (i != s && (const char*)task->bases[accesses[i].buffer] + accesses[i].offset == out);
    const tt_k_stream_t* stream = over ? NULL : tt_k_stream(l->elems * store->esize);
    if (!stream) continue;
    task->stream = stream;
    task->stores[task->store_count++] = s;
  }
}

static void run_tiles(const loop_task_t* task, int64_t begin, int64_t end) {
  const pd_loop_t* l = task->loop;
  char slots[PD_SLOT_BYTES] TT_ALIGNED(64);
  tt_tile_t t;
  tt_tile_begin(&t, task->plan, task->bases, l, slots);
  char stage[TT_TILE_STREAMS * TT_TILE_STAGE_BYTES] TT_ALIGNED(64);
  t.stream = task->stream;
  t.store_count = task->store_count;
  memcpy(t.stores, task->stores, sizeof t.stores);
  t.stage = stage;
  int64_t n = t.dims[l->rank - 1];
  if (l->mode == PD_MODE_BLOCK) {
    for (int64_t i = begin; i < end; ++i) tile_block(&t, i);
  } else if (l->mode == PD_MODE_ROWS) {
    int64_t outer = l->elems / n;
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = i * l->tile_rows;
      tt_tile_rows(&t, row, TT_MIN((int64_t)l->tile_rows, outer - row), 0, n);
    }
  } else {
    int64_t row = 0, c = begin;
    if (begin) { row = begin / l->col_tiles; c = begin % l->col_tiles; }
    for (int64_t i = begin; i < end; ++i) {
      int64_t col = c * l->tile_cols;
      tt_tile_rows(&t, row, 1, col, TT_MIN((int64_t)l->tile_cols, n - col));
      if (++c == l->col_tiles) { c = 0; ++row; }
    }
  }
  if (t.stream) t.stream->end();
}

static void loop_task(void* self, size_t index) {
  const loop_task_t* task = self;
  __int128 tiles = task->loop->tiles;
  run_tiles(task, (int64_t)(tiles * (int64_t)index / task->tasks), (int64_t)(tiles * (int64_t)(index + 1) / task->tasks));
}

void tt_loop_run(const tt_plan_t* plan, void* const* bases, const pd_loop_t* loop, tt_pool_t* pool) {
  loop_task_t task = {.plan = plan, .bases = bases, .loop = loop, .tasks = 1};
  if (loop->elems >= TT_K_STREAM_BYTES / 16) choose_stream(&task);
  int64_t work = loop->elems * (int64_t)loop->work;
  if (work > GRAIN && loop->tiles > 1) {
    task.tasks = TT_MIN(TT_MIN((work + GRAIN - 1) / GRAIN, loop->tiles), (int64_t)tt_pool_threads(pool) * 4);
  }
  if (task.tasks <= 1) run_tiles(&task, 0, loop->tiles);
  else tt_pool_run(pool, (size_t)task.tasks, loop_task, &task);
}

// Elements [first, end), in row-major order of the loop.
static void run_span(tt_tile_t* t, int64_t first, int64_t end) {
  const pd_loop_t* l = t->loop;
  const int64_t n = t->dims[l->rank - 1];
  while (first < end) {
    int64_t row = first / n, col = first % n, cols = TT_MIN(n - col, end - first);
    if (l->mode == PD_MODE_ROWS && cols == n) {
      int64_t rows = TT_MIN((int64_t)l->tile_rows, (end - first) / n);
      tt_tile_rows(t, row, rows, 0, n);
      first += rows * n;
      continue;
    }
    cols = TT_MIN(cols, (int64_t)l->tile_cols);
    // Part of a row in mode ROWS: what is loaded once holds whole rows, from column 0.
    for (int pass = 0; pass < 2; ++pass) {
      for (uint32_t i = 0; i < l->hoist_count && l->mode == PD_MODE_ROWS; ++i) {
        const pd_instr_t* in = &t->instrs[i];
        if (in->op != PD_I_LOAD || PD_AT(t->plan->bytes, t->accesses[in->fn].strides_at, int64_t)[l->rank - 1] == 0) continue;
        t->regs[in->dst] = (char*)t->regs[in->dst] + (pass ? -col : col) * in->esize;
      }
      if (!pass) tt_tile_rows(t, row, 1, col, cols);
    }
    first += cols;
  }
}

void tt_loop_run_block(const tt_plan_t* plan, void* const* bases, const pd_loop_t* loop, int64_t first, int64_t rows,
                       int64_t stride, int64_t cols) {
  char slots[PD_SLOT_BYTES] TT_ALIGNED(64);
  tt_tile_t t;
  tt_tile_begin(&t, plan, bases, loop, slots);
  if (cols == stride) { cols *= rows; rows = 1; }
  t.most_cols = TT_MIN(t.most_cols, cols);
  for (int64_t i = 0; i < rows; ++i) run_span(&t, first + i * stride, first + i * stride + cols);
}

void tt_region_run(const void* region, void* scratch, void* const* args, void* const* results, size_t lanes) {
  const tt_region_run_t* run = region;
  const pd_region_t* r = run->region;
  const void* bytes = run->plan->bytes;
  const pd_instr_t* instrs = PD_AT(bytes, r->instrs_at, pd_instr_t);
  const uint16_t* slots = PD_AT(bytes, r->slots_at, uint16_t);
  const uint16_t* outs = PD_AT(bytes, r->results_at, uint16_t);
  void* regs[PD_MAX_REGS];
  for (uint32_t i = 0; i < r->arg_count; ++i) regs[i] = args[i];
  for (uint32_t i = r->arg_count; i < r->reg_count; ++i) regs[i] = slots[i] == PD_NO_REG ? NULL : (char*)scratch + (size_t)slots[i] * r->slot_bytes;
  for (uint32_t i = 0; i < r->result_count; ++i) regs[outs[i]] = results[i];
  for (uint32_t i = 0; i < r->instr_count; ++i) {
    const pd_instr_t* in = &instrs[i];
    if (in->op == PD_I_LOAD) {
      const pd_access_t* a = PD_AT(bytes, r->captures_at, pd_access_t) + in->fn;
      tt_k_fill(regs[in->dst], (const char*)run->bases[a->buffer] + a->offset, a->esize, lanes);
    } else {
      compute(run->plan, regs, in, lanes);
    }
  }
}
