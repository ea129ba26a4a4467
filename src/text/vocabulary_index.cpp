// Finding a token by its bytes, which merging asks for at every step.
#include <algorithm>

#include "text/vocabulary.h"

namespace kinglet {
namespace {

// FNV-1a (Fowler, Noll, Vo).
size_t hash(std::string_view bytes) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<size_t>(h ^ h >> 32);
}

}  // namespace

TokenId Vocabulary::find(std::string_view bytes) const { return slots_[slot_of(bytes)]; }

void Vocabulary::build_index() {
  size_t n_slots = 2;
  while (n_slots < 2 * n_tokens()) n_slots *= 2;
  slots_.assign(n_slots, kNoToken);
  for (TokenId id = 0; id < size(); ++id) {
    if (type(id) != TokenType::normal || bytes(id).empty()) continue;
    max_normal_bytes_ = std::max(max_normal_bytes_, bytes(id).size());
    slots_[slot_of(bytes(id))] = id;
  }
}

size_t Vocabulary::slot_of(std::string_view wanted) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash(wanted) & mask;
  while (slots_[slot] != kNoToken && bytes(slots_[slot]) != wanted) slot = (slot + 1) & mask;
  return slot;
}

}  // namespace kinglet
