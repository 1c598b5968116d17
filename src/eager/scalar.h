// Run-time numbers as 0-d device buffers, cached by content: the same learning rate is uploaded once.
#ifndef TT_EAGER_SCALAR_H_
#define TT_EAGER_SCALAR_H_

#include "eager/device.h"
#include "tt/op.h"

// The element `data` of `dtype` (its tt_dtype_bytes). *out_buffer is retained for the caller.
tt_status_t tt_scalar_buffer(tt_engine_t* engine, int device, tt_dtype_t dtype, const void* data,
                             tt_rt_buffer_t** out_buffer) TT_MUST_USE;
// As above without a place in the cache (values that never come twice: generator offsets).
tt_status_t tt_scalar_buffer_uncached(tt_engine_t* engine, int device, tt_dtype_t dtype, const void* data,
                                      tt_rt_buffer_t** out_buffer) TT_MUST_USE;
// A Scalar converted to `dtype`; out_data holds 16 bytes.
void tt_scalar_encode(const tt_scalar_t* scalar, tt_dtype_t dtype, void* out_data);
// One of the values that fold into programs (lower.h).
bool tt_scalar_is_special(const tt_scalar_t* scalar);
void tt_scalar_cache_clear(void);

#endif  // TT_EAGER_SCALAR_H_
