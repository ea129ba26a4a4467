// The one table of tensor data types. Adding a type is one packed struct (blocks.h), one row, its
// functions (codecs.h). Numbers: the GGUF specification (ggml's docs/gguf.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/blocks.h"

namespace kinglet {

// The values are the type ids stored in GGUF files.
enum class DType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
};

// The largest of them: tables over all types are one longer. dtype.cpp checks it.
constexpr size_t kMaxDTypeId = static_cast<size_t>(DType::mxfp4);

struct DTypeInfo {
  DType type;
  std::string_view name;  // as ggml spells it: "Q4_0"
  uint32_t block_size;    // weights in a block; a row is a whole number of blocks
  uint32_t block_bytes;
  // Decodes n weights (a multiple of block_size): the format's value, rounded once to a float.
  void (*dequantize)(const std::byte* blocks, float* out, size_t n);
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

}  // namespace kinglet
