// CompileOptionsProto by hand: the few fields that decide something here; the rest is skipped.
//
//   CompileOptionsProto       3 executable_build_options
//   ExecutableBuildOptions    1 device_ordinal, 4 num_replicas, 5 num_partitions, 9 device_assignment
//   DeviceAssignmentProto     1 replica_count, 2 computation_count, 3 (repeated, one a partition)
//   computation_devices ComputationDevice         1 (packed) replica_device_ids
#include <string.h>

#include "api/api.h"

#define MAX_DEVICES 4096

typedef struct wire_s {
  const uint8_t *cursor, *end;
} wire_t;

static bool read_varint(wire_t* wire, uint64_t* out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (wire->cursor == wire->end) return false;
    uint8_t byte = *wire->cursor++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *out = value;
      return true;
    }
  }
  return false;
}

typedef struct field_s {
  uint32_t number, wire_type;
  uint64_t value;     // wire type 0
  wire_t bytes;       // wire type 2
} field_t;

// False at the end (*bad false) or on malformed input (*bad true).
static bool read_field(wire_t* wire, field_t* field, bool* bad) {
  *bad = false;
  if (wire->cursor == wire->end) return false;
  *bad = true;
  uint64_t tag;
  if (!read_varint(wire, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
  field->number = (uint32_t)(tag >> 3);
  field->wire_type = (uint32_t)(tag & 7);
  size_t left = (size_t)(wire->end - wire->cursor);
  switch (field->wire_type) {
    case 0:
      if (!read_varint(wire, &field->value)) return false;
      break;
    case 1:
    case 5: {
      size_t size = field->wire_type == 1 ? 8 : 4;
      if (left < size) return false;
      wire->cursor += size;
      break;
    }
    case 2: {
      uint64_t size;
      if (!read_varint(wire, &size) || size > (uint64_t)(wire->end - wire->cursor)) return false;
      field->bytes.cursor = wire->cursor;
      field->bytes.end = wire->cursor + size;
      wire->cursor += size;
      break;
    }
    default:
      return false;
  }
  *bad = false;
  return true;
}

static tt_status_t malformed(const char* where) {
  return tt_status_create(TT_INVALID_ARGUMENT, "compile options: malformed %s", where);
}

// One ComputationDevice: the devices of one partition, one a replica.
static tt_status_t parse_column(wire_t wire, int replicas, int partitions, int partition, int64_t* ids) {
  int replica = 0;
  field_t field;
  bool bad;
  while (read_field(&wire, &field, &bad)) {
    if (field.number != 1) continue;
    if (field.wire_type == 0) {
      if (replica == replicas) return malformed("device assignment (too many replicas)");
      ids[replica++ * partitions + partition] = (int64_t)field.value;
    } else if (field.wire_type == 2) {
      while (field.bytes.cursor != field.bytes.end) {
        uint64_t id;
        if (!read_varint(&field.bytes, &id)) return malformed("device assignment");
        if (replica == replicas) return malformed("device assignment (too many replicas)");
        ids[replica++ * partitions + partition] = (int64_t)id;
      }
    }
  }
  if (bad || replica != replicas) return malformed("device assignment");
  return TT_OK_STATUS;
}

static tt_status_t parse_assignment(wire_t wire, tt_api_options_t* options) {
  uint64_t replicas = 0, partitions = 0;
  field_t field;
  bool bad;
  wire_t again = wire;
  while (read_field(&wire, &field, &bad)) {
    if (field.wire_type == 0 && field.number == 1) replicas = field.value;
    if (field.wire_type == 0 && field.number == 2) partitions = field.value;
  }
  if (bad) return malformed("device assignment");
  if (replicas < 1 || partitions < 1 || replicas > MAX_DEVICES || partitions > MAX_DEVICES ||
      replicas * partitions > MAX_DEVICES) {
    return tt_status_create(TT_INVALID_ARGUMENT,
                            "compile options: device assignment of %llu replicas x %llu partitions",
                            (unsigned long long)replicas, (unsigned long long)partitions);
  }
  tt_free(options->assignment);
  options->assignment = NULL;
  TT_RETURN_IF_ERROR(tt_alloc_array(replicas * partitions, sizeof(int64_t), (void**)&options->assignment));
  uint64_t column = 0;
  while (read_field(&again, &field, &bad)) {
    if (field.number != 3 || field.wire_type != 2) continue;
    if (column == partitions) return malformed("device assignment (too many partitions)");
    TT_RETURN_IF_ERROR(
        parse_column(field.bytes, (int)replicas, (int)partitions, (int)column, options->assignment));
    ++column;
  }
  if (column != partitions) return malformed("device assignment (too few partitions)");
  // checked against num_replicas and num_partitions once all fields are read
  if (options->num_replicas == 0) options->num_replicas = (int)replicas;
  if (options->num_partitions == 0) options->num_partitions = (int)partitions;
  if (options->num_replicas != (int)replicas || options->num_partitions != (int)partitions) {
    return tt_status_create(
        TT_INVALID_ARGUMENT,
        "compile options: %d replicas x %d partitions, but a device assignment of %llu x %llu",
        options->num_replicas, options->num_partitions, (unsigned long long)replicas,
        (unsigned long long)partitions);
  }
  return TT_OK_STATUS;
}

// The message may come in several parts; the assignment is read once the last one has said how many devices there are.
static tt_status_t parse_build(wire_t wire, tt_api_options_t* options, wire_t* assignment) {
  field_t field;
  bool bad;
  while (read_field(&wire, &field, &bad)) {
    if (field.wire_type == 2 && field.number == 9) *assignment = field.bytes;
    if (field.wire_type != 0) continue;
    switch (field.number) {
      case 1: options->device_ordinal = (int)(int64_t)field.value; break;
      case 4:
      case 5:
        if (field.value > MAX_DEVICES) {
          return tt_status_create(TT_INVALID_ARGUMENT, "compile options: %s is %llu, at most %d",
                                  field.number == 4 ? "num_replicas" : "num_partitions",
                                  (unsigned long long)field.value, MAX_DEVICES);
        }
        *(field.number == 4 ? &options->num_replicas : &options->num_partitions) = (int)field.value;
        break;
      default: break;
    }
  }
  return bad ? malformed("executable build options") : TT_OK_STATUS;
}

tt_status_t tt_api_options_parse(const char* bytes, size_t size, tt_api_options_t* out_options) {
  memset(out_options, 0, sizeof(*out_options));
  out_options->device_ordinal = -1;
  wire_t wire = {(const uint8_t*)bytes, (const uint8_t*)bytes + size}, assignment = {NULL, NULL};
  field_t field;
  bool bad;
  tt_status_t status = TT_OK_STATUS;
  while (tt_status_is_ok(status) && read_field(&wire, &field, &bad)) {
    if (field.number == 3 && field.wire_type == 2) status = parse_build(field.bytes, out_options, &assignment);
  }
  if (tt_status_is_ok(status) && bad) status = malformed("protocol buffer");
  if (tt_status_is_ok(status) && assignment.cursor != assignment.end)
    status = parse_assignment(assignment, out_options);
  if (out_options->num_replicas == 0) out_options->num_replicas = 1;
  if (out_options->num_partitions == 0) out_options->num_partitions = 1;
  if (tt_status_is_ok(status) &&
      (int64_t)out_options->num_replicas * out_options->num_partitions > MAX_DEVICES) {
    status = tt_status_create(TT_INVALID_ARGUMENT,
                              "compile options: %d replicas x %d partitions are over %d devices",
                              out_options->num_replicas, out_options->num_partitions, MAX_DEVICES);
  }
  if (!tt_status_is_ok(status)) tt_api_options_deinitialize(out_options);
  return status;
}

void tt_api_options_deinitialize(tt_api_options_t* options) {
  tt_free(options->assignment);
  options->assignment = NULL;
}

static size_t put_varint(uint64_t value, char* bytes, size_t at, size_t capacity) {
  do {
    uint8_t byte = value & 0x7f;
    value >>= 7;
    if (value) byte |= 0x80;
    if (at < capacity) bytes[at] = (char)byte;
    ++at;
  } while (value);
  return at;
}

size_t tt_api_assignment_encode(int num_replicas, int num_partitions, const int64_t* ids, char* bytes,
                                size_t capacity) {
  size_t at = 0;
  at = put_varint(0x08, bytes, at, capacity);
  at = put_varint((uint64_t)num_replicas, bytes, at, capacity);
  at = put_varint(0x10, bytes, at, capacity);
  at = put_varint((uint64_t)num_partitions, bytes, at, capacity);
  for (int p = 0; p < num_partitions; ++p) {
    size_t packed = 0;
    for (int r = 0; r < num_replicas; ++r) {
      packed = put_varint((uint64_t)ids[r * num_partitions + p], NULL, packed, 0);
    }
    size_t prefix = put_varint(packed, NULL, 0, 0);
    at = put_varint(0x1a, bytes, at, capacity);
    at = put_varint(1 + prefix + packed, bytes, at, capacity);
    at = put_varint(0x0a, bytes, at, capacity);
    at = put_varint(packed, bytes, at, capacity);
    for (int r = 0; r < num_replicas; ++r) {
      at = put_varint((uint64_t)ids[r * num_partitions + p], bytes, at, capacity);
    }
  }
  return at;
}
