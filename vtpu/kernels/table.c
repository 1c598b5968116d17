// The list of kernel tables and the choice among their candidates.
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/reserve.h"

// A file that is not there yet leaves its table out; each table ends with a zeroed entry.
#define TABLE(file) extern const tt_k_op_t tt_k_##file##_table[];
#if __has_include("kernels/matmul.c")
TABLE(matmul)
#endif
#if __has_include("kernels/conv.c")
TABLE(conv)
#endif
#if __has_include("kernels/attention.c")
TABLE(attention)
#endif
#if __has_include("kernels/rows.c")
TABLE(rows)
#endif
#if __has_include("kernels/rng.c")
TABLE(rng)
#endif
TABLE(move)
TABLE(move_dynamic)
TABLE(move_lanes)
TABLE(index_gather)
TABLE(index_scatter)
TABLE(sort)
TABLE(sort_topk)
TABLE(window)
TABLE(window_select)
TABLE(window_argmax)
TABLE(window_reduce)
TABLE(window_norm)
TABLE(dot_ref)
TABLE(dot_ref_einsum)
TABLE(conv_ref)
TABLE(attention_ref)
#if __has_include("kernels/linalg.c")
TABLE(linalg)
#endif
#if __has_include("kernels/fft.c")
TABLE(fft)
#endif
TABLE(check)
#undef TABLE

static const tt_k_op_t* const tables[] = {
    // fast candidates first, references after
#if __has_include("kernels/matmul.c")
    tt_k_matmul_table,
#endif
#if __has_include("kernels/conv.c")
    tt_k_conv_table,
#endif
#if __has_include("kernels/attention.c")
    tt_k_attention_table,
#endif
#if __has_include("kernels/rows.c")
    tt_k_rows_table,
#endif
#if __has_include("kernels/rng.c")
    tt_k_rng_table,
#endif
    tt_k_move_table,
    tt_k_move_dynamic_table,
    tt_k_index_gather_table,
    tt_k_index_scatter_table,
    tt_k_sort_table,
    tt_k_sort_topk_table,
    tt_k_window_table,
    tt_k_window_select_table,
    tt_k_window_argmax_table,
    tt_k_window_reduce_table,
    tt_k_window_norm_table,
    tt_k_dot_ref_table,
    tt_k_dot_ref_einsum_table,
    tt_k_conv_ref_table,
    tt_k_attention_ref_table,
#if __has_include("kernels/linalg.c")
    tt_k_linalg_table,
#endif
#if __has_include("kernels/fft.c")
    tt_k_fft_table,
#endif
    tt_k_check_table,
    tt_k_move_lanes_table,
    NULL,
};

const tt_k_op_t* const* tt_k_op_tables(void) { return tables; }

static const char* op_target(const tt_op_t* op) {
  if (op->kind == TT_OP_COMPOSITE) return tt_op_attr_text(op, TT_ATTR_NAME);
  if (op->kind == TT_OP_CUSTOM_CALL) return tt_op_attr_text(op, TT_ATTR_CALL_TARGET_NAME);
  return NULL;
}

const tt_k_op_t* tt_k_op_find(const tt_op_t* op, void (*log)(void* self, const char* kernel, const char* why),
                              void* self) {
  const char* target = op_target(op);
  for (const tt_k_op_t* const* table = tables; *table; ++table) {
    for (const tt_k_op_t* kernel = *table; kernel->name; ++kernel) {
      if (kernel->kind != op->kind) continue;
      if (target && (!kernel->target || strcmp(kernel->target, target) != 0)) continue;
      if (kernel->isa > tt_k_isa()) {
        if (log) log(self, kernel->name, "the CPU lacks its instructions");
        continue;
      }
      const char* why = "does not apply";
      if (kernel->supports && !kernel->supports(op, &why)) {
        if (log) log(self, kernel->name, why);
        continue;
      }
      return kernel;
    }
  }
  return NULL;
}

bool tt_k_op_can_fail(const tt_k_op_t* kernel) {
  switch (kernel->kind) {
    case TT_OP_SORT: case TT_OP_SCATTER: case TT_OP_MAP: case TT_OP_REDUCE: case TT_OP_REDUCE_WINDOW:
    case TT_OP_SELECT_AND_SCATTER: case TT_OP_FFT: case TT_OP_CHOLESKY: case TT_OP_TRIANGULAR_SOLVE:
    case TT_OP_DYNAMIC_PAD: return true;   // the last one: when operands contradict its type
    default: break;
  }
#if __has_include("kernels/linalg.c")
  for (const tt_k_op_t* k = tt_k_linalg_table; k->name; ++k) if (k == kernel) return true;
#endif
  return kernel == tt_k_check_table;
}

const tt_k_op_t* tt_k_op_by_name(const char* name) {
  for (const tt_k_op_t* const* table = tables; *table; ++table) {
    for (const tt_k_op_t* kernel = *table; kernel->name; ++kernel) {
      if (strcmp(kernel->name, name) == 0) return kernel;
    }
  }
  return NULL;
}
