// Owned, 64-byte aligned memory whose allocation can fail in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"

namespace kinglet {

// A cache line, and the widest vector register (AVX-512).
constexpr size_t kAlignment = 64;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  // `bytes` of uninitialized memory. ErrorCode::out_of_memory names `purpose` and the size.
  static Result<AlignedBuffer> allocate(uint64_t bytes, std::string_view purpose);

  // Tells the system that all of the memory will be used, so that it may take large pages for it:
  // reading it through is faster then. On Linux; elsewhere nothing happens.
  void expect_full_use();

  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {memory_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

  // The buffer seen as an array of T.
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(memory_.get()), size_ / sizeof(T)};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  AlignedBuffer(std::byte* memory, size_t size) : memory_(memory), size_(size) {}

  std::unique_ptr<std::byte, Free> memory_;
  size_t size_ = 0;
};

}  // namespace kinglet
