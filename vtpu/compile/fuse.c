// Steps that read the same memory become one. Two forms, both without a change of bits:
//  - loops: neighbouring loops over equally many elements run as one loop with several results. What one wrote
//    for the other stays in a register, and is not written at all when nobody else reads it;
//  - epilogues: a loop over the elements of a product's or convolution's result runs inside that step, on each
//    block of the result while it is in the cache. The result is written first, in its own dtype, so the loop
//    reads what it would have read later.
// A step moves next to the other only past steps that have nothing to do with it and cannot fail.
//
// Here every buffer is still written by the steps of one value alone: memory is shared out later (place.c).
#include "compile/internal.h"

#include <string.h>

enum { WINDOW = 24, MAX_INSTRS = 96, MAX_REGS = 160, MAX_LOADS = 24, MAX_STORES = 8 };

// ---- who is in the way -------------------------------------------------------------------------
typedef struct meet_s {
  tc_step_t* other;
  bool found;
} meet_t;
typedef struct pair_s {
  uint32_t buffer;
  bool write, found;
} pair_t;
static void pair_fn(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write) {
  (void)c, (void)step;
  pair_t* p = self;
  p->found = p->found || (buffer == p->buffer && (write || p->write));
}
static void meet_other(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write) {
  (void)step;
  meet_t* m = self;
  if (m->found) return;
  pair_t p = {buffer, write, false};
  tc_step_visit(c, m->other, pair_fn, &p);
  m->found = p.found;
}
// One writes what the other touches.
static bool conflict(tc_t* c, tc_step_t* a, tc_step_t* b) {
  meet_t m = {b, false};
  tc_step_visit(c, a, meet_other, &m);
  return m.found;
}
// Whether `step` may move past the steps [first, last).
static bool can_reach(tc_t* c, tc_step_t* first, tc_step_t* last, tc_step_t* step) {
  for (tc_step_t* s = first; s && s != last; s = s->next) if (tc_step_can_fail(s) || conflict(c, s, step)) return false;
  return true;
}
// The same towards later steps. What the loop or op reads lives longer then: memory that a step on the way might have
// taken over stops it as well.
typedef struct reads_s {
  tc_step_t *first, *last;
  bool found;
} reads_t;
static void touch_fn(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write) {
  (void)c, (void)step, (void)write;
  pair_t* p = self;
  p->found = p->found || buffer == p->buffer;
}
static void reads_fn(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write) {
  (void)step;
  reads_t* r = self;
  const tc_buffer_t* b = &c->buffers[buffer];
  if (write || b->kind == PD_CONST || (b->kind == PD_PARAM && c->params[b->index].alias < 0)) return;
  pair_t p = {buffer, false, false};
  for (tc_step_t* s = r->first; s && s != r->last && !p.found; s = s->next) tc_step_visit(c, s, touch_fn, &p);
  r->found = r->found || p.found;
}
static bool can_sink(tc_t* c, tc_step_t* first, tc_step_t* last, tc_step_t* step) {
  reads_t r = {first, last, false};
  if (!can_reach(c, first, last, step)) return false;
  tc_step_visit(c, step, reads_fn, &r);
  return !r.found;
}
static void insert_before(tc_step_t* step, tc_step_t* at) {
  step->next = at;
  step->prev = at->prev;
  if (at->prev) at->prev->next = step; else at->block->first_step = step;
  at->prev = step;
}

// ---- loops with several results ----------------------------------------------------------------
// The coarsest dimensions that both loops can be split into; false: none.
static bool common_dims(const tc_loop_t* a, const tc_loop_t* b, uint32_t* out_rank, int64_t* out_dims) {
  int64_t dims[TT_MAX_RANK], x = 1, y = 1;
  uint32_t rank = 0, i = a->rank, j = b->rank;
  for (;;) {
    while (x == 1 && i > 0) x = a->dims[--i];
    while (y == 1 && j > 0) y = b->dims[--j];
    if (x == 1 || y == 1) break;
    int64_t n = TT_MIN(x, y);
    if (x % n || y % n || rank == TT_MAX_RANK) return false;
    dims[rank++] = n;
    x /= n;
    y /= n;
  }
  if (x != y) return false;
  if (rank == 0) dims[rank++] = 1;
  for (uint32_t k = 0; k < rank; ++k) out_dims[k] = dims[rank - 1 - k];
  *out_rank = rank;
  return true;
}

// Strides of loop dims `from` as strides of the finer `dims`.
static void split_strides(uint32_t rank, const int64_t* from, const int64_t* strides, uint32_t fine, const int64_t* dims, int64_t* out) {
  uint32_t k = fine;
  for (uint32_t d = rank; d-- > 0;) {
    int64_t covered = 1;
    while (covered < from[d]) {
      --k;
      out[k] = dims[k] > 1 ? strides[d] * covered : 0;
      covered *= dims[k];
    }
  }
  while (k > 0) out[--k] = 0;
}

static tc_loop_t* loop_split(tc_t* c, const tc_loop_t* l, uint32_t rank, const int64_t* dims) {
  tc_loop_t* n = TC_NEW(c, tc_loop_t);
  if (!n) return NULL;
  *n = *l;
  n->rank = rank;
  memcpy(n->dims, dims, rank * sizeof *dims);
  n->accesses = tt_arena_copy(&c->arena, l->accesses, l->access_count * sizeof *l->accesses);
  n->instrs = tt_arena_copy(&c->arena, l->instrs, l->instr_count * sizeof *l->instrs);
  n->reg_esize = tt_arena_copy(&c->arena, l->reg_esize, PD_MAX_REGS);
  if ((!n->accesses && l->access_count) || (!n->instrs && l->instr_count) || !n->reg_esize) return tc_fail(c, TT_RESOURCE_EXHAUSTED, "out of memory while compiling");
  n->access_capacity = l->access_count;
  n->instr_capacity = l->instr_count;
  for (uint32_t i = 0; i < l->access_count; ++i) split_strides(l->rank, l->dims, l->accesses[i].strides, rank, dims, n->accesses[i].strides);
  for (uint32_t i = 0; i < l->instr_count; ++i)
    if (l->instrs[i].data.op == PD_I_IOTA) split_strides(l->rank, l->dims, l->instrs[i].strides, rank, dims, n->instrs[i].strides);
  return n;
}

static bool same_place(const tc_loop_t* l, const tc_access_t* a, const tc_access_t* b) {
  if (a->buffer != b->buffer || a->esize != b->esize || a->offset != b->offset) return false;
  for (uint32_t k = 0; k < l->rank; ++k) if (l->dims[k] > 1 && a->strides[k] != b->strides[k]) return false;
  return true;
}

// Whether b's program may follow a's tile by tile, and whether that saves reading or writing. Same dims.
static bool worth_joining(const tc_loop_t* a, const tc_loop_t* b) {
  bool shared = false;
  for (uint32_t i = 0; i < b->access_count; ++i) {
    const tc_access_t* y = &b->accesses[i];
    for (uint32_t k = 0; k < a->access_count; ++k) {
      const tc_access_t* x = &a->accesses[k];
      if (x->buffer != y->buffer) continue;
      if (y->store) return false;
      bool same = same_place(a, x, y);
      if (x->store && !same) return false;
      bool broadcast = true;           // a scalar or a small row is no reason
      for (uint32_t d = 0; d < a->rank; ++d) broadcast = broadcast && (a->dims[d] == 1 || x->strides[d] == 0);
      shared = shared || (same && !broadcast);
    }
  }
  return shared;
}

static uint16_t reg_add(tc_loop_t* l, uint8_t esize) {
  l->reg_esize[l->reg_count] = esize;
  return (uint16_t)l->reg_count++;
}
static tc_access_t* access_add(tc_t* c, tc_loop_t* l, const tc_access_t* a) {
  size_t capacity = l->access_capacity;
  if (!tc_push(c, (void**)&l->accesses, &capacity, l->access_count, sizeof *a)) return NULL;
  l->access_capacity = (uint32_t)capacity;
  l->accesses[l->access_count] = *a;
  return &l->accesses[l->access_count++];
}
static tc_instr_t* instr_add(tc_t* c, tc_loop_t* l, const tc_instr_t* in) {
  size_t capacity = l->instr_capacity;
  if (!tc_push(c, (void**)&l->instrs, &capacity, l->instr_count, sizeof *in)) return NULL;
  l->instr_capacity = (uint32_t)capacity;
  l->instrs[l->instr_count] = *in;
  return &l->instrs[l->instr_count++];
}

static bool same_instr(const tc_loop_t* l, const tc_instr_t* a, const tc_instr_t* b) {
  const pd_instr_t *x = &a->data, *y = &b->data;
  return x->op == y->op && x->esize == y->esize && x->dtype == y->dtype && x->fn == y->fn && memcmp(x->src, y->src, sizeof x->src) == 0 &&
         memcmp(x->imm, y->imm, sizeof x->imm) == 0 && (x->op != PD_I_IOTA || memcmp(a->strides, b->strides, l->rank * sizeof *a->strides) == 0);
}

// b's program behind a's, in a. Same dims.
static void join(tc_t* c, tc_loop_t* a, const tc_loop_t* b) {
  uint16_t map[PD_MAX_REGS];
  for (uint32_t i = 0; i < b->instr_count && tc_ok(c); ++i) {
    tc_instr_t in = b->instrs[i];
    uint16_t dst = in.data.dst, reg = PD_NO_REG;
    for (int k = 0; k < 3; ++k) if (in.data.src[k] != PD_NO_REG) in.data.src[k] = map[in.data.src[k]];
    if (in.data.op == PD_I_LOAD) {
      const tc_access_t* y = &b->accesses[in.data.fn];
      for (int store = 1; store >= 0; --store) {   // what a wrote there, else what it read
        for (uint32_t k = 0; k < a->access_count && reg == PD_NO_REG; ++k)
          if (a->accesses[k].store == (store != 0) && same_place(a, &a->accesses[k], y)) reg = a->accesses[k].reg;
      }
      if (reg == PD_NO_REG) {
        in.data.fn = a->access_count;
        tc_access_t* added = access_add(c, a, y);
        if (!added) return;
        in.data.dst = reg = added->reg = reg_add(a, y->esize);
        (void)instr_add(c, a, &in);
      }
    } else {
      for (uint32_t k = 0; k < a->instr_count && reg == PD_NO_REG; ++k) if (a->instrs[k].data.op != PD_I_LOAD && same_instr(a, &a->instrs[k], &in)) reg = a->instrs[k].data.dst;
      if (reg == PD_NO_REG) {
        in.data.dst = reg = reg_add(a, in.data.esize);
        (void)instr_add(c, a, &in);
      }
    }
    map[dst] = reg;
  }
  for (uint32_t i = 0; i < b->access_count && tc_ok(c); ++i) {
    if (!b->accesses[i].store) continue;
    tc_access_t* added = access_add(c, a, &b->accesses[i]);
    if (added) added->reg = map[added->reg];
  }
}

static uint32_t count_stores(const tc_loop_t* l) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < l->access_count; ++i) n += l->accesses[i].store;
  return n;
}

// One loop that does what a and then b does; NULL: not worth it or not possible.
static tc_loop_t* loops_join(tc_t* c, tc_loop_t* a, tc_loop_t* b) {
  if (a->elems != b->elems || a->instr_count + b->instr_count > MAX_INSTRS || a->reg_count + b->reg_count > MAX_REGS) return NULL;
  uint32_t stores = count_stores(a) + count_stores(b);
  if (stores > MAX_STORES || a->access_count + b->access_count - stores > MAX_LOADS) return NULL;
  bool meets = false;
  for (uint32_t i = 0; i < b->access_count && !meets; ++i)
    for (uint32_t k = 0; k < a->access_count && !meets; ++k) meets = a->accesses[k].buffer == b->accesses[i].buffer;
  int64_t dims[TT_MAX_RANK];
  uint32_t rank;
  if (!meets || tc_loop_transposes(a) || tc_loop_transposes(b) || !common_dims(a, b, &rank, dims)) return NULL;
  tc_loop_t* x = loop_split(c, a, rank, dims);
  tc_loop_t* y = x ? loop_split(c, b, rank, dims) : NULL;
  if (!y || !worth_joining(x, y)) return NULL;
  join(c, x, y);
  if (tc_ok(c)) tc_loop_collapse(x);
  return tc_ok(c) ? x : NULL;
}

static void fuse_loops(tc_t* c, tc_block_t* block) {
  for (tc_step_t *s = block->first_step, *next; s && tc_ok(c); s = next) {
    next = s->next;
    if (s->kind != PD_S_LOOP) continue;
    int left = WINDOW;
    for (tc_step_t *p = s->prev, *before; p && left > 0 && tc_ok(c); p = before, --left) {
      before = p->prev;
      if (p->kind != PD_S_LOOP || p->loop->elems != s->loop->elems) continue;
      bool up = can_reach(c, p->next, s, s);
      if (!up && !can_sink(c, p->next, s, p)) continue;
      tc_loop_t* joined = loops_join(c, p->loop, s->loop);
      if (!joined) continue;
      if (up) {                        // goes on from p's place
        p->loop = joined;
        tc_step_remove(s);
        s = p;
      } else {
        s->loop = joined;
        tc_step_remove(p);
      }
    }
  }
}

// ---- stores that nobody reads ------------------------------------------------------------------
static void count_fn(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write) {
  (void)c, (void)step, (void)write;
  ++((uint32_t*)self)[buffer];
}
static void drop_stores(tc_t* c, tc_block_t* block, const uint32_t* touched) {
  for (tc_step_t* s = block->first_step; s; s = s->next) {
    if (s->kind != PD_S_LOOP || count_stores(s->loop) < 2) continue;
    tc_loop_t* l = s->loop;
    for (uint32_t i = l->access_count; i-- > 0;) {
      const tc_access_t* a = &l->accesses[i];
      if (!a->store || c->buffers[a->buffer].kind != PD_TEMP || c->buffers[a->buffer].pinned || touched[a->buffer] != 1 || count_stores(l) == 1) continue;
      for (uint32_t k = i; k + 1 < l->access_count; ++k) l->accesses[k] = l->accesses[k + 1];
      --l->access_count;
      for (uint32_t k = 0; k < l->instr_count; ++k)
        if (l->instrs[k].data.op == PD_I_LOAD && l->instrs[k].data.fn > i) --l->instrs[k].data.fn;
    }
  }
}

// ---- epilogues ---------------------------------------------------------------------------------
// Loop element i reads element i of `buffer`, and no other one.
static bool reads_in_step(const tc_loop_t* l, uint32_t buffer, size_t esize) {
  bool reads = false;
  for (uint32_t i = 0; i < l->access_count; ++i) {
    const tc_access_t* a = &l->accesses[i];
    if (a->buffer != buffer) continue;
    if (a->store || a->offset || a->esize != esize) return false;
    int64_t stride = a->esize;
    for (uint32_t k = l->rank; k-- > 0;) {
      if (l->dims[k] > 1 && a->strides[k] != stride) return false;
      stride *= l->dims[k];
    }
    reads = true;
  }
  return reads;
}
static bool stores_into_operand(const tc_loop_t* l, const tc_step_t* op) {
  for (uint32_t i = 0; i < l->access_count; ++i)
    for (uint32_t k = 0; l->accesses[i].store && k < op->operand_count; ++k) if (op->tensors[k].buffer == l->accesses[i].buffer) return true;
  return false;
}

static void fuse_epilogues(tc_t* c, tc_block_t* block) {
  for (tc_step_t *s = block->first_step, *next; s && tc_ok(c); s = next) {
    next = s->next;
    if (s->kind != PD_S_OP || !s->op.kernel->epilogue || s->result_count != 1 || s->op.region_count) continue;
    const tc_tensor_t* y = &s->tensors[s->operand_count];
    int64_t elems = 1;
    for (uint32_t d = 0; d < y->rank; ++d) elems *= y->dims[d];
    int left = WINDOW;
    for (tc_step_t* l = s->next; l && left > 0; l = l->next, --left) {
      if (tc_step_can_fail(l)) break;
      if (l->kind != PD_S_LOOP || l->loop->elems != elems || l->loop->mode == PD_MODE_BLOCK) continue;
      if (!reads_in_step(l->loop, y->buffer, tt_dtype_bytes(y->dtype)) || stores_into_operand(l->loop, s)) continue;
      bool up = can_reach(c, s->next, l, l);
      if (!up && !can_sink(c, s->next, l, s)) continue;
      if (!up) {
        tc_step_remove(s);
        insert_before(s, l);
      }
      tc_step_remove(l);
      s->loop = l->loop;
      next = s->next;
      break;
    }
  }
}

static void each_block(tc_t* c, tc_block_t* block, void (*fn)(tc_t* c, tc_block_t* block)) {
  fn(c, block);
  for (tc_step_t* s = block->first_step; s && tc_ok(c); s = s->next) {
    if (s->kind == PD_S_WHILE) {
      each_block(c, s->loop_while.cond, fn);
      each_block(c, s->loop_while.body, fn);
    } else if (s->kind == PD_S_CASE) {
      for (uint32_t i = 0; i < s->select.block_count; ++i) each_block(c, s->select.blocks[i], fn);
    }
  }
}
static void finish_loops(tc_t* c, tc_block_t* block) {
  for (tc_step_t* s = block->first_step; s && tc_ok(c); s = s->next) if (s->kind == PD_S_LOOP) tc_loop_finish(c, s->loop);
}

void tc_fuse(tc_t* c) {
  if (!tc_ok(c)) return;
  bool separate = c->options.separate_steps || c->options.reference_kernels;
  if (!separate) {
    each_block(c, c->main, fuse_loops);
    uint32_t* touched = TC_ARRAY(c, uint32_t, c->buffer_count + 1);
    if (!tc_ok(c)) return;
    memset(touched, 0, (c->buffer_count + 1) * sizeof *touched);
    for (tc_step_t* s = c->main->first_step; s; s = s->next) tc_step_visit(c, s, count_fn, touched);
    for (uint32_t i = 0; i < c->blocks && tc_ok(c); ++i) drop_stores(c, c->block_list[i], touched);
  }
  each_block(c, c->main, finish_loops);
  if (!separate) each_block(c, c->main, fuse_epilogues);
}
