// Blocks in the tests of weight types.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tensor/dtype.h"

namespace kinglet {

using Bytes = std::vector<std::byte>;

inline std::vector<float> decode(const DTypeInfo& type, std::span<const std::byte> blocks) {
  std::vector<float> weights(blocks.size() / type.block_bytes * type.block_size);
  type.dequantize(blocks.data(), weights.data(), weights.size());
  return weights;
}

}  // namespace kinglet
