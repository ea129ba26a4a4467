#include "model/blocks/experts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kinglet {
namespace {

std::vector<ExpertChoice> choose(const std::vector<float>& logits, size_t n, bool normalizes) {
  std::vector<ExpertChoice> choices(n);
  choose_experts(logits, {.normalizes = normalizes}, choices);
  return choices;
}

TEST(Experts, AreTheMostProbableOnesByTheirProbabilities) {
  // Probabilities 1/10, 4/10, 3/10, 2/10.
  const auto choices = choose({0.0f, std::log(4.0f), std::log(3.0f), std::log(2.0f)}, 2, false);
  EXPECT_EQ(choices[0].expert, 1u);
  EXPECT_EQ(choices[1].expert, 2u);
  EXPECT_NEAR(choices[0].weight, 0.4f, 1e-6f);
  EXPECT_NEAR(choices[1].weight, 0.3f, 1e-6f);
}

TEST(Experts, AreWeighedAmongThemselvesWhereTheModelWasTrainedSo) {
  const auto choices = choose({0.0f, std::log(4.0f), std::log(3.0f), std::log(2.0f)}, 3, true);
  EXPECT_NEAR(choices[0].weight, 4.0f / 9, 1e-6f);
  EXPECT_NEAR(choices[1].weight, 3.0f / 9, 1e-6f);
  EXPECT_NEAR(choices[2].weight, 2.0f / 9, 1e-6f);
}

TEST(Experts, AreTheFirstAmongEquals) {
  const auto choices = choose({1.0f, 5.0f, 5.0f, 5.0f}, 2, true);
  EXPECT_EQ(choices[0].expert, 1u);
  EXPECT_EQ(choices[1].expert, 2u);
  EXPECT_FLOAT_EQ(choices[0].weight, 0.5f);
}

TEST(Experts, AreChosenByTheBiasAndWeighedWithoutIt) {
  const std::vector<float> logits = {0.0f, 1.0f, 2.0f, -1.0f};
  const std::vector<float> bias = {0.0f, 0.0f, -2.0f, 3.0f};
  const auto gate = [](float x) { return 1.0f / (1.0f + std::exp(-x)); };
  std::vector<ExpertChoice> choices(2);
  choose_experts(logits, {.gating = ExpertGating::sigmoid, .bias = bias.data()}, choices);
  EXPECT_EQ(choices[0].expert, 3u);
  EXPECT_EQ(choices[1].expert, 1u);
  const float sum = gate(-1.0f) + gate(1.0f);
  EXPECT_NEAR(choices[0].weight, gate(-1.0f) / sum, 1e-6f);
  EXPECT_NEAR(choices[1].weight, gate(1.0f) / sum, 1e-6f);
  choose_experts(logits, {.gating = ExpertGating::sigmoid, .normalizes = false}, choices);
  EXPECT_EQ(choices[0].expert, 2u);
  EXPECT_NEAR(choices[0].weight, gate(2.0f), 1e-6f);
}

TEST(Experts, SurviveLogitsThatNoExponentialHolds) {
  const auto choices = choose({-1e30f, 1e30f, 3e38f}, 3, true);
  EXPECT_EQ(choices[0].expert, 2u);
  for (const ExpertChoice& choice : choices) EXPECT_TRUE(std::isfinite(choice.weight));
  EXPECT_NEAR(choices[0].weight, 1.0f, 1e-6f);
}

TEST(Experts, AreNoneWhereALogitIsNotANumber) {
  for (const bool normalizes : {false, true}) {
    for (size_t at = 0; at < 4; ++at) {
      std::vector<float> logits = {1.0f, 2.0f, 3.0f, 4.0f};
      logits[at] = NAN;
      for (const auto& choice : choose(logits, 2, normalizes)) {
        EXPECT_TRUE(std::isnan(choice.weight)) << at;
      }
    }
  }
}

}  // namespace
}  // namespace kinglet
