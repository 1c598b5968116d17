// Types of the text reader.
#include <stdlib.h>
#include <string.h>

#include "ir/read.h"

static bool dtype_word(tt_reader_t* r, tt_string_view_t* word) {
  const char* start = r->at;
  while (r->at < r->end && (tt_is_letter(*r->at) || tt_is_digit(*r->at) || *r->at == '_')) ++r->at;
  *word = (tt_string_view_t){start, (size_t)(r->at - start)};
  return word->size > 0;
}

bool tt_read_dtype(tt_reader_t* r, tt_dtype_t* out) {
  tt_string_view_t word;
  const char* start = r->at;
  if (!dtype_word(r, &word)) return tt_read_fail(r, "expected an element type");
  if (word.size == 7 && !memcmp(word.data, "complex", 7)) {
    if (!tt_read_expect(r, "<")) return false;
    tt_read_space(r);
    if (!dtype_word(r, &word)) return tt_read_fail(r, "expected an element type");
    tt_dtype_t part = tt_dtype_from_name(word.data, word.size);
    if (part != TT_DTYPE_F32 && part != TT_DTYPE_F64) {
      return tt_read_fail_at(r, start, "complex of '%.*s' (only f32 and f64)", (int)TT_MIN(word.size, 40),
          word.data);
    }
    if (!tt_read_expect(r, ">")) return false;
    *out = part == TT_DTYPE_F32 ? TT_DTYPE_C64 : TT_DTYPE_C128;
    return true;
  }
  tt_dtype_t dtype = tt_dtype_from_name(word.data, word.size);
  if (dtype == TT_DTYPE_INVALID && word.size > 2 && word.data[0] == 's' && word.data[1] == 'i') {
    dtype = tt_dtype_from_name(word.data + 1, word.size - 1);  // si32 is i32
  }
  if (dtype == TT_DTYPE_INVALID || dtype == TT_DTYPE_TOKEN) {
    return tt_read_fail_at(r, start, "unknown element type '%.*s'", (int)TT_MIN(word.size, 40), word.data);
  }
  *out = dtype;
  return true;
}

static bool read_f64(tt_reader_t* r, double* out) {
  char buffer[64];
  size_t size = 0;
  tt_read_space(r);
  while (r->at < r->end && size + 1 < sizeof(buffer) &&
         (tt_is_letter(*r->at) || tt_is_digit(*r->at) || *r->at == '+' || *r->at == '-' || *r->at == '.'))
    buffer[size++] = *r->at++;
  buffer[size] = 0;
  char* stop;
  *out = tt_format_read_f64(buffer, &stop);
  return (size > 0 && *stop == 0) || tt_read_fail(r, "expected a number");
}

// <i8<-128:127>:f32[:axis], scale[:zero] | {scale[:zero], ...}> after `!quant.uniform`
static const tt_quant_t* read_quant(tt_reader_t* r) {
  tt_quant_t quant = {.axis = -1};
  tt_read_list_t scales = {0}, zeros = {0};
  if (!tt_read_expect(r, "<")) return NULL;
  tt_read_space(r);
  if (r->at < r->end && *r->at == 'u' && r->at + 1 < r->end &&
      tt_is_digit(r->at[1])) {  // u8 is ui8
    int64_t bits;
    ++r->at;
    if (!tt_read_i64(r, &bits)) return NULL;
    quant.storage = bits == 4    ? TT_DTYPE_U4
                    : bits == 8  ? TT_DTYPE_U8
                    : bits == 16 ? TT_DTYPE_U16
                                 : TT_DTYPE_U32;
  } else if (!tt_read_dtype(r, &quant.storage)) {
    return NULL;
  }
  if (!tt_dtype_is_integer(quant.storage)) {
    tt_read_fail(r, "quantised storage type must be an integer");
    return NULL;
  }
  int bits = quant.storage == TT_DTYPE_S4 || quant.storage == TT_DTYPE_U4 ? 4
             : quant.storage == TT_DTYPE_S2 || quant.storage == TT_DTYPE_U2
                 ? 2
                 : (int)tt_dtype_bytes(quant.storage) * 8;
  bool is_signed = tt_dtype_is_signed_int(quant.storage);
  quant.storage_max = (int64_t)((UINT64_MAX >> (64 - bits)) >> (is_signed || bits == 64 ? 1 : 0));
  quant.storage_min = is_signed ? -quant.storage_max - 1 : 0;
  if (tt_read_accept(r, "<")) {
    if (!tt_read_i64(r, &quant.storage_min) || !tt_read_expect(r, ":") ||
        !tt_read_i64(r, &quant.storage_max) || !tt_read_expect(r, ">"))
      return NULL;
  }
  if (!tt_read_expect(r, ":")) return NULL;
  tt_read_space(r);
  if (!tt_read_dtype(r, &quant.expressed)) return NULL;
  if (tt_read_accept(r, ":") && !tt_read_i64(r, &quant.axis)) return NULL;
  if (!tt_read_expect(r, ",")) return NULL;
  bool braces = tt_read_accept(r, "{");
  do {
    double* scale = tt_read_push(r, &scales, sizeof(*scale));
    int64_t* zero = tt_read_push(r, &zeros, sizeof(*zero));
    if (!scale || !zero || !read_f64(r, scale)) return NULL;
    *zero = 0;
    if (tt_read_accept(r, ":") && !tt_read_i64(r, zero)) return NULL;
  } while (braces && tt_read_accept(r, ","));
  if ((braces && !tt_read_expect(r, "}")) || !tt_read_expect(r, ">")) return NULL;
  quant.count = scales.size;
  quant.scales = tt_arena_copy(tt_read_arena(r), scales.data, scales.size * sizeof(double));
  quant.zero_points = tt_arena_copy(tt_read_arena(r), zeros.data, zeros.size * sizeof(int64_t));
  const tt_quant_t* result = tt_arena_copy(tt_read_arena(r), &quant, sizeof(quant));
  if (!quant.scales || !quant.zero_points || !result) {
    tt_read_no_memory(r);
    return NULL;
  }
  return result;
}

// #stablehlo.bounds<4, ?> or #stablehlo.type_extensions<bounds = [4, ?]>; anything else is kept as text.
static bool read_encoding(tt_reader_t* r, tt_type_t* type, int64_t* bounds) {
  bool is_bounds = tt_read_accept(r, "#stablehlo.bounds");
  bool is_extensions = !is_bounds && tt_read_accept(r, "#stablehlo.type_extensions");
  if (is_bounds || is_extensions) {
    if (!tt_read_expect(r, "<")) return false;
    if (is_extensions && (!tt_read_expect(r, "bounds") || !tt_read_expect(r, "=") || !tt_read_expect(r, "[")))
      return false;
    for (uint32_t i = 0; i < type->rank; ++i) {
      if (i && !tt_read_expect(r, ",")) return false;
      if (tt_read_accept(r, "?")) bounds[i] = TT_DIM_UNKNOWN;
      else if (!tt_read_i64(r, &bounds[i])) return false;
      else if (bounds[i] < 0) return tt_read_fail(r, "negative bound %lld", (long long)bounds[i]);
    }
    type->bounds = bounds;
    return (!is_extensions || tt_read_expect(r, "]")) && tt_read_expect(r, ">");
  }
  tt_read_space(r);
  const char* start = r->at;
  if (!tt_read_skip_balanced(r, '>')) return false;
  type->encoding = tt_read_cstr(r, (tt_string_view_t){start, (size_t)(r->at - start)});
  return type->encoding != NULL;
}

static const tt_type_t* intern(tt_reader_t* r, const tt_type_t* type) {
  const tt_type_t* interned = tt_type_intern(r->b.module, type);
  if (!interned) tt_read_no_memory(r);
  return interned;
}

static const tt_type_t* read_tensor(tt_reader_t* r) {
  tt_dim_t dims[TT_MAX_RANK];
  int64_t bounds[TT_MAX_RANK];
  tt_type_t type = {.kind = TT_TYPE_TENSOR, .dims = dims};
  if (!tt_read_expect(r, "<")) return NULL;
  for (;;) {
    tt_read_space(r);
    if (r->at < r->end && *r->at == '*') {
      tt_read_fail(r, "unranked tensors are not supported");
      return NULL;
    }
    bool unknown = r->at < r->end && *r->at == '?';
    if (!unknown && !(r->at < r->end && tt_is_digit(*r->at))) break;
    int64_t extent = TT_DIM_UNKNOWN;
    if (unknown) ++r->at;
    else if (!tt_read_i64(r, &extent)) return NULL;
    if (type.rank == TT_MAX_RANK) {
      tt_read_fail(r, "tensor rank is greater than %d", TT_MAX_RANK);
      return NULL;
    }
    dims[type.rank++] = extent;
    if (r->at >= r->end || *r->at != 'x') {
      tt_read_fail(r, "expected 'x' after a dimension");
      return NULL;
    }
    ++r->at;
  }
  if (tt_read_accept(r, "!quant.uniform")) {
    type.quant = read_quant(r);
    if (!type.quant) return NULL;
    type.dtype = type.quant->storage;
  } else if (!tt_read_dtype(r, &type.dtype)) {
    return NULL;
  }
  if (tt_read_accept(r, ",") && !read_encoding(r, &type, bounds)) return NULL;
  if (!tt_read_expect(r, ">")) return NULL;
  if (tt_type_is_static(&type) && tt_type_bytes(&type) < 0) {
    tt_read_fail(r, "tensor size overflows 64 bits");
    return NULL;
  }
  return intern(r, &type);
}

bool tt_read_types(tt_reader_t* r, tt_read_list_t* list) {
  do {
    const tt_type_t** slot = tt_read_push(r, list, sizeof(*slot));
    if (!slot || !(*slot = tt_read_type(r))) return false;
  } while (tt_read_accept(r, ","));
  return true;
}

bool tt_read_types_parenthesised(tt_reader_t* r, tt_read_list_t* list) {
  if (!tt_read_expect(r, "(")) return false;
  if (tt_read_accept(r, ")")) return true;
  return tt_read_types(r, list) && tt_read_expect(r, ")");
}

static const tt_type_t* read_function(tt_reader_t* r) {
  tt_read_list_t inputs = {0}, results = {0};
  if (!tt_read_types_parenthesised(r, &inputs) || !tt_read_expect(r, "->")) return NULL;
  if (tt_read_peek_char(r, '(')) {
    if (!tt_read_types_parenthesised(r, &results)) return NULL;
  } else {
    const tt_type_t** slot = tt_read_push(r, &results, sizeof(*slot));
    if (!slot || !(*slot = tt_read_type(r))) return NULL;
  }
  const tt_type_t* type = tt_type_function(r->b.module, inputs.size, inputs.data, results.size, results.data);
  if (!type) tt_read_no_memory(r);
  return type;
}

bool tt_read_type_ahead(tt_reader_t* r) {
  tt_read_space(r);
  if (r->at >= r->end) return false;
  if (*r->at == '!' || *r->at == '(') return true;
  const char* c = r->at;
  while (c < r->end && (tt_is_letter(*c) || tt_is_digit(*c) || *c == '_')) ++c;
  size_t size = (size_t)(c - r->at);
  if ((size == 6 && !memcmp(r->at, "tensor", 6)) || (size == 5 && !memcmp(r->at, "tuple", 5)) ||
      (size == 7 && !memcmp(r->at, "complex", 7))) {
    return c < r->end && *c == '<';
  }
  return size && tt_dtype_from_name(r->at, size) != TT_DTYPE_INVALID;
}

static const tt_type_t* read_type_body(tt_reader_t* r) {
  if (tt_read_accept(r, "tensor")) return read_tensor(r);
  if (tt_read_peek_char(r, '(')) return read_function(r);
  if (tt_read_accept(r, "tuple")) {
    tt_read_list_t list = {0};
    if (!tt_read_expect(r, "<")) return NULL;
    if (!tt_read_accept(r, ">") && (!tt_read_types(r, &list) || !tt_read_expect(r, ">"))) return NULL;
    const tt_type_t* type = tt_type_tuple(r->b.module, list.size, list.data);
    if (!type) tt_read_no_memory(r);
    return type;
  }
  if (tt_read_accept(r, "!stablehlo.token") || tt_read_accept(r, "!mhlo.token")) {
    const tt_type_t* type = tt_type_token(r->b.module);
    if (!type) tt_read_no_memory(r);
    return type;
  }
  if (tt_read_peek_char(r, '!')) {
    tt_string_view_t name;
    tt_read_sigil_name(r, &name);
    tt_read_alias_t* alias = tt_read_alias(r, name);
    if (!alias) {
      tt_read_fail_at(r, name.data, "unknown type '%.*s'", (int)TT_MIN(name.size, 60), name.data);
      return NULL;
    }
    const char* back = tt_read_alias_begin(r, alias);
    const tt_type_t* type = back ? tt_read_type(r) : NULL;
    return type && tt_read_alias_end(r, alias, back) ? type : NULL;
  }
  const char* start = r->at;
  tt_dtype_t dtype;
  if (tt_read_dtype(r, &dtype))
    tt_read_fail_at(r, start, "'%s' is an element type, not the type of a value", tt_dtype_name(dtype));
  return NULL;
}

const tt_type_t* tt_read_type(tt_reader_t* r) {
  if (!tt_read_enter(r)) return NULL;
  const tt_type_t* type = read_type_body(r);
  --r->depth;
  return type;
}
