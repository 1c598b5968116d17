#include "kernels/index.h"

int64_t tt_k_index_count(const tt_k_index_t* p, const tt_k_tensor_t* indices) {
  int64_t count = 1;
  for (uint32_t i = 0; i < indices->rank; ++i) {
    if ((int64_t)i != p->index_vector_dim) count *= indices->dims[i];
  }
  return count;
}

typedef struct positions_job_s {
  const tt_k_index_t* p;
  const tt_k_tensor_t* indices;
  bool clamp;
  int64_t post;                        // elements of indices after index_vector_dim
  int64_t components;
  int64_t batch_rank, batch_dims[TT_MAX_RANK], other_strides[TT_MAX_RANK];
  int64_t limit[TT_MAX_RANK], stride[TT_MAX_RANK];            // of component i
  int64_t batching_axis[TT_MAX_RANK], batching_stride[TT_MAX_RANK];   // position in batch_dims; operand stride
  tt_k_positions_t out;
} positions_job_t;

static void positions_range(void* self, int64_t begin, int64_t end) {
  const positions_job_t* j = self;
  const tt_k_index_t* p = j->p;
  size_t eb = tt_dtype_bytes(j->indices->dtype);
  tt_dtype_t dtype = j->indices->dtype;
  const char* data = j->indices->data;
  int64_t coordinate[TT_MAX_RANK];
  int64_t other = 0, flat = begin;
  for (int64_t i = j->batch_rank; i-- > 0;) {
    coordinate[i] = flat % j->batch_dims[i];
    flat /= j->batch_dims[i];
    other += coordinate[i] * j->other_strides[i];
  }
  for (int64_t b = begin; b < end; ++b) {
    int64_t base = b / j->post * (j->post * j->components) + b % j->post, offset = 0;
    bool fits = true;
    for (int64_t i = 0; i < p->map_count; ++i) {
      int64_t index = tt_k_load_index(dtype, data + (size_t)(base + i * j->post) * eb);
      if (j->clamp) {
        index = tt_k_clamp_i64(index, 0, j->limit[i]);
      } else if (index < 0 || index > j->limit[i]) {
        fits = false;
        break;
      }
      offset += index * j->stride[i];
    }
    for (int64_t i = 0; i < p->batching_count; ++i) {
      offset += coordinate[j->batching_axis[i]] * j->batching_stride[i];
    }
    j->out.operand[b] = fits ? offset : -1;
    j->out.other[b] = other;
    for (int64_t i = j->batch_rank; i-- > 0;) {
      other += j->other_strides[i];
      if (++coordinate[i] < j->batch_dims[i]) break;
      other -= j->other_strides[i] * j->batch_dims[i];
      coordinate[i] = 0;
    }
  }
}

void tt_k_index_positions(tt_pool_t* pool, const tt_k_index_t* p, const tt_k_tensor_t* operand,
                          const tt_k_tensor_t* indices, const tt_k_tensor_t* other, bool clamp, void* memory,
                          tt_k_positions_t* out) {
  positions_job_t job = {.p = p, .indices = indices, .clamp = clamp, .post = 1, .components = 1};
  int64_t operand_strides[TT_MAX_RANK], other_strides[TT_MAX_RANK];
  tt_k_strides(operand, operand_strides);
  tt_k_strides(other, other_strides);
  int64_t vector = p->index_vector_dim;
  if (vector < indices->rank) {
    job.post = tt_k_product(indices->dims, (uint32_t)vector + 1, indices->rank);
    job.components = indices->dims[vector];
  }
  out->count = tt_k_index_count(p, indices);
  if (out->count == 0) return;
  out->operand = memory;
  out->other = out->operand + out->count;
  job.out = *out;
  uint32_t next = 0;   // dims of `other` that are not window dims, in order
  for (uint32_t i = 0; i < indices->rank; ++i) {
    if ((int64_t)i == vector) continue;
    for (bool window = true; window; ) {
      window = false;
      for (int64_t k = 0; k < p->window_count; ++k) window = window || p->window_dims[k] == (int64_t)next;
      if (window) ++next;
    }
    for (int64_t k = 0; k < p->batching_count; ++k) {
      if (p->index_batching[k] == (int64_t)i) {
        job.batching_axis[k] = job.batch_rank;
        job.batching_stride[k] = operand_strides[p->operand_batching[k]];
      }
    }
    job.batch_dims[job.batch_rank] = indices->dims[i];
    job.other_strides[job.batch_rank++] = other_strides[next++];
  }
  for (int64_t i = 0; i < p->map_count; ++i) {
    job.stride[i] = operand_strides[p->map[i]];
    job.limit[i] = operand->dims[p->map[i]] - p->slice[p->map[i]];
  }
  tt_k_parallel(pool, out->count, 8192, positions_range, &job);
}

void tt_k_index_window(const tt_k_index_t* p, const tt_k_tensor_t* operand, const tt_k_tensor_t* other,
                       bool into_operand, tt_k_copy_t* out) {
  int64_t operand_strides[TT_MAX_RANK], other_strides[TT_MAX_RANK];
  tt_k_strides(operand, operand_strides);
  tt_k_strides(other, other_strides);
  out->element_bytes = tt_dtype_bytes(operand->dtype);
  out->rank = (uint32_t)p->window_count;
  for (int64_t i = 0; i < p->window_count; ++i) {
    int64_t in_operand = operand_strides[p->window_operand[i]], in_other = other_strides[p->window_dims[i]];
    out->dims[i] = p->slice[p->window_operand[i]];
    out->dst[i] = into_operand ? in_operand : in_other;
    out->src[i] = into_operand ? in_other : in_operand;
  }
}
