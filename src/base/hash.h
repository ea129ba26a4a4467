// A fast hash for tables, for distinguishing files and for detecting damage. It does not protect
// against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kinglet {

// FNV-1a (Fowler, Noll, Vo) over words of 8 bytes; the last word is padded with zeros. After each
// word, the hash is folded so that high bits reach low ones. `seed`: the hash of the bytes before.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0xcbf29ce484222325u);

inline uint64_t hash_text(std::string_view text) {
  return hash_bytes(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace kinglet
