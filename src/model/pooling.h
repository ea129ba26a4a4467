// From the last states of a text's tokens to its embedding, or to its scores.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/blocks/block.h"
#include "model/config.h"
#include "model/linear.h"
#include "model/tensor_taker.h"

namespace kinglet {

// "none", "mean", "cls", "last" or "rank".
std::string_view pooling_name(Pooling pooling);

// ErrorCode::invalid_argument names those that are known.
Result<Pooling> find_pooling(std::string_view name);

// How the file says that a text's states become one vector. ErrorCode::missing_metadata.
Result<Pooling> file_pooling(const ModelConfig& config);

// ErrorCode::unsupported_feature where the model is no reranker.
Status check_ranks(const ModelConfig& config);

// Divides by the Euclidean length, unless that is 0.
void normalize_length(std::span<float> vector);

// out [width] = one vector of a text's states [n_tokens][width]: their mean, the first (cls) or the
// last; other poolings do not make one vector.
void pool_states(const KernelSet& kernels, Pooling pooling, const float* states, size_t n_tokens,
                 size_t width, float* out);

// What is computed with pooled states.
class Head {
 public:
  explicit Head(size_t hidden_dim = 0) : embedding_dim_(hidden_dim) {}

  // "dense_2" and "dense_3", where there are any; of rerankers "cls" (with "cls.norm") and
  // "cls.output", either of which may be missing. Errors: those of TensorTaker.
  static Result<Head> take(TensorTaker& tensors, const ModelConfig& config);

  ScratchNeeds scratch_needs(const BatchShape& batch) const;

  // Numbers of an embedding.
  size_t embedding_dim() const { return embedding_dim_; }

  // out [n_tokens][embedding_dim] = embeddings of rows [n_tokens][hidden_dim]: as many as the step
  // has tokens.
  void embed(Step& step, Arena arena, const float* rows, float* out) const;

  // out [n_tokens][n_labels] = scores of rows [n_tokens][hidden_dim], of a reranker.
  void score(Step& step, Arena arena, const float* rows, float* out) const;

 private:
  Status take_dense(TensorTaker& tensors, const ModelConfig& config);
  Status take_scores(TensorTaker& tensors, const ModelConfig& config);
  void activate(Step& step, float* rows) const;

  std::vector<Linear> dense_;  // one after the other, without activations
  size_t embedding_dim_;
  size_t widest_ = 0;  // rows of the largest matrix
  Linear hidden_;      // "cls"; no rows: there is none
  Norm norm_;          // after its activation
  Linear output_;      // "cls.output"; the same
};

}  // namespace kinglet
