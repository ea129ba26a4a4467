// Grammars for constrained output: GBNF, as llama.cpp documents it (grammars/README.md), compiled
// to a small program over the bytes of UTF-8.
//
// Over bytes, as tokens may end inside a character: the program then stands between two of its
// steps, and there is nothing to decode.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/grammar_step.h"

namespace kinglet {

class Grammar {
 public:
  // Step 0 calls the rule "root", step 1 ends the text.
  static constexpr uint32_t kStart = 0;
  static constexpr uint32_t kEnd = 1;

  // Supports literals, sets of characters, ".", tokens by their ids (<[7]>), groups, alternatives,
  // repetitions (* + ? {m} {m,} {m,n}), references and comments. Every rule can end, and none
  // begins with itself.
  // ErrorCode::invalid_grammar says what is wrong, with line and column.
  static Result<Grammar> parse(std::string_view gbnf);

  std::span<const GrammarStep> steps() const { return steps_; }

  // The ids that it takes as whole tokens, whatever they spell: ascending, each once.
  std::span<const int32_t> tokens() const { return tokens_; }

  // Bytes of one class are in the same ranges of all steps.
  uint32_t byte_class(uint8_t byte) const { return byte_classes_[byte]; }
  uint32_t n_byte_classes() const { return n_byte_classes_; }

 private:
  explicit Grammar(std::vector<GrammarStep> steps);

  std::vector<GrammarStep> steps_;
  std::vector<int32_t> tokens_;
  std::array<uint8_t, 256> byte_classes_;
  uint32_t n_byte_classes_;
};

}  // namespace kinglet
