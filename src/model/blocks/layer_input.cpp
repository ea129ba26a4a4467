#include "model/blocks/layer_input.h"

#include <algorithm>

#include "model/step.h"

namespace kinglet {

Result<std::unique_ptr<Block>> LayerInput::load(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  const uint32_t width = loader.config().layer_input_dim;
  auto block = std::make_unique<LayerInput>();
  block->layer_ = loader.index();
  KINGLET_ASSIGN(block->gate_, loader.linear("inp_gate", width, hidden_dim, Presence::no));
  KINGLET_ASSIGN(block->projection_, loader.linear("proj", hidden_dim, width, Presence::no));
  return std::unique_ptr<Block>(std::move(block));
}

ScratchNeeds LayerInput::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  arena.take<float>(batch.n_tokens * width());
  return {arena.n_bytes(), std::max(gate_.matrix.n_columns, width())};
}

Status LayerInput::run(Step& step, Arena arena, const float* x, float* out) const {
  float* const gate = arena.take<float>(step.n_tokens() * width());
  step.project(x, step.n_tokens(), {{&gate_, gate}});
  step.for_each(step.n_tokens(), [&](size_t t) {
    step.kernels().gelu_multiply(gate + t * width(), step.layer_input(t, layer_), width());
  });
  step.project(gate, step.n_tokens(), {{&projection_, out}});
  return {};
}

}  // namespace kinglet
