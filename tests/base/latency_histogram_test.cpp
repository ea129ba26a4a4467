#include "base/latency_histogram.h"

#include <gtest/gtest.h>

#include <array>

namespace kinglet {
namespace {

using Buckets = std::array<uint64_t, 5>;

TEST(LatencyHistogram, IsEmptyAtFirst) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.buckets(), Buckets{});
  EXPECT_EQ(histogram.min(), 0.0);
  EXPECT_EQ(histogram.max(), 0.0);
  EXPECT_EQ(histogram.mean(), 0.0);
  EXPECT_EQ(histogram.variance(), 0.0);
  EXPECT_EQ(histogram.percentile(0.5), 0.0);
}

TEST(LatencyHistogram, BucketsBeginWhereTheOnesBeforeEnd) {
  LatencyHistogram histogram;
  for (const double x : {0.0, 99.999, 100.0, 499.0, 500.0, 999.0, 1000.0, 4999.0, 5000.0, 1e9}) {
    histogram.add(x);
  }
  EXPECT_EQ(histogram.buckets(), (Buckets{2, 2, 2, 2, 2}));
  EXPECT_EQ(histogram.count(), 10u);
  EXPECT_EQ(histogram.min(), 0.0);
  EXPECT_EQ(histogram.max(), 1e9);
}

TEST(LatencyHistogram, TellsMeanAndVarianceOfThePopulation) {
  LatencyHistogram histogram;
  for (const double x : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) histogram.add(x);
  EXPECT_DOUBLE_EQ(histogram.mean(), 5.0);
  EXPECT_DOUBLE_EQ(histogram.variance(), 4.0);
}

// The difference of two large sums would be noise here, even a negative number.
TEST(LatencyHistogram, VarianceSurvivesLargeMeans) {
  LatencyHistogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.add(1e9 + (i % 2 == 0 ? 0.5 : -0.5));
  EXPECT_NEAR(histogram.variance(), 0.25, 1e-6);
  LatencyHistogram constant;
  for (int i = 0; i < 1000; ++i) constant.add(0.1);
  EXPECT_GE(constant.variance(), 0.0);
  EXPECT_LT(constant.variance(), 1e-20);
}

TEST(LatencyHistogram, PercentilesLieBetweenTheExtremes) {
  for (const double x : {0.0, 0.01, 0.9, 1.0, 3.0, 42.0, 99.0, 6000.0, 1e15}) {
    LatencyHistogram histogram;
    for (int i = 0; i < 3; ++i) histogram.add(x);
    for (const double share : {0.0, 0.5, 0.95, 1.0}) EXPECT_EQ(histogram.percentile(share), x);
  }
}

TEST(LatencyHistogram, PercentilesAreLessThanAnEighthTooLarge) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(i * 0.7);
  for (const double share : {0.01, 0.25, 0.5, 0.95, 0.99, 1.0}) {
    const double exact = share * 1000 * 0.7;
    EXPECT_GE(histogram.percentile(share), exact - 1e-9) << share;
    EXPECT_LE(histogram.percentile(share), exact * 1.125) << share;
  }
  EXPECT_DOUBLE_EQ(histogram.percentile(1.0), 700.0);
}

}  // namespace
}  // namespace kinglet
