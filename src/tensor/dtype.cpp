#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/ascii.h"
#include "base/checked.h"
#include "tensor/codecs.h"

namespace kinglet {
namespace {

template <class Block>
void dequantize_blocks(const std::byte* blocks, float* out, size_t n) {
  const auto* block = reinterpret_cast<const Block*>(blocks);
  for (size_t i = 0; i < n; i += Block::kSize) decode(*block++, out + i);
}

template <class Block>
constexpr DTypeInfo block_type(DType type, std::string_view name) {
  return {type, name, Block::kSize, sizeof(Block), dequantize_blocks<Block>};
}

void copy_f32(const std::byte* blocks, float* out, size_t n) {
  std::memcpy(out, blocks, n * sizeof(float));
}

template <class Float16>
void widen(const std::byte* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Float16 value;
    std::memcpy(&value, blocks + i * sizeof value, sizeof value);
    out[i] = to_float(value);
  }
}

constexpr std::array kTypes = {
    DTypeInfo{DType::f32, "F32", 1, sizeof(float), copy_f32},
    DTypeInfo{DType::f16, "F16", 1, sizeof(Half), widen<Half>},
    DTypeInfo{DType::bf16, "BF16", 1, sizeof(BFloat16), widen<BFloat16>},
    block_type<BlockQ4_0>(DType::q4_0, "Q4_0"),
    block_type<BlockQ4_1>(DType::q4_1, "Q4_1"),
    block_type<BlockQ5_0>(DType::q5_0, "Q5_0"),
    block_type<BlockQ5_1>(DType::q5_1, "Q5_1"),
    block_type<BlockQ8_0>(DType::q8_0, "Q8_0"),
    block_type<BlockQ2_K>(DType::q2_k, "Q2_K"),
    block_type<BlockQ3_K>(DType::q3_k, "Q3_K"),
    block_type<BlockQ4_K>(DType::q4_k, "Q4_K"),
    block_type<BlockQ5_K>(DType::q5_k, "Q5_K"),
    block_type<BlockQ6_K>(DType::q6_k, "Q6_K"),
    block_type<BlockIQ4_NL>(DType::iq4_nl, "IQ4_NL"),
    block_type<BlockIQ4_XS>(DType::iq4_xs, "IQ4_XS"),
    block_type<BlockMXFP4>(DType::mxfp4, "MXFP4"),
    block_type<BlockTQ1_0>(DType::tq1_0, "TQ1_0"),
    block_type<BlockTQ2_0>(DType::tq2_0, "TQ2_0"),
    block_type<BlockIQ1_S>(DType::iq1_s, "IQ1_S"),
    block_type<BlockIQ1_M>(DType::iq1_m, "IQ1_M"),
    block_type<BlockIQ2_XXS>(DType::iq2_xxs, "IQ2_XXS"),
    block_type<BlockIQ2_XS>(DType::iq2_xs, "IQ2_XS"),
    block_type<BlockIQ2_S>(DType::iq2_s, "IQ2_S"),
    block_type<BlockIQ3_XXS>(DType::iq3_xxs, "IQ3_XXS"),
    block_type<BlockIQ3_S>(DType::iq3_s, "IQ3_S"),
};

static_assert(std::all_of(kTypes.begin(), kTypes.end(), [](const DTypeInfo& info) {
  return static_cast<size_t>(info.type) <= kMaxDTypeId;
}));

}  // namespace

std::span<const DTypeInfo> dtypes() { return kTypes; }

const DTypeInfo* find_dtype(uint32_t id) {
  const auto row = std::find_if(kTypes.begin(), kTypes.end(), [id](const DTypeInfo& info) {
    return static_cast<uint32_t>(info.type) == id;
  });
  return row == kTypes.end() ? nullptr : row;
}

const DTypeInfo* find_dtype(std::string_view name) {
  const auto row = std::find_if(kTypes.begin(), kTypes.end(), [name](const DTypeInfo& info) {
    return equal_ignoring_case(info.name, name);
  });
  return row == kTypes.end() ? nullptr : row;
}

const DTypeInfo& dtype_info(DType type) { return *find_dtype(static_cast<uint32_t>(type)); }

std::optional<uint64_t> tensor_bytes(DType type, uint64_t n_columns, uint64_t n_rows) {
  const DTypeInfo& info = dtype_info(type);
  if (n_columns % info.block_size != 0) return std::nullopt;
  const auto row_bytes = checked_mul(n_columns / info.block_size, info.block_bytes);
  return row_bytes ? checked_mul(*row_bytes, n_rows) : std::nullopt;
}

}  // namespace kinglet
