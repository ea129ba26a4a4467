// The metadata of an mmproj file that describes its picture reader.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "gguf/header.h"
#include "model/config.h"
#include "vision/pixels.h"
#include "vision/projector.h"

namespace kinglet {

// The maximum number of patches of a picture, or of one of its tiles.
constexpr uint32_t kMaxPatches = 1 << 16;

// The tensor of learned positions.
constexpr std::string_view kPositionTable = "v.position_embd";

struct VisionConfig {
  const Projector* projector = nullptr;
  uint32_t patch_size = 0;             // pixels per side
  uint32_t merge = 0;                  // patches per side that make one row
  uint32_t image_size = 0;             // pixels per side of a square picture or tile
  uint32_t most_across = kMaxPatches;  // patches per side for which there are positions
  uint32_t window = 0;                 // patches per side of a window; 0: patches see all others
  uint32_t whole_period = 0;  // every whole_period-th layer, counted from 1, has no windows
  uint32_t longest_edge = 0;  // of a picture that is cut into tiles; 0: not given
  float mean[kChannels] = {};
  float deviation[kChannels] = {};

  bool has_window(size_t layer) const { return window > 0 && (layer + 1) % whole_period != 0; }

  // Pixels per side of the square that makes one row; sizes are multiples of it.
  uint32_t row_size() const { return patch_size * merge; }
};

// Reads the metadata. ErrorCode::unsupported_architecture (a text model), unsupported_feature (an
// unknown projector, or a file that reads only sounds), missing_metadata, wrong_type, corrupt,
// not_finite.
Result<VisionConfig> read_vision_config(const GgufHeader& header);

// Reads what describes the layers, and finds the widths and names that no key has in the list of
// tensors. Errors: missing_metadata, wrong_type, corrupt, unsupported_feature.
Result<ModelConfig> read_encoder_config(const GgufHeader& header, const Projector& projector);

}  // namespace kinglet
