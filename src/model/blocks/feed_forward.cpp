#include "model/blocks/feed_forward.h"

#include <algorithm>
#include <utility>

#include "base/exponential.h"
#include "model/step.h"

namespace kinglet {

namespace {

// Finds where the gate's rows are.
Gate find_gate(const LayerLoader& loader, uint32_t width) {
  const Gate gate = loader.traits().ffn.gate;
  if (gate != Gate::as_given) return gate;
  if (loader.has("ffn_gate")) return Gate::separate;
  return loader.n_rows("ffn_up") == width ? Gate::none : Gate::fused;
}

// Reads the parameters of xIELU. The file has the curvatures as trained: softplus makes them
// positive.
Result<Xielu> read_xielu(const LayerLoader& loader) {
  const auto number = [&](std::string_view key) {
    return loader.global_keys().number_of_layer(key, loader.config().n_layers, loader.index());
  };
  KINGLET_ASSIGN(const float positive, number("xielu.alpha_p"));
  KINGLET_ASSIGN(const float negative, number("xielu.alpha_n"));
  Xielu xielu;
  KINGLET_ASSIGN(xielu.slope, number("xielu.beta"));
  KINGLET_ASSIGN(xielu.limit, number("xielu.eps"));
  xielu.positive = exponential::softplus(positive);
  xielu.negative = xielu.slope + exponential::softplus(negative);
  return xielu;
}

}  // namespace

Result<std::unique_ptr<Block>> FeedForward::load(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  const uint32_t width = loader.layer().ffn_dim;
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
  auto block = std::make_unique<FeedForward>(gate, up, down, loader.config().activation);
  if (loader.config().activation == Activation::xielu) {
    KINGLET_ASSIGN(block->xielu_, read_xielu(loader));
  }
  return std::unique_ptr<Block>(std::move(block));
}

Result<FeedForward> FeedForward::load_shared_expert(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  const uint32_t width = loader.config().shared_dim;
  KINGLET_ASSIGN(const Linear gate, loader.linear("ffn_gate_shexp", width, hidden_dim));
  KINGLET_ASSIGN(const Linear up, loader.linear("ffn_up_shexp", width, hidden_dim));
  KINGLET_ASSIGN(const Linear down, loader.linear("ffn_down_shexp", hidden_dim, width));
  return FeedForward(gate, up, down, loader.config().activation);
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
  const Buffers buffers = lay_out(arena, n_rows, width(), is_gated());
  if (is_gated()) {
    step.project(x, n_rows, {{&gate_, buffers.gate}, {&up_, buffers.up}});
  } else {
    step.project(x, n_rows, {{&up_, buffers.gate}});
  }
  step.for_each_part(n_rows * width(), [&](size_t begin, size_t end) {
    activate(step.kernels(), buffers.gate + begin, buffers.up + begin, end - begin);
  });
  step.project(buffers.gate, n_rows, {{&down_, out}});
}

// Computes x [n] = activation(x), times `up` if there is a gate.
void FeedForward::activate(const KernelSet& kernels, float* x, const float* up, size_t n) const {
  constexpr float kQuickGelu = 1.702f;
  switch (activation_) {
    case Activation::silu:
      return is_gated() ? kernels.silu_multiply(x, up, n) : kernels.silu(x, n);
    case Activation::gelu:
      return is_gated() ? kernels.gelu_multiply(x, up, n) : kernels.gelu(x, n);
    case Activation::relu_squared:
      kernels.relu_squared(x, n);
      break;
    case Activation::xielu:
      kernels.xielu(x, xielu_, n);
      break;
    case Activation::quick_gelu:
      for (size_t i = 0; i < n; ++i) x[i] *= kQuickGelu;
      kernels.silu(x, n);
      for (size_t i = 0; i < n; ++i) x[i] *= 1 / kQuickGelu;
      break;
  }
  if (is_gated()) kernels.multiply(x, up, n);
}

}  // namespace kinglet
