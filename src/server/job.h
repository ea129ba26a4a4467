// Jobs: the thread of a connection submits one, and the thread that computes gives it its results.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "model/pooling.h"
#include "server/api.h"
#include "session/generation.h"
#include "vision/pixels.h"

namespace kinglet::server {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Called when nobody waits for the job any more.
  void cancel() { cancelled_.store(1, std::memory_order_relaxed); }
  bool is_cancelled() const { return cancellation().requested(); }
  Cancellation cancellation() const { return {&cancelled_, 1}; }
  Clock::time_point begin() const { return begin_; }

 private:
  std::atomic<uint32_t> cancelled_ = 0;
  Clock::time_point begin_ = Clock::now();
};

// One step of an answer. The last step has a finish reason or an error.
struct GenerationEvent {
  GenerationStep step = {};
  uint32_t n_cached = 0;  // tokens of the prompt that were not computed again
  std::optional<Error> error = {};

  bool is_last() const { return error || step.is_last(); }
};

// One answer to one prompt.
class GenerationJob : public Job {
 public:
  GenerationJob(std::vector<TokenId> prompt, GenerationOptions options)
      : prompt_(std::move(prompt)), options_(std::move(options)) {
    options_.cancellation = cancellation();
  }

  const std::vector<TokenId>& prompt() const { return prompt_; }
  const GenerationOptions& options() const { return options_; }

  // Returns the next step, or nullopt if there is none within `at_most`.
  std::optional<GenerationEvent> wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    if (!has_news_.wait_for(lock, at_most, [&] { return !events_.empty(); })) return std::nullopt;
    GenerationEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  void deliver(GenerationEvent event) {
    {
      const std::scoped_lock lock(mutex_);
      events_.push_back(std::move(event));
    }
    has_news_.notify_one();
  }

 private:
  std::vector<TokenId> prompt_;
  GenerationOptions options_;
  std::mutex mutex_;
  std::condition_variable has_news_;
  std::deque<GenerationEvent> events_;
};

// A job with one result.
template <class T>
class ResultJob : public Job {
 public:
  // Returns the result, or nullopt if there is none within `at_most`.
  std::optional<Result<T>> wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    has_news_.wait_for(lock, at_most, [&] { return result_.has_value(); });
    return std::exchange(result_, std::nullopt);
  }

  void deliver(Result<T> result) {
    {
      const std::scoped_lock lock(mutex_);
      result_.emplace(std::move(result));
    }
    has_news_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_news_;
  std::optional<Result<T>> result_;
};

// Computes one row for each text: its vector or its scores.
class EncodingJob : public ResultJob<std::vector<std::vector<float>>> {
 public:
  using Rows = std::vector<std::vector<float>>;

  // Pooling::rank computes scores, the others compute vectors.
  EncodingJob(std::vector<std::vector<TokenId>> texts, Pooling pooling)
      : texts_(std::move(texts)), pooling_(pooling) {}

  const std::vector<std::vector<TokenId>>& texts() const { return texts_; }
  Pooling pooling() const { return pooling_; }

 private:
  std::vector<std::vector<TokenId>> texts_;
  Pooling pooling_;
};

// Computes the parts that show a picture to a text model.
class PictureJob : public ResultJob<PictureParts> {
 public:
  explicit PictureJob(Picture picture) : picture_(std::move(picture)) {}

  // Moves the picture out: only the code that begins the job needs it, once.
  Picture take_picture() { return std::move(picture_); }

 private:
  Picture picture_;
};

}  // namespace kinglet::server
