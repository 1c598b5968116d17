// Composites over rows: tt.softmax, tt.softmax_backward, tt.layer_norm.
//
// A row is worked on in f32 (f64 for f64), in cache, by the lane loops of rows_lanes.h. An axis that is not last
// goes to rows_columns.c when many columns lie side by side, else kColumns of them are gathered into rows and
// scattered back. Tasks own their scratch.
#include "kernels/rows.h"

#include <math.h>

#include "kernels/math_lanes.h"
#include "kernels/rows_lanes.h"
#include "kernels/stream.h"

enum { kColumns = 16, kRowBytes = 64 << 10, kInputs = 2, kWideInner = 32, kApart = 4096 };

static const tt_row_lanes_t* row_lanes(tt_dtype_t acc) {
  int i = acc == TT_DTYPE_F64;
#if defined(__x86_64__)
  if (tt_k_isa() >= TT_ISA_AVX512) return &tt_k_row_lanes__avx512[i];
  if (tt_k_isa() == TT_ISA_AVX2) return &tt_k_row_lanes__avx2[i];
#endif
  return &tt_k_row_lanes__generic[i];
}
static bool row_dtype(tt_dtype_t d) {
  return d == TT_DTYPE_F32 || d == TT_DTYPE_F64 || d == TT_DTYPE_F16 || d == TT_DTYPE_BF16;
}
static tt_dtype_t acc_of(tt_dtype_t d) { return d == TT_DTYPE_F64 ? TT_DTYPE_F64 : TT_DTYPE_F32; }

// ---- the frame: rows, gathered columns, tasks ------------------------------------------------------
typedef struct rows_job_s rows_job_t;
typedef struct row_io_s {
  const void* x[kInputs];        // n values of acc each, like out
  const void* next[kInputs];     // what is read next, worth fetching meanwhile
  void* out;
  void* work;                    // n values of acc: `out`, or a buffer when `out` is streamed
  const tt_k_stream_t* stream;   // NULL: `out` is stored as usual
} row_io_t;
struct rows_job_s {
  void (*row)(const rows_job_t* job, const row_io_t* io, int64_t index);
  tt_dtype_t dtype, acc;
  tt_rows_shape_t s;
  size_t inputs;
  const char* in[kInputs];
  char* out;
  bool log;
  const tt_row_lanes_t* lanes;
  tt_k_fold_fn_t add;
  tt_k_unary_fn_t exp, widen, narrow;
  tt_k_top_fn_t top;
  tt_k_exp_sum_fn_t exp_sum;
  // layer norm
  double eps;
  bool rms;
  const void *weight, *bias;     // of acc
  char *mean, *rstd;
  // split
  int64_t rows_per_block, blocks_per_outer, blocks;
  size_t tasks, slot_bytes;
  char* scratch;
  const tt_k_stream_t* stream;   // NULL: rows are written in place
};

static int64_t job_rows_per_block(const tt_rows_shape_t* s, size_t element_bytes) {
  if (s->inner > 1) return TT_MIN(s->inner, (int64_t)kColumns);
  int64_t fit = kRowBytes / (int64_t)element_bytes / TT_MAX(s->n, 1);
  return TT_MAX(fit, 1);
}
// Whether the result may be large enough to be streamed, by the shape alone: rows then need a buffer.
static bool job_may_stream(const tt_rows_shape_t* s, size_t element_bytes) {
  return s->inner == 1 && s->n * (int64_t)element_bytes <= kRowBytes &&
         s->outer * s->n * (int64_t)element_bytes >= TT_K_STREAM_BYTES;
}
// Row buffers of acc when the dtype is narrower, gather buffers when columns are strided, a row to be streamed.
static size_t job_slot_bytes(const tt_rows_shape_t* s, tt_dtype_t dtype, size_t inputs) {
  size_t n = (size_t)s->n, bytes = 0;
  if (dtype != acc_of(dtype)) bytes += (inputs + 1) * tt_align_up(n * tt_dtype_bytes(acc_of(dtype)), 64);
  if (s->inner > 1) bytes += (inputs + 1) * tt_align_up(n * kColumns * tt_dtype_bytes(dtype), 64);
  if (job_may_stream(s, tt_dtype_bytes(dtype))) bytes += tt_align_up(n * tt_dtype_bytes(dtype), 64) + kApart;
  return bytes;
}
static size_t job_tasks(int64_t blocks, int threads) {
  int64_t most = threads > 1 ? 2 * (int64_t)threads : 1;
  return (size_t)TT_MAX(TT_MIN(blocks, most), 1);
}
static int64_t job_blocks(const tt_rows_shape_t* s, int64_t rows_per_block, int64_t* out_per_outer) {
  if (s->inner > 1) {
    *out_per_outer = (s->inner + rows_per_block - 1) / rows_per_block;
    return s->outer * *out_per_outer;
  }
  *out_per_outer = 1;
  return (s->outer + rows_per_block - 1) / rows_per_block;
}

static void job_one_row(const rows_job_t* job, char* buffers, char* out, const char* const* in, int64_t index) {
  size_t n = (size_t)job->s.n;
  row_io_t io = {.out = out, .work = out};
  if (job->dtype == job->acc) {
    for (size_t i = 0; i < job->inputs; ++i) io.x[i] = io.next[i] = in[i];
    job->row(job, &io, index);
    return;
  }
  size_t row_bytes = tt_align_up(n * tt_dtype_bytes(job->acc), 64);
  for (size_t i = 0; i < job->inputs; ++i) {
    job->widen(buffers + i * row_bytes, in[i], n);
    io.x[i] = io.next[i] = buffers + i * row_bytes;
  }
  io.out = io.work = buffers + job->inputs * row_bytes;
  job->row(job, &io, index);
  job->narrow(out, io.out, n);
}

// `buffer` has kApart bytes to spare: an address half a page from x's, modulo pages. A loop that stores just ahead of
// where it loads (as the CPU compares addresses: by their place in a page) waits for each store: softmax of 4096^2
// took 9 ms in place of 6 when work was 64 bytes behind x.
static char* job_apart(char* buffer, const void* x) {
  size_t wanted = ((uintptr_t)x + kApart / 2) & (kApart - 64), have = (uintptr_t)buffer & (kApart - 64);
  return buffer + ((wanted - have) & (kApart - 64));
}

// A row of a large result, past the caches.
static void job_stream_row(const rows_job_t* job, char* buffers, char* work, int64_t index, bool is_last) {
  size_t bytes = (size_t)job->s.n * tt_dtype_bytes(job->dtype), at = (size_t)index * bytes;
  row_io_t io = {.out = job->out + at, .work = work, .stream = job->stream};
  const char *in[kInputs], *next[kInputs];
  for (size_t i = 0; i < job->inputs; ++i) {
    in[i] = job->in[i] + at;
    next[i] = is_last ? in[i] : in[i] + bytes;
    io.x[i] = in[i];
    io.next[i] = next[i];
  }
  io.work = work = job_apart(work, in[0]);
  if (job->dtype == job->acc) {
    job->row(job, &io, index);
    return;
  }
  job_one_row(job, buffers, work, in, index);
  job->stream->copy(io.out, work, bytes, next, job->inputs);
}

// The last pass over a row: `piece` computes n values from `x` and what else it needs `at` elements into the row.
// Streamed results go through a stage that stays in the first cache level, so that the stores of one piece overlap
// with the computing of the next.
typedef void (*row_piece_t)(const rows_job_t* job, const void* self, void* out, const void* x, size_t at, size_t n);
static void row_finish(const rows_job_t* job, const row_io_t* io, row_piece_t piece, const void* self, const void* x) {
  size_t n = (size_t)job->s.n, bytes = tt_dtype_bytes(job->acc), most = TT_K_STREAM_PIECE / bytes;
  if (!io->stream) {
    piece(job, self, io->out, x, 0, n);
    return;
  }
  char stage[TT_K_STREAM_PIECE] TT_ALIGNED(64);
  for (size_t i = 0; i < n; i += most) {
    size_t m = TT_MIN(n - i, most);
    piece(job, self, stage, (const char*)x + i * bytes, i, m);
    io->stream->copy((char*)io->out + i * bytes, stage, m * bytes, NULL, 0);
  }
}

static void job_task(void* self, size_t task) {
  const rows_job_t* job = self;
  const tt_rows_shape_t* s = &job->s;
  size_t eb = tt_dtype_bytes(job->dtype), n = (size_t)s->n;
  char* buffers = job->scratch + task * job->slot_bytes;
  char* gather = buffers + (job->dtype != job->acc ? (job->inputs + 1) * tt_align_up(n * tt_dtype_bytes(job->acc), 64) : 0);
  size_t gather_bytes = tt_align_up(n * kColumns * eb, 64);
  int64_t begin = job->blocks * (int64_t)task / (int64_t)job->tasks;
  int64_t end = job->blocks * (int64_t)(task + 1) / (int64_t)job->tasks;
  for (int64_t b = begin; b < end; ++b) {
    const char* in[kInputs];
    if (s->inner == 1) {
      int64_t first = b * job->rows_per_block, last = TT_MIN(first + job->rows_per_block, s->outer);
      for (int64_t r = first; r < last; ++r) {
        for (size_t i = 0; i < job->inputs; ++i) in[i] = job->in[i] + (size_t)r * n * eb;
        if (job->stream) job_stream_row(job, buffers, gather, r, r + 1 == s->outer);
        else job_one_row(job, buffers, job->out + (size_t)r * n * eb, in, r);
      }
      continue;
    }
    int64_t o = b / job->blocks_per_outer, c0 = b % job->blocks_per_outer * job->rows_per_block;
    size_t columns = (size_t)TT_MIN(job->rows_per_block, s->inner - c0);
    size_t start = ((size_t)o * n * (size_t)s->inner + (size_t)c0) * eb;
    char* result = gather + job->inputs * gather_bytes;
    for (size_t i = 0; i < job->inputs; ++i) {
      tt_k_transpose_block(gather + i * gather_bytes, s->n, job->in[i] + start, 1, s->inner, columns, n, eb);
    }
    for (size_t c = 0; c < columns; ++c) {
      for (size_t i = 0; i < job->inputs; ++i) in[i] = gather + i * gather_bytes + c * n * eb;
      job_one_row(job, buffers, result + c * n * eb, in, o * s->inner + c0 + (int64_t)c);
    }
    tt_k_transpose_block(job->out + start, s->inner, result, 1, s->n, n, columns, eb);
  }
  if (job->stream) job->stream->end();
}

static void job_run(const tt_k_env_t* env, rows_job_t* job, char* scratch) {
  if (job->s.n == 0 || job->s.outer == 0 || job->s.inner == 0) return;
  job->acc = acc_of(job->dtype);
  job->lanes = row_lanes(job->acc);
  job->add = tt_k_fold(TT_OP_ADD, job->acc);
  job->top = tt_k_top(job->acc);
  job->exp = tt_k_unary(TT_OP_EXPONENTIAL, job->acc);
  job->exp_sum = tt_k_exp_sum(job->acc);
  if (job->dtype != job->acc) {
    job->widen = tt_k_convert(job->dtype, job->acc);
    job->narrow = tt_k_convert(job->acc, job->dtype);
  }
  job->rows_per_block = job_rows_per_block(&job->s, tt_dtype_bytes(job->dtype));
  job->blocks = job_blocks(&job->s, job->rows_per_block, &job->blocks_per_outer);
  job->tasks = job_tasks(job->blocks, env->pool ? tt_pool_threads(env->pool) : 1);
  if (job->s.outer * job->s.n * job->s.inner < 8192) job->tasks = 1;    // waking threads costs more
  job->slot_bytes = job_slot_bytes(&job->s, job->dtype, job->inputs);
  if (job_may_stream(&job->s, tt_dtype_bytes(job->dtype)))
    job->stream = tt_k_stream(job->s.outer * job->s.n * (int64_t)tt_dtype_bytes(job->dtype));
  job->scratch = scratch;
  if (job->tasks == 1) job_task(job, 0);
  else tt_pool_run(env->pool, job->tasks, job_task, job);
}
static size_t job_scratch(const tt_rows_shape_t* s, tt_dtype_t dtype, size_t inputs, int threads) {
  int64_t per_outer, blocks = job_blocks(s, job_rows_per_block(s, tt_dtype_bytes(dtype)), &per_outer);
  return job_tasks(blocks, threads) * job_slot_bytes(s, dtype, inputs);
}

// ---- softmax ------------------------------------------------------------------------------------
static double sum_of(const rows_job_t* job, const void* x) {
  double wide = 0;
  float sum = 0;
  job->add(job->acc == TT_DTYPE_F64 ? (void*)&wide : &sum, x, (size_t)job->s.n);
  return wide + (double)sum;
}
typedef struct softmax_last_s { double a, b; } softmax_last_t;
static void softmax_scale(const rows_job_t* job, const void* self, void* out, const void* x, size_t at, size_t n) {
  (void)at;
  job->lanes->scale(out, x, ((const softmax_last_t*)self)->a, n);
}
static void softmax_shift(const rows_job_t* job, const void* self, void* out, const void* x, size_t at, size_t n) {
  (void)at;
  const softmax_last_t* last = self;
  job->lanes->shift2(out, x, last->a, last->b, n);
}
// The exponentials are most of the work: the next row is fetched while they are computed.
static void softmax_row(const rows_job_t* job, const row_io_t* io, int64_t index) {
  (void)index;
  double top = job->top(io->x[0], (size_t)job->s.n);   // a NaN makes the sum NaN, and so the whole row
  double total = job->exp_sum(io->work, io->x[0], top, (size_t)job->s.n, io->next[0]);
  if (job->log) row_finish(job, io, softmax_shift, &(softmax_last_t){top, log(total)}, io->x[0]);
  else row_finish(job, io, softmax_scale, &(softmax_last_t){1 / total, 0}, io->work);
}
typedef struct softmax_back_s { double total; const char* other; } softmax_back_t;
static void softmax_back_piece(const rows_job_t* job, const void* self, void* out, const void* x, size_t at, size_t n) {
  const softmax_back_t* back = self;
  job->lanes->back(out, x, back->other + at * tt_dtype_bytes(job->acc), back->total, n);
}
static void softmax_back_log_piece(const rows_job_t* job, const void* self, void* out, const void* x, size_t at, size_t n) {
  const softmax_back_t* back = self;
  job->lanes->back_log(out, x, back->other + at * tt_dtype_bytes(job->acc), back->total, n);
}
static void softmax_backward_row(const rows_job_t* job, const row_io_t* io, int64_t index) {
  (void)index;
  size_t n = (size_t)job->s.n;
  if (job->log) {
    softmax_back_t back = {sum_of(job, io->x[0]), io->work};
    job->exp(io->work, io->x[1], n);
    row_finish(job, io, softmax_back_log_piece, &back, io->x[0]);
  } else {
    softmax_back_t back = {job->lanes->dot(io->x[0], io->x[1], n), io->x[1]};
    row_finish(job, io, softmax_back_piece, &back, io->x[0]);
  }
}

typedef struct softmax_blob_s { int64_t axis, log; } softmax_blob_t;
static bool softmax_supports(const tt_op_t* op, const char** why) {
  *why = "not f16, bf16, f32 or f64, or the axis is out of range, or the types differ";
  tt_dtype_t d = op->operands[0]->type->dtype;
  for (uint32_t i = 0; i < op->operand_count; ++i) if (op->operands[i]->type->dtype != d) return false;
  return row_dtype(d) && op->results[0].type->dtype == d && tt_rows_axis_valid(op);
}
static tt_status_t softmax_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  softmax_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  p->axis = tt_rows_axis(op);
  p->log = tt_rows_flag(op, TT_ATTR_LOG);
  return TT_OK_STATUS;
}
static size_t softmax_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y, size_t ny) {
  (void)y, (void)ny;
  tt_rows_shape_t s = tt_rows_shape(&x[0], ((const softmax_blob_t*)blob)->axis);
  if (s.inner >= kWideInner) return 0;
  return job_scratch(&s, x[0].dtype, nx, threads);
}
static tt_status_t softmax_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                               const tt_k_tensor_t* y, size_t ny) {
  (void)ny;
  const softmax_blob_t* p = blob;
  rows_job_t job = {.row = nx == 1 ? softmax_row : softmax_backward_row, .dtype = x[0].dtype,
                    .s = tt_rows_shape(&x[0], p->axis), .inputs = nx, .out = y[0].data, .log = p->log != 0};
  for (size_t i = 0; i < nx; ++i) job.in[i] = x[i].data;
  if (job.s.inner >= kWideInner) {
    tt_rows_softmax_columns(env->pool, job.dtype, job.s, job.log, (const void* const[]){job.in[0], job.in[1]}, nx, job.out);
    return TT_OK_STATUS;
  }
  job_run(env, &job, env->scratch);
  return TT_OK_STATUS;
}

// ---- layer norm, rms norm -----------------------------------------------------------------------
typedef struct norm_last_s { double centre, rstd; } norm_last_t;
static void norm_piece(const rows_job_t* job, const void* self, void* out, const void* x, size_t at, size_t n) {
  const norm_last_t* last = self;
  size_t skip = at * tt_dtype_bytes(job->acc);
  const char *w = job->weight, *b = job->bias;
  job->lanes->norm(out, x, last->centre, last->rstd, w ? w + skip : NULL, b ? b + skip : NULL, n);
}
static void norm_row(const rows_job_t* job, const row_io_t* io, int64_t index) {
  size_t n = (size_t)job->s.n;
  double mean = sum_of(job, io->x[0]) / (double)n;
  if (job->acc == TT_DTYPE_F32) mean = (double)(float)mean;
  double centre = job->rms ? 0 : mean;
  double rstd = 1 / sqrt(job->lanes->square(io->x[0], centre, n, io->next[0]) / (double)n + job->eps);
  row_finish(job, io, norm_piece, &(norm_last_t){centre, rstd}, io->x[0]);
  if (job->acc == TT_DTYPE_F64) {
    ((double*)(void*)job->mean)[index] = mean;
    ((double*)(void*)job->rstd)[index] = rstd;
  } else {
    ((float*)(void*)job->mean)[index] = (float)mean;
    ((float*)(void*)job->rstd)[index] = (float)rstd;
  }
}

typedef struct norm_blob_s {
  int64_t axis, rms, has_weight, has_bias;
  double eps;
} norm_blob_t;
static bool norm_supports(const tt_op_t* op, const char** why) {
  *why = "not f16, bf16, f32 or f64, or the axis is out of range, or mean and rstd are not of the accumulation type";
  tt_dtype_t d = op->operands[0]->type->dtype;
  uint32_t want = 1 + tt_rows_flag(op, TT_ATTR_HAS_WEIGHT) + tt_rows_flag(op, TT_ATTR_HAS_BIAS);
  if (op->operand_count != want || op->result_count != 3 || !row_dtype(d) || op->results[0].type->dtype != d) return false;
  for (uint32_t i = 1; i < op->operand_count; ++i) if (!row_dtype(op->operands[i]->type->dtype)) return false;
  return op->results[1].type->dtype == acc_of(d) && op->results[2].type->dtype == acc_of(d) && tt_rows_axis_valid(op);
}
static tt_status_t norm_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  norm_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  p->axis = tt_rows_axis(op);
  p->rms = tt_rows_flag(op, TT_ATTR_RMS);
  p->has_weight = tt_rows_flag(op, TT_ATTR_HAS_WEIGHT);
  p->has_bias = tt_rows_flag(op, TT_ATTR_HAS_BIAS);
  const tt_attr_t* eps = tt_k_own_attr(op, TT_ATTR_EPS);
  p->eps = eps && eps->kind == TT_AK_FLOAT ? eps->f : 1e-5;
  return TT_OK_STATUS;
}
static tt_rows_shape_t norm_shape(const tt_k_tensor_t* x, int64_t axis) {
  return (tt_rows_shape_t){tt_k_product(x->dims, 0, (uint32_t)axis), tt_k_product(x->dims, (uint32_t)axis, x->rank), 1};
}
// weight and bias in the accumulation type stand before the tasks' slots
static size_t norm_parameters_bytes(const tt_k_tensor_t* x, size_t nx, int64_t n) {
  size_t bytes = 0;
  tt_dtype_t acc = acc_of(x[0].dtype);
  for (size_t i = 1; i < nx; ++i) if (x[i].dtype != acc) bytes += tt_align_up((size_t)n * tt_dtype_bytes(acc), 64);
  return bytes;
}
static size_t norm_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y, size_t ny) {
  (void)y, (void)ny;
  tt_rows_shape_t s = norm_shape(&x[0], ((const norm_blob_t*)blob)->axis);
  return norm_parameters_bytes(x, nx, s.n) + job_scratch(&s, x[0].dtype, 1, threads);
}
static tt_status_t norm_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                            const tt_k_tensor_t* y, size_t ny) {
  (void)ny;
  const norm_blob_t* p = blob;
  rows_job_t job = {.row = norm_row, .dtype = x[0].dtype, .s = norm_shape(&x[0], p->axis), .inputs = 1, .in = {x[0].data},
                    .out = y[0].data, .eps = p->eps, .rms = p->rms != 0, .mean = y[1].data, .rstd = y[2].data};
  char* scratch = env->scratch;
  const void* parameters[2] = {NULL, NULL};
  tt_dtype_t acc = acc_of(x[0].dtype);
  for (size_t i = 1; i < nx && i < 3; ++i) {
    parameters[i - 1] = x[i].data;
    if (x[i].dtype != acc) {
      tt_k_convert(x[i].dtype, acc)(scratch, x[i].data, (size_t)job.s.n);
      parameters[i - 1] = scratch;
      scratch += tt_align_up((size_t)job.s.n * tt_dtype_bytes(acc), 64);
    }
  }
  size_t next = 0;
  if (p->has_weight) job.weight = parameters[next++];
  if (p->has_bias) job.bias = parameters[next];
  job_run(env, &job, scratch);
  if (job.s.n == 0) {     // a mean of nothing
    double nan = NAN;
    for (int64_t i = 0; i < job.s.outer; ++i) {
      tt_scalar_store_f64(acc, nan, job.mean + (size_t)i * tt_dtype_bytes(acc));
      tt_scalar_store_f64(acc, nan, job.rstd + (size_t)i * tt_dtype_bytes(acc));
    }
  }
  return TT_OK_STATUS;
}

extern const tt_k_op_t tt_k_rows_table[];
const tt_k_op_t tt_k_rows_table[] = {
  {.name = "tt_k_float_softmax__generic", .kind = TT_OP_COMPOSITE, .target = "tt.softmax", .supports = softmax_supports,
   .encode = softmax_encode, .scratch_bytes = softmax_scratch, .run = softmax_run},
  {.name = "tt_k_float_softmax_backward__generic", .kind = TT_OP_COMPOSITE, .target = "tt.softmax_backward",
   .supports = softmax_supports, .encode = softmax_encode, .scratch_bytes = softmax_scratch, .run = softmax_run},
  {.name = "tt_k_float_layer_norm__generic", .kind = TT_OP_COMPOSITE, .target = "tt.layer_norm", .supports = norm_supports,
   .encode = norm_encode, .scratch_bytes = norm_scratch, .run = norm_run},
  {.name = "tt_k_any_cumulative__generic", .kind = TT_OP_COMPOSITE, .target = "tt.cumulative",
   .supports = tt_k_cumulative_supports, .encode = tt_k_cumulative_encode, .run = tt_k_cumulative_run},
  {0},
};
