#define TT_ISA avx2
#define TT_STREAM_LINE(to, from)                                                              \
  do {                                                                                        \
    __m256i low = _mm256_loadu_si256((const __m256i*)(const void*)(from));                    \
    __m256i high = _mm256_loadu_si256((const __m256i*)(const void*)((from) + 32));            \
    _mm256_stream_si256((__m256i*)(void*)(to), low);                                          \
    _mm256_stream_si256((__m256i*)(void*)((to) + 32), high);                                  \
  } while (0)
#include "kernels/stream_impl.h"
