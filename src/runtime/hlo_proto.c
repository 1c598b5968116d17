#include "runtime/hlo_proto.h"

#include <string.h>

#include "base/alloc.h"

typedef struct span_s {
  const uint8_t *at, *end;
} span_t;
typedef struct field_s {
  uint32_t number;
  uint32_t wire;  // 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes
  uint64_t value;  // varint
  span_t bytes;  // length-delimited
} field_t;

static bool read_varint(span_t* span, uint64_t* out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && span->at < span->end; shift += 7) {
    uint8_t byte = *span->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *out = value;
      return true;
    }
  }
  return false;
}

// The next field of a message; false at its end or, with *bad, where it is none.
static bool next_field(span_t* span, field_t* out, bool* bad) {
  if (span->at == span->end) return false;
  uint64_t key, size = 0;
  *bad = true;
  if (!read_varint(span, &key)) return false;
  out->number = (uint32_t)(key >> 3);
  out->wire = (uint32_t)(key & 7);
  out->bytes = (span_t){span->at, span->at};
  switch (out->wire) {
    case 0:
      if (!read_varint(span, &out->value)) return false;
      break;
    case 1: size = 8; break;
    case 5: size = 4; break;
    case 2:
      if (!read_varint(span, &size)) return false;
      break;
    default: return false;
  }
  if (size > (uint64_t)(span->end - span->at)) return false;
  out->bytes = (span_t){span->at, span->at + size};
  span->at += size;
  *bad = false;
  return true;
}

static tt_status_t bad_message(const char* what) {
  return tt_status_create(TT_DATA_LOSS, "the compiler's optimised program has a broken %s", what);
}

// A repeated integer is packed or a field each; an index has one element, for the tuple of results.
static bool first_index(const field_t* field, int64_t* out) {
  uint64_t value = field->value;
  span_t span = field->bytes;
  if (field->wire == 2 && span.at == span.end) return true;
  if (field->wire == 2 && !read_varint(&span, &value)) return false;
  *out = (int64_t)value;
  return true;
}

// { 1: output index, 2: parameter number, 3: parameter index }
static tt_status_t read_alias(span_t span, tt_rt_ahead_t* out) {
  tt_rt_alias_t alias = {0, 0};
  field_t field;
  bool bad = false;
  while (next_field(&span, &field, &bad)) {
    if (field.number == 1 && !first_index(&field, &alias.output)) return bad_message("alias");
    if (field.number == 2 && field.wire == 0) alias.parameter = (int64_t)field.value;
  }
  if (bad) return bad_message("alias");
  TT_RETURN_IF_ERROR(
      tt_grow((void**)&out->aliases, &out->alias_capacity, out->alias_count + 1, sizeof(alias)));
  out->aliases[out->alias_count++] = alias;
  return TT_OK_STATUS;
}

static void count_opcode(span_t name, tt_rt_ahead_t* out) {
  size_t size = (size_t)(name.end - name.at);
  static const char start[] = "-start";  // an asynchronous one is this and a "-done"
  size_t stem = size > 6 && memcmp(name.end - 6, start, 6) == 0 ? size - 6 : size;
  for (int i = 0; i < TT_RT_COLLECTIVE_COUNT; ++i) {
    const char* text = tt_rt_collective_name((tt_rt_collective_t)i);
    if (strlen(text) == stem && memcmp(text, name.at, stem) == 0) ++out->collectives[i];
  }
}

// { 2: instructions { 2: opcode } }
static tt_status_t read_computation(span_t span, tt_rt_ahead_t* out) {
  field_t field, inner;
  bool bad = false;
  while (next_field(&span, &field, &bad)) {
    if (field.number != 2 || field.wire != 2) continue;
    span_t instruction = field.bytes;
    while (next_field(&instruction, &inner, &bad)) {
      if (inner.number == 2 && inner.wire == 2) count_opcode(inner.bytes, out);
    }
    if (bad) break;
  }
  return bad ? bad_message("computation") : TT_OK_STATUS;
}

// { 3: computations, 8: input_output_alias { 1: entries } }
static tt_status_t read_module(span_t span, tt_rt_ahead_t* out) {
  field_t field, inner;
  bool bad = false, any = false;
  while (next_field(&span, &field, &bad)) {
    if (field.wire != 2) continue;
    if (field.number == 3) {
      any = true;
      TT_RETURN_IF_ERROR(read_computation(field.bytes, out));
    } else if (field.number == 8) {
      span_t entries = field.bytes;
      while (next_field(&entries, &inner, &bad)) {
        if (inner.number == 1 && inner.wire == 2) TT_RETURN_IF_ERROR(read_alias(inner.bytes, out));
      }
      if (bad) break;
    }
  }
  return bad || !any ? bad_message("module") : TT_OK_STATUS;
}

tt_status_t tt_rt_hlo_read(const void* bytes, size_t size, bool has_config, tt_rt_ahead_t* out) {
  span_t span = {bytes, (const uint8_t*)bytes + size};
  if (!has_config) return read_module(span, out);
  field_t field;
  bool bad = false;
  while (next_field(&span, &field, &bad)) {
    if (field.number == 1 && field.wire == 2) return read_module(field.bytes, out);
  }
  return bad_message("module");
}
