#include "eager/overlap.h"

#include "eager/view.h"
#include "ir/ir.h"

tt_status_t tt_overlap_check_internal(const tt_tensor_t* written) {
  int64_t order[TT_MAX_RANK];
  if (tt_view_physical_order(written->rank, written->sizes, written->strides, order)) return TT_OK_STATUS;
  for (size_t i = 0; i < written->rank; ++i) {
    if (written->strides[i] == 0 && written->sizes[i] > 1) {
      return tt_status_create(TT_INVALID_ARGUMENT,
                              "unsupported operation: more than one element of the written-to tensor refers "
                              "to a single "
                              "memory location. Please clone() the tensor before performing the operation.");
    }
  }
  return TT_OK_STATUS;
}

tt_status_t tt_overlap_check_partial(const tt_tensor_t* written, const tt_tensor_t* read) {
  if (written->storage != read->storage || !written->storage) return TT_OK_STATUS;
  int64_t written_elems, read_elems, order[TT_MAX_RANK];
  if (!tt_view_numel(written->rank, written->sizes, &written_elems) || written_elems == 0)
    return TT_OK_STATUS;
  if (!tt_view_numel(read->rank, read->sizes, &read_elems) || read_elems == 0) return TT_OK_STATUS;
  if (!tt_view_physical_order(written->rank, written->sizes, written->strides, order)) return TT_OK_STATUS;
  if (!tt_view_physical_order(read->rank, read->sizes, read->strides, order)) return TT_OK_STATUS;
  int64_t written_size = (int64_t)tt_dtype_bytes(written->dtype),
          read_size = (int64_t)tt_dtype_bytes(read->dtype);
  int64_t a_begin = written->offset * written_size, a_end = a_begin + written_elems * written_size;
  int64_t b_begin = read->offset * read_size, b_end = b_begin + read_elems * read_size;
  bool partial;
  if (a_begin == b_begin && a_end == b_end) {
    partial = written->rank != read->rank;
    for (size_t i = 0; !partial && i < written->rank; ++i) partial = written->strides[i] != read->strides[i];
  } else {
    partial = a_begin < b_end && b_begin < a_end;
  }
  if (!partial) return TT_OK_STATUS;
  return tt_status_create(TT_INVALID_ARGUMENT,
                          "unsupported operation: some elements of the input tensor and the written-to "
                          "tensor refer to a "
                          "single memory location. Please clone() the tensor before performing the "
                          "operation.");
}
