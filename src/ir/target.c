// Tables of what each device can do.
#include "ir/target.h"

#include <stdio.h>
#include <string.h>

static void set_name(tt_target_t* target, const char* name) {
  memset(target, 0, sizeof(*target));
  snprintf(target->name, sizeof(target->name), "%s", name);
}

void tt_target_vtpu(tt_target_t* target) {
  set_name(target, "vtpu");
  target->is_vtpu = true;
  target->checks = true;
  target->int64_dot = target->fft64 = true;
  for (int i = 1; i < TT_DTYPE_COUNT; ++i) target->dtype_support[i] = TT_SUPPORT_NATIVE;
}

// Custom calls that libtpu compiles by itself (tests/tpu).
static const char* const tpu_calls[] = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape",
                                        "Qr", "Eigh", "LuDecomposition", "tpu_custom_call", NULL};

// What XLA's TPU compiler takes: it has no 64-bit float hardware and refuses the type in eager use, splits
// 64-bit integers into pairs (dot and convolution on them are not compiled), and widens the small types.
static void tpu_table(tt_target_t* target, bool has_float8) {
  for (int i = 1; i < TT_DTYPE_COUNT; ++i) target->dtype_support[i] = TT_SUPPORT_EMULATED;
  static const uint8_t native[] = {TT_DTYPE_PRED, TT_DTYPE_S8, TT_DTYPE_U8, TT_DTYPE_S32, TT_DTYPE_U32,
                                   TT_DTYPE_F32, TT_DTYPE_BF16, TT_DTYPE_C64, TT_DTYPE_TOKEN};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(native); ++i) target->dtype_support[native[i]] = TT_SUPPORT_NATIVE;
  if (has_float8) {
    target->dtype_support[TT_DTYPE_F8E5M2] = target->dtype_support[TT_DTYPE_F8E4M3FN] = TT_SUPPORT_NATIVE;
  }
  target->dtype_support[TT_DTYPE_F64] = target->dtype_support[TT_DTYPE_C128] = TT_SUPPORT_REFUSED;
  target->int64_dot = target->fft64 = false;
  target->checks = false;
  target->rounds_f32 = target->slow_compiles = true;
  target->custom_calls = tpu_calls;
  target->matmul_passes = 1;
}

tt_status_t tt_target_by_name(const char* name, tt_target_t* target) {
  static const char* const chips[] = {"v5e", "v5p", "v6e", "tpu7x"};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(chips); ++i) {
    if (strcmp(name, chips[i]) != 0) continue;
    set_name(target, name);
    tpu_table(target, strcmp(name, "tpu7x") == 0);
    return TT_OK_STATUS;
  }
  if (strcmp(name, "foreign") == 0) {
    // An unknown PJRT plugin (a CPU or GPU one): every StableHLO dtype, none of our own entries.
    set_name(target, "foreign");
    target->int64_dot = target->fft64 = target->slow_compiles = true;
    for (int i = 1; i < TT_DTYPE_COUNT; ++i) target->dtype_support[i] = TT_SUPPORT_NATIVE;
    return TT_OK_STATUS;
  }
  memset(target, 0, sizeof(*target));
  return tt_status_create(TT_NOT_FOUND, "no target named \"%s\" (known: v5e, v5p, v6e, tpu7x, foreign)",
                          name);
}
