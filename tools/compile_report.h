// What tt-compile says about one program: a JSON line and a text for people.
#ifndef TT_TOOLS_COMPILE_REPORT_H_
#define TT_TOOLS_COMPILE_REPORT_H_

#include "base/strbuf.h"
#include "runtime/ahead.h"

typedef struct tt_compile_outcome_s {
  const char *program, *topology;  // a path; a canonical name
  const char* status;  // "compiled", "error", "crashed", "timeout"
  tt_status_code_t code;
  const char* error;  // "" if compiled
  double seconds;
  const tt_rt_ahead_t* ahead;  // NULL unless compiled
  const char* output;  // file of the executable, NULL: none written
} tt_compile_outcome_t;

// One line, newline included.
void tt_compile_report_json(const tt_compile_outcome_t* outcome, tt_strbuf_t* out);
// `text` is the program (NULL, or one that cannot be read: no advice from it).
void tt_compile_report_text(const tt_compile_outcome_t* outcome, const char* kind, const tt_slice_t* slice,
                            const char* text, size_t size, tt_strbuf_t* out);

#endif  // TT_TOOLS_COMPILE_REPORT_H_
