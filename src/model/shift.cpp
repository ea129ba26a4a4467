#include "model/shift.h"

#include <vector>

#include "base/format.h"
#include "base/sin_cos.h"

namespace kinglet {
namespace {

struct Turn {
  std::vector<float> cosines;
  std::vector<float> sines;
};

// Returns the rotation back by n positions. It leaves out the table's magnitude, which the keys
// have already.
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

Status check_can_shift(const Model& model) {
  const ModelConfig& config = model.config();
  if (config.architecture->embedding.learned_positions) {
    return Error{ErrorCode::unsupported_feature,
                 "a full context cannot be shifted: this model's positions are learned"};
  }
  if (config.architecture->attention.rotates_first) {
    return Error{ErrorCode::unsupported_feature,
                 cat("a full context cannot be shifted: ", config.architecture->name,
                     " normalizes keys after rotating them, which cannot be undone")};
  }
  if (model.state_shape().n_recurrent > 0) {
    return Error{ErrorCode::unsupported_feature,
                 cat("a full context cannot be shifted: layers of ", config.architecture->name,
                     " have a recurrent state, from which no tokens can be removed")};
  }
  return {};
}

Status shift_positions(const Model& model, SequenceState& state, uint32_t first, uint32_t n) {
  KINGLET_TRY(check_can_shift(model));
  const ModelConfig& config = model.config();
  const KernelSet& kernels = model.kernels();
  const RopeKind kind = config.rope_kind;
  Turn turns[kRotationTables];
  turns[static_cast<size_t>(Rotation::scaled)] =
      turn_back(model.rope_table(Rotation::scaled, state.capacity()), n);
  if (config.rope.has_local) {
    turns[static_cast<size_t>(Rotation::local)] =
        turn_back(model.rope_table(Rotation::local, state.capacity()), n);
  }
  const auto rope = kind == RopeKind::interleaved ? kernels.rope_interleaved : kernels.rope_halves;
  KINGLET_TRY(state.drop(first, n));
  const std::vector<RowShape>& rows = model.state_shape().rows;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    const Rotation rotation = config.layers[rows[i].layer].rotation;
    if (rotation == Rotation::none) continue;
    const Turn& turn = turns[static_cast<size_t>(rotation)];
    state.rewrite_keys(i, first, [&](float* key) {
      rope(key, turn.cosines.data(), turn.sines.data(), turn.cosines.size());
    });
  }
  return {};
}

}  // namespace kinglet
