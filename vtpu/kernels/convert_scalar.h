// One element between storage formats: bf16, f16 and the 8- and 4-bit floats, each rounded once to nearest even.
#ifndef TT_VTPU_KERNELS_CONVERT_SCALAR_H_
#define TT_VTPU_KERNELS_CONVERT_SCALAR_H_

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "ir/ir.h"

static inline uint32_t tt_bits_f32(float v) { uint32_t b; memcpy(&b, &v, 4); return b; }
static inline float tt_f32_bits(uint32_t b) { float v; memcpy(&v, &b, 4); return v; }
static inline uint64_t tt_bits_f64(double v) { uint64_t b; memcpy(&b, &v, 8); return b; }
static inline double tt_f64_bits(uint64_t b) { double v; memcpy(&v, &b, 8); return v; }

static inline float tt_f32_from_bf16(uint16_t b) { return tt_f32_bits((uint32_t)b << 16); }
static inline uint16_t tt_bf16_from_f32(float v) {
  uint32_t b = tt_bits_f32(v);
  uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  uint32_t nan = (b >> 16) | 0x40u;
  return (uint16_t)((b & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

static inline float tt_f32_from_f16(uint16_t h) {
  // scaling by 2^112 moves the exponent and normalises denormals exactly
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t rest = (uint32_t)(h & 0x7fffu) << 13;
  float scaled = tt_f32_bits(rest) * 0x1p112f;
  uint32_t bits = (h & 0x7fffu) >= 0x7c00u ? (rest | 0x7f800000u) : tt_bits_f32(scaled);
  return tt_f32_bits(sign | bits);
}
static inline uint16_t tt_f16_from_f32(float v) {
  uint32_t b = tt_bits_f32(v), sign = (b >> 16) & 0x8000u, a = b & 0x7fffffffu;
  uint32_t normal = (a + 0xfffu + ((a >> 13) & 1u) - (112u << 23)) >> 13;
  // adding 0.5 leaves the denormal's 10 bits, rounded to nearest even by the addition, at the bottom
  uint32_t denormal = tt_bits_f32(tt_f32_bits(a) + 0.5f) - 0x3f000000u;
  uint32_t r = a < (113u << 23) ? denormal : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? 0x7e00u | ((a >> 13) & 0x3ffu) : r;
  return (uint16_t)(sign | r);
}

// f64 -> f32 rounded to odd: a later rounding to <= 22 bits then rounds the f64 once.
static inline float tt_f32_odd_from_f64(double v) {
  float f = (float)v;
  double back = (double)f;
  uint32_t b = tt_bits_f32(f);
  uint32_t odd = (b - (uint32_t)(fabs(back) > fabs(v))) | 1u;
  return back == v || v != v ? f : tt_f32_bits(odd);
}

// ---- small floats ------------------------------------------------------------------------------
typedef enum tt_small_kind_e { TT_SMALL_IEEE, TT_SMALL_FN, TT_SMALL_FNUZ, TT_SMALL_E8M0, TT_SMALL_F4 } tt_small_kind_t;
typedef struct tt_small_s { uint8_t exponent_bits, mantissa_bits; int8_t bias; uint8_t kind; } tt_small_t;

// Inlined with a constant dtype, so the switch folds.
static inline tt_small_t tt_small_format(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_F8E5M2: return (tt_small_t){5, 2, 15, TT_SMALL_IEEE};
    case TT_DTYPE_F8E4M3: return (tt_small_t){4, 3, 7, TT_SMALL_IEEE};
    case TT_DTYPE_F8E3M4: return (tt_small_t){3, 4, 3, TT_SMALL_IEEE};
    case TT_DTYPE_F8E4M3FN: return (tt_small_t){4, 3, 7, TT_SMALL_FN};
    case TT_DTYPE_F8E4M3FNUZ: return (tt_small_t){4, 3, 8, TT_SMALL_FNUZ};
    case TT_DTYPE_F8E5M2FNUZ: return (tt_small_t){5, 2, 16, TT_SMALL_FNUZ};
    case TT_DTYPE_F8E4M3B11FNUZ: return (tt_small_t){4, 3, 11, TT_SMALL_FNUZ};
    case TT_DTYPE_F8E8M0FNU: return (tt_small_t){8, 0, 127, TT_SMALL_E8M0};
    default: return (tt_small_t){2, 1, 1, TT_SMALL_F4};
  }
}

static inline double tt_f64_from_small(tt_dtype_t dtype, uint8_t byte) {
  const tt_small_t f = tt_small_format(dtype);
  if (f.kind == TT_SMALL_E8M0) return byte == 0xff ? NAN : tt_f64_bits((uint64_t)(byte - 127 + 1023) << 52);
  unsigned width = 1u + f.exponent_bits + f.mantissa_bits;
  unsigned sign = byte >> (width - 1) & 1u;
  unsigned rest = byte & ((1u << (width - 1)) - 1u);
  unsigned exponent = rest >> f.mantissa_bits, mantissa = rest & ((1u << f.mantissa_bits) - 1u);
  unsigned top = (1u << f.exponent_bits) - 1u;
  if (f.kind == TT_SMALL_IEEE && exponent == top) {
    return mantissa ? (sign ? -NAN : NAN) : (sign ? -INFINITY : INFINITY);
  }
  if (f.kind == TT_SMALL_FN && rest == 0x7fu) return sign ? -NAN : NAN;
  if (f.kind == TT_SMALL_FNUZ && byte == 0x80u) return NAN;
  // mantissa * 2^(1 - bias - mantissa_bits), or with the hidden bit
  int scale = (exponent ? (int)exponent : 1) - f.bias - f.mantissa_bits;
  double value = (double)(mantissa + (exponent ? 1u << f.mantissa_bits : 0u)) *
                 tt_f64_bits((uint64_t)(scale + 1023) << 52);
  return sign ? -value : value;
}

// Overflow: infinity for IEEE kinds, NaN for FN and FNUZ, the largest value for f4 (which has no NaN).
static inline uint8_t tt_small_from_f64(tt_dtype_t dtype, double value) {
  const tt_small_t f = tt_small_format(dtype);
  uint64_t bits = tt_bits_f64(value);
  unsigned sign = (unsigned)(bits >> 63);
  uint64_t a = bits & ~(1ull << 63);
  if (f.kind == TT_SMALL_E8M0) {   // powers of two only; zero, negatives and non-finite values have no place
    if (a == 0) return 0;
    if (sign || a >= 0x7ff0000000000000ull) return 0xff;
    // nearest; a half (mantissa 1.5) goes up, as ml_dtypes does
    int64_t e = (int64_t)(a >> 52) - 1023 + 127;
    uint64_t m = a & 0xfffffffffffffull;
    if (e < 0) return 0;
    if (m >= 0x8000000000000ull) ++e;
    return (uint8_t)(e > 254 ? 0xff : e);
  }
  unsigned width = 1u + f.exponent_bits + f.mantissa_bits;
  unsigned sign_bit = sign << (width - 1);
  bool nan = a > 0x7ff0000000000000ull;
  unsigned top = (1u << f.exponent_bits) - 1u;
  unsigned nan_code, overflow_code, largest;
  switch (f.kind) {
    case TT_SMALL_IEEE:
      nan_code = sign_bit | top << f.mantissa_bits | 1u << (f.mantissa_bits - 1);
      overflow_code = sign_bit | top << f.mantissa_bits;
      largest = (top << f.mantissa_bits) - 1u;
      break;
    case TT_SMALL_FN: nan_code = overflow_code = sign_bit | 0x7fu; largest = 0x7eu; break;
    case TT_SMALL_FNUZ: nan_code = overflow_code = 0x80u; largest = 0x7fu; break;
    default: nan_code = 0x8u; overflow_code = sign_bit | 7u; largest = 7u; break;
  }
  if (nan) return (uint8_t)nan_code;
  if (a >= 0x7ff0000000000000ull) return (uint8_t)overflow_code;
  // quantum of the result: 2^(max(exponent, least) - mantissa_bits); rint of an exact quotient rounds once
  int e = (int)(a >> 52) - 1023;
  int least = 1 - f.bias;
  if (e < least) e = least;
  if (e > 200) return (uint8_t)overflow_code;
  double quantum_inverse = tt_f64_bits((uint64_t)(f.mantissa_bits - e + 1023) << 52);
  double scaled = tt_f64_bits(a) * quantum_inverse;            // < 2^(mantissa_bits + 1), exact or tiny
  unsigned count = (unsigned)(scaled + 0x1p52 - 0x1p52);
  unsigned code = count + ((unsigned)(e - least) << f.mantissa_bits);   // carries into the exponent by itself
  if (code > largest) return (uint8_t)overflow_code;
  if (f.kind == TT_SMALL_FNUZ && code == 0) return 0;
  return (uint8_t)(sign_bit | code);
}

#endif  // TT_VTPU_KERNELS_CONVERT_SCALAR_H_
