// Rules that relate operands, attributes, regions and given results of one op.
#include <string.h>

#include "ir/dim_table.h"
#include "ir/infer.h"

static const tt_type_t* result_type(const tt_infer_t* in, uint32_t i) { return in->op->results[i].type; }

static tt_status_t check_reshape(const tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *y = result_type(in, 0);
  bool fits = x->dtype == y->dtype;
  int64_t before, after;
  if (tt_type_is_static(x) && tt_type_is_static(y)) {
    if (!tt_checked_product(x->dims, x->rank, &before) || !tt_checked_product(y->dims, y->rank, &after)) {
      return tt_infer_fail(in, "the element count of %s overflows int64", TT_TYPE_TEXT(in->names, y));
    }
    fits = fits && before == after;
  } else {
    fits = fits && tt_dim_products_equal(in->names, x->dims, x->rank, y->dims, y->rank) != TT_NO;
  }
  if (!fits) {
    return tt_infer_fail(in, "%s does not reshape to %s", TT_TYPE_TEXT(in->names, x),
                         TT_TYPE_TEXT(in->names, y));
  }
  return TT_OK_STATUS;
}

static tt_status_t check_broadcast_in_dim(const tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *y = result_type(in, 0);
  tt_i64s_t map = tt_op_attr_i64s(in->op, TT_ATTR_BROADCAST_DIMENSIONS);
  if (map.size != x->rank) {
    return tt_infer_fail(in, "broadcast_dimensions has %zu elements, %s has rank %u", map.size,
                         TT_TYPE_TEXT(in->names, x), x->rank);
  }
  TT_RETURN_IF_ERROR(tt_infer_unique(in, "broadcast_dimensions", map, y->rank));
  bool fits = x->dtype == y->dtype;
  for (uint32_t i = 0; fits && i < x->rank; ++i) {
    fits = x->dims[i] == 1 || tt_infer_dims_fit(in, x->dims[i], y->dims[map.data[i]]);
  }
  if (!fits) {
    return tt_infer_fail(in, "%s does not broadcast to %s", TT_TYPE_TEXT(in->names, x),
                         TT_TYPE_TEXT(in->names, y));
  }
  return TT_OK_STATUS;
}

static tt_status_t check_iota(const tt_infer_t* in) {
  const tt_type_t* y = result_type(in, 0);
  int64_t d = tt_op_attr_int(in->op, TT_ATTR_IOTA_DIMENSION, -1);
  if (d < 0 || d >= (int64_t)y->rank) {
    return tt_infer_fail(in, "iota_dimension %lld is outside %s", (long long)d, TT_TYPE_TEXT(in->names, y));
  }
  if (y->dtype == TT_DTYPE_PRED)
    return tt_infer_fail(in, "%s: dtype i1 is not supported by this op", TT_TYPE_TEXT(in->names, y));
  return TT_OK_STATUS;
}

int64_t tt_dtype_element_bits(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_S2: case TT_DTYPE_U2: return 2;
    case TT_DTYPE_S4: case TT_DTYPE_U4: case TT_DTYPE_F4E2M1FN: return 4;
    case TT_DTYPE_PRED: return 1;
    default: return (int64_t)tt_dtype_bytes(dtype) * 8;
  }
}

static tt_status_t check_bitcast(const tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *y = result_type(in, 0);
  int64_t from = tt_dtype_element_bits(x->dtype), to = tt_dtype_element_bits(y->dtype);
  // i1 has one byte here: our lowering reinterprets it as i8 and back.
  if (from == 1 && to == 8) from = 8;
  if (to == 1 && from == 8) to = 8;
  const tt_type_t *longer = from > to ? y : x, *shorter = from > to ? x : y;
  int64_t small = TT_MIN(from, to), large = TT_MAX(from, to);
  bool fits = small && large % small == 0;
  fits = fits && (from == to ? x->rank == y->rank : longer->rank == shorter->rank + 1);
  for (uint32_t i = 0; fits && i < shorter->rank; ++i) fits = tt_infer_dims_fit(in, x->dims[i], y->dims[i]);
  if (fits && from != to) fits = tt_infer_dims_fit(in, longer->dims[longer->rank - 1], large / small);
  if (!fits) {
    return tt_infer_fail(in, "%s does not reinterpret as %s", TT_TYPE_TEXT(in->names, x),
                         TT_TYPE_TEXT(in->names, y));
  }
  return TT_OK_STATUS;
}


// ---- regions -----------------------------------------------------------------------------------
// Argument i of the region has the 0-d type of `dtype`; returns are looked at by the callers.
static tt_status_t check_region_args(const tt_infer_t* in, uint32_t region, uint32_t count) {
  const tt_block_t* block = &in->op->regions[region].block;
  if (block->arg_count != count) {
    return tt_infer_fail(in, "region %u takes %u arguments, needs %u", region, block->arg_count, count);
  }
  return TT_OK_STATUS;
}

static tt_status_t check_region_returns(const tt_infer_t* in, uint32_t region, uint32_t count) {
  const tt_op_t* end = in->op->regions[region].block.last;
  if (!end || end->operand_count != count) {
    return tt_infer_fail(in, "region %u returns %u values, needs %u", region, end ? end->operand_count : 0,
                         count);
  }
  return TT_OK_STATUS;
}

static const tt_type_t* returned(const tt_infer_t* in, uint32_t region, uint32_t i) {
  return in->op->regions[region].block.last->operands[i]->type;
}

static bool is_scalar(const tt_type_t* type) { return type->kind == TT_TYPE_TENSOR && type->rank == 0; }

static tt_status_t check_predicate(const tt_infer_t* in, uint32_t region) {
  TT_RETURN_IF_ERROR(check_region_returns(in, region, 1));
  const tt_type_t* type = returned(in, region, 0);
  if (!is_scalar(type) || type->dtype != TT_DTYPE_PRED) {
    return tt_infer_fail(in, "region %u returns %s, needs tensor<i1>", region, TT_TYPE_TEXT(in->names, type));
  }
  return TT_OK_STATUS;
}

// A reducer over n values: 2n 0-d arguments, n 0-d results of the arguments' types.
static tt_status_t check_reducer(const tt_infer_t* in, uint32_t region, uint32_t n,
                                 const tt_type_t* const* elements) {
  TT_RETURN_IF_ERROR(check_region_args(in, region, 2 * n));
  TT_RETURN_IF_ERROR(check_region_returns(in, region, n));
  const tt_block_t* block = &in->op->regions[region].block;
  for (uint32_t i = 0; i < n; ++i) {
    const tt_type_t *a = block->args[i].type, *b = block->args[n + i].type, *r = returned(in, region, i);
    if (!is_scalar(a) || a != b || a != r || (elements && elements[i]->dtype != a->dtype)) {
      return tt_infer_fail(in, "reducer of value %u maps (%s, %s) to %s%s%s", i, TT_TYPE_TEXT(in->names, a),
                           TT_TYPE_TEXT(in->names, b), TT_TYPE_TEXT(in->names, r),
                           elements ? ", needs 0-d " : "", elements ? tt_dtype_name(elements[i]->dtype) : "");
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t check_reduce(const tt_infer_t* in) {
  uint32_t n = in->op->operand_count / 2;
  TT_RETURN_IF_ERROR(check_reducer(in, 0, n, NULL));
  for (uint32_t i = 0; i < n; ++i) {
    if (in->op->regions[0].block.args[i].type->dtype != tt_infer_type(in, n + i)->dtype) {
      return tt_infer_fail(in, "reducer argument %u is %s, initial value is %s", i,
                           TT_TYPE_TEXT(in->names, in->op->regions[0].block.args[i].type),
                           TT_TYPE_TEXT(in->names, tt_infer_type(in, n + i)));
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t check_scatter(const tt_infer_t* in) {
  return check_reducer(in, 0, in->op->operand_count / 2, NULL);
}

static tt_status_t check_select_and_scatter(const tt_infer_t* in) {
  TT_RETURN_IF_ERROR(check_region_args(in, 0, 2));
  TT_RETURN_IF_ERROR(check_predicate(in, 0));
  return check_reducer(in, 1, 1, NULL);
}

static tt_status_t check_sort(const tt_infer_t* in) {
  uint32_t n = in->op->operand_count;
  TT_RETURN_IF_ERROR(check_region_args(in, 0, 2 * n));
  for (uint32_t i = 0; i < 2 * n; ++i) {
    const tt_type_t* arg = in->op->regions[0].block.args[i].type;
    if (!is_scalar(arg) || arg->dtype != tt_infer_type(in, i / 2)->dtype) {
      return tt_infer_fail(in, "comparator argument %u is %s, needs a 0-d %s", i,
                           TT_TYPE_TEXT(in->names, arg), tt_dtype_name(tt_infer_type(in, i / 2)->dtype));
    }
  }
  return check_predicate(in, 0);
}

static tt_status_t check_map(const tt_infer_t* in) {
  uint32_t n = in->op->operand_count;
  TT_RETURN_IF_ERROR(check_region_args(in, 0, n));
  TT_RETURN_IF_ERROR(check_region_returns(in, 0, 1));
  for (uint32_t i = 0; i < n; ++i) {
    const tt_type_t* arg = in->op->regions[0].block.args[i].type;
    if (!is_scalar(arg) || arg->dtype != tt_infer_type(in, i)->dtype ||
        !tt_infer_shapes_fit(in, tt_infer_type(in, 0), tt_infer_type(in, i))) {
      return tt_infer_fail(in, "argument %u (%s) does not fit operand %s", i, TT_TYPE_TEXT(in->names, arg),
                           TT_TYPE_TEXT(in->names, tt_infer_type(in, i)));
    }
  }
  const tt_type_t *r = returned(in, 0, 0), *y = result_type(in, 0);
  if (!is_scalar(r) || r->dtype != y->dtype || !tt_infer_shapes_fit(in, y, tt_infer_type(in, 0))) {
    return tt_infer_fail(in, "computes %s for a result %s", TT_TYPE_TEXT(in->names, r),
                         TT_TYPE_TEXT(in->names, y));
  }
  return TT_OK_STATUS;
}

static bool types_fit(const tt_infer_t* in, const tt_type_t* a, const tt_type_t* b) {
  return a == b || (a->kind == b->kind && a->dtype == b->dtype && tt_infer_shapes_fit(in, a, b));
}

static tt_status_t check_while(const tt_infer_t* in) {
  uint32_t n = in->op->operand_count;
  for (uint32_t region = 0; region < 2; ++region) {
    TT_RETURN_IF_ERROR(check_region_args(in, region, n));
    for (uint32_t i = 0; i < n; ++i) {
      const tt_type_t* arg = in->op->regions[region].block.args[i].type;
      if (!types_fit(in, arg, tt_infer_type(in, i))) {
        return tt_infer_fail(in, "argument %u of region %u is %s, operand is %s", i, region,
                             TT_TYPE_TEXT(in->names, arg), TT_TYPE_TEXT(in->names, tt_infer_type(in, i)));
      }
    }
  }
  TT_RETURN_IF_ERROR(check_predicate(in, 0));
  TT_RETURN_IF_ERROR(check_region_returns(in, 1, n));
  for (uint32_t i = 0; i < n; ++i) {
    if (!types_fit(in, returned(in, 1, i), tt_infer_type(in, i))) {
      return tt_infer_fail(in, "body returns %s as value %u, operand is %s",
                           TT_TYPE_TEXT(in->names, returned(in, 1, i)), i,
                           TT_TYPE_TEXT(in->names, tt_infer_type(in, i)));
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t check_branches(const tt_infer_t* in) {
  const tt_op_t* op = in->op;
  const tt_type_t* selector = tt_infer_type(in, 0);
  tt_dtype_t wanted = op->kind == TT_OP_IF ? TT_DTYPE_PRED : TT_DTYPE_S32;
  if (!is_scalar(selector) || selector->dtype != wanted) {
    return tt_infer_fail(in, "selector is %s, needs a 0-d %s", TT_TYPE_TEXT(in->names, selector),
                         tt_dtype_name(wanted));
  }
  if (op->region_count == 0) return tt_infer_fail(in, "has no branches");
  for (uint32_t region = 0; region < op->region_count; ++region) {
    TT_RETURN_IF_ERROR(check_region_args(in, region, 0));
    TT_RETURN_IF_ERROR(check_region_returns(in, region, op->result_count));
    for (uint32_t i = 0; i < op->result_count; ++i) {
      if (!types_fit(in, returned(in, region, i), result_type(in, i))) {
        return tt_infer_fail(in, "branch %u returns %s as value %u, the result is %s", region,
                             TT_TYPE_TEXT(in->names, returned(in, region, i)), i,
                             TT_TYPE_TEXT(in->names, result_type(in, i)));
      }
    }
  }
  return TT_OK_STATUS;
}

// ---- the rest ----------------------------------------------------------------------------------
static bool one_of(const char* text, const char* const* list, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(text, list[i]) == 0) return true;
  }
  return false;
}

static tt_status_t check_compare(const tt_infer_t* in) {
  static const char* const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  static const char* const types[] = {"", "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
  const char* direction = tt_op_attr_text(in->op, TT_ATTR_COMPARISON_DIRECTION);
  const char* type = tt_op_attr_text(in->op, TT_ATTR_COMPARE_TYPE);
  if (!one_of(direction, directions, TT_ARRAY_LENGTH(directions))) {
    return tt_infer_fail(in, "comparison direction \"%s\" is unknown", direction);
  }
  if (!one_of(type, types, TT_ARRAY_LENGTH(types)))
    return tt_infer_fail(in, "compare type \"%s\" is unknown", type);
  if (tt_dtype_is_complex(tt_infer_type(in, 0)->dtype) && strcmp(direction, "EQ") != 0 &&
      strcmp(direction, "NE") != 0) {
    return tt_infer_fail(in, "complex numbers have no order (%s)", direction);
  }
  return TT_OK_STATUS;
}

static tt_status_t check_reduce_precision(const tt_infer_t* in) {
  int64_t e = tt_op_attr_int(in->op, TT_ATTR_EXPONENT_BITS, 0),
          m = tt_op_attr_int(in->op, TT_ATTR_MANTISSA_BITS, -1);
  if (e < 1 || m < 0) {
    return tt_infer_fail(in, "exponent_bits %lld must be at least 1, mantissa_bits %lld at least 0",
                         (long long)e, (long long)m);
  }
  return TT_OK_STATUS;
}

static tt_status_t check_rng_bits(const tt_infer_t* in) {
  static const char* const algorithms[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
  const char* algorithm = tt_op_attr_text(in->op, TT_ATTR_RNG_ALGORITHM);
  const tt_type_t* state = tt_infer_type(in, 0);
  if (!one_of(algorithm, algorithms, TT_ARRAY_LENGTH(algorithms))) {
    return tt_infer_fail(in, "rng_algorithm \"%s\" is unknown", algorithm);
  }
  if (state->rank != 1 || state->dtype != TT_DTYPE_U64 || !types_fit(in, state, result_type(in, 0))) {
    return tt_infer_fail(in, "state is %s and becomes %s, needs one 1-d ui64", TT_TYPE_TEXT(in->names, state),
                         TT_TYPE_TEXT(in->names, result_type(in, 0)));
  }
  return TT_OK_STATUS;
}

static tt_status_t check_rng(const tt_infer_t* in) {
  const tt_type_t *a = tt_infer_type(in, 0), *c = tt_infer_type(in, 1), *shape = tt_infer_type(in, 2);
  if (!is_scalar(a) || a != c || shape->rank != 1 || a->dtype != result_type(in, 0)->dtype) {
    return tt_infer_fail(in, "limits %s, %s and shape %s do not fit %s", TT_TYPE_TEXT(in->names, a),
                         TT_TYPE_TEXT(in->names, c), TT_TYPE_TEXT(in->names, shape),
                         TT_TYPE_TEXT(in->names, result_type(in, 0)));
  }
  return TT_OK_STATUS;
}

// The 1-d operand that holds `count` extents.
static tt_status_t check_extents(const tt_infer_t* in, uint32_t operand, uint32_t count) {
  const tt_type_t* type = tt_infer_type(in, operand);
  if (type->rank != 1 || !tt_dtype_is_integer(type->dtype) || !tt_infer_dims_fit(in, type->dims[0], count)) {
    return tt_infer_fail(in, "operand %u is %s, needs %u integers", operand, TT_TYPE_TEXT(in->names, type),
                         count);
  }
  return TT_OK_STATUS;
}

static tt_status_t check_dynamic(const tt_infer_t* in) {
  const tt_type_t* y = result_type(in, 0);
  switch (in->op->kind) {
    case TT_OP_DYNAMIC_IOTA:
      TT_RETURN_IF_ERROR(check_extents(in, 0, y->rank));
      return check_iota(in);
    case TT_OP_DYNAMIC_RESHAPE:
      TT_RETURN_IF_ERROR(check_extents(in, 1, y->rank));
      return check_reshape(in);
    case TT_OP_DYNAMIC_BROADCAST_IN_DIM:
      TT_RETURN_IF_ERROR(check_extents(in, 1, y->rank));
      return check_broadcast_in_dim(in);
    default:  // DYNAMIC_PAD
      for (uint32_t i = 2; i < 5; ++i) TT_RETURN_IF_ERROR(check_extents(in, i, y->rank));
      if (tt_infer_type(in, 0)->rank != y->rank || tt_infer_type(in, 0)->dtype != y->dtype) {
        return tt_infer_fail(in, "%s is not padded to %s", TT_TYPE_TEXT(in->names, tt_infer_type(in, 0)),
                             TT_TYPE_TEXT(in->names, y));
      }
      return TT_OK_STATUS;
  }
}

static tt_status_t check_tuple(const tt_infer_t* in) {
  const tt_type_t* tuple = result_type(in, 0);
  bool fits = tuple->kind == TT_TYPE_TUPLE && tuple->element_count == in->op->operand_count;
  for (uint32_t i = 0; fits && i < tuple->element_count; ++i)
    fits = types_fit(in, tuple->elements[i], tt_infer_type(in, i));
  if (!fits) return tt_infer_fail(in, "operands do not make %s", TT_TYPE_TEXT(in->names, tuple));
  return TT_OK_STATUS;
}

static tt_status_t check_composite(const tt_infer_t* in) {
  static const char* const own[] = {
#define TT_COMPOSITE(name, note) name,
#include "ir/composites.def"
#undef TT_COMPOSITE
  };
  const tt_op_t* op = in->op;
  const char* name = tt_op_attr_text(op, TT_ATTR_NAME);
  const char* callee_name = tt_op_attr_text(op, TT_ATTR_DECOMPOSITION);
  if (!*callee_name) {
    if (one_of(name, own, TT_ARRAY_LENGTH(own))) return TT_OK_STATUS;
    return tt_infer_fail(in, "\"%s\" has no decomposition", name);
  }
  const tt_func_t* callee = tt_module_find_func(in->names, callee_name);
  if (!callee) return tt_infer_fail(in, "decomposition @%s of \"%s\" does not exist", callee_name, name);
  bool fits = callee->body.block.arg_count == op->operand_count && callee->result_count == op->result_count;
  for (uint32_t i = 0; fits && i < op->operand_count; ++i) {
    fits = types_fit(in, callee->body.block.args[i].type, tt_infer_type(in, i));
  }
  for (uint32_t i = 0; fits && i < op->result_count; ++i)
    fits = types_fit(in, callee->result_types[i], result_type(in, i));
  if (!fits) return tt_infer_fail(in, "decomposition @%s of \"%s\" has another signature", callee_name, name);
  return TT_OK_STATUS;
}

static tt_status_t check_reduce_scatter(const tt_infer_t* in) { return check_reducer(in, 0, 1, NULL); }

tt_status_t tt_op_check(const tt_module_t* module, const tt_op_t* op) {
  tt_infer_t state = {.names = module, .op = op}, *in = &state;
  switch (op->kind) {
    case TT_OP_RESHAPE: return check_reshape(in);
    case TT_OP_BROADCAST_IN_DIM: return check_broadcast_in_dim(in);
    case TT_OP_IOTA: return check_iota(in);
    case TT_OP_BITCAST_CONVERT: return check_bitcast(in);
    case TT_OP_REDUCE: case TT_OP_REDUCE_WINDOW: return check_reduce(in);
    case TT_OP_ALL_REDUCE: case TT_OP_REDUCE_SCATTER: return check_reduce_scatter(in);
    case TT_OP_SCATTER: return check_scatter(in);
    case TT_OP_SELECT_AND_SCATTER: return check_select_and_scatter(in);
    case TT_OP_SORT: return check_sort(in);
    case TT_OP_MAP: return check_map(in);
    case TT_OP_WHILE: return check_while(in);
    case TT_OP_IF: case TT_OP_CASE: return check_branches(in);
    case TT_OP_COMPARE: return check_compare(in);
    case TT_OP_REDUCE_PRECISION: return check_reduce_precision(in);
    case TT_OP_RNG_BIT_GENERATOR: return check_rng_bits(in);
    case TT_OP_RNG: return check_rng(in);
    case TT_OP_DYNAMIC_IOTA:
    case TT_OP_DYNAMIC_RESHAPE:
    case TT_OP_DYNAMIC_BROADCAST_IN_DIM:
    case TT_OP_DYNAMIC_PAD:
      return check_dynamic(in);
    case TT_OP_TUPLE: return check_tuple(in);
    case TT_OP_COMPOSITE: return check_composite(in);
    default: return TT_OK_STATUS;
  }
}
