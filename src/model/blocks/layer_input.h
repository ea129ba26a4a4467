// A token's own input to each layer, in addition to the stream (Gemma 3n, 2025). It is a projection
// of the token's embedding, in most models combined with a row of a separate table (see
// LayerInputs and Step::layer_input); the stream gates it.
#pragma once

#include <memory>

#include "model/blocks/block.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

// Tensors: "inp_gate", "proj". Computes proj(gelu(inp_gate(stream)) * input).
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
