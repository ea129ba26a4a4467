#include "gguf/importance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "base/format.h"
#include "base/in_quotes.h"
#include "gguf/writer.h"

namespace kinglet {
namespace {

constexpr std::string_view kType = "imatrix";
constexpr std::string_view kTypeKey = "general.type";
constexpr std::string_view kDatasets = "imatrix.datasets";
constexpr std::string_view kChunkCount = "imatrix.chunk_count";
constexpr std::string_view kChunkSize = "imatrix.chunk_size";
constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";

// Of the mean. Columns that were always 0 matter a little, too: in another text they may not be.
constexpr double kLeastImportance = 1e-6;

Status check_is_importance(const GgufHeader& header) {
  const MetadataValue* type = header.find(kTypeKey);
  const std::string_view found =
      type == nullptr ? std::string_view() : type->as_string().value_or("");
  if (found == kType) return {};
  return Error{ErrorCode::wrong_type,
               cat("not an importance matrix: ", kTypeKey, " is ",
                   type == nullptr ? std::string("missing") : in_quotes(found), ", expected ",
                   in_quotes(kType))};
}

// Reads numbers; none may be negative.
Result<std::vector<float>> read_sums(GgufFile& file, const TensorInfo& info) {
  if (info.type != DType::f32) {
    return Error{ErrorCode::wrong_type, cat("tensor ", in_quotes(info.name), " has type ",
                                            dtype_info(info.type).name, ", expected F32")};
  }
  const TensorView tensor = file.tensor(info);
  std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (std::isfinite(numbers[i]) && numbers[i] >= 0) continue;
    return Error{ErrorCode::not_finite, cat("tensor ", in_quotes(info.name), ": number ", i, " is ",
                                            numbers[i], ", expected 0 or more")};
  }
  return numbers;
}

Result<ImportanceMatrix::Entry> read_entry(GgufFile& file, const TensorInfo& sums,
                                           std::string_view name) {
  const TensorInfo* counts = file.header().find_tensor(cat(name, kCounts));
  if (counts == nullptr) {
    return Error{ErrorCode::missing_tensor,
                 cat("tensor ", in_quotes(cat(name, kCounts)), " is missing")};
  }
  const Shape expected{1, sums.shape[1], 1, 1};
  if (counts->shape != expected) {
    return Error{ErrorCode::wrong_shape,
                 cat("tensor ", in_quotes(counts->name), " has shape ", shape_text(counts->shape),
                     ", expected ", shape_text(expected))};
  }
  ImportanceMatrix::Entry entry;
  KINGLET_ASSIGN(entry.sums, read_sums(file, sums));
  KINGLET_ASSIGN(entry.counts, read_sums(file, *counts));
  return entry;
}

}  // namespace

std::vector<float> ImportanceMatrix::Entry::of_matrix(size_t i) const {
  const auto row = std::span(sums).subspan(i * n_columns(), n_columns());
  const double mean =
      std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
  std::vector<float> importance(row.size(), 1.0f);
  if (!(mean > 0)) return importance;
  for (size_t j = 0; j < row.size(); ++j) {
    importance[j] = static_cast<float>(std::max(row[j] / mean, kLeastImportance));
  }
  return importance;
}

const ImportanceMatrix::Entry* ImportanceMatrix::find(std::string_view tensor) const {
  const auto found = entries.find(tensor);
  return found == entries.end() ? nullptr : &found->second;
}

Status ImportanceMatrix::check_model(const GgufHeader& model) const {
  constexpr std::string_view kOther = ": it is the importance matrix of another model";
  for (const auto& [name, entry] : entries) {
    const TensorInfo* tensor = model.find_tensor(name);
    if (tensor == nullptr) {
      return Error{ErrorCode::missing_tensor,
                   cat("has an entry for ", in_quotes(name), ", which the model lacks", kOther)};
    }
    if (tensor->shape[0] == entry.n_columns() && tensor->shape[2] == entry.counts.size()) continue;
    return Error{ErrorCode::wrong_shape, cat("has ", entry.counts.size(), " x ", entry.n_columns(),
                                             " columns for ", in_quotes(name), ", expected ",
                                             tensor->shape[2], " x ", tensor->shape[0], kOther)};
  }
  return {};
}

Result<ImportanceMatrix> ImportanceMatrix::read(GgufFile& file) {
  const GgufHeader& header = file.header();
  KINGLET_TRY(check_is_importance(header));
  ImportanceMatrix matrix;
  KINGLET_ASSIGN(matrix.n_chunks, header.get_uint(kChunkCount, 0));
  KINGLET_ASSIGN(matrix.chunk_size, header.get_uint(kChunkSize, 0));
  if (header.find(kDatasets) != nullptr) {
    KINGLET_ASSIGN(const MetadataArray datasets,
                   header.require_array(kDatasets, ValueType::string));
    datasets.for_each([&](uint64_t, const MetadataValue& value) {
      matrix.datasets.emplace_back(value.as_string().value_or(""));
    });
  }
  for (const TensorInfo& tensor : header.tensors) {
    if (!tensor.name.ends_with(kSums)) continue;
    const std::string_view name = tensor.name.substr(0, tensor.name.size() - kSums.size());
    KINGLET_ASSIGN(Entry entry, read_entry(file, tensor, name));
    matrix.entries.emplace(name, std::move(entry));
  }
  if (matrix.entries.empty()) {
    return Error{ErrorCode::missing_tensor,
                 cat("the importance matrix is empty: no tensor ends with ", in_quotes(kSums))};
  }
  return matrix;
}

Status ImportanceMatrix::write(const std::string& path) const {
  GgufWriter out;
  out.set(kTypeKey, kType);
  out.set(kDatasets, datasets);
  out.set(kChunkCount, n_chunks);
  out.set(kChunkSize, chunk_size);
  for (const auto& [name, entry] : entries) {
    const size_t n = entry.counts.size();
    out.add_tensor(cat(name, kSums), DType::f32, {entry.sums.size() / n, n, 1, 1});
    out.add_tensor(cat(name, kCounts), DType::f32, {1, n, 1, 1});
  }
  KINGLET_TRY(out.open(path));
  for (const auto& [name, entry] : entries) {
    KINGLET_TRY(out.write_tensor(std::as_bytes(std::span(entry.sums))));
    KINGLET_TRY(out.write_tensor(std::as_bytes(std::span(entry.counts))));
  }
  return out.close();
}

}  // namespace kinglet
