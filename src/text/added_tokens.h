// Finds the tokens that a text spells out in full: control, user-defined and unknown tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace kinglet {

// A range of bytes of a text: [begin, end).
struct TextRange {
  size_t begin;
  size_t end;
};

struct AddedMatch {
  size_t begin;
  size_t end;
  TokenId id;
};

class AddedTokens {
 public:
  explicit AddedTokens(const Vocabulary& vocabulary);

  // Returns the first added token of `text` at or after `from`, or {text.size(), text.size(),
  // kNoToken} if there is none. If several tokens begin at the same place, the longest one wins.
  // `plain` is a list of non-empty ranges in ascending order: tokens that overlap a range count
  // only if they are user-defined. `vocabulary` must be the constructor's vocabulary.
  //
  // A byte of the text that cannot begin a token takes one step, whatever the number of tokens. A
  // byte that can begin one takes at most (bytes of the longest token) × log2(number of tokens).
  AddedMatch find(const Vocabulary& vocabulary, std::string_view text, size_t from,
                  std::span<const TextRange> plain) const;

 private:
  // Tokens that are not user-defined must end at or before `control_end`.
  AddedMatch longest_at(const Vocabulary& vocabulary, std::string_view text, size_t begin,
                        size_t control_end) const;

  std::vector<TokenId> sorted_;         // by their bytes
  std::array<uint32_t, 257> begins_{};  // where the tokens with this first byte begin in sorted_
};

}  // namespace kinglet
