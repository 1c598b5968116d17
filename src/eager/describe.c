#include "eager/describe.h"

#include <stdio.h>
#include <string.h>

#include "eager/executable.h"
#include "ir/ir.h"

enum { SHOWN = 8 };   // elements of a list

static _Thread_local char location_file[192];
static _Thread_local int location_line;
static _Atomic(tt_locate_t) locate_callback;

void tt_set_location(const char* file, int line) {
  snprintf(location_file, sizeof(location_file), "%s", file ? file : "");
  location_line = line;
}

void tt_set_locate(tt_locate_t locate) {
  atomic_store_explicit(&locate_callback, locate, memory_order_release);
}

void tt_location_describe(char* out_text, size_t capacity) {
  if (!capacity) return;
  out_text[0] = 0;
  if (!tt_setting_get(TT_SETTING_LOCATIONS) && !tt_setting_get(TT_SETTING_DEBUG)) return;
  if (location_file[0]) {
    snprintf(out_text, capacity, " (%s:%d)", location_file, location_line);
    return;
  }
  // acquire: what the callback needs was there before it was set
  tt_locate_t locate = atomic_load_explicit(&locate_callback, memory_order_acquire);
  char file[TT_LOCATION_BYTES] = "";
  int line = 0;
  if (locate && locate(file, sizeof(file), &line)) snprintf(out_text, capacity, " (%s:%d)", file, line);
}

void tt_describe_location(tt_strbuf_t* out) {
  char text[TT_LOCATION_BYTES];
  tt_location_describe(text, sizeof(text));
  tt_strbuf_puts(out, text);
}

void tt_describe_tensor(const tt_tensor_t* view, tt_strbuf_t* out) {
  if (!view->is_defined) {
    tt_strbuf_puts(out, "None");
    return;
  }
  tt_strbuf_puts(out, view->host_scalar ? "cpu tensor<" : "tensor<");
  for (size_t i = 0; i < view->rank; ++i) tt_strbuf_printf(out, "%lldx", (long long)view->sizes[i]);
  tt_strbuf_printf(out, "%s>",
                   view->dtype && view->dtype < TT_DTYPE_COUNT ? tt_dtype_name(view->dtype) : "?");
}

static void describe_scalar(tt_arg_kind_t kind, const tt_scalar_t* scalar, tt_strbuf_t* out) {
  switch (kind) {
    case TT_ARG_BOOL: tt_strbuf_puts(out, scalar->i ? "True" : "False"); break;
    case TT_ARG_FLOAT: tt_strbuf_printf(out, "%g", scalar->c[0]); break;
    case TT_ARG_COMPLEX: tt_strbuf_printf(out, "%g%+gj", scalar->c[0], scalar->c[1]); break;
    default: tt_strbuf_printf(out, "%lld", (long long)scalar->i); break;
  }
}

static void describe_list(const tt_arg_t* arg, tt_strbuf_t* out) {
  tt_strbuf_putc(out, '[');
  for (uint32_t i = 0; i < arg->count; ++i) {
    if (i) tt_strbuf_puts(out, ", ");
    if (i == SHOWN) {
      tt_strbuf_printf(out, "... %u in all", arg->count);
      break;
    }
    switch (arg->kind) {
      case TT_ARG_TENSORS: tt_describe_tensor(&arg->tensors[i], out); break;
      case TT_ARG_INTS: tt_strbuf_printf(out, "%lld", (long long)arg->ints[i]); break;
      case TT_ARG_FLOATS: tt_strbuf_printf(out, "%g", arg->floats[i]); break;
      case TT_ARG_BOOLS: tt_strbuf_puts(out, arg->bools[i] ? "True" : "False"); break;
      default: describe_scalar(arg->scalars[i].kind, &arg->scalars[i], out); break;
    }
  }
  tt_strbuf_putc(out, ']');
}

static void describe_arg(const tt_arg_t* arg, tt_strbuf_t* out) {
  switch (arg->kind) {
    case TT_ARG_TENSOR: tt_describe_tensor(&arg->tensor, out); break;
    case TT_ARG_TENSORS:
    case TT_ARG_INTS:
    case TT_ARG_FLOATS:
    case TT_ARG_BOOLS:
    case TT_ARG_SCALARS: describe_list(arg, out); break;
    case TT_ARG_BOOL:
    case TT_ARG_INT:
    case TT_ARG_FLOAT:
    case TT_ARG_COMPLEX: describe_scalar(arg->kind, &arg->scalar, out); break;
    case TT_ARG_DTYPE: tt_strbuf_puts(out, tt_dtype_name((tt_dtype_t)arg->integer)); break;
    case TT_ARG_STRING: tt_strbuf_printf(out, "'%s'", arg->text); break;
    case TT_ARG_GENERATOR: tt_strbuf_puts(out, "generator"); break;
    default: tt_strbuf_puts(out, "None"); break;
  }
}

void tt_describe_signature(const tt_call_t* call, uint32_t value_args, tt_strbuf_t* out) {
  tt_strbuf_printf(out, "%s(", tt_eager_op_name(call->op, call->variant));
  uint32_t last = call->arg_count;
  while (last > 0 &&
         (call->args[last - 1].kind == TT_ARG_NONE || call->args[last - 1].kind == TT_ARG_IGNORED))
    --last;
  for (uint32_t i = 0; i < last; ++i) {
    if (i) tt_strbuf_puts(out, ", ");
    tt_arg_kind_t kind = call->args[i].kind;
    bool is_number = kind >= TT_ARG_BOOL && kind <= TT_ARG_COMPLEX;
    if (is_number && i < 32 && (value_args >> i & 1))
      tt_strbuf_puts(out, "a number");
    else
      describe_arg(&call->args[i], out);
  }
  for (uint32_t i = 0; i < call->out_count; ++i) {
    tt_strbuf_puts(out, i ? ", " : "; out=");
    tt_describe_tensor(&call->outs[i], out);
  }
  tt_strbuf_putc(out, ')');
}

void tt_describe_call(const tt_call_t* call, tt_strbuf_t* out) { tt_describe_signature(call, 0, out); }

tt_status_t tt_describe_error(tt_status_t status, const tt_call_t* call) {
  tt_strbuf_t text;
  tt_strbuf_initialize(&text);
  tt_describe_call(call, &text);
  tt_describe_location(&text);
  // tt_lower_run puts the bare name in front; the description says it already.
  const char* message = tt_status_message(status);
  const char* name = tt_eager_op_name(call->op, call->variant);
  const char* bare = strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
  size_t length = strlen(bare);
  if (strncmp(message, bare, length) == 0 && strncmp(message + length, ": ", 2) == 0) message += length + 2;
  tt_status_t described = tt_status_create(tt_status_code(status), "%s: %s", tt_strbuf_text(&text), message);
  tt_strbuf_deinitialize(&text);
  tt_status_free(status);
  return described;
}
