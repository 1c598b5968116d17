// tt.cumulative: running sum, prod, max, min or logsumexp along an axis. Floats accumulate in f64 and are
// rounded at each store (as CPU PyTorch does), integers wrap. Columns run side by side, up to kColumns a block,
// rows of adjacent elements kRows at a time.
#include "kernels/rows.h"

#include <math.h>

enum { kColumns = 64, kRows = 4, kStretch = 512 };
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

// T in memory, A of the accumulator; the op is a constant in each loop. Column c of element k lies at
// k * step + c * apart. `first`: acc holds nothing yet.
#define SCAN_LOOP(T, A, COLUMNS, ...)                                                            \
  for (int64_t k = 0; k < n; ++k) {                                                              \
    int64_t at = (d->reverse ? n - 1 - k : k) * step;                                            \
    const T* px = x + at;                                                                        \
    T* po = out + at;                                                                            \
    for (size_t c = 0; c < (COLUMNS); ++c) {                                                     \
      const A a = acc[c], b = (A)px[(int64_t)c * apart];                                         \
      acc[c] = k || !first ? (A)(__VA_ARGS__) : b;                                               \
      po[(int64_t)c * apart] = (T)acc[c];                                                        \
    }                                                                                            \
  }
#define FLOAT_OPS(T, A, COLUMNS)                                                                 \
  switch (d->op) {                                                                               \
    case SCAN_SUM: SCAN_LOOP(T, A, COLUMNS, a + b) break;                                        \
    case SCAN_PROD: SCAN_LOOP(T, A, COLUMNS, a * b) break;                                       \
    case SCAN_MAX: SCAN_LOOP(T, A, COLUMNS, a != a || a > b ? a : b) break;                      \
    case SCAN_MIN: SCAN_LOOP(T, A, COLUMNS, a != a || a < b ? a : b) break;                      \
    default: SCAN_LOOP(T, A, COLUMNS, log_add(a, b)) break;                                      \
  }
#define INT_OPS(T, A, COLUMNS)                                                                   \
  switch (d->op) {                                                                               \
    case SCAN_SUM: SCAN_LOOP(T, A, COLUMNS, (uint64_t)a + (uint64_t)b) break;                    \
    case SCAN_PROD: SCAN_LOOP(T, A, COLUMNS, (uint64_t)a * (uint64_t)b) break;                   \
    case SCAN_MAX: SCAN_LOOP(T, A, COLUMNS, a > b ? a : b) break;                                \
    default: SCAN_LOOP(T, A, COLUMNS, a < b ? a : b) break;                                      \
  }
// Columns next to each other; up to kRows rows of adjacent elements, whose accumulators stay in registers.
#define SCAN(T, A, OPS)                                                                          \
  static void scan_##T(const scan_t* d, T* out, const T* x, size_t columns, int64_t step) {      \
    A acc[kColumns];                                                                             \
    const int64_t n = d->s.n, apart = 1;                                                         \
    const bool first = true;                                                                     \
    memset(acc, 0, sizeof acc);                                                                  \
    OPS(T, A, columns)                                                                           \
  }                                                                                              \
  static void scan_rows_##T(const scan_t* d, T* out, const T* x, int64_t rows) {                 \
    const int64_t n = d->s.n, apart = n, step = 1;                                               \
    const bool first = true;                                                                     \
    if (rows == kRows) {                                                                         \
      A acc[kRows] = {0};                                                                        \
      OPS(T, A, kRows)                                                                           \
      return;                                                                                    \
    }                                                                                            \
    for (; rows > 0; --rows, x += n, out += n) {                                                 \
      A acc[1] = {0};                                                                            \
      OPS(T, A, 1)                                                                               \
    }                                                                                            \
  }
SCAN(float, double, FLOAT_OPS) SCAN(double, double, FLOAT_OPS)
// the accumulator keeps the type's own width: wrapping and order are the type's
SCAN(int8_t, int8_t, INT_OPS) SCAN(int16_t, int16_t, INT_OPS) SCAN(int32_t, int32_t, INT_OPS)
SCAN(int64_t, int64_t, INT_OPS) SCAN(uint8_t, uint8_t, INT_OPS) SCAN(uint16_t, uint16_t, INT_OPS)
SCAN(uint32_t, uint32_t, INT_OPS) SCAN(uint64_t, uint64_t, INT_OPS)

static scan_t of_pred(const scan_t* d) {
  scan_t as = *d;
  // sum and max: any; prod and min: all
  as.op = d->op == SCAN_SUM || d->op == SCAN_MAX ? SCAN_MAX : SCAN_MIN;
  return as;
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

// f16, bf16: widened to rows of f32, the accumulators carried over.
static void scan_wide(const scan_t* d, float* row, double* acc, size_t columns, bool first) {
  float* out = row;
  const float* x = row;
  const int64_t n = 1, step = 0, apart = 1;
  FLOAT_OPS(float, double, columns)
}
static void scan_half(const scan_t* d, char* out, const char* x, size_t columns, int64_t inner) {
  double acc[kColumns];
  float row[kColumns];
  memset(acc, 0, sizeof acc);
  for (int64_t k = 0; k < d->s.n; ++k) {
    size_t at = (size_t)((d->reverse ? d->s.n - 1 - k : k) * inner) * 2;
    d->widen(row, x + at, columns);
    scan_wide(d, row, acc, columns, k == 0);
    d->narrow(out + at, row, columns);
  }
}
// One row of adjacent elements, a stretch at a time.
static void scan_half_row(const scan_t* d, char* to, const char* from) {
  float stretch[kStretch], *out = stretch;
  const float* x = stretch;
  const int64_t step = 1, apart = 0;
  double acc[1] = {0};
  for (int64_t k0 = 0; k0 < d->s.n; k0 += kStretch) {
    const int64_t n = TT_MIN(d->s.n - k0, (int64_t)kStretch);
    const size_t at = (size_t)(d->reverse ? d->s.n - k0 - n : k0) * 2;
    const bool first = k0 == 0;
    d->widen(stretch, from + at, (size_t)n);
    FLOAT_OPS(float, double, 1)
    d->narrow(to + at, stretch, (size_t)n);
  }
}

static void scan_block(const scan_t* d, void* out, const void* x, size_t columns) {
  switch (d->dtype) {
    case TT_DTYPE_F32: scan_float(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_F64: scan_double(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_S8: scan_int8_t(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_S16: scan_int16_t(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_S32: scan_int32_t(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_S64: scan_int64_t(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_U8: scan_uint8_t(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_U16: scan_uint16_t(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_U32: scan_uint32_t(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_U64: scan_uint64_t(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_F16: case TT_DTYPE_BF16: scan_half(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_PRED: {
      const scan_t as = of_pred(d);
      scan_uint8_t(&as, out, x, columns, d->s.inner);
      break;
    }
    case TT_DTYPE_C64: scan_c64(d, out, x, columns, d->s.inner); break;
    case TT_DTYPE_C128: scan_c128(d, out, x, columns, d->s.inner); break;
    default: break;
  }
}
// At most kRows rows of adjacent elements; false: not of this dtype.
static bool scan_rows(const scan_t* d, void* out, const void* x, int64_t rows) {
  switch (d->dtype) {
    case TT_DTYPE_F32: scan_rows_float(d, out, x, rows); return true;
    case TT_DTYPE_F64: scan_rows_double(d, out, x, rows); return true;
    case TT_DTYPE_S8: scan_rows_int8_t(d, out, x, rows); return true;
    case TT_DTYPE_S16: scan_rows_int16_t(d, out, x, rows); return true;
    case TT_DTYPE_S32: scan_rows_int32_t(d, out, x, rows); return true;
    case TT_DTYPE_S64: scan_rows_int64_t(d, out, x, rows); return true;
    case TT_DTYPE_U8: scan_rows_uint8_t(d, out, x, rows); return true;
    case TT_DTYPE_U16: scan_rows_uint16_t(d, out, x, rows); return true;
    case TT_DTYPE_U32: scan_rows_uint32_t(d, out, x, rows); return true;
    case TT_DTYPE_U64: scan_rows_uint64_t(d, out, x, rows); return true;
    case TT_DTYPE_PRED: {
      const scan_t as = of_pred(d);
      scan_rows_uint8_t(&as, out, x, rows);
      return true;
    }
    default: return false;
  }
}
static void scan_range(void* self, int64_t begin, int64_t end) {
  const scan_t* d = self;
  const size_t bytes = tt_dtype_bytes(d->dtype);
  const bool half = d->dtype == TT_DTYPE_F16 || d->dtype == TT_DTYPE_BF16;
  for (int64_t b = begin; b < end;) {
    int64_t o = b / d->blocks_per_outer, c0 = b % d->blocks_per_outer * kColumns;
    size_t columns = (size_t)TT_MIN(d->s.inner - c0, (int64_t)kColumns);
    size_t start = (size_t)(o * d->s.n * d->s.inner + c0) * bytes;
    const char* x = d->x + start;
    char* out = d->out + start;
    int64_t done = 1;
    const int64_t rows = TT_MIN(end - b, (int64_t)kRows);
    if (d->s.inner == 1 && half) scan_half_row(d, out, x);
    else if (d->s.inner == 1 && scan_rows(d, out, x, rows)) done = rows;
    else scan_block(d, out, x, columns);
    b += done;
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
