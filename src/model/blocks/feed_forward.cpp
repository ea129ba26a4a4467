#include "model/blocks/feed_forward.h"

#include <algorithm>

#include "model/step.h"

namespace kinglet {

namespace {

// Where the gate's rows are.
Gate find_gate(const LayerLoader& loader, uint32_t width) {
  const Gate gate = loader.traits().gate;
  if (gate != Gate::as_given) return gate;
  if (loader.has("ffn_gate")) return Gate::separate;
  return loader.n_rows("ffn_up") == width ? Gate::none : Gate::fused;
}

}  // namespace

Result<std::unique_ptr<Block>> FeedForward::load(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  const uint32_t width = loader.config().ffn_dim;
  const Gate kind = find_gate(loader, width);
  Linear gate;
  Linear up;
  if (kind == Gate::fused) {
    KINGLET_ASSIGN(const auto parts,
                   loader.fused("ffn_up", {width, width}, loader.traits().other_biases));
    gate = parts[0];
    up = parts[1];
  } else {
    if (kind == Gate::separate) {
      KINGLET_ASSIGN(gate, loader.linear("ffn_gate", width, hidden_dim));
    }
    KINGLET_ASSIGN(up, loader.linear("ffn_up", width, hidden_dim));
  }
  KINGLET_ASSIGN(const Linear down, loader.linear("ffn_down", hidden_dim, width));
  return std::unique_ptr<Block>(std::make_unique<FeedForward>(gate, up, down));
}

Result<FeedForward> FeedForward::load_shared_expert(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  const uint32_t width = loader.config().shared_dim;
  KINGLET_ASSIGN(const Linear gate, loader.linear("ffn_gate_shexp", width, hidden_dim));
  KINGLET_ASSIGN(const Linear up, loader.linear("ffn_up_shexp", width, hidden_dim));
  KINGLET_ASSIGN(const Linear down, loader.linear("ffn_down_shexp", hidden_dim, width));
  return FeedForward(gate, up, down);
}

namespace {

struct Buffers {
  float* gate;  // [width], or the one input of an activation without a gate
  float* up;    // [width]
};

Buffers lay_out(Arena& arena, uint64_t n_rows, size_t width, bool is_gated) {
  return {.gate = arena.take<float>(n_rows * width),
          .up = arena.take<float>(is_gated ? n_rows * width : 0)};
}

}  // namespace

ScratchNeeds FeedForward::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch.n_tokens, width(), is_gated());
  return {arena.n_bytes(), std::max(up_.matrix.n_columns, width())};
}

Status FeedForward::run(Step& step, Arena arena, const float* x, float* out) const {
  run_rows(step, arena, x, step.n_tokens(), out);
  return {};
}

void FeedForward::run_rows(Step& step, Arena arena, const float* x, size_t n_rows,
                           float* out) const {
  const KernelSet& kernels = step.kernels();
  const Buffers buffers = lay_out(arena, n_rows, width(), is_gated());
  if (is_gated()) {
    step.project(x, n_rows, {{&gate_, buffers.gate}, {&up_, buffers.up}});
  } else {
    step.project(x, n_rows, {{&up_, buffers.gate}});
  }
  const auto multiply_gate =
      step.config().activation == Activation::silu ? kernels.silu_multiply : kernels.gelu_multiply;
  step.for_each_part(n_rows * width(), [&](size_t begin, size_t end) {
    if (is_gated()) {
      multiply_gate(buffers.gate + begin, buffers.up + begin, end - begin);
    } else {
      kernels.gelu(buffers.gate + begin, end - begin);
    }
  });
  step.project(buffers.gate, n_rows, {{&down_, out}});
}

}  // namespace kinglet
