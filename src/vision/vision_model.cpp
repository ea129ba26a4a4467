#include "vision/vision_model.h"

#include <string>

#include "base/format.h"
#include "model/tensor_taker.h"
#include "model/weights.h"

namespace kinglet {
namespace {

Result<Norm> take_norm_if_there(TensorTaker& tensors, const char* name, const ModelConfig& config) {
  if (!tensors.has(cat(name, ".weight"))) return Norm{};
  return take_norm(tensors, name, config);
}

Result<BoundVision> bind_vision(GgufFile& file, const KernelSet& kernels) {
  KINGLET_ASSIGN(const VisionConfig config, read_vision_config(file.header()));
  BoundWeights bound;
  KINGLET_ASSIGN(bound.config, read_encoder_config(file.header(), *config.projector));
  const ModelConfig& encoder = bound.config;
  TensorTaker tensors(file, kernels);
  KINGLET_ASSIGN(const PatchEmbedding patches,
                 PatchEmbedding::take(tensors, config, encoder.hidden_dim));
  KINGLET_ASSIGN(bound.weights.embedding_norm, take_norm_if_there(tensors, "v.pre_ln", encoder));
  KINGLET_TRY(take_layers(tensors, encoder, bound.weights));
  KINGLET_ASSIGN(bound.weights.output_norm, take_norm_if_there(tensors, "v.post_ln", encoder));
  KINGLET_ASSIGN(PatchMerger output, PatchMerger::take(tensors, config, encoder));
  std::vector<Deepstack> deepstack;
  for (uint32_t i = 0; config.projector->has_deepstack && i < encoder.n_layers; ++i) {
    const std::string stem = cat("v.deepstack.", i);
    if (!tensors.has(stem + ".fc1.weight")) continue;
    KINGLET_ASSIGN(PatchMerger merger,
                   PatchMerger::take_deepstack(tensors, stem, config, encoder, output.width()));
    deepstack.push_back({i, std::move(merger)});
  }
  // The tensors of an audio reader in the same file.
  tensors.skip("a.");
  tensors.skip("mm.a.");
  KINGLET_ASSIGN(bound.fill, tensors.finish());
  return BoundVision{config, patches, std::move(output), std::move(deepstack), std::move(bound)};
}

}  // namespace

WeightFill* PreparedVision::bind(GgufFile& file) {
  bound.emplace(bind_vision(file, *kernels));
  return bound->ok() ? &bound->value().encoder.fill : nullptr;
}

Result<VisionModel> VisionModel::load(GgufFile file, PreparedVision prepared) {
  if (!prepared.bound) prepared.bind(file);
  KINGLET_ASSIGN(BoundVision bound, std::move(*prepared.bound));
  KINGLET_ASSIGN(Model encoder,
                 Model::load(std::move(file), *prepared.kernels, std::move(bound.encoder)));
  return VisionModel(std::move(bound), std::move(encoder));
}

Status check_fits(const VisionModel& vision, uint32_t hidden_dim) {
  if (vision.width() == hidden_dim) return {};
  return Error{ErrorCode::wrong_shape, cat("the picture reader makes rows of ", vision.width(),
                                           " numbers, but the model reads rows of ", hidden_dim,
                                           ": it belongs to another model")};
}

}  // namespace kinglet
