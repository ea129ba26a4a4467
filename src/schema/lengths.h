// How long the texts of a language are.
#pragma once

#include <cstdint>

#include "schema/keywords.h"
#include "schema/language.h"
#include "schema/rules.h"
#include "schema/strings.h"

namespace kinglet::schema {

// Returns limits of the texts' characters, which need not be the tightest.
Limits lengths_of(const Language* language);

// Returns a part of the language whose texts have at most `most` characters: what repeats without
// end does so less often. Null if that is not possible.
const Language* shortened(const Language* language, uint64_t most, Languages& languages);

// Whether the language is made of sets, concatenations, alternations and repetitions only.
bool is_simple(const Language* language);

// Returns an expression of a simple language, as its parts are written.
Expression simple_expression(const Language* language, Characters characters, GrammarRules& rules);

}  // namespace kinglet::schema
