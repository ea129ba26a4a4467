// The text of a grammar → a program whose calls name their rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/grammar_step.h"

namespace kinglet {

// The target of a call is where the text refers to the rule, its size for the root; or, negative,
// ~ the first step of a part: a rule without a name, which holds what the named rule that comes
// next repeats.
struct GbnfProgram {
  std::vector<GrammarStep> steps;  // begins with the call of the root, and an end
  std::vector<uint64_t> rules;     // where the text names it << 32 | its first step, in this order
};

// Reads `text`, of less than 2 GB, into an empty program. ErrorCode::invalid_grammar.
Status parse_gbnf(std::string_view text, GbnfProgram& program);

// The name that the text has at a position.
std::string_view gbnf_name(std::string_view text, size_t position);

// ErrorCode::invalid_grammar: "line 3, column 7 of the grammar: …", the message in parts.
Error grammar_error(std::string_view text, size_t position,
                    std::initializer_list<std::string_view> message);

}  // namespace kinglet
