// Random numbers: composite tt.rng (design D11), stablehlo.rng_bit_generator (Philox and Threefry as XLA defines
// them) and stablehlo.rng. Work is split into chunks of kChunk elements, each from its own counters, so results
// do not depend on threads or ISA.
#include <math.h>
#include <stdatomic.h>

#include "kernels/loops.h"
#include "kernels/rng_words.h"

enum { kChunk = 1024 };
// false alarm: blocks are read only as far as they were written
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#if defined(__x86_64__)
#define TT_BY_ISA(name, args)                                    \
  do {                                                           \
    if (tt_k_isa() >= TT_ISA_AVX512) name##__avx512 args;        \
    else if (tt_k_isa() == TT_ISA_AVX2) name##__avx2 args;       \
    else name##__generic args;                                   \
  } while (0)
#else
#define TT_BY_ISA(name, args) name##__generic args
#endif

void tt_k_philox_words(uint32_t* out, uint64_t key, uint64_t low, uint64_t high, size_t blocks) {
  TT_BY_ISA(tt_k_philox_words, (out, key, low, high, blocks));
}
void tt_k_threefry_words(uint32_t* x0, uint32_t* x1, uint64_t key, uint64_t counter, size_t n) {
  TT_BY_ISA(tt_k_threefry_words, (x0, x1, key, counter, n));
}
void tt_k_unit_f32(float* out, const uint32_t* words, uint32_t add, size_t n) {
  TT_BY_ISA(tt_k_unit_f32, (out, words, add, n));
}
void tt_k_unit_f64(double* out, const uint32_t* words, uint64_t add, size_t n) {
  TT_BY_ISA(tt_k_unit_f64, (out, words, add, n));
}

// ---- distributions over words -------------------------------------------------------------------
typedef enum rng_kind_e { RNG_BITS, RNG_UNIFORM, RNG_NORMAL } rng_kind_t;

static size_t words_per_element(tt_dtype_t dtype, rng_kind_t kind) {
  return (tt_dtype_bytes(dtype) == 8 ? 2u : 1u) * (kind == RNG_NORMAL ? 2u : 1u);
}

// sqrt(-2 log u) cos(2 pi v): u in (0, 1] from the first half of an element's words, v from the second.
static void normal_f32(float* out, const uint32_t* words, size_t n) {
  uint32_t first[kChunk], second[kChunk];
  float u[kChunk];
  for (size_t i = 0; i < n; ++i) first[i] = words[2 * i], second[i] = words[2 * i + 1];
  tt_k_unit_f32(u, first, 1, n);
  tt_k_unit_f32(out, second, 0, n);
  tt_k_unary(TT_OP_LOG, TT_DTYPE_F32)(u, u, n);
  for (size_t i = 0; i < n; ++i) u[i] *= -2.0f, out[i] *= (float)(2 * M_PI);
  tt_k_unary(TT_OP_SQRT, TT_DTYPE_F32)(u, u, n);
  tt_k_unary(TT_OP_COSINE, TT_DTYPE_F32)(out, out, n);
  tt_k_binary(TT_OP_MULTIPLY, TT_DTYPE_F32)(out, u, out, n);
}
static void normal_f64(double* out, const uint32_t* words, size_t n) {
  uint32_t first[2 * kChunk], second[2 * kChunk];
  double u[kChunk];
  for (size_t i = 0; i < n; ++i) {
    first[2 * i] = words[4 * i], first[2 * i + 1] = words[4 * i + 1];
    second[2 * i] = words[4 * i + 2], second[2 * i + 1] = words[4 * i + 3];
  }
  tt_k_unit_f64(u, first, 1, n);
  tt_k_unit_f64(out, second, 0, n);
  tt_k_unary(TT_OP_LOG, TT_DTYPE_F64)(u, u, n);
  for (size_t i = 0; i < n; ++i) u[i] *= -2.0, out[i] *= 2 * M_PI;
  tt_k_unary(TT_OP_SQRT, TT_DTYPE_F64)(u, u, n);
  tt_k_unary(TT_OP_COSINE, TT_DTYPE_F64)(out, out, n);
  tt_k_binary(TT_OP_MULTIPLY, TT_DTYPE_F64)(out, u, out, n);
}

// n <= kChunk elements of `dtype` from their words.
static void from_words(tt_dtype_t dtype, rng_kind_t kind, void* out, const uint32_t* words, size_t n) {
  if (kind == RNG_BITS) {
    switch (tt_dtype_bytes(dtype)) {
      case 1: for (size_t i = 0; i < n; ++i) ((uint8_t*)out)[i] = (uint8_t)words[i]; return;
      case 2: for (size_t i = 0; i < n; ++i) ((uint16_t*)out)[i] = (uint16_t)words[i]; return;
      case 4: memcpy(out, words, 4 * n); return;
      default: memcpy(out, words, 8 * n); return;    // low word first
    }
  }
  if (dtype == TT_DTYPE_F64) {
    if (kind == RNG_NORMAL) normal_f64(out, words, n);
    else tt_k_unit_f64(out, words, 0, n);
    return;
  }
  float block[kChunk];
  float* values = dtype == TT_DTYPE_F32 ? out : block;
  if (kind == RNG_NORMAL) normal_f32(values, words, n);
  else tt_k_unit_f32(values, words, 0, n);
  if (dtype != TT_DTYPE_F32) tt_k_convert(TT_DTYPE_F32, dtype)(out, block, n);
}

typedef struct draw_s {
  tt_dtype_t dtype;
  rng_kind_t kind;
  uint64_t key, low, high;
  char* out;
  int64_t n;
} draw_t;

static void draw_range(void* self, int64_t begin, int64_t end) {
  const draw_t* d = self;
  size_t per = words_per_element(d->dtype, d->kind), bytes = tt_dtype_bytes(d->dtype);
  uint32_t words[4 * kChunk];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    size_t n = (size_t)TT_MIN(d->n - chunk * kChunk, (int64_t)kChunk);
    uint64_t skip = (uint64_t)chunk * (kChunk / 4) * per, low = d->low + skip;
    tt_k_philox_words(words, d->key, low, d->high + (low < skip), (n * per + 3) / 4);
    from_words(d->dtype, d->kind, d->out + (size_t)chunk * kChunk * bytes, words, n);
  }
}
static void draw(tt_pool_t* pool, draw_t* d) {
  tt_k_parallel(pool, (d->n + kChunk - 1) / kChunk, 4, draw_range, d);
}

// ---- tt.rng -------------------------------------------------------------------------------------
typedef struct rng_blob_s { int64_t kind; } rng_blob_t;

static bool rng_supports(const tt_op_t* op, const char** why) {
  const tt_attr_t* a = tt_k_own_attr(op, TT_ATTR_DISTRIBUTION);
  tt_dtype_t dtype = op->results[0].type->dtype;
  *why = "distribution is not bits, uniform or normal";
  if (!a || (a->kind != TT_AK_STRING && a->kind != TT_AK_ENUM)) return false;
  bool bits = strcmp(a->text.data, "bits") == 0;
  if (!bits && strcmp(a->text.data, "uniform") != 0 && strcmp(a->text.data, "normal") != 0) return false;
  *why = "the result's dtype does not fit the distribution";
  if (bits) return tt_dtype_is_integer(dtype) && dtype != TT_DTYPE_S4 && dtype != TT_DTYPE_U4 && dtype != TT_DTYPE_S2 && dtype != TT_DTYPE_U2;
  return dtype == TT_DTYPE_F16 || dtype == TT_DTYPE_BF16 || dtype == TT_DTYPE_F32 || dtype == TT_DTYPE_F64;
}
static tt_status_t rng_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  rng_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  const char* text = tt_k_own_attr(op, TT_ATTR_DISTRIBUTION)->text.data;
  p->kind = strcmp(text, "bits") == 0 ? RNG_BITS : strcmp(text, "uniform") == 0 ? RNG_UNIFORM : RNG_NORMAL;
  return TT_OK_STATUS;
}
static tt_status_t rng_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                           const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const rng_blob_t* p = blob;
  draw_t d = {.dtype = y->dtype, .kind = (rng_kind_t)p->kind, .out = y->data, .n = tt_k_elems(y)};
  uint64_t offset;
  memcpy(&d.key, x[0].data, 8);
  memcpy(&offset, x[1].data, 8);
  d.low = offset >> 2;
  draw(env->pool, &d);
  return TT_OK_STATUS;
}

// ---- rng_bit_generator --------------------------------------------------------------------------
typedef struct bits_blob_s { int64_t threefry; } bits_blob_t;

static tt_status_t bits_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  bits_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  // DEFAULT is Philox, as on XLA's CPU
  p->threefry = strcmp(tt_op_attr_text(op, TT_ATTR_RNG_ALGORITHM), "THREE_FRY") == 0;
  return TT_OK_STATUS;
}

// XLA's Threefry fills up to 32-bit results in halves: the first even dimension (else the largest) is cut into
// pairs, and element (.., d, ..) takes word d mod 2 of the counter of (.., d / 2, ..).
static void threefry_bits(const tt_k_tensor_t* y, uint64_t key, uint64_t counter, uint64_t* out_used) {
  int64_t n = tt_k_elems(y);
  size_t bytes = tt_dtype_bytes(y->dtype);
  uint32_t x0[kChunk], x1[kChunk];
  if (bytes == 8) {
    uint64_t* out = y->data;
    for (int64_t i = 0; i < n; i += kChunk) {
      size_t m = (size_t)TT_MIN(n - i, (int64_t)kChunk);
      tt_k_threefry_words(x0, x1, key, counter + (uint64_t)i, m);
      for (size_t j = 0; j < m; ++j) out[i + (int64_t)j] = (uint64_t)x1[j] << 32 | x0[j];
    }
    *out_used = (uint64_t)n;
    return;
  }
  int64_t split = -1;
  for (int64_t i = 0; i < y->rank && split < 0; ++i) if (y->dims[i] % 2 == 0) split = i;
  for (int64_t i = 0; i < y->rank && (split < 0 || y->dims[split] % 2); ++i) {
    if (split < 0 || y->dims[i] > y->dims[split]) split = i;
  }
  int64_t extent = split < 0 ? 1 : y->dims[split];
  int64_t inner = split < 0 ? 1 : tt_k_product(y->dims, (uint32_t)split + 1, y->rank);
  int64_t outer = split < 0 ? 1 : tt_k_product(y->dims, 0, (uint32_t)split);
  int64_t half = (extent + 1) / 2, counters = outer * half * inner;
  char* out = y->data;
  for (int64_t c = 0; c < counters; c += kChunk) {
    size_t m = (size_t)TT_MIN(counters - c, (int64_t)kChunk);
    tt_k_threefry_words(x0, x1, key, counter + (uint64_t)c, m);
    for (size_t j = 0; j < m; ++j) {
      int64_t k = c + (int64_t)j, o = k / (half * inner), h = k / inner % half, in = k % inner;
      int64_t at = (o * extent + 2 * h) * inner + in;
      memcpy(out + (size_t)at * bytes, &x0[j], bytes);
      if (2 * h + 1 < extent) memcpy(out + (size_t)(at + inner) * bytes, &x1[j], bytes);
    }
  }
  *out_used = (uint64_t)counters;
}

static tt_status_t bits_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                            const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const bits_blob_t* p = blob;
  uint64_t state[3] = {0, 0, 0};
  size_t state_bytes = TT_MIN(tt_k_bytes(x), sizeof state);
  memcpy(state, x->data, state_bytes);
  if (p->threefry) {
    uint64_t used = 0;
    threefry_bits(&y[1], state[0], state[1], &used);
    state[1] += used;
  } else {
    // XLA widens a two-word state by the key: the counter's upper half is then the key
    uint64_t high = state_bytes > 16 ? state[2] : state[0];
    draw_t d = {.dtype = y[1].dtype, .kind = RNG_BITS, .key = state[0], .low = state[1], .high = high,
                .out = y[1].data, .n = tt_k_elems(&y[1])};
    if (d.n > 0) draw(env->pool, &d);
    uint64_t used = ((uint64_t)d.n * words_per_element(d.dtype, RNG_BITS) + 3) / 4;
    state[1] += used;
    state[2] += state[1] < used;
  }
  memcpy(y[0].data, state, state_bytes);
  return TT_OK_STATUS;
}

// ---- stablehlo.rng: a fresh stream of the process each run ------------------------------------------
typedef struct plain_blob_s { int64_t normal; } plain_blob_t;
static _Atomic uint64_t tt_rng_stream = 1;

static bool plain_supports(const tt_op_t* op, const char** why) {
  tt_dtype_t dtype = op->results[0].type->dtype;
  *why = "rng takes floats, and for UNIFORM integers and booleans";
  if (dtype == TT_DTYPE_F16 || dtype == TT_DTYPE_BF16 || dtype == TT_DTYPE_F32 || dtype == TT_DTYPE_F64) return true;
  bool normal = strcmp(tt_op_attr_text(op, TT_ATTR_RNG_DISTRIBUTION), "NORMAL") == 0;
  return !normal && (dtype == TT_DTYPE_PRED || tt_dtype_is_integer(dtype));
}
static tt_status_t plain_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  plain_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  p->normal = strcmp(tt_op_attr_text(op, TT_ATTR_RNG_DISTRIBUTION), "NORMAL") == 0;
  return TT_OK_STATUS;
}

typedef struct plain_s {
  tt_dtype_t dtype;
  bool normal;
  uint64_t key;
  double a, b;         // floats: bounds, or mean and deviation
  int64_t low;         // integers: [low, low + range)
  uint64_t range;
  char* out;
  int64_t n;
} plain_t;
static void plain_range(void* self, int64_t begin, int64_t end) {
  const plain_t* d = self;
  size_t bytes = tt_dtype_bytes(d->dtype);
  bool is_float = tt_dtype_is_float(d->dtype);
  uint32_t words[4 * kChunk];
  double values[kChunk];
  int64_t integers[kChunk];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    size_t n = (size_t)TT_MIN(d->n - chunk * kChunk, (int64_t)kChunk);
    tt_k_philox_words(words, d->key, (uint64_t)chunk * kChunk, 0, n);   // four words an element
    char* out = d->out + (size_t)chunk * kChunk * bytes;
    if (is_float) {
      if (d->normal) {
        normal_f64(values, words, n);
        for (size_t i = 0; i < n; ++i) values[i] = d->a + d->b * values[i];
      } else {
        for (size_t i = 0; i < n; ++i) {
          uint64_t pair = (uint64_t)words[4 * i + 1] << 32 | words[4 * i];
          values[i] = d->a + (d->b - d->a) * ((double)(pair >> 11) * 0x1p-53);
        }
      }
      if (d->dtype == TT_DTYPE_F64) memcpy(out, values, 8 * n);
      else tt_k_convert(TT_DTYPE_F64, d->dtype)(out, values, n);
    } else {
      for (size_t i = 0; i < n; ++i) {
        uint64_t pair = (uint64_t)words[4 * i + 1] << 32 | words[4 * i];
        integers[i] = (int64_t)((uint64_t)d->low + (uint64_t)((unsigned __int128)pair * d->range >> 64));
      }
      if (d->dtype == TT_DTYPE_S64) memcpy(out, integers, 8 * n);
      else tt_k_convert(TT_DTYPE_S64, d->dtype)(out, integers, n);
    }
  }
}
static tt_status_t plain_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                             const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const plain_blob_t* p = blob;
  plain_t d = {.dtype = y->dtype, .normal = p->normal != 0, .out = y->data, .n = tt_k_elems(y)};
  d.key = atomic_fetch_add_explicit(&tt_rng_stream, 1, memory_order_relaxed) * 0x9E3779B97F4A7C15ull;
  if (tt_dtype_is_float(y->dtype)) {
    d.a = tt_scalar_load_f64(x[0].dtype, x[0].data);
    d.b = tt_scalar_load_f64(x[1].dtype, x[1].data);
  } else {
    d.low = tt_scalar_load_i64(x[0].dtype, x[0].data);
    int64_t end = tt_scalar_load_i64(x[1].dtype, x[1].data);
    bool empty = tt_dtype_is_unsigned_int(y->dtype) ? (uint64_t)end <= (uint64_t)d.low : end <= d.low;
    d.range = empty ? 1 : (uint64_t)end - (uint64_t)d.low;
    if (y->dtype == TT_DTYPE_PRED) d.range = empty ? 1 : 2;
  }
  tt_k_parallel(env->pool, (d.n + kChunk - 1) / kChunk, 4, plain_range, &d);
  return TT_OK_STATUS;
}

extern const tt_k_op_t tt_k_rng_table[];
const tt_k_op_t tt_k_rng_table[] = {
  {.name = "tt_k_any_rng__generic", .kind = TT_OP_COMPOSITE, .target = "tt.rng", .supports = rng_supports,
   .encode = rng_encode, .run = rng_run},
  {.name = "tt_k_any_rng_bit_generator__generic", .kind = TT_OP_RNG_BIT_GENERATOR, .encode = bits_encode, .run = bits_run},
  {.name = "tt_k_any_stablehlo_rng__generic", .kind = TT_OP_RNG, .supports = plain_supports, .encode = plain_encode,
   .run = plain_run},
  {0},
};
