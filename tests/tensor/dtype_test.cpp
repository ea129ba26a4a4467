#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace kinglet {
namespace {

TEST(DType, EveryRowIsFoundByItsNumberAndItsName) {
  std::set<uint32_t> ids;
  for (const DTypeInfo& info : dtypes()) {
    const auto id = static_cast<uint32_t>(info.type);
    EXPECT_TRUE(ids.insert(id).second) << info.name;
    EXPECT_EQ(find_dtype(id), &info);
    EXPECT_EQ(&dtype_info(info.type), &info);
    std::string name(info.name);
    EXPECT_EQ(find_dtype(name), &info);
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(find_dtype(name), &info);
  }
  EXPECT_EQ(ids.size(), 30u);
}

TEST(DType, UnknownNumbersAndNamesAreNotFound) {
  EXPECT_EQ(find_dtype(4u), nullptr);
  EXPECT_EQ(find_dtype(0xffffffffu), nullptr);
  EXPECT_EQ(find_dtype(""), nullptr);
  EXPECT_EQ(find_dtype("Q4"), nullptr);
  EXPECT_EQ(find_dtype("Q4_00"), nullptr);
}

TEST(DType, BlocksFillChunksOf256Weights) {
  for (const DTypeInfo& info : dtypes()) EXPECT_EQ(256 % info.block_size, 0u) << info.name;
}

TEST(DType, TensorBytesCountWholeBlocks) {
  EXPECT_EQ(tensor_bytes(DType::f32, 3, 5), 60u);
  EXPECT_EQ(tensor_bytes(DType::q4_0, 576, 2), 2u * 18 * 18);
  EXPECT_EQ(tensor_bytes(DType::q4_k, 512, 3), 6u * 144);
  EXPECT_EQ(tensor_bytes(DType::q4_k, 576, 1), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::q8_0, 0, 7), 0u);
}

TEST(DType, TensorBytesThatOverflowAreNone) {
  EXPECT_EQ(tensor_bytes(DType::f32, uint64_t{1} << 62, 1), std::nullopt);
  EXPECT_EQ(tensor_bytes(DType::f16, uint64_t{1} << 40, uint64_t{1} << 40), std::nullopt);
}

}  // namespace
}  // namespace kinglet
