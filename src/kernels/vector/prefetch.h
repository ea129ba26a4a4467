// Prefetches memory that is read soon, for access patterns that the processor does not predict.
#pragma once

#include <cstddef>

namespace kinglet {

// Prefetches the cache lines of n bytes. The addresses need not be valid. Wasm has no such
// instruction, so there it does nothing.
[[gnu::always_inline]] inline void prefetch(const std::byte* begin, size_t n) {
  constexpr size_t kCacheLine = 64;
  for (size_t i = 0; i < n; i += kCacheLine) __builtin_prefetch(begin + i);
}

}  // namespace kinglet
