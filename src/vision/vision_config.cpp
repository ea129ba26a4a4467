#include "vision/vision_config.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string_view>

#include "base/format.h"
#include "base/in_quotes.h"
#include "model/config_readers.h"

namespace kinglet {
namespace {

constexpr uint32_t kMaxPatchSize = 256;
constexpr uint32_t kMaxMerge = 16;
constexpr uint32_t kMaxImageSize = 1 << 12;
constexpr uint32_t kMaxLongestEdge = 1 << 14;

// The size of LFM2-VL's tiles; the file's image size is ignored.
constexpr uint32_t kFreeTileSize = 512;

// The parts of layers that have other names in mmproj files. The last two are swapped in old files.
constexpr LayerNames::Other kNames[] = {{"attn_norm", "ln1"},
                                        {"ffn_norm", "ln2"},
                                        {"attn_output", "attn_out"},
                                        {"post_attention_norm", "attn_post_norm"},
                                        {"post_ffw_norm", "ffn_post_norm"},
                                        {"layer_output_scale", "out_scale"},
                                        {"ffn_up", "ffn_down"},
                                        {"ffn_down", "ffn_up"}};
constexpr size_t kUsualNames = std::size(kNames) - 2;  // without the last two
constexpr std::string_view kLayerPrefix = "v.blk.";

Status check_purpose(const GgufHeader& header) {
  KINGLET_ASSIGN(const std::string_view name, header.require_string("general.architecture"));
  if (name != "clip") {
    return Error{
        ErrorCode::unsupported_architecture,
        cat("architecture ", in_quotes(name),
            " is a text model, expected a picture reader (mmproj, architecture \"clip\")")};
  }
  KINGLET_ASSIGN(const bool sees, header.get_bool("clip.has_vision_encoder", false));
  if (sees) return {};
  KINGLET_ASSIGN(const bool hears, header.get_bool("clip.has_audio_encoder", false));
  return Error{ErrorCode::unsupported_feature,
               hears ? "the file reads only sounds, expected one that reads pictures"
                     : "clip.has_vision_encoder is not true, so the file does not read pictures"};
}

Result<const Projector*> read_projector(const GgufHeader& header) {
  KINGLET_ASSIGN(std::string_view name, header.get_string("clip.projector_type", ""));
  if (name.empty()) {
    KINGLET_ASSIGN(name, header.require_string("clip.vision.projector_type"));
  }
  return find_projector(name);
}

Result<Activation> read_activation(const GgufHeader& header) {
  KINGLET_ASSIGN(const bool gelu, header.get_bool("clip.use_gelu", false));
  KINGLET_ASSIGN(const bool silu, header.get_bool("clip.use_silu", false));
  if (gelu && silu) {
    return Error{ErrorCode::corrupt, "clip.use_gelu and clip.use_silu are both true"};
  }
  if (gelu) return Activation::gelu;
  return silu ? Activation::silu : Activation::quick_gelu;
}

Status read_channels(const GgufHeader& header, std::string_view key, float (&numbers)[kChannels]) {
  KINGLET_ASSIGN(const MetadataArray array, header.require_array(key, ValueType::float32));
  if (array.size() < kChannels) {
    return Error{ErrorCode::corrupt,
                 cat(key, " has ", array.size(), " numbers, expected ", kChannels)};
  }
  bool is_finite = true;
  array.for_each([&](uint64_t i, const MetadataValue& value) {
    if (i >= kChannels) return;
    numbers[i] = static_cast<float>(*value.as_float());
    is_finite = is_finite && std::isfinite(numbers[i]);
  });
  if (is_finite) return {};
  return Error{ErrorCode::not_finite, cat(key, " contains NaN or infinity")};
}

Status read_normalization(const GgufHeader& header, VisionConfig& config) {
  constexpr std::string_view kDeviation = "clip.vision.image_std";
  KINGLET_TRY(read_channels(header, "clip.vision.image_mean", config.mean));
  KINGLET_TRY(read_channels(header, kDeviation, config.deviation));
  for (const float deviation : config.deviation) {
    if (!(deviation > 0)) {
      return Error{ErrorCode::corrupt,
                   cat(kDeviation, " is ", deviation, ", which is not positive")};
    }
  }
  if (config.projector->centers_pixels) {
    for (uint32_t i = 0; i < kChannels; ++i) {
      config.deviation[i] /= 2;
      config.mean[i] += config.deviation[i];
    }
  }
  return {};
}

// One half of a head's pairs is rotated by the line, the other half by the column.
Status divide_rotation(const Keys& keys, const Projector& projector, RopeConfig& rope) {
  if (rope.dim % 4 != 0) {
    return keys.error(ErrorCode::corrupt, "attention.head_count",
                      cat("leads to a head size of ", rope.dim, ", expected a multiple of 4"));
  }
  rope.sections[1] = rope.sections[2] = rope.dim / 4;
  rope.restarts_in_sections = rope.dim > 0;
  if (projector.positions == Positions::of_axes) rope.n_parts = 2;
  rope.local_dim = 0;  // windows are rotated like the rest
  return {};
}

Status read_sizes(const Keys& keys, VisionConfig& config) {
  const Projector& projector = *config.projector;
  KINGLET_ASSIGN(config.patch_size, keys.size("patch_size", kMaxPatchSize));
  KINGLET_ASSIGN(config.image_size, keys.size("image_size", kMaxImageSize));
  KINGLET_ASSIGN(config.merge, keys.size(projector.merge_key, kMaxMerge, projector.merge));
  if (projector.counts_grid && config.merge != projector.merge) {
    return keys.error(ErrorCode::unsupported_feature, projector.merge_key,
                      cat("is ", config.merge, ", expected ", projector.merge));
  }
  if (projector.sizing == Sizing::tiles) {
    KINGLET_ASSIGN(config.longest_edge, keys.number("preproc_image_size", uint32_t{0}));
    if (config.longest_edge > kMaxLongestEdge) {
      return keys.error(ErrorCode::corrupt, "preproc_image_size",
                        cat("is ", config.longest_edge, ", expected at most ", kMaxLongestEdge));
    }
  }
  if (projector.sizing == Sizing::tiles_or_free) config.image_size = kFreeTileSize;
  if (projector.sizing == Sizing::free) return {};
  if (config.image_size % config.row_size() != 0) {
    return keys.error(
        ErrorCode::unsupported_feature, "patch_size",
        cat("is ", config.patch_size, ": ", config.merge,
            " patches in a row do not divide a side of ", config.image_size, " pixels"));
  }
  const uint32_t n_per_side = config.image_size / config.patch_size;
  if (n_per_side * n_per_side <= kMaxPatches) return {};
  return keys.error(ErrorCode::corrupt, "patch_size",
                    cat("is ", config.patch_size, ", which makes ", n_per_side * n_per_side,
                        " patches in a square of ", config.image_size, " pixels, expected at most ",
                        kMaxPatches));
}

// If the period is 0, there are no windows.
Status read_windows(const Keys& keys, VisionConfig& config) {
  const uint32_t size = config.projector->window_size;
  if (size == 0) return {};
  KINGLET_ASSIGN(config.whole_period, keys.count("n_wa_pattern"));
  if (config.whole_period == 0) return {};
  config.window = size / config.row_size() * config.merge;
  if (config.window > 0) return {};
  return keys.error(ErrorCode::unsupported_feature, "patch_size",
                    cat("is ", config.patch_size, ": ", config.merge,
                        " patches in a row are wider than a window of ", size, " pixels"));
}

}  // namespace

Result<VisionConfig> read_vision_config(const GgufHeader& header) {
  KINGLET_TRY(check_purpose(header));
  const Keys keys(header, "clip.vision");
  VisionConfig config;
  KINGLET_ASSIGN(config.projector, read_projector(header));
  KINGLET_TRY(read_sizes(keys, config));
  if (config.projector->positions == Positions::of_axes) {
    const TensorInfo* table = header.find_tensor(cat(kPositionTable, ".weight"));
    if (table != nullptr)
      config.most_across = static_cast<uint32_t>(std::min<uint64_t>(table->shape[1], kMaxPatches));
  }
  KINGLET_TRY(read_windows(keys, config));
  KINGLET_TRY(read_normalization(header, config));
  return config;
}

Result<ModelConfig> read_encoder_config(const GgufHeader& header, const Projector& projector) {
  const Keys keys(header, "clip.vision");
  ModelConfig config;
  config.architecture = projector.encoder;
  KINGLET_ASSIGN(config.n_layers, keys.size("block_count", kMaxLayers));
  KINGLET_ASSIGN(config.hidden_dim, keys.size("embedding_length", kMaxDim));
  KINGLET_ASSIGN(config.norm_epsilon, keys.number("attention.layer_norm_epsilon"));
  KINGLET_ASSIGN(config.activation, read_activation(header));
  config.context_length = kMaxPatches;
  config.layers.resize(config.n_layers);
  KINGLET_TRY(read_heads(keys, config));
  KINGLET_TRY(read_scores(keys, config));
  KINGLET_TRY(read_rope(keys, config));
  KINGLET_TRY(read_rotations(keys, false, config));
  KINGLET_TRY(divide_rotation(keys, projector, config.rope));
  const auto shape_of = [&](uint32_t index, std::string_view part) {
    const TensorInfo* info = header.find_tensor(cat(kLayerPrefix, index, ".", part, ".weight"));
    return info == nullptr ? Shape{} : info->shape;
  };
  const bool is_swapped = projector.may_swap_ffn && shape_of(0, "ffn_down")[0] == config.hidden_dim;
  const std::span names(kNames);
  config.names = {kLayerPrefix, is_swapped ? names : names.first(kUsualNames)};
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    const uint64_t width = shape_of(i, is_swapped ? "ffn_down" : "ffn_up")[1];
    config.layers[i].ffn_dim = static_cast<uint32_t>(std::min<uint64_t>(width, kMaxDim));
  }
  return config;
}

}  // namespace kinglet
