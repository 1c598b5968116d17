// Reductions of one ISA: included by fold_<isa>.c, which defines TT_ISA and TT_VECTOR_BYTES.
//
// Float sums and products: 64 (f32) or 32 (f64) lane accumulators over a block of 16 rows of lanes, lanes then
// folded by halves, blocks combined pairwise through a binary counter. The tree depends on n alone and, as
// each addition is one IEEE operation, it is the same on every ISA.
#include "kernels/elementwise_isa.h"

// false alarms: only the m lanes that were loaded are read, but vector loops are judged by whole vectors
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#define TT_K2_(name, isa) name##__##isa
#define TT_K1_(name, isa) TT_K2_(name, isa)
#define TT_K(name) TT_K1_(name, TT_ISA)

enum { kBlock = 256, kRows = 16 };

#define TT_FLOAT_FOLD(D, T, I, LANES, OP, IDENTITY, COMBINE)                                        \
  static T TT_K(block_##D##_##OP)(const T* x, size_t n) {                                           \
    typedef T vec __attribute__((vector_size(TT_VECTOR_BYTES), aligned(sizeof(T)), may_alias));     \
    typedef T acc_t __attribute__((vector_size(TT_VECTOR_BYTES)));                                  \
    typedef I mask_t __attribute__((vector_size(TT_VECTOR_BYTES), unused));                         \
    enum { kVectors = LANES * (int)sizeof(T) / TT_VECTOR_BYTES, kPer = TT_VECTOR_BYTES / (int)sizeof(T) }; \
    if (n <= 16) { /* the same tree without the lanes that hold the identity */                     \
      T few[16];                                                                                    \
      size_t span = 1;                                                                              \
      while (span < n) span *= 2;                                                                   \
      for (size_t l = 0; l < span; ++l) few[l] = l < n ? x[l] : (T)(IDENTITY);                      \
      for (size_t half = span / 2; half; half /= 2) {                                               \
        for (size_t l = 0; l < half; ++l) few[l] = TT_K(one_##D##_##OP)(few[l], few[l + half]);     \
      }                                                                                             \
      return few[0];                                                                                \
    }                                                                                               \
    acc_t acc[kVectors];                                                                            \
    size_t i = 0;                                                                                   \
    T easy;                                                                                         \
    if (TT_K(easy_##D##_##OP)(x, n, &easy)) return easy;                                            \
    for (int v = 0; v < kVectors; ++v) {                                                            \
      for (int l = 0; l < kPer; ++l) acc[v][l] = (T)(IDENTITY);                                     \
    }                                                                                               \
    for (; i + LANES <= n; i += LANES) {                                                            \
      _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v) {                                 \
        acc_t a = acc[v], b = *(const vec*)(x + i + v * kPer);                                      \
        acc[v] = COMBINE(acc_t, mask_t, a, b);                                                      \
      }                                                                                             \
    }                                                                                               \
    if (i < n) {                                                                                    \
      T tail[LANES];                                                                                \
      for (int l = 0; l < LANES; ++l) tail[l] = (T)(IDENTITY);                                      \
      memcpy(tail, x + i, (n - i) * sizeof(T));                                                     \
      for (int v = 0; v < kVectors; ++v) {                                                          \
        acc_t a = acc[v], b = *(const vec*)(tail + v * kPer);                                       \
        acc[v] = COMBINE(acc_t, mask_t, a, b);                                                      \
      }                                                                                             \
    }                                                                                               \
    T lanes[LANES];                                                                                 \
    memcpy(lanes, acc, sizeof lanes);                                                               \
    for (int half = LANES / 2; half; half /= 2) {                                                   \
      for (int l = 0; l < half; ++l) lanes[l] = TT_K(one_##D##_##OP)(lanes[l], lanes[l + half]);    \
    }                                                                                               \
    return lanes[0];                                                                                \
  }                                                                                                 \
  static T TT_K(tree_##D##_##OP)(const T* x, size_t n) {                                            \
    enum { kSpan = LANES * kRows };                                                                 \
    if (n <= kSpan) return TT_K(block_##D##_##OP)(x, n);                                            \
    T level[64];                                                                                    \
    size_t blocks = 0;                                                                              \
    unsigned depth = 0;                                                                             \
    for (size_t i = 0; i < n; i += kSpan) {                                                         \
      T value = TT_K(block_##D##_##OP)(x + i, TT_MIN(n - i, (size_t)kSpan));                        \
      ++blocks;                                                                                     \
      for (size_t carry = blocks; !(carry & 1); carry >>= 1) value = TT_K(one_##D##_##OP)(level[--depth], value); \
      level[depth++] = value;                                                                       \
    }                                                                                               \
    T result = level[--depth];                                                                      \
    while (depth) result = TT_K(one_##D##_##OP)(level[--depth], result);                            \
    return result;                                                                                  \
  }                                                                                                 \
  static void TT_K(fold_##D##_##OP)(void* acc, const void* x, size_t n) {                           \
    if (n) *(T*)acc = TT_K(one_##D##_##OP)(*(T*)acc, TT_K(tree_##D##_##OP)(x, n));                  \
  }

#define TT_ADD_V(V, M, a, b) (a + b)
#define TT_MUL_V(V, M, a, b) (a * b)
// NaN stays; of equal operands (zeros) the sign bits are and-ed / or-ed
#define TT_PICK_V(V, M, m, a, b) (((m) & (M)(b)) | (~(m) & (M)(a)))
#define TT_MAX_V(V, M, a, b) ((V)(((M)(a == b) & (M)(a) & (M)(b)) | (~(M)(a == b) & TT_PICK_V(V, M, (M)(b > a) | ((M)(b != b) & (M)(a == a)), a, b))))
#define TT_MIN_V(V, M, a, b) ((V)(((M)(a == b) & ((M)(a) | (M)(b))) | (~(M)(a == b) & TT_PICK_V(V, M, (M)(b < a) | ((M)(b != b) & (M)(a == a)), a, b))))

// Without NaN, and if no zero wins, the order does not matter and one comparison an element is enough.
#define TT_EASY_NONE(D, T, OP)                                                                      \
  static inline bool TT_K(easy_##D##_##OP)(const T* x, size_t n, T* out) {                          \
    (void)x, (void)n, (void)out;                                                                    \
    return false;                                                                                   \
  }
#define TT_EASY_PICK(D, T, I, LANES, OP, IDENTITY, BEATS)                                           \
  static bool TT_K(easy_##D##_##OP)(const T* x, size_t n, T* out) {                                 \
    T best[LANES], nan[LANES];                                                                      \
    for (int l = 0; l < LANES; ++l) best[l] = (T)(IDENTITY), nan[l] = 0;                            \
    size_t i = 0;                                                                                   \
    for (; i + LANES <= n; i += LANES) {                                                            \
      _Pragma("GCC ivdep") for (int l = 0; l < LANES; ++l) {                                        \
        T b = x[i + (size_t)l];                                                                     \
        best[l] = b BEATS best[l] ? b : best[l];                                                    \
        nan[l] = b == b ? nan[l] : b;                                                               \
      }                                                                                             \
    }                                                                                               \
    for (size_t l = 0; i < n; ++i, ++l) {                                                           \
      best[l] = x[i] BEATS best[l] ? x[i] : best[l];                                                \
      nan[l] = x[i] == x[i] ? nan[l] : x[i];                                                        \
    }                                                                                               \
    _Pragma("GCC unroll 8") for (int half = LANES / 2; half; half /= 2) {                           \
      for (int l = 0; l < half; ++l) {                                                              \
        best[l] = best[l + half] BEATS best[l] ? best[l + half] : best[l];                          \
        nan[l] = nan[l] == nan[l] ? nan[l + half] : nan[l];                                         \
      }                                                                                             \
    }                                                                                               \
    *out = best[0];                                                                                 \
    return nan[0] == nan[0] && best[0] != 0;                                                        \
  }

#define TT_FOLD_FLOAT_TYPE(D, T, I, LANES)                                                          \
  static inline T TT_K(one_##D##_ADD)(T a, T b) { return a + b; }                                   \
  static inline T TT_K(one_##D##_MULTIPLY)(T a, T b) { return a * b; }                              \
  static inline T TT_K(one_##D##_MAXIMUM)(T a, T b) {                                               \
    return a != a ? a : b != b ? b : a == b ? (__builtin_signbit(a) ? b : a) : a > b ? a : b;       \
  }                                                                                                 \
  static inline T TT_K(one_##D##_MINIMUM)(T a, T b) {                                               \
    return a != a ? a : b != b ? b : a == b ? (__builtin_signbit(a) ? a : b) : a < b ? a : b;       \
  }                                                                                                 \
  TT_EASY_NONE(D, T, ADD) TT_EASY_NONE(D, T, MULTIPLY)                                              \
  TT_EASY_PICK(D, T, I, LANES, MAXIMUM, -INFINITY, >) TT_EASY_PICK(D, T, I, LANES, MINIMUM, INFINITY, <) \
  TT_FLOAT_FOLD(D, T, I, LANES, ADD, -0.0, TT_ADD_V)                                                \
  TT_FLOAT_FOLD(D, T, I, LANES, MULTIPLY, 1, TT_MUL_V)                                              \
  TT_FLOAT_FOLD(D, T, I, LANES, MAXIMUM, -INFINITY, TT_MAX_V)                                       \
  TT_FLOAT_FOLD(D, T, I, LANES, MINIMUM, INFINITY, TT_MIN_V)
TT_FOLD_FLOAT_TYPE(F32, float, int32_t, 64)
TT_FOLD_FLOAT_TYPE(F64, double, int64_t, 32)

// f16, bf16: the same tree over widened spans, f32 between them, one rounding at the end.
#define TT_HALF_FOLD(D, h, OP)                                                                      \
  static float TT_K(half_##h##_##OP)(const uint16_t* x, size_t n) {                                 \
    float block[1024], level[64], value;                                                            \
    size_t blocks = 0;                                                                              \
    unsigned depth = 0;                                                                             \
    for (size_t i = 0; i < n; i += 1024) {                                                          \
      size_t m = TT_MIN(n - i, (size_t)1024);                                                       \
      TT_K(tt_k_widen_##h)(block, x + i, m);                                                        \
      value = TT_K(block_F32_##OP)(block, m);                                                       \
      ++blocks;                                                                                     \
      for (size_t carry = blocks; !(carry & 1); carry >>= 1) value = TT_K(one_F32_##OP)(level[--depth], value); \
      level[depth++] = value;                                                                       \
    }                                                                                               \
    value = level[--depth];                                                                         \
    while (depth) value = TT_K(one_F32_##OP)(level[--depth], value);                                \
    return value;                                                                                   \
  }                                                                                                 \
  static void TT_K(fold_##D##_##OP)(void* acc, const void* x, size_t n) {                           \
    if (!n) return;                                                                                 \
    float start;                                                                                    \
    TT_K(tt_k_widen_##h)(&start, acc, 1);                                                           \
    start = TT_K(one_F32_##OP)(start, TT_K(half_##h##_##OP)(x, n));                                 \
    TT_K(tt_k_narrow_##h)(acc, &start, 1);                                                          \
  }
#define TT_HALF_FOLDS(D, h) TT_HALF_FOLD(D, h, ADD) TT_HALF_FOLD(D, h, MULTIPLY) TT_HALF_FOLD(D, h, MAXIMUM) \
  TT_HALF_FOLD(D, h, MINIMUM)
TT_HALF_FOLDS(BF16, bf16)
TT_HALF_FOLDS(F16, f16)

// Integers: associative, so the compiler may use any order.
#define TT_INTS(X) X(S8, int8_t, uint8_t) X(S16, int16_t, uint16_t) X(S32, int32_t, uint32_t) X(S64, int64_t, uint64_t) \
  X(U8, uint8_t, uint8_t) X(U16, uint16_t, uint16_t) X(U32, uint32_t, uint32_t) X(U64, uint64_t, uint64_t)
#define TT_INT_FOLD(D, T, A, OP, ...)                                                               \
  static void TT_K(fold_##D##_##OP)(void* acc, const void* xs, size_t n) {                          \
    const T* px = xs; A a = (A)*(T*)acc;                                                            \
    for (size_t i = 0; i < n; ++i) { const A b = (A)px[i]; a = (A)(__VA_ARGS__); }                  \
    *(T*)acc = (T)a;                                                                                \
  }
#define TT_INT_FOLDS(D, T, U)                                                                       \
  TT_INT_FOLD(D, T, U, ADD, a + b) TT_INT_FOLD(D, T, U, MULTIPLY, (uint64_t)a * b)                  \
  TT_INT_FOLD(D, T, T, MAXIMUM, a > b ? a : b) TT_INT_FOLD(D, T, T, MINIMUM, a < b ? a : b)         \
  TT_INT_FOLD(D, T, T, AND, a & b) TT_INT_FOLD(D, T, T, OR, a | b) TT_INT_FOLD(D, T, T, XOR, a ^ b)
TT_INTS(TT_INT_FOLDS)

#define TT_CASE(D, OP) case TT_OP_##OP: return TT_K(fold_##D##_##OP);
tt_k_fold_fn_t TT_K(tt_k_fold)(tt_op_kind_t kind, tt_dtype_t dtype) {
  switch (dtype) {
#define TT_INT_CASES(D, T, U) case TT_DTYPE_##D: switch (kind) { TT_CASE(D, ADD) TT_CASE(D, MULTIPLY) TT_CASE(D, MAXIMUM) \
    TT_CASE(D, MINIMUM) TT_CASE(D, AND) TT_CASE(D, OR) TT_CASE(D, XOR) default: return NULL; }
    TT_INTS(TT_INT_CASES)
#define TT_FLOAT_CASES(D) case TT_DTYPE_##D: switch (kind) { TT_CASE(D, ADD) TT_CASE(D, MULTIPLY) TT_CASE(D, MAXIMUM) \
    TT_CASE(D, MINIMUM) default: return NULL; }
    TT_FLOAT_CASES(F32) TT_FLOAT_CASES(F64) TT_FLOAT_CASES(BF16) TT_FLOAT_CASES(F16)
    case TT_DTYPE_PRED: switch (kind) {
      case TT_OP_ADD: case TT_OP_OR: case TT_OP_MAXIMUM: return TT_K(fold_U8_OR);
      case TT_OP_MULTIPLY: case TT_OP_AND: case TT_OP_MINIMUM: return TT_K(fold_U8_AND);
      case TT_OP_XOR: return TT_K(fold_U8_XOR);
      default: return NULL; }
    default: return NULL;
  }
}

// ---- argmax, argmin: the extreme first, then the first place that holds it ---------------------------
#define TT_FIND_FN(D, T)                                                                            \
  static int64_t TT_K(find_##D)(const T* x, size_t n, T value, bool nan) {                          \
    size_t i = 0;                                                                                   \
    for (; i + 64 <= n; i += 64) {                                                                  \
      unsigned hit = 0;                                                                             \
      if (nan) { for (int j = 0; j < 64; ++j) hit |= x[i + j] != x[i + j]; }                        \
      else { for (int j = 0; j < 64; ++j) hit |= x[i + j] == value; }                               \
      if (hit) break;                                                                               \
    }                                                                                               \
    for (; i < n; ++i) if (nan ? x[i] != x[i] : x[i] == value) return (int64_t)i;                   \
    return n ? (int64_t)n - 1 : 0;                                                                  \
  }
#define TT_ARG_FN(D, T, OP)                                                                         \
  static int64_t TT_K(arg_##D##_##OP)(const void* x, size_t n) {                                    \
    if (!n) return 0;                                                                               \
    T value = *(const T*)x;                                                                         \
    TT_K(fold_##D##_##OP)(&value, x, n);                                                            \
    return TT_K(find_##D)(x, n, value, value != value);                                             \
  }
#define TT_ARG_FNS(D, T, U) TT_FIND_FN(D, T) TT_ARG_FN(D, T, MAXIMUM) TT_ARG_FN(D, T, MINIMUM)
TT_INTS(TT_ARG_FNS)
TT_ARG_FNS(F32, float, )
TT_ARG_FNS(F64, double, )
#define TT_HALF_ARG(D, h, OP)                                                                       \
  static int64_t TT_K(arg_##D##_##OP)(const void* xs, size_t n) {                                   \
    const uint16_t* x = xs;                                                                         \
    if (!n) return 0;                                                                               \
    float value = TT_K(half_##h##_##OP)(x, n), block[kBlock];                                       \
    for (size_t i = 0; i < n; i += kBlock) {                                                        \
      size_t m = TT_MIN(n - i, (size_t)kBlock);                                                     \
      TT_K(tt_k_widen_##h)(block, x + i, m);                                                        \
      for (size_t j = 0; j < m; ++j) if (value != value ? block[j] != block[j] : block[j] == value) return (int64_t)(i + j); \
    }                                                                                               \
    return 0;                                                                                       \
  }
TT_HALF_ARG(BF16, bf16, MAXIMUM) TT_HALF_ARG(BF16, bf16, MINIMUM)
TT_HALF_ARG(F16, f16, MAXIMUM) TT_HALF_ARG(F16, f16, MINIMUM)

tt_k_argfold_fn_t TT_K(tt_k_argfold)(bool maximum, tt_dtype_t dtype) {
#define TT_ARG_CASE(D, T, U) case TT_DTYPE_##D: return maximum ? TT_K(arg_##D##_MAXIMUM) : TT_K(arg_##D##_MINIMUM);
  switch (dtype) {
    TT_INTS(TT_ARG_CASE)
    TT_ARG_CASE(F32, , ) TT_ARG_CASE(F64, , ) TT_ARG_CASE(BF16, , ) TT_ARG_CASE(F16, , )
    case TT_DTYPE_PRED: case TT_DTYPE_U4: case TT_DTYPE_U2: return maximum ? TT_K(arg_U8_MAXIMUM) : TT_K(arg_U8_MINIMUM);
    case TT_DTYPE_S4: case TT_DTYPE_S2: return maximum ? TT_K(arg_S8_MAXIMUM) : TT_K(arg_S8_MINIMUM);
    default: return NULL;
  }
}
