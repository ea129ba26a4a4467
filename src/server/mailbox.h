// What the thread that computes gives to the thread of a connection.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/cancellation.h"
#include "base/result.h"

namespace kinglet::server {

// Receives the results of one job.
template <class T>
class Mailbox {
 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Called when nobody waits for the results any longer.
  void cancel() { cancelled_.store(1, std::memory_order_relaxed); }
  Cancellation cancellation() const { return {&cancelled_, 1}; }

  // Returns the next result, or nullopt if there is none within `at_most`.
  std::optional<Result<T>> wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    if (!has_news_.wait_for(lock, at_most, [&] { return !results_.empty(); })) return std::nullopt;
    Result<T> result = std::move(results_.front());
    results_.pop_front();
    return result;
  }

  void deliver(Result<T> result) {
    {
      const std::scoped_lock lock(mutex_);
      results_.push_back(std::move(result));
    }
    has_news_.notify_one();
  }

 private:
  std::atomic<uint32_t> cancelled_ = 0;
  std::mutex mutex_;
  std::condition_variable has_news_;
  std::deque<Result<T>> results_;
};

}  // namespace kinglet::server
