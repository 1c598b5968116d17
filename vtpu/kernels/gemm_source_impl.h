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
#ifndef COLUMN_LOAD
// r[x]: the x-th of COLUMN_VECTORS adjacent k of W columns
#define COLUMN_VECTORS W
#define COLUMN_LOAD(r, at)                                                                \
  _Pragma("GCC unroll 16") for (int64_t x = 0; x < W; ++x)(r)[x] = S_LOAD((at) + x * ls); \
  V_TRANSPOSE(r);
#endif
#ifndef COLUMN_K
// What one vector holds: this many k, each from its EXTRACT.
#define COLUMN_K 1
#define COLUMN_EXTRACT(v, i) (v)
#endif
#ifndef COLUMN_PLACES
#define COLUMN_PLACES 1
#endif
// W columns over 64 bytes of k at each of `places` places at[p], whose sums do not depend on one another: a single
// chain of FMAs takes longer than its loads and shuffles. next[p]: what is asked for.
static inline __attribute__((always_inline)) void SOURCE(few_block)(const int f, const int places,
                                                                    const T* const* few, const S* const* at,
                                                                    const S* const* next, int64_t ls,
                                                                    V (*sum)[TT_GEMM_MAX_FEW]) {
  enum { kSteps = COLUMN_VECTORS * COLUMN_K, kBlocks = 64 / (int)sizeof(S) / kSteps, kAsked = W / kBlocks };
  _Pragma("GCC unroll 4") for (int y = 0; y < kBlocks; ++y) {
    V r[COLUMN_PLACES][COLUMN_VECTORS];
    _Pragma("GCC unroll 2") for (int p = 0; p < places; ++p) {
      COLUMN_LOAD(r[p], at[p] + y * kSteps)
      const S* ask = next[p] + y * kAsked * ls;
      _Pragma("GCC unroll 16") for (int x = 0; x < kAsked; ++x) PREFETCH(ask + x * ls);
    }
    _Pragma("GCC unroll 16") for (int x = 0; x < COLUMN_VECTORS; ++x) {
      _Pragma("GCC unroll 2") for (int i = 0; i < COLUMN_K; ++i) {
        _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) {
          _Pragma("GCC unroll 2") for (int p = 0; p < places; ++p) {
            sum[p][m] = V_FMA(V_SET1(few[p][(y * kSteps + x * COLUMN_K + i) * f + m]), COLUMN_EXTRACT(r[p][x], i),
                              sum[p][m]);
          }
        }
      }
    }
  }
}
static inline
    __attribute__((always_inline)) void SOURCE(few_columns_of)(const int f, const int places, const T* few,
                                                               const S* l, int64_t ls, int64_t depth,
                                                               int64_t part, int64_t n, T* acc,
                                                               int64_t acc_stride, bool add) {
  enum { kLine = 64 / sizeof(S) };
  for (int64_t j = 0; j < n; j += W) {
    const int64_t lanes = TT_MIN(n - j, (int64_t)W);
    const S* column = l + j * ls;
    for (int64_t k = 0; k < depth; k += places * part) {
      V sum[COLUMN_PLACES][TT_GEMM_MAX_FEW];
      // What is asked for: the same columns 512 bytes on, then what comes after this part of them. SmolLM2's weights
      // in bf16, from memory, on one thread: 8.2 -> 12.5 GB/s.
      const S *at[COLUMN_PLACES], *then[COLUMN_PLACES], *next[COLUMN_PLACES];
      const T* x[COLUMN_PLACES];
      int64_t size[COLUMN_PLACES], ahead[COLUMN_PLACES], shared = depth;
      _Pragma("GCC unroll 2") for (int p = 0; p < places; ++p) {
        const int64_t first = k + p * part, after = first + places * part;
        size[p] = TT_MAX(TT_MIN(depth - first, part), (int64_t)0);
        ahead[p] = TT_MIN(size[p], (int64_t)(8 * kLine));
        at[p] = column + first;
        then[p] = (after < depth ? column + after : column + W * ls + p * part) - size[p];
        x[p] = few + first * f;
        shared = TT_MIN(shared, size[p]);
        _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) sum[p][m] = V_ZERO();
      }
      int64_t done = 0;
      for (; places > 1 && lanes == W && done + kLine <= shared; done += kLine) {
        const S* here[COLUMN_PLACES];
        const T* xs[COLUMN_PLACES];
        _Pragma("GCC unroll 2") for (int p = 0; p < places; ++p) {
          here[p] = at[p] + done;
          xs[p] = x[p] + done * f;
          next[p] = (done + ahead[p] < size[p] ? here[p] : then[p] + done) + ahead[p];
        }
        SOURCE(few_block)(f, places, xs, here, next, ls, sum);
      }
      _Pragma("GCC unroll 2") for (int p = 0; p < places; ++p) {
        if (p > 0 && size[p] == 0) break;
        int64_t i = done;
        for (; lanes == W && i + kLine <= size[p]; i += kLine) {
          const S* here = at[p] + i;
          const T* xs = x[p] + i * f;
          next[p] = (i + ahead[p] < size[p] ? here : then[p] + i) + ahead[p];
          SOURCE(few_block)(f, 1, &xs, &here, next + p, ls, sum + p);
        }
        for (; i < size[p]; i += W) {
          const int64_t steps = TT_MIN(size[p] - i, (int64_t)W);
          T block[W * W];
          SOURCE(edge_block)(at[p] + i, ls, lanes, steps, block);
          for (int64_t y = 0; y < steps; ++y) {
            _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) {
              sum[p][m] = V_FMA(V_SET1(x[p][(i + y) * f + m]), V_LOAD(block + y * W), sum[p][m]);
            }
          }
        }
        _Pragma("GCC unroll 8") for (int m = 0; m < f; ++m) {
          T* out = acc + m * acc_stride + j;
          V_STORE_PART(out, lanes, add || k + p > 0 ? V_ADD(V_LOAD_PART(out, lanes), sum[p][m]) : sum[p][m]);
        }
      }
    }
  }
}
#define FEW_CASES(X) X(1) X(2) X(4) X(8)
#define FEW_ROWS(f) \
  case f: SOURCE(few_rows_of)(f, few, l, ls, depth, n, sum, sum_stride); break;
#define FEW_COLUMNS(f)                                                                                     \
  case f:                                                                                                  \
    if (f <= 4 && places > 1)                                                                              \
      SOURCE(few_columns_of)(f, COLUMN_PLACES, few, l, ls, depth, part, n, acc, acc_stride, add);          \
    else SOURCE(few_columns_of)(f, 1, few, l, ls, depth, part, n, acc, acc_stride, add);                   \
    break;
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
                                int64_t part, int64_t n, void* acc, int64_t acc_stride, bool add) {
  // Columns a multiple of 1 KB apart share sets of the first-level cache: more places would not fit there, and only
  // bf16, with two FMAs a vector, waits for its sums longer than for memory then.
  const int places = COLUMN_K == 1 && ls * (int64_t)sizeof(S) % 1024 == 0 ? 1 : COLUMN_PLACES;
  switch (f) { FEW_CASES(FEW_COLUMNS) default : break; }
}
#undef FEW_CASES
#undef FEW_ROWS
#undef FEW_COLUMNS
#undef COLUMN_PLACES
#undef COLUMN_VECTORS
#undef COLUMN_LOAD
#undef COLUMN_K
#undef COLUMN_EXTRACT
