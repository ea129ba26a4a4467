#include "vision/projector.h"

#include <algorithm>
#include <string>

#include "base/format.h"
#include "base/in_quotes.h"

namespace kinglet {
namespace {

// The layers of readers. Files name some of their parts otherwise: see LayerNames.
constexpr MixerTraits kMixers = {.main = MixerKind::bidirectional_attention};
constexpr NormTraits kLayerNorms = {.kind = NormKind::layer, .biases = Presence::optional};
constexpr FeedForwardTraits kMaybeGated = {.gate = Gate::as_given};
constexpr Architecture kLearned = {.name = "clip",
                                   .mixers = kMixers,
                                   .norms = kLayerNorms,
                                   .rope = {.kind = RopeKind::none},
                                   .ffn = kMaybeGated};
constexpr Architecture kRotated = {
    .name = "clip", .mixers = kMixers, .norms = kLayerNorms, .ffn = kMaybeGated};
constexpr Architecture kRmsRotated = {.name = "clip", .mixers = kMixers, .ffn = kMaybeGated};
constexpr Architecture kGemma4 = {
    .name = "clip",
    .mixers = kMixers,
    .norms = {.after = Presence::required},
    .attention = {.head_norm = HeadNorm::shared, .normalizes_values = true, .scale = 1.0f},
    .rope = {.theta = 100.0f},
    .ffn = kMaybeGated,
    .scales = {.layers = Presence::optional}};

constexpr Projector kProjectors[] = {
    // SmolVLM.
    {.name = "idefics3",
     .encoder = &kLearned,
     .sizing = Sizing::tiles,
     .filter = Filter::lanczos,
     .may_swap_ffn = true,
     .first = "mm.model.fc",
     .tile = "<fake_token_around_image><row_",
     .tile_end = ">",
     .line_end = "\n",
     .whole = "\n\n<fake_token_around_image><global-img>",
     .whole_end = "<fake_token_around_image>"},
    {.name = "lfm2",
     .encoder = &kLearned,
     .sizing = Sizing::tiles_or_free,
     .min_rows = 64,
     .max_rows = 256,
     .positions = Positions::antialiased,
     .kind = ProjectorKind::mlp,
     .first = "mm.1",
     .second = "mm.2",
     .norm = "mm.input_norm",
     .begin = "<|image_start|>",
     .end = "<|image_end|>",
     .tile = "<|img_row_",
     .tile_end = "|>",
     .whole = "<|img_thumbnail|>"},
    {.name = "gemma3",
     .encoder = &kLearned,
     .may_swap_ffn = true,
     .merge = 4,
     .kind = ProjectorKind::pooled,
     .first = "mm.input_projection",
     .norm = "mm.soft_emb_norm",
     .sees_all = true,
     .begin = "<start_of_image>",
     .end = "<end_of_image>"},
    {.name = "gemma4v",
     .encoder = &kGemma4,
     .sizing = Sizing::free,
     .filter = Filter::bicubic,
     .min_rows = 70,
     .max_rows = 1120,
     .positions = Positions::of_axes,
     .merge = 3,
     .kind = ProjectorKind::standardized,
     .first = "mm.input_projection",
     .sees_all = true,
     .causal_widths = {1536, 2560},
     .centers_pixels = true,
     .begin = "<|image>",
     .end = "<image|>"},
    {.name = "qwen2vl_merger",
     .encoder = &kRotated,
     .sizing = Sizing::free,
     .filter = Filter::bicubic,
     .min_rows = 8,
     .max_rows = 4096,
     .positions = Positions::rotated,
     .has_second_filter = true,
     .may_swap_ffn = true,
     .merge_key = "spatial_merge_size",
     .merge = 2,
     .kind = ProjectorKind::mlp,
     .first = "mm.0",
     .second = "mm.2",
     .counts_grid = true,
     .begin = "<|vision_start|>",
     .end = "<|vision_end|>"},
    {.name = "qwen2.5vl_merger",
     .encoder = &kRmsRotated,
     .sizing = Sizing::free,
     .filter = Filter::bicubic,
     .min_rows = 8,
     .max_rows = 4096,
     .positions = Positions::rotated,
     .has_second_filter = true,
     .may_swap_ffn = true,
     .window_size = 112,
     .merge_key = "spatial_merge_size",
     .merge = 2,
     .kind = ProjectorKind::mlp,
     .first = "mm.0",
     .second = "mm.2",
     .counts_grid = true,
     .begin = "<|vision_start|>",
     .end = "<|vision_end|>"},
    // Also Qwen 3.5.
    {.name = "qwen3vl_merger",
     .encoder = &kRotated,
     .sizing = Sizing::free,
     .filter = Filter::bicubic,
     .min_rows = 8,
     .max_rows = 4096,
     .positions = Positions::corners,
     .has_second_filter = true,
     .merge_key = "spatial_merge_size",
     .merge = 2,
     .kind = ProjectorKind::mlp,
     .first = "mm.0",
     .second = "mm.2",
     .has_deepstack = true,
     .counts_grid = true,
     .begin = "<|vision_start|>",
     .end = "<|vision_end|>"},
};

}  // namespace

Result<const Projector*> find_projector(std::string_view name) {
  const auto* row = std::find_if(std::begin(kProjectors), std::end(kProjectors),
                                 [name](const Projector& known) { return known.name == name; });
  if (row != std::end(kProjectors)) return row;
  std::string known;
  for (const Projector& projector : kProjectors) {
    known += cat(known.empty() ? "" : ", ", projector.name);
  }
  return Error{ErrorCode::unsupported_feature,
               cat("projector ", in_quotes(name), " is not supported (supported: ", known, ")")};
}

}  // namespace kinglet
