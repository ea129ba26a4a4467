// Returns the tensors of a file by name, and records which ones were not taken. Their bytes need
// not have arrived: WeightFill checks and packs them. All errors name the tensor:
// ErrorCode::missing_tensor, wrong_shape, wrong_type.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/embedding_table.h"
#include "model/linear.h"
#include "model/weight_fill.h"

namespace kinglet {

class TensorTaker {
 public:
  TensorTaker(GgufFile& file, const KernelSet& kernels)
      : file_(file), kernels_(kernels), taken_(file.header().tensors.size(), false) {}

  const GgufHeader& header() const { return file_.header(); }
  // A dimension of the matrix "STEM.weight"; 0 if the file has none of that name.
  uint64_t n_rows(std::string_view stem) const { return dimension(stem, 1); }
  uint64_t n_columns(std::string_view stem) const { return dimension(stem, 0); }
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

  // The factors that scale the products of the n matrices of "STEM.weight": "STEM.scale" [n], or
  // null. "STEM.input_scale" [n] is ignored: it is for engines that round activations to 4-bit
  // floats.
  Result<const float*> scales(std::string_view stem, uint64_t n);

  // The bounds of the matrix "STEM.weight" with these names, one number each, if the file has them.
  Result<Bounds> bounds(std::string_view stem, std::span<const std::string_view, 2> names);

  // Takes all tensors whose names begin with this, and ignores them.
  void skip(std::string_view prefix);

  // Returns the tensors that were taken, to be checked and packed.
  // ErrorCode::unsupported_feature names a tensor that was not taken.
  Result<WeightFill> finish();

 private:
  uint64_t dimension(std::string_view stem, size_t axis) const;
  Result<TensorView> take(std::string_view name, const Shape& expected,
                          std::optional<DType> type = std::nullopt);
  // Marks the tensor as taken, whether it is in memory or not.
  Result<const TensorInfo*> take_info(std::string_view name, const Shape& expected);
  // Returns a part of a tensor, whole rows, as it will be packed.
  PackedMatrix add(const TensorView& tensor, const TensorView& part);
  std::vector<PackedMatrix> slice(const TensorView& tensor, const std::vector<uint64_t>& n_rows);

  GgufFile& file_;
  const KernelSet& kernels_;
  WeightFill fill_;
  std::vector<bool> taken_;
};

// Takes "STEM.bias" [n], or returns null if there is none.
Result<const float*> take_bias(TensorTaker& tensors, const std::string& stem, uint64_t n,
                               Presence presence);

// Takes what goes with the matrix "STEM.weight", other than its bias: the scale and the bounds.
Status take_factors(TensorTaker& tensors, std::string_view stem, Linear& linear);

// Takes "STEM.weight" [n_rows][n_columns], with its bias, its scale and its bounds.
Result<Linear> take_linear(TensorTaker& tensors, const std::string& stem, uint64_t n_rows,
                           uint64_t n_columns, Presence bias = Presence::optional);

// Takes a norm of n numbers: "NAME.weight" and its bias.
Result<Norm> take_norm(TensorTaker& tensors, const std::string& name, uint64_t n, Presence bias);

// Takes a norm of the stream: "NAME.weight", and "NAME.bias" if the architecture's norms have one.
Result<Norm> take_norm(TensorTaker& tensors, const std::string& name, const ModelConfig& config);

}  // namespace kinglet
