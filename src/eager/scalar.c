#include "eager/scalar.h"

#include <string.h>

#include "base/hash.h"

// Invariants: the cache is bounded (SLOTS sets of two ways); a buffer in it is never donated and never
// bound to a storage; an entry holds one reference.
enum { SLOTS = 1024, WAYS = 2 };

typedef struct slot_s {
  uint64_t bits[2];
  uint32_t dtype;
  int32_t device;
  tt_rt_buffer_t* buffer;
} slot_t;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tt_mutex_t lock;                // guards `slots`
static slot_t slots[SLOTS][WAYS];      // way 0: newer

static void initialize(void) { tt_mutex_initialize(&lock, TT_RANK_LEAF); }

tt_status_t tt_scalar_buffer_uncached(tt_engine_t* engine, int device, tt_dtype_t dtype, const void* data,
                                      tt_rt_buffer_t** out_buffer) {
  return tt_rt_buffer_from_host(engine->client, (size_t)device, dtype, 0, NULL, data, out_buffer);
}

tt_status_t tt_scalar_buffer(tt_engine_t* engine, int device, tt_dtype_t dtype, const void* data,
                             tt_rt_buffer_t** out_buffer) {
  pthread_once(&once, initialize);
  uint64_t bits[2] = {0, 0};
  memcpy(bits, data, tt_dtype_bytes(dtype));
  uint64_t hash = tt_hash_u64(tt_hash_u64(bits[0], bits[1]), dtype | (uint64_t)device << 32);
  slot_t* set = slots[hash % SLOTS];
  tt_mutex_lock(&lock);
  for (int way = 0; way < WAYS; ++way) {
    slot_t* slot = &set[way];
    if (slot->buffer && slot->bits[0] == bits[0] && slot->bits[1] == bits[1] && slot->dtype == dtype &&
        slot->device == device) {
      tt_rt_buffer_retain(slot->buffer);
      *out_buffer = slot->buffer;
      tt_mutex_unlock(&lock);
      return TT_OK_STATUS;
    }
  }
  tt_mutex_unlock(&lock);
  TT_RETURN_IF_ERROR(tt_scalar_buffer_uncached(engine, device, dtype, data, out_buffer));
  tt_rt_buffer_retain(*out_buffer);
  tt_mutex_lock(&lock);
  tt_rt_buffer_t* dead = set[WAYS - 1].buffer;
  for (int way = WAYS - 1; way > 0; --way) set[way] = set[way - 1];
  set[0] = (slot_t){{bits[0], bits[1]}, dtype, device, *out_buffer};
  tt_mutex_unlock(&lock);
  tt_rt_buffer_release(dead);
  return TT_OK_STATUS;
}

void tt_scalar_cache_clear(void) {
  pthread_once(&once, initialize);
  for (size_t i = 0; i < SLOTS; ++i) {
    for (int way = 0; way < WAYS; ++way) {
      tt_mutex_lock(&lock);
      tt_rt_buffer_t* dead = slots[i][way].buffer;
      slots[i][way].buffer = NULL;
      tt_mutex_unlock(&lock);
      tt_rt_buffer_release(dead);
    }
  }
}

void tt_scalar_encode(const tt_scalar_t* scalar, tt_dtype_t dtype, void* out_data) {
  memset(out_data, 0, 16);
  switch (scalar->kind) {
    case TT_ARG_FLOAT: tt_scalar_store_f64(dtype, scalar->c[0], out_data); break;
    case TT_ARG_COMPLEX: tt_scalar_store_complex(dtype, scalar->c, out_data); break;
    default: tt_scalar_store_i64(dtype, scalar->i, out_data); break;
  }
}

bool tt_scalar_is_special(const tt_scalar_t* scalar) {
  if (scalar->kind == TT_ARG_BOOL) return true;
  if (scalar->kind == TT_ARG_INT) return scalar->i >= -2 && scalar->i <= 3;
  if (scalar->kind == TT_ARG_COMPLEX && scalar->c[1] != 0) return false;
  double v = scalar->c[0];
  if (v == 0 && __builtin_signbit(v)) return false;   // -0.0 is not 0
  return v == -2 || v == -1 || v == -0.5 || v == 0 || v == 0.5 || v == 1 || v == 2 || v == 3;
}
