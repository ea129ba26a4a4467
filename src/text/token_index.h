// The tokens of a vocabulary, sorted by their bytes. Tokens with the same prefix stand one after
// another, so what is known about a prefix holds for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace kinglet {

class Tokenizer;

class TokenIndex {
 public:
  struct Entry {
    TokenId id;
    uint32_t n_shared;    // the number of leading bytes that the previous entry has, too
    uint32_t rest_begin;  // where the other bytes begin; they end where the next entry's begin
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

  // All other ids, ascending.
  std::span<const TokenId> others() const { return others_; }

 private:
  std::vector<Entry> entries_;  // and an extra one that ends the last token
  std::string rests_;
  std::vector<TokenId> others_;
  size_t max_bytes_ = 0;
};

}  // namespace kinglet
