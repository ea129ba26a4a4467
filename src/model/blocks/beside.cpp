#include "model/blocks/beside.h"

#include "model/step.h"

namespace kinglet {

ScratchNeeds Beside::scratch_needs(const BatchShape& batch) const {
  ScratchNeeds needs = first_->scratch_needs(batch);
  needs.include(second_->scratch_needs(batch));
  Arena arena;
  arena.take<float>(batch.n_tokens * hidden_dim_);
  needs.n_bytes += arena.n_bytes();
  return needs;
}

Status Beside::run(Step& step, Arena arena, const float* x, float* out) const {
  float* const other = arena.take<float>(step.n_tokens() * hidden_dim_);
  KINGLET_TRY(first_->run(step, arena, x, out));
  KINGLET_TRY(second_->run(step, arena, x, other));
  step.for_each_part(step.n_tokens() * hidden_dim_, [&](size_t begin, size_t end) {
    step.kernels().add_scaled(out + begin, other + begin, 1.0f, end - begin);
  });
  return {};
}

}  // namespace kinglet
