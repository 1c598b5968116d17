#include "exec/rendezvous.h"

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

typedef struct member_s {
  void* const* bases;
  const tt_plan_t* plan;
  const pd_collective_step_t* step;
} member_t;

struct tt_meeting_s {
  struct tt_meeting_s* next;
  uint32_t number, round;
  int64_t group;
  uint32_t size, arrived, pending;     // pending: members that have not learnt of the end
  bool done;
  member_t members[];
};

struct tt_rendezvous_s {
  tt_mutex_t lock;
  int32_t replicas, partitions;
  tt_meeting_t* meetings;
  tt_status_t error;                   // the first; owned
  int32_t references;
};

tt_status_t tt_rendezvous_create(int32_t num_replicas, int32_t num_partitions, struct tt_rendezvous_s** out) {
  *out = NULL;
  if (num_replicas < 1 || num_partitions < 1) {
    return tt_status_create(TT_INVALID_ARGUMENT, "rendezvous of %d replicas and %d partitions", num_replicas, num_partitions);
  }
  TT_RETURN_IF_ERROR(tt_alloc(sizeof **out, (void**)out));
  tt_mutex_initialize(&(*out)->lock, TT_RANK_EXECUTOR);
  (*out)->replicas = num_replicas;
  (*out)->partitions = num_partitions;
  return TT_OK_STATUS;
}

void tt_rendezvous_release(struct tt_rendezvous_s* r) {
  if (!r) return;
  while (r->meetings) {
    tt_meeting_t* next = r->meetings->next;
    tt_free(r->meetings);
    r->meetings = next;
  }
  tt_status_free(r->error);
  tt_mutex_deinitialize(&r->lock);
  tt_free(r);
}

void tt_rendezvous_fail(struct tt_rendezvous_s* r, const char* why) {
  if (!r) return;
  tt_status_t status = tt_status_create(TT_ABORTED, "collective: another device of the run failed: %s", why);
  tt_mutex_lock(&r->lock);
  if (!r->error) { r->error = status; status = TT_OK_STATUS; }
  tt_mutex_unlock(&r->lock);
  tt_status_free(status);
}

// ---- groups ------------------------------------------------------------------------------------
typedef struct place_s { int64_t group; uint32_t size, position; bool found; } place_t;

static place_t find_place(const struct tt_rendezvous_s* r, const tt_plan_t* plan, const pd_collective_step_t* s, int32_t replica, int32_t partition) {
  place_t place = {0, 0, 0, false};
  bool by_partition = s->by == PD_BY_PARTITION;
  if (s->kind == PD_C_PERMUTE) {       // everyone along the axis takes part
    place.group = by_partition ? replica : partition;
    place.size = (uint32_t)(by_partition ? r->partitions : r->replicas);
    place.position = (uint32_t)(by_partition ? partition : replica);
    place.found = true;
    return place;
  }
  const int64_t* groups = PD_AT(plan->bytes, s->groups_at, int64_t);
  int64_t id = s->by == PD_BY_GLOBAL ? (int64_t)replica * r->partitions + partition : by_partition ? partition : replica;
  for (uint32_t g = 0; g < s->group_count && !place.found; ++g) {
    const int64_t* row = groups + (size_t)g * s->group_size;
    uint32_t size = 0;
    for (uint32_t i = 0; i < s->group_size; ++i) {
      if (row[i] < 0) continue;        // padding of uneven groups
      if (row[i] == id) { place.position = size; place.found = true; }
      ++size;
    }
    if (!place.found) continue;
    place.size = size;
    switch (s->by) {
      case PD_BY_REPLICA: place.group = (int64_t)g * r->partitions + partition; break;
      case PD_BY_PARTITION: place.group = (int64_t)g * r->replicas + replica; break;
      case PD_BY_BOTH:                 // partitions outer, the group's replicas inner
        place.group = g;
        place.position += (uint32_t)partition * size;
        place.size *= (uint32_t)r->partitions;
        break;
      default: place.group = g; break;
    }
  }
  return place;
}

// ---- the data ----------------------------------------------------------------------------------
static const pd_tensor_t* tensor_of(const member_t* m, uint32_t i) { return PD_AT(m->plan->bytes, m->step->tensors_at, pd_tensor_t) + i; }
static char* data_of(const member_t* m, uint32_t i) {
  const pd_tensor_t* t = tensor_of(m, i);
  return (char*)m->bases[t->buffer] + t->offset;
}
static const int64_t* dims_of(const member_t* m, uint32_t i) { return PD_AT(m->plan->bytes, tensor_of(m, i)->dims_at, int64_t); }
static int64_t product(const int64_t* dims, uint32_t begin, uint32_t end) {
  int64_t n = 1;
  for (uint32_t d = begin; d < end; ++d) n *= dims[d];
  return n;
}

typedef struct meet_s {
  const tt_meeting_t* meeting;
  const pd_collective_step_t* step;
  tt_pool_t* pool;
  uint32_t tensor;
  size_t esize;
  int64_t elems, chunk;
  // reduce_scatter
  int64_t outer, inner;
} meet_t;

enum { CHUNK = 8192 };

// acc[0..n) = acc op x
static void combine(const meet_t* m, char* acc, const char* x, int64_t n) {
  const member_t* self = &m->meeting->members[0];
  if (m->step->combine != PD_NONE) {
    ((tt_k_binary_fn_t)self->plan->lanes[m->step->combine])(acc, acc, x, (size_t)n);
    return;
  }
  const pd_region_t* region = tt_plan_region(self->plan, m->step->region);
  tt_region_run_t run = {self->plan, self->bases, region};
  void* scratch = __builtin_alloca(tt_region_scratch_bytes(region));
  char out[PD_REGION_LANES * 16] TT_ALIGNED(64);
  for (int64_t at = 0; at < n; at += PD_REGION_LANES) {
    size_t lanes = (size_t)TT_MIN(n - at, (int64_t)PD_REGION_LANES);
    void* args[2] = {acc + (size_t)at * m->esize, (char*)(uintptr_t)x + (size_t)at * m->esize};
    void* results[1] = {out};
    tt_region_run(&run, scratch, args, results, lanes);
    memcpy(args[0], out, lanes * m->esize);
  }
}

static void all_reduce_task(void* self, size_t index) {
  const meet_t* m = self;
  const tt_meeting_t* meeting = m->meeting;
  int64_t at = (int64_t)index * m->chunk, n = TT_MIN(m->chunk, m->elems - at);
  size_t skip = (size_t)at * m->esize, bytes = (size_t)n * m->esize;
  uint32_t count = m->step->count;
  char* first = data_of(&meeting->members[0], count + m->tensor) + skip;
  memcpy(first, data_of(&meeting->members[0], m->tensor) + skip, bytes);
  for (uint32_t k = 1; k < meeting->size; ++k) combine(m, first, data_of(&meeting->members[k], m->tensor) + skip, n);
  for (uint32_t k = 1; k < meeting->size; ++k) memcpy(data_of(&meeting->members[k], count + m->tensor) + skip, first, bytes);
}

static void reduce_scatter_task(void* self, size_t index) {
  const meet_t* m = self;
  const tt_meeting_t* meeting = m->meeting;
  int64_t j = (int64_t)index % meeting->size, o = (int64_t)index / meeting->size;
  size_t bytes = (size_t)m->inner * m->esize;
  char* out = data_of(&meeting->members[j], m->step->count + m->tensor) + (size_t)o * bytes;
  size_t skip = (size_t)(o * meeting->size + j) * bytes;
  memcpy(out, data_of(&meeting->members[0], m->tensor) + skip, bytes);
  for (uint32_t k = 1; k < meeting->size; ++k) combine(m, out, data_of(&meeting->members[k], m->tensor) + skip, m->inner);
}

static void all_to_all(const meet_t* m) {
  const tt_meeting_t* meeting = m->meeting;
  const member_t* any = &meeting->members[0];
  uint32_t rank = tensor_of(any, m->tensor)->rank, split = m->step->split_dim, concat = m->step->dim;
  const int64_t *in = dims_of(any, m->tensor), *out = dims_of(any, m->step->count + m->tensor);
  int64_t piece[TT_MAX_RANK], in_rows[TT_MAX_RANK], out_rows[TT_MAX_RANK];
  int64_t a = 1, b = 1;
  for (uint32_t d = rank; d-- > 0;) { in_rows[d] = a; a *= in[d]; out_rows[d] = b; b *= out[d]; piece[d] = in[d]; }
  piece[split] = in[split] / meeting->size;
  int64_t rows = product(piece, 0, rank ? rank - 1 : 0), run = piece[rank - 1];
  for (uint32_t j = 0; j < meeting->size; ++j) {
    for (uint32_t k = 0; k < meeting->size; ++k) {
      const char* from = data_of(&meeting->members[k], m->tensor) + (size_t)(j * piece[split] * in_rows[split]) * m->esize;
      char* to = data_of(&meeting->members[j], m->step->count + m->tensor) + (size_t)(k * piece[concat] * out_rows[concat]) * m->esize;
      for (int64_t r = 0; r < rows; ++r) {
        int64_t rest = r, x = 0, y = 0;
        for (uint32_t d = rank - 1; d-- > 0;) { int64_t i = rest % piece[d]; rest /= piece[d]; x += i * in_rows[d]; y += i * out_rows[d]; }
        memcpy(to + (size_t)y * m->esize, from + (size_t)x * m->esize, (size_t)run * m->esize);
      }
    }
  }
}

static void exchange(const tt_meeting_t* meeting, const pd_collective_step_t* s, tt_pool_t* pool) {
  for (uint32_t i = 0; i < s->count; ++i) {
    const member_t* any = &meeting->members[0];
    const pd_tensor_t* t = tensor_of(any, i);
    const int64_t* dims = dims_of(any, i);
    meet_t m = {.meeting = meeting, .step = s, .pool = pool, .tensor = i, .esize = tt_dtype_bytes((tt_dtype_t)t->dtype), .elems = product(dims, 0, t->rank), .chunk = CHUNK};
    size_t bytes = (size_t)m.elems * m.esize;
    if (bytes == 0) continue;
    switch ((pd_collective_t)s->kind) {
      case PD_C_ALL_REDUCE:
        tt_pool_run(pool, (size_t)((m.elems + CHUNK - 1) / CHUNK), all_reduce_task, &m);
        break;
      case PD_C_REDUCE_SCATTER: {
        const int64_t* out = dims_of(any, s->count + i);
        m.outer = product(out, 0, s->dim);
        m.inner = product(out, s->dim, t->rank);
        tt_pool_run(pool, (size_t)(m.outer * meeting->size), reduce_scatter_task, &m);
        break;
      }
      case PD_C_ALL_GATHER: {
        int64_t outer = product(dims, 0, s->dim);
        size_t run = bytes / (size_t)outer;
        for (uint32_t j = 0; j < meeting->size; ++j)
          for (uint32_t k = 0; k < meeting->size; ++k)
            for (int64_t o = 0; o < outer; ++o)
              memcpy(data_of(&meeting->members[j], s->count + i) + ((size_t)o * meeting->size + k) * run, data_of(&meeting->members[k], i) + (size_t)o * run, run);
        break;
      }
      case PD_C_ALL_TO_ALL: all_to_all(&m); break;
      case PD_C_PERMUTE: {
        const int64_t* pairs = PD_AT(any->plan->bytes, s->groups_at, int64_t);
        for (uint32_t j = 0; j < meeting->size; ++j) {
          const char* from = NULL;
          for (uint32_t p = 0; p < s->group_count; ++p)
            if (pairs[2 * p + 1] == (int64_t)j && pairs[2 * p] >= 0 && pairs[2 * p] < (int64_t)meeting->size) from = data_of(&meeting->members[pairs[2 * p]], i);
          char* to = data_of(&meeting->members[j], s->count + i);
          if (from) memcpy(to, from, bytes); else memset(to, 0, bytes);
        }
        break;
      }
      default:
        for (uint32_t j = 0; j < meeting->size; ++j) memcpy(data_of(&meeting->members[j], s->count + i), data_of(any, i), bytes);
        break;
    }
  }
}

// Shapes against the group: what the compiler could not know.
static tt_status_t check_shapes(const member_t* self, const pd_collective_step_t* s, uint32_t size) {
  for (uint32_t i = 0; i < s->count; ++i) {
    const pd_tensor_t *x = tensor_of(self, i), *y = tensor_of(self, s->count + i);
    const int64_t *in = dims_of(self, i), *out = dims_of(self, s->count + i);
    bool good = x->rank == y->rank && x->dtype == y->dtype;
    for (uint32_t d = 0; good && d < x->rank; ++d) {
      int64_t want = in[d];
      if (s->kind == PD_C_ALL_GATHER && d == s->dim) want = in[d] * size;
      if (s->kind == PD_C_REDUCE_SCATTER && d == s->dim) { want = in[d] / size; good = in[d] % size == 0; }
      if (s->kind == PD_C_ALL_TO_ALL) {
        if (d == s->split_dim) { good = good && in[d] % size == 0; want /= size; }
        if (d == s->dim) want *= size;
      }
      good = good && out[d] == want;
    }
    if (s->kind != PD_C_ALL_REDUCE && s->kind != PD_C_PERMUTE && s->kind != PD_C_BROADCAST) good = good && x->rank > 0;
    if (!good) return tt_status_create(TT_INVALID_ARGUMENT, "collective: result %u does not fit a group of %u devices", i, size);
  }
  return TT_OK_STATUS;
}

// ---- meetings ----------------------------------------------------------------------------------
tt_status_t tt_collective_begin(struct tt_rendezvous_s* r, const tt_plan_t* plan, void* const* bases, const pd_collective_step_t* step,
                                uint32_t round, int32_t replica, int32_t partition, tt_pool_t* pool, tt_meeting_t** out_meeting) {
  *out_meeting = NULL;
  struct tt_rendezvous_s one = {.replicas = 1, .partitions = 1};
  place_t place = find_place(r ? r : &one, plan, step, replica, partition);
  member_t self = {bases, plan, step};
  if (!place.found && step->kind == PD_C_BROADCAST) {        // in no group: zeros
    for (uint32_t i = 0; i < step->count; ++i) {
      const pd_tensor_t* t = tensor_of(&self, i);
      memset(data_of(&self, step->count + i), 0, (size_t)product(dims_of(&self, i), 0, t->rank) * tt_dtype_bytes((tt_dtype_t)t->dtype));
    }
    return TT_OK_STATUS;
  }
  if (!place.found) return tt_status_create(TT_INVALID_ARGUMENT, "collective: replica %d, partition %d is in no group", replica, partition);
  TT_RETURN_IF_ERROR(check_shapes(&self, step, place.size));
  if (place.size == 1) {
    struct { tt_meeting_t head; member_t member; } alone;
    memset(&alone, 0, sizeof alone);
    alone.head.size = 1;
    memcpy(alone.head.members, &self, sizeof self);
    exchange(&alone.head, step, pool);
    return TT_OK_STATUS;
  }
  if (!r) return tt_status_create(TT_FAILED_PRECONDITION, "collective: a group of %u devices needs a multi-device run", place.size);
  tt_meeting_t* spare = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof *spare + place.size * sizeof(member_t), (void**)&spare));
  tt_mutex_lock(&r->lock);
  if (r->error) {
    tt_status_t status = tt_status_copy(r->error);
    tt_mutex_unlock(&r->lock);
    tt_free(spare);
    return status;
  }
  tt_meeting_t* meeting = r->meetings;
  while (meeting && !(meeting->number == step->number && meeting->round == round && meeting->group == place.group)) meeting = meeting->next;
  if (!meeting) {
    meeting = spare;
    spare = NULL;
    meeting->number = step->number;
    meeting->round = round;
    meeting->group = place.group;
    meeting->size = meeting->pending = place.size;
    meeting->next = r->meetings;
    r->meetings = meeting;
  }
  if (place.position >= meeting->size || meeting->members[place.position].plan) {
    tt_mutex_unlock(&r->lock);
    tt_free(spare);
    return tt_status_create(TT_INVALID_ARGUMENT, "collective: two devices are replica %d, partition %d", replica, partition);
  }
  meeting->members[place.position] = self;
  bool last = ++meeting->arrived == meeting->size;
  tt_mutex_unlock(&r->lock);
  tt_free(spare);
  *out_meeting = meeting;
  if (!last) return TT_OK_STATUS;
  exchange(meeting, step, pool);       // everyone is here and still (R2): no lock needed
  tt_mutex_lock(&r->lock);
  meeting->done = true;
  tt_mutex_unlock(&r->lock);
  return TT_OK_STATUS;
}

tt_status_t tt_collective_poll(struct tt_rendezvous_s* r, tt_meeting_t* meeting, bool* out_done) {
  *out_done = false;
  tt_status_t status = TT_OK_STATUS;
  tt_meeting_t* dead = NULL;
  tt_mutex_lock(&r->lock);
  if (meeting->done) {
    *out_done = true;
    if (--meeting->pending == 0) {
      tt_meeting_t** link = &r->meetings;
      while (*link != meeting) link = &(*link)->next;
      *link = meeting->next;
      dead = meeting;
    }
  } else if (r->error) {
    status = tt_status_copy(r->error);
  }
  tt_mutex_unlock(&r->lock);
  tt_free(dead);
  return status;
}
