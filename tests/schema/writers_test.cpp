// Schemas as libraries write them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/format.h"
#include "schema/schema_case.h"

namespace kinglet {
namespace {

// z.toJSONSchema() of Zod 4.
TEST(SchemaWriters, Zod) {
  check({
      {"email",
       R"({"type":"string","format":"email","pattern":"^(?:[A-Za-z0-9_'+\\-]+\\.)*[A-Za-z0-9_'+\\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"})",
       {R"("ann.lee+x@example.org")"},
       {R"("ann")", R"("a@b")", R"(".a@b.co")"}},
      {"uuid",
       R"({"type":"string","format":"uuid","pattern":"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$"})",
       {R"("123e4567-e89b-42d3-a456-426614174000")"},
       {R"("23e4567-e89b-42d3-a456-426614174000")", R"("123e4567-e89b-92d3-a456-426614174000")"}},
      {"emoji",
       R"({"type":"string","format":"emoji","pattern":"^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$"})",
       {R"("🐝")", R"("👍🏽")"},
       {R"("a")", R"("")"}},
      {"base64",
       R"({"type":"string","format":"base64","contentEncoding":"base64","pattern":"^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$"})",
       {R"("")", R"("aGk=")", R"("aGV5")"},
       {R"("aGk")", R"("!")"}},
      {"hostname",
       R"({"type":"string","format":"hostname","pattern":"^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\\.?$"})",
       {R"("www.example.org")"},
       {R"("-a")", R"("")"}},
      {"date",
       R"({"type":"string","format":"date","pattern":"^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))$"})",
       {R"("2024-02-29")"},
       {R"("2023-02-29")", R"("2024-1-1")"}},
      {"duration",
       R"({"type":"string","format":"duration","pattern":"^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$"})",
       {R"("P1Y2DT3H")", R"("P3W")", R"("PT5M")"},
       {R"("P")", R"("PT")", R"("1D")"}},
      {"lowercase",
       R"({"type":"string","format":"lowercase","pattern":"^[^A-Z]*$"})",
       {R"("")", R"("é1")"},
       {R"("aB")"}},
      {"a beginning and an end",
       R"({"type":"string","maxLength":4,"format":"ends_with","allOf":[{"pattern":"^a.*"},{"pattern":".*z$"}]})",
       {R"("az")", R"("abcz")"},
       {R"("a")", R"("abcdz")"}},
      {"what is included",
       R"({"type":"string","maxLength":9,"format":"includes","pattern":"x y"})",
       {R"("ax yb")"},
       {R"("xy")"}},
      {"an email of a length",
       R"({"type":"string","maxLength":12,"format":"email","pattern":"^(?:[A-Za-z0-9_'+\\-]+\\.)*[A-Za-z0-9_'+\\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"})",
       {R"("a@b.co")"},
       {R"("ann.lee@example.org")"}},
      {"template literal",
       R"({"type":"string","pattern":"^v-?\\d+\\.(a|b)$"})",
       {R"("v12.a")", R"("v-1.b")"},
       {R"("v.a")", R"("v1.c")"}},
      {"int",
       R"({"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991})",
       {"0", "-5", "999999999999999"},
       {"1.5"}},
      {"float64",
       R"({"type":"number","minimum":-1.7976931348623157e+308,"maximum":1.7976931348623157e+308})",
       {"0.5", "1234567.125"},
       {}},
      {"multiple of a fraction", R"({"type":"number","multipleOf":0.25})", {"0", "-1.75"}, {"0.1"}},
      {"steps",
       R"({"type":"integer","minimum":3,"maximum":98,"multipleOf":5})",
       {"5", "95"},
       {"0", "6", "100"}},
      {"literals",
       R"({"enum":["a",1,true,null]})",
       {R"("a")", "1", "true", "null"},
       {R"("b")", "2"}},
      {"record of an enum",
       R"({"type":"object","propertyNames":{"type":"string","enum":["a","b"]},"additionalProperties":{"type":"number"},"required":["a","b"]})",
       {R"({"a":1,"b":2})"},
       {R"({"a":1})", R"({"a":1,"b":2,"c":3})", R"({"a":"x","b":1})"}},
      {"partial record of an enum",
       R"({"type":"object","propertyNames":{"type":"string","enum":["a","b"]},"additionalProperties":{"type":"number"}})",
       {"{}", R"({"b":2})"},
       {R"({"c":3})"}},
      {"record of names of a kind",
       R"({"type":"object","propertyNames":{"type":"string","pattern":"^k\\d$"},"additionalProperties":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}})",
       {"{}", R"({"k1":1,"k2":2})"},
       {R"({"k":1})"}},
      {"record of numbers",
       R"({"type":"object","propertyNames":{"type":"string","pattern":"^-?\\d+(?:\\.\\d+)?$"},"additionalProperties":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}})",
       {R"({"1.5":2})"},
       {R"({"a":1})"}},
      {"loose record",
       R"({"type":"object","patternProperties":{"^k\\d$":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}}})",
       {R"({"k1":1})"},
       {R"({"k1":"x"})"}},
      {"object",
       R"({"type":"object","properties":{"a":{"type":"string"},"b":{"default":3,"type":"number"},"c":{"type":["boolean","null"]},"d":{"type":["string","null"]},"e":{"not":{}}},"required":["b","c"],"additionalProperties":false})",
       {R"({"b":1,"c":null})", R"({"a":"x","b":2,"c":true,"d":null})"},
       {R"({"b":1})", R"({"a":null,"b":1,"c":true})"}},
      {"loose object",
       R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":{}})",
       {R"({"a":""})", R"({"a":"","b":[1]})"},
       {R"({"b":1})"}},
      {"object with a catchall",
       R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}})",
       {R"({"a":"","b":1})"},
       {R"({"a":"","b":"x"})"}},
      {"tuple",
       R"({"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false,"minItems":2,"maxItems":2})",
       {R"(["a",1])"},
       {R"(["a"])", R"(["a",1,2])"}},
      {"tuple with a rest",
       R"({"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"null"},"minItems":1})",
       {R"(["a"])", R"(["a",null])"},
       {R"(["a",1])", "[]"}},
      {"discriminated union",
       R"({"oneOf":[{"type":"object","properties":{"k":{"type":"string","const":"a"},"x":{"type":"string"}},"required":["k","x"],"additionalProperties":false},{"type":"object","properties":{"k":{"type":"string","const":"b"},"y":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}},"required":["k","y"],"additionalProperties":false}]})",
       {R"({"k":"a","x":""})", R"({"k":"b","y":1})"},
       {R"({"k":"a","y":1})", R"({"k":"c"})"}},
      {"one of two",
       R"({"oneOf":[{"type":"string"},{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}]})",
       {R"("a")", "1"},
       {"null"}},
      {"intersection",
       R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}},"required":["a","b"],"additionalProperties":false})",
       {R"({"a":"","b":1})"},
       {R"({"a":""})"}},
      {"json",
       R"({"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"null"},{"type":"array","items":{"$ref":"#"}},{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{"$ref":"#"}}]})",
       {R"({"a":[1,"x",null]})", "true"},
       {}},
      {"what has a name",
       R"({"type":"object","properties":{"u":{"$ref":"#/$defs/U"}},"required":["u"],"additionalProperties":false,"description":"D","$defs":{"U":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991,"title":"t","description":"d"}}})",
       {R"({"u":1})"},
       {R"({"u":"x"})"}},
      {"what refers to itself",
       R"({"type":"object","properties":{"name":{"type":"string"},"kids":{"maxItems":2,"type":"array","items":{"$ref":"#"}}},"required":["name"],"additionalProperties":false})",
       {R"({"name":"a","kids":[{"name":"b","kids":[]}]})"},
       {R"({"name":"a","kids":[{}]})"}},
  });
}

std::string pydantic_schema(std::string_view name) {
  std::ifstream file(cat(KINGLET_SOURCE_DIR, "/tests/web/pydantic-schemas.json"));
  std::stringstream text;
  text << file.rdbuf();
  const Json schemas = json_of(text.str());
  const Json* schema = schemas.find(name);
  return schema == nullptr ? "" : print(*schema);
}

// model_json_schema() of Pydantic 2.
TEST(SchemaWriters, Pydantic) {
  Texts node(grammar_for(pydantic_schema("node")));
  EXPECT_TRUE(node.have(R"({"value":1,"next":{"value":2,"next":null}})"));
  EXPECT_FALSE(node.have(R"({"next":null})"));
  EXPECT_FALSE(node.have(R"({"value":1,"next":{"value":"x"}})"));

  Texts strict(grammar_for(pydantic_schema("strict")));
  EXPECT_TRUE(strict.have(R"({"at":"09:30:15Z","x":14,"addr":"127.0.0.1","d":"1.50"})"));
  EXPECT_TRUE(strict.have(R"({"at":"09:30:15Z","x":14,"addr":"127.0.0.1","d":1.5})"));
  EXPECT_FALSE(strict.have(R"({"at":"09:30:15Z","x":15,"addr":"127.0.0.1","d":"1.50"})"));
  EXPECT_FALSE(strict.have(R"({"at":"09:30:15Z","x":14,"addr":"127.0.0.1","d":"-"})"));
}

// Every kind of field of Pydantic, with one value changed at a time.
TEST(SchemaWriters, PydanticFields) {
  Texts order(grammar_for(pydantic_schema("order")));
  constexpr std::string_view kWhole =
      R"({"id":"123e4567-e89b-42d3-a456-426614174000","color":"blue","price":0.5,)"
      R"("when":"2024-02-29T09:30:15Z","day":null,"wait":"P1D","pet":{"kind":"cat","lives":9},)"
      R"("pair":[1,"a"],"tags":["x","y"],"scores":{"a":0.5},"by_color":{"red":1},)"
      R"("codes":{"de":49},"link":"https://example.org/","mode":"b","anything":[null]})";
  struct Change {
    std::string_view from;
    std::string_view to;
    bool is_good = false;
  };
  for (const auto& [from, to, is_good] :
       {Change{"", "", true},
        {R"({"kind":"cat","lives":9})", R"({"kind":"dog","name":"Rex"})", true},
        {R"("color":"blue",)", "", true},
        {"blue", "green"},
        {R"("price":0.5)", R"("price":0)"},
        {R"("price":0.5)", R"("price":0.1)"},
        {R"("price":0.5)", R"("price":99.75)"},
        {"https://example.org/", ""},
        {R"({"kind":"cat","lives":9})", R"({"kind":"dog","name":"rex"})"},
        {R"({"kind":"cat","lives":9})", R"({"kind":"cat","name":"Rex"})"},
        {R"([1,"a"])", "[1]"},
        {R"(["x","y"])", "[]"},
        {R"({"red":1})", R"({"green":1})"},
        {R"("de":49)", R"("de":"x")"},
        {R"("mode":"b")", R"("mode":"c")"},
        {"P1D", "1 day"}}) {
    std::string text(kWhole);
    text.replace(text.find(from), from.size(), to);
    EXPECT_EQ(order.have(text), is_good) << text;
  }
}

// What OpenAI's strict mode accepts, as in its guide.
TEST(SchemaWriters, OpenAiStrictMode) {
  check({
      {"steps of a solution",
       R"({"type":"object","properties":{"steps":{"type":"array","items":{"type":"object",
           "properties":{"explanation":{"type":"string"},"output":{"type":"string"}},
           "required":["explanation","output"],"additionalProperties":false}},
           "final_answer":{"type":"string"}},"required":["steps","final_answer"],
           "additionalProperties":false})",
       {R"({"steps":[{"explanation":"a","output":"b"}],"final_answer":"c"})"},
       {R"({"steps":[],"final_answer":null})"}},
      {"what may be null, in bounds",
       R"({"type":"object","properties":{"unit":{"type":["string","null"],"enum":["F","C",null]},
           "user":{"type":"string","pattern":"^@[a-zA-Z0-9_]+$"},
           "heat":{"type":"number","minimum":-130,"maximum":130,"multipleOf":0.5},
           "mails":{"type":"array","items":{"type":"string","format":"email"},"minItems":1}},
           "required":["unit","user","heat","mails"],"additionalProperties":false})",
       {R"({"unit":null,"user":"@ann","heat":-12.5,"mails":["a@b.co"]})"},
       {R"({"unit":"K","user":"@ann","heat":-12.5,"mails":["a@b.co"]})",
        R"({"unit":"F","user":"@ann","heat":-12.25,"mails":["a@b.co"]})"}},
      {"a list that goes on in itself",
       R"({"type":"object","properties":{"list":{"$ref":"#/$defs/node"}},"required":["list"],
           "additionalProperties":false,"$defs":{"node":{"type":"object",
           "properties":{"value":{"type":"number"},
           "next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},
           "required":["value","next"],"additionalProperties":false}}})",
       {R"({"list":{"value":1,"next":{"value":2.5,"next":null}}})"},
       {R"({"list":{"value":1}})"}},
  });
}

}  // namespace
}  // namespace kinglet
