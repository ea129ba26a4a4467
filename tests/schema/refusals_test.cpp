// Schemas that are refused, and why.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/format.h"
#include "errors.h"
#include "schema/schema_case.h"

namespace kinglet {
namespace {

std::string refusal(std::string_view schema) {
  const auto grammar = grammar_of_schema(json_of(schema), kOpen);
  if (grammar.ok()) return "not refused";
  EXPECT_EQ(error_code_name(grammar.error().code), "invalid_argument");
  return grammar.error().message;
}

TEST(SchemaRefusals, NameThePlaceAndTheKeyword) {
  struct Case {
    const char* schema;
    const char* message;
  };
  for (const auto& [schema, message] : {
           Case{R"({"not":{"format":"uri-reference"}})",
                "the JSON schema, at #/not: \"not\" with \"format\" is not supported"},
           Case{R"({"allOf":[{"patternProperties":{"a":{}},"additionalProperties":false},
                             {"properties":{"b":{}}}]})",
                "the JSON schema, at #: \"patternProperties\" and \"additionalProperties\" in "
                "different schemas of one object are not supported: put them in one schema"},
           Case{R"({"items":{"unevaluatedItems":{}}})",
                "the JSON schema, at #/items: \"unevaluatedItems\" is not supported"},
           Case{R"({"properties":{"a/b~":{"$dynamicRef":"#a"}}})",
                "the JSON schema, at #/properties/a~1b~0: \"$dynamicRef\" is not supported"},
           Case{R"({"type":"number","multipleOf":0})",
                "the JSON schema, at #: \"multipleOf\" is 0, expected a number above 0"},
           Case{R"({"type":"integer","multipleOf":99991})",
                "the JSON schema, at #: this combination of limits on a number is not "
                "supported: its automaton would be too large"},
           Case{R"({"type":"integer","multipleOf":1e20})",
                "the JSON schema, at #: this combination of limits on a number is not "
                "supported: multiples of 1e20 are too complex"},
           Case{R"({"allOf":[{"multipleOf":1000000007},{"multipleOf":998244353}]})",
                "the JSON schema, at #: multiples of both 1000000007 and 998244353 are not "
                "supported"},
           Case{R"({"name":"a","strict":true,"schema":{"type":"object"}})",
                "the JSON schema, at #: it has none of JSON Schema's keywords; the schema seems to "
                "be "
                "in \"schema\": give only that"},
           Case{R"({"type":"text"})",
                "the JSON schema, at #: the type \"text\" is unknown (known: object, array, "
                "string, number, integer, boolean, null)"},
           Case{R"({"$ref":"https://example.com/a"})",
                "the JSON schema, at #: the reference \"https://example.com/a\" is not supported: "
                "it must point into this schema"},
           Case{R"({"$ref":"#/$defs/a"})",
                "the JSON schema, at #: the reference \"#/$defs/a\" points to nothing"},
           Case{R"({"$ref":"#/%ff"})",
                "the JSON schema, at #: the reference \"#/%ff\" points to nothing"},
           Case{R"({"oneOf":[{"type":"string","format":"uri-reference"},{"type":"string"}]})",
                "the JSON schema, at #: alternatives 0 and 1 of \"oneOf\" may both match the "
                "same value: tell them apart by a type or by a required property with a \"const\", "
                "or "
                "use \"anyOf\""},
           Case{R"({"type":"integer","minimum":1152921504606846976})",
                "the JSON schema, at #: this combination of limits on a number is not "
                "supported: the bound 1152921504606846976 has more than 15 digits"},
           Case{R"({"type":"string","minLength":-1})",
                "the JSON schema, at #: \"minLength\" is -1, expected a whole number, 0 or more"},
           Case{R"({"type":"string","maxLength":"3"})",
                "the JSON schema, at #: \"maxLength\" is \"3\", expected a number"},
           Case{R"({"minimum":1e999})",
                "the JSON schema, at #: \"minimum\" is 1e999, expected a number"},
           Case{R"({"properties":[]})",
                "the JSON schema, at #: \"properties\" is [], expected an object"},
           Case{R"({"required":[1]})",
                "the JSON schema, at #: \"required\" is not an array of names"},
           Case{R"({"anyOf":{}})", "the JSON schema, at #: \"anyOf\" is {}, expected an array"},
           Case{"\"text\"", "the JSON schema, at #: found \"text\", expected a schema"},
           Case{"null", "the JSON schema, at #: found null, expected a schema"},
       }) {
    EXPECT_EQ(refusal(schema), message);
  }
}

TEST(SchemaRefusals, NameReferencesThatLeadBackToThemselves) {
  for (const char* schema :
       {R"({"$ref":"#"})", R"({"anyOf":[{"type":"null"},{"$ref":"#"}]})",
        R"({"$defs":{"a":{"$ref":"#/$defs/a","type":"null"}},"$ref":"#/$defs/a"})",
        R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})"}) {
    EXPECT_TRUE(refusal(schema).ends_with("leads back to itself")) << refusal(schema);
  }
}

TEST(SchemaRefusals, SayThatNoValueIsValid) {
  for (const char* schema :
       {"false", R"({"enum":[]})", R"({"type":"integer","minimum":3,"maximum":2})",
        R"({"type":"string","minLength":3,"maxLength":2})",
        R"({"type":"array","minItems":1,"maxItems":0})",
        R"({"type":"array","prefixItems":[true,false],"minItems":2})",
        R"({"allOf":[{"type":"string"},{"type":"null"}]})",
        R"({"properties":{"a":false},"required":["a"]})", R"({"not":{}})", R"({"pattern":"a^b"})",
        R"({"pattern":"^$a"})", R"({"allOf":[{"pattern":"^a"},{"pattern":"^b"}]})",
        R"({"pattern":"^abc","maxLength":2})",
        R"({"type":"number","exclusiveMinimum":0.5,"maximum":0.5})",
        R"({"type":"integer","minimum":0.25,"maximum":0.75})",
        R"({"type":"integer","minimum":8,"maximum":13,"multipleOf":7,"exclusiveMaximum":8})",
        R"({"propertyNames":{"enum":["a"]},"required":["b"]})",
        R"({"type":"string","enum":["ab"],"maxLength":1})"}) {
    EXPECT_EQ(refusal(schema), "the JSON schema, at #: no value is valid") << schema;
  }
}

std::string properties(int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += cat(i > 0 ? "," : "", "\"p", i, "\":{\"type\":\"null\"}");
  return cat("{\"properties\":{", all, "}}");
}

TEST(SchemaRefusals, LimitTheSize) {
  Texts texts(grammar_for(properties(150)));
  EXPECT_TRUE(texts.have(R"({"p7":null,"p149":null})"));
  EXPECT_FALSE(texts.have(R"({"p149":null,"p7":null})"));
  EXPECT_EQ(refusal(properties(20'000)),
            "the JSON schema, at #: \"properties\" has 20000 members, expected at most 10000");
  const std::string many = properties(6000);
  EXPECT_EQ(refusal(cat("{\"anyOf\":[", many, ",", many, ",", many, ",", many, "]}")),
            "the JSON schema, at #/anyOf/0: the schema has more than 20000 properties in total");
  std::string names;
  for (int i = 0; i < 20'001; ++i) names += cat(i > 0 ? "," : "", "\"p", i, "\"");
  EXPECT_EQ(refusal(cat("{\"dependentRequired\":{\"a\":[", names, "]}}")),
            "the JSON schema, at #: the schema has more than 20000 properties in total");
}

TEST(SchemaRefusals, LimitTheDepth) {
  constexpr std::string_view kTooDeep = ": schemas are nested more than 200 deep";
  const auto repeated = [](std::string_view text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  for (const std::string_view begin : {R"({"items":)", R"({"allOf":[)"}) {
    const std::string_view end = begin.ends_with('[') ? "]}" : "}";
    const std::string schema = cat(repeated(begin, 400), "{}", repeated(end, 400));
    EXPECT_TRUE(refusal(schema).ends_with(kTooDeep)) << refusal(schema);
  }
  std::string chain;
  for (int i = 0; i < 1000; ++i) {
    chain += cat("\"d", i, "\":{\"allOf\":[{\"$ref\":\"#/$defs/d", i + 1, "\"}]},");
  }
  EXPECT_TRUE(refusal(cat("{\"$defs\":{", chain, "\"d1000\":{}},\"$ref\":\"#/$defs/d0\"}"))
                  .ends_with(kTooDeep));
}

// Each of these would take minutes without a limit.
TEST(SchemaRefusals, LimitTheWork) {
  const auto list = [](int n, const auto& item) {
    std::string all;
    for (int i = 0; i < n; ++i) all += cat(i > 0 ? "," : "", item(i));
    return cat("[", all, "]");
  };
  const auto choices = [&](std::string_view name) {
    return cat(
        "{\"anyOf\":",
        list(15,
             [&](int i) { return cat("{\"properties\":{\"", name, "\":{\"enum\":[", i, "]}}}"); }),
        "}");
  };
  EXPECT_EQ(refusal(cat("{\"allOf\":[", choices("a"), ",", choices("b"), ",", choices("c"), "]}")),
            "the JSON schema, at #: it combines into more than 200 alternatives");
  EXPECT_EQ(refusal(cat("{\"oneOf\":", list(1000, [](int i) { return cat("{\"const\":", i, "}"); }),
                        "}")),
            "the JSON schema, at #: its schemas combine in too many ways");
  std::string doubled;
  for (int i = 0; i < 40; ++i) {
    const std::string next = cat("{\"$ref\":\"#/$defs/d", i + 1, "\"}");
    doubled += cat("\"d", i, "\":{\"allOf\":[", next, ",", next, "]},");
  }
  EXPECT_TRUE(refusal(cat("{\"$defs\":{", doubled, "\"d40\":{}},\"$ref\":\"#/$defs/d0\"}"))
                  .ends_with("they take too many steps to compile"));
  // A chain of alternatives that contain one another is looked at once.
  std::string chain;
  for (int i = 0; i < 40; ++i) {
    const auto branch = [&](std::string_view kind) {
      return cat("{\"type\":\"object\",\"properties\":{\"x\":{\"$ref\":\"#/$defs/d", i + 1,
                 "\"},\"kind\":{\"const\":\"", kind, "\"}},\"required\":[\"x\",\"kind\"]}");
    };
    chain += cat("\"d", i, "\":{\"oneOf\":[", branch("a"), ",", branch("b"), "]},");
  }
  grammar_for(cat("{\"$defs\":{", chain, "\"d40\":{\"type\":\"null\"}},\"$ref\":\"#/$defs/d0\"}"));
}

}  // namespace
}  // namespace kinglet
