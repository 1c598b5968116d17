// Operations of the text reader: the generic form of every op, and the pretty forms by one table of
// `key = value` clauses plus the few ops with a syntax of their own.
#include <string.h>

#include "ir/read.h"

// What has been read of one op before it is built.
typedef struct op_parts_s {
  tt_op_kind_t kind;
  tt_string_view_t result_name;  // %name; data NULL if none
  int64_t result_names;  // 1, or N of %name:N
  tt_read_list_t operands;  // tt_value_t*
  tt_read_list_t attrs;  // tt_attr_t
  tt_read_list_t operand_types;  // const tt_type_t*, when the signature gives them
  bool has_operand_types;
  tt_read_list_t result_types;  // const tt_type_t*
  size_t region_count;
  const char* start;
} op_parts_t;

static bool push_operand(tt_reader_t* r, op_parts_t* p) {
  if (p->operands.size >= TT_READ_MAX_OPERANDS)
    return tt_read_fail(r, "more than %d operands", TT_READ_MAX_OPERANDS);
  tt_value_t* value = tt_read_use(r);
  tt_value_t** slot = value ? tt_read_push(r, &p->operands, sizeof(*slot)) : NULL;
  if (!slot) return false;
  *slot = value;
  return true;
}

static tt_attr_t* push_attr(tt_reader_t* r, op_parts_t* p, tt_attr_name_t name, tt_attr_kind_t kind) {
  for (size_t i = 0; i < p->attrs.size; ++i) {
    if (((tt_attr_t*)p->attrs.data)[i].name == name) {
      tt_read_fail(r, "attribute '%s' twice", tt_attr_name_text(name));
      return NULL;
    }
  }
  tt_attr_t* attr = tt_read_push(r, &p->attrs, sizeof(*attr));
  if (!attr) return NULL;
  memset(attr, 0, sizeof(*attr));
  attr->name = name;
  attr->kind = kind;
  return attr;
}

static bool push_type(tt_reader_t* r, tt_read_list_t* list, const tt_type_t* type) {
  const tt_type_t** slot = tt_read_push(r, list, sizeof(*slot));
  if (!slot) return false;
  *slot = type;
  return true;
}

static bool push_enum(tt_reader_t* r, op_parts_t* p, tt_attr_name_t name) {
  tt_string_view_t word;
  if (!tt_read_word(r, &word)) return tt_read_fail(r, "expected a keyword");
  tt_attr_t* attr = push_attr(r, p, name, TT_AK_ENUM);
  if (!attr) return false;
  attr->text = (tt_string_view_t){tt_read_cstr(r, word), word.size};
  return attr->text.data != NULL;
}

// ---- signatures --------------------------------------------------------------------------------

// Op kinds whose single bare type is the result's alone.
static bool bare_type_is_result(tt_op_kind_t kind) {
  switch (kind) {
    case TT_OP_COMPLEX:
    case TT_OP_IOTA:
    case TT_OP_REPLICA_ID:
    case TT_OP_PARTITION_ID:
    case TT_OP_TUPLE:
    case TT_OP_AFTER_ALL: return true;
    default: return false;
  }
}

// `: (A, B) -> C`, `: A, B -> C`, `: T` or `: A, B` as the op's kind has them.
static bool read_signature(tt_reader_t* r, op_parts_t* p) {
  if (!tt_read_expect(r, ":")) return false;
  bool functional = tt_read_peek_char(r, '(');
  tt_read_list_t types = {0};
  if (functional ? !tt_read_types_parenthesised(r, &types) : !tt_read_types(r, &types)) return false;
  if (tt_read_accept(r, "->")) {
    p->operand_types = types;
    p->has_operand_types = true;
    if (tt_read_peek_char(r, '(')) return tt_read_types_parenthesised(r, &p->result_types);
    const tt_type_t* type = tt_read_type(r);
    return type && push_type(r, &p->result_types, type);
  }
  if (functional) return tt_read_fail(r, "expected '->' after the operand types");
  const tt_op_info_t* info = tt_op_info(p->kind);
  if (p->kind == TT_OP_RETURN || p->kind == TT_OP_FUNC_RETURN) {
    p->operand_types = types;
    p->has_operand_types = true;
    return true;
  }
  if (p->kind == TT_OP_WHILE || p->kind == TT_OP_OPTIMIZATION_BARRIER) {
    p->operand_types = p->result_types = types;
    p->has_operand_types = true;
    return true;
  }
  const tt_type_t** list = types.data;
  if (p->kind == TT_OP_SELECT && types.size == 2) {
    p->has_operand_types = true;
    return push_type(r, &p->operand_types, list[0]) && push_type(r, &p->operand_types, list[1]) &&
           push_type(r, &p->operand_types, list[1]) && push_type(r, &p->result_types, list[1]);
  }
  if (types.size != 1) return tt_read_fail(r, "'%s' has one type after ':'", info->name);
  if (!push_type(r, &p->result_types, list[0])) return false;
  if (bare_type_is_result(p->kind)) return true;
  p->has_operand_types = true;
  for (size_t i = 0; i < p->operands.size; ++i) {
    if (!push_type(r, &p->operand_types, list[0])) return false;
  }
  return true;
}

static bool check_operand_types(tt_reader_t* r, const op_parts_t* p) {
  if (!p->has_operand_types) return true;
  const char* name = tt_op_info(p->kind)->name;
  if (p->operand_types.size != p->operands.size) {
    return tt_read_fail_at(r, p->start, "'%s' has %zu operands but %zu operand types", name, p->operands.size,
                           p->operand_types.size);
  }
  for (size_t i = 0; i < p->operands.size; ++i) {
    if (((tt_value_t**)p->operands.data)[i]->type != ((const tt_type_t**)p->operand_types.data)[i]) {
      return tt_read_fail_at(r, p->start, "'%s': operand %zu has another type than the one given", name, i);
    }
  }
  return true;
}

// ---- building ----------------------------------------------------------------------------------

static bool build(tt_reader_t* r, op_parts_t* p, tt_op_t** out_op) {
  const tt_op_info_t* info = tt_op_info(p->kind);
  if (!check_operand_types(r, p)) return false;
  if ((int64_t)p->operands.size < info->operands_min ||
      (info->operands_max >= 0 && (int64_t)p->operands.size > info->operands_max)) {
    return tt_read_fail_at(r, p->start, "'%s' has %zu operands", info->name, p->operands.size);
  }
  if (info->results >= 0 && p->result_types.size != (size_t)info->results) {
    return tt_read_fail_at(r, p->start, "'%s' has %d result(s), not %zu", info->name, info->results,
                           p->result_types.size);
  }
  if (info->regions >= 0 && p->region_count != (size_t)info->regions) {
    return tt_read_fail_at(r, p->start, "'%s' has %d region(s), not %zu", info->name, info->regions,
                           p->region_count);
  }
  const tt_loc_t* loc = NULL;
  r->b.loc = loc;
  tt_op_t* op = tt_b_op(
      &r->b, p->kind, p->operands.size, p->operands.data, p->attrs.size, p->attrs.data, p->result_types.size,
      p->result_types.data ? p->result_types.data : (const tt_type_t* [1]){NULL}, p->region_count);
  if (!op) {
    tt_status_t status = tt_builder_take_status(&r->b);
    tt_read_fail_at(r, p->start, "%s", tt_status_message(status));
    tt_status_free(status);
    return false;
  }
  *out_op = op;
  return true;
}

static bool define_results(tt_reader_t* r, const op_parts_t* p, tt_op_t* op) {
  if (!p->result_name.data) {
    if (op->result_count)
      return tt_read_fail_at(r, p->start, "'%s' needs a name for its results", tt_op_info(op->kind)->name);
    return true;
  }
  if ((int64_t)op->result_count != p->result_names) {
    return tt_read_fail_at(r, p->start, "'%s' has %u results but %lld names", tt_op_info(op->kind)->name,
                           op->result_count, (long long)p->result_names);
  }
  return tt_read_define(r, p->result_name, op->results, op->result_count);
}

// ---- generic form ------------------------------------------------------------------------------

static bool read_generic(tt_reader_t* r, op_parts_t* p, tt_op_t** out_op) {
  if (!tt_read_expect(r, "(")) return false;
  while (!tt_read_accept(r, ")")) {
    if (p->operands.size && !tt_read_expect(r, ",")) return false;
    if (!push_operand(r, p)) return false;
  }
  if (tt_read_peek_char(r, '[')) return tt_read_fail(r, "operations with successor blocks are not supported");
  if (tt_read_peek(r, "<{") && !tt_read_attr_dict(r, &p->attrs, "<{", "}>")) return false;
  // Regions stand before the types: their places are noted now, they are read once the op exists.
  tt_read_list_t places = {0};
  if (tt_read_accept(r, "(")) {
    do {
      tt_read_space(r);
      const char** place = tt_read_push(r, &places, sizeof(*place));
      if (!place) return false;
      *place = r->at;
      if (!tt_read_peek_char(r, '{')) return tt_read_fail(r, "expected a region ('{')");
      ++r->at;
      if (!tt_read_skip_balanced(r, '}')) return false;
      ++r->at;
    } while (tt_read_accept(r, ","));
    if (!tt_read_expect(r, ")")) return false;
  }
  if (tt_read_peek_char(r, '{') && !tt_read_attr_dict(r, &p->attrs, "{", "}")) return false;
  if (!tt_read_expect(r, ":") || !tt_read_types_parenthesised(r, &p->operand_types) ||
      !tt_read_expect(r, "->"))
    return false;
  p->has_operand_types = true;
  if (tt_read_peek_char(r, '(')) {
    if (!tt_read_types_parenthesised(r, &p->result_types)) return false;
  } else {
    const tt_type_t* type = tt_read_type(r);
    if (!type || !push_type(r, &p->result_types, type)) return false;
  }
  p->region_count = places.size;
  if (!build(r, p, out_op)) return false;
  const char* back = r->at;
  for (size_t i = 0; i < places.size; ++i) {
    r->at = ((const char**)places.data)[i];
    if (!tt_read_region(r, *out_op, i)) return false;
  }
  r->at = back;
  return true;
}

// ---- pretty clauses ----------------------------------------------------------------------------

typedef enum clause_kind_e {
  CLAUSE_LIST,
  CLAUSE_INT,
  CLAUSE_BOOL,
  CLAUSE_ENUM,
  CLAUSE_STRING,
  CLAUSE_PRECISION,
  CLAUSE_DOT,
  CLAUSE_FORMAT,
  CLAUSE_ALGORITHM
} clause_kind_t;
typedef struct clause_s {
  tt_op_kind_t op;
  const char* key;
  clause_kind_t kind;
  tt_attr_name_t attr;
} clause_t;
static const clause_t clauses[] = {
    {TT_OP_BROADCAST, "sizes", CLAUSE_LIST, TT_ATTR_BROADCAST_SIZES},
    {TT_OP_BROADCAST_IN_DIM, "dims", CLAUSE_LIST, TT_ATTR_BROADCAST_DIMENSIONS},
    {TT_OP_CHLO_TOP_K, "k", CLAUSE_INT, TT_ATTR_K},
    {TT_OP_CHOLESKY, "lower", CLAUSE_BOOL, TT_ATTR_LOWER},
    {TT_OP_CONCATENATE, "dim", CLAUSE_INT, TT_ATTR_DIMENSION},
    {TT_OP_DOT, "precision", CLAUSE_PRECISION, TT_ATTR_PRECISION_CONFIG},
    {TT_OP_DOT_GENERAL, "algorithm", CLAUSE_ALGORITHM, TT_ATTR_ALGORITHM},
    {TT_OP_DOT_GENERAL, "batching_dims", CLAUSE_DOT, TT_ATTR_DOT_DIMENSION_NUMBERS},
    {TT_OP_DOT_GENERAL, "contracting_dims", CLAUSE_DOT, TT_ATTR_DOT_DIMENSION_NUMBERS},
    {TT_OP_DOT_GENERAL, "precision", CLAUSE_PRECISION, TT_ATTR_PRECISION_CONFIG},
    {TT_OP_DYNAMIC_BROADCAST_IN_DIM, "dims", CLAUSE_LIST, TT_ATTR_BROADCAST_DIMENSIONS},
    {TT_OP_DYNAMIC_IOTA, "dim", CLAUSE_INT, TT_ATTR_IOTA_DIMENSION},
    {TT_OP_DYNAMIC_SLICE, "sizes", CLAUSE_LIST, TT_ATTR_SLICE_SIZES},
    {TT_OP_EINSUM, "config", CLAUSE_STRING, TT_ATTR_EINSUM_CONFIG},
    {TT_OP_FFT, "length", CLAUSE_LIST, TT_ATTR_FFT_LENGTH},
    {TT_OP_FFT, "type", CLAUSE_ENUM, TT_ATTR_FFT_TYPE},
    {TT_OP_GET_DIMENSION_SIZE, "dim", CLAUSE_INT, TT_ATTR_DIMENSION},
    {TT_OP_IOTA, "dim", CLAUSE_INT, TT_ATTR_IOTA_DIMENSION},
    {TT_OP_PAD, "high", CLAUSE_LIST, TT_ATTR_EDGE_PADDING_HIGH},
    {TT_OP_PAD, "interior", CLAUSE_LIST, TT_ATTR_INTERIOR_PADDING},
    {TT_OP_PAD, "low", CLAUSE_LIST, TT_ATTR_EDGE_PADDING_LOW},
    {TT_OP_REDUCE_PRECISION, "format", CLAUSE_FORMAT, TT_ATTR_EXPONENT_BITS},
    {TT_OP_REVERSE, "dims", CLAUSE_LIST, TT_ATTR_DIMENSIONS},
    {TT_OP_RNG, "distribution", CLAUSE_ENUM, TT_ATTR_RNG_DISTRIBUTION},
    {TT_OP_RNG_BIT_GENERATOR, "algorithm", CLAUSE_ENUM, TT_ATTR_RNG_ALGORITHM},
    {TT_OP_SET_DIMENSION_SIZE, "dim", CLAUSE_INT, TT_ATTR_DIMENSION},
    {TT_OP_TRANSPOSE, "dims", CLAUSE_LIST, TT_ATTR_PERMUTATION},
};

// e5m10
static bool read_format(tt_reader_t* r, op_parts_t* p) {
  tt_read_space(r);
  int64_t exponent, mantissa;
  if (r->at >= r->end || *r->at != 'e') return tt_read_fail(r, "expected a format such as e5m10");
  ++r->at;
  if (!tt_read_i64(r, &exponent) || r->at >= r->end || *r->at != 'm')
    return tt_read_fail(r, "expected a format such as e5m10");
  ++r->at;
  if (!tt_read_i64(r, &mantissa)) return false;
  tt_attr_t* attr = push_attr(r, p, TT_ATTR_EXPONENT_BITS, TT_AK_INT);
  if (!attr) return false;
  attr->i = exponent;
  attr->dtype = TT_DTYPE_S32;
  if (!(attr = push_attr(r, p, TT_ATTR_MANTISSA_BITS, TT_AK_INT))) return false;
  attr->i = mantissa;
  attr->dtype = TT_DTYPE_S32;
  return true;
}

// [DEFAULT, HIGHEST]
static bool read_precision(tt_reader_t* r, op_parts_t* p, tt_attr_name_t name) {
  tt_read_list_t list = {0};
  if (!tt_read_expect(r, "[")) return false;
  while (!tt_read_accept(r, "]")) {
    tt_string_view_t word;
    if (list.size && !tt_read_expect(r, ",")) return false;
    if (!tt_read_word(r, &word)) return tt_read_fail(r, "expected a precision");
    tt_attr_t* slot = tt_read_push(r, &list, sizeof(*slot));
    if (!slot) return false;
    memset(slot, 0, sizeof(*slot));
    slot->kind = TT_AK_ENUM;
    slot->text = (tt_string_view_t){tt_read_cstr(r, word), word.size};
    if (!slot->text.data) return false;
  }
  tt_attr_t* attr = push_attr(r, p, name, TT_AK_ARRAY);
  if (!attr) return false;
  attr->array.size = list.size;
  attr->array.data = tt_arena_copy(tt_read_arena(r), list.data, list.size * sizeof(tt_attr_t));
  return attr->array.data || tt_read_no_memory(r);
}

// [0] x [0]: both clauses of dot_general fill one attribute.
static bool read_dot_clause(tt_reader_t* r, op_parts_t* p, bool batch) {
  tt_dot_dims_t* dims = NULL;
  for (size_t i = 0; i < p->attrs.size; ++i) {
    const tt_attr_t* attr = &((tt_attr_t*)p->attrs.data)[i];
    if (attr->name == TT_ATTR_DOT_DIMENSION_NUMBERS && attr->kind == TT_AK_DOT)
      dims = (tt_dot_dims_t*)(uintptr_t)attr->dot;
  }
  if (!dims) {
    dims = tt_arena_alloc(tt_read_arena(r), sizeof(*dims));
    if (!dims) return tt_read_no_memory(r);
    tt_attr_t* attr = push_attr(r, p, TT_ATTR_DOT_DIMENSION_NUMBERS, TT_AK_DOT);
    if (!attr) return false;
    attr->dot = dims;
  }
  return tt_read_i64_list(r, '[', ']', batch ? &dims->lhs_batch : &dims->lhs_contracting) &&
         tt_read_expect(r, "x") &&
         tt_read_i64_list(r, '[', ']', batch ? &dims->rhs_batch : &dims->rhs_contracting);
}

static bool read_clause(tt_reader_t* r, op_parts_t* p, const clause_t* clause) {
  tt_attr_t* attr;
  int64_t number;
  switch (clause->kind) {
    case CLAUSE_LIST:
      attr = push_attr(r, p, clause->attr, TT_AK_I64S);
      return attr && tt_read_i64_list(r, '[', ']', &attr->i64s);
    case CLAUSE_INT:
      if (!tt_read_i64(r, &number)) return false;
      attr = push_attr(r, p, clause->attr, TT_AK_INT);
      if (!attr) return false;
      attr->i = number;
      attr->dtype = TT_DTYPE_S64;
      return true;
    case CLAUSE_BOOL:
      attr = push_attr(r, p, clause->attr, TT_AK_BOOL);
      if (!attr) return false;
      attr->b = tt_read_accept(r, "true");
      return attr->b || tt_read_expect(r, "false");
    case CLAUSE_ENUM: return push_enum(r, p, clause->attr);
    case CLAUSE_STRING:
      attr = push_attr(r, p, clause->attr, TT_AK_STRING);
      return attr && tt_read_string(r, &attr->text);
    case CLAUSE_PRECISION: return read_precision(r, p, clause->attr);
    case CLAUSE_DOT: return read_dot_clause(r, p, clause->key[0] == 'b');
    case CLAUSE_FORMAT: return read_format(r, p);
    case CLAUSE_ALGORITHM: {
      tt_read_space(r);
      const char* start = r->at;
      if (!tt_read_expect(r, "<") || !tt_read_skip_balanced(r, '>')) return false;
      ++r->at;
      attr = push_attr(r, p, clause->attr, TT_AK_ALGORITHM);
      char* text =
          tt_arena_printf(tt_read_arena(r), "#stablehlo.dot_algorithm%.*s", (int)(r->at - start), start);
      if (!attr) return false;
      if (!text) return tt_read_no_memory(r);
      attr->text = (tt_string_view_t){text, strlen(text)};
      return true;
    }
  }
  return false;
}

static const clause_t* find_clause(tt_op_kind_t op, tt_string_view_t key) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(clauses); ++i) {
    if (clauses[i].op == op && strlen(clauses[i].key) == key.size &&
        !memcmp(clauses[i].key, key.data, key.size))
      return &clauses[i];
  }
  return NULL;
}

// Operands and clauses separated by commas, up to `{`, `:` or `close`.
static bool read_items(tt_reader_t* r, op_parts_t* p, char close) {
  bool first = true;
  for (;;) {
    tt_read_space(r);
    if (r->at >= r->end) return tt_read_fail(r, "text ends inside an operation");
    if (first && (*r->at == ':' || *r->at == '{' || *r->at == close)) return true;
    if (!first && !tt_read_accept(r, ",")) return true;
    first = false;
    if (tt_read_peek_char(r, '%')) {
      if (!push_operand(r, p)) return false;
      continue;
    }
    tt_string_view_t key;
    const char* at = r->at;
    if (!tt_read_word(r, &key)) return tt_read_fail(r, "expected an operand or a clause");
    const clause_t* clause = find_clause(p->kind, key);
    if (!clause)
      return tt_read_fail_at(r, at, "'%s' has no clause '%.*s'", tt_op_info(p->kind)->name,
                             (int)TT_MIN(key.size, 60), key.data);
    if (!tt_read_expect(r, "=") || !read_clause(r, p, clause)) return false;
  }
}

// ---- ops with a syntax of their own ------------------------------------------------------------

// [0:4:1, 2:3]
static bool read_slice_ranges(tt_reader_t* r, op_parts_t* p) {
  int64_t starts[TT_MAX_RANK], limits[TT_MAX_RANK], strides[TT_MAX_RANK];
  size_t rank = 0;
  if (!push_operand(r, p) || !tt_read_expect(r, "[")) return false;
  while (!tt_read_accept(r, "]")) {
    if (rank && !tt_read_expect(r, ",")) return false;
    if (rank == TT_MAX_RANK) return tt_read_fail(r, "more than %d dimensions", TT_MAX_RANK);
    strides[rank] = 1;
    if (!tt_read_i64(r, &starts[rank]) || !tt_read_expect(r, ":") || !tt_read_i64(r, &limits[rank]))
      return false;
    if (tt_read_accept(r, ":") && !tt_read_i64(r, &strides[rank])) return false;
    ++rank;
  }
  const struct {
    tt_attr_name_t name;
    const int64_t* data;
  } lists[] = {{TT_ATTR_START_INDICES, starts}, {TT_ATTR_LIMIT_INDICES, limits}, {TT_ATTR_STRIDES, strides}};
  for (size_t i = 0; i < 3; ++i) {
    tt_attr_t* attr = push_attr(r, p, lists[i].name, TT_AK_I64S);
    if (!attr) return false;
    attr->i64s = (tt_i64s_t){tt_arena_copy(tt_read_arena(r), lists[i].data, rank * sizeof(int64_t)), rank};
    if (!attr->i64s.data) return tt_read_no_memory(r);
  }
  return true;
}

// window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [..], rhs_dilate = [..], reverse = [..]}
static bool read_window(tt_reader_t* r, op_parts_t* p) {
  if (!tt_read_expect(r, "{")) return false;
  bool first = true;
  while (!tt_read_accept(r, "}")) {
    tt_string_view_t key;
    if (!first && !tt_read_expect(r, ",")) return false;
    first = false;
    const char* at = r->at;
    if (!tt_read_word(r, &key) || !tt_read_expect(r, "=")) return tt_read_fail(r, "expected a window field");
    const struct {
      const char* key;
      tt_attr_name_t attr;
    } lists[] = {{"stride", TT_ATTR_WINDOW_STRIDES},
                 {"lhs_dilate", TT_ATTR_LHS_DILATION},
                 {"rhs_dilate", TT_ATTR_RHS_DILATION}};
    bool done = false;
    for (size_t i = 0; i < TT_ARRAY_LENGTH(lists) && !done; ++i) {
      if (strlen(lists[i].key) != key.size || memcmp(lists[i].key, key.data, key.size)) continue;
      tt_attr_t* attr = push_attr(r, p, lists[i].attr, TT_AK_I64S);
      if (!attr || !tt_read_i64_list(r, '[', ']', &attr->i64s)) return false;
      done = true;
    }
    if (done) continue;
    if (key.size == 3 && !memcmp(key.data, "pad", 3)) {
      tt_read_list_t values = {0};
      int64_t rows = 0;
      if (!tt_read_expect(r, "[")) return false;
      while (!tt_read_accept(r, "]")) {
        tt_i64s_t pair;
        if (rows && !tt_read_expect(r, ",")) return false;
        if (!tt_read_i64_list(r, '[', ']', &pair)) return false;
        if (pair.size != 2) return tt_read_fail(r, "padding comes in pairs");
        for (size_t i = 0; i < 2; ++i) {
          int64_t* slot = tt_read_push(r, &values, sizeof(*slot));
          if (!slot) return false;
          *slot = pair.data[i];
        }
        ++rows;
      }
      tt_attr_t* attr = push_attr(r, p, TT_ATTR_PADDING, TT_AK_DENSE);
      const tt_dim_t dims[2] = {rows, 2};
      if (!attr) return false;
      attr->dense = (tt_dense_t){tt_type_tensor(r->b.module, TT_DTYPE_S64, 2, dims), false,
                                 tt_arena_copy(tt_read_arena(r), values.data, values.size * sizeof(int64_t))};
      if (!attr->dense.type || !attr->dense.data) return tt_read_no_memory(r);
    } else if (key.size == 7 && !memcmp(key.data, "reverse", 7)) {
      tt_read_list_t values = {0};
      if (!tt_read_expect(r, "[")) return false;
      while (!tt_read_accept(r, "]")) {
        if (values.size && !tt_read_expect(r, ",")) return false;
        uint8_t* slot = tt_read_push(r, &values, 1);
        if (!slot) return false;
        *slot = tt_read_accept(r, "true") || tt_read_accept(r, "1");
        if (!*slot && !tt_read_accept(r, "false") && !tt_read_expect(r, "0")) return false;
      }
      tt_attr_t* attr = push_attr(r, p, TT_ATTR_WINDOW_REVERSAL, TT_AK_BOOLS);
      if (!attr) return false;
      attr->bools.data = tt_arena_copy(tt_read_arena(r), values.data, values.size);
      attr->bools.size = values.size;
      if (!attr->bools.data) return tt_read_no_memory(r);
    } else {
      return tt_read_fail_at(r, at, "unknown window field '%.*s'", (int)TT_MIN(key.size, 60), key.data);
    }
  }
  return true;
}

static bool read_convolution(tt_reader_t* r, op_parts_t* p) {
  if (!tt_read_expect(r, "(") || !read_items(r, p, ')') || !tt_read_expect(r, ")") ||
      !tt_read_expect(r, "dim_numbers") || !tt_read_expect(r, "="))
    return false;
  tt_attr_t* attr = push_attr(r, p, TT_ATTR_DIMENSION_NUMBERS, TT_AK_CONV);
  if (!attr || !tt_read_conv_dims(r, &attr->conv) || !tt_read_expect(r, ",") ||
      !tt_read_expect(r, "window") || !tt_read_expect(r, "="))
    return false;
  return read_window(r, p);
}

static bool read_compare(tt_reader_t* r, op_parts_t* p) {
  if (!push_enum(r, p, TT_ATTR_COMPARISON_DIRECTION) || !tt_read_expect(r, ",") || !push_operand(r, p) ||
      !tt_read_expect(r, ",") || !push_operand(r, p))
    return false;
  return !tt_read_accept(r, ",") || push_enum(r, p, TT_ATTR_COMPARE_TYPE);
}

static bool read_call(tt_reader_t* r, op_parts_t* p, tt_attr_name_t target, tt_attr_kind_t kind) {
  tt_attr_t* attr = push_attr(r, p, target, kind);
  return attr && tt_read_symbol_name(r, &attr->text) && tt_read_expect(r, "(") && read_items(r, p, ')') &&
         tt_read_expect(r, ")");
}

static bool read_composite(tt_reader_t* r, op_parts_t* p) {
  tt_attr_t* attr = push_attr(r, p, TT_ATTR_NAME, TT_AK_STRING);
  return attr && tt_read_string(r, &attr->text) && read_items(r, p, '{');
}

static bool read_constant(tt_reader_t* r, op_parts_t* p) {
  if (tt_read_peek_char(r, '{') && !tt_read_attr_dict(r, &p->attrs, "{", "}")) return false;
  tt_attr_t* attr = push_attr(r, p, TT_ATTR_VALUE, TT_AK_DENSE);
  if (!attr) return false;
  if (!tt_read_peek(r, "dense")) {  // reports dense_resource and the like
    if (!tt_read_attr_value(r, attr)) return false;
    attr->name = TT_ATTR_VALUE;
  } else if (!tt_read_dense(r, attr)) {
    return false;
  }
  if (attr->kind != TT_AK_DENSE) return tt_read_fail(r, "constant needs dense<> elements");
  return push_type(r, &p->result_types, attr->dense.type);
}

// (%a init: %b), (%c init: %d) [applies op] across dimensions = [1]
typedef struct reduce_parts_s {
  tt_op_kind_t applies;
  tt_read_list_t inits;
} reduce_parts_t;

static bool read_reduce(tt_reader_t* r, op_parts_t* p, reduce_parts_t* reduce) {
  do {
    if (!tt_read_expect(r, "(") || !push_operand(r, p) || !tt_read_expect(r, "init") ||
        !tt_read_expect(r, ":"))
      return false;
    tt_value_t* init = tt_read_use(r);
    tt_value_t** slot = init ? tt_read_push(r, &reduce->inits, sizeof(*slot)) : NULL;
    if (!slot || !tt_read_expect(r, ")")) return false;
    *slot = init;
  } while (tt_read_accept(r, ","));
  for (size_t i = 0; i < reduce->inits.size; ++i) {
    tt_value_t** slot = tt_read_push(r, &p->operands, sizeof(*slot));
    if (!slot) return false;
    *slot = ((tt_value_t**)reduce->inits.data)[i];
  }
  reduce->applies = TT_OP_INVALID;
  if (tt_read_accept(r, "applies")) {
    tt_string_view_t name;
    if (!tt_read_word(r, &name)) return tt_read_fail(r, "expected an operation name");
    reduce->applies = tt_op_kind_from_name(name.data, name.size);
    if (reduce->applies == TT_OP_INVALID || !(tt_op_info(reduce->applies)->traits & TT_TRAIT_BINARY)) {
      return tt_read_fail_at(r, name.data, "'%.*s' cannot reduce", (int)TT_MIN(name.size, 60), name.data);
    }
    if (reduce->inits.size != 1) return tt_read_fail(r, "'applies' takes one input");
  }
  if (!tt_read_expect(r, "across") || !tt_read_expect(r, "dimensions") || !tt_read_expect(r, "="))
    return false;
  tt_attr_t* attr = push_attr(r, p, TT_ATTR_DIMENSIONS, TT_AK_I64S);
  p->region_count = 1;
  return attr && tt_read_i64_list(r, '[', ']', &attr->i64s);
}

static bool failed_builder(tt_reader_t* r) {
  if (tt_builder_ok(&r->b)) return false;
  tt_status_t status = tt_builder_take_status(&r->b);
  tt_read_fail(r, "%s", tt_status_message(status));
  tt_status_free(status);
  return true;
}

static const tt_type_t* scalar_of(tt_reader_t* r, const tt_value_t* value) {
  const tt_type_t* type = tt_type_tensor(r->b.module, value->type->dtype, 0, NULL);
  if (!type) tt_read_no_memory(r);
  return type;
}

static bool read_reducer(tt_reader_t* r, tt_op_t* op, const reduce_parts_t* reduce) {
  size_t count = reduce->inits.size;
  tt_read_list_t types = {0};
  if (reduce->applies != TT_OP_INVALID) {
    for (int i = 0; i < 2; ++i) {
      const tt_type_t* type = scalar_of(r, op->operands[1]);
      if (!type || !push_type(r, &types, type)) return false;
    }
    tt_block_t* saved = tt_b_region_begin(&r->b, op, 0, 2, types.data);
    if (failed_builder(r)) return false;
    tt_value_t* value =
        tt_b_binary(&r->b, reduce->applies, tt_b_region_arg(op, 0, 0), tt_b_region_arg(op, 0, 1));
    tt_b_region_end(&r->b, saved, 1, &value);
    return !failed_builder(r);
  }
  // reducer(%a: T, %b: T) (%c: T, %d: T) { ... }: pairs by input; the block has all left ones first
  tt_string_view_t* names = tt_arena_alloc_array(&r->scratch, count * 2, sizeof(*names));
  const tt_type_t** list = tt_arena_alloc_array(&r->scratch, count * 2, sizeof(*list));
  if (!names || !list) return tt_read_no_memory(r);
  if (!tt_read_expect(r, "reducer")) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!tt_read_expect(r, "(")) return false;
    for (size_t side = 0; side < 2; ++side) {
      size_t k = side * count + i;
      if (side && !tt_read_expect(r, ",")) return false;
      if (!tt_read_value_name(r, &names[k]) || !tt_read_expect(r, ":") || !(list[k] = tt_read_type(r)) ||
          !tt_read_location(r, NULL)) return false;
    }
    if (!tt_read_expect(r, ")")) return false;
  }
  if (!tt_read_expect(r, "{") || !tt_read_enter(r)) return false;
  size_t scope = tt_read_scope(r);
  tt_block_t* saved = tt_b_region_begin(&r->b, op, 0, count * 2, list);
  if (failed_builder(r)) return false;
  for (size_t k = 0; k < count * 2; ++k) {
    if (!tt_read_define(r, names[k], tt_b_region_arg(op, 0, k), 1)) return false;
  }
  if (!tt_read_block_ops(r)) return false;
  r->b.block = saved;
  tt_read_scope_end(r, scope);
  --r->depth;
  return true;
}

// while(%a = %x, ...) : T, U [attributes {..}] cond { .. } do { .. }
static bool read_while(tt_reader_t* r, op_parts_t* p, tt_op_t** out_op) {
  tt_read_list_t names = {0};
  if (!tt_read_expect(r, "(")) return false;
  while (!tt_read_accept(r, ")")) {
    if (names.size && !tt_read_expect(r, ",")) return false;
    tt_string_view_t* name = tt_read_push(r, &names, sizeof(*name));
    if (!name || !tt_read_value_name(r, name) || !tt_read_expect(r, "=") || !push_operand(r, p)) return false;
  }
  if (names.size && !read_signature(r, p)) return false;
  if (tt_read_accept(r, "attributes") && !tt_read_attr_dict(r, &p->attrs, "{", "}")) return false;
  p->region_count = 2;
  if (!build(r, p, out_op)) return false;
  static const char* const keywords[2] = {"cond", "do"};
  for (size_t region = 0; region < 2; ++region) {
    if (!tt_read_expect(r, keywords[region]) || !tt_read_expect(r, "{") || !tt_read_enter(r)) return false;
    size_t scope = tt_read_scope(r);
    tt_block_t* saved = tt_b_region_begin(&r->b, *out_op, region, names.size, p->result_types.data);
    if (failed_builder(r)) return false;
    for (size_t i = 0; i < names.size; ++i) {
      if (!tt_read_define(r, ((tt_string_view_t*)names.data)[i], tt_b_region_arg(*out_op, region, i), 1))
        return false;
    }
    if (!tt_read_block_ops(r)) return false;
    r->b.block = saved;
    tt_read_scope_end(r, scope);
    --r->depth;
  }
  return true;
}

// get_tuple_element %t[0]
static bool read_tuple_element(tt_reader_t* r, op_parts_t* p) {
  tt_i64s_t index;
  if (!push_operand(r, p) || !tt_read_i64_list(r, '[', ']', &index)) return false;
  if (index.size != 1) return tt_read_fail(r, "expected one index");
  tt_attr_t* attr = push_attr(r, p, TT_ATTR_INDEX, TT_AK_INT);
  if (!attr) return false;
  attr->i = index.data[0];
  attr->dtype = TT_DTYPE_S32;
  return true;
}

static bool read_pretty(tt_reader_t* r, op_parts_t* p, tt_op_t** out_op) {
  bool ok, parenthesised = false;
  reduce_parts_t reduce;
  memset(&reduce, 0, sizeof(reduce));
  switch (p->kind) {
    case TT_OP_WHILE: return read_while(r, p, out_op);
    case TT_OP_CONSTANT: return read_constant(r, p) && build(r, p, out_op);
    case TT_OP_COMPARE: ok = read_compare(r, p); break;
    case TT_OP_SLICE: ok = read_slice_ranges(r, p); break;
    case TT_OP_CONVOLUTION:
    case TT_OP_DYNAMIC_CONV: ok = read_convolution(r, p); break;
    case TT_OP_CUSTOM_CALL: ok = read_call(r, p, TT_ATTR_CALL_TARGET_NAME, TT_AK_STRING); break;
    case TT_OP_FUNC_CALL: ok = read_call(r, p, TT_ATTR_CALLEE, TT_AK_SYMBOL); break;
    case TT_OP_COMPOSITE: ok = read_composite(r, p); break;
    case TT_OP_REDUCE: ok = read_reduce(r, p, &reduce); break;
    case TT_OP_GET_TUPLE_ELEMENT: ok = read_tuple_element(r, p); break;
    case TT_OP_RETURN:
    case TT_OP_FUNC_RETURN: ok = !tt_read_peek_char(r, '%') || read_items(r, p, ':'); break;
    default:
      parenthesised = tt_read_accept(r, "(");
      ok = read_items(r, p, parenthesised ? ')' : ':') && (!parenthesised || tt_read_expect(r, ")"));
      break;
  }
  if (!ok) return false;
  if (tt_read_peek_char(r, '{') && !tt_read_attr_dict(r, &p->attrs, "{", "}")) return false;
  bool bare =
      (p->kind == TT_OP_RETURN || p->kind == TT_OP_FUNC_RETURN || p->kind == TT_OP_OPTIMIZATION_BARRIER) &&
      !p->operands.size;
  if (!bare && !read_signature(r, p)) return false;
  if (!build(r, p, out_op)) return false;
  return p->kind != TT_OP_REDUCE || read_reducer(r, *out_op, &reduce);
}

// sdy.sharding_constraint %x <@mesh, [..]> : T is the value itself here.
static bool read_sharding_constraint(tt_reader_t* r, const op_parts_t* p) {
  tt_value_t* value = tt_read_use(r);
  if (!value || !tt_read_expect(r, "<") || !tt_read_skip_balanced(r, '>')) return false;
  ++r->at;
  if (!tt_read_expect(r, ":") || !tt_read_type(r)) return false;
  return p->result_name.data && tt_read_define(r, p->result_name, value, 1);
}

// ---- one operation -----------------------------------------------------------------------------

// %name[:N] = , or %a, %b = for ops with named results (chlo.top_k)
static bool read_result_names(tt_reader_t* r, op_parts_t* p, tt_read_list_t* more) {
  p->result_names = 0;
  if (!tt_read_peek_char(r, '%')) return true;
  do {
    tt_string_view_t name;
    if (!tt_read_value_name(r, &name)) return false;
    int64_t count = 1;
    if (r->at < r->end && *r->at == ':') {
      ++r->at;
      if (!tt_read_i64(r, &count)) return false;
      if (count < 1 || count > TT_READ_MAX_OPERANDS)
        return tt_read_fail(r, "an operation cannot have %lld results", (long long)count);
    }
    if (!p->result_name.data) {
      p->result_name = name;
      p->result_names = count;
    }
    struct {
      tt_string_view_t name;
      int64_t count;
    }* slot = tt_read_push(r, more, sizeof(*slot));
    if (!slot) return false;
    slot->name = name;
    slot->count = count;
  } while (tt_read_accept(r, ","));
  return tt_read_expect(r, "=");
}

bool tt_read_op(tt_reader_t* r, bool* out_terminator) {
  op_parts_t parts;
  memset(&parts, 0, sizeof(parts));
  tt_read_list_t names = {0};
  tt_read_space(r);
  if (!read_result_names(r, &parts, &names)) return false;
  tt_read_space(r);
  parts.start = r->at;
  tt_string_view_t name;
  bool generic = tt_read_peek_char(r, '"');
  if (generic ? !tt_read_string(r, &name) : !tt_read_word(r, &name))
    return tt_read_fail(r, "expected an operation");
  if (name.size == 23 && !memcmp(name.data, "sdy.sharding_constraint", 23) && !generic) {
    return read_sharding_constraint(r, &parts) && tt_read_location(r, NULL);
  }
  parts.kind = tt_op_kind_from_name(name.data, name.size);
  if (parts.kind == TT_OP_INVALID && !generic) {  // `call` and `return` without their dialect
    if (name.size == 4 && !memcmp(name.data, "call", 4)) parts.kind = TT_OP_FUNC_CALL;
    if (name.size == 6 && !memcmp(name.data, "return", 6)) parts.kind = TT_OP_FUNC_RETURN;
  }
  if (name.size == 22 && !memcmp(name.data, "stablehlo.create_token", 22)) parts.kind = TT_OP_AFTER_ALL;
  if (parts.kind == TT_OP_INVALID) {
    return tt_read_fail_at(r, parts.start, "unknown operation '%.*s'", (int)TT_MIN(name.size, 80), name.data);
  }
  if (!r->b.block) return tt_read_fail_at(r, parts.start, "operation outside a function");
  tt_op_t* op = NULL;
  if (generic ? !read_generic(r, &parts, &op) : !read_pretty(r, &parts, &op)) return false;
  if (!tt_read_location(r, &op->loc) || !tt_read_place(r, parts.start, &op->loc)) return false;
  *out_terminator = (tt_op_info(op->kind)->traits & TT_TRAIT_TERMINATOR) != 0;
  if (names.size <= 1) return define_results(r, &parts, op);
  struct {
    tt_string_view_t name;
    int64_t count;
  }* list = names.data;
  int64_t at = 0;
  for (size_t i = 0; i < names.size; ++i) {
    if (at + list[i].count > (int64_t)op->result_count) {
      return tt_read_fail_at(r, parts.start, "'%s' has %u results, fewer than its names",
                             tt_op_info(op->kind)->name, op->result_count);
    }
    if (!tt_read_define(r, list[i].name, op->results + at, (uint32_t)list[i].count)) return false;
    at += list[i].count;
  }
  return at == (int64_t)op->result_count ||
         tt_read_fail_at(r, parts.start, "'%s' has %u results but %lld names", tt_op_info(op->kind)->name,
                         op->result_count, (long long)at);
}
