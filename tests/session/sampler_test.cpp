#include "session/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "gguf/gguf_builder.h"

namespace kinglet {
namespace {

// Keeps every token: only the temperature changes the probabilities.
SamplerOptions plain(float temperature = 1.0f) {
  SamplerOptions options;
  options.temperature = temperature;
  options.top_k = 0;
  options.top_p = 1.0f;
  options.min_p = 0.0f;
  options.seed = 1;
  return options;
}

std::map<TokenId, int> draw(const SamplerOptions& options, const std::vector<float>& logits,
                            int n = 20000) {
  Sampler sampler(options, static_cast<uint32_t>(logits.size()), scalar_kernels());
  std::map<TokenId, int> counts;
  for (int i = 0; i < n; ++i) {
    auto copy = logits;
    ++counts[sampler.sample(copy)];
  }
  return counts;
}

// Logits whose softmax gives these probabilities.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  SamplerOptions options;
  options.temperature = 0.0f;
  Sampler sampler(options, 4, scalar_kernels());
  std::vector<float> logits = {1.0f, 3.0f, 3.0f, 2.0f};
  EXPECT_EQ(sampler.sample(logits), 1);
}

TEST(Sampler, DrawsInProportionToProbability) {
  const auto counts = draw(plain(), logits_of({0.5, 0.3, 0.15, 0.05}));
  EXPECT_NEAR(counts.at(0), 10000, 400);
  EXPECT_NEAR(counts.at(1), 6000, 400);
  EXPECT_NEAR(counts.at(2), 3000, 300);
  EXPECT_NEAR(counts.at(3), 1000, 200);
}

TEST(Sampler, TemperatureSharpens) {
  // At temperature 0.5, probabilities are squared: 0.8 : 0.2 becomes 16 : 1.
  const auto counts = draw(plain(0.5f), logits_of({0.8, 0.2}));
  EXPECT_NEAR(counts.at(1), 20000 / 17.0, 200);
}

TEST(Sampler, TopKKeepsTheKBest) {
  SamplerOptions options = plain();
  options.top_k = 2;
  const auto counts = draw(options, logits_of({0.1, 0.4, 0.2, 0.3}));
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts.at(1), 20000 * 4 / 7.0, 500);
  EXPECT_NEAR(counts.at(3), 20000 * 3 / 7.0, 500);
  options.top_k = 100;  // more than there are
  EXPECT_EQ(draw(options, logits_of({0.1, 0.4, 0.2, 0.3})).size(), 4u);
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  SamplerOptions options = plain();
  options.top_p = 0.69f;
  EXPECT_EQ(draw(options, logits_of({0.1, 0.4, 0.2, 0.3})).size(), 2u);
  options.top_p = 0.71f;
  EXPECT_EQ(draw(options, logits_of({0.1, 0.4, 0.2, 0.3})).size(), 3u);
  options.top_p = 0.0f;
  EXPECT_EQ(draw(options, logits_of({0.1, 0.4, 0.2, 0.3})).size(), 1u);
}

TEST(Sampler, MinPKeepsThoseNearTheBest) {
  SamplerOptions options = plain();
  options.min_p = 0.6f;
  EXPECT_EQ(draw(options, logits_of({0.1, 0.4, 0.2, 0.3})).size(), 2u);
  options.min_p = 1.0f;
  EXPECT_EQ(draw(options, logits_of({0.1, 0.4, 0.2, 0.3})).size(), 1u);
}

// The limits depend only on the model's probabilities, so they keep the same tokens at every
// temperature. At temperature 0.5, 0.4 : 0.3 : 0.2 : 0.1 would become 16 : 9 : 4 : 1 of 30.
TEST(Sampler, LimitsLookAtProbabilitiesWithoutTemperature) {
  const auto logits = logits_of({0.1, 0.4, 0.2, 0.3});
  for (const float temperature : {0.5f, 1.0f, 3.0f}) {
    SamplerOptions options = plain(temperature);
    options.top_p = 0.8f;  // 0.4 + 0.3 < 0.8 <= 0.9; with temperature 0.5, 25 / 30 would be enough
    EXPECT_EQ(draw(options, logits).size(), 3u) << temperature;
    options.top_p = 1.0f;
    options.min_p = 0.4f;  // 0.2 / 0.4 >= 0.4; with temperature 0.5, 4 / 16 would be less
    EXPECT_EQ(draw(options, logits).size(), 3u) << temperature;
    options.min_p = 0.6f;  // at temperature 3, (0.2 / 0.4)^(1/3) = 0.79 would be more
    EXPECT_EQ(draw(options, logits).size(), 2u) << temperature;
  }
}

TEST(Sampler, TemperatureShapesWhatTheLimitsKept) {
  SamplerOptions options = plain(0.5f);
  options.top_k = 3;
  options.top_p = 0.95f;  // of the 0.9 that top-k kept: all three
  const auto counts = draw(options, logits_of({0.1, 0.4, 0.2, 0.3}));
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_NEAR(counts.at(1), 20000 * 16 / 29.0, 400);
  EXPECT_NEAR(counts.at(3), 20000 * 9 / 29.0, 400);
  EXPECT_NEAR(counts.at(2), 20000 * 4 / 29.0, 300);
}

// Each probability is e^-0.1 times the one before. Of the 40 tokens that top-k keeps, 27 reach
// 0.95: 1 - e^-2.7 = 0.933 and 0.95 * (1 - e^-4) = 0.9326. Min-p would keep 30, as e^-2.9 >= 0.05 >
// e^-3. With the temperature of 0.8 first, 24 would be kept.
TEST(Sampler, KeepsAtTheDefaultsWhatTheOrderOfTheLimitsGives) {
  std::vector<float> logits;
  for (int i = 0; i < 60; ++i) logits.push_back(-0.1f * static_cast<float>(i));
  const auto counts = draw(SamplerOptions{}, logits);
  EXPECT_EQ(counts.size(), 27u);
  EXPECT_EQ(counts.rbegin()->first, 26);
}

// Of the probabilities 0.5, 0.25, 0.125, 0.125 the entropy is 1.75 bits: the second, of 2 bits, is
// the most typical, and the first, of 1 bit, comes next. The others have 3 bits.
TEST(Sampler, TypicalPKeepsThoseNearTheEntropy) {
  const auto logits = logits_of({0.125, 0.5, 0.25, 0.125});
  const auto kept = [&](float typical_p) {
    SamplerOptions options = plain();
    options.typical_p = typical_p;
    std::vector<TokenId> tokens;
    for (const auto& [token, count] : draw(options, logits, 2000)) tokens.push_back(token);
    return tokens;
  };
  EXPECT_EQ(kept(0.0f), (std::vector<TokenId>{2}));
  EXPECT_EQ(kept(0.2f), (std::vector<TokenId>{2}));
  EXPECT_EQ(kept(0.7f), (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(kept(0.8f), (std::vector<TokenId>{0, 1, 2}));  // of equals the smaller id
  EXPECT_EQ(kept(1.0f), (std::vector<TokenId>{0, 1, 2, 3}));
}

TEST(Sampler, XtcExcludesTheTopChoicesButTheLast) {
  const auto logits = logits_of({0.1, 0.4, 0.2, 0.3});
  const auto counts_with = [&](float probability, float threshold) {
    SamplerOptions options = plain();
    options.xtc_probability = probability;
    options.xtc_threshold = threshold;
    return draw(options, logits);
  };
  const auto always = counts_with(1.0f, 0.15f);  // 0.4 and 0.3 are excluded
  EXPECT_EQ(always.size(), 2u);
  EXPECT_NEAR(always.at(2), 20000 * 2 / 3.0, 400);
  EXPECT_EQ(counts_with(1.0f, 0.35f).size(), 4u);  // there is one top choice
  EXPECT_EQ(counts_with(1.0f, 0.0f).size(), 1u);
  EXPECT_EQ(counts_with(1.0f, 0.51f), draw(plain(), logits));  // off: no random number is used
  const auto half = counts_with(0.5f, 0.15f);
  EXPECT_NEAR(half.at(1), 20000 * 0.5 * 0.4, 400);
  EXPECT_NEAR(half.at(2), 20000 * 0.5 * (0.2 + 2 / 3.0), 400);
}

TEST(Sampler, LimitsHaveNoEffectOnGreedyChoices) {
  SamplerOptions options = plain(0.0f);
  options.typical_p = 0.1f;
  options.xtc_probability = 1.0f;
  EXPECT_EQ(draw(options, logits_of({0.125, 0.5, 0.25, 0.125}), 10).at(1), 10);
}

// After the top choices are gone, the best of the others sets the scale.
TEST(Sampler, SurvivesAVerySmallTemperatureWithoutTheTopChoices) {
  SamplerOptions options = plain(1e-30f);
  options.xtc_probability = 1.0f;
  EXPECT_EQ(draw(options, logits_of({0.05, 0.4, 0.35, 0.2}), 10).at(3), 10);
  options.xtc_probability = 0.0f;
  options.typical_p = 0.1f;
  EXPECT_EQ(draw(options, logits_of({0.125, 0.5, 0.25, 0.125}), 10).at(2), 10);
}

// Locally typical sampling, as the paper defines it.
void keep_typical_slowly(double p, std::vector<size_t>& order, const std::vector<double>& logits) {
  double total = 0;
  for (const size_t i : order) total += std::exp(logits[i]);
  const auto information = [&](size_t i) { return std::log(total) - logits[i]; };
  double entropy = 0;
  for (const size_t i : order) entropy += std::exp(-information(i)) * information(i);
  std::vector<std::pair<double, size_t>> by_distance;  // of equal distances, the earlier first
  for (const size_t i : order) {
    by_distance.emplace_back(std::abs(information(i) - entropy), by_distance.size());
  }
  std::sort(by_distance.begin(), by_distance.end());
  std::vector<size_t> typical;
  for (const auto& [distance, place] : by_distance) typical.push_back(order[place]);
  double sum = 0;
  size_t n_kept = 0;
  while (n_kept < typical.size() && sum <= p) sum += std::exp(-information(typical[n_kept++]));
  typical.resize(n_kept);
  std::erase_if(order, [&](size_t i) {
    return std::find(typical.begin(), typical.end(), i) == typical.end();
  });
}

// XTC, as its author defines it, on tokens that are sorted best first.
void exclude_slowly(double threshold, std::vector<size_t>& order,
                    const std::vector<double>& logits) {
  double total = 0;
  for (const size_t i : order) total += std::exp(logits[i]);
  size_t n_top = 0;
  while (n_top < order.size() && std::exp(logits[order[n_top]]) / total >= threshold) ++n_top;
  if (n_top > 1) order.erase(order.begin(), order.begin() + static_cast<ptrdiff_t>(n_top) - 1);
}

// The probabilities with which tokens are drawn, computed by sorting, in double precision. With
// XTC, `excludes` says whether its random number excluded.
std::vector<double> expected_shares(const SamplerOptions& options, const std::vector<float>& logits,
                                    bool excludes = false) {
  const std::vector<double> exact(logits.begin(), logits.end());
  std::vector<size_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (options.top_k > 0) {
    order.resize(std::min(order.size(), static_cast<size_t>(options.top_k)));
  }
  if (options.typical_p < 1.0f) {
    keep_typical_slowly(static_cast<double>(options.typical_p), order, exact);
  }
  const auto weight = [&](size_t i, double temperature) {
    return std::exp((exact[i] - exact[order[0]]) / temperature);
  };
  double total = 0;
  for (const size_t i : order) total += weight(i, 1);
  size_t n_kept = 0;
  for (double sum = 0; n_kept < order.size() && sum < static_cast<double>(options.top_p) * total;) {
    sum += weight(order[n_kept++], 1);
  }
  while (weight(order[n_kept - 1], 1) < static_cast<double>(options.min_p)) --n_kept;
  order.resize(n_kept);
  if (excludes) exclude_slowly(static_cast<double>(options.xtc_threshold), order, exact);

  const auto temperature = static_cast<double>(options.temperature);
  total = 0;
  for (const size_t i : order) total += weight(i, temperature);
  std::vector<double> shares(logits.size());
  for (const size_t i : order) shares[i] = weight(i, temperature) / total;
  return shares;
}

TEST(Sampler, DrawsAsOftenAsSortingWouldHaveIt) {
  std::mt19937 random(5);
  const auto up_to = [&](uint32_t n) { return static_cast<float>(random() % (n + 1)); };
  for (int round = 0; round < 120; ++round) {
    std::vector<float> logits(5 + random() % 60);
    for (float& logit : logits) logit = up_to(1 << 20) / (1 << 18);
    SamplerOptions options = plain(0.3f + up_to(100) / 50.0f);
    options.top_k = static_cast<int32_t>(up_to(40));
    options.top_p = 0.3f + up_to(70) / 100.0f;
    options.min_p = up_to(30) / 100.0f;
    options.seed = static_cast<uint64_t>(round);
    if (round % 3 == 1) options.typical_p = 0.2f + up_to(70) / 100.0f;
    if (round % 4 >= 2) options.xtc_probability = round % 4 == 2 ? 0.4f : 1.0f;
    options.xtc_threshold = 0.02f + up_to(20) / 100.0f;
    auto shares = expected_shares(options, logits);
    const auto excluding = expected_shares(options, logits, true);
    const auto often = static_cast<double>(options.xtc_probability);
    for (size_t i = 0; i < shares.size(); ++i) {
      shares[i] = (1 - often) * shares[i] + often * excluding[i];
    }
    const auto counts = draw(options, logits, 10000);
    for (size_t i = 0; i < logits.size(); ++i) {
      const auto found = counts.find(static_cast<TokenId>(i));
      const double n = found == counts.end() ? 0 : found->second;
      ASSERT_NEAR(n / 10000, shares[i], 0.025) << round << ", token " << i;
      if (n > 0) {
        ASSERT_GT(shares[i], 0) << round << ", token " << i;
      } else {
        ASSERT_LT(shares[i], 0.002) << round << ", token " << i;
      }
    }
  }
}

TEST(Sampler, PenaltyWeakensRecentTokens) {
  SamplerOptions options = plain(0.0f);
  options.repeat_penalty = 2.0f;
  options.repeat_last_n = 2;
  Sampler sampler(options, 3, scalar_kernels());
  const std::vector<float> logits = {3.0f, 2.0f, -1.0f};
  const auto sample = [&] {
    auto copy = logits;
    return sampler.sample(copy);
  };
  EXPECT_EQ(sample(), 0);
  sampler.accept(0);
  EXPECT_EQ(sample(), 1);  // 3 / 2 < 2
  sampler.accept(1);
  EXPECT_EQ(sample(), 0);  // 1.5 and 1
  sampler.accept(1);       // token 0 leaves the window
  EXPECT_EQ(sample(), 0);
  // A token that was seen twice is penalized once; negative logits decrease.
  sampler.accept(2);
  sampler.accept(2);
  auto copy = logits;
  sampler.sample(copy);
  EXPECT_EQ(copy[2], -2.0f);
  EXPECT_EQ(copy[0], 3.0f);
}

TEST(Sampler, FrequencyCountsAndPresenceDoesNot) {
  SamplerOptions options = plain(0.0f);
  options.repeat_last_n = 3;
  options.frequency_penalty = 0.5f;
  options.presence_penalty = 0.25f;
  Sampler sampler(options, 4, scalar_kernels());
  for (const TokenId token : {3, 1, 2, 1}) sampler.accept(token);  // token 3 leaves the window
  std::vector<float> logits = {1.0f, 2.0f, -1.0f, 0.0f};
  EXPECT_EQ(sampler.sample(logits), 0);
  EXPECT_EQ(logits, (std::vector<float>{1.0f, 0.75f, -1.75f, 0.0f}));
}

// Each accepted token moves another one out of the window.
TEST(Sampler, CountsAreThoseOfTheWindow) {
  SamplerOptions options = plain(0.0f);
  options.repeat_last_n = 20;
  options.frequency_penalty = 1.0f;
  Sampler sampler(options, 8, scalar_kernels());
  std::vector<TokenId> all;
  for (uint32_t i = 0; i < 300; ++i) {
    all.push_back(static_cast<TokenId>(i * i * 2654435761u >> 29));
    sampler.accept(all.back());
    std::vector<float> logits(8, 0.0f);
    std::vector<float> expected(8, 0.0f);
    sampler.sample(logits);
    for (size_t j = all.size() > 20 ? all.size() - 20 : 0; j < all.size(); ++j) {
      expected[static_cast<size_t>(all[j])] -= 1.0f;
    }
    ASSERT_EQ(logits, expected) << i;
  }
}

TEST(Sampler, BiasesAreAdded) {
  SamplerOptions options = plain(0.0f);
  options.logit_bias = {{2, 5.0f}, {0, -100.0f}};
  Sampler sampler(options, 3, scalar_kernels());
  std::vector<float> logits = {3.0f, 2.0f, -1.0f};
  EXPECT_EQ(sampler.sample(logits), 2);
  EXPECT_EQ(logits, (std::vector<float>{-97.0f, 2.0f, 4.0f}));
}

TEST(Sampler, SurvivesPenaltiesThatBlowUp) {
  for (const float temperature : {0.0f, 1e-30f, 1.0f}) {
    SamplerOptions options;
    options.temperature = temperature;
    options.repeat_penalty = 1e-38f;
    for (const int32_t top_k : {0, 2}) {
      options.top_k = top_k;
      Sampler sampler(options, 3, scalar_kernels());
      for (const TokenId token : {0, 1}) sampler.accept(token);
      std::vector<float> logits = {30.0f, 40.0f, 1.0f};
      EXPECT_LT(sampler.sample(logits), 2);
    }
  }
}

// kRefusedLogit marks refused tokens if there is a constraint; here it is a logit like any other.
TEST(Sampler, DrawsATokenOfTheLeastLogits) {
  for (const float temperature : {0.0f, 1.0f}) {
    const auto counts = draw(plain(temperature), {kRefusedLogit, kRefusedLogit}, 10);
    for (const auto& [token, n] : counts) EXPECT_TRUE(token == 0 || token == 1) << token;
  }
}

TEST(Sampler, DrawsTheSameWithAndWithoutALimitThatLimitsNothing) {
  std::vector<float> logits(60);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = 3.0f * std::sin(static_cast<float>(i * i));
  }
  for (const float top_p : {0.3f, 0.9f}) {
    SamplerOptions options = plain(0.7f);
    options.top_p = top_p;
    options.min_p = 0.02f;
    const auto all = draw(options, logits);
    options.top_k = 59;
    const auto most = draw(options, logits);
    std::vector<TokenId> drawn_of_all;
    std::vector<TokenId> drawn_of_most;
    for (const auto& [token, count] : all) drawn_of_all.push_back(token);
    for (const auto& [token, count] : most) drawn_of_most.push_back(token);
    EXPECT_EQ(drawn_of_all, drawn_of_most);
  }
}

TEST(Sampler, SameSeedSameTokens) {
  const auto tokens = [](uint64_t seed) {
    SamplerOptions options = plain();
    options.seed = seed;
    Sampler sampler(options, 50, scalar_kernels());
    std::vector<TokenId> drawn;
    for (int i = 0; i < 20; ++i) {
      std::vector<float> logits(50, 0.0f);
      drawn.push_back(sampler.sample(logits));
    }
    return drawn;
  };
  EXPECT_EQ(tokens(42), tokens(42));
  EXPECT_NE(tokens(42), tokens(43));
  EXPECT_NE(tokens(0), tokens(uint64_t{1} << 40));
  // These must never change, natively and in wasm: the first draws of PCG32 with the seed 42.
  std::vector<TokenId> first = tokens(42);
  first.resize(6);
  EXPECT_EQ(first, (std::vector<TokenId>{38, 20, 22, 13, 47, 20}));
}

TEST(Sampler, SurvivesAVerySmallTemperature) {
  const auto counts = draw(plain(1e-30f), {1.0f, 2.0f, -3.0f}, 10);
  EXPECT_EQ(counts.at(1), 10);
}

TEST(SamplerOptions, AreCheckedByName) {
  const auto message = [](auto change) {
    SamplerOptions options;
    change(options);
    const Status status = validate(options, 10);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(message([](SamplerOptions&) {}), "");
  EXPECT_EQ(message([](SamplerOptions& o) { o.temperature = -1; }),
            "temperature is -1, expected 0 to 100");
  EXPECT_NE(message([](SamplerOptions& o) { o.temperature = NAN; }), "");
  EXPECT_EQ(message([](SamplerOptions& o) { o.top_k = -5; }), "top-k is -5, expected -1 or more");
  EXPECT_EQ(message([](SamplerOptions& o) { o.top_p = -1; }), "top-p is -1, expected 0 to 1");
  EXPECT_EQ(message([](SamplerOptions& o) { o.min_p = 1.5; }), "min-p is 1.5, expected 0 to 1");
  EXPECT_NE(message([](SamplerOptions& o) { o.repeat_penalty = 0; }), "");
  EXPECT_NE(message([](SamplerOptions& o) { o.repeat_last_n = -1; }), "");
  EXPECT_EQ(message([](SamplerOptions& o) { o.frequency_penalty = -101; }),
            "frequency-penalty is -101, expected -100 to 100");
  EXPECT_NE(message([](SamplerOptions& o) { o.presence_penalty = NAN; }), "");
  EXPECT_EQ(message([](SamplerOptions& o) { o.dry_penalty_last_n = -2; }),
            "dry-penalty-last-n is -2, expected -1 or more");
  EXPECT_EQ(message([](SamplerOptions& o) {
              o.dry_sequence_breakers = {"a", ""};
            }),
            "a DRY sequence breaker has 0 bytes, expected 1 to 64");
  EXPECT_NE(message([](SamplerOptions& o) { o.dry_sequence_breakers = {std::string(65, 'a')}; }),
            "");
  EXPECT_EQ(message([](SamplerOptions& o) { o.dry_sequence_breakers.assign(65, "a"); }),
            "there are 65 DRY sequence breakers, expected at most 64");
  EXPECT_EQ(message([](SamplerOptions& o) { o.dry_sequence_breakers.clear(); }), "");
  EXPECT_EQ(message([](SamplerOptions& o) { o.logit_bias = {{9, 100.0f}, {0, -100.0f}}; }), "");
  EXPECT_EQ(message([](SamplerOptions& o) {
              o.logit_bias = {{10, 1.0f}};
            }),
            "bias: token id 10 is out of range (vocabulary: 10)");
  EXPECT_EQ(message([](SamplerOptions& o) {
              o.logit_bias = {{7, 101.0f}};
            }),
            "a bias is 101, expected -100 to 100");
}

TEST(SamplerOptions, TakeTheRangesOfTheTable) {
  for (const SamplingOption& option : sampling_options()) {
    const auto accepts = [&](double value) {
      SamplerOptions options;
      option.set(options, value);
      return validate(options, 10).ok();
    };
    EXPECT_EQ(accepts(option.least), !option.above) << option.name;
    EXPECT_TRUE(accepts(option.most)) << option.name;
    EXPECT_FALSE(accepts(option.least - 1)) << option.name;
    EXPECT_FALSE(accepts(NAN)) << option.name;
    EXPECT_EQ(accepts(option.most + 1), option.most == INT32_MAX) << option.name;
    const double usual = option.get(SamplerOptions());
    EXPECT_TRUE(accepts(usual)) << option.name;
    EXPECT_NE(option.real != nullptr, option.whole != nullptr) << option.name;
  }
}

TEST(SamplerOptions, HaveANameForEachInterface) {
  EXPECT_EQ(hyphenated("repeat_last_n"), "repeat-last-n");
  EXPECT_EQ(camel_case("repeat_last_n"), "repeatLastN");
  EXPECT_EQ(camel_case("temperature"), "temperature");
}

// The sampling settings that a file recommends.
SamplerChoice recommended(const GgufBuilder& builder) {
  const Bytes bytes = builder.build();
  const auto header = parse_gguf_header(bytes);
  EXPECT_TRUE(header.ok());
  return recommended_sampling(header.value());
}

TEST(RecommendedSampling, IsWhatTheFileSaysWhereThatCanBeRun) {
  GgufBuilder file;
  file.set_float32("general.sampling.temp", 0.25f).set_uint32("general.sampling.top_k", 7);
  file.set_float32("general.sampling.top_p", 1.5f);  // out of its range
  file.set("general.sampling.min_p", "a lot");
  file.set_uint32("general.sampling.penalty_last_n", 1u << 20);
  file.set_float32("general.sampling.penalty_repeat", 1.1f);
  file.set_float32("general.sampling.xtc_probability", 0.5f);
  const SamplerChoice choice = recommended(file);
  std::map<std::string_view, double> found;
  for (const auto& [option, value] : choice.numbers) found[option->name] = value;
  const std::map<std::string_view, double> expected = {{"temperature", 0.25},
                                                       {"top_k", 7},
                                                       {"repeat_penalty", double{1.1f}},
                                                       {"xtc_probability", 0.5}};
  EXPECT_EQ(found, expected);

  SamplerOptions options;
  options.frequency_penalty = 2;
  choice.apply_to(options);
  EXPECT_EQ(options.temperature, 0.25f);
  EXPECT_EQ(options.top_k, 7);
  EXPECT_EQ(options.top_p, 0.95f);
  EXPECT_EQ(options.frequency_penalty, 2);
}

TEST(Sampler, KeepsATokenWhateverThePenaltyMakesOfHugeLogits) {
  SamplerOptions options;
  options.repeat_penalty = 0.01f;
  Sampler sampler(options, 4, scalar_kernels());
  sampler.accept(2);
  std::vector<float> logits = {1.0f, 3e38f, 3e38f, -3e38f};
  const TokenId token = sampler.sample(logits);
  EXPECT_GE(token, 0);
  EXPECT_LT(token, 4);
}

}  // namespace
}  // namespace kinglet
