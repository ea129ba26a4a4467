#include "schema/schema.h"

#include "schema/compiler.h"
#include "schema/survey.h"

namespace kinglet {

Result<std::string> grammar_of_schema(const Json& schema, size_t indent) {
  schema::GrammarRules rules;
  KINGLET_ASSIGN(const std::string root, schema::schema_to_gbnf(schema, rules, indent));
  return rules.grammar(root);
}

std::vector<std::string> warnings_of_schema(const Json& schema) {
  return schema::survey(schema).warnings;
}

}  // namespace kinglet
