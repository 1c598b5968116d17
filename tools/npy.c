#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format.h"

static const struct {
  const char* descr;
  tt_dtype_t dtype;
} types[] = {
    {"|b1", TT_DTYPE_PRED}, {"|i1", TT_DTYPE_S8},    {"<i2", TT_DTYPE_S16}, {"<i4", TT_DTYPE_S32},
    {"<i8", TT_DTYPE_S64},  {"|u1", TT_DTYPE_U8},    {"<u2", TT_DTYPE_U16}, {"<u4", TT_DTYPE_U32},
    {"<u8", TT_DTYPE_U64},  {"<f2", TT_DTYPE_F16},   {"<f4", TT_DTYPE_F32}, {"<f8", TT_DTYPE_F64},
    {"<c8", TT_DTYPE_C64},  {"<c16", TT_DTYPE_C128},
};

tt_dtype_t tt_npy_dtype(const char* descr) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(types); ++i) {
    if (strcmp(types[i].descr, descr) == 0) return types[i].dtype;
  }
  return TT_DTYPE_INVALID;
}

tt_status_t tt_file_read(const char* path, char** out_text, size_t* out_size) {
  *out_text = NULL;
  FILE* file = fopen(path, "rb");
  if (!file) return tt_status_create(TT_NOT_FOUND, "cannot open '%s': %s", path, strerror(errno));
  char* text = NULL;
  size_t size = 0, capacity = 0;
  tt_status_t status = TT_OK_STATUS;
  for (;;) {
    status = tt_grow((void**)&text, &capacity, size + 65536, 1);
    if (!tt_status_is_ok(status)) break;
    size_t got = fread(text + size, 1, capacity - size - 1, file);
    size += got;
    if (got == 0) {
      if (ferror(file)) {
        status = tt_status_create(TT_DATA_LOSS, "cannot read '%s': %s", path, strerror(errno));
      }
      break;
    }
  }
  fclose(file);
  if (!tt_status_is_ok(status)) {
    tt_free(text);
    return status;
  }
  text[size] = '\0';
  *out_text = text;
  *out_size = size;
  return TT_OK_STATUS;
}

static tt_status_t bad(const char* path, const char* why) {
  return tt_status_create(TT_INVALID_ARGUMENT, "'%s' is no .npy file that can be read: %s", path, why);
}

// The value text of a key in the header's dictionary.
static const char* value_of(const char* header, const char* key) {
  const char* at = strstr(header, key);
  if (!at) return NULL;
  at = strchr(at + strlen(key), ':');
  if (!at) return NULL;
  ++at;
  while (*at == ' ') ++at;
  return at;
}

static tt_status_t parse_header(const char* path, const char* header, tt_npy_t* out) {
  const char* descr = value_of(header, "'descr'");
  const char* order = value_of(header, "'fortran_order'");
  const char* shape = value_of(header, "'shape'");
  if (!descr || !order || !shape || *descr != '\'' || *shape != '(') {
    return bad(path, "its header is damaged");
  }
  const char* end = strchr(++descr, '\'');
  if (!end || (size_t)(end - descr) >= sizeof(out->descr)) {
    return bad(path, "structured types are not supported");
  }
  memcpy(out->descr, descr, (size_t)(end - descr));
  if (out->descr[0] == '>') return bad(path, "big-endian data");
  if (out->descr[0] == '=') out->descr[0] = '<';
  if (strlen(out->descr) < 3 || !strchr("biufcV", out->descr[1])) return bad(path, "its element type");
  for (const char* at = out->descr + 2; *at; ++at) {
    if (!tt_is_digit(*at) || out->elem_bytes > 16) return bad(path, "its element type");
    out->elem_bytes = out->elem_bytes * 10 + (size_t)(*at - '0');
  }
  if (out->elem_bytes == 0 || out->elem_bytes > 16) return bad(path, "its element type");
  out->is_fortran = strncmp(order, "True", 4) == 0;
  if (!out->is_fortran && strncmp(order, "False", 5) != 0) return bad(path, "its order is damaged");
  for (++shape; *shape != ')';) {
    if (*shape == ',' || *shape == ' ') {
      ++shape;
      continue;
    }
    int64_t extent = 0;
    const char* start = shape;
    for (; tt_is_digit(*shape); ++shape) {
      if (!tt_checked_mul_i64(extent, 10, &extent) || __builtin_add_overflow(extent, *shape - '0', &extent))
        return bad(path, "its shape is too large");
    }
    if (shape == start || out->rank == TT_MAX_RANK) return bad(path, "its shape is damaged");
    out->dims[out->rank++] = extent;
  }
  return TT_OK_STATUS;
}

tt_status_t tt_npy_read(const char* path, tt_npy_t* out) {
  memset(out, 0, sizeof(*out));
  char* bytes;
  size_t size;
  TT_RETURN_IF_ERROR(tt_file_read(path, &bytes, &size));
  return tt_npy_parse(path, bytes, size, out);
}

void tt_npy_strides(const tt_npy_t* array, int64_t* out_strides) {
  int64_t stride = (int64_t)array->elem_bytes;
  for (size_t k = 0; k < array->rank; ++k) {
    size_t i = array->is_fortran ? k : array->rank - 1 - k;
    out_strides[i] = stride;
    // the whole fits, if it is not empty: then no stride is used
    if (!tt_checked_mul_i64(stride, array->dims[i], &stride)) stride = 0;
  }
}

tt_status_t tt_npy_parse(const char* path, char* bytes, size_t size, tt_npy_t* out) {
  memset(out, 0, sizeof(*out));
  tt_status_t status = TT_OK_STATUS;
  if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
    status = bad(path, "the magic is missing");
    goto cleanup;
  }
  const uint8_t* u = (const uint8_t*)bytes;
  if (u[6] < 1 || u[6] > 3 || (u[6] > 1 && size < 12)) {
    status = bad(path, "its format is not version 1, 2 or 3");
    goto cleanup;
  }
  size_t start = u[6] == 1 ? 10 : 12;
  size_t header_size = u[6] == 1
                           ? (size_t)u[8] | (size_t)u[9] << 8
                           : (size_t)u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16 | (size_t)u[11] << 24;
  if (size < start || header_size > size - start || header_size == 0) {
    status = bad(path, "its header is cut off");
    goto cleanup;
  }
  bytes[start + header_size - 1] = '\0';   // was a newline
  status = parse_header(path, bytes + start, out);
  if (!tt_status_is_ok(status)) goto cleanup;
  int64_t elems;
  size_t wanted;
  if (!tt_checked_product(out->dims, out->rank, &elems) ||
      !tt_checked_mul((size_t)elems, out->elem_bytes, &wanted) || wanted != size - start - header_size) {
    status = bad(path, "its data does not have the size of its shape");
    goto cleanup;
  }
  memmove(bytes, bytes + start + header_size, wanted);
  out->data = bytes;
  return TT_OK_STATUS;
cleanup:
  tt_free(bytes);
  return status;
}

void tt_npy_deinitialize(tt_npy_t* array) {
  tt_free(array->data);
  array->data = NULL;
}

tt_status_t tt_npy_write(const char* path, tt_dtype_t dtype, size_t rank, const int64_t* dims,
                         const void* data) {
  const char* descr = NULL;
  for (size_t i = 0; i < TT_ARRAY_LENGTH(types); ++i) {
    if (types[i].dtype == dtype) descr = types[i].descr;
  }
  if (!descr) descr = tt_dtype_bytes(dtype) == 1 ? "|V1" : "<V2";
  char header[512];
  int at = snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  size_t bytes = tt_dtype_bytes(dtype);
  for (size_t i = 0; i < rank; ++i) {
    at += snprintf(header + at, sizeof(header) - (size_t)at, "%lld, ", (long long)dims[i]);
    bytes *= (size_t)dims[i];
  }
  at += snprintf(header + at, sizeof(header) - (size_t)at, "), }");
  while ((at + 1 + 10) % 64) header[at++] = ' ';
  header[at++] = '\n';
  FILE* file = fopen(path, "wb");
  if (!file) return tt_status_create(TT_PERMISSION_DENIED, "cannot write '%s': %s", path, strerror(errno));
  const uint8_t magic[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)at, (uint8_t)(at >> 8)};
  bool good = fwrite(magic, 1, 10, file) == 10 && fwrite(header, 1, (size_t)at, file) == (size_t)at &&
              (bytes == 0 || fwrite(data, 1, bytes, file) == bytes);
  good = fclose(file) == 0 && good;
  if (!good) return tt_status_create(TT_DATA_LOSS, "cannot write '%s': %s", path, strerror(errno));
  return TT_OK_STATUS;
}
