#include "model/weights.h"

#include <string>

#include "base/format.h"
#include "model/tensor_taker.h"

namespace kinglet {
namespace {

// "NAME.weight", and "NAME.bias" where the architecture's norms have one.
Result<Norm> take_norm(TensorTaker& tensors, const std::string& name, const ModelConfig& config) {
  const uint32_t n = config.hidden_dim;
  Norm norm{.width = n, .n_weights = n};
  KINGLET_ASSIGN(norm.weight, tensors.vector(name + ".weight", n));
  if (config.architecture->norm == NormKind::layer) {
    KINGLET_ASSIGN(norm.bias, tensors.vector(name + ".bias", n));
  }
  return norm;
}

// Takes the tensors of one layer, "blk.N.….weight" and "blk.N.….bias".
class LayerTaker {
 public:
  LayerTaker(TensorTaker& tensors, const ModelConfig& config, uint32_t layer)
      : tensors_(tensors),
        config_(config),
        traits_(*config.architecture),
        prefix_(cat("blk.", layer, ".")) {}

  Result<LayerWeights> take() {
    KINGLET_TRY(take_attention());
    KINGLET_TRY(take_norms());
    KINGLET_TRY(config_.n_experts > 0 ? take_experts() : take_ffn());
    return std::move(weights_);
  }

 private:
  std::string name(std::string_view part, std::string_view suffix = ".weight") const {
    return cat(prefix_, part, suffix);
  }
  bool has(std::string_view part) const { return tensors_.has(name(part)); }

  Status take_attention() {
    KINGLET_TRY(has("attn_qkv") ? take_fused_qkv() : take_qkv());
    KINGLET_ASSIGN(weights_.attention_output,
                   linear("attn_output", config_.hidden_dim, config_.q_dim()));
    return {};
  }

  Status take_qkv() {
    const auto take = [&](Linear& to, std::string_view part, uint32_t n_rows) -> Status {
      KINGLET_ASSIGN(to.matrix, tensors_.matrix(name(part), n_rows, config_.hidden_dim));
      KINGLET_ASSIGN(to.bias, bias(part, n_rows, traits_.qkv_biases));
      return {};
    };
    KINGLET_TRY(take(weights_.query, "attn_q", config_.q_dim()));
    KINGLET_TRY(take(weights_.key, "attn_k", config_.kv_dim()));
    return take(weights_.value, "attn_v", config_.kv_dim());
  }

  Status take_fused_qkv() {
    const uint32_t q = config_.q_dim();
    const uint32_t kv = config_.kv_dim();
    KINGLET_ASSIGN(const auto slices,
                   tensors_.fused(name("attn_qkv"), {q, kv, kv}, config_.hidden_dim));
    KINGLET_ASSIGN(const float* biases, bias("attn_qkv", q + 2 * kv, traits_.qkv_biases));
    const auto part_of = [&](size_t slice, size_t offset) {
      return Linear{slices[slice], biases == nullptr ? nullptr : biases + offset};
    };
    weights_.query = part_of(0, 0);
    weights_.key = part_of(1, q);
    weights_.value = part_of(2, q + kv);
    return {};
  }

  Status take_norms() {
    if (traits_.pre_norms) {
      KINGLET_ASSIGN(weights_.attention_norm, norm("attn_norm"));
      const bool may_be_parallel = traits_.parallel == Presence::optional && !has("ffn_norm");
      weights_.parallel = traits_.parallel == Presence::required || may_be_parallel;
      if (!weights_.parallel) {
        KINGLET_ASSIGN(weights_.ffn_norm, norm("ffn_norm"));
      }
    }
    if (traits_.post_norms) {
      KINGLET_ASSIGN(weights_.attention_post_norm, norm("post_attention_norm"));
      KINGLET_ASSIGN(weights_.ffn_post_norm, norm("post_ffw_norm"));
    }
    KINGLET_ASSIGN(weights_.query_norm, head_norm("attn_q_norm", config_.q_dim()));
    KINGLET_ASSIGN(weights_.key_norm, head_norm("attn_k_norm", config_.kv_dim()));
    return {};
  }

  Status take_ffn() {
    const uint32_t hidden = config_.hidden_dim;
    const uint32_t width = config_.ffn_dim;
    FeedForward& ffn = weights_.ffn;
    if (traits_.gate == Gate::fused) {
      KINGLET_ASSIGN(const auto slices, tensors_.fused(name("ffn_up"), {width, width}, hidden));
      ffn.gate.matrix = slices[0];
      ffn.up.matrix = slices[1];
    } else {
      if (traits_.gate == Gate::separate) {
        KINGLET_ASSIGN(ffn.gate, linear("ffn_gate", width, hidden));
      }
      KINGLET_ASSIGN(ffn.up, linear("ffn_up", width, hidden));
    }
    KINGLET_ASSIGN(ffn.down, linear("ffn_down", hidden, width));
    return {};
  }

  Status take_experts() {
    const uint32_t hidden = config_.hidden_dim;
    const uint32_t width = config_.ffn_dim;
    const uint32_t n = config_.n_experts;
    KINGLET_ASSIGN(weights_.router.matrix, tensors_.matrix(name("ffn_gate_inp"), n, hidden));
    KINGLET_ASSIGN(const auto gates, tensors_.experts(name("ffn_gate_exps"), n, width, hidden));
    KINGLET_ASSIGN(const auto ups, tensors_.experts(name("ffn_up_exps"), n, width, hidden));
    KINGLET_ASSIGN(const auto downs, tensors_.experts(name("ffn_down_exps"), n, hidden, width));
    for (uint32_t i = 0; i < n; ++i) {
      weights_.experts.push_back({{gates[i]}, {ups[i]}, {downs[i]}});
    }
    return {};
  }

  // One of the matrices other than query, key and value.
  Result<Linear> linear(std::string_view part, uint32_t n_rows, uint32_t n_columns) {
    Linear linear;
    KINGLET_ASSIGN(linear.matrix, tensors_.matrix(name(part), n_rows, n_columns));
    KINGLET_ASSIGN(linear.bias, bias(part, n_rows, traits_.other_biases));
    return linear;
  }

  Result<const float*> bias(std::string_view part, uint32_t n, Presence presence) {
    const std::string tensor = name(part, ".bias");
    if (presence == Presence::optional && !tensors_.has(tensor)) return nullptr;
    return tensors_.vector(tensor, n);
  }

  Result<Norm> norm(std::string_view part) {
    return take_norm(tensors_, prefix_ + std::string(part), config_);
  }

  Result<Norm> head_norm(std::string_view part, uint32_t n) {
    Norm norm;
    if (traits_.head_norm == HeadNorm::none) return norm;
    if (traits_.head_norm == HeadNorm::own_or_none && !has(part)) return norm;
    norm.width = traits_.head_norm == HeadNorm::full_width ? n : config_.head_dim;
    norm.n_weights = traits_.head_norm == HeadNorm::shared ? config_.head_dim : n;
    KINGLET_ASSIGN(norm.weight, tensors_.vector(name(part), norm.n_weights, norm.width));
    return norm;
  }

  TensorTaker& tensors_;
  const ModelConfig& config_;
  const Architecture& traits_;
  std::string prefix_;
  LayerWeights weights_;
};

// A vector that files may leave out.
Result<const float*> take_optional(TensorTaker& tensors, std::string_view name, uint64_t n) {
  if (!tensors.has(name)) return nullptr;
  return tensors.vector(name, n);
}

Status take_embeddings(TensorTaker& tensors, const GgufHeader& header, ModelConfig& config,
                       Weights& weights) {
  constexpr std::string_view kEmbedding = "token_embd.weight";
  const TensorInfo* embedding = header.find_tensor(kEmbedding);
  if (embedding != nullptr) config.vocab_size = static_cast<uint32_t>(embedding->shape[1]);
  KINGLET_ASSIGN(weights.token_embedding,
                 tensors.matrix(kEmbedding, config.vocab_size, config.hidden_dim));
  if (config.architecture->rope == RopeKind::none) {
    KINGLET_ASSIGN(
        weights.position_embedding,
        tensors.matrix("position_embd.weight", config.context_length, config.hidden_dim));
  }
  return {};
}

Status take_output(TensorTaker& tensors, const ModelConfig& config, Weights& weights) {
  constexpr std::string_view kOutput = "output.weight";
  KINGLET_ASSIGN(weights.output_norm, take_norm(tensors, "output_norm", config));
  weights.output.matrix = weights.token_embedding;
  if (tensors.has(kOutput)) {
    KINGLET_ASSIGN(weights.output.matrix,
                   tensors.matrix(kOutput, config.vocab_size, config.hidden_dim));
  }
  KINGLET_ASSIGN(weights.output.bias, take_optional(tensors, "output.bias", config.vocab_size));
  return {};
}

Status take_rope_factors(TensorTaker& tensors, const ModelConfig& config, Weights& weights) {
  constexpr std::string_view kShort = "rope_factors_short.weight";
  const uint32_t n = config.rope.dim / 2;
  if (n == 0) return {};
  KINGLET_ASSIGN(weights.rope_factors, take_optional(tensors, "rope_freqs.weight", n));
  if (tensors.has(kShort)) {
    KINGLET_ASSIGN(weights.rope_factors, tensors.vector(kShort, n));
    KINGLET_ASSIGN(weights.long_rope_factors, tensors.vector("rope_factors_long.weight", n));
  }
  return {};
}

}  // namespace

Result<Weights> take_weights(GgufFile& file, const KernelSet& kernels, ModelConfig& config) {
  TensorTaker tensors(file, kernels);
  Weights weights;
  KINGLET_TRY(take_embeddings(tensors, file.header(), config, weights));
  weights.layers.reserve(config.n_layers);
  for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
    KINGLET_ASSIGN(LayerWeights layer_weights, LayerTaker(tensors, config, layer).take());
    weights.layers.push_back(std::move(layer_weights));
  }
  KINGLET_TRY(take_output(tensors, config, weights));
  KINGLET_TRY(take_rope_factors(tensors, config, weights));
  KINGLET_TRY(tensors.expect_none_left());
  return weights;
}

}  // namespace kinglet
