// Reads the mixers of layers, and the heads, windows and scores of their attention.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/format.h"
#include "model/config_readers.h"

namespace kinglet {
namespace {

constexpr std::string_view kHeads = "attention.head_count";
constexpr std::string_view kKvHeads = "attention.head_count_kv";

// Reads the mixer of each layer, from attention.head_count_kv or from another key.
Status read_mixers(const Keys& keys, const std::vector<uint32_t>& n_kv_heads, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  const uint32_t n_blocks = config.n_layers + config.n_skipped_layers;
  const uint32_t interval = traits.mixers.interval;
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
    config.layers[i].mixer = recurrent[i] != 0 ? traits.mixers.other : traits.mixers.main;
    if (config.layers[i].has_attention() && n_kv_heads[i] == 0) {
      return keys.error(ErrorCode::corrupt, kKvHeads,
                        cat("is 0 in layer ", i, ", expected 1 or more"));
    }
  }
  return {};
}

Status check_heads(const Keys& keys, const LayerConfig& layer, uint32_t index) {
  if (layer.n_heads == 0 || layer.n_heads % layer.n_kv_heads != 0) {
    return keys.error(ErrorCode::corrupt, kHeads,
                      cat("is ", layer.n_heads, " in layer ", index,
                          ", expected a multiple of its ", layer.n_kv_heads, " KV heads"));
  }
  if (uint64_t{layer.n_heads} * layer.head_dim > kMaxDim) {
    return keys.error(ErrorCode::corrupt, kHeads,
                      cat("is ", layer.n_heads, " in layer ", index, ": times the head size ",
                          layer.head_dim, ", that is more than ", kMaxDim));
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

}  // namespace

const LayerConfig* first_attention(const ModelConfig& config) {
  const LayerConfig* first = nullptr;
  for (const LayerConfig& layer : config.layers) {
    if (!layer.has_attention()) continue;
    if (layer.window == 0) return &layer;
    if (first == nullptr) first = &layer;
  }
  return first;
}

Status read_heads(const Keys& keys, ModelConfig& config) {
  const MixerTraits& mixers = config.architecture->mixers;
  if (!has_attention(mixers.main)) {
    for (LayerConfig& layer : config.layers) layer.mixer = mixers.main;
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
  if (config.architecture->attention.two_head_sizes) {
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

Result<uint32_t> read_windows(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  const Architecture& traits = *config.architecture;
  const bool is_usual = traits.window.n_layers == 0 || traits.window.n_layers == config.n_layers;
  KINGLET_ASSIGN(const uint32_t window,
                 keys.number("attention.sliding_window", is_usual ? traits.window.size : 0));
  uint32_t period = traits.window.period;
  const MetadataValue* pattern = keys.find(kPattern);
  const bool listed = pattern != nullptr && pattern->type() == ValueType::array;
  if (traits.window.required) KINGLET_TRY(keys.size("attention.sliding_window", UINT32_MAX));
  if (traits.window.listed && !listed) {
    return keys.error(ErrorCode::missing_metadata, kPattern, "is missing, or is not an array");
  }
  if (!listed) {
    KINGLET_ASSIGN(period, keys.number(kPattern, period));
  }

  for (uint32_t i = 0; i < config.n_layers; ++i) {
    const bool sees_all =
        period > 0 && i % period == (traits.window.full_layer_first ? 0 : period - 1);
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

Status read_scores(const Keys& keys, ModelConfig& config) {
  const AttentionTraits& traits = config.architecture->attention;
  const bool is_wide = config.n_layers == traits.n_layers_of_wide_scale;
  for (LayerConfig& layer : config.layers) {
    if (!layer.has_attention()) continue;
    const float width =
        is_wide ? static_cast<float>(config.hidden_dim) / static_cast<float>(layer.n_heads)
                : static_cast<float>(layer.head_dim);
    layer.attention_scale = traits.scale > 0 ? traits.scale : 1.0f / std::sqrt(width);
    if (!traits.scales_by_file) continue;
    KINGLET_ASSIGN(layer.attention_scale, keys.positive("attention.scale", layer.attention_scale));
  }
  return {};
}

}  // namespace kinglet
