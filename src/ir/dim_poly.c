// Integer polynomials over the atoms of a dimension table.
//
// Order of terms: more factors first, then factors by number; the constant term is last. Terms are merged,
// zero coefficients dropped, so equal polynomials are equal arrays.
#include <string.h>

#include "ir/dim_table.h"

int64_t tt_dim_floordiv_i64(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int compare_terms(const tt_dim_term_t* a, const tt_dim_term_t* b) {
  if (a->count != b->count) return a->count > b->count ? -1 : 1;
  for (uint32_t i = 0; i < a->count; ++i) {
    if (a->factors[i] != b->factors[i]) return a->factors[i] < b->factors[i] ? -1 : 1;
  }
  return 0;
}

void tt_dim_poly_constant(int64_t value, tt_dim_poly_t* out) {
  out->count = value != 0;
  out->terms[0] = (tt_dim_term_t){.coefficient = value};
}

bool tt_dim_poly_is_constant(const tt_dim_poly_t* a, int64_t* out_value) {
  if (a->count > 1 || (a->count == 1 && a->terms[0].count != 0)) return false;
  *out_value = a->count ? a->terms[0].coefficient : 0;
  return true;
}

bool tt_dim_poly_of(const tt_module_t* module, tt_dim_t d, tt_dim_poly_t* out) {
  if (d >= 0) {
    tt_dim_poly_constant(d, out);
    return true;
  }
  const tt_dim_entry_t* entry = tt_dim_entry(module, d);
  if (!entry) return false;
  if (entry->kind == TT_DIM_ADD || entry->kind == TT_DIM_MUL) {
    out->count = entry->term_count;
    memcpy(out->terms, entry->terms, entry->term_count * sizeof(*entry->terms));
    return true;
  }
  out->count = 1;
  out->terms[0] = (tt_dim_term_t){.coefficient = 1, .count = 1, .factors = {(uint32_t)(-1 - d)}};
  return true;
}

// Adds one term to a polynomial in order.
static bool add_term(tt_dim_poly_t* p, const tt_dim_term_t* term) {
  if (term->coefficient == 0) return true;
  uint32_t at = 0;
  int order = 1;
  while (at < p->count && (order = compare_terms(&p->terms[at], term)) < 0) ++at;
  if (at < p->count && order == 0) {
    int64_t sum;
    if (__builtin_add_overflow(p->terms[at].coefficient, term->coefficient, &sum)) return false;
    p->terms[at].coefficient = sum;
    if (sum == 0) {
      memmove(&p->terms[at], &p->terms[at + 1], (p->count - at - 1) * sizeof(*p->terms));
      --p->count;
    }
    return true;
  }
  if (p->count == TT_DIM_MAX_TERMS) return false;
  memmove(&p->terms[at + 1], &p->terms[at], (p->count - at) * sizeof(*p->terms));
  p->terms[at] = *term;
  ++p->count;
  return true;
}

bool tt_dim_poly_add(const tt_dim_poly_t* a, const tt_dim_poly_t* b, int64_t factor_b, tt_dim_poly_t* out) {
  tt_dim_poly_t sum;
  sum.count = a->count;
  memcpy(sum.terms, a->terms, a->count * sizeof(*a->terms));
  for (uint32_t i = 0; i < b->count; ++i) {
    tt_dim_term_t term = b->terms[i];
    if (!tt_checked_mul_i64(term.coefficient, factor_b, &term.coefficient) || !add_term(&sum, &term))
      return false;
  }
  out->count = sum.count;
  memcpy(out->terms, sum.terms, sum.count * sizeof(*sum.terms));
  return true;
}

static bool multiply_terms(const tt_dim_term_t* a, const tt_dim_term_t* b, tt_dim_term_t* out) {
  if (a->count + b->count > TT_DIM_MAX_FACTORS) return false;
  *out = (tt_dim_term_t){.count = a->count + b->count};
  if (!tt_checked_mul_i64(a->coefficient, b->coefficient, &out->coefficient)) return false;
  for (uint32_t i = 0, x = 0, y = 0; i < out->count; ++i) {
    bool take_a = y == b->count || (x < a->count && a->factors[x] <= b->factors[y]);
    out->factors[i] = take_a ? a->factors[x++] : b->factors[y++];
  }
  return true;
}

bool tt_dim_poly_mul(const tt_dim_poly_t* a, const tt_dim_poly_t* b, tt_dim_poly_t* out) {
  tt_dim_poly_t product;
  product.count = 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    for (uint32_t k = 0; k < b->count; ++k) {
      tt_dim_term_t term;
      if (!multiply_terms(&a->terms[i], &b->terms[k], &term) || !add_term(&product, &term)) return false;
    }
  }
  out->count = product.count;
  memcpy(out->terms, product.terms, product.count * sizeof(*product.terms));
  return true;
}

bool tt_dim_poly_scale(tt_dim_poly_t* a, int64_t factor) {
  if (factor == 0) a->count = 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    if (!tt_checked_mul_i64(a->terms[i].coefficient, factor, &a->terms[i].coefficient)) return false;
  }
  return true;
}

// a / by as one term, if it divides.
static bool divide_term(const tt_dim_term_t* a, const tt_dim_term_t* by, tt_dim_term_t* out) {
  if (a->coefficient % by->coefficient != 0) return false;
  *out = (tt_dim_term_t){.coefficient = a->coefficient / by->coefficient};
  uint32_t used = 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    if (used < by->count && a->factors[i] == by->factors[used]) {
      ++used;
    } else {
      out->factors[out->count++] = a->factors[i];
    }
  }
  return used == by->count;
}

bool tt_dim_poly_split(const tt_dim_poly_t* a, const tt_dim_term_t* by, tt_dim_poly_t* quotient,
                       tt_dim_poly_t* rest) {
  tt_dim_poly_t q, r;
  q.count = r.count = 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    tt_dim_term_t term;
    if (divide_term(&a->terms[i], by, &term)) {
      if (!add_term(&q, &term)) return false;
    } else if (!rest || !add_term(&r, &a->terms[i])) {
      return false;
    }
  }
  *quotient = q;
  if (rest) *rest = r;
  return true;
}

// ---- ranges ------------------------------------------------------------------------------------
// INT64_MIN and INT64_MAX stand for the infinities.
static int64_t saturated_mul(int64_t a, int64_t b) {
  int64_t product;
  if (a == 0 || b == 0) return 0;
  bool negative = (a < 0) != (b < 0);
  bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
  if (infinite || __builtin_mul_overflow(a, b, &product)) return negative ? INT64_MIN : INT64_MAX;
  return product;
}

static int64_t saturated_add(int64_t a, int64_t b, int64_t infinity) {
  int64_t sum;
  if (a == infinity || b == infinity) return infinity;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

void tt_dim_poly_range(const tt_module_t* module, const tt_dim_poly_t* a, int64_t* out_min,
                       int64_t* out_max) {
  int64_t min = 0, max = 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    const tt_dim_term_t* term = &a->terms[i];
    int64_t low = term->coefficient, high = term->coefficient;
    for (uint32_t k = 0; k < term->count; ++k) {
      const tt_dim_entry_t* entry = &module->dims->entries[term->factors[k]];
      int64_t corner[4] = {saturated_mul(low, entry->min), saturated_mul(low, entry->max),
                           saturated_mul(high, entry->min), saturated_mul(high, entry->max)};
      low = high = corner[0];
      for (int c = 1; c < 4; ++c) {
        low = TT_MIN(low, corner[c]);
        high = TT_MAX(high, corner[c]);
      }
    }
    min = saturated_add(min, low, INT64_MIN);
    max = saturated_add(max, high, INT64_MAX);
  }
  *out_min = min;
  *out_max = max;
}
