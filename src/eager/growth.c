#include "eager/growth.h"

#include <string.h>

#include "base/thread.h"

enum { SETS = 512, WAYS = 6, MOST_SIZES = 128, MOST_CONSTANTS = 96 };

typedef struct record_s {
  uint64_t skeleton;  // 0: free
  uint64_t used;  // of the clock
  uint32_t size_count, constant_count;
  uint32_t twins;  // how often a program came that differs by one amount or a small step; uploads: by a small step
  uint32_t drifts;  // how often only constants differed
  bool is_family;
  bool went_up;  // uploads: the last small step
  int64_t sizes[MOST_SIZES];
  uint64_t constants[MOST_CONSTANTS];
  uint8_t grows[MOST_SIZES], moves[MOST_CONSTANTS];
} record_t;

typedef struct table_s {
  record_t records[SETS][WAYS];
} table_t;
static table_t table;
static uint64_t clock_;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tt_mutex_t lock;

static void initialize(void) { tt_mutex_initialize(&lock, TT_RANK_LEAF); }

static bool small_step(int64_t a, int64_t b) {
  int64_t step = a < b ? b - a : a - b;
  return step && step < GROWTH_STEP;
}

// x / y as a / b; false for sizes whose product might overflow.
static bool in_proportion(int64_t x, int64_t y, int64_t a, int64_t b) {
  return (x | y | a | b) < INT32_MAX && x * b == y * a;
}

// Sizes that differ and are not known to grow: how many, whether a small step explains them all, and whether all
// moved by one amount or in proportion.
typedef struct difference_s {
  uint32_t count;
  bool is_small, is_one;
  bool is_up;  // of the small step
} difference_t;
static difference_t difference(const record_t* r, const int64_t* sizes) {
  difference_t d = {.is_one = true};
  int64_t before = 0, now = 0, x0 = 0, y0 = 0;  // of the small step; of the first difference
  for (uint32_t i = 0; i < r->size_count; ++i) {
    int64_t x = r->sizes[i], y = sizes[i];
    if (x == y || r->grows[i]) continue;
    if (d.count++ == 0) {
      x0 = x;
      y0 = y;
    }
    d.is_one &= y - x == y0 - x0 || in_proportion(x, y, x0, y0);
    if (!d.is_small && small_step(x, y)) {
      d.is_small = true;
      d.is_up = y > x;
      before = x;
      now = y;
    }
  }
  for (uint32_t i = 0; d.is_small && i < r->size_count; ++i) {
    int64_t x = r->sizes[i], y = sizes[i];
    if (x == y || r->grows[i] || small_step(x, y)) continue;
    d.is_small = in_proportion(x, y, before, now);
  }
  return d;
}

// Whether sizes known to grow went on in small steps.
static bool steps_on(const record_t* r, const int64_t* sizes) {
  for (uint32_t i = 0; i < r->size_count; ++i)
    if (r->sizes[i] != sizes[i] && !small_step(r->sizes[i], sizes[i])) return false;
  return true;
}

static void learn(record_t* r, const int64_t* sizes, const uint64_t* constants) {
  r->is_family = true;
  for (uint32_t i = 0; i < r->size_count; ++i) r->grows[i] |= r->sizes[i] != sizes[i];
  for (uint32_t i = 0; i < r->constant_count; ++i) r->moves[i] |= r->constants[i] != constants[i];
}

static void refresh(record_t* r, const int64_t* sizes, const uint64_t* constants) {
  if (r->size_count) memcpy(r->sizes, sizes, r->size_count * sizeof(*sizes));
  if (r->constant_count) memcpy(r->constants, constants, r->constant_count * sizeof(*constants));
  r->used = ++clock_;
}

// The record that the program belongs to or is nearest to; NULL: none may be compared.
static record_t* nearest(record_t* set, uint64_t skeleton, uint32_t size_count, const int64_t* sizes,
                         uint32_t constant_count) {
  record_t* best = NULL;
  uint32_t least = UINT32_MAX;
  for (int way = 0; way < WAYS; ++way) {
    record_t* r = &set[way];
    if (r->skeleton != skeleton || r->size_count != size_count || r->constant_count != constant_count)
      continue;
    difference_t d = difference(r, sizes);
    uint32_t weight = 4 * d.count + (d.is_small ? 0 : 2) + (r->is_family ? 0 : 1);
    if (weight < least || (weight == least && r->twins > best->twins)) {
      least = weight;
      best = r;
    }
  }
  return best;
}

static record_t* oldest(record_t* set) {
  record_t* best = &set[0];
  for (int way = 1; way < WAYS; ++way)
    if (set[way].used < best->used) best = &set[way];
  return best;
}

static void start(record_t* r, uint64_t skeleton, uint32_t size_count, const int64_t* sizes,
                  uint32_t constant_count, const uint64_t* constants, uint32_t twins) {
  memset(r, 0, sizeof(*r));
  r->skeleton = skeleton;
  r->size_count = size_count;
  r->constant_count = constant_count;
  r->twins = twins;
  refresh(r, sizes, constants);
}

// Records of uploads that are no family yet follow their sizes step by step. Inputs and weights take turns, back and
// forth; what grows goes one way.
static bool follow(record_t* r, const int64_t* sizes, const uint64_t* constants, const difference_t* d) {
  if (r->is_family) return steps_on(r, sizes);
  if (!d->is_small) return false;
  r->twins = r->twins && r->went_up == d->is_up ? r->twins + 1 : 1;
  r->went_up = d->is_up;
  if (r->twins < 2) {
    refresh(r, sizes, constants);
    return false;
  }
  return true;
}

void tt_growth_note(uint64_t skeleton, bool steps, uint32_t size_count, const int64_t* sizes,
                    uint32_t constant_count, const uint64_t* constants, uint8_t* out_sizes,
                    uint8_t* out_constants) {
  memset(out_sizes, 0, size_count);
  if (constant_count) memset(out_constants, 0, constant_count);
  if (size_count > MOST_SIZES || constant_count > MOST_CONSTANTS) return;
  if (!skeleton) skeleton = 1;
  pthread_once(&once, initialize);
  tt_mutex_lock(&lock);
  record_t* set = table.records[skeleton % SETS];
  record_t* r = nearest(set, skeleton, size_count, sizes, constant_count);
  difference_t d = r ? difference(r, sizes) : (difference_t){0};
  bool same = r && d.count == 0, is_near = d.is_small || d.is_one, grows;
  if (steps) {
    bool was = r && r->is_family, small = r && d.is_small;
    grows = r && (!same || was) && follow(r, sizes, constants, &d);
    same = same && (!was || grows);
    if (small && !was && !grows) same = true;  // followed
  } else {
    grows = r && ((same && r->is_family) || (d.count && is_near && r->twins >= 1));
  }
  if (grows) {
    learn(r, sizes, constants);
    if (!steps && !same) r->twins = 0;  // sizes that stayed so far need two differences of their own
    memcpy(out_sizes, r->grows, size_count);
    if (constant_count) memcpy(out_constants, r->moves, constant_count);
    refresh(r, sizes, constants);
  } else if (same) {
    // equal sizes, a number of the program moves (arange from one more each time): known by the third value
    bool moves = constant_count && memcmp(r->constants, constants, constant_count * sizeof(*constants)) != 0;
    if (moves && ++r->drifts > 1) {
      learn(r, sizes, constants);
      memcpy(out_constants, r->moves, constant_count);
    }
    refresh(r, sizes, constants);
  } else {
    start(oldest(set), skeleton, size_count, sizes, constant_count, constants,
          !steps && r && is_near ? r->twins + 1 : 0);
  }
  tt_mutex_unlock(&lock);
}

void tt_growth_clear(void) {
  pthread_once(&once, initialize);
  tt_mutex_lock(&lock);
  if (clock_) memset(&table, 0, sizeof(table));  // its pages are never touched where nothing is watched
  clock_ = 0;
  tt_mutex_unlock(&lock);
}
