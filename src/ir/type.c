// Interned types of one module.
//
// Invariants:
//  T1 items[0..count) are all types of the module, in order of creation; equal content is one pointer;
//  T2 up to LINEAR_LIMIT types are searched by hash in `items` (a one-op module has two or three); above it
//     `slots` is an open-addressed table of twice the capacity, also in the module's arena.
#include "ir/type_table.h"

#include <string.h>

#include "base/hash.h"

#define LINEAR_LIMIT 32

bool tt_type_is_static(const tt_type_t* type) {
  if (type->kind == TT_TYPE_TENSOR) {
    for (uint32_t i = 0; i < type->rank; ++i) {
      if (type->dims[i] < 0) return false;
    }
    return true;
  }
  for (uint32_t i = 0; i < type->element_count; ++i) {
    if (!tt_type_is_static(type->elements[i])) return false;
  }
  return true;
}

int64_t tt_type_elems(const tt_type_t* type) {
  int64_t count;
  if (type->kind != TT_TYPE_TENSOR || !tt_type_is_static(type)) return -1;
  return tt_checked_product(type->dims, type->rank, &count) ? count : -1;
}

int64_t tt_type_bytes(const tt_type_t* type) {
  int64_t count = tt_type_elems(type), bytes;
  if (count < 0 || !tt_checked_mul_i64(count, (int64_t)tt_dtype_bytes(type->dtype), &bytes)) return -1;
  return bytes;
}

static uint64_t hash_dims(uint64_t hash, const int64_t* dims, size_t rank) {
  for (size_t i = 0; i < rank; ++i) hash = tt_hash_mix(hash, (uint64_t)dims[i]);
  return hash;
}

static uint64_t hash_type(const tt_type_t* type) {
  uint64_t hash =
      tt_hash_mix(0x7455, (uint64_t)type->kind | (uint64_t)type->dtype << 8 | (uint64_t)type->rank << 16);
  if (type->kind == TT_TYPE_TENSOR) {
    hash = hash_dims(hash, type->dims, type->rank);
    if (type->bounds) hash = hash_dims(tt_hash_mix(hash, 1), type->bounds, type->rank);
    if (type->quant) {
      const tt_quant_t* q = type->quant;
      hash = tt_hash_mix(hash, (uint64_t)q->storage | (uint64_t)q->expressed << 8 | (uint64_t)q->count << 16);
      hash = tt_hash_mix(hash_dims(hash, (int64_t[]){q->storage_min, q->storage_max, q->axis}, 3), 2);
      hash = tt_hash_bytes(hash, q->scales, q->count * sizeof(*q->scales));
      hash = hash_dims(hash, q->zero_points, q->count);
    }
    if (type->encoding) hash = tt_hash_bytes(hash, type->encoding, strlen(type->encoding));
    return hash;
  }
  hash = tt_hash_mix(hash, (uint64_t)type->element_count | (uint64_t)type->input_count << 32);
  for (uint32_t i = 0; i < type->element_count; ++i) hash = tt_hash_mix(hash, type->elements[i]->hash);
  return hash;
}

static bool quant_equal(const tt_quant_t* a, const tt_quant_t* b) {
  if (a == b) return true;
  if (!a || !b) return false;
  return a->storage == b->storage && a->expressed == b->expressed && a->storage_min == b->storage_min &&
         a->storage_max == b->storage_max && a->axis == b->axis && a->count == b->count &&
         (a->count == 0 || (memcmp(a->scales, b->scales, a->count * sizeof(*a->scales)) == 0 &&
                            memcmp(a->zero_points, b->zero_points, a->count * sizeof(*a->zero_points)) == 0));
}

static bool dims_equal(const int64_t* a, const int64_t* b, size_t rank) {
  if (!a || !b) return a == b;
  for (size_t i = 0; i < rank; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// Content equality within one module (elements are interned already).
static bool same_type(const tt_type_t* a, const tt_type_t* b) {
  if (a->kind != b->kind) return false;
  if (a->kind == TT_TYPE_TENSOR) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; ++i) {
      if (a->dims[i] != b->dims[i]) return false;
    }
    return dims_equal(a->bounds, b->bounds, a->rank) && quant_equal(a->quant, b->quant) &&
           (a->encoding == b->encoding ||
            (a->encoding && b->encoding && strcmp(a->encoding, b->encoding) == 0));
  }
  if (a->element_count != b->element_count || a->input_count != b->input_count) return false;
  for (uint32_t i = 0; i < a->element_count; ++i) {
    if (a->elements[i] != b->elements[i]) return false;
  }
  return true;
}

bool tt_type_equal(const tt_type_t* a, const tt_type_t* b) {
  if (a == b) return true;
  if (a->hash != b->hash || a->kind != b->kind) return false;
  if (a->kind == TT_TYPE_TENSOR) return same_type(a, b);
  if (a->element_count != b->element_count || a->input_count != b->input_count) return false;
  for (uint32_t i = 0; i < a->element_count; ++i) {
    if (!tt_type_equal(a->elements[i], b->elements[i])) return false;
  }
  return true;
}

static void place(tt_type_table_t* table, const tt_type_t* type) {
  size_t mask = table->slot_count - 1;
  size_t i = type->hash & mask;
  while (table->slots[i]) i = (i + 1) & mask;
  table->slots[i] = type;
}

static bool grow(tt_module_t* module, tt_type_table_t* table) {
  uint32_t capacity = table->capacity * 2;
  const tt_type_t** items = tt_arena_alloc_array(&module->arena, capacity, sizeof(*items));
  if (!items) return false;
  if (capacity > LINEAR_LIMIT) {
    const tt_type_t** slots = tt_arena_alloc_array(&module->arena, (size_t)capacity * 2, sizeof(*slots));
    if (!slots) return false;
    table->slots = slots;
    table->slot_count = capacity * 2;
    for (uint32_t i = 0; i < table->count; ++i) place(table, table->items[i]);
  }
  memcpy(items, table->items, table->count * sizeof(*items));
  table->items = items;
  table->capacity = capacity;
  return true;
}

static const tt_type_t* find(const tt_type_table_t* table, const tt_type_t* type) {
  if (!table->slots) {
    for (uint32_t i = 0; i < table->count; ++i) {
      if (table->items[i]->hash == type->hash && same_type(table->items[i], type)) return table->items[i];
    }
    return NULL;
  }
  size_t mask = table->slot_count - 1;
  for (size_t i = type->hash & mask; table->slots[i]; i = (i + 1) & mask) {
    if (table->slots[i]->hash == type->hash && same_type(table->slots[i], type)) return table->slots[i];
  }
  return NULL;
}

bool tt_type_is_interned(const tt_module_t* module, const tt_type_t* type) {
  return type && find(module->types, type) == type;
}

static const tt_quant_t* copy_quant(tt_arena_t* arena, const tt_quant_t* quant) {
  tt_quant_t* copy = tt_arena_copy(arena, quant, sizeof(*quant));
  if (!copy) return NULL;
  copy->scales = tt_arena_copy(arena, quant->scales, quant->count * sizeof(*quant->scales));
  copy->zero_points = tt_arena_copy(arena, quant->zero_points, quant->count * sizeof(*quant->zero_points));
  return copy->scales && copy->zero_points ? copy : NULL;
}

static const tt_type_t* insert(tt_module_t* module, const tt_type_t* type) {
  tt_type_table_t* table = module->types;
  if (table->count == table->capacity && !grow(module, table)) return NULL;
  size_t extra =
      type->kind == TT_TYPE_TENSOR ? type->rank * sizeof(tt_dim_t) : type->element_count * sizeof(void*);
  tt_type_t* copy = tt_arena_alloc(&module->arena, sizeof(*copy) + extra);
  if (!copy) return NULL;
  *copy = *type;
  if (type->kind == TT_TYPE_TENSOR) {
    copy->dims = (tt_dim_t*)(copy + 1);
    copy->elements = NULL;
    if (extra) memcpy(copy + 1, type->dims, extra);
    if (type->bounds &&
        !(copy->bounds = tt_arena_copy(&module->arena, type->bounds, type->rank * sizeof(int64_t))))
      return NULL;
    if (type->quant && !(copy->quant = copy_quant(&module->arena, type->quant))) return NULL;
    if (type->encoding &&
        !(copy->encoding = tt_arena_strndup(&module->arena, type->encoding, strlen(type->encoding))))
      return NULL;
  } else {
    copy->elements = (const tt_type_t* const*)(copy + 1);
    if (extra) memcpy(copy + 1, type->elements, extra);
  }
  table->items[table->count++] = copy;
  if (table->slots) place(table, copy);
  return copy;
}

static const tt_type_t* intern(tt_module_t* module, tt_type_t* type) {
  type->hash = hash_type(type);
  const tt_type_t* known = find(module->types, type);
  return known ? known : insert(module, type);
}

const tt_type_t* tt_type_tensor(tt_module_t* module, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims) {
  if (rank > TT_MAX_RANK) return NULL;
  tt_type_t type = {.kind = TT_TYPE_TENSOR, .dtype = dtype, .rank = (uint32_t)rank, .dims = dims};
  return intern(module, &type);
}

const tt_type_t* tt_type_tensor_bounded(tt_module_t* module, tt_dtype_t dtype, size_t rank,
                                        const tt_dim_t* dims, const int64_t* bounds) {
  if (rank > TT_MAX_RANK) return NULL;
  bool any = false;  // no known bound is the same type as none
  for (size_t i = 0; bounds && i < rank; ++i) any |= bounds[i] != TT_DIM_UNKNOWN;
  tt_type_t type = {.kind = TT_TYPE_TENSOR, .dtype = dtype, .rank = (uint32_t)rank, .dims = dims,
                    .bounds = any ? bounds : NULL};
  return intern(module, &type);
}

// Elements of a foreign tuple or function type become this module's own.
static const tt_type_t* intern_elements(tt_module_t* module, tt_type_t* type) {
  const tt_type_t* few[16];
  const tt_type_t** own = few;
  if (type->element_count > TT_ARRAY_LENGTH(few)) {
    own = tt_arena_alloc_array(&module->arena, type->element_count, sizeof(*own));
    if (!own) return NULL;
  }
  for (uint32_t i = 0; i < type->element_count; ++i) {
    own[i] = tt_type_intern(module, type->elements[i]);
    if (!own[i]) return NULL;
  }
  type->elements = own;
  return intern(module, type);
}

const tt_type_t* tt_type_intern(tt_module_t* module, const tt_type_t* type) {
  tt_type_t key = *type;
  if (type->kind == TT_TYPE_TENSOR) return type->rank > TT_MAX_RANK ? NULL : intern(module, &key);
  return intern_elements(module, &key);
}

const tt_type_t* tt_type_token(tt_module_t* module) {
  tt_type_t type = {.kind = TT_TYPE_TOKEN, .dtype = TT_DTYPE_TOKEN};
  return intern(module, &type);
}

const tt_type_t* tt_type_tuple(tt_module_t* module, size_t count, const tt_type_t* const* elements) {
  tt_type_t type = {.kind = TT_TYPE_TUPLE, .elements = elements, .element_count = (uint32_t)count};
  return intern(module, &type);
}

const tt_type_t* tt_type_function(tt_module_t* module, size_t inputs, const tt_type_t* const* input_types,
                                  size_t results, const tt_type_t* const* result_types) {
  const tt_type_t* few[16];
  const tt_type_t** all = few;
  size_t count = inputs + results;
  if (count > TT_ARRAY_LENGTH(few)) {
    all = tt_arena_alloc_array(&module->arena, count, sizeof(*all));
    if (!all) return NULL;
  }
  for (size_t i = 0; i < count; ++i) all[i] = i < inputs ? input_types[i] : result_types[i - inputs];
  tt_type_t type = {.kind = TT_TYPE_FUNCTION, .elements = all, .element_count = (uint32_t)count,
                    .input_count = (uint32_t)inputs};
  return intern(module, &type);
}
