// Objects that have the properties that their schema names, and others only where it needs them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schema/schema_case.h"

namespace kinglet {
namespace {

void check_closed(const std::vector<SchemaCase>& cases) {
  for (const auto& [name, schema, good, bad] : cases) {
    SCOPED_TRACE(name);
    const SharedGrammar grammar = grammar_for(schema, {});
    if (grammar == nullptr) continue;
    Texts closed(grammar);
    Texts open(grammar_for(schema));
    for (const std::string& text : good) {
      EXPECT_TRUE(closed.have(text)) << text;
      EXPECT_TRUE(open.have(text)) << text;
    }
    for (const std::string& text : bad) EXPECT_FALSE(closed.have(text)) << text;
  }
}

TEST(ClosedObjects, HaveTheNamedProperties) {
  check_closed({
      {"properties",
       R"({"properties":{"a":{"type":"integer"},"b":{}}})",
       {"{}", R"({"a":1})", R"({"a":1,"b":{"x":1}})"},
       {R"({"c":1})", R"({"a":1,"c":1})"}},
      {"no properties", R"({"type":"object","properties":{}})", {"{}"}, {R"({"c":1})"}},
      {"required",
       R"({"type":"object","required":["a"]})",
       {R"({"a":1})", R"({"a":{"z":[]}})"},
       {"{}", R"({"a":1,"b":1})"}},
      {"required and not listed",
       R"({"properties":{"a":{"type":"integer"}},"required":["b"]})",
       {R"({"b":true})", R"({"a":1,"b":true})"},
       {R"({"b":1,"c":1})"}},
      {"inside",
       R"({"type":"array","items":{"$ref":"#/$defs/a"},
           "$defs":{"a":{"properties":{"a":{"$ref":"#/$defs/b"}}},"b":{"properties":{"b":true}}}})",
       {R"([{"a":{"b":1}},{}])"},
       {R"([{"c":1}])", R"([{"a":{"c":1}}])"}},
  });
}

TEST(ClosedObjects, StayOpenWhereTheSchemaSpeaksOfOthers) {
  check_closed({
      {"nothing named", R"({"type":"object"})", {"{}", R"({"c":1})"}, {}},
      {"anything", "{}", {R"({"c":1})"}, {}},
      {"names that are absent",
       R"({"type":"object","not":{"required":["a"]}})",
       {R"({"c":1})"},
       {R"({"a":1})"}},
      {"additionalProperties",
       R"({"properties":{"a":{}},"additionalProperties":{"type":"integer"}})",
       {R"({"a":"","c":1})"},
       {R"({"c":""})"}},
      {"additionalProperties: true",
       R"({"properties":{"a":{}},"additionalProperties":true})",
       {R"({"c":""})"},
       {}},
      {"patternProperties",
       R"({"properties":{"a":{}},"patternProperties":{"^x":{"type":"integer"}}})",
       {R"({"a":1,"xy":1})", R"({"x":1})"},
       {R"({"x":""})", R"({"y":1})"}},
      {"patterns that are absent",
       R"({"type":"object","patternProperties":{"^x":false}})",
       {R"({"y":1})"},
       {R"({"x":1})"}},
      {"propertyNames",
       R"({"properties":{"a":{}},"propertyNames":{"pattern":"^[ab]$"}})",
       {R"({"a":1,"b":1})"},
       {R"({"c":1})"}},
  });
}

TEST(ClosedObjects, HaveAsManyOthersAsTheyNeed) {
  check_closed({
      {"minProperties",
       R"({"properties":{"a":{"type":"integer"}},"minProperties":3})",
       {R"({"a":1,"b":1,"c":1})", R"({"b":1,"c":1,"d":1})"},
       {R"({"a":1,"b":1})", R"({"a":1,"b":1,"c":1,"d":1})"}},
      {"minProperties that the named ones satisfy",
       R"({"properties":{"a":{},"b":{}},"minProperties":2})",
       {R"({"a":1,"b":1})"},
       {R"({"a":1})", R"({"a":1,"c":1})"}},
      {"named ones that are absent",
       R"({"properties":{"a":{},"b":false},"minProperties":2})",
       {R"({"a":1,"c":1})"},
       {R"({"a":1,"b":1})", R"({"a":1,"c":1,"d":1})"}},
      {"patterns that nothing matches",
       R"({"properties":{"a":{}},"patternProperties":{"^x":false},"minProperties":2})",
       {R"({"a":1,"c":1})"},
       {R"({"a":1,"x":1})"}},
      {"a property that breaks a demand",
       R"({"type":"object","properties":{"a":{}},"not":{"patternProperties":{"^x":{"type":"null"}}}})",
       {R"({"x":1})"},
       {R"({"x":null})", R"({"a":1})"}},
  });
}

TEST(ClosedObjects, HaveTheNamesOfAllSchemas) {
  check_closed({
      {"allOf",
       R"({"allOf":[{"properties":{"a":{}},"required":["a"]},
                    {"properties":{"b":{}},"required":["b"]}]})",
       {R"({"a":1,"b":1})", R"({"b":1,"a":1})"},
       {R"({"a":1})", R"({"a":1,"b":1,"c":1})"}},
      {"anyOf beside properties",
       R"({"properties":{"a":{}},"anyOf":[{"properties":{"b":{}},"required":["b"]},
                                          {"required":["a"]}]})",
       {R"({"a":1,"b":1})", R"({"a":1})"},
       {"{}", R"({"a":1,"c":1})"}},
      {"$ref beside properties",
       R"({"$defs":{"a":{"properties":{"a":{}},"required":["a"]}},"$ref":"#/$defs/a",
           "properties":{"b":{}}})",
       {R"({"a":1,"b":1})", R"({"a":1})"},
       {R"({"b":1})", R"({"a":1,"c":1})"}},
      {"if",
       R"({"properties":{"a":{"type":"boolean"}},"required":["a"],
           "if":{"properties":{"a":{"const":true}}},"then":{"required":["b"]}})",
       {R"({"a":true,"b":1})", R"({"a":false})"},
       {R"({"a":true})", R"({"a":false,"c":1})"}},
      {"dependentRequired",
       R"({"properties":{"a":{}},"dependentRequired":{"a":["z"]}})",
       {"{}", R"({"a":1,"z":1})"},
       {R"({"a":1})", R"({"c":1})"}},
      {"values that are listed", R"({"properties":{"a":{}},"enum":[{"b":1}]})", {R"({"b":1})"}, {}},
  });
}

}  // namespace
}  // namespace kinglet
