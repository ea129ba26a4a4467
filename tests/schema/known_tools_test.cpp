// What a reader of calls must know of the tools.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schema/calls.h"
#include "schema/schema_case.h"

namespace kinglet {
namespace {

std::vector<KnownTool> known(std::string_view tools) {
  auto known = known_tools(json_of(tools));
  EXPECT_TRUE(known.ok()) << known.error().message;
  return known.ok() ? std::move(known.value()) : std::vector<KnownTool>(1);
}

TEST(KnownTools, TellTextsFromNumbers) {
  const std::vector<KnownTool> tools = known(R"([{"function": {"name": "f", "parameters":
      {"properties": {"x": {"type": "string"}, "n": {"type": "integer"}}}}},
      {"function": {"name": "g"}}])");
  ASSERT_EQ(tools.size(), 2u);
  EXPECT_EQ(tools[0].name, "f");
  EXPECT_EQ(tools[0].text_parameters, std::vector<std::string>{"x"});
  EXPECT_TRUE(tools[1].text_parameters.empty());
}

TEST(KnownTools, TakeTextsForWhatTheirSchemaAllows) {
  const KnownTool tool = known(R"([{"function": {"name": "f", "parameters":
      {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "string"}},
      "properties": {"either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
      "one": {"oneOf": [{"const": "a"}, {"enum": ["b", "1"]}]},
      "all": {"allOf": [{"type": ["string", "integer"]}, {"minLength": 1}]},
      "list": {"type": ["string", "boolean"]}, "chain": {"$ref": "#/$defs/a"},
      "length": {"minLength": 3}, "loop": {"$ref": "#/properties/loop"}, "any": {},
      "number": {"type": "number"}}}}}])")[0];
  const std::vector<std::string> texts = {"one", "all", "chain", "length"};
  EXPECT_EQ(tool.text_parameters, texts);
  ASSERT_EQ(tool.mixed_parameters.size(), 3u);
  EXPECT_EQ(tool.mixed_parameters[0].name, "either");
  EXPECT_EQ(tool.mixed_parameters[0].types, kStringType | kNullType);
  EXPECT_EQ(tool.mixed_parameters[1].types, kStringType | kBooleanType);
  EXPECT_EQ(tool.mixed_parameters[2].types, kIntegerType | kNumberType);
}

TEST(KnownTools, FollowReferencesAsTheGrammarDoes) {
  const KnownTool tool = known(R"([{"function": {"name": "f", "parameters":
      {"$defs": {"a/b": {"type": "string"}, "c d": {"type": "string"}},
      "properties": {"x": {"$ref": "#/$defs/a~1b"}, "y": {"$ref": "#/$defs/c%20d"}}}}}])")[0];
  EXPECT_EQ(tool.text_parameters, (std::vector<std::string>{"x", "y"}));
}

TEST(KnownTools, HaveNames) {
  for (const char* tools : {"{}", "[3]", "[{}]", R"([{"function": {"name": 7}}])"}) {
    EXPECT_FALSE(known_tools(json_of(tools)).ok()) << tools;
  }
}

}  // namespace
}  // namespace kinglet
