#include "text/wordpiece_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

constexpr TokenId kUnknown = 1;
constexpr TokenId kBegin = 2;
constexpr TokenId kEnd = 3;

// Ids 0 to 4 are "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"; these are the ids from 5 on.
const std::vector<std::string> kSpellings = {
    "▁the", "▁un",  "▁play", "▁cafe", "▁a", "▁'", "▁s", "▁.",      "▁!", "▁中",   // 5 to 14
    "aff",  "able", "ing",   "ed",    "s",  "a",  "b",  "▁ᄀ",     "ᅡ", "ᆨ",    // 15 to 24
    "▁क",   "ि",    "▁i",    "▁Cafe", "▁é", "▁,", "▁?", "affable", "▁m", "▁it"};  // 25 to 34

GgufBuilder wordpiece_builder(const std::vector<std::string>& spellings = kSpellings) {
  std::vector<std::string> texts = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::vector<int32_t> types(texts.size(), static_cast<int32_t>(TokenType::control));
  texts.insert(texts.end(), spellings.begin(), spellings.end());
  types.resize(texts.size(), static_cast<int32_t>(TokenType::normal));
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "bert")
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.token_type", types)
      .set_uint32("tokenizer.ggml.unknown_token_id", 1)
      .set_uint32("tokenizer.ggml.bos_token_id", 2)
      .set_uint32("tokenizer.ggml.seperator_token_id", 3);
  return builder;
}

class WordPiece : public testing::Test {
 protected:
  const std::unique_ptr<Tokenizer> tokenizer_ = built(wordpiece_builder());
};

// The expected ids are llama.cpp's.
TEST_F(WordPiece, GivesTheReferenceIds) {
  using namespace std::string_literals;
  expect_ids(*tokenizer_, {{"", {}},
                           {" \t\n", {}},
                           {"unaffable", {6, 32}},  // the longest piece
                           {"unaffed playing", {6, 15, 18, 7, 17}},
                           {"the theb thec", {5, 5, 21, 1}},  // no piece for c: all is unknown
                           {"The CAFÉ cafe\u0301s", {5, 8, 8, 19}},
                           {"it's the.", {34, 10, 11, 5, 12}},
                           {"a中a中中", {9, 14, 9, 14, 14}},
                           {"a\u200b\0b\ufffd \xff\x61"s, {9, 21, 9}},
                           {"play\u3000play\u00a0play\u2028play", {7, 7, 7, 7}},
                           {"’ ☃ $", {1, 1, 1}},
                           {"play[MASK]play", {7, 1, 1, 1, 7}}});
}

TEST_F(WordPiece, AddsTheBeginningAndTheSeparator) {
  EXPECT_EQ(tokenizer_->encode("the", {.add_eos = true}), (Ids{kBegin, 5, kEnd}));
  EXPECT_EQ(tokenizer_->encode("", {.add_eos = true}), (Ids{kBegin, kEnd}));
  EXPECT_EQ(tokenizer_->encode("the"), (Ids{kBegin, 5}));
  EXPECT_EQ(tokenizer_->encode("play[MASK]play", {.parse_special = true, .add_eos = true}),
            (Ids{kBegin, 7, 4, 7, kEnd}));
}

TEST_F(WordPiece, AddsWhatTheFileAsksFor) {
  GgufBuilder builder = wordpiece_builder();
  builder.set_bool("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(built(builder)->encode("the", {.add_eos = true}), (Ids{5, kEnd}));
  builder.set_bool("tokenizer.ggml.add_sep_token", false);
  EXPECT_EQ(built(builder)->encode("the", {.add_eos = true}), Ids{5});
  builder.set_bool("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(built(builder)->encode("the", {.add_eos = true}), (Ids{5, kEnd}));
}

// As in Hugging Face's tokenizers. llama.cpp takes the first letter of a syllable for the whole
// syllable, and every mark for an accent.
TEST_F(WordPiece, DecomposesSyllablesAndKeepsVowelSigns) {
  expect_ids(*tokenizer_, {{"각 가", {22, 23, 24, 22, 23}}, {"कि", {25, 26}}});
}

// Also as in Hugging Face's tokenizers. In llama.cpp, these characters end words.
TEST_F(WordPiece, LeavesOutControlsThatAreWhiteSpace) {
  expect_ids(*tokenizer_, {{"a\vs\f\u0085s", {9, 19, 19}}});
}

TEST_F(WordPiece, LooksAtNoMoreThanAHundredCharacters) {
  expect_ids(*tokenizer_, {{"a" + std::string(100, 's'), {kUnknown}},
                           {"A " + std::string(101, 'a'), {9, kUnknown}}});
  Ids ids(100, 20);
  ids.front() = 9;
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "á";
  expect_ids(*tokenizer_, {{std::string(100, 'a'), ids}, {accents, ids}, {"\v" + accents, ids}});
}

TEST_F(WordPiece, PreparesTextAsTheFileAsks) {
  GgufBuilder cased = wordpiece_builder();
  cased.set_bool("tokenizer.ggml.normalizer.lowercase", false);
  expect_ids(*built(cased), {{"Cafe CAFE é É", {28, 1, 29, 1}}, {"각", {1}}});

  GgufBuilder accented = wordpiece_builder();
  accented.set_bool("tokenizer.ggml.normalizer.strip_accents", false);
  expect_ids(*built(accented), {{"Cafe CAFE é É", {8, 8, 29, 29}}, {"İ i", {1, 27}}});

  cased.set_bool("tokenizer.ggml.normalizer.strip_accents", true);
  expect_ids(*built(cased), {{"Cafe É Café", {28, 1, 28}}, {"á", {9}}});
}

TEST_F(WordPiece, TellsTheSpaceInATextFromTheSpellingOfOne) {
  expect_ids(*built(wordpiece_builder({"▁a", "▁▁", "▁b"})), {{"a▁b ▁ a", {1, 6, 5}}});
}

// The expected texts are llama.cpp's.
TEST_F(WordPiece, GivesBackTheReferenceText) {
  const Ids ids = {2, 7, 4, 9, 13, 9, 31, 33, 10, 33, 34, 10, 11, 3};
  EXPECT_EQ(decoded(*tokenizer_, ids), " play a! a? m'm it's");
  EXPECT_EQ(decoded(*tokenizer_, ids, true), "[CLS] play[MASK] a! a? m'm it's[SEP]");
  EXPECT_EQ(decoded(*tokenizer_, Ids{6, 15, 18, 1, 7, 17, 12}), " unaffed playing.");
  EXPECT_EQ(decoded(*tokenizer_, Ids{9, 10, 12}), " a '.");
  EXPECT_EQ(decoded(*tokenizer_, Ids{}), "");
}

TEST_F(WordPiece, StreamsPieces) {
  StreamDecoder decoder(*tokenizer_, true);
  std::string text;
  for (const TokenId id : {2, 6, 15, 18, 12, 22, 23}) text += decoder.next(id);
  EXPECT_EQ(text + decoder.finish(), " unaffed . ᄀ\u1161");
}

TEST_F(WordPiece, TakesTheIdsOfTheFirstBertWhereTheFileIsSilent) {
  std::vector<std::string> texts;
  for (int i = 0; i < 110; ++i) texts.push_back("▁w" + std::to_string(i));
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "bert").set_array("tokenizer.ggml.tokens", texts);
  EXPECT_EQ(built(builder)->encode("w7 x", {.add_eos = true}), (Ids{101, 7, 100, 102}));
  builder.set_uint32("tokenizer.ggml.cls_token_id", 5);
  EXPECT_EQ(built(builder)->encode("w7", {.add_eos = true}), (Ids{5, 7, 102}));

  texts.resize(9);
  GgufBuilder small;
  small.set("tokenizer.ggml.model", "bert").set_array("tokenizer.ggml.tokens", texts);
  const auto tokenizer = build_tokenizer(small);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.error().code, ErrorCode::missing_metadata);
  EXPECT_NE(tokenizer.error().message.find("unknown_token_id"), std::string::npos);
}

// Converters spell added words like the first piece of any other word.
TEST_F(WordPiece, FindsUserDefinedWords) {
  std::vector<std::string> texts = {"[UNK]", "▁a", "▁kinglet"};
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "bert")
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.token_type", std::vector<int32_t>{3, 1, 4})
      .set_uint32("tokenizer.ggml.unknown_token_id", 0);
  expect_ids(*built(builder), {{"a kinglet", {1, 2}}});
}

TEST_F(WordPiece, KnowsNoWordWithoutFirstPieces) {
  expect_ids(*built(wordpiece_builder({"a", "b"})), {{"ab a", {1, 1}}});
}

TEST_F(WordPiece, TakesTimeThatGrowsWithTheText) {
  for (const std::string_view unit : {"a", "á", "각", "unaffable ", "\xff", "中", " ", "\u0301"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    EXPECT_LE(tokenizer_->encode(text).size(), text.size() + 1);
  }
}

}  // namespace
}  // namespace kinglet
