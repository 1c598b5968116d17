// What the table of growing sizes says after sequences of programs.
#include "eager/growth.h"

#include "base/test.h"

enum { SKELETON = 77 };

static void note(bool steps, int64_t a, int64_t b, uint64_t constant, uint8_t* out_sizes,
                 uint8_t* out_constant) {
  int64_t sizes[2] = {a, b};
  tt_growth_note(SKELETON, steps, 2, sizes, 1, &constant, out_sizes, out_constant);
}

TT_TEST(growth, small_steps_grow_at_the_third) {
  uint8_t grows[2], moves;
  tt_growth_clear();
  note(false, 5, 64, 5, grows, &moves);
  TT_EXPECT(!grows[0] && !grows[1] && !moves);
  note(false, 6, 64, 6, grows, &moves);  // two layers of a network, as well
  TT_EXPECT(!grows[0] && !grows[1] && !moves);
  note(false, 7, 64, 7, grows, &moves);
  TT_EXPECT(grows[0] && !grows[1] && moves);
  note(false, 300, 64, 300, grows, &moves);  // known by now
  TT_EXPECT(grows[0] && !grows[1] && moves);
  note(false, 300, 96, 300, grows, &moves);  // another layer
  TT_EXPECT(!grows[0] && !grows[1] && !moves);
}

TT_TEST(growth, a_multiple_goes_along) {
  uint8_t grows[2], moves;
  tt_growth_clear();
  note(false, 5, 5 * 48, 0, grows, &moves);
  note(false, 6, 6 * 48, 0, grows, &moves);
  note(false, 7, 7 * 48, 0, grows, &moves);
  TT_EXPECT(grows[0] && grows[1] && !moves);
  tt_growth_clear();
  note(false, 3, 224, 0, grows, &moves);  // channels and image sizes of two layers
  note(false, 8, 112, 0, grows, &moves);
  TT_EXPECT(!grows[0] && !grows[1]);
}

TT_TEST(growth, any_length_grows_at_the_third) {
  uint8_t grows[2], moves;
  tt_growth_clear();
  note(false, 17, 64, 0, grows, &moves);
  note(false, 93, 64, 0, grows, &moves);
  TT_EXPECT(!grows[0]);
  note(false, 40, 64, 0, grows, &moves);
  TT_EXPECT(grows[0] && !grows[1]);
}

TT_TEST(growth, a_constant_moves_at_the_third) {
  uint8_t grows[2], moves;
  tt_growth_clear();
  note(false, 4, 4, 1, grows, &moves);
  note(false, 4, 4, 2, grows, &moves);
  TT_EXPECT(!moves);
  note(false, 4, 4, 3, grows, &moves);
  TT_EXPECT(moves && !grows[0] && !grows[1]);
}

TT_TEST(growth, uploads_go_step_by_step) {
  uint8_t grows[2], moves;
  tt_growth_clear();
  note(true, 300, 4, 0, grows, &moves);
  note(true, 303, 4, 0, grows, &moves);
  TT_EXPECT(!grows[0]);
  note(true, 305, 4, 0, grows, &moves);
  TT_EXPECT(grows[0] && !grows[1]);
  note(true, 1000, 4, 0, grows, &moves);  // a weight
  TT_EXPECT(!grows[0]);
}

TT_TEST(growth, uploads_that_take_turns_do_not_grow) {
  uint8_t grows[2], moves;
  tt_growth_clear();
  for (int i = 0; i < 4; ++i) {
    note(true, 3, 4, 0, grows, &moves);  // an input
    TT_EXPECT(!grows[0] && !grows[1]);
    note(true, 4, 4, 0, grows, &moves);  // a weight
    TT_EXPECT(!grows[0] && !grows[1]);
  }
}

TT_TEST(growth, programs_with_many_sizes_are_not_watched) {
  int64_t sizes[200] = {0};
  uint8_t grows[200];
  tt_growth_clear();
  for (int i = 0; i < 3; ++i) {
    sizes[0] = i;
    tt_growth_note(SKELETON, false, 200, sizes, 0, NULL, grows, NULL);
    TT_EXPECT(!grows[0]);
  }
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
