#include "vision/patch_merger.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "kernels/packing.h"
#include "model/step.h"

namespace kinglet {
namespace {

constexpr float kInputEpsilon = 1e-5f;  // of the norm before the projector's MLP

// Two matrices [.][n_columns] and [width][.] with GELU between them.
Result<FeedForward> take_mlp(TensorTaker& tensors, const std::string& first,
                             const std::string& second, size_t n_columns, uint64_t width) {
  const uint64_t inner = tensors.n_rows(first);
  KINGLET_ASSIGN(const Linear up, take_linear(tensors, first, inner, n_columns));
  KINGLET_ASSIGN(const Linear down, take_linear(tensors, second, width, inner));
  return FeedForward({}, up, down, Activation::gelu);
}

}  // namespace

Result<PatchMerger> PatchMerger::take(TensorTaker& tensors, const VisionConfig& config,
                                      const ModelConfig& encoder) {
  const Projector& projector = *config.projector;
  const std::string first(projector.first);
  const std::string second(projector.second);
  const std::string norm(projector.norm);
  PatchMerger merger(config, encoder);
  const size_t n = merger.n_columns();
  const bool is_pooled = merger.kind_ == ProjectorKind::pooled;
  if (is_pooled || tensors.has(norm + ".weight")) {
    KINGLET_ASSIGN(merger.norm_,
                   take_norm(tensors, norm, n, is_pooled ? Presence::no : Presence::optional));
  }
  if (merger.kind_ == ProjectorKind::standardized) KINGLET_TRY(merger.take_standard(tensors));
  const bool is_mlp = merger.kind_ == ProjectorKind::mlp;
  merger.width_ = static_cast<uint32_t>(is_pooled ? tensors.n_columns(first)
                                                  : tensors.n_rows(is_mlp ? second : first));
  if (is_mlp) {
    merger.epsilon_ = kInputEpsilon;
    KINGLET_ASSIGN(merger.mlp_, take_mlp(tensors, first, second, n, merger.width_));
  } else if (is_pooled) {
    KINGLET_ASSIGN(merger.matrix_.matrix, tensors.matrix(first + ".weight", n, merger.width_));
  } else {
    KINGLET_ASSIGN(merger.matrix_, take_linear(tensors, first, merger.width_, n));
  }
  return merger;
}

Status PatchMerger::take_standard(TensorTaker& tensors) {
  constexpr std::string_view kCenter = "v.std_bias";
  constexpr std::string_view kFactors = "v.std_scale";
  ones_.assign(n_columns(), 1.0f);
  norm_ = {.width = n_columns(), .n_weights = n_columns()};
  if (!tensors.has(kCenter) && !tensors.has(kFactors)) return {};
  KINGLET_ASSIGN(center_, tensors.vector(kCenter, n_columns()));
  KINGLET_ASSIGN(factors_, tensors.vector(kFactors, n_columns()));
  return {};
}

Result<PatchMerger> PatchMerger::take_deepstack(TensorTaker& tensors, const std::string& stem,
                                                const VisionConfig& config,
                                                const ModelConfig& encoder, uint32_t width) {
  PatchMerger merger(config, encoder);
  merger.width_ = width;
  KINGLET_ASSIGN(merger.norm_,
                 take_norm(tensors, stem + ".norm", merger.n_columns(), Presence::optional));
  KINGLET_ASSIGN(merger.mlp_,
                 take_mlp(tensors, stem + ".fc1", stem + ".fc2", merger.n_columns(), width));
  return merger;
}

uint64_t PatchMerger::batch_of(uint64_t n) const { return std::max<uint64_t>(n / n_patches(), 1); }

PatchMerger::Buffers PatchMerger::lay_out(Arena& arena, uint64_t n_rows, uint64_t n_threads) const {
  return {.merged = arena.take<float>(n_rows * n_columns()),
          .rows = arena.take<float>(n_rows * width_),
          .per_thread = arena.take<float>(kind_ == ProjectorKind::pooled ? n_threads * width_ : 0)};
}

ScratchNeeds PatchMerger::scratch_needs(const BatchShape& patches) const {
  constexpr uint64_t kBlock = 256;  // rows of quantized activations are whole blocks
  const uint64_t n_rows = batch_of(patches.n_tokens);
  Arena arena;
  lay_out(arena, n_rows, patches.n_threads);
  ScratchNeeds needs{0, n_columns()};
  if (mlp_) needs.include(mlp_->scratch_needs({n_rows, patches.n_threads}));
  needs.n_bytes += arena.n_bytes();
  // Rows of merged patches are wider, and there are fewer of them.
  needs.row_width = (n_rows * (needs.row_width + kBlock) + patches.n_tokens - 1) / patches.n_tokens;
  return needs;
}

void PatchMerger::run(Step& step, const PatchGrid& grid, size_t first, size_t n_rows, float* out,
                      size_t stride) const {
  Arena arena = step.arena();
  const Buffers buffers = lay_out(arena, n_rows, step.shape().n_threads);
  merge(step, grid, first, n_rows, buffers.merged);
  if (mlp_) {
    mlp_->run_rows(step, arena, buffers.merged, n_rows, buffers.rows);
  } else if (kind_ == ProjectorKind::pooled) {
    multiply_transposed(step, n_rows, buffers);
  } else {
    step.project(buffers.merged, n_rows, {{&matrix_, buffers.rows}});
  }
  for (size_t i = 0; i < n_rows; ++i) {
    std::copy_n(buffers.rows + i * width_, width_, out + i * stride);
  }
}

// merged [n_rows][n_columns] = the patches of each row, line by line (a pixel unshuffle), or their
// mean; and normalized.
void PatchMerger::merge(Step& step, const PatchGrid& grid, size_t first, size_t n_rows,
                        float* merged) const {
  const KernelSet& kernels = step.kernels();
  const uint32_t rows_across = grid.across() / side_;
  const float share = 1.0f / static_cast<float>(n_patches());
  step.for_each(n_rows, [&](size_t i) {
    const auto row = static_cast<uint32_t>(first + i);
    float* const out = merged + i * n_columns();
    if (is_mean()) std::fill_n(out, n_columns(), 0.0f);
    for (uint32_t k = 0; k < side_ * side_; ++k) {
      const size_t patch = grid.row_of(
          {row / rows_across * side_ + k / side_, row % rows_across * side_ + k % side_});
      const float* of_patch = step.rows().stream + patch * hidden_dim_;
      if (is_mean()) {
        kernels.add_scaled(out, of_patch, share, hidden_dim_);
      } else {
        std::copy_n(of_patch, hidden_dim_, out + size_t{k} * hidden_dim_);
      }
    }
    if (kind_ == ProjectorKind::standardized) standardize(out);
    normalize(kernels, out);
  });
}

void PatchMerger::standardize(float* row) const {
  const float scale = std::sqrt(static_cast<float>(n_columns()));
  for (size_t i = 0; i < n_columns(); ++i) {
    row[i] *= scale;
    if (center_ != nullptr) row[i] = (row[i] - center_[i]) * factors_[i];
  }
}

void PatchMerger::normalize(const KernelSet& kernels, float* row) const {
  const float* weight = ones_.empty() ? norm_.weight : ones_.data();
  if (weight == nullptr) return;
  if (is_mean()) {
    kernels.rms_norm(row, weight, epsilon_, norm_.width, row);
  } else {
    kernels.layer_norm(row, weight, norm_.bias, epsilon_, norm_.width, row);
  }
}

// rows [n_rows][width] = merged · matrix. Each line of the matrix belongs to one input number.
void PatchMerger::multiply_transposed(Step& step, size_t n_rows, const Buffers& buffers) const {
  const size_t n_inputs = n_columns();
  step.pool().for_range(n_rows, 1, [&](size_t begin, size_t end, size_t thread) {
    float* const line = buffers.per_thread + thread * width_;
    std::fill(buffers.rows + begin * width_, buffers.rows + end * width_, 0.0f);
    for (size_t i = 0; i < n_inputs; ++i) {
      dequantize_row(matrix_.matrix, i, line);
      for (size_t row = begin; row < end; ++row) {
        step.kernels().add_scaled(buffers.rows + row * width_, line,
                                  buffers.merged[row * n_inputs + i], width_);
      }
    }
  });
}

}  // namespace kinglet
