// Adapting conversations to what templates know.
#include "chat/template_dialect.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>

namespace kinglet {
namespace {

constexpr TemplateDialect kNothing;
constexpr TemplateDialect kAll{.knows_tools = true, .knows_calls = true, .knows_developer = true};
constexpr TemplateDialect kOnlyCalls{.knows_calls = true, .knows_developer = true};

Json json(std::string_view text) { return parse_json(text).value(); }

const Json kOneTool = json(R"([{"type": "function", "function": {"name": "f"}}])");

Json conversation() {
  return json(R"([{"role": "developer", "content": "Be kind."},
      {"role": "assistant", "content": "", "tool_calls":
       [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"n\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": {"n": 2}}}]},
      {"role": "tool", "tool_call_id": "a", "content": "5"}])");
}

TEST(TemplateDialectTest, ChangesNothingThatATemplateKnows) {
  EXPECT_EQ(in_dialect(conversation(), kOneTool, kAll).value(), conversation());
  EXPECT_EQ(in_dialect(conversation(), Json::array(), kOnlyCalls).value(), conversation());
}

TEST(TemplateDialectTest, MakesTextsOfWhatATemplateDoesNotKnow) {
  const auto made = in_dialect(conversation(), kOneTool, kNothing);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::string& system = made.value()[0]["content"].as_string();
  EXPECT_EQ(made.value()[0]["role"], "system");
  EXPECT_TRUE(system.starts_with("Be kind.\n\n")) << system;
  EXPECT_NE(system.find("{\"name\":\"f\"}"), std::string::npos) << system;
  EXPECT_EQ(made.value()[1]["content"],
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\":1}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"g\", \"arguments\": {\"n\":2}}\n</tool_call>");
  EXPECT_FALSE(made.value()[1].contains("tool_calls"));
  EXPECT_EQ(made.value()[2],
            json(R"({"role": "user", "content": "<tool_response>\n5\n</tool_response>"})"));
}

TEST(TemplateDialectTest, AddsASystemMessageForTools) {
  const auto made = in_dialect(json(R"([{"role": "user", "content": "a"}])"), kOneTool, kNothing);
  ASSERT_EQ(made.value().size(), 2);
  EXPECT_EQ(made.value()[0]["role"], "system");
  // The model is asked for calls in one form, so it sees earlier ones in the same.
  const auto spelled = in_dialect(conversation(), kOneTool, kOnlyCalls);
  EXPECT_FALSE(spelled.value()[1].contains("tool_calls")) << print(spelled.value());
}

TEST(TemplateDialectTest, RefusesArgumentsThatAreNotJson) {
  const Json given = json(R"([{"role": "assistant", "content": "",
      "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}])");
  const auto made = in_dialect(given, Json::array(), kAll);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "the arguments of the earlier call to \"f\" are not JSON");
  EXPECT_TRUE(in_dialect(given, Json::array(), kNothing).ok());
}

TEST(TemplateDialectTest, CanBeCancelled) {
  const std::atomic<uint32_t> word = 1;
  EXPECT_EQ(in_dialect(conversation(), kOneTool, kAll, {&word, 1}).error().code,
            ErrorCode::cancelled);
}

}  // namespace
}  // namespace kinglet
