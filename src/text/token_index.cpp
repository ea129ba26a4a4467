#include "text/token_index.h"

#include <algorithm>

#include "text/tokenizer.h"

namespace kinglet {
namespace {

constexpr CharacterBytes kWordCharacters[] = {
    {1, {{{'0', '9'}}}}, {1, {{{'A', 'Z'}}}}, {1, {{{'a', 'z'}}}}};

// What strings of JSON have without escapes; not the ends of lines and controls that are no ASCII,
// because patterns refuse these more often than others.
constexpr CharacterBytes::Range kNext = {0x80, 0xbf};
constexpr CharacterBytes kPlainCharacters[] = {
    {1, {{{' ', '!'}}}},
    {1, {{{'#', '['}}}},
    {1, {{{']', '~'}}}},
    {2, {{{0xc2, 0xc2}, {0xa0, 0xbf}}}},
    {2, {{{0xc3, 0xdf}, kNext}}},
    {3, {{{0xe0, 0xe0}, {0xa0, 0xbf}, kNext}}},
    {3, {{{0xe1, 0xe1}, kNext, kNext}}},
    {3, {{{0xe2, 0xe2}, {0x80, 0x80}, {0x80, 0xa7}}}},
    {3, {{{0xe2, 0xe2}, {0x80, 0x80}, {0xaa, 0xbf}}}},
    {3, {{{0xe2, 0xe2}, {0x81, 0xbf}, kNext}}},
    {3, {{{0xe3, 0xec}, kNext, kNext}}},
    {3, {{{0xed, 0xed}, {0x80, 0x9f}, kNext}}},
    {3, {{{0xee, 0xef}, kNext, kNext}}},
    {4, {{{0xf0, 0xf0}, {0x90, 0xbf}, kNext, kNext}}},
    {4, {{{0xf1, 0xf3}, kNext, kNext, kNext}}},
    {4, {{{0xf4, 0xf4}, {0x80, 0x8f}, kNext, kNext}}},
};

constexpr std::span<const CharacterBytes> kClasses[] = {kWordCharacters, kPlainCharacters};

bool begins_with(std::string_view text, const CharacterBytes& character) {
  if (text.size() < character.n_bytes) return false;
  for (size_t i = 0; i < character.n_bytes; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < character.bytes[i].first || byte > character.bytes[i].last) return false;
  }
  return true;
}

// Returns the number of characters, all of this class; 0 if there are others or too many.
size_t count_characters(std::string_view text, std::span<const CharacterBytes> characters) {
  size_t n = 0;
  while (!text.empty()) {
    const auto found =
        std::find_if(characters.begin(), characters.end(),
                     [&](const CharacterBytes& one) { return begins_with(text, one); });
    if (found == characters.end() || ++n > TokenIndex::kMostCharacters) return 0;
    text.remove_prefix(found->n_bytes);
  }
  return n;
}

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
  std::array<std::vector<Key>, std::size(kClasses) + 1> keys;
  const size_t n_words = (static_cast<size_t>(tokenizer.n_tokens()) + 63) / 64;
  for (const auto& characters : kClasses) {
    classes_.push_back({characters, 0, 0, {}});
    for (TokenSet& set : classes_.back().up_to) set.resize(n_words);
  }
  for (TokenId id = 0; id < tokenizer.n_tokens(); ++id) {
    const std::string_view text = tokenizer.piece(id);
    if (text.empty() || tokenizer.is_end_of_generation(id)) {
      others_.push_back(id);
      continue;
    }
    size_t n = 0;
    size_t at = 0;
    while (at < classes_.size() && (n = count_characters(text, classes_[at].characters)) == 0) ++at;
    if (n > 0) add_token(classes_[at].up_to[n], id);
    keys[at].push_back({first_bytes(text), id});
  }
  for (size_t at = 0; at < keys.size(); ++at) {
    std::sort(keys[at].begin(), keys[at].end(), [&](const Key& a, const Key& b) {
      if (a.first_bytes != b.first_bytes) return a.first_bytes < b.first_bytes;
      const int order = tokenizer.piece(a.id).compare(tokenizer.piece(b.id));
      return order != 0 ? order < 0 : a.id < b.id;
    });
    const size_t begin = entries_.size();
    std::string_view before;
    for (const Key& key : keys[at]) {
      const std::string_view text = tokenizer.piece(key.id);
      const auto shared = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
      const auto n_shared = static_cast<uint32_t>(shared.first - before.begin());
      entries_.push_back({key.id, n_shared, static_cast<uint32_t>(rests_.size()), 0});
      rests_ += text.substr(n_shared);
      max_bytes_ = std::max(max_bytes_, text.size());
      before = text;
    }
    if (at == classes_.size()) break;
    Class& made = classes_[at];
    made.begin = begin;
    made.end = entries_.size();
    for (size_t n = 1; n <= kMostCharacters; ++n) {
      for (size_t i = 0; i < n_words; ++i) made.up_to[n][i] |= made.up_to[n - 1][i];
    }
  }
  entries_.push_back({kNoToken, 0, static_cast<uint32_t>(rests_.size()), 0});
  for (size_t i = size(); i-- > 0;) {
    size_t after = i + 1;
    while (entries_[after].n_shared > entries_[i].n_shared) after = entries_[after].after;
    entries_[i].after = static_cast<uint32_t>(after);
  }
}

}  // namespace kinglet
