// Mixture of experts (Shazeer et al., 2017): each token goes through a few of the feed-forward
// networks, chosen by a router.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/blocks/block.h"
#include "model/blocks/feed_forward.h"
#include "model/config.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

struct ExpertChoice {
  uint32_t expert;
  float weight;  // of its output
};

// How logits become choices.
struct Routing {
  ExpertGating gating = ExpertGating::softmax;  // over all experts, or of each by itself
  bool normalizes = true;                       // the chosen ones' weights sum to 1
  const float* bias = nullptr;                  // [n_experts], counts for the choice alone; or null
};

// The choices.size() experts of the largest gates, largest first.
void choose_experts(std::span<const float> logits, const Routing& routing,
                    std::span<ExpertChoice> choices);

// "ffn_gate_inp", "exp_probs_b.bias" where there is one; "ffn_gate_exps", "ffn_up_exps",
// "ffn_down_exps" of all experts, or "ffn_gate_up_exps", gates first, in place of two; the shared
// expert where there is one, and "ffn_gate_inp_shexp" where tokens have a gate for it.
class Experts : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  // Of n tokens.
  struct Buffers {
    float* router;          // [n_experts]: its logits
    float* shared_gate;     // one each, where there are such gates
    ExpertChoice* choices;  // [n_used]
    uint32_t* routed;       // one each: the tokens that chose an expert,
    float* input;           // [hidden_dim]: their rows,
    float* output;          // [hidden_dim]: and what it makes of them
  };

  Buffers lay_out(Arena& arena, uint64_t n_tokens) const;
  Status load_experts(LayerLoader& loader);
  Status load_shared(LayerLoader& loader);
  void choose(Step& step, const Buffers& buffers, const float* x) const;
  void run_shared(Step& step, Arena arena, const Buffers& buffers, const float* x,
                  float* out) const;
  size_t gather(const Step& step, const Buffers& buffers, uint32_t expert, const float* x) const;
  std::span<ExpertChoice> choices(const Buffers& buffers, size_t token) const;
  float weight_of(const Buffers& buffers, size_t token, uint32_t expert) const;

  size_t hidden_dim() const { return router_.matrix.n_columns; }

  uint32_t n_used_ = 0;  // for a token
  Routing routing_;
  Linear router_;  // [n_experts][hidden_dim]
  std::vector<FeedForward> experts_;
  std::optional<FeedForward> shared_;  // all tokens go through it
  // [1][hidden_dim]: its sigmoid scales what that makes; no rows: nothing does
  Linear shared_gate_;
};

}  // namespace kinglet
