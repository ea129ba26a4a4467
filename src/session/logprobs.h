// How probable the model finds tokens, whatever the sampler does with that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "session/candidates.h"

namespace kinglet {

class Logprobs {
 public:
  // Looks for the n_top most probable tokens, which may be none. Allocates all it will need.
  Logprobs(uint32_t vocab_size, uint32_t n_top, const KernelSet& kernels);

  // Takes the softmax of finite `logits` [vocab_size].
  void measure(std::span<const float> logits);

  // The natural logarithm of a token's probability. Below e^-87 times the largest, probabilities
  // are not told apart.
  float of(TokenId token) const;

  // The most probable tokens, best first, with their logarithms for weights.
  std::span<const Candidate> top() const { return top_; }

 private:
  const KernelSet* kernels_;
  uint32_t n_top_;
  std::vector<float> weights_;  // [vocab_size]: probabilities times sum_
  float sum_ = 1;
  std::vector<Candidate> top_;
};

}  // namespace kinglet
