// Finding the tokens that a text spells out as a whole: control, user-defined and unknown ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace kinglet {

// Bytes of a text: [begin, end).
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

  // The first added token of `text` at or after `from`, the longest where several begin there;
  // {text.size(), text.size(), kNoToken} where there is none. Tokens that reach into `plain`,
  // ranges in order and none of them empty, count only where they are user-defined. `vocabulary` is
  // that of the constructor.
  //
  // Takes a step per byte of text that cannot begin a token, whatever the number of tokens, and at
  // most the longest token's bytes × log2(number of tokens) for one that can.
  AddedMatch find(const Vocabulary& vocabulary, std::string_view text, size_t from,
                  std::span<const TextRange> plain) const;

 private:
  // Tokens that are not user-defined end at `control_end` or before.
  AddedMatch longest_at(const Vocabulary& vocabulary, std::string_view text, size_t begin,
                        size_t control_end) const;

  std::vector<TokenId> sorted_;         // by their bytes
  std::array<uint32_t, 257> begins_{};  // of the tokens with this first byte, in sorted_
};

}  // namespace kinglet
