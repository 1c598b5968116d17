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
