#include "tensor/finite.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace kinglet {
namespace {

// The 16-bit words of a block, one behind the other, that hold a float's exponent. Where all its
// bits are set, weights are NaN or infinite; nowhere else, as codes are small.
struct Exponents {
  DType type;
  uint16_t bits;
  uint8_t offset;  // of the first word, in bytes
  uint8_t n_words;
};

constexpr uint16_t kHalf = 0x7c00;
constexpr uint16_t kFloat = 0x7f80;  // in the upper half of a float

template <class Block>
constexpr Exponents scale_of(DType type) {
  return {type, kHalf, offsetof(Block, scale), 1};
}

// The smallest weight, or its scale, stands behind the scale.
template <class Block>
constexpr Exponents scales_of(DType type) {
  return {type, kHalf, offsetof(Block, scale), 2};
}

constexpr std::array kExponents = {
    Exponents{DType::f32, kFloat, 2, 1},    Exponents{DType::f16, kHalf, 0, 1},
    Exponents{DType::bf16, kFloat, 0, 1},   scale_of<BlockQ4_0>(DType::q4_0),
    scales_of<BlockQ4_1>(DType::q4_1),      scale_of<BlockQ5_0>(DType::q5_0),
    scales_of<BlockQ5_1>(DType::q5_1),      scale_of<BlockQ8_0>(DType::q8_0),
    scales_of<BlockQ2_K>(DType::q2_k),      scale_of<BlockQ3_K>(DType::q3_k),
    scales_of<BlockQ4_K>(DType::q4_k),      scales_of<BlockQ5_K>(DType::q5_k),
    scale_of<BlockQ6_K>(DType::q6_k),       scale_of<BlockIQ4_NL>(DType::iq4_nl),
    scale_of<BlockIQ4_XS>(DType::iq4_xs),   scale_of<BlockTQ1_0>(DType::tq1_0),
    scale_of<BlockTQ2_0>(DType::tq2_0),     scale_of<BlockIQ1_S>(DType::iq1_s),
    scale_of<BlockIQ2_XXS>(DType::iq2_xxs), scale_of<BlockIQ2_XS>(DType::iq2_xs),
    scale_of<BlockIQ2_S>(DType::iq2_s),     scale_of<BlockIQ3_XXS>(DType::iq3_xxs),
    scale_of<BlockIQ3_S>(DType::iq3_s),
};

bool has_infinite_exponent(const Exponents& exponents, const std::byte* block) {
  bool found = false;
  for (size_t i = 0; i < exponents.n_words; ++i) {
    uint16_t word;
    std::memcpy(&word, block + exponents.offset + i * sizeof word, sizeof word);
    found = found || (word & exponents.bits) == exponents.bits;
  }
  return found;
}

// Types that are not in the table keep their scale in pieces. MXFP4's largest is NaN where the type
// comes from (OCP Microscaling Formats 1.0), and as a float, for kernels, infinite.
bool decodes_to_finite(const DTypeInfo& type, const std::byte* block) {
  if (type.type == DType::mxfp4 && block[offsetof(BlockMXFP4, exponent)] == std::byte{0xff}) {
    return false;
  }
  constexpr size_t kLargestBlock = 256;
  float weights[kLargestBlock];
  type.dequantize(block, weights, type.block_size);
  return std::all_of(weights, weights + type.block_size, [](float w) { return std::isfinite(w); });
}

}  // namespace

std::optional<size_t> find_not_finite(DType type, std::span<const std::byte> blocks) {
  const DTypeInfo& info = dtype_info(type);
  const auto row = std::find_if(kExponents.begin(), kExponents.end(),
                                [type](const Exponents& e) { return e.type == type; });
  const size_t n_blocks = blocks.size() / info.block_bytes;
  for (size_t i = 0; i < n_blocks; ++i) {
    const std::byte* block = blocks.data() + i * info.block_bytes;
    const bool finite = row == kExponents.end() ? decodes_to_finite(info, block)
                                                : !has_infinite_exponent(*row, block);
    if (!finite) return i;
  }
  return std::nullopt;
}

}  // namespace kinglet
