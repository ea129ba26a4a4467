// What a token brings to each layer beside the stream (Gemma 3n, 2025): a row of a table of its
// own, mixed with what all layers make of its embedding (see Step::layer_input), gated by the
// stream.
#pragma once

#include <memory>

#include "model/blocks/block.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

// "inp_gate", "proj": proj(activation(inp_gate(stream)) * input), with a GELU.
class LayerInput : public Block {
 public:
  static Result<std::unique_ptr<Block>> load(LayerLoader& loader);

  ScratchNeeds scratch_needs(const BatchShape& batch) const override;
  Status run(Step& step, Arena arena, const float* x, float* out) const override;

 private:
  size_t width() const { return gate_.matrix.n_rows; }

  uint32_t layer_ = 0;
  Linear gate_;        // [layer_input_dim][hidden_dim]
  Linear projection_;  // [hidden_dim][layer_input_dim]
};

}  // namespace kinglet
