#include "eager/view.h"

bool tt_view_numel(size_t rank, const int64_t* sizes, int64_t* out_numel) {
  for (size_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0) return false;
  }
  return tt_checked_product(sizes, rank, out_numel);
}

bool tt_view_is_contiguous(size_t rank, const int64_t* sizes, const int64_t* strides) {
  int64_t expected = 1;
  bool dense = true;
  for (size_t i = rank; i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) {
      dense &= strides[i] == expected;
      expected *= sizes[i];
    }
  }
  return dense;
}

bool tt_view_is_channels_last(size_t rank, const int64_t* sizes, const int64_t* strides) {
  if (rank != 4) return false;
  static const int order[4] = {1, 3, 2, 0};
  int64_t expected = 1;
  for (size_t i = 0; i < 4; ++i) {
    int d = order[i];
    if (sizes[d] == 0) return true;
    if (sizes[d] != 1) {
      if (strides[d] != expected) return false;
      expected *= sizes[d];
    }
  }
  return true;
}

void tt_view_contiguous_strides(size_t rank, const int64_t* sizes, int64_t* out_strides) {
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    out_strides[i] = stride;
    stride *= TT_MAX(sizes[i], 1);
  }
}

bool tt_view_physical_order(size_t rank, const int64_t* sizes, const int64_t* strides, int64_t* out_order) {
  for (size_t i = 0; i < rank; ++i) out_order[i] = (int64_t)i;
  if (tt_view_is_contiguous(rank, sizes, strides)) return true;
  // Stable insertion sort by falling stride. Size-1 dimensions sort by their stride too: any place is right.
  for (size_t i = 1; i < rank; ++i) {
    int64_t dim = out_order[i];
    size_t j = i;
    while (j > 0 && strides[out_order[j - 1]] < strides[dim]) {
      out_order[j] = out_order[j - 1];
      --j;
    }
    out_order[j] = dim;
  }
  int64_t expected = 1;
  for (size_t j = rank; j-- > 0;) {
    int64_t dim = out_order[j];
    if (sizes[dim] == 1) continue;
    if (strides[dim] != expected) return false;
    expected *= sizes[dim];
  }
  return true;
}

tt_status_t tt_view_check_range(const tt_tensor_t* view, size_t element_bytes, size_t bytes) {
  int64_t last = view->offset;
  bool overflow = view->offset < 0;
  for (size_t i = 0; i < view->rank; ++i) {
    if (view->sizes[i] == 0) return TT_OK_STATUS;
    int64_t reach;
    overflow |= view->strides[i] < 0 || view->sizes[i] < 0;
    overflow |= __builtin_mul_overflow(view->sizes[i] - 1, view->strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  if (!overflow && (uint64_t)last < bytes / element_bytes) return TT_OK_STATUS;
  return tt_status_create(TT_OUT_OF_RANGE,
                          "a view reaches element %lld (offset %lld, %zu bytes each), outside its storage of "
                          "%zu bytes",
                          (long long)last, (long long)view->offset, element_bytes, bytes);
}
