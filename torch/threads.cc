// The number of threads that torch grants the calls of a thread.
//
// torch.set_num_threads() sets the calling thread's own number and what threads started later begin with. A
// device thread of autograd, once started, would keep the number of its first backward pass: it takes torch's
// newest one at the start of each pass instead, as the CPU's backward passes do by running on their caller.
#include <pthread.h>
#include <torch/csrc/autograd/graph_task.h>

#include <cstring>

#include "shim.h"

namespace tpu {
namespace {

constexpr int kUnknown = 0, kEachCall = -1;

// By the name that torch gives them; a renamed one only keeps its first number.
bool is_autograd_thread() {
  char name[16] = "";
  return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 && strncmp(name, "pt_autograd_", 12) == 0;
}

}   // namespace

// What the plugin was told for this thread, kUnknown, or kEachCall on a device thread of autograd.
constinit thread_local int t_threads = kUnknown;

void set_threads(int threads) {
  static thread_local int told = 0, pass = -1;
  if (t_threads == kUnknown && is_autograd_thread()) t_threads = kEachCall;
  if (t_threads == kEachCall) {
    const int current = torch::autograd::get_current_graph_task_id();
    if (current != pass) {
      at::init_num_threads();
      pass = current;
      threads = at::get_num_threads();
    }
    if (threads == told) return;
  }
  check(tt_thread_limit(threads));
  told = threads;
  if (t_threads != kEachCall) t_threads = threads;
}

}   // namespace tpu
