// What the bodies of expand_eigen.c, expand_svd.c and expand_ldl.c share beyond expand_matrix.h: Jacobi rotations,
// scaling, order.
#ifndef TT_LOWER_EXPAND_ROTATION_H_
#define TT_LOWER_EXPAND_ROTATION_H_

#include "lower/expand_matrix.h"

V tt_mat_shaped(tt_lower_t* L, V x, const tt_type_t* type);   // reshape
V tt_mat_real(tt_lower_t* L, V x);                            // real part, also of real values
V tt_mat_sum(tt_lower_t* L, V x, int64_t dim);
V tt_mat_place(tt_lower_t* L, V like, int64_t dim);           // s32 index along dim in like's shape
V tt_mat_diagonal(tt_lower_t* L, V x);                        // [B, n] of [B, n, n]
// v [B] (dim 0) or [B, k] over x's shape, k along `dim`.
V tt_mat_along(tt_lower_t* L, V v, int64_t dim, V x);
V tt_mat_times(tt_lower_t* L, V real, V x);                   // x times a real factor of its shape
V tt_mat_phase(tt_lower_t* L, V x, V size);                   // x / size, 1 where size is 0

// A power of two near the largest component of each matrix [B], real: within bounds that leave room for squares
// of the quotients. `out_finite` i1 [B]; `out_scaled`: x over the scale, 0 in matrices that are not finite.
V tt_mat_scale(tt_lower_t* L, V x, V* out_scaled, V* out_finite);
V tt_mat_or_nan(tt_lower_t* L, V x, V ok);                    // ok: i1 [B]
double tt_mat_epsilon(tt_dtype_t dtype);
double tt_mat_tiny(tt_dtype_t dtype);                         // below it, squares are no numbers to go by

// `keys` real [B, n] in order, and the order [B, n], for tt_lm_take_rows.
V tt_mat_sort(tt_lower_t* L, V keys, bool falling, V* out_order);

// ---- Jacobi rotations ----------------------------------------------------------------------------
// Pairs are (i, k + i) of 2k rows or columns: all rotate at once, then move on (Brent and Luk's ordering:
// 2k - 1 rounds meet all pairs and restore the order).
typedef struct tt_rotation_s {
  // [B, k] of the matrix's dtype, 1 - h the cosine: p' = p - (h p + s q), q' = q + (conj(s) p - h q)
  V h, s, s_conj;
  V shift;          // real [B, k]: p's diagonal entry falls by it, q's rises
} tt_rotation_t;
// That makes [[p, x], [conj(x), q]] diagonal, p and q real [B, k]. `active` i1 or NULL: where to rotate.
tt_rotation_t tt_mat_rotation(tt_lower_t* L, V p, V q, V x, V active);
V tt_mat_rotate(tt_lower_t* L, V x, int64_t dim, const tt_rotation_t* r, bool conjugate);
V tt_mat_move_on(tt_lower_t* L, V x, int64_t dim);

// [B, columns, m] with orthonormal rows, r <= columns <= m: the first r are those of y [B, r, m] where
// these are orthonormal, others where y's rows are 0 or depend on earlier ones.
V tt_mat_complete(tt_lower_t* L, V y, int64_t columns);

#endif  // TT_LOWER_EXPAND_ROTATION_H_
