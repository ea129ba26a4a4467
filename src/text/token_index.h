// The tokens of a vocabulary, sorted by their bytes. Tokens with the same prefix stand one after
// another, so what is known about a prefix holds for all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace kinglet {

class Tokenizer;

// A set of tokens: token i is bit i % 64 of word i / 64.
using TokenSet = std::vector<uint64_t>;
inline void add_token(TokenSet& set, TokenId id) {
  set[static_cast<size_t>(id) / 64] |= uint64_t{1} << id % 64;
}
inline void remove_token(TokenSet& set, TokenId id) {
  set[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << id % 64);
}

// The bytes of characters in UTF-8: byte i may be any from bytes[i].first to bytes[i].last.
struct CharacterBytes {
  struct Range {
    uint8_t first;
    uint8_t last;
  };
  uint8_t n_bytes;
  std::array<Range, 4> bytes;
};

class TokenIndex {
 public:
  struct Entry {
    TokenId id;
    uint32_t n_shared;    // the number of leading bytes that the previous entry has, too
    uint32_t rest_begin;  // where the other bytes begin; they end where the next entry's begin
    uint32_t after;       // the next entry that shares no more bytes: all before it begin alike
  };

  static constexpr size_t kMostCharacters = 16;

  // Tokens that are made of characters of one class, and of at most kMostCharacters. Where a text
  // may go on with any such characters, one need not look at each of these tokens.
  struct Class {
    std::span<const CharacterBytes> characters;
    size_t begin;  // of its entries; the first one shares no bytes
    size_t end;
    std::array<TokenSet, kMostCharacters + 1> up_to;  // its tokens of at most so many characters
  };

  // Indexes the tokens that stand for text and do not end generation. Sorting 50,000 tokens takes
  // about 30 ms.
  explicit TokenIndex(const Tokenizer& tokenizer);

  size_t size() const { return entries_.size() - 1; }
  const Entry& operator[](size_t i) const { return entries_[i]; }
  std::string_view rest(size_t i) const {
    const uint32_t begin = entries_[i].rest_begin;
    return {rests_.data() + begin, entries_[i + 1].rest_begin - begin};
  }

  size_t max_bytes() const { return max_bytes_; }  // of the longest token

  // Each token is in at most one class. The entries behind those of the classes are in none.
  std::span<const Class> classes() const { return classes_; }

  // All other ids, ascending.
  std::span<const TokenId> others() const { return others_; }

 private:
  std::vector<Entry> entries_;  // and an extra one that ends the last token
  std::string rests_;
  std::vector<Class> classes_;
  std::vector<TokenId> others_;
  size_t max_bytes_ = 0;
};

}  // namespace kinglet
