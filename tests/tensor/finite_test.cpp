#include "tensor/finite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace kinglet {
namespace {

bool decodes_to_finite(const DTypeInfo& type, const std::byte* block) {
  // By definition these scales are NaN, also if the decoder makes a number of them.
  if (type.type == DType::mxfp4 && block[0] == std::byte{0xff}) return false;
  if (type.type == DType::nvfp4 && std::any_of(block, block + 4, [](std::byte scale) {
        return (scale & std::byte{0x7f}) == std::byte{0x7f};
      })) {
    return false;
  }
  std::vector<float> weights(type.block_size);
  type.dequantize(block, weights.data(), weights.size());
  for (const float weight : weights) {
    if (!std::isfinite(weight)) return false;
  }
  return true;
}

std::vector<std::byte> random_block(const DTypeInfo& type, std::mt19937& random) {
  std::vector<std::byte> block(type.block_bytes);
  for (std::byte& byte : block) byte = static_cast<std::byte>(random());
  return block;
}

TEST(Finite, IsWhatDecodesToNumbers) {
  std::mt19937 random(3);
  for (const DTypeInfo& type : dtypes()) {
    int n_bad = 0;
    for (int i = 0; i < 20'000; ++i) {
      const auto block = random_block(type, random);
      const bool finite = decodes_to_finite(type, block.data());
      ASSERT_EQ(find_not_finite(type.type, block).has_value(), !finite) << type.name;
      n_bad += finite ? 0 : 1;
    }
    EXPECT_GT(n_bad, 0) << type.name << ": nothing was tried";
  }
}

TEST(Finite, NamesTheFirstBadBlock) {
  std::mt19937 random(4);
  for (const DTypeInfo& type : dtypes()) {
    std::vector<std::byte> bad;
    do {
      bad = random_block(type, random);
    } while (decodes_to_finite(type, bad.data()));
    std::vector<std::byte> blocks(5 * type.block_bytes);
    EXPECT_EQ(find_not_finite(type.type, blocks), std::nullopt) << type.name;
    std::copy(bad.begin(), bad.end(),
              blocks.begin() + static_cast<ptrdiff_t>(3 * type.block_bytes));
    EXPECT_EQ(find_not_finite(type.type, blocks), 3u) << type.name;
  }
}

}  // namespace
}  // namespace kinglet
