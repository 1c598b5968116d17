// StableHLO in memory: types, dimensions, values, operations, regions, functions, modules.
//
// Everything hangs on one module and lives in its arena until tt_module_release; nothing inside is
// reference-counted. A module is built by one thread; afterwards it is read-only and may be shared.
//
// Invariants (tt_module_verify checks them):
//  I1  types are interned: equal types of one module are equal pointers;
//  I2  every operand is a result or argument that dominates its user (regions see enclosing values);
//  I3  every block ends with exactly one terminator (FUNC_RETURN in functions, RETURN in op regions);
//  I4  attribute names of one op are unique; attrs holds what the op's kind requires (ops.def, verify.c);
//  I5  a dimension is static (>= 0), TT_DIM_UNKNOWN, or refers to the module's dimension table (dim.h).
#ifndef TT_IR_IR_H_
#define TT_IR_IR_H_

#include "base/arena.h"
#include "base/base.h"
#include "base/status.h"
#include "tt/dtype.h"

// ---- dtypes ------------------------------------------------------------------------------------
typedef enum tt_dtype_class_e {
  TT_DTYPE_CLASS_B, TT_DTYPE_CLASS_I, TT_DTYPE_CLASS_U, TT_DTYPE_CLASS_F, TT_DTYPE_CLASS_C, TT_DTYPE_CLASS_T,
} tt_dtype_class_t;

const char* tt_dtype_name(tt_dtype_t dtype);          // StableHLO spelling, "f32"
size_t tt_dtype_bytes(tt_dtype_t dtype);              // bytes of one element in memory
tt_dtype_class_t tt_dtype_class(tt_dtype_t dtype);
int tt_dtype_pjrt(tt_dtype_t dtype);                  // PJRT_Buffer_Type
tt_dtype_t tt_dtype_from_pjrt(int pjrt);              // TT_DTYPE_INVALID if unknown
tt_dtype_t tt_dtype_from_name(const char* name, size_t size);
static inline bool tt_dtype_is_float(tt_dtype_t d) { return tt_dtype_class(d) == TT_DTYPE_CLASS_F; }
static inline bool tt_dtype_is_complex(tt_dtype_t d) { return tt_dtype_class(d) == TT_DTYPE_CLASS_C; }
static inline bool tt_dtype_is_signed_int(tt_dtype_t d) { return tt_dtype_class(d) == TT_DTYPE_CLASS_I; }
static inline bool tt_dtype_is_unsigned_int(tt_dtype_t d) { return tt_dtype_class(d) == TT_DTYPE_CLASS_U; }
static inline bool tt_dtype_is_integer(tt_dtype_t d) { return tt_dtype_is_signed_int(d) || tt_dtype_is_unsigned_int(d); }
tt_dtype_t tt_dtype_real_part(tt_dtype_t complex);    // C64 -> F32, C128 -> F64, else itself

// ---- scalar conversion (host side, one element; used for constants, folding, references) -------
// Reads / writes one element of `dtype`. Rounding to nearest even; out-of-range float -> int saturates,
// NaN -> 0 (as XLA:CPU). Complex: the real part unless the _complex form is used.
double tt_scalar_load_f64(tt_dtype_t dtype, const void* data);
int64_t tt_scalar_load_i64(tt_dtype_t dtype, const void* data);
void tt_scalar_load_complex(tt_dtype_t dtype, const void* data, double out[2]);
void tt_scalar_store_f64(tt_dtype_t dtype, double value, void* data);
void tt_scalar_store_i64(tt_dtype_t dtype, int64_t value, void* data);
void tt_scalar_store_complex(tt_dtype_t dtype, const double value[2], void* data);

// ---- dimensions (dim.h has the expression table) -----------------------------------------------
typedef int64_t tt_dim_t;                     // >= 0 static; < 0 symbolic: index -1 - d of the module's table
#define TT_DIM_UNKNOWN INT64_MIN              // `?`
static inline bool tt_dim_is_static(tt_dim_t d) { return d >= 0; }

// ---- types -------------------------------------------------------------------------------------
typedef struct tt_type_s tt_type_t;
typedef enum tt_type_kind_e { TT_TYPE_TENSOR, TT_TYPE_TOKEN, TT_TYPE_TUPLE, TT_TYPE_FUNCTION } tt_type_kind_t;

typedef struct tt_quant_s {    // !quant.uniform<storage:expressed[:axis], {scales:zero_points}>
  tt_dtype_t storage;          // of the tensor; tt_type_t.dtype holds the same
  tt_dtype_t expressed;
  int64_t storage_min, storage_max;
  int64_t axis;                // -1: per tensor
  size_t count;                // of scales and zero points
  const double* scales;
  const int64_t* zero_points;
} tt_quant_t;

struct tt_type_s {
  tt_type_kind_t kind;
  tt_dtype_t dtype;            // TENSOR
  uint32_t rank;               // TENSOR
  const tt_dim_t* dims;        // TENSOR, [rank]
  const int64_t* bounds;       // TENSOR: upper bound a dimension or TT_DIM_UNKNOWN; NULL: no bounds
  const tt_quant_t* quant;     // TENSOR: NULL if not quantised
  const char* encoding;        // TENSOR: other encodings, verbatim; NULL
  const tt_type_t* const* elements;  // TUPLE; FUNCTION: inputs, then results
  uint32_t element_count;
  uint32_t input_count;        // FUNCTION
  uint64_t hash;
};

bool tt_type_is_static(const tt_type_t* type);
// Element count / bytes of a static tensor; -1 if dynamic or overflowing.
int64_t tt_type_elems(const tt_type_t* type);
int64_t tt_type_bytes(const tt_type_t* type);

// ---- attributes --------------------------------------------------------------------------------
typedef enum tt_attr_name_e {
  TT_ATTR_OTHER = 0,           // the name stands in tt_attr_t.other_name
#define TT_ATTR(ENUM, name) TT_ATTR_##ENUM,
#include "ir/attrs.def"
#undef TT_ATTR
  TT_ATTR_COUNT,
} tt_attr_name_t;
const char* tt_attr_name_text(tt_attr_name_t name);
tt_attr_name_t tt_attr_name_from_text(const char* text, size_t size);  // OTHER if not listed

typedef enum tt_attr_kind_e {
  TT_AK_UNIT, TT_AK_BOOL,
  TT_AK_INT,          // i (dtype S64 unless said otherwise; PRED is AK_BOOL)
  TT_AK_FLOAT,        // f (dtype)
  TT_AK_STRING,       // text
  TT_AK_ENUM,         // text: "LT", "FLOAT", "DEFAULT", "RFFT", ...; printed in its dialect form by the printer
  TT_AK_SYMBOL,       // text: @name
  TT_AK_TYPE,         // type
  TT_AK_I64S,         // array<i64: ...>: i64s
  TT_AK_BOOLS,        // array<i1: ...>: bools
  TT_AK_F64S,         // array<f64: ...> of dtype F32 or F64: f64s
  TT_AK_DENSE,        // dense<...> : tensor type; dense
  TT_AK_ARRAY,        // [a, b]: array
  TT_AK_DICT,         // {n = a}: dict
  TT_AK_DOT, TT_AK_CONV, TT_AK_GATHER, TT_AK_SCATTER,   // dimension numbers
  TT_AK_CHANNEL,      // channel_handle<handle, type>
  TT_AK_ALIAS,        // output_operand_alias
  TT_AK_ALGORITHM,    // dot algorithm, verbatim text
  TT_AK_OPAQUE,       // anything else, verbatim text, passed through
} tt_attr_kind_t;

typedef struct tt_i64s_s { const int64_t* data; size_t size; } tt_i64s_t;

typedef struct tt_dot_dims_s {
  tt_i64s_t lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
} tt_dot_dims_t;
typedef struct tt_conv_dims_s {
  int64_t input_batch, input_feature, kernel_input_feature, kernel_output_feature, output_batch, output_feature;
  tt_i64s_t input_spatial, kernel_spatial, output_spatial;
} tt_conv_dims_t;
typedef struct tt_gather_dims_s {
  tt_i64s_t offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map;
  int64_t index_vector_dim;
} tt_gather_dims_t;
typedef struct tt_scatter_dims_s {
  tt_i64s_t update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
      scatter_dims_to_operand_dims;
  int64_t index_vector_dim;
} tt_scatter_dims_t;

typedef struct tt_attr_s tt_attr_t;
typedef struct tt_dense_s {
  const tt_type_t* type;       // static tensor
  bool is_splat;               // data holds one element
  const void* data;            // row-major, tt_dtype_bytes a value (sub-byte types one a byte)
} tt_dense_t;
struct tt_attr_s {
  tt_attr_name_t name;
  tt_attr_kind_t kind;
  tt_dtype_t dtype;            // INT, FLOAT, I64S, F64S; TYPE: a bare element type, else INVALID
  const char* other_name;      // name == OTHER
  const char* enum_kind;       // ENUM: static "stablehlo<precision"; NULL: what the attribute's name has
  union {
    bool b;
    int64_t i;
    double f;
    tt_string_view_t text;     // NUL-terminated as well
    const tt_type_t* type;
    tt_i64s_t i64s;
    struct { const uint8_t* data; size_t size; } bools;
    struct { const double* data; size_t size; } f64s;
    tt_dense_t dense;
    struct { const tt_attr_t* data; size_t size; } array;  // elements: name OTHER, other_name NULL
    struct { const tt_attr_t* data; size_t size; } dict;
    const tt_dot_dims_t* dot;
    const tt_conv_dims_t* conv;
    const tt_gather_dims_t* gather;
    const tt_scatter_dims_t* scatter;
    struct { int64_t handle, type; } channel;
    struct { tt_i64s_t output_tuple_indices; int64_t operand_index; tt_i64s_t operand_tuple_indices; } alias;
  };
};

// ---- structure ---------------------------------------------------------------------------------
typedef enum tt_op_kind_e {
  TT_OP_INVALID = 0,
#define TT_OP(ENUM, name, omin, omax, results, regions, traits) TT_OP_##ENUM,
#include "ir/ops.def"
#undef TT_OP
  TT_OP_COUNT,
} tt_op_kind_t;

typedef enum tt_op_trait_e {
  TT_TRAIT_ELEMENTWISE = 1 << 0, TT_TRAIT_UNARY = 1 << 1, TT_TRAIT_BINARY = 1 << 2, TT_TRAIT_COMMUTATIVE = 1 << 3,
  TT_TRAIT_PURE = 1 << 4, TT_TRAIT_TERMINATOR = 1 << 5, TT_TRAIT_SIDE_EFFECT = 1 << 6, TT_TRAIT_DATA_MOVEMENT = 1 << 7,
  TT_TRAIT_REDUCER = 1 << 8,
} tt_op_trait_t;

typedef struct tt_op_info_s {
  const char* name;            // "stablehlo.add"
  int operands_min, operands_max, results, regions;  // -1: any
  uint32_t traits;
} tt_op_info_t;
const tt_op_info_t* tt_op_info(tt_op_kind_t kind);
tt_op_kind_t tt_op_kind_from_name(const char* name, size_t size);  // INVALID if unknown

typedef struct tt_value_s tt_value_t;
typedef struct tt_op_s tt_op_t;
typedef struct tt_block_s tt_block_t;
typedef struct tt_region_s tt_region_t;
typedef struct tt_func_s tt_func_t;
typedef struct tt_module_s tt_module_t;

typedef struct tt_loc_s {      // source location; NULL pointers mean unknown
  const char* file;
  int32_t line, column;
  const char* name;            // op or user scope
  int32_t text_line, text_column;   // where the reader found it; 0: not read from text
} tt_loc_t;

struct tt_value_s {
  const tt_type_t* type;
  tt_op_t* op;                 // NULL: argument of `block`
  tt_block_t* block;           // arguments only
  uint32_t index;              // result or argument number
  uint32_t id;                 // unique in the module, dense from 0
  uint32_t uses;               // operand occurrences
};

struct tt_op_s {
  tt_op_kind_t kind;
  uint16_t attr_count;
  uint16_t region_count;
  uint32_t operand_count, result_count;
  tt_value_t** operands;
  tt_value_t* results;         // [result_count], contiguous
  tt_attr_t* attrs;
  tt_region_t* regions;        // [region_count], contiguous
  const tt_loc_t* loc;         // NULL: unknown
  tt_block_t* block;
  tt_op_t *prev, *next;
};

struct tt_block_s {
  tt_region_t* region;
  tt_value_t* args;            // [arg_count], contiguous
  uint32_t arg_count;
  tt_op_t *first, *last;
};

struct tt_region_s {           // always one block
  tt_op_t* op;                 // NULL: body of `func`
  tt_func_t* func;
  tt_block_t block;
};

struct tt_func_s {
  tt_module_t* module;
  const char* name;
  bool is_public;
  tt_region_t body;
  const tt_type_t** result_types;
  uint32_t result_count;
  // attribute lists: one an argument, one a result, one of the function
  struct { tt_attr_t* data; size_t size; } *arg_attrs, *result_attrs, attrs;
  const tt_loc_t* loc;         // NULL: unknown
  uint32_t arg_capacity;       // of body.block.args and arg_attrs while under construction
  bool args_moved;             // args grew: tt_b_func_end redirects operands to the final array
  tt_func_t* next;
};

typedef struct tt_dims_s tt_dims_t;

struct tt_module_s {
  tt_arena_t arena;
  int32_t references;          // atomic; see tt_module_retain
  const char* name;            // NULL: unnamed
  struct { tt_attr_t* data; size_t size; } attrs;   // mhlo.num_replicas, ...
  tt_func_t *first_func, *last_func;
  uint32_t value_count;
  tt_dims_t* dims;             // dimension table (dim.h); NULL until the first symbol
  struct tt_type_table_s* types;
};

tt_status_t tt_module_create(tt_module_t** out_module) TT_MUST_USE;
void tt_module_retain(tt_module_t* module);
void tt_module_release(tt_module_t* module);
tt_func_t* tt_module_find_func(const tt_module_t* module, const char* name);   // NULL if absent
tt_func_t* tt_module_main(const tt_module_t* module);   // "main", else the only public function, else NULL

// Interned types; NULL when memory is short or rank > TT_MAX_RANK.
const tt_type_t* tt_type_tensor(tt_module_t* module, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims);
const tt_type_t* tt_type_tensor_bounded(tt_module_t* module, tt_dtype_t dtype, size_t rank, const tt_dim_t* dims,
                                        const int64_t* bounds);
const tt_type_t* tt_type_intern(tt_module_t* module, const tt_type_t* type);  // copies `type` if new
const tt_type_t* tt_type_token(tt_module_t* module);
const tt_type_t* tt_type_tuple(tt_module_t* module, size_t count, const tt_type_t* const* elements);
const tt_type_t* tt_type_function(tt_module_t* module, size_t inputs, const tt_type_t* const* input_types,
                                  size_t results, const tt_type_t* const* result_types);

// Attribute access; NULL / fallback when absent.
const tt_attr_t* tt_op_attr(const tt_op_t* op, tt_attr_name_t name);
int64_t tt_op_attr_int(const tt_op_t* op, tt_attr_name_t name, int64_t fallback);
bool tt_op_attr_bool(const tt_op_t* op, tt_attr_name_t name, bool fallback);
double tt_op_attr_float(const tt_op_t* op, tt_attr_name_t name, double fallback);
tt_i64s_t tt_op_attr_i64s(const tt_op_t* op, tt_attr_name_t name);       // {NULL, 0} when absent
const char* tt_op_attr_text(const tt_op_t* op, tt_attr_name_t name);     // STRING, ENUM, SYMBOL; "" when absent
const tt_attr_t* tt_attr_find(const tt_attr_t* attrs, size_t count, tt_attr_name_t name);
// In a composite's composite_attributes.
const tt_attr_t* tt_composite_attr(const tt_op_t* op, tt_attr_name_t name);

// The single op kind of a region {^bb(a, b): return op(a, b)} of a reducer, or TT_OP_INVALID.
tt_op_kind_t tt_region_binary_kind(const tt_region_t* region);

// Takes an op without users out of its block; its memory stays with the module.
void tt_op_unlink(tt_op_t* op);

// Walks every op, also in regions, in order; stops when the callback returns an error.
typedef tt_status_t (*tt_op_visitor_t)(void* self, tt_op_t* op);
tt_status_t tt_func_walk(tt_func_t* func, tt_op_visitor_t visit, void* self) TT_MUST_USE;

// ---- whole modules -----------------------------------------------------------------------------
// I1..I5 and each op's own rules; the message names function, op (printed), value and limit.
tt_status_t tt_module_verify(const tt_module_t* module) TT_MUST_USE;
// Structure only: no names of values, no locations. Equal modules hash equal.
uint64_t tt_module_hash(const tt_module_t* module);
bool tt_module_equal(const tt_module_t* a, const tt_module_t* b);
// Symbols bound to extents (indexed as dim.h numbers them): a fully static copy.
tt_status_t tt_module_specialise(const tt_module_t* module, const int64_t* bindings, size_t binding_count,
                                 tt_module_t** out_module) TT_MUST_USE;
// Symbolic dims become `?` with #stablehlo.bounds from the symbols' ranges; an unbounded one is an error.
tt_status_t tt_module_to_bounded(const tt_module_t* module, tt_module_t** out_module) TT_MUST_USE;

#endif  // TT_IR_IR_H_
