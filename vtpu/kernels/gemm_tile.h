// Products on units that multiply pairs of bf16 or quads of bytes: AMX tiles, vdpbf16ps. Inside gemm* only.
#ifndef TT_VTPU_KERNELS_GEMM_TILE_H_
#define TT_VTPU_KERNELS_GEMM_TILE_H_

#include "kernels/gemm.h"

typedef struct tt_gemm_tile_isa_s {
  bool bytes;                        // S8 and U8 as well as BF16
  size_t (*scratch_bytes)(const tt_gemm_t* g, int threads);
  void (*run)(tt_pool_t* pool, const tt_gemm_t* g, void* scratch);
} tt_gemm_tile_isa_t;
extern const tt_gemm_tile_isa_t tt_gemm_tile__avx512bf16, tt_gemm_tile__amx;

#endif  // TT_VTPU_KERNELS_GEMM_TILE_H_
