// A text as tokens, cut into windows of one size.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace kinglet::cli {

class TextWindows {
 public:
  // Each window begins with BOS, in place of its first token, if the model's texts do. Errors:
  // invalid_argument (the text is shorter than a window, or a window is smaller than n_least).
  static Result<TextWindows> cut(const Tokenizer& tokenizer, std::string_view text, size_t size,
                                 size_t n_least = 1);

  size_t count() const { return tokens_.size() / size_; }
  std::span<const TokenId> operator[](size_t i) const {
    return std::span(tokens_).subspan(i * size_, size_);
  }

 private:
  TextWindows(std::vector<TokenId> tokens, size_t size) : tokens_(std::move(tokens)), size_(size) {}

  std::vector<TokenId> tokens_;
  size_t size_;
};

}  // namespace kinglet::cli
