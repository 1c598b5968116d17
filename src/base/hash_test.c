#include "base/hash.h"

#include "base/test.h"

static int compare(const void* a, const void* b) {
  uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return x < y ? -1 : x > y;
}

// A bit flipped anywhere, a byte more, another seed: another hash, and about half of its bits.
TT_TEST(hash, every_bit_counts) {
  unsigned char data[40];
  for (int i = 0; i < 40; ++i) data[i] = (unsigned char)(i * 37);
  for (size_t size = 1; size <= sizeof(data); ++size) {
    uint64_t base = tt_hash_bytes(1, data, size);
    TT_EXPECT(base != tt_hash_bytes(2, data, size));
    TT_EXPECT(base != tt_hash_bytes(1, data, size - 1));
    TT_EXPECT_EQ(base, tt_hash_bytes(1, data, size));
    int flipped = 0;
    for (size_t bit = 0; bit < size * 8; ++bit) {
      data[bit / 8] ^= (unsigned char)(1u << bit % 8);
      uint64_t other = tt_hash_bytes(1, data, size);
      data[bit / 8] ^= (unsigned char)(1u << bit % 8);
      TT_EXPECT(other != base);
      flipped += __builtin_popcountll(other ^ base);
    }
    TT_EXPECT_NEAR(flipped / (double)(size * 8), 32, 8);
  }
}

TT_TEST(hash, small_integers_do_not_collide) {
  enum { COUNT = 1 << 16 };
  static uint64_t hashes[COUNT];
  for (uint64_t i = 0; i < COUNT; ++i) hashes[i] = tt_hash_u64(tt_hash_u64(0, i & 0xff), i >> 8);
  qsort(hashes, COUNT, sizeof(hashes[0]), compare);
  for (int i = 1; i < COUNT; ++i) TT_EXPECT(hashes[i] != hashes[i - 1]);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
