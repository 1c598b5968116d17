// What torch asks of the numbers of its random ops. They are run-time inputs of one program (value_args), so
// the engine asks on every call; the lowering asks for the numbers that a graph holds.
#include <math.h>

#include "lower/lower.h"

typedef enum rule_e { RANGE, NOT_NEGATIVE, POSITIVE, PROBABILITY, OPEN_PROBABILITY } rule_t;

void tt_lower_uniform(tt_lower_t* L);
void tt_lower_normal(tt_lower_t* L);
void tt_lower_normal_of(tt_lower_t* L);
void tt_lower_log_normal(tt_lower_t* L);
void tt_lower_bernoulli_float(tt_lower_t* L);
void tt_lower_native_dropout(tt_lower_t* L);
void tt_lower_exponential(tt_lower_t* L);
void tt_lower_geometric(tt_lower_t* L);
void tt_lower_cauchy(tt_lower_t* L);

static const struct {
  tt_lower_fn_t lower;
  rule_t rule;
  uint32_t arg;          // of the number; RANGE: the lower end, the upper one follows
  double low, high;      // where the call leaves them out
  const char* format;
} rules[] = {
    {tt_lower_uniform, RANGE, 1, 0, 1,
     "uniform_ expects to return a [from, to) range, but found from=%g > to=%g"},
    {tt_lower_normal, NOT_NEGATIVE, 2, 1, 0, "normal expects std >= 0.0, but found std %g"},
    {tt_lower_normal_of, NOT_NEGATIVE, 1, 1, 0, "normal expects std >= 0.0, but found std %g"},
    {tt_lower_log_normal, POSITIVE, 2, 2, 0, "log_normal_ expects std > 0.0, but found std=%g"},
    {tt_lower_bernoulli_float, PROBABILITY, 1, 0.5, 0,
     "bernoulli_ expects p to be in [0, 1], but got p=%g"},
    {tt_lower_native_dropout, PROBABILITY, 1, 0, 0,
     "dropout probability has to be between 0 and 1, but got %g"},
    {tt_lower_exponential, POSITIVE, 1, 1, 0, "exponential_ expects lambda > 0.0, but found lambda=%g"},
    {tt_lower_geometric, OPEN_PROBABILITY, 1, 0.5, 0,
     "geometric_ expects p to be in (0, 1), but got p=%g"},
    {tt_lower_cauchy, POSITIVE, 2, 1, 0, "cauchy_ expects sigma > 0.0, but found sigma=%g"},
};

static bool fits(rule_t rule, double x, double y) {   // no NaN does
  switch (rule) {
    case RANGE: return x <= y && isfinite(x) && isfinite(y);
    case NOT_NEGATIVE: return x >= 0;
    case POSITIVE: return x > 0;
    case PROBABILITY: return x >= 0 && x <= 1;
    default: return x > 0 && x < 1;
  }
}

static tt_status_t check(size_t k, double x, double y) {
  if (fits(rules[k].rule, x, y)) return TT_OK_STATUS;
  if (rules[k].rule == RANGE && !(isfinite(x) && isfinite(y))) {
    const char* which = isfinite(x) ? "to" : "from";
    return tt_status_create(TT_INVALID_ARGUMENT, "uniform_: %s is out of bounds", which);
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  return tt_status_create(TT_INVALID_ARGUMENT, rules[k].format, x, y);
#pragma GCC diagnostic pop
}

static size_t rule_of(tt_lower_fn_t lower) {
  size_t k = 0;
  while (k < TT_ARRAY_LENGTH(rules) && rules[k].lower != lower) ++k;
  return k;
}

// The number of `kind` in `scalar`; `if_none` where there is none, also for a tensor, which the device checks.
static double number_of(tt_arg_kind_t kind, const tt_scalar_t* scalar, double if_none) {
  if (kind == TT_ARG_FLOAT) return scalar->c[0];
  return kind == TT_ARG_INT || kind == TT_ARG_BOOL ? (double)scalar->i : if_none;
}

tt_status_t tt_l_random_check_call(const tt_aten_entry_t* entry, const tt_arg_t* args, uint32_t count) {
  size_t k = rule_of(entry->lower);
  if (k == TT_ARRAY_LENGTH(rules)) return TT_OK_STATUS;
  uint32_t at = rules[k].arg;
  bool is_dropout = entry->lower == tt_lower_native_dropout;
  if (is_dropout && count > 2 && args[2].kind == TT_ARG_BOOL && !args[2].scalar.i)
    return TT_OK_STATUS;   // not training: p is not used
  double x[2] = {rules[k].low, rules[k].high};
  for (uint32_t i = 0; i < 2 && at + i < count; ++i)
    x[i] = number_of(args[at + i].kind, &args[at + i].scalar, x[i]);
  return check(k, x[0], x[1]);
}

bool tt_l_random_check(tt_lower_t* L, tt_lower_fn_t lower) {
  size_t k = rule_of(lower);
  if (k == TT_ARRAY_LENGTH(rules)) return true;
  double x[2] = {rules[k].low, rules[k].high};
  for (uint32_t i = 0; i < (rules[k].rule == RANGE ? 2u : 1u); ++i) {
    uint32_t at = rules[k].arg + i;
    if (at >= L->arg_count) break;
    if (L->args[at].is_value) return true;   // by the engine
    x[i] = number_of(L->args[at].kind, &L->args[at].scalar, x[i]);
  }
  tt_status_t status = check(k, x[0], x[1]);
  if (tt_status_is_ok(status)) return true;
  tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s", tt_status_message(status));
  tt_status_free(status);
  return false;
}
