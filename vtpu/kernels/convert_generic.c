#define TT_ISA generic
#pragma GCC optimize("no-trapping-math")
#include "kernels/convert_impl.h"

void tt_k_widen_f16__generic(float* out, const uint16_t* x, size_t n) {
  TT_LANES(i, n) out[i] = tt_f32_from_f16(x[i]);
}
void tt_k_narrow_f16__generic(uint16_t* out, const float* x, size_t n) {
  TT_LANES(i, n) out[i] = tt_f16_from_f32(x[i]);
}
