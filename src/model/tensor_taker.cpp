#include "model/tensor_taker.h"

#include <numeric>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "kernels/packing.h"

namespace kinglet {

uint64_t TensorTaker::dimension(std::string_view stem, size_t axis) const {
  const TensorInfo* info = header().find_tensor(cat(stem, ".weight"));
  return info == nullptr ? 0 : info->shape[axis];
}

Result<const float*> TensorTaker::vector(std::string_view name, uint64_t n) {
  return vector(name, n, n);
}

Result<const float*> TensorTaker::vector(std::string_view name, uint64_t n, uint64_t n_columns) {
  KINGLET_ASSIGN(const TensorView tensor, take(name, {n_columns, n / n_columns, 1, 1}, DType::f32));
  fill_.add(tensor, tensor.bytes.data(),
            {.data = tensor.bytes.data(),
             .type = DType::f32,
             .n_rows = static_cast<size_t>(tensor.n_rows()),
             .n_columns = static_cast<size_t>(n_columns)});
  return reinterpret_cast<const float*>(tensor.bytes.data());
}

Result<PackedMatrix> TensorTaker::matrix(std::string_view name, uint64_t n_rows,
                                         uint64_t n_columns) {
  KINGLET_ASSIGN(const TensorView tensor, take(name, {n_columns, n_rows, 1, 1}));
  return add(tensor, tensor);
}

Result<PackedMatrix> TensorTaker::filters(std::string_view name, uint64_t n_filters,
                                          uint64_t n_channels, uint64_t size) {
  KINGLET_ASSIGN(const TensorView tensor, take(name, {size, size, n_channels, n_filters}));
  TensorView rows = tensor;
  rows.shape = {n_channels * size * size, n_filters, 1, 1};
  return add(tensor, rows);
}

Result<EmbeddingTable> TensorTaker::table(std::string_view name, uint64_t n_rows,
                                          uint64_t n_columns) {
  KINGLET_ASSIGN(const TensorInfo* info, take_info(name, {n_columns, n_rows, 1, 1}));
  const StoredTensor stored = file_.stored(*info);
  if (stored.file != nullptr) {
    fill_.add_table(
        {.name = info->name,
         .tensor = stored,
         .n_rows = static_cast<size_t>(n_rows),
         .row_bytes = dtype_info(info->type).row_bytes(static_cast<size_t>(n_columns))});
    return EmbeddingTable(*info, stored);
  }
  KINGLET_ASSIGN(const TensorView tensor, take(name, info->shape));
  const PackedMatrix resident = packed_form(tensor, kernels_);
  fill_.add_table(tensor, resident);
  return EmbeddingTable(resident);
}

PackedMatrix TensorTaker::add(const TensorView& tensor, const TensorView& part) {
  const PackedMatrix matrix = packed_form(part, kernels_);
  fill_.add(tensor, part.bytes.data(), matrix);
  return matrix;
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

std::vector<PackedMatrix> TensorTaker::slice(const TensorView& tensor,
                                             const std::vector<uint64_t>& n_rows) {
  const DTypeInfo& type = dtype_info(tensor.type);
  const auto n_columns = static_cast<size_t>(tensor.n_columns());
  std::vector<PackedMatrix> slices;
  TensorView rest = tensor;
  for (const uint64_t n : n_rows) {
    TensorView part = rest;
    part.shape = {tensor.n_columns(), n, 1, 1};
    const size_t bytes = static_cast<size_t>(n) * type.row_bytes(n_columns);
    part.bytes = rest.bytes.first(bytes);
    slices.push_back(add(tensor, part));
    rest.bytes = rest.bytes.subspan(bytes);
    if (rest.coded != nullptr) {
      rest.coded += static_cast<size_t>(n) * dtype_info(type.coded).row_bytes(n_columns);
    }
  }
  return slices;
}

Result<const float*> TensorTaker::scales(std::string_view stem, uint64_t n) {
  const std::string name = cat(stem, ".scale");
  const std::string input_name = cat(stem, ".input_scale");
  if (has(input_name)) KINGLET_TRY(vector(input_name, n));
  if (!has(name)) return nullptr;
  return vector(name, n);
}

Result<Bounds> TensorTaker::bounds(std::string_view stem,
                                   std::span<const std::string_view, 2> names) {
  Bounds bounds;
  const std::string least = cat(stem, names[0]);
  const std::string most = cat(stem, names[1]);
  if (has(least)) {
    KINGLET_ASSIGN(bounds.least, vector(least, 1));
  }
  if (has(most)) {
    KINGLET_ASSIGN(bounds.most, vector(most, 1));
  }
  return bounds;
}

void TensorTaker::skip(std::string_view prefix) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (header().tensors[i].name.starts_with(prefix)) taken_[i] = true;
  }
}

Result<WeightFill> TensorTaker::finish() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) {
      return Error{ErrorCode::unsupported_feature,
                   cat("tensor ", in_quotes(file_.header().tensors[i].name),
                       " is not used by this architecture")};
    }
  }
  fill_.sort();
  return std::move(fill_);
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
  return file_.tensor(*info);
}

Result<const float*> take_bias(TensorTaker& tensors, const std::string& stem, uint64_t n,
                               Presence presence) {
  const std::string name = stem + ".bias";
  const bool is_wanted =
      presence == Presence::required || (presence == Presence::optional && tensors.has(name));
  if (!is_wanted) return nullptr;
  return tensors.vector(name, n);
}

Result<Linear> take_linear(TensorTaker& tensors, const std::string& stem, uint64_t n_rows,
                           uint64_t n_columns, Presence bias) {
  Linear linear;
  KINGLET_ASSIGN(linear.matrix, tensors.matrix(stem + ".weight", n_rows, n_columns));
  KINGLET_ASSIGN(linear.bias, take_bias(tensors, stem, n_rows, bias));
  KINGLET_TRY(take_factors(tensors, stem, linear));
  return linear;
}

Status take_factors(TensorTaker& tensors, std::string_view stem, Linear& linear) {
  KINGLET_ASSIGN(linear.scale, tensors.scales(stem, 1));
  KINGLET_ASSIGN(linear.input, tensors.bounds(stem, kInputBounds));
  KINGLET_ASSIGN(linear.output, tensors.bounds(stem, kOutputBounds));
  return {};
}

Result<Norm> take_norm(TensorTaker& tensors, const std::string& name, uint64_t n, Presence bias) {
  Norm norm{.width = static_cast<size_t>(n), .n_weights = static_cast<size_t>(n)};
  KINGLET_ASSIGN(norm.weight, tensors.vector(name + ".weight", n));
  KINGLET_ASSIGN(norm.bias, take_bias(tensors, name, n, bias));
  return norm;
}

Result<Norm> take_norm(TensorTaker& tensors, const std::string& name, const ModelConfig& config) {
  const NormTraits& norms = config.architecture->norms;
  const Presence bias = norms.kind == NormKind::layer ? norms.biases : Presence::no;
  KINGLET_ASSIGN(Norm norm, take_norm(tensors, name, config.hidden_dim, bias));
  norm.width /= config.n_norm_groups;
  return norm;
}

}  // namespace kinglet
