// Turns an encoder's patches into rows for a text model: see ProjectorKind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/blocks/feed_forward.h"
#include "model/linear.h"
#include "model/tensor_taker.h"
#include "vision/patch_grid.h"
#include "vision/vision_config.h"

namespace kinglet {

class PatchMerger {
 public:
  // Takes the projector's tensors. Errors: those of TensorTaker.
  static Result<PatchMerger> take(TensorTaker& tensors, const VisionConfig& config,
                                  const ModelConfig& encoder);

  // Takes "STEM.norm", "STEM.fc1" and "STEM.fc2": the rows of a layer, [width].
  static Result<PatchMerger> take_deepstack(TensorTaker& tensors, const std::string& stem,
                                            const VisionConfig& config, const ModelConfig& encoder,
                                            uint32_t width);

  // The width of its rows.
  uint32_t width() const { return width_; }

  // The number of rows whose patches fit into a batch, at least 1.
  uint64_t batch_of(uint64_t n_patches) const;
  ScratchNeeds scratch_needs(const BatchShape& patches) const;

  // out [n_rows][stride] = rows [first, first + n_rows), at most batch_of() the step's batch.
  void run(Step& step, const PatchGrid& grid, size_t first, size_t n_rows, float* out,
           size_t stride) const;

 private:
  PatchMerger(const VisionConfig& config, const ModelConfig& encoder)
      : is_pooled_(config.projector->kind == ProjectorKind::pooled),
        side_(config.merge),
        hidden_dim_(encoder.hidden_dim),
        epsilon_(encoder.norm_epsilon) {}

  struct Buffers {
    float* merged;      // [n_columns()]: the patches of a row side by side, or their mean
    float* rows;        // [width]
    float* per_thread;  // [width]
  };

  size_t n_patches() const { return size_t{side_} * side_; }  // of a row
  size_t n_columns() const { return is_pooled_ ? hidden_dim_ : hidden_dim_ * n_patches(); }
  Buffers lay_out(Arena& arena, uint64_t n_rows, uint64_t n_threads) const;
  void merge(Step& step, const PatchGrid& grid, size_t first, size_t n_rows, float* merged) const;
  void multiply_transposed(Step& step, size_t n_rows, const Buffers& buffers) const;

  bool is_pooled_;
  uint32_t side_;  // patches
  uint32_t hidden_dim_;
  float epsilon_;  // of the norm
  uint32_t width_ = 0;
  Norm norm_;                       // of merged patches
  Linear matrix_;                   // [width][n_columns]; pooled: [n_columns][width]; or no rows
  std::optional<FeedForward> mlp_;  // in its place
};

}  // namespace kinglet
