#include "model/weights.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/format.h"
#include "model/tensor_taker.h"

namespace kinglet {
namespace {

// Takes a vector, or returns null if the file has none.
Result<const float*> take_optional(TensorTaker& tensors, std::string_view name, uint64_t n) {
  if (!tensors.has(name)) return nullptr;
  return tensors.vector(name, n);
}

Status take_embeddings(TensorTaker& tensors, const GgufHeader& header, ModelConfig& config,
                       Weights& weights) {
  constexpr std::string_view kEmbedding = "token_embd.weight";
  const TensorInfo* embedding = header.find_tensor(kEmbedding);
  if (embedding != nullptr) config.vocab_size = static_cast<uint32_t>(embedding->shape[1]);
  KINGLET_ASSIGN(weights.token_embedding,
                 tensors.table(kEmbedding, config.vocab_size, config.hidden_dim));
  if (config.architecture->embedding.learned_positions) {
    KINGLET_ASSIGN(
        weights.position_embedding,
        tensors.matrix("position_embd.weight", config.context_length, config.hidden_dim));
  }
  const TensorInfo* types = header.find_tensor("token_types.weight");
  if (config.architecture->embedding.token_types && types != nullptr) {
    KINGLET_ASSIGN(weights.token_types,
                   tensors.matrix(types->name, types->shape[1], config.hidden_dim));
  }
  if (config.architecture->norms.embedding) {
    KINGLET_ASSIGN(weights.embedding_norm, take_norm(tensors, "token_embd_norm", config));
  }
  return {};
}

Status take_layer_inputs(TensorTaker& tensors, const ModelConfig& config,
                         LayerInputWeights& inputs) {
  const uint32_t dim = config.layer_input_dim;
  if (dim == 0) return {};
  const uint64_t width = uint64_t{config.n_layers} * dim;
  if (config.architecture->embedding.layer_inputs == LayerInputs::projection_and_table) {
    KINGLET_ASSIGN(inputs.table,
                   tensors.table("per_layer_token_embd.weight", config.vocab_size, width));
  }
  KINGLET_ASSIGN(inputs.projection.matrix,
                 tensors.matrix("per_layer_model_proj.weight", width, config.hidden_dim));
  inputs.norm = {.width = dim, .n_weights = dim};
  KINGLET_ASSIGN(inputs.norm.weight, tensors.vector("per_layer_proj_norm.weight", dim));
  return {};
}

Status take_output(TensorTaker& tensors, const ModelConfig& config, Weights& weights) {
  constexpr std::string_view kOutput = "output.weight";
  const Architecture& traits = *config.architecture;
  if (!traits.norms.output_name.empty()) {
    KINGLET_ASSIGN(weights.output_norm,
                   take_norm(tensors, std::string(traits.norms.output_name), config));
  }
  if (!config.makes_text()) {
    KINGLET_ASSIGN(weights.head, Head::take(tensors, config));
    tensors.skip("output.");
    return {};
  }
  weights.head = Head(config.hidden_dim);
  weights.output.matrix = weights.token_embedding.matrix();
  if (tensors.has(kOutput)) {
    KINGLET_ASSIGN(weights.output.matrix,
                   tensors.matrix(kOutput, config.vocab_size, config.hidden_dim));
    // For other types a scale of this name has no meaning.
    if (weights.output.matrix.type == DType::nvfp4) {
      KINGLET_ASSIGN(weights.output.scale, tensors.scales("output", 1));
    }
  }
  KINGLET_ASSIGN(weights.output.bias, take_optional(tensors, "output.bias", config.vocab_size));
  return {};
}

Status take_rope_factors(TensorTaker& tensors, const ModelConfig& config, Weights& weights) {
  constexpr std::string_view kShort = "rope_factors_short.weight";
  const uint32_t n = config.rope.dim / 2;
  if (n == 0) return {};
  constexpr std::string_view kFactors = "rope_freqs.weight";
  const Presence presence = config.architecture->rope.factors;
  const bool are_used =
      std::any_of(config.layers.begin(), config.layers.end(), [](const LayerConfig& layer) {
        return layer.has_attention() && layer.rotation == Rotation::scaled;
      });
  if (presence != Presence::no) {
    const bool are_required = presence == Presence::required && are_used;
    KINGLET_ASSIGN(weights.rope_factors, are_required ? tensors.vector(kFactors, n)
                                                      : take_optional(tensors, kFactors, n));
  }
  if (tensors.has(kShort)) {
    KINGLET_ASSIGN(weights.rope_factors, tensors.vector(kShort, n));
    KINGLET_ASSIGN(weights.long_rope_factors, tensors.vector("rope_factors_long.weight", n));
  }
  return {};
}

}  // namespace

Status BoundWeights::complete() {
  KINGLET_TRY(fill.finish());
  for (Layer& layer : weights.layers) derive_layer(layer);
  return {};
}

Status take_layers(TensorTaker& tensors, const ModelConfig& config, Weights& weights) {
  weights.layers.reserve(config.n_layers);
  for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
    LayerLoader loader(tensors, config, layer, weights.state);
    KINGLET_ASSIGN(Layer loaded, load_layer(loader));
    weights.layers.push_back(std::move(loaded));
  }
  return {};
}

Result<BoundWeights> bind_weights(GgufFile& file, const KernelSet& kernels) {
  BoundWeights bound;
  ModelConfig& config = bound.config;
  Weights& weights = bound.weights;
  KINGLET_ASSIGN(config, read_config(file.header()));
  TensorTaker tensors(file, kernels);
  KINGLET_TRY(take_embeddings(tensors, file.header(), config, weights));
  KINGLET_TRY(take_layer_inputs(tensors, config, weights.layer_inputs));
  KINGLET_TRY(take_layers(tensors, config, weights));
  for (uint32_t i = 0; i < config.n_skipped_layers; ++i) {
    tensors.skip(cat("blk.", config.n_layers + i, "."));
  }
  KINGLET_TRY(take_output(tensors, config, weights));
  KINGLET_TRY(take_rope_factors(tensors, config, weights));
  KINGLET_ASSIGN(bound.fill, tensors.finish());
  return bound;
}

}  // namespace kinglet
