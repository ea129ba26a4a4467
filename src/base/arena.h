// Room for intermediate results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/checked.h"

namespace kinglet {

// Hands out buffers one after the other. Passed by value, it is a stack: buffers that a callee
// takes are free again when the callee returns. Without memory it only counts bytes, so that the
// same code computes how much memory it needs and where its buffers are.
class Arena {
 public:
  explicit Arena(std::byte* memory = nullptr) : memory_(memory) {}

  // Returns n values, aligned to a cache line and not initialized; null if the arena only counts.
  template <class T>
  T* take(uint64_t n) {
    std::byte* const at = memory_ == nullptr ? nullptr : memory_ + n_bytes_;
    n_bytes_ += round_up(n * sizeof(T), kAlignment);
    return reinterpret_cast<T*>(at);
  }

  uint64_t n_bytes() const { return n_bytes_; }

 private:
  std::byte* memory_;
  uint64_t n_bytes_ = 0;
};

}  // namespace kinglet
