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
  // Where no other thread can write the word: finds out in another way whether the work with this
  // value is cancelled, and remembers it in the word. Called often, so it must be cheap.
  bool (*look)(uint32_t value) = nullptr;

  bool requested() const {
    if (word == nullptr) return false;
    return word->load(std::memory_order_relaxed) == value || (look != nullptr && look(value));
  }
};

}  // namespace kinglet
