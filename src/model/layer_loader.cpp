#include "model/layer_loader.h"

#include <numeric>

#include "base/format.h"

namespace kinglet {

std::string LayerLoader::prefix() const { return cat("blk.", index_, "."); }

std::string LayerLoader::name(std::string_view part, std::string_view suffix) const {
  return cat(prefix(), part, suffix);
}

uint64_t LayerLoader::n_rows(std::string_view part) const {
  const TensorInfo* info = tensors_.header().find_tensor(name(part));
  return info == nullptr ? 0 : info->shape[1];
}

Result<const float*> LayerLoader::bias(std::string_view part, uint64_t n, Presence presence) const {
  const std::string tensor = name(part, ".bias");
  const bool wanted =
      presence == Presence::required || (presence == Presence::optional && tensors_.has(tensor));
  if (!wanted) return nullptr;
  return tensors_.vector(tensor, n);
}

Result<Linear> LayerLoader::linear(std::string_view part, uint32_t n_rows, uint32_t n_columns,
                                   Presence presence) const {
  Linear linear;
  KINGLET_ASSIGN(linear.matrix, tensors_.matrix(name(part), n_rows, n_columns));
  KINGLET_ASSIGN(linear.bias, bias(part, n_rows, presence));
  KINGLET_ASSIGN(linear.scale, tensors_.scales(name(part, ""), 1));
  return linear;
}

Result<std::vector<Linear>> LayerLoader::fused(std::string_view part,
                                               const std::vector<uint64_t>& n_rows,
                                               Presence presence) const {
  const uint64_t total = std::accumulate(n_rows.begin(), n_rows.end(), uint64_t{0});
  KINGLET_ASSIGN(const auto matrices, tensors_.fused(name(part), n_rows, config_.hidden_dim));
  KINGLET_ASSIGN(const float* biases, bias(part, total, presence));
  KINGLET_ASSIGN(const float* scale, tensors_.scales(name(part, ""), 1));
  std::vector<Linear> parts;
  for (size_t i = 0; i < matrices.size(); ++i) {
    parts.push_back({matrices[i], biases, scale});
    if (biases != nullptr) biases += n_rows[i];
  }
  return parts;
}

Result<std::vector<Linear>> LayerLoader::experts(std::string_view part, uint32_t n_experts,
                                                 uint32_t n_rows, uint32_t n_columns,
                                                 uint32_t n_parts) const {
  KINGLET_ASSIGN(const auto matrices,
                 tensors_.experts(name(part), n_experts, n_parts, n_rows, n_columns));
  KINGLET_ASSIGN(const float* scales, tensors_.scales(name(part, ""), n_experts));
  std::vector<Linear> experts;
  for (size_t i = 0; i < matrices.size(); ++i) {
    experts.push_back({matrices[i], nullptr, scales == nullptr ? nullptr : scales + i / n_parts});
  }
  return experts;
}

Result<Norm> LayerLoader::norm(std::string_view part) const {
  const std::string stem = prefix() + std::string(part);
  // Some converters omit the suffix.
  if (!tensors_.has(stem + ".weight") && tensors_.has(stem)) {
    Norm norm{.width = config_.hidden_dim, .n_weights = config_.hidden_dim};
    KINGLET_ASSIGN(norm.weight, tensors_.vector(stem, config_.hidden_dim));
    return norm;
  }
  return take_norm(tensors_, stem, config_);
}

Result<Norm> LayerLoader::head_norm(std::string_view part, uint32_t n) const {
  Norm norm;
  const HeadNorm kind = traits().attention.head_norm;
  const bool is_full = kind == HeadNorm::full_width || kind == HeadNorm::full_width_or_none;
  const bool may_lack = kind == HeadNorm::own_or_none || kind == HeadNorm::full_width_or_none;
  if (kind == HeadNorm::none || (may_lack && !has(part))) return norm;
  norm.width = is_full ? n : layer().head_dim;
  norm.n_weights = kind == HeadNorm::shared ? layer().head_dim : n;
  KINGLET_ASSIGN(norm.weight, tensors_.vector(name(part), norm.n_weights, norm.width));
  if (kind == HeadNorm::full_width_or_none) {
    KINGLET_ASSIGN(norm.bias, bias(part, n, Presence::optional));
  }
  return norm;
}

}  // namespace kinglet
