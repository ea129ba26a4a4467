// Answers divided into text, thoughts and calls.
#include "chat/chat_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "text/answer/answer_format.h"

namespace kinglet {
namespace {

constexpr std::string_view kAnswer =
    "<think>Hm</think>Well.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": "
    "1}}\n</tool_call>"
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";

AnswerPlan plan() {
  return {.format = find_answer_format("{{ tools }}<tool_call></tool_call><think></think>"),
          .tools = {{.name = "f"}},
          .prompt = {},
          .prefix = {}};
}

TEST(ChatAnswer, SaysTheSameHoweverItIsCut) {
  for (size_t size = 1; size < kAnswer.size(); ++size) {
    ChatAnswer answer(plan());
    std::string text;
    std::string thought;
    std::vector<CallDelta> calls;
    const auto add = [&](const AnswerDelta& delta) {
      text += delta.text;
      thought += delta.thought;
      for (const CallDelta& call : delta.calls) {
        if (call.index == calls.size()) {
          ASSERT_TRUE(call.name);
          calls.push_back(call);
        } else {
          ASSERT_EQ(call.index, calls.size() - 1);
          EXPECT_FALSE(call.name);
          calls.back().arguments += call.arguments;
        }
      }
    };
    for (size_t at = 0; at < kAnswer.size(); at += size) add(answer.push(kAnswer.substr(at, size)));
    add(answer.end());
    EXPECT_EQ(text, "Well.");
    EXPECT_EQ(thought, "Hm");
    ASSERT_EQ(calls.size(), 2u) << size;
    EXPECT_EQ(calls[0].name, "f");
    EXPECT_EQ(calls[0].arguments, "{\"x\":1}");
    EXPECT_EQ(calls[1].arguments, "{}");
    EXPECT_TRUE(answer.has_whole_calls(2));
  }
}

TEST(ChatAnswer, EndsWithLengthIfACallIsNotWhole) {
  const auto finish = [](std::string_view said, FinishReason reason, size_t n_most = 9) {
    ChatAnswer answer(plan());
    answer.push(said);
    answer.end();
    return answer.finish(reason, n_most);
  };
  const std::string_view cut = kAnswer.substr(0, kAnswer.size() - 15);
  EXPECT_EQ(finish(kAnswer, FinishReason::stop), FinishReason::stop);
  EXPECT_EQ(finish(cut, FinishReason::stop), FinishReason::length);
  EXPECT_EQ(finish(cut, FinishReason::stop, 1), FinishReason::stop);
  EXPECT_EQ(finish(cut, FinishReason::context), FinishReason::context);
  EXPECT_EQ(finish(cut, FinishReason::cancelled), FinishReason::cancelled);
  EXPECT_EQ(finish("Well.", FinishReason::stop), FinishReason::stop);
}

}  // namespace
}  // namespace kinglet
