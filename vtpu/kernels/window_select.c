// select_and_scatter: each source element goes to the place that its window's select chain picks. Lanes are the
// innermost source dimension; leading dimensions without a window are independent and run in parallel.
#include "base/alloc.h"
#include "kernels/window.h"
#include "kernels/work.h"

typedef struct select_blob_s {
  int64_t size[TT_MAX_RANK], stride[TT_MAX_RANK], low[TT_MAX_RANK];
  int64_t combine, kind;       // of the scatter region
  int64_t direction;           // select is compare(direction) of its arguments; -1: any region
  int64_t leading;             // leading dims that no window crosses
} select_blob_t;

static tt_status_t select_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  select_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_type_t *x = op->operands[0]->type, *source = op->operands[1]->type;
  uint32_t rank = x->rank;
  int64_t high[TT_MAX_RANK];
  tt_k_op_i64s(op, TT_ATTR_WINDOW_DIMENSIONS, p->size, rank, 1);
  tt_k_op_i64s(op, TT_ATTR_WINDOW_STRIDES, p->stride, rank, 1);
  tt_k_op_padding(op, p->low, high, rank);
  tt_op_kind_t kind;
  p->combine = tt_k_combine_of(&op->regions[1], 1, x->dtype, &kind);
  p->kind = kind;
  p->direction = -1;
  const tt_block_t* block = &op->regions[0].block;
  const tt_op_t* first = block->first;
  if (first && first->kind == TT_OP_COMPARE && first->next == block->last && block->last->operands[0] == &first->results[0] &&
      first->operands[0] == &block->args[0] && first->operands[1] == &block->args[1] &&
      strcmp(tt_op_attr_text(first, TT_ATTR_COMPARE_TYPE), "TOTALORDER") != 0) {
    static const char* const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    const char* direction = tt_op_attr_text(first, TT_ATTR_COMPARISON_DIRECTION);
    for (int i = 0; i < 6; ++i) {
      if (strcmp(names[i], direction) == 0 && tt_k_compare((tt_k_compare_t)i, x->dtype, false)) p->direction = i;
    }
  }
  while (p->leading + 1 < rank) {
    int64_t i = p->leading;
    if (p->size[i] != 1 || p->stride[i] != 1 || p->low[i] != 0 || x->dims[i] != source->dims[i]) break;
    ++p->leading;
  }
  return TT_OK_STATUS;
}

typedef struct select_job_s {
  const tt_k_env_t* env;
  const select_blob_t* p;
  tt_k_combiner_t c;
  tt_k_binary_fn_t compare;
  const tt_k_tensor_t *x, *source, *y;
  int64_t planes, tasks, width;
  char* memory;
  size_t memory_stride;
} select_job_t;

static void select_task(void* self, size_t task) {
  const select_job_t* j = self;
  const select_blob_t* p = j->p;
  const tt_k_tensor_t *x = j->x, *source = j->source;
  uint32_t rank = x->rank, last = rank - 1, lead = (uint32_t)p->leading;
  size_t eb = tt_dtype_bytes(x->dtype);
  int64_t width = j->width;
  char* scratch = j->memory + task * j->memory_stride;
  char* chosen = scratch + tt_k_combiner_scratch(j->env, 1);     // values, candidates, lanes under test, flags, places
  char* candidate = chosen + (size_t)width * 16;
  char* tested = candidate + (size_t)width * 16;
  int64_t* places = (int64_t*)(tested + (size_t)width * 16);
  uint8_t* keep = (uint8_t*)(places + width);
  int64_t x_strides[TT_MAX_RANK];
  tt_k_dense_strides(x->dims, rank, x_strides);
  int64_t rows = tt_k_product(source->dims, lead, last), window_outer = tt_k_product(p->size, lead, last);
  int64_t x_plane = tt_k_product(x->dims, lead, rank), source_plane = rows * width;
  int64_t begin = j->planes * (int64_t)task / j->tasks, end = j->planes * (int64_t)(task + 1) / j->tasks;
  for (int64_t plane = begin; plane < end; ++plane) {
    const char* from = (const char*)x->data + (size_t)(plane * x_plane) * eb;
    char* to = (char*)j->y->data + (size_t)(plane * x_plane) * eb;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t w = 0; w < width; ++w) places[w] = -1;
      for (int64_t o = 0; o < window_outer; ++o) {
        int64_t flat = row, window = o, base = 0;
        bool inside = true;
        for (uint32_t i = last; i-- > lead;) {
          int64_t place = flat % source->dims[i] * p->stride[i] + window % p->size[i] - p->low[i];
          flat /= source->dims[i];
          window /= p->size[i];
          inside = inside && place >= 0 && place < x->dims[i];
          base += place * x_strides[i];
        }
        if (!inside) continue;
        for (int64_t k = 0; k < p->size[last]; ++k) {
          tt_k_span_t s = tt_k_span(width, x->dims[last], p->stride[last], 1, k - p->low[last]);
          if (s.count == 0) continue;
          int64_t first_place = base + s.u_first;
          tt_k_gather_strided(candidate, from + (size_t)first_place * eb, s.u_step, eb, (size_t)s.count);
          char* now = chosen + (size_t)s.first * eb;
          if (j->compare) {
            j->compare(keep, now, candidate, (size_t)s.count);
          } else {
            void *args[2] = {now, candidate}, *results[1] = {keep};
            size_t bytes[2] = {eb, eb}, one = 1;
            tt_k_region_run(j->env, 0, scratch, args, bytes, 2, results, &one, 1, s.count);
          }
          for (int64_t i = 0; i < s.count; ++i) {
            if (places[s.first + i] >= 0 && keep[i]) continue;
            places[s.first + i] = first_place + i * s.u_step;
            memcpy(now + (size_t)i * eb, candidate + (size_t)i * eb, eb);
          }
        }
      }
      const char* values = (const char*)source->data + (size_t)(plane * source_plane + row * width) * eb;
      for (int64_t w = 0; w < width; ++w) {
        if (places[w] < 0) continue;
        char* acc[1] = {to + (size_t)places[w] * eb};
        const char* in[1] = {values + (size_t)w * eb};
        if (j->c.kind == TT_OP_ADD && x->dtype == TT_DTYPE_F32) *(float*)acc[0] += *(const float*)in[0];
        else tt_k_combine(&j->c, scratch, acc, 1, in, 1, 1);
      }
    }
  }
}

static tt_status_t select_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                              const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const select_blob_t* p = blob;
  size_t eb = tt_dtype_bytes(x->dtype);
  tt_k_fill_parallel(env->pool, y->data, x[2].data, eb, tt_k_elems(y));
  if (tt_k_elems(x + 1) == 0 || tt_k_elems(y) == 0) return TT_OK_STATUS;
  if (x->rank == 0) {   // one window of one element
    tt_k_combiner_t c;
    tt_k_combiner_initialize(&c, env, 1, (tt_k_combine_t)p->combine, (tt_op_kind_t)p->kind, 1, x);
    c.convert = false;
    c.acc_dtype[0] = c.dtype[0];
    c.acc_bytes[0] = c.bytes[0];
    if (c.mode == TT_K_COMBINE_BINARY) c.fn = tt_k_binary(c.kind, c.dtype[0]);
    void* scratch;
    TT_RETURN_IF_ERROR(tt_k_work_take(tt_k_combiner_scratch(env, 1), &scratch));
    char* acc[1] = {y->data};
    const char* in[1] = {x[1].data};
    tt_k_combine(&c, scratch, acc, 1, in, 1, 1);
    tt_k_work_give(scratch);
    return TT_OK_STATUS;
  }
  select_job_t job = {.env = env, .p = p, .x = x, .source = x + 1, .y = y};
  tt_k_combiner_initialize(&job.c, env, 1, (tt_k_combine_t)p->combine, (tt_op_kind_t)p->kind, 1, x);
  if (job.c.convert) {   // the result itself accumulates: one rounding an addition
    job.c.convert = false;
    job.c.acc_dtype[0] = job.c.dtype[0];
    job.c.acc_bytes[0] = job.c.bytes[0];
    job.c.fn = tt_k_binary(job.c.kind, job.c.dtype[0]);
  }
  if (p->direction >= 0) job.compare = tt_k_compare((tt_k_compare_t)p->direction, x->dtype, false);
  job.planes = tt_k_product(x->dims, 0, (uint32_t)p->leading);
  job.width = x[1].dims[x->rank - 1];
  job.tasks = (int64_t)tt_k_tasks(env->pool, job.planes, TT_MAX(1, 4096 * job.planes / tt_k_elems(y)));
  job.memory_stride = tt_align_up(tt_k_combiner_scratch(env, 1) + (size_t)job.width * (3 * 16 + 8 + 1), 64);
  void* memory;
  TT_RETURN_IF_ERROR(tt_k_work_take(job.memory_stride * (size_t)job.tasks, &memory));
  job.memory = memory;
  tt_pool_run(env->pool, (size_t)job.tasks, select_task, &job);
  tt_k_work_give(memory);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_window_select_table[] = {
    {.name = "tt_k_any_select_and_scatter__generic", .kind = TT_OP_SELECT_AND_SCATTER, .encode = select_encode,
     .run = select_run},
    {0},
};
