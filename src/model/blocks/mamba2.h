// A selective state space (Mamba-2: Dao and Gu, 2024).
#pragma once

#include <memory>

#include "model/blocks/block.h"
#include "model/blocks/causal_convolution.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

// With D = n_heads * head_dim, G groups and N = n_states:
//   (z [D], xBC [D + 2GN], dt [H]) = W_in x;  (x, B, C) = silu(convolution(xBC))
//   step = softplus(dt + dt_bias);  S ← e^(A step) S + step x Bᵀ;  y = C S + D x, for each head
//   out = W_out norm(y ⊙ silu(z)), each group normalized by itself
// Head h reads group h / (H / G) of B and C.
// Tensors: "ssm_in", "ssm_conv1d", "ssm_dt.bias", "ssm_a" (A < 0), "ssm_d", "ssm_norm" if there is
// one, "ssm_out".
class Mamba2 : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  void derive() override { convolution_.derive(); }
  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  // The rows of n tokens.
  struct Buffers {
    float* z;      // [inner_dim]
    float* xbc;    // [inner_dim + 2 n_groups n_states]: the convolution's input,
    float* mixed;  // and its output
    float* dt;     // [n_heads]
    float* decay;  // [n_heads]
    float* y;      // [inner_dim]
  };

  Status load_sizes(LayerLoader& loader);
  Buffers lay_out(Arena& arena, const BatchShape& batch) const;
  void scan(Step& step, const Buffers& buffers) const;
  void gate(Step& step, const Buffers& buffers) const;

  uint32_t inner_dim() const { return n_heads_ * head_dim_; }
  uint32_t n_channels() const { return inner_dim() + 2 * n_groups_ * n_states_; }

  uint32_t n_heads_ = 0;
  uint32_t head_dim_ = 0;
  uint32_t n_groups_ = 0;  // n_heads is a multiple of it
  uint32_t n_states_ = 0;
  Linear z_;    // [inner_dim][hidden_dim]
  Linear xbc_;  // [n_channels][hidden_dim]
  Linear dt_;   // [n_heads][hidden_dim]
  CausalConvolution convolution_;
  const float* dt_bias_ = nullptr;  // [n_heads]
  const float* a_ = nullptr;        // [n_heads]
  const float* d_ = nullptr;        // [n_heads]
  Norm norm_;
  Linear output_;       // [hidden_dim][inner_dim]
  uint64_t state_ = 0;  // offset of S [n_heads][head_dim][n_states]
};

}  // namespace kinglet
