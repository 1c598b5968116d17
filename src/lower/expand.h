// Bodies of the composites (expand_bodies.c, expand_strided.c, expand_attention.c) and of the custom calls of linear
// algebra (expand_linalg.c, expand_qr.c, expand_eigen.c): the insertion point is inside the new function.
#ifndef TT_LOWER_EXPAND_H_
#define TT_LOWER_EXPAND_H_

#include "lower/expr.h"

typedef struct tt_expand_s {
  tt_lower_t* L;             // builder and scratch only
  const tt_op_t* op;         // the composite or custom call: its attributes and result types
  V* in;                     // the function's arguments
  V out[4];
} tt_expand_t;
typedef void (*tt_expand_fn_t)(tt_expand_t* e);

int64_t tt_expand_int(const tt_expand_t* e, tt_attr_name_t name, int64_t fallback);
bool tt_expand_bool(const tt_expand_t* e, tt_attr_name_t name);
double tt_expand_float(const tt_expand_t* e, tt_attr_name_t name, double fallback);
const char* tt_expand_text(const tt_expand_t* e, tt_attr_name_t name);
tt_i64s_t tt_expand_i64s(const tt_expand_t* e, tt_attr_name_t name);

// A loop: `state` [count] holds the initial values and gets the results; what else the functions need lies in `self`
// or is captured.
typedef V (*tt_expand_more_t)(tt_lower_t* L, V* state, void* self);     // i1 []: once more
typedef void (*tt_expand_step_t)(tt_lower_t* L, V* state, void* self);  // replaces the values in place
void tt_expand_while(tt_lower_t* L, size_t count, V* state, tt_expand_more_t more, tt_expand_step_t step,
                     void* self);
// state[0] is the loop's own: the s32 number `from` .. `to` - 1 of the step.
void tt_expand_for(tt_lower_t* L, int64_t from, int64_t to, size_t count, V* state, tt_expand_step_t step,
                   void* self);

// A view of a base of its own dtype as slices, reshapes and transposes of the base's dimensions; NULL: it is none, or
// an error is set. Writes likewise; the view has no two indices for one place.
V tt_expand_read_axes(tt_lower_t* L, V base, size_t rank, const int64_t* sizes, const int64_t* strides,
                      int64_t offset);
V tt_expand_write_axes(tt_lower_t* L, V base, V value, const int64_t* strides, int64_t offset);

void tt_expand_strided_read(tt_expand_t* e);
void tt_expand_strided_write(tt_expand_t* e);
void tt_expand_rng(tt_expand_t* e);
void tt_expand_softmax(tt_expand_t* e);
void tt_expand_softmax_backward(tt_expand_t* e);
void tt_expand_layer_norm(tt_expand_t* e);
void tt_expand_cumulative(tt_expand_t* e);
void tt_expand_sdpa(tt_expand_t* e);
void tt_expand_sdpa_backward(tt_expand_t* e);
// expand_linalg.c, expand_qr.c: their meaning stands in ir/composites.def.
void tt_expand_cholesky(tt_expand_t* e);
void tt_expand_lu(tt_expand_t* e);
void tt_expand_qr(tt_expand_t* e);
void tt_expand_geqrf(tt_expand_t* e);
void tt_expand_orgqr(tt_expand_t* e);
// expand_eigen.c
void tt_expand_eigh(tt_expand_t* e);
void tt_expand_svd(tt_expand_t* e);
void tt_expand_ldl(tt_expand_t* e);
void tt_expand_ldl_solve(tt_expand_t* e);

#endif  // TT_LOWER_EXPAND_H_
