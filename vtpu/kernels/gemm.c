// Plans and runs matrix products. Two paths, with equal results:
//  - tiles: C in tiles of at most 504 x 512; a task walks TT_GEMM_KC of k at a time with the register-tiled
//    kernel. A and B are packed once for all tasks where several use them, else by the task. Tasks of half
//    of the columns are neighbours, so that a thread multiplies the B that it has packed (P7 of the pool).
//    A panel of A stays in L1 while kBlockN columns of packed B, which stay in L2, pass by;
//  - few: A (or, transposed, B) of at most 8 rows: the other operand is read once, in memory order, as it is.
// The plan depends on the shape and dtypes alone, but for the choice between operands that `few` can stream
// and not.
#include "kernels/gemm.h"

#include <stdatomic.h>
#include <string.h>

#include "kernels/gemm_isa.h"
#include "kernels/gemm_tile.h"
#include "kernels/loops.h"

const tt_gemm_isa_t* tt_gemm_isa(void) {
#if defined(__x86_64__)
  tt_isa_t isa = tt_k_isa();
  if (isa >= TT_ISA_AVX512) return &tt_gemm_isa__avx512;
  if (isa >= TT_ISA_AVX2) return &tt_gemm_isa__avx2;
#endif
  return NULL;
}
static const tt_gemm_source_t* source_of(const tt_gemm_isa_t* isa, tt_dtype_t dtype) {
  switch (dtype) {
    case TT_DTYPE_F32: return &isa->from_f32;
    case TT_DTYPE_F64: return &isa->from_f64;
    case TT_DTYPE_BF16: return &isa->from_bf16;
    case TT_DTYPE_F16: return &isa->from_f16;
    case TT_DTYPE_S8: return &isa->from_s8;
    case TT_DTYPE_U8: return &isa->from_u8;
    default: return NULL;
  }
}
const tt_gemm_kernel_t* tt_gemm_kernel(tt_dtype_t dtype) {
  const tt_gemm_isa_t* isa = tt_gemm_isa();
  if (!isa) return NULL;
  return dtype == TT_DTYPE_F32 ? &isa->f32 : dtype == TT_DTYPE_F64 ? &isa->f64 : NULL;
}
tt_gemm_pack_fn_t tt_gemm_pack(tt_dtype_t dtype) {
  const tt_gemm_isa_t* isa = tt_gemm_isa();
  const tt_gemm_source_t* source = isa ? source_of(isa, dtype) : NULL;
  return source ? source->pack : NULL;
}
const tt_gemm_tile_isa_t* tt_gemm_tile_isa(tt_dtype_t dtype) {
#if defined(__x86_64__)
  const tt_isa_t isa = tt_k_isa();
  const tt_gemm_tile_isa_t* unit = isa >= TT_ISA_AMX          ? &tt_gemm_tile__amx
                                   : isa >= TT_ISA_AVX512BF16 ? &tt_gemm_tile__avx512bf16
                                                              : NULL;
  if (unit && (dtype == TT_DTYPE_BF16 || (unit->bytes && (dtype == TT_DTYPE_S8 || dtype == TT_DTYPE_U8))))
    return unit;
#endif
  (void)dtype;
  return NULL;
}
// NULL: widened.
static const tt_gemm_tile_isa_t* tile_unit(const tt_gemm_t* g) {
  if (g->dtype == TT_DTYPE_BF16 &&
      (TT_MIN(g->m, g->n) < 3 || (double)g->m * (double)g->n * (double)g->k < 8192))
    return NULL;
  return tt_gemm_tile_isa(g->dtype);
}
bool tt_gemm_supports(tt_dtype_t dtype, tt_dtype_t c_dtype) {
  if (!tt_gemm_isa()) return false;
  switch (dtype) {
    case TT_DTYPE_F32:
    case TT_DTYPE_F64: return c_dtype == dtype;
    case TT_DTYPE_BF16:
    case TT_DTYPE_F16: return c_dtype == dtype || c_dtype == TT_DTYPE_F32;
    case TT_DTYPE_S8:
    case TT_DTYPE_U8: return c_dtype == TT_DTYPE_S32;
    default: return false;
  }
}

// ---- tasks with a slot each ----------------------------------------------------------------------
typedef struct tasks_s {
  tt_gemm_task_fn_t fn;
  void* self;
  size_t slots;
  struct {
    TT_ALIGNED(64) _Atomic size_t next;
    size_t end;
  } part[TT_POOL_MAX_THREADS];  // of each slot, as in the pool: adjacent tasks
} tasks_t;
static void slot_run(void* self, size_t slot) {
  tasks_t* t = self;
  for (size_t i = 0; i < t->slots; ++i) {
    const size_t part = (slot + i) % t->slots;
    for (;;) {
      // relaxed: the pool orders the data, this only hands out numbers
      size_t task = atomic_fetch_add_explicit(&t->part[part].next, 1, memory_order_relaxed);
      if (task >= t->part[part].end) break;
      t->fn(t->self, slot, task);
    }
  }
}
void tt_gemm_tasks(tt_pool_t* pool, size_t count, tt_gemm_task_fn_t fn, void* self) {
  size_t slots = pool ? (size_t)tt_pool_threads(pool) : 1;
  if (slots > count) slots = count;
  if (slots <= 1) {
    for (size_t i = 0; i < count; ++i) fn(self, 0, i);
    return;
  }
  tasks_t t;
  t.fn = fn;
  t.self = self;
  t.slots = slots;
  for (size_t i = 0, next = 0; i < slots; ++i) {
    atomic_init(&t.part[i].next, next);
    next += (count - next) / (slots - i);
    t.part[i].end = next;
  }
  tt_pool_run(pool, slots, slot_run, &t);
}

// ---- plans ---------------------------------------------------------------------------------------
enum { kMaxTileM = 504, kMaxTileN = 512, kHalves = 256, kFewMinWork = 4096, kMcPanels = 12, kBlockN = 256 };
static const double kSerialFlops = 1.5e6;  // less is done before a second thread is awake
static const double kTaskFlops = 4e6;
static const double kSharedBytes = 64e6;  // an operand past this is packed by tasks, a part at a time

typedef struct plan_s {
  tt_gemm_t g;  // normalised
  const tt_gemm_isa_t* isa;
  const tt_gemm_kernel_t* kernel;
  const tt_gemm_source_t* source;
  size_t acc_bytes, element_bytes, c_bytes;  // an element
  bool few, direct, buffered, serial;
  bool shared, shared_a;  // B and A are packed by all tasks for all tasks
  bool bytes;  // S8, U8: chunks of k in f32, exactly, added up in S32
  int64_t f;  // few: rows there is a kernel for, m or the next
  int64_t parts;  // few: tasks over the chunks of k, each chunk's sums apart; 1: sums in place
  int64_t batch;  // products
  int64_t kc;  // TT_GEMM_KC; bytes: as many products as are exact in f32
  int64_t tm, tn, m_tiles, n_tiles;
  int64_t group, groups;  // products a task; tasks over the batch
  size_t a_at, b_at, c_at, slot_bytes;  // of one slot's scratch
  size_t shared_a_at, shared_bytes;  // of B, then A
} plan_t;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
#define SWAP(x, y)          \
  do {                      \
    __typeof__(x) t_ = (x); \
    (x) = (y);              \
    (y) = t_;               \
  } while (0)

static void transpose(tt_gemm_t* g) {
  SWAP(g->a, g->b);
  SWAP(g->m, g->n);
  int64_t a_rs = g->a_rs, a_cs = g->a_cs;
  g->a_rs = g->b_cs;
  g->a_cs = g->b_rs;
  g->b_rs = a_cs;
  g->b_cs = a_rs;
  SWAP(g->c_rs, g->c_cs);
  for (uint32_t i = 0; i < g->batch_rank; ++i) SWAP(g->a_batch[i], g->b_batch[i]);
}
// Strides of dims of 1 mean nothing: give them values that suit the kernels.
static void settle_strides(tt_gemm_t* g) {
  if (g->k == 1) {
    if (g->a_rs != 1) g->a_cs = 1;
    if (g->b_cs != 1) g->b_rs = 1;
  }
  if (g->m == 1 && g->a_cs != 1) g->a_rs = 1;
  if (g->n == 1 && g->b_rs != 1) g->b_cs = 1;
  if (g->n == 1 && g->c_rs != 1) g->c_cs = 1;
  if (g->m == 1 && g->c_cs != 1) g->c_rs = 1;
}
static void fold_batch(tt_gemm_t* g) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < g->batch_rank; ++i) {
    if (g->batch[i] == 1) continue;
    g->batch[rank] = g->batch[i];
    g->a_batch[rank] = g->a_batch[i];
    g->b_batch[rank] = g->b_batch[i];
    g->c_batch[rank++] = g->c_batch[i];
  }
  g->batch_rank = rank;
  // one B for many A that follow one another: more rows
  while (g->batch_rank > 0) {
    uint32_t i = g->batch_rank - 1;
    if (g->b_batch[i] != 0 || g->a_batch[i] != g->m * g->a_rs || g->c_batch[i] != g->m * g->c_rs) break;
    g->m *= g->batch[i];
    --g->batch_rank;
  }
}

static size_t packed_bytes(const plan_t* p, int64_t width, int64_t depth) {
  return tt_align_up((size_t)(width * depth) * p->acc_bytes + TT_GEMM_PACK_SLACK, 64);
}
static void plan_tiles(plan_t* p) {
  const tt_gemm_t* g = &p->g;
  const double flops = 2.0 * (double)g->m * (double)g->n * (double)TT_MAX(g->k, 1);
  const bool can_share = p->batch == 1 && (double)g->n * (double)g->k * (double)p->acc_bytes <= kSharedBytes;
  int64_t mt = ceil_div(g->m, kMaxTileM), nt = ceil_div(g->n, kMaxTileN * 4 / (int64_t)p->acc_bytes);
  // columns for each of two threads: cores without a common cache then exchange no packed B
  if (can_share && g->n >= kHalves && flops >= 1e8) nt = round_up(nt, 2);
  for (;;) {
    p->tm = round_up(ceil_div(g->m, mt), p->kernel->mr);
    p->tn = round_up(ceil_div(g->n, nt), p->kernel->nr);
    const bool split_m = can_share ? p->tm > 8 * p->kernel->mr : p->tm >= p->tn && p->tm > 2 * p->kernel->mr;
    // rows of tiles cost nothing where B is shared: more of them even out CPUs of different speeds
    if (p->batch * mt * nt >= (can_share && split_m ? 16 : 8) || flops / (double)(mt * nt) < 2 * kTaskFlops)
      break;
    if (split_m) mt *= 2;
    else if (p->tn > p->kernel->nr) nt *= 2;
    else break;
  }
  p->m_tiles = ceil_div(g->m, p->tm);
  p->n_tiles = ceil_div(g->n, p->tn);
  p->group = 1;
  if (p->m_tiles * p->n_tiles == 1 && flops < kTaskFlops) {
    p->group = TT_MAX(1, TT_MIN((int64_t)(kTaskFlops / flops), ceil_div(p->batch, 8)));
  }
  p->serial = flops * (double)p->batch < kSerialFlops;
  // Operands where they lie, if they fit the caches and their rows do not fall on one another there.
  const int64_t eb = (int64_t)p->acc_bytes;
  p->direct = p->acc_bytes == p->element_bytes && g->b_cs == 1 && g->k <= p->kc &&
              g->n * g->k * eb <= 262144 && g->m <= 256 && (g->m <= 4 || g->a_rs * eb % 2048 != 0) &&
              (g->k <= 4 || g->b_rs * eb % 2048 != 0);
  p->shared = can_share && p->m_tiles > 1 && !p->direct;
  p->shared_a = can_share && p->n_tiles > 1 && !p->direct &&
                (double)g->m * (double)g->k * (double)p->acc_bytes <= kSharedBytes;
  p->shared_a_at = p->shared ? packed_bytes(p, round_up(g->n, p->kernel->nr), g->k) : 0;
  p->shared_bytes =
      p->shared_a_at + (p->shared_a ? packed_bytes(p, round_up(g->m, p->kernel->mr), g->k) : 0);
  const int64_t depth = TT_MIN(g->k, p->kc);
  const int64_t mc = TT_MIN(p->tm, kMcPanels * p->kernel->mr);
  p->a_at = 0;
  p->b_at = p->shared_a ? 0 : packed_bytes(p, mc, depth);
  p->c_at = p->b_at + (p->shared ? 0 : packed_bytes(p, p->tn, depth));
  p->slot_bytes =
      p->c_at +
      (p->buffered ? tt_align_up((size_t)(p->tm * p->tn) * p->acc_bytes, 64) * (p->bytes ? 2 : 1) : 0);
}

// Columns of one of at most `count` tasks: an even number of equal ones if possible, so that two threads have the same.
static int64_t strip_of(int64_t n, int64_t count) {
  for (int64_t even = count / 2 * 2; even > 0; even -= 2) {
    if (n % (16 * even) == 0) return n / even;
  }
  return round_up(ceil_div(n, TT_MAX(count, 1)), 16);
}
static void plan_few(plan_t* p) {
  const tt_gemm_t* g = &p->g;
  const double bytes = (double)g->n * (double)g->k * (double)p->element_bytes;
  p->f = g->m <= 2 ? g->m : g->m <= 4 ? 4 : 8;
  const int64_t most = TT_GEMM_STRIP / TT_MAX(p->f, 2), chunks = ceil_div(g->k, p->kc);
  p->parts = g->b_cs == 1 && p->batch == 1 ? chunks : 1;
  // Parts of k in rows: few tasks, long runs of memory.
  const bool equal = p->parts % 2 == 0 && g->k % p->kc == 0;
  const int64_t tasks = p->parts == 1 ? ceil_div(8, p->batch) : equal ? ceil_div(4, p->parts) : TT_MAX(ceil_div(8, p->parts), 2);
  const double most_tasks = p->parts == 1 ? bytes / 32768 : (double)g->n * (double)p->element_bytes / 1024;
  p->tn = TT_MIN(strip_of(g->n, (int64_t)TT_MIN((double)tasks, most_tasks)), most);
  p->tm = g->m;
  p->m_tiles = p->parts;
  p->n_tiles = ceil_div(g->n, p->tn);
  p->group = 1;
  if (p->n_tiles == 1 && bytes < 131072)
    p->group = TT_MAX(1, TT_MIN((int64_t)(131072 / bytes), ceil_div(p->batch, 8)));
  p->serial = bytes * (double)p->batch < 131072;
  p->a_at = 0;
  p->c_at = tt_align_up((size_t)(p->f * g->k) * p->acc_bytes + TT_GEMM_PACK_SLACK, 64);
  p->slot_bytes = p->c_at + (p->parts > 1 ? 0 : tt_align_up((size_t)(p->f * p->tn) * p->acc_bytes, 64));
  p->shared_bytes =
      p->parts > 1 ? tt_align_up((size_t)(p->parts * p->n_tiles * p->f * p->tn) * p->acc_bytes, 64) : 0;
}

static void plan_make(plan_t* p, const tt_gemm_t* given) {
  memset(p, 0, sizeof *p);
  p->g = *given;
  tt_gemm_t* g = &p->g;
  fold_batch(g);
  settle_strides(g);
  if ((g->n < g->m && g->n <= TT_GEMM_MAX_FEW) || (g->c_cs != 1 && g->c_rs == 1 && g->m > TT_GEMM_MAX_FEW))
    transpose(g);
  settle_strides(g);
  p->isa = tt_gemm_isa();
  p->kernel = g->dtype == TT_DTYPE_F64 ? &p->isa->f64 : &p->isa->f32;
  p->source = source_of(p->isa, g->dtype);
  p->acc_bytes = g->dtype == TT_DTYPE_F64 ? 8 : 4;
  p->bytes = g->dtype == TT_DTYPE_S8 || g->dtype == TT_DTYPE_U8;
  p->kc = p->bytes ? 256 : TT_GEMM_KC;  // 256 * 255 * 255 < 2^24
  p->element_bytes = tt_dtype_bytes(g->dtype);
  p->c_bytes = tt_dtype_bytes(g->c_dtype);
  p->batch = 1;
  for (uint32_t i = 0; i < g->batch_rank; ++i) p->batch *= g->batch[i];
  p->buffered = p->c_bytes != p->acc_bytes || g->c_cs != 1 || p->bytes;
  p->few =
      !p->bytes && g->m <= TT_GEMM_MAX_FEW && g->n * g->k >= kFewMinWork && (g->b_cs == 1 || g->b_rs == 1);
  if (p->few) plan_few(p);
  else plan_tiles(p);
  p->groups = ceil_div(p->batch, p->group);
}

// ---- running -------------------------------------------------------------------------------------
typedef struct run_s {
  plan_t plan;
  char* scratch;
} run_t;
typedef struct item_s {  // one product
  const char *a, *b;
  char* c;
} item_t;
static item_t item_at(const plan_t* p, int64_t index) {
  const tt_gemm_t* g = &p->g;
  int64_t a = 0, b = 0, c = 0;
  for (uint32_t i = g->batch_rank; i-- > 0;) {
    int64_t x = index % g->batch[i];
    index /= g->batch[i];
    a += x * g->a_batch[i];
    b += x * g->b_batch[i];
    c += x * g->c_batch[i];
  }
  const int64_t eb = (int64_t)p->element_bytes, cb = (int64_t)p->c_bytes;
  return (item_t){(const char*)g->a + a * eb, (const char*)g->b + b * eb, (char*)g->c + c * cb};
}

// rows x cols of the accumulator's dtype, `stride` apart, to C
static void store_c(const plan_t* p, const char* acc, int64_t stride, int64_t rows, int64_t cols, char* c) {
  const tt_gemm_t* g = &p->g;
  const tt_dtype_t acc_dtype = p->acc_bytes == 8 ? TT_DTYPE_F64 : TT_DTYPE_F32;
  const int64_t cb = (int64_t)p->c_bytes, ab = (int64_t)p->acc_bytes;
  const tt_k_unary_fn_t convert =
      g->c_dtype == acc_dtype || p->bytes ? NULL : tt_k_convert(acc_dtype, g->c_dtype);
  for (int64_t i = 0; i < rows; ++i) {
    const char* from = acc + i * stride * ab;
    char* to = c + i * g->c_rs * cb;
    if (g->c_cs == 1) {
      if (convert) convert(to, from, (size_t)cols);
      else memcpy(to, from, (size_t)(cols * ab));
      continue;
    }
    for (int64_t j = 0; j < cols; j += 64) {
      char row[64 * 8];
      const int64_t n = TT_MIN(cols - j, 64);
      if (convert) convert(row, from + j * ab, (size_t)n);
      else memcpy(row, from + j * ab, (size_t)(n * ab));
      tt_k_scatter_strided(to + j * g->c_cs * cb, g->c_cs, row, p->c_bytes, (size_t)n);
    }
  }
}
static void load_c(const plan_t* p, const char* c, int64_t rows, int64_t cols, char* acc, int64_t stride) {
  const tt_gemm_t* g = &p->g;
  const int64_t ab = (int64_t)p->acc_bytes;
  for (int64_t i = 0; i < rows; ++i) {
    tt_k_gather_strided(acc + i * stride * ab, c + i * g->c_rs * ab, g->c_cs, p->acc_bytes, (size_t)cols);
  }
}

// An operand as the kernel takes it: panels of `width` of its `size` rows (A) or columns (B), all of k each.
typedef struct side_s {
  const char* data;
  int64_t size, width, ws, ks;  // strides in elements: to the next row or column, to the next k
} side_t;
static side_t side_a(const plan_t* p, const char* data) {
  return (side_t){data, p->g.m, p->kernel->mr, p->g.a_rs, p->g.a_cs};
}
static side_t side_b(const plan_t* p, const char* data) {
  return (side_t){data, p->g.n, p->kernel->nr, p->g.b_cs, p->g.b_rs};
}
// Rows or columns first..first + count of `depth` of k from k0 on, to panels at `out`.
static void pack(const plan_t* p, const side_t* x, int64_t first, int64_t count, int64_t k0, int64_t depth,
                 char* out) {
  const int64_t eb = (int64_t)p->element_bytes, ab = (int64_t)p->acc_bytes;
  const char* from = x->data + (first * x->ws + k0 * x->ks) * eb;
  // adjacent in memory: a few k at a time over all panels, so that memory is read in long runs
  const int64_t step = x->ws == 1 ? 16 : depth;
  for (int64_t k = 0; k < depth; k += step) {
    const int64_t steps = TT_MIN(depth - k, step);
    for (int64_t i = 0; i < count; i += x->width) {
      p->source->pack(out + (i * depth + k * x->width) * ab, x->width, from + (i * x->ws + k * x->ks) * eb,
                      x->ws, x->ks, TT_MIN(count - i, x->width), steps);
    }
  }
}

// The caller's loop on rows x cols of C, which are final.
static void finished(const plan_t* p, const char* c, int64_t rows, int64_t cols) {
  const tt_gemm_t* g = &p->g;
  if (g->epilogue)
    g->epilogue->run(g->epilogue->self, (c - (const char*)g->c) / (int64_t)p->c_bytes, rows, g->c_rs, cols);
}
// Accumulators to C, a block of rows at a time.
static void store_rows(const plan_t* p, const char* acc, int64_t stride, int64_t rows, int64_t cols, char* c) {
  const int64_t step = p->g.epilogue ? kMcPanels * p->kernel->mr : rows;
  for (int64_t i = 0; i < rows; i += step) {
    char* to = c + i * p->g.c_rs * (int64_t)p->c_bytes;
    store_c(p, acc + i * stride * (int64_t)p->acc_bytes, stride, TT_MIN(step, rows - i), cols, to);
    finished(p, to, TT_MIN(step, rows - i), cols);
  }
}

static void add_chunk(int32_t* sums, const float* x, int64_t stride, int64_t rows, int64_t cols, bool first) {
  for (int64_t i = 0; i < rows; ++i, sums += stride, x += stride) {
    if (first) memset(sums, 0, (size_t)cols * 4);
    // unsigned: sums wrap
    for (int64_t j = 0; j < cols; ++j) sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)(int32_t)x[j]);
  }
}
static void tile_run(const plan_t* p, const char* shared, char* slot, item_t item, int64_t m0, int64_t n0) {
  const tt_gemm_t* g = &p->g;
  const tt_gemm_kernel_t* kernel = p->kernel;
  const int64_t mr = kernel->mr, nr = kernel->nr, ab = (int64_t)p->acc_bytes;
  const int64_t rows = TT_MIN(p->tm, g->m - m0), cols = TT_MIN(p->tn, g->n - n0);
  char* final_c = item.c + (m0 * g->c_rs + n0 * g->c_cs) * (int64_t)p->c_bytes;
  char* c = p->buffered ? slot + p->c_at : final_c;
  const int64_t c_rs = p->buffered ? p->tn : g->c_rs;
  char* sums = p->bytes ? c + tt_align_up((size_t)(p->tm * p->tn) * p->acc_bytes, 64) : c;
  if (p->buffered && g->accumulate) load_c(p, final_c, rows, cols, sums, c_rs);
  const side_t a = side_a(p, item.a), b = side_b(p, item.b);
  const char* shared_a = shared + p->shared_a_at;
  const int64_t mc = TT_MIN(p->tm, kMcPanels * mr);
  for (int64_t k = 0; k < TT_MAX(g->k, 1); k += p->kc) {
    const int64_t depth = TT_MIN(g->k - k, p->kc);
    const bool add = !p->bytes && (k > 0 || g->accumulate);
    const char* packed_b = shared + (k * round_up(g->n, nr) + n0 * depth) * ab;
    if (!p->shared) {
      pack(p, &b, n0, cols, k, depth, slot + p->b_at);
      packed_b = slot + p->b_at;
    }
    for (int64_t i0 = 0; i0 < rows; i0 += mc) {
      const int64_t block = TT_MIN(mc, rows - i0);
      const char* packed_a = shared_a + (k * round_up(g->m, mr) + (m0 + i0) * depth) * ab;
      if (!p->shared_a) {
        pack(p, &a, m0 + i0, block, k, depth, slot + p->a_at);
        packed_a = slot + p->a_at;
      }
      for (int64_t j0 = 0; j0 < cols; j0 += kBlockN) {
        const int64_t j1 = TT_MIN(j0 + kBlockN, cols);
        for (int64_t i = 0; i < block; i += mr) {
          for (int64_t j = j0; j < j1; j += nr) {
            kernel->run(depth, packed_a + i * depth * ab, packed_b + j * depth * ab,
                        c + ((i0 + i) * c_rs + j) * ab, c_rs, TT_MIN(mr, block - i), TT_MIN(nr, cols - j),
                        add);
          }
        }
      }
      if (!p->buffered && k + p->kc >= g->k) finished(p, c + i0 * c_rs * ab, block, cols);
    }
    if (p->bytes)
      add_chunk((int32_t*)(void*)sums, (const float*)(const void*)c, c_rs, rows, cols,
                k == 0 && !g->accumulate);
  }
  if (p->buffered) store_rows(p, sums, c_rs, rows, cols, final_c);
}

static void direct_run(const plan_t* p, char* slot, item_t item, int64_t m0, int64_t n0) {
  const tt_gemm_t* g = &p->g;
  const int64_t mr = p->kernel->mr, nr = p->kernel->nr, ab = (int64_t)p->acc_bytes;
  const int64_t rows = TT_MIN(p->tm, g->m - m0), cols = TT_MIN(p->tn, g->n - n0);
  char* final_c = item.c + (m0 * g->c_rs + n0 * g->c_cs) * (int64_t)p->c_bytes;
  char* c = p->buffered ? slot + p->c_at : final_c;
  const int64_t c_rs = p->buffered ? p->tn : g->c_rs;
  if (p->buffered && g->accumulate) load_c(p, final_c, rows, cols, c, c_rs);
  for (int64_t j = 0; j < cols; j += nr) {
    for (int64_t i = 0; i < rows; i += mr) {
      p->kernel->run_strided(g->k, item.a + (m0 + i) * g->a_rs * ab, g->a_rs, g->a_cs, item.b + (n0 + j) * ab,
                             g->b_rs, c + (i * c_rs + j) * ab, c_rs, TT_MIN(mr, rows - i),
                             TT_MIN(nr, cols - j), g->accumulate);
    }
  }
  if (p->buffered) store_rows(p, c, c_rs, rows, cols, final_c);
  else finished(p, c, rows, cols);
}

static const char* few_pack(const plan_t* p, char* few, const char* a, int64_t k, int64_t depth) {
  const tt_gemm_t* g = &p->g;
  a += k * g->a_cs * (int64_t)p->element_bytes;
  if (g->m == 1 && g->a_cs == 1 && p->element_bytes == p->acc_bytes) return a;
  p->source->pack(few, p->f, a, g->a_rs, g->a_cs, g->m, depth);
  return few;
}
static void few_run(const plan_t* p, char* slot, item_t item, int64_t n0) {
  const tt_gemm_t* g = &p->g;
  const int64_t eb = (int64_t)p->element_bytes, ab = (int64_t)p->acc_bytes, cols = TT_MIN(p->tn, g->n - n0);
  char* acc = slot + p->c_at;
  char* final_c = item.c + (n0 * g->c_cs) * (int64_t)p->c_bytes;
  if (g->accumulate) load_c(p, final_c, g->m, cols, acc, cols);
  const char *a = few_pack(p, slot + p->a_at, item.a, 0, g->k), *b = item.b + n0 * g->b_cs * eb;
  if (g->b_cs == 1) {
    for (int64_t k = 0; k < g->k; k += p->kc) {
      p->source->few_rows(p->f, a + k * p->f * ab, b + k * g->b_rs * eb, g->b_rs, TT_MIN(g->k - k, p->kc), cols, acc,
                          cols, k > 0 || g->accumulate);
    }
  } else
    p->source->few_columns(p->f, a, b, g->b_cs, g->k, p->kc, cols, acc, cols, g->accumulate);
  store_c(p, acc, cols, g->m, cols, final_c);
}
// One chunk of k on its own: s_i of gemm.h.
static void few_part(const plan_t* p, char* sums, char* slot, int64_t part, int64_t strip) {
  const tt_gemm_t* g = &p->g;
  const int64_t eb = (int64_t)p->element_bytes, n0 = strip * p->tn, cols = TT_MIN(p->tn, g->n - n0),
                k = part * p->kc;
  const int64_t depth = TT_MIN(g->k - k, p->kc);
  const char* a = few_pack(p, slot + p->a_at, g->a, k, depth);
  p->source->few_rows(p->f, a, (const char*)g->b + (k * g->b_rs + n0) * eb, g->b_rs, depth, cols,
                      sums + (strip * p->parts + part) * p->f * p->tn * (int64_t)p->acc_bytes, cols, false);
}
static void few_merge(void* self, size_t slot, size_t strip) {
  (void)slot;
  run_t* r = self;
  const plan_t* p = &r->plan;
  const tt_gemm_t* g = &p->g;
  const int64_t n0 = (int64_t)strip * p->tn, cols = TT_MIN(p->tn, g->n - n0), count = g->m * cols,
                step = p->f * p->tn;
  char* acc = r->scratch + (int64_t)strip * p->parts * step * (int64_t)p->acc_bytes;
  char* final_c = (char*)g->c + n0 * g->c_cs * (int64_t)p->c_bytes;
  const tt_k_binary_fn_t add = tt_k_binary(TT_OP_ADD, p->acc_bytes == 8 ? TT_DTYPE_F64 : TT_DTYPE_F32);
  if (g->accumulate) {  // C stands before s_0
    for (int64_t i = 0; i < g->m; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        char *x = acc + (i * cols + j) * (int64_t)p->acc_bytes,
             *c = final_c + (i * g->c_rs + j * g->c_cs) * (int64_t)p->acc_bytes;
        add(x, c, x, 1);
      }
    }
  }
  for (int64_t part = 1; part < p->parts; ++part)
    add(acc, acc, acc + part * step * (int64_t)p->acc_bytes, (size_t)count);
  store_c(p, acc, cols, g->m, cols, final_c);
}

// An operand packed by all tasks for all tasks: each one chunk of k and some panels, fewer where that leaves threads
// without any.
enum { kSharedPanels = 8, kSharedTasks = 4 };
typedef struct packing_s {
  const plan_t* plan;
  side_t side;
  int64_t many;  // rows or columns a task
  char* out;
} packing_t;
static void shared_task(void* self, size_t slot, size_t task) {
  (void)slot;
  const packing_t* x = self;
  const plan_t* p = x->plan;
  const int64_t chunks = ceil_div(p->g.k, p->kc), many = x->many;
  const int64_t k = (int64_t)task % chunks * p->kc, first = (int64_t)task / chunks * many,
                depth = TT_MIN(p->g.k - k, p->kc);
  pack(p, &x->side, first, TT_MIN(many, x->side.size - first), k, depth,
       x->out + (k * round_up(x->side.size, x->side.width) + first * depth) * (int64_t)p->acc_bytes);
}
static void pack_shared(tt_pool_t* pool, const plan_t* p, side_t side, char* out) {
  const int64_t chunks = ceil_div(p->g.k, p->kc), panels = ceil_div(side.size, side.width),
                most = ceil_div(panels, ceil_div(kSharedTasks, chunks));
  packing_t x = {p, side, TT_MIN(most, (int64_t)kSharedPanels) * side.width, out};
  const int64_t tasks = chunks * ceil_div(side.size, x.many);
  tt_gemm_tasks(pool, (size_t)tasks, shared_task, &x);
}

static void task_run(void* self, size_t slot_index, size_t task) {
  run_t* r = self;
  const plan_t* p = &r->plan;
  char* slot = r->scratch + p->shared_bytes + slot_index * p->slot_bytes;
  const int64_t tiles = p->m_tiles * p->n_tiles, first = (int64_t)task / tiles * p->group;
  int64_t mi, ni;
  tt_gemm_tile_at((int64_t)task % tiles, p->m_tiles, p->n_tiles, &mi, &ni);
  if (p->few && p->parts > 1) {
    few_part(p, r->scratch, slot, mi, ni);
    return;
  }
  for (int64_t i = first; i < TT_MIN(first + p->group, p->batch); ++i) {
    const item_t item = item_at(p, i);
    if (p->few) few_run(p, slot, item, ni * p->tn);
    else if (p->direct) direct_run(p, slot, item, mi * p->tm, ni * p->tn);
    else tile_run(p, r->scratch, slot, item, mi * p->tm, ni * p->tn);
  }
}

static bool is_empty(const tt_gemm_t* g) {
  if (g->m <= 0 || g->n <= 0) return true;
  for (uint32_t i = 0; i < g->batch_rank; ++i) {
    if (g->batch[i] <= 0) return true;
  }
  return false;
}
size_t tt_gemm_scratch_bytes(const tt_gemm_t* g, int threads) {
  if (is_empty(g) || g->k <= 0) return 0;
  const tt_gemm_tile_isa_t* unit = tile_unit(g);
  if (unit) return unit->scratch_bytes(g, threads);
  plan_t p;
  plan_make(&p, g);
  const size_t tasks = (size_t)(p.groups * p.m_tiles * p.n_tiles);
  return p.shared_bytes + p.slot_bytes * (p.serial ? 1 : TT_MIN((size_t)TT_MAX(threads, 1), tasks));
}

static void zero_c(const tt_gemm_t* g) {
  int64_t batch = 1;
  for (uint32_t i = 0; i < g->batch_rank; ++i) batch *= g->batch[i];
  const int64_t cb = (int64_t)tt_dtype_bytes(g->c_dtype);
  for (int64_t x = 0; x < batch; ++x) {
    char* c = (char*)g->c + tt_k_unravel(x, g->batch, g->c_batch, g->batch_rank) * cb;
    for (int64_t i = 0; i < g->m; ++i) {
      for (int64_t j = 0; j < g->n; ++j) memset(c + (i * g->c_rs + j * g->c_cs) * cb, 0, (size_t)cb);
    }
  }
}
void tt_gemm_run(tt_pool_t* pool, const tt_gemm_t* g, void* scratch) {
  if (is_empty(g)) return;
  if (g->k <= 0) {
    if (!g->accumulate) zero_c(g);
    return;
  }
  const tt_gemm_tile_isa_t* unit = tile_unit(g);
  if (unit) {
    unit->run(pool, g, scratch);
    return;
  }
  run_t r = {.scratch = scratch};
  plan_make(&r.plan, g);
  tt_gemm_t* own = &r.plan.g;
  if (own->epilogue && !r.plan.few && own->c_cs == 1) own->epilogue->taken = true;
  else own->epilogue = NULL;
  if (r.plan.serial) pool = NULL;
  if (r.plan.shared) pack_shared(pool, &r.plan, side_b(&r.plan, own->b), r.scratch);
  if (r.plan.shared_a) pack_shared(pool, &r.plan, side_a(&r.plan, own->a), r.scratch + r.plan.shared_a_at);
  tt_gemm_tasks(pool, (size_t)(r.plan.groups * r.plan.m_tiles * r.plan.n_tiles), task_run, &r);
  if (r.plan.parts > 1) tt_gemm_tasks(own->n < 16384 ? NULL : pool, (size_t)r.plan.n_tiles, few_merge, &r);
}
