// Matrix products (or, with "attention", fused attention) through the op kernels, called by bench/matmul.py
// beside the peer: reads "dtype batch m n k nk(0: B is [K, N], 1: [N, K])" lines from stdin, answers each
// with the best seconds.
//   matmul_bench THREADS [SECONDS A LINE]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/gemm.h"
#include "kernels/loops.h"

static int threads;
static double now(void) {  // one thread: its CPU time, so that neighbours on the machine do not count
  struct timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void* memory(size_t bytes) {
  void* p = aligned_alloc(64, tt_align_up(bytes + 64, 64));
  if (!p) exit(1);
  return p;
}
static void fill(tt_dtype_t dtype, void* data, int64_t n) {
  uint32_t x = 1;
  float block[256];
  for (int64_t i = 0; i < n; i += 256) {
    const int64_t count = TT_MIN(n - i, 256);
    for (int64_t j = 0; j < count; ++j) {
      x = x * 1664525u + 1013904223u;
      block[j] = (float)(x >> 8) * 0x1p-23f - 1.0f;
      if (dtype == TT_DTYPE_S8) block[j] *= 127;
    }
    char* at = (char*)data + (size_t)i * tt_dtype_bytes(dtype);
    if (dtype == TT_DTYPE_F32) memcpy(at, block, (size_t)count * 4);
    else tt_k_convert(TT_DTYPE_F32, dtype)(at, block, (size_t)count);
  }
}

int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 1;
  tt_pool_set_threads(tt_pool_get(), threads);
  const double limit = argc > 2 ? atof(argv[2]) : 0.3;
  char name[16];
  long long batch, m, n, k, nk;
  while (scanf("%15s %lld %lld %lld %lld %lld", name, &batch, &m, &n, &k, &nk) == 6) {
    tt_dtype_t dtype = strcmp(name, "f32") == 0    ? TT_DTYPE_F32
                       : strcmp(name, "f64") == 0  ? TT_DTYPE_F64
                       : strcmp(name, "bf16") == 0 ? TT_DTYPE_BF16
                       : strcmp(name, "f16") == 0  ? TT_DTYPE_F16
                                                   : TT_DTYPE_S8;
    const tt_dtype_t c_dtype = dtype == TT_DTYPE_S8 ? TT_DTYPE_S32 : dtype;
    if (!tt_gemm_supports(dtype, c_dtype)) {
      printf("nan\n");
      fflush(stdout);
      continue;
    }
    const size_t eb = tt_dtype_bytes(dtype);
    void *a = memory((size_t)(batch * m * k) * eb), *b = memory((size_t)(batch * n * k) * eb),
         *c = memory((size_t)(batch * m * n) * tt_dtype_bytes(c_dtype));
    fill(dtype, a, batch * m * k);
    fill(dtype, b, batch * n * k);
    memset(c, 0, (size_t)(batch * m * n) * tt_dtype_bytes(c_dtype));
    tt_gemm_t g = {.dtype = dtype,
                   .c_dtype = c_dtype,
                   .batch_rank = 1,
                   .batch = {batch},
                   .a_batch = {m * k},
                   .b_batch = {n * k},
                   .c_batch = {m * n},
                   .m = m,
                   .n = n,
                   .k = k,
                   .a = a,
                   .b = b,
                   .c = c,
                   .a_rs = k,
                   .a_cs = 1,
                   .b_rs = nk ? 1 : n,
                   .b_cs = nk ? k : 1,
                   .c_rs = n,
                   .c_cs = 1};
    void* scratch = memory(tt_gemm_scratch_bytes(&g, tt_pool_threads(tt_pool_get())));
    double best = 1e9;
    for (double start = now(); now() - start < limit;) {
      int rounds = 1;
      if (best < 1e-5) rounds = (int)(2e-5 / best) + 1;
      double t = now();
      for (int r = 0; r < rounds; ++r) tt_gemm_run(tt_pool_get(), &g, scratch);
      t = (now() - t) / rounds;
      if (t < best) best = t;
    }
    printf("%.9g\n", best);
    fflush(stdout);
    free(a);
    free(b);
    free(c);
    free(scratch);
  }
  return 0;
}
