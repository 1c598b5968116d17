#define TT_ISA avx512
#include <immintrin.h>

enum { kPhiloxBlocks = 16 };
#define TT_PHILOX_VECTOR philox_vector

static inline void philox_vector(unsigned* out, unsigned long long key, unsigned long long low, unsigned long long high);
#include "kernels/rng_impl.h"

// As in rng_avx2.c, with two vectors of 8 counters.
static inline void philox_vector(unsigned* out, unsigned long long key, unsigned long long low, unsigned long long high) {
  const __m512i m0 = _mm512_set1_epi64(kPhiloxM0), m1 = _mm512_set1_epi64(kPhiloxM1);
  const __m512i mask = _mm512_set1_epi64(0xffffffff);
  __m512i c0[2], c1[2], c2[2], c3[2];
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int v = 0; v < 2; ++v) {
    __m512i n = _mm512_add_epi64(_mm512_set1_epi64((long long)(low + 8u * (unsigned)v)), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    c0[v] = n;
    c1[v] = _mm512_srli_epi64(n, 32);
    c2[v] = _mm512_set1_epi64((long long)high);
    c3[v] = _mm512_set1_epi64((long long)(high >> 32));
  }
  for (int round = 0; round < 10; ++round) {
    const __m512i kv0 = _mm512_set1_epi64(k0), kv1 = _mm512_set1_epi64(k1);
    for (int v = 0; v < 2; ++v) {
      __m512i p0 = _mm512_mul_epu32(c0[v], m0), p1 = _mm512_mul_epu32(c2[v], m1);
      c0[v] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1[v], kv0, 0x96);
      c2[v] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3[v], kv1, 0x96);
      c1[v] = p1;
      c3[v] = p0;
    }
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  for (int v = 0; v < 2; ++v) {
    __m512i a = _mm512_or_si512(_mm512_and_si512(c0[v], mask), _mm512_slli_epi64(c1[v], 32));
    __m512i b = _mm512_or_si512(_mm512_and_si512(c2[v], mask), _mm512_slli_epi64(c3[v], 32));
    _mm512_storeu_si512(out + 32 * v, _mm512_permutex2var_epi64(a, first, b));
    _mm512_storeu_si512(out + 32 * v + 16, _mm512_permutex2var_epi64(a, second, b));
  }
}
