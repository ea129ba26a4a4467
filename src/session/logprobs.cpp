#include "session/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kinglet {

double log_sum_exp(std::span<const float> logits) {
  const auto largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

Logprobs::Logprobs(uint32_t vocab_size, uint32_t n_top, const KernelSet& kernels)
    : kernels_(&kernels), n_top_(std::min(n_top, vocab_size)), weights_(vocab_size) {
  top_.reserve(n_top_);
}

void Logprobs::measure(std::span<const float> logits) {
  std::copy(logits.begin(), logits.end(), weights_.begin());
  float largest = -std::numeric_limits<float>::infinity();
  sum_ = 0;
  kernels_->softmax_part(weights_.data(), weights_.size(), largest, sum_);
  log_sum_ = static_cast<double>(largest) + std::log(static_cast<double>(sum_));
  if (n_top_ > 0) find_best(*kernels_, weights_, n_top_, top_);
  for (Candidate& candidate : top_) candidate.weight = of(candidate.token);
}

float Logprobs::of(TokenId token) const {
  return static_cast<float>(
      std::log(static_cast<double>(weights_[static_cast<size_t>(token)] / sum_)));
}

}  // namespace kinglet
