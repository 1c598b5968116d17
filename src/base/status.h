// One status for the whole project: pointer-sized, OK is NULL, codes as absl and PJRT number them.
// A status that is not OK is owned by whoever holds it; free it or hand it on.
#ifndef TT_BASE_STATUS_H_
#define TT_BASE_STATUS_H_

#include <stdarg.h>

#include "base/base.h"
#include "tt/status.h"

#define TT_OK_STATUS ((tt_status_t)0)

static inline bool tt_status_is_ok(tt_status_t status) { return TT_LIKELY(status == TT_OK_STATUS); }

// Never fails: when memory is short a static RESOURCE_EXHAUSTED status is returned.
tt_status_t tt_status_create(tt_status_code_t code, const char* format, ...) TT_PRINTF(2, 3) TT_MUST_USE;
tt_status_t tt_status_create_va(tt_status_code_t code, const char* format, va_list args) TT_MUST_USE;
tt_status_t tt_status_copy(tt_status_t status) TT_MUST_USE;
// "context: message", same code; consumes `status`. OK stays OK.
tt_status_t tt_status_annotate(tt_status_t status, const char* format, ...) TT_PRINTF(2, 3) TT_MUST_USE;
// Keeps the first error: returns `first` if not OK (freeing `second`), else `second`. Consumes both.
tt_status_t tt_status_join(tt_status_t first, tt_status_t second) TT_MUST_USE;
// For a status whose failure is of no consequence; the reason belongs in a comment at the call.
static inline void tt_status_ignore(tt_status_t status) { tt_status_free(status); }

// Early return: only while nothing is owned.
#define TT_RETURN_IF_ERROR(expr)                              \
  do {                                                        \
    tt_status_t tt_status_ = (expr);                          \
    if (TT_UNLIKELY(tt_status_ != TT_OK_STATUS)) return tt_status_; \
  } while (0)

#endif  // TT_BASE_STATUS_H_
