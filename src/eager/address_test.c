#include "eager/address.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/test.h"

static tt_storage_t* fake(uintptr_t n) { return (tt_storage_t*)n; }

TT_TEST(address, slots_are_disjoint_and_found_a1) {
  tt_address_range_t range;
  TT_EXPECT_OK(tt_address_range_initialize(&range, (size_t)1 << 40));
  static const size_t sizes[] = {0, 1, 512, 513, 4096, 100000, 1 << 20, (size_t)100 << 20, (size_t)3 << 30};
  void* addresses[TT_ARRAY_LENGTH(sizes) * 3];
  size_t count = 0;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < TT_ARRAY_LENGTH(sizes); ++i, ++count) {
      TT_EXPECT_OK(tt_address_allocate(&range, sizes[i], fake(count + 1), &addresses[count]));
      TT_EXPECT_EQ((uintptr_t)addresses[count] % 512, 0);
    }
  }
  for (size_t k = 0; k < count; ++k) {
    size_t bytes = sizes[k % TT_ARRAY_LENGTH(sizes)];
    char* begin = addresses[k];
    TT_EXPECT(tt_address_owner(&range, begin) == fake(k + 1));
    if (bytes) TT_EXPECT(tt_address_owner(&range, begin + bytes - 1) == fake(k + 1));
    if (bytes) TT_EXPECT(tt_address_owner(&range, begin + bytes / 2) == fake(k + 1));
  }
  TT_EXPECT(!tt_address_owner(&range, &range));
  tt_address_range_deinitialize(&range);
}

TT_TEST(address, large_ranges_come_back) {
  tt_address_range_t range;
  TT_EXPECT_OK(tt_address_range_initialize(&range, (size_t)1 << 32));
  for (int i = 0; i < 100; ++i) {   // 3 GB of 4 GB each time
    void* address = NULL;
    TT_EXPECT_OK(tt_address_allocate(&range, (size_t)3 << 30, fake(1), &address));
    TT_EXPECT(tt_address_owner(&range, (char*)address + ((size_t)2 << 30)) == fake(1));
    tt_address_free_large(&range, address);
    TT_EXPECT(!tt_address_owner(&range, address));
  }
  void* address = NULL;
  TT_EXPECT_ERROR(tt_address_allocate(&range, (size_t)5 << 30, fake(1), &address), TT_RESOURCE_EXHAUSTED,
                  "reservation of");
  tt_address_range_deinitialize(&range);
}

TT_TEST(address, shrinks_under_a_limit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  TT_SKIP("a sanitizer's shadow memory does not fit under the limit");
#endif
  struct rlimit before, small = {.rlim_cur = (rlim_t)4 << 30, .rlim_max = RLIM_INFINITY};
  TT_EXPECT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  small.rlim_max = before.rlim_max;
  if (setrlimit(RLIMIT_AS, &small) != 0) TT_SKIP("setrlimit is refused");
  tt_address_range_t range;
  tt_status_t status = tt_address_range_initialize(&range, (size_t)1 << 40);
  setrlimit(RLIMIT_AS, &before);
  TT_EXPECT_OK(status);
  TT_EXPECT(range.bytes < (size_t)4 << 30);
  void* address = NULL;
  TT_EXPECT_OK(tt_address_allocate(&range, 4096, fake(1), &address));
  tt_address_range_deinitialize(&range);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
