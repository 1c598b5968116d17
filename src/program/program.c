#include "program/program.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/thread.h"
#include "cache/lru.h"
#include "ir/legalise.h"
#include "lower/lower.h"

typedef struct program_s {
  _Atomic int32_t references;
  tt_module_t* module;          // as given (P2)
  tt_rt_client_t* client;
  tt_program_options_t options;
  tt_rt_executable_t* executable;
} program_t;

static void program_retain(void* value) {
  // relaxed: the caller already has a way to the object
  atomic_fetch_add_explicit(&((program_t*)value)->references, 1, memory_order_relaxed);
}
static void program_release(void* value) {
  program_t* program = value;
  // acq_rel: the last holder sees every write of the others before it frees
  if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1) return;
  tt_rt_executable_release(program->executable);
  tt_module_release(program->module);
  tt_rt_client_release(program->client);
  tt_free(program);
}

enum { DEFAULT_ENTRIES = 4096 };
static tt_lru_t* cache;
static size_t capacity = DEFAULT_ENTRIES;
static tt_mutex_t cache_lock;   // creation of `cache`
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;
static _Atomic int64_t compiles, compile_ns;

static void initialize_lock(void) { tt_mutex_initialize(&cache_lock, TT_RANK_CACHE - 1); }

static tt_status_t get_cache(tt_lru_t** out) {
  pthread_once(&cache_once, initialize_lock);
  tt_status_t status = TT_OK_STATUS;
  tt_mutex_lock(&cache_lock);
  if (!cache) status = tt_lru_create(capacity, program_retain, program_release, &cache);
  *out = cache;
  tt_mutex_unlock(&cache_lock);
  return status;
}

typedef struct probe_s {
  const tt_module_t* module;
  tt_rt_client_t* client;
  const tt_program_options_t* options;
} probe_t;

static bool probe_equal(const void* self, const void* value) {
  const probe_t* probe = self;
  const program_t* program = value;
  return program->client == probe->client && program->options.device == probe->options->device &&
         program->options.matmul_passes == probe->options->matmul_passes &&
         tt_module_equal(program->module, probe->module);
}

static tt_status_t compile(tt_rt_client_t* client, tt_module_t* module, const tt_program_options_t* options,
                           tt_rt_executable_t** out) {
  tt_rt_compile_options_t compile_options = {.num_replicas = 1,
                                             .num_partitions = 1,
                                             .device = options->device,
                                             .matmul_passes = options->matmul_passes};
  int64_t begin = tt_clock_ns();
  tt_module_t *expanded = NULL, *legal = NULL;
  const tt_target_t* target = tt_rt_client_target(client);
  tt_status_t status = TT_OK_STATUS;
#ifdef TT_DEBUG
  status =
      tt_module_verify(module);  // our own bug if it fails: the reader of foreign text verifies for itself
#endif
  if (tt_status_is_ok(status) && !target->is_vtpu) {
    tt_legalise_options_t legalise = {options->matmul_passes, options->emulate_float64};
    status = tt_lower_expand(module, NULL, &expanded);
    if (tt_status_is_ok(status)) status = tt_module_legalise(expanded, target, &legalise, &legal);
  }
  if (tt_status_is_ok(status)) status = tt_rt_compile(client, legal ? legal : module, &compile_options, out);
  tt_module_release(expanded);
  tt_module_release(legal);
  atomic_fetch_add_explicit(&compiles, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&compile_ns, tt_clock_ns() - begin, memory_order_relaxed);
  return status;
}

tt_status_t tt_program_compile(tt_rt_client_t* client, tt_module_t* module,
                               const tt_program_options_t* options, tt_rt_executable_t** out_executable) {
  *out_executable = NULL;
  tt_lru_t* lru = NULL;
  TT_RETURN_IF_ERROR(get_cache(&lru));
  uint64_t hash = tt_module_hash(module);
  hash = tt_hash_u64(hash, (uint64_t)(uintptr_t)client);
  hash = tt_hash_u64(hash, options->device | (uint64_t)(uint32_t)options->matmul_passes << 32);
  probe_t probe = {module, client, options};
  program_t* program = tt_lru_find_equal(lru, hash, probe_equal, &probe);
  if (program) {
    tt_rt_executable_retain(program->executable);
    *out_executable = program->executable;
    program_release(program);
    return TT_OK_STATUS;
  }
  if (options->only_cached)
    return tt_status_create(TT_FAILED_PRECONDITION, "a compile was needed while recompiles are forbidden");
  void* block = NULL;
  TT_RETURN_IF_ERROR(tt_alloc(sizeof(program_t), &block));
  program = block;
  atomic_init(&program->references, 1);
  program->options = *options;
  tt_status_t status = compile(client, module, options, &program->executable);
  if (tt_status_is_ok(status)) {
    tt_module_retain(module);
    program->module = module;
    tt_rt_client_retain(client);
    program->client = client;
    // The key is the module itself: no bytes.
    status = tt_lru_insert(lru, hash, NULL, 0, program);
  }
  if (tt_status_is_ok(status)) {
    tt_rt_executable_retain(program->executable);
    *out_executable = program->executable;
  }
  program_release(program);
  return status;
}

void tt_program_cache_clear(void) {
  pthread_once(&cache_once, initialize_lock);
  tt_mutex_lock(&cache_lock);
  tt_lru_t* lru = cache;
  tt_mutex_unlock(&cache_lock);
  tt_lru_clear(lru);
}

void tt_program_cache_set_capacity(size_t entries) {
  pthread_once(&cache_once, initialize_lock);
  tt_mutex_lock(&cache_lock);
  capacity = entries ? entries : 1;
  tt_lru_t* lru = cache;
  size_t now = capacity;
  tt_mutex_unlock(&cache_lock);
  if (lru) tt_lru_set_capacity(lru, now);
}

void tt_program_stats(tt_program_stats_t* out_stats) {
  *out_stats = (tt_program_stats_t){.compiles = atomic_load_explicit(&compiles, memory_order_relaxed),
                                    .compile_ns = atomic_load_explicit(&compile_ns, memory_order_relaxed)};
  pthread_once(&cache_once, initialize_lock);
  tt_mutex_lock(&cache_lock);
  tt_lru_t* lru = cache;
  tt_mutex_unlock(&cache_lock);
  if (!lru) return;
  tt_lru_stats_t stats;
  tt_lru_stats(lru, &stats);
  out_stats->reuses = stats.hits;
  out_stats->entries = stats.entries;
  out_stats->evictions = stats.evictions;
}
