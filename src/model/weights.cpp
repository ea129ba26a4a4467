#include "model/weights.h"

#include <string>

#include "base/format.h"
#include "gguf/quoted.h"
#include "kernels/packing.h"

namespace kinglet {
namespace {

// Hands out the tensors of a file, each once, and knows which are left.
class TensorTaker {
 public:
  TensorTaker(GgufFile& file, const KernelSet& kernels)
      : file_(file), kernels_(kernels), taken_(file.header().tensors.size(), false) {}

  bool has(std::string_view name) const { return file_.header().find_tensor(name) != nullptr; }

  // F32 numbers [n].
  Result<const float*> vector(std::string_view name, uint64_t n) {
    KINGLET_ASSIGN(const TensorView tensor, take(name, {n, 1, 1, 1}));
    if (tensor.type != DType::f32) {
      return Error{ErrorCode::wrong_type, cat("tensor ", name, " has type ",
                                              dtype_info(tensor.type).name, ", expected F32")};
    }
    return reinterpret_cast<const float*>(tensor.bytes.data());
  }

  Result<PackedMatrix> matrix(std::string_view name, uint64_t n_rows, uint64_t n_columns) {
    KINGLET_ASSIGN(const TensorView tensor, take(name, {n_columns, n_rows, 1, 1}));
    return pack_in_place(tensor, kernels_);
  }

  Status expect_none_left() const {
    for (size_t i = 0; i < taken_.size(); ++i) {
      if (!taken_[i]) {
        return Error{ErrorCode::unsupported_feature,
                     cat("tensor ", quoted(file_.header().tensors[i].name),
                         " has no place in this architecture")};
      }
    }
    return {};
  }

 private:
  Result<TensorView> take(std::string_view name, const Shape& expected) {
    const TensorInfo* info = file_.header().find_tensor(name);
    if (info == nullptr) {
      return Error{ErrorCode::missing_tensor,
                   cat("tensor ", name, " is missing (expected shape ", shape_text(expected), ")")};
    }
    if (info->shape != expected) {
      return Error{ErrorCode::wrong_shape,
                   cat("tensor ", name, " has shape ", shape_text(info->shape), ", expected ",
                       shape_text(expected))};
    }
    taken_[static_cast<size_t>(info - file_.header().tensors.data())] = true;
    return file_.tensor(*info);
  }

  GgufFile& file_;
  const KernelSet& kernels_;
  std::vector<bool> taken_;
};

Result<LayerWeights> take_layer(TensorTaker& tensors, const ModelConfig& config, uint32_t layer) {
  const auto name = [layer](std::string_view part) {
    return cat("blk.", layer, ".", part, ".weight");
  };
  const auto hidden = config.hidden_dim;
  LayerWeights weights;
  KINGLET_ASSIGN(weights.attention_norm, tensors.vector(name("attn_norm"), hidden));
  KINGLET_ASSIGN(weights.query, tensors.matrix(name("attn_q"), config.q_dim(), hidden));
  KINGLET_ASSIGN(weights.key, tensors.matrix(name("attn_k"), config.kv_dim(), hidden));
  KINGLET_ASSIGN(weights.value, tensors.matrix(name("attn_v"), config.kv_dim(), hidden));
  KINGLET_ASSIGN(weights.attention_output,
                 tensors.matrix(name("attn_output"), hidden, config.q_dim()));
  KINGLET_ASSIGN(weights.ffn_norm, tensors.vector(name("ffn_norm"), hidden));
  KINGLET_ASSIGN(weights.gate, tensors.matrix(name("ffn_gate"), config.ffn_dim, hidden));
  KINGLET_ASSIGN(weights.up, tensors.matrix(name("ffn_up"), config.ffn_dim, hidden));
  KINGLET_ASSIGN(weights.down, tensors.matrix(name("ffn_down"), hidden, config.ffn_dim));
  return weights;
}

}  // namespace

Result<Weights> take_weights(GgufFile& file, const KernelSet& kernels, ModelConfig& config) {
  constexpr std::string_view kEmbedding = "token_embd.weight";
  constexpr std::string_view kOutput = "output.weight";
  constexpr std::string_view kRopeFactors = "rope_freqs.weight";
  if (file.header().tensors.empty()) {
    return Error{ErrorCode::missing_tensor,
                 "the file has a vocabulary but no weights: it can be inspected and can tokenize, "
                 "but not generate"};
  }
  TensorTaker tensors(file, kernels);
  Weights weights;
  const TensorInfo* embedding = file.header().find_tensor(kEmbedding);
  if (embedding != nullptr) config.vocab_size = static_cast<uint32_t>(embedding->shape[1]);
  KINGLET_ASSIGN(weights.token_embedding,
                 tensors.matrix(kEmbedding, config.vocab_size, config.hidden_dim));
  weights.layers.reserve(config.n_layers);
  for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
    KINGLET_ASSIGN(LayerWeights layer_weights, take_layer(tensors, config, layer));
    weights.layers.push_back(layer_weights);
  }
  KINGLET_ASSIGN(weights.output_norm, tensors.vector("output_norm.weight", config.hidden_dim));
  weights.output = weights.token_embedding;
  if (tensors.has(kOutput)) {
    KINGLET_ASSIGN(weights.output, tensors.matrix(kOutput, config.vocab_size, config.hidden_dim));
  }
  if (tensors.has(kRopeFactors)) {
    KINGLET_ASSIGN(weights.rope_factors, tensors.vector(kRopeFactors, config.rope_dim / 2));
  }
  KINGLET_TRY(tensors.expect_none_left());
  return weights;
}

}  // namespace kinglet
