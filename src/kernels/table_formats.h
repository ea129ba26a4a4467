// Where the bits of each format stand that is multiplied by looking sums up (see table_matmul.h).
//
// A byte of a plane holds one bit of the codes of 8 neighbouring columns, the first in bit 0. Where
// codes have two bits, packing turns those of the file into two planes (see packing.cpp).
//   w = scale * (kFactor * code - kOffset), where plane p holds bit p of the code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/blocks.h"

namespace kinglet {

struct TableQ1_0 {
  using Block = BlockQ1_0;
  static constexpr size_t kPlanes = 1;
  static constexpr int32_t kFactor = 2;
  static constexpr int32_t kOffset = 1;

  // The byte of a block where 8 columns of a plane stand: group i of the 32 columns of `part`.
  static constexpr size_t byte_of(size_t /*plane*/, size_t part, size_t i) {
    return offsetof(BlockQ1_0, bits) + 4 * part + i;
  }
};

// Codes of two bits: -1 … 2 times the scale.
template <class B>
struct BitPairs {
  using Block = B;
  static constexpr size_t kPlanes = 2;
  static constexpr int32_t kFactor = 1;
  static constexpr int32_t kOffset = 1;
};

// 32 columns after the other: 4 bytes of their low bits, 4 bytes of their high bits.
template <class Block>
struct TablePairs : BitPairs<Block> {
  static constexpr size_t byte_of(size_t plane, size_t part, size_t i) {
    return offsetof(Block, pairs) + 8 * part + 4 * plane + i;
  }
};

// The bits of pair k of 8 bytes stand in bytes 2 k and 2 k + 1.
struct TableTQ2_0 : BitPairs<BlockTQ2_0> {
  static constexpr size_t byte_of(size_t plane, size_t part, size_t i) {
    return offsetof(BlockTQ2_0, pairs) + 32 * (part / 4) + 8 * i + 2 * (part % 4) + plane;
  }
};

}  // namespace kinglet
