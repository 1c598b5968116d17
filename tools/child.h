// Child processes that answer requests: this program again, with other arguments. A compiler that ends its
// process or never returns ends the child alone.
//
// Invariants: a child that was started is reaped exactly once; it dies with its parent.
#ifndef TT_TOOLS_CHILD_H_
#define TT_TOOLS_CHILD_H_

#include "base/status.h"
#include "base/strbuf.h"

#define TT_CHILD_ANSWER_FD 3  // where the child writes its answers

typedef struct tt_child_s {
  int process;  // 0: none
  int requests, answers, noise;  // pipes
  tt_strbuf_t answer;  // what it has answered so far
  char tail[4096];  // the last of its output and error output, NUL-terminated
  size_t tail_size;
} tt_child_t;

// Runs /proc/self/exe with `arguments` (NULL-terminated, without the program's name).
tt_status_t tt_child_start(const char* const* arguments, tt_child_t* out_child) TT_MUST_USE;
// False: the child is gone.
bool tt_child_ask(tt_child_t* child, const char* text, size_t size);
// Reads what has come from every started child, waiting until there is something or the time has passed.
void tt_children_wait(tt_child_t* const* children, size_t count, int64_t timeout_ns);
// Whether it has closed its answers (died or exited).
bool tt_child_is_gone(const tt_child_t* child);
// Kills it, reaps it, and says how it ended: "signal 6 (Aborted)", "exit code 1".
void tt_child_end(tt_child_t* child, char* out_how, size_t capacity);

#endif  // TT_TOOLS_CHILD_H_
