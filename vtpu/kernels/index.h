// Gather and scatter seen alike: a list of batch positions, each with an offset into the operand and an offset
// into the result (gather) or updates (scatter), and one window shape for all of them.
#ifndef TT_VTPU_KERNELS_INDEX_H_
#define TT_VTPU_KERNELS_INDEX_H_

#include "kernels/loops.h"

typedef struct tt_k_index_s {
  int64_t index_vector_dim;
  int64_t map_count, map[TT_MAX_RANK];                  // operand dim of index component i
  int64_t batching_count, operand_batching[TT_MAX_RANK], index_batching[TT_MAX_RANK];
  int64_t window_count, window_dims[TT_MAX_RANK];       // dims of the result or updates that hold the window
  int64_t window_operand[TT_MAX_RANK];                  // operand dims of the window, in the same order
  int64_t slice[TT_MAX_RANK];                           // window size an operand dim (1 where collapsed)
  int64_t combine, kind;                                // scatter: tt_k_combine_t, tt_op_kind_t
} tt_k_index_t;

typedef struct tt_k_positions_s {
  int64_t count;
  int64_t* operand;     // element offset of the window's corner; -1: dropped (scatter)
  int64_t* other;       // the same in the result / updates
} tt_k_positions_t;

// Batch positions of `indices`.
int64_t tt_k_index_count(const tt_k_index_t* p, const tt_k_tensor_t* indices);
static inline size_t tt_k_index_scratch(const tt_k_index_t* p, const tt_k_tensor_t* indices) {
  return (size_t)tt_k_index_count(p, indices) * 2 * sizeof(int64_t);
}
// Fills out->operand and out->other (memory of tt_k_index_scratch bytes at `memory`). clamp: gather's rule, else windows
// that do not fit are marked -1.
void tt_k_index_positions(tt_pool_t* pool, const tt_k_index_t* p, const tt_k_tensor_t* operand,
                          const tt_k_tensor_t* indices, const tt_k_tensor_t* other, bool clamp, void* memory,
                          tt_k_positions_t* out);
// Window as a copy: dims, .dst = strides in the operand if `into_operand`, else in `other`; not normalised.
void tt_k_index_window(const tt_k_index_t* p, const tt_k_tensor_t* operand, const tt_k_tensor_t* other,
                       bool into_operand, tt_k_copy_t* out);

#endif  // TT_VTPU_KERNELS_INDEX_H_
