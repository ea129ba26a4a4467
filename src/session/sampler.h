// From logits to the next token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"
#include "session/candidates.h"
#include "session/constraint.h"
#include "text/vocabulary.h"

namespace kinglet {

struct LogitBias {
  TokenId token;
  float bias;
};

// Applied in this order: biases, penalties, constraint, top-k, top-p, min-p, temperature, draw. It
// is llama.cpp's order, which model cards assume: the temperature changes how often a token is
// drawn, but not which tokens can be. Each limit applies to the tokens that the earlier ones left.
// Penalties look at the last repeat_last_n tokens of prompt and answer.
struct SamplerOptions {
  float temperature = 0.8f;  // 0 is greedy: the token of the largest logit, the first of equals
  int32_t top_k = 40;        // keep the k most probable; 0 keeps all
  float top_p = 0.95f;  // keep the fewest whose probabilities reach p, at least one; 1 keeps all
  float min_p = 0.05f;  // keep those with at least min_p × the largest probability
  float repeat_penalty = 1.0f;  // > 1 divides positive and multiplies negative logits (CTRL, 2019)
  float frequency_penalty = 0.0f;  // subtracted from a logit for each occurrence of its token
  float presence_penalty = 0.0f;   // subtracted once if the token occurred
  int32_t repeat_last_n = 64;
  std::vector<LogitBias> logit_bias = {};  // added to the logits of these tokens, -100 to 100
  uint64_t seed = 0;
};

constexpr int32_t kMaxRepeatLastN = 1 << 16;

// The options that a file or a caller sets; the others keep their values.
struct SamplerChoice {
  std::optional<float> temperature;
  std::optional<int32_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<float> repeat_penalty;
  std::optional<float> frequency_penalty;
  std::optional<float> presence_penalty;
  std::optional<int32_t> repeat_last_n;

  void apply_to(SamplerOptions& options) const;
};

// The settings that a file recommends (general.sampling.*). A value of a wrong type or out of range
// is ignored: the model runs without it.
SamplerChoice recommended_sampling(const GgufHeader& header);

// ErrorCode::invalid_argument names the option, its value and its range. Biases may name tokens
// below `vocab_size`.
Status validate(const SamplerOptions& options, uint32_t vocab_size);

// The same seed, options and logits give the same tokens on every platform: random numbers are
// PCG32's (M. O'Neill, 2014), and sums are taken in a fixed order.
class Sampler {
 public:
  // `options` must be valid; `vocab_size` is the number of logits. Allocates all its memory here.
  Sampler(const SamplerOptions& options, uint32_t vocab_size, const KernelSet& kernels);

  // Draws one of the tokens that `constraint` allows, or kNoToken if it allows none. `logits`
  // [vocab_size] must be finite; they may be changed.
  TokenId sample(std::span<float> logits, Constraint* constraint = nullptr);

  // Records a token of the prompt or of the answer for the penalties. Rows of pictures are ignored.
  void accept(TokenId token);

 private:
  bool has_penalties() const;
  void add_biases_and_penalties(std::span<float> logits);
  void find_candidates(std::span<const float> logits);
  void weigh_candidates(std::span<const float> logits, float largest, float temperature);
  void keep_top_p_and_min_p();
  TokenId draw();
  double random();  // in [0, 1)

  SamplerOptions options_;
  const KernelSet* kernels_;
  size_t n_candidates_;  // before top-p and min-p
  std::vector<Candidate> candidates_;
  std::vector<TokenId> recent_;  // a ring of the last tokens
  size_t next_recent_ = 0;
  std::vector<uint32_t> counts_;  // [vocab_size], zeros between draws; empty without penalties
  uint64_t random_state_ = 0;
};

}  // namespace kinglet
