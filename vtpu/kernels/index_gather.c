// gather, dynamic_gather and torch_index_select. Indices are clamped so that each window fits (StableHLO).
#include "kernels/index.h"

static bool listed(tt_i64s_t list, int64_t value) {
  for (size_t i = 0; i < list.size; ++i) {
    if (list.data[i] == value) return true;
  }
  return false;
}

static tt_status_t gather_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  tt_k_index_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_GATHER) return tt_status_create(TT_INVALID_ARGUMENT, "gather: no dimension numbers");
  const tt_gather_dims_t* d = attr->gather;
  uint32_t rank = op->operands[0]->type->rank;
  p->index_vector_dim = d->index_vector_dim;
  p->map_count = (int64_t)d->start_index_map.size;
  for (size_t i = 0; i < d->start_index_map.size; ++i) p->map[i] = d->start_index_map.data[i];
  p->batching_count = (int64_t)d->operand_batching_dims.size;
  for (size_t i = 0; i < d->operand_batching_dims.size; ++i) {
    p->operand_batching[i] = d->operand_batching_dims.data[i];
    p->index_batching[i] = d->start_indices_batching_dims.data[i];
  }
  tt_k_op_i64s(op, TT_ATTR_SLICE_SIZES, p->slice, rank, 1);
  for (uint32_t i = 0; i < rank; ++i) {
    if (listed(d->collapsed_slice_dims, i) || listed(d->operand_batching_dims, i)) {
      if (op->kind == TT_OP_DYNAMIC_GATHER) p->slice[i] = 1;
      continue;
    }
    int64_t k = p->window_count++;
    p->window_operand[k] = i;
    p->window_dims[k] = d->offset_dims.data[k];
    if (op->kind == TT_OP_DYNAMIC_GATHER) p->slice[i] = op->results[0].type->dims[p->window_dims[k]];
  }
  return TT_OK_STATUS;
}

// result = operand[:dim] + index[batch_dims:] + operand[dim+1:]: a gather along one axis.
static tt_status_t index_select_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  tt_k_index_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_type_t *x = op->operands[0]->type, *index = op->operands[1]->type;
  int64_t dim = 0, batch = 0;
  for (int i = 0; i < op->attr_count; ++i) {
    const tt_attr_t* attr = &op->attrs[i];
    const char* name = attr->name == TT_ATTR_OTHER ? attr->other_name : tt_attr_name_text(attr->name);
    if (strcmp(name, "dim") == 0) dim = attr->i;
    if (strcmp(name, "batch_dims") == 0) batch = attr->i;
  }
  p->index_vector_dim = index->rank;
  p->map_count = 1;
  p->map[0] = dim;
  p->batching_count = batch;
  for (int64_t i = 0; i < batch; ++i) p->operand_batching[i] = p->index_batching[i] = i;
  for (uint32_t i = 0; i < x->rank; ++i) {
    p->slice[i] = (int64_t)i == dim || (int64_t)i < batch ? 1 : x->dims[i];
    if (p->slice[i] == 1 && ((int64_t)i == dim || (int64_t)i < batch)) continue;
    int64_t k = p->window_count++;
    p->window_operand[k] = i;
    p->window_dims[k] = (int64_t)i < dim ? i : (int64_t)i - 1 + (int64_t)index->rank - batch;
  }
  return TT_OK_STATUS;
}

static size_t gather_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y,
                             size_t ny) {
  (void)threads, (void)nx, (void)y, (void)ny;
  return tt_k_index_scratch(blob, x + 1);
}

typedef struct gather_job_s {
  tt_k_copy_t window;      // normalised
  tt_k_positions_t at;
  char* y;
  const char* x;
} gather_job_t;

#define EACH_SIZE(eb, LOOP)                \
  switch (eb) {                            \
    case 1: LOOP(uint8_t); break;          \
    case 2: LOOP(uint16_t); break;         \
    case 4: LOOP(uint32_t); break;         \
    case 8: LOOP(uint64_t); break;         \
    default: LOOP(pair128_t); break;       \
  }
typedef struct pair128_s { uint64_t low, high; } pair128_t;

static void gather_elements(void* self, int64_t begin, int64_t end) {   // windows of one element
  const gather_job_t* j = self;
  const int64_t *from = j->at.operand, *to = j->at.other;
#define LOOP(T) \
  for (int64_t b = begin; b < end; ++b) ((T*)j->y)[to[b]] = ((const T*)j->x)[from[b]]
  EACH_SIZE(j->window.element_bytes, LOOP)
#undef LOOP
}
static void gather_rows(void* self, int64_t begin, int64_t end) {       // contiguous windows
  const gather_job_t* j = self;
  size_t eb = j->window.element_bytes, bytes = (size_t)j->window.dims[0] * eb;
  for (int64_t b = begin; b < end; ++b) {
    memcpy(j->y + (size_t)j->at.other[b] * eb, j->x + j->at.operand[b] * (int64_t)eb, bytes);
  }
}
static void gather_windows(void* self, int64_t begin, int64_t end) {    // any windows
  const gather_job_t* j = self;
  int64_t eb = (int64_t)j->window.element_bytes;
  for (int64_t b = begin; b < end; ++b) {
    tt_k_copy(NULL, j->window, j->y + j->at.other[b] * eb, j->x + j->at.operand[b] * eb);
  }
}
// Window places outside, batch positions inside: take along the last axis and the like.
static void gather_columns(void* self, int64_t begin, int64_t end) {
  const gather_job_t* j = self;
  int64_t eb = (int64_t)j->window.element_bytes, n = j->at.count;
  const int64_t *from = j->at.operand, *to = j->at.other;
  for (int64_t w = begin; w < end; ++w) {
    char* y = j->y + tt_k_unravel(w, j->window.dims, j->window.dst, j->window.rank) * eb;
    const char* x = j->x + tt_k_unravel(w, j->window.dims, j->window.src, j->window.rank) * eb;
#define LOOP(T) \
  for (int64_t b = 0; b < n; ++b) ((T*)y)[to[b]] = ((const T*)x)[from[b]]
    EACH_SIZE(eb, LOOP)
#undef LOOP
  }
}

static tt_status_t gather_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                              const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const tt_k_index_t* p = blob;
  gather_job_t job = {.y = y->data, .x = x->data};
  if (tt_k_elems(y) == 0) return TT_OK_STATUS;
  if (tt_k_elems(x) == 0) {   // nothing to clamp to; the verifier refuses it, kept harmless
    memset(y->data, 0, tt_k_bytes(y));
    return TT_OK_STATUS;
  }
  tt_k_index_positions(env->pool, p, x, x + 1, y, true, env->scratch, &job.at);
  tt_k_index_window(p, x, y, false, &job.window);
  if (job.at.count == 1) {
    int64_t eb = (int64_t)job.window.element_bytes;
    tt_k_copy(env->pool, job.window, job.y + job.at.other[0] * eb, job.x + job.at.operand[0] * eb);
    return TT_OK_STATUS;
  }
  if (!tt_k_copy_normalise(&job.window)) return TT_OK_STATUS;
  tt_k_copy_t* w = &job.window;
  int64_t elems = tt_k_product(w->dims, 0, w->rank);
  int64_t grain = TT_MAX(1, (int64_t)(32 << 10) / (elems * (int64_t)w->element_bytes));
  if (w->rank == 0) {
    tt_k_parallel(env->pool, job.at.count, 8192, gather_elements, &job);
  } else if (w->rank == 1 && w->dst[0] == 1 && w->src[0] == 1) {
    tt_k_parallel(env->pool, job.at.count, grain, gather_rows, &job);
  } else if (w->dst[w->rank - 1] != 1) {
    tt_k_parallel(env->pool, elems, TT_MAX(1, 8192 / job.at.count), gather_columns, &job);
  } else {
    tt_k_parallel(env->pool, job.at.count, grain, gather_windows, &job);
  }
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_index_gather_table[] = {
    {.name = "tt_k_any_gather__generic", .kind = TT_OP_GATHER, .strided_operands = 1, .encode = gather_encode,
     .scratch_bytes = gather_scratch, .run = gather_run},
    {.name = "tt_k_any_dynamic_gather__generic", .kind = TT_OP_DYNAMIC_GATHER, .strided_operands = 1,
     .encode = gather_encode, .scratch_bytes = gather_scratch, .run = gather_run},
    {.name = "tt_k_any_torch_index_select__generic", .kind = TT_OP_TORCH_INDEX_SELECT, .strided_operands = 1,
     .encode = index_select_encode, .scratch_bytes = gather_scratch, .run = gather_run},
    {0},
};
