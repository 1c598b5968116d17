// Fused attention through its op kernel, called by bench/attention.py beside the peer: reads
// "dtype batch heads key_heads lq lk d causal" lines, answers with the best seconds of forward and of
// backward.
//   attention_bench THREADS [SECONDS A LINE]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/loops.h"

static int threads;
static double now(void) {  // one thread: its CPU time, so that neighbours on the machine do not count
  struct timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
typedef struct array_s {
  tt_k_tensor_t t;
  int64_t dims[4], strides[4];
} array_t;
static void array_new(array_t* a, tt_dtype_t dtype, int64_t d0, int64_t d1, int64_t d2, int64_t d3) {
  const int64_t dims[4] = {d0, d1, d2, d3}, n = d0 * d1 * d2 * d3;
  memcpy(a->dims, dims, sizeof dims);
  tt_k_dense_strides(a->dims, 4, a->strides);
  a->t =
      (tt_k_tensor_t){aligned_alloc(64, tt_align_up((size_t)n * 4 + 64, 64)), dtype, 4, a->dims, a->strides};
  if (!a->t.data) exit(1);
  uint32_t x = 1;
  for (int64_t i = 0; i < n; ++i) {
    x = x * 1664525u + 1013904223u;
    const float y = (float)(x >> 8) * 0x1p-23f - 1.0f;
    if (dtype == TT_DTYPE_F32) ((float*)a->t.data)[i] = y;
    else tt_k_convert(TT_DTYPE_F32, dtype)((char*)a->t.data + (size_t)i * tt_dtype_bytes(dtype), &y, 1);
  }
}
static double best_of(const char* name, const void* blob, const tt_k_tensor_t* x, size_t nx,
                      const tt_k_tensor_t* y, size_t ny, double limit) {
  const tt_k_op_t* k = tt_k_op_by_name(name);
  size_t bytes = k->scratch_bytes(blob, tt_pool_threads(tt_pool_get()), x, nx, y, ny);
  tt_k_env_t env = {.pool = tt_pool_get(), .scratch = aligned_alloc(64, tt_align_up(bytes + 64, 64))};
  double best = 1e9;
  for (double start = now(); now() - start < limit;) {
    double t = now();
    tt_status_ignore(k->run(&env, blob, x, nx, y, ny));
    t = now() - t;
    if (t < best) best = t;
  }
  free(env.scratch);
  return best;
}

int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 1;
  tt_pool_set_threads(tt_pool_get(), threads);
  const double limit = argc > 2 ? atof(argv[2]) : 0.3;
  char name[16];
  long long b, h, hk, lq, lk, d, causal;
  while (scanf("%15s %lld %lld %lld %lld %lld %lld %lld", name, &b, &h, &hk, &lq, &lk, &d, &causal) == 8) {
    const tt_dtype_t dtype = strcmp(name, "f32") == 0    ? TT_DTYPE_F32
                             : strcmp(name, "bf16") == 0 ? TT_DTYPE_BF16
                                                         : TT_DTYPE_F16;
    if (tt_k_isa() < TT_ISA_AVX2) {
      printf("nan nan\n");
      fflush(stdout);
      continue;
    }
    array_t q, k, v, g, out, lse, dq, dk, dv;
    array_new(&q, dtype, b, h, lq, d);
    array_new(&g, dtype, b, h, lq, d);
    array_new(&out, dtype, b, h, lq, d);
    array_new(&dq, dtype, b, h, lq, d);
    array_new(&k, dtype, b, hk, lk, d);
    array_new(&v, dtype, b, hk, lk, d);
    array_new(&dk, dtype, b, hk, lk, d);
    array_new(&dv, dtype, b, hk, lk, d);
    array_new(&lse, TT_DTYPE_F32, b, h, lq, 1);
    struct {
      double scale;
      uint8_t causal, has_bias;
    } blob = {0.125, causal != 0, 0};
    double forward = best_of("tt_k_float_sdpa_fused__avx2", &blob, (tt_k_tensor_t[]){q.t, k.t, v.t}, 3,
                             (tt_k_tensor_t[]){out.t, lse.t}, 2, limit);
    double backward = best_of("tt_k_float_sdpa_backward_fused__avx2", &blob,
                              (tt_k_tensor_t[]){g.t, q.t, k.t, v.t, out.t, lse.t}, 6,
                              (tt_k_tensor_t[]){dq.t, dk.t, dv.t}, 3, limit);
    printf("%.9g %.9g\n", forward, backward);
    fflush(stdout);
    array_t* all[] = {&q, &k, &v, &g, &out, &lse, &dq, &dk, &dv};
    for (int i = 0; i < 9; ++i) free(all[i]->t.data);
  }
  return 0;
}
