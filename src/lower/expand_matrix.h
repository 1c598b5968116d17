// What the bodies of linear algebra share: batches of matrices x [B, m, n], leading dimensions folded into B.
// Numbers of rows and columns are s32 [] and may come from a loop.
#ifndef TT_LOWER_EXPAND_MATRIX_H_
#define TT_LOWER_EXPAND_MATRIX_H_

#include "lower/expand.h"

// The last `kept` (1 or 2) dimensions stay; `rows`, `columns`: at least so many, zeros are added.
V tt_lm_fold(tt_lower_t* L, V x, int64_t kept);
V tt_lm_pad(tt_lower_t* L, V x, int64_t rows, int64_t columns);
// The first rows and columns; x in the shape of the operation's result i.
V tt_lm_cut(tt_lower_t* L, V x, int64_t rows, int64_t columns);
V tt_lm_unfold(tt_expand_t* e, uint32_t i, V x);
V tt_lm_zeros(tt_lower_t* L, tt_dtype_t dtype, int64_t batch, int64_t rows, int64_t columns);

V tt_lm_number(tt_lower_t* L, int64_t number);
V tt_lm_rows(tt_lower_t* L, V x, V first, int64_t count);
V tt_lm_columns(tt_lower_t* L, V x, V first, int64_t count);
V tt_lm_set_rows(tt_lower_t* L, V x, V part, V first);
V tt_lm_set_columns(tt_lower_t* L, V x, V part, V first);
// Rows of x [B, m, n] by their numbers `order` [B, k] or [B, k, 1].
V tt_lm_take_rows(tt_lower_t* L, V x, V order);
// i1 of x's shape: row (column) number <direction> `number`, which is [] or [B, 1, 1].
V tt_lm_row_is(tt_lower_t* L, const char* direction, V x, V number);
V tt_lm_column_is(tt_lower_t* L, const char* direction, V x, V number);
// i1 of x's shape: row number <direction> column number + `offset`.
V tt_lm_triangle(tt_lower_t* L, const char* direction, V x, V offset);
V tt_lm_identity(tt_lower_t* L, V like);

V tt_lm_fit(tt_lower_t* L, V x, V like);  // broadcasts dimensions of size 1
V tt_lm_reduce(tt_lower_t* L, tt_op_kind_t kind, V x, int64_t dim);  // keeps the dimension, of size 1
V tt_lm_largest_part(tt_lower_t* L, V x);  // max(|re|, |im|), real
V tt_lm_pivot_size(tt_lower_t* L, V x);    // |re| + |im|, real: LAPACK's measure of pivots (cabs1)
V tt_lm_square(tt_lower_t* L, V x);        // |x|^2, real
V tt_lm_from_real(tt_lower_t* L, V x, tt_dtype_t dtype);
V tt_lm_over_real(tt_lower_t* L, V x, V divisor);  // one shape
// x / divisor of one shape, without overflow or underflow inside when |x| is at most about |divisor|.
V tt_lm_divide(tt_lower_t* L, V x, V divisor);

// a x = b for a triangle of a with ones on its diagonal (not read), by substitution: a triangular_solve is a
// large program once a plugin has expanded it, and inverts blocks.
V tt_lm_solve_unit(tt_lower_t* L, V a, V b, bool upper);

// Columns of a panel and number of panels for k pivots: few equal ones of at most 64.
int64_t tt_lm_panels(int64_t k, int64_t* out_width);

#endif  // TT_LOWER_EXPAND_MATRIX_H_
