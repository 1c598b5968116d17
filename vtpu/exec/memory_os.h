// System calls of the device memory allocator.
#ifndef TT_VTPU_EXEC_MEMORY_OS_H_
#define TT_VTPU_EXEC_MEMORY_OS_H_

#include "base/base.h"
#include "base/status.h"

#define TT_VMEM_PAGE_BYTES ((size_t)2 << 20)

// `bytes` zeroed bytes, 2 MB aligned, with one readable page behind them.
tt_status_t tt_vmem_os_map(size_t bytes, void** out_data) TT_MUST_USE;
void tt_vmem_os_unmap(void* data, size_t bytes);
// Gives the whole pages of a range back; its contents are lost. Returns the bytes given back.
size_t tt_vmem_os_decommit(void* data, size_t bytes);

#endif  // TT_VTPU_EXEC_MEMORY_OS_H_
