// The engine on a foreign plugin that fails on request (tests/fake/fake.h): every call of opening, and every
// call of a life of ops, copies and in-place writes, fails in every way. Each time the error names the call,
// what a storage may be read as is its value before, its value after or that error, a whole overwrite heals
// it, and nothing leaks.
#include "fake/open.h"

#include <stdio.h>
#include <stdlib.h>

#include "eager/test_support.h"

enum { INTERNAL = 13, NOT_FOUND = 5 };

static const tt_fake_control_t* fake;
static const char* missing = "not looked for";

#define NEED_FAKE()                \
  do {                             \
    if (missing) TT_SKIP(missing); \
  } while (0)

static const float data[4] = {0, 1, 2, 3};

// ---- a life ------------------------------------------------------------------------------------
typedef struct life_s {
  fixture_t base, scaled, strided, total;
  float read_base[4], read_scaled[4], read_total[2];
} life_t;

static tt_status_t live(life_t* life) {
  memset(life, 0, sizeof(*life));
  tt_compile_cache_clear();
  TT_RETURN_IF_ERROR(fixture_make(&life->base, TT_DTYPE_F32, SIZES(4), data));
  tt_arg_t scale[] = {tensor_arg(&life->base), tensor_arg(&life->base), float_arg(2)};
  TT_RETURN_IF_ERROR(call_one("add.Tensor", 3, scale, &life->scaled));  // 3 x
  TT_RETURN_IF_ERROR(tt_tensor_to_host(&life->scaled.view, life->read_scaled));
  tt_arg_t add[] = {tensor_arg(&life->base), tensor_arg(&life->scaled), int_arg(1)};
  TT_RETURN_IF_ERROR(call_inplace("add_.Tensor", 3, add));  // 4 x, donated
  fixture_t middle = fixture_view(&life->base, 1, (int64_t[]){2}, (int64_t[]){1}, 1);
  tt_arg_t twice[] = {tensor_arg(&middle), tensor_arg(&middle), int_arg(1)};
  TT_RETURN_IF_ERROR(call_inplace("add_.Tensor", 3, twice));  // 0 8 16 12
  TT_RETURN_IF_ERROR(fixture_make(&life->strided, TT_DTYPE_F32, SIZES(2, 2), data));
  fixture_t turned = fixture_view(&life->strided, 2, (int64_t[]){2, 2}, (int64_t[]){1, 2}, 0);
  tt_arg_t sum[] = {tensor_arg(&turned),
                    {.kind = TT_ARG_INTS, .count = 1, .ints = (int64_t[]){1}},
                    {.kind = TT_ARG_BOOL},
                    none_arg()};
  TT_RETURN_IF_ERROR(call_one("sum.dim_IntList", 4, sum, &life->total));  // of columns: 2 4
  TT_RETURN_IF_ERROR(tt_device_synchronize(-1));
  TT_RETURN_IF_ERROR(tt_tensor_to_host(&life->total.view, life->read_total));
  return tt_tensor_to_host(&life->base.view, life->read_base);
}

static bool is_one_of(const float* got, size_t count, const float (*values)[4]) {
  for (size_t i = 0; i < count; ++i) {
    if (memcmp(got, values[i], 16) == 0) return true;
  }
  return false;
}
static const float base_values[][4] = {{0, 0, 0, 0}, {0, 1, 2, 3}, {0, 4, 8, 12}, {0, 8, 16, 12}};
static const float scaled_values[][4] = {{0, 0, 0, 0}, {0, 3, 6, 9}};  // zeros: not written yet (E1)

static bool is_right(const life_t* life) {
  return memcmp(life->read_base, base_values[3], 16) == 0 &&
         memcmp(life->read_scaled, scaled_values[1], 16) == 0 && life->read_total[0] == 2 &&
         life->read_total[1] == 4;
}

// NULL, or what is wrong with a storage that a failed life left; it is healed by a whole overwrite.
static const char* look(fixture_t* f, size_t count, const float (*values)[4], int* poisoned) {
  static char why[512];
  if (!f->view.storage) return NULL;  // the life did not come so far
  fix(f);
  float got[4] = {-1, -1, -1, -1};
  tt_status_t status = tt_tensor_to_host(&f->view, got);
  bool ok = tt_status_is_ok(status) ? is_one_of(got, count, values)
                                    : strstr(tt_status_message(status), "boom") != NULL;
  *poisoned += !tt_status_is_ok(status);
  snprintf(why, sizeof(why), "read %g %g %g %g: %s", got[0], got[1], got[2], got[3],
           tt_status_is_ok(status) ? "ok" : tt_status_message(status));
  tt_status_free(status);
  if (!ok) return why;
  static const float fresh[4] = {7, 6, 5, 4};
  status = tt_tensor_from_host(&f->view, fresh, TT_DTYPE_F32);
  if (tt_status_is_ok(status)) status = tt_tensor_to_host(&f->view, got);
  ok = tt_status_is_ok(status) && memcmp(got, fresh, 16) == 0;
  snprintf(why, sizeof(why), "not healed: %s",
           tt_status_is_ok(status) ? "other values" : tt_status_message(status));
  tt_status_free(status);
  return ok ? NULL : why;
}

static void end(life_t* life) {
  fixture_t* all[] = {&life->base, &life->scaled, &life->strided, &life->total};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(all); ++i) {
    if (all[i]->view.storage) drop(all[i]);
  }
}

static bool is_same(const tt_fake_live_t* a, const tt_fake_live_t* b) {
  return memcmp(a, b, sizeof(*a)) == 0;
}

// ---- tests -------------------------------------------------------------------------------------
// First: the engine opens once a process.
TT_TEST(fault, every_call_of_opening) {
  NEED_FAKE();
  uint64_t made[256];
  TT_EXPECT(fake->slot_count < TT_ARRAY_LENGTH(made));
  TT_EXPECT(!tt_is_initialized());
  for (size_t s = 0; s < fake->slot_count; ++s) made[s] = fake->calls(s);
  fake->arm(tt_fake_slot(fake, "Device_MemoryStats"), 1, TT_FAKE_SYNC, INTERNAL, "boom");  // the last call
  TT_EXPECT_ERROR(tt_initialize(), TT_INTERNAL, "PJRT_Device_MemoryStats: boom");
  for (size_t s = 0; s < fake->slot_count; ++s) made[s] = fake->calls(s) - made[s];
  int faults = 0;
  for (size_t s = 0; s < fake->slot_count; ++s) {
    const char* name = fake->slot_name(s);
    // the plugin stays loaded, so its own calls are over
    if (strstr(name, "_Destroy") || strncmp(name, "Error_", 6) == 0 || strncmp(name, "Plugin_", 7) == 0)
      continue;
    for (uint64_t nth = 1; nth <= made[s]; ++nth) {
      char part[96];
      snprintf(part, sizeof(part), "PJRT_%s: boom", name);
      fake->arm(s, nth, nth % 2 ? TT_FAKE_AFTER : TT_FAKE_SYNC, INTERNAL, "boom");
      TT_EXPECT_ERROR(tt_initialize(), TT_INTERNAL, part);
      tt_fake_live_t alive, none = {0};
      fake->live(&alive);
      TT_EXPECT(is_same(&alive, &none));
      ++faults;
    }
  }
  TT_EXPECT(faults >= 8);
  fake->arm(tt_fake_slot(fake, "Client_Create"), 1, TT_FAKE_SYNC, NOT_FOUND, "No jellyfish device found.");
  TT_EXPECT_ERROR(tt_initialize(), TT_NOT_FOUND, "No jellyfish device found.");
  TT_EXPECT_OK(tt_initialize());  // and then it opens
}

TT_TEST(fault, every_call_in_every_way) {
  NEED_FAKE();
  life_t life;
  uint64_t made[256];
  tt_fake_live_t baseline, alive;
  for (int i = 0; i < 3; ++i) {  // caches fill
    for (size_t s = 0; s < fake->slot_count; ++s) made[s] = fake->calls(s);
    TT_EXPECT_OK(live(&life));
    TT_EXPECT(is_right(&life));
    end(&life);
  }
  for (size_t s = 0; s < fake->slot_count; ++s) made[s] = fake->calls(s) - made[s];
  fake->live(&baseline);
  int slots = 0, faults = 0, poisoned = 0;
  for (size_t s = 0; s < fake->slot_count; ++s) {
    const char* name = fake->slot_name(s);
    char full[96];
    snprintf(full, sizeof(full), "PJRT_%s", name);
    slots += made[s] > 0;
    if (strcmp(name, "Error_Destroy") == 0 || strcmp(name, "Error_Message") == 0) continue;
    bool passes = strstr(name, "_Destroy") || strcmp(name, "Event_IsReady") == 0;
    for (uint64_t i = 0; i < made[s] * 3; ++i) {
      tt_fake_kind_t kind = (tt_fake_kind_t)(i % 3);
      if (kind == TT_FAKE_ASYNC && !fake->is_asynchronous(s)) continue;
      fake->arm(s, i / 3 + 1, kind, INTERNAL, "boom");
      // what has no event is waited for instead
      bool may_pass = passes || (kind != TT_FAKE_ASYNC && strcmp(name, "Buffer_ReadyEvent") == 0);
      tt_status_t status = live(&life);
      bool ok = tt_status_is_ok(status);
      const char* text = ok ? "ok" : tt_status_message(status);
      bool good = (ok ? may_pass && is_right(&life)
                      : strstr(text, "boom") && (kind == TT_FAKE_ASYNC || strstr(text, full)));
      const char* left = look(&life.base, TT_ARRAY_LENGTH(base_values), base_values, &poisoned);
      if (!left) left = look(&life.scaled, TT_ARRAY_LENGTH(scaled_values), scaled_values, &poisoned);
      if (!good || left) {
        TT_TEST_FAIL("%s, call %d, kind %d: %s; left: %s", full, (int)(i / 3 + 1), (int)kind, text,
                     left ? left : "fine");
      }
      tt_status_free(status);
      end(&life);
      TT_EXPECT(fake->fired());  // at the latest when the storages went
      fake->disarm();
      status = tt_device_synchronize(-1);  // a late error that nobody has read is told once (D4)
      TT_EXPECT(tt_status_is_ok(status) || strstr(tt_status_message(status), "boom"));
      tt_status_free(status);
      TT_EXPECT_OK(live(&life));  // nothing stays behind
      TT_EXPECT(is_right(&life));
      end(&life);
      fake->live(&alive);
      if (!is_same(&alive, &baseline)) {
        TT_TEST_FAIL("%s, call %d, kind %d leaves %d errors, %d events, %d buffers, %d loaded", full,
                     (int)(i / 3 + 1), (int)kind, (int)(alive.errors - baseline.errors),
                     (int)(alive.events - baseline.events), (int)(alive.buffers - baseline.buffers),
                     (int)(alive.loaded - baseline.loaded));
        baseline = alive;
      }
      ++faults;
    }
  }
  TT_EXPECT(slots >= 12 && faults >= 60 && poisoned >= 1);
  printf("%d faults in %d slots, %d storages read as the error\n", faults, slots, poisoned);
}

// Memory fails at every allocation of a call: one that returns well leaves no error to a later wait.
TT_TEST(fault, every_allocation_of_a_call) {
  NEED_FAKE();
  fixture_t x, y;
  TT_EXPECT_OK(fixture_make(&x, TT_DTYPE_F32, SIZES(4), data));
  int failed = 0, passed = 0;
  for (uint64_t nth = 1;; ++nth) {
    tt_compile_cache_clear();
    memset(&y, 0, sizeof(y));
    tt_arg_t add[] = {tensor_arg(&x), tensor_arg(&x), float_arg(2)};
    tt_alloc_fault_arm(nth);
    tt_status_t status = call_one("add.Tensor", 3, add, &y);
    bool fired = tt_alloc_fault_fired(), ok = tt_status_is_ok(status);
    tt_alloc_fault_arm(0);
    TT_EXPECT(ok || strstr(tt_status_message(status), "out of host memory"));
    tt_status_free(status);
    TT_EXPECT_OK(tt_device_synchronize(-1));
    if (ok) {
      float got[4];
      TT_EXPECT_OK(tt_tensor_to_host(&y.view, got));
      TT_EXPECT(memcmp(got, scaled_values[1], 16) == 0);
    }
    if (y.view.storage) drop(&y);
    if (!fired) break;
    failed += !ok;
    passed += ok;
  }
  TT_EXPECT(failed >= 10 && passed >= 1);
  drop(&x);
}

TT_TEST(fault, shutdown_gives_everything_back) {
  NEED_FAKE();
  tt_fake_live_t alive, none = {0};
  tt_shutdown();
  fake->live(&alive);
  TT_EXPECT(is_same(&alive, &none));
}

int main(int argc, char** argv) {
  const char* path = NULL;
  missing = tt_fake_open(&path, &fake);
  if (!missing) setenv("TORCH_TPU_PLUGIN", path, 1);
  unsetenv("TORCH_TPU_VIRTUAL");
  return tt_test_main(argc, argv);
}
