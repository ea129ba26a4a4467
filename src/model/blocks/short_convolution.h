// The gated short convolution of LFM2 (Liquid AI, 2025).
#pragma once

#include <memory>

#include "model/blocks/block.h"
#include "model/blocks/causal_convolution.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

// out = W_out (c ⊙ convolution(b ⊙ z)), with (b, c, z) = W_in x.
// Tensors: "shortconv.in_proj" for b, c and z, "shortconv.conv", "shortconv.out_proj".
class ShortConvolution : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  void derive() override { convolution_.derive(); }
  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  // The rows of n tokens, [hidden_dim] each.
  struct Buffers {
    float* b;  // the convolution's input
    float* c;
    float* z;
    float* mixed;  // the convolution's output
  };

  Buffers lay_out(Arena& arena, const BatchShape& batch) const;

  Linear b_;  // [hidden_dim][hidden_dim] each
  Linear c_;
  Linear z_;
  CausalConvolution convolution_;
  Linear output_;
};

}  // namespace kinglet
