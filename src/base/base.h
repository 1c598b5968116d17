// Ownership words, sizes and macros that every layer uses.
//
// Ownership (deviations stand at the parameter):
//   - create / copy / allocate return something the caller owns;
//   - accessors lend: the result lives as long as the object asked;
//   - a callee retains what it keeps; release and free accept NULL.
// Verb pairs: create/retain/release, initialize/deinitialize, allocate/free, begin/end.
#ifndef TT_BASE_BASE_H_
#define TT_BASE_BASE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TT_MUST_USE __attribute__((warn_unused_result))
#define TT_PRINTF(fmt_index, args_index) __attribute__((format(printf, fmt_index, args_index)))
#define TT_LIKELY(x) __builtin_expect(!!(x), 1)
#define TT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TT_EXPORT __attribute__((visibility("default")))
#define TT_ALIGNED(n) __attribute__((aligned(n)))
#else
#define TT_MUST_USE
#define TT_PRINTF(fmt_index, args_index)
#define TT_LIKELY(x) (x)
#define TT_UNLIKELY(x) (x)
#define TT_EXPORT
#define TT_ALIGNED(n)
#endif

#define TT_ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define TT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TT_MAX(a, b) ((a) > (b) ? (a) : (b))

// Largest tensor rank anywhere in the project. A larger one is refused with an error that names it.
#define TT_MAX_RANK 16

// Checked size arithmetic: false on overflow, *out untouched then.
static inline bool tt_checked_add(size_t a, size_t b, size_t* out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool tt_checked_mul(size_t a, size_t b, size_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool tt_checked_mul_i64(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}
// Product of `rank` non-negative extents; false on overflow of int64.
static inline bool tt_checked_product(const int64_t* dims, size_t rank, int64_t* out) {
  int64_t product = 1;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == 0) { *out = 0; return true; }
  }
  for (size_t i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(product, dims[i], &product)) return false;
  }
  *out = product;
  return true;
}
static inline size_t tt_align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// A borrowed character range, not NUL-terminated.
typedef struct tt_string_view_s {
  const char* data;
  size_t size;
} tt_string_view_t;

#endif  // TT_BASE_BASE_H_
