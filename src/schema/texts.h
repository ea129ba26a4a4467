// Converts requirements on a text (patterns, lengths, excluded names) to expressions of what stands
// between the marks of a string. Errors are ErrorCode::invalid_argument and say why it is not
// supported.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/language.h"
#include "schema/pattern.h"
#include "schema/rules.h"
#include "schema/strings.h"

namespace kinglet::schema {

// Converts a plain pattern directly. Returns nullopt if the pattern looks around.
Result<std::optional<Expression>> pattern_expression(const Pattern& pattern, Characters characters);

// Returns the texts in which a pattern matches somewhere.
Result<const Language*> pattern_to_language(const Pattern& pattern, Languages& languages);

// Returns an expression of the texts of the language; empty if it has none. Fails if this takes too
// many states.
Result<Expression> language_expression(const Language* language, Languages& languages,
                                       Characters characters, GrammarRules& rules);

// Returns how many states the automaton of a language has, or `most` if these are more.
size_t count_states(const Language* language, size_t most, Languages& languages);

// The error of languages that are exhausted, and of automata that are too large.
Error too_large_automaton();

}  // namespace kinglet::schema
