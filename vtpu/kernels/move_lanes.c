// Elementwise ops as op kernels: lane kernels over dense operands. The reference (the executor normally fuses
// these into tiles), also the home of select and clamp with 0-d operands, map and quantisation.
#include <math.h>

#include "base/alloc.h"
#include "kernels/loops.h"
#include "kernels/work.h"

enum { GRAIN = 16384 };   // elements a task

typedef struct lanes_blob_s {
  int64_t kind;
  int64_t direction, total_order;          // compare
  int64_t exponent_bits, mantissa_bits;    // reduce_precision
} lanes_blob_t;

static tt_status_t lanes_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  lanes_blob_t* blob = tt_k_blob_new(arena, out, sizeof *blob);
  if (!blob) return tt_k_no_memory();
  blob->kind = op->kind;
  if (op->kind == TT_OP_COMPARE) {
    static const char* const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    const char* direction = tt_op_attr_text(op, TT_ATTR_COMPARISON_DIRECTION);
    while (blob->direction < 6 && strcmp(names[blob->direction], direction) != 0) ++blob->direction;
    if (blob->direction == 6) return tt_status_create(TT_INVALID_ARGUMENT, "compare: direction %s", direction);
    blob->total_order = strcmp(tt_op_attr_text(op, TT_ATTR_COMPARE_TYPE), "TOTALORDER") == 0;
  }
  blob->exponent_bits = tt_op_attr_int(op, TT_ATTR_EXPONENT_BITS, 8);
  blob->mantissa_bits = tt_op_attr_int(op, TT_ATTR_MANTISSA_BITS, 23);
  return TT_OK_STATUS;
}

typedef struct lanes_job_s {
  void (*fn)(void);
  const lanes_blob_t* blob;
  const tt_k_tensor_t* x;
  char *out, *in[3];
  size_t out_bytes, in_bytes[3];   // 0: the same element for every lane (only where `fn` is not called with it)
} lanes_job_t;

static void unary_range(void* self, int64_t begin, int64_t end) {
  lanes_job_t* j = self;
  ((tt_k_unary_fn_t)j->fn)(j->out + (size_t)begin * j->out_bytes, j->in[0] + (size_t)begin * j->in_bytes[0],
                           (size_t)(end - begin));
}
static void binary_range(void* self, int64_t begin, int64_t end) {
  lanes_job_t* j = self;
  ((tt_k_binary_fn_t)j->fn)(j->out + (size_t)begin * j->out_bytes, j->in[0] + (size_t)begin * j->in_bytes[0],
                            j->in[1] + (size_t)begin * j->in_bytes[1], (size_t)(end - begin));
}
static void ternary_range(void* self, int64_t begin, int64_t end) {
  lanes_job_t* j = self;
  // 0-d operands are spread over a block
  enum { BLOCK = 256 };
  TT_ALIGNED(64) char spread[3][BLOCK * 16];
  bool any = false;
  for (int k = 0; k < 3; ++k) {
    if (j->in_bytes[k] == 0) {
      any = true;
      tt_k_fill(spread[k], j->in[k], tt_dtype_bytes(j->x[k].dtype), BLOCK);
    }
  }
  int64_t block = any ? BLOCK : end - begin;
  for (int64_t i = begin; i < end; i += block) {
    const void* in[3];
    for (int k = 0; k < 3; ++k) {
      in[k] = j->in_bytes[k] ? j->in[k] + (size_t)i * j->in_bytes[k] : spread[k];
    }
    ((tt_k_ternary_fn_t)j->fn)(j->out + (size_t)i * j->out_bytes, in[0], in[1], in[2], (size_t)TT_MIN(block, end - i));
  }
}
static void reduce_precision_range(void* self, int64_t begin, int64_t end) {
  lanes_job_t* j = self;
  tt_k_reduce_precision(j->x->dtype, (int)j->blob->exponent_bits, (int)j->blob->mantissa_bits,
                        j->out + (size_t)begin * j->out_bytes, j->in[0] + (size_t)begin * j->in_bytes[0],
                        (size_t)(end - begin));
}

static tt_status_t lanes_run(const tt_k_env_t* env, const void* blob_data, const tt_k_tensor_t* x, size_t nx,
                             const tt_k_tensor_t* y, size_t ny) {
  (void)ny;
  const lanes_blob_t* blob = blob_data;
  tt_op_kind_t kind = (tt_op_kind_t)blob->kind;
  lanes_job_t job = {.blob = blob, .x = x, .out = y->data, .out_bytes = tt_dtype_bytes(y->dtype)};
  int64_t n = tt_k_elems(y);
  for (size_t k = 0; k < nx && k < 3; ++k) {
    job.in[k] = x[k].data;
    job.in_bytes[k] = x[k].rank == 0 && y->rank != 0 ? 0 : tt_dtype_bytes(x[k].dtype);
  }
  tt_k_range_fn_t range = unary_range;
  switch (kind) {
    case TT_OP_SELECT:
      if (x[0].rank == 0) {   // one branch whole
        const tt_k_tensor_t* chosen = *(const uint8_t*)x[0].data ? x + 1 : x + 2;
        tt_k_memcpy(env->pool, y->data, chosen->data, tt_k_bytes(chosen));
        return TT_OK_STATUS;
      }
      job.fn = (void (*)(void))tt_k_select(job.out_bytes);
      range = ternary_range;
      break;
    case TT_OP_CLAMP:
      job.fn = (void (*)(void))tt_k_clamp(y->dtype);
      range = ternary_range;
      break;
    case TT_OP_CONVERT:
      tt_k_convert_parallel(env->pool, x->dtype, y->dtype, y->data, x->data, n);
      return TT_OK_STATUS;
    case TT_OP_COMPARE:
      job.fn = (void (*)(void))tt_k_compare((tt_k_compare_t)blob->direction, x->dtype, blob->total_order);
      range = binary_range;
      break;
    case TT_OP_REDUCE_PRECISION:
      job.fn = (void (*)(void))tt_k_reduce_precision;
      range = reduce_precision_range;
      break;
    default:
      if (nx == 2) {
        job.fn = (void (*)(void))tt_k_binary(kind, x->dtype);
        range = binary_range;
      } else {
        job.fn = (void (*)(void))tt_k_unary(kind, x->dtype);
      }
      break;
  }
  if (!job.fn) {
    return tt_status_create(TT_UNIMPLEMENTED, "%s on %s", tt_op_info(kind)->name, tt_dtype_name(x->dtype));
  }
  tt_k_parallel(env->pool, n, GRAIN, range, &job);
  return TT_OK_STATUS;
}

static bool quantised(const tt_op_t* op) {
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    if (op->operands[i]->type->quant) return true;
  }
  return op->result_count && op->results[0].type->quant;
}
static bool lanes_supports(const tt_op_t* op, const char** why) {
  *why = "no lane kernel for this dtype";
  if (quantised(op)) {
    *why = "quantised types";
    return false;
  }
  tt_dtype_t dtype = op->operands[0]->type->dtype;
  switch (op->kind) {
    case TT_OP_SELECT: return tt_k_select(tt_dtype_bytes(op->operands[1]->type->dtype)) != NULL;
    case TT_OP_CLAMP: return tt_k_clamp(op->operands[1]->type->dtype) != NULL;
    case TT_OP_CONVERT: case TT_OP_REDUCE_PRECISION: return true;
    case TT_OP_COMPARE: return tt_k_compare(TT_CMP_EQ, dtype, false) != NULL;
    default:
      return op->operand_count == 2 ? tt_k_binary(op->kind, dtype) != NULL : tt_k_unary(op->kind, dtype) != NULL;
  }
}

// ---- map ---------------------------------------------------------------------------------------
typedef struct map_job_s {
  const tt_k_env_t* env;
  const tt_k_tensor_t* x;
  const tt_k_tensor_t* y;
  size_t nx;
  char* scratch;
  size_t scratch_stride, tasks;
  int64_t count;
} map_job_t;
static void map_task(void* self, size_t index) {
  map_job_t* j = self;
  int64_t begin = j->count * (int64_t)index / (int64_t)j->tasks, end = j->count * (int64_t)(index + 1) / (int64_t)j->tasks;
  void *args[TT_K_MAX_OPERANDS], *results[1];
  size_t arg_bytes[TT_K_MAX_OPERANDS], result_bytes = tt_dtype_bytes(j->y->dtype);
  for (size_t k = 0; k < j->nx; ++k) {
    arg_bytes[k] = tt_dtype_bytes(j->x[k].dtype);
    args[k] = (char*)j->x[k].data + (size_t)begin * arg_bytes[k];
  }
  results[0] = (char*)j->y->data + (size_t)begin * result_bytes;
  tt_k_region_run(j->env, 0, j->scratch + index * j->scratch_stride, args, arg_bytes, j->nx, results, &result_bytes, 1,
                  end - begin);
}
static bool map_supports(const tt_op_t* op, const char** why) {
  *why = "more operands than a kernel takes";
  return op->operand_count <= TT_K_MAX_OPERANDS;
}
static tt_status_t map_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                           const tt_k_tensor_t* y, size_t ny) {
  (void)blob, (void)ny;
  map_job_t job = {.env = env, .x = x, .y = y, .nx = nx, .count = tt_k_elems(y)};
  if (job.count == 0) return TT_OK_STATUS;
  job.tasks = tt_k_tasks(env->pool, job.count, GRAIN);
  void* scratch;
  TT_RETURN_IF_ERROR(tt_k_region_scratch(env, job.tasks, &scratch, &job.scratch_stride));
  job.scratch = scratch;
  tt_pool_run(env->pool, job.tasks, map_task, &job);
  tt_k_work_give(scratch);
  return TT_OK_STATUS;
}

// ---- quantisation ------------------------------------------------------------------------------
// Parameters of both sides follow the header: count scales, count zero points (as double) each.
typedef struct quant_side_s {
  int64_t axis, count;   // count 0: not quantised
  int64_t min, max;
} quant_side_t;
typedef struct quant_blob_s {
  quant_side_t in, out;
  double values[];
} quant_blob_t;
static bool quant_supports(const tt_op_t* op, const char** why) {
  *why = "types are not quantised";
  return quantised(op);
}
static tt_status_t quant_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  const tt_quant_t *qi = op->operands[0]->type->quant, *qo = op->results[0].type->quant;
  size_t ni = qi ? qi->count : 0, no = qo ? qo->count : 0;
  quant_blob_t* blob = tt_k_blob_new(arena, out, sizeof *blob + 2 * (ni + no) * sizeof(double));
  if (!blob) return tt_k_no_memory();
  double* v = blob->values;
  const tt_quant_t* sides[2] = {qi, qo};
  for (int k = 0; k < 2; ++k) {
    const tt_quant_t* q = sides[k];
    quant_side_t* side = k ? &blob->out : &blob->in;
    if (!q) continue;
    *side = (quant_side_t){q->axis, (int64_t)q->count, q->storage_min, q->storage_max};
    for (size_t i = 0; i < q->count; ++i) *v++ = q->scales[i];
    for (size_t i = 0; i < q->count; ++i) *v++ = (double)q->zero_points[i];
  }
  return TT_OK_STATUS;
}
static int64_t quant_channel(const quant_side_t* side, const tt_k_tensor_t* t, int64_t i) {
  if (side->axis < 0 || side->count <= 1) return 0;
  return i / tt_k_product(t->dims, (uint32_t)side->axis + 1, t->rank) % t->dims[side->axis];
}
static tt_status_t quant_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                             const tt_k_tensor_t* y, size_t ny) {
  (void)env, (void)nx, (void)ny;
  const quant_blob_t* p = blob;
  const double *in = p->values, *out = p->values + 2 * p->in.count;
  size_t xb = tt_dtype_bytes(x->dtype), yb = tt_dtype_bytes(y->dtype);
  int64_t n = tt_k_elems(y);
  for (int64_t i = 0; i < n; ++i) {
    double value = tt_scalar_load_f64(x->dtype, (char*)x->data + (size_t)i * xb);
    if (p->in.count) {
      int64_t c = quant_channel(&p->in, x, i);
      value = (value - in[p->in.count + c]) * in[c];
    }
    void* to = (char*)y->data + (size_t)i * yb;
    if (p->out.count) {
      int64_t c = quant_channel(&p->out, y, i);
      double q = rint(value / out[c]) + out[p->out.count + c];
      q = q < (double)p->out.min ? (double)p->out.min : q > (double)p->out.max ? (double)p->out.max : q;
      tt_scalar_store_i64(y->dtype, (int64_t)q, to);
    } else {
      tt_scalar_store_f64(y->dtype, value, to);
    }
  }
  return TT_OK_STATUS;
}

#define LANES(KIND, text)                                                                                      \
  {.name = "tt_k_any_" text "_lanes__generic", .kind = TT_OP_##KIND, .supports = lanes_supports, .encode = lanes_encode, \
   .run = lanes_run}
const tt_k_op_t tt_k_move_lanes_table[] = {
    LANES(ABS, "abs"), LANES(ADD, "add"), LANES(AND, "and"), LANES(ATAN2, "atan2"), LANES(CBRT, "cbrt"),
    LANES(CEIL, "ceil"), LANES(CLAMP, "clamp"), LANES(COMPARE, "compare"), LANES(COMPLEX, "complex"),
    LANES(CONVERT, "convert"), LANES(COSINE, "cosine"), LANES(COUNT_LEADING_ZEROS, "count_leading_zeros"),
    LANES(DIVIDE, "divide"), LANES(EXPONENTIAL, "exponential"), LANES(EXPONENTIAL_MINUS_ONE, "exponential_minus_one"),
    LANES(FLOOR, "floor"), LANES(IMAG, "imag"), LANES(IS_FINITE, "is_finite"), LANES(LOG, "log"),
    LANES(LOG_PLUS_ONE, "log_plus_one"), LANES(LOGISTIC, "logistic"), LANES(MAXIMUM, "maximum"),
    LANES(MINIMUM, "minimum"), LANES(MULTIPLY, "multiply"), LANES(NEGATE, "negate"), LANES(NOT, "not"),
    LANES(OR, "or"), LANES(POPCNT, "popcnt"), LANES(POWER, "power"), LANES(REAL, "real"),
    LANES(REDUCE_PRECISION, "reduce_precision"), LANES(REMAINDER, "remainder"),
    LANES(ROUND_NEAREST_AFZ, "round_nearest_afz"), LANES(ROUND_NEAREST_EVEN, "round_nearest_even"),
    LANES(RSQRT, "rsqrt"), LANES(SELECT, "select"), LANES(SHIFT_LEFT, "shift_left"),
    LANES(SHIFT_RIGHT_ARITHMETIC, "shift_right_arithmetic"), LANES(SHIFT_RIGHT_LOGICAL, "shift_right_logical"),
    LANES(SIGN, "sign"), LANES(SINE, "sine"), LANES(SQRT, "sqrt"), LANES(SUBTRACT, "subtract"), LANES(TAN, "tan"),
    LANES(TANH, "tanh"), LANES(XOR, "xor"), LANES(CHLO_ACOS, "chlo_acos"), LANES(CHLO_ACOSH, "chlo_acosh"),
    LANES(CHLO_ASIN, "chlo_asin"), LANES(CHLO_ASINH, "chlo_asinh"), LANES(CHLO_ATAN, "chlo_atan"),
    LANES(CHLO_ATANH, "chlo_atanh"), LANES(CHLO_BESSEL_I1E, "chlo_bessel_i1e"), LANES(CHLO_CONJ, "chlo_conj"),
    LANES(CHLO_COSH, "chlo_cosh"), LANES(CHLO_DIGAMMA, "chlo_digamma"), LANES(CHLO_ERF, "chlo_erf"),
    LANES(CHLO_ERF_INV, "chlo_erf_inv"), LANES(CHLO_ERFC, "chlo_erfc"), LANES(CHLO_IS_INF, "chlo_is_inf"),
    LANES(CHLO_IS_NEG_INF, "chlo_is_neg_inf"), LANES(CHLO_IS_POS_INF, "chlo_is_pos_inf"),
    LANES(CHLO_LGAMMA, "chlo_lgamma"), LANES(CHLO_NEXT_AFTER, "chlo_next_after"),
    LANES(CHLO_POLYGAMMA, "chlo_polygamma"), LANES(CHLO_SINH, "chlo_sinh"), LANES(CHLO_SQUARE, "chlo_square"),
    LANES(CHLO_TAN, "chlo_tan"), LANES(CHLO_ZETA, "chlo_zeta"),
    {.name = "tt_k_any_map__generic", .kind = TT_OP_MAP, .supports = map_supports, .run = map_run},
    {.name = "tt_k_any_uniform_quantize__generic", .kind = TT_OP_UNIFORM_QUANTIZE, .supports = quant_supports,
     .encode = quant_encode, .run = quant_run},
    {.name = "tt_k_any_uniform_dequantize__generic", .kind = TT_OP_UNIFORM_DEQUANTIZE, .supports = quant_supports,
     .encode = quant_encode, .run = quant_run},
    {0},
};
