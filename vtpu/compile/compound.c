// Joins chains of f32 instructions into the compounds of kernels/compound.def. Runs on a finished list of
// instructions in order of definition, before hoisting.
//
// A chain is replaced where its last instruction stands; what lies inside it must have no other reader. Its constants
// are fills, which go when nobody else reads them.
#include <string.h>

#include "compile/internal.h"

enum { MOST_INSIDE = 16 };

typedef struct match_s {
  const tc_t* c;
  const tc_loop_t* loop;
  const uint16_t* uses;                // of each register
  const uint32_t* def;                 // instruction of each register, or PD_NONE
  const char* pattern;
  uint16_t x;                          // the chain's operand, PD_NO_REG before it is met
  bool bound[4];
  float constants[4];
  uint16_t inside[MOST_INSIDE];        // registers that the chain makes and reads
  uint32_t inside_count;
} match_t;

// The op that a postfix letter stands for; TT_OP_COUNT: none.
static tt_op_kind_t letter_kind(char letter) {
  switch (letter) {
    case '+': return TT_OP_ADD;
    case '-': return TT_OP_SUBTRACT;
    case '*': return TT_OP_MULTIPLY;
    case '/': return TT_OP_DIVIDE;
    case 'n': return TT_OP_NEGATE;
    case 'e': return TT_OP_CHLO_ERF;
    case 'E': return TT_OP_EXPONENTIAL;
    case 't': return TT_OP_TANH;
    default: return TT_OP_COUNT;
  }
}

static const pd_instr_t* definition(const match_t* m, uint16_t reg) {
  return reg == PD_NO_REG || m->def[reg] == PD_NONE ? NULL : &m->loop->instrs[m->def[reg]].data;
}

// Matches `reg` against the pattern that ends before `end`; returns where its own part begins, or -1.
static int match(match_t* m, uint16_t reg, int end, bool is_root) {
  if (end <= 0 || reg == PD_NO_REG) return -1;
  char letter = m->pattern[end - 1];
  if (letter == 'x') {
    if (m->x == PD_NO_REG && m->loop->reg_esize[reg] == sizeof(float)) m->x = reg;
    return m->x == reg ? end - 1 : -1;
  }
  const pd_instr_t* in = definition(m, reg);
  if (!in) return -1;
  if (letter >= '0' && letter <= '3') {
    float value;
    if (in->op != PD_I_FILL || in->esize != sizeof value) return -1;
    memcpy(&value, in->imm, sizeof value);
    int k = letter - '0';
    if (!m->bound[k]) {
      m->bound[k] = true;
      m->constants[k] = value;
    }
    return memcmp(&m->constants[k], &value, sizeof value) == 0 ? end - 1 : -1;
  }
  if (in->op != PD_I_UNARY && in->op != PD_I_BINARY) return -1;
  const pd_lane_t* lane = &m->c->lanes[in->fn];
  tt_op_kind_t kind = letter_kind(letter);
  bool is_binary = in->op == PD_I_BINARY;
  if (lane->cls != (is_binary ? PD_LANE_BINARY : PD_LANE_UNARY)) return -1;
  if (lane->dtype != TT_DTYPE_F32 || lane->kind != (uint32_t)kind) return -1;
  if (!is_root) {
    if (m->uses[reg] != 1 || m->inside_count == MOST_INSIDE) return -1;
    m->inside[m->inside_count++] = reg;
  }
  if (!is_binary) return match(m, in->src[0], end - 1, false);
  match_t before = *m;
  int at = match(m, in->src[1], end - 1, false);
  if (at >= 0) at = match(m, in->src[0], at, false);
  if (at >= 0 || (kind != TT_OP_ADD && kind != TT_OP_MULTIPLY)) return at;
  *m = before;
  at = match(m, in->src[0], end - 1, false);
  return at >= 0 ? match(m, in->src[1], at, false) : -1;
}

// Registers' readers and makers; stores and what outlives the loop read too.
static void count(const tc_loop_t* l, const uint16_t* keep, uint32_t keep_count, uint16_t* uses, uint32_t* def) {
  memset(uses, 0, PD_MAX_REGS * sizeof *uses);
  for (uint32_t r = 0; r < PD_MAX_REGS; ++r) def[r] = PD_NONE;
  for (uint32_t i = 0; i < l->instr_count; ++i) {
    const pd_instr_t* in = &l->instrs[i].data;
    for (int k = 0; k < 3; ++k) if (in->src[k] != PD_NO_REG) ++uses[in->src[k]];
    if (in->dst != PD_NO_REG) def[in->dst] = i;
  }
  for (uint32_t i = 0; i < l->access_count; ++i) if (l->accesses[i].store) ++uses[l->accesses[i].reg];
  for (uint32_t i = 0; i < keep_count; ++i) ++uses[keep[i]];
}

static void remove_dead(tc_loop_t* l, const bool* dead, const uint16_t* keep, uint32_t keep_count) {
  uint16_t uses[PD_MAX_REGS];
  uint32_t def[PD_MAX_REGS], n = 0;
  for (uint32_t i = 0; i < l->instr_count; ++i) {
    uint16_t reg = l->instrs[i].data.dst;
    if (reg == PD_NO_REG || !dead[reg]) l->instrs[n++] = l->instrs[i];
  }
  l->instr_count = n;
  count(l, keep, keep_count, uses, def);
  n = 0;
  for (uint32_t i = 0; i < l->instr_count; ++i) {
    const pd_instr_t* in = &l->instrs[i].data;
    if (in->op != PD_I_FILL || uses[in->dst]) l->instrs[n++] = l->instrs[i];
  }
  l->instr_count = n;
}

void tc_compound_join(tc_t* c, tc_loop_t* l, const uint16_t* keep, uint32_t keep_count) {
  if (c->options.separate_steps || c->options.reference_kernels) return;
  uint16_t uses[PD_MAX_REGS];
  uint32_t def[PD_MAX_REGS];
  bool dead[PD_MAX_REGS] = {false}, any = false;
  count(l, keep, keep_count, uses, def);
  for (uint32_t i = l->instr_count; i-- > 0;) {      // from the ends of chains
    pd_instr_t* in = &l->instrs[i].data;
    if ((in->op != PD_I_BINARY && in->op != PD_I_UNARY) || dead[in->dst]) continue;
    for (uint32_t compound = 0; compound < tt_k_compound_count(); ++compound) {
      match_t m = {.c = c, .loop = l, .uses = uses, .def = def, .x = PD_NO_REG};
      m.pattern = tt_k_compound_postfix(compound);
      if (match(&m, in->dst, (int)strlen(m.pattern), true) != 0) continue;
      for (uint32_t k = 0; k < m.inside_count; ++k) dead[m.inside[k]] = true;
      any = true;
      in->op = PD_I_COMPOUND;
      in->fn = tc_lane_add(c, (pd_lane_t){.cls = PD_LANE_COMPOUND, .dtype = TT_DTYPE_F32, .kind = compound});
      in->src[0] = m.x;
      in->src[1] = in->src[2] = PD_NO_REG;
      memcpy(in->imm, m.constants, sizeof in->imm);
      break;
    }
  }
  if (any) remove_dead(l, dead, keep, keep_count);
}
