// Connectionist temporal classification: _ctc_loss and its gradient.
//
// A target of S labels becomes 2 S + 1 states, blanks around each label. log_alpha[n, t, s] is the
// log-probability of all ways to be in state s after the frames 0..t, log_beta of all ways to go on from frame t in
// state s, frame t's own factor in both. Lengths are known when the program is built: they are lists of integers in
// the schema.
#include <math.h>

#include "lower/expr.h"

typedef struct ctc_s {
  V log_probs;  // [T, N, C]
  V labels;  // [N, S'] the class of each state, blank where there is none
  V skips;  // i1 [N, S']: may follow the state two before
  V frames, states;  // i64 [N, S']: lengths of each sample, repeated
  int64_t time, batch, classes, count;  // T, N, C, S' = 2 max(target length) + 1
} ctc_t;

static V repeat_lengths(tt_lower_t* L, tt_i64s_t lengths, int64_t scale, int64_t shift, int64_t count) {
  int64_t n = (int64_t)lengths.size,
          *values = tt_arena_alloc_array(L->scratch, (size_t)TT_MAX(n, 1), sizeof *values);
  if (!values) return tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "out of host memory");
  for (int64_t i = 0; i < n; ++i) values[i] = scale * lengths.data[i] + shift;
  tt_dim_t dims[2] = {n, count};
  static const int64_t first = 0;
  return tt_b_broadcast_in_dim(L->b, tt_b_i64s(L->b, (size_t)n, values), 2, dims, &first);
}

static bool lengths_fine(tt_lower_t* L, tt_i64s_t lengths, const char* name, int64_t batch, int64_t most) {
  if ((int64_t)lengths.size != batch) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "%s must be of size batch_size", name);
    return false;
  }
  for (size_t i = 0; i < lengths.size; ++i) {
    if (lengths.data[i] >= 0 && lengths.data[i] <= most) continue;
    bool low = lengths.data[i] < 0;
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Expected %s to have value at %s %lld, but got value %lld (while checking arguments for "
                    "ctc_loss_allocate_outputs)",
                    name, low ? "least" : "most", (long long)(low ? 0 : most), (long long)lengths.data[i]);
    return false;
  }
  return true;
}

// Labels [N, S] of a matrix, or of the lines of one vector.
static V label_matrix(tt_lower_t* L, V targets, tt_i64s_t lengths, int64_t longest) {
  if (tt_lx_rank(targets) == 2) return tt_lx_slice_dim(L, targets, 1, 0, longest, 1);
  int64_t batch = (int64_t)lengths.size, at = 0;
  int64_t* places = tt_arena_alloc_array(L->scratch, (size_t)TT_MAX(batch * longest, 1), sizeof *places);
  if (!places) return tt_builder_fail(L->b, TT_RESOURCE_EXHAUSTED, "out of host memory");
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t s = 0; s < longest; ++s) places[n * longest + s] = s < lengths.data[n] ? at + s : 0;
    at += lengths.data[n];
  }
  tt_dim_t dims[2] = {batch, longest};
  V index = tt_b_constant(L->b, tt_b_type(L->b, TT_DTYPE_S64, 2, dims), places, false);
  return tt_lx_take_flat(L, targets, index);
}

static bool ctc_shapes(tt_lower_t* L, V log_probs, V targets, tt_i64s_t input_lengths,
                       tt_i64s_t target_lengths, int64_t blank, ctc_t* c) {
  static const char where[] = "(while checking arguments for ctc_loss_allocate_outputs)";
  int64_t sum = 0;
  if (tt_lx_numel(L, log_probs) == 0) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "log_probs tensor must not be empty");
    return false;
  }
  if (tt_lx_rank(log_probs) != 3) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Expected 3-dimensional tensor, but got %lld-dimensional tensor for argument #1 'log_probs' %s",
        (long long)tt_lx_rank(log_probs), where);
    return false;
  }
  if (tt_lx_rank(targets) < 1 || tt_lx_rank(targets) > 2) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Expected 1 to 2 dimensions, but got %lld-dimensional tensor for argument #2 'targets' %s",
        (long long)tt_lx_rank(targets), where);
    return false;
  }
  c->time = tt_lx_static_size(L, log_probs, 0);
  c->batch = tt_lx_static_size(L, log_probs, 1);
  c->classes = tt_lx_static_size(L, log_probs, 2);
  if (blank < 0 || blank >= c->classes) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "blank must be in label range");
    return false;
  }
  if (!lengths_fine(L, input_lengths, "input_lengths", c->batch, c->time) ||
      !lengths_fine(L, target_lengths, "target_lengths", c->batch, INT32_MAX))
    return false;
  int64_t longest = 0, dim = tt_lx_rank(targets) - 1, have = tt_lx_static_size(L, targets, dim);
  for (size_t i = 0; i < target_lengths.size; ++i) {
    longest = TT_MAX(longest, target_lengths.data[i]);
    sum += target_lengths.data[i];
  }
  int64_t want = dim ? longest : sum;
  if (dim && tt_lx_size(targets, 0) != c->batch) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Expected tensor to have size %lld at dimension 0, but got size %lld for argument #2 'targets' %s",
        (long long)c->batch, (long long)tt_lx_size(targets, 0), where);
    return false;
  }
  if (dim ? have < want : have != want) {
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "Expected tensor to have size %s%lld at dimension %lld, but got size %lld for argument #2 "
        "'targets' %s",
        dim ? "at least " : "", (long long)want, (long long)dim, (long long)have, where);
    return false;
  }
  c->count = 2 * longest + 1;
  return true;
}

static bool ctc_begin(tt_lower_t* L, uint32_t first, int64_t blank, ctc_t* c) {
  V log_probs = tt_l_tensor(L, first), targets = tt_l_tensor(L, first + 1);
  tt_i64s_t input_lengths = tt_l_ints(L, first + 2), target_lengths = tt_l_ints(L, first + 3);
  if (!log_probs || !targets) return false;
  tt_dtype_t dtype = tt_lx_dtype(log_probs);
  if (!ctc_shapes(L, log_probs, targets, input_lengths, target_lengths, blank, c)) return false;
  if (dtype != TT_DTYPE_F32 && dtype != TT_DTYPE_F64) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"ctc_loss_cpu\" not implemented for '%s'",
                    tt_lx_torch_name(dtype));
    return false;
  }
  if (!tt_lx_is_int(tt_lx_dtype(targets))) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "ctc_loss: targets must be integral, but are %s",
                    tt_lx_torch_name(tt_lx_dtype(targets)));
    return false;
  }
  c->log_probs = log_probs;
  c->frames = repeat_lengths(L, input_lengths, 1, 0, c->count);
  c->states = repeat_lengths(L, target_lengths, 2, 1, c->count);
  V blanks = tt_lx_splat_i64(L, c->frames, blank), state = tt_lx_iota(L, TT_DTYPE_S64, c->frames, 1);
  c->labels = blanks;
  c->skips = LT(c->frames, tt_lx_splat_i64(L, c->frames, 0));  // nowhere
  if (c->count > 1) {
    V labels = CAST(label_matrix(L, targets, target_lengths, c->count / 2), TT_DTYPE_S64);
    labels = tt_lx_pad_dim(L, labels, 1, 1, 1, 1);  // state s holds label s / 2 where s is odd
    V odd = EQ(AND(state, tt_lx_splat_i64(L, state, 1)), tt_lx_splat_i64(L, state, 1));
    V held = AND(odd, LT(state, c->states));
    c->labels = SEL(held, labels, blanks);
    tt_lx_check_range(L, c->labels, 0, c->classes, TT_OUT_OF_RANGE, "ctc_loss: target {0} is out of range");
    V before = tt_lx_pad_dim(L, c->labels, 1, 2, -2, 0);
    c->skips = AND(AND(NE(c->labels, before), held), GT(state, tt_lx_splat_i64(L, state, 1)));
  }
  return tt_builder_ok(L->b);
}

// [N, S'] factors of frame t (0-d).
static V emission(tt_lower_t* L, const ctc_t* c, V log_probs, V labels, V t) {
  V zero = tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0), starts[3] = {t, zero, zero};
  const int64_t sizes[3] = {1, c->batch, c->classes};
  return tt_lx_gather_along(L, tt_lx_squeeze(L, tt_b_dynamic_slice(L->b, log_probs, starts, sizes), 0), 1,
                            labels);
}
// log of the sum of exponentials of x, y and z.
static V log_sum(tt_lower_t* L, V x, V y, V z) {
  V top = MAX(MAX(x, y), z), safe = SEL(EQ(top, K(top, -INFINITY)), K(top, 0), top);
  return ADD(LOG(ADD(ADD(EXP(SUB(x, safe)), EXP(SUB(y, safe))), EXP(SUB(z, safe)))), safe);
}
// v with dimension 1 moved by `by` places, -inf moving in.
static V shifted(tt_lower_t* L, V v, int64_t by) {
  if (!v) return NULL;
  const int64_t low[2] = {0, by}, high[2] = {0, -by};
  return tt_b_pad(L->b, v, tt_b_scalar_f64(L->b, tt_lx_dtype(v), -INFINITY), low, high, NULL);
}

// log_alpha (or log_beta, the frames then from the last) of every frame: [N, T, S']. -inf outside a sample's own
// frames and states.
static V walk(tt_lower_t* L, const ctc_t* c, bool back) {
  tt_dtype_t dtype = tt_lx_dtype(c->log_probs);
  tt_dim_t all[3] = {c->batch, c->time, c->count}, line[2] = {c->batch, c->count};
  V none = tt_lx_full(L, dtype, 2, line, -INFINITY), i0 = tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0);
  V skips = c->skips;
  if (back && c->count > 1) {  // of the state two behind
    skips =
        NE(tt_lx_pad_dim(L, CAST(skips, TT_DTYPE_S32), 1, -2, 2, 0), tt_lx_full(L, TT_DTYPE_S32, 2, line, 0));
  }
  V operands[8] = {i0,           none,      tt_lx_full(L, dtype, 3, all, -INFINITY),
                   c->log_probs, c->labels, skips,
                   c->frames,    c->states};
  tt_op_t* op = tt_b_while(L->b, 8, operands);
  if (!op) return NULL;
  tt_block_t* saved = tt_b_region_begin(L->b, op, 0, 0, NULL);
  V more = LT(tt_b_region_arg(op, 0, 0), tt_b_scalar_i64(L->b, TT_DTYPE_S64, c->time));
  tt_b_region_end(L->b, saved, 1, &more);
  saved = tt_b_region_begin(L->b, op, 1, 0, NULL);
  V next[8];
  for (uint32_t k = 0; k < 8; ++k) next[k] = tt_b_region_arg(op, 1, k);
  V i = next[0], one = tt_b_scalar_i64(L->b, TT_DTYPE_S64, 1), labels = next[4], frames = next[6],
    states = next[7];
  V t = back ? SUB(tt_b_scalar_i64(L->b, TT_DTYPE_S64, c->time - 1), i) : i;
  V here = tt_lx_broadcast_like(L, t, frames), state = tt_lx_iota(L, TT_DTYPE_S64, frames, 1);
  V previous = next[1], low = K(previous, -INFINITY);
  V by_one = c->count > 1 ? shifted(L, previous, back ? -1 : 1) : low;
  V by_two = c->count > 1 ? SEL(next[5], shifted(L, previous, back ? -2 : 2), low) : low;
  V moved = log_sum(L, previous, by_one, by_two);
  // a walk starts in one of the first two states, one back in one of the last two of the last frame
  V first = back ? SUB(frames, tt_lx_splat_i64(L, frames, 1)) : tt_lx_splat_i64(L, frames, 0);
  V entry =
      back ? GE(state, SUB(states, tt_lx_splat_i64(L, states, 2))) : LT(state, tt_lx_splat_i64(L, state, 2));
  moved = SEL(EQ(here, first), SEL(entry, K(moved, 0), low), moved);
  V inside = AND(LT(here, frames), LT(state, states));
  V now = SEL(inside, ADD(moved, emission(L, c, next[3], labels, t)), low);
  V starts[3] = {tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0), t, tt_b_scalar_i64(L->b, TT_DTYPE_S64, 0)};
  next[0] = ADD(i, one);
  next[1] = now;
  next[2] = tt_b_dynamic_update_slice(L->b, next[2], tt_lx_unsqueeze(L, now, 1), starts);
  tt_b_region_end(L->b, saved, 8, next);
  return &op->results[2];
}

// (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) -> (neg_log_likelihood [N], log_alpha)
TT_LOWERING(ctc_loss) {
  ctc_t c;
  if (!ctc_begin(L, 0, tt_l_int(L, 4, 0), &c)) return;
  V log_alpha = walk(L, &c, false);
  // the sum over the last two states of each sample's last frame; without frames only an empty target is certain
  V state = tt_lx_iota(L, TT_DTYPE_S64, c.states, 1),
    last = GE(state, SUB(c.states, tt_lx_splat_i64(L, c.states, 2)));
  last = AND(last, LT(state, c.states));
  int64_t one = 1;
  V frame = SUB(c.frames, tt_lx_splat_i64(L, c.frames, 1));
  frame = tt_lx_unsqueeze(L, MAX(frame, tt_lx_splat_i64(L, frame, 0)), 1);
  V ends = tt_lx_squeeze(L, tt_lx_gather_along(L, log_alpha, 1, frame), 1);
  V certain = SEL(EQ(c.states, tt_lx_splat_i64(L, c.states, 1)), K(ends, 0), K(ends, -INFINITY));
  ends = SEL(EQ(c.frames, tt_lx_splat_i64(L, c.frames, 0)), certain, ends);
  ends = SEL(last, ends, K(ends, -INFINITY));
  V top = tt_b_reduce(L->b, TT_OP_MAXIMUM, ends, 1, &one, true);
  V safe = SEL(EQ(top, K(top, -INFINITY)), K(top, 0), top);
  V sum = tt_b_reduce(L->b, TT_OP_ADD, EXP(SUB(ends, tt_lx_broadcast_like(L, safe, ends))), 1, &one, true);
  tt_l_return(L, tt_lx_squeeze(L, NEG(ADD(LOG(sum), safe)), 1));
  tt_l_return(L, log_alpha);
}

// x [N, T, S'] combined by class into [N, T, C] from `start`.
static V by_class(tt_lower_t* L, const ctc_t* c, tt_op_kind_t kind, V start, V x, V index) {
  tt_dim_t lines[2] = {c->batch * c->time, c->classes}, updates[2] = {c->batch * c->time, c->count},
           places[3] = {c->batch * c->time, c->count, 1};
  static const int64_t zero = 0, one = 1;
  tt_scatter_dims_t dims = {.inserted_window_dims = {&one, 1},
                            .input_batching_dims = {&zero, 1},
                            .scatter_indices_batching_dims = {&zero, 1},
                            .scatter_dims_to_operand_dims = {&one, 1},
                            .index_vector_dim = 2};
  V result =
      tt_b_scatter(L->b, kind, tt_b_reshape(L->b, start, 2, lines), tt_b_reshape(L->b, index, 3, places),
                   tt_b_reshape(L->b, x, 2, updates), &dims, false, false);
  return result ? tt_b_reshape(L->b, result, start->type->rank, start->type->dims) : NULL;
}

// (grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity)
TT_LOWERING(ctc_loss_backward) {
  ctc_t c;
  V grad = tt_l_tensor(L, 0), loss = tt_l_tensor(L, 5), log_alpha = tt_l_tensor(L, 6);
  if (!grad || !loss || !log_alpha || !ctc_begin(L, 1, tt_l_int(L, 7, 0), &c)) return;
  V log_beta = walk(L, &c, true);
  static const int64_t to_batch[3] = {1, 0, 2}, along_batch = 0;
  V log_probs = tt_b_transpose(L->b, c.log_probs, to_batch);  // [N, T, C]
  V index = tt_b_broadcast_to(L->b, tt_lx_unsqueeze(L, c.labels, 1), 3, log_alpha->type->dims);
  // log_alpha holds nothing outside a sample's frames and states
  V inside = GT(log_beta, K(log_beta, -INFINITY)), low = K(log_beta, -INFINITY);
  V both = SEL(inside, ADD(log_alpha, log_beta), low);
  V top = by_class(L, &c, TT_OP_MAXIMUM, K(log_probs, -INFINITY), both, index);
  V safe = SEL(EQ(top, K(top, -INFINITY)), K(top, 0), top);
  V share = EXP(SUB(both, tt_lx_gather_along(L, safe, 2, index)));
  V sum = ADD(LOG(by_class(L, &c, TT_OP_ADD, K(log_probs, 0), share, index)), safe);
  V wide_loss = tt_b_broadcast_in_dim(L->b, loss, 3, log_probs->type->dims, &along_batch);
  V wide_grad =
      tt_b_broadcast_in_dim(L->b, CAST(grad, tt_lx_dtype(loss)), 3, log_probs->type->dims, &along_batch);
  V dx = MUL(SUB(EXP(log_probs), EXP(SUB(ADD(sum, wide_loss), log_probs))), wide_grad);
  tt_i64s_t lengths = tt_l_ints(L, 3);
  V frames = tt_b_broadcast_in_dim(L->b, tt_b_i64s(L->b, lengths.size, lengths.data), 3,
                                   log_probs->type->dims, &along_batch);
  dx = SEL(LT(tt_lx_iota(L, TT_DTYPE_S64, log_probs, 1), frames), dx, K(dx, 0));
  if (tt_l_bool(L, 8, false)) dx = SEL(EQ(wide_loss, K(wide_loss, INFINITY)), K(dx, 0), dx);
  tt_l_return(L, tt_b_transpose(L->b, dx, to_batch));
}
