#include "vision/vision_model.h"

#include <span>

#include "base/format.h"
#include "base/hash.h"

namespace kinglet {

Result<VisionModel> VisionModel::load(GgufFile file, const KernelSet& kernels) {
  VisionModel model;
  model.file_ = std::move(file);
  model.kernels_ = &kernels;
  KINGLET_ASSIGN(model.config_, read_vision_config(model.header()));
  KINGLET_ASSIGN(model.weights_, take_vision_weights(model.file_, kernels, model.config_));
  return model;
}

uint64_t VisionModel::identity() const {
  const std::span norm(weights_.layers.front().attention_norm.weight, config_.hidden_dim);
  return hash_bytes(std::as_bytes(norm), file_.header_hash());
}

Status check_fits(const VisionModel& vision, uint32_t hidden_dim) {
  if (vision.width() == hidden_dim) return {};
  return Error{ErrorCode::wrong_shape, cat("the picture reader makes rows of ", vision.width(),
                                           " numbers, the model reads rows of ", hidden_dim,
                                           ": it belongs to another model")};
}

}  // namespace kinglet
