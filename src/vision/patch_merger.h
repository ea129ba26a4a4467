// Turns an encoder's patches into rows for a text model: see ProjectorKind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
      : kind_(config.projector->kind),
        side_(config.merge),
        hidden_dim_(encoder.hidden_dim),
        epsilon_(encoder.norm_epsilon) {}

  struct Buffers {
    float* merged;      // [n_columns()]: the patches of a row side by side, or their mean
    float* rows;        // [width]
    float* per_thread;  // [width]
  };

  size_t n_patches() const { return size_t{side_} * side_; }  // of a row
  bool is_mean() const {
    return kind_ == ProjectorKind::pooled || kind_ == ProjectorKind::standardized;
  }
  size_t n_columns() const { return is_mean() ? hidden_dim_ : hidden_dim_ * n_patches(); }
  Status take_standard(TensorTaker& tensors);
  Buffers lay_out(Arena& arena, uint64_t n_rows, uint64_t n_threads) const;
  void merge(Step& step, const PatchGrid& grid, size_t first, size_t n_rows, float* merged) const;
  void standardize(float* row) const;
  void normalize(const KernelSet& kernels, float* row) const;
  void multiply_transposed(Step& step, size_t n_rows, const Buffers& buffers) const;

  ProjectorKind kind_;
  uint32_t side_;  // patches
  uint32_t hidden_dim_;
  float epsilon_;  // of the norm
  uint32_t width_ = 0;
  Norm norm_;                       // of merged patches
  std::vector<float> ones_;         // the weights of that norm, if the file has none
  const float* center_ = nullptr;   // [hidden_dim]: subtracted from merged patches, or null
  const float* factors_ = nullptr;  // [hidden_dim]: then multiply them
  Linear matrix_;                   // [width][n_columns]; pooled: [n_columns][width]; or no rows
  std::optional<FeedForward> mlp_;  // in its place
};

}  // namespace kinglet
