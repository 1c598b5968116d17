// Products in tiles of 16 rows by 64 bytes of k; included by gemm_<isa>.c after
//   static void compute(const call_t* c), which multiplies packed tiles, TABLE, BYTES (bool), OWN_A (bool),
//   BEGIN(), END().
// A tile of A holds 16 rows of 64 bytes of k (32 bf16 or 64 bytes); one of B the same transposed by 4 bytes:
// [16 groups of k][16 columns][4 bytes]. Both are 1 KB, zero past the edges, in panels of 16 rows or columns
// that run over k.
//
// B is packed once for all tasks; tasks of half of the columns are neighbours, so that a thread uses what it
// has packed (P7 of the pool). A is packed with it or (OWN_A), where multiplying takes so long that this
// hardly counts, by each task: then threads exchange nothing. If A has at most 32 rows, B's elements are
// used once: a task packs A and its own columns of B in pieces that stay in L1 and L2.
#include <string.h>

#include "kernels/gemm_transpose_avx512.h"
#include "kernels/loops.h"

enum {
  kTile = 1024,
  kChunk = 16,
  kThin = 32,
  kThinColumns = 128,
  kTileRows = OWN_A ? 64 : 384,
  kTileColumns = OWN_A ? 512 : 384,
  kHalves = 256,  // OWN_A: columns from which there are two tiles, one for each of two threads
  kLongChunk = 32,
  kLongPanels = 4
};

typedef struct tile_plan_s {
  tt_gemm_t g;
  int64_t eb, per_tile;  // bytes an element; elements of k a tile
  int64_t batch, k_tiles, chunk, m_panels, n_panels, tm, tn, m_tiles,
      n_tiles;  // chunk: tiles of k a pass over C
  bool thin, one_chunk, serial;
  size_t shared_bytes, shared_a, a_bytes, b_bytes, slot_bytes;  // shared_a: where A starts among the shared
} tile_plan_t;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static void tile_plan(tile_plan_t* p, const tt_gemm_t* given) {
  memset(p, 0, sizeof *p);
  p->g = *given;
  tt_gemm_t* g = &p->g;
  if (g->n < g->m && g->n <= kThin) {
    tt_gemm_t t = *g;
    g->a = t.b, g->b = t.a, g->m = t.n, g->n = t.m;
    g->a_rs = t.b_cs, g->a_cs = t.b_rs, g->b_rs = t.a_cs, g->b_cs = t.a_rs, g->c_rs = t.c_cs,
    g->c_cs = t.c_rs;
    memcpy(g->a_batch, t.b_batch, sizeof t.b_batch);
    memcpy(g->b_batch, t.a_batch, sizeof t.a_batch);
  }
  p->eb = (int64_t)tt_dtype_bytes(g->dtype);
  p->per_tile = 64 / p->eb;
  p->batch = 1;
  for (uint32_t i = 0; i < g->batch_rank; ++i) p->batch *= g->batch[i];
  p->k_tiles = ceil_div(g->k, p->per_tile);
  p->m_panels = ceil_div(g->m, 16);
  p->n_panels = ceil_div(g->n, 16);
  p->thin = g->m <= kThin;
  const double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
  int64_t mt = ceil_div(g->m, kTileRows), nt = ceil_div(g->n, p->thin ? kThinColumns : kTileColumns);
  if (OWN_A && !p->thin && p->batch == 1 && g->n >= kHalves) nt = ceil_div(nt, 2) * 2;
  for (;;) {
    p->tm = ceil_div(ceil_div(g->m, mt), 32) * 32;
    p->tn = ceil_div(ceil_div(g->n, nt), 32) * 32;
    if (p->batch * mt * nt >= 8 || flops / (double)(mt * nt) < 1e8 || p->thin) break;
    if (p->tm > 64) mt *= 2;  // more rows of tiles cost nothing, more columns pack A again
    else if (p->tn > 64) nt *= 2;
    else break;
  }
  p->m_tiles = ceil_div(g->m, p->tm);
  p->n_tiles = ceil_div(g->n, p->tn);
  p->serial = flops * (double)p->batch < 4e6 && (double)p->batch * (double)(g->n * g->k * p->eb) < 262144;
  p->one_chunk = p->k_tiles <= kChunk;
  p->chunk = ceil_div(p->k_tiles, ceil_div(p->k_tiles, kChunk));
  p->shared_a = p->thin ? 0 : (size_t)(p->batch * p->n_panels * p->k_tiles) * kTile;
  p->shared_bytes = p->shared_a;
  if (!p->thin && !OWN_A) p->shared_bytes += (size_t)(p->batch * p->m_panels * p->k_tiles) * kTile;
  p->a_bytes = (size_t)(p->thin ? p->m_panels * p->k_tiles : OWN_A ? p->tm / 16 * p->chunk : 0) * kTile;
  p->b_bytes = p->thin ? (size_t)TT_MAX(p->tn / 16 * TT_MIN(p->k_tiles, kChunk),
                                        kLongPanels * TT_MIN(p->k_tiles, kLongChunk)) *
                             kTile
                       : 0;
  p->slot_bytes = p->a_bytes + p->b_bytes + (p->one_chunk ? 4 * kTile : (size_t)(p->tm * p->tn) * 4);
}
static size_t tile_scratch_bytes(const tt_gemm_t* g, int threads) {
  tile_plan_t p;
  tile_plan(&p, g);
  const size_t tasks = (size_t)(p.batch * p.m_tiles * p.n_tiles);
  return p.shared_bytes + p.slot_bytes * (p.serial ? 1 : TT_MIN((size_t)TT_MAX(threads, 1), tasks));
}

// ---- packing -------------------------------------------------------------------------------------
static inline __mmask64 first_bytes(int64_t n) { return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1; }
static inline __attribute__((always_inline)) void transpose_dwords(__m512i* r) {
  __m512 x[16];
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) x[i] = _mm512_castsi512_ps(r[i]);
  transpose_f32(x);
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) r[i] = _mm512_castps_si512(x[i]);
}
// `count` rows (step bytes apart) of `bytes` bytes of k
static inline __attribute__((always_inline)) void load_rows(__m512i* r, const char* s, int64_t step,
                                                            int64_t count, int64_t bytes) {
  if (TT_LIKELY(count == 16 && bytes >= 64)) {
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) {
      r[i] = _mm512_loadu_si512(s + i * step);
      _mm_prefetch(s + i * step + 512, _MM_HINT_T0);
    }
    return;
  }
  const __mmask64 mask = first_bytes(bytes);
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) r[i] =
      i < count ? _mm512_maskz_loadu_epi8(mask, s + i * step) : _mm512_setzero_si512();
}
// Columns adjacent, k `step` bytes apart: groups of k in the 4 bytes of a column. depth: elements of k.
static inline __attribute__((always_inline)) void load_pairs(__m512i* r, const char* s, int64_t step,
                                                             int64_t count, int64_t depth) {
  if (TT_LIKELY(count == 16 && depth >= 32)) {
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) {
      const __m512i low =
          _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(const void*)(s + 2 * i * step)));
      const __m512i high =
          _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(const void*)(s + (2 * i + 1) * step)));
      r[i] = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    }
    return;
  }
  const __mmask16 mask = (__mmask16)((1u << count) - 1);
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i low = 2 * i < depth ? _mm256_maskz_loadu_epi16(mask, s + 2 * i * step) : zero;
    const __m256i high = 2 * i + 1 < depth ? _mm256_maskz_loadu_epi16(mask, s + (2 * i + 1) * step) : zero;
    r[i] = _mm512_or_si512(_mm512_cvtepu16_epi32(low), _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
  }
}
static inline __attribute__((always_inline)) void load_quads(__m512i* r, const char* s, int64_t step,
                                                             int64_t count, int64_t depth) {
  const __mmask16 mask = (__mmask16)((1u << count) - 1);
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) {
    __m512i sum = _mm512_setzero_si512();
    _Pragma("GCC unroll 4") for (int x = 3; x >= 0; --x) {
      const __m128i v =
          4 * i + x < depth ? _mm_maskz_loadu_epi8(mask, s + (4 * i + x) * step) : _mm_setzero_si128();
      sum = _mm512_or_si512(_mm512_slli_epi32(sum, 8), _mm512_cvtepu8_epi32(v));
    }
    r[i] = sum;
  }
}
static inline void store_tile(char* d, const __m512i* r) {
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) _mm512_store_si512(d + 64 * i, r[i]);
}
// A panel of `count` rows (or columns) ws bytes apart, k ks bytes apart, over `depth` elements of k.
// `grouped`: B's form.
static inline __attribute__((always_inline)) void pack_panel(char* d, const char* s, int64_t ws, int64_t ks,
                                                             int64_t count, int64_t depth, const int64_t eb,
                                                             const bool grouped) {
  const int64_t per = 64 / eb;
  for (int64_t k = 0; k < depth; k += per, d += kTile) {
    const int64_t rest = TT_MIN(per, depth - k);
    const char* at = s + k * ks;
    __m512i r[16];
    if (ks == eb) {
      load_rows(r, at, ws, count, rest * eb);
      if (grouped) transpose_dwords(r);
    } else if (ws == eb) {
      if (eb == 2) load_pairs(r, at, ks, count, rest);
      else load_quads(r, at, ks, count, rest);
      if (!grouped) transpose_dwords(r);
    } else {
      char block[kTile] __attribute__((aligned(64)));
      memset(block, 0, sizeof block);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t x = 0; x < rest; ++x) memcpy(block + 64 * i + x * eb, at + i * ws + x * ks, (size_t)eb);
      }
      _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) r[i] = _mm512_load_si512(block + 64 * i);
      if (grouped) transpose_dwords(r);
    }
    store_tile(d, r);
  }
}
static __attribute__((noinline)) void pack_a2(char* d, const char* s, int64_t ws, int64_t ks, int64_t count,
                                              int64_t depth) {
  pack_panel(d, s, ws, ks, count, depth, 2, false);
}
static __attribute__((noinline)) void pack_b2(char* d, const char* s, int64_t ws, int64_t ks, int64_t count,
                                              int64_t depth) {
  pack_panel(d, s, ws, ks, count, depth, 2, true);
}
static __attribute__((noinline)) void pack_a1(char* d, const char* s, int64_t ws, int64_t ks, int64_t count,
                                              int64_t depth) {
  pack_panel(d, s, ws, ks, count, depth, 1, false);
}
static __attribute__((noinline)) void pack_b1(char* d, const char* s, int64_t ws, int64_t ks, int64_t count,
                                              int64_t depth) {
  pack_panel(d, s, ws, ks, count, depth, 1, true);
}

// ---- running -------------------------------------------------------------------------------------
typedef struct tile_run_s {
  tile_plan_t p;
  char* scratch;
} tile_run_t;
static void offsets(const tile_plan_t* p, int64_t index, int64_t* a, int64_t* b, int64_t* c) {
  const tt_gemm_t* g = &p->g;
  *a = *b = *c = 0;
  for (uint32_t i = g->batch_rank; i-- > 0;) {
    const int64_t x = index % g->batch[i];
    index /= g->batch[i];
    *a += x * g->a_batch[i];
    *b += x * g->b_batch[i];
    *c += x * g->c_batch[i];
  }
}
static int64_t pack_groups(const tile_plan_t* p) {
  return ceil_div(p->n_panels, 8) + (OWN_A ? 0 : ceil_div(p->m_panels, 8));
}
// Panels of B, then of A, eight a task. The panels of one chunk of k follow each other: what a task walks at a
// time then spreads over all sets of the L2.
static void pack_task(void* self, size_t slot, size_t task) {
  (void)slot;
  tile_run_t* r = self;
  const tile_plan_t* p = &r->p;
  const tt_gemm_t* g = &p->g;
  const int64_t b_groups = ceil_div(p->n_panels, 8), groups = pack_groups(p);
  const int64_t batch = (int64_t)task / groups;
  int64_t group = (int64_t)task % groups, a, b, c;
  offsets(p, batch, &a, &b, &c);
  const bool of_b = group < b_groups;
  if (!of_b) group -= b_groups;
  const int64_t panels = of_b ? p->n_panels : p->m_panels, count = of_b ? g->n : g->m;
  const int64_t ws = of_b ? g->b_cs : g->a_rs, ks = of_b ? g->b_rs : g->a_cs;
  const char* from = of_b ? (const char*)g->b + b * p->eb : (const char*)g->a + a * p->eb;
  char* to = r->scratch + (of_b ? 0 : p->shared_a) + (size_t)(batch * panels * p->k_tiles) * kTile;
  void (*pack)(char*, const char*, int64_t, int64_t, int64_t, int64_t) =
      of_b         ? (p->eb == 2 ? pack_b2 : pack_b1)
      : p->eb == 2 ? pack_a2
                   : pack_a1;
  // memory is read in long runs: over k, or, where columns are adjacent, a little of k for eight panels at a
  // time
  for (int64_t kt = 0; kt < p->k_tiles; kt += p->chunk) {
    const int64_t tiles = TT_MIN(p->chunk, p->k_tiles - kt), step = ks == 1 ? tiles : 2;
    for (int64_t t = 0; t < tiles; t += step) {
      const int64_t k = (kt + t) * p->per_tile, depth = TT_MIN(step, tiles - t) * p->per_tile;
      for (int64_t j = group * 8; j < TT_MIN(group * 8 + 8, panels); ++j) {
        pack(to + (kt * panels + j * tiles + t) * kTile, from + (j * 16 * ws + k * ks) * p->eb, ws * p->eb,
             ks * p->eb, TT_MIN(16, count - j * 16), TT_MIN(depth, g->k - k));
      }
    }
  }
}

static inline __m512 add_c(const tt_gemm_t* g, __m512 x, __m512 c) {
  if (g->c_dtype == TT_DTYPE_F32) return _mm512_add_ps(c, x);
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(c), _mm512_castps_si512(x)));
}
// rows x cols of f32 or s32, `stride` apart, to C
static void finish(const tt_gemm_t* g, const float* x, int64_t stride, int64_t rows, int64_t cols, char* c) {
  const int64_t cb = g->c_dtype == TT_DTYPE_BF16 ? 2 : 4;
  if (g->c_cs != 1) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        char* to = c + (i * g->c_rs + j * g->c_cs) * cb;
        if (cb == 4) {
          __m512 v = _mm512_maskz_loadu_ps(1, x + i * stride + j);
          if (g->accumulate) v = add_c(g, v, _mm512_maskz_loadu_ps(1, to));
          _mm512_mask_storeu_ps(to, 1, v);
        } else
          _mm256_mask_storeu_epi16(to, 1,
                                   (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(1, x + i * stride + j)));
      }
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i, x += stride, c += g->c_rs * cb) {
    for (int64_t j = 0; j < cols; j += 16) {
      const __mmask16 mask = cols - j >= 16 ? 0xffff : (__mmask16)((1u << (cols - j)) - 1);
      __m512 v = _mm512_loadu_ps(x + j);
      if (g->accumulate) v = add_c(g, v, _mm512_maskz_loadu_ps(mask, c + j * 4));
      if (cb == 2) _mm256_mask_storeu_epi16(c + j * 2, mask, (__m256i)_mm512_cvtneps_pbh(v));
      else _mm512_mask_storeu_ps(c + j * 4, mask, v);
    }
  }
}

enum { kEpiloguePanels = 8 };  // of 16 rows
typedef struct block_s {  // rows x cols of C against packed tiles, over one piece of k
  const char *a, *b;
  int64_t a_panel, b_panel, tiles, rows, cols;
  float* sums;  // of every block of tiles, one after the other; not `keep`: of one
  bool keep;
  char* c;
  bool first, last;
} block_t;
static void block_run(const tt_gemm_t* g, const block_t* x) {
  const int64_t m_panels = ceil_div(x->rows, 16), n_panels = ceil_div(x->cols, 16),
                cb = g->c_dtype == TT_DTYPE_BF16 ? 2 : 4;
  int64_t ended = 0;  // panels that the epilogue has been run on
  for (int64_t i = 0; i < m_panels;) {
    const int64_t high = m_panels - i >= 2 ? 2 : 1;
    for (int64_t j = 0; j < n_panels;) {
      const int64_t wide = TT_MIN(n_panels - j, high == 2 ? 2 : 4), ld = wide * 16;
      float* out = x->sums + (x->keep ? (i * n_panels + j * high) * 256 : 0);
      const call_t call = {.rows = (int)high,
                           .cols = (int)wide,
                           .tiles = x->tiles,
                           .a = x->a + i * x->a_panel,
                           .a_panel = x->a_panel,
                           .b = x->b + j * x->b_panel,
                           .b_panel = x->b_panel,
                           .c = out,
                           .ld = ld,
                           .first = x->first,
                           .dtype = g->dtype};
      compute(&call);
      if (x->last) {
        finish(g, out, ld, TT_MIN(high * 16, x->rows - i * 16), TT_MIN(wide * 16, x->cols - j * 16),
               x->c + (i * 16 * g->c_rs + j * 16 * g->c_cs) * cb);
      }
      j += wide;
    }
    i += high;
    if (x->last && g->epilogue && (i - ended >= kEpiloguePanels || i == m_panels)) {
      const int64_t row = ended * 16;
      g->epilogue->run(g->epilogue->self, (x->c - (const char*)g->c) / cb + row * g->c_rs,
                       TT_MIN(i * 16, x->rows) - row, g->c_rs, x->cols);
      ended = i;
    }
  }
}
static void tile_task(void* self, size_t slot_index, size_t task) {
  tile_run_t* r = self;
  const tile_plan_t* p = &r->p;
  const tt_gemm_t* g = &p->g;
  const int64_t tiles = p->m_tiles * p->n_tiles, batch = (int64_t)task / tiles;
  int64_t m0, n0;
  tt_gemm_tile_at((int64_t)task % tiles, p->m_tiles, p->n_tiles, &m0, &n0);
  m0 *= p->tm;
  n0 *= p->tn;
  const int64_t rows = TT_MIN(p->tm, g->m - m0), cols = TT_MIN(p->tn, g->n - n0),
                cb = g->c_dtype == TT_DTYPE_BF16 ? 2 : 4;
  char* slot = r->scratch + p->shared_bytes + slot_index * p->slot_bytes;
  char* buffer = slot + p->a_bytes + p->b_bytes;
  int64_t a, b, c;
  offsets(p, batch, &a, &b, &c);
  char* at_c = (char*)g->c + (c + m0 * g->c_rs + n0 * g->c_cs) * cb;
  BEGIN();
  if (!p->thin) {
    for (int64_t kt = 0; kt < p->k_tiles; kt += p->chunk) {
      const int64_t tiles = TT_MIN(p->chunk, p->k_tiles - kt), k = kt * p->per_tile;
      for (int64_t i = 0; OWN_A && i < rows; i += 16) {
        (p->eb == 2 ? pack_a2 : pack_a1)(slot + i / 16 * tiles * kTile,
                                         (const char*)g->a + (a + (m0 + i) * g->a_rs + k * g->a_cs) * p->eb,
                                         g->a_rs * p->eb, g->a_cs * p->eb, TT_MIN(16, rows - i),
                                         TT_MIN(tiles * p->per_tile, g->k - k));
      }
      const block_t x = {
          .a = OWN_A ? slot
                     : r->scratch + p->shared_a +
                           ((batch * p->k_tiles + kt) * p->m_panels + m0 / 16 * tiles) * kTile,
          .b = r->scratch + ((batch * p->k_tiles + kt) * p->n_panels + n0 / 16 * tiles) * kTile,
          .a_panel = tiles * kTile,
          .b_panel = tiles * kTile,
          .tiles = tiles,
          .rows = rows,
          .cols = cols,
          .keep = !p->one_chunk,
          .sums = (float*)(void*)buffer,
          .c = at_c,
          .first = kt == 0,
          .last = kt + p->chunk >= p->k_tiles};
      block_run(g, &x);
    }
    END();
    return;
  }
  for (int64_t i = 0; i < p->m_panels; ++i) {
    (p->eb == 2 ? pack_a2 : pack_a1)(slot + i * p->k_tiles * kTile,
                                     (const char*)g->a + (a + i * 16 * g->a_rs) * p->eb, g->a_rs * p->eb,
                                     g->a_cs * p->eb, TT_MIN(16, rows - i * 16), g->k);
  }
  // columns that run over k: few of them, far along k; adjacent columns: all of them, a chunk of k
  const bool along = g->b_rs == 1;
  const int64_t width = along ? kLongPanels * 16 : cols, chunk = along ? kLongChunk : kChunk;
  for (int64_t n = 0; n < cols; n += width) {
    const int64_t part = TT_MIN(width, cols - n);
    for (int64_t kt = 0; kt < p->k_tiles; kt += chunk) {
      const int64_t tiles = TT_MIN(chunk, p->k_tiles - kt), k = kt * p->per_tile,
                    depth = TT_MIN(tiles * p->per_tile, g->k - k);
      const int64_t step = along ? depth : 2 * p->per_tile;
      char* pb = slot + p->a_bytes;
      for (int64_t x = 0; x < depth; x += step) {
        for (int64_t j = 0; j < part; j += 16) {
          (p->eb == 2 ? pack_b2 : pack_b1)(
              pb + (j / 16 * tiles + x / p->per_tile) * kTile,
              (const char*)g->b + (b + (n0 + n + j) * g->b_cs + (k + x) * g->b_rs) * p->eb, g->b_cs * p->eb,
              g->b_rs * p->eb, TT_MIN(16, part - j), TT_MIN(step, depth - x));
        }
      }
      const block_t x = {.a = slot + kt * kTile,
                         .b = pb,
                         .a_panel = p->k_tiles * kTile,
                         .b_panel = tiles * kTile,
                         .tiles = tiles,
                         .rows = rows,
                         .cols = part,
                         .keep = !p->one_chunk,
                         .sums = (float*)(void*)buffer + (p->one_chunk ? 0 : n * p->m_panels * 16),
                         .c = at_c + n * g->c_cs * cb,
                         .first = kt == 0,
                         .last = kt + chunk >= p->k_tiles};
      block_run(g, &x);
    }
  }
  END();
}
static void tile_run(tt_pool_t* pool, const tt_gemm_t* g, void* scratch) {
  tile_run_t r = {.scratch = scratch};
  tile_plan(&r.p, g);
  tt_gemm_t* own = &r.p.g;
  if (own->epilogue && own->c_cs == 1) own->epilogue->taken = true;
  else own->epilogue = NULL;
  if (r.p.serial) pool = NULL;
  if (!r.p.thin)
    tt_gemm_tasks(pool, (size_t)(r.p.batch * pack_groups(&r.p)), pack_task, &r);
  tt_gemm_tasks(pool, (size_t)(r.p.batch * r.p.m_tiles * r.p.n_tiles), tile_task, &r);
}

// ---- for other kernels ---------------------------------------------------------------------------
static void unit_begin(void) { BEGIN(); }
static void unit_end(void) { END(); }
static void unit_multiply(const tt_gemm_tile_call_t* x) {
  for (int i = 0; i < x->rows;) {
    const int high = x->rows - i >= 2 ? 2 : 1;
    for (int j = 0; j < x->cols;) {
      const int wide = TT_MIN(x->cols - j, high == 2 ? 2 : 4);
      call_t call = *x;
      call.rows = high;
      call.cols = wide;
      call.a += i * x->a_panel;
      call.b += j * x->b_panel;
      call.c += i * 16 * x->ld + j * 16;
      compute(&call);
      j += wide;
    }
    i += high;
  }
}
static void unit_pack_f32(char* out, const float* x, int64_t ld, int64_t rows, int64_t cols, int64_t tiles) {
  for (int64_t i = 0; i < rows; ++i, x += ld) {
    char* to = out + i / 16 * tiles * kTile + i % 16 * 64;
    for (int64_t k = 0; k < cols; k += 16) {
      const __m512 v =
          _mm512_maskz_loadu_ps(cols - k >= 16 ? 0xffff : (__mmask16)((1u << (cols - k)) - 1), x + k);
      _mm256_store_si256((__m256i*)(void*)(to + k / 32 * kTile + k % 32 * 2), (__m256i)_mm512_cvtneps_pbh(v));
    }
    if ((cols + 15) / 16 % 2)
      _mm256_store_si256((__m256i*)(void*)(to + cols / 32 * kTile + 32), _mm256_setzero_si256());
  }
}

const tt_gemm_tile_isa_t TABLE = {BYTES,        tile_scratch_bytes, tile_run, unit_begin,
                                  unit_end,     unit_multiply,      pack_a2,  pack_b2,
                                  unit_pack_f32};
