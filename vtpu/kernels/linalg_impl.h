// Included by linalg_real.c and linalg_complex.c with: T, CONJ, RE, ABS1, ABS2, FN(name), T_DTYPE.
//
// Inner loops run over rows, so that they are contiguous and vectorise.
#include "kernels/linalg.h"

#include <float.h>
#include <math.h>

static inline double FN(abs_)(T x) { return sqrt(ABS2(x)); }

// ---- elements in and out -----------------------------------------------------------------------
static inline void FN(load)(const tt_k_tensor_t* t, int64_t index, int64_t elems, T* out) {
  const char* from = (const char*)t->data + (size_t)(index * elems) * tt_dtype_bytes(t->dtype);
  tt_k_convert_parallel(NULL, t->dtype, T_DTYPE, out, from, elems);
}
static inline void FN(store)(const tt_k_tensor_t* t, int64_t index, int64_t elems, const T* values) {
  char* to = (char*)t->data + (size_t)(index * elems) * tt_dtype_bytes(t->dtype);
  tt_k_convert_parallel(NULL, T_DTYPE, t->dtype, to, values, elems);
}
static inline void FN(store_real)(const tt_k_tensor_t* t, int64_t index, int64_t elems, const double* values) {
  char* to = (char*)t->data + (size_t)(index * elems) * tt_dtype_bytes(t->dtype);
  tt_k_convert_parallel(NULL, TT_DTYPE_F64, t->dtype, to, values, elems);
}
static inline void FN(store_int)(const tt_k_tensor_t* t, int64_t at, int64_t value) {
  tt_scalar_store_i64(t->dtype, value, (char*)t->data + (size_t)at * tt_dtype_bytes(t->dtype));
}

static inline void FN(axpy)(int64_t n, T a, const T* restrict x, T* restrict y) {   // y += a x
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}
static inline double FN(norm)(int64_t n, const T* x, int64_t stride) {   // scaled: no overflow
  double scale = 0, sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double a = FN(abs_)(x[i * stride]);
    if (a > scale) scale = a;
    if (a != a) return a;
  }
  if (scale == 0 || isinf(scale)) return scale;
  for (int64_t i = 0; i < n; ++i) {
    double a = FN(abs_)(x[i * stride]) / scale;
    sum += a * a;
  }
  return scale * sqrt(sum);
}

// ---- Cholesky ----------------------------------------------------------------------------------
// U with A = U^H U row by row; the lower form is its adjoint. Not positive definite: NaN. Result 1, if there:
// i32 info, 0 or the order of the first minor that is not positive.
void FN(tt_k_cholesky)(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  const tt_k_linalg_blob_t* p = job->blob;
  int64_t n = job->n, info = 0;
  T *a = work, *u = a + n * n;
  FN(load)(job->x, index, n * n, a);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) u[i * n + j] = j < i ? 0 : p->lower ? CONJ(a[j * n + i]) : a[i * n + j];
  }
  for (int64_t k = 0; k < n && !info; ++k) {
    double pivot = RE(u[k * n + k]);
    if (!(pivot > 0) || isinf(pivot)) {
      info = k + 1;
      break;
    }
    double root = sqrt(pivot);
    u[k * n + k] = root;
    for (int64_t j = k + 1; j < n; ++j) u[k * n + j] /= root;
    for (int64_t i = k + 1; i < n; ++i) FN(axpy)(n - i, -CONJ(u[k * n + i]), u + k * n + i, u + i * n + i);
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T value = p->lower ? (j <= i ? CONJ(u[j * n + i]) : 0) : u[i * n + j];
      bool inside = p->lower ? j <= i : j >= i;
      a[i * n + j] = info && inside ? (T)NAN : value;
    }
  }
  FN(store)(job->y, index, n * n, a);
  if (job->y_count > 1) FN(store_int)(job->y + 1, index, info);
}

// ---- triangular solve --------------------------------------------------------------------------
void FN(tt_k_triangular_solve)(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  const tt_k_linalg_blob_t* p = job->blob;
  int64_t n = job->n;
  const tt_k_tensor_t* bt = job->x + 1;
  int64_t rows = bt->dims[bt->rank - 2], cols = bt->dims[bt->rank - 1];
  T *a = work, *m = a + n * n, *b = m + n * n;
  FN(load)(job->x, index, n * n, a);
  FN(load)(bt, index, rows * cols, b);
  bool lower = p->transpose ? !p->lower : p->lower;   // of op(a)
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T value = p->transpose ? a[j * n + i] : a[i * n + j];
      if (p->transpose == 2) value = CONJ(value);
      if (i == j && p->unit_diagonal) value = 1;
      m[i * n + j] = (lower ? j <= i : j >= i) ? value : 0;
    }
  }
  if (p->left_side) {   // m x = b
    for (int64_t s = 0; s < n; ++s) {
      int64_t i = lower ? s : n - 1 - s, from = lower ? 0 : i + 1, to = lower ? i : n;
      for (int64_t j = from; j < to; ++j) FN(axpy)(cols, -m[i * n + j], b + j * cols, b + i * cols);
      if (!p->unit_diagonal) {
        for (int64_t c = 0; c < cols; ++c) b[i * cols + c] /= m[i * n + i];
      }
    }
  } else {              // x m = b: each row alone
    for (int64_t r = 0; r < rows; ++r) {
      T* row = b + r * cols;
      for (int64_t s = 0; s < n; ++s) {
        int64_t k = lower ? n - 1 - s : s;
        if (!p->unit_diagonal) row[k] /= m[k * n + k];
        if (lower) FN(axpy)(k, -row[k], m + k * n, row);
        else FN(axpy)(n - k - 1, -row[k], m + k * n + k + 1, row + k + 1);
      }
    }
  }
  FN(store)(job->y, index, rows * cols, b);
}

// ---- LU ----------------------------------------------------------------------------------------
// In place; pivots[i]: row exchanged with row i, from 0. Returns 0 or the first zero pivot's number from 1.
static int64_t FN(getrf)(int64_t m, int64_t n, T* a, int64_t* pivots) {
  int64_t info = 0;
  for (int64_t k = 0; k < TT_MIN(m, n); ++k) {
    int64_t best = k;
    double largest = -1;
    for (int64_t i = k; i < m; ++i) {
      double size = ABS1(a[i * n + k]);   // LAPACK's measure, so that pivots agree
      if (size > largest || (size != size && largest == largest)) {
        largest = size;
        best = i;
      }
    }
    pivots[k] = best;
    if (best != k) {
      for (int64_t j = 0; j < n; ++j) {
        T swap = a[k * n + j];
        a[k * n + j] = a[best * n + j];
        a[best * n + j] = swap;
      }
    }
    if (largest == 0) {
      if (!info) info = k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) {
      T factor = a[i * n + k] / a[k * n + k];
      a[i * n + k] = factor;
      if (ABS2(factor) != 0) FN(axpy)(n - k - 1, -factor, a + k * n + k + 1, a + i * n + k + 1);
    }
  }
  return info;
}
void FN(tt_k_lu)(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  int64_t m = job->m, n = job->n, k = TT_MIN(m, n);
  T* a = work;
  int64_t *pivots = (int64_t*)(a + m * n), *permutation = pivots + k;
  FN(load)(job->x, index, m * n, a);
  FN(getrf)(m, n, a, pivots);
  FN(store)(job->y, index, m * n, a);
  for (int64_t i = 0; i < m; ++i) permutation[i] = i;
  for (int64_t i = 0; i < k; ++i) {
    int64_t swap = permutation[i];
    permutation[i] = permutation[pivots[i]];
    permutation[pivots[i]] = swap;
    FN(store_int)(job->y + 1, index * k + i, pivots[i]);
  }
  if (job->y_count > 2) {
    for (int64_t i = 0; i < m; ++i) FN(store_int)(job->y + 2, index * m + i, permutation[i]);
  }
}
// jax's LAPACK call: pivots from 1, info.
void FN(tt_k_lapack_getrf)(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  int64_t m = job->m, n = job->n, k = TT_MIN(m, n);
  T* a = work;
  int64_t* pivots = (int64_t*)(a + m * n);
  FN(load)(job->x, index, m * n, a);
  int64_t info = FN(getrf)(m, n, a, pivots);
  FN(store)(job->y, index, m * n, a);
  for (int64_t i = 0; i < k; ++i) FN(store_int)(job->y + 1, index * k + i, pivots[i] + 1);
  if (job->y_count > 2) FN(store_int)(job->y + 2, index, info);
}

// ---- LDL ---------------------------------------------------------------------------------------
// Bunch and Kaufman's factors of the lower triangle, unblocked, with the choices of LAPACK's sytf2 (hetf2 if `her`)
// so that pivots agree.
static void FN(swap)(int64_t n, T* x, int64_t x_stride, T* y, int64_t y_stride) {
  for (int64_t i = 0; i < n; ++i) {
    T value = x[i * x_stride];
    x[i * x_stride] = y[i * y_stride];
    y[i * y_stride] = value;
  }
}
static double FN(largest)(int64_t n, const T* x, int64_t stride, int64_t* at) {  // first of equals; n 0: 0
  double largest = 0;
  *at = 0;
  for (int64_t i = 0; i < n; ++i) {
    double size = ABS1(x[i * stride]);
    if (size <= largest) continue;  // NaN goes on
    largest = size;
    *at = i;
    if (size != size) break;
  }
  return largest;
}
// The row to bring to the place of the pivot of step k, and the block's size.
static int64_t FN(ldl_pivot)(int64_t n, const T* a, int64_t k, bool her, bool* zero, int64_t* block) {
  const double alpha = (1 + sqrt(17.0)) / 8;
  double diagonal = her ? fabs(RE(a[k * n + k])) : ABS1(a[k * n + k]);
  int64_t row, at;
  double column = FN(largest)(n - k - 1, a + (k + 1) * n + k, n, &row);
  row += k + 1;
  *block = 1;
  *zero = !(fmax(diagonal, column) > 0) || diagonal != diagonal || column != column;
  if (*zero || diagonal >= alpha * column) return k;
  double widest = FN(largest)(row - k, a + row * n + k, 1, &at);
  widest = fmax(widest, FN(largest)(n - row - 1, a + (row + 1) * n + row, n, &at));
  if (diagonal >= alpha * column * (column / widest)) return k;
  double other = her ? fabs(RE(a[row * n + row])) : ABS1(a[row * n + row]);
  *block = other >= alpha * widest ? 1 : 2;
  return row;
}
static void FN(ldl_exchange)(int64_t n, T* a, int64_t k, int64_t block, int64_t p, bool her) {
  int64_t q = k + block - 1;  // rows and columns p > q change places
  FN(swap)(n - p - 1, a + (p + 1) * n + q, n, a + (p + 1) * n + p, n);
  FN(swap)(p - q - 1, a + (q + 1) * n + q, n, a + p * n + q + 1, 1);
  FN(swap)(1, a + q * n + q, 1, a + p * n + p, 1);
  if (block == 2) FN(swap)(1, a + (k + 1) * n + k, 1, a + p * n + k, 1);
  if (!her) return;
  for (int64_t j = q + 1; j < p; ++j) {
    a[j * n + q] = CONJ(a[j * n + q]);
    a[p * n + j] = CONJ(a[p * n + j]);
  }
  a[p * n + q] = CONJ(a[p * n + q]);
}
static void FN(ldl_eliminate_one)(int64_t n, T* a, int64_t k, bool her) {
  T inverse = 1 / a[k * n + k];
  for (int64_t i = k + 1; i < n; ++i) {
    T factor = inverse * a[i * n + k];
    for (int64_t j = k + 1; j <= i; ++j) a[i * n + j] -= factor * (her ? CONJ(a[j * n + k]) : a[j * n + k]);
    if (her) a[i * n + i] = RE(a[i * n + i]);
  }
  for (int64_t i = k + 1; i < n; ++i) a[i * n + k] *= inverse;
}
static void FN(ldl_eliminate_two)(int64_t n, T* a, int64_t k, bool her) {
  T below = a[(k + 1) * n + k];
  double size = FN(abs_)(below);
  // her: scaled by |below|, its phase apart; else scaled by below itself
  T phase = her ? below / size : 1, scale = her ? (T)size : below;
  T d11 = (her ? RE(a[(k + 1) * n + k + 1]) : a[(k + 1) * n + k + 1]) / scale;
  T d22 = (her ? RE(a[k * n + k]) : a[k * n + k]) / scale;
  T t = 1 / (d11 * d22 - 1) / scale;
  for (int64_t j = k + 2; j < n; ++j) {
    T first = a[j * n + k], second = a[j * n + k + 1];
    T w1 = t * (d11 * first - phase * second), w2 = t * (d22 * second - CONJ(phase) * first);
    T c1 = her ? CONJ(w1) : w1, c2 = her ? CONJ(w2) : w2;
    for (int64_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * c1 + a[i * n + k + 1] * c2;
    a[j * n + k] = w1;
    a[j * n + k + 1] = w2;
    if (her) a[j * n + j] = RE(a[j * n + j]);
  }
}
void FN(tt_k_ldl)(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  const tt_k_linalg_blob_t* p = job->blob;
  int64_t n = job->n, info = 0, block = 1;
  bool her = p->hermitian != 0;
  T* a = work;
  FN(load)(job->x, index, n * n, a);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) a[i * n + j] = 0;
    if (her) a[i * n + i] = RE(a[i * n + i]);
  }
  for (int64_t k = 0; k < n; k += block) {
    bool zero;
    int64_t row = FN(ldl_pivot)(n, a, k, her, &zero, &block), pivot = block == 1 ? row + 1 : -(row + 1);
    for (int64_t i = 0; i < block; ++i) FN(store_int)(job->y + 1, index * n + k + i, pivot);
    if (zero) {
      if (!info) info = k + 1;
      continue;
    }
    if (row != k + block - 1) FN(ldl_exchange)(n, a, k, block, row, her);
    if (block == 1) FN(ldl_eliminate_one)(n, a, k, her);
    else FN(ldl_eliminate_two)(n, a, k, her);
  }
  FN(store)(job->y, index, n * n, a);
  FN(store_int)(job->y + 2, index, info);
}
// Pivots that no factorisation gives make the solution NaN.
void FN(tt_k_ldl_solve)(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  const tt_k_linalg_blob_t* blob = job->blob;
  const tt_k_tensor_t *bt = job->x + 1, *pt = job->x + 2;
  int64_t n = job->n, columns = bt->dims[bt->rank - 1], block;
  bool her = blob->hermitian != 0, valid = true;
  T *a = work, *b = a + n * n;
  int64_t* pivots = (int64_t*)(b + n * columns);
  FN(load)(job->x, index, n * n, a);
  FN(load)(bt, index, n * columns, b);
  for (int64_t i = 0; i < n; ++i) {
    pivots[i] = tt_scalar_load_i64(
        pt->dtype, (const char*)pt->data + (size_t)(index * n + i) * tt_dtype_bytes(pt->dtype));
    valid &= pivots[i] != 0 && pivots[i] >= -n && pivots[i] <= n;
  }
  for (int64_t k = 0; valid && k < n; k += block) {  // L and D
    block = pivots[k] > 0 ? 1 : 2;
    if (k + block > n || (block == 2 && pivots[k + 1] > 0)) {
      valid = false;
      break;
    }
    int64_t row = (block == 1 ? pivots[k] : -pivots[k + 1]) - 1, last = k + block - 1;
    if (row != last) FN(swap)(columns, b + last * columns, 1, b + row * columns, 1);
    for (int64_t i = k + block; i < n; ++i) {
      for (int64_t c = k; c <= last; ++c) FN(axpy)(columns, -a[i * n + c], b + c * columns, b + i * columns);
    }
    if (block == 1) {
      T d = her ? RE(a[k * n + k]) : a[k * n + k];
      for (int64_t c = 0; c < columns; ++c) b[k * columns + c] /= d;
      continue;
    }
    T below = a[(k + 1) * n + k], above = her ? CONJ(below) : below;
    T d1 = a[k * n + k] / above, d2 = a[(k + 1) * n + k + 1] / below, det = d1 * d2 - 1;
    for (int64_t c = 0; c < columns; ++c) {
      T first = b[k * columns + c] / above, second = b[(k + 1) * columns + c] / below;
      b[k * columns + c] = (d2 * first - second) / det;
      b[(k + 1) * columns + c] = (d1 * second - first) / det;
    }
  }
  for (int64_t k = n - 1; valid && k >= 0; k -= block) {  // L^T, or its adjoint
    block = pivots[k] > 0 ? 1 : 2;
    if (k - block + 1 < 0) {
      valid = false;
      break;
    }
    for (int64_t c = k; c > k - block; --c) {
      for (int64_t i = k + 1; i < n; ++i)
        FN(axpy)(columns, -(her ? CONJ(a[i * n + c]) : a[i * n + c]), b + i * columns, b + c * columns);
    }
    int64_t row = (block == 1 ? pivots[k] : -pivots[k]) - 1;
    if (row != k) FN(swap)(columns, b + k * columns, 1, b + row * columns, 1);
  }
  for (int64_t i = 0; !valid && i < n * columns; ++i) b[i] = (T)NAN;
  FN(store)(job->y, index, n * columns, b);
}

// ---- Householder QR ----------------------------------------------------------------------------
// A reflector H = I - tau v v^H, v[0] = 1, with H^H x = beta e1, beta real. x: `stride` apart; v[1..] replaces x[1..],
// beta replaces x[0].
static T FN(reflector)(int64_t n, T* x, int64_t stride) {
  double tail = n > 1 ? FN(norm)(n - 1, x + stride, stride) : 0;
  T alpha = x[0];
  if (tail == 0 && ABS2(alpha - RE(alpha)) == 0) return 0;
  double beta = hypot(FN(abs_)(alpha), tail);
  if (RE(alpha) > 0) beta = -beta;
  T tau = (beta - alpha) / beta, scale = 1 / (alpha - beta);
  for (int64_t i = 1; i < n; ++i) x[i * stride] *= scale;
  x[0] = beta;
  return tau;
}
// C := (I - tau v v^H) C for C of m rows and n columns (ldc), v[0] = 1 implied, v `stride` apart. row: n numbers.
static void FN(reflect_left)(int64_t m, int64_t n, const T* v, int64_t stride, T tau, T* c, int64_t ldc, T* row) {
  if (ABS2(tau) == 0 || n <= 0) return;
  for (int64_t j = 0; j < n; ++j) row[j] = c[j];
  for (int64_t i = 1; i < m; ++i) FN(axpy)(n, CONJ(v[i * stride]), c + i * ldc, row);
  FN(axpy)(n, -tau, row, c);
  for (int64_t i = 1; i < m; ++i) FN(axpy)(n, -tau * v[i * stride], row, c + i * ldc);
}
static void FN(geqrf)(int64_t m, int64_t n, T* a, T* tau, T* row) {
  for (int64_t k = 0; k < TT_MIN(m, n); ++k) {
    tau[k] = FN(reflector)(m - k, a + k * n + k, n);
    FN(reflect_left)(m - k, n - k - 1, a + k * n + k, n, CONJ(tau[k]), a + k * n + k + 1, n, row);
  }
}
// q [m, columns] = first columns of H_0 .. H_{k-1}; reflectors below the diagonal of a [m, lda].
static void FN(orgqr)(int64_t m, int64_t columns, int64_t k, const T* a, int64_t lda, const T* tau, T* q, T* row) {
  memset(q, 0, (size_t)(m * columns) * sizeof *q);
  for (int64_t i = 0; i < TT_MIN(m, columns); ++i) q[i * columns + i] = 1;
  for (int64_t i = k; i-- > 0;) {
    FN(reflect_left)(m - i, columns - i, a + i * lda + i, lda, tau[i], q + i * columns + i, columns, row);
  }
}
void FN(tt_k_geqrf)(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  int64_t m = job->m, n = job->n, k = TT_MIN(m, n);
  T *a = work, *tau = a + m * n, *row = tau + k;
  FN(load)(job->x, index, m * n, a);
  FN(geqrf)(m, n, a, tau, row);
  FN(store)(job->y, index, m * n, a);
  FN(store)(job->y + 1, index, k, tau);
}
void FN(tt_k_orgqr)(const tt_k_linalg_job_t* job, int64_t index, void* work) {   // (a, tau) -> q of a's shape
  int64_t m = job->m, n = job->n, k = job->x[1].dims[job->x[1].rank - 1];
  T *a = work, *tau = a + m * n, *q = tau + k, *row = q + m * n;
  FN(load)(job->x, index, m * n, a);
  FN(load)(job->x + 1, index, k, tau);
  FN(orgqr)(m, n, TT_MIN(k, n), a, n, tau, q, row);
  FN(store)(job->y, index, m * n, q);
}
void FN(tt_k_qr)(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  int64_t m = job->m, n = job->n, k = TT_MIN(m, n);
  int64_t columns = job->y[0].dims[job->y[0].rank - 1];   // k or m
  T *a = work, *tau = a + m * n, *q = tau + k, *row = q + m * columns;
  FN(load)(job->x, index, m * n, a);
  FN(geqrf)(m, n, a, tau, row);
  FN(orgqr)(m, columns, k, a, n, tau, q, row);
  FN(store)(job->y, index, m * columns, q);
  for (int64_t i = 1; i < m; ++i) {
    for (int64_t j = 0; j < TT_MIN(i, n); ++j) a[i * n + j] = 0;
  }
  FN(store)(job->y + 1, index, columns * n, a);   // the first `columns` rows
}

// ---- Hermitian eigenproblem ----------------------------------------------------------------------
// Rows i and j of a: (x, y) -> (c x - s y, s x + c y).
static inline void FN(rotate)(int64_t n, T* restrict x, T* restrict y, double c, double s) {
  for (int64_t i = 0; i < n; ++i) {
    T a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}
// Implicit QL on the tridiagonal (d, e[0..n-2]); z's rows are turned along. False: no convergence.
static bool FN(tridiagonal_ql)(int64_t n, double* d, double* e, T* z) {
  e[n - 1] = 0;
  for (int64_t l = 0; l < n; ++l) {
    for (int iteration = 0;; ++iteration) {
      int64_t m = l;
      for (; m + 1 < n; ++m) {
        double size = fabs(d[m]) + fabs(d[m + 1]);
        if (fabs(e[m]) <= DBL_EPSILON * size || fabs(e[m]) < DBL_MIN) break;
      }
      if (m == l) break;
      if (iteration == 60) return false;
      double g = (d[l + 1] - d[l]) / (2 * e[l]), r = hypot(g, 1);
      g = d[m] - d[l] + e[l] / (g + (g >= 0 ? r : -r));
      double s = 1, c = 1, p = 0;
      int64_t i = m - 1;
      for (; i >= l; --i) {
        double f = s * e[i], b = c * e[i];
        r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        FN(rotate)(n, z + i * n, z + (i + 1) * n, c, s);
      }
      if (r == 0 && i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  return true;
}
// d ascending; row i of z is eigenvector i (not conjugated). a [n, n] full Hermitian, overwritten. work: 4 n.
static bool FN(hermitian)(int64_t n, T* a, double* d, T* z, T* work) {
  T *tau = work, *w = work + n;
  double* e = (double*)(work + 3 * n);
  for (int64_t k = 0; k + 1 < n; ++k) {   // column k below the diagonal -> one real number
    int64_t m = n - k - 1;
    T* v = w + n;   // contiguous copy of the reflector
    tau[k] = FN(reflector)(m, a + (k + 1) * n + k, n);
    e[k] = RE(a[(k + 1) * n + k]);
    v[0] = 1;
    for (int64_t i = 1; i < m; ++i) v[i] = a[(k + 1 + i) * n + k];
    if (ABS2(tau[k]) == 0) continue;
    T* block = a + (k + 1) * n + k + 1;
    T inner = 0;
    for (int64_t i = 0; i < m; ++i) {   // w = tau B v
      T sum = 0;
      for (int64_t j = 0; j < m; ++j) sum += block[i * n + j] * v[j];
      w[i] = tau[k] * sum;
      inner += CONJ(w[i]) * v[i];
    }
    T alpha = -0.5 * tau[k] * inner;
    for (int64_t i = 0; i < m; ++i) w[i] += alpha * v[i];
    for (int64_t i = 0; i < m; ++i) {   // B -= v w^H + w v^H
      T *row = block + i * n, vi = v[i], wi = w[i];
      for (int64_t j = 0; j < m; ++j) row[j] -= vi * CONJ(w[j]) + wi * CONJ(v[j]);
    }
  }
  for (int64_t i = 0; i < n; ++i) d[i] = RE(a[i * n + i]);
  // Q = H_0 H_1 ..., acting on indices 1..; built in rows of q, then transposed: row i of z is column i of Q
  memset(z, 0, (size_t)(n * n) * sizeof *z);
  for (int64_t i = 0; i < n; ++i) z[i * n + i] = 1;
  for (int64_t k = n - 1; k-- > 0;) {
    FN(reflect_left)(n - k - 1, n - k - 1, a + (k + 1) * n + k, n, tau[k], z + (k + 1) * n + k + 1, n, w);
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      T swap = z[i * n + j];
      z[i * n + j] = z[j * n + i];
      z[j * n + i] = swap;
    }
  }
  bool ok = n == 0 || FN(tridiagonal_ql)(n, d, e, z);
  for (int64_t i = 0; i < n; ++i) {   // selection sort: few exchanges, whole rows
    int64_t best = i;
    for (int64_t j = i + 1; j < n; ++j) best = d[j] < d[best] ? j : best;
    if (best == i) continue;
    double swap = d[i];
    d[i] = d[best];
    d[best] = swap;
    for (int64_t c = 0; c < n; ++c) {
      T s = z[i * n + c];
      z[i * n + c] = z[best * n + c];
      z[best * n + c] = s;
    }
  }
  return ok;
}
void FN(tt_k_eigh)(const tt_k_linalg_job_t* job, int64_t index, void* work) {   // a -> (w, v)
  const tt_k_linalg_blob_t* p = job->blob;
  int64_t n = job->n;
  T *a = work, *z = a + n * n, *full = z + n * n, *more = full + n * n;
  double* d = (double*)(more + 4 * n);
  FN(load)(job->x, index, n * n, a);
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T value = (p->lower ? j <= i : j >= i) ? a[i * n + j] : CONJ(a[j * n + i]);
      full[i * n + j] = i == j ? (T)RE(value) : value;
      finite = finite && isfinite(FN(abs_)(full[i * n + j]));
    }
  }
  bool ok = finite && FN(hermitian)(n, full, d, z, more);
  for (int64_t i = 0; i < n; ++i) {
    if (!ok) d[i] = NAN;
    for (int64_t j = 0; j < n; ++j) a[i * n + j] = ok ? z[j * n + i] : (T)NAN;
  }
  const tt_k_tensor_t *values = job->y + (p->vectors_first != 0), *vectors = job->y + (p->vectors_first == 0);
  FN(store_real)(values, index, n, d);
  if (job->y_count > 1) FN(store)(vectors, index, n * n, a);
}

// ---- singular values: one-sided Jacobi -----------------------------------------------------------
// Rows of b [n, m] are made orthogonal by unitary row operations, also applied to v [n, n].
static void FN(jacobi_rows)(int64_t n, int64_t m, T* b, T* v) {
  double tolerance = DBL_EPSILON * sqrt((double)TT_MAX(1, m));
  for (int sweep = 0; sweep < 40; ++sweep) {
    bool done = true;
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        T *x = b + i * m, *y = b + j * m;
        double xx = 0, yy = 0;
        T xy = 0;   // y^H x in the sense sum x conj(y)
        for (int64_t k = 0; k < m; ++k) {
          xx += ABS2(x[k]);
          yy += ABS2(y[k]);
          xy += x[k] * CONJ(y[k]);
        }
        double size = FN(abs_)(xy);
        if (size == 0 || size <= tolerance * sqrt(xx) * sqrt(yy)) continue;
        done = false;
        // y * phase makes the product real, then a real rotation removes it
        T phase = xy / size;
        double zeta = (yy - xx) / (2 * size);
        double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + hypot(1, zeta));
        double c = 1 / sqrt(1 + t * t), s = c * t;
        for (int64_t k = 0; k < m; ++k) {
          T p = x[k], q = y[k] * phase;
          x[k] = c * p - s * q;
          y[k] = s * p + c * q;
        }
        T *vx = v + i * n, *vy = v + j * n;
        for (int64_t k = 0; k < n; ++k) {
          T p = vx[k], q = vy[k] * phase;
          vx[k] = c * p - s * q;
          vy[k] = s * p + c * q;
        }
      }
    }
    if (done) break;
  }
}
// a [m, n], m >= n -> rows of ut [m or n, m]: left vectors (as columns of U), s, v rows: A = sum s_i u_i vh_i, vh row i.
// `left` rows of ut are made, the ones past n complete the basis. Scratch: a is overwritten; more: n*n + m*n + 4 m.
static void FN(svd_tall)(int64_t m, int64_t n, T* a, int64_t left, T* ut, double* s, T* vh, T* more) {
  T *tau = more, *row = tau + n, *r = row + m;   // row: max(m, n) numbers
  FN(geqrf)(m, n, a, tau, row);
  // rows of r^T... : Jacobi on the rows of R: R = sum over rows; row operations G: G R has orthogonal rows, so
  // R = G^H diag(s) W with W's rows orthonormal: right vectors are W, left ones are columns of Q G^H
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) r[i * n + j] = j >= i ? a[i * n + j] : 0;
  }
  T* g = r + n * n;
  memset(g, 0, (size_t)(n * n) * sizeof *g);
  for (int64_t i = 0; i < n; ++i) g[i * n + i] = 1;
  FN(jacobi_rows)(n, n, r, g);
  for (int64_t i = 0; i < n; ++i) s[i] = FN(norm)(n, r + i * n, 1);
  for (int64_t i = 0; i < n; ++i) {   // falling order
    int64_t best = i;
    for (int64_t j = i + 1; j < n; ++j) best = s[j] > s[best] ? j : best;
    if (best == i) continue;
    double swap = s[i];
    s[i] = s[best];
    s[best] = swap;
    for (int64_t c = 0; c < n; ++c) {
      T t = r[i * n + c];
      r[i * n + c] = r[best * n + c];
      r[best * n + c] = t;
      t = g[i * n + c];
      g[i * n + c] = g[best * n + c];
      g[best * n + c] = t;
    }
  }
  for (int64_t i = 0; i < n; ++i) {   // rows of W; a zero row is completed against the others
    T* w = vh + i * n;
    if (s[i] > 0) {
      for (int64_t c = 0; c < n; ++c) w[c] = r[i * n + c] / s[i];
      continue;
    }
    for (int64_t unit = 0; unit < n; ++unit) {
      for (int64_t c = 0; c < n; ++c) w[c] = c == unit;
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t k = 0; k < i; ++k) {
          T dot = 0;
          for (int64_t c = 0; c < n; ++c) dot += w[c] * CONJ(vh[k * n + c]);
          FN(axpy)(n, -dot, vh + k * n, w);
        }
      }
      double size = FN(norm)(n, w, 1);
      if (size * size * (double)n < 0.25) continue;
      for (int64_t c = 0; c < n; ++c) w[c] /= size;
      break;
    }
  }
  // U = Q [G^H, 0; 0, I]: row i of ut is column i of U; columns of G^H are conjugated rows of G
  memset(ut, 0, (size_t)(left * m) * sizeof *ut);
  for (int64_t i = 0; i < left; ++i) {
    T* u = ut + i * m;
    if (i < n) {
      for (int64_t c = 0; c < n; ++c) u[c] = CONJ(g[i * n + c]);
    } else {
      u[i] = 1;
    }
    for (int64_t k = n; k-- > 0;) {   // u = H_k u
      if (ABS2(tau[k]) == 0) continue;
      T dot = u[k];
      for (int64_t c = k + 1; c < m; ++c) dot += CONJ(a[c * n + k]) * u[c];
      dot *= tau[k];
      u[k] -= dot;
      for (int64_t c = k + 1; c < m; ++c) u[c] -= a[c * n + k] * dot;
    }
  }
}
void FN(tt_k_svd)(const tt_k_linalg_job_t* job, int64_t index, void* work) {   // a -> (u, s, vh)
  int64_t m = job->m, n = job->n, k = TT_MIN(m, n), large = TT_MAX(m, n);
  int64_t columns = job->y[0].dims[job->y[0].rank - 1], rows = job->y[2].dims[job->y[2].rank - 2];
  bool wide = m < n;
  int64_t left = wide ? rows : columns;
  T *a = work, *t = a + m * n, *ut = t + m * n, *vh = ut + left * large, *more = vh + k * k;
  double* s = (double*)(more + 2 * k * k + 3 * large);
  FN(load)(job->x, index, m * n, a);
  bool finite = true;
  for (int64_t i = 0; i < m * n; ++i) finite = finite && isfinite(FN(abs_)(a[i]));
  if (!finite) {
    for (int64_t i = 0; i < k; ++i) s[i] = NAN;
    for (int64_t i = 0; i < large * large; ++i) t[i] = NAN;
    FN(store)(job->y, index, m * columns, t);
    FN(store)(job->y + 2, index, rows * n, t);
    FN(store_real)(job->y + 1, index, k, s);
    return;
  }
  if (wide) {   // of the adjoint: A^H = U S V^H, A = V S U^H
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < m; ++j) t[i * m + j] = CONJ(a[j * n + i]);
    }
    FN(svd_tall)(n, m, t, left, ut, s, vh, more);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < m; ++j) a[i * m + j] = CONJ(vh[j * m + i]);
    }
    FN(store)(job->y, index, m * columns, a);
    for (int64_t i = 0; i < rows * n; ++i) ut[i] = CONJ(ut[i]);
    FN(store)(job->y + 2, index, rows * n, ut);
  } else {
    FN(svd_tall)(m, n, a, left, ut, s, vh, more);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < columns; ++j) t[j] = ut[j * m + i];
      FN(store)(job->y, index * m + i, columns, t);
    }
    FN(store)(job->y + 2, index, rows * n, vh);
  }
  FN(store_real)(job->y + 1, index, k, s);
}
