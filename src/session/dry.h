// DRY ("don't repeat yourself", P. E. Weidmann, 2024): makes tokens less probable that would
// continue a repetition of earlier text, the more the longer the repetition is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/sampling_options.h"
#include "text/vocabulary.h"

namespace kinglet {

// If the last n tokens also occur earlier, and n is at least dry_allowed_length, the token that
// followed them there loses multiplier × base^(n - allowed_length). Of several such places, the one
// with the longest repetition counts. Only the last dry_penalty_last_n tokens are searched.
//
// A repetition does not reach back beyond a sequence breaker: a text that separates parts which may
// well begin alike, such as a line break. A breaker is found wherever the texts of tokens spell it,
// and ends with the token that completes it. Tokens that contain one lose nothing.
class Dry {
 public:
  // The text of a token, also of a control token. The bytes must live as long as the object.
  using Pieces = std::function<std::string_view(TokenId)>;

  // Returns nothing if the options switch it off. `options` must be valid. A window longer than
  // n_ctx tokens, or of -1, has n_ctx. Allocates all its memory here.
  static std::optional<Dry> create(const SamplerOptions& options, uint32_t n_ctx,
                                   uint32_t vocab_size, Pieces pieces);

  // Records a token of the prompt or of the answer. Rows of pictures are ignored.
  void accept(TokenId token);

  // Takes time O(window).
  void penalize(std::span<float> logits);

 private:
  Dry(const SamplerOptions& options, size_t n_window, uint32_t vocab_size, Pieces pieces);

  bool breaks(TokenId token) const;
  void measure_repetitions(size_t n_window, uint32_t most);
  float penalty(uint32_t n_repeated) const;
  TokenId from_end(size_t i) const { return tokens_[tokens_.size() - 1 - i]; }

  double multiplier_;
  double base_;
  uint32_t allowed_length_;
  size_t n_window_;
  std::vector<std::string> breakers_;
  Pieces pieces_;
  std::vector<TokenId> tokens_;  // the last ones: at least n_window_, if there were so many
  std::string text_;             // their last bytes, in which a breaker may have begun
  size_t n_kept_bytes_ = 0;      // … that many
  uint32_t n_since_breaker_ = 0;
  std::vector<uint32_t> lengths_;  // [n_window_] see measure_repetitions()
  std::vector<uint32_t> longest_;  // [vocab_size] of the repetition that a token continues, plus 1;
                                   // zeros between draws
};

}  // namespace kinglet
