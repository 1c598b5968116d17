#include "kernels/isa_os.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

static uint64_t tt_isa_xgetbv(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

// Linux hands out the 8 KB tile state only to processes that ask (and it fails under a small sigaltstack).
static bool tt_isa_request_tiles(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
  enum { kReqXcompPerm = 0x1023, kXtileData = 18 };
  return syscall(SYS_arch_prctl, kReqXcompPerm, kXtileData) == 0;
#else
  return false;
#endif
}

tt_isa_t tt_k_isa_os_probe(void) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return TT_ISA_GENERIC;
  const uint32_t need1 = 1u << 27 | 1u << 28 | 1u << 12 | 1u << 29;  // OSXSAVE AVX FMA F16C
  if ((c & need1) != need1) return TT_ISA_GENERIC;
  uint64_t state = tt_isa_xgetbv();
  if ((state & 0x6) != 0x6) return TT_ISA_GENERIC;
  uint32_t b7, c7, d7;
  if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return TT_ISA_GENERIC;
  uint32_t subleaves = a;
  const uint32_t need_avx2 = 1u << 5 | 1u << 3 | 1u << 8;            // AVX2 BMI1 BMI2
  if ((b7 & need_avx2) != need_avx2) return TT_ISA_GENERIC;
  const uint32_t need512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  // F DQ CD BW VL
  if ((b7 & need512) != need512 || (state & 0xe6) != 0xe6) return TT_ISA_AVX2;
  uint32_t a71 = 0;
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) a71 = a;
  if (!(a71 & 1u << 5) || !(c7 & 1u << 11)) return TT_ISA_AVX512;    // BF16, VNNI
  const uint32_t need_amx = 1u << 22 | 1u << 24 | 1u << 25;          // AMX-BF16 TILE INT8
  if ((d7 & need_amx) != need_amx || (state & 0x60000) != 0x60000 || !tt_isa_request_tiles()) {
    return TT_ISA_AVX512BF16;
  }
  return TT_ISA_AMX;
}

#else

tt_isa_t tt_k_isa_os_probe(void) { return TT_ISA_GENERIC; }

#endif
