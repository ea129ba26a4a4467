// Reads how positions rotate queries and keys.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/in_quotes.h"
#include "model/config_readers.h"

namespace kinglet {
namespace {

constexpr std::string_view kRopeDim = "rope.dimension_count";
constexpr std::string_view kLocalRopeDim = "rope.dimension_count_swa";

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
// text all sections rotate by the position, so they change nothing. The pairs of a fourth section
// would not be rotated at all.
Status read_sections(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "rope.dimension_sections";
  constexpr size_t kSections = 4;
  const MetadataValue* value = keys.find(kKey);
  const Architecture& traits = *config.architecture;
  if (traits.rope.sections == Sections::none || value == nullptr) return {};
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
                      cat("has a fourth section of ", sizes[3], ", which is not supported"));
  }
  for (uint32_t i = 0; i < kRopeAxes; ++i) {
    config.rope.sections[i] = static_cast<uint32_t>(sizes[i]);
  }
  config.rope.interleaves_sections = traits.rope.sections == Sections::interleaved;
  return {};
}

Result<uint32_t> read_rope_dim(const Keys& keys, std::string_view key, uint32_t fallback) {
  KINGLET_ASSIGN(const uint32_t dim, keys.size(key, kMaxDim, fallback));
  if (dim % 2 == 0) return dim;
  return keys.error(ErrorCode::corrupt, key, cat("is ", dim, ", expected an even number"));
}

Rotation rotation_of(const ModelConfig& config, bool has_windows, uint32_t index) {
  const Architecture& traits = *config.architecture;
  const bool sees_all = config.layers[index].window == 0;
  const bool is_left_out = traits.rope.windows_alone && has_windows && sees_all;
  if (config.rope.dim == 0 || is_left_out) return Rotation::none;
  return config.rope.has_local && !sees_all ? Rotation::local : Rotation::scaled;
}

}  // namespace

Status read_rope(const Keys& keys, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  config.rope_kind = traits.rope.kind;
  KINGLET_TRY(read_sections(keys, config));
  KINGLET_ASSIGN(const bool switched_on, keys.flag("rope.scaling.finetuned", true));
  if (traits.rope.kind == RopeKind::none || (traits.rope.may_be_off && !switched_on)) return {};
  const LayerConfig* layer = first_attention(config);
  if (layer == nullptr) return {};
  const uint32_t head_dim = layer->head_dim;
  RopeConfig& rope = config.rope;
  KINGLET_ASSIGN(rope.dim, read_rope_dim(keys, kRopeDim, head_dim));
  rope.local_dim = rope.dim;
  if (traits.attention.two_head_sizes) {
    KINGLET_ASSIGN(rope.local_dim, read_rope_dim(keys, kLocalRopeDim, rope.dim));
  }
  KINGLET_ASSIGN(rope.theta, keys.positive("rope.freq_base", traits.rope.theta));
  rope.has_local = traits.rope.plain_local;
  constexpr std::string_view kLocalTheta = "rope.freq_base_swa";
  const float local_theta = traits.rope.local_theta;
  if (local_theta == kBaseOfFile) KINGLET_TRY(keys.number(kLocalTheta));
  KINGLET_ASSIGN(rope.local_theta,
                 keys.positive(kLocalTheta, local_theta > 0 ? local_theta : rope.theta));
  return read_rope_scaling(keys, config);
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

}  // namespace kinglet
