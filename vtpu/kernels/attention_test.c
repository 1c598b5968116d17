// Fused attention, forward and backward, against plain sums in double; equal bits on strided operands.
#include <float.h>

#include "base/test.h"
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
static double uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)seed / 9223372036854775808.0;
}
typedef struct array_s {  // a tensor and its values
  tt_k_tensor_t t;
  int64_t dims[4], strides[4];
  char* block;
  double* x;
  int64_t n;
} array_t;
static void store(tt_dtype_t dtype, char* p, double x) {
  float y = (float)x;
  if (dtype == TT_DTYPE_PRED) *p = x != 0;
  else if (dtype == TT_DTYPE_F32) memcpy(p, &y, 4);
  else tt_k_convert(TT_DTYPE_F32, dtype)(p, &y, 1);
}
// layout 0 dense, 1 [B, L, H, D] in memory, 2 rows fastest and backwards columns
static void array_new(array_t* a, tt_dtype_t dtype, int64_t d0, int64_t d1, int64_t d2, int64_t d3,
                      int layout) {
  const int64_t dims[4] = {d0, d1, d2, d3}, eb = (int64_t)tt_dtype_bytes(dtype);
  memcpy(a->dims, dims, sizeof dims);
  a->n = d0 * d1 * d2 * d3;
  tt_k_dense_strides(a->dims, 4, a->strides);
  if (layout == 1)
    a->strides[3] = 1, a->strides[1] = d3, a->strides[2] = d1 * d3, a->strides[0] = d1 * d2 * d3;
  if (layout == 2)
    a->strides[2] = 1, a->strides[3] = -d2, a->strides[1] = d2 * d3, a->strides[0] = d1 * d2 * d3;
  a->block = calloc((size_t)(a->n * eb) + 128, 1);
  a->x = calloc((size_t)a->n + 1, 8);
  a->t =
      (tt_k_tensor_t){a->block + 64 + (layout == 2 ? (d3 - 1) * d2 * eb : 0), dtype, 4, a->dims, a->strides};
}
static void array_fill(array_t* a, double scale) {
  const int64_t eb = (int64_t)tt_dtype_bytes(a->t.dtype);
  for (int64_t i = 0; i < a->n; ++i) {
    double x = uniform();
    char* p = (char*)a->t.data + tt_k_unravel(i, a->dims, a->strides, 4) * eb;
    store(a->t.dtype, p, a->t.dtype == TT_DTYPE_PRED ? x > -0.4 : x * scale);
    a->x[i] = a->t.dtype == TT_DTYPE_PRED ? *p : tt_scalar_load_f64(a->t.dtype, p);
  }
}
static double array_get(const array_t* a, int64_t i) {
  return tt_scalar_load_f64(a->t.dtype, (char*)a->t.data + tt_k_unravel(i, a->dims, a->strides, 4) *
                                                               (int64_t)tt_dtype_bytes(a->t.dtype));
}
static void array_free(array_t* a) {
  free(a->block);
  free(a->x);
}

typedef struct case_s {
  int64_t b, h, hk, lq, lk, d, dv;
  bool causal;
  int bias;  // 0 none, 1 [b, h, lq, lk], 2 [b, 1, 1, lk], 3 PRED [b, 1, lq, lk], 4 [1, h, lq, 1]
} case_t;
static const case_t cases[] = {
    {1, 1, 1, 1, 1, 4, 4, false, 0},      {2, 3, 3, 17, 19, 8, 8, false, 0},
    {1, 2, 2, 70, 130, 16, 24, false, 1}, {1, 4, 2, 65, 65, 20, 12, true, 0},
    {1, 6, 2, 1, 700, 64, 64, false, 2},  {2, 4, 4, 1, 33, 64, 64, false, 0},
    {1, 9, 3, 3, 1030, 33, 17, false, 3}, {1, 2, 1, 120, 600, 32, 40, false, 3},
    {1, 2, 2, 300, 280, 64, 64, true, 2}, {1, 2, 2, 5, 9, 3, 5, true, 4},
    {1, 2, 1, 8, 513, 16, 16, false, 4},  {1, 1, 1, 13, 0, 8, 8, false, 0},
    {1, 1, 1, 0, 5, 8, 8, false, 0},      {1, 12, 12, 2, 64, 48, 48, false, 1},
};
typedef struct blob_s {
  double scale;
  uint8_t causal, has_bias;
} blob_t;

static void run_kernel(const char* name, const blob_t* blob, tt_k_tensor_t* x, size_t nx, tt_k_tensor_t* y,
                       size_t ny) {
  const tt_k_op_t* k = tt_k_op_by_name(name);
  if (!k) {
    TT_TEST_FAIL("no %s", name);
    return;
  }
  size_t bytes = k->scratch_bytes(blob, the_pool.threads, x, nx, y, ny);
  unsigned char* scratch = aligned_alloc(64, tt_align_up(bytes + 64, 64));
  memset(scratch, 0xff, bytes + 64);
  tt_k_env_t env = {.pool = &the_pool, .scratch = scratch};
  tt_status_ignore(k->run(&env, blob, x, nx, y, ny));
  for (size_t i = 0; i < 64; ++i) {
    if (scratch[bytes + i] != 0xff) {
      TT_TEST_FAIL("%s wrote past its scratch", name);
      break;
    }
  }
  free(scratch);
}
static bool check(const char* what, const case_t* c, tt_dtype_t dtype, const array_t* got, const double* want,
                  double tolerance) {
  double largest = 1e-3;
  for (int64_t i = 0; i < got->n; ++i)
    if (isfinite(want[i])) largest = fmax(largest, fabs(want[i]));
  for (int64_t i = 0; i < got->n; ++i) {
    double x = array_get(got, i);
    if (!(x == want[i] || fabs(x - want[i]) <= tolerance * largest)) {
      TT_TEST_FAIL(
          "%s of [%lld, %lld/%lld, %lld, %lld, %lld/%lld] causal %d bias %d %s on %s: [%lld] is %.9g, "
          "expected %.9g",
          what, (long long)c->b, (long long)c->h, (long long)c->hk, (long long)c->lq, (long long)c->lk,
          (long long)c->d, (long long)c->dv, c->causal, c->bias, tt_dtype_name(dtype),
          tt_k_isa_name(tt_k_isa()), (long long)i, x, want[i]);
      return false;
    }
  }
  return true;
}

static void run_case(const case_t* c, tt_dtype_t dtype) {
  const int64_t group = c->h / c->hk;
  array_t q, k, v, g, bias = {0}, out[2], lse[2], dq[2], dk[2], dv[2];
  double scale = 1 / sqrt((double)c->d), *o = NULL, *ls = NULL, *gq = NULL, *gk = NULL, *gv = NULL;
  for (int layout = 0; layout < 3; ++layout) {
    seed = 11;
    array_new(&q, dtype, c->b, c->h, c->lq, c->d, layout);
    array_new(&k, dtype, c->b, c->hk, c->lk, c->d, layout);
    array_new(&v, dtype, c->b, c->hk, c->lk, c->dv, layout);
    array_new(&g, dtype, c->b, c->h, c->lq, c->dv, layout);
    array_fill(&q, 3);
    array_fill(&k, 3);
    array_fill(&v, 1);
    array_fill(&g, 1);
    if (c->bias == 1) array_new(&bias, dtype, c->b, c->h, c->lq, c->lk, layout);
    if (c->bias == 2) array_new(&bias, TT_DTYPE_F32, c->b, 1, 1, c->lk, layout);
    if (c->bias == 3) array_new(&bias, TT_DTYPE_PRED, c->b, 1, c->lq, c->lk, layout);
    if (c->bias == 4) array_new(&bias, TT_DTYPE_F32, 1, c->h, c->lq, 1, layout);
    if (c->bias) array_fill(&bias, 2);
    if (c->bias == 3 && c->lq > 1) {  // a row of masked keys
      for (int64_t j = 0; j < c->lk; ++j) {
        bias.x[c->lk + j] = 0;
        *((char*)bias.t.data + tt_k_unravel(c->lk + j, bias.dims, bias.strides, 4)) = 0;
      }
    }
    const int at = layout > 0;
    array_new(&out[at], dtype, c->b, c->h, c->lq, c->dv, 0);
    array_new(&lse[at], TT_DTYPE_F32, c->b, c->h, c->lq, 1, 0);
    lse[at].t.rank = 3;
    array_new(&dq[at], dtype, c->b, c->h, c->lq, c->d, 0);
    array_new(&dk[at], dtype, c->b, c->hk, c->lk, c->d, 0);
    array_new(&dv[at], dtype, c->b, c->hk, c->lk, c->dv, 0);
    blob_t blob = {scale, c->causal, c->bias != 0};
    tt_k_tensor_t x[4] = {q.t, k.t, v.t, bias.t}, y[2] = {out[at].t, lse[at].t};
    run_kernel("tt_k_float_sdpa_fused__avx2", &blob, x, c->bias ? 4 : 3, y, 2);
    array_t* dense = &out[0];
    tt_k_tensor_t bx[7] = {g.t, q.t, k.t, v.t, dense->t, lse[0].t, bias.t},
                  by[3] = {dq[at].t, dk[at].t, dv[at].t};
    run_kernel("tt_k_float_sdpa_backward_fused__avx2", &blob, bx, c->bias ? 7 : 6, by, 3);
    if (layout == 0) {
      o = calloc((size_t)out[0].n + 1, 8), ls = calloc((size_t)lse[0].n + 1, 8),
      gq = calloc((size_t)dq[0].n + 1, 8);
      gk = calloc((size_t)dk[0].n + 1, 8), gv = calloc((size_t)dv[0].n + 1, 8);
      double *p = calloc((size_t)c->lk + 1, 8), *dp = calloc((size_t)c->lk + 1, 8);
      for (int64_t row = 0; row < c->b * c->h * c->lq; ++row) {
        const int64_t i = row % c->lq, h = row / c->lq % c->h, b = row / c->lq / c->h,
                      kv = b * c->hk + h / group;
        const int64_t count = c->causal ? TT_MIN(i + 1, c->lk) : c->lk;
        double best = -INFINITY, total = 0, delta = 0;
        for (int64_t j = 0; j < count; ++j) {
          double s = 0;
          for (int64_t e = 0; e < c->d; ++e) s += q.x[row * c->d + e] * k.x[(kv * c->lk + j) * c->d + e];
          s *= scale;
          if (c->bias == 1) s += bias.x[row * c->lk + j];
          if (c->bias == 2) s += bias.x[b * c->lk + j];
          if (c->bias == 3) s = bias.x[(b * c->lq + i) * c->lk + j] != 0 ? s : -INFINITY;
          if (c->bias == 4) s += bias.x[h * c->lq + i];
          p[j] = s;
          best = fmax(best, s);
        }
        for (int64_t j = 0; j < count; ++j) total += p[j] = best == -INFINITY ? 0 : exp(p[j] - best);
        ls[row] = total > 0 ? best + log(total) : -INFINITY;
        for (int64_t j = 0; j < count && total > 0; ++j) {
          p[j] /= total;
          for (int64_t e = 0; e < c->dv; ++e) o[row * c->dv + e] += p[j] * v.x[(kv * c->lk + j) * c->dv + e];
        }
        for (int64_t e = 0; e < c->dv; ++e) delta += o[row * c->dv + e] * g.x[row * c->dv + e];
        for (int64_t j = 0; j < count; ++j) {
          dp[j] = 0;
          for (int64_t e = 0; e < c->dv; ++e) {
            dp[j] += g.x[row * c->dv + e] * v.x[(kv * c->lk + j) * c->dv + e];
            gv[(kv * c->lk + j) * c->dv + e] += p[j] * g.x[row * c->dv + e];
          }
          const double ds = p[j] * (dp[j] - delta) * scale;
          for (int64_t e = 0; e < c->d; ++e) {
            gq[row * c->d + e] += ds * k.x[(kv * c->lk + j) * c->d + e];
            gk[(kv * c->lk + j) * c->d + e] += ds * q.x[row * c->d + e];
          }
        }
      }
      free(p);
      free(dp);
      const double t = dtype == TT_DTYPE_F32 ? 3e-6 : dtype == TT_DTYPE_BF16 ? 1e-2 : 2e-3;
      if (check("out", c, dtype, &out[0], o, t) && check("logsumexp", c, dtype, &lse[0], ls, 2e-6)) {
        (void)(check("dq", c, dtype, &dq[0], gq, 3 * t) && check("dk", c, dtype, &dk[0], gk, 3 * t) &&
               check("dv", c, dtype, &dv[0], gv, 3 * t));
      }
    } else {
      const struct {
        const char* name;
        array_t *a, *b;
      } pairs[] = {{"out", &out[0], &out[1]},
                   {"logsumexp", &lse[0], &lse[1]},
                   {"dq", &dq[0], &dq[1]},
                   {"dk", &dk[0], &dk[1]},
                   {"dv", &dv[0], &dv[1]}};
      for (int i = 0; i < 5; ++i) {
        if (memcmp(pairs[i].a->block, pairs[i].b->block,
                   (size_t)pairs[i].a->n * tt_dtype_bytes(pairs[i].a->t.dtype) + 128) != 0) {
          TT_TEST_FAIL("%s differs on layout %d, case %d", pairs[i].name, layout, (int)(c - cases));
        }
        array_free(pairs[i].b);
      }
    }
    array_free(&q);
    array_free(&k);
    array_free(&v);
    array_free(&g);
    if (c->bias) array_free(&bias);
  }
  array_t* all[] = {&out[0], &lse[0], &dq[0], &dk[0], &dv[0]};
  for (int i = 0; i < 5; ++i) array_free(all[i]);
  free(o), free(ls), free(gq), free(gk), free(gv);
}

static void all_cases(tt_dtype_t dtype) {
  for (int isa = TT_ISA_AVX2; isa <= (int)tt_k_isa_supported(); ++isa) {
    tt_k_isa_set((tt_isa_t)isa);
    for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
      the_pool.threads = 1 + (int)(i % 3);
      run_case(&cases[i], dtype);
    }
  }
  tt_k_isa_set(tt_k_isa_supported());
}
TT_TEST(attention, f32) { all_cases(TT_DTYPE_F32); }
TT_TEST(attention, bf16) { all_cases(TT_DTYPE_BF16); }
TT_TEST(attention, f16) { all_cases(TT_DTYPE_F16); }

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
