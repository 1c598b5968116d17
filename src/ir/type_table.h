// Inside ir only: the interning table, content equality across modules, deep copies of attributes.
#ifndef TT_IR_TYPE_TABLE_H_
#define TT_IR_TYPE_TABLE_H_

#include "ir/ir.h"

#define TT_TYPE_TABLE_INLINE 8

typedef struct tt_type_table_s {
  const tt_type_t** items;
  uint32_t count, capacity;
  const tt_type_t** slots;    // NULL while small
  uint32_t slot_count;        // power of two
  const tt_type_t* inline_items[TT_TYPE_TABLE_INLINE];
} tt_type_table_t;

// Types of two modules; symbolic dimensions compare by number.
bool tt_type_equal(const tt_type_t* a, const tt_type_t* b);

// Is this very pointer one of the module's types?
bool tt_type_is_interned(const tt_module_t* module, const tt_type_t* type);

// Deep copies into `arena`. `map` translates types (NULL: kept); it returns NULL when memory is short.
typedef const tt_type_t* (*tt_type_map_t)(void* self, const tt_type_t* type);
bool tt_attr_copy(tt_arena_t* arena, const tt_attr_t* from, tt_type_map_t map, void* self, tt_attr_t* out);

#endif  // TT_IR_TYPE_TABLE_H_
