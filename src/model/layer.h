// One layer of a model: a mixer and a feed-forward block, each with its norms. In some models, also
// an embedding of each token for this layer.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/blocks/block.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

struct Layer {
  Norm mixer_norm;
  std::unique_ptr<Block> mixer;
  Norm mixer_post_norm;
  Norm mixer_sum_norm;     // of the stream after the mixer
  Norm mixer_second_norm;  // the same, after the layer's input was added once more
  bool parallel = false;   // the feed-forward block has the same input as the mixer
  Norm ffn_norm;
  std::unique_ptr<Block> ffn;  // may be null
  Norm ffn_post_norm;
  Norm ffn_sum_norm;
  std::unique_ptr<Block> input;  // see LayerInput; may be null
  Norm input_post_norm;
  const float* scale = nullptr;  // [1] multiplies the stream at the end; may be null
};

// Errors: those of the blocks' tensors.
Result<Layer> load_layer(LayerLoader& loader);

// See Block::derive().
void derive_layer(Layer& layer);

// In an encoder, the first pass over a batch: see Block::prepare.
void prepare_layer(Step& step, const Layer& layer);

// Adds the layer's output to the stream. Errors: those of the sequence.
Status run_layer(Step& step, const Layer& layer);

}  // namespace kinglet
