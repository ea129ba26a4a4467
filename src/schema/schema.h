// Grammars of JSON schemas (draft 2020-12).
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "json/json.h"

namespace kinglet {

// Returns the grammar, in GBNF, of JSON texts that are valid under the schema.
//
// It may allow less than the schema, but never more: properties come in the order of the schema, an
// object that names its properties has no others unless "additionalProperties" says so, tuples are
// complete, and numbers have at most 15 digits.
//
// `indent`: the number of spaces by which each level is indented, down to some depth. 0: the text
// has no white space.
//
// ErrorCode::invalid_argument names the place and the keyword that is not supported: "the JSON
// schema, at #/items: …".
Result<std::string> grammar_of_schema(const Json& schema, size_t indent = 0);

}  // namespace kinglet
