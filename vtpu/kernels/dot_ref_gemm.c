#include "kernels/dot_ref.h"

// The loops below are written for the vectoriser; the default level of the build does not unroll them.
#pragma GCC optimize("O3")

enum { COLS = 8, K_BLOCK = 256, TASK_ROWS = 48, TASK_COLS = 256 };

tt_dtype_t tt_k_accumulator(tt_dtype_t lhs, tt_dtype_t rhs, tt_dtype_t result) {
  if (tt_dtype_is_complex(lhs) || tt_dtype_is_complex(rhs) || tt_dtype_is_complex(result)) {
    return lhs == TT_DTYPE_C128 || rhs == TT_DTYPE_C128 || result == TT_DTYPE_C128 ? TT_DTYPE_C128 : TT_DTYPE_C64;
  }
  if (tt_dtype_is_float(lhs) || tt_dtype_is_float(rhs) || tt_dtype_is_float(result)) {
    return lhs == TT_DTYPE_F64 || rhs == TT_DTYPE_F64 || result == TT_DTYPE_F64 ? TT_DTYPE_F64 : TT_DTYPE_F32;
  }
  return tt_dtype_bytes(result) <= 4 ? TT_DTYPE_S32 : TT_DTYPE_S64;
}

// Eight columns as one vector of the compiler's portable kind, so that accumulators stay in registers.
typedef float v_f32 __attribute__((vector_size(8 * 4), aligned(4), may_alias));
typedef double v_f64 __attribute__((vector_size(8 * 8), aligned(8), may_alias));
typedef uint32_t v_u32 __attribute__((vector_size(8 * 4), aligned(4), may_alias));
typedef uint64_t v_u64 __attribute__((vector_size(8 * 8), aligned(8), may_alias));

// Blocks of ROWS x COLS in registers over blocks of K. The order of the sums of one element depends on k alone.
#define GEMM(NAME, T, V, ROWS)                                                                                 \
  static void NAME(const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, int64_t m, int64_t n,  \
                   int64_t k) {                                                                                \
    for (int64_t i = 0; i < m; ++i) memset(c + i * ldc, 0, (size_t)n * sizeof(T));                             \
    for (int64_t k0 = 0; k0 < k; k0 += K_BLOCK) {                                                              \
      int64_t k1 = TT_MIN(k, k0 + K_BLOCK);                                                                    \
      int64_t j = 0;                                                                                           \
      for (; j + COLS <= n; j += COLS) {                                                                       \
        int64_t i = 0;                                                                                         \
        for (; i + ROWS <= m; i += ROWS) {                                                                     \
          V acc[ROWS] = {{0}};                                                                                 \
          const T* ai = a + i * lda;                                                                           \
          for (int64_t p = k0; p < k1; ++p) {                                                                  \
            V row = *(const V*)(b + p * ldb + j);                                                              \
            for (int r = 0; r < ROWS; ++r) acc[r] += ai[r * lda + p] * row;                                    \
          }                                                                                                    \
          for (int r = 0; r < ROWS; ++r) *(V*)(c + (i + r) * ldc + j) += acc[r];                               \
        }                                                                                                      \
        for (; i < m; ++i) {                                                                                   \
          V acc = {0};                                                                                         \
          for (int64_t p = k0; p < k1; ++p) acc += a[i * lda + p] * *(const V*)(b + p * ldb + j);              \
          *(V*)(c + i * ldc + j) += acc;                                                                       \
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
GEMM(gemm_f32, float, v_f32, 6)
GEMM(gemm_f64, double, v_f64, 3)
GEMM(gemm_u32, uint32_t, v_u32, 4)   // wraps, so signed and unsigned agree
GEMM(gemm_u64, uint64_t, v_u64, 2)

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
