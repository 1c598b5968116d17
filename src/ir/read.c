// Module, functions, regions and the lexical helpers of the text reader.
#include "ir/read.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "ir/text.h"

tt_arena_t* tt_read_arena(tt_reader_t* r) { return &r->b.module->arena; }

// ---- errors ------------------------------------------------------------------------------------

static bool fail_va(tt_reader_t* r, const char* at, const char* format, va_list args) {
  if (r->status) return false;
  int line = 1, column = 1;
  if (at < r->begin || at > r->end) at = r->at;  // a name that was read from a string
  for (const char* c = r->begin; c < at; ++c) {
    if (*c == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  tt_status_t inner = tt_status_create_va(TT_INVALID_ARGUMENT, format, args);
  r->status = tt_status_annotate(inner, "%d:%d", line, column);
  return false;
}

bool tt_read_fail(tt_reader_t* r, const char* format, ...) {
  va_list args;
  va_start(args, format);
  fail_va(r, r->at, format, args);
  va_end(args);
  return false;
}

bool tt_read_fail_at(tt_reader_t* r, const char* at, const char* format, ...) {
  va_list args;
  va_start(args, format);
  fail_va(r, at, format, args);
  va_end(args);
  return false;
}

bool tt_read_no_memory(tt_reader_t* r) {
  if (!r->status) r->status = tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory reading a program");
  return false;
}

// Takes over an error of the builder, with the position.
static bool builder_failed(tt_reader_t* r) {
  if (tt_builder_ok(&r->b)) return false;
  tt_status_t status = tt_builder_take_status(&r->b);
  if (tt_status_code(status) == TT_RESOURCE_EXHAUSTED) {
    if (!r->status) r->status = status;
    else tt_status_free(status);
    return true;
  }
  tt_read_fail(r, "%s", tt_status_message(status));
  tt_status_free(status);
  return true;
}

bool tt_read_enter(tt_reader_t* r) {
  if (++r->depth <= TT_READ_MAX_DEPTH) return true;
  return tt_read_fail(r, "nested deeper than %d levels", TT_READ_MAX_DEPTH);
}

void* tt_read_push(tt_reader_t* r, tt_read_list_t* list, size_t element_bytes) {
  if (list->size == list->capacity) {
    size_t capacity = list->capacity ? list->capacity * 2 : 8;
    void* data = tt_arena_alloc_array(&r->scratch, capacity, element_bytes);
    if (!data) {
      tt_read_no_memory(r);
      return NULL;
    }
    if (list->size) memcpy(data, list->data, list->size * element_bytes);
    list->data = data;
    list->capacity = capacity;
  }
  return (char*)list->data + element_bytes * list->size++;
}

// ---- characters --------------------------------------------------------------------------------

void tt_read_space(tt_reader_t* r) {
  while (r->at < r->end) {
    char c = *r->at;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++r->at;
    } else if (c == '/' && r->at + 1 < r->end && r->at[1] == '/') {
      while (r->at < r->end && *r->at != '\n') ++r->at;
    } else {
      return;
    }
  }
}

static bool is_word_char(char c) {
  return tt_is_letter(c) || tt_is_digit(c) || c == '_' || c == '$' || c == '.';
}

bool tt_read_peek_char(tt_reader_t* r, char c) {
  tt_read_space(r);
  return r->at < r->end && *r->at == c;
}

bool tt_read_peek(tt_reader_t* r, const char* text) {
  tt_read_space(r);
  size_t size = strlen(text);
  if ((size_t)(r->end - r->at) < size || memcmp(r->at, text, size) != 0) return false;
  if (is_word_char(text[size - 1]) && r->at + size < r->end && is_word_char(r->at[size])) return false;
  return true;
}

bool tt_read_accept(tt_reader_t* r, const char* text) {
  if (!tt_read_peek(r, text)) return false;
  r->at += strlen(text);
  return true;
}

bool tt_read_expect(tt_reader_t* r, const char* text) {
  if (tt_read_accept(r, text)) return true;
  if (r->at >= r->end) return tt_read_fail(r, "expected '%s' but the text ends", text);
  return tt_read_fail(r, "expected '%s'", text);
}

bool tt_read_word(tt_reader_t* r, tt_string_view_t* out) {
  tt_read_space(r);
  const char* start = r->at;
  if (start >= r->end || !(tt_is_letter(*start) || *start == '_')) return false;
  const char* c = start;
  while (c < r->end && is_word_char(*c)) ++c;
  *out = (tt_string_view_t){start, (size_t)(c - start)};
  r->at = c;
  return true;
}

const char* tt_read_cstr(tt_reader_t* r, tt_string_view_t view) {
  char* text = tt_arena_strndup(tt_read_arena(r), view.data, view.size);
  if (!text) tt_read_no_memory(r);
  return text;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool tt_read_string(tt_reader_t* r, tt_string_view_t* out) {
  if (!tt_read_peek_char(r, '"')) return tt_read_fail(r, "expected a string");
  const char* start = ++r->at;
  const char* c = start;
  while (c < r->end && *c != '"') c += (*c == '\\' && c + 1 < r->end) ? 2 : 1;
  if (c >= r->end) return tt_read_fail_at(r, start - 1, "string does not end");
  char* text = tt_arena_alloc(tt_read_arena(r), (size_t)(c - start) + 1);
  if (!text) return tt_read_no_memory(r);
  size_t size = 0;
  for (const char* p = start; p < c; ++p) {
    if (*p != '\\') {
      text[size++] = *p;
      continue;
    }
    ++p;
    if (*p == 'n') text[size++] = '\n';
    else if (*p == 't') text[size++] = '\t';
    else if (*p == '"' || *p == '\\') text[size++] = *p;
    else if (p + 1 < c && hex_digit(p[0]) >= 0 && hex_digit(p[1]) >= 0) {
      text[size++] = (char)(hex_digit(p[0]) * 16 + hex_digit(p[1]));
      ++p;
    } else {
      return tt_read_fail_at(r, p, "unknown escape in a string");
    }
  }
  text[size] = 0;
  *out = (tt_string_view_t){text, size};
  r->at = c + 1;
  return true;
}

bool tt_read_name_string(tt_reader_t* r, tt_string_view_t* out) {
  const char* start = r->at;
  if (!tt_read_string(r, out)) return false;
  if (!out->size) return tt_read_fail_at(r, start, "a name is empty");
  return !memchr(out->data, 0, out->size) || tt_read_fail_at(r, start, "a name holds a NUL character");
}

bool tt_read_symbol_name(tt_reader_t* r, tt_string_view_t* out) {
  if (!tt_read_expect(r, "@")) return false;
  if (r->at < r->end && *r->at == '"') return tt_read_name_string(r, out);
  const char* start = r->at;
  while (r->at < r->end && (is_word_char(*r->at) || *r->at == '-')) ++r->at;
  if (r->at == start) return tt_read_fail(r, "expected a name after '@'");
  tt_string_view_t view = {start, (size_t)(r->at - start)};
  const char* text = tt_read_cstr(r, view);
  if (!text) return false;
  *out = (tt_string_view_t){text, view.size};
  return true;
}

bool tt_read_number_ahead(tt_reader_t* r) {
  tt_read_space(r);
  const char* c = r->at;
  if (c < r->end && (*c == '-' || *c == '+')) ++c;
  return c < r->end && tt_is_digit(*c);
}

bool tt_read_i64(tt_reader_t* r, int64_t* out) {
  tt_read_space(r);
  const char* start = r->at;
  bool negative = false;
  if (r->at < r->end && *r->at == '-') {
    negative = true;
    ++r->at;
  }
  if (r->at >= r->end || !tt_is_digit(*r->at))
    return tt_read_fail_at(r, start, "expected an integer");
  uint64_t value = 0;
  while (r->at < r->end && tt_is_digit(*r->at)) {
    if (__builtin_mul_overflow(value, 10u, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value)) {
      return tt_read_fail_at(r, start, "integer does not fit 64 bits");
    }
    ++r->at;
  }
  if (value > (uint64_t)INT64_MAX + (negative ? 1u : 0u))
    return tt_read_fail_at(r, start, "integer does not fit 64 bits");
  *out = negative ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}

bool tt_read_i64_list(tt_reader_t* r, char open, char close, tt_i64s_t* out) {
  char text[2] = {open, 0};
  if (!tt_read_expect(r, text)) return false;
  tt_read_list_t list = {0};
  text[0] = close;
  while (!tt_read_accept(r, text)) {
    if (list.size && !tt_read_expect(r, ",")) return false;
    int64_t value;
    if (!tt_read_i64(r, &value)) return false;
    int64_t* slot = tt_read_push(r, &list, sizeof(*slot));
    if (!slot) return false;
    *slot = value;
  }
  int64_t* data = tt_arena_copy(tt_read_arena(r), list.data, list.size * sizeof(int64_t));
  if (!data) return tt_read_no_memory(r);
  *out = (tt_i64s_t){data, list.size};
  return true;
}

bool tt_read_skip_balanced(tt_reader_t* r, char stop) {
  const char* start = r->at;
  int depth = 0;
  while (r->at < r->end) {
    char c = *r->at;
    if (depth == 0 && c == stop) {   // what is kept as text is printed as a string
      const char* nul = memchr(start, 0, (size_t)(r->at - start));
      return !nul || tt_read_fail_at(r, nul, "a NUL character inside brackets");
    }
    if (c == '"') {
      ++r->at;
      while (r->at < r->end && *r->at != '"') r->at += (*r->at == '\\' && r->at + 1 < r->end) ? 2 : 1;
      if (r->at >= r->end) break;
    } else if (c == '/' && r->at + 1 < r->end && r->at[1] == '/') {
      while (r->at + 1 < r->end && r->at[1] != '\n') ++r->at;
    } else if (c == '-' && r->at + 1 < r->end && r->at[1] == '>') {
      ++r->at;
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (--depth < 0) return tt_read_fail(r, "unbalanced '%c'", c);
    }
    ++r->at;
  }
  return tt_read_fail_at(r, start, "text ends inside brackets");
}

// ---- aliases and locations ---------------------------------------------------------------------

static uint64_t name_hash(tt_string_view_t name) { return tt_hash_bytes(0, name.data, name.size); }

static bool same_name(tt_string_view_t a, tt_string_view_t b) {
  return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static tt_read_alias_t* find_alias(tt_reader_t* r, tt_string_view_t name) {
  if (!r->alias_bucket_count) return NULL;
  int32_t i = r->alias_buckets[name_hash(name) & (r->alias_bucket_count - 1)];
  while (i >= 0 && !same_name(r->aliases[i].name, name)) i = r->aliases[i].next;
  return i >= 0 ? &r->aliases[i] : NULL;
}

// Aliases may be defined after their use (locations are), so all are found in one scan of line starts.
static bool scan_aliases(tt_reader_t* r) {
  r->scanned_aliases = true;
  tt_read_list_t list = {0};
  for (const char* line = r->begin; line && line < r->end;) {
    const char* c = line;
    if (*c == '#' || *c == '!') {
      ++c;
      while (c < r->end && is_word_char(*c)) ++c;
      const char* name_end = c;
      while (c < r->end && (*c == ' ' || *c == '\t')) ++c;
      if (c < r->end && *c == '=' && name_end > line + 1) {
        tt_read_alias_t* alias = tt_read_push(r, &list, sizeof(*alias));
        if (!alias) return false;
        memset(alias, 0, sizeof(*alias));
        alias->name = (tt_string_view_t){line, (size_t)(name_end - line)};
        alias->text = c + 1;
      }
    }
    line = memchr(line, '\n', (size_t)(r->end - line));
    if (line) ++line;
  }
  if (list.size >= INT32_MAX / 2) return tt_read_fail(r, "more than 2^30 aliases");
  size_t count = 16;
  while (count < list.size * 2) count *= 2;
  r->aliases = list.data;
  r->alias_count = list.size;
  r->alias_buckets = tt_arena_alloc_array(&r->scratch, count, sizeof(*r->alias_buckets));
  if (!r->alias_buckets) return tt_read_no_memory(r);
  memset(r->alias_buckets, 0xff, count * sizeof(*r->alias_buckets));
  r->alias_bucket_count = count;
  for (size_t i = 0; i < r->alias_count; ++i) {
    tt_read_alias_t* alias = &r->aliases[i];
    if (find_alias(r, alias->name)) {
      return tt_read_fail_at(r, alias->name.data, "redefinition of alias '%.*s'",
                             (int)TT_MIN(alias->name.size, 80), alias->name.data);
    }
    size_t slot = name_hash(alias->name) & (count - 1);
    alias->next = r->alias_buckets[slot];
    r->alias_buckets[slot] = (int32_t)i;
  }
  return true;
}

tt_read_alias_t* tt_read_alias(tt_reader_t* r, tt_string_view_t name) {
  if (!r->scanned_aliases && !scan_aliases(r)) return NULL;
  return r->status ? NULL : find_alias(r, name);
}

void tt_read_sigil_name(tt_reader_t* r, tt_string_view_t* out) {
  const char* start = r->at++;
  while (r->at < r->end && is_word_char(*r->at)) ++r->at;
  *out = (tt_string_view_t){start, (size_t)(r->at - start)};
}

const char* tt_read_alias_begin(tt_reader_t* r, tt_read_alias_t* alias) {
  if (alias->is_open) {
    tt_read_fail_at(r, alias->name.data, "alias '%.*s' refers to itself", (int)TT_MIN(alias->name.size, 80),
                    alias->name.data);
    return NULL;
  }
  alias->is_open = true;
  const char* back = r->at;
  r->at = alias->text;
  return back;
}

bool tt_read_alias_end(tt_reader_t* r, tt_read_alias_t* alias, const char* back) {
  alias->is_open = false;
  r->expanded_bytes += (size_t)(r->at - alias->text);
  r->at = back;
  return r->expanded_bytes <= TT_READ_MAX_EXPANSION ||
         tt_read_fail_at(r, alias->name.data, "aliases stand for more than %d bytes of text",
             TT_READ_MAX_EXPANSION);
}

static bool read_location_body(tt_reader_t* r, tt_loc_t* loc);

// One location inside loc(...): the first file:line found wins, names are kept as they come.
static bool read_location_item(tt_reader_t* r, tt_loc_t* loc) {
  if (!tt_read_enter(r)) return false;
  bool ok = read_location_body(r, loc);
  --r->depth;
  return ok;
}

static bool read_location_body(tt_reader_t* r, tt_loc_t* loc) {
  tt_string_view_t text;
  if (tt_read_accept(r, "unknown")) return true;
  if (tt_read_peek_char(r, '#')) {
    tt_string_view_t name;
    tt_read_sigil_name(r, &name);
    tt_read_alias_t* alias = tt_read_alias(r, name);
    if (!alias) return tt_read_fail_at(r, name.data, "unknown location alias");
    if (!alias->is_read) {  // once: what all operations share may be long
      const char* back = tt_read_alias_begin(r, alias);
      if (!back || !tt_read_expect(r, "loc") || !tt_read_expect(r, "(") || !read_location_item(r,
          &alias->loc) ||
          !tt_read_expect(r, ")") || !tt_read_alias_end(r, alias, back))
        return false;
      alias->is_read = true;
    }
    if (!loc->file) {
      loc->file = alias->loc.file;
      loc->line = alias->loc.line;
      loc->column = alias->loc.column;
    }
    if (!loc->name) loc->name = alias->loc.name;
    return true;
  }
  if (tt_read_accept(r, "callsite")) {
    return tt_read_expect(r, "(") && read_location_item(r, loc) && tt_read_expect(r, "at") &&
           read_location_item(r, loc) && tt_read_expect(r, ")");
  }
  if (tt_read_accept(r, "fused")) {
    if (tt_read_peek_char(r, '<')) {
      ++r->at;
      if (!tt_read_skip_balanced(r, '>')) return false;
      ++r->at;
    }
    if (!tt_read_expect(r, "[")) return false;
    do {
      if (!read_location_item(r, loc)) return false;
    } while (tt_read_accept(r, ","));
    return tt_read_expect(r, "]");
  }
  if (tt_read_accept(r, "loc"))
    return tt_read_expect(r, "(") && read_location_item(r, loc) && tt_read_expect(r, ")");
  if (!tt_read_string(r, &text)) return false;
  if (tt_read_peek_char(r, ':')) {
    int64_t line = 0, column = 0;
    ++r->at;
    if (!tt_read_i64(r, &line) || !tt_read_expect(r, ":") || !tt_read_i64(r, &column)) return false;
    if (tt_read_accept(r, "to")) {  // a range: only its start is kept
      int64_t skip;
      if (tt_read_accept(r, ":")) {
        if (!tt_read_i64(r, &skip)) return false;
      } else if (!tt_read_i64(r, &skip) || (tt_read_accept(r, ":") && !tt_read_i64(r, &skip))) {
        return false;
      }
    }
    if (!loc->file) {
      loc->file = text.data;
      loc->line = (int32_t)TT_MIN(line, INT32_MAX);
      loc->column = (int32_t)TT_MIN(column, INT32_MAX);
    }
    return true;
  }
  if (!loc->name) loc->name = text.data;
  if (tt_read_peek_char(r, '(')) {
    ++r->at;
    return read_location_item(r, loc) && tt_read_expect(r, ")");
  }
  return true;
}

bool tt_read_place(tt_reader_t* r, const char* at, const tt_loc_t** loc) {
  if (!r->line_at || at < r->line_at) {
    r->line_at = r->begin;
    r->line = r->column = 1;
  }
  for (const char* c; (c = memchr(r->line_at, '\n', (size_t)(at - r->line_at)));) {
    r->line_at = c + 1;
    r->line += r->line < INT32_MAX;
    r->column = 1;
  }
  r->column = (int32_t)TT_MIN(r->column + (at - r->line_at), INT32_MAX);
  r->line_at = at;
  tt_loc_t* place = tt_arena_alloc(tt_read_arena(r), sizeof(*place));
  if (!place) return tt_read_no_memory(r);
  if (*loc) *place = **loc;
  place->text_line = r->line;
  place->text_column = r->column;
  *loc = place;
  return true;
}

bool tt_read_location(tt_reader_t* r, const tt_loc_t** out) {
  if (out) *out = NULL;
  if (!tt_read_peek(r, "loc")) return true;
  r->at += 3;
  tt_loc_t loc = {0};
  if (!tt_read_expect(r, "(") || !read_location_item(r, &loc) || !tt_read_expect(r, ")")) return false;
  if (out && (loc.file || loc.name)) {
    *out = tt_arena_copy(tt_read_arena(r), &loc, sizeof(loc));
    if (!*out) return tt_read_no_memory(r);
  }
  return true;
}

// ---- values ------------------------------------------------------------------------------------

static bool rehash(tt_reader_t* r) {
  size_t count = r->bucket_count ? r->bucket_count * 4 : 64;
  int32_t* buckets = tt_arena_alloc_array(&r->scratch, count, sizeof(*buckets));
  if (!buckets) return tt_read_no_memory(r);
  memset(buckets, 0xff, count * sizeof(*buckets));
  r->buckets = buckets;
  r->bucket_count = count;
  for (size_t i = 0; i < r->symbol_count; ++i) {
    size_t slot = name_hash(r->symbols[i].name) & (count - 1);
    r->symbols[i].next = buckets[slot];
    buckets[slot] = (int32_t)i;
  }
  return true;
}

static int32_t find_symbol(const tt_reader_t* r, tt_string_view_t name) {
  if (!r->bucket_count) return -1;
  int32_t i = r->buckets[name_hash(name) & (r->bucket_count - 1)];
  while (i >= 0 && !same_name(r->symbols[i].name, name)) i = r->symbols[i].next;
  return i;
}

bool tt_read_define(tt_reader_t* r, tt_string_view_t name, tt_value_t* values, uint32_t count) {
  if (find_symbol(r, name) >= 0) {
    return tt_read_fail(r, "redefinition of value '%.*s'", (int)TT_MIN(name.size, 80), name.data);
  }
  if (r->symbol_count >= INT32_MAX) return tt_read_fail(r, "more than 2^31 values");
  if (r->symbol_count >= r->bucket_count * 2 && !rehash(r)) return false;
  if (r->symbol_count == r->symbol_capacity) {
    void* block = r->symbols;
    tt_status_t status = tt_grow(&block, &r->symbol_capacity, r->symbol_count + 1, sizeof(tt_read_symbol_t));
    r->symbols = block;
    if (!tt_status_is_ok(status)) {
      tt_status_free(status);
      return tt_read_no_memory(r);
    }
  }
  size_t slot = name_hash(name) & (r->bucket_count - 1);
  r->symbols[r->symbol_count] = (tt_read_symbol_t){name, values, count, r->buckets[slot]};
  r->buckets[slot] = (int32_t)r->symbol_count++;
  return true;
}

size_t tt_read_scope(const tt_reader_t* r) { return r->symbol_count; }

void tt_read_scope_end(tt_reader_t* r, size_t scope) {
  while (r->symbol_count > scope) {
    tt_read_symbol_t* symbol = &r->symbols[--r->symbol_count];
    r->buckets[name_hash(symbol->name) & (r->bucket_count - 1)] = symbol->next;
  }
}

bool tt_read_value_name(tt_reader_t* r, tt_string_view_t* out) {
  if (!tt_read_peek_char(r, '%')) return tt_read_fail(r, "expected a value ('%%name')");
  const char* start = r->at++;
  while (r->at < r->end && (is_word_char(*r->at) || *r->at == '-')) ++r->at;
  if (r->at == start + 1) return tt_read_fail(r, "expected a name after '%%'");
  *out = (tt_string_view_t){start, (size_t)(r->at - start)};
  return true;
}

tt_value_t* tt_read_use(tt_reader_t* r) {
  tt_string_view_t name;
  if (!tt_read_value_name(r, &name)) return NULL;
  int32_t i = find_symbol(r, name);
  if (i < 0) {
    tt_read_fail_at(r, name.data, "use of undefined value '%.*s'", (int)TT_MIN(name.size, 80), name.data);
    return NULL;
  }
  int64_t index = 0;
  if (r->at < r->end && *r->at == '#') {
    ++r->at;
    if (!tt_read_i64(r, &index)) return NULL;
  }
  if (index < 0 || index >= (int64_t)r->symbols[i].count) {
    tt_read_fail_at(r, name.data, "result %lld of '%.*s', which has %u", (long long)index,
                    (int)TT_MIN(name.size, 80), name.data, r->symbols[i].count);
    return NULL;
  }
  return &r->symbols[i].values[index];
}

// ---- blocks and regions ------------------------------------------------------------------------

bool tt_read_block_ops(tt_reader_t* r) {
  bool terminated = false;
  while (!tt_read_peek_char(r, '}')) {
    if (r->at >= r->end) return tt_read_fail(r, "text ends inside a region");
    if (terminated)
      return tt_read_fail(
          r, "operation after the terminator of its block (blocks with successors are not supported)");
    if (!tt_read_op(r, &terminated)) return false;
  }
  if (!terminated) return tt_read_fail(r, "block does not end with a return");
  ++r->at;
  return true;
}

bool tt_read_region(tt_reader_t* r, tt_op_t* op, size_t index) {
  if (!tt_read_expect(r, "{") || !tt_read_enter(r)) return false;
  size_t scope = tt_read_scope(r);
  tt_read_list_t names = {0}, types = {0};
  if (tt_read_peek_char(r, '^')) {
    tt_string_view_t label;
    ++r->at;
    if (!tt_read_word(r, &label)) return tt_read_fail(r, "expected a block label");
    if (tt_read_accept(r, "(")) {
      while (!tt_read_accept(r, ")")) {
        if (names.size && !tt_read_expect(r, ",")) return false;
        tt_string_view_t* name = tt_read_push(r, &names, sizeof(*name));
        const tt_type_t** type = tt_read_push(r, &types, sizeof(*type));
        if (!name || !type || !tt_read_value_name(r, name) || !tt_read_expect(r, ":")) return false;
        if (!(*type = tt_read_type(r)) || !tt_read_location(r, NULL)) return false;
      }
    }
    if (!tt_read_expect(r, ":")) return false;
  }
  tt_block_t* saved = tt_b_region_begin(&r->b, op, index, names.size, types.data);
  if (builder_failed(r)) return false;
  for (size_t i = 0; i < names.size; ++i) {
    if (!tt_read_define(r, ((tt_string_view_t*)names.data)[i], tt_b_region_arg(op, index, i), 1))
      return false;
  }
  if (!tt_read_block_ops(r)) return false;
  r->b.block = saved;  // the text's own terminator ends the block
  tt_read_scope_end(r, scope);
  --r->depth;
  return true;
}

// ---- functions ---------------------------------------------------------------------------------

typedef struct attr_slice_s {
  tt_attr_t* data;
  size_t size;
} attr_slice_t;

static bool keep_attrs(tt_reader_t* r, const tt_read_list_t* list, attr_slice_t* out) {
  out->size = list->size;
  out->data = tt_arena_copy(tt_read_arena(r), list->data, list->size * sizeof(tt_attr_t));
  return out->data || tt_read_no_memory(r);
}

// The parts of a function before its body, from either form.
typedef struct func_head_s {
  const char* start;
  tt_string_view_t name;
  bool is_public;
  tt_read_list_t arg_names;  // tt_string_view_t; pretty form
  tt_read_list_t arg_types;  // const tt_type_t*
  tt_read_list_t arg_attrs;  // attr_slice_t
  tt_read_list_t result_types;
  tt_read_list_t result_attrs;
  attr_slice_t attrs;
} func_head_t;

// Body between braces, `^bb0(...)` in the generic form.
static bool read_func_body(tt_reader_t* r, func_head_t* head, bool generic) {
  const char* name = tt_read_cstr(r, head->name);
  if (!name) return false;
  if (tt_module_find_func(r->b.module, name))
    return tt_read_fail_at(r, head->start, "redefinition of function '@%s'", name);
  if (++r->func_count > TT_READ_MAX_FUNCS)
    return tt_read_fail_at(r, head->start, "more than %d functions", TT_READ_MAX_FUNCS);
  tt_func_t* func = tt_b_func_begin(&r->b, name, head->is_public, head->arg_types.size, head->arg_types.data);
  if (builder_failed(r) || !tt_read_place(r, head->start, &func->loc)) return false;
  for (size_t i = 0; i < head->arg_attrs.size; ++i) {
    attr_slice_t* attrs = &((attr_slice_t*)head->arg_attrs.data)[i];
    for (size_t k = 0; k < attrs->size; ++k) tt_b_func_arg_attr(&r->b, func, i, attrs->data[k]);
  }
  if (builder_failed(r)) return false;
  func->attrs.data = head->attrs.data;
  func->attrs.size = head->attrs.size;
  size_t scope = tt_read_scope(r);
  if (!tt_read_expect(r, "{") || !tt_read_enter(r)) return false;
  if (generic && tt_read_peek_char(r, '^')) {
    tt_string_view_t label, arg;
    ++r->at;
    if (!tt_read_word(r, &label)) return tt_read_fail(r, "expected a block label");
    size_t count = 0;
    if (tt_read_accept(r, "(")) {
      while (!tt_read_accept(r, ")")) {
        if (count && !tt_read_expect(r, ",")) return false;
        if (!tt_read_value_name(r, &arg) || !tt_read_expect(r, ":")) return false;
        const tt_type_t* type = tt_read_type(r);
        if (!type || !tt_read_location(r, NULL)) return false;
        if (count >= head->arg_types.size || type != ((const tt_type_t**)head->arg_types.data)[count]) {
          return tt_read_fail(r, "block argument %zu of '@%s' differs from the function's type", count, name);
        }
        if (!tt_read_define(r, arg, tt_b_func_arg(func, count), 1)) return false;
        ++count;
      }
    }
    if (count != head->arg_types.size)
      return tt_read_fail(r, "'@%s' has %zu arguments but its block has %zu", name, head->arg_types.size,
                          count);
    if (!tt_read_expect(r, ":")) return false;
  }
  for (size_t i = 0; i < head->arg_names.size; ++i) {
    if (!tt_read_define(r, ((tt_string_view_t*)head->arg_names.data)[i], tt_b_func_arg(func, i), 1))
      return false;
  }
  if (!tt_read_block_ops(r)) return false;
  --r->depth;
  tt_read_scope_end(r, scope);

  // The declared results must be those returned.
  const tt_op_t* last = func->body.block.last;
  if (!last || last->kind != TT_OP_FUNC_RETURN)
    return tt_read_fail(r, "function '@%s' does not end with a return", name);
  size_t count = head->result_types.size;
  if (last->operand_count != count) {
    return tt_read_fail(r, "function '@%s' returns %u values but declares %zu", name, last->operand_count,
                        count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (last->operands[i]->type != ((const tt_type_t**)head->result_types.data)[i]) {
      return tt_read_fail(r, "function '@%s': type of returned value %zu differs from the declared one", name,
                          i);
    }
  }
  func->result_types = tt_arena_copy(tt_read_arena(r), head->result_types.data, count * sizeof(tt_type_t*));
  func->result_attrs =
      tt_arena_alloc_array(tt_read_arena(r), TT_MAX(count, (size_t)1), sizeof(*func->result_attrs));
  if (!func->result_types || !func->result_attrs) return tt_read_no_memory(r);
  func->result_count = (uint32_t)count;
  for (size_t i = 0; i < count && i < head->result_attrs.size; ++i) {
    attr_slice_t* attrs = &((attr_slice_t*)head->result_attrs.data)[i];
    func->result_attrs[i].data = attrs->data;
    func->result_attrs[i].size = attrs->size;
  }
  r->b.block = NULL;
  return true;
}

// func.func [public|private] @name(%a: T {..}, ..) [-> T | (T {..}, ..)] [attributes {..}] { .. }
bool tt_read_func(tt_reader_t* r) {
  func_head_t head = {.start = r->at, .is_public = true};
  if (tt_read_accept(r, "private")) head.is_public = false;
  else (void)(tt_read_accept(r, "public") || tt_read_accept(r, "nested"));
  if (!tt_read_symbol_name(r, &head.name) || !tt_read_expect(r, "(")) return false;
  while (!tt_read_accept(r, ")")) {
    if (head.arg_names.size && !tt_read_expect(r, ",")) return false;
    tt_string_view_t* name = tt_read_push(r, &head.arg_names, sizeof(*name));
    const tt_type_t** type = tt_read_push(r, &head.arg_types, sizeof(*type));
    attr_slice_t* attrs = tt_read_push(r, &head.arg_attrs, sizeof(*attrs));
    if (!name || !type || !attrs) return false;
    if (!tt_read_peek_char(r, '%'))
      return tt_read_fail(r, "function '@%s' has no body (declarations are not supported)", head.name.data);
    if (!tt_read_value_name(r, name) || !tt_read_expect(r, ":") || !(*type = tt_read_type(r))) return false;
    tt_read_list_t list = {0};
    if (tt_read_peek_char(r, '{') && !tt_read_attr_dict(r, &list, "{", "}")) return false;
    if (!keep_attrs(r, &list, attrs) || !tt_read_location(r, NULL)) return false;
  }
  if (tt_read_accept(r, "->")) {
    bool parenthesised = tt_read_accept(r, "(");
    while (!parenthesised || !tt_read_accept(r, ")")) {
      if (head.result_types.size && !tt_read_expect(r, ",")) return false;
      const tt_type_t** type = tt_read_push(r, &head.result_types, sizeof(*type));
      attr_slice_t* attrs = tt_read_push(r, &head.result_attrs, sizeof(*attrs));
      if (!type || !attrs || !(*type = tt_read_type(r))) return false;
      tt_read_list_t list = {0};
      if (parenthesised && tt_read_peek_char(r, '{') && !tt_read_attr_dict(r, &list, "{", "}")) return false;
      if (!keep_attrs(r, &list, attrs)) return false;
      if (!parenthesised) break;
    }
  }
  if (tt_read_accept(r, "attributes")) {
    tt_read_list_t list = {0};
    if (!tt_read_attr_dict(r, &list, "{", "}") || !keep_attrs(r, &list, &head.attrs)) return false;
  }
  return read_func_body(r, &head, false) && tt_read_location(r, NULL);
}

static bool slice_of_dict(tt_reader_t* r, const tt_attr_t* array, tt_read_list_t* list) {
  for (size_t i = 0; i < array->array.size; ++i) {
    const tt_attr_t* dict = &array->array.data[i];
    attr_slice_t* slot = tt_read_push(r, list, sizeof(*slot));
    if (!slot) return false;
    if (dict->kind != TT_AK_DICT)
      return tt_read_fail(r, "argument and result attributes must be dictionaries");
    tt_read_list_t copy = {(void*)(uintptr_t)dict->dict.data, dict->dict.size, dict->dict.size};
    if (!keep_attrs(r, &copy, slot)) return false;
  }
  return true;
}

// "func.func"() <{function_type = .., sym_name = ..}> ({ ^bb0(..): .. }) {..} : () -> ()
static bool read_func_generic(tt_reader_t* r) {
  func_head_t head = {.start = r->at, .is_public = true};
  tt_read_list_t props = {0};
  if (!tt_read_expect(r, "(") || !tt_read_expect(r, ")")) return false;
  if (tt_read_peek(r, "<{") && !tt_read_attr_dict(r, &props, "<{", "}>")) return false;
  const tt_type_t* type = NULL;
  for (size_t i = 0; i < props.size; ++i) {
    const tt_attr_t* attr = &((tt_attr_t*)props.data)[i];
    if (attr->name != TT_ATTR_OTHER) continue;
    if (!strcmp(attr->other_name, "sym_name") && attr->kind == TT_AK_STRING) head.name = attr->text;
    else if (!strcmp(attr->other_name, "sym_visibility") && attr->kind == TT_AK_STRING)
      head.is_public = strcmp(attr->text.data, "private") != 0;
    else if (!strcmp(attr->other_name, "function_type") && attr->kind == TT_AK_TYPE) type = attr->type;
    else if (!strcmp(attr->other_name, "arg_attrs") && attr->kind == TT_AK_ARRAY &&
             !slice_of_dict(r, attr, &head.arg_attrs))
      return false;
    else if (!strcmp(attr->other_name, "res_attrs") && attr->kind == TT_AK_ARRAY &&
             !slice_of_dict(r, attr, &head.result_attrs))
      return false;
  }
  if (!head.name.data || !type || type->kind != TT_TYPE_FUNCTION)
    return tt_read_fail(r, "\"func.func\" needs sym_name and function_type");
  for (uint32_t i = 0; i < type->element_count; ++i) {
    const tt_type_t** slot =
        tt_read_push(r, i < type->input_count ? &head.arg_types : &head.result_types, sizeof(*slot));
    if (!slot) return false;
    *slot = type->elements[i];
  }
  if (head.arg_attrs.size > head.arg_types.size || head.result_attrs.size > head.result_types.size) {
    return tt_read_fail(r, "'@%s' has more attribute lists than arguments or results", head.name.data);
  }
  if (!tt_read_expect(r, "(") || !read_func_body(r, &head, true) || !tt_read_expect(r, ")")) return false;
  tt_read_list_t attrs = {0}, types = {0};
  attr_slice_t kept;
  if (tt_read_peek_char(r, '{') && !tt_read_attr_dict(r, &attrs, "{", "}")) return false;
  if (!keep_attrs(r, &attrs, &kept)) return false;
  r->b.module->last_func->attrs.data = kept.data;
  r->b.module->last_func->attrs.size = kept.size;
  return tt_read_expect(r, ":") && tt_read_types_parenthesised(r, &types) && tt_read_expect(r, "->") &&
         tt_read_types_parenthesised(r, &types) && tt_read_location(r, NULL);
}

// ---- modules -----------------------------------------------------------------------------------

static bool skip_alias_line(tt_reader_t* r) {
  // `#name = ...` / `!name = ...`: read when used. The value may span lines only inside brackets.
  while (r->at < r->end && *r->at != '=') ++r->at;
  if (r->at >= r->end) return tt_read_fail(r, "expected '=' in an alias");
  ++r->at;
  int depth = 0;
  for (; r->at < r->end; ++r->at) {
    char c = *r->at;
    if (c == '"') {
      for (++r->at; r->at < r->end && *r->at != '"'; ++r->at)
        if (*r->at == '\\') ++r->at;
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if ((c == '>' && r->at[-1] != '-') || c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == '\n' && depth <= 0) {
      return true;
    }
  }
  if (r->at > r->end) r->at = r->end;  // an unclosed string
  return true;
}

// Items up to `close` (NULL: the end of the text).
static bool read_module_items(tt_reader_t* r, const char* close) {
  for (;;) {
    tt_read_space(r);
    if (close ? tt_read_accept(r, close) : r->at >= r->end) return true;
    if (r->at >= r->end) return tt_read_fail(r, "expected '%s' but the text ends", close);
    if (tt_read_accept(r, "func.func")) {
      if (!tt_read_func(r)) return false;
    } else if (tt_read_accept(r, "\"func.func\"")) {
      if (!read_func_generic(r)) return false;
    } else if (tt_read_accept(r, "sdy.mesh")) {  // meshes matter to partitioners only
      tt_string_view_t name;
      if (!tt_read_symbol_name(r, &name) || !tt_read_expect(r, "=") || !tt_read_expect(r, "<") ||
          !tt_read_skip_balanced(r, '>') || !tt_read_expect(r, ">"))
        return false;
      tt_read_list_t attrs = {0};
      if (tt_read_peek_char(r, '{') && !tt_read_attr_dict(r, &attrs, "{", "}")) return false;
      if (!tt_read_location(r, NULL)) return false;
    } else if (*r->at == '#' || *r->at == '!') {
      if (!skip_alias_line(r)) return false;
    } else {
      return tt_read_fail(r, "expected a function ('func.func')");
    }
  }
}

static bool read_module(tt_reader_t* r) {
  for (;;) {
    tt_read_space(r);
    if (r->at >= r->end) return true;
    if (*r->at == '#' || *r->at == '!') {
      if (!skip_alias_line(r)) return false;
      continue;
    }
    if (tt_read_accept(r, "\"builtin.module\"")) {
      tt_read_list_t props = {0}, attrs = {0}, types = {0};
      if (!tt_read_expect(r, "(") || !tt_read_expect(r, ")")) return false;
      if (tt_read_peek(r, "<{") && !tt_read_attr_dict(r, &props, "<{", "}>")) return false;
      for (size_t i = 0; i < props.size; ++i) {
        const tt_attr_t* attr = &((tt_attr_t*)props.data)[i];
        if (attr->name == TT_ATTR_OTHER && !strcmp(attr->other_name, "sym_name") &&
            attr->kind == TT_AK_STRING)
          r->b.module->name = attr->text.data;
      }
      if (!tt_read_expect(r, "(") || !tt_read_expect(r, "{")) return false;
      if (tt_read_accept(r, "^")) {
        tt_string_view_t label;
        if (!tt_read_word(r, &label) || !tt_read_expect(r, ":"))
          return tt_read_fail(r, "expected a block label");
      }
      if (!read_module_items(r, "}") || !tt_read_expect(r, ")")) return false;
      attr_slice_t kept;
      if (tt_read_peek_char(r, '{') && !tt_read_attr_dict(r, &attrs, "{", "}")) return false;
      if (!keep_attrs(r, &attrs, &kept)) return false;
      r->b.module->attrs.data = kept.data;
      r->b.module->attrs.size = kept.size;
      if (!tt_read_expect(r, ":") || !tt_read_types_parenthesised(r, &types) || !tt_read_expect(r, "->") ||
          !tt_read_types_parenthesised(r, &types) || !tt_read_location(r, NULL)) {
        return false;
      }
      continue;
    }
    if (tt_read_accept(r, "builtin.module") || tt_read_accept(r, "module")) {
      tt_string_view_t name;
      if (tt_read_peek_char(r, '@')) {
        if (!tt_read_symbol_name(r, &name)) return false;
        r->b.module->name = name.data;
      }
      if (tt_read_accept(r, "attributes")) {
        tt_read_list_t attrs = {0};
        attr_slice_t kept;
        if (!tt_read_attr_dict(r, &attrs, "{", "}") || !keep_attrs(r, &attrs, &kept)) return false;
        r->b.module->attrs.data = kept.data;
        r->b.module->attrs.size = kept.size;
      }
      if (!tt_read_expect(r, "{") || !read_module_items(r, "}") || !tt_read_location(r, NULL)) return false;
      continue;
    }
    return read_module_items(r, NULL);  // functions with no module around them
  }
}

tt_status_t tt_module_parse(const char* text, size_t size, tt_module_t** out_module) {
  *out_module = NULL;
  tt_module_t* module = NULL;
  TT_RETURN_IF_ERROR(tt_module_create(&module));
  tt_reader_t r;
  memset(&r, 0, sizeof(r));
  r.begin = r.at = text;
  r.end = text + size;
  tt_builder_initialize(&r.b, module);
  tt_arena_initialize(&r.scratch);
  bool ok = read_module(&r);
  if (ok && !builder_failed(&r) && !module->first_func) tt_read_fail(&r, "the program has no function");
  tt_status_t status = r.status;
  if (!status && !ok) status = tt_status_create(TT_INTERNAL, "the reader stopped without an error");
  tt_builder_deinitialize(&r.b);
  tt_arena_deinitialize(&r.scratch);
  tt_free(r.symbols);
  if (!tt_status_is_ok(status)) {
    tt_module_release(module);
    return status;
  }
  *out_module = module;
  return TT_OK_STATUS;
}
