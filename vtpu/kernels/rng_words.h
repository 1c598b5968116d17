// Counter-based random words of each ISA. All variants give the same bits.
#ifndef TT_VTPU_KERNELS_RNG_WORDS_H_
#define TT_VTPU_KERNELS_RNG_WORDS_H_

#include "kernels/kernel.h"

// Words of `blocks` consecutive Philox4x32-10 counters, 4 a block, in order. The 128-bit counter is
// {low, high} (high: the upper 64 bits) and carries.
void tt_k_philox_words(uint32_t* out, uint64_t key, uint64_t low, uint64_t high, size_t blocks);
// x0[i], x1[i] = Threefry2x32-20 of counter + i under `key`.
void tt_k_threefry_words(uint32_t* x0, uint32_t* x1, uint64_t key, uint64_t counter, size_t n);
// ((word >> 8) + add) 2^-24, and ((pair >> 11) + add) 2^-53 of little-endian word pairs.
void tt_k_unit_f32(float* out, const uint32_t* words, uint32_t add, size_t n);
void tt_k_unit_f64(double* out, const uint32_t* words, uint64_t add, size_t n);

#define TT_K_RNG_DECLARE(isa)                                                                          \
  void tt_k_philox_words__##isa(uint32_t* out, uint64_t key, uint64_t low, uint64_t high, size_t blocks); \
  void tt_k_threefry_words__##isa(uint32_t* x0, uint32_t* x1, uint64_t key, uint64_t counter, size_t n); \
  void tt_k_unit_f32__##isa(float* out, const uint32_t* words, uint32_t add, size_t n);                \
  void tt_k_unit_f64__##isa(double* out, const uint32_t* words, uint64_t add, size_t n);
TT_K_RNG_DECLARE(generic) TT_K_RNG_DECLARE(avx2) TT_K_RNG_DECLARE(avx512)

#endif  // TT_VTPU_KERNELS_RNG_WORDS_H_
