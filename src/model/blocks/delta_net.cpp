#include "model/blocks/delta_net.h"

#include <algorithm>
#include <cmath>

#include "base/exponential.h"
#include "base/format.h"
#include "model/step.h"

namespace kinglet {

Status DeltaNet::load_sizes(LayerLoader& loader) {
  const Keys& keys = loader.keys();
  KINGLET_ASSIGN(head_dim_, keys.size("ssm.state_size", kMaxState));
  KINGLET_ASSIGN(n_key_heads_, keys.size("ssm.group_count", kMaxHeads));
  KINGLET_ASSIGN(n_value_heads_, keys.size("ssm.time_step_rank", kMaxHeads));
  KINGLET_ASSIGN(const uint32_t inner_dim, keys.size("ssm.inner_size", kMaxDim));
  if (inner_dim != value_dim()) {
    return keys.error(
        ErrorCode::corrupt, "ssm.inner_size",
        cat("is ", inner_dim, ", expected ", n_value_heads_, " heads of ", head_dim_));
  }
  if (n_value_heads_ % n_key_heads_ != 0) {
    return keys.error(ErrorCode::corrupt, "ssm.time_step_rank",
                      cat("is ", n_value_heads_, " heads, expected a multiple of the ",
                          n_key_heads_, " key heads"));
  }
  return {};
}

Status DeltaNet::load_tensors(LayerLoader& loader) {
  const uint32_t hidden_dim = loader.config().hidden_dim;
  KINGLET_ASSIGN(const uint32_t width, loader.keys().size("ssm.conv_kernel", kMaxConvolution));
  KINGLET_ASSIGN(qkv_, loader.linear("attn_qkv", n_channels(), hidden_dim, Presence::no));
  KINGLET_ASSIGN(gate_, loader.linear("attn_gate", value_dim(), hidden_dim, Presence::no));
  KINGLET_ASSIGN(beta_, loader.linear("ssm_beta", n_value_heads_, hidden_dim, Presence::no));
  KINGLET_ASSIGN(alpha_, loader.linear("ssm_alpha", n_value_heads_, hidden_dim, Presence::no));
  KINGLET_ASSIGN(convolution_,
                 CausalConvolution::load(loader, "ssm_conv1d", width, n_channels(), Presence::no));
  KINGLET_ASSIGN(dt_bias_, loader.vector("ssm_dt.bias", n_value_heads_));
  KINGLET_ASSIGN(a_, loader.vector("ssm_a", n_value_heads_));
  norm_ = {.width = head_dim_, .n_weights = head_dim_};
  KINGLET_ASSIGN(norm_.weight, loader.vector("ssm_norm.weight", head_dim_));
  KINGLET_ASSIGN(output_, loader.linear("ssm_out", hidden_dim, value_dim(), Presence::no));
  state_ = loader.keep_recurrent(uint64_t{value_dim()} * head_dim_);
  return {};
}

Result<std::unique_ptr<Block>> DeltaNet::load(LayerLoader& loader) {
  auto block = std::make_unique<DeltaNet>();
  KINGLET_TRY(block->load_sizes(loader));
  KINGLET_TRY(block->load_tensors(loader));
  // x / |x| is x / sqrt(mean(x²)) / sqrt(S).
  const auto size = static_cast<float>(block->head_dim_);
  block->key_weight_.assign(block->head_dim_, 1.0f / std::sqrt(size));
  block->query_weight_.assign(block->head_dim_, 1.0f / size);
  return std::unique_ptr<Block>(std::move(block));
}

DeltaNet::Buffers DeltaNet::lay_out(Arena& arena, const BatchShape& batch) const {
  return {.qkv = convolution_.take_input(arena, batch.n_tokens),
          .mixed = arena.take<float>(batch.n_tokens * n_channels()),
          .gate = arena.take<float>(batch.n_tokens * value_dim()),
          .beta = arena.take<float>(batch.n_tokens * n_value_heads_),
          .alpha = arena.take<float>(batch.n_tokens * n_value_heads_),
          .y = arena.take<float>(batch.n_tokens * value_dim())};
}

ScratchNeeds DeltaNet::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch);
  return {arena.n_bytes(), std::max(qkv_.matrix.n_columns, output_.matrix.n_columns)};
}

Status DeltaNet::run(Step& step, Arena arena, const float* x, float* out) const {
  const Buffers buffers = lay_out(arena, step.shape());
  step.project(x, step.n_tokens(),
               {{&qkv_, buffers.qkv},
                {&gate_, buffers.gate},
                {&beta_, buffers.beta},
                {&alpha_, buffers.alpha}});
  convolution_.run(step, buffers.qkv, buffers.mixed);
  step.for_each_part(step.n_tokens() * n_channels(), [&](size_t begin, size_t end) {
    step.kernels().silu(buffers.mixed + begin, end - begin);
  });
  normalize_keys(step, buffers);
  apply_rule(step, buffers);
  gate(step, buffers);
  step.project(buffers.gate, step.n_tokens(), {{&output_, out}});
  return {};
}

void DeltaNet::normalize_keys(Step& step, const Buffers& buffers) const {
  const float epsilon = step.config().norm_epsilon / static_cast<float>(head_dim_);
  step.for_each(step.n_tokens(), [&](size_t t) {
    float* row = buffers.mixed + t * n_channels();
    for (uint32_t head = 0; head < 2 * n_key_heads_; ++head, row += head_dim_) {
      const float* weight = (head < n_key_heads_ ? query_weight_ : key_weight_).data();
      step.kernels().rms_norm(row, weight, epsilon, head_dim_, row);
    }
  });
}

// Replaces alpha by the decay and beta by the strength, and applies the delta rule.
void DeltaNet::apply_rule(Step& step, const Buffers& buffers) const {
  const size_t n_floats = size_t{head_dim_} * head_dim_;
  const float* before = step.state().recurrent().before() + state_;
  float* after = step.state().recurrent().after() + state_;
  step.for_each(n_value_heads_, [&](size_t head) {
    for (size_t t = 0; t < step.n_tokens(); ++t) {
      float& alpha = buffers.alpha[t * n_value_heads_ + head];
      float& beta = buffers.beta[t * n_value_heads_ + head];
      alpha = exponential::exp(a_[head] * exponential::softplus(alpha + dt_bias_[head]));
      beta = exponential::sigmoid(beta);
    }
    const float* query = buffers.mixed + head % n_key_heads_ * head_dim_;
    step.kernels().delta_rule({.from = before + head * n_floats,
                               .to = after + head * n_floats,
                               .query = query,
                               .key = query + key_dim(),
                               .value = buffers.mixed + 2 * key_dim() + head * head_dim_,
                               .decay = buffers.alpha + head,
                               .strength = buffers.beta + head,
                               .row_stride = n_channels(),
                               .gate_stride = n_value_heads_,
                               .n_tokens = step.n_tokens(),
                               .n_keys = head_dim_,
                               .n_values = head_dim_,
                               .output = buffers.y + head * head_dim_,
                               .output_stride = value_dim()});
  });
}

// Computes gate = norm(y) ⊙ silu(gate).
void DeltaNet::gate(Step& step, const Buffers& buffers) const {
  step.normalize(buffers.y, norm_, step.n_tokens(), value_dim(), buffers.y);
  step.for_each_part(step.n_tokens() * value_dim(), [&](size_t begin, size_t end) {
    step.kernels().silu_multiply(buffers.gate + begin, buffers.y + begin, end - begin);
  });
}

}  // namespace kinglet
