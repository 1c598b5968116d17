// Joining, moving, padding, triangles, ranges, windows.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

// ---- joining and repeating ---------------------------------------------------------------------
static V join(tt_lower_t* L, size_t count, V* tensors, int64_t dim, tt_dtype_t dtype) {
  V kept[256];
  V* list = count <= 256 ? kept : tt_arena_alloc_array(L->scratch, count, sizeof *list);
  size_t n = 0;
  int64_t rank = 0;
  for (size_t i = 0; list && i < count; ++i) {
    V t = tensors[i];
    if (!t) continue;
    if (t->type->rank == 0) {
      return tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                             "zero-dimensional tensor (at position %zu) cannot be concatenated", i);
    }
    // PyTorch's legacy: a 1-d empty tensor joins anything
    if (t->type->rank == 1 && t->type->dims[0] == 0) continue;
    list[n++] = CAST(t, dtype);
    rank = tt_lx_rank(t);
  }
  if (n == 0) {
    if (count == 0)
      return tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "torch.cat(): expected a non-empty list of Tensors");
    return CAST(tensors[0], dtype);
  }
  dim = tt_l_dim(L, dim, rank);
  for (size_t i = 1; i < n && tt_builder_ok(L->b); ++i) {
    if (tt_lx_rank(list[i]) != rank) {
      return tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                             "Tensors must have same number of dimensions: got %lld and %lld",
                             (long long)rank, (long long)tt_lx_rank(list[i]));
    }
    for (int64_t d = 0; d < rank; ++d) {
      tt_dim_t a = tt_lx_size(list[0], d), c = tt_lx_size(list[i], d);
      if (d != dim && a != c && tt_dim_is_static(a) && tt_dim_is_static(c)) {
        return tt_builder_fail(
            L->b, TT_INVALID_ARGUMENT,
            "Sizes of tensors must match except in dimension %lld. Expected size %lld but got size %lld for "
            "tensor number %zu in the list.",
            (long long)dim, (long long)a, (long long)c, i);
      }
    }
  }
  return n == 1 ? list[0] : tt_b_concatenate(L->b, n, list, dim);
}

TT_LOWERING(cat) {
  size_t count;
  V* tensors = tt_l_tensors(L, 0, &count);
  uint32_t arg = 0;
  if (tensors) tt_l_return(L, join(L, count, tensors, tt_l_int(L, 1, 0), tt_l_result_type(L, 1, &arg)));
}

TT_LOWERING(stack) {
  size_t count;
  V* tensors = tt_l_tensors(L, 0, &count);
  uint32_t arg = 0;
  tt_dtype_t dtype = tt_l_result_type(L, 1, &arg);
  if (!tensors || count == 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "stack expects a non-empty TensorList");
    return;
  }
  int64_t rank = tt_lx_rank(tensors[0]), dim = tt_l_dim(L, tt_l_int(L, 1, 0), rank + 1);
  for (size_t i = 0; i < count; ++i) {
    if (tt_lx_rank(tensors[i]) != rank) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "stack expects each tensor to be equal size");
      return;
    }
    tensors[i] = tt_lx_unsqueeze(L, tensors[i], dim);
  }
  if (!tt_builder_ok(L->b)) return;
  // an extent of 0 must not be taken for the legacy empty tensor: ranks are at least 1 and equal here
  for (size_t i = 0; i < count; ++i) tensors[i] = CAST(tensors[i], dtype);
  tt_l_return(L, count == 1 ? tensors[0] : tt_b_concatenate(L->b, count, tensors, dim));
}

TT_LOWERING(repeat) {
  V x = tt_l_tensor(L, 0);
  tt_i64s_t repeats = tt_l_ints(L, 1);
  if (!x) return;
  int64_t rank = (int64_t)repeats.size, shift = rank - tt_lx_rank(x);
  if (shift < 0) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    return;
  }
  if (rank == 0) {
    tt_l_return(L, x);
    return;
  }
  // each dimension becomes (repeat, size): one broadcast and one reshape
  tt_dim_t wide[2 * TT_MAX_RANK], out[TT_MAX_RANK];
  int64_t places[TT_MAX_RANK];
  size_t k = 0;
  if (rank > TT_MAX_RANK / 2) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "more than %d dimensions", TT_MAX_RANK / 2);
    return;
  }
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = d < shift ? 1 : tt_lx_static_size(L, x, d - shift);
    if (repeats.data[d] < 0) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "Trying to create tensor with negative dimension %lld",
                      (long long)repeats.data[d]);
      return;
    }
    wide[k++] = repeats.data[d];
    if (d >= shift) places[d - shift] = (int64_t)k;
    wide[k++] = size;
    out[d] = repeats.data[d] * size;
  }
  tt_l_return(L, tt_b_reshape(L->b, tt_b_broadcast_in_dim(L->b, x, k, wide, places), (size_t)rank, out));
}

TT_LOWERING(flip) {
  V x = tt_l_tensor(L, 0);
  size_t count;
  int64_t dims[TT_MAX_RANK];
  tt_i64s_t list = tt_l_ints(L, 1);
  tt_lx_reduce_dims(L, list, tt_lx_rank(x), &count, dims);
  tt_l_return(L, list.size == 0 || tt_lx_rank(x) == 0 ? x : tt_b_reverse(L->b, x, count, dims));
}

static V roll_dim(tt_lower_t* L, V x, int64_t dim, int64_t shift) {
  int64_t n = tt_lx_static_size(L, x, dim);
  if (n == 0) return x;
  shift = ((shift % n) + n) % n;
  if (shift == 0) return x;
  V parts[2] = {tt_lx_slice_dim(L, x, dim, n - shift, n, 1), tt_lx_slice_dim(L, x, dim, 0, n - shift, 1)};
  return tt_b_concatenate(L->b, 2, parts, dim);
}
TT_LOWERING(roll) {
  V x = tt_l_tensor(L, 0);
  tt_i64s_t shifts = tt_l_ints(L, 1), dims = tt_l_ints(L, 2);
  if (!x) return;
  if (shifts.size == 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "`shifts` required");
  } else if (dims.size == 0 && shifts.size == 1) {
    V flat = roll_dim(L, tt_lx_flatten(L, x), 0, shifts.data[0]);
    tt_l_return(L, tt_b_reshape(L->b, flat, x->type->rank, x->type->dims));
  } else if (dims.size != shifts.size) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "shifts and dimensions must align. shifts: %zu, dims:%zu",
                    shifts.size, dims.size);
  } else {
    for (size_t i = 0; i < dims.size && x && x->type->rank; ++i)
      x = roll_dim(L, x, tt_l_dim(L, dims.data[i], tt_lx_rank(x)), shifts.data[i]);
    tt_l_return(L, x);
  }
}

// ---- triangles and ranges ----------------------------------------------------------------------
static void triangle(tt_lower_t* L, bool upper) {
  V x = tt_l_tensor(L, 0);
  int64_t rank = tt_lx_rank(x), diagonal = tt_l_int(L, 1, 0);
  if (rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s: input tensor must have at least 2 dimensions",
                    upper ? "triu" : "tril");
    return;
  }
  V row = tt_lx_iota(L, TT_DTYPE_S64, x, rank - 2), column = tt_lx_iota(L, TT_DTYPE_S64, x, rank - 1);
  V edge = ADD(row, tt_lx_splat_i64(L, row, diagonal));
  tt_l_return(L, SEL(upper ? GE(column, edge) : LE(column, edge), x, K(x, 0)));
}
TT_LOWERING(tril) { triangle(L, false); }
TT_LOWERING(triu) { triangle(L, true); }

static void triangle_indices(tt_lower_t* L, bool upper) {
  int64_t rows = tt_l_int(L, 0, 0), columns = tt_l_int(L, 1, 0), offset = tt_l_int(L, 2, 0);
  tt_dtype_t dtype = tt_l_dtype(L, 3, TT_DTYPE_S64);
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t edge = r + offset;
    count += upper ? columns - TT_MIN(TT_MAX(edge, 0), columns) : TT_MIN(TT_MAX(edge + 1, 0), columns);
  }
  if (count > (INT64_C(1) << 22)) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "%lld indices", (long long)count);
    return;
  }
  int64_t* data = tt_arena_alloc_array(L->scratch, (size_t)(2 * count + 1), sizeof *data);
  if (!data) {
    tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "no memory for %lld indices", (long long)count);
    return;
  }
  int64_t k = 0;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t edge = r + offset;
    int64_t first = upper ? TT_MIN(TT_MAX(edge, 0), columns) : 0;
    int64_t limit = upper ? columns : TT_MIN(TT_MAX(edge + 1, 0), columns);
    for (int64_t c = first; c < limit; ++c, ++k) data[k] = r, data[count + k] = c;
  }
  int64_t dims[2] = {2, count};
  tt_l_return(L, CAST(tt_b_constant(L->b, tt_b_type(L->b, TT_DTYPE_S64, 2, dims), data, false), dtype));
}
TT_LOWERING(tril_indices) { triangle_indices(L, false); }
TT_LOWERING(triu_indices) { triangle_indices(L, true); }

// Index 0 .. n-1 as 1-d of a float dtype wide enough for exact positions.
static tt_dtype_t range_dtype(const tt_lower_t* L) {
  return L->target->dtype_support[TT_DTYPE_F64] == TT_SUPPORT_NATIVE || L->target->is_vtpu ? TT_DTYPE_F64
                                                                                           : TT_DTYPE_F32;
}
static bool integral_scalar(const tt_lower_t* L, uint32_t arg) {
  return arg >= L->arg_count || L->args[arg].kind == TT_ARG_NONE || L->args[arg].kind == TT_ARG_INT ||
         L->args[arg].kind == TT_ARG_BOOL;
}

// start_arg or step_arg of 99: absent.
static void arange(tt_lower_t* L, uint32_t start_arg, uint32_t end_arg, uint32_t step_arg, uint32_t dtype_arg,
                   bool closed) {
  bool whole = integral_scalar(L, start_arg) && integral_scalar(L, end_arg) && integral_scalar(L, step_arg);
  tt_dtype_t dtype = tt_l_dtype(L, dtype_arg, tt_l_out_dtype(L, 0));
  if (dtype == TT_DTYPE_INVALID) dtype = whole && !closed ? TT_DTYPE_S64 : TT_DTYPE_F32;
  double start = tt_l_float(L, start_arg, 0), end = tt_l_float(L, end_arg, 0),
         step = tt_l_float(L, step_arg, 1);
  if (step == 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "step must be nonzero");
    return;
  }
  if (!isfinite(start) || !isfinite(end)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "unsupported range: %g -> %g", start, end);
    return;
  }
  if ((step > 0 && end < start) || (step < 0 && end > start)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "upper bound and lower bound inconsistent with step sign");
    return;
  }
  int64_t n;
  if (tt_dtype_is_integer(dtype) && !closed) {   // PyTorch truncates to the dtype first
    int64_t first = (int64_t)start, last = (int64_t)end, by = (int64_t)step;
    if (whole) {
      first = tt_l_int(L, start_arg, 0), last = tt_l_int(L, end_arg, 0), by = tt_l_int(L, step_arg, 1);
      int64_t sign = by > 0 ? 1 : -1;
      n = (last - first + by - sign) / by;
    } else {
      n = (int64_t)ceil((end - start) / step);
    }
    V index = tt_b_iota(L->b, tt_b_type(L->b, TT_DTYPE_S64, 1, &n), 0);
    V result = ADD(MUL(index, tt_lx_splat_i64(L, index, by)), tt_lx_splat_i64(L, index, first));
    tt_l_return(L, CAST(result, dtype));
    return;
  }
  n = closed ? (int64_t)floor((end - start) / step) + 1 : (int64_t)ceil((end - start) / step);
  if (start == floor(start) && step == floor(step) && fabs(start) < 0x1p53 && fabs(step) < 0x1p53) {
    V index = tt_b_iota(L->b, tt_b_type(L->b, TT_DTYPE_S64, 1, &n), 0);
    V result =
        ADD(MUL(index, tt_lx_splat_i64(L, index, (int64_t)step)), tt_lx_splat_i64(L, index, (int64_t)start));
    tt_l_return(L, CAST(result, dtype));
    return;
  }
  V index = tt_b_iota(L->b, tt_b_type(L->b, range_dtype(L), 1, &n), 0);
  tt_l_return(L, CAST(ADD(MUL(index, K(index, step)), K(index, start)), dtype));
}
TT_LOWERING(arange_out) { arange(L, 0, 1, 2, 99, false); }
TT_LOWERING(arange) { arange(L, 99, 0, 99, 1, false); }
TT_LOWERING(arange_start) { arange(L, 0, 1, 99, 2, false); }
TT_LOWERING(arange_step) { arange(L, 0, 1, 2, 3, false); }
TT_LOWERING(range_out) { arange(L, 0, 1, 2, 99, true); }
TT_LOWERING(range_step) { arange(L, 0, 1, 2, 3, true); }

TT_LOWERING(prims_iota) {
  int64_t n = tt_l_int(L, 0, 0), start = tt_l_int(L, 1, 0), step = tt_l_int(L, 2, 1);
  V index = tt_b_iota(L->b, tt_b_type(L->b, TT_DTYPE_S64, 1, &n), 0);
  V result = ADD(MUL(index, tt_lx_splat_i64(L, index, step)), tt_lx_splat_i64(L, index, start));
  tt_l_return(L, CAST(result, tt_l_dtype(L, 3, TT_DTYPE_S64)));
}

// Positions from both ends, as the CPU kernel: symmetric rounding.
static V line(tt_lower_t* L, int64_t n, double start, double end, tt_dtype_t work) {
  const tt_type_t* type = tt_b_type(L->b, work, 1, &n);
  if (!type) return NULL;
  if (n <= 1) return tt_b_splat_f64(L->b, type, start);
  double step = work == TT_DTYPE_F32 ? (double)(((float)end - (float)start) / (float)(n - 1))
                                     : (end - start) / (double)(n - 1);
  V index = tt_b_iota(L->b, type, 0), last = K(index, (double)(n - 1));
  V low = ADD(K(index, start), MUL(K(index, step), index));
  V high = SUB(K(index, end), MUL(K(index, step), SUB(last, index)));
  return SEL(LT(index, K(index, (double)(n / 2))), low, high);
}
static void linspace(tt_lower_t* L, bool powers, uint32_t dtype_arg) {
  int64_t n = tt_l_int(L, 2, 0);
  tt_dtype_t dtype = tt_l_dtype(L, dtype_arg, tt_l_out_dtype(L, 0));
  if (dtype == TT_DTYPE_INVALID) dtype = TT_DTYPE_F32;
  if (n < 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "number of steps must be non-negative");
    return;
  }
  tt_dtype_t work = dtype == TT_DTYPE_F32 || (tt_dtype_is_float(dtype) && tt_dtype_bytes(dtype) < 4)
                        ? TT_DTYPE_F32
                        : range_dtype(L);
  if (tt_dtype_is_complex(dtype)) {
    if (powers || L->args[0].kind == TT_ARG_COMPLEX || L->args[1].kind == TT_ARG_COMPLEX) {
      double re[2], im[2];
      for (int i = 0; i < 2; ++i) {
        re[i] = tt_l_float(L, (uint32_t)i, 0);
        im[i] = L->args[i].kind == TT_ARG_COMPLEX ? L->args[i].scalar.c[1] : 0;
      }
      tt_dtype_t part = tt_dtype_real_part(dtype);
      V z = tt_b_complex(L->b, line(L, n, re[0], re[1], part), line(L, n, im[0], im[1], part));
      if (powers) z = EXP(MUL(z, K(z, log(tt_l_float(L, 3, 10)))));
      tt_l_return(L, z);
      return;
    }
  }
  V result = line(L, n, tt_l_float(L, 0, 0), tt_l_float(L, 1, 0), work);
  if (powers) result = POW(K(result, tt_l_float(L, 3, 10)), result);
  tt_l_return(L, CAST(result, dtype));
}
TT_LOWERING(linspace) { linspace(L, false, 3); }
TT_LOWERING(logspace) { linspace(L, true, 4); }

static void eye(tt_lower_t* L, int64_t rows, int64_t columns, uint32_t dtype_arg) {
  tt_dtype_t dtype = tt_l_dtype(L, dtype_arg, tt_l_out_dtype(L, 0));
  if (dtype == TT_DTYPE_INVALID) dtype = TT_DTYPE_F32;
  if (rows < 0)
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "n must be greater or equal to 0, got %lld", (long long)rows);
  if (columns < 0)
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "m must be greater or equal to 0, got %lld",
                    (long long)columns);
  int64_t dims[2] = {rows, columns};
  const tt_type_t* type = tt_builder_ok(L->b) ? tt_b_type(L->b, TT_DTYPE_S64, 2, dims) : NULL;
  if (type) tt_l_return(L, CAST(EQ(tt_b_iota(L->b, type, 0), tt_b_iota(L->b, type, 1)), dtype));
}
TT_LOWERING(eye) { eye(L, tt_l_int(L, 0, 0), tt_l_int(L, 0, 0), 1); }
TT_LOWERING(eye_m) { eye(L, tt_l_int(L, 0, 0), tt_l_int(L, 1, 0), 2); }

// ---- padding -----------------------------------------------------------------------------------
TT_LOWERING(constant_pad_nd) {
  V x = tt_l_tensor(L, 0);
  tt_i64s_t pad = tt_l_ints(L, 1);
  if (!x) return;
  int64_t rank = tt_lx_rank(x), low[TT_MAX_RANK] = {0}, high[TT_MAX_RANK] = {0};
  if (pad.size % 2 || (int64_t)pad.size > 2 * rank) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    pad.size % 2 ? "Length of pad must be even but instead it equals %zu"
                                 : "Length of pad should be no more than twice the number of dimensions of "
                                   "the input. Pad length is "
                                   "%zu",
                    pad.size);
    return;
  }
  for (size_t i = 0; i < pad.size / 2; ++i) {
    int64_t d = rank - 1 - (int64_t)i;
    low[d] = pad.data[2 * i];
    high[d] = pad.data[2 * i + 1];
    int64_t size = tt_dim_is_static(x->type->dims[d]) ? x->type->dims[d] + low[d] + high[d] : 0;
    if (size < 0) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "The input size %lld, plus negative padding %lld and %lld resulted in a negative "
                      "output size, which is "
                      "invalid. Check dimension %lld of your input.",
                      (long long)x->type->dims[d], (long long)low[d], (long long)high[d], (long long)d);
      return;
    }
  }
  V value = tt_l_is_none(L, 2) ? tt_b_scalar_f64(L->b, tt_lx_dtype(x), 0) : tt_l_scalar(L, 2, tt_lx_dtype(x));
  tt_l_return(L, pad.size ? tt_b_pad(L->b, x, value, low, high, NULL) : x);
}

static V mirror_dim(tt_lower_t* L, V x, int64_t dim, int64_t low, int64_t high, bool reflect) {
  int64_t n = tt_lx_static_size(L, x, dim);
  V parts[3];
  size_t count = 0;
  int64_t first = low < 0 ? -low : 0, limit = high < 0 ? n + high : n;
  if (low > 0) {
    V edge = reflect ? tt_b_reverse(L->b, tt_lx_slice_dim(L, x, dim, 1, low + 1, 1), 1, &dim)
                     : tt_lx_slice_dim(L, x, dim, 0, 1, 1);
    if (!reflect && edge) {
      tt_dim_t dims[TT_MAX_RANK];
      memcpy(dims, edge->type->dims, edge->type->rank * sizeof *dims);
      dims[dim] = low;
      edge = tt_b_broadcast_to(L->b, edge, edge->type->rank, dims);
    }
    parts[count++] = edge;
  }
  parts[count++] = tt_lx_slice_dim(L, x, dim, first, limit, 1);
  if (high > 0) {
    V edge = reflect ? tt_b_reverse(L->b, tt_lx_slice_dim(L, x, dim, n - 1 - high, n - 1, 1), 1, &dim)
                     : tt_lx_slice_dim(L, x, dim, n - 1, n, 1);
    if (!reflect && edge) {
      tt_dim_t dims[TT_MAX_RANK];
      memcpy(dims, edge->type->dims, edge->type->rank * sizeof *dims);
      dims[dim] = high;
      edge = tt_b_broadcast_to(L->b, edge, edge->type->rank, dims);
    }
    parts[count++] = edge;
  }
  return count == 1 ? parts[0] : tt_b_concatenate(L->b, count, parts, dim);
}

// The gradient: the middle, plus what the edges copied.
static V mirror_dim_backward(tt_lower_t* L, V grad, int64_t dim, int64_t low, int64_t high, bool reflect,
                             int64_t n) {
  int64_t total = tt_lx_static_size(L, grad, dim);
  int64_t front = TT_MAX(low, 0), back = TT_MAX(high, 0);
  V sum = tt_lx_pad_dim(L, tt_lx_slice_dim(L, grad, dim, front, total - back, 1), dim, low < 0 ? -low : 0,
                        high < 0 ? -high : 0, 0);
  if (low > 0) {
    V edge = tt_lx_slice_dim(L, grad, dim, 0, low, 1);
    if (reflect) edge = tt_lx_pad_dim(L, tt_b_reverse(L->b, edge, 1, &dim), dim, 1, n - 1 - low, 0);
    else edge = tt_lx_pad_dim(L, tt_b_reduce(L->b, TT_OP_ADD, edge, 1, &dim, true), dim, 0, n - 1, 0);
    sum = ADD(sum, edge);
  }
  if (high > 0) {
    V edge = tt_lx_slice_dim(L, grad, dim, total - high, total, 1);
    if (reflect) edge = tt_lx_pad_dim(L, tt_b_reverse(L->b, edge, 1, &dim), dim, n - 1 - high, 1, 0);
    else edge = tt_lx_pad_dim(L, tt_b_reduce(L->b, TT_OP_ADD, edge, 1, &dim, true), dim, n - 1, 0, 0);
    sum = ADD(sum, edge);
  }
  return sum;
}

static bool check_mirror(tt_lower_t* L, V x, tt_i64s_t pad, bool reflect) {
  if (!x) return false;
  int64_t rank = tt_lx_rank(x), spatial = (int64_t)pad.size / 2;
  if (rank != spatial + 1 && rank != spatial + 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Expected %lldD or %lldD (batch mode) tensor with possibly 0 batch size and other "
                    "non-zero dimensions for input, but got rank %lld",
                    (long long)spatial + 1, (long long)spatial + 2, (long long)rank);
    return false;
  }
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t d = rank - 1 - i, n = tt_lx_static_size(L, x, d), low = pad.data[2 * i],
            high = pad.data[2 * i + 1];
    if (reflect && (low >= n || high >= n)) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "Argument #4: Padding size should be less than the corresponding input dimension, but "
                      "got: padding (%lld, "
                      "%lld) at dimension %lld of input %lld",
                      (long long)low, (long long)high, (long long)d, (long long)rank);
      return false;
    }
    if (n + low + high < 1) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "input (%lld) is too small. Calculated output: %lld at dimension %lld", (long long)n,
                      (long long)(n + low + high), (long long)d);
      return false;
    }
  }
  return true;
}
static void mirror_pad(tt_lower_t* L, bool reflect) {
  V x = tt_l_tensor(L, 0);
  tt_i64s_t pad = tt_l_ints(L, 1);
  if (!check_mirror(L, x, pad, reflect)) return;
  for (size_t i = 0; i < pad.size / 2 && x; ++i)
    x = mirror_dim(L, x, tt_lx_rank(x) - 1 - (int64_t)i, pad.data[2 * i], pad.data[2 * i + 1], reflect);
  tt_l_return(L, x);
}
TT_LOWERING(reflection_pad) { mirror_pad(L, true); }
TT_LOWERING(replication_pad) { mirror_pad(L, false); }

static void mirror_pad_backward(tt_lower_t* L, bool reflect) {
  V grad = tt_l_tensor(L, 0), x = tt_l_tensor(L, 1);
  tt_i64s_t pad = tt_l_ints(L, 2);
  if (!grad || !check_mirror(L, x, pad, reflect)) return;
  tt_dtype_t dtype = tt_lx_dtype(grad);
  grad = UP(grad);
  for (size_t i = pad.size / 2; i-- > 0 && grad;) {
    int64_t d = tt_lx_rank(grad) - 1 - (int64_t)i;
    grad = mirror_dim_backward(L, grad, d, pad.data[2 * i], pad.data[2 * i + 1], reflect,
                               tt_lx_static_size(L, x, d));
  }
  tt_l_return(L, CAST(grad, dtype));
}
TT_LOWERING(reflection_pad_backward) { mirror_pad_backward(L, true); }
TT_LOWERING(replication_pad_backward) { mirror_pad_backward(L, false); }

// ---- channels and windows ----------------------------------------------------------------------
TT_LOWERING(channel_shuffle) {
  V x = tt_l_tensor(L, 0);
  int64_t groups = tt_l_int(L, 1, 1), rank = tt_lx_rank(x);
  if (!x) return;
  if (rank < 3) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "channel_shuffle expects input with > 2 dims, but got input with rank %lld",
                    (long long)rank);
    return;
  }
  int64_t channels = tt_lx_static_size(L, x, 1);
  if (groups <= 0 || channels % groups) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    groups <= 0
                        ? "Number of groups to divide channels in must be positive. Value of groups:%lld"
                        : "Number of channels must be divisible by groups. Got groups %lld",
                    (long long)groups);
    return;
  }
  tt_dim_t split[TT_MAX_RANK + 1];
  int64_t permutation[TT_MAX_RANK + 1];
  split[0] = x->type->dims[0], split[1] = groups, split[2] = channels / groups;
  permutation[0] = 0, permutation[1] = 2, permutation[2] = 1;
  for (int64_t d = 2; d < rank; ++d) split[d + 1] = x->type->dims[d], permutation[d + 1] = d + 1;
  V wide = tt_b_reshape(L->b, x, (size_t)rank + 1, split);
  tt_l_return(L, tt_b_reshape(L->b, tt_b_transpose(L->b, wide, permutation), x->type->rank, x->type->dims));
}

typedef struct window_s {
  int64_t kernel[2], dilation[2], padding[2], stride[2], out[2];
} window_t;
static bool window_of(tt_lower_t* L, uint32_t first_arg, const int64_t* image, window_t* w) {
  int64_t* targets[4] = {w->kernel, w->dilation, w->padding, w->stride};
  for (uint32_t i = 0; i < 4; ++i) {
    tt_i64s_t list = tt_l_ints(L, first_arg + i);
    for (size_t k = 0; k < 2; ++k)
      targets[i][k] = list.size > k ? list.data[k] : list.size ? list.data[0] : (i == 2 ? 0 : 1);
  }
  for (int k = 0; k < 2; ++k) {
    if (w->kernel[k] <= 0 || w->dilation[k] <= 0 || w->stride[k] <= 0 || w->padding[k] < 0) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "kernel size, dilation and stride should be greater than zero");
      return false;
    }
    int64_t span = image[k] + 2 * w->padding[k] - w->dilation[k] * (w->kernel[k] - 1) - 1;
    w->out[k] = span < 0 ? 0 : span / w->stride[k] + 1;
    if (w->out[k] < 1) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "calculated shape of the array of sliding blocks must be at least one");
      return false;
    }
  }
  if (w->kernel[0] * w->kernel[1] > 1024) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "windows of more than 1024 elements");
    return false;
  }
  return true;
}

TT_LOWERING(im2col) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  bool batched = x->type->rank == 4;
  if (!batched) {
    if (x->type->rank != 3) {
      tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                      "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                      "dimensions for input");
      return;
    }
    x = tt_lx_unsqueeze(L, x, 0);
  }
  if (!x) return;
  int64_t batch = tt_lx_static_size(L, x, 0), channels = tt_lx_static_size(L, x, 1);
  int64_t image[2] = {tt_lx_static_size(L, x, 2), tt_lx_static_size(L, x, 3)};
  window_t w;
  if (!window_of(L, 1, image, &w)) return;
  V padded = tt_lx_pad_dim(L, tt_lx_pad_dim(L, x, 2, w.padding[0], w.padding[0], 0), 3, w.padding[1],
                           w.padding[1], 0);
  V parts[1024];
  size_t count = 0;
  for (int64_t i = 0; i < w.kernel[0]; ++i) {
    for (int64_t j = 0; j < w.kernel[1]; ++j) {
      int64_t top = i * w.dilation[0], left = j * w.dilation[1];
      V rows = tt_lx_slice_dim(L, padded, 2, top, top + (w.out[0] - 1) * w.stride[0] + 1, w.stride[0]);
      V cut = tt_lx_slice_dim(L, rows, 3, left, left + (w.out[1] - 1) * w.stride[1] + 1, w.stride[1]);
      parts[count++] = tt_lx_unsqueeze(L, cut, 2);
    }
  }
  V columns = count == 1 ? parts[0] : tt_b_concatenate(L->b, count, parts, 2);
  int64_t dims[3] = {batch, channels * (int64_t)count, w.out[0] * w.out[1]};
  V result = tt_b_reshape(L->b, columns, 3, dims);
  tt_l_return(L, batched ? result : tt_lx_squeeze(L, result, 0));
}

TT_LOWERING(col2im) {
  V x = tt_l_tensor(L, 0);
  if (!x) return;
  tt_i64s_t size = tt_l_ints(L, 1);
  bool batched = x->type->rank == 3;
  if (!batched) x = tt_lx_unsqueeze(L, x, 0);
  if (!x || size.size == 0) return;
  int64_t image[2] = {size.data[0], size.data[size.size > 1]};
  window_t w;
  if (!window_of(L, 2, image, &w)) return;
  int64_t batch = tt_lx_static_size(L, x, 0), taps = w.kernel[0] * w.kernel[1],
          rows = tt_lx_static_size(L, x, 1);
  if (rows % taps || tt_lx_static_size(L, x, 2) != w.out[0] * w.out[1]) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Expected size of input's dimension 1 to be divisible by the product of kernel_size and "
                    "dimension 2 to match the "
                    "number of sliding blocks %lld",
                    (long long)(w.out[0] * w.out[1]));
    return;
  }
  tt_dtype_t dtype = tt_lx_dtype(x);
  int64_t dims[5] = {batch, rows / taps, taps, w.out[0], w.out[1]},
          flat[4] = {batch, rows / taps, w.out[0], w.out[1]};
  V columns = tt_b_reshape(L->b, UP(x), 5, dims), sum = NULL;
  for (int64_t i = 0; i < w.kernel[0]; ++i) {
    for (int64_t j = 0; j < w.kernel[1]; ++j) {
      int64_t k = i * w.kernel[1] + j;
      V part = tt_b_reshape(L->b, tt_lx_slice_dim(L, columns, 2, k, k + 1, 1), 4, flat);
      for (int d = 0; d < 2; ++d) {
        int64_t first = (d ? j : i) * w.dilation[d] - w.padding[d],
                covered = (w.out[d] - 1) * w.stride[d] + 1;
        part = tt_lx_pad_dim(L, part, 2 + d, first, image[d] - first - covered, w.stride[d] - 1);
      }
      sum = sum ? ADD(sum, part) : part;
    }
  }
  V result = CAST(sum, dtype);
  tt_l_return(L, batched ? result : tt_lx_squeeze(L, result, 0));
}

TT_LOWERING(unfold_backward) {
  V grad = tt_l_tensor(L, 0);
  tt_i64s_t sizes = tt_l_ints(L, 1);
  if (!grad) return;
  int64_t rank = (int64_t)sizes.size, dim = tt_l_dim(L, tt_l_int(L, 2, 0), rank), size = tt_l_int(L, 3, 1),
          step = tt_l_int(L, 4, 1);
  tt_dtype_t dtype = tt_lx_dtype(grad);
  if (rank == 0) {
    tt_l_return(L, tt_b_reshape(L->b, grad, 0, NULL));
    return;
  }
  int64_t windows = tt_lx_static_size(L, grad, dim), total = windows * size;
  // [..., windows, ..., size] -> [windows, size, rest...] -> rows
  V moved = tt_lx_move_dim(L, tt_lx_move_dim(L, UP(grad), rank, 0), dim + 1, 0);
  tt_dim_t rows[TT_MAX_RANK], target[TT_MAX_RANK];
  rows[0] = total;
  target[0] = sizes.data[dim];
  for (int64_t d = 0, k = 1; d < rank; ++d) {
    if (d != dim) rows[k] = target[k] = sizes.data[d], ++k;
  }
  moved = tt_b_reshape(L->b, moved, (size_t)rank, rows);
  int64_t grid[2] = {windows, size};
  const tt_type_t* type = tt_b_type(L->b, TT_DTYPE_S64, 2, grid);
  if (!type || !moved) return;
  V window = tt_b_iota(L->b, type, 0), inside = tt_b_iota(L->b, type, 1);
  V index = tt_lx_flatten(L, ADD(MUL(window, tt_lx_splat_i64(L, window, step)), inside));
  V zeros = tt_lx_full(L, tt_lx_dtype(moved), (size_t)rank, target, 0);
  V result = tt_lx_scatter_rows(L, TT_OP_ADD, zeros, index, moved, step >= size);
  tt_l_return(L, CAST(tt_lx_move_dim(L, result, 0, dim), dtype));
}
