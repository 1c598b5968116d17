// The row passes of attention_isa.h in the vector vocabulary of math_vector_<isa>.h; included by
// attention_<isa>.c with TABLE (the name of the table).
#include <math.h>
#include <string.h>

#include "kernels/attention_isa.h"

static const float kExp[] = {0x1.p-1f,      0x1.555556p-3f, 0x1.5554e8p-5f,
                             0x1.1110ep-7f, 0x1.6d43bp-10f, 0x1.a1256cp-13f};
// exp of x <= 0 (a little above is fine) or NaN; the same polynomial as the lane kernel's.
TT_VI vf row_exp(vf x) {
  vf clamped = f_max(f_set(-104), x);  // NaN passes: max gives its second operand
  vf n = f_rint(clamped * 0x1.715476p+0f);
  vf r = f_fnma(n, f_set(0x1.62ep-1f), clamped);
  vf t = f_fnma(n, f_set(0x1.0bfbe8p-15f), r);
  vf p = f_set(kExp[5]);
  _Pragma("GCC unroll 5") for (int i = 4; i >= 0; --i) p = f_fma(p, t, f_set(kExp[i]));
  return f_scale(f_fma(t * t, p, t) + 1.0f, n);
}
TT_VI vf lane_numbers(void) {
  float x[kF];
  for (int i = 0; i < kF; ++i) x[i] = (float)i;
  return f_load(x);
}
TT_VI mf first_lanes(int64_t n) { return f_lt(lane_numbers(), f_set((float)n)); }
TT_VI float sum_lanes(vf v) {
  float x[kF];
  f_store(x, v);
  for (int step = kF / 2; step; step /= 2) {
    for (int i = 0; i < step; ++i) x[i] += x[i + step];
  }
  return x[0];
}
TT_VI float max_lanes(vf v) {
  float x[kF];
  f_store(x, v);
  for (int step = kF / 2; step; step /= 2) {
    for (int i = 0; i < step; ++i) x[i] = x[i] > x[i + step] ? x[i] : x[i + step];
  }
  return x[0];
}
static float exp_one(float x) {
  float out[kF];
  f_store(out, row_exp(f_set(x)));
  return out[0];
}

TT_VI int64_t row_count(const tt_attention_rows_t* r, int64_t i) {
  int64_t count = r->count + i * r->step;
  return count < 0 ? 0 : count > r->n ? r->n : count;
}
static void zero_rest(const tt_attention_rows_t* r, float* row, int64_t count) {
  for (int64_t j = (count + kF - 1) / kF * kF; j < r->n; j += kF) f_store(row + j, f_set(0));
}
// Scores of a row with scale and bias; lanes past the count are -inf.
TT_VI vf row_scores(const float* s, const float* bias, vf scale, int64_t j, int64_t count) {
  vf x = f_load(s + j) * scale;
  if (bias) x = x + f_load(bias + j);
  if (j + kF > count) x = f_sel(first_lanes(count - j), x, f_set(-INFINITY));
  return x;
}

static void softmax(const tt_attention_rows_t* r, bool first, float* m, float* l, float* o, int64_t o_ld,
                    int64_t dv) {
  const vf scale = f_set(r->scale);
  for (int64_t i = 0; i < r->rows; ++i) {
    float* s = r->s + i * r->ld;
    const float* bias = r->bias ? r->bias + i * r->bias_ld : NULL;
    const int64_t count = row_count(r, i);
    vf best0 = f_set(-INFINITY), best1 = best0;
    int64_t j = 0;
    for (; j + 2 * kF <= count; j += 2 * kF) {
      vf x = row_scores(s, bias, scale, j, count), y = row_scores(s, bias, scale, j + kF, count);
      f_store(s + j, x);
      f_store(s + j + kF, y);
      best0 = f_max(x, best0);  // NaN is dropped here and comes back through the sum
      best1 = f_max(y, best1);
    }
    for (; j < count; j += kF) {
      vf x = row_scores(s, bias, scale, j, count);
      f_store(s + j, x);
      best0 = f_max(x, best0);
    }
    float before = first ? -INFINITY : m[i];
    float best = max_lanes(f_max(best0, best1));
    if (!(best > before)) best = before;
    const float base = best == -INFINITY ? 0.0f : best;
    vf sum0 = f_set(0), sum1 = sum0;
    const vf shift = f_set(base);
    for (j = 0; j + 2 * kF <= count; j += 2 * kF) {
      vf x = row_exp(f_load(s + j) - shift), y = row_exp(f_load(s + j + kF) - shift);
      f_store(s + j, x);
      f_store(s + j + kF, y);
      sum0 += x;
      sum1 += y;
    }
    for (; j < count; j += kF) {
      vf x = row_exp(f_load(s + j) - shift);
      f_store(s + j, x);
      sum0 += x;
    }
    zero_rest(r, s, count);
    const float sum = sum_lanes(sum0 + sum1);
    m[i] = best;
    if (first) {
      l[i] = sum;
      continue;
    }
    const float factor = exp_one(before - base);
    l[i] = l[i] * factor + sum;
    if (factor == 1.0f) continue;
    float* row = o + i * o_ld;
    for (j = 0; j + kF <= dv; j += kF) f_store(row + j, f_load(row + j) * f_set(factor));
    for (; j < dv; ++j) row[j] *= factor;
  }
}

static void gradient(const tt_attention_rows_t* r, float* dps, const float* lse, const float* delta) {
  const vf scale = f_set(r->scale);
  for (int64_t i = 0; i < r->rows; ++i) {
    float *s = r->s + i * r->ld, *dp = dps + i * r->ld;
    const float* bias = r->bias ? r->bias + i * r->bias_ld : NULL;
    const int64_t count = lse[i] == -INFINITY ? 0 : row_count(r, i);
    const vf shift = f_set(lse[i]), row = f_set(delta[i]);
    for (int64_t j = 0; j < count; j += kF) {
      vf p = row_exp(row_scores(s, bias, scale, j, count) - shift);
      vf ds = p * (f_load(dp + j) - row) * scale;
      if (j + kF > count) ds = f_sel(first_lanes(count - j), ds, f_set(0));
      f_store(s + j, p);
      f_store(dp + j, ds);
    }
    zero_rest(r, s, count);
    zero_rest(r, dp, count);
  }
}

static void scale_row(float* out, const float* x, float y, int64_t n) {
  int64_t j = 0;
  for (; j + kF <= n; j += kF) f_store(out + j, f_load(x + j) * f_set(y));
  for (; j < n; ++j) out[j] = x[j] * y;
}
static void add_row(float* out, const float* x, float y, int64_t n) {
  int64_t j = 0;
  for (; j + kF <= n; j += kF) f_store(out + j, f_fma(f_load(x + j), f_set(y), f_load(out + j)));
  for (; j < n; ++j) out[j] = __builtin_fmaf(x[j], y, out[j]);
}
static float dot(const float* x, const float* y, int64_t n) {
  vf sum = f_set(0);
  int64_t j = 0;
  for (; j + kF <= n; j += kF) sum = f_fma(f_load(x + j), f_load(y + j), sum);
  float total = sum_lanes(sum);
  for (; j < n; ++j) total = __builtin_fmaf(x[j], y[j], total);
  return total;
}

const tt_attention_isa_t TABLE = {softmax, gradient, scale_row, add_row, dot, exp_one};
