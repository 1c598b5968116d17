#include "eager/strides.h"

#include <string.h>

#include "eager/view.h"

// The rule, in TensorIterator's terms:
//   all inputs of the result's shape: contiguous if all are, else channels-last if all are, else, if all
//   are dense and permuted alike, the last one's strides;
//   otherwise dimensions are sorted by the inputs' strides (first input first, broadcast dimensions
//   ambiguous, insertion sort from the innermost), and the result is dense in that order.

// Stride of `input` along result dimension `dim`: 0 where it broadcasts.
static int64_t stride_at(const tt_stride_input_t* input, size_t rank, const int64_t* sizes, size_t dim) {
  size_t lead = rank - input->rank;
  if (dim < lead) return 0;
  size_t own = dim - lead;
  if (input->sizes[own] == 1 && sizes[dim] != 1) return 0;
  return input->strides[own];
}

// 1: dimension a (of the result) belongs outside b; -1: inside; 0: ambiguous.
static int compare_dims(size_t rank, const int64_t* sizes, size_t count, const tt_stride_input_t* inputs,
                        size_t a, size_t b) {
  for (size_t i = 0; i < count; ++i) {
    int64_t stride_a = stride_at(&inputs[i], rank, sizes, a);
    int64_t stride_b = stride_at(&inputs[i], rank, sizes, b);
    if (stride_a == 0 || stride_b == 0) continue;
    if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

void tt_strides_pointwise(size_t rank, const int64_t* sizes, size_t count, const tt_stride_input_t* inputs,
                          int64_t* out_strides) {
  tt_view_contiguous_strides(rank, sizes, out_strides);
  if (rank < 2) return;
  bool same_shape = true, contiguous = true, channels_last = true, dense = true, same_strides = true;
  for (size_t i = 0; i < count; ++i) {
    const tt_stride_input_t* input = &inputs[i];
    if (input->rank > rank) return;
    for (size_t k = 0; k < input->rank; ++k) {
      int64_t size = sizes[rank - input->rank + k];
      if (input->sizes[k] != size && input->sizes[k] != 1) return;
    }
    same_shape &= input->rank == rank && memcmp(input->sizes, sizes, rank * sizeof(int64_t)) == 0;
    contiguous &= tt_view_is_contiguous(input->rank, input->sizes, input->strides);
    if (!same_shape) continue;
    channels_last &= tt_view_is_channels_last(rank, input->sizes, input->strides);
    int64_t order[TT_MAX_RANK];
    dense &= tt_view_physical_order(rank, input->sizes, input->strides, order);
    same_strides &= memcmp(input->strides, inputs[0].strides, rank * sizeof(int64_t)) == 0;
  }
  if (count == 0) return;
  if (same_shape) {
    if (contiguous) return;
    if (channels_last) {
      out_strides[1] = 1;
      out_strides[3] = TT_MAX(sizes[1], 1);
      out_strides[2] = out_strides[3] * TT_MAX(sizes[3], 1);
      out_strides[0] = out_strides[2] * TT_MAX(sizes[2], 1);
      return;
    }
    if (dense && same_strides) {
      memcpy(out_strides, inputs[0].strides, rank * sizeof(int64_t));
      return;
    }
  }
  size_t order[TT_MAX_RANK];   // innermost first
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  for (size_t i = 1; i < rank; ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      int comparison = compare_dims(rank, sizes, count, inputs, order[j], order[at]);
      if (comparison > 0) {
        size_t swap = order[j];
        order[j] = order[at];
        order[at] = swap;
        at = j;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  bool identity = true;
  for (size_t i = 0; i < rank; ++i) identity &= order[i] == rank - 1 - i;
  if (identity) return;
  int64_t stride = 1;
  for (size_t i = 0; i < rank; ++i) {
    out_strides[order[i]] = stride;
    stride *= sizes[order[i]];
  }
}
