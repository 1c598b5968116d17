#include "base/thread.h"

#include "base/test.h"

typedef struct meeting_s {
  tt_mutex_t mutex;
  tt_cond_t cond;
  int turn, rounds;
} meeting_t;
static void answer(void* arg) {
  meeting_t* meeting = arg;
  tt_mutex_lock(&meeting->mutex);
  for (int i = 0; i < 1000; ++i) {
    while (meeting->turn != 1) tt_cond_wait(&meeting->cond, &meeting->mutex);
    meeting->turn = 0;
    ++meeting->rounds;
    tt_cond_broadcast(&meeting->cond);
  }
  tt_mutex_unlock(&meeting->mutex);
}
TT_TEST(thread, two_take_turns) {
  meeting_t meeting = {.turn = 0};
  tt_mutex_initialize(&meeting.mutex, TT_RANK_LEAF);
  tt_cond_initialize(&meeting.cond);
  tt_thread_t thread;
  TT_EXPECT_OK(tt_thread_create(&thread, "answer", answer, &meeting));
  tt_mutex_lock(&meeting.mutex);
  for (int i = 0; i < 1000; ++i) {
    meeting.turn = 1;
    tt_cond_signal(&meeting.cond);
    while (meeting.turn != 0) tt_cond_wait(&meeting.cond, &meeting.mutex);
  }
  tt_mutex_unlock(&meeting.mutex);
  tt_thread_join(&thread);
  TT_EXPECT_EQ(meeting.rounds, 1000);
  tt_cond_deinitialize(&meeting.cond);
  tt_mutex_deinitialize(&meeting.mutex);
}

TT_TEST(thread, a_wait_ends_after_its_time) {
  tt_mutex_t mutex;
  tt_cond_t cond;
  tt_mutex_initialize(&mutex, TT_RANK_LEAF);
  tt_cond_initialize(&cond);
  tt_mutex_lock(&mutex);
  TT_EXPECT(!tt_mutex_try_lock(&mutex));
  int64_t begin = tt_clock_ns();
  while (tt_cond_wait_for(&cond, &mutex, 20 * 1000000)) {
  }  // spurious wake-ups
  TT_EXPECT(tt_clock_ns() - begin >= 20 * 1000000);
  tt_mutex_unlock(&mutex);
  TT_EXPECT(tt_mutex_try_lock(&mutex));
  tt_mutex_unlock(&mutex);
  tt_cond_deinitialize(&cond);
  tt_mutex_deinitialize(&mutex);
}

TT_TEST(thread, the_machine) {
  TT_EXPECT(tt_cpu_count() >= 1);
  TT_EXPECT(tt_host_memory_limit_bytes() > (uint64_t)64 << 20);
}

int main(int argc, char** argv) { return tt_test_main(argc, argv); }
