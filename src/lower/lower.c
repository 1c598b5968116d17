// Accessors, promotion and results: what every lowering stands on.
#include "lower/lower.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "ir/dim.h"
#include "lower/util.h"

// ---- arguments ---------------------------------------------------------------------------------
static const tt_larg_t* argument(const tt_lower_t* L, uint32_t arg) {
  static const tt_larg_t none = {.kind = TT_ARG_NONE};
  return arg < L->arg_count ? &L->args[arg] : &none;
}

bool tt_l_is_none(const tt_lower_t* L, uint32_t arg) {
  const tt_larg_t* a = argument(L, arg);
  return a->kind == TT_ARG_NONE || (a->kind == TT_ARG_TENSOR && a->tensor.value == NULL);
}

tt_value_t* tt_l_tensor_or_null(tt_lower_t* L, uint32_t arg) {
  const tt_larg_t* a = argument(L, arg);
  return a->kind == TT_ARG_TENSOR ? a->tensor.value : NULL;
}

tt_value_t* tt_l_tensor(tt_lower_t* L, uint32_t arg) {
  const tt_larg_t* a = argument(L, arg);
  if (a->kind == TT_ARG_TENSOR && a->tensor.value) return a->tensor.value;
  // Whole graphs pass Python numbers where the schema has a Tensor.
  if (a->kind == TT_ARG_BOOL) return tt_l_scalar(L, arg, TT_DTYPE_PRED);
  if (a->kind == TT_ARG_INT) return tt_l_scalar(L, arg, TT_DTYPE_S64);
  if (a->kind == TT_ARG_FLOAT) return tt_l_scalar(L, arg, TT_DTYPE_F32);
  if (a->kind == TT_ARG_COMPLEX) return tt_l_scalar(L, arg, TT_DTYPE_C64);
  return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "argument %u must be a tensor", arg);
}

tt_value_t** tt_l_tensors(tt_lower_t* L, uint32_t arg, size_t* out_count) {
  const tt_larg_t* a = argument(L, arg);
  *out_count = 0;
  size_t count = a->kind == TT_ARG_TENSORS ? a->count : a->kind == TT_ARG_TENSOR ? 1 : 0;
  tt_value_t** values = tt_arena_alloc_array(L->scratch, count + 1, sizeof *values);
  if (!values) {
    tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "no memory for %zu tensors", count);
    return NULL;
  }
  for (size_t i = 0; i < count; ++i)
    values[i] = a->kind == TT_ARG_TENSORS ? a->tensors[i].value : a->tensor.value;
  *out_count = count;
  return values;
}

int64_t tt_l_int(tt_lower_t* L, uint32_t arg, int64_t if_none) {
  const tt_larg_t* a = argument(L, arg);
  switch (a->kind) {
    case TT_ARG_NONE: return if_none;
    case TT_ARG_BOOL:
    case TT_ARG_INT:
      if (a->is_value)
        tt_builder_fail(L->b, TT_UNIMPLEMENTED, "argument %u must be known when compiling", arg);
      return a->scalar.i;
    case TT_ARG_FLOAT: return (int64_t)a->scalar.c[0];
    case TT_ARG_DTYPE: return a->integer;
    case TT_ARG_INTS: return a->count ? a->ints[0] : if_none;
    default:
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "argument %u must be an integer", arg);
      return if_none;
  }
}

double tt_l_float(tt_lower_t* L, uint32_t arg, double if_none) {
  const tt_larg_t* a = argument(L, arg);
  switch (a->kind) {
    case TT_ARG_NONE: return if_none;
    case TT_ARG_BOOL:
    case TT_ARG_INT:
    case TT_ARG_FLOAT:
    case TT_ARG_COMPLEX:
      if (a->is_value)
        tt_builder_fail(L->b, TT_UNIMPLEMENTED, "argument %u must be known when compiling", arg);
      return a->kind == TT_ARG_BOOL || a->kind == TT_ARG_INT ? (double)a->scalar.i : a->scalar.c[0];
    default: tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "argument %u must be a number", arg); return if_none;
  }
}

bool tt_l_bool(tt_lower_t* L, uint32_t arg, bool if_none) {
  const tt_larg_t* a = argument(L, arg);
  if (a->kind == TT_ARG_NONE) return if_none;
  if (a->kind == TT_ARG_BOOL || a->kind == TT_ARG_INT) return a->scalar.i != 0;
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "argument %u must be a bool", arg);
  return if_none;
}

tt_i64s_t tt_l_ints(tt_lower_t* L, uint32_t arg) {
  const tt_larg_t* a = argument(L, arg);
  tt_i64s_t none = {NULL, 0};
  if (a->kind == TT_ARG_NONE) return none;
  if (a->kind == TT_ARG_INTS) return (tt_i64s_t){a->ints, a->count};
  if (a->kind == TT_ARG_INT) return (tt_i64s_t){&a->scalar.i, 1};
  // An empty list carries no element type in a whole graph.
  if (a->count == 0 && (a->kind == TT_ARG_TENSORS || a->kind == TT_ARG_FLOATS || a->kind == TT_ARG_BOOLS ||
                        a->kind == TT_ARG_SCALARS)) {
    return none;
  }
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "argument %u must be a list of integers", arg);
  return none;
}

const char* tt_l_text(tt_lower_t* L, uint32_t arg, const char* if_none) {
  const tt_larg_t* a = argument(L, arg);
  if (a->kind == TT_ARG_NONE) return if_none;
  if (a->kind == TT_ARG_STRING) return a->text;
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "argument %u must be a string", arg);
  return if_none;
}

tt_dtype_t tt_l_dtype(tt_lower_t* L, uint32_t arg, tt_dtype_t if_none) {
  const tt_larg_t* a = argument(L, arg);
  if (a->kind == TT_ARG_NONE) return if_none;
  if (a->kind == TT_ARG_DTYPE) return (tt_dtype_t)a->integer;
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "argument %u must be a dtype", arg);
  return if_none;
}

tt_dtype_t tt_l_out_dtype(const tt_lower_t* L, uint32_t k) {
  return k < L->out_count && k < TT_ARRAY_LENGTH(L->out_dtypes) ? L->out_dtypes[k] : TT_DTYPE_INVALID;
}

typedef struct range_s { const char* name; double low, high; } range_t;
static range_t range_of(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_U8: return (range_t){"uint8_t", 0, UINT8_MAX};
    case TT_DTYPE_S8: return (range_t){"int8_t", INT8_MIN, INT8_MAX};
    case TT_DTYPE_S16: return (range_t){"int16_t", INT16_MIN, INT16_MAX};
    case TT_DTYPE_U16: return (range_t){"uint16_t", 0, UINT16_MAX};
    case TT_DTYPE_S32: return (range_t){"int", INT32_MIN, INT32_MAX};
    case TT_DTYPE_U32: return (range_t){"uint32_t", 0, UINT32_MAX};
    case TT_DTYPE_S64: return (range_t){"int64_t", -0x1p63, 0x1p63};
    case TT_DTYPE_U64: return (range_t){"uint64_t", 0, 0x1p64};
    case TT_DTYPE_F16: return (range_t){"c10::Half", -65504, 65504};
    case TT_DTYPE_BF16: return (range_t){"c10::BFloat16", -3.3895313892515355e38, 3.3895313892515355e38};
    case TT_DTYPE_F32: return (range_t){"float", -FLT_MAX, FLT_MAX};
    case TT_DTYPE_C64: return (range_t){"c10::complex<float>", -FLT_MAX, FLT_MAX};
    default: return (range_t){"double", -DBL_MAX, DBL_MAX};
  }
}

// c10::overflows: infinities and NaN fit a float; a negative integer wraps into an unsigned one of its width.
static bool number_fits(double value, tt_dtype_t dtype, range_t range) {
  bool is_float = !tt_dtype_is_integer(dtype);
  if (isnan(value) || isinf(value)) return is_float;
  return value >= range.low && value <= range.high;
}

static bool wraps_numbers(const char* op) {
  static const char* const names[] = {"eq.", "ne.", "lt.", "le.", "gt.", "ge.", "pow", "add.S", "sub.S", "rsub.S", "mul.", "div.",
                                      "bitwise_", "remainder", "fmod", "floor_divide", "xlogy", "copysign", "float_power",
                                      "special_", "searchsorted", "bucketize", "__"};
  for (size_t i = 0; op && i < TT_ARRAY_LENGTH(names); ++i) {
    if (strncmp(op, names[i], strlen(names[i])) == 0) return true;
  }
  return false;
}

tt_status_t tt_l_scalar_check(const char* op, const tt_scalar_t* scalar, tt_dtype_t dtype) {
  if (dtype == TT_DTYPE_PRED || scalar->kind == TT_ARG_BOOL) return TT_OK_STATUS;
  range_t range = range_of(dtype);
  bool fits;
  if (scalar->kind == TT_ARG_INT) {
    double value = (double)scalar->i;
    if (tt_dtype_is_unsigned_int(dtype) && value < 0) value = -value;
    fits = number_fits(value, dtype, range);
  } else {
    fits = number_fits(scalar->c[0], dtype, range);
    if (scalar->kind == TT_ARG_COMPLEX)
      fits = fits && (tt_dtype_is_complex(dtype) ? number_fits(scalar->c[1], dtype, range) : scalar->c[1] == 0);
  }
  if (fits || wraps_numbers(op)) return TT_OK_STATUS;
  return tt_status_create(TT_INVALID_ARGUMENT, "value cannot be converted to type %s without overflow", range.name);
}

tt_value_t* tt_l_scalar(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype) {
  const tt_larg_t* a = argument(L, arg);
  if (a->kind == TT_ARG_TENSOR && a->tensor.value) {
    if (a->tensor.value->type->rank != 0) {
      return tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                             "argument %u must be a number or a 0-dimensional tensor", arg);
    }
    return tt_b_convert(L->b, a->tensor.value, dtype);
  }
  if (a->kind != TT_ARG_BOOL && a->kind != TT_ARG_INT && a->kind != TT_ARG_FLOAT &&
      a->kind != TT_ARG_COMPLEX) {
    return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "argument %u must be a number", arg);
  }
  if (a->is_value && L->scalar_parameter) return L->scalar_parameter(L, arg, dtype);
  tt_scalar_t number_of = a->scalar;
  number_of.kind = a->kind;
  tt_status_t refused = tt_l_scalar_check(L->op, &number_of, dtype);
  if (refused) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s", tt_status_message(refused));
    tt_status_free(refused);
    return NULL;
  }
  bool is_integer = a->kind == TT_ARG_BOOL || a->kind == TT_ARG_INT;
  if (tt_dtype_is_complex(dtype)) {
    double number[2] = {is_integer ? (double)a->scalar.i : a->scalar.c[0],
                        a->kind == TT_ARG_COMPLEX ? a->scalar.c[1] : 0};
    char data[16];
    tt_scalar_store_complex(dtype, number, data);
    return tt_b_constant(L->b, tt_b_type(L->b, dtype, 0, NULL), data, true);
  }
  if (dtype == TT_DTYPE_PRED) {
    bool truth = is_integer ? a->scalar.i != 0
                            : a->scalar.c[0] != 0 || (a->kind == TT_ARG_COMPLEX && a->scalar.c[1] != 0);
    return tt_b_scalar_i64(L->b, dtype, truth);
  }
  return is_integer ? tt_b_scalar_i64(L->b, dtype, a->scalar.i)
                    : tt_b_scalar_f64(L->b, dtype, a->scalar.c[0]);
}

tt_value_t* tt_l_scalar_splat(tt_lower_t* L, uint32_t arg, tt_value_t* like) {
  if (!like) return NULL;
  tt_value_t* scalar = tt_l_scalar(L, arg, like->type->dtype);
  return tt_b_broadcast_to(L->b, scalar, like->type->rank, like->type->dims);
}

bool tt_l_scalar_is(const tt_lower_t* L, uint32_t arg, double value) {
  const tt_larg_t* a = argument(L, arg);
  if (a->is_value) return false;
  switch (a->kind) {
    case TT_ARG_BOOL:
    case TT_ARG_INT: return (double)a->scalar.i == value;
    case TT_ARG_FLOAT: return a->scalar.c[0] == value;
    case TT_ARG_COMPLEX: return a->scalar.c[0] == value && a->scalar.c[1] == 0;
    default: return false;
  }
}

int64_t tt_l_dim(tt_lower_t* L, int64_t dim, int64_t rank) {
  int64_t extent = rank > 0 ? rank : 1;
  if (dim < -extent || dim >= extent) {
    tt_builder_fail(L->b, TT_OUT_OF_RANGE,
                    "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                    (long long)-extent, (long long)(extent - 1), (long long)dim);
    return 0;
  }
  return dim < 0 ? dim + extent : dim;
}

// ---- types -------------------------------------------------------------------------------------
static int float_rank(tt_dtype_t d) {
  switch (d) {
    case TT_DTYPE_F16:
    case TT_DTYPE_BF16: return 1;
    case TT_DTYPE_F32: return 2;
    case TT_DTYPE_F64: return 3;
    default: return 0;   // the 8-bit and smaller floats
  }
}

tt_dtype_t tt_l_promote(tt_dtype_t a, tt_dtype_t b) {
  if (a == b || b == TT_DTYPE_INVALID) return a;
  if (a == TT_DTYPE_INVALID) return b;
  if (a == TT_DTYPE_PRED) return b;
  if (b == TT_DTYPE_PRED) return a;
  bool complex_a = tt_dtype_is_complex(a), complex_b = tt_dtype_is_complex(b);
  if (complex_a || complex_b) {
    bool wide = a == TT_DTYPE_C128 || b == TT_DTYPE_C128 || a == TT_DTYPE_F64 || b == TT_DTYPE_F64;
    return wide ? TT_DTYPE_C128 : TT_DTYPE_C64;
  }
  bool float_a = tt_dtype_is_float(a), float_b = tt_dtype_is_float(b);
  if (float_a && float_b) {
    int rank_a = float_rank(a), rank_b = float_rank(b);
    if (rank_a == rank_b) return TT_DTYPE_F32;   // f16 with bf16, or two kinds of 8-bit floats
    return rank_a > rank_b ? a : b;
  }
  if (float_a) return a;
  if (float_b) return b;
  size_t bytes_a = tt_dtype_bytes(a), bytes_b = tt_dtype_bytes(b);
  bool unsigned_a = tt_dtype_is_unsigned_int(a), unsigned_b = tt_dtype_is_unsigned_int(b);
  if (unsigned_a == unsigned_b) return bytes_a >= bytes_b ? a : b;
  tt_dtype_t signed_one = unsigned_a ? b : a;
  size_t signed_bytes = tt_dtype_bytes(signed_one), unsigned_bytes = unsigned_a ? bytes_a : bytes_b;
  if (signed_bytes > unsigned_bytes) return signed_one;
  return unsigned_bytes == 1 ? TT_DTYPE_S16 : unsigned_bytes == 2 ? TT_DTYPE_S32 : TT_DTYPE_S64;
}

tt_dtype_t tt_l_default_float(const tt_lower_t* L, tt_dtype_t dtype) {
  if (tt_dtype_is_float(dtype) || tt_dtype_is_complex(dtype)) return dtype;
  return L->target->default_float == TT_DTYPE_INVALID ? TT_DTYPE_F32 : L->target->default_float;
}

tt_dtype_t tt_l_accumulate(tt_dtype_t dtype) {
  return tt_dtype_is_float(dtype) && tt_dtype_bytes(dtype) <= 2 ? TT_DTYPE_F32 : dtype;
}

static tt_dtype_t combine(tt_dtype_t higher, tt_dtype_t lower) {
  if (higher == TT_DTYPE_INVALID) return lower;
  if (lower == TT_DTYPE_INVALID || tt_dtype_is_complex(higher)) return higher;
  if (tt_dtype_is_float(higher)) {
    if (!tt_dtype_is_complex(lower)) return higher;
    return higher == TT_DTYPE_F64 ? TT_DTYPE_C128 : TT_DTYPE_C64;
  }
  if (higher == TT_DTYPE_PRED || tt_dtype_is_float(lower) || tt_dtype_is_complex(lower))
    return tt_l_promote(higher, lower);
  return higher;
}

tt_dtype_t tt_l_result_type(tt_lower_t* L, size_t count, const uint32_t* args) {
  tt_dtype_t dimensioned = TT_DTYPE_INVALID, zero = TT_DTYPE_INVALID, wrapped = TT_DTYPE_INVALID;
  const tt_dtype_t real = tt_l_default_float(L, TT_DTYPE_S64), complex = real == TT_DTYPE_F64 ? TT_DTYPE_C128 : TT_DTYPE_C64;
  for (size_t i = 0; i < count; ++i) {
    const tt_larg_t* a = argument(L, args[i]);
    switch (a->kind) {
      case TT_ARG_BOOL: wrapped = tt_l_promote(wrapped, TT_DTYPE_PRED); break;
      case TT_ARG_INT: wrapped = tt_l_promote(wrapped, TT_DTYPE_S64); break;
      case TT_ARG_FLOAT: wrapped = tt_l_promote(wrapped, real); break;
      case TT_ARG_COMPLEX: wrapped = tt_l_promote(wrapped, complex); break;
      case TT_ARG_TENSOR:
      case TT_ARG_TENSORS: {
        size_t tensors = a->kind == TT_ARG_TENSOR ? 1 : a->count;
        for (size_t k = 0; k < tensors; ++k) {
          const tt_ltensor_t* t = a->kind == TT_ARG_TENSOR ? &a->tensor : &a->tensors[k];
          if (!t->value) continue;
          tt_dtype_t dtype = t->value->type->dtype;
          if (t->value->type->rank > 0) {
            dimensioned = tt_l_promote(dimensioned, dtype);
          } else if (t->is_wrapped_number) {
            if (tt_dtype_is_complex(dtype)) dtype = complex;
            else if (tt_dtype_is_float(dtype)) dtype = real;
            wrapped = tt_l_promote(wrapped, dtype);
          } else {
            zero = tt_l_promote(zero, dtype);
          }
        }
        break;
      }
      default: break;
    }
  }
  tt_dtype_t lower = combine(zero, wrapped);
  // float16 with a complex number of a lower category is ComplexHalf in PyTorch, which has no kernels here.
  if ((dimensioned == TT_DTYPE_F16 && tt_dtype_is_complex(lower)) ||
      (dimensioned == TT_DTYPE_INVALID && zero == TT_DTYPE_F16 && tt_dtype_is_complex(wrapped))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "dtype ComplexHalf is not supported by kernels of the device");
  }
  return combine(dimensioned, lower);
}

void tt_l_broadcast_shape(tt_lower_t* L, size_t count, tt_value_t* const* values, size_t* out_rank,
                          int64_t* out_dims) {
  size_t rank = 0;
  *out_rank = 0;
  for (size_t i = 0; i < count; ++i) {
    if (values[i] && values[i]->type->rank > rank) rank = values[i]->type->rank;
  }
  for (size_t d = 0; d < rank; ++d) out_dims[d] = 1;
  for (size_t i = 0; i < count; ++i) {
    if (!values[i]) continue;
    const tt_type_t* type = values[i]->type;
    size_t shift = rank - type->rank;
    for (size_t d = type->rank; d-- > 0;) {
      tt_dim_t have = out_dims[shift + d], next = type->dims[d];
      if (have == next || next == 1) continue;
      if (have == 1) {
        out_dims[shift + d] = next;
      } else if (tt_dim_is_static(have) && tt_dim_is_static(next)) {
        tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                        "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
                        "dimension %zu",
                        (long long)have, (long long)next, shift + d);
        return;
      } else if (tt_dim_is_static(next)) {
        out_dims[shift + d] = next;   // the guards of the traced program make them equal
      }
    }
  }
  *out_rank = rank;
}

// ---- results -----------------------------------------------------------------------------------
static tt_lresult_t* next_result(tt_lower_t* L) {
  if (L->result_count >= TT_LOWER_MAX_RESULTS) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "more than %d results", TT_LOWER_MAX_RESULTS);
    return NULL;
  }
  return &L->results[L->result_count++];
}

void tt_l_return(tt_lower_t* L, tt_value_t* value) {
  tt_lresult_t* result = next_result(L);
  if (result) *result = (tt_lresult_t){.kind = TT_RESULT_TENSOR, .value = value};
}

void tt_l_return_none(tt_lower_t* L) {
  tt_lresult_t* result = next_result(L);
  if (result) *result = (tt_lresult_t){.kind = TT_RESULT_NONE};
}

void tt_l_return_int(tt_lower_t* L, int64_t value) {
  tt_lresult_t* result = next_result(L);
  if (result) *result = (tt_lresult_t){.kind = TT_RESULT_INT, .integer = value};
}

void tt_l_write(tt_lower_t* L, uint32_t arg, uint32_t element, tt_value_t* value) {
  if (L->write_count == L->write_capacity) {
    uint32_t capacity = L->write_capacity ? 2 * L->write_capacity : 16;
    tt_lwrite_t* writes = tt_arena_alloc_array(L->scratch, capacity, sizeof *writes);
    if (!writes) {
      tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "no memory for %u writes", capacity);
      return;
    }
    if (L->write_count) memcpy(writes, L->writes, L->write_count * sizeof *writes);
    L->writes = writes;
    L->write_capacity = capacity;
  }
  L->writes[L->write_count++] = (tt_lwrite_t){arg, element, value};
}

// An in-place op may broadcast its other arguments, not its target.
static void check_inplace(tt_lower_t* L) {
  if (L->variant != TT_VARIANT_INPLACE || L->result_count == 0 || L->arg_count == 0) return;
  const tt_value_t *target = L->args[0].kind == TT_ARG_TENSOR ? L->args[0].tensor.value : NULL,
                   *value = L->results[0].value;
  if (!target || !value || L->results[0].kind != TT_RESULT_TENSOR) return;
  bool same = target->type->rank == value->type->rank;
  for (uint32_t d = 0; same && d < value->type->rank; ++d) {
    tt_dim_t a = target->type->dims[d], b = value->type->dims[d];
    same = a == b || !tt_dim_is_static(a) || !tt_dim_is_static(b);
  }
  if (same) return;
  char have[256], want[256];
  tt_lx_sizes_text(target, "", have, sizeof have);
  tt_lx_sizes_text(value, "", want, sizeof want);
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "output with shape %s doesn't match the broadcast shape %s",
                  have, want);
}

tt_status_t tt_lower_run(size_t op, tt_lower_t* L) {
  const tt_aten_entry_t* entry = tt_aten_entry(op);
  if (!entry) return tt_status_create(TT_INTERNAL, "op %zu is not in the table of %zu", op, tt_aten_count());
  const char* name = entry->info.functional;
  if (L->variant == TT_VARIANT_OUT && *entry->info.out) name = entry->info.out;
  if ((L->variant == TT_VARIANT_INPLACE || !*name) && *entry->info.inplace) name = entry->info.inplace;
  L->op = *name ? name : entry->info.out;
  jmp_buf stop;
  L->b->escape = &stop;
  if (setjmp(stop) == 0) {
    entry->lower(L);
    if (tt_builder_ok(L->b)) check_inplace(L);
  }
  L->b->escape = NULL;
  if (!tt_builder_ok(L->b)) return tt_status_annotate(tt_builder_take_status(L->b), "%s", L->op);
  for (uint32_t i = 0; i < L->result_count; ++i) {
    if (L->results[i].kind == TT_RESULT_TENSOR && !L->results[i].value) {
      return tt_status_create(TT_INTERNAL, "%s: result %u has no value", L->op, i);
    }
  }
  return TT_OK_STATUS;
}
