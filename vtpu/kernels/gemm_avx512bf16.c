// vdpbf16ps on the tiles' layout: 16 rows by one vector of sums.
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm_tile.h"

typedef tt_gemm_tile_call_t call_t;  // here 1 x 1..4 or 2 x 1..2 panels
#define BEGIN() (void)0
#define END() (void)0

static void one_tile(int64_t tiles, const char* a, const char* b, float* c, int64_t ld, bool first) {
  __m512 sum[16];
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) sum[i] =
      first ? _mm512_setzero_ps() : _mm512_loadu_ps(c + i * ld);
  for (int64_t k = 0; k < tiles; ++k, a += 1024) {
    for (int64_t x = 0; x < 16; ++x, b += 64) {
      const __m512bh y = (__m512bh)_mm512_load_si512(b);
      _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) {
        int32_t pair;
        memcpy(&pair, a + i * 64 + x * 4, 4);
        sum[i] = _mm512_dpbf16_ps(sum[i], (__m512bh)_mm512_set1_epi32(pair), y);
      }
    }
  }
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) _mm512_storeu_ps(c + i * ld, sum[i]);
}
static void compute(const call_t* c) {
  for (int i = 0; i < c->rows; ++i) {
    for (int j = 0; j < c->cols; ++j) {
      one_tile(c->tiles, c->a + i * c->a_panel, c->b + j * c->b_panel, c->c + i * 16 * c->ld + j * 16, c->ld,
               c->first);
    }
  }
}

#define OWN_A true
#define BYTES false
#define TABLE tt_gemm_tile__avx512bf16
#include "kernels/gemm_tile_impl.h"
