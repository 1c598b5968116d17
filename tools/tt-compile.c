// tt-compile: StableHLO files to TPU executables and a report, ahead of time and without a TPU.
//
//   parent: options, schedule, reports     worker (this program, another process): libtpu
//   ask "path\n" ------------------------> compiles
//   reads <------------------------------- "json bytes, text bytes\n", JSON line, text
//
// Invariants: a worker answers requests in order, one each; a program during which a worker died or overran
// its time is tried once more as the first one of a fresh worker, and only that failure is reported: what one
// program leaves behind in a process is not held against the next.
#define _GNU_SOURCE
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "child.h"
#include "compile_report.h"
#include "find_plugin.h"
#include "npy.h"
#include "runtime/ahead.h"
#include "runtime/discovery.h"

enum { EXIT_SOME = 1, EXIT_USAGE = 2 };
#define MAX_JOBS 32

static const char usage[] =
    "usage: tt-compile --topology NAME [options] program.mlir...\n"
    "  --topology NAME     v5e:2x2, v6e:2x4, v5p:2x2x1, tpu7x:2x2x1, ... or a Cloud type: v5litepod-8, "
    "v6e-4, v5p-8\n"
    "  --plugin PATH       the compiler: libtpu.so (default: the installed libtpu) or vtpu\n"
    "  --replicas N --partitions N   devices of the program (default 1 and 1)\n"
    "  --report FILE       a JSON line for each program, in the order given; - is standard output\n"
    "  --output-dir DIR    write each executable to DIR/<program's name>.pjrt\n"
    "  --timeout SECONDS   for one program (default 300)\n"
    "  --jobs N            worker processes (default 1)\n"
    "  --quiet             no text report\n"
    "exit code: 0 every program compiled, 1 some did not, 2 wrong usage, no compiler or an unknown topology\n"
    "A program that ends the compiler's process or overruns its time is an error of that program.\n";

typedef struct options_s {
  const char *topology, *plugin, *report, *output_dir;
  uint64_t replicas, partitions, timeout, jobs;
  bool quiet, is_worker;
  const char** programs;
  size_t program_count;
  char plugin_path[4096];
} options_t;

// ---- options -----------------------------------------------------------------------------------
static bool read_number(const char* name, const char* text, uint64_t least, uint64_t most, uint64_t* out) {
  char* end;
  unsigned long long value = strtoull(text, &end, 10);
  if (end == text || *end || *text == '-' || value < least || value > most) {
    fprintf(stderr, "tt-compile: %s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'\n", name, least,
            most, text);
    return false;
  }
  *out = value;
  return true;
}

static bool read_option(const char* name, const char* value, options_t* out) {
  if (strcmp(name, "--topology") == 0) out->topology = value;
  else if (strcmp(name, "--plugin") == 0) out->plugin = value;
  else if (strcmp(name, "--report") == 0) out->report = value;
  else if (strcmp(name, "--output-dir") == 0) out->output_dir = value;
  else if (strcmp(name, "--replicas") == 0) return read_number(name, value, 1, 65536, &out->replicas);
  else if (strcmp(name, "--partitions") == 0) return read_number(name, value, 1, 65536, &out->partitions);
  else if (strcmp(name, "--timeout") == 0) return read_number(name, value, 1, 86400, &out->timeout);
  else if (strcmp(name, "--jobs") == 0) return read_number(name, value, 1, MAX_JOBS, &out->jobs);
  else {
    fprintf(stderr, "tt-compile: unknown option %s\n", name);
    return false;
  }
  return true;
}

static bool read_options(int argc, char** argv, options_t* out) {
  *out = (options_t){.replicas = 1, .partitions = 1, .timeout = 300, .jobs = 1};
  out->programs = calloc((size_t)argc + 1, sizeof(char*));
  if (!out->programs) return false;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--quiet") == 0) {
      out->quiet = true;
      continue;
    }
    if (strcmp(argv[i], "--worker") == 0) {
      out->is_worker = true;
      continue;
    }  // only for itself
    if (strncmp(argv[i], "--", 2) != 0) {
      if (strchr(argv[i], '\n')) {
        fprintf(stderr, "tt-compile: a path with a line break\n");
        return false;
      }
      out->programs[out->program_count++] = argv[i];
      continue;
    }
    if (i + 1 == argc) {
      fprintf(stderr, "tt-compile: %s needs a value\n", argv[i]);
      return false;
    }
    if (!read_option(argv[i], argv[i + 1], out)) return false;
    ++i;
  }
  if (!out->topology) {
    fprintf(stderr, "tt-compile: no --topology\n");
    return false;
  }
  if (!out->is_worker && !out->program_count) {
    fprintf(stderr, "tt-compile: no program\n");
    return false;
  }
  return true;
}

// ---- worker ------------------------------------------------------------------------------------
typedef struct worker_s {
  const options_t* options;
  tt_rt_topology_t* topology;
} worker_t;

static bool write_all(int descriptor, const char* data, size_t size) {
  while (size) {
    ssize_t written = write(descriptor, data, size);
    if (written <= 0) return false;
    data += written;
    size -= (size_t)written;
  }
  return true;
}

static bool answer(const tt_strbuf_t* json, const tt_strbuf_t* text) {
  char head[64];
  int size = snprintf(head, sizeof(head), "%zu %zu\n", json->size, text->size);
  return write_all(TT_CHILD_ANSWER_FD, head, (size_t)size) &&
         write_all(TT_CHILD_ANSWER_FD, json->data, json->size) &&
         write_all(TT_CHILD_ANSWER_FD, text->data, text->size);
}

static tt_status_t write_executable(const char* path, const tt_rt_ahead_t* ahead) {
  FILE* file = fopen(path, "wb");
  bool ok = file && fwrite(ahead->bytes, 1, ahead->size, file) == ahead->size;
  if (file && fclose(file) != 0) ok = false;
  return ok ? TT_OK_STATUS
            : tt_status_create(TT_UNAVAILABLE, "cannot write %zu bytes to %s", ahead->size, path);
}

static void output_path(const options_t* options, const char* program, char* out, size_t capacity) {
  char copy[4096];
  snprintf(copy, sizeof(copy), "%s", program);
  char* name = basename(copy);
  char* dot = strrchr(name, '.');
  if (dot && dot != name) *dot = '\0';
  snprintf(out, capacity, "%s/%s.pjrt", options->output_dir, name);
}

static bool compile_one(const worker_t* worker, const char* path) {
  const options_t* options = worker->options;
  char *text = NULL, output[4096];
  size_t size = 0;
  tt_rt_ahead_t ahead;
  memset(&ahead, 0, sizeof(ahead));
  tt_compile_outcome_t outcome = {path, tt_rt_topology_name(worker->topology), "error", TT_OK, "", 0, NULL,
                                  NULL};
  int64_t start = tt_clock_ns();
  tt_status_t status = tt_file_read(path, &text, &size);
  tt_rt_compile_options_t compile = {.num_replicas = (int)options->replicas,
                                     .num_partitions = (int)options->partitions};
  if (tt_status_is_ok(status)) status = tt_rt_compile_ahead(worker->topology, text, size, &compile, &ahead);
  outcome.seconds = (double)(tt_clock_ns() - start) / 1e9;
  if (tt_status_is_ok(status) && options->output_dir) {
    output_path(options, path, output, sizeof(output));
    status = write_executable(output, &ahead);
    outcome.output = output;
  }
  outcome.code = tt_status_code(status);
  outcome.error = tt_status_is_ok(status) ? "" : tt_status_message(status);
  if (tt_status_is_ok(status)) {
    outcome.status = "compiled";
    outcome.ahead = &ahead;
  }
  tt_strbuf_t json, report;
  tt_strbuf_initialize(&json);
  tt_strbuf_initialize(&report);
  tt_compile_report_json(&outcome, &json);
  tt_compile_report_text(&outcome, tt_rt_topology_kind(worker->topology),
                         tt_rt_topology_slice(worker->topology), text, size, &report);
  bool ok = !json.failed && !report.failed && answer(&json, &report);
  tt_strbuf_deinitialize(&json);
  tt_strbuf_deinitialize(&report);
  tt_rt_ahead_deinitialize(&ahead);
  tt_status_free(status);
  tt_free(text);
  return ok;
}

// A compiler that cannot be had is said once: "0 <size>\n" and the message.
static int worker_cannot(tt_status_t status) {
  tt_strbuf_t none, text;
  tt_strbuf_initialize(&none);
  tt_strbuf_initialize(&text);
  tt_strbuf_printf(&text, "%s: %s", tt_status_code_name(tt_status_code(status)), tt_status_message(status));
  answer(&none, &text);
  tt_strbuf_deinitialize(&text);
  tt_status_free(status);
  return EXIT_USAGE;
}

static int work(const options_t* options) {
  worker_t worker = {options, NULL};
  tt_rt_plugin_t* plugin;
  tt_status_t status = tt_rt_plugin_load(options->plugin, &plugin);
  if (tt_status_is_ok(status)) status = tt_rt_topology_create(plugin, options->topology, &worker.topology);
  if (!tt_status_is_ok(status)) return worker_cannot(status);
  char path[4096];
  int code = 0;
  while (!code && fgets(path, sizeof(path), stdin)) {
    path[strcspn(path, "\n")] = '\0';
    if (!compile_one(&worker, path)) code = EXIT_SOME;
  }
  tt_rt_topology_release(worker.topology);
  return code;
}

// ---- parent ------------------------------------------------------------------------------------
typedef enum state_e { WAITING, AGAIN, DONE } state_t;
typedef struct program_s {
  state_t state;
  bool taken, failed;
  char *json, *text;
} program_t;
typedef struct slot_s {
  tt_child_t child;
  size_t served;  // programs that this process has answered
  program_t* program;  // being compiled; NULL: idle
  size_t number;
  int64_t start;
} slot_t;
typedef struct schedule_s {
  const options_t* options;
  tt_slice_t slice;
  char topology[TT_SLICE_NAME_MAX];
  program_t* programs;
  slot_t slots[MAX_JOBS];
  FILE* report;
  size_t printed, done;
  bool any_failed;
  char* fatal;  // no compiler
} schedule_t;

static void print_finished(schedule_t* all) {
  for (; all->printed < all->options->program_count && all->programs[all->printed].state == DONE;
       ++all->printed) {
    program_t* program = &all->programs[all->printed];
    if (all->report && program->json) {
      fputs(program->json, all->report);
      fflush(all->report);
    }
    if (!all->options->quiet && program->text) {
      fputs(program->text, stdout);
      fflush(stdout);
    }
    tt_free(program->json);
    tt_free(program->text);
    program->json = program->text = NULL;
  }
}

static void finish(schedule_t* all, slot_t* slot, char* json, char* text) {
  slot->program->json = json;
  slot->program->text = text;
  slot->program->state = DONE;
  all->any_failed |= !json || !strstr(json, "\"status\": \"compiled\"");
  slot->program = NULL;
  ++all->done;
  print_finished(all);
}

// The line of a dying compiler's output that says why: glog's fatal line, else the last one.
static void reason_line(const char* tail, char* out, size_t capacity) {
  const char *best = "", *line = tail;
  bool fatal = false;
  out[0] = '\0';
  while (*line) {
    size_t size = strcspn(line, "\n");
    bool is_fatal = size > 5 && line[0] == 'F' && line[1] >= '0' && line[1] <= '9';
    if (size && !fatal && (is_fatal || line[0] != ' ')) {
      best = line;
      fatal = is_fatal;
    }
    line += size + (line[size] == '\n');
  }
  snprintf(out, capacity, "%.*s", (int)TT_MIN(strcspn(best, "\n"), capacity - 1), best);
}

// The worker died or was too slow: once more alone, or it is the program's own doing.
static void lose(schedule_t* all, slot_t* slot, bool overran) {
  char how[64], line[1024], error[1536];
  tt_child_end(&slot->child, how, sizeof(how));
  reason_line(slot->child.tail, line, sizeof(line));
  if (slot->served) {
    slot->program->state = AGAIN;
    slot->program->taken = false;
    slot->program = NULL;
    return;
  }
  if (overran) {
    snprintf(error, sizeof(error), "the compiler was still at work after %" PRIu64 " s",
             all->options->timeout);
  } else {
    snprintf(error, sizeof(error), "the compiler ended its process, %s: %s", how, line);
  }
  tt_compile_outcome_t outcome = {all->options->programs[slot->number],
                                  all->topology,
                                  overran ? "timeout" : "crashed",
                                  overran ? TT_DEADLINE_EXCEEDED : TT_INTERNAL,
                                  error,
                                  (double)(tt_clock_ns() - slot->start) / 1e9,
                                  NULL,
                                  NULL};
  tt_strbuf_t json, text;
  tt_strbuf_initialize(&json);
  tt_strbuf_initialize(&text);
  tt_compile_report_json(&outcome, &json);
  tt_compile_report_text(&outcome, NULL, &all->slice, NULL, 0, &text);
  finish(all, slot, json.data, text.data);  // the buffers' memory goes over
}

// Takes a whole answer, if there is one.
static void receive(schedule_t* all, slot_t* slot) {
  tt_strbuf_t* buffer = &slot->child.answer;
  size_t json_size, text_size;
  int head = 0;
  if (!buffer->size || sscanf(buffer->data, "%zu %zu%n", &json_size, &text_size, &head) != 2 ||
      buffer->size < (size_t)head + 1 + json_size + text_size || buffer->data[head] != '\n') {
    return;
  }
  char *json = NULL, *text = NULL, *body = buffer->data + head + 1;
  tt_status_t status = tt_strndup(body + json_size, text_size, &text);
  if (tt_status_is_ok(status)) status = json_size ? tt_strndup(body, json_size, &json) : TT_OK_STATUS;
  buffer->size = 0;  // one request, one answer: nothing else has come
  slot->child.tail_size = 0;
  if (!tt_status_is_ok(status) || !json_size) {
    all->fatal = text;
    tt_status_ignore(status);  // memory is short: there is nothing to say it with
    tt_free(json);
    return;
  }
  ++slot->served;
  finish(all, slot, json, text);
}

static bool start_worker(schedule_t* all, slot_t* slot) {
  const options_t* o = all->options;
  char replicas[24], partitions[24];
  snprintf(replicas, sizeof(replicas), "%" PRIu64, o->replicas);
  snprintf(partitions, sizeof(partitions), "%" PRIu64, o->partitions);
  const char* arguments[] = {
      "--worker",    "--topology", all->topology,  "--plugin", o->plugin,
      "--replicas",  replicas,     "--partitions", partitions, o->output_dir ? "--output-dir" : NULL,
      o->output_dir, NULL};
  tt_status_t status = tt_child_start(arguments, &slot->child);
  slot->served = 0;
  if (tt_status_is_ok(status)) return true;
  tt_status_ignore(tt_strdup(tt_status_message(status), &all->fatal));  // NULL: memory is short as well
  tt_status_free(status);
  return false;
}

// Gives an idle slot its next program. One that failed in company goes first in a fresh worker.
static void give(schedule_t* all, slot_t* slot) {
  const options_t* o = all->options;
  size_t number = o->program_count;
  for (size_t i = 0; i < o->program_count; ++i) {
    program_t* program = &all->programs[i];
    if (program->taken || program->state == DONE) continue;
    if (number == o->program_count || (program->state == AGAIN && all->programs[number].state != AGAIN))
      number = i;
  }
  if (number == o->program_count) return;
  program_t* program = &all->programs[number];
  if (program->state == AGAIN && slot->child.process) tt_child_end(&slot->child, NULL, 0);
  if (!slot->child.process && !start_worker(all, slot)) return;
  program->taken = true;
  slot->program = program;
  slot->number = number;
  slot->start = tt_clock_ns();
  // a worker that is gone already is found out when its answer is waited for: it may have said why
  if (tt_child_ask(&slot->child, o->programs[number], strlen(o->programs[number]))) {
    tt_child_ask(&slot->child, "\n", 1);
  }
}

static void run_schedule(schedule_t* all) {
  size_t jobs = (size_t)TT_MIN(all->options->jobs, all->options->program_count);
  int64_t limit = (int64_t)all->options->timeout * 1000000000;
  while (all->done < all->options->program_count && !all->fatal) {
    tt_child_t* children[MAX_JOBS];
    size_t count = 0;
    int64_t wait = limit;
    for (size_t i = 0; i < jobs && !all->fatal; ++i) {
      slot_t* slot = &all->slots[i];
      if (!slot->program) give(all, slot);
      if (!slot->program) continue;
      children[count++] = &slot->child;
      wait = TT_MIN(wait, slot->start + limit - tt_clock_ns());
    }
    if (all->fatal || !count) continue;
    tt_children_wait(children, count, wait);
    for (size_t i = 0; i < jobs; ++i) {
      slot_t* slot = &all->slots[i];
      if (slot->program) receive(all, slot);
      if (!slot->program || all->fatal) continue;
      bool overran = tt_clock_ns() - slot->start > limit;
      if (overran || tt_child_is_gone(&slot->child)) lose(all, slot, overran);
    }
  }
  for (size_t i = 0; i < jobs; ++i) tt_child_end(&all->slots[i].child, NULL, 0);
}

// libtpu's own switches, where the caller has not set them: no metadata server, no lock file, no log files.
static void quiet_libtpu(void) {
  setenv("TPU_SKIP_MDS_QUERY", "1", 0);
  setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", 0);
  setenv("TPU_LOG_DIR", "disabled", 0);
  setenv("TPU_WORKER_HOSTNAMES", "localhost", 0);
  setenv("TPU_ACCELERATOR_TYPE", "v5litepod-1", 0);
}

static bool choose_plugin(options_t* options) {
  char* path = options->plugin_path;
  size_t capacity = sizeof(options->plugin_path);
  if (options->plugin && strcmp(options->plugin, "vtpu") != 0) return true;
  char folder[4096];
  if (options->plugin) {
    options->plugin = tt_find_vtpu(path, capacity);
    if (!options->plugin)
      fprintf(stderr, "tt-compile: libvtpu.so is not beside this tool: name its path with --plugin\n");
    return options->plugin != NULL;
  }
  tt_rt_system_t system = tt_rt_system();
  if (!tt_rt_find_libtpu(&system, tt_own_folder(folder, sizeof(folder)), path, capacity)) {
    fprintf(
        stderr,
        "tt-compile: libtpu is not installed: pip install libtpu==0.0.51, or name libtpu.so with --plugin or "
        "TPU_LIBRARY_PATH (--plugin vtpu compiles for the virtual TPU)\n");
    return false;
  }
  options->plugin = path;
  return true;
}

static int parent(options_t* options) {
  schedule_t all;
  memset(&all, 0, sizeof(all));
  all.options = options;
  const char* why = tt_slice_parse(options->topology, strlen(options->topology), &all.slice);
  if (why) {
    fprintf(stderr, "tt-compile: unknown topology '%s': %s (tt-compile --help lists the names)\n",
            options->topology, why);
    return EXIT_USAGE;
  }
  tt_slice_name(&all.slice, all.topology);
  if (!choose_plugin(options)) return EXIT_USAGE;
  quiet_libtpu();
  all.programs = calloc(options->program_count, sizeof(program_t));
  if (options->report) all.report = strcmp(options->report, "-") == 0 ? stdout : fopen(options->report, "w");
  if (!all.programs || (options->report && !all.report)) {
    fprintf(stderr, "tt-compile: cannot write %s\n", options->report ? options->report : "a report");
    free(all.programs);
    return EXIT_USAGE;
  }
  if (all.report == stdout) options->quiet = true;
  run_schedule(&all);
  if (all.fatal) fprintf(stderr, "tt-compile: %s\n", all.fatal);
  for (size_t i = 0; i < options->program_count; ++i) {
    tt_free(all.programs[i].json);
    tt_free(all.programs[i].text);
  }
  if (all.report && all.report != stdout && fclose(all.report) != 0) {
    fprintf(stderr, "tt-compile: %s is not complete\n", options->report);
    all.any_failed = true;
  }
  int code = all.fatal ? EXIT_USAGE : all.any_failed ? EXIT_SOME : 0;
  tt_free(all.fatal);
  free(all.programs);
  return code;
}

int main(int argc, char** argv) {
  options_t options;
  if (argc > 1 && strcmp(argv[1], "--help") == 0) {
    fputs(usage, stdout);
    return 0;
  }
  int code = EXIT_USAGE;
  if (read_options(argc, argv, &options)) code = options.is_worker ? work(&options) : parent(&options);
  else fputs("tt-compile --help tells more\n", stderr);
  free(options.programs);
  return code;
}
