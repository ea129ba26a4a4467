#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/format.h"
#include "gguf/quoted.h"

namespace kinglet {
namespace {

// Larger numbers than any real model's, small enough that products of two of them fit 64 bits and
// buffers of their size can be refused in words.
constexpr uint32_t kMaxDim = 1 << 20;
constexpr uint32_t kMaxLayers = 1024;
constexpr uint32_t kMaxExperts = 1024;

// Reads keys that begin with the architecture's name.
class Reader {
 public:
  Reader(const GgufHeader& header, std::string_view architecture)
      : header_(header), prefix_(cat(architecture, ".")) {}

  const MetadataValue* find(std::string_view key) const {
    return header_.find(prefix_ + std::string(key));
  }
  Result<uint32_t> size(std::string_view key, uint32_t limit) const {
    KINGLET_ASSIGN(const uint32_t value, header_.require_uint(prefix_ + std::string(key)));
    return check(key, value, limit);
  }
  Result<uint32_t> size(std::string_view key, uint32_t limit, uint32_t fallback) const {
    KINGLET_ASSIGN(const uint32_t value, number(key, fallback));
    return check(key, value, limit);
  }
  Result<uint32_t> number(std::string_view key, uint32_t fallback) const {
    return header_.get_uint(prefix_ + std::string(key), fallback);
  }
  Result<float> number(std::string_view key) const {
    return header_.require_float(prefix_ + std::string(key));
  }
  Result<float> number(std::string_view key, float fallback) const {
    return header_.get_float(prefix_ + std::string(key), fallback);
  }
  Result<float> positive(std::string_view key, float fallback) const {
    KINGLET_ASSIGN(const float value, number(key, fallback));
    if (value > 0) return value;
    return error(ErrorCode::corrupt, key, "is not positive");
  }
  // `value`, which the architecture's own code has fixed: a file may repeat it, no more.
  Result<float> fixed(std::string_view key, float value) const {
    KINGLET_ASSIGN(const float found, number(key, value));
    if (std::abs(found - value) <= 1e-5f * value) return value;
    return error(ErrorCode::unsupported_feature, key, "is of no use to this architecture");
  }
  Result<bool> flag(std::string_view key, bool fallback) const {
    return header_.get_bool(prefix_ + std::string(key), fallback);
  }
  Result<std::string_view> text(std::string_view key, std::string_view fallback) const {
    return header_.get_string(prefix_ + std::string(key), fallback);
  }
  Error error(ErrorCode code, std::string_view key, std::string_view what) const {
    return {code, cat(prefix_, key, " ", what)};
  }

 private:
  Result<uint32_t> check(std::string_view key, uint32_t value, uint32_t limit) const {
    if (value >= 1 && value <= limit) return value;
    return error(ErrorCode::corrupt, key, cat("is ", value, ", expected 1 to ", limit));
  }

  const GgufHeader& header_;
  std::string prefix_;
};

// Keys that change what a model computes in a way that no architecture here does.
Status refuse_unsupported(const Reader& keys) {
  constexpr std::string_view kFloats[] = {"attention.max_alibi_bias", "attention.clamp_kqv",
                                          "rope.scaling.yarn_log_multiplier"};
  for (const std::string_view key : kFloats) {
    KINGLET_ASSIGN(const float value, keys.number(key, 0.0f));
    if (value != 0) return keys.error(ErrorCode::unsupported_feature, key, "is not supported");
  }
  KINGLET_ASSIGN(const bool causal, keys.flag("attention.causal", true));
  KINGLET_ASSIGN(const uint32_t pooling, keys.number("pooling_type", uint32_t{0}));
  if (!causal || pooling != 0) {
    return keys.error(ErrorCode::unsupported_feature, causal ? "pooling_type" : "attention.causal",
                      "tells that the model makes embeddings, not text");
  }
  return {};
}

Status read_heads(const Reader& keys, ModelConfig& config) {
  KINGLET_ASSIGN(config.n_heads, keys.size("attention.head_count", kMaxDim));
  KINGLET_ASSIGN(config.n_kv_heads, keys.size("attention.head_count_kv", kMaxDim, config.n_heads));
  if (config.n_heads % config.n_kv_heads != 0) {
    return keys.error(ErrorCode::corrupt, "attention.head_count",
                      cat("is ", config.n_heads, ", expected a multiple of the ", config.n_kv_heads,
                          " KV heads"));
  }
  const uint32_t even_share = config.hidden_dim / config.n_heads;
  KINGLET_ASSIGN(config.head_dim,
                 keys.size("attention.key_length", kMaxDim, std::max(even_share, 1u)));
  KINGLET_ASSIGN(const uint32_t value_length,
                 keys.size("attention.value_length", kMaxDim, config.head_dim));
  if (value_length != config.head_dim) {
    return keys.error(ErrorCode::unsupported_feature, "attention.value_length",
                      cat("is ", value_length, ", which differs from the key length ",
                          config.head_dim, ": not supported"));
  }
  if (uint64_t{config.n_heads} * config.head_dim > kMaxDim) {
    return keys.error(ErrorCode::corrupt, "attention.head_count",
                      cat("times the head size ", config.head_dim, " exceeds ", kMaxDim));
  }
  return {};
}

Status read_experts(const Reader& keys, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  KINGLET_ASSIGN(config.n_experts, keys.number("expert_count", uint32_t{0}));
  if (config.n_experts == 0 && traits.experts != Presence::required) return {};
  if (traits.experts == Presence::no) {
    return keys.error(ErrorCode::unsupported_feature, "expert_count",
                      "names a mixture of experts: not supported");
  }
  KINGLET_ASSIGN(config.n_experts, keys.size("expert_count", kMaxExperts));
  KINGLET_ASSIGN(config.n_experts_used, keys.size("expert_used_count", config.n_experts));
  KINGLET_ASSIGN(config.ffn_dim, keys.size("expert_feed_forward_length", kMaxDim, config.ffn_dim));
  KINGLET_TRY(keys.fixed("expert_weights_scale", 1.0f));
  constexpr uint32_t kSoftmax = 1;
  KINGLET_ASSIGN(const uint32_t gating, keys.number("expert_gating_func", kSoftmax));
  if (gating != kSoftmax) {
    return keys.error(ErrorCode::unsupported_feature, "expert_gating_func",
                      cat("is ", gating, ": not supported (supported: 1, softmax)"));
  }
  return {};
}

Status read_scales(const Reader& keys, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  const auto hidden_dim = static_cast<float>(config.hidden_dim);
  const auto head_dim = config.n_layers == traits.n_layers_of_wide_scale
                            ? hidden_dim / static_cast<float>(config.n_heads)
                            : static_cast<float>(config.head_dim);
  const auto scale = [&](std::string_view key, float fallback) {
    return traits.scales_by_file ? keys.positive(key, fallback) : keys.fixed(key, fallback);
  };
  KINGLET_ASSIGN(config.embedding_scale,
                 scale("embedding_scale", traits.scales_embedding ? std::sqrt(hidden_dim) : 1.0f));
  KINGLET_ASSIGN(config.residual_scale, scale("residual_scale", 1.0f));
  KINGLET_ASSIGN(config.attention_scale, scale("attention.scale", 1.0f / std::sqrt(head_dim)));
  KINGLET_ASSIGN(const float logit_divisor, scale("logit_scale", 1.0f));
  config.logit_scale = 1.0f / logit_divisor;
  const auto cap = [&](std::string_view key, bool is_known, float fallback) {
    return is_known ? keys.number(key, fallback) : keys.fixed(key, 0.0f);
  };
  KINGLET_ASSIGN(
      config.attention_softcap,
      cap("attn_logit_softcapping", traits.attention_softcap > 0, traits.attention_softcap));
  KINGLET_ASSIGN(config.logit_softcap,
                 cap("final_logit_softcapping", traits.may_cap_logits, traits.logit_softcap));
  return {};
}

Status read_rope_scaling(const Reader& keys, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  KINGLET_ASSIGN(rope.magnitude, keys.positive("rope.scaling.attn_factor", 1.0f));
  KINGLET_ASSIGN(rope.original_context, keys.size("rope.scaling.original_context_length",
                                                  UINT32_MAX, config.context_length));
  // Files from before 2024 have the factor alone, under its older name.
  KINGLET_ASSIGN(const float old_factor, keys.positive("rope.scale_linear", 1.0f));
  KINGLET_ASSIGN(const std::string_view kind, keys.text("rope.scaling.type", "linear"));
  if (kind == "linear" || kind == "yarn") {
    KINGLET_ASSIGN(rope.factor, keys.positive("rope.scaling.factor", old_factor));
    rope.yarn = kind == "yarn";
    KINGLET_ASSIGN(rope.yarn_beta_fast,
                   keys.positive("rope.scaling.yarn_beta_fast", rope.yarn_beta_fast));
    KINGLET_ASSIGN(rope.yarn_beta_slow,
                   keys.positive("rope.scaling.yarn_beta_slow", rope.yarn_beta_slow));
  } else if (kind != "none" && kind != "longrope") {
    return keys.error(
        ErrorCode::unsupported_feature, "rope.scaling.type",
        cat("is ", quoted(kind), ": not supported (supported: none, linear, yarn, longrope)"));
  }
  return {};
}

Status read_rope(const Reader& keys, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  KINGLET_ASSIGN(const bool switched_on, keys.flag("rope.scaling.finetuned", true));
  if (traits.rope == RopeKind::none || (traits.rope_switch && !switched_on)) return {};
  RopeConfig& rope = config.rope;
  KINGLET_ASSIGN(rope.dim, keys.size("rope.dimension_count", config.head_dim, config.head_dim));
  if (rope.dim % 2 != 0) {
    return keys.error(ErrorCode::corrupt, "rope.dimension_count",
                      cat("is ", rope.dim, ", expected an even number"));
  }
  KINGLET_ASSIGN(rope.theta, keys.positive("rope.freq_base", 10000.0f));
  rope.has_local = traits.plain_local_rope;
  KINGLET_ASSIGN(rope.local_theta,
                 keys.positive("rope.freq_base_swa",
                               traits.local_rope_theta > 0 ? traits.local_rope_theta : rope.theta));
  return read_rope_scaling(keys, config);
}

Status read_layers(const Reader& keys, ModelConfig& config) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  const Architecture& traits = *config.architecture;
  KINGLET_ASSIGN(const uint32_t window, keys.number("attention.sliding_window", traits.window));
  uint32_t period = traits.window_period;
  const MetadataValue* pattern = keys.find(kPattern);
  const bool listed = pattern != nullptr && pattern->type() == ValueType::array;
  if (!listed) {
    KINGLET_ASSIGN(period, keys.number(kPattern, period));
  }

  config.layers.resize(config.n_layers);
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    const bool sees_all = period > 0 && i % period == period - 1;
    if (!sees_all) config.layers[i].window = window;
  }
  if (listed) {
    const MetadataArray array = *pattern->as_array();
    if (array.size() != config.n_layers || array.element_type() != ValueType::boolean) {
      return keys.error(
          ErrorCode::corrupt, kPattern,
          cat("is not an array of one bool for each of ", config.n_layers, " layers"));
    }
    array.for_each([&](uint64_t i, const MetadataValue& has_window) {
      config.layers[static_cast<size_t>(i)].window = *has_window.as_bool() ? window : 0;
    });
  }
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    LayerConfig& layer = config.layers[i];
    const uint32_t unrotated = traits.unrotated_period;
    if (config.rope.dim == 0 || (unrotated > 0 && i % unrotated == unrotated - 1)) {
      layer.rotation = Rotation::none;
    } else {
      const bool local = config.rope.has_local && layer.window > 0;
      layer.rotation = local ? Rotation::local : Rotation::scaled;
    }
  }
  return {};
}

}  // namespace

Result<ModelConfig> read_config(const GgufHeader& header) {
  ModelConfig config;
  KINGLET_ASSIGN(config.architecture, find_architecture(header));
  const Reader keys(header, config.architecture->name);
  KINGLET_TRY(refuse_unsupported(keys));
  KINGLET_ASSIGN(config.n_layers, keys.size("block_count", kMaxLayers));
  KINGLET_ASSIGN(config.hidden_dim, keys.size("embedding_length", kMaxDim));
  KINGLET_ASSIGN(config.ffn_dim, keys.size("feed_forward_length", kMaxDim));
  KINGLET_ASSIGN(config.context_length, keys.size("context_length", UINT32_MAX));
  KINGLET_ASSIGN(config.norm_epsilon, keys.number(config.architecture->norm == NormKind::rms
                                                      ? "attention.layer_norm_rms_epsilon"
                                                      : "attention.layer_norm_epsilon"));
  KINGLET_TRY(read_heads(keys, config));
  KINGLET_TRY(read_experts(keys, config));
  KINGLET_TRY(read_scales(keys, config));
  KINGLET_TRY(read_rope(keys, config));
  KINGLET_TRY(read_layers(keys, config));
  return config;
}

}  // namespace kinglet
