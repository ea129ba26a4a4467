// Grammars of JSON schemas (draft 2020-12).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "grammar/grammar.h"
#include "json/json.h"

namespace kinglet {

constexpr size_t kMostIndent = 10;  // as in JavaScript's JSON.stringify()

struct SchemaOptions {
  // Spaces by which each level is indented, down to some depth, at most kMostIndent. 0: the text
  // has no white space.
  size_t indent = 0;

  // JSON Schema lets objects have properties that it does not name, and a model that may write some
  // often does not stop. So an object whose schema names properties, and says nothing of others,
  // has others only as far as it needs some ("minProperties"), unless this is set.
  bool open_objects = false;

  Cancellation cancellation = {};
};

// Returns the grammar of JSON texts that are valid under the schema.
//
// It may allow less than the schema, but never more, except that "uniqueItems" is not checked where
// there are too many different items: named properties come in the order of the schema and before
// others, tuples are complete unless "minItems" says otherwise, and numbers have at most 15 digits.
// Words that are not keywords of JSON Schema have no effect.
//
// ErrorCode::invalid_argument names the place and the keyword that is not supported: "the JSON
// schema, at #/items: …". It takes a time that is proportional to the schema's size, or refuses the
// schema after a number of steps. ErrorCode::cancelled. Other errors are those of
// Grammar::compile().
Result<Grammar> grammar_of_schema(const Json& schema, const SchemaOptions& options = {});

// Says in the words of the schema which of its parts takes most of a grammar that is too large:
// "the JSON schema, at #/items: …".
std::string largest_part_of_schema(const Json& schema);

// Returns what is probably a mistake in the schema, such as keywords that seem to be misspelt: each
// in words, with its place.
std::vector<std::string> warnings_of_schema(const Json& schema);

}  // namespace kinglet
