// fft: FFT, IFFT, RFFT, IRFFT of up to three trailing dimensions, any length, computed in f64.
//
// A line of length n = 4^a 2^b 3^c 5^d 7^e 11^f 13^g goes through Stockham passes (decimation in frequency, self
// sorting); any other length becomes a cyclic convolution of a power-of-two length (Bluestein).
#include <math.h>

#include "base/alloc.h"
#include "kernels/loops.h"
#include "kernels/work.h"

#pragma GCC optimize("O3")

typedef struct cx_s { double re, im; } cx_t;
static inline cx_t cx_mul(cx_t a, cx_t b) { return (cx_t){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static inline cx_t cx_add(cx_t a, cx_t b) { return (cx_t){a.re + b.re, a.im + b.im}; }
static inline cx_t cx_sub(cx_t a, cx_t b) { return (cx_t){a.re - b.re, a.im - b.im}; }

// ---- plans -------------------------------------------------------------------------------------
typedef struct fft_plan_s {
  int64_t n;
  int factor_count, factors[64];
  cx_t* roots;               // exp(-2 pi i k / n), k < n
  struct fft_plan_s* inner;  // Bluestein: power of two
  cx_t *chirp, *kernel;      // exp(-pi i k^2 / n); transform of its conjugate
  int64_t work;              // complex numbers of work space for one line
} fft_plan_t;

static void fft_line(const fft_plan_t* p, cx_t* x, cx_t* work);

static bool factorise(int64_t n, fft_plan_t* p) {
  static const int radices[] = {4, 2, 3, 5, 7, 11, 13};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(radices); ++i) {
    while (n % radices[i] == 0) {
      p->factors[p->factor_count++] = radices[i];
      n /= radices[i];
    }
  }
  return n == 1;
}
static cx_t root_of_unity(int64_t k, int64_t n) {   // exp(-2 pi i k / n), the angle reduced to an octant
  int64_t octant = 8 * k / n;
  double angle = 2 * M_PI * ((double)(8 * k - octant * n) / (double)(8 * n));   // in [0, pi / 4)
  double c = cos(angle), s = sin(angle);
  const double r = 0.70710678118654752440;
  double re, im;   // of exp(+i ...)
  switch (octant & 7) {
    case 0: re = c; im = s; break;
    case 1: re = r * (c - s); im = r * (c + s); break;
    case 2: re = -s; im = c; break;
    case 3: re = -r * (c + s); im = r * (c - s); break;
    case 4: re = -c; im = -s; break;
    case 5: re = -r * (c - s); im = -r * (c + s); break;
    case 6: re = s; im = -c; break;
    default: re = r * (c + s); im = -r * (c - s); break;
  }
  return (cx_t){re, -im};
}
static void plan_free(fft_plan_t* p) {
  if (!p) return;
  plan_free(p->inner);
  tt_k_work_give(p->roots);
  tt_k_work_give(p->chirp);
  tt_k_work_give(p->kernel);
  tt_k_work_give(p);
}
static tt_status_t plan_create(int64_t n, fft_plan_t** out) {
  fft_plan_t* p;
  void *memory, *block = NULL;
  *out = NULL;
  TT_RETURN_IF_ERROR(tt_k_work_take(sizeof *p, &memory));
  p = memory;
  p->n = n;
  tt_status_t status = TT_OK_STATUS;
  if (factorise(n, p)) {
    p->work = n;
    status = tt_k_work_take((size_t)(n) * sizeof(cx_t), &block);
    p->roots = block;
    for (int64_t k = 0; k < n && p->roots; ++k) p->roots[k] = root_of_unity(k, n);
  } else {
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    p->work = 2 * m;
    status = plan_create(m, &p->inner);
    if (tt_status_is_ok(status)) {
      status = tt_k_work_take((size_t)(n) * sizeof(cx_t), &block);
      p->chirp = block;
    }
    if (tt_status_is_ok(status)) {
      status = tt_k_work_take((size_t)(2 * m) * sizeof(cx_t), &block);   // the second half is work space
      p->kernel = block;
    }
    if (tt_status_is_ok(status)) {
      for (int64_t k = 0; k < n; ++k) {
        p->chirp[k] = root_of_unity((int64_t)((unsigned __int128)k * (unsigned __int128)k % (uint64_t)(2 * n)), 2 * n);
        cx_t conjugate = {p->chirp[k].re, -p->chirp[k].im};
        p->kernel[k] = conjugate;
        if (k) p->kernel[m - k] = conjugate;
      }
      fft_line(p->inner, p->kernel, p->kernel + m);
    }
  }
  if (!tt_status_is_ok(status)) {
    plan_free(p);
    return status;
  }
  *out = p;
  return TT_OK_STATUS;
}

// ---- one pass: length nc = r * m, stride s ------------------------------------------------------
// y[q + s (r j + u)] = w_nc^(j u) sum_t x[q + s (j + m t)] w_r^(t u)
static void pass2(const cx_t* x, cx_t* y, int64_t m, int64_t s, const cx_t* roots, int64_t step) {
  for (int64_t j = 0; j < m; ++j) {
    cx_t w = roots[j * step];
    const cx_t *a = x + s * j, *b = x + s * (j + m);
    cx_t *c = y + s * 2 * j, *d = c + s;
    for (int64_t q = 0; q < s; ++q) {
      c[q] = cx_add(a[q], b[q]);
      d[q] = cx_mul(cx_sub(a[q], b[q]), w);
    }
  }
}
static void pass3(const cx_t* x, cx_t* y, int64_t m, int64_t s, const cx_t* roots, int64_t step) {
  const double h = 0.86602540378443864676;
  for (int64_t j = 0; j < m; ++j) {
    cx_t w1 = roots[j * step], w2 = roots[2 * j * step];
    const cx_t* a = x + s * j;
    cx_t* o = y + s * 3 * j;
    for (int64_t q = 0; q < s; ++q) {
      cx_t x0 = a[q], x1 = a[q + s * m], x2 = a[q + 2 * s * m];
      cx_t t = cx_add(x1, x2), d = cx_sub(x1, x2), e = {x0.re - .5 * t.re, x0.im - .5 * t.im}, r = {h * d.im, -h * d.re};
      o[q] = cx_add(x0, t);
      o[q + s] = cx_mul(cx_add(e, r), w1);
      o[q + 2 * s] = cx_mul(cx_sub(e, r), w2);
    }
  }
}
static void pass4(const cx_t* x, cx_t* y, int64_t m, int64_t s, const cx_t* roots, int64_t step) {
  for (int64_t j = 0; j < m; ++j) {
    cx_t w1 = roots[j * step], w2 = roots[2 * j * step], w3 = roots[3 * j * step];
    const cx_t* a = x + s * j;
    cx_t* o = y + s * 4 * j;
    for (int64_t q = 0; q < s; ++q) {
      cx_t x0 = a[q], x1 = a[q + s * m], x2 = a[q + 2 * s * m], x3 = a[q + 3 * s * m];
      cx_t p = cx_add(x0, x2), d = cx_sub(x0, x2), t = cx_add(x1, x3), f = cx_sub(x1, x3), g = {f.im, -f.re};   // -i f
      o[q] = cx_add(p, t);
      o[q + s] = cx_mul(cx_add(d, g), w1);
      o[q + 2 * s] = cx_mul(cx_sub(p, t), w2);
      o[q + 3 * s] = cx_mul(cx_sub(d, g), w3);
    }
  }
}
static void pass_any(int r, const cx_t* x, cx_t* y, int64_t m, int64_t s, const cx_t* roots, int64_t step, int64_t n) {
  cx_t small[16];
  for (int u = 0; u < r; ++u) small[u] = roots[u * (n / r)];
  for (int64_t j = 0; j < m; ++j) {
    for (int u = 0; u < r; ++u) {
      cx_t w = roots[j * u * step];
      for (int64_t q = 0; q < s; ++q) {
        cx_t sum = x[q + s * j];
        for (int t = 1; t < r; ++t) sum = cx_add(sum, cx_mul(x[q + s * (j + m * t)], small[t * u % r]));
        y[q + s * (r * j + u)] = cx_mul(sum, w);
      }
    }
  }
}
// In place; `work` has p->work numbers.
static void fft_line(const fft_plan_t* p, cx_t* x, cx_t* work) {
  int64_t n = p->n;
  if (p->inner) {
    int64_t m = p->inner->n;
    cx_t *a = work, *rest = work + m;
    for (int64_t k = 0; k < n; ++k) a[k] = cx_mul(x[k], p->chirp[k]);
    memset(a + n, 0, (size_t)(m - n) * sizeof *a);
    fft_line(p->inner, a, rest);
    for (int64_t k = 0; k < m; ++k) {   // conjugated: the inverse transform is the conjugate of a forward one
      cx_t v = cx_mul(a[k], p->kernel[k]);
      a[k] = (cx_t){v.re, -v.im};
    }
    fft_line(p->inner, a, rest);
    double scale = 1 / (double)m;
    for (int64_t k = 0; k < n; ++k) {
      cx_t v = {a[k].re * scale, -a[k].im * scale};
      x[k] = cx_mul(v, p->chirp[k]);
    }
    return;
  }
  cx_t *from = x, *to = work;
  int64_t s = 1, length = n;
  for (int i = 0; i < p->factor_count; ++i) {
    int r = p->factors[i];
    int64_t m = length / r;   // roots of `length` are every s-th root of n
    switch (r) {
      case 2: pass2(from, to, m, s, p->roots, s); break;
      case 3: pass3(from, to, m, s, p->roots, s); break;
      case 4: pass4(from, to, m, s, p->roots, s); break;
      default: pass_any(r, from, to, m, s, p->roots, s, n); break;
    }
    s *= r;
    length = m;
    cx_t* swap = from;
    from = to;
    to = swap;
  }
  if (from != x) memcpy(x, from, (size_t)n * sizeof *x);
}

// ---- one axis ----------------------------------------------------------------------------------
typedef enum axis_kind_e { FORWARD, INVERSE, FROM_REAL, TO_REAL } axis_kind_t;
typedef struct axis_job_s {
  axis_kind_t kind;
  const fft_plan_t* plan;
  bool is_double;            // f64 / c128 data
  const char* x;
  char* y;
  int64_t n_in, n_out, stride, lines, tasks;
  double scale;
  cx_t* memory;
  int64_t memory_stride;
} axis_job_t;

static double load_real(const axis_job_t* j, const char* data, int64_t i) {
  return j->is_double ? ((const double*)data)[i] : (double)((const float*)data)[i];
}
static void store_real(const axis_job_t* j, char* data, int64_t i, double v) {
  if (j->is_double) ((double*)data)[i] = v;
  else ((float*)data)[i] = (float)v;
}
static void axis_task(void* self, size_t task) {
  const axis_job_t* j = self;
  int64_t n = j->plan->n, s = j->stride;
  cx_t *line = j->memory + (int64_t)task * j->memory_stride, *work = line + n;
  bool inverse = j->kind == INVERSE || j->kind == TO_REAL;
  double sign = inverse ? -1 : 1;
  int64_t begin = j->lines * (int64_t)task / j->tasks, end = j->lines * (int64_t)(task + 1) / j->tasks;
  for (int64_t l = begin; l < end; ++l) {
    int64_t in = l / s * j->n_in * s + l % s, out = l / s * j->n_out * s + l % s;
    if (j->kind == FROM_REAL) {
      for (int64_t k = 0; k < n; ++k) line[k] = (cx_t){load_real(j, j->x, in + k * s), 0};
    } else {
      for (int64_t k = 0; k < TT_MIN(n, j->n_in); ++k) {
        int64_t at = 2 * (in + k * s);
        line[k] = (cx_t){load_real(j, j->x, at), sign * load_real(j, j->x, at + 1)};
      }
      if (j->kind == TO_REAL) {   // the other half is the mirrored conjugate; the real places' imaginary parts do not count
        line[0].im = 0;
        if (n % 2 == 0) line[n / 2].im = 0;
        for (int64_t k = n / 2 + 1; k < n; ++k) line[k] = (cx_t){line[n - k].re, -line[n - k].im};
      }
    }
    fft_line(j->plan, line, work);
    for (int64_t k = 0; k < j->n_out; ++k) {
      if (j->kind == TO_REAL) {
        store_real(j, j->y, out + k * s, line[k].re * j->scale);
      } else {
        int64_t at = 2 * (out + k * s);
        store_real(j, j->y, at, line[k].re * j->scale);
        store_real(j, j->y, at + 1, sign * line[k].im * j->scale);
      }
    }
  }
}
static tt_status_t axis_run(const tt_k_env_t* env, axis_kind_t kind, int64_t n, double scale, bool is_double, const void* x,
                            void* y, int64_t n_in, int64_t n_out, int64_t stride, int64_t lines) {
  axis_job_t job = {.kind = kind, .is_double = is_double, .x = x, .y = y, .n_in = n_in, .n_out = n_out, .stride = stride,
                    .lines = lines, .scale = scale};
  fft_plan_t* plan;
  TT_RETURN_IF_ERROR(plan_create(n, &plan));
  job.plan = plan;
  job.tasks = (int64_t)tt_k_tasks(env->pool, lines, TT_MAX(1, 4096 / n));
  job.memory_stride = n + plan->work;
  void* memory;
  tt_status_t status = tt_k_work_take((size_t)(job.memory_stride * job.tasks) * sizeof(cx_t), &memory);
  if (tt_status_is_ok(status)) {
    job.memory = memory;
    tt_pool_run(env->pool, (size_t)job.tasks, axis_task, &job);
    tt_k_work_give(memory);
  }
  plan_free(plan);
  return status;
}

// ---- the op ------------------------------------------------------------------------------------
typedef struct fft_blob_s {
  int64_t kind;      // axis_kind_t of the last axis
  int64_t count, length[3];
} fft_blob_t;
static bool fft_supports(const tt_op_t* op, const char** why) {
  *why = "more than three dimensions, or not f32, f64, c64, c128";
  tt_dtype_t d = op->operands[0]->type->dtype;
  return tt_op_attr_i64s(op, TT_ATTR_FFT_LENGTH).size <= 3 &&
         (d == TT_DTYPE_F32 || d == TT_DTYPE_F64 || d == TT_DTYPE_C64 || d == TT_DTYPE_C128);
}
static tt_status_t fft_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  fft_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const char* type = tt_op_attr_text(op, TT_ATTR_FFT_TYPE);
  p->kind = strcmp(type, "IFFT") == 0 ? INVERSE : strcmp(type, "RFFT") == 0 ? FROM_REAL : strcmp(type, "IRFFT") == 0 ? TO_REAL : FORWARD;
  p->count = (int64_t)tt_k_attr_i64s(tt_op_attr(op, TT_ATTR_FFT_LENGTH), p->length, 3);
  return TT_OK_STATUS;
}
static size_t fft_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y, size_t ny) {
  (void)threads, (void)nx, (void)y, (void)ny;
  const fft_blob_t* p = blob;
  return p->kind == TO_REAL && p->count > 1 ? tt_k_bytes(x) : 0;
}
static tt_status_t fft_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y,
                           size_t ny) {
  (void)nx, (void)ny;
  const fft_blob_t* p = blob;
  bool is_double = x->dtype == TT_DTYPE_F64 || x->dtype == TT_DTYPE_C128;
  if (tt_k_elems(y) == 0) return TT_OK_STATUS;
  if (tt_k_elems(x) == 0) {
    memset(y->data, 0, tt_k_bytes(y));
    return TT_OK_STATUS;
  }
  if (p->count == 0) return tt_k_memcpy(env->pool, y->data, x->data, tt_k_bytes(x)), TT_OK_STATUS;
  axis_kind_t kind = (axis_kind_t)p->kind;
  bool inverse = kind == INVERSE || kind == TO_REAL;
  uint32_t last = x->rank - 1;
  int64_t n = p->length[p->count - 1];
  const tt_k_tensor_t* complex_side = kind == TO_REAL ? x : y;   // whose dims the other axes see
  const void* from = x->data;
  void* to = kind == TO_REAL ? env->scratch : y->data;
  if (kind != TO_REAL) {
    TT_RETURN_IF_ERROR(axis_run(env, kind, n, inverse ? 1 / (double)n : 1, is_double, from, to, x->dims[last], y->dims[last], 1,
                                tt_k_elems(x) / x->dims[last]));
    from = to;
  }
  for (int64_t i = p->count - 1; i-- > 0;) {
    uint32_t axis = last - (uint32_t)(p->count - 1 - i);
    int64_t length = p->length[i];
    TT_RETURN_IF_ERROR(axis_run(env, inverse ? INVERSE : FORWARD, length, inverse ? 1 / (double)length : 1, is_double, from, to,
                                length, length, tt_k_product(complex_side->dims, axis + 1, complex_side->rank),
                                tt_k_elems(complex_side) / length));
    from = to;
  }
  if (kind == TO_REAL) {
    TT_RETURN_IF_ERROR(axis_run(env, TO_REAL, n, 1 / (double)n, is_double, from, y->data, x->dims[last], n, 1,
                                tt_k_elems(x) / x->dims[last]));
  }
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_fft_table[] = {
    {.name = "tt_k_any_fft__generic", .kind = TT_OP_FFT, .supports = fft_supports, .encode = fft_encode,
     .scratch_bytes = fft_scratch, .run = fft_run},
    {0},
};
