// Attention over one [L, D] head in plain loops; included once for float and once for double with
//   REAL (the type), NAME(x) (suffixes x), EXP and LOG.
// A task works on one (batch, kv head): it walks the query heads of the group, so dk and dv need no atomics.

// Scores of query row i against keys [0, count): scaled, biased; returns their maximum.
static REAL NAME(score_row)(const attention_t* a, const REAL* q, const REAL* k, int64_t batch, int64_t head, int64_t row, int64_t count, REAL* scores) {
  REAL best = (REAL)-INFINITY;
  for (int64_t j = 0; j < count; ++j) {
    REAL sum = 0;
    const REAL* key = k + j * a->d;
    for (int64_t x = 0; x < a->d; ++x) sum += q[x] * key[x];
    scores[j] = sum * (REAL)a->scale;
  }
  if (a->bias.data) {
    for (int64_t j = 0; j < count; ++j) {
      const char* at = (const char*)a->bias.data + (batch * a->bias_stride[0] + head * a->bias_stride[1] + row * a->bias_stride[2] + j * a->bias_stride[3]) * a->bias_bytes;
      if (a->bias.dtype == TT_DTYPE_PRED) scores[j] = *(const uint8_t*)at ? scores[j] : (REAL)-INFINITY;
      else scores[j] += (REAL)tt_scalar_load_f64(a->bias.dtype, at);
    }
  }
  for (int64_t j = 0; j < count; ++j) best = scores[j] > best || scores[j] != scores[j] ? scores[j] : best;
  return best;
}

static void NAME(load)(const attention_t* a, tt_dtype_t dtype, const void* from, int64_t elems, REAL* to) {
  (void)a;
  tt_k_convert(dtype, sizeof(REAL) == 8 ? TT_DTYPE_F64 : TT_DTYPE_F32)(to, from, (size_t)elems);
}
static void NAME(store)(tt_dtype_t dtype, const REAL* from, int64_t elems, void* to) {
  tt_k_convert(sizeof(REAL) == 8 ? TT_DTYPE_F64 : TT_DTYPE_F32, dtype)(to, from, (size_t)elems);
}
static const char* NAME(at)(const tt_k_tensor_t* t, int64_t batch, int64_t head, int64_t heads, int64_t rows, int64_t width) {
  return (const char*)t->data + (batch * heads + head) * rows * width * (int64_t)tt_dtype_bytes(t->dtype);
}

static void NAME(forward_task)(void* self, size_t task) {
  const attention_t* a = self;
  int64_t batch = (int64_t)task / a->h, head = (int64_t)task % a->h, kv = head / (a->h / a->hk);
  REAL* memory = (REAL*)(a->scratch + a->scratch_stride * task);
  REAL *k = memory, *v = k + a->lk * a->d, *q = v + a->lk * a->dv, *scores = q + a->d, *out = scores + a->lk;
  NAME(load)(a, a->k.dtype, NAME(at)(&a->k, batch, kv, a->hk, a->lk, a->d), a->lk * a->d, k);
  NAME(load)(a, a->v.dtype, NAME(at)(&a->v, batch, kv, a->hk, a->lk, a->dv), a->lk * a->dv, v);
  const size_t q_bytes = tt_dtype_bytes(a->q.dtype), out_bytes = tt_dtype_bytes(a->out.dtype);
  for (int64_t i = 0; i < a->lq; ++i) {
    int64_t count = a->causal ? TT_MIN(i + 1, a->lk) : a->lk, at = (batch * a->h + head) * a->lq + i;
    NAME(load)(a, a->q.dtype, (const char*)a->q.data + (size_t)(at * a->d) * q_bytes, a->d, q);
    REAL best = NAME(score_row)(a, q, k, batch, head, i, count, scores), total = 0;
    for (int64_t x = 0; x < a->dv; ++x) out[x] = 0;
    if (best != (REAL)-INFINITY) {   // a row with every key masked gives zeros
      for (int64_t j = 0; j < count; ++j) scores[j] = scores[j] - best;
      EXP(scores, scores, (size_t)count);
      for (int64_t j = 0; j < count; ++j) total += scores[j];
      for (int64_t j = 0; j < count; ++j) {
        const REAL p = scores[j] / total, *value = v + j * a->dv;
        for (int64_t x = 0; x < a->dv; ++x) out[x] += p * value[x];
      }
    }
    NAME(store)(a->out.dtype, out, a->dv, (char*)a->out.data + (size_t)(at * a->dv) * out_bytes);
    ((REAL*)a->lse.data)[at] = best == (REAL)-INFINITY ? best : best + (REAL)log((double)total);
  }
}

static void NAME(backward_task)(void* self, size_t task) {
  const attention_t* a = self;
  int64_t batch = (int64_t)task / a->hk, kv = (int64_t)task % a->hk, group = a->h / a->hk;
  REAL* memory = (REAL*)(a->scratch + a->scratch_stride * task);
  REAL *k = memory, *v = k + a->lk * a->d, *dk = v + a->lk * a->dv, *dv = dk + a->lk * a->d;
  REAL *q = dv + a->lk * a->dv, *dq = q + a->d, *grad = dq + a->d, *out = grad + a->dv, *p = out + a->dv;
  NAME(load)(a, a->k.dtype, NAME(at)(&a->k, batch, kv, a->hk, a->lk, a->d), a->lk * a->d, k);
  NAME(load)(a, a->v.dtype, NAME(at)(&a->v, batch, kv, a->hk, a->lk, a->dv), a->lk * a->dv, v);
  memset(dk, 0, sizeof(REAL) * (size_t)(a->lk * a->d));
  memset(dv, 0, sizeof(REAL) * (size_t)(a->lk * a->dv));
  for (int64_t head = kv * group; head < (kv + 1) * group; ++head) {
    for (int64_t i = 0; i < a->lq; ++i) {
      int64_t count = a->causal ? TT_MIN(i + 1, a->lk) : a->lk, at = (batch * a->h + head) * a->lq + i;
      NAME(load)(a, a->q.dtype, (const char*)a->q.data + (size_t)(at * a->d) * tt_dtype_bytes(a->q.dtype), a->d, q);
      NAME(load)(a, a->grad.dtype, (const char*)a->grad.data + (size_t)(at * a->dv) * tt_dtype_bytes(a->grad.dtype), a->dv, grad);
      NAME(load)(a, a->out.dtype, (const char*)a->out.data + (size_t)(at * a->dv) * tt_dtype_bytes(a->out.dtype), a->dv, out);
      REAL lse = ((const REAL*)a->lse.data)[at], row = 0;
      for (int64_t x = 0; x < a->d; ++x) dq[x] = 0;
      if (lse != (REAL)-INFINITY) {
        NAME(score_row)(a, q, k, batch, head, i, count, p);
        for (int64_t j = 0; j < count; ++j) p[j] -= lse;
        EXP(p, p, (size_t)count);
        for (int64_t x = 0; x < a->dv; ++x) row += grad[x] * out[x];
        for (int64_t j = 0; j < count; ++j) {
          REAL dp = 0;
          for (int64_t x = 0; x < a->dv; ++x) dp += grad[x] * v[j * a->dv + x];
          for (int64_t x = 0; x < a->dv; ++x) dv[j * a->dv + x] += p[j] * grad[x];
          const REAL ds = p[j] * (dp - row) * (REAL)a->scale;
          for (int64_t x = 0; x < a->d; ++x) dq[x] += ds * k[j * a->d + x];
          for (int64_t x = 0; x < a->d; ++x) dk[j * a->d + x] += ds * q[x];
        }
      }
      NAME(store)(a->dq.dtype, dq, a->d, (char*)a->dq.data + (size_t)(at * a->d) * tt_dtype_bytes(a->dq.dtype));
    }
  }
  NAME(store)(a->dk.dtype, dk, a->lk * a->d, (void*)(uintptr_t)NAME(at)(&a->dk, batch, kv, a->hk, a->lk, a->d));
  NAME(store)(a->dv_out.dtype, dv, a->lk * a->dv, (void*)(uintptr_t)NAME(at)(&a->dv_out, batch, kv, a->hk, a->lk, a->dv));
}
