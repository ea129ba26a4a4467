// What an mmproj file's metadata says about the reader of pictures in it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "gguf/header.h"
#include "vision/pixels.h"
#include "vision/projector.h"

namespace kinglet {

// The activation of the layers' feed-forward networks.
enum class TowerActivation : uint8_t {
  gelu,        // clip.use_gelu
  silu,        // clip.use_silu
  quick_gelu,  // x / (1 + e^(-1.702 x)), where neither is said
};

// Patches of a picture, or of a tile of it, at most.
constexpr uint32_t kMaxPatches = 1 << 16;

struct VisionConfig {
  const Projector* projector = nullptr;
  uint32_t n_layers = 0;
  uint32_t hidden_dim = 0;
  uint32_t n_heads = 0;
  uint32_t head_dim = 0;
  float norm_epsilon = 0;
  TowerActivation activation = TowerActivation::gelu;
  uint32_t patch_size = 0;    // pixels of a side
  uint32_t merge = 0;         // patches of a side that make one row
  uint32_t image_size = 0;    // pixels of a side, of a square
  uint32_t window = 0;        // patches of a side that see each other; 0: all do
  uint32_t whole_period = 0;  // … but in every so manieth layer, counted from 1
  uint32_t longest_edge = 0;  // of a picture that is cut into tiles; 0: its own
  float mean[kChannels] = {};
  float deviation[kChannels] = {};

  // Whether heads are turned by the line and column of their patch.
  bool rotates() const {
    return projector->positions == Positions::corners || projector->positions == Positions::rotated;
  }
  bool has_window(size_t layer) const { return window > 0 && (layer + 1) % whole_period != 0; }

  // Pixels of a side that make one row; sizes are multiples of it.
  uint32_t row_size() const { return patch_size * merge; }
  // Numbers of the patches that make one row.
  uint64_t merged_dim() const { return uint64_t{hidden_dim} * merge * merge; }
};

// ErrorCode::unsupported_architecture (a text model), unsupported_feature (a projector that is not
// known, a reader of sounds alone), missing_metadata, wrong_type, corrupt.
Result<VisionConfig> read_vision_config(const GgufHeader& header);

}  // namespace kinglet
