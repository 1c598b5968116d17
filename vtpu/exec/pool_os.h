// Sleeping on a word: the thread pool's only system calls.
#ifndef TT_VTPU_EXEC_POOL_OS_H_
#define TT_VTPU_EXEC_POOL_OS_H_

#include "base/base.h"

// Sleeps while *word == expected; may wake spuriously.
void tt_pool_os_wait(uint32_t* word, uint32_t expected);
void tt_pool_os_wake(uint32_t* word, int count);
static inline void tt_pool_os_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

#endif  // TT_VTPU_EXEC_POOL_OS_H_
