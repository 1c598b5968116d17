// tt.cumulative: running sum, prod, max, min or logsumexp along an axis. Floats accumulate in f64 and are rounded
// at each store (as CPU PyTorch does), integers wrap. Columns run side by side, up to kColumns a block.
#include "kernels/rows.h"

#include <math.h>

enum { kColumns = 64 };
typedef enum scan_op_e { SCAN_SUM, SCAN_PROD, SCAN_MAX, SCAN_MIN, SCAN_LOGSUMEXP, SCAN_COUNT } scan_op_t;
typedef struct scan_blob_s { int64_t axis, op, reverse; } scan_blob_t;
static const char* const scan_names[SCAN_COUNT] = {"sum", "prod", "max", "min", "logsumexp"};

static int scan_op(const tt_op_t* op) {
  const tt_attr_t* a = tt_k_own_attr(op, TT_ATTR_OP);
  if (!a || (a->kind != TT_AK_STRING && a->kind != TT_AK_ENUM)) return -1;
  for (int i = 0; i < SCAN_COUNT; ++i) if (strcmp(a->text.data, scan_names[i]) == 0) return i;
  return -1;
}

bool tt_k_cumulative_supports(const tt_op_t* op, const char** why) {
  int kind = scan_op(op);
  tt_dtype_t d = op->operands[0]->type->dtype;
  *why = "op is not sum, prod, max, min or logsumexp, or the axis is out of range";
  if (kind < 0 || !tt_rows_axis_valid(op)) return false;
  *why = "the dtype does not fit the op";
  if (op->results[0].type->dtype != d) return false;
  if (d == TT_DTYPE_F32 || d == TT_DTYPE_F64 || d == TT_DTYPE_F16 || d == TT_DTYPE_BF16) return true;
  if (tt_dtype_is_complex(d)) return kind == SCAN_SUM || kind == SCAN_PROD;
  bool sub_byte = d == TT_DTYPE_S4 || d == TT_DTYPE_U4 || d == TT_DTYPE_S2 || d == TT_DTYPE_U2;
  return (tt_dtype_is_integer(d) || d == TT_DTYPE_PRED) && !sub_byte && kind != SCAN_LOGSUMEXP;
}
tt_status_t tt_k_cumulative_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  scan_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  *p = (scan_blob_t){tt_rows_axis(op), scan_op(op), tt_rows_flag(op, TT_ATTR_REVERSE)};
  return TT_OK_STATUS;
}

typedef struct scan_s {
  tt_dtype_t dtype;
  scan_op_t op;
  bool reverse;
  tt_rows_shape_t s;
  int64_t blocks_per_outer;
  const char* x;
  char* out;
  tt_k_unary_fn_t widen, narrow;   // f16, bf16 <-> f32
} scan_t;

static inline double log_add(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  double top = fmax(a, b), low = fmin(a, b);
  return isinf(top) ? top : top + log1p(exp(low - top));
}

// T in memory, A of the accumulator; the op is a constant in each loop.
#define SCAN_LOOP(T, A, ...)                                                                     \
  for (int64_t k = 0; k < n; ++k) {                                                              \
    int64_t at = (d->reverse ? n - 1 - k : k) * inner;                                           \
    const T* px = x + at;                                                                        \
    T* po = out + at;                                                                            \
    for (size_t c = 0; c < columns; ++c) {                                                       \
      const A a = acc[c], b = (A)px[c];                                                          \
      acc[c] = k ? (A)(__VA_ARGS__) : b;                                                         \
      po[c] = (T)acc[c];                                                                         \
    }                                                                                            \
  }
#define SCAN_FLOAT(T)                                                                            \
  static void scan_##T(const scan_t* d, T* out, const T* x, size_t columns, int64_t inner) {     \
    double acc[kColumns];                                                                        \
    const int64_t n = d->s.n;                                                                    \
    memset(acc, 0, sizeof acc);                                                                  \
    switch (d->op) {                                                                             \
      case SCAN_SUM: SCAN_LOOP(T, double, a + b) break;                                          \
      case SCAN_PROD: SCAN_LOOP(T, double, a * b) break;                                         \
      case SCAN_MAX: SCAN_LOOP(T, double, a != a || a > b ? a : b) break;                        \
      case SCAN_MIN: SCAN_LOOP(T, double, a != a || a < b ? a : b) break;                        \
      default: SCAN_LOOP(T, double, log_add(a, b)) break;                                        \
    }                                                                                            \
  }
SCAN_FLOAT(float)
SCAN_FLOAT(double)
#define SCAN_INT(T, A)                                                                           \
  static void scan_##T(const scan_t* d, T* out, const T* x, size_t columns, int64_t inner) {     \
    A acc[kColumns];                                                                             \
    const int64_t n = d->s.n;                                                                    \
    memset(acc, 0, sizeof acc);                                                                  \
    switch (d->op) {                                                                             \
      case SCAN_SUM: SCAN_LOOP(T, A, (uint64_t)a + (uint64_t)b) break;                           \
      case SCAN_PROD: SCAN_LOOP(T, A, (uint64_t)a * (uint64_t)b) break;                          \
      case SCAN_MAX: SCAN_LOOP(T, A, a > b ? a : b) break;                                       \
      default: SCAN_LOOP(T, A, a < b ? a : b) break;                                             \
    }                                                                                            \
  }
// the accumulator keeps the type's own width: wrapping and order are the type's
SCAN_INT(int8_t, int8_t) SCAN_INT(int16_t, int16_t) SCAN_INT(int32_t, int32_t) SCAN_INT(int64_t, int64_t)
SCAN_INT(uint8_t, uint8_t) SCAN_INT(uint16_t, uint16_t) SCAN_INT(uint32_t, uint32_t) SCAN_INT(uint64_t, uint64_t)

static void scan_pred(const scan_t* d, uint8_t* out, const uint8_t* x, size_t columns, int64_t inner) {
  scan_t as = *d;
  // sum and max: any; prod and min: all
  as.op = d->op == SCAN_SUM || d->op == SCAN_MAX ? SCAN_MAX : SCAN_MIN;
  scan_uint8_t(&as, out, x, columns, inner);
}
#define SCAN_COMPLEX(NAME, T)                                                                    \
  static void scan_##NAME(const scan_t* d, T* out, const T* x, size_t columns, int64_t inner) {  \
    double acc[kColumns][2];                                                                     \
    const int64_t n = d->s.n;                                                                    \
    for (int64_t k = 0; k < n; ++k) {                                                            \
      int64_t at = (d->reverse ? n - 1 - k : k) * inner * 2;                                     \
      for (size_t c = 0; c < columns; ++c) {                                                     \
        double re = (double)x[at + 2 * (int64_t)c], im = (double)x[at + 2 * (int64_t)c + 1];     \
        if (k && d->op == SCAN_SUM) {                                                            \
          re += acc[c][0], im += acc[c][1];                                                      \
        } else if (k) {                                                                          \
          double r = acc[c][0] * re - acc[c][1] * im;                                            \
          im = acc[c][0] * im + acc[c][1] * re, re = r;                                          \
        }                                                                                        \
        acc[c][0] = re, acc[c][1] = im;                                                          \
        out[at + 2 * (int64_t)c] = (T)re, out[at + 2 * (int64_t)c + 1] = (T)im;                  \
      }                                                                                          \
    }                                                                                            \
  }
SCAN_COMPLEX(c64, float)
SCAN_COMPLEX(c128, double)

// f16, bf16: a stretch of the axis widened at a time, the accumulators carried over.
static void scan_half(const scan_t* d, char* out, const char* x, size_t columns, int64_t inner) {
  double acc[kColumns];
  float row[kColumns];
  memset(acc, 0, sizeof acc);
  for (int64_t k = 0; k < d->s.n; ++k) {
    size_t at = (size_t)((d->reverse ? d->s.n - 1 - k : k) * inner) * 2;
    d->widen(row, x + at, columns);
    for (size_t c = 0; c < columns; ++c) {
      const double a = acc[c], b = (double)row[c];
      double r = b;
      if (k) {
        switch (d->op) {
          case SCAN_SUM: r = a + b; break;
          case SCAN_PROD: r = a * b; break;
          case SCAN_MAX: r = a != a || a > b ? a : b; break;
          case SCAN_MIN: r = a != a || a < b ? a : b; break;
          default: r = log_add(a, b); break;
        }
      }
      acc[c] = r;
      row[c] = (float)r;
    }
    d->narrow(out + at, row, columns);
  }
}

static void scan_range(void* self, int64_t begin, int64_t end) {
  const scan_t* d = self;
  size_t bytes = tt_dtype_bytes(d->dtype);
  for (int64_t b = begin; b < end; ++b) {
    int64_t o = b / d->blocks_per_outer, c0 = b % d->blocks_per_outer * kColumns;
    size_t columns = (size_t)TT_MIN(d->s.inner - c0, (int64_t)kColumns);
    size_t start = (size_t)(o * d->s.n * d->s.inner + c0) * bytes;
    const void* x = d->x + start;
    void* out = d->out + start;
    switch (d->dtype) {
      case TT_DTYPE_F32: scan_float(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_F64: scan_double(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_F16: case TT_DTYPE_BF16: scan_half(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_S8: scan_int8_t(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_S16: scan_int16_t(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_S32: scan_int32_t(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_S64: scan_int64_t(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_U8: scan_uint8_t(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_U16: scan_uint16_t(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_U32: scan_uint32_t(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_U64: scan_uint64_t(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_PRED: scan_pred(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_C64: scan_c64(d, out, x, columns, d->s.inner); break;
      case TT_DTYPE_C128: scan_c128(d, out, x, columns, d->s.inner); break;
      default: break;
    }
  }
}

tt_status_t tt_k_cumulative_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const scan_blob_t* p = blob;
  scan_t d = {.dtype = x->dtype, .op = (scan_op_t)p->op, .reverse = p->reverse != 0, .s = tt_rows_shape(x, p->axis),
              .x = x->data, .out = y->data};
  if (d.s.n == 0 || d.s.outer == 0 || d.s.inner == 0) return TT_OK_STATUS;
  if (d.dtype == TT_DTYPE_F16 || d.dtype == TT_DTYPE_BF16) {
    d.widen = tt_k_convert(d.dtype, TT_DTYPE_F32);
    d.narrow = tt_k_convert(TT_DTYPE_F32, d.dtype);
  }
  d.blocks_per_outer = (d.s.inner + kColumns - 1) / kColumns;
  int64_t grain = TT_MAX(16384 / (d.s.n * TT_MIN(d.s.inner, (int64_t)kColumns)), 1);
  tt_k_parallel(env->pool, d.s.outer * d.blocks_per_outer, grain, scan_range, &d);
  return TT_OK_STATUS;
}
