#include "text/unigram_tokenizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "text/charsmap_builder.h"
#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

constexpr std::string_view kCharsmapKey = "tokenizer.ggml.precompiled_charsmap";

const std::vector<TestToken> kTokens = {
    {"<pad>", 0, TokenType::control},     // 0
    {"</s>", 0, TokenType::control},      // 1
    {"<unk>", 0, TokenType::unknown},     // 2
    {"▁", -2},                            // 3
    {"▁the", -3},                         // 4
    {"t", -6},                            // 5
    {"h", -6},                            // 6
    {"e", -5},                            // 7
    {"he", -4},                           // 8
    {"▁t", -5.5},                         // 9
    {"fi", -4},                           // 10
    {"f", -7},                            // 11
    {"i", -6},                            // 12
    {"中", -8},                           // 13
    {"中文", -9},                         // 14
    {"ab", -1},                           // 15
    {"abc", -4},                          // 16
    {"cd", -1},                           // 17
    {"a", -3},                            // 18
    {"b", -3},                            // 19
    {"c", -3},                            // 20
    {"d", -3},                            // 21
    {"QQ", -9, TokenType::user_defined},  // 22
    {"▁unused", -1, TokenType::unused},   // 23
    {"▁▁", -3},                           // 24
    {"<mask>", 0, TokenType::control},    // 25
    {"é", -5},                            // 26
    {"ba", -3.25},                        // 27
    {"1", -4},                            // 28
};

const std::map<std::string, std::string> kReplacements = {
    {"ﬁ", "fi"}, {"\u3000", " "},  {"\t", " "}, {"\u200b", ""},
    {"①", "1"},  {"e\u0301", "é"}, {"e", "e"},  {"㏂", "a c d"}};

GgufBuilder unigram_builder(const std::vector<TestToken>& tokens = kTokens) {
  GgufBuilder builder = spm_builder(tokens, "t5");
  builder.set_uint32("tokenizer.ggml.eos_token_id", 1)
      .set_uint32("tokenizer.ggml.unknown_token_id", 2);
  return builder;
}

// A vocabulary like T5's: spaces merge, and words begin with a space.
GgufBuilder t5_builder() {
  GgufBuilder builder = unigram_builder();
  builder.set_bool("tokenizer.ggml.add_space_prefix", true)
      .set_bool("tokenizer.ggml.remove_extra_whitespaces", true)
      .set_array(kCharsmapKey, CharsmapBuilder(kReplacements).build());
  return builder;
}

// A vocabulary that keeps every space and replaces nothing.
GgufBuilder plain_builder() {
  GgufBuilder builder = unigram_builder();
  builder.set_bool("tokenizer.ggml.add_space_prefix", true);
  return builder;
}

// The expected ids of the next three tests are llama.cpp's.

TEST(Unigram, GivesTheReferenceIdsWhereSpacesMerge) {
  expect_ids(*built(t5_builder()), {{"", {}},
                                    {" ", {}},
                                    {"the", {4}},
                                    {" the  he ", {4, 3, 8}},
                                    {"abcd", {3, 15, 17}},  // not abc and d
                                    {"babab", {3, 19, 15, 15}},
                                    {"thﬁ ①", {9, 6, 10, 3, 28}},
                                    {"\u3000the\tthe", {4, 4}},
                                    {"中文中", {3, 14, 13}},
                                    {"xyz x", {3, 2, 3, 2}},  // unknown ones in a row are one
                                    {"x中", {3, 2, 13}},
                                    {"cafe\u0301", {3, 20, 18, 11, 26}},  // the longest entry
                                    {"㏂", {3, 18, 3, 20, 3, 21}},
                                    {"a\u200bb", {3, 15}},
                                    {"QQabQQ the", {22, 3, 15, 22, 4}},
                                    {"▁the ▁", {3, 4, 24}},
                                    {"unused a", {23, 3, 18}},
                                    {"\n", {3, 2}},
                                    {"\xff\x61\xe4\xb8", {3, 2, 18, 2}}});
}

TEST(Unigram, GivesTheReferenceIdsWhereSpacesStay) {
  expect_ids(*built(plain_builder()), {{" ", {3}},
                                       {" the  he ", {3, 4, 24, 8, 3}},
                                       {"thﬁ ①", {9, 6, 2, 3, 2}},
                                       {"\u3000the\tthe", {3, 2, 5, 8, 2, 5, 8}},
                                       {"QQabQQ the", {22, 3, 15, 22, 3, 4}},
                                       {"a QQ  a", {3, 18, 3, 22, 3, 24, 18}},
                                       {"  a  b", {3, 24, 18, 24, 19}}});
}

TEST(Unigram, GivesTheReferenceIdsWhereTheFileIsSilent) {
  expect_ids(*built(unigram_builder()), {{"the", {5, 8}},
                                         {" the  he ", {4, 24, 8, 3}},
                                         {"QQabQQ the", {22, 15, 22, 4}},
                                         {"unused a", {2, 7, 21, 3, 18}},
                                         {"a QQ  a", {18, 3, 22, 24, 18}}});
}

TEST(Unigram, AddsTheEnd) {
  GgufBuilder builder = t5_builder();
  EXPECT_EQ(built(builder)->encode("the", {.add_eos = true}), (Ids{4, 1}));
  EXPECT_EQ(built(builder)->encode("the<mask>  the", {.parse_special = true, .add_eos = true}),
            (Ids{4, 25, 4, 1}));
  builder.set_uint32("tokenizer.ggml.bos_token_id", 0)
      .set_bool("tokenizer.ggml.add_bos_token", true);
  EXPECT_EQ(built(builder)->encode("the", {.add_eos = true}), (Ids{0, 4, 1}));
  builder.set_bool("tokenizer.ggml.add_eos_token", false);
  EXPECT_EQ(built(builder)->encode("the", {.add_eos = true}), (Ids{0, 4}));
}

// The expected texts are llama.cpp's.
TEST(Unigram, GivesBackTheReferenceText) {
  const auto t5 = built(t5_builder());
  EXPECT_EQ(decoded(*t5, Ids{4, 3, 8}), "the he");
  EXPECT_EQ(decoded(*t5, Ids{3, 2, 18, 2}, true), "<unk>a<unk>");
  EXPECT_EQ(decoded(*t5, Ids{22, 3, 15, 22, 4}), "QQ abQQ the");
  EXPECT_EQ(decoded(*t5, Ids{4, 1, 4, 25, 4, 1}, true), "the</s> the<mask> the</s>");
  EXPECT_EQ(decoded(*built(unigram_builder()), Ids{4, 24, 8, 3}), " the  he ");
}

TEST(Unigram, StreamsPieces) {
  const auto tokenizer = built(t5_builder());
  StreamDecoder decoder(*tokenizer, true);
  std::string text;
  for (const TokenId id : {4, 3, 20, 18, 11, 26, 2, 14, 1}) text += decoder.next(id);
  EXPECT_EQ(text + decoder.finish(), "the café中文");
}

// In random texts, no other way to divide the text has a higher sum.
TEST(Unigram, FindsTheBestOfAllWays) {
  const auto tokenizer = built(unigram_builder());
  const std::vector<std::string_view> letters = {"a", "b", "c", "d", "t", "h", "e", " "};
  std::mt19937 random(7);
  const auto score = [](const Ids& ids) {
    double sum = 0;
    for (const TokenId id : ids) sum += kTokens[static_cast<size_t>(id)].score;
    return sum;
  };
  for (int i = 0; i < 300; ++i) {
    const std::string text = random_text(random, 1 + random() % 12, letters);
    // best[n]: the highest sum for the first n bytes, found by trying every token at every place.
    std::vector<double> best(text.size() + 1, -std::numeric_limits<double>::infinity());
    best[0] = 0;
    for (size_t begin = 0; begin < text.size(); ++begin) {
      for (const TestToken& token : kTokens) {
        if (token.type != TokenType::normal) continue;
        const std::string bytes = with_spaces(token.text);
        if (text.compare(begin, bytes.size(), bytes) != 0) continue;
        double& sum = best[begin + bytes.size()];
        sum = std::max(sum, best[begin] + token.score);
      }
    }
    const Ids ids = tokenizer->encode(text);
    EXPECT_DOUBLE_EQ(score(ids), best.back()) << text;
    EXPECT_EQ(decoded(*tokenizer, ids), text);
  }
}

TEST(Unigram, NeedsScoresAndAnUnknownToken) {
  GgufBuilder no_scores;
  no_scores.set("tokenizer.ggml.model", "t5")
      .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  EXPECT_EQ(build_tokenizer(no_scores).error().code, ErrorCode::missing_metadata);
  const auto small = build_tokenizer(spm_builder({{"a"}, {"b"}}, "t5"));
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.error().message.find("unknown_token_id"), std::string::npos);
}

TEST(Unigram, TakesTimeThatGrowsWithTheText) {
  const auto tokenizer = built(t5_builder());
  for (const std::string_view unit : {"a", "ab", "the ", "x", "\xff", "中文", " ", "㏂", "QQ"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    EXPECT_LE(tokenizer->encode(text).size(), 2 * text.size());
  }
}

void expect_corrupt(const std::vector<uint8_t>& charsmap, std::string_view part) {
  GgufBuilder builder = unigram_builder();
  builder.set_array(kCharsmapKey, charsmap);
  const auto tokenizer = build_tokenizer(builder);
  ASSERT_FALSE(tokenizer.ok()) << part;
  EXPECT_EQ(tokenizer.error().code, ErrorCode::corrupt);
  EXPECT_NE(tokenizer.error().message.find(part), std::string::npos) << tokenizer.error().message;
}

TEST(Charsmap, ThatDoesNotFitIsRefused) {
  expect_corrupt({}, "0 bytes");
  expect_corrupt({1, 0, 0}, "3 bytes");
  expect_corrupt({0, 0, 0, 0}, "a trie of 0 bytes");
  expect_corrupt({4, 0, 0, 0, 1, 2, 3, 4}, "a trie of 4 bytes");
  expect_corrupt({0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 0}, "a trie of 4294967295 bytes");
  std::vector<uint8_t> map = CharsmapBuilder(kReplacements).build();
  map.back() = 'x';
  expect_corrupt(map, "has no end");
  expect_corrupt(CharsmapBuilder({{"a", std::string(256, 'b')}}).build(), "of 256 bytes");

  GgufBuilder floats = unigram_builder();
  floats.set_array(kCharsmapKey, std::vector<float>{4, 0});
  EXPECT_EQ(build_tokenizer(floats).error().code, ErrorCode::wrong_type);
  for (const int64_t number : {INT64_MIN, int64_t{-129}, int64_t{256}, INT64_MAX}) {
    GgufBuilder large = unigram_builder();
    large.set_array(kCharsmapKey, std::vector<int64_t>{0, 0, 0, 0, number});
    EXPECT_EQ(build_tokenizer(large).error().code, ErrorCode::corrupt) << number;
  }
}

TEST(Charsmap, MayBeOfIntegersOfAnyTypeOrEmpty) {
  const std::vector<uint8_t> map = CharsmapBuilder(kReplacements).build();
  const std::vector<int8_t> with_signs(map.begin(), map.end());
  const auto expect_read = [](const auto& numbers) {
    GgufBuilder builder = unigram_builder();
    builder.set_array(kCharsmapKey, numbers);
    EXPECT_EQ(built(builder)->encode("ﬁ①"), (Ids{10, 28}));
  };
  expect_read(with_signs);
  expect_read(std::vector<int32_t>(map.begin(), map.end()));
  expect_read(std::vector<int32_t>(with_signs.begin(), with_signs.end()));
  expect_read(std::vector<uint64_t>(map.begin(), map.end()));
  GgufBuilder empty = unigram_builder();
  empty.set_array(kCharsmapKey, std::vector<uint8_t>{0, 0, 0, 0, 0});
  EXPECT_EQ(built(empty)->encode("ﬁ1"), (Ids{2, 28}));
}

// Offsets that lead to any node, or back to an earlier one, end the search.
TEST(Charsmap, WithDamagedNodesReadsNothingOutside) {
  std::string text = "ﬁ①e\u0301㏂\u3000\u200b e ";
  while (text.size() < 100'000) text += text;
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    CharsmapBuilder map(kReplacements);
    for (auto& [index, node] : map.nodes()) {
      if (random() % 4 == 0) node = static_cast<uint32_t>(random());
      if (random() % 4 == 0) node = (node & 0xffu) | static_cast<uint32_t>(random() % 1024) << 10;
    }
    GgufBuilder builder = unigram_builder();
    builder.set_array(kCharsmapKey, map.build());
    const auto tokenizer = built(builder);
    ASSERT_NE(tokenizer, nullptr);
    (void)tokenizer->encode(std::string_view(text).substr(0, i == 0 ? text.size() : 1000));
  }
}

}  // namespace
}  // namespace kinglet
