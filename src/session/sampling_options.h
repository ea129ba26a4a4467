// The options of the sampler, and the table of them. The program, the server, the bindings and the
// package all take names, ranges and defaults from this table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"
#include "text/vocabulary.h"

namespace kinglet {

// Biases are from -kMostBias, which forbids a token, to kMostBias, which forces it.
constexpr float kMostBias = 100;

struct LogitBias {
  TokenId token;
  float bias;
};

// Each number has a row in the table of sampling_options.cpp, with its range. The sampler applies
// them in this order: biases, penalties, DRY, constraint, top-k, typical-p, top-p, min-p, XTC,
// temperature, draw. It is llama.cpp's order, which model cards assume: the temperature changes how
// often a token is drawn, but not which tokens can be. Each limit applies to the tokens that the
// earlier ones left. Penalties look at the last repeat_last_n tokens of prompt and answer.
struct SamplerOptions {
  // 0 is greedy: the token of the largest logit, the first of equals. Then limits have no effect.
  float temperature = 0.8f;
  int32_t top_k = 40;      // keep the k most probable; 0 and -1 keep all
  float top_p = 0.95f;     // keep the fewest whose probabilities reach p, at least one; 1 keeps all
  float min_p = 0.05f;     // keep those with at least min_p × the largest probability
  float typical_p = 1.0f;  // keep the most typical until they exceed p; 1 keeps all
  float xtc_probability = 0.0f;  // how often the top choices are excluded, except the last of them
  float xtc_threshold = 0.1f;    // the probability from which a token is a top choice
  float repeat_penalty = 1.0f;   // > 1 divides positive and multiplies negative logits (CTRL, 2019)
  float frequency_penalty = 0.0f;  // subtracted from a logit for each occurrence of its token
  float presence_penalty = 0.0f;   // subtracted once if the token occurred
  int32_t repeat_last_n = 64;
  float dry_multiplier = 0.0f;  // weakens what would continue a repetition: see dry.h; 0 is off
  float dry_base = 1.75f;
  int32_t dry_allowed_length = 2;
  int32_t dry_penalty_last_n = -1;  // how many last tokens are searched; -1: the context; 0 is off
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  std::vector<LogitBias> logit_bias = {};  // added to the logits of these tokens
  uint64_t seed = 0;
};

// A number among the options: a row of the table.
struct SamplingOption {
  using Real = float SamplerOptions::*;
  using Whole = int32_t SamplerOptions::*;

  std::string_view name;  // as requests spell it
  Real real = nullptr;    // the member: either this,
  Whole whole = nullptr;  // or this, for whole numbers
  double least = 0;
  double most = 0;
  const char* help = "";       // of the program's option
  std::string_view key = {};   // general.sampling.KEY recommends a value; empty: files have none
  bool above = false;          // `least` itself is not allowed
  std::string_view flag = {};  // the program's option; empty: the name, with hyphens

  bool is_whole() const { return whole != nullptr; }
  bool allows(double value) const;
  std::string range() const;  // for errors, after "expected "
  double get(const SamplerOptions& options) const {
    return is_whole() ? static_cast<double>(options.*whole) : static_cast<double>(options.*real);
  }
  // Takes any number: one that is not in the range fails in validate().
  void set(SamplerOptions& options, double value) const;
};

std::span<const SamplingOption> sampling_options();

// Returns a name in the style of the program's options ("top-k"), or of JavaScript ("topK").
std::string hyphenated(std::string_view name);
std::string camel_case(std::string_view name);

// The options that a file or a caller sets; the others keep their values.
struct SamplerChoice {
  struct Number {
    const SamplingOption* option;
    double value;
  };
  std::vector<Number> numbers;  // of equal options, the last one counts
  std::optional<std::vector<std::string>> dry_sequence_breakers;

  void apply_to(SamplerOptions& options) const;
};

// The settings that a file recommends (general.sampling.*). A value of a wrong type or out of range
// is ignored: the model runs without it.
SamplerChoice recommended_sampling(const GgufHeader& header);

// DRY looks for each of the sequence breakers in each token.
constexpr size_t kMostBreakers = 64;
constexpr size_t kMostBreakerBytes = 64;

// ErrorCode::invalid_argument names the option, its value and its range. Biases may name tokens
// below `vocab_size`.
Status validate(const SamplerOptions& options, uint32_t vocab_size);

}  // namespace kinglet
