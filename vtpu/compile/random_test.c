// Random programs: the fused plan against the op kernels one by one (an independent implementation of every
// op), with random donation: integers must agree exactly, floats within rounding of sums. And against the same
// steps without epilogues and without loops of several results: every bit must agree.
#include "compile/plan_load.h"
#include "exec/test_program.h"

#include "ir/text.h"

static uint64_t state;
static uint32_t rnd(uint32_t n) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(state >> 33) % n;
}

enum { MAX_VALUES = 40, MAX_ELEMS = 6000 };
typedef struct gen_s {
  tt_module_t* module;
  tt_builder_t b;
  tt_value_t* values[MAX_VALUES];
  uint32_t count;
  double rounding;                     // of the coarsest product: what comes after it is no better
} gen_t;

static const tt_dtype_t dtypes[] = {TT_DTYPE_F32, TT_DTYPE_S32, TT_DTYPE_F32, TT_DTYPE_S32, TT_DTYPE_BF16, TT_DTYPE_F64, TT_DTYPE_S64, TT_DTYPE_U8, TT_DTYPE_PRED};

static void add(gen_t* g, tt_value_t* v) {
  if (v && g->count < MAX_VALUES && tt_type_elems(v->type) <= MAX_ELEMS) g->values[g->count++] = v;
}
static tt_value_t* pick(gen_t* g) { return g->values[rnd(3) ? g->count - 1 - rnd(TT_MIN(g->count, 5u)) : rnd(g->count)]; }
static int64_t some_dim(void) {
  static const int64_t dims[] = {1, 2, 3, 4, 5, 8, 16, 17, 33, 64};
  return dims[rnd(10)];
}

// y brought to x's type
static tt_value_t* like(gen_t* g, tt_value_t* x, tt_value_t* y) {
  y = tt_b_convert(&g->b, y, x->type->dtype);
  if (y->type == x->type) return y;
  if (tt_type_elems(y->type) == tt_type_elems(x->type)) return tt_b_reshape(&g->b, y, x->type->rank, x->type->dims);
  if (y->type->rank <= x->type->rank) {
    bool fits = true;
    for (uint32_t d = 0; d < y->type->rank; ++d) {
      int64_t n = y->type->dims[d];
      fits = fits && (n == 1 || n == x->type->dims[x->type->rank - y->type->rank + d]);
    }
    if (fits) return tt_b_broadcast_to(&g->b, y, x->type->rank, x->type->dims);
  }
  return NULL;
}

static double rounding(tt_dtype_t dtype);
static void step(gen_t* g) {
  tt_value_t* x = pick(g);
  uint32_t rank = x->type->rank;
  const int64_t* dims = x->type->dims;
  tt_dtype_t dtype = x->type->dtype;
  bool is_float = tt_dtype_is_float(dtype), is_pred = dtype == TT_DTYPE_PRED;
  switch (rnd(22)) {
    case 0: case 1: case 2: {
      static const tt_op_kind_t kinds[] = {TT_OP_ADD, TT_OP_SUBTRACT, TT_OP_MULTIPLY, TT_OP_MAXIMUM, TT_OP_MINIMUM};
      static const tt_op_kind_t logic[] = {TT_OP_AND, TT_OP_OR, TT_OP_XOR};
      tt_value_t* y = like(g, x, pick(g));
      if (y) add(g, tt_b_binary(&g->b, is_pred ? logic[rnd(3)] : kinds[rnd(5)], x, y));
      return;
    }
    case 3:
      if (is_pred) add(g, tt_b_unary(&g->b, TT_OP_NOT, x));
      else if (is_float) add(g, tt_b_unary(&g->b, rnd(2) ? TT_OP_TANH : TT_OP_ABS, x));
      else if (tt_dtype_is_signed_int(dtype)) add(g, tt_b_unary(&g->b, TT_OP_NEGATE, x));
      return;
    case 4: add(g, tt_b_convert(&g->b, x, dtypes[rnd(TT_ARRAY_LENGTH(dtypes))])); return;
    case 5: {
      tt_value_t* y = like(g, x, pick(g));
      if (y) add(g, tt_b_compare(&g->b, rnd(2) ? "LT" : "EQ", x, y));
      return;
    }
    case 6: {
      tt_value_t *p = tt_b_convert(&g->b, pick(g), TT_DTYPE_PRED), *y = like(g, x, pick(g));
      const tt_type_t* type = tt_b_type(&g->b, TT_DTYPE_PRED, rank, dims);
      if (p->type->rank != 0 && p->type != type) {
        if (tt_type_elems(p->type) != tt_type_elems(type)) return;
        p = tt_b_reshape(&g->b, p, rank, dims);
      }
      if (y) add(g, tt_b_select(&g->b, p, x, y));
      return;
    }
    case 7: case 8: {                  // transpose
      if (rank < 2) return;
      int64_t perm[TT_MAX_RANK];
      for (uint32_t d = 0; d < rank; ++d) perm[d] = d;
      for (uint32_t d = rank; d-- > 1;) { uint32_t k = rnd(d + 1); int64_t t = perm[d]; perm[d] = perm[k]; perm[k] = t; }
      add(g, tt_b_transpose(&g->b, x, perm));
      return;
    }
    case 9: {                          // slice
      int64_t start[TT_MAX_RANK], limit[TT_MAX_RANK], strides[TT_MAX_RANK];
      for (uint32_t d = 0; d < rank; ++d) {
        start[d] = rnd((uint32_t)dims[d]);
        limit[d] = start[d] + 1 + rnd((uint32_t)(dims[d] - start[d]));
        strides[d] = 1 + rnd(3);
      }
      if (rank) add(g, tt_b_slice(&g->b, x, start, limit, strides));
      return;
    }
    case 10: case 11: {                // reshape: split, merge or flatten
      int64_t n = tt_type_elems(x->type), out[4];
      int64_t f = some_dim();
      if (rnd(2) && n % f == 0) { out[0] = n / f; out[1] = f; add(g, tt_b_reshape(&g->b, x, 2, out)); }
      else if (rank >= 2) { out[0] = dims[0] * dims[1]; for (uint32_t d = 2; d < rank && d < 5; ++d) out[d - 1] = dims[d]; if (rank <= 5) add(g, tt_b_reshape(&g->b, x, rank - 1, out)); }
      return;
    }
    case 12: {                         // broadcast into a new dimension
      if (rank > 3) return;
      int64_t out[TT_MAX_RANK], map[TT_MAX_RANK];
      uint32_t at = rnd(rank + 1);
      for (uint32_t d = 0, k = 0; d <= rank; ++d) {
        if (d == at) { out[d] = some_dim(); continue; }
        out[d] = dims[k];
        map[k++] = d;
      }
      int64_t n;
      if (tt_checked_product(out, rank + 1, &n) && n <= MAX_ELEMS) add(g, tt_b_broadcast_in_dim(&g->b, x, rank + 1, out, map));
      return;
    }
    case 13: {
      int64_t which[TT_MAX_RANK];
      size_t n = 0;
      for (uint32_t d = 0; d < rank; ++d) if (rnd(2)) which[n++] = d;
      if (n) add(g, tt_b_reverse(&g->b, x, n, which));
      return;
    }
    case 14: case 15: {                // reduce
      int64_t which[TT_MAX_RANK];
      size_t n = 0;
      for (uint32_t d = 0; d < rank; ++d) if (rnd(2)) which[n++] = d;
      if (!n) return;
      static const tt_op_kind_t kinds[] = {TT_OP_ADD, TT_OP_MAXIMUM, TT_OP_MINIMUM};
      add(g, tt_b_reduce(&g->b, is_pred ? (rnd(2) ? TT_OP_AND : TT_OP_OR) : kinds[rnd(3)], x, n, which, rnd(2)));
      return;
    }
    case 16: {                         // concatenate with itself, transformed
      if (!rank) return;
      tt_value_t* xs[3] = {x, x, x};
      if (!is_pred) xs[1] = tt_b_binary(&g->b, TT_OP_ADD, x, x);
      add(g, tt_b_concatenate(&g->b, 2 + rnd(2), xs, rnd(rank)));
      return;
    }
    case 17: {
      int64_t low[TT_MAX_RANK], high[TT_MAX_RANK], interior[TT_MAX_RANK];
      for (uint32_t d = 0; d < rank; ++d) {
        low[d] = (int64_t)rnd(4) - 1;
        high[d] = (int64_t)rnd(4) - 1;
        interior[d] = rnd(3);
        int64_t n = dims[d] + (dims[d] - 1) * interior[d] + low[d] + high[d];
        if (n < 1) { low[d] = high[d] = 1; }
      }
      add(g, tt_b_pad(&g->b, x, tt_b_scalar_i64(&g->b, dtype, 1), low, high, interior));
      return;
    }
    case 18: {
      if (!rank || is_pred) return;
      add(g, tt_b_iota(&g->b, x->type, rnd(rank)));
      return;
    }
    case 19: case 20: {                // x y', or x' y
      if (rank != 2 || (dtype != TT_DTYPE_F32 && dtype != TT_DTYPE_BF16 && dtype != TT_DTYPE_F64)) return;
      tt_value_t* y = pick(g);
      int64_t side = rnd(2);
      if (y->type->rank != 2 || y->type->dims[side] != dims[side]) y = x;
      y = tt_b_convert(&g->b, y, dtype);
      tt_dot_dims_t d = {.lhs_contracting = {&side, 1}, .rhs_contracting = {&side, 1}};
      int64_t elems = dims[1 - side] * y->type->dims[1 - side];
      if (elems > MAX_ELEMS) return;
      g->rounding = fmax(g->rounding, rounding(dtype));
      tt_value_t* scale = tt_b_scalar_i64(&g->b, dtype, dims[side]);   // keeps sums near the operands
      tt_value_t* r = tt_b_dot_general(&g->b, x, y, &d, dtype);
      add(g, tt_b_binary(&g->b, TT_OP_DIVIDE, r, tt_b_broadcast_to(&g->b, scale, 2, r->type->dims)));
      return;
    }
    default: {                         // strided read, or a strided write into x
      int64_t n = tt_type_elems(x->type);
      if (n < 4) return;
      int64_t sizes[2] = {1 + rnd(3), 0}, strides[2], offset = rnd(2);
      strides[1] = 1 + rnd(2);
      sizes[1] = 1 + rnd((uint32_t)TT_MAX((n - 2) / (sizes[0] * strides[1]) / 2, (int64_t)1));
      strides[0] = sizes[1] * strides[1] + rnd(2);
      if (offset + (sizes[0] - 1) * strides[0] + (sizes[1] - 1) * strides[1] >= n) return;
      tt_value_t* r = tt_b_strided_read(&g->b, x, dtype, 2, sizes, strides, offset);
      add(g, r);
      if (rnd(2) && !is_pred) {
        tt_value_t* v = rnd(2) ? tt_b_binary(&g->b, TT_OP_ADD, r, r) : tt_b_iota(&g->b, r->type, 1);
        if (rnd(3) == 0) {             // reads the base elsewhere
          int64_t zero = 0;
          (void)zero;
          tt_value_t* other = tt_b_strided_read(&g->b, x, dtype, 2, sizes, strides, 0);
          v = tt_b_binary(&g->b, TT_OP_ADD, v, other);
        }
        add(g, tt_b_strided_write(&g->b, x, v, strides, offset));
      }
      return;
    }
  }
}

static double load(tt_dtype_t dtype, const void* data, int64_t i) { return tt_scalar_load_f64(dtype, (const char*)data + (size_t)i * tt_dtype_bytes(dtype)); }

static double rounding(tt_dtype_t dtype) { return !tt_dtype_is_float(dtype) ? 0 : dtype == TT_DTYPE_F64 ? 1e-9 : dtype == TT_DTYPE_BF16 ? 4e-2 : 2e-5; }
static bool same(tt_dtype_t dtype, const void* a, const void* b, int64_t n, double scale, double least, int64_t* out_at) {
  double tolerance = rounding(dtype);
  if (tolerance) tolerance = fmax(tolerance, least);
  for (int64_t i = 0; i < n; ++i) {
    double x = load(dtype, a, i), y = load(dtype, b, i);
    if (x == y || (x != x && y != y)) continue;
    if (tolerance && fabs(x - y) <= tolerance * fmax(scale, fmax(fabs(x), fabs(y)))) continue;
    *out_at = i;
    return false;
  }
  return true;
}

// 0: agrees; 1: differs; 2: not comparable (a refused program)
static int one(uint64_t seed, bool verbose) {
  state = seed * 0x9e3779b97f4a7c15ull + 12345;
  gen_t g;
  memset(&g, 0, sizeof g);
  if (!tt_status_is_ok(tt_module_create(&g.module))) return 2;
  tt_builder_initialize(&g.b, g.module);
  uint32_t params = 1 + rnd(3);
  const tt_type_t* types[4];
  for (uint32_t i = 0; i < params; ++i) {
    int64_t dims[4], n;
    uint32_t rank = 1 + rnd(3);
    do for (uint32_t d = 0; d < rank; ++d) dims[d] = some_dim();
    while (!tt_checked_product(dims, rank, &n) || n > MAX_ELEMS / 2);
    types[i] = tt_b_type(&g.b, dtypes[rnd(7)], rank, dims);
  }
  tt_func_t* f = tt_b_func_begin(&g.b, "main", true, params, types);
  for (uint32_t i = 0; i < params; ++i) add(&g, tt_b_func_arg(f, i));
  uint32_t steps = 2 + rnd(18);
  for (uint32_t i = 0; i < steps; ++i) step(&g);
  tt_value_t* results[3];
  uint32_t result_count = 1 + rnd(3);
  for (uint32_t i = 0; i < result_count; ++i) results[i] = g.values[g.count - 1 - rnd(TT_MIN(g.count, 4u))];
  bool donates = false;
  for (uint32_t i = 0; i < params; ++i) {
    for (uint32_t r = 0; r < result_count && !donates; ++r) {
      if (results[r]->type != types[i]) continue;
      tt_b_func_arg_attr(&g.b, f, i, tt_attr_int(TT_ATTR_ALIASING_OUTPUT, r));
      donates = true;
    }
  }
  tt_b_func_end(&g.b, f, result_count, results);
  int verdict = 0;
  tt_status_t status = tt_builder_take_status(&g.b);
  if (tt_status_is_ok(status)) status = tt_module_verify(g.module);
  if (!tt_status_is_ok(status)) {
    if (verbose) fprintf(stderr, "seed %llu: generator: %s\n", (unsigned long long)seed, tt_status_message(status));
    tt_status_free(status);
    tt_builder_deinitialize(&g.b);
    tt_module_release(g.module);
    return 2;
  }
  tt_plan_t *fused = NULL, *reference = NULL, *separate = NULL;
  status = test_compile(g.module, false, &fused);
  if (tt_status_is_ok(status)) status = tt_plan_validate(fused->bytes, fused->size);
  if (tt_status_is_ok(status)) status = test_compile(g.module, true, &reference);
  tt_plan_options_t options = {.separate_steps = true};
  if (tt_status_is_ok(status)) status = tt_plan_compile(g.module, &options, &separate);
  static char data[4][MAX_ELEMS * 8];
  test_run_t a, b, s;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  memset(&s, 0, sizeof s);
  double scale = 1;
  for (uint32_t i = 0; i < params; ++i) {
    int64_t n = tt_type_elems(types[i]);
    size_t e = tt_dtype_bytes(types[i]->dtype);
    for (int64_t k = 0; k < n; ++k) tt_scalar_store_f64(types[i]->dtype, (double)((int)rnd(41) - (types[i]->dtype == TT_DTYPE_U8 ? 0 : 20)) / (tt_dtype_is_float(types[i]->dtype) ? 8 : 1), data[i] + (size_t)k * e);
    a.inputs[i] = b.inputs[i] = s.inputs[i] = data[i];
    a.donated[i] = s.donated[i] = rnd(2);
  }
  if (tt_status_is_ok(status)) status = test_execute(fused, &a);
  if (tt_status_is_ok(status)) status = test_execute(reference, &b);
  if (tt_status_is_ok(status)) status = test_execute(separate, &s);
  if (!tt_status_is_ok(status)) {
    verdict = 1;
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, tt_status_message(status));
    tt_status_free(status);
  } else {
    for (uint32_t r = 0; r < result_count; ++r) {
      tt_dtype_t dtype = results[r]->type->dtype;
      int64_t n = tt_type_elems(results[r]->type), at = 0;
      if (memcmp(a.outputs[r], s.outputs[r], a.bytes[r]) != 0) {
        verdict = 1;
        fprintf(stderr, "seed %llu: result %u differs from that of separate steps\n", (unsigned long long)seed, r);
      }
      for (int64_t k = 0; k < n; ++k) { double v = fabs(load(dtype, b.outputs[r], k)); if (v < 1e30) scale = fmax(scale, v); }
      if (same(dtype, a.outputs[r], b.outputs[r], n, scale, g.rounding, &at)) continue;
      verdict = 1;
      fprintf(stderr, "seed %llu: result %u (%s) element %lld is %g, reference %g\n", (unsigned long long)seed, r, tt_dtype_name(dtype), (long long)at, load(dtype, a.outputs[r], at), load(dtype, b.outputs[r], at));
    }
  }
  if (verbose && verdict) {
    tt_strbuf_t text;
    tt_strbuf_initialize(&text);
    tt_status_ignore(tt_module_print(g.module, TT_PRINT_DEFAULT, &text));
    fprintf(stderr, "%s\n", tt_strbuf_text(&text));
    tt_strbuf_deinitialize(&text);
    tt_strbuf_initialize(&text);
    if (fused) tt_plan_print(fused, &text);
    fprintf(stderr, "%s\n", tt_strbuf_text(&text));
    tt_strbuf_deinitialize(&text);
  }
  test_run_free(&a);
  test_run_free(&b);
  test_run_free(&s);
  tt_plan_release(separate);
  tt_plan_release(fused);
  tt_plan_release(reference);
  tt_builder_deinitialize(&g.b);
  tt_module_release(g.module);
  return verdict;
}

TT_TEST(random, fused_equals_reference) {
  const char* text = getenv("TT_RANDOM_SEED");
  if (text) { TT_EXPECT_EQ(one((uint64_t)strtoull(text, NULL, 10), true), 0); return; }
  const char* count_text = getenv("TT_RANDOM_COUNT");
  uint64_t count = count_text ? strtoull(count_text, NULL, 10) : 1500;
  int refused = 0, differ = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    int verdict = one(seed, false);
    refused += verdict == 2;
    differ += verdict == 1;
    if (differ >= 10) break;
  }
  TT_EXPECT_EQ(differ, 0);
  TT_EXPECT(refused * 10 < (int)count);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
