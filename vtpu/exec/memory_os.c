// Page mappings for device memory: 2 MB aligned, huge pages asked for.
#define _GNU_SOURCE
#include "exec/memory_os.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

// One readable page after the segment: kernels may read up to 63 bytes past a block (M1).
#define SLACK_BYTES 4096

tt_status_t tt_vmem_os_map(size_t bytes, void** out_data) {
  *out_data = NULL;
  size_t span;
  if (!tt_checked_add(bytes, TT_VMEM_PAGE_BYTES + SLACK_BYTES, &span)) {
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "a mapping of %zu bytes overflows the address space",
                            bytes);
  }
  char* base = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "the system refuses a mapping of %zu bytes: %s", bytes,
                            strerror(errno));
  }
  char* data = (char*)tt_align_up((size_t)base, TT_VMEM_PAGE_BYTES);
  char* end = data + bytes + SLACK_BYTES;
  if (data > base) munmap(base, (size_t)(data - base));
  if (end < base + span) munmap(end, (size_t)(base + span - end));
#ifdef MADV_HUGEPAGE
  // Advice: without huge pages the memory works as well, only slower.
  if (bytes >= TT_VMEM_PAGE_BYTES) (void)madvise(data, bytes, MADV_HUGEPAGE);
#endif
  *out_data = data;
  return TT_OK_STATUS;
}

void tt_vmem_os_unmap(void* data, size_t bytes) { munmap(data, bytes + SLACK_BYTES); }

size_t tt_vmem_os_decommit(void* data, size_t bytes) {
  size_t first = tt_align_up((size_t)data, 4096);
  size_t last = ((size_t)data + bytes) & ~(size_t)4095;
  if (last <= first) return 0;
  if (madvise((void*)first, last - first, MADV_DONTNEED) != 0) return 0;
  return last - first;
}
