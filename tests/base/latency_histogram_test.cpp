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

TEST(LatencyHistogram, PercentilesAreLinearWithinABucket) {
  LatencyHistogram histogram;
  for (int i = 0; i < 50; ++i) histogram.add(10);
  for (int i = 0; i < 50; ++i) histogram.add(200);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.25), 50.0);  // half of [0, 100)
  EXPECT_DOUBLE_EQ(histogram.percentile(0.5), 100.0);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.75), 300.0);  // half of [100, 500)
  EXPECT_DOUBLE_EQ(histogram.percentile(1.0), 500.0);
}

TEST(LatencyHistogram, TheLastBucketEndsAtTheMaximum) {
  LatencyHistogram histogram;
  histogram.add(6000);
  histogram.add(9000);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.5), 7000.0);
  EXPECT_DOUBLE_EQ(histogram.percentile(1.0), 9000.0);
}

}  // namespace
}  // namespace kinglet
