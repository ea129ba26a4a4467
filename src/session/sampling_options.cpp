#include "session/sampling_options.h"

#include <algorithm>
#include <limits>

#include "base/format.h"

namespace kinglet {
namespace {

constexpr double kMostWhole = std::numeric_limits<int32_t>::max();

// In the order in which interfaces list them.
constexpr SamplingOption kSamplingOptions[] = {
    {.name = "temperature",
     .real = &SamplerOptions::temperature,
     .most = 100,
     .help = "Temperature; 0 always takes the most probable token",
     .key = "temp",
     .flag = "temp"},
    {.name = "top_k",
     .whole = &SamplerOptions::top_k,
     .least = -1,
     .most = kMostWhole,
     .help = "Sample from the k most probable tokens; 0 or -1: from all",
     .key = "top_k"},
    {.name = "top_p",
     .real = &SamplerOptions::top_p,
     .most = 1,
     .help = "Sample from the fewest tokens with at least this probability in total",
     .key = "top_p"},
    {.name = "min_p",
     .real = &SamplerOptions::min_p,
     .most = 1,
     .help = "Sample from tokens with at least this fraction of the largest probability",
     .key = "min_p"},
    {.name = "typical_p",
     .real = &SamplerOptions::typical_p,
     .most = 1,
     .help = "Sample from the most typical tokens with this probability in total; 1: from all"},
    {.name = "xtc_probability",
     .real = &SamplerOptions::xtc_probability,
     .most = 1,
     .help = "Probability that the most probable tokens are excluded (XTC); 0: never",
     .key = "xtc_probability"},
    {.name = "xtc_threshold",
     .real = &SamplerOptions::xtc_threshold,
     .most = 1,
     .help = "XTC excludes tokens of at least this probability, except the least probable of them",
     .key = "xtc_threshold"},
    {.name = "repeat_penalty",
     .real = &SamplerOptions::repeat_penalty,
     .most = 100,
     .help = "Penalty for repeated tokens; 1: none",
     .key = "penalty_repeat",
     .above = true},
    {.name = "frequency_penalty",
     .real = &SamplerOptions::frequency_penalty,
     .least = -100,
     .most = 100,
     .help = "Subtracted from a token's logit for each occurrence"},
    {.name = "presence_penalty",
     .real = &SamplerOptions::presence_penalty,
     .least = -100,
     .most = 100,
     .help = "Subtracted from a token's logit if it has occurred"},
    {.name = "repeat_last_n",
     .whole = &SamplerOptions::repeat_last_n,
     .most = 65536,
     .help = "Number of last tokens that penalties apply to",
     .key = "penalty_last_n"},
    {.name = "dry_multiplier",
     .real = &SamplerOptions::dry_multiplier,
     .most = 100,
     .help = "Penalty for tokens that would continue a repetition (DRY); 0: none"},
    {.name = "dry_base",
     .real = &SamplerOptions::dry_base,
     .least = 1,
     .most = 100,
     .help = "DRY's penalty is multiplied by this for each repeated token after the allowed ones"},
    {.name = "dry_allowed_length",
     .whole = &SamplerOptions::dry_allowed_length,
     .most = 65536,
     .help = "DRY does not penalize shorter repetitions, in tokens"},
    {.name = "dry_penalty_last_n",
     .whole = &SamplerOptions::dry_penalty_last_n,
     .least = -1,
     .most = kMostWhole,
     .help = "Number of last tokens that DRY searches; -1: a whole context"},
};

Status check_biases(const std::vector<LogitBias>& biases, uint32_t vocab_size) {
  for (const auto& [token, bias] : biases) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab_size) {
      return Error{
          ErrorCode::invalid_argument,
          cat("bias: token id ", token, " is out of range (vocabulary: ", vocab_size, ")")};
    }
    if (!(bias >= -kMostBias && bias <= kMostBias)) {
      return Error{ErrorCode::invalid_argument,
                   cat("a bias is ", bias, ", expected ", -kMostBias, " to ", kMostBias)};
    }
  }
  return {};
}

Status check_breakers(const std::vector<std::string>& breakers) {
  if (breakers.size() > kMostBreakers) {
    return Error{ErrorCode::invalid_argument,
                 cat("there are ", breakers.size(), " DRY sequence breakers, expected at most ",
                     kMostBreakers)};
  }
  for (const std::string& breaker : breakers) {
    if (!breaker.empty() && breaker.size() <= kMostBreakerBytes) continue;
    return Error{ErrorCode::invalid_argument, cat("a DRY sequence breaker has ", breaker.size(),
                                                  " bytes, expected 1 to ", kMostBreakerBytes)};
  }
  return {};
}

}  // namespace

std::span<const SamplingOption> sampling_options() { return kSamplingOptions; }

bool SamplingOption::allows(double value) const {
  // The comparisons are written so that NaN fails.
  return value >= least && value <= most && !(above && value == least);
}

std::string SamplingOption::range() const {
  if (most == kMostWhole) return cat(least, " or more");
  return above ? cat("more than ", least, ", up to ", most) : cat(least, " to ", most);
}

void SamplingOption::set(SamplerOptions& options, double value) const {
  if (!is_whole()) {
    options.*real = static_cast<float>(value);
    return;
  }
  constexpr double kLeastWhole = std::numeric_limits<int32_t>::min();
  if (!(value > kLeastWhole)) value = kLeastWhole;  // NaN too
  options.*whole = static_cast<int32_t>(std::min(value, kMostWhole));
}

std::string hyphenated(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string camel_case(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool begins_word = name[i] == '_' && i + 1 < name.size();
    out += begins_word ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
  }
  return out;
}

Status validate(const SamplerOptions& options, uint32_t vocab_size) {
  for (const SamplingOption& option : kSamplingOptions) {
    const double value = option.get(options);
    if (option.allows(value)) continue;
    const std::string name = hyphenated(option.name);
    return Error{ErrorCode::invalid_argument,
                 cat(name, " is ", value, ", expected ", option.range())};
  }
  KINGLET_TRY(check_breakers(options.dry_sequence_breakers));
  return check_biases(options.logit_bias, vocab_size);
}

void SamplerChoice::apply_to(SamplerOptions& options) const {
  for (const auto& [option, value] : numbers) option->set(options, value);
  if (dry_sequence_breakers) options.dry_sequence_breakers = *dry_sequence_breakers;
}

SamplerChoice recommended_sampling(const GgufHeader& header) {
  SamplerChoice choice;
  const auto recommend = [&](const SamplingOption& option, const auto& found) {
    if (!found.ok()) return;
    const auto value = static_cast<double>(found.value());
    if (option.allows(value)) choice.numbers.push_back({&option, value});
  };
  for (const SamplingOption& option : kSamplingOptions) {
    if (option.key.empty()) continue;
    const std::string key = cat("general.sampling.", option.key);
    if (option.is_whole()) {
      recommend(option, header.require_uint(key));
    } else {
      recommend(option, header.require_float(key));
    }
  }
  return choice;
}

}  // namespace kinglet
