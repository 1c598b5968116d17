// The convolution kernels against conv_ref (itself checked with jax by cases_test) on random shapes and attributes.
// Small integers make every sum exact, so results are compared bit for bit.
#include "base/test.h"
#include "ir/text.h"
#include "kernels/loops.h"

struct tt_pool_s {
  int threads;
};  // runs serially, last index first, so that order shows
static tt_pool_t the_pool = {3};
tt_pool_t* tt_pool_get(void) { return &the_pool; }
int tt_pool_threads(const tt_pool_t* pool) { return pool->threads; }
void tt_pool_set_threads(tt_pool_t* pool, int threads) { pool->threads = threads; }
void tt_pool_run(tt_pool_t* pool, size_t count, tt_pool_fn_t fn, void* self) {
  (void)pool;
  while (count-- > 0) fn(self, count);
}

static uint64_t seed = 1;
static int64_t pick(int64_t low, int64_t high) {  // both ends
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

typedef struct config_s {
  int space;
  int64_t n, ic, oc, feature_groups, batch_groups;  // n: of the result; ic, oc: of one group
  int64_t in[3], ker[3], stride[3], low[3], high[3], ld[3], rd[3], reverse[3];
  int x_order[5], w_order[5], y_order[5];  // [position] = canonical dim
  tt_dtype_t dtype, y_dtype;
} config_t;

static int64_t out_size(const config_t* c, int i) {
  const int64_t in = c->in[i] ? (c->in[i] - 1) * c->ld[i] + 1 : 0,
                window = c->ker[i] ? (c->ker[i] - 1) * c->rd[i] + 1 : 0;
  const int64_t room = in + c->low[i] + c->high[i] - window;
  return room < 0 || in + c->low[i] + c->high[i] <= 0 ? 0 : room / c->stride[i] + 1;
}
static void canonical(const config_t* c, int which, int64_t* dims) {
  if (which == 0) dims[0] = c->n * c->batch_groups, dims[1] = c->ic * c->feature_groups;
  else if (which == 1) dims[0] = c->oc * c->feature_groups * c->batch_groups, dims[1] = c->ic;
  else dims[0] = c->n, dims[1] = c->oc * c->feature_groups * c->batch_groups;
  for (int i = 0; i < c->space; ++i)
    dims[2 + i] = which == 0 ? c->in[i] : which == 1 ? c->ker[i] : out_size(c, i);
}
static const char* dtype_text(tt_dtype_t d) {
  return d == TT_DTYPE_F32 ? "f32" : d == TT_DTYPE_F64 ? "f64" : d == TT_DTYPE_BF16 ? "bf16" : "f16";
}
static int put_type(char* to, size_t room, const config_t* c, int which, tt_dtype_t dtype) {
  int64_t dims[5];
  canonical(c, which, dims);
  const int* order = which == 0 ? c->x_order : which == 1 ? c->w_order : c->y_order;
  int at = snprintf(to, room, "tensor<");
  for (int i = 0; i < c->space + 2; ++i)
    at += snprintf(to + at, room - (size_t)at, "%lldx", (long long)dims[order[i]]);
  return at + snprintf(to + at, room - (size_t)at, "%s>", dtype_text(dtype));
}
static int put_order(char* to, size_t room, const config_t* c, const int* order, char batch, char feature) {
  int at = snprintf(to, room, "[");
  for (int i = 0; i < c->space + 2; ++i) {
    at += snprintf(to + at, room - (size_t)at, "%s", i ? ", " : "");
    if (order[i] < 2) at += snprintf(to + at, room - (size_t)at, "%c", order[i] ? feature : batch);
    else at += snprintf(to + at, room - (size_t)at, "%d", order[i] - 2);
  }
  return at + snprintf(to + at, room - (size_t)at, "]");
}
static int put_list(char* to, size_t room, const config_t* c, const char* name, const int64_t* values) {
  int at = snprintf(to, room, "%s = [", name);
  for (int i = 0; i < c->space; ++i)
    at += snprintf(to + at, room - (size_t)at, "%s%lld", i ? ", " : "", (long long)values[i]);
  return at + snprintf(to + at, room - (size_t)at, "], ");
}
static void put_text(const config_t* c, char* t, size_t room) {
  char x[128], w[128], y[128];
  put_type(x, sizeof x, c, 0, c->dtype);
  put_type(w, sizeof w, c, 1, c->dtype);
  put_type(y, sizeof y, c, 2, c->y_dtype);
  size_t at = (size_t)snprintf(t, room,
                               "module @m {\n func.func public @main(%%arg0: %s, %%arg1: %s) -> %s {\n %%0 = "
                               "stablehlo.convolution(%%arg0, %%arg1) dim_numbers = ",
                               x, w, y);
  at += (size_t)put_order(t + at, room - at, c, c->x_order, 'b', 'f');
  at += (size_t)snprintf(t + at, room - at, "x");
  at += (size_t)put_order(t + at, room - at, c, c->w_order, 'o', 'i');
  at += (size_t)snprintf(t + at, room - at, "->");
  at += (size_t)put_order(t + at, room - at, c, c->y_order, 'b', 'f');
  at += (size_t)snprintf(t + at, room - at, ", window = {");
  at += (size_t)put_list(t + at, room - at, c, "stride", c->stride);
  at += (size_t)snprintf(t + at, room - at, "pad = [");
  for (int i = 0; i < c->space; ++i)
    at += (size_t)snprintf(t + at, room - at, "%s[%lld, %lld]", i ? ", " : "", (long long)c->low[i],
                           (long long)c->high[i]);
  at += (size_t)snprintf(t + at, room - at, "], ");
  at += (size_t)put_list(t + at, room - at, c, "lhs_dilate", c->ld);
  at += (size_t)put_list(t + at, room - at, c, "rhs_dilate", c->rd);
  at += (size_t)snprintf(t + at, room - at, "reverse = [");
  for (int i = 0; i < c->space; ++i)
    at += (size_t)snprintf(t + at, room - at, "%s%s", i ? ", " : "", c->reverse[i] ? "true" : "false");
  snprintf(t + at, room - at,
           "]} {batch_group_count = %lld : i64, feature_group_count = %lld : i64} : (%s, %s) -> %s\n return "
           "%%0 : %s\n }\n}\n",
           (long long)c->batch_groups, (long long)c->feature_groups, x, w, y, y);
}

static void fill(tt_dtype_t dtype, char* data, int64_t n, bool whole) {
  for (int64_t i = 0; i < n; ++i, data += tt_dtype_bytes(dtype)) {
    const double v = whole ? (double)pick(-3, 3) : (double)pick(-1000000, 1000000) * 1e-6;
    tt_scalar_store_f64(dtype, v, data);
  }
}

typedef struct call_s {
  tt_arena_t arena;
  tt_module_t* module;
  const tt_op_t* op;
  tt_k_tensor_t x[2], y;
  int64_t strides[3][5];
} call_t;

// Dense, or operands with their dims in another order in memory and one backwards.
static void make_operand(call_t* call, int which, bool shuffled, bool whole) {
  const tt_type_t* type = call->op->operands[which]->type;
  int64_t* strides = call->strides[which];
  const size_t eb = tt_dtype_bytes(type->dtype);
  char* data = tt_arena_alloc(&call->arena, (size_t)tt_type_bytes(type) + 64);
  fill(type->dtype, data, tt_type_elems(type), whole);
  if (shuffled) {
    int64_t step = 1, order[5];
    for (uint32_t i = 0; i < type->rank; ++i) order[i] = i;
    for (uint32_t i = type->rank; i-- > 1;) {
      const int64_t other = pick(0, i), t = order[i];
      order[i] = order[other];
      order[other] = t;
    }
    for (uint32_t i = 0; i < type->rank; ++i) {
      strides[order[i]] = step;
      step *= type->dims[order[i]];
    }
    const int64_t back = pick(0, type->rank - 1);
    if (step) data += (type->dims[back] - 1) * strides[back] * (int64_t)eb;
    strides[back] = -strides[back];
  } else {
    tt_k_dense_strides(type->dims, type->rank, strides);
  }
  call->x[which] = (tt_k_tensor_t){data, type->dtype, type->rank, type->dims, strides};
}

// Runs a kernel into fresh memory; NULL and a failed test on an error.
static char* run_kernel(call_t* call, const tt_k_op_t* kernel, const tt_k_tensor_t* x) {
  const tt_op_t* op = call->op;
  const char* why = "";
  if (kernel->supports && !kernel->supports(op, &why)) {
    TT_TEST_FAIL("%s: %s", kernel->name, why);
    return NULL;
  }
  tt_k_blob_t blob = {0};
  tt_status_t status = kernel->encode(op, &call->arena, &blob);
  const size_t bytes = (size_t)tt_type_bytes(op->results[0].type);
  size_t scratch_bytes = kernel->scratch_bytes(blob.data, the_pool.threads, x, 2, &call->y, 1);
  unsigned char* scratch = aligned_alloc(64, tt_align_up(scratch_bytes + 64, 64));
  memset(scratch, 0xff, tt_align_up(scratch_bytes + 64, 64));  // NaN
  char* out = tt_arena_alloc(&call->arena, bytes + 64);
  memset(out, 0x5a, bytes + 64);
  call->y.data = out;
  const tt_k_env_t env = {.pool = &the_pool, .scratch = scratch};
  if (tt_status_is_ok(status)) status = kernel->run(&env, blob.data, x, 2, &call->y, 1);
  if (!tt_status_is_ok(status)) TT_TEST_FAIL("%s: %s", kernel->name, tt_status_message(status));
  tt_status_free(status);
  for (size_t i = 0; i < 64; ++i) {
    if ((unsigned char)out[bytes + i] != 0x5a) {
      TT_TEST_FAIL("%s wrote past the result", kernel->name);
      break;
    }
  }
  for (size_t i = scratch_bytes; i < tt_align_up(scratch_bytes + 64, 64); ++i) {
    if (scratch[i] != 0xff) {
      TT_TEST_FAIL("%s wrote past its scratch", kernel->name);
      break;
    }
  }
  free(scratch);
  return out;
}

static bool begin(call_t* call, const config_t* c, bool shuffled, bool whole) {
  char text[4096];
  put_text(c, text, sizeof text);
  tt_arena_initialize(&call->arena);
  tt_status_t status = tt_module_parse(text, strlen(text), &call->module);
  if (!tt_status_is_ok(status)) {
    TT_TEST_FAIL("%s\n%s", tt_status_message(status), text);
    tt_status_free(status);
    tt_arena_deinitialize(&call->arena);
    return false;
  }
  call->op = tt_module_main(call->module)->body.block.first;
  const tt_type_t* type = call->op->results[0].type;
  tt_k_dense_strides(type->dims, type->rank, call->strides[2]);
  call->y = (tt_k_tensor_t){NULL, type->dtype, type->rank, type->dims, call->strides[2]};
  make_operand(call, 0, shuffled && pick(0, 1), whole);
  make_operand(call, 1, shuffled && pick(0, 1), whole);
  return true;
}
static void end(call_t* call) {
  tt_arena_deinitialize(&call->arena);
  tt_module_release(call->module);
}

static bool check(const config_t* c, bool shuffled) {
  call_t call;
  if (!begin(&call, c, shuffled, true)) return false;
  const tt_type_t* type = call.op->results[0].type;
  const tt_k_op_t *fast = tt_k_op_by_name("tt_k_float_convolution_packed__avx2"),
                  *ref = tt_k_op_by_name("tt_k_any_convolution__generic");
  // the reference wants dense operands
  tt_k_tensor_t dense[2] = {call.x[0], call.x[1]};
  int64_t strides[2][5];
  for (int i = 0; i < 2; ++i) {
    dense[i].data = tt_arena_alloc(&call.arena, tt_k_bytes(&dense[i]) + 64);
    tt_k_pack(NULL, &call.x[i], dense[i].data);
    tt_k_dense_strides(dense[i].dims, dense[i].rank, strides[i]);
    dense[i].strides = strides[i];
  }
  const char *got = run_kernel(&call, fast, call.x), *want = run_kernel(&call, ref, dense);
  const size_t eb = tt_dtype_bytes(type->dtype);
  bool same = got && want;
  for (int64_t i = 0; same && i < tt_type_elems(type); ++i) {
    const double a = tt_scalar_load_f64(type->dtype, got + (size_t)i * eb),
                 b = tt_scalar_load_f64(type->dtype, want + (size_t)i * eb);
    if (a == b) continue;
    char text[4096];
    put_text(c, text, sizeof text);
    TT_TEST_FAIL("[%lld] is %.9g, expected %.9g (%s%s)\n%s", (long long)i, a, b, tt_k_isa_name(tt_k_isa()),
                 shuffled ? ", shuffled" : "", text);
    same = false;
  }
  end(&call);
  return same;
}

static void shuffle(int* order, int n, bool really) {
  for (int i = 0; i < n; ++i) order[i] = i;
  for (int i = n; really && i-- > 1;) {
    const int other = (int)pick(0, i), t = order[i];
    order[i] = order[other];
    order[other] = t;
  }
}
static config_t random_config(void) {
  static const int64_t channels[] = {1, 1, 2, 3, 4, 5, 7, 8, 14, 16, 17, 31, 33};
  config_t c = {.space = (int)pick(0, 9), .feature_groups = 1, .batch_groups = 1};
  c.space = c.space == 0 ? 0 : c.space < 3 ? 1 : c.space < 8 ? 2 : 3;
  c.n = pick(0, 30) ? pick(1, 4) : 0;
  c.ic = pick(0, 30) ? channels[pick(0, 12)] : 0;
  c.oc = channels[pick(0, 12)];
  if (pick(0, 3) == 0) {
    *(pick(0, 1) ? &c.feature_groups : &c.batch_groups) = pick(2, 5);
    if (pick(0, 1)) c.oc = pick(1, 2);
  }
  const bool plain = pick(0, 2) == 0;  // no dilation, no reversal, little padding
  const int64_t widest = c.space == 3 ? 7 : c.space == 2 ? 20 : 150;
  for (int i = 0; i < c.space; ++i) {
    for (;;) {
      c.in[i] = pick(0, 40) ? pick(1, pick(0, 3) ? widest : 3) : 0;
      c.ker[i] = pick(0, 3) ? pick(1, 3) : pick(1, pick(0, 1) ? 5 : widest);
      c.stride[i] = pick(0, 1) ? 1 : pick(1, 4);
      c.low[i] = pick(0, 2);
      c.high[i] = pick(0, 2);
      c.ld[i] = c.rd[i] = 1;
      c.reverse[i] = 0;
      if (!plain) {
        c.low[i] = pick(-2, 6);
        c.high[i] = pick(-2, 6);
        if (pick(0, 1)) c.ld[i] = pick(1, 4);
        if (pick(0, 1)) c.rd[i] = pick(1, 4);
        c.reverse[i] = pick(0, 2) == 0;
      }
      const int64_t in = c.in[i] ? (c.in[i] - 1) * c.ld[i] + 1 : 0;
      if (in + c.low[i] + c.high[i] >= 0 && (out_size(&c, i) > 0 || pick(0, 30) == 0)) break;
    }
  }
  const bool orders = pick(0, 1);
  shuffle(c.x_order, c.space + 2, orders);
  shuffle(c.w_order, c.space + 2, orders);
  shuffle(c.y_order, c.space + 2, orders);
  static const tt_dtype_t dtypes[] = {TT_DTYPE_F32, TT_DTYPE_F32,  TT_DTYPE_F32,
                                      TT_DTYPE_F64, TT_DTYPE_BF16, TT_DTYPE_F16};
  c.dtype = c.y_dtype = dtypes[pick(0, 5)];
  if (c.dtype == TT_DTYPE_BF16 && pick(0, 1)) c.y_dtype = TT_DTYPE_F32;
  return c;
}

static void check_random(tt_isa_t isa, int count) {
  if (tt_k_isa_supported() < isa) return;
  tt_k_isa_set(isa);
  for (int i = 0; i < count && tt_test_failures < 5; ++i) {
    const config_t c = random_config();
    check(&c, pick(0, 2) == 0);
  }
  tt_k_isa_set(tt_k_isa_supported());
}
TT_TEST(conv, random_avx2) { check_random(TT_ISA_AVX2, 1500); }
TT_TEST(conv, random_avx512) { check_random(TT_ISA_AVX512, 1500); }

// Forward, and both gradients as PyTorch's become, of square 2-d convolutions.
static config_t square(int64_t n, int64_t ic, int64_t oc, int64_t in, int64_t ker, int64_t stride,
                       int64_t pad, int64_t groups) {
  config_t c = {
      .space = 2, .n = n, .ic = ic / groups, .oc = oc / groups, .feature_groups = groups, .batch_groups = 1};
  c.dtype = c.y_dtype = TT_DTYPE_F32;
  for (int i = 0; i < 2; ++i)
    c.in[i] = in, c.ker[i] = ker, c.stride[i] = stride, c.low[i] = c.high[i] = pad, c.ld[i] = c.rd[i] = 1;
  shuffle(c.x_order, 4, false);
  shuffle(c.w_order, 4, false);
  shuffle(c.y_order, 4, false);
  return c;
}
static config_t input_gradient(const config_t* f) {
  config_t c = *f;
  c.ic = f->oc;
  c.oc = f->ic;
  for (int i = 0; i < 2; ++i) {
    c.in[i] = out_size(f, i);
    c.stride[i] = 1;
    c.ld[i] = f->stride[i];
    c.low[i] = f->ker[i] - 1 - f->low[i];
    c.high[i] = f->in[i] + f->ker[i] - 1 - ((c.in[i] - 1) * c.ld[i] + 1) - c.low[i];
    c.reverse[i] = 1;
  }
  if (f->feature_groups == 1) c.w_order[0] = 1, c.w_order[1] = 0;
  return c;
}
static config_t weight_gradient(const config_t* f) {
  config_t c = *f;
  c.ic = f->n;
  c.n = f->ic;
  c.feature_groups = 1;
  c.batch_groups = f->feature_groups;
  for (int i = 0; i < 2; ++i) {
    c.ker[i] = out_size(f, i);
    c.stride[i] = 1;
    c.rd[i] = f->stride[i];
    c.high[i] = (c.ker[i] - 1) * c.rd[i] + f->ker[i] - f->in[i] - f->low[i];
  }
  c.x_order[0] = c.w_order[0] = c.y_order[0] = 1;
  c.x_order[1] = c.w_order[1] = c.y_order[1] = 0;
  return c;
}
static void check_three(config_t f) {
  const config_t gx = input_gradient(&f), gw = weight_gradient(&f);
  TT_EXPECT(check(&f, false));
  TT_EXPECT(check(&gx, false));
  TT_EXPECT(check(&gw, false));
}
TT_TEST(conv, gradients) {
  check_three(square(2, 3, 20, 33, 7, 2, 3, 1));
  check_three(square(1, 24, 40, 14, 3, 1, 1, 1));
  check_three(square(3, 40, 24, 15, 1, 1, 0, 1));
  check_three(square(3, 40, 24, 15, 1, 2, 0, 1));
  check_three(square(5, 32, 64, 7, 3, 1, 1, 1));
  check_three(square(2, 24, 24, 17, 3, 1, 1, 24));
  check_three(square(2, 24, 24, 17, 5, 2, 2, 24));
  check_three(square(2, 24, 48, 11, 3, 2, 1, 4));
  config_t f = square(2, 3, 20, 33, 7, 2, 3, 1);
  f.dtype = f.y_dtype = TT_DTYPE_BF16;
  check_three(f);
}
// many k blocks, several column blocks and chunks of images
TT_TEST(conv, large) {
  check_three(square(2, 130, 70, 9, 3, 1, 1, 1));
  check_three(square(3, 70, 130, 30, 3, 2, 1, 1));
  check_three(square(40, 16, 16, 60, 3, 1, 1, 1));
}
// Many output channels, few columns: tasks of different channels share panels, rows of weights are widened alone.
TT_TEST(conv, shared_panels) {
  static const tt_dtype_t dtypes[] = {TT_DTYPE_F32, TT_DTYPE_F64, TT_DTYPE_BF16, TT_DTYPE_F16};
  for (tt_isa_t isa = TT_ISA_AVX2; isa <= tt_k_isa_supported() && isa <= TT_ISA_AVX512; ++isa) {
    tt_k_isa_set(isa);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
      config_t c[] = {square(2, 64, 250, 5, 3, 1, 1, 1), square(1, 48, 250, 9, 3, 2, 1, 1),
                      square(2, 160, 320, 4, 3, 1, 1, 2), square(2, 260, 250, 7, 1, 1, 0, 1)};
      for (size_t at = 0; at < sizeof c / sizeof *c; ++at) {
        c[at].dtype = c[at].y_dtype = dtypes[i];
        TT_EXPECT(check(&c[at], false) && check(&c[at], true));
        if (dtypes[i] != TT_DTYPE_BF16) continue;
        c[at].y_dtype = TT_DTYPE_F32;
        TT_EXPECT(check(&c[at], false));
      }
    }
  }
  tt_k_isa_set(tt_k_isa_supported());
}

// Fractions: the same bits with 1, 3 and 8 threads, and errors within the bound of the sum's length.
TT_TEST(conv, threads_and_rounding) {
  const config_t forward[] = {square(2, 40, 33, 21, 3, 1, 1, 1), square(2, 24, 24, 40, 3, 1, 1, 24),
                              square(3, 3, 16, 40, 7, 2, 3, 1), square(2, 64, 250, 5, 3, 1, 1, 1)};
  const tt_k_op_t *fast = tt_k_op_by_name("tt_k_float_convolution_packed__avx2"),
                  *ref = tt_k_op_by_name("tt_k_any_convolution__generic");
  if (tt_k_isa_supported() < TT_ISA_AVX2) return;
  for (size_t i = 0; i < 3 * sizeof forward / sizeof *forward; ++i) {
    const config_t* f = forward + i / 3;
    const config_t c = i % 3 == 0 ? *f : i % 3 == 1 ? input_gradient(f) : weight_gradient(f);
    call_t call;
    TT_EXPECT(begin(&call, &c, false, false));
    const size_t bytes = (size_t)tt_type_bytes(call.op->results[0].type);
    const float* got = (const float*)run_kernel(&call, fast, call.x);
    static const int threads[] = {1, 8};
    for (int t = 0; t < 2; ++t) {
      the_pool.threads = threads[t];
      const char* again = run_kernel(&call, fast, call.x);
      the_pool.threads = 3;
      TT_EXPECT(memcmp(got, again, bytes) == 0);
    }
    const float* want = (const float*)run_kernel(&call, ref, call.x);
    const double k = (double)(c.ic * c.ker[0] * c.ker[1]);
    for (size_t e = 0; e < bytes / 4; ++e)
      TT_EXPECT(fabs((double)got[e] - (double)want[e]) <= 1.2e-7 * (8 + k));
    end(&call);
  }
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
