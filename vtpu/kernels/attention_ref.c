// Reference attention: tt.sdpa and tt.sdpa_backward in plain loops. Memory is linear in the length: one row of
// scores a task, and one head of keys and values in the accumulation type.
#include <math.h>
#include <string.h>

#include "kernels/elementwise.h"
#include "kernels/loops.h"

typedef struct attention_blob_s {
  double scale;
  uint8_t causal, has_bias;
} attention_blob_t;

typedef struct attention_s {
  int64_t b, h, hk, lq, lk, d, dv;
  double scale;
  bool causal;
  tt_k_tensor_t q, k, v, bias, out, lse, grad, dq, dk, dv_out;
  int64_t bias_stride[4], bias_bytes;
  char* scratch;
  size_t scratch_stride;
} attention_t;

#define REAL float
#define NAME(x) x##_f32
#define EXP tt_k_unary(TT_OP_EXPONENTIAL, TT_DTYPE_F32)
#include "kernels/attention_ref_impl.h"
#undef REAL
#undef NAME
#undef EXP
#define REAL double
#define NAME(x) x##_f64
#define EXP tt_k_unary(TT_OP_EXPONENTIAL, TT_DTYPE_F64)
#include "kernels/attention_ref_impl.h"
#undef REAL
#undef NAME
#undef EXP

static bool attention_supports(const tt_op_t* op, const char** why) {
  *why = "only f16, bf16, f32 and f64 of rank 4";
  for (uint32_t i = 0; i < 3; ++i) {
    const tt_type_t* t = op->operands[i]->type;
    if (t->rank != 4 || (t->dtype != TT_DTYPE_F32 && t->dtype != TT_DTYPE_F64 && t->dtype != TT_DTYPE_F16 &&
                         t->dtype != TT_DTYPE_BF16))
      return false;
  }
  return true;
}

static tt_status_t attention_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out_blob) {
  attention_blob_t* blob = tt_k_blob_new(arena, out_blob, sizeof(*blob));
  if (!blob) return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory");
  const tt_attr_t* attr;
  blob->scale = (attr = tt_k_own_attr(op, TT_ATTR_SCALE)) ? attr->f : 1.0;
  blob->causal = (attr = tt_k_own_attr(op, TT_ATTR_CAUSAL)) && attr->b;
  blob->has_bias = (attr = tt_k_own_attr(op, TT_ATTR_HAS_BIAS)) && attr->b;
  return TT_OK_STATUS;
}

static void shapes(attention_t* a, const attention_blob_t* blob, const tt_k_tensor_t* q,
                   const tt_k_tensor_t* k, const tt_k_tensor_t* v, const tt_k_tensor_t* bias) {
  memset(a, 0, sizeof(*a));
  a->b = q->dims[0];
  a->h = q->dims[1];
  a->lq = q->dims[2];
  a->d = q->dims[3];
  a->hk = k->dims[1];
  a->lk = k->dims[2];
  a->dv = v->dims[3];
  a->scale = blob->scale;
  a->causal = blob->causal;
  a->q = *q;
  a->k = *k;
  a->v = *v;
  if (!blob->has_bias) return;
  a->bias = *bias;
  a->bias_bytes = (int64_t)tt_dtype_bytes(bias->dtype);
  int64_t stride = 1;
  for (int i = 3; i >= 0; --i) {
    a->bias_stride[i] = bias->dims[i] == 1 ? 0 : stride;
    stride *= bias->dims[i];
  }
}

// Bytes of one task.
static size_t forward_stride(const attention_t* a) {
  size_t real = a->q.dtype == TT_DTYPE_F64 ? 8 : 4;
  return tt_align_up((size_t)(a->lk * (a->d + a->dv + 1) + a->d + a->dv) * real, 64);
}
static size_t backward_stride(const attention_t* a) {
  size_t real = a->q.dtype == TT_DTYPE_F64 ? 8 : 4;
  return tt_align_up((size_t)(a->lk * (2 * a->d + 2 * a->dv + 1) + 2 * a->d + 2 * a->dv) * real, 64);
}

static size_t forward_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t count,
                              const tt_k_tensor_t* y, size_t results) {
  (void)threads, (void)count, (void)y, (void)results;
  attention_t a;
  shapes(&a, blob, &x[0], &x[1], &x[2], &x[3]);
  return forward_stride(&a) * (size_t)(a.b * a.h);
}
static size_t backward_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t count,
                               const tt_k_tensor_t* y, size_t results) {
  (void)threads, (void)count, (void)y, (void)results;
  attention_t a;
  shapes(&a, blob, &x[1], &x[2], &x[3], &x[6]);
  return backward_stride(&a) * (size_t)(a.b * a.hk);
}

static tt_status_t forward_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t count,
                               const tt_k_tensor_t* y, size_t results) {
  (void)count, (void)results;
  attention_t a;
  shapes(&a, blob, &x[0], &x[1], &x[2], &x[3]);
  a.out = y[0];
  a.lse = y[1];
  a.scratch = env->scratch;
  a.scratch_stride = forward_stride(&a);
  tt_pool_run(env->pool, (size_t)(a.b * a.h), a.q.dtype == TT_DTYPE_F64 ? forward_task_f64 : forward_task_f32,
              &a);
  return TT_OK_STATUS;
}

static tt_status_t backward_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t count,
                                const tt_k_tensor_t* y, size_t results) {
  (void)count, (void)results;
  attention_t a;
  shapes(&a, blob, &x[1], &x[2], &x[3], &x[6]);
  a.grad = x[0];
  a.out = x[4];
  a.lse = x[5];
  a.dq = y[0];
  a.dk = y[1];
  a.dv_out = y[2];
  a.scratch = env->scratch;
  a.scratch_stride = backward_stride(&a);
  tt_pool_run(env->pool, (size_t)(a.b * a.hk),
              a.q.dtype == TT_DTYPE_F64 ? backward_task_f64 : backward_task_f32, &a);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_attention_ref_table[] = {
    {.name = "tt_k_float_sdpa__generic",
     .kind = TT_OP_COMPOSITE,
     .target = "tt.sdpa",
     .supports = attention_supports,
     .encode = attention_encode,
     .scratch_bytes = forward_scratch,
     .run = forward_run},
    {.name = "tt_k_float_sdpa_backward__generic",
     .kind = TT_OP_COMPOSITE,
     .target = "tt.sdpa_backward",
     .supports = attention_supports,
     .encode = attention_encode,
     .scratch_bytes = backward_scratch,
     .run = backward_run},
    {0},
};
