// Runs the programs of cases/*.txt op by op with the op kernels and compares with results that cases/generate.py
// took from jax and NumPy. `cases_test FILE [name part]` runs one file.
//
// A case:   @@ name / StableHLO text / @in HEX per parameter / @out RTOL ATOL HEX per result. HEX: little endian bytes.
#include <dirent.h>
#include <time.h>

#include "base/test.h"
#include "ir/text.h"
#include "kernels/loops.h"
#include "kernels/reserve.h"
#include "kernels/work.h"

// ---- a pool that runs serially, last index first, so that order shows ----------------------------
struct tt_pool_s { int threads; };
static tt_pool_t the_pool = {3};
tt_pool_t* tt_pool_get(void) { return &the_pool; }
int tt_pool_threads(const tt_pool_t* pool) { return pool->threads; }
void tt_pool_set_threads(tt_pool_t* pool, int threads) { pool->threads = threads; }
void tt_pool_run(tt_pool_t* pool, size_t count, tt_pool_fn_t fn, void* self) {
  (void)pool;
  while (count-- > 0) fn(self, count);
}

// ---- regions: one op after the other over the lanes ----------------------------------------------
typedef struct machine_s {
  void** data;             // by value id
  tt_arena_t* arena;
  const tt_module_t* module;
} machine_t;
enum { LANES = 64 };
typedef struct compiled_region_s { const tt_region_t* region; uint32_t values; } compiled_region_t;

static void region_run(const void* compiled, void* scratch, void* const* args, void* const* results, size_t lanes) {
  const compiled_region_t* c = compiled;
  memset(scratch, 0xcd, 96);
  void** data = calloc(c->values, sizeof *data);
  const tt_block_t* block = &c->region->block;
  for (uint32_t i = 0; i < block->arg_count; ++i) data[block->args[i].id] = args[i];
  for (const tt_op_t* op = block->first; op; op = op->next) {
    if (op->kind == TT_OP_RETURN) {
      for (uint32_t i = 0; i < op->operand_count; ++i) {
        memcpy(results[i], data[op->operands[i]->id], lanes * tt_dtype_bytes(op->operands[i]->type->dtype));
      }
      break;
    }
    tt_dtype_t dtype = op->results[0].type->dtype;
    void* out = data[op->results[0].id] = aligned_alloc(64, LANES * 16);
    void* in[3] = {0};
    for (uint32_t i = 0; i < op->operand_count && i < 3; ++i) in[i] = data[op->operands[i]->id];
    tt_dtype_t from = op->operand_count ? op->operands[0]->type->dtype : dtype;
    switch (op->kind) {
      case TT_OP_CONSTANT:
        tt_k_fill(out, tt_op_attr(op, TT_ATTR_VALUE)->dense.data, tt_dtype_bytes(dtype), lanes);
        break;
      case TT_OP_COMPARE: {
        static const char* const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
        int d = 0;
        while (strcmp(names[d], tt_op_attr_text(op, TT_ATTR_COMPARISON_DIRECTION)) != 0) ++d;
        tt_k_compare((tt_k_compare_t)d, from, strcmp(tt_op_attr_text(op, TT_ATTR_COMPARE_TYPE), "TOTALORDER") == 0)(out, in[0], in[1], lanes);
        break;
      }
      case TT_OP_SELECT: tt_k_select(tt_dtype_bytes(dtype))(out, in[0], in[1], in[2], lanes); break;
      case TT_OP_CONVERT:
        if (from == dtype) memcpy(out, in[0], lanes * tt_dtype_bytes(dtype));
        else tt_k_convert(from, dtype)(out, in[0], lanes);
        break;
      default:
        if (op->operand_count == 2) tt_k_binary(op->kind, from)(out, in[0], in[1], lanes);
        else tt_k_unary(op->kind, from)(out, in[0], lanes);
    }
  }
  for (const tt_op_t* op = block->first; op && op->kind != TT_OP_RETURN; op = op->next) free(data[op->results[0].id]);
  free(data);
}

// ---- functions -----------------------------------------------------------------------------------
static tt_status_t run_function(machine_t* m, const tt_func_t* func, void* const* args, void** results);
static bool timed;
static double op_seconds;

static tt_status_t run_op(machine_t* m, const tt_op_t* op) {
  if (op->kind == TT_OP_CONSTANT) {
    const tt_dense_t* d = &tt_op_attr(op, TT_ATTR_VALUE)->dense;
    size_t eb = tt_dtype_bytes(d->type->dtype);
    void* data = m->data[op->results[0].id] = tt_arena_alloc(m->arena, (size_t)tt_type_bytes(d->type) + 64);
    if (d->is_splat) tt_k_fill(data, d->data, eb, (size_t)tt_type_elems(d->type));
    else memcpy(data, d->data, (size_t)tt_type_bytes(d->type));
    return TT_OK_STATUS;
  }
  void* in[64];
  for (uint32_t i = 0; i < op->operand_count; ++i) in[i] = m->data[op->operands[i]->id];
  tt_func_t* callee = op->kind == TT_OP_FUNC_CALL ? tt_module_find_func(m->module, tt_op_attr_text(op, TT_ATTR_CALLEE)) : NULL;
  const tt_k_op_t* kernel = callee ? NULL : tt_k_op_find(op, NULL, NULL);
  if (!callee && !kernel && op->kind == TT_OP_COMPOSITE) callee = tt_module_find_func(m->module, tt_op_attr_text(op, TT_ATTR_DECOMPOSITION));
  if (callee) {
    void* out[64];
    TT_RETURN_IF_ERROR(run_function(m, callee, in, out));
    for (uint32_t i = 0; i < op->result_count; ++i) m->data[op->results[i].id] = out[i];
    return TT_OK_STATUS;
  }
  if (!kernel) return tt_status_create(TT_UNIMPLEMENTED, "no kernel for %s", tt_op_info(op->kind)->name);
  tt_k_blob_t blob = {0};
  if (kernel->encode) TT_RETURN_IF_ERROR(kernel->encode(op, m->arena, &blob));
  tt_k_tensor_t x[64], y[64];
  for (uint32_t i = 0; i < op->operand_count + op->result_count; ++i) {
    const tt_type_t* type = i < op->operand_count ? op->operands[i]->type : op->results[i - op->operand_count].type;
    int64_t* strides = tt_arena_alloc_array(m->arena, TT_MAX_RANK, sizeof *strides);
    tt_k_dense_strides(type->dims, type->rank, strides);
    tt_k_tensor_t t = {NULL, type->dtype, type->rank, type->dims, strides};
    if (i < op->operand_count) x[i] = t; else y[i - op->operand_count] = t;
  }
  size_t scratch_bytes = kernel->scratch_bytes ? kernel->scratch_bytes(blob.data, 3, x, op->operand_count, y, op->result_count) : 0;
  size_t guard = 64;
  unsigned char* scratch = aligned_alloc(64, tt_align_up(scratch_bytes + guard, 64));
  memset(scratch, 0xab, tt_align_up(scratch_bytes + guard, 64));
  for (uint32_t i = 0; i < op->operand_count; ++i) x[i].data = in[i];
  for (uint32_t i = 0; i < op->result_count; ++i) {
    size_t bytes = (size_t)tt_type_bytes(op->results[i].type);
    unsigned char* data = tt_arena_alloc(m->arena, bytes + 64);
    memset(data, 0x5a, bytes + 64);
    y[i].data = m->data[op->results[i].id] = data;
  }
  compiled_region_t compiled[2];
  const void* regions[2];
  for (uint32_t i = 0; i < op->region_count && i < 2; ++i) {
    compiled[i] = (compiled_region_t){&op->regions[i], m->module->value_count};
    regions[i] = &compiled[i];
  }
  tt_k_env_t env = {.pool = &the_pool, .scratch = scratch, .regions = regions, .region_fn = region_run,
                    .region_scratch_bytes = 96, .region_max_lanes = LANES};
  struct timespec a, b;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
  tt_status_t status = kernel->run(&env, blob.data, x, op->operand_count, y, op->result_count);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
  if (timed) printf("  %-40s %.3f ms\n", kernel->name, (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6);
  op_seconds += (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) * 1e-9;
  for (size_t i = 0; i < guard; ++i) {
    if (scratch[scratch_bytes + i] != 0xab && tt_status_is_ok(status)) {
      status = tt_status_create(TT_INTERNAL, "%s wrote past its scratch", kernel->name);
    }
  }
  for (uint32_t r = 0; r < op->result_count; ++r) {
    const unsigned char* past = (unsigned char*)y[r].data + tt_type_bytes(op->results[r].type);
    for (size_t i = 0; i < 64; ++i) {
      if (past[i] != 0x5a && tt_status_is_ok(status)) {
        status = tt_status_create(TT_INTERNAL, "%s wrote past result %u", kernel->name, r);
      }
    }
  }
  // once more with operands that may be strided column-major, spread out and one dimension backwards
  uint32_t strided = kernel->strided_operands & (op->operand_count >= 32 ? ~0u : (1u << op->operand_count) - 1);
  if (tt_status_is_ok(status) && strided) {
    tt_k_tensor_t sx[64];
    memcpy(sx, x, sizeof sx);
    for (uint32_t i = 0; i < op->operand_count && i < 32; ++i) {
      if (!(strided >> i & 1) || x[i].rank == 0 || tt_k_elems(&x[i]) == 0) continue;
      int64_t *strides = tt_arena_alloc_array(m->arena, TT_MAX_RANK, sizeof *strides), step = 2;
      for (uint32_t d = 0; d < x[i].rank; ++d) {
        strides[d] = step;
        step *= x[i].dims[d] + 1;
      }
      size_t eb = tt_dtype_bytes(x[i].dtype);
      char* memory = tt_arena_alloc(m->arena, (size_t)step * eb + 64);
      uint32_t back = x[i].rank / 2;
      memory += (size_t)((x[i].dims[back] - 1) * strides[back]) * eb;
      strides[back] = -strides[back];
      for (int64_t k = 0; k < tt_k_elems(&x[i]); ++k) {
        memcpy(memory + tt_k_unravel(k, x[i].dims, strides, x[i].rank) * (int64_t)eb, (char*)x[i].data + (size_t)k * eb, eb);
      }
      sx[i].data = memory;
      sx[i].strides = strides;
    }
    tt_k_tensor_t sy[64];
    memcpy(sy, y, sizeof sy);
    for (uint32_t r = 0; r < op->result_count; ++r) sy[r].data = tt_arena_alloc(m->arena, tt_k_bytes(&y[r]) + 1);
    memset(scratch, 0xab, scratch_bytes);
    status = kernel->run(&env, blob.data, sx, op->operand_count, sy, op->result_count);
    for (uint32_t r = 0; r < op->result_count && tt_status_is_ok(status); ++r) {
      if (memcmp(sy[r].data, y[r].data, tt_k_bytes(&y[r])) != 0) {
        status = tt_status_create(TT_INTERNAL, "%s differs on strided operands", kernel->name);
      }
    }
  }
  // each of its allocations failing: an error, nothing leaked
  for (uint64_t nth = 1; nth <= 8 && tt_status_is_ok(status); ++nth) {
    tt_k_tensor_t fy[64];
    memcpy(fy, y, sizeof fy);
    for (uint32_t r = 0; r < op->result_count; ++r) fy[r].data = tt_arena_alloc(m->arena, tt_k_bytes(&y[r]) + 1);
    memset(scratch, 0xab, scratch_bytes);
    tt_k_work_trim();                  // so that it has to allocate
    int64_t live = tt_alloc_stats().live_blocks;
    tt_alloc_fault_arm(nth);
    tt_status_t failed = kernel->run(&env, blob.data, x, op->operand_count, fy, op->result_count);
    bool fired = tt_alloc_fault_fired();
    tt_alloc_fault_arm(0);
    bool exhausted = tt_status_code(failed) == TT_RESOURCE_EXHAUSTED;
    tt_status_free(failed);
    if (!fired) break;
    if (!exhausted) status = tt_status_create(TT_INTERNAL, "%s ignores a failed allocation", kernel->name);
    else if (!tt_k_op_can_fail(kernel)) status = tt_status_create(TT_INTERNAL, "%s reserves memory unlisted", kernel->name);
    else if ((tt_k_work_trim(), tt_alloc_stats().live_blocks != live)) status = tt_status_create(TT_INTERNAL, "%s leaks on a failed allocation", kernel->name);
  }
  // once more with result 0 taking over its operand
  if (tt_status_is_ok(status) && kernel->inplace) {
    tt_k_tensor_t* over = &x[kernel->inplace - 1];
    size_t bytes = tt_k_bytes(over);
    void* copy = tt_arena_copy(m->arena, over->data, bytes + 1);
    void* first = y[0].data;
    bool shared = false;   // the same memory as another operand: leave it
    for (uint32_t i = 0; i < op->operand_count; ++i) shared = shared || (i + 1u != kernel->inplace && x[i].data == over->data);
    if (!shared) {
      over->data = y[0].data = copy;
      void* before = tt_arena_copy(m->arena, copy, bytes + 1);
      for (uint64_t nth = 1; nth <= 8 && tt_status_is_ok(status); ++nth) {   // failing, it has written nothing
        tt_k_work_trim();
        tt_alloc_fault_arm(nth);
        tt_status_t failed = kernel->run(&env, blob.data, x, op->operand_count, y, op->result_count);
        bool fired = tt_alloc_fault_fired();
        tt_alloc_fault_arm(0);
        tt_status_free(failed);
        if (fired && memcmp(copy, before, bytes) != 0) {
          status = tt_status_create(TT_INTERNAL, "%s writes over its operand and fails then", kernel->name);
        }
        memcpy(copy, before, bytes);
        if (!fired) break;
      }
      memset(scratch, 0xab, scratch_bytes);
      status = kernel->run(&env, blob.data, x, op->operand_count, y, op->result_count);
      if (tt_status_is_ok(status) && memcmp(copy, first, bytes) != 0) {
        status = tt_status_create(TT_INTERNAL, "%s differs when result 0 takes over operand %d", kernel->name, kernel->inplace - 1);
      }
    }
  }
  free(scratch);
  return status;
}

static tt_status_t run_function(machine_t* m, const tt_func_t* func, void* const* args, void** results) {
  const tt_block_t* block = &func->body.block;
  for (uint32_t i = 0; i < block->arg_count; ++i) m->data[block->args[i].id] = args[i];
  for (const tt_op_t* op = block->first; op; op = op->next) {
    if (op->kind == TT_OP_FUNC_RETURN) {
      for (uint32_t i = 0; i < op->operand_count; ++i) results[i] = m->data[op->operands[i]->id];
      return TT_OK_STATUS;
    }
    TT_RETURN_IF_ERROR(run_op(m, op));
  }
  return TT_OK_STATUS;
}

// ---- cases ---------------------------------------------------------------------------------------
static int nibble(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }
static size_t from_hex(const char* hex, const char* end, unsigned char* out) {
  size_t n = 0;
  for (; hex + 1 < end; hex += 2) out[n++] = (unsigned char)(nibble(hex[0]) * 16 + nibble(hex[1]));
  return n;
}
static bool close_enough(double a, double b, double rtol, double atol) {
  if (a != a || b != b) return a != a && b != b;
  return a == b || fabs(a - b) <= atol + rtol * fabs(b);
}
static tt_status_t compare(const tt_type_t* type, size_t index, const char* got, const char* want, double rtol, double atol) {
  size_t eb = tt_dtype_bytes(type->dtype);
  for (int64_t i = 0; i < tt_type_elems(type); ++i, got += eb, want += eb) {
    double a[2] = {0, 0}, b[2] = {0, 0};
    bool same;
    if (tt_dtype_is_complex(type->dtype) || tt_dtype_is_float(type->dtype)) {
      tt_scalar_load_complex(type->dtype, got, a);
      tt_scalar_load_complex(type->dtype, want, b);
      same = close_enough(a[0], b[0], rtol, atol) && close_enough(a[1], b[1], rtol, atol);
    } else {
      a[0] = (double)tt_scalar_load_i64(type->dtype, got);
      b[0] = (double)tt_scalar_load_i64(type->dtype, want);
      same = memcmp(got, want, eb) == 0 || (atol > 0 && close_enough(a[0], b[0], 0, atol));
    }
    if (!same) {
      return tt_status_create(TT_INTERNAL, "result %zu[%lld] is %.9g%+.9gi, expected %.9g%+.9gi", index, (long long)i, a[0], a[1], b[0], b[1]);
    }
  }
  return TT_OK_STATUS;
}

static tt_status_t run_case(const char* text, const char* end) {
  const char* data = strstr(text, "\n@");
  tt_module_t* module;
  TT_RETURN_IF_ERROR(tt_module_parse(text, (size_t)(data - text), &module));
  tt_arena_t arena;
  tt_arena_initialize(&arena);
  machine_t m = {tt_arena_alloc_array(&arena, module->value_count + 1, sizeof(void*)), &arena, module};
  const tt_func_t* func = tt_module_main(module);
  void *args[64], *results[64];
  size_t arg_count = 0, result_count = 0;
  tt_status_t status = TT_OK_STATUS;
  bool ran = false;
  for (const char* line = data; line && line < end && tt_status_is_ok(status); ) {
    ++line;
    const char* stop = strchr(line, '\n');
    if (!stop || stop > end) stop = end;
    if (strncmp(line, "@in", 3) == 0) {
      const char* hex = line + 4 < stop ? line + 4 : stop;
      args[arg_count] = tt_arena_alloc(&arena, (size_t)(stop - hex) / 2 + 64);
      from_hex(hex, stop, args[arg_count++]);
    } else if (strncmp(line, "@out", 4) == 0) {
      if (!ran) status = run_function(&m, func, args, results);
      ran = true;
      char* hex;
      double rtol = strtod(line + 4, &hex), atol = strtod(hex, &hex);
      while (hex < stop && *hex == ' ') ++hex;
      unsigned char* want = tt_arena_alloc(&arena, (size_t)(stop - hex) / 2 + 1);
      size_t bytes = from_hex(hex, stop, want);
      const tt_type_t* type = func->result_types[result_count];
      if (tt_status_is_ok(status) && (int64_t)bytes != tt_type_bytes(type)) {
        status = tt_status_create(TT_INTERNAL, "result %zu has %lld bytes, expected %zu", result_count, (long long)tt_type_bytes(type), bytes);
      }
      if (tt_status_is_ok(status)) status = compare(type, result_count, results[result_count], (char*)want, rtol, atol);
      ++result_count;
    }
    line = stop < end ? stop : NULL;
  }
  tt_arena_deinitialize(&arena);
  tt_module_release(module);
  return status;
}

static int passed_cases;
static void run_file(const char* path, const char* part) {
  FILE* file = fopen(path, "rb");
  if (!file) {
    TT_TEST_FAIL("cannot open %s", path);
    return;
  }
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char* text = malloc((size_t)size + 1);
  size_t got = fread(text, 1, (size_t)size, file);
  fclose(file);
  text[got] = 0;
  for (char* at = strstr(text, "@@ "); at;) {
    char* next = strstr(at + 3, "\n@@ ");
    char* end = next ? next : text + got;
    char* line = strchr(at, '\n');
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(line - at - 3), at + 3);
    if (strstr(name, part)) {
      char saved = *end;
      *end = 0;
      op_seconds = 0;
      tt_status_t status = run_case(line + 1, end);
      *end = saved;
      if (tt_status_is_ok(status)) ++passed_cases;
      else TT_TEST_FAIL("%s: %s", name, tt_status_message(status));
      tt_status_free(status);
      if (timed) printf("%s: %.3f ms\n", name, op_seconds * 1e3);
    }
    at = next ? next + 1 : NULL;
  }
  free(text);
}

TT_TEST(cases, all) {
  char folder[1024];
  snprintf(folder, sizeof folder, "%s", __FILE__);
  *strrchr(folder, '/') = 0;
  strcat(folder, "/cases");
  DIR* dir = opendir(folder);
  TT_EXPECT(dir != NULL);
  for (struct dirent* e; (e = readdir(dir));) {
    if (!strstr(e->d_name, ".txt")) continue;
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    run_file(path, "");
  }
  closedir(dir);
  TT_EXPECT(passed_cases > 0);
}

int main(int argc, char** argv) {
  if (argc > 1 && strchr(argv[1], '/')) {
    timed = getenv("TT_TIMED") != NULL;
    run_file(argv[1], argc > 2 ? argv[2] : "");
    printf("%d cases passed, %d failures\n", passed_cases, tt_test_failures);
    return tt_test_failures != 0;
  }
  return tt_test_main(argc, argv);
}
