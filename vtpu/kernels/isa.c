// The ISA in use: what the CPU and the OS allow, lowered by TORCH_TPU_ISA or by a test.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/isa_os.h"
#include "kernels/kernel.h"

// -1: not asked yet. Written with the same value by every racing thread, so relaxed order is enough.
static _Atomic int tt_isa_best = -1;
static _Atomic int tt_isa_used = -1;

static const char* const tt_isa_names[TT_ISA_COUNT] = {"generic", "avx2", "avx512", "avx512bf16", "amx"};

const char* tt_k_isa_name(tt_isa_t isa) {
  return (unsigned)isa < TT_ISA_COUNT ? tt_isa_names[isa] : "unknown";
}

tt_isa_t tt_k_isa_supported(void) {
  int isa = atomic_load_explicit(&tt_isa_best, memory_order_relaxed);
  if (isa < 0) {
    isa = tt_k_isa_os_probe();
    atomic_store_explicit(&tt_isa_best, isa, memory_order_relaxed);
  }
  return (tt_isa_t)isa;
}

tt_isa_t tt_k_isa(void) {
  int isa = atomic_load_explicit(&tt_isa_used, memory_order_relaxed);
  if (TT_LIKELY(isa >= 0)) return (tt_isa_t)isa;
  isa = tt_k_isa_supported();
  const char* wanted = getenv("TORCH_TPU_ISA");
  if (wanted) {
    for (int i = 0; i < TT_ISA_COUNT; ++i) {
      if (strcmp(wanted, tt_isa_names[i]) == 0 && i < isa) isa = i;
    }
  }
  // a concurrent tt_k_isa_set wins
  int expected = -1;
  atomic_compare_exchange_strong_explicit(&tt_isa_used, &expected, isa, memory_order_relaxed, memory_order_relaxed);
  return (tt_isa_t)atomic_load_explicit(&tt_isa_used, memory_order_relaxed);
}

void tt_k_isa_set(tt_isa_t isa) {
  tt_isa_t best = tt_k_isa_supported();
  atomic_store_explicit(&tt_isa_used, (int)(isa < best ? isa : best), memory_order_relaxed);
}
