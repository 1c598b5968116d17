#include "ir/chip.h"

#include <stdio.h>
#include <string.h>

#define GIB ((int64_t)1 << 30)

static const tt_chip_t chips[] = {
#define TT_CHIP(name, cloud, kind, pci, axes, devices, units, gib, tflops, most, is_virtual) \
  {name, cloud, kind, pci, axes, devices, units, (gib) * GIB, (tflops) * 1e12, most, is_virtual},
#include "ir/chips.def"
#undef TT_CHIP
};

size_t tt_chip_count(void) { return TT_ARRAY_LENGTH(chips); }
const tt_chip_t* tt_chip_at(size_t index) { return index < TT_ARRAY_LENGTH(chips) ? &chips[index] : NULL; }

static bool is_text(const char* text, const char* data, size_t size) {
  return strlen(text) == size && memcmp(text, data, size) == 0;
}

static const tt_chip_t* find(const char* name, size_t size, bool cloud) {
  if (!cloud && is_text("v7x", name, size)) return find("tpu7x", 5, false);  // the chip's other name
  for (size_t i = 0; i < TT_ARRAY_LENGTH(chips); ++i) {
    if (is_text(cloud ? chips[i].cloud : chips[i].name, name, size)) return &chips[i];
  }
  return NULL;
}

const tt_chip_t* tt_chip_by_name(const char* name) { return find(name, strlen(name), false); }

const tt_chip_t* tt_chip_by_pci(unsigned device) {
  for (size_t i = 0; device && i < TT_ARRAY_LENGTH(chips); ++i) {
    if (chips[i].pci_device == device) return &chips[i];
  }
  return NULL;
}

const tt_chip_t* tt_chip_by_kind(const char* kind) {
  for (size_t i = 0; i < TT_ARRAY_LENGTH(chips); ++i) {
    if (strcmp(chips[i].kind, kind) == 0) return &chips[i];
  }
  if (strncmp(kind, "TPU ", 4) != 0) return NULL;  // vtpu's, and what other plugins may say: "TPU v5p ..."
  size_t size = strcspn(kind + 4, " ");
  return find(kind + 4, size, false);
}

// ---- slices ------------------------------------------------------------------------------------
// 1-4 digits; false otherwise.
static bool read_number(const char** cursor, const char* end, int64_t* out) {
  const char* p = *cursor;
  int64_t value = 0;
  while (p < end && *p >= '0' && *p <= '9' && p - *cursor < 5) value = value * 10 + (*p++ - '0');
  if (p == *cursor || value == 0 || value > 9999) return false;
  *cursor = p;
  *out = value;
  return true;
}

// Spreads 2^n chips over the axes as Cloud does: 2D 1x1, 2x2, 2x4, 4x4, ...; 3D 1x1x1, 2x2x1, 2x2x2, 2x2x4,
// 2x4x4, 4x4x4, ...
static bool shape_of_count(int axes, int64_t count, int64_t* shape) {
  if (count < 1 || (count & (count - 1))) return false;
  shape[0] = shape[1] = shape[2] = 1;
  if (axes == 2) {
    int log = __builtin_ctzll((unsigned long long)count);
    shape[0] = (int64_t)1 << (log / 2);
    shape[1] = count / shape[0];
    return true;
  }
  if (count == 2) {
    shape[0] = 2;
    return true;
  }
  if (count >= 4) {  // a tray is 2x2
    shape[0] = shape[1] = 2;
    count /= 4;
  }
  if (count >= 2) {
    shape[2] = 2;
    count /= 2;
  }
  for (int axis = 2; count > 1; count /= 2, axis = (axis + 2) % 3) shape[axis] *= 2;  // z, y, x, z, ...
  return true;
}

static const char* parse_cloud(const char* cursor, const char* end, tt_slice_t* slice) {
  int64_t count;
  if (!read_number(&cursor, end, &count) || cursor != end) return "no count behind the dash";
  int64_t units = slice->chip->cloud_units_per_chip;
  if (count % units || !shape_of_count(slice->chip->axes, count / units, slice->shape)) {
    return "no slice of that size exists";
  }
  return NULL;
}

static const char* parse_shape(const char* cursor, const char* end, tt_slice_t* slice) {
  int rank = 0;
  for (;;) {
    if (rank == 3 || !read_number(&cursor, end, &slice->shape[rank])) return "bad shape";
    ++rank;
    if (cursor == end) break;
    if (*cursor++ != 'x') return "bad shape";
  }
  if (rank > slice->chip->axes && slice->shape[2] != 1) return "this generation has two axes";
  if (rank == 1) return "the shape needs two or three axes";
  return NULL;
}

const char* tt_slice_parse(const char* name, size_t size, tt_slice_t* out_slice) {
  const char* end = name + size;
  size_t stem = 0;
  while (stem < size && name[stem] != ':' && name[stem] != '-') ++stem;
  bool cloud = stem < size && name[stem] == '-';
  tt_slice_t slice = {find(name, stem, cloud), {1, 1, 1}, 0, 0};
  if (!slice.chip) return "unknown TPU generation";
  if (stem < size) {
    const char* cursor = name + stem + 1;
    const char* why = cloud ? parse_cloud(cursor, end, &slice) : parse_shape(cursor, end, &slice);
    if (why) return why;
  }
  slice.chips = slice.shape[0] * slice.shape[1] * slice.shape[2];  // below 10^12
  slice.devices = slice.chips * slice.chip->devices_per_chip;
  if (slice.chips > slice.chip->max_chips) return "more chips than a slice of this generation has";
  *out_slice = slice;
  return NULL;
}

void tt_slice_name(const tt_slice_t* slice, char out_name[TT_SLICE_NAME_MAX]) {
  int at = snprintf(out_name, TT_SLICE_NAME_MAX, "%s:%dx%d", slice->chip->name, (int)slice->shape[0],
                    (int)slice->shape[1]);
  if (slice->chip->axes == 3) {
    snprintf(out_name + at, TT_SLICE_NAME_MAX - (size_t)at, "x%d", (int)slice->shape[2]);
  }
}
