#define _GNU_SOURCE
#include "exec/pool_os.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void tt_pool_os_wait(uint32_t* word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void tt_pool_os_wake(uint32_t* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
