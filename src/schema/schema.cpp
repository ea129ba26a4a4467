#include "schema/schema.h"

#include <utility>

#include "schema/compiler.h"
#include "schema/largest_part.h"
#include "schema/survey.h"

namespace kinglet {

Result<Grammar> grammar_of_schema(const Json& schema, const SchemaOptions& options) {
  schema::GrammarRules rules;
  KINGLET_ASSIGN(Expression root, schema::schema_expression(schema, rules, options));
  return rules.grammar(std::move(root));
}

std::string largest_part_of_schema(const Json& schema) { return schema::largest_part(schema); }

std::vector<std::string> warnings_of_schema(const Json& schema) {
  return schema::survey(schema).warnings;
}

}  // namespace kinglet
