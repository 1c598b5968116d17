// Philox4x32-10 and Threefry2x32-20 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3") of one ISA.
// Included by rng_<isa>.c, which defines TT_ISA and optionally TT_PHILOX_VECTOR(out, key, low, high), a block of
// kPhiloxBlocks counters that do not carry out of `low`.
#include "kernels/rng_words.h"

#define TT_K2_(name, isa) name##__##isa
#define TT_K1_(name, isa) TT_K2_(name, isa)
#define TT_K(name) TT_K1_(name, TT_ISA)

#define kPhiloxM0 0xD2511F53u
#define kPhiloxM1 0xCD9E8D57u
#define kPhiloxW0 0x9E3779B9u
#define kPhiloxW1 0xBB67AE85u

static inline void TT_K(philox_one)(uint32_t* out, uint64_t key, uint64_t low, uint64_t high) {
  uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32), c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = (uint64_t)kPhiloxM0 * c0, p1 = (uint64_t)kPhiloxM1 * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

void TT_K(tt_k_philox_words)(uint32_t* out, uint64_t key, uint64_t low, uint64_t high, size_t blocks) {
  size_t i = 0;
#ifdef TT_PHILOX_VECTOR
  while (i + kPhiloxBlocks <= blocks) {
    if (low > UINT64_MAX - kPhiloxBlocks) break;   // a carry ahead: one by one
    TT_PHILOX_VECTOR(out + 4 * i, key, low, high);
    low += kPhiloxBlocks;
    i += kPhiloxBlocks;
  }
#endif
  for (; i < blocks; ++i) {
    TT_K(philox_one)(out + 4 * i, key, low, high);
    high += ++low == 0;
  }
}

void TT_K(tt_k_threefry_words)(uint32_t* x0, uint32_t* x1, uint64_t key, uint64_t counter, size_t n) {
  const uint32_t ks0 = (uint32_t)key, ks1 = (uint32_t)(key >> 32), ks2 = ks0 ^ ks1 ^ 0x1BD11BDAu;
#define TT_TF_ROUND(r) a += b; b = b << r | b >> (32 - r); b ^= a;
#define TT_TF_FOUR(r0, r1, r2, r3, s0, s1, step) TT_TF_ROUND(r0) TT_TF_ROUND(r1) TT_TF_ROUND(r2) TT_TF_ROUND(r3) a += s0; b += s1 + step;
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    uint64_t c = counter + i;
    uint32_t a = (uint32_t)c + ks0, b = (uint32_t)(c >> 32) + ks1;
    TT_TF_FOUR(13, 15, 26, 6, ks1, ks2, 1u)
    TT_TF_FOUR(17, 29, 16, 24, ks2, ks0, 2u)
    TT_TF_FOUR(13, 15, 26, 6, ks0, ks1, 3u)
    TT_TF_FOUR(17, 29, 16, 24, ks1, ks2, 4u)
    TT_TF_FOUR(13, 15, 26, 6, ks2, ks0, 5u)
    x0[i] = a;
    x1[i] = b;
  }
}

void TT_K(tt_k_unit_f32)(float* out, const uint32_t* words, uint32_t add, size_t n) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) out[i] = (float)(int32_t)((words[i] >> 8) + add) * 0x1p-24f;
}
void TT_K(tt_k_unit_f64)(double* out, const uint32_t* words, uint64_t add, size_t n) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; ++i) {
    uint64_t pair = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];
    out[i] = (double)(int64_t)((pair >> 11) + add) * 0x1p-53;
  }
}
