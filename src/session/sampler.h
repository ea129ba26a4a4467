// From logits to the next token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace kinglet {

// Applied in this order: repetition penalty, temperature, top-k, top-p, min-p, draw.
struct SamplerOptions {
  float temperature = 0.8f;     // 0 is greedy: the token of the largest logit, the first of equals
  int32_t top_k = 40;           // keep the k most probable; 0 keeps all
  float top_p = 0.95f;          // keep the fewest whose probabilities reach p; 1 keeps all
  float min_p = 0.05f;          // keep those with at least min_p × the largest probability
  float repeat_penalty = 1.0f;  // > 1 divides positive and multiplies negative logits (CTRL, 2019)
  int32_t repeat_last_n = 64;   // … of the tokens seen this recently
  uint64_t seed = 0;
};

// ErrorCode::invalid_argument names the option and its range.
Status validate(const SamplerOptions& options);

// The same seed, options and logits give the same tokens on every platform: the generator is
// PCG32, and sums are taken in a fixed order.
class Sampler {
 public:
  // `options` must be valid; `n_tokens` is the vocabulary's size. Allocates all it will need.
  Sampler(const SamplerOptions& options, uint32_t n_tokens);

  // Draws from `logits` [n_tokens], which it may overwrite.
  TokenId sample(std::span<float> logits);

  // Records a token of the prompt or of the answer, for the repetition penalty.
  void accept(TokenId token);
};

}  // namespace kinglet
