// Grammars of JSON schemas: they accept what the schema allows.
#include "server/json_schema.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "session/grammar.h"
#include "session/grammar_matcher.h"

namespace kinglet::server {
namespace {

std::string grammar_for(std::string_view schema) {
  const auto parsed = parse_json(schema);
  EXPECT_TRUE(parsed.ok());
  auto grammar = grammar_of_schema(parsed.value());
  EXPECT_TRUE(grammar.ok()) << grammar.error().message;
  return grammar.ok() ? grammar.value() : "";
}

std::string refusal(std::string_view schema) {
  const auto grammar = grammar_of_schema(parse_json(schema).value());
  return grammar.ok() ? "" : grammar.error().message;
}

class SchemaTexts {
 public:
  explicit SchemaTexts(std::string_view schema) {
    auto grammar = Grammar::parse(grammar_for(schema));
    EXPECT_TRUE(grammar.ok()) << grammar.error().message;
    if (grammar.ok()) grammar_ = std::make_shared<const Grammar>(std::move(grammar.value()));
  }

  bool take(std::string_view text) const {
    if (grammar_ == nullptr) return false;
    GrammarMatcher matcher(grammar_);
    auto state = matcher.start();
    for (const char c : text) {
      state = matcher.next(state, static_cast<uint8_t>(c));
      if (state == GrammarMatcher::kRefused) return false;
    }
    return matcher.is_complete(state);
  }

 private:
  std::shared_ptr<const Grammar> grammar_;
};

TEST(JsonSchema, ScalarsAreTheirTypes) {
  const SchemaTexts text(R"({"type": "string"})");
  EXPECT_TRUE(text.take(R"("a \"b\" \u00e4 ä")"));
  EXPECT_FALSE(text.take(R"("a"b")"));
  EXPECT_FALSE(text.take("1"));
  const SchemaTexts integer(R"({"type": "integer", "description": "an age"})");
  EXPECT_TRUE(integer.take("-12"));
  EXPECT_FALSE(integer.take("1.5"));
  EXPECT_FALSE(integer.take("012"));
  const SchemaTexts number(R"({"type": "number"})");
  EXPECT_TRUE(number.take("-1.5e+10"));
  const SchemaTexts either(R"({"type": ["boolean", "null"]})");
  for (const char* value : {"true", "false", "null"}) EXPECT_TRUE(either.take(value));
  EXPECT_FALSE(either.take("0"));
}

TEST(JsonSchema, ValuesAreSpelledOut) {
  const SchemaTexts named(R"({"enum": ["a\"b", 3, null, {"x": [1]}]})");
  for (const char* value : {R"("a\"b")", "3", "null", R"({"x":[1]})"}) {
    EXPECT_TRUE(named.take(value)) << value;
  }
  EXPECT_FALSE(named.take("4"));
  EXPECT_TRUE(SchemaTexts(R"({"const": "line\nend"})").take(R"("line\nend")"));
}

TEST(JsonSchema, ListedValuesMustFitTheOtherKeywords) {
  const auto taken = [](std::string_view schema, std::initializer_list<const char*> values) {
    const SchemaTexts texts(schema);
    std::string found;
    for (const char* value : values) found += texts.take(value) ? value : "-";
    return found;
  };
  EXPECT_EQ(
      taken(R"({"type": "integer", "enum": ["a", 1, 2.0, 2.5]})", {"\"a\"", "1", "2.0", "2.5"}),
      "-12.0-");
  EXPECT_EQ(
      taken(R"({"type": ["null", "string"], "enum": ["a", 1, null]})", {"\"a\"", "1", "null"}),
      "\"a\"-null");
  EXPECT_EQ(
      taken(R"({"enum": [1, 2, 3, 4], "minimum": 2, "exclusiveMaximum": 4})", {"1", "2", "3", "4"}),
      "-23-");
  EXPECT_EQ(taken(R"({"enum": [2, 3, "x"], "multipleOf": 2})", {"2", "3", "\"x\""}), "2-\"x\"");
  EXPECT_EQ(taken(R"({"enum": ["é", "ab", [1, 2]], "maxLength": 1, "maxItems": 1})",
                  {"\"é\"", "\"ab\"", "[1,2]"}),
            "\"é\"--");
  EXPECT_EQ(taken(R"({"enum": [1, 2], "const": 2})", {"1", "2"}), "-2");
  EXPECT_NE(refusal(R"({"type": "string", "const": 1})"), "");
  EXPECT_NE(refusal(R"({"enum": [1], "minimum": "2"})"), "");
  EXPECT_NE(refusal(R"({"enum": ["a"], "pattern": "b"})"), "");
}

TEST(JsonSchema, ObjectsMayHaveManyProperties) {
  std::string properties;
  for (int i = 0; i < 300; ++i) {
    properties += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":{\"type\":\"integer\"}";
  }
  const SchemaTexts object("{\"properties\":{" + properties + "}}");
  EXPECT_TRUE(object.take("{}"));
  EXPECT_TRUE(object.take("{\"k0\": 1}"));
  EXPECT_TRUE(object.take("{\"k7\": 1, \"k150\": 2, \"k299\": 3}"));
  EXPECT_FALSE(object.take("{\"k150\": 1, \"k7\": 2}"));
}

TEST(JsonSchema, NamesReferencesThatLeadBackToThemselves) {
  for (
      const char* schema :
      {R"({"$ref": "#"})", R"({"anyOf": [{"type": "null"}, {"$ref": "#"}]})",
       R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})"}) {
    EXPECT_NE(refusal(schema).find("leads back to itself"), std::string::npos) << refusal(schema);
  }
}

TEST(JsonSchema, ObjectsHaveWhatIsRequiredInItsOrder) {
  const SchemaTexts object(R"({"type": "object", "additionalProperties": false, "properties":
      {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
      "required": ["b"]})");
  for (const char* value :
       {R"({"b":1})", R"({"a":1,"b":2})", R"({"b": 1, "c": 2})", R"({ "a":1,"b":2,"c":3 })"}) {
    EXPECT_TRUE(object.take(value)) << value;
  }
  for (const char* value : {"{}", R"({"a":1})", R"({"a":1,"c":2})", R"({"b":1,"a":2})",
                            R"({"b":1,})", R"({,"b":1})", R"({"b":1,"d":2})", R"({"b":"x"})"}) {
    EXPECT_FALSE(object.take(value)) << value;
  }
  const SchemaTexts optional(R"({"properties": {"a": {}, "b": {"const": 1}}})");
  for (const char* value : {"{}", R"({"a":[]})", R"({"b":1})", R"({"a":"x","b":1})"}) {
    EXPECT_TRUE(optional.take(value)) << value;
  }
}

TEST(JsonSchema, OpenObjectsTakeAnyNames) {
  const SchemaTexts numbers(R"({"type": "object", "additionalProperties": {"type": "number"}})");
  EXPECT_TRUE(numbers.take(R"({"x":1, "y":2.5})"));
  EXPECT_TRUE(numbers.take("{}"));
  EXPECT_FALSE(numbers.take(R"({"x":"1"})"));
  EXPECT_TRUE(SchemaTexts(R"({"type": "object"})").take(R"({"x":{"y":[null]}})"));
  EXPECT_FALSE(SchemaTexts(R"({"type":"object","additionalProperties":false})").take(R"({"x":1})"));
}

TEST(JsonSchema, ArraysAreAsLongAsTheyMay) {
  const SchemaTexts some(R"({"items": {"type": "integer"}, "minItems": 2, "maxItems": 3})");
  EXPECT_FALSE(some.take("[1]"));
  EXPECT_TRUE(some.take("[1,2]"));
  EXPECT_TRUE(some.take("[1, 2, 3]"));
  EXPECT_FALSE(some.take("[1,2,3,4]"));
  const SchemaTexts one(R"({"type": "array", "maxItems": 1})");
  EXPECT_TRUE(one.take("[]"));
  EXPECT_TRUE(one.take(R"(["x"])"));
  EXPECT_FALSE(one.take("[1,2]"));
  EXPECT_FALSE(SchemaTexts(R"({"type": "array", "maxItems": 0})").take("[1]"));
}

TEST(JsonSchema, SchemasMayReferToThemselves) {
  const SchemaTexts tree(R"({"$ref": "#/$defs/node", "$defs": {"node": {
      "type": "object", "properties": {"left": {"anyOf": [{"$ref": "#/$defs/node"},
      {"type": "null"}]}}, "required": ["left"]}}})");
  EXPECT_TRUE(tree.take(R"({"left":{"left":null}})"));
  EXPECT_FALSE(tree.take(R"({"left":{"left":1}})"));
}

TEST(JsonSchema, RefusesByNameWhatItDoesNotKnow) {
  EXPECT_EQ(refusal(R"({"properties": {"a": {"type": "string", "pattern": "x"}}})"),
            "the JSON schema at #/properties/a: \"pattern\" is not supported here");
  EXPECT_NE(refusal(R"({"allOf": []})"), "");
  EXPECT_NE(refusal(R"({"type": "integer", "minimum": 1})"), "");
  EXPECT_NE(refusal(R"({"type": "text"})"), "");
  EXPECT_NE(refusal(R"({"type": []})"), "");
  EXPECT_NE(refusal(R"({"enum": []})"), "");
  EXPECT_NE(refusal(R"({"anyOf": 3})"), "");
  EXPECT_NE(refusal(R"({"$ref": "http://elsewhere"})"), "");
  EXPECT_NE(refusal(R"({"properties": {"a": {}}, "required": ["b"]})"), "");
  EXPECT_NE(refusal(R"({"properties": {"a": {}}, "additionalProperties": true})"), "");
  EXPECT_NE(refusal(R"({"type": "array", "minItems": 3, "maxItems": 2})"), "");
  EXPECT_NE(refusal(R"({"type": "array", "maxItems": 1e9})"), "");
  EXPECT_NE(refusal("3"), "");
}

}  // namespace
}  // namespace kinglet::server
