// Reductions: sums, products, extrema, norms, variance, softmax, scans.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

// The dimensions that argument `arg` lists (none: all) of x.
static void dims_of(tt_lower_t* L, uint32_t arg, V x, size_t* count, int64_t* dims) {
  tt_lx_reduce_dims(L, tt_l_ints(L, arg), tt_lx_rank(x), count, dims);
}
static V reduce(tt_lower_t* L, tt_op_kind_t kind, V x, size_t count, const int64_t* dims, bool keep) {
  if (!x || x->type->rank == 0) return x;
  return tt_b_reduce(L->b, kind, x, count, dims, keep);
}
static double count_of(tt_lower_t* L, V x, size_t count, const int64_t* dims) {
  double n = 1;
  for (size_t i = 0; x && x->type->rank && i < count; ++i) n *= (double)tt_lx_static_size(L, x, dims[i]);
  return n;
}
// Back over the dimensions that a keepdim-less reduction took away.
static V spread(tt_lower_t* L, V reduced, V like) { return tt_lx_broadcast_like(L, reduced, like); }

// dtype of a sum or product: what was asked, else the out tensor's, else ints and bool -> i64.
static tt_dtype_t sum_dtype(tt_lower_t* L, uint32_t dtype_arg, V x) {
  tt_dtype_t dtype = tt_l_dtype(L, dtype_arg, TT_DTYPE_INVALID);
  if (dtype == TT_DTYPE_INVALID) dtype = tt_l_out_dtype(L, 0);
  if (dtype == TT_DTYPE_INVALID) dtype = tt_lx_is_int_or_bool(tt_lx_dtype(x)) ? TT_DTYPE_S64 : tt_lx_dtype(x);
  return dtype;
}

// Sums in f32 for 16-bit floats.
static V sum_values(tt_lower_t* L, V x, size_t count, const int64_t* dims, bool keep, tt_dtype_t dtype) {
  tt_dtype_t wide = tt_l_accumulate(dtype);
  if (dtype == TT_DTYPE_PRED) return reduce(L, TT_OP_OR, CAST(x, dtype), count, dims, keep);
  return CAST(reduce(L, TT_OP_ADD, CAST(x, wide), count, dims, keep), dtype);
}

static void sum_over(tt_lower_t* L, uint32_t dim_arg, bool keep, uint32_t dtype_arg, bool skip_nan) {
  V x = tt_l_tensor(L, 0);
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, dim_arg, x, &count, dims);
  if (skip_nan && x && tt_dtype_is_float(tt_lx_dtype(x))) x = SEL(NE(x, x), K(x, 0), x);
  tt_l_return(L, sum_values(L, x, count, dims, keep, sum_dtype(L, dtype_arg, x)));
}
TT_LOWERING(sum) { sum_over(L, 1, tt_l_bool(L, 2, false), 3, false); }
TT_LOWERING(sum_all) { sum_over(L, 99, false, 1, false); }
TT_LOWERING(nansum) {
  V x = tt_l_tensor(L, 0);
  tt_dtype_t dtype = sum_dtype(L, 3, x);
  // dtype= may be any, out= alone may not
  if (tt_l_is_none(L, 3) && tt_dtype_is_float(tt_lx_dtype(x)) && tt_lx_is_int_or_bool(dtype)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"nansum_cpu\" not implemented for '%s'",
                    tt_lx_torch_name(dtype));
  }
  sum_over(L, 1, tt_l_bool(L, 2, false), 3, true);
}

static void mean_over(tt_lower_t* L, uint32_t dim_arg, bool keep, uint32_t dtype_arg) {
  V x = tt_l_tensor(L, 0);
  tt_dtype_t dtype = tt_l_dtype(L, dtype_arg, tt_lx_dtype(x));
  if (x && tt_lx_is_int_or_bool(dtype)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "mean(): could not infer output dtype. Input dtype must be either a floating point or "
                    "complex dtype. Got: %s",
                    tt_lx_torch_name(dtype));
  }
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, dim_arg, x, &count, dims);
  tt_dtype_t wide = tt_l_accumulate(dtype);
  V total = reduce(L, TT_OP_ADD, CAST(x, wide), count, dims, keep);
  tt_l_return(L, CAST(DIV(total, K(total, count_of(L, x, count, dims))), dtype));
}
TT_LOWERING(mean) { mean_over(L, 1, tt_l_bool(L, 2, false), 3); }
TT_LOWERING(mean_all) { mean_over(L, 99, false, 1); }

static void prod_over(tt_lower_t* L, uint32_t dim_arg, bool keep, uint32_t dtype_arg) {
  V x = tt_l_tensor(L, 0);
  tt_dtype_t dtype = sum_dtype(L, dtype_arg, x), wide = tt_l_accumulate(dtype);
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, dim_arg, x, &count, dims);
  tt_op_kind_t kind = dtype == TT_DTYPE_PRED ? TT_OP_AND : TT_OP_MULTIPLY;
  tt_l_return(L, CAST(reduce(L, kind, CAST(x, wide), count, dims, keep), dtype));
}
TT_LOWERING(prod_all) { prod_over(L, 99, false, 1); }
TT_LOWERING(prod_dim) { prod_over(L, 1, tt_l_bool(L, 2, false), 3); }

// ---- all, any, counting ------------------------------------------------------------------------
static void truth(tt_lower_t* L, tt_op_kind_t kind, uint32_t dim_arg, bool keep) {
  V x = tt_l_tensor(L, 0);
  tt_dtype_t out = tt_l_out_dtype(L, 0);
  if (out != TT_DTYPE_INVALID && out != TT_DTYPE_PRED && out != TT_DTYPE_U8) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s only supports bool tensor for result, got: %s",
                    kind == TT_OP_AND ? "all" : "any", tt_lx_torch_name(out));
  }
  size_t count = 0;
  int64_t dims[TT_MAX_RANK];
  bool empty_list =
      dim_arg < L->arg_count && L->args[dim_arg].kind == TT_ARG_INTS && L->args[dim_arg].count == 0;
  if (!empty_list) dims_of(L, dim_arg, x, &count, dims);   // dim=[] reduces nothing here
  V result = empty_list ? CAST(x, TT_DTYPE_PRED) : reduce(L, kind, CAST(x, TT_DTYPE_PRED), count, dims, keep);
  tt_l_return(L, tt_lx_dtype(x) == TT_DTYPE_U8 ? CAST(result, TT_DTYPE_U8) : result);
}
TT_LOWERING(all_all) { truth(L, TT_OP_AND, 99, false); }
TT_LOWERING(any_all) { truth(L, TT_OP_OR, 99, false); }
TT_LOWERING(all_dim) { truth(L, TT_OP_AND, 1, tt_l_bool(L, 2, false)); }
TT_LOWERING(any_dim) { truth(L, TT_OP_OR, 1, tt_l_bool(L, 2, false)); }

static void count_nonzero_over(tt_lower_t* L, uint32_t dim_arg) {
  V x = tt_l_tensor(L, 0);
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, dim_arg, x, &count, dims);
  tt_l_return(L, reduce(L, TT_OP_ADD, CAST(CAST(x, TT_DTYPE_PRED), TT_DTYPE_S64), count, dims, false));
}
TT_LOWERING(count_nonzero) { count_nonzero_over(L, 1); }

// ---- hash --------------------------------------------------------------------------------------
// (self, dim, keepdim, mode): mode 0 is the exclusive or of the bits of 64-bit values (floats as f64).
// The bits that a float of at most 32 bits has as a float64, for targets that have none: exact in integers.
static V double_bits(tt_lower_t* L, V x) {
  V u = CAST(tt_b_bitcast(L->b, CAST(x, TT_DTYPE_F32), TT_DTYPE_U32), TT_DTYPE_U64);
  if (!u) return NULL;
#define INT(v) tt_lx_splat_i64(L, u, (v))
#define LEFT(a, n) tt_b_binary(L->b, TT_OP_SHIFT_LEFT, (a), (n))
#define RIGHT(a, n) tt_b_binary(L->b, TT_OP_SHIFT_RIGHT_LOGICAL, (a), (n))
  V sign = LEFT(RIGHT(u, INT(31)), INT(63)), mantissa = AND(u, INT(0x7fffff));
  V exponent = AND(RIGHT(u, INT(23)), INT(255)), zero = INT(0);
  V normal = OR(LEFT(ADD(exponent, INT(1023 - 127)), INT(52)), LEFT(mantissa, INT(29)));
  // a subnormal m 2^-149: its highest bit becomes the implicit one
  V top = SUB(INT(63), tt_b_unary(L->b, TT_OP_COUNT_LEADING_ZEROS, MAX(mantissa, INT(1))));
  V fraction = AND(LEFT(mantissa, SUB(INT(52), top)), INT(((int64_t)1 << 52) - 1));
  V small = OR(LEFT(ADD(top, INT(1023 - 149)), INT(52)), fraction);
  small = SEL(EQ(mantissa, zero), zero, small);
  V quiet = SEL(EQ(mantissa, zero), zero, OR(LEFT(mantissa, INT(29)), INT((int64_t)1 << 51)));
  V large = OR(INT((int64_t)0x7ff << 52), quiet);
#undef INT
#undef LEFT
#undef RIGHT
  V value = SEL(EQ(exponent, zero), small, SEL(EQ(exponent, tt_lx_splat_i64(L, u, 255)), large, normal));
  return OR(sign, value);
}

// Elements as PyTorch's CPU hashes them: floats by their float64 bits.
static V hashed_bits(tt_lower_t* L, V x) {
  tt_dtype_t dtype = tt_lx_dtype(x);
  bool has_double = L->target->is_vtpu || L->target->dtype_support[TT_DTYPE_F64] != TT_SUPPORT_REFUSED;
  if (tt_dtype_is_float(dtype) && dtype != TT_DTYPE_F64 && !has_double) return double_bits(L, x);
  if (tt_dtype_is_float(dtype)) return tt_b_bitcast(L->b, CAST(x, TT_DTYPE_F64), TT_DTYPE_U64);
  return dtype == TT_DTYPE_U64 ? x : tt_b_bitcast(L->b, CAST(x, TT_DTYPE_S64), TT_DTYPE_U64);
}

TT_LOWERING(hash_tensor) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  tt_dtype_t dtype = tt_lx_dtype(x);
  if (tt_dtype_is_complex(dtype)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"xor_sum_cpu\" not implemented for '%s'",
                    tt_lx_torch_name(dtype));
    return;
  }
  size_t count;
  int64_t dims[TT_MAX_RANK], rank = tt_lx_rank(x);
  dims_of(L, 1, x, &count, dims);
  x = hashed_bits(L, x);
  if (rank == 0) {
    tt_l_return(L, x);
    return;
  }
  V none = tt_b_scalar_i64(L->b, TT_DTYPE_U64, 0);
  tt_op_t* op = tt_b_reduce_general(L->b, 1, &x, &none, count, dims);
  if (!op) return;
  tt_block_t* saved = tt_b_region_begin(L->b, op, 0, 0, NULL);
  V both = XOR(tt_b_region_arg(op, 0, 0), tt_b_region_arg(op, 0, 1));
  tt_b_region_end(L->b, saved, 1, &both);
  V result = &op->results[0];
  if (tt_l_bool(L, 2, false)) {
    tt_dim_t kept[TT_MAX_RANK];
    for (int64_t d = 0; d < rank; ++d) kept[d] = tt_lx_size(x, d);
    for (size_t i = 0; i < count; ++i) kept[dims[i]] = 1;
    result = tt_b_reshape(L->b, result, (size_t)rank, kept);
  }
  tt_l_return(L, result);
}

// ---- extrema -----------------------------------------------------------------------------------
static bool check_not_empty(tt_lower_t* L, V x, size_t count, const int64_t* dims, bool all,
                            const char* name) {
  if (!x || x->type->rank == 0) return x != NULL;
  for (size_t i = 0; i < count; ++i) {
    if (x->type->dims[dims[i]] != 0) continue;
    if (all) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                      "reduction dim with "
                      "the 'dim' argument.",
                      name);
    } else {
      tt_builder_fail(L->b, TT_OUT_OF_RANGE, "%s(): Expected reduction dim %lld to have non-zero size.", name,
                      (long long)dims[i]);
    }
    return false;
  }
  return true;
}

// Complex has no order; i1 goes through AND and OR.
static V extreme(tt_lower_t* L, bool maximum, V x, size_t count, const int64_t* dims, bool keep,
                 const char* kernel) {
  if (tt_dtype_is_complex(tt_lx_dtype(x))) {
    return tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                           tt_lx_torch_name(tt_lx_dtype(x)));
  }
  if (tt_lx_dtype(x) == TT_DTYPE_PRED) return reduce(L, maximum ? TT_OP_OR : TT_OP_AND, x, count, dims, keep);
  return reduce(L, maximum ? TT_OP_MAXIMUM : TT_OP_MINIMUM, x, count, dims, keep);
}

static void extreme_over(tt_lower_t* L, bool maximum, const char* name) {
  V x = tt_l_tensor(L, 0);
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, 1, x, &count, dims);
  if (!check_not_empty(L, x, count, dims, tt_l_ints(L, 1).size == 0, name)) return;
  tt_l_return(L, extreme(L, maximum, x, count, dims, tt_l_bool(L, 2, false),
                         maximum ? "max_values_cpu" : "min_values_cpu"));
}
TT_LOWERING(amax) { extreme_over(L, true, "amax"); }
TT_LOWERING(amin) { extreme_over(L, false, "amin"); }

static void extreme_all(tt_lower_t* L, bool maximum) {
  V x = tt_l_tensor(L, 0);
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, 99, x, &count, dims);
  if (!check_not_empty(L, x, count, dims, true, maximum ? "max" : "min")) return;
  tt_l_return(L, extreme(L, maximum, x, count, dims, false, maximum ? "max_all" : "min_all"));
}
TT_LOWERING(max_all) { extreme_all(L, true); }
TT_LOWERING(min_all) { extreme_all(L, false); }

TT_LOWERING(aminmax) {
  V x = tt_l_tensor(L, 0);
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, 1, x, &count, dims);
  if (!check_not_empty(L, x, count, dims, tt_l_is_none(L, 1), "aminmax")) return;
  bool keep = tt_l_bool(L, 2, false);
  tt_l_return(L, extreme(L, false, x, count, dims, keep, "aminmax_kernel"));
  tt_l_return(L, extreme(L, true, x, count, dims, keep, "aminmax_kernel"));
}
TT_LOWERING(aminmax_all) {
  V x = tt_l_tensor(L, 0);
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, 99, x, &count, dims);
  tt_l_return(L, extreme(L, false, x, count, dims, false, "_aminmax_all"));
  tt_l_return(L, extreme(L, true, x, count, dims, false, "_aminmax_all"));
}

// Value and first index of the extreme along `dim`; NaN beats everything, as in PyTorch.
void tt_lx_extreme_index(tt_lower_t* L, bool maximum, V x, int64_t dim, bool keep, V* out_value,
                         V* out_index) {
  *out_value = *out_index = NULL;
  if (!x) return;
  if (x->type->rank == 0) {
    *out_value = x;
    *out_index = tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0);
    return;
  }
  tt_dtype_t dtype = tt_lx_dtype(x);
  V keys = dtype == TT_DTYPE_PRED ? CAST(x, TT_DTYPE_U8) : x;
  V inputs[2] = {keys, tt_lx_iota(L, TT_DTYPE_S64, x, dim)};
  V scalar = tt_b_scalar_f64(L->b, tt_lx_dtype(keys), 0);
  V inits[2] = {maximum ? tt_lx_splat_lowest(L, scalar) : tt_lx_splat_max(L, scalar),
                tt_b_scalar_i64(L->b, TT_DTYPE_S64, INT64_MAX)};
  tt_op_t* op = tt_b_reduce_general(L->b, 2, inputs, inits, 1, &dim);
  if (!op) return;
  tt_block_t* saved = tt_b_region_begin(L->b, op, 0, 0, NULL);
  V value_a = tt_b_region_arg(op, 0, 0), index_a = tt_b_region_arg(op, 0, 1);
  V value_b = tt_b_region_arg(op, 0, 2), index_b = tt_b_region_arg(op, 0, 3);
  V better = maximum ? GT(value_a, value_b) : LT(value_a, value_b), same = EQ(value_a, value_b);
  if (tt_dtype_is_float(tt_lx_dtype(keys))) {
    V nan_a = NE(value_a, value_a), nan_b = NE(value_b, value_b);
    better = OR(better, AND(nan_a, NOT(nan_b)));
    same = OR(same, AND(nan_a, nan_b));
  }
  V take_a = OR(better, AND(same, LT(index_a, index_b)));
  V results[2] = {SEL(take_a, value_a, value_b), SEL(take_a, index_a, index_b)};
  tt_b_region_end(L->b, saved, 2, results);
  V value = &op->results[0], index = &op->results[1];
  if (keep) {
    value = tt_lx_unsqueeze(L, value, dim);
    index = tt_lx_unsqueeze(L, index, dim);
  }
  *out_value = CAST(value, dtype);
  *out_index = index;
}

static void extreme_dim(tt_lower_t* L, bool maximum) {
  V x = tt_l_tensor(L, 0), value, index;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x));
  if (!check_not_empty(L, x, 1, &dim, false, maximum ? "max" : "min")) return;
  if (tt_dtype_is_complex(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s(): does not support complex input",
                    maximum ? "max" : "min");
  }
  tt_lx_extreme_index(L, maximum, x, dim, tt_l_bool(L, 2, false), &value, &index);
  tt_l_return(L, value);
  tt_l_return(L, index);
}
TT_LOWERING(max_dim) { extreme_dim(L, true); }
TT_LOWERING(min_dim) { extreme_dim(L, false); }

static void arg_extreme(tt_lower_t* L, bool maximum) {
  V x = tt_l_tensor(L, 0), value, index;
  const char* name = maximum ? "argmax" : "argmin";
  bool keep = tt_l_bool(L, 2, false);
  if (!x) return;
  if (tt_dtype_is_complex(tt_lx_dtype(x)) || tt_lx_dtype(x) == TT_DTYPE_PRED) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s_cpu\" not implemented for '%s'", name,
                    tt_lx_torch_name(tt_lx_dtype(x)));
  }
  if (tt_l_is_none(L, 1)) {
    if (tt_lx_numel(L, x) == 0) {
      tt_builder_fail(L->b, TT_OUT_OF_RANGE,
                      "%s(): Expected reduction dim to be specified for input.numel() == 0.", name);
    }
    V flat = x->type->rank ? tt_lx_flatten(L, x) : x;
    tt_lx_extreme_index(L, maximum, flat, 0, false, &value, &index);
    if (keep && index) {
      int64_t ones[TT_MAX_RANK];
      for (int64_t i = 0; i < tt_lx_rank(x); ++i) ones[i] = 1;
      index = tt_b_reshape(L->b, index, x->type->rank, ones);
    }
  } else {
    int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x));
    if (!check_not_empty(L, x, 1, &dim, false, name)) return;
    tt_lx_extreme_index(L, maximum, x, dim, keep, &value, &index);
  }
  tt_l_return(L, index);
}
TT_LOWERING(argmax) { arg_extreme(L, true); }
TT_LOWERING(argmin) { arg_extreme(L, false); }

// ---- norms, variance ---------------------------------------------------------------------------
// p-norm over dims; 16-bit floats in f32, result in `dtype` (real).
static V vector_norm(tt_lower_t* L, V x, double p, size_t count, const int64_t* dims, bool keep,
                     tt_dtype_t dtype) {
  if (!x) return NULL;
  x = UP(x);
  if (dtype != TT_DTYPE_INVALID &&
      tt_dtype_bytes(tt_dtype_real_part(dtype)) > tt_dtype_bytes(tt_dtype_real_part(tt_lx_dtype(x)))) {
    x = CAST(x, tt_dtype_is_complex(tt_lx_dtype(x)) ? TT_DTYPE_C128 : tt_dtype_real_part(dtype));
  }
  V size = ABS(x), result;
  if (p == INFINITY || p == -INFINITY) {
    result = extreme(L, p > 0, size, count, dims, keep, "linalg_vector_norm");
  } else if (p == 0) {
    result = reduce(L, TT_OP_ADD, CAST(NE(size, K(size, 0)), tt_lx_dtype(size)), count, dims, keep);
  } else if (p == 1) {
    result = reduce(L, TT_OP_ADD, size, count, dims, keep);
  } else if (p == 2) {
    result = SQRT(reduce(L, TT_OP_ADD, MUL(size, size), count, dims, keep));
  } else {
    V total = reduce(L, TT_OP_ADD, POW(size, K(size, p)), count, dims, keep);
    result = POW(total, K(total, 1 / p));
  }
  return CAST(result, dtype == TT_DTYPE_INVALID ? tt_dtype_real_part(tt_lx_dtype(tt_l_tensor(L, 0)))
                                                : tt_dtype_real_part(dtype));
}

static void norm_over(tt_lower_t* L, double p, uint32_t dim_arg, bool keep, uint32_t dtype_arg,
                      const char* name) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  if (tt_lx_is_int_or_bool(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "%s: Expected a floating point or complex tensor as input. Got %s", name,
                    tt_lx_torch_name(tt_lx_dtype(x)));
  }
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, dim_arg, x, &count, dims);
  if ((p < 0 || p == INFINITY) && x->type->rank) {
    for (size_t i = 0; i < count; ++i) {
      if (x->type->dims[dims[i]] != 0) continue;
      tt_builder_fail(
          L->b, TT_INVALID_ARGUMENT,
          "%s cannot compute the %g norm on an empty tensor because the operation does not have an identity",
          name, p);
    }
  }
  tt_l_return(L, vector_norm(L, x, p, count, dims, keep, tt_l_dtype(L, dtype_arg, TT_DTYPE_INVALID)));
}
TT_LOWERING(linalg_vector_norm) {
  norm_over(L, tt_l_float(L, 1, 2), 2, tt_l_bool(L, 3, false), 4, "linalg.vector_norm");
}
TT_LOWERING(norm) { norm_over(L, tt_l_float(L, 1, 2), 2, tt_l_bool(L, 3, false), 4, "norm()"); }
TT_LOWERING(norm_all) { norm_over(L, tt_l_float(L, 1, 2), 99, false, 2, "norm()"); }

// (self, p, dim, maxnorm): slices along dim with a larger norm are scaled down to it.
TT_LOWERING(renorm) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 2, 0), tt_lx_rank(x)), dims[TT_MAX_RANK];
  double p = tt_l_float(L, 1, 2), most = tt_l_float(L, 3, 1);
  tt_dtype_t dtype = tt_lx_dtype(x);
  if (!tt_dtype_is_float(tt_dtype_real_part(dtype))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                    tt_lx_torch_name(dtype));
    return;
  }
  size_t count = 0;
  for (int64_t d = 0; d < tt_lx_rank(x); ++d) {
    if (d != dim) dims[count++] = d;
  }
  if (tt_lx_numel(L, x) == 0) {
    tt_l_return(L, x);
    return;
  }
  V norm = vector_norm(L, x, p, count, dims, true, tt_l_accumulate(tt_dtype_real_part(dtype)));
  V scale = SEL(GT(norm, K(norm, most)), DIV(K(norm, most), ADD(norm, K(norm, 1e-7))), K(norm, 1));
  V factor = UP(CAST(scale, dtype));  // rounded to the dtype before it is used
  tt_l_return(L, CAST(MUL(UP(x), spread(L, factor, UP(x))), dtype));
}

static V mean_kept(tt_lower_t* L, V x, size_t count, const int64_t* dims) {
  V total = reduce(L, TT_OP_ADD, x, count, dims, true);
  return DIV(total, K(total, count_of(L, x, count, dims)));
}

static void variance(tt_lower_t* L, bool root, bool with_mean, uint32_t dim_arg, double correction,
                     bool keep) {
  V narrow = tt_l_tensor(L, 0);
  if (!narrow) return;
  tt_dtype_t dtype = tt_lx_dtype(narrow);
  if (tt_lx_is_int_or_bool(dtype)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s%s only support floating point and complex dtypes",
                    root ? "std" : "var", with_mean ? "_mean" : " and other reductions");
  }
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, dim_arg, narrow, &count, dims);
  V x = UP(narrow), mean = mean_kept(L, x, count, dims), delta = SUB(x, spread(L, mean, x));
  V square = tt_dtype_is_complex(dtype) ? ADD(MUL(REAL(delta), REAL(delta)), MUL(IMAG(delta), IMAG(delta)))
                                        : MUL(delta, delta);
  V total = reduce(L, TT_OP_ADD, square, count, dims, keep);
  double divisor = count_of(L, x, count, dims) - correction;
  if (divisor <= 0) {
#define NO_FREEDOM(name)                                                                                     \
  name                                                                                                       \
      "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input " \
      "numel divided by output numel)."
    L->warning = root        ? with_mean ? NO_FREEDOM("std_mean") : NO_FREEDOM("std")
                 : with_mean ? NO_FREEDOM("var_mean")
                             : NO_FREEDOM("var");
#undef NO_FREEDOM
  }
  V result = DIV(total, K(total, divisor > 0 ? divisor : 0));
  if (root) result = SQRT(result);
  tt_l_return(L, CAST(result, tt_dtype_real_part(dtype)));
  if (with_mean) {
    V flat_mean = mean;
    if (!keep && result) flat_mean = tt_b_reshape(L->b, mean, result->type->rank, result->type->dims);
    tt_l_return(L, CAST(flat_mean, dtype));
  }
}
static double correction_of(tt_lower_t* L) { return tt_l_float(L, 2, 1); }
TT_LOWERING(var) { variance(L, false, false, 1, correction_of(L), tt_l_bool(L, 3, false)); }
TT_LOWERING(std) { variance(L, true, false, 1, correction_of(L), tt_l_bool(L, 3, false)); }
TT_LOWERING(var_mean) { variance(L, false, true, 1, correction_of(L), tt_l_bool(L, 3, false)); }
TT_LOWERING(std_mean) { variance(L, true, true, 1, correction_of(L), tt_l_bool(L, 3, false)); }

TT_LOWERING(logsumexp) {
  V narrow = tt_l_tensor(L, 0);
  if (!narrow) return;
  tt_dtype_t dtype = tt_l_default_float(L, tt_lx_dtype(narrow));
  size_t count;
  int64_t dims[TT_MAX_RANK];
  dims_of(L, 1, narrow, &count, dims);
  bool keep = tt_l_bool(L, 2, false);
  V x = UP(CAST(narrow, dtype));
  if (tt_dtype_is_complex(dtype)) {
    tt_l_return(L, LOG(reduce(L, TT_OP_ADD, EXP(x), count, dims, keep)));
    return;
  }
  V top = reduce(L, TT_OP_MAXIMUM, x, count, dims, true);
  top = SEL(EQ(ABS(top), K(top, INFINITY)), K(top, 0), top);
  V total = reduce(L, TT_OP_ADD, EXP(SUB(x, spread(L, top, x))), count, dims, true);
  V result = ADD(LOG(total), top);
  if (!keep && result && x->type->rank) {
    tt_dim_t kept[TT_MAX_RANK];
    size_t rank = 0;
    for (int64_t d = 0; d < tt_lx_rank(x); ++d) {
      bool reduced = false;
      for (size_t i = 0; i < count; ++i) reduced = reduced || dims[i] == d;
      if (!reduced) kept[rank++] = x->type->dims[d];
    }
    result = tt_b_reshape(L->b, result, rank, kept);
  }
  tt_l_return(L, CAST(result, dtype));
}

TT_LOWERING(trace) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  if (x->type->rank != 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "trace: expected a matrix, but got tensor with dim %u",
                    x->type->rank);
    return;
  }
  tt_dtype_t dtype = sum_dtype(L, 99, x), wide = tt_l_accumulate(dtype);
  V wider = CAST(x, wide),
    diagonal = EQ(tt_lx_iota(L, TT_DTYPE_S64, x, 0), tt_lx_iota(L, TT_DTYPE_S64, x, 1));
  tt_l_return(L, CAST(tt_lx_reduce_all(L, TT_OP_ADD, SEL(diagonal, wider, K(wider, 0))), dtype));
}

// ---- softmax -----------------------------------------------------------------------------------
static V composite_1(tt_lower_t* L, const char* name, size_t count, V* operands, V like, int64_t axis,
                     bool log) {
  if (!like) return NULL;
  tt_attr_t attrs[2] = {tt_attr_int(TT_ATTR_AXIS, axis), tt_attr_bool(TT_ATTR_LOG, log)};
  tt_op_t* op = tt_b_composite(L->b, name, count, operands, 1, &like->type, 2, attrs, NULL);
  return op ? &op->results[0] : NULL;
}

static void softmax(tt_lower_t* L, bool log) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, -1), tt_lx_rank(x));
  tt_dtype_t dtype = tt_lx_dtype(x);
  if (tt_lx_is_int_or_bool(dtype) || tt_dtype_is_complex(dtype)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s_lastdim_kernel_impl\" not implemented for '%s'",
                    log ? "log_softmax" : "softmax", tt_lx_torch_name(dtype));
    return;
  }
  if (tt_l_bool(L, 2, false)) x = CAST(x, TT_DTYPE_F32);   // half_to_float
  if (x && x->type->rank == 0) {
    tt_l_return(L, SEL(NE(x, x), x, K(x, log ? 0 : 1)));
    return;
  }
  tt_l_return(L, composite_1(L, "tt.softmax", 1, &x, x, dim, log));
}
TT_LOWERING(softmax) { softmax(L, false); }
TT_LOWERING(log_softmax) { softmax(L, true); }

static void softmax_backward(tt_lower_t* L, bool log) {
  V values[2] = {tt_l_tensor(L, 0), tt_l_tensor(L, 1)};
  if (!values[0] || !values[1]) return;
  bool same = tt_lx_rank(values[0]) == tt_lx_rank(values[1]);
  for (int64_t d = 0; same && d < tt_lx_rank(values[0]); ++d)
    same = tt_lx_size(values[0], d) == tt_lx_size(values[1], d);
  if (!same) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'");
    return;
  }
  int64_t dim = tt_l_dim(L, tt_l_int(L, 2, -1), tt_lx_rank(values[0]));
  tt_dtype_t wide = tt_l_promote(tt_lx_dtype(values[0]), tt_lx_dtype(values[1]));
  values[0] = CAST(values[0], wide);
  values[1] = CAST(values[1], wide);
  if (values[0]->type->rank == 0) {
    tt_l_return(L, K(values[0], 0));
    return;
  }
  V result = composite_1(L, "tt.softmax_backward", 2, values, values[0], dim, log);
  tt_l_return(L, CAST(result, tt_l_dtype(L, 3, wide)));
}
TT_LOWERING(softmax_backward) { softmax_backward(L, false); }
TT_LOWERING(log_softmax_backward) { softmax_backward(L, true); }

// softmax.int and log_softmax.int: what whole graphs may still hold.
static void softmax_int(tt_lower_t* L, bool log) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, -1), tt_lx_rank(x));
  x = CAST(x, tt_l_dtype(L, 2, tt_l_default_float(L, tt_lx_dtype(x))));
  tt_l_return(L,
              x && x->type->rank == 0 ? K(x, log ? 0 : 1) : composite_1(L, "tt.softmax", 1, &x, x, dim, log));
}
TT_LOWERING(softmax_int) { softmax_int(L, false); }
TT_LOWERING(log_softmax_int) { softmax_int(L, true); }

TT_LOWERING(safe_softmax) {   // a line of -inf alone gives zeros
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, -1), tt_lx_rank(x));
  x = CAST(x, tt_l_dtype(L, 2, tt_l_default_float(L, tt_lx_dtype(x))));
  if (!x || x->type->rank == 0) {
    tt_l_return(L, K(x, 1));
    return;
  }
  V result = composite_1(L, "tt.softmax", 1, &x, x, dim, false);
  V all = reduce(L, TT_OP_AND, EQ(x, K(x, -INFINITY)), 1, &dim, true);
  tt_l_return(L, SEL(spread(L, all, x), K(x, 0), result));
}

static V masked_mask(tt_lower_t* L, V mask, V x) {
  if (!mask || !x) return NULL;
  mask = CAST(mask, TT_DTYPE_PRED);
  if (mask->type->rank == 2 && x->type->rank == 4) {   // (B, L) key padding over (B, H, L, L)
    int64_t places[2] = {0, 3};
    return tt_b_broadcast_in_dim(L->b, mask, 4, x->type->dims, places);
  }
  return tt_lx_broadcast_like(L, mask, x);
}
TT_LOWERING(masked_softmax) {
  V x = tt_l_tensor(L, 0), mask = masked_mask(L, tt_l_tensor(L, 1), x);
  if (!x || !mask) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 2, -1), tt_lx_rank(x));
  V filled = SEL(mask, K(x, -INFINITY), x);
  V result = composite_1(L, "tt.softmax", 1, &filled, x, dim, false);
  V all = reduce(L, TT_OP_AND, mask, 1, &dim, true);
  tt_l_return(L, SEL(spread(L, all, x), K(x, NAN), SEL(mask, K(x, 0), result)));
}
TT_LOWERING(masked_softmax_backward) {
  V grad = tt_l_tensor(L, 0), output = tt_l_tensor(L, 1), mask = masked_mask(L, tt_l_tensor(L, 2), grad);
  if (!grad || !output || !mask) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 3, -1), tt_lx_rank(grad));
  V values[2] = {SEL(mask, K(grad, 0), grad), SEL(mask, K(output, 0), output)};
  tt_l_return(L, SEL(mask, K(grad, 0), composite_1(L, "tt.softmax_backward", 2, values, grad, dim, false)));
}

// ---- scans -------------------------------------------------------------------------------------
static void scan(tt_lower_t* L, const char* op, uint32_t dtype_arg) {
  V x = tt_l_tensor(L, 0);
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x));
  tt_dtype_t dtype = sum_dtype(L, dtype_arg, x);
  if (dtype == TT_DTYPE_PRED)
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"cum%s_out_cpu\" not implemented for 'Bool'", op);
  V wide = CAST(x, tt_l_accumulate(dtype));
  tt_l_return(L, CAST(tt_lx_cumulative(L, wide, dim, op, false), dtype));
}
TT_LOWERING(cumsum) { scan(L, "sum", 2); }
TT_LOWERING(cumprod) { scan(L, "prod", 2); }

TT_LOWERING(logcumsumexp) {
  V x = tt_l_tensor(L, 0), wide = UP(x);
  if (x && tt_lx_is_int_or_bool(tt_lx_dtype(x))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"logcumsumexp_out_cpu\" not implemented for '%s'",
                    tt_lx_torch_name(tt_lx_dtype(x)));
  }
  int64_t dim = tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x));
  if (tt_dtype_is_complex(tt_lx_dtype(x))) {   // log2(n) shifted combinations
    int64_t n = x->type->rank ? tt_lx_static_size(L, x, dim) : 1;
    char bits[16];
    static const double neutral[2] = {-INFINITY, 0};
    tt_scalar_store_complex(tt_lx_dtype(x), neutral, bits);
    V fill = tt_b_constant(L->b, tt_b_type(L->b, tt_lx_dtype(x), 0, NULL), bits, true);
    for (int64_t step = 1; step < n; step *= 2) {
      int64_t low[TT_MAX_RANK] = {0}, high[TT_MAX_RANK] = {0};
      low[dim] = step;
      V moved = tt_b_pad(L->b, tt_lx_slice_dim(L, x, dim, 0, n - step, 1), fill, low, high, NULL);
      x = tt_lx_complex_logaddexp(L, x, moved);
    }
    tt_l_return(L, x);
    return;
  }
  tt_l_return(L, CAST(tt_lx_cumulative(L, wide, dim, "logsumexp", false), tt_lx_dtype(x)));
}

// Running extreme and where it was last met: a position takes the index of itself when it reaches the running
// extreme; the running maximum of those is the answer.
static void running_extreme(tt_lower_t* L, bool maximum, V x, int64_t dim, V* out_values, V* out_indices) {
  *out_values = *out_indices = NULL;
  if (!x) return;
  if (x->type->rank == 0) {
    *out_values = x;
    *out_indices = tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0);
    return;
  }
  tt_dtype_t dtype = tt_lx_dtype(x);
  V keys = dtype == TT_DTYPE_PRED ? CAST(x, TT_DTYPE_U8) : x;
  V running = tt_lx_cumulative(L, keys, dim, maximum ? "max" : "min", false);
  V place = tt_lx_iota(L, TT_DTYPE_S64, x, dim);
  V reached = OR(EQ(keys, running), tt_lx_is_nan(L, keys));
  V index = tt_lx_cumulative(L, SEL(reached, place, K(place, 0)), dim, "max", false);
  *out_values = CAST(running, dtype);
  *out_indices = index;
}
static void running_helper(tt_lower_t* L, bool maximum) {
  V x = tt_l_tensor(L, 0), values, indices;
  running_extreme(L, maximum, x, tt_l_dim(L, tt_l_int(L, 3, 0), tt_lx_rank(x)), &values, &indices);
  tt_l_write(L, 1, 0, values);
  tt_l_write(L, 2, 0, indices);
}
TT_LOWERING(cummax_helper) { running_helper(L, true); }
TT_LOWERING(cummin_helper) { running_helper(L, false); }
static void running(tt_lower_t* L, bool maximum) {
  V x = tt_l_tensor(L, 0), values, indices;
  running_extreme(L, maximum, x, tt_l_dim(L, tt_l_int(L, 1, 0), tt_lx_rank(x)), &values, &indices);
  tt_l_return(L, values);
  tt_l_return(L, indices);
}
TT_LOWERING(cummax) { running(L, true); }
TT_LOWERING(cummin) { running(L, false); }
