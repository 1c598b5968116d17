// A convolution as sums over k of weights times image elements at offsets, and how its work is cut.
//
// Every StableHLO convolution becomes one or more phases; a phase has no base dilation and no reversal:
//   y[g, o, column] = sum over k of w[g, o, k] * x[g, x(column) + x(k)]
// column = (batch, output space), k = (input channel, kernel space), and x() is additive: the image either is read where
// it lies or is copied once into a zero-padded image whose innermost dim is split by residue, so that one of the two
// (neighbouring columns, or neighbouring k) lies next to each other.
#ifndef TT_VTPU_KERNELS_CONV_PLAN_H_
#define TT_VTPU_KERNELS_CONV_PLAN_H_

#include "kernels/conv_isa.h"

#define TT_CONV_SPACE 3  // spatial dims; fewer are filled with 1 in front
#define TT_CONV_MAX_PHASES 4096  // product of the dilations of the input: beyond, the reference runs
#define TT_CONV_KC 384  // k of one chain of FMAs
#define TT_CONV_KC_DOTS 16384  // the same of DOTS, in as many chains as a vector has lanes
#define TT_CONV_MAX_RUNS 1024  // runs of k in a block

typedef struct tt_conv_blob_s {
  int64_t spatial;  // spatial rank
  int64_t stride[TT_CONV_SPACE], low[TT_CONV_SPACE], lhs_dilation[TT_CONV_SPACE], rhs_dilation[TT_CONV_SPACE];
  int64_t reversal[TT_CONV_SPACE];
  int64_t feature_groups, batch_groups;
  int64_t input[2 + TT_CONV_SPACE], kernel[2 + TT_CONV_SPACE],
      output[2 + TT_CONV_SPACE];  // dims: batch, feature, space
} tt_conv_blob_t;

typedef struct tt_conv_dim_s {  // one spatial dim of a phase: output o and kernel k meet at input
  int64_t in, out, ker;  //   (o * step + k * dilation) * scale - low
  int64_t step, dilation, scale, low;
  int64_t xs, ws, ys;  // strides of the tensors
  int64_t extent;  // places o * step + k * dilation takes: [0, extent)
} tt_conv_dim_t;

typedef enum tt_conv_kind_e { TT_CONV_GEMM, TT_CONV_DIRECT, TT_CONV_DOTS } tt_conv_kind_t;

typedef struct tt_conv_plan_s {
  tt_dtype_t x_dtype, w_dtype, y_dtype, acc;
  size_t acc_bytes;
  const tt_gemm_kernel_t* kernel;
  const tt_conv_lanes_t* lanes;
  tt_conv_kind_t kind;
  int64_t groups, n, oc, ic;  // n, oc, ic: of one group
  int64_t x_total_n, x_total_c;
  int64_t x_n, x_c, x_g, w_o, w_c, w_g, y_n, y_o, y_g;  // strides of the tensors
  int64_t x_base, w_base, y_base;  // offsets of the phase
  tt_conv_dim_t d[TT_CONV_SPACE];
  int64_t k, columns;
  // the image that is read
  bool in_place;  // the operand itself
  bool halves;  // in place though bf16 or f16: GEMM, k (or with along_k: columns) evenly spread
  bool along_k;  // neighbours along k lie next to each other; else neighbouring columns
  int64_t s_n, s_c, s_g, s_0, s_1, s_2, s_base;  // strides of a place
  int64_t residues, plane;  // innermost place p lies at p % residues * plane + p / residues
  int64_t chunk;  // images a pass
  // weights: panels of `width` output channels, [group][panel][k][width]
  bool w_in_place;  // GEMM only: k is dense and f32 (f64): rows are read where they lie
  int64_t width, panels;
  size_t panel_bytes;
  // tasks
  int64_t kc, k_blocks;
  int64_t nr, block, blocks;  // columns a panel; panels a column block (DIRECT: columns a segment)
  int64_t oc_block, oc_blocks;  // panels of output channels a task
  bool oc_outer;  // GEMM: tasks of the same output channels are neighbours, not those of the same columns
  int64_t segment, segments;  // DIRECT: adjacent columns of a row, rows' count
  int64_t group_block;  // DIRECT, DOTS: groups a task
  int64_t splits;  // GEMM along k: parts of k, whose sums are added at the end
  bool pack_late;  // GEMM: weights are packed by the tasks, block by block
  bool w_rows;  // and k is dense: they are widened row by row, not packed
  bool shared;  // GEMM: panels of the image are packed once for the tasks of all output channels
  bool serial;
  size_t b_panel;  // GEMM: bytes of a panel of the image
  size_t w_at, x_at, offsets_at, shared_at, part_at, part_bytes, slot_at, slot_bytes, tile_at, a_at,
      total;  // part_bytes: of a split
} tt_conv_plan_t;

int64_t tt_conv_phases(const tt_conv_blob_t* p);
typedef enum tt_conv_force_e {
  TT_CONV_FREE,
  TT_CONV_IN_PLACE_COLUMNS,
  TT_CONV_IN_PLACE_K,
  TT_CONV_COPY
} tt_conv_force_t;
// Plan of phase `phase`; `force` FREE but for scratch sizes. False when the result has no elements.
bool tt_conv_plan(const tt_conv_blob_t* p, int64_t phase, int threads, const tt_k_tensor_t* operands,
                  const tt_k_tensor_t* result, tt_conv_force_t force, tt_conv_plan_t* out_plan);
// Enough for operands of any strides.
size_t tt_conv_scratch_bytes(const tt_conv_blob_t* p, int threads, const tt_k_tensor_t* operands,
                             const tt_k_tensor_t* result);

static inline int64_t tt_conv_inner(const tt_conv_plan_t* p, int64_t place) {
  return p->residues == 1 ? place * p->s_2 : place % p->residues * p->plane + place / p->residues;
}
// Offsets in the image and in y of columns [first, first + count) of a chunk; y may be NULL.
void tt_conv_columns(const tt_conv_plan_t* p, int64_t first, int64_t count, int64_t* x, int64_t* y);
// Offsets in the image of k in [first, first + count).
void tt_conv_offsets(const tt_conv_plan_t* p, int64_t first, int64_t count, int64_t* x);

#endif  // TT_VTPU_KERNELS_CONV_PLAN_H_
