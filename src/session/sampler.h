// From logits to the next token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "session/candidates.h"
#include "session/constraint.h"
#include "session/dry.h"
#include "session/sampling_options.h"
#include "text/vocabulary.h"

namespace kinglet {

// The same seed, options and logits give the same tokens on every platform: random numbers are
// PCG32's (M. O'Neill, 2014), and sums are taken in a fixed order.
class Sampler {
 public:
  // `options` must be valid; `vocab_size` is the number of logits. `dry` is made of the same
  // options. Allocates all its memory here, except for constraints.
  Sampler(const SamplerOptions& options, uint32_t vocab_size, const KernelSet& kernels,
          std::optional<Dry> dry = {});

  // Draws one of the tokens that `constraint` allows, or kNoToken if it allows none. `logits`
  // [vocab_size] must be finite; they may be changed.
  TokenId sample(std::span<float> logits, Constraint* constraint = nullptr);

  // Records a token of the prompt or of the answer for the penalties. Rows of pictures are ignored.
  void accept(TokenId token);

 private:
  bool has_penalties() const;
  bool has_limits() const;
  bool has_xtc() const;
  void add_biases_and_penalties(std::span<float> logits);
  TokenId sample_allowed(std::span<float> logits, const TokenSet& allowed);
  TokenId sample_any(std::span<const float> logits);
  void find_candidates(std::span<const float> logits);
  void weigh_candidates(std::span<const float> logits, float largest, float temperature);
  void limit_candidates(std::span<const float> logits);
  float largest_weight() const;
  TokenId draw();
  double random();  // in [0, 1)

  SamplerOptions options_;
  const KernelSet* kernels_;
  size_t n_candidates_;  // before the limits by probability
  bool keeps_all_;       // whether these are the whole vocabulary
  std::vector<Candidate> candidates_;
  std::vector<TokenId> few_;  // tokens, if a constraint allows only few, and their logits
  std::vector<float> few_logits_;
  std::optional<Dry> dry_;
  std::vector<TokenId> recent_;  // a ring of the last tokens
  size_t next_recent_ = 0;
  std::vector<uint32_t> counts_;  // [vocab_size], zeros between draws; empty without penalties
  uint64_t random_state_ = 0;
};

}  // namespace kinglet
