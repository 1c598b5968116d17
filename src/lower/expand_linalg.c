// Bodies of the factorisations (ir/composites.def): Cholesky, LU, QR and its reflectors.
#include "lower/expand.h"

static void missing(tt_expand_t* e) { tt_builder_fail(e->L->b, TT_UNIMPLEMENTED, "no StableHLO body yet"); }
void tt_expand_cholesky(tt_expand_t* e) { missing(e); }
void tt_expand_lu(tt_expand_t* e) { missing(e); }
void tt_expand_qr(tt_expand_t* e) { missing(e); }
void tt_expand_geqrf(tt_expand_t* e) { missing(e); }
void tt_expand_orgqr(tt_expand_t* e) { missing(e); }
