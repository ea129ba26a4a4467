// A table of vectors of tokens that is read by rows only: in memory, or where its file lies.
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

// Smaller tables are worth their memory.
constexpr uint64_t kLargeTableBytes = uint64_t{1} << 26;

class EmbeddingTable {
 public:
  EmbeddingTable() = default;
  explicit EmbeddingTable(const PackedMatrix& matrix) : matrix_(matrix) {}
  // A tensor [n_rows][n_columns] that is stored.
  EmbeddingTable(const TensorInfo& tensor, const StoredTensor& stored);

  // Of a table in memory; without rows where it is stored.
  const PackedMatrix& matrix() const { return matrix_; }

  // Bytes that read() needs for each id; 0 where the table is in memory.
  size_t row_bytes() const { return row_bytes_; }

  // rows [ids.size()][n_columns] = those of the ids, all of them rows of the table; what is beside
  // a negative id is left as it is. Of a stored one each row is read once, in the order of the
  // file, and neighbours together. `room`: row_bytes() for each id. ErrorCode::io; not_finite (a
  // row holds NaN or infinity).
  Status read(std::span<const int32_t> ids, std::byte* room, float* rows) const;

 private:
  Status read_stored(int32_t first, std::span<std::byte> bytes) const;

  PackedMatrix matrix_;  // its data are null where the table is stored
  StoredTensor stored_;
  std::string_view name_;  // in the file's header
  size_t row_bytes_ = 0;
};

// The file's tensors that are read by rows only, and so may stay where they are stored:
// token_embd.weight where another matrix makes the logits, or none does, and
// per_layer_token_embd.weight.
std::vector<const TensorInfo*> tables_read_by_rows(const GgufHeader& header);

}  // namespace kinglet
