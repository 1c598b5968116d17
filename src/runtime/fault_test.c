// The client against a plugin that fails on request (tests/fake/fake.h): every call that a whole life makes
// fails in every way, and each time an error that names the call comes out, nothing leaks and the next life
// works. Skipped where the fake or libvtpu.so is not built beside this test.
#define _GNU_SOURCE
#include "fake/open.h"

#include <stdio.h>

#include "base/test.h"
#include "pjrt/pjrt_c_api.h"
#include "runtime/ahead.h"
#include "runtime/runtime.h"

static const tt_fake_control_t* fake;
static tt_rt_plugin_t* plugin;

static const char* open_fake(void) {
  const char *path, *why = plugin ? NULL : tt_fake_open(&path, &fake);
  if (plugin || why) return why;
  tt_status_t status = tt_rt_plugin_load(path, &plugin);
  if (tt_status_is_ok(status)) return NULL;
  tt_status_free(status);
  return "the fake does not load";
}
#define NEED_FAKE()                 \
  do {                              \
    const char* why_ = open_fake(); \
    if (why_) TT_SKIP(why_);        \
  } while (0)

// ---- a life ------------------------------------------------------------------------------------
static const char axpy[] =
    "module @axpy {\n"
    "  func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf32>)\n"
    "      -> (tensor<4xf32>, tensor<4xf32>) {\n"
    "    %0 = stablehlo.multiply %a, %b : tensor<4xf32>\n"
    "    %1 = stablehlo.add %0, %b : tensor<4xf32>\n"
    "    return %1, %0 : tensor<4xf32>, tensor<4xf32>\n"
    "  }\n"
    "}\n";
static const int64_t four[1] = {4};
static const float data_a[4] = {1, 2, 3, 4}, data_b[4] = {10, 20, 30, 40};
static const float want[4] = {20, 60, 120, 200};  // a * b + b, exact in float32

typedef struct life_s {
  tt_rt_client_t* client;
  tt_rt_executable_t *one, *both;
  tt_rt_topology_t* topology;
  tt_rt_ahead_t ahead;
  tt_rt_buffer_t* inputs[4];
  tt_rt_buffer_t* outputs[4];
  tt_rt_buffer_t* copy;
  float result[4], copied[4], second[4];
} life_t;

static tt_status_t upload(life_t* life, size_t device, const float* data, tt_rt_buffer_t** out) {
  return tt_rt_buffer_from_host(life->client, device, TT_DTYPE_F32, 1, four, data, out);
}

static tt_status_t live_one_device(life_t* life) {
  tt_rt_device_info_t info;
  TT_RETURN_IF_ERROR(tt_rt_device_info(life->client, 0, &info));
  tt_rt_memory_stats_t stats;
  tt_status_t told = tt_rt_device_memory_stats(life->client, 0, &stats);
  if (!tt_status_is_ok(told) && tt_status_code(told) != TT_UNIMPLEMENTED) return told;
  tt_status_ignore(told);  // optional
  TT_RETURN_IF_ERROR(upload(life, 0, data_a, &life->inputs[0]));
  TT_RETURN_IF_ERROR(upload(life, 0, data_b, &life->inputs[1]));
  TT_RETURN_IF_ERROR(tt_rt_compile_text(life->client, axpy, strlen(axpy), NULL, &life->one));
  const bool donate[2] = {true, false};
  TT_RETURN_IF_ERROR(tt_rt_execute(life->one, 2, life->inputs, donate, 2, life->outputs));
  tt_rt_event_t* event;
  TT_RETURN_IF_ERROR(tt_rt_buffer_ready_event(life->outputs[0], &event));
  tt_status_t status = TT_OK_STATUS;
  for (bool done = false; !done && tt_status_is_ok(status); usleep(100)) {
    status = tt_rt_event_poll(event, &done);
  }
  tt_rt_event_release(event);
  TT_RETURN_IF_ERROR(status);
  TT_RETURN_IF_ERROR(tt_rt_buffer_await(life->outputs[0]));
  TT_RETURN_IF_ERROR(tt_rt_buffer_copy_to_device(life->outputs[0], 1, &life->copy));
  TT_RETURN_IF_ERROR(tt_rt_buffer_to_host(life->outputs[0], life->result, 16));
  return tt_rt_buffer_to_host(life->copy, life->copied, 16);
}

static tt_status_t live_two_devices(life_t* life) {
  for (size_t d = 0; d < 2; ++d) {
    tt_rt_buffer_release(life->inputs[d]);
    tt_rt_buffer_release(life->outputs[d]);
    life->inputs[d] = life->outputs[d] = NULL;
  }
  for (size_t d = 0; d < 2; ++d) {
    TT_RETURN_IF_ERROR(upload(life, d, data_a, &life->inputs[2 * d]));
    TT_RETURN_IF_ERROR(upload(life, d, data_b, &life->inputs[2 * d + 1]));
  }
  tt_rt_compile_options_t options = {.num_replicas = 2};
  TT_RETURN_IF_ERROR(tt_rt_compile_text(life->client, axpy, strlen(axpy), &options, &life->both));
  TT_RETURN_IF_ERROR(tt_rt_execute_sharded(life->both, 2, 2, life->inputs, 2, life->outputs));
  return tt_rt_buffer_to_host(life->outputs[2], life->second, 16);
}

static tt_status_t live(tt_rt_plugin_t* of, life_t* life) {
  memset(life, 0, sizeof(*life));
  tt_rt_option_t options[1] = {{"topology", "v6e:1x2", 0}};
  TT_RETURN_IF_ERROR(tt_rt_client_create(of, options, 1, &life->client));
  TT_RETURN_IF_ERROR(live_one_device(life));
  TT_RETURN_IF_ERROR(live_two_devices(life));
  TT_RETURN_IF_ERROR(tt_rt_topology_create(of, "v6e:2x2", &life->topology));
  TT_RETURN_IF_ERROR(tt_rt_compile_ahead(life->topology, axpy, strlen(axpy), NULL, &life->ahead));
  // an error of the plugin's own, for the calls that read one
  tt_rt_executable_t* none = NULL;
  tt_status_t status = tt_rt_compile_text(life->client, "module {", 8, NULL, &none);
  if (tt_status_is_ok(status)) return tt_status_create(TT_DATA_LOSS, "half a module compiles");
  bool is_named = strstr(tt_status_message(status), "PJRT_Client_Compile") != NULL;
  if (!is_named || strstr(tt_status_message(status), "boom")) return status;
  tt_status_free(status);
  return TT_OK_STATUS;
}

static void end(life_t* life) {
  for (int i = 0; i < 4; ++i) {
    tt_rt_buffer_release(life->inputs[i]);
    tt_rt_buffer_release(life->outputs[i]);
  }
  tt_rt_buffer_release(life->copy);
  tt_rt_executable_release(life->one);
  tt_rt_executable_release(life->both);
  tt_rt_ahead_deinitialize(&life->ahead);
  tt_rt_topology_release(life->topology);
  tt_rt_client_release(life->client);
}

static bool is_right(const life_t* life) {
  return memcmp(life->result, want, 16) == 0 && memcmp(life->copied, want, 16) == 0 &&
         memcmp(life->second, want, 16) == 0 && life->ahead.size > 0;
}

// "" or what is still there.
static const char* left_over(int64_t blocks) {
  static char text[200];
  tt_fake_live_t alive;
  fake->live(&alive);
  text[0] = '\0';
  if (alive.errors || alive.events || alive.buffers || alive.executables || alive.loaded || alive.clients ||
      alive.topologies || tt_alloc_stats().live_blocks != blocks) {
    snprintf(text, sizeof(text),
             "%d errors, %d events, %d buffers, %d executables, %d loaded, %d clients, "
             "%d topologies, %d blocks",
             (int)alive.errors, (int)alive.events, (int)alive.buffers, (int)alive.executables,
             (int)alive.loaded, (int)alive.clients, (int)alive.topologies,
             (int)(tt_alloc_stats().live_blocks - blocks));
  }
  return text;
}

// Calls whose failure a life survives: what gives something back.
static bool may_survive(const char* slot) { return strstr(slot, "_Destroy") != NULL; }

// ---- tests -------------------------------------------------------------------------------------
TT_TEST(fault, a_life_without_faults) {
  NEED_FAKE();
  int64_t blocks = tt_alloc_stats().live_blocks;
  life_t life;
  tt_status_t status = live(plugin, &life);
  bool right = is_right(&life);
  end(&life);
  TT_EXPECT_OK(status);
  TT_EXPECT(right);
  TT_EXPECT_STR(left_over(blocks), "");
}

TT_TEST(fault, every_call_fails_in_every_way) {
  NEED_FAKE();
  life_t life;
  int64_t blocks = tt_alloc_stats().live_blocks;
  uint64_t made[256];
  TT_EXPECT(fake->slot_count < TT_ARRAY_LENGTH(made));
  for (size_t s = 0; s < fake->slot_count; ++s) made[s] = fake->calls(s);
  TT_EXPECT_OK(live(plugin, &life));
  end(&life);
  for (size_t s = 0; s < fake->slot_count; ++s) made[s] = fake->calls(s) - made[s];
  int slots = 0, faults = 0;
  for (size_t s = 0; s < fake->slot_count; ++s) {
    const char* name = fake->slot_name(s);
    char full[80];
    snprintf(full, sizeof(full), "PJRT_%s", name);
    slots += made[s] > 0;
    bool is_fault_free = strcmp(name, "Error_Destroy") == 0 || strcmp(name, "Error_Message") == 0;
    for (uint64_t variant = 0; variant < made[s] * 6 && !is_fault_free; ++variant) {
      tt_fake_kind_t kind = (tt_fake_kind_t)(variant % 3);
      int code = variant / 3 % 2 ? PJRT_Error_Code_UNIMPLEMENTED : PJRT_Error_Code_INTERNAL;
      if (kind == TT_FAKE_ASYNC && !fake->is_asynchronous(s)) continue;
      fake->arm(s, variant / 6 + 1, kind, code, "boom: the fake fails");
      tt_status_t status = live(plugin, &life);
      bool right = is_right(&life);
      end(&life);
      bool fired = fake->fired();
      fake->disarm();
      bool ok = tt_status_is_ok(status);
      bool optional = may_survive(name) || code == PJRT_Error_Code_UNIMPLEMENTED;
      bool good =
          fired && (ok ? right && (optional || kind == TT_FAKE_ASYNC)
                       : tt_status_code(status) == (tt_status_code_t)code &&
                             strstr(tt_status_message(status), "boom: the fake fails") &&
                             strstr(tt_status_message(status), kind == TT_FAKE_ASYNC ? "PJRT_" : full));
      // without a code every error is an unknown one, also that of a call that is not offered
      if (strcmp(name, "Error_GetCode") == 0) good = fired && (ok || tt_status_code(status) == TT_UNKNOWN);
      const char* left = left_over(blocks);
      if (!good || left[0]) {
        TT_TEST_FAIL("%s, call %d, kind %d, code %d: fired %d, %s; left over: %s", full,
                     (int)(variant / 6 + 1), (int)kind, code, fired,
                     ok ? right ? "ok" : "wrong result" : tt_status_message(status), left);
      }
      tt_status_free(status);
      ++faults;
    }
  }
  TT_EXPECT(slots > 35);
  TT_EXPECT(faults > 200);
  printf("%d faults in %d slots of %d\n", faults, slots, (int)fake->slot_count);
}

TT_TEST(fault, every_slot_may_be_missing) {
  NEED_FAKE();
  int refused = 0, absent = 0, whole = 0;
  for (size_t s = 0; s < fake->slot_count; ++s) {
    char name[80], full[80];
    snprintf(name, sizeof(name), "without %s", fake->slot_name(s));
    snprintf(full, sizeof(full), "PJRT_%s", fake->slot_name(s));
    tt_rt_plugin_t* cut;
    tt_status_t status =
        tt_rt_plugin_from_api(fake->table(PJRT_API_MAJOR, PJRT_API_MINOR, sizeof(PJRT_Api), s), name, &cut);
    int64_t blocks = tt_alloc_stats().live_blocks;
    life_t life;
    bool right = true, loaded = tt_status_is_ok(status);
    if (loaded) {
      status = live(cut, &life);
      right = is_right(&life);
      end(&life);
    }
    bool ok = tt_status_is_ok(status);
    bool good = ok ? right : strstr(tt_status_message(status), full) != NULL;
    if (!ok && loaded) good &= tt_status_code(status) == TT_UNIMPLEMENTED;
    if (!ok && !loaded)
      good &= tt_status_code(status) == TT_FAILED_PRECONDITION || tt_status_code(status) == TT_UNIMPLEMENTED;
    const char* left = left_over(blocks);
    if (!good || left[0]) {
      TT_TEST_FAIL("%s: %s; left over: %s", name, ok ? "ok" : tt_status_message(status), left);
    }
    refused += !loaded;
    absent += loaded && !ok;
    whole += ok;
    tt_status_free(status);
  }
  TT_EXPECT(refused >= 8 && absent >= 10 && whole >= 50);
  printf("missing slots: %d refused at loading, %d an error of their call, %d not needed\n", refused, absent,
         whole);
}

TT_TEST(fault, versions_and_sizes) {
  NEED_FAKE();
  const size_t whole = sizeof(PJRT_Api), none = fake->slot_count;
  const struct {
    int major, minor;
    size_t size;
    const char* part;  // of the error; "": it works; NULL: it works or says what is absent
  } cases[] = {
      {1, 0, whole, "speaks PJRT 1.0"},
      {-1, 104, whole, "speaks PJRT -1.104"},
      {0, 0, whole, "needs at least 0.40"},
      {0, 39, whole, "speaks PJRT 0.39"},
      {0, 40, whole, ""},
      {0, 104, whole, ""},
      {0, 105, whole + 8, ""},
      {0, 9999, whole + 4096, ""},
      {0, 104, 0, "has only 0 bytes"},
      {0, 104, sizeof(size_t), "has only 8 bytes"},
      {0, 104, PJRT_SIZE_THROUGH(PJRT_Api, Client_Create), "bytes"},
      {0, 54, PJRT_SIZE_THROUGH(PJRT_Api, Buffer_OpaqueDeviceMemoryDataPointer), NULL},
      {0, 60, PJRT_SIZE_THROUGH(PJRT_Api, Compile), NULL},
      {0, 90, whole - 8, ""},
      {0, 90, whole - 3, ""},  // half a slot is none
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    char name[40];
    snprintf(name, sizeof(name), "version case %d", (int)i);
    tt_rt_plugin_t* other;
    const void* table = fake->table(cases[i].major, cases[i].minor, cases[i].size, none);
    int64_t before = tt_alloc_stats().live_blocks;
    tt_status_t status = tt_rt_plugin_from_api(table, name, &other);
    if (cases[i].part && cases[i].part[0]) {
      TT_EXPECT_ERROR(status, TT_FAILED_PRECONDITION, cases[i].part);
      TT_EXPECT_EQ(tt_alloc_stats().live_blocks, before);
      continue;
    }
    TT_EXPECT_OK(status);
    int64_t blocks = tt_alloc_stats().live_blocks;
    life_t life;
    status = live(other, &life);
    bool right = is_right(&life);
    end(&life);
    if (cases[i].part || tt_status_is_ok(status)) {
      TT_EXPECT_OK(status);
      TT_EXPECT(right);
    } else {
      TT_EXPECT_ERROR(status, TT_UNIMPLEMENTED, "has no PJRT_");
    }
    TT_EXPECT_STR(left_over(blocks), "");
  }
}

TT_TEST(fault, a_plugin_that_cannot_start_leaves_nothing) {
  NEED_FAKE();
  static const char* const slots[] = {"Plugin_Initialize", "Plugin_Attributes"};
  for (size_t s = 0; s < fake->slot_count; ++s) {
    for (size_t i = 0; i < TT_ARRAY_LENGTH(slots); ++i) {
      if (strcmp(fake->slot_name(s), slots[i]) != 0) continue;
      const void* table = fake->table(PJRT_API_MAJOR, PJRT_API_MINOR, sizeof(PJRT_Api), fake->slot_count);
      int64_t blocks = tt_alloc_stats().live_blocks;
      tt_rt_plugin_t* other;
      fake->arm(s, 1, TT_FAKE_SYNC, PJRT_Error_Code_UNAVAILABLE, "boom");
      TT_EXPECT_ERROR(tt_rt_plugin_from_api(table, "cannot start", &other), TT_UNAVAILABLE, slots[i]);
      TT_EXPECT_STR(left_over(blocks), "");
      fake->disarm();
      TT_EXPECT_OK(tt_rt_plugin_from_api(table, slots[i], &other));  // and may be tried again
    }
  }
}

TT_TEST(fault, no_hardware_is_the_plugin_s_own_word) {
  NEED_FAKE();
  int64_t blocks = tt_alloc_stats().live_blocks;
  tt_rt_client_t* client;
  fake->arm(tt_fake_slot(fake, "Client_Create"), 1, TT_FAKE_SYNC, PJRT_Error_Code_NOT_FOUND,
            "No jellyfish device found.");
  TT_EXPECT_ERROR(tt_rt_client_create(plugin, NULL, 0, &client), TT_NOT_FOUND,
                  "PJRT_Client_Create: No jellyfish device found.");
  TT_EXPECT_STR(left_over(blocks), "");
}

// R5
TT_TEST(fault, a_consumed_buffer_gives_the_error_that_consumed_it) {
  NEED_FAKE();
  const tt_fake_kind_t kinds[] = {TT_FAKE_SYNC, TT_FAKE_AFTER, TT_FAKE_ASYNC};
  for (size_t k = 0; k < TT_ARRAY_LENGTH(kinds); ++k) {
    int64_t blocks = tt_alloc_stats().live_blocks;
    life_t life;
    memset(&life, 0, sizeof(life));
    TT_EXPECT_OK(tt_rt_client_create(plugin, NULL, 0, &life.client));
    TT_EXPECT_OK(upload(&life, 0, data_a, &life.inputs[0]));
    TT_EXPECT_OK(upload(&life, 0, data_b, &life.inputs[1]));
    TT_EXPECT_OK(tt_rt_compile_text(life.client, axpy, strlen(axpy), NULL, &life.one));
    const bool donate[2] = {true, false};
    float out[4];
    fake->arm(tt_fake_slot(fake, "LoadedExecutable_Execute"), 1, kinds[k], PJRT_Error_Code_ABORTED, "boom");
    tt_status_t status = tt_rt_execute(life.one, 2, life.inputs, donate, 2, life.outputs);
    if (kinds[k] == TT_FAKE_ASYNC) {
      TT_EXPECT_OK(status);
      // what is read, awaited, copied or computed from it is that error
      TT_EXPECT_ERROR(tt_rt_buffer_to_host(life.outputs[0], out, 16), TT_ABORTED, "boom");
      TT_EXPECT_ERROR(tt_rt_buffer_await(life.outputs[1]), TT_ABORTED, "boom");
      tt_rt_buffer_t* mixed[2] = {life.outputs[0], life.inputs[1]};
      TT_EXPECT_OK(tt_rt_execute(life.one, 2, mixed, NULL, 2, &life.outputs[2]));
      TT_EXPECT_ERROR(tt_rt_buffer_to_host(life.outputs[2], out, 16), TT_ABORTED, "boom");
    } else {
      TT_EXPECT_ERROR(status, TT_ABORTED, "PJRT_LoadedExecutable_Execute: boom");
      status = tt_rt_buffer_to_host(life.inputs[0], out, 16);
      if (kinds[k] == TT_FAKE_SYNC) {  // nothing was done, so nothing is lost
        TT_EXPECT_OK(status);
        TT_EXPECT(memcmp(out, data_a, 16) == 0);
      } else {
        TT_EXPECT_ERROR(status, TT_ABORTED, "PJRT_LoadedExecutable_Execute: boom");
        TT_EXPECT_ERROR(tt_rt_buffer_await(life.inputs[0]), TT_ABORTED, "boom");
        tt_rt_event_t* event;
        TT_EXPECT_ERROR(tt_rt_buffer_ready_event(life.inputs[0], &event), TT_ABORTED, "boom");
        TT_EXPECT_ERROR(tt_rt_buffer_copy_to_device(life.inputs[0], 0, &life.copy), TT_ABORTED, "boom");
        TT_EXPECT_ERROR(tt_rt_execute(life.one, 2, life.inputs, NULL, 2, life.outputs), TT_ABORTED, "boom");
      }
    }
    TT_EXPECT_OK(tt_rt_buffer_to_host(life.inputs[1], out, 16));  // what was not given is untouched
    TT_EXPECT(memcmp(out, data_b, 16) == 0);
    end(&life);
    fake->disarm();
    TT_EXPECT_STR(left_over(blocks), "");
  }
}

TT_TEST(fault, what_is_late_is_waited_for) {
  NEED_FAKE();
  int64_t blocks = tt_alloc_stats().live_blocks;
  life_t life;
  fake->set_delay(2000000);
  tt_status_t status = live(plugin, &life);
  bool right = is_right(&life);
  end(&life);
  fake->set_delay(0);
  TT_EXPECT_OK(status);
  TT_EXPECT(right);
  TT_EXPECT_STR(left_over(blocks), "");
  // not ready is told, and a buffer may go before it ever is
  memset(&life, 0, sizeof(life));
  TT_EXPECT_OK(tt_rt_client_create(plugin, NULL, 0, &life.client));
  TT_EXPECT_OK(upload(&life, 0, data_a, &life.inputs[0]));
  TT_EXPECT_OK(upload(&life, 0, data_b, &life.inputs[1]));
  TT_EXPECT_OK(tt_rt_compile_text(life.client, axpy, strlen(axpy), NULL, &life.one));
  fake->set_delay((int64_t)3600 * 1000000000);
  TT_EXPECT_OK(tt_rt_execute(life.one, 2, life.inputs, NULL, 2, life.outputs));
  tt_rt_event_t* event;
  bool is_ready = true;
  TT_EXPECT_OK(tt_rt_buffer_ready_event(life.outputs[0], &event));
  TT_EXPECT_OK(tt_rt_event_poll(event, &is_ready));
  tt_rt_event_release(event);
  fake->set_delay(0);
  end(&life);
  TT_EXPECT(!is_ready);
  TT_EXPECT_STR(left_over(blocks), "");
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
