// Asking for memory that is read soon, where the processor does not foresee it.
#pragma once

#include <cstddef>

namespace kinglet {

// Asks for the cache lines of n bytes, which may lie outside of all memory. In wasm there is no
// such instruction, and nothing happens.
[[gnu::always_inline]] inline void prefetch(const std::byte* begin, size_t n) {
  constexpr size_t kCacheLine = 64;
  for (size_t i = 0; i < n; i += kCacheLine) __builtin_prefetch(begin + i);
}

}  // namespace kinglet
