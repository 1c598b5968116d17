// Mutations of StableHLO text by tokens: random bytes rarely get past the first line. Words come from the tables
// of src/ir, so a new op, attribute or dtype is tried without a dictionary to keep.
#include <ctype.h>
#include <string.h>

#include "base/base.h"
#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1, const uint8_t* data2, size_t size2,
    uint8_t* out,
                                 size_t max_size, unsigned int seed);

static const char* const ops[] = {
#define TT_OP(ENUM, name, lowest, most, results, regions, traits) name, "\"" name "\"",
#include "ir/ops.def"
#undef TT_OP
};
static const char* const attributes[] = {
#define TT_ATTR(ENUM, name) name,
#include "ir/attrs.def"
#undef TT_ATTR
};
static const char* const dtypes[] = {
#define TT_DTYPE(ENUM, name, bits, class, pjrt) name,
#include "tt/dtypes.def"
#undef TT_DTYPE
};
static const char* const numbers[] = {
    "0", "1", "2", "3", "-1", "7", "8", "16", "31", "32", "63", "64", "65", "255", "256", "65536",
        "2147483647", "2147483648",
    "4294967295", "4294967296", "-2147483648", "4611686018427387904", "9223372036854775807",
        "9223372036854775808",
    "-9223372036854775808", "18446744073709551615", "99999999999999999999", "1.0", "-0.0", "1.0e400", "1e5",
        "0x7FC00000", "0xFF",
    "1000000007", "3037000500", "0x", "?",
};
static const char* const words[] = {
    "tensor<", "tensor<f32>", "tensor<4xf32>", "tensor<2x3xf32>", "tensor<i32>", "tensor<0xf32>",
        "tensor<?xf32>", "tuple<", "complex<",
    "!stablehlo.token", "!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<u4:f32:0, {0.1:2, 0.2}>",
        "#stablehlo.bounds<4>",
    "#stablehlo.type_extensions<bounds = [4]>", "dense<", "dense<0>", "dense<\"0x00\">", "dense<[1, 2]>",
        "array<i64: 0>", "array<i64>",
    "array<i1: true>", "[", "]", "(", ")", "{", "}", "<", ">", "<{", "}>", ":", ",", "=", "->", "%0", "%1",
        "%arg0", "%0:2", "%0#1", "@main",
    "@f", "^bb0(%p: tensor<f32>, %q: tensor<f32>):", "\"", "\\", "//", "\n", "true", "false", "unit", "init",
        "applies", "across", "dimensions",
    "reducer", "cond", "do", "attributes", "dim_numbers", "window", "[b, f, 0]x[o, i, 0]->[b, f, 0]", "LT",
        "TOTALORDER", "FLOAT", "DEFAULT",
    "HIGHEST", "RFFT", "PHILOX", "UNIFORM", "#stablehlo<precision HIGHEST>",
        "#stablehlo<comparison_direction EQ>",
    "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>",
    "#stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], "
        "index_vector_dim = 1>",
    "#stablehlo.scatter<update_window_dims = [0], index_vector_dim = 1>",
        "#stablehlo.channel_handle<handle = 1, type = 0>",
    "#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = "
        "[]>",
    "#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>", "loc(\"a\":1:2)", "loc(#l)", "#l = loc(\"x\")\n",
        "#a = [#a, #a]\n", "!t = tensor<2xf32>\n", "!t",
    "func.func @f() { return }\n", "return", "call @f() : () -> ()", "tf.aliasing_output = 0 : i32",
        "composite_attributes = {}", "decomposition = @f",
    "module {", "sdy.mesh @m = <[\"x\"=2]>", "\xff\xfe", "mhlo.num_replicas = 2 : i32",
};

typedef struct token_s { size_t at, size; } token_t;
enum { MAX_TOKENS = 4096 };

static uint32_t next(uint64_t* state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

static size_t tokens_of(const uint8_t* data, size_t size, token_t* tokens) {
  size_t count = 0;
  for (size_t at = 0; at < size && count < MAX_TOKENS;) {
    size_t from = at++;
    if (isspace(data[from])) continue;
    if (data[from] == '"') {
      while (at < size && data[at] != '"') ++at;
      if (at < size) ++at;
    } else if (isdigit(data[from])) {   // 2x3xf32 is five tokens
      while (at < size && (isdigit(data[at]) || data[at] == '.')) ++at;
    } else if (isalpha(data[from]) || strchr("_%@#!^", data[from])) {
      if (data[from] != 'x' || at >= size || !isdigit(data[at]))
        while (at < size && (isalnum(data[at]) || strchr("_.$", data[at]))) ++at;
    }
    tokens[count++] = (token_t){from, at - from};
  }
  return count;
}

// data[at, at + old) becomes text; the size afterwards, unchanged if it would not fit.
static size_t splice(uint8_t* data, size_t size, size_t max_size, size_t at, size_t old, const void* text,
    size_t length) {
  if (at + old > size || size - old + length > max_size) return size;
  memmove(data + at + length, data + at + old, size - at - old);
  memcpy(data + at, text, length);
  return size - old + length;
}

static const char* pick_word(uint64_t* state) {
  switch (next(state) % 6) {
    case 0: return ops[next(state) % TT_ARRAY_LENGTH(ops)];
    case 1: return attributes[next(state) % TT_ARRAY_LENGTH(attributes)];
    case 2: return dtypes[next(state) % TT_ARRAY_LENGTH(dtypes)];
    case 3: return numbers[next(state) % TT_ARRAY_LENGTH(numbers)];
    default: return words[next(state) % TT_ARRAY_LENGTH(words)];
  }
}

static void line_of(const uint8_t* data, size_t size, size_t at, size_t* from, size_t* length) {
  size_t start = at, end = at;
  while (start > 0 && data[start - 1] != '\n') --start;
  while (end < size && data[end] != '\n') ++end;
  *from = start;
  *length = TT_MIN(end + 1, size) - start;
}

static size_t mutate_once(uint8_t* data, size_t size, size_t max_size, uint64_t* state) {
  static token_t tokens[MAX_TOKENS];
  static uint8_t copy[1 << 16];
  size_t count = tokens_of(data, size, tokens);
  if (!count) {
    const char* word = pick_word(state);
    return splice(data, size, max_size, size, 0, word, strlen(word));
  }
  token_t t = tokens[next(state) % count], u = tokens[next(state) % count];
  size_t from, length, from2, length2;
  switch (next(state) % 12) {
    case 0: return splice(data, size, max_size, t.at, t.size, "", 0);
    case 1: {
      const char* word = pick_word(state);
      return splice(data, size, max_size, t.at, t.size, word, strlen(word));
    }
    case 2: {
      const char* word = pick_word(state);
      return splice(data, size, max_size, t.at, 0, word, strlen(word));
    }
    case 3:
    case 4:   // another token of the same text: a value, a type, a number that is at hand
      if (u.size > sizeof(copy)) return size;
      memcpy(copy, data + u.at, u.size);
      return splice(data, size, max_size, t.at, t.size, copy, u.size);
    case 5:
    case 6:   // a number becomes another one
      for (size_t i = 0, k = next(state) % count; i < count; ++i, k = (k + 1) % count) {
        if (!isdigit(data[tokens[k].at])) continue;
        const char* number = numbers[next(state) % (next(state) % 2 ? 8 : TT_ARRAY_LENGTH(numbers))];
        return splice(data, size, max_size, tokens[k].at, tokens[k].size, number, strlen(number));
      }
      return size;
    case 7:   // a type's element
      for (size_t i = 0, k = next(state) % count; i < count; ++i, k = (k + 1) % count) {
        bool is_dtype = false;
        for (size_t d = 0; d < TT_ARRAY_LENGTH(dtypes); ++d)
          is_dtype = is_dtype || (strlen(dtypes[d]) == tokens[k].size && !memcmp(dtypes[d],
              data + tokens[k].at, tokens[k].size));
        if (!is_dtype) continue;
        const char* name = dtypes[next(state) % TT_ARRAY_LENGTH(dtypes)];
        return splice(data, size, max_size, tokens[k].at, tokens[k].size, name, strlen(name));
      }
      return size;
    case 8:   // a line again, elsewhere
      line_of(data, size, t.at, &from, &length);
      line_of(data, size, u.at, &from2, &length2);
      if (length > sizeof(copy)) return size;
      memcpy(copy, data + from, length);
      return splice(data, size, max_size, from2, 0, copy, length);
    case 9:
      line_of(data, size, t.at, &from, &length);
      return splice(data, size, max_size, from, length, "", 0);
    case 10: {   // deep nesting
      static const char* const openers[] = {"(", "[", "{", "<", "tuple<", "[[", "loc(", "({\n", "{a = ",
          "(tensor<f32>) -> "};
      const char* word = openers[next(state) % TT_ARRAY_LENGTH(openers)];
      size_t times = 1u << next(state) % 10, each = strlen(word);
      if (times * each > sizeof(copy)) return size;
      for (size_t i = 0; i < times; ++i) memcpy(copy + i * each, word, each);
      return splice(data, size, max_size, t.at, 0, copy, times * each);
    }
    default: return LLVMFuzzerMutate(data, size, max_size);
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  uint64_t state = seed;
  next(&state);
  for (uint32_t times = 1 + next(&state) % 4; times > 0; --times) size = mutate_once(data, size, max_size,
      &state);
  return size;
}

// Lines of both texts, taken in turn: definitions of one meet uses of the other.
size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1, const uint8_t* data2, size_t size2,
    uint8_t* out,
                                 size_t max_size, unsigned int seed) {
  uint64_t state = seed;
  size_t size = TT_MIN(size1, max_size);
  memcpy(out, data1, size);
  if (!size || !size2) return size;
  for (uint32_t times = 1 + next(&state) % 4; times > 0; --times) {
    size_t from, length, to, ignored;
    line_of(data2, size2, next(&state) % size2, &from, &length);
    line_of(out, size, next(&state) % TT_MAX(size, (size_t)1), &to, &ignored);
    size = splice(out, size, max_size, to, next(&state) % 2 ? ignored : 0, data2 + from, length);
  }
  return size;
}
