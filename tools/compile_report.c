#include "compile_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

// ---- JSON --------------------------------------------------------------------------------------
static void put_string(tt_strbuf_t* out, const char* text) {
  tt_strbuf_putc(out, '"');
  for (const char* p = text; *p; ++p) {
    unsigned char c = (unsigned char)*p;
    if (c == '"' || c == '\\') tt_strbuf_printf(out, "\\%c", c);
    else if (c == '\n') tt_strbuf_puts(out, "\\n");
    else if (c == '\t') tt_strbuf_puts(out, "\\t");
    else if (c < 0x20 || c == 0x7f) tt_strbuf_printf(out, "\\u%04x", c);
    else tt_strbuf_putc(out, (char)c);
  }
  tt_strbuf_putc(out, '"');
}

static void put_number(tt_strbuf_t* out, const char* name, int64_t value) {  // -1: unknown
  if (value < 0) tt_strbuf_printf(out, "\"%s\": null", name);
  else tt_strbuf_printf(out, "\"%s\": %" PRId64, name, value);
}

static void put_real(tt_strbuf_t* out, const char* name, double value) {
  if (value < 0 || !isfinite(value)) tt_strbuf_printf(out, "\"%s\": null", name);
  else tt_strbuf_printf(out, "\"%s\": %.9g", name, value);
}

static void put_ahead(const tt_rt_ahead_t* ahead, tt_strbuf_t* out) {
  tt_strbuf_puts(out, ", \"memory\": {");
  const struct {
    const char* name;
    int64_t bytes;
  } rows[] = {
      {"arguments", ahead->argument_bytes}, {"outputs", ahead->output_bytes}, {"aliased", ahead->alias_bytes},
      {"temporaries", ahead->temp_bytes},   {"code", ahead->code_bytes},      {"peak", ahead->peak_bytes},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(rows); ++i) {
    if (i) tt_strbuf_puts(out, ", ");
    put_number(out, rows[i].name, rows[i].bytes);
  }
  tt_strbuf_puts(out, "}, ");
  put_real(out, "flops", ahead->flops);
  tt_strbuf_puts(out, ", ");
  put_real(out, "bytes_accessed", ahead->accessed_bytes);
  if (!ahead->has_program) {
    tt_strbuf_puts(out, ", \"aliases\": null, \"collectives\": null");
  } else {
    tt_strbuf_puts(out, ", \"aliases\": [");
    for (size_t i = 0; i < ahead->alias_count; ++i) {
      tt_strbuf_printf(out, "%s[%" PRId64 ", %" PRId64 "]", i ? ", " : "", ahead->aliases[i].output,
                       ahead->aliases[i].parameter);
    }
    tt_strbuf_puts(out, "], \"collectives\": {");
    bool first = true;
    for (int i = 0; i < TT_RT_COLLECTIVE_COUNT; ++i) {
      if (!ahead->collectives[i]) continue;
      tt_strbuf_printf(out, "%s\"%s\": %" PRId64, first ? "" : ", ",
                       tt_rt_collective_name((tt_rt_collective_t)i), ahead->collectives[i]);
      first = false;
    }
    tt_strbuf_putc(out, '}');
  }
  tt_strbuf_printf(out, ", \"serialized_bytes\": %zu", ahead->size);
}

void tt_compile_report_json(const tt_compile_outcome_t* outcome, tt_strbuf_t* out) {
  tt_strbuf_puts(out, "{\"program\": ");
  put_string(out, outcome->program);
  tt_strbuf_puts(out, ", \"topology\": ");
  put_string(out, outcome->topology);
  tt_strbuf_puts(out, ", \"status\": ");
  put_string(out, outcome->status);
  tt_strbuf_puts(out, ", \"code\": ");
  put_string(out, tt_status_code_name(outcome->code));
  tt_strbuf_puts(out, ", \"error\": ");
  put_string(out, outcome->error);
  tt_strbuf_printf(out, ", \"seconds\": %.3f", outcome->seconds);
  if (outcome->ahead) put_ahead(outcome->ahead, out);
  tt_strbuf_puts(out, "}\n");
}

// ---- what a program holds ----------------------------------------------------------------------
#define LARGEST 3
typedef struct value_s {
  int64_t bytes;
  const tt_type_t* type;
  const char* what;  // "argument", or the op's name
  int64_t number;  // of the argument; -1: a value
} value_t;
typedef struct holdings_s {
  value_t arguments[LARGEST], values[LARGEST];  // the largest, largest first; bytes 0: none
  int64_t argument_bytes, wide_bytes;  // of all arguments; of those of 4 and 8 byte floats
  int64_t donatable_bytes;  // results that an argument of that type, not given yet, could hold
} holdings_t;

static void keep_largest(value_t* list, value_t value) {
  for (int i = 0; i < LARGEST; ++i) {
    if (value.bytes <= list[i].bytes) continue;
    value_t moved = list[i];
    list[i] = value;
    value = moved;
  }
}

static tt_status_t note_op(void* self, tt_op_t* op) {
  holdings_t* out = self;
  for (uint32_t i = 0; i < op->result_count; ++i) {
    const tt_type_t* type = op->results[i].type;
    if (type->kind != TT_TYPE_TENSOR) continue;
    keep_largest(out->values, (value_t){tt_type_bytes(type), type, tt_op_info(op->kind)->name, -1});
  }
  return TT_OK_STATUS;
}

static bool is_given(tt_func_t* func, uint32_t argument) {
  if (!func->arg_attrs) return false;
  const tt_attr_t* list = func->arg_attrs[argument].data;
  size_t count = func->arg_attrs[argument].size;
  return tt_attr_find(list, count, TT_ATTR_ALIASING_OUTPUT) ||
         tt_attr_find(list, count, TT_ATTR_BUFFER_DONOR);
}

// Each result may take one argument's place.
static int64_t donatable(tt_func_t* func) {
  uint32_t count = func->body.block.arg_count;
  bool* used = calloc(count ? count : 1, 1);
  if (!used) return 0;  // only advice is lost
  int64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) used[i] = is_given(func, i);
  for (uint32_t r = 0; r < func->result_count; ++r) {
    bool placed = false;
    for (uint32_t i = 0; i < count && !placed; ++i) {
      placed = !used[i] && func->body.block.args[i].type == func->result_types[r];  // types are interned
      if (placed) used[i] = true;
    }
    if (placed) bytes += TT_MAX(tt_type_bytes(func->result_types[r]), 0);
  }
  free(used);
  return bytes;
}

static void look(tt_module_t* module, holdings_t* out) {
  tt_func_t* func = tt_module_main(module);
  if (!func) return;
  for (uint32_t i = 0; i < func->body.block.arg_count; ++i) {
    const tt_type_t* type = func->body.block.args[i].type;
    if (type->kind != TT_TYPE_TENSOR) continue;
    int64_t bytes = TT_MAX(tt_type_bytes(type), 0);
    out->argument_bytes += bytes;
    if (tt_dtype_is_float(type->dtype) && tt_dtype_bytes(type->dtype) >= 4) out->wide_bytes += bytes;
    keep_largest(out->arguments, (value_t){bytes, type, "argument", (int64_t)i});
  }
  out->donatable_bytes = donatable(func);
  tt_status_ignore(tt_func_walk(func, note_op, out));  // note_op never fails
}

// ---- text --------------------------------------------------------------------------------------
static void put_amount(tt_strbuf_t* out, double value, const char* unit) {
  static const char prefixes[] = " kMGTPE";
  int i = 0;
  while (value >= 1000 && i < 6) {
    value /= 1000;
    ++i;
  }
  if (i == 0) tt_strbuf_printf(out, "%.4g %s", value, unit);
  else tt_strbuf_printf(out, "%.4g %c%s", value, prefixes[i], unit);
}

static void put_bytes(tt_strbuf_t* out, int64_t bytes) {
  static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = (double)bytes;
  int i = 0;
  while (value >= 1024 && i < 5) {
    value /= 1024;
    ++i;
  }
  tt_strbuf_printf(out, i ? "%.2f %s" : "%.0f %s", value, units[i]);
}

static void put_row(tt_strbuf_t* out, const char* name, int64_t bytes, const char* note) {
  tt_strbuf_printf(out, "  %-14s", name);
  if (bytes < 0) {
    tt_strbuf_puts(out, "not told by the plugin\n");
    return;
  }
  tt_strbuf_printf(out, "%16" PRId64 " B  ", bytes);
  put_bytes(out, bytes);
  tt_strbuf_printf(out, "%s%s\n", note[0] ? "  " : "", note);
}

static void put_largest(tt_strbuf_t* out, const value_t* list, const tt_module_t* module) {
  for (int i = 0; i < LARGEST && list[i].bytes > 0; ++i) {
    tt_strbuf_puts(out, i ? ", " : " ");
    if (list[i].number >= 0) tt_strbuf_printf(out, "%s %" PRId64 " ", list[i].what, list[i].number);
    else tt_strbuf_printf(out, "%s ", list[i].what);
    tt_type_print(list[i].type, module, out);
    tt_strbuf_puts(out, " (");
    put_bytes(out, list[i].bytes);
    tt_strbuf_putc(out, ')');
  }
  tt_strbuf_putc(out, '\n');
}

// "exceeds available HBM (15.75G)", "used 64.00G of 15.75G hbm", "total memory required ... (64.00G)": the
// compiler's two figures, where its message has them.
static bool read_gib(const char* text, const char* word, double* out) {
  const char* at = strstr(text, word);
  if (!at) return false;
  at += strcspn(at, "(0123456789");
  if (*at == '(') ++at;
  char* end;
  double value = strtod(at, &end);
  if (end == at) return false;
  if (*end == 'T') value *= 1024;
  else if (*end == 'M') value /= 1024;
  else if (*end == 'K') value /= 1024 * 1024;
  else if (*end != 'G') return false;
  *out = value;
  return true;
}

// What would make it fit. `need` and `have` in GiB, 0 where they are not known.
static void put_advice(tt_strbuf_t* out, double need, double have, const tt_slice_t* slice, const char* text,
                       size_t size) {
  tt_strbuf_puts(out, "advice:\n");
  if (need > 0 && have > 0) {
    int64_t devices = 1;
    while ((double)devices * have < need && devices < 65536) devices *= 2;
    tt_strbuf_printf(
        out,
        "  it needs %.2f GiB a device and there are %.2f; split evenly it takes %lld devices or more "
        "(%s has %lld)\n",
        need, have, (long long)devices, slice->chip->name, (long long)slice->devices);
  }
  tt_module_t* module = NULL;
  holdings_t holdings;
  memset(&holdings, 0, sizeof(holdings));
  tt_status_t status = text ? tt_module_parse(text, size, &module) : TT_OK_STATUS;
  tt_status_ignore(status);  // then there is less to say
  if (module) look(module, &holdings);
  if (holdings.arguments[0].bytes) {
    tt_strbuf_puts(out, "  largest arguments:");
    put_largest(out, holdings.arguments, module);
  }
  if (holdings.values[0].bytes) {
    tt_strbuf_puts(out, "  largest values:");
    put_largest(out, holdings.values, module);
    tt_strbuf_puts(
        out, "  values shrink with the batch or the sequence, or by recomputing them in the backward pass\n");
  }
  if (holdings.donatable_bytes > 0) {
    tt_strbuf_puts(out, "  donating arguments whose type a result has would save ");
    put_bytes(out, holdings.donatable_bytes);
    tt_strbuf_putc(out, '\n');
  }
  if (holdings.wide_bytes > 0) {
    tt_strbuf_puts(out, "  arguments in bf16 instead of wider floats would save ");
    put_bytes(out, holdings.wide_bytes / 2);
    tt_strbuf_puts(out, " or more\n");
  }
  if (module) tt_module_release(module);
}

static void put_work(tt_strbuf_t* out, const tt_rt_ahead_t* ahead, const tt_slice_t* slice) {
  tt_strbuf_puts(out, "  flops         ");
  if (ahead->flops < 0) {
    tt_strbuf_puts(out, "not told by the plugin\n");
  } else {
    put_amount(out, ahead->flops, "FLOP");
    double peak = slice->chip->bf16_flops / slice->chip->devices_per_chip;
    tt_strbuf_printf(out, " (%.3g us at the device's bf16 peak of %.0f TFLOP/s)\n", ahead->flops / peak * 1e6,
                     peak / 1e12);
  }
  tt_strbuf_puts(out, "  accesses      ");
  if (ahead->accessed_bytes < 0) tt_strbuf_puts(out, "not told by the plugin\n");
  else put_bytes(out, (int64_t)ahead->accessed_bytes), tt_strbuf_putc(out, '\n');
  tt_strbuf_puts(out, "  collectives  ");
  bool any = false;
  for (int i = 0; i < TT_RT_COLLECTIVE_COUNT; ++i) {
    if (!ahead->collectives[i]) continue;
    tt_strbuf_printf(out, "%s %s x %" PRId64, any ? "," : "", tt_rt_collective_name((tt_rt_collective_t)i),
                     ahead->collectives[i]);
    any = true;
  }
  tt_strbuf_puts(out, any ? "\n" : ahead->has_program ? " none\n" : " not told by the plugin\n");
  if (!ahead->alias_count) return;
  tt_strbuf_puts(out, "  donated      ");
  for (size_t i = 0; i < ahead->alias_count; ++i) {
    tt_strbuf_printf(out, "%s argument %" PRId64 " -> output %" PRId64, i ? "," : "",
                     ahead->aliases[i].parameter, ahead->aliases[i].output);
  }
  tt_strbuf_putc(out, '\n');
}

void tt_compile_report_text(const tt_compile_outcome_t* outcome, const char* kind, const tt_slice_t* slice,
                            const char* text, size_t size, tt_strbuf_t* out) {
  tt_strbuf_printf(out, "%s for %s", outcome->program, outcome->topology);
  if (kind && kind[0]) tt_strbuf_printf(out, " (%s, %lld devices)", kind, (long long)slice->devices);
  if (!outcome->ahead) {
    int line = (int)strcspn(outcome->error, "\n");  // the rest stands in the JSON line
    tt_strbuf_printf(out, ": %s: %s: %.*s\n", outcome->status, tt_status_code_name(outcome->code), line,
                     outcome->error);
    double need = 0, have = 0;
    if (outcome->code == TT_RESOURCE_EXHAUSTED && strstr(outcome->error, "HBM")) {
      if (!read_gib(outcome->error, "required for", &need)) read_gib(outcome->error, "Used ", &need);
      if (!read_gib(outcome->error, "available HBM", &have)) read_gib(outcome->error, " of ", &have);
      put_advice(out, need, have, slice, text, size);
    }
    return;
  }
  const tt_rt_ahead_t* ahead = outcome->ahead;
  tt_strbuf_printf(out, ": compiled in %.2f s, %zu bytes", outcome->seconds, ahead->size);
  if (outcome->output) tt_strbuf_printf(out, " in %s", outcome->output);
  tt_strbuf_putc(out, '\n');
  put_row(out, "arguments", ahead->argument_bytes, "");
  put_row(out, "outputs", ahead->output_bytes, "");
  put_row(out, "aliased", ahead->alias_bytes,
          ahead->alias_bytes > 0 ? "(outputs in the place of donated arguments)" : "");
  put_row(out, "temporaries", ahead->temp_bytes, "");
  put_row(out, "code", ahead->code_bytes, "");
  put_row(out, "peak", ahead->peak_bytes, "(the compiler's estimate)");
  bool known = ahead->argument_bytes >= 0 && ahead->output_bytes >= 0 && ahead->alias_bytes >= 0 &&
               ahead->temp_bytes >= 0 && ahead->code_bytes >= 0;
  double fraction = 0;
  if (known) {
    int64_t total = ahead->argument_bytes + ahead->output_bytes - ahead->alias_bytes + ahead->temp_bytes +
                    ahead->code_bytes;
    int64_t hbm = slice->chip->hbm_bytes / slice->chip->devices_per_chip;
    fraction = (double)total / (double)hbm;
    put_row(out, "together", total, "");
    tt_strbuf_printf(out, "  %.1f %% of the device's ", 100 * fraction);
    put_bytes(out, hbm);
    tt_strbuf_puts(out, " of HBM\n");
  }
  put_work(out, ahead, slice);
  if (fraction > 0.8) put_advice(out, 0, 0, slice, text, size);
}
