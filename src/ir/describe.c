#include "ir/describe.h"

#include <stdarg.h>
#include <string.h>

#include "base/format.h"
#include "ir/dim.h"

typedef struct cursor_s { char* text; size_t used, size; } cursor_t;

static void put(cursor_t* c, const char* format, ...) TT_PRINTF(2, 3);
static void put(cursor_t* c, const char* format, ...) {
  if (c->used + 1 >= c->size) return;
  va_list args;
  va_start(args, format);
  int length = tt_format_va(c->text + c->used, c->size - c->used, format, args);
  va_end(args);
  if (length < 0) return;
  c->used += (size_t)length;
  if (c->used >= c->size) {  // cut
    memcpy(c->text + c->size - 4, "...", 4);
    c->used = c->size - 1;
  }
}

static void put_dim(cursor_t* c, const tt_module_t* module, tt_dim_t dim) {
  if (dim >= 0) {
    put(c, "%lld", (long long)dim);
  } else if (dim == TT_DIM_UNKNOWN || !module || !module->dims) {
    put(c, "?");
  } else {
    tt_strbuf_t text;
    tt_strbuf_initialize(&text);
    tt_dim_print(module, dim, &text);
    put(c, "%s", text.failed ? "?" : tt_strbuf_text(&text));
    tt_strbuf_deinitialize(&text);
  }
}

static void put_type(cursor_t* c, const tt_module_t* module, const tt_type_t* type, int depth) {
  if (!type) {
    put(c, "<no type>");
    return;
  }
  if (type->kind == TT_TYPE_TOKEN) {
    put(c, "!stablehlo.token");
  } else if (type->kind == TT_TYPE_TENSOR) {
    put(c, "tensor<");
    for (uint32_t i = 0; i < type->rank; ++i) {
      put_dim(c, module, type->dims[i]);
      put(c, "x");
    }
    put(c, "%s%s", type->quant ? "quantised " : "", tt_dtype_name(type->dtype));
    if (type->bounds) {
      put(c, ", bounds");
      for (uint32_t i = 0; i < type->rank; ++i) {
        put(c, i ? ", " : " ");
        put_dim(c, NULL, type->bounds[i]);
      }
    }
    put(c, ">");
  } else if (depth > 4) {
    put(c, "...");
  } else {
    put(c, type->kind == TT_TYPE_TUPLE ? "tuple<" : "(");
    for (uint32_t i = 0; i < type->element_count; ++i) {
      bool at_arrow = type->kind == TT_TYPE_FUNCTION && i == type->input_count;
      put(c, "%s", at_arrow ? ") -> (" : i ? ", " : "");
      put_type(c, module, type->elements[i], depth + 1);
    }
    put(c, type->kind == TT_TYPE_TUPLE ? ">" : ")");
  }
}

const char* tt_describe_type(const tt_module_t* module, const tt_type_t* type, tt_describe_t* buffer) {
  cursor_t c = {buffer->text, 0, sizeof(buffer->text)};
  put_type(&c, module, type, 0);
  return buffer->text;
}

const char* tt_describe_dim(const tt_module_t* module, tt_dim_t dim, tt_describe_t* buffer) {
  cursor_t c = {buffer->text, 0, sizeof(buffer->text)};
  put_dim(&c, module, dim);
  return buffer->text;
}

const char* tt_describe_op(const tt_op_t* op, tt_describe_t* buffer) {
  cursor_t c = {buffer->text, 0, sizeof(buffer->text)};
  if (op->result_count && op->results) {
    put(&c, "%%%u", op->results[0].id);
    if (op->result_count > 1) put(&c, ":%u", op->result_count);
    put(&c, " = ");
  }
  put(&c, "%s(", tt_op_info(op->kind)->name);
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    if (op->operands[i]) put(&c, "%s%%%u", i ? ", " : "", op->operands[i]->id);
  }
  put(&c, ")");
  return buffer->text;
}
