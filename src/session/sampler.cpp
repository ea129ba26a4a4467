#include "session/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/exponential.h"
#include "base/format.h"

namespace kinglet {
namespace {

// Limits logits, which a very small penalty could make infinite.
constexpr float kLargestLogit = 1e30f;

struct Range {
  std::string_view option;
  float value;
  float least;
  float most;
  std::string_view expected;
};

Status check(const Range& range) {
  // The comparisons are written so that NaN fails.
  if (range.value >= range.least && range.value <= range.most) return {};
  return Error{ErrorCode::invalid_argument,
               cat(range.option, " is ", range.value, ", expected ", range.expected)};
}

}  // namespace

Status validate(const SamplerOptions& options, uint32_t vocab_size) {
  constexpr float kMoreThan0 = std::numeric_limits<float>::denorm_min();
  constexpr auto kMaxWindow = static_cast<float>(kMaxRepeatLastN);
  const Range ranges[] = {
      {"temperature", options.temperature, 0, 100, "0 to 100"},
      {"top-k", static_cast<float>(options.top_k), 0, 0x1p31f, "0 or more"},
      {"top-p", options.top_p, 0, 1, "0 to 1"},
      {"min-p", options.min_p, 0, 1, "0 to 1"},
      {"repeat-penalty", options.repeat_penalty, kMoreThan0, 100, "more than 0, up to 100"},
      {"frequency-penalty", options.frequency_penalty, -100, 100, "-100 to 100"},
      {"presence-penalty", options.presence_penalty, -100, 100, "-100 to 100"},
      {"repeat-last-n", static_cast<float>(options.repeat_last_n), 0, kMaxWindow, "0 to 65536"},
  };
  for (const Range& range : ranges) KINGLET_TRY(check(range));
  for (const auto& [token, bias] : options.logit_bias) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab_size) {
      return Error{ErrorCode::invalid_argument,
                   cat("a bias names token ", token, ", the vocabulary has ", vocab_size)};
    }
    KINGLET_TRY(check({"a bias", bias, -100, 100, "-100 to 100"}));
  }
  return {};
}

void SamplerChoice::apply_to(SamplerOptions& options) const {
  const auto apply = [](const auto& chosen, auto& option) {
    if (chosen) option = *chosen;
  };
  apply(temperature, options.temperature);
  apply(top_k, options.top_k);
  apply(top_p, options.top_p);
  apply(min_p, options.min_p);
  apply(repeat_penalty, options.repeat_penalty);
  apply(frequency_penalty, options.frequency_penalty);
  apply(presence_penalty, options.presence_penalty);
  apply(repeat_last_n, options.repeat_last_n);
}

SamplerChoice recommended_sampling(const GgufHeader& header) {
  SamplerChoice choice;
  // Sets `option` if the file has a valid value for it.
  const auto read = [&](std::string_view name, auto& option) {
    using Value = typename std::remove_reference_t<decltype(option)>::value_type;
    SamplerChoice alone = choice;
    const std::string key = cat("general.sampling.", name);
    if constexpr (std::is_same_v<Value, float>) {
      const auto value = header.require_float(key);
      if (!value.ok()) return;
      option = value.value();
    } else {
      const auto value = header.require_uint(key);
      if (!value.ok() || value.value() > INT32_MAX) return;
      option = static_cast<int32_t>(value.value());
    }
    SamplerOptions options;
    choice.apply_to(options);
    if (!validate(options, 0).ok()) choice = alone;
  };
  read("temp", choice.temperature);
  read("top_k", choice.top_k);
  read("top_p", choice.top_p);
  read("min_p", choice.min_p);
  read("penalty_repeat", choice.repeat_penalty);
  read("penalty_last_n", choice.repeat_last_n);
  return choice;
}

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
