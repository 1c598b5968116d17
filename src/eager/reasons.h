// Why programs were compiled: a ring of misses, each with the nearest earlier key of the same op. Recording
// copies words; text is made when somebody asks.
#ifndef TT_EAGER_REASONS_H_
#define TT_EAGER_REASONS_H_

#include "base/strbuf.h"
#include "eager/frame.h"

// Records the miss of frame's key. is_rounded: its program has rounded sizes, and may have been compiled before.
void tt_reasons_record(const tt_frame_t* frame, bool is_rounded);
// The reason of frame's key against what was recorded before, without recording.
void tt_reasons_explain(const tt_frame_t* frame, tt_strbuf_t* out);
// FAILED_PRECONDITION with that reason: a compile that TT_SETTING_FORBID_RECOMPILES does not allow.
tt_status_t tt_reasons_forbidden(const tt_frame_t* frame) TT_MUST_USE;
void tt_reasons_clear(void);

#endif  // TT_EAGER_REASONS_H_
