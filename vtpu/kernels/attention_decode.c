// Fused attention of few queries (decoding): keys and values are read once, in memory order, by the few-row
// products; the query heads that share a key head go together. Keys are split in parts of 512 by shape; the
// parts' maxima, sums and products merge in order.
#include <math.h>

#include "kernels/attention.h"

enum { kPart = 512, kFew = 8 };
typedef struct decode_s {  // sizes in floats
  int64_t parts, rows;  // rows: query rows that share a key head
  int64_t partial, slots_at, slot, q_at, s_at, p_at, bias_at, wide_at;
} decode_t;

bool tt_attention_decodes(const tt_attention_t* a) {
  return !a->causal && a->lq <= kFew && a->lq * a->group <= 64 && a->d <= kPart && a->dv <= kPart &&
         a->lk > 0;
}
static decode_t layout(const tt_attention_t* a) {
  decode_t f = {.parts = (a->lk + kPart - 1) / kPart, .rows = a->lq * a->group};
  f.partial = a->dv + 2;  // o, m, l
  f.slots_at = (a->b * a->hk * f.parts * f.rows * f.partial + 15) / 16 * 16;
  f.s_at = kFew * a->d + 16;
  f.p_at = f.s_at + kFew * kPart;
  f.bias_at = f.p_at + kFew * kPart + 16;
  f.wide_at = f.bias_at + kFew * kPart + kFew * a->dv;
  f.slot = (f.wide_at + kPart * TT_MAX(a->d, a->dv) + 16 + 15) / 16 * 16;
  return f;
}
size_t tt_attention_decode_bytes(const tt_attention_t* a, int threads) {
  const decode_t f = layout(a);
  return (size_t)(f.slots_at + f.slot * TT_MIN((int64_t)TT_MAX(threads, 1), a->b * a->hk * f.parts)) * 4 + 64;
}
typedef struct run_s {
  const tt_attention_t* a;
  decode_t f;
  const tt_gemm_isa_t* gemm;
} run_t;

static const tt_gemm_source_t* source_of(const tt_gemm_isa_t* isa, tt_dtype_t dtype) {
  return dtype == TT_DTYPE_F32 ? &isa->from_f32 : dtype == TT_DTYPE_BF16 ? &isa->from_bf16 : &isa->from_f16;
}
static void part_task(void* self, size_t slot, size_t task) {
  const run_t* r = self;
  const tt_attention_t* a = r->a;
  const decode_t* f = &r->f;
  const int64_t part = (int64_t)task % f->parts, head = (int64_t)task / f->parts, b = head / a->hk,
                hk = head % a->hk;
  const int64_t key = part * kPart, n = TT_MIN((int64_t)kPart, a->lk - key);
  float* own = (float*)a->scratch + f->slots_at + f->slot * (int64_t)slot;
  float *q = own, *s = own + f->s_at, *p = own + f->p_at, *bias = own + f->bias_at, *o = bias + kFew * kPart,
        *wide = own + f->wide_at;
  for (int64_t first = 0; first < f->rows; first += kFew) {
    const int64_t rows = TT_MIN((int64_t)kFew, f->rows - first), few = rows <= 2 ? rows : rows <= 4 ? 4 : 8;
    memset(q, 0, (size_t)(few * a->d) * 4);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t h = hk * a->group + (first + i) / a->lq, row = (first + i) % a->lq;
      tt_attention_load(&a->q, b, h, row, 1, a->d, wide);
      for (int64_t x = 0; x < a->d; ++x) q[x * few + i] = wide[x];
      if (a->has_bias) tt_attention_bias(a, b, h, row, 1, key, n, bias + i * kPart, kPart);
    }
    const char* k = tt_attention_at(&a->k, b, hk, key);
    const tt_gemm_source_t* source = source_of(r->gemm, a->k.dtype);
    if (a->k.stride[3] == 1) {
      source->few_columns(few, q, k, a->k.stride[2], a->d, a->d, n, s, kPart, false);
    } else {  // the same numbers from a dense copy
      tt_attention_load(&a->k, b, hk, key, n, a->d, wide);
      r->gemm->from_f32.few_columns(few, q, wide, a->d, a->d, a->d, n, s, kPart, false);
    }
    float m[kFew], l[kFew];
    tt_attention_rows_t x = {.s = s,
                             .ld = kPart,
                             .rows = rows,
                             .n = n,
                             .count = n,
                             .scale = a->scale,
                             .bias = a->has_bias ? bias : NULL,
                             .bias_ld = kPart};
    a->isa->softmax(&x, true, m, l, o, a->dv, a->dv);
    r->gemm->from_f32.pack(p, few, s, kPart, 1, rows, n);
    source = source_of(r->gemm, a->v.dtype);
    if (a->v.stride[3] == 1) {
      source->few_rows(few, p, tt_attention_at(&a->v, b, hk, key), a->v.stride[2], n, a->dv, o, a->dv, false);
    } else {
      tt_attention_load(&a->v, b, hk, key, n, a->dv, wide);
      r->gemm->from_f32.few_rows(few, p, wide, a->dv, n, a->dv, o, a->dv, false);
    }
    for (int64_t i = 0; i < rows; ++i) {
      float* out = (float*)a->scratch + ((head * f->parts + part) * f->rows + first + i) * f->partial;
      memcpy(out, o + i * a->dv, (size_t)a->dv * 4);
      out[a->dv] = m[i];
      out[a->dv + 1] = l[i];
    }
  }
}
static void merge_task(void* self, size_t slot, size_t task) {
  (void)slot;
  const run_t* r = self;
  const tt_attention_t* a = r->a;
  const decode_t* f = &r->f;
  const int64_t head = (int64_t)task, b = head / a->hk, hk = head % a->hk;
  float sum[kPart];
  for (int64_t i = 0; i < f->rows; ++i) {
    const int64_t h = hk * a->group + i / a->lq, row = i % a->lq;
    const float* parts = (const float*)a->scratch + (head * f->parts * f->rows + i) * f->partial;
    const int64_t step = f->rows * f->partial;
    float best = -INFINITY, total = 0;
    for (int64_t p = 0; p < f->parts; ++p)
      best = parts[p * step + a->dv] > best ? parts[p * step + a->dv] : best;
    const float base = best == -INFINITY ? 0.0f : best;
    memset(sum, 0, (size_t)a->dv * 4);
    for (int64_t p = 0; p < f->parts; ++p) {
      const float* x = parts + p * step;
      // a part of masked keys adds nothing, NaN stays
      const float factor = x[a->dv] == -INFINITY && x[a->dv + 1] == 0 ? 0.0f : a->isa->exp(x[a->dv] - base);
      total = __builtin_fmaf(x[a->dv + 1], f->parts == 1 ? 1.0f : factor, total);
      a->isa->add_row(sum, x, f->parts == 1 ? 1.0f : factor, a->dv);
    }
    const bool none = total == 0;
    if (none) memset(sum, 0, (size_t)a->dv * 4);
    else a->isa->scale_row(sum, sum, 1.0f / total, a->dv);
    ((float*)(void*)a->lse.data)[(b * a->h + h) * a->lq + row] = none ? -INFINITY : best + logf(total);
    tt_attention_store(&a->out, sum, a->dv, tt_attention_at(&a->out, b, h, row));
  }
}
void tt_attention_decode(tt_pool_t* pool, tt_attention_t* a) {
  run_t r = {a, layout(a), tt_gemm_isa()};
  tt_gemm_tasks(pool, (size_t)(a->b * a->hk * r.f.parts), part_task, &r);
  tt_gemm_tasks(a->b * a->hk * r.f.rows * r.f.parts < 256 ? NULL : pool, (size_t)(a->b * a->hk), merge_task,
                &r);
}
