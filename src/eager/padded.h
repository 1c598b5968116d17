// Growing dimensions on plugins whose compiles are slow: programs at rounded sizes, and storages whose buffers have
// padding (cell.h E10).
//
//   build ─> composites to bodies ─> shape key ─> growth.h: what grows ─> tt_module_pad ─> program/ (a known program)
//
// A new length costs a build and no compile: the padded program is the one of the last length, its sizes are run-time
// numbers of tt_eager_program_t. On vtpu nothing here does anything.
#ifndef TT_EAGER_PADDED_H_
#define TT_EAGER_PADDED_H_

#include "eager/build.h"
#include "ir/pad.h"

// The finished module of `build` at rounded sizes, if something grows or is padded: out->module is owned, outputs[]
// and build->params are brought up to date. out->module NULL: as it was.
tt_status_t tt_padded_program(tt_build_t* build, uint32_t output_count, tt_output_t* outputs,
                              tt_padded_t* out) TT_MUST_USE;

// A buffer's dimensions with their padding.
void tt_padded_dims(size_t rank, const int64_t* dims, uint16_t padded, int64_t* out_dims);
// Bytes of a buffer with padding; false on overflow.
bool tt_padded_bytes(size_t rank, const int64_t* dims, uint16_t padded, size_t size, size_t* out_bytes);
// Dense memory with padding -> without, and back (the padding zero, or poison).
void tt_padded_crop(size_t rank, const int64_t* dims, uint16_t padded, size_t size, const void* from,
                    void* to);
void tt_padded_spread(size_t rank, const int64_t* dims, uint16_t padded, tt_dtype_t dtype, const void* from,
                      void* to);
// A cell's logical bytes to the host; waits. Under the cell's lock, or of a cell that nobody else knows.
tt_status_t tt_padded_read(const tt_storage_t* cell, void* out_data) TT_MUST_USE;
// Gives a cell a buffer without padding, through the host: costs no compile. Under its lock, likewise.
tt_status_t tt_padded_make_exact(tt_engine_t* engine, tt_storage_t* cell) TT_MUST_USE;
// Which dimensions of an upload are to be rounded up.
uint16_t tt_padded_upload(const tt_engine_t* engine, tt_dtype_t dtype, size_t rank, const int64_t* dims);

#endif  // TT_EAGER_PADDED_H_
