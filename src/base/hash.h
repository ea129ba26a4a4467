// A fast hash for tables, for distinguishing files and for detecting damage. It does not protect
// against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace kinglet {

// FNV-1a (Fowler, Noll, Vo) over words of 8 bytes; the last word is padded with zeros. After each
// word, the hash is folded so that high bits reach low ones. `seed`: the hash of the bytes before.
inline uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0xcbf29ce484222325u) {
  uint64_t hash = (seed ^ bytes.size()) * 0x100000001b3u;
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t n = bytes.size() < sizeof word ? bytes.size() : sizeof word;
    std::memcpy(&word, bytes.data(), n);
    bytes = bytes.subspan(n);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace kinglet
