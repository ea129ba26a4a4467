// How answers are constrained and read.
#include "chat/answer_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar_support.h"
#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

constexpr std::string_view kThinks = "{{ messages }}<tool_call></tool_call><think>{# </think> #}";
constexpr std::string_view kTools = R"([{"function": {"name": "f"}}])";

class AnswerPlanTest : public testing::Test {
 protected:
  Result<AnswerPlan> plan(const AnswerDemands& demands, std::string_view prompt = "",
                          std::string_view prefix = "") {
    return plan_answer(find_answer_format(kThinks), demands, prompt, prefix, *tokenizer_);
  }

  // Returns the texts of all parts of a kind.
  static std::string said(const AnswerPlan& plan, std::string_view answer, AnswerPart::Kind kind) {
    AnswerReader reader = plan.reader();
    std::vector<AnswerPart> parts;
    reader.push(answer, parts);
    reader.end(parts);
    std::string text;
    for (const AnswerPart& part : parts) text += part.kind == kind ? part.text : "";
    return text;
  }

  static bool takes(const AnswerPlan& plan, std::string_view text) {
    GrammarMatcher matcher(plan.grammar);
    return accepts(matcher, text);
  }

  std::unique_ptr<Tokenizer> tokenizer_ = spm_tokenizer({}, false);
  Json schema_{{"type", "integer"}};
  Json tools_ = parse_json(kTools).value();
};

TEST_F(AnswerPlanTest, LeavesAnswersFree) {
  const auto free = plan({});
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free.value().grammar, nullptr);
  EXPECT_EQ(said(free.value(), "<think>a</think>b", AnswerPart::Kind::thought), "a");
}

TEST_F(AnswerPlanTest, ReadsNoThoughtsInJson) {
  const auto json = plan({.schema = &schema_});
  ASSERT_TRUE(json.ok());
  EXPECT_TRUE(takes(json.value(), "7"));
  EXPECT_FALSE(takes(json.value(), "a</think>7"));
  EXPECT_EQ(said(json.value(), "<think>a", AnswerPart::Kind::text), "<think>a");
}

TEST_F(AnswerPlanTest, BeginsJsonAfterTheThought) {
  for (const auto& [prompt, prefix] :
       {std::pair("<think>\n", ""), std::pair("", "<think>"), std::pair("<think>", "Hm")}) {
    const auto json = plan({.schema = &schema_}, prompt, prefix);
    ASSERT_TRUE(json.ok());
    EXPECT_TRUE(takes(json.value(), "a</think>7")) << prefix;
    EXPECT_FALSE(takes(json.value(), "7")) << prefix;
    EXPECT_EQ(said(json.value(), "a</think>7", AnswerPart::Kind::text), "7");
  }
  const auto ended = plan({.schema = &schema_}, "<think>", "Hm</think>");
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(takes(ended.value(), "7"));
}

TEST_F(AnswerPlanTest, LimitsThoughtsWhereThereMayBeSome) {
  const auto limit_of = [](const Result<AnswerPlan>& planned) {
    return planned.value().thought_limit;
  };
  const auto limit = limit_of(plan({.n_thinking_most = 0}, "<think>"));
  ASSERT_TRUE(limit);
  EXPECT_NE(limit->next(), kNoToken);
  EXPECT_FALSE(limit_of(plan({}, "<think>")));
  EXPECT_FALSE(limit_of(plan({.schema = &schema_, .n_thinking_most = 0})));
}

TEST_F(AnswerPlanTest, MakesCalls) {
  const auto calls = plan({.tools = tools_, .must_call = true, .schema = &schema_}, "<think>");
  ASSERT_TRUE(calls.ok());
  EXPECT_TRUE(takes(calls.value(),
                    "Hm</think><tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"));
}

TEST_F(AnswerPlanTest, RefusesTwoConstraints) {
  EXPECT_EQ(plan({.schema = &schema_, .grammar = "root ::= \"a\""}).error().message,
            "an answer cannot match a grammar and also a schema or required tool calls");
  EXPECT_FALSE(plan({.tools = tools_, .must_call = true, .grammar = "root ::= \"a\""}).ok());
  EXPECT_FALSE(plan({.tools = Json(7)}).ok());
}

TEST_F(AnswerPlanTest, SaysInTheSchemasTermsWhatIsTooMuch) {
  Json texts = Json::array();
  for (const char c : {'a', 'b', 'c'}) texts.push_back(std::string(400'000, c));
  const Json schema = {{"items", Json{{"enum", texts}}}};
  EXPECT_EQ(plan({.schema = &schema}).error().message,
            "the JSON schema, at #/items: it is too large, mostly because \"enum\" has 3 values, "
            "which take 1200010 bytes");
}

// A closed object of these would be in another one, without end.
TEST_F(AnswerPlanTest, OpensObjectsThatNeedThemselves) {
  const Json schema =
      parse_json(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "minProperties": 1})")
          .value();
  EXPECT_TRUE(plan({.schema = &schema}).ok());
  const Json endless = parse_json(R"({"type": "object", "properties": {"a": {"$ref": "#"}},
      "required": ["a"]})")
                           .value();
  EXPECT_EQ(
      plan({.schema = &endless}).error().message,
      "the JSON schema, at #: no value is valid: each would contain another one, without end");
}

}  // namespace
}  // namespace kinglet
