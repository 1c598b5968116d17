// Statuses of the C API: pointer-sized, OK is NULL. A status that is not OK is owned by whoever holds it.
#ifndef TT_STATUS_H_
#define TT_STATUS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TT_API __attribute__((visibility("default")))
#define TT_API_MUST_USE __attribute__((visibility("default"), warn_unused_result))
#else
#define TT_API
#define TT_API_MUST_USE
#endif

typedef enum tt_status_code_e {
#define TT_STATUS_CODE(number, name) TT_##name = number,
#include "tt/status_codes.def"
#undef TT_STATUS_CODE
} tt_status_code_t;

typedef struct tt_status_s* tt_status_t;

TT_API tt_status_code_t tt_status_code(tt_status_t status);
TT_API const char* tt_status_message(tt_status_t status);        // "" for OK; lives as long as the status
TT_API const char* tt_status_code_name(tt_status_code_t code);   // "INVALID_ARGUMENT"
TT_API void tt_status_free(tt_status_t status);                  // OK is fine

#ifdef __cplusplus
}
#endif
#endif  // TT_STATUS_H_
