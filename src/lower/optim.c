// Fused optimizer steps and the gradient scaler. The lists are mutated: every new value is a write.
#include <math.h>
#include <string.h>

#include "lower/expr.h"

typedef struct lists_s {
  V *params, *grads, *first, *second, *largest, *steps;
  size_t count;
} lists_t;

static V* list_of(tt_lower_t* L, uint32_t arg, size_t want, const char* name) {
  size_t count;
  V* values = tt_l_tensors(L, arg, &count);
  if (want && count != want) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s holds %zu tensors, expected %zu", name, count, want);
    return NULL;
  }
  return values;
}

// Bias corrections are 0-d: f64 where the device has it.
static tt_dtype_t exact_dtype(const tt_lower_t* L) {
  return L->target->is_vtpu || L->target->dtype_support[TT_DTYPE_F64] == TT_SUPPORT_NATIVE ? TT_DTYPE_F64
                                                                                           : TT_DTYPE_F32;
}

// A skipped step (the scaler found an infinity) keeps every old value.
static V skip_flag(tt_lower_t* L, uint32_t arg) {
  V found = tt_l_tensor_or_null(L, arg);
  if (!found) return NULL;
  if (found->type->rank) found = tt_b_reshape(L->b, found, 0, NULL);
  return CAST(found, TT_DTYPE_PRED);
}
static V keep_if(tt_lower_t* L, V skip, V old, V fresh) {
  fresh = CAST(fresh, tt_lx_dtype(old));
  return skip ? SEL(skip, old, fresh) : fresh;
}

static V scalar_like(tt_lower_t* L, V scalar, V like) {   // 0-d of any float dtype over like's type
  return like && scalar ? tt_lx_broadcast_like(L, CAST(scalar, tt_lx_dtype(like)), like) : NULL;
}

static V unscaled(tt_lower_t* L, uint32_t arg, V grad) {
  V scale = tt_l_tensor_or_null(L, arg);
  if (!scale) return grad;
  if (scale->type->rank) scale = tt_b_reshape(L->b, scale, 0, NULL);
  return DIV(grad, scalar_like(L, scale, grad));
}

static void adam(tt_lower_t* L, bool decoupled) {
  size_t count;
  lists_t s = {.params = tt_l_tensors(L, 0, &count)};
  bool amsgrad = tt_l_bool(L, 11, false), maximize = tt_l_bool(L, 12, false);
  s.grads = list_of(L, 1, count, "grads");
  s.first = list_of(L, 2, count, "exp_avgs");
  s.second = list_of(L, 3, count, "exp_avg_sqs");
  s.largest = amsgrad ? list_of(L, 4, count, "max_exp_avg_sqs") : NULL;
  s.steps = list_of(L, 5, count, "state_steps");
  if (!tt_builder_ok(L->b)) return;
  double beta1 = tt_l_float(L, 7, 0.9), beta2 = tt_l_float(L, 8, 0.999), decay = tt_l_float(L, 9, 0),
         eps = tt_l_float(L, 10, 1e-8);
  tt_dtype_t exact = exact_dtype(L);
  V rate_tensor = tt_l_tensor_or_null(L, 6);
  V rate = rate_tensor && rate_tensor->type->rank
               ? tt_b_convert(L->b, tt_b_reshape(L->b, rate_tensor, 0, NULL), exact)
               : tt_l_scalar(L, 6, exact);
  V skip = skip_flag(L, 14);
  for (size_t i = 0; i < count && tt_builder_ok(L->b); ++i) {
    V old = s.params[i], param = UP(old), grad = CAST(s.grads[i], tt_lx_dtype(param));
    grad = unscaled(L, 13, grad);
    V written_grad = grad;
    if (maximize) grad = NEG(grad);
    V learning = scalar_like(L, rate, param);
    if (decay != 0) {
      if (decoupled) param = SUB(param, MUL(MUL(learning, K(param, decay)), param));
      else grad = ADD(grad, MUL(param, K(param, decay)));
    }
    V m = CAST(s.first[i], tt_lx_dtype(param)), v = CAST(s.second[i], tt_lx_dtype(param));
    m = ADD(m, MUL(K(m, 1 - beta1), SUB(grad, m)));
    v = ADD(MUL(v, K(v, beta2)), MUL(K(v, 1 - beta2), MUL(grad, grad)));
    V step = tt_b_convert(L->b, s.steps[i], exact);
    if (step && step->type->rank) step = tt_b_reshape(L->b, step, 0, NULL);
    V one = K(step, 1), correction1 = SUB(one, POW(K(step, beta1), step)),
      correction2 = SUB(one, POW(K(step, beta2), step));
    V step_size = scalar_like(L, DIV(rate, correction1), param),
      root = scalar_like(L, SQRT(correction2), param);
    V spread = v;
    if (amsgrad) {
      V top = MAX(CAST(s.largest[i], tt_lx_dtype(v)), v);
      tt_l_write(L, 4, (uint32_t)i, keep_if(L, skip, s.largest[i], top));
      spread = top;
    }
    V denominator = ADD(DIV(SQRT(spread), root), K(param, eps));
    param = SUB(param, DIV(MUL(step_size, m), denominator));
    tt_l_write(L, 0, (uint32_t)i, keep_if(L, skip, old, param));
    if (!tt_l_is_none(L, 13)) tt_l_write(L, 1, (uint32_t)i, keep_if(L, skip, s.grads[i], written_grad));
    tt_l_write(L, 2, (uint32_t)i, keep_if(L, skip, s.first[i], m));
    tt_l_write(L, 3, (uint32_t)i, keep_if(L, skip, s.second[i], v));
  }
}
TT_LOWERING(fused_adam) { adam(L, false); }
TT_LOWERING(fused_adamw) { adam(L, true); }

TT_LOWERING(fused_sgd) {
  size_t count;
  V* params = tt_l_tensors(L, 0, &count);
  V* grads = list_of(L, 1, count, "grads");
  double decay = tt_l_float(L, 3, 0), momentum = tt_l_float(L, 4, 0), dampening = tt_l_float(L, 6, 0);
  bool nesterov = tt_l_bool(L, 7, false), maximize = tt_l_bool(L, 8, false),
       first_step = tt_l_bool(L, 9, false);
  V* buffers = momentum != 0 ? list_of(L, 2, count, "momentum_buffer_list") : NULL;
  if (!tt_builder_ok(L->b)) return;
  V rate_tensor = tt_l_tensor_or_null(L, 5);
  V rate = rate_tensor && rate_tensor->type->rank ? tt_b_reshape(L->b, rate_tensor, 0, NULL)
           : rate_tensor                          ? rate_tensor
                                                  : tt_l_scalar(L, 5, exact_dtype(L));
  V skip = skip_flag(L, 11);
  for (size_t i = 0; i < count && tt_builder_ok(L->b); ++i) {
    V old = params[i], param = UP(old), grad = CAST(grads[i], tt_lx_dtype(param));
    grad = unscaled(L, 10, grad);
    V written_grad = grad;
    if (maximize) grad = NEG(grad);
    if (decay != 0) grad = ADD(grad, MUL(param, K(param, decay)));
    if (buffers) {
      V buffer = CAST(buffers[i], tt_lx_dtype(param));
      buffer = first_step ? grad : ADD(MUL(buffer, K(buffer, momentum)), MUL(K(grad, 1 - dampening), grad));
      tt_l_write(L, 2, (uint32_t)i, keep_if(L, skip, buffers[i], buffer));
      grad = nesterov ? ADD(grad, MUL(buffer, K(buffer, momentum))) : buffer;
    }
    param = SUB(param, MUL(scalar_like(L, rate, param), grad));
    tt_l_write(L, 0, (uint32_t)i, keep_if(L, skip, old, param));
    if (!tt_l_is_none(L, 10)) tt_l_write(L, 1, (uint32_t)i, keep_if(L, skip, grads[i], written_grad));
  }
}

TT_LOWERING(fused_adagrad) {
  size_t count;
  V* params = tt_l_tensors(L, 0, &count);
  V *grads = list_of(L, 1, count, "grads"), *sums = list_of(L, 2, count, "state_sums"),
    *steps = list_of(L, 3, count, "state_steps");
  if (!tt_builder_ok(L->b)) return;
  double rate_decay = tt_l_float(L, 5, 0), decay = tt_l_float(L, 6, 0), eps = tt_l_float(L, 7, 1e-10);
  bool maximize = tt_l_bool(L, 8, false);
  tt_dtype_t exact = exact_dtype(L);
  V rate_tensor = tt_l_tensor_or_null(L, 4);
  V rate = rate_tensor && rate_tensor->type->rank
               ? tt_b_convert(L->b, tt_b_reshape(L->b, rate_tensor, 0, NULL), exact)
               : tt_l_scalar(L, 4, exact);
  V skip = skip_flag(L, 10);
  for (size_t i = 0; i < count && tt_builder_ok(L->b); ++i) {
    V old = params[i], param = UP(old), grad = CAST(grads[i], tt_lx_dtype(param)),
      sum = CAST(sums[i], tt_lx_dtype(param));
    grad = unscaled(L, 9, grad);
    if (!tt_l_is_none(L, 9)) tt_l_write(L, 1, (uint32_t)i, keep_if(L, skip, grads[i], grad));
    if (maximize) grad = NEG(grad);
    if (decay != 0) grad = ADD(grad, MUL(param, K(param, decay)));
    sum = ADD(sum, MUL(grad, grad));
    V step = tt_b_convert(L->b, steps[i], exact);
    if (step && step->type->rank) step = tt_b_reshape(L->b, step, 0, NULL);
    V slowed = DIV(rate, ADD(K(step, 1), MUL(SUB(step, K(step, 1)), K(step, rate_decay))));
    param = SUB(param, MUL(scalar_like(L, slowed, param), DIV(grad, ADD(SQRT(sum), K(sum, eps)))));
    tt_l_write(L, 0, (uint32_t)i, keep_if(L, skip, old, param));
    tt_l_write(L, 2, (uint32_t)i, keep_if(L, skip, sums[i], sum));
  }
}

// ---- the gradient scaler -----------------------------------------------------------------------
TT_LOWERING(amp_unscale) {
  size_t count;
  V* grads = tt_l_tensors(L, 0, &count);
  V found = tt_l_tensor(L, 1), inverse = tt_l_tensor(L, 2);
  if (!found || !inverse || !grads) return;
  V scale = inverse->type->rank ? tt_b_reshape(L->b, inverse, 0, NULL) : inverse, bad = NULL;
  for (size_t i = 0; i < count && tt_builder_ok(L->b); ++i) {
    V wide = UP(grads[i]);
    V any = tt_lx_reduce_all(L, TT_OP_OR, NOT(TT_B1(IS_FINITE, wide)));
    bad = bad ? OR(bad, any) : any;
    tt_l_write(L, 0, (uint32_t)i, CAST(MUL(wide, scalar_like(L, scale, wide)), tt_lx_dtype(grads[i])));
  }
  if (bad) tt_l_write(L, 1, 0, SEL(tt_lx_broadcast_like(L, bad, found), K(found, 1), found));
}

TT_LOWERING(amp_update_scale) {
  V scale = tt_l_tensor(L, 0), tracker = tt_l_tensor(L, 1), found = tt_l_tensor(L, 2);
  if (!scale || !tracker || !found) return;
  int64_t interval = tt_l_int(L, 5, 2000);
  V bad = NE(found, K(found, 0));
  if (bad && bad->type->rank != scale->type->rank)
    bad = tt_b_reshape(L->b, bad, scale->type->rank, scale->type->dims);
  V next = ADD(tracker, tt_lx_splat_i64(L, tracker, 1)), due = EQ(next, tt_lx_splat_i64(L, next, interval));
  V grown = MUL(scale, tt_l_scalar_splat(L, 3, scale));
  V due_scale = tt_b_reshape(L->b, due, scale->type->rank, scale->type->dims);
  grown = SEL(AND(due_scale, TT_B1(IS_FINITE, grown)), grown, scale);
  V bad_tracker = tt_b_reshape(L->b, bad, tracker->type->rank, tracker->type->dims);
  V zero = tt_lx_splat_i64(L, tracker, 0);
  tt_l_return(L, SEL(bad, MUL(scale, tt_l_scalar_splat(L, 4, scale)), grown));
  tt_l_write(L, 1, 0, SEL(OR(bad_tracker, due), zero, next));
}
