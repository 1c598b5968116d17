// Settings of the process. Each is one relaxed atomic; what changes programs goes into their keys.
#include <stdlib.h>

#include "base/alloc.h"
#include "eager/device.h"
#include "program/program.h"

typedef struct setting_s {
  const char *name, *environment;
  int64_t initial, min, max;
} setting_t;

static const setting_t table[TT_SETTING_COUNT] = {
    [TT_SETTING_MATMUL_PASSES] = {"matmul_passes", NULL, 0, 0, 6},
    [TT_SETTING_SAFE_INPLACE] = {"safe_inplace", "TORCH_TPU_SAFE_INPLACE", 0, 0, 1},
    [TT_SETTING_DEBUG] = {"debug", "TORCH_TPU_DEBUG", 0, 0, 1},
    [TT_SETTING_LOCATIONS] = {"locations", "TORCH_TPU_LOCATIONS", 0, 0, 1},
    [TT_SETTING_THREADS] = {"threads", "TORCH_TPU_THREADS", 0, 0, 1024},
    [TT_SETTING_CACHE_ENTRIES] = {"cache_entries", "TORCH_TPU_CACHE_ENTRIES", 8192, 1, 1 << 24},
    [TT_SETTING_IR_HANDOVER] = {"ir_handover", "TORCH_TPU_IR_HANDOVER", 1, 0, 1},
    [TT_SETTING_FORBID_RECOMPILES] = {"forbid_recompiles", NULL, 0, 0, 1},
    [TT_SETTING_DEFAULT_FLOAT] = {"default_float", NULL, 0, 0, TT_DTYPE_COUNT - 1},
    [TT_SETTING_ROUNDING] = {"rounding", "TORCH_TPU_ROUNDING", 1, 0, 2},
};
static _Atomic int64_t values[TT_SETTING_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialize(void) {
  for (int i = 0; i < TT_SETTING_COUNT; ++i) {
    int64_t value = table[i].initial;
    const char* text = table[i].environment ? getenv(table[i].environment) : NULL;
    if (text && text[0]) {
      int64_t parsed = strtoll(text, NULL, 10);
      if (parsed >= table[i].min && parsed <= table[i].max) value = parsed;
    }
    atomic_store_explicit(&values[i], value, memory_order_relaxed);
  }
}

int64_t tt_setting_get(tt_setting_t setting) {
  pthread_once(&once, initialize);
  if ((int)setting < 0 || setting >= TT_SETTING_COUNT) return 0;
  return atomic_load_explicit(&values[setting], memory_order_relaxed);
}

tt_status_t tt_setting_set(tt_setting_t setting, int64_t value) {
  pthread_once(&once, initialize);
  if ((int)setting < 0 || setting >= TT_SETTING_COUNT) {
    return tt_status_create(TT_INVALID_ARGUMENT, "setting number %d is not one of 0 to %d", (int)setting,
                            TT_SETTING_COUNT - 1);
  }
  const setting_t* entry = &table[setting];
  bool ok = value >= entry->min && value <= entry->max;
  if (setting == TT_SETTING_MATMUL_PASSES) ok = value == 0 || value == 1 || value == 3 || value == 6;
  if (!ok) {
    return tt_status_create(TT_INVALID_ARGUMENT, "setting %s cannot be %lld: %s %lld to %lld", entry->name,
                            (long long)value,
                            setting == TT_SETTING_MATMUL_PASSES ? "one of 0, 1, 3, 6, so" : "the range is",
                            (long long)entry->min, (long long)entry->max);
  }
  atomic_store_explicit(&values[setting], value, memory_order_relaxed);
  tt_engine_t* engine = atomic_load_explicit(&tt_engine_open_, memory_order_acquire);
  if (engine && !tt_is_forked_child()) {
    if (setting == TT_SETTING_THREADS && value > 0) tt_rt_client_set_threads(engine->client, (int)value);
    if (setting == TT_SETTING_IR_HANDOVER) tt_rt_client_set_ir_handover(engine->client, value != 0);
    if (setting == TT_SETTING_CACHE_ENTRIES) {
      tt_lru_set_capacity(engine->programs, (size_t)value);
      tt_program_cache_set_capacity((size_t)value);
    }
  }
  return TT_OK_STATUS;
}
