// Batch normalisation over every dimension but the feature dimension; sums in f64.
#include <math.h>

#include "kernels/loops.h"

typedef struct norm_blob_s {
  double epsilon;
  int64_t feature;
} norm_blob_t;

static bool norm_supports(const tt_op_t* op, const char** why) {
  *why = "only for floats";
  return tt_dtype_is_float(op->operands[0]->type->dtype);
}
static tt_status_t norm_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  norm_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  p->epsilon = tt_op_attr_float(op, TT_ATTR_EPSILON, 0);
  p->feature = tt_op_attr_int(op, TT_ATTR_FEATURE_INDEX, 0);
  return TT_OK_STATUS;
}

typedef enum norm_mode_e { TRAINING, INFERENCE, GRADIENT } norm_mode_t;
typedef struct norm_job_s {
  norm_mode_t mode;
  const norm_blob_t* p;
  const tt_k_tensor_t *x, *y;
  int64_t outer, channels, inner;
} norm_job_t;

enum { BLOCK = 512 };

static double load(const tt_k_tensor_t* t, int64_t i) {
  return tt_scalar_load_f64(t->dtype, (const char*)t->data + (size_t)i * tt_dtype_bytes(t->dtype));
}
static void store(const tt_k_tensor_t* t, int64_t i, double value) {
  tt_scalar_store_f64(t->dtype, value, (char*)t->data + (size_t)i * tt_dtype_bytes(t->dtype));
}
static void load_run(const tt_k_tensor_t* t, int64_t at, int64_t n, double* out) {
  const void* from = (const char*)t->data + (size_t)at * tt_dtype_bytes(t->dtype);
  if (t->dtype == TT_DTYPE_F64) memcpy(out, from, (size_t)n * 8);
  else tt_k_convert_parallel(NULL, t->dtype, TT_DTYPE_F64, out, from, n);
}
static void store_run(const tt_k_tensor_t* t, int64_t at, int64_t n, const double* values) {
  void* to = (char*)t->data + (size_t)at * tt_dtype_bytes(t->dtype);
  if (t->dtype == TT_DTYPE_F64) memcpy(to, values, (size_t)n * 8);
  else tt_k_convert_parallel(NULL, TT_DTYPE_F64, t->dtype, to, values, n);
}

// Calls BODY for each run of at most BLOCK contiguous elements of channel c, [at, at + n).
#define EACH_RUN(j, c, BODY)                                                             \
  for (int64_t o = 0; o < (j)->outer; ++o) {                                             \
    for (int64_t i0 = 0; i0 < (j)->inner; i0 += BLOCK) {                                 \
      int64_t n = TT_MIN(BLOCK, (j)->inner - i0);                                        \
      int64_t at = (o * (j)->channels + (c)) * (j)->inner + i0;                          \
      BODY                                                                               \
    }                                                                                    \
  }

static void norm_range(void* self, int64_t begin, int64_t end) {
  const norm_job_t* j = self;
  const tt_k_tensor_t *x = j->x, *y = j->y;
  double a[BLOCK], b[BLOCK];
  double count = (double)(j->outer * j->inner);
  for (int64_t c = begin; c < end; ++c) {
    double scale = load(x + 1, c);
    if (j->mode == GRADIENT) {   // x, scale, mean, variance, grad -> grad_x, grad_scale, grad_offset
      double mean = load(x + 2, c), inverse = 1 / (load(x + 3, c) + j->p->epsilon), sum = 0, product = 0;
      EACH_RUN(j, c, {
        load_run(x, at, n, a);
        load_run(x + 4, at, n, b);
        for (int64_t i = 0; i < n; ++i) {
          sum += b[i];
          product += b[i] * (a[i] - mean);
        }
      })
      double root = sqrt(inverse);
      EACH_RUN(j, c, {
        load_run(x, at, n, a);
        load_run(x + 4, at, n, b);
        for (int64_t i = 0; i < n; ++i) {
          a[i] = scale * root * (b[i] - sum / count - (a[i] - mean) * inverse * product / count);
        }
        store_run(y, at, n, a);
      })
      store(y + 1, c, product * root);
      store(y + 2, c, sum);
      continue;
    }
    double offset = load(x + 2, c), mean, variance;
    if (j->mode == INFERENCE) {
      mean = load(x + 3, c);
      variance = load(x + 4, c);
    } else {
      double sum = 0, squares = 0;
      EACH_RUN(j, c, {
        load_run(x, at, n, a);
        for (int64_t i = 0; i < n; ++i) sum += a[i];
      })
      mean = sum / count;
      EACH_RUN(j, c, {
        load_run(x, at, n, a);
        for (int64_t i = 0; i < n; ++i) squares += (a[i] - mean) * (a[i] - mean);
      })
      variance = squares / count;
      store(y + 1, c, mean);
      store(y + 2, c, variance);
    }
    double factor = scale / sqrt(variance + j->p->epsilon);
    EACH_RUN(j, c, {
      load_run(x, at, n, a);
      for (int64_t i = 0; i < n; ++i) a[i] = (a[i] - mean) * factor + offset;
      store_run(y, at, n, a);
    })
  }
}

static tt_status_t norm_run(const tt_k_env_t* env, norm_mode_t mode, const void* blob, const tt_k_tensor_t* x,
                            const tt_k_tensor_t* y) {
  const norm_blob_t* p = blob;
  norm_job_t job = {.mode = mode, .p = p, .x = x, .y = y};
  job.outer = tt_k_product(x->dims, 0, (uint32_t)p->feature);
  job.channels = x->dims[p->feature];
  job.inner = tt_k_product(x->dims, (uint32_t)p->feature + 1, x->rank);
  tt_k_parallel(env->pool, job.channels, TT_MAX(1, 16384 / TT_MAX(1, job.outer * job.inner)), norm_range, &job);
  return TT_OK_STATUS;
}
static tt_status_t training_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  return norm_run(env, TRAINING, blob, x, y);
}
static tt_status_t inference_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                 const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  return norm_run(env, INFERENCE, blob, x, y);
}
static tt_status_t gradient_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  return norm_run(env, GRADIENT, blob, x, y);
}

const tt_k_op_t tt_k_window_norm_table[] = {
    {.name = "tt_k_any_batch_norm_training__generic", .kind = TT_OP_BATCH_NORM_TRAINING, .supports = norm_supports,
     .encode = norm_encode, .run = training_run},
    {.name = "tt_k_any_batch_norm_inference__generic", .kind = TT_OP_BATCH_NORM_INFERENCE, .supports = norm_supports,
     .encode = norm_encode, .run = inference_run},
    {.name = "tt_k_any_batch_norm_grad__generic", .kind = TT_OP_BATCH_NORM_GRAD, .supports = norm_supports,
     .encode = norm_encode, .run = gradient_run},
    {0},
};
