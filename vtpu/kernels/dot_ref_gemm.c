#include "kernels/dot_ref.h"

// The loops below are written for the vectoriser; the default level of the build does not unroll them.
#pragma GCC optimize("O3")

enum { ROWS = 4, COLS = 8, K_BLOCK = 256, TASK_ROWS = 32, TASK_COLS = 256 };

tt_dtype_t tt_k_accumulator(tt_dtype_t lhs, tt_dtype_t rhs, tt_dtype_t result) {
  if (tt_dtype_is_complex(lhs) || tt_dtype_is_complex(rhs) || tt_dtype_is_complex(result)) {
    return lhs == TT_DTYPE_C128 || rhs == TT_DTYPE_C128 || result == TT_DTYPE_C128 ? TT_DTYPE_C128 : TT_DTYPE_C64;
  }
  if (tt_dtype_is_float(lhs) || tt_dtype_is_float(rhs) || tt_dtype_is_float(result)) {
    return lhs == TT_DTYPE_F64 || rhs == TT_DTYPE_F64 || result == TT_DTYPE_F64 ? TT_DTYPE_F64 : TT_DTYPE_F32;
  }
  return tt_dtype_bytes(result) <= 4 ? TT_DTYPE_S32 : TT_DTYPE_S64;
}

// C[r0..r1, c0..c1]: blocks of ROWS x COLS in registers over blocks of K.
#define GEMM(NAME, T)                                                                                          \
  static void NAME(const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, int64_t m, int64_t n,  \
                   int64_t k) {                                                                                \
    for (int64_t i = 0; i < m; ++i) memset(c + i * ldc, 0, (size_t)n * sizeof(T));                             \
    for (int64_t k0 = 0; k0 < k; k0 += K_BLOCK) {                                                              \
      int64_t k1 = TT_MIN(k, k0 + K_BLOCK);                                                                    \
      int64_t j = 0;                                                                                           \
      for (; j + COLS <= n; j += COLS) {                                                                       \
        int64_t i = 0;                                                                                         \
        for (; i + ROWS <= m; i += ROWS) {                                                                     \
          T acc[ROWS][COLS] = {{0}};                                                                           \
          const T* ai = a + i * lda;                                                                           \
          for (int64_t p = k0; p < k1; ++p) {                                                                  \
            const T* bp = b + p * ldb + j;                                                                     \
            T x0 = ai[p], x1 = ai[lda + p], x2 = ai[2 * lda + p], x3 = ai[3 * lda + p];                        \
            for (int q = 0; q < COLS; ++q) acc[0][q] += x0 * bp[q];                                            \
            for (int q = 0; q < COLS; ++q) acc[1][q] += x1 * bp[q];                                            \
            for (int q = 0; q < COLS; ++q) acc[2][q] += x2 * bp[q];                                            \
            for (int q = 0; q < COLS; ++q) acc[3][q] += x3 * bp[q];                                            \
          }                                                                                                    \
          for (int r = 0; r < ROWS; ++r) {                                                                     \
            for (int q = 0; q < COLS; ++q) c[(i + r) * ldc + j + q] += acc[r][q];                              \
          }                                                                                                    \
        }                                                                                                      \
        for (; i < m; ++i) {                                                                                   \
          T acc[COLS] = {0};                                                                                   \
          for (int64_t p = k0; p < k1; ++p) {                                                                  \
            T x = a[i * lda + p];                                                                              \
            for (int q = 0; q < COLS; ++q) acc[q] += x * b[p * ldb + j + q];                                   \
          }                                                                                                    \
          for (int q = 0; q < COLS; ++q) c[i * ldc + j + q] += acc[q];                                         \
        }                                                                                                      \
      }                                                                                                        \
      for (; j < n; ++j) {                                                                                     \
        for (int64_t i = 0; i < m; ++i) {                                                                      \
          T acc = 0;                                                                                           \
          for (int64_t p = k0; p < k1; ++p) acc += a[i * lda + p] * b[p * ldb + j];                            \
          c[i * ldc + j] += acc;                                                                               \
        }                                                                                                      \
      }                                                                                                        \
    }                                                                                                          \
  }
GEMM(gemm_f32, float)
GEMM(gemm_f64, double)
GEMM(gemm_u32, uint32_t)   // wraps, so signed and unsigned agree
GEMM(gemm_u64, uint64_t)

#define GEMM_COMPLEX(NAME, T)                                                                                  \
  static void NAME(const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, int64_t m, int64_t n,  \
                   int64_t k) {                                                                                \
    for (int64_t i = 0; i < m; ++i) {                                                                          \
      T* ci = c + 2 * i * ldc;                                                                                 \
      memset(ci, 0, (size_t)n * 2 * sizeof(T));                                                                \
      for (int64_t p = 0; p < k; ++p) {                                                                        \
        T re = a[2 * (i * lda + p)], im = a[2 * (i * lda + p) + 1];                                            \
        const T* bp = b + 2 * p * ldb;                                                                         \
        for (int64_t j = 0; j < n; ++j) {                                                                      \
          ci[2 * j] += re * bp[2 * j] - im * bp[2 * j + 1];                                                    \
          ci[2 * j + 1] += re * bp[2 * j + 1] + im * bp[2 * j];                                                \
        }                                                                                                      \
      }                                                                                                        \
    }                                                                                                          \
  }
GEMM_COMPLEX(gemm_c64, float)
GEMM_COMPLEX(gemm_c128, double)

typedef struct gemm_job_s {
  const tt_k_gemm_t* g;
  int64_t row_blocks, col_blocks;
} gemm_job_t;
static void gemm_range(void* self, int64_t begin, int64_t end) {
  const gemm_job_t* job = self;
  const tt_k_gemm_t* g = job->g;
  int64_t eb = (int64_t)tt_dtype_bytes(g->dtype);
  for (int64_t t = begin; t < end; ++t) {
    int64_t col = t % job->col_blocks, row = t / job->col_blocks % job->row_blocks;
    int64_t batch = t / job->col_blocks / job->row_blocks;
    int64_t i = row * TASK_ROWS, j = col * TASK_COLS;
    int64_t m = TT_MIN(TASK_ROWS, g->m - i), n = TT_MIN(TASK_COLS, g->n - j);
    const char* a = (const char*)g->a + (batch * g->a_batch + i * g->lda) * eb;
    const char* b = (const char*)g->b + (batch * g->b_batch + j) * eb;
    char* c = (char*)g->c + (batch * g->c_batch + i * g->ldc + j) * eb;
#define CALL(NAME, T) NAME((const T*)a, g->lda, (const T*)b, g->ldb, (T*)c, g->ldc, m, n, g->k)
    switch (g->dtype) {
      case TT_DTYPE_F32: CALL(gemm_f32, float); break;
      case TT_DTYPE_F64: CALL(gemm_f64, double); break;
      case TT_DTYPE_S32: CALL(gemm_u32, uint32_t); break;
      case TT_DTYPE_S64: CALL(gemm_u64, uint64_t); break;
      case TT_DTYPE_C64: CALL(gemm_c64, float); break;
      default: CALL(gemm_c128, double); break;
    }
#undef CALL
  }
}
void tt_k_gemm(tt_pool_t* pool, const tt_k_gemm_t* g) {
  if (g->batch <= 0 || g->m <= 0 || g->n <= 0) return;
  gemm_job_t job = {g, (g->m + TASK_ROWS - 1) / TASK_ROWS, (g->n + TASK_COLS - 1) / TASK_COLS};
  int64_t work = TT_MIN(g->m, TASK_ROWS) * TT_MIN(g->n, TASK_COLS) * TT_MAX(1, g->k);
  tt_k_parallel(pool, g->batch * job.row_blocks * job.col_blocks, TT_MAX(1, 65536 / work), gemm_range, &job);
}
