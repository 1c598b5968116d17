// Matrix products on strided operands: C = A B, or C += A B, batched.
//
// Numbers (f32, f64, and bf16/f16 where they are widened): every element of C is the same on every path, tile
// shape, stride, thread count and vector ISA with FMA:
//   c = (s_0 + s_1) + s_2 + ...,  s_i = fma chain from 0 over the i-th TT_GEMM_KC values of k, in order
// (accumulate: C takes the place of the 0 before s_0). So M = 1 (decoding) and M = 512 give a row the same
// bits, and transposed views the same as copies. K = 0 gives zeros (accumulate: C as it was).
// bf16 and f16 widen to f32 and are rounded once at the end; on CPUs with a bf16 unit (AMX,
// vdpbf16ps) products past a small size run there instead, in the unit's own order of f32 sums and with
// denormals as zeros: by shape alone, so strides do not matter there either.
// s8 and u8 products are exact modulo 2^32: on AMX, or 256 of k at a time in f32.
//
// Work is split by shape alone. `threads` only sizes the scratch.
#ifndef TT_VTPU_KERNELS_GEMM_H_
#define TT_VTPU_KERNELS_GEMM_H_

#include "kernels/kernel.h"

#define TT_GEMM_KC 384  // part of the numbers' definition, see above
#define TT_GEMM_MAX_BATCH_RANK 6

typedef struct tt_gemm_s {
  tt_dtype_t dtype;  // of A and B: F32, F64, BF16, F16, S8, U8
  tt_dtype_t c_dtype;  // F32 -> F32; F64 -> F64; BF16, F16 -> the same or F32; S8, U8 -> S32
  bool accumulate;  // C += A B; only c_dtype F32, F64, S32
  uint32_t batch_rank;  // dims of the batch, with strides in elements; 0: one product
  int64_t batch[TT_GEMM_MAX_BATCH_RANK];
  int64_t a_batch[TT_GEMM_MAX_BATCH_RANK], b_batch[TT_GEMM_MAX_BATCH_RANK], c_batch[TT_GEMM_MAX_BATCH_RANK];
  int64_t m, n, k;
  const void *a, *b;
  void* c;  // overlaps neither A nor B
  int64_t a_rs, a_cs;  // A[i, k] = a[i * a_rs + k * a_cs]; any strides, also 0 and negative
  int64_t b_rs, b_cs;  // B[k, j]
  int64_t c_rs, c_cs;  // C[i, j]; fastest when c_cs is 1 (or c_rs is 1: then the transposed product is run)
  // NULL, or run on blocks of C as they are finished; C is dense then. Taken where there are blocks: not by `few`
  // rows and results that are written transposed.
  tt_k_epilogue_t* epilogue;
} tt_gemm_t;

// Whether the dtypes have a kernel on the current ISA (the vector ISAs only: generic C has none).
bool tt_gemm_supports(tt_dtype_t dtype, tt_dtype_t c_dtype);
// Scratch of tt_gemm_run with a pool of `threads` (1 when pool is NULL). Reads no pointers of *g.
size_t tt_gemm_scratch_bytes(const tt_gemm_t* g, int threads);
// pool NULL: on this thread. scratch: 64-byte aligned, of that size.
void tt_gemm_run(tt_pool_t* pool, const tt_gemm_t* g, void* scratch);

// ---- the micro-kernels, for kernels that pack their operands themselves (convolution, attention) ----
// Panels: A in panels of mr rows: a[k * mr + i]; B in panels of nr columns: b[k * nr + j]; 64-byte aligned B.
// A panel's last columns may be missing in the result (cols < nr), not in memory: they must be readable, any
// value.
typedef struct tt_gemm_kernel_s {
  int64_t mr, nr;  // f32: 14x32 (AVX-512), 6x16 (AVX2); f64: 14x16, 6x8
  // C[rows x cols] (c_rs elements between rows, columns adjacent) = or += A panel * B panel over k (any k >=
  // 0). rows <= mr, cols <= nr. The chain starts at 0, and C is added last.
  void (*run)(int64_t k, const void* a, const void* b, void* c, int64_t c_rs, int64_t rows, int64_t cols,
              bool accumulate);
  // The same with A where it lies: A[i, k] = a[i * a_rs + k * a_cs] (elements), dtype of the kernel.
  void (*run_strided)(int64_t k, const void* a, int64_t a_rs, int64_t a_cs, const void* b, int64_t b_rs,
                      void* c, int64_t c_rs, int64_t rows, int64_t cols, bool accumulate);
} tt_gemm_kernel_t;
// F32 or F64 of the current ISA; NULL on generic.
const tt_gemm_kernel_t* tt_gemm_kernel(tt_dtype_t dtype);

// Packs one panel: dst[k * width + i] = src[i * ws + k * ks] for i < count, k < depth; zeros for count <= i <
// width. src of `dtype` (F32, F64, BF16, F16; the halves widen), dst f32 (F64: f64). Writes up to 64 bytes
// past the panel's end: leave TT_GEMM_PACK_SLACK bytes behind the last one. Width: mr or nr of the kernel.
#define TT_GEMM_PACK_SLACK 64
typedef void (*tt_gemm_pack_fn_t)(void* dst, int64_t width, const void* src, int64_t ws, int64_t ks,
                                  int64_t count, int64_t depth);
tt_gemm_pack_fn_t tt_gemm_pack(tt_dtype_t dtype);  // of the current ISA; NULL on generic

// Runs fn(self, slot, task) for tasks [0, count), each once; calls with one slot never overlap, and slot <
// threads of the pool: scratch a thread. pool NULL: all here, slot 0.
typedef void (*tt_gemm_task_fn_t)(void* self, size_t slot, size_t task);
void tt_gemm_tasks(tt_pool_t* pool, size_t count, tt_gemm_task_fn_t fn, void* self);

// The order of the tiles of C: one half of the columns after the other, rows by rows within. Each of two
// threads then has columns of B to itself, and the rows of A that it reads are used for several tiles.
static inline void tt_gemm_tile_at(int64_t index, int64_t m_tiles, int64_t n_tiles, int64_t* out_m,
                                   int64_t* out_n) {
  const int64_t half = (n_tiles + 1) / 2, first = index < m_tiles * half ? 0 : half;
  const int64_t wide = first ? n_tiles - half : half;
  index -= m_tiles * first;
  *out_m = index / wide;
  *out_n = first + index % wide;
}

#endif  // TT_VTPU_KERNELS_GEMM_H_
