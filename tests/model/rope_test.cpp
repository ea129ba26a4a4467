// The parity tests compare these tables with another implementation's; the tests here check their
// meaning.
#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kinglet {
namespace {

RopeConfig config_of(uint32_t dim) {
  return {.dim = dim, .theta = 10000.0f, .local_theta = 100.0f, .original_context = 2048};
}

TEST(Rope, FrequenciesFallGeometrically) {
  const RopeTable table = RopeTable::scaled(config_of(4), nullptr);
  ASSERT_EQ(table.frequencies.size(), 2u);
  EXPECT_DOUBLE_EQ(table.frequencies[0], 1.0);
  EXPECT_DOUBLE_EQ(table.frequencies[1], 0.01);  // 10000^(-2/4)
  EXPECT_EQ(table.magnitude, 1.0f);
}

TEST(Rope, LinearScalingDividesEveryFrequency) {
  RopeConfig config = config_of(4);
  config.factor = 4;
  const RopeTable table = RopeTable::scaled(config, nullptr);
  EXPECT_DOUBLE_EQ(table.frequencies[0], 0.25);
  EXPECT_DOUBLE_EQ(table.frequencies[1], 0.0025);
  EXPECT_EQ(table.magnitude, 1.0f);
}

TEST(Rope, LocalLayersAreNotScaledAndMayHaveHeadsOfTheirOwnSize) {
  RopeConfig config = config_of(8);
  config.local_dim = 4;
  config.factor = 4;
  config.magnitude = 2;
  const RopeTable table = RopeTable::local(config);
  ASSERT_EQ(table.frequencies.size(), 2u);
  EXPECT_DOUBLE_EQ(table.frequencies[0], 1.0);
  EXPECT_DOUBLE_EQ(table.frequencies[1], 0.1);  // 100^(-2/4)
  EXPECT_EQ(table.magnitude, 1.0f);
}

TEST(Rope, FactorsDivideTheirFrequencies) {
  const float factors[] = {2.0f, 5.0f};
  RopeConfig config = config_of(4);
  config.magnitude = 1.5f;
  const RopeTable table = RopeTable::scaled(config, factors);
  EXPECT_DOUBLE_EQ(table.frequencies[0], 0.5);
  EXPECT_DOUBLE_EQ(table.frequencies[1], 0.002);
  EXPECT_EQ(table.magnitude, 1.5f);
}

TEST(Rope, YarnKeepsFastPairsAndDividesSlowOnes) {
  RopeConfig config = config_of(128);
  config.factor = 16;
  config.yarn = true;
  const RopeTable plain = RopeTable::scaled(config_of(128), nullptr);
  const RopeTable table = RopeTable::scaled(config, nullptr);
  const auto ratio = [&](size_t pair) { return plain.frequencies[pair] / table.frequencies[pair]; };
  // Pairs that make more than 32 turns over 2048 positions have frequencies above 0.098: 0 to 16.
  for (size_t pair = 0; pair <= 16; ++pair) EXPECT_DOUBLE_EQ(ratio(pair), 1.0) << pair;
  // Pairs that make less than one turn have frequencies below 0.0031: from 41 on.
  for (size_t pair = 41; pair < 64; ++pair) EXPECT_DOUBLE_EQ(ratio(pair), 16.0) << pair;
  for (size_t pair = 17; pair < 41; ++pair) {
    EXPECT_GT(ratio(pair), ratio(pair - 1)) << pair;
    EXPECT_LT(ratio(pair), 16.0 + 1e-9) << pair;
  }
  EXPECT_FLOAT_EQ(table.magnitude, 1.0f + 0.1f * std::log(16.0f));
}

TEST(Rope, ALogMultiplierTakesBackWhatYarnLengthens) {
  RopeConfig config = config_of(8);
  config.factor = 16;
  config.yarn = true;
  config.magnitude = 2;
  config.yarn_log_multiplier = 1;
  EXPECT_FLOAT_EQ(RopeTable::scaled(config, nullptr).magnitude, 2.0f);
  config.yarn_log_multiplier = 0.5f;
  EXPECT_FLOAT_EQ(RopeTable::scaled(config, nullptr).magnitude,
                  2 * (1 + 0.1f * std::log(16.0f)) / (1 + 0.05f * std::log(16.0f)));
}

}  // namespace
}  // namespace kinglet
