// The exponential of square matrices: a Taylor polynomial of the scaled matrix, squared as often as it was halved
// (Bader, Blanes, Casas 2019: the norms up to which degree 18 reaches the precision of each dtype).
#include <math.h>

#include "lower/expr.h"

#define DEGREE 18
#define BLOCK 4  // powers kept; the polynomial is a polynomial in the highest of them

static V identity_like(tt_lower_t* L, V a) {
  int64_t rank = tt_lx_rank(a);
  return CAST(EQ(tt_lx_iota(L, TT_DTYPE_S64, a, rank - 2), tt_lx_iota(L, TT_DTYPE_S64, a, rank - 1)),
              tt_lx_dtype(a));
}

// sum of a^k / k!, k <= DEGREE.
static V taylor(tt_lower_t* L, V a) {
  double factor[DEGREE + 1] = {1};
  for (int k = 1; k <= DEGREE; ++k) factor[k] = factor[k - 1] / k;
  V power[BLOCK + 1] = {identity_like(L, a), a}, sum = NULL;
  for (int k = 2; k <= BLOCK; ++k) power[k] = tt_b_matmul(L->b, power[k - 1], a);
  for (int from = DEGREE / BLOCK * BLOCK; from >= 0; from -= BLOCK) {
    V part = NULL;
    for (int k = 0; k < BLOCK && from + k <= DEGREE; ++k) {
      V term = MUL(power[k], K(a, factor[from + k]));
      part = part ? ADD(part, term) : term;
    }
    sum = sum ? ADD(tt_b_matmul(L->b, sum, power[BLOCK]), part) : part;
  }
  return sum;
}

// x squared `times` [..] times each: a loop as long as the largest, in which the finished matrices stay.
static V squared(tt_lower_t* L, V x, V times) {
  int64_t rank = tt_lx_rank(x);
  V most = tt_lx_reduce_all(L, TT_OP_MAXIMUM, times);
  V wide = tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, tt_lx_unsqueeze(L, times, rank - 2), rank - 1), x);
  V operands[4] = {tt_b_scalar_i64(L->b, TT_DTYPE_S32, 0), x, wide, most};
  tt_op_t* op = tt_b_while(L->b, 4, operands);
  if (!op) return NULL;
  tt_block_t* saved = tt_b_region_begin(L->b, op, 0, 0, NULL);
  V more = LT(tt_b_region_arg(op, 0, 0), tt_b_region_arg(op, 0, 3));
  tt_b_region_end(L->b, saved, 1, &more);
  saved = tt_b_region_begin(L->b, op, 1, 0, NULL);
  V i = tt_b_region_arg(op, 1, 0), y = tt_b_region_arg(op, 1, 1), until = tt_b_region_arg(op, 1, 2);
  V going = LT(tt_lx_broadcast_like(L, i, until), until);
  V next[4] = {ADD(i, tt_b_scalar_i64(L->b, TT_DTYPE_S32, 1)), SEL(going, tt_b_matmul(L->b, y, y), y), until,
               tt_b_region_arg(op, 1, 3)};
  tt_b_region_end(L->b, saved, 4, next);
  return &op->results[1];
}

TT_LOWERING(linalg_matrix_exp) {
  V input = tt_l_tensor(L, 0), a = input ? UP(input) : NULL;
  if (!a) return;
  int64_t rank = tt_lx_rank(a), row = rank - 1, column = rank - 2;
  if (rank < 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "linalg.matrix_exp: The input tensor A must have at least 2 dimensions.");
    return;
  }
  if (tt_lx_size(a, column) != tt_lx_size(a, row)) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "linalg.matrix_exp: A must be batches of square matrices, but they are %lld by %lld matrices",
        (long long)tt_lx_size(a, column), (long long)tt_lx_size(a, row));
    return;
  }
  tt_dtype_t dtype = tt_lx_dtype(a), real = tt_dtype_real_part(dtype);
  if (!tt_dtype_is_float(real)) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got %s",
                    tt_lx_torch_name(tt_lx_dtype(input)));
    return;
  }
  if (tt_lx_numel(L, a) == 0 || tt_lx_size(a, row) == 1) {
    tt_l_return(L, CAST(EXP(a), tt_lx_dtype(input)));
    return;
  }
  V norm = tt_b_reduce(L->b, TT_OP_ADD, ABS(a), 1, &column, false);  // the largest column sum
  int64_t last = rank - 2;
  norm = tt_b_reduce(L->b, TT_OP_MAXIMUM, norm, 1, &last, false);
  V ratio = DIV(norm, K(norm, real == TT_DTYPE_F64 ? 1.09 : 3.01));
  V halvings = CEIL(DIV(LOG(ratio), K(ratio, log(2))));
  V finite = LT(ratio, K(ratio, INFINITY));
  halvings = SEL(AND(GT(ratio, K(ratio, 1)), finite), halvings, K(halvings, 0));
  V scale = SEL(finite, POW(K(halvings, 2), NEG(halvings)), K(halvings, NAN));  // inf has no scale
  scale = CAST(tt_lx_unsqueeze(L, tt_lx_unsqueeze(L, scale, last), last + 1), dtype);
  V scaled = MUL(a, tt_lx_broadcast_like(L, scale, a));
  tt_l_return(L, CAST(squared(L, taylor(L, scaled), CAST(halvings, TT_DTYPE_S32)), tt_lx_dtype(input)));
}
