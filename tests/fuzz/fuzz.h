// Fuzz targets: each is one function that takes hostile bytes and ends the process on a broken promise.
// libFuzzer drives them (`make fuzz`), replay.c runs the kept inputs in every build.
#ifndef TT_TESTS_FUZZ_FUZZ_H_
#define TT_TESTS_FUZZ_FUZZ_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Sanitizers and libFuzzer see an abort as a find. Tests alone may end the process.
#define FUZZ_REQUIRE(condition, ...)                                \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__);                                 \
      fputc('\n', stderr);                                          \
      abort();                                                      \
    }                                                               \
  } while (0)

#endif  // TT_TESTS_FUZZ_FUZZ_H_
