// Softmax along an axis that is not last: kLanes neighbouring columns side by side, the axis walked in three
// passes (maximum, sum, result) with lane kernels. Sums: f32 over kSpan steps, f64 over the spans.
#include "kernels/rows.h"

#include <math.h>

enum { kLanes = 256, kNarrowLanes = 64, kSpan = 32 };

typedef struct columns_s {
  tt_dtype_t dtype, acc;
  tt_rows_shape_t s;
  bool log, backward;
  const char* in[2];
  char* out;
  int64_t lanes, blocks_per_outer;
  tt_k_unary_fn_t widen, narrow, exp;
  tt_k_binary_fn_t max, add, subtract, multiply;
} columns_t;

// Lane buffers of the accumulation type; f32 uses half of each.
typedef struct lanes_s { TT_ALIGNED(64) double v[kLanes]; } lanes_t;

static const void* load_lanes(const columns_t* d, lanes_t* buffer, const char* p, size_t n) {
  if (d->dtype == d->acc) return p;
  d->widen(buffer, p, n);
  return buffer;
}
static void store_lanes(const columns_t* d, char* p, const void* lanes, size_t n) {
  if (d->dtype != d->acc) d->narrow(p, lanes, n);
}
// where the result's lanes are computed: in place, or in a buffer that store_lanes narrows
static void* result_lanes(const columns_t* d, lanes_t* buffer, char* p) { return d->dtype == d->acc ? (void*)p : buffer; }

static void lanes_fill(const columns_t* d, lanes_t* a, double value, size_t n) {
  if (d->acc == TT_DTYPE_F64) {
    for (size_t i = 0; i < n; ++i) a->v[i] = value;
  } else {
    for (size_t i = 0; i < n; ++i) ((float*)(void*)a)[i] = (float)value;
  }
}
// total += part; part = 0
static void lanes_carry(const columns_t* d, double* total, lanes_t* part, size_t n) {
  if (d->acc == TT_DTYPE_F64) {
    for (size_t i = 0; i < n; ++i) total[i] += part->v[i];
  } else {
    for (size_t i = 0; i < n; ++i) total[i] += (double)((float*)(void*)part)[i];
  }
  lanes_fill(d, part, 0, n);
}
static void lanes_from(const columns_t* d, lanes_t* out, const double* total, size_t n) {
  if (d->acc == TT_DTYPE_F64) memcpy(out, total, 8 * n);
  else for (size_t i = 0; i < n; ++i) ((float*)(void*)out)[i] = (float)total[i];
}

static void forward_block(const columns_t* d, const char* x, char* out, size_t step, size_t n) {
  lanes_t top, part, wide, shifted, scale;
  double total[kLanes] = {0};
  lanes_fill(d, &top, -INFINITY, n);
  for (int64_t k = 0; k < d->s.n; ++k) d->max(&top, &top, load_lanes(d, &wide, x + (size_t)k * step, n), n);
  lanes_fill(d, &part, 0, n);
  bool keep = d->dtype == d->acc && !d->log;      // exponentials stay in the result
  for (int64_t k = 0; k < d->s.n; ++k) {
    void* e = keep ? (void*)(out + (size_t)k * step) : &shifted;
    d->subtract(e, load_lanes(d, &wide, x + (size_t)k * step, n), &top, n);
    d->exp(e, e, n);
    d->add(&part, &part, e, n);
    if (k % kSpan == kSpan - 1 || k == d->s.n - 1) lanes_carry(d, total, &part, n);
  }
  for (size_t i = 0; i < n; ++i) total[i] = d->log ? log(total[i]) : 1 / total[i];
  lanes_from(d, &scale, total, n);
  for (int64_t k = 0; k < d->s.n; ++k) {
    char* po = out + (size_t)k * step;
    void* r = result_lanes(d, &shifted, po);
    if (keep) {
      d->multiply(r, r, &scale, n);
    } else {
      d->subtract(r, load_lanes(d, &wide, x + (size_t)k * step, n), &top, n);
      if (d->log) {
        d->subtract(r, r, &scale, n);
      } else {
        d->exp(r, r, n);
        d->multiply(r, r, &scale, n);
      }
    }
    store_lanes(d, po, r, n);
  }
}

static void backward_block(const columns_t* d, const char* g, const char* y, char* out, size_t step, size_t n) {
  lanes_t part, wide_g, wide_y, product, sum;
  double total[kLanes] = {0};
  lanes_fill(d, &part, 0, n);
  for (int64_t k = 0; k < d->s.n; ++k) {
    const void* pg = load_lanes(d, &wide_g, g + (size_t)k * step, n);
    if (!d->log) {
      d->multiply(&product, pg, load_lanes(d, &wide_y, y + (size_t)k * step, n), n);
      pg = &product;
    }
    d->add(&part, &part, pg, n);
    if (k % kSpan == kSpan - 1 || k == d->s.n - 1) lanes_carry(d, total, &part, n);
  }
  lanes_from(d, &sum, total, n);
  for (int64_t k = 0; k < d->s.n; ++k) {
    char* po = out + (size_t)k * step;
    const void* pg = load_lanes(d, &wide_g, g + (size_t)k * step, n);
    const void* py = load_lanes(d, &wide_y, y + (size_t)k * step, n);
    void* r = result_lanes(d, &product, po);
    if (d->log) {
      d->exp(r, py, n);
      d->multiply(r, r, &sum, n);
      d->subtract(r, pg, r, n);
    } else {
      d->subtract(r, pg, &sum, n);
      d->multiply(r, r, py, n);
    }
    store_lanes(d, po, r, n);
  }
}

static void columns_range(void* self, int64_t begin, int64_t end) {
  const columns_t* d = self;
  size_t bytes = tt_dtype_bytes(d->dtype), step = (size_t)d->s.inner * bytes;
  for (int64_t b = begin; b < end; ++b) {
    int64_t o = b / d->blocks_per_outer, c0 = b % d->blocks_per_outer * d->lanes;
    size_t n = (size_t)TT_MIN(d->s.inner - c0, d->lanes);
    size_t at = (size_t)o * (size_t)d->s.n * step + (size_t)c0 * bytes;
    if (d->backward) backward_block(d, d->in[0] + at, d->in[1] + at, d->out + at, step, n);
    else forward_block(d, d->in[0] + at, d->out + at, step, n);
  }
}

void tt_rows_softmax_columns(tt_pool_t* pool, tt_dtype_t dtype, tt_rows_shape_t s, bool log, const void* const* in,
                             size_t inputs, void* out) {
  if (s.outer == 0 || s.n == 0) return;
  tt_dtype_t acc = dtype == TT_DTYPE_F64 ? TT_DTYPE_F64 : TT_DTYPE_F32;
  columns_t d = {.dtype = dtype, .acc = acc, .s = s, .log = log, .backward = inputs > 1,
                 .in = {in[0], inputs > 1 ? in[1] : NULL}, .out = out,
                 .widen = tt_k_convert(dtype, acc), .narrow = tt_k_convert(acc, dtype),
                 .exp = tt_k_unary(TT_OP_EXPONENTIAL, acc), .max = tt_k_binary(TT_OP_MAXIMUM, acc),
                 .add = tt_k_binary(TT_OP_ADD, acc), .subtract = tt_k_binary(TT_OP_SUBTRACT, acc),
                 .multiply = tt_k_binary(TT_OP_MULTIPLY, acc)};
  // three passes over a block that should stay in the second cache level
  d.lanes = s.n > 1024 ? kNarrowLanes : kLanes;
  d.blocks_per_outer = (s.inner + d.lanes - 1) / d.lanes;
  int64_t grain = TT_MAX(16384 / (s.n * TT_MIN(s.inner, d.lanes)), 1);
  tt_k_parallel(pool, s.outer * d.blocks_per_outer, grain, columns_range, &d);
}
