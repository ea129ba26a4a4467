// Keywords beside those of schema_test.cpp: what their grammars allow and refuse.
#include "schema/keywords.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "schema/schema_case.h"

namespace kinglet {
namespace {

TEST(SchemaKeywords, LeavesAnnotationsOut) {
  check({
      {"words that are no keywords",
       R"({"type":"integer","x-order":1,"javaType":"int","links":[],"id":"a","example":3,"self":{}})",
       {"3"},
       {"\"a\""}},
      {"a format that is not known", R"({"type":"string","format":"color"})", {R"("red")"}, {"1"}},
      {"older bounds",
       R"({"type":"integer","minimum":2,"exclusiveMinimum":true,"maximum":4,"exclusiveMaximum":false})",
       {"3", "4"},
       {"2", "5"}},
      {"null in OpenAPI",
       R"({"type":"string","nullable":true,"maxLength":1})",
       {R"("a")", "null"},
       {R"("ab")", "1"}},
  });
}

TEST(SchemaKeywords, SaysTheOpposite) {
  check({
      {"types",
       R"({"not":{"type":["string","object","array"]}})",
       {"1", "null", "true"},
       {"\"\"", "{}"}},
      {"whole numbers",
       R"({"type":"number","not":{"type":"integer"}})",
       {"1.5", "-0.25"},
       {"1", "2.0"}},
      {"values",
       R"({"type":["string","integer"],"not":{"enum":["a",3]}})",
       {R"("")", R"("b")", R"("aa")", "2", "4", "33"},
       {R"("a")", "3"}},
      {"numbers", R"({"type":"integer","not":{"minimum":3,"maximum":5}})", {"2", "6"}, {"3", "5"}},
      {"multiples",
       R"({"type":"integer","minimum":0,"maximum":9,"not":{"multipleOf":3}})",
       {"4"},
       {"6", "0"}},
      {"lengths", R"({"type":"string","not":{"maxLength":2}})", {R"("abc")"}, {R"("ab")"}},
      {"patterns",
       R"({"type":"string","not":{"pattern":"^a"}})",
       {R"("ba")", R"("")"},
       {R"("ab")"}},
      {"formats", R"({"type":"string","not":{"format":"ipv4"}})", {R"("a")"}, {R"("1.2.3.4")"}},
      {"required properties",
       R"({"properties":{"a":true,"b":true},"not":{"required":["a","b"]}})",
       {"{}", R"({"a":1})", R"({"b":1})"},
       {R"({"a":1,"b":1})"}},
      {"properties",
       R"({"type":"object","not":{"properties":{"a":{"type":"string"}}}})",
       {R"({"a":1})"},
       {"{}", R"({"a":""})"}},
      {"names that others may not have",
       R"({"type":"object","not":{"properties":{"a":true},"additionalProperties":false}})",
       {R"({"b":1})", R"({"c":1,"b":1})"},
       {"{}", R"({"a":1})"}},
      {"names",
       R"({"type":"object","not":{"propertyNames":{"pattern":"^a"}}})",
       {R"({"b":1})", R"({"a":1,"b":1})"},
       {"{}", R"({"a":1})"}},
      {"items",
       R"({"type":"array","not":{"items":{"type":"integer"}}})",
       {R"(["a"])", R"([1,"a"])"},
       {"[]", "[1]"}},
      {"the opposite of the opposite", R"({"not":{"not":{"const":1}}})", {"1"}, {"2"}},
      {"alternatives",
       R"({"type":["integer","null","boolean"],"not":{"anyOf":[{"type":"null"},{"const":true}]}})",
       {"1", "false"},
       {"null", "true"}},
  });
}

TEST(SchemaKeywords, AllowsExactlyOne) {
  check({
      {"of two properties",
       R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"oneOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":null})", R"({"b":null})"},
       {"{}", R"({"a":null,"b":null})"}},
      {"of two ranges",
       R"({"type":"integer","oneOf":[{"minimum":5},{"maximum":7}]})",
       {"4", "8"},
       {"5", "7"}},
      {"of two kinds of numbers",
       R"({"oneOf":[{"type":"integer"},{"type":"number"}]})",
       {"1.5"},
       {"1"}},
      {"of closed objects",
       R"({"oneOf":[{"type":"object","properties":{"a":true},"additionalProperties":false},
                    {"type":"object","properties":{"b":true},"additionalProperties":false}]})",
       {R"({"a":1})", R"({"b":1})"},
       {"{}", R"({"a":1,"b":1})"}},
      {"of a text and a part of it",
       R"({"oneOf":[{"type":"string"},{"enum":["a","b"]}]})",
       {R"("c")"},
       {R"("a")"}},
  });
}

TEST(SchemaKeywords, DependsOnOthers) {
  check({
      {"if",
       R"({"properties":{"a":{"enum":[1,2]},"b":{"type":"integer"}},"required":["a"],
           "if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"properties":{"b":false}}})",
       {R"({"a":1,"b":1})", R"({"a":2})"},
       {R"({"a":1})", R"({"a":2,"b":1})"}},
      {"properties of older drafts",
       R"({"properties":{"a":true,"b":true},"dependencies":{"a":["b"]}})",
       {"{}", R"({"b":1})", R"({"a":1,"b":1})"},
       {R"({"a":1})"}},
      {"properties",
       R"({"properties":{"a":true,"b":true},"dependentRequired":{"a":["b"]}})",
       {R"({"a":1,"b":1})"},
       {R"({"a":1})"}},
      {"schemas",
       R"({"properties":{"a":true,"b":true},"dependentSchemas":{"a":{"properties":{"b":{"type":"null"}}}}})",
       {R"({"a":1,"b":null})", R"({"b":1})"},
       {R"({"a":1,"b":1})"}},
  });
}

TEST(SchemaKeywords, CountsProperties) {
  check({
      {"at least one", R"({"type":"object","minProperties":1})", {R"({"a":1})"}, {"{}"}},
      {"of those that are named",
       R"({"properties":{"a":true,"b":true,"c":true},"additionalProperties":false,"minProperties":2})",
       {R"({"a":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
       {"{}", R"({"b":1})"}},
      {"between",
       R"({"properties":{"a":true},"required":["a"],"minProperties":2,"maxProperties":3})",
       {R"({"a":1,"b":1})", R"({"a":1,"b":1,"c":1})"},
       {R"({"a":1})", R"({"a":1,"b":1,"c":1,"d":1})"}},
      {"none", R"({"type":"object","maxProperties":0})", {"{}"}, {R"({"a":1})"}},
  });
}

TEST(SchemaKeywords, DescribesLists) {
  check({
      {"tuple of older drafts",
       R"({"type":"array","items":[{"type":"integer"},{"type":"null"}],"additionalItems":{"type":"boolean"},"minItems":1})",
       {"[1]", "[1,null]", "[1,null,true,false]"},
       {"[]", "[null]", "[1,null,1]"}},
      {"tuple without others",
       R"({"type":"array","items":[{"type":"integer"}],"additionalItems":false})",
       {"[1]"},
       {"[1,2]", "[]"}},
      {"contains",
       R"({"type":"array","items":{"enum":[1,2]},"contains":{"const":2}})",
       {"[2]", "[1,2,1]", "[2,2]"},
       {"[]", "[1]"}},
      {"contains some",
       R"({"type":"array","items":{"enum":[1,2]},"contains":{"const":2},"minContains":2,"maxContains":3})",
       {"[2,2]", "[2,1,2,2]"},
       {"[2]", "[2,2,2,2]"}},
      {"contains two kinds",
       R"({"type":"array","allOf":[{"contains":{"const":1}},{"contains":{"const":2}}]})",
       {"[1,2]", "[2,3,1]"},
       {"[1]", "[2,2]"}},
      {"different values",
       R"({"type":"array","items":{"enum":["a","b",3]},"uniqueItems":true,"minItems":1})",
       {R"(["b","a"])", R"([3,"a","b"])"},
       {"[]", R"(["a","a"])", R"(["a","b","a"])"}},
      {"different numbers, in their order",
       R"({"type":"array","items":{"type":"integer","minimum":0,"maximum":20},"uniqueItems":true})",
       {"[]", "[3,7,20]"},
       {"[3,3]", "[1,2,1]", "[21]"}},
      {"texts that may not be different",
       R"({"type":"array","items":{"type":"string"},"uniqueItems":true})",
       {R"(["a","b"])"},
       {"[1]"}},
  });
}

TEST(SchemaKeywords, FiltersValues) {
  check({
      {"by sizes and bounds",
       R"({"enum":["a","abc",1,9,[],[1],{},{"a":1}],"minLength":2,"minimum":5,"minItems":1,"minProperties":1})",
       {R"("abc")", "9", "[1]", R"({"a":1})"},
       {R"("a")", "1", "[]", "{}"}},
      {"by properties and items",
       R"({"enum":[{"a":1},{"a":"x"},{"b":1},[1],["x"]],"properties":{"a":{"type":"integer"}},"required":["a"],"items":{"type":"integer"}})",
       {R"({"a":1})", "[1]"},
       {R"({"a":"x"})", R"({"b":1})", R"(["x"])"}},
  });
}

TEST(SchemaKeywords, FollowsNames) {
  check({
      {"an anchor",
       R"({"$defs":{"x":{"$anchor":"n","type":"null"}},"$ref":"#n"})",
       {"null"},
       {"1"}},
      {"an address",
       R"({"$id":"https://a.example/b/root.json","properties":{"x":{"$ref":"part.json#/$defs/y"}},
           "$defs":{"p":{"$id":"part.json","$defs":{"y":{"type":"null"}}}},"required":["x"]})",
       {R"({"x":null})"},
       {R"({"x":1})"}},
      {"a place that is no keyword",
       R"({"parts":{"x":{"type":"null"}},"$ref":"#/parts/x"})",
       {"null"},
       {"1"}},
  });
}

TEST(SchemaKeywords, LimitsLongTexts) {
  check({
      {"a format that is short enough",
       R"({"type":"string","format":"uuid","maxLength":1000})",
       {R"("01234567-89ab-cdef-0123-456789abcdef")"},
       {R"("")"}},
      {"what repeats",
       R"({"type":"string","pattern":"^data:[a-z0-9]*$","maxLength":5000})",
       {R"("data:abc")"},
       {R"("data:-")", cat("\"data:", std::string(5000, 'a'), "\"")}},
  });
}

TEST(SchemaKeywords, CountsManyCharacters) {
  Texts texts(grammar_for(R"({"type":"string","minLength":1500,"maxLength":32767})"));
  const auto have = [&](size_t n) { return texts.have(cat("\"", std::string(n, 'a'), "\"")); };
  for (const size_t n : {1500u, 1501u, 1627u, 1628u, 1629u, 2000u, 16'384u, 32'766u, 32'767u}) {
    EXPECT_TRUE(have(n)) << n;
  }
  for (const size_t n : {0u, 1499u, 32'768u, 40'000u}) EXPECT_FALSE(have(n)) << n;
}

TEST(SchemaKeywords, WarnsOfMisspeltOnes) {
  const auto warnings = [](std::string_view schema) { return warnings_of_schema(json_of(schema)); };
  EXPECT_EQ(warnings(R"({"properties":{"a":{"minlength":1},"reqired":{}},"reqired":["a"]})"),
            (std::vector<std::string>{
                "the JSON schema, at #: \"reqired\" is not a keyword and has no effect; did you "
                "mean \"required\"?",
                "the JSON schema, at #/properties/a: \"minlength\" is not a keyword and has no "
                "effect; did you mean \"minLength\"?"}));
  EXPECT_EQ(warnings(R"({"city":"string"})"),
            (std::vector<std::string>{"the JSON schema, at #: it has none of JSON Schema's "
                                      "keywords, so any value is valid"}));
  EXPECT_TRUE(
      warnings(R"({"id":"a","name":"b","self":{},"x-type":1,"example":1,"links":[]})").empty());
}

// The first words of the rows of the table in the documentation.
TEST(SchemaKeywords, AreAllDocumented) {
  std::ifstream file(cat(KINGLET_SOURCE_DIR, "/docs/grammar.md"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t at = text.find("| keywords | remarks |");
  ASSERT_NE(at, text.npos);
  const std::string table = text.substr(at, text.find("\n\n", at) - at);
  std::vector<std::string> documented;
  for (size_t row = table.find("\n| `"); row != table.npos; row = table.find("\n| `", row + 1)) {
    const std::string cell = table.substr(row + 3, table.find(" | ", row + 3) - row - 3);
    for (size_t mark = cell.find('`'); mark != cell.npos;) {
      const size_t end = cell.find('`', mark + 1);
      documented.push_back(cell.substr(mark + 1, end - mark - 1));
      mark = cell.find('`', end + 1);
    }
  }
  for (const std::string_view keyword : schema::limiting_keywords()) {
    EXPECT_NE(std::find(documented.begin(), documented.end(), keyword), documented.end())
        << keyword;
  }
  for (const std::string& keyword : documented) {
    EXPECT_TRUE(schema::is_known_keyword(keyword)) << keyword;
  }
}

}  // namespace
}  // namespace kinglet
