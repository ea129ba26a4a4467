// A loaded reader of pictures (an mmproj file): never changed again, and shared by all that read
// with it.
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

  // Numbers of a row that it makes, those that layers add included.
  uint32_t width() const { return weights_.row_width * (1 + weights_.n_deepstack); }

  // A hash of the header and of a layer's norm, which tell tunings of one reader apart.
  uint64_t identity() const;

 private:
  GgufFile file_;
  VisionConfig config_;
  VisionWeights weights_;
  const KernelSet* kernels_ = nullptr;
};

// ErrorCode::wrong_shape where its rows are not as wide as the text model's.
Status check_fits(const VisionModel& vision, uint32_t hidden_dim);

}  // namespace kinglet
