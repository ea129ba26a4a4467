#include "base/hash.h"

#include <cstring>

namespace kinglet {

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  constexpr uint64_t kPrime = 0x100000001b3u;
  const auto add_word = [](uint64_t& hash, uint64_t word) {
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;
  };
  const auto add = [&](uint64_t& hash, const std::byte* data, size_t n) {
    uint64_t word = 0;
    std::memcpy(&word, data, n);
    add_word(hash, word);
  };
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  uint64_t hash = (seed ^ bytes.size()) * kPrime;
  // Each word waits for the one before, so longer texts have four hashes of every fourth word,
  // which a processor computes at the same time. Their words then follow each other in the hash.
  constexpr size_t kLanes = 4;
  constexpr ptrdiff_t kStep = kLanes * sizeof(uint64_t);
  if (end - at >= 2 * kStep) {
    uint64_t lanes[kLanes] = {hash, hash + 1, hash + 2, hash + 3};
    for (; end - at >= kStep; at += kStep) {
      for (size_t i = 0; i < kLanes; ++i)
        add(lanes[i], at + i * sizeof(uint64_t), sizeof(uint64_t));
    }
    for (const uint64_t lane : lanes) add_word(hash, lane);
  }
  while (at < end) {
    const size_t n = end - at < 8 ? static_cast<size_t>(end - at) : sizeof(uint64_t);
    add(hash, at, n);
    at += n;
  }
  return hash;
}

}  // namespace kinglet
