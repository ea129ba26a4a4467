// A picture reader's tensors, found by name, checked by shape and packed for the kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/linear.h"
#include "vision/vision_config.h"

namespace kinglet {

// The weights that convert merged patches to rows: see ProjectorKind. Without rows in `first`, none
// of them are there.
struct OutputWeights {
  Norm norm;      // of merged patches, or of their mean
  Linear first;   // [.][merged_dim]; for pooled patches [hidden_dim][width], used transposed
  Linear second;  // [width][.]

  bool is_there() const { return first.matrix.n_rows > 0; }
};

struct TowerLayer {
  Norm attention_norm;
  Linear query, key, value, output;  // [hidden_dim][hidden_dim]
  Norm ffn_norm;
  Linear gate;  // [.][hidden_dim]; no rows if there is no gate
  Linear up;    // same shape
  Linear down;  // [hidden_dim][.]
  OutputWeights deepstack;
};

struct VisionWeights {
  Linear filters;               // [hidden_dim][kChannels * patch_size²]
  Linear second_filters;        // same shape, or no rows
  PackedMatrix positions;       // [.][hidden_dim]; none with Positions::rotated
  uint32_t positions_side = 0;  // `positions` is a square grid of this side
  Norm pre_norm;
  std::vector<TowerLayer> layers;
  Norm post_norm;
  OutputWeights output;
  uint32_t row_width = 0;    // the columns that `output` makes
  uint32_t n_deepstack = 0;  // layers that add row_width columns each
};

// Takes the tensors from the file. ErrorCode::missing_tensor, wrong_shape, wrong_type,
// unsupported_feature (a tensor that is not used), not_finite, out_of_memory.
Result<VisionWeights> take_vision_weights(GgufFile& file, const KernelSet& kernels,
                                          const VisionConfig& config);

}  // namespace kinglet
