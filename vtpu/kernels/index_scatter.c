// scatter. Updates are applied in row-major order of the scatter indices; a window that does not fit is dropped.
//
// Deterministic in parallel: either each task owns a set of windows (by a hash of the window's corner, when two
// windows are equal or disjoint), or each task owns places inside the windows, or the windows go one by one.
#include "base/alloc.h"
#include "kernels/index.h"
#include "kernels/work.h"

static bool listed(tt_i64s_t list, int64_t value) {
  for (size_t i = 0; i < list.size; ++i) {
    if (list.data[i] == value) return true;
  }
  return false;
}

static bool scatter_supports(const tt_op_t* op, const char** why) {
  *why = "more operands than a kernel takes";
  return op->operand_count <= 2 * TT_K_MAX_OPERANDS + 1 && op->result_count <= TT_K_MAX_OPERANDS;
}

static tt_status_t scatter_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  tt_k_index_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_SCATTER_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_SCATTER) {
    return tt_status_create(TT_INVALID_ARGUMENT, "scatter: no dimension numbers");
  }
  const tt_scatter_dims_t* d = attr->scatter;
  size_t count = op->result_count;
  const tt_type_t *x = op->operands[0]->type, *updates = op->operands[count + 1]->type;
  p->index_vector_dim = d->index_vector_dim;
  p->map_count = (int64_t)d->scatter_dims_to_operand_dims.size;
  for (size_t i = 0; i < d->scatter_dims_to_operand_dims.size; ++i) p->map[i] = d->scatter_dims_to_operand_dims.data[i];
  p->batching_count = (int64_t)d->input_batching_dims.size;
  for (size_t i = 0; i < d->input_batching_dims.size; ++i) {
    p->operand_batching[i] = d->input_batching_dims.data[i];
    p->index_batching[i] = d->scatter_indices_batching_dims.data[i];
  }
  for (uint32_t i = 0; i < x->rank; ++i) {
    p->slice[i] = 1;
    if (listed(d->inserted_window_dims, i) || listed(d->input_batching_dims, i)) continue;
    int64_t k = p->window_count++;
    p->window_operand[k] = i;
    p->window_dims[k] = d->update_window_dims.data[k];
    p->slice[i] = updates->dims[p->window_dims[k]];
  }
  tt_op_kind_t kind;
  p->combine = tt_k_combine_of(&op->regions[0], count, x->dtype, &kind);
  p->kind = kind;
  return TT_OK_STATUS;
}

static size_t scatter_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y,
                              size_t ny) {
  (void)threads, (void)nx, (void)y;
  return tt_k_index_scratch(blob, x + ny);
}

enum { CHUNK = 256 };   // lanes of a strided run handled at a time

typedef struct scatter_job_s {
  const tt_k_env_t* env;
  tt_k_combine_t combine;
  tt_op_kind_t kind;
  tt_k_binary_fn_t fn;                 // BINARY
  size_t operand_count;
  tt_k_positions_t at;
  tt_k_copy_t window;                  // of operand 0, normalised: dst operand, src updates
  char* y[TT_K_MAX_OPERANDS];
  const char* u[TT_K_MAX_OPERANDS];
  size_t element_bytes[2 * TT_K_MAX_OPERANDS];
  tt_dtype_t dtype;
  size_t tasks;                        // of the hash split
  char* scratch;                       // REGION: a task
  size_t scratch_stride, region_bytes;
} scatter_job_t;

typedef struct pair128_s { uint64_t low, high; } pair128_t;

// n places of one window: operand places y + i*ys, updates u + i*us (element strides).
static void apply_run(const scatter_job_t* j, char* scratch, int64_t y_offset, int64_t ys, int64_t u_offset, int64_t us,
                      int64_t n) {
  if (j->combine == TT_K_COMBINE_REGION) {
    size_t count = j->operand_count;
    void *args[2 * TT_K_MAX_OPERANDS], *results[TT_K_MAX_OPERANDS];
    char* buffers = scratch + j->region_bytes;
    for (size_t k = 0; k < 3 * count; ++k) {
      void* buffer = buffers + k * CHUNK * 16;
      if (k < 2 * count) args[k] = buffer; else results[k - 2 * count] = buffer;
    }
    for (int64_t i = 0; i < n; i += CHUNK) {
      int64_t m = TT_MIN(CHUNK, n - i);
      for (size_t k = 0; k < count; ++k) {
        size_t eb = j->element_bytes[k];
        tt_k_gather_strided(args[k], j->y[k] + (y_offset + i * ys) * (int64_t)eb, ys, eb, (size_t)m);
        tt_k_gather_strided(args[count + k], j->u[k] + (u_offset + i * us) * (int64_t)eb, us, eb, (size_t)m);
      }
      tt_k_region_run(j->env, 0, scratch, args, j->element_bytes, 2 * count, results, j->element_bytes, count, m);
      for (size_t k = 0; k < count; ++k) {
        size_t eb = j->element_bytes[k];
        tt_k_scatter_strided(j->y[k] + (y_offset + i * ys) * (int64_t)eb, ys, results[k], eb, (size_t)m);
      }
    }
    return;
  }
  for (size_t k = 0; k < j->operand_count; ++k) {
    size_t eb = j->element_bytes[k];
    char* y = j->y[k] + y_offset * (int64_t)eb;
    const char* u = j->u[k] + u_offset * (int64_t)eb;
    if (j->combine == TT_K_COMBINE_SECOND) {
      if (ys == 1 && us == 1) {
        memcpy(y, u, (size_t)n * eb);
      } else {
        for (int64_t i = 0; i < n; ++i) memcpy(y + i * ys * (int64_t)eb, u + i * us * (int64_t)eb, eb);
      }
    } else if (ys == 1 && us == 1) {
      j->fn(y, y, u, (size_t)n);
    } else {
      TT_ALIGNED(64) char a[CHUNK * 16], b[CHUNK * 16];
      for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t m = TT_MIN(CHUNK, n - i);
        tt_k_gather_strided(a, y + i * ys * (int64_t)eb, ys, eb, (size_t)m);
        tt_k_gather_strided(b, u + i * us * (int64_t)eb, us, eb, (size_t)m);
        j->fn(a, a, b, (size_t)m);
        tt_k_scatter_strided(y + i * ys * (int64_t)eb, ys, a, eb, (size_t)m);
      }
    }
  }
}

static void apply_window(const scatter_job_t* j, char* scratch, int64_t y, int64_t u) {
  const tt_k_copy_t* w = &j->window;
  if (w->rank == 0) {
    apply_run(j, scratch, y, 1, u, 1, 1);
    return;
  }
  uint32_t last = w->rank - 1;
  int64_t index[TT_MAX_RANK] = {0}, outer = tt_k_product(w->dims, 0, last);
  for (int64_t o = 0; o < outer; ++o) {
    apply_run(j, scratch, y, w->dst[last], u, w->src[last], w->dims[last]);
    for (uint32_t i = last; i-- > 0;) {
      y += w->dst[i];
      u += w->src[i];
      if (++index[i] < w->dims[i]) break;
      y -= w->dst[i] * w->dims[i];
      u -= w->src[i] * w->dims[i];
      index[i] = 0;
    }
  }
}

// Windows whose hash is `task`, in order. Equal windows have equal hashes.
static bool mine(const scatter_job_t* j, int64_t offset, size_t task) {
  if (offset < 0) return false;
  if (j->tasks == 1) return true;
  uint64_t hash = ((uint64_t)offset >> 6) * 0x9e3779b97f4a7c15ull;
  return (hash >> 32) * j->tasks >> 32 == task;
}

// One element at each position, one operand: the common accumulations without a call an element.
#define ELEMENTS(T, STATEMENT)                                 \
  do {                                                         \
    T* y = (T*)yp;                                             \
    const T* u = (const T*)up;                                 \
    for (int64_t b = 0; b < n; ++b) {                          \
      if (!mine(j, at[b], task)) continue;                     \
      STATEMENT;                                               \
    }                                                          \
    return true;                                               \
  } while (0)
static bool elements_fast(const scatter_job_t* j, char* yp, const char* up, size_t task) {
  if (j->operand_count != 1) return false;
  const int64_t *at = j->at.operand, *from = j->at.other, n = j->at.count;
  if (j->combine == TT_K_COMBINE_SECOND) {
    switch (j->element_bytes[0]) {
      case 1: ELEMENTS(uint8_t, y[at[b]] = u[from[b]]);
      case 2: ELEMENTS(uint16_t, y[at[b]] = u[from[b]]);
      case 4: ELEMENTS(uint32_t, y[at[b]] = u[from[b]]);
      case 8: ELEMENTS(uint64_t, y[at[b]] = u[from[b]]);
      default: ELEMENTS(pair128_t, y[at[b]] = u[from[b]]);
    }
  }
  if (j->combine == TT_K_COMBINE_BINARY && j->kind == TT_OP_ADD) {
    switch (j->dtype) {
      case TT_DTYPE_F32: ELEMENTS(float, y[at[b]] += u[from[b]]);
      case TT_DTYPE_F64: ELEMENTS(double, y[at[b]] += u[from[b]]);
      case TT_DTYPE_S32: case TT_DTYPE_U32: ELEMENTS(uint32_t, y[at[b]] += u[from[b]]);
      case TT_DTYPE_S64: case TT_DTYPE_U64: ELEMENTS(uint64_t, y[at[b]] += u[from[b]]);
      default: return false;
    }
  }
  return false;
}

static void scatter_hash_task(void* self, size_t task) {
  const scatter_job_t* j = self;
  char* scratch = j->scratch + task * j->scratch_stride;
  if (j->window.rank == 0 && elements_fast(j, j->y[0], j->u[0], task)) return;
  for (int64_t b = 0; b < j->at.count; ++b) {
    if (mine(j, j->at.operand[b], task)) apply_window(j, scratch, j->at.operand[b], j->at.other[b]);
  }
}
// Window places outside, windows inside, for places [begin, end): only without REGION, one operand.
static void scatter_columns(void* self, int64_t begin, int64_t end) {
  const scatter_job_t* j = self;
  int64_t eb = (int64_t)j->element_bytes[0];
  const tt_k_copy_t* w = &j->window;
  for (int64_t i = begin; i < end; ++i) {
    int64_t y = tt_k_unravel(i, w->dims, w->dst, w->rank), u = tt_k_unravel(i, w->dims, w->src, w->rank);
    if (elements_fast(j, j->y[0] + y * eb, j->u[0] + u * eb, 0)) continue;
    for (int64_t b = 0; b < j->at.count; ++b) {
      if (j->at.operand[b] >= 0) apply_run(j, NULL, j->at.operand[b] + y, 1, j->at.other[b] + u, 1, 1);
    }
  }
}

static tt_status_t scatter_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                               const tt_k_tensor_t* y, size_t ny) {
  (void)nx;
  const tt_k_index_t* p = blob;
  scatter_job_t job = {.env = env, .combine = (tt_k_combine_t)p->combine, .kind = (tt_op_kind_t)p->kind,
                       .operand_count = ny, .dtype = x->dtype, .tasks = 1};
  const tt_k_tensor_t *indices = x + ny, *updates = x + ny + 1;
  for (size_t k = 0; k < ny; ++k) {
    tt_k_memcpy(env->pool, y[k].data, x[k].data, tt_k_bytes(x + k));
    job.y[k] = y[k].data;
    job.u[k] = updates[k].data;
    job.element_bytes[k] = job.element_bytes[ny + k] = tt_dtype_bytes(x[k].dtype);
  }
  if (tt_k_elems(updates) == 0) return TT_OK_STATUS;
  if (job.combine == TT_K_COMBINE_BINARY) job.fn = tt_k_binary(job.kind, job.dtype);
  tt_k_index_positions(env->pool, p, x, indices, updates, false, env->scratch, &job.at);
  tt_k_index_window(p, x, updates, true, &job.window);
  if (job.at.count == 1 && job.combine == TT_K_COMBINE_SECOND) {
    if (job.at.operand[0] < 0) return TT_OK_STATUS;
    for (size_t k = 0; k < ny; ++k) {
      int64_t eb = (int64_t)job.element_bytes[k];
      job.window.element_bytes = (size_t)eb;
      tt_k_copy(env->pool, job.window, job.y[k] + job.at.operand[0] * eb, job.u[k] + job.at.other[0] * eb);
    }
    return TT_OK_STATUS;
  }
  if (!tt_k_copy_normalise(&job.window)) return TT_OK_STATUS;
  bool disjoint = true;   // two windows are equal or share nothing: every indexed dim has size 1
  for (int64_t i = 0; i < p->map_count; ++i) disjoint = disjoint && p->slice[p->map[i]] == 1;
  const tt_k_copy_t* w = &job.window;
  int64_t elems = tt_k_product(w->dims, 0, w->rank);
  bool unit_runs = w->rank > 0 && (w->dst[w->rank - 1] != 1 || w->src[w->rank - 1] != 1);
  if (disjoint && unit_runs && job.combine != TT_K_COMBINE_REGION && ny == 1 && job.at.count >= 4) {
    tt_k_parallel(env->pool, elems, TT_MAX(1, 8192 / job.at.count), scatter_columns, &job);
    return TT_OK_STATUS;
  }
  if (disjoint && job.at.count >= 16 && job.at.count * elems >= 32768) {
    job.tasks = (size_t)tt_pool_threads(env->pool);
  }
  void* scratch = NULL;
  if (job.combine == TT_K_COMBINE_REGION) {
    job.region_bytes = tt_align_up(env->region_scratch_bytes, 64);
    job.scratch_stride = job.region_bytes + 3 * ny * CHUNK * 16;
    TT_RETURN_IF_ERROR(tt_k_work_take(job.scratch_stride * job.tasks, &scratch));
    job.scratch = scratch;
  }
  tt_pool_run(env->pool, job.tasks, scatter_hash_task, &job);
  tt_k_work_give(scratch);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_index_scatter_table[] = {
    {.name = "tt_k_any_scatter__generic", .kind = TT_OP_SCATTER, .supports = scatter_supports, .encode = scatter_encode,
     .scratch_bytes = scatter_scratch, .run = scatter_run, .inplace = 1},
    {0},
};
