// Grammars of JSON schemas (draft 2020-12).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace kinglet {

// Returns the grammar, in GBNF, of JSON texts that are valid under the schema.
//
// It may allow less than the schema, but never more, except that "uniqueItems" is not checked where
// there are too many different items: named properties come in the order of the schema and before
// others, tuples are complete unless "minItems" says otherwise, and numbers have at most 15 digits.
// Words that are no keywords of JSON Schema limit nothing.
//
// `indent`: the number of spaces by which each level is indented, down to some depth. 0: the text
// has no white space.
//
// ErrorCode::invalid_argument names the place and the keyword that is not supported: "the JSON
// schema, at #/items: …".
Result<std::string> grammar_of_schema(const Json& schema, size_t indent = 0);

// Returns what is probably a mistake in the schema, such as keywords that seem to be misspelt: each
// in words, with its place.
std::vector<std::string> warnings_of_schema(const Json& schema);

}  // namespace kinglet
