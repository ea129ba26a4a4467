// A loaded picture reader (an mmproj file). It never changes after loading, and can be shared by
// several ImageReaders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/model.h"
#include "model/preparation.h"
#include "model/weights.h"
#include "vision/patch_embedding.h"
#include "vision/patch_merger.h"
#include "vision/vision_config.h"

namespace kinglet {

// Columns that a layer adds to the rows.
struct Deepstack {
  uint32_t layer;
  PatchMerger merger;
};

// A picture reader whose tensors were taken from its file, but not yet packed.
struct BoundVision {
  VisionConfig config;
  PatchEmbedding patches;
  PatchMerger output;
  std::vector<Deepstack> deepstack;
  BoundWeights encoder;
};

// The weights, as far as they were packed while the file arrived.
struct PreparedVision final : Preparable {
  explicit PreparedVision(const KernelSet& chosen) : kernels(&chosen) {}

  WeightFill* bind(GgufFile& file) override;

  const KernelSet* kernels;
  std::optional<Result<BoundVision>> bound;
};

class VisionModel {
 public:
  // Packs the file's weights in place for `kernels`. Errors: those of read_vision_config and
  // read_encoder_config; ErrorCode::missing_tensor, wrong_shape, wrong_type, unsupported_feature (a
  // tensor that is not used), not_finite, out_of_memory.
  static Result<VisionModel> load(GgufFile file, const KernelSet& kernels) {
    return load(std::move(file), PreparedVision(kernels));
  }
  static Result<VisionModel> load(GgufFile file, PreparedVision prepared);

  const GgufHeader& header() const { return encoder_.header(); }
  const VisionConfig& config() const { return config_; }
  const KernelSet& kernels() const { return encoder_.kernels(); }
  uint64_t weight_bytes() const { return encoder_.weight_bytes(); }

  // What works before the layers, the layers, and what works after them.
  const PatchEmbedding& patches() const { return patches_; }
  const Model& encoder() const { return encoder_; }
  const PatchMerger& output() const { return output_; }
  const std::vector<Deepstack>& deepstack() const { return deepstack_; }  // in the layers' order

  // The width of the rows that it makes, including the columns that layers add.
  uint32_t width() const {
    return output_.width() * (1 + static_cast<uint32_t>(deepstack_.size()));
  }

  // Distinguishes readers of any other header or weights.
  uint64_t identity() const { return encoder_.identity(0); }

 private:
  VisionModel(BoundVision&& bound, Model encoder)
      : config_(bound.config),
        patches_(bound.patches),
        output_(std::move(bound.output)),
        deepstack_(std::move(bound.deepstack)),
        encoder_(std::move(encoder)) {}

  VisionConfig config_;
  PatchEmbedding patches_;
  PatchMerger output_;
  std::vector<Deepstack> deepstack_;
  Model encoder_;
};

// Checks that the reader's rows are as wide as the text model's. ErrorCode::wrong_shape.
Status check_fits(const VisionModel& vision, uint32_t hidden_dim);

}  // namespace kinglet
