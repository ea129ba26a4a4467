#include "session/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace kinglet {
namespace {

TEST(Logprobs, AreLogarithmsOfTheSoftmax) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(-3.0f, 4.0f);
  for (const KernelSet* kernels : available_kernels()) {
    for (const uint32_t n : {1u, 3u, 500u}) {
      std::vector<float> logits(n);
      for (float& logit : logits) logit = normal(random);
      double sum = 0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
      Logprobs logprobs(n, 5, *kernels);
      logprobs.measure(logits);
      for (uint32_t i = 0; i < n; ++i) {
        EXPECT_NEAR(logprobs.of(static_cast<TokenId>(i)),
                    static_cast<double>(logits[i]) - std::log(sum), 1e-4);
      }
      ASSERT_EQ(logprobs.top().size(), std::min(n, 5u));
      for (size_t i = 0; i < logprobs.top().size(); ++i) {
        const Candidate& candidate = logprobs.top()[i];
        EXPECT_EQ(candidate.weight, logprobs.of(candidate.token));
        if (i == 0) continue;
        EXPECT_LE(candidate.weight, logprobs.top()[i - 1].weight);
      }
    }
  }
}

TEST(Logprobs, AreFiniteForTheLeastProbable) {
  Logprobs logprobs(3, 0, scalar_kernels());
  logprobs.measure(std::vector<float>{1e30f, -1e30f, 0.0f});
  EXPECT_EQ(logprobs.of(0), 0.0f);
  EXPECT_LT(logprobs.of(1), -80.0f);
  EXPECT_TRUE(std::isfinite(logprobs.of(1)));
  EXPECT_TRUE(logprobs.top().empty());
}

}  // namespace
}  // namespace kinglet
