// Bodies: strided access, random words, softmax, layer norm, scans.
#include <math.h>
#include <string.h>

#include "lower/expand.h"

static tt_lower_t* lower_of(tt_expand_t* e) { return e->L; }
static const tt_type_t* result_type(const tt_expand_t* e, uint32_t i) { return e->op->results[i].type; }

// ---- strided access ----------------------------------------------------------------------------
// 1-d view of v's bytes in elements of `dtype`.
static V flat_as(tt_lower_t* L, V v, tt_dtype_t dtype) {
  V flat = tt_lx_flatten(L, v);
  if (!flat || tt_lx_dtype(flat) == dtype) return flat;
  tt_dtype_t from = tt_lx_dtype(flat);
  if (from == TT_DTYPE_PRED) flat = tt_b_convert(L->b, flat, from = TT_DTYPE_U8);
  if (tt_dtype_is_complex(from)) {   // real and imaginary parts interleaved
    V parts[2] = {tt_lx_unsqueeze(L, REAL(flat), 1), tt_lx_unsqueeze(L, IMAG(flat), 1)};
    flat = tt_lx_flatten(L, tt_b_concatenate(L->b, 2, parts, 1));
    from = tt_dtype_real_part(from);
  }
  tt_dtype_t real = dtype == TT_DTYPE_PRED ? TT_DTYPE_U8 : tt_dtype_real_part(dtype);
  if (from != real && flat) {
    size_t have = tt_dtype_bytes(from), want = tt_dtype_bytes(real);
    if (want > have) {   // the trailing dimension is consumed
      int64_t ratio = (int64_t)(want / have), dims[2] = {tt_lx_size(flat, 0) / ratio, ratio};
      flat = tt_b_reshape(L->b, tt_lx_slice_dim(L, flat, 0, 0, dims[0] * ratio, 1), 2, dims);
    }
    flat = tt_lx_flatten(L, tt_b_bitcast(L->b, flat, real));
  }
  if (tt_dtype_is_complex(dtype) && flat) {
    int64_t dims[2] = {tt_lx_size(flat, 0) / 2, 2};
    V pairs = tt_b_reshape(L->b, flat, 2, dims);
    V re = tt_lx_flatten(L, tt_lx_slice_dim(L, pairs, 1, 0, 1, 1)),
      im = tt_lx_flatten(L, tt_lx_slice_dim(L, pairs, 1, 1, 2, 1));
    return tt_b_complex(L->b, re, im);
  }
  return dtype == TT_DTYPE_PRED ? CAST(flat, dtype) : flat;
}

// Row-major element numbers of a strided view, as the shape `like` in i64.
static V strided_index(tt_lower_t* L, size_t rank, const int64_t* sizes, const int64_t* strides,
                       int64_t offset) {
  const tt_type_t* type = tt_b_type(L->b, TT_DTYPE_S64, rank, sizes);
  if (!type) return NULL;
  V sum = tt_b_splat_i64(L->b, type, offset);
  for (size_t d = 0; d < rank; ++d) {
    if (strides[d] == 0 || sizes[d] == 1) continue;
    sum = ADD(sum, MUL(tt_b_iota(L->b, type, (int64_t)d), tt_b_splat_i64(L->b, type, strides[d])));
  }
  return sum;
}

// Views made by slicing, stepping, permuting and expanding need no gather: with strides in falling order,
// each a multiple of the next and wide enough for it, the view is flat[offset:] reshaped to (n0, s0/s1,
// s1/s2, ...) and cut.
static V nested_read(tt_lower_t* L, V flat, size_t rank, const int64_t* sizes, const int64_t* strides,
                     int64_t offset) {
  size_t order[TT_MAX_RANK], count = 0;
  for (size_t d = 0; d < rank; ++d) {
    if (sizes[d] == 1 || strides[d] == 0) continue;
    size_t at = count++;
    while (at > 0 && strides[order[at - 1]] < strides[d]) {
      order[at] = order[at - 1];
      --at;
    }
    order[at] = d;
  }
  int64_t dims[TT_MAX_RANK + 1], starts[TT_MAX_RANK + 1] = {0}, limits[TT_MAX_RANK + 1],
                                                      steps[TT_MAX_RANK + 1];
  if (count > TT_MAX_RANK - 1) return NULL;
  for (size_t i = 0; i < count; ++i) {
    int64_t stride = strides[order[i]];
    if (i + 1 < count) {
      int64_t inner = strides[order[i + 1]];
      if (stride % inner || inner * sizes[order[i + 1]] > stride) return NULL;
    }
    dims[i] = i == 0 ? sizes[order[0]] : strides[order[i - 1]] / stride;
    limits[i] = sizes[order[i]];
    steps[i] = 1;
  }
  int64_t last = count ? strides[order[count - 1]] : 1, total = count ? dims[0] * strides[order[0]] : 1;
  dims[count] = last;
  limits[count] = 1;
  steps[count] = 1;
  int64_t have = tt_lx_size(flat, 0), end = offset + total;
  V part = tt_lx_slice_dim(L, flat, 0, offset, TT_MIN(end, have), 1);
  if (end > have) {
    int64_t zero = 0, more = end - have;
    part = tt_b_pad(L->b, part, tt_b_scalar_f64(L->b, tt_lx_dtype(part), 0), &zero, &more, NULL);
  }
  V cut = tt_b_reshape(L->b, part, count + 1, dims);
  cut = tt_b_slice(L->b, cut, starts, limits, steps);
  int64_t kept[TT_MAX_RANK], places[TT_MAX_RANK];
  for (size_t i = 0; i < count; ++i) {
    kept[i] = sizes[order[i]];
    places[i] = (int64_t)order[i];
  }
  cut = tt_b_reshape(L->b, cut, count, kept);
  // broadcast_in_dim also permutes once its dimensions are in rising order
  int64_t permutation[TT_MAX_RANK];
  for (size_t i = 0; i < count; ++i) permutation[i] = (int64_t)i;
  for (size_t i = 1; i < count; ++i) {
    for (size_t k = i; k > 0 && places[permutation[k - 1]] > places[permutation[k]]; --k) {
      int64_t swap = permutation[k];
      permutation[k] = permutation[k - 1];
      permutation[k - 1] = swap;
    }
  }
  cut = tt_b_transpose(L->b, cut, permutation);
  int64_t sorted[TT_MAX_RANK];
  for (size_t i = 0; i < count; ++i) sorted[i] = places[permutation[i]];
  return tt_b_broadcast_in_dim(L->b, cut, rank, sizes, sorted);
}

void tt_expand_strided_read(tt_expand_t* e) {
  tt_lower_t* L = lower_of(e);
  const tt_type_t* type = result_type(e, 0);
  tt_i64s_t sizes = tt_expand_i64s(e, TT_ATTR_SIZES), strides = tt_expand_i64s(e, TT_ATTR_STRIDES);
  int64_t offset = tt_expand_int(e, TT_ATTR_OFFSET, 0);
  if (tt_type_elems(type) == 0) {
    e->out[0] = tt_b_splat_f64(L->b, type, 0);
    return;
  }
  V axes = tt_lx_dtype(e->in[0]) == type->dtype
               ? tt_expand_read_axes(L, e->in[0], sizes.size, sizes.data, strides.data, offset)
               : NULL;
  if (axes || !tt_builder_ok(L->b)) {
    e->out[0] = axes;
    return;
  }
  V flat = flat_as(L, e->in[0], type->dtype);
  V nested = flat ? nested_read(L, flat, sizes.size, sizes.data, strides.data, offset) : NULL;
  if (nested || !tt_builder_ok(L->b)) {
    e->out[0] = nested;
    return;
  }
  V index = strided_index(L, sizes.size, sizes.data, strides.data, offset);
  int64_t zero = 0, one = 1;
  tt_gather_dims_t dims = {.collapsed_slice_dims = {&zero, 1},
                           .start_index_map = {&zero, 1},
                           .index_vector_dim = (int64_t)sizes.size};
  e->out[0] = tt_b_gather(L->b, flat, tt_lx_unsqueeze(L, index, (int64_t)sizes.size), &dims, &one, false);
}

void tt_expand_strided_write(tt_expand_t* e) {
  tt_lower_t* L = lower_of(e);
  const tt_type_t* type = result_type(e, 0);
  V base = e->in[0], value = e->in[1];
  tt_i64s_t strides = tt_expand_i64s(e, TT_ATTR_STRIDES);
  int64_t offset = tt_expand_int(e, TT_ATTR_OFFSET, 0), zero = 0;
  if (tt_lx_numel(L, value) == 0) {
    e->out[0] = base;
    return;
  }
  V axes = tt_lx_dtype(base) == tt_lx_dtype(value)
               ? tt_expand_write_axes(L, base, value, strides.data, offset)
               : NULL;
  if (axes || !tt_builder_ok(L->b)) {
    e->out[0] = axes;
    return;
  }
  V flat = flat_as(L, base, tt_lx_dtype(value));
  V index = strided_index(L, value->type->rank, value->type->dims, strides.data, offset);
  index = tt_lx_unsqueeze(L, tt_lx_flatten(L, index), 1);
  tt_scatter_dims_t dims = {
      .inserted_window_dims = {&zero, 1}, .scatter_dims_to_operand_dims = {&zero, 1}, .index_vector_dim = 1};
  V written = tt_b_scatter(L->b, TT_OP_INVALID, flat, index, tt_lx_flatten(L, value), &dims, false, true);
  written = flat_as(L, written, type->dtype);
  if (written &&
      tt_lx_size(written, 0) != tt_type_elems(type)) {   // bytes behind the last whole element of the view
    V tail = tt_lx_slice_dim(L, tt_lx_flatten(L, base), 0, tt_lx_size(written, 0), tt_type_elems(type), 1);
    V parts[2] = {written, tail};
    written = tt_b_concatenate(L->b, 2, parts, 0);
  }
  e->out[0] = tt_b_reshape(L->b, written, type->rank, type->dims);
}

// ---- random words (design D11) -----------------------------------------------------------------
static V low_word(tt_lower_t* L, V wide) {
  return tt_b_convert(L->b, AND(wide, tt_lx_splat_i64(L, wide, 0xffffffff)), TT_DTYPE_U32);
}
static V high_word(tt_lower_t* L, V wide) {
  return tt_b_convert(L->b, TT_B2(SHIFT_RIGHT_LOGICAL, wide, tt_lx_splat_i64(L, wide, 32)), TT_DTYPE_U32);
}

// `blocks` x 4 words: Philox4x32-10 of the counters first, first + 1, ...
static V philox(tt_lower_t* L, V seed, V offset, int64_t blocks) {
  const tt_type_t* wide_type = tt_b_type(L->b, TT_DTYPE_U64, 1, &blocks);
  const tt_type_t* type = tt_b_type(L->b, TT_DTYPE_U32, 1, &blocks);
  if (!wide_type || !type) return NULL;
  V first = TT_B2(SHIFT_RIGHT_LOGICAL, offset, tt_b_scalar_i64(L->b, TT_DTYPE_U64, 2));
  V counter = ADD(tt_b_iota(L->b, wide_type, 0), tt_b_broadcast_to(L->b, first, 1, &blocks));
  V c0 = low_word(L, counter), c1 = high_word(L, counter), c2 = tt_b_splat_i64(L->b, type, 0), c3 = c2;
  V k0 = tt_b_broadcast_to(L->b, low_word(L, seed), 1, &blocks),
    k1 = tt_b_broadcast_to(L->b, high_word(L, seed), 1, &blocks);
  V m0 = tt_b_splat_i64(L->b, wide_type, 0xD2511F53), m1 = tt_b_splat_i64(L->b, wide_type, 0xCD9E8D57);
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      k0 = ADD(k0, tt_b_splat_i64(L->b, type, 0x9E3779B9));
      k1 = ADD(k1, tt_b_splat_i64(L->b, type, 0xBB67AE85));
    }
    V p0 = MUL(tt_b_convert(L->b, c0, TT_DTYPE_U64), m0), p1 = MUL(tt_b_convert(L->b, c2, TT_DTYPE_U64), m1);
    V n0 = XOR(XOR(high_word(L, p1), c1), k0), n1 = low_word(L, p1);
    V n2 = XOR(XOR(high_word(L, p0), c3), k1), n3 = low_word(L, p0);
    c0 = n0, c1 = n1, c2 = n2, c3 = n3;
  }
  V lanes[4] = {tt_lx_unsqueeze(L, c0, 1), tt_lx_unsqueeze(L, c1, 1), tt_lx_unsqueeze(L, c2, 1),
                tt_lx_unsqueeze(L, c3, 1)};
  return tt_b_concatenate(L->b, 4, lanes, 1);
}

// `count` words, from `first` in steps of `step`, 1-d.
static V every(tt_lower_t* L, V words, int64_t first, int64_t step, int64_t count) {
  return tt_lx_slice_dim(L, words, 0, first, first + (count - 1) * step + 1, step);
}
static V pair_of(tt_lower_t* L, V low, V high) {
  V wide = tt_b_convert(L->b, high, TT_DTYPE_U64);
  return OR(tt_b_convert(L->b, low, TT_DTYPE_U64), TT_B2(SHIFT_LEFT, wide, tt_lx_splat_i64(L, wide, 32)));
}
static V unit_f32(tt_lower_t* L, V word, int64_t add) {
  V top = TT_B2(SHIFT_RIGHT_LOGICAL, word, tt_lx_splat_i64(L, word, 8));
  if (add) top = ADD(top, tt_lx_splat_i64(L, top, add));
  V value = tt_b_convert(L->b, top, TT_DTYPE_F32);
  return MUL(value, K(value, 0x1p-24));
}
static V unit_f64(tt_lower_t* L, V pair, int64_t add) {
  V top = TT_B2(SHIFT_RIGHT_LOGICAL, pair, tt_lx_splat_i64(L, pair, 11));
  if (add) top = ADD(top, tt_lx_splat_i64(L, top, add));
  V value = tt_b_convert(L->b, top, TT_DTYPE_F64);
  return MUL(value, K(value, 0x1p-53));
}

void tt_expand_rng(tt_expand_t* e) {
  tt_lower_t* L = lower_of(e);
  const tt_type_t* type = result_type(e, 0);
  const char* kind = tt_expand_text(e, TT_ATTR_DISTRIBUTION);
  int64_t n = tt_type_elems(type);
  if (n <= 0) {
    e->out[0] =
        n == 0 ? tt_b_splat_f64(L->b, type, 0) : tt_builder_fail(L->b, TT_UNIMPLEMENTED, "a symbolic shape");
    return;
  }
  bool is_wide = tt_dtype_bytes(type->dtype) == 8, normal = !strcmp(kind, "normal");
  int64_t per_element = (is_wide ? 2 : 1) * (normal ? 2 : 1), words_count = n * per_element;
  V words = tt_lx_flatten(L, philox(L, e->in[0], e->in[1], (words_count + 3) / 4));
  V value;
  if (!strcmp(kind, "bits")) {
    value =
        is_wide ? pair_of(L, every(L, words, 0, 2, n), every(L, words, 1, 2, n)) : every(L, words, 0, 1, n);
    value = tt_b_convert(L->b, value, type->dtype);
  } else {
    V u, v = NULL;
    if (is_wide) {
      u = unit_f64(L, pair_of(L, every(L, words, 0, per_element, n), every(L, words, 1, per_element, n)),
                   normal);
      if (normal) v = unit_f64(L, pair_of(L, every(L, words, 2, 4, n), every(L, words, 3, 4, n)), 0);
    } else {
      u = unit_f32(L, every(L, words, 0, per_element, n), normal);
      if (normal) v = unit_f32(L, every(L, words, 1, 2, n), 0);
    }
    value = normal ? MUL(SQRT(MUL(K(u, -2), LOG(u))), COS(MUL(K(v, 2 * M_PI), v))) : u;
    value = tt_b_convert(L->b, value, type->dtype);
  }
  e->out[0] = tt_b_reshape(L->b, value, type->rank, type->dims);
}

// ---- softmax, layer norm -----------------------------------------------------------------------
void tt_expand_softmax(tt_expand_t* e) {
  tt_lower_t* L = lower_of(e);
  int64_t axis = tt_expand_int(e, TT_ATTR_AXIS, 0);
  tt_dtype_t dtype = tt_lx_dtype(e->in[0]);
  V x = UP(e->in[0]);
  V top = tt_b_reduce(L->b, TT_OP_MAXIMUM, x, 1, &axis, true);
  V shifted = SUB(x, tt_lx_broadcast_like(L, top, x)), powers = EXP(shifted);
  V total = tt_b_reduce(L->b, TT_OP_ADD, powers, 1, &axis, true);
  V result = tt_expand_bool(e, TT_ATTR_LOG) ? SUB(shifted, tt_lx_broadcast_like(L, LOG(total), x))
                                            : DIV(powers, tt_lx_broadcast_like(L, total, x));
  e->out[0] = CAST(result, dtype);
}

void tt_expand_softmax_backward(tt_expand_t* e) {
  tt_lower_t* L = lower_of(e);
  int64_t axis = tt_expand_int(e, TT_ATTR_AXIS, 0);
  tt_dtype_t dtype = e->op->results[0].type->dtype;
  V grad = UP(e->in[0]), output = UP(e->in[1]), result;
  if (tt_expand_bool(e, TT_ATTR_LOG)) {
    V total = tt_b_reduce(L->b, TT_OP_ADD, grad, 1, &axis, true);
    result = SUB(grad, MUL(EXP(output), tt_lx_broadcast_like(L, total, grad)));
  } else {
    V product = MUL(grad, output), total = tt_b_reduce(L->b, TT_OP_ADD, product, 1, &axis, true);
    result = MUL(output, SUB(grad, tt_lx_broadcast_like(L, total, grad)));
  }
  e->out[0] = CAST(result, dtype);
}

void tt_expand_layer_norm(tt_expand_t* e) {
  tt_lower_t* L = lower_of(e);
  V narrow = e->in[0], x = UP(narrow);
  if (!x) return;
  int64_t axis = tt_expand_int(e, TT_ATTR_AXIS, 0), dims[TT_MAX_RANK];
  size_t count = 0;
  double n = 1;
  for (int64_t d = axis; d < tt_lx_rank(x); ++d) {
    dims[count++] = d;
    n *= (double)tt_lx_static_size(L, x, d);
  }
  bool rms = tt_expand_bool(e, TT_ATTR_RMS);
  V mean = tt_b_reduce(L->b, TT_OP_ADD, x, count, dims, true);
  mean = DIV(mean, K(mean, n));
  V centred = rms ? x : SUB(x, tt_lx_broadcast_like(L, mean, x));
  V square = tt_b_reduce(L->b, TT_OP_ADD, MUL(centred, centred), count, dims, true);
  V rstd = RSQRT(ADD(DIV(square, K(square, n)), K(square, tt_expand_float(e, TT_ATTR_EPS, 1e-5))));
  V y = MUL(centred, tt_lx_broadcast_like(L, rstd, x));
  // weight and bias may come flattened
  V scale[2] = {NULL, NULL};
  uint32_t next = 1;
  if (tt_expand_bool(e, TT_ATTR_HAS_WEIGHT)) scale[0] = e->in[next++];
  if (tt_expand_bool(e, TT_ATTR_HAS_BIAS)) scale[1] = e->in[next++];
  for (int i = 0; i < 2; ++i) {
    if (!scale[i]) continue;
    V shaped = tt_b_reshape(L->b, CAST(scale[i], tt_lx_dtype(x)), count, x->type->dims + axis);
    shaped = tt_lx_broadcast_like(L, shaped, x);
    y = i == 0 ? MUL(y, shaped) : ADD(y, shaped);
  }
  e->out[0] = CAST(y, tt_lx_dtype(narrow));
  e->out[1] = mean;
  e->out[2] = rstd;
}

// ---- scans -------------------------------------------------------------------------------------
// log2(n) shifted combinations: exact for extrema, pairwise summation for sums.
void tt_expand_cumulative(tt_expand_t* e) {
  tt_lower_t* L = lower_of(e);
  V x = e->in[0];
  if (!x) return;
  tt_dtype_t dtype = tt_lx_dtype(x);
  int64_t axis = tt_expand_int(e, TT_ATTR_AXIS, 0), n = tt_lx_static_size(L, x, axis);
  bool reverse = tt_expand_bool(e, TT_ATTR_REVERSE);
  const char* op = tt_expand_text(e, TT_ATTR_OP);
  x = UP(x);
  tt_op_kind_t kind = !strcmp(op, "sum")    ? TT_OP_ADD
                      : !strcmp(op, "prod") ? TT_OP_MULTIPLY
                      : !strcmp(op, "max")  ? TT_OP_MAXIMUM
                      : !strcmp(op, "min")  ? TT_OP_MINIMUM
                                            : TT_OP_INVALID;
  V zero = tt_b_scalar_f64(L->b, tt_lx_dtype(x), 0), neutral;
  if (kind == TT_OP_INVALID) neutral = tt_b_scalar_f64(L->b, tt_lx_dtype(x), -INFINITY);
  else
    neutral = kind == TT_OP_ADD        ? zero
              : kind == TT_OP_MULTIPLY ? tt_b_scalar_f64(L->b, tt_lx_dtype(x), 1)
              : kind == TT_OP_MAXIMUM  ? tt_lx_splat_lowest(L, zero)
                                       : tt_lx_splat_max(L, zero);
  for (int64_t step = 1; step < n; step *= 2) {
    int64_t low[TT_MAX_RANK] = {0}, high[TT_MAX_RANK] = {0};
    (reverse ? high : low)[axis] = step;
    V kept = reverse ? tt_lx_slice_dim(L, x, axis, step, n, 1) : tt_lx_slice_dim(L, x, axis, 0, n - step, 1);
    V moved = tt_b_pad(L->b, kept, neutral, low, high, NULL);
    if (kind != TT_OP_INVALID) {
      x = tt_b_binary(L->b, kind, moved, x);
    } else {
      V top = MAX(x, moved), low_one = MIN(x, moved);
      V equal = EQ(x, moved);   // also both -inf
      V tail = LOG1P(EXP(SEL(equal, K(x, 0), SUB(low_one, top))));
      V infinite = EQ(ABS(top), K(top, INFINITY));
      x = SEL(infinite, top, ADD(top, tail));
    }
  }
  e->out[0] = CAST(x, dtype);
}
