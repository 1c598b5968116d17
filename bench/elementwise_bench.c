// Lane kernels and row kernels against the scalar libm loop and against memcpy, on one thread.
// Prints a ratio a line: how many times the libm loop's speed (maths), or the share of memcpy's bytes/s (rows).
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

#define SCALAR(name, expr) static __attribute__((noinline)) void name(float* o, const float* x, size_t n) { \
  for (size_t i = 0; i < n; ++i) { const float v = x[i]; o[i] = (expr); } }
SCALAR(c_exp, expf(v)) SCALAR(c_log, logf(v)) SCALAR(c_sin, sinf(v)) SCALAR(c_cos, cosf(v)) SCALAR(c_tanh, tanhf(v))
SCALAR(c_erf, erff(v)) SCALAR(c_sigmoid, 1.0f / (1.0f + expf(-v))) SCALAR(c_rsqrt, 1.0f / sqrtf(v)) SCALAR(c_pow, powf(v, 1.7f))
SCALAR(c_tan, tanf(v)) SCALAR(c_expm1, expm1f(v)) SCALAR(c_log1p, log1pf(v)) SCALAR(c_atan, atanf(v)) SCALAR(c_cbrt, cbrtf(v))

enum { N = 4096 };
static float x[N], y[N], o[N];

typedef void (*loop_t)(float*, const float*, size_t);
static double best_scalar(loop_t f) {
  double best = 1e9;
  for (int r = 0; r < 25; ++r) {
    double t = now();
    for (int k = 0; k < 4; ++k) f(o, x, N);
    best = fmin(best, (now() - t) / (4.0 * N));
  }
  return best * 1e9;
}
static double best_lane(tt_op_kind_t kind) {
  double best = 1e9;
  for (int r = 0; r < 25; ++r) {
    double t = now();
    for (int k = 0; k < 4; ++k) {
      if (kind == TT_OP_POWER) tt_k_binary(kind, TT_DTYPE_F32)(o, x, y, N);
      else tt_k_unary(kind, TT_DTYPE_F32)(o, x, N);
    }
    best = fmin(best, (now() - t) / (4.0 * N));
  }
  return best * 1e9;
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
  static const struct { const char* name; tt_op_kind_t kind; loop_t scalar; } rows[] = {
    {"exp", TT_OP_EXPONENTIAL, c_exp}, {"log", TT_OP_LOG, c_log}, {"sin", TT_OP_SINE, c_sin}, {"cos", TT_OP_COSINE, c_cos},
    {"tanh", TT_OP_TANH, c_tanh}, {"erf", TT_OP_CHLO_ERF, c_erf}, {"pow", TT_OP_POWER, c_pow}, {"sigmoid", TT_OP_LOGISTIC, c_sigmoid},
    {"rsqrt", TT_OP_RSQRT, c_rsqrt}, {"tan", TT_OP_TAN, c_tan}, {"expm1", TT_OP_EXPONENTIAL_MINUS_ONE, c_expm1},
    {"log1p", TT_OP_LOG_PLUS_ONE, c_log1p}, {"atan", TT_OP_CHLO_ATAN, c_atan}, {"cbrt", TT_OP_CBRT, c_cbrt}};
  srand(1);
  for (int i = 0; i < N; ++i) x[i] = (float)rand() / (float)RAND_MAX * 8.0f + 0.01f, y[i] = 1.7f;
  printf("%-10s %10s", "f32", "libm ns");
  for (int isa = TT_ISA_AVX2; isa <= TT_ISA_AVX512; ++isa) printf(" %10s", tt_k_isa_name((tt_isa_t)isa));
  printf("   (ns a lane, times libm)\n");
  for (size_t r = 0; r < TT_ARRAY_LENGTH(rows); ++r) {
    double scalar = best_scalar(rows[r].scalar);
    printf("%-10s %10.3f", rows[r].name, scalar);
    for (int isa = TT_ISA_AVX2; isa <= TT_ISA_AVX512; ++isa) {
      if (isa > (int)tt_k_isa_supported()) {
        printf(" not measured");
        continue;
      }
      tt_k_isa_set((tt_isa_t)isa);
      double ns = best_lane(rows[r].kind);
      printf(" %6.3f %4.1fx", ns, scalar / ns);
    }
    printf("\n");
  }
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
  printf("\n4096x4096 f32, %d thread(s): memcpy %.2f ms, %.1f GB/s\n", tt_pool_threads(tt_pool_get()), copy * 1e3, 2 * (double)bytes / copy * 1e-9);
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
