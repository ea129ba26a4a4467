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

// Makes rows of merged patches: see ProjectorKind. No rows of `first`: there is none.
struct OutputWeights {
  Norm norm;      // over merged patches, or over their mean
  Linear first;   // [.][merged_dim]; of pooled patches [hidden_dim][width], used as its transpose
  Linear second;  // [width][.]

  bool is_there() const { return first.matrix.n_rows > 0; }
};

struct TowerLayer {
  Norm attention_norm;
  Linear query, key, value, output;  // [hidden_dim][hidden_dim]
  Norm ffn_norm;
  Linear gate;  // [.][hidden_dim]; no rows: there is none
  Linear up;    // the same
  Linear down;  // [hidden_dim][.]
  OutputWeights deepstack;
};

struct VisionWeights {
  Linear filters;               // [hidden_dim][kChannels * patch_size²]
  Linear second_filters;        // the same, or no rows
  PackedMatrix positions;       // [.][hidden_dim]; none where patches are rotated alone
  uint32_t positions_side = 0;  // the square that these are
  Norm pre_norm;
  std::vector<TowerLayer> layers;
  Norm post_norm;
  OutputWeights output;
  uint32_t row_width = 0;    // of what output makes
  uint32_t n_deepstack = 0;  // layers that add as many columns each
};

// ErrorCode::missing_tensor, wrong_shape, wrong_type, unsupported_feature (a tensor that is not
// used), not_finite, out_of_memory.
Result<VisionWeights> take_vision_weights(GgufFile& file, const KernelSet& kernels,
                                          const VisionConfig& config);

}  // namespace kinglet
