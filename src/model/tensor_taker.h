// Returns the tensors of a file by name, and records which ones were not taken. All errors name the
// tensor: ErrorCode::missing_tensor, wrong_shape, wrong_type, and not_finite (the tensor contains
// NaN or infinity).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/early_weights.h"
#include "model/embedding_table.h"
#include "model/linear.h"

namespace kinglet {

class TensorTaker {
 public:
  // `early`: the matrices that were packed while the file arrived, or the plan for it; may be null.
  TensorTaker(GgufFile& file, const KernelSet& kernels, EarlyWeights* early)
      : file_(file),
        kernels_(kernels),
        early_(early),
        taken_(file.header().tensors.size(), false) {}

  const GgufHeader& header() const { return file_.header(); }
  bool has(std::string_view name) const { return file_.header().find_tensor(name) != nullptr; }

  // F32 numbers [n], or [n / n_columns][n_columns].
  Result<const float*> vector(std::string_view name, uint64_t n);
  Result<const float*> vector(std::string_view name, uint64_t n, uint64_t n_columns);

  Result<PackedMatrix> matrix(std::string_view name, uint64_t n_rows, uint64_t n_columns);

  // The filters of a convolution, [n_filters][n_channels][size][size], each as a row.
  Result<PackedMatrix> filters(std::string_view name, uint64_t n_filters, uint64_t n_channels,
                               uint64_t size);

  // A table that is read by rows and may stay in the file: see tables_read_by_rows().
  Result<EmbeddingTable> table(std::string_view name, uint64_t n_rows, uint64_t n_columns);

  // The slices of a tensor of several matrices with the same number of columns, one after the
  // other: n_rows[i] rows each, packed separately.
  Result<std::vector<PackedMatrix>> fused(std::string_view name, std::vector<uint64_t> n_rows,
                                          uint64_t n_columns);

  // The slices of a tensor [n_experts][n_parts][n_rows][n_columns]. Its shape in the file is
  // [n_experts][n_parts * n_rows][n_columns].
  Result<std::vector<PackedMatrix>> experts(std::string_view name, uint64_t n_experts,
                                            uint64_t n_parts, uint64_t n_rows, uint64_t n_columns);

  // The factors that scale the products of the n matrices of "STEM.weight": "STEM.scale" [n], or 1.
  // "STEM.input_scale" [n] is ignored: it is for engines that round activations to 4-bit floats.
  Result<std::vector<float>> scales(std::string_view stem, uint64_t n);

  // Takes all tensors whose names begin with this, and ignores them.
  void skip(std::string_view prefix);

  // ErrorCode::unsupported_feature names a tensor that was not taken.
  Status expect_none_left() const;

 private:
  Result<TensorView> take(std::string_view name, const Shape& expected,
                          std::optional<DType> type = std::nullopt);
  // Marks the tensor as taken, whether it is in memory or not.
  Result<const TensorInfo*> take_info(std::string_view name, const Shape& expected);
  // Packs a part of a tensor that consists of whole rows.
  Result<PackedMatrix> pack(const TensorView& tensor, const TensorView& part);
  // The first block that contains NaN or infinity.
  std::optional<size_t> find_bad_block(const TensorView& tensor) const;
  Result<std::vector<PackedMatrix>> slice(const TensorView& tensor,
                                          const std::vector<uint64_t>& n_rows);

  GgufFile& file_;
  const KernelSet& kernels_;
  EarlyWeights* early_;
  std::vector<bool> taken_;
};

// Takes a norm of the stream: "NAME.weight", and "NAME.bias" if the architecture's norms have one.
Result<Norm> take_norm(TensorTaker& tensors, const std::string& name, const ModelConfig& config);

}  // namespace kinglet
