// Parses the text of a grammar into a program whose calls still refer to rules by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/grammar_step.h"

namespace kinglet {

// The target of a call is the position in the text that refers to the rule (for the root: the size
// of the text). If it is negative, it is ~ the first step of a part: a rule without a name, which
// contains what the next named rule repeats.
struct GbnfProgram {
  std::vector<GrammarStep> steps;  // begins with the call of the root, and an end
  std::vector<uint64_t> rules;     // position of the name in the text << 32 | first step; sorted
};

// Parses `text`, which has less than 2 GB, into an empty program. ErrorCode::invalid_grammar.
Status parse_gbnf(std::string_view text, GbnfProgram& program);

// Returns the name that begins at this position of the text.
std::string_view gbnf_name(std::string_view text, size_t position);

// Makes an ErrorCode::invalid_grammar: "line 3, column 7 of the grammar: …", followed by the parts
// of the message.
Error grammar_error(std::string_view text, size_t position,
                    std::initializer_list<std::string_view> message);

}  // namespace kinglet
