// A transformer's tensors, found by name, checked by shape and packed for the kernels.
#pragma once

#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/config.h"

namespace kinglet {

// Vectors are F32 in every file. Matrices are [rows][columns]: y = W x.
struct LayerWeights {
  const float* attention_norm = nullptr;  // [hidden_dim]
  PackedMatrix query;                     // [q_dim][hidden_dim]
  PackedMatrix key;                       // [kv_dim][hidden_dim]
  PackedMatrix value;                     // [kv_dim][hidden_dim]
  PackedMatrix attention_output;          // [hidden_dim][q_dim]
  const float* ffn_norm = nullptr;        // [hidden_dim]
  PackedMatrix gate;                      // [ffn_dim][hidden_dim]
  PackedMatrix up;                        // [ffn_dim][hidden_dim]
  PackedMatrix down;                      // [hidden_dim][ffn_dim]
};

struct Weights {
  PackedMatrix token_embedding;  // [vocab_size][hidden_dim]
  std::vector<LayerWeights> layers;
  const float* output_norm = nullptr;   // [hidden_dim]
  PackedMatrix output;                  // [vocab_size][hidden_dim]; the embedding where tied
  const float* rope_factors = nullptr;  // [rope_dim / 2] dividing the frequencies, or null
};

// Packs the file's tensors in place. Sets config.vocab_size.
// ErrorCode::missing_tensor, wrong_shape, wrong_type, unsupported_feature (a tensor that the
// architecture does not use: leaving it out would give wrong text), out_of_memory.
Result<Weights> take_weights(GgufFile& file, const KernelSet& kernels, ModelConfig& config);

}  // namespace kinglet
