#include "session/sampler.h"

#include <algorithm>
#include <limits>

#include "base/exponential.h"
#include "base/format.h"

namespace kinglet {
namespace {

Error out_of_range(std::string_view option, double found, std::string_view expected) {
  return {ErrorCode::invalid_argument, cat(option, " is ", found, ", expected ", expected)};
}

// Larger first; of equals the smaller id, so that the order is total.
constexpr auto kBetter = [](const auto& a, const auto& b) {
  return a.weight > b.weight || (a.weight == b.weight && a.token < b.token);
};

// The first of equals.
TokenId most_probable(std::span<const float> logits, Constraint* constraint) {
  TokenId best = kNoToken;
  float largest = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto token = static_cast<TokenId>(i);
    if (logits[i] <= largest && best != kNoToken) continue;
    if (constraint != nullptr && !constraint->allows(token)) continue;
    best = token;
    largest = logits[i];
  }
  return best;
}

}  // namespace

Status validate(const SamplerOptions& options) {
  // Written so that NaN fails.
  if (!(options.temperature >= 0.0f && options.temperature <= 100.0f)) {
    return out_of_range("temperature", options.temperature, "0 to 100");
  }
  if (options.top_k < 0) return out_of_range("top-k", options.top_k, "0 or more");
  if (!(options.top_p > 0.0f && options.top_p <= 1.0f)) {
    return out_of_range("top-p", options.top_p, "more than 0, up to 1");
  }
  if (!(options.min_p >= 0.0f && options.min_p <= 1.0f)) {
    return out_of_range("min-p", options.min_p, "0 to 1");
  }
  if (!(options.repeat_penalty > 0.0f && options.repeat_penalty <= 100.0f)) {
    return out_of_range("repeat-penalty", options.repeat_penalty, "more than 0, up to 100");
  }
  if (options.repeat_last_n < 0 || options.repeat_last_n > kMaxRepeatLastN) {
    return out_of_range("repeat-last-n", options.repeat_last_n, cat("0 to ", kMaxRepeatLastN));
  }
  return {};
}

Sampler::Sampler(const SamplerOptions& options, uint32_t vocab_size) : options_(options) {
  const bool all = options.top_k == 0 || static_cast<uint32_t>(options.top_k) > vocab_size;
  candidates_.reserve(all ? vocab_size : static_cast<size_t>(options.top_k));
  if (options.repeat_penalty != 1.0f) {
    recent_.reserve(static_cast<size_t>(options.repeat_last_n));
    distinct_.reserve(static_cast<size_t>(options.repeat_last_n));
  }
  random();
  random_state_ += options.seed;
  random();
}

TokenId Sampler::sample(std::span<float> logits, Constraint* constraint) {
  penalize_repetitions(logits);
  if (options_.temperature == 0.0f) return most_probable(logits, constraint);
  keep_top_k(logits, constraint);
  if (candidates_.empty()) return kNoToken;
  const float largest = candidates_.front().weight;
  for (Candidate& candidate : candidates_) {
    candidate.weight = exponential::exp((candidate.weight - largest) / options_.temperature);
  }
  keep_top_p_and_min_p();
  return draw();
}

void Sampler::accept(TokenId token) {
  if (recent_.capacity() == 0) return;
  if (recent_.size() < static_cast<size_t>(options_.repeat_last_n)) {
    recent_.push_back(token);
  } else {
    recent_[next_recent_] = token;
    next_recent_ = (next_recent_ + 1) % recent_.size();
  }
}

void Sampler::penalize_repetitions(std::span<float> logits) {
  distinct_.assign(recent_.begin(), recent_.end());
  std::sort(distinct_.begin(), distinct_.end());
  distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
  for (const TokenId token : distinct_) {
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
  }
}

// A heap of the best so far, its worst on top: one pass over the vocabulary, most of which is
// turned away by one comparison.
void Sampler::keep_top_k(std::span<const float> logits, Constraint* constraint) {
  const size_t k = options_.top_k == 0
                       ? logits.size()
                       : std::min(static_cast<size_t>(options_.top_k), logits.size());
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate candidate{logits[i], static_cast<TokenId>(i)};
    if (candidates_.size() == k && !kBetter(candidate, candidates_.front())) continue;
    if (constraint != nullptr && !constraint->allows(candidate.token)) continue;
    if (candidates_.size() == k) {
      std::pop_heap(candidates_.begin(), candidates_.end(), kBetter);
      candidates_.pop_back();
    }
    candidates_.push_back(candidate);
    if (k < logits.size()) std::push_heap(candidates_.begin(), candidates_.end(), kBetter);
  }
  std::sort(candidates_.begin(), candidates_.end(), kBetter);
}

// Candidates are sorted, so both keep a prefix: the best one always, whatever a huge logit and a
// penalty made of its weight.
void Sampler::keep_top_p_and_min_p() {
  double total = 0;
  for (const Candidate& candidate : candidates_) total += static_cast<double>(candidate.weight);
  const double enough =
      options_.top_p < 1.0f ? total * static_cast<double>(options_.top_p) : total * 2;
  const float least = options_.min_p * candidates_.front().weight;
  double sum = 0;
  size_t n = 0;
  do {
    sum += static_cast<double>(candidates_[n++].weight);
  } while (n < candidates_.size() && sum < enough && candidates_[n].weight >= least);
  candidates_.resize(n);
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
