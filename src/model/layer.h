// One layer of a model: a mixer and a feed-forward block, each with its norms; of some, a further
// input of each token.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/blocks/block.h"
#include "model/layer_loader.h"
#include "model/linear.h"

namespace kinglet {

struct Layer {
  Norm mixer_norm;
  std::unique_ptr<const Block> mixer;
  Norm mixer_post_norm;
  Norm mixer_sum_norm;     // of the stream after the mixer
  Norm mixer_second_norm;  // the same, when the layer's input has been added once more
  bool parallel = false;   // the feed-forward block reads what the mixer read
  Norm ffn_norm;
  std::unique_ptr<const Block> ffn;  // null: there is none
  Norm ffn_post_norm;
  Norm ffn_sum_norm;
  std::unique_ptr<const Block> input;  // see LayerInput; null: there is none
  Norm input_post_norm;
  float scale = 1;  // multiplies the stream after all
};

// Errors: those of the blocks' tensors.
Result<Layer> load_layer(LayerLoader& loader);

// Computes what the layer's tokens must know of each other, of an encoder: see Block::prepare.
void prepare_layer(Step& step, const Layer& layer);

// Adds to the stream what the layer makes of it. Errors: those of the sequence.
Status run_layer(Step& step, const Layer& layer);

}  // namespace kinglet
