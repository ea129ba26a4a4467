// What a server has done so far, for GET /metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace kinglet::server {

// Seconds that something took, added up.
class Durations {
 public:
  void add(double seconds);
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  double sum() const;

 private:
  std::atomic<uint64_t> count_ = 0;
  std::atomic<uint64_t> microseconds_ = 0;
};

// Any thread may count, and read.
struct Metrics {
  using Counter = std::atomic<uint64_t>;

  Counter prompt_tokens = 0;     // of answers that were begun
  Counter cached_tokens = 0;     // … of these, found in sessions that were kept
  Counter generated_tokens = 0;  // drawn
  Counter encoded_tokens = 0;    // of texts that were made vectors or scores of
  Counter pictures = 0;          // that were read; those that were kept not again
  Counter refused = 0;           // requests: the queue was full
  Counter cancelled = 0;         // answers that nobody waited for any more
  Counter decoding_steps = 0;    // passes through the model that computed drawn tokens
  Counter decoded_tokens = 0;    // … and how many they computed
  Counter requests = 0;          // that wait or are answered now
  Counter running = 0;           // answers that are computed now
  Counter waiting = 0;           // answers that are not begun yet
  Counter idle_sessions = 0;     // kept for the beginnings that they share
  Counter kv_pages = 0;
  Counter kv_pages_used = 0;
  Durations first_token;  // from when an answer was asked for
  Durations answers;      // whole

  void count_answer(const std::string& path, int status);

  // In Prometheus' text format, version 0.0.4.
  std::string print() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> answered_;  // by path and status
};

}  // namespace kinglet::server
