// The client against two plugins: XLA:CPU from a wheel (skipped where it is not installed) and a fake whose
// table is cut short.
#include "runtime/runtime.h"

#include <glob.h>
#include <math.h>

#include "base/test.h"
#include "pjrt/pjrt_c_api.h"

// ---- the CPU plugin ----------------------------------------------------------------------------
static const char* cpu_plugin_path(void) {
  static char path[1024];
  if (path[0]) return path;
  const char* given = getenv("TT_TEST_CPU_PLUGIN");
  if (given) {
    snprintf(path, sizeof(path), "%s", given);
    return path;
  }
  char pattern[1024];
  const char* file = __FILE__;
  const char* at = strstr(file, "src/runtime/");
  snprintf(pattern, sizeof(pattern),
           "%.*s.venv/lib/python3*/site-packages/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
           at ? (int)(at - file) : 0, file);
  glob_t found;
  if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc) {
    snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
  }
  globfree(&found);
  return path[0] ? path : NULL;
}

static tt_rt_plugin_t* cpu_plugin;
#define NEED_CPU_PLUGIN()                                                           \
  do {                                                                              \
    const char* cpu_path_ = cpu_plugin_path();                                      \
    if (!cpu_path_) TT_SKIP("the wheel lammps-jax-pjrt-cpu is not installed");      \
    TT_EXPECT_OK(tt_rt_plugin_load(cpu_path_, &cpu_plugin));                        \
  } while (0)

static const char matmul[] =
    "module @jit_mm {\n"
    "  func.func public @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<2x2xf32> {\n"
    "    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
    "tensor<3x2xf32>) -> "
    "tensor<2x2xf32>\n"
    "    return %0 : tensor<2x2xf32>\n"
    "  }\n"
    "}\n";
static const float mm_a[6] = {1, 2, 3, 4, 5, 6}, mm_b[6] = {7, 8, 9, 10, 11, 12};
static const float mm_c[4] = {58, 64, 139, 154};  // by hand

static tt_status_t run_matmul(tt_rt_client_t* client, size_t device, float* out) {
  const int64_t dims_a[2] = {2, 3}, dims_b[2] = {3, 2};
  tt_rt_buffer_t *inputs[2] = {NULL, NULL}, *result = NULL;
  tt_rt_executable_t* executable = NULL;
  tt_rt_compile_options_t options = {.device = device};
  tt_status_t status = tt_rt_buffer_from_host(client, device, TT_DTYPE_F32, 2, dims_a, mm_a, &inputs[0]);
  if (tt_status_is_ok(status)) {
    status = tt_rt_buffer_from_host(client, device, TT_DTYPE_F32, 2, dims_b, mm_b, &inputs[1]);
  }
  if (tt_status_is_ok(status)) {
    status = tt_rt_compile_text(client, matmul, strlen(matmul), &options, &executable);
  }
  if (tt_status_is_ok(status)) status = tt_rt_execute(executable, 2, inputs, NULL, 1, &result);
  if (tt_status_is_ok(status)) status = tt_rt_buffer_to_host(result, out, 16);
  tt_rt_buffer_release(inputs[0]);
  tt_rt_buffer_release(inputs[1]);
  tt_rt_buffer_release(result);
  tt_rt_executable_release(executable);
  return status;
}

TT_TEST(runtime, cpu_plugin_matmul_on_every_device) {
  NEED_CPU_PLUGIN();
  int major, minor;
  tt_rt_plugin_version(cpu_plugin, &major, &minor);
  TT_EXPECT_EQ(major, 0);
  TT_EXPECT(minor > 54);
  TT_EXPECT_STR(tt_rt_plugin_ir_fingerprint(cpu_plugin), "");
  tt_rt_client_t* client;
  TT_EXPECT_OK(tt_rt_client_create(cpu_plugin, NULL, 0, &client));
  TT_EXPECT_STR(tt_rt_client_target(client)->name, "foreign");
  size_t devices = tt_rt_client_device_count(client);
  TT_EXPECT(devices >= 1);
  for (size_t d = 0; d < devices; ++d) {
    tt_rt_device_info_t info;
    TT_EXPECT_OK(tt_rt_device_info(client, d, &info));
    TT_EXPECT(info.kind[0] != '\0');
    float out[4] = {0};
    TT_EXPECT_OK(run_matmul(client, d, out));
    for (int i = 0; i < 4; ++i) TT_EXPECT_EQ(out[i], mm_c[i]);
  }
  tt_rt_client_release(client);
}

TT_TEST(runtime, loading_twice_gives_the_same_plugin) {
  NEED_CPU_PLUGIN();
  tt_rt_plugin_t* again;
  TT_EXPECT_OK(tt_rt_plugin_load(cpu_plugin_path(), &again));
  TT_EXPECT(again == cpu_plugin);
}

TT_TEST(runtime, cpu_plugin_errors_keep_their_codes) {
  NEED_CPU_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(tt_rt_client_create(cpu_plugin, NULL, 0, &client));
  tt_rt_executable_t* executable;
  const char bad[] = "module { func.func @main() -> tensor<f32> { %0 = stablehlo.nonesuch : tensor<f32> } }";
  tt_status_t status = tt_rt_compile_text(client, bad, strlen(bad), NULL, &executable);
  TT_EXPECT(!tt_status_is_ok(status));
  TT_EXPECT_CONTAINS(tt_status_message(status), "nonesuch");
  tt_status_free(status);
  tt_rt_compile_options_t many = {.num_replicas = 1000};
  TT_EXPECT_ERROR(tt_rt_compile_text(client, matmul, strlen(matmul), &many, &executable), TT_INVALID_ARGUMENT,
                  "1000");
  tt_rt_compile_options_t far = {.device = 99};
  TT_EXPECT_ERROR(tt_rt_compile_text(client, matmul, strlen(matmul), &far, &executable), TT_INVALID_ARGUMENT,
                  "99");
  const int64_t dims[1] = {-1};
  tt_rt_buffer_t* buffer;
  TT_EXPECT_ERROR(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, dims, mm_a, &buffer),
                  TT_INVALID_ARGUMENT, "-1");
  const int64_t four[1] = {4};
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, four, mm_a, &buffer));
  float out[4];
  TT_EXPECT_ERROR(tt_rt_buffer_to_host(buffer, out, 12), TT_INVALID_ARGUMENT, "12");
  TT_EXPECT_OK(tt_rt_buffer_await(buffer));
  tt_rt_event_t* ready = NULL;
  bool is_done = false;
  TT_EXPECT_OK(tt_rt_buffer_ready_event(buffer, &ready));
  TT_EXPECT_OK(tt_rt_event_wait(ready));
  TT_EXPECT_OK(tt_rt_event_poll(ready, &is_done));
  TT_EXPECT(is_done);
  tt_rt_event_release(ready);
  // transfers that go on after the return
  float kept[4] = {1, 2, 3, 4}, arrived[4] = {0};
  tt_rt_buffer_t* later = NULL;
  tt_rt_event_t* event = NULL;
  TT_EXPECT_OK(tt_rt_buffer_from_host_async(client, 0, TT_DTYPE_F32, 1, four, kept, &later, &event));
  if (event) TT_EXPECT_OK(tt_rt_event_wait(event));
  tt_rt_event_release(event);
  memset(kept, 0, sizeof(kept));
  TT_EXPECT_OK(tt_rt_buffer_to_host_async(later, arrived, sizeof(arrived), &event));
  tt_rt_buffer_release(later);   // the transfer keeps what it needs
  if (event) TT_EXPECT_OK(tt_rt_event_wait(event));
  tt_rt_event_release(event);
  TT_EXPECT_EQ(arrived[3], 4);
  // notes: what an error that comes late is about
  tt_rt_note_t* note = NULL;
  TT_EXPECT_OK(tt_rt_note_create("op(a, b)", &note));
  tt_rt_buffer_set_note(buffer, note);
  tt_rt_note_release(note);
  tt_rt_fault_arm(1);
  TT_EXPECT_ERROR(tt_rt_buffer_await(buffer), TT_INTERNAL, "op(a, b): ");
  tt_rt_fault_arm(1);
  TT_EXPECT_ERROR(tt_rt_buffer_to_host(buffer, out, 16), TT_INTERNAL, "op(a, b): ");
  tt_rt_fault_arm(0);
  TT_EXPECT(tt_rt_buffer_host_pointer(buffer) == NULL);
  tt_rt_buffer_release(buffer);
  tt_rt_client_release(client);
}

TT_TEST(runtime, strided_upload_and_device_copy) {
  NEED_CPU_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(tt_rt_client_create(cpu_plugin, NULL, 0, &client));
  const float data[6] = {0, 1, 2, 3, 4, 5};
  const int64_t dims[2] = {3, 2};
  const int64_t transposed[2] = {4, 12}, reversed[2] = {-8, 4};
  float out[6];
  tt_rt_buffer_t* buffer;
  TT_EXPECT_OK(tt_rt_buffer_from_host_strided(client, 0, TT_DTYPE_F32, 2, dims, transposed, data, &buffer));
  TT_EXPECT_OK(tt_rt_buffer_to_host(buffer, out, sizeof(out)));
  const float want_transposed[6] = {0, 3, 1, 4, 2, 5};
  TT_EXPECT(memcmp(out, want_transposed, sizeof(out)) == 0);
  tt_rt_buffer_release(buffer);
  TT_EXPECT_OK(tt_rt_buffer_from_host_strided(client, 0, TT_DTYPE_F32, 2, dims, reversed, data + 4, &buffer));
  TT_EXPECT_OK(tt_rt_buffer_to_host(buffer, out, sizeof(out)));
  const float want_reversed[6] = {4, 5, 2, 3, 0, 1};
  TT_EXPECT(memcmp(out, want_reversed, sizeof(out)) == 0);
  if (tt_rt_client_device_count(client) > 1) {
    tt_rt_buffer_t* copy;
    TT_EXPECT_OK(tt_rt_buffer_copy_to_device(buffer, 1, &copy));
    TT_EXPECT_EQ(tt_rt_buffer_device(copy), 1);
    memset(out, 0, sizeof(out));
    TT_EXPECT_OK(tt_rt_buffer_to_host(copy, out, sizeof(out)));
    TT_EXPECT(memcmp(out, want_reversed, sizeof(out)) == 0);
    tt_rt_buffer_release(copy);
  }
  tt_rt_buffer_release(buffer);
  tt_rt_client_release(client);
}

TT_TEST(runtime, every_replica_runs) {
  NEED_CPU_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(tt_rt_client_create(cpu_plugin, NULL, 0, &client));
  if (tt_rt_client_device_count(client) < 2) {
    tt_rt_client_release(client);
    TT_SKIP("the plugin has one device");
  }
  static const char program[] =
      "module @sum {\n"
      "  func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "    %0 = \"stablehlo.all_reduce\"(%a) ({\n"
      "    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "      %s = stablehlo.add %x, %y : tensor<f32>\n"
      "      stablehlo.return %s : tensor<f32>\n"
      "    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>\n"
      "    return %0 : tensor<2xf32>\n"
      "  }\n"
      "}\n";
  tt_rt_compile_options_t options = {.num_replicas = 2};
  tt_rt_executable_t* executable;
  TT_EXPECT_OK(tt_rt_compile_text(client, program, strlen(program), &options, &executable));
  const int64_t dims[1] = {2};
  tt_rt_buffer_t *inputs[2], *outputs[2];
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 0, TT_DTYPE_F32, 1, dims, mm_a, &inputs[0]));
  TT_EXPECT_OK(tt_rt_buffer_from_host(client, 1, TT_DTYPE_F32, 1, dims, mm_b, &inputs[1]));
  TT_EXPECT_OK(tt_rt_execute_sharded(executable, 2, 1, inputs, 1, outputs));
  for (int d = 0; d < 2; ++d) {
    float out[2];
    TT_EXPECT_OK(tt_rt_buffer_to_host(outputs[d], out, sizeof(out)));
    TT_EXPECT_EQ(out[0], 8);
    TT_EXPECT_EQ(out[1], 10);
    tt_rt_buffer_release(outputs[d]);
    tt_rt_buffer_release(inputs[d]);
  }
  tt_rt_executable_release(executable);
  tt_rt_client_release(client);
}

// Each plugin call of a whole life fails once: an error comes out, nothing leaks, the next try works.
TT_TEST(runtime, every_plugin_call_may_fail) {
  NEED_CPU_PLUGIN();
  int64_t live = tt_alloc_stats().live_blocks;
  int fired = 0;
  for (uint64_t nth = 1; nth < 500; ++nth) {
    tt_rt_fault_arm(nth);
    tt_rt_client_t* client = NULL;
    float out[4] = {0};
    tt_status_t status = tt_rt_client_create(cpu_plugin, NULL, 0, &client);
    if (tt_status_is_ok(status)) status = run_matmul(client, 0, out);
    tt_rt_client_release(client);
    bool hit = tt_rt_fault_fired();
    tt_rt_fault_arm(0);
    if (!tt_status_is_ok(status)) {
      TT_EXPECT_EQ(tt_status_code(status), TT_INTERNAL);
      TT_EXPECT_CONTAINS(tt_status_message(status), "injected");
      tt_status_free(status);
    }
    TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
    if (!hit) {
      TT_EXPECT_EQ(out[3], 154);
      break;
    }
    ++fired;
  }
  TT_EXPECT(fired > 20);
}

TT_TEST(runtime, every_allocation_may_fail) {
  NEED_CPU_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(tt_rt_client_create(cpu_plugin, NULL, 0, &client));
  float out[4];
  TT_EXPECT_OK(run_matmul(client, 0, out));  // buffer records exist from here on
  int64_t live = tt_alloc_stats().live_blocks;
  for (uint64_t nth = 1; nth < 200; ++nth) {
    tt_alloc_fault_arm(nth);
    tt_status_t status = run_matmul(client, 0, out);
    bool hit = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    if (!tt_status_is_ok(status)) {
      TT_EXPECT_EQ(tt_status_code(status), TT_RESOURCE_EXHAUSTED);
      tt_status_free(status);
    }
    TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
    if (!hit) break;
  }
  tt_rt_client_release(client);
}

// ---- loading errors ----------------------------------------------------------------------------
TT_TEST(runtime, load_errors_say_why) {
  tt_rt_plugin_t* plugin;
  TT_EXPECT_ERROR(tt_rt_plugin_load("/nonesuch/plugin.so", &plugin), TT_NOT_FOUND, "/nonesuch/plugin.so");
  TT_EXPECT_ERROR(tt_rt_plugin_load("libm.so.6", &plugin), TT_UNIMPLEMENTED, "GetPjrtApi");
}

// ---- a fake plugin -----------------------------------------------------------------------------
static PJRT_Error* fake_initialize(PJRT_Plugin_Initialize_Args* args) {
  return args->struct_size == sizeof(*args) ? NULL : (PJRT_Error*)"bad";
}
static const char fake_text[] = "the fake fails";
static PJRT_Error* fake_create(PJRT_Client_Create_Args* args) {
  (void)args;
  return (PJRT_Error*)(uintptr_t)fake_text;
}
static int fake_destroyed;
static void fake_error_destroy(PJRT_Error_Destroy_Args* args) {
  fake_destroyed += args->error == (void*)fake_text;
}
static void fake_error_message(PJRT_Error_Message_Args* args) {
  args->message = (const char*)args->error;
  args->message_size = strlen(args->message);
}
static PJRT_Error* fake_error_code(PJRT_Error_GetCode_Args* args) {
  args->code = PJRT_Error_Code_UNAVAILABLE;
  return NULL;
}

static PJRT_Error* fake_destroy(void* args) {
  (void)args;
  return NULL;
}

static PJRT_Api fake_api(int major, int minor, size_t size) {
  PJRT_Api api;
  memset(&api, 0, sizeof(api));
  api.struct_size = size;
  api.pjrt_api_version.struct_size = sizeof(api.pjrt_api_version);
  api.pjrt_api_version.major_version = major;
  api.pjrt_api_version.minor_version = minor;
  api.Error_Destroy = fake_error_destroy;
  api.Error_Message = fake_error_message;
  api.Error_GetCode = fake_error_code;
  api.Plugin_Initialize = fake_initialize;
  api.Client_Create = fake_create;
  // what the client cannot do without
  api.Event_Destroy = (PJRT_Error * (*)(PJRT_Event_Destroy_Args*)) fake_destroy;
  api.Client_Destroy = (PJRT_Error * (*)(PJRT_Client_Destroy_Args*)) fake_destroy;
  api.Buffer_Destroy = (PJRT_Error * (*)(PJRT_Buffer_Destroy_Args*)) fake_destroy;
  api.Executable_Destroy = (PJRT_Error * (*)(PJRT_Executable_Destroy_Args*)) fake_destroy;
  api.LoadedExecutable_Destroy = (PJRT_Error * (*)(PJRT_LoadedExecutable_Destroy_Args*)) fake_destroy;
  return api;
}

TT_TEST(runtime, versions_are_negotiated) {
  tt_rt_plugin_t* plugin;
  static PJRT_Api wrong_major, too_old, short_table, good;
  wrong_major = fake_api(1, 104, sizeof(PJRT_Api));
  too_old = fake_api(0, 12, sizeof(PJRT_Api));
  short_table = fake_api(0, 104, 100);
  good = fake_api(0, 60, PJRT_SIZE_THROUGH(PJRT_Api, Buffer_OpaqueDeviceMemoryDataPointer));
  TT_EXPECT_ERROR(tt_rt_plugin_from_api(&wrong_major, "fake1", &plugin), TT_FAILED_PRECONDITION, "1.104");
  TT_EXPECT_ERROR(tt_rt_plugin_from_api(&too_old, "fake2", &plugin), TT_FAILED_PRECONDITION, "0.12");
  TT_EXPECT_ERROR(tt_rt_plugin_from_api(&short_table, "fake3", &plugin), TT_FAILED_PRECONDITION, "100 bytes");
  TT_EXPECT_ERROR(tt_rt_plugin_from_api(NULL, "fake4", &plugin), TT_FAILED_PRECONDITION, "fake4");
  TT_EXPECT_OK(tt_rt_plugin_from_api(&good, "fake5", &plugin));
  TT_EXPECT_STR(tt_rt_plugin_path(plugin), "fake5");
  // the plugin's error comes through with its code, and is destroyed once
  tt_rt_client_t* client;
  int destroyed = fake_destroyed;
  TT_EXPECT_ERROR(tt_rt_client_create(plugin, NULL, 0, &client), TT_UNAVAILABLE, "the fake fails");
  TT_EXPECT_EQ(fake_destroyed, destroyed + 1);
}

static int fake_callback_code;
static char fake_message[64];
// A plugin that stores a key while its client is made, reads it back, and then misses another one.
static PJRT_Error* fake_callback_error(PJRT_Error_Code code, const char* message, size_t size) {
  (void)size;
  fake_callback_code = (int)code;
  snprintf(fake_message, sizeof(fake_message), "%s", message);
  return (PJRT_Error*)fake_message;
}
static char fake_value[16];
static PJRT_Error* fake_create_with_store(PJRT_Client_Create_Args* args) {
  PJRT_CallbackError make = fake_callback_error;
  PJRT_KeyValuePutCallback_Args put = {.struct_size = sizeof(put),
                                       .key = "rank0",
                                       .key_size = 5,
                                       .value = "here",
                                       .value_size = 4,
                                       .callback_error = &make,
                                       .user_arg = args->kv_put_user_arg};
  PJRT_Error* error = args->kv_put_callback(&put);
  if (error) return error;
  PJRT_KeyValueGetCallback_Args get = {.struct_size = sizeof(get),
                                       .key = "rank0",
                                       .key_size = 5,
                                       .timeout_in_ms = 10,
                                       .callback_error = &make,
                                       .user_arg = args->kv_get_user_arg};
  error = args->kv_get_callback(&get);
  if (error) return error;
  snprintf(fake_value, sizeof(fake_value), "%.*s", (int)get.value_size, get.value);
  get.value_deleter_callback(get.value);
  PJRT_KeyValueTryGetCallback_Args miss = {.struct_size = sizeof(miss), .key = "rank1", .key_size = 5,
                                           .callback_error = &make, .user_arg = args->kv_try_get_user_arg};
  return args->kv_try_get_callback(&miss);
}

typedef struct one_key_s { char key[16], value[16]; size_t value_size; } one_key_t;
static tt_status_t one_put(void* self, const char* key, size_t key_size, const char* value,
                           size_t value_size) {
  one_key_t* store = self;
  snprintf(store->key, sizeof(store->key), "%.*s", (int)key_size, key);
  memcpy(store->value, value, value_size);
  store->value_size = value_size;
  return TT_OK_STATUS;
}
static tt_status_t one_get(void* self, const char* key, size_t key_size, int64_t timeout_ms, char** out,
                           size_t* out_size) {
  one_key_t* store = self;
  (void)timeout_ms;
  if (strlen(store->key) != key_size || memcmp(store->key, key, key_size) != 0) {
    return tt_status_create(TT_NOT_FOUND, "no key %.*s", (int)key_size, key);
  }
  *out_size = store->value_size;
  return tt_strndup(store->value, store->value_size, out);
}

TT_TEST(runtime, key_value_store_is_passed_on) {
  static PJRT_Api api;
  api = fake_api(0, 104, sizeof(PJRT_Api));
  api.Client_Create = fake_create_with_store;
  tt_rt_plugin_t* plugin;
  TT_EXPECT_OK(tt_rt_plugin_from_api(&api, "fake-store", &plugin));
  one_key_t memory = {{0}, {0}, 0};
  tt_rt_store_t store = {&memory, one_put, one_get};
  tt_rt_client_t* client;
  int64_t live = tt_alloc_stats().live_blocks;
  TT_EXPECT_ERROR(tt_rt_client_create_with_store(plugin, NULL, 0, &store, &client), TT_UNAVAILABLE,
                  "no key rank1");
  TT_EXPECT_STR(fake_value, "here");
  TT_EXPECT_EQ(fake_callback_code, TT_NOT_FOUND);
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, live);
}

TT_TEST(runtime, counters_go_up) {
  NEED_CPU_PLUGIN();
  tt_rt_client_t* client;
  TT_EXPECT_OK(tt_rt_client_create(cpu_plugin, NULL, 0, &client));
  tt_rt_counters_t before, after;
  tt_rt_counters(&before);
  float out[4];
  TT_EXPECT_OK(run_matmul(client, 0, out));
  tt_rt_counters(&after);
  TT_EXPECT_EQ(after.executions - before.executions, 1);
  TT_EXPECT_EQ(after.compiles - before.compiles, 1);
  TT_EXPECT_EQ(after.copies_to_device - before.copies_to_device, 2);
  TT_EXPECT_EQ(after.bytes_to_device - before.bytes_to_device, 48);
  TT_EXPECT_EQ(after.bytes_to_host - before.bytes_to_host, 16);
  TT_EXPECT(after.compile_ns > before.compile_ns);
  tt_rt_client_release(client);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
