// Tensors that stay in the file that they come from: their bytes are read where they are needed,
// for as long as the model lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

// A file that can be read again, at any place.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;

  // Fills `bytes` with those of the file from `offset` on. ErrorCode::io says why they cannot be
  // had.
  virtual Status read(uint64_t offset, std::span<std::byte> bytes) const = 0;
};

struct StoredTensor {
  const RandomAccessFile* file = nullptr;  // which the GgufFile owns
  uint64_t offset = 0;                     // of the tensor in the file
};

// Which tensors need not be in memory. They stay in the file where they have `min_bytes` or more.
struct StoredChoice {
  std::vector<const TensorInfo*> (*choose)(const GgufHeader& header) = nullptr;  // null: none
  uint64_t min_bytes = 0;
};

}  // namespace kinglet
