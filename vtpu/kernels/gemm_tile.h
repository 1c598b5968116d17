// Products on units that multiply pairs of bf16 or quads of bytes: AMX tiles, vdpbf16ps. Inside gemm* only.
#ifndef TT_VTPU_KERNELS_GEMM_TILE_H_
#define TT_VTPU_KERNELS_GEMM_TILE_H_

#include "kernels/gemm.h"

// Packed tiles (gemm_tile_impl.h): rows x cols panels of 16 of C (+)= A B over `tiles` of k.
typedef struct tt_gemm_tile_call_s {
  int rows, cols;
  int64_t tiles;
  const char *a, *b;  // 64-byte aligned
  int64_t a_panel, b_panel;  // bytes between panels
  float* c;  // or s32; whole panels are written
  int64_t ld;  // elements
  bool first;  // C is written, not added to
  tt_dtype_t dtype;
} tt_gemm_tile_call_t;
enum { kGemmTileBytes = 1024 };

typedef struct tt_gemm_tile_isa_s {
  bool bytes;  // S8 and U8 as well as BF16
  size_t (*scratch_bytes)(const tt_gemm_t* g, int threads);
  void (*run)(tt_pool_t* pool, const tt_gemm_t* g, void* scratch);
  // For kernels that pack themselves, BF16: between begin and end, on one thread.
  void (*begin)(void);
  void (*end)(void);
  void (*multiply)(const tt_gemm_tile_call_t* call);
  // One panel of A or B: `count` rows (columns) ws bytes apart, k ks bytes apart, over `depth` of k: depth /
  // 32 tiles.
  void (*pack_a)(char* out, const char* x, int64_t ws, int64_t ks, int64_t count, int64_t depth);
  void (*pack_b)(char* out, const char* x, int64_t ws, int64_t ks, int64_t count, int64_t depth);
  // Panels of A from rows x cols of f32, ld apart (readable up to whole 16s); zeros past cols. `tiles` a
  // panel.
  void (*pack_f32)(char* out, const float* x, int64_t ld, int64_t rows, int64_t cols, int64_t tiles);
} tt_gemm_tile_isa_t;
extern const tt_gemm_tile_isa_t tt_gemm_tile__avx512bf16, tt_gemm_tile__amx;
const tt_gemm_tile_isa_t* tt_gemm_tile_isa(
    tt_dtype_t dtype);  // the unit for products of this dtype; NULL: none

#endif  // TT_VTPU_KERNELS_GEMM_TILE_H_
