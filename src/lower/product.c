// Matrix products: mm, bmm, addmm and their kin. 16-bit floats accumulate in f32 and round once at the end.
#include <stdio.h>

#include "lower/expr.h"

static void shape_text(const tt_value_t* v, char* out, size_t size) {
  size_t at = 0;
  out[0] = 0;
  for (uint32_t i = 0; v && i < v->type->rank && at < size; ++i) {
    at += (size_t)snprintf(out + at, size - at, "%s%lld", i ? "x" : "", (long long)v->type->dims[i]);
  }
}

static V fail_shapes(tt_lower_t* L, const char* first, const char* second, V a, V b) {
  char left[160], right[160];
  if (!a || !b) return NULL;
  shape_text(a, left, sizeof(left));
  shape_text(b, right, sizeof(right));
  return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s and %s shapes cannot be multiplied (%s and %s)",
                         first, second, left, right);
}

static V same_dtype(tt_lower_t* L, V a, V b) {
  if (!a || !b || tt_lx_dtype(a) == tt_lx_dtype(b)) return a;
  return tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                         "expected m1 and m2 to have the same dtype, but got: %s != %s",
                         tt_lx_torch_name(tt_lx_dtype(a)), tt_lx_torch_name(tt_lx_dtype(b)));
}

static V want_rank(tt_lower_t* L, V v, int64_t rank, const char* name) {
  if (!v || tt_lx_rank(v) == rank) return v;
  return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s must be a %lld-D tensor, got %lld-D", name,
                         (long long)rank, (long long)tt_lx_rank(v));
}

// a [.., M, K] x b [.., K, N] with equal batch dimensions, in `result` (INVALID: the operands' dtype). Booleans
// multiply as AND and add as OR, through u8.
static V matmul(tt_lower_t* L, V a, V b, tt_dtype_t result) {
  if (!a || !b) return NULL;
  tt_dtype_t dtype = tt_lx_dtype(a);
  if (dtype == TT_DTYPE_PRED) {
    V product = matmul(L, CAST(a, TT_DTYPE_S32), CAST(b, TT_DTYPE_S32), TT_DTYPE_INVALID);
    return product ? NE(product, K(product, 0)) : NULL;
  }
  if (result == TT_DTYPE_INVALID) result = dtype;
  int64_t rank = tt_lx_rank(a), batch[TT_MAX_RANK], last = rank - 1, before = rank - 2;
  for (int64_t i = 0; i < before; ++i) batch[i] = i;
  tt_dot_dims_t dims = {{batch, (size_t)before}, {batch, (size_t)before}, {&last, 1}, {&before, 1}};
  return tt_b_dot_general(L->b, a, b, &dims, result);
}

static V mm_checked(tt_lower_t* L, V a, V b, const char* first, const char* second, tt_dtype_t result) {
  a = same_dtype(L, a, b);
  if (!a || !b) return NULL;
  int64_t rank = tt_lx_rank(a);
  if (tt_lx_size(a, rank - 1) != tt_lx_size(b, rank - 2)) return fail_shapes(L, first, second, a, b);
  return matmul(L, a, b, result);
}

TT_LOWERING(mm) {
  V a = want_rank(L, tt_l_tensor(L, 0), 2, "self"), b = want_rank(L, tt_l_tensor(L, 1), 2, "mat2");
  tt_l_return(L, mm_checked(L, a, b, "mat1", "mat2", TT_DTYPE_INVALID));
}
TT_LOWERING(mm_dtype) {
  V a = want_rank(L, tt_l_tensor(L, 0), 2, "self"), b = want_rank(L, tt_l_tensor(L, 1), 2, "mat2");
  tt_l_return(L, mm_checked(L, a, b, "mat1", "mat2", tt_l_dtype(L, 2, TT_DTYPE_INVALID)));
}
TT_LOWERING(int_mm) {
  V a = want_rank(L, tt_l_tensor(L, 0), 2, "self"), b = want_rank(L, tt_l_tensor(L, 1), 2, "mat2");
  if (a && (tt_lx_dtype(a) != TT_DTYPE_S8 || tt_lx_dtype(b) != TT_DTYPE_S8)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Expected self and mat2 dtype to be int8, got %s and %s",
                    tt_lx_torch_name(tt_lx_dtype(a)), tt_lx_torch_name(tt_lx_dtype(b)));
  }
  tt_l_return(L, mm_checked(L, a, b, "mat1", "mat2", TT_DTYPE_S32));
}

static V bmm(tt_lower_t* L, V a, V b, tt_dtype_t result) {
  a = want_rank(L, a, 3, "batch1");
  b = want_rank(L, b, 3, "batch2");
  if (!a || !b) return NULL;
  if (tt_lx_size(a, 0) != tt_lx_size(b, 0) || tt_lx_size(a, 2) != tt_lx_size(b, 1)) {
    return tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
        (long long)tt_lx_size(a, 0), (long long)tt_lx_size(a, 2), (long long)tt_lx_size(b, 0),
        (long long)tt_lx_size(b, 1));
  }
  return mm_checked(L, a, b, "batch1", "batch2", result);
}
TT_LOWERING(bmm) { tt_l_return(L, bmm(L, tt_l_tensor(L, 0), tt_l_tensor(L, 1), TT_DTYPE_INVALID)); }
TT_LOWERING(bmm_dtype) {
  tt_l_return(L, bmm(L, tt_l_tensor(L, 0), tt_l_tensor(L, 1), tt_l_dtype(L, 2, TT_DTYPE_INVALID)));
}

// beta * self + alpha * product; beta 0 leaves self out (NaN in it does not show). The sum is done in the
// product's dtype, wider than the result's for 16-bit floats.
static V scale_add(tt_lower_t* L, V self, V product, uint32_t beta_arg, uint32_t alpha_arg,
                   tt_dtype_t result) {
  if (!self || !product) return NULL;
  tt_dtype_t wide = tt_lx_dtype(product);
  if (!tt_l_scalar_is(L, alpha_arg, 1)) product = MUL(product, tt_l_scalar_splat(L, alpha_arg, product));
  if (tt_l_scalar_is(L, beta_arg, 0)) return CAST(product, result);
  V base = CAST(self, wide);
  if (!tt_l_scalar_is(L, beta_arg, 1)) base = MUL(base, tt_l_scalar_splat(L, beta_arg, base));
  return CAST(ADD(tt_lx_broadcast_like(L, base, product), product), result);
}

// The result's shape is the product's: self must expand to it, and have the dtype of the factors.
static V check_expandable(tt_lower_t* L, V self, V product, V factor) {
  if (!self || !product) return NULL;
  if (factor && tt_lx_dtype(self) != tt_lx_dtype(factor)) {
    return tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                           "self and mat2 must have the same dtype, but got %s and %s",
                           tt_lx_torch_name(tt_lx_dtype(self)), tt_lx_torch_name(tt_lx_dtype(factor)));
  }
  int64_t extra = tt_lx_rank(product) - tt_lx_rank(self);
  bool ok = extra >= 0;
  for (int64_t i = 0; ok && i < tt_lx_rank(self); ++i)
    ok = tt_lx_size(self, i) == 1 || tt_lx_size(self, i) == tt_lx_size(product, i + extra);
  if (ok) return self;
  char have[160], want[160];
  shape_text(self, have, sizeof(have));
  shape_text(product, want, sizeof(want));
  return tt_builder_fail(
      L->b, TT_INVALID_ARGUMENT,
      "The expanded size of the tensor must match the existing size: self [%s], product [%s]", have, want);
}

TT_LOWERING(addmm) {
  V self = tt_l_tensor(L, 0), a = want_rank(L, tt_l_tensor(L, 1), 2, "mat1"),
    b = want_rank(L, tt_l_tensor(L, 2), 2, "mat2");
  tt_dtype_t dtype = tt_lx_dtype(a);
  V product = mm_checked(L, a, b, "mat1", "mat2", tt_l_accumulate(dtype));
  tt_l_return(L, scale_add(L, check_expandable(L, self, product, a), product, 3, 4, dtype));
}

TT_LOWERING(baddbmm) {
  V self = tt_l_tensor(L, 0), a = tt_l_tensor(L, 1);
  tt_dtype_t dtype = tt_lx_dtype(a);
  V product = bmm(L, a, tt_l_tensor(L, 2), tt_l_accumulate(dtype));
  tt_l_return(L, scale_add(L, check_expandable(L, self, product, a), product, 3, 4, dtype));
}

TT_LOWERING(addbmm) {
  V self = tt_l_tensor(L, 0), a = tt_l_tensor(L, 1),
    product = bmm(L, a, tt_l_tensor(L, 2), tt_l_accumulate(tt_lx_dtype(a)));
  int64_t first = 0;
  product = product ? tt_b_reduce(L->b, TT_OP_ADD, product, 1, &first, false) : NULL;
  tt_l_return(L, scale_add(L, check_expandable(L, self, product, a), product, 3, 4, tt_lx_dtype(a)));
}

// [M, K] x [K] -> [M]
static V mat_vec(tt_lower_t* L, V mat, V vec, tt_dtype_t result) {
  mat = same_dtype(L, want_rank(L, mat, 2, "mat"), vec);
  vec = want_rank(L, vec, 1, "vec");
  if (!mat || !vec) return NULL;
  if (tt_lx_size(mat, 1) != tt_lx_size(vec, 0)) {
    return tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                           "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                           (long long)tt_lx_size(mat, 0), (long long)tt_lx_size(mat, 0),
                           (long long)tt_lx_size(mat, 1), (long long)tt_lx_size(vec, 0));
  }
  return tt_lx_squeeze(L, matmul(L, mat, tt_lx_unsqueeze(L, vec, 1), result), 1);
}
TT_LOWERING(mv) { tt_l_return(L, mat_vec(L, tt_l_tensor(L, 0), tt_l_tensor(L, 1), TT_DTYPE_INVALID)); }
TT_LOWERING(addmv) {
  V self = tt_l_tensor(L, 0), mat = tt_l_tensor(L, 1);
  V product = mat_vec(L, mat, tt_l_tensor(L, 2), tt_l_accumulate(tt_lx_dtype(mat)));
  tt_l_return(L, scale_add(L, check_expandable(L, self, product, mat), product, 3, 4, tt_lx_dtype(mat)));
}

static void dot(tt_lower_t* L, bool conjugate) {
  V a = want_rank(L, tt_l_tensor(L, 0), 1, "1D tensors expected, but self"),
    b = want_rank(L, tt_l_tensor(L, 1), 1, "1D tensors expected, but tensor");
  if (a && b && tt_lx_dtype(a) != tt_lx_dtype(b)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "dot : expected both vectors to have same dtype, but found %s and %s",
                    tt_lx_torch_name(tt_lx_dtype(a)), tt_lx_torch_name(tt_lx_dtype(b)));
    return;
  }
  if (a && b && tt_lx_size(a, 0) != tt_lx_size(b, 0)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number "
                    "of elements, but got %lld and %lld elements respectively",
                    (long long)tt_lx_size(a, 0), (long long)tt_lx_size(b, 0), (long long)tt_lx_size(a, 0),
                    (long long)tt_lx_size(b, 0));
    return;
  }
  if (conjugate && a && tt_dtype_is_complex(tt_lx_dtype(a))) a = tt_b_unary(L->b, TT_OP_CHLO_CONJ, a);
  V product = matmul(L, tt_lx_unsqueeze(L, a, 0), tt_lx_unsqueeze(L, b, 1), TT_DTYPE_INVALID);
  tt_l_return(L, product ? tt_b_reshape(L->b, product, 0, NULL) : NULL);
}
TT_LOWERING(dot) { dot(L, false); }
TT_LOWERING(vdot) { dot(L, true); }

TT_LOWERING(addr) {
  V self = tt_l_tensor(L, 0), x = want_rank(L, tt_l_tensor(L, 1), 1, "vec1"),
    y = want_rank(L, tt_l_tensor(L, 2), 1, "vec2");
  static const uint32_t tensors[3] = {0, 1, 2};
  tt_dtype_t dtype = tt_l_result_type(L, 3, tensors);
  if (!x || !y) return;
  V values[2] = {tt_lx_unsqueeze(L, CAST(x, dtype), 1), tt_lx_unsqueeze(L, CAST(y, dtype), 0)};
  tt_lx_broadcast(L, 2, values, dtype);
  V product = dtype == TT_DTYPE_PRED ? AND(values[0], values[1]) : MUL(values[0], values[1]);
  if (dtype == TT_DTYPE_PRED) {
    V base = tt_l_scalar_is(L, 3, 0) ? K(product, 0) : tt_lx_broadcast_like(L, CAST(self, dtype), product);
    tt_l_return(L, OR(base, tt_l_scalar_is(L, 4, 0) ? K(product, 0) : product));
    return;
  }
  tt_l_return(L, scale_add(L, check_expandable(L, self, product, NULL), product, 3, 4, dtype));
}

// linear(input, weight, bias?) for graphs: input [.., K], weight [N, K].
TT_LOWERING(linear) {
  V x = tt_l_tensor(L, 0), w = tt_l_tensor(L, 1), bias = tt_l_tensor_or_null(L, 2);
  if (!x || !w) return;
  int64_t last = tt_lx_rank(x) - 1, one = tt_lx_rank(w) - 1;
  tt_dot_dims_t dims = {{NULL, 0}, {NULL, 0}, {&last, 1}, {&one, 1}};
  V product = tt_b_dot_general(L->b, x, w, &dims, tt_l_accumulate(tt_lx_dtype(x)));
  if (bias && product)
    product = ADD(product, tt_lx_broadcast_like(L, CAST(bias, tt_lx_dtype(product)), product));
  tt_l_return(L, product ? CAST(product, tt_lx_dtype(x)) : NULL);
}

TT_LOWERING(linalg_cross) {
  V values[2] = {tt_l_tensor(L, 0), tt_l_tensor(L, 1)};
  static const uint32_t tensors[2] = {0, 1};
  tt_lx_broadcast(L, 2, values, tt_l_result_type(L, 2, tensors));
  if (!values[0] || !values[1]) return;
  int64_t dim = tt_l_dim(L, tt_l_int(L, 2, -1), tt_lx_rank(values[0]));
  if (tt_lx_size(values[0], dim) != 3) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "linalg.cross: inputs dimension %lld must have length 3. Got %lld", (long long)dim,
                    (long long)tt_lx_size(values[0], dim));
    return;
  }
  V a[3], b[3], out[3];
  for (int64_t i = 0; i < 3; ++i) {
    a[i] = tt_lx_slice_dim(L, values[0], dim, i, i + 1, 1);
    b[i] = tt_lx_slice_dim(L, values[1], dim, i, i + 1, 1);
  }
  for (int i = 0; i < 3; ++i)
    out[i] = SUB(MUL(a[(i + 1) % 3], b[(i + 2) % 3]), MUL(a[(i + 2) % 3], b[(i + 1) % 3]));
  tt_l_return(L, tt_b_concatenate(L->b, 3, out, dim));
}
