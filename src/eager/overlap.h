// Overlap rules of written arguments, with CPU PyTorch's verdicts and texts. The verdict follows from the
// layouts and the partition into storages alone, so it is part of what a signature decides once.
#ifndef TT_EAGER_OVERLAP_H_
#define TT_EAGER_OVERLAP_H_

#include "base/base.h"
#include "base/status.h"
#include "tt/storage.h"

// INVALID_ARGUMENT if `written` has a dimension of stride 0 and size > 1.
tt_status_t tt_overlap_check_internal(const tt_tensor_t* written) TT_MUST_USE;
// INVALID_ARGUMENT if `read` overlaps `written` without being the same view (dense views only, as PyTorch).
tt_status_t tt_overlap_check_partial(const tt_tensor_t* written, const tt_tensor_t* read) TT_MUST_USE;

#endif  // TT_EAGER_OVERLAP_H_
