// convolution with every attribute, by direct loops: operands are brought to [batch, channel, space...] and
// [output channel, input channel, space...] in the accumulator's dtype; each task makes whole output rows.
#include "kernels/dot_ref.h"

#pragma GCC optimize("O3")

typedef struct conv_blob_s {
  int64_t spatial;             // spatial rank
  int64_t stride[TT_MAX_RANK], low[TT_MAX_RANK], lhs_dilation[TT_MAX_RANK], rhs_dilation[TT_MAX_RANK];
  int64_t reversal[TT_MAX_RANK];
  int64_t feature_groups, batch_groups;
  int64_t input[TT_MAX_RANK], kernel[TT_MAX_RANK], output[TT_MAX_RANK];   // dims in canonical order
} conv_blob_t;

static bool conv_supports(const tt_op_t* op, const char** why) {
  *why = "quantised types";
  return !op->operands[0]->type->quant && !op->operands[1]->type->quant;
}
static tt_status_t conv_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  conv_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS);
  if (!attr || attr->kind != TT_AK_CONV) return tt_status_create(TT_INVALID_ARGUMENT, "convolution: no dimension numbers");
  const tt_conv_dims_t* d = attr->conv;
  size_t n = d->input_spatial.size;
  p->spatial = (int64_t)n;
  p->input[0] = d->input_batch;
  p->input[1] = d->input_feature;
  p->kernel[0] = d->kernel_output_feature;
  p->kernel[1] = d->kernel_input_feature;
  p->output[0] = d->output_batch;
  p->output[1] = d->output_feature;
  for (size_t i = 0; i < n; ++i) {
    p->input[2 + i] = d->input_spatial.data[i];
    p->kernel[2 + i] = d->kernel_spatial.data[i];
    p->output[2 + i] = d->output_spatial.data[i];
  }
  int64_t high[TT_MAX_RANK];
  tt_k_op_i64s(op, TT_ATTR_WINDOW_STRIDES, p->stride, n, 1);
  tt_k_op_padding(op, p->low, high, n);
  tt_k_op_i64s(op, TT_ATTR_LHS_DILATION, p->lhs_dilation, n, 1);
  tt_k_op_i64s(op, TT_ATTR_RHS_DILATION, p->rhs_dilation, n, 1);
  tt_k_op_i64s(op, TT_ATTR_WINDOW_REVERSAL, p->reversal, n, 0);
  p->feature_groups = tt_op_attr_int(op, TT_ATTR_FEATURE_GROUP_COUNT, 1);
  p->batch_groups = tt_op_attr_int(op, TT_ATTR_BATCH_GROUP_COUNT, 1);
  return TT_OK_STATUS;
}

typedef struct conv_job_s {
  const conv_blob_t* p;
  tt_dtype_t acc;
  int64_t space;                              // >= 1: a rank-0 space counts as one dim of 1
  int64_t in[TT_MAX_RANK], ker[TT_MAX_RANK], out[TT_MAX_RANK];   // sizes in canonical order
  const char *x, *w;
  char* y;
} conv_job_t;

// y[i] += w * x[first + i * step] for i in [from, to)
#define ROW(NAME, T)                                                                                \
  static void NAME(T* restrict y, const T* restrict x, T w, int64_t step, int64_t n) {              \
    if (step == 1) {                                                                                \
      for (int64_t i = 0; i < n; ++i) y[i] += w * x[i];                                             \
    } else {                                                                                        \
      for (int64_t i = 0; i < n; ++i) y[i] += w * x[i * step];                                      \
    }                                                                                               \
  }
ROW(row_f32, float)
ROW(row_f64, double)
ROW(row_u32, uint32_t)
ROW(row_u64, uint64_t)
#define ROW_COMPLEX(NAME, T)                                                                        \
  static void NAME(T* restrict y, const T* restrict x, const T* w, int64_t step, int64_t n) {       \
    for (int64_t i = 0; i < n; ++i) {                                                               \
      T re = x[2 * i * step], im = x[2 * i * step + 1];                                             \
      y[2 * i] += w[0] * re - w[1] * im;                                                            \
      y[2 * i + 1] += w[0] * im + w[1] * re;                                                        \
    }                                                                                               \
  }
ROW_COMPLEX(row_c64, float)
ROW_COMPLEX(row_c128, double)

static void conv_row(tt_dtype_t acc, char* y, const char* x, const char* w, int64_t y_step, int64_t step, int64_t n) {
  if (y_step != 1) {   // base dilation: outputs y_step apart
    for (int64_t i = 0; i < n; ++i) {
      int64_t eb = (int64_t)tt_dtype_bytes(acc);
      conv_row(acc, y + i * y_step * eb, x + i * step * eb, w, 1, 1, 1);
    }
    return;
  }
  switch (acc) {
    case TT_DTYPE_F32: row_f32((float*)y, (const float*)x, *(const float*)w, step, n); break;
    case TT_DTYPE_F64: row_f64((double*)y, (const double*)x, *(const double*)w, step, n); break;
    case TT_DTYPE_S32: row_u32((uint32_t*)y, (const uint32_t*)x, *(const uint32_t*)w, step, n); break;
    case TT_DTYPE_S64: row_u64((uint64_t*)y, (const uint64_t*)x, *(const uint64_t*)w, step, n); break;
    case TT_DTYPE_C64: row_c64((float*)y, (const float*)x, (const float*)w, step, n); break;
    default: row_c128((double*)y, (const double*)x, (const double*)w, step, n); break;
  }
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}

// One row of the innermost spatial dim: rows are numbered over [batch, output channel, outer space].
static void conv_range(void* self, int64_t begin, int64_t end) {
  const conv_job_t* j = self;
  const conv_blob_t* p = j->p;
  int64_t eb = (int64_t)tt_dtype_bytes(j->acc), s = j->space, last = s - 1;
  int64_t width = j->out[2 + last], in_width = j->in[2 + last];
  int64_t outer = tt_k_product(j->out, 2, (uint32_t)(2 + last));
  int64_t ker_outer = tt_k_product(j->ker, 2, (uint32_t)(2 + last)), ker_width = j->ker[2 + last];
  int64_t in_space = tt_k_product(j->in, 2, (uint32_t)(2 + s));
  int64_t out_channels = j->out[1], ker_channels = j->ker[1];
  // output w reads padded place w*stride + k*rd; that is input u iff (place - low) = u * ld
  int64_t stride = p->stride[last], ld = p->lhs_dilation[last], rd = p->rhs_dilation[last], low = p->low[last];
  int64_t common = gcd(stride, ld), y_step = ld / common, x_step = stride / common;
  for (int64_t r = begin; r < end; ++r) {
    int64_t o = r % outer, channel = r / outer % out_channels, batch = r / outer / out_channels;
    int64_t group = channel / (out_channels / p->feature_groups);
    int64_t batch_group = channel / (out_channels / p->batch_groups);
    int64_t in_batch = batch_group * j->out[0] + batch;
    char* y = j->y + r * width * eb;
    memset(y, 0, (size_t)(width * eb));
    int64_t place[TT_MAX_RANK];
    int64_t rest = o;
    for (int64_t i = last; i-- > 0;) {
      place[i] = rest % j->out[2 + i] * p->stride[i] - p->low[i];
      rest /= j->out[2 + i];
    }
    for (int64_t c = 0; c < ker_channels; ++c) {
      const char* x = j->x + ((in_batch * j->in[1]) + group * ker_channels + c) * in_space * eb;
      const char* w = j->w + (channel * ker_channels + c) * ker_outer * ker_width * eb;
      for (int64_t ko = 0; ko < ker_outer; ++ko) {
        int64_t row = 0, row_stride = 1, w_row = 0, w_stride = 1, k_rest = ko;
        bool inside = true;
        for (int64_t i = last; i-- > 0 && inside;) {
          int64_t k = k_rest % j->ker[2 + i];
          k_rest /= j->ker[2 + i];
          int64_t at = place[i] + k * p->rhs_dilation[i];
          inside = at >= 0 && at % p->lhs_dilation[i] == 0 && at / p->lhs_dilation[i] < j->in[2 + i];
          if (!inside) break;
          row += at / p->lhs_dilation[i] * row_stride;
          row_stride *= j->in[2 + i];
          w_row += (p->reversal[i] ? j->ker[2 + i] - 1 - k : k) * w_stride;
          w_stride *= j->ker[2 + i];
        }
        if (!inside) continue;
        for (int64_t k = 0; k < ker_width; ++k) {
          // places at(w) = w*stride + shift; solve at(w) in [0, in_width*ld) and divisible by ld
          int64_t shift = k * rd - low;
          int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
          while (first < width && (first * stride + shift) % ld != 0) ++first;
          if (first >= width) continue;
          int64_t x_first = (first * stride + shift) / ld;
          if (x_first >= in_width) continue;
          int64_t n = TT_MIN((width - 1 - first) / y_step, (in_width - 1 - x_first) / x_step) + 1;
          int64_t kk = p->reversal[last] ? ker_width - 1 - k : k;
          conv_row(j->acc, y + first * eb, x + (row * in_width + x_first) * eb, w + (w_row * ker_width + kk) * eb, y_step,
                   x_step, n);
        }
      }
    }
  }
}

typedef struct conv_layout_s {
  tt_dtype_t acc;
  size_t own[2], acc_at[2], product, reordered, total;
} conv_layout_t;
static conv_layout_t conv_layout(const tt_k_tensor_t* x, const tt_k_tensor_t* y) {
  conv_layout_t l = {.acc = tt_k_accumulator(x[0].dtype, x[1].dtype, y->dtype)};
  size_t ab = tt_dtype_bytes(l.acc), offset = 0;
  for (int i = 0; i < 2; ++i) {
    l.own[i] = offset;
    offset += tt_align_up(tt_k_bytes(x + i), 64);
    l.acc_at[i] = offset;
    offset += x[i].dtype == l.acc ? 0 : tt_align_up((size_t)tt_k_elems(x + i) * ab, 64);
  }
  l.product = offset;
  offset += tt_align_up((size_t)tt_k_elems(y) * ab, 64);
  l.reordered = offset;
  offset += y->dtype == l.acc ? 0 : tt_align_up(tt_k_bytes(y), 64);
  l.total = offset;
  return l;
}
static size_t conv_scratch(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y,
                           size_t ny) {
  (void)blob, (void)threads, (void)nx, (void)ny;
  return conv_layout(x, y).total;
}

// Copies between a tensor and its canonical order (order[i]: the tensor's dim that comes i-th).
static void reorder(tt_pool_t* pool, const tt_k_tensor_t* t, const int64_t* order, void* canonical, bool back) {
  tt_k_copy_t c = {.element_bytes = tt_dtype_bytes(t->dtype), .rank = t->rank};
  int64_t strides[TT_MAX_RANK], dense[TT_MAX_RANK];
  tt_k_dense_strides(t->dims, t->rank, strides);
  for (uint32_t i = 0; i < t->rank; ++i) c.dims[i] = t->dims[order[i]];
  tt_k_dense_strides(c.dims, t->rank, dense);
  for (uint32_t i = 0; i < t->rank; ++i) {
    c.dst[i] = back ? strides[order[i]] : dense[i];
    c.src[i] = back ? dense[i] : strides[order[i]];
  }
  if (back) tt_k_copy(pool, c, t->data, canonical);
  else tt_k_copy(pool, c, canonical, t->data);
}

static tt_status_t convolve(const tt_k_env_t* env, const conv_blob_t* p, const tt_k_tensor_t* x, const tt_k_tensor_t* y) {
  conv_layout_t l = conv_layout(x, y);
  int64_t total = tt_k_elems(y);
  if (total == 0) return TT_OK_STATUS;
  char* scratch = env->scratch;
  const char* data[2];
  const int64_t* orders[2] = {p->input, p->kernel};
  for (int i = 0; i < 2; ++i) {
    reorder(env->pool, x + i, orders[i], scratch + l.own[i], false);
    data[i] = scratch + l.own[i];
    if (x[i].dtype != l.acc) {
      tt_k_convert_parallel(env->pool, x[i].dtype, l.acc, scratch + l.acc_at[i], data[i], tt_k_elems(x + i));
      data[i] = scratch + l.acc_at[i];
    }
  }
  conv_blob_t padded = *p;
  conv_job_t job = {.p = &padded, .acc = l.acc, .space = p->spatial, .x = data[0], .w = data[1], .y = scratch + l.product};
  for (int64_t i = 0; i < p->spatial + 2; ++i) {
    job.in[i] = x[0].dims[p->input[i]];
    job.ker[i] = x[1].dims[p->kernel[i]];
    job.out[i] = y->dims[p->output[i]];
  }
  if (job.space == 0) {
    job.space = 1;
    job.in[2] = job.ker[2] = job.out[2] = 1;
    padded.stride[0] = padded.lhs_dilation[0] = padded.rhs_dilation[0] = 1;
    padded.low[0] = padded.reversal[0] = 0;
  }
  int64_t width = job.out[2 + job.space - 1], rows = total / width;
  int64_t work = width * tt_k_product(job.ker, 1, (uint32_t)(2 + job.space));
  tt_k_parallel(env->pool, rows, TT_MAX(1, 65536 / TT_MAX(1, work)), conv_range, &job);
  void* canonical = job.y;
  if (y->dtype != l.acc) {
    tt_k_convert_parallel(env->pool, l.acc, y->dtype, scratch + l.reordered, job.y, total);
    canonical = scratch + l.reordered;
  }
  reorder(env->pool, y, p->output, canonical, true);
  return TT_OK_STATUS;
}
static tt_status_t conv_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                            const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  return convolve(env, blob, x, y);
}
static tt_status_t dynamic_conv_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                                    const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;   // operand 2: the padding, [spatial, 2]; the result's type already fixes the high side
  conv_blob_t p = *(const conv_blob_t*)blob;
  size_t eb = tt_dtype_bytes(x[2].dtype);
  for (int64_t i = 0; i < p.spatial; ++i) {
    p.low[i] = tt_k_load_index(x[2].dtype, (const char*)x[2].data + (size_t)(2 * i) * eb);
  }
  return convolve(env, &p, x, y);
}

const tt_k_op_t tt_k_conv_ref_table[] = {
    {.name = "tt_k_any_convolution__generic", .kind = TT_OP_CONVOLUTION, .supports = conv_supports, .encode = conv_encode,
     .scratch_bytes = conv_scratch, .run = conv_run},
    {.name = "tt_k_any_dynamic_conv__generic", .kind = TT_OP_DYNAMIC_CONV, .supports = conv_supports,
     .encode = conv_encode, .scratch_bytes = conv_scratch, .run = dynamic_conv_run},
    {0},
};
