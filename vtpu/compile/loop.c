// Builds tile programs. A value is pulled through an index map: its row-major element number as an affine
// function of the loop's indices. In this form a reshape changes nothing, and broadcast, transpose, slice and
// reverse only multiply by weights once the element number is split into coordinates. Where one loop dimension
// runs over several dimensions of the value, the loop is refined (split) and the build starts over; where the
// split does not exist, the value is materialised and read by element number, which always works.
#include "compile/internal.h"

#include <string.h>

typedef struct lm_s { int64_t base; int64_t s[TT_MAX_RANK]; } lm_t;   // elements

typedef struct memo_s {
  tc_value_t* value;
  lm_t map;
  uint16_t reg;
  struct memo_s* next;
} memo_t;

enum { MAX_ROOTS = 8 };
typedef struct lb_s {
  tc_t* c;
  tc_block_t* block;
  tc_loop_t* loop;
  memo_t* memos;
  uint32_t rank;
  int64_t dims[TT_MAX_RANK];
  bool reduced[TT_MAX_RANK];
  lm_t* maps;                          // of the roots and of the store: refined with the loop
  uint32_t map_count;
  bool restart;
} lb_t;

// Splits loop dimension k into (n / f, f).
static void refine(lb_t* b, uint32_t k, int64_t f) {
  for (uint32_t d = b->rank; d > k + 1; --d) {
    b->dims[d] = b->dims[d - 1];
    b->reduced[d] = b->reduced[d - 1];
    for (uint32_t m = 0; m < b->map_count; ++m) b->maps[m].s[d] = b->maps[m].s[d - 1];
  }
  b->dims[k + 1] = f;
  b->dims[k] /= f;
  b->reduced[k + 1] = b->reduced[k];
  for (uint32_t m = 0; m < b->map_count; ++m) {
    b->maps[m].s[k + 1] = b->maps[m].s[k];
    b->maps[m].s[k] *= f;
  }
  ++b->rank;
  b->restart = true;
}

// Element number (by `map`) -> base + sum weights[d] * coordinate d, over a value of these dims. False: not
// affine, or the loop was refined (restart).
static bool view_map(lb_t* b, uint32_t rank, const int64_t* dims, int64_t base, const int64_t* weights, const lm_t* map,
                     lm_t* out) {
  int64_t n[TT_MAX_RANK], w[TT_MAX_RANK], rows[TT_MAX_RANK];
  uint32_t count = 0;                  // merged dimensions, innermost first
  memset(out, 0, sizeof *out);
  for (uint32_t d = 0; d < rank; ++d) if (dims[d] == 0) return true;   // nothing is ever read through it
  for (uint32_t d = rank; d-- > 0;) {
    if (dims[d] == 1) continue;
    if (count && weights[d] == w[count - 1] * n[count - 1]) { n[count - 1] *= dims[d]; continue; }
    n[count] = dims[d];
    w[count++] = weights[d];
  }
  out->base = base;
  if (count == 0) return true;
  if (count == 1) {
    out->base += w[0] * map->base;
    for (uint32_t k = 0; k < b->rank; ++k) out->s[k] = w[0] * map->s[k];
    return true;
  }
  int64_t stride = 1;
  for (uint32_t g = 0; g < count; ++g) { rows[g] = stride; stride *= n[g]; }
  int64_t c0[TT_MAX_RANK], lo[TT_MAX_RANK], hi[TT_MAX_RANK], rest = map->base;
  for (uint32_t g = count; g-- > 0;) {
    c0[g] = rest / rows[g];
    rest -= c0[g] * rows[g];
    lo[g] = hi[g] = c0[g];
    out->base += w[g] * c0[g];
  }
  int64_t q[TT_MAX_RANK][TT_MAX_RANK];
  for (uint32_t k = 0; k < b->rank; ++k) {
    int64_t s = map->s[k], sign = s < 0 ? -1 : 1;
    if (b->dims[k] <= 1) s = 0;
    s *= sign;
    for (uint32_t g = count; g-- > 0;) {
      int64_t step = s / rows[g];
      s -= step * rows[g];
      q[k][g] = step * sign;
      int64_t span = q[k][g] * (b->dims[k] - 1);
      if (span < 0) lo[g] += span; else hi[g] += span;
      out->s[k] += w[g] * q[k][g];
    }
  }
  for (uint32_t g = 0; g < count; ++g) {
    if (lo[g] >= 0 && hi[g] < n[g]) continue;
    if (b->rank >= TT_MAX_RANK) return false;
    for (uint32_t k = 0; k < b->rank; ++k) {
      int64_t step = q[k][g] < 0 ? -q[k][g] : q[k][g];
      if (!step || n[g] % step) continue;
      int64_t f = n[g] / step;
      if (f > 1 && f < b->dims[k] && b->dims[k] % f == 0) { refine(b, k, f); return false; }
    }
    return false;
  }
  return true;
}

// ---- program -----------------------------------------------------------------------------------
static uint16_t reg_new(lb_t* b, size_t esize) {
  tc_loop_t* l = b->loop;
  if (l->reg_count >= PD_MAX_REGS) { tc_fail(b->c, TT_INTERNAL, "vtpu: a fused loop needs too many registers"); return 0; }
  l->reg_esize[l->reg_count] = (uint8_t)esize;
  return (uint16_t)l->reg_count++;
}

static tc_instr_t* instr_new(lb_t* b, pd_instr_op_t op, size_t esize, tt_dtype_t dtype) {
  tc_loop_t* l = b->loop;
  size_t capacity = l->instr_capacity;
  if (!tc_push(b->c, (void**)&l->instrs, &capacity, l->instr_count, sizeof(tc_instr_t))) return NULL;
  l->instr_capacity = (uint32_t)capacity;
  tc_instr_t* i = &l->instrs[l->instr_count++];
  memset(i, 0, sizeof *i);
  i->data.op = (uint8_t)op;
  i->data.esize = (uint8_t)esize;
  i->data.dtype = (uint8_t)dtype;
  i->data.dst = i->data.src[0] = i->data.src[1] = i->data.src[2] = PD_NO_REG;
  return i;
}

static uint32_t access_new(lb_t* b, uint32_t buffer, bool store, size_t esize, const lm_t* map, uint16_t reg) {
  tc_loop_t* l = b->loop;
  size_t capacity = l->access_capacity;
  if (!tc_push(b->c, (void**)&l->accesses, &capacity, l->access_count, sizeof(tc_access_t))) return 0;
  l->access_capacity = (uint32_t)capacity;
  tc_access_t* a = &l->accesses[l->access_count];
  memset(a, 0, sizeof *a);
  a->buffer = buffer;
  a->store = store;
  a->esize = (uint8_t)esize;
  a->reg = reg;
  a->offset = map->base * (int64_t)esize;
  for (uint32_t k = 0; k < b->rank; ++k) a->strides[k] = b->dims[k] > 1 ? map->s[k] * (int64_t)esize : 0;
  return l->access_count++;
}

static uint16_t load(lb_t* b, uint32_t buffer, size_t esize, const lm_t* map) {
  tc_loop_t* l = b->loop;
  for (uint32_t i = 0; i < l->access_count; ++i) {
    tc_access_t* a = &l->accesses[i];
    if (a->buffer != buffer || a->esize != esize || a->offset != map->base * (int64_t)esize) continue;
    bool same = true;
    for (uint32_t k = 0; same && k < b->rank; ++k) same = b->dims[k] <= 1 || a->strides[k] == map->s[k] * (int64_t)esize;
    if (same) return a->reg;
  }
  uint16_t reg = reg_new(b, esize);
  uint32_t access = access_new(b, buffer, false, esize, map, reg);
  tc_instr_t* i = instr_new(b, PD_I_LOAD, esize, TT_DTYPE_INVALID);
  if (!i) return 0;
  i->data.dst = reg;
  i->data.fn = access;
  return reg;
}

static uint16_t pull(lb_t* b, tc_value_t* v, const lm_t* map, bool by_definition);

static uint16_t pull_instr(lb_t* b, tc_value_t* v, const lm_t* map) {
  tc_node_t* node = v->def;
  uint16_t src[3] = {PD_NO_REG, PD_NO_REG, PD_NO_REG};
  static const lm_t zero;
  for (uint32_t k = 0; k < node->in_count && k < 3; ++k) {
    tc_value_t* in = node->in[k];
    src[k] = pull(b, in, in->elems == 1 && v->elems != 1 ? &zero : map, false);
    if (b->restart || !tc_ok(b->c)) return 0;
  }
  size_t esize = tt_dtype_bytes(v->dtype);
  tc_instr_t* i = instr_new(b, (pd_instr_op_t)node->instr, esize, (tt_dtype_t)node->lane.dtype);
  if (!i) return 0;
  memcpy(i->data.src, src, sizeof src);
  memcpy(i->data.imm, node->imm, sizeof i->data.imm);
  if (node->instr != PD_I_RPREC) i->data.fn = tc_lane_add(b->c, node->lane);
  uint16_t reg = reg_new(b, esize);
  b->loop->instrs[b->loop->instr_count - 1].data.dst = reg;
  return reg;
}

static uint16_t pull_new(lb_t* b, tc_value_t* v, const lm_t* map, bool by_definition) {
  tc_t* c = b->c;
  size_t esize = tt_dtype_bytes(v->dtype);
  tc_node_t* node = v->def;
  lm_t m;
  if (v->data && v->splat) {
    tc_instr_t* i = instr_new(b, PD_I_FILL, esize, v->dtype);
    if (!i) return 0;
    memcpy(i->data.imm, v->data, esize);
    uint16_t reg = reg_new(b, esize);
    i->data.dst = reg;
    return reg;
  }
  if (!by_definition && v->ready) return load(b, v->buffer, esize, map);
  if (v->data) return load(b, tc_dense(c, b->block, v), esize, map);
  if (!node) { tc_fail(c, TT_INTERNAL, "vtpu: an argument is not in memory"); return 0; }
  switch (node->cls) {
    case TC_IOTA: {
      int64_t weights[TT_MAX_RANK] = {0};
      weights[node->dim] = 1;
      if (!view_map(b, v->rank, v->dims, 0, weights, map, &m)) break;
      tc_instr_t* i = instr_new(b, PD_I_IOTA, esize, v->dtype);
      if (!i) return 0;
      i->data.imm[0] = m.base;
      for (uint32_t k = 0; k < b->rank; ++k) i->strides[k] = b->dims[k] > 1 ? m.s[k] : 0;
      uint16_t reg = reg_new(b, esize);
      b->loop->instrs[b->loop->instr_count - 1].data.dst = reg;
      return reg;
    }
    case TC_ELEMENTWISE:
      return pull_instr(b, v, map);
    case TC_RESHAPE:
      if (esize == tt_dtype_bytes(node->in[0]->dtype)) return pull(b, node->in[0], map, false);
      return load(b, tc_dense(c, b->block, node->in[0]), esize, map);
    case TC_VIEW:
      if (!view_map(b, v->rank, v->dims, node->base, node->weights, map, &m)) break;
      return pull(b, node->in[0], &m, false);
    case TC_STRIDED_READ:
      if (!view_map(b, v->rank, v->dims, node->base, node->weights, map, &m)) break;
      return load(b, tc_dense(c, b->block, node->in[0]), esize, &m);
    default:
      tc_fail(c, TT_INTERNAL, "vtpu: the result of %s is not in memory", node->op ? tt_op_info(node->kind)->name : "a node");
      return 0;
  }
  if (b->restart) return 0;
  if (by_definition) { tc_fail(c, TT_INTERNAL, "vtpu: an index map of %s cannot be formed", tt_op_info(node->kind)->name); return 0; }
  return load(b, tc_dense(c, b->block, v), esize, map);   // a map we cannot express
}

static uint16_t pull(lb_t* b, tc_value_t* v, const lm_t* map, bool by_definition) {
  if (b->restart || !v || !tc_ok(b->c)) return 0;
  bool constant = v->data && v->splat;
  for (memo_t* memo = b->memos; memo; memo = memo->next) {
    if (memo->value == v && (constant || memcmp(&memo->map, map, sizeof *map) == 0)) return memo->reg;
  }
  uint16_t reg = pull_new(b, v, map, by_definition);
  if (b->restart || !tc_ok(b->c)) return 0;
  memo_t* memo = TC_NEW(b->c, memo_t);
  if (!memo) return 0;
  memo->value = v;
  memo->map = *map;
  memo->reg = reg;
  memo->next = b->memos;
  b->memos = memo;
  return reg;
}

// ---- shaping -----------------------------------------------------------------------------------
static void drop_dim(tc_loop_t* l, uint32_t k) {
  for (uint32_t d = k; d + 1 < l->rank; ++d) { l->dims[d] = l->dims[d + 1]; l->reduced[d] = l->reduced[d + 1]; }
  for (uint32_t i = 0; i < l->access_count; ++i)
    for (uint32_t d = k; d + 1 < l->rank; ++d) l->accesses[i].strides[d] = l->accesses[i].strides[d + 1];
  for (uint32_t i = 0; i < l->instr_count; ++i)
    for (uint32_t d = k; d + 1 < l->rank; ++d) l->instrs[i].strides[d] = l->instrs[i].strides[d + 1];
  --l->rank;
}

static bool mergeable(const tc_loop_t* l, uint32_t k) {   // k with k + 1
  if (l->reduced[k] != l->reduced[k + 1]) return false;
  int64_t n = l->dims[k + 1];
  for (uint32_t i = 0; i < l->access_count; ++i)
    if (l->accesses[i].strides[k] != l->accesses[i].strides[k + 1] * n) return false;
  for (uint32_t i = 0; i < l->instr_count; ++i)
    if (l->instrs[i].data.op == PD_I_IOTA && l->instrs[i].strides[k] != l->instrs[i].strides[k + 1] * n) return false;
  return true;
}

void tc_loop_collapse(tc_loop_t* l) {
  for (uint32_t k = l->rank; k-- > 0;) if (l->dims[k] == 1 && l->rank > 1) drop_dim(l, k);
  for (uint32_t k = l->rank; k-- > 1;) {
    if (!mergeable(l, k - 1)) continue;
    int64_t n = l->dims[k - 1];
    for (uint32_t i = 0; i < l->access_count; ++i) l->accesses[i].strides[k - 1] = l->accesses[i].strides[k];
    for (uint32_t i = 0; i < l->instr_count; ++i) l->instrs[i].strides[k - 1] = l->instrs[i].strides[k];
    int64_t inner = l->dims[k];
    drop_dim(l, k);
    l->dims[k - 1] = n * inner;
  }
}

static void move_dim(tc_loop_t* l, uint32_t from, uint32_t to) {   // shifts those between
  int64_t n = l->dims[from];
  bool r = l->reduced[from];
  int step = from < to ? 1 : -1;
  for (uint32_t d = from; d != to; d = (uint32_t)((int)d + step)) {
    l->dims[d] = l->dims[(int)d + step];
    l->reduced[d] = l->reduced[(int)d + step];
  }
  l->dims[to] = n;
  l->reduced[to] = r;
  for (uint32_t i = 0; i < l->access_count + l->instr_count; ++i) {
    int64_t* s = i < l->access_count ? l->accesses[i].strides : l->instrs[i - l->access_count].strides;
    int64_t keep = s[from];
    for (uint32_t d = from; d != to; d = (uint32_t)((int)d + step)) s[d] = s[(int)d + step];
    s[to] = keep;
  }
}

static uint32_t instr_work(const tc_t* c, const pd_instr_t* i) {
  if (i->op == PD_I_LOAD || i->op == PD_I_STORE) return 2;
  if (i->op == PD_I_COMPOUND) return 12;
  if (i->op != PD_I_UNARY && i->op != PD_I_BINARY) return 1;
  const pd_lane_t* lane = &c->lanes[i->fn];
  if (lane->cls != PD_LANE_UNARY && lane->cls != PD_LANE_BINARY) return 1;
  switch (lane->kind) {
    case TT_OP_ADD: case TT_OP_SUBTRACT: case TT_OP_MULTIPLY: case TT_OP_MAXIMUM: case TT_OP_MINIMUM: case TT_OP_AND:
    case TT_OP_OR: case TT_OP_XOR: case TT_OP_NOT: case TT_OP_NEGATE: case TT_OP_ABS: case TT_OP_SIGN: case TT_OP_REAL:
    case TT_OP_IMAG: case TT_OP_FLOOR: case TT_OP_CEIL: return 1;
    case TT_OP_DIVIDE: case TT_OP_SQRT: case TT_OP_RSQRT: return 2;
    default: return 8;
  }
}

static bool all_zero(const int64_t* s, uint32_t rank) {
  for (uint32_t k = 0; k < rank; ++k) if (s[k]) return false;
  return true;
}

// Loads and fills that never change go first and run once a worker; then loads that change with the row only.
static void hoist(tc_loop_t* l, tc_instr_t* scratch) {
  uint32_t n = 0;
  for (int pass = 0; pass < 3; ++pass) {
    for (uint32_t i = 0; i < l->instr_count; ++i) {
      const tc_instr_t* in = &l->instrs[i];
      int rank = 2;
      if (in->data.op == PD_I_FILL) rank = 0;
      if (in->data.op == PD_I_LOAD && l->elems > 1) {
        const int64_t* s = l->accesses[in->data.fn].strides;
        if (all_zero(s, l->rank)) rank = 0;
        else if (l->mode == PD_MODE_ROWS && all_zero(s, l->rank - 1)) rank = 0;   // every row the same: so is every tile
        else if (l->mode == PD_MODE_ROW && s[l->rank - 1] == 0 && l->dims[l->rank - 1] > 1) rank = 1;
      }
      if (rank == pass) scratch[n++] = *in;
    }
    if (pass == 0) l->hoist_count = n;
    if (pass == 1) l->row_count = n - l->hoist_count;
  }
  memcpy(l->instrs, scratch, n * sizeof *scratch);
}

static bool access_direct(const tc_loop_t* l, const tc_access_t* a) {
  if (l->mode == PD_MODE_BLOCK) return false;
  if (l->dims[l->rank - 1] > 1 && a->strides[l->rank - 1] != a->esize) return false;
  if (l->mode == PD_MODE_ROW) return true;
  int64_t stride = a->esize;
  for (uint32_t k = l->rank; k-- > 0;) {
    if (l->dims[k] > 1 && a->strides[k] != stride) return false;
    stride *= l->dims[k];
  }
  return true;
}

static void choose_mode(tc_loop_t* l, bool is_reduce) {
  uint32_t inner = l->rank - 1;
  int64_t n = l->dims[inner], outer = n ? l->elems / n : 0;
  int64_t tile = 1024;
  l->mode = PD_MODE_ROW;
  l->tile_rows = 1;
  if (!is_reduce) {
    for (uint32_t i = 0; i < l->access_count; ++i) {
      const tc_access_t* a = &l->accesses[i];
      if (a->strides[inner] == a->esize || a->strides[inner] == 0 || n < 8) continue;
      for (uint32_t k = 0; k < inner; ++k) {
        if (a->strides[k] != a->esize || l->dims[k] < 8) continue;
        l->mode = PD_MODE_BLOCK;
        l->row_dim = k;
        // Two cache lines of the source along the rows, long runs of the destination: 59 ms instead of 130 ms
        // for squares of 32 at 4096 x 4096 float32.
        l->tile_rows = (uint32_t)TT_MIN(l->dims[k], (int64_t)(128 / a->esize));
        l->tile_cols = (uint32_t)TT_MIN(n, TT_MAX(4 * tile / l->tile_rows, (int64_t)32));
        return;
      }
    }
  }
  if (l->rank == 1 || n >= 512) {
    l->tile_cols = (uint32_t)TT_MAX(TT_MIN(n, tile), (int64_t)1);
    return;
  }
  l->mode = PD_MODE_ROWS;
  l->tile_cols = (uint32_t)TT_MAX(n, (int64_t)1);
  l->tile_rows = (uint32_t)TT_MAX(TT_MIN(outer, tile / l->tile_cols), (int64_t)1);
}

// Whether accesses run across rows: tiles are blocks then.
bool tc_loop_transposes(tc_loop_t* l) {
  choose_mode(l, false);
  return l->mode == PD_MODE_BLOCK;
}

// Makes store `store` write its register: where the register is made, when its memory is the tile's own; else by
// an instruction at the end. `taken`: registers that already are another store's memory.
static void place_store(lb_t* b, uint32_t store, bool alone, bool* taken) {
  tc_loop_t* l = b->loop;
  tc_access_t* a = &l->accesses[store];
  bool fixed = taken[a->reg];
  for (uint32_t i = 0; i < l->instr_count && !fixed; ++i) {
    const tc_instr_t* in = &l->instrs[i];
    if (in->data.dst != a->reg) continue;
    fixed = i < l->hoist_count + l->row_count || (in->data.op == PD_I_LOAD && l->accesses[in->data.fn].direct);
    if (fixed && a->direct && alone && l->instr_count == 1 && (in->data.op == PD_I_FILL || l->row_count)) {   // nothing but a fill
      l->hoist_count = l->row_count = 0;
      fixed = false;
    }
    break;
  }
  if (a->direct && fixed) {            // a loaded or hoisted register, or one with a place, has to be moved
    uint16_t reg = reg_new(b, a->esize);
    tc_instr_t* move = instr_new(b, PD_I_MOVE, a->esize, TT_DTYPE_INVALID);
    if (!move) return;
    move->data.src[0] = a->reg;
    move->data.dst = reg;
    a->reg = reg;
  } else if (!a->direct) {
    tc_instr_t* put = instr_new(b, PD_I_STORE, a->esize, TT_DTYPE_INVALID);
    if (!put) return;
    put->data.src[0] = a->reg;
    put->data.fn = store;
  }
  if (a->direct) taken[a->reg] = true;
}

// Direct accesses, register slots, tile size. `keep`: registers that outlive the program (values of a reduction).
static void finish(lb_t* b, const uint16_t* keep, uint32_t keep_count) {
  tc_t* c = b->c;
  tc_loop_t* l = b->loop;
  tc_compound_join(c, l, keep, keep_count);
  uint32_t stores = 0;
  for (uint32_t i = 0; i < l->access_count; ++i) stores += l->accesses[i].store;
  tc_instr_t* scratch = TC_ARRAY(c, tc_instr_t, l->instr_count + 1);
  l->slots = TC_ARRAY(c, uint16_t, PD_MAX_REGS);
  if (!tc_ok(c)) return;
  choose_mode(l, keep_count > 0);
  for (uint32_t i = 0; i < l->access_count; ++i) l->accesses[i].direct = access_direct(l, &l->accesses[i]);
  hoist(l, scratch);
  bool direct[PD_MAX_REGS] = {false};
  for (uint32_t i = 0; i < l->access_count && tc_ok(c); ++i) if (l->accesses[i].store) place_store(b, i, stores == 1, direct);
  if (!tc_ok(c)) return;
  // Direct loads need no instruction; a hoisted load does, whatever its strides.
  uint32_t n = 0, hoisted = 0;
  uint32_t lasting = l->hoist_count + l->row_count;    // their registers live through the loop
  for (uint32_t i = 0; i < l->instr_count; ++i) {
    tc_instr_t in = l->instrs[i];
    bool is_hoisted = i < l->hoist_count;
    if (in.data.op == PD_I_LOAD) {
      tc_access_t* a = &l->accesses[in.data.fn];
      if (is_hoisted) a->direct = false;
      if (a->direct) { direct[a->reg] = true; continue; }
    }
    hoisted += is_hoisted;
    l->instrs[n++] = in;
  }
  l->instr_count = n;
  l->hoist_count = hoisted;
  // Linear scan over the registers.
  uint16_t last[PD_MAX_REGS];
  memset(last, 0, sizeof last);
  for (uint32_t i = 0; i < n; ++i) {
    for (int k = 0; k < 3; ++k) if (l->instrs[i].data.src[k] != PD_NO_REG) last[l->instrs[i].data.src[k]] = (uint16_t)i;
  }
  for (uint32_t i = 0; i < keep_count; ++i) last[keep[i]] = UINT16_MAX;
  uint16_t free_slots[PD_MAX_REGS];
  uint32_t free_count = 0;
  size_t widest = 1;
  l->work = 0;
  memset(l->slots, 0xff, PD_MAX_REGS * sizeof(uint16_t));
  for (uint32_t i = 0; i < n; ++i) {
    pd_instr_t* in = &l->instrs[i].data;
    l->work += instr_work(c, in);
    uint16_t dying[3];
    uint32_t dying_count = 0;
    if (i >= lasting) {
      for (int k = 0; k < 3; ++k) {
        uint16_t r = in->src[k];
        if (r == PD_NO_REG || direct[r] || l->slots[r] == PD_NO_REG || last[r] != i) continue;
        bool seen = false, is_hoisted = false;
        for (int j = 0; j < k; ++j) seen = seen || in->src[j] == r;
        for (uint32_t j = 0; j < lasting; ++j) is_hoisted = is_hoisted || l->instrs[j].data.dst == r;
        if (seen || is_hoisted) continue;
        if (l->reg_esize[r] == in->esize) free_slots[free_count++] = l->slots[r];
        else dying[dying_count++] = l->slots[r];
      }
    }
    if (in->dst != PD_NO_REG && !direct[in->dst] && l->slots[in->dst] == PD_NO_REG) {
      l->slots[in->dst] = free_count ? free_slots[--free_count] : (uint16_t)l->slot_count++;
      widest = TT_MAX(widest, (size_t)in->esize);
    }
    for (uint32_t k = 0; k < dying_count; ++k) free_slots[free_count++] = dying[k];
  }
  l->work = TT_MAX(l->work, 1u);
  // One pass over memory with no register: longer tiles cost less.
  if (l->mode == PD_MODE_ROW && l->slot_count == 0 && n <= 1 && keep_count == 0)
    l->tile_cols = (uint32_t)TT_MIN(TT_MAX(l->dims[l->rank - 1], (int64_t)1), (int64_t)8192);
  if (l->mode == PD_MODE_ROW && keep_count && l->slot_count == 0)
    l->tile_cols = (uint32_t)TT_MIN(TT_MAX(l->dims[l->rank - 1], (int64_t)1), (int64_t)4096);
  while ((size_t)l->tile_rows * l->tile_cols * widest * l->slot_count > PD_SLOT_BYTES / 2 - 64) {
    if (l->mode == PD_MODE_BLOCK && l->tile_cols > 32) l->tile_cols = (l->tile_cols + 1) / 2;
    else if (l->tile_rows > 1) l->tile_rows = (l->tile_rows + 1) / 2;
    else if (l->tile_cols > 64 && l->mode == PD_MODE_ROW) l->tile_cols = (l->tile_cols + 1) / 2;
    else break;
  }
  l->slot_bytes = (uint32_t)tt_align_up((size_t)l->tile_rows * l->tile_cols * widest, 64);
  if ((size_t)l->slot_bytes * l->slot_count + 64 > PD_SLOT_BYTES) tc_fail(c, TT_INTERNAL, "vtpu: a fused loop needs too many registers");
  for (uint32_t i = 0; i < l->access_count; ++i) {
    c->bytes_accessed += (double)l->elems * l->accesses[i].esize;
  }
  c->flops += (double)l->elems * l->instr_count;
}

static void build_begin(lb_t* b) {
  b->restart = false;
  b->memos = NULL;
  b->loop = TC_NEW(b->c, tc_loop_t);
  if (!b->loop) return;
  b->loop->reg_esize = TC_ARRAY(b->c, uint8_t, PD_MAX_REGS);
  b->loop->rank = b->rank;
  memcpy(b->loop->dims, b->dims, sizeof b->dims);
  memcpy(b->loop->reduced, b->reduced, sizeof b->reduced);
  b->loop->elems = 1;
  for (uint32_t k = 0; k < b->rank; ++k) b->loop->elems *= b->dims[k];
}

static void begin_dims(lb_t* b, uint32_t rank, const int64_t* dims, lm_t* maps, uint32_t map_count) {
  b->rank = rank;
  memcpy(b->dims, dims, rank * sizeof *dims);
  if (rank == 0) { b->rank = 1; b->dims[0] = 1; }
  b->maps = maps;
  b->map_count = map_count;
}

static void set_map(lb_t* b, lm_t* map, int64_t base, const int64_t* weights, uint32_t rank) {
  memset(map, 0, sizeof *map);
  map->base = base;
  if (weights) memcpy(map->s, weights, rank * sizeof *weights);
  else tc_row_strides(b->dims, rank, map->s);
}

void tc_loop_store(tc_t* c, tc_block_t* block, uint32_t rank, const int64_t* dims, tc_value_t* value,
                   int64_t load_base, const int64_t* load_weights, uint32_t buffer, int64_t store_base,
                   const int64_t* store_weights, bool by_definition) {
  if (!tc_ok(c)) return;
  for (uint32_t d = 0; d < rank; ++d) if (dims[d] == 0) return;
  lb_t b;
  memset(&b, 0, sizeof b);
  b.c = c;
  b.block = block;
  lm_t maps[2];
  begin_dims(&b, rank, dims, maps, 2);
  set_map(&b, &maps[0], load_base, load_weights, rank);
  set_map(&b, &maps[1], store_base, store_weights, rank);
  uint16_t reg;
  do {
    build_begin(&b);
    if (!tc_ok(c)) return;
    lm_t map = maps[0];
    reg = pull(&b, value, &map, by_definition);
    if (!tc_ok(c)) return;
  } while (b.restart);
  (void)access_new(&b, buffer, true, tt_dtype_bytes(value->dtype), &maps[1], reg);
  if (!tc_ok(c)) return;
  if (b.loop->access_count > PD_MAX_ACCESSES) { tc_fail(c, TT_INTERNAL, "vtpu: a fused loop reads too many buffers"); return; }
  tc_loop_collapse(b.loop);
  tc_step_t* step = tc_step_add(c, block, PD_S_LOOP);
  if (step) step->loop = b.loop;
}

tc_loop_t* tc_loop_reduce(tc_t* c, tc_block_t* block, uint32_t count, tc_value_t* const* values, const bool* reduced,
                          const tt_dtype_t* widen, pd_reduce_layout_t* out_layout, uint16_t* out_regs) {
  if (!tc_ok(c)) return NULL;
  lb_t b;
  memset(&b, 0, sizeof b);
  b.c = c;
  b.block = block;
  lm_t maps[1];
  begin_dims(&b, values[0]->rank, values[0]->dims, maps, 1);
  memcpy(b.reduced, reduced, values[0]->rank * sizeof *reduced);
  set_map(&b, &maps[0], 0, NULL, values[0]->rank);
  do {
    build_begin(&b);
    for (uint32_t i = 0; i < count && tc_ok(c) && !b.restart; ++i) {
      lm_t map = maps[0];
      out_regs[i] = pull(&b, values[i], &map, false);
      if (b.restart || !tc_ok(c) || widen[i] == values[i]->dtype) continue;
      tc_instr_t* in = instr_new(&b, PD_I_UNARY, tt_dtype_bytes(widen[i]), values[i]->dtype);
      if (!in) return NULL;
      pd_lane_t lane = {.cls = PD_LANE_CONVERT, .dtype = (uint8_t)values[i]->dtype, .dtype2 = (uint8_t)widen[i]};
      in->data.src[0] = out_regs[i];
      in->data.fn = tc_lane_add(c, lane);
      out_regs[i] = reg_new(&b, tt_dtype_bytes(widen[i]));
      b.loop->instrs[b.loop->instr_count - 1].data.dst = out_regs[i];
    }
    if (!tc_ok(c)) return NULL;
  } while (b.restart);
  tc_loop_t* l = b.loop;
  if (l->access_count > PD_MAX_ACCESSES) return tc_fail(c, TT_INTERNAL, "vtpu: a fused loop reads too many buffers");
  tc_loop_collapse(l);
  // The innermost dimension: the one that most loads run along; ties go to the last.
  // A kept one must be the last kept one: outputs are written in order.
  uint32_t inner = l->rank - 1, best = 0;
  bool kept_seen = false;
  for (uint32_t k = l->rank; k-- > 0;) {
    uint32_t score = 0;
    if (!l->reduced[k] && kept_seen) continue;
    kept_seen = kept_seen || !l->reduced[k];
    for (uint32_t i = 0; i < l->access_count; ++i) score += l->dims[k] > 1 && l->accesses[i].strides[k] == l->accesses[i].esize;
    if (score > best) { best = score; inner = k; }
  }
  *out_layout = l->reduced[inner] ? PD_R_INNER : PD_R_OUTER;
  move_dim(l, inner, l->rank - 1);
  uint32_t limit = l->rank - 1;        // of the others: kept first, order unchanged
  for (uint32_t k = 0, placed = 0; k < limit; ++k) {
    if (!l->reduced[k]) { move_dim(l, k, placed); ++placed; }
  }
  tc_loop_collapse(l);
  bool any_reduced = false;
  for (uint32_t k = 0; k < l->rank; ++k) any_reduced = any_reduced || l->reduced[k];
  if (!any_reduced) *out_layout = PD_R_OUTER;
  finish(&b, out_regs, count);
  return tc_ok(c) ? l : NULL;
}

void tc_loop_finish(tc_t* c, tc_loop_t* loop) {
  lb_t b = {.c = c, .loop = loop};
  finish(&b, NULL, 0);
}

bool tc_view_resolve(tc_t* c, tc_value_t* value, tc_value_t** out_source, int64_t* out_base, int64_t* out_strides) {
  lb_t b;
  memset(&b, 0, sizeof b);
  b.c = c;
  lm_t map, next;
  begin_dims(&b, value->rank, value->dims, &map, 0);
  set_map(&b, &map, 0, NULL, value->rank);
  tc_value_t* v = value;
  while (!v->ready && v->def && !v->data) {
    tc_node_t* node = v->def;
    if (node->cls == TC_RESHAPE && tt_dtype_bytes(v->dtype) == tt_dtype_bytes(node->in[0]->dtype)) { v = node->in[0]; continue; }
    if (node->cls != TC_VIEW && node->cls != TC_STRIDED_READ) break;
    if (b.rank > TT_MAX_RANK || !view_map(&b, v->rank, v->dims, node->base, node->weights, &map, &next) || b.restart) return false;
    map = next;
    v = node->in[0];
    if (node->cls == TC_STRIDED_READ) break;   // another dtype may lie below
  }
  *out_source = v;
  *out_base = map.base;
  memcpy(out_strides, map.s, value->rank * sizeof *out_strides);
  return true;
}
