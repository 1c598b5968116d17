#include "ir/dim.h"
static tt_status_t missing(void) { return tt_status_create(TT_UNIMPLEMENTED, "symbolic dimensions are not implemented yet"); }
tt_status_t tt_dim_symbol(tt_module_t* m, const char* n, int64_t a, int64_t b, tt_dim_t* d, size_t* i) {
  (void)m; (void)n; (void)a; (void)b; (void)d; (void)i; return missing();
}
size_t tt_dim_symbol_count(const tt_module_t* m) { (void)m; return 0; }
#define U(n) tt_dim_t tt_dim_##n(tt_module_t* m, tt_dim_t a, tt_dim_t b) { (void)m; (void)a; (void)b; return TT_DIM_UNKNOWN; }
U(add) U(sub) U(mul) U(floordiv) U(mod) U(min) U(max)
tt_truth_t tt_dim_equal(const tt_module_t* m, tt_dim_t a, tt_dim_t b) { (void)m; return a == b ? TT_YES : a >= 0 && b >= 0 ? TT_NO : TT_MAYBE; }
tt_truth_t tt_dim_less_equal(const tt_module_t* m, tt_dim_t a, tt_dim_t b) { (void)m; return a >= 0 && b >= 0 ? (tt_truth_t)(a <= b) : TT_MAYBE; }
void tt_dim_range(const tt_module_t* m, tt_dim_t d, int64_t* a, int64_t* b) { (void)m; *a = d >= 0 ? d : 0; *b = d >= 0 ? d : INT64_MAX; }
tt_status_t tt_dim_evaluate(const tt_module_t* m, tt_dim_t d, const int64_t* b, size_t n, int64_t* v) { (void)m; (void)b; (void)n; *v = d; return d >= 0 ? TT_OK_STATUS : missing(); }
void tt_dim_print(const tt_module_t* m, tt_dim_t d, tt_strbuf_t* o) { (void)m; if (d >= 0) tt_strbuf_printf(o, "%lld", (long long)d); else tt_strbuf_puts(o, "?"); }
tt_dim_t tt_dim_import(tt_module_t* t, const tt_module_t* f, tt_dim_t d) { (void)t; (void)f; return d >= 0 ? d : TT_DIM_UNKNOWN; }
#include "ir/dim_table.h"
bool tt_dims_equal(const tt_dims_t* a, const tt_dims_t* b) { return a == b; }
uint64_t tt_dims_hash(const tt_dims_t* d) { (void)d; return 0; }
