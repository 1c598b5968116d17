// The text printer: modules and functions in pretty form, every operation in MLIR's generic form, which all
// StableHLO readers take. Values are named by their number in the module.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ir/dim.h"
#include "ir/text.h"

typedef struct printer_s {
  const tt_module_t* module;
  uint32_t flags;
  tt_strbuf_t* out;
} printer_t;

#define ELIDE_ELEMENTS 16
#define HEX_BLOB_ELEMENTS 32

static void print_type(printer_t* p, const tt_type_t* type);
static void print_attr(printer_t* p, tt_attr_name_t name, const tt_attr_t* attr);
static void print_op(printer_t* p, const tt_op_t* op, int indent, bool with_regions);

// ---- types -------------------------------------------------------------------------------------

static void print_types(printer_t* p, const tt_type_t* const* types, size_t count, const char* open,
                        const char* close) {
  tt_strbuf_puts(p->out, open);
  for (size_t i = 0; i < count; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    print_type(p, types[i]);
  }
  tt_strbuf_puts(p->out, close);
}

static void print_quant(printer_t* p, const tt_quant_t* quant) {
  const char* storage = tt_dtype_name(quant->storage);
  bool is_unsigned = storage[0] == 'u';  // ui8 is u8 here
  tt_strbuf_printf(p->out, "!quant.uniform<%s%s<%" PRId64 ":%" PRId64 ">:%s", is_unsigned ? "u" : "",
                   is_unsigned ? storage + 2 : storage, quant->storage_min, quant->storage_max,
                   tt_dtype_name(quant->expressed));
  if (quant->axis >= 0) tt_strbuf_printf(p->out, ":%" PRId64, quant->axis);
  tt_strbuf_puts(p->out, quant->axis >= 0 ? ", {" : ", ");
  for (size_t i = 0; i < quant->count; ++i) {
    tt_strbuf_printf(p->out, "%s%.17e", i ? "," : "", quant->scales[i]);
    if (quant->zero_points[i]) tt_strbuf_printf(p->out, ":%" PRId64, quant->zero_points[i]);
  }
  tt_strbuf_puts(p->out, quant->axis >= 0 ? "}>" : ">");
}

static void print_type(printer_t* p, const tt_type_t* type) {
  switch (type->kind) {
    case TT_TYPE_TOKEN: tt_strbuf_puts(p->out, "!stablehlo.token"); return;
    case TT_TYPE_TUPLE: print_types(p, type->elements, type->element_count, "tuple<", ">"); return;
    case TT_TYPE_FUNCTION:
      print_types(p, type->elements, type->input_count, "(", ") -> ");
      print_types(p, type->elements + type->input_count, type->element_count - type->input_count, "(", ")");
      return;
    case TT_TYPE_TENSOR: break;
  }
  tt_strbuf_puts(p->out, "tensor<");
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (tt_dim_is_static(type->dims[i])) tt_strbuf_printf(p->out, "%" PRId64 "x", type->dims[i]);
    else tt_strbuf_puts(p->out, "?x");
  }
  if (type->quant) print_quant(p, type->quant);
  else tt_strbuf_puts(p->out, tt_dtype_name(type->dtype));
  if (type->bounds) {
    tt_strbuf_puts(p->out, ", #stablehlo.bounds<");
    for (uint32_t i = 0; i < type->rank; ++i) {
      if (i) tt_strbuf_puts(p->out, ", ");
      if (type->bounds[i] == TT_DIM_UNKNOWN) tt_strbuf_putc(p->out, '?');
      else tt_strbuf_printf(p->out, "%" PRId64, type->bounds[i]);
    }
    tt_strbuf_putc(p->out, '>');
  } else if (type->encoding) {
    tt_strbuf_printf(p->out, ", %s", type->encoding);
  }
  tt_strbuf_putc(p->out, '>');
}

void tt_type_print(const tt_type_t* type, const tt_module_t* module, tt_strbuf_t* out) {
  printer_t p = {module, TT_PRINT_DEFAULT, out};
  print_type(&p, type);
}

// ---- numbers and strings -----------------------------------------------------------------------

static void print_float(printer_t* p, tt_dtype_t dtype, const void* element) {
  double value = tt_scalar_load_f64(dtype, element);
  if (isfinite(value)) {
    tt_strbuf_printf(p->out, dtype == TT_DTYPE_F64 ? "%.17e" : "%.9e", value);
    return;
  }
  uint64_t bits = 0;  // NaN and infinities are written by their bits
  memcpy(&bits, element, tt_dtype_bytes(dtype));
  tt_strbuf_printf(p->out, "0x%0*" PRIX64, (int)tt_dtype_bytes(dtype) * 2, bits);
}

static void print_element(printer_t* p, tt_dtype_t dtype, const void* element) {
  switch (tt_dtype_class(dtype)) {
    case TT_DTYPE_CLASS_B: tt_strbuf_puts(p->out, *(const uint8_t*)element ? "true" : "false"); return;
    case TT_DTYPE_CLASS_F: print_float(p, dtype, element); return;
    case TT_DTYPE_CLASS_C: {
      tt_dtype_t part = tt_dtype_real_part(dtype);
      tt_strbuf_putc(p->out, '(');
      print_float(p, part, element);
      tt_strbuf_puts(p->out, ", ");
      print_float(p, part, (const char*)element + tt_dtype_bytes(part));
      tt_strbuf_putc(p->out, ')');
      return;
    }
    default:
      if (dtype == TT_DTYPE_U64) tt_strbuf_printf(p->out, "%" PRIu64, *(const uint64_t*)element);
      else tt_strbuf_printf(p->out, "%" PRId64, tt_scalar_load_i64(dtype, element));
  }
}

static void print_elements(printer_t* p, const tt_type_t* type, uint32_t dim, const char** at) {
  if (dim == type->rank) {
    print_element(p, type->dtype, *at);
    *at += tt_dtype_bytes(type->dtype);
    return;
  }
  tt_strbuf_putc(p->out, '[');
  for (int64_t i = 0; i < type->dims[dim]; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    print_elements(p, type, dim + 1, at);
  }
  tt_strbuf_putc(p->out, ']');
}

static bool is_sub_byte(tt_dtype_t dtype) {
  return dtype == TT_DTYPE_S4 || dtype == TT_DTYPE_U4 || dtype == TT_DTYPE_S2 || dtype == TT_DTYPE_U2 ||
         dtype == TT_DTYPE_F4E2M1FN;
}

static void print_dense(printer_t* p, const tt_dense_t* dense) {
  const tt_type_t* type = dense->type;
  int64_t count = tt_type_elems(type);
  tt_strbuf_puts(p->out, "dense<");
  if (count == 0) {
    // no values
  } else if (dense->is_splat) {
    print_element(p, type->dtype, dense->data);
  } else if ((p->flags & TT_PRINT_ELIDE) && count > ELIDE_ELEMENTS) {
    tt_strbuf_puts(p->out, "...");
  } else if (count > HEX_BLOB_ELEMENTS && type->dtype != TT_DTYPE_PRED && !is_sub_byte(type->dtype)) {
    static const char digits[] = "0123456789ABCDEF";
    tt_strbuf_puts(p->out, "\"0x");
    const unsigned char* bytes = dense->data;
    for (int64_t i = 0; i < tt_type_bytes(type); ++i) {
      const char pair[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
      tt_strbuf_append(p->out, pair, 2);
    }
    tt_strbuf_putc(p->out, '"');
  } else {
    const char* at = dense->data;
    print_elements(p, type, 0, &at);
  }
  tt_strbuf_puts(p->out, "> : ");
  print_type(p, type);
}

static void print_string(printer_t* p, tt_string_view_t text) {
  tt_strbuf_putc(p->out, '"');
  for (size_t i = 0; i < text.size; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    if (c == '"' || c == '\\' || c < 32 || c > 126) tt_strbuf_printf(p->out, "\\%02X", c);
    else tt_strbuf_putc(p->out, (char)c);
  }
  tt_strbuf_putc(p->out, '"');
}

static bool is_bare_name(const char* text) {
  if (!*text || !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", *text)) return false;
  for (; *text; ++text) {
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789$.", *text)) return false;
  }
  return true;
}

static void print_symbol(printer_t* p, const char* name) {
  tt_strbuf_putc(p->out, '@');
  if (is_bare_name(name)) tt_strbuf_puts(p->out, name);
  else print_string(p, (tt_string_view_t){name, strlen(name)});
}

// ---- attributes --------------------------------------------------------------------------------

static void print_i64s(printer_t* p, tt_i64s_t list) {
  tt_strbuf_putc(p->out, '[');
  for (size_t i = 0; i < list.size; ++i) tt_strbuf_printf(p->out, "%s%" PRId64, i ? ", " : "", list.data[i]);
  tt_strbuf_putc(p->out, ']');
}

// "name = [..], " unless empty
static void print_field(printer_t* p, const char* name, tt_i64s_t list, bool* first) {
  if (!list.size) return;
  tt_strbuf_printf(p->out, "%s%s = ", *first ? "" : ", ", name);
  print_i64s(p, list);
  *first = false;
}

static void print_conv_side(printer_t* p, char a, int64_t at_a, char b, int64_t at_b, tt_i64s_t spatial) {
  tt_strbuf_putc(p->out, '[');
  for (size_t i = 0; i < spatial.size + 2; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    if ((int64_t)i == at_a) tt_strbuf_putc(p->out, a);
    else if ((int64_t)i == at_b) tt_strbuf_putc(p->out, b);
    for (size_t k = 0; k < spatial.size; ++k) {
      if (spatial.data[k] == (int64_t)i) tt_strbuf_printf(p->out, "%zu", k);
    }
  }
  tt_strbuf_putc(p->out, ']');
}

static const char* enum_kind(tt_attr_name_t name) {
  switch (name) {
    case TT_ATTR_COMPARISON_DIRECTION: return "comparison_direction";
    case TT_ATTR_COMPARE_TYPE: return "comparison_type";
    case TT_ATTR_FFT_TYPE: return "fft_type";
    case TT_ATTR_TRANSPOSE_A: return "transpose";
    case TT_ATTR_RNG_ALGORITHM: return "rng_algorithm";
    case TT_ATTR_RNG_DISTRIBUTION: return "rng_distribution";
    default: return "precision";
  }
}

static void print_entry(printer_t* p, const tt_attr_t* attr) {
  const char* name = attr->name == TT_ATTR_OTHER ? attr->other_name : tt_attr_name_text(attr->name);
  if (is_bare_name(name)) tt_strbuf_puts(p->out, name);
  else print_string(p, (tt_string_view_t){name, strlen(name)});
  if (attr->kind == TT_AK_UNIT) return;
  tt_strbuf_puts(p->out, " = ");
  print_attr(p, attr->name, attr);
}

static void print_dict(printer_t* p, const tt_attr_t* attrs, size_t count) {
  tt_strbuf_putc(p->out, '{');
  for (size_t i = 0; i < count; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    print_entry(p, &attrs[i]);
  }
  tt_strbuf_putc(p->out, '}');
}

// `name` tells how an enumeration is spelled, also for the elements of a list.
static void print_attr(printer_t* p, tt_attr_name_t name, const tt_attr_t* attr) {
  tt_strbuf_t* out = p->out;
  bool first = true;
  switch (attr->kind) {
    case TT_AK_UNIT: tt_strbuf_puts(out, "unit"); return;
    case TT_AK_BOOL: tt_strbuf_puts(out, attr->b ? "true" : "false"); return;
    case TT_AK_INT: {
      tt_dtype_t dtype = attr->dtype ? attr->dtype : TT_DTYPE_S64;
      if (dtype == TT_DTYPE_U64) tt_strbuf_printf(out, "%" PRIu64 " : ui64", (uint64_t)attr->i);
      else tt_strbuf_printf(out, "%" PRId64 " : %s", attr->i, tt_dtype_name(dtype));
      return;
    }
    case TT_AK_FLOAT: {
      tt_dtype_t dtype = attr->dtype ? attr->dtype : TT_DTYPE_F64;
      char element[16] = {0};
      tt_scalar_store_f64(dtype, attr->f, element);
      print_float(p, dtype, element);
      tt_strbuf_printf(out, " : %s", tt_dtype_name(dtype));
      return;
    }
    case TT_AK_STRING: print_string(p, attr->text); return;
    case TT_AK_ENUM:
      if (attr->enum_kind) tt_strbuf_printf(out, "#%s %s>", attr->enum_kind, attr->text.data);
      else tt_strbuf_printf(out, "#stablehlo<%s %s>", enum_kind(name), attr->text.data);
      return;
    case TT_AK_SYMBOL: print_symbol(p, attr->text.data); return;
    case TT_AK_TYPE:
      if (attr->dtype) tt_strbuf_puts(out, tt_dtype_name(attr->dtype));
      else print_type(p, attr->type);
      return;
    case TT_AK_I64S:
      tt_strbuf_printf(out, "array<%s%s", tt_dtype_name(attr->dtype ? attr->dtype : TT_DTYPE_S64),
                       attr->i64s.size ? ": " : "");
      for (size_t i = 0; i < attr->i64s.size; ++i)
        tt_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", attr->i64s.data[i]);
      tt_strbuf_putc(out, '>');
      return;
    case TT_AK_BOOLS:
      tt_strbuf_puts(out, attr->bools.size ? "array<i1: " : "array<i1");
      for (size_t i = 0; i < attr->bools.size; ++i)
        tt_strbuf_printf(out, "%s%s", i ? ", " : "", attr->bools.data[i] ? "true" : "false");
      tt_strbuf_putc(out, '>');
      return;
    case TT_AK_F64S: {
      tt_dtype_t dtype = attr->dtype ? attr->dtype : TT_DTYPE_F64;
      tt_strbuf_printf(out, "array<%s%s", tt_dtype_name(dtype), attr->f64s.size ? ": " : "");
      for (size_t i = 0; i < attr->f64s.size; ++i) {
        char element[16] = {0};
        if (i) tt_strbuf_puts(out, ", ");
        tt_scalar_store_f64(dtype, attr->f64s.data[i], element);
        print_float(p, dtype, element);
      }
      tt_strbuf_putc(out, '>');
      return;
    }
    case TT_AK_DENSE: print_dense(p, &attr->dense); return;
    case TT_AK_ARRAY:
      tt_strbuf_putc(out, '[');
      for (size_t i = 0; i < attr->array.size; ++i) {
        if (i) tt_strbuf_puts(out, ", ");
        print_attr(p, name, &attr->array.data[i]);
      }
      tt_strbuf_putc(out, ']');
      return;
    case TT_AK_DICT: print_dict(p, attr->dict.data, attr->dict.size); return;
    case TT_AK_DOT:
      tt_strbuf_puts(out, "#stablehlo.dot<");
      print_field(p, "lhs_batching_dimensions", attr->dot->lhs_batch, &first);
      print_field(p, "rhs_batching_dimensions", attr->dot->rhs_batch, &first);
      print_field(p, "lhs_contracting_dimensions", attr->dot->lhs_contracting, &first);
      print_field(p, "rhs_contracting_dimensions", attr->dot->rhs_contracting, &first);
      tt_strbuf_putc(out, '>');
      return;
    case TT_AK_CONV: {
      const tt_conv_dims_t* d = attr->conv;
      tt_strbuf_puts(out, "#stablehlo.conv<");
      print_conv_side(p, 'b', d->input_batch, 'f', d->input_feature, d->input_spatial);
      tt_strbuf_putc(out, 'x');
      print_conv_side(p, 'o', d->kernel_output_feature, 'i', d->kernel_input_feature, d->kernel_spatial);
      tt_strbuf_puts(out, "->");
      print_conv_side(p, 'b', d->output_batch, 'f', d->output_feature, d->output_spatial);
      tt_strbuf_putc(out, '>');
      return;
    }
    case TT_AK_GATHER: {
      const tt_gather_dims_t* d = attr->gather;
      tt_strbuf_puts(out, "#stablehlo.gather<");
      print_field(p, "offset_dims", d->offset_dims, &first);
      print_field(p, "collapsed_slice_dims", d->collapsed_slice_dims, &first);
      print_field(p, "operand_batching_dims", d->operand_batching_dims, &first);
      print_field(p, "start_indices_batching_dims", d->start_indices_batching_dims, &first);
      print_field(p, "start_index_map", d->start_index_map, &first);
      tt_strbuf_printf(out, "%sindex_vector_dim = %" PRId64 ">", first ? "" : ", ", d->index_vector_dim);
      return;
    }
    case TT_AK_SCATTER: {
      const tt_scatter_dims_t* d = attr->scatter;
      tt_strbuf_puts(out, "#stablehlo.scatter<");
      print_field(p, "update_window_dims", d->update_window_dims, &first);
      print_field(p, "inserted_window_dims", d->inserted_window_dims, &first);
      print_field(p, "input_batching_dims", d->input_batching_dims, &first);
      print_field(p, "scatter_indices_batching_dims", d->scatter_indices_batching_dims, &first);
      print_field(p, "scatter_dims_to_operand_dims", d->scatter_dims_to_operand_dims, &first);
      tt_strbuf_printf(out, "%sindex_vector_dim = %" PRId64 ">", first ? "" : ", ", d->index_vector_dim);
      return;
    }
    case TT_AK_CHANNEL:
      tt_strbuf_printf(out, "#stablehlo.channel_handle<handle = %" PRId64 ", type = %" PRId64 ">",
                       attr->channel.handle, attr->channel.type);
      return;
    case TT_AK_ALIAS:
      tt_strbuf_puts(out, "#stablehlo.output_operand_alias<output_tuple_indices = ");
      print_i64s(p, attr->alias.output_tuple_indices);
      tt_strbuf_printf(out,
                       ", operand_index = %" PRId64 ", operand_tuple_indices = ", attr->alias.operand_index);
      print_i64s(p, attr->alias.operand_tuple_indices);
      tt_strbuf_putc(out, '>');
      return;
    case TT_AK_ALGORITHM:
    case TT_AK_OPAQUE: tt_strbuf_append(out, attr->text.data, attr->text.size); return;
  }
}

// ---- operations --------------------------------------------------------------------------------

static void print_value(printer_t* p, const tt_value_t* value) {
  if (value->op && value->op->result_count > 1) {
    tt_strbuf_printf(p->out, "%%%" PRIu32 "#%" PRIu32, value->op->results[0].id, value->index);
  } else {
    tt_strbuf_printf(p->out, "%%%" PRIu32, value->id);
  }
}

static void print_location(printer_t* p, const tt_loc_t* loc) {
  if (!(p->flags & TT_PRINT_LOCATIONS) || !loc || (!loc->file && !loc->name)) return;
  tt_strbuf_puts(p->out, " loc(");
  if (loc->name) {
    print_string(p, (tt_string_view_t){loc->name, strlen(loc->name)});
    if (loc->file) tt_strbuf_putc(p->out, '(');
  }
  if (loc->file) {
    print_string(p, (tt_string_view_t){loc->file, strlen(loc->file)});
    tt_strbuf_printf(p->out, ":%" PRId32 ":%" PRId32, loc->line, loc->column);
    if (loc->name) tt_strbuf_putc(p->out, ')');
  }
  tt_strbuf_putc(p->out, ')');
}

static void indent_by(printer_t* p, int indent) {
  for (int i = 0; i < indent; ++i) tt_strbuf_puts(p->out, "  ");
}

static void print_block(printer_t* p, const tt_block_t* block, int indent) {
  if (block->arg_count) {
    indent_by(p, indent);
    tt_strbuf_puts(p->out, "^bb0(");
    for (uint32_t i = 0; i < block->arg_count; ++i) {
      if (i) tt_strbuf_puts(p->out, ", ");
      print_value(p, &block->args[i]);
      tt_strbuf_puts(p->out, ": ");
      print_type(p, block->args[i].type);
    }
    tt_strbuf_puts(p->out, "):\n");
  }
  for (const tt_op_t* op = block->first; op; op = op->next) print_op(p, op, indent + 1, true);
}

static void print_op(printer_t* p, const tt_op_t* op, int indent, bool with_regions) {
  indent_by(p, indent);
  if (op->result_count) {
    tt_strbuf_printf(p->out, "%%%" PRIu32, op->results[0].id);
    if (op->result_count > 1) tt_strbuf_printf(p->out, ":%" PRIu32, op->result_count);
    tt_strbuf_puts(p->out, " = ");
  }
  tt_strbuf_printf(p->out, "\"%s\"(", tt_op_info(op->kind)->name);
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    print_value(p, op->operands[i]);
  }
  tt_strbuf_putc(p->out, ')');
  if (with_regions && op->region_count) {
    tt_strbuf_puts(p->out, " (");
    for (uint32_t i = 0; i < op->region_count; ++i) {
      tt_strbuf_puts(p->out, i ? ", {\n" : "{\n");
      print_block(p, &op->regions[i].block, indent);
      indent_by(p, indent);
      tt_strbuf_putc(p->out, '}');
    }
    tt_strbuf_putc(p->out, ')');
  }
  if (op->attr_count) {
    // In one dictionary: MLIR takes the op's own from it, while one that is none would be lost from <{}>.
    tt_strbuf_putc(p->out, ' ');
    print_dict(p, op->attrs, op->attr_count);
  }
  tt_strbuf_puts(p->out, " : (");
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    print_type(p, op->operands[i]->type);
  }
  tt_strbuf_puts(p->out, ") -> (");
  for (uint32_t i = 0; i < op->result_count; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    print_type(p, op->results[i].type);
  }
  tt_strbuf_putc(p->out, ')');
  print_location(p, op->loc);
  if (with_regions) tt_strbuf_putc(p->out, '\n');
}

void tt_op_print(const tt_op_t* op, tt_strbuf_t* out) {
  printer_t p = {NULL, TT_PRINT_ELIDE, out};
  print_op(&p, op, 0, false);
}

// ---- modules -----------------------------------------------------------------------------------

static void print_func(printer_t* p, const tt_func_t* func) {
  tt_strbuf_printf(p->out, "  func.func %s ", func->is_public ? "public" : "private");
  print_symbol(p, func->name);
  tt_strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < func->body.block.arg_count; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    print_value(p, &func->body.block.args[i]);
    tt_strbuf_puts(p->out, ": ");
    print_type(p, func->body.block.args[i].type);
    if (func->arg_attrs && func->arg_attrs[i].size) {
      tt_strbuf_putc(p->out, ' ');
      print_dict(p, func->arg_attrs[i].data, func->arg_attrs[i].size);
    }
  }
  tt_strbuf_puts(p->out, ") -> (");
  for (uint32_t i = 0; i < func->result_count; ++i) {
    if (i) tt_strbuf_puts(p->out, ", ");
    print_type(p, func->result_types[i]);
    if (func->result_attrs && func->result_attrs[i].size) {
      tt_strbuf_putc(p->out, ' ');
      print_dict(p, func->result_attrs[i].data, func->result_attrs[i].size);
    }
  }
  tt_strbuf_putc(p->out, ')');
  if (func->attrs.size) {
    tt_strbuf_puts(p->out, " attributes ");
    print_dict(p, func->attrs.data, func->attrs.size);
  }
  tt_strbuf_puts(p->out, " {\n");
  for (const tt_op_t* op = func->body.block.first; op; op = op->next) print_op(p, op, 2, true);
  tt_strbuf_puts(p->out, "  }\n");
}

tt_status_t tt_module_print(const tt_module_t* module, uint32_t flags, tt_strbuf_t* out) {
  printer_t p = {module, flags, out};
  tt_strbuf_puts(out, "module");
  if (module->name) {
    tt_strbuf_putc(out, ' ');
    print_symbol(&p, module->name);
  }
  if (module->attrs.size) {
    tt_strbuf_puts(out, " attributes ");
    print_dict(&p, module->attrs.data, module->attrs.size);
  }
  tt_strbuf_puts(out, " {\n");
  for (const tt_func_t* func = module->first_func; func; func = func->next) print_func(&p, func);
  tt_strbuf_puts(out, "}\n");
  return tt_strbuf_status(out);
}
