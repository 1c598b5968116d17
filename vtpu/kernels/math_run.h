// The lane kernels over the functions of math_impl.h and math_impl_f32.h; included by math_<isa>.c.
// The last, partial vector goes through the same code with its missing lanes zero.
#define TT_K2_(name, isa) name##__##isa
#define TT_K1_(name, isa) TT_K2_(name, isa)
#define TT_K(name) TT_K1_(name, TT_ISA)

#define TT_RUN_UNARY(P, T, kN, OP, function)                                  \
  void TT_K(tt_math_##P##_##OP)(void* out, const void* xs, size_t n) {        \
    T* o = out; const T* x = xs;                                              \
    size_t i = 0;                                                             \
    for (; i + kN <= n; i += kN) TT_RUN_STORE_##P(o + i, function(TT_RUN_LOAD_##P(x + i))); \
    if (i < n) {                                                              \
      T tail[kN] = {0};                                                       \
      memcpy(tail, x + i, (n - i) * sizeof(T));                               \
      TT_RUN_STORE_##P(tail, function(TT_RUN_LOAD_##P(tail)));                \
      memcpy(o + i, tail, (n - i) * sizeof(T));                               \
    }                                                                         \
  }
#define TT_RUN_BINARY(P, T, kN, OP, function)                                 \
  void TT_K(tt_math_##P##_##OP)(void* out, const void* xs, const void* ys, size_t n) { \
    T* o = out; const T *x = xs, *y = ys;                                     \
    size_t i = 0;                                                             \
    for (; i + kN <= n; i += kN)                                              \
      TT_RUN_STORE_##P(o + i, function(TT_RUN_LOAD_##P(x + i), TT_RUN_LOAD_##P(y + i))); \
    if (i < n) {                                                              \
      T tx[kN] = {0}, ty[kN] = {0};                                           \
      memcpy(tx, x + i, (n - i) * sizeof(T));                                 \
      memcpy(ty, y + i, (n - i) * sizeof(T));                                 \
      TT_RUN_STORE_##P(tx, function(TT_RUN_LOAD_##P(tx), TT_RUN_LOAD_##P(ty))); \
      memcpy(o + i, tx, (n - i) * sizeof(T));                                 \
    }                                                                         \
  }
#define TT_RUN_LOAD_f32 f_load
#define TT_RUN_STORE_f32 f_store
#define TT_RUN_LOAD_f64 d_load
#define TT_RUN_STORE_f64 d_store

#define TT_MATH_UNARY(OP, function) \
  TT_RUN_UNARY(f32, float, kF, OP, f_##function) TT_RUN_UNARY(f64, double, kD, OP, d_##function)
#define TT_MATH_BINARY(OP, function) \
  TT_RUN_BINARY(f32, float, kF, OP, f_##function) TT_RUN_BINARY(f64, double, kD, OP, d_##function)
#define TT_MATH_SPECIAL(OP, function)                                                                   \
  void TT_K(tt_math_f32_##OP)(void* out, const void* x, size_t n) { tt_math_f32_##OP##__generic(out, x, n); } \
  void TT_K(tt_math_f64_##OP)(void* out, const void* x, size_t n) { tt_math_f64_##OP##__generic(out, x, n); }
#define TT_MATH_SPECIAL_BINARY(OP, function)                                  \
  void TT_K(tt_math_f32_##OP)(void* out, const void* x, const void* y, size_t n) { tt_math_f32_##OP##__generic(out, x, y, n); } \
  void TT_K(tt_math_f64_##OP)(void* out, const void* x, const void* y, size_t n) { tt_math_f64_##OP##__generic(out, x, y, n); }
#include "kernels/math.def"

#define TT_RUN_TOP(P, T, V, kN, set, max) /* max(x, top): a NaN of x gives top */                                   \
  double TT_K(tt_math_##P##_top)(const void* xs, size_t n) {                                                       \
    const T* x = xs; T top = -INFINITY;                                                                            \
    V best[4] = {set(-INFINITY), set(-INFINITY), set(-INFINITY), set(-INFINITY)};                                  \
    size_t i = 0;                                                                                                  \
    for (; i + 4 * kN <= n; i += 4 * kN) {                                                                         \
      _Pragma("GCC unroll 4") for (int v = 0; v < 4; ++v) best[v] = max(TT_RUN_LOAD_##P(x + i + v * kN), best[v]); \
    }                                                                                                              \
    for (int v = 0; v < 4; ++v) for (int k = 0; k < kN; ++k) top = best[v][k] > top ? best[v][k] : top;            \
    for (; i < n; ++i) top = x[i] > top ? x[i] : top;                                                              \
    return (double)top;                                                                                            \
  }
TT_VI vd d_max_of(vd x, vd top) { return d_sel(d_lt(top, x), x, top); }
TT_RUN_TOP(f32, float, vf, kF, f_set, f_max)
TT_RUN_TOP(f64, double, vd, kD, d_set, d_max_of)

#define TT_RUN_EXP_SUM(P, T, V, kN, set, exp)                                                                      \
  double TT_K(tt_math_##P##_exp_sum)(void* out, const void* xs, double top, size_t n, const void* next) {          \
    T* o = out; const T *x = xs, *ahead = next;                                                                    \
    const V t = set((T)top);                                                                                       \
    double total = 0;                                                                                              \
    size_t whole = n - n % kN, i = 0;                                                                              \
    while (i < whole) {                                                                                            \
      size_t end = TT_MIN(i + kExpBlock, whole);                                                                   \
      V sum = set(0);                                                                                              \
      for (; i < end; i += kN) {                                                                                   \
        __builtin_prefetch(ahead + i, 0, 2);                                                                       \
        V e = exp(TT_RUN_LOAD_##P(x + i) - t);                                                                     \
        TT_RUN_STORE_##P(o + i, e);                                                                                \
        sum = sum + e;                                                                                             \
      }                                                                                                            \
      for (int k = 0; k < kN; ++k) total += (double)sum[k];                                                        \
    }                                                                                                              \
    if (i < n) {                                                                                                   \
      T tail[kN] = {0};                                                                                            \
      memcpy(tail, x + i, (n - i) * sizeof(T));                                                                    \
      TT_RUN_STORE_##P(tail, exp(TT_RUN_LOAD_##P(tail) - t));                                                      \
      memcpy(o + i, tail, (n - i) * sizeof(T));                                                                    \
      for (size_t k = 0; k < n - i; ++k) total += (double)tail[k];                                                 \
    }                                                                                                              \
    return total;                                                                                                  \
  }
TT_RUN_EXP_SUM(f32, float, vf, kF, f_set, f_exp)
TT_RUN_EXP_SUM(f64, double, vd, kD, d_set, d_exp)

#define ERF f_erf
#define EXP f_exp
#define TANH f_tanh
#define TT_COMPOUND(NAME, constants, formula, postfix)                                                  \
  TT_VI vf TT_K(compound_##NAME)(vf x, vf k0, vf k1, vf k2, vf k3) {                                    \
    (void)k0, (void)k1, (void)k2, (void)k3;                                                             \
    return formula;                                                                                     \
  }                                                                                                     \
  void TT_K(tt_compound_##NAME)(void* out, const void* xs, const void* ks, size_t n) {                  \
    float* o = out; const float *x = xs, *k = ks;                                                       \
    vf k0 = f_set(k[0]), k1 = f_set(k[1]), k2 = f_set(k[2]), k3 = f_set(k[3]);                          \
    size_t i = 0;                                                                                       \
    for (; i + kF <= n; i += kF) f_store(o + i, TT_K(compound_##NAME)(f_load(x + i), k0, k1, k2, k3));  \
    if (i < n) {                                                                                        \
      float tail[kF] = {0};                                                                             \
      memcpy(tail, x + i, (n - i) * sizeof(float));                                                     \
      f_store(tail, TT_K(compound_##NAME)(f_load(tail), k0, k1, k2, k3));                               \
      memcpy(o + i, tail, (n - i) * sizeof(float));                                                     \
    }                                                                                                   \
  }
#include "kernels/compound.def"
