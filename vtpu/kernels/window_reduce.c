// reduce: any dimensions, operands and region. When the last dimension is kept, lanes are output elements; when it
// is reduced, lanes are the reduced elements, folded in halves (StableHLO leaves the order open; ours depends on
// the shape alone).
#include "base/alloc.h"
#include "kernels/window.h"
#include "kernels/work.h"

typedef struct reduce_blob_s {
  int64_t reduced_count, reduced[TT_MAX_RANK];
  int64_t kept_count, kept[TT_MAX_RANK];
  int64_t combine, kind;
} reduce_blob_t;

static bool reduce_supports(const tt_op_t* op, const char** why) {
  *why = "more operands than a kernel takes";
  return op->result_count <= TT_K_MAX_OPERANDS;
}
static tt_status_t reduce_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  reduce_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_type_t* x = op->operands[0]->type;
  int64_t dims[TT_MAX_RANK];
  size_t count = tt_k_attr_i64s(tt_op_attr(op, TT_ATTR_DIMENSIONS), dims, TT_MAX_RANK);
  for (uint32_t i = 0; i < x->rank; ++i) {
    bool reduced = false;
    for (size_t k = 0; k < count; ++k) reduced = reduced || dims[k] == (int64_t)i;
    if (reduced) p->reduced[p->reduced_count++] = i;
    else p->kept[p->kept_count++] = i;
  }
  tt_op_kind_t kind;
  p->combine = tt_k_combine_of(&op->regions[0], op->result_count, x->dtype, &kind);
  p->kind = kind;
  return TT_OK_STATUS;
}

typedef struct reduce_job_s {
  tt_k_combiner_t c;
  const tt_k_tensor_t *x, *init, *y;
  tt_k_fold_fn_t fold;                  // lanes of one row; NULL: halves
  int64_t kept_rank, kept_dims[TT_MAX_RANK], kept_strides[TT_MAX_RANK];         // outside the lanes
  int64_t reduced_rank, reduced_dims[TT_MAX_RANK], reduced_strides[TT_MAX_RANK];   // outside the lanes
  int64_t lanes, reduced_elems, units, tasks;
  int64_t pieces, piece;                // kept lanes are cut into pieces
  bool lanes_kept;
  int64_t lane_stride;                  // of kept lanes: 1, or the short reduced row that lies between them
  char* memory;
  size_t memory_stride, row_bytes;
} reduce_job_t;

static void set_init(const tt_k_combiner_t* c, const tt_k_tensor_t* init, size_t k, char* out) {
  if (c->convert) c->widen(out, init[k].data, 1);
  else memcpy(out, init[k].data, c->acc_bytes[k]);
}
static void put_result(const tt_k_combiner_t* c, const tt_k_tensor_t* y, size_t k, int64_t at, const char* acc, int64_t n) {
  char* to = (char*)y[k].data + (size_t)at * c->bytes[k];
  if (c->convert) c->narrow(to, acc, (size_t)n);
  else memcpy(to, acc, (size_t)n * c->bytes[k]);
}

static void reduce_kept_unit(const reduce_job_t* j, char* scratch, char* rows, int64_t unit) {
  const tt_k_combiner_t* c = &j->c;
  int64_t row = unit / j->pieces, from = unit % j->pieces * j->piece, n = TT_MIN(j->piece, j->lanes - from);
  int64_t base = tt_k_unravel(row, j->kept_dims, j->kept_strides, (uint32_t)j->kept_rank) + from * j->lane_stride;
  char* acc[TT_K_MAX_OPERANDS];
  const char* in[TT_K_MAX_OPERANDS];
  for (size_t k = 0; k < c->count; ++k) {
    char init[16];
    acc[k] = rows + k * j->row_bytes;
    set_init(c, j->init, k, init);
    tt_k_fill(acc[k], init, c->acc_bytes[k], (size_t)n);
  }
  for (int64_t r = 0; r < j->reduced_elems; ++r) {
    int64_t at = base + tt_k_unravel(r, j->reduced_dims, j->reduced_strides, (uint32_t)j->reduced_rank);
    for (size_t k = 0; k < c->count; ++k) in[k] = (const char*)j->x[k].data + (size_t)at * c->bytes[k];
    tt_k_combine(c, scratch, acc, 1, in, j->lane_stride, n);
  }
  for (size_t k = 0; k < c->count; ++k) put_result(c, j->y, k, row * j->lanes + from, acc[k], n);
}

enum { FOLD_BLOCK = 4096 };

static void reduce_lanes_unit(const reduce_job_t* j, char* scratch, char* rows, int64_t unit) {
  const tt_k_combiner_t* c = &j->c;
  int64_t base = tt_k_unravel(unit, j->kept_dims, j->kept_strides, (uint32_t)j->kept_rank);
  char* acc[TT_K_MAX_OPERANDS];
  const char* in[TT_K_MAX_OPERANDS];
  if (j->fold) {
    TT_ALIGNED(64) char total[16];
    set_init(c, j->init, 0, total);
    for (int64_t r = 0; r < j->reduced_elems; ++r) {
      int64_t at = base + tt_k_unravel(r, j->reduced_dims, j->reduced_strides, (uint32_t)j->reduced_rank);
      const char* x = (const char*)j->x->data + (size_t)at * c->bytes[0];
      if (!c->convert) {
        j->fold(total, x, (size_t)j->lanes);
        continue;
      }
      for (int64_t i = 0; i < j->lanes; i += FOLD_BLOCK) {
        int64_t n = TT_MIN(FOLD_BLOCK, j->lanes - i);
        c->widen(rows, x + (size_t)i * c->bytes[0], (size_t)n);
        j->fold(total, rows, (size_t)n);
      }
    }
    put_result(c, j->y, 0, unit, total, 1);
    return;
  }
  int64_t width = 0;   // lanes of the accumulator in use
  for (size_t k = 0; k < c->count; ++k) acc[k] = rows + k * j->row_bytes;
  for (int64_t r = 0; r < j->reduced_elems; ++r) {
    int64_t at = base + tt_k_unravel(r, j->reduced_dims, j->reduced_strides, (uint32_t)j->reduced_rank);
    for (int64_t i = 0; i < j->lanes;) {
      int64_t n = TT_MIN(TT_K_LANES, j->lanes - i), filled = TT_MIN(n, width);
      char* rest[TT_K_MAX_OPERANDS];
      for (size_t k = 0; k < c->count; ++k) in[k] = (const char*)j->x[k].data + (size_t)(at + i) * c->bytes[k];
      if (filled > 0) tt_k_combine(c, scratch, acc, 1, in, 1, filled);
      if (filled < n) {   // first visit of these lanes
        for (size_t k = 0; k < c->count; ++k) {
          rest[k] = acc[k] + (size_t)filled * c->acc_bytes[k];
          const char* x = in[k] + (size_t)filled * c->bytes[k];
          if (c->convert) c->widen(rest[k], x, (size_t)(n - filled));
          else memcpy(rest[k], x, (size_t)(n - filled) * c->bytes[k]);
        }
        width = n;
      }
      i += n;
    }
  }
  tt_k_combiner_t folded = *c;   // accumulators among themselves: no conversion
  folded.convert = false;
  memcpy(folded.bytes, c->acc_bytes, sizeof folded.bytes);
  while (width > 1) {
    int64_t half = (width + 1) / 2;
    for (size_t k = 0; k < c->count; ++k) in[k] = acc[k] + (size_t)half * c->acc_bytes[k];
    tt_k_combine(&folded, scratch, acc, 1, in, 1, width - half);
    width = half;
  }
  char* result[TT_K_MAX_OPERANDS];
  char init[TT_K_MAX_OPERANDS][16];
  for (size_t k = 0; k < c->count; ++k) {
    set_init(c, j->init, k, init[k]);
    result[k] = init[k];
    in[k] = acc[k];
  }
  if (width == 1) tt_k_combine(&folded, scratch, result, 1, in, 1, 1);
  for (size_t k = 0; k < c->count; ++k) put_result(c, j->y, k, unit, result[k], 1);
}

static void reduce_task(void* self, size_t task) {
  const reduce_job_t* j = self;
  char* scratch = j->memory + task * j->memory_stride;
  char* rows = scratch + tt_k_combiner_scratch(j->c.env, j->c.count);
  int64_t begin = j->units * (int64_t)task / j->tasks, end = j->units * (int64_t)(task + 1) / j->tasks;
  for (int64_t unit = begin; unit < end; ++unit) {
    if (j->lanes_kept) reduce_kept_unit(j, scratch, rows, unit);
    else reduce_lanes_unit(j, scratch, rows, unit);
  }
}

static tt_status_t reduce_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                              const tt_k_tensor_t* y, size_t ny) {
  (void)nx;
  const reduce_blob_t* p = blob;
  reduce_job_t job = {.x = x, .init = x + ny, .y = y, .pieces = 1, .lanes = 1, .reduced_elems = 1, .lane_stride = 1};
  int64_t total = tt_k_elems(y), strides[TT_MAX_RANK];
  if (total == 0) return TT_OK_STATUS;
  tt_k_combiner_initialize(&job.c, env, 0, (tt_k_combine_t)p->combine, (tt_op_kind_t)p->kind, ny, x);
  tt_k_dense_strides(x->dims, x->rank, strides);
  // trailing dims of one kind are contiguous: the lanes
  int64_t kept = p->kept_count, reduced = p->reduced_count;
  job.lanes_kept = reduced == 0 || (kept > 0 && p->kept[kept - 1] == (int64_t)x->rank - 1);
  int64_t edge = x->rank;
  if (job.lanes_kept) {
    while (kept > 0 && p->kept[kept - 1] == edge - 1) job.lanes *= x->dims[--edge], --kept;
  } else {
    while (reduced > 0 && p->reduced[reduced - 1] == edge - 1) job.lanes *= x->dims[--edge], --reduced;
  }
  if (!job.lanes_kept && job.lanes < 32 && total >= 32 && kept > 0 && p->kept[kept - 1] == edge - 1) {
    // short rows between many outputs: the outputs are the lanes, a row apart
    job.lane_stride = job.lanes;
    reduced = p->reduced_count;
    job.lanes = 1;
    job.lanes_kept = true;
    while (kept > 0 && p->kept[kept - 1] == edge - 1) job.lanes *= x->dims[--edge], --kept;
  }
  for (int64_t i = 0; i < kept; ++i) {
    job.kept_dims[i] = x->dims[p->kept[i]];
    job.kept_strides[i] = strides[p->kept[i]];
  }
  for (int64_t i = 0; i < reduced; ++i) {
    job.reduced_dims[i] = x->dims[p->reduced[i]];
    job.reduced_strides[i] = strides[p->reduced[i]];
    job.reduced_elems *= x->dims[p->reduced[i]];
  }
  job.kept_rank = kept;
  job.reduced_rank = reduced;
  job.units = total;
  job.piece = job.lanes;
  if (job.lanes_kept) {
    job.piece = TT_MIN(job.lanes, 2048);
    job.pieces = (job.lanes + job.piece - 1) / job.piece;
    job.units = total / job.lanes * job.pieces;
  } else if (job.c.mode == TT_K_COMBINE_BINARY) {
    job.fold = tt_k_fold((tt_op_kind_t)p->kind, job.c.acc_dtype[0]);
  }
  job.row_bytes = tt_align_up((size_t)(job.lanes_kept ? job.piece : TT_MAX(TT_K_LANES, job.fold ? FOLD_BLOCK / 4 : 0)) * 16, 64);
  int64_t work = TT_MAX(1, job.reduced_elems * (job.lanes_kept ? job.piece : job.lanes));
  job.tasks = (int64_t)tt_k_tasks(env->pool, job.units, TT_MAX(1, 16384 / work));
  job.memory_stride = tt_align_up(tt_k_combiner_scratch(env, ny) + ny * job.row_bytes, 64);
  void* memory;
  TT_RETURN_IF_ERROR(tt_k_work_take(job.memory_stride * (size_t)job.tasks, &memory));
  job.memory = memory;
  tt_pool_run(env->pool, (size_t)job.tasks, reduce_task, &job);
  tt_k_work_give(memory);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_window_reduce_table[] = {
    {.name = "tt_k_any_reduce__generic", .kind = TT_OP_REDUCE, .supports = reduce_supports, .encode = reduce_encode,
     .run = reduce_run},
    {0},
};
