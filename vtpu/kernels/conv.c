// Convolution on the vector ISAs: f32, f64, and bf16 and f16 widened to f32; every attribute, up to three spatial dims.
//
// Per phase and chunk of images: the image is copied (padded) unless it can be read where it lies, then tasks make blocks
// of results from panels of it:
//   GEMM    blocks of columns are packed into panels: by the task that uses them, or once before the tasks where several
//           do and the panels are small (never the image matrix of a whole batch); weights once a call, or by the tasks
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
  if (!attr || attr->kind != TT_AK_CONV) return false;
  // Each phase is planned and run on its own.
  int64_t dilation[TT_CONV_SPACE], phases = 1;
  tt_k_op_i64s(op, TT_ATTR_LHS_DILATION, dilation, attr->conv->input_spatial.size, 1);
  *why = "an input dilated too far";
  for (size_t i = 0; i < attr->conv->input_spatial.size; ++i) {
    if (dilation[i] > TT_CONV_MAX_PHASES / phases) return false;
    phases *= dilation[i];
  }
  return true;
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

static size_t scratch_bytes(const void* blob, int threads, const tt_k_tensor_t* x, size_t nx,
                            const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  return tt_conv_scratch_bytes(blob, threads, x, y);
}

typedef struct job_s {
  const tt_conv_plan_t* p;
  const char *x, *w;  // operands
  char* y;
  char* scratch;
  const char* image;  // what is read: element s_base of image 0 of the chunk
  int64_t first, images;  // of the chunk
  int64_t columns, blocks;  // of the chunk
  size_t x_bytes, w_bytes, y_bytes;
  tt_gemm_pack_fn_t x_pack, w_pack;
  tt_conv_pad_fn_t pad_rows, w_rows;  // of x's and w's dtype
  tt_k_unary_fn_t narrow;  // acc -> y's dtype; NULL when equal
  int64_t offsets[TT_CONV_KC];  // of k, when there is one block of k
  tt_conv_run_t runs[TT_CONV_MAX_RUNS];  // the same along k
  int64_t run_count;
  const tt_k_epilogue_t* epilogue;  // taken; NULL: none
} job_t;

// ---- the image ----------------------------------------------------------------------------------------
// n elements that lie `step` apart.
static void copy_spread(const job_t* j, char* to, const char* from, int64_t step, int64_t n) {
  const tt_conv_plan_t* p = j->p;
  if (step < 2 || step > 8) {
    j->x_pack(to, 1, from, 0, step, 1, n);
    return;
  }
  if (p->x_dtype == p->acc) {
    p->lanes->pack_any(to, n, from, step, 0, n, 1);
    return;
  }
  float wide[512];  // widened first: gathers take no halves
  while (n > 0) {
    const int64_t some = TT_MIN(n, 512 / step);
    j->x_pack(wide, 1, from, 0, 1, 1, (some - 1) * step + 1);
    p->lanes->pack_any(to, some, wide, step, 0, some, 1);
    n -= some;
    to += (size_t)some * 4;
    from += (size_t)(some * step) * j->x_bytes;
  }
}
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
    // rows [top, bottom) of a slice meet the input
    const int64_t step_1 = d[1].scale;
    int64_t top = d[1].low > 0 ? (d[1].low + step_1 - 1) / step_1 : 0;
    int64_t bottom = d[1].in + d[1].low > 0 ? (d[1].in - 1 + d[1].low) / step_1 + 1 : 0;
    top = TT_MIN(top, d[1].extent);
    bottom = TT_MAX(top, TT_MIN(bottom, d[1].extent));
    for (int64_t p0 = 0; p0 < d[0].extent; ++p0, to += (size_t)p->s_0 * eb) {
      const int64_t i0 = p0 * d[0].scale - d[0].low;
      if (i0 < 0 || i0 >= d[0].in || top == bottom) {
        p->lanes->pad_rows(to, 1, 0, NULL, 0, 0, p->s_0);
        continue;
      }
      const char* row = from + (i0 * d[0].xs + (top * step_1 - d[1].low) * d[1].xs) * (int64_t)j->x_bytes;
      if (top) p->lanes->pad_rows(to, 1, 0, NULL, 0, 0, top * p->s_1);
      for (int64_t residue = 0; residue < p->residues; ++residue) {
        // elements i2 = start + i * step for i in [lo, hi)
        const int64_t start = residue * d[2].scale - d[2].low, step = p->residues * d[2].scale;
        int64_t lo = start < 0 ? (-start + step - 1) / step : 0;
        int64_t hi = start < d[2].in ? (d[2].in - 1 - start) / step + 1 : 0;
        lo = TT_MIN(lo, p->plane);
        hi = TT_MAX(lo, TT_MIN(hi, p->plane));
        char* part = to + (size_t)(top * p->s_1 + residue * p->plane) * eb;
        const char* src = row + (start + lo * step) * d[2].xs * (int64_t)j->x_bytes;
        if (p->residues == 1 && (step * d[2].xs == 1 || hi == lo)) {
          j->pad_rows(part, bottom - top, lo, src, step_1 * d[1].xs, hi - lo, p->plane);
          break;
        }
        for (int64_t p1 = top; p1 < bottom;
             ++p1, part += (size_t)p->s_1 * eb, src += step_1 * d[1].xs * (int64_t)j->x_bytes) {
          if (lo) p->lanes->pad_rows(part, 1, 0, NULL, 0, 0, lo);
          if (hi > lo) copy_spread(j, part + (size_t)lo * eb, src, step * d[2].xs, hi - lo);
          if (hi < p->plane) p->lanes->pad_rows(part + (size_t)hi * eb, 1, 0, NULL, 0, 0, p->plane - hi);
        }
      }
      if (bottom < d[1].extent)
        p->lanes->pad_rows(to + (size_t)(bottom * p->s_1) * eb, 1, 0, NULL, 0, 0,
                           (d[1].extent - bottom) * p->s_1);
    }
  }
}

// ---- weights ------------------------------------------------------------------------------------------
typedef struct k_dims_s {  // k of the weights as at most four dims, merged where they are contiguous
  int64_t size[4], stride[4];
  int rank;
} k_dims_t;
static k_dims_t k_dims_of(const tt_conv_plan_t* p) {
  const tt_conv_dim_t* d = p->d;
  const int64_t all[4] = {p->ic, d[0].ker, d[1].ker, d[2].ker},
                strides[4] = {p->w_c, d[0].ws, d[1].ws, d[2].ws};
  k_dims_t k = {.rank = 0};
  for (int i = 0; i < 4; ++i) {
    if (all[i] == 1) continue;
    if (k.rank && k.stride[k.rank - 1] == strides[i] * all[i]) {
      k.size[k.rank - 1] *= all[i];
      k.stride[k.rank - 1] = strides[i];
    } else {
      k.size[k.rank] = all[i];
      k.stride[k.rank++] = strides[i];
    }
  }
  if (!k.rank) k.size[0] = k.stride[0] = k.rank = 1;
  return k;
}
// k in [first, first + depth) of one panel.
static void pack_panel(const job_t* j, const k_dims_t* k, int64_t panel, int64_t first, int64_t depth,
                       char* to) {
  const tt_conv_plan_t* p = j->p;
  const int64_t g = panel / p->panels, o = panel % p->panels * p->width, count = TT_MIN(p->width, p->oc - o);
  const char* from = j->w + (p->w_base + g * p->w_g + o * p->w_o) * (int64_t)j->w_bytes;
  const int last = k->rank - 1;
  while (depth > 0) {
    int64_t at = 0, rest = first / k->size[last];
    const int64_t inner = first % k->size[last], n = TT_MIN(depth, k->size[last] - inner);
    for (int dim = last - 1; dim >= 0; --dim) {
      at += rest % k->size[dim] * k->stride[dim];
      rest /= k->size[dim];
    }
    j->w_pack(to, p->width, from + (at + inner * k->stride[last]) * (int64_t)j->w_bytes, p->w_o,
              k->stride[last], count, n);
    first += n;
    depth -= n;
    to += (size_t)(n * p->width) * p->acc_bytes;
  }
}
static void pack_panels(void* self, int64_t begin, int64_t end) {
  const job_t* j = self;
  const k_dims_t k = k_dims_of(j->p);
  for (int64_t panel = begin; panel < end; ++panel) {
    pack_panel(j, &k, panel, 0, j->p->k, j->scratch + j->p->w_at + (size_t)panel * j->p->panel_bytes);
  }
}
// The weights of an input gradient: output channels stand `inner` elements apart, k is dense within that and far apart
// between. Reads in memory's order, all panels of one outer k after the other. Units: (group, 8 outer k).
enum { OUTER = 8 };
static void pack_interleaved(void* self, int64_t begin, int64_t end) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  const k_dims_t k = k_dims_of(p);
  const int last = k.rank - 1;
  const int64_t inner = k.size[last], outer = p->k / inner, units = (outer + OUTER - 1) / OUTER;
  _Alignas(64) char wide[TT_CONV_MAX_NR * 64 * 8];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t g = unit / units, to_outer = TT_MIN((unit % units + 1) * OUTER, outer);
    for (int64_t i = unit % units * OUTER; i < to_outer; ++i) {
      int64_t at = p->w_base + g * p->w_g, rest = i;
      for (int dim = last - 1; dim >= 0; --dim) {
        at += rest % k.size[dim] * k.stride[dim];
        rest /= k.size[dim];
      }
      for (int64_t panel = 0; panel < p->panels; ++panel) {
        const int64_t o = panel * p->width, count = TT_MIN(p->width, p->oc - o);
        const char* from = j->w + (at + o * p->w_o) * (int64_t)j->w_bytes;
        char* to = j->scratch + p->w_at + (size_t)(g * p->panels + panel) * p->panel_bytes +
                   (size_t)(i * inner * p->width) * p->acc_bytes;
        if (p->w_dtype != p->acc) {  // widen the block, `back` elements before k = 0 of the first channel
          const int64_t back = k.stride[last] < 0 ? inner - 1 : 0;
          j->w_pack(wide, 1, from - back * (int64_t)j->w_bytes, 0, 1, 1, count * inner);
          from = wide + (size_t)back * p->acc_bytes;
        }
        p->lanes->pack_any(to, p->width, from, p->w_o, k.stride[last], count, inner);
      }
    }
  }
}
static void pack_weights(tt_pool_t* pool, job_t* j) {
  const tt_conv_plan_t* p = j->p;
  const k_dims_t k = k_dims_of(p);
  const int64_t inner = k.size[k.rank - 1], stride = k.stride[k.rank - 1], outer = p->k / inner,
                panels = p->groups * p->panels;
  const bool interleaved = p->kind == TT_CONV_GEMM && (stride == 1 || stride == -1) && p->w_o == inner &&
                           inner <= 64 && inner > 1 && outer > 1;
  if (interleaved) {
    const int64_t units = p->groups * ((outer + OUTER - 1) / OUTER);
    tt_k_parallel(pool, units, pool ? TT_MAX(1, 16384 / (OUTER * inner * p->oc)) : units, pack_interleaved,
                  j);
  } else {
    tt_k_parallel(pool, panels, pool ? TT_MAX(1, 16384 / (p->k * p->width)) : panels, pack_panels, j);
  }
}

// ---- results ------------------------------------------------------------------------------------------
static int64_t find_runs(const int64_t* offsets, int64_t count, int64_t column, tt_conv_run_t* runs,
                         int64_t found) {
  for (int64_t i = 0; i < count; ++i) {
    if (found && runs[found - 1].x + runs[found - 1].size == offsets[i]) ++runs[found - 1].size;
    else runs[found++] = (tt_conv_run_t){offsets[i], column + i, 1};
  }
  return found;
}
// `count` sums to y + offsets; runs: the offsets' runs, found once for many rows of sums.
static void store(const job_t* j, const char* sums, char* y, const int64_t* offsets, int64_t count,
                  const tt_conv_run_t* runs, int64_t run_count) {
  const size_t eb = j->y_bytes, ab = j->p->acc_bytes;
  if (run_count * 2 <= count) {
    for (; run_count > 0; --run_count, ++runs) {
      char* to = y + runs->x * (int64_t)eb;
      const char* from = sums + (size_t)runs->column * ab;
      if (j->narrow) j->narrow(to, from, (size_t)runs->size);
      else memcpy(to, from, (size_t)runs->size * eb);
    }
    return;
  }
  char part[TT_CONV_MAX_NR * 8];
  for (int64_t i = 0; i < count; i += TT_CONV_MAX_NR, offsets += TT_CONV_MAX_NR) {
    const int64_t n = TT_MIN(count - i, TT_CONV_MAX_NR);
    const char* from = sums + (size_t)i * ab;
    if (j->narrow) {
      j->narrow(part, from, (size_t)n);
      from = part;
    }
    if (eb == 4) {
      for (int64_t a = 0; a < n; ++a) ((uint32_t*)y)[offsets[a]] = ((const uint32_t*)from)[a];
    } else if (eb == 2) {
      for (int64_t a = 0; a < n; ++a) ((uint16_t*)y)[offsets[a]] = ((const uint16_t*)from)[a];
    } else {
      for (int64_t a = 0; a < n; ++a) ((uint64_t*)y)[offsets[a]] = ((const uint64_t*)from)[a];
    }
  }
}
static bool adjacent(const int64_t* offsets, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    if (offsets[i] != offsets[0] + i) return false;
  }
  return true;
}
// Runs of k in [first, first + count).
static int64_t find_k_runs(const tt_conv_plan_t* p, int64_t first, int64_t count, tt_conv_run_t* runs) {
  int64_t offsets[TT_CONV_KC], found = 0;
  for (int64_t at = 0; at < count; at += TT_CONV_KC) {
    const int64_t n = TT_MIN(count - at, TT_CONV_KC);
    tt_conv_offsets(p, first + at, n, offsets);
    found = find_runs(offsets, n, at, runs, found);
  }
  return found;
}
static const tt_conv_run_t* k_runs(const job_t* j, int64_t first, int64_t count, tt_conv_run_t* own,
                                   int64_t* out_count) {
  *out_count = j->run_count;
  if (j->p->k_blocks == 1) return j->runs;
  *out_count = find_k_runs(j->p, first, count, own);
  return own;
}
static const int64_t* k_offsets(const job_t* j, int64_t first, int64_t count, int64_t* own) {
  if (j->p->kind == TT_CONV_DIRECT) return (const int64_t*)(j->scratch + j->p->offsets_at) + first;
  if (j->p->k_blocks == 1) return j->offsets;
  tt_conv_offsets(j->p, first, count, own);
  return own;
}

// ---- tasks --------------------------------------------------------------------------------------------
typedef struct block_s {  // columns of a GEMM task
  int64_t first, last, panels;
  int64_t x[8 * TT_CONV_MAX_NR], y[8 * TT_CONV_MAX_NR];
  tt_conv_run_t runs[8 * TT_CONV_MAX_NR];  // of panel i: from i * nr
  int64_t run_count[8];
  bool in_result[8];
  tt_conv_run_t
      y_runs[8 * TT_CONV_MAX_NR];  // panel i: from i * nr; of the whole block when results are narrowed
  int64_t y_run_count[8];
} block_t;
static void find_block(const job_t* j, int64_t block, block_t* b) {
  const tt_conv_plan_t* p = j->p;
  const int64_t panels = (j->columns + p->nr - 1) / p->nr;  // in nearly equal blocks
  b->first = panels * block / j->blocks * p->nr;
  b->last = TT_MIN(panels * (block + 1) / j->blocks * p->nr, j->columns);
  b->panels = (b->last - b->first + p->nr - 1) / p->nr;
  tt_conv_columns(p, b->first, b->last - b->first, b->x, b->y);
  for (int64_t i = 0; i < b->panels; ++i) {
    const int64_t cols = TT_MIN(p->nr, b->last - b->first - i * p->nr);
    b->in_result[i] = !j->narrow && adjacent(b->y + i * p->nr, cols);
    if (!j->narrow && !b->in_result[i])
      b->y_run_count[i] = find_runs(b->y + i * p->nr, cols, 0, b->y_runs + i * p->nr, 0);
    if (!p->along_k) b->run_count[i] = find_runs(b->x + i * p->nr, cols, 0, b->runs + i * p->nr, 0);
  }
  if (j->narrow) b->y_run_count[0] = find_runs(b->y, b->last - b->first, 0, b->y_runs, 0);
}
// A panel of columns from bf16 or f16 that are read where they lie.
static void pack_halves(const job_t* j, char* to, const char* x, int64_t depth, const tt_conv_run_t* runs,
                        int64_t run_count) {
  const tt_conv_plan_t* p = j->p;
  if (run_count == 1) {
    j->x_pack(to, p->nr, x + runs->x * 2, 1, p->s_c, runs->size, depth);
    return;
  }
  const int64_t used = runs[run_count - 1].column + runs[run_count - 1].size;
  for (int64_t k = 0; k < depth; ++k, x += p->s_c * 2, to += p->nr * 4) {
    for (int64_t r = 0; r < run_count; ++r)
      j->pad_rows(to + runs[r].column * 4, 1, 0, x + runs[r].x * 2, 0, runs[r].size, runs[r].size);
    if (used < p->nr) memset(to + used * 4, 0, (size_t)(p->nr - used) * 4);
  }
}
// The caller's loop on `rows` channels of a block's columns, which are final. `first`: element of y that the
// channels and the offsets of the columns start from.
static void finished(const job_t* j, const block_t* b, int64_t first, int64_t rows) {
  const tt_k_epilogue_t* e = j->epilogue;
  const int64_t count = b->last - b->first, step = count > 1 ? b->y[1] - b->y[0] : rows;
  if (j->p->y_o == 1) {  // channels next to each other, columns evenly spread
    for (int64_t i = 0; i < count;) {
      int64_t n = 1;
      while (i + n < count && b->y[i + n] - b->y[i + n - 1] == step) ++n;
      e->run(e->self, first + b->y[i], n, step, rows);
      i += n;
    }
    return;
  }
  for (int64_t i = 0; i < count;) {
    int64_t n = 1;
    while (i + n < count && b->y[i + n] == b->y[i] + n) ++n;
    e->run(e->self, first + b->y[i], rows, j->p->y_o, n);
    i += n;
  }
}
// The panels of a block of columns for the kb-th block of k.
static void pack_block(const job_t* j, const block_t* b, int64_t g, int64_t kb, char* panels) {
  const tt_conv_plan_t* p = j->p;
  const int64_t es = (int64_t)p->acc_bytes, nr = p->nr, k = kb * p->kc, depth = TT_MIN(p->kc, p->k - k);
  const size_t stride = p->b_panel;
  const char *image = j->image + g * p->s_g * es, *halves = j->image + g * p->s_g * 2;
  if (depth == 0) return;
  if (p->along_k) {
    tt_conv_run_t own[TT_CONV_KC];
    int64_t count;
    const tt_conv_run_t* runs = k_runs(j, k, depth, own, &count);
    for (int64_t i = 0; i < b->panels; ++i, panels += stride) {
      const int64_t cols = TT_MIN(nr, b->last - b->first - i * nr);
      if (p->halves) {  // columns evenly spread
        for (int64_t r = 0; r < count; ++r) {
          j->x_pack(panels + (size_t)(runs[r].column * nr * es), nr, halves + (b->x[i * nr] + runs[r].x) * 2,
                    p->s_n, 1, cols, runs[r].size);
        }
        continue;
      }
      p->lanes->pack_columns(panels, nr, image, runs, count, b->x + i * nr, cols);
    }
    return;
  }
  int64_t own[TT_CONV_KC];
  const int64_t* offsets = k_offsets(j, k, depth, own);
  for (int64_t i = 0; i < b->panels; ++i, panels += stride) {
    if (p->halves) pack_halves(j, panels, halves + offsets[0] * 2, depth, b->runs + i * nr, b->run_count[i]);
    else p->lanes->pack_rows(panels, nr, image, offsets, depth, b->runs + i * nr, b->run_count[i]);
  }
}
static char* shared_panels(const job_t* j, int64_t g, int64_t block, int64_t kb) {
  const tt_conv_plan_t* p = j->p;
  return j->scratch + p->shared_at +
         (size_t)(((g * j->blocks + block) * p->k_blocks + kb) * p->block) * p->b_panel;
}
// Units: (group, block of columns, block of k).
static void pack_shared(void* self, int64_t begin, int64_t end) {
  const job_t* j = self;
  const int64_t k_blocks = j->p->k_blocks;
  block_t b;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t kb = unit % k_blocks, block = unit / k_blocks % j->blocks, g = unit / k_blocks / j->blocks;
    if (unit == begin || kb == 0) find_block(j, block, &b);
    pack_block(j, &b, g, kb, shared_panels(j, g, block, kb));
  }
}
typedef struct gemm_task_s {
  const job_t* j;
  block_t b;
  k_dims_t dims;
  int64_t g, o_first, kb_first, split;
  char *tile, *late, *y;
} gemm_task_t;
// Adds the kb-th block of k to the results of a panel of output channels.
static void multiply(const gemm_task_t* t, int64_t o, int64_t kb, const char* panel) {
  const job_t* j = t->j;
  const tt_conv_plan_t* p = j->p;
  const block_t* b = &t->b;
  const int64_t es = (int64_t)p->acc_bytes, nr = p->nr, tile_rs = p->block * nr;
  const int64_t k = kb * p->kc, depth = TT_MIN(p->kc, p->k - k);
  const int64_t rows = TT_MIN(p->width, p->oc - o * p->width);
  const int64_t at = p->w_base + t->g * p->w_g + o * p->width * p->w_o + k;  // where k is dense
  int64_t a_rs = 0;  // 0: packed
  const char* a = t->late;
  if (p->w_in_place) {
    a = j->w + at * es;
    a_rs = p->w_o;
  } else if (p->w_rows) {
    j->w_rows(t->late, rows, 0, j->w + at * (int64_t)j->w_bytes, p->w_o, depth, depth);
    a_rs = depth;
  } else if (p->pack_late) {
    pack_panel(j, &t->dims, t->g * p->panels + o, k, depth, t->late);
  } else {
    a = j->scratch + p->w_at + (size_t)(t->g * p->panels + o) * p->panel_bytes + (size_t)(k * p->width * es);
  }
  const size_t stride = p->b_panel;
  for (int64_t i = 0; i < b->panels; ++i, panel += stride) {
    const int64_t cols = TT_MIN(nr, b->last - b->first - i * nr);
    char* c = t->tile + ((o - t->o_first) * p->width * tile_rs + i * nr) * es;
    int64_t c_rs = tile_rs;
    if (p->splits > 1) {
      c = j->scratch + p->part_at + (size_t)t->split * p->part_bytes +
          ((t->g * p->oc + o * p->width) * p->columns + b->first + i * nr) * es;
      c_rs = p->columns;
    } else if (b->in_result[i]) {
      c = t->y + (o * p->width * p->y_o + b->y[i * nr]) * es;
      c_rs = p->y_o;
    }
    if (a_rs) p->kernel->run_strided(depth, a, a_rs, 1, panel, nr, c, c_rs, rows, cols, kb > t->kb_first);
    else p->kernel->run(depth, a, panel, c, c_rs, rows, cols, kb > t->kb_first);
  }
}
static void gemm_task(void* self, size_t slot, size_t task) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  const int64_t tasks = p->oc_blocks * j->blocks, rest = (int64_t)task / tasks, at = (int64_t)task % tasks;
  const int64_t oc_block = p->oc_outer ? at / j->blocks : at % p->oc_blocks;
  const int64_t block = p->oc_outer ? at % j->blocks : at / p->oc_blocks;
  const int64_t g = rest % p->groups, split = rest / p->groups;
  const int64_t es = (int64_t)p->acc_bytes, nr = p->nr;
  const int64_t o_first = oc_block * p->oc_block, o_last = TT_MIN(o_first + p->oc_block, p->panels);
  const int64_t kb_first = split * p->k_blocks / p->splits, kb_last = (split + 1) * p->k_blocks / p->splits;
  char* panels = j->scratch + p->slot_at + slot * p->slot_bytes;
  char *tile = panels + p->tile_at, *late = panels + p->a_at;
  char* y = j->y + (p->y_base + j->first * p->y_n + g * p->y_g) * (int64_t)j->y_bytes;
  const int64_t tile_rs = p->block * nr;
  gemm_task_t t;  // field by field: the block is large
  t.j = j;
  t.dims = k_dims_of(p);
  t.g = g;
  t.o_first = o_first;
  t.kb_first = kb_first;
  t.split = split;
  t.tile = tile;
  t.late = late;
  t.y = y;
  block_t* b = &t.b;
  find_block(j, block, b);
  if (p->shared) {  // rows of weights are read from end to end
    for (int64_t o = o_first; o < o_last; ++o) {
      for (int64_t kb = kb_first; kb < kb_last; ++kb) multiply(&t, o, kb, shared_panels(j, g, block, kb));
    }
  } else {
    for (int64_t kb = kb_first; kb < kb_last; ++kb) {
      pack_block(j, b, g, kb, panels);
      for (int64_t o = o_first; o < o_last; ++o) multiply(&t, o, kb, panels);
    }
  }
  if (p->splits > 1) return;
  const int64_t rows = TT_MIN(o_last * p->width, p->oc) - o_first * p->width;
  if (j->narrow) {  // no panel is in the result: whole rows
    for (int64_t r = 0; r < rows; ++r) {
      store(j, tile + r * tile_rs * es, y + (o_first * p->width + r) * p->y_o * (int64_t)j->y_bytes, b->y,
            b->last - b->first, b->y_runs, b->y_run_count[0]);
    }
  }
  for (int64_t i = 0; i < b->panels && !j->narrow; ++i) {
    if (b->in_result[i]) continue;
    const int64_t cols = TT_MIN(nr, b->last - b->first - i * nr);
    for (int64_t r = 0; r < rows; ++r) {
      store(j, tile + (r * tile_rs + i * nr) * es,
            y + (o_first * p->width + r) * p->y_o * (int64_t)j->y_bytes, b->y + i * nr, cols,
            b->y_runs + i * nr, b->y_run_count[i]);
    }
  }
  if (j->epilogue)
    finished(j, b, p->y_base + j->first * p->y_n + g * p->y_g + o_first * p->width * p->y_o, rows);
}
// Adds the splits' sums of channels, in the splits' order.
static void add_splits(void* self, int64_t begin, int64_t end) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  for (int64_t row = begin; row < end; ++row) {
    char* sums = j->scratch + p->part_at + (size_t)(row * p->columns) * p->acc_bytes;
    for (int64_t s = 1; s < p->splits; ++s) p->lanes->add(sums, sums + (size_t)s * p->part_bytes, p->columns);
    char* y = j->y + (p->y_base + row * p->y_o) * (int64_t)j->y_bytes;  // groups' channels follow each other
    int64_t x_offsets[8 * TT_CONV_MAX_NR], y_offsets[8 * TT_CONV_MAX_NR];
    tt_conv_run_t runs[8 * TT_CONV_MAX_NR];
    for (int64_t at = 0; at < p->columns; at += 8 * TT_CONV_MAX_NR) {
      const int64_t n = TT_MIN(p->columns - at, 8 * TT_CONV_MAX_NR);
      tt_conv_columns(p, at, n, x_offsets, y_offsets);
      store(j, sums + (size_t)at * p->acc_bytes, y, y_offsets, n, runs, find_runs(y_offsets, n, 0, runs, 0));
    }
  }
}

static void direct_group(const job_t* j, size_t slot, int64_t g, int64_t block) {
  const tt_conv_plan_t* p = j->p;
  const int64_t es = (int64_t)p->acc_bytes;
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
      if (p->d[2].ys == 1) {
        j->narrow(row, tile + r * p->segment * es, (size_t)count);
        continue;
      }
      for (int64_t i = 0; i < count; i += TT_CONV_MAX_NR) {
        int64_t offsets[TT_CONV_MAX_NR];
        const int64_t n = TT_MIN(count - i, TT_CONV_MAX_NR);
        for (int64_t a = 0; a < n; ++a) offsets[a] = (i + a) * p->d[2].ys;
        store(j, tile + (r * p->segment + i) * es, row, offsets, n, NULL, n);
      }
    }
  }
}

static void dots_group(const job_t* j, size_t slot, int64_t g, int64_t block) {
  const tt_conv_plan_t* p = j->p;
  const int64_t es = (int64_t)p->acc_bytes;
  char* tile = j->scratch + p->slot_at + slot * p->slot_bytes;
  const int64_t first = block * p->nr, count = TT_MIN(p->nr, j->columns - first);
  int64_t x_offsets[TT_CONV_MAX_NR], y_offsets[TT_CONV_MAX_NR];
  tt_conv_run_t own[TT_CONV_MAX_RUNS];
  tt_conv_columns(p, first, count, x_offsets, y_offsets);
  char* y = j->y + (p->y_base + j->first * p->y_n + g * p->y_g) * (int64_t)j->y_bytes;
  for (int64_t kb = 0; kb < p->k_blocks; ++kb) {
    const int64_t k = kb * p->kc, depth = TT_MIN(p->kc, p->k - k);
    int64_t run_count;
    const tt_conv_run_t* runs = k_runs(j, k, depth, own, &run_count);
    for (int64_t r = 0; r < p->oc; ++r) {
      const char* w = j->scratch + p->w_at + (size_t)(g * p->panels + r) * p->panel_bytes + (size_t)(k * es);
      p->lanes->dots(j->image + g * p->s_g * es, runs, run_count, x_offsets, count, w,
                     tile + r * TT_CONV_MAX_NR * es, kb > 0);
    }
  }
  tt_conv_run_t runs[TT_CONV_MAX_NR];
  const int64_t run_count = find_runs(y_offsets, count, 0, runs, 0);
  for (int64_t r = 0; r < p->oc; ++r) {
    store(j, tile + r * TT_CONV_MAX_NR * es, y + r * p->y_o * (int64_t)j->y_bytes, y_offsets, count, runs,
          run_count);
  }
}

static void group_task(void* self, size_t slot, size_t task) {
  const job_t* j = self;
  const tt_conv_plan_t* p = j->p;
  const int64_t block = (int64_t)task % j->blocks, first = (int64_t)task / j->blocks * p->group_block;
  const int64_t last = TT_MIN(first + p->group_block, p->groups);
  for (int64_t g = first; g < last; ++g) {
    if (p->kind == TT_CONV_DIRECT) direct_group(j, slot, g, block);
    else dots_group(j, slot, g, block);
  }
}

static tt_conv_pad_fn_t rows_of(const tt_conv_plan_t* p, tt_dtype_t dtype) {
  return dtype == TT_DTYPE_BF16  ? p->lanes->pad_rows_bf16
         : dtype == TT_DTYPE_F16 ? p->lanes->pad_rows_f16
                                 : p->lanes->pad_rows;
}
static tt_status_t run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                       const tt_k_tensor_t* y, size_t ny) {
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
    job.epilogue = NULL;
    if (env->epilogue && phases == 1 && p->kind == TT_CONV_GEMM && p->splits == 1) {
      env->epilogue->taken = true;
      job.epilogue = env->epilogue;
    }
    job.pad_rows = rows_of(p, p->x_dtype);
    job.w_rows = rows_of(p, p->w_dtype);
    job.narrow = p->y_dtype == p->acc                                   ? NULL
                 : p->y_dtype == TT_DTYPE_BF16 && p->lanes->narrow_bf16 ? p->lanes->narrow_bf16
                                                                        : tt_k_convert(p->acc, p->y_dtype);
    tt_pool_t* pool = p->serial ? NULL : env->pool;
    if (p->k && !p->w_in_place && !p->pack_late) pack_weights(pool, &job);
    if (p->kind == TT_CONV_DIRECT) {  // tasks are small: the offsets of all k are found once
      tt_conv_offsets(p, 0, p->k, (int64_t*)(job.scratch + p->offsets_at));
    } else if (p->k_blocks == 1) {
      if (p->along_k) job.run_count = find_k_runs(p, 0, p->k, job.runs);
      else tt_conv_offsets(p, 0, p->k, job.offsets);
    }
    for (int64_t first = 0; first < p->n; first += p->chunk) {
      job.first = first;
      job.images = TT_MIN(p->chunk, p->n - first);
      job.columns = job.images * p->d[0].out * p->d[1].out * p->d[2].out;
      if (p->in_place) {
        job.image = job.x + (p->s_base + first * p->s_n) * (int64_t)job.x_bytes;
      } else {
        job.image = job.scratch + p->x_at;
        const int64_t planes = (p->x_total_n == p->n ? job.images : p->x_total_n) * p->x_total_c;
        const int64_t volume = p->s_0 * p->d[0].extent;
        tt_k_parallel(pool, planes, pool ? TT_MAX(1, 32768 / volume) : planes, copy_planes, &job);
      }
      if (p->kind == TT_CONV_GEMM) {
        job.blocks = ((job.columns + p->nr - 1) / p->nr + p->block - 1) / p->block;
        const int64_t units = p->groups * job.blocks * p->k_blocks;
        if (p->shared) tt_k_parallel(pool, units, pool ? 1 : units, pack_shared, &job);
        tt_gemm_tasks(pool, (size_t)(p->splits * p->groups * job.blocks * p->oc_blocks), gemm_task, &job);
        if (p->splits > 1) {
          const int64_t rows = p->groups * p->oc;
          tt_k_parallel(pool, rows, pool ? TT_MAX(1, 32768 / (p->columns * p->splits)) : rows, add_splits,
                        &job);
        }
        continue;
      }
      if (p->kind == TT_CONV_DIRECT) {
        const int64_t parts = (p->block + p->segment - 1) / p->segment,
                      segments = job.columns / p->block * parts;
        job.blocks = (segments + p->nr - 1) / p->nr;
      } else {
        job.blocks = (job.columns + p->nr - 1) / p->nr;
      }
      tt_gemm_tasks(pool, (size_t)((p->groups + p->group_block - 1) / p->group_block * job.blocks),
                    group_task, &job);
    }
  }
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_conv_table[] = {
    {.name = "tt_k_float_convolution_packed__avx2",
     .kind = TT_OP_CONVOLUTION,
     .isa = TT_ISA_AVX2,
     .strided_operands = 3,
     .epilogue = true,
     .supports = supports,
     .encode = encode,
     .scratch_bytes = scratch_bytes,
     .run = run},
    {0},
};
