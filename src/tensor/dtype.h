// The one table of tensor data types. Adding a type is one packed struct, one row, its functions.
// Numbers and layouts: the GGUF specification (ggml's docs/gguf.md) and ggml-common.h's structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/half.h"

namespace kinglet {

// The values are the type ids stored in GGUF files.
enum class DType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q8_0 = 8,
  q6_k = 14,
  bf16 = 30,
};

struct DTypeInfo {
  DType type;
  std::string_view name;  // as ggml spells it: "Q4_0"
  uint32_t block_size;    // weights in a block; a row is a whole number of blocks
  uint32_t block_bytes;
  // Decodes n weights (a multiple of block_size), exactly as the format defines them.
  void (*dequantize)(const std::byte* blocks, float* out, size_t n);
  // Encodes n weights (a multiple of block_size); null where the project has no quantizer.
  void (*quantize)(const float* in, std::byte* blocks, size_t n);
};

// Every type of the table.
std::span<const DTypeInfo> dtypes();

// The row of a type id read from a file, or null where the id is unknown.
const DTypeInfo* find_dtype(uint32_t id);

// The row of a type named as in the table, whatever the case ("q4_0"), or null.
const DTypeInfo* find_dtype(std::string_view name);

const DTypeInfo& dtype_info(DType type);

// Bytes of n_rows rows of n_columns weights. Nothing where n_columns is no multiple of the block
// size or the product overflows.
std::optional<uint64_t> tensor_bytes(DType type, uint64_t n_columns, uint64_t n_rows);

// Packed blocks, as they stand in the file.
#pragma pack(push, 1)

// 32 weights: w[i] = scale * (code[i] - 8). Byte i of codes: weight i low, weight i + 16 high.
struct BlockQ4_0 {
  static constexpr size_t kSize = 32;
  Half scale;
  uint8_t codes[kSize / 2];
};
static_assert(sizeof(BlockQ4_0) == 18);

// 32 weights: w[i] = scale * code[i].
struct BlockQ8_0 {
  static constexpr size_t kSize = 32;
  Half scale;
  int8_t codes[kSize];
};
static_assert(sizeof(BlockQ8_0) == 34);

// 256 weights in 16 sub-blocks of 16: w[i] = scale * scales[i / 16] * (code[i] - 32).
// Each half of 128 weights has 64 bytes of low nibbles (weights 0-63 low, 64-127 high) and
// 32 bytes of upper bit pairs (weight l, l + 32, l + 64, l + 96 from bit 0 up).
struct BlockQ6_K {
  static constexpr size_t kSize = 256;
  uint8_t low_nibbles[kSize / 2];
  uint8_t high_pairs[kSize / 4];
  int8_t scales[kSize / 16];
  Half scale;
};
static_assert(sizeof(BlockQ6_K) == 210);

#pragma pack(pop)

}  // namespace kinglet
