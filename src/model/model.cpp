#include "model/model.h"

namespace kinglet {

Result<Model> Model::load(GgufFile file, const KernelSet& kernels) {
  Result<BoundWeights> bound = bind_weights(file, kernels);
  return load(std::move(file), kernels, std::move(bound));
}

Result<Model> Model::load(GgufFile file, const KernelSet& kernels, Result<BoundWeights> bound) {
  Model model(std::move(file), kernels);
  if (!model.has_weights()) return model;
  if (!bound.ok()) return bound.error();
  KINGLET_TRY(bound.value().complete());
  model.config_ = std::move(bound.value().config);
  model.weights_ = std::move(bound.value().weights);
  model.weights_hash_ = bound.value().fill.hash();

  const RopeConfig& rope = model.config_.rope;
  const float* factors = model.weights_.rope_factors;
  const float* long_factors = model.weights_.long_rope_factors;
  model.rope_ = RopeTable::scaled(rope, factors);
  model.long_rope_ = RopeTable::scaled(rope, long_factors != nullptr ? long_factors : factors);
  model.local_rope_ = RopeTable::local(rope);
  return model;
}

Result<Model> Model::outline(GgufFile file, const KernelSet& kernels) {
  Model model(std::move(file), kernels);
  if (!model.has_weights()) return model;
  KINGLET_ASSIGN(BoundWeights bound, bind_weights(model.file_, kernels));
  model.config_ = std::move(bound.config);
  model.weights_ = std::move(bound.weights);
  return model;
}

const RopeTable& Model::rope_table(Rotation rotation, uint32_t n_ctx) const {
  if (rotation == Rotation::local) return local_rope_;
  return n_ctx > config_.rope.original_context ? long_rope_ : rope_;
}

uint64_t Model::identity(uint32_t n_ctx) const {
  constexpr uint64_t kLong = 0x9e3779b97f4a7c15;  // arbitrary
  const bool has_long_factors = weights_.long_rope_factors != nullptr;
  const bool is_long = has_long_factors && n_ctx > config_.rope.original_context;
  return file_.header_hash() ^ weights_hash_ ^ (is_long ? kLong : 0);
}

Status check_has_weights(const Model& model) {
  if (model.has_weights()) return {};
  return Error{
      ErrorCode::missing_tensor,
      "the file contains only a vocabulary: it can be inspected and can tokenize, but has no "
      "weights to compute with"};
}

uint64_t Model::n_parameters() const {
  uint64_t n = 0;
  for (const TensorInfo& tensor : header().tensors) {
    n += tensor.shape[0] * tensor.shape[1] * tensor.shape[2] * tensor.shape[3];
  }
  return n;
}

}  // namespace kinglet
