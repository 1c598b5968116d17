// Transposes in registers, 16 x 16 of 32 bits and 8 x 8 of 64.
#ifndef TT_VTPU_KERNELS_GEMM_TRANSPOSE_AVX512_H_
#define TT_VTPU_KERNELS_GEMM_TRANSPOSE_AVX512_H_

#include <immintrin.h>
#include <stdint.h>

typedef float f32x16_t __attribute__((vector_size(64)));
typedef int32_t s32x16_t __attribute__((vector_size(64)));
typedef double f64x8_t __attribute__((vector_size(64)));
typedef int64_t s64x8_t __attribute__((vector_size(64)));

// Exchanges the off-diagonal blocks of `s` lanes of all pairs of rows that are s apart.
#define SWAP16(r, s, lo, hi)                                         \
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) {            \
    if (i & (s)) continue;                                           \
    const f32x16_t x = (f32x16_t)(r)[i], y = (f32x16_t)(r)[i + (s)]; \
    (r)[i] = (__m512)__builtin_shuffle(x, y, lo);                    \
    (r)[i + (s)] = (__m512)__builtin_shuffle(x, y, hi);              \
  }
static inline __attribute__((always_inline)) void transpose_f32(__m512* r) {
  const s32x16_t l8 = {0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};
  const s32x16_t h8 = {8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31};
  const s32x16_t l4 = {0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27};
  const s32x16_t h4 = {4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31};
  const s32x16_t l2 = {0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29};
  const s32x16_t h2 = {2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31};
  const s32x16_t l1 = {0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30};
  const s32x16_t h1 = {1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31};
  SWAP16(r, 8, l8, h8)
  SWAP16(r, 4, l4, h4)
  SWAP16(r, 2, l2, h2)
  SWAP16(r, 1, l1, h1)
}
// r[k] = the k-th 32 bits of 16 rows of 32 bytes, `step` bytes apart. The exchange of halves is done by loads, which
// leave the one port for shuffles free.
static inline __attribute__((always_inline)) void load_transposed(__m512* r, const void* at, int64_t step) {
  const s32x16_t low = {0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27};
  const s32x16_t high = {4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31};
  // Four bases, or GCC keeps 16 addresses in vector registers and moves each to a general one.
  const char *rows[4] = {at, rows[0] + 4 * step, rows[0] + 8 * step, rows[0] + 12 * step};
  __asm__("" : "+r"(rows[0]), "+r"(rows[1]), "+r"(rows[2]), "+r"(rows[3]));
#define ROW(i) _mm256_loadu_ps((const float*)(const void*)(rows[(i) / 4] + (i) % 4 * step))
  __m512 t[8];
  _Pragma("GCC unroll 8") for (int i = 0; i < 8; ++i) r[i] =
      _mm512_insertf32x8(_mm512_castps256_ps512(ROW(i)), ROW(i + 8), 1);
#undef ROW
  _Pragma("GCC unroll 4") for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  _Pragma("GCC unroll 2") for (int i = 0; i < 8; i += 4) {
    r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; ++i) {
    const f32x16_t x = (f32x16_t)r[i], y = (f32x16_t)r[i + 4];
    r[i] = (__m512)__builtin_shuffle(x, y, low);
    r[i + 4] = (__m512)__builtin_shuffle(x, y, high);
  }
}
#define SWAP8(r, s, lo, hi)                                       \
  _Pragma("GCC unroll 8") for (int i = 0; i < 8; ++i) {           \
    if (i & (s)) continue;                                        \
    const f64x8_t x = (f64x8_t)(r)[i], y = (f64x8_t)(r)[i + (s)]; \
    (r)[i] = (__m512d)__builtin_shuffle(x, y, lo);                \
    (r)[i + (s)] = (__m512d)__builtin_shuffle(x, y, hi);          \
  }
static inline __attribute__((always_inline)) void transpose_f64(__m512d* r) {
  const s64x8_t l4 = {0, 1, 2, 3, 8, 9, 10, 11}, h4 = {4, 5, 6, 7, 12, 13, 14, 15};
  const s64x8_t l2 = {0, 1, 8, 9, 4, 5, 12, 13}, h2 = {2, 3, 10, 11, 6, 7, 14, 15};
  const s64x8_t l1 = {0, 8, 2, 10, 4, 12, 6, 14}, h1 = {1, 9, 3, 11, 5, 13, 7, 15};
  SWAP8(r, 4, l4, h4)
  SWAP8(r, 2, l2, h2)
  SWAP8(r, 1, l1, h1)
}

#endif  // TT_VTPU_KERNELS_GEMM_TRANSPOSE_AVX512_H_
