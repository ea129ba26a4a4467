// The table of tensor data types. To add a type, add its packed struct (blocks.h), its number and
// its row here, and its functions (codecs.h). Source of the numbers: the GGUF specification (ggml's
// docs/gguf.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

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
  nvfp4 = 40,
  q1_0 = 41,
  q2_0 = 42,
  // Only in PrismML's llama.cpp.
  pq2_0 = 142,
  ptq1_0 = 143,
  // In no file: see DTypeInfo::coded.
  coded_iq1_s = 200,
  coded_iq1_m,
  coded_iq2_xxs,
  coded_iq2,
  coded_iq3_xxs,
  coded_iq3_s,
};

// Adjacent units of a block: `count` pieces of `bytes` each. Packing never cuts a unit (see
// kernels/packing.h).
struct UnitRun {
  uint8_t bytes;
  uint8_t count;
};

// How the blocks of a type are cut, from the first byte to the last. Unused runs are empty; all are
// empty for types that no kernel reads interleaved.
using Units = std::array<UnitRun, 5>;

// A type and its block, which is a packed struct or a single float.
template <DType kId, class B>
struct TypeRow {
  using Block = B;
  static constexpr DType kType = kId;
  static constexpr size_t kBytes = sizeof(B);
  std::string_view name;  // in ggml's spelling: "Q4_0"
  Units units = {};
};

// All tables of types are made from this list: dtypes(), the encoders, the positions of exponents,
// and the sizes of tables.
inline constexpr std::tuple kTypeRows{
    TypeRow<DType::f32, float>{"F32"},
    TypeRow<DType::f16, Half>{"F16"},
    TypeRow<DType::bf16, BFloat16>{"BF16"},
    TypeRow<DType::q4_0, BlockQ4_0>{"Q4_0", {{{2, 1}, {4, 4}}}},
    TypeRow<DType::q4_1, BlockQ4_1>{"Q4_1", {{{2, 2}, {4, 4}}}},
    TypeRow<DType::q5_0, BlockQ5_0>{"Q5_0", {{{2, 1}, {4, 5}}}},
    TypeRow<DType::q5_1, BlockQ5_1>{"Q5_1", {{{2, 2}, {4, 5}}}},
    TypeRow<DType::q8_0, BlockQ8_0>{"Q8_0", {{{2, 1}, {4, 8}}}},
    TypeRow<DType::q2_k, BlockQ2_K>{"Q2_K", {{{1, 16}, {4, 16}, {2, 2}}}},
    TypeRow<DType::q3_k, BlockQ3_K>{"Q3_K", {{{4, 27}, {2, 1}}}},
    TypeRow<DType::q4_k, BlockQ4_K>{"Q4_K", {{{2, 2}, {4, 35}}}},
    TypeRow<DType::q5_k, BlockQ5_K>{"Q5_K", {{{2, 2}, {4, 43}}}},
    TypeRow<DType::q6_k, BlockQ6_K>{"Q6_K", {{{4, 48}, {1, 16}, {2, 1}}}},
    TypeRow<DType::iq4_nl, BlockIQ4_NL>{"IQ4_NL", {{{2, 1}, {4, 4}}}},
    TypeRow<DType::iq4_xs, BlockIQ4_XS>{"IQ4_XS", {{{2, 2}, {4, 33}}}},
    TypeRow<DType::mxfp4, BlockMXFP4>{"MXFP4", {{{1, 1}, {4, 4}}}},
    TypeRow<DType::tq1_0, BlockTQ1_0>{"TQ1_0", {{{4, 13}, {2, 1}}}},
    TypeRow<DType::tq2_0, BlockTQ2_0>{"TQ2_0", {{{4, 16}, {2, 1}}}},
    TypeRow<DType::iq1_s, BlockIQ1_S>{"IQ1_S"},
    TypeRow<DType::iq1_m, BlockIQ1_M>{"IQ1_M"},
    TypeRow<DType::iq2_xxs, BlockIQ2_XXS>{"IQ2_XXS"},
    TypeRow<DType::iq2_xs, BlockIQ2_XS>{"IQ2_XS"},
    TypeRow<DType::iq2_s, BlockIQ2_S>{"IQ2_S"},
    TypeRow<DType::iq3_xxs, BlockIQ3_XXS>{"IQ3_XXS"},
    TypeRow<DType::iq3_s, BlockIQ3_S>{"IQ3_S"},
    TypeRow<DType::nvfp4, BlockNVFP4>{"NVFP4", {{{1, 4}, {4, 8}}}},
    TypeRow<DType::q1_0, BlockQ1_0>{"Q1_0", {{{2, 1}, {4, 4}}}},
    TypeRow<DType::q2_0, BlockQ2_0>{"Q2_0", {{{2, 1}, {4, 4}}}},
    TypeRow<DType::pq2_0, BlockPQ2_0>{"PQ2_0", {{{2, 1}, {4, 8}}}},
    TypeRow<DType::ptq1_0, BlockPTQ1_0>{"PTQ1_0", {{{4, 6}, {2, 2}}}},
    // Those of files end here.
    TypeRow<DType::coded_iq1_s, CodedIQ1_S>{"IQ1_S in memory", {{{2, 1}, {4, 17}}}},
    TypeRow<DType::coded_iq1_m, CodedIQ1_M>{"IQ1_M in memory", {{{2, 1}, {4, 19}}}},
    TypeRow<DType::coded_iq2_xxs, CodedIQ2_XXS>{"IQ2_XXS in memory", {{{2, 1}, {4, 23}}}},
    TypeRow<DType::coded_iq2, CodedIQ2>{"IQ2_XS and IQ2_S in memory", {{{2, 1}, {4, 26}}}},
    TypeRow<DType::coded_iq3_xxs, CodedIQ3_XXS>{"IQ3_XXS in memory", {{{2, 1}, {4, 33}}}},
    TypeRow<DType::coded_iq3_s, CodedIQ3_S>{"IQ3_S in memory", {{{2, 1}, {4, 33}}}},
};

inline constexpr size_t kNDTypes = std::tuple_size_v<decltype(kTypeRows)>;
inline constexpr size_t kNFileTypes = kNDTypes - 6;

// Whether a Block is a packed struct of several weights, not a single float.
template <class Block>
concept IsBlock = requires {
  Block::kSize;
};

// Makes a table of f(row) for every row of the list, in the same order.
template <class F>
constexpr auto table_of_types(const F& f) {
  return std::apply([&f](const auto&... rows) { return std::array{f(rows)...}; }, kTypeRows);
}

struct DTypeInfo {
  DType type;
  std::string_view name;
  uint32_t block_size;  // weights in a block; a row is a whole number of blocks
  uint32_t block_bytes;
  Units units;
  // Decodes n weights (a multiple of block_size): the format's exact values, each rounded once to a
  // float.
  void (*dequantize)(const std::byte* blocks, float* out, size_t n);
  // The type as which models keep these weights: another one if kernels cannot read the file's
  // blocks. It has the same block size and represents the same numbers.
  DType coded;
  // Converts n weights to that type; null if it is the same.
  void (*encode)(const std::byte* blocks, std::byte* out, size_t n);

  // The bytes of n weights (a multiple of block_size).
  size_t row_bytes(size_t n) const { return n / block_size * block_bytes; }
};

// The types of files, in the order of kTypeRows.
std::span<const DTypeInfo> dtypes();

// These, and the types that only models in memory have.
std::span<const DTypeInfo> dtypes_in_memory();

// The index of a type in dtypes_in_memory() and in tables made by table_of_types().
size_t dtype_index(DType type);

// Returns the row of a type id that was read from a file, or null if no file has that id.
const DTypeInfo* find_dtype(uint32_t id);

// Returns the row of a type by its name in the table, ignoring case ("q4_0"), or null.
const DTypeInfo* find_dtype(std::string_view name);

const DTypeInfo& dtype_info(DType type);

// The bytes of n_rows rows of n_columns weights. Nothing if n_columns is not a multiple of the
// block size, or if the product overflows.
std::optional<uint64_t> tensor_bytes(DType type, uint64_t n_columns, uint64_t n_rows);

}  // namespace kinglet
