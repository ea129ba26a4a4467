#include "text/added_tokens.h"

#include <algorithm>

namespace kinglet {

AddedTokens::AddedTokens(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.is_added(id) && !vocabulary.bytes(id).empty()) sorted_.push_back(id);
  }
  std::sort(sorted_.begin(), sorted_.end(), [&vocabulary](TokenId a, TokenId b) {
    const int order = vocabulary.bytes(a).compare(vocabulary.bytes(b));
    return order != 0 ? order < 0 : a < b;
  });
  for (const TokenId id : sorted_) {
    ++begins_[static_cast<unsigned char>(vocabulary.bytes(id)[0]) + size_t{1}];
  }
  for (size_t byte = 1; byte < begins_.size(); ++byte) begins_[byte] += begins_[byte - 1];
}

AddedMatch AddedTokens::find(const Vocabulary& vocabulary, std::string_view text, size_t from,
                             std::span<const TextRange> plain) const {
  auto next = std::partition_point(plain.begin(), plain.end(),
                                   [from](const TextRange& range) { return range.end <= from; });
  for (size_t begin = from; begin < text.size(); ++begin) {
    const auto byte = static_cast<unsigned char>(text[begin]);
    if (begins_[byte] == begins_[byte + size_t{1}]) continue;
    while (next != plain.end() && next->end <= begin) ++next;
    const size_t control_end = next == plain.end() ? text.size() : next->begin;
    const AddedMatch match = longest_at(vocabulary, text, begin, control_end);
    if (match.id != kNoToken) return match;
  }
  return {text.size(), text.size(), kNoToken};
}

AddedMatch AddedTokens::longest_at(const Vocabulary& vocabulary, std::string_view text,
                                   size_t begin, size_t control_end) const {
  AddedMatch longest = {begin, begin, kNoToken};
  const auto first_byte = static_cast<unsigned char>(text[begin]);
  const TokenId* low = sorted_.data() + begins_[first_byte];
  const TokenId* high = sorted_.data() + begins_[first_byte + size_t{1}];
  // [low, high) always holds the tokens that share their first n bytes with the text.
  for (size_t n = 1;; ++n) {
    for (; low != high && vocabulary.bytes(*low).size() == n; ++low) {
      if (begin + n <= control_end || vocabulary.type(*low) == TokenType::user_defined) {
        longest = {begin, begin + n, *low};
      }
    }
    if (low == high || begin + n == text.size()) return longest;

    const auto next = static_cast<unsigned char>(text[begin + n]);
    const auto byte_at_n = [&vocabulary, n](TokenId id) {
      return static_cast<unsigned char>(vocabulary.bytes(id)[n]);
    };
    low = std::partition_point(low, high, [&](TokenId id) { return byte_at_n(id) < next; });
    high = std::partition_point(low, high, [&](TokenId id) { return byte_at_n(id) == next; });
  }
}

}  // namespace kinglet
