// Lane kernels and row kernels against the scalar libm loop and against memcpy, on one thread.
// Prints a ratio a line: how many times the libm loop's speed (maths), or the share of memcpy's bytes/s.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/rng_words.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Peers: the scalar loop over libm, f32 and f64. The asm keeps it scalar where libm's function is one instruction.
#define SCALAR_OF(P, T, name, expr)                                                                          \
  static __attribute__((noinline)) void P##_##name(void* out, const void* xs, const void* ys, size_t n) {    \
    T* o = out; const T *x = xs, *y = ys;                                                                    \
    for (size_t i = 0; i < n; ++i) {                                                                         \
      const T v = x[i], w = y[i];                                                                            \
      (void)w, o[i] = (expr);                                                                                \
      __asm__ volatile("");                                                                                  \
    }                                                                                                        \
  }
#define SCALAR(name, single, full) SCALAR_OF(f32, float, name, single) SCALAR_OF(f64, double, name, full)
#define LIBM(name) SCALAR(name, name##f(v), name(v))
LIBM(exp) LIBM(expm1) LIBM(log) LIBM(log1p) LIBM(sin) LIBM(cos) LIBM(tan) LIBM(tanh) LIBM(erf) LIBM(erfc) LIBM(sqrt)
LIBM(cbrt) LIBM(acos) LIBM(asin) LIBM(atan) LIBM(acosh) LIBM(asinh) LIBM(atanh) LIBM(cosh) LIBM(sinh)
SCALAR(sigmoid, 1.0f / (1.0f + expf(-v)), 1.0 / (1.0 + exp(-v)))
SCALAR(rsqrt, 1.0f / sqrtf(v), 1.0 / sqrt(v))
SCALAR(pow, powf(v, w), pow(v, w)) SCALAR(atan2, atan2f(v, w), atan2(v, w))
SCALAR(fmod, fmodf(v, w), fmod(v, w))
extern float lgammaf_r(float, int*);
extern double lgamma_r(double, int*);
static int sign;
SCALAR(lgamma, lgammaf_r(v, &sign), lgamma_r(v, &sign))

typedef void (*loop_t)(void*, const void*, const void*, size_t);
// x is uniform in [low, high], y in [y_low, y_high] (0, 0: one operand); some have no peer.
typedef struct row_s {
  const char* name;
  tt_op_kind_t kind;
  loop_t scalar[2];
  double low, high, y_low, y_high;
} row_t;
#define ROW(op, name, ...) {#name, TT_OP_##op, {f32_##name, f64_##name}, __VA_ARGS__}
static const row_t kRows[] = {
  ROW(EXPONENTIAL, exp, 0.01, 8, 0, 0), ROW(EXPONENTIAL_MINUS_ONE, expm1, 0.01, 8, 0, 0),
  ROW(LOG, log, 0.01, 8, 0, 0), ROW(LOG_PLUS_ONE, log1p, 0.01, 8, 0, 0), ROW(SINE, sin, 0.01, 8, 0, 0), ROW(COSINE, cos, 0.01, 8, 0, 0),
  ROW(TAN, tan, 0.01, 8, 0, 0), ROW(TANH, tanh, 0.01, 8, 0, 0), ROW(LOGISTIC, sigmoid, 0.01, 8, 0, 0),
  ROW(CHLO_ERF, erf, 0.01, 8, 0, 0), ROW(CHLO_ERFC, erfc, 0.01, 8, 0, 0), ROW(SQRT, sqrt, 0.01, 8, 0, 0),
  ROW(RSQRT, rsqrt, 0.01, 8, 0, 0), ROW(CBRT, cbrt, 0.01, 8, 0, 0), ROW(CHLO_ACOS, acos, -1, 1, 0, 0),
  ROW(CHLO_ASIN, asin, -1, 1, 0, 0), ROW(CHLO_ATAN, atan, 0.01, 8, 0, 0), ROW(CHLO_ACOSH, acosh, 1, 9, 0, 0),
  ROW(CHLO_ASINH, asinh, -8, 8, 0, 0), ROW(CHLO_ATANH, atanh, -1, 1, 0, 0), ROW(CHLO_COSH, cosh, -8, 8, 0, 0),
  ROW(CHLO_SINH, sinh, -8, 8, 0, 0), ROW(CHLO_LGAMMA, lgamma, 0.01, 8, 0, 0),
  ROW(POWER, pow, 0.01, 8, 1.7, 1.7),
  ROW(ATAN2, atan2, -4, 4, -4, 4), ROW(REMAINDER, fmod, -8, 8, 0.1, 2),
  {"digamma", TT_OP_CHLO_DIGAMMA, {0}, 0.01, 8, 0, 0}, {"erf_inv", TT_OP_CHLO_ERF_INV, {0}, -1, 1, 0, 0},
  {"i1e", TT_OP_CHLO_BESSEL_I1E, {0}, -8, 8, 0, 0},
};

enum { N = 4096 };
static double x[N], y[N], o[N];   // f64, or N f32 in their first half

static double best_scalar(loop_t f) {
  double best = 1e9;
  for (int r = 0; r < 15; ++r) {
    double t = now();
    f(o, x, y, N);
    best = fmin(best, (now() - t) / N);
  }
  return best * 1e9;
}
static double best_lane(const row_t* row, tt_dtype_t dtype) {
  double best = 1e9;
  for (int r = 0; r < 25; ++r) {
    double t = now();
    if (row->y_high != 0) tt_k_binary(row->kind, dtype)(o, x, y, N);
    else tt_k_unary(row->kind, dtype)(o, x, N);
    best = fmin(best, (now() - t) / N);
  }
  return best * 1e9;
}
static void fill(void* values, int f32, double low, double high) {
  for (int i = 0; i < N; ++i) {
    double v = low + (high - low) * ((double)rand() / (double)RAND_MAX);
    if (f32) ((float*)values)[i] = (float)v;
    else ((double*)values)[i] = v;
  }
}
static void functions(int f64) {
  tt_dtype_t dtype = f64 ? TT_DTYPE_F64 : TT_DTYPE_F32;
  printf("%-8s %9s", f64 ? "f64" : "f32", "libm ns");
  for (int isa = TT_ISA_AVX2; isa <= TT_ISA_AVX512; ++isa) printf(" %12s      ", tt_k_isa_name((tt_isa_t)isa));
  printf("(ns a lane, times libm, 4 wanted)\n");
  for (size_t r = 0; r < TT_ARRAY_LENGTH(kRows); ++r) {
    const row_t* row = &kRows[r];
    fill(x, !f64, row->low, row->high), fill(y, !f64, row->y_low, row->y_high);
    double scalar = row->scalar[f64] ? best_scalar(row->scalar[f64]) : NAN;
    if (isnan(scalar)) printf("%-8s %9s", row->name, "-");
    else printf("%-8s %9.3f", row->name, scalar);
    for (int isa = TT_ISA_AVX2; isa <= TT_ISA_AVX512; ++isa) {
      if (isa > (int)tt_k_isa_supported()) {
        printf("  not measured     ");
        continue;
      }
      tt_k_isa_set((tt_isa_t)isa);
      double ns = best_lane(row, dtype);
      if (isnan(scalar)) printf(" %7.3f            ", ns);
      else printf(" %7.3f %4.1fx %-5s", ns, scalar / ns, scalar / ns >= 4 ? "ok" : "SHORT");
    }
    printf("\n");
  }
  printf("\n");
}

// rows: composites called as the executor calls them
static const int64_t dims2[2] = {4096, 4096}, strides2[2] = {4096, 1}, dims1[1] = {4096}, stat_dims[2] = {4096, 1};
static double run_kernel(const char* name, const void* blob, size_t nx, const tt_k_tensor_t* in, size_t ny, const tt_k_tensor_t* out) {
  const tt_k_op_t* k = tt_k_op_by_name(name);
  if (!k) return NAN;
  int threads = tt_pool_threads(tt_pool_get());
  size_t bytes = k->scratch_bytes ? k->scratch_bytes(blob, threads, in, nx, out, ny) : 0;
  tt_k_env_t env = {.pool = tt_pool_get(), .scratch = aligned_alloc(64, tt_align_up(bytes + 64, 64))};
  double best = 1e9;
  for (int r = 0; r < 7; ++r) {
    double t = now();
    tt_status_ignore(k->run(&env, blob, in, nx, out, ny));
    best = fmin(best, now() - t);
  }
  free(env.scratch);
  return best;
}

int main(int argc, char** argv) {
  tt_pool_set_threads(tt_pool_get(), argc > 1 ? atoi(argv[1]) : 1);
  srand(1);
  functions(0);
  functions(1);
  tt_k_isa_set(tt_k_isa_supported());
  size_t bytes = 4096u * 4096u * 4u;
  float *big = aligned_alloc(64, bytes), *out = aligned_alloc(64, bytes), *weight = malloc(4096 * 4), *stat = malloc(4096 * 8);
  if (!big || !out || !weight || !stat) return 1;
  for (size_t i = 0; i < bytes / 4; ++i) big[i] = (float)(i % 977) * 0.01f, out[i] = 0;
  for (int i = 0; i < 4096; ++i) weight[i] = 1;
  double copy = 1e9;
  for (int r = 0; r < 7; ++r) {
    double t = now();
    memcpy(out, big, bytes);
    copy = fmin(copy, now() - t);
  }
  printf("4096x4096 f32, %d thread(s): memcpy %.2f ms, %.1f GB/s\n", tt_pool_threads(tt_pool_get()), copy * 1e3, 2 * (double)bytes / copy * 1e-9);
  tt_k_tensor_t tx = {big, TT_DTYPE_F32, 2, dims2, strides2}, ty = {out, TT_DTYPE_F32, 2, dims2, strides2};
  tt_k_tensor_t tw = {weight, TT_DTYPE_F32, 1, dims1, strides2 + 1};
  tt_k_tensor_t tm = {stat, TT_DTYPE_F32, 2, stat_dims, strides2 + 1}, tr = {stat + 4096, TT_DTYPE_F32, 2, stat_dims, strides2 + 1};
  int64_t softmax_last[2] = {1, 0}, softmax_first[2] = {0, 0}, scan[3] = {1, 0, 0};
  struct { int64_t axis, rms, has_weight, has_bias; double eps; } norm = {1, 0, 1, 1, 1e-5};
  double t = run_kernel("tt_k_float_softmax__generic", softmax_last, 1, &tx, 1, &ty);
  printf("softmax axis 1      %7.2f ms, %.2f of memcpy\n", t * 1e3, copy / t);
  t = run_kernel("tt_k_float_softmax__generic", softmax_first, 1, &tx, 1, &ty);
  printf("softmax axis 0      %7.2f ms, %.2f of memcpy\n", t * 1e3, copy / t);
  t = run_kernel("tt_k_float_layer_norm__generic", &norm, 3, (tt_k_tensor_t[]){tx, tw, tw}, 3, (tt_k_tensor_t[]){ty, tm, tr});
  printf("layer norm          %7.2f ms, %.2f of memcpy\n", t * 1e3, copy / t);
  t = run_kernel("tt_k_any_cumulative__generic", scan, 1, &tx, 1, &ty);
  printf("cumulative sum      %7.2f ms, %.2f of memcpy\n", t * 1e3, copy / t);
  uint64_t seed = 1, offset = 0;
  tt_k_tensor_t ts = {&seed, TT_DTYPE_U64, 0, NULL, NULL}, to = {&offset, TT_DTYPE_U64, 0, NULL, NULL};
  for (int64_t kind = 0; kind < 3; ++kind) {
    tt_k_tensor_t tb = ty;
    if (kind == 0) tb.dtype = TT_DTYPE_U32;
    t = run_kernel("tt_k_any_rng__generic", &kind, 2, (tt_k_tensor_t[]){ts, to}, 1, &tb);
    printf("rng %-8s        %7.2f ms, %.2f ns a number\n", kind == 0 ? "bits" : kind == 1 ? "uniform" : "normal", t * 1e3, t * 1e9 / (4096.0 * 4096.0));
  }
  tt_op_kind_t folds[] = {TT_OP_ADD, TT_OP_MAXIMUM};
  for (int i = 0; i < 2; ++i) {
    float acc = 0;
    double best = 1e9;
    for (int r = 0; r < 7; ++r) {
      double s = now();
      tt_k_fold(folds[i], TT_DTYPE_F32)(&acc, big, bytes / 4);
      best = fmin(best, now() - s);
    }
    printf("fold %-10s     %7.2f ms, %.1f GB/s (1 thread)\n", tt_op_info(folds[i])->name + 10, best * 1e3, (double)bytes / best * 1e-9);
  }
  return 0;
}
