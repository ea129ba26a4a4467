// Grammars of JSON schemas: which texts they allow.
#include "schema/schema.h"

#include <gtest/gtest.h>

#include <string>

#include "schema/schema_case.h"

namespace kinglet {
namespace {

TEST(Schema, TakesTypes) {
  check({
      {"any JSON",
       "{}",
       {"{}", "[]", R"("a")", "-1.5e3", "true", "null", R"({"a":[1,{"b":"\u00e9"}]})"},
       {"", "{", "{ }", "[1, 2]", R"({"a": 1})", "[1,]", "01", "\"\n\"", "nul", R"({"a" 1})",
        R"("\ud83d")"}},
      {"true", "true", {"[true,false]"}, {}},
      {"annotations",
       R"({"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","description":"D","default":1,"examples":[2]})",
       {"{}"},
       {}},
      {"null", R"({"type":"null"})", {"null"}, {"0", "nulll"}},
      {"boolean", R"({"type":"boolean"})", {"true", "false"}, {R"("true")"}},
      {"several types",
       R"({"type":["string","null","integer"],"maxLength":2,"minimum":5})",
       {"null", R"("ab")", "5", "1000"},
       {"4", R"("abc")", "5.5", "true"}},
  });
}

TEST(Schema, LimitsNumbers) {
  check({
      {"integer",
       R"({"type":"integer"})",
       {"0", "-7", "123456789012345"},
       {"1.0", "-", "007", "1e3"}},
      {"number",
       R"({"type":"number"})",
       {"0", "-7.25", "1e-9", "1E+99"},
       {".5", "5.", "1e999", "NaN"}},
      {"integers from 7 to 1234",
       R"({"type":"integer","minimum":7,"maximum":1234})",
       {"7", "9", "10", "99", "100", "999", "1000", "1199", "1230", "1234"},
       {"6", "0", "-8", "1235", "1240", "1300", "2000", "12340", "007"}},
      {"integers from -120 to 15",
       R"({"type":"integer","minimum":-120,"maximum":15})",
       {"-120", "-119", "-99", "-1", "0", "15", "9", "10"},
       {"-121", "-130", "-200", "16", "20", "-0", "-1200"}},
      {"integers between exclusive bounds",
       R"({"type":"integer","exclusiveMinimum":-3,"exclusiveMaximum":2.5})",
       {"-2", "0", "2"},
       {"-3", "3"}},
      {"integers from 50 on",
       R"({"type":"integer","minimum":50})",
       {"50", "99", "100", "999999999999999"},
       {"49", "5", "-50"}},
      {"integers up to -50",
       R"({"type":"integer","maximum":-50})",
       {"-50", "-100", "-999999999999999"},
       {"-49", "0", "50"}},
      {"numbers from 0 to 1",
       R"({"type":"number","minimum":0,"maximum":1})",
       {"0", "0.5", "0.999999", "1", "1.0"},
       {"1.000001", "-0.1", "2", "10"}},
      {"numbers above 0",
       R"({"type":"number","exclusiveMinimum":0})",
       {"0.1", "0.000001", "1", "12.5"},
       {"0", "0.0", "-1"}},
      {"numbers from -10 up to 10",
       R"({"type":"number","minimum":-10,"exclusiveMaximum":10})",
       {"-10", "-10.0", "-9.99", "-0.5", "0", "9.999999"},
       {"-10.1", "10", "10.0", "11", "-11"}},
      {"numbers below -3",
       R"({"type":"number","exclusiveMaximum":-3})",
       {"-3.1", "-4", "-100.5"},
       {"-3", "-3.0", "-2.9", "0", "3.5"}},
      {"one number", R"({"type":"number","minimum":5,"maximum":5})", {"5", "5.0"}, {"5.1", "4"}},
      {"numbers between fractions",
       R"({"type":"number","minimum":0.5,"exclusiveMaximum":2.25})",
       {"0.5", "0.50", "1", "2.249999", "2.2"},
       {"0.49", "0.4999", "2.25", "2.250", "2.3", "10", "-1"}},
      {"numbers between small fractions of both signs",
       R"({"type":"number","exclusiveMinimum":-0.001,"maximum":1e-7})",
       {"-0.000999", "0", "0.0000001"},
       {"-0.001", "0.00000011", "-0", "0.000001"}},
      {"numbers between powers of ten",
       R"({"type":"number","minimum":-3.4e+38,"maximum":3.4e+38})",
       {"0.1", "999999999999999", "-123456789.25"},
       {"1e39", "-0"}},
      {"multiples of an integer",
       R"({"type":"integer","multipleOf":7,"minimum":-20})",
       {"-14", "0", "7", "700", "999999999999994"},
       {"-21", "1", "8", "701"}},
      {"multiples of a fraction",
       R"({"type":"number","multipleOf":0.25,"exclusiveMinimum":0,"maximum":99.5})",
       {"0.25", "0.5", "0.50", "3", "99.5"},
       {"0", "0.1", "0.3", "99.75", "0.125"}},
      {"multiples of two numbers",
       R"({"type":"integer","allOf":[{"multipleOf":4},{"multipleOf":6},{"multipleOf":1.5}]})",
       {"0", "12", "-24"},
       {"4", "6", "18"}},
  });
}

TEST(Schema, LimitsStrings) {
  check({
      {"string",
       R"({"type":"string"})",
       {R"("")", R"("a\n\"\u00e9 ü 😀")", R"("\ud7ff")"},
       {R"(")", "\"\t\"", R"("\x")", R"("\ud800")", R"("\uDFFF")"}},
      {"string of 2 to 3 characters",
       R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("😀é\n")", R"("\u00e9bc")"},
       {R"("a")", R"("abcd")", R"("")"}},
      {"string not empty", R"({"type":"string","minLength":1})", {}, {R"("")"}},
      {"pattern",
       R"({"type":"string","pattern":"^[A-Z]{2}-\\d{3,4}(?:x|y)?$"})",
       {R"("AB-123")", R"("AB-1234y")"},
       {R"("A-123")", R"("AB-12")", R"("AB-123z")", R"("xAB-123")"}},
      {"pattern anywhere",
       R"({"type":"string","pattern":"a+b|^c"})",
       {R"("xaab\"y")", R"("c")", R"("c\n")", R"("ab")"},
       {R"("xc")", R"("a")", R"("")"}},
      {"pattern with what JSON escapes",
       R"({"type":"string","pattern":"^[\"\\\\\\n\\x01]+[^\"a-z]$"})",
       {R"("\"\\\n\u0001A")", R"("\"\\")", R"("\"\n")"},
       {R"("\"\"")", R"("\"a")", R"("A")"}},
      {"pattern with classes",
       R"({"type":"string","pattern":"^\\w+\\s\\D\\S.[^\\d\\s](?<n>a*?)$"})",
       {R"("a_1 x?é-aa")"},
       {R"("a_1 1?é-")", R"("a_1 x?\n-")"}},
      {"pattern with code points",
       R"({"type":"string","pattern":"^[\\u{1F600}-\\u{1F64F}]\\ud83d\\ude80é$"})",
       {R"("😀🚀é")"},
       {R"("a🚀é")"}},
      {"pattern of some length",
       R"({"type":"string","pattern":"^ab\\..*","minLength":5,"maxLength":7})",
       {R"("ab.cd")", R"("ab.\"\"xy")"},
       {R"("ab.")", R"("ab.c")", R"("ab.cdefg")", R"("xab.cd")"}},
      {"two patterns",
       R"({"type":"string","allOf":[{"pattern":"^a"},{"pattern":"z$"}],"maxLength":4})",
       {R"("az")", R"("abcz")", R"("a\nzz")"},
       {R"("a")", R"("z")", R"("abcdz")", R"("ba z")"}},
      {"pattern that looks ahead",
       R"({"type":"string","pattern":"^(?=.*[0-9])(?!.*x)(?:a|(?=bc).).{0,3}$"})",
       {R"("a1")", R"("bc2")", R"("acd9")"},
       {R"("a")", R"("bd2")", R"("a1x")", R"("abcd1")"}},
      {"pattern with anchors inside",
       R"-({"type":"string","pattern":"(?:^|-)(a+)(?:$|,)"})-",
       {R"("aa")", R"("x-a")", R"("a,b")", R"("x-aa,")"},
       {R"("xa")", R"("ab")", R"("")"}},
      {"pattern with properties of characters",
       R"({"type":"string","pattern":"^\\p{Lu}[\\p{Ll}\\d]+\\P{L}$"})",
       {R"("Éa1!")", R"("Ωω9")"},
       {R"("éa1!")", R"("Éa1b")"}},
      {"pattern beside a format",
       R"({"type":"string","format":"date","pattern":"^20","maxLength":12})",
       {R"("2024-02-29")"},
       {R"("1999-12-31")", R"("2023-02-29")"}},
  });
}

TEST(Schema, KnowsFormats) {
  check({
      {"uri",
       R"({"type":"string","format":"uri"})",
       {R"("https://example.com")", R"("http://a.b.co:8080/x/y.html?q=1&r=a/b#top")"},
       {R"("example.com")", R"("https://")", R"("https://a b.com")"}},
      {"duration",
       R"({"type":"string","format":"duration"})",
       {R"("P1Y2M3DT4H5M6S")", R"("PT15M")", R"("P2W")"},
       {R"("P")", R"("P1DT")", R"("1D")", R"("P1W2D")"}},
      {"hostname",
       R"({"type":"string","format":"hostname"})",
       {R"("a")", R"("www.example.com")"},
       {R"("-a")", R"("a..b")", R"("")"}},
      {"ipv6",
       R"({"type":"string","format":"ipv6"})",
       {R"("::")", R"("::1")", R"("2001:db8::8a2e:370:7334")", R"("1:2:3:4:5:6:7:8")", R"("1::")"},
       {R"("1:2:3:4:5:6:7")", R"("1::2::3")", R"("12345::")"}},
      {"date",
       R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("2000-02-29")", R"("1999-12-31")", R"("2023-04-30")"},
       {R"("2023-02-29")", R"("1900-02-29")", R"("2023-04-31")", R"("2023-13-01")",
        R"("2023-1-1")"}},
      {"time",
       R"({"type":"string","format":"time"})",
       {R"("23:59:59Z")", R"("00:00:00.25+02:00")"},
       {R"("24:00:00Z")", R"("12:00")", R"("12:60:00Z")"}},
      {"date and time",
       R"({"type":"string","format":"date-time"})",
       {R"("2024-02-29T12:00:00Z")"},
       {R"("2024-02-29")", R"("2023-02-29T12:00:00Z")"}},
      {"uuid",
       R"({"type":"string","format":"uuid"})",
       {R"("123e4567-e89b-12d3-a456-426614174000")"},
       {R"("123e4567-e89b-12d3-a456")"}},
      {"email", R"({"type":"string","format":"email"})", {R"("a.b@c.de")"}, {R"("a")"}},
      {"ipv4",
       R"({"type":"string","format":"ipv4"})",
       {R"("192.168.0.255")"},
       {R"("256.1.1.1")", R"("1.1.1")"}},
  });
}

TEST(Schema, ListsValues) {
  check({
      {"enum",
       R"({"enum":["red","a \"b\"\n",7,null,{"x":[1]}]})",
       {R"("red")", R"("a \"b\"\n")", "7", "null", R"({"x":[1]})"},
       {"red", R"("blue")", "8"}},
      {"enum with a type", R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"}},
      {"const", R"({"const":-1.5})", {"-1.5"}, {"-1.50"}},
  });
}

TEST(Schema, KeepsTheListedValuesThatOtherKeywordsAllow) {
  check({
      {"numbers",
       R"({"enum":[1,2,3,3.5,4],"minimum":2,"exclusiveMaximum":4,"multipleOf":0.5})",
       {"2", "3", "3.5"},
       {"1", "4"}},
      {"exact multiples", R"({"enum":[0.3,0.35],"multipleOf":0.1})", {"0.3"}, {"0.35"}},
      {"strings",
       R"({"enum":["é","ab","c","B"],"maxLength":1,"pattern":"^[^c]"})",
       {R"("é")", R"("B")"},
       {R"("ab")", R"("c")"}},
      {"lists", R"({"enum":[[],[1],[1,2]],"minItems":1,"maxItems":1})", {"[1]"}, {"[]", "[1,2]"}},
      {"values of other types", R"({"enum":["a",1,null],"minimum":5})", {R"("a")", "null"}, {"1"}},
      {"names of properties",
       R"({"propertyNames":{"enum":["a","bc"],"maxLength":1},"additionalProperties":{"type":"null"}})",
       {R"({"a":null})", "{}"},
       {R"({"bc":null})"}},
      {"enum and const", R"({"enum":[1,2],"const":2})", {"2"}, {"1"}},
      {"numbers as they are spelled", R"({"enum":[1.0,1e2]})", {"1.0", "1e2"}, {"1", "100"}},
  });
}

TEST(Schema, DescribesObjects) {
  check({
      {"object",
       R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"]})",
       {R"({"name":"a","age":1})", R"({"name":"a","age":1,"x":2})"},
       {R"({ "name": "a", "age": 1 })", R"({"name":"a"})", R"({"age":1,"name":"a"})",
        R"({"name":"a","age":1,"age":2})", "{}"}},
      {"object with optional properties",
       R"({"properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}},"required":["b"]})",
       {R"({"b":null})", R"({"a":null,"b":null})", R"({"b":null,"c":null})"},
       {"{}", R"({"a":null})", R"({"a":null,"c":null})", R"({,"b":null})", R"({"b":null,})"}},
      {"object with only optional properties",
       R"({"properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}}})",
       {"{}", R"({"a":null})", R"({"b":null})", R"({"a":null,"c":null})", R"({"b":null,"c":null})"},
       {R"({"c":null,"a":null})", R"({"a":null"b":null})", R"({"d":null,"a":null})"}},
      {"object with other properties",
       R"({"properties":{"ab":{"type":"integer"},"a":{"type":"integer"},"q\"\n":{"type":"integer"}},"required":["a"],"additionalProperties":{"type":"string"}})",
       {R"({"a":1})", R"({"ab":1,"a":1,"abc":"x","":"y","b":"z"})", R"({"a":1,"q\"":"x","\n":""})"},
       {R"({"a":1,"b":1})", R"({"a":1,"ab":"x"})", R"({"a":1,"a":"x"})",
        R"({"a":1,"\u0061":"x"})"}},
      {"object with any other properties",
       R"({"properties":{"a":{"type":"integer"}},"additionalProperties":true})",
       {"{}", R"({"a":1,"b":[{}]})", R"({"b":null})"},
       {R"({"a":"x"})"}},
      {"any object", R"({"type":"object"})", {"{}", R"({"a":{"b":[]}})"}, {"[]", "1"}},
      {"map",
       R"({"type":"object","additionalProperties":{"type":"number"}})",
       {"{}", R"({"a":1,"b":2})"},
       {R"({"a":"x"})"}},
      {"map with names of a kind",
       R"({"type":"object","propertyNames":{"pattern":"^k[0-9]$"},"additionalProperties":{"type":"null"}})",
       {"{}", R"({"k1":null,"k2":null})"},
       {R"({"x":null})"}},
      {"record of an enum",
       R"({"type":"object","propertyNames":{"type":"string","enum":["a","b"]},"additionalProperties":{"type":"number"},"required":["b"]})",
       {R"({"b":1})", R"({"a":1,"b":2})"},
       {"{}", R"({"a":1})", R"({"c":1,"b":1})", R"({"b":"x"})", R"({"b":1,"b":2})"}},
      {"map with names of a kind and a property",
       R"({"properties":{"k1":{"type":"string"},"x":true},"required":["k2"],"propertyNames":{"anyOf":[{"pattern":"^k"},{"const":"j"}],"maxLength":3},"additionalProperties":{"type":"null"}})",
       {R"({"k2":null})", R"({"k1":"","k2":null,"k33":null,"j":null})"},
       {R"({"k2":null,"x":1})", R"({"k1":null,"k2":null})", R"({"k2":null,"k444":null})", "{}"}},
      {"properties by patterns",
       R"({"properties":{"a1":{"maximum":5}},"patternProperties":{"^a\\d$":{"type":"integer"},"^b":{"type":"null"}},"additionalProperties":{"type":"boolean"}})",
       {"{}", R"({"a1":5,"a2":7,"b":null,"c":true})", R"({"a10":false})"},
       {R"({"a1":6})", R"({"a1":true})", R"({"a2":null})", R"({"b":1})", R"({"c":1})"}},
      {"properties by overlapping patterns, and no others",
       R"({"type":"object","patternProperties":{"^a":{"type":"integer"},"z$":{"minimum":3}},"additionalProperties":false})",
       {R"({"a":1})", R"({"bz":3})"},
       {R"({"b":1})", R"({"az":1})"}},
      {"nothing but an annotation of what is not",
       R"({"type":"object","properties":{"a":{"not":{}},"b":{"type":"null","not":false}}})",
       {"{}", R"({"b":null})"},
       {R"({"a":1})"}},
      {"closed and empty object",
       R"({"type":"object","additionalProperties":false})",
       {"{}"},
       {R"({"a":1})"}},
      {"required property without a schema",
       R"({"type":"object","required":["a"]})",
       {R"({"a":[1]})"},
       {"{}", R"({"b":1})"}},
      {"forbidden property",
       R"({"properties":{"a":{"type":"null"},"b":false},"additionalProperties":true})",
       {R"({"a":null})", R"({"c":1})"},
       {R"({"b":1})", R"({"a":null,"b":1})"}},
  });
}

TEST(Schema, DescribesLists) {
  check({
      {"array",
       R"({"type":"array","items":{"type":"integer"}})",
       {"[]", "[1]", "[1,2,3]"},
       {"[1, 2]", "[1,]", R"(["a"])", "[,1]", "[1 2]"}},
      {"array of 2 to 3",
       R"({"items":{"type":"boolean"},"minItems":2,"maxItems":3})",
       {"[true,true]", "[true,false,true]"},
       {"[]", "[true]", "[true,true,true,true]"}},
      {"empty array", R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
      {"array without items", R"({"type":"array","items":false})", {"[]"}, {"[1]"}},
      {"tuple",
       R"({"prefixItems":[{"type":"string"},{"type":"integer"}]})",
       {R"(["a",1])"},
       {R"([1,"a"])", R"(["a",1,2])"}},
      {"tuple and more",
       R"({"prefixItems":[{"type":"string"}],"items":{"type":"null"},"minItems":2,"maxItems":3})",
       {R"(["a",null])", R"(["a",null,null])"},
       {R"(["a"])", R"(["a",null,null,null])"}},
  });
}

TEST(Schema, CombinesSchemas) {
  check({
      {"anyOf",
       R"({"anyOf":[{"type":"integer","minimum":3},{"type":"string","maxLength":1},false]})",
       {"3", R"("a")"},
       {"2", R"("ab")"}},
      {"anyOf beside properties",
       R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"},
       {"{}"}},
      {"oneOf by type",
       R"({"oneOf":[{"type":"string"},{"type":"array","items":{"type":"null"}}]})",
       {R"("a")", "[null]"},
       {"[1]"}},
      {"oneOf by a property",
       R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},{"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"integer"}},"required":["kind","side"]}]})",
       {R"({"kind":"circle","radius":1.5})", R"({"kind":"square","side":1})"},
       {R"({"kind":"square","radius":1})"}},
      {"allOf of objects",
       R"({"allOf":[{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]},{"properties":{"a":{"minimum":3},"b":{"type":"string"}},"required":["b"]}]})",
       {R"({"a":3,"b":""})"},
       {R"({"a":2,"b":""})", R"({"a":3})"}},
      {"allOf of everything else",
       R"({"allOf":[{"type":["integer","string","array"],"minimum":2,"minLength":2,"minItems":1},{"type":["number","string","array"],"maximum":11,"maxLength":3,"maxItems":2},{"minimum":3,"maxLength":5,"prefixItems":[{"type":"null"}],"items":{"type":"boolean"}}]})",
       {"3", "11", R"("ab")", R"("abc")", "[null]", "[null,true]"},
       {"2", "12", "3.5", R"("a")", R"("abcd")", "[]", "[null,null]", "[null,true,true]"}},
      {"allOf of enums",
       R"({"allOf":[{"enum":["a","b","c"]},{"enum":["b","c","d"]}],"anyOf":[{"const":"b"}]})",
       {R"("b")"},
       {R"("a")", R"("c")", R"("d")"}},
      {"allOf with closed objects",
       R"({"allOf":[{"properties":{"a":true,"b":true},"additionalProperties":false},{"properties":{"b":{"type":"null"},"c":true},"additionalProperties":true}]})",
       {R"({"a":1,"b":null})", "{}"},
       {R"({"c":1})", R"({"b":1})"}},
  });
}

TEST(Schema, FollowsReferences) {
  check({
      {"reference with demands beside it",
       R"({"$defs":{"id":{"type":"integer","minimum":1}},"$ref":"#/$defs/id","maximum":3})",
       {"1", "3"},
       {"0", "4"}},
      {"recursive reference",
       R"({"$defs":{"node":{"type":"object","properties":{"name":{"type":"string","maxLength":4},"children":{"type":"array","items":{"$ref":"#/$defs/node"},"maxItems":2}},"required":["name"]}},"$ref":"#/$defs/node"})",
       {R"({"name":"a","children":[{"name":"b"},{"name":"c","children":[]}]})"},
       {R"({"children":[]})", R"({"name":"a","children":[{}]})"}},
      {"reference to the whole",
       R"({"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#"},"maxItems":2}]})",
       {"1", "[]", "[[1],[2,[3]]]"},
       {R"(["a"])", "[1,2,3]"}},
      {"reference with an escaped name",
       R"({"definitions":{"a/b ~%":{"type":"null"}},"items":{"$ref":"#/definitions/a~1b%20~0%25"}})",
       {"[null]"},
       {"[1]"}},
      {"two types that share properties",
       R"({"$defs":{"base":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]},"named":{"allOf":[{"$ref":"#/$defs/base"},{"properties":{"name":{"type":"string"}}}]}},"type":"array","items":{"anyOf":[{"$ref":"#/$defs/named"},{"type":"null"}]}})",
       {R"([{"id":1,"name":"a"},null,{"id":2}])"},
       {R"([{"name":"a"}])"}},
  });
}

// A reference with other keywords beside it is merged with them, level by level.
TEST(Schema, EndsCirclesOfReferencesThatAreMerged) {
  check({
      {"an object in itself",
       R"({"type":"object","properties":{"name":{"type":"string","maxLength":2},
           "sub":{"type":"object","$ref":"#"}},"required":["name"]})",
       {R"({"name":"a","sub":{"name":"b","sub":{"name":"c","sub":{"name":"d"}}}})"},
       {R"({"name":"a","sub":{"name":"b","sub":{"name":"c","sub":{}}}})"}},
      {"a map of maps",
       R"({"$defs":{"map":{"type":"object","additionalProperties":{"anyOf":[{"type":"null"},
           {"title":"M","$ref":"#/$defs/map","propertyNames":{"maxLength":1}}]}}},
           "$ref":"#/$defs/map"})",
       {R"({"ab":{"b":{"c":null}}})", "{}"},
       {R"({"ab":{"bc":null}})"}},
  });
}

TEST(Schema, ConvertsWhatAlternativesShareOnce) {
  std::string schema = R"({"pattern":"^(?!x).{1,3}$"})";
  for (int level = 0; level < 25; ++level) {
    schema =
        R"({"properties":{"x":)" + schema + R"(},"anyOf":[{"required":["x"]},{"required":["y"]}]})";
  }
  const SharedGrammar grammar = grammar_for(schema);
  ASSERT_NE(grammar, nullptr);
  EXPECT_LT(grammar->steps().size(), 50'000u);
}

// As JSON.stringify does it.
TEST(Schema, IndentsLevels) {
  struct Case {
    const char* schema;
    const char* value;
  };
  for (
      const auto& [schema, value] :
      {Case{"true", R"({"a":[1,[],{},{"b":null}],"c":"d"})"},
       Case{R"({"properties":{"p":{"properties":{"x":{"type":"integer"}}}}})", R"({"p":{"x":1}})"},
       Case{R"({"properties":{"p":{}}})", "{}"},
       Case{R"({"items":{"type":"null"},"maxItems":3})", "[null,null]"},
       Case{
           R"({"prefixItems":[{"items":{"type":"integer"}}],"items":{"type":"null"},"minItems":2})",
           "[[1],null]"},
       Case{R"({"additionalProperties":{"items":{"type":"null"}}})", R"({"a":[null],"b":[]})"},
       Case{R"({"properties":{"a":{"const":{"b":[1,{}]}}}})", R"({"a":{"b":[1,{}]}})"},
       Case{R"({"properties":{"more":{"$ref":"#"},"end":{"type":"null"}}})",
            R"({"more":{"more":{"end":null}}})"}}) {
    for (const size_t indent : {0u, 1u, 4u}) {
      Texts texts(grammar_for(schema, {.indent = indent, .open_objects = true}));
      for (const size_t other : {0u, 1u, 4u}) {
        const std::string text = print(json_of(value), std::string(other, ' '));
        const bool is_same = text == print(json_of(value), std::string(indent, ' '));
        EXPECT_EQ(texts.have(text), is_same) << schema << "\n" << text;
      }
    }
  }
}

TEST(Schema, DoesNotIndentFromSomeDepthOn) {
  Texts texts(grammar_for(R"({"$defs":{"a":{"items":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"})",
                          {.indent = 2, .open_objects = true}));
  std::string list = "[]";
  for (int depth = 0; depth < 11; ++depth) list = "[" + list + "]";
  EXPECT_TRUE(texts.have(print(json_of(list), "  ")));
  EXPECT_FALSE(texts.have(list));
  EXPECT_FALSE(texts.have(print(json_of("[[[" + list + "]]]"), "  ")));
}

}  // namespace
}  // namespace kinglet
