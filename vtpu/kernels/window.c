// reduce_window: every output row is combined with one input run a window offset; a window that grows along one
// dimension (cumulative sums and the like) becomes a scan.
#include "base/alloc.h"
#include "kernels/window.h"
#include "kernels/work.h"

typedef struct window_blob_s {
  int64_t size[TT_MAX_RANK], stride[TT_MAX_RANK], base[TT_MAX_RANK], dilation[TT_MAX_RANK], low[TT_MAX_RANK];
  int64_t combine, kind;
  int64_t scan_dim;   // -1: none
  int64_t reverse;
} window_blob_t;

static bool window_supports(const tt_op_t* op, const char** why) {
  *why = "more operands than a kernel takes";
  return op->result_count <= TT_K_MAX_OPERANDS;
}
static tt_status_t window_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  window_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_type_t *x = op->operands[0]->type, *y = op->results[0].type;
  uint32_t rank = x->rank;
  int64_t high[TT_MAX_RANK];
  tt_k_op_i64s(op, TT_ATTR_WINDOW_DIMENSIONS, p->size, rank, 1);
  tt_k_op_i64s(op, TT_ATTR_WINDOW_STRIDES, p->stride, rank, 1);
  tt_k_op_i64s(op, TT_ATTR_BASE_DILATIONS, p->base, rank, 1);
  tt_k_op_i64s(op, TT_ATTR_WINDOW_DILATIONS, p->dilation, rank, 1);
  tt_k_op_padding(op, p->low, high, rank);
  tt_op_kind_t kind;
  p->combine = tt_k_combine_of(&op->regions[0], op->result_count, x->dtype, &kind);
  p->kind = kind;
  p->scan_dim = -1;
  for (uint32_t i = 0; i < rank; ++i) {
    bool plain = p->stride[i] == 1 && p->base[i] == 1 && p->dilation[i] == 1 && x->dims[i] == y->dims[i];
    if (plain && p->size[i] == 1 && p->low[i] == 0) continue;
    bool forward = p->low[i] == p->size[i] - 1 && high[i] == 0, reverse = p->low[i] == 0 && high[i] == p->size[i] - 1;
    if (!plain || p->scan_dim >= 0 || p->size[i] < x->dims[i] || x->dims[i] < 8 || !(forward || reverse)) {
      p->scan_dim = -1;
      return TT_OK_STATUS;
    }
    p->scan_dim = i;
    p->reverse = reverse;
  }
  return TT_OK_STATUS;
}

typedef struct window_job_s {
  const window_blob_t* p;
  tt_k_combiner_t c;
  const tt_k_tensor_t *x, *init, *y;
  int64_t tasks, rows, width;
  char* memory;
  size_t memory_stride, row_bytes;     // a task: combiner scratch, then accumulator rows
  int64_t outer, n, inner, block;      // scan
} window_job_t;

static void window_task(void* self, size_t task) {
  const window_job_t* j = self;
  const window_blob_t* p = j->p;
  const tt_k_combiner_t* c = &j->c;
  uint32_t rank = j->x->rank, last = rank ? rank - 1 : 0;
  char* scratch = j->memory + task * j->memory_stride;
  char* rows = scratch + tt_k_combiner_scratch(c->env, c->count);
  char* acc[TT_K_MAX_OPERANDS];
  const char* in[TT_K_MAX_OPERANDS];
  int64_t x_strides[TT_MAX_RANK], y_strides[TT_MAX_RANK];
  tt_k_dense_strides(j->x->dims, rank, x_strides);
  tt_k_dense_strides(j->y->dims, rank, y_strides);
  int64_t window_outer = tt_k_product(p->size, 0, last), window_width = rank ? p->size[last] : 1;
  int64_t begin = j->rows * (int64_t)task / j->tasks, end = j->rows * (int64_t)(task + 1) / j->tasks;
  for (int64_t row = begin; row < end; ++row) {
    for (size_t k = 0; k < c->count; ++k) {
      acc[k] = rows + k * j->row_bytes;
      char init[16];
      if (c->convert) c->widen(init, j->init[k].data, 1);
      else memcpy(init, j->init[k].data, c->acc_bytes[k]);
      tt_k_fill(acc[k], init, c->acc_bytes[k], (size_t)j->width);
    }
    for (int64_t w = 0; w < window_outer; ++w) {
      int64_t flat = row, offset_flat = w, base = 0;
      bool inside = true;
      for (uint32_t i = last; i-- > 0;) {
        int64_t o = flat % j->y->dims[i], k = offset_flat % p->size[i];
        flat /= j->y->dims[i];
        offset_flat /= p->size[i];
        int64_t place = o * p->stride[i] + k * p->dilation[i] - p->low[i];
        if (place < 0 || place % p->base[i] != 0 || place / p->base[i] >= j->x->dims[i]) {
          inside = false;
          break;
        }
        base += place / p->base[i] * x_strides[i];
      }
      if (!inside) continue;
      for (int64_t k = 0; k < window_width; ++k) {
        tt_k_span_t s = {.count = 1, .step = 1, .u_step = 1};
        if (rank) s = tt_k_span(j->width, j->x->dims[last], p->stride[last], p->base[last], k * p->dilation[last] - p->low[last]);
        if (s.count == 0) continue;
        char* at[TT_K_MAX_OPERANDS];
        for (size_t q = 0; q < c->count; ++q) {
          at[q] = acc[q] + (size_t)s.first * c->acc_bytes[q];
          in[q] = (const char*)j->x[q].data + (size_t)(base + s.u_first) * c->bytes[q];
        }
        tt_k_combine(c, scratch, at, s.step, in, s.u_step, s.count);
      }
    }
    for (size_t k = 0; k < c->count; ++k) {
      char* to = (char*)j->y[k].data + (size_t)(row * j->width) * c->bytes[k];
      if (c->convert) c->narrow(to, acc[k], (size_t)j->width);
      else memcpy(to, acc[k], (size_t)j->width * c->bytes[k]);
    }
  }
}

// One block of columns: place i of the scan holds combine(place i-1, input i).
static void scan_task(void* self, size_t task) {
  const window_job_t* j = self;
  const tt_k_combiner_t* c = &j->c;
  char* scratch = j->memory + task * j->memory_stride;
  int64_t blocks = (j->inner + j->block - 1) / j->block, units = j->outer * blocks;
  int64_t begin = units * (int64_t)task / j->tasks, end = units * (int64_t)(task + 1) / j->tasks;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t o = unit / blocks, column = unit % blocks * j->block, m = TT_MIN(j->block, j->inner - column);
    char* acc[TT_K_MAX_OPERANDS];
    const char* in[TT_K_MAX_OPERANDS];
    for (size_t k = 0; k < c->count; ++k) {
      acc[k] = scratch + tt_k_combiner_scratch(c->env, c->count) + k * j->row_bytes;
      char init[16];
      if (c->convert) c->widen(init, j->init[k].data, 1);
      else memcpy(init, j->init[k].data, c->acc_bytes[k]);
      tt_k_fill(acc[k], init, c->acc_bytes[k], (size_t)m);
    }
    bool add = c->mode == TT_K_COMBINE_BINARY && c->kind == TT_OP_ADD && j->inner == 1;
#define SCAN(T)                                                                            \
  do {                                                                                     \
    const T* x = (const T*)j->x->data + o * j->n;                                          \
    T* y = (T*)j->y->data + o * j->n;                                                      \
    T sum = *(const T*)acc[0];                                                             \
    for (int64_t i = 0; i < j->n; ++i) {                                                   \
      int64_t at = j->p->reverse ? j->n - 1 - i : i;                                       \
      y[at] = sum += x[at];                                                                \
    }                                                                                      \
  } while (0)
    if (add && c->dtype[0] == TT_DTYPE_F32) { SCAN(float); continue; }
    if (add && c->dtype[0] == TT_DTYPE_F64) { SCAN(double); continue; }
    if (add && (c->dtype[0] == TT_DTYPE_S32 || c->dtype[0] == TT_DTYPE_U32)) { SCAN(uint32_t); continue; }
    if (add && (c->dtype[0] == TT_DTYPE_S64 || c->dtype[0] == TT_DTYPE_U64)) { SCAN(uint64_t); continue; }
#undef SCAN
    for (int64_t i = 0; i < j->n; ++i) {
      int64_t at = ((o * j->n) + (j->p->reverse ? j->n - 1 - i : i)) * j->inner + column;
      for (size_t k = 0; k < c->count; ++k) in[k] = (const char*)j->x[k].data + (size_t)at * c->bytes[k];
      tt_k_combine(c, scratch, acc, 1, in, 1, m);
      for (size_t k = 0; k < c->count; ++k) {
        char* to = (char*)j->y[k].data + (size_t)at * c->bytes[k];
        if (c->convert) c->narrow(to, acc[k], (size_t)m);
        else memcpy(to, acc[k], (size_t)m * c->bytes[k]);
      }
    }
  }
}

static tt_status_t window_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                              const tt_k_tensor_t* y, size_t ny) {
  (void)nx;
  const window_blob_t* p = blob;
  window_job_t job = {.p = p, .x = x, .init = x + ny, .y = y};
  int64_t total = tt_k_elems(y);
  if (total == 0) return TT_OK_STATUS;
  tt_k_combiner_initialize(&job.c, env, 0, (tt_k_combine_t)p->combine, (tt_op_kind_t)p->kind, ny, x);
  job.width = y->rank ? y->dims[y->rank - 1] : 1;
  job.rows = total / job.width;
  int64_t units = job.rows;
  if (p->scan_dim >= 0) {
    uint32_t d = (uint32_t)p->scan_dim;
    job.outer = tt_k_product(x->dims, 0, d);
    job.n = x->dims[d];
    job.inner = tt_k_product(x->dims, d + 1, x->rank);
    job.block = TT_MIN(1024, job.inner);
    job.width = job.block;
    units = job.outer * ((job.inner + job.block - 1) / job.block);
  }
  int64_t work = total / TT_MAX(1, units) * (p->scan_dim >= 0 ? 1 : tt_k_product(p->size, 0, x->rank));
  job.tasks = (int64_t)tt_k_tasks(env->pool, units, TT_MAX(1, 16384 / TT_MAX(1, work)));
  job.row_bytes = tt_align_up((size_t)job.width * 16, 64);
  job.memory_stride = tt_align_up(tt_k_combiner_scratch(env, ny) + ny * job.row_bytes, 64);
  void* memory;
  TT_RETURN_IF_ERROR(tt_k_work_take(job.memory_stride * (size_t)job.tasks, &memory));
  job.memory = memory;
  tt_pool_run(env->pool, (size_t)job.tasks, p->scan_dim >= 0 ? scan_task : window_task, &job);
  tt_k_work_give(memory);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_window_table[] = {
    {.name = "tt_k_any_reduce_window__generic", .kind = TT_OP_REDUCE_WINDOW, .supports = window_supports,
     .encode = window_encode, .run = window_run},
    {0},
};
