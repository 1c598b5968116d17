// The client against our own plugin, built beside this test (skipped where it is not): hand-over, donation,
// several devices, statistics, faults.
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/test.h"
#include "base/thread.h"
#include "ir/builder.h"
#include "runtime/runtime.h"

static const char* plugin_path(void) {
  static char path[PATH_MAX + 32];
  ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (size <= 0) return NULL;
  path[size] = '\0';
  char* slash = strrchr(path, '/');
  if (!slash) return NULL;
  strcpy(slash, "/libvtpu.so");
  return access(path, R_OK) == 0 ? path : NULL;
}

static tt_rt_plugin_t* plugin;
#define NEED_PLUGIN()                                                 \
  do {                                                                \
    const char* path_ = plugin_path();                                \
    if (!path_) TT_SKIP("libvtpu.so is not built beside this test");  \
    TT_EXPECT_OK(tt_rt_plugin_load(path_, &plugin));                  \
  } while (0)

static tt_status_t make_client(const char* topology, int64_t budget, tt_rt_client_t** out) {
  tt_rt_option_t options[2] = {{"topology", topology, 0}, {"memory_budget_bytes", NULL, budget}};
  return tt_rt_client_create(plugin, options, 2, out);
}

// module @axpy { main(a, b) = a * b + a } on f32[n]; `donate`: the result may take a over
static tt_status_t build_axpy(int64_t n, bool donate, tt_module_t** out) {
  TT_RETURN_IF_ERROR(tt_module_create(out));
  tt_builder_t b;
  tt_builder_initialize(&b, *out);
  const tt_type_t* type = tt_b_type(&b, TT_DTYPE_F32, 1, &n);
  const tt_type_t* types[2] = {type, type};
  tt_func_t* func = tt_b_func_begin(&b, "main", true, 2, types);
  if (func && donate) {
    tt_attr_t alias = tt_attr_int(TT_ATTR_ALIASING_OUTPUT, 0);
    alias.dtype = TT_DTYPE_S32;
    tt_b_func_arg_attr(&b, func, 0, alias);
  }
  tt_value_t* x = func ? tt_b_func_arg(func, 0) : NULL;
  tt_value_t* y = func ? tt_b_func_arg(func, 1) : NULL;
  tt_value_t* r = tt_b_binary(&b, TT_OP_ADD, tt_b_binary(&b, TT_OP_MULTIPLY, x, y), x);
  if (func) tt_b_func_end(&b, func, 1, &r);
  tt_status_t status = tt_builder_take_status(&b);
  tt_builder_deinitialize(&b);
  if (!tt_status_is_ok(status)) tt_module_release(*out);
  return status;
}

static const int64_t four[1] = {4};
static const float data_a[4] = {1, 2, 3, 4}, data_b[4] = {10, 20, 30, 40};
static const float want[4] = {11, 42, 93, 164};   // a * b + a, exact in float32

static tt_status_t run_axpy(tt_rt_client_t* client, bool donate, float* out) {
  tt_module_t* module = NULL;
  tt_rt_executable_t* executable = NULL;
  tt_rt_buffer_t *inputs[2] = {NULL, NULL}, *result = NULL;
  const bool flags[2] = {donate, false};
  tt_status_t status = build_axpy(4, donate, &module);
  if (tt_status_is_ok(status)) {
    status = tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, four, data_a, &inputs[0]);
  }
  if (tt_status_is_ok(status)) {
    status = tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, four, data_b, &inputs[1]);
  }
  if (tt_status_is_ok(status)) status = tt_rt_compile(client, module, NULL, &executable);
  if (module) tt_module_release(module);   // not kept by the executable
  if (tt_status_is_ok(status)) status = tt_rt_execute(executable, 2, inputs, flags, 1, &result);
  if (tt_status_is_ok(status)) status = tt_rt_buffer_to_host(result, out, 16);
  tt_rt_buffer_release(inputs[0]);
  tt_rt_buffer_release(inputs[1]);
  tt_rt_buffer_release(result);
  tt_rt_executable_release(executable);
  return status;
}

TT_TEST(vtpu, hand_over_and_text_agree) {
  NEED_PLUGIN();
  TT_EXPECT_STR(tt_rt_plugin_ir_fingerprint(plugin), tt_rt_ir_fingerprint());
  tt_rt_client_t* client;
  TT_EXPECT_OK(make_client("v6e", 1 << 24, &client));
  TT_EXPECT(tt_rt_client_target(client)->is_vtpu);
  for (int text = 0; text < 2; ++text) {
    tt_rt_client_set_ir_handover(client, !text);
    for (int donate = 0; donate < 2; ++donate) {
      float out[4] = {0};
      TT_EXPECT_OK(run_axpy(client, donate, out));
      for (int i = 0; i < 4; ++i) TT_EXPECT_EQ(out[i], want[i]);
    }
  }
  tt_rt_client_release(client);
}

TT_TEST(vtpu, donation_is_the_callers_choice) {
  NEED_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(make_client("v6e", 1 << 24, &client));
  tt_module_t* module;
  tt_rt_executable_t* executable;
  TT_EXPECT_OK(build_axpy(4, true, &module));
  TT_EXPECT_OK(tt_rt_compile(client, module, NULL, &executable));
  tt_module_release(module);
  tt_rt_buffer_t *inputs[2], *result;
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, four, data_a, &inputs[0]));
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, four, data_b, &inputs[1]));
  float out[4];
  TT_EXPECT_OK(tt_rt_execute(executable, 2, inputs, NULL, 1, &result));  // NULL: nothing is donated
  TT_EXPECT_OK(tt_rt_buffer_to_host(inputs[0], out, 16));
  TT_EXPECT_EQ(out[3], 4);
  tt_rt_buffer_release(result);
  const void* address = tt_rt_buffer_host_pointer(inputs[0]);
  const bool donate[2] = {true, false};
  TT_EXPECT_OK(tt_rt_execute(executable, 2, inputs, donate, 1, &result));
  TT_EXPECT(tt_rt_buffer_host_pointer(result) == address);
  TT_EXPECT_ERROR(tt_rt_buffer_to_host(inputs[0], out, 16), TT_INVALID_ARGUMENT, "donated");
  TT_EXPECT_OK(tt_rt_buffer_to_host(result, out, 16));
  TT_EXPECT_EQ(out[3], 164);
  tt_rt_buffer_release(result);
  tt_rt_buffer_release(inputs[0]);
  tt_rt_buffer_release(inputs[1]);
  tt_rt_executable_release(executable);
  tt_rt_client_release(client);
}

TT_TEST(vtpu, devices_and_memory) {
  NEED_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(make_client("v6e:2x2", 8 << 20, &client));
  TT_EXPECT_EQ(tt_rt_client_device_count(client), 4);
  tt_rt_device_info_t info;
  TT_EXPECT_OK(tt_rt_device_info(client, 3, &info));
  TT_EXPECT_STR(info.kind, "TPU v6e (virtual, CPU)");
  TT_EXPECT_EQ(info.coords[0], 1);
  TT_EXPECT_EQ(info.coords[1], 1);
  tt_rt_memory_stats_t stats;
  const int64_t dims[1] = {1 << 18};
  static float data[1 << 18];
  tt_rt_buffer_t *buffer, *copy, *more;
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 3, TT_DTYPE_F32, 1, dims, data, &buffer));
  TT_EXPECT_OK(tt_rt_device_memory_stats(client, 3, &stats));
  TT_EXPECT_EQ(stats.bytes_in_use, 1 << 20);
  TT_EXPECT_EQ(stats.bytes_limit, 8 << 20);
  TT_EXPECT_OK(tt_rt_device_memory_stats(client, 0, &stats));
  TT_EXPECT_EQ(stats.bytes_in_use, 0);
  TT_EXPECT_OK(tt_rt_buffer_copy_to_device(buffer, 0, &copy));
  TT_EXPECT_OK(tt_rt_device_memory_stats(client, 0, &stats));
  TT_EXPECT_EQ(stats.bytes_in_use, 1 << 20);
  tt_rt_buffer_release(copy);
  TT_EXPECT_OK(tt_rt_device_memory_stats(client, 0, &stats));
  TT_EXPECT_EQ(stats.bytes_in_use, 0);
  TT_EXPECT_EQ(stats.peak_bytes_in_use, 1 << 20);
  TT_EXPECT(stats.bytes_reserved > 0);
  tt_rt_device_trim(client, 0);
  tt_rt_device_reset_peak(client, 0);
  TT_EXPECT_OK(tt_rt_device_memory_stats(client, 0, &stats));
  TT_EXPECT_EQ(stats.bytes_reserved, 0);
  TT_EXPECT_EQ(stats.peak_bytes_in_use, 0);
  const int64_t large[1] = {1 << 21};
  TT_EXPECT_ERROR(tt_rt_buffer_from_host(client, 3, TT_DTYPE_F32, 1, large, data, &more),
                  TT_RESOURCE_EXHAUSTED, "budget 8388608");
  tt_rt_buffer_release(buffer);
  tt_rt_client_release(client);
  TT_EXPECT_ERROR(make_client("v6e:3", 0, &client), TT_INVALID_ARGUMENT, "v6e:3");
}

TT_TEST(vtpu, replicas_sum) {
  NEED_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(make_client("v6e:2x2", 8 << 20, &client));
  static const char program[] =
      "module @sum {\n"
      "  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "    %0 = \"stablehlo.all_reduce\"(%a) ({\n"
      "    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "      %s = stablehlo.add %x, %y : tensor<f32>\n"
      "      stablehlo.return %s : tensor<f32>\n"
      "    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4xf32>) -> tensor<4xf32>\n"
      "    return %0 : tensor<4xf32>\n"
      "  }\n"
      "}\n";
  tt_rt_compile_options_t options = {.num_replicas = 4};
  tt_rt_executable_t* executable;
  TT_EXPECT_OK(tt_rt_compile_text(client, program, strlen(program), &options, &executable));
  tt_rt_buffer_t *inputs[4], *outputs[4];
  for (size_t d = 0; d < 4; ++d) {
    float data[4];
    for (int i = 0; i < 4; ++i) data[i] = (float)(i + 10 * (int)d);
    TT_EXPECT_OK(tt_rt_buffer_from_host(client, d, TT_DTYPE_F32, 1, four, data, &inputs[d]));
  }
  TT_EXPECT_OK(tt_rt_execute_sharded(executable, 4, 1, inputs, 1, outputs));
  for (size_t d = 0; d < 4; ++d) {
    float out[4];
    TT_EXPECT_OK(tt_rt_buffer_to_host(outputs[d], out, 16));
    for (int i = 0; i < 4; ++i) TT_EXPECT_EQ(out[i], 4 * i + 60);
    TT_EXPECT_EQ(tt_rt_buffer_device(outputs[d]), d);
    tt_rt_buffer_release(inputs[d]);
    tt_rt_buffer_release(outputs[d]);
  }
  tt_rt_executable_release(executable);
  tt_rt_client_release(client);
}

// More arguments and results than the stack arrays hold.
TT_TEST(vtpu, many_arguments_and_results) {
  NEED_PLUGIN();
  enum { N = 90 };
  tt_rt_client_t* client;
  TT_EXPECT_OK(make_client("v6e", 1 << 24, &client));
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_strbuf_puts(&text, "module @many { func.func public @main(");
  for (int i = 0; i < N; ++i) {
    // every second one may be taken over by its result
    tt_strbuf_printf(&text, "%s%%a%d: tensor<4xf32>", i ? ", " : "", i);
    if (i % 2) tt_strbuf_printf(&text, " {tf.aliasing_output = %d : i32}", i);
  }
  tt_strbuf_puts(&text, ") -> (");
  for (int i = 0; i < N; ++i) tt_strbuf_printf(&text, "%stensor<4xf32>", i ? ", " : "");
  tt_strbuf_puts(&text, ") {\n");
  for (int i = 0; i < N; ++i) {
    tt_strbuf_printf(&text, "%%r%d = stablehlo.add %%a%d, %%a%d : tensor<4xf32>\n", i, i, i);
  }
  tt_strbuf_puts(&text, "return ");
  for (int i = 0; i < N; ++i) tt_strbuf_printf(&text, "%s%%r%d", i ? ", " : "", i);
  tt_strbuf_puts(&text, " : ");
  for (int i = 0; i < N; ++i) tt_strbuf_printf(&text, "%stensor<4xf32>", i ? ", " : "");
  tt_strbuf_puts(&text, "\n} }\n");
  tt_rt_executable_t* executable;
  TT_EXPECT_OK(tt_rt_compile_text(client, text.data, text.size, NULL, &executable));
  tt_strbuf_deinitialize(&text);
  tt_rt_buffer_t *inputs[N], *outputs[N];
  bool donate[N];
  for (int i = 0; i < N; ++i) {
    const float data[4] = {(float)i, 1, 2, 3};
    donate[i] = i % 4 == 1;
    TT_EXPECT_OK(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, four, data, &inputs[i]));
  }
  for (int round = 0; round < 2; ++round) {
    TT_EXPECT_OK(tt_rt_execute(executable, N, inputs, round ? donate : NULL, N, outputs));
    for (int i = 0; i < N; ++i) {
      float out[4];
      TT_EXPECT_OK(tt_rt_buffer_to_host(outputs[i], out, 16));
      TT_EXPECT_EQ(out[0], 2 * i);
      TT_EXPECT_EQ(out[3], 6);
      tt_rt_buffer_release(outputs[i]);
    }
  }
  for (int i = 0; i < N; ++i) {
    float out[4];
    tt_status_t status = tt_rt_buffer_to_host(inputs[i], out, 16);
    TT_EXPECT_EQ(tt_status_code(status), donate[i] ? TT_INVALID_ARGUMENT : TT_OK);
    tt_status_free(status);
    tt_rt_buffer_release(inputs[i]);
  }
  tt_rt_executable_release(executable);
  tt_rt_client_release(client);
}

TT_TEST(vtpu, every_plugin_call_and_allocation_may_fail) {
  NEED_PLUGIN();
  float out[4];
  for (int kind = 0; kind < 2; ++kind) {
    int64_t live = tt_alloc_stats().live_blocks;
    int fired = 0;
    for (uint64_t nth = 1; nth < 500; ++nth, ++fired) {
      kind ? tt_alloc_fault_arm(nth) : tt_rt_fault_arm(nth);
      tt_rt_client_t* client = NULL;
      tt_status_t status = make_client("v6e", 1 << 24, &client);
      if (tt_status_is_ok(status)) status = run_axpy(client, true, out);
      tt_rt_client_release(client);
      bool hit = kind ? tt_alloc_fault_fired() : tt_rt_fault_fired();
      tt_alloc_fault_arm(0);
      tt_rt_fault_arm(0);
      TT_EXPECT(hit || tt_status_is_ok(status));
      if (!tt_status_is_ok(status)) {
        TT_EXPECT_EQ(tt_status_code(status), kind ? TT_RESOURCE_EXHAUSTED : TT_INTERNAL);
      }
      tt_status_free(status);
      TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
      if (!hit) break;
    }
    TT_EXPECT(fired > 10);
  }
}

// Printed, not judged: the client's call of a tiny program.
TT_TEST(vtpu, execute_cost) {
  NEED_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(make_client("v6e", 1 << 24, &client));
  tt_module_t* module;
  tt_rt_executable_t* executable;
  TT_EXPECT_OK(build_axpy(4, false, &module));
  int64_t compile = INT64_MAX;
  for (int i = 0; i < 50; ++i) {
    int64_t start = tt_clock_ns();
    TT_EXPECT_OK(tt_rt_compile(client, module, NULL, &executable));
    int64_t spent = tt_clock_ns() - start;
    if (spent < compile) compile = spent;
    if (i < 49) tt_rt_executable_release(executable);
  }
  tt_module_release(module);
  tt_rt_buffer_t *inputs[2], *result;
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, four, data_a, &inputs[0]));
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, four, data_b, &inputs[1]));
  int64_t best = INT64_MAX;
  for (int round = 0; round < 7; ++round) {
    int64_t start = tt_clock_ns();
    for (int i = 0; i < 10000; ++i) {
      TT_EXPECT_OK(tt_rt_execute(executable, 2, inputs, NULL, 1, &result));
      tt_rt_buffer_release(result);
    }
    int64_t spent = tt_clock_ns() - start;
    if (spent < best) best = spent;
  }
  printf("f32[4] a*b+a: compile %.1f us, execute + release %.0f ns\n", (double)compile / 1e3,
         (double)best / 10000);
  tt_rt_buffer_release(inputs[0]);
  tt_rt_buffer_release(inputs[1]);
  tt_rt_executable_release(executable);
  tt_rt_client_release(client);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
