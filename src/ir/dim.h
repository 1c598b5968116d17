// Symbolic dimensions: interned expressions over symbols with ranges (design D6).
//
// Invariants:
//  D1 a symbol has a range [min, max], 0 <= min <= max; INT64_MAX as max means unbounded;
//  D2 expressions are in normal form, so equal ones are equal tt_dim_t values: sums are sorted, constants
//     folded, products distributed over sums; floordiv, mod, min, max stay opaque atoms;
//  D3 the range of an expression follows from its symbols' ranges, saturating at INT64_MAX;
//  D4 an expression that folds to a constant is the static dimension itself, never a table entry;
//  D5 size-0/1 facts come in as ranges (min >= 2), never by looking at a binding.
//
// Attribute lists that cannot be negative may hold symbolic dimensions as well, specialise binds them:
// start_indices, limit_indices, strides, slice_sizes, broadcast_sizes, window_dimensions, and sizes,
// strides, offset of tt.strided_*. Two symbolic dimensions of which the prover cannot tell whether they are
// equal are accepted while building; specialise verifies its result and so decides.
#ifndef TT_IR_DIM_H_
#define TT_IR_DIM_H_

#include "base/strbuf.h"
#include "ir/ir.h"

typedef enum tt_dim_kind_e {
  TT_DIM_SYMBOL, TT_DIM_ADD, TT_DIM_MUL, TT_DIM_FLOORDIV, TT_DIM_MOD, TT_DIM_MIN, TT_DIM_MAX,
} tt_dim_kind_t;
typedef enum tt_truth_e { TT_NO = 0, TT_YES = 1, TT_MAYBE = 2 } tt_truth_t;

// A new symbol; *out_index numbers it for bindings.
tt_status_t tt_dim_symbol(tt_module_t* module, const char* name, int64_t min, int64_t max, tt_dim_t* out_dim,
                          size_t* out_index) TT_MUST_USE;
size_t tt_dim_symbol_count(const tt_module_t* module);
// Operations on dimensions of one module; static operands fold. TT_DIM_UNKNOWN is absorbing, and is the
// result on memory shortage or int64 overflow.
tt_dim_t tt_dim_add(tt_module_t* module, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_dim_sub(tt_module_t* module, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_dim_mul(tt_module_t* module, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_dim_floordiv(tt_module_t* module, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_dim_mod(tt_module_t* module, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_dim_min(tt_module_t* module, tt_dim_t a, tt_dim_t b);
tt_dim_t tt_dim_max(tt_module_t* module, tt_dim_t a, tt_dim_t b);
// The prover: may answer TT_MAYBE.
tt_truth_t tt_dim_equal(const tt_module_t* module, tt_dim_t a, tt_dim_t b);
tt_truth_t tt_dim_less_equal(const tt_module_t* module, tt_dim_t a, tt_dim_t b);
void tt_dim_range(const tt_module_t* module, tt_dim_t d, int64_t* out_min, int64_t* out_max);
// OUT_OF_RANGE names the symbol, its binding and its range.
tt_status_t tt_dim_evaluate(const tt_module_t* module, tt_dim_t d, const int64_t* bindings, size_t binding_count,
                            int64_t* out_value) TT_MUST_USE;
void tt_dim_print(const tt_module_t* module, tt_dim_t d, tt_strbuf_t* out);
// Copies dim d of `from` into `to` (symbols matched by name).
tt_dim_t tt_dim_import(tt_module_t* to, const tt_module_t* from, tt_dim_t d);

#endif  // TT_IR_DIM_H_
