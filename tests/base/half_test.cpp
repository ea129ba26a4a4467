#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kinglet {
namespace {

constexpr uint32_t kCodes = 1 << 16;

// The value of a 16-bit float by definition: (-1)^sign * 1.fraction * 2^(exponent - bias), or
// 0.fraction * 2^(1 - bias) if the exponent is 0; the largest exponent means infinity or NaN.
double value_of(uint32_t code, int fraction_bits, int bias) {
  const uint32_t fraction_size = 1u << fraction_bits;
  const uint32_t largest_exponent = 0x7fffu / fraction_size;
  const uint32_t exponent = code % 0x8000u / fraction_size;
  const uint32_t fraction = code % fraction_size;
  double magnitude;
  if (exponent == largest_exponent) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    magnitude =
        std::ldexp(fraction + fraction_size, static_cast<int>(exponent) - bias - fraction_bits);
  }
  return code >= 0x8000u ? -magnitude : magnitude;
}

double half_value(uint32_t code) { return value_of(code, 10, 15); }
double bfloat16_value(uint32_t code) { return value_of(code, 7, 127); }

Half half(uint32_t code) { return {static_cast<uint16_t>(code)}; }
BFloat16 bfloat16(uint32_t code) { return {static_cast<uint16_t>(code)}; }

TEST(Half, EveryCodeHasItsValue) {
  for (uint32_t code = 0; code < kCodes; ++code) {
    const double expected = half_value(code);
    const double found = to_float(half(code));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found)) << code;
    } else {
      EXPECT_EQ(found, expected) << code;
      EXPECT_EQ(std::signbit(found), code >= 0x8000u) << code;
    }
  }
}

TEST(Half, EveryCodeSurvivesAConversionToFloat) {
  for (uint32_t code = 0; code < kCodes; ++code) {
    const uint32_t found = to_half(to_float(half(code))).bits;
    const bool is_nan = code % 0x8000u > 0x7c00u;
    EXPECT_EQ(found, is_nan ? code | 0x0200u : code) << code;
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t code = 0; code < 0x7bffu; ++code) {
    const double middle = (half_value(code) + half_value(code + 1)) / 2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(tie, middle);
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    EXPECT_EQ(to_half(tie).bits, even);
    EXPECT_EQ(to_half(-tie).bits, even | 0x8000u);
    EXPECT_EQ(to_half(std::nextafter(tie, 0.0f)).bits, code);
    EXPECT_EQ(to_half(std::nextafter(tie, 1e9f)).bits, code + 1);
  }
}

TEST(Half, OverflowsToInfinity) {
  EXPECT_EQ(to_half(std::nextafter(65520.0f, 0.0f)).bits, 0x7bffu);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00u);
  EXPECT_EQ(to_half(-1e30f).bits, 0xfc00u);
  EXPECT_EQ(to_half(std::numeric_limits<float>::infinity()).bits, 0x7c00u);
}

TEST(Half, FloatsTooSmallBecomeASignedZero) {
  EXPECT_EQ(to_half(0x1p-25f).bits, 0u);
  EXPECT_EQ(to_half(-std::numeric_limits<float>::denorm_min()).bits, 0x8000u);
}

TEST(BFloat16, EveryCodeHasItsValue) {
  for (uint32_t code = 0; code < kCodes; ++code) {
    const double expected = bfloat16_value(code);
    const double found = to_float(bfloat16(code));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found)) << code;
    } else {
      EXPECT_EQ(found, expected) << code;
      EXPECT_EQ(std::signbit(found), code >= 0x8000u) << code;
    }
  }
}

TEST(BFloat16, EveryCodeSurvivesAConversionToFloat) {
  for (uint32_t code = 0; code < kCodes; ++code) {
    const uint32_t found = to_bfloat16(to_float(bfloat16(code))).bits;
    const bool is_nan = code % 0x8000u > 0x7f80u;
    EXPECT_EQ(found, is_nan ? code | 0x0040u : code) << code;
  }
}

TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t code = 0; code < 0x7f7fu; ++code) {
    const double middle = (bfloat16_value(code) + bfloat16_value(code + 1)) / 2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(tie, middle);
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    EXPECT_EQ(to_bfloat16(tie).bits, even);
    EXPECT_EQ(to_bfloat16(-tie).bits, even | 0x8000u);
    EXPECT_EQ(to_bfloat16(std::nextafter(tie, 0.0f)).bits, code);
    EXPECT_EQ(to_bfloat16(std::nextafter(tie, INFINITY)).bits, code + 1);
  }
}

TEST(BFloat16, OverflowsToInfinity) {
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80u);
  EXPECT_EQ(to_bfloat16(-std::numeric_limits<float>::infinity()).bits, 0xff80u);
}

}  // namespace
}  // namespace kinglet
