// The prover: is a polynomial >= 0 for all values of its symbols?
//
//   interval range ──no──> shift every atom to its minimum: all coefficients >= 0?
//                    ──no──> replace one floordiv / mod / min / max atom by what bounds it, and try again
//
// Each step is sound, none is complete: "cannot tell" is TT_MAYBE.
#include <string.h>

#include "ir/dim_table.h"

#define MAX_STEPS 6     // replacements along one path
#define MAX_TRIES 300   // and in all

typedef struct prover_s { int tries; } prover_t;

// p with atom `factor` replaced by `with`, where it occurs only as a bare term. False: it does not, or
// overflow.
static bool replace_atom(const tt_dim_poly_t* p, uint32_t term_index, const tt_dim_poly_t* with,
                         tt_dim_poly_t* out) {
  tt_dim_poly_t rest = *p;
  int64_t coefficient = rest.terms[term_index].coefficient;
  memmove(&rest.terms[term_index], &rest.terms[term_index + 1],
          (rest.count - term_index - 1) * sizeof(*rest.terms));
  --rest.count;
  return tt_dim_poly_add(&rest, with, coefficient, out);
}

// s -> minimum + s' with s' >= 0, for every atom; then all coefficients must be >= 0.
static bool shifted_nonnegative(const tt_module_t* module, const tt_dim_poly_t* p) {
  tt_dim_poly_t sum;
  sum.count = 0;
  for (uint32_t i = 0; i < p->count; ++i) {
    tt_dim_poly_t product;
    tt_dim_poly_constant(p->terms[i].coefficient, &product);
    for (uint32_t k = 0; k < p->terms[i].count; ++k) {
      uint32_t atom = p->terms[i].factors[k];
      int64_t min = module->dims->entries[atom].min;
      if (min == INT64_MIN) return false;
      tt_dim_poly_t shifted = {.count = 1};
      shifted.terms[0] = (tt_dim_term_t){.coefficient = 1, .count = 1, .factors = {atom}};
      if (min != 0) {
        shifted.terms[1] = (tt_dim_term_t){.coefficient = min};
        shifted.count = 2;
      }
      if (!tt_dim_poly_mul(&product, &shifted, &product)) return false;
    }
    if (!tt_dim_poly_add(&sum, &product, 1, &sum)) return false;
  }
  for (uint32_t i = 0; i < sum.count; ++i) {
    if (sum.terms[i].coefficient < 0) return false;
  }
  return true;
}

static bool prove(const tt_module_t* module, const tt_dim_poly_t* p, prover_t* prover, int steps);

static bool prove_with(const tt_module_t* module, const tt_dim_poly_t* p, uint32_t term, tt_dim_t with,
                       prover_t* prover, int steps) {
  tt_dim_poly_t value, next;
  return tt_dim_poly_of(module, with, &value) && replace_atom(p, term, &value, &next) &&
         prove(module, &next, prover, steps);
}

// floordiv(a, c), c a positive constant, lies in [(a - c + 1) / c, a / c]: multiply all by c.
static bool prove_floordiv(const tt_module_t* module, const tt_dim_poly_t* p, uint32_t term,
                           const tt_dim_entry_t* atom, prover_t* prover, int steps) {
  int64_t c = atom->b;
  if (c <= 0) return false;
  tt_dim_poly_t a, next, scaled = *p;
  int64_t k = p->terms[term].coefficient;
  if (!tt_dim_poly_of(module, atom->a, &a)) return false;
  if (k > 0) {
    tt_dim_poly_t slack;
    tt_dim_poly_constant(1 - c, &slack);
    if (!tt_dim_poly_add(&a, &slack, 1, &a)) return false;
  }
  // c * (rest + k * atom) >= c * rest + k * bound
  if (!tt_dim_poly_scale(&scaled, c)) return false;
  scaled.terms[term].coefficient = k;
  return replace_atom(&scaled, term, &a, &next) && prove(module, &next, prover, steps);
}

static bool prove_by_atom(const tt_module_t* module, const tt_dim_poly_t* p, uint32_t term, prover_t* prover,
                          int steps) {
  const tt_dim_entry_t* atom = &module->dims->entries[p->terms[term].factors[0]];
  bool positive = p->terms[term].coefficient > 0;
  switch (atom->kind) {
    case TT_DIM_MIN: case TT_DIM_MAX: {
      // An extremum is one of its two arguments; on one side it is also bounded by each of them.
      bool either = (atom->kind == TT_DIM_MIN) != positive;
      bool first = prove_with(module, p, term, atom->a, prover, steps);
      if (first == either) return first;
      return prove_with(module, p, term, atom->b, prover, steps);
    }
    case TT_DIM_FLOORDIV:
      return prove_floordiv(module, p, term, atom, prover, steps);
    case TT_DIM_MOD: {
      if (positive) return prove_with(module, p, term, 0, prover, steps);
      // mod(a, b) <= b - 1, and <= a where a >= 0
      tt_dim_poly_t b, one, next;
      tt_dim_poly_constant(1, &one);
      if (tt_dim_poly_of(module, atom->b, &b) && tt_dim_poly_add(&b, &one, -1, &b) &&
          replace_atom(p, term, &b, &next) && prove(module, &next, prover, steps))
        return true;
      int64_t min, max;
      tt_dim_range(module, atom->a, &min, &max);
      return min >= 0 && prove_with(module, p, term, atom->a, prover, steps);
    }
    default:
      return false;
  }
}

static bool prove(const tt_module_t* module, const tt_dim_poly_t* p, prover_t* prover, int steps) {
  int64_t min, max;
  tt_dim_poly_range(module, p, &min, &max);
  if (min >= 0) return true;
  if (max < 0) return false;
  if (shifted_nonnegative(module, p)) return true;
  if (steps == 0 || prover->tries == 0) return false;
  --prover->tries;
  for (uint32_t i = 0; i < p->count; ++i) {
    if (p->terms[i].count == 1 && prove_by_atom(module, p, i, prover, steps - 1)) return true;
  }
  return false;
}

bool tt_dim_poly_nonnegative(const tt_module_t* module, const tt_dim_poly_t* a) {
  prover_t prover = {MAX_TRIES};
  return prove(module, a, &prover, MAX_STEPS);
}

// ---- questions ---------------------------------------------------------------------------------
static bool difference(const tt_module_t* module, tt_dim_t a, tt_dim_t b, int64_t constant,
                       tt_dim_poly_t* out) {
  tt_dim_poly_t x, y, c;
  tt_dim_poly_constant(constant, &c);
  return tt_dim_poly_of(module, a, &x) && tt_dim_poly_of(module, b, &y) && tt_dim_poly_add(&x, &y, -1, out) &&
         tt_dim_poly_add(out, &c, 1, out);
}

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

// No integers make it zero: the common divisor of the coefficients does not divide the constant.
static bool never_zero_by_divisor(const tt_dim_poly_t* p) {
  uint64_t divisor = 0, constant = 0;
  for (uint32_t i = 0; i < p->count; ++i) {
    if (p->terms[i].count == 0) {
      constant = magnitude(p->terms[i].coefficient);
      continue;
    }
    uint64_t a = divisor, b = magnitude(p->terms[i].coefficient);
    while (b) {
      uint64_t r = a % b;
      a = b;
      b = r;
    }
    divisor = a;
  }
  return divisor != 0 && constant % divisor != 0;
}

tt_truth_t tt_dim_equal(const tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  if (a == TT_DIM_UNKNOWN || b == TT_DIM_UNKNOWN) return TT_MAYBE;
  if (a == b) return TT_YES;
  if (a >= 0 && b >= 0) return TT_NO;
  tt_dim_poly_t d;
  int64_t value;
  if (!difference(module, a, b, 0, &d)) return TT_MAYBE;
  if (tt_dim_poly_is_constant(&d, &value)) return value == 0 ? TT_YES : TT_NO;
  if (never_zero_by_divisor(&d)) return TT_NO;
  if (difference(module, a, b, -1, &d) && tt_dim_poly_nonnegative(module, &d)) return TT_NO;
  if (difference(module, b, a, -1, &d) && tt_dim_poly_nonnegative(module, &d)) return TT_NO;
  if (difference(module, a, b, 0, &d) && tt_dim_poly_nonnegative(module, &d) &&
      difference(module, b, a, 0, &d) && tt_dim_poly_nonnegative(module, &d))
    return TT_YES;
  return TT_MAYBE;
}

static bool product_of(const tt_module_t* module, const tt_dim_t* dims, size_t count, tt_dim_poly_t* out) {
  tt_dim_poly_t factor;
  tt_dim_poly_constant(1, out);
  for (size_t i = 0; i < count; ++i) {
    if (!tt_dim_poly_of(module, dims[i], &factor) || !tt_dim_poly_mul(out, &factor, out)) return false;
  }
  return true;
}

tt_truth_t tt_dim_products_equal(const tt_module_t* module, const tt_dim_t* a, size_t a_count,
                                 const tt_dim_t* b, size_t b_count) {
  tt_dim_poly_t x, y, d, one;
  int64_t value;
  tt_dim_poly_constant(1, &one);
  if (!product_of(module, a, a_count, &x) || !product_of(module, b, b_count, &y)) return TT_MAYBE;
  if (!tt_dim_poly_add(&x, &y, -1, &d)) return TT_MAYBE;
  if (tt_dim_poly_is_constant(&d, &value)) return value == 0 ? TT_YES : TT_NO;
  if (never_zero_by_divisor(&d)) return TT_NO;
  if (tt_dim_poly_add(&d, &one, -1, &d) && tt_dim_poly_nonnegative(module, &d)) return TT_NO;
  if (tt_dim_poly_add(&y, &x, -1, &d) && tt_dim_poly_add(&d, &one, -1, &d) &&
      tt_dim_poly_nonnegative(module, &d)) {
    return TT_NO;
  }
  return TT_MAYBE;
}

tt_truth_t tt_dim_less_equal(const tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  if (a == TT_DIM_UNKNOWN || b == TT_DIM_UNKNOWN) return TT_MAYBE;
  if (a == b) return TT_YES;
  if (a >= 0 && b >= 0) return a <= b ? TT_YES : TT_NO;
  tt_dim_poly_t d;
  if (difference(module, b, a, 0, &d) && tt_dim_poly_nonnegative(module, &d)) return TT_YES;
  if (difference(module, a, b, -1, &d) && tt_dim_poly_nonnegative(module, &d)) return TT_NO;
  return TT_MAYBE;
}
