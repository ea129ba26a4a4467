// Tensors that stay in their file: their bytes are read each time they are needed, as long as the
// model lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

// A file that can be read again, at any offset.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  // Fills `bytes` with the file's bytes from `offset` on. Fails with ErrorCode::io, which says why
  // they cannot be read.
  virtual Status read(uint64_t offset, std::span<std::byte> bytes) const = 0;
};

struct StoredTensor {
  const RandomAccessFile* file = nullptr;  // owned by the GgufFile
  uint64_t offset = 0;                     // of the tensor in the file
};

// Selects the tensors that need not be in memory. Those of `min_bytes` or more stay in the file.
struct StoredChoice {
  std::vector<const TensorInfo*> (*choose)(const GgufHeader& header) = nullptr;  // null: none
  uint64_t min_bytes = 0;
};

}  // namespace kinglet
