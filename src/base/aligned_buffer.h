// Owned, 64-byte aligned memory. If its allocation fails, it returns an error with a message.
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

  // Allocates `bytes` of uninitialized memory. Fails with ErrorCode::out_of_memory, which names
  // `purpose` and the size.
  static Result<AlignedBuffer> allocate(uint64_t bytes, std::string_view purpose);

  // Tells the system that all of the memory will be used. Linux may then use large pages, which
  // makes reading all of it faster. Does nothing on other systems.
  void expect_full_use();

  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {memory_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

  // The buffer as an array of T.
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
