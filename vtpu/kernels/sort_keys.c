#include "kernels/sort.h"

tt_k_key_width_t tt_k_key_width(tt_dtype_t dtype) {
  switch (tt_dtype_class(dtype)) {
    case TT_DTYPE_CLASS_B: case TT_DTYPE_CLASS_I: case TT_DTYPE_CLASS_U: case TT_DTYPE_CLASS_F:
      return tt_dtype_bytes(dtype) == 8 ? TT_K_KEY_64 : TT_K_KEY_32;
    default: return TT_K_KEY_NONE;
  }
}

static inline uint32_t float_key32(uint32_t bits, uint32_t infinity, uint32_t sign, bool canonical) {
  if (canonical) {
    uint32_t magnitude = bits & (sign - 1);
    if (magnitude > infinity) return sign | (sign - 1);   // NaN: the largest
    if (magnitude == 0) bits = 0;
  }
  return bits & sign ? ~bits & (sign | (sign - 1)) : bits | sign;
}
static inline uint64_t float_key64(uint64_t bits, bool canonical) {
  const uint64_t sign = 1ull << 63;
  if (canonical) {
    uint64_t magnitude = bits & ~sign;
    if (magnitude > 0x7ff0000000000000ull) return ~0ull;
    if (magnitude == 0) bits = 0;
  }
  return bits & sign ? ~bits : bits | sign;
}

void tt_k_keys(tt_dtype_t dtype, bool canonical, bool descending, const void* x, int64_t stride, int64_t n, void* out) {
#define KEYS32(T, EXPRESSION)                                                              \
  do {                                                                                     \
    const T* in = (const T*)x;                                                             \
    uint64_t* keys = out;                                                                  \
    uint32_t flip = descending ? ~0u : 0;                                                  \
    for (int64_t i = 0; i < n; ++i) {                                                      \
      T v = in[i * stride];                                                                \
      keys[i] = (uint64_t)((uint32_t)(EXPRESSION) ^ flip) << 32 | (uint32_t)i;             \
    }                                                                                      \
    return;                                                                                \
  } while (0)
#define KEYS64(T, EXPRESSION)                                                              \
  do {                                                                                     \
    const T* in = (const T*)x;                                                             \
    tt_k_key64_t* keys = out;                                                              \
    uint64_t flip = descending ? ~0ull : 0;                                                \
    for (int64_t i = 0; i < n; ++i) {                                                      \
      T v = in[i * stride];                                                                \
      keys[i] = (tt_k_key64_t){(uint64_t)(EXPRESSION) ^ flip, (uint64_t)i};                \
    }                                                                                      \
    return;                                                                                \
  } while (0)
  switch (dtype) {
    case TT_DTYPE_F32: KEYS32(uint32_t, float_key32(v, 0x7f800000u, 0x80000000u, canonical));
    case TT_DTYPE_F16: KEYS32(uint16_t, float_key32(v, 0x7c00u, 0x8000u, canonical));
    case TT_DTYPE_BF16: KEYS32(uint16_t, float_key32(v, 0x7f80u, 0x8000u, canonical));
    case TT_DTYPE_F64: KEYS64(uint64_t, float_key64(v, canonical));
    case TT_DTYPE_S64: KEYS64(uint64_t, v ^ 1ull << 63);
    case TT_DTYPE_U64: KEYS64(uint64_t, v);
    case TT_DTYPE_S32: KEYS32(uint32_t, v ^ 0x80000000u);
    case TT_DTYPE_U32: KEYS32(uint32_t, v);
    case TT_DTYPE_S16: KEYS32(uint16_t, v ^ 0x8000u);
    case TT_DTYPE_U16: KEYS32(uint16_t, v);
    case TT_DTYPE_S8: case TT_DTYPE_S4: case TT_DTYPE_S2: KEYS32(uint8_t, v ^ 0x80u);
    case TT_DTYPE_PRED: case TT_DTYPE_U8: case TT_DTYPE_U4: case TT_DTYPE_U2: KEYS32(uint8_t, v);
    default: {   // small floats: by their value
      const char* in = x;
      uint64_t* keys = out;
      for (int64_t i = 0; i < n; ++i) {
        float v = (float)tt_scalar_load_f64(dtype, in + i * stride * (int64_t)tt_dtype_bytes(dtype));
        uint32_t bits;
        memcpy(&bits, &v, 4);
        uint32_t key = float_key32(bits, 0x7f800000u, 0x80000000u, canonical);
        keys[i] = (uint64_t)(descending ? ~key : key) << 32 | (uint32_t)i;
      }
      return;
    }
  }
}

// Least significant digit radix sort; digits that are equal in all keys are skipped. Short arrays
// by insertion, then merges.
#define SORT(NAME, T, LESS)                                                        \
  static void NAME##_insertion(T* a, int64_t n) {                                                        \
    for (int64_t i = 1; i < n; ++i) {                                                                    \
      T v = a[i];                                                                                        \
      int64_t j = i;                                                                                     \
      for (; j > 0 && LESS(v, a[j - 1]); --j) a[j] = a[j - 1];                                           \
      a[j] = v;                                                                                          \
    }                                                                                                    \
  }                                                                                                      \
  static void NAME##_merge(T* a, T* spare, int64_t n) {                                                  \
    enum { RUN = 16 };                                                                                   \
    for (int64_t i = 0; i < n; i += RUN) NAME##_insertion(a + i, TT_MIN(RUN, n - i));                    \
    T *from = a, *to = spare;                                                                            \
    for (int64_t width = RUN; width < n; width *= 2) {                                                   \
      for (int64_t begin = 0; begin < n; begin += 2 * width) {                                           \
        int64_t middle = TT_MIN(begin + width, n), end = TT_MIN(begin + 2 * width, n);                   \
        int64_t i = begin, j = middle, k = begin;                                                        \
        while (i < middle && j < end) {                                                                  \
          bool right = LESS(from[j], from[i]);                                                           \
          to[k++] = right ? from[j] : from[i];                                                           \
          j += right;                                                                                    \
          i += !right;                                                                                   \
        }                                                                                                \
        while (i < middle) to[k++] = from[i++];                                                          \
        while (j < end) to[k++] = from[j++];                                                             \
      }                                                                                                  \
      T* swap = from;                                                                                    \
      from = to;                                                                                         \
      to = swap;                                                                                         \
    }                                                                                                    \
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);                                               \
  }
// Digits of BITS bits: 8 for short arrays (small counters), 11 for long ones (fewer passes).
#define RADIX(NAME, T, KEY, KEY_BITS, SHIFT, BITS)                                                       \
  static void NAME##_radix(T* a, T* spare, int64_t n) {                                                  \
    enum { DIGITS = (KEY_BITS + BITS - 1) / BITS, VALUES = 1 << BITS };                                  \
    int64_t counts[DIGITS][VALUES];                                                                      \
    memset(counts, 0, sizeof counts);                                                                    \
    for (int64_t i = 0; i < n; ++i) {                                                                    \
      for (int d = 0; d < DIGITS; ++d) ++counts[d][KEY(a[i]) >> (SHIFT + BITS * d) & (VALUES - 1)];                  \
    }                                                                                                    \
    T *from = a, *to = spare;                                                                            \
    for (int d = 0; d < DIGITS; ++d) {                                                                   \
      int64_t* c = counts[d];                                                                            \
      if (c[KEY(from[0]) >> (SHIFT + BITS * d) & (VALUES - 1)] == n) continue;                                       \
      int64_t sum = 0;                                                                                   \
      for (int v = 0; v < VALUES; ++v) {                                                                    \
        int64_t here = c[v];                                                                             \
        c[v] = sum;                                                                                      \
        sum += here;                                                                                     \
      }                                                                                                  \
      for (int64_t i = 0; i < n; ++i) to[c[KEY(from[i]) >> (SHIFT + BITS * d) & (VALUES - 1)]++] = from[i];          \
      T* swap = from;                                                                                    \
      from = to;                                                                                         \
      to = swap;                                                                                         \
    }                                                                                                    \
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);                                               \
  }
#define LESS_32(x, y) ((x) < (y))
#define LESS_64(x, y) ((x).key < (y).key || ((x).key == (y).key && (x).index < (y).index))
#define KEY_32(x) (x)
#define KEY_64(x) ((x).key)
SORT(keys32, uint64_t, LESS_32)
SORT(keys64, tt_k_key64_t, LESS_64)
RADIX(keys32, uint64_t, KEY_32, 32, 32, 8)
RADIX(keys32_long, uint64_t, KEY_32, 32, 32, 11)
RADIX(keys64, tt_k_key64_t, KEY_64, 64, 0, 8)
RADIX(keys64_long, tt_k_key64_t, KEY_64, 64, 0, 11)

void tt_k_keys_sort(tt_dtype_t dtype, void* keys, void* spare, int64_t n) {
  if (n <= 1) return;
  if (tt_k_key_width(dtype) == TT_K_KEY_32) {
    if (n < 512) keys32_merge(keys, spare, n);
    else if (n < 16384) keys32_radix(keys, spare, n);
    else keys32_long_radix(keys, spare, n);
  } else {
    if (n < 1024) keys64_merge(keys, spare, n);
    else if (n < 16384) keys64_radix(keys, spare, n);
    else keys64_long_radix(keys, spare, n);
  }
}
