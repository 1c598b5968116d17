// Names, sizes and host-side scalar conversion of every element type.
//
// Small floats go through one table-driven codec: a value is sign * mantissa * 2^exponent with an exact
// 64-bit mantissa, so double and int64 sources are rounded once, to nearest even.
#include <math.h>
#include <string.h>

#include "ir/ir.h"

typedef struct dtype_info_s {
  const char* name;
  uint8_t name_size, bytes, dtype_class;
  uint8_t pjrt;
} dtype_info_t;

static const dtype_info_t dtype_infos[TT_DTYPE_COUNT] = {
    {"invalid", 7, 0, TT_DTYPE_CLASS_T, 0},
#define TT_DTYPE(ENUM, name, bits, cls, pjrt) \
  {name, sizeof(name) - 1, (bits) / 8, TT_DTYPE_CLASS_##cls, pjrt},
#include "ir/dtypes.def"
#undef TT_DTYPE
};

static const dtype_info_t* info_of(tt_dtype_t dtype) {
  return &dtype_infos[(unsigned)dtype < TT_DTYPE_COUNT ? dtype : TT_DTYPE_INVALID];
}

const char* tt_dtype_name(tt_dtype_t dtype) { return info_of(dtype)->name; }
size_t tt_dtype_bytes(tt_dtype_t dtype) { return info_of(dtype)->bytes; }
tt_dtype_class_t tt_dtype_class(tt_dtype_t dtype) { return (tt_dtype_class_t)info_of(dtype)->dtype_class; }
int tt_dtype_pjrt(tt_dtype_t dtype) { return info_of(dtype)->pjrt; }

tt_dtype_t tt_dtype_from_pjrt(int pjrt) {
  for (int i = 1; i < TT_DTYPE_COUNT; ++i) {
    if (dtype_infos[i].pjrt == pjrt) return (tt_dtype_t)i;
  }
  return TT_DTYPE_INVALID;
}

tt_dtype_t tt_dtype_from_name(const char* name, size_t size) {
  for (int i = 1; i < TT_DTYPE_COUNT; ++i) {
    if (dtype_infos[i].name_size == size && memcmp(dtype_infos[i].name, name, size) == 0)
      return (tt_dtype_t)i;
  }
  // MLIR's explicitly signed spelling means the same type.
  if (size > 2 && name[0] == 's' && name[1] == 'i') return tt_dtype_from_name(name + 1, size - 1);
  return TT_DTYPE_INVALID;
}

tt_dtype_t tt_dtype_real_part(tt_dtype_t dtype) {
  if (dtype == TT_DTYPE_C64) return TT_DTYPE_F32;
  if (dtype == TT_DTYPE_C128) return TT_DTYPE_F64;
  return dtype;
}

// ---- small floats ------------------------------------------------------------------------------
typedef struct float_format_s {
  uint8_t exponent_bits, mantissa_bits;
  int16_t bias;
  uint16_t max_code;    // largest finite magnitude
  uint16_t over_code;   // what overflow and infinity become (magnitude)
  uint16_t nan_code;    // magnitude; FNUZ formats: the whole code
  bool is_fnuz;         // no negative zero, its code is the NaN
  bool has_infinity;
} float_format_t;

static const float_format_t* format_of(tt_dtype_t dtype) {
  static const float_format_t f16 = {5, 10, 15, 0x7BFF, 0x7C00, 0x7E00, false, true};
  static const float_format_t bf16 = {8, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, false, true};
  static const float_format_t e5m2 = {5, 2, 15, 0x7B, 0x7C, 0x7E, false, true};
  static const float_format_t e4m3fn = {4, 3, 7, 0x7E, 0x7F, 0x7F, false, false};
  static const float_format_t e4m3b11fnuz = {4, 3, 11, 0x7F, 0x80, 0x80, true, false};
  static const float_format_t e5m2fnuz = {5, 2, 16, 0x7F, 0x80, 0x80, true, false};
  static const float_format_t e4m3fnuz = {4, 3, 8, 0x7F, 0x80, 0x80, true, false};
  static const float_format_t e4m3 = {4, 3, 7, 0x77, 0x78, 0x7C, false, true};
  static const float_format_t e3m4 = {3, 4, 3, 0x6F, 0x70, 0x78, false, true};
  static const float_format_t e2m1fn = {2,   1,   1,     0x7,
                                        0x7, 0x0, false, false};  // saturates; NaN: see encode_nan
  switch (dtype) {
    case TT_DTYPE_F16: return &f16;
    case TT_DTYPE_BF16: return &bf16;
    case TT_DTYPE_F8E5M2: return &e5m2;
    case TT_DTYPE_F8E4M3FN: return &e4m3fn;
    case TT_DTYPE_F8E4M3B11FNUZ: return &e4m3b11fnuz;
    case TT_DTYPE_F8E5M2FNUZ: return &e5m2fnuz;
    case TT_DTYPE_F8E4M3FNUZ: return &e4m3fnuz;
    case TT_DTYPE_F8E4M3: return &e4m3;
    case TT_DTYPE_F8E3M4: return &e3m4;
    case TT_DTYPE_F4E2M1FN: return &e2m1fn;
    default: return NULL;
  }
}

static unsigned sign_code(const float_format_t* format, bool negative) {
  return negative ? 1u << (format->exponent_bits + format->mantissa_bits) : 0;
}

static unsigned with_sign(const float_format_t* format, bool negative, unsigned magnitude) {
  if (format->is_fnuz && (magnitude == 0 || magnitude == format->nan_code)) return magnitude;
  return sign_code(format, negative) | magnitude;
}

static unsigned encode_nan(const float_format_t* format, bool negative) {
  if (format->exponent_bits == 2) return negative ? 0 : 0x8;  // f4E2M1FN has no NaN: a zero, as ml_dtypes
  return with_sign(format, negative, format->nan_code);
}

// value = mantissa * 2^exponent, mantissa != 0.
static unsigned encode(const float_format_t* format, bool negative, uint64_t mantissa, int exponent) {
  int top = 63 - __builtin_clzll(mantissa);
  int unbiased = top + exponent;
  int min_normal = 1 - format->bias;
  int p = format->mantissa_bits;
  if (unbiased > 1 << format->exponent_bits) return with_sign(format, negative, format->over_code);
  int quantum = (unbiased >= min_normal ? unbiased : min_normal) - p;
  int shift = quantum - exponent;
  uint64_t rounded;
  if (shift <= 0) {
    rounded = mantissa << -shift;
  } else if (shift > 64) {
    rounded = 0;
  } else {
    uint64_t kept = shift == 64 ? 0 : mantissa >> shift;
    uint64_t half = (uint64_t)1 << (shift - 1);
    uint64_t rest = shift == 64 ? mantissa : mantissa & (((uint64_t)1 << shift) - 1);
    rounded = kept + (rest > half || (rest == half && (kept & 1)));
  }
  // A carry out of the mantissa moves into the exponent field by itself.
  uint64_t code = unbiased >= min_normal
                      ? ((uint64_t)(unbiased + format->bias) << p) + (rounded - ((uint64_t)1 << p))
                      : rounded;
  if (code > format->max_code) return with_sign(format, negative, format->over_code);
  return with_sign(format, negative, (unsigned)code);
}

static unsigned encode_f64(const float_format_t* format, double value) {
  bool negative = signbit(value);
  if (isnan(value)) return encode_nan(format, negative);
  if (isinf(value)) return with_sign(format, negative, format->over_code);
  if (value == 0) return with_sign(format, negative, 0);
  int exponent;
  double fraction = frexp(fabs(value), &exponent);
  return encode(format, negative, (uint64_t)ldexp(fraction, 53), exponent - 53);
}

static unsigned encode_i64(const float_format_t* format, int64_t value) {
  if (value == 0) return 0;
  return encode(format, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 0);
}

static double decode(const float_format_t* format, unsigned code) {
  int p = format->mantissa_bits;
  unsigned sign = sign_code(format, true);
  if (format->is_fnuz && code == format->nan_code) return NAN;
  bool negative = code & sign;
  unsigned magnitude = code & (sign - 1);
  double result;
  if (magnitude > format->max_code) {
    result = format->has_infinity && magnitude == format->over_code ? INFINITY : NAN;
  } else {
    int field = (int)(magnitude >> p);
    unsigned fraction = magnitude & ((1u << p) - 1);
    result = field ? ldexp((double)(fraction + (1u << p)), field - format->bias - p)
                   : ldexp((double)fraction, 1 - format->bias - p);
  }
  return negative ? -result : result;
}

// f8E8M0FNU is a bare power of two: code 0 is 2^-127, 0xFF is NaN; there is no zero and no sign.
static double decode_e8m0(uint8_t code) { return code == 0xFF ? NAN : ldexp(1.0, code - 127); }
static uint8_t encode_e8m0(double value) {
  if (isnan(value) || isinf(value) || value <= 0) return 0xFF;
  int exponent;
  double fraction = frexp(value, &exponent);  // in [0.5, 1)
  int code = exponent - 1 + 127;
  // Nearest with ties to the even code; the middle between 2^k and 2^(k+1) is 1.5 * 2^k.
  if (code >= 0 && (fraction > 0.75 || (fraction == 0.75 && (code & 1)))) ++code;
  if (code < 0) return 0;
  return code > 0xFE ? 0xFF : (uint8_t)code;
}

// ---- integers ----------------------------------------------------------------------------------
static int integer_bits(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_S2: case TT_DTYPE_U2: return 2;
    case TT_DTYPE_S4: case TT_DTYPE_U4: return 4;
    default: return (int)tt_dtype_bytes(dtype) * 8;
  }
}

static int64_t load_integer(tt_dtype_t dtype, const void* data) {
  uint64_t raw = 0;
  memcpy(&raw, data, tt_dtype_bytes(dtype));  // little-endian hosts only, as PJRT buffers
  int unused = 64 - integer_bits(dtype);
  if (tt_dtype_is_signed_int(dtype)) return (int64_t)(raw << unused) >> unused;
  return (int64_t)(raw << unused >> unused);
}

static void store_integer(tt_dtype_t dtype, int64_t value, void* data) {
  int bits = integer_bits(dtype);
  if (bits < 8) {  // one value a byte; signed ones are sign-extended in it
    int unused = 64 - bits;
    value = tt_dtype_is_signed_int(dtype) ? (int64_t)((uint64_t)value << unused) >> unused
                                          : (int64_t)((uint64_t)value << unused >> unused);
  }
  memcpy(data, &value, tt_dtype_bytes(dtype));
}

static int64_t f64_to_i64(double value) {
  if (isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value <= -0x1p63) return INT64_MIN;
  return (int64_t)value;
}

static void store_saturated(tt_dtype_t dtype, double value, void* data) {
  int bits = integer_bits(dtype);
  if (isnan(value)) {
    store_integer(dtype, 0, data);
  } else if (tt_dtype_is_unsigned_int(dtype)) {
    uint64_t max = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    uint64_t result = value <= 0 ? 0 : value >= ldexp(1.0, bits) ? max : (uint64_t)value;
    store_integer(dtype, (int64_t)TT_MIN(result, max), data);
  } else {
    int64_t max = (int64_t)(((uint64_t)1 << (bits - 1)) - 1), min = -max - 1;
    int64_t result = f64_to_i64(value);
    store_integer(dtype, result > max ? max : result < min ? min : result, data);
  }
}

// ---- loads -------------------------------------------------------------------------------------
static unsigned load_code(tt_dtype_t dtype, const void* data) {
  if (tt_dtype_bytes(dtype) == 2) {
    uint16_t code;
    memcpy(&code, data, 2);
    return code;
  }
  return *(const uint8_t*)data & (dtype == TT_DTYPE_F4E2M1FN ? 0x0F : 0xFF);
}

double tt_scalar_load_f64(tt_dtype_t dtype, const void* data) {
  switch (dtype) {
    case TT_DTYPE_F32: case TT_DTYPE_C64: {
      float value;
      memcpy(&value, data, sizeof(value));
      return value;
    }
    case TT_DTYPE_F64: case TT_DTYPE_C128: {
      double value;
      memcpy(&value, data, sizeof(value));
      return value;
    }
    case TT_DTYPE_PRED: return *(const uint8_t*)data != 0;
    case TT_DTYPE_U64: return (double)(uint64_t)load_integer(dtype, data);
    case TT_DTYPE_F8E8M0FNU: return decode_e8m0(*(const uint8_t*)data);
    default: break;
  }
  if (tt_dtype_is_integer(dtype)) return (double)load_integer(dtype, data);
  const float_format_t* format = format_of(dtype);
  return format ? decode(format, load_code(dtype, data)) : NAN;
}

int64_t tt_scalar_load_i64(tt_dtype_t dtype, const void* data) {
  if (tt_dtype_is_integer(dtype)) return load_integer(dtype, data);
  return f64_to_i64(tt_scalar_load_f64(dtype, data));
}

void tt_scalar_load_complex(tt_dtype_t dtype, const void* data, double out[2]) {
  out[0] = tt_scalar_load_f64(dtype, data);
  out[1] = 0;
  if (tt_dtype_is_complex(dtype)) {
    tt_dtype_t part = tt_dtype_real_part(dtype);
    out[1] = tt_scalar_load_f64(part, (const char*)data + tt_dtype_bytes(part));
  }
}

// ---- stores ------------------------------------------------------------------------------------
static void store_code(tt_dtype_t dtype, unsigned code, void* data) {
  uint16_t wide = (uint16_t)code;
  memcpy(data, &wide, tt_dtype_bytes(dtype));
}

void tt_scalar_store_f64(tt_dtype_t dtype, double value, void* data) {
  switch (dtype) {
    case TT_DTYPE_F32: {
      float narrow = (float)value;
      memcpy(data, &narrow, sizeof(narrow));
      return;
    }
    case TT_DTYPE_F64: memcpy(data, &value, sizeof(value)); return;
    case TT_DTYPE_C64: case TT_DTYPE_C128: {
      double pair[2] = {value, 0};
      tt_scalar_store_complex(dtype, pair, data);
      return;
    }
    case TT_DTYPE_PRED: *(uint8_t*)data = value != 0; return;
    case TT_DTYPE_F8E8M0FNU: *(uint8_t*)data = encode_e8m0(value); return;
    default: break;
  }
  const float_format_t* format = format_of(dtype);
  if (format) {
    store_code(dtype, encode_f64(format, value), data);
  } else if (tt_dtype_is_integer(dtype)) {
    store_saturated(dtype, value, data);
  }
}

void tt_scalar_store_i64(tt_dtype_t dtype, int64_t value, void* data) {
  const float_format_t* format = format_of(dtype);
  if (format) {
    store_code(dtype, encode_i64(format, value), data);
  } else if (dtype == TT_DTYPE_F32 || dtype == TT_DTYPE_C64) {
    float narrow = (float)value;  // one rounding, not two through double
    memset(data, 0, tt_dtype_bytes(dtype));
    memcpy(data, &narrow, sizeof(narrow));
  } else if (tt_dtype_is_integer(dtype)) {
    store_integer(dtype, value, data);
  } else if (dtype == TT_DTYPE_PRED) {
    *(uint8_t*)data = value != 0;
  } else {
    tt_scalar_store_f64(dtype, (double)value, data);
  }
}

void tt_scalar_store_complex(tt_dtype_t dtype, const double value[2], void* data) {
  if (!tt_dtype_is_complex(dtype)) {
    tt_scalar_store_f64(dtype, value[0], data);
    return;
  }
  tt_dtype_t part = tt_dtype_real_part(dtype);
  tt_scalar_store_f64(part, value[0], data);
  tt_scalar_store_f64(part, value[1], (char*)data + tt_dtype_bytes(part));
}
