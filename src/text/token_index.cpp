#include "text/token_index.h"

#include <algorithm>

#include "text/tokenizer.h"

namespace kinglet {
namespace {

// Most tokens differ in their first bytes, so these are compared as one number.
struct Key {
  uint64_t first_bytes;  // eight bytes, the first one highest; 0 after the end
  TokenId id;
};

uint64_t first_bytes(std::string_view text) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < 8; ++i) {
    bytes = bytes << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0u);
  }
  return bytes;
}

}  // namespace

TokenIndex::TokenIndex(const Tokenizer& tokenizer) {
  std::vector<Key> keys;
  for (TokenId id = 0; id < tokenizer.n_tokens(); ++id) {
    const std::string_view text = tokenizer.piece(id);
    if (text.empty() || tokenizer.is_end_of_generation(id)) {
      others_.push_back(id);
    } else {
      keys.push_back({first_bytes(text), id});
    }
  }
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.first_bytes != b.first_bytes) return a.first_bytes < b.first_bytes;
    const int order = tokenizer.piece(a.id).compare(tokenizer.piece(b.id));
    return order != 0 ? order < 0 : a.id < b.id;
  });
  std::string_view before;
  for (const Key& key : keys) {
    const std::string_view text = tokenizer.piece(key.id);
    const auto shared = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
    const auto n_shared = static_cast<uint32_t>(shared.first - before.begin());
    entries_.push_back({key.id, n_shared, static_cast<uint32_t>(rests_.size())});
    rests_ += text.substr(n_shared);
    max_bytes_ = std::max(max_bytes_, text.size());
    before = text;
  }
  entries_.push_back({kNoToken, 0, static_cast<uint32_t>(rests_.size())});
}

}  // namespace kinglet
