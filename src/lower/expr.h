// Short spellings of elementwise expressions, for .c files of lowerings only (`L` must be in scope).
#ifndef TT_LOWER_EXPR_H_
#define TT_LOWER_EXPR_H_

#include "lower/util.h"

#define ADD(a, c_) tt_b_binary(L->b, TT_OP_ADD, (a), (c_))
#define SUB(a, c_) tt_b_binary(L->b, TT_OP_SUBTRACT, (a), (c_))
#define MUL(a, c_) tt_b_binary(L->b, TT_OP_MULTIPLY, (a), (c_))
#define DIV(a, c_) tt_b_binary(L->b, TT_OP_DIVIDE, (a), (c_))
#define REM(a, c_) tt_b_binary(L->b, TT_OP_REMAINDER, (a), (c_))
#define POW(a, c_) tt_b_binary(L->b, TT_OP_POWER, (a), (c_))
#define MAX(a, c_) tt_b_binary(L->b, TT_OP_MAXIMUM, (a), (c_))
#define MIN(a, c_) tt_b_binary(L->b, TT_OP_MINIMUM, (a), (c_))
#define AND(a, c_) tt_b_binary(L->b, TT_OP_AND, (a), (c_))
#define OR(a, c_) tt_b_binary(L->b, TT_OP_OR, (a), (c_))
#define XOR(a, c_) tt_b_binary(L->b, TT_OP_XOR, (a), (c_))
#define NOT(a) tt_b_unary(L->b, TT_OP_NOT, (a))
#define NEG(a) tt_b_unary(L->b, TT_OP_NEGATE, (a))
#define ABS(a) tt_b_unary(L->b, TT_OP_ABS, (a))
#define EXP(a) tt_b_unary(L->b, TT_OP_EXPONENTIAL, (a))
#define EXPM1(a) tt_b_unary(L->b, TT_OP_EXPONENTIAL_MINUS_ONE, (a))
#define LOG(a) tt_b_unary(L->b, TT_OP_LOG, (a))
#define LOG1P(a) tt_b_unary(L->b, TT_OP_LOG_PLUS_ONE, (a))
#define SQRT(a) tt_b_unary(L->b, TT_OP_SQRT, (a))
#define RSQRT(a) tt_b_unary(L->b, TT_OP_RSQRT, (a))
#define FLOOR(a) tt_b_unary(L->b, TT_OP_FLOOR, (a))
#define CEIL(a) tt_b_unary(L->b, TT_OP_CEIL, (a))
#define TANH(a) tt_b_unary(L->b, TT_OP_TANH, (a))
#define SIN(a) tt_b_unary(L->b, TT_OP_SINE, (a))
#define COS(a) tt_b_unary(L->b, TT_OP_COSINE, (a))
#define SIGMOID(a) tt_b_unary(L->b, TT_OP_LOGISTIC, (a))
#define ERF(a) tt_b_unary(L->b, TT_OP_CHLO_ERF, (a))
#define REAL(a) tt_b_unary(L->b, TT_OP_REAL, (a))
#define IMAG(a) tt_b_unary(L->b, TT_OP_IMAG, (a))
#define EQ(a, c_) tt_b_compare(L->b, "EQ", (a), (c_))
#define NE(a, c_) tt_b_compare(L->b, "NE", (a), (c_))
#define LT(a, c_) tt_b_compare(L->b, "LT", (a), (c_))
#define LE(a, c_) tt_b_compare(L->b, "LE", (a), (c_))
#define GT(a, c_) tt_b_compare(L->b, "GT", (a), (c_))
#define GE(a, c_) tt_b_compare(L->b, "GE", (a), (c_))
#define SEL(p, a, c_) tt_b_select(L->b, (p), (a), (c_))
#define K(like, v) tt_lx_splat(L, (like), (v))
#define CAST(a, d) tt_lx_to(L, (a), (d))
#define UP(a) tt_lx_to(L, (a), tt_l_accumulate(tt_lx_dtype(a)))
typedef tt_value_t* V;

// x with the sign bit of s (floats); trunc toward zero.
V tt_lx_copysign(tt_lower_t* L, V x, V s);
V tt_lx_sign_bit(tt_lower_t* L, V x);   // i1
V tt_lx_trunc(tt_lower_t* L, V x);
// min(max(x, lo), hi), NULL: no bound; NaN anywhere gives NaN. x stays where it equals a number, so zeros keep
// their sign. `min_arg`, `max_arg`: the arguments that the bounds come from. (pointwise.c)
V tt_lx_clamp(tt_lower_t* L, V x, V lo, V hi, uint32_t min_arg, uint32_t max_arg);
V tt_lx_fmod(tt_lower_t* L, V x, V y);  // C's fmod; ints: remainder of truncating division
V tt_lx_floor_divide(tt_lower_t* L, V x, V y);
// sum of c[i] x^i (Horner), c ascending; Chebyshev sum with c[0] halved, argument in [-1, 1].
V tt_lx_polynomial(tt_lower_t* L, V x, size_t count, const double* c);
V tt_lx_chebyshev(tt_lower_t* L, V x, size_t count, const double* c);
// log(exp(x) + exp(y)) of complex values.
V tt_lx_complex_logaddexp(tt_lower_t* L, V x, V y);
// Layer norm over the dimensions from `axis` (norm.c); exact GELU of a wide float (pointwise_activation.c).
V tt_lx_layer_norm(tt_lower_t* L, V x, V weight, V bias, int64_t axis, double eps);
V tt_lx_gelu(tt_lower_t* L, V x);
// Of matrices [.., m, n]; op(a) x = b, or x op(a) = b, with one triangle of a. (linalg.c)
V tt_lx_conjugate(tt_lower_t* L, V a);
V tt_lx_adjoint(tt_lower_t* L, V a);
V tt_lx_swap_last(tt_lower_t* L, V a);  // transpose of the last two dimensions
V tt_lx_solve_triangular(tt_lower_t* L, V a, V b, bool left, bool upper, bool unit, const char* transpose);
// ZeroDivisionError for an integer divisor that holds a zero.
void tt_lx_check_divisor(tt_lower_t* L, V y);

#endif  // TT_LOWER_EXPR_H_
