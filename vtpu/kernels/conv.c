// Convolution on the vector ISAs: f32, f64, and bf16 and f16 widened to f32; every attribute, up to three spatial dims.
//
// Per phase and chunk of images: the image is copied (padded) unless it can be read where it lies, then tasks make blocks
// of results from panels of it:
//   GEMM    blocks of columns are packed into panels (never the image matrix of a whole batch), weights once a call
//   DIRECT  few output channels a group (depthwise): rows of columns, nothing packed
//   DOTS    the same with the sum along the image's rows (depthwise weight gradients)
// Work is cut by shape alone, and each result is one sum in fixed order.
#include "kernels/conv_plan.h"
#include "kernels/loops.h"

static bool is_wide(tt_dtype_t d) { return d == TT_DTYPE_F32 || d == TT_DTYPE_F64; }
static bool is_half(tt_dtype_t d) { return d == TT_DTYPE_BF16 || d == TT_DTYPE_F16; }

static bool supports(const tt_op_t* op, const char** why) {
  const tt_type_t *x = op->operands[0]->type, *w = op->operands[1]->type, *y = op->results[0].type;
  if (x->quant || w->quant || y->quant) {
    *why = "quantised types";
    return false;
  }
  const tt_type_t* const types[] = {x, w, y};
  for (int i = 0; i < 3; ++i) {
    if (!is_wide(types[i]->dtype) && !is_half(types[i]->dtype)) {
      *why = "f32, f64, bf16, f16 only";
      return false;
    }
    if ((types[i]->dtype == TT_DTYPE_F64) != (x->dtype == TT_DTYPE_F64)) {
      *why = "f64 mixed with other types";
      return false;
    }
  }
  if (x->rank > 2 + TT_CONV_SPACE) {
    *why = "more than three spatial dimensions";
    return false;
  }
  const tt_attr_t* attr = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS);
  *why = "no dimension numbers";
  return attr && attr->kind == TT_AK_CONV;
}

static tt_status_t encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  tt_conv_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const tt_conv_dims_t* d = tt_op_attr(op, TT_ATTR_DIMENSION_NUMBERS)->conv;
  const size_t n = d->input_spatial.size;
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
  int64_t high[TT_CONV_SPACE];
  tt_k_op_i64s(op, TT_ATTR_WINDOW_STRIDES, p->stride, n, 1);
  tt_k_op_padding(op, p->low, high, n);
  tt_k_op_i64s(op, TT_ATTR_LHS_DILATION, p->lhs_dilation, n, 1);
  tt_k_op_i64s(op, TT_ATTR_RHS_DILATION, p->rhs_dilation, n, 1);
  tt_k_op_i64s(op, TT_ATTR_WINDOW_REVERSAL, p->reversal, n, 0);
  p->feature_groups = tt_op_attr_int(op, TT_ATTR_FEATURE_GROUP_COUNT, 1);
  p->batch_groups = tt_op_attr_int(op, TT_ATTR_BATCH_GROUP_COUNT, 1);
  return TT_OK_STATUS;
}

static size_t scratch_bytes(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  return tt_conv_scratch_bytes(blob, threads, x, y);
}

typedef struct job_s {
  const tt_conv_plan_t* p;
  const char *x, *w;               // operands
  char* y;
  char* scratch;
  const char* image;               // what is read: element s_base of image 0 of the chunk
  int64_t first, images;           // of the chunk
  int64_t columns, blocks;         // of the chunk
  size_t x_bytes, w_bytes, y_bytes;
  tt_gemm_pack_fn_t x_pack, w_pack;
  tt_k_unary_fn_t narrow;          // acc -> y's dtype; NULL when equal
  int64_t offsets[TT_CONV_KC];     // of k, when there is one block of k
} job_t;

// ---- the image ----------------------------------------------------------------------------------------
// Planes (image, channel) of the chunk, padded and split by residue.
static void copy_planes(void* self, int64_t begin, int64_t end) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  const tt_conv_dim_t* d = p->d;
  const size_t eb = p->acc_bytes;
  char* image = j->scratch + p->x_at;
  const int64_t total_n = p->x_total_n == p->n ? j->images : p->x_total_n;
  for (int64_t plane = begin; plane < end; ++plane) {
    int64_t n, c;
    if (p->s_n < p->s_c) n = plane % total_n, c = plane / total_n;
    else n = plane / p->x_total_c, c = plane % p->x_total_c;
    char* to = image + (size_t)(n * p->s_n + c * p->s_c) * eb;
    const char* from = j->x + ((j->first + n) * p->x_n + c * p->x_c + p->x_base) * (int64_t)j->x_bytes;
    for (int64_t p0 = 0; p0 < d[0].extent; ++p0) {
      const int64_t i0 = p0 * d[0].scale - d[0].low;
      for (int64_t p1 = 0; p1 < d[1].extent; ++p1, to += (size_t)p->s_1 * eb) {
        const int64_t i1 = p1 * d[1].scale - d[1].low;
        if (i0 < 0 || i0 >= d[0].in || i1 < 0 || i1 >= d[1].in) {
          memset(to, 0, (size_t)p->s_1 * eb);
          continue;
        }
        const char* row = from + (i0 * d[0].xs + i1 * d[1].xs) * (int64_t)j->x_bytes;
        for (int64_t residue = 0; residue < p->residues; ++residue) {
          // elements i2 = start + i * step for i in [lo, hi)
          const int64_t start = residue * d[2].scale - d[2].low, step = p->residues * d[2].scale;
          int64_t lo = start < 0 ? (-start + step - 1) / step : 0;
          int64_t hi = start < d[2].in ? (d[2].in - 1 - start) / step + 1 : 0;
          lo = TT_MIN(lo, p->plane);
          hi = TT_MAX(lo, TT_MIN(hi, p->plane));
          char* part = to + (size_t)(residue * p->plane) * eb;
          memset(part, 0, (size_t)lo * eb);
          if (hi > lo) {
            const char* src = row + (start + lo * step) * d[2].xs * (int64_t)j->x_bytes;
            if (step * d[2].xs == 1 && p->x_dtype == p->acc) memcpy(part + (size_t)lo * eb, src, (size_t)(hi - lo) * eb);
            else j->x_pack(part + (size_t)lo * eb, 1, src, 0, step * d[2].xs, 1, hi - lo);
          }
          memset(part + (size_t)hi * eb, 0, (size_t)(p->plane - hi) * eb);
        }
      }
    }
  }
}

// ---- weights ------------------------------------------------------------------------------------------
// k of one panel as at most four dims, merged where they are contiguous.
static void pack_weights(void* self, int64_t begin, int64_t end) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  const tt_conv_dim_t* d = p->d;
  const int64_t all[4] = {p->ic, d[0].ker, d[1].ker, d[2].ker}, all_strides[4] = {p->w_c, d[0].ws, d[1].ws, d[2].ws};
  int64_t size[4], stride[4];
  int rank = 0;
  for (int i = 0; i < 4; ++i) {
    if (all[i] == 1) continue;
    if (rank && stride[rank - 1] == all_strides[i] * all[i]) {
      size[rank - 1] *= all[i];
      stride[rank - 1] = all_strides[i];
    } else {
      size[rank] = all[i];
      stride[rank++] = all_strides[i];
    }
  }
  if (!rank) size[rank] = stride[rank] = 1, rank = 1;
  const int64_t inner = size[rank - 1], outer = p->k / inner;
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t g = panel / p->panels, o = panel % p->panels * p->width, count = TT_MIN(p->width, p->oc - o);
    char* to = j->scratch + p->w_at + (size_t)panel * p->panel_bytes;
    const char* from = j->w + (p->w_base + g * p->w_g + o * p->w_o) * (int64_t)j->w_bytes;
    int64_t index[4] = {0}, at = 0;
    for (int64_t i = 0; i < outer; ++i, to += (size_t)(inner * p->width) * p->acc_bytes) {
      j->w_pack(to, p->width, from + at * (int64_t)j->w_bytes, p->w_o, stride[rank - 1], count, inner);
      for (int dim = rank - 2; dim >= 0; --dim) {
        at += stride[dim];
        if (++index[dim] < size[dim]) break;
        at -= size[dim] * stride[dim];
        index[dim] = 0;
      }
    }
  }
}

// ---- results ------------------------------------------------------------------------------------------
// `count` sums to y + offsets.
static void store(const job_t* j, const char* sums, char* y, const int64_t* offsets, int64_t count) {
  const size_t eb = j->y_bytes;
  char part[TT_CONV_MAX_NR * 8];
  for (int64_t i = 0; i < count;) {
    int64_t run = 1;
    while (i + run < count && offsets[i + run] == offsets[i] + run) ++run;
    char* to = y + offsets[i] * (int64_t)eb;
    if (run > 1 || count == 1) {
      if (j->narrow) j->narrow(to, sums + (size_t)i * j->p->acc_bytes, (size_t)run);
      else memcpy(to, sums + (size_t)i * eb, (size_t)run * eb);
      i += run;
      continue;
    }
    const int64_t n = TT_MIN(count - i, TT_CONV_MAX_NR);
    const char* from = sums + (size_t)i * j->p->acc_bytes;
    if (j->narrow) {
      j->narrow(part, from, (size_t)n);
      from = part;
    }
    if (eb == 4) {
      for (int64_t a = 0; a < n; ++a) ((uint32_t*)y)[offsets[i + a]] = ((const uint32_t*)from)[a];
    } else if (eb == 2) {
      for (int64_t a = 0; a < n; ++a) ((uint16_t*)y)[offsets[i + a]] = ((const uint16_t*)from)[a];
    } else {
      for (int64_t a = 0; a < n; ++a) ((uint64_t*)y)[offsets[i + a]] = ((const uint64_t*)from)[a];
    }
    i += n;
  }
}
static bool adjacent(const int64_t* offsets, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    if (offsets[i] != offsets[0] + i) return false;
  }
  return true;
}
static const int64_t* k_offsets(const job_t* j, int64_t first, int64_t count, int64_t* own) {
  if (j->p->k_blocks == 1) return j->offsets;
  tt_conv_offsets(j->p, first, count, own);
  return own;
}

// ---- tasks --------------------------------------------------------------------------------------------
static void gemm_task(void* self, size_t slot, size_t task) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  const int64_t oc_block = (int64_t)task % p->oc_blocks, rest = (int64_t)task / p->oc_blocks;
  const int64_t block = rest % j->blocks, g = rest / j->blocks;
  const int64_t es = (int64_t)p->acc_bytes, nr = p->nr;
  char* b = j->scratch + p->slot_at + slot * p->slot_bytes;
  char* tile = b + p->tile_at;
  const int64_t first = block * p->block * nr, last = TT_MIN(first + p->block * nr, j->columns);
  const int64_t panels = (last - first + nr - 1) / nr;
  int64_t x_offsets[8 * TT_CONV_MAX_NR], y_offsets[8 * TT_CONV_MAX_NR];
  tt_conv_run_t runs[8 * TT_CONV_MAX_NR];
  int64_t run_count[8];
  bool in_result[8];
  tt_conv_columns(p, first, last - first, x_offsets, y_offsets);
  for (int64_t i = 0; i < panels; ++i) {
    const int64_t cols = TT_MIN(nr, last - first - i * nr);
    in_result[i] = !j->narrow && adjacent(y_offsets + i * nr, cols);
    if (p->along_k) continue;
    tt_conv_run_t* r = runs + i * nr;
    int64_t count = 0;
    for (int64_t c = 0; c < cols; ++c) {
      const int64_t x = x_offsets[i * nr + c];
      if (count && r[count - 1].x + r[count - 1].size == x) ++r[count - 1].size;
      else r[count++] = (tt_conv_run_t){x, c, 1};
    }
    run_count[i] = count;
  }
  const char* image = j->image + g * p->s_g * es;
  const size_t b_panel = tt_align_up((size_t)(p->kc * nr * es) + TT_GEMM_PACK_SLACK, 64);
  char* y = j->y + (p->y_base + j->first * p->y_n + g * p->y_g) * (int64_t)j->y_bytes;
  const int64_t tile_rs = p->block * nr;
  const int64_t o_first = oc_block * p->oc_block, o_last = TT_MIN(o_first + p->oc_block, p->panels);
  for (int64_t kb = 0; kb < p->k_blocks; ++kb) {
    const int64_t k = kb * p->kc, depth = TT_MIN(p->kc, p->k - k);
    int64_t own[TT_CONV_KC];
    const int64_t* offsets = k_offsets(j, k, depth, own);
    for (int64_t i = 0; i < panels && depth; ++i) {
      const int64_t cols = TT_MIN(nr, last - first - i * nr);
      if (p->along_k) p->lanes->pack_columns(b + (size_t)i * b_panel, nr, image, offsets, depth, x_offsets + i * nr, cols);
      else p->lanes->pack_rows(b + (size_t)i * b_panel, nr, image, offsets, depth, runs + i * nr, run_count[i]);
    }
    for (int64_t o = o_first; o < o_last; ++o) {
      const int64_t rows = TT_MIN(p->width, p->oc - o * p->width);
      const char* a = p->w_in_place ? j->w + (p->w_base + g * p->w_g + o * p->width * p->w_o + k) * es
                                    : j->scratch + p->w_at + (size_t)(g * p->panels + o) * p->panel_bytes + (size_t)(k * p->width * es);
      for (int64_t i = 0; i < panels; ++i) {
        const int64_t cols = TT_MIN(nr, last - first - i * nr);
        char* c;
        int64_t c_rs;
        if (in_result[i]) {
          c = y + (o * p->width * p->y_o + y_offsets[i * nr]) * es;
          c_rs = p->y_o;
        } else {
          c = tile + ((o - o_first) * p->width * tile_rs + i * nr) * es;
          c_rs = tile_rs;
        }
        const char* panel = b + (size_t)i * b_panel;
        if (p->w_in_place) p->kernel->run_strided(depth, a, p->w_o, 1, panel, nr, c, c_rs, rows, cols, kb > 0);
        else p->kernel->run(depth, a, panel, c, c_rs, rows, cols, kb > 0);
      }
    }
  }
  for (int64_t i = 0; i < panels; ++i) {
    if (in_result[i]) continue;
    const int64_t cols = TT_MIN(nr, last - first - i * nr);
    const int64_t rows = TT_MIN(o_last * p->width, p->oc) - o_first * p->width;
    for (int64_t r = 0; r < rows; ++r) {
      store(j, tile + (r * tile_rs + i * nr) * es, y + (o_first * p->width + r) * p->y_o * (int64_t)j->y_bytes, y_offsets + i * nr, cols);
    }
  }
}

static void direct_task(void* self, size_t slot, size_t task) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  const int64_t block = (int64_t)task % j->blocks, g = (int64_t)task / j->blocks, es = (int64_t)p->acc_bytes;
  char* tile = j->scratch + p->slot_at + slot * p->slot_bytes;
  const char *image = j->image + g * p->s_g * es, *w = j->scratch + p->w_at + (size_t)g * p->panel_bytes;
  char* y = j->y + (p->y_base + j->first * p->y_n + g * p->y_g) * (int64_t)j->y_bytes;
  const int64_t parts = (p->block + p->segment - 1) / p->segment;
  const int64_t end = TT_MIN((block + 1) * p->nr, j->columns / p->block * parts);
  const bool in_result = !j->narrow && p->d[2].ys == 1;
  int64_t own[TT_CONV_KC];
  for (int64_t s = block * p->nr; s < end; ++s) {
    const int64_t column = s / parts * p->block + s % parts * p->segment;
    const int64_t count = TT_MIN(p->segment, p->block - s % parts * p->segment);
    int64_t x_at, y_at;
    tt_conv_columns(p, column, 1, &x_at, &y_at);
    char* to = in_result ? y + y_at * es : tile;
    const int64_t rs = in_result ? p->y_o : p->segment;
    for (int64_t kb = 0; kb < p->k_blocks; ++kb) {
      const int64_t k = kb * p->kc, depth = TT_MIN(p->kc, p->k - k);
      const int64_t* offsets = k_offsets(j, k, depth, own);
      p->lanes->direct(p->oc, image + x_at * es, offsets, depth, w + k * p->oc * es, to, rs, count, kb > 0);
    }
    if (in_result) continue;
    for (int64_t r = 0; r < p->oc; ++r) {
      char* row = y + (r * p->y_o + y_at) * (int64_t)j->y_bytes;
      for (int64_t i = 0; i < count; i += TT_CONV_MAX_NR) {
        int64_t offsets[TT_CONV_MAX_NR];
        const int64_t n = TT_MIN(count - i, TT_CONV_MAX_NR);
        for (int64_t a = 0; a < n; ++a) offsets[a] = (i + a) * p->d[2].ys;
        store(j, tile + (r * p->segment + i) * es, row, offsets, n);
      }
    }
  }
}

static void dots_task(void* self, size_t slot, size_t task) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  const int64_t block = (int64_t)task % j->blocks, g = (int64_t)task / j->blocks, es = (int64_t)p->acc_bytes;
  char* tile = j->scratch + p->slot_at + slot * p->slot_bytes;
  const int64_t first = block * p->nr, count = TT_MIN(p->nr, j->columns - first);
  int64_t x_offsets[TT_CONV_MAX_NR], y_offsets[TT_CONV_MAX_NR], own[TT_CONV_KC];
  tt_conv_columns(p, first, count, x_offsets, y_offsets);
  char* y = j->y + (p->y_base + j->first * p->y_n + g * p->y_g) * (int64_t)j->y_bytes;
  for (int64_t kb = 0; kb < p->k_blocks; ++kb) {
    const int64_t k = kb * p->kc, depth = TT_MIN(p->kc, p->k - k);
    const int64_t* offsets = k_offsets(j, k, depth, own);
    for (int64_t r = 0; r < p->oc; ++r) {
      const char* w = j->scratch + p->w_at + (size_t)(g * p->panels + r) * p->panel_bytes + (size_t)(k * es);
      p->lanes->dots(j->image + g * p->s_g * es, offsets, depth, x_offsets, count, w, tile + r * TT_CONV_MAX_NR * es, kb > 0);
    }
  }
  for (int64_t r = 0; r < p->oc; ++r) {
    store(j, tile + r * TT_CONV_MAX_NR * es, y + r * p->y_o * (int64_t)j->y_bytes, y_offsets, count);
  }
}

static tt_status_t run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx, const tt_k_tensor_t* y,
                       size_t ny) {
  (void)nx, (void)ny;
  const int threads = env->pool ? tt_pool_threads(env->pool) : 1;
  const int64_t phases = tt_conv_phases(blob);
  for (int64_t phase = 0; phase < phases; ++phase) {
    tt_conv_plan_t plan;
    if (!tt_conv_plan(blob, phase, threads, x, y, TT_CONV_FREE, &plan)) continue;
    const tt_conv_plan_t* p = &plan;
    job_t job;
    job.p = p;
    job.x = x[0].data;
    job.w = x[1].data;
    job.y = y->data;
    job.scratch = env->scratch;
    job.x_bytes = tt_dtype_bytes(p->x_dtype);
    job.w_bytes = tt_dtype_bytes(p->w_dtype);
    job.y_bytes = tt_dtype_bytes(p->y_dtype);
    job.x_pack = tt_gemm_pack(p->x_dtype);
    job.w_pack = tt_gemm_pack(p->w_dtype);
    job.narrow = p->y_dtype == p->acc ? NULL : tt_k_convert(p->acc, p->y_dtype);
    tt_pool_t* pool = p->serial ? NULL : env->pool;
    if (p->k && !p->w_in_place) {
      const int64_t panels = p->groups * p->panels, grain = TT_MAX(1, 16384 / (p->k * p->width));
      tt_k_parallel(pool, panels, pool ? grain : panels, pack_weights, &job);
    }
    if (p->k_blocks == 1) tt_conv_offsets(p, 0, p->k, job.offsets);
    for (int64_t first = 0; first < p->n; first += p->chunk) {
      job.first = first;
      job.images = TT_MIN(p->chunk, p->n - first);
      job.columns = job.images * p->d[0].out * p->d[1].out * p->d[2].out;
      if (p->in_place) {
        job.image = job.x + (p->s_base + first * p->s_n) * (int64_t)p->acc_bytes;
      } else {
        job.image = job.scratch + p->x_at;
        const int64_t planes = (p->x_total_n == p->n ? job.images : p->x_total_n) * p->x_total_c;
        const int64_t volume = p->s_0 * p->d[0].extent;
        tt_k_parallel(pool, planes, pool ? TT_MAX(1, 32768 / volume) : planes, copy_planes, &job);
      }
      if (p->kind == TT_CONV_GEMM) {
        job.blocks = ((job.columns + p->nr - 1) / p->nr + p->block - 1) / p->block;
        tt_gemm_tasks(pool, (size_t)(p->groups * job.blocks * p->oc_blocks), gemm_task, &job);
      } else if (p->kind == TT_CONV_DIRECT) {
        const int64_t parts = (p->block + p->segment - 1) / p->segment, segments = job.columns / p->block * parts;
        job.blocks = (segments + p->nr - 1) / p->nr;
        tt_gemm_tasks(pool, (size_t)(p->groups * job.blocks), direct_task, &job);
      } else {
        job.blocks = (job.columns + p->nr - 1) / p->nr;
        tt_gemm_tasks(pool, (size_t)(p->groups * job.blocks), dots_task, &job);
      }
    }
  }
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_conv_table[] = {
    {.name = "tt_k_float_convolution_packed__avx2", .kind = TT_OP_CONVOLUTION, .isa = TT_ISA_AVX2, .strided_operands = 3,
     .supports = supports, .encode = encode, .scratch_bytes = scratch_bytes, .run = run},
    {0},
};
