// Structural hash and equality of modules.
//
// Values count by their place in a walk of the module, so names, ids, locations and the module's name play no
// part; attributes count as sets. Symbolic dimensions count by number together with the whole table.
#include "base/hash.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/dim_table.h"
#include "ir/type_table.h"

// ---- attributes --------------------------------------------------------------------------------
static uint64_t hash_i64s(uint64_t hash, tt_i64s_t list) {
  return tt_hash_bytes(hash, list.data, list.size * sizeof(int64_t));
}

static uint64_t hash_attr(const tt_attr_t* attr);

static uint64_t hash_attr_set(const tt_attr_t* attrs, size_t count) {
  uint64_t sum = count;
  for (size_t i = 0; i < count; ++i) sum += hash_attr(&attrs[i]);
  return sum;
}

static size_t dense_bytes(const tt_dense_t* dense) {
  int64_t bytes = dense->is_splat ? (int64_t)tt_dtype_bytes(dense->type->dtype) : tt_type_bytes(dense->type);
  return bytes < 0 ? 0 : (size_t)bytes;
}

// The dtype, where it means something.
static tt_dtype_t dtype_of(const tt_attr_t* attr) {
  bool has_dtype = attr->kind == TT_AK_INT || attr->kind == TT_AK_FLOAT || attr->kind == TT_AK_F64S;
  return has_dtype ? attr->dtype : TT_DTYPE_INVALID;
}

static uint64_t hash_attr(const tt_attr_t* attr) {
  uint64_t hash = tt_hash_mix((uint64_t)attr->name << 8 | (uint64_t)attr->kind, (uint64_t)dtype_of(attr));
  if (attr->name == TT_ATTR_OTHER && attr->other_name)
    hash = tt_hash_bytes(hash, attr->other_name, strlen(attr->other_name));
  switch (attr->kind) {
    case TT_AK_UNIT: return hash;
    case TT_AK_BOOL: return tt_hash_mix(hash, attr->b);
    case TT_AK_INT: return tt_hash_mix(hash, (uint64_t)attr->i);
    case TT_AK_FLOAT: {
      uint64_t bits;
      memcpy(&bits, &attr->f, sizeof(bits));
      return tt_hash_mix(hash, bits);
    }
    case TT_AK_STRING: case TT_AK_ENUM: case TT_AK_SYMBOL: case TT_AK_ALGORITHM: case TT_AK_OPAQUE:
      return tt_hash_bytes(hash, attr->text.data, attr->text.size);
    case TT_AK_TYPE: return tt_hash_mix(hash, attr->type->hash);
    case TT_AK_I64S: return hash_i64s(hash, attr->i64s);
    case TT_AK_BOOLS: return tt_hash_bytes(hash, attr->bools.data, attr->bools.size);
    case TT_AK_F64S: return tt_hash_bytes(hash, attr->f64s.data, attr->f64s.size * sizeof(double));
    case TT_AK_DENSE:
      hash = tt_hash_mix(hash, attr->dense.type->hash ^ attr->dense.is_splat);
      return tt_hash_bytes(hash, attr->dense.data, dense_bytes(&attr->dense));
    case TT_AK_ARRAY:
      for (size_t i = 0; i < attr->array.size; ++i) hash = tt_hash_mix(hash, hash_attr(&attr->array.data[i]));
      return hash;
    case TT_AK_DICT: return tt_hash_mix(hash, hash_attr_set(attr->dict.data, attr->dict.size));
    case TT_AK_DOT:
      hash = hash_i64s(hash_i64s(hash, attr->dot->lhs_batch), attr->dot->rhs_batch);
      return hash_i64s(hash_i64s(hash, attr->dot->lhs_contracting), attr->dot->rhs_contracting);
    case TT_AK_CONV:
      hash = tt_hash_bytes(hash, attr->conv, 6 * sizeof(int64_t));
      hash = hash_i64s(hash_i64s(hash, attr->conv->input_spatial), attr->conv->kernel_spatial);
      return hash_i64s(hash, attr->conv->output_spatial);
    case TT_AK_GATHER:
      hash = hash_i64s(hash_i64s(hash, attr->gather->offset_dims), attr->gather->collapsed_slice_dims);
      hash = hash_i64s(hash_i64s(hash, attr->gather->operand_batching_dims),
                       attr->gather->start_indices_batching_dims);
      return tt_hash_mix(hash_i64s(hash, attr->gather->start_index_map),
                         (uint64_t)attr->gather->index_vector_dim);
    case TT_AK_SCATTER:
      hash =
          hash_i64s(hash_i64s(hash, attr->scatter->update_window_dims), attr->scatter->inserted_window_dims);
      hash = hash_i64s(hash_i64s(hash, attr->scatter->input_batching_dims),
                       attr->scatter->scatter_indices_batching_dims);
      return tt_hash_mix(hash_i64s(hash, attr->scatter->scatter_dims_to_operand_dims),
                         (uint64_t)attr->scatter->index_vector_dim);
    case TT_AK_CHANNEL:
      return tt_hash_mix(tt_hash_mix(hash, (uint64_t)attr->channel.handle), (uint64_t)attr->channel.type);
    case TT_AK_ALIAS:
      hash = hash_i64s(hash_i64s(hash, attr->alias.output_tuple_indices), attr->alias.operand_tuple_indices);
      return tt_hash_mix(hash, (uint64_t)attr->alias.operand_index);
  }
  return hash;
}

static bool i64s_equal(tt_i64s_t a, tt_i64s_t b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size * sizeof(int64_t)) == 0);
}

static bool attr_equal(const tt_attr_t* a, const tt_attr_t* b);

static bool same_name(const tt_attr_t* a, const tt_attr_t* b) {
  if (a->name != b->name) return false;
  if (a->name != TT_ATTR_OTHER || a->other_name == b->other_name) return true;
  return a->other_name && b->other_name && strcmp(a->other_name, b->other_name) == 0;
}

static bool attr_sets_equal(const tt_attr_t* a, size_t a_count, const tt_attr_t* b, size_t b_count) {
  if (a_count != b_count) return false;
  for (size_t i = 0; i < a_count; ++i) {
    size_t k = 0;  // names are unique (I4)
    while (k < b_count && !same_name(&a[i], &b[k])) ++k;
    if (k == b_count || !attr_equal(&a[i], &b[k])) return false;
  }
  return true;
}

static bool bytes_equal(const void* a, const void* b, size_t size) {
  return size == 0 || memcmp(a, b, size) == 0;
}

static bool attr_equal(const tt_attr_t* a, const tt_attr_t* b) {
  if (!same_name(a, b) || a->kind != b->kind || dtype_of(a) != dtype_of(b)) return false;
  switch (a->kind) {
    case TT_AK_UNIT: return true;
    case TT_AK_BOOL: return a->b == b->b;
    case TT_AK_INT: return a->i == b->i;
    case TT_AK_FLOAT: return memcmp(&a->f, &b->f, sizeof(a->f)) == 0;  // NaN equals itself, -0 is not 0
    case TT_AK_STRING: case TT_AK_ENUM: case TT_AK_SYMBOL: case TT_AK_ALGORITHM: case TT_AK_OPAQUE:
      return a->text.size == b->text.size && bytes_equal(a->text.data, b->text.data, a->text.size);
    case TT_AK_TYPE: return tt_type_equal(a->type, b->type);
    case TT_AK_I64S: return i64s_equal(a->i64s, b->i64s);
    case TT_AK_BOOLS:
      return a->bools.size == b->bools.size && bytes_equal(a->bools.data, b->bools.data, a->bools.size);
    case TT_AK_F64S:
      return a->f64s.size == b->f64s.size &&
             bytes_equal(a->f64s.data, b->f64s.data, a->f64s.size * sizeof(double));
    case TT_AK_DENSE:
      return a->dense.is_splat == b->dense.is_splat && tt_type_equal(a->dense.type, b->dense.type) &&
             bytes_equal(a->dense.data, b->dense.data, dense_bytes(&a->dense));
    case TT_AK_ARRAY:
      if (a->array.size != b->array.size) return false;
      for (size_t i = 0; i < a->array.size; ++i) {
        if (!attr_equal(&a->array.data[i], &b->array.data[i])) return false;
      }
      return true;
    case TT_AK_DICT: return attr_sets_equal(a->dict.data, a->dict.size, b->dict.data, b->dict.size);
    case TT_AK_DOT:
      return i64s_equal(a->dot->lhs_batch, b->dot->lhs_batch) &&
             i64s_equal(a->dot->rhs_batch, b->dot->rhs_batch) &&
             i64s_equal(a->dot->lhs_contracting, b->dot->lhs_contracting) &&
             i64s_equal(a->dot->rhs_contracting, b->dot->rhs_contracting);
    case TT_AK_CONV:
      return memcmp(a->conv, b->conv, 6 * sizeof(int64_t)) == 0 &&
             i64s_equal(a->conv->input_spatial, b->conv->input_spatial) &&
             i64s_equal(a->conv->kernel_spatial, b->conv->kernel_spatial) &&
             i64s_equal(a->conv->output_spatial, b->conv->output_spatial);
    case TT_AK_GATHER:
      return i64s_equal(a->gather->offset_dims, b->gather->offset_dims) &&
             i64s_equal(a->gather->collapsed_slice_dims, b->gather->collapsed_slice_dims) &&
             i64s_equal(a->gather->operand_batching_dims, b->gather->operand_batching_dims) &&
             i64s_equal(a->gather->start_indices_batching_dims, b->gather->start_indices_batching_dims) &&
             i64s_equal(a->gather->start_index_map, b->gather->start_index_map) &&
             a->gather->index_vector_dim == b->gather->index_vector_dim;
    case TT_AK_SCATTER:
      return i64s_equal(a->scatter->update_window_dims, b->scatter->update_window_dims) &&
             i64s_equal(a->scatter->inserted_window_dims, b->scatter->inserted_window_dims) &&
             i64s_equal(a->scatter->input_batching_dims, b->scatter->input_batching_dims) &&
             i64s_equal(a->scatter->scatter_indices_batching_dims,
                        b->scatter->scatter_indices_batching_dims) &&
             i64s_equal(a->scatter->scatter_dims_to_operand_dims, b->scatter->scatter_dims_to_operand_dims) &&
             a->scatter->index_vector_dim == b->scatter->index_vector_dim;
    case TT_AK_CHANNEL: return a->channel.handle == b->channel.handle && a->channel.type == b->channel.type;
    case TT_AK_ALIAS:
      return a->alias.operand_index == b->alias.operand_index &&
             i64s_equal(a->alias.output_tuple_indices, b->alias.output_tuple_indices) &&
             i64s_equal(a->alias.operand_tuple_indices, b->alias.operand_tuple_indices);
  }
  return false;
}

// ---- places of values --------------------------------------------------------------------------
#define FEW_VALUES 256
typedef struct places_s {
  uint32_t* of;        // by value id; NULL: memory was short, places are ignored
  uint32_t next, limit;
  uint32_t few[FEW_VALUES];
  void* heap;
} places_t;

static void open_places(places_t* p, const tt_module_t* module) {
  p->next = 0;
  p->limit = module->value_count;
  p->heap = NULL;
  p->of = p->few;
  if (module->value_count > FEW_VALUES) {
    // A failure makes hashes weaker, and equality answers false: a cache miss.
    tt_status_ignore(tt_alloc_array(module->value_count, sizeof(uint32_t), &p->heap));
    p->of = p->heap;
  }
}
static void close_places(places_t* p) { tt_free(p->heap); }
static void place_value(places_t* p, const tt_value_t* value) {
  if (p->of && value->id < p->limit) p->of[value->id] = p->next;
  ++p->next;
}
static uint32_t place_of(const places_t* p, const tt_value_t* value) {
  return p->of && value->id < p->limit ? p->of[value->id] : 0;
}

// ---- hash --------------------------------------------------------------------------------------
static uint64_t hash_block(const tt_block_t* block, places_t* p, uint64_t hash) {
  for (uint32_t i = 0; i < block->arg_count; ++i) {
    place_value(p, &block->args[i]);
    hash = tt_hash_mix(hash, block->args[i].type->hash);
  }
  for (const tt_op_t* op = block->first; op; op = op->next) {
    hash = tt_hash_mix(
        hash, (uint64_t)op->kind | (uint64_t)op->operand_count << 16 | (uint64_t)op->result_count << 40);
    for (uint32_t i = 0; i < op->operand_count; ++i) hash = tt_hash_mix(hash, place_of(p, op->operands[i]));
    if (op->attr_count) hash = tt_hash_mix(hash, hash_attr_set(op->attrs, op->attr_count));
    for (uint16_t i = 0; i < op->region_count; ++i) hash = hash_block(&op->regions[i].block, p, hash);
    for (uint32_t i = 0; i < op->result_count; ++i) {
      place_value(p, &op->results[i]);
      hash = tt_hash_mix(hash, op->results[i].type->hash);
    }
  }
  return hash;
}

uint64_t tt_module_hash(const tt_module_t* module) {
  places_t places;
  open_places(&places, module);
  uint64_t hash =
      tt_hash_mix(hash_attr_set(module->attrs.data, module->attrs.size), tt_dims_hash(module->dims));
  for (const tt_func_t* func = module->first_func; func; func = func->next) {
    hash = tt_hash_bytes(hash, func->name, strlen(func->name));
    hash = tt_hash_mix(hash, (uint64_t)func->is_public | (uint64_t)func->result_count << 1);
    hash = tt_hash_mix(hash, hash_attr_set(func->attrs.data, func->attrs.size));
    for (uint32_t i = 0; func->arg_attrs && i < func->body.block.arg_count; ++i) {
      if (func->arg_attrs[i].size) {
        hash = tt_hash_mix(hash ^ i, hash_attr_set(func->arg_attrs[i].data, func->arg_attrs[i].size));
      }
    }
    for (uint32_t i = 0; func->result_attrs && i < func->result_count; ++i) {
      if (func->result_attrs[i].size) {
        hash = tt_hash_mix(hash ^ ~i, hash_attr_set(func->result_attrs[i].data, func->result_attrs[i].size));
      }
    }
    hash = hash_block(&func->body.block, &places, hash);
  }
  close_places(&places);
  return hash;
}

// ---- equality ----------------------------------------------------------------------------------
static bool blocks_equal(const tt_block_t* a, places_t* pa, const tt_block_t* b, places_t* pb) {
  if (a->arg_count != b->arg_count) return false;
  for (uint32_t i = 0; i < a->arg_count; ++i) {
    if (!tt_type_equal(a->args[i].type, b->args[i].type)) return false;
    place_value(pa, &a->args[i]);
    place_value(pb, &b->args[i]);
  }
  const tt_op_t *x = a->first, *y = b->first;
  for (; x && y; x = x->next, y = y->next) {
    if (x->kind != y->kind || x->operand_count != y->operand_count || x->result_count != y->result_count ||
        x->region_count != y->region_count ||
        !attr_sets_equal(x->attrs, x->attr_count, y->attrs, y->attr_count)) {
      return false;
    }
    for (uint32_t i = 0; i < x->operand_count; ++i) {
      if (place_of(pa, x->operands[i]) != place_of(pb, y->operands[i])) return false;
    }
    for (uint16_t i = 0; i < x->region_count; ++i) {
      if (!blocks_equal(&x->regions[i].block, pa, &y->regions[i].block, pb)) return false;
    }
    for (uint32_t i = 0; i < x->result_count; ++i) {
      if (!tt_type_equal(x->results[i].type, y->results[i].type)) return false;
      place_value(pa, &x->results[i]);
      place_value(pb, &y->results[i]);
    }
  }
  return x == y;  // both NULL
}

static bool funcs_equal(const tt_func_t* a, places_t* pa, const tt_func_t* b, places_t* pb) {
  if (strcmp(a->name, b->name) != 0 || a->is_public != b->is_public || a->result_count != b->result_count ||
      a->body.block.arg_count != b->body.block.arg_count ||
      !attr_sets_equal(a->attrs.data, a->attrs.size, b->attrs.data, b->attrs.size)) return false;
  for (uint32_t i = 0; i < a->body.block.arg_count; ++i) {
    if (!attr_sets_equal(a->arg_attrs ? a->arg_attrs[i].data : NULL, a->arg_attrs ? a->arg_attrs[i].size : 0,
                         b->arg_attrs ? b->arg_attrs[i].data : NULL, b->arg_attrs ? b->arg_attrs[i].size : 0))
      return false;
  }
  for (uint32_t i = 0; i < a->result_count; ++i) {
    if (!attr_sets_equal(a->result_attrs ? a->result_attrs[i].data : NULL,
                         a->result_attrs ? a->result_attrs[i].size : 0,
                         b->result_attrs ? b->result_attrs[i].data : NULL,
                         b->result_attrs ? b->result_attrs[i].size : 0)) {
      return false;
    }
  }
  return blocks_equal(&a->body.block, pa, &b->body.block, pb);
}

bool tt_module_equal(const tt_module_t* a, const tt_module_t* b) {
  if (a == b) return true;
  if (!attr_sets_equal(a->attrs.data, a->attrs.size, b->attrs.data, b->attrs.size) ||
      !tt_dims_equal(a->dims, b->dims)) {
    return false;
  }
  places_t pa, pb;
  open_places(&pa, a);
  open_places(&pb, b);
  bool equal = pa.of && pb.of;
  const tt_func_t *x = a->first_func, *y = b->first_func;
  for (; equal && x && y; x = x->next, y = y->next) equal = funcs_equal(x, &pa, y, &pb);
  close_places(&pa);
  close_places(&pb);
  return equal && x == y;
}
