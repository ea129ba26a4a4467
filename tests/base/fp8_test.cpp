#include "base/fp8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace kinglet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The two formats with one interface, and the definition of their values: (-1)^sign * 1.fraction *
// 2^(exponent - bias), or 0.fraction * 2^(1 - bias) if the exponent is 0.
struct E4M3 {
  static constexpr int kFractionBits = 3;
  static constexpr int kBias = 7;
  static constexpr uint32_t kLargest = 0x7e;  // the finite code
  static constexpr uint32_t kNaNCode = 0x7f;
  static float decode(uint32_t code) { return to_float(Fp8E4M3{static_cast<uint8_t>(code)}); }
  static uint32_t encode(float x) { return to_fp8_e4m3(x).bits; }
};

struct E5M2 {
  static constexpr int kFractionBits = 2;
  static constexpr int kBias = 15;
  static constexpr uint32_t kLargest = 0x7b;
  static constexpr uint32_t kNaNCode = 0x7e;
  static float decode(uint32_t code) { return to_float(Fp8E5M2{static_cast<uint8_t>(code)}); }
  static uint32_t encode(float x) { return to_fp8_e5m2(x).bits; }
};

template <class Format>
double finite_value(uint32_t magnitude) {
  const uint32_t fraction_size = 1u << Format::kFractionBits;
  const auto exponent = static_cast<int>(magnitude / fraction_size);
  const uint32_t fraction = magnitude % fraction_size;
  return exponent == 0 ? std::ldexp(fraction, 1 - Format::kBias - Format::kFractionBits)
                       : std::ldexp(fraction + fraction_size,
                                    exponent - Format::kBias - Format::kFractionBits);
}

// The code with the nearest value; of two equally near ones the even one. Saturates.
template <class Format>
uint32_t nearest_code(float x) {
  const double magnitude = std::fabs(static_cast<double>(x));
  uint32_t best = 0;
  for (uint32_t code = 1; code <= Format::kLargest; ++code) {
    const double distance = std::fabs(finite_value<Format>(code) - magnitude);
    const double least = std::fabs(finite_value<Format>(best) - magnitude);
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  return best | (std::signbit(x) ? 0x80u : 0u);
}

template <class Format>
class Fp8 : public testing::Test {};
using Formats = testing::Types<E4M3, E5M2>;
TYPED_TEST_SUITE(Fp8, Formats);

TYPED_TEST(Fp8, EveryCodeHasItsValue) {
  for (uint32_t code = 0; code < 256; ++code) {
    const uint32_t magnitude = code & 0x7fu;
    const float found = TypeParam::decode(code);
    if (magnitude <= TypeParam::kLargest) {
      const double value = finite_value<TypeParam>(magnitude);
      EXPECT_EQ(found, code < 0x80 ? value : -value) << code;
      EXPECT_EQ(std::signbit(found), code >= 0x80) << code;
    } else if (magnitude == 0x7c) {
      EXPECT_EQ(found, code < 0x80 ? kInfinity : -kInfinity) << code;
    } else {
      EXPECT_TRUE(std::isnan(found)) << code;
    }
  }
}

TYPED_TEST(Fp8, EveryFiniteCodeSurvivesAConversionToFloat) {
  for (uint32_t code = 0; code < 256; ++code) {
    if ((code & 0x7fu) > TypeParam::kLargest) continue;
    EXPECT_EQ(TypeParam::encode(TypeParam::decode(code)), code);
  }
}

TYPED_TEST(Fp8, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t code = 0; code < TypeParam::kLargest; ++code) {
    const float middle = (TypeParam::decode(code) + TypeParam::decode(code + 1)) / 2;
    const uint32_t even = code + code % 2;
    for (const float sign : {1.0f, -1.0f}) {
      const uint32_t sign_bit = sign < 0 ? 0x80u : 0u;
      EXPECT_EQ(TypeParam::encode(sign * middle), even | sign_bit) << code;
      EXPECT_EQ(TypeParam::encode(sign * std::nextafter(middle, 0.0f)), code | sign_bit) << code;
      EXPECT_EQ(TypeParam::encode(sign * std::nextafter(middle, kInfinity)), (code + 1) | sign_bit)
          << code;
    }
  }
}

TYPED_TEST(Fp8, AgreesWithASearchForTheNearestValue) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const int exponent = static_cast<int>(random() % 44) - 26;
    const float x = std::ldexp(static_cast<float>(random() % 65536) / 32768.0f - 1.0f, exponent);
    ASSERT_EQ(TypeParam::encode(x), nearest_code<TypeParam>(x)) << x;
  }
}

TYPED_TEST(Fp8, SaturatesAndKeepsNaN) {
  const float largest = TypeParam::decode(TypeParam::kLargest);
  // The quotient of a row's largest element can be greater than the largest value by a rounding
  // error.
  for (const float x : {std::nextafter(largest, kInfinity), largest * 1.5f, 3e38f, kInfinity}) {
    EXPECT_EQ(TypeParam::encode(x), TypeParam::kLargest) << x;
    EXPECT_EQ(TypeParam::encode(-x), TypeParam::kLargest | 0x80u) << x;
  }
  EXPECT_EQ(TypeParam::encode(kNaN), TypeParam::kNaNCode);
}

}  // namespace
}  // namespace kinglet
