// Calls in words, for errors: "aten::add.Tensor(tensor<4x4xf32>, tensor<4xf32>, 1)".
#ifndef TT_EAGER_DESCRIBE_H_
#define TT_EAGER_DESCRIBE_H_

#include "base/strbuf.h"
#include "tt/op.h"

enum { TT_LOCATION_BYTES = 224 };

void tt_describe_call(const tt_call_t* call, tt_strbuf_t* out);
// The same for every call of one program: run-time numbers (bits of `value_args`) without their values.
void tt_describe_signature(const tt_call_t* call, uint32_t value_args, tt_strbuf_t* out);
void tt_describe_tensor(const tt_tensor_t* view, tt_strbuf_t* out);
// Puts the call (and the user's file:line where it is known) in front of the message; consumes `status`.
tt_status_t tt_describe_error(tt_status_t status, const tt_call_t* call) TT_MUST_USE;
// " (file:line)" of this thread's location, if locations are on.
void tt_describe_location(tt_strbuf_t* out);

#endif  // TT_EAGER_DESCRIBE_H_
