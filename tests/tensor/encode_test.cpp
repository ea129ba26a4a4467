// Encoding: error bounds, edge cases, and what ggml made of the same weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "support.h"
#include "tensor/dtype.h"
#include "tensor/quantizer.h"

namespace kinglet {
namespace {

using Bytes = std::vector<std::byte>;
using Floats = std::vector<float>;

std::vector<DTypeInfo> encodable_types() {
  std::vector<DTypeInfo> types;
  for (const DTypeInfo& type : dtypes()) {
    if (find_quantizer(type.type) != nullptr && type.block_size > 1) types.push_back(type);
  }
  return types;
}

Bytes encode(const DTypeInfo& type, const Floats& weights) {
  Bytes blocks(weights.size() / type.block_size * type.block_bytes);
  find_quantizer(type.type)(weights.data(), blocks.data(), weights.size());
  return blocks;
}

Floats decode(const DTypeInfo& type, const std::byte* blocks, size_t n) {
  Floats weights(n);
  type.dequantize(blocks, weights.data(), n);
  return weights;
}

Floats round_trip(const DTypeInfo& type, const Floats& weights) {
  return decode(type, encode(type, weights).data(), weights.size());
}

Floats gaussian(size_t n, float deviation) {
  std::mt19937 random(1);
  Floats weights(n);
  for (float& w : weights) {  // a sum of twelve uniform numbers: the same on every machine
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
    w = deviation * static_cast<float>(sum);
  }
  return weights;
}

double rms_error(const Floats& a, const Floats& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

TEST(Encode, TheTypesThatAreWrittenAreThese) {
  std::string names;
  for (const DTypeInfo& type : encodable_types()) names += std::string(type.name) + " ";
  EXPECT_EQ(names, "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q5_K Q6_K ");
}

TEST(Encode, ErrorsOfGaussianWeightsAreSmall) {
  struct Bound {
    DType type;
    double error;  // relative to the standard deviation
  };
  constexpr Bound kBounds[] = {{DType::q4_0, 0.090},  {DType::q4_1, 0.082},  {DType::q5_0, 0.045},
                               {DType::q5_1, 0.040},  {DType::q8_0, 0.0056}, {DType::q4_k, 0.071},
                               {DType::q5_k, 0.0355}, {DType::q6_k, 0.0173}};
  const Floats weights = gaussian(256 * 64, 0.02f);
  for (const Bound& bound : kBounds) {
    const DTypeInfo& type = dtype_info(bound.type);
    EXPECT_LT(rms_error(round_trip(type, weights), weights) / 0.02, bound.error) << type.name;
  }
  EXPECT_EQ(std::size(kBounds), encodable_types().size());
}

// Steps between neighbouring codes over a block of 32: |w - w'| is at most half of one, or a whole
// one at the end that a signed code cannot reach. Scales and minima are rounded to 11 bits.
TEST(Encode, NoWeightIsFartherOffThanItsStepAllows) {
  const Floats weights = gaussian(256 * 16, 1.0f);
  for (const DType id : {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0}) {
    const DTypeInfo& type = dtype_info(id);
    const Floats decoded = round_trip(type, weights);
    for (size_t i = 0; i < weights.size(); i += 32) {
      const auto [low, high] = std::minmax_element(&weights[i], &weights[i] + 32);
      const float largest = std::max(-*low, *high);
      float step = 0.0f;
      switch (id) {
        case DType::q4_0:
          step = 2 * largest / 8;
          break;
        case DType::q4_1:
          step = (*high - *low) / 15;
          break;
        case DType::q5_0:
          step = 2 * largest / 16;
          break;
        case DType::q5_1:
          step = (*high - *low) / 31;
          break;
        default:
          step = largest / 127;
      }
      for (size_t j = i; j < i + 32; ++j) {
        EXPECT_LE(std::fabs(weights[j] - decoded[j]), step / 2 + largest / 1000) << type.name;
      }
    }
  }
}

TEST(Encode, ZerosStayZeros) {
  const Floats zeros(512, 0.0f);
  for (const DTypeInfo& type : encodable_types()) {
    for (const float w : round_trip(type, zeros)) ASSERT_EQ(w, 0.0f) << type.name;
  }
}

TEST(Encode, EqualWeightsStayEqualAndClose) {
  for (const float value : {0.75f, -0.75f, 0.03f, -1000.0f}) {
    for (const DTypeInfo& type : encodable_types()) {
      const Floats decoded = round_trip(type, Floats(256, value));
      for (const float w : decoded) {
        ASSERT_EQ(w, decoded[0]) << type.name;
        ASSERT_NEAR(w, value, std::fabs(value) * 0.005f) << type.name;
      }
    }
  }
}

TEST(Encode, BlocksWithOneOutlierKeepIt) {
  for (const DTypeInfo& type : encodable_types()) {
    for (const float outlier : {8.0f, -8.0f}) {
      Floats weights = gaussian(256, 0.01f);
      weights[77] = outlier;
      EXPECT_NEAR(round_trip(type, weights)[77], outlier, 0.05f) << type.name;
    }
  }
}

// Weights whose scales are subnormal binary16 numbers, and weights that are none.
TEST(Encode, TinyAndNonFiniteWeightsAreNoError) {
  for (const DTypeInfo& type : encodable_types()) {
    for (const float deviation : {1e-6f, 1e-9f, 1e-42f}) {
      const Floats weights = gaussian(256, deviation);
      EXPECT_LT(rms_error(round_trip(type, weights), weights), 2e-6) << type.name;
    }
    for (const float value : {INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::max()}) {
      Floats weights = gaussian(256, 1.0f);
      weights[3] = weights[100] = value;
      EXPECT_EQ(round_trip(type, weights).size(), weights.size());
    }
  }
}

TEST(Encode, WholeNumbersThatATypeCanHoldComeBack) {
  struct Range {
    DType type;
    int lowest;
    int count;
  };
  constexpr Range kRanges[] = {{DType::q4_0, -8, 16},
                               {DType::q4_1, -3, 16},
                               {DType::q5_0, -16, 32},
                               {DType::q5_1, 5, 32},
                               {DType::q8_0, 96, 32}};
  for (const Range& range : kRanges) {
    Floats weights(256);
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<float>(range.lowest + static_cast<int>(i * 5) % range.count);
    }
    EXPECT_EQ(round_trip(dtype_info(range.type), weights), weights) << dtype_info(range.type).name;
  }
}

TEST(Encode, FloatTypesKeepWhatTheyCanHold) {
  const Floats weights = {0.0f, 1.0f, -2.5f, 65504.0f, 0x1p-14f, 384.0f};
  for (const DType id : {DType::f32, DType::f16}) {
    EXPECT_EQ(round_trip(dtype_info(id), weights), weights);
  }
  EXPECT_EQ(round_trip(dtype_info(DType::bf16), weights)[2], -2.5f);
  EXPECT_EQ(round_trip(dtype_info(DType::bf16), weights)[3], 65536.0f);
}

// The fixtures were quantized from one file of F32 weights.
class EncodeFixture : public testing::TestWithParam<const char*> {};

TEST_P(EncodeFixture, IsNoWorseThanTheFile) {
  auto source = read_gguf_file(fixture_path("quant/llama-f32.gguf"));
  auto file = read_gguf_file(fixture_path(std::string("quant/llama-") + GetParam() + ".gguf"));
  ASSERT_TRUE(source.ok() && file.ok());
  size_t n_tensors = 0;
  for (const TensorInfo& info : file.value().header().tensors) {
    const DTypeInfo& type = dtype_info(info.type);
    if (type.block_size == 1 || find_quantizer(type.type) == nullptr) continue;
    const TensorInfo* source_info = source.value().header().find_tensor(info.name);
    ASSERT_NE(source_info, nullptr);
    ASSERT_EQ(source_info->type, DType::f32);
    const std::span<std::byte> bytes = source.value().tensor(*source_info).bytes;
    Floats weights(bytes.size() / sizeof(float));
    std::memcpy(weights.data(), bytes.data(), bytes.size());
    const std::span<std::byte> theirs = file.value().tensor(info).bytes;
    const Bytes ours = encode(type, weights);
    if (type.block_size == 32) {  // one rule for all writers
      EXPECT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end())) << info.name;
    } else {
      EXPECT_LE(rms_error(decode(type, ours.data(), weights.size()), weights),
                rms_error(decode(type, theirs.data(), weights.size()), weights))
          << info.name << " " << type.name;
    }
    ++n_tensors;
  }
  EXPECT_GE(n_tensors, 1u);
}

INSTANTIATE_TEST_SUITE_P(Types, EncodeFixture,
                         testing::Values("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K_M", "Q5_K_M",
                                         "Q6_K"));

}  // namespace
}  // namespace kinglet
