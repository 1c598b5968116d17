// Fused attention, forward, in bf16 on the tile unit: as attention.c, with Q, K, V and the probabilities in
// packed tiles. Probabilities are rounded to bf16 before their product with V; sums and maxima stay f32.
#include <math.h>

#include "kernels/attention.h"
#include "kernels/gemm_tile.h"

enum { kRows = 64, kKeys = 256, kPer = 32 };  // kPer: elements of k a tile
typedef struct tile_s {  // sizes in bytes
  int64_t d_tiles, v_panels, o_ld;
  int64_t k_head, v_head, v_at, slots_at, slot, s_at, p_at, o_at, m_at, l_at, bias_at;
} tile_t;
typedef struct run_s {
  const tt_attention_t* a;
  const tt_gemm_tile_isa_t* unit;
  tile_t f;
} run_t;

static int64_t ceil_div(int64_t x, int64_t by) { return (x + by - 1) / by; }
bool tt_attention_tiles(const tt_attention_t* a) {
  return a->q.dtype == TT_DTYPE_BF16 && tt_gemm_tile_isa(TT_DTYPE_BF16) && a->lk > 0 && a->d > 0 && a->dv > 0;
}
static tile_t layout(const tt_attention_t* a) {
  tile_t f = {.d_tiles = ceil_div(a->d, kPer), .v_panels = ceil_div(a->dv, 16)};
  f.o_ld = f.v_panels * 16;
  f.k_head = ceil_div(a->lk, 16) * f.d_tiles * kGemmTileBytes;
  f.v_head = ceil_div(a->lk, kKeys) * (kKeys / kPer) * f.v_panels * kGemmTileBytes;
  f.v_at = f.k_head * a->b * a->hk;
  f.slots_at = f.v_at + f.v_head * a->b * a->hk;
  f.s_at = kRows / 16 * f.d_tiles * kGemmTileBytes;
  f.p_at = f.s_at + kRows * kKeys * 4;
  f.o_at = f.p_at + kRows / 16 * (kKeys / kPer) * kGemmTileBytes;
  f.m_at = f.o_at + kRows * f.o_ld * 4;
  f.l_at = f.m_at + kRows * 4;
  f.bias_at = f.l_at + kRows * 4;
  f.slot = f.bias_at + (a->has_bias ? kRows * kKeys * 4 : 0);
  return f;
}
size_t tt_attention_tile_bytes(const tt_attention_t* a, int threads) {
  const tile_t f = layout(a);
  return (size_t)(f.slots_at +
                  f.slot * TT_MIN((int64_t)TT_MAX(threads, 1), a->b * a->h * ceil_div(a->lq, kRows)));
}

static void pack_task(void* self, size_t slot, size_t task) {
  (void)slot;
  const run_t* r = self;
  const tt_attention_t* a = r->a;
  const tile_t* f = &r->f;
  const int64_t blocks = ceil_div(a->lk, kKeys), block = (int64_t)task % blocks,
                head = (int64_t)task / blocks;
  const int64_t b = head / a->hk, hk = head % a->hk, key = block * kKeys,
                n = TT_MIN((int64_t)kKeys, a->lk - key);
  char* k = a->scratch + f->k_head * head + key / 16 * f->d_tiles * kGemmTileBytes;
  char* v = a->scratch + f->v_at + f->v_head * head + block * (kKeys / kPer) * f->v_panels * kGemmTileBytes;
  for (int64_t j = 0; j < n; j += 16) {
    r->unit->pack_b(k + j / 16 * f->d_tiles * kGemmTileBytes, tt_attention_at(&a->k, b, hk, key + j),
                    a->k.stride[2] * 2, a->k.stride[3] * 2, TT_MIN(16, n - j), a->d);
  }
  for (int64_t j = 0; j < f->v_panels; ++j) {
    r->unit->pack_b(v + j * (kKeys / kPer) * kGemmTileBytes,
                    tt_attention_at(&a->v, b, hk, key) + j * 16 * a->v.stride[3] * 2, a->v.stride[3] * 2,
                    a->v.stride[2] * 2, TT_MIN(16, a->dv - j * 16), n);
  }
}

static void tile_task(void* self, size_t slot, size_t task) {
  const run_t* r = self;
  const tt_attention_t* a = r->a;
  const tile_t* f = &r->f;
  const int64_t heads = a->b * a->h, head = (int64_t)task % heads;
  const int64_t row = (ceil_div(a->lq, kRows) - 1 - (int64_t)task / heads) * kRows,
                rows = TT_MIN((int64_t)kRows, a->lq - row);
  const int64_t b = head / a->h, h = head % a->h, kv = b * a->hk + h / a->group,
                d_panel = f->d_tiles * kGemmTileBytes;
  const char *k = a->scratch + f->k_head * kv, *v = a->scratch + f->v_at + f->v_head * kv;
  char *own = a->scratch + f->slots_at + f->slot * (int64_t)slot, *p = own + f->p_at;
  float *s = (float*)(void*)(own + f->s_at), *o = (float*)(void*)(own + f->o_at),
        *m = (float*)(void*)(own + f->m_at);
  float *l = (float*)(void*)(own + f->l_at), *bias = (float*)(void*)(own + f->bias_at);
  for (int64_t i = 0; i < rows; i += 16) {
    r->unit->pack_a(own + i / 16 * d_panel, tt_attention_at(&a->q, b, h, row + i), a->q.stride[2] * 2,
                    a->q.stride[3] * 2, TT_MIN(16, rows - i), a->d);
  }
  const int panels = (int)ceil_div(rows, 16);
  const int64_t keys = a->causal ? TT_MIN(a->lk, row + rows) : a->lk;
  r->unit->begin();
  for (int64_t key = 0; key < keys; key += kKeys) {
    const int64_t n = TT_MIN((int64_t)kKeys, keys - key), tiles = ceil_div(n, kPer);
    r->unit->multiply(&(tt_gemm_tile_call_t){.rows = panels,
                                             .cols = (int)ceil_div(n, 16),
                                             .tiles = f->d_tiles,
                                             .a = own,
                                             .a_panel = d_panel,
                                             .b = k + key / 16 * d_panel,
                                             .b_panel = d_panel,
                                             .c = s,
                                             .ld = kKeys,
                                             .first = true,
                                             .dtype = TT_DTYPE_BF16});
    tt_attention_rows_t x = {.s = s,
                             .ld = kKeys,
                             .rows = rows,
                             .n = n,
                             .count = a->causal ? row + 1 - key : n,
                             .step = a->causal,
                             .scale = a->scale};
    if (a->has_bias) {
      x.bias = bias;
      x.bias_ld = tt_attention_bias(a, b, h, row, rows, key, n, bias, kKeys);
    }
    a->isa->softmax(&x, key == 0, m, l, o, f->o_ld, a->dv);
    r->unit->pack_f32(p, s, kKeys, rows, n, tiles);
    r->unit->multiply(
        &(tt_gemm_tile_call_t){.rows = panels,
                               .cols = (int)f->v_panels,
                               .tiles = tiles,
                               .a = p,
                               .a_panel = tiles * kGemmTileBytes,
                               .b = v + key / kKeys * (kKeys / kPer) * f->v_panels * kGemmTileBytes,
                               .b_panel = (kKeys / kPer) * kGemmTileBytes,
                               .c = o,
                               .ld = f->o_ld,
                               .first = key == 0,
                               .dtype = TT_DTYPE_BF16});
  }
  r->unit->end();
  for (int64_t i = 0; i < rows; ++i) {
    float *x = o + i * f->o_ld,
          *lse = (float*)(void*)(a->lse.data + (((b * a->h + h) * a->lq) + row + i) * 4);
    const bool none = l[i] == 0;  // a row with every key masked gives zeros
    if (none) memset(x, 0, (size_t)a->dv * 4);
    else a->isa->scale_row(x, x, 1.0f / l[i], a->dv);
    *lse = none ? -INFINITY : m[i] + logf(l[i]);
    tt_attention_store(&a->out, x, a->dv, tt_attention_at(&a->out, b, h, row + i));
  }
}
void tt_attention_tile(tt_pool_t* pool, tt_attention_t* a) {
  run_t r = {a, tt_gemm_tile_isa(TT_DTYPE_BF16), layout(a)};
  tt_gemm_tasks(pool, (size_t)(a->b * a->hk * ceil_div(a->lk, kKeys)), pack_task, &r);
  tt_gemm_tasks(pool, (size_t)(a->b * a->h * ceil_div(a->lq, kRows)), tile_task, &r);
}
