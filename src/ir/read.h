// Internal to the text reader: the state that its files share. Recursive descent over characters; the first
// error is kept with its position and everything unwinds by returning false / NULL.
#ifndef TT_IR_READ_H_
#define TT_IR_READ_H_

#include "base/format.h"
#include "ir/builder.h"
#include "ir/ir.h"

#define TT_READ_MAX_DEPTH 64          // nesting of regions, and of attributes and types
#define TT_READ_MAX_OPERANDS 65536
#define TT_READ_MAX_ATTRS 4096        // of one dictionary or operation
#define TT_READ_MAX_FUNCS 16384
#define TT_READ_MAX_EXPANSION (4 << 20)   // bytes of alias texts read at their uses

typedef struct tt_read_symbol_s {     // one %name (a group of results shares a name)
  tt_string_view_t name;
  tt_value_t* values;                 // contiguous
  uint32_t count;
  int32_t next;                       // older entry of the same bucket, -1
} tt_read_symbol_t;

typedef struct tt_read_alias_s {      // #name = text or !name = text
  tt_string_view_t name;              // with its sigil
  const char* text;
  int32_t next;                       // older entry of the same bucket, -1
  bool is_open;                       // being read
  bool is_read;                       // as a location, in loc
  tt_loc_t loc;
} tt_read_alias_t;

typedef struct tt_reader_s {
  const char* begin;
  const char* end;
  const char* at;
  tt_builder_t b;
  tt_arena_t scratch;
  tt_status_t status;                 // owned
  int depth;
  tt_read_symbol_t* symbols;
  size_t symbol_count, symbol_capacity;
  int32_t* buckets;
  size_t bucket_count;                // a power of two
  tt_read_alias_t* aliases;
  size_t alias_count, func_count;
  int32_t* alias_buckets;
  size_t alias_bucket_count;          // a power of two
  bool scanned_aliases;
  size_t expanded_bytes;              // of aliases' texts, read again at each use
  const char* line_at;                // a place whose line and column are known, for the places of operations
  int32_t line, column;
} tt_reader_t;

// read.c
bool tt_read_fail(tt_reader_t* r, const char* format, ...) TT_PRINTF(2, 3);   // always false
bool tt_read_fail_at(tt_reader_t* r, const char* at, const char* format, ...) TT_PRINTF(3, 4);
bool tt_read_no_memory(tt_reader_t* r);
void tt_read_space(tt_reader_t* r);
bool tt_read_peek(tt_reader_t* r, const char* text);       // after space; a word must end there
bool tt_read_accept(tt_reader_t* r, const char* text);     // peek and consume
bool tt_read_expect(tt_reader_t* r, const char* text);
bool tt_read_peek_char(tt_reader_t* r, char c);
// [A-Za-z_][A-Za-z0-9_$.-]*; false without an error if there is none.
bool tt_read_word(tt_reader_t* r, tt_string_view_t* out);
bool tt_read_string(tt_reader_t* r, tt_string_view_t* out);   // "..." unescaped into the module's arena
bool tt_read_name_string(tt_reader_t* r, tt_string_view_t* out);   // not empty, without NUL
bool tt_read_symbol_name(tt_reader_t* r, tt_string_view_t* out);   // @name or @"name"
bool tt_read_i64(tt_reader_t* r, int64_t* out);
bool tt_read_number_ahead(tt_reader_t* r);
bool tt_read_i64_list(tt_reader_t* r, char open, char close, tt_i64s_t* out);   // in the arena
bool tt_read_skip_balanced(tt_reader_t* r, char stop);      // to `stop` at depth 0
bool tt_read_enter(tt_reader_t* r);                         // depth; pair with --r->depth
bool tt_read_location(tt_reader_t* r, const tt_loc_t** out);   // optional trailing loc(...)
bool tt_read_place(tt_reader_t* r, const char* at, const tt_loc_t** loc);   // adds the place in the text to *loc
void tt_read_sigil_name(tt_reader_t* r, tt_string_view_t* out);     // #name, !name: at the sigil
tt_read_alias_t* tt_read_alias(tt_reader_t* r, tt_string_view_t name);   // NULL: none, or an error
// To the alias's text (NULL: it refers to itself), and back behind the use; what is read again is bounded.
const char* tt_read_alias_begin(tt_reader_t* r, tt_read_alias_t* alias);
bool tt_read_alias_end(tt_reader_t* r, tt_read_alias_t* alias, const char* back);
const char* tt_read_cstr(tt_reader_t* r, tt_string_view_t view);    // NUL-terminated copy in the arena
bool tt_read_define(tt_reader_t* r, tt_string_view_t name, tt_value_t* values, uint32_t count);
bool tt_read_value_name(tt_reader_t* r, tt_string_view_t* out);     // %name
tt_value_t* tt_read_use(tt_reader_t* r);                    // %name or %name#k
bool tt_read_region(tt_reader_t* r, tt_op_t* op, size_t index);   // { ... } of an op
size_t tt_read_scope(const tt_reader_t* r);
void tt_read_scope_end(tt_reader_t* r, size_t scope);
bool tt_read_block_ops(tt_reader_t* r);                     // up to `}`
bool tt_read_func(tt_reader_t* r);
tt_arena_t* tt_read_arena(tt_reader_t* r);

// A growing list in the scratch arena.
typedef struct tt_read_list_s { void* data; size_t size, capacity; } tt_read_list_t;
void* tt_read_push(tt_reader_t* r, tt_read_list_t* list, size_t element_bytes);   // NULL: failed

// read_type.c
const tt_type_t* tt_read_type(tt_reader_t* r);
bool tt_read_type_ahead(tt_reader_t* r);
bool tt_read_dtype(tt_reader_t* r, tt_dtype_t* out);
bool tt_read_types(tt_reader_t* r, tt_read_list_t* list);   // a, b, c (not empty)
bool tt_read_types_parenthesised(tt_reader_t* r, tt_read_list_t* list);   // (a, b) or ()

// read_attr.c
bool tt_read_attr_value(tt_reader_t* r, tt_attr_t* out);
bool tt_read_attr_entry(tt_reader_t* r, tt_read_list_t* list);   // name [= value]
bool tt_read_attr_dict(tt_reader_t* r, tt_read_list_t* list, const char* open, const char* close);
bool tt_read_dense(tt_reader_t* r, tt_attr_t* out);          // at `dense<`
bool tt_read_conv_dims(tt_reader_t* r, const tt_conv_dims_t** out);   // [b, f, 0]x[o, i, 0]->[b, f, 0]
void tt_read_attr_name(tt_reader_t* r, tt_string_view_t name, tt_attr_t* out);

// read_op.c
bool tt_read_op(tt_reader_t* r, bool* out_terminator);

#endif  // TT_IR_READ_H_
