// Ends a thought that has become too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace kinglet {

// Once a thought has `n_most` tokens, the tokens of its closing mark follow, whatever the model
// would write.
class ThoughtLimit {
 public:
  // `is_thinking`: the prompt has begun a thought. `end`: the tokens of the closing mark.
  ThoughtLimit(bool is_thinking, uint32_t n_most, std::vector<TokenId> end)
      : is_thinking_(is_thinking), n_most_(n_most), end_(std::move(end)) {}

  // Adds a token that was drawn. `is_thinking`: the answer is in a thought after it.
  // `ends_character`: its last byte is the last one of a character.
  void accept(TokenId token, bool is_thinking, bool ends_character);

  // Returns the token that must follow, or kNoToken.
  TokenId next() const;

 private:
  bool is_thinking_;
  uint32_t n_most_;
  std::vector<TokenId> end_;
  uint32_t n_tokens_ = 0;  // of the thought so far
  size_t n_ended_ = 0;     // how many tokens of end_ were written
  bool ends_character_ = true;
};

}  // namespace kinglet
