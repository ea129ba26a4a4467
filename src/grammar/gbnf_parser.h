// Parses the text of a grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/expression.h"

namespace kinglet {

// The first rule is "root".
struct GbnfRules {
  std::vector<Expression> bodies;
  std::vector<size_t> positions;  // of the rules' names in the text
};

// Parses `text` into an empty list. Ids of tokens must be less than `n_tokens`.
// ErrorCode::invalid_grammar.
Status parse_gbnf(std::string_view text, int32_t n_tokens, GbnfRules& rules);

// Parses what follows "::=", which must be right and refer to no rule.
Expression gbnf_expression(std::string_view text);

// Returns the name that begins at this position of the text.
std::string_view gbnf_name(std::string_view text, size_t position);

// Makes an ErrorCode::invalid_grammar: "line 3, column 7 of the grammar: …", followed by the parts
// of the message.
Error grammar_error(std::string_view text, size_t position,
                    std::initializer_list<std::string_view> message);

}  // namespace kinglet
