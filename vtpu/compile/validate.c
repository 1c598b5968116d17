// Checks plan bytes as hostile input: every offset, count, index and reach of an access. What it cannot check
// are the parameter blobs of op kernels, which only their kernels understand: bytes from elsewhere carry a
// checksum for accidents, and a durable cache must authenticate them against intent.
#include <string.h>

#include "compile/plan_load.h"

typedef struct v_s {
  const char* bytes;
  size_t size;
  const pd_header_t* h;
  const pd_buffer_t* buffers;
  const pd_block_t* blocks;
  uint32_t* block_depth;
} v_t;

static tt_status_t bad(const char* what) { return tt_status_create(TT_DATA_LOSS, "plan: %s", what); }
#define CHECK(condition, what) do { if (TT_UNLIKELY(!(condition))) return bad(what); } while (0)

static bool inside(const v_t* v, uint64_t at, uint64_t count, size_t size, size_t alignment) {
  return at % alignment == 0 && at <= v->size && count <= (v->size - at) / size;
}
#define INSIDE(v, at, count, type) inside((v), (at), (count), sizeof(type), _Alignof(type))

static tt_status_t check_dims(const v_t* v, uint32_t at, uint32_t rank, int64_t* out_elems) {
  CHECK(rank <= TT_MAX_RANK && INSIDE(v, at, rank, int64_t), "dimensions");
  const int64_t* dims = PD_AT(v->bytes, at, int64_t);
  for (uint32_t d = 0; d < rank; ++d) CHECK(dims[d] >= 0, "a negative dimension");
  CHECK(tt_checked_product(dims, rank, out_elems), "an element count overflows");
  return TT_OK_STATUS;
}

// Elements of `esize` at offset + sum strides (in `unit` bytes) stay inside the buffer and are aligned.
static tt_status_t check_reach(const v_t* v, uint32_t buffer, int64_t offset, const int64_t* dims, const int64_t* strides,
                               uint32_t rank, int64_t unit, int64_t esize) {
  CHECK(buffer < v->h->buffer_count, "a buffer number");
  int64_t lo = offset, hi = offset, align = esize < 8 ? esize : 8;
  for (uint32_t d = 0; d < rank; ++d) {
    int64_t span;
    if (dims[d] == 0) return TT_OK_STATUS;
    if (unit == 1) CHECK(dims[d] == 1 || strides[d] % align == 0, "an access out of alignment");
    CHECK(tt_checked_mul_i64(strides[d], dims[d] - 1, &span) && tt_checked_mul_i64(span, unit, &span) &&
          !__builtin_add_overflow(span < 0 ? lo : hi, span, span < 0 ? &lo : &hi), "an access overflows");
  }
  CHECK(lo >= 0 && hi <= v->buffers[buffer].bytes - esize, "an access outside its buffer");
  CHECK(offset % align == 0, "an access out of alignment");
  return TT_OK_STATUS;
}

static tt_status_t check_whole(const v_t* v, uint32_t buffer, int64_t bytes) {
  CHECK(buffer < v->h->buffer_count && bytes >= 0 && v->buffers[buffer].bytes >= bytes, "a buffer is too small");
  return TT_OK_STATUS;
}

static bool is_power_esize(uint32_t e) { return e == 1 || e == 2 || e == 4 || e == 8 || e == 16; }

// Bytes of an element that a lane kernel reads (operand k) and writes (k < 0).
static uint32_t lane_esize(const pd_lane_t* lane, int k) {
  uint32_t size = (uint32_t)tt_dtype_bytes((tt_dtype_t)lane->dtype);
  switch (lane->cls) {
    case PD_LANE_SELECT: return k == 0 ? 1 : lane->extra;
    case PD_LANE_COMPARE: return k < 0 ? 1 : size;
    case PD_LANE_CONVERT: return k < 0 ? (uint32_t)tt_dtype_bytes((tt_dtype_t)lane->dtype2) : size;
    default: break;
  }
  if (k >= 0 || lane->cls == PD_LANE_COMPOUND) return size;
  switch (lane->kind) {
    case TT_OP_IS_FINITE: case TT_OP_CHLO_IS_INF: case TT_OP_CHLO_IS_NEG_INF: case TT_OP_CHLO_IS_POS_INF: return 1;
    case TT_OP_COMPLEX: return 2 * size;
    case TT_OP_ABS: case TT_OP_REAL: case TT_OP_IMAG: return (uint32_t)tt_dtype_bytes(tt_dtype_real_part((tt_dtype_t)lane->dtype));
    default: return size;
  }
}

// Registers named by instructions exist, lanes have the class that the instruction calls, and element sizes
// agree. `esizes`: of registers known before (arguments, direct accesses), 0 else; completed here.
static tt_status_t check_instrs(const v_t* v, const pd_instr_t* instrs, uint32_t count, uint32_t regs, const pd_access_t* accesses,
                                uint32_t access_count, uint32_t rank, uint8_t* esizes) {
  const pd_lane_t* lanes = PD_AT(v->bytes, v->h->lanes_at, pd_lane_t);
  for (uint32_t i = 0; i < count; ++i) {
    const pd_instr_t* in = &instrs[i];
    CHECK(in->op < PD_I_OPS && is_power_esize(in->esize), "an instruction");
    int sources = in->op == PD_I_TERNARY ? 3 : in->op == PD_I_BINARY ? 2 : in->op == PD_I_LOAD || in->op == PD_I_FILL || in->op == PD_I_IOTA ? 0 : 1;
    for (int k = 0; k < 3; ++k) CHECK((in->src[k] < regs && k < sources) || (in->src[k] == PD_NO_REG && k >= sources), "a source register");
    CHECK(in->dst < regs || (in->op == PD_I_STORE && in->dst == PD_NO_REG), "a destination register");
    uint32_t want[3] = {in->esize, in->esize, in->esize};
    switch (in->op) {
      case PD_I_LOAD: case PD_I_STORE:
        CHECK(in->fn < access_count && accesses[in->fn].esize == in->esize && (accesses[in->fn].store != 0) == (in->op == PD_I_STORE), "an access number");
        break;
      case PD_I_IOTA: case PD_I_RPREC:
        CHECK(in->dtype > 0 && in->dtype < TT_DTYPE_COUNT && tt_dtype_bytes((tt_dtype_t)in->dtype) == in->esize, "an instruction's dtype");
        if (in->op == PD_I_IOTA) CHECK(rank && INSIDE(v, in->strides_at, rank, int64_t), "iota strides");
        break;
      case PD_I_UNARY: case PD_I_BINARY: case PD_I_TERNARY: case PD_I_COMPOUND: {
        CHECK(in->fn < v->h->lane_count, "a lane number");
        const pd_lane_t* lane = &lanes[in->fn];
        uint32_t cls = lane->cls;
        CHECK(in->op == PD_I_COMPOUND ? cls == PD_LANE_COMPOUND
              : in->op == PD_I_UNARY ? cls == PD_LANE_UNARY || cls == PD_LANE_CONVERT
              : in->op == PD_I_BINARY ? cls == PD_LANE_BINARY || cls == PD_LANE_COMPARE : cls == PD_LANE_SELECT || cls == PD_LANE_CLAMP, "a lane's class");
        CHECK(lane_esize(lane, -1) == in->esize, "a lane's result size");
        for (int k = 0; k < sources; ++k) want[k] = lane_esize(lane, k);
        break;
      }
      default: break;
    }
    for (int k = 0; k < sources; ++k) CHECK(esizes[in->src[k]] == want[k], "a register's element size");
    if (in->dst != PD_NO_REG) {
      CHECK(esizes[in->dst] == 0 || esizes[in->dst] == in->esize, "a register's element size");
      esizes[in->dst] = in->esize;
    }
  }
  return TT_OK_STATUS;
}

// *out_esizes: of each register with memory, [PD_MAX_REGS].
static tt_status_t check_loop(const v_t* v, uint32_t at, bool reduce, uint8_t* out_esizes) {
  CHECK(INSIDE(v, at, 1, pd_loop_t), "a loop");
  const pd_loop_t* l = PD_AT(v->bytes, at, pd_loop_t);
  int64_t elems;
  CHECK(l->rank >= 1, "a loop without dimensions");
  TT_RETURN_IF_ERROR(check_dims(v, l->dims_at, l->rank, &elems));
  const int64_t* dims = PD_AT(v->bytes, l->dims_at, int64_t);
  CHECK(elems == l->elems && elems > 0, "a loop's element count");
  CHECK(l->mode <= PD_MODE_BLOCK && l->tile_rows >= 1 && l->tile_cols >= 1 && l->tile_rows <= 65536 && l->tile_cols <= 65536, "a loop's tile");
  if (l->mode == PD_MODE_ROWS) CHECK(l->rank >= 2 && l->tile_cols == (uint64_t)dims[l->rank - 1], "a tile of rows");
  if (l->mode == PD_MODE_ROW) CHECK(l->tile_rows == 1, "a tile of one row");
  int64_t inner = dims[l->rank - 1], outer = elems / inner, cols = (inner + l->tile_cols - 1) / l->tile_cols;
  CHECK(l->col_tiles == cols, "a loop's tiles");
  if (l->mode == PD_MODE_ROW) CHECK(l->tiles == outer * cols, "a loop's tiles");
  if (l->mode == PD_MODE_ROWS) CHECK(l->tiles == (outer + l->tile_rows - 1) / l->tile_rows, "a loop's tiles");
  if (l->mode == PD_MODE_BLOCK) CHECK(!reduce && l->rank >= 2 && l->row_dim < l->rank - 1, "a block tile");
  if (l->mode == PD_MODE_BLOCK) CHECK(l->tiles == outer / dims[l->row_dim] * ((dims[l->row_dim] + l->tile_rows - 1) / l->tile_rows) * cols, "a loop's tiles");
  CHECK(l->access_count <= PD_MAX_ACCESSES && INSIDE(v, l->accesses_at, l->access_count, pd_access_t), "accesses");
  CHECK(l->reg_count <= PD_MAX_REGS && INSIDE(v, l->slots_at, l->reg_count, uint16_t), "registers");
  CHECK(l->slot_count <= PD_MAX_REGS && (uint64_t)l->slot_count * l->slot_bytes + 64 <= PD_SLOT_BYTES, "slots");
  CHECK(l->instr_count <= 4096 && l->hoist_count <= l->instr_count && l->row_count <= l->instr_count - l->hoist_count && (l->row_count == 0 || l->mode == PD_MODE_ROW) && INSIDE(v, l->instrs_at, l->instr_count, pd_instr_t), "instructions");
  const uint16_t* slots = PD_AT(v->bytes, l->slots_at, uint16_t);
  const pd_access_t* a = PD_AT(v->bytes, l->accesses_at, pd_access_t);
  const pd_instr_t* instrs = PD_AT(v->bytes, l->instrs_at, pd_instr_t);
  bool has_memory[PD_MAX_REGS] = {false};
  for (uint32_t r = 0; r < l->reg_count; ++r) {
    CHECK(slots[r] == PD_NO_REG || slots[r] < l->slot_count, "a slot number");
    has_memory[r] = slots[r] != PD_NO_REG;
  }
  for (uint32_t i = 0; i < l->access_count; ++i) {
    CHECK(a[i].reg < l->reg_count && is_power_esize(a[i].esize) && INSIDE(v, a[i].strides_at, l->rank, int64_t), "an access");
    TT_RETURN_IF_ERROR(check_reach(v, a[i].buffer, a[i].offset, dims, PD_AT(v->bytes, a[i].strides_at, int64_t), l->rank, 1, a[i].esize));
    CHECK(!a[i].store || v->buffers[a[i].buffer].kind == PD_TEMP || v->buffers[a[i].buffer].kind == PD_RESULT, "a store into a parameter or constant");
    const int64_t* s = PD_AT(v->bytes, a[i].strides_at, int64_t);
    if (a[i].direct) {
      CHECK(l->mode != PD_MODE_BLOCK && (dims[l->rank - 1] <= 1 || s[l->rank - 1] == a[i].esize), "a direct access that is not contiguous");
      int64_t stride = a[i].esize;
      for (uint32_t k = l->rank; l->mode == PD_MODE_ROWS && k-- > 0;) {
        CHECK(dims[k] <= 1 || s[k] == stride, "a direct access that is not contiguous");
        stride *= dims[k];
      }
      has_memory[a[i].reg] = true;
    } else {
      CHECK(s[l->rank - 1] % a[i].esize == 0, "an access between elements");
    }
  }
  memset(out_esizes, 0, PD_MAX_REGS);
  for (uint32_t i = 0; i < l->access_count; ++i) {
    CHECK(a[i].store <= 1 && (!a[i].store || !reduce), "a store");
    if (!a[i].direct) continue;
    CHECK(out_esizes[a[i].reg] == 0 && slots[a[i].reg] == PD_NO_REG, "a register of two addresses");
    out_esizes[a[i].reg] = a[i].esize;
  }
  TT_RETURN_IF_ERROR(check_instrs(v, instrs, l->instr_count, l->reg_count, a, l->access_count, l->rank, out_esizes));
  uint64_t tile = (uint64_t)l->tile_rows * l->tile_cols;
  for (uint32_t i = 0; i < l->instr_count; ++i) {
    for (uint32_t k = 0; k < l->access_count; ++k)         // only stores are written through
      CHECK(!a[k].direct || a[k].store || instrs[i].dst != a[k].reg, "an instruction writes a loaded register");
    for (int k = 0; k < 3; ++k) CHECK(instrs[i].src[k] == PD_NO_REG || has_memory[instrs[i].src[k]], "a register without memory");
    CHECK(instrs[i].dst == PD_NO_REG || has_memory[instrs[i].dst], "a register without memory");
    if (instrs[i].dst != PD_NO_REG && slots[instrs[i].dst] != PD_NO_REG) CHECK(tile * instrs[i].esize <= l->slot_bytes, "a slot is smaller than its tile");
    if (instrs[i].op == PD_I_IOTA) {   // its values stay far from the ends of int64
      const int64_t* s = PD_AT(v->bytes, instrs[i].strides_at, int64_t);
      const int64_t far = (int64_t)1 << 60;
      CHECK(instrs[i].imm[0] > -far && instrs[i].imm[0] < far, "an iota");
      for (uint32_t k = 0; k < l->rank; ++k) {
        int64_t span;
        CHECK(tt_checked_mul_i64(s[k], dims[k], &span) && span > -far / TT_MAX_RANK && span < far / TT_MAX_RANK, "an iota");
      }
    }
    if (i < l->hoist_count && instrs[i].op == PD_I_LOAD) {      // the same for every tile
      const int64_t* s = PD_AT(v->bytes, a[instrs[i].fn].strides_at, int64_t);
      for (uint32_t k = 0; k < l->rank; ++k) CHECK(s[k] == 0 || (k == l->rank - 1 && l->mode == PD_MODE_ROWS), "a hoisted load");
    }
    if (i < l->hoist_count + l->row_count) {
      CHECK(instrs[i].op == PD_I_LOAD || (instrs[i].op == PD_I_FILL && i < l->hoist_count), "a hoisted instruction");
      CHECK(slots[instrs[i].dst] != PD_NO_REG, "a hoisted instruction");
      if (i >= l->hoist_count) CHECK(PD_AT(v->bytes, a[instrs[i].fn].strides_at, int64_t)[l->rank - 1] == 0, "a load once a row");
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t check_region(const v_t* v, uint32_t number) {
  CHECK(number < v->h->region_count, "a region number");
  uint32_t at = PD_AT(v->bytes, v->h->regions_at, uint32_t)[number];
  CHECK(INSIDE(v, at, 1, pd_region_t), "a region");
  const pd_region_t* r = PD_AT(v->bytes, at, pd_region_t);
  CHECK(r->reg_count <= PD_MAX_REGS && r->arg_count <= r->reg_count && r->result_count <= r->reg_count, "a region's registers");
  CHECK(INSIDE(v, r->slots_at, r->reg_count, uint16_t) && INSIDE(v, r->results_at, r->result_count, uint16_t), "a region's tables");
  CHECK(r->slot_count <= PD_MAX_REGS && r->slot_bytes <= PD_REGION_LANES * 16 && r->instr_count <= 4096, "a region's size");
  CHECK(INSIDE(v, r->instrs_at, r->instr_count, pd_instr_t) && r->capture_count <= PD_MAX_ACCESSES && INSIDE(v, r->captures_at, r->capture_count, pd_access_t), "a region's program");
  const uint16_t* slots = PD_AT(v->bytes, r->slots_at, uint16_t);
  const uint16_t* outs = PD_AT(v->bytes, r->results_at, uint16_t);
  const pd_instr_t* instrs = PD_AT(v->bytes, r->instrs_at, pd_instr_t);
  const pd_access_t* captures = PD_AT(v->bytes, r->captures_at, pd_access_t);
  bool has_memory[PD_MAX_REGS] = {false};
  for (uint32_t i = 0; i < r->reg_count; ++i) {
    CHECK(slots[i] == PD_NO_REG || slots[i] < r->slot_count, "a region's slot");
    has_memory[i] = i < r->arg_count || slots[i] != PD_NO_REG;
  }
  for (uint32_t i = 0; i < r->result_count; ++i) {
    CHECK(outs[i] >= r->arg_count && outs[i] < r->reg_count, "a region's result");
    has_memory[outs[i]] = true;
  }
  for (uint32_t i = 0; i < r->capture_count; ++i) TT_RETURN_IF_ERROR(check_reach(v, captures[i].buffer, captures[i].offset, NULL, NULL, 0, 1, captures[i].esize));
  CHECK(inside(v, r->types_at, (uint64_t)r->arg_count + r->result_count, 1, 1), "a region's types");
  const uint8_t* types = PD_AT(v->bytes, r->types_at, uint8_t);
  uint8_t esizes[PD_MAX_REGS] = {0};
  for (uint32_t i = 0; i < r->arg_count + r->result_count; ++i) CHECK(is_power_esize(types[i]), "a region's types");
  for (uint32_t i = 0; i < r->arg_count; ++i) esizes[i] = types[i];
  TT_RETURN_IF_ERROR(check_instrs(v, instrs, r->instr_count, r->reg_count, captures, r->capture_count, 0, esizes));
  for (uint32_t i = 0; i < r->result_count; ++i) CHECK(esizes[outs[i]] == types[r->arg_count + i], "a region's result size");
  for (uint32_t i = 0; i < r->instr_count; ++i) {
    CHECK(instrs[i].op != PD_I_STORE && instrs[i].op != PD_I_IOTA, "a region's instruction");
    for (int k = 0; k < 3; ++k) CHECK(instrs[i].src[k] == PD_NO_REG || has_memory[instrs[i].src[k]], "a region's register");
    CHECK(has_memory[instrs[i].dst] && instrs[i].dst >= r->arg_count, "a region's register");
    if (slots[instrs[i].dst] != PD_NO_REG) CHECK(PD_REGION_LANES * (uint64_t)instrs[i].esize <= r->slot_bytes, "a region's slot is too small");
  }
  return TT_OK_STATUS;
}

static tt_status_t check_tensors(const v_t* v, uint32_t at, uint32_t count) {
  CHECK(count <= 2 * PD_MAX_OPERANDS && INSIDE(v, at, count, pd_tensor_t), "tensors");
  const pd_tensor_t* t = PD_AT(v->bytes, at, pd_tensor_t);
  for (uint32_t i = 0; i < count; ++i) {
    int64_t elems;
    CHECK(t[i].dtype > 0 && t[i].dtype < TT_DTYPE_COUNT && tt_dtype_bytes((tt_dtype_t)t[i].dtype) > 0, "a tensor's dtype");
    TT_RETURN_IF_ERROR(check_dims(v, t[i].dims_at, t[i].rank, &elems));
    CHECK(INSIDE(v, t[i].strides_at, t[i].rank, int64_t), "a tensor's strides");
    int64_t esize = (int64_t)tt_dtype_bytes((tt_dtype_t)t[i].dtype);
    if (elems) TT_RETURN_IF_ERROR(check_reach(v, t[i].buffer, t[i].offset, PD_AT(v->bytes, t[i].dims_at, int64_t), PD_AT(v->bytes, t[i].strides_at, int64_t), t[i].rank, esize, esize));
    else CHECK(t[i].buffer < v->h->buffer_count, "a tensor's buffer");
  }
  return TT_OK_STATUS;
}

static tt_status_t check_reduce(const v_t* v, uint32_t at) {
  CHECK(INSIDE(v, at, 1, pd_reduce_t), "a reduction");
  const pd_reduce_t* r = PD_AT(v->bytes, at, pd_reduce_t);
  uint8_t esizes[PD_MAX_REGS];
  TT_RETURN_IF_ERROR(check_loop(v, r->loop_at, true, esizes));
  const pd_loop_t* l = PD_AT(v->bytes, r->loop_at, pd_loop_t);
  int64_t n = PD_AT(v->bytes, l->dims_at, int64_t)[l->rank - 1], total;
  CHECK(r->layout <= PD_R_OUTER && r->count >= 1 && r->count <= 8 && INSIDE(v, r->operands_at, r->count, pd_reduce_operand_t), "a reduction's operands");
  CHECK(r->kept >= 1 && r->reduced >= 1 && r->inner >= 1 && tt_checked_mul_i64(r->kept, r->reduced, &total) && tt_checked_mul_i64(total, r->inner, &total) && total == l->elems, "a reduction's extents");
  CHECK(r->layout == PD_R_INNER ? r->inner == 1 && (int64_t)r->reduced_rows * n == r->reduced : r->inner == n, "a reduction's layout");
  CHECK(r->chunk >= 1 && r->chunk <= r->reduced + 65536 && r->reduced <= INT64_MAX / 4 && r->chunks == (uint64_t)((r->reduced + r->chunk - 1) / r->chunk), "a reduction's chunks");
  if (l->mode == PD_MODE_ROWS && r->layout == PD_R_INNER) CHECK(r->chunk % n == 0, "a reduction's chunk");
  const pd_reduce_operand_t* o = PD_AT(v->bytes, r->operands_at, pd_reduce_operand_t);
  const pd_lane_t* lanes = PD_AT(v->bytes, v->h->lanes_at, pd_lane_t);
  if (r->region == PD_NONE) {
    CHECK(r->count == 1 && r->fold < v->h->lane_count && r->combine < v->h->lane_count && lanes[r->fold].cls == PD_LANE_FOLD && lanes[r->combine].cls == PD_LANE_BINARY &&
          lane_esize(&lanes[r->fold], 0) == o[0].acc_esize && lane_esize(&lanes[r->combine], 0) == o[0].acc_esize && lane_esize(&lanes[r->combine], -1) == o[0].acc_esize, "a reduction's kernels");
  } else {
    TT_RETURN_IF_ERROR(check_region(v, r->region));
    const pd_region_t* region = PD_AT(v->bytes, PD_AT(v->bytes, v->h->regions_at, uint32_t)[r->region], pd_region_t);
    CHECK(region->arg_count == 2 * r->count && region->result_count == r->count && (uint64_t)region->slot_count * region->slot_bytes <= 4 * PD_SLOT_BYTES, "a reducer");
    CHECK((uint64_t)l->tile_rows * l->tile_cols <= PD_REGION_LANES, "a reducer's tile");
    const uint8_t* types = PD_AT(v->bytes, region->types_at, uint8_t);
    for (uint32_t i = 0; i < r->count; ++i)
      CHECK(types[i] == o[i].acc_esize && types[r->count + i] == o[i].acc_esize && types[2 * r->count + i] == o[i].acc_esize, "a reducer's types");
  }
  int64_t outs = r->kept * r->inner, partial = 0;
  for (uint32_t i = 0; i < r->count; ++i) {
    CHECK(o[i].reg < l->reg_count && esizes[o[i].reg] == o[i].acc_esize && is_power_esize(o[i].acc_esize) && is_power_esize(o[i].out_esize), "a reduction's operand");
    CHECK((uint64_t)l->tile_rows * l->tile_cols * o[i].acc_esize <= (32768 / r->count & ~63u), "a reduction's tile");
    CHECK(o[i].narrow == PD_NONE ? o[i].out_esize == o[i].acc_esize : o[i].narrow < v->h->lane_count && lanes[o[i].narrow].cls == PD_LANE_CONVERT &&
          lane_esize(&lanes[o[i].narrow], 0) == o[i].acc_esize && lane_esize(&lanes[o[i].narrow], -1) == o[i].out_esize, "a reduction's conversion");
    CHECK(o[i].widen == PD_NONE ? o[i].out_esize == o[i].acc_esize : o[i].widen < v->h->lane_count && lanes[o[i].widen].cls == PD_LANE_CONVERT &&
          lane_esize(&lanes[o[i].widen], 0) == o[i].out_esize && lane_esize(&lanes[o[i].widen], -1) == o[i].acc_esize, "a reduction's conversion");
    if (o[i].init != PD_NONE) TT_RETURN_IF_ERROR(check_whole(v, o[i].init, o[i].out_esize));
    int64_t bytes, part;
    CHECK(tt_checked_mul_i64(outs, o[i].out_esize, &bytes) && tt_checked_mul_i64(outs, r->chunks, &part) && tt_checked_mul_i64(part, o[i].acc_esize, &part), "a reduction's size");
    TT_RETURN_IF_ERROR(check_whole(v, o[i].out, bytes));
    CHECK(v->buffers[o[i].out].kind == PD_TEMP || v->buffers[o[i].out].kind == PD_RESULT, "a reduction into a parameter");
    partial += (int64_t)tt_align_up((size_t)part, 64);
  }
  if (r->chunks > 1) TT_RETURN_IF_ERROR(check_whole(v, r->scratch, partial));
  else CHECK(r->scratch == PD_NONE || r->scratch < v->h->buffer_count, "a reduction's scratch");
  return TT_OK_STATUS;
}

static tt_status_t check_block_number(const v_t* v, uint32_t block, uint32_t parent) {
  // Children have greater numbers: no cycles, bounded depth.
  CHECK(block < v->h->block_count && block > parent, "a block number");
  return TT_OK_STATUS;
}

static tt_status_t check_step(const v_t* v, const pd_step_t* step, uint32_t block) {
  uint32_t at = step->data_at;
  switch (step->kind) {
    case PD_S_NOP: return TT_OK_STATUS;
    case PD_S_LOOP: {
      uint8_t esizes[PD_MAX_REGS];
      return check_loop(v, at, false, esizes);
    }
    case PD_S_REDUCE: return check_reduce(v, at);
    case PD_S_COPY: {
      CHECK(INSIDE(v, at, 1, pd_copy_t), "a copy");
      const pd_copy_t* c = PD_AT(v->bytes, at, pd_copy_t);
      TT_RETURN_IF_ERROR(check_whole(v, c->from, c->bytes));
      TT_RETURN_IF_ERROR(check_whole(v, c->to, c->bytes));
      CHECK(v->buffers[c->to].kind == PD_TEMP || v->buffers[c->to].kind == PD_RESULT, "a copy into a parameter");
      return TT_OK_STATUS;
    }
    case PD_S_OP: {
      CHECK(INSIDE(v, at, 1, pd_op_t), "an op");
      const pd_op_t* op = PD_AT(v->bytes, at, pd_op_t);
      CHECK(op->kernel < v->h->kernel_count && op->operand_count <= PD_MAX_OPERANDS && op->result_count <= PD_MAX_OPERANDS, "an op's numbers");
      TT_RETURN_IF_ERROR(check_tensors(v, op->tensors_at, op->operand_count + op->result_count));
      CHECK(inside(v, op->blob_at, op->blob_bytes, 1, 8) && op->region_count <= 8 && INSIDE(v, op->regions_at, op->region_count, uint32_t), "an op's tables");
      for (uint32_t i = 0; i < op->region_count; ++i) TT_RETURN_IF_ERROR(check_region(v, PD_AT(v->bytes, op->regions_at, uint32_t)[i]));
      if (op->epilogue_at) {           // runs on blocks of the result's elements: no more of them than the loop has
        uint8_t esizes[PD_MAX_REGS];
        CHECK(op->result_count == 1, "an epilogue of several results");
        TT_RETURN_IF_ERROR(check_loop(v, op->epilogue_at, false, esizes));
        const pd_loop_t* l = PD_AT(v->bytes, op->epilogue_at, pd_loop_t);
        const pd_tensor_t* y = PD_AT(v->bytes, op->tensors_at, pd_tensor_t) + op->operand_count;
        int64_t elems;
        CHECK(tt_checked_product(PD_AT(v->bytes, y->dims_at, int64_t), y->rank, &elems) && elems == l->elems && l->mode != PD_MODE_BLOCK, "an epilogue's extent");
      }
      if (op->scratch != PD_NONE) TT_RETURN_IF_ERROR(check_whole(v, op->scratch, op->scratch_bytes));
      return TT_OK_STATUS;
    }
    case PD_S_WHILE: {
      CHECK(INSIDE(v, at, 1, pd_while_t), "a while");
      const pd_while_t* w = PD_AT(v->bytes, at, pd_while_t);
      TT_RETURN_IF_ERROR(check_whole(v, w->pred, 1));
      TT_RETURN_IF_ERROR(check_block_number(v, w->cond_block, block));
      return check_block_number(v, w->body_block, block);
    }
    case PD_S_CASE: {
      CHECK(INSIDE(v, at, 1, pd_case_t), "a case");
      const pd_case_t* c = PD_AT(v->bytes, at, pd_case_t);
      CHECK(c->block_count >= 1 && (!c->is_if || c->block_count == 2) && INSIDE(v, c->blocks_at, c->block_count, uint32_t), "a case's branches");
      TT_RETURN_IF_ERROR(check_whole(v, c->index, c->is_if ? 1 : 4));
      for (uint32_t i = 0; i < c->block_count; ++i) TT_RETURN_IF_ERROR(check_block_number(v, PD_AT(v->bytes, c->blocks_at, uint32_t)[i], block));
      return TT_OK_STATUS;
    }
    case PD_S_CHECK: {
      CHECK(INSIDE(v, at, 1, pd_check_t), "a check");
      const pd_check_t* c = PD_AT(v->bytes, at, pd_check_t);
      TT_RETURN_IF_ERROR(check_whole(v, c->pred, 1));
      CHECK(c->code >= 1 && c->code <= 16 && c->message_bytes >= 1 && INSIDE(v, c->message_at, c->message_bytes, char) && v->bytes[c->message_at + c->message_bytes - 1] == 0, "a check's message");
      return check_tensors(v, c->values_at, c->value_count);
    }
    case PD_S_DEVICE_ID: {
      CHECK(INSIDE(v, at, 1, pd_device_id_t), "a device id");
      return check_whole(v, PD_AT(v->bytes, at, pd_device_id_t)->buffer, 4);
    }
    case PD_S_COLLECTIVE: {
      CHECK(INSIDE(v, at, 1, pd_collective_step_t), "a collective");
      const pd_collective_step_t* c = PD_AT(v->bytes, at, pd_collective_step_t);
      CHECK(c->kind < PD_C_KINDS && c->by <= PD_BY_GLOBAL && c->number < v->h->collective_count && c->count <= PD_MAX_OPERANDS, "a collective's numbers");
      TT_RETURN_IF_ERROR(check_tensors(v, c->tensors_at, 2 * c->count));
      CHECK(c->group_count <= 65536 && c->group_size <= 65536 && INSIDE(v, c->groups_at, (uint64_t)c->group_count * c->group_size, int64_t), "a collective's groups");
      CHECK(c->kind != PD_C_PERMUTE || c->group_count == 0 || c->group_size == 2, "a permutation's pairs");
      const pd_tensor_t* t = PD_AT(v->bytes, c->tensors_at, pd_tensor_t);
      for (uint32_t i = 0; i < c->count; ++i) {
        if (c->kind == PD_C_ALL_GATHER || c->kind == PD_C_REDUCE_SCATTER || c->kind == PD_C_ALL_TO_ALL) CHECK(c->dim < t[i].rank && (c->kind != PD_C_ALL_TO_ALL || c->split_dim < t[i].rank), "a collective's dimension");
        if ((c->kind == PD_C_ALL_REDUCE || c->kind == PD_C_REDUCE_SCATTER) && c->region == PD_NONE) CHECK(c->combine < v->h->lane_count && PD_AT(v->bytes, v->h->lanes_at, pd_lane_t)[c->combine].cls == PD_LANE_BINARY && t[i].dtype == c->dtype, "a collective's reduction");
      }
      if (c->region != PD_NONE) {
        TT_RETURN_IF_ERROR(check_region(v, c->region));
        const pd_region_t* r = PD_AT(v->bytes, PD_AT(v->bytes, v->h->regions_at, uint32_t)[c->region], pd_region_t);
        CHECK(r->arg_count == 2 && r->result_count == 1 && r->slot_count <= 64, "a collective's reducer");
      }
      return TT_OK_STATUS;
    }
    default: return bad("a step kind");
  }
}

static tt_status_t check_values(const v_t* v, bool results) {
  uint32_t count = results ? v->h->result_count : v->h->param_count, others = results ? v->h->param_count : v->h->result_count;
  uint32_t at = results ? v->h->results_at : v->h->params_at;
  CHECK(INSIDE(v, at, count, pd_value_t), "values");
  for (uint32_t i = 0; i < count; ++i) {
    const pd_value_t* x = PD_AT(v->bytes, at, pd_value_t) + i;
    int64_t elems;
    CHECK(x->dtype < TT_DTYPE_COUNT, "a value's dtype");
    TT_RETURN_IF_ERROR(check_dims(v, x->dims_at, x->rank, &elems));
    int64_t esize = x->dtype ? (int64_t)tt_dtype_bytes((tt_dtype_t)x->dtype) : 0, bytes;
    CHECK(tt_checked_mul_i64(elems, esize, &bytes) && bytes == x->bytes, "a value's size");
    CHECK(x->alias >= -1 && (x->alias < 0 || (uint32_t)x->alias < others), "an alias");
    CHECK(x->passthrough >= -1 && x->donor >= -1 && (results || (x->passthrough < 0 && x->donor < 0)), "a donation");
    const pd_value_t* params = PD_AT(v->bytes, v->h->params_at, pd_value_t);
    if (x->passthrough >= 0) CHECK((uint32_t)x->passthrough < v->h->param_count && params[x->passthrough].bytes == x->bytes, "a passed parameter");
    if (x->donor >= 0) CHECK((uint32_t)x->donor < v->h->param_count && params[x->donor].bytes == x->bytes && x->alias == x->donor, "a donor");
  }
  return TT_OK_STATUS;
}

tt_status_t tt_plan_validate(const void* bytes, size_t size) {
  v_t view = {.bytes = bytes, .size = size}, *v = &view;
  CHECK(size >= sizeof(pd_header_t), "shorter than a header");
  const pd_header_t* h = v->h = bytes;
  CHECK(h->magic == PD_MAGIC && h->version == PD_VERSION && h->size == size, "not a plan of this version");
  // Values have dimensions of at most TT_MAX_RANK each, so counts are bounded by the size.
  TT_RETURN_IF_ERROR(check_values(v, false));
  TT_RETURN_IF_ERROR(check_values(v, true));
  CHECK(INSIDE(v, h->buffers_at, h->buffer_count, pd_buffer_t) && INSIDE(v, h->lanes_at, h->lane_count, pd_lane_t) && INSIDE(v, h->kernels_at, h->kernel_count, uint32_t) &&
        INSIDE(v, h->blocks_at, h->block_count, pd_block_t) && INSIDE(v, h->regions_at, h->region_count, uint32_t) && h->block_count >= 1 && h->collective_count <= 65536, "tables");
  CHECK(h->constants_at >= 0 && h->constant_bytes >= 0 && inside(v, (uint64_t)h->constants_at, (uint64_t)h->constant_bytes, 1, 64), "constants");
  CHECK(h->temp_bytes >= 0 && h->threads >= 1, "the header");
  v->buffers = PD_AT(bytes, h->buffers_at, pd_buffer_t);
  v->blocks = PD_AT(bytes, h->blocks_at, pd_block_t);
  for (uint32_t i = 0; i < h->buffer_count; ++i) {
    const pd_buffer_t* b = &v->buffers[i];
    CHECK(b->kind < PD_BUFFER_KINDS && b->bytes >= 0 && b->offset >= 0 && b->offset % 8 == 0, "a buffer");
    int64_t end;
    CHECK(!__builtin_add_overflow(b->offset, b->bytes, &end), "a buffer's end");
    switch (b->kind) {
      case PD_PARAM: CHECK(b->index < h->param_count && b->bytes == PD_AT(bytes, h->params_at, pd_value_t)[b->index].bytes, "a parameter buffer"); break;
      case PD_RESULT: CHECK(b->index < h->result_count && b->bytes == PD_AT(bytes, h->results_at, pd_value_t)[b->index].bytes, "a result buffer"); break;
      case PD_CONST: CHECK(end <= h->constant_bytes, "a constant buffer"); break;
      default: CHECK(b->bytes == 0 || end + 64 <= h->temp_bytes, "a temporary buffer"); break;
    }
  }
  const pd_lane_t* lanes = PD_AT(bytes, h->lanes_at, pd_lane_t);
  for (uint32_t i = 0; i < h->lane_count; ++i) {
    CHECK(lanes[i].cls < PD_LANE_CLASSES && lanes[i].dtype < TT_DTYPE_COUNT && lanes[i].dtype2 < TT_DTYPE_COUNT, "a lane kernel");
    CHECK(lanes[i].cls == PD_LANE_COMPARE ? lanes[i].kind < 6
          : lanes[i].cls == PD_LANE_COMPOUND ? lanes[i].kind < tt_k_compound_count() && lanes[i].dtype == TT_DTYPE_F32 : lanes[i].kind < TT_OP_COUNT, "a lane kernel's kind");
  }
  for (uint32_t i = 0; i < h->kernel_count; ++i) {
    uint32_t at = PD_AT(bytes, h->kernels_at, uint32_t)[i];
    CHECK(at < size && memchr(v->bytes + at, 0, size - at) != NULL, "a kernel's name");
  }
  for (uint32_t b = 0; b < h->block_count; ++b) {
    CHECK(v->blocks[b].step_count <= size && INSIDE(v, v->blocks[b].steps_at, v->blocks[b].step_count, pd_step_t), "a block");
    for (uint32_t i = 0; i < v->blocks[b].step_count; ++i) TT_RETURN_IF_ERROR(check_step(v, PD_AT(bytes, v->blocks[b].steps_at, pd_step_t) + i, b));
  }
  return TT_OK_STATUS;
}
