// Choice of the lane kernels by ISA, and the ones that need no ISA: layout, fill, iota, reduce_precision.
#include "kernels/convert_scalar.h"
#include "kernels/elementwise_isa.h"
#include "kernels/math_lanes.h"

#if defined(__x86_64__)
#define TT_BY_ISA(name, args)                                     \
  (tt_k_isa() >= TT_ISA_AVX512 ? name##__avx512 args              \
   : tt_k_isa() == TT_ISA_AVX2 ? name##__avx2 args : name##__generic args)
#else
#define TT_BY_ISA(name, args) name##__generic args
#endif

static bool tt_dtype_valid(tt_dtype_t dtype) { return (unsigned)dtype < TT_DTYPE_COUNT && dtype != TT_DTYPE_INVALID; }

static void tt_identity_2(void* out, const void* x, size_t n) { memmove(out, x, 2 * n); }
static void tt_identity_4(void* out, const void* x, size_t n) { memmove(out, x, 4 * n); }
static void tt_identity_8(void* out, const void* x, size_t n) { memmove(out, x, 8 * n); }
static void tt_identity_1(void* out, const void* x, size_t n) { memmove(out, x, n); }
static void tt_identity_16(void* out, const void* x, size_t n) { memmove(out, x, 16 * n); }
static tt_k_unary_fn_t tt_identity(size_t bytes) {
  switch (bytes) {
    case 1: return tt_identity_1;
    case 2: return tt_identity_2;
    case 4: return tt_identity_4;
    case 8: return tt_identity_8;
    case 16: return tt_identity_16;
    default: return NULL;
  }
}

tt_k_unary_fn_t tt_k_unary(tt_op_kind_t kind, tt_dtype_t dtype) {
  if (!tt_dtype_valid(dtype)) return NULL;
  if (kind == TT_OP_CHLO_TAN) kind = TT_OP_TAN;
  if (kind == TT_OP_CHLO_CONJ && !tt_dtype_is_complex(dtype)) return tt_identity(tt_dtype_bytes(dtype));
  if (tt_dtype_is_complex(dtype)) return tt_k_unary_complex(kind, dtype);
  tt_k_unary_fn_t fn = TT_BY_ISA(tt_k_unary, (kind, dtype));
  return fn ? fn : tt_k_unary_small(kind, dtype);
}

tt_k_binary_fn_t tt_k_binary(tt_op_kind_t kind, tt_dtype_t dtype) {
  if (!tt_dtype_valid(dtype)) return NULL;
  if (kind == TT_OP_COMPLEX || tt_dtype_is_complex(dtype)) return tt_k_binary_complex(kind, dtype);
  tt_k_binary_fn_t fn = TT_BY_ISA(tt_k_binary, (kind, dtype));
  return fn ? fn : tt_k_binary_small(kind, dtype);
}

tt_k_binary_fn_t tt_k_compare(tt_k_compare_t direction, tt_dtype_t dtype, bool total_order) {
  if (!tt_dtype_valid(dtype) || (unsigned)direction > TT_CMP_GE) return NULL;
  if (tt_dtype_is_complex(dtype)) return tt_k_compare_complex(direction, dtype);
  tt_k_binary_fn_t fn = TT_BY_ISA(tt_k_compare, (direction, dtype, total_order));
  return fn ? fn : tt_k_compare_small(direction, dtype);
}

tt_k_unary_fn_t tt_k_convert(tt_dtype_t from, tt_dtype_t to) {
  if (!tt_dtype_valid(from) || !tt_dtype_valid(to)) return NULL;
  if (from == to) return tt_identity(tt_dtype_bytes(from));
  tt_k_unary_fn_t fn = TT_BY_ISA(tt_k_convert, (from, to));
  return fn ? fn : tt_k_convert_small(from, to);
}

tt_k_ternary_fn_t tt_k_select(size_t element_bytes) { return TT_BY_ISA(tt_k_select, (element_bytes)); }

tt_k_ternary_fn_t tt_k_clamp(tt_dtype_t dtype) {
  if (!tt_dtype_valid(dtype)) return NULL;
  tt_k_ternary_fn_t fn = TT_BY_ISA(tt_k_clamp, (dtype));
  return fn ? fn : tt_k_clamp_small(dtype);
}

tt_k_ternary_fn_t tt_k_fma(tt_dtype_t dtype) { return TT_BY_ISA(tt_k_fma, (dtype)); }

tt_k_top_fn_t tt_k_top(tt_dtype_t dtype) {
  return dtype == TT_DTYPE_F64 ? TT_BY_ISA(tt_math_f64_top, ) : TT_BY_ISA(tt_math_f32_top, );
}
tt_k_exp_sum_fn_t tt_k_exp_sum(tt_dtype_t dtype) {
  return dtype == TT_DTYPE_F64 ? TT_BY_ISA(tt_math_f64_exp_sum, ) : TT_BY_ISA(tt_math_f32_exp_sum, );
}

// ---- chains ------------------------------------------------------------------------------------
uint32_t tt_k_compound_count(void) { return TT_K_COMPOUNDS; }
const char* tt_k_compound_postfix(uint32_t compound) {
  static const char* const postfix[] = {
#define TT_COMPOUND(NAME, constants, formula, postfix) postfix,
#include "kernels/compound.def"
  };
  return compound < TT_K_COMPOUNDS ? postfix[compound] : "";
}
tt_k_compound_fn_t tt_k_compound(uint32_t compound) {
  switch (compound) {
#define TT_COMPOUND(NAME, constants, formula, postfix) case TT_K_##NAME: return TT_BY_ISA(tt_compound_##NAME, );
#include "kernels/compound.def"
    default: return NULL;
  }
}

tt_k_argfold_fn_t tt_k_argmax(tt_dtype_t dtype) {
  return tt_dtype_valid(dtype) ? TT_BY_ISA(tt_k_argfold, (true, dtype)) : NULL;
}
tt_k_argfold_fn_t tt_k_argmin(tt_dtype_t dtype) {
  return tt_dtype_valid(dtype) ? TT_BY_ISA(tt_k_argfold, (false, dtype)) : NULL;
}

// ---- reduce_precision --------------------------------------------------------------------------
// Rounds the mantissa of raw bits to nearest even, then overflows to infinity and underflows to zero.
typedef struct tt_precision_s { int total, exponent, mantissa; } tt_precision_t;

static inline uint64_t tt_reduce_bits(tt_precision_t f, int exponent_bits, int mantissa_bits, uint64_t x) {
  const uint64_t sign = x & 1ull << (f.total - 1);
  const uint64_t infinity = ((1ull << f.exponent) - 1) << f.mantissa;
  uint64_t a = x ^ sign;
  if (a > infinity) return x;
  if (mantissa_bits < f.mantissa) {
    int drop = f.mantissa - mantissa_bits;
    uint64_t last = a >> drop & 1;
    a = (a + (1ull << (drop - 1)) - 1 + last) & ~((1ull << drop) - 1);
  }
  if (exponent_bits < f.exponent) {
    uint64_t bias = (1ull << (f.exponent - 1)) - 1, reduced = (1ull << (exponent_bits - 1)) - 1;
    uint64_t exponent = a >> f.mantissa;
    if (exponent > bias + reduced) a = infinity;
    if (exponent <= bias - reduced) a = 0;
  }
  return sign | a;
}

void tt_k_reduce_precision(tt_dtype_t dtype, int exponent_bits, int mantissa_bits, void* out, const void* x, size_t n) {
  switch (dtype) {
    case TT_DTYPE_F32:
      for (size_t i = 0; i < n; ++i)
        ((uint32_t*)out)[i] = (uint32_t)tt_reduce_bits((tt_precision_t){32, 8, 23}, exponent_bits, mantissa_bits, ((const uint32_t*)x)[i]);
      return;
    case TT_DTYPE_F64:
      for (size_t i = 0; i < n; ++i)
        ((uint64_t*)out)[i] = tt_reduce_bits((tt_precision_t){64, 11, 52}, exponent_bits, mantissa_bits, ((const uint64_t*)x)[i]);
      return;
    case TT_DTYPE_BF16: case TT_DTYPE_F16: {
      tt_precision_t f = dtype == TT_DTYPE_BF16 ? (tt_precision_t){16, 8, 7} : (tt_precision_t){16, 5, 10};
      for (size_t i = 0; i < n; ++i)
        ((uint16_t*)out)[i] = (uint16_t)tt_reduce_bits(f, exponent_bits, mantissa_bits, ((const uint16_t*)x)[i]);
      return;
    }
    case TT_DTYPE_F8E5M2: case TT_DTYPE_F8E4M3: case TT_DTYPE_F8E3M4: {
      tt_small_t s = tt_small_format(dtype);
      tt_precision_t f = {8, s.exponent_bits, s.mantissa_bits};
      for (size_t i = 0; i < n; ++i)
        ((uint8_t*)out)[i] = (uint8_t)tt_reduce_bits(f, exponent_bits, mantissa_bits, ((const uint8_t*)x)[i]);
      return;
    }
    default:   // formats without infinities have no defined result: unchanged
      memmove(out, x, n * tt_dtype_bytes(dtype));
      return;
  }
}

// ---- fill, iota --------------------------------------------------------------------------------
void tt_k_fill(void* out, const void* element, size_t bytes, size_t n) {
  switch (bytes) {
    case 1: memset(out, *(const uint8_t*)element, n); return;
    case 2: { uint16_t v; memcpy(&v, element, 2); for (size_t i = 0; i < n; ++i) ((uint16_t*)out)[i] = v; return; }
    case 4: { uint32_t v; memcpy(&v, element, 4); for (size_t i = 0; i < n; ++i) ((uint32_t*)out)[i] = v; return; }
    case 8: { uint64_t v; memcpy(&v, element, 8); for (size_t i = 0; i < n; ++i) ((uint64_t*)out)[i] = v; return; }
    default: {
      char copy[64];
      if (bytes > sizeof copy) return;
      memcpy(copy, element, bytes);
      for (size_t i = 0; i < n; ++i) memcpy((char*)out + i * bytes, copy, bytes);
      return;
    }
  }
}

void tt_k_iota(tt_dtype_t dtype, void* out, int64_t start, int64_t step, size_t n) {
#define TT_IOTA(T) for (size_t i = 0; i < n; ++i) ((T*)out)[i] = (T)((uint64_t)start + (uint64_t)i * (uint64_t)step); return;
  switch (dtype) {
    case TT_DTYPE_S8: case TT_DTYPE_U8: TT_IOTA(uint8_t)
    case TT_DTYPE_S16: case TT_DTYPE_U16: TT_IOTA(uint16_t)
    case TT_DTYPE_S32: case TT_DTYPE_U32: TT_IOTA(uint32_t)
    case TT_DTYPE_S64: case TT_DTYPE_U64: TT_IOTA(uint64_t)
    default: break;
  }
  // counts beyond the format's integers round once from int64
  enum { kBlock = 256 };
  int64_t block[kBlock];
  tt_k_unary_fn_t convert = tt_k_convert(TT_DTYPE_S64, dtype);
  size_t bytes = tt_dtype_bytes(dtype);
  if (!convert) return;
  for (size_t i = 0; i < n; i += kBlock) {
    size_t m = TT_MIN(n - i, (size_t)kBlock);
    for (size_t j = 0; j < m; ++j) block[j] = (int64_t)((uint64_t)start + (uint64_t)(i + j) * (uint64_t)step);
    convert((char*)out + i * bytes, block, m);
  }
}

// ---- layout ------------------------------------------------------------------------------------
typedef struct tt_u128_s { uint64_t a, b; } tt_u128_t;
#define TT_BY_SIZE(bytes, BODY)                   \
  switch (bytes) {                                \
    case 1: { BODY(uint8_t) break; }              \
    case 2: { BODY(uint16_t) break; }             \
    case 4: { BODY(uint32_t) break; }             \
    case 8: { BODY(uint64_t) break; }             \
    case 16: { BODY(tt_u128_t) break; }           \
    default: break;                               \
  }

void tt_k_gather_strided(void* out, const void* x, int64_t stride, size_t element_bytes, size_t n) {
  if (stride == 1) {
    memmove(out, x, n * element_bytes);
    return;
  }
  if (stride == 0 && n) {
    tt_k_fill(out, x, element_bytes, n);
    return;
  }
#define TT_GATHER(T) T* o = out; const T* p = x; for (size_t i = 0; i < n; ++i) o[i] = p[(int64_t)i * stride];
  TT_BY_SIZE(element_bytes, TT_GATHER)
}

void tt_k_scatter_strided(void* out, int64_t stride, const void* x, size_t element_bytes, size_t n) {
  if (stride == 1) {
    memmove(out, x, n * element_bytes);
    return;
  }
#define TT_SCATTER(T) T* o = out; const T* p = x; for (size_t i = 0; i < n; ++i) o[(int64_t)i * stride] = p[i];
  TT_BY_SIZE(element_bytes, TT_SCATTER)
}

// 4 x 4 of 32-bit elements in registers: whole source lines are used up while they are in the first level.
typedef uint32_t tt_u32x4_t __attribute__((vector_size(16), aligned(4), may_alias));
static void transpose_squares_32(uint32_t* out, int64_t out_row_stride, const uint32_t* x, int64_t col_stride, size_t rows, size_t cols) {
  for (size_t c = 0; c + 4 <= cols; c += 4) {
    const uint32_t* p = x + (int64_t)c * col_stride;
    uint32_t* o = out + c;
    for (size_t r = 0; r + 4 <= rows; r += 4, o += 4 * out_row_stride) {
      tt_u32x4_t a = *(const tt_u32x4_t*)(p + r), b = *(const tt_u32x4_t*)(p + col_stride + r);
      tt_u32x4_t d = *(const tt_u32x4_t*)(p + 2 * col_stride + r), e = *(const tt_u32x4_t*)(p + 3 * col_stride + r);
      tt_u32x4_t ab0 = __builtin_shuffle(a, b, (tt_u32x4_t){0, 4, 1, 5}), ab1 = __builtin_shuffle(a, b, (tt_u32x4_t){2, 6, 3, 7});
      tt_u32x4_t de0 = __builtin_shuffle(d, e, (tt_u32x4_t){0, 4, 1, 5}), de1 = __builtin_shuffle(d, e, (tt_u32x4_t){2, 6, 3, 7});
      *(tt_u32x4_t*)o = __builtin_shuffle(ab0, de0, (tt_u32x4_t){0, 1, 4, 5});
      *(tt_u32x4_t*)(o + out_row_stride) = __builtin_shuffle(ab0, de0, (tt_u32x4_t){2, 3, 6, 7});
      *(tt_u32x4_t*)(o + 2 * out_row_stride) = __builtin_shuffle(ab1, de1, (tt_u32x4_t){0, 1, 4, 5});
      *(tt_u32x4_t*)(o + 3 * out_row_stride) = __builtin_shuffle(ab1, de1, (tt_u32x4_t){2, 3, 6, 7});
    }
  }
}

void tt_k_transpose_block(void* out, int64_t out_row_stride, const void* x, int64_t row_stride, int64_t col_stride,
                          size_t rows, size_t cols, size_t element_bytes) {
  if (col_stride == 1) {
    for (size_t r = 0; r < rows; ++r) {
      memcpy((char*)out + (int64_t)r * out_row_stride * (int64_t)element_bytes,
             (const char*)x + (int64_t)r * row_stride * (int64_t)element_bytes, cols * element_bytes);
    }
    return;
  }
  if (element_bytes == 4 && row_stride == 1) {
    size_t full_rows = rows & ~(size_t)3, full_cols = cols & ~(size_t)3;
    transpose_squares_32(out, out_row_stride, x, col_stride, full_rows, full_cols);
    uint32_t* o = out;
    const uint32_t* p = x;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = r < full_rows ? full_cols : 0; c < cols; ++c) o[(int64_t)r * out_row_stride + (int64_t)c] = p[(int64_t)r + (int64_t)c * col_stride];
    }
    return;
  }
  // squares of 16: the lines of both sides stay in the first cache level
#define TT_TRANSPOSE(T)                                                                      \
  T* o = out; const T* p = x;                                                                \
  for (size_t r0 = 0; r0 < rows; r0 += 16) {                                                 \
    size_t r1 = TT_MIN(r0 + 16, rows);                                                       \
    for (size_t c0 = 0; c0 < cols; c0 += 16) {                                               \
      size_t c1 = TT_MIN(c0 + 16, cols);                                                     \
      for (size_t r = r0; r < r1; ++r) {                                                     \
        for (size_t c = c0; c < c1; ++c) {                                                   \
          o[(int64_t)r * out_row_stride + (int64_t)c] = p[(int64_t)r * row_stride + (int64_t)c * col_stride]; \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }
  TT_BY_SIZE(element_bytes, TT_TRANSPOSE)
}
