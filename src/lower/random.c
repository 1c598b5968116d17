// Random numbers (design D11): words of the device's generator through tt.rng; everything else is arithmetic
// on them, the same in eager programs and whole graphs.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

V tt_lx_random(tt_lower_t* L, const char* distribution, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims) {
  const tt_type_t* type = tt_b_type(L->b, dtype, rank, dims);
  if (!type) return NULL;
  int64_t n = tt_type_elems(type);
  if (n < 0) return tt_builder_fail(L->b, TT_UNIMPLEMENTED, "random numbers of a symbolic shape");
  if (n == 0) return tt_b_splat_f64(L->b, type, 0);
  if (!L->random) return tt_builder_fail(L->b, TT_INTERNAL, "no source of random words");
  uint64_t per_element = tt_dtype_bytes(dtype) == 8 ? 2 : 1;
  if (!strcmp(distribution, "normal")) per_element *= 2;
  V operands[2] = {NULL, NULL};
  L->random(L, (uint64_t)n * per_element, &operands[0], &operands[1]);
  if (!operands[0] || !operands[1]) return NULL;
  tt_attr_t attr = tt_attr_string(TT_ATTR_DISTRIBUTION, distribution);
  tt_op_t* op = tt_b_composite(L->b, "tt.rng", 2, operands, 1, &type, 1, &attr, NULL);
  return op ? &op->results[0] : NULL;
}

static V uniform_like(tt_lower_t* L, V like, tt_dtype_t dtype) {
  return like ? tt_lx_random(L, "uniform", dtype, like->type->rank, like->type->dims) : NULL;
}
static tt_dtype_t draw_dtype(tt_dtype_t dtype) { return dtype == TT_DTYPE_F64 ? TT_DTYPE_F64 : TT_DTYPE_F32; }
static V number(tt_lower_t* L, uint32_t arg, V like, double if_none) {
  return tt_l_is_none(L, arg) ? K(like, if_none) : tt_l_scalar_splat(L, arg, like);
}
static bool require_float(tt_lower_t* L, V self, const char* name) {
  if (self && tt_lx_is_int_or_bool(tt_lx_dtype(self))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s\" not implemented for '%s'", name,
                    tt_lx_torch_name(tt_lx_dtype(self)));
  }
  return self && tt_builder_ok(L->b);
}

// ---- uniform, normal ---------------------------------------------------------------------------
TT_LOWERING(uniform) {
  V self = tt_l_tensor(L, 0);
  if (!require_float(L, self, "check_uniform_bounds") || !tt_l_random_check(L, tt_lower_uniform)) return;
  tt_dtype_t dtype = tt_lx_dtype(self);
  V u = uniform_like(L, self,
                     tt_dtype_is_complex(dtype) ? draw_dtype(tt_dtype_real_part(dtype)) : draw_dtype(dtype));
  bool plain =
      (tt_l_is_none(L, 1) || tt_l_scalar_is(L, 1, 0)) && (tt_l_is_none(L, 2) || tt_l_scalar_is(L, 2, 1));
  if (!plain) {
    V from = number(L, 1, u, 0), to = number(L, 2, u, 1);
    u = ADD(MUL(u, SUB(to, from)), from);
  }
  tt_l_return(L, CAST(u, dtype));
}

static V normal_shape(tt_lower_t* L, size_t rank, const tt_dim_t* dims, tt_dtype_t dtype) {
  if (!tt_dtype_is_complex(dtype)) return tt_lx_random(L, "normal", draw_dtype(dtype), rank, dims);
  // real and imaginary parts of variance one half
  tt_dim_t pairs[TT_MAX_RANK];
  if (rank >= TT_MAX_RANK) return tt_builder_fail(L->b, TT_UNIMPLEMENTED, "rank over %d", TT_MAX_RANK - 1);
  if (rank) memcpy(pairs, dims, rank * sizeof *pairs);
  pairs[rank] = 2;
  V both = tt_lx_random(L, "normal", tt_dtype_real_part(dtype), rank + 1, pairs);
  both = MUL(both, K(both, M_SQRT1_2));
  V re = tt_lx_squeeze(L, tt_lx_slice_dim(L, both, (int64_t)rank, 0, 1, 1), (int64_t)rank);
  V im = tt_lx_squeeze(L, tt_lx_slice_dim(L, both, (int64_t)rank, 1, 2, 1), (int64_t)rank);
  return tt_b_complex(L->b, re, im);
}
TT_LOWERING(normal) {
  V self = tt_l_tensor(L, 0);
  if (!require_float(L, self, "normal_kernel_cpu") || !tt_l_random_check(L, tt_lower_normal)) return;
  V z = normal_shape(L, self->type->rank, self->type->dims, tt_lx_dtype(self));
  if (!tt_l_is_none(L, 2) && !tt_l_scalar_is(L, 2, 1)) z = MUL(z, tt_l_scalar_splat(L, 2, z));
  if (!tt_l_is_none(L, 1) && !tt_l_scalar_is(L, 1, 0)) z = ADD(z, tt_l_scalar_splat(L, 1, z));
  tt_l_return(L, CAST(z, tt_lx_dtype(self)));
}
// normal(mean, std): tensors or numbers.
TT_LOWERING(normal_of) {
  V mean = tt_l_tensor_or_null(L, 0), std = tt_l_tensor_or_null(L, 1), like = mean ? mean : std;
  if (!like || !tt_l_random_check(L, tt_lower_normal_of)) return;
  if (tt_l_out_dtype(L, 0) != TT_DTYPE_INVALID && tt_lx_is_int_or_bool(tt_l_out_dtype(L, 0))) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"normal_kernel_cpu\" not implemented for '%s'",
                    tt_lx_torch_name(tt_l_out_dtype(L, 0)));
  }
  tt_dtype_t dtype = tt_lx_dtype(like), work = tt_l_accumulate(dtype);
  V values[2] = {mean ? CAST(mean, work) : tt_l_scalar(L, 0, work), std ? CAST(std, work)
                                                                    : tt_l_is_none(L, 1)
                                                                        ? tt_b_scalar_f64(L->b, work, 1)
                                                                        : tt_l_scalar(L, 1, work)};
  if (std && !tt_dtype_is_complex(dtype)) {
    tt_lx_check(L, GE(std, K(std, 0)), TT_INVALID_ARGUMENT, "normal expects all elements of std >= 0.0");
  }
  tt_lx_broadcast(L, 2, values, work);
  if (!values[0]) return;
  V z = CAST(normal_shape(L, values[0]->type->rank, values[0]->type->dims, work), work);
  tt_l_return(L, CAST(ADD(MUL(z, values[1]), values[0]), dtype));
}
TT_LOWERING(log_normal) {
  V self = tt_l_tensor(L, 0);
  if (!require_float(L, self, "log_normal_cpu")) return;
  if (!tt_l_random_check(L, tt_lower_log_normal)) return;
  V z = normal_shape(L, self->type->rank, self->type->dims, tt_lx_dtype(self));
  tt_l_return(L, CAST(EXP(ADD(MUL(z, number(L, 2, z, 2)), number(L, 1, z, 1))), tt_lx_dtype(self)));
}

// ---- integers ----------------------------------------------------------------------------------
// from + word mod range; range 0 stands for 2^64.
static V integers(tt_lower_t* L, size_t rank, const tt_dim_t* dims, int64_t from, uint64_t range,
                  tt_dtype_t dtype) {
  bool wide = range == 0 || range > (UINT64_C(1) << 32);
  V words = tt_lx_random(L, "bits", wide ? TT_DTYPE_U64 : TT_DTYPE_U32, rank, dims);
  if (!words) return NULL;
  if (range != 0 && range != (UINT64_C(1) << 32)) {
    if (wide) words = REM(words, tt_lx_splat_i64(L, words, (int64_t)range));
    else words = REM(words, tt_lx_splat_i64(L, words, (int64_t)range));
  }
  V value = tt_b_convert(L->b, words, TT_DTYPE_S64);
  if (from) value = ADD(value, tt_lx_splat_i64(L, value, from));
  if (dtype == TT_DTYPE_PRED) return CAST(value, dtype);
  return tt_b_convert(L->b, value, dtype);
}
static uint64_t default_range(tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_PRED: return 2;
    case TT_DTYPE_S8: return 1u << 7;
    case TT_DTYPE_U8: return 1u << 8;
    case TT_DTYPE_S16: return 1u << 15;
    case TT_DTYPE_U16: return 1u << 16;
    case TT_DTYPE_S32: return UINT64_C(1) << 31;
    case TT_DTYPE_U32: return UINT64_C(1) << 32;
    case TT_DTYPE_S64: return UINT64_C(1) << 63;
    case TT_DTYPE_F16: return (1u << 11) + 1;
    case TT_DTYPE_BF16: return (1u << 8) + 1;
    case TT_DTYPE_F32: return (1u << 24) + 1;
    case TT_DTYPE_F64: return (UINT64_C(1) << 53) + 1;
    default: return 0;
  }
}
static void random_range(tt_lower_t* L, V self, int64_t from, int64_t to, bool has_to) {
  if (!self) return;
  if (has_to && from >= to) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                    (long long)from, (long long)to);
    return;
  }
  uint64_t range = has_to              ? (uint64_t)to - (uint64_t)from
                   : from == INT64_MIN ? 0
                                       : default_range(tt_lx_dtype(self)) - (uint64_t)from;
  tt_l_return(L, integers(L, self->type->rank, self->type->dims, from, range, tt_lx_dtype(self)));
}
TT_LOWERING(random) {
  V self = tt_l_tensor(L, 0);
  if (self)
    tt_l_return(L, integers(L, self->type->rank, self->type->dims, 0, default_range(tt_lx_dtype(self)),
                            tt_lx_dtype(self)));
}
TT_LOWERING(random_from) {
  random_range(L, tt_l_tensor(L, 0), tt_l_int(L, 1, 0), tt_l_int(L, 2, 0), !tt_l_is_none(L, 2));
}
TT_LOWERING(random_to) { random_range(L, tt_l_tensor(L, 0), 0, tt_l_int(L, 1, 1), true); }

TT_LOWERING(randperm) {
  int64_t n = tt_l_int(L, 0, 0);
  tt_dtype_t dtype = tt_l_out_dtype(L, 0);
  for (uint32_t i = 1; i < L->arg_count && dtype == TT_DTYPE_INVALID; ++i) {
    if (L->args[i].kind == TT_ARG_DTYPE) dtype = (tt_dtype_t)L->args[i].integer;
  }
  if (dtype == TT_DTYPE_INVALID) dtype = TT_DTYPE_S64;
  if (n < 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "n must be non-negative, got %lld", (long long)n);
    return;
  }
  const tt_type_t* type = tt_b_type(L->b, TT_DTYPE_S64, 1, &n);
  if (n == 0 || !type) {
    tt_l_return(L, tt_lx_full(L, dtype, 1, &n, 0));
    return;
  }
  V inputs[2] = {tt_lx_random(L, "bits", TT_DTYPE_U64, 1, &n), tt_b_iota(L->b, type, 0)};
  tt_op_t* op = tt_b_sort(L->b, 2, inputs, 0, true);
  if (!op) return;
  tt_block_t* saved = tt_b_region_begin(L->b, op, 0, 0, NULL);
  V less = LT(tt_b_region_arg(op, 0, 0), tt_b_region_arg(op, 0, 1));
  tt_b_region_end(L->b, saved, 1, &less);
  tt_l_return(L, CAST(&op->results[1], dtype));
}

// ---- Bernoulli, dropout ------------------------------------------------------------------------
#define BAD_P                                                                                               \
  "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If " \
  "so, "                                                                                                    \
  "please report an enhancement request to PyTorch.)"
static V bernoulli_of(tt_lower_t* L, V like, V p, tt_dtype_t dtype) {
  if (!like || !p) return NULL;
  p = UP(CAST(p, tt_l_default_float(L, tt_lx_dtype(p))));
  tt_lx_check(L, AND(GE(p, K(p, 0)), LE(p, K(p, 1))), TT_INVALID_ARGUMENT, BAD_P);
  V u = uniform_like(L, like, draw_dtype(tt_lx_dtype(p)));
  return CAST(LT(u, tt_lx_broadcast_like(L, p, u)), dtype);
}
TT_LOWERING(bernoulli) {
  V self = tt_l_tensor(L, 0);
  if (!require_float(L, self, "bernoulli_tensor_cpu_p_")) return;
  tt_dtype_t dtype = tt_l_out_dtype(L, 0);   // any out= takes zeros and ones
  if (dtype == TT_DTYPE_INVALID) dtype = tt_lx_dtype(self);
  if (tt_dtype_is_complex(dtype)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"bernoulli_tensor_cpu_self_\" not implemented for '%s'",
                    tt_lx_torch_name(dtype));
  }
  tt_l_return(L, bernoulli_of(L, self, self, dtype));
}
TT_LOWERING(bernoulli_tensor) {
  V self = tt_l_tensor(L, 0);
  tt_l_return(L, bernoulli_of(L, self, tt_l_tensor(L, 1), tt_lx_dtype(self)));
}
TT_LOWERING(bernoulli_float) {
  V self = tt_l_tensor(L, 0);
  if (!self || !tt_l_random_check(L, tt_lower_bernoulli_float)) return;
  V p = tt_l_is_none(L, 1) ? tt_b_scalar_f64(L->b, TT_DTYPE_F32, 0.5) : tt_l_scalar(L, 1, TT_DTYPE_F32);
  tt_l_return(L, bernoulli_of(L, self, p, tt_lx_dtype(self)));
}

TT_LOWERING(native_dropout) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  bool train = tt_l_is_none(L, 2) || tt_l_bool(L, 2, true);
  tt_dtype_t dtype = tt_lx_dtype(x);
  if (!train || tt_l_scalar_is(L, 1, 0)) {
    tt_l_return(L, x);
    tt_l_return(L, tt_lx_full(L, TT_DTYPE_PRED, x->type->rank, x->type->dims, 1));
    return;
  }
  if (!tt_l_random_check(L, tt_lower_native_dropout)) return;
  if (tt_l_scalar_is(L, 1, 1)) {
    tt_l_return(L, K(x, 0));
    tt_l_return(L, tt_lx_full(L, TT_DTYPE_PRED, x->type->rank, x->type->dims, 0));
    return;
  }
  tt_dtype_t draw = draw_dtype(tt_dtype_real_part(dtype));
  V u = uniform_like(L, x, draw), p = tt_l_scalar_splat(L, 1, u), one = K(u, 1);
  V mask = GE(u, p), wide = UP(x);
  V scale = CAST(DIV(one, SUB(one, p)), tt_lx_dtype(wide));
  tt_l_return(L, CAST(SEL(mask, MUL(wide, scale), K(wide, 0)), dtype));
  tt_l_return(L, mask);
}
TT_LOWERING(native_dropout_backward) {
  V grad = tt_l_tensor(L, 0), mask = tt_l_tensor(L, 1);
  grad = CAST(grad, tt_l_default_float(L, tt_lx_dtype(grad)));
  V wide = UP(grad), scaled = MUL(wide, tt_l_scalar_splat(L, 2, wide));
  tt_l_return(L, CAST(MUL(scaled, CAST(mask, tt_lx_dtype(wide))), tt_lx_dtype(grad)));
}

// ---- other distributions -----------------------------------------------------------------------
TT_LOWERING(exponential) {
  V self = tt_l_tensor(L, 0);
  if (!require_float(L, self, "exponential_cpu")) return;
  if (!tt_l_random_check(L, tt_lower_exponential)) return;
  V u = uniform_like(L, self, draw_dtype(tt_lx_dtype(self)));
  // 1 - u is in (0, 1]
  V value = NEG(DIV(LOG1P(NEG(u)), number(L, 1, u, 1)));
  tt_l_return(L, CAST(value, tt_lx_dtype(self)));
}
TT_LOWERING(geometric) {
  V self = tt_l_tensor(L, 0);
  if (!self) return;
  if (!tt_l_random_check(L, tt_lower_geometric)) return;
  V u = uniform_like(L, self, draw_dtype(tt_lx_dtype(self))), p = tt_l_scalar_splat(L, 1, u);
  V value = CEIL(DIV(LOG1P(NEG(u)), LOG1P(NEG(p))));
  tt_l_return(L, CAST(MAX(value, K(value, 1)), tt_lx_dtype(self)));
}
TT_LOWERING(cauchy) {
  V self = tt_l_tensor(L, 0);
  if (!require_float(L, self, "cauchy_cpu")) return;
  if (!tt_l_random_check(L, tt_lower_cauchy)) return;
  V u = uniform_like(L, self, draw_dtype(tt_lx_dtype(self)));
  V angle = MUL(K(u, M_PI), SUB(u, K(u, 0.5)));
  V value = ADD(number(L, 1, u, 0), MUL(number(L, 2, u, 1), TT_B1(TAN, angle)));
  tt_l_return(L, CAST(value, tt_lx_dtype(self)));
}

// Without replacement: the largest p / Exp(1); with it: the inverse of the running sum.
TT_LOWERING(multinomial) {
  V p = tt_l_tensor(L, 0);
  int64_t count = tt_l_int(L, 1, 1), rank = tt_lx_rank(p);
  bool replacement = tt_l_bool(L, 2, false);
  if (!require_float(L, p, "multinomial")) return;
  if (rank != 1 && rank != 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "prob_dist must be 1 or 2 dim");
    return;
  }
  int64_t last = rank - 1, n = tt_lx_static_size(L, p, last);
  if (count <= 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "cannot sample n_sample <= 0 samples");
    return;
  }
  if (!replacement && count > n) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    return;
  }
  p = UP(p);
  tt_lx_check(L, AND(GE(p, K(p, 0)), TT_B1(IS_FINITE, p)), TT_INVALID_ARGUMENT,
              "probability tensor contains either `inf`, `nan` or element < 0");
  V total = tt_b_reduce(L->b, TT_OP_ADD, p, 1, &last, true);
  tt_lx_check(L, GT(total, K(total, 0)), TT_INVALID_ARGUMENT,
              "invalid multinomial distribution (sum of probabilities <= 0)");
  tt_dim_t dims[2] = {tt_lx_size(p, 0), 0};
  dims[last] = count;
  if (!replacement || count == 1) {
    V u = uniform_like(L, p, tt_lx_dtype(p)), race = NEG(LOG1P(NEG(u)));   // u = 0 gives a race of 0
    race = MAX(race, K(race, tt_lx_dtype(p) == TT_DTYPE_F64 ? 0x1p-1000 : 0x1p-120));
    V score = DIV(p, race), values, order;
    if (count == 1) {
      tt_lx_extreme_index(L, true, score, last, true, &values, &order);
      tt_l_return(L, order);
      return;
    }
    tt_lx_sort(L, score, last, true, true, &values, &order);
    tt_l_return(L, tt_lx_slice_dim(L, order, last, 0, count, 1));
    return;
  }
  V sums = tt_lx_cumulative(L, p, last, "sum", false);
  V u = tt_lx_random(L, "uniform", tt_lx_dtype(p), (size_t)rank, dims);
  V top = tt_lx_slice_dim(L, sums, last, n - 1, n, 1);
  V place = tt_lx_search_sorted(L, sums, MUL(u, tt_lx_broadcast_like(L, top, u)), true);
  tt_l_return(L, MIN(place, tt_lx_splat_i64(L, place, n - 1)));
}

TT_LOWERING(rrelu_with_noise) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  V wide = UP(x);
  double lower = tt_l_float(L, 2, 0.125), upper = tt_l_float(L, 3, 1.0 / 3);
  if (!tt_l_bool(L, 4, false)) {
    tt_l_return(
        L, CAST(SEL(LE(wide, K(wide, 0)), MUL(wide, K(wide, (lower + upper) / 2)), wide), tt_lx_dtype(x)));
    return;
  }
  V u = CAST(uniform_like(L, x, draw_dtype(tt_lx_dtype(x))), tt_lx_dtype(wide));
  V slope = ADD(MUL(u, K(u, upper - lower)), K(u, lower));
  V noise = SEL(LE(wide, K(wide, 0)), slope, K(slope, 1));
  tt_l_return(L, CAST(MUL(wide, noise), tt_lx_dtype(x)));
  tt_l_write(L, 1, 0, CAST(noise, tt_lx_dtype(x)));
}

// Knuth's product for small rates, the rounded normal with a continuity correction for large ones; both from
// a bounded number of words, so the offset advances by a known amount.
TT_LOWERING(poisson) {
  V rate = tt_l_tensor(L, 0);
  if (!require_float(L, rate, "poisson_cpu")) return;
  V lambda = UP(rate);
  tt_lx_check(L, GE(lambda, K(lambda, 0)), TT_INVALID_ARGUMENT,
              "invalid Poisson rate, expected rate to be non-negative");
  // inversion by sequential search, up to rate 16: the tail beyond 64 is under 1e-17
  V small = MIN(lambda, K(lambda, 16)), u = uniform_like(L, lambda, tt_lx_dtype(lambda));
  V term = EXP(NEG(small)), sum = term, count = K(u, 0);
  for (int k = 1; k <= 64; ++k) {
    count = ADD(count, CAST(GE(u, sum), tt_lx_dtype(u)));
    term = MUL(term, MUL(small, K(small, 1.0 / k)));
    sum = ADD(sum, term);
  }
  V z = normal_shape(L, lambda->type->rank, lambda->type->dims, tt_lx_dtype(lambda));
  // Cornish-Fisher: the skewness of order 1/sqrt(rate) is corrected
  V root = SQRT(lambda), z2 = MUL(z, z);
  V large = ADD(ADD(lambda, MUL(root, z)), MUL(SUB(z2, K(z, 1)), K(z, 1.0 / 6)));
  large = MAX(FLOOR(ADD(large, K(z, 0.5))), K(z, 0));
  tt_l_return(L, CAST(SEL(LE(lambda, K(lambda, 16)), count, large), tt_lx_dtype(rate)));
}

// ---- whole graphs ------------------------------------------------------------------------------
static tt_i64s_t like_sizes(tt_lower_t* L) {
  V x = tt_l_tensor(L, 0);
  return x ? (tt_i64s_t){x->type->dims, x->type->rank} : (tt_i64s_t){NULL, 0};
}
static void rand_of(tt_lower_t* L, tt_i64s_t sizes, tt_dtype_t dtype, bool normal) {
  V value = normal ? normal_shape(L, sizes.size, sizes.data, dtype)
                   : tt_lx_random(L, "uniform", draw_dtype(dtype), sizes.size, sizes.data);
  tt_l_return(L, CAST(value, dtype));
}
TT_LOWERING(rand) { rand_of(L, tt_l_ints(L, 0), tt_l_dtype(L, 1, TT_DTYPE_F32), false); }
TT_LOWERING(randn) { rand_of(L, tt_l_ints(L, 0), tt_l_dtype(L, 1, TT_DTYPE_F32), true); }
TT_LOWERING(rand_like) { rand_of(L, like_sizes(L), tt_l_dtype(L, 1, tt_lx_dtype(tt_l_tensor(L, 0))), false); }
TT_LOWERING(randn_like) { rand_of(L, like_sizes(L), tt_l_dtype(L, 1, tt_lx_dtype(tt_l_tensor(L, 0))), true); }
static void randint_of(tt_lower_t* L, int64_t low, int64_t high, tt_i64s_t sizes, tt_dtype_t dtype) {
  if (low >= high) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                    (long long)low, (long long)high);
    return;
  }
  tt_l_return(L, integers(L, sizes.size, sizes.data, low, (uint64_t)high - (uint64_t)low, dtype));
}
TT_LOWERING(randint) { randint_of(L, 0, tt_l_int(L, 0, 1), tt_l_ints(L, 1), tt_l_dtype(L, 2, TT_DTYPE_S64)); }
TT_LOWERING(randint_low) {
  randint_of(L, tt_l_int(L, 0, 0), tt_l_int(L, 1, 1), tt_l_ints(L, 2), tt_l_dtype(L, 3, TT_DTYPE_S64));
}
TT_LOWERING(randint_like) {
  randint_of(L, 0, tt_l_int(L, 1, 1), like_sizes(L), tt_l_dtype(L, 2, tt_lx_dtype(tt_l_tensor(L, 0))));
}
TT_LOWERING(randint_like_low) {
  randint_of(L, tt_l_int(L, 1, 0), tt_l_int(L, 2, 1), like_sizes(L),
             tt_l_dtype(L, 3, tt_lx_dtype(tt_l_tensor(L, 0))));
}
