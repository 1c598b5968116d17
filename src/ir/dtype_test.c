// Scalar conversion against ml_dtypes 0.5 and NumPy: checksums over every code and over 20,000 values.
#include "base/test.h"
#include "ir/ir.h"

static uint64_t fold(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3ull; }

// decode: FNV over the float32 bits (NaN as 0x7fc00000) of every code.
// encode: FNV over the codes (NaN as 0xffff) of the values that sample() makes.
static const struct { tt_dtype_t dtype; uint32_t codes; uint64_t decode, encode; } sums[] = {
    {TT_DTYPE_F16, 65536, 0xa29fcd307f1d2325ull, 0x413249c17674798bull},
    {TT_DTYPE_BF16, 65536, 0xae864f38855e2325ull, 0x948f0c787bd21c2eull},
    {TT_DTYPE_F8E5M2, 256, 0x00cee2838e6bb725ull, 0x3a058d30316b2150ull},
    {TT_DTYPE_F8E4M3FN, 256, 0x08993af4628bb725ull, 0x27babb1fbabcf7abull},
    {TT_DTYPE_F8E4M3B11FNUZ, 256, 0x8b5af59376abb725ull, 0xd221d5e894abae7dull},
    {TT_DTYPE_F8E5M2FNUZ, 256, 0x39969815ceabb725ull, 0x817dca935ec2568cull},
    {TT_DTYPE_F8E4M3FNUZ, 256, 0x4065565af2abb725ull, 0x04195c93b38904eeull},
    {TT_DTYPE_F8E4M3, 256, 0xb0ba52aad84bb725ull, 0xd039804b6a7d6b5dull},
    {TT_DTYPE_F8E3M4, 256, 0xbc74072710fbb725ull, 0xe31df162a1759e39ull},
    {TT_DTYPE_F8E8M0FNU, 256, 0x56f9e0582b6bb725ull, 0xabf324323dc46d11ull},
    {TT_DTYPE_F4E2M1FN, 16, 0x00737516397f6465ull, 0x5d9274410ad67ddbull},
};

// Pseudo-random float32 in +-[2^-30, 2^30).
static double sample(uint64_t k) {
  uint32_t bits = (uint32_t)(k * 2654435761ull);
  uint32_t exponent = ((bits >> 23) & 255) % 60 + 97;
  bits = (bits & 0x807fffffu) | exponent << 23;
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

TT_TEST(dtype, small_floats) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(sums); ++i) {
    tt_dtype_t dtype = sums[i].dtype;
    uint64_t decode = 0xcbf29ce484222325ull, encode = decode;
    for (uint32_t code = 0; code < sums[i].codes; ++code) {
      float value = (float)tt_scalar_load_f64(dtype, &code);
      uint32_t bits;
      memcpy(&bits, &value, sizeof(bits));
      decode = fold(decode, isnan(value) ? 0x7fc00000u : bits);
    }
    for (uint64_t k = 0; k < 20000; ++k) {
      uint16_t code = 0;
      tt_scalar_store_f64(dtype, sample(k), &code);
      encode = fold(encode, isnan(tt_scalar_load_f64(dtype, &code)) ? 0xffff : code);
    }
    if (decode != sums[i].decode)
      TT_TEST_FAIL("%s decodes to %llx", tt_dtype_name(dtype), (unsigned long long)decode);
    if (encode != sums[i].encode)
      TT_TEST_FAIL("%s encodes to %llx", tt_dtype_name(dtype), (unsigned long long)encode);
  }
}

static uint64_t stored_f64(tt_dtype_t dtype, double value) {
  uint64_t raw[2] = {0};
  tt_scalar_store_f64(dtype, value, raw);
  return raw[0];
}
static uint64_t stored_i64(tt_dtype_t dtype, int64_t value) {
  uint64_t raw[2] = {0};
  tt_scalar_store_i64(dtype, value, raw);
  return raw[0];
}

TT_TEST(dtype, one_rounding) {
  // Just above the middle of two bf16 values: float32 in between would round to the middle, then to even.
  TT_EXPECT_EQ(stored_f64(TT_DTYPE_BF16, 1.0 + 0x1p-8 + 0x1p-40), 0x3F81);
  TT_EXPECT_EQ(stored_f64(TT_DTYPE_F16, 1.0 + 0x1p-11 + 0x1p-40), 0x3C01);
  TT_EXPECT_EQ(stored_f64(TT_DTYPE_F16, 65519.99), 0x7BFF);
  TT_EXPECT_EQ(stored_f64(TT_DTYPE_F16, 65520), 0x7C00);
  TT_EXPECT_EQ(stored_f64(TT_DTYPE_F16, 0x1p-25), 0);
  TT_EXPECT_EQ(stored_f64(TT_DTYPE_F16, 0x1.0000001p-25), 1);
  // 2^62 + 2^54 + 1 to bf16: the last bit decides.
  TT_EXPECT_EQ(stored_i64(TT_DTYPE_BF16, ((int64_t)1 << 62) + ((int64_t)1 << 54)), 0x5E80);
  TT_EXPECT_EQ(stored_i64(TT_DTYPE_BF16, ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1), 0x5E81);
  TT_EXPECT_EQ(stored_i64(TT_DTYPE_F32, 16777217), 0x4B800000);
  TT_EXPECT_EQ(stored_i64(TT_DTYPE_BF16, INT64_MIN), 0xDF00);
}

TT_TEST(dtype, integers_saturate) {
  static const struct { tt_dtype_t dtype; double value; int64_t expected;
  } rows[] = {
      {TT_DTYPE_S8, 200, 127},
      {TT_DTYPE_S8, -200, -128},
      {TT_DTYPE_S8, -1.9, -1},
      {TT_DTYPE_S8, NAN, 0},
      {TT_DTYPE_U8, -3, 0},
      {TT_DTYPE_U8, 300, 255},
      {TT_DTYPE_U8, 255.9, 255},
      {TT_DTYPE_S16, 1e9, 32767},
      {TT_DTYPE_U16, 65535.5, 65535},
      {TT_DTYPE_S32, 3e9, INT32_MAX},
      {TT_DTYPE_S32, -INFINITY, INT32_MIN},
      {TT_DTYPE_U32, 5e9, UINT32_MAX},
      {TT_DTYPE_S64, 1e19, INT64_MAX},
      {TT_DTYPE_S64, -1e19, INT64_MIN},
      {TT_DTYPE_U64, 1e19, (int64_t)10000000000000000000ull},
      {TT_DTYPE_U64, 1e20, -1},
      {TT_DTYPE_U64, -1, 0},
      {TT_DTYPE_S4, 9, 7},
      {TT_DTYPE_S4, -9, -8},
      {TT_DTYPE_U4, 17, 15},
      {TT_DTYPE_S2, 3, 1},
      {TT_DTYPE_U2, 5, 3},
      {TT_DTYPE_PRED, 0.25, 1},
      {TT_DTYPE_PRED, 0, 0},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(rows); ++i) {
    uint64_t raw[2] = {0};
    tt_scalar_store_f64(rows[i].dtype, rows[i].value, raw);
    if (tt_scalar_load_i64(rows[i].dtype, raw) != rows[i].expected) {
      TT_TEST_FAIL("%g as %s is %lld", rows[i].value, tt_dtype_name(rows[i].dtype),
                   (long long)tt_scalar_load_i64(rows[i].dtype, raw));
    }
  }
  // Integers wrap among themselves.
  uint64_t raw = 0;
  tt_scalar_store_i64(TT_DTYPE_S8, 200, &raw);
  TT_EXPECT_EQ(tt_scalar_load_i64(TT_DTYPE_S8, &raw), -56);
  tt_scalar_store_i64(TT_DTYPE_S4, 9, &raw);
  TT_EXPECT_EQ(tt_scalar_load_i64(TT_DTYPE_S4, &raw), -7);
  tt_scalar_store_i64(TT_DTYPE_U64, -1, &raw);
  TT_EXPECT(tt_scalar_load_f64(TT_DTYPE_U64, &raw) == 18446744073709551616.0);
}

TT_TEST(dtype, complex_and_names) {
  double in[2] = {1.5, -2.25}, out[2];
  uint64_t raw[2] = {0};
  tt_scalar_store_complex(TT_DTYPE_C64, in, raw);
  tt_scalar_load_complex(TT_DTYPE_C64, raw, out);
  TT_EXPECT(out[0] == 1.5 && out[1] == -2.25);
  TT_EXPECT(tt_scalar_load_f64(TT_DTYPE_C64, raw) == 1.5);
  tt_scalar_store_complex(TT_DTYPE_C128, in, raw);
  tt_scalar_load_complex(TT_DTYPE_C128, raw, out);
  TT_EXPECT(out[0] == 1.5 && out[1] == -2.25);
  for (int d = 1; d < TT_DTYPE_COUNT; ++d) {
    const char* name = tt_dtype_name((tt_dtype_t)d);
    TT_EXPECT_EQ(tt_dtype_from_name(name, strlen(name)), d);
    TT_EXPECT_EQ(tt_dtype_from_pjrt(tt_dtype_pjrt((tt_dtype_t)d)), d);
  }
  TT_EXPECT_EQ(tt_dtype_from_name("i33", 3), TT_DTYPE_INVALID);
  TT_EXPECT_EQ(tt_dtype_bytes(TT_DTYPE_C128), 16);
  TT_EXPECT_EQ(tt_dtype_real_part(TT_DTYPE_C64), TT_DTYPE_F32);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
