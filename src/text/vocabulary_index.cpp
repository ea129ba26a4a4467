// Finds a token by its bytes, as merging does at every step.
#include <algorithm>
#include <cstring>

#include "text/vocabulary.h"

namespace kinglet {
namespace {

template <class T>
uint64_t load(std::string_view bytes, size_t at) {
  T word;
  std::memcpy(&word, &bytes[at], sizeof word);
  return word;
}

// Returns the last bytes of the text, at most eight; shorter texts may give a byte twice.
uint64_t last_bytes(std::string_view bytes) {
  const size_t n = bytes.size();
  if (n >= 8) return load<uint64_t>(bytes, n - 8);
  if (n >= 4) return load<uint32_t>(bytes, 0) | load<uint32_t>(bytes, n - 4) << 32;
  if (n == 0) return 0;
  return load<uint8_t>(bytes, 0) | load<uint8_t>(bytes, n / 2) << 8 |
         load<uint8_t>(bytes, n - 1) << 16;
}

// Hashes words of 8 bytes; most tokens are one word. A multiplication moves bits only upwards, so
// the upper half is folded down before each product, and the result is the upper half. The odd
// constant is 2^64 / golden ratio (Knuth).
size_t hash(std::string_view bytes) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  uint64_t h = bytes.size() * kFactor;
  const auto add = [&h](uint64_t word) {
    h = (h ^ word) * kFactor;
    h ^= h >> 32;
  };
  add(last_bytes(bytes));
  for (; bytes.size() > 8; bytes.remove_prefix(8)) add(load<uint64_t>(bytes, 0));
  return static_cast<size_t>(h * kFactor >> 32);
}

}  // namespace

TokenId Vocabulary::find(std::string_view bytes) const { return slots_[slot_of(bytes)]; }

TokenId Vocabulary::find(std::string_view wanted, TokenId guess) const {
  const bool is_right = !has_doubles_ && !wanted.empty() && contains(guess) &&
                        type(guess) == TokenType::normal && bytes(guess) == wanted;
  return is_right ? guess : find(wanted);
}

void Vocabulary::build_index() {
  size_t n_slots = 2;
  while (n_slots < 2 * n_tokens()) n_slots *= 2;
  slots_.assign(n_slots, kNoToken);
  for (TokenId id = 0; id < size(); ++id) {
    if (type(id) != TokenType::normal || bytes(id).empty()) continue;
    max_normal_bytes_ = std::max(max_normal_bytes_, bytes(id).size());
    TokenId& slot = slots_[slot_of(bytes(id))];
    has_doubles_ = has_doubles_ || slot != kNoToken;
    slot = id;
  }
}

size_t Vocabulary::slot_of(std::string_view wanted) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash(wanted) & mask;
  while (slots_[slot] != kNoToken && bytes(slots_[slot]) != wanted) slot = (slot + 1) & mask;
  return slot;
}

}  // namespace kinglet
