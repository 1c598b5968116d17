// Packing and few-row products from one source type S, widened to T. Included with what gemm_kernel_impl.h
// takes, and
//   S, SOURCE(x) (names), S_LOAD(p), S_LOAD_PART(p, n) (V of T lanes; zeros past n), S_GET(p) (T), and
//   V_TRANSPOSE(r) (V r[W], in place), PREFETCH(p).

// Rows at[x * ls + 0..steps) of the first `lanes` x, transposed to out[step * W + x].
static __attribute__((noinline)) void SOURCE(edge_block)(const S* at, int64_t ls, int64_t lanes,
                                                         int64_t steps, T* out) {
  V r[W];
  _Pragma("GCC unroll 16") for (int64_t x = 0; x < W; ++x) r[x] =
      x < lanes ? S_LOAD_PART(at + x * ls, steps) : V_ZERO();
  V_TRANSPOSE(r);
  _Pragma("GCC unroll 16") for (int64_t x = 0; x < W; ++x) V_STORE(out + x * W, r[x]);
}

static inline __attribute__((always_inline)) void SOURCE(pack_rows)(T* d, int64_t width, const S* s,
                                                                    int64_t ks, int64_t count,
                                                                    int64_t depth) {
  const int64_t whole = count / W * W, part = count - whole;
  for (int64_t k = 0; k < depth; ++k, d += width, s += ks) {
    int64_t i = 0;
    for (; i < whole; i += W) V_STORE(d + i, S_LOAD(s + i));
    if (part) {
      const V v = S_LOAD_PART(s + i, part);
      if (i + W <= width) V_STORE(d + i, v);
      else V_STORE_PART(d + i, width - i, v);
      i += W;
    }
    for (; i < width; i += W) {
      if (i + W <= width) V_STORE(d + i, V_ZERO());
      else V_STORE_PART(d + i, width - i, V_ZERO());
    }
  }
}
static inline __attribute__((always_inline)) void SOURCE(pack_columns)(T* d, int64_t width, const S* s,
                                                                       int64_t ws, int64_t count,
                                                                       int64_t depth) {
  for (int64_t i = 0; i < width; i += W) {
    const int64_t rows = TT_MIN(count - i, (int64_t)W), lanes = TT_MIN(width - i, (int64_t)W);
    if (rows <= 0) {
      for (int64_t k = 0; k < depth; ++k) V_STORE_PART(d + k * width + i, lanes, V_ZERO());
      continue;
    }
    const S* at = s + i * ws;
    for (int64_t k = 0; k < depth; k += W) {
      const int64_t steps = TT_MIN(depth - k, (int64_t)W);
      T* out = d + k * width + i;
      if (TT_LIKELY((rows == W || rows == MR % W) && steps == W)) {  // the two heights in full panels
        V r[W];
        _Pragma("GCC unroll 16") for (int64_t x = 0; x < W; ++x) r[x] =
            x < MR % W || rows == W ? S_LOAD(at + x * ws + k) : V_ZERO();
        V_TRANSPOSE(r);
        if (lanes == W) {
          _Pragma("GCC unroll 16") for (int64_t x = 0; x < W; ++x) V_STORE(out + x * width, r[x]);
        } else {
          _Pragma("GCC unroll 16") for (int64_t x = 0; x < W; ++x) V_STORE_PART(out + x * width, lanes, r[x]);
        }
        continue;
      }
      T block[W * W];
      SOURCE(edge_block)(at + k, ws, rows, steps, block);
      for (int64_t x = 0; x < steps; ++x) V_STORE_PART(out + x * width, lanes, V_LOAD(block + x * W));
    }
  }
}
static void SOURCE(pack)(void* dst, int64_t width, const void* src, int64_t ws, int64_t ks, int64_t count,
                         int64_t depth) {
  T* d = dst;
  const S* s = src;
  if (width == 1) {
    int64_t k = 0;
    if (ks == 1) {
      for (; k + W <= depth; k += W) V_STORE(d + k, S_LOAD(s + k));
    }
    for (; k < depth; ++k) d[k] = S_GET(s + k * ks);
  } else if (ws == 1) {
    if (width == 2 * W && count == width) SOURCE(pack_rows)(d, 2 * W, s, ks, 2 * W, depth);
    else SOURCE(pack_rows)(d, width, s, ks, count, depth);
  } else if (ks == 1) {
    SOURCE(pack_columns)(d, width, s, ws, count, depth);
  } else {
    for (int64_t k = 0; k < depth; ++k, d += width) {
      int64_t i = 0;
      for (; i < count; ++i) d[i] = S_GET(s + i * ws + k * ks);
      for (; i < width; ++i) d[i] = 0;
    }
  }
}

// ---- products with few rows: L is read once and never packed ---------------------------------------
enum { SOURCE(kRows) = 8 };
static inline __attribute__((always_inline)) void SOURCE(few_pass)(const int f, const int depth, const T* few,
                                                                   const S* l, int64_t ls, int64_t n, T* acc,
                                                                   int64_t acc_stride, const bool ahead) {
  int64_t j = 0;
  for (; j + W <= n; j += W) {
    V x[SOURCE(kRows)];
    _Pragma("GCC unroll 8") for (int r = 0; r < depth; ++r) {
      x[r] = S_LOAD(l + r * ls + j);
      if (ahead) PREFETCH(l + (r + depth) * ls + j);
    }
    _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) {
      V sum = V_LOAD(acc + m * acc_stride + j);
      _Pragma("GCC unroll 8") for (int r = 0; r < depth; ++r) sum = V_FMA(V_SET1(few[r * f + m]), x[r], sum);
      V_STORE(acc + m * acc_stride + j, sum);
    }
  }
  if (j < n) {
    const int64_t part = n - j;
    for (int m = 0; m < f; ++m) {
      V sum = V_LOAD_PART(acc + m * acc_stride + j, part);
      for (int r = 0; r < depth; ++r)
        sum = V_FMA(V_SET1(few[r * f + m]), S_LOAD_PART(l + r * ls + j, part), sum);
      V_STORE_PART(acc + m * acc_stride + j, part, sum);
    }
  }
}
static inline __attribute__((always_inline)) void SOURCE(few_rows_of)(const int f, const T* few, const S* l,
                                                                      int64_t ls, int64_t depth, int64_t n,
                                                                      T* acc, int64_t acc_stride) {
  int64_t k = 0;
  for (; k + 2 * SOURCE(kRows) <= depth; k += SOURCE(kRows)) {
    SOURCE(few_pass)(f, SOURCE(kRows), few + k * f, l + k * ls, ls, n, acc, acc_stride, true);
  }
  for (; k + SOURCE(kRows) <= depth; k += SOURCE(kRows)) {
    SOURCE(few_pass)(f, SOURCE(kRows), few + k * f, l + k * ls, ls, n, acc, acc_stride, false);
  }
  for (; k < depth; ++k) SOURCE(few_pass)(f, 1, few + k * f, l + k * ls, ls, n, acc, acc_stride, false);
}
#define AHEAD_BYTES 32768
#ifndef COLUMN_BLOCK
// W columns over W of k: sum[m] += few[k, m] * L[k, columns], k in order.
#define COLUMN_BLOCK_STEPS W
#define COLUMN_BLOCK(at, few)                                    \
  V r[W];                                                        \
  _Pragma("GCC unroll 16") for (int64_t x = 0; x < W; ++x) {     \
    r[x] = S_LOAD((at) + x * ls);                                \
    PREFETCH((at) + x * ls + ahead);                             \
  }                                                              \
  V_TRANSPOSE(r);                                                \
  _Pragma("GCC unroll 16") for (int64_t x = 0; x < W; ++x) {     \
    _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) sum[m] = \
        V_FMA(V_SET1((few)[x * f + m]), r[x], sum[m]);           \
  }
#endif
static inline
    __attribute__((always_inline)) void SOURCE(few_columns_of)(const int f, const T* few, const S* l,
                                                               int64_t ls, int64_t depth, int64_t n, T* acc,
                                                               int64_t acc_stride, bool add) {
  // What is asked for ahead: the same place of the next W columns, so that short ones have no unasked beginnings,
  // or 512 bytes on in columns so long that the caches would lose it. SmolLM2's weights in bf16, from memory:
  // 8.2 -> 12.5 GB/s on one thread.
  const int64_t next = W * ls, ahead = next * (int64_t)sizeof(S) <= AHEAD_BYTES ? next : 512 / (int64_t)sizeof(S);
  for (int64_t j = 0; j < n; j += W) {
    const int64_t lanes = TT_MIN(n - j, (int64_t)W);
    V sum[TT_GEMM_MAX_FEW];
    _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) sum[m] = V_ZERO();
    const S* at = l + j * ls;
    int64_t k = 0;
    for (; lanes == W && k + COLUMN_BLOCK_STEPS <= depth; k += COLUMN_BLOCK_STEPS) {
      COLUMN_BLOCK(at + k, few + k * f)
    }
    for (; k < depth; k += W) {
      const int64_t steps = TT_MIN(depth - k, (int64_t)W);
      T block[W * W];
      SOURCE(edge_block)(at + k, ls, lanes, steps, block);
      for (int64_t x = 0; x < steps; ++x) {
        _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) {
          sum[m] = V_FMA(V_SET1(few[(k + x) * f + m]), V_LOAD(block + x * W), sum[m]);
        }
      }
    }
    _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) {
      T* out = acc + m * acc_stride + j;
      V_STORE_PART(out, lanes, add ? V_ADD(V_LOAD_PART(out, lanes), sum[m]) : sum[m]);
    }
  }
}
#define FEW_CASES(X) X(1) X(2) X(4) X(8)
#define FEW_ROWS(f) \
  case f: SOURCE(few_rows_of)(f, few, l, ls, depth, n, sum, sum_stride); break;
#define FEW_COLUMNS(f) \
  case f: SOURCE(few_columns_of)(f, few, l, ls, depth, n, acc, acc_stride, add); break;
static void SOURCE(few_rows)(int64_t f, const void* few, const void* l, int64_t ls, int64_t depth, int64_t n,
                             void* accs, int64_t acc_stride, bool add) {
  T own[TT_GEMM_STRIP], *acc = accs, *sum = add ? own : acc;
  const int64_t sum_stride = add ? n : acc_stride;
  for (int64_t m = 0; m < f; ++m) memset(sum + m * sum_stride, 0, (size_t)n * sizeof(T));
  switch (f) { FEW_CASES(FEW_ROWS) default : break; }
  if (!add) return;
  for (int64_t m = 0; m < f; ++m) {
    for (int64_t j = 0; j < n; ++j) acc[m * acc_stride + j] += sum[m * sum_stride + j];
  }
}
static void SOURCE(few_columns)(int64_t f, const void* few, const void* l, int64_t ls, int64_t depth,
                                int64_t n, void* acc, int64_t acc_stride, bool add) {
  switch (f) { FEW_CASES(FEW_COLUMNS) default : break; }
}
#undef FEW_CASES
#undef FEW_ROWS
#undef FEW_COLUMNS
#undef AHEAD_BYTES
#undef COLUMN_BLOCK
#undef COLUMN_BLOCK_STEPS
