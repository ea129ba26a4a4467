#include "base/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace kinglet {
namespace {

TEST(Format, RoundsNumbersToThousandths) {
  EXPECT_EQ(cat(0.0), "0");
  EXPECT_EQ(cat(-1.5), "-1.5");
  EXPECT_EQ(cat(0.25f), "0.25");
  EXPECT_EQ(cat(7.0005), "7.001");
  EXPECT_EQ(cat(0.9996), "1");
  EXPECT_EQ(cat(2.04), "2.04");
  EXPECT_EQ(cat(4294967296.0), "4294967296");
}

TEST(Format, WritesLargeNumbersWithAnExponent) {
  EXPECT_EQ(cat(1.5e30), "1.5e+30");
  EXPECT_EQ(cat(-2e15), "-2e+15");
}

TEST(Format, NamesWhatIsNoNumber) {
  EXPECT_EQ(cat(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(cat(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(cat(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace
}  // namespace kinglet
