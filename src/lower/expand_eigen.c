// Bodies of eigh, svd and the symmetric indefinite factorisation (ir/composites.def).
#include "lower/expand.h"

static void missing(tt_expand_t* e) { tt_builder_fail(e->L->b, TT_UNIMPLEMENTED, "no StableHLO body yet"); }
void tt_expand_eigh(tt_expand_t* e) { missing(e); }
void tt_expand_svd(tt_expand_t* e) { missing(e); }
void tt_expand_ldl(tt_expand_t* e) { missing(e); }
void tt_expand_ldl_solve(tt_expand_t* e) { missing(e); }
