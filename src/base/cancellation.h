// A request to stop that another thread can make while work is running.
#pragma once

#include <atomic>
#include <cstdint>

namespace kinglet {

// Cancellation is requested while `word` holds `value`, so that several kinds of work can share one
// word. Without a word, it is never requested.
struct Cancellation {
  const std::atomic<uint32_t>* word = nullptr;
  uint32_t value = 0;

  bool requested() const {
    return word != nullptr && word->load(std::memory_order_relaxed) == value;
  }
};

}  // namespace kinglet
