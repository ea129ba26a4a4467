// JSON schemas (draft 2020-12) → GBNF: the part of JSON schema that requests usually need.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/format.h"
#include "json/json.h"
#include "server/api_error.h"
#include "server/value_style.h"

namespace kinglet::server {

// Returns the grammar of JSON texts that are valid under the schema. Supported are objects with
// `properties` (in their order), `required` and `additionalProperties`, arrays with `items`,
// `minItems` and `maxItems`, strings, numbers, integers, booleans, null, `enum`, `const`, `anyOf`,
// several types, and `$ref` to the schema itself and to `$defs`. The grammar may allow less than
// the schema, never more: an object that names its properties has no others, and numbers have at
// most 15 digits.
//
// An error names the place and the keyword that is not supported.
ApiResult<std::string> grammar_of_schema(const Json& schema);

// The rules that the schemas of one grammar add, besides the rules of a ValueStyle.
class SchemaRules {
 public:
  // reserve() returns the name of a rule that is defined later, add() that of a rule which matches
  // `body`.
  std::string reserve() { return cat("ref-", n_references_++); }
  std::string add(const std::string& body);
  void define(const std::string& name, const std::string& body) {
    text_ += cat(name, " ::= ", body, "\n");
  }

  void add_text(const std::string& rules) { text_ += rules; }

  const std::string& text() const { return text_; }

 private:
  std::map<std::string, std::string> names_;  // by bodies
  size_t n_references_ = 0;
  std::string text_;
};

// A schema as a part of a grammar.
struct SchemaGrammar {
  std::string value;  // GBNF for JSON texts that are valid under the schema, in one group
  std::string rules;  // that the value refers to
};

// Errors: those of grammar_of_schema().
ApiResult<SchemaGrammar> compile_schema(const Json& schema);

// Returns a GBNF expression for the arguments of a call: an object that is valid under the schema,
// written in `style`. The arguments named in `texts` are strings. Errors: those of
// grammar_of_schema().
ApiResult<std::string> compile_arguments(const Json& schema, const std::vector<std::string>& texts,
                                         const ValueStyle& style, SchemaRules& rules);

}  // namespace kinglet::server
