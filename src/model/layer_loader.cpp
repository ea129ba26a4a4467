#include "model/layer_loader.h"

#include <numeric>

#include "base/format.h"

namespace kinglet {

std::string LayerLoader::prefix() const { return cat(config_.names.prefix, index_, "."); }

std::string LayerLoader::name(std::string_view part, std::string_view suffix) const {
  for (const LayerNames::Other& other : config_.names.others) {
    if (other.part == part) return cat(prefix(), other.in_file, suffix);
  }
  return cat(prefix(), part, suffix);
}

uint64_t LayerLoader::n_rows(std::string_view part) const {
  return tensors_.n_rows(name(part, ""));
}

std::string_view LayerLoader::stored_name(std::string_view part) const {
  return tensors_.header().find_tensor(name(part))->name;
}

Result<const float*> LayerLoader::bias(std::string_view part, uint64_t n, Presence presence) const {
  return take_bias(tensors_, name(part, ""), n, presence);
}

Result<Linear> LayerLoader::linear(std::string_view part, uint32_t n_rows, uint32_t n_columns,
                                   Presence presence) const {
  KINGLET_ASSIGN(Linear linear, take_linear(tensors_, name(part, ""), n_rows, n_columns, presence));
  linear.tensor = stored_name(part);
  return linear;
}

Result<std::vector<Linear>> LayerLoader::fused(std::string_view part,
                                               const std::vector<uint64_t>& n_rows,
                                               Presence presence) const {
  const uint64_t total = std::accumulate(n_rows.begin(), n_rows.end(), uint64_t{0});
  KINGLET_ASSIGN(const auto matrices, tensors_.fused(name(part), n_rows, config_.hidden_dim));
  KINGLET_ASSIGN(const float* biases, bias(part, total, presence));
  Linear whole;
  KINGLET_TRY(take_factors(tensors_, name(part, ""), whole));
  std::vector<Linear> parts(matrices.size(), whole);
  for (size_t i = 0; i < matrices.size(); ++i) {
    parts[i].matrix = matrices[i];
    parts[i].bias = biases;
    if (biases != nullptr) biases += n_rows[i];
  }
  parts.front().tensor = stored_name(part);
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
    if (i % n_parts != 0) continue;
    experts.back().tensor = stored_name(part);
    experts.back().index = static_cast<uint32_t>(i / n_parts);
  }
  return experts;
}

Result<Norm> LayerLoader::norm(std::string_view part) const {
  const std::string stem = name(part, "");
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
  // The weights of all heads are a matrix or one row.
  const uint64_t n_columns = tensors_.n_columns(name(part, ""));
  KINGLET_ASSIGN(norm.weight,
                 tensors_.vector(name(part), norm.n_weights,
                                 n_columns == norm.n_weights ? n_columns : norm.width));
  if (kind == HeadNorm::full_width_or_none) {
    KINGLET_ASSIGN(norm.bias, bias(part, n, Presence::optional));
  }
  return norm;
}

}  // namespace kinglet
