// Cancels the reading of a request when nobody waits for its answer any more.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/cancellation.h"
#include "server/api.h"

namespace kinglet::server {

// Checks the deadline again and again, on a thread of its own, while the object exists. The thread
// that reads the request then needs only look at the cancellation, as often as it likes.
class Watch {
 public:
  // `check` is called on another thread.
  explicit Watch(std::function<ApiStatus()> check)
      : deadline_{std::move(check), {&cancelled_, 1}}, thread_([this] { run(); }) {}
  ~Watch() {
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = true;
    }
    has_ended_.notify_one();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  const Deadline& deadline() const { return deadline_; }

 private:
  static constexpr std::chrono::milliseconds kTick{50};

  void run() {
    std::unique_lock lock(mutex_);
    while (!has_ended_.wait_for(lock, kTick, [this] { return is_over_; })) {
      if (deadline_().ok()) continue;
      cancelled_ = 1;
      return;
    }
  }

  std::atomic<uint32_t> cancelled_ = 0;
  Deadline deadline_;
  std::mutex mutex_;
  std::condition_variable has_ended_;
  bool is_over_ = false;
  std::thread thread_;  // uses all the others
};

}  // namespace kinglet::server
