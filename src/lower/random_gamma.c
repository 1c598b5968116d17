// Gamma, Dirichlet, binomial. Rejection with a fixed number of attempts, so the offset advances by a known
// amount.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

#define ATTEMPTS 12   // a Marsaglia-Tsang attempt succeeds with probability over 0.95: all fail once in 10^15

static V draws(tt_lower_t* L, const char* kind, V like) {
  tt_dim_t dims[TT_MAX_RANK];
  if (!like || like->type->rank >= TT_MAX_RANK) return NULL;
  dims[0] = ATTEMPTS;
  if (like->type->rank) memcpy(dims + 1, like->type->dims, like->type->rank * sizeof *dims);
  return tt_lx_random(L, kind, tt_lx_dtype(like), like->type->rank + 1, dims);
}

// alpha in f32 or f64
static V gamma_of(tt_lower_t* L, V alpha) {
  if (!alpha) return NULL;
  V one = K(alpha, 1), small = LT(alpha, one), shape = SEL(small, ADD(alpha, one), alpha);
  V d = SUB(shape, K(alpha, 1.0 / 3)), c = DIV(one, SQRT(MUL(K(alpha, 9), d)));
  V normals = draws(L, "normal", alpha), uniforms = draws(L, "uniform", alpha), result = d, found = NULL;
  for (int64_t i = 0; i < ATTEMPTS; ++i) {
    V z = tt_lx_squeeze(L, tt_lx_slice_dim(L, normals, 0, i, i + 1, 1), 0);
    V u = SUB(one, tt_lx_squeeze(L, tt_lx_slice_dim(L, uniforms, 0, i, i + 1, 1), 0));   // (0, 1]
    V base = ADD(one, MUL(c, z)), cube = MUL(MUL(base, base), base),
      safe = SEL(GT(cube, K(cube, 0)), cube, one);
    V bound = ADD(MUL(K(z, 0.5), MUL(z, z)), MUL(d, ADD(SUB(one, safe), LOG(safe))));
    V good = AND(GT(cube, K(cube, 0)), LT(LOG(u), bound));
    V fresh = found ? AND(good, NOT(found)) : good;
    result = SEL(fresh, MUL(d, safe), result);
    found = found ? OR(found, good) : good;
  }
  V boost = SUB(one, tt_lx_random(L, "uniform", tt_lx_dtype(alpha), alpha->type->rank, alpha->type->dims));
  V scaled = MUL(result, POW(boost, DIV(one, alpha)));
  // positive even where the power underflows, as PyTorch
  double least = tt_lx_dtype(alpha) == TT_DTYPE_F64 ? 0x1p-1022 : 0x1p-126;
  return MAX(SEL(small, scaled, result), K(alpha, least));
}
TT_LOWERING(standard_gamma) {
  V alpha = tt_l_tensor(L, 0);
  tt_l_return(L, CAST(gamma_of(L, UP(alpha)), tt_lx_dtype(alpha)));
}
TT_LOWERING(sample_dirichlet) {
  V alpha = tt_l_tensor(L, 0), value = gamma_of(L, UP(alpha));
  if (!value || value->type->rank == 0) {
    tt_l_return(L, K(alpha, 1));
    return;
  }
  int64_t last = tt_lx_rank(value) - 1;
  V total = tt_b_reduce(L->b, TT_OP_ADD, value, 1, &last, true);
  tt_l_return(L, CAST(DIV(value, tt_lx_broadcast_like(L, total, value)), tt_lx_dtype(alpha)));
}

// Inversion by sequential search from 0 with p at most one half, in a loop that ends when every element has
// its count; where (1 - p)^n would underflow, a normal with the skewness corrected.
TT_LOWERING(binomial) {
  V count = tt_l_tensor(L, 0), prob = tt_l_tensor(L, 1);
  if (!count || !prob) return;
  if (tt_lx_is_int_or_bool(tt_lx_dtype(count)) || tt_lx_dtype(count) != tt_lx_dtype(prob)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Binomial distributions expects floating point tensors of one dtype");
    return;
  }
  V both[2] = {UP(count), UP(prob)};
  tt_lx_broadcast(L, 2, both, TT_DTYPE_INVALID);
  V n = both[0], p_in = both[1];
  if (!n || !p_in) return;
  V zero = K(n, 0), one = K(n, 1), flipped = GT(p_in, K(n, 0.5)), p = SEL(flipped, SUB(one, p_in), p_in);
  V u = tt_lx_random(L, "uniform", tt_lx_dtype(n), n->type->rank, n->type->dims);
  V z = tt_lx_random(L, "normal", tt_lx_dtype(n), n->type->rank, n->type->dims);
  V log_first = MUL(n, LOG1P(NEG(p))), direct = GT(log_first, K(n, -60));
  V first = SEL(direct, EXP(log_first), one), ratio = DIV(p, SUB(one, p));
  V state[4] = {tt_b_scalar_f64(L->b, tt_lx_dtype(n), 0), first, first, zero};   // k, pmf, cdf, result
  tt_op_t* loop = tt_b_while(L->b, 4, state);
  if (!loop) return;
  tt_block_t* saved = tt_b_region_begin(L->b, loop, 0, 0, NULL);
  V k = tt_b_region_arg(loop, 0, 0), cdf = tt_b_region_arg(loop, 0, 2);
  V waiting = AND(AND(direct, GE(u, cdf)), LT(tt_lx_broadcast_like(L, k, n), n));
  V more = AND(tt_lx_reduce_all(L, TT_OP_OR, waiting), LT(k, K(k, 1000)));
  tt_b_region_end(L->b, saved, 1, &more);
  saved = tt_b_region_begin(L->b, loop, 1, 0, NULL);
  V k0 = tt_b_region_arg(loop, 1, 0), pmf = tt_b_region_arg(loop, 1, 1), sum = tt_b_region_arg(loop, 1, 2),
    kept = tt_b_region_arg(loop, 1, 3);
  V wide_k = tt_lx_broadcast_like(L, k0, n), next_k = ADD(wide_k, one);
  V beyond = AND(GE(u, sum), LT(wide_k, n));
  V next_pmf = MUL(pmf, MUL(ratio, DIV(MAX(SUB(n, wide_k), zero), next_k)));
  V next[4] = {ADD(k0, K(k0, 1)), next_pmf, ADD(sum, next_pmf), SEL(beyond, next_k, kept)};
  tt_b_region_end(L->b, saved, 4, next);
  V searched = &loop->results[3];
  V mean = MUL(n, p), deviation = SQRT(MUL(mean, SUB(one, p)));
  V skew = MUL(SUB(MUL(z, z), one), MUL(SUB(one, ADD(p, p)), K(n, 1.0 / 6)));
  V approximate = FLOOR(ADD(ADD(ADD(mean, MUL(deviation, z)), skew), K(n, 0.5)));
  approximate = MIN(MAX(approximate, zero), n);
  V value = SEL(direct, searched, approximate);
  value = SEL(flipped, SUB(n, value), value);
  tt_l_return(L, CAST(value, tt_lx_dtype(count)));
}
