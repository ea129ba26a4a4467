#include "model/blocks/mamba2.h"

#include <algorithm>

#include "base/exponential.h"
#include "base/format.h"
#include "model/step.h"

namespace kinglet {

Status Mamba2::load_sizes(LayerLoader& loader) {
  const Keys& keys = loader.keys();
  KINGLET_ASSIGN(const uint32_t inner_dim, keys.size("ssm.inner_size", kMaxDim));
  KINGLET_ASSIGN(n_states_, keys.size("ssm.state_size", kMaxState));
  KINGLET_ASSIGN(n_heads_, keys.size("ssm.time_step_rank", kMaxDim));
  KINGLET_ASSIGN(n_groups_, keys.size("ssm.group_count", kMaxHeads));
  if (inner_dim % n_heads_ != 0 || n_heads_ % n_groups_ != 0) {
    return keys.error(ErrorCode::corrupt, "ssm.time_step_rank",
                      cat("is ", n_heads_, " heads, expected a divisor of the inner size ",
                          inner_dim, " and a multiple of the ", n_groups_, " groups"));
  }
  head_dim_ = inner_dim / n_heads_;
  return {};
}

Result<std::unique_ptr<Block>> Mamba2::load(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  auto block = std::make_unique<Mamba2>();
  KINGLET_TRY(block->load_sizes(loader));
  KINGLET_ASSIGN(const uint32_t width, loader.keys().size("ssm.conv_kernel", kMaxConvolution));
  const uint32_t inner_dim = block->inner_dim();
  const uint32_t n_channels = block->n_channels();
  const uint32_t n_heads = block->n_heads_;
  KINGLET_ASSIGN(const auto parts,
                 loader.fused("ssm_in", {inner_dim, n_channels, n_heads}, Presence::no));
  block->z_ = parts[0];
  block->xbc_ = parts[1];
  block->dt_ = parts[2];
  KINGLET_ASSIGN(block->convolution_, CausalConvolution::load(loader, "ssm_conv1d", width,
                                                              n_channels, Presence::optional));
  KINGLET_ASSIGN(block->dt_bias_, loader.vector("ssm_dt.bias", n_heads));
  KINGLET_ASSIGN(block->a_, loader.vector("ssm_a", n_heads, 1));
  KINGLET_ASSIGN(block->d_, loader.vector("ssm_d", n_heads, 1));
  if (loader.has("ssm_norm")) {
    block->norm_ = {.width = inner_dim / block->n_groups_, .n_weights = inner_dim};
    KINGLET_ASSIGN(block->norm_.weight,
                   loader.vector("ssm_norm.weight", inner_dim, block->norm_.width));
  }
  KINGLET_ASSIGN(block->output_, loader.linear("ssm_out", hidden_dim, inner_dim, Presence::no));
  block->state_ = loader.keep_recurrent(uint64_t{inner_dim} * block->n_states_);
  return std::unique_ptr<Block>(std::move(block));
}

Mamba2::Buffers Mamba2::lay_out(Arena& arena, const BatchShape& batch) const {
  return {.z = arena.take<float>(batch.n_tokens * inner_dim()),
          .xbc = convolution_.take_input(arena, batch.n_tokens),
          .mixed = arena.take<float>(batch.n_tokens * n_channels()),
          .dt = arena.take<float>(batch.n_tokens * n_heads_),
          .decay = arena.take<float>(batch.n_tokens * n_heads_),
          .y = arena.take<float>(batch.n_tokens * inner_dim())};
}

ScratchNeeds Mamba2::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch);
  return {arena.n_bytes(), std::max(xbc_.matrix.n_columns, output_.matrix.n_columns)};
}

Status Mamba2::run(Step& step, Arena arena, const float* x, float* out) const {
  const Buffers buffers = lay_out(arena, step.shape());
  step.project(x, step.n_tokens(), {{&z_, buffers.z}, {&xbc_, buffers.xbc}, {&dt_, buffers.dt}});
  convolution_.run(step, buffers.xbc, buffers.mixed);
  step.for_each_part(step.n_tokens() * n_channels(), [&](size_t begin, size_t end) {
    step.kernels().silu(buffers.mixed + begin, end - begin);
  });
  scan(step, buffers);
  gate(step, buffers);
  step.project(buffers.z, step.n_tokens(), {{&output_, out}});
  return {};
}

// Replaces dt by the time step, and updates the state.
void Mamba2::scan(Step& step, const Buffers& buffers) const {
  const size_t n_floats = size_t{head_dim_} * n_states_;
  const float* before = step.state().recurrent().before() + state_;
  float* after = step.state().recurrent().after() + state_;
  step.for_each(n_heads_, [&](size_t head) {
    for (size_t t = 0; t < step.n_tokens(); ++t) {
      float& dt = buffers.dt[t * n_heads_ + head];
      dt = exponential::softplus(dt + dt_bias_[head]);
      buffers.decay[t * n_heads_ + head] = exponential::exp(dt * a_[head]);
    }
    const size_t group = head / (n_heads_ / n_groups_);
    const float* input = buffers.mixed + inner_dim() + group * n_states_;
    step.kernels().state_space({.from = before + head * n_floats,
                                .to = after + head * n_floats,
                                .x = buffers.mixed + head * head_dim_,
                                .input = input,
                                .readout = input + n_groups_ * n_states_,
                                .decay = buffers.decay + head,
                                .step = buffers.dt + head,
                                .skip = d_[head],
                                .row_stride = n_channels(),
                                .gate_stride = n_heads_,
                                .n_tokens = step.n_tokens(),
                                .n_channels = head_dim_,
                                .n_states = n_states_,
                                .output = buffers.y + head * head_dim_,
                                .output_stride = inner_dim()});
  });
}

// Computes z = norm(y ⊙ silu(z)).
void Mamba2::gate(Step& step, const Buffers& buffers) const {
  step.for_each_part(step.n_tokens() * inner_dim(), [&](size_t begin, size_t end) {
    step.kernels().silu_multiply(buffers.z + begin, buffers.y + begin, end - begin);
  });
  step.normalize(buffers.z, norm_, step.n_tokens(), inner_dim(), buffers.z);
}

}  // namespace kinglet
