// Lane kernels of one ISA: included by elementwise_<isa>.c, which defines TT_ISA (the suffix) and the lane
// conversions. The compiler vectorises these loops for the file's ISA; each lane is plain IEEE arithmetic, so
// tails and bodies agree. `ivdep` is true because out either equals an input or does not overlap it.
#include "kernels/elementwise_isa.h"
#include "kernels/math_lanes.h"

// false alarms: only the m lanes that were loaded are read, but vector loops are judged by whole vectors
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#define TT_K2_(name, isa) name##__##isa
#define TT_K1_(name, isa) TT_K2_(name, isa)
#define TT_K(name) TT_K1_(name, TT_ISA)
#define TT_LANES(i, n) _Pragma("GCC ivdep") for (size_t i = 0; i < (n); ++i)

enum { kBlock = 256 };   // lanes of a widened block of bf16 / f16

// ---- integers ----------------------------------------------------------------------------------
// X(ENUM, type, unsigned type, wide unsigned type for products and shifts, bits)
#define TT_SIGNED(X)                       \
  X(S8, int8_t, uint8_t, uint32_t, 8)      \
  X(S16, int16_t, uint16_t, uint32_t, 16)  \
  X(S32, int32_t, uint32_t, uint32_t, 32)  \
  X(S64, int64_t, uint64_t, uint64_t, 64)
#define TT_UNSIGNED(X)                     \
  X(U8, uint8_t, uint8_t, uint32_t, 8)     \
  X(U16, uint16_t, uint16_t, uint32_t, 16) \
  X(U32, uint32_t, uint32_t, uint32_t, 32) \
  X(U64, uint64_t, uint64_t, uint64_t, 64)
#define TT_INTEGERS(X) TT_SIGNED(X) TT_UNSIGNED(X)

#define TT_UNARY_FN(D, T, OP, ...)                                    \
  static void TT_K(un_##D##_##OP)(void* out, const void* xs, size_t n) { \
    T* o = out; const T* px = xs;                                     \
    TT_LANES(i, n) { const T x = px[i]; o[i] = (T)(__VA_ARGS__); }    \
  }
#define TT_BINARY_FN(D, T, OP, ...)                                   \
  static void TT_K(bin_##D##_##OP)(void* out, const void* xs, const void* ys, size_t n) { \
    T* o = out; const T *px = xs, *py = ys;                           \
    TT_LANES(i, n) { const T x = px[i], y = py[i]; o[i] = (T)(__VA_ARGS__); } \
  }
#define TT_TEST_FN(D, T, OP, ...)                                     \
  static void TT_K(un_##D##_##OP)(void* out, const void* xs, size_t n) { \
    uint8_t* o = out; const T* px = xs;                               \
    TT_LANES(i, n) { const T x = px[i]; o[i] = (uint8_t)(__VA_ARGS__); } \
  }

// x^y mod 2^bits; y < 0: 1 / x^|y| truncated (XLA): 0 except for x = 1 and -1; 0 to a negative power: 0.
static inline uint64_t TT_K(int_power)(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  while (exponent) {
    if (exponent & 1) result *= base;
    base *= base;
    exponent >>= 1;
  }
  return result;
}

#define TT_INTEGER_FNS(D, T, U, W, B)                                                         \
  TT_UNARY_FN(D, T, NOT, ~x)                                                                  \
  TT_UNARY_FN(D, T, NEGATE, (W)0 - (W)x)                                                      \
  TT_UNARY_FN(D, T, CHLO_SQUARE, (W)x * (W)x)                                                 \
  TT_UNARY_FN(D, T, POPCNT, __builtin_popcountll((U)x))                                       \
  TT_UNARY_FN(D, T, COUNT_LEADING_ZEROS, (U)x ? __builtin_clzll((uint64_t)(U)x) - (64 - B) : B) \
  TT_BINARY_FN(D, T, ADD, (W)x + (W)y)                                                        \
  TT_BINARY_FN(D, T, SUBTRACT, (W)x - (W)y)                                                   \
  TT_BINARY_FN(D, T, MULTIPLY, (W)x * (W)y)                                                   \
  TT_BINARY_FN(D, T, MAXIMUM, x > y ? x : y)                                                  \
  TT_BINARY_FN(D, T, MINIMUM, x < y ? x : y)                                                  \
  TT_BINARY_FN(D, T, AND, x & y)                                                              \
  TT_BINARY_FN(D, T, OR, x | y)                                                               \
  TT_BINARY_FN(D, T, XOR, x ^ y)                                                              \
  TT_BINARY_FN(D, T, SHIFT_LEFT, (U)y < B ? (W)x << ((U)y & (B - 1)) : 0)                     \
  TT_BINARY_FN(D, T, SHIFT_RIGHT_LOGICAL, (U)y < B ? (U)x >> ((U)y & (B - 1)) : 0)
#define TT_SIGNED_FNS(D, T, U, W, B)                                                          \
  TT_UNARY_FN(D, T, ABS, x < 0 ? (W)0 - (W)x : (W)x)                                          \
  TT_UNARY_FN(D, T, SIGN, (x > 0) - (x < 0))                                                  \
  TT_BINARY_FN(D, T, SHIFT_RIGHT_ARITHMETIC, x >> ((U)y < B ? (U)y & (B - 1) : B - 1))        \
  TT_BINARY_FN(D, T, DIVIDE, y == 0 ? (T)-1 : y == -1 ? (T)((W)0 - (W)x) : (T)(x / y))        \
  TT_BINARY_FN(D, T, REMAINDER, y == 0 ? x : y == -1 ? (T)0 : (T)(x % y))                     \
  TT_BINARY_FN(D, T, POWER, y >= 0 ? TT_K(int_power)((uint64_t)x, (uint64_t)y)                \
                                   : x == 1 ? 1u : x == -1 ? (y & 1 ? (uint64_t)-1 : 1u) : 0u)
#define TT_UNSIGNED_FNS(D, T, U, W, B)                                                        \
  TT_UNARY_FN(D, T, ABS, x)                                                                   \
  TT_UNARY_FN(D, T, SIGN, x != 0)                                                             \
  TT_BINARY_FN(D, T, SHIFT_RIGHT_ARITHMETIC,                                                  \
               ((U)(x >> ((U)y < B ? (U)y & (B - 1) : B - 1))) |                              \
               (x >> (B - 1) ? ~((U)~(U)0 >> ((U)y < B ? (U)y & (B - 1) : B - 1)) : 0))       \
  TT_BINARY_FN(D, T, DIVIDE, y == 0 ? (T)-1 : (T)(x / y))                                     \
  TT_BINARY_FN(D, T, REMAINDER, y == 0 ? x : (T)(x % y))                                      \
  TT_BINARY_FN(D, T, POWER, TT_K(int_power)((uint64_t)x, (uint64_t)y))
TT_INTEGERS(TT_INTEGER_FNS)
TT_SIGNED(TT_SIGNED_FNS)
TT_UNSIGNED(TT_UNSIGNED_FNS)

// PRED: + and max are OR, * and min are AND.
TT_UNARY_FN(PRED, uint8_t, NOT, x ^ 1)
TT_BINARY_FN(PRED, uint8_t, AND, x & y)
TT_BINARY_FN(PRED, uint8_t, OR, x | y)
TT_BINARY_FN(PRED, uint8_t, XOR, x ^ y)

// ---- f32, f64 ----------------------------------------------------------------------------------
static inline float TT_K(f32_bits)(uint32_t b) { float v; memcpy(&v, &b, 4); return v; }
static inline double TT_K(f64_bits)(uint64_t b) { double v; memcpy(&v, &b, 8); return v; }
static inline uint32_t TT_K(bits_f32)(float v) { uint32_t b; memcpy(&b, &v, 4); return b; }
static inline uint64_t TT_K(bits_f64)(double v) { uint64_t b; memcpy(&b, &v, 8); return b; }

// max(-0, +0) = +0: of equal operands only the sign bit can differ.
#define TT_FMAX(F, x, y) ((x) != (x) ? (x) : (x) == (y) ? TT_K(f##F##_bits)(TT_K(bits_f##F)(x) & TT_K(bits_f##F)(y)) : (x) > (y) ? (x) : (y))
#define TT_FMIN(F, x, y) ((x) != (x) ? (x) : (x) == (y) ? TT_K(f##F##_bits)(TT_K(bits_f##F)(x) | TT_K(bits_f##F)(y)) : (x) < (y) ? (x) : (y))

static inline uint64_t TT_K(next_after_bits)(uint64_t x, uint64_t y, uint64_t sign, uint64_t infinity) {
  uint64_t ax = x & ~sign, ay = y & ~sign;
  if (ax > infinity) return x;
  if (ay > infinity) return y;
  if ((ax | ay) == 0 || x == y) return y;
  if (ax == 0) return (y & sign) | 1;
  bool away = ax < ay && (x & sign) == (y & sign);
  return away ? x + 1 : x - 1;
}

#define TT_FLOAT_FNS(D, T, S, F, SIGN_BIT, INFINITY_BITS, HALF_BELOW)                         \
  TT_UNARY_FN(D, T, ABS, __builtin_fabs##S(x))                                                \
  TT_UNARY_FN(D, T, NEGATE, -x)                                                               \
  TT_UNARY_FN(D, T, SIGN, x > 0 ? (T)1 : x < 0 ? (T)-1 : x)                                   \
  TT_UNARY_FN(D, T, FLOOR, __builtin_floor##S(x))                                             \
  TT_UNARY_FN(D, T, CEIL, __builtin_ceil##S(x))                                               \
  TT_UNARY_FN(D, T, ROUND_NEAREST_EVEN, __builtin_rint##S(x))                                 \
  TT_UNARY_FN(D, T, ROUND_NEAREST_AFZ, __builtin_trunc##S(x + __builtin_copysign##S(HALF_BELOW, x))) \
  TT_UNARY_FN(D, T, SQRT, __builtin_sqrt##S(x))                                               \
  TT_UNARY_FN(D, T, CHLO_SQUARE, x * x)                                                       \
  TT_UNARY_FN(D, T, REAL, x)                                                                  \
  TT_UNARY_FN(D, T, IMAG, x != x ? (T)0 : (T)0)                                               \
  TT_TEST_FN(D, T, IS_FINITE, __builtin_fabs##S(x) < (T)INFINITY)                             \
  TT_TEST_FN(D, T, CHLO_IS_INF, __builtin_fabs##S(x) == (T)INFINITY)                          \
  TT_TEST_FN(D, T, CHLO_IS_POS_INF, x == (T)INFINITY)                                         \
  TT_TEST_FN(D, T, CHLO_IS_NEG_INF, x == -(T)INFINITY)                                        \
  TT_BINARY_FN(D, T, ADD, x + y)                                                              \
  TT_BINARY_FN(D, T, SUBTRACT, x - y)                                                         \
  TT_BINARY_FN(D, T, MULTIPLY, x * y)                                                         \
  TT_BINARY_FN(D, T, DIVIDE, x / y)                                                           \
  TT_BINARY_FN(D, T, MAXIMUM, TT_FMAX(F, x, y))                                               \
  TT_BINARY_FN(D, T, MINIMUM, TT_FMIN(F, x, y))                                               \
  TT_BINARY_FN(D, T, CHLO_NEXT_AFTER, TT_K(f##F##_bits)((uint##F##_t)TT_K(next_after_bits)(   \
               TT_K(bits_f##F)(x), TT_K(bits_f##F)(y), SIGN_BIT, INFINITY_BITS)))             \
  static void TT_K(clamp_##D)(void* out, const void* ls, const void* xs, const void* hs, size_t n) { \
    T* o = out; const T *pl = ls, *px = xs, *ph = hs;                                         \
    TT_LANES(i, n) {                                                                          \
      const T l = pl[i], x = px[i], h = ph[i];                                                \
      T v = x < l ? l : x;                                                                    \
      v = v > h ? h : v;                                                                      \
      v = l != l ? l : v;                                                                     \
      o[i] = h != h && x == x ? h : v;                                                        \
    }                                                                                         \
  }                                                                                           \
  static void TT_K(fma_##D)(void* out, const void* xs, const void* ys, const void* zs, size_t n) { \
    T* o = out; const T *px = xs, *py = ys, *pz = zs;                                         \
    TT_LANES(i, n) o[i] = __builtin_fma##S(px[i], py[i], pz[i]);                              \
  }
TT_FLOAT_FNS(F32, float, f, 32, 0x80000000u, 0x7f800000u, 0x1.fffffep-2f)
TT_FLOAT_FNS(F64, double, , 64, 0x8000000000000000ull, 0x7ff0000000000000ull, 0x1.fffffffffffffp-2)

// ---- lists -------------------------------------------------------------------------------------
#define TT_FLOAT_SIMPLE_UNARY(X) X(ABS) X(NEGATE) X(SIGN) X(FLOOR) X(CEIL) X(ROUND_NEAREST_EVEN) X(ROUND_NEAREST_AFZ) \
  X(SQRT) X(CHLO_SQUARE) X(REAL) X(IMAG)
#define TT_FLOAT_TESTS(X) X(IS_FINITE) X(CHLO_IS_INF) X(CHLO_IS_POS_INF) X(CHLO_IS_NEG_INF)
#define TT_FLOAT_SIMPLE_BINARY(X) X(ADD) X(SUBTRACT) X(MULTIPLY) X(DIVIDE) X(MAXIMUM) X(MINIMUM)
#define TT_INT_UNARY(X) X(NOT) X(NEGATE) X(CHLO_SQUARE) X(POPCNT) X(COUNT_LEADING_ZEROS) X(ABS) X(SIGN)
#define TT_INT_BINARY(X) X(ADD) X(SUBTRACT) X(MULTIPLY) X(MAXIMUM) X(MINIMUM) X(AND) X(OR) X(XOR) X(SHIFT_LEFT) \
  X(SHIFT_RIGHT_LOGICAL) X(SHIFT_RIGHT_ARITHMETIC) X(DIVIDE) X(REMAINDER) X(POWER)

// ---- bf16, f16 and (generic only) 8- and 4-bit floats: widen a block, compute in f32, round once ---------
#define TT_HALF_UNARY_FN(D, T, OP, FN)                                                        \
  static void TT_K(un_##D##_##OP)(void* out, const void* xs, size_t n) {                      \
    T* o = out; const T* px = xs;                                                             \
    float block[kBlock];                                                                      \
    for (size_t i = 0; i < n; i += kBlock) {                                                  \
      size_t m = TT_MIN(n - i, (size_t)kBlock);                                               \
      TT_K(widen_##D)(block, px + i, m);                                                      \
      FN(block, block, m);                                                                    \
      TT_K(narrow_##D)(o + i, block, m);                                                      \
    }                                                                                         \
  }
#define TT_HALF_TEST_FN(D, T, OP, FN)                                                         \
  static void TT_K(un_##D##_##OP)(void* out, const void* xs, size_t n) {                      \
    uint8_t* o = out; const T* px = xs;                                                       \
    float block[kBlock];                                                                      \
    for (size_t i = 0; i < n; i += kBlock) {                                                  \
      size_t m = TT_MIN(n - i, (size_t)kBlock);                                               \
      TT_K(widen_##D)(block, px + i, m);                                                      \
      FN(o + i, block, m);                                                                    \
    }                                                                                         \
  }
#define TT_HALF_BINARY_FN(D, T, OP, FN)                                                       \
  static void TT_K(bin_##D##_##OP)(void* out, const void* xs, const void* ys, size_t n) {     \
    T* o = out; const T *px = xs, *py = ys;                                                   \
    float bx[kBlock], by[kBlock];                                                             \
    for (size_t i = 0; i < n; i += kBlock) {                                                  \
      size_t m = TT_MIN(n - i, (size_t)kBlock);                                               \
      TT_K(widen_##D)(bx, px + i, m);                                                         \
      TT_K(widen_##D)(by, py + i, m);                                                         \
      FN(bx, bx, by, m);                                                                      \
      TT_K(narrow_##D)(o + i, bx, m);                                                         \
    }                                                                                         \
  }
#define TT_HALF_CLAMP_FN(D, T)                                                                \
  static void TT_K(clamp_##D)(void* out, const void* ls, const void* xs, const void* hs, size_t n) { \
    T* o = out; const T *pl = ls, *px = xs, *ph = hs;                                         \
    float bl[kBlock], bx[kBlock], bh[kBlock];                                                 \
    for (size_t i = 0; i < n; i += kBlock) {                                                  \
      size_t m = TT_MIN(n - i, (size_t)kBlock);                                               \
      TT_K(widen_##D)(bl, pl + i, m);                                                         \
      TT_K(widen_##D)(bx, px + i, m);                                                         \
      TT_K(widen_##D)(bh, ph + i, m);                                                         \
      TT_K(clamp_F32)(bx, bl, bx, bh, m);                                                     \
      TT_K(narrow_##D)(o + i, bx, m);                                                         \
    }                                                                                         \
  }

// ---- compare -----------------------------------------------------------------------------------
#define TT_CMP_FN(D, T, NAME, OPERATOR)                                                       \
  static void TT_K(cmp_##D##_##NAME)(void* out, const void* xs, const void* ys, size_t n) {   \
    uint8_t* o = out; const T *px = xs, *py = ys;                                             \
    TT_LANES(i, n) o[i] = (uint8_t)(px[i] OPERATOR py[i]);                                    \
  }
#define TT_CMP_FNS(D, T) TT_CMP_FN(D, T, EQ, ==) TT_CMP_FN(D, T, NE, !=) TT_CMP_FN(D, T, LT, <) \
  TT_CMP_FN(D, T, LE, <=) TT_CMP_FN(D, T, GT, >) TT_CMP_FN(D, T, GE, >=)
#define TT_CMP_INT(D, T, U, W, B) TT_CMP_FNS(D, T)
TT_INTEGERS(TT_CMP_INT)
TT_CMP_FNS(F32, float)
TT_CMP_FNS(F64, double)
#define TT_HALF_CMP_FN(D, T, NAME)                                                            \
  static void TT_K(cmp_##D##_##NAME)(void* out, const void* xs, const void* ys, size_t n) {   \
    uint8_t* o = out; const T *px = xs, *py = ys;                                             \
    float bx[kBlock], by[kBlock];                                                             \
    for (size_t i = 0; i < n; i += kBlock) {                                                  \
      size_t m = TT_MIN(n - i, (size_t)kBlock);                                               \
      TT_K(widen_##D)(bx, px + i, m);                                                         \
      TT_K(widen_##D)(by, py + i, m);                                                         \
      TT_K(cmp_F32_##NAME)(o + i, bx, by, m);                                                 \
    }                                                                                         \
  }
#define TT_HALF_CMP_FNS(D, T) TT_HALF_CMP_FN(D, T, EQ) TT_HALF_CMP_FN(D, T, NE) TT_HALF_CMP_FN(D, T, LT) \
  TT_HALF_CMP_FN(D, T, LE) TT_HALF_CMP_FN(D, T, GT) TT_HALF_CMP_FN(D, T, GE)

// Total order: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN, as integers with the negatives' bits flipped.
#define TT_ORDER_FN(B, NAME, OPERATOR)                                                        \
  static void TT_K(order_##B##_##NAME)(void* out, const void* xs, const void* ys, size_t n) { \
    uint8_t* o = out; const int##B##_t *px = xs, *py = ys;                                    \
    TT_LANES(i, n) {                                                                          \
      int##B##_t x = px[i], y = py[i];                                                        \
      x = (int##B##_t)(x ^ ((x >> (B - 1)) & INT##B##_MAX));                                  \
      y = (int##B##_t)(y ^ ((y >> (B - 1)) & INT##B##_MAX));                                  \
      o[i] = (uint8_t)(x OPERATOR y);                                                         \
    }                                                                                         \
  }
#define TT_ORDER_FNS(B) TT_ORDER_FN(B, EQ, ==) TT_ORDER_FN(B, NE, !=) TT_ORDER_FN(B, LT, <) \
  TT_ORDER_FN(B, LE, <=) TT_ORDER_FN(B, GT, >) TT_ORDER_FN(B, GE, >=)
TT_ORDER_FNS(8) TT_ORDER_FNS(16) TT_ORDER_FNS(32) TT_ORDER_FNS(64)

// ---- select, clamp -----------------------------------------------------------------------------
#define TT_SELECT_FN(B, T)                                                                    \
  static void TT_K(select_##B)(void* out, const void* ps, const void* xs, const void* ys, size_t n) { \
    T* o = out; const uint8_t* p = ps; const T *px = xs, *py = ys;                            \
    TT_LANES(i, n) { T x = px[i], y = py[i]; o[i] = p[i] ? x : y; }                           \
  }
TT_SELECT_FN(1, uint8_t) TT_SELECT_FN(2, uint16_t) TT_SELECT_FN(4, uint32_t) TT_SELECT_FN(8, uint64_t)
static void TT_K(select_16)(void* out, const void* ps, const void* xs, const void* ys, size_t n) {
  uint64_t* o = out;
  const uint8_t* p = ps;
  const uint64_t *px = xs, *py = ys;
  TT_LANES(i, n) {
    const uint64_t* from = p[i] ? px + 2 * i : py + 2 * i;
    uint64_t low = from[0], high = from[1];
    o[2 * i] = low;
    o[2 * i + 1] = high;
  }
}
#define TT_CLAMP_INT(D, T, U, W, B)                                                           \
  static void TT_K(clamp_##D)(void* out, const void* ls, const void* xs, const void* hs, size_t n) { \
    T* o = out; const T *pl = ls, *px = xs, *ph = hs;                                         \
    TT_LANES(i, n) {                                                                          \
      T v = px[i] > pl[i] ? px[i] : pl[i];                                                    \
      o[i] = v < ph[i] ? v : ph[i];                                                           \
    }                                                                                         \
  }
TT_INTEGERS(TT_CLAMP_INT)

// ---- instances of the half types ------------------------------------------------------------------
#define TT_MATH_UNARY(OP, function)                                                           \
  TT_HALF_UNARY_FN(BF16, uint16_t, OP, TT_K(tt_math_f32_##OP)) TT_HALF_UNARY_FN(F16, uint16_t, OP, TT_K(tt_math_f32_##OP))
#define TT_MATH_BINARY(OP, function)                                                          \
  TT_HALF_BINARY_FN(BF16, uint16_t, OP, TT_K(tt_math_f32_##OP)) TT_HALF_BINARY_FN(F16, uint16_t, OP, TT_K(tt_math_f32_##OP))
#include "kernels/math.def"
#define TT_HALF_U(OP) TT_HALF_UNARY_FN(BF16, uint16_t, OP, TT_K(un_F32_##OP)) TT_HALF_UNARY_FN(F16, uint16_t, OP, TT_K(un_F32_##OP))
TT_FLOAT_SIMPLE_UNARY(TT_HALF_U)
#define TT_HALF_T(OP) TT_HALF_TEST_FN(BF16, uint16_t, OP, TT_K(un_F32_##OP)) TT_HALF_TEST_FN(F16, uint16_t, OP, TT_K(un_F32_##OP))
TT_FLOAT_TESTS(TT_HALF_T)
#define TT_HALF_B(OP) TT_HALF_BINARY_FN(BF16, uint16_t, OP, TT_K(bin_F32_##OP)) TT_HALF_BINARY_FN(F16, uint16_t, OP, TT_K(bin_F32_##OP))
TT_FLOAT_SIMPLE_BINARY(TT_HALF_B)
TT_HALF_CMP_FNS(BF16, uint16_t)
TT_HALF_CMP_FNS(F16, uint16_t)
TT_HALF_CLAMP_FN(BF16, uint16_t)
TT_HALF_CLAMP_FN(F16, uint16_t)
TT_BINARY_FN(BF16, uint16_t, CHLO_NEXT_AFTER, TT_K(next_after_bits)(x, y, 0x8000u, 0x7f80u))
TT_BINARY_FN(F16, uint16_t, CHLO_NEXT_AFTER, TT_K(next_after_bits)(x, y, 0x8000u, 0x7c00u))

// ---- look-up -----------------------------------------------------------------------------------
#define TT_CASE_UN(D, OP) case TT_OP_##OP: return TT_K(un_##D##_##OP);
#define TT_CASE_BIN(D, OP) case TT_OP_##OP: return TT_K(bin_##D##_##OP);

#define TT_ROW_INT_UN(D, T, U, W, B)                                                          \
  case TT_DTYPE_##D: switch (kind) {                                                          \
    TT_CASE_UN(D, NOT) TT_CASE_UN(D, NEGATE) TT_CASE_UN(D, CHLO_SQUARE) TT_CASE_UN(D, POPCNT) \
    TT_CASE_UN(D, COUNT_LEADING_ZEROS) TT_CASE_UN(D, ABS) TT_CASE_UN(D, SIGN)                 \
    default: return NULL; }
#define TT_ROW_INT_BIN(D, T, U, W, B)                                                         \
  case TT_DTYPE_##D: switch (kind) {                                                          \
    TT_CASE_BIN(D, ADD) TT_CASE_BIN(D, SUBTRACT) TT_CASE_BIN(D, MULTIPLY) TT_CASE_BIN(D, MAXIMUM) \
    TT_CASE_BIN(D, MINIMUM) TT_CASE_BIN(D, AND) TT_CASE_BIN(D, OR) TT_CASE_BIN(D, XOR)        \
    TT_CASE_BIN(D, SHIFT_LEFT) TT_CASE_BIN(D, SHIFT_RIGHT_LOGICAL)                            \
    TT_CASE_BIN(D, SHIFT_RIGHT_ARITHMETIC) TT_CASE_BIN(D, DIVIDE) TT_CASE_BIN(D, REMAINDER)   \
    TT_CASE_BIN(D, POWER)                                                                     \
    default: return NULL; }

tt_k_unary_fn_t TT_K(tt_k_unary)(tt_op_kind_t kind, tt_dtype_t dtype) {
  switch (dtype) {
    TT_INTEGERS(TT_ROW_INT_UN)
    case TT_DTYPE_PRED: return kind == TT_OP_NOT ? TT_K(un_PRED_NOT) : NULL;
#define TT_MATH_UNARY(OP, function) case TT_OP_##OP: return TT_K(tt_math_f32_##OP);
#define TT_U(OP) TT_CASE_UN(F32, OP)
    case TT_DTYPE_F32: switch (kind) {
#include "kernels/math.def"
      TT_FLOAT_SIMPLE_UNARY(TT_U) TT_FLOAT_TESTS(TT_U)
      default: return NULL; }
#undef TT_U
#define TT_MATH_UNARY(OP, function) case TT_OP_##OP: return TT_K(tt_math_f64_##OP);
#define TT_U(OP) TT_CASE_UN(F64, OP)
    case TT_DTYPE_F64: switch (kind) {
#include "kernels/math.def"
      TT_FLOAT_SIMPLE_UNARY(TT_U) TT_FLOAT_TESTS(TT_U)
      default: return NULL; }
#undef TT_U
#define TT_MATH_UNARY(OP, function) TT_CASE_UN(BF16, OP)
#define TT_U(OP) TT_CASE_UN(BF16, OP)
    case TT_DTYPE_BF16: switch (kind) {
#include "kernels/math.def"
      TT_FLOAT_SIMPLE_UNARY(TT_U) TT_FLOAT_TESTS(TT_U)
      default: return NULL; }
#undef TT_U
#define TT_MATH_UNARY(OP, function) TT_CASE_UN(F16, OP)
#define TT_U(OP) TT_CASE_UN(F16, OP)
    case TT_DTYPE_F16: switch (kind) {
#include "kernels/math.def"
      TT_FLOAT_SIMPLE_UNARY(TT_U) TT_FLOAT_TESTS(TT_U)
      default: return NULL; }
#undef TT_U
    default: return NULL;
  }
}

tt_k_binary_fn_t TT_K(tt_k_binary)(tt_op_kind_t kind, tt_dtype_t dtype) {
  switch (dtype) {
    TT_INTEGERS(TT_ROW_INT_BIN)
    case TT_DTYPE_PRED: switch (kind) {
      case TT_OP_AND: case TT_OP_MULTIPLY: case TT_OP_MINIMUM: return TT_K(bin_PRED_AND);
      case TT_OP_OR: case TT_OP_ADD: case TT_OP_MAXIMUM: return TT_K(bin_PRED_OR);
      case TT_OP_XOR: return TT_K(bin_PRED_XOR);
      default: return NULL; }
#define TT_MATH_UNARY(OP, function)
#define TT_MATH_BINARY(OP, function) case TT_OP_##OP: return TT_K(tt_math_f32_##OP);
#define TT_B(OP) TT_CASE_BIN(F32, OP)
    case TT_DTYPE_F32: switch (kind) {
#include "kernels/math.def"
      TT_FLOAT_SIMPLE_BINARY(TT_B) TT_CASE_BIN(F32, CHLO_NEXT_AFTER)
      default: return NULL; }
#undef TT_B
#define TT_MATH_UNARY(OP, function)
#define TT_MATH_BINARY(OP, function) case TT_OP_##OP: return TT_K(tt_math_f64_##OP);
#define TT_B(OP) TT_CASE_BIN(F64, OP)
    case TT_DTYPE_F64: switch (kind) {
#include "kernels/math.def"
      TT_FLOAT_SIMPLE_BINARY(TT_B) TT_CASE_BIN(F64, CHLO_NEXT_AFTER)
      default: return NULL; }
#undef TT_B
#define TT_MATH_UNARY(OP, function)
#define TT_MATH_BINARY(OP, function) TT_CASE_BIN(BF16, OP)
#define TT_B(OP) TT_CASE_BIN(BF16, OP)
    case TT_DTYPE_BF16: switch (kind) {
#include "kernels/math.def"
      TT_FLOAT_SIMPLE_BINARY(TT_B) TT_CASE_BIN(BF16, CHLO_NEXT_AFTER)
      default: return NULL; }
#undef TT_B
#define TT_MATH_UNARY(OP, function)
#define TT_MATH_BINARY(OP, function) TT_CASE_BIN(F16, OP)
#define TT_B(OP) TT_CASE_BIN(F16, OP)
    case TT_DTYPE_F16: switch (kind) {
#include "kernels/math.def"
      TT_FLOAT_SIMPLE_BINARY(TT_B) TT_CASE_BIN(F16, CHLO_NEXT_AFTER)
      default: return NULL; }
#undef TT_B
    default: return NULL;
  }
}

#define TT_CMP_ROW(P) { static const tt_k_binary_fn_t row[6] = {TT_K(P##_EQ), TT_K(P##_NE), TT_K(P##_LT), \
  TT_K(P##_LE), TT_K(P##_GT), TT_K(P##_GE)}; return row[direction]; }
#define TT_CMP_CASE(D, T, U, W, B) case TT_DTYPE_##D: TT_CMP_ROW(cmp_##D)
tt_k_binary_fn_t TT_K(tt_k_compare)(tt_k_compare_t direction, tt_dtype_t dtype, bool total_order) {
  switch (dtype) {
    TT_INTEGERS(TT_CMP_CASE)
    case TT_DTYPE_PRED: TT_CMP_ROW(cmp_U8)
    case TT_DTYPE_F32: if (total_order) TT_CMP_ROW(order_32) TT_CMP_ROW(cmp_F32)
    case TT_DTYPE_F64: if (total_order) TT_CMP_ROW(order_64) TT_CMP_ROW(cmp_F64)
    case TT_DTYPE_F16: if (total_order) TT_CMP_ROW(order_16) TT_CMP_ROW(cmp_F16)
    case TT_DTYPE_BF16: if (total_order) TT_CMP_ROW(order_16) TT_CMP_ROW(cmp_BF16)
    default:
      if (tt_dtype_is_float(dtype) && total_order && tt_dtype_bytes(dtype) == 1) TT_CMP_ROW(order_8)
      return NULL;
  }
}

tt_k_ternary_fn_t TT_K(tt_k_select)(size_t bytes) {
  switch (bytes) {
    case 1: return TT_K(select_1);
    case 2: return TT_K(select_2);
    case 4: return TT_K(select_4);
    case 8: return TT_K(select_8);
    case 16: return TT_K(select_16);
    default: return NULL;
  }
}

tt_k_ternary_fn_t TT_K(tt_k_clamp)(tt_dtype_t dtype) {
#define TT_CLAMP_CASE(D, T, U, W, B) case TT_DTYPE_##D: return TT_K(clamp_##D);
  switch (dtype) {
    TT_INTEGERS(TT_CLAMP_CASE)
    case TT_DTYPE_PRED: case TT_DTYPE_U4: case TT_DTYPE_U2: return TT_K(clamp_U8);
    case TT_DTYPE_S4: case TT_DTYPE_S2: return TT_K(clamp_S8);
    case TT_DTYPE_F32: return TT_K(clamp_F32);
    case TT_DTYPE_F64: return TT_K(clamp_F64);
    case TT_DTYPE_F16: return TT_K(clamp_F16);
    case TT_DTYPE_BF16: return TT_K(clamp_BF16);
    default: return NULL;
  }
}

tt_k_ternary_fn_t TT_K(tt_k_fma)(tt_dtype_t dtype) {
  return dtype == TT_DTYPE_F32 ? TT_K(fma_F32) : dtype == TT_DTYPE_F64 ? TT_K(fma_F64) : NULL;
}
