// Fused attention, backward. A task owns one query head: it walks blocks of queries and, within, blocks of
// keys,
//   P = exp(scale Q K^T + bias - lse), dP = dO V^T, dS = scale P (dP - rowsum(dO O)),
//   dV += P^T dO, dK += dS^T Q, dQ += dS K,
// with dK and dV of its head in f32 (linear in the length); a second pass adds the heads of a group, in
// order.
#include <math.h>

#include "kernels/attention.h"

typedef struct backward_s {  // sizes in floats
  int64_t width, v_width;  // d and dv in whole panels
  int64_t kt_head, vt_head,
      k_head;  // packed K^T, V^T (panels over keys) and K (panels over columns), a key head
  int64_t vt_at, k_at, sums_at, sum_head, slots_at, slot;
  int64_t qa_at, ga_at, qb_at, gb_at, s_at, dp_at, dq_at, lse_at, delta_at, bias_at, rows_at;
} backward_t;
typedef struct run_s {
  const tt_attention_t* a;
  backward_t f;
} run_t;

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
static backward_t layout(const tt_attention_t* a) {
  backward_t f = {0};
  const int64_t nr = a->kernel->nr, heads = a->b * a->hk, keys = round_up(a->lk, nr);
  f.width = round_up(a->d, nr);
  f.v_width = round_up(a->dv, nr);
  f.kt_head = round_up(keys * a->d + 16, 16);
  f.vt_head = round_up(keys * a->dv + 16, 16);
  f.k_head = round_up(a->lk * f.width + 16, 16);
  f.vt_at = f.kt_head * heads;
  f.k_at = f.vt_at + f.vt_head * heads;
  f.sums_at = f.k_at + f.k_head * heads;
  f.sum_head = round_up(a->lk * (a->d + a->dv), 16);
  f.slots_at = f.sums_at + f.sum_head * a->b * a->h;
  int64_t at = 0;
#define PART(name, size) f.name = at, at += round_up((size) + 16, 16)
  PART(qa_at, a->bq * a->d);
  PART(ga_at, a->bq * a->dv);
  PART(qb_at, a->bq * f.width);
  PART(gb_at, a->bq * f.v_width);
  PART(s_at, a->bq * a->bk);
  PART(dp_at, a->bq * a->bk);
  PART(dq_at, a->bq * f.width);
  PART(lse_at, a->bq);
  PART(delta_at, a->bq);
  PART(rows_at, 2 * a->bq * a->dv);
  PART(bias_at, a->has_bias ? a->bq * a->bk : 0);
#undef PART
  f.slot = at;
  return f;
}
size_t tt_attention_backward_bytes(const tt_attention_t* a, int threads) {
  const backward_t f = layout(a);
  return (size_t)(f.slots_at + f.slot * TT_MIN((int64_t)TT_MAX(threads, 1), TT_MAX(a->b * a->h, 1))) * 4 + 64;
}

static void pack_task(void* self, size_t slot, size_t task) {
  (void)slot;
  const run_t* r = self;
  const tt_attention_t* a = r->a;
  const backward_t* f = &r->f;
  const int64_t block = (int64_t)task % a->k_blocks, head = (int64_t)task / a->k_blocks, nr = a->kernel->nr;
  const int64_t b = head / a->hk, hk = head % a->hk, key = block * a->bk, n = TT_MIN(a->bk, a->lk - key);
  const tt_gemm_pack_fn_t pack = tt_gemm_pack(a->k.dtype);
  float* base = (float*)a->scratch;
  float *kt = base + f->kt_head * head, *vt = base + f->vt_at + f->vt_head * head;
  float* k = base + f->k_at + f->k_head * head + key * f->width;
  for (int64_t j = 0; j < n; j += nr) {
    pack(kt + (key + j) * a->d, nr, tt_attention_at(&a->k, b, hk, key + j), a->k.stride[2], a->k.stride[3],
         TT_MIN(nr, n - j), a->d);
    pack(vt + (key + j) * a->dv, nr, tt_attention_at(&a->v, b, hk, key + j), a->v.stride[2], a->v.stride[3],
         TT_MIN(nr, n - j), a->dv);
  }
  for (int64_t j = 0; j < a->d; j += nr) {
    pack(k + j * n, nr, tt_attention_at(&a->k, b, hk, key) + j * a->k.stride[3] * a->k.bytes, a->k.stride[3],
         a->k.stride[2], TT_MIN(nr, a->d - j), n);
  }
}

// C[rows, cols] += A B: A where it lies, B in panels of `depth` steps.
static void product(const tt_gemm_kernel_t* kernel, int64_t depth, const float* x, int64_t x_rs, int64_t x_cs,
                    const float* panels, float* c, int64_t c_rs, int64_t rows, int64_t cols,
                    bool accumulate) {
  for (int64_t j = 0; j < cols; j += kernel->nr) {
    for (int64_t i = 0; i < rows; i += kernel->mr) {
      kernel->run_strided(depth, x + i * x_rs, x_rs, x_cs, panels + j * depth, kernel->nr, c + i * c_rs + j,
                          c_rs, TT_MIN(kernel->mr, rows - i), TT_MIN(kernel->nr, cols - j), accumulate);
    }
  }
}
static void pack_rows(const tt_attention_t* a, const tt_attention_view_t* v, int64_t b, int64_t h,
                      int64_t row, int64_t rows, int64_t width, float* as_a, float* as_b) {
  const tt_gemm_pack_fn_t pack = tt_gemm_pack(v->dtype);
  const int64_t mr = a->kernel->mr, nr = a->kernel->nr;
  for (int64_t i = 0; i < rows; i += mr) {
    pack(as_a + i * width, mr, tt_attention_at(v, b, h, row + i), v->stride[2], v->stride[3],
         TT_MIN(mr, rows - i), width);
  }
  for (int64_t j = 0; j < width; j += nr) {
    pack(as_b + j * rows, nr, tt_attention_at(v, b, h, row) + j * v->stride[3] * v->bytes, v->stride[3],
         v->stride[2], TT_MIN(nr, width - j), rows);
  }
}

static void head_task(void* self, size_t slot, size_t task) {
  const run_t* r = self;
  const tt_attention_t* a = r->a;
  const backward_t* f = &r->f;
  const tt_gemm_kernel_t* kernel = a->kernel;
  const int64_t mr = kernel->mr, nr = kernel->nr, head = (int64_t)task, b = head / a->h, h = head % a->h;
  const int64_t kv = b * a->hk + h / a->group;
  float* base = (float*)a->scratch;
  const float *kt = base + f->kt_head * kv, *vt = base + f->vt_at + f->vt_head * kv,
              *k = base + f->k_at + f->k_head * kv;
  float *dk = base + f->sums_at + f->sum_head * head, *dv = dk + a->lk * a->d;
  float* own = base + f->slots_at + f->slot * (int64_t)slot;
  float *qa = own + f->qa_at, *ga = own + f->ga_at, *qb = own + f->qb_at, *gb = own + f->gb_at,
        *s = own + f->s_at, *dp = own + f->dp_at;
  float *dq = own + f->dq_at, *lse = own + f->lse_at, *delta = own + f->delta_at, *bias = own + f->bias_at,
        *text = own + f->rows_at;
  memset(dk, 0, (size_t)(a->lk * (a->d + a->dv)) * 4);
  for (int64_t row = 0; row < a->lq; row += a->bq) {
    const int64_t rows = TT_MIN(a->bq, a->lq - row);
    pack_rows(a, &a->q, b, h, row, rows, a->d, qa, qb);
    pack_rows(a, &a->grad, b, h, row, rows, a->dv, ga, gb);
    float* grads = text + a->bq * a->dv;
    tt_attention_load(&a->out, b, h, row, rows, a->dv, text);
    tt_attention_load(&a->grad, b, h, row, rows, a->dv, grads);
    for (int64_t i = 0; i < rows; ++i) delta[i] = a->isa->dot(text + i * a->dv, grads + i * a->dv, a->dv);
    memcpy(lse, a->lse.data + ((b * a->h + h) * a->lq + row) * 4, (size_t)rows * 4);
    const int64_t keys = a->causal ? TT_MIN(a->lk, row + rows) : a->lk;
    if (keys == 0) memset(dq, 0, (size_t)(rows * f->width) * 4);
    for (int64_t key = 0; key < keys; key += a->bk) {
      const int64_t block_n = TT_MIN(a->bk, a->lk - key), n = TT_MIN(block_n, keys - key);
      for (int64_t j = 0; j < n; j += nr) {
        for (int64_t i = 0; i < rows; i += mr) {
          const int64_t part = TT_MIN(mr, rows - i);
          kernel->run(a->d, qa + i * a->d, kt + (key + j) * a->d, s + i * a->bk + j, a->bk, part, nr, false);
          kernel->run(a->dv, ga + i * a->dv, vt + (key + j) * a->dv, dp + i * a->bk + j, a->bk, part, nr,
                      false);
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
      a->isa->gradient(&p, dp, lse, delta);
      product(kernel, rows, s, 1, a->bk, gb, dv + key * a->dv, a->dv, n, a->dv, true);
      product(kernel, rows, dp, 1, a->bk, qb, dk + key * a->d, a->d, n, a->d, true);
      for (int64_t j = 0; j < a->d; j += nr) {
        for (int64_t i = 0; i < rows; i += mr) {
          kernel->run_strided(n, dp + i * a->bk, a->bk, 1, k + key * f->width + j * block_n, nr,
                              dq + i * f->width + j, f->width, TT_MIN(mr, rows - i), nr, key > 0);
        }
      }
    }
    for (int64_t i = 0; i < rows; ++i)
      tt_attention_store(&a->dq, dq + i * f->width, a->d, tt_attention_at(&a->dq, b, h, row + i));
  }
}
static void group_task(void* self, size_t slot, size_t task) {
  (void)slot;
  const run_t* r = self;
  const tt_attention_t* a = r->a;
  const int64_t kv = (int64_t)task, b = kv / a->hk, hk = kv % a->hk, n = a->lk * (a->d + a->dv);
  float* sum = (float*)a->scratch + r->f.sums_at + r->f.sum_head * (b * a->h + hk * a->group);
  for (int64_t g = 1; g < a->group; ++g) a->isa->add_row(sum, sum + g * r->f.sum_head, 1.0f, n);
  tt_attention_store(&a->dk, sum, a->lk * a->d, tt_attention_at(&a->dk, b, hk, 0));
  tt_attention_store(&a->dv_out, sum + a->lk * a->d, a->lk * a->dv, tt_attention_at(&a->dv_out, b, hk, 0));
}

void tt_attention_backward(tt_pool_t* pool, tt_attention_t* a) {
  run_t r = {a, layout(a)};
  if (a->b * a->hk * a->lk > 0) tt_gemm_tasks(pool, (size_t)(a->b * a->hk * a->k_blocks), pack_task, &r);
  tt_gemm_tasks(pool, (size_t)(a->b * a->h), head_task, &r);
  tt_gemm_tasks(pool, (size_t)(a->b * a->hk), group_task, &r);
}
