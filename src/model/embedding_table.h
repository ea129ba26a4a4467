// A table of token vectors that is only read one row at a time. It is in memory or stays in its
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/stored_tensor.h"
#include "kernels/kernels.h"

namespace kinglet {

// Smaller tables are kept in memory.
constexpr uint64_t kLargeTableBytes = uint64_t{1} << 26;

class EmbeddingTable {
 public:
  EmbeddingTable() = default;
  explicit EmbeddingTable(const PackedMatrix& matrix) : matrix_(matrix) {}
  // For a tensor [n_rows][n_columns] that stays in its file.
  EmbeddingTable(const TensorInfo& tensor, const StoredTensor& stored);

  // The table, if it is in memory; otherwise without rows.
  const PackedMatrix& matrix() const { return matrix_; }

  // Bytes that read() needs for each id; 0 if the table is in memory.
  size_t row_bytes() const { return row_bytes_; }

  // rows [ids.size()][n_columns] = the table's rows with these ids. The row of a negative id is
  // that of `of_negative`; if this is negative too, it is not changed. From a file, each row is
  // read once, in the file's order, and neighbours with one read. `room`: row_bytes() for each id.
  // ErrorCode::io; not_finite (a row contains NaN or infinity).
  Status read(std::span<const int32_t> ids, std::byte* room, float* rows,
              int32_t of_negative = -1) const;

 private:
  Status read_stored(int32_t first, std::span<std::byte> bytes) const;

  PackedMatrix matrix_;  // its data are null if the table stays in its file
  StoredTensor stored_;
  std::string_view name_;  // in the file's header
  size_t row_bytes_ = 0;
};

// The tensors that are only read one row at a time, and so may stay in the file:
// per_layer_token_embd.weight, and token_embd.weight unless it also makes the logits.
std::vector<const TensorInfo*> tables_read_by_rows(const GgufHeader& header);

// Which of these tables stay in the file. `place`: "auto" (those of kLargeTableBytes or more),
// "file" (all) or "memory" (none).
StoredChoice stored_tables(std::string_view place);

}  // namespace kinglet
