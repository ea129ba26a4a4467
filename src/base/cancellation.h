// A wish to stop that another thread may express while work is under way.
#pragma once

#include <atomic>
#include <cstdint>

namespace kinglet {

// Wished for while `word` holds `value`: several kinds of work can look at one word. Never without
// a word.
struct Cancellation {
  const std::atomic<uint32_t>* word = nullptr;
  uint32_t value = 0;

  bool requested() const {
    return word != nullptr && word->load(std::memory_order_relaxed) == value;
  }
};

}  // namespace kinglet
