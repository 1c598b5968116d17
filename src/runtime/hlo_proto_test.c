// The reader of optimised programs: a message written by hand from the published field numbers, and every
// broken form of it. libtpu's own messages are read in tests/test_tt_compile.py.
#include "runtime/hlo_proto.h"

#include "base/alloc.h"
#include "base/test.h"

// HloModuleProto {
//   1 name: "m"
//   3 computations { 1 name: "c"; 2 instructions { 2 opcode: "all-reduce-start" }
//                    instructions { opcode: "add" }
//                    instructions { 1 name: "x"; opcode: "reduce-scatter"; 9 (skipped): 8 bytes } }
//   3 computations { instructions { opcode: "all-reduce" } }
//   8 input_output_alias { 1 { 1 output_shape_index (packed): 2; 2 parameter_number: 300 }
//                          1 { 2 parameter_number: 1 } }
//   13 (skipped): 4 bytes
// }
static const unsigned char module[] = {
    0x0a, 1, 'm',
    0x1a, 3 + 20 + 7 + 30, 0x0a, 1, 'c',
    0x12, 18, 0x12, 16, 'a', 'l', 'l', '-', 'r', 'e', 'd', 'u', 'c', 'e', '-', 's', 't', 'a', 'r', 't',
    0x12, 5, 0x12, 3, 'a', 'd', 'd',
    0x12, 28, 0x0a, 1, 'x', 0x12, 14, 'r', 'e', 'd', 'u', 'c', 'e', '-', 's', 'c', 'a', 't', 't', 'e', 'r',
    0x49, 1, 2, 3, 4, 5, 6, 7, 8,
    0x1a, 14, 0x12, 12, 0x12, 10, 'a', 'l', 'l', '-', 'r', 'e', 'd', 'u', 'c', 'e',
    0x42, 12, 0x0a, 6, 0x0a, 1, 2, 0x10, 0xac, 0x02, 0x0a, 2, 0x10, 1,
    0x6d, 1, 2, 3, 4,
};

static void drop(tt_rt_ahead_t* ahead) { tt_rt_ahead_deinitialize(ahead); }

TT_TEST(hlo_proto, reads_aliases_and_collectives) {
  tt_rt_ahead_t out = {0};
  TT_EXPECT_OK(tt_rt_hlo_read(module, sizeof(module), false, &out));
  TT_EXPECT_EQ(out.collectives[TT_RT_ALL_REDUCE], 2);
  TT_EXPECT_EQ(out.collectives[TT_RT_REDUCE_SCATTER], 1);
  TT_EXPECT_EQ(out.collectives[TT_RT_ALL_GATHER], 0);
  TT_EXPECT_EQ(out.alias_count, 2);
  TT_EXPECT_EQ(out.aliases[0].output, 2);
  TT_EXPECT_EQ(out.aliases[0].parameter, 300);
  TT_EXPECT_EQ(out.aliases[1].output, 0);   // a program of one result has no index
  TT_EXPECT_EQ(out.aliases[1].parameter, 1);
  drop(&out);
  // with a configuration around it: field 1 is the module
  unsigned char wrapped[sizeof(module) + 3] = {0x0a, (sizeof(module) & 0x7f) | 0x80, sizeof(module) >> 7};
  memcpy(wrapped + 3, module, sizeof(module));
  TT_EXPECT_OK(tt_rt_hlo_read(wrapped, sizeof(wrapped), true, &out));
  TT_EXPECT_EQ(out.alias_count, 2);
  drop(&out);
  TT_EXPECT_ERROR(tt_rt_hlo_read(module, sizeof(module), true, &out), TT_DATA_LOSS, "broken");
  drop(&out);
  TT_EXPECT_ERROR(tt_rt_hlo_read("", 0, false, &out), TT_DATA_LOSS, "broken module");
  TT_EXPECT_ERROR(tt_rt_hlo_read("", 0, true, &out), TT_DATA_LOSS, "broken module");
}

TT_TEST(hlo_proto, broken_messages_are_errors_or_other_messages) {
  int64_t blocks = tt_alloc_stats().live_blocks;
  int errors = 0;
  for (size_t size = 0; size <= sizeof(module); ++size) {
    void* copy;   // of its exact size, so that a read behind it is seen by a sanitizer
    TT_EXPECT_OK(tt_alloc(size, &copy));
    if (size) memcpy(copy, module, size);
    for (int pass = 0; pass < 2; ++pass) {
      tt_rt_ahead_t out = {0};
      tt_status_t status = tt_rt_hlo_read(copy, size, pass, &out);
      errors += !tt_status_is_ok(status);
      tt_status_free(status);
      drop(&out);
    }
    tt_free(copy);
  }
  TT_EXPECT(errors > (int)sizeof(module));
  unsigned char bytes[sizeof(module)];
  for (size_t i = 0; i < sizeof(module); ++i) {
    for (int value = 0; value < 256; ++value) {
      memcpy(bytes, module, sizeof(module));
      bytes[i] = (unsigned char)value;
      tt_rt_ahead_t out = {0};
      tt_status_free(tt_rt_hlo_read(bytes, sizeof(bytes), false, &out));
      drop(&out);
    }
  }
  TT_EXPECT_EQ(tt_alloc_stats().live_blocks, blocks);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
