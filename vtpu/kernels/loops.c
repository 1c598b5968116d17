#include "kernels/loops.h"
#include "kernels/work.h"

#include "base/alloc.h"

// ---- parallel ranges ---------------------------------------------------------------------------
typedef struct range_job_s {
  int64_t count;
  size_t tasks;
  tt_k_range_fn_t fn;
  void* self;
} range_job_t;

static int64_t range_edge(int64_t count, size_t tasks, size_t index) {
  return (int64_t)((__int128)count * (int64_t)index / (int64_t)tasks);
}
static void range_run(void* self, size_t index) {
  const range_job_t* job = self;
  job->fn(job->self, range_edge(job->count, job->tasks, index), range_edge(job->count, job->tasks, index + 1));
}
size_t tt_k_tasks(tt_pool_t* pool, int64_t count, int64_t grain) {
  if (!pool || count <= grain) return 1;
  if (grain < 1) grain = 1;
  int64_t most = 4 * (int64_t)tt_pool_threads(pool);
  if (tt_pool_threads(pool) <= 1) return 1;
  int64_t tasks = (count + grain - 1) / grain;
  return (size_t)TT_MIN(tasks, most);
}
void tt_k_parallel(tt_pool_t* pool, int64_t count, int64_t grain, tt_k_range_fn_t fn, void* self) {
  if (count <= 0) return;
  size_t tasks = tt_k_tasks(pool, count, grain);
  if (tasks <= 1) {
    fn(self, 0, count);
    return;
  }
  range_job_t job = {count, tasks, fn, self};
  tt_pool_run(pool, tasks, range_run, &job);
}

// ---- strided copies ----------------------------------------------------------------------------
bool tt_k_copy_normalise(tt_k_copy_t* c) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->rank; ++i) {
    if (c->dims[i] == 0) return false;
    if (c->dims[i] == 1) continue;
    int64_t dim = c->dims[i], dst = c->dst[i], src = c->src[i];
    int64_t key = dst < 0 ? -dst : dst;
    uint32_t j = n++;
    for (; j > 0; --j) {   // insertion by falling |dst|, stable
      int64_t other = c->dst[j - 1] < 0 ? -c->dst[j - 1] : c->dst[j - 1];
      if (other >= key) break;
      c->dims[j] = c->dims[j - 1];
      c->dst[j] = c->dst[j - 1];
      c->src[j] = c->src[j - 1];
    }
    c->dims[j] = dim;
    c->dst[j] = dst;
    c->src[j] = src;
  }
  uint32_t m = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (m > 0 && c->dst[m - 1] == c->dst[i] * c->dims[i] && c->src[m - 1] == c->src[i] * c->dims[i]) {
      c->dims[m - 1] *= c->dims[i];
      c->dst[m - 1] = c->dst[i];
      c->src[m - 1] = c->src[i];
    } else {
      c->dims[m] = c->dims[i];
      c->dst[m] = c->dst[i];
      c->src[m] = c->src[i];
      ++m;
    }
  }
  c->rank = m;
  return true;
}

#define STRIDED_LOOP(T)                                                    \
  do {                                                                     \
    T* to = (T*)dst;                                                       \
    const T* from = (const T*)src;                                         \
    if (ss == 0) {                                                         \
      T value = *from;                                                     \
      if (ds == 1) {                                                       \
        for (int64_t i = 0; i < n; ++i) to[i] = value;                     \
      } else {                                                             \
        for (int64_t i = 0; i < n; ++i) to[i * ds] = value;                \
      }                                                                    \
    } else if (ds == 1) {                                                  \
      for (int64_t i = 0; i < n; ++i) to[i] = from[i * ss];                \
    } else if (ss == 1) {                                                  \
      for (int64_t i = 0; i < n; ++i) to[i * ds] = from[i];                \
    } else {                                                               \
      for (int64_t i = 0; i < n; ++i) to[i * ds] = from[i * ss];           \
    }                                                                      \
  } while (0)
typedef struct pair128_s { uint64_t low, high; } pair128_t;
// Unaligned element types: an element pointer is aligned to its own size only where the dtype says so.
static void copy_run(char* dst, int64_t ds, const char* src, int64_t ss, size_t eb, int64_t n) {
  if (ds == 1 && ss == 1) {
    memcpy(dst, src, (size_t)n * eb);
    return;
  }
  switch (eb) {
    case 1: STRIDED_LOOP(uint8_t); break;
    case 2: STRIDED_LOOP(uint16_t); break;
    case 4: STRIDED_LOOP(uint32_t); break;
    case 8: STRIDED_LOOP(uint64_t); break;
    default: STRIDED_LOOP(pair128_t); break;
  }
}

typedef struct copy_job_s {
  tt_k_copy_t c;
  char* dst;
  const char* src;
  uint32_t outer;        // dims walked by the odometer: [0, outer)
  bool transposed;       // the last two dims form a tile: src unit stride in [rank-2], dst unit stride in [rank-1]
  int64_t pieces;        // the innermost run (or tile row range) is cut into so many
} copy_job_t;

enum { COPY_TILE = 32 };

static void copy_tile(const copy_job_t* job, char* dst, const char* src, int64_t piece) {
  const tt_k_copy_t* c = &job->c;
  uint32_t r = c->rank;
  int64_t rows = c->dims[r - 2], cols = c->dims[r - 1];
  int64_t begin = rows * piece / job->pieces, end = rows * (piece + 1) / job->pieces;
  int64_t eb = (int64_t)c->element_bytes;
  for (int64_t i = begin; i < end; i += COPY_TILE) {
    int64_t h = TT_MIN(COPY_TILE, end - i);
    for (int64_t j = 0; j < cols; j += COPY_TILE) {
      int64_t w = TT_MIN(COPY_TILE, cols - j);
      tt_k_transpose_block(dst + (i * c->dst[r - 2] + j) * eb, c->dst[r - 2],
                           src + (i * c->src[r - 2] + j * c->src[r - 1]) * eb, c->src[r - 2], c->src[r - 1],
                           (size_t)h, (size_t)w, c->element_bytes);
    }
  }
}

static void copy_range(void* self, int64_t begin, int64_t end) {
  const copy_job_t* job = self;
  const tt_k_copy_t* c = &job->c;
  int64_t eb = (int64_t)c->element_bytes;
  int64_t index[TT_MAX_RANK];
  int64_t flat = begin / job->pieces, piece = begin % job->pieces;
  int64_t d = 0, s = 0;
  for (uint32_t i = job->outer; i-- > 0;) {
    index[i] = flat % c->dims[i];
    flat /= c->dims[i];
    d += index[i] * c->dst[i];
    s += index[i] * c->src[i];
  }
  uint32_t last = c->rank - 1;
  for (int64_t t = begin; t < end; ++t) {
    if (job->transposed) {
      copy_tile(job, job->dst + d * eb, job->src + s * eb, piece);
    } else {
      int64_t n = c->dims[last], from = 0;
      if (job->pieces > 1) {
        from = n * piece / job->pieces;
        n = n * (piece + 1) / job->pieces - from;
      }
      copy_run(job->dst + (d + from * c->dst[last]) * eb, c->dst[last], job->src + (s + from * c->src[last]) * eb,
               c->src[last], c->element_bytes, n);
    }
    if (++piece < job->pieces) continue;
    piece = 0;
    for (uint32_t i = job->outer; i-- > 0;) {
      d += c->dst[i];
      s += c->src[i];
      if (++index[i] < c->dims[i]) break;
      d -= c->dst[i] * c->dims[i];
      s -= c->src[i] * c->dims[i];
      index[i] = 0;
    }
  }
}

void tt_k_copy(tt_pool_t* pool, tt_k_copy_t copy, void* dst, const void* src) {
  if (!tt_k_copy_normalise(&copy)) return;
  if (copy.rank == 0) {
    memcpy(dst, src, copy.element_bytes);
    return;
  }
  copy_job_t job = {.c = copy, .dst = dst, .src = src, .outer = copy.rank - 1, .pieces = 1};
  tt_k_copy_t* c = &job.c;
  uint32_t r = c->rank;
  int64_t total = tt_k_product(c->dims, 0, r), inner = c->dims[r - 1];
  if (r >= 2 && c->dst[r - 1] == 1 && c->src[r - 1] != 1 && c->src[r - 1] != 0) {
    for (uint32_t j = 0; j + 1 < r; ++j) {
      if (c->src[j] != 1) continue;
      // bring dim j next to the innermost one: rows of the tile
      int64_t dim = c->dims[j], ds = c->dst[j], ss = c->src[j];
      for (uint32_t k = j; k + 2 < r; ++k) {
        c->dims[k] = c->dims[k + 1];
        c->dst[k] = c->dst[k + 1];
        c->src[k] = c->src[k + 1];
      }
      c->dims[r - 2] = dim;
      c->dst[r - 2] = ds;
      c->src[r - 2] = ss;
      job.transposed = true;
      job.outer = r - 2;
      inner = dim * c->dims[r - 1];
      break;
    }
  }
  int64_t outer = total / inner;
  enum { GRAIN_BYTES = 64 << 10 };
  int64_t inner_bytes = inner * (int64_t)c->element_bytes;
  if (total * (int64_t)c->element_bytes < 2 * GRAIN_BYTES) pool = NULL;
  if (pool && outer < 16 && inner_bytes > GRAIN_BYTES) {
    int64_t most = job.transposed ? (c->dims[r - 2] + COPY_TILE - 1) / COPY_TILE : inner_bytes / GRAIN_BYTES;
    job.pieces = TT_MAX(1, TT_MIN(16, most));
  }
  int64_t grain = TT_MAX(1, GRAIN_BYTES * job.pieces / TT_MAX(1, inner_bytes));
  tt_k_parallel(pool, outer * job.pieces, grain, copy_range, &job);
}

typedef struct bytes_job_s {
  char* dst;
  const char* src;
  size_t element_bytes;
} bytes_job_t;
static void memcpy_range(void* self, int64_t begin, int64_t end) {
  const bytes_job_t* job = self;
  memcpy(job->dst + begin, job->src + begin, (size_t)(end - begin));
}
void tt_k_memcpy(tt_pool_t* pool, void* dst, const void* src, size_t bytes) {
  if (dst == src || bytes == 0) return;
  bytes_job_t job = {dst, src, 1};
  tt_k_parallel(pool, (int64_t)bytes, 256 << 10, memcpy_range, &job);
}
static void fill_range(void* self, int64_t begin, int64_t end) {
  const bytes_job_t* job = self;
  tt_k_fill(job->dst + (size_t)begin * job->element_bytes, job->src, job->element_bytes, (size_t)(end - begin));
}
void tt_k_fill_parallel(tt_pool_t* pool, void* dst, const void* element, size_t element_bytes, int64_t n) {
  char copy[16] = {0};   // the element may lie inside dst
  memcpy(copy, element, element_bytes);
  bytes_job_t job = {dst, copy, element_bytes};
  tt_k_parallel(pool, n, (256 << 10) / (int64_t)element_bytes, fill_range, &job);
}

bool tt_k_is_dense(const tt_k_tensor_t* t) {
  if (!t->strides) return true;
  int64_t stride = 1;
  for (uint32_t i = t->rank; i-- > 0;) {
    if (t->dims[i] != 1 && t->strides[i] != stride) return false;
    stride *= t->dims[i];
  }
  return true;
}
void tt_k_pack(tt_pool_t* pool, const tt_k_tensor_t* t, void* dst) {
  tt_k_copy_t c = {.element_bytes = tt_dtype_bytes(t->dtype), .rank = t->rank};
  memcpy(c.dims, t->dims, t->rank * sizeof c.dims[0]);
  tt_k_dense_strides(t->dims, t->rank, c.dst);
  tt_k_strides(t, c.src);
  tt_k_copy(pool, c, dst, t->data);
}

typedef struct convert_job_s {
  tt_k_unary_fn_t fn;
  char* out;
  const char* x;
  size_t out_bytes, x_bytes;
} convert_job_t;
static void convert_range(void* self, int64_t begin, int64_t end) {
  const convert_job_t* job = self;
  job->fn(job->out + (size_t)begin * job->out_bytes, job->x + (size_t)begin * job->x_bytes, (size_t)(end - begin));
}
void tt_k_convert_parallel(tt_pool_t* pool, tt_dtype_t from, tt_dtype_t to, void* out, const void* x, int64_t n) {
  if (n <= 0) return;
  size_t out_bytes = tt_dtype_bytes(to), x_bytes = tt_dtype_bytes(from);
  if (from == to) {
    tt_k_memcpy(pool, out, x, (size_t)n * x_bytes);
    return;
  }
  convert_job_t job = {tt_k_convert(from, to), out, x, out_bytes, x_bytes};
  if (job.fn) {
    tt_k_parallel(pool, n, 16384, convert_range, &job);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {   // pairs without a lane kernel
    double z[2];
    tt_scalar_load_complex(from, job.x + (size_t)i * x_bytes, z);
    tt_scalar_store_complex(to, z, job.out + (size_t)i * out_bytes);
  }
}

// ---- parameters --------------------------------------------------------------------------------
tt_status_t tt_k_no_memory(void) { return tt_status_create(TT_RESOURCE_EXHAUSTED, "no memory for kernel parameters"); }
void* tt_k_blob_new(tt_arena_t* arena, tt_k_blob_t* blob, size_t bytes) {
  blob->data = tt_arena_alloc(arena, bytes);
  blob->size = blob->data ? bytes : 0;
  return blob->data;
}
size_t tt_k_attr_i64s(const tt_attr_t* attr, int64_t* out, size_t max) {
  size_t n = 0;
  if (!attr) return 0;
  switch (attr->kind) {
    case TT_AK_INT:
      if (max > 0) out[n++] = attr->i;
      break;
    case TT_AK_BOOL:
      if (max > 0) out[n++] = attr->b;
      break;
    case TT_AK_I64S:
      for (; n < attr->i64s.size && n < max; ++n) out[n] = attr->i64s.data[n];
      break;
    case TT_AK_BOOLS:
      for (; n < attr->bools.size && n < max; ++n) out[n] = attr->bools.data[n];
      break;
    case TT_AK_DENSE: {
      int64_t count = tt_type_elems(attr->dense.type);
      size_t bytes = tt_dtype_bytes(attr->dense.type->dtype);
      for (; (int64_t)n < count && n < max; ++n) {
        out[n] = tt_scalar_load_i64(attr->dense.type->dtype,
                                    (const char*)attr->dense.data + (attr->dense.is_splat ? 0 : n * bytes));
      }
      break;
    }
    case TT_AK_ARRAY:
      for (; n < attr->array.size && n < max; ++n) out[n] = attr->array.data[n].i;
      break;
    default: break;
  }
  return n;
}
void tt_k_op_i64s(const tt_op_t* op, tt_attr_name_t name, int64_t* out, size_t count, int64_t fallback) {
  size_t n = tt_k_attr_i64s(tt_op_attr(op, name), out, count);
  for (; n < count; ++n) out[n] = fallback;
}
void tt_k_op_padding(const tt_op_t* op, int64_t* low, int64_t* high, size_t count) {
  int64_t flat[2 * TT_MAX_RANK];
  tt_k_op_i64s(op, TT_ATTR_PADDING, flat, 2 * count, 0);
  for (size_t i = 0; i < count; ++i) {
    low[i] = flat[2 * i];
    high[i] = flat[2 * i + 1];
  }
}
const tt_attr_t* tt_k_own_attr(const tt_op_t* op, tt_attr_name_t name) {
  if (op->kind == TT_OP_COMPOSITE) return tt_composite_attr(op, name);
  const tt_attr_t* attr = tt_op_attr(op, name);
  if (attr) return attr;
  const tt_attr_t* config = tt_op_attr(op, TT_ATTR_BACKEND_CONFIG);   // custom calls may keep them in a dictionary
  if (config && config->kind == TT_AK_DICT) return tt_attr_find(config->dict.data, config->dict.size, name);
  return NULL;
}
const tt_type_t* tt_k_operand_type(const tt_op_t* op, size_t index) { return op->operands[index]->type; }

// ---- combining ---------------------------------------------------------------------------------
tt_k_combine_t tt_k_combine_of(const tt_region_t* region, size_t count, tt_dtype_t dtype, tt_op_kind_t* out_kind) {
  const tt_block_t* block = &region->block;
  *out_kind = TT_OP_INVALID;
  if (block->first && block->first == block->last && block->arg_count == 2 * count &&
      block->first->operand_count == count) {
    bool second = true;
    for (size_t i = 0; i < count; ++i) second = second && block->first->operands[i] == &block->args[count + i];
    if (second) return TT_K_COMBINE_SECOND;
  }
  if (count != 1) return TT_K_COMBINE_REGION;
  tt_op_kind_t kind = tt_region_binary_kind(region);
  if (kind == TT_OP_INVALID || !tt_k_binary(kind, dtype)) return TT_K_COMBINE_REGION;
  *out_kind = kind;
  return TT_K_COMBINE_BINARY;
}

void tt_k_region_run(const tt_k_env_t* env, size_t region, void* scratch, void* const* args, const size_t* arg_bytes,
                     size_t arg_count, void* const* results, const size_t* result_bytes, size_t result_count,
                     int64_t lanes) {
  void *a[2 * TT_K_MAX_OPERANDS], *r[TT_K_MAX_OPERANDS];
  int64_t most = env->region_max_lanes ? (int64_t)env->region_max_lanes : 1;
  for (int64_t begin = 0; begin < lanes; begin += most) {
    int64_t n = TT_MIN(most, lanes - begin);
    for (size_t i = 0; i < arg_count; ++i) a[i] = (char*)args[i] + (size_t)begin * arg_bytes[i];
    for (size_t i = 0; i < result_count; ++i) r[i] = (char*)results[i] + (size_t)begin * result_bytes[i];
    env->region_fn(env->regions[region], scratch, a, r, (size_t)n);
  }
}

tt_status_t tt_k_region_scratch(const tt_k_env_t* env, size_t tasks, void** out, size_t* out_stride) {
  size_t stride = tt_align_up(env->region_scratch_bytes + 64, 64);
  *out_stride = stride;
  return tt_k_work_take(stride * tasks, out);
}
