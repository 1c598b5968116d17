// One convolution kernel call by call, for conv_bench.py: the kernel alone, on the plugin's thread pool.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/text.h"
#include "kernels/loops.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct bench_s {
  tt_arena_t arena;
  tt_module_t* module;
  const tt_op_t* op;
  const tt_k_op_t* kernel;
  tt_k_blob_t blob;
  tt_k_tensor_t x[2], y;
  int64_t strides[3][TT_MAX_RANK];
  void* scratch;
  size_t scratch_bytes;
} bench_t;

// The first op of `text`; NULL on an error. The memory of operands and result stays the caller's.
EXPORT void* conv_bench_open(const char* text, void* x, void* w, void* y) {
  bench_t* b = calloc(1, sizeof *b);
  if (!b) return NULL;
  tt_arena_initialize(&b->arena);
  if (!tt_status_is_ok(tt_module_parse(text, strlen(text), &b->module))) return NULL;
  b->op = tt_module_main(b->module)->body.block.first;
  b->kernel = tt_k_op_find(b->op, NULL, NULL);
  if (!b->kernel || (b->kernel->encode && !tt_status_is_ok(b->kernel->encode(b->op, &b->arena, &b->blob))))
    return NULL;
  void* const data[] = {x, w, y};
  for (int i = 0; i < 3; ++i) {
    const tt_type_t* type = i < 2 ? b->op->operands[i]->type : b->op->results[0].type;
    tt_k_dense_strides(type->dims, type->rank, b->strides[i]);
    *(i < 2 ? &b->x[i] : &b->y) =
        (tt_k_tensor_t){data[i], type->dtype, type->rank, type->dims, b->strides[i]};
  }
  b->scratch_bytes =
      b->kernel->scratch_bytes ? b->kernel->scratch_bytes(b->blob.data, 64, b->x, 2, &b->y, 1) : 0;
  b->scratch = aligned_alloc(64, (b->scratch_bytes + 127) / 64 * 64);
  return b->scratch ? b : NULL;
}
EXPORT const char* conv_bench_kernel(const void* bench) { return ((const bench_t*)bench)->kernel->name; }
// Seconds of the fastest of `calls` calls; negative on an error.
EXPORT double conv_bench_run(void* bench, int threads, int calls) {
  bench_t* b = bench;
  tt_pool_t* pool = tt_pool_get();
  tt_pool_set_threads(pool, threads);
  const tt_k_env_t env = {.pool = pool, .scratch = b->scratch};
  const clockid_t clock =
      threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;  // one thread: other load hardly shows
  double best = -1;
  for (int i = 0; i < calls; ++i) {
    struct timespec from, to;
    clock_gettime(clock, &from);
    tt_status_t status = b->kernel->run(&env, b->blob.data, b->x, 2, &b->y, 1);
    clock_gettime(clock, &to);
    const bool ok = tt_status_is_ok(status);
    tt_status_free(status);
    if (!ok) return -1;
    const double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
    if (best < 0 || seconds < best) best = seconds;
  }
  return best;
}
EXPORT void conv_bench_close(void* bench) {
  bench_t* b = bench;
  free(b->scratch);
  tt_module_release(b->module);
  tt_arena_deinitialize(&b->arena);
  free(b);
}
