// Shape inference: shared helpers, element-wise rules, dispatch.
#include "ir/infer.h"

#include <stdarg.h>
#include <string.h>

#include "base/format.h"

tt_status_t tt_infer_fail(const tt_infer_t* in, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  tt_format_va(text, sizeof(text), format, args);
  va_end(args);
  return tt_status_create(TT_INVALID_ARGUMENT, "%s: %s", tt_op_info(in->op->kind)->name, text);
}

// ---- dimensions --------------------------------------------------------------------------------
bool tt_infer_dims_fit(const tt_infer_t* in, tt_dim_t a, tt_dim_t b) {
  if (a == b || a == TT_DIM_UNKNOWN || b == TT_DIM_UNKNOWN) return true;
  if (a >= 0 && b >= 0) return false;
  return tt_dim_equal(in->names, a, b) != TT_NO;
}

bool tt_infer_shapes_fit(const tt_infer_t* in, const tt_type_t* a, const tt_type_t* b) {
  if (a->kind != TT_TYPE_TENSOR || b->kind != TT_TYPE_TENSOR) return a == b;
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; ++i) {
    if (!tt_infer_dims_fit(in, a->dims[i], b->dims[i])) return false;
  }
  return true;
}

// The more specific of two fitting dimensions.
static tt_dim_t merge_dims(tt_dim_t a, tt_dim_t b) {
  if (a >= 0 || b == TT_DIM_UNKNOWN) return a;
  return b >= 0 || a == TT_DIM_UNKNOWN ? b : a;
}

#define ARITHMETIC(verb, fold)                                                       \
  tt_dim_t tt_infer_##verb(const tt_infer_t* in, tt_dim_t a, tt_dim_t b) {           \
    if (a == TT_DIM_UNKNOWN || b == TT_DIM_UNKNOWN) return TT_DIM_UNKNOWN;           \
    if (a >= 0 && b >= 0) {                                                          \
      int64_t result;                                                                \
      return fold ? result : TT_DIM_UNKNOWN;                                         \
    }                                                                                \
    return in->module ? tt_dim_##verb(in->module, a, b) : TT_DIM_UNKNOWN;            \
  }
ARITHMETIC(add, !__builtin_add_overflow(a, b, &result))
ARITHMETIC(sub, !__builtin_sub_overflow(a, b, &result))
ARITHMETIC(mul, !__builtin_mul_overflow(a, b, &result))
ARITHMETIC(floordiv, (b != 0 && (result = a / b, true)))

// ---- results -----------------------------------------------------------------------------------
tt_status_t tt_infer_emit(tt_infer_t* in, const tt_type_t* type) {
  if (in->module) {
    if (in->count >= in->capacity) return tt_infer_fail(in, "more than %u results", in->capacity);
    if (!type) return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory interning a type");
    in->out[in->count++] = type;
    return TT_OK_STATUS;
  }
  if (in->count >= in->op->result_count) {
    return tt_infer_fail(in, "has %u results, needs more", in->op->result_count);
  }
  const tt_type_t* given = in->op->results[in->count].type;
  if (given != type && (given->kind != type->kind || given->dtype != type->dtype ||
                        !tt_infer_shapes_fit(in, given, type))) {
    return tt_infer_fail(in, "result %u is %s, inferred %s", in->count, TT_TYPE_TEXT(in->names, given),
                         TT_TYPE_TEXT(in->names, type));
  }
  ++in->count;
  return TT_OK_STATUS;
}

tt_status_t tt_infer_emit_shape(tt_infer_t* in, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims,
                                const int64_t* bounds) {
  if (rank > TT_MAX_RANK)
    return tt_infer_fail(in, "result rank %zu is over the limit of %d", rank, TT_MAX_RANK);
  for (size_t i = 0; i < rank; ++i) {
    // A negative extent is a symbol's number, so callers that subtract must not hand one on by accident.
    if (dims[i] < 0 && dims[i] != TT_DIM_UNKNOWN && !in->names->dims) {
      return tt_infer_fail(in, "result dimension %zu would be %lld", i, (long long)dims[i]);
    }
  }
  if (in->module) {
    if (dtype == TT_DTYPE_INVALID) {
      in->open = true;
      return TT_OK_STATUS;
    }
    return tt_infer_emit(in, bounds ? tt_type_tensor_bounded(in->module, dtype, rank, dims, bounds)
                                    : tt_type_tensor(in->module, dtype, rank, dims));
  }
  tt_dtype_t given = in->count < in->op->result_count ? in->op->results[in->count].type->dtype : dtype;
  tt_type_t type = {.kind = TT_TYPE_TENSOR, .dtype = dtype == TT_DTYPE_INVALID ? given : dtype,
                    .rank = (uint32_t)rank, .dims = dims};
  return tt_infer_emit(in, &type);
}

// ---- attributes --------------------------------------------------------------------------------
bool tt_infer_padding(const tt_op_t* op, size_t rank, int64_t* low, int64_t* high) {
  memset(low, 0, rank * sizeof(*low));
  memset(high, 0, rank * sizeof(*high));
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_PADDING);
  if (!attr) return true;
  if (attr->kind == TT_AK_I64S) {  // flat pairs
    if (attr->i64s.size != rank * 2) return false;
    for (size_t i = 0; i < rank; ++i) low[i] = attr->i64s.data[2 * i], high[i] = attr->i64s.data[2 * i + 1];
    return true;
  }
  if (attr->kind != TT_AK_DENSE || !tt_dtype_is_integer(attr->dense.type->dtype)) return false;
  if (tt_type_elems(attr->dense.type) != (int64_t)rank * 2) return false;
  size_t bytes = tt_dtype_bytes(attr->dense.type->dtype);
  const char* data = attr->dense.data;
  for (size_t i = 0; i < rank; ++i) {
    low[i] = tt_scalar_load_i64(attr->dense.type->dtype, data + (attr->dense.is_splat ? 0 : 2 * i * bytes));
    high[i] =
        tt_scalar_load_i64(attr->dense.type->dtype, data + (attr->dense.is_splat ? 0 : (2 * i + 1) * bytes));
  }
  return true;
}

tt_status_t tt_infer_list(const tt_infer_t* in, tt_attr_name_t name, size_t rank, int64_t fallback,
                          int64_t* out) {
  const tt_attr_t* attr = tt_op_attr(in->op, name);
  if (!attr) {
    for (size_t i = 0; i < rank; ++i) out[i] = fallback;
    return TT_OK_STATUS;
  }
  if (attr->kind == TT_AK_DENSE && attr->dense.is_splat && tt_dtype_is_integer(attr->dense.type->dtype) &&
      tt_type_elems(attr->dense.type) == (int64_t)rank) {
    int64_t value = tt_scalar_load_i64(attr->dense.type->dtype, attr->dense.data);
    for (size_t i = 0; i < rank; ++i) out[i] = value;
    return TT_OK_STATUS;
  }
  tt_i64s_t list = tt_op_attr_i64s(in->op, name);
  if (list.size != rank) {
    return tt_infer_fail(in, "%s has %zu elements, needs %zu", tt_attr_name_text(name), list.size, rank);
  }
  for (size_t i = 0; i < rank; ++i) out[i] = list.data[i];
  return TT_OK_STATUS;
}

tt_status_t tt_infer_unique(const tt_infer_t* in, const char* what, tt_i64s_t list, size_t rank) {
  uint32_t seen = 0;
  for (size_t i = 0; i < list.size; ++i) {
    int64_t d = list.data[i];
    if (d < 0 || d >= (int64_t)rank) {
      return tt_infer_fail(in, "%s holds %lld, outside [0, %zu)", what, (long long)d, rank);
    }
    if (seen >> d & 1) return tt_infer_fail(in, "%s holds %lld twice", what, (long long)d);
    seen |= 1u << d;
  }
  return TT_OK_STATUS;
}

// ---- element-wise ------------------------------------------------------------------------------
enum { CB = 1, CI = 2, CU = 4, CF = 8, CC = 16, C_INT = CI | CU, C_NUM = CI | CU | CF | CC, C_ALL = 31 };

// Element classes that an op takes.
static unsigned allowed_classes(tt_op_kind_t kind) {
  switch (kind) {
    case TT_OP_ABS: case TT_OP_SIGN: return CI | CF | CC;
    case TT_OP_AND: case TT_OP_OR: case TT_OP_XOR: case TT_OP_NOT: return CB | C_INT;
    case TT_OP_POPCNT:
    case TT_OP_COUNT_LEADING_ZEROS:
    case TT_OP_SHIFT_LEFT:
    case TT_OP_SHIFT_RIGHT_ARITHMETIC:
    case TT_OP_SHIFT_RIGHT_LOGICAL: return C_INT;
    case TT_OP_ATAN2:
    case TT_OP_CBRT:
    case TT_OP_COSINE:
    case TT_OP_EXPONENTIAL:
    case TT_OP_EXPONENTIAL_MINUS_ONE:
    case TT_OP_LOG:
    case TT_OP_LOG_PLUS_ONE:
    case TT_OP_LOGISTIC:
    case TT_OP_RSQRT:
    case TT_OP_SINE:
    case TT_OP_SQRT:
    case TT_OP_TAN: case TT_OP_TANH: case TT_OP_CHLO_ACOS: case TT_OP_CHLO_ACOSH: case TT_OP_CHLO_ASIN:
    case TT_OP_CHLO_ASINH:
    case TT_OP_CHLO_ATAN:
    case TT_OP_CHLO_ATANH:
    case TT_OP_CHLO_COSH:
    case TT_OP_CHLO_SINH:
    case TT_OP_CHLO_TAN: return CF | CC;
    case TT_OP_CEIL: case TT_OP_FLOOR: case TT_OP_ROUND_NEAREST_AFZ: case TT_OP_ROUND_NEAREST_EVEN:
    case TT_OP_IS_FINITE: case TT_OP_REDUCE_PRECISION: case TT_OP_CHLO_BESSEL_I1E: case TT_OP_CHLO_DIGAMMA:
    case TT_OP_CHLO_ERF: case TT_OP_CHLO_ERF_INV: case TT_OP_CHLO_ERFC: case TT_OP_CHLO_IS_INF:
    case TT_OP_CHLO_IS_NEG_INF:
    case TT_OP_CHLO_IS_POS_INF:
    case TT_OP_CHLO_LGAMMA:
    case TT_OP_CHLO_NEXT_AFTER:
    case TT_OP_CHLO_POLYGAMMA: case TT_OP_CHLO_ZETA: case TT_OP_COMPLEX: return CF;
    case TT_OP_DIVIDE: case TT_OP_NEGATE: case TT_OP_POWER: case TT_OP_REMAINDER: case TT_OP_SUBTRACT:
    case TT_OP_CHLO_SQUARE: return C_NUM;
    case TT_OP_REAL: case TT_OP_IMAG: case TT_OP_CHLO_CONJ: return CF | CC;
    default: return C_ALL;
  }
}

static tt_status_t check_class(const tt_infer_t* in, uint32_t operand) {
  const tt_type_t* type = tt_infer_type(in, operand);
  if (type->quant || (allowed_classes(in->op->kind) >> tt_dtype_class(type->dtype) & 1)) return TT_OK_STATUS;
  return tt_infer_fail(in, "operand %u is %s: dtype %s is not supported by this op", operand,
                       TT_TYPE_TEXT(in->names, type), tt_dtype_name(type->dtype));
}

// Emits the merged shape of all operands from `first` on with `dtype`.
static tt_status_t emit_merged(tt_infer_t* in, uint32_t first, uint32_t end, tt_dtype_t dtype) {
  const tt_type_t* type = tt_infer_type(in, first);
  tt_dim_t dims[TT_MAX_RANK];
  int64_t bounds[TT_MAX_RANK];
  bool bounded = false;
  for (uint32_t i = 0; i < type->rank; ++i) {
    dims[i] = type->dims[i];
    bounds[i] = type->bounds ? type->bounds[i] : TT_DIM_UNKNOWN;
  }
  for (uint32_t k = first + 1; k < end; ++k) {
    const tt_type_t* other = tt_infer_type(in, k);
    for (uint32_t i = 0; i < type->rank; ++i) {
      dims[i] = merge_dims(dims[i], other->dims[i]);
      if (other->bounds && other->bounds[i] != TT_DIM_UNKNOWN) {
        bounds[i] = bounds[i] == TT_DIM_UNKNOWN ? other->bounds[i] : TT_MIN(bounds[i], other->bounds[i]);
      }
    }
  }
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (dims[i] >= 0) bounds[i] = TT_DIM_UNKNOWN;
    bounded |= bounds[i] != TT_DIM_UNKNOWN;
  }
  return tt_infer_emit_shape(in, dtype, type->rank, dims, bounded ? bounds : NULL);
}

static tt_status_t check_same(const tt_infer_t* in, uint32_t a, uint32_t b) {
  const tt_type_t *x = tt_infer_type(in, a), *y = tt_infer_type(in, b);
  if (x == y) return TT_OK_STATUS;
  if (!tt_infer_shapes_fit(in, x, y)) {
    return tt_infer_fail(in, "operand shapes %s and %s differ", TT_TYPE_TEXT(in->names, x),
                         TT_TYPE_TEXT(in->names, y));
  }
  if (x->dtype != y->dtype) {
    return tt_infer_fail(in, "operand dtypes of %s and %s differ", TT_TYPE_TEXT(in->names, x),
                         TT_TYPE_TEXT(in->names, y));
  }
  return TT_OK_STATUS;
}

static tt_status_t infer_select(tt_infer_t* in) {
  const tt_type_t* pred = tt_infer_type(in, 0);
  if (pred->dtype != TT_DTYPE_PRED) {
    return tt_infer_fail(in, "predicate is %s, needs i1", TT_TYPE_TEXT(in->names, pred));
  }
  TT_RETURN_IF_ERROR(check_same(in, 1, 2));
  if (pred->rank != 0 && !tt_infer_shapes_fit(in, pred, tt_infer_type(in, 1))) {
    return tt_infer_fail(in, "predicate %s does not fit %s", TT_TYPE_TEXT(in->names, pred),
                         TT_TYPE_TEXT(in->names, tt_infer_type(in, 1)));
  }
  if (tt_infer_type(in, 1) == tt_infer_type(in, 2)) return tt_infer_emit(in, tt_infer_type(in, 1));
  return emit_merged(in, 1, 3, tt_infer_type(in, 1)->dtype);
}

static tt_status_t infer_clamp(tt_infer_t* in) {
  const tt_type_t* x = tt_infer_type(in, 1);
  for (uint32_t i = 0; i <= 2; i += 2) {
    const tt_type_t* limit = tt_infer_type(in, i);
    if (limit->dtype != x->dtype) {
      return tt_infer_fail(in, "operand dtypes of %s and %s differ", TT_TYPE_TEXT(in->names, limit),
                           TT_TYPE_TEXT(in->names, x));
    }
    if (limit->rank != 0 && !tt_infer_shapes_fit(in, limit, x)) {
      return tt_infer_fail(in, "%s %s does not fit %s", i ? "maximum" : "minimum",
                           TT_TYPE_TEXT(in->names, limit), TT_TYPE_TEXT(in->names, x));
    }
  }
  return tt_infer_emit(in, x);
}

tt_status_t tt_infer_elementwise(tt_infer_t* in) {
  const tt_op_t* op = in->op;
  if (op->kind == TT_OP_SELECT) return infer_select(in);
  if (op->kind == TT_OP_CLAMP) return infer_clamp(in);
  TT_RETURN_IF_ERROR(check_class(in, 0));
  if (op->operand_count == 2) TT_RETURN_IF_ERROR(check_same(in, 0, 1));
  const tt_type_t* x = tt_infer_type(in, 0);
  tt_dtype_t dtype = x->dtype;
  switch (op->kind) {
    case TT_OP_COMPARE: case TT_OP_IS_FINITE: case TT_OP_CHLO_IS_INF: case TT_OP_CHLO_IS_NEG_INF:
    case TT_OP_CHLO_IS_POS_INF:
      dtype = TT_DTYPE_PRED;
      break;
    case TT_OP_COMPLEX:
      if (dtype != TT_DTYPE_F32 && dtype != TT_DTYPE_F64) {
        return tt_infer_fail(in, "operands are %s, need f32 or f64", TT_TYPE_TEXT(in->names, x));
      }
      dtype = dtype == TT_DTYPE_F32 ? TT_DTYPE_C64 : TT_DTYPE_C128;
      break;
    case TT_OP_ABS: case TT_OP_REAL: case TT_OP_IMAG:
      dtype = tt_dtype_real_part(dtype);
      break;
    case TT_OP_CONVERT: case TT_OP_UNIFORM_QUANTIZE: case TT_OP_UNIFORM_DEQUANTIZE:
      dtype = TT_DTYPE_INVALID;
      break;
    default:
      if (op->operand_count == 1 || x == tt_infer_type(in, 1)) return tt_infer_emit(in, x);
      break;
  }
  return emit_merged(in, 0, op->operand_count, dtype);
}

// ---- dispatch ----------------------------------------------------------------------------------
// Ops whose operands may be tokens or tuples.
static bool takes_any_type(tt_op_kind_t kind) {
  switch (kind) {
    case TT_OP_AFTER_ALL:
    case TT_OP_TUPLE:
    case TT_OP_GET_TUPLE_ELEMENT:
    case TT_OP_WHILE:
    case TT_OP_CUSTOM_CALL:
    case TT_OP_OPTIMIZATION_BARRIER: case TT_OP_FUNC_CALL: case TT_OP_FUNC_RETURN: case TT_OP_RETURN:
    case TT_OP_COMPOSITE:
    case TT_OP_INFEED:
    case TT_OP_OUTFEED:
    case TT_OP_SEND:
    case TT_OP_RECV:
      return true;
    default: return false;
  }
}

static tt_status_t check_operands(const tt_infer_t* in) {
  const tt_op_t* op = in->op;
  const tt_op_info_t* info = tt_op_info(op->kind);
  if ((int64_t)op->operand_count < info->operands_min ||
      (info->operands_max >= 0 && (int64_t)op->operand_count > info->operands_max)) {
    if (info->operands_max == info->operands_min) {
      return tt_infer_fail(in, "has %u operands, needs %d", op->operand_count, info->operands_min);
    }
    return tt_infer_fail(in, "has %u operands, needs at least %d", op->operand_count, info->operands_min);
  }
  if (takes_any_type(op->kind)) return TT_OK_STATUS;
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    if (TT_UNLIKELY(tt_infer_type(in, i)->kind != TT_TYPE_TENSOR)) {
      return tt_infer_fail(in, "operand %u is %s, needs a tensor", i,
                           TT_TYPE_TEXT(in->names, tt_infer_type(in, i)));
    }
  }
  return TT_OK_STATUS;
}

tt_status_t tt_infer_op(tt_infer_t* in) {
  TT_RETURN_IF_ERROR(check_operands(in));
  tt_op_kind_t kind = in->op->kind;
  if ((tt_op_info(kind)->traits & TT_TRAIT_ELEMENTWISE) || kind == TT_OP_SELECT || kind == TT_OP_CLAMP) {
    return tt_infer_elementwise(in);
  }
  switch (kind) {
    case TT_OP_BROADCAST: case TT_OP_BROADCAST_IN_DIM: case TT_OP_CONCATENATE: case TT_OP_DYNAMIC_SLICE:
    case TT_OP_DYNAMIC_UPDATE_SLICE: case TT_OP_PAD: case TT_OP_RESHAPE: case TT_OP_REVERSE: case TT_OP_SLICE:
    case TT_OP_TRANSPOSE: case TT_OP_CONSTANT: case TT_OP_IOTA: case TT_OP_BITCAST_CONVERT:
    case TT_OP_GET_DIMENSION_SIZE: case TT_OP_SET_DIMENSION_SIZE:
      return tt_infer_movement(in);
    case TT_OP_REDUCE: case TT_OP_REDUCE_WINDOW: case TT_OP_SELECT_AND_SCATTER: case TT_OP_CONVOLUTION:
    case TT_OP_DOT: case TT_OP_DOT_GENERAL: case TT_OP_CHOLESKY: case TT_OP_TRIANGULAR_SOLVE: case TT_OP_FFT:
    case TT_OP_BATCH_NORM_GRAD: case TT_OP_BATCH_NORM_INFERENCE: case TT_OP_BATCH_NORM_TRAINING:
      return tt_infer_window_op(in);
    default:
      return tt_infer_index_op(in);
  }
}
