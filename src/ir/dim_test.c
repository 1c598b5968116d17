// Dimensions: folding by known identities; random expressions against a plain evaluator of the same tree.
#include "ir/dim.h"

#include "base/test.h"

static tt_module_t* module;
static tt_dim_t s, t, u;

static bool open_module(int64_t s_min) {
  size_t index;
  module = NULL;
  tt_status_t status = tt_module_create(&module);
  status = tt_status_join(status, tt_dim_symbol(module, "s", s_min, 64, &s, &index));
  status = tt_status_join(status, tt_dim_symbol(module, "t", 2, INT64_MAX, &t, &index));
  status = tt_status_join(status, tt_dim_symbol(module, "u", 0, 100, &u, &index));
  bool ok = tt_status_is_ok(status) && index == 2;
  tt_status_free(status);
  return ok;
}

#define ADD(a, b) tt_dim_add(module, a, b)
#define SUB(a, b) tt_dim_sub(module, a, b)
#define MUL(a, b) tt_dim_mul(module, a, b)
#define DIV(a, b) tt_dim_floordiv(module, a, b)
#define MOD(a, b) tt_dim_mod(module, a, b)
#define MIN(a, b) tt_dim_min(module, a, b)
#define MAX(a, b) tt_dim_max(module, a, b)

TT_TEST(dim, identities) {
  TT_EXPECT(open_module(1));
  TT_EXPECT_EQ(ADD(2, 3), 5);
  TT_EXPECT(ADD(s, t) == ADD(t, s));
  TT_EXPECT(MUL(ADD(s, 1), t) == ADD(MUL(s, t), t));
  TT_EXPECT_EQ(SUB(ADD(s, 5), s), 5);
  TT_EXPECT_EQ(SUB(s, s), 0);
  TT_EXPECT(ADD(SUB(3, 5), s) == SUB(s, 2));   // a negative intermediate constant
  TT_EXPECT(DIV(MUL(s, t), s) == t);           // s >= 1
  TT_EXPECT_EQ(DIV(t, t), 1);
  TT_EXPECT(DIV(ADD(MUL(4, s), 6), 4) == ADD(s, 1));
  TT_EXPECT(DIV(ADD(MUL(4, s), MUL(2, t)), 4) == ADD(s, DIV(t, 2)));
  TT_EXPECT(DIV(DIV(s, 2), 3) == DIV(s, 6));
  TT_EXPECT(DIV(SUB(ADD(MUL(2, s), 3), 4), 2) == SUB(s, 1));
  TT_EXPECT_EQ(MOD(MUL(6, s), 3), 0);
  TT_EXPECT(MOD(ADD(MUL(5, s), 7), 2) == MOD(ADD(s, 1), 2));
  TT_EXPECT(MOD(MUL(2, s), 4) == MUL(2, MOD(s, 2)));
  TT_EXPECT(MIN(s, 64) == s);
  TT_EXPECT_EQ(MAX(s, 64), 64);
  TT_EXPECT(MIN(MIN(s, t), 5) == MIN(5, MIN(t, s)));
  TT_EXPECT(MAX(SUB(s, 1), 0) == SUB(s, 1));
  TT_EXPECT(ADD(s, TT_DIM_UNKNOWN) == TT_DIM_UNKNOWN);
  TT_EXPECT(MUL(MUL(INT64_MAX, s), 3) == TT_DIM_UNKNOWN);
  tt_module_release(module);
}

TT_TEST(dim, prover) {
  TT_EXPECT(open_module(1));
  TT_EXPECT_EQ(tt_dim_equal(module, s, ADD(s, 1)), TT_NO);
  TT_EXPECT_EQ(tt_dim_equal(module, s, t), TT_MAYBE);
  TT_EXPECT_EQ(tt_dim_equal(module, s, 65), TT_NO);
  TT_EXPECT_EQ(tt_dim_equal(module, MUL(2, s), ADD(MUL(2, t), 1)), TT_NO);
  TT_EXPECT_EQ(tt_dim_less_equal(module, 1, s), TT_YES);
  TT_EXPECT_EQ(tt_dim_less_equal(module, s, MUL(s, t)), TT_YES);
  TT_EXPECT_EQ(tt_dim_less_equal(module, DIV(t, 2), t), TT_YES);
  TT_EXPECT_EQ(tt_dim_less_equal(module, t, DIV(t, 2)), TT_NO);
  TT_EXPECT_EQ(tt_dim_less_equal(module, MIN(s, t), t), TT_YES);
  TT_EXPECT_EQ(tt_dim_less_equal(module, s, MAX(s, t)), TT_YES);
  TT_EXPECT_EQ(tt_dim_less_equal(module, MOD(t, s), SUB(s, 1)), TT_YES);
  TT_EXPECT_EQ(tt_dim_less_equal(module, MUL(2, DIV(t, 2)), t), TT_YES);
  TT_EXPECT_EQ(tt_dim_less_equal(module, s, u), TT_MAYBE);
  int64_t low, high;
  tt_dim_range(module, ADD(MUL(2, s), 1), &low, &high);
  TT_EXPECT_EQ(low, 3);
  TT_EXPECT_EQ(high, 129);
  tt_dim_range(module, MUL(s, t), &low, &high);
  TT_EXPECT_EQ(low, 2);
  TT_EXPECT(high == INT64_MAX);
  tt_module_release(module);
}

TT_TEST(dim, print_evaluate_import) {
  TT_EXPECT(open_module(1));
  tt_dim_t d = ADD(SUB(MUL(3, MUL(s, t)), DIV(ADD(u, 1), 2)), 4);
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_dim_print(module, d, &text);
  TT_EXPECT_STR(tt_strbuf_text(&text), "3*s*t - floordiv(u + 1, 2) + 4");
  tt_strbuf_deinitialize(&text);
  int64_t value;
  TT_EXPECT_OK(tt_dim_evaluate(module, d, (int64_t[]){2, 5, 8}, 3, &value));
  TT_EXPECT_EQ(value, 30);
  TT_EXPECT_ERROR(tt_dim_evaluate(module, d, (int64_t[]){65, 5, 8}, 3, &value), TT_OUT_OF_RANGE,
                  "symbol s is bound to 65, its range is [1, 64]");
  TT_EXPECT_ERROR(tt_dim_evaluate(module, d, (int64_t[]){2, 1, 8}, 3, &value), TT_OUT_OF_RANGE,
                  "[2, unbounded)");
  TT_EXPECT_ERROR(tt_dim_evaluate(module, SUB(s, 5), (int64_t[]){2, 5, 8}, 3, &value), TT_OUT_OF_RANGE,
                  "s - 5 is -3");
  TT_EXPECT_ERROR(tt_dim_evaluate(module, u, (int64_t[]){2, 5}, 2, &value), TT_OUT_OF_RANGE, "symbol u");
  tt_module_t* other = NULL;
  TT_EXPECT_OK(tt_module_create(&other));
  size_t index;
  tt_dim_t own;
  TT_EXPECT_OK(tt_dim_symbol(other, "u", 0, 100, &own, &index));
  tt_dim_t copy = tt_dim_import(other, module, d);
  // There u is number 0, then s and t in the order met.
  TT_EXPECT_EQ(tt_dim_symbol_count(other), 3);
  TT_EXPECT_OK(tt_dim_evaluate(other, copy, (int64_t[]){8, 2, 5}, 3, &value));
  TT_EXPECT_EQ(value, 30);
  TT_EXPECT_ERROR(tt_dim_symbol(other, "u", 0, 1, &own, &index), TT_ALREADY_EXISTS, "u");
  tt_module_release(other);
  tt_module_release(module);
}

// ---- attacks on the invariants of dim.h ------------------------------------------------------------
TT_TEST(dim, ranges_that_are_none_are_refused_d1) {
  TT_EXPECT(open_module(1));
  size_t index;
  tt_dim_t d;
  TT_EXPECT_ERROR(tt_dim_symbol(module, "v", -1, 4, &d, &index), TT_INVALID_ARGUMENT, "v");
  TT_EXPECT_ERROR(tt_dim_symbol(module, "v", 5, 4, &d, &index), TT_INVALID_ARGUMENT, "v");
  TT_EXPECT_EQ(tt_dim_symbol_count(module), 3);
  TT_EXPECT_OK(tt_dim_symbol(module, "v", 4, 4, &d, &index));
  TT_EXPECT_EQ(tt_dim_less_equal(module, d, 4), TT_YES);
  tt_module_release(module);
}

TT_TEST(dim, equal_expressions_are_equal_values_d2) {
  TT_EXPECT(open_module(1));
  TT_EXPECT(MUL(ADD(s, t), ADD(s, u)) == ADD(ADD(MUL(s, s), MUL(u, s)), ADD(MUL(t, s), MUL(u, t))));
  TT_EXPECT(SUB(ADD(s, MUL(ADD(s, 1), SUB(s, 1))), MUL(s, s)) == SUB(s, 1));
  TT_EXPECT(MAX(s, MAX(t, u)) == MAX(MAX(u, s), t));
  TT_EXPECT(ADD(DIV(t, 3), DIV(t, 3)) == MUL(2, DIV(t, 3)));
  tt_module_release(module);
}

TT_TEST(dim, ranges_saturate_and_division_by_zero_is_an_error_d3) {
  TT_EXPECT(open_module(1));
  int64_t low, high, value;
  tt_dim_t cube = MUL(MUL(t, t), MUL(t, t));
  tt_dim_range(module, cube, &low, &high);
  TT_EXPECT_EQ(low, 16);
  TT_EXPECT(high == INT64_MAX);
  int64_t huge = (int64_t)1 << 40;
  TT_EXPECT_ERROR(tt_dim_evaluate(module, cube, (int64_t[]){1, huge, 1}, 3, &value), TT_OUT_OF_RANGE, "t");
  tt_dim_t quotient = DIV(t, u), rest = MOD(t, u);   // u may be 0
  if (quotient != TT_DIM_UNKNOWN) {
    TT_EXPECT_OK(tt_dim_evaluate(module, quotient, (int64_t[]){1, 9, 2}, 3, &value));
    TT_EXPECT_EQ(value, 4);
    tt_status_t status = tt_dim_evaluate(module, quotient, (int64_t[]){1, 9, 0}, 3, &value);
    TT_EXPECT(!tt_status_is_ok(status));
    tt_status_free(status);
  }
  if (rest != TT_DIM_UNKNOWN) {
    tt_status_t status = tt_dim_evaluate(module, rest, (int64_t[]){1, 9, 0}, 3, &value);
    TT_EXPECT(!tt_status_is_ok(status));
    tt_status_free(status);
  }
  TT_EXPECT(DIV(s, 0) == TT_DIM_UNKNOWN);
  TT_EXPECT(MOD(s, 0) == TT_DIM_UNKNOWN);
  tt_module_release(module);
}

TT_TEST(dim, constants_and_facts_come_from_ranges_d4_d5) {
  TT_EXPECT(open_module(1));
  TT_EXPECT_EQ(MOD(MUL(s, 12), 4), 0);
  TT_EXPECT_EQ(SUB(MUL(ADD(s, t), 2), ADD(MUL(2, t), MUL(2, s))), 0);
  TT_EXPECT_EQ(DIV(u, 101), 0);        // u <= 100
  TT_EXPECT_EQ(MIN(s, MUL(s, 0)), 0);
  TT_EXPECT_EQ(tt_dim_equal(module, t, 1), TT_NO);      // t >= 2
  TT_EXPECT_EQ(tt_dim_equal(module, t, 0), TT_NO);
  TT_EXPECT_EQ(tt_dim_equal(module, u, 1), TT_MAYBE);   // never by a binding
  TT_EXPECT_EQ(tt_dim_equal(module, s, 1), TT_MAYBE);
  tt_module_release(module);
}

// ---- random trees ------------------------------------------------------------------------------
static uint64_t seed = 88172645463325252ull;
static uint64_t next_random(uint64_t limit) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed % limit;
}

typedef struct node_s { char op; int a, b; int64_t value; tt_dim_t dim; } node_t;
static node_t nodes[64];

static int64_t floor_division(int64_t a, int64_t b) { return (int64_t)floor((double)a / (double)b); }

// Plain evaluation; false where the value is undefined (division by less than 1) or too large for the double.
static bool plain(int i, const int64_t* bind, int64_t* out) {
  node_t* n = &nodes[i];
  int64_t a, b;
  if (n->op == 'c') return *out = n->value, true;
  if (n->op == 's') return *out = bind[n->value], true;
  if (!plain(n->a, bind, &a) || !plain(n->b, bind, &b)) return false;
  if (llabs(a) > 1000000000000 || llabs(b) > 1000000000000) return false;
  switch (n->op) {
    case '+': *out = a + b; return true;
    case '-': *out = a - b; return true;
    case '*': *out = a * b; return llabs(a) < 1000000 && llabs(b) < 1000000;
    case '<': *out = a < b ? a : b; return true;
    case '>': *out = a > b ? a : b; return true;
    default:
      if (b < 1) return false;
      *out = n->op == '/' ? floor_division(a, b) : a - b * floor_division(a, b);
      return true;
  }
}

// Builds `count` random nodes over earlier ones.
static void grow(int count) {
  for (int i = 0; i < count; ++i) {
    node_t* n = &nodes[i];
    if (i < 3) {
      *n = (node_t){.op = 's', .value = i, .dim = i == 0 ? s : i == 1 ? t : u};
    } else if (i < 6) {
      int64_t c = (int64_t)next_random(7) + (i == 5);
      *n = (node_t){.op = 'c', .value = c, .dim = c};
    } else {
      n->op = "+-*+*/%<>/"[next_random(10)];
      n->a = (int)next_random((uint64_t)i);
      n->b = (int)next_random((uint64_t)i);
      tt_dim_t a = nodes[n->a].dim, b = nodes[n->b].dim;
      n->dim = n->op == '+'   ? ADD(a, b)
               : n->op == '-' ? SUB(a, b)
               : n->op == '*' ? MUL(a, b)
               : n->op == '/' ? DIV(a, b)
               : n->op == '%' ? MOD(a, b)
               : n->op == '<' ? MIN(a, b)
                              : MAX(a, b);
    }
  }
}

TT_TEST(dim, random_expressions) {
  int judged = 0, proved = 0, maybe = 0;
  for (int round = 0; round < 1500; ++round) {
    TT_EXPECT(open_module(round % 2));
    grow(16);
    for (int trial = 0; trial < 8; ++trial) {
      int64_t bind[3] = {(int64_t)next_random(64) + 1, (int64_t)next_random(40) + 2,
                         (int64_t)next_random(101)};
      if (trial == 0) bind[0] = round % 2, bind[1] = 2, bind[2] = 0;  // corners
      int64_t values[16];
      bool defined[16];
      for (int i = 0; i < 16; ++i) {
        defined[i] = plain(i, bind, &values[i]);
        if (!defined[i] || nodes[i].dim == TT_DIM_UNKNOWN) continue;
        int64_t got, low, high;
        tt_status_t status = tt_dim_evaluate(module, nodes[i].dim, bind, 3, &got);
        if (values[i] < 0) {
          TT_EXPECT(tt_status_code(status) == TT_OUT_OF_RANGE);
          tt_status_free(status);
        } else {
          TT_EXPECT_OK(status);
          TT_EXPECT_EQ(got, values[i]);
        }
        tt_dim_range(module, nodes[i].dim, &low, &high);
        TT_EXPECT(low <= values[i] && values[i] <= high);
        ++judged;
      }
      for (int i = 0; i < 16; ++i) {
        int k = (int)next_random(16);
        if (!defined[i] || !defined[k]) continue;
        tt_truth_t equal = tt_dim_equal(module, nodes[i].dim, nodes[k].dim);
        tt_truth_t below = tt_dim_less_equal(module, nodes[i].dim, nodes[k].dim);
        if (equal != TT_MAYBE) TT_EXPECT_EQ(equal == TT_YES, values[i] == values[k]);
        if (below != TT_MAYBE) TT_EXPECT_EQ(below == TT_YES, values[i] <= values[k]);
        if (below == TT_MAYBE) ++maybe; else ++proved;
      }
    }
    tt_module_release(module);
  }
  printf("%d values judged, %d orders decided, %d left open\n", judged, proved, maybe);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
