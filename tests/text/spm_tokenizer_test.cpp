#include "text/spm_tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <unordered_map>

#include "base/utf8.h"
#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

TEST(SpmTokenizer, MergesTheHighestScoreFirst) {
  const std::vector<TestToken> letters = {{"a", -10}, {"b", -10}, {"c", -10}};
  auto tokens = letters;
  tokens.push_back({"ab", -2});
  tokens.push_back({"bc", -1});
  EXPECT_EQ(pieces(*spm_tokenizer(tokens, false), "abc"), "a|bc");
  tokens[3].score = -0.5f;
  EXPECT_EQ(pieces(*spm_tokenizer(tokens, false), "abc"), "ab|c");
}

TEST(SpmTokenizer, OfEqualScoresTheLeftmostIsMergedFirst) {
  const auto tokenizer = spm_tokenizer({{"a", -9}, {"aa", -1}}, false);
  EXPECT_EQ(pieces(*tokenizer, "aaaaa"), "aa|aa|a");
}

TEST(SpmTokenizer, AMergeMayPassThroughAnUnlikelyToken) {
  const auto tokenizer =
      spm_tokenizer({{"a", -9}, {"b", -9}, {"c", -9}, {"ab", -8}, {"abc", -1}}, false);
  EXPECT_EQ(pieces(*tokenizer, "abc"), "abc");
  EXPECT_EQ(pieces(*spm_tokenizer({{"a", -9}, {"b", -9}, {"c", -9}, {"abc", -1}}, false), "abc"),
            "a|b|c")
      << "only two neighbours at a time";
}

TEST(SpmTokenizer, WhatTheVocabularyLacksBecomesBytes) {
  const auto tokenizer = spm_tokenizer({{"a", -1}}, false);
  EXPECT_EQ(tokenizer->encode("a€", kPlain),
            (Ids{kFirstExtra, byte_id(0xe2), byte_id(0x82), byte_id(0xac)}));
}

TEST(SpmTokenizer, WithoutByteTokensACharacterBecomesOneUnknownToken) {
  const auto tokenizer =
      build_tokenizer(spm_builder({{"<unk>", 0, TokenType::unknown}, {"a", -1}, {"▁", -1}})
                          .set_uint32("tokenizer.ggml.unknown_token_id", 0)
                          .set_bool("tokenizer.ggml.add_bos_token", false));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer.value()->encode("€a\xff\xe2"), (Ids{2, 0, 1, 0, 0}));
}

TEST(SpmTokenizer, UsesTheByteTokensThatItHas) {
  std::vector<TestToken> tokens = spm_base_tokens();
  tokens.resize(3 + 128);  // those of ASCII
  tokens.push_back({"<0xC3>", 0, TokenType::byte});
  const auto tokenizer = build_tokenizer(spm_builder(tokens)
                                             .set_uint32("tokenizer.ggml.unknown_token_id", 0)
                                             .set_bool("tokenizer.ggml.add_bos_token", false)
                                             .set_bool("tokenizer.ggml.add_space_prefix", false));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(tokenizer.value()->encode("a\n\xc3\xa9z"),
            (Ids{byte_id('a'), byte_id('\n'), 0, byte_id('z')}))
      << "a character of which a byte is missing is unknown as a whole";
}

TEST(SpmTokenizer, MergesNeverMakeControlUnusedOrByteTokens) {
  const auto tokenizer = spm_tokenizer({{"<", -9},
                                        {"x", -9},
                                        {">", -9},
                                        {"<x", -1},
                                        {"<x>", 0, TokenType::control},
                                        {"xx", 0, TokenType::unused}},
                                       false);
  EXPECT_EQ(pieces(*tokenizer, "<x>xx"), "<x|>|x|x");
}

TEST(SpmTokenizer, PutsASpaceInFrontOfTheTextAndBehindAddedTokens) {
  const auto tokenizer =
      spm_tokenizer({{"▁", -9}, {"a", -9}, {"▁a", -1}, {"<u>", 0, TokenType::user_defined}});
  EXPECT_EQ(pieces(*tokenizer, "a"), " a");
  EXPECT_EQ(pieces(*tokenizer, " a"), " | a");
  EXPECT_EQ(pieces(*tokenizer, "a<u>a</s>a", {.add_bos = true, .parse_special = true}),
            "<s>| a|<u>| a|</s>| a");
  EXPECT_EQ(pieces(*tokenizer, "<u><u>"), "<u>|<u>") << "no text, no space";
}

TEST(SpmTokenizer, TheSpellingOfASpaceIsASpaceInATextToo) {
  for (const bool prefix : {false, true}) {
    const auto tokenizer = spm_tokenizer({{"▁", -9}, {"a", -9}, {"▁a", -1}, {"▁▁", -2}}, prefix);
    for (const char* text : {"▁", "▁▁", "▁a", "a▁", "a▁▁a", " ▁a", "▁ a", "a ▁ ▁a▁", "\xe2\x96▁"}) {
      EXPECT_EQ(tokenizer->encode(text), tokenizer->encode(with_spaces(text))) << text;
    }
    EXPECT_EQ(pieces(*tokenizer, "▁a"), prefix ? " | a" : " a");
  }
  // If a token's name contains U+2581, a text must contain the same to match.
  const auto tokenizer = spm_tokenizer({{"▁", -9}, {"▁<PRE>", 0, TokenType::control}}, false);
  const EncodeOptions special = {.add_bos = false, .parse_special = true};
  EXPECT_EQ(pieces(*tokenizer, "▁<PRE>▁", special), "▁<PRE>| ");
}

TEST(SpmTokenizer, PutsNoSpaceWhereTheFileForbidsIt) {
  const auto tokenizer = spm_tokenizer({{"▁", -9}, {"a", -9}, {"▁a", -1}}, false);
  EXPECT_EQ(pieces(*tokenizer, "a a</s>a", {.add_bos = false, .parse_special = true}),
            "a| a|</s>|a");
  EXPECT_EQ(decoded(*tokenizer, tokenizer->encode(" a")), " a");
}

TEST(SpmTokenizer, AnEmptyTextIsOnlyItsMarks) {
  const auto tokenizer = spm_tokenizer({{"▁", -9}});
  EXPECT_EQ(tokenizer->encode("", kPlain), Ids());
  EXPECT_EQ(tokenizer->encode(""), Ids{1});
}

TEST(SpmTokenizer, AddsMarksOnlyWhereFileAndCallerWantThem) {
  for (const bool bos : {false, true}) {
    for (const bool eos : {false, true}) {
      const auto result = build_tokenizer(spm_builder(spm_base_tokens())
                                              .set_uint32("tokenizer.ggml.bos_token_id", 1)
                                              .set_uint32("tokenizer.ggml.eos_token_id", 2)
                                              .set_bool("tokenizer.ggml.add_bos_token", bos)
                                              .set_bool("tokenizer.ggml.add_eos_token", eos));
      ASSERT_TRUE(result.ok());
      const Tokenizer& tokenizer = *result.value();
      EXPECT_EQ(tokenizer.encode("", {.add_bos = false}), Ids());
      EXPECT_EQ(tokenizer.encode(""), bos ? Ids{1} : Ids());
      EXPECT_EQ(tokenizer.encode("", {.add_bos = false, .add_eos = true}), eos ? Ids{2} : Ids());
    }
  }
}

TEST(SpmTokenizer, AddsNoBosToATextThatSpellsIt) {
  const auto tokenizer = spm_tokenizer({}, false);
  EXPECT_EQ(tokenizer->encode("<s>a", {.parse_special = true}), (Ids{1, byte_id('a')}));
  EXPECT_EQ(tokenizer->encode("<s>").size(), 4u) << "not parsed, it is text";
}

TEST(SpmTokenizer, PiecesOfControlTokensAreNamesOnlyWhereAskedFor) {
  const auto tokenizer = spm_tokenizer({{"▁a", -1}, {"<u>", 0, TokenType::user_defined}});
  EXPECT_EQ(tokenizer->piece(2), "");
  EXPECT_EQ(tokenizer->piece(2, true), "</s>");
  EXPECT_EQ(tokenizer->piece(kFirstExtra), " a");
  EXPECT_EQ(tokenizer->piece(kFirstExtra + 1), "<u>");
  EXPECT_EQ(tokenizer->piece(byte_id('\n')), "\n");
  EXPECT_EQ(tokenizer->piece(-1, true), "");
}

TEST(SpmTokenizer, DecodeNamesAnIdOutsideTheVocabulary) {
  const auto tokenizer = spm_tokenizer({});
  for (const TokenId id : {-1, 259}) {
    const auto text = tokenizer->decode(std::array{TokenId{5}, id});
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(text.error().message.find(cat("token id ", id, " is out of range")),
              std::string::npos);
  }
}

// All tests below use the embedded model's vocabulary.
class EmbeddedVocabulary : public testing::Test {
 protected:
  void SetUp() override {
    tokenizer_ = load_tokenizer(embedded_model_path());
    ASSERT_NE(tokenizer_, nullptr);
  }

  void expect_round_trip(const std::string& text) {
    const Ids ids = tokenizer_->encode(text);
    ASSERT_FALSE(ids.empty());
    EXPECT_EQ(ids[0], tokenizer_->bos());
    EXPECT_EQ(decoded(*tokenizer_, ids), with_spaces(text));
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(EmbeddedVocabulary, MergesWordsOfAStory) {
  EXPECT_EQ(pieces(*tokenizer_, "Once upon a time"), " Once| upon| a| time");
}

TEST_F(EmbeddedVocabulary, GivesBackEveryText) {
  for (const std::string& text : awkward_texts()) expect_round_trip(text);
}

TEST_F(EmbeddedVocabulary, GivesBackBytesThatAreNotUtf8) {
  for (const std::string& text : ill_formed_texts()) expect_round_trip(text);
  for (int byte = 0; byte < 256; ++byte) expect_round_trip(std::string(1, static_cast<char>(byte)));
}

TEST_F(EmbeddedVocabulary, GivesBackSpelledOutControlTokens) {
  const Ids ids = tokenizer_->encode(" a</s> b <s>c", {.add_bos = false, .parse_special = true});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 2), 1);
  EXPECT_EQ(decoded(*tokenizer_, ids, true), " a</s> b <s>c");
  EXPECT_EQ(decoded(*tokenizer_, ids), " a b c");
}

TEST_F(EmbeddedVocabulary, GivesBackRandomBytesAndCharacters) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    expect_round_trip(random_bytes(random, random() % 60));
    std::string text;
    for (size_t n = random() % 40; n > 0; --n) {
      const auto code_point = static_cast<char32_t>(random() % 0x110000);
      append_utf8(text, code_point >= 0xd800 && code_point < 0xe000 ? U'?' : code_point);
    }
    expect_round_trip(text);
  }
}

// The simplest definition of merging, on symbols as strings: each merge looks at all neighbours.
class SlowSpm {
 public:
  explicit SlowSpm(const GgufHeader& header) {
    std::vector<float> scores;
    header.find("tokenizer.ggml.scores")->as_array()->for_each([&](uint64_t, MetadataValue value) {
      scores.push_back(static_cast<float>(*value.as_float()));
    });
    header.find("tokenizer.ggml.tokens")
        ->as_array()
        ->for_each([&](uint64_t i, MetadataValue value) {
          tokens_[std::string(*value.as_string())] = {static_cast<TokenId>(i),
                                                      scores[static_cast<size_t>(i)]};
        });
  }

  Ids encode(const std::vector<std::string>& characters) const {
    std::vector<std::string> symbols = {"▁"};
    for (const std::string& c : characters) symbols.push_back(c == " " ? "▁" : c);
    for (size_t best = find_best(symbols); best != 0; best = find_best(symbols)) {
      symbols[best - 1] += symbols[best];
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best));
    }
    Ids ids;
    for (const std::string& symbol : symbols) {
      const auto token = tokens_.find(symbol);
      if (token != tokens_.end()) {
        ids.push_back(token->second.id);
      } else {
        for (const char c : symbol) ids.push_back(byte_id(static_cast<unsigned char>(c)));
      }
    }
    return ids;
  }

 private:
  struct Entry {
    TokenId id;
    float score;
  };

  // The right one of the two symbols to merge next; 0 if there are none.
  size_t find_best(const std::vector<std::string>& symbols) const {
    size_t best = 0;
    float best_score = 0;
    for (size_t i = 1; i < symbols.size(); ++i) {
      const auto token = tokens_.find(symbols[i - 1] + symbols[i]);
      if (token == tokens_.end()) continue;
      if (best == 0 || token->second.score > best_score) {
        best = i;
        best_score = token->second.score;
      }
    }
    return best;
  }

  std::unordered_map<std::string, Entry> tokens_;
};

TEST_F(EmbeddedVocabulary, MergesAsTheDefinitionDoes) {
  auto file = read_gguf_file(embedded_model_path());
  ASSERT_TRUE(file.ok());
  const SlowSpm slow(file.value().header());
  const std::array<std::string_view, 24> alphabet = {"t", "h", "e", " ", " ", "a", "n", "d",
                                                     "o", "w", "s", "i", "g", "r", "l", ".",
                                                     ",", "T", "O", "c", "é", "€", "😀", "\n"};
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> characters;
    std::string text;
    for (size_t n = 1 + random() % 60; n > 0; --n) {
      characters.emplace_back(alphabet[random() % alphabet.size()]);
      text += characters.back();
    }
    ASSERT_EQ(tokenizer_->encode(text, kPlain), slow.encode(characters)) << text;
  }
}

// A quadratic merge would take minutes for a megabyte; the limit leaves room for sanitizers.
TEST_F(EmbeddedVocabulary, TakesLongTextsOfAnythingInItsStride) {
  constexpr size_t kBytes = 1 << 20;
  std::mt19937 random(3);
  const std::array<std::string_view, 8> alphabet = {"a", "e", "t", " ", "h", "n", "d", "."};
  for (const std::string& text :
       {std::string(kBytes, 'a'), std::string(kBytes, ' '), std::string(kBytes, '<'),
        random_text(random, kBytes, alphabet), random_bytes(random, kBytes)}) {
    const auto start = std::chrono::steady_clock::now();
    const Ids ids = tokenizer_->encode(text, {.add_bos = true, .parse_special = true});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 10);
    EXPECT_EQ(decoded(*tokenizer_, ids), text);
  }
}

}  // namespace
}  // namespace kinglet
