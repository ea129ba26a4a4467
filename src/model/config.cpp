#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "model/keys.h"

namespace kinglet {
namespace {

constexpr uint32_t kMaxLayers = 1024;
constexpr uint32_t kMaxExperts = 1024;

constexpr std::string_view kHeads = "attention.head_count";
constexpr std::string_view kKvHeads = "attention.head_count_kv";
constexpr std::string_view kAlibi = "attention.max_alibi_bias";
constexpr std::string_view kRopeDim = "rope.dimension_count";
constexpr std::string_view kLocalRopeDim = "rope.dimension_count_swa";
constexpr std::string_view kLogMultiplier = "rope.scaling.yarn_log_multiplier";

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
    if (value == 0 || (key == kAlibi && traits.alibi && value == kAlibiBias)) continue;
    if (key == kLogMultiplier && traits.yarn_log_multiplier) continue;
    return keys.error(ErrorCode::unsupported_feature, key, "is not supported");
  }
  return {};
}

// Reads whether tokens see those after them, and how the states of a text become a vector.
Status read_purpose(const Keys& keys, ModelConfig& config) {
  const bool is_encoder = config.architecture->is_encoder();
  KINGLET_ASSIGN(const bool causal, keys.flag("attention.causal", !is_encoder));
  if (causal == is_encoder) {
    return keys.error(ErrorCode::unsupported_feature, "attention.causal",
                      causal ? "says that tokens do not see later tokens: not supported"
                             : "says that tokens see later tokens: not supported");
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

Status read_activation(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "hidden_activation";
  config.activation = config.architecture->activation;
  if (!config.architecture->may_name_activation || keys.find(kKey) == nullptr) return {};
  KINGLET_ASSIGN(const std::string_view name, keys.text(kKey, ""));
  if (name == "gelu" || name == "geglu") {
    config.activation = Activation::gelu;
  } else if (name == "silu" || name == "swish" || name == "swiglu") {
    config.activation = Activation::silu;
  } else {
    return keys.error(ErrorCode::unsupported_feature, kKey,
                      cat("is ", in_quotes(name), ": not supported (supported: gelu, silu)"));
  }
  return {};
}

// Reads the mixer of each layer, from attention.head_count_kv or from another key.
Status read_mixers(const Keys& keys, const std::vector<uint32_t>& n_kv_heads, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  const uint32_t n_blocks = config.n_layers + config.n_skipped_layers;
  const uint32_t interval = traits.full_attention_interval;
  std::vector<uint32_t> recurrent(n_blocks);
  if (interval > 0) {
    KINGLET_ASSIGN(const uint32_t every,
                   keys.size("full_attention_interval", kMaxLayers, interval));
    KINGLET_ASSIGN(recurrent, keys.by_layer("attention.recurrent_layers", n_blocks, 2));
    for (uint32_t i = 0; i < n_blocks; ++i) {
      if (recurrent[i] == 2) recurrent[i] = (i + 1) % every != 0;
    }
  } else {
    for (uint32_t i = 0; i < n_blocks; ++i) recurrent[i] = n_kv_heads[i] == 0;
  }
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    config.layers[i].mixer = recurrent[i] != 0 ? traits.recurrent_mixer : traits.mixer;
    if (config.layers[i].has_attention() && n_kv_heads[i] == 0) {
      return keys.error(ErrorCode::corrupt, kKvHeads,
                        cat("is 0 in layer ", i, ", expected 1 or more"));
    }
  }
  return {};
}

// Returns the first layer with attention and no window. If all layers with attention have a window,
// returns the first of them; null if no layer has attention.
const LayerConfig* first_attention(const ModelConfig& config) {
  const LayerConfig* first = nullptr;
  for (const LayerConfig& layer : config.layers) {
    if (!layer.has_attention()) continue;
    if (layer.window == 0) return &layer;
    if (first == nullptr) first = &layer;
  }
  return first;
}

Status check_heads(const Keys& keys, const LayerConfig& layer, uint32_t index) {
  if (layer.n_heads == 0 || layer.n_heads % layer.n_kv_heads != 0) {
    return keys.error(ErrorCode::corrupt, kHeads,
                      cat("is ", layer.n_heads, " in layer ", index,
                          ", expected a multiple of its ", layer.n_kv_heads, " KV heads"));
  }
  if (uint64_t{layer.n_heads} * layer.head_dim > kMaxDim) {
    return keys.error(ErrorCode::corrupt, kHeads,
                      cat("is ", layer.n_heads, " in layer ", index, ", which times the head size ",
                          layer.head_dim, " exceeds ", kMaxDim));
  }
  return {};
}

// Reads the size of a head from the keys that end with `suffix`.
Result<uint32_t> read_head_dim(const Keys& keys, std::string_view suffix, uint32_t fallback) {
  const std::string value_key = cat("attention.value_length", suffix);
  KINGLET_ASSIGN(const uint32_t head_dim,
                 keys.size(cat("attention.key_length", suffix), kMaxDim, fallback));
  KINGLET_ASSIGN(const uint32_t value_length, keys.size(value_key, kMaxDim, head_dim));
  if (value_length == head_dim) return head_dim;
  return keys.error(ErrorCode::unsupported_feature, value_key,
                    cat("is ", value_length, ", which differs from the key length ", head_dim,
                        ": not supported"));
}

// Reads the heads of each layer. If no key gives their size, it is the hidden size divided by the
// number of heads of first_attention().
Status read_heads(const Keys& keys, ModelConfig& config) {
  if (config.architecture->mixer == MixerKind::mamba2) {
    for (LayerConfig& layer : config.layers) layer.mixer = MixerKind::mamba2;
    return {};
  }
  const uint32_t n_blocks = config.n_layers + config.n_skipped_layers;
  KINGLET_ASSIGN(const auto n_heads, keys.by_layer(kHeads, n_blocks));
  std::vector<uint32_t> n_kv_heads = n_heads;
  if (keys.find(kKvHeads) != nullptr) {
    KINGLET_ASSIGN(n_kv_heads, keys.by_layer(kKvHeads, n_blocks));
  }
  KINGLET_TRY(read_mixers(keys, n_kv_heads, config));
  const LayerConfig* first = first_attention(config);
  if (first == nullptr) return {};
  const uint32_t n_first = n_heads[static_cast<size_t>(first - config.layers.data())];
  const uint32_t even_share = std::max(config.hidden_dim / std::max(n_first, 1u), 1u);
  KINGLET_ASSIGN(const uint32_t head_dim, read_head_dim(keys, "", even_share));
  uint32_t local_dim = head_dim;
  if (config.architecture->two_head_sizes) {
    KINGLET_ASSIGN(local_dim, read_head_dim(keys, "_swa", head_dim));
  }
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    LayerConfig& layer = config.layers[i];
    if (!layer.has_attention()) continue;
    layer.n_heads = n_heads[i];
    layer.n_kv_heads = n_kv_heads[i];
    layer.head_dim = layer.window > 0 ? local_dim : head_dim;
    layer.rows_layer = i;
    KINGLET_TRY(check_heads(keys, layer, i));
  }
  return {};
}

// The last layers keep no keys and values. They read those of the last layer that keeps them, or,
// if they have a window, those of the layer before it.
Status read_shared_rows(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "attention.shared_kv_layers";
  if (!config.architecture->shares_rows) return {};
  KINGLET_ASSIGN(const uint32_t n_shared, keys.number(kKey, uint32_t{0}));
  if (n_shared == 0) return {};
  if (config.n_layers < 2 || n_shared > config.n_layers - 2) {
    return keys.error(ErrorCode::corrupt, kKey,
                      cat("is ", n_shared, " of ", config.n_layers,
                          " layers, expected two at least to have keys of their own"));
  }
  const uint32_t n_own = config.n_layers - n_shared;
  for (uint32_t i = n_own; i < config.n_layers; ++i) {
    LayerConfig& layer = config.layers[i];
    layer.rows_layer = n_own - (layer.window > 0 ? 2 : 1);
    const LayerConfig& other = config.layers[layer.rows_layer];
    if (layer.window == other.window && layer.n_kv_heads == other.n_kv_heads) continue;
    return keys.error(ErrorCode::corrupt, kKey,
                      cat("is ", n_shared, ": layer ", i, " would read the keys of layer ",
                          layer.rows_layer, ", which has another window or other heads"));
  }
  return {};
}

Status read_experts(const Keys& keys, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  KINGLET_ASSIGN(config.n_experts, keys.number("expert_count", uint32_t{0}));
  if (config.n_experts == 0 && traits.experts != Presence::required) return {};
  if (traits.experts == Presence::no) {
    // A single expert, which all tokens use, is not a mixture of experts.
    if (std::exchange(config.n_experts, 0) == 1) return {};
    return keys.error(ErrorCode::unsupported_feature, "expert_count",
                      "names a mixture of experts: not supported");
  }
  KINGLET_ASSIGN(config.n_experts, keys.size("expert_count", kMaxExperts));
  KINGLET_ASSIGN(config.n_experts_used, keys.size("expert_used_count", config.n_experts));
  const uint32_t ffn_dim = config.layers.front().ffn_dim;
  KINGLET_ASSIGN(config.expert_dim, keys.size("expert_feed_forward_length", kMaxDim, ffn_dim));
  constexpr std::string_view kSharedDim = "expert_shared_feed_forward_length";
  KINGLET_ASSIGN(config.shared_dim,
                 keys.number(kSharedDim, traits.gates_shared_expert ? ffn_dim : 0));
  if (config.shared_dim > kMaxDim) {
    return keys.error(ErrorCode::corrupt, kSharedDim,
                      cat("is ", config.shared_dim, ", expected ", kMaxDim, " at most"));
  }
  constexpr std::string_view kDenseLayers = "leading_dense_block_count";
  KINGLET_ASSIGN(config.n_dense_layers, keys.number(kDenseLayers, uint32_t{0}));
  if (config.n_dense_layers > config.n_layers) {
    return keys.error(
        ErrorCode::corrupt, kDenseLayers,
        cat("is ", config.n_dense_layers, ", expected ", config.n_layers, " layers at most"));
  }
  KINGLET_ASSIGN(const uint32_t gating, keys.number("expert_gating_func", uint32_t{1}));
  if (gating != 1 && !(gating == 2 && traits.may_gate_by_sigmoid)) {
    return keys.error(ErrorCode::unsupported_feature, "expert_gating_func",
                      cat("is ", gating, ": not supported (supported: 1, softmax",
                          traits.may_gate_by_sigmoid ? "; 2, sigmoid)" : ")"));
  }
  config.expert_gating = static_cast<ExpertGating>(gating);
  return {};
}

Status read_scales(const Keys& keys, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  const auto hidden_dim = static_cast<float>(config.hidden_dim);
  // A factor in the file is ignored if the architecture's own code does not use it.
  const auto scale = [&](std::string_view key, float fallback) -> Result<float> {
    return traits.scales_by_file ? keys.positive(key, fallback) : fallback;
  };
  const ScaleDefaults& defaults = traits.scales;
  KINGLET_ASSIGN(config.embedding_scale,
                 scale("embedding_scale",
                       traits.scales_embedding ? std::sqrt(hidden_dim) : defaults.embedding));
  const float by_depth = defaults.depth / std::sqrt(static_cast<float>(config.n_layers));
  KINGLET_ASSIGN(config.residual_scale,
                 scale("residual_scale", defaults.depth > 0 ? by_depth : 1.0f));
  const bool is_wide = config.n_layers == traits.n_layers_of_wide_scale;
  for (LayerConfig& layer : config.layers) {
    if (!layer.has_attention()) continue;
    const float width = is_wide ? hidden_dim / static_cast<float>(layer.n_heads)
                                : static_cast<float>(layer.head_dim);
    layer.attention_scale =
        traits.attention_scale > 0 ? traits.attention_scale : 1.0f / std::sqrt(width);
    if (!traits.scales_scores) continue;
    KINGLET_ASSIGN(layer.attention_scale, keys.positive("attention.scale", layer.attention_scale));
  }
  const float by_width =
      defaults.base_width > 0 ? hidden_dim / static_cast<float>(defaults.base_width) : 1.0f;
  KINGLET_ASSIGN(const float logit_divisor, scale("logit_scale", by_width));
  config.logit_scale = 1.0f / logit_divisor;
  if (traits.multiplies_logits) {
    KINGLET_ASSIGN(config.logit_scale, keys.number("logit_scale"));
    KINGLET_ASSIGN(config.logit_scale, keys.positive("logit_scale", config.logit_scale));
  }
  if (traits.warms_scores) {
    KINGLET_ASSIGN(config.temperature_scale, keys.number("attention.temperature_scale", 0.0f));
  }
  if (traits.attention_softcap > 0) {
    KINGLET_ASSIGN(config.attention_softcap,
                   keys.number("attn_logit_softcapping", traits.attention_softcap));
  }
  if (traits.may_cap_logits) {
    KINGLET_ASSIGN(config.logit_softcap,
                   keys.number("final_logit_softcapping", traits.logit_softcap));
  }
  return {};
}

Status read_rope_scaling(const Keys& keys, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  KINGLET_ASSIGN(rope.magnitude, keys.positive("rope.scaling.attn_factor", 1.0f));
  KINGLET_ASSIGN(rope.original_context, keys.size("rope.scaling.original_context_length",
                                                  UINT32_MAX, config.context_length));
  // Files from before 2024 have only the factor, under its older name.
  KINGLET_ASSIGN(const float old_factor, keys.positive("rope.scale_linear", 1.0f));
  KINGLET_ASSIGN(const std::string_view kind, keys.text("rope.scaling.type", "linear"));
  if (kind == "linear" || kind == "yarn") {
    KINGLET_ASSIGN(rope.factor, keys.positive("rope.scaling.factor", old_factor));
    rope.yarn = kind == "yarn";
    KINGLET_ASSIGN(rope.yarn_beta_fast,
                   keys.positive("rope.scaling.yarn_beta_fast", rope.yarn_beta_fast));
    KINGLET_ASSIGN(rope.yarn_beta_slow,
                   keys.positive("rope.scaling.yarn_beta_slow", rope.yarn_beta_slow));
    KINGLET_ASSIGN(rope.yarn_log_multiplier, keys.number(kLogMultiplier, 0.0f));
    if (rope.yarn_log_multiplier < 0) {
      return keys.error(ErrorCode::corrupt, kLogMultiplier, "is negative");
    }
  } else if (kind != "none" && kind != "longrope") {
    return keys.error(
        ErrorCode::unsupported_feature, "rope.scaling.type",
        cat("is ", in_quotes(kind), ": not supported (supported: none, linear, yarn, longrope)"));
  }
  return {};
}

// Reads the sections: groups of pairs that pictures rotate by the line and the column of a row. In
// text all sections rotate by the position, so they change nothing, except that pairs can be halves
// then. The pairs of a fourth section would not be rotated at all.
Status read_sections(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "rope.dimension_sections";
  constexpr size_t kSections = 4;
  const MetadataValue* value = keys.find(kKey);
  const Architecture& traits = *config.architecture;
  if (traits.sections == Sections::none || value == nullptr) return {};
  std::vector<uint64_t> sizes;
  if (value->type() == ValueType::array && value->as_array()->size() == kSections) {
    value->as_array()->for_each([&](uint64_t, const MetadataValue& element) {
      if (const auto size = element.as_uint()) sizes.push_back(*size);
    });
  }
  const bool are_sizes =
      sizes.size() == kSections && *std::max_element(sizes.begin(), sizes.end()) <= kMaxDim;
  if (!are_sizes) return keys.error(ErrorCode::corrupt, kKey, "is not an array of 4 sizes");
  if (sizes[0] == 0 || sizes[1] == 0) return {};
  if (sizes[3] > 0) {
    return keys.error(ErrorCode::unsupported_feature, kKey,
                      cat("has a fourth section of ", sizes[3], ": not supported"));
  }
  if (traits.sections_are_halves) config.rope_kind = RopeKind::halves;
  for (uint32_t i = 0; i < kRopeAxes; ++i) {
    config.rope.sections[i] = static_cast<uint32_t>(sizes[i]);
  }
  config.rope.weaves_sections = traits.sections == Sections::woven;
  return {};
}

// Multiplies the base by alpha^(d / (d - 2)): the fastest pair then rotates as before, and the
// slowest one alpha times slower.
Status read_alpha(const Keys& keys, uint32_t head_dim, RopeConfig& rope) {
  constexpr std::string_view kKey = "rope.scaling.alpha";
  KINGLET_ASSIGN(const float alpha, keys.number(kKey, 0.0f));
  if (alpha <= 0) return {};
  if (head_dim <= 2) {
    return keys.error(ErrorCode::corrupt, kKey,
                      cat("cannot scale the base of heads of ", head_dim));
  }
  const auto size = static_cast<float>(head_dim);
  rope.theta *= std::pow(alpha, size / (size - 2));
  return {};
}

Result<uint32_t> read_rope_dim(const Keys& keys, std::string_view key, uint32_t fallback) {
  KINGLET_ASSIGN(const uint32_t dim, keys.size(key, kMaxDim, fallback));
  if (dim % 2 == 0) return dim;
  return keys.error(ErrorCode::corrupt, key, cat("is ", dim, ", expected an even number"));
}

Status read_rope(const Keys& keys, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  config.rope_kind = traits.rope;
  KINGLET_TRY(read_sections(keys, config));
  KINGLET_ASSIGN(const bool switched_on, keys.flag("rope.scaling.finetuned", true));
  if (traits.rope == RopeKind::none || (traits.rope_switch && !switched_on)) return {};
  const LayerConfig* layer = first_attention(config);
  if (layer == nullptr) return {};
  const uint32_t head_dim = layer->head_dim;
  RopeConfig& rope = config.rope;
  KINGLET_ASSIGN(rope.dim, read_rope_dim(keys, kRopeDim, head_dim));
  rope.local_dim = rope.dim;
  if (traits.two_head_sizes) {
    KINGLET_ASSIGN(rope.local_dim, read_rope_dim(keys, kLocalRopeDim, rope.dim));
  }
  KINGLET_ASSIGN(rope.theta, keys.positive("rope.freq_base", 10000.0f));
  if (traits.rope_alpha) KINGLET_TRY(read_alpha(keys, head_dim, rope));
  rope.has_local = traits.plain_local_rope;
  KINGLET_ASSIGN(rope.local_theta,
                 keys.positive("rope.freq_base_swa",
                               traits.local_rope_theta > 0 ? traits.local_rope_theta : rope.theta));
  return read_rope_scaling(keys, config);
}

Rotation rotation_of(const ModelConfig& config, bool has_windows, uint32_t index) {
  const Architecture& traits = *config.architecture;
  const bool sees_all = config.layers[index].window == 0;
  const uint32_t period = traits.unrotated_period;
  const bool is_left_out = (period > 0 && index % period == period - 1) ||
                           (traits.rotates_windows_alone && has_windows && sees_all);
  if (config.rope.dim == 0 || is_left_out) return Rotation::none;
  return config.rope.has_local && !sees_all ? Rotation::local : Rotation::scaled;
}

Status read_rotations(const Keys& keys, bool has_windows, ModelConfig& config) {
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    LayerConfig& layer = config.layers[i];
    layer.rotation = rotation_of(config, has_windows, i);
    if (!layer.has_attention() || layer.rotation == Rotation::none) continue;
    const bool is_local = layer.rotation == Rotation::local;
    KINGLET_TRY(keys.check(is_local ? kLocalRopeDim : kRopeDim,
                           is_local ? config.rope.local_dim : config.rope.dim, layer.head_dim));
  }
  return {};
}

// Reads the windows of the layers. Returns the size that the layers with a window have; 0: no size
// is given.
Result<uint32_t> read_windows(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  const Architecture& traits = *config.architecture;
  const bool is_usual =
      traits.n_layers_of_window == 0 || traits.n_layers_of_window == config.n_layers;
  KINGLET_ASSIGN(const uint32_t window,
                 keys.number("attention.sliding_window", is_usual ? traits.window : 0));
  uint32_t period = traits.window_period;
  const MetadataValue* pattern = keys.find(kPattern);
  const bool listed = pattern != nullptr && pattern->type() == ValueType::array;
  if (traits.two_head_sizes) {
    KINGLET_TRY(keys.size("attention.sliding_window", UINT32_MAX));
    if (!listed) return keys.error(ErrorCode::missing_metadata, kPattern, "is not there as a list");
  }
  if (!listed) {
    KINGLET_ASSIGN(period, keys.number(kPattern, period));
  }

  for (uint32_t i = 0; i < config.n_layers; ++i) {
    const bool sees_all = period > 0 && i % period == (traits.full_layer_first ? 0 : period - 1);
    if (!sees_all) config.layers[i].window = window;
  }
  if (listed) {
    KINGLET_ASSIGN(const auto have_window,
                   keys.by_layer(kPattern, config.n_layers + config.n_skipped_layers));
    for (uint32_t i = 0; i < config.n_layers; ++i) {
      config.layers[i].window = have_window[i] != 0 ? window : 0;
    }
  }
  return window;
}

// Reads the width of each layer's feed-forward network. If all networks are experts, the file may
// lack the width of other networks.
Status read_ffn(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kWidth = "feed_forward_length";
  const Architecture& traits = *config.architecture;
  const bool may_lack =
      traits.experts == Presence::required && keys.find("expert_feed_forward_length") != nullptr;
  if (!traits.has_ffn || (may_lack && keys.find(kWidth) == nullptr)) return {};
  KINGLET_ASSIGN(const auto widths,
                 keys.by_layer(kWidth, config.n_layers + config.n_skipped_layers));
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    KINGLET_ASSIGN(config.layers[i].ffn_dim, keys.check(kWidth, widths[i], kMaxDim));
  }
  return {};
}

Status read_layer_inputs(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "embedding_length_per_layer_input";
  if (!config.architecture->layer_inputs) return {};
  KINGLET_ASSIGN(config.layer_input_dim, keys.number(kKey, uint32_t{0}));
  if (config.layer_input_dim <= kMaxDim / config.n_layers) return {};
  return keys.error(ErrorCode::corrupt, kKey,
                    cat("is ", config.layer_input_dim, ", which times ", config.n_layers,
                        " layers exceeds ", kMaxDim));
}

Status read_deepstack(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "n_deepstack_layers";
  if (!config.architecture->deepstack) return {};
  KINGLET_ASSIGN(config.n_deepstack_layers, keys.number(kKey, uint32_t{0}));
  if (config.n_deepstack_layers <= config.n_layers) return {};
  return keys.error(ErrorCode::corrupt, kKey,
                    cat("is ", config.n_deepstack_layers, " of ", config.n_layers, " layers"));
}

}  // namespace

Status check_makes_text(const ModelConfig& config) {
  if (config.makes_text()) return {};
  const std::string_view name = config.architecture->name;
  return Error{
      ErrorCode::unsupported_feature,
      config.architecture->is_encoder()
          ? cat("architecture ", in_quotes(name),
                " is an encoder: it computes embeddings and generates no text")
          : cat(name,
                ".pooling_type says that the model computes embeddings and generates no text")};
}

Result<ModelConfig> read_config(const GgufHeader& header) {
  ModelConfig config;
  KINGLET_ASSIGN(config.architecture, find_architecture(header));
  const Keys keys(header, config.architecture->name);
  KINGLET_TRY(refuse_unsupported(header, keys, *config.architecture));
  KINGLET_TRY(read_purpose(keys, config));
  KINGLET_TRY(read_activation(keys, config));
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
  KINGLET_ASSIGN(config.norm_epsilon, keys.number(config.architecture->norm == NormKind::rms
                                                      ? "attention.layer_norm_rms_epsilon"
                                                      : "attention.layer_norm_epsilon"));
  KINGLET_ASSIGN(const uint32_t window, read_windows(keys, config));
  KINGLET_TRY(read_heads(keys, config));
  KINGLET_TRY(read_shared_rows(keys, config));
  KINGLET_TRY(read_layer_inputs(keys, config));
  KINGLET_TRY(read_deepstack(keys, config));
  KINGLET_TRY(read_experts(keys, config));
  KINGLET_TRY(read_scales(keys, config));
  KINGLET_TRY(read_rope(keys, config));
  KINGLET_TRY(read_rotations(keys, window > 0, config));
  return config;
}

}  // namespace kinglet
