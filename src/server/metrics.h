// Counts of what the server has done so far, for GET /metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace kinglet::server {

// The number and the sum of measured times, in seconds.
class Durations {
 public:
  void add(double seconds);
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  double sum() const;

 private:
  std::atomic<uint64_t> count_ = 0;
  std::atomic<uint64_t> microseconds_ = 0;
};

// May be changed and read on any thread.
struct Metrics {
  using Counter = std::atomic<uint64_t>;

  Counter prompt_tokens = 0;     // of answers that were begun
  Counter cached_tokens = 0;     // … of them, those that sessions held already
  Counter generated_tokens = 0;  // sampled tokens
  Counter encoded_tokens = 0;    // of texts whose vectors or scores were computed
  Counter pictures = 0;          // pictures computed; one whose rows were kept is not counted again
  Counter refused = 0;           // requests that found the queue full
  Counter cancelled = 0;         // answers whose client left before their end
  Counter decoding_steps = 0;    // passes through the model that computed sampled tokens
  Counter decoded_tokens = 0;    // … and the number of tokens that they computed
  Counter requests = 0;          // requests that wait or are answered now
  Counter running = 0;           // answers that are computed now
  Counter waiting = 0;           // answers that are not begun yet
  Counter idle_sessions = 0;     // sessions kept for later prompts that begin alike
  Counter kv_pages = 0;
  Counter kv_pages_used = 0;
  Durations first_token;  // from the request of an answer to its first token
  Durations answers;      // from the request of an answer to its end

  void count_answer(const std::string& path, int status);

  // Prints the metrics in Prometheus' text format, version 0.0.4.
  std::string print() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> answered_;  // by path and status
};

}  // namespace kinglet::server
