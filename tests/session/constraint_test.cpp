#include "session/constraint.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "grammar/grammar_support.h"
#include "session/sampler.h"
#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

using namespace std::string_literals;

constexpr TokenId kEos = 2;

// The allowed tokens, found one by one and all at once.
std::vector<TokenId> allowed(Constraint& constraint, const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < tokenizer.n_tokens(); ++id) {
    if (constraint.allows(id)) ids.push_back(id);
  }
  EXPECT_EQ(ids_of(constraint.allowed()), ids);
  return ids;
}

TEST(Constraint, AllowsTokensThatFit) {
  const auto tokenizer = spm_tokenizer({{"ab"}, {"abc"}, {"b"}, {"bc"}, {"ba"}});
  ASSERT_NE(tokenizer, nullptr);
  Constraint constraint(grammar_of("root ::= \"a\" \"b\"+ \"c\""), *tokenizer, false);
  EXPECT_EQ(allowed(constraint, *tokenizer), (Ids{byte_id('a'), kFirstExtra, kFirstExtra + 1}));
  constraint.accept(byte_id('a'));
  EXPECT_EQ(allowed(constraint, *tokenizer), (Ids{byte_id('b'), kFirstExtra + 2, kFirstExtra + 3}));
  constraint.accept(kFirstExtra + 2);
  EXPECT_EQ(allowed(constraint, *tokenizer),
            (Ids{byte_id('b'), byte_id('c'), kFirstExtra + 2, kFirstExtra + 3}));
  EXPECT_FALSE(constraint.is_finished());
  constraint.accept(kFirstExtra + 3);
  EXPECT_TRUE(constraint.is_finished());
  EXPECT_EQ(allowed(constraint, *tokenizer), Ids{kEos});
}

TEST(Constraint, AllowsTokensThatTheGrammarNames) {
  const auto tokenizer = spm_tokenizer(
      {{"<call>", 0, TokenType::control}, {"<b>", 0, TokenType::user_defined}, {"b"}});
  ASSERT_NE(tokenizer, nullptr);
  const TokenId call = kFirstExtra;
  for (const bool at_start : {false, true}) {
    Constraint constraint(grammar_of("root ::= <[259]> (\"b\" <[260]> | <[2]> | <[99999]>)+"),
                          *tokenizer, at_start);
    EXPECT_EQ(allowed(constraint, *tokenizer), Ids{call});
    constraint.accept(call);
    EXPECT_EQ(allowed(constraint, *tokenizer), (Ids{byte_id('b'), kFirstExtra + 2}));
    constraint.accept(kFirstExtra + 2);
    EXPECT_EQ(allowed(constraint, *tokenizer), Ids{kFirstExtra + 1});
    constraint.accept(kFirstExtra + 1);
    EXPECT_EQ(allowed(constraint, *tokenizer), (Ids{kEos, byte_id('b'), kFirstExtra + 2}));
  }
}

TEST(Constraint, AllowsTheEndExactlyWhereTheTextIsComplete) {
  const auto tokenizer = spm_tokenizer({});
  ASSERT_NE(tokenizer, nullptr);
  Constraint constraint(grammar_of("root ::= \"a\"{2,3}"), *tokenizer, false);
  const std::array expected = {Ids{byte_id('a')}, Ids{byte_id('a')}, Ids{kEos, byte_id('a')},
                               Ids{kEos}};
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(allowed(constraint, *tokenizer), expected[n]) << n;
    EXPECT_EQ(constraint.is_finished(), n == 3);
    if (n < 3) constraint.accept(byte_id('a'));
  }
}

TEST(Constraint, FollowsCharactersThatTokensCut) {
  const auto tokenizer = spm_tokenizer({{"é"}, {"aé"}});
  ASSERT_NE(tokenizer, nullptr);
  // U+00E9 is C3 A9, U+00EA is C3 AA.
  Constraint constraint(grammar_of("root ::= [éê] \"é\""), *tokenizer, false);
  EXPECT_EQ(allowed(constraint, *tokenizer), (Ids{byte_id(0xc3), kFirstExtra}));
  constraint.accept(byte_id(0xc3));
  EXPECT_EQ(allowed(constraint, *tokenizer), (Ids{byte_id(0xa9), byte_id(0xaa)}));
  constraint.accept(byte_id(0xaa));
  EXPECT_EQ(allowed(constraint, *tokenizer), (Ids{byte_id(0xc3), kFirstExtra}));
  constraint.accept(byte_id(0xc3));
  EXPECT_FALSE(constraint.allows(kEos));
  EXPECT_EQ(allowed(constraint, *tokenizer), Ids{byte_id(0xa9)});
  constraint.accept(byte_id(0xa9));
  EXPECT_TRUE(constraint.is_finished());
}

TEST(Constraint, AllowsNulBytes) {
  const auto tokenizer = spm_tokenizer({{"\0\0"s}, {"a"}});
  ASSERT_NE(tokenizer, nullptr);
  Constraint constraint(grammar_of("root ::= \"\\x00\\x00\" \"a\"*"), *tokenizer, false);
  EXPECT_EQ(allowed(constraint, *tokenizer), (Ids{byte_id(0), kFirstExtra}));
  constraint.accept(byte_id(0));
  EXPECT_EQ(allowed(constraint, *tokenizer), Ids{byte_id(0)});
}

TEST(Constraint, RefusesTokensWithoutText) {
  const auto tokenizer = spm_tokenizer({{"<mark>", 0, TokenType::control},
                                        {"unused", 0, TokenType::unused},
                                        {"<think>", 0, TokenType::user_defined}});
  ASSERT_NE(tokenizer, nullptr);
  Constraint constraint(grammar_of("root ::= .*"), *tokenizer, false);
  EXPECT_FALSE(constraint.allows(0));  // <unk>
  EXPECT_FALSE(constraint.allows(1));  // <s>
  EXPECT_FALSE(constraint.allows(kFirstExtra));
  EXPECT_FALSE(constraint.allows(kFirstExtra + 1));
  EXPECT_TRUE(constraint.allows(kFirstExtra + 2));
  EXPECT_FALSE(constraint.allows(tokenizer->n_tokens()));  // a row of the output without a token
}

// A text does not contain the space with which SentencePiece's tokens begin after a mark.
TEST(Constraint, MatchesTheTextAsItComesOut) {
  const auto tokenizer = spm_tokenizer({{"▁a"}, {"▁▁a"}, {"a"}, {"▁"}});
  ASSERT_NE(tokenizer, nullptr);
  const auto grammar = grammar_of("root ::= \" \"? \"a\" \"a\"");
  Constraint behind_mark(grammar, *tokenizer, true);
  EXPECT_EQ(allowed(behind_mark, *tokenizer),
            (Ids{byte_id('a'), kFirstExtra, kFirstExtra + 1, kFirstExtra + 2}));
  behind_mark.accept(kFirstExtra);
  EXPECT_EQ(allowed(behind_mark, *tokenizer), (Ids{byte_id('a'), kFirstExtra + 2}));
  Constraint behind_text(grammar, *tokenizer, false);
  EXPECT_EQ(allowed(behind_text, *tokenizer),
            (Ids{byte_id(' '), byte_id('a'), kFirstExtra, kFirstExtra + 2, kFirstExtra + 3}));
}

TEST(Constraint, SaysWhyNoTokenFits) {
  const auto tokenizer = build_tokenizer(spm_builder({{"<unk>", 0, TokenType::unknown}, {"a"}})
                                             .set_uint32("tokenizer.ggml.unknown_token_id", 0));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  Constraint constraint(grammar_of("root ::= \"ab\""), *tokenizer.value(), false);
  ASSERT_TRUE(constraint.allows(1));
  constraint.accept(1);
  std::vector<float> logits = {1.0f, 2.0f};
  for (const float temperature : {0.0f, 1.0f}) {
    Sampler sampler({.temperature = temperature}, 2, scalar_kernels());
    EXPECT_EQ(sampler.sample(logits, &constraint), kNoToken);
  }
  EXPECT_EQ(constraint.dead_end().code, ErrorCode::grammar_dead_end);
}

// Sampling under a constraint, which allows many tokens or few, is the same as sampling from the
// tokens that it allows.
class ConstrainedSampling : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, ConstrainedSampling,
                         testing::Values("root ::= [a-z0-9] .*", "root ::= [b-i] .*"));

TEST_P(ConstrainedSampling, MasksBeforeEverythingElse) {
  const auto tokenizer = spm_tokenizer({});
  ASSERT_NE(tokenizer, nullptr);
  const auto n_tokens = static_cast<uint32_t>(tokenizer->n_tokens());
  Constraint constraint(grammar_of(GetParam()), *tokenizer, false);
  std::mt19937 random(1);
  for (const SamplerOptions& options :
       {SamplerOptions{.temperature = 0.0f}, SamplerOptions{.temperature = 1.5f, .seed = 3},
        SamplerOptions{.temperature = 3.0f, .top_k = 0, .top_p = 1.0f, .min_p = 0.0f, .seed = 4},
        SamplerOptions{.temperature = 0.7f, .top_k = 5, .top_p = 0.9f, .seed = 5},
        SamplerOptions{.temperature = 0.9f, .top_k = 20, .typical_p = 0.8f, .seed = 6},
        SamplerOptions{.top_k = 0, .xtc_probability = 0.5f, .xtc_threshold = 0.01f, .seed = 7}}) {
    Sampler constrained(options, n_tokens, scalar_kernels());
    Sampler masked(options, n_tokens, scalar_kernels());
    for (int i = 0; i < 200; ++i) {
      std::vector<float> logits;
      for (uint32_t id = 0; id < n_tokens; ++id) {
        logits.push_back(static_cast<float>(random() % 1000) / 100.0f);
      }
      std::vector<float> mask = logits;
      for (TokenId id = 0; id < tokenizer->n_tokens(); ++id) {
        if (!constraint.allows(id)) mask[static_cast<size_t>(id)] = -1e30f;
      }
      EXPECT_EQ(constrained.sample(logits, &constraint), masked.sample(mask));
    }
  }
}

// A reader of JSON that is independent of grammars.
class JsonReader {
 public:
  static bool reads(std::string_view text) {
    JsonReader reader(text);
    return reader.value() && reader.rest_.empty();
  }

 private:
  explicit JsonReader(std::string_view text) : rest_(text) {}

  void space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool take(std::string_view wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  size_t digits() {
    const size_t n = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(n);
    return n;
  }

  bool value() {
    space();
    const bool is_value = take("{")    ? members("}", true)
                          : take("[")  ? members("]", false)
                          : take("\"") ? string()
                                       : take("true") || take("false") || take("null") || number();
    space();
    return is_value;
  }

  bool members(std::string_view end, bool named) {
    space();
    if (take(end)) return true;
    do {
      space();
      if (named && !(take("\"") && string())) return false;
      space();
      if (named && !take(":")) return false;
      if (!value()) return false;
    } while (take(","));
    return take(end);
  }

  bool string() {
    while (!take("\"")) {
      if (rest_.empty()) return false;
      if (take("\\")) {
        if (take("u")) {
          if (rest_.substr(0, 4).find_first_not_of("0123456789abcdefABCDEF") != rest_.npos ||
              rest_.size() < 4) {
            return false;
          }
          rest_.remove_prefix(4);
          continue;
        }
        if (rest_.empty() || "\"\\/bfnrt"s.find(rest_[0]) == std::string::npos) return false;
        rest_.remove_prefix(1);
        continue;
      }
      const Utf8Char c = decode_utf8(rest_);
      if (c.state != Utf8State::well_formed || c.code_point < 0x20) return false;
      rest_.remove_prefix(c.n_bytes);
    }
    return true;
  }

  bool number() {
    take("-");
    const bool zero = rest_.starts_with("0");
    const size_t n = digits();
    if (n == 0 || (zero && n > 1)) return false;
    if (take(".") && digits() == 0) return false;
    if (take("e") || take("E")) {
      if (!take("-")) take("+");
      if (digits() == 0) return false;
    }
    return true;
  }

  std::string_view rest_;
};

TEST(JsonReader, KnowsJson) {
  for (const char* good : {"{}", "[ 1, -0.5e3 ,\"a\\u00e9\" ]", " {\"a\": [null]}"}) {
    EXPECT_TRUE(JsonReader::reads(good)) << good;
  }
  for (const char* bad : {"", "{", "[1,]", "01", "\"\\x\"", "{\"a\"}", "nul", "1 2", "\"\t\""}) {
    EXPECT_FALSE(JsonReader::reads(bad)) << bad;
  }
}

// Draws tokens until the text is complete; nullopt if it takes more than `n_most` tokens.
std::optional<std::string> random_answer(const Tokenizer& tokenizer,
                                         const std::shared_ptr<const Grammar>& grammar,
                                         std::mt19937& random, float eagerness_to_end, int n_most) {
  Constraint constraint(grammar, tokenizer, false);
  const auto n_tokens = static_cast<size_t>(tokenizer.n_tokens());
  Sampler sampler({.temperature = 1.0f, .top_k = 40, .seed = random()},
                  static_cast<uint32_t>(n_tokens), scalar_kernels());
  std::vector<float> logits(n_tokens);
  std::string text;
  for (int n = 0; n < n_most; ++n) {
    if (constraint.is_finished()) return text;
    for (float& logit : logits) logit = static_cast<float>(random() % 65536) / 6553.6f;
    // Random tokens would almost never end a string.
    for (TokenId id = 0; id < tokenizer.n_tokens(); ++id) {
      const std::string_view piece = tokenizer.piece(id);
      if (tokenizer.is_end_of_generation(id) || piece == "\"" || piece == "}" || piece == "]") {
        logits[static_cast<size_t>(id)] += eagerness_to_end;
      }
    }
    const TokenId token = sampler.sample(logits, &constraint);
    if (token == kNoToken) {
      ADD_FAILURE() << constraint.dead_end().message << " " << text;
      return std::nullopt;
    }
    if (tokenizer.is_end_of_generation(token)) return text;
    constraint.accept(token);
    text += tokenizer.piece(token);
  }
  return std::nullopt;
}

// A vocabulary of 50,000 tokens: bytes, and random combinations of parts of JSON and of texts.
std::unique_ptr<Tokenizer> large_tokenizer() {
  constexpr std::array<std::string_view, 24> kParts = {
      "{", "}", "[", "]", "\"", ":",    ",",    "\\", "\\n", "\\u00", "0", "17",
      ".", "-", "e", " ", "\n", "true", "null", "a",  "the", "é",     "€", "\U0001F600"};
  std::mt19937 random(5);
  std::vector<TestToken> tokens;
  while (tokens.size() < 49700) {
    std::string text = random_text(random, 1 + random() % 5, kParts);
    if (random() % 8 == 0) text.resize(text.size() - random() % 2);  // may cut a character
    if (!text.empty()) tokens.push_back({text});
  }
  return spm_tokenizer(tokens);
}

void expect_json(const Tokenizer& tokenizer) {
  std::mt19937 random(7);
  const auto grammar = grammar_of(kJsonGrammar);
  int n_finished = 0;
  for (int i = 0; i < 60; ++i) {
    const auto text = random_answer(tokenizer, grammar, random, i % 2 == 0 ? 8.0f : 4.0f, 60);
    if (!text) continue;
    ++n_finished;
    EXPECT_TRUE(JsonReader::reads(*text)) << *text;
  }
  EXPECT_GT(n_finished, 20);
}

TEST(Constraint, MakesJsonOfRandomLogits) {
  const auto tokenizer = large_tokenizer();
  ASSERT_NE(tokenizer, nullptr);
  expect_json(*tokenizer);
}

TEST(Constraint, MakesJsonOfARealVocabulary) {
  const std::string path = KINGLET_SOURCE_DIR "/../shared/tokenizer/ggml-vocab-gpt-2.gguf";
  if (!std::ifstream(path)) GTEST_SKIP() << "no " << path;
  const auto tokenizer = load_tokenizer(path);
  ASSERT_NE(tokenizer, nullptr);
  expect_json(*tokenizer);
}

// The text is deep enough to make the matcher forget its states again and again.
TEST(Constraint, KeepsItsPlaceOverLongTexts) {
  const auto tokenizer = spm_tokenizer({{"[[[[[[[["}, {"]]]]]]]]"}});
  ASSERT_NE(tokenizer, nullptr);
  Constraint constraint(grammar_of("root ::= \"[\" root \"]\" | \"x\""), *tokenizer, false);
  constexpr int kRounds = 20000;
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(constraint.allows(kFirstExtra));
    constraint.accept(kFirstExtra);
  }
  constraint.accept(byte_id('x'));
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_FALSE(constraint.is_finished());
    ASSERT_TRUE(constraint.allows(kFirstExtra + 1));
    constraint.accept(kFirstExtra + 1);
  }
  EXPECT_TRUE(constraint.is_finished());
}

}  // namespace
}  // namespace kinglet
