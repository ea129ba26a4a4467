// Grammars for constrained output: GBNF, as llama.cpp documents it (grammars/README.md), compiled
// to a small program over the bytes of UTF-8.
//
// The program works on bytes because tokens may end inside a character. It then is between two of
// its steps, and no incomplete character has to be decoded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/grammar_step.h"

namespace kinglet {

// How the message of Grammar::parse() ends where a rule cannot end.
constexpr std::string_view kNeverEnds =
    "never ends: each of its alternatives contains the rule itself";

class Grammar {
 public:
  // Step 0 calls the rule "root", step 1 ends the text.
  static constexpr uint32_t kStart = 0;
  static constexpr uint32_t kEnd = 1;

  // Parses and checks a grammar. Supports literals, sets of characters, ".", tokens by their ids
  // (<[7]>), groups, alternatives, repetitions (* + ? {m} {m,} {m,n}), references and comments.
  // Every rule must be able to end, and no rule may begin with itself.
  // ErrorCode::invalid_grammar says what is wrong, with line and column.
  static Result<Grammar> parse(std::string_view gbnf);

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

// Grammar::parse() for generations, which share it. Null if the text is empty.
Result<SharedGrammar> parse_shared_grammar(std::string_view text);

}  // namespace kinglet
