// argmax and argmin: reduce of (x, iota) along the last dimension by a region that picks one of its two pairs.
//
// The region is accepted by what it does, not by its shape: it may only compare its arguments (values with values,
// indices with indices), select, and, or, not; so its result depends on nothing but the order of the four arguments,
// and the cases below, all orders with NaN, prove it. Rows then go through the lane kernels tt_k_argmax / argmin.
#include <math.h>

#include "kernels/loops.h"

enum { MAX_OPS = 32 };

typedef struct scalar_slot_s {
  const tt_value_t* value;
  double x;
} scalar_slot_t;

static bool lookup(const tt_block_t* block, const scalar_slot_t* slots, int count, const double args[4], const tt_value_t* v,
                   double* out) {
  if (v >= block->args && v < block->args + block->arg_count) {
    *out = args[v - block->args];
    return true;
  }
  for (int i = 0; i < count; ++i) {
    if (slots[i].value == v) {
      *out = slots[i].x;
      return true;
    }
  }
  return false;
}
static bool compare(const char* direction, double a, double b, double* out) {
  static const char* const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  bool results[] = {a == b, a != b, a < b, a <= b, a > b, a >= b};
  for (int i = 0; i < 6; ++i) {
    if (strcmp(direction, names[i]) == 0) {
      *out = results[i];
      return true;
    }
  }
  return false;
}
// Runs the region on (value, index, value, index); false if it does anything else than picking.
static bool evaluate(const tt_block_t* block, const double args[4], double results[2]) {
  scalar_slot_t slots[MAX_OPS];
  int count = 0;
  for (const tt_op_t* op = block->first; op; op = op->next) {
    double in[3];
    if (op->kind == TT_OP_RETURN) {
      return op->operand_count == 2 && lookup(block, slots, count, args, op->operands[0], &results[0]) &&
             lookup(block, slots, count, args, op->operands[1], &results[1]);
    }
    if (count == MAX_OPS || op->operand_count > 3 || op->result_count != 1) return false;
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      if (!lookup(block, slots, count, args, op->operands[i], &in[i])) return false;
    }
    double* out = &slots[count].x;
    slots[count++].value = &op->results[0];
    switch (op->kind) {
      case TT_OP_COMPARE: {
        ptrdiff_t a = op->operands[0] - block->args, b = op->operands[1] - block->args;
        if (a < 0 || a > 3 || b < 0 || b > 3 || (a & 1) != (b & 1)) return false;
        if (strcmp(tt_op_attr_text(op, TT_ATTR_COMPARE_TYPE), "TOTALORDER") == 0) return false;
        if (!compare(tt_op_attr_text(op, TT_ATTR_COMPARISON_DIRECTION), in[0], in[1], out)) return false;
        break;
      }
      case TT_OP_SELECT: *out = in[0] != 0 ? in[1] : in[2]; break;
      case TT_OP_AND: *out = in[0] != 0 && in[1] != 0; break;
      case TT_OP_OR: *out = in[0] != 0 || in[1] != 0; break;
      case TT_OP_NOT: *out = in[0] == 0; break;
      default: return false;
    }
    bool logical = op->kind == TT_OP_AND || op->kind == TT_OP_OR || op->kind == TT_OP_NOT;
    if (logical && op->results[0].type->dtype != TT_DTYPE_PRED) return false;
  }
  return false;
}
// 1: the larger value, -1: the smaller, 0: something else. Equal values: the lower index; NaN beats numbers.
static int region_picks(const tt_block_t* block, bool is_float) {
  if (block->arg_count != 4) return 0;
  double r[2];
  const double probe[4] = {1, 3, 2, 5};
  if (!evaluate(block, probe, r)) return 0;
  int sign = r[0] == 2 ? 1 : -1;
  for (int order = 0; order < 2; ++order) {
    double i = order ? 5 : 3, j = order ? 3 : 5, low = 1 * sign, high = 2 * sign;   // `high` wins
    const double first[4] = {high, i, low, j}, second[4] = {low, i, high, j}, equal[4] = {low, i, low, j};
    if (!evaluate(block, first, r) || r[0] != high || r[1] != i) return 0;
    if (!evaluate(block, second, r) || r[0] != high || r[1] != j) return 0;
    if (!evaluate(block, equal, r) || r[0] != low || r[1] != 3) return 0;
    if (!is_float) continue;
    const double nan_first[4] = {NAN, i, low, j}, nan_second[4] = {low, i, NAN, j}, nans[4] = {NAN, i, NAN, j};
    if (!evaluate(block, nan_first, r) || r[0] == r[0] || r[1] != i) return 0;
    if (!evaluate(block, nan_second, r) || r[0] == r[0] || r[1] != j) return 0;
    if (!evaluate(block, nans, r) || r[0] == r[0]) return 0;
  }
  return sign;
}

// The index operand counts along the last dimension.
static bool counts_last(const tt_value_t* v, int64_t dim) {
  const tt_op_t* op = v->op;
  if (!op) return false;
  if (op->kind == TT_OP_IOTA) return tt_op_attr_int(op, TT_ATTR_IOTA_DIMENSION, -1) == dim;
  if (op->kind != TT_OP_BROADCAST_IN_DIM || !op->operands[0]->op || op->operands[0]->op->kind != TT_OP_IOTA) return false;
  int64_t map[TT_MAX_RANK], inner = tt_op_attr_int(op->operands[0]->op, TT_ATTR_IOTA_DIMENSION, -1);
  size_t n = tt_k_attr_i64s(tt_op_attr(op, TT_ATTR_BROADCAST_DIMENSIONS), map, TT_MAX_RANK);
  return inner >= 0 && (size_t)inner < n && map[inner] == dim && op->operands[0]->type->dims[inner] == v->type->dims[dim];
}

static bool argmax_supports(const tt_op_t* op, const char** why) {
  *why = "not (x, iota) along the last dimension";
  if (op->operand_count != 4 || op->result_count != 2) return false;
  const tt_type_t *x = op->operands[0]->type, *index = op->operands[1]->type;
  int64_t dims[2];
  if (x->rank == 0 || !tt_type_is_static(x) || !tt_k_argmax(x->dtype) || !tt_dtype_is_integer(index->dtype) ||
      tt_k_attr_i64s(tt_op_attr(op, TT_ATTR_DIMENSIONS), dims, 2) != 1 || dims[0] != (int64_t)x->rank - 1 ||
      x->dims[dims[0]] == 0 || !counts_last(op->operands[1], dims[0])) {
    return false;
  }
  *why = "the region is no argmax or argmin";
  return region_picks(&op->regions[0].block, tt_dtype_is_float(x->dtype)) != 0;
}
static tt_status_t argmax_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  int64_t* sign = tt_k_blob_new(arena, out, sizeof *sign);
  if (!sign) return tt_k_no_memory();
  *sign = region_picks(&op->regions[0].block, tt_dtype_is_float(op->operands[0]->type->dtype));
  return TT_OK_STATUS;
}

typedef struct argmax_job_s {
  tt_k_argfold_fn_t fold;
  tt_k_binary_fn_t better, differ;   // differ(x, x): NaN
  const tt_k_tensor_t *x, *y;
  int64_t n;
} argmax_job_t;
static void argmax_range(void* self, int64_t begin, int64_t end) {
  const argmax_job_t* j = self;
  size_t eb = tt_dtype_bytes(j->x->dtype), ib = tt_dtype_bytes(j->y[1].dtype);
  const char *init = j->x[2].data, *init_index = j->x[3].data;
  int64_t start = tt_scalar_load_i64(j->x[3].dtype, init_index);
  for (int64_t row = begin; row < end; ++row) {
    const char* x = (const char*)j->x->data + (size_t)(row * j->n) * eb;
    int64_t at = j->fold(x, (size_t)j->n);
    const char* best = x + (size_t)at * eb;
    uint8_t init_wins, row_wins, init_nan, row_nan;
    j->better(&init_wins, init, best, 1);
    j->better(&row_wins, best, init, 1);
    j->differ(&init_nan, init, init, 1);
    j->differ(&row_nan, best, best, 1);
    bool take_init = init_nan || row_nan ? init_nan && (!row_nan || start < at) : init_wins || (!row_wins && start < at);
    memcpy((char*)j->y[0].data + (size_t)row * eb, take_init ? init : best, eb);
    tt_scalar_store_i64(j->y[1].dtype, take_init ? start : at, (char*)j->y[1].data + (size_t)row * ib);
  }
}
static tt_status_t argmax_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                              const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  bool maximum = *(const int64_t*)blob > 0;
  argmax_job_t job = {.x = x, .y = y, .n = x->dims[x->rank - 1]};
  job.fold = maximum ? tt_k_argmax(x->dtype) : tt_k_argmin(x->dtype);
  job.better = tt_k_compare(maximum ? TT_CMP_GT : TT_CMP_LT, x->dtype, false);
  job.differ = tt_k_compare(TT_CMP_NE, x->dtype, false);
  tt_k_parallel(env->pool, tt_k_elems(y), TT_MAX(1, 32768 / job.n), argmax_range, &job);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_window_argmax_table[] = {
    {.name = "tt_k_any_reduce_argmax__generic", .kind = TT_OP_REDUCE, .supports = argmax_supports, .encode = argmax_encode,
     .run = argmax_run, .unused_operands = 2, .replaces_loop = true},
    {0},
};
