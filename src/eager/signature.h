// The key of a call: everything that its program depends on, as 64-bit words.
//
// Layout (one pass, self-describing, so that two keys can be compared in words of the user):
//   op | variant | device | out_count        matmul_passes | sized values | arg_count
//   arguments: a header word (kind in the low byte), then what the kind needs
//   outputs of an out= call: tensor records
//   storages in order of first appearance: canonical dtype | rank, dims; unbound ones: their bytes
//   sized values of phase 1
// A tensor record: header, sizes, strides unless contiguous, offset unless 0.
// Value scalars are in it by kind only (design D10).
#ifndef TT_EAGER_SIGNATURE_H_
#define TT_EAGER_SIGNATURE_H_

#include "base/strbuf.h"
#include "eager/frame.h"

// Appends the key of `frame->call` (storages locked). value_args: of the entry.
tt_status_t tt_signature_build(tt_frame_t* frame, uint32_t value_args, uint32_t sized_count,
                               const int64_t* sized) TT_MUST_USE;
// Appends records of plain views and their storages (graphs).
tt_status_t tt_signature_add_views(tt_frame_t* frame) TT_MUST_USE;
uint64_t tt_signature_hash(const tt_frame_t* frame);
// "sizes of argument 1: [4, 4] -> [8, 4]": the first difference between two keys of one op.
void tt_signature_explain(const uint64_t* before, size_t before_count, const uint64_t* after,
                          size_t after_count, tt_strbuf_t* out);
static inline uint32_t tt_signature_op(const uint64_t* key) { return (uint32_t)key[0]; }
static inline tt_variant_t tt_signature_variant(const uint64_t* key) {
  return (tt_variant_t)(key[0] >> 32 & 0xff);
}
static inline int tt_signature_device(const uint64_t* key) { return (int)(key[0] >> 40 & 0xff); }

#endif  // TT_EAGER_SIGNATURE_H_
