#include "eager/signature.h"

#include <string.h>

#include "base/hash.h"
#include "eager/scalar.h"
#include "eager/view.h"

// Bits of a tensor record's header: 0-7 kind, 8-15 dtype, 16-23 rank, 24-31 flags, 32-63 storage + 1.
enum { FLAG_DEFINED = 1, FLAG_HOST = 2, FLAG_WRAPPED = 4, FLAG_STRIDED = 8, FLAG_OFFSET = 16 };
enum { RECORD_WORDS = 2 + 2 * TT_MAX_RANK, STORAGE_WORDS = 1 + TT_MAX_RANK };

static void put_tensor(tt_frame_t* frame, const tt_tensor_t* view, int32_t storage) {
  uint64_t flags = (view->is_defined ? FLAG_DEFINED : 0) | (view->host_scalar ? FLAG_HOST : 0) |
                   (view->is_wrapped_number ? FLAG_WRAPPED : 0);
  uint64_t* key = frame->key + frame->key_count;
  uint64_t* at = key + 1;
  size_t rank = view->rank;
  int64_t expected = 1;
  bool dense = true;
  for (size_t i = rank; i-- > 0;) {
    int64_t size = view->sizes[i];
    at[i] = (uint64_t)size;
    // Strides of size-1 dimensions count: a pointwise result's strides may follow them.
    dense &= view->strides[i] == expected;
    expected *= TT_MAX(size, 1);
  }
  at += rank;
  if (!dense) {
    flags |= FLAG_STRIDED;
    for (size_t i = 0; i < rank; ++i) *at++ = (uint64_t)view->strides[i];
  }
  if (view->offset) {
    flags |= FLAG_OFFSET;
    *at++ = (uint64_t)view->offset;
  }
  key[0] = TT_ARG_TENSOR | (uint64_t)view->dtype << 8 | (uint64_t)rank << 16 | flags << 24 |
           (uint64_t)(uint32_t)(storage + 1) << 32;
  frame->key_count += (size_t)(at - key);
}

static void put_storages(tt_frame_t* frame) {
  for (size_t s = 0; s < frame->storage_count; ++s) {
    const tt_storage_t* cell = frame->storages[s];
    if (!cell->buffer) {
      tt_frame_put(frame, (uint64_t)1 << 63 | cell->bytes);
      continue;
    }
    tt_frame_put(frame, (uint64_t)cell->dtype | (uint64_t)cell->rank << 8 | (uint64_t)cell->padded << 16);
    for (size_t i = 0; i < cell->rank; ++i) tt_frame_put(frame, (uint64_t)cell->dims[i]);
  }
}

static uint64_t double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static void put_scalar(tt_frame_t* frame, const tt_scalar_t* scalar) {
  if (scalar->kind == TT_ARG_FLOAT || scalar->kind == TT_ARG_COMPLEX)
    tt_frame_put(frame, double_bits(scalar->c[0]));
  else
    tt_frame_put(frame, (uint64_t)scalar->i);
  if (scalar->kind == TT_ARG_COMPLEX) tt_frame_put(frame, double_bits(scalar->c[1]));
}

static size_t words_of_arg(const tt_arg_t* arg) {
  switch (arg->kind) {
    case TT_ARG_TENSORS: return 1 + (size_t)arg->count * RECORD_WORDS;
    case TT_ARG_INTS:
    case TT_ARG_FLOATS:
    case TT_ARG_BOOLS: return 1 + (size_t)arg->count;
    case TT_ARG_SCALARS: return 1 + (size_t)arg->count * 3;
    case TT_ARG_STRING: return 2 + strlen(arg->text) / 8;
    default: return RECORD_WORDS;
  }
}

static void put_text(tt_frame_t* frame, const char* text) {
  size_t length = strlen(text);
  tt_frame_put(frame, TT_ARG_STRING | (uint64_t)length << 8);
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, TT_MIN(length - i, 8));
    tt_frame_put(frame, word);
  }
}

static void put_arg(tt_frame_t* frame, const tt_arg_t* arg, uint32_t index, bool is_value) {
  switch (arg->kind) {
    case TT_ARG_TENSOR: {
      size_t view = frame->arg_view[index];
      put_tensor(frame, &arg->tensor, frame->storage_of[view]);
      return;
    }
    case TT_ARG_TENSORS: {
      size_t view = frame->arg_view[index];
      tt_frame_put(frame, TT_ARG_TENSORS | (uint64_t)arg->count << 8);
      for (uint32_t i = 0; i < arg->count; ++i)
        put_tensor(frame, &arg->tensors[i], frame->storage_of[view + i]);
      return;
    }
    case TT_ARG_BOOL:
    case TT_ARG_INT:
    case TT_ARG_FLOAT:
    case TT_ARG_COMPLEX:
      if (is_value && !tt_scalar_is_special(&arg->scalar)) {
        tt_frame_put(frame, (uint64_t)arg->kind | 1 << 8);
      } else {
        tt_frame_put(frame, (uint64_t)arg->kind);
        tt_scalar_t scalar = arg->scalar;
        scalar.kind = arg->kind;
        put_scalar(frame, &scalar);
      }
      return;
    case TT_ARG_INTS:
      tt_frame_put(frame, TT_ARG_INTS | (uint64_t)arg->count << 8);
      for (uint32_t i = 0; i < arg->count; ++i) tt_frame_put(frame, (uint64_t)arg->ints[i]);
      return;
    case TT_ARG_FLOATS:
      tt_frame_put(frame, TT_ARG_FLOATS | (uint64_t)arg->count << 8);
      for (uint32_t i = 0; i < arg->count; ++i) tt_frame_put(frame, double_bits(arg->floats[i]));
      return;
    case TT_ARG_BOOLS:
      tt_frame_put(frame, TT_ARG_BOOLS | (uint64_t)arg->count << 8);
      for (uint32_t i = 0; i < arg->count; ++i) tt_frame_put(frame, arg->bools[i]);
      return;
    case TT_ARG_SCALARS:
      tt_frame_put(frame, TT_ARG_SCALARS | (uint64_t)arg->count << 8);
      for (uint32_t i = 0; i < arg->count; ++i) {
        tt_frame_put(frame, (uint64_t)arg->scalars[i].kind);
        put_scalar(frame, &arg->scalars[i]);
      }
      return;
    case TT_ARG_DTYPE: tt_frame_put(frame, TT_ARG_DTYPE | (uint64_t)arg->integer << 8); return;
    case TT_ARG_STRING: put_text(frame, arg->text); return;
    default: tt_frame_put(frame, (uint64_t)arg->kind); return;
  }
}

tt_status_t tt_signature_build(tt_frame_t* frame, uint32_t value_args, uint32_t sized_count,
                               const int64_t* sized) {
  const tt_call_t* call = frame->call;
  size_t words =
      2 + (size_t)call->out_count * RECORD_WORDS + frame->storage_count * STORAGE_WORDS + sized_count;
  for (uint32_t i = 0; i < call->arg_count; ++i) words += words_of_arg(&call->args[i]);
  TT_RETURN_IF_ERROR(tt_frame_reserve_key(frame, words));
  tt_frame_put(frame, (uint64_t)(uint32_t)call->op | (uint64_t)call->variant << 32 |
                          (uint64_t)frame->device << 40 | (uint64_t)call->out_count << 48);
  tt_frame_put(frame, (uint64_t)tt_setting_get(TT_SETTING_MATMUL_PASSES) | (uint64_t)sized_count << 8 |
                          (uint64_t)call->arg_count << 32 |
                          (uint64_t)tt_setting_get(TT_SETTING_DEFAULT_FLOAT) << 56);
  for (uint32_t i = 0; i < call->arg_count; ++i)
    put_arg(frame, &call->args[i], i, i < 32 && (value_args >> i & 1));
  for (uint32_t i = 0; i < call->out_count; ++i) {
    put_tensor(frame, &call->outs[i], frame->storage_of[frame->arg_view[call->arg_count] + i]);
  }
  put_storages(frame);
  for (uint32_t i = 0; i < sized_count; ++i) tt_frame_put(frame, (uint64_t)sized[i]);
  return TT_OK_STATUS;
}

tt_status_t tt_signature_add_views(tt_frame_t* frame) {
  size_t words = 2 + frame->view_count * RECORD_WORDS + frame->storage_count * STORAGE_WORDS;
  TT_RETURN_IF_ERROR(tt_frame_reserve_key(frame, words));
  tt_frame_put(frame, (uint64_t)(uint32_t)TT_EAGER_OP_GRAPH | (uint64_t)frame->device << 40);
  tt_frame_put(frame, (uint64_t)tt_setting_get(TT_SETTING_MATMUL_PASSES) | (uint64_t)frame->view_count << 32 |
                          (uint64_t)tt_setting_get(TT_SETTING_DEFAULT_FLOAT) << 56);
  for (size_t i = 0; i < frame->view_count; ++i) put_tensor(frame, frame->views[i], frame->storage_of[i]);
  put_storages(frame);
  return TT_OK_STATUS;
}

uint64_t tt_signature_hash(const tt_frame_t* frame) {
  // Two chains hide the multiplier's latency.
  uint64_t a = frame->key_count, b = 0x9e3779b97f4a7c15ull;
  size_t i = 0;
  for (; i + 2 <= frame->key_count; i += 2) {
    a = tt_hash_mix(a, frame->key[i]);
    b = tt_hash_mix(b, frame->key[i + 1]);
  }
  if (i < frame->key_count) a = tt_hash_mix(a, frame->key[i]);
  return tt_hash_mix(a, b);
}

// ---- explaining --------------------------------------------------------------------------------
typedef struct cursor_s {
  const uint64_t* words;
  size_t count, at;
  bool is_truncated;
} cursor_t;

static uint64_t next(cursor_t* c) {
  if (c->at < c->count) return c->words[c->at++];
  c->is_truncated = true;
  return 0;
}

typedef struct record_s {
  unsigned kind, dtype, rank, flags;
  uint32_t storage;
  uint64_t header;
  int64_t sizes[TT_MAX_RANK], strides[TT_MAX_RANK], offset;
} record_t;

static void read_record(cursor_t* c, uint64_t header, record_t* out) {
  *out = (record_t){.kind = header & 0xff,
                    .dtype = header >> 8 & 0xff,
                    .rank = TT_MIN(header >> 16 & 0xff, TT_MAX_RANK),
                    .flags = header >> 24 & 0xff,
                    .storage = (uint32_t)(header >> 32),
                    .header = header};
  for (unsigned i = 0; i < out->rank; ++i) out->sizes[i] = (int64_t)next(c);
  if (out->flags & FLAG_STRIDED) {
    for (unsigned i = 0; i < out->rank; ++i) out->strides[i] = (int64_t)next(c);
  } else {
    tt_view_contiguous_strides(out->rank, out->sizes, out->strides);
  }
  if (out->flags & FLAG_OFFSET) out->offset = (int64_t)next(c);
}

static void print_list(tt_strbuf_t* out, unsigned count, const int64_t* values) {
  tt_strbuf_putc(out, '[');
  for (unsigned i = 0; i < count; ++i) tt_strbuf_printf(out, i ? ", %lld" : "%lld", (long long)values[i]);
  tt_strbuf_putc(out, ']');
}

static bool same_list(unsigned a_count, const int64_t* a, unsigned b_count, const int64_t* b) {
  return a_count == b_count && memcmp(a, b, a_count * sizeof(int64_t)) == 0;
}

static void print_lists(tt_strbuf_t* out, const char* what, const char* where, unsigned a_count,
                        const int64_t* a, unsigned b_count, const int64_t* b) {
  tt_strbuf_printf(out, "%s of %s: ", what, where);
  print_list(out, a_count, a);
  tt_strbuf_puts(out, " -> ");
  print_list(out, b_count, b);
}

// True if a difference was printed.
static bool explain_tensor(cursor_t* a, uint64_t a_header, cursor_t* b, uint64_t b_header, const char* where,
                           tt_strbuf_t* out) {
  record_t x, y;
  read_record(a, a_header, &x);
  read_record(b, b_header, &y);
  if (a->is_truncated || b->is_truncated) return false;
  if (x.dtype != y.dtype) {
    tt_strbuf_printf(out, "dtype of %s: %s -> %s", where, tt_dtype_name(x.dtype), tt_dtype_name(y.dtype));
  } else if (!same_list(x.rank, x.sizes, y.rank, y.sizes)) {
    print_lists(out, "sizes", where, x.rank, x.sizes, y.rank, y.sizes);
  } else if (!same_list(x.rank, x.strides, y.rank, y.strides)) {
    print_lists(out, "strides", where, x.rank, x.strides, y.rank, y.strides);
  } else if (x.offset != y.offset) {
    tt_strbuf_printf(out, "storage offset of %s: %lld -> %lld", where, (long long)x.offset,
                     (long long)y.offset);
  } else if (x.storage != y.storage) {
    tt_strbuf_printf(out, "%s shares its storage with another argument now, or no longer", where);
  } else if (x.header != y.header) {
    tt_strbuf_printf(out, "%s: %s -> %s", where,
                     x.flags & FLAG_HOST      ? "CPU scalar"
                     : x.flags & FLAG_DEFINED ? "tensor"
                                              : "undefined",
                     y.flags & FLAG_HOST      ? "CPU scalar"
                     : y.flags & FLAG_DEFINED ? "tensor"
                                              : "undefined");
  } else {
    return false;
  }
  return true;
}

static void print_value(tt_strbuf_t* out, unsigned kind, uint64_t header, uint64_t word) {
  double number;
  memcpy(&number, &word, sizeof(number));
  if (header >> 8 & 1)
    tt_strbuf_puts(out, "a run-time value");
  else if (kind == TT_ARG_FLOAT || kind == TT_ARG_COMPLEX)
    tt_strbuf_printf(out, "%.17g", number);
  else
    tt_strbuf_printf(out, "%lld", (long long)word);
}

static bool explain_list(cursor_t* a, unsigned a_count, cursor_t* b, unsigned b_count, unsigned kind,
                         const char* where, tt_strbuf_t* out) {
  enum { SHOWN = 16 };
  int64_t x[SHOWN], y[SHOWN];
  bool differs = a_count != b_count;
  for (unsigned i = 0; i < a_count; ++i) {
    int64_t v = (int64_t)next(a);
    if (i < SHOWN) x[i] = v;
  }
  for (unsigned i = 0; i < b_count; ++i) {
    int64_t v = (int64_t)next(b);
    if (i < SHOWN) y[i] = v;
  }
  if (a->is_truncated || b->is_truncated) return false;
  unsigned shown_a = TT_MIN(a_count, SHOWN), shown_b = TT_MIN(b_count, SHOWN);
  differs |= !same_list(shown_a, x, shown_b, y);
  if (!differs) return false;
  if (kind == TT_ARG_FLOATS || kind == TT_ARG_SCALARS)
    tt_strbuf_printf(out, "numbers of %s", where);
  else
    print_lists(out, kind == TT_ARG_STRING ? "text" : "values", where, shown_a, x, shown_b, y);
  return true;
}

static bool explain_arg(cursor_t* a, cursor_t* b, const char* where, tt_strbuf_t* out) {
  uint64_t x = next(a), y = next(b);
  unsigned kind = x & 0xff, other = y & 0xff;
  if (kind != other) {
    tt_strbuf_printf(out, "kind of %s", where);
    return true;
  }
  switch (kind) {
    case TT_ARG_TENSOR: return explain_tensor(a, x, b, y, where, out);
    case TT_ARG_TENSORS: {
      unsigned count = (unsigned)(x >> 8);
      if (x != y) {
        tt_strbuf_printf(out, "tensors in %s: %u -> %u", where, count, (unsigned)(y >> 8));
        return true;
      }
      for (unsigned i = 0; i < count && !a->is_truncated && !b->is_truncated; ++i) {
        tt_strbuf_t name;
        tt_strbuf_initialize(&name);
        tt_strbuf_printf(&name, "%s[%u]", where, i);
        uint64_t p = next(a), q = next(b);
        bool found = explain_tensor(a, p, b, q, tt_strbuf_text(&name), out);
        tt_strbuf_deinitialize(&name);
        if (found) return true;
      }
      return false;
    }
    case TT_ARG_BOOL:
    case TT_ARG_INT:
    case TT_ARG_FLOAT:
    case TT_ARG_COMPLEX: {
      uint64_t p = x >> 8 & 1 ? 0 : next(a), q = y >> 8 & 1 ? 0 : next(b);
      uint64_t p2 = kind == TT_ARG_COMPLEX && !(x >> 8 & 1) ? next(a) : 0,
               q2 = kind == TT_ARG_COMPLEX && !(y >> 8 & 1) ? next(b) : 0;
      if (x == y && p == q && p2 == q2) return false;
      tt_strbuf_printf(out, "value of %s: ", where);
      print_value(out, kind, x, p);
      tt_strbuf_puts(out, " -> ");
      print_value(out, kind, y, q);
      return true;
    }
    case TT_ARG_INTS:
    case TT_ARG_FLOATS:
    case TT_ARG_BOOLS: return explain_list(a, (unsigned)(x >> 8), b, (unsigned)(y >> 8), kind, where, out);
    case TT_ARG_STRING:
      return explain_list(a, (unsigned)((x >> 8) + 7) / 8, b, (unsigned)((y >> 8) + 7) / 8, kind, where, out);
    case TT_ARG_DTYPE:
      if (x == y) return false;
      tt_strbuf_printf(out, "dtype of %s: %s -> %s", where, tt_dtype_name((tt_dtype_t)(x >> 8)),
                       tt_dtype_name((tt_dtype_t)(y >> 8)));
      return true;
    case TT_ARG_SCALARS: {
      bool differs = x != y;
      for (unsigned side = 0; side < 2; ++side) {
        cursor_t* c = side ? b : a;
        for (unsigned i = 0; i < (unsigned)((side ? y : x) >> 8); ++i) {
          if (next(c) == TT_ARG_COMPLEX) (void)next(c);
          (void)next(c);
        }
      }
      if (differs)
        tt_strbuf_printf(out, "numbers in %s: %u -> %u", where, (unsigned)(x >> 8), (unsigned)(y >> 8));
      return differs;
    }
    default: return false;
  }
}

void tt_signature_explain(const uint64_t* before, size_t before_count, const uint64_t* after,
                          size_t after_count, tt_strbuf_t* out) {
  cursor_t a = {before, before_count, 0, false}, b = {after, after_count, 0, false};
  uint64_t a0 = next(&a), b0 = next(&b), a1 = next(&a), b1 = next(&b);
  if ((a0 >> 32 & 0xff) != (b0 >> 32 & 0xff)) {
    tt_strbuf_puts(out, "another variant (functional, out= or in-place)");
    return;
  }
  if ((a0 >> 40 & 0xff) != (b0 >> 40 & 0xff)) {
    tt_strbuf_printf(out, "device: tpu:%u -> tpu:%u", (unsigned)(a0 >> 40 & 0xff),
                     (unsigned)(b0 >> 40 & 0xff));
    return;
  }
  if ((a1 & 0xff) != (b1 & 0xff)) {
    tt_strbuf_printf(out, "matmul passes: %u -> %u", (unsigned)(a1 & 0xff), (unsigned)(b1 & 0xff));
    return;
  }
  uint32_t args = (uint32_t)(a1 >> 32), outs = (uint32_t)(a0 >> 48);
  if (args != b1 >> 32 || outs != b0 >> 48) {
    tt_strbuf_puts(out, "number of arguments");
    return;
  }
  for (uint32_t i = 0; i < args + outs; ++i) {
    tt_strbuf_t where;
    tt_strbuf_initialize(&where);
    if (i < args)
      tt_strbuf_printf(&where, "argument %u", i);
    else
      tt_strbuf_printf(&where, "output %u", i - args);
    bool found = explain_arg(&a, &b, tt_strbuf_text(&where), out);
    tt_strbuf_deinitialize(&where);
    if (found) return;
    if (a.is_truncated || b.is_truncated) {
      tt_strbuf_puts(out, "a difference in a long argument list");
      return;
    }
  }
  if ((a1 >> 8 & 0xffffff) != (b1 >> 8 & 0xffffff) || a.count - a.at != b.count - b.at) {
    tt_strbuf_puts(out, "form of a stored base (first written, or written whole with another shape or "
                        "dtype)");
    return;
  }
  tt_strbuf_puts(out, (a1 >> 8 & 0xffffff) ? "a size that depends on data, or the form of a stored base"
                                           : "form of a stored base (first written, or written whole with "
                                             "another shape or dtype)");
}
