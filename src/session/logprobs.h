// The model's probabilities of tokens, before the sampler changes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "session/candidates.h"

namespace kinglet {

// The natural logarithm of the sum of e^logit over all logits, which must be finite.
double log_sum_exp(std::span<const float> logits);

class Logprobs {
 public:
  // n_top: how many of the most probable tokens measure() finds; may be 0. Allocates all its memory
  // here.
  Logprobs(uint32_t vocab_size, uint32_t n_top, const KernelSet& kernels);

  // Computes the softmax of `logits` [vocab_size], which must be finite.
  void measure(std::span<const float> logits);

  // The natural logarithm of a token's probability. Probabilities below e^-87 times the largest one
  // are not distinguished.
  float of(TokenId token) const;

  // The logarithm of the sum of e^logit over the measured logits. Tokens' log probabilities are
  // their logits less this, however small they are.
  double log_sum() const { return log_sum_; }

  // The most probable tokens, best first. Their weights are the logarithms of their probabilities.
  std::span<const Candidate> top() const { return top_; }

 private:
  const KernelSet* kernels_;
  uint32_t n_top_;
  std::vector<float> weights_;  // [vocab_size]: probabilities times sum_
  float sum_ = 1;
  double log_sum_ = 0;
  std::vector<Candidate> top_;
};

}  // namespace kinglet
