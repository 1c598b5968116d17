// Geometry of views: pure functions over sizes, strides and offsets.
#ifndef TT_EAGER_VIEW_H_
#define TT_EAGER_VIEW_H_

#include "base/base.h"
#include "base/status.h"
#include "tt/storage.h"

// Elements; false on overflow.
bool tt_view_numel(size_t rank, const int64_t* sizes, int64_t* out_numel);
// As PyTorch: strides of size-1 dimensions do not matter; tensors without elements are contiguous.
bool tt_view_is_contiguous(size_t rank, const int64_t* sizes, const int64_t* strides);
bool tt_view_is_channels_last(size_t rank, const int64_t* sizes, const int64_t* strides);   // 4-d NHWC
void tt_view_contiguous_strides(size_t rank, const int64_t* sizes, int64_t* out_strides);
// True if the view is a permutation of dense row-major memory; out_order[j] is the dimension at physical
// position j (outermost first). Size-1 dimensions sit where their neighbours leave them.
bool tt_view_physical_order(size_t rank, const int64_t* sizes, const int64_t* strides, int64_t* out_order);
// Checks that every element lies in a storage of `bytes`; OUT_OF_RANGE names view and bytes.
tt_status_t tt_view_check_range(const tt_tensor_t* view, size_t element_bytes, size_t bytes) TT_MUST_USE;

#endif  // TT_EAGER_VIEW_H_
