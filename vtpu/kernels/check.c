// custom_call @tt.check(pred, values...) {code, message}: false fails the run; "{0}" in the message is value 0.
#include <stdlib.h>

#include "base/strbuf.h"
#include "kernels/loops.h"

typedef struct check_blob_s {
  int64_t code;
  int64_t size;
  char message[];
} check_blob_t;

static tt_status_t check_encode(const tt_op_t* op, tt_arena_t* arena, tt_k_blob_t* out) {
  const tt_attr_t *code = tt_k_own_attr(op, TT_ATTR_CODE), *message = tt_k_own_attr(op, TT_ATTR_MESSAGE);
  bool has_text = message && (message->kind == TT_AK_STRING || message->kind == TT_AK_ENUM);
  const char* text = has_text ? message->text.data : "a check failed";
  size_t size = has_text ? message->text.size : strlen(text);
  check_blob_t* p = tt_k_blob_new(arena, out, tt_align_up(sizeof *p + size + 1, 8));
  if (!p) return tt_k_no_memory();
  p->code = code && code->kind == TT_AK_INT && code->i > 0 ? code->i : TT_INVALID_ARGUMENT;
  p->size = (int64_t)size;
  memcpy(p->message, text, size);
  return TT_OK_STATUS;
}

static void print_value(tt_strbuf_t* out, const tt_k_tensor_t* t) {
  if (tt_k_elems(t) == 0) {
    tt_strbuf_puts(out, "(empty)");
  } else if (t->dtype == TT_DTYPE_PRED) {
    tt_strbuf_puts(out, *(const uint8_t*)t->data ? "True" : "False");
  } else if (t->dtype == TT_DTYPE_U64) {
    uint64_t value;
    memcpy(&value, t->data, 8);
    tt_strbuf_printf(out, "%llu", (unsigned long long)value);
  } else if (tt_dtype_is_float(t->dtype)) {
    tt_strbuf_printf(out, "%g", tt_scalar_load_f64(t->dtype, t->data));
  } else if (tt_dtype_is_complex(t->dtype)) {
    double z[2];
    tt_scalar_load_complex(t->dtype, t->data, z);
    tt_strbuf_printf(out, "%g%+gj", z[0], z[1]);
  } else {
    tt_strbuf_printf(out, "%lld", (long long)tt_scalar_load_i64(t->dtype, t->data));
  }
}

static tt_status_t check_run(const tt_k_env_t* env, const void* blob, const tt_k_tensor_t* x, size_t nx,
                             const tt_k_tensor_t* y, size_t ny) {
  (void)env, (void)y, (void)ny;
  const check_blob_t* p = blob;
  const uint8_t* ok = x->data;
  int64_t n = tt_k_elems(x);
  bool passed = true;
  for (int64_t i = 0; i < n; ++i) passed = passed && ok[i];
  if (TT_LIKELY(passed)) return TT_OK_STATUS;
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  for (const char *c = p->message, *end = c + p->size; c < end;) {
    char* close;
    unsigned long index = 0;
    bool slot = *c == '{' && c + 1 < end && c[1] >= '0' && c[1] <= '9';
    if (slot) {
      index = strtoul(c + 1, &close, 10);   // the message ends in a NUL
      slot = *close == '}' && index + 1 < nx;
    }
    if (slot) {
      print_value(&text, x + 1 + index);
      c = close + 1;
    } else {
      tt_strbuf_putc(&text, *c++);
    }
  }
  tt_status_t status = tt_status_create((tt_status_code_t)p->code, "%s", tt_strbuf_text(&text));
  tt_strbuf_deinitialize(&text);
  return status;
}

const tt_k_op_t tt_k_check_table[] = {
    {.name = "tt_k_any_check__generic", .kind = TT_OP_CUSTOM_CALL, .target = "tt.check", .encode = check_encode,
     .run = check_run},
    {0},
};
