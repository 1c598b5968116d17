// The dimension table: interning, folding, evaluation, printing.
#include "ir/dim.h"

#include <string.h>

#include "base/hash.h"
#include "ir/dim_table.h"

// ---- table -------------------------------------------------------------------------------------
static tt_dim_t dim_of(uint32_t entry) { return -1 - (tt_dim_t)entry; }

static bool same_entry(const tt_dim_entry_t* a, const tt_dim_entry_t* b) {
  if (a->kind != b->kind || a->hash != b->hash) return false;
  switch (a->kind) {
    case TT_DIM_SYMBOL: return a->index == b->index;
    case TT_DIM_ADD: case TT_DIM_MUL:
      if (a->term_count != b->term_count) return false;
      for (uint32_t i = 0; i < a->term_count; ++i) {
        const tt_dim_term_t *x = &a->terms[i], *y = &b->terms[i];
        if (x->coefficient != y->coefficient || x->count != y->count ||
            memcmp(x->factors, y->factors, x->count * sizeof(*x->factors)) != 0) return false;
      }
      return true;
    default: return a->a == b->a && a->b == b->b;
  }
}

static uint64_t hash_entry(const tt_dim_entry_t* e) {
  uint64_t hash = tt_hash_mix(0xD1, (uint64_t)e->kind);
  if (e->kind == TT_DIM_SYMBOL) return tt_hash_mix(hash, e->index);
  if (e->kind != TT_DIM_ADD && e->kind != TT_DIM_MUL)
    return tt_hash_mix(tt_hash_mix(hash, (uint64_t)e->a), (uint64_t)e->b);
  for (uint32_t i = 0; i < e->term_count; ++i) {
    hash = tt_hash_mix(hash, (uint64_t)e->terms[i].coefficient);
    hash = tt_hash_bytes(hash, e->terms[i].factors, e->terms[i].count * sizeof(uint32_t));
  }
  return hash;
}

static tt_dims_t* table_of(tt_module_t* module) {
  if (!module->dims) module->dims = tt_arena_alloc(&module->arena, sizeof(*module->dims));
  return module->dims;
}

static void place(tt_dims_t* table, uint32_t entry) {
  uint32_t mask = table->slot_count - 1, i = (uint32_t)table->entries[entry].hash & mask;
  while (table->slots[i]) i = (i + 1) & mask;
  table->slots[i] = entry + 1;
}

static bool grow_table(tt_module_t* module, tt_dims_t* table) {
  uint32_t capacity = table->capacity ? table->capacity * 2 : 16;
  tt_dim_entry_t* entries = tt_arena_alloc_array(&module->arena, capacity, sizeof(*entries));
  uint32_t* slots = tt_arena_alloc_array(&module->arena, (size_t)capacity * 2, sizeof(*slots));
  if (!entries || !slots) return false;
  if (table->count) memcpy(entries, table->entries, table->count * sizeof(*entries));
  table->entries = entries;
  table->capacity = capacity;
  table->slots = slots;
  table->slot_count = capacity * 2;
  for (uint32_t i = 0; i < table->count; ++i) place(table, i);
  return true;
}

// Terms may stand on the caller's stack; they are copied when the entry is new. UNKNOWN: memory is short.
static tt_dim_t intern(tt_module_t* module, tt_dim_entry_t* entry) {
  tt_dims_t* table = table_of(module);
  if (!table) return TT_DIM_UNKNOWN;
  entry->hash = hash_entry(entry);
  if (table->slot_count) {
    uint32_t mask = table->slot_count - 1;
    for (uint32_t i = (uint32_t)entry->hash & mask; table->slots[i]; i = (i + 1) & mask) {
      if (same_entry(&table->entries[table->slots[i] - 1], entry)) return dim_of(table->slots[i] - 1);
    }
  }
  if (table->count == table->capacity && !grow_table(module, table)) return TT_DIM_UNKNOWN;
  if (entry->term_count) {
    entry->terms = tt_arena_copy(&module->arena, entry->terms, entry->term_count * sizeof(*entry->terms));
    if (!entry->terms) return TT_DIM_UNKNOWN;
  }
  table->entries[table->count] = *entry;
  place(table, table->count);
  return dim_of(table->count++);
}

tt_status_t tt_dim_symbol(tt_module_t* module, const char* name, int64_t min, int64_t max, tt_dim_t* out_dim,
                          size_t* out_index) {
  *out_dim = TT_DIM_UNKNOWN;
  *out_index = 0;
  if (min < 0 || min > max) {
    return tt_status_create(TT_INVALID_ARGUMENT, "symbol %s: range [%lld, %lld] is empty or negative", name,
                            (long long)min, (long long)max);
  }
  tt_dims_t* table = table_of(module);
  if (!table) return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory creating symbol %s", name);
  for (uint32_t i = 0; i < table->symbol_count; ++i) {
    if (strcmp(table->entries[table->symbols[i]].name, name) == 0) {
      return tt_status_create(TT_ALREADY_EXISTS, "symbol %s exists already", name);
    }
  }
  if (table->symbol_count == table->symbol_capacity) {
    uint32_t capacity = table->symbol_capacity ? table->symbol_capacity * 2 : 8;
    uint32_t* symbols = tt_arena_alloc_array(&module->arena, capacity, sizeof(*symbols));
    if (!symbols)
      return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory creating symbol %s", name);
    if (table->symbol_count) memcpy(symbols, table->symbols, table->symbol_count * sizeof(*symbols));
    table->symbols = symbols;
    table->symbol_capacity = capacity;
  }
  tt_dim_entry_t entry = {.kind = TT_DIM_SYMBOL, .min = min, .max = max, .index = table->symbol_count};
  entry.name = tt_arena_strndup(&module->arena, name, strlen(name));
  tt_dim_t d = entry.name ? intern(module, &entry) : TT_DIM_UNKNOWN;
  if (d == TT_DIM_UNKNOWN)
    return tt_status_create(TT_RESOURCE_EXHAUSTED, "out of host memory creating symbol %s", name);
  *out_index = table->symbol_count;
  table->symbols[table->symbol_count++] = (uint32_t)(-1 - d);
  *out_dim = d;
  return TT_OK_STATUS;
}

size_t tt_dim_symbol_count(const tt_module_t* module) {
  return module->dims ? module->dims->symbol_count : 0;
}

// ---- arithmetic --------------------------------------------------------------------------------
static tt_dim_t dim_of_poly(tt_module_t* module, const tt_dim_poly_t* p) {
  int64_t value;
  if (tt_dim_poly_is_constant(p, &value) && value >= 0) return value;
  if (p->count == 1 && p->terms[0].count == 1 && p->terms[0].coefficient == 1)
    return dim_of(p->terms[0].factors[0]);
  tt_dim_entry_t entry = {.kind = p->count == 1 && p->terms[0].count ? TT_DIM_MUL : TT_DIM_ADD,
                          .terms = p->terms,
                          .term_count = p->count};
  tt_dim_poly_range(module, p, &entry.min, &entry.max);
  return intern(module, &entry);
}

static bool both(const tt_module_t* module, tt_dim_t a, tt_dim_t b, tt_dim_poly_t* x, tt_dim_poly_t* y) {
  return tt_dim_poly_of(module, a, x) && tt_dim_poly_of(module, b, y);
}

tt_dim_t tt_dim_add(tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  tt_dim_poly_t x, y;
  if (!both(module, a, b, &x, &y) || !tt_dim_poly_add(&x, &y, 1, &x)) return TT_DIM_UNKNOWN;
  return dim_of_poly(module, &x);
}

tt_dim_t tt_dim_sub(tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  tt_dim_poly_t x, y;
  if (!both(module, a, b, &x, &y) || !tt_dim_poly_add(&x, &y, -1, &x)) return TT_DIM_UNKNOWN;
  return dim_of_poly(module, &x);
}

tt_dim_t tt_dim_mul(tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  tt_dim_poly_t x, y;
  if (!both(module, a, b, &x, &y) || !tt_dim_poly_mul(&x, &y, &x)) return TT_DIM_UNKNOWN;
  return dim_of_poly(module, &x);
}

static int64_t gcd(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

// Greatest common divisor of the coefficients of the non-constant terms and c.
static int64_t common_divisor(const tt_dim_poly_t* p, int64_t c, bool with_constant) {
  int64_t g = c;
  for (uint32_t i = 0; i < p->count; ++i) {
    if (p->terms[i].coefficient == INT64_MIN) return 1;
    if (p->terms[i].count || with_constant) g = gcd(g, p->terms[i].coefficient);
  }
  return g;
}

// x = quotient * by + rest, term by term; `by` is one term and positive.
static bool pull_multiples(const tt_dim_poly_t* x, const tt_dim_poly_t* by, tt_dim_poly_t* quotient,
                           tt_dim_poly_t* rest) {
  if (!tt_dim_poly_split(x, &by->terms[0], quotient, rest)) return false;
  int64_t c;
  if (!tt_dim_poly_is_constant(by, &c)) return true;
  // A constant divisor also takes the multiple out of each coefficient: 5s = 2*(2s) + s for c = 2.
  for (uint32_t i = 0; i < rest->count; ++i) {
    tt_dim_term_t* term = &rest->terms[i];
    int64_t q = tt_dim_floordiv_i64(term->coefficient, c);
    if (q == 0) continue;
    tt_dim_poly_t part;
    part.count = 1;
    part.terms[0] = *term;
    part.terms[0].coefficient = q;
    term->coefficient -= q * c;  // in (0, c): the term itself divides nowhere
    if (!tt_dim_poly_add(quotient, &part, 1, quotient)) return false;
  }
  return true;
}

// 0 <= rest < y for sure?
static bool within(const tt_module_t* module, const tt_dim_poly_t* rest, const tt_dim_poly_t* y) {
  tt_dim_poly_t slack, one;
  tt_dim_poly_constant(1, &one);
  return tt_dim_poly_nonnegative(module, rest) && tt_dim_poly_add(y, rest, -1, &slack) &&
         tt_dim_poly_add(&slack, &one, -1, &slack) && tt_dim_poly_nonnegative(module, &slack);
}

static tt_dim_t floordiv_atom(tt_module_t* module, const tt_dim_poly_t* x, const tt_dim_poly_t* y) {
  tt_dim_poly_t a = *x, b = *y;
  int64_t c;
  if (tt_dim_poly_is_constant(&b, &c)) {
    // floor((g p + k) / (g c')) = floor((p + floor(k / g)) / c')
    int64_t g = common_divisor(&a, c, false);
    if (g > 1) {
      for (uint32_t i = 0; i < a.count; ++i)
        a.terms[i].coefficient = tt_dim_floordiv_i64(a.terms[i].coefficient, g);
      if (a.count && a.terms[a.count - 1].coefficient == 0) --a.count;
      c /= g;
      tt_dim_poly_constant(c, &b);
      if (c == 1) return dim_of_poly(module, &a);
    }
    // floor(floor(p / m) / c) = floor(p / (m c))
    if (a.count == 1 && a.terms[0].count == 1 && a.terms[0].coefficient == 1) {
      const tt_dim_entry_t* inner = &module->dims->entries[a.terms[0].factors[0]];
      int64_t joined;
      if (inner->kind == TT_DIM_FLOORDIV && inner->b > 0 && tt_checked_mul_i64(inner->b, c, &joined)) {
        return tt_dim_floordiv(module, inner->a, joined);
      }
    }
  }
  tt_dim_entry_t entry = {
      .kind = TT_DIM_FLOORDIV, .a = dim_of_poly(module, &a), .b = dim_of_poly(module, &b)};
  if (entry.a == TT_DIM_UNKNOWN || entry.b == TT_DIM_UNKNOWN) return TT_DIM_UNKNOWN;
  int64_t low, high, least, most;
  tt_dim_poly_range(module, &a, &low, &high);
  tt_dim_poly_range(module, &b, &least, &most);
  least = TT_MAX(least, 1);  // a divisor below 1 is an error when it is evaluated
  most = TT_MAX(most, 1);
  entry.min = low == INT64_MIN ? low : tt_dim_floordiv_i64(low, low < 0 ? least : most);
  entry.max = high == INT64_MAX ? high : tt_dim_floordiv_i64(high, high < 0 ? most : least);
  return intern(module, &entry);
}

tt_dim_t tt_dim_floordiv(tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  tt_dim_poly_t x, y, quotient, rest;
  int64_t numerator, divisor;
  if (!both(module, a, b, &x, &y)) return TT_DIM_UNKNOWN;
  if (tt_dim_poly_is_constant(&y, &divisor)) {
    if (divisor <= 0) return TT_DIM_UNKNOWN;
    if (divisor == 1) return a;
    if (tt_dim_poly_is_constant(&x, &numerator)) {
      tt_dim_poly_constant(tt_dim_floordiv_i64(numerator, divisor), &x);
      return dim_of_poly(module, &x);
    }
  }
  int64_t least, most;
  tt_dim_poly_range(module, &y, &least, &most);
  if (least < 1) {  // a quotient by something that may be 0 stays as it is
    return floordiv_atom(module, &x, &y);
  }
  tt_dim_poly_t difference;
  if (a == b) return 1;
  if (y.count == 1) {
    if (!pull_multiples(&x, &y, &quotient, &rest)) return TT_DIM_UNKNOWN;
  } else {
    // A sum divides only itself, possibly with a remainder.
    quotient.count = 0;
    rest = x;
    if (tt_dim_poly_add(&x, &y, -1, &difference) && within(module, &difference, &y)) return 1;
  }
  if (within(module, &rest, &y)) return dim_of_poly(module, &quotient);
  if (quotient.count == 0) return floordiv_atom(module, &rest, &y);
  tt_dim_t tail = floordiv_atom(module, &rest, &y);
  tt_dim_t head = dim_of_poly(module, &quotient);
  return tail == TT_DIM_UNKNOWN || head == TT_DIM_UNKNOWN ? TT_DIM_UNKNOWN : tt_dim_add(module, head, tail);
}

tt_dim_t tt_dim_mod(tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  tt_dim_poly_t x, y, quotient, rest;
  int64_t value, divisor;
  if (!both(module, a, b, &x, &y)) return TT_DIM_UNKNOWN;
  bool is_constant = tt_dim_poly_is_constant(&y, &divisor);
  if (is_constant) {
    if (divisor <= 0) return TT_DIM_UNKNOWN;
    if (divisor == 1) return 0;
    if (tt_dim_poly_is_constant(&x, &value)) return value - tt_dim_floordiv_i64(value, divisor) * divisor;
  }
  int64_t least, most;
  tt_dim_poly_range(module, &y, &least, &most);
  rest = x;
  if (least >= 1) {
    if (a == b) return 0;
    if (y.count == 1 && !pull_multiples(&x, &y, &quotient, &rest)) return TT_DIM_UNKNOWN;
    if (within(module, &rest, &y)) return dim_of_poly(module, &rest);
  }
  if (is_constant) {
    // mod(g p, g c') = g mod(p, c')
    int64_t g = common_divisor(&rest, divisor, true);
    if (g > 1) {
      for (uint32_t i = 0; i < rest.count; ++i) rest.terms[i].coefficient /= g;
      tt_dim_t inner = tt_dim_mod(module, dim_of_poly(module, &rest), divisor / g);
      return tt_dim_mul(module, inner, g);
    }
  }
  tt_dim_entry_t entry = {.kind = TT_DIM_MOD, .a = dim_of_poly(module, &rest), .b = b, .min = 0};
  if (entry.a == TT_DIM_UNKNOWN) return TT_DIM_UNKNOWN;
  entry.max = most == INT64_MAX ? INT64_MAX : TT_MAX(most - 1, 0);
  int64_t low, high;
  tt_dim_poly_range(module, &rest, &low, &high);
  if (low >= 0) entry.max = TT_MIN(entry.max, high);
  return intern(module, &entry);
}

// ---- min, max ----------------------------------------------------------------------------------
#define MAX_LEAVES 16

// Collects the arguments of nested extrema of one kind.
static bool collect(const tt_module_t* module, tt_dim_kind_t kind, tt_dim_t d, tt_dim_t* leaves,
                    size_t* count) {
  const tt_dim_entry_t* entry = tt_dim_entry(module, d);
  if (entry && entry->kind == kind) {
    return collect(module, kind, entry->a, leaves, count) && collect(module, kind, entry->b, leaves, count);
  }
  if (*count == MAX_LEAVES) return false;
  leaves[(*count)++] = d;
  return true;
}

static tt_dim_t extremum(tt_module_t* module, tt_dim_kind_t kind, tt_dim_t a, tt_dim_t b) {
  if (a == TT_DIM_UNKNOWN || b == TT_DIM_UNKNOWN) return TT_DIM_UNKNOWN;
  if (a >= 0 && b >= 0) return kind == TT_DIM_MIN ? TT_MIN(a, b) : TT_MAX(a, b);
  tt_dim_t leaves[MAX_LEAVES], kept[MAX_LEAVES];
  size_t count = 0, kept_count = 0;
  if (!collect(module, kind, a, leaves, &count) || !collect(module, kind, b, leaves, &count))
    return TT_DIM_UNKNOWN;
  for (size_t i = 0; i < count; ++i) {
    bool dominated = false;
    for (size_t k = 0; k < count && !dominated; ++k) {
      if (k == i) continue;
      if (leaves[k] == leaves[i]) {
        dominated = k < i;
        continue;
      }
      tt_truth_t wins = kind == TT_DIM_MIN ? tt_dim_less_equal(module, leaves[k], leaves[i])
                                           : tt_dim_less_equal(module, leaves[i], leaves[k]);
      tt_truth_t loses = kind == TT_DIM_MIN ? tt_dim_less_equal(module, leaves[i], leaves[k])
                                            : tt_dim_less_equal(module, leaves[k], leaves[i]);
      // Equal in value but not in form: the earlier one stays.
      dominated = wins == TT_YES && (loses != TT_YES || k < i);
    }
    if (!dominated) kept[kept_count++] = leaves[i];
  }
  for (size_t i = 1; i < kept_count; ++i) {  // a canonical order: by number
    for (size_t k = i; k > 0 && kept[k] > kept[k - 1]; --k) {
      tt_dim_t t = kept[k];
      kept[k] = kept[k - 1];
      kept[k - 1] = t;
    }
  }
  if (kept_count == 0) kept[kept_count++] = leaves[0];  // an incomplete prover may go round in circles
  tt_dim_t result = kept[0];
  for (size_t i = 1; i < kept_count; ++i) {
    int64_t low, high, low2, high2;
    tt_dim_range(module, result, &low, &high);
    tt_dim_range(module, kept[i], &low2, &high2);
    bool is_min = kind == TT_DIM_MIN;
    tt_dim_entry_t entry = {.kind = kind,
                            .a = result,
                            .b = kept[i],
                            .min = is_min ? TT_MIN(low, low2) : TT_MAX(low, low2),
                            .max = is_min ? TT_MIN(high, high2) : TT_MAX(high, high2)};
    result = intern(module, &entry);
    if (result == TT_DIM_UNKNOWN) return result;
  }
  return result;
}

tt_dim_t tt_dim_min(tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  return extremum(module, TT_DIM_MIN, a, b);
}
tt_dim_t tt_dim_max(tt_module_t* module, tt_dim_t a, tt_dim_t b) {
  return extremum(module, TT_DIM_MAX, a, b);
}

void tt_dim_range(const tt_module_t* module, tt_dim_t d, int64_t* out_min, int64_t* out_max) {
  const tt_dim_entry_t* entry = tt_dim_entry(module, d);
  *out_min = d >= 0 ? d : entry ? entry->min : 0;
  *out_max = d >= 0 ? d : entry ? entry->max : INT64_MAX;
}

// ---- evaluation, printing, import --------------------------------------------------------------
static tt_status_t overflow(const tt_module_t* module, tt_dim_t d) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_dim_print(module, d, &text);
  tt_status_t status =
      tt_status_create(TT_OUT_OF_RANGE, "dimension %s overflows int64", tt_strbuf_text(&text));
  tt_strbuf_deinitialize(&text);
  return status;
}

static tt_status_t evaluate(const tt_module_t* module, tt_dim_t d, const int64_t* bindings, size_t count,
                            int64_t* out) {
  if (d >= 0) {
    *out = d;
    return TT_OK_STATUS;
  }
  const tt_dim_entry_t* e = tt_dim_entry(module, d);
  if (!e) return tt_status_create(TT_INVALID_ARGUMENT, "an unknown dimension has no value");
  if (e->kind == TT_DIM_SYMBOL) {
    if (e->index >= count) {
      return tt_status_create(TT_OUT_OF_RANGE, "symbol %s (number %zu) has no binding, %zu are given",
                              e->name, e->index, count);
    }
    *out = bindings[e->index];
    if (*out >= e->min && *out <= e->max) return TT_OK_STATUS;
    if (e->max == INT64_MAX) {
      return tt_status_create(TT_OUT_OF_RANGE, "symbol %s is bound to %lld, its range is [%lld, unbounded)",
                              e->name, (long long)*out, (long long)e->min);
    }
    return tt_status_create(TT_OUT_OF_RANGE, "symbol %s is bound to %lld, its range is [%lld, %lld]", e->name,
                            (long long)*out, (long long)e->min, (long long)e->max);
  }
  if (e->kind == TT_DIM_ADD || e->kind == TT_DIM_MUL) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < e->term_count; ++i) {
      int64_t product = e->terms[i].coefficient, factor;
      for (uint32_t k = 0; k < e->terms[i].count; ++k) {
        TT_RETURN_IF_ERROR(evaluate(module, dim_of(e->terms[i].factors[k]), bindings, count, &factor));
        if (!tt_checked_mul_i64(product, factor, &product)) return overflow(module, d);
      }
      if (__builtin_add_overflow(sum, product, &sum)) return overflow(module, d);
    }
    *out = sum;
    return TT_OK_STATUS;
  }
  int64_t a, b;
  TT_RETURN_IF_ERROR(evaluate(module, e->a, bindings, count, &a));
  TT_RETURN_IF_ERROR(evaluate(module, e->b, bindings, count, &b));
  if (e->kind == TT_DIM_MIN) {
    *out = TT_MIN(a, b);
  } else if (e->kind == TT_DIM_MAX) {
    *out = TT_MAX(a, b);
  } else if (b <= 0) {
    return tt_status_create(TT_OUT_OF_RANGE, "a dimension is divided by %lld", (long long)b);
  } else {
    int64_t q = tt_dim_floordiv_i64(a, b);
    *out = e->kind == TT_DIM_FLOORDIV ? q : a - q * b;
  }
  return TT_OK_STATUS;
}

tt_status_t tt_dim_evaluate(const tt_module_t* module, tt_dim_t d, const int64_t* bindings,
                            size_t binding_count, int64_t* out_value) {
  *out_value = 0;
  int64_t value;
  TT_RETURN_IF_ERROR(evaluate(module, d, bindings, binding_count, &value));
  if (value < 0) {
    tt_strbuf_t text;
    tt_strbuf_initialize(&text);
    tt_dim_print(module, d, &text);
    tt_status_t status =
        tt_status_create(TT_OUT_OF_RANGE, "dimension %s is %lld", tt_strbuf_text(&text), (long long)value);
    tt_strbuf_deinitialize(&text);
    return status;
  }
  *out_value = value;
  return TT_OK_STATUS;
}

void tt_dim_print(const tt_module_t* module, tt_dim_t d, tt_strbuf_t* out) {
  static const char* const names[] = {
      [TT_DIM_FLOORDIV] = "floordiv", [TT_DIM_MOD] = "mod", [TT_DIM_MIN] = "min", [TT_DIM_MAX] = "max"};
  const tt_dim_entry_t* e = tt_dim_entry(module, d);
  if (d >= 0) {
    tt_strbuf_printf(out, "%lld", (long long)d);
  } else if (!e) {
    tt_strbuf_puts(out, "?");
  } else if (e->kind == TT_DIM_SYMBOL) {
    tt_strbuf_puts(out, e->name);
  } else if (e->kind == TT_DIM_ADD || e->kind == TT_DIM_MUL) {
    for (uint32_t i = 0; i < e->term_count; ++i) {
      const tt_dim_term_t* term = &e->terms[i];
      uint64_t size = term->coefficient < 0 ? 0 - (uint64_t)term->coefficient : (uint64_t)term->coefficient;
      if (term->coefficient < 0) {
        tt_strbuf_puts(out, i ? " - " : "-");
      } else if (i) {
        tt_strbuf_puts(out, " + ");
      }
      if (size != 1 || term->count == 0)
        tt_strbuf_printf(out, "%llu%s", (unsigned long long)size, term->count ? "*" : "");
      for (uint32_t k = 0; k < term->count; ++k) {
        if (k) tt_strbuf_putc(out, '*');
        tt_dim_print(module, dim_of(term->factors[k]), out);
      }
    }
  } else {
    tt_strbuf_printf(out, "%s(", names[e->kind]);
    tt_dim_print(module, e->a, out);
    tt_strbuf_puts(out, ", ");
    tt_dim_print(module, e->b, out);
    tt_strbuf_putc(out, ')');
  }
}

static tt_dim_t import_symbol(tt_module_t* to, const tt_dim_entry_t* e) {
  for (uint32_t i = 0; to->dims && i < to->dims->symbol_count; ++i) {
    if (strcmp(to->dims->entries[to->dims->symbols[i]].name, e->name) == 0)
      return dim_of(to->dims->symbols[i]);
  }
  tt_dim_t d;
  size_t index;
  tt_status_ignore(tt_dim_symbol(to, e->name, e->min, e->max, &d, &index));  // UNKNOWN says it
  return d;
}

tt_dim_t tt_dim_import(tt_module_t* to, const tt_module_t* from, tt_dim_t d) {
  if (d >= 0) return d;
  const tt_dim_entry_t* e = tt_dim_entry(from, d);
  if (!e) return TT_DIM_UNKNOWN;
  if (e->kind == TT_DIM_SYMBOL) return import_symbol(to, e);
  if (e->kind == TT_DIM_ADD || e->kind == TT_DIM_MUL) {
    tt_dim_poly_t sum, product, factor;
    sum.count = 0;
    for (uint32_t i = 0; i < e->term_count; ++i) {
      tt_dim_poly_constant(e->terms[i].coefficient, &product);
      for (uint32_t k = 0; k < e->terms[i].count; ++k) {
        tt_dim_t own = tt_dim_import(to, from, dim_of(e->terms[i].factors[k]));
        if (!tt_dim_poly_of(to, own, &factor) || !tt_dim_poly_mul(&product, &factor, &product))
          return TT_DIM_UNKNOWN;
      }
      if (!tt_dim_poly_add(&sum, &product, 1, &sum)) return TT_DIM_UNKNOWN;
    }
    return dim_of_poly(to, &sum);
  }
  tt_dim_t a = tt_dim_import(to, from, e->a), b = tt_dim_import(to, from, e->b);
  switch (e->kind) {
    case TT_DIM_FLOORDIV: return tt_dim_floordiv(to, a, b);
    case TT_DIM_MOD: return tt_dim_mod(to, a, b);
    case TT_DIM_MIN: return tt_dim_min(to, a, b);
    default: return tt_dim_max(to, a, b);
  }
}

// ---- comparison of tables ----------------------------------------------------------------------
bool tt_dims_equal(const tt_dims_t* a, const tt_dims_t* b) {
  uint32_t count = a ? a->count : 0;
  if (count != (b ? b->count : 0)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const tt_dim_entry_t *x = &a->entries[i], *y = &b->entries[i];
    if (!same_entry(x, y) || x->min != y->min || x->max != y->max) return false;
  }
  return true;
}

uint64_t tt_dims_hash(const tt_dims_t* dims) {
  uint64_t hash = dims ? dims->count : 0;
  for (uint32_t i = 0; dims && i < dims->count; ++i) {
    hash = tt_hash_mix(hash ^ (uint64_t)dims->entries[i].min,
                       dims->entries[i].hash ^ (uint64_t)dims->entries[i].max);
  }
  return hash;
}
