// Types that models keep in another form than files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/bit_cast.h"
#include "tensor/decode.h"

namespace kinglet {
namespace {

std::vector<DTypeInfo> coded_types() {
  std::vector<DTypeInfo> types;
  std::copy_if(dtypes().begin(), dtypes().end(), std::back_inserter(types),
               [](const DTypeInfo& type) { return type.coded != type.type; });
  return types;
}

TEST(Coded, KeepsEveryWeightBitForBit) {
  std::mt19937 random(5);
  for (const DTypeInfo& type : coded_types()) {
    const DTypeInfo& coded = dtype_info(type.coded);
    ASSERT_EQ(coded.block_size, type.block_size);
    for (int i = 0; i < 500; ++i) {
      Bytes blocks(3 * type.block_bytes);
      for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
      Bytes codes(3 * coded.block_bytes, std::byte{0xff});
      type.encode(blocks.data(), codes.data(), 3 * type.block_size);
      const std::vector<float> expected = decode(type, blocks);
      const std::vector<float> found = decode(coded, codes);
      for (size_t j = 0; j < expected.size(); ++j) {
        if (std::isnan(expected[j]) && std::isnan(found[j])) continue;
        ASSERT_EQ(bit_cast<uint32_t>(found[j]), bit_cast<uint32_t>(expected[j]))
            << type.name << " weight " << j;
      }
    }
  }
}

TEST(Coded, TakesAtMost45PercentMoreMemoryThanTheFile) {
  const auto types = coded_types();
  EXPECT_EQ(types.size(), 7u);
  for (const DTypeInfo& type : types) {
    EXPECT_LE(dtype_info(type.coded).block_bytes, 1.45 * type.block_bytes) << type.name;
  }
}

TEST(Coded, TypesAreInNoFile) {
  for (const DTypeInfo& type : dtypes_in_memory()) {
    const bool is_in_files = type.type <= DType::ptq1_0;
    EXPECT_EQ(find_dtype(static_cast<uint32_t>(type.type)) != nullptr, is_in_files) << type.name;
    EXPECT_EQ(find_dtype(type.name) != nullptr, is_in_files) << type.name;
    EXPECT_TRUE(is_in_files || type.coded == type.type) << type.name;
  }
}

}  // namespace
}  // namespace kinglet
