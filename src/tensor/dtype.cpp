#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/checked.h"

namespace kinglet {
namespace {

template <class Block, void (*decode)(const Block&, float*)>
void dequantize_blocks(const std::byte* blocks, float* out, size_t n) {
  const auto* block = reinterpret_cast<const Block*>(blocks);
  for (size_t i = 0; i < n; i += Block::kSize) decode(*block++, out + i);
}

template <class Block, void (*encode)(const float*, Block&)>
void quantize_blocks(const float* in, std::byte* blocks, size_t n) {
  auto* block = reinterpret_cast<Block*>(blocks);
  for (size_t i = 0; i < n; i += Block::kSize) encode(in + i, *block++);
}

void copy_f32(const std::byte* blocks, float* out, size_t n) {
  std::memcpy(out, blocks, n * sizeof(float));
}

void store_f32(const float* in, std::byte* blocks, size_t n) {
  std::memcpy(blocks, in, n * sizeof(float));
}

template <class Float16>
void widen(const std::byte* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Float16 value;
    std::memcpy(&value, blocks + i * sizeof value, sizeof value);
    out[i] = to_float(value);
  }
}

template <class Float16, Float16 (*round)(float)>
void narrow(const float* in, std::byte* blocks, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const Float16 value = round(in[i]);
    std::memcpy(blocks + i * sizeof value, &value, sizeof value);
  }
}

void decode_q4_0(const BlockQ4_0& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t i = 0; i < BlockQ4_0::kSize / 2; ++i) {
    out[i] = scale * static_cast<float>((block.codes[i] & 0x0f) - 8);
    out[i + BlockQ4_0::kSize / 2] = scale * static_cast<float>((block.codes[i] >> 4) - 8);
  }
}

void decode_q8_0(const BlockQ8_0& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t i = 0; i < BlockQ8_0::kSize; ++i) {
    out[i] = scale * static_cast<float>(block.codes[i]);
  }
}

void decode_q6_k(const BlockQ6_K& block, float* out) {
  const float scale = to_float(block.scale);
  for (size_t i = 0; i < BlockQ6_K::kSize; ++i) {
    const size_t half = i / 128;
    const size_t within = i % 128;
    const int low = block.low_nibbles[half * 64 + within % 64] >> (within < 64 ? 0 : 4) & 0x0f;
    const int high = block.high_pairs[half * 32 + within % 32] >> (within / 32 * 2) & 0x03;
    const int code = (high << 4 | low) - 32;
    out[i] = scale * static_cast<float>(block.scales[i / 16]) * static_cast<float>(code);
  }
}

constexpr std::array kTypes = {
    DTypeInfo{DType::f32, "F32", 1, sizeof(float), copy_f32, store_f32},
    DTypeInfo{DType::f16, "F16", 1, sizeof(Half), widen<Half>, narrow<Half, to_half>},
    DTypeInfo{DType::bf16, "BF16", 1, sizeof(BFloat16), widen<BFloat16>,
              narrow<BFloat16, to_bfloat16>},
    DTypeInfo{DType::q4_0, "Q4_0", BlockQ4_0::kSize, sizeof(BlockQ4_0),
              dequantize_blocks<BlockQ4_0, decode_q4_0>, nullptr},
    DTypeInfo{DType::q8_0, "Q8_0", BlockQ8_0::kSize, sizeof(BlockQ8_0),
              dequantize_blocks<BlockQ8_0, decode_q8_0>, nullptr},
    DTypeInfo{DType::q6_k, "Q6_K", BlockQ6_K::kSize, sizeof(BlockQ6_K),
              dequantize_blocks<BlockQ6_K, decode_q6_k>, nullptr},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

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
    return std::equal(name.begin(), name.end(), info.name.begin(), info.name.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
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
