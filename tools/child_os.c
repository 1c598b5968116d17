#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

#define MAX_ARGUMENTS 32
#define MAX_CHILDREN 64

static void close_pair(int pair[2]) {
  for (int i = 0; i < 2; ++i) {
    if (pair[i] >= 0) close(pair[i]);
  }
}

// In the child, between fork and exec: no memory is allocated. The pipes lie above 3 (make_pipe).
static void become(const char* const* arguments, int parent, int requests, int answers, int noise) {
  char* argv[MAX_ARGUMENTS + 2] = {(char*)(uintptr_t)"tt-worker"};
  for (int i = 0; i < MAX_ARGUMENTS && arguments[i]; ++i) argv[i + 1] = (char*)(uintptr_t)arguments[i];
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent && dup2(requests, 0) == 0 && dup2(noise, 1) == 1 && dup2(noise, 2) == 2 &&
      dup2(answers, TT_CHILD_ANSWER_FD) == TT_CHILD_ANSWER_FD) {
    execv("/proc/self/exe", argv);
  }
  _exit(127);
}

// Both ends close on exec and lie above the numbers that the child gives away.
static bool make_pipe(int pair[2]) {
  int low[2];
  if (pipe2(low, O_CLOEXEC) != 0) return false;
  pair[0] = fcntl(low[0], F_DUPFD_CLOEXEC, 10);
  pair[1] = fcntl(low[1], F_DUPFD_CLOEXEC, 10);
  close_pair(low);
  return pair[0] >= 0 && pair[1] >= 0;
}

tt_status_t tt_child_start(const char* const* arguments, tt_child_t* out_child) {
  memset(out_child, 0, sizeof(*out_child));
  tt_strbuf_initialize(&out_child->answer);
  int requests[2] = {-1, -1}, answers[2] = {-1, -1}, noise[2] = {-1, -1};
  pid_t process = -1, parent = getpid();
  if (make_pipe(requests) && make_pipe(answers) && make_pipe(noise)) process = fork();
  if (process == 0) become(arguments, parent, requests[0], answers[1], noise[1]);
  if (process < 0) {
    tt_status_t status = tt_status_create(TT_UNAVAILABLE, "cannot start a process: %s", strerror(errno));
    close_pair(requests);
    close_pair(answers);
    close_pair(noise);
    return status;
  }
  close(requests[0]);
  close(answers[1]);
  close(noise[1]);
  fcntl(answers[0], F_SETFL, O_NONBLOCK);
  fcntl(noise[0], F_SETFL, O_NONBLOCK);
  signal(SIGPIPE, SIG_IGN);  // a write to a child that is gone is an error of that write
  out_child->process = process;
  out_child->requests = requests[1];
  out_child->answers = answers[0];
  out_child->noise = noise[0];
  return TT_OK_STATUS;
}

bool tt_child_ask(tt_child_t* child, const char* text, size_t size) {
  while (size) {
    ssize_t written = write(child->requests, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text += written;
    size -= (size_t)written;
  }
  return true;
}

static void keep_tail(tt_child_t* child, const char* data, size_t size) {
  size_t limit = sizeof(child->tail) - 1;
  if (size > limit) {
    data += size - limit;
    size = limit;
  }
  if (child->tail_size + size > limit) {
    size_t drop = child->tail_size + size - limit;
    memmove(child->tail, child->tail + drop, child->tail_size - drop);
    child->tail_size -= drop;
  }
  memcpy(child->tail + child->tail_size, data, size);
  child->tail_size += size;
  child->tail[child->tail_size] = '\0';
}

// Reads all that is there; closes the descriptor at the end of the stream.
static void drain(tt_child_t* child, int* descriptor, bool is_answer) {
  char data[65536];
  while (*descriptor >= 0) {
    ssize_t size = read(*descriptor, data, sizeof(data));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      close(*descriptor);
      *descriptor = -1;
    } else if (is_answer) {
      tt_strbuf_append(&child->answer, data, (size_t)size);
    } else {
      keep_tail(child, data, (size_t)size);
    }
  }
}

void tt_children_wait(tt_child_t* const* children, size_t count, int64_t timeout_ns) {
  struct pollfd polled[2 * MAX_CHILDREN];
  nfds_t used = 0;
  for (size_t i = 0; i < count && i < MAX_CHILDREN; ++i) {
    if (children[i]->answers >= 0) polled[used++] = (struct pollfd){children[i]->answers, POLLIN, 0};
    if (children[i]->noise >= 0) polled[used++] = (struct pollfd){children[i]->noise, POLLIN, 0};
  }
  int64_t timeout_ms = TT_MIN(TT_MAX(timeout_ns, 0) / 1000000 + 1, 1000000);
  if (poll(polled, used, (int)timeout_ms) <= 0)
    return;  // too late, or a signal: the caller looks again
  for (size_t i = 0; i < count && i < MAX_CHILDREN; ++i) {
    drain(children[i], &children[i]->noise, false);
    drain(children[i], &children[i]->answers, true);
  }
}

bool tt_child_is_gone(const tt_child_t* child) { return child->answers < 0; }

void tt_child_end(tt_child_t* child, char* out_how, size_t capacity) {
  int state = 0;
  if (capacity) out_how[0] = '\0';
  if (!child->process) return;
  // one that has closed its answers is about to end by itself, and that end is what the caller asks for
  bool ended = false;
  for (int i = 0; i < 200 && tt_child_is_gone(child) && !ended; ++i) {
    ended = waitpid(child->process, &state, WNOHANG) == child->process;
    if (!ended) usleep(10000);
  }
  if (!ended) {
    kill(child->process, SIGKILL);
    while (waitpid(child->process, &state, 0) < 0 && errno == EINTR) {}
  }
  drain(child, &child->noise, false);
  if (WIFSIGNALED(state)) {
    snprintf(out_how, capacity, "signal %d (%s)", WTERMSIG(state), strsignal(WTERMSIG(state)));
  } else {
    snprintf(out_how, capacity, "exit code %d", WEXITSTATUS(state));
  }
  close(child->requests);
  if (child->answers >= 0) close(child->answers);
  if (child->noise >= 0) close(child->noise);
  tt_strbuf_deinitialize(&child->answer);
  child->process = 0;
}
