#include "tensor/finite.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "tensor/codecs.h"

namespace kinglet {
namespace {

// The adjacent 16-bit words of a block that each hold a float's exponent. If all bits of such an
// exponent are set, weights are NaN or infinite. Otherwise, none is, as codes are small.
struct Exponents {
  uint16_t bits = 0;
  uint8_t offset = 0;  // of the first word, in bytes
  uint8_t n_words = 0;
  bool (*is_finite)(const std::byte* block) = nullptr;  // replaces the check of words if not null
};

constexpr uint16_t kHalfExponent = 0x7c00;
constexpr uint16_t kFloat = 0x7f80;  // in the upper half of a float

// Types without such a word have their own is_finite().

bool is_finite(const BlockIQ1_M& block) {
  return (block.block_scale().bits & kHalfExponent) != kHalfExponent;
}

// The largest exponent is NaN in the type's source (OCP Microscaling Formats 1.0), and infinite as
// a kernel's float. With the next two exponents, large codes give numbers beyond the largest float.
bool is_finite(const BlockMXFP4& block) {
  if (block.exponent < 253) return true;
  if (block.exponent == 255) return false;
  float weights[BlockMXFP4::kSize];
  decode(block, weights);
  return std::all_of(std::begin(weights), std::end(weights),
                     [](float w) { return std::isfinite(w); });
}

// A scale is NaN if it is NaN as an 8-bit float (OCP OFP8).
bool is_finite(const BlockNVFP4& block) {
  return std::none_of(std::begin(block.scales), std::end(block.scales),
                      [](uint8_t scale) { return (scale & 0x7f) == 0x7f; });
}

// Whether the minimum, or the scale of minima, follows the scale.
template <class Block>
constexpr bool has_minimum() {
  return requires(const Block& block) { block.minimum; }
  || requires(const Block& block) { block.minimum_scale; };
}

template <DType kId, class Block>
constexpr Exponents exponents_of(const TypeRow<kId, Block>& /*row*/) {
  if constexpr (std::is_same_v<Block, float>) {
    return {kFloat, 2, 1};
  } else if constexpr (std::is_same_v<Block, BFloat16>) {
    return {kFloat, 0, 1};
  } else if constexpr (std::is_same_v<Block, Half>) {
    return {kHalfExponent, 0, 1};
  } else if constexpr (requires(const Block& block) { is_finite(block); }) {
    return {.is_finite = [](const std::byte* block) {
      return is_finite(*reinterpret_cast<const Block*>(block));
    }};
  } else {
    return {kHalfExponent, offsetof(Block, scale), has_minimum<Block>() ? 2 : 1};
  }
}

constexpr std::array kExponents = table_of_types([](const auto& row) { return exponents_of(row); });

bool has_infinite_exponent(const Exponents& exponents, const std::byte* block) {
  bool found = false;
  for (size_t i = 0; i < exponents.n_words; ++i) {
    uint16_t word;
    std::memcpy(&word, block + exponents.offset + i * sizeof word, sizeof word);
    found = found || (word & exponents.bits) == exponents.bits;
  }
  return found;
}

}  // namespace

std::optional<size_t> find_not_finite(DType type, std::span<const std::byte> blocks) {
  const DTypeInfo& info = dtype_info(type);
  const Exponents& exponents = kExponents[dtype_index(type)];
  const size_t n_blocks = blocks.size() / info.block_bytes;
  for (size_t i = 0; i < n_blocks; ++i) {
    const std::byte* block = blocks.data() + i * info.block_bytes;
    const bool finite = exponents.is_finite != nullptr ? exponents.is_finite(block)
                                                       : !has_infinite_exponent(exponents, block);
    if (!finite) return i;
  }
  return std::nullopt;
}

}  // namespace kinglet
