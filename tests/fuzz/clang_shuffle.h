// For fuzz builds: the one extension of GCC that the kernels use and clang lacks, lane by lane.
#ifndef TT_TESTS_FUZZ_CLANG_SHUFFLE_H_
#define TT_TESTS_FUZZ_CLANG_SHUFFLE_H_

#define __builtin_shuffle(x, y, ...)                                                                  \
  ({                                                                                                  \
    __typeof__((x) + (x)) a_ = (x), b_ = (y), r_;                                                             \
    __typeof__(__VA_ARGS__) mask_ = __VA_ARGS__;                                                      \
    int lanes_ = (int)(sizeof(a_) / sizeof(a_[0]));                                                   \
    for (int k_ = 0; k_ < lanes_; ++k_) {                                                             \
      int from_ = (int)mask_[k_] & (2 * lanes_ - 1);                                                  \
      r_[k_] = from_ < lanes_ ? a_[from_] : b_[from_ - lanes_];                                       \
    }                                                                                                 \
    r_;                                                                                               \
  })

#endif  // TT_TESTS_FUZZ_CLANG_SHUFFLE_H_
