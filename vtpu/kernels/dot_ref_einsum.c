// einsum of two operands by its definition: a sum over the labels that the result lacks. For completeness; programs
// use dot_general.
#include "kernels/loops.h"

enum { MAX_LABELS = 2 * TT_MAX_RANK };
typedef struct einsum_blob_s {
  int64_t labels, kept;                        // labels in all; the first `kept` are the result's, in order
  int64_t dims[MAX_LABELS], lhs[MAX_LABELS], rhs[MAX_LABELS];   // extent; strides in the operands, 0 where absent
} einsum_blob_t;

// Reads the labels of one operand or result: letters; false for anything else ("..." has no fixed rank here).
static bool read_labels(const char** at, const char* stop, char* out, size_t* out_count) {
  *out_count = 0;
  for (; **at && !strchr(stop, **at); ++*at) {
    if (**at == ' ') continue;
    bool letter = (**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z');
    if (!letter || *out_count == TT_MAX_RANK) return false;
    out[(*out_count)++] = **at;
  }
  return true;
}
static bool parse(const tt_op_t* op, char labels[3][TT_MAX_RANK], size_t counts[3]) {
  const char* at = tt_op_attr_text(op, TT_ATTR_EINSUM_CONFIG);
  if (!read_labels(&at, ",", labels[0], &counts[0]) || *at++ != ',') return false;
  if (!read_labels(&at, "-", labels[1], &counts[1]) || *at++ != '-' || *at++ != '>') return false;
  if (!read_labels(&at, ",", labels[2], &counts[2]) || *at) return false;
  return counts[0] == op->operands[0]->type->rank && counts[1] == op->operands[1]->type->rank &&
         counts[2] == op->results[0].type->rank;
}
static bool einsum_supports(const tt_op_t* op, const char** why) {
  char labels[3][TT_MAX_RANK];
  size_t counts[3];
  *why = "einsum_config is not \"letters,letters->letters\" of the operands' ranks";
  return op->operand_count == 2 && parse(op, labels, counts);
}
static tt_status_t einsum_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  einsum_blob_t* p = tt_k_blob_new(arena, out, sizeof *p);
  if (!p) return tt_k_no_memory();
  char labels[3][TT_MAX_RANK], all[MAX_LABELS];
  size_t counts[3];
  if (!parse(op, labels, counts)) return tt_status_create(TT_INVALID_ARGUMENT, "einsum: bad configuration");
  static const int order[3] = {2, 0, 1};   // the result's labels first
  for (int s = 0; s < 3; ++s) {
    int side = order[s];
    const tt_type_t* type = side == 2 ? op->results[0].type : op->operands[side]->type;
    int64_t strides[TT_MAX_RANK];
    tt_k_dense_strides(type->dims, type->rank, strides);
    for (size_t i = 0; i < counts[side]; ++i) {
      int64_t k = 0;
      while (k < p->labels && all[k] != labels[side][i]) ++k;
      if (k == MAX_LABELS) return tt_status_create(TT_INVALID_ARGUMENT, "einsum: too many labels");
      if (k == p->labels) {
        all[p->labels++] = labels[side][i];
        p->dims[k] = type->dims[i];
      } else if (p->dims[k] != type->dims[i]) {
        return tt_status_create(TT_INVALID_ARGUMENT, "einsum: label %c is %lld and %lld", labels[side][i],
                                (long long)p->dims[k], (long long)type->dims[i]);
      }
      if (side == 0) p->lhs[k] += strides[i];   // a label twice: the diagonal
      if (side == 1) p->rhs[k] += strides[i];
    }
    if (side == 2) p->kept = p->labels;
  }
  if (p->kept != (int64_t)counts[2]) return tt_status_create(TT_INVALID_ARGUMENT, "einsum: a label twice in the result");
  return TT_OK_STATUS;
}

typedef struct einsum_job_s {
  const einsum_blob_t* p;
  const tt_k_tensor_t *x, *y;
} einsum_job_t;
static void einsum_range(void* self, int64_t begin, int64_t end) {
  const einsum_job_t* j = self;
  const einsum_blob_t* p = j->p;
  const tt_k_tensor_t *x = j->x, *y = j->y;
  size_t eb[2] = {tt_dtype_bytes(x[0].dtype), tt_dtype_bytes(x[1].dtype)}, yb = tt_dtype_bytes(y->dtype);
  bool inexact = tt_dtype_is_float(y->dtype) || tt_dtype_is_complex(y->dtype);
  uint32_t kept = (uint32_t)p->kept, summed = (uint32_t)(p->labels - p->kept);
  int64_t count = tt_k_product(p->dims, kept, kept + summed);
  for (int64_t i = begin; i < end; ++i) {
    int64_t a0 = tt_k_unravel(i, p->dims, p->lhs, kept), b0 = tt_k_unravel(i, p->dims, p->rhs, kept);
    double sum[2] = {0, 0};
    uint64_t exact = 0;
    for (int64_t k = 0; k < count; ++k) {
      const char* a = (const char*)x[0].data + (size_t)(a0 + tt_k_unravel(k, p->dims + kept, p->lhs + kept, summed)) * eb[0];
      const char* b = (const char*)x[1].data + (size_t)(b0 + tt_k_unravel(k, p->dims + kept, p->rhs + kept, summed)) * eb[1];
      if (inexact) {
        double u[2], v[2];
        tt_scalar_load_complex(x[0].dtype, a, u);
        tt_scalar_load_complex(x[1].dtype, b, v);
        sum[0] += u[0] * v[0] - u[1] * v[1];
        sum[1] += u[0] * v[1] + u[1] * v[0];
      } else {
        exact += (uint64_t)tt_scalar_load_i64(x[0].dtype, a) * (uint64_t)tt_scalar_load_i64(x[1].dtype, b);
      }
    }
    void* to = (char*)y->data + (size_t)i * yb;
    if (inexact) {
      tt_scalar_store_complex(y->dtype, sum, to);
    } else if (y->dtype == TT_DTYPE_PRED) {
      *(uint8_t*)to = exact != 0;
    } else {   // modulo the width
      memcpy(to, &exact, yb);
    }
  }
}
static tt_status_t einsum_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                              const tt_k_tensor_t* y, size_t ny) {
  (void)nx, (void)ny;
  const einsum_blob_t* p = blob;
  einsum_job_t job = {p, x, y};
  int64_t count = tt_k_product(p->dims, (uint32_t)p->kept, (uint32_t)p->labels);
  tt_k_parallel(env->pool, tt_k_elems(y), TT_MAX(1, 4096 / TT_MAX(1, count)), einsum_range, &job);
  return TT_OK_STATUS;
}

const tt_k_op_t tt_k_dot_ref_einsum_table[] = {
    {.name = "tt_k_any_einsum__generic", .kind = TT_OP_EINSUM, .supports = einsum_supports, .encode = einsum_encode,
     .run = einsum_run},
    {0},
};
