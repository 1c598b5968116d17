// Which nodes live, which values lie in memory, and which are computed inside their consumer's loop.
//
// Nodes are visited backwards, so a value is decided after all its users. Each user either needs the value in
// memory (`dense`) or can compute it inline; inline users name the loop they end up in (root) and the chain of
// views on the way (path). A value is inline when all users agree on root and path: it is then computed once.
// Views and cheap values (constants, iota) may be computed at several places.
#include "compile/internal.h"

enum { GROUP_NODES = 40 };

static void use_dense(tc_value_t* v) {
  if (!v) return;
  ++v->uses;
  v->dense = true;
}

static void use_inline(tc_block_t* block, tc_value_t* v, tc_node_t* root, uint32_t path, bool expanded) {
  if (!v) return;
  ++v->uses;
  if (v->block != block) { v->dense = true; return; }
  v->expanded = v->expanded || expanded;
  if (!v->root) { v->root = root; v->path = path; }
  else if (v->root != root || v->path != path) v->conflict = true;
}

static void decide_block(tc_t* c, tc_block_t* block);

static bool is_view(const tc_value_t* v) {
  return v->def && (v->def->cls == TC_VIEW || v->def->cls == TC_STRIDED_READ);
}

static void decide_node(tc_t* c, tc_block_t* block, tc_node_t* node) {
  tc_value_t* out = node->out;
  bool reference = c->options.reference_kernels;
  node->live = node->effect;
  for (uint32_t i = 0; i < node->out_count; ++i) node->live = node->live || out[i].uses;
  if (!node->live) return;
  for (uint32_t i = 0; i < node->capture_count; ++i) use_dense(node->captures[i]);
  switch (node->cls) {
    case TC_CONSTANT: case TC_IOTA: case TC_DEVICE_ID:
      return;
    case TC_ELEMENTWISE: {
      bool inlined = !reference && !out->dense && !out->conflict && out->root && !(out->expanded && !node->cheap) &&
                     out->root->group < GROUP_NODES && out->root->cls != TC_OP;
      tc_node_t* root = inlined ? out->root : node;
      uint32_t path = inlined ? out->path : ++c->next_path;
      bool expanded = inlined && out->expanded;
      if (!inlined) out->dense = true;
      ++root->group;
      for (uint32_t i = 0; i < node->in_count; ++i) {
        use_inline(block, node->in[i], root, path, expanded || node->in[i]->elems < out->elems);
      }
      return;
    }
    case TC_RESHAPE:
      if (reference) out->dense = true;
      if (out->dense || out->conflict || !out->root || out->root->cls == TC_OP ||
          tt_dtype_bytes(out->dtype) != tt_dtype_bytes(node->in[0]->dtype)) {
        use_dense(node->in[0]);
      } else {
        use_inline(block, node->in[0], out->root, out->path, out->expanded);
      }
      return;
    case TC_VIEW: case TC_STRIDED_READ:
      if (reference) out->dense = true;
      if (node->cls == TC_STRIDED_READ || out->conflict || (out->dense && out->root) || (out->root && out->root->cls == TC_OP)) {
        use_dense(node->in[0]);
      } else {
        use_inline(block, node->in[0], out->root ? out->root : node, ++c->next_path,
                   out->expanded || out->elems > node->in[0]->elems);
      }
      return;
    case TC_STRIDED_WRITE:
      out->dense = true;
      use_dense(node->in[0]);
      use_inline(block, node->in[1], node, ++c->next_path, false);
      return;
    case TC_CONCAT:
      out->dense = true;
      for (uint32_t i = 0; i < node->in_count; ++i) use_inline(block, node->in[i], node, ++c->next_path, false);
      return;
    case TC_PAD:
      out->dense = true;
      use_inline(block, node->in[0], node, ++c->next_path, false);
      use_inline(block, node->in[1], node, ++c->next_path, true);
      return;
    case TC_REDUCE: {
      uint32_t half = node->in_count / 2, path = ++c->next_path;
      for (uint32_t i = 0; i < half; ++i) {
        out[i].dense = true;
        use_inline(block, node->in[i], node, path, false);
        use_dense(node->in[half + i]);
      }
      return;
    }
    case TC_OP:
      for (uint32_t i = 0; i < node->in_count; ++i) {
        if (i < 32 && (node->kernel->strided_operands >> i & 1) && is_view(node->in[i]) && !reference) {
          use_inline(block, node->in[i], node, ++c->next_path, false);
        } else {
          use_dense(node->in[i]);
        }
      }
      for (uint32_t i = 0; i < node->out_count; ++i) out[i].dense = true;
      return;
    case TC_WHILE:
      for (uint32_t i = 0; i < node->in_count; ++i) {
        out[i].dense = true;
        use_inline(block, node->in[i], node, ++c->next_path, false);
      }
      break;
    case TC_CASE: case TC_CHECK: case TC_COLLECTIVE:
      for (uint32_t i = 0; i < node->in_count; ++i) use_dense(node->in[i]);
      for (uint32_t i = 0; i < node->out_count; ++i) out[i].dense = true;
      break;
  }
  for (uint32_t i = 0; i < node->block_count; ++i) decide_block(c, node->blocks[i]);
}

static void decide_block(tc_t* c, tc_block_t* block) {
  for (uint32_t i = 0; i < block->result_count; ++i) use_dense(block->results[i]);
  for (tc_node_t* node = block->last; node && tc_ok(c); node = node->prev) decide_node(c, block, node);
}

void tc_uses_decide(tc_t* c) { decide_block(c, c->main); }
