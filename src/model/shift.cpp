#include "model/shift.h"

#include <span>
#include <vector>

#include "base/sin_cos.h"

namespace kinglet {
namespace {

struct Turn {
  std::vector<float> cosines;
  std::vector<float> sines;
};

// Back by n positions. A table's magnitude is in the keys already.
Turn turn_back(const RopeTable& table, uint32_t n) {
  Turn turn;
  for (const double frequency : table.frequencies) {
    const auto [sin, cos] = sin_cos(-static_cast<double>(n) * frequency);
    turn.cosines.push_back(static_cast<float>(cos));
    turn.sines.push_back(static_cast<float>(sin));
  }
  return turn;
}

}  // namespace

Status shift_positions(const Model& model, KvCache& cache, uint32_t first, uint32_t n) {
  const ModelConfig& config = model.config();
  const KernelSet& kernels = model.kernels();
  const RopeKind kind = config.architecture->rope;
  if (kind == RopeKind::none) {
    return Error{ErrorCode::unsupported_feature,
                 "this model's positions are learned: a full context cannot be shifted"};
  }
  Turn turns[kRotationTables];
  turns[static_cast<size_t>(Rotation::scaled)] =
      turn_back(model.rope_table(Rotation::scaled, cache.capacity()), n);
  if (config.rope.has_local) {
    turns[static_cast<size_t>(Rotation::local)] =
        turn_back(model.rope_table(Rotation::local, cache.capacity()), n);
  }
  const auto rope = kind == RopeKind::interleaved ? kernels.rope_interleaved : kernels.rope_halves;
  return cache.drop(first, n, [&](uint32_t layer, std::span<float> key) {
    const Rotation rotation = config.layers[layer].rotation;
    if (rotation == Rotation::none) return false;
    const Turn& turn = turns[static_cast<size_t>(rotation)];
    rope(key.data(), turn.cosines.data(), turn.sines.data(), turn.cosines.size());
    return true;
  });
}

}  // namespace kinglet
