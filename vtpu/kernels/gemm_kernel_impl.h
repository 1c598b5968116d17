// The register-tiled kernel for one element type and ISA. Included with
//   T, V (a vector of W lanes), MR, NAME(x), V_ZERO(), V_LOAD(p), V_STORE(p, v), V_LOAD_PART(p, n),
//   V_STORE_PART(p, n, v), V_SET1(x), V_FMA(x, y, z), V_ADD(x, y), PREFETCH(p), and PREFETCH_STEPS: how many
//   steps of k ahead A and B are asked for, 0: not at all. Two vectors a row: NR = 2 W.
// Every accumulator is one chain of FMAs over k; see gemm.h.

#ifndef TT_GEMM_STEPS_A_ROW
#define TT_GEMM_STEPS_A_ROW
enum { kStepsARow = 16 };
#endif

static inline __attribute__((always_inline)) void NAME(finish)(V (*acc)[2], T* c, int64_t c_rs,
                                                               const int rows, const int vectors,
                                                               int64_t cols, bool accumulate) {
  const int64_t last = cols - (vectors - 1) * W;
  if (last == W) {
    _Pragma("GCC unroll 16") for (int i = 0; i < rows; ++i) {
      _Pragma("GCC unroll 2") for (int j = 0; j < vectors; ++j) {
        T* at = c + i * c_rs + j * W;
        V_STORE(at, accumulate ? V_ADD(V_LOAD(at), acc[i][j]) : acc[i][j]);
      }
    }
    return;
  }
  _Pragma("GCC unroll 16") for (int i = 0; i < rows; ++i) {
    T* at = c + i * c_rs;
    if (vectors == 2) V_STORE(at, accumulate ? V_ADD(V_LOAD(at), acc[i][0]) : acc[i][0]);
    at += (vectors - 1) * W;
    V_STORE_PART(at, last,
                 accumulate ? V_ADD(V_LOAD_PART(at, last), acc[i][vectors - 1]) : acc[i][vectors - 1]);
  }
}

// `k` steps; a and b move on.
static inline __attribute__((always_inline)) void NAME(steps)(V (*acc)[2], int64_t k, const T** a_at,
                                                              int64_t a_rs, int64_t a_cs, const T** b_at,
                                                              int64_t b_rs, const int rows,
                                                              const int vectors, int64_t last,
                                                              const bool part) {
  const T *a = *a_at, *b = *b_at;
  // rows past the seventh from a second base, so that row addresses need few registers
  const T* a7 = a + 7 * a_rs;
  _Pragma("GCC unroll 2") for (; k > 0; --k) {  // one step a turn lets the counters take FMA slots
    V x[2];
    x[0] = vectors == 1 && part ? V_LOAD_PART(b, last) : V_LOAD(b);
    if (vectors == 2) x[1] = part ? V_LOAD_PART(b + W, last) : V_LOAD(b + W);
    if (PREFETCH_STEPS > 0 && !part) {
      PREFETCH(a + PREFETCH_STEPS * a_cs);
      PREFETCH(b + PREFETCH_STEPS * b_rs);
      if (vectors == 2) PREFETCH(b + PREFETCH_STEPS * b_rs + W);
    }
    _Pragma("GCC unroll 16") for (int i = 0; i < rows; ++i) {
      const V y = V_SET1(i < 7 ? a[i * a_rs] : a7[(i - 7) * a_rs]);
      _Pragma("GCC unroll 2") for (int j = 0; j < vectors; ++j) acc[i][j] = V_FMA(y, x[j], acc[i][j]);
    }
    a += a_cs;
    a7 += a_cs;
    b += b_rs;
  }
  *a_at = a;
  *b_at = b;
}

static inline __attribute__((always_inline)) void NAME(tile)(int64_t k, const T* a, int64_t a_rs,
                                                             int64_t a_cs, const T* b, int64_t b_rs, T* c,
                                                             int64_t c_rs, const int rows, const int vectors,
                                                             int64_t cols, bool accumulate, const bool part) {
  V acc[MR][2];
  const int64_t last = cols - (vectors - 1) * W;
  _Pragma("GCC unroll 16") for (int i = 0; i < rows; ++i) {
    _Pragma("GCC unroll 2") for (int j = 0; j < vectors; ++j) acc[i][j] = V_ZERO();
  }
  // C's rows are asked for one by one while sums are built: all at once hold up B's lines
  for (int i = 0; i < rows && k > 0; ++i, k -= kStepsARow) {
    __builtin_prefetch(c + i * c_rs, 1);
    if (vectors == 2) __builtin_prefetch(c + i * c_rs + W, 1);
    NAME(steps)(acc, TT_MIN(k, (int64_t)kStepsARow), &a, a_rs, a_cs, &b, b_rs, rows, vectors, last, part);
  }
  NAME(steps)(acc, k, &a, a_rs, a_cs, &b, b_rs, rows, vectors, last, part);
  NAME(finish)(acc, c, c_rs, rows, vectors, cols, accumulate);
}

// One function a number of rows and vectors, packed and strided.
typedef void (*NAME(packed_fn))(int64_t k, const T* a, const T* b, T* c, int64_t c_rs, int64_t cols,
                                bool accumulate);
typedef void (*NAME(strided_fn))(int64_t k, const T* a, int64_t a_rs, int64_t a_cs, const T* b, int64_t b_rs,
                                 T* c, int64_t c_rs, int64_t cols, bool accumulate);
#define TILE(r, v)                                                                                        \
  static void NAME(packed_##r##_##v)(int64_t k, const T* a, const T* b, T* c, int64_t c_rs, int64_t cols, \
                                     bool accumulate) {                                                   \
    NAME(tile)(k, a, 1, MR, b, 2 * W, c, c_rs, r, v, cols, accumulate, false);                            \
  }                                                                                                       \
  static void NAME(strided_##r##_##v)(int64_t k, const T* a, int64_t a_rs, int64_t a_cs, const T* b,      \
                                      int64_t b_rs, T* c, int64_t c_rs, int64_t cols, bool accumulate) {  \
    if (cols == v * W) NAME(tile)(k, a, a_rs, a_cs, b, b_rs, c, c_rs, r, v, cols, accumulate, false);     \
    else NAME(tile)(k, a, a_rs, a_cs, b, b_rs, c, c_rs, r, v, cols, accumulate, true);                    \
  }
#if MR == 14
#define TILE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
#define TILE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif
#define TILE_PAIR(r) TILE(r, 1) TILE(r, 2)
TILE_ROWS(TILE_PAIR)
#define PACKED_ENTRY(r) {NAME(packed_##r##_1), NAME(packed_##r##_2)},
#define STRIDED_ENTRY(r) {NAME(strided_##r##_1), NAME(strided_##r##_2)},
static const NAME(packed_fn) NAME(packed_tiles)[MR][2] = {TILE_ROWS(PACKED_ENTRY)};
static const NAME(strided_fn) NAME(strided_tiles)[MR][2] = {TILE_ROWS(STRIDED_ENTRY)};
#undef TILE
#undef TILE_ROWS
#undef TILE_PAIR
#undef PACKED_ENTRY
#undef STRIDED_ENTRY

static void NAME(run)(int64_t k, const void* a, const void* b, void* c, int64_t c_rs, int64_t rows,
                      int64_t cols, bool accumulate) {
  NAME(packed_tiles)[rows - 1][cols > W](k, a, b, c, c_rs, cols, accumulate);
}
static void NAME(run_strided)(int64_t k, const void* a, int64_t a_rs, int64_t a_cs, const void* b,
                              int64_t b_rs, void* c, int64_t c_rs, int64_t rows, int64_t cols,
                              bool accumulate) {
  NAME(strided_tiles)[rows - 1][cols > W](k, a, a_rs, a_cs, b, b_rs, c, c_rs, cols, accumulate);
}
