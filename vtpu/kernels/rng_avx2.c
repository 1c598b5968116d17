#define TT_ISA avx2
#include <immintrin.h>

enum { kPhiloxBlocks = 8 };
#define TT_PHILOX_VECTOR philox_vector

static inline void philox_vector(unsigned* out, unsigned long long key, unsigned long long low, unsigned long long high);
#include "kernels/rng_impl.h"

// Two vectors of 4 counters; a lane's 32-bit word stands in the low half of 64 bits. The upper half may hold
// anything: mul_epu32 reads the low half only.
static inline void philox_vector(unsigned* out, unsigned long long key, unsigned long long low, unsigned long long high) {
  const __m256i m0 = _mm256_set1_epi64x(kPhiloxM0), m1 = _mm256_set1_epi64x(kPhiloxM1);
  const __m256i mask = _mm256_set1_epi64x(0xffffffff);
  __m256i c0[2], c1[2], c2[2], c3[2];
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int v = 0; v < 2; ++v) {
    __m256i n = _mm256_add_epi64(_mm256_set1_epi64x((long long)(low + 4u * (unsigned)v)), _mm256_setr_epi64x(0, 1, 2, 3));
    c0[v] = n;
    c1[v] = _mm256_srli_epi64(n, 32);
    c2[v] = _mm256_set1_epi64x((long long)high);
    c3[v] = _mm256_set1_epi64x((long long)(high >> 32));
  }
  for (int round = 0; round < 10; ++round) {
    const __m256i kv0 = _mm256_set1_epi64x(k0), kv1 = _mm256_set1_epi64x(k1);
    for (int v = 0; v < 2; ++v) {
      __m256i p0 = _mm256_mul_epu32(c0[v], m0), p1 = _mm256_mul_epu32(c2[v], m1);
      c0[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[v]), kv0);
      c2[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[v]), kv1);
      c1[v] = p1;
      c3[v] = p0;
    }
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  for (int v = 0; v < 2; ++v) {
    __m256i a = _mm256_or_si256(_mm256_and_si256(c0[v], mask), _mm256_slli_epi64(c1[v], 32));
    __m256i b = _mm256_or_si256(_mm256_and_si256(c2[v], mask), _mm256_slli_epi64(c3[v], 32));
    __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
    _mm256_storeu_si256((__m256i*)(void*)(out + 16 * v), _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i*)(void*)(out + 16 * v + 8), _mm256_permute2x128_si256(even, odd, 0x31));
  }
}
