#include "session/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace kinglet {
namespace {

// There are few different values, so many weights are equal.
std::vector<float> weights(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> out(n);
  for (float& weight : out) weight = static_cast<float>(random() % 97) / 97.0f;
  out[n / 2] = 1.0f;
  return out;
}

std::vector<Candidate> sorted(const std::vector<float>& of) {
  std::vector<Candidate> all;
  for (size_t i = 0; i < of.size(); ++i) all.push_back({of[i], static_cast<TokenId>(i)});
  std::sort(all.begin(), all.end(), kBetter);
  return all;
}

void expect_equal(const std::vector<Candidate>& found, const std::vector<Candidate>& expected,
                  size_t n) {
  ASSERT_EQ(found.size(), n);
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(found[i].token, expected[i].token) << i << " of " << n;
    EXPECT_EQ(found[i].weight, expected[i].weight);
  }
}

TEST(Candidates, AreTheBestAsSortingWouldFindThem) {
  for (const KernelSet* kernels : available_kernels()) {
    for (const size_t n : {size_t{1}, size_t{5}, size_t{64}, size_t{65}, size_t{5000}}) {
      const auto values = weights(n, static_cast<uint32_t>(n));
      const auto expected = sorted(values);
      EXPECT_EQ(best_token(*kernels, values), expected.front().token);
      for (const size_t k : {size_t{1}, size_t{2}, size_t{40}, size_t{1000}, size_t{9000}}) {
        std::vector<Candidate> found;
        find_best(*kernels, values, k, found);
        expect_equal(found, expected, std::min(k, n));
      }
    }
  }
}

TEST(Candidates, AreFoundAmongNegativeNumbers) {
  const std::vector<float> values = {-9.0f, -3.0f, -5.0f, -3.0f, -70.0f};
  std::vector<Candidate> found;
  find_best(scalar_kernels(), values, 3, found);
  expect_equal(found, sorted(values), 3);
}

TEST(Candidates, AreTheFewestThatReachASum) {
  for (const size_t n : {size_t{1}, size_t{7}, size_t{300}, size_t{5000}}) {
    const auto values = weights(n, static_cast<uint32_t>(n) + 1);
    const auto expected = sorted(values);
    double total = 0;
    for (const float value : values) total += static_cast<double>(value);
    for (const double share : {0.0001, 0.1, 0.5, 0.9, 0.999, 2.0}) {
      double sum = 0;
      size_t n_expected = 0;
      while (n_expected < n && sum < share * total) {
        sum += static_cast<double>(expected[n_expected++].weight);
      }
      std::vector<Candidate> found = sorted(values);
      std::sort(found.begin(), found.end(),
                [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
      keep_fewest(share * total, found);
      // Sums are rounded in another order, so one more or less may be kept.
      ASSERT_NEAR(static_cast<double>(found.size()), static_cast<double>(n_expected), 1.0);
      const size_t n_found = found.size();
      std::sort(found.begin(), found.end(), kBetter);
      expect_equal(found, expected, n_found);
    }
  }
}

// The largest weight is 1 only if the best token is still there.
TEST(Candidates, AreAtLeastOne) {
  for (const float best : {1.0f, 0.3f, 1e-30f}) {
    std::vector<Candidate> found = {{best / 2, 5}, {best, 7}, {best / 4, 9}};
    keep_fewest(0.0, found);
    ASSERT_EQ(found.size(), 1u) << best;
    EXPECT_EQ(found[0].token, 7) << best;
  }
}

TEST(Candidates, StayInTheirOrderWhereTheyComeBestFirst) {
  auto found = sorted(weights(500, 3));
  const auto expected = found;
  keep_fewest(40.0, found);
  expect_equal(found, expected, found.size());
  EXPECT_LT(found.size(), 60u);
}

}  // namespace
}  // namespace kinglet
