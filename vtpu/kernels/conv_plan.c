// From attributes and shapes to a plan; see conv_plan.h.
#include "kernels/conv_plan.h"

#include "kernels/dot_ref.h"

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t tt_conv_phases(const tt_conv_blob_t* p) {
  int64_t phases = 1;
  for (int i = 0; i < p->spatial; ++i) phases *= p->lhs_dilation[i] / gcd(p->stride[i], p->lhs_dilation[i]);
  return phases;
}

// One residue of the outputs along a dim: the kernel places that meet input elements, as a dim without base dilation.
// Outputs r + q * period read place (r + q * period) * stride + k * dilation - low, an element when lhs_dilation divides
// it: that fixes k modulo k_period.
static void phase_dim(tt_conv_dim_t* d, int64_t lhs_dilation, int64_t residue, tt_conv_plan_t* p) {
  if (lhs_dilation == 1) return;
  const int64_t period = lhs_dilation / gcd(d->step, lhs_dilation),
                k_period = lhs_dilation / gcd(d->dilation, lhs_dilation);
  int64_t k = 0;
  while (k < k_period && (residue * d->step + k * d->dilation - d->low) % lhs_dilation != 0) ++k;
  d->out = d->out > residue ? ceil_div(d->out - residue, period) : 0;
  d->ker = k < k_period && d->ker > k ? ceil_div(d->ker - k, k_period) : 0;
  p->y_base += residue * d->ys;
  p->w_base += k * d->ws;
  d->low = d->ker ? -((residue * d->step + k * d->dilation - d->low) / lhs_dilation) : 0;
  d->step = period * d->step / lhs_dilation;
  d->dilation = k_period * d->dilation / lhs_dilation;
  d->ys *= period;
  d->ws *= k_period;
}

// Drops a factor that all places share; places of a dim with one output or one kernel element are made adjacent.
static void normalise(tt_conv_dim_t* d) {
  d->scale = d->ker <= 1 ? d->step : d->out <= 1 ? d->dilation : gcd(d->step, d->dilation);
  if (d->ker <= 1) {
    d->step = d->dilation = 1;
  } else if (d->out <= 1) {
    d->step = d->dilation = 1;
  } else {
    d->step /= d->scale;
    d->dilation /= d->scale;
  }
  d->extent = d->out && d->ker ? (d->out - 1) * d->step + (d->ker - 1) * d->dilation + 1 : 0;
}

// How many neighbours lie next to each other, from the innermost dim outwards; sizes[4], strides[4].
static int64_t run_of(const int64_t* sizes, const int64_t* strides) {
  int64_t run = 1;
  for (int i = 3; i >= 0; --i) {
    if (sizes[i] == 1) continue;
    if (strides[i] != run) break;
    run *= sizes[i];
  }
  return run;
}
static int64_t k_run(const tt_conv_plan_t* p) {
  const tt_conv_dim_t* d = p->d;
  return run_of((int64_t[]){p->ic, d[0].ker, d[1].ker, d[2].ker},
                (int64_t[]){p->s_c, p->s_0 * d[0].dilation, p->s_1 * d[1].dilation, p->s_2 * d[2].dilation});
}
static int64_t column_run(const tt_conv_plan_t* p) {
  const tt_conv_dim_t* d = p->d;
  return run_of((int64_t[]){p->n, d[0].out, d[1].out, d[2].out},
                (int64_t[]){p->s_n, p->s_0 * d[0].step, p->s_1 * d[1].step, p->s_2 * d[2].step});
}

// Where the image is read, and in which direction. Returns the bytes of a copy of it.
static size_t plan_image(tt_conv_plan_t* p, bool feature_groups, tt_conv_force_t force) {
  tt_conv_dim_t* d = p->d;
  // DIRECT and DOTS sum in different orders: the choice is made by shape alone, so that strides do not change results
  const bool few = p->oc <= TT_CONV_MAX_DIRECT, by_shape = d[2].ker > d[2].out;
  // halves are read in place where tt_gemm_pack can widen them: without a kernel extent, or without an output extent
  const bool no_kernel = d[0].ker * d[1].ker * d[2].ker == 1, no_output = d[0].out * d[1].out * d[2].out == 1;
  bool inside = p->x_dtype == p->acc || (!few && (no_kernel || no_output));
  for (int i = 0; i < TT_CONV_SPACE; ++i) {
    inside = inside && d[i].low <= 0 && (d[i].extent - 1) * d[i].scale - d[i].low < d[i].in;
  }
  p->chunk = p->n;
  p->residues = 1;
  if (force == TT_CONV_IN_PLACE_COLUMNS || force == TT_CONV_IN_PLACE_K) {
    p->in_place = true;
    p->along_k = few ? by_shape : force == TT_CONV_IN_PLACE_K;
    return 0;
  }
  if (inside && force != TT_CONV_COPY) {
    p->s_n = p->x_n, p->s_c = p->x_c, p->s_g = p->x_g;
    p->s_0 = d[0].scale * d[0].xs, p->s_1 = d[1].scale * d[1].xs, p->s_2 = d[2].scale * d[2].xs;
    p->s_base = p->x_base - d[0].low * d[0].xs - d[1].low * d[1].xs - d[2].low * d[2].xs;
    const int64_t along_k = k_run(p), along_columns = column_run(p);
    p->along_k = few ? by_shape : along_k > along_columns;
    const bool halves = p->x_dtype != p->acc;
    // short runs: a copy may make longer ones
    if ((p->along_k ? along_k : along_columns) >= TT_MIN(TT_MAX(d[2].out, d[2].ker), 8) &&
        (!halves || (p->along_k ? no_output : no_kernel))) {
      p->in_place = true;
      p->halves = halves;
      return 0;
    }
  }
  p->along_k = by_shape;
  p->residues = p->along_k ? d[2].dilation : d[2].step;
  p->plane = ceil_div(d[2].extent, p->residues);
  p->s_2 = 1;
  p->s_1 = p->residues * p->plane;
  p->s_0 = p->s_1 * d[1].extent;
  p->s_base = 0;
  const int64_t volume = p->s_0 * d[0].extent;
  const size_t image = (size_t)(volume * p->x_total_c) * p->acc_bytes;
  // a chunk of images that stays in the L2 while it is used
  int64_t n = p->x_total_n;
  if (!p->along_k && p->x_total_n == p->n)
    n = p->chunk = TT_MAX(1, TT_MIN(p->n, (int64_t)((size_t)(3 << 20) / TT_MAX(1, image))));
  if (p->chunk < p->n) p->chunk = ceil_div(p->n, ceil_div(p->n, p->chunk)), n = p->chunk;
  if (p->x_n < p->x_c) {
    p->s_n = volume;
    p->s_c = volume * n;
  } else {
    p->s_c = volume;
    p->s_n = volume * p->x_total_c;
  }
  p->s_g = feature_groups ? p->ic * p->s_c : p->n * p->s_n;
  return (size_t)(volume * p->x_total_c * n) * p->acc_bytes;
}

static void plan_tasks(tt_conv_plan_t* p) {
  p->k_blocks = TT_MAX(1, ceil_div(p->k, p->kind == TT_CONV_DOTS ? TT_CONV_KC_DOTS : TT_CONV_KC));
  if (p->kind == TT_CONV_DOTS) {  // a row of k is one run; a block may end within two more
    p->k_blocks = TT_MAX(p->k_blocks, ceil_div(p->ic * p->d[0].ker * p->d[1].ker, TT_CONV_MAX_RUNS - 2));
  }
  p->kc = ceil_div(p->k, p->k_blocks);
  const int64_t columns = p->chunk * p->d[0].out * p->d[1].out * p->d[2].out;  // a pass
  const double work = (double)p->groups * (double)p->oc * (double)columns * (double)(p->k + 4);
  p->serial = work < 750e3;
  p->panels = ceil_div(p->oc, p->width);
  p->group_block = p->splits = 1;
  if (p->kind == TT_CONV_GEMM) {
    const int64_t panels = ceil_div(columns, p->nr);
    const double panel_work = (double)p->nr * (double)p->oc * (double)(p->k + 4);
    int64_t block = TT_MAX(panels * p->groups / 16, panels < 4 ? panels : 1);
    block = TT_MAX(block, (int64_t)TT_MIN(262144.0 / panel_work + 1, 8.0));
    // weights past the L2: more columns a task, so that fewer tasks read them
    const bool large = (double)p->oc * (double)p->k * (double)p->acc_bytes > (double)(2 << 20);
    if (large) block = TT_MAX(block, 2);
    // a long k is split instead of the columns: the blocks of weights are read by fewer tasks
    if (p->along_k && p->k_blocks >= 4) block = ceil_div(panels, ceil_div(panels, 8));
    p->block = TT_MIN(TT_MIN(block, 8), panels);
    p->blocks = ceil_div(panels, p->block);
    if (p->along_k && p->k_blocks >= 4) {
      p->splits = TT_MAX(1, TT_MIN(ceil_div(16, p->groups * p->blocks), p->k_blocks / 2));
    }
    const int64_t tasks = p->groups * p->blocks * p->splits, least = p->along_k ? 8 : large ? 6 : 3;
    int64_t oc_blocks = 1;
    if (tasks < 12) oc_blocks = TT_MAX(1, TT_MIN(ceil_div(12, tasks), p->panels / least));
    p->oc_block = ceil_div(p->panels, oc_blocks);
    // the tile of sums a task may need stays within the L2
    while (p->oc_block > 4 &&
           (size_t)(p->oc_block * p->width * p->block * p->nr) * p->acc_bytes > (512 << 10)) {
      p->oc_block = ceil_div(p->oc_block, 2);
    }
    p->oc_blocks = ceil_div(p->panels, p->oc_block);
    return;
  }
  p->oc_block = p->panels;
  p->oc_blocks = 1;
  if (p->kind == TT_CONV_DIRECT) {
    const tt_conv_dim_t* d = p->d;
    // rows of columns adjacent in image and result alike
    int64_t row = d[2].out, places = d[1].step * p->s_1;
    if (places == row && d[1].ys == row * d[2].ys) {
      row *= d[1].out;
      if (d[0].step * p->s_0 == row && d[0].ys == row * d[2].ys) row *= d[0].out;
    }
    const int64_t parts = ceil_div(row, 2048);
    p->segment = ceil_div(row, parts);
    p->segments = columns / row * parts;
    p->block = row;  // columns a row
    const double segment_work = (double)p->segment * (double)p->oc * (double)(p->k + 4);
    int64_t each = (int64_t)TT_MIN(131072.0 / segment_work + 1, (double)p->segments);  // segments a task
    p->nr = TT_MAX(each, 1);
    p->blocks = ceil_div(p->segments, p->nr);
    if (p->blocks == 1)
      p->group_block =
          TT_MAX(1, (int64_t)TT_MIN(131072.0 / (segment_work * (double)p->segments), (double)p->groups));
  } else {
    const double column_work = (double)p->oc * (double)(p->k + 4);
    p->nr = TT_MIN((int64_t)TT_CONV_MAX_NR, (int64_t)TT_MIN(131072.0 / column_work + 1, (double)columns));
    p->nr = TT_MIN(ceil_div(p->nr, 4) * 4, (int64_t)TT_CONV_MAX_NR);
    p->block = 1;
    p->blocks = ceil_div(columns, p->nr);
    if (p->blocks == 1)
      p->group_block =
          TT_MAX(1, (int64_t)TT_MIN(131072.0 / (column_work * (double)columns), (double)p->groups));
  }
}

size_t tt_conv_scratch_bytes(const tt_conv_blob_t* b, int threads, const tt_k_tensor_t* x,
                             const tt_k_tensor_t* y) {
  size_t most = 0;
  const int64_t phases = tt_conv_phases(b);
  for (int64_t phase = 0; phase < phases; ++phase) {
    for (int force = TT_CONV_IN_PLACE_COLUMNS; force <= TT_CONV_COPY; ++force) {
      tt_conv_plan_t plan;
      if (tt_conv_plan(b, phase, threads, x, y, (tt_conv_force_t)force, &plan))
        most = TT_MAX(most, plan.total);
    }
  }
  return most;
}

bool tt_conv_plan(const tt_conv_blob_t* b, int64_t phase, int threads, const tt_k_tensor_t* x,
                  const tt_k_tensor_t* y, tt_conv_force_t force, tt_conv_plan_t* p) {
  memset(p, 0, sizeof *p);
  p->x_dtype = x[0].dtype;
  p->w_dtype = x[1].dtype;
  p->y_dtype = y->dtype;
  p->acc = tt_k_accumulator(x[0].dtype, x[1].dtype, y->dtype);
  p->acc_bytes = tt_dtype_bytes(p->acc);
  p->kernel = tt_gemm_kernel(p->acc);
  const tt_conv_isa_t* isa = tt_k_isa() >= TT_ISA_AVX512 ? &tt_conv_isa__avx512 : &tt_conv_isa__avx2;
  p->lanes = p->acc == TT_DTYPE_F64 ? &isa->f64 : &isa->f32;
  int64_t xs[TT_MAX_RANK], ws[TT_MAX_RANK], ys[TT_MAX_RANK];
  tt_k_strides(x, xs);
  tt_k_strides(x + 1, ws);
  tt_k_strides(y, ys);
  p->groups = b->feature_groups * b->batch_groups;
  p->x_total_n = x[0].dims[b->input[0]];
  p->x_total_c = x[0].dims[b->input[1]];
  p->n = y->dims[b->output[0]];
  p->ic = x[1].dims[b->kernel[1]];
  p->oc = x[1].dims[b->kernel[0]] / p->groups;
  p->x_n = xs[b->input[0]];
  p->x_c = xs[b->input[1]];
  p->x_g = b->feature_groups > 1 ? p->ic * p->x_c : p->n * p->x_n;
  p->w_o = ws[b->kernel[0]];
  p->w_c = ws[b->kernel[1]];
  p->w_g = p->oc * p->w_o;
  p->y_n = ys[b->output[0]];
  p->y_o = ys[b->output[1]];
  p->y_g = p->oc * p->y_o;
  const int fill = TT_CONV_SPACE - (int)b->spatial;
  for (int i = 0; i < TT_CONV_SPACE; ++i) {
    tt_conv_dim_t* d = p->d + i;
    if (i < fill) {
      *d = (tt_conv_dim_t){.in = 1, .out = 1, .ker = 1, .step = 1, .dilation = 1};
    } else {
      const int at = i - fill;
      *d = (tt_conv_dim_t){x[0].dims[b->input[2 + at]],
                           y->dims[b->output[2 + at]],
                           x[1].dims[b->kernel[2 + at]],
                           b->stride[at],
                           b->rhs_dilation[at],
                           1,
                           b->low[at],
                           xs[b->input[2 + at]],
                           ws[b->kernel[2 + at]],
                           ys[b->output[2 + at]],
                           0};
      if (b->reversal[at] && d->ker) {
        p->w_base += (d->ker - 1) * d->ws;
        d->ws = -d->ws;
      }
      const int64_t period = b->lhs_dilation[at] / gcd(b->stride[at], b->lhs_dilation[at]);
      phase_dim(d, b->lhs_dilation[at], phase % period, p);
      phase /= period;
    }
    normalise(d);
  }
  p->k = p->ic * p->d[0].ker * p->d[1].ker * p->d[2].ker;
  p->columns = p->n * p->d[0].out * p->d[1].out * p->d[2].out;
  if (p->columns == 0 || p->oc == 0 || p->groups == 0) return false;
  if (p->x_total_n == 0 || p->x_total_c == 0 || p->d[0].in == 0 || p->d[1].in == 0 || p->d[2].in == 0)
    p->k = 0;
  size_t image_bytes = 0;
  if (p->k == 0) {  // zeros only
    p->in_place = true;
    p->residues = 1;
    p->chunk = p->n;
  } else {
    image_bytes = plan_image(p, b->feature_groups > 1, force);
  }
  p->kind = p->k == 0 || p->oc > TT_CONV_MAX_DIRECT ? TT_CONV_GEMM
            : p->along_k                            ? TT_CONV_DOTS
                                                    : TT_CONV_DIRECT;
  p->nr = p->kernel->nr;
  p->width = p->kind == TT_CONV_GEMM ? p->kernel->mr : p->kind == TT_CONV_DIRECT ? p->oc : 1;
  plan_tasks(p);
  const int64_t w_run = run_of((int64_t[]){p->ic, p->d[0].ker, p->d[1].ker, p->d[2].ker},
                               (int64_t[]){p->w_c, p->d[0].ws, p->d[1].ws, p->d[2].ws});
  if (!force && p->kind == TT_CONV_GEMM && p->w_dtype == p->acc && p->groups * p->columns <= 4 * p->nr &&
      p->k > 0) {
    // rows a multiple of 4 KiB apart would share their cache sets
    p->w_in_place = w_run == p->k && (p->w_o * (int64_t)p->acc_bytes % 4096 != 0 || p->k < 64);
  }
  p->panel_bytes = tt_align_up((size_t)(p->k * p->width) * p->acc_bytes + TT_GEMM_PACK_SLACK, 64);
  p->w_at = 0;
  const size_t w_bytes = (size_t)(p->groups * p->panels) * p->panel_bytes;
  // packed by the tasks: a long k, whose weights are large and used by few tasks, or weights used once or twice
  const bool long_k = p->kind == TT_CONV_GEMM && p->along_k && p->k_blocks >= 4;
  const bool rarely = p->kind == TT_CONV_GEMM && p->blocks <= 2 && p->k > 0;
  const bool may_pack_late = long_k || rarely;
  p->pack_late = !p->w_in_place &&
                 ((long_k && (p->blocks <= 2 || w_bytes > (4 << 20))) || (rarely && w_run >= 64));
  p->w_rows = p->pack_late && w_run == p->k;
  // A thread begins with neighbouring tasks: it should share the smaller operand with the others.
  p->oc_outer = p->kind == TT_CONV_GEMM && !p->pack_late && p->oc * p->k > p->ic * p->columns;
  p->x_at = p->w_in_place || (p->pack_late && !force) ? 0 : w_bytes;
  p->offsets_at = p->x_at + tt_align_up(image_bytes + 64, 64);
  p->shared_at = p->offsets_at + (p->kind == TT_CONV_DIRECT ? tt_align_up((size_t)p->k * 8, 64) : 0);
  p->b_panel = tt_align_up((size_t)(p->kc * p->nr) * p->acc_bytes + TT_GEMM_PACK_SLACK, 64);
  // packed once for all tasks, unless that goes through memory
  const double shared_bytes =
      (double)p->groups * (double)(p->blocks * p->block) * (double)p->k_blocks * (double)p->b_panel;
  p->shared = p->kind == TT_CONV_GEMM && p->k > 0 && !p->along_k && p->oc_blocks > 1 &&
              shared_bytes <= (double)(8 << 20);
  p->part_at = p->shared_at + (p->shared ? (size_t)shared_bytes : 0);
  p->part_bytes =
      p->splits > 1 ? tt_align_up((size_t)(p->groups * p->oc * p->columns) * p->acc_bytes, 64) : 0;
  p->slot_at = p->part_at + (size_t)p->splits * p->part_bytes;
  // a slot: panels of the image, then sums
  if (p->kind == TT_CONV_GEMM) {
    p->tile_at = p->shared ? 0 : (size_t)p->block * p->b_panel;
    p->a_at =
        p->tile_at + tt_align_up((size_t)(p->oc_block * p->width * p->block * p->nr) * p->acc_bytes, 64);
    p->slot_bytes =
        p->a_at +
        (may_pack_late ? (size_t)(p->oc_block * p->width * p->kc) * p->acc_bytes + TT_GEMM_PACK_SLACK : 0);
  } else {
    p->tile_at = 0;
    p->slot_bytes =
        (size_t)(p->oc * (p->kind == TT_CONV_DIRECT ? p->segment : TT_CONV_MAX_NR)) * p->acc_bytes;
  }
  p->slot_bytes = tt_align_up(p->slot_bytes, 64) + 64;
  p->total = p->slot_at + (size_t)TT_MAX(threads, 1) * p->slot_bytes;
  return true;
}

void tt_conv_columns(const tt_conv_plan_t* p, int64_t first, int64_t count, int64_t* x, int64_t* y) {
  const tt_conv_dim_t* d = p->d;
  int64_t rest = first;
  int64_t o2 = rest % d[2].out;
  rest /= d[2].out;
  int64_t o1 = rest % d[1].out;
  rest /= d[1].out;
  int64_t o0 = rest % d[0].out, n = rest / d[0].out;
  for (int64_t j = 0; j < count;) {
    const int64_t row = n * p->s_n + o0 * d[0].step * p->s_0 + o1 * d[1].step * p->s_1;
    const int64_t y_row = n * p->y_n + o0 * d[0].ys + o1 * d[1].ys;
    const int64_t end = TT_MIN(count, j + d[2].out - o2);
    for (; j < end; ++j, ++o2) {
      x[j] = row + (p->along_k         ? tt_conv_inner(p, o2 * d[2].step)
                    : p->residues == 1 ? o2 * d[2].step * p->s_2
                                       : o2);
      if (y) y[j] = y_row + o2 * d[2].ys;
    }
    o2 = 0;
    if (++o1 < d[1].out) continue;
    o1 = 0;
    if (++o0 < d[0].out) continue;
    o0 = 0;
    ++n;
  }
}

void tt_conv_offsets(const tt_conv_plan_t* p, int64_t first, int64_t count, int64_t* x) {
  if (count == 0) return;
  const tt_conv_dim_t* d = p->d;
  int64_t rest = first;
  int64_t k2 = rest % d[2].ker;
  rest /= d[2].ker;
  int64_t k1 = rest % d[1].ker;
  rest /= d[1].ker;
  int64_t k0 = rest % d[0].ker, c = rest / d[0].ker;
  for (int64_t j = 0; j < count;) {
    const int64_t row = c * p->s_c + k0 * d[0].dilation * p->s_0 + k1 * d[1].dilation * p->s_1;
    const int64_t end = TT_MIN(count, j + d[2].ker - k2);
    for (; j < end; ++j, ++k2) {
      x[j] = row + (p->along_k && p->residues > 1 ? k2 : tt_conv_inner(p, k2 * d[2].dilation));
    }
    k2 = 0;
    if (++k1 < d[1].ker) continue;
    k1 = 0;
    if (++k0 < d[0].ker) continue;
    k0 = 0;
    ++c;
  }
}
