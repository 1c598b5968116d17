// chlo.top_k: the k largest of the last dimension in falling order; equal ones by rising index, NaN first.
#include "kernels/sort.h"

static tt_status_t top_k_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  int64_t* k = tt_k_blob_new(arena, out, sizeof *k);
  if (!k) return tt_k_no_memory();
  *k = tt_op_attr_int(op, TT_ATTR_K, 0);
  return TT_OK_STATUS;
}
static bool top_k_supports(const tt_op_t* op, const char** why) {
  *why = "dtype has no order, or more than 2^32 elements a row";
  const tt_type_t* x = op->operands[0]->type;
  return x->rank > 0 && tt_k_key_width(x->dtype) != TT_K_KEY_NONE && x->dims[x->rank - 1] <= UINT32_MAX;
}

typedef struct top_k_job_s {
  const tt_k_tensor_t *x, *y;
  char* scratch;
  int64_t rows, n, k, tasks;
  size_t task_bytes;
} top_k_job_t;
static top_k_job_t top_k_shape(const void* blob, const tt_k_tensor_t* x) {
  top_k_job_t j = {.x = x, .n = x->dims[x->rank - 1], .rows = tt_k_product(x->dims, 0, x->rank - 1), .k = *(const int64_t*)blob};
  j.task_bytes = tt_align_up((size_t)j.n * 2 * tt_k_key_bytes(x->dtype) + 64, 64);
  j.tasks = TT_MAX(1, TT_MIN(16, j.rows));
  while (j.tasks > 1 && (j.rows * j.n / j.tasks < 4096 || (size_t)j.tasks * j.task_bytes > (size_t)64 << 20)) --j.tasks;
  return j;
}
static size_t top_k_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y,
                            size_t ny) {
  (void)threads, (void)nx, (void)y, (void)ny;
  top_k_job_t j = top_k_shape(blob, x);
  return (size_t)j.tasks * j.task_bytes;
}

// Keeps the k smallest of n keys in a heap (largest at the root) at the front of the array.
#define SELECT(NAME, T, LESS)                                                \
  static void NAME##_sift(T* a, int64_t k, int64_t i) {                      \
    T v = a[i];                                                              \
    for (;;) {                                                               \
      int64_t c = 2 * i + 1;                                                 \
      if (c >= k) break;                                                     \
      if (c + 1 < k && LESS(a[c], a[c + 1])) ++c;                            \
      if (!LESS(v, a[c])) break;                                             \
      a[i] = a[c];                                                           \
      i = c;                                                                 \
    }                                                                        \
    a[i] = v;                                                                \
  }                                                                          \
  static void NAME##_select(T* a, int64_t n, int64_t k) {                    \
    for (int64_t i = k / 2; i-- > 0;) NAME##_sift(a, k, i);                  \
    for (int64_t i = k; i < n; ++i) {                                        \
      if (!LESS(a[i], a[0])) continue;                                       \
      a[0] = a[i];                                                           \
      NAME##_sift(a, k, 0);                                                  \
    }                                                                        \
  }
#define LESS_32(x, y) ((x) < (y))
#define LESS_64(x, y) ((x).key < (y).key || ((x).key == (y).key && (x).index < (y).index))
SELECT(keys32, uint64_t, LESS_32)
SELECT(keys64, tt_k_key64_t, LESS_64)

static void top_k_task(void* self, size_t task) {
  const top_k_job_t* j = self;
  tt_dtype_t dtype = j->x->dtype;
  tt_k_key_width_t width = tt_k_key_width(dtype);
  size_t eb = tt_dtype_bytes(dtype), ib = tt_dtype_bytes(j->y[1].dtype);
  char *keys = j->scratch + task * j->task_bytes, *spare = keys + (size_t)j->n * tt_k_key_bytes(dtype);
  int64_t begin = j->rows * (int64_t)task / j->tasks, end = j->rows * (int64_t)(task + 1) / j->tasks;
  for (int64_t row = begin; row < end; ++row) {
    const char* x = (const char*)j->x->data + (size_t)(row * j->n) * eb;
    char* values = (char*)j->y[0].data + (size_t)(row * j->k) * eb;
    char* indices = (char*)j->y[1].data + (size_t)(row * j->k) * ib;
    tt_k_keys(dtype, true, true, x, 1, j->n, keys);
    int64_t sorted = j->n;
    if (j->k < j->n / 4) {
      if (width == TT_K_KEY_32) keys32_select((uint64_t*)keys, j->n, j->k);
      else keys64_select((tt_k_key64_t*)keys, j->n, j->k);
      sorted = j->k;
    }
    tt_k_keys_sort(dtype, keys, spare, sorted);
    for (int64_t i = 0; i < j->k; ++i) {
      int64_t index = tt_k_key_index(width, keys, i);
      memcpy(values + (size_t)i * eb, x + (size_t)index * eb, eb);
      if (ib == 4) {
        int32_t narrow = (int32_t)index;
        memcpy(indices + 4 * i, &narrow, 4);
      } else {
        tt_scalar_store_i64(j->y[1].dtype, index, indices + (size_t)i * ib);
      }
    }
  }
}
static tt_status_t top_k_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                             const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  top_k_job_t job = top_k_shape(blob, x);
  job.y = y;
  job.scratch = env->scratch;
  if (job.rows == 0 || job.k == 0) return TT_OK_STATUS;
  tt_pool_run(env->pool, (size_t)job.tasks, top_k_task, &job);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_sort_topk_table[] = {
    {.name = "tt_k_any_top_k__generic", .kind = TT_OP_CHLO_TOP_K, .supports = top_k_supports, .encode = top_k_encode,
     .scratch_bytes = top_k_scratch, .run = top_k_run},
    {0},
};
