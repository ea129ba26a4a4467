#include "schema/schema.h"

#include "schema/compiler.h"
#include "schema/largest_part.h"
#include "schema/survey.h"

namespace kinglet {

Result<std::string> grammar_of_schema(const Json& schema, const SchemaOptions& options) {
  schema::GrammarRules rules;
  KINGLET_ASSIGN(const std::string root, schema::schema_to_gbnf(schema, rules, options));
  return rules.grammar(root);
}

std::string largest_part_of_schema(const Json& schema) { return schema::largest_part(schema); }

std::vector<std::string> warnings_of_schema(const Json& schema) {
  return schema::survey(schema).warnings;
}

}  // namespace kinglet
