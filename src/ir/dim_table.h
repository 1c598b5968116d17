// Inside ir only: the dimension table of a module (invariants in dim.h).
//
// An entry is an atom (symbol, floordiv, mod, min, max) or a polynomial over atoms (ADD: several terms or a
// negative constant; MUL: one term that is not a bare atom).
#ifndef TT_IR_DIM_TABLE_H_
#define TT_IR_DIM_TABLE_H_

#include "ir/dim.h"

#define TT_DIM_MAX_FACTORS 8
#define TT_DIM_MAX_TERMS 48

// coefficient * product of atoms; factors are entry numbers, ascending, repeated for powers.
typedef struct tt_dim_term_s {
  int64_t coefficient;
  uint32_t count;                       // 0: the constant term
  uint32_t factors[TT_DIM_MAX_FACTORS];
} tt_dim_term_t;

typedef struct tt_dim_poly_s {
  uint32_t count;
  tt_dim_term_t terms[TT_DIM_MAX_TERMS];  // ordered by compare_terms, the constant last
} tt_dim_poly_t;

typedef struct tt_dim_entry_s {
  tt_dim_kind_t kind;
  uint64_t hash;
  int64_t min, max;                     // saturated; INT64_MIN / INT64_MAX: unbounded
  // SYMBOL
  const char* name;
  size_t index;
  // FLOORDIV, MOD, MIN, MAX
  tt_dim_t a, b;
  // ADD, MUL
  const tt_dim_term_t* terms;
  uint32_t term_count;
} tt_dim_entry_t;

struct tt_dims_s {
  tt_dim_entry_t* entries;
  uint32_t count, capacity;
  uint32_t* symbols;                    // entry of each symbol
  uint32_t symbol_count, symbol_capacity;
  uint32_t* slots;                      // open addressing: entry + 1; 0 is empty
  uint32_t slot_count;
};

static inline const tt_dim_entry_t* tt_dim_entry(const tt_module_t* module, tt_dim_t d) {
  uint64_t i = (uint64_t)(-1 - d);
  return d < 0 && d != TT_DIM_UNKNOWN && module && module->dims && i < module->dims->count
             ? &module->dims->entries[i]
             : NULL;
}

// ---- polynomials on the stack (dim_poly.c); false: too large or int64 overflow ---------------------
bool tt_dim_poly_of(const tt_module_t* module, tt_dim_t d, tt_dim_poly_t* out);
bool tt_dim_poly_add(const tt_dim_poly_t* a, const tt_dim_poly_t* b, int64_t factor_b,
                     tt_dim_poly_t* out);  // a + f*b
bool tt_dim_poly_mul(const tt_dim_poly_t* a, const tt_dim_poly_t* b, tt_dim_poly_t* out);
bool tt_dim_poly_scale(tt_dim_poly_t* a, int64_t factor);
void tt_dim_poly_constant(int64_t value, tt_dim_poly_t* out);
bool tt_dim_poly_is_constant(const tt_dim_poly_t* a, int64_t* out_value);
void tt_dim_poly_range(const tt_module_t* module, const tt_dim_poly_t* a, int64_t* out_min, int64_t* out_max);
// Quotient of a by the single term `by` if every term divides; terms that do not go to *rest (NULL: must
// all).
bool tt_dim_poly_split(const tt_dim_poly_t* a, const tt_dim_term_t* by, tt_dim_poly_t* quotient,
                       tt_dim_poly_t* rest);
// True only if a >= 0 for all values of the symbols.
bool tt_dim_poly_nonnegative(const tt_module_t* module, const tt_dim_poly_t* a);
// Are the products of two lists of dimensions equal?
tt_truth_t tt_dim_products_equal(const tt_module_t* module, const tt_dim_t* a, size_t a_count,
                                 const tt_dim_t* b, size_t b_count);
int64_t tt_dim_floordiv_i64(int64_t a, int64_t b);   // b > 0

// Same tables: same numbers mean the same expressions.
bool tt_dims_equal(const tt_dims_t* a, const tt_dims_t* b);
uint64_t tt_dims_hash(const tt_dims_t* dims);

#endif  // TT_IR_DIM_TABLE_H_
