// Names of slices against what libtpu 0.0.51 accepted and how many devices it made of them, and Cloud's types.
#include "ir/chip.h"

#include "base/test.h"

TT_TEST(chip, slices_and_their_devices) {
  static const struct {
    const char *name, *canonical;
    int64_t devices;
  } cases[] = {
      // name and device count as libtpu's PJRT_TopologyDescription_Create gave them
      {"v5e:1x1", "v5e:1x1", 1},
      {"v5e:2x2", "v5e:2x2", 4},
      {"v5e:2x4", "v5e:2x4", 8},
      {"v5e:4x4", "v5e:4x4", 16},
      {"v5p:1x1x1", "v5p:1x1x1", 1},
      {"v5p:2x2x1", "v5p:2x2x1", 4},
      {"v5p:2x2", "v5p:2x2x1", 4},
      {"v6e:1x1", "v6e:1x1", 1},
      {"v6e:2x2", "v6e:2x2", 4},
      {"v4:1x1x1", "v4:1x1x1", 2},
      {"v4:2x2x1", "v4:2x2x1", 8},
      {"v3:2x2", "v3:2x2", 8},
      {"v2:2x2", "v2:2x2", 8},
      {"tpu7x:1x1x1", "tpu7x:1x1x1", 2},
      {"tpu7x:2x2x1", "tpu7x:2x2x1", 8},
      {"tpu7x:2x2", "tpu7x:2x2x1", 8},
      {"tpu7x:4x4x4", "tpu7x:4x4x4", 128},
      {"v5e:1x1x1", "v5e:1x1", 1},
      // Cloud types: v5litepod and v6e count chips, v4 and v5p count cores, two a chip
      {"v5litepod-1", "v5e:1x1", 1},
      {"v5litepod-8", "v5e:2x4", 8},
      {"v5litepod-16", "v5e:4x4", 16},
      {"v6e-4", "v6e:2x2", 4},
      {"v5p-8", "v5p:2x2x1", 4},
      {"v4-8", "v4:2x2x1", 8},
      {"v6e", "v6e:1x1", 1},
      {"v7x:2x2x1", "tpu7x:2x2x1", 8},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    tt_slice_t slice;
    const char* why = tt_slice_parse(cases[i].name, strlen(cases[i].name), &slice);
    if (why) TT_TEST_FAIL("%s: %s", cases[i].name, why);
    TT_EXPECT(!why);
    char name[TT_SLICE_NAME_MAX];
    tt_slice_name(&slice, name);
    TT_EXPECT_STR(name, cases[i].canonical);
    TT_EXPECT_EQ(slice.devices, cases[i].devices);
  }
}

TT_TEST(chip, bad_names_say_why) {
  static const struct {
    const char *name, *why;
  } cases[] = {
      {"", "unknown"},
      {"v9:2x2", "unknown"},
      {"v5lite:2x2", "unknown"},
      {"tpu7:2x2", "unknown"},
      {"v5e:", "shape"},
      {"v5e:2", "two or three"},
      {"v5e:0x2", "shape"},
      {"v5e:2x2x2", "two axes"},
      {"v5e:2x2x1x1", "shape"},
      {"v5e:2y2", "shape"},
      {"v5e:-1x2", "shape"},
      {"v6e-", "count"},
      {"v6e-3", "size"},
      {"v5p-3", "size"},
      {"v6e-4x", "count"},
      {"v5e-8", "unknown"},
      {"v5e:99999x1", "shape"},
      {"v5e:9999x9999", "more chips"},
      {"tpu7x:9999x9999x9999", "more chips"},
  };
  for (size_t i = 0; i < TT_ARRAY_LENGTH(cases); ++i) {
    tt_slice_t slice;
    const char* why = tt_slice_parse(cases[i].name, strlen(cases[i].name), &slice);
    if (!why) TT_TEST_FAIL("'%s' is taken", cases[i].name);
    TT_EXPECT(why);
    TT_EXPECT_CONTAINS(why, cases[i].why);
  }
}

TT_TEST(chip, found_by_bus_and_by_kind) {
  // the ids of jax 0.10.2's hardware utilities
  static const struct {
    unsigned id;
    const char* name;
  } ids[] = {{0x0027, "v3"},  {0x005e, "v4"},  {0x0062, "v5p"},
             {0x0063, "v5e"}, {0x006f, "v6e"}, {0x0076, "tpu7x"}};
  for (size_t i = 0; i < TT_ARRAY_LENGTH(ids); ++i) {
    TT_EXPECT(tt_chip_by_pci(ids[i].id));
    TT_EXPECT_STR(tt_chip_by_pci(ids[i].id)->name, ids[i].name);
  }
  TT_EXPECT(!tt_chip_by_pci(0x0042));  // Google's network card
  TT_EXPECT(!tt_chip_by_pci(0));
  TT_EXPECT_STR(tt_chip_by_kind("TPU v5 lite")->name, "v5e");
  TT_EXPECT_STR(tt_chip_by_kind("TPU v5")->name, "v5p");
  TT_EXPECT_STR(tt_chip_by_kind("TPU7x")->name, "tpu7x");
  TT_EXPECT_STR(tt_chip_by_kind("TPU v6e (virtual, CPU)")->name, "v6e");
  TT_EXPECT_STR(tt_chip_by_kind("TPU v7x (virtual, CPU)")->name, "tpu7x");
  TT_EXPECT(!tt_chip_by_kind("cpu"));
  TT_EXPECT(!tt_chip_by_kind("NVIDIA H100"));
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
