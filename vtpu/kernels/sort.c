// sort along one dimension. Recognised comparators (one key, LT or GT, jax's float order) sort integer keys; any
// other comparator runs through the region, many lanes at a time, in Batcher's odd-even merge network with ties
// broken by position, so the result is a permutation whatever the comparator says.
#include "base/alloc.h"
#include "kernels/sort.h"
#include "kernels/work.h"

typedef struct sort_blob_s {
  int64_t dimension, stable;
  int64_t keyed, operand, canonical, descending;   // keyed: the comparator was recognised
  int64_t used;                                    // bit i: the comparator reads operand i
} sort_blob_t;

// ---- recognising comparators -------------------------------------------------------------------
static bool is_constant(const tt_value_t* v, bool* out_zero, bool* out_nan) {
  *out_zero = *out_nan = false;
  if (!v->op || v->op->kind != TT_OP_CONSTANT) return false;
  const tt_attr_t* attr = tt_op_attr(v->op, TT_ATTR_VALUE);
  if (!attr || attr->kind != TT_AK_DENSE) return false;
  double value = tt_scalar_load_f64(attr->dense.type->dtype, attr->dense.data);
  *out_zero = value == 0;
  *out_nan = value != value;
  return true;
}
static bool is_compare(const tt_value_t* v, const char* direction) {
  return v->op && v->op->kind == TT_OP_COMPARE &&
         strcmp(tt_op_attr_text(v->op, TT_ATTR_COMPARISON_DIRECTION), direction) == 0;
}
// Follows select(x == 0, 0, x), select(x != x, NaN, x) and widening converts down to the argument.
static const tt_value_t* strip(const tt_value_t* v, bool* zero, bool* nan) {
  for (;;) {
    if (!v->op) return v;
    if (v->op->kind == TT_OP_CONVERT) {
      const tt_type_t *from = v->op->operands[0]->type, *to = v->type;
      if (from->dtype == TT_DTYPE_PRED && to->dtype == TT_DTYPE_U8) {
        v = v->op->operands[0];
        continue;
      }
      if (!tt_dtype_is_float(from->dtype) || !tt_dtype_is_float(to->dtype)) return v;
      if (to->dtype != TT_DTYPE_F64 && to->dtype != TT_DTYPE_F32) return v;
      if (tt_dtype_bytes(from->dtype) > tt_dtype_bytes(to->dtype)) return v;
      v = v->op->operands[0];
      continue;
    }
    if (v->op->kind != TT_OP_SELECT) return v;
    const tt_value_t *pred = v->op->operands[0], *on_true = v->op->operands[1];
    const tt_value_t *on_false = v->op->operands[2];
    bool is_zero, is_nan, ignored_zero, ignored_nan;
    if (!is_constant(on_true, &is_zero, &is_nan)) return v;
    bool zero_seen = false, nan_seen = false;
    const tt_value_t* below = strip(on_false, &zero_seen, &nan_seen);
    if (is_zero && is_compare(pred, "EQ") && is_constant(pred->op->operands[1], &ignored_zero, &ignored_nan) &&
        ignored_zero) {
      *zero = true;
    } else if (is_nan && is_compare(pred, "NE") && pred->op->operands[0] == pred->op->operands[1]) {
      *nan = true;
    } else {
      return v;
    }
    const tt_value_t* tested = strip(pred->op->operands[0], &ignored_zero, &ignored_nan);
    if (tested != below) return v;
    *zero = *zero || zero_seen;
    *nan = *nan || nan_seen;
    return below;
  }
}
static bool argument_number(const tt_block_t* block, const tt_value_t* v, int64_t* out) {
  if (v < block->args || v >= block->args + block->arg_count) return false;
  *out = v - block->args;
  return true;
}
static bool is_nan_test(const tt_value_t* v, const tt_value_t* of) {
  return is_compare(v, "NE") && v->op->operands[0] == of && v->op->operands[1] == of;
}
// (x < y) | (isnan(y) & !isnan(x)), or (x > y) | (isnan(x) & !isnan(y)): NaN is the largest. Returns the compare.
static const tt_op_t* nan_aware(const tt_op_t* either) {
  for (int i = 0; i < 2; ++i) {
    const tt_op_t *compare = either->operands[i]->op, *both = either->operands[1 - i]->op;
    if (!compare || compare->kind != TT_OP_COMPARE || !both || both->kind != TT_OP_AND) continue;
    bool less = is_compare(either->operands[i], "LT");
    const tt_value_t *nan = compare->operands[less ? 1 : 0], *number = compare->operands[less ? 0 : 1];
    for (int k = 0; k < 2; ++k) {
      const tt_op_t* not_nan = both->operands[1 - k]->op;
      if (is_nan_test(both->operands[k], nan) && not_nan && not_nan->kind == TT_OP_NOT &&
          is_nan_test(not_nan->operands[0], number)) {
        return compare;
      }
    }
  }
  return NULL;
}
static void recognise(const tt_op_t* op, sort_blob_t* p) {
  const tt_block_t* block = &op->regions[0].block;
  const tt_op_t* last = block->last;
  if (!last || last->operand_count != 1) return;
  const tt_op_t* compare = last->operands[0]->op;
  bool nan_last = false;
  if (compare && compare->kind == TT_OP_OR) {
    compare = nan_aware(compare);
    nan_last = true;
  }
  if (!compare || compare->kind != TT_OP_COMPARE) return;
  const char* direction = tt_op_attr_text(compare, TT_ATTR_COMPARISON_DIRECTION);
  bool less = strcmp(direction, "LT") == 0;
  if (!less && strcmp(direction, "GT") != 0) return;
  bool zero[2] = {false, false}, nan[2] = {false, false};
  int64_t a, b;
  if (!argument_number(block, strip(compare->operands[0], &zero[0], &nan[0]), &a) ||
      !argument_number(block, strip(compare->operands[1], &zero[1], &nan[1]), &b)) {
    return;
  }
  if (a / 2 != b / 2 || a == b || zero[0] != zero[1] || nan[0] != nan[1]) return;
  tt_dtype_t dtype = op->operands[a / 2]->type->dtype;
  if (tt_k_key_width(dtype) == TT_K_KEY_NONE || op->operands[0]->type->dims[p->dimension] > UINT32_MAX) return;
  bool total = strcmp(tt_op_attr_text(compare, TT_ATTR_COMPARE_TYPE), "TOTALORDER") == 0;
  if (total && tt_dtype_is_float(dtype) && zero[0] != nan[0]) return;   // half canonical: no such key
  if (total && nan_last) return;
  p->keyed = 1;
  p->operand = a / 2;
  p->canonical = !total || zero[0];   // plain LT leaves NaN unordered: last is as good as anywhere
  p->descending = less == (a > b);
}

static bool sort_supports(const tt_op_t* op, const char** why) {
  *why = "more operands than a kernel takes";
  return op->operand_count <= TT_K_MAX_OPERANDS;
}
static tt_status_t sort_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  sort_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  uint32_t rank = op->operands[0]->type->rank;
  p->dimension = tt_op_attr_int(op, TT_ATTR_DIMENSION, rank ? (int64_t)rank - 1 : 0);
  if (p->dimension < 0) p->dimension += rank;
  p->stable = tt_op_attr_bool(op, TT_ATTR_IS_STABLE, false);
  const tt_block_t* block = &op->regions[0].block;
  for (uint32_t i = 0; i < block->arg_count; ++i) {
    if (block->args[i].uses) p->used |= 1ll << (i / 2);
  }
  if (rank) recognise(op, p);
  return TT_OK_STATUS;
}

// ---- shape of the work -------------------------------------------------------------------------
typedef struct sort_shape_s {
  int64_t rows, n, stride;   // row r starts at (r / stride) * n * stride + r % stride
  int64_t tasks;             // by shape alone
  size_t task_bytes;
} sort_shape_t;
static sort_shape_t sort_shape(const sort_blob_t* p, const tt_k_tensor_t* x) {
  sort_shape_t s = {.rows = 1, .n = 1, .stride = 1};
  if (x->rank) {
    s.n = x->dims[p->dimension];
    s.stride = tt_k_product(x->dims, (uint32_t)p->dimension + 1, x->rank);
    s.rows = tt_k_product(x->dims, 0, (uint32_t)p->dimension) * s.stride;
  }
  // two key arrays and one row of any operand; the network keeps one index array
  s.task_bytes = (size_t)s.n * (p->keyed ? 2 * tt_k_key_bytes(x[p->operand].dtype) + 16 : 8 + 16) + 64;
  s.tasks = TT_MIN(16, s.rows);
  while (s.tasks > 1 && (s.rows * s.n / s.tasks < 4096 || (size_t)s.tasks * s.task_bytes > (size_t)64 << 20)) --s.tasks;
  return s;
}
static size_t sort_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y,
                           size_t ny) {
  (void)threads, (void)nx, (void)y, (void)ny;
  sort_shape_t s = sort_shape(blob, x);
  return (size_t)TT_MAX(1, s.tasks) * tt_align_up(s.task_bytes, 64);
}

typedef struct sort_job_s {
  const tt_k_env_t* env;
  const sort_blob_t* p;
  const tt_k_tensor_t *x, *y;
  size_t operand_count;
  sort_shape_t shape;
  char *lanes, *scratch;      // network: lane buffers a task, region scratch a task
  size_t lanes_bytes, scratch_stride;
  int64_t lane_count;
} sort_job_t;

static int64_t row_start(const sort_shape_t* s, int64_t row) {
  return row / s->stride * s->n * s->stride + row % s->stride;
}

#define PERMUTE(T)                                                                       \
  do {                                                                                   \
    T* out = (T*)to;                                                                     \
    const T* in = (const T*)from;                                                        \
    for (int64_t i = 0; i < n; ++i) out[i * to_stride] = in[index(indices, i) * stride]; \
  } while (0)
typedef struct pair128_s { uint64_t low, high; } pair128_t;
static inline int64_t index_32(const void* keys, int64_t i) { return (int64_t)(((const uint64_t*)keys)[i] & 0xffffffffu); }
static inline int64_t index_64(const void* keys, int64_t i) { return (int64_t)((const tt_k_key64_t*)keys)[i].index; }
static inline int64_t index_plain(const void* keys, int64_t i) { return ((const int64_t*)keys)[i]; }
#define PERMUTE_BY(NAME)                                                                                             \
  static void permute_##NAME(char* to, int64_t to_stride, const char* from, int64_t stride, size_t eb, int64_t n,    \
                             const void* indices) {                                                                  \
    switch (eb) {                                                                                                    \
      case 1: PERMUTE(uint8_t); break;                                                                               \
      case 2: PERMUTE(uint16_t); break;                                                                              \
      case 4: PERMUTE(uint32_t); break;                                                                              \
      case 8: PERMUTE(uint64_t); break;                                                                              \
      default: PERMUTE(pair128_t); break;                                                                            \
    }                                                                                                                \
  }
#define index index_32
PERMUTE_BY(32)
#undef index
#define index index_64
PERMUTE_BY(64)
#undef index
#define index index_plain
PERMUTE_BY(plain)
#undef index

typedef void (*permute_fn_t)(char* to, int64_t to_stride, const char* from, int64_t stride, size_t eb, int64_t n,
                             const void* indices);
static void permute_row(const sort_job_t* j, int64_t row, permute_fn_t permute, const void* indices, char* spare) {
  int64_t n = j->shape.n, stride = j->shape.stride, start = row_start(&j->shape, row);
  for (size_t k = 0; k < j->operand_count; ++k) {
    size_t eb = tt_dtype_bytes(j->x[k].dtype);
    const char* from = (const char*)j->x[k].data + (size_t)start * eb;
    char* to = (char*)j->y[k].data + (size_t)start * eb;
    if (from != to) {
      permute(to, stride, from, stride, eb, n, indices);
    } else {   // taken over: through a spare row
      permute(spare, 1, from, stride, eb, n, indices);
      tt_k_copy_t c = {.element_bytes = eb, .rank = 1, .dims = {n}, .dst = {stride}, .src = {1}};
      tt_k_copy(NULL, c, to, spare);
    }
  }
}

static void keyed_task(void* self, size_t task) {
  const sort_job_t* j = self;
  const sort_shape_t* s = &j->shape;
  const tt_k_tensor_t* key = j->x + j->p->operand;
  bool narrow = tt_k_key_width(key->dtype) == TT_K_KEY_32;
  size_t eb = tt_dtype_bytes(key->dtype), key_bytes = tt_k_key_bytes(key->dtype);
  char* keys = (char*)j->env->scratch + task * tt_align_up(s->task_bytes, 64);
  char* spare = keys + (size_t)s->n * key_bytes;
  char* row_spare = spare + (size_t)s->n * key_bytes;
  int64_t begin = s->rows * (int64_t)task / s->tasks, end = s->rows * (int64_t)(task + 1) / s->tasks;
  for (int64_t row = begin; row < end; ++row) {
    tt_k_keys(key->dtype, j->p->canonical, j->p->descending, (const char*)key->data + (size_t)row_start(s, row) * eb,
              s->stride, s->n, keys);
    tt_k_keys_sort(key->dtype, keys, spare, s->n);
    permute_row(j, row, narrow ? permute_32 : permute_64, keys, row_spare);
  }
}

// ---- any comparator ----------------------------------------------------------------------------
typedef struct network_s {
  const sort_job_t* job;
  char *lanes, *scratch;
  int64_t row;
  int64_t* order;      // order[i]: index in the row of the element now at place i
  int64_t count;       // pairs collected
  int64_t* low;        // places of the pairs
  int64_t* high;
} network_t;

static void network_flush(network_t* w) {
  const sort_job_t* j = w->job;
  int64_t start = row_start(&j->shape, w->row), stride = j->shape.stride, m = j->lane_count;
  void *args[2 * TT_K_MAX_OPERANDS], *swapped[2 * TT_K_MAX_OPERANDS];
  size_t bytes[2 * TT_K_MAX_OPERANDS], pred_bytes = 1;
  char* lanes = w->lanes;
  for (size_t k = 0; k < j->operand_count; ++k) {
    size_t eb = tt_dtype_bytes(j->x[k].dtype);
    char *low = lanes, *high = lanes + (size_t)m * eb;
    lanes += 2 * (size_t)m * eb;
    args[2 * k] = swapped[2 * k + 1] = low;
    args[2 * k + 1] = swapped[2 * k] = high;
    bytes[2 * k] = bytes[2 * k + 1] = eb;
    if (!(j->p->used >> k & 1)) continue;
    const char* from = (const char*)j->x[k].data;
    for (int64_t i = 0; i < w->count; ++i) {
      memcpy(low + (size_t)i * eb, from + (size_t)(start + w->order[w->low[i]] * stride) * eb, eb);
      memcpy(high + (size_t)i * eb, from + (size_t)(start + w->order[w->high[i]] * stride) * eb, eb);
    }
  }
  uint8_t *less = (uint8_t*)lanes, *greater = less + m;   // low < high, high < low
  void *less_result[1] = {less}, *greater_result[1] = {greater};
  tt_k_region_run(j->env, 0, w->scratch, swapped, bytes, 2 * j->operand_count, greater_result, &pred_bytes, 1, w->count);
  if (j->p->stable) {
    tt_k_region_run(j->env, 0, w->scratch, args, bytes, 2 * j->operand_count, less_result, &pred_bytes, 1, w->count);
  }
  for (int64_t i = 0; i < w->count; ++i) {
    int64_t a = w->order[w->low[i]], b = w->order[w->high[i]];
    if (j->p->stable ? (greater[i] && !less[i]) || (greater[i] == less[i] && a > b) : greater[i]) {
      w->order[w->low[i]] = b;
      w->order[w->high[i]] = a;
    }
  }
  w->count = 0;
}

static void network_row(network_t* w, int64_t n) {
  int64_t most = w->job->lane_count;
  for (int64_t i = 0; i < n; ++i) w->order[i] = i;
  for (int64_t p = 1; p < n; p *= 2) {
    for (int64_t k = p; k >= 1; k /= 2) {
      for (int64_t j = k % p; j + k < n; j += 2 * k) {
        int64_t width = TT_MIN(k, n - j - k);
        for (int64_t i = 0; i < width; ++i) {
          if ((i + j) / (2 * p) != (i + j + k) / (2 * p)) continue;
          w->low[w->count] = i + j;
          w->high[w->count++] = i + j + k;
          if (w->count == most) network_flush(w);
        }
      }
      if (w->count) network_flush(w);   // the next stage reads what this one swapped
    }
  }
}

static void network_task(void* self, size_t task) {
  const sort_job_t* j = self;
  const sort_shape_t* s = &j->shape;
  char* memory = (char*)j->env->scratch + task * tt_align_up(s->task_bytes, 64);
  network_t w = {.job = j, .order = (int64_t*)memory, .lanes = j->lanes + task * j->lanes_bytes,
                 .scratch = j->scratch + task * j->scratch_stride};
  w.low = (int64_t*)w.lanes;
  w.high = w.low + j->lane_count;
  w.lanes += 2 * (size_t)j->lane_count * sizeof(int64_t);
  char* row_spare = memory + (size_t)s->n * 8;
  int64_t begin = s->rows * (int64_t)task / s->tasks, end = s->rows * (int64_t)(task + 1) / s->tasks;
  for (int64_t row = begin; row < end; ++row) {
    w.row = row;
    network_row(&w, s->n);
    permute_row(j, row, permute_plain, w.order, row_spare);
  }
}

static tt_status_t sort_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                            const tt_k_tensor_t* y, size_t ny) {
  (void)ny;
  sort_job_t job = {.env = env, .p = blob, .x = x, .y = y, .operand_count = nx, .shape = sort_shape(blob, x)};
  if (job.shape.rows * job.shape.n == 0) return TT_OK_STATUS;
  size_t tasks = (size_t)job.shape.tasks;
  if (job.p->keyed) {
    tt_pool_run(env->pool, tasks, keyed_task, &job);
    return TT_OK_STATUS;
  }
  job.lane_count = TT_MIN(1024, TT_MAX(1, job.shape.n / 2));
  job.lanes_bytes = tt_align_up((size_t)job.lane_count * (2 * sizeof(int64_t) + 32 * nx + 2), 64);
  void *lanes, *scratch;
  TT_RETURN_IF_ERROR(tt_k_work_take(job.lanes_bytes * tasks, &lanes));
  tt_status_t status = tt_k_region_scratch(env, tasks, &scratch, &job.scratch_stride);
  if (tt_status_is_ok(status)) {
    job.lanes = lanes;
    job.scratch = scratch;
    tt_pool_run(env->pool, tasks, network_task, &job);
    tt_k_work_give(scratch);
  }
  tt_k_work_give(lanes);
  return status;
}

const tt_k_op_t tt_k_sort_table[] = {
    {.name = "tt_k_any_sort__generic", .kind = TT_OP_SORT, .supports = sort_supports, .encode = sort_encode,
     .scratch_bytes = sort_scratch, .run = sort_run, .inplace = 1},
    {0},
};
