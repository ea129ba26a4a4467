#include "base/sin_cos.h"

#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace kinglet {
namespace {

TEST(SinCos, AgreesWithTheMathLibrary) {
  std::mt19937 random(7);
  for (const double bound : {1.0, 10.0, 4096.0, 1.6e6}) {
    std::uniform_real_distribution<double> angles(-bound, bound);
    for (int i = 0; i < 20000; ++i) {
      const double angle = angles(random);
      const auto [sin, cos] = sin_cos(angle);
      ASSERT_NEAR(sin, std::sin(angle), 1e-10) << angle;
      ASSERT_NEAR(cos, std::cos(angle), 1e-10) << angle;
    }
  }
}

TEST(SinCos, IsExactAtNoTurnAndCloseAtQuarters) {
  EXPECT_EQ(sin_cos(0).sin, 0);
  EXPECT_EQ(sin_cos(0).cos, 1);
  const double quarter = std::acos(0.0);
  EXPECT_NEAR(sin_cos(quarter).sin, 1, 1e-10);
  EXPECT_NEAR(sin_cos(2 * quarter).cos, -1, 1e-10);
  EXPECT_NEAR(sin_cos(-quarter).sin, -1, 1e-10);
  EXPECT_NEAR(sin_cos(3 * quarter).cos, 0, 1e-10);
}

TEST(SinCos, StaysFiniteForAnglesThatNoModelHas) {
  for (const double angle : {1e9, -1e18, 1e300, std::numeric_limits<double>::max()}) {
    const auto [sin, cos] = sin_cos(angle);
    EXPECT_LE(std::abs(sin), 1.0);
    EXPECT_LE(std::abs(cos), 1.0);
  }
}

}  // namespace
}  // namespace kinglet
