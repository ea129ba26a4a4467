#include "session/sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/exponential.h"

namespace kinglet {
namespace {

// Limits logits, which a very small penalty could make infinite.
constexpr float kLargestLogit = 1e30f;

}  // namespace

Sampler::Sampler(const SamplerOptions& options, uint32_t vocab_size, const KernelSet& kernels)
    : options_(options), kernels_(&kernels), n_candidates_(vocab_size) {
  if (options.top_k > 0)
    n_candidates_ = std::min(n_candidates_, static_cast<size_t>(options.top_k));
  if (options.temperature == 0.0f) n_candidates_ = 1;
  candidates_.reserve(n_candidates_);
  if (has_penalties()) {
    recent_.reserve(static_cast<size_t>(options.repeat_last_n));
    counts_.resize(vocab_size);
  }
  random();
  random_state_ += options.seed;
  random();
}

TokenId Sampler::sample(std::span<float> logits, Constraint* constraint) {
  add_biases_and_penalties(logits);
  const bool is_greedy = options_.temperature == 0.0f;
  if (constraint != nullptr && is_greedy) {
    // The best token is usually allowed, and then the others need not be checked.
    const TokenId best = best_token(*kernels_, logits);
    if (constraint->allows(best)) return best;
  }
  if (constraint != nullptr) constraint->mask(logits);
  const TokenId best = best_token(*kernels_, logits);
  const float largest = logits[static_cast<size_t>(best)];
  // A model may give every token this logit too.
  if (largest == kRefusedLogit) return constraint != nullptr ? kNoToken : best;
  if (is_greedy) return best;
  find_candidates(logits);
  if (options_.top_p < 1.0f || options_.min_p > 0.0f) {
    weigh_candidates(logits, largest, 1.0f);
    keep_top_p_and_min_p();
  }
  weigh_candidates(logits, largest, options_.temperature);
  return draw();
}

bool Sampler::has_penalties() const {
  return options_.repeat_penalty != 1.0f || options_.frequency_penalty != 0.0f ||
         options_.presence_penalty != 0.0f;
}

void Sampler::accept(TokenId token) {
  if (recent_.capacity() == 0 || token < 0) return;
  if (recent_.size() < static_cast<size_t>(options_.repeat_last_n)) {
    recent_.push_back(token);
  } else {
    recent_[next_recent_] = token;
    next_recent_ = (next_recent_ + 1) % recent_.size();
  }
}

void Sampler::add_biases_and_penalties(std::span<float> logits) {
  for (const auto& [token, bias] : options_.logit_bias) logits[static_cast<size_t>(token)] += bias;
  for (const TokenId token : recent_) ++counts_[static_cast<size_t>(token)];
  for (const TokenId token : recent_) {
    const uint32_t count = std::exchange(counts_[static_cast<size_t>(token)], 0);
    if (count == 0) continue;  // its penalties are applied already
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
    logit -= options_.frequency_penalty * static_cast<float>(count) + options_.presence_penalty;
    logit = std::clamp(logit, -kLargestLogit, kLargestLogit);
  }
}

void Sampler::find_candidates(std::span<const float> logits) {
  if (n_candidates_ < logits.size()) {
    find_best(*kernels_, logits, n_candidates_, candidates_);
  } else {
    candidates_.clear();
    for (size_t i = 0; i < logits.size(); ++i) {
      candidates_.push_back({logits[i], static_cast<TokenId>(i)});
    }
  }
  std::erase_if(candidates_, [](const Candidate& c) { return c.weight == kRefusedLogit; });
}

// Sets the weights to the probabilities up to a common factor, so that the largest weight is 1.
void Sampler::weigh_candidates(std::span<const float> logits, float largest, float temperature) {
  for (Candidate& candidate : candidates_) {
    const float logit = logits[static_cast<size_t>(candidate.token)];
    candidate.weight = exponential::exp((logit - largest) / temperature);
  }
}

void Sampler::keep_top_p_and_min_p() {
  if (options_.top_p < 1.0f) {
    double total = 0;
    for (const Candidate& candidate : candidates_) total += static_cast<double>(candidate.weight);
    keep_fewest(total * static_cast<double>(options_.top_p), candidates_);
  }
  std::erase_if(candidates_, [this](const Candidate& c) { return c.weight < options_.min_p; });
}

TokenId Sampler::draw() {
  double total = 0;
  for (const Candidate& candidate : candidates_) total += static_cast<double>(candidate.weight);
  double left = random() * total;
  for (const Candidate& candidate : candidates_) {
    left -= static_cast<double>(candidate.weight);
    if (left < 0) return candidate.token;
  }
  return candidates_.back().token;
}

double Sampler::random() {
  const uint64_t state = random_state_;
  random_state_ = state * 6364136223846793005u + 1442695040888963407u;
  const auto xorshifted = static_cast<uint32_t>(((state >> 18u) ^ state) >> 27u);
  const auto rotation = static_cast<uint32_t>(state >> 59u);
  const uint32_t bits = (xorshifted >> rotation) | (xorshifted << ((32 - rotation) & 31));
  return bits * 0x1p-32;
}

}  // namespace kinglet
