// dot_general and dot on the packed products of gemm.h. Operands are views: dimension numbers become strides,
// and only free or contracting dims that do not collapse to one stride cost a copy (to the scratch).
#include "kernels/gemm.h"
#include "kernels/loops.h"

enum { kMaxDims = TT_MAX_RANK };
typedef struct matmul_blob_s {
  // dims of each operand: batch, then free (lhs: M, rhs: N), then contracting, in matching order
  uint8_t batch, lhs_free, rhs_free, contracting;
  uint8_t lhs[kMaxDims], rhs[kMaxDims];
} matmul_blob_t;

static bool listed(tt_i64s_t list, int64_t value) {
  for (size_t i = 0; i < list.size; ++i) {
    if (list.data[i] == value) return true;
  }
  return false;
}
static uint8_t put_side(uint8_t* out, uint32_t rank, tt_i64s_t batch, tt_i64s_t contracting) {
  uint8_t at = 0, free_dims = 0;
  for (size_t i = 0; i < batch.size; ++i) out[at++] = (uint8_t)batch.data[i];
  for (uint32_t d = 0; d < rank; ++d) {
    if (listed(batch, d) || listed(contracting, d)) continue;
    out[at++] = (uint8_t)d;
    ++free_dims;
  }
  for (size_t i = 0; i < contracting.size; ++i) out[at++] = (uint8_t)contracting.data[i];
  return free_dims;
}
static tt_status_t matmul_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  matmul_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  int64_t last = (int64_t)op->operands[0]->type->rank - 1, first = 0;
  tt_dot_dims_t plain = {.lhs_contracting = {&last, 1}, .rhs_contracting = {&first, 1}};
  const tt_dot_dims_t* d = &plain;
  if (op->kind == TT_OP_DOT_GENERAL) {
    const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DOT_DIMENSION_NUMBERS);
    if (!attr || attr->kind != TT_AK_DOT)
      return tt_status_create(TT_INVALID_ARGUMENT, "dot_general: no dimension numbers");
    d = attr->dot;
  }
  p->batch = (uint8_t)d->lhs_batch.size;
  p->contracting = (uint8_t)d->lhs_contracting.size;
  p->lhs_free = put_side(p->lhs, op->operands[0]->type->rank, d->lhs_batch, d->lhs_contracting);
  p->rhs_free = put_side(p->rhs, op->operands[1]->type->rank, d->rhs_batch, d->rhs_contracting);
  return TT_OK_STATUS;
}
static bool matmul_supports(const tt_op_t* op, const char** why) {
  const tt_type_t *x = op->operands[0]->type, *y = op->operands[1]->type, *z = op->results[0].type;
  *why = "quantised types";
  if (x->quant || y->quant || z->quant) return false;
  *why = "operands of different dtypes";
  if (x->dtype != y->dtype) return false;
  *why = "dtypes without a packed product on this CPU";
  if (!tt_gemm_supports(x->dtype, z->dtype)) return false;
  *why = "too many batch dimensions";
  const tt_attr_t* attr =
      op->kind == TT_OP_DOT_GENERAL ? tt_op_attr(op, TT_ATTR_DOT_DIMENSION_NUMBERS) : NULL;
  if (attr && attr->kind == TT_AK_DOT && attr->dot->lhs_batch.size > TT_GEMM_MAX_BATCH_RANK) return false;
  return true;
}

// Dims [0, n) with strides as one dim; false if they do not collapse.
static bool collapse(const tt_k_tensor_t* t, const int64_t* strides, const uint8_t* dims, uint32_t n,
                     int64_t* size, int64_t* stride) {
  *size = 1;
  *stride = 1;
  for (uint32_t i = n; i-- > 0;) {
    const int64_t extent = t->dims[dims[i]], step = strides[dims[i]];
    if (extent == 1) continue;
    if (*size == 1) *stride = step;
    else if (step != *stride * *size) return false;
    *size *= extent;
  }
  return true;
}
typedef struct side_s {
  bool copied;  // in canonical order in the scratch
  int64_t rows, row_stride, depth, depth_stride;
  int64_t batch[TT_GEMM_MAX_BATCH_RANK];
} side_t;
// Whether the contracting dims may stand in any common order: both operands must collapse in the given one.
static side_t side_of(const tt_k_tensor_t* t, const uint8_t* dims, uint32_t batch, uint32_t free_dims,
                      uint32_t contracting) {
  side_t s = {0};
  int64_t strides[TT_MAX_RANK];
  tt_k_strides(t, strides);
  if (!collapse(t, strides, dims + batch, free_dims, &s.rows, &s.row_stride) ||
      !collapse(t, strides, dims + batch + free_dims, contracting, &s.depth, &s.depth_stride)) {
    s.copied = true;
    s.rows = s.depth = 1;
    for (uint32_t i = 0; i < free_dims; ++i) s.rows *= t->dims[dims[batch + i]];
    for (uint32_t i = 0; i < contracting; ++i) s.depth *= t->dims[dims[batch + free_dims + i]];
    s.row_stride = s.depth;
    s.depth_stride = 1;
    int64_t step = s.rows * s.depth;
    for (uint32_t i = batch; i-- > 0;) {
      s.batch[i] = step;
      step *= t->dims[dims[i]];
    }
    return s;
  }
  for (uint32_t i = 0; i < batch; ++i) s.batch[i] = strides[dims[i]];
  return s;
}
typedef struct layout_s {
  side_t lhs, rhs;
  tt_gemm_t gemm;
  size_t rhs_at, gemm_at;
} layout_t;
static layout_t layout_of(const matmul_blob_t* p, const tt_k_tensor_t* x, const tt_k_tensor_t* y) {
  layout_t l = {.lhs = side_of(&x[0], p->lhs, p->batch, p->lhs_free, p->contracting),
                .rhs = side_of(&x[1], p->rhs, p->batch, p->rhs_free, p->contracting)};
  tt_gemm_t* g = &l.gemm;
  g->dtype = x[0].dtype;
  g->c_dtype = y->dtype;
  g->m = l.lhs.rows;
  g->n = l.rhs.rows;
  g->k = l.lhs.depth;
  g->a_rs = l.lhs.row_stride;
  g->a_cs = l.lhs.depth_stride;
  g->b_rs = l.rhs.depth_stride;
  g->b_cs = l.rhs.row_stride;
  g->c_rs = g->n;
  g->c_cs = 1;
  g->batch_rank = p->batch;
  int64_t step = g->m * g->n;
  for (uint32_t i = p->batch; i-- > 0;) {
    g->batch[i] = x[0].dims[p->lhs[i]];
    g->a_batch[i] = l.lhs.batch[i];
    g->b_batch[i] = l.rhs.batch[i];
    g->c_batch[i] = step;
    step *= g->batch[i];
  }
  l.rhs_at = l.lhs.copied ? tt_align_up(tt_k_bytes(&x[0]), 64) : 0;
  l.gemm_at = l.rhs_at + (l.rhs.copied ? tt_align_up(tt_k_bytes(&x[1]), 64) : 0);
  return l;
}
static size_t matmul_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx,
                             const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const layout_t l = layout_of(blob, x, y);
  return l.gemm_at + tt_gemm_scratch_bytes(&l.gemm, threads);
}
static const void* operand(tt_pool_t* pool, const tt_k_tensor_t* t, const side_t* s, const uint8_t* dims,
                           void* copy) {
  if (!s->copied) return t->data;
  tt_k_copy_t c = {.element_bytes = tt_dtype_bytes(t->dtype), .rank = t->rank};
  int64_t strides[TT_MAX_RANK];
  tt_k_strides(t, strides);
  for (uint32_t i = 0; i < t->rank; ++i) {
    c.dims[i] = t->dims[dims[i]];
    c.src[i] = strides[dims[i]];
  }
  tt_k_dense_strides(c.dims, c.rank, c.dst);
  tt_k_copy(pool, c, copy, t->data);
  return copy;
}
static tt_status_t matmul_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                              const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const matmul_blob_t* p = blob;
  layout_t l = layout_of(p, x, y);
  if (tt_k_elems(y) == 0) return TT_OK_STATUS;
  char* scratch = env->scratch;
  l.gemm.a = operand(env->pool, &x[0], &l.lhs, p->lhs, scratch);
  l.gemm.b = operand(env->pool, &x[1], &l.rhs, p->rhs, scratch + l.rhs_at);
  l.gemm.c = y->data;
  l.gemm.epilogue = env->epilogue;
  tt_gemm_run(env->pool, &l.gemm, scratch + l.gemm_at);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_matmul_table[] = {
    {.name = "tt_k_any_dot_general_packed__avx2",
     .kind = TT_OP_DOT_GENERAL,
     .isa = TT_ISA_AVX2,
     .strided_operands = 3,
     .epilogue = true,
     .supports = matmul_supports,
     .encode = matmul_encode,
     .scratch_bytes = matmul_scratch,
     .run = matmul_run},
    {.name = "tt_k_any_dot_packed__avx2",
     .kind = TT_OP_DOT,
     .isa = TT_ISA_AVX2,
     .strided_operands = 3,
     .epilogue = true,
     .supports = matmul_supports,
     .encode = matmul_encode,
     .scratch_bytes = matmul_scratch,
     .run = matmul_run},
    {0},
};
