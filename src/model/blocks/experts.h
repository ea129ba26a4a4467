// Mixture of experts (Shazeer et al., 2017): a router chooses a few of the feed-forward networks
// for each token.
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

// How the router's logits become choices.
struct Routing {
  ExpertGating gating = ExpertGating::softmax;  // over all experts; sigmoid: each by itself
  bool normalizes = true;                       // the weights of the chosen experts sum to 1
  const float* bias = nullptr;                  // [n_experts], used only for the choice; or null
};

// choices = the choices.size() experts with the largest gates, largest first.
void choose_experts(std::span<const float> logits, const Routing& routing,
                    std::span<ExpertChoice> choices);

// Tensors: "ffn_gate_inp" and, if the file has it, "exp_probs_b.bias"; "ffn_gate_exps",
// "ffn_up_exps" and "ffn_down_exps" of all experts, or "ffn_gate_up_exps", gates first, instead of
// the first two; without gates, "ffn_up_exps" and "ffn_down_exps"; the shared expert, if there is
// one, and "ffn_gate_inp_shexp", if tokens have a gate for it.
class Experts : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  // The rows of n tokens.
  struct Buffers {
    float* router;          // [n_experts]: the router's logits
    float* shared_gate;     // [1], if tokens have a gate for the shared expert
    ExpertChoice* choices;  // [n_used]
    uint32_t* routed;       // [1]: the tokens that chose the expert that runs
    float* input;           // [hidden_dim]: the rows of these tokens
    float* output;          // [hidden_dim]: the expert's output for these rows
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
  // [1][hidden_dim]: its sigmoid scales the shared expert's output; no rows: no scale
  Linear shared_gate_;
};

}  // namespace kinglet
