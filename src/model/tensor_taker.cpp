#include "model/tensor_taker.h"

#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "base/in_quotes.h"
#include "kernels/packing.h"
#include "tensor/finite.h"

namespace kinglet {

Result<const float*> TensorTaker::vector(std::string_view name, uint64_t n) {
  return vector(name, n, n);
}

Result<const float*> TensorTaker::vector(std::string_view name, uint64_t n, uint64_t n_columns) {
  KINGLET_ASSIGN(const TensorView tensor, take(name, {n_columns, n / n_columns, 1, 1}, DType::f32));
  return reinterpret_cast<const float*>(tensor.bytes.data());
}

Result<PackedMatrix> TensorTaker::matrix(std::string_view name, uint64_t n_rows,
                                         uint64_t n_columns) {
  KINGLET_ASSIGN(const TensorView tensor, take(name, {n_columns, n_rows, 1, 1}));
  return pack(tensor, tensor);
}

Result<PackedMatrix> TensorTaker::filters(std::string_view name, uint64_t n_filters,
                                          uint64_t n_channels, uint64_t size) {
  KINGLET_ASSIGN(const TensorView tensor, take(name, {size, size, n_channels, n_filters}));
  const TensorView rows{
      tensor.name, tensor.type, {n_channels * size * size, n_filters, 1, 1}, tensor.bytes};
  return pack(tensor, rows);
}

Result<EmbeddingTable> TensorTaker::table(std::string_view name, uint64_t n_rows,
                                          uint64_t n_columns) {
  KINGLET_ASSIGN(const TensorInfo* info, take_info(name, {n_columns, n_rows, 1, 1}));
  const StoredTensor stored = file_.stored(*info);
  if (stored.file != nullptr) return EmbeddingTable(*info, stored);
  KINGLET_ASSIGN(const PackedMatrix resident, matrix(name, n_rows, n_columns));
  return EmbeddingTable(resident);
}

Result<PackedMatrix> TensorTaker::pack(const TensorView& tensor, const TensorView& part) {
  if (early_ == nullptr) return pack_in_place(part, kernels_);
  const PackedMatrix matrix = packed_form(part, kernels_);
  if (early_->is_planning()) {
    early_->add(tensor, matrix);
  } else if (!early_->has(tensor)) {
    return pack_in_place(part, kernels_);
  }
  return matrix;
}

std::optional<size_t> TensorTaker::find_bad_block(const TensorView& tensor) const {
  if (early_ == nullptr) return find_not_finite(tensor.type, tensor.bytes);
  if (early_->is_planning()) return std::nullopt;  // the bytes have not arrived yet
  if (early_->has(tensor)) return early_->find_not_finite(tensor);
  return find_not_finite(tensor.type, tensor.bytes);
}

Result<std::vector<PackedMatrix>> TensorTaker::fused(std::string_view name,
                                                     std::vector<uint64_t> n_rows,
                                                     uint64_t n_columns) {
  const uint64_t total = std::accumulate(n_rows.begin(), n_rows.end(), uint64_t{0});
  KINGLET_ASSIGN(const TensorView tensor, take(name, {n_columns, total, 1, 1}));
  return slice(tensor, n_rows);
}

Result<std::vector<PackedMatrix>> TensorTaker::experts(std::string_view name, uint64_t n_experts,
                                                       uint64_t n_parts, uint64_t n_rows,
                                                       uint64_t n_columns) {
  KINGLET_ASSIGN(const TensorView tensor, take(name, {n_columns, n_parts * n_rows, n_experts, 1}));
  return slice(tensor, std::vector<uint64_t>(static_cast<size_t>(n_experts * n_parts), n_rows));
}

Result<std::vector<PackedMatrix>> TensorTaker::slice(const TensorView& tensor,
                                                     const std::vector<uint64_t>& n_rows) {
  const auto row_bytes = tensor.bytes.size() / static_cast<size_t>(tensor.n_rows());
  std::vector<PackedMatrix> slices;
  size_t offset = 0;
  for (const uint64_t n : n_rows) {
    const size_t bytes = static_cast<size_t>(n) * row_bytes;
    const TensorView part{tensor.name,
                          tensor.type,
                          {tensor.n_columns(), n, 1, 1},
                          tensor.bytes.subspan(offset, bytes)};
    KINGLET_ASSIGN(PackedMatrix packed, pack(tensor, part));
    slices.push_back(packed);
    offset += bytes;
  }
  return slices;
}

Result<std::vector<float>> TensorTaker::scales(std::string_view stem, uint64_t n) {
  std::vector<float> factors(static_cast<size_t>(n), 1.0f);
  const std::string name = cat(stem, ".scale");
  const std::string input_name = cat(stem, ".input_scale");
  if (has(input_name)) KINGLET_TRY(vector(input_name, n));
  if (!has(name)) return factors;
  KINGLET_ASSIGN(const float* stored, vector(name, n));
  std::copy_n(stored, factors.size(), factors.begin());
  return factors;
}

void TensorTaker::skip(std::string_view prefix) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (header().tensors[i].name.starts_with(prefix)) taken_[i] = true;
  }
}

Status TensorTaker::expect_none_left() const {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) {
      return Error{ErrorCode::unsupported_feature,
                   cat("tensor ", in_quotes(file_.header().tensors[i].name),
                       " has no place in this architecture")};
    }
  }
  return {};
}

Result<const TensorInfo*> TensorTaker::take_info(std::string_view name, const Shape& expected) {
  const TensorInfo* info = file_.header().find_tensor(name);
  if (info == nullptr) {
    return Error{ErrorCode::missing_tensor,
                 cat("tensor ", name, " is missing (expected shape ", shape_text(expected), ")")};
  }
  if (info->shape != expected) {
    return Error{ErrorCode::wrong_shape,
                 cat("tensor ", name, " has shape ", shape_text(info->shape), ", expected ",
                     shape_text(expected))};
  }
  taken_[static_cast<size_t>(info - file_.header().tensors.data())] = true;
  return info;
}

Result<TensorView> TensorTaker::take(std::string_view name, const Shape& expected,
                                     std::optional<DType> type) {
  KINGLET_ASSIGN(const TensorInfo* info, take_info(name, expected));
  if (type && info->type != *type) {
    return Error{ErrorCode::wrong_type,
                 cat("tensor ", name, " has type ", dtype_info(info->type).name, ", expected ",
                     dtype_info(*type).name)};
  }
  if (file_.stored(*info).file != nullptr) {
    return Error{ErrorCode::invalid_argument,
                 cat("tensor ", name, " is needed in memory, but was left in its file")};
  }
  const TensorView tensor = file_.tensor(*info);
  if (const auto block = find_bad_block(tensor)) {
    return Error{ErrorCode::not_finite,
                 cat("tensor ", name, " holds NaN or infinity at weight ",
                     *block * dtype_info(tensor.type).block_size, ": the file is damaged")};
  }
  return tensor;
}

Result<Norm> take_norm(TensorTaker& tensors, const std::string& name, const ModelConfig& config) {
  const uint32_t n = config.hidden_dim;
  Norm norm{.width = n, .n_weights = n};
  KINGLET_ASSIGN(norm.weight, tensors.vector(name + ".weight", n));
  const bool has_bias = config.architecture->norm_biases != Presence::no;
  if (config.architecture->norm == NormKind::layer && has_bias) {
    KINGLET_ASSIGN(norm.bias, tensors.vector(name + ".bias", n));
  }
  return norm;
}

}  // namespace kinglet
