// Packing and direct convolution for one element type and ISA. Included with
//   T, V (a vector of W lanes), NAME(x), V_ZERO(), V_LOAD(p), V_STORE(p, v), V_LOAD_PART(p, n), V_STORE_PART(p, n, v),
//   V_SET1(x), V_FMA(x, y, z), V_ADD(x, y), V_TRANSPOSE(r) (V r[W], in place), V_SUM(v) (T),
//   V_INDEX, V_INDICES(step), V_GATHER(p, index, n) (zeros past n), DIRECT_1 ... DIRECT_4 (vectors a row that
//   leave the sums of so many rows in registers).

static void NAME(pack_rows)(void* dst, int64_t nr, const void* src, const int64_t* k_offset, int64_t depth,
                            const tt_conv_run_t* runs, int64_t run_count) {
  T* d = dst;
  const T* x = src;
  if (run_count == 1 && runs->size == nr && nr == 2 * W) {
    x += runs->x;
    for (int64_t k = 0; k < depth; ++k, d += 2 * W) {
      const T* s = x + k_offset[k];
      V_STORE(d, V_LOAD(s));
      V_STORE(d + W, V_LOAD(s + W));
    }
    return;
  }
  const int64_t used = runs[run_count - 1].column + runs[run_count - 1].size;
  for (int64_t k = 0; k < depth; ++k, d += nr) {
    const T* s = x + k_offset[k];
    // whole vectors: what they write too far is written again by the next run or row
    for (int64_t r = 0; r < run_count; ++r) {
      const T* from = s + runs[r].x;
      T* to = d + runs[r].column;
      int64_t n = runs[r].size;
      for (; n >= W; n -= W, from += W, to += W) V_STORE(to, V_LOAD(from));
      if (n) V_STORE(to, V_LOAD_PART(from, n));
    }
    for (int64_t j = used; j < nr; ++j) d[j] = 0;
  }
}

static void NAME(pack_columns)(void* dst, int64_t nr, const void* src, const tt_conv_run_t* k_runs,
                               int64_t run_count, const int64_t* columns, int64_t count) {
  T* d = dst;
  const T* x = src;
  for (; run_count > 0; --run_count, ++k_runs) {
    const int64_t k = k_runs->column, run = k_runs->size;
    const T* s = x + k_runs->x;
    if (run < 3) {
      for (int64_t i = 0; i < run; ++i, ++s) {
        T* to = d + (k + i) * nr;
        int64_t j = 0;
        for (; j < count; ++j) to[j] = s[columns[j]];
        for (; j < nr; ++j) to[j] = 0;
      }
    } else {
      for (int64_t at = 0; at < run; at += W) {
        const int64_t steps = TT_MIN(run - at, (int64_t)W);
        for (int64_t j = 0; j < nr; j += W) {
          const int64_t rows = TT_MIN(count - j, (int64_t)W);
          T* to = d + (k + at) * nr + j;
          const T* from = s + at;
          const int64_t* c = columns + j;
          V r[W];
          if (rows == W && steps == W) {
            _Pragma("GCC unroll 16") for (int i = 0; i < W; ++i) r[i] = V_LOAD(from + c[i]);
          } else if (rows <= 0) {
            for (int64_t i = 0; i < steps; ++i) V_STORE(to + i * nr, V_ZERO());
            continue;
          } else {
            _Pragma("GCC unroll 16") for (int i = 0; i < W; ++i) r[i] =
                i < rows ? V_LOAD_PART(from + c[i], steps) : V_ZERO();
          }
          V_TRANSPOSE(r);
          if (steps == W) {
            _Pragma("GCC unroll 16") for (int i = 0; i < W; ++i) V_STORE(to + i * nr, r[i]);
          } else {
            _Pragma("GCC unroll 16") for (int i = 0; i < W; ++i) {
              if (i < steps) V_STORE(to + i * nr, r[i]);
            }
          }
        }
      }
    }
  }
}

static inline __attribute__((always_inline)) void NAME(direct_tile)(const int rows, const int vectors,
                                                                    const T* x, const int64_t* k_offset,
                                                                    int64_t depth, const T* w, T* y,
                                                                    int64_t y_rs, int64_t count,
                                                                    bool accumulate) {
  V acc[4][7];
  const int64_t last = count - (vectors - 1) * W;
  _Pragma("GCC unroll 4") for (int r = 0; r < rows; ++r) {
    _Pragma("GCC unroll 7") for (int v = 0; v < vectors; ++v) acc[r][v] = V_ZERO();
  }
  for (int64_t k = 0; k < depth; ++k, w += rows) {
    const T* s = x + k_offset[k];
    V c[4];
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; ++r) c[r] = V_SET1(w[r]);
    _Pragma("GCC unroll 7") for (int v = 0; v < vectors; ++v) {
      const V z = v == vectors - 1 ? V_LOAD_PART(s + v * W, last) : V_LOAD(s + v * W);
      _Pragma("GCC unroll 4") for (int r = 0; r < rows; ++r) acc[r][v] = V_FMA(c[r], z, acc[r][v]);
    }
  }
  _Pragma("GCC unroll 4") for (int r = 0; r < rows; ++r) {
    T* to = y + r * y_rs;
    _Pragma("GCC unroll 7") for (int v = 0; v < vectors - 1; ++v) {
      V_STORE(to + v * W, accumulate ? V_ADD(V_LOAD(to + v * W), acc[r][v]) : acc[r][v]);
    }
    to += (vectors - 1) * W;
    V_STORE_PART(to, last,
                 accumulate ? V_ADD(V_LOAD_PART(to, last), acc[r][vectors - 1]) : acc[r][vectors - 1]);
  }
}
#define DIRECT_CASE(r, v) \
  case v: NAME(direct_tile)(r, v, x, k_offset, depth, w, y, y_rs, n, accumulate); break;
#define DIRECT(r)                                                                                    \
  static void NAME(direct_##r)(const T* x, const int64_t* k_offset, int64_t depth, const T* w, T* y, \
                               int64_t y_rs, int64_t count, bool accumulate) {                       \
    /* equal parts rather than a short last one */                                                   \
    int64_t vectors = (count + W - 1) / W, parts = (vectors + DIRECT_##r - 1) / DIRECT_##r;          \
    int64_t each = (vectors + parts - 1) / parts;                                                    \
    for (int64_t at = 0; at < count; at += each * W, x += each * W, y += each * W) {                 \
      const int64_t n = TT_MIN(count - at, each * W);                                                \
      switch ((n + W - 1) / W) {                                                                     \
        DIRECT_CASE(r, 1)                                                                            \
        DIRECT_CASE(r, 2)                                                                            \
        DIRECT_CASE(r, 3)                                                                            \
        DIRECT_CASE(r, 4)                                                                            \
        DIRECT_CASE(r, 5)                                                                            \
        DIRECT_CASE(r, 6)                                                                            \
        DIRECT_CASE(r, 7)                                                                            \
      }                                                                                              \
    }                                                                                                \
  }
DIRECT(1)
DIRECT(2)
DIRECT(3)
DIRECT(4)
#undef DIRECT
#undef DIRECT_CASE
static void NAME(direct)(int64_t rows, const void* x, const int64_t* k_offset, int64_t depth, const void* w,
                         void* y, int64_t y_rs, int64_t count, bool accumulate) {
  switch (rows) {
    case 1: NAME(direct_1)(x, k_offset, depth, w, y, y_rs, count, accumulate); break;
    case 2: NAME(direct_2)(x, k_offset, depth, w, y, y_rs, count, accumulate); break;
    case 3: NAME(direct_3)(x, k_offset, depth, w, y, y_rs, count, accumulate); break;
    default: NAME(direct_4)(x, k_offset, depth, w, y, y_rs, count, accumulate);
  }
}

static inline __attribute__((always_inline)) void NAME(dots_tile)(const int n, const T* x,
                                                                  const tt_conv_run_t* run, int64_t run_count,
                                                                  const int64_t* columns, const T* w, T* y,
                                                                  bool accumulate) {
  V acc[6];
  const T* at[6];
  _Pragma("GCC unroll 6") for (int j = 0; j < n; ++j) {
    acc[j] = V_ZERO();
    at[j] = x + columns[j];
  }
  for (; run_count > 0; --run_count, ++run) {
    const T* c = w + run->column;
    int64_t s = run->x, left = run->size;
    for (; left >= W; left -= W, s += W, c += W) {
      const V z = V_LOAD(c);
      _Pragma("GCC unroll 6") for (int j = 0; j < n; ++j) acc[j] = V_FMA(z, V_LOAD(at[j] + s), acc[j]);
    }
    if (left) {
      const V z = V_LOAD_PART(c, left);
      _Pragma("GCC unroll 6") for (int j = 0; j < n; ++j) acc[j] =
          V_FMA(z, V_LOAD_PART(at[j] + s, left), acc[j]);
    }
  }
  _Pragma("GCC unroll 6") for (int j = 0; j < n; ++j) {
    const T sum = V_SUM(acc[j]);
    y[j] = accumulate ? y[j] + sum : sum;
  }
}
#define DOTS_CASE(n) \
  case n: NAME(dots_tile)(n, x, k_runs, run_count, columns, w, to, accumulate); break;
static void NAME(dots)(const void* x, const tt_conv_run_t* k_runs, int64_t run_count, const int64_t* columns,
                       int64_t count, const void* w, void* y, bool accumulate) {
  T* to = y;
  for (int64_t parts = (count + 5) / 6; parts > 0; --parts) {
    const int64_t n = (count + parts - 1) / parts;  // equal parts
    switch (n) {
      DOTS_CASE(1)
      DOTS_CASE(2)
      DOTS_CASE(3)
      DOTS_CASE(4)
      DOTS_CASE(5)
      DOTS_CASE(6)
    }
    columns += n;
    to += n;
    count -= n;
  }
}
#undef DOTS_CASE

static void NAME(pack_any)(void* dst, int64_t width, const void* src, int64_t ws, int64_t ks, int64_t count,
                           int64_t depth) {
  for (int64_t i = 0; i < width; i += W) {
    T* d = (T*)dst + i;
    const T* x = (const T*)src + i * ws;
    const int64_t lanes = TT_MIN(width - i, (int64_t)W), some = TT_MAX(TT_MIN(count - i, lanes), 0);
    const V_INDEX index = V_INDICES(ws);
    for (int64_t k = 0; k < depth; ++k, d += width, x += ks) V_STORE_PART(d, lanes, V_GATHER(x, index, some));
  }
}

static inline __attribute__((always_inline)) T* NAME(zero_row)(T* d, int64_t n) {
  for (; n >= W; n -= W, d += W) V_STORE(d, V_ZERO());
  if (n) V_STORE_PART(d, n, V_ZERO());
  return d + n;
}
static void NAME(add)(void* to, const void* from, int64_t n) {
  T* y = to;
  const T* x = from;
  for (; n >= W; n -= W, y += W, x += W) V_STORE(y, V_ADD(V_LOAD(y), V_LOAD(x)));
  if (n) V_STORE_PART(y, n, V_ADD(V_LOAD_PART(y, n), V_LOAD_PART(x, n)));
}
