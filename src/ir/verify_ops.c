// Rules that relate operands, attributes, regions and given results of one op.
#include <string.h>

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
  }
  if (!fits) {
    return tt_infer_fail(in, "%s does not reshape to %s", TT_TYPE_TEXT(in->names, x), TT_TYPE_TEXT(in->names, y));
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
    return tt_infer_fail(in, "%s does not broadcast to %s", TT_TYPE_TEXT(in->names, x), TT_TYPE_TEXT(in->names, y));
  }
  return TT_OK_STATUS;
}

static tt_status_t check_iota(const tt_infer_t* in) {
  const tt_type_t* y = result_type(in, 0);
  int64_t d = tt_op_attr_int(in->op, TT_ATTR_IOTA_DIMENSION, -1);
  if (d < 0 || d >= (int64_t)y->rank) {
    return tt_infer_fail(in, "iota_dimension %lld is outside %s", (long long)d, TT_TYPE_TEXT(in->names, y));
  }
  if (y->dtype == TT_DTYPE_PRED) return tt_infer_fail(in, "%s: dtype i1 is not supported by this op", TT_TYPE_TEXT(in->names, y));
  return TT_OK_STATUS;
}

// Bits of one element as bitcast_convert counts them.
static int64_t element_bits(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_S2: case TT_DTYPE_U2: return 2;
    case TT_DTYPE_S4: case TT_DTYPE_U4: case TT_DTYPE_F4E2M1FN: return 4;
    case TT_DTYPE_PRED: return 1;
    default: return (int64_t)tt_dtype_bytes(dtype) * 8;
  }
}

static tt_status_t check_bitcast(const tt_infer_t* in) {
  const tt_type_t *x = tt_infer_type(in, 0), *y = result_type(in, 0);
  int64_t from = element_bits(x->dtype), to = element_bits(y->dtype);
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
    return tt_infer_fail(in, "%s does not reinterpret as %s", TT_TYPE_TEXT(in->names, x), TT_TYPE_TEXT(in->names, y));
  }
  return TT_OK_STATUS;
}

tt_status_t tt_op_check(const tt_module_t* module, const tt_op_t* op) {
  tt_infer_t state = {.names = module, .op = op}, *in = &state;
  switch (op->kind) {
    case TT_OP_RESHAPE: return check_reshape(in);
    case TT_OP_BROADCAST_IN_DIM: return check_broadcast_in_dim(in);
    case TT_OP_IOTA: return check_iota(in);
    case TT_OP_BITCAST_CONVERT: return check_bitcast(in);
    default: return TT_OK_STATUS;
  }
}
