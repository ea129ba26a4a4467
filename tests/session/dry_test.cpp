#include "session/dry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/sampler.h"

namespace kinglet {
namespace {

constexpr uint32_t kDryContext = 64;

// Each character of a text is a token, but a few tokens have longer texts.
const std::vector<std::string>& dry_pieces() {
  static const std::vector<std::string> pieces = {"a", "b", "c", "\n", ".\n", "#", "-#", ""};
  return pieces;
}

std::string_view dry_piece(TokenId token) { return dry_pieces()[static_cast<size_t>(token)]; }

SamplerOptions dry_options() {
  SamplerOptions options;
  options.dry_multiplier = 0.5f;
  options.dry_base = 2.0f;
  return options;
}

// What the token loses after `tokens`, as the definition says: the token is appended, and the
// repetition that it then ends is measured at each place where the token occurs.
double lost(const SamplerOptions& options, std::vector<TokenId> tokens, TokenId token) {
  const auto contains_breaker = [&](const std::string& text) {
    return std::any_of(
        options.dry_sequence_breakers.begin(), options.dry_sequence_breakers.end(),
        [&](const std::string& breaker) { return text.find(breaker) != std::string::npos; });
  };
  if (contains_breaker(std::string(dry_piece(token)))) return 0;
  // The tokens after the last breaker: the longest end of the text that would contain none even
  // with the bytes before it.
  size_t n_free = 0;
  const auto spells_breaker = [&](size_t n_last) {
    std::string all;
    std::string before;
    for (size_t i = 0; i < tokens.size(); ++i) {
      all += dry_piece(tokens[i]);
      if (i + n_last < tokens.size()) before = all;
    }
    for (const std::string& breaker : options.dry_sequence_breakers) {
      for (size_t at = all.find(breaker); at != std::string::npos; at = all.find(breaker, at + 1)) {
        if (at + breaker.size() > before.size()) return true;
      }
    }
    return false;
  };
  while (n_free < tokens.size() && !spells_breaker(n_free + 1)) ++n_free;

  const int32_t last_n = options.dry_penalty_last_n;
  const size_t n_window = last_n < 0 ? kDryContext : static_cast<size_t>(last_n);
  if (tokens.size() > n_window)
    tokens.erase(tokens.begin(), tokens.end() - static_cast<ptrdiff_t>(n_window));
  n_free = std::min(n_free, tokens.size());
  int longest = -1;
  for (size_t place = 1; place < tokens.size(); ++place) {
    if (tokens[place] != token) continue;
    size_t n = 0;
    while (n < place && n < n_free && tokens[place - 1 - n] == tokens[tokens.size() - 1 - n]) ++n;
    longest = std::max(longest, static_cast<int>(n));
  }
  // llama.cpp needs a window longer than the allowed length.
  const auto allowed = options.dry_allowed_length;
  if (longest < allowed || tokens.size() <= static_cast<size_t>(allowed)) return 0;
  return static_cast<double>(options.dry_multiplier) *
         std::pow(static_cast<double>(options.dry_base), longest - allowed);
}

std::vector<float> penalized(const SamplerOptions& options, const std::vector<TokenId>& tokens) {
  const auto n_tokens = static_cast<uint32_t>(dry_pieces().size());
  auto dry = Dry::create(options, kDryContext, n_tokens, dry_piece);
  std::vector<float> logits(n_tokens, 1.0f);
  if (!dry) return logits;
  for (const TokenId token : tokens) dry->accept(token);
  dry->penalize(logits);
  return logits;
}

TEST(Dry, WeakensWhatWouldContinueARepetition) {
  const auto options = dry_options();
  // "abc ab": c would continue a repetition of 2, the allowed length.
  EXPECT_EQ(penalized(options, {0, 1, 2, 0, 1})[2], 0.5f);
  // "aabc aab": of 3.
  EXPECT_EQ(penalized(options, {0, 0, 1, 2, 0, 0, 1})[2], 0.0f);
  // "abc b": of 1, which is allowed.
  EXPECT_EQ(penalized(options, {0, 1, 2, 1})[2], 1.0f);
}

TEST(Dry, DoesNotLookBeyondABreaker) {
  auto options = dry_options();
  EXPECT_EQ(penalized(options, {0, 1, 2, 3, 0, 1})[2], 0.5f);  // "abc\nab"
  // "ab\nc ab\n": the breaker was the last token.
  EXPECT_EQ(penalized(options, {0, 1, 3, 2, 0, 1, 3})[2], 1.0f);
  // ".\n" contains a breaker, so it may always follow.
  EXPECT_EQ(penalized(options, {0, 1, 4, 0, 1})[4], 1.0f);
  // "-##" is spelled by two tokens.
  EXPECT_EQ(penalized(options, {0, 6, 5, 1, 2, 0, 6, 5, 1})[2], 0.0f - 1.0f);
  options.dry_sequence_breakers = {"##"};
  EXPECT_EQ(penalized(options, {0, 6, 5, 1, 2, 0, 6, 5, 1})[2], 1.0f);
}

TEST(Dry, IsWhatItsDefinitionSays) {
  std::mt19937 random(3);
  const std::vector<std::vector<std::string>> lists = {
      {"\n"}, {}, {"\n", ":", "\"", "*"}, {"##", "\n"}, {"a-#", "b"}, {"c.\nc"}};
  int n_changed = 0;
  for (int round = 0; round < 3000; ++round) {
    auto options = dry_options();
    options.dry_allowed_length = static_cast<int32_t>(random() % 4);
    options.dry_penalty_last_n = static_cast<int32_t>(random() % 3 == 0 ? random() % 12 : 0) - 1;
    options.dry_sequence_breakers = lists[random() % lists.size()];
    const size_t n_kinds = 2 + random() % 7;
    std::vector<TokenId> tokens(random() % 90);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % n_kinds);
    if (options.dry_penalty_last_n == 0) continue;  // off
    const auto logits = penalized(options, tokens);
    for (TokenId token = 0; token < 8; ++token) {
      const auto expected = static_cast<float>(1.0 - lost(options, tokens, token));
      n_changed += expected != 1.0f ? 1 : 0;
      ASSERT_EQ(logits[static_cast<size_t>(token)], expected) << round << ", token " << token;
    }
  }
  EXPECT_GT(n_changed, 1000);
}

TEST(Dry, IsOffUnlessAskedFor) {
  const std::vector<TokenId> tokens = {0, 1, 2, 0, 1};
  const std::vector<float> unchanged(dry_pieces().size(), 1.0f);
  EXPECT_EQ(penalized(SamplerOptions(), tokens), unchanged);
  auto options = dry_options();
  options.dry_penalty_last_n = 0;
  EXPECT_EQ(penalized(options, tokens), unchanged);
}

TEST(Dry, PenaltiesStayFinite) {
  auto options = dry_options();
  options.dry_base = 100;
  options.dry_multiplier = 100;
  const auto logits = penalized(options, std::vector<TokenId>(60, 0));
  EXPECT_TRUE(std::isfinite(logits[0]));
  EXPECT_LT(logits[0], -1e29f);
}

TEST(Dry, IgnoresRowsOfPictures) {
  EXPECT_EQ(penalized(dry_options(), {0, 1, -5, 2, 0, -9, 1})[2], 0.5f);
}

TEST(Dry, MakesASamplerChooseAnotherToken) {
  auto options = dry_options();
  options.temperature = 0;
  const auto n_tokens = static_cast<uint32_t>(dry_pieces().size());
  Sampler sampler(options, n_tokens, scalar_kernels(),
                  Dry::create(options, kDryContext, n_tokens, dry_piece));
  for (const TokenId token : {0, 1, 2, 0}) sampler.accept(token);
  const std::vector<float> logits = {0.0f, 0.3f, 0.4f, 0.1f, 0, 0, 0, 0};
  auto copy = logits;
  EXPECT_EQ(sampler.sample(copy), 2);
  sampler.accept(1);
  copy = logits;
  EXPECT_EQ(sampler.sample(copy), 1);
  EXPECT_EQ(copy[2], 0.4f - 0.5f);
}

}  // namespace
}  // namespace kinglet
