// Attributes of the text reader.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/read.h"

void tt_read_attr_name(tt_reader_t* r, tt_string_view_t name, tt_attr_t* out) {
  out->name = tt_attr_name_from_text(name.data, name.size);
  out->other_name = NULL;
  if (out->name == TT_ATTR_OTHER) out->other_name = tt_read_cstr(r, name);
}

// ---- numbers -----------------------------------------------------------------------------------

typedef struct literal_s {
  const char* start;
  size_t size;
  bool is_float, is_hex;
} literal_t;

static bool read_literal(tt_reader_t* r, literal_t* out) {
  tt_read_space(r);
  const char* c = r->at;
  *out = (literal_t){.start = c};
  if (c < r->end && (*c == '-' || *c == '+')) ++c;
  if (c + 1 < r->end && c[0] == '0' && c[1] == 'x') {
    out->is_hex = true;
    c += 2;
    while (c < r->end && tt_is_hex_digit(*c)) ++c;
  } else {
    if (c >= r->end || !tt_is_digit(*c)) return tt_read_fail(r, "expected a number");
    while (c < r->end && tt_is_digit(*c)) ++c;
    if (c < r->end && *c == '.') {
      out->is_float = true;
      ++c;
      while (c < r->end && tt_is_digit(*c)) ++c;
      if (c < r->end && (*c == 'e' || *c == 'E')) {
        const char* e = c + 1;
        if (e < r->end && (*e == '-' || *e == '+')) ++e;
        if (e < r->end && tt_is_digit(*e)) {
          while (e < r->end && tt_is_digit(*e)) ++e;
          c = e;
        }
      }
    }
  }
  out->size = (size_t)(c - out->start);
  r->at = c;
  return true;
}

static bool literal_f64(tt_reader_t* r, const literal_t* literal, double* out) {
  char buffer[512];
  if (literal->size >= sizeof(buffer))
    return tt_read_fail_at(r, literal->start, "number of more than %zu characters", sizeof(buffer) - 1);
  memcpy(buffer, literal->start, literal->size);
  buffer[literal->size] = 0;
  *out = tt_format_read_f64(buffer, NULL);
  return true;
}

static bool literal_u64(tt_reader_t* r, const literal_t* literal, bool* out_negative, uint64_t* out) {
  char buffer[128];
  if (literal->is_float) return tt_read_fail_at(r, literal->start, "expected an integer");
  if (literal->size >= sizeof(buffer))
    return tt_read_fail_at(r, literal->start, "integer does not fit 64 bits");
  memcpy(buffer, literal->start, literal->size);
  buffer[literal->size] = 0;
  const char* digits = buffer;
  *out_negative = *digits == '-';
  if (*digits == '-' || *digits == '+') ++digits;
  errno = 0;
  *out = strtoull(digits, NULL, literal->is_hex ? 16 : 10);
  return errno == 0 || tt_read_fail_at(r, literal->start, "integer does not fit 64 bits");
}

// Stores a literal as one element; hexadecimal means the bits of a float.
static bool store_literal(tt_reader_t* r, const literal_t* literal, tt_dtype_t dtype, void* element) {
  bool negative;
  uint64_t bits;
  if (tt_dtype_is_float(dtype)) {
    if (literal->is_hex) {
      if (!literal_u64(r, literal, &negative, &bits)) return false;
      size_t bytes = tt_dtype_bytes(dtype);
      if (negative || (bytes < 8 && bits >> (bytes * 8)))
        return tt_read_fail_at(r, literal->start, "bits do not fit %s", tt_dtype_name(dtype));
      memcpy(element, &bits, bytes);  // little-endian hosts only, as everywhere
      return true;
    }
    double value;
    if (!literal_f64(r, literal, &value)) return false;
    tt_scalar_store_f64(dtype, value, element);
    return true;
  }
  if (!literal_u64(r, literal, &negative, &bits)) return false;
  if (dtype == TT_DTYPE_PRED) {
    if (bits > 1 && !(negative && bits == 1))
      return tt_read_fail_at(r, literal->start, "i1 value must be 0 or 1");
    *(uint8_t*)element = bits != 0;
    return true;
  }
  int width = dtype == TT_DTYPE_S4 || dtype == TT_DTYPE_U4   ? 4
              : dtype == TT_DTYPE_S2 || dtype == TT_DTYPE_U2 ? 2
                                                             : (int)tt_dtype_bytes(dtype) * 8;
  uint64_t limit = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
  bool fits = negative ? tt_dtype_is_signed_int(dtype) && bits <= limit / 2 + 1
                       : bits <= (tt_dtype_is_signed_int(dtype) && !literal->is_hex ? limit / 2 : limit);
  if (!fits) return tt_read_fail_at(r, literal->start, "integer does not fit %s", tt_dtype_name(dtype));
  uint64_t value = negative ? 0 - bits : bits;
  if (dtype == TT_DTYPE_U64) memcpy(element, &value, 8);
  else tt_scalar_store_i64(dtype, (int64_t)value, element);
  return true;
}

// ---- dense<...> --------------------------------------------------------------------------------

static bool read_element(tt_reader_t* r, tt_dtype_t dtype, void* element) {
  literal_t literal;
  if (tt_dtype_is_complex(dtype)) {
    tt_dtype_t part = tt_dtype_real_part(dtype);
    if (!tt_read_expect(r, "(") || !read_literal(r, &literal) || !store_literal(r, &literal, part, element))
      return false;
    if (!tt_read_expect(r, ",") || !read_literal(r, &literal)) return false;
    return store_literal(r, &literal, part, (char*)element + tt_dtype_bytes(part)) && tt_read_expect(r, ")");
  }
  if (dtype == TT_DTYPE_PRED) {
    if (tt_read_accept(r, "true")) return *(uint8_t*)element = 1, true;
    if (tt_read_accept(r, "false")) return *(uint8_t*)element = 0, true;
  }
  return read_literal(r, &literal) && store_literal(r, &literal, dtype, element);
}

// [[1, 2], [3, 4]]: `dim` is the depth; *count elements are written so far.
static bool read_elements(tt_reader_t* r, const tt_type_t* type, uint32_t dim, char* data, int64_t* count,
                          int64_t total) {
  if (dim == type->rank) {
    if (*count >= total) return tt_read_fail(r, "more elements than the type has");
    return read_element(r, type->dtype, data + (size_t)(*count)++ * tt_dtype_bytes(type->dtype));
  }
  if (!tt_read_expect(r, "[")) return false;
  for (int64_t i = 0; i < type->dims[dim]; ++i) {
    if (i && !tt_read_expect(r, ",")) return false;
    if (!read_elements(r, type, dim + 1, data, count, total)) return false;
  }
  return tt_read_expect(r, "]");
}

static int hex_value(char c) { return tt_is_digit(c) ? c - '0' : (c | 32) - 'a' + 10; }

// "0x...": the raw little-endian bytes (i1: packed bits).
static bool read_blob(tt_reader_t* r, const tt_type_t* type, int64_t total, tt_dense_t* dense) {
  tt_string_view_t text;
  const char* start = r->at;
  if (!tt_read_string(r, &text)) return false;
  if (text.size < 2 || text.data[0] != '0' || text.data[1] != 'x')
    return tt_read_fail(r, "expected \"0x...\"");
  const char* digits = text.data + 2;
  size_t bytes = (text.size - 2) / 2, element_bytes = tt_dtype_bytes(type->dtype);
  for (const char* c = digits; c < text.data + text.size; ++c) {
    if (!tt_is_hex_digit(*c)) return tt_read_fail_at(r, start, "byte 0x%02x is no hexadecimal digit",
        (unsigned char)*c);
  }
  if (text.size % 2) return tt_read_fail_at(r, start, "half a byte of data: %zu digits", text.size - 2);
  bool packed = type->dtype == TT_DTYPE_PRED;
  size_t wanted = packed ? ((size_t)total + 7) / 8 : (size_t)total * element_bytes;
  bool splat = !packed && bytes == element_bytes && total != 1;
  if (!splat && bytes != wanted)
    return tt_read_fail_at(r, start, "%zu bytes of data, the type needs %zu", bytes, wanted);
  char* data = tt_arena_alloc(tt_read_arena(r), TT_MAX(packed ? (size_t)total : bytes, (size_t)16));
  if (!data) return tt_read_no_memory(r);
  if (packed) {
    for (int64_t i = 0; i < total; ++i) {
      int byte = hex_value(digits[(i / 8) * 2]) * 16 + hex_value(digits[(i / 8) * 2 + 1]);
      data[i] = (char)((byte >> (i % 8)) & 1);
    }
  } else {
    for (size_t i = 0; i < bytes; ++i)
      data[i] = (char)(hex_value(digits[i * 2]) * 16 + hex_value(digits[i * 2 + 1]));
  }
  dense->is_splat = splat;
  dense->data = data;
  return true;
}

bool tt_read_dense(tt_reader_t* r, tt_attr_t* out) {
  const char* whole = r->at;
  if (!tt_read_expect(r, "dense") || !tt_read_expect(r, "<")) return false;
  const char* values = r->at;
  if (!tt_read_skip_balanced(r, '>')) return false;
  ++r->at;
  if (!tt_read_expect(r, ":")) return false;
  tt_read_space(r);
  const char* type_text = r->at;
  if ((size_t)(r->end - r->at) > 7 && !memcmp(r->at, "tensor<", 7)) {
    // Layouts are tensors of `index`, which have no place in programs: kept as they stand.
    const char* close = memchr(r->at, '>', (size_t)(r->end - r->at));
    if (close && close - r->at > 12 && !memcmp(close - 5, "index", 5)) {
      r->at = close + 1;
      out->kind = TT_AK_OPAQUE;
      out->text = (tt_string_view_t){whole, (size_t)(r->at - whole)};
      out->text.data = tt_read_cstr(r, out->text);
      return out->text.data != NULL;
    }
  }
  const tt_type_t* type = tt_read_type(r);
  if (!type) return false;
  if (type->kind != TT_TYPE_TENSOR || !tt_type_is_static(type))
    return tt_read_fail_at(r, type_text, "dense<> needs a static tensor type");
  const char* back = r->at;
  int64_t total = tt_type_elems(type);
  size_t element_bytes = tt_dtype_bytes(type->dtype);
  out->kind = TT_AK_DENSE;
  out->dense = (tt_dense_t){.type = type};
  r->at = values;
  if (tt_read_peek_char(r, '>')) {
    if (total != 0) return tt_read_fail(r, "dense<> without values for %lld elements", (long long)total);
    out->dense.data = tt_arena_alloc(tt_read_arena(r), 16);
    if (!out->dense.data) return tt_read_no_memory(r);
  } else if (tt_read_peek_char(r, '"')) {
    if (!read_blob(r, type, total, &out->dense)) return false;
  } else if (tt_read_peek_char(r, '[')) {
    // Each element takes at least one character, so the list cannot be longer than its text.
    if (total > r->end - values)
      return tt_read_fail(r, "fewer elements than the type's %lld", (long long)total);
    char* data =
        tt_arena_alloc_array(tt_read_arena(r), (size_t)TT_MAX(total, 1), TT_MAX(element_bytes, (size_t)8));
    if (!data) return tt_read_no_memory(r);
    int64_t count = 0;
    if (!read_elements(r, type, 0, data, &count, total)) return false;
    out->dense.data = data;
  } else {
    char* data = tt_arena_alloc(tt_read_arena(r), TT_MAX(element_bytes, (size_t)16));
    if (!data) return tt_read_no_memory(r);
    if (!read_element(r, type->dtype, data)) return false;
    out->dense.is_splat = true;
    out->dense.data = data;
  }
  if (!tt_read_expect(r, ">")) return false;
  r->at = back;
  return true;
}

// array<i64: 1, 2>, array<i1: true>, array<f32: 1.0>
static bool read_array(tt_reader_t* r, tt_attr_t* out) {
  tt_dtype_t dtype;
  if (!tt_read_expect(r, "<")) return false;
  tt_read_space(r);
  if (!tt_read_dtype(r, &dtype)) return false;
  if (tt_dtype_is_complex(dtype)) return tt_read_fail(r, "array<> of complex numbers");
  tt_read_list_t list = {0};
  bool is_bool = dtype == TT_DTYPE_PRED, is_float = tt_dtype_is_float(dtype);
  size_t bytes = is_bool ? 1 : 8;
  if (tt_read_accept(r, ":")) {
    while (!tt_read_accept(r, ">")) {
      if (list.size && !tt_read_expect(r, ",")) return false;
      void* slot = tt_read_push(r, &list, bytes);
      if (!slot) return false;
      char element[16] = {0};
      if (!read_element(r, dtype, element)) return false;
      if (is_bool) *(uint8_t*)slot = (uint8_t)element[0];
      else if (is_float) *(double*)slot = tt_scalar_load_f64(dtype, element);
      else *(int64_t*)slot = tt_scalar_load_i64(dtype, element);
    }
  } else if (!tt_read_expect(r, ">")) {
    return false;
  }
  void* data = tt_arena_copy(tt_read_arena(r), list.data, list.size * bytes);
  if (!data) return tt_read_no_memory(r);
  out->dtype = dtype;
  if (is_bool) {
    out->kind = TT_AK_BOOLS;
    out->bools.data = data;
    out->bools.size = list.size;
  } else if (is_float) {
    out->kind = TT_AK_F64S;
    out->f64s.data = data;
    out->f64s.size = list.size;
  } else {
    out->kind = TT_AK_I64S;
    out->i64s = (tt_i64s_t){data, list.size};
  }
  return true;
}

// ---- #stablehlo... -----------------------------------------------------------------------------

static bool keep_opaque(tt_reader_t* r, const char* start, tt_attr_t* out) {
  out->kind = TT_AK_OPAQUE;
  out->text = (tt_string_view_t){start, (size_t)(r->at - start)};
  out->text.data = tt_read_cstr(r, out->text);
  return out->text.data != NULL;
}

// key = value, ... > for the dimension-number attributes; `field` gets each key and reads its value.
typedef bool (*field_fn_t)(tt_reader_t* r, tt_string_view_t key, void* self);
static bool read_fields(tt_reader_t* r, field_fn_t field, void* self) {
  bool first = true;
  while (!tt_read_accept(r, ">")) {
    tt_string_view_t key;
    if (!first && !tt_read_expect(r, ",")) return false;
    first = false;
    if (!tt_read_word(r, &key)) return tt_read_fail(r, "expected a field name");
    if (!tt_read_expect(r, "=") || !field(r, key, self)) return false;
  }
  return true;
}

static bool key_is(tt_string_view_t key, const char* name) {
  return key.size == strlen(name) && !memcmp(key.data, name, key.size);
}
static bool unknown_key(tt_reader_t* r, tt_string_view_t key) {
  return tt_read_fail_at(r, key.data, "unknown field '%.*s'", (int)TT_MIN(key.size, 60), key.data);
}

static bool dot_field(tt_reader_t* r, tt_string_view_t key, void* self) {
  tt_dot_dims_t* d = self;
  tt_i64s_t* to = key_is(key, "lhs_batching_dimensions")      ? &d->lhs_batch
                  : key_is(key, "rhs_batching_dimensions")    ? &d->rhs_batch
                  : key_is(key, "lhs_contracting_dimensions") ? &d->lhs_contracting
                  : key_is(key, "rhs_contracting_dimensions") ? &d->rhs_contracting
                                                              : NULL;
  return to ? tt_read_i64_list(r, '[', ']', to) : unknown_key(r, key);
}

static bool gather_field(tt_reader_t* r, tt_string_view_t key, void* self) {
  tt_gather_dims_t* d = self;
  if (key_is(key, "index_vector_dim")) return tt_read_i64(r, &d->index_vector_dim);
  tt_i64s_t* to = key_is(key, "offset_dims")                   ? &d->offset_dims
                  : key_is(key, "collapsed_slice_dims")        ? &d->collapsed_slice_dims
                  : key_is(key, "operand_batching_dims")       ? &d->operand_batching_dims
                  : key_is(key, "start_indices_batching_dims") ? &d->start_indices_batching_dims
                  : key_is(key, "start_index_map")             ? &d->start_index_map
                                                               : NULL;
  return to ? tt_read_i64_list(r, '[', ']', to) : unknown_key(r, key);
}

static bool scatter_field(tt_reader_t* r, tt_string_view_t key, void* self) {
  tt_scatter_dims_t* d = self;
  if (key_is(key, "index_vector_dim")) return tt_read_i64(r, &d->index_vector_dim);
  tt_i64s_t* to = key_is(key, "update_window_dims")              ? &d->update_window_dims
                  : key_is(key, "inserted_window_dims")          ? &d->inserted_window_dims
                  : key_is(key, "input_batching_dims")           ? &d->input_batching_dims
                  : key_is(key, "scatter_indices_batching_dims") ? &d->scatter_indices_batching_dims
                  : key_is(key, "scatter_dims_to_operand_dims")  ? &d->scatter_dims_to_operand_dims
                                                                 : NULL;
  return to ? tt_read_i64_list(r, '[', ']', to) : unknown_key(r, key);
}

static bool channel_field(tt_reader_t* r, tt_string_view_t key, void* self) {
  tt_attr_t* out = self;
  if (key_is(key, "handle")) return tt_read_i64(r, &out->channel.handle);
  if (key_is(key, "type")) return tt_read_i64(r, &out->channel.type);
  return unknown_key(r, key);
}

static bool alias_field(tt_reader_t* r, tt_string_view_t key, void* self) {
  tt_attr_t* out = self;
  if (key_is(key, "operand_index")) return tt_read_i64(r, &out->alias.operand_index);
  if (key_is(key, "output_tuple_indices"))
    return tt_read_i64_list(r, '[', ']', &out->alias.output_tuple_indices);
  if (key_is(key, "operand_tuple_indices"))
    return tt_read_i64_list(r, '[', ']', &out->alias.operand_tuple_indices);
  return unknown_key(r, key);
}

// [b, f, 0, 1] with the letters given; spatial numbers land in `spatial` by their value.
static bool read_conv_side(tt_reader_t* r, char letter_a, char letter_b, int64_t* out_a, int64_t* out_b,
                           tt_i64s_t* out_spatial) {
  int64_t spatial[TT_MAX_RANK];
  bool seen[TT_MAX_RANK] = {false};
  int64_t position = 0, count = 0;
  *out_a = *out_b = -1;
  if (!tt_read_expect(r, "[")) return false;
  while (!tt_read_accept(r, "]")) {
    if (position && !tt_read_expect(r, ",")) return false;
    if (position >= TT_MAX_RANK) return tt_read_fail(r, "more than %d dimensions", TT_MAX_RANK);
    tt_read_space(r);
    if (r->at < r->end && (*r->at == letter_a || *r->at == letter_b)) {
      int64_t* to = *r->at == letter_a ? out_a : out_b;
      if (*to >= 0) return tt_read_fail(r, "dimension '%c' twice", *r->at);
      *to = position;
      ++r->at;
    } else {
      int64_t number;
      if (!tt_read_i64(r, &number)) return false;
      if (number < 0 || number >= TT_MAX_RANK || seen[number])
        return tt_read_fail(r, "bad spatial dimension %lld", (long long)number);
      seen[number] = true;
      spatial[number] = position;
      ++count;
    }
    ++position;
  }
  if (*out_a < 0 || *out_b < 0)
    return tt_read_fail(r, "dimension '%c' or '%c' is missing", letter_a, letter_b);
  for (int64_t i = 0; i < count; ++i) {
    if (!seen[i]) return tt_read_fail(r, "spatial dimension %lld is missing", (long long)i);
  }
  int64_t* data = tt_arena_copy(tt_read_arena(r), spatial, (size_t)count * sizeof(int64_t));
  if (!data) return tt_read_no_memory(r);
  *out_spatial = (tt_i64s_t){data, (size_t)count};
  return true;
}

bool tt_read_conv_dims(tt_reader_t* r, const tt_conv_dims_t** out) {
  tt_conv_dims_t d;
  memset(&d, 0, sizeof(d));
  if (!read_conv_side(r, 'b', 'f', &d.input_batch, &d.input_feature, &d.input_spatial) ||
      !tt_read_expect(r, "x") ||
      !read_conv_side(r, 'o', 'i', &d.kernel_output_feature, &d.kernel_input_feature, &d.kernel_spatial) ||
      !tt_read_expect(r, "->") ||
      !read_conv_side(r, 'b', 'f', &d.output_batch, &d.output_feature, &d.output_spatial)) {
    return false;
  }
  *out = tt_arena_copy(tt_read_arena(r), &d, sizeof(d));
  return *out || tt_read_no_memory(r);
}

static bool read_dialect_attr(tt_reader_t* r, tt_attr_t* out) {
  const char* start = r->at;
  tt_string_view_t name;
  tt_read_sigil_name(r, &name);
  if (key_is(name, "#stablehlo") || key_is(name, "#chlo")) {  // #stablehlo<precision DEFAULT>
    tt_string_view_t kind, value;
    if (!tt_read_expect(r, "<") || !tt_read_word(r, &kind) || !tt_read_word(r, &value))
      return tt_read_fail(r, "expected '<kind VALUE>'");
    if (!tt_read_expect(r, ">")) return false;
    static const char* const known[] = {
        "stablehlo<precision", "stablehlo<comparison_direction", "stablehlo<comparison_type",
        "stablehlo<fft_type",  "stablehlo<transpose",            "stablehlo<rng_algorithm",
        "stablehlo<rng_distribution", "chlo<precision", "chlo<comparison_direction", "chlo<comparison_type"};
    for (size_t i = 0; i < TT_ARRAY_LENGTH(known); ++i) {
      const char* mark = strchr(known[i], '<');
      if (!key_is(kind, mark + 1) || (size_t)(mark - known[i]) != name.size - 1 ||
          memcmp(known[i], name.data + 1, name.size - 1))
        continue;
      out->kind = TT_AK_ENUM;
      out->enum_kind = known[i];
      out->text = (tt_string_view_t){tt_read_cstr(r, value), value.size};
      return out->text.data != NULL;
    }
    return keep_opaque(r, start, out);
  }
  if (key_is(name, "#stablehlo.dot")) {
    tt_dot_dims_t d;
    memset(&d, 0, sizeof(d));
    if (!tt_read_expect(r, "<") || !read_fields(r, dot_field, &d)) return false;
    out->kind = TT_AK_DOT;
    out->dot = tt_arena_copy(tt_read_arena(r), &d, sizeof(d));
    return out->dot || tt_read_no_memory(r);
  }
  if (key_is(name, "#stablehlo.gather")) {
    tt_gather_dims_t d;
    memset(&d, 0, sizeof(d));
    if (!tt_read_expect(r, "<") || !read_fields(r, gather_field, &d)) return false;
    out->kind = TT_AK_GATHER;
    out->gather = tt_arena_copy(tt_read_arena(r), &d, sizeof(d));
    return out->gather || tt_read_no_memory(r);
  }
  if (key_is(name, "#stablehlo.scatter")) {
    tt_scatter_dims_t d;
    memset(&d, 0, sizeof(d));
    if (!tt_read_expect(r, "<") || !read_fields(r, scatter_field, &d)) return false;
    out->kind = TT_AK_SCATTER;
    out->scatter = tt_arena_copy(tt_read_arena(r), &d, sizeof(d));
    return out->scatter || tt_read_no_memory(r);
  }
  if (key_is(name, "#stablehlo.conv")) {
    out->kind = TT_AK_CONV;
    return tt_read_expect(r, "<") && tt_read_conv_dims(r, &out->conv) && tt_read_expect(r, ">");
  }
  if (key_is(name, "#stablehlo.channel_handle")) {
    out->kind = TT_AK_CHANNEL;
    out->channel.handle = out->channel.type = 0;
    return tt_read_expect(r, "<") && read_fields(r, channel_field, out);
  }
  if (key_is(name, "#stablehlo.output_operand_alias")) {
    out->kind = TT_AK_ALIAS;
    memset(&out->alias, 0, sizeof(out->alias));
    return tt_read_expect(r, "<") && read_fields(r, alias_field, out);
  }
  tt_read_alias_t* alias = tt_read_alias(r, name);
  if (r->status) return false;
  if (alias) {
    const char* back = tt_read_alias_begin(r, alias);
    return back && tt_read_attr_value(r, out) && tt_read_alias_end(r, alias, back);
  }
  if (r->at < r->end && *r->at == '<') {
    ++r->at;
    if (!tt_read_skip_balanced(r, '>')) return false;
    ++r->at;
  } else if (!memchr(name.data, '.', name.size)) {
    return tt_read_fail_at(r, start, "unknown attribute '%.*s'", (int)TT_MIN(name.size, 60), name.data);
  }
  if (!keep_opaque(r, start, out)) return false;
  if (key_is(name, "#stablehlo.dot_algorithm")) out->kind = TT_AK_ALGORITHM;
  return true;
}

// ---- values ------------------------------------------------------------------------------------

static bool read_number_attr(tt_reader_t* r, tt_attr_t* out) {
  literal_t literal;
  if (!read_literal(r, &literal)) return false;
  tt_dtype_t dtype = literal.is_float ? TT_DTYPE_F64 : TT_DTYPE_S64;
  const char* before = r->at;
  if (tt_read_accept(r, ":")) {
    tt_read_space(r);
    if (tt_read_accept(r, "index")) {
      return keep_opaque(r, literal.start, out);  // no element type of programs
    } else if (!tt_read_type_ahead(r)) {
      r->at = before;
    } else if (!tt_read_dtype(r, &dtype)) {
      return false;
    }
  }
  out->dtype = dtype;
  if (dtype == TT_DTYPE_PRED) {
    uint8_t value;
    out->kind = TT_AK_BOOL;
    if (!store_literal(r, &literal, dtype, &value)) return false;
    out->b = value;
    return true;
  }
  char element[16] = {0};
  if (tt_dtype_is_complex(dtype)) return tt_read_fail(r, "complex number attributes are not supported");
  if (!store_literal(r, &literal, dtype, element)) return false;
  if (tt_dtype_is_float(dtype)) {
    out->kind = TT_AK_FLOAT;
    out->f = tt_scalar_load_f64(dtype, element);
  } else {
    out->kind = TT_AK_INT;
    out->i = tt_scalar_load_i64(dtype, element);
  }
  return true;
}

static bool read_attr_body(tt_reader_t* r, tt_attr_t* out) {
  tt_read_space(r);
  if (r->at >= r->end) return tt_read_fail(r, "expected an attribute but the text ends");
  char c = *r->at;
  if (c == '"') {
    out->kind = TT_AK_STRING;
    return tt_read_string(r, &out->text);
  }
  if (c == '@') {
    const char* start = r->at;
    tt_string_view_t part;
    if (!tt_read_symbol_name(r, &out->text)) return false;
    out->kind = TT_AK_SYMBOL;
    bool nested = false;
    while (r->at + 1 < r->end && r->at[0] == ':' && r->at[1] == ':') {
      r->at += 2;
      nested = true;
      if (!tt_read_symbol_name(r, &part)) return false;
    }
    return !nested || keep_opaque(r, start, out);  // nested symbols stay text
  }
  if (c == '[') {
    tt_read_list_t list = {0};
    ++r->at;
    while (!tt_read_accept(r, "]")) {
      if (list.size && !tt_read_expect(r, ",")) return false;
      tt_attr_t item;
      memset(&item, 0, sizeof(item));
      if (!tt_read_attr_value(r, &item)) return false;
      tt_attr_t* slot = tt_read_push(r, &list, sizeof(*slot));
      if (!slot) return false;
      *slot = item;
    }
    out->kind = TT_AK_ARRAY;
    out->array.size = list.size;
    out->array.data = tt_arena_copy(tt_read_arena(r), list.data, list.size * sizeof(tt_attr_t));
    return out->array.data || tt_read_no_memory(r);
  }
  if (c == '{') {
    tt_read_list_t list = {0};
    if (!tt_read_attr_dict(r, &list, "{", "}")) return false;
    out->kind = TT_AK_DICT;
    out->dict.size = list.size;
    out->dict.data = tt_arena_copy(tt_read_arena(r), list.data, list.size * sizeof(tt_attr_t));
    return out->dict.data || tt_read_no_memory(r);
  }
  if (c == '#') return read_dialect_attr(r, out);
  if (tt_read_number_ahead(r)) return read_number_attr(r, out);
  if (tt_read_accept(r, "true") || tt_read_peek(r, "false")) {
    out->kind = TT_AK_BOOL;
    out->b = c == 't';
    if (c == 'f') r->at += 5;
    return true;
  }
  if (tt_read_accept(r, "unit")) {
    out->kind = TT_AK_UNIT;
    return true;
  }
  if (tt_read_peek(r, "dense")) return tt_read_dense(r, out);
  if (tt_read_accept(r, "array")) return read_array(r, out);
  if (tt_read_peek(r, "dense_resource")) {
    return tt_read_fail(r, "dense_resource<> constants are not supported: print the program with inline "
        "constants");
  }
  if (tt_read_peek(r, "affine_map") || tt_read_peek(r, "opaque") || tt_read_peek(r, "loc")) {
    const char* start = r->at;
    tt_string_view_t word;
    if (!tt_read_word(r, &word)) return false;
    tt_read_space(r);
    if (r->at < r->end && (*r->at == '<' || *r->at == '(')) {
      char close = *r->at == '<' ? '>' : ')';
      ++r->at;
      if (!tt_read_skip_balanced(r, close)) return false;
      ++r->at;
    }
    return keep_opaque(r, start, out);
  }
  if (tt_read_type_ahead(r)) {
    out->kind = TT_AK_TYPE;
    bool is_bare = *r->at != '!' && *r->at != '(' && !tt_read_peek(r, "tensor") && !tt_read_peek(r, "tuple");
    if (is_bare) {  // held as a 0-d tensor type
      if (!tt_read_dtype(r, &out->dtype)) return false;
      out->type = tt_type_tensor(r->b.module, out->dtype, 0, NULL);
      return out->type || tt_read_no_memory(r);
    }
    out->type = tt_read_type(r);
    return out->type != NULL;
  }
  return tt_read_fail(r, "expected an attribute");
}

bool tt_read_attr_value(tt_reader_t* r, tt_attr_t* out) {
  if (!tt_read_enter(r)) return false;
  bool ok = read_attr_body(r, out);
  --r->depth;
  return ok;
}

bool tt_read_attr_entry(tt_reader_t* r, tt_read_list_t* list) {
  tt_string_view_t name;
  tt_read_space(r);
  const char* start = r->at;
  if (tt_read_peek_char(r, '"')) {
    if (!tt_read_name_string(r, &name)) return false;
  } else if (!tt_read_word(r, &name)) {
    return tt_read_fail(r, "expected an attribute name");
  }
  if (list->size >= TT_READ_MAX_ATTRS) return tt_read_fail_at(r, start, "more than %d attributes",
      TT_READ_MAX_ATTRS);
  tt_attr_t attr;
  memset(&attr, 0, sizeof(attr));
  attr.kind = TT_AK_UNIT;
  if (tt_read_accept(r, "=") && !tt_read_attr_value(r, &attr)) return false;
  tt_read_attr_name(r, name, &attr);
  if (attr.name == TT_ATTR_OTHER && !attr.other_name) return false;
  for (size_t i = 0; i < list->size; ++i) {
    const tt_attr_t* other = &((tt_attr_t*)list->data)[i];
    if (other->name == attr.name &&
        (attr.name != TT_ATTR_OTHER || !strcmp(other->other_name, attr.other_name))) {
      return tt_read_fail_at(r, start, "attribute '%.*s' twice", (int)TT_MIN(name.size, 60), name.data);
    }
  }
  tt_attr_t* slot = tt_read_push(r, list, sizeof(*slot));
  if (!slot) return false;
  *slot = attr;
  return true;
}

bool tt_read_attr_dict(tt_reader_t* r, tt_read_list_t* list, const char* open, const char* close) {
  if (!tt_read_expect(r, open)) return false;
  bool first = true;
  while (!tt_read_accept(r, close)) {
    if (!first && !tt_read_expect(r, ",")) return false;
    first = false;
    if (!tt_read_attr_entry(r, list)) return false;
  }
  return true;
}
