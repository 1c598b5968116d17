// f8* and f4 (through blocks of f32, rounded once), i4, i2, ui4, ui2 (as bytes, wrapped to their width).
// One set for all ISAs: these types are storage formats, arithmetic on them is rare.
#include "kernels/convert_scalar.h"
#include "kernels/elementwise_isa.h"

enum { kBlock = 256 };

#define TT_SMALL_FLOATS(X) X(F8E5M2) X(F8E4M3FN) X(F8E4M3B11FNUZ) X(F8E5M2FNUZ) X(F8E4M3FNUZ) X(F8E4M3) X(F8E3M4) \
  X(F8E8M0FNU) X(F4E2M1FN)

static void tt_small_widen(tt_dtype_t dtype, float* out, const uint8_t* x, size_t n) {
  tt_k_convert_small(dtype, TT_DTYPE_F32)(out, x, n);
}
static void tt_small_narrow(tt_dtype_t dtype, uint8_t* out, const float* x, size_t n) {
  tt_k_convert_small(TT_DTYPE_F32, dtype)(out, x, n);
}
static bool tt_small_is_test(tt_op_kind_t kind) {
  return kind == TT_OP_IS_FINITE || kind == TT_OP_CHLO_IS_INF || kind == TT_OP_CHLO_IS_POS_INF || kind == TT_OP_CHLO_IS_NEG_INF;
}

static void tt_small_unary(tt_dtype_t dtype, tt_op_kind_t kind, void* out, const void* x, size_t n) {
  tt_k_unary_fn_t fn = tt_k_unary__generic(kind, TT_DTYPE_F32);
  float block[kBlock];
  for (size_t i = 0; i < n; i += kBlock) {
    size_t m = TT_MIN(n - i, (size_t)kBlock);
    tt_small_widen(dtype, block, (const uint8_t*)x + i, m);
    if (tt_small_is_test(kind)) {
      fn((uint8_t*)out + i, block, m);
    } else {
      fn(block, block, m);
      tt_small_narrow(dtype, (uint8_t*)out + i, block, m);
    }
  }
}
static void tt_small_binary(tt_dtype_t dtype, tt_op_kind_t kind, void* out, const void* x, const void* y, size_t n) {
  tt_k_binary_fn_t fn = tt_k_binary__generic(kind, TT_DTYPE_F32);
  float bx[kBlock], by[kBlock];
  for (size_t i = 0; i < n; i += kBlock) {
    size_t m = TT_MIN(n - i, (size_t)kBlock);
    tt_small_widen(dtype, bx, (const uint8_t*)x + i, m);
    tt_small_widen(dtype, by, (const uint8_t*)y + i, m);
    fn(bx, bx, by, m);
    tt_small_narrow(dtype, (uint8_t*)out + i, bx, m);
  }
}
static void tt_small_compare(tt_dtype_t dtype, tt_k_compare_t direction, void* out, const void* x, const void* y, size_t n) {
  tt_k_binary_fn_t fn = tt_k_compare__generic(direction, TT_DTYPE_F32, false);
  float bx[kBlock], by[kBlock];
  for (size_t i = 0; i < n; i += kBlock) {
    size_t m = TT_MIN(n - i, (size_t)kBlock);
    tt_small_widen(dtype, bx, (const uint8_t*)x + i, m);
    tt_small_widen(dtype, by, (const uint8_t*)y + i, m);
    fn((uint8_t*)out + i, bx, by, m);
  }
}
static void tt_small_clamp(tt_dtype_t dtype, void* out, const void* l, const void* x, const void* h, size_t n) {
  tt_k_ternary_fn_t fn = tt_k_clamp__generic(TT_DTYPE_F32);
  float bl[kBlock], bx[kBlock], bh[kBlock];
  for (size_t i = 0; i < n; i += kBlock) {
    size_t m = TT_MIN(n - i, (size_t)kBlock);
    tt_small_widen(dtype, bl, (const uint8_t*)l + i, m);
    tt_small_widen(dtype, bx, (const uint8_t*)x + i, m);
    tt_small_widen(dtype, bh, (const uint8_t*)h + i, m);
    fn(bx, bl, bx, bh, m);
    tt_small_narrow(dtype, (uint8_t*)out + i, bx, m);
  }
}

// Sub-byte integers: the byte kernel, then the low bits, sign-extended for i4 and i2.
static void tt_sub_wrap(tt_dtype_t dtype, uint8_t* v, size_t n) {
  switch (dtype) {
    case TT_DTYPE_S4: for (size_t i = 0; i < n; ++i) v[i] = (uint8_t)((int8_t)(v[i] << 4) >> 4); break;
    case TT_DTYPE_S2: for (size_t i = 0; i < n; ++i) v[i] = (uint8_t)((int8_t)(v[i] << 6) >> 6); break;
    case TT_DTYPE_U4: for (size_t i = 0; i < n; ++i) v[i] &= 15; break;
    default: for (size_t i = 0; i < n; ++i) v[i] &= 3; break;
  }
}
static int tt_sub_bits(tt_dtype_t d) { return d == TT_DTYPE_S4 || d == TT_DTYPE_U4 ? 4 : 2; }
static bool tt_sub_signed(tt_dtype_t d) { return d == TT_DTYPE_S4 || d == TT_DTYPE_S2; }

static void tt_sub_unary(tt_dtype_t dtype, tt_op_kind_t kind, void* out, const void* xs, size_t n) {
  uint8_t* o = out;
  const uint8_t* x = xs;
  int bits = tt_sub_bits(dtype);
  uint8_t mask = (uint8_t)((1 << bits) - 1);
  if (kind == TT_OP_POPCNT) {
    for (size_t i = 0; i < n; ++i) o[i] = (uint8_t)__builtin_popcount(x[i] & mask);
  } else if (kind == TT_OP_COUNT_LEADING_ZEROS) {
    for (size_t i = 0; i < n; ++i) o[i] = (uint8_t)((x[i] & mask) ? __builtin_clz(x[i] & mask) - (32 - bits) : bits);
  } else {
    tt_k_unary__generic(kind, tt_sub_signed(dtype) ? TT_DTYPE_S8 : TT_DTYPE_U8)(out, xs, n);
  }
  tt_sub_wrap(dtype, o, n);
}
static void tt_sub_binary(tt_dtype_t dtype, tt_op_kind_t kind, void* out, const void* xs, const void* ys, size_t n) {
  uint8_t* o = out;
  const uint8_t *x = xs, *y = ys;
  int bits = tt_sub_bits(dtype);
  uint8_t mask = (uint8_t)((1 << bits) - 1);
  switch (kind) {
    case TT_OP_SHIFT_LEFT:
      for (size_t i = 0; i < n; ++i) o[i] = (uint8_t)((y[i] & mask) < bits ? x[i] << (y[i] & mask) : 0);
      break;
    case TT_OP_SHIFT_RIGHT_LOGICAL:
      for (size_t i = 0; i < n; ++i) o[i] = (uint8_t)((y[i] & mask) < bits ? (x[i] & mask) >> (y[i] & mask) : 0);
      break;
    case TT_OP_SHIFT_RIGHT_ARITHMETIC:
      for (size_t i = 0; i < n; ++i) {
        int shift = (y[i] & mask) < bits ? (y[i] & mask) : bits - 1;
        o[i] = (uint8_t)((int8_t)(x[i] << (8 - bits)) >> (8 - bits + shift));
      }
      break;
    default: tt_k_binary__generic(kind, tt_sub_signed(dtype) ? TT_DTYPE_S8 : TT_DTYPE_U8)(out, xs, ys, n); break;
  }
  tt_sub_wrap(dtype, o, n);
}

#define TT_SUBS(X, OP) X(S4, OP) X(U4, OP) X(S2, OP) X(U2, OP)
#define TT_INT_UNARY(X) X(NOT) X(NEGATE) X(CHLO_SQUARE) X(POPCNT) X(COUNT_LEADING_ZEROS) X(ABS) X(SIGN)
#define TT_INT_BINARY(X) X(ADD) X(SUBTRACT) X(MULTIPLY) X(MAXIMUM) X(MINIMUM) X(AND) X(OR) X(XOR) X(SHIFT_LEFT) \
  X(SHIFT_RIGHT_LOGICAL) X(SHIFT_RIGHT_ARITHMETIC) X(DIVIDE) X(REMAINDER) X(POWER)
#define TT_SUB_UN_FN(D, OP) static void un_##D##_##OP(void* o, const void* x, size_t n) { tt_sub_unary(TT_DTYPE_##D, TT_OP_##OP, o, x, n); }
#define TT_SUB_BIN_FN(D, OP) static void bin_##D##_##OP(void* o, const void* x, const void* y, size_t n) { tt_sub_binary(TT_DTYPE_##D, TT_OP_##OP, o, x, y, n); }
#define TT_SUB_UN_FNS(OP) TT_SUBS(TT_SUB_UN_FN, OP)
#define TT_SUB_BIN_FNS(OP) TT_SUBS(TT_SUB_BIN_FN, OP)
TT_INT_UNARY(TT_SUB_UN_FNS)
TT_INT_BINARY(TT_SUB_BIN_FNS)

#define TT_8(X, OP) X(F8E5M2, OP) X(F8E4M3FN, OP) X(F8E4M3B11FNUZ, OP) X(F8E5M2FNUZ, OP) X(F8E4M3FNUZ, OP) \
  X(F8E4M3, OP) X(F8E3M4, OP) X(F8E8M0FNU, OP) X(F4E2M1FN, OP)
#define TT_FLOAT_UNARY(X) X(ABS) X(NEGATE) X(SIGN) X(FLOOR) X(CEIL) X(ROUND_NEAREST_EVEN) X(ROUND_NEAREST_AFZ) \
  X(SQRT) X(CHLO_SQUARE) X(REAL) X(IMAG) X(IS_FINITE) X(CHLO_IS_INF) X(CHLO_IS_POS_INF) X(CHLO_IS_NEG_INF)
#define TT_FLOAT_BINARY(X) X(ADD) X(SUBTRACT) X(MULTIPLY) X(DIVIDE) X(MAXIMUM) X(MINIMUM)
#define TT_8_UN_FN(D, OP) static void un_##D##_##OP(void* o, const void* x, size_t n) { tt_small_unary(TT_DTYPE_##D, TT_OP_##OP, o, x, n); }
#define TT_8_BIN_FN(D, OP) static void bin_##D##_##OP(void* o, const void* x, const void* y, size_t n) { tt_small_binary(TT_DTYPE_##D, TT_OP_##OP, o, x, y, n); }
#define TT_8_UN_FNS(OP) TT_8(TT_8_UN_FN, OP)
#define TT_8_BIN_FNS(OP) TT_8(TT_8_BIN_FN, OP)
TT_FLOAT_UNARY(TT_8_UN_FNS)
TT_FLOAT_BINARY(TT_8_BIN_FNS)
#define TT_MATH_UNARY(OP, function) TT_8_UN_FNS(OP)
#define TT_MATH_BINARY(OP, function) TT_8_BIN_FNS(OP)
#include "kernels/math.def"

#define TT_CMP_FN(D, OP) static void cmp_##D##_##OP(void* o, const void* x, const void* y, size_t n) { tt_small_compare(TT_DTYPE_##D, TT_CMP_##OP, o, x, y, n); }
TT_8(TT_CMP_FN, EQ) TT_8(TT_CMP_FN, NE) TT_8(TT_CMP_FN, LT) TT_8(TT_CMP_FN, LE) TT_8(TT_CMP_FN, GT) TT_8(TT_CMP_FN, GE)
#define TT_CLAMP_FN(D) static void clamp_##D(void* o, const void* l, const void* x, const void* h, size_t n) { tt_small_clamp(TT_DTYPE_##D, o, l, x, h, n); }
TT_SMALL_FLOATS(TT_CLAMP_FN)

// ---- look-up: a row a type, indexed by op ------------------------------------------------------
#define TT_UN_ENTRY(D, OP) [TT_DTYPE_##D][TT_OP_##OP] = un_##D##_##OP,
#define TT_BIN_ENTRY(D, OP) [TT_DTYPE_##D][TT_OP_##OP] = bin_##D##_##OP,
#define TT_8_UN_ENTRIES(OP) TT_8(TT_UN_ENTRY, OP)
#define TT_8_BIN_ENTRIES(OP) TT_8(TT_BIN_ENTRY, OP)
#define TT_SUB_UN_ENTRIES(OP) TT_SUBS(TT_UN_ENTRY, OP)
#define TT_SUB_BIN_ENTRIES(OP) TT_SUBS(TT_BIN_ENTRY, OP)

static const tt_k_unary_fn_t tt_small_unary_table[TT_DTYPE_COUNT][TT_OP_COUNT] = {
  TT_INT_UNARY(TT_SUB_UN_ENTRIES)
  TT_FLOAT_UNARY(TT_8_UN_ENTRIES)
#define TT_MATH_UNARY(OP, function) TT_8_UN_ENTRIES(OP)
#include "kernels/math.def"
};
static const tt_k_binary_fn_t tt_small_binary_table[TT_DTYPE_COUNT][TT_OP_COUNT] = {
  TT_INT_BINARY(TT_SUB_BIN_ENTRIES)
  TT_FLOAT_BINARY(TT_8_BIN_ENTRIES)
#define TT_MATH_UNARY(OP, function)
#define TT_MATH_BINARY(OP, function) TT_8_BIN_ENTRIES(OP)
#include "kernels/math.def"
};

tt_k_unary_fn_t tt_k_unary_small(tt_op_kind_t kind, tt_dtype_t dtype) {
  return (unsigned)dtype < TT_DTYPE_COUNT && (unsigned)kind < TT_OP_COUNT ? tt_small_unary_table[dtype][kind] : NULL;
}
tt_k_binary_fn_t tt_k_binary_small(tt_op_kind_t kind, tt_dtype_t dtype) {
  return (unsigned)dtype < TT_DTYPE_COUNT && (unsigned)kind < TT_OP_COUNT ? tt_small_binary_table[dtype][kind] : NULL;
}
tt_k_binary_fn_t tt_k_compare_small(tt_k_compare_t direction, tt_dtype_t dtype) {
#define TT_CMP_CASE(D) case TT_DTYPE_##D: { static const tt_k_binary_fn_t row[6] = {cmp_##D##_EQ, cmp_##D##_NE, cmp_##D##_LT, \
  cmp_##D##_LE, cmp_##D##_GT, cmp_##D##_GE}; return row[direction]; }
  switch (dtype) {
    TT_SMALL_FLOATS(TT_CMP_CASE)
    case TT_DTYPE_S4: case TT_DTYPE_S2: return tt_k_compare__generic(direction, TT_DTYPE_S8, false);
    case TT_DTYPE_U4: case TT_DTYPE_U2: return tt_k_compare__generic(direction, TT_DTYPE_U8, false);
    default: return NULL;
  }
}
tt_k_ternary_fn_t tt_k_clamp_small(tt_dtype_t dtype) {
#define TT_CLAMP_CASE(D) case TT_DTYPE_##D: return clamp_##D;
  switch (dtype) {
    TT_SMALL_FLOATS(TT_CLAMP_CASE)
    default: return NULL;
  }
}
