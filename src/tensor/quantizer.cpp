#include "tensor/quantizer.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "tensor/codecs.h"
#include "tensor/encoding.h"

namespace kinglet {
namespace {

template <class Block>
void quantize_blocks(const float* in, std::byte* blocks, size_t n) {
  auto* block = reinterpret_cast<Block*>(blocks);
  for (size_t i = 0; i < n; i += Block::kSize) encode(in + i, *block++);
}

template <class Block>
void quantize_by_importance(const float* in, const float* importance, std::byte* blocks, size_t n) {
  auto* block = reinterpret_cast<Block*>(blocks);
  for (size_t i = 0; i < n; i += Block::kSize) encode(in + i, importance + i, *block++);
}

// For types whose only encoder searches.
template <class Block>
void quantize_equally(const float* in, std::byte* blocks, size_t n) {
  auto* block = reinterpret_cast<Block*>(blocks);
  for (size_t i = 0; i < n; i += Block::kSize) encode(in + i, kEqualImportance.data(), *block++);
}

void store_f32(const float* in, std::byte* blocks, size_t n) {
  std::memcpy(blocks, in, n * sizeof(float));
}

template <class Float16, Float16 (*round)(float)>
void narrow(const float* in, std::byte* blocks, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const Float16 value = round(in[i]);
    std::memcpy(blocks + i * sizeof value, &value, sizeof value);
  }
}

template <class Block>
concept UsesImportance = requires(const float* in, Block& block) {
  encode(in, in, block);
};

template <DType kId, class Block>
constexpr Quantizer quantizer_of(const TypeRow<kId, Block>& /*row*/) {
  if constexpr (requires(const float* in, Block& block) { encode(in, block); }) {
    return quantize_blocks<Block>;
  } else if constexpr (UsesImportance<Block>) {
    return quantize_equally<Block>;
  } else if constexpr (std::is_same_v<Block, float>) {
    return store_f32;
  } else if constexpr (std::is_same_v<Block, Half>) {
    return narrow<Half, to_half>;
  } else if constexpr (std::is_same_v<Block, BFloat16>) {
    return narrow<BFloat16, to_bfloat16>;
  } else {
    return nullptr;
  }
}

template <DType kId, class Block>
constexpr ImportanceQuantizer importance_quantizer_of(const TypeRow<kId, Block>& /*row*/) {
  if constexpr (UsesImportance<Block>) return quantize_by_importance<Block>;
  return nullptr;
}

constexpr std::array kQuantizers =
    table_of_types([](const auto& row) { return quantizer_of(row); });

constexpr std::array kImportanceQuantizers =
    table_of_types([](const auto& row) { return importance_quantizer_of(row); });

}  // namespace

Quantizer find_quantizer(DType type) { return kQuantizers[dtype_index(type)]; }

ImportanceQuantizer find_importance_quantizer(DType type) {
  return kImportanceQuantizers[dtype_index(type)];
}

}  // namespace kinglet
