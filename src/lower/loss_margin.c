// multi_margin_loss and multilabel_margin_loss, with their gradients. Inputs are [C] or [N, C]; reduction: 0 none, 1
// mean, 2 sum. Both sum over pairs of classes and divide by their number.
#include <stdio.h>

#include "lower/expr.h"

typedef struct margin_s {
  V x;  // [N, C], widened
  int64_t samples, classes;
  bool single;  // the input had no batch
  int64_t target_rank;
  tt_dtype_t dtype;
} margin_t;

static bool margin_begin(tt_lower_t* L, V x, V target, const char* name, margin_t* m) {
  if (!x || !target) return false;
  int64_t rank = tt_lx_rank(x);
  m->dtype = tt_lx_dtype(x);
  m->single = rank < 2;
  m->samples = rank == 2 ? tt_lx_static_size(L, x, 0) : 1;
  m->classes = rank ? tt_lx_static_size(L, x, rank - 1) : 1;
  m->target_rank = tt_lx_rank(target);
  char text[256];
  if (rank > 2 || m->classes == 0) {
    tt_lx_sizes_text(x, "", text, sizeof text);
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT,
                    "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s", text);
    return false;
  }
  if (m->dtype != TT_DTYPE_F32 && m->dtype != TT_DTYPE_F64) {
    tt_builder_fail(L->b, TT_UNIMPLEMENTED, "\"%s\" not implemented for '%s'", name,
                    tt_lx_torch_name(m->dtype));
    return false;
  }
  if (tt_lx_dtype(target) != TT_DTYPE_S64) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "expected scalar type Long but found %s",
                    tt_lx_torch_name(tt_lx_dtype(target)));
    return false;
  }
  tt_dim_t matrix[2] = {m->samples, m->classes};
  m->x = tt_b_reshape(L->b, x, 2, matrix);
  return tt_builder_ok(L->b);
}

// Losses [N] as the op gives them; without a reduction `rank` is the result's.
static V margin_reduced(tt_lower_t* L, const margin_t* m, V loss, int64_t reduction, int64_t rank) {
  if (!loss) return NULL;
  if (reduction == 0) return rank == 0 ? tt_b_reshape(L->b, loss, 0, NULL) : loss;
  V sum = tt_lx_reduce_all(L, TT_OP_ADD, loss);
  return reduction == 1 && m->samples > 1 ? DIV(sum, K(sum, (double)m->samples)) : sum;
}
// The factor of every pair of each sample: [N].
static V margin_share(tt_lower_t* L, const margin_t* m, V grad, int64_t reduction) {
  if (!grad) return NULL;
  tt_dim_t n = m->samples;
  V g = tt_lx_rank(grad) == 1 && tt_lx_size(grad, 0) == n ? grad : tt_lx_flatten(L, grad);
  g = tt_b_broadcast_to(L->b, CAST(g, tt_lx_dtype(m->x)), 1, &n);
  return DIV(g, K(g, (double)m->classes * (reduction == 1 ? (double)TT_MAX(m->samples, 1) : 1)));
}

// ---- one target --------------------------------------------------------------------------------

typedef struct multi_s {
  margin_t m;
  V other;  // i1 [N, C]: not the target
  V room;  // margin - x[target] + x
  V weight;  // of the target, [N]; NULL: 1
  double p;
} multi_t;

// first: the number of `self`; target, p, margin, weight follow.
static bool multi_begin(tt_lower_t* L, uint32_t first, multi_t* s) {
  V x = tt_l_tensor(L, first), target = tt_l_tensor(L, first + 1), weight = tt_l_tensor_or_null(L, first + 4);
  s->p = tt_l_float(L, first + 2, 1);
  double margin = tt_l_float(L, first + 3, 1);
  if (s->p != 1 && s->p != 2) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "multi_margin_loss: Invalid p, expected 1 or 2 but got %g",
                    s->p);
    return false;
  }
  if (!margin_begin(L, x, target, "multi_margin_loss_cpu_kernel", &s->m)) return false;
  if (s->m.target_rank > 1 || tt_lx_numel(L, target) != s->m.samples) {
    char have[256], of[256];
    tt_lx_sizes_text(target, "", have, sizeof have);
    tt_lx_sizes_text(x, "", of, sizeof of);
    tt_builder_fail(
        L->b, TT_INVALID_ARGUMENT,
        "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples "
        "(batch size). Expected target size [%lld], but got %s. Input has shape %s.",
        (long long)s->m.samples, have, of);
    return false;
  }
  if (weight && (tt_lx_rank(weight) > 1 || tt_lx_numel(L, weight) != s->m.classes)) {
    char have[256];
    tt_lx_sizes_text(weight, "", have, sizeof have);
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "inconsistent weight size, expected %lld but got %s",
                    (long long)s->m.classes, have);
    return false;
  }
  if (weight && tt_lx_dtype(weight) != s->m.dtype) {
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "expected scalar type %s but found %s",
                    tt_lx_torch_name(s->m.dtype), tt_lx_torch_name(tt_lx_dtype(weight)));
    return false;
  }
  target = tt_lx_flatten(L, target);
  tt_lx_check_range(L, target, 0, s->m.classes, TT_INVALID_ARGUMENT, "target out of range");
  V column = tt_lx_unsqueeze(L, target, 1);
  s->other = NE(tt_lx_iota(L, TT_DTYPE_S64, s->m.x, 1), tt_lx_broadcast_like(L, column, s->m.x));
  V own = tt_lx_broadcast_like(L, tt_lx_gather_along(L, s->m.x, 1, column), s->m.x);
  s->room = ADD(SUB(K(own, margin), own), s->m.x);
  s->weight = weight ? tt_lx_take_rows(L, tt_lx_flatten(L, weight), target) : NULL;
  return tt_builder_ok(L->b);
}

// (self, target, p, margin, weight?, reduction)
TT_LOWERING(multi_margin_loss) {
  multi_t s;
  if (!multi_begin(L, 0, &s)) return;
  int64_t one = 1, reduction = tt_l_int(L, 5, 1);
  V loss = s.p == 1 ? s.room : MUL(s.room, s.room);
  loss = SEL(AND(s.other, GT(s.room, K(s.room, 0))), loss, K(loss, 0));
  V sum = tt_b_reduce(L->b, TT_OP_ADD, loss, 1, &one, false);
  sum = DIV(sum, K(sum, (double)s.m.classes));
  if (s.weight) sum = MUL(sum, s.weight);
  tt_l_return(L, margin_reduced(L, &s.m, sum, reduction, s.m.target_rank));
}
// (grad_output, self, target, p, margin, weight?, reduction)
TT_LOWERING(multi_margin_loss_backward) {
  multi_t s;
  if (!multi_begin(L, 1, &s)) return;
  V x = tt_l_tensor(L, 1), share = margin_share(L, &s.m, tt_l_tensor(L, 0), tt_l_int(L, 6, 1));
  if (s.weight) share = MUL(share, s.weight);
  V slope = s.p == 1 ? K(s.room, 1) : MUL(s.room, K(s.room, 2));
  slope = MUL(slope, tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, share, 1), slope));
  slope = SEL(AND(s.other, GT(s.room, K(s.room, 0))), slope, K(slope, 0));
  int64_t one = 1;
  V own = NEG(tt_b_reduce(L->b, TT_OP_ADD, slope, 1, &one, true));
  V dx = SEL(s.other, slope, tt_lx_broadcast_like(L, own, slope));
  tt_l_return(L, dx ? tt_b_reshape(L->b, dx, x->type->rank, x->type->dims) : NULL);
}

// ---- several targets ---------------------------------------------------------------------------

// Targets of a row end at its first negative one.
typedef struct multilabel_s {
  margin_t m;
  V target;  // [N, C], 0 where the row has ended
  V valid;  // i1 [N, C]
} multilabel_t;

static bool multilabel_begin(tt_lower_t* L, V x, V target, const char* name, multilabel_t* s) {
  if (!margin_begin(L, x, target, name, &s->m)) return false;
  if (tt_lx_numel(L, target) != tt_lx_numel(L, x) || (tt_lx_rank(x) == 2 && tt_lx_rank(target) != 2) ||
      (tt_lx_rank(x) == 2 && tt_lx_size(target, 0) != s->m.samples)) {
    char have[256], of[256];
    tt_lx_sizes_text(target, "", have, sizeof have);
    tt_lx_sizes_text(x, "", of, sizeof of);
    tt_builder_fail(L->b, TT_INVALID_ARGUMENT, "inconsistent target size: %s for input of size: %s", have,
                    of);
    return false;
  }
  tt_lx_check_range(L, target, -1, s->m.classes, TT_INVALID_ARGUMENT, "argument #2 'target' is out of range");
  V t = tt_b_reshape(L->b, target, 2, s->m.x->type->dims);
  V here = CAST(GE(t, tt_lx_splat_i64(L, t, 0)), TT_DTYPE_S32);
  s->valid = NE(tt_lx_cumulative(L, here, 1, "min", false), tt_lx_splat_i64(L, here, 0));
  s->target = SEL(s->valid, t, tt_lx_splat_i64(L, t, 0));
  return tt_builder_ok(L->b);
}
// [N, C] as [N, C, 1] or [N, 1, C] of [N, C, C] (target, class).
static V spread(tt_lower_t* L, V v, int64_t dim) {
  if (!v) return NULL;
  tt_dim_t cube[3] = {tt_lx_size(v, 0), tt_lx_size(v, 1), tt_lx_size(v, 1)};
  return tt_b_broadcast_to(L->b, tt_lx_unsqueeze(L, v, dim), 3, cube);
}
static V is_target_of(tt_lower_t* L, const multilabel_t* s) {  // i1 [N, C]
  V wide = spread(L, s->target, 2), hit = EQ(wide, tt_lx_iota(L, TT_DTYPE_S64, wide, 2));
  int64_t one = 1;
  return tt_b_reduce(L->b, TT_OP_OR, AND(hit, spread(L, s->valid, 2)), 1, &one, false);
}
// 1 - x[target] + x[class] [N, C, C] and where it counts.
static V multilabel_room(tt_lower_t* L, const multilabel_t* s, V is_target, V* counts) {
  V own = spread(L, tt_lx_gather_along(L, s->m.x, 1, s->target), 2);
  V room = ADD(SUB(K(own, 1), own), spread(L, s->m.x, 1));
  *counts = AND(AND(spread(L, s->valid, 2), NOT(spread(L, is_target, 1))), GT(room, K(room, 0)));
  return room;
}

// (self, target, reduction) -> (output, is_target)
TT_LOWERING(multilabel_margin_loss_forward) {
  V x = tt_l_tensor(L, 0), target = tt_l_tensor(L, 1), counts;
  multilabel_t s;
  if (!multilabel_begin(L, x, target, "multilabel_margin_loss_forward_out_frame", &s)) return;
  V is_target = is_target_of(L, &s), room = multilabel_room(L, &s, is_target, &counts);
  static const int64_t pairs[2] = {1, 2};
  V sum = tt_b_reduce(L->b, TT_OP_ADD, SEL(counts, room, K(room, 0)), 2, pairs, false);
  sum = DIV(sum, K(sum, (double)s.m.classes));
  tt_l_return(L, margin_reduced(L, &s.m, sum, tt_l_int(L, 2, 1), s.m.single ? 0 : 1));
  tt_l_return(L, tt_b_reshape(L->b, CAST(is_target, s.m.dtype), target->type->rank, target->type->dims));
}
// (grad_output, self, target, reduction, is_target)
TT_LOWERING(multilabel_margin_loss_backward) {
  V grad = tt_l_tensor(L, 0), x = tt_l_tensor(L, 1), given = tt_l_tensor(L, 4), counts;
  multilabel_t s;
  if (!given || !multilabel_begin(L, x, tt_l_tensor(L, 2), "multilabel_margin_loss_backward_out_frame", &s))
    return;
  V is_target = tt_b_reshape(L->b, CAST(given, TT_DTYPE_PRED), 2, s.m.x->type->dims);
  V room = multilabel_room(L, &s, is_target, &counts);
  V pairs = CAST(counts, tt_lx_dtype(room)), wide = spread(L, s.target, 2);
  int64_t one = 1, two = 2;
  V others = tt_b_reduce(L->b, TT_OP_ADD, pairs, 1, &one, false);  // [N, class]
  V owns = spread(L, tt_b_reduce(L->b, TT_OP_ADD, pairs, 1, &two, false), 2);  // of each target
  V own = SEL(EQ(wide, tt_lx_iota(L, TT_DTYPE_S64, wide, 2)), owns, K(owns, 0));
  V slope = SUB(others, tt_b_reduce(L->b, TT_OP_ADD, own, 1, &one, false));
  V share = margin_share(L, &s.m, grad, tt_l_int(L, 3, 1));
  V dx = MUL(slope, tt_lx_broadcast_like(L, tt_lx_unsqueeze(L, share, 1), slope));
  tt_l_return(L, dx ? tt_b_reshape(L->b, dx, x->type->rank, x->type->dims) : NULL);
}
