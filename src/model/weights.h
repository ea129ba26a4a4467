// A transformer's tensors, found by name, checked by shape and packed for the kernels.
#pragma once

#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/config.h"

namespace kinglet {

// Vectors are F32 in every file. Matrices are [rows][columns]: y = W x + b.
struct Linear {
  PackedMatrix matrix;
  const float* bias = nullptr;  // [rows], or null
};

// Where `weight` is null, there is no norm. The bias may be null on its own.
struct Norm {
  const float* weight = nullptr;  // [hidden_dim], unless noted
  const float* bias = nullptr;
  size_t width = 0;      // of the rows that are normalized
  size_t n_weights = 0;  // a multiple of width: rows one behind the other have weights of their own
};

struct FeedForward {
  Linear gate;  // [ffn_dim][hidden_dim]; no rows where the architecture has none
  Linear up;    // [ffn_dim][hidden_dim]
  Linear down;  // [hidden_dim][ffn_dim]
};

struct LayerWeights {
  Norm attention_norm;
  Linear query;     // [q_dim][hidden_dim]
  Linear key;       // [kv_dim][hidden_dim]
  Linear value;     // [kv_dim][hidden_dim]
  Norm query_norm;  // see HeadNorm
  Norm key_norm;
  Linear attention_output;  // [hidden_dim][q_dim]
  Norm attention_post_norm;
  bool parallel = false;  // the feed-forward network reads what attention read
  Norm ffn_norm;
  FeedForward ffn;                   // where there are no experts
  Linear router;                     // [n_experts][hidden_dim]
  std::vector<FeedForward> experts;  // [n_experts]
  Norm ffn_post_norm;
};

struct Weights {
  PackedMatrix token_embedding;     // [vocab_size][hidden_dim]
  PackedMatrix position_embedding;  // [context_length][hidden_dim]; no rows where positions rotate
  std::vector<LayerWeights> layers;
  Norm output_norm;
  Linear output;  // [vocab_size][hidden_dim]; the embedding where tied
  // [rope.dim / 2] dividing the frequencies, or null: in any context, or in one that is longer than
  // rope.original_context.
  const float* rope_factors = nullptr;
  const float* long_rope_factors = nullptr;
};

// Packs the file's tensors in place. Sets config.vocab_size.
// ErrorCode::missing_tensor, wrong_shape, wrong_type, unsupported_feature (a tensor that the
// architecture does not use: leaving it out would give wrong text), out_of_memory.
Result<Weights> take_weights(GgufFile& file, const KernelSet& kernels, ModelConfig& config);

}  // namespace kinglet
