// Fused attention, forward: blocks of queries by blocks of keys with an online softmax, on the register-tiled
// products of gemm.h. Keys and values are packed once a head (f32, linear in the length); a task then owns
// one block of queries of one head. Work is split by shape alone. Numbers do not depend on strides.
#include "kernels/attention.h"

#include <math.h>

static const tt_attention_isa_t* rows_isa(void) {
#if defined(__x86_64__)
  if (tt_k_isa() >= TT_ISA_AVX512) return &tt_attention_isa__avx512;
  if (tt_k_isa() >= TT_ISA_AVX2) return &tt_attention_isa__avx2;
#endif
  return NULL;
}

static bool attention_supports(const tt_op_t* op, const char** why) {
  const bool backward = strcmp(tt_op_attr_text(op, TT_ATTR_NAME), "tt.sdpa_backward") == 0;
  const uint32_t floats = backward ? 5 : 3;
  *why = "only f16, bf16 and f32 of rank 4, one dtype";
  const tt_dtype_t dtype = op->operands[0]->type->dtype;
  if (dtype != TT_DTYPE_F32 && dtype != TT_DTYPE_F16 && dtype != TT_DTYPE_BF16) return false;
  for (uint32_t i = 0; i < floats; ++i) {
    const tt_type_t* t = op->operands[i]->type;
    if (t->rank != 4 || t->dtype != dtype) return false;
  }
  for (uint32_t i = 0; i < op->result_count; ++i) {
    if (op->results[i].type->dtype != (!backward && i == 1 ? TT_DTYPE_F32 : dtype)) return false;
  }
  if (backward && op->operands[5]->type->dtype != TT_DTYPE_F32) return false;
  *why = "head sizes past 1024";
  const tt_type_t *q = op->operands[backward ? 1 : 0]->type, *v = op->operands[backward ? 3 : 2]->type;
  if (q->dims[3] > 1024 || v->dims[3] > 1024) return false;
  *why = "a bias that is not of rank 4";
  const uint32_t bias = backward ? 6 : 3;
  if (op->operand_count > bias && op->operands[bias]->type->rank != 4) return false;
  return true;
}
static tt_status_t attention_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  tt_attention_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_attr_t* attr;
  p->scale = (attr = tt_k_own_attr(op, TT_ATTR_SCALE)) ? attr->f : 1.0;
  p->causal = (attr = tt_k_own_attr(op, TT_ATTR_CAUSAL)) && attr->b;
  p->has_bias = (attr = tt_k_own_attr(op, TT_ATTR_HAS_BIAS)) && attr->b;
  return TT_OK_STATUS;
}

static tt_attention_view_t view_of(const tt_k_tensor_t* t) {
  tt_attention_view_t v = {.data = t->data, .dtype = t->dtype, .bytes = (int64_t)tt_dtype_bytes(t->dtype)};
  tt_k_strides(t, v.stride);
  return v;
}
static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
static int64_t ceil_div(int64_t x, int64_t by) { return (x + by - 1) / by; }

static tt_attention_t attention_of(const tt_attention_blob_t* p, const tt_k_tensor_t* q,
                                   const tt_k_tensor_t* k, const tt_k_tensor_t* v, const tt_k_tensor_t* bias,
                                   bool backward) {
  tt_attention_t a = {.b = q->dims[0],
                      .h = q->dims[1],
                      .hk = k->dims[1],
                      .lq = q->dims[2],
                      .lk = k->dims[2],
                      .d = q->dims[3],
                      .dv = v->dims[3],
                      .scale = (float)p->scale,
                      .causal = p->causal,
                      .q = view_of(q),
                      .k = view_of(k),
                      .v = view_of(v),
                      .has_bias = p->has_bias,
                      .kernel = tt_gemm_kernel(TT_DTYPE_F32),
                      .isa = rows_isa()};
  a.group = a.hk ? a.h / a.hk : 1;
  if (a.has_bias) {
    a.bias = view_of(bias);
    for (int i = 0; i < 4; ++i) {
      if (bias->dims[i] == 1) a.bias.stride[i] = 0;
    }
  }
  const int64_t most = a.kernel->mr * (a.kernel->mr > 8 ? (backward ? 8 : 4) : (backward ? 16 : 8));
  a.bk = backward ? 128 : 256;
  a.bk = TT_MIN(a.bk, TT_MAX(round_up(a.lk, 32), 32));
  a.q_blocks = ceil_div(a.lq, most);
  a.bq = a.q_blocks ? round_up(ceil_div(a.lq, a.q_blocks), a.kernel->mr) : a.kernel->mr;
  a.q_blocks = ceil_div(a.lq, a.bq);
  a.k_blocks = ceil_div(a.lk, a.bk);
  return a;
}

int64_t tt_attention_bias(const tt_attention_t* a, int64_t b, int64_t h, int64_t row, int64_t rows,
                          int64_t key, int64_t n, float* out, int64_t ld) {
  const tt_attention_view_t* v = &a->bias;
  if (v->stride[2] == 0) rows = 1;
  for (int64_t i = 0; i < rows; ++i, out += ld) {
    const char* from = tt_attention_at(v, b, h, row + i) + key * v->stride[3] * v->bytes;
    const int64_t step = v->stride[3] * v->bytes;
    if (v->dtype == TT_DTYPE_PRED) {
      for (int64_t j = 0; j < n; ++j) out[j] = from[j * step] ? 0.0f : -INFINITY;
    } else if (v->stride[3] == 1) {
      if (v->dtype == TT_DTYPE_F32) memcpy(out, from, (size_t)n * 4);
      else tt_k_convert(v->dtype, TT_DTYPE_F32)(out, from, (size_t)n);
    } else {
      for (int64_t j = 0; j < n; ++j) out[j] = (float)tt_scalar_load_f64(v->dtype, from + j * step);
    }
    memset(out + n, 0, (size_t)(round_up(n, 16) - n) * 4);  // read up to whole vectors
  }
  return v->stride[2] == 0 ? 0 : ld;
}

// ---- forward over blocks -------------------------------------------------------------------------
typedef struct forward_s {  // sizes in floats
  int64_t k_head, v_head, k_at, v_at;  // packed keys and values of a head
  int64_t slots_at, slot, q_at, s_at, o_at, m_at, l_at, bias_at;
  int64_t v_width;
} forward_t;
static forward_t forward_layout(const tt_attention_t* a) {
  forward_t f = {0};
  f.v_width = round_up(a->dv, a->kernel->nr);
  f.k_head = round_up(a->lk, a->kernel->nr) * a->d + 16;
  f.v_head = a->lk * f.v_width + 16;
  f.v_at = round_up(f.k_head * a->b * a->hk, 16);
  f.slots_at = f.v_at + round_up(f.v_head * a->b * a->hk, 16);
  f.s_at = round_up(a->bq * a->d + 16, 16);
  f.o_at = f.s_at + a->bq * a->bk;
  f.m_at = f.o_at + round_up(a->bq * f.v_width, 16);
  f.l_at = f.m_at + round_up(a->bq, 16);
  f.bias_at = f.l_at + round_up(a->bq, 16);
  f.slot = f.bias_at + (a->has_bias ? a->bq * a->bk : 0);
  return f;
}
typedef struct forward_run_s {
  const tt_attention_t* a;
  forward_t f;
} forward_run_t;

static void pack_task(void* self, size_t slot, size_t task) {
  (void)slot;
  const forward_run_t* r = self;
  const tt_attention_t* a = r->a;
  const int64_t block = (int64_t)task % a->k_blocks, head = (int64_t)task / a->k_blocks, nr = a->kernel->nr;
  const int64_t b = head / a->hk, hk = head % a->hk, key = block * a->bk, n = TT_MIN(a->bk, a->lk - key);
  const tt_gemm_pack_fn_t pack = tt_gemm_pack(a->k.dtype);
  float* k = (float*)a->scratch + r->f.k_head * head;
  float* v = (float*)a->scratch + r->f.v_at + r->f.v_head * head + key * r->f.v_width;
  for (int64_t j = 0; j < n; j += nr) {
    pack(k + (key + j) * a->d, nr, tt_attention_at(&a->k, b, hk, key + j), a->k.stride[2], a->k.stride[3],
         TT_MIN(nr, n - j), a->d);
  }
  for (int64_t j = 0; j < a->dv; j += nr) {
    pack(v + j * n, nr, tt_attention_at(&a->v, b, hk, key) + j * a->v.stride[3] * a->v.bytes, a->v.stride[3],
         a->v.stride[2], TT_MIN(nr, a->dv - j), n);
  }
}

static void forward_task(void* self, size_t slot, size_t task) {
  const forward_run_t* r = self;
  const tt_attention_t* a = r->a;
  const forward_t* f = &r->f;
  const int64_t heads = a->b * a->h, mr = a->kernel->mr, nr = a->kernel->nr;
  // the last blocks first: under a causal mask they have the most work
  const int64_t block = a->q_blocks - 1 - (int64_t)task / heads, head = (int64_t)task % heads;
  const int64_t b = head / a->h, h = head % a->h, kv = b * a->hk + h / a->group;
  const int64_t row = block * a->bq, rows = TT_MIN(a->bq, a->lq - row);
  const float *k = (const float*)a->scratch + f->k_head * kv,
              *v = (const float*)a->scratch + f->v_at + f->v_head * kv;
  float* own = (float*)a->scratch + f->slots_at + f->slot * (int64_t)slot;
  float *q = own, *s = own + f->s_at, *o = own + f->o_at, *m = own + f->m_at, *l = own + f->l_at,
        *bias = own + f->bias_at;
  for (int64_t i = 0; i < rows; i += mr) {
    tt_gemm_pack(a->q.dtype)(q + i * a->d, mr, tt_attention_at(&a->q, b, h, row + i), a->q.stride[2],
                             a->q.stride[3], TT_MIN(mr, rows - i), a->d);
  }
  const int64_t keys = a->causal ? TT_MIN(a->lk, row + rows) : a->lk;
  for (int64_t key = 0; key < keys; key += a->bk) {
    const int64_t block_n = TT_MIN(a->bk, a->lk - key), n = TT_MIN(block_n, keys - key);
    for (int64_t i = 0; i < rows; i += mr) {
      for (int64_t j = 0; j < n; j += nr) {
        a->kernel->run(a->d, q + i * a->d, k + (key + j) * a->d, s + i * a->bk + j, a->bk,
                       TT_MIN(mr, rows - i), nr, false);
      }
    }
    tt_attention_rows_t p = {.s = s,
                             .ld = a->bk,
                             .rows = rows,
                             .n = n,
                             .count = a->causal ? row + 1 - key : n,
                             .step = a->causal,
                             .scale = a->scale};
    if (a->has_bias) {
      p.bias = bias;
      p.bias_ld = tt_attention_bias(a, b, h, row, rows, key, n, bias, a->bk);
    }
    a->isa->softmax(&p, key == 0, m, l, o, f->v_width, a->dv);
    for (int64_t j = 0; j < a->dv; j += nr) {
      for (int64_t i = 0; i < rows; i += mr) {
        a->kernel->run_strided(n, s + i * a->bk, a->bk, 1, v + key * f->v_width + j * block_n, nr,
                               o + i * f->v_width + j, f->v_width, TT_MIN(mr, rows - i), nr, key > 0);
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    float *x = o + i * f->v_width,
          *lse = (float*)(void*)(a->lse.data + (((b * a->h + h) * a->lq) + row + i) * 4);
    const bool none = keys == 0 || l[i] == 0;  // a row with every key masked gives zeros
    if (none) memset(x, 0, (size_t)a->dv * 4);
    else a->isa->scale_row(x, x, 1.0f / l[i], a->dv);
    *lse = none ? -INFINITY : m[i] + logf(l[i]);
    tt_attention_store(&a->out, x, a->dv, tt_attention_at(&a->out, b, h, row + i));
  }
}

static size_t forward_bytes(const tt_attention_t* a, int threads) {
  const forward_t f = forward_layout(a);
  return (size_t)(f.slots_at + f.slot * TT_MIN((int64_t)TT_MAX(threads, 1), a->b * a->h * a->q_blocks)) * 4 +
         64;
}
static size_t sdpa_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx,
                           const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)y, (void)ny;
  const tt_attention_t a = attention_of(blob, &x[0], &x[1], &x[2], &x[3], false);
  if (tt_attention_decodes(&a)) return tt_attention_decode_bytes(&a, threads);
  return tt_attention_tiles(&a) ? tt_attention_tile_bytes(&a, threads) : forward_bytes(&a, threads);
}
static tt_status_t sdpa_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                            const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  tt_attention_t a = attention_of(blob, &x[0], &x[1], &x[2], &x[3], false);
  a.scratch = env->scratch;
  a.out = view_of(&y[0]);
  a.lse.data = y[1].data;
  if (a.b * a.h * a.lq == 0) return TT_OK_STATUS;
  const double flops = 2.0 * (double)(a.b * a.h) * (double)a.lq * (double)a.lk * (double)(a.d + a.dv);
  tt_pool_t* pool = flops < 1e6 ? NULL : env->pool;
  if (tt_attention_decodes(&a)) {
    tt_attention_decode(pool, &a);
    return TT_OK_STATUS;
  }
  if (tt_attention_tiles(&a)) {
    tt_attention_tile(pool, &a);
    return TT_OK_STATUS;
  }
  forward_run_t r = {&a, forward_layout(&a)};
  tt_gemm_tasks(pool, (size_t)(a.b * a.hk * a.k_blocks), pack_task, &r);
  tt_gemm_tasks(pool, (size_t)(a.b * a.h * a.q_blocks), forward_task, &r);
  return TT_OK_STATUS;
}

static size_t backward_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx,
                               const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)y, (void)ny;
  const tt_attention_t a = attention_of(blob, &x[1], &x[2], &x[3], &x[6], true);
  return tt_attention_backward_bytes(&a, threads);
}
static tt_status_t backward_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  tt_attention_t a = attention_of(blob, &x[1], &x[2], &x[3], &x[6], true);
  a.scratch = env->scratch;
  a.grad = view_of(&x[0]);
  a.out = view_of(&x[4]);
  a.lse.data = x[5].data;
  a.dq = view_of(&y[0]);
  a.dk = view_of(&y[1]);
  a.dv_out = view_of(&y[2]);
  const double flops = 5.0 * (double)(a.b * a.h) * (double)a.lq * (double)a.lk * (double)(a.d + a.dv);
  tt_attention_backward(flops < 1e6 ? NULL : env->pool, &a);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_attention_table[] = {
    {.name = "tt_k_float_sdpa_fused__avx2",
     .kind = TT_OP_COMPOSITE,
     .target = "tt.sdpa",
     .isa = TT_ISA_AVX2,
     .strided_operands = 0xf,
     .supports = attention_supports,
     .encode = attention_encode,
     .scratch_bytes = sdpa_scratch,
     .run = sdpa_run},
    {.name = "tt_k_float_sdpa_backward_fused__avx2",
     .kind = TT_OP_COMPOSITE,
     .target = "tt.sdpa_backward",
     .isa = TT_ISA_AVX2,
     .strided_operands = 0x5f,
     .supports = attention_supports,
     .encode = attention_encode,
     .scratch_bytes = backward_scratch,
     .run = backward_run},
    {0},
};
