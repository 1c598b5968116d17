// Products on the AMX tile unit; inside gemm.c only.
#ifndef TT_VTPU_KERNELS_GEMM_AMX_H_
#define TT_VTPU_KERNELS_GEMM_AMX_H_

#include "kernels/gemm.h"

static inline bool tt_gemm_amx_supports(tt_dtype_t dtype) { (void)dtype; return false; }
static inline bool tt_gemm_amx_takes(const tt_gemm_t* g) { (void)g; return false; }
static inline size_t tt_gemm_amx_scratch_bytes(const tt_gemm_t* g, int threads) { (void)g, (void)threads; return 0; }
static inline void tt_gemm_amx_run(tt_pool_t* pool, const tt_gemm_t* g, void* scratch) { (void)pool, (void)g, (void)scratch; }

#endif  // TT_VTPU_KERNELS_GEMM_AMX_H_
