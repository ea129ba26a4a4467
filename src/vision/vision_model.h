// A loaded picture reader (an mmproj file). It never changes after loading, and can be shared by
// several ImageReaders.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "vision/vision_config.h"
#include "vision/vision_weights.h"

namespace kinglet {

class VisionModel {
 public:
  // Packs the file's weights in place for `kernels`. Errors: those of read_vision_config and
  // take_vision_weights.
  static Result<VisionModel> load(GgufFile file, const KernelSet& kernels);

  const GgufHeader& header() const { return file_.header(); }
  const VisionConfig& config() const { return config_; }
  const VisionWeights& weights() const { return weights_; }
  const KernelSet& kernels() const { return *kernels_; }
  uint64_t weight_bytes() const { return file_.bytes_in_memory(); }

  // The width of the rows that it makes, including the columns that layers add.
  uint32_t width() const { return weights_.row_width * (1 + weights_.n_deepstack); }

  // A hash of the header and of a layer's norm, to distinguish fine-tuned versions of one reader.
  uint64_t identity() const;

 private:
  GgufFile file_;
  VisionConfig config_;
  VisionWeights weights_;
  const KernelSet* kernels_ = nullptr;
};

// Checks that the reader's rows are as wide as the text model's. ErrorCode::wrong_shape.
Status check_fits(const VisionModel& vision, uint32_t hidden_dim);

}  // namespace kinglet
