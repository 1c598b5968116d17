// NumPy .npy files, for the command-line tools.
#ifndef TT_TOOLS_NPY_H_
#define TT_TOOLS_NPY_H_

#include "base/base.h"
#include "base/status.h"
#include "ir/ir.h"

typedef struct tt_npy_s {
  char descr[32];               // "<f4"
  bool is_fortran;
  size_t rank;
  int64_t dims[TT_MAX_RANK];
  size_t elem_bytes;
  char* data;                   // owned
} tt_npy_t;

tt_status_t tt_npy_read(const char* path, tt_npy_t* out_array) TT_MUST_USE;
// The same of bytes in memory, which it takes over (tt_free), also on failure; writable. `path` is for messages.
tt_status_t tt_npy_parse(const char* path, char* bytes, size_t size, tt_npy_t* out_array) TT_MUST_USE;
void tt_npy_strides(const tt_npy_t* array, int64_t* out_strides);   // bytes, [rank]; of an empty array any
void tt_npy_deinitialize(tt_npy_t* array);
// The dtype of a descr, or TT_DTYPE_INVALID ("V2" may be bf16: the program decides).
tt_dtype_t tt_npy_dtype(const char* descr);
// Dense row-major data. Types that NumPy does not have are written as raw bytes ("|V1", "<V2").
tt_status_t tt_npy_write(const char* path, tt_dtype_t dtype, size_t rank, const int64_t* dims,
                         const void* data) TT_MUST_USE;
// A whole file; NUL-terminated, *out_size without the NUL.
tt_status_t tt_file_read(const char* path, char** out_text, size_t* out_size) TT_MUST_USE;

#endif  // TT_TOOLS_NPY_H_
