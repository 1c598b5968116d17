// Packed products against sums in double; equal bits on every path that promises them.
#include "base/test.h"
#include "kernels/gemm.h"
#include "kernels/loops.h"

struct tt_pool_s {
  int threads;
};
static tt_pool_t the_pool = {3};
tt_pool_t* tt_pool_get(void) { return &the_pool; }
int tt_pool_threads(const tt_pool_t* pool) { return pool->threads; }
void tt_pool_set_threads(tt_pool_t* pool, int threads) { pool->threads = threads; }
void tt_pool_run(tt_pool_t* pool, size_t count, tt_pool_fn_t fn, void* self) {
  (void)pool;
  while (count-- > 0) fn(self, count);
}

static uint64_t seed = 1;
static double uniform(void) {  // [-1, 1)
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)seed / 9223372036854775808.0;
}
typedef struct matrix_s {  // [batch, rows, cols] within guarded memory
  char* block;
  char* at;
  int64_t bs, rs, cs;
  size_t bytes;
} matrix_t;
typedef enum layout_e { ROWS, COLUMNS, SPREAD, BACK, REPEAT, LAYOUTS } layout_t;

static matrix_t matrix_new(tt_dtype_t dtype, int64_t batch, int64_t rows, int64_t cols, layout_t layout) {
  const int64_t eb = (int64_t)tt_dtype_bytes(dtype);
  matrix_t m = {.rs = cols + 3, .cs = 1};
  if (layout == COLUMNS) m.rs = 1, m.cs = rows + 1;
  if (layout == SPREAD) m.rs = 3 * cols + 1, m.cs = 3;
  m.bs = TT_MAX(rows * m.rs, cols * m.cs) + 5;
  m.bytes = (size_t)((TT_MAX(batch, 1) * m.bs + 8) * eb);
  m.block = malloc(m.bytes + 128);
  memset(m.block, 0x5b, m.bytes + 128);
  m.at = m.block + 64;
  if (layout == BACK) {
    m.at += TT_MAX(rows - 1, 0) * m.rs * eb;
    m.rs = -m.rs;
  }
  if (layout == REPEAT) m.rs = 0;
  return m;
}
static char* element(const matrix_t* m, tt_dtype_t dtype, int64_t b, int64_t i, int64_t j) {
  return m->at + (b * m->bs + i * m->rs + j * m->cs) * (int64_t)tt_dtype_bytes(dtype);
}
static double get(const matrix_t* m, tt_dtype_t dtype, int64_t b, int64_t i, int64_t j) {
  const char* p = element(m, dtype, b, i, j);
  return tt_dtype_is_float(dtype) ? tt_scalar_load_f64(dtype, p) : (double)tt_scalar_load_i64(dtype, p);
}
static void put(const matrix_t* m, tt_dtype_t dtype, int64_t b, int64_t i, int64_t j, double x) {
  char* p = element(m, dtype, b, i, j);
  if (dtype == TT_DTYPE_F64) memcpy(p, &x, 8);
  else if (dtype == TT_DTYPE_F32) memcpy(p, &(float){(float)x}, 4);
  else if (dtype == TT_DTYPE_S8) *(int8_t*)p = (int8_t)x;
  else if (dtype == TT_DTYPE_U8) *(uint8_t*)p = (uint8_t)x;
  else if (dtype == TT_DTYPE_S32) memcpy(p, &(int32_t){(int32_t)x}, 4);
  else tt_k_convert(TT_DTYPE_F32, dtype)(p, &(float){(float)x}, 1);
}
static double random_of(tt_dtype_t dtype) {
  if (dtype == TT_DTYPE_S8) return floor(uniform() * 128);
  if (dtype == TT_DTYPE_U8) return floor(uniform() * 128) + 128;
  return uniform();
}
static double tolerance(tt_dtype_t dtype, tt_dtype_t c_dtype, int64_t k) {  // of values in [-1, 1)
  if (c_dtype == TT_DTYPE_F64) return 1e-15 * (double)(k + 8);
  if (c_dtype == TT_DTYPE_S32) return 0;
  const double product = (dtype == TT_DTYPE_F32 ? 1.2e-7 : 2.4e-7) * (double)(k + 8);
  return c_dtype == TT_DTYPE_BF16  ? product + 4e-3 * sqrt((double)k + 1) * 2
         : c_dtype == TT_DTYPE_F16 ? product + 5e-4 * sqrt((double)k + 1) * 2
                                   : product;
}

typedef struct shape_s {
  int64_t batch, m, n, k;
} shape_t;
static const tt_isa_t isas[] = {TT_ISA_AVX2, TT_ISA_AVX512, TT_ISA_AVX512BF16, TT_ISA_AMX};

// Runs one product; fills *first with C's elements in order when *first is NULL, else compares bits with it.
static void run(tt_dtype_t dtype, tt_dtype_t c_dtype, shape_t s, layout_t la, layout_t lb, layout_t lc,
                bool accumulate, int threads, double** first) {
  matrix_t a = matrix_new(dtype, s.batch, s.m, s.k, la), b = matrix_new(dtype, s.batch, s.k, s.n, lb),
           c = matrix_new(c_dtype, s.batch, s.m, s.n, lc);
  seed = 7;
  for (int64_t x = 0; x < s.batch; ++x) {
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.k; ++j) put(&a, dtype, x, i, j, random_of(dtype));
    for (int64_t i = 0; i < s.k; ++i)
      for (int64_t j = 0; j < s.n; ++j) put(&b, dtype, x, i, j, random_of(dtype));
  }
  double* before = calloc((size_t)(s.batch * s.m * s.n) + 1, 8);
  if (accumulate) {
    for (int64_t x = 0, at = 0; x < s.batch; ++x)
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j, ++at) {
          put(&c, c_dtype, x, i, j, uniform());
          before[at] = get(&c, c_dtype, x, i, j);
        }
  }
  tt_gemm_t g = {.dtype = dtype,
                 .c_dtype = c_dtype,
                 .accumulate = accumulate,
                 .batch_rank = 1,
                 .batch = {s.batch},
                 .a_batch = {a.bs},
                 .b_batch = {b.bs},
                 .c_batch = {c.bs},
                 .m = s.m,
                 .n = s.n,
                 .k = s.k,
                 .a = a.at,
                 .b = b.at,
                 .c = c.at,
                 .a_rs = a.rs,
                 .a_cs = a.cs,
                 .b_rs = b.rs,
                 .b_cs = b.cs,
                 .c_rs = c.rs,
                 .c_cs = c.cs};
  the_pool.threads = threads;
  size_t bytes = tt_gemm_scratch_bytes(&g, threads);
  unsigned char* scratch = aligned_alloc(64, tt_align_up(bytes + 64, 64));
  memset(scratch, 0xff, bytes + 64);
  unsigned char* whole = malloc(c.bytes + 128);
  memcpy(whole, c.block, c.bytes + 128);
  tt_gemm_run(&the_pool, &g, scratch);
  for (size_t i = 0; i < 64; ++i) {
    if (scratch[bytes + i] != 0xff) {
      TT_TEST_FAIL("wrote past the scratch");
      break;
    }
  }
  double* out = malloc((size_t)(s.batch * s.m * s.n) * 8 + 8);
  bool ok = true;
  double *row = malloc((size_t)s.k * 8 + 8), *columns = malloc((size_t)(s.k * s.n) * 8 + 8);
  for (int64_t x = 0, at = 0; x < s.batch && ok; ++x) {
    for (int64_t j = 0; j < s.n && !*first; ++j)
      for (int64_t k = 0; k < s.k; ++k) columns[j * s.k + k] = get(&b, dtype, x, k, j);
    for (int64_t i = 0; i < s.m && ok; ++i) {
      for (int64_t k = 0; k < s.k && !*first; ++k) row[k] = get(&a, dtype, x, i, k);
      for (int64_t j = 0; j < s.n; ++j, ++at) {
        double want = before[at];
        if (*first) want = (*first)[at];  // held against the sums when it was made
        else
          for (int64_t k = 0; k < s.k; ++k) want += row[k] * columns[j * s.k + k];
        out[at] = get(&c, c_dtype, x, i, j);
        if (!(fabs(out[at] - want) <= tolerance(dtype, c_dtype, s.k)) ||
            (*first && (*first)[at] != out[at])) {
          TT_TEST_FAIL(
              "%s, %s to %s, [%lld x] %lld x %lld x %lld, layouts %d %d %d%s, %d threads: C[%lld, %lld, "
              "%lld] is %.9g, expected %.9g%s",
              tt_k_isa_name(tt_k_isa()), tt_dtype_name(dtype), tt_dtype_name(c_dtype), (long long)s.batch,
              (long long)s.m, (long long)s.n, (long long)s.k, la, lb, lc, accumulate ? ", accumulating" : "",
              threads, (long long)x, (long long)i, (long long)j, out[at], *first ? (*first)[at] : want,
              *first ? " bit for bit" : "");
          ok = false;
          break;
        }
        memcpy(element(&c, c_dtype, x, i, j), whole + (element(&c, c_dtype, x, i, j) - c.block),
               tt_dtype_bytes(c_dtype));
      }
    }
  }
  if (ok && memcmp(whole, c.block, c.bytes + 128) != 0)
    TT_TEST_FAIL("wrote between C's elements, %lld x %lld x %lld", (long long)s.m, (long long)s.n,
                 (long long)s.k);
  if (!*first && ok) *first = out;
  else free(out);
  free(row);
  free(columns);
  free(before);
  free(whole);
  free(scratch);
  free(a.block);
  free(b.block);
  free(c.block);
}

static const shape_t shapes[] = {
    {1, 1, 1, 1},     {1, 4, 4, 4},      {2, 3, 5, 0},       {1, 17, 33, 65},  {1, 64, 64, 64},
    {3, 14, 32, 384}, {1, 29, 47, 401},  {1, 1, 200, 130},   {1, 1, 5, 3000},  {2, 3, 129, 770},
    {1, 8, 257, 391}, {1, 5, 1000, 37},  {1, 300, 1, 100},   {1, 130, 7, 95},  {5, 2, 64, 64},
    {40, 6, 9, 10},   {1, 520, 70, 800}, {1, 150, 170, 100}, {1, 33, 700, 20}, {1, 600, 40, 25},
    {1, 1, 70, 1200}, {1, 2, 33, 1000},  {0, 3, 3, 3},
};

TT_TEST(gemm, float_dtypes) {
  static const tt_dtype_t pairs[][2] = {{TT_DTYPE_F32, TT_DTYPE_F32},   {TT_DTYPE_F64, TT_DTYPE_F64},
                                        {TT_DTYPE_BF16, TT_DTYPE_BF16}, {TT_DTYPE_BF16, TT_DTYPE_F32},
                                        {TT_DTYPE_F16, TT_DTYPE_F16},   {TT_DTYPE_F16, TT_DTYPE_F32}};
  for (size_t p = 0; p < TT_ARRAY_LENGTH(pairs); ++p) {
    for (size_t s = 0; s < TT_ARRAY_LENGTH(shapes); ++s) {
      double* first = NULL;
      for (size_t v = 0; v < TT_ARRAY_LENGTH(isas); ++v) {
        if (isas[v] > tt_k_isa_supported()) continue;
        tt_k_isa_set(isas[v]);
        if (isas[v] > TT_ISA_AVX512 && pairs[p][0] == TT_DTYPE_BF16) {  // units of their own order
          free(first);
          first = NULL;
        }
        for (int l = 0; l < 4; ++l) {
          run(pairs[p][0], pairs[p][1], shapes[s], (layout_t)(l % LAYOUTS), (layout_t)((l * 3) % 4),
              (layout_t)((l & 1) ? SPREAD : ROWS), false, 1 + l, &first);
        }
        run(pairs[p][0], pairs[p][1], shapes[s], COLUMNS, COLUMNS, COLUMNS, false, 2, &first);
      }
      free(first);
    }
  }
  tt_k_isa_set(tt_k_isa_supported());
}
static const shape_t unit_shapes[] = {
    {1, 16, 16, 32},  {1, 20, 37, 45},    {2, 33, 65, 70},    {1, 3, 700, 1100},
    {1, 500, 5, 600}, {1, 31, 200, 1025}, {1, 300, 530, 130}, {1, 64, 64, 1537},
    {3, 40, 100, 64}, {1, 48, 17, 3},     {1, 400, 50, 1300}, {2, 20, 90, 2100},
};
TT_TEST(gemm, units) {
  static const tt_dtype_t pairs[][2] = {{TT_DTYPE_BF16, TT_DTYPE_BF16},
                                        {TT_DTYPE_BF16, TT_DTYPE_F32},
                                        {TT_DTYPE_S8, TT_DTYPE_S32},
                                        {TT_DTYPE_U8, TT_DTYPE_S32}};
  for (size_t v = 0; v < TT_ARRAY_LENGTH(isas); ++v) {
    if (isas[v] > tt_k_isa_supported()) continue;
    tt_k_isa_set(isas[v]);
    for (size_t p = v < 2 ? 2 : 0; p < TT_ARRAY_LENGTH(pairs); ++p) {
      for (size_t s = 0; s < TT_ARRAY_LENGTH(shapes) + TT_ARRAY_LENGTH(unit_shapes); ++s) {
        const shape_t shape =
            s < TT_ARRAY_LENGTH(shapes) ? shapes[s] : unit_shapes[s - TT_ARRAY_LENGTH(shapes)];
        double* first = NULL;
        run(pairs[p][0], pairs[p][1], shape, ROWS, ROWS, ROWS, false, 2, &first);
        run(pairs[p][0], pairs[p][1], shape, COLUMNS, COLUMNS, COLUMNS, false, 1, &first);
        run(pairs[p][0], pairs[p][1], shape, BACK, SPREAD, SPREAD, false, 3, &first);
        free(first);
      }
    }
  }
  tt_k_isa_set(tt_k_isa_supported());
}
TT_TEST(gemm, accumulates) {
  static const tt_dtype_t pairs[][2] = {{TT_DTYPE_F32, TT_DTYPE_F32},
                                        {TT_DTYPE_F64, TT_DTYPE_F64},
                                        {TT_DTYPE_BF16, TT_DTYPE_F32},
                                        {TT_DTYPE_S8, TT_DTYPE_S32}};
  for (size_t p = 0; p < TT_ARRAY_LENGTH(pairs); ++p) {
    const tt_dtype_t dtype = pairs[p][0], c_dtype = pairs[p][1];
    for (size_t s = 0; s < TT_ARRAY_LENGTH(shapes); ++s) {
      for (size_t v = 0; v < TT_ARRAY_LENGTH(isas); ++v) {
        if (isas[v] > tt_k_isa_supported()) continue;
        tt_k_isa_set(isas[v]);
        double* first = NULL;
        run(dtype, c_dtype, shapes[s], ROWS, ROWS, ROWS, true, 2, &first);
        run(dtype, c_dtype, shapes[s], ROWS, COLUMNS, SPREAD, true, 1, &first);
        run(dtype, c_dtype, shapes[s], SPREAD, BACK, COLUMNS, true, 1, &first);
        free(first);
      }
    }
  }
  tt_k_isa_set(tt_k_isa_supported());
}
TT_TEST(gemm, repeated_rows) {
  for (size_t v = 0; v < TT_ARRAY_LENGTH(isas); ++v) {
    if (isas[v] > tt_k_isa_supported()) continue;
    tt_k_isa_set(isas[v]);
    double* first = NULL;
    run(TT_DTYPE_F32, TT_DTYPE_F32, (shape_t){2, 40, 50, 60}, REPEAT, REPEAT, ROWS, false, 2, &first);
    free(first);
    first = NULL;
    run(TT_DTYPE_F32, TT_DTYPE_F32, (shape_t){1, 2, 500, 60}, REPEAT, REPEAT, ROWS, false, 2, &first);
    free(first);
  }
  tt_k_isa_set(tt_k_isa_supported());
}
// A row alone, in a few, and in many has the same bits.
TT_TEST(gemm, rows_alone) {
  enum { M = 37, N = 300, K = 500 };
  float *a = malloc(M * K * 4), *b = malloc(N * K * 4), *c = malloc(M * N * 4), *d = malloc(M * N * 4);
  for (int i = 0; i < M * K; ++i) a[i] = (float)uniform();
  for (int i = 0; i < N * K; ++i) b[i] = (float)uniform();
  tt_gemm_t g = {.dtype = TT_DTYPE_F32,
                 .c_dtype = TT_DTYPE_F32,
                 .m = M,
                 .n = N,
                 .k = K,
                 .a = a,
                 .b = b,
                 .c = c,
                 .a_rs = K,
                 .a_cs = 1,
                 .b_rs = N,
                 .b_cs = 1,
                 .c_rs = N,
                 .c_cs = 1};
  void* scratch = aligned_alloc(64, tt_align_up(tt_gemm_scratch_bytes(&g, 1), 64));
  tt_gemm_run(NULL, &g, scratch);
  free(scratch);
  for (int rows = 1; rows < 20; rows += 3) {
    for (int i = 0; i + rows <= M; i += rows) {
      tt_gemm_t h = g;
      h.m = rows;
      h.a = a + i * K;
      h.c = d + i * N;
      void* own = aligned_alloc(64, tt_align_up(tt_gemm_scratch_bytes(&h, 1), 64));
      tt_gemm_run(NULL, &h, own);
      free(own);
      TT_EXPECT(memcmp(d + i * N, c + i * N, (size_t)(rows * N) * 4) == 0);
    }
  }
  free(a);
  free(b);
  free(c);
  free(d);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
