// Lowers one op from a textual description, for the Python tests: tests run the StableHLO text by another
// implementation and compare with PyTorch on the CPU.
//
// Description, words separated by spaces: name variant argument...
//   T dtype dims | W dtype (wrapped number) | L count tensor... | N | I 5 | F 0.5 | B 1 | C re im | IS 1,2 |
//   FS .. | BS 1,0 D dtype | S text | G (generator); dims are "2,3" or "-" for 0-d. An INPLACE or OUT variant
//   names its dtypes by `O dtype` words after the arguments; `Z n,n` gives the sizes of phase 1 of a sized
//   op; `P` makes the scalars that the table calls values parameters, appended after the tensors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/legalise.h"
#include "ir/text.h"
#include "lower/lower.h"

#define MAX_ARGS 64
typedef struct driver_s {
  tt_lower_t L;
  tt_func_t* func;
  char* scalars;   // "arg dtype;" of the parameters added
  uint64_t offset;
} driver_t;

static char* next_word(char** cursor) {
  while (**cursor == ' ') ++*cursor;
  char* word = *cursor;
  while (**cursor && **cursor != ' ') ++*cursor;
  if (**cursor) *(*cursor)++ = 0;
  return word;
}

static size_t parse_ints(const char* text, int64_t* out) {
  size_t count = 0;
  if (!strcmp(text, "-")) return 0;
  for (const char* p = text; *p;) {
    char* end;
    out[count++] = strtoll(p, &end, 10);
    p = *end == ',' ? end + 1 : end;
  }
  return count;
}

static tt_dtype_t parse_dtype(const char* name) { return tt_dtype_from_name(name, strlen(name)); }

static tt_value_t* add_tensor(driver_t* d, const char* dtype, const char* dims) {
  int64_t sizes[TT_MAX_RANK];
  size_t rank = parse_ints(dims, sizes);
  return tt_b_func_add_arg(d->L.b, d->func, tt_b_type(d->L.b, parse_dtype(dtype), rank, sizes));
}

static void parse_tensor(driver_t* d, const char* kind, char** cursor, tt_ltensor_t* out) {
  *out = (tt_ltensor_t){NULL, false};
  if (*kind == 'N') return;
  const char* dtype = next_word(cursor);
  const char* dims = *kind == 'T' ? next_word(cursor) : "-";
  out->value = add_tensor(d, dtype, dims);
  out->is_wrapped_number = *kind == 'W';
}

static tt_value_t* scalar_parameter(tt_lower_t* L, uint32_t arg, tt_dtype_t dtype) {
  driver_t* d = L->self;
  tt_value_t* v = tt_b_func_add_arg(L->b, d->func, tt_b_type(L->b, dtype, 0, NULL));
  sprintf(d->scalars + strlen(d->scalars), "%u %s;", arg, tt_dtype_name(dtype));
  return v;
}

static void random_words(tt_lower_t* L, uint64_t words, tt_value_t** out_seed, tt_value_t** out_offset) {
  driver_t* d = L->self;
  *out_seed = tt_b_scalar_i64(L->b, TT_DTYPE_U64, 1234567);
  *out_offset = tt_b_scalar_i64(L->b, TT_DTYPE_U64, (int64_t)d->offset);
  d->offset += (words + 3) / 4 * 4;
}

// Returns "ok\n<results>\n<scalars>\n<module text>" or "error CODE message"; free by tt_driver_free.
__attribute__((visibility("default"))) char* tt_driver_lower(const char* description, int expand, int checks,
                                                             int elide);
__attribute__((visibility("default"))) void tt_driver_free(char* text);
void tt_driver_free(char* text) { free(text); }

static bool special(const tt_scalar_t* s) {
  static const double values[] = {-2, -1, -0.5, 0, 0.5, 1, 2, 3};
  double v = s->kind == TT_ARG_FLOAT                           ? s->c[0]
             : s->kind == TT_ARG_INT || s->kind == TT_ARG_BOOL ? (double)s->i
                                                               : 0.1;
  for (size_t i = 0; i < TT_ARRAY_LENGTH(values); ++i) {
    if (v == values[i]) return true;
  }
  return false;
}

char* tt_driver_lower(const char* description, int expand, int checks, int elide) {
  char* text = strdup(description);
  char* cursor = text;
  char* answer = NULL;
  tt_target_t target;
  tt_target_vtpu(&target);
  target.checks = checks;
  tt_module_t *module = NULL, *expanded = NULL;
  tt_arena_t arena;
  tt_arena_initialize(&arena);
  tt_builder_t b;
  tt_larg_t args[MAX_ARGS];
  memset(args, 0, sizeof args);
  char scalars[1024] = "";
  driver_t d = {.scalars = scalars};
  d.L = (tt_lower_t){.b = &b,
                     .target = &target,
                     .args = args,
                     .scratch = &arena,
                     .scalar_parameter = scalar_parameter,
                     .random = random_words,
                     .self = &d};
  tt_status_t status = tt_module_create(&module);
  if (!tt_status_is_ok(status)) return strdup("error module");
  tt_builder_initialize(&b, module);
  size_t op = tt_aten_find(next_word(&cursor));
  d.L.variant = (tt_variant_t)atoi(next_word(&cursor));
  if (op == SIZE_MAX) {
    status = tt_status_create(TT_NOT_FOUND, "no such op");
    goto done;
  }
  d.func = tt_b_func_begin(&b, "main", true, 0, NULL);
  bool parameters = false;
  int64_t sized[TT_MAX_RANK];
  while (*cursor) {
    char* kind = next_word(&cursor);
    if (!*kind) break;
    tt_larg_t* a = &args[d.L.arg_count];
    if (!strcmp(kind, "O")) {
      d.L.out_dtypes[d.L.out_count++] = parse_dtype(next_word(&cursor));
      continue;
    }
    if (!strcmp(kind, "Z")) {
      d.L.sized_count = (uint32_t)parse_ints(next_word(&cursor), sized);
      d.L.sized = sized;
      d.L.sized_phase = 1;
      continue;
    }
    if (!strcmp(kind, "P")) {
      parameters = true;
      continue;
    }
    if (!strcmp(kind, "A")) {   // as for another target
      status = tt_target_by_name(next_word(&cursor), &target);
      if (!tt_status_is_ok(status)) goto done;
      continue;
    }
    ++d.L.arg_count;
    if (!strcmp(kind, "T") || !strcmp(kind, "W")) {
      a->kind = TT_ARG_TENSOR;
      parse_tensor(&d, kind, &cursor, &a->tensor);
    } else if (!strcmp(kind, "L")) {
      a->kind = TT_ARG_TENSORS;
      a->count = (uint32_t)atoi(next_word(&cursor));
      tt_ltensor_t* tensors = tt_arena_alloc_array(&arena, a->count + 1, sizeof *tensors);
      for (uint32_t i = 0; i < a->count; ++i) parse_tensor(&d, next_word(&cursor), &cursor, &tensors[i]);
      a->tensors = tensors;
    } else if (!strcmp(kind, "N") || !strcmp(kind, "G")) {
      a->kind = *kind == 'N' ? TT_ARG_NONE : TT_ARG_GENERATOR;
    } else if (!strcmp(kind, "I") || !strcmp(kind, "B")) {
      a->kind = a->scalar.kind = *kind == 'I' ? TT_ARG_INT : TT_ARG_BOOL;
      a->scalar.i = strtoll(next_word(&cursor), NULL, 10);
    } else if (!strcmp(kind, "F") || !strcmp(kind, "C")) {
      a->kind = a->scalar.kind = *kind == 'F' ? TT_ARG_FLOAT : TT_ARG_COMPLEX;
      a->scalar.c[0] = strtod(next_word(&cursor), NULL);
      if (*kind == 'C') a->scalar.c[1] = strtod(next_word(&cursor), NULL);
    } else if (!strcmp(kind, "IS")) {
      int64_t* ints = tt_arena_alloc_array(&arena, 64, sizeof *ints);
      a->kind = TT_ARG_INTS;
      a->count = (uint32_t)parse_ints(next_word(&cursor), ints);
      a->ints = ints;
    } else if (!strcmp(kind, "BS")) {
      int64_t ints[64];
      bool* bools = tt_arena_alloc_array(&arena, 64, sizeof *bools);
      a->kind = TT_ARG_BOOLS;
      a->count = (uint32_t)parse_ints(next_word(&cursor), ints);
      for (uint32_t i = 0; i < a->count; ++i) bools[i] = ints[i] != 0;
      a->bools = bools;
    } else if (!strcmp(kind, "FS")) {
      double* floats = tt_arena_alloc_array(&arena, 64, sizeof *floats);
      a->kind = TT_ARG_FLOATS;
      char* list = next_word(&cursor);
      for (char* p = strcmp(list, "-") ? list : ""; *p;) {
        floats[a->count++] = strtod(p, &p);
        if (*p == ',') ++p;
      }
      a->floats = floats;
    } else if (!strcmp(kind, "D")) {
      a->kind = TT_ARG_DTYPE;
      a->integer = parse_dtype(next_word(&cursor));
    } else if (!strcmp(kind, "S")) {
      a->kind = TT_ARG_STRING;
      a->text = next_word(&cursor);
    } else {
      status = tt_status_create(TT_INVALID_ARGUMENT, "driver: word '%s'", kind);
      goto done;
    }
  }
  if (parameters) {
    uint32_t mask = tt_aten_entry(op)->value_args;
    for (uint32_t i = 0; i < d.L.arg_count && i < 32; ++i) {
      bool number =
          args[i].kind == TT_ARG_INT || args[i].kind == TT_ARG_FLOAT || args[i].kind == TT_ARG_COMPLEX;
      if ((mask >> i & 1) && number) args[i].is_value = !special(&args[i].scalar);
    }
  }
  status = tt_lower_run(op, &d.L);
  if (!tt_status_is_ok(status)) goto done;
  tt_value_t* results[64];
  size_t count = 0;
  char kinds[2048] = "";
  for (uint32_t i = 0; i < d.L.result_count; ++i) {
    if (d.L.results[i].kind == TT_RESULT_TENSOR) {
      results[count++] = d.L.results[i].value;
      strcat(kinds, "r ");
    } else {
      strcat(kinds, d.L.results[i].kind == TT_RESULT_INT ? "i " : "n ");
    }
  }
  for (uint32_t i = 0; i < d.L.write_count && count < 64; ++i) {
    results[count++] = d.L.writes[i].value;
    sprintf(kinds + strlen(kinds), "w%u.%u ", d.L.writes[i].arg, d.L.writes[i].element);
  }
  tt_b_func_end(&b, d.func, count, results);
  status = tt_builder_take_status(&b);
  if (tt_status_is_ok(status)) status = tt_module_verify(module);
  if (tt_status_is_ok(status) && expand) status = tt_lower_expand(module, NULL, &expanded);
  if (tt_status_is_ok(status) && expand) status = tt_module_verify(expanded);
  if (tt_status_is_ok(status)) {
    tt_strbuf_t out;
    tt_strbuf_initialize(&out);
    status = tt_module_print(expanded ? expanded : module, elide ? TT_PRINT_ELIDE : TT_PRINT_DEFAULT, &out);
    if (tt_status_is_ok(status)) {
      answer = malloc(out.size + strlen(kinds) + strlen(scalars) + 64);
      sprintf(answer, "ok\n%s\n%s\n%.*s", kinds, scalars, (int)out.size, out.data);
    }
    tt_strbuf_deinitialize(&out);
  }
done:
  if (!tt_status_is_ok(status)) {
    const char* message = tt_status_message(status);
    answer = malloc(strlen(message) + 128);
    sprintf(answer, "error %s %s", tt_status_code_name(tt_status_code(status)), message);
    tt_status_free(status);
  }
  tt_builder_deinitialize(&b);
  tt_module_release(module);
  tt_module_release(expanded);
  tt_arena_deinitialize(&arena);
  free(text);
  return answer;
}

// StableHLO text made legal for a target of ir/target.h: "ok\n<text>" or "error CODE message".
__attribute__((visibility("default"))) char* tt_driver_legalise(const char* text, const char* name,
                                                                int passes, int emulate);
char* tt_driver_legalise(const char* text, const char* name, int passes, int emulate) {
  tt_target_t target;
  tt_legalise_options_t options = {passes, emulate};
  tt_module_t *module = NULL, *legal = NULL;
  tt_strbuf_t out;
  tt_strbuf_initialize(&out);
  tt_status_t status = tt_target_by_name(name, &target);
  if (tt_status_is_ok(status)) status = tt_module_parse(text, strlen(text), &module);
  if (tt_status_is_ok(status)) status = tt_module_legalise(module, &target, &options, &legal);
  if (tt_status_is_ok(status)) status = tt_module_verify(legal);
  if (tt_status_is_ok(status)) status = tt_module_print(legal, TT_PRINT_DEFAULT, &out);
  char* answer = malloc((tt_status_is_ok(status) ? out.size : strlen(tt_status_message(status))) + 128);
  if (tt_status_is_ok(status)) {
    sprintf(answer, "ok\n%.*s", (int)out.size, out.data);
  } else {
    sprintf(answer, "error %s %s", tt_status_code_name(tt_status_code(status)), tt_status_message(status));
    tt_status_free(status);
  }
  tt_strbuf_deinitialize(&out);
  tt_module_release(module);
  tt_module_release(legal);
  return answer;
}
