#include "session/token_masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar_support.h"
#include "schema/schema.h"
#include "session/constraint.h"
#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

// Looks at each token alone.
class Reference {
 public:
  Reference(std::shared_ptr<const Grammar> grammar, const Tokenizer& tokenizer, bool at_start)
      : matcher_(std::move(grammar)),
        tokenizer_(&tokenizer),
        state_(matcher_.start()),
        at_start_(at_start) {}

  std::vector<TokenId> allowed() {
    std::vector<TokenId> ids;
    for (TokenId id = 0; id < tokenizer_->n_tokens(); ++id) {
      const bool is_end = tokenizer_->is_end_of_generation(id);
      if (is_end ? matcher_.is_complete(state_) : after(id) != GrammarMatcher::kRefused) {
        ids.push_back(id);
      }
    }
    return ids;
  }

  void accept(TokenId id) {
    state_ = after(id);
    std::string text;
    tokenizer_->append_text(id, false, at_start_, text);
  }

 private:
  GrammarMatcher::State after(TokenId id) {
    const auto named = matcher_.next_token(state_, id);
    if (named != GrammarMatcher::kRefused) return named;
    std::string text;
    bool at_start = at_start_;
    tokenizer_->append_text(id, false, at_start, text);
    return text.empty() ? GrammarMatcher::kRefused : matcher_.next(state_, text);
  }

  GrammarMatcher matcher_;
  const Tokenizer* tokenizer_;
  GrammarMatcher::State state_;
  bool at_start_;
};

// Goes a random way, and compares the tokens that are allowed at each place.
void compare(const std::shared_ptr<const Grammar>& grammar, const Tokenizer& tokenizer,
             std::mt19937& random, size_t n_most) {
  const bool at_start = random() % 2 == 0;
  Constraint constraint(grammar, tokenizer, at_start);
  Reference reference(grammar, tokenizer, at_start);
  std::string text;
  for (size_t n = 0; n < n_most; ++n) {
    const std::vector<TokenId> ids = ids_of(constraint.allowed());
    const std::vector<TokenId> expected = reference.allowed();
    if (constraint.dead_end().message.find("ambiguous") != std::string::npos) {
      // Then tokens may be missing that take too much work to check.
      ASSERT_TRUE(std::includes(expected.begin(), expected.end(), ids.begin(), ids.end()));
      return;
    }
    ASSERT_EQ(ids, expected) << "after " << text;
    ASSERT_EQ(ids, ids_of(constraint.allowed())) << "again after " << text;
    if (ids.empty()) return;
    const TokenId id = ids[random() % ids.size()];
    if (tokenizer.is_end_of_generation(id)) return;
    constraint.accept(id);
    reference.accept(id);
    text += tokenizer.piece(id, true);
  }
}

constexpr std::array<std::string_view, 30> kParts = {
    "{", "}",   "[",    "]", "\"", ":",          ",",      "\\",   "\\n",  "\\u00",
    "0", "17",  ".",    "-", "e",  " ",          "  ",     "\n",   "true", "a",
    "b", "the", "Word", "é", "€",  "\U0001F600", "\u2028", "\x7f", "中文", "\xe4"};

// Bytes and random combinations of parts of JSON and of texts; some are long, added, or cut.
std::unique_ptr<Tokenizer> random_tokenizer(std::mt19937& random, bool add_space_prefix) {
  std::vector<TestToken> tokens = {{"<mark>", 0, TokenType::control},
                                   {" added", 0, TokenType::user_defined},
                                   {" ", 0, TokenType::user_defined},
                                   {"unused", 0, TokenType::unused}};
  while (tokens.size() < 1500) {
    std::string text = random_text(random, 1 + random() % 5, kParts);
    if (random() % 16 == 0)
      text = random_text(random, 20, std::array<std::string_view, 2>{"a", "é"});
    if (random() % 8 == 0) text.resize(text.size() - random() % 2);  // may cut a character
    if (random() % 4 == 0) text.insert(0, "\xe2\x96\x81");
    if (!text.empty()) tokens.push_back({text});
  }
  return spm_tokenizer(tokens, add_space_prefix);
}

constexpr std::string_view kGrammars[] = {
    kJsonGrammar,
    "root ::= .*",
    "root ::= [^\"\\\\\\x00-\\x1f]{3,20} \"\\\"\"",
    "root ::= [a-zA-Z0-9]{0,18} (\" \" [^\\n]{2,5})?",
    "root ::= (\"the\" | \"Word\" | [ab]+ | \"é\" \"€\"?)*",
    "root ::= [éê]* [\\u4e00-\\u9fff]{1,3} .{0,17}",
    "root ::= \"a\" root \"b\" | \"\"",
    "root ::= ([a-e] | [b-z0-9]){1,40} <[260]>? \"}\"",
    "root ::= <[259]> ([^\\u2028\\u2029\\n\\r] | <[259]>)*",
    "root ::= ([a-z] [a-z] | [a-z0-9])* [^a-z]{0,2}",
};

TEST(TokenMasks, AreThoseOfTokensOneByOne) {
  std::mt19937 random(1);
  for (const bool add_space_prefix : {false, true}) {
    const auto tokenizer = random_tokenizer(random, add_space_prefix);
    ASSERT_NE(tokenizer, nullptr);
    for (const std::string_view gbnf : kGrammars) {
      SCOPED_TRACE(gbnf);
      const auto grammar = grammar_of(gbnf);
      for (int i = 0; i < 6; ++i) compare(grammar, *tokenizer, random, 25);
    }
  }
}

// A random part of a rule. Most grammars made of them can be parsed.
std::string random_part(std::mt19937& random, int depth) {
  constexpr std::array<std::string_view, 14> kLeaves = {
      "\"a\"",    "\"the\"", "[a-z]",    "[^\"\\\\\\x00-\\x1f]",
      "[0-9A-F]", ".",       "\"\\\"\"", "[é€]",
      "[^a-c]",   "\"{\"",   "\" \"",    "r1",
      "<[261]>",  "r2"};
  if (depth == 0 || random() % 3 == 0) {
    std::string leaf(kLeaves[random() % kLeaves.size()]);
    constexpr std::array<std::string_view, 8> kCounts = {"",  "",  "",      "?",
                                                         "*", "+", "{0,3}", "{2,19}"};
    return leaf + std::string(kCounts[random() % kCounts.size()]);
  }
  std::string text = "(";
  for (auto n = 1 + random() % 3; n > 0; --n) {
    text += random_part(random, depth - 1) + (n > 1 && random() % 2 == 0 ? " | " : " ");
  }
  return text + (random() % 4 == 0 ? ")?" : ")");
}

TEST(TokenMasks, AreThoseOfTokensOneByOneInRandomGrammars) {
  std::mt19937 random(2);
  const auto tokenizer = random_tokenizer(random, true);
  ASSERT_NE(tokenizer, nullptr);
  int n_grammars = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string gbnf =
        cat("root ::= ", random_part(random, 3), "\nr1 ::= \"a\" ", random_part(random, 2),
            "\nr2 ::= [b-e0-9] ", random_part(random, 1), "\n");
    auto grammar = Grammar::parse(gbnf);
    if (!grammar.ok()) continue;
    ++n_grammars;
    SCOPED_TRACE(gbnf);
    compare(std::make_shared<const Grammar>(std::move(grammar.value())), *tokenizer, random, 8);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(n_grammars, 100);
}

TEST(TokenMasks, AreThoseOfTokensOneByOneInSchemasAndRealVocabularies) {
  constexpr std::string_view kSchemas[] = {
      R"({"type": "object", "properties": {"name": {"type": "string"},
          "code": {"type": "string", "maxLength": 7}, "n": {"type": "integer", "minimum": 3},
          "at": {"type": "string", "format": "date-time"}}, "required": ["code"]})",
      R"({"type": "object", "patternProperties": {"^[a-z_]{1,30}$": {"type": "number"}}})",
      R"({"type": "array", "items": {"enum": ["red", "green", 12, null]}, "minItems": 2})",
      R"({"type": "string", "pattern": "^[A-Za-z0-9 .-]{2,40}$"})",
      R"({"type": "string", "pattern": "x.*y"})",
      R"({})",
  };
  std::mt19937 random(3);
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  tokenizers.push_back(load_tokenizer(embedded_model_path()));
  for (const char* name : {"gpt-2", "llama-spm"}) {
    const std::string path =
        cat(KINGLET_SOURCE_DIR "/../shared/tokenizer/ggml-vocab-", name, ".gguf");
    if (std::ifstream(path)) tokenizers.push_back(load_tokenizer(path));
  }
  for (const auto& tokenizer : tokenizers) {
    ASSERT_NE(tokenizer, nullptr);
    for (const std::string_view schema : kSchemas) {
      SCOPED_TRACE(schema);
      auto json = parse_json(schema);
      ASSERT_TRUE(json.ok());
      compare(expect_shared(grammar_of_schema(json.value())), *tokenizer, random, 12);
    }
  }
}

// Bytes that no step tells apart are followed once. A matcher that is asked for one byte only, and
// has not seen another, knows better.
TEST(TokenMasks, FollowBytesThatBehaveAlike) {
  for (const std::string_view gbnf : kGrammars) {
    const auto grammar = grammar_of(gbnf);
    GrammarMatcher matcher(grammar);
    for (uint32_t first = 0; first < 256; ++first) {
      const std::string text(1, static_cast<char>(first));
      const auto state = state_behind(matcher, text);
      GrammarMatcher fresh(grammar);
      ASSERT_EQ(state != GrammarMatcher::kRefused, may_begin(fresh, text)) << gbnf << first;
      if (first % 5 != 0) continue;
      for (uint32_t second = 255; second-- > 0;) {
        const std::string both = text + static_cast<char>(second);
        GrammarMatcher other(grammar);
        ASSERT_EQ(may_begin(matcher, both), may_begin(other, both)) << gbnf << first << second;
      }
    }
  }
}

// Without a limit, these would take seconds or minutes for one mask.
TEST(TokenMasks, TakeBoundedWork) {
  std::mt19937 random(4);
  const auto tokenizer = random_tokenizer(random, false);
  ASSERT_NE(tokenizer, nullptr);
  for (const std::string_view gbnf :
       {"root ::= . (root [a-m] | root [n-z0-9] | root [aeiou ] | root .) | \"z\"",
        "root ::= ([a-z]{0,60} | [b-z]{3,70} [0-9]?){0,300}"}) {
    Constraint constraint(grammar_of(gbnf), *tokenizer, false);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 5; ++i) {
      const std::vector<TokenId> ids = ids_of(constraint.allowed());
      if (ids.empty()) break;
      const TokenId id = ids[random() % ids.size()];
      if (tokenizer->is_end_of_generation(id)) break;
      EXPECT_TRUE(constraint.allows(id));
      constraint.accept(id);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << gbnf;
  }
}

}  // namespace
}  // namespace kinglet
