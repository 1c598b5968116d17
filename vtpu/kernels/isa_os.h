// CPU probing; the only kernels file that asks the CPU and the OS.
#ifndef TT_VTPU_KERNELS_ISA_OS_H_
#define TT_VTPU_KERNELS_ISA_OS_H_

#include "kernels/kernel.h"

// Best ISA that both the CPU and the OS (register state, AMX permission of this process) allow.
tt_isa_t tt_k_isa_os_probe(void);

#endif  // TT_VTPU_KERNELS_ISA_OS_H_
