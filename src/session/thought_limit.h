// Ends a thought that has become too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/answer/answer_reader.h"
#include "text/tokenizer.h"

namespace kinglet {

// Once a thought has `n_most` tokens, the tokens of its closing mark follow, whatever the model
// would write.
class ThoughtLimit {
 public:
  // `reader` reads the answer from its beginning. `end`: the tokens of the closing mark.
  ThoughtLimit(AnswerReader reader, uint32_t n_most, std::vector<TokenId> end)
      : reader_(std::move(reader)), n_most_(n_most), end_(std::move(end)) {}

  // Adds a token that was drawn, and the text that became certain with it.
  void accept(TokenId token, std::string_view text);

  // Returns the token that must follow, or kNoToken.
  TokenId next() const;

 private:
  AnswerReader reader_;
  uint32_t n_most_;
  std::vector<TokenId> end_;
  uint32_t n_tokens_ = 0;             // of the thought so far
  size_t n_ended_ = 0;                // how many tokens of end_ were written
  bool has_whole_characters_ = true;  // the text does not end inside a character
};

}  // namespace kinglet
