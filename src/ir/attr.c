// Attribute names, access, construction and deep copies.
#include <string.h>

#include "ir/builder.h"
#include "ir/type_table.h"

typedef struct attr_text_s { const char* text; size_t size; } attr_text_t;
static const attr_text_t attr_names[TT_ATTR_COUNT] = {
    {"", 0},
#define TT_ATTR(ENUM, name) {name, sizeof(name) - 1},
#include "ir/attrs.def"
#undef TT_ATTR
};

const char* tt_attr_name_text(tt_attr_name_t name) {
  return (unsigned)name < TT_ATTR_COUNT ? attr_names[name].text : "";
}

tt_attr_name_t tt_attr_name_from_text(const char* text, size_t size) {
  for (int i = 1; i < TT_ATTR_COUNT; ++i) {
    if (attr_names[i].size == size && memcmp(attr_names[i].text, text, size) == 0) return (tt_attr_name_t)i;
  }
  return TT_ATTR_OTHER;
}

const tt_attr_t* tt_attr_find(const tt_attr_t* attrs, size_t count, tt_attr_name_t name) {
  for (size_t i = 0; i < count; ++i) {
    if (attrs[i].name == name) return &attrs[i];
  }
  return NULL;
}

const tt_attr_t* tt_op_attr(const tt_op_t* op, tt_attr_name_t name) {
  return tt_attr_find(op->attrs, op->attr_count, name);
}

int64_t tt_op_attr_int(const tt_op_t* op, tt_attr_name_t name, int64_t fallback) {
  const tt_attr_t* attr = tt_op_attr(op, name);
  return attr && attr->kind == TT_AK_INT ? attr->i : fallback;
}

bool tt_op_attr_bool(const tt_op_t* op, tt_attr_name_t name, bool fallback) {
  const tt_attr_t* attr = tt_op_attr(op, name);
  if (!attr) return fallback;
  if (attr->kind == TT_AK_UNIT) return true;
  if (attr->kind == TT_AK_INT) return attr->i != 0;
  return attr->kind == TT_AK_BOOL ? attr->b : fallback;
}

double tt_op_attr_float(const tt_op_t* op, tt_attr_name_t name, double fallback) {
  const tt_attr_t* attr = tt_op_attr(op, name);
  if (!attr) return fallback;
  return attr->kind == TT_AK_FLOAT ? attr->f : attr->kind == TT_AK_INT ? (double)attr->i : fallback;
}

tt_i64s_t tt_op_attr_i64s(const tt_op_t* op, tt_attr_name_t name) {
  const tt_attr_t* attr = tt_op_attr(op, name);
  if (attr && attr->kind == TT_AK_I64S) return attr->i64s;
  // Older text writes dense<[...]> : tensor<nxi64> for the same thing.
  if (attr && attr->kind == TT_AK_DENSE && attr->dense.type->dtype == TT_DTYPE_S64) {
    int64_t count = tt_type_elems(attr->dense.type);
    if (count >= 0 && (!attr->dense.is_splat || count <= 1)) {
      return (tt_i64s_t){attr->dense.data, (size_t)count};
    }
  }
  return (tt_i64s_t){NULL, 0};
}

const char* tt_op_attr_text(const tt_op_t* op, tt_attr_name_t name) {
  const tt_attr_t* attr = tt_op_attr(op, name);
  if (!attr || (attr->kind != TT_AK_STRING && attr->kind != TT_AK_ENUM && attr->kind != TT_AK_SYMBOL))
    return "";
  return attr->text.data ? attr->text.data : "";
}

const tt_attr_t* tt_composite_attr(const tt_op_t* op, tt_attr_name_t name) {
  const tt_attr_t* dict = tt_op_attr(op, TT_ATTR_COMPOSITE_ATTRIBUTES);
  if (!dict || dict->kind != TT_AK_DICT) return NULL;
  return tt_attr_find(dict->dict.data, dict->dict.size, name);
}

// ---- construction ------------------------------------------------------------------------------
tt_attr_t tt_attr_bool(tt_attr_name_t name, bool value) {
  return (tt_attr_t){.name = name, .kind = TT_AK_BOOL, .dtype = TT_DTYPE_PRED, .b = value};
}
tt_attr_t tt_attr_int(tt_attr_name_t name, int64_t value) {
  return (tt_attr_t){.name = name, .kind = TT_AK_INT, .dtype = TT_DTYPE_S64, .i = value};
}
tt_attr_t tt_attr_float(tt_attr_name_t name, double value) {
  return (tt_attr_t){.name = name, .kind = TT_AK_FLOAT, .dtype = TT_DTYPE_F64, .f = value};
}
tt_attr_t tt_attr_string(tt_attr_name_t name, const char* text) {
  return (tt_attr_t){.name = name, .kind = TT_AK_STRING, .text = {text, strlen(text)}};
}
tt_attr_t tt_attr_enum(tt_attr_name_t name, const char* text) {
  return (tt_attr_t){.name = name, .kind = TT_AK_ENUM, .text = {text, strlen(text)}};
}
tt_attr_t tt_attr_i64s(tt_attr_name_t name, size_t count, const int64_t* values) {
  return (tt_attr_t){.name = name, .kind = TT_AK_I64S, .i64s = {values, count}};
}

// ---- deep copies -------------------------------------------------------------------------------
static bool copy_i64s(tt_arena_t* arena, tt_i64s_t* list) {
  if (list->size == 0) {
    list->data = NULL;
    return true;
  }
  list->data = tt_arena_copy(arena, list->data, list->size * sizeof(int64_t));
  return list->data != NULL;
}

static bool copy_list(tt_arena_t* arena, const tt_attr_t* from, size_t count, tt_type_map_t map, void* self,
                      const tt_attr_t** out) {
  tt_attr_t* list = tt_arena_alloc_array(arena, count, sizeof(*list));
  if (!list) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!tt_attr_copy(arena, &from[i], map, self, &list[i])) return false;
  }
  *out = list;
  return true;
}

#define COPY_STRUCT(field)                                            \
  do {                                                                \
    out->field = tt_arena_copy(arena, from->field, sizeof(*from->field)); \
    if (!out->field) return false;                                    \
  } while (0)
#define COPY_MEMBER(pointer, type, member) copy_i64s(arena, &((type*)(pointer))->member)

static bool copy_dense(tt_arena_t* arena, tt_type_map_t map, void* self, tt_dense_t* dense) {
  const tt_type_t* type = dense->type;
  int64_t count = dense->is_splat ? 1 : tt_type_elems(type);
  int64_t bytes;
  if (count < 0 || !tt_checked_mul_i64(count, (int64_t)tt_dtype_bytes(type->dtype), &bytes)) return false;
  if (map && !(dense->type = map(self, type))) return false;
  dense->data = tt_arena_copy(arena, dense->data, (size_t)bytes);
  return dense->data != NULL;
}

bool tt_attr_copy(tt_arena_t* arena, const tt_attr_t* from, tt_type_map_t map, void* self, tt_attr_t* out) {
  *out = *from;
  if (from->other_name &&
      !(out->other_name = tt_arena_strndup(arena, from->other_name, strlen(from->other_name)))) {
    return false;
  }
  switch (from->kind) {
    case TT_AK_UNIT: case TT_AK_BOOL: case TT_AK_INT: case TT_AK_FLOAT: case TT_AK_CHANNEL:
      return true;
    case TT_AK_STRING: case TT_AK_ENUM: case TT_AK_SYMBOL: case TT_AK_ALGORITHM: case TT_AK_OPAQUE:
      out->text.data = tt_arena_strndup(arena, from->text.data, from->text.size);
      return out->text.data != NULL;
    case TT_AK_TYPE:
      return !map || (out->type = map(self, from->type));
    case TT_AK_I64S:
      return copy_i64s(arena, &out->i64s);
    case TT_AK_BOOLS:
      out->bools.data = tt_arena_copy(arena, from->bools.data, from->bools.size);
      return out->bools.data != NULL;
    case TT_AK_F64S:
      out->f64s.data = tt_arena_copy(arena, from->f64s.data, from->f64s.size * sizeof(double));
      return out->f64s.data != NULL;
    case TT_AK_DENSE:
      return copy_dense(arena, map, self, &out->dense);
    case TT_AK_ARRAY:
      return copy_list(arena, from->array.data, from->array.size, map, self, &out->array.data);
    case TT_AK_DICT:
      return copy_list(arena, from->dict.data, from->dict.size, map, self, &out->dict.data);
    case TT_AK_DOT:
      COPY_STRUCT(dot);
      return COPY_MEMBER(out->dot, tt_dot_dims_t, lhs_batch) &&
             COPY_MEMBER(out->dot, tt_dot_dims_t, rhs_batch) &&
             COPY_MEMBER(out->dot, tt_dot_dims_t, lhs_contracting) &&
             COPY_MEMBER(out->dot, tt_dot_dims_t, rhs_contracting);
    case TT_AK_CONV:
      COPY_STRUCT(conv);
      return COPY_MEMBER(out->conv, tt_conv_dims_t, input_spatial) &&
             COPY_MEMBER(out->conv, tt_conv_dims_t, kernel_spatial) &&
             COPY_MEMBER(out->conv, tt_conv_dims_t, output_spatial);
    case TT_AK_GATHER:
      COPY_STRUCT(gather);
      return COPY_MEMBER(out->gather, tt_gather_dims_t, offset_dims) &&
             COPY_MEMBER(out->gather, tt_gather_dims_t, collapsed_slice_dims) &&
             COPY_MEMBER(out->gather, tt_gather_dims_t, operand_batching_dims) &&
             COPY_MEMBER(out->gather, tt_gather_dims_t, start_indices_batching_dims) &&
             COPY_MEMBER(out->gather, tt_gather_dims_t, start_index_map);
    case TT_AK_SCATTER:
      COPY_STRUCT(scatter);
      return COPY_MEMBER(out->scatter, tt_scatter_dims_t, update_window_dims) &&
             COPY_MEMBER(out->scatter, tt_scatter_dims_t, inserted_window_dims) &&
             COPY_MEMBER(out->scatter, tt_scatter_dims_t, input_batching_dims) &&
             COPY_MEMBER(out->scatter, tt_scatter_dims_t, scatter_indices_batching_dims) &&
             COPY_MEMBER(out->scatter, tt_scatter_dims_t, scatter_dims_to_operand_dims);
    case TT_AK_ALIAS:
      return copy_i64s(arena, &out->alias.output_tuple_indices) &&
             copy_i64s(arena, &out->alias.operand_tuple_indices);
  }
  return false;
}
