#include "model/embedding_table.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/format.h"
#include "kernels/packing.h"
#include "model/config.h"
#include "tensor/finite.h"

namespace kinglet {
namespace {

constexpr int32_t kNone = std::numeric_limits<int32_t>::max();

// The ids of rows to read, with another id for the negative ones.
struct Ids {
  std::span<const int32_t> ids;
  int32_t of_negative;

  int32_t operator[](size_t i) const { return ids[i] < 0 ? of_negative : ids[i]; }

  // The smallest of the ids that is `least` or more.
  int32_t next(int32_t least) const {
    int32_t next = kNone;
    for (size_t i = 0; i < ids.size(); ++i) {
      if ((*this)[i] >= least) next = std::min(next, (*this)[i]);
    }
    return next;
  }
};

}  // namespace

EmbeddingTable::EmbeddingTable(const TensorInfo& tensor, const StoredTensor& stored)
    : stored_(stored), name_(tensor.name) {
  matrix_.type = tensor.type;
  matrix_.n_columns = static_cast<size_t>(tensor.shape[0]);
  row_bytes_ = dtype_info(tensor.type).row_bytes(matrix_.n_columns);
}

Status EmbeddingTable::read(std::span<const int32_t> ids, std::byte* room, float* rows,
                            int32_t of_negative) const {
  const Ids wanted{ids, of_negative};
  const size_t width = matrix_.n_columns;
  if (stored_.file == nullptr) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (wanted[i] < 0) continue;
      dequantize_row(matrix_, static_cast<size_t>(wanted[i]), rows + i * width);
    }
    return {};
  }
  for (int32_t first = wanted.next(0); first != kNone;) {
    int32_t end = first + 1;
    while (wanted.next(end) == end) ++end;
    KINGLET_TRY(read_stored(first, {room, static_cast<size_t>(end - first) * row_bytes_}));
    for (size_t i = 0; i < ids.size(); ++i) {
      if (wanted[i] < first || wanted[i] >= end) continue;
      const std::byte* row = room + static_cast<size_t>(wanted[i] - first) * row_bytes_;
      dtype_info(matrix_.type).dequantize(row, rows + i * width, width);
    }
    first = wanted.next(end);
  }
  return {};
}

// Reads rows from `first` on, as they are stored.
Status EmbeddingTable::read_stored(int32_t first, std::span<std::byte> bytes) const {
  const uint64_t offset = stored_.offset + static_cast<uint64_t>(first) * row_bytes_;
  KINGLET_TRY(stored_.file->read(offset, bytes));
  const auto block = find_not_finite(matrix_.type, bytes);
  if (!block) return {};
  const size_t n_before = *block * dtype_info(matrix_.type).block_bytes / row_bytes_;
  return Error{ErrorCode::not_finite,
               cat("row ", static_cast<size_t>(first) + n_before, " of tensor ", name_,
                   " contains NaN or infinity: the file is damaged")};
}

std::vector<const TensorInfo*> tables_read_by_rows(const GgufHeader& header) {
  const auto config = read_config(header);
  if (!config.ok()) return {};
  std::vector<const TensorInfo*> tables;
  const auto add = [&](std::string_view name) {
    if (const TensorInfo* tensor = header.find_tensor(name)) tables.push_back(tensor);
  };
  const bool is_tied = header.find_tensor("output.weight") == nullptr;
  if (!is_tied || !config.value().makes_text()) add("token_embd.weight");
  if (config.value().layer_input_dim > 0) add("per_layer_token_embd.weight");
  return tables;
}

StoredChoice stored_tables(std::string_view place) {
  if (place == "memory") return {};
  return {tables_read_by_rows, place == "file" ? 0 : kLargeTableBytes};
}

}  // namespace kinglet
