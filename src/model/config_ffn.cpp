// Reads the feed-forward networks of layers, and mixtures of experts.
#include <utility>

#include "base/format.h"
#include "model/config_readers.h"

namespace kinglet {
namespace {

constexpr uint32_t kMaxExperts = 1024;

}  // namespace

Status read_ffn(const Keys& keys, ModelConfig& config) {
  constexpr std::string_view kWidth = "feed_forward_length";
  const Architecture& traits = *config.architecture;
  const bool may_lack = traits.ffn.experts == Presence::required &&
                        keys.find("expert_feed_forward_length") != nullptr;
  if (!traits.ffn.exists || (may_lack && keys.find(kWidth) == nullptr)) return {};
  KINGLET_ASSIGN(const auto widths,
                 keys.by_layer(kWidth, config.n_layers + config.n_skipped_layers));
  for (uint32_t i = 0; i < config.n_layers; ++i) {
    KINGLET_ASSIGN(config.layers[i].ffn_dim, keys.check(kWidth, widths[i], kMaxDim));
  }
  return {};
}

Status read_experts(const Keys& keys, ModelConfig& config) {
  const Architecture& traits = *config.architecture;
  KINGLET_ASSIGN(config.n_experts, keys.number("expert_count", uint32_t{0}));
  if (config.n_experts == 0 && traits.ffn.experts != Presence::required) return {};
  if (traits.ffn.experts == Presence::no) {
    // A single expert, which all tokens use, is not a mixture of experts.
    if (std::exchange(config.n_experts, 0) == 1) return {};
    return keys.error(ErrorCode::unsupported_feature, "expert_count",
                      "asks for a mixture of experts, which this architecture does not support");
  }
  KINGLET_ASSIGN(config.n_experts, keys.size("expert_count", kMaxExperts));
  KINGLET_ASSIGN(config.n_experts_used, keys.size("expert_used_count", config.n_experts));
  const uint32_t ffn_dim = config.layers.front().ffn_dim;
  KINGLET_ASSIGN(config.expert_dim, keys.size("expert_feed_forward_length", kMaxDim, ffn_dim));
  constexpr std::string_view kSharedDim = "expert_shared_feed_forward_length";
  KINGLET_ASSIGN(config.shared_dim,
                 keys.number(kSharedDim, traits.ffn.gates_shared_expert ? ffn_dim : 0));
  if (config.shared_dim > kMaxDim) {
    return keys.error(ErrorCode::corrupt, kSharedDim,
                      cat("is ", config.shared_dim, ", expected at most ", kMaxDim));
  }
  constexpr std::string_view kDenseLayers = "leading_dense_block_count";
  KINGLET_ASSIGN(const uint32_t n_dense, keys.number(kDenseLayers, uint32_t{0}));
  if (n_dense > config.n_layers) {
    return keys.error(ErrorCode::corrupt, kDenseLayers,
                      cat("is ", n_dense, ", expected at most ", config.n_layers, " layers"));
  }
  for (uint32_t i = n_dense; i < config.n_layers; ++i) config.layers[i].has_experts = true;
  KINGLET_ASSIGN(const uint32_t gating, keys.number("expert_gating_func", uint32_t{1}));
  if (gating != 1 && !(gating == 2 && traits.ffn.may_gate_by_sigmoid)) {
    return keys.error(ErrorCode::unsupported_feature, "expert_gating_func",
                      cat("is ", gating, ": not supported (supported: 1, softmax",
                          traits.ffn.may_gate_by_sigmoid ? "; 2, sigmoid)" : ")"));
  }
  config.expert_gating = static_cast<ExpertGating>(gating);
  return {};
}

}  // namespace kinglet
