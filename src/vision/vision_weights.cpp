#include "vision/vision_weights.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/format.h"
#include "model/tensor_taker.h"

namespace kinglet {
namespace {

class Loader {
 public:
  Loader(GgufFile& file, const KernelSet& kernels, const VisionConfig& config)
      : tensors_(file, kernels), config_(config) {}

  Result<VisionWeights> load();

 private:
  bool has(const std::string& name) const { return tensors_.has(name); }
  // The dimensions of the matrix of that name; 0 if there is none.
  uint64_t n_rows(const std::string& name) const { return shape_of(name, 1); }
  uint64_t n_columns(const std::string& name) const { return shape_of(name, 0); }
  uint64_t shape_of(const std::string& name, size_t dim) const {
    const TensorInfo* info = tensors_.header().find_tensor(name + ".weight");
    return info == nullptr ? 0 : info->shape[dim];
  }

  Result<const float*> bias(const std::string& name, uint64_t n) {
    if (!has(name + ".bias")) return nullptr;
    return tensors_.vector(name + ".bias", n);
  }
  Result<Linear> linear(const std::string& name, uint64_t n_rows, uint64_t n_columns) {
    Linear linear;
    KINGLET_ASSIGN(linear.matrix, tensors_.matrix(name + ".weight", n_rows, n_columns));
    KINGLET_ASSIGN(linear.bias, bias(name, n_rows));
    return linear;
  }
  Result<Norm> norm(const std::string& name, uint64_t n);
  // Returns an empty norm if the file has none of that name.
  Result<Norm> optional_norm(const std::string& name, uint64_t n) {
    if (!has(name + ".weight")) return Norm{};
    return norm(name, n);
  }

  Status load_patches(VisionWeights& weights);
  Status load_positions(VisionWeights& weights);
  Status load_attention(const std::string& layer, TowerLayer& weights);
  Status load_ffn(const std::string& layer, TowerLayer& weights);
  Status load_deepstack(uint32_t index, VisionWeights& weights, OutputWeights& deepstack);
  Status load_output(VisionWeights& weights);

  TensorTaker tensors_;
  const VisionConfig& config_;
};

Result<Norm> Loader::norm(const std::string& name, uint64_t n) {
  const auto width = static_cast<size_t>(n);
  Norm norm{.width = width, .n_weights = width};
  KINGLET_ASSIGN(norm.weight, tensors_.vector(name + ".weight", n));
  if (config_.projector->has_rms_norms) return norm;
  KINGLET_ASSIGN(norm.bias, bias(name, n));
  return norm;
}

Status Loader::load_patches(VisionWeights& weights) {
  const std::string name = "v.patch_embd";
  const uint32_t n = config_.hidden_dim;
  KINGLET_ASSIGN(weights.filters.matrix,
                 tensors_.filters(name + ".weight", n, kChannels, config_.patch_size));
  KINGLET_ASSIGN(weights.filters.bias, bias(name, n));
  if (!config_.projector->has_second_filter) return {};
  KINGLET_ASSIGN(weights.second_filters.matrix,
                 tensors_.filters(name + ".weight.1", n, kChannels, config_.patch_size));
  return {};
}

Status Loader::load_positions(VisionWeights& weights) {
  if (config_.projector->positions == Positions::rotated) return {};
  const std::string name = "v.position_embd";
  uint64_t side = config_.image_size / config_.patch_size;
  if (config_.projector->positions != Positions::fixed) {
    side = static_cast<uint64_t>(std::sqrt(static_cast<double>(n_rows(name))) + 0.5);
  }
  KINGLET_ASSIGN(weights.positions,
                 tensors_.matrix(name + ".weight", side * side, config_.hidden_dim));
  weights.positions_side = static_cast<uint32_t>(side);
  return {};
}

// Reads "attn_qkv", or "attn_q", "attn_k" and "attn_v"; then "attn_out".
Status Loader::load_attention(const std::string& layer, TowerLayer& weights) {
  const uint32_t n = config_.hidden_dim;
  const std::string fused = layer + "attn_qkv";
  Linear* const parts[] = {&weights.query, &weights.key, &weights.value};
  if (has(fused + ".weight")) {
    KINGLET_ASSIGN(const auto matrices, tensors_.fused(fused + ".weight", {n, n, n}, n));
    KINGLET_ASSIGN(const float* biases, bias(fused, 3 * uint64_t{n}));
    for (size_t i = 0; i < matrices.size(); ++i) {
      *parts[i] = {matrices[i], biases == nullptr ? nullptr : biases + i * n};
    }
  } else {
    const char* const names[] = {"attn_q", "attn_k", "attn_v"};
    for (size_t i = 0; i < std::size(names); ++i) {
      KINGLET_ASSIGN(*parts[i], linear(layer + names[i], n, n));
    }
  }
  KINGLET_ASSIGN(weights.output, linear(layer + "attn_out", n, n));
  return {};
}

Status Loader::load_ffn(const std::string& layer, TowerLayer& weights) {
  const uint32_t n = config_.hidden_dim;
  std::string up = layer + "ffn_up";
  std::string down = layer + "ffn_down";
  const std::string gate = layer + "ffn_gate";
  if (config_.projector->may_swap_ffn && n_columns(down) == n) std::swap(up, down);
  const uint64_t width = n_rows(up);
  KINGLET_ASSIGN(weights.up, linear(up, width, n));
  KINGLET_ASSIGN(weights.down, linear(down, n, width));
  if (has(gate + ".weight")) {
    KINGLET_ASSIGN(weights.gate, linear(gate, width, n));
  }
  return {};
}

Status Loader::load_deepstack(uint32_t index, VisionWeights& weights, OutputWeights& deepstack) {
  const std::string stem = cat("v.deepstack.", index, ".");
  if (!config_.projector->has_deepstack || !has(stem + "fc1.weight")) return {};
  const uint64_t merged = config_.merged_dim();
  const uint64_t width = n_rows(stem + "fc1");
  KINGLET_ASSIGN(deepstack.norm, norm(stem + "norm", merged));
  KINGLET_ASSIGN(deepstack.first, linear(stem + "fc1", width, merged));
  KINGLET_ASSIGN(deepstack.second, linear(stem + "fc2", weights.row_width, width));
  ++weights.n_deepstack;
  return {};
}

Status Loader::load_output(VisionWeights& weights) {
  const Projector& projector = *config_.projector;
  const std::string first(projector.first);
  const std::string second(projector.second);
  const std::string norm_name(projector.norm);
  OutputWeights& output = weights.output;
  if (projector.kind == ProjectorKind::pooled) {
    KINGLET_ASSIGN(output.norm, norm(norm_name, config_.hidden_dim));
    KINGLET_ASSIGN(output.first.matrix,
                   tensors_.matrix(first + ".weight", config_.hidden_dim, n_columns(first)));
    weights.row_width = static_cast<uint32_t>(output.first.matrix.n_columns);
    return {};
  }
  const uint64_t merged = config_.merged_dim();
  if (!norm_name.empty()) {
    KINGLET_ASSIGN(output.norm, optional_norm(norm_name, merged));
  }
  const uint64_t width = n_rows(first);
  KINGLET_ASSIGN(output.first, linear(first, width, merged));
  weights.row_width = static_cast<uint32_t>(width);
  if (projector.kind == ProjectorKind::linear) return {};
  const uint64_t row_width = n_rows(second);
  KINGLET_ASSIGN(output.second, linear(second, row_width, width));
  weights.row_width = static_cast<uint32_t>(row_width);
  return {};
}

Result<VisionWeights> Loader::load() {
  const uint32_t n = config_.hidden_dim;
  VisionWeights weights;
  KINGLET_TRY(load_patches(weights));
  KINGLET_TRY(load_positions(weights));
  KINGLET_TRY(load_output(weights));
  KINGLET_ASSIGN(weights.pre_norm, optional_norm("v.pre_ln", n));
  KINGLET_ASSIGN(weights.post_norm, optional_norm("v.post_ln", n));
  for (uint32_t i = 0; i < config_.n_layers; ++i) {
    const std::string layer = cat("v.blk.", i, ".");
    TowerLayer loaded;
    KINGLET_ASSIGN(loaded.attention_norm, norm(layer + "ln1", n));
    KINGLET_TRY(load_attention(layer, loaded));
    KINGLET_ASSIGN(loaded.ffn_norm, norm(layer + "ln2", n));
    KINGLET_TRY(load_ffn(layer, loaded));
    KINGLET_TRY(load_deepstack(i, weights, loaded.deepstack));
    weights.layers.push_back(loaded);
  }
  // The tensors of an audio reader in the same file.
  tensors_.skip("a.");
  tensors_.skip("mm.a.");
  KINGLET_ASSIGN(WeightFill fill, tensors_.finish());
  KINGLET_TRY(fill.finish());
  return weights;
}

}  // namespace

Result<VisionWeights> take_vision_weights(GgufFile& file, const KernelSet& kernels,
                                          const VisionConfig& config) {
  return Loader(file, kernels, config).load();
}

}  // namespace kinglet
