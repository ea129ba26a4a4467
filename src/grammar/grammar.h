// Grammars for constrained output, compiled to a small program over the bytes of UTF-8.
//
// The program works on bytes because tokens may end inside a character. It then is between two of
// its steps, and no incomplete character has to be decoded.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/expression.h"
#include "grammar/grammar_step.h"

namespace kinglet {

// How the message ends where a rule cannot end.
constexpr std::string_view kNeverEnds =
    "never ends: each of its alternatives contains the rule itself";

// Says what is wrong with a rule.
using DescribeRule = std::function<std::string(uint32_t rule, std::string_view fault)>;

class Grammar {
 public:
  // Step 0 calls the first rule, step 1 ends the text.
  static constexpr uint32_t kStart = 0;
  static constexpr uint32_t kEnd = 1;

  // Parses and compiles GBNF, as llama.cpp documents it (grammars/README.md). Supports literals,
  // sets of characters, ".", tokens by their ids (<[7]>), groups, alternatives, repetitions
  // (* + ? {m} {m,} {m,n}), references and comments. Errors: those of compile(), and
  // ErrorCode::invalid_grammar with line and column, also for ids that are not less than
  // `n_tokens`.
  static Result<Grammar> parse(std::string_view gbnf, int32_t n_tokens = INT32_MAX);

  // Compiles rules, which call each other by their places; texts match the first one. Rules that
  // are absent must not be called. Every rule must be able to end, and no rule may begin with
  // itself: otherwise ErrorCode::invalid_grammar, in the words of `describe`.
  static Result<Grammar> compile(std::span<const Expression> rules, const DescribeRule& describe);

  std::span<const GrammarStep> steps() const { return steps_; }

  // The ids that the grammar takes as whole tokens, whatever their text is: ascending, each once.
  std::span<const int32_t> tokens() const { return tokens_; }

  // The class of a byte. No step distinguishes bytes of the same class.
  uint32_t byte_class(uint8_t byte) const { return byte_classes_[byte]; }
  uint32_t n_byte_classes() const { return n_byte_classes_; }

 private:
  explicit Grammar(std::vector<GrammarStep> steps);

  std::vector<GrammarStep> steps_;
  std::vector<int32_t> tokens_;
  std::array<uint8_t, 256> byte_classes_;
  uint32_t n_byte_classes_;
};

using SharedGrammar = std::shared_ptr<const Grammar>;

// For generations, which share a grammar.
Result<SharedGrammar> shared(Result<Grammar> grammar);

// Grammar::parse(), shared. Null if the text is empty.
Result<SharedGrammar> parse_shared_grammar(std::string_view text, int32_t n_tokens);

}  // namespace kinglet
