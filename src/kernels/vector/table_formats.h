// The places of bits in the formats that are multiplied by looking up sums (see
// vector/table_matmul.h).
//
// A byte of a plane holds one bit of the codes of 8 neighbouring columns; the first column has bit
// 0. If codes have two bits, packing splits those of the file into two planes (see code_order.cpp).
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

  static constexpr size_t kNextColumns = 1;  // bytes to the next 8 columns of the same part
  static constexpr size_t kNextPlane = 0;    // bytes to the second plane of the same columns
  // Returns which byte of a block holds the first 8 of the 32 columns of `part`.
  static constexpr size_t first_byte(size_t part) { return offsetof(BlockQ1_0, bits) + 4 * part; }
};

// Codes of two bits: weights are -1 … 2 times the scale.
template <class B>
struct BitPairs {
  using Block = B;
  static constexpr size_t kPlanes = 2;
  static constexpr int32_t kFactor = 1;
  static constexpr int32_t kOffset = 1;
};

// Each 32 columns have 4 bytes of low bits, then 4 bytes of high bits.
template <class Block>
struct TablePairs : BitPairs<Block> {
  static constexpr size_t kNextColumns = 1;
  static constexpr size_t kNextPlane = 4;
  static constexpr size_t first_byte(size_t part) { return offsetof(Block, pairs) + 8 * part; }
};

// Packing moves pair k of each of 8 bytes to bytes 2 k (the low bits) and 2 k + 1 (the high bits).
struct TableTQ2_0 : BitPairs<BlockTQ2_0> {
  static constexpr size_t kNextColumns = 8;
  static constexpr size_t kNextPlane = 1;
  static constexpr size_t first_byte(size_t part) {
    return offsetof(BlockTQ2_0, pairs) + 32 * (part / 4) + 2 * (part % 4);
  }
};

}  // namespace kinglet
