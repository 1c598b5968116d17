#include "base/test.h"
#include "lower/lower.h"

TT_TEST(table, every_name_finds_its_entry) {
  for (size_t op = 0; op < tt_aten_count(); ++op) {
    const tt_aten_entry_t* entry = tt_aten_entry(op);
    const char* names[3] = {entry->info.functional, entry->info.out, entry->info.inplace};
    TT_EXPECT(entry->lower != NULL);
    TT_EXPECT(*names[0] || *names[1] || *names[2]);
    for (int k = 0; k < 3; ++k) {
      if (!*names[k]) continue;
      size_t found = tt_aten_find(names[k]);
      TT_EXPECT(found != SIZE_MAX);
      // a name may stand twice only as a graph form behind the registered one
      if (found != op) TT_EXPECT(tt_aten_info(op)->flags & TT_ATEN_GRAPH_ONLY);
    }
  }
}

TT_TEST(table, unknown_names_are_absent) {
  TT_EXPECT(tt_aten_find("no_such_op") == SIZE_MAX);
  TT_EXPECT(tt_aten_find("") == SIZE_MAX);
  TT_EXPECT(tt_aten_find(NULL) == SIZE_MAX);
  TT_EXPECT(tt_aten_entry(tt_aten_count()) == NULL);
  TT_EXPECT(tt_aten_info(SIZE_MAX) == NULL);
}

TT_TEST(table, forms_of_one_op_share_an_entry) {
  TT_EXPECT_EQ(tt_aten_find("add.out"), tt_aten_find("add.Tensor"));
  TT_EXPECT_EQ(tt_aten_find("add_.Tensor"), tt_aten_find("add.Tensor"));
  TT_EXPECT(tt_aten_info(tt_aten_find("add.Tensor"))->flags & TT_ATEN_FAST);
  TT_EXPECT(tt_aten_info(tt_aten_find("view"))->flags & TT_ATEN_GRAPH_ONLY);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
