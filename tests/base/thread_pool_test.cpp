#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <vector>

namespace kinglet {
namespace {

// Expects a call for every index once, in parts that are cut at multiples of the grain, with valid
// threads.
void expect_cover(ThreadPool& pool, size_t n, size_t grain) {
  std::vector<std::atomic<int>> calls(n);
  pool.for_range(n, grain, [&](size_t begin, size_t end, size_t thread) {
    EXPECT_LT(begin, end);
    EXPECT_EQ(begin % grain, 0u);
    EXPECT_TRUE(end % grain == 0 || end == n);
    EXPECT_LT(thread, pool.n_threads());
    for (size_t i = begin; i < end; ++i) ++calls[i];
  });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
}

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (const size_t n_threads : {1u, 2u, 3u, 7u}) {
    ThreadPool pool(n_threads);
    ASSERT_LE(pool.n_threads(), n_threads);
    for (const size_t n : {0u, 1u, 15u, 16u, 17u, 100u, 576u}) {
      for (const size_t grain : {1u, 4u, 16u}) expect_cover(pool, n, grain);
    }
  }
}

TEST(ThreadPool, NoThreadRunsTwoPartsAtATime) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(pool.n_threads());
  for (int round = 0; round < 2000; ++round) {
    pool.for_range(64, 1, [&](size_t, size_t, size_t thread) {
      EXPECT_EQ(busy[thread].fetch_add(1), 0);
      busy[thread].fetch_sub(1);
    });
    // All parts are done when the call returns.
    for (const auto& count : busy) ASSERT_EQ(count, 0);
  }
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    // Long enough that the workers stop spinning and sleep.
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&pause, nullptr);
    expect_cover(pool, 100, 1);
  }
}

TEST(ThreadPool, WhatIsBegunGoesOnWithoutTheCaller) {
  ThreadPool pool(2);
  if (pool.n_threads() == 1) GTEST_SKIP() << "this build has no threads";
  std::vector<std::atomic<int>> calls(50);
  const auto count = [&](size_t i, size_t thread) {
    EXPECT_EQ(thread, 1u);
    ++calls[i];
  };
  for (int round = 1; round <= 3; ++round) {
    pool.begin(calls.size(), count);
    while (!pool.is_done()) sched_yield();
    pool.finish();
    for (const auto& calls_of_one : calls) ASSERT_EQ(calls_of_one, round);
    expect_cover(pool, 100, 1);
  }
}

TEST(ThreadPool, FinishingHelps) {
  for (const size_t n_threads : {1u, 4u}) {
    ThreadPool pool(n_threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> calls(20);
      const auto count = [&](size_t i, size_t thread) {
        EXPECT_LT(thread, pool.n_threads());
        ++calls[i];
      };
      pool.begin(calls.size(), count);
      EXPECT_TRUE(n_threads > 1 || pool.is_done());
      pool.finish();
      EXPECT_TRUE(pool.is_done());
      for (const auto& calls_of_one : calls) ASSERT_EQ(calls_of_one, 1);
    }
  }
}

TEST(ThreadPool, LeavesThreadsOut) {
  ThreadPool pool(4);
  if (pool.n_threads() == 1) GTEST_SKIP() << "this build has no threads";
  for (const size_t n_threads : {1u, 3u, 2u, 1u, 4u, 2u}) {
    pool.limit(n_threads);
    EXPECT_EQ(pool.n_threads(), n_threads);
    for (int round = 0; round < 100; ++round) expect_cover(pool, 100, 1);
    const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
    nanosleep(&pause, nullptr);  // the workers sleep, and those that take part are woken again
    expect_cover(pool, 100, 1);
  }
  pool.limit(9);
  EXPECT_EQ(pool.n_threads(), 4u);
}

TEST(ThreadPool, StartsAndEndsWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

}  // namespace
}  // namespace kinglet
