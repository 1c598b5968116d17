// Eigenvalues and right eigenvectors of a general matrix, in complex f64: Hessenberg form, implicit QR with single
// shifts to Schur form, back substitution. Eigenvectors have norm 1 and a real largest component (as LAPACK).
// Real matrices: conjugate pairs are made exact and adjacent, real eigenvalues and their vectors exactly real.
#pragma GCC optimize("O3", "cx-limited-range")
#include "kernels/linalg.h"   // before complex.h, whose macro `complex` is a name elsewhere

#include <complex.h>
#include <float.h>
#include <math.h>

typedef double complex z_t;
static inline double size1(z_t x) { return fabs(creal(x)) + fabs(cimag(x)); }

// a -> Hessenberg; q (rows = columns of Q) accumulates. v, w: n numbers.
static void hessenberg(int64_t n, z_t* a, z_t* q, z_t* v, z_t* w) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) q[i * n + j] = i == j;
  }
  for (int64_t k = 0; k + 2 < n; ++k) {
    int64_t m = n - k - 1;
    double scale = 0;
    for (int64_t i = 0; i < m; ++i) {
      v[i] = a[(k + 1 + i) * n + k];
      scale = fmax(scale, size1(v[i]));
    }
    double tail = 0;
    for (int64_t i = 1; i < m; ++i) tail = fmax(tail, size1(v[i]));
    if (tail == 0) continue;
    double sum = 0;
    for (int64_t i = 0; i < m; ++i) {
      v[i] /= scale;
      sum += creal(v[i]) * creal(v[i]) + cimag(v[i]) * cimag(v[i]);
    }
    double norm = sqrt(sum), first = cabs(v[0]);
    z_t phase = first > 0 ? v[0] / first : 1;
    v[0] += phase * norm;                      // reflector 1 - beta v v^H takes the column to -phase norm e1
    double beta = 1 / (norm * (norm + first));
    for (int64_t j = 0; j < n; ++j) w[j] = 0;   // left: rows k+1.. of a, columns k..
    for (int64_t i = 0; i < m; ++i) {
      z_t c = conj(v[i]);
      const z_t* row = a + (k + 1 + i) * n;
      for (int64_t j = k; j < n; ++j) w[j] += c * row[j];
    }
    for (int64_t i = 0; i < m; ++i) {
      z_t c = -beta * v[i];
      z_t* row = a + (k + 1 + i) * n;
      for (int64_t j = k; j < n; ++j) row[j] += c * w[j];
    }
    for (int64_t i = 0; i < n; ++i) {          // right: columns k+1..
      z_t dot = 0, *row = a + i * n + k + 1;
      for (int64_t j = 0; j < m; ++j) dot += row[j] * v[j];
      dot *= beta;
      for (int64_t j = 0; j < m; ++j) row[j] -= dot * conj(v[j]);
    }
    for (int64_t j = 0; j < n; ++j) w[j] = 0;   // Q H: q holds Q's columns as rows
    for (int64_t i = 0; i < m; ++i) {
      const z_t* row = q + (k + 1 + i) * n;
      for (int64_t j = 0; j < n; ++j) w[j] += v[i] * row[j];
    }
    for (int64_t i = 0; i < m; ++i) {
      z_t c = -beta * conj(v[i]), *row = q + (k + 1 + i) * n;
      for (int64_t j = 0; j < n; ++j) row[j] += c * w[j];
    }
    for (int64_t i = 1; i < m; ++i) a[(k + 1 + i) * n + k] = 0;
  }
}

static bool schur(int64_t n, z_t* h, z_t* q) {
  int64_t hi = n - 1;
  int iteration = 0;
  double norm = 0;
  for (int64_t i = 0; i < n * n; ++i) norm = fmax(norm, size1(h[i]));
  while (hi > 0) {
    int64_t l = hi;
    for (; l > 0; --l) {
      double around = size1(h[l * n + l]) + size1(h[(l - 1) * n + l - 1]);
      if (around == 0) around = norm;
      if (size1(h[l * n + l - 1]) <= DBL_EPSILON * around || size1(h[l * n + l - 1]) < DBL_MIN) {
        h[l * n + l - 1] = 0;
        break;
      }
    }
    if (l == hi) {
      --hi;
      iteration = 0;
      continue;
    }
    if (++iteration > 300) return false;
    // the eigenvalue of the last 2 x 2 block next to its corner
    z_t a = h[(hi - 1) * n + hi - 1], b = h[(hi - 1) * n + hi], c = h[hi * n + hi - 1], d = h[hi * n + hi];
    z_t half = (a - d) / 2, root = csqrt(half * half + b * c), shift;
    if (creal(conj(half) * root) < 0) root = -root;
    z_t below = half + root;
    shift = size1(below) > 0 ? d - b * c / below : d;
    if (iteration % 10 == 0) shift = d + size1(c);
    z_t x = h[l * n + l] - shift, y = h[(l + 1) * n + l];
    for (int64_t k = l; k < hi; ++k) {
      double ax = cabs(x), ay = cabs(y), r = hypot(ax, ay);
      if (r > 0) {
        double cs = ax / r;
        z_t sn = ax > 0 ? x / ax * conj(y) / r : conj(y) / r;
        z_t *r0 = h + k * n, *r1 = r0 + n;
        for (int64_t j = k > l ? k - 1 : l; j < n; ++j) {
          z_t p = r0[j], s = r1[j];
          r0[j] = cs * p + sn * s;
          r1[j] = cs * s - conj(sn) * p;
        }
        int64_t last = TT_MIN(k + 2, hi);
        for (int64_t i = 0; i <= last; ++i) {
          z_t p = h[i * n + k], s = h[i * n + k + 1];
          h[i * n + k] = cs * p + conj(sn) * s;
          h[i * n + k + 1] = cs * s - sn * p;
        }
        z_t *q0 = q + k * n, *q1 = q0 + n;
        for (int64_t j = 0; j < n; ++j) {
          z_t p = q0[j], s = q1[j];
          q0[j] = cs * p + conj(sn) * s;
          q1[j] = cs * s - sn * p;
        }
      }
      if (k + 1 < hi) {
        x = h[(k + 1) * n + k];
        y = h[(k + 2) * n + k];
      }
    }
  }
  return true;
}

// Row k of v: eigenvector of T[k][k].
static void vectors(int64_t n, const z_t* t, const z_t* q, z_t* v, z_t* x) {
  double norm = DBL_MIN;
  for (int64_t i = 0; i < n * n; ++i) norm = fmax(norm, size1(t[i]));
  for (int64_t k = 0; k < n; ++k) {
    x[k] = 1;
    double largest = 1;
    for (int64_t i = k; i-- > 0;) {
      z_t sum = 0;
      for (int64_t j = i + 1; j <= k; ++j) sum += t[i * n + j] * x[j];
      z_t gap = t[i * n + i] - t[k * n + k];
      if (size1(gap) < DBL_EPSILON * norm) gap = DBL_EPSILON * norm;
      x[i] = -sum / gap;
      largest = fmax(largest, size1(x[i]));
      if (largest > 1e100) {   // a nearly defective matrix: keep within range
        for (int64_t j = i; j <= k; ++j) x[j] /= largest;
        largest = 1;
      }
    }
    z_t* row = v + k * n;
    for (int64_t j = 0; j < n; ++j) row[j] = 0;
    for (int64_t i = 0; i <= k; ++i) {
      for (int64_t j = 0; j < n; ++j) row[j] += x[i] * q[i * n + j];
    }
    double scale = 0, sum = 0;
    int64_t at = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (cabs(row[j]) > scale) {
        scale = cabs(row[j]);
        at = j;
      }
    }
    for (int64_t j = 0; j < n; ++j) {
      double a = cabs(row[j]) / scale;
      sum += a * a;
    }
    z_t factor = conj(row[at]) / cabs(row[at]) / (scale * sqrt(sum));
    for (int64_t j = 0; j < n; ++j) row[j] *= factor;
    row[at] = creal(row[at]);
  }
}

// w and rows of v of a real matrix: real ones first made real, pairs made conjugate and adjacent, + first.
static void pair_up(int64_t n, z_t* w, z_t* v) {
  for (int64_t i = 0; i < n;) {
    int64_t best = i;
    double distance = 2 * fabs(cimag(w[i]));   // to its own conjugate
    for (int64_t j = i + 1; j < n; ++j) {
      double d = cabs(w[j] - conj(w[i]));
      if (d < distance) {
        distance = d;
        best = j;
      }
    }
    if (best == i) {
      w[i] = creal(w[i]);
      double sum = 0;
      for (int64_t c = 0; c < n; ++c) {
        v[i * n + c] = creal(v[i * n + c]);
        sum += creal(v[i * n + c]) * creal(v[i * n + c]);
      }
      for (int64_t c = 0; c < n && sum > 0; ++c) v[i * n + c] /= sqrt(sum);
      ++i;
      continue;
    }
    z_t swap = w[best];
    w[best] = w[i + 1];
    w[i + 1] = swap;
    for (int64_t c = 0; c < n; ++c) {
      z_t t = v[best * n + c];
      v[best * n + c] = v[(i + 1) * n + c];
      v[(i + 1) * n + c] = t;
    }
    int64_t plus = cimag(w[i]) >= 0 ? i : i + 1;
    z_t mean = (w[i] + conj(w[i + 1])) / 2;
    if (cimag(mean) < 0) mean = conj(mean);
    for (int64_t c = 0; c < n; ++c) {
      z_t value = v[plus * n + c];
      v[i * n + c] = value;
      v[(i + 1) * n + c] = conj(value);
    }
    w[i] = mean;
    w[i + 1] = conj(mean);
    i += 2;
  }
}

static void eig(const tt_k_linalg_job_t* job, int64_t index, z_t* a, bool real) {   // a -> (w, v)
  int64_t n = job->n;
  z_t *q = a + n * n, *v = q + n * n, *w = v + n * n, *x = w + n, *y = x + n;
  bool ok = true;
  for (int64_t i = 0; i < n * n; ++i) ok = ok && isfinite(creal(a[i])) && isfinite(cimag(a[i]));
  if (ok && n > 0) {
    hessenberg(n, a, q, x, y);
    ok = schur(n, a, q);
  }
  if (ok && n > 0) {
    vectors(n, a, q, v, x);
    for (int64_t i = 0; i < n; ++i) w[i] = a[i * n + i];
    if (real) pair_up(n, w, v);
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!ok) w[i] = NAN;
    for (int64_t j = 0; j < n; ++j) a[i * n + j] = ok ? v[j * n + i] : NAN;
  }
  const tt_k_tensor_t* t = job->y;
  tt_k_convert_parallel(NULL, TT_DTYPE_C128, t->dtype, (char*)t->data + (size_t)(index * n) * tt_dtype_bytes(t->dtype), w, n);
  if (job->y_count < 2) return;
  ++t;
  tt_k_convert_parallel(NULL, TT_DTYPE_C128, t->dtype, (char*)t->data + (size_t)(index * n * n) * tt_dtype_bytes(t->dtype), a,
                        n * n);
}
void tt_k_eig_r(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  int64_t n = job->n;
  z_t* a = work;
  double* real = (double*)(a + n * n);
  const char* from = (const char*)job->x->data + (size_t)(index * n * n) * tt_dtype_bytes(job->x->dtype);
  tt_k_convert_parallel(NULL, job->x->dtype, TT_DTYPE_F64, real, from, n * n);
  for (int64_t i = 0; i < n * n; ++i) a[i] = real[i];
  eig(job, index, a, true);
}
void tt_k_eig_c(const tt_k_linalg_job_t* job, int64_t index, void* work) {
  int64_t n = job->n;
  const char* from = (const char*)job->x->data + (size_t)(index * n * n) * tt_dtype_bytes(job->x->dtype);
  tt_k_convert_parallel(NULL, job->x->dtype, TT_DTYPE_C128, work, from, n * n);
  eig(job, index, work, false);
}
