// Removes copies, decides donation and lays out the temporaries.
//
// Taking over memory (a copy dropped, a donated parameter overwritten) is legal when, from the first step W that
// touches the new value on, nobody touches the old one: neither later in the block, nor in W itself, except
// where W reads each element before it writes the same one.
#include "compile/internal.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/reserve.h"

uint32_t tc_buffer_find(const tc_t* c, uint32_t buffer) {
  while (c->buffers[buffer].merged != PD_NONE) buffer = c->buffers[buffer].merged;
  return buffer;
}

static int64_t gcd(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b) { int64_t t = a % b; a = b; b = t; }
  return a;
}

bool tc_access_safe(const tc_loop_t* l, const tc_access_t* load, const tc_access_t* store) {
  bool same = load->esize == store->esize && load->offset == store->offset;
  int64_t lo[2] = {load->offset, store->offset}, hi[2] = {load->offset + load->esize, store->offset + store->esize}, g = 0;
  for (uint32_t k = 0; k < l->rank; ++k) {
    if (l->dims[k] <= 1) continue;
    same = same && load->strides[k] == store->strides[k];
    const int64_t s[2] = {load->strides[k], store->strides[k]};
    for (int i = 0; i < 2; ++i) {
      int64_t span = s[i] * (l->dims[k] - 1);
      if (span < 0) lo[i] += span; else hi[i] += span;
      g = gcd(g, s[i]);
    }
  }
  if (same || hi[0] <= lo[1] || hi[1] <= lo[0]) return true;
  if (g == 0) return false;
  int64_t d = (load->offset - store->offset) % g;   // where the load's elements lie between the store's
  if (d < 0) d += g;
  return d >= store->esize && g - d >= load->esize;
}

// ---- who touches what --------------------------------------------------------------------------
static void visit_block(tc_t* c, tc_block_t* block, tc_visit_fn_t fn, void* self) {
  for (tc_step_t* s = block->first_step; s; s = s->next) tc_step_visit(c, s, fn, self);
}
static void visit_loop(tc_t* c, tc_step_t* step, tc_visit_fn_t fn, void* self) {
  for (uint32_t i = 0; i < step->loop->access_count; ++i) fn(self, c, step, step->loop->accesses[i].buffer, step->loop->accesses[i].store);
}

static void visit_region(tc_t* c, tc_step_t* step, const tc_region_t* r, tc_visit_fn_t fn, void* self) {
  for (uint32_t i = 0; r && i < r->data.capture_count; ++i) fn(self, c, step, r->captures[i].buffer, false);
}

// An op without its epilogue.
static void visit_op(tc_t* c, tc_step_t* step, tc_visit_fn_t fn, void* self) {
  for (uint32_t i = 0; i < step->operand_count + step->result_count; ++i) fn(self, c, step, step->tensors[i].buffer, i >= step->operand_count);
  if (step->op.scratch != PD_NONE) fn(self, c, step, step->op.scratch, true);
  for (uint32_t i = 0; i < step->op.region_count; ++i) visit_region(c, step, step->op.regions[i], fn, self);
}

void tc_step_visit(tc_t* c, tc_step_t* step, tc_visit_fn_t fn, void* self) {
  switch (step->kind) {
    case PD_S_LOOP: case PD_S_REDUCE:
      visit_loop(c, step, fn, self);
      if (step->kind == PD_S_LOOP) return;
      for (uint32_t i = 0; i < step->reduce.data.count; ++i) {
        if (step->reduce.operands[i].init != PD_NONE) fn(self, c, step, step->reduce.operands[i].init, false);
        fn(self, c, step, step->reduce.operands[i].out, true);
      }
      if (step->reduce.data.scratch != PD_NONE) fn(self, c, step, step->reduce.data.scratch, true);
      for (const tc_region_t* r = c->first_region; r; r = r->next) if (r->number == step->reduce.data.region) visit_region(c, step, r, fn, self);
      return;
    case PD_S_COPY:
      fn(self, c, step, step->copy.from, false);
      fn(self, c, step, step->copy.to, true);
      return;
    case PD_S_OP:
      visit_op(c, step, fn, self);
      if (step->loop) visit_loop(c, step, fn, self);
      return;
    case PD_S_COLLECTIVE:
      for (uint32_t i = 0; i < step->operand_count + step->result_count; ++i) fn(self, c, step, step->tensors[i].buffer, i >= step->operand_count);
      for (const tc_region_t* r = c->first_region; r; r = r->next) if (r->number == step->collective.data.region) visit_region(c, step, r, fn, self);
      return;
    case PD_S_CHECK:
      fn(self, c, step, step->check.pred, false);
      for (uint32_t i = 0; i < step->operand_count; ++i) fn(self, c, step, step->tensors[i].buffer, false);
      return;
    case PD_S_DEVICE_ID:
      fn(self, c, step, step->device_id.buffer, true);
      return;
    case PD_S_WHILE:
      visit_block(c, step->loop_while.cond, fn, self);
      fn(self, c, step, step->loop_while.pred, false);
      visit_block(c, step->loop_while.body, fn, self);
      return;
    case PD_S_CASE:
      fn(self, c, step, step->select.index, false);
      for (uint32_t i = 0; i < step->select.block_count; ++i) visit_block(c, step->select.blocks[i], fn, self);
      return;
    default: return;
  }
}

typedef struct touch_s { uint32_t buffer; bool found; } touch_t;
static void touch_fn(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write) {
  touch_t* t = self;
  (void)step, (void)write;
  t->found = t->found || tc_buffer_find(c, buffer) == t->buffer;
}
static bool touches(tc_t* c, tc_step_t* step, uint32_t buffer) {
  touch_t t = {buffer, false};
  tc_step_visit(c, step, touch_fn, &t);
  return t.found;
}
static bool op_touches(tc_t* c, tc_step_t* step, uint32_t buffer) {
  touch_t t = {buffer, false};
  visit_op(c, step, touch_fn, &t);
  return t.found;
}

bool tc_step_can_fail(tc_step_t* step) {
  if (step->kind == PD_S_OP) return tt_k_op_can_fail(step->op.kernel);
  if (step->kind == PD_S_CHECK || step->kind == PD_S_COLLECTIVE) return true;
  if (step->kind == PD_S_WHILE) {
    for (int k = 0; k < 2; ++k)
      for (tc_step_t* s = (k ? step->loop_while.body : step->loop_while.cond)->first_step; s; s = s->next) if (tc_step_can_fail(s)) return true;
  }
  if (step->kind == PD_S_CASE) {
    for (uint32_t k = 0; k < step->select.block_count; ++k)
      for (tc_step_t* s = step->select.blocks[k]->first_step; s; s = s->next) if (tc_step_can_fail(s)) return true;
  }
  return false;
}

// Where in the program of a tile memory is read last and written first.
static uint32_t last_read(const tc_loop_t* l, uint32_t access) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < l->instr_count; ++i) {
    const pd_instr_t* in = &l->instrs[i].data;
    if (!l->accesses[access].direct) {
      if (in->op == PD_I_LOAD && in->fn == access) at = i;
      continue;
    }
    for (int k = 0; k < 3; ++k) if (in->src[k] == l->accesses[access].reg) at = i;
  }
  return at;
}
static uint32_t first_write(const tc_loop_t* l, uint32_t access) {
  for (uint32_t i = 0; i < l->instr_count; ++i) {
    const pd_instr_t* in = &l->instrs[i].data;
    if (l->accesses[access].direct ? in->dst == l->accesses[access].reg : in->op == PD_I_STORE && in->fn == access) return i;
  }
  return 0;
}
static bool loop_overwrites_safely(tc_t* c, const tc_loop_t* l, uint32_t from, uint32_t to) {
  bool stores = false;
  for (uint32_t i = 0; i < l->access_count; ++i) {
    if (tc_buffer_find(c, l->accesses[i].buffer) != from) continue;
    if (l->accesses[i].store) return false;
    for (uint32_t k = 0; k < l->access_count; ++k) {
      const tc_access_t* store = &l->accesses[k];
      if (!store->store || tc_buffer_find(c, store->buffer) != to) continue;
      stores = true;
      if (!tc_access_safe(l, &l->accesses[i], store) || last_read(l, i) > first_write(l, k)) return false;
    }
  }
  return stores;
}

// May step W write `to` over `from` (both find()ed)?
static bool step_overwrites_safely(tc_t* c, tc_step_t* w, uint32_t from, uint32_t to) {
  if (!touches(c, w, from)) return true;
  switch (w->kind) {
    case PD_S_LOOP: return loop_overwrites_safely(c, w->loop, from, to);
    case PD_S_COPY:
      return tc_buffer_find(c, w->copy.from) == from && tc_buffer_find(c, w->copy.to) == to && w->copy.bytes == c->buffers[from].bytes;
    case PD_S_OP: {
      // An epilogue runs while the op still works on other elements, and after the op wrote these.
      if (w->loop) return !op_touches(c, w, from) && !op_touches(c, w, to) && loop_overwrites_safely(c, w->loop, from, to);
      if (!w->inplace || w->result_count == 0 || tc_buffer_find(c, w->tensors[w->operand_count].buffer) != to) return false;
      const tc_tensor_t* x = &w->tensors[w->inplace - 1];
      int64_t dense[TT_MAX_RANK];
      tc_row_strides(x->dims, x->rank, dense);
      if (x->offset || c->buffers[from].bytes != c->buffers[to].bytes || memcmp(dense, x->strides, x->rank * sizeof *dense) != 0) return false;
      for (uint32_t i = 0; i < w->operand_count; ++i) if ((tc_buffer_find(c, w->tensors[i].buffer) == from) != (i + 1u == w->inplace)) return false;
      return true;
    }
    default: return false;
  }
}

static tc_step_t* first_touch(tc_t* c, tc_block_t* block, uint32_t buffer) {
  for (tc_step_t* s = block->first_step; s; s = s->next) if (touches(c, s, buffer)) return s;
  return NULL;
}

// ---- dropping copies ---------------------------------------------------------------------------
// `x` ends at step s, where its content goes to `y`: can x live in y from the start?
static bool can_merge(tc_t* c, tc_block_t* block, tc_step_t* s, uint32_t x, uint32_t y) {
  const tc_buffer_t *bx = &c->buffers[x], *by = &c->buffers[y];
  if (x == y || bx->kind != PD_TEMP || bx->pinned || bx->block != block || bx->bytes != by->bytes || by->kind == PD_PARAM || by->kind == PD_CONST) return false;
  for (tc_step_t* later = s->next; later; later = later->next) if (touches(c, later, x)) return false;
  tc_step_t* w = first_touch(c, block, x);
  if (!w || w == s || !step_overwrites_safely(c, w, y, x)) return false;
  for (tc_step_t* k = w->next; k && k != s; k = k->next) if (touches(c, k, y)) return false;
  return true;
}

static void merge(tc_t* c, uint32_t x, uint32_t y) { c->buffers[x].merged = y; }

static void drop_copies(tc_t* c, tc_block_t* block) {
  for (tc_step_t* s = block->first_step; s; s = s->next) {
    if (s->kind == PD_S_COPY) {
      uint32_t x = tc_buffer_find(c, s->copy.from), y = tc_buffer_find(c, s->copy.to);
      if (x != y && s->copy.bytes == c->buffers[x].bytes && can_merge(c, block, s, x, y)) { merge(c, x, y); y = x = tc_buffer_find(c, x); }
      if (x == y) tc_step_remove(s);
    } else if (s->kind == PD_S_OP && s->inplace && s->result_count && s->inplace <= s->operand_count) {
      uint32_t x = tc_buffer_find(c, s->tensors[s->inplace - 1].buffer), y = tc_buffer_find(c, s->tensors[s->operand_count].buffer);
      if (x != y && step_overwrites_safely(c, s, x, y) && can_merge(c, block, s, x, y)) merge(c, x, y);
    } else if (s->kind == PD_S_WHILE) {
      drop_copies(c, s->loop_while.cond);
      drop_copies(c, s->loop_while.body);
    } else if (s->kind == PD_S_CASE) {
      for (uint32_t i = 0; i < s->select.block_count; ++i) drop_copies(c, s->select.blocks[i]);
    }
  }
}

// ---- donation ----------------------------------------------------------------------------------
static void decide_donation(tc_t* c) {
  for (uint32_t r = 0; r < c->main->result_count; ++r) {
    pd_value_t* result = &c->results[r];
    int32_t p = result->alias;
    if (p < 0 || result->passthrough >= 0 || result->bytes == 0) continue;
    bool passes = false;
    for (uint32_t k = 0; k < c->main->result_count; ++k) passes = passes || c->results[k].passthrough == p;
    uint32_t from = PD_NONE, to = PD_NONE;
    for (uint32_t i = 0; i < c->buffer_count; ++i) {
      if (c->buffers[i].kind == PD_PARAM && c->buffers[i].index == (uint32_t)p) from = i;
      if (c->buffers[i].kind == PD_RESULT && c->buffers[i].index == r) to = i;
    }
    tc_step_t* w = first_touch(c, c->main, to);
    // An op that reserves memory fails before it writes.
    if (passes || !w || (w->kind != PD_S_OP && tc_step_can_fail(w)) || !step_overwrites_safely(c, w, from, to)) continue;
    bool legal = true;
    for (tc_step_t* s = w->next; s && legal; s = s->next) legal = !touches(c, s, from) && !tc_step_can_fail(s);
    if (legal) result->donor = p;
  }
}

// ---- epilogues in place ------------------------------------------------------------------------
// The op writes its result where the epilogue puts its own, if nothing else wants either.
static void share_epilogue(tc_t* c, tc_step_t* s, const uint32_t* touched) {
  uint32_t y = s->tensors[s->operand_count].buffer;
  const tc_access_t* load = NULL;
  const tc_loop_t* l = s->loop;
  if (c->buffers[y].kind != PD_TEMP || c->buffers[y].merged != PD_NONE || c->buffers[y].pinned) return;
  uint32_t reads = 0;
  for (uint32_t i = 0; i < l->access_count; ++i) if (l->accesses[i].buffer == y) { load = &l->accesses[i]; ++reads; }
  if (!load || touched[y] != reads + 1) return;
  for (uint32_t i = 0; i < l->access_count; ++i) {
    const tc_access_t* store = &l->accesses[i];
    if (!store->store || store->esize != load->esize || store->offset || memcmp(store->strides, load->strides, l->rank * sizeof *load->strides) != 0) continue;
    uint32_t to = tc_buffer_find(c, store->buffer);
    if (c->buffers[to].bytes != c->buffers[y].bytes || !loop_overwrites_safely(c, l, y, to) || op_touches(c, s, to)) continue;
    bool free = true;                  // what the epilogue reads of `to` would be lost
    for (uint32_t k = 0; k < l->access_count; ++k) free = free && (k == i || tc_buffer_find(c, l->accesses[k].buffer) != to);
    int32_t donor = c->buffers[to].kind == PD_RESULT ? c->results[c->buffers[to].index].donor : -1;
    for (uint32_t k = 0; donor >= 0 && k < c->buffer_count && free; ++k)
      if (c->buffers[k].kind == PD_PARAM && c->buffers[k].index == (uint32_t)donor) free = !touches(c, s, k);
    if (!free) continue;
    c->buffers[y].merged = to;
    return;
  }
}
static void count_fn(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write) {
  (void)step, (void)write;
  ++((uint32_t*)self)[tc_buffer_find(c, buffer)];
}
static void share_epilogues(tc_t* c) {
  bool any = false;
  for (uint32_t b = 0; b < c->blocks; ++b)
    for (tc_step_t* s = c->block_list[b]->first_step; s; s = s->next) any = any || (s->kind == PD_S_OP && s->loop);
  uint32_t* touched = any ? TC_ARRAY(c, uint32_t, c->buffer_count + 1) : NULL;
  if (!touched) return;
  memset(touched, 0, (c->buffer_count + 1) * sizeof *touched);
  visit_block(c, c->main, count_fn, touched);
  for (uint32_t b = 0; b < c->blocks; ++b)
    for (tc_step_t* s = c->block_list[b]->first_step; s; s = s->next) if (s->kind == PD_S_OP && s->loop) share_epilogue(c, s, touched);
}

// ---- lifetimes ---------------------------------------------------------------------------------
static void number_block(tc_t* c, tc_block_t* block, tc_step_t* owner) {
  block->step = owner;
  block->step_count = 0;
  for (tc_step_t* s = block->first_step; s; s = s->next) {
    ++block->step_count;
    s->number = ++c->next_number;
    if (s->kind == PD_S_WHILE) {
      number_block(c, s->loop_while.cond, s);
      ++c->next_number;
      number_block(c, s->loop_while.body, s);
    } else if (s->kind == PD_S_CASE) {
      for (uint32_t i = 0; i < s->select.block_count; ++i) number_block(c, s->select.blocks[i], s);
    }
    s->last = c->next_number;
  }
}

static void live(tc_t* c, tc_block_t* block, uint32_t begin, uint32_t end, uint32_t buffer) {
  tc_buffer_t* b = &c->buffers[tc_buffer_find(c, buffer)];
  b->used = true;
  while (block != b->block && block->step) {     // inside a control step: for all of it
    begin = block->step->number;
    end = block->step->last;
    block = block->step->block;
  }
  b->begin = TT_MIN(b->begin, begin);
  b->end = TT_MAX(b->end, end);
}

static void live_fn(void* self, tc_t* c, tc_step_t* step, uint32_t buffer, bool write) {
  (void)self, (void)write;
  if (step->kind == PD_S_WHILE) {                // the predicate: read after the condition's last step
    tc_block_t* cond = step->loop_while.cond;
    uint32_t at = cond->last_step ? cond->last_step->last + 1 : step->number;
    live(c, cond, at, at, buffer);
    return;
  }
  live(c, step->block, step->number, step->last, buffer);
}

static int by_size(const void* a, const void* b) {
  const tc_buffer_t *x = *(tc_buffer_t* const*)a, *y = *(tc_buffer_t* const*)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x < y ? -1 : x > y;
}

static void lay_out(tc_t* c) {
  uint32_t n = 0;
  tc_buffer_t** temps = TC_ARRAY(c, tc_buffer_t*, c->buffer_count + 1);
  tc_buffer_t** placed = TC_ARRAY(c, tc_buffer_t*, c->buffer_count + 1);
  if (!tc_ok(c)) return;
  for (uint32_t i = 0; i < c->buffer_count; ++i) {
    tc_buffer_t* b = &c->buffers[i];
    if (b->kind == PD_TEMP && b->merged == PD_NONE && b->used && b->bytes > 0) temps[n++] = b;
  }
  if (n == 0) return;
  qsort(temps, n, sizeof *temps, by_size);
  uint32_t count = 0;                            // placed, by rising offset
  for (uint32_t i = 0; i < n; ++i) {
    tc_buffer_t* b = temps[i];
    int64_t size = (int64_t)tt_align_up((size_t)b->bytes + 64, 64), at = 0;    // 64: kernels read past the end
    for (uint32_t k = 0; k < count; ++k) {
      const tc_buffer_t* o = placed[k];
      if (o->end < b->begin || b->end < o->begin) continue;
      if (o->offset >= at + size) break;
      at = TT_MAX(at, o->offset + (int64_t)tt_align_up((size_t)o->bytes + 64, 64));
    }
    b->offset = at;
    uint32_t k = count++;
    for (; k > 0 && placed[k - 1]->offset > at; --k) placed[k] = placed[k - 1];
    placed[k] = b;
    c->temp_bytes = TT_MAX(c->temp_bytes, at + size);
  }
}

void tc_place(tc_t* c) {
  if (!tc_ok(c)) return;
  drop_copies(c, c->main);
  decide_donation(c);
  share_epilogues(c);
  number_block(c, c->main, NULL);
  visit_block(c, c->main, live_fn, NULL);
  lay_out(c);
}
