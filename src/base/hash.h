// 64-bit hashing for in-memory keys (not for durable or hostile keys).
// The mixing step is the 128-bit multiply-and-fold of wyhash (public domain, Wang Yi, 2019).
#ifndef TT_BASE_HASH_H_
#define TT_BASE_HASH_H_

#include "base/base.h"

static inline uint64_t tt_hash_mix(uint64_t a, uint64_t b) {
  __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xe7037ed1a0b428dbull);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
static inline uint64_t tt_hash_u64(uint64_t seed, uint64_t value) { return tt_hash_mix(seed, value); }
uint64_t tt_hash_bytes(uint64_t seed, const void* data, size_t size);

#endif  // TT_BASE_HASH_H_
