// What the tests of schemas share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar_support.h"
#include "json/json.h"
#include "schema/schema.h"

namespace kinglet {

inline Json json_of(std::string_view text) {
  auto json = parse_json(text, {.depth = 5000});
  EXPECT_TRUE(json.ok()) << text << ": " << (json.ok() ? "" : json.error().message);
  return json.ok() ? std::move(json.value()) : Json();
}

// The keywords mean what JSON Schema says.
constexpr SchemaOptions kOpen = {.open_objects = true};

// Returns null, and reports a failure, if the schema is refused.
inline SharedGrammar grammar_for(std::string_view schema, const SchemaOptions& options = kOpen) {
  return expect_shared(grammar_of_schema(json_of(schema), options));
}

// The texts of a grammar.
class Texts {
 public:
  explicit Texts(SharedGrammar grammar) : matcher_(std::move(grammar)) {}

  bool have(std::string_view text) { return accepts(matcher_, text); }

 private:
  GrammarMatcher matcher_;
};

// A schema, and JSON texts that its grammar must allow and must not allow.
struct SchemaCase {
  const char* name;
  const char* schema;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

inline void check(const std::vector<SchemaCase>& cases) {
  for (const auto& [name, schema, good, bad] : cases) {
    SCOPED_TRACE(name);
    const SharedGrammar grammar = grammar_for(schema);
    if (grammar == nullptr) continue;
    Texts texts(grammar);
    for (const std::string& text : good) EXPECT_TRUE(texts.have(text)) << text;
    for (const std::string& text : bad) EXPECT_FALSE(texts.have(text)) << text;
  }
}

}  // namespace kinglet
