// Plans with epilogues and loops of several results against the same plans with separate steps, blocks alternating.
// A line: name, milliseconds of thread time of the separate and the fused plan, and their ratio, on one thread.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "compile/plan.h"
#include "exec/exec.h"
#include "exec/pool.h"
#include "ir/text.h"
#include "kernels/kernel.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int less(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

enum { ROUNDS = 15, MAX_VALUES = 16 };
static void bench(const char* name, const char* text, bool donate) {
  static tt_vmem_pool_t* memory;
  tt_module_t* module = NULL;
  tt_plan_t* plans[2] = {NULL, NULL};
  tt_status_t status = memory ? TT_OK_STATUS : tt_vmem_pool_create("bench", (int64_t)1 << 32, &memory);
  if (tt_status_is_ok(status)) status = tt_module_parse(text, strlen(text), &module);
  for (int k = 0; k < 2 && tt_status_is_ok(status); ++k) {
    const tt_plan_options_t options = {.separate_steps = k == 0};
    status = tt_plan_compile(module, &options, &plans[k]);
  }
  tt_vmem_t *params[MAX_VALUES] = {NULL}, *results[MAX_VALUES] = {NULL};
  bool donated[MAX_VALUES];
  const tt_plan_info_t* info = tt_status_is_ok(status) ? tt_plan_info(plans[0]) : NULL;
  for (size_t p = 0; info && p < info->parameter_count && tt_status_is_ok(status); ++p) {
    status = tt_vmem_allocate(memory, (size_t)info->parameters[p].bytes, &params[p]);
    donated[p] = donate;
    const tt_dtype_t dtype = info->parameters[p].dtype;
    for (int64_t i = 0; tt_status_is_ok(status) && i < info->parameters[p].bytes / (int64_t)tt_dtype_bytes(dtype); ++i)
      tt_scalar_store_f64(dtype, (double)(i * 37 % 101) / 101 - 0.5, (char*)params[p]->data + (size_t)i * tt_dtype_bytes(dtype));
  }
  double times[2][ROUNDS];
  for (int round = -1; round < ROUNDS && tt_status_is_ok(status); ++round) {
    for (int k = 0; k < 2 && tt_status_is_ok(status); ++k) {
      const tt_exec_args_t args = {.plan = plans[k], .memory = memory, .parameters = params, .donated = donated, .results = results};
      const double begin = now();
      status = tt_exec_run(&args);
      if (round >= 0) times[k][round] = now() - begin;
      for (size_t r = 0; r < info->result_count; ++r) {
        tt_vmem_release(results[r]);
        results[r] = NULL;
      }
    }
  }
  if (!tt_status_is_ok(status)) {
    printf("%-32s %s\n", name, tt_status_message(status));
    tt_status_free(status);
  } else {
    for (int k = 0; k < 2; ++k) qsort(times[k], ROUNDS, sizeof(double), less);
    printf("%-32s %9.3f %9.3f  %.3f\n", name, times[0][ROUNDS / 2], times[1][ROUNDS / 2], times[0][ROUNDS / 2] / times[1][ROUNDS / 2]);
  }
  for (size_t p = 0; p < MAX_VALUES; ++p) tt_vmem_release(params[p]);
  for (int k = 0; k < 2; ++k) tt_plan_release(plans[k]);
  tt_module_release(module);
}

static void linear(const char* dtype, int m, int n, int k) {
  char text[4096], name[64], t[64];
  snprintf(t, sizeof t, "tensor<%dx%dx%s>", m, n, dtype);
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<%dx%dx%s>, %%w: tensor<%dx%dx%s>, %%b: tensor<%dx%s>) -> %s {\n"
           "  %%d = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [1] : (tensor<%dx%dx%s>, tensor<%dx%dx%s>) -> %s\n"
           "  %%bb = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<%dx%s>) -> %s\n"
           "  %%a = stablehlo.add %%d, %%bb : %s\n"
           "  %%h = stablehlo.constant dense<0.5> : %s\n"
           "  %%r = stablehlo.constant dense<0.70710678> : %s\n"
           "  %%one = stablehlo.constant dense<1.0> : %s\n"
           "  %%s = stablehlo.multiply %%a, %%r : %s\n"
           "  %%e = chlo.erf %%s : %s -> %s\n"
           "  %%f = stablehlo.add %%e, %%one : %s\n"
           "  %%p = stablehlo.multiply %%a, %%h : %s\n"
           "  %%o = stablehlo.multiply %%p, %%f : %s\n"
           "  return %%o : %s\n}\n",
           m, k, dtype, n, k, dtype, n, dtype, t, m, k, dtype, n, k, dtype, t, n, dtype, t, t, t, t, t, t, t, t, t, t, t, t);
  snprintf(name, sizeof name, "linear+bias+gelu %s %dx%dx%d", dtype, m, n, k);
  bench(name, text, false);
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<%dx%dx%s>, %%w: tensor<%dx%dx%s>, %%b: tensor<%dx%s>) -> %s {\n"
           "  %%d = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [1] : (tensor<%dx%dx%s>, tensor<%dx%dx%s>) -> %s\n"
           "  %%bb = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<%dx%s>) -> %s\n"
           "  %%a = stablehlo.add %%d, %%bb : %s\n"
           "  return %%a : %s\n}\n",
           m, k, dtype, n, k, dtype, n, dtype, t, m, k, dtype, n, k, dtype, t, n, dtype, t, t, t);
  snprintf(name, sizeof name, "linear+bias %s %dx%dx%d", dtype, m, n, k);
  bench(name, text, false);
}

static void convolution(int n, int c, int h, int o, int k) {
  char text[4096], name[64], t[64], x[64], w[64];
  const int out = h - k + 1;
  snprintf(t, sizeof t, "tensor<%dx%dx%dx%dxf32>", n, o, out, out);
  snprintf(x, sizeof x, "tensor<%dx%dx%dx%dxf32>", n, c, h, h);
  snprintf(w, sizeof w, "tensor<%dx%dx%dx%dxf32>", o, c, k, k);
  snprintf(text, sizeof text,
           "func.func @main(%%x: %s, %%w: %s, %%b: tensor<%dxf32>) -> %s {\n"
           "  %%y = stablehlo.convolution(%%x, %%w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} "
           "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s\n"
           "  %%bb = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<%dxf32>) -> %s\n"
           "  %%a = stablehlo.add %%y, %%bb : %s\n"
           "  %%z = stablehlo.constant dense<0.0> : %s\n"
           "  %%r = stablehlo.maximum %%a, %%z : %s\n"
           "  return %%r : %s\n}\n",
           x, w, o, t, x, w, t, o, t, t, t, t, t);
  snprintf(name, sizeof name, "conv+bias+relu %dx%dx%d o%d k%d", n, c, h, o, k);
  bench(name, text, false);
}

static void adamw(int n) {
  char text[4096], name[64], t[32];
  snprintf(t, sizeof t, "tensor<%dxf32>", n);
  snprintf(text, sizeof text,
           "func.func @main(%%p: %s {tf.aliasing_output = 0 : i32}, %%g: %s, %%m: %s {tf.aliasing_output = 1 : i32}, %%v: %s {tf.aliasing_output = 2 : i32}) -> (%s, %s, %s) {\n"
           "  %%b1 = stablehlo.constant dense<0.9> : %s\n"
           "  %%c1 = stablehlo.constant dense<0.1> : %s\n"
           "  %%b2 = stablehlo.constant dense<0.999> : %s\n"
           "  %%c2 = stablehlo.constant dense<0.001> : %s\n"
           "  %%eps = stablehlo.constant dense<1.0e-8> : %s\n"
           "  %%lr = stablehlo.constant dense<0.003> : %s\n"
           "  %%m0 = stablehlo.multiply %%m, %%b1 : %s\n"
           "  %%m1 = stablehlo.multiply %%g, %%c1 : %s\n"
           "  %%mn = stablehlo.add %%m0, %%m1 : %s\n"
           "  %%gg = stablehlo.multiply %%g, %%g : %s\n"
           "  %%v0 = stablehlo.multiply %%v, %%b2 : %s\n"
           "  %%v1 = stablehlo.multiply %%gg, %%c2 : %s\n"
           "  %%vn = stablehlo.add %%v0, %%v1 : %s\n"
           "  %%s = stablehlo.sqrt %%vn : %s\n"
           "  %%d = stablehlo.add %%s, %%eps : %s\n"
           "  %%q = stablehlo.divide %%mn, %%d : %s\n"
           "  %%u = stablehlo.multiply %%q, %%lr : %s\n"
           "  %%pn = stablehlo.subtract %%p, %%u : %s\n"
           "  return %%pn, %%mn, %%vn : %s, %s, %s\n}\n",
           t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t);
  snprintf(name, sizeof name, "adamw in place %d", n);
  bench(name, text, true);
}

static void sin_and_cos(int n) {
  char text[1024], name[64];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<%dxf32>) -> (tensor<%dxf32>, tensor<%dxf32>) {\n"
           "  %%s = stablehlo.sine %%x : tensor<%dxf32>\n"
           "  %%c = stablehlo.cosine %%x : tensor<%dxf32>\n"
           "  return %%s, %%c : tensor<%dxf32>, tensor<%dxf32>\n}\n",
           n, n, n, n, n, n, n);
  snprintf(name, sizeof name, "sin and cos %d", n);
  bench(name, text, false);
}

int main(void) {
  tt_pool_set_threads(tt_pool_get(), 1);
  printf("%-32s %9s %9s  ratio   (%s, one thread)\n", "program", "separate", "fused", tt_k_isa_name(tt_k_isa()));
  linear("f32", 512, 1536, 576);
  linear("bf16", 512, 1536, 576);
  linear("f32", 2048, 2048, 2048);
  linear("bf16", 2048, 2048, 2048);
  convolution(8, 64, 58, 64, 3);
  adamw(1 << 22);
  adamw(1 << 16);
  sin_and_cos(1 << 22);
  sin_and_cos(1 << 24);
  adamw(1 << 24);
  return 0;
}
