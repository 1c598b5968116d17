#include <sys/mman.h>

#include "eager/address.h"

void* tt_address_reserve_os(size_t bytes) {
  void* base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return base == MAP_FAILED ? NULL : base;
}
void tt_address_unreserve_os(void* base, size_t bytes) { munmap(base, bytes); }
