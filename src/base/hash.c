#include "base/hash.h"

#include <string.h>

uint64_t tt_hash_bytes(uint64_t seed, const void* data, size_t size) {
  const unsigned char* bytes = data;
  uint64_t hash = tt_hash_mix(seed, size);
  uint64_t word;
  size_t rest = size;
  for (; rest >= 8; rest -= 8, bytes += 8) {
    memcpy(&word, bytes, 8);
    hash = tt_hash_mix(hash, word);
  }
  if (rest) {
    word = 0;
    memcpy(&word, bytes, rest);
    hash = tt_hash_mix(hash, word);
  }
  return hash;
}
