#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <vector>

namespace kinglet {
namespace {

TEST(ThreadPool, RunsOnEveryThreadOnce) {
  for (const size_t n : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(n);
    ASSERT_GE(pool.n_threads(), 1u);
    ASSERT_LE(pool.n_threads(), n);
    std::vector<std::atomic<int>> calls(pool.n_threads());
    for (int round = 0; round < 1000; ++round) {
      pool.run([&](size_t thread) { ++calls[thread]; });
    }
    for (const auto& count : calls) EXPECT_EQ(count, 1000);
  }
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  ThreadPool pool(2);
  std::atomic<int> calls = 0;
  for (int round = 0; round < 3; ++round) {
    // Long enough for the workers to give up spinning.
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&pause, nullptr);
    pool.run([&](size_t) { ++calls; });
  }
  EXPECT_EQ(calls, 3 * static_cast<int>(pool.n_threads()));
}

TEST(ThreadPool, StartsAndEndsWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

TEST(ThreadPool, RangesCoverEveryIndexOnce) {
  for (const size_t n : {0u, 1u, 15u, 16u, 17u, 100u, 576u}) {
    for (const size_t grain : {1u, 4u, 16u}) {
      for (const size_t n_threads : {1u, 2u, 3u, 7u}) {
        size_t next = 0;
        for (size_t thread = 0; thread < n_threads; ++thread) {
          const Range range = split_range(n, grain, thread, n_threads);
          EXPECT_EQ(range.begin, next);
          EXPECT_EQ(range.begin == n || range.begin % grain == 0, true);
          next = range.end;
        }
        EXPECT_EQ(next, n);
      }
    }
  }
}

}  // namespace
}  // namespace kinglet
