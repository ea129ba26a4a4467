#include "text/bpe_tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <unordered_map>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

constexpr EncodeOptions kPlain = {.add_bos = false};

using Merges = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<Tokenizer> build(const GgufBuilder& builder) {
  auto tokenizer = build_tokenizer(builder);
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.error().message;
    return nullptr;
  }
  return std::move(tokenizer.value());
}

std::string pieces(const Tokenizer& tokenizer, std::string_view text,
                   EncodeOptions options = kPlain) {
  std::string out;
  for (const TokenId id : tokenizer.encode(text, options)) {
    out += cat(out.empty() ? "" : "|", tokenizer.piece(id, true));
  }
  return out;
}

void expect_error(const GgufBuilder& builder, ErrorCode code, std::string_view message) {
  const auto tokenizer = build_tokenizer(builder);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.error().code, code) << tokenizer.error().message;
  EXPECT_NE(tokenizer.error().message.find(message), std::string::npos)
      << tokenizer.error().message;
}

TEST(BpeTokenizer, MergesInTheOrderOfTheList) {
  EXPECT_EQ(pieces(*build(bpe_builder({{"a", "b"}, {"b", "c"}})), "abc"), "ab|c");
  EXPECT_EQ(pieces(*build(bpe_builder({{"b", "c"}, {"a", "b"}})), "abc"), "a|bc");
  EXPECT_EQ(pieces(*build(bpe_builder({{"b", "c"}, {"a", "bc"}})), "abc"), "abc");
}

TEST(BpeTokenizer, OfEqualMergesTheLeftmostIsDoneFirst) {
  EXPECT_EQ(pieces(*build(bpe_builder({{"a", "a"}})), "aaaaa"), "aa|aa|a");
}

TEST(BpeTokenizer, ATokenThatNoMergeMakesIsNotFound) {
  const auto tokenizer = build(bpe_builder({{"a", "b"}}, {{"abc"}, {"xyz"}}));
  EXPECT_EQ(pieces(*tokenizer, "abcxyz"), "ab|c|x|y|z");
}

TEST(BpeTokenizer, UnlessItsPretokenizerPrefersWholeWords) {
  const auto tokenizer = build(bpe_builder({{"a", "b"}}, {{"abc"}, {"xyz"}}, "llama-bpe"));
  EXPECT_EQ(pieces(*tokenizer, "abc!xyz"), "abc|!|x|y|z") << "the word is \"!xyz\"";
}

TEST(BpeTokenizer, NoTokenCrossesAWordsEnd) {
  const auto tokenizer = build(bpe_builder({{"a", " "}, {" ", "b"}}));
  EXPECT_EQ(pieces(*tokenizer, "a b"), "a| b");
}

TEST(BpeTokenizer, EveryByteHasAnId) {
  const auto tokenizer = build(bpe_builder({}));
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
  EXPECT_EQ(build(builder)->encode("a a!é"), (Ids{0, 1, 0}));
}

TEST(BpeTokenizer, PutsNoSpaceInFrontWhateverTheFileSays) {
  const auto tokenizer =
      build(bpe_builder({{" ", "a"}}).set_bool("tokenizer.ggml.add_space_prefix", true));
  EXPECT_EQ(pieces(*tokenizer, "a a"), "a| a");
  EXPECT_EQ(decoded(*tokenizer, tokenizer->encode(" a")), " a");
}

TEST(BpeTokenizer, AddsBosWhereTheFileOrElseThePretokenizerSaysSo) {
  const std::vector<TestToken> extra = {{"<bos>", 0, TokenType::control}};
  const auto with = [&](std::string_view pre) {
    return bpe_builder({}, extra, pre).set_uint32("tokenizer.ggml.bos_token_id", kFirstMerge);
  };
  EXPECT_EQ(build(with("gpt-2"))->encode("a"), Ids{'a'});
  EXPECT_EQ(build(with("llama-bpe"))->encode("a"), (Ids{kFirstMerge, 'a'}));
  EXPECT_EQ(build(with("gpt-2").set_bool("tokenizer.ggml.add_bos_token", true))->encode("a"),
            (Ids{kFirstMerge, 'a'}));
  EXPECT_EQ(build(with("llama-bpe").set_bool("tokenizer.ggml.add_bos_token", false))->encode("a"),
            Ids{'a'});
}

TEST(BpeTokenizer, ControlTokensAreParsedOnRequestAndUserDefinedOnesAlways) {
  const auto tokenizer = build(bpe_builder(
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
    const auto tokenizer = build(bpe_builder(merges, {}, pre));
    const auto expect_round_trip = [&](const std::string& text) {
      EXPECT_EQ(decoded(*tokenizer, tokenizer->encode(text)), text) << pre;
    };
    for (const std::string& text : awkward_texts()) expect_round_trip(text);
    for (const std::string& text : ill_formed_texts()) expect_round_trip(text);
    for (int i = 0; i < 100; ++i) expect_round_trip(random_bytes(random, random() % 60));
  }
}

// The definition of the merge, as plainly as it can be put: the first line of the list that
// matches anywhere is done at its leftmost place, over and over.
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
    const auto tokenizer = build(bpe_builder(merges));
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
    expect_error(builder, ErrorCode::corrupt, "expected two tokens with a space between");
  }
}

TEST(BpeTokenizer, LeavesOutMergesOfWhatIsNoToken) {
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "gpt2")
      .set_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "c"})
      .set_array("tokenizer.ggml.merges", std::vector<std::string>{"b c", "x y", "a b", "ab c"});
  EXPECT_EQ(pieces(*build(builder), "abc"), "ab|c");
}

// A quadratic merge would take minutes for a megabyte; the limit leaves room for sanitizers.
TEST(BpeTokenizer, TakesAMegabyteOfAnythingInItsStride) {
  constexpr size_t kBytes = 1 << 20;
  Merges merges;
  for (const char* c : {"a", " ", "!"}) {
    for (std::string run = c; run.size() < 128; run += run) merges.push_back({run, run});
  }
  const auto tokenizer = build(bpe_builder(merges));
  std::mt19937 random(3);
  const std::array<std::string_view, 5> alphabet = {"a", "!", " ", "aa", "7"};
  for (const std::string& text :
       {std::string(kBytes, 'a'), std::string(kBytes, ' '), std::string(kBytes, '!'),
        random_text(random, kBytes, alphabet), random_bytes(random, kBytes)}) {
    const auto start = std::chrono::steady_clock::now();
    const Ids ids = tokenizer->encode(text, {.add_bos = true, .parse_special = true});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 10);
    EXPECT_EQ(decoded(*tokenizer, ids), text);
  }
}

}  // namespace
}  // namespace kinglet
