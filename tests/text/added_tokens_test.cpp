#include "text/added_tokens.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

// The ids of `text` with its added tokens recognized; everything else is split into bytes.
std::string bracketed(const Tokenizer& tokenizer, std::string_view text, bool parse_special,
                      std::span<const TextRange> plain = {}) {
  std::string out;
  for (const TokenId id :
       tokenizer.encode(text, {.add_bos = false, .parse_special = parse_special}, plain)) {
    if (tokenizer.vocabulary().is_added(id)) {
      out += cat("[", tokenizer.piece(id, true), "]");
    } else {
      out += tokenizer.piece(id);
    }
  }
  return out;
}

TEST(AddedTokens, ControlTokensAreRecognisedOnlyWhereAskedFor) {
  const auto tokenizer = spm_tokenizer({{"<|x|>", 0, TokenType::control}}, false);
  EXPECT_EQ(bracketed(*tokenizer, "a<|x|>b</s>", false), "a<|x|>b</s>");
  EXPECT_EQ(bracketed(*tokenizer, "a<|x|>b</s>", true), "a[<|x|>]b[</s>]");
}

TEST(AddedTokens, UserDefinedTokensAlwaysAre) {
  const auto tokenizer = spm_tokenizer({{"<|u|>", 0, TokenType::user_defined}}, false);
  EXPECT_EQ(bracketed(*tokenizer, "<|u|><|u|>b<s>", false), "[<|u|>][<|u|>]b<s>");
}

TEST(AddedTokens, ControlTokensDoNotReachIntoPlainText) {
  const auto tokenizer = spm_tokenizer({{"<|x|>", 0, TokenType::control},
                                        {"<|x|><|x|>", 0, TokenType::control},
                                        {"<u>", 0, TokenType::user_defined}},
                                       false);
  const std::string text = "<|x|><|x|><u><|x|>";
  const auto with = [&](std::vector<TextRange> plain) {
    return bracketed(*tokenizer, text, true, plain);
  };
  EXPECT_EQ(with({}), "[<|x|><|x|>][<u>][<|x|>]");
  EXPECT_EQ(with({{0, 5}}), "<|x|>[<|x|>][<u>][<|x|>]");
  EXPECT_EQ(with({{4, 5}}), "<|x|>[<|x|>][<u>][<|x|>]");
  EXPECT_EQ(with({{9, 10}}), "[<|x|>]<|x|>[<u>][<|x|>]");
  EXPECT_EQ(with({{5, 6}, {10, 14}}), "[<|x|>]<|x|>[<u>]<|x|>");
  EXPECT_EQ(with({{0, text.size()}}), "<|x|><|x|>[<u>]<|x|>");
}

TEST(AddedTokens, APlainMarkOfTheBeginningIsNone) {
  const auto tokenizer = spm_tokenizer({});
  const TextRange spelled = {0, 3};
  const TextRange behind = {3, 4};
  EXPECT_EQ(tokenizer->encode("<s>a", {.parse_special = true}, {&behind, 1}).size(), 3u);
  EXPECT_EQ(tokenizer->encode("<s>a", {.parse_special = true}, {&spelled, 1}).size(), 6u);
}

TEST(AddedTokens, OfThoseThatBeginTogetherTheLongestCounts) {
  const auto tokenizer = spm_tokenizer({{"ab", 0, TokenType::user_defined},
                                        {"a", 0, TokenType::user_defined},
                                        {"abcd", 0, TokenType::user_defined},
                                        {"abc", 0, TokenType::control}},
                                       false);
  EXPECT_EQ(bracketed(*tokenizer, "abcdabcabaxabcda", true), "[abcd][abc][ab][a]x[abcd][a]");
  EXPECT_EQ(bracketed(*tokenizer, "abcdabcab", false), "[abcd][ab]c[ab]");
}

TEST(AddedTokens, RunsAreCutFromTheLeft) {
  const auto tokenizer = spm_tokenizer(
      {{"--", 0, TokenType::user_defined}, {"---", 0, TokenType::user_defined}}, false);
  EXPECT_EQ(bracketed(*tokenizer, "-------x--", false), "[---][---]-x[--]");
}

TEST(AddedTokens, ATextThatEndsInsideOneIsPlain) {
  const auto tokenizer = spm_tokenizer({{"<|im_start|>", 0, TokenType::control}}, false);
  EXPECT_EQ(bracketed(*tokenizer, "<|im_start|><|im_start|", true), "[<|im_start|>]<|im_start|");
}

TEST(AddedTokens, AnEmptyOneNeverMatches) {
  const auto tokenizer = spm_tokenizer({{"", 0, TokenType::user_defined}}, false);
  EXPECT_EQ(bracketed(*tokenizer, "ab", true), "ab");
}

TEST(AddedTokens, BytesAboveAsciiAreFoundToo) {
  const auto tokenizer = spm_tokenizer(
      {{"<｜end▁of▁sentence｜>", 0, TokenType::control}, {"é", 0, TokenType::user_defined}}, false);
  EXPECT_EQ(bracketed(*tokenizer, "éa<｜end▁of▁sentence｜>", true), "[é]a[<｜end▁of▁sentence｜>]");
}

TEST(AddedTokens, AgreesWithASearchThroughAllOfThem) {
  std::mt19937 random(7);
  const std::array<std::string_view, 3> alphabet = {"a", "b", "<"};
  std::vector<TestToken> tokens;
  for (int i = 0; i < 40; ++i) {
    tokens.push_back({random_text(random, 1 + random() % 6, alphabet), 0,
                      i % 2 == 0 ? TokenType::control : TokenType::user_defined});
  }
  const auto tokenizer = spm_tokenizer(tokens, false);
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_text(random, random() % 40, alphabet);
    const bool control = round % 2 == 0;
    std::string expected;
    for (size_t at = 0; at < text.size();) {
      std::string_view longest;
      for (const TestToken& token : tokens) {
        const bool counts = control || token.type == TokenType::user_defined;
        if (counts && token.text.size() > longest.size() && text.substr(at).starts_with(token.text))
          longest = token.text;
      }
      expected += longest.empty() ? text.substr(at, 1) : cat("[", longest, "]");
      at += std::max<size_t>(longest.size(), 1);
    }
    ASSERT_EQ(bracketed(*tokenizer, text, control), expected) << text;
  }
}

}  // namespace
}  // namespace kinglet
