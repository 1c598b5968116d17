// What goes with every program: CompileOptionsProto by hand, and the check that no dimension is unbounded.
#include "ir/text.h"
#include "runtime/internal.h"

// ---- CompileOptionsProto -----------------------------------------------------------------------
// { 3: { 4: num_replicas, 5: num_partitions, 6: use_spmd_partitioning, 9: { 1: R, 2: P, 3: { 1: packed ids }
// * P } } }
typedef struct wire_s {
  uint8_t* bytes;
  size_t size, capacity;
} wire_t;

static void put(wire_t* wire, uint64_t value) {
  do {
    uint8_t byte = value & 0x7f;
    value >>= 7;
    if (value) byte |= 0x80;
    if (wire->size < wire->capacity) wire->bytes[wire->size] = byte;
    ++wire->size;
  } while (value);
}

static size_t varint_size(uint64_t value) {
  size_t size = 1;
  while (value >>= 7) ++size;
  return size;
}

static void put_assignment(wire_t* wire, int replicas, int partitions, const int32_t* ids) {
  put(wire, 0x08);
  put(wire, (uint64_t)replicas);
  put(wire, 0x10);
  put(wire, (uint64_t)partitions);
  for (int p = 0; p < partitions; ++p) {
    size_t packed = 0;
    for (int r = 0; r < replicas; ++r) packed += varint_size((uint64_t)ids[r * partitions + p]);
    put(wire, 0x1a);
    put(wire, 1 + varint_size(packed) + packed);
    put(wire, 0x0a);
    put(wire, packed);
    for (int r = 0; r < replicas; ++r) put(wire, (uint64_t)ids[r * partitions + p]);
  }
}

static void put_build_options(wire_t* wire, int replicas, int partitions, const int32_t* ids) {
  put(wire, 0x20);
  put(wire, (uint64_t)replicas);
  put(wire, 0x28);
  put(wire, (uint64_t)partitions);
  if (partitions > 1) {
    put(wire, 0x30);
    put(wire, 1);
  }
  wire_t measure = {NULL, 0, 0};
  put_assignment(&measure, replicas, partitions, ids);
  put(wire, 0x4a);
  put(wire, measure.size);
  put_assignment(wire, replicas, partitions, ids);
}

static void put_options(wire_t* wire, int replicas, int partitions, const int32_t* ids) {
  wire_t measure = {NULL, 0, 0};
  put_build_options(&measure, replicas, partitions, ids);
  put(wire, 0x1a);
  put(wire, measure.size);
  put_build_options(wire, replicas, partitions, ids);
}

tt_status_t tt_rt_options_encode(int replicas, int partitions, const int32_t* ids, void** out_bytes,
                                 size_t* out_size) {
  wire_t wire = {NULL, 0, 0};
  put_options(&wire, replicas, partitions, ids);
  *out_size = wire.size;
  TT_RETURN_IF_ERROR(tt_alloc(wire.size, out_bytes));
  wire = (wire_t){*out_bytes, 0, wire.size};
  put_options(&wire, replicas, partitions, ids);
  return TT_OK_STATUS;
}

// ---- bounds ------------------------------------------------------------------------------------
// A foreign plugin may end the process on an unbounded dimension, so one is refused here (design D6, D17).
static bool is_bounded(const tt_type_t* type) {
  if (type->kind == TT_TYPE_TUPLE || type->kind == TT_TYPE_FUNCTION) {
    for (uint32_t i = 0; i < type->element_count; ++i) {
      if (!is_bounded(type->elements[i])) return false;
    }
    return true;
  }
  if (type->kind != TT_TYPE_TENSOR) return true;
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (!tt_dim_is_static(type->dims[i]) && !(type->bounds && tt_dim_is_static(type->bounds[i]))) {
      return false;
    }
  }
  return true;
}

static tt_status_t check_op(void* self, tt_op_t* op) {
  (void)self;
  for (uint32_t i = 0; i < op->result_count; ++i) {
    if (is_bounded(op->results[i].type)) continue;
    tt_strbuf_t text;
    tt_strbuf_initialize(&text);
    tt_op_print(op, &text);
    tt_status_t status = tt_status_create(
        TT_INVALID_ARGUMENT, "a dimension without a bound cannot be compiled: %s", tt_strbuf_text(&text));
    tt_strbuf_deinitialize(&text);
    return status;
  }
  return TT_OK_STATUS;
}

tt_status_t tt_rt_check_bounded(const tt_module_t* module) {
  for (tt_func_t* func = module->first_func; func; func = func->next) {
    for (uint32_t i = 0; i < func->body.block.arg_count; ++i) {
      if (!is_bounded(func->body.block.args[i].type)) {
        return tt_status_create(TT_INVALID_ARGUMENT, "argument %u of @%s has a dimension without a bound", i,
                                func->name);
      }
    }
    TT_RETURN_IF_ERROR(tt_func_walk(func, check_op, NULL));
  }
  return TT_OK_STATUS;
}
