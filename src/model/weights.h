// A transformer's tensors: found by name and checked by shape as soon as there is a header, then
// packed for the kernels.
#pragma once

#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "kv/state_shape.h"
#include "model/config.h"
#include "model/embedding_table.h"
#include "model/layer.h"
#include "model/linear.h"
#include "model/pooling.h"
#include "model/weight_fill.h"

namespace kinglet {

// The weights that make each token's embeddings for each layer: see LayerInput.
struct LayerInputWeights {
  EmbeddingTable table;  // [vocab_size][n_layers * layer_input_dim], if the architecture has it
  Linear projection;     // [n_layers * layer_input_dim][hidden_dim], of the embedding
  Norm norm;             // of each layer's part of the projection
};

struct Weights {
  EmbeddingTable token_embedding;   // [vocab_size][hidden_dim]
  PackedMatrix position_embedding;  // [context_length][hidden_dim]; may have no rows
  PackedMatrix token_types;         // [.][hidden_dim]; may have no rows
  Norm embedding_norm;
  LayerInputWeights layer_inputs;
  std::vector<Layer> layers;
  Norm output_norm;
  // [vocab_size][hidden_dim]; the embedding if tied; no rows if the model generates no text
  Linear output;
  // [rope.dim / 2] divisors of the frequencies, or null. long_rope_factors are for contexts longer
  // than rope.original_context; rope_factors for all others.
  const float* rope_factors = nullptr;
  const float* long_rope_factors = nullptr;
  StateShape state;  // what the layers store for a sequence
  Head head;         // turns vectors of texts into embeddings or scores
};

// Weights whose places and shapes are known. Their bytes may still have to arrive.
struct BoundWeights {
  ModelConfig config;
  Weights weights;
  WeightFill fill;  // checks and packs the bytes

  // Fills what is left once the file is complete. Errors: those of WeightFill.
  Status complete();
};

// Takes the tensors of all layers. Errors: those of TensorTaker.
Status take_layers(TensorTaker& tensors, const ModelConfig& config, Weights& weights);

// `file` must have its header and room for its data. Errors: those of read_config;
// ErrorCode::missing_tensor, wrong_shape, wrong_type, unsupported_feature (a tensor that the
// architecture does not use: leaving it out would give wrong text).
Result<BoundWeights> bind_weights(GgufFile& file, const KernelSet& kernels);

}  // namespace kinglet
