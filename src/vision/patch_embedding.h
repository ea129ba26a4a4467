// Turns the patches of a tile into the rows of an encoder (Dosovitskiy et al., 2020).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/blocks/block.h"
#include "model/linear.h"
#include "model/step.h"
#include "model/tensor_taker.h"
#include "vision/layout.h"
#include "vision/patch_grid.h"
#include "vision/vision_config.h"

namespace kinglet {

class PatchEmbedding {
 public:
  // Takes "v.patch_embd" and, unless positions only rotate, "v.position_embd". Errors: those of
  // TensorTaker.
  static Result<PatchEmbedding> take(TensorTaker& tensors, const VisionConfig& config,
                                     uint32_t hidden_dim);

  ScratchNeeds scratch_needs(const BatchShape& batch) const;

  // The step's stream = its patches of the tile, with their positions.
  void embed(Step& step, const VisionConfig& config, const PatchGrid& grid, const Picture& picture,
             const Tile& tile) const;

 private:
  struct Buffers {
    float* pixels;      // [n_tokens][n_pixels]
    float* second;      // [n_tokens][hidden_dim]
    float* per_thread;  // [hidden_dim]
  };

  Buffers lay_out(Arena& arena, const BatchShape& batch) const;
  void gather(Step& step, const VisionConfig& config, const PatchGrid& grid, const Picture& picture,
              const Tile& tile, float* pixels) const;
  void add_positions(Step& step, Positions kind, const PatchGrid& grid, float* per_thread) const;
  void add_axis_positions(Step& step, const PatchGrid& grid, float* per_thread) const;

  Linear filters_;          // [hidden_dim][kChannels * patch_size²]
  Linear second_filters_;   // same shape, or no rows
  PackedMatrix positions_;  // [positions_side²][hidden_dim], or no rows
  uint32_t positions_side_ = 0;
  // With Positions::of_axes, in place of these: [most_across][hidden_dim].
  PackedMatrix columns_;
  PackedMatrix lines_;
};

}  // namespace kinglet
