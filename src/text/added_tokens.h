// Finding the tokens that a text spells out as a whole: control, user-defined and unknown ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace kinglet {

struct AddedMatch {
  size_t begin;
  size_t end;
  TokenId id;
};

class AddedTokens {
 public:
  explicit AddedTokens(const Vocabulary& vocabulary);

  // The first added token of `text` at or behind `from`, the longest where several begin there;
  // {text.size(), text.size(), kNoToken} where there is none. Without `control`, only user-defined
  // tokens count. `vocabulary` is that of the constructor.
  //
  // Takes a step per byte of text that cannot begin a token, whatever the number of tokens, and at
  // most the longest token's bytes × log2(number of tokens) for one that can.
  AddedMatch find(const Vocabulary& vocabulary, std::string_view text, size_t from,
                  bool control) const;

 private:
  AddedMatch longest_at(const Vocabulary& vocabulary, std::string_view text, size_t begin,
                        bool control) const;

  std::vector<TokenId> sorted_;         // by their bytes
  std::array<uint32_t, 257> begins_{};  // of the tokens with this first byte, in sorted_
};

}  // namespace kinglet
