#include "model/model.h"

#include <cmath>

namespace kinglet {

Result<Model> Model::load(GgufFile file, const KernelSet& kernels) {
  Model model;
  model.file_ = std::move(file);
  model.kernels_ = &kernels;
  KINGLET_ASSIGN(model.config_, read_config(model.header()));
  KINGLET_ASSIGN(model.weights_, take_weights(model.file_, kernels, model.config_));

  // theta^(-2i / rope_dim) (RoFormer, 2021), scaled as the file asks.
  const ModelConfig& config = model.config_;
  for (uint32_t i = 0; i < config.rope_dim / 2; ++i) {
    const double exponent = -2.0 * i / config.rope_dim;
    double frequency = std::pow(static_cast<double>(config.rope_theta), exponent) *
                       static_cast<double>(config.rope_scale);
    if (model.weights_.rope_factors != nullptr) {
      frequency /= static_cast<double>(model.weights_.rope_factors[i]);
    }
    model.rope_frequencies_.push_back(frequency);
  }
  return model;
}

uint64_t Model::n_parameters() const {
  uint64_t n = 0;
  for (const TensorInfo& tensor : header().tensors) {
    n += tensor.shape[0] * tensor.shape[1] * tensor.shape[2] * tensor.shape[3];
  }
  return n;
}

}  // namespace kinglet
