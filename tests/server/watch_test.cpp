// Work on a request ends when nobody waits for it.
#include "server/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace kinglet::server {
namespace {

TEST(Watch, CancelsWhenItsCheckFails) {
  std::atomic<bool> has_gone = false;
  const Watch watch([&]() -> ApiStatus {
    if (has_gone) return ApiError{.status = 499, .message = "gone"};
    return {};
  });
  EXPECT_FALSE(watch.deadline().cancellation.requested());
  EXPECT_TRUE(watch.deadline()().ok());
  has_gone = true;
  while (!watch.deadline().cancellation.requested()) std::this_thread::yield();
  EXPECT_EQ(watch.deadline()().error().status, 499);
}

TEST(Watch, EndsWhileItsCheckSucceeds) {
  const Watch watch([] { return ApiStatus(); });
  EXPECT_FALSE(watch.deadline().cancellation.requested());
}

}  // namespace
}  // namespace kinglet::server
