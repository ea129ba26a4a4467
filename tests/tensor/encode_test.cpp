// Encoding: error bounds, edge cases, and comparisons with ggml's encoding of the same weights.
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
#include "tensor/decode.h"
#include "tensor/quantizer.h"

namespace kinglet {
namespace {

using Floats = std::vector<float>;

std::vector<DTypeInfo> encodable_types() {
  std::vector<DTypeInfo> types;
  for (const DTypeInfo& type : dtypes()) {
    if (find_quantizer(type.type) != nullptr && type.block_size > 1) types.push_back(type);
  }
  return types;
}

// IQ1 to IQ3: such types cannot represent equal weights, or one large weight among small ones.
bool has_codebook(const DTypeInfo& type) { return type.coded != type.type; }

Bytes encode(const DTypeInfo& type, const Floats& weights) {
  Bytes blocks(weights.size() / type.block_size * type.block_bytes);
  find_quantizer(type.type)(weights.data(), blocks.data(), weights.size());
  return blocks;
}

Floats recode(const DTypeInfo& type, const Floats& weights) {
  return decode(type, encode(type, weights));
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
  EXPECT_EQ(names,
            "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4 TQ1_0 TQ2_0 "
            "IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S NVFP4 Q1_0 Q2_0 ");
}

// FNV-1a over words of 8 bytes, folded after each.
uint64_t fnv_hash(std::span<const std::byte> bytes) {
  uint64_t hash = (0xcbf29ce484222325u ^ bytes.size()) * 0x100000001b3u;
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[at], std::min<size_t>(bytes.size() - at, 8));
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 32;
  }
  return hash;
}

// Types that are encoded by ggml's own rules, with the hash of ggml's encoding of the weights
// below.
struct GgmlBytes {
  DType type;
  uint64_t hash;
};

constexpr GgmlBytes kGgmlBytes[] = {
    {DType::q4_0, 0x59c0e98e592ab197},  {DType::q4_1, 0x82dd70e3babeefbf},
    {DType::q5_0, 0x144fee27fca8db5b},  {DType::q5_1, 0x468582cea5add453},
    {DType::q8_0, 0xfbc9a78f393e1fc4},  {DType::mxfp4, 0x5676246fba73b7e8},
    {DType::tq1_0, 0x3a066fbece695ffd}, {DType::tq2_0, 0x10fa880677234888},
    {DType::nvfp4, 0x64c3b79242a5b527}, {DType::q1_0, 0x9e0b40a123570043},
    {DType::q2_0, 0xa7304d043f5dabf6}};

bool is_encoded_as_by_ggml(DType type) {
  return std::any_of(std::begin(kGgmlBytes), std::end(kGgmlBytes),
                     [type](const GgmlBytes& row) { return row.type == type; });
}

TEST(Encode, TypesWithOneRuleForAllWritersGiveTheBytesOfGgml) {
  const Floats weights = gaussian(256 * 64, 0.02f);
  for (const GgmlBytes& row : kGgmlBytes) {
    const DTypeInfo& type = dtype_info(row.type);
    EXPECT_EQ(fnv_hash(encode(type, weights)), row.hash) << type.name;
  }
}

// With weights whose scales are normal floats, and with weights whose scales ggml cuts off.
TEST(Encode, Nvfp4OfLargeWeightsGivesTheBytesOfGgml) {
  const DTypeInfo& type = dtype_info(DType::nvfp4);
  EXPECT_EQ(fnv_hash(encode(type, gaussian(256 * 64, 1.0f))), 0x7837e987780b9f53);
  EXPECT_EQ(fnv_hash(encode(type, gaussian(256 * 64, 160.0f))), 0xc6b492194c5c003f);
}

// Errors relative to the root mean square of the weights.
struct Errors {
  DType type;
  double gaussian;  // the measured error of ggml's encoder (llama.cpp b11118; IQ1 to IQ3: equal
                    // importance)
  double cubed;     // the same for cubed gaussian weights, some of which are far outliers
};

constexpr Errors kErrors[] = {
    {DType::q2_k, 0.295021, 0.409222},    {DType::q3_k, 0.149150, 0.157153},
    {DType::q4_k, 0.070566, 0.090720},    {DType::q5_k, 0.035677, 0.049668},
    {DType::q6_k, 0.017514, 0.024133},    {DType::iq4_nl, 0.075615, 0.090572},
    {DType::iq4_xs, 0.076211, 0.091685},  {DType::iq1_s, 0.480846, 0.601438},
    {DType::iq1_m, 0.446674, 0.477778},   {DType::iq2_xxs, 0.340730, 0.626032},
    {DType::iq2_xs, 0.298842, 0.507436},  {DType::iq2_s, 0.247866, 0.487309},
    {DType::iq3_xxs, 0.180635, 0.281335}, {DType::iq3_s, 0.135572, 0.240766}};

TEST(Encode, SearchesFindSmallerErrorsThanGgml) {
  const Floats weights = gaussian(256 * 64, 0.02f);
  Floats cubed = gaussian(256 * 64, 1.0f);
  for (float& w : cubed) w = 0.02f * w * w * w;
  const Floats zeros(weights.size(), 0.0f);
  for (const Errors& ggml : kErrors) {
    const DTypeInfo& type = dtype_info(ggml.type);
    const auto error = [&type, &zeros](const Floats& w) {
      return rms_error(recode(type, w), w) / rms_error(w, zeros);
    };
    EXPECT_LT(error(weights), 0.985 * ggml.gaussian) << type.name;
    EXPECT_LT(error(cubed), 0.97 * ggml.cubed) << type.name;
  }
  EXPECT_EQ(std::size(kErrors) + std::size(kGgmlBytes), encodable_types().size());
}

std::vector<DTypeInfo> types_by_importance() {
  std::vector<DTypeInfo> types;
  for (const DTypeInfo& type : dtypes()) {
    if (find_importance_quantizer(type.type) != nullptr) types.push_back(type);
  }
  return types;
}

Bytes encode_by_importance(const DTypeInfo& type, const Floats& weights, const Floats& importance) {
  Bytes blocks(weights.size() / type.block_size * type.block_bytes);
  find_importance_quantizer(type.type)(weights.data(), importance.data(), blocks.data(),
                                       weights.size());
  return blocks;
}

double weighted_error(const Floats& a, const Floats& b, const Floats& importance) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += double{importance[i]} * (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  }
  return sum;
}

// Positive numbers of which few are large, as the squares of activations.
Floats uneven_importance(size_t n) {
  Floats importance = gaussian(2 * n, 1.0f);
  for (size_t i = 0; i < n; ++i) importance[i] = std::exp(1.5f * importance[n + i]);
  importance.resize(n);
  return importance;
}

TEST(Encode, TheTypesThatUseTheImportanceOfWeightsAreThese) {
  std::string names;
  for (const DTypeInfo& type : types_by_importance()) names += std::string(type.name) + " ";
  EXPECT_EQ(names,
            "Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS IQ1_S IQ1_M IQ2_XXS IQ2_XS "
            "IQ2_S IQ3_XXS IQ3_S ");
}

TEST(Encode, ImportantWeightsHaveSmallerErrors) {
  const Floats weights = gaussian(256 * 64, 0.02f);
  const Floats importance = uneven_importance(weights.size());
  for (const DTypeInfo& type : types_by_importance()) {
    const Floats plain = recode(type, weights);
    const Floats weighed = decode(type, encode_by_importance(type, weights, importance));
    EXPECT_LT(weighted_error(weighed, weights, importance),
              0.95 * weighted_error(plain, weights, importance))
        << type.name;
  }
}

TEST(Encode, OnlyTheRatiosOfImportanceCount) {
  const Floats weights = gaussian(256 * 16, 0.02f);
  Floats importance = uneven_importance(weights.size());
  for (const DTypeInfo& type : types_by_importance()) {
    const Bytes blocks = encode_by_importance(type, weights, importance);
    Floats larger = importance;
    for (float& number : larger) number *= 1024.0f;
    EXPECT_EQ(encode_by_importance(type, weights, larger), blocks) << type.name;
  }
}

// Types that search do so without importance, too; the others give no larger error than ggml.
TEST(Encode, WeightsOfEqualImportanceAreEncodedAsWithoutIt) {
  const Floats weights = gaussian(256 * 16, 0.02f);
  const Floats ones(weights.size(), 1.0f);
  for (const DTypeInfo& type : types_by_importance()) {
    const Bytes blocks = encode_by_importance(type, weights, ones);
    if (is_encoded_as_by_ggml(type.type)) {
      EXPECT_LT(rms_error(decode(type, blocks), weights), rms_error(recode(type, weights), weights))
          << type.name;
    } else {
      EXPECT_EQ(blocks, encode(type, weights)) << type.name;
    }
  }
}

// Types with a minimum hold weights that are all above 0, or all equal.
TEST(Encode, ByImportanceKeepsWhatATypeCanHold) {
  const Floats importance = uneven_importance(256);
  for (const DTypeInfo& type : types_by_importance()) {
    const Floats zeros(256, 0.0f);
    EXPECT_EQ(decode(type, encode_by_importance(type, zeros, importance)), zeros) << type.name;
    if (has_codebook(type)) continue;
    for (const float value : {0.75f, -0.03f}) {
      const Floats equal(256, value);
      for (const float w : decode(type, encode_by_importance(type, equal, importance))) {
        ASSERT_NEAR(w, value, std::fabs(value) * 0.02f) << type.name;
      }
    }
  }
  Floats steps(256);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<float>(5 + i % 16);
  for (const DType type : {DType::q4_1, DType::q5_1}) {
    const DTypeInfo& info = dtype_info(type);
    const Floats decoded = decode(info, encode_by_importance(info, steps, importance));
    for (size_t i = 0; i < steps.size(); ++i) EXPECT_NEAR(decoded[i], steps[i], 0.01f) << info.name;
  }
}

TEST(Encode, ByImportanceOfAnyRatioGivesNumbers) {
  const Floats weights = gaussian(256, 0.02f);
  Floats importance(256, 1e-6f);
  for (size_t i = 0; i < 256; i += 17) importance[i] = 1e6f;
  for (const DTypeInfo& type : types_by_importance()) {
    for (const float w : decode(type, encode_by_importance(type, weights, importance))) {
      ASSERT_LT(std::fabs(w), 10.0f) << type.name;
    }
  }
}

// The step between neighbouring codes depends on the block of 32 weights. |w - w'| is at most half
// a step, or a whole step at the end that a signed code cannot reach. Scales and minima are rounded
// to 11 bits.
TEST(Encode, NoWeightIsFartherOffThanItsStepAllows) {
  const Floats weights = gaussian(256 * 16, 1.0f);
  for (const DType id : {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0}) {
    const DTypeInfo& type = dtype_info(id);
    const Floats decoded = recode(type, weights);
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
    for (const float w : recode(type, zeros)) ASSERT_EQ(w, 0.0f) << type.name;
  }
}

TEST(Encode, EqualWeightsStayEqualAndClose) {
  for (const float value : {0.75f, -0.75f, 0.03f, -1000.0f}) {
    for (const DTypeInfo& type : encodable_types()) {
      if (has_codebook(type)) continue;
      // MXFP4's scales are powers of two: a weight between 6 and 8 times the scale becomes 6 times.
      // NVFP4's scales have only a bit or two if the weights are small.
      const bool is_coarse = type.type == DType::mxfp4 || type.type == DType::nvfp4;
      const float allowed = is_coarse ? 0.25f : 0.005f;
      const Floats decoded = recode(type, Floats(256, value));
      for (const float w : decoded) {
        ASSERT_EQ(w, decoded[0]) << type.name;
        ASSERT_NEAR(w, value, std::fabs(value) * allowed) << type.name;
      }
    }
  }
}

TEST(Encode, BlocksWithOneOutlierKeepIt) {
  for (const DTypeInfo& type : encodable_types()) {
    if (type.type == DType::q1_0) continue;  // its scale is the mean
    if (has_codebook(type)) continue;
    const float allowed = type.type == DType::nvfp4 ? 0.25f : 0.05f;
    for (const float outlier : {8.0f, -8.0f}) {
      Floats weights = gaussian(256, 0.01f);
      weights[77] = outlier;
      EXPECT_NEAR(recode(type, weights)[77], outlier, allowed) << type.name;
    }
  }
}

// Weights whose scales are subnormal binary16 numbers, and weights that are NaN, infinite or huge.
TEST(Encode, TinyAndNonFiniteWeightsAreNoError) {
  for (const DTypeInfo& type : encodable_types()) {
    for (const float deviation : {1e-6f, 1e-9f, 1e-42f}) {
      const Floats weights = gaussian(256, deviation);
      EXPECT_LT(rms_error(recode(type, weights), weights), 2e-6) << type.name;
    }
    for (const float value : {INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::max()}) {
      Floats weights = gaussian(256, 1.0f);
      weights[3] = weights[100] = value;
      EXPECT_EQ(recode(type, weights).size(), weights.size());
    }
  }
}

TEST(Encode, WholeNumbersThatATypeCanHoldComeBack) {
  struct Range {
    DType type;
    int lowest;
    int count;
  };
  constexpr Range kRanges[] = {{DType::q4_0, -8, 16}, {DType::q4_1, -3, 16}, {DType::q5_0, -16, 32},
                               {DType::q5_1, 5, 32},  {DType::q8_0, 96, 32}, {DType::mxfp4, -4, 9},
                               {DType::tq1_0, -1, 3}, {DType::tq2_0, -1, 3}, {DType::q2_0, -1, 3}};
  for (const Range& range : kRanges) {
    Floats weights(256);
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<float>(range.lowest + static_cast<int>(i * 5) % range.count);
    }
    EXPECT_EQ(recode(dtype_info(range.type), weights), weights) << dtype_info(range.type).name;
  }
}

TEST(Encode, FloatTypesKeepWhatTheyCanHold) {
  const Floats weights = {0.0f, 1.0f, -2.5f, 65504.0f, 0x1p-14f, 384.0f};
  for (const DType id : {DType::f32, DType::f16}) {
    EXPECT_EQ(recode(dtype_info(id), weights), weights);
  }
  EXPECT_EQ(recode(dtype_info(DType::bf16), weights)[2], -2.5f);
  EXPECT_EQ(recode(dtype_info(DType::bf16), weights)[3], 65536.0f);
}

TEST(Encode, Mxfp4CodesAreTheNearestValuesOfItsScale) {
  Floats weights(32, 0.0f);  // the largest one is 5.5, so the scale is 1
  const float values[] = {5.5f, -5.5f, 0.2f, -0.2f, 0.3f, -0.8f, 1.2f, 2.5f, 5.0f, -3.6f};
  const float nearest[] = {6.0f, -6.0f, 0.0f, 0.0f, 0.5f, -1.0f, 1.0f, 2.0f, 4.0f, -4.0f};
  std::copy(std::begin(values), std::end(values), weights.begin() + 3);
  const Floats decoded = recode(dtype_info(DType::mxfp4), weights);
  for (size_t i = 0; i < std::size(values); ++i) EXPECT_EQ(decoded[i + 3], nearest[i]) << values[i];
}

TEST(Encode, Nvfp4CodesAreTheNearestValuesOfTheScaleOfTheirSixteen) {
  Floats weights(64, 0.0f);
  const float values[] = {6.0f, -6.0f, 0.2f, -0.2f, 0.3f, -0.8f, 1.2f, 2.5f, 5.0f, -3.6f};
  const float nearest[] = {6.0f, -6.0f, 0.0f, 0.0f, 0.5f, -1.0f, 1.0f, 2.0f, 4.0f, -4.0f};
  std::copy(std::begin(values), std::end(values), weights.begin() + 3);
  for (size_t i = 0; i < 16; ++i) weights[32 + i] = 32.0f * weights[i];  // a scale of its own
  const Floats decoded = recode(dtype_info(DType::nvfp4), weights);
  for (size_t i = 0; i < std::size(values); ++i) {
    EXPECT_EQ(decoded[i + 3], nearest[i]) << values[i];
    EXPECT_EQ(decoded[i + 35], 32.0f * nearest[i]) << values[i];
  }
}

// The fixtures were quantized from one file with F32 weights.
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
    if (is_encoded_as_by_ggml(type.type)) {
      EXPECT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end())) << info.name;
    } else {
      EXPECT_LE(rms_error(decode(type, ours), weights), rms_error(decode(type, theirs), weights))
          << info.name << " " << type.name;
    }
    ++n_tensors;
  }
  EXPECT_GE(n_tensors, 1u);
}

INSTANTIATE_TEST_SUITE_P(Types, EncodeFixture,
                         testing::Values("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K_M",
                                         "Q4_K_M", "Q5_K_M", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ1_0",
                                         "TQ2_0"));

}  // namespace
}  // namespace kinglet
