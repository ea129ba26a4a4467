#include "session/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/exponential.h"

namespace kinglet {
namespace {

// The sum of the weights, in their order.
double sum_of(const std::vector<Candidate>& candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += static_cast<double>(candidate.weight);
  return total;
}

// Locally typical sampling (C. Meister et al., 2022): keeps the tokens whose information, -log p,
// is nearest to its mean, the entropy, until their probabilities exceed `most` in total. Of equally
// near ones, the smaller id comes first. As log p is the logit minus a constant, the distance is
// that of the logit from the mean logit, and no logarithm is needed.
void keep_typical(double most, std::span<const float> logits, std::vector<Candidate>& candidates) {
  const double total = sum_of(candidates);
  const auto logit_of = [&](const Candidate& candidate) {
    return static_cast<double>(logits[static_cast<size_t>(candidate.token)]);
  };
  double mean = 0;
  for (const Candidate& c : candidates) mean += static_cast<double>(c.weight) / total * logit_of(c);
  const auto is_less_typical = [&](const Candidate& a, const Candidate& b) {
    const double from_a = std::abs(logit_of(a) - mean);
    const double from_b = std::abs(logit_of(b) - mean);
    return from_a > from_b || (from_a == from_b && a.token > b.token);
  };
  // A heap, because few of many may be kept. Those that are kept move to the end.
  std::make_heap(candidates.begin(), candidates.end(), is_less_typical);
  auto kept = candidates.end();
  for (double sum = 0; kept != candidates.begin() && !(sum > most * total);) {
    std::pop_heap(candidates.begin(), kept, is_less_typical);
    sum += static_cast<double>((--kept)->weight);
  }
  candidates.erase(candidates.begin(), kept);
}

// Exclude top choices (XTC, P. E. Weidmann, 2024): of the tokens with at least this probability,
// keeps only the least probable one. There is no other, or only one, if the threshold is above 0.5.
void exclude_top_choices(double threshold, std::vector<Candidate>& candidates) {
  const double least = threshold * sum_of(candidates);
  const auto is_top = [&](const Candidate& c) { return static_cast<double>(c.weight) >= least; };
  const Candidate* last = nullptr;
  for (const Candidate& candidate : candidates) {
    if (is_top(candidate) && (last == nullptr || kBetter(*last, candidate))) last = &candidate;
  }
  if (last == nullptr) return;
  const TokenId kept = last->token;
  std::erase_if(candidates, [&](const Candidate& c) { return c.token != kept && is_top(c); });
}

float largest_logit(std::span<const float> logits, const std::vector<Candidate>& candidates) {
  float largest = std::numeric_limits<float>::lowest();
  for (const Candidate& candidate : candidates) {
    largest = std::max(largest, logits[static_cast<size_t>(candidate.token)]);
  }
  return largest;
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options, uint32_t vocab_size, const KernelSet& kernels,
                 std::optional<Dry> dry)
    : options_(options), kernels_(&kernels), n_candidates_(vocab_size), dry_(std::move(dry)) {
  if (options.top_k > 0)
    n_candidates_ = std::min(n_candidates_, static_cast<size_t>(options.top_k));
  if (options.temperature == 0.0f) n_candidates_ = 1;
  keeps_all_ = n_candidates_ == vocab_size;
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
  if (constraint == nullptr) {
    const TokenId drawn = sample_any(logits);
    return drawn == kNoToken ? 0 : drawn;  // a model may refuse every token
  }
  if (options_.temperature == 0.0f) {
    // The best token is usually allowed, and then the others need not be checked.
    const TokenId best = best_token(*kernels_, logits);
    if (constraint->allows(best)) return best;
  }
  return sample_allowed(logits, constraint->allowed());
}

// If few tokens are allowed, only these are looked at: to overwrite the logits of all others, and
// to search among them, takes longer. The order stays, and so the token that is drawn is the same.
TokenId Sampler::sample_allowed(std::span<float> logits, const TokenSet& allowed) {
  const size_t n_few = logits.size() / 16;
  few_.clear();
  few_logits_.clear();
  for (size_t i = 0; i < allowed.size() && few_.size() <= n_few; ++i) {
    for (uint64_t left = allowed[i]; left != 0; left &= left - 1) {
      few_.push_back(static_cast<TokenId>(64 * i) + std::countr_zero(left));
    }
  }
  if (few_.size() > n_few) {
    keep_only(allowed, kRefusedLogit, logits);
    return sample_any(logits);
  }
  for (const TokenId id : few_) few_logits_.push_back(logits[static_cast<size_t>(id)]);
  const TokenId drawn = sample_any(few_logits_);
  return drawn == kNoToken ? kNoToken : few_[static_cast<size_t>(drawn)];
}

// Draws the index of a logit; kNoToken if all are refused.
TokenId Sampler::sample_any(std::span<const float> logits) {
  if (logits.empty()) return kNoToken;
  const TokenId best = best_token(*kernels_, logits);
  float largest = logits[static_cast<size_t>(best)];
  if (largest == kRefusedLogit) return kNoToken;
  if (options_.temperature == 0.0f) return best;
  find_candidates(logits);
  if (has_limits()) {
    weigh_candidates(logits, largest, 1.0f);
    limit_candidates(logits);
    largest = largest_logit(logits, candidates_);  // the best token may be gone
  }
  weigh_candidates(logits, largest, options_.temperature);
  return draw();
}

bool Sampler::has_limits() const {
  return options_.typical_p < 1.0f || options_.top_p < 1.0f || options_.min_p > 0.0f || has_xtc();
}

bool Sampler::has_xtc() const {
  return options_.xtc_probability > 0.0f && options_.xtc_threshold <= 0.5f;
}

bool Sampler::has_penalties() const {
  return options_.repeat_penalty != 1.0f || options_.frequency_penalty != 0.0f ||
         options_.presence_penalty != 0.0f;
}

void Sampler::accept(TokenId token) {
  if (dry_) dry_->accept(token);
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
  if (dry_) dry_->penalize(logits);
}

void Sampler::find_candidates(std::span<const float> logits) {
  if (!keeps_all_) {
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

// Each limit sees only the tokens that the one before has left, and their probabilities among
// those.
void Sampler::limit_candidates(std::span<const float> logits) {
  if (options_.typical_p < 1.0f) {
    keep_typical(static_cast<double>(options_.typical_p), logits, candidates_);
  }
  if (options_.top_p < 1.0f) {
    keep_fewest(sum_of(candidates_) * static_cast<double>(options_.top_p), candidates_);
  }
  if (options_.min_p > 0.0f) {
    const float least = options_.min_p * largest_weight();
    std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < least; });
  }
  if (has_xtc() && candidates_.size() > 1 && random() < options_.xtc_probability) {
    exclude_top_choices(static_cast<double>(options_.xtc_threshold), candidates_);
  }
}

// Unless a limit drops the best token, this is 1.
float Sampler::largest_weight() const {
  if (options_.typical_p == 1.0f) return 1.0f;
  return std::min_element(candidates_.begin(), candidates_.end(), kBetter)->weight;
}

TokenId Sampler::draw() {
  double left = random() * sum_of(candidates_);
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
