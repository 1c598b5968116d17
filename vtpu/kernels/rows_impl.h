// Row loops of one ISA; included by rows_<isa>.c, which defines TT_ISA. Sums: trees over blocks (fold.c's), the
// blocks added in f64.
#include "kernels/rows_lanes.h"

#define TT_K2_(name, isa) name##__##isa
#define TT_K1_(name, isa) TT_K2_(name, isa)
#define TT_K(name) TT_K1_(name, TT_ISA)
#define TT_LANES(i, n) _Pragma("GCC ivdep") for (size_t i = 0; i < (n); ++i)

enum { kBlock = 1024, kFetch = 128 };   // kFetch: lines of the next row between two stretches of this one

#define TT_ROW_FNS(D, T)                                                                        \
  static void TT_K(scale_##D)(void* out, const void* xs, double as, size_t n) {                 \
    T* o = out; const T* x = xs; const T a = (T)as;                                             \
    TT_LANES(i, n) o[i] = x[i] * a;                                                             \
  }                                                                                             \
  static void TT_K(shift2_##D)(void* out, const void* xs, double as, double bs, size_t n) {     \
    T* o = out; const T* x = xs; const T a = (T)as, b = (T)bs;                                  \
    TT_LANES(i, n) o[i] = (x[i] - a) - b;                                                       \
  }                                                                                             \
  static void TT_K(norm_##D)(void* out, const void* xs, double as, double rs, const void* ws, const void* bs, size_t n) { \
    T* o = out; const T *x = xs, *w = ws, *b = bs; const T a = (T)as, r = (T)rs;                \
    if (w && b) { TT_LANES(i, n) o[i] = (x[i] - a) * r * w[i] + b[i]; }                         \
    else if (w) { TT_LANES(i, n) o[i] = (x[i] - a) * r * w[i]; }                                \
    else if (b) { TT_LANES(i, n) o[i] = (x[i] - a) * r + b[i]; }                                \
    else { TT_LANES(i, n) o[i] = (x[i] - a) * r; }                                              \
  }                                                                                             \
  static void TT_K(back_##D)(void* out, const void* gs, const void* ys, double total, size_t n) { \
    T* o = out; const T *g = gs, *y = ys; const T a = (T)total;                                 \
    TT_LANES(i, n) o[i] = y[i] * (g[i] - a);                                                    \
  }                                                                                             \
  static void TT_K(back_log_##D)(void* out, const void* gs, const void* es, double total, size_t n) { \
    T* o = out; const T *g = gs, *e = es; const T a = (T)total;                                 \
    TT_LANES(i, n) o[i] = g[i] - e[i] * a;                                                      \
  }                                                                                             \
  static double TT_K(dot_##D)(const void* xs, const void* ys, size_t n) {                       \
    const T *x = xs, *y = ys; T block[kBlock]; double total = 0;                                \
    tt_k_fold_fn_t add = TT_K(tt_k_fold)(TT_OP_ADD, TT_DTYPE_##D);                              \
    for (size_t i = 0; i < n; i += kBlock) {                                                    \
      size_t m = TT_MIN(n - i, (size_t)kBlock); T sum = 0;                                      \
      TT_LANES(j, m) block[j] = x[i + j] * y[i + j];                                            \
      add(&sum, block, m);                                                                      \
      total += (double)sum;                                                                     \
    }                                                                                           \
    return total;                                                                               \
  }                                                                                             \
  static double TT_K(square_##D)(const void* xs, double as, size_t n, const void* next) {       \
    const T *x = xs, *ahead = next; const T a = (T)as; T block[kBlock]; double total = 0;       \
    tt_k_fold_fn_t add = TT_K(tt_k_fold)(TT_OP_ADD, TT_DTYPE_##D);                              \
    for (size_t i = 0; i < n; i += kBlock) {                                                    \
      size_t m = TT_MIN(n - i, (size_t)kBlock); T sum = 0;                                      \
      for (size_t k = 0; k < m; k += kFetch) {                                                  \
        size_t end = TT_MIN(k + kFetch, m);                                                     \
        for (size_t j = k; j < end; j += 64 / sizeof(T)) __builtin_prefetch(ahead + i + j, 0, 2); \
        TT_LANES(j, end - k) { T t = x[i + k + j] - a; block[k + j] = t * t; }                  \
      }                                                                                         \
      add(&sum, block, m);                                                                      \
      total += (double)sum;                                                                     \
    }                                                                                           \
    return total;                                                                               \
  }
TT_ROW_FNS(F32, float)
TT_ROW_FNS(F64, double)

#define TT_ROW_ENTRY(D) {TT_K(scale_##D), TT_K(shift2_##D), TT_K(norm_##D), TT_K(back_##D), \
  TT_K(back_log_##D), TT_K(dot_##D), TT_K(square_##D)}
const tt_row_lanes_t TT_K(tt_k_row_lanes)[2] = {TT_ROW_ENTRY(F32), TT_ROW_ENTRY(F64)};
