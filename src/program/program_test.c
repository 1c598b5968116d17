// The compile driver through our own plugin (TORCH_TPU_PLUGIN): equal modules share an executable, a failure
// leaves nothing.
#include "program/program.h"

#include <stdio.h>

#include "base/test.h"
#include "base/thread.h"
#include "ir/text.h"

static tt_rt_client_t* client;
static tt_status_t need_client(void) {
  if (client) return TT_OK_STATUS;
  const char* path = getenv("TORCH_TPU_PLUGIN");
  if (!path) return tt_status_create(TT_FAILED_PRECONDITION, "TORCH_TPU_PLUGIN is not set");
  tt_rt_plugin_t* plugin;
  TT_RETURN_IF_ERROR(tt_rt_plugin_load(path, &plugin));
  tt_rt_option_t topology = {"topology", "v6e:1x2", 0};
  return tt_rt_client_create(plugin, &topology, 1, &client);
}

// x + x + ... on f32[n]; `op` names the operation
static tt_status_t program(const char* op, int n, tt_module_t** out) {
  char text[512];
  int size = snprintf(text, sizeof(text),
                      "module { func.func public @main(%%x: tensor<%dxf32>) -> tensor<%dxf32> {\n"
                      "  %%0 = stablehlo.%s %%x, %%x : tensor<%dxf32>\n"
                      "  return %%0 : tensor<%dxf32>\n} }\n",
                      n, n, op, n, n);
  return tt_module_parse(text, (size_t)size, out);
}
static tt_status_t compile(const char* op, int n, tt_program_options_t options, tt_rt_executable_t** out) {
  tt_module_t* module;
  TT_RETURN_IF_ERROR(program(op, n, &module));
  tt_status_t status = tt_program_compile(client, module, &options, out);
  tt_module_release(module);
  return status;
}

TT_TEST(program, equal_modules_share_an_executable_p1) {
  TT_EXPECT_OK(need_client());
  tt_program_cache_clear();
  tt_program_stats_t before, after;
  tt_program_stats(&before);
  tt_rt_executable_t *first, *again, *other_shape, *other_op, *other_device, *other_precision;
  TT_EXPECT_OK(compile("add", 4, (tt_program_options_t){0}, &first));
  TT_EXPECT_OK(compile("add", 4, (tt_program_options_t){0}, &again));
  TT_EXPECT(first == again);
  TT_EXPECT_OK(compile("add", 5, (tt_program_options_t){0}, &other_shape));
  TT_EXPECT_OK(compile("multiply", 4, (tt_program_options_t){0}, &other_op));
  TT_EXPECT_OK(compile("add", 4, (tt_program_options_t){.device = 1}, &other_device));
  TT_EXPECT_OK(compile("add", 4, (tt_program_options_t){.matmul_passes = 1}, &other_precision));
  TT_EXPECT(first != other_shape && first != other_op && first != other_device && first != other_precision);
  tt_program_stats(&after);
  TT_EXPECT_EQ(after.compiles - before.compiles, 5);
  TT_EXPECT_EQ(after.entries, 5);
  tt_rt_executable_release(first);
  tt_rt_executable_release(again);
  tt_rt_executable_release(other_shape);
  tt_rt_executable_release(other_op);
  tt_rt_executable_release(other_device);
  tt_rt_executable_release(other_precision);
}

TT_TEST(program, what_it_gives_computes) {
  TT_EXPECT_OK(need_client());
  tt_rt_executable_t* executable;
  TT_EXPECT_OK(compile("multiply", 3, (tt_program_options_t){0}, &executable));
  tt_program_cache_clear();  // the caller's reference holds
  const float x[3] = {2, -3, 0.5f};
  float y[3];
  tt_rt_buffer_t *input, *output;
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, (int64_t[]){3}, x, &input));
  TT_EXPECT_OK(tt_rt_execute(executable, 1, &input, NULL, 1, &output));
  TT_EXPECT_OK(tt_rt_buffer_to_host(output, y, sizeof(y)));
  TT_EXPECT(y[0] == 4 && y[1] == 9 && y[2] == 0.25f);
  tt_rt_buffer_release(input);
  tt_rt_buffer_release(output);
  tt_rt_executable_release(executable);
}

TT_TEST(program, a_failed_compile_leaves_nothing_p4) {
  TT_EXPECT_OK(need_client());
  tt_program_cache_clear();
  tt_rt_executable_t* executable;
  tt_program_options_t no_such_device = {.device = 7};
  TT_EXPECT_ERROR(compile("add", 4, no_such_device, &executable), TT_INVALID_ARGUMENT, "7");
  TT_EXPECT(!executable);
  tt_program_stats_t stats;
  tt_program_stats(&stats);
  TT_EXPECT_EQ(stats.entries, 0);
  // every allocation on the way may fail, and the next call succeeds
  int64_t live = 0;
  for (uint64_t nth = 1; nth < 10000; ++nth) {
    tt_module_t* module;
    TT_EXPECT_OK(program("subtract", 6, &module));
    tt_program_options_t options = {0};
    tt_alloc_fault_arm(nth);
    tt_status_t status = tt_program_compile(client, module, &options, &executable);
    bool fired = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    tt_module_release(module);
    if (!tt_status_is_ok(status)) TT_EXPECT_EQ(tt_status_code(status), TT_RESOURCE_EXHAUSTED);
    tt_status_free(status);
    tt_rt_executable_release(executable);
    tt_program_cache_clear();
    tt_program_stats(&stats);
    TT_EXPECT_EQ(stats.entries, 0);
    if (nth == 3) live = tt_alloc_stats().live_blocks;  // buffers of the plugin that stay are made by then
    if (nth > 3) TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
    if (!fired) return;
  }
  TT_EXPECT(!"the compile ends");
}

TT_TEST(program, bounded) {
  TT_EXPECT_OK(need_client());
  tt_program_cache_clear();
  tt_program_cache_set_capacity(8);
  for (int n = 1; n <= 40; ++n) {
    tt_rt_executable_t* executable;
    TT_EXPECT_OK(compile("add", n, (tt_program_options_t){0}, &executable));
    tt_rt_executable_release(executable);
  }
  tt_program_stats_t stats;
  tt_program_stats(&stats);
  TT_EXPECT_EQ(stats.entries, 8);
  tt_program_cache_set_capacity(4096);
}

typedef struct caller_s {
  int wrong;
} caller_t;
static void compile_often(void* arg) {
  caller_t* caller = arg;
  for (int i = 0; i < 200; ++i) {
    tt_rt_executable_t* executable = NULL;
    tt_program_options_t options = {0};
    tt_status_t status = compile(i % 2 ? "add" : "multiply", 1 + i % 20, options, &executable);
    if (!tt_status_is_ok(status) || !executable) ++caller->wrong;
    tt_status_free(status);
    tt_rt_executable_release(executable);
    if (i % 50 == 49) tt_program_cache_clear();
  }
}
TT_TEST(program, threads) {
  TT_EXPECT_OK(need_client());
  caller_t callers[3] = {{0}};
  tt_thread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    TT_EXPECT_OK(tt_thread_create(&threads[i], "caller", compile_often, &callers[i]));
  }
  for (int i = 0; i < 3; ++i) tt_thread_join(&threads[i]);
  for (int i = 0; i < 3; ++i) TT_EXPECT_EQ(callers[i].wrong, 0);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
