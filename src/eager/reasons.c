#include "eager/reasons.h"

#include <string.h>

#include "base/alloc.h"
#include "eager/executable.h"
#include "eager/signature.h"
#include "program/program.h"

// Invariants: a record is a copy, cut at KEY_WORDS (the explanation then says so); `recent` holds the last
// WAYS keys of an op (ops that share a set push each other out: a reason may then say "first use"); all under
// `lock`.
enum { KEY_WORDS = 96, RING = 256, SETS = 512, WAYS = 3 };

typedef struct key_copy_s {
  uint32_t count;          // words kept; 0: none
  uint64_t words[KEY_WORDS];
} key_copy_t;

static struct {
  key_copy_t before, after;
  bool is_rounded;
} ring[RING];
static key_copy_t recent[SETS][WAYS];
static uint64_t recorded;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tt_mutex_t lock;

static void initialize(void) { tt_mutex_initialize(&lock, TT_RANK_LEAF); }

static void copy_key(key_copy_t* to, const uint64_t* words, size_t count) {
  to->count = (uint32_t)TT_MIN(count, KEY_WORDS);
  memcpy(to->words, words, to->count * sizeof(uint64_t));
}

// Words that differ; another variant or length counts much.
static size_t distance(const key_copy_t* a, const uint64_t* words, size_t count) {
  size_t common = TT_MIN((size_t)a->count, count), result = a->count != TT_MIN(count, KEY_WORDS) ? 1000 : 0;
  for (size_t i = 0; i < common; ++i) result += a->words[i] != words[i];
  if ((a->words[0] ^ words[0]) >> 32) result += 500;
  return result;
}

// NULL: the op's first use.
static const key_copy_t* nearest(const key_copy_t* set, const uint64_t* key, size_t count) {
  const key_copy_t* best = NULL;
  size_t best_distance = SIZE_MAX;
  for (int way = 0; way < WAYS; ++way) {
    if (!set[way].count || (uint32_t)set[way].words[0] != (uint32_t)key[0]) continue;
    size_t d = distance(&set[way], key, count);
    if (d < best_distance) {
      best_distance = d;
      best = &set[way];
    }
  }
  return best;
}

static key_copy_t* set_of(const uint64_t* key) { return recent[(uint32_t)key[0] % SETS]; }

void tt_reasons_record(const tt_frame_t* frame, bool is_rounded) {
  pthread_once(&once, initialize);
  tt_mutex_lock(&lock);
  key_copy_t* set = set_of(frame->key);
  const key_copy_t* before = nearest(set, frame->key, frame->key_count);
  size_t at = recorded++ % RING;
  if (before)
    ring[at].before = *before;
  else
    ring[at].before.count = 0;
  ring[at].is_rounded = is_rounded;
  copy_key(&ring[at].after, frame->key, frame->key_count);
  memmove(&set[1], &set[0], (WAYS - 1) * sizeof(*set));
  copy_key(&set[0], frame->key, frame->key_count);
  tt_mutex_unlock(&lock);
}

static void print_reason(const key_copy_t* before, const uint64_t* after, size_t count, tt_strbuf_t* out) {
  tt_strbuf_printf(out, "%s: ", tt_eager_op_name(tt_signature_op(after), tt_signature_variant(after)));
  if (before && before->count)
    tt_signature_explain(before->words, before->count, after, count, out);
  else
    tt_strbuf_puts(out, "first use");
}

void tt_reasons_explain(const tt_frame_t* frame, tt_strbuf_t* out) {
  pthread_once(&once, initialize);
  tt_mutex_lock(&lock);
  const key_copy_t* found = nearest(set_of(frame->key), frame->key, frame->key_count);
  key_copy_t before = {.count = 0};
  if (found) before = *found;
  tt_mutex_unlock(&lock);
  print_reason(&before, frame->key, frame->key_count, out);
}

tt_status_t tt_reasons_forbidden(const tt_frame_t* frame) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_reasons_explain(frame, &text);
  tt_status_t status =
      tt_status_create(TT_FAILED_PRECONDITION, "a compile was needed while recompiles are forbidden: %s",
                       tt_strbuf_text(&text));
  tt_strbuf_deinitialize(&text);
  return status;
}

void tt_reasons_clear(void) {
  pthread_once(&once, initialize);
  tt_mutex_lock(&lock);
  recorded = 0;
  memset(recent, 0, sizeof(recent));
  tt_mutex_unlock(&lock);
}

tt_status_t tt_compile_reasons(int rows, char** out_text) {
  *out_text = NULL;
  pthread_once(&once, initialize);
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  for (int i = 0; i < rows && i < RING; ++i) {
    key_copy_t before, after;
    tt_mutex_lock(&lock);
    bool exists = (uint64_t)i < recorded, is_rounded = false;
    if (exists) {
      before = ring[(recorded - 1 - (uint64_t)i) % RING].before;
      after = ring[(recorded - 1 - (uint64_t)i) % RING].after;
      is_rounded = ring[(recorded - 1 - (uint64_t)i) % RING].is_rounded;
    }
    tt_mutex_unlock(&lock);
    if (!exists) break;
    print_reason(&before, after.words, after.count, &text);
    if (is_rounded) tt_strbuf_puts(&text, " (growing sizes rounded up)");
    tt_strbuf_putc(&text, '\n');
  }
  tt_status_t status = tt_strbuf_status(&text);
  if (tt_status_is_ok(status)) status = tt_strdup(tt_strbuf_text(&text), out_text);
  tt_strbuf_deinitialize(&text);
  return status;
}
