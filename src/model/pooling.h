// Turns the last states of a text's tokens into its embedding or its scores.
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

// Returns the pooling of that name. ErrorCode::invalid_argument lists the names.
Result<Pooling> find_pooling(std::string_view name);

// Returns the file's pooling, which may be Pooling::none or Pooling::rank; the mean if a model that
// makes text has none. ErrorCode::missing_metadata if another model has none.
Result<Pooling> file_pooling(const ModelConfig& config);

// Returns the file's way to make one vector of a text, which is neither of these.
// ErrorCode::unsupported_feature (a reranker), missing_metadata.
Result<Pooling> vector_pooling(const ModelConfig& config);

// ErrorCode::unsupported_feature for Pooling::rank, which makes scores.
Status check_makes_vectors(Pooling pooling);

// ErrorCode::unsupported_feature if the model is not a reranker.
Status check_ranks(const ModelConfig& config);

// Divides the vector by its Euclidean length, unless that is 0.
void normalize_length(std::span<float> vector);

// out [width] = one vector from a text's states [n_tokens][width]: their mean, the first (cls) or
// the last one. `pooling` must be one of these three.
void pool_states(const KernelSet& kernels, Pooling pooling, const float* states, size_t n_tokens,
                 size_t width, float* out);

// The matrices after pooling: they make embeddings or scores.
class Head {
 public:
  explicit Head(size_t hidden_dim = 0) : embedding_dim_(hidden_dim) {}

  // Takes "output" if the architecture projects states, and "dense_2" and "dense_3" if the file has
  // them. For rerankers also "cls" (with "cls.norm") and "cls.output", one of which may be missing.
  // Errors: those of TensorTaker.
  static Result<Head> take(TensorTaker& tensors, const ModelConfig& config);

  ScratchNeeds scratch_needs(const BatchShape& batch) const;

  // The number of values in an embedding.
  size_t embedding_dim() const { return embedding_dim_; }

  // out [n_tokens][embedding_dim] = the embeddings of rows [n_tokens][hidden_dim], one for each of
  // the step's tokens.
  void embed(Step& step, Arena arena, const float* rows, float* out) const;

  // out [n_tokens][n_labels] = the scores of rows [n_tokens][hidden_dim]; only for a reranker.
  void score(Step& step, Arena arena, const float* rows, float* out) const;

 private:
  Status take_dense(TensorTaker& tensors, const ModelConfig& config);
  Status take_scores(TensorTaker& tensors, const ModelConfig& config);
  void activate(Step& step, float* rows) const;

  std::vector<Linear> dense_;  // one after the other, without activations
  size_t embedding_dim_;
  size_t widest_ = 0;  // rows of the largest matrix
  Linear hidden_;      // "cls"; has no rows if the file has none
  Norm norm_;          // after the activation of hidden_
  Linear output_;      // "cls.output"; has no rows if the file has none
};

}  // namespace kinglet
