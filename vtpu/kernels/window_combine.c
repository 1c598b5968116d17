#include "kernels/window.h"

#pragma GCC optimize("O3")

tt_dtype_t tt_k_combiner_dtype(tt_k_combine_t mode, tt_op_kind_t kind, tt_dtype_t dtype) {
  bool sum = mode == TT_K_COMBINE_BINARY && (kind == TT_OP_ADD || kind == TT_OP_MULTIPLY);
  return sum && tt_dtype_is_float(dtype) && tt_dtype_bytes(dtype) < 4 ? TT_DTYPE_F32 : dtype;
}
void tt_k_combiner_initialize(tt_k_combiner_t* c, const tt_k_env_t* env, size_t region, tt_k_combine_t mode,
                              tt_op_kind_t kind, size_t count, const tt_k_tensor_t* operands) {
  *c = (tt_k_combiner_t){.env = env, .region = region, .mode = mode, .kind = kind, .count = count};
  for (size_t k = 0; k < count; ++k) {
    c->dtype[k] = operands[k].dtype;
    c->acc_dtype[k] = tt_k_combiner_dtype(mode, kind, operands[k].dtype);
    c->bytes[k] = tt_dtype_bytes(c->dtype[k]);
    c->acc_bytes[k] = tt_dtype_bytes(c->acc_dtype[k]);
  }
  if (mode != TT_K_COMBINE_BINARY) return;
  c->fn = tt_k_binary(kind, c->acc_dtype[0]);
  c->convert = c->dtype[0] != c->acc_dtype[0];
  if (c->convert) {
    c->widen = tt_k_convert(c->dtype[0], c->acc_dtype[0]);
    c->narrow = tt_k_convert(c->acc_dtype[0], c->dtype[0]);
  }
}
size_t tt_k_combiner_scratch(const tt_k_env_t* env, size_t count) {
  return tt_align_up(env->region_scratch_bytes, 64) + 3 * count * TT_K_LANES * 16;
}

static void combine_region(const tt_k_combiner_t* c, char* scratch, char* const* acc, int64_t acc_stride,
                           const char* const* x, int64_t x_stride, int64_t n) {
  void *args[2 * TT_K_MAX_OPERANDS], *results[TT_K_MAX_OPERANDS];
  size_t bytes[2 * TT_K_MAX_OPERANDS];
  char* buffers = scratch + tt_align_up(c->env->region_scratch_bytes, 64);
  for (size_t k = 0; k < c->count; ++k) {
    bytes[k] = bytes[c->count + k] = c->bytes[k];
    results[k] = buffers + (2 * c->count + k) * TT_K_LANES * 16;
  }
  for (int64_t i = 0; i < n; i += TT_K_LANES) {
    int64_t m = TT_MIN(TT_K_LANES, n - i);
    for (size_t k = 0; k < c->count; ++k) {
      int64_t eb = (int64_t)c->bytes[k];
      char* a = acc[k] + i * acc_stride * eb;
      const char* b = x[k] + i * x_stride * eb;
      args[k] = a;
      args[c->count + k] = (char*)b;
      if (acc_stride != 1) {
        args[k] = buffers + k * TT_K_LANES * 16;
        tt_k_gather_strided(args[k], a, acc_stride, (size_t)eb, (size_t)m);
      }
      if (x_stride != 1) {
        args[c->count + k] = buffers + (c->count + k) * TT_K_LANES * 16;
        tt_k_gather_strided(args[c->count + k], b, x_stride, (size_t)eb, (size_t)m);
      }
    }
    tt_k_region_run(c->env, c->region, scratch, args, bytes, 2 * c->count, results, bytes, c->count, m);
    for (size_t k = 0; k < c->count; ++k) {
      char* a = acc[k] + i * acc_stride * (int64_t)c->bytes[k];
      if (acc_stride == 1) memcpy(a, results[k], (size_t)m * c->bytes[k]);
      else tt_k_scatter_strided(a, acc_stride, results[k], c->bytes[k], (size_t)m);
    }
  }
}

// Of two equal numbers: +0 before -0.
static inline float both(float a, float b) {
  uint32_t x, y;
  memcpy(&x, &a, 4);
  memcpy(&y, &b, 4);
  x &= y;
  memcpy(&a, &x, 4);
  return a;
}
// Strided f32 without gathering: pooling rows are short. NaN wins, as in the lane kernels.
#define STRIDED(EXPRESSION)                            \
  for (int64_t i = 0; i < n; ++i) {                    \
    float a = acc[i * as], b = x[i * xs];              \
    acc[i * as] = (EXPRESSION);                        \
  }                                                    \
  return true
static bool combine_f32(tt_op_kind_t kind, float* acc, int64_t as, const float* x, int64_t xs, int64_t n) {
  switch (kind) {
    case TT_OP_ADD: STRIDED(a + b);
    case TT_OP_MAXIMUM: STRIDED(a == b ? both(a, b) : a > b || a != a ? a : b);
    case TT_OP_MINIMUM: STRIDED(a == b ? -both(-a, -b) : a < b || a != a ? a : b);
    default: return false;
  }
}

void tt_k_combine(const tt_k_combiner_t* c, char* scratch, char* const* acc, int64_t acc_stride, const char* const* x,
                  int64_t x_stride, int64_t n) {
  if (c->mode == TT_K_COMBINE_REGION) {
    combine_region(c, scratch, acc, acc_stride, x, x_stride, n);
    return;
  }
  if (c->mode == TT_K_COMBINE_SECOND) {
    for (size_t k = 0; k < c->count; ++k) {
      tt_k_copy_t copy = {.element_bytes = c->bytes[k], .rank = 1, .dims = {n}, .dst = {acc_stride}, .src = {x_stride}};
      tt_k_copy(NULL, copy, acc[k], x[k]);
    }
    return;
  }
  int64_t eb = (int64_t)c->bytes[0], ab = (int64_t)c->acc_bytes[0];
  if (acc_stride == 1 && x_stride == 1 && !c->convert) {
    c->fn(acc[0], acc[0], x[0], (size_t)n);
    return;
  }
  if (c->dtype[0] == TT_DTYPE_F32 && combine_f32(c->kind, (float*)acc[0], acc_stride, (const float*)x[0], x_stride, n)) return;
  TT_ALIGNED(64) char a[TT_K_LANES * 16], b[TT_K_LANES * 16], wide[TT_K_LANES * 4];
  for (int64_t i = 0; i < n; i += TT_K_LANES) {
    size_t m = (size_t)TT_MIN(TT_K_LANES, n - i);
    const void* in = x[0] + i * x_stride * eb;
    char* at = acc[0] + i * acc_stride * ab;
    if (x_stride != 1) {
      tt_k_gather_strided(b, in, x_stride, (size_t)eb, m);
      in = b;
    }
    if (c->convert) {
      c->widen(wide, in, m);
      in = wide;
    }
    if (acc_stride == 1) {
      c->fn(at, at, in, m);
    } else {
      tt_k_gather_strided(a, at, acc_stride, (size_t)ab, m);
      c->fn(a, a, in, m);
      tt_k_scatter_strided(at, acc_stride, a, (size_t)ab, m);
    }
  }
}
