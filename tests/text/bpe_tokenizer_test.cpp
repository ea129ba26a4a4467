#include "text/bpe_tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <unordered_map>

#include "text/spelled_space.h"
#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

TEST(BpeTokenizer, MergesInTheOrderOfTheList) {
  EXPECT_EQ(pieces(*built(bpe_builder({{"a", "b"}, {"b", "c"}})), "abc"), "ab|c");
  EXPECT_EQ(pieces(*built(bpe_builder({{"b", "c"}, {"a", "b"}})), "abc"), "a|bc");
  EXPECT_EQ(pieces(*built(bpe_builder({{"b", "c"}, {"a", "bc"}})), "abc"), "abc");
}

TEST(BpeTokenizer, OfEqualMergesTheLeftmostIsDoneFirst) {
  EXPECT_EQ(pieces(*built(bpe_builder({{"a", "a"}})), "aaaaa"), "aa|aa|a");
}

TEST(BpeTokenizer, ATokenThatNoMergeMakesIsNotFound) {
  const auto tokenizer = built(bpe_builder({{"a", "b"}}, {{"abc"}, {"xyz"}}));
  EXPECT_EQ(pieces(*tokenizer, "abcxyz"), "ab|c|x|y|z");
}

TEST(BpeTokenizer, UnlessItsPretokenizerPrefersWholeWords) {
  const auto tokenizer = built(bpe_builder({{"a", "b"}}, {{"abc"}, {"xyz"}}, "llama-bpe"));
  EXPECT_EQ(pieces(*tokenizer, "abc!xyz"), "abc|!|x|y|z") << "the word is \"!xyz\"";
}

TEST(BpeTokenizer, NoTokenCrossesAWordsEnd) {
  const auto tokenizer = built(bpe_builder({{"a", " "}, {" ", "b"}}));
  EXPECT_EQ(pieces(*tokenizer, "a b"), "a| b");
}

TEST(BpeTokenizer, EveryByteHasAnId) {
  const auto tokenizer = built(bpe_builder({}));
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(tokenizer->encode(text, kPlain), Ids{byte});
    EXPECT_EQ(tokenizer->piece(byte), text);
  }
}

TEST(BpeTokenizer, ABytesWithoutATokenIsLeftOut) {
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "gpt2")
      .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "Ġ"})
      .set_array("tokenizer.ggml.merges", std::vector<std::string>{});
  EXPECT_EQ(built(builder)->encode("a a!é"), (Ids{0, 1, 0}));
}

TEST(BpeTokenizer, PutsNoSpaceInFrontWhateverTheFileSays) {
  const auto tokenizer =
      built(bpe_builder({{" ", "a"}}).set_bool("tokenizer.ggml.add_space_prefix", true));
  EXPECT_EQ(pieces(*tokenizer, "a a"), "a| a");
  EXPECT_EQ(decoded(*tokenizer, tokenizer->encode(" a")), " a");
}

TEST(BpeTokenizer, AddsBosWhereTheFileOrElseThePretokenizerSaysSo) {
  const std::vector<TestToken> extra = {{"<bos>", 0, TokenType::control}};
  const auto with = [&](std::string_view pre) {
    return bpe_builder({}, extra, pre).set_uint32("tokenizer.ggml.bos_token_id", kFirstMerge);
  };
  EXPECT_EQ(built(with("gpt-2"))->encode("a"), Ids{'a'});
  EXPECT_EQ(built(with("llama-bpe"))->encode("a"), (Ids{kFirstMerge, 'a'}));
  EXPECT_EQ(built(with("gpt-2").set_bool("tokenizer.ggml.add_bos_token", true))->encode("a"),
            (Ids{kFirstMerge, 'a'}));
  EXPECT_EQ(built(with("llama-bpe").set_bool("tokenizer.ggml.add_bos_token", false))->encode("a"),
            Ids{'a'});
}

TEST(BpeTokenizer, ControlTokensAreParsedOnRequestAndUserDefinedOnesAlways) {
  const auto tokenizer = built(bpe_builder(
      {}, {{"<|im_start|>", 0, TokenType::control}, {"   ", 0, TokenType::user_defined}}));
  EXPECT_EQ(tokenizer->encode("a   <|im_start|>", {.add_bos = false, .parse_special = true}),
            (Ids{'a', kFirstMerge + 1, kFirstMerge}));
  const Ids plain = tokenizer->encode("<|im_start|>", kPlain);
  EXPECT_EQ(plain.size(), 12u);
  EXPECT_EQ(decoded(*tokenizer, plain), "<|im_start|>");
  EXPECT_EQ(tokenizer->encode("   b", kPlain), (Ids{kFirstMerge + 1, 'b'}));
}

TEST(BpeTokenizer, GivesBackEveryText) {
  const Merges merges = {{"e", " "}, {"t", "h"},   {"th", "e"},      {" ", "the"}, {"\xc3", "\xa9"},
                         {" ", " "}, {"\n", "\n"}, {"\xf0", "\x9f"}, {"1", "4"}};
  std::mt19937 random(5);
  for (const char* pre : {"default", "gpt-2", "llama-bpe", "qwen2", "gpt-4o", "deepseek-llm"}) {
    const auto tokenizer = built(bpe_builder(merges, {}, pre));
    const auto expect_round_trip = [&](const std::string& text) {
      EXPECT_EQ(decoded(*tokenizer, tokenizer->encode(text)), text) << pre;
    };
    for (const std::string& text : awkward_texts()) expect_round_trip(text);
    for (const std::string& text : ill_formed_texts()) expect_round_trip(text);
    for (int i = 0; i < 100; ++i) expect_round_trip(random_bytes(random, random() % 60));
  }
}

// The simplest definition of merging: of all lines of the list that match anywhere, the first is
// applied at its leftmost place, again and again.
std::vector<std::string> merge_slowly(const Merges& merges, std::string_view word) {
  std::vector<std::string> symbols;
  for (const char c : word) symbols.emplace_back(1, c);
  for (bool found = true; found;) {
    found = false;
    for (size_t m = 0; m < merges.size() && !found; ++m) {
      for (size_t i = 1; i < symbols.size() && !found; ++i) {
        if (symbols[i - 1] != merges[m].first || symbols[i] != merges[m].second) continue;
        symbols[i - 1] += symbols[i];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i));
        found = true;
      }
    }
  }
  return symbols;
}

TEST(BpeTokenizer, MergesAsTheDefinitionDoes) {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> known = {"a", "b", "c"};
    Merges merges;
    while (merges.size() < 12) {
      const std::string& left = known[random() % known.size()];
      const std::string& right = known[random() % known.size()];
      const std::pair<std::string, std::string> merge = {left, right};
      if (std::find(known.begin(), known.end(), left + right) != known.end()) continue;
      merges.push_back(merge);
      known.push_back(merge.first + merge.second);
    }
    const auto tokenizer = built(bpe_builder(merges));
    for (int i = 0; i < 20; ++i) {
      const std::array<std::string_view, 3> alphabet = {"a", "b", "c"};
      const std::string word = random_text(random, 1 + random() % 30, alphabet);
      std::string expected;
      for (const std::string& symbol : merge_slowly(merges, word)) {
        expected += cat(expected.empty() ? "" : "|", symbol);
      }
      ASSERT_EQ(pieces(*tokenizer, word), expected) << word;
    }
  }
}

TEST(BpeTokenizer, NamesAPretokenizerThatItDoesNotKnow) {
  expect_error(bpe_builder({}, {}, "klingon"), ErrorCode::unsupported_tokenizer,
               "tokenizer.ggml.pre is \"klingon\", a pre-tokenizer that is not implemented");
}

TEST(BpeTokenizer, NamesMissingAndDamagedMerges) {
  GgufBuilder without;
  without.set("tokenizer.ggml.model", "gpt2")
      .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  expect_error(without, ErrorCode::missing_metadata, "tokenizer.ggml.merges");

  for (const char* line : {"", " ", "ab", "a ", " b"}) {
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", "gpt2")
        .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"})
        .set_array("tokenizer.ggml.merges", std::vector<std::string>{"a b", line});
    expect_error(builder, ErrorCode::corrupt, "expected two tokens separated by a space");
  }
}

TEST(BpeTokenizer, LeavesOutMergesOfWhatIsNoToken) {
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "gpt2")
      .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "c"})
      .set_array("tokenizer.ggml.merges", std::vector<std::string>{"b c", "x y", "a b", "ab c"});
  EXPECT_EQ(pieces(*built(builder), "abc"), "ab|c");
}

// --- Of characters ------------------------------------------------------------------------------

// A SentencePiece-style vocabulary: the base tokens, single characters, and the results of the
// merges, with spaces as the file spells them; then `extra`.
GgufBuilder character_builder(const Merges& merges, const std::vector<TestToken>& extra = {}) {
  std::vector<TestToken> tokens = spm_base_tokens();
  for (const char* letter : {"▁", "\n", "a", "b", "c", "d", "é", "中"}) tokens.push_back({letter});
  std::vector<std::string> lines;
  for (const auto& [left, right] : merges) {
    tokens.push_back({left + right});
    lines.push_back(cat(left, " ", right));
  }
  tokens.insert(tokens.end(), extra.begin(), extra.end());
  GgufBuilder builder = spm_builder(tokens, "gemma4");
  builder
      .set("tokenizer.ggml.pre", "qwen2")  // means nothing
      .set_uint32("tokenizer.ggml.bos_token_id", 1)
      .set_array("tokenizer.ggml.merges", lines);
  return builder;
}

TEST(CharacterBpe, SpacesAreSymbolsAndMergesCrossWords) {
  const auto tokenizer =
      built(character_builder({{"▁", "a"}, {"b", "▁a"}, {"▁", "▁"}, {"中", "é"}}));
  EXPECT_EQ(pieces(*tokenizer, "b a c中é"), "b a| |c|中é");
  EXPECT_EQ(pieces(*tokenizer, "a   a"), "a|  | a");
  EXPECT_EQ(tokenizer->encode("▁a", kPlain), tokenizer->encode(" a", kPlain));
  EXPECT_EQ(decoded(*tokenizer, tokenizer->encode(" b a ")), " b a ");
}

TEST(CharacterBpe, OnlyNewlinesEndAWordAndARunOfThemMayBeAToken) {
  const auto tokenizer = built(
      character_builder({{"a", "b"}, {"\n", "\n"}, {"\n", "a"}}, {{"\n\n\n"}, {"ba"}, {"\n\nb"}}));
  EXPECT_EQ(pieces(*tokenizer, "ab\na"), "ab|\n|a");
  EXPECT_EQ(pieces(*tokenizer, "\n\n\nb"), "\n\n\n|b");  // no merge makes it
  EXPECT_EQ(pieces(*tokenizer, "\n\n\n\n\nba"), "\n\n|\n\n|\n|b|a");
}

TEST(CharacterBpe, WhatIsNoTokenBecomesItsBytes) {
  const auto tokenizer = built(character_builder({{"a", "b"}}));
  EXPECT_EQ(tokenizer->encode("ü\xff", kPlain), (Ids{byte_id(0xc3), byte_id(0xbc), byte_id(0xff)}));
  std::mt19937 random(8);
  const auto expect_round_trip = [&](const std::string& text) {
    std::string spaced;
    append_unescaped(text, spaced);
    EXPECT_EQ(decoded(*tokenizer, tokenizer->encode(text)), spaced);
  };
  for (const std::string& text : awkward_texts()) expect_round_trip(text);
  for (const std::string& text : ill_formed_texts()) expect_round_trip(text);
  for (int i = 0; i < 100; ++i) expect_round_trip(random_bytes(random, random() % 60));
}

TEST(CharacterBpe, StreamsCharactersWhole) {
  const auto tokenizer = built(character_builder({}));
  StreamDecoder decoder(*tokenizer, true);
  std::string text;
  for (const TokenId id : tokenizer->encode(" aü🚀", kPlain)) {
    const std::string next = decoder.next(id);
    EXPECT_TRUE(next.empty() || next == " " || next == "a" || next == "ü" || next == "🚀") << next;
    text += next;
  }
  EXPECT_EQ(text, " aü🚀");
}

TEST(CharacterBpe, BeginsWithBosWhateverTheFileSays) {
  GgufBuilder builder = character_builder({});
  builder.set_bool("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(built(builder)->encode("a").front(), 1);
}

TEST(CharacterBpe, KnowsTheEndsOfATurn) {
  const auto tokenizer =
      built(character_builder({}, {{"<turn|>"}, {"<|tool_response>"}, {"<|turn>"}, {"<eos>"}}));
  const auto ends = [&](std::string_view text) {
    const Ids ids = tokenizer->encode(text, {.add_bos = false, .parse_special = true});
    return ids.size() == 1 && tokenizer->is_end_of_generation(ids[0]);
  };
  EXPECT_TRUE(ends("<turn|>") && ends("<|tool_response>") && ends("<eos>"));
  EXPECT_FALSE(ends("<|turn>") || ends("</s>"));  // the latter is a tag of HTML
}

// The ids that llama.cpp returns for texts with the fixture's vocabulary.
TEST(BpeTokenizer, AgreesWithLlamaCppOnMarksAndJoiners) {
  const auto tokenizer = load_tokenizer(fixture_path("arch/k2-horizon-tokens.gguf"));
  ASSERT_NE(tokenizer, nullptr);
  expect_ids(
      *tokenizer,
      {{"I'll say 12345 DON'T  ok?", {73, 257, 260, 32, 262, 263, 266, 267, 32, 269, 63}},
       {"e\u0301te\u0301 na\u0308ive", {272, 271, 282}},
       {"\u0915\u094d\u0937 \u0939\u093f", {294, 290, 183, 32, 290, 185, 309}},
       {"a\u200cb \u200d\u0301x", {313, 316, 283, 120}},
       {"x\n\n  y \r\n!\n", {120, 323, 32, 324, 326, 327}},
       {"\u0301 \u0301a -\u0301b", {283, 32, 283, 97, 331, 283, 98}},
       {"(a) 1\u03012 \u20ac\u0301\u0301", {334, 41, 32, 49, 283, 50, 336, 283, 283}},
       {"\u0130I'\u017f x'LL 1\u0966\u00bd3", {342, 344, 345, 347, 32, 49, 304, 166, 194, 189, 51}},
       {"  \u3000 b\t\t", {356, 357, 358}},
       {"\U0001f600\u200d\U0001f600 \u00ad\u00a0z\u00a0", {361, 320, 141, 361, 366, 368, 367}},
       {"we'Re_ok...\n\n\n\n end   ", {373, 375, 377, 379, 323, 323, 386, 387}},
       {"a zebra x", {97, 392, 345}}});
  EXPECT_EQ(tokenizer->encode("a zebra x"), (Ids{97, 392, 345})) << "no token is added";
}

// The ids that llama.cpp returns for texts with the fixture's vocabulary.
TEST(CharacterBpe, AgreesWithLlamaCpp) {
  const auto tokenizer = load_tokenizer(fixture_path("arch/gemma4.gguf"));
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->encode("the thing  in ther"),
            (Ids{2, 290, 260, 288, 292, 296, 291, 260, 290, 279}));
  EXPECT_EQ(tokenizer->encode("é the\n\nthing\n in", kPlain),
            (Ids{199, 173, 260, 290, 294, 288, 292, 261, 260, 291}));
  EXPECT_EQ(tokenizer->encode(" therein  "), (Ids{2, 260, 290, 279, 266, 291, 296}));
}

// --- Speed --------------------------------------------------------------------------------------

// A quadratic merge would take minutes for a megabyte; the limit leaves room for sanitizers.
void expect_takes_a_megabyte(const Tokenizer& tokenizer) {
  constexpr size_t kBytes = 1 << 20;
  std::mt19937 random(3);
  const std::array<std::string_view, 5> alphabet = {"a", "!", " ", "aa", "7"};
  for (const std::string& text :
       {std::string(kBytes, 'a'), std::string(kBytes, ' '), std::string(kBytes, '!'),
        std::string(kBytes, '\n'), random_text(random, kBytes, alphabet),
        random_bytes(random, kBytes)}) {
    const auto start = std::chrono::steady_clock::now();
    const Ids ids = tokenizer.encode(text, {.add_bos = true, .parse_special = true});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 10);
    EXPECT_EQ(decoded(tokenizer, ids), text);
  }
}

TEST(BpeTokenizer, TakesLongTextsOfAnythingInItsStride) {
  Merges merges;
  for (const char* c : {"a", " ", "!"}) {
    for (std::string run = c; run.size() < 128; run += run) merges.push_back({run, run});
  }
  expect_takes_a_megabyte(*built(bpe_builder(merges)));
}

TEST(CharacterBpe, TakesLongTextsOfAnythingInItsStride) {
  Merges merges = {{"▁", "▁"}, {"\n", "\n"}};
  for (std::string run = "a"; run.size() < 128; run += run) merges.push_back({run, run});
  expect_takes_a_megabyte(*built(character_builder(merges, {{"!"}, {"7"}})));
}

}  // namespace
}  // namespace kinglet
