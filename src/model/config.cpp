#include "model/config.h"

#include <cmath>
#include <string>

#include "base/format.h"
#include "base/in_quotes.h"
#include "model/config_readers.h"

namespace kinglet {
namespace {

constexpr std::string_view kAlibi = "attention.max_alibi_bias";

// Keys of models whose activations must be rotated by Hadamard matrices before they are multiplied
// by the weights.
constexpr std::string_view kHadamardKeys = "prism.hadamard.";

// Fails for keys that change what a model computes and that its architecture does not support.
Status refuse_unsupported(const GgufHeader& header, const Keys& keys, const Architecture& traits) {
  for (const MetadataEntry& entry : header.metadata) {
    if (entry.key.starts_with(kHadamardKeys)) {
      return Error{ErrorCode::unsupported_feature, cat(in_quotes(entry.key), " is not supported")};
    }
  }
  constexpr std::string_view kFloats[] = {kAlibi, "attention.clamp_kqv", kLogMultiplier};
  for (const std::string_view key : kFloats) {
    KINGLET_ASSIGN(const float value, keys.number(key, 0.0f));
    if (value == 0 || (key == kAlibi && traits.attention.alibi && value == kAlibiBias)) continue;
    if (key == kLogMultiplier && traits.rope.yarn_log_multiplier) continue;
    return keys.error(ErrorCode::unsupported_feature, key, "is not supported");
  }
  return {};
}

// Reads whether tokens see those after them, and how the states of a text become a vector.
Status read_purpose(const Keys& keys, ModelConfig& config) {
  const bool is_encoder = config.architecture->is_encoder();
  KINGLET_ASSIGN(const bool causal, keys.flag("attention.causal", !is_encoder));
  if (causal == is_encoder) {
    return keys.error(
        ErrorCode::unsupported_feature, "attention.causal",
        causal ? "is true, which is not supported: the tokens of this architecture see later tokens"
               : "is false, which is not supported: the tokens of this architecture do not see "
                 "later tokens");
  }
  KINGLET_ASSIGN(const uint32_t pooling, keys.number("pooling_type", uint32_t{0}));
  constexpr auto kLast = static_cast<uint32_t>(Pooling::rank);
  if (pooling > kLast) {
    return keys.error(ErrorCode::unsupported_feature, "pooling_type",
                      cat("is ", pooling, ": not supported (supported: 0 to ", kLast, ")"));
  }
  if (keys.find("pooling_type") != nullptr) config.pooling = static_cast<Pooling>(pooling);
  if (const MetadataValue* labels = keys.find("classifier.output_labels")) {
    const uint64_t n = labels->type() == ValueType::array ? labels->as_array()->size() : 0;
    if (n == 0 || n > kMaxDim) {
      return keys.error(ErrorCode::corrupt, "classifier.output_labels",
                        cat("is not an array of 1 to ", kMaxDim, " names"));
    }
    config.n_labels = static_cast<uint32_t>(n);
  }
  return {};
}

// Reads the scales of embeddings, of the stream and of logits.
Status read_scales(const Keys& keys, ModelConfig& config) {
  const ScaleTraits& traits = config.architecture->scales;
  // A factor in the file is ignored if the architecture's own code does not use it.
  const auto scale = [&](std::string_view key, float fallback) -> Result<float> {
    return traits.by_file ? keys.positive(key, fallback) : fallback;
  };
  const float by_width = std::sqrt(static_cast<float>(config.hidden_dim));
  KINGLET_ASSIGN(config.embedding_scale,
                 scale("embedding_scale", traits.embedding_by_width ? by_width : 1.0f));
  KINGLET_ASSIGN(config.residual_scale, scale("residual_scale", 1.0f));
  KINGLET_ASSIGN(const float logit_divisor, scale("logit_scale", 1.0f));
  config.logit_scale = 1.0f / logit_divisor;
  if (traits.may_cap_logits) {
    KINGLET_ASSIGN(config.logit_softcap,
                   keys.number("final_logit_softcapping", traits.logit_softcap));
  }
  return {};
}

Status read_layer_inputs(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "embedding_length_per_layer_input";
  const LayerInputs inputs = config.architecture->embedding.layer_inputs;
  if (inputs == LayerInputs::none) return {};
  KINGLET_ASSIGN(config.layer_input_dim, keys.number(kKey, uint32_t{0}));
  if (inputs == LayerInputs::projection) KINGLET_TRY(keys.size(kKey, kMaxDim));
  if (config.layer_input_dim <= kMaxDim / config.n_layers) return {};
  return keys.error(ErrorCode::corrupt, kKey,
                    cat("is ", config.layer_input_dim, ": times ", config.n_layers,
                        " layers, that is more than ", kMaxDim));
}

}  // namespace

Status check_makes_text(const ModelConfig& config) {
  if (config.makes_text()) return {};
  const std::string_view name = config.architecture->name;
  return Error{
      ErrorCode::unsupported_feature,
      config.architecture->is_encoder()
          ? cat("architecture ", in_quotes(name),
                " is an encoder: it computes embeddings and cannot generate text")
          : cat(name,
                ".pooling_type is set, so the model computes embeddings and cannot generate text")};
}

Result<ModelConfig> read_config(const GgufHeader& header) {
  ModelConfig config;
  KINGLET_ASSIGN(config.architecture, find_architecture(header));
  const Keys keys(header, config.architecture->name);
  config.activation = config.architecture->ffn.activation;
  KINGLET_TRY(refuse_unsupported(header, keys, *config.architecture));
  KINGLET_TRY(read_purpose(keys, config));
  KINGLET_ASSIGN(const uint32_t n_blocks, keys.size("block_count", kMaxLayers));
  KINGLET_ASSIGN(config.n_skipped_layers, keys.number("nextn_predict_layers", uint32_t{0}));
  if (config.n_skipped_layers >= n_blocks) {
    return keys.error(ErrorCode::corrupt, "nextn_predict_layers",
                      cat("is ", config.n_skipped_layers, " of ", n_blocks, " layers"));
  }
  config.n_layers = n_blocks - config.n_skipped_layers;
  KINGLET_ASSIGN(config.hidden_dim, keys.size("embedding_length", kMaxDim));
  config.layers.resize(config.n_layers);
  KINGLET_TRY(read_ffn(keys, config));
  KINGLET_ASSIGN(config.context_length, keys.size("context_length", UINT32_MAX));
  KINGLET_ASSIGN(config.norm_epsilon, keys.number(config.architecture->norms.kind == NormKind::rms
                                                      ? "attention.layer_norm_rms_epsilon"
                                                      : "attention.layer_norm_epsilon"));
  KINGLET_ASSIGN(const uint32_t window, read_windows(keys, config));
  KINGLET_TRY(read_heads(keys, config));
  KINGLET_TRY(read_layer_inputs(keys, config));
  KINGLET_TRY(read_experts(keys, config));
  KINGLET_TRY(read_scores(keys, config));
  KINGLET_TRY(read_scales(keys, config));
  KINGLET_TRY(read_rope(keys, config));
  KINGLET_TRY(read_rotations(keys, window > 0, config));
  if (const auto read_own = config.architecture->read_own) KINGLET_TRY(read_own(keys, config));
  return config;
}

}  // namespace kinglet
