// Decoding, compared with an independent reading of the formats and with ggml's own results.
#include "tensor/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/bit_cast.h"
#include "tensor/block_oracle.h"

namespace kinglet {
namespace {

// The generator of "Numerical Recipes": it gives the same bytes everywhere.
class Random {
 public:
  std::byte byte() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<std::byte>(state_ >> 24);
  }

  Bytes bytes(size_t n) {
    Bytes result(n);
    for (std::byte& b : result) b = byte();
    return result;
  }

 private:
  uint32_t state_ = 1;
};

std::vector<DTypeInfo> block_types() {
  std::vector<DTypeInfo> types;
  for (const DTypeInfo& type : dtypes()) {
    if (type.block_size > 1) types.push_back(type);
  }
  return types;
}

void set_half(Bytes& block, size_t offset, uint16_t bits) {
  block[offset] = static_cast<std::byte>(bits & 0xff);
  block[offset + 1] = static_cast<std::byte>(bits >> 8);
}

// Expects every weight to be the oracle's value, rounded once.
void expect_oracle_values(const DTypeInfo& type, const Bytes& block) {
  const BlockOracle oracle(type.type, block.data());
  const std::vector<float> weights = decode(type, block);
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto expected = static_cast<float>(oracle.weight(i));
    if (std::isnan(expected) && std::isnan(weights[i])) continue;
    ASSERT_EQ(weights[i], expected) << type.name << " weight " << i;
  }
}

TEST(Decode, RandomBlocksHaveTheOraclesValues) {
  Random random;
  for (const DTypeInfo& type : block_types()) {
    for (int i = 0; i < 100; ++i) expect_oracle_values(type, random.bytes(type.block_bytes));
  }
}

TEST(Decode, EveryByteCodeHasTheOraclesValueEverywhereInABlock) {
  for (const DTypeInfo& type : block_types()) {
    for (int code = 0; code < 256; ++code) {
      Bytes block(type.block_bytes, static_cast<std::byte>(code));
      for (const size_t offset : BlockOracle::half_offsets(type.type)) {
        set_half(block, offset, 0x3c01);
      }
      expect_oracle_values(type, block);
    }
  }
}

TEST(Decode, UnusualScalesHaveTheOraclesValue) {
  // Zeros, the smallest and largest subnormal and normal numbers, a negative number, infinities, a
  // NaN.
  constexpr std::array<uint16_t, 12> kScales = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400,
                                                0x7bff, 0xfbff, 0xbc00, 0x7c00, 0xfc00, 0x7e00};
  Random random;
  for (const DTypeInfo& type : block_types()) {
    for (const size_t offset : BlockOracle::half_offsets(type.type)) {
      for (const uint16_t scale : kScales) {
        Bytes block = random.bytes(type.block_bytes);
        set_half(block, offset, scale);
        expect_oracle_values(type, block);
      }
    }
  }
}

TEST(Decode, ScalesOfMxfp4ArePowersOfTwoDownToSubnormalFloats) {
  const DTypeInfo& type = dtype_info(DType::mxfp4);
  for (int exponent = 0; exponent < 254; ++exponent) {
    Bytes block(type.block_bytes, std::byte{0x22});  // 1.0
    block[0] = static_cast<std::byte>(exponent);
    EXPECT_EQ(decode(type, block)[0], std::ldexp(1.0f, exponent - 127)) << exponent;
  }
}

TEST(Decode, ScalesOfNvfp4AreUnsignedFloatsDownToSubnormalOnes) {
  const DTypeInfo& type = dtype_info(DType::nvfp4);
  for (int code = 0; code < 256; ++code) {
    Bytes block(type.block_bytes, std::byte{0x22});  // 1.0
    block[2] = static_cast<std::byte>(code);
    expect_oracle_values(type, block);
  }
  Bytes block(type.block_bytes, std::byte{0x7f});  // NaN in the scales of 8-bit floats
  block[0] = std::byte{0x01};
  block[1] = std::byte{0x38};
  std::fill(block.begin() + 4, block.end(), std::byte{0x72});  // 1, then 6
  const std::vector<float> weights = decode(type, block);
  EXPECT_EQ(weights[0], 0x1p-9f);
  EXPECT_EQ(weights[8], 6 * 0x1p-9f);
  EXPECT_EQ(weights[16], 1.0f);
  EXPECT_EQ(weights[24], 6.0f);
  EXPECT_EQ(weights[32], 0.0f);
}

TEST(Decode, EveryByteAtEveryPlaceOfFewBitsHasTheOraclesValue) {
  Random random;
  for (const DType id : {DType::nvfp4, DType::q1_0, DType::q2_0, DType::pq2_0, DType::ptq1_0}) {
    const DTypeInfo& type = dtype_info(id);
    for (size_t byte = 0; byte < type.block_bytes; ++byte) {
      Bytes block = random.bytes(type.block_bytes);
      for (int code = 0; code < 256; ++code) {
        block[byte] = static_cast<std::byte>(code);
        expect_oracle_values(type, block);
      }
    }
  }
}

TEST(Decode, AnyNumberOfBlocksInARow) {
  Random random;
  for (const DTypeInfo& type : block_types()) {
    const Bytes blocks = random.bytes(3 * type.block_bytes);
    const std::vector<float> weights = decode(type, blocks);
    for (size_t block = 0; block < 3; ++block) {
      const BlockOracle oracle(type.type, blocks.data() + block * type.block_bytes);
      for (size_t i = 0; i < type.block_size; ++i) {
        const auto expected = static_cast<float>(oracle.weight(i));
        if (std::isnan(expected)) continue;
        EXPECT_EQ(weights[block * type.block_size + i], expected) << type.name;
      }
    }
  }
}

uint32_t checksum(const std::vector<float>& weights) {
  uint32_t sum = 2166136261u;
  for (const float weight : weights) {
    sum = (sum ^ (std::isnan(weight) ? 0x7fc00000u : bit_cast<uint32_t>(weight))) * 16777619u;
    sum ^= sum >> 15;
  }
  return sum;
}

// The only test that does not take the codebooks from this project: the results of ggml 0.5.0's
// dequantize_row_* functions (for the newest types those of llama.cpp b11118), run on the same 512
// blocks of random bytes.
TEST(Decode, GivesTheBitsThatGgmlGives) {
  struct Answer {
    DType type;
    uint32_t checksum;
  };
  constexpr Answer kAnswers[] = {
      {DType::q4_0, 0xd4626ec0},   {DType::q4_1, 0x4681edec},   {DType::q5_0, 0xde4c3a94},
      {DType::q5_1, 0x6cfccda6},   {DType::q8_0, 0x053843d3},   {DType::q2_k, 0xeac44817},
      {DType::q3_k, 0x85bc507e},   {DType::q4_k, 0x3d612605},   {DType::q5_k, 0xa1c43ab6},
      {DType::q6_k, 0x3ef4ae1c},   {DType::iq4_nl, 0x201c6569}, {DType::iq4_xs, 0xf78f6add},
      {DType::mxfp4, 0xb8573f8f},  {DType::tq1_0, 0x0939c125},  {DType::tq2_0, 0xfa1e8ab4},
      {DType::iq1_s, 0xec353c28},  {DType::iq1_m, 0x019b59f4},  {DType::iq2_xxs, 0x02618c7e},
      {DType::iq2_xs, 0x23ce65cf}, {DType::iq2_s, 0x118a3a5e},  {DType::iq3_xxs, 0xb37ba0a8},
      {DType::iq3_s, 0xc1c0ab4a},  {DType::nvfp4, 0xff999ec6},  {DType::q1_0, 0x53d7f005},
      {DType::q2_0, 0x72b96128},
  };
  for (const Answer& answer : kAnswers) {
    const DTypeInfo& type = dtype_info(answer.type);
    const Bytes blocks = Random().bytes(512 * type.block_bytes);
    EXPECT_EQ(checksum(decode(type, blocks)), answer.checksum) << type.name;
  }
  constexpr size_t kNotOfGgml = 2;  // PQ2_0, PTQ1_0
  EXPECT_EQ(std::size(kAnswers) + kNotOfGgml, block_types().size());
}

}  // namespace
}  // namespace kinglet
