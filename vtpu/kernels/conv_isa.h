// What one vector ISA gives to convolution. Inside conv* only.
#ifndef TT_VTPU_KERNELS_CONV_ISA_H_
#define TT_VTPU_KERNELS_CONV_ISA_H_

#include "kernels/gemm.h"

#define TT_CONV_MAX_NR 32  // widest panel of a micro-kernel
#define TT_CONV_MAX_DIRECT 4  // output channels a group that the direct kernels take

typedef struct tt_conv_run_s {  // columns whose elements lie next to each other
  int64_t x, column, size;  // offset in elements, first column, how many
} tt_conv_run_t;

typedef void (*tt_conv_pad_fn_t)(void* dst, int64_t rows, int64_t low, const void* x, int64_t x_rs, int64_t n,
                                 int64_t total);
typedef struct tt_conv_lanes_s {  // of f32 or f64
  // dst[k * nr + j] = x[k_offset[k] + offset of column j]; zeros past the last run; 64 bytes past the end may be written.
  void (*pack_rows)(void* dst, int64_t nr, const void* x, const int64_t* k_offset, int64_t depth,
                    const tt_conv_run_t* runs, int64_t run_count);
  // The same when neighbours along k lie next to each other: blocks are transposed. k_runs: .column is k. columns[nr]:
  // offsets; those past `count` give zeros.
  void (*pack_columns)(void* dst, int64_t nr, const void* x, const tt_conv_run_t* k_runs, int64_t run_count,
                       const int64_t* columns, int64_t count);
  // y[r * y_rs + j] (+)= sum over k of w[k * rows + r] * x[k_offset[k] + j], j < count, r < rows <= TT_CONV_MAX_DIRECT
  void (*direct)(int64_t rows, const void* x, const int64_t* k_offset, int64_t depth, const void* w, void* y,
                 int64_t y_rs, int64_t count, bool accumulate);
  // y[j] (+)= sum over k of w[k] * x[k_offset[k] + columns[j]], neighbours along k next to each other
  void (*dots)(const void* x, const tt_conv_run_t* k_runs, int64_t run_count, const int64_t* columns,
               int64_t count, const void* w, void* y, bool accumulate);
  // dst[k * width + i] = x[i * ws + k * ks] for i < count, zero for count <= i < width, k < depth; writes nothing else.
  void (*pack_any)(void* dst, int64_t width, const void* x, int64_t ws, int64_t ks, int64_t count,
                   int64_t depth);
  // Of f32 or f64, bf16, f16 (widened; f32 only). Each row: `low` zeros, `n` elements of x, zeros up to `total`; rows of x are x_rs apart, those of dst total. Writes
  // nothing else.
  tt_conv_pad_fn_t pad_rows, pad_rows_bf16, pad_rows_f16;
  // f32 rounded to bf16; NULL: tt_k_convert. Short rows, masked tails.
  void (*narrow_bf16)(void* y, const void* x, size_t n);
  void (*add)(void* y, const void* x, int64_t n);  // y += x
} tt_conv_lanes_t;
typedef struct tt_conv_isa_s {
  tt_conv_lanes_t f32, f64;
} tt_conv_isa_t;
extern const tt_conv_isa_t tt_conv_isa__avx2, tt_conv_isa__avx512;

#endif  // TT_VTPU_KERNELS_CONV_ISA_H_
