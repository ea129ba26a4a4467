// The feed-forward network of a layer: down(activation(gate) * up), or down(activation(up)). The
// parameters of the trained activation xIELU are in the keys "xielu.alpha_p" and so on, which do
// not begin with the architecture's name.
#pragma once

#include <memory>

#include "model/blocks/block.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

// Tensors: "ffn_gate" (or the first rows of "ffn_up"), "ffn_up", "ffn_down".
class FeedForward : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  // Loads the expert that all tokens use: "ffn_gate_shexp" and so on.
  static Result<FeedForward> load_shared_expert(LayerLoader& loader);

  // If `gate` has no rows, the network has no gate.
  FeedForward(const Linear& gate, const Linear& up, const Linear& down, Activation activation)
      : gate_(gate), up_(up), down_(down), activation_(activation) {}

  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

  // The same for any n_rows rows up to a batch, which need not be the step's tokens.
  void run_rows(Step& step, Arena arena, const float* x, size_t n_rows, float* out) const;

 private:
  void activate(const KernelSet& kernels, float* x, const float* up, size_t n) const;
  bool is_gated() const { return gate_.matrix.n_rows > 0; }
  size_t width() const { return down_.matrix.n_columns; }

  Linear gate_;  // [width][hidden_dim]
  Linear up_;    // [width][hidden_dim]
  Linear down_;  // [hidden_dim][width]
  Activation activation_;
  Xielu xielu_;  // if that is the activation
};

}  // namespace kinglet
