// Answers divided into text, thoughts and calls.
#include "answers/answer.h"

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

GenerationStep step(std::string_view text, FinishReason finish = FinishReason::none) {
  GenerationStep step;
  step.text = text;
  step.finish = finish;
  step.token = finish == FinishReason::none ? 4 : kNoToken;
  return step;
}

TEST(AnswerEvents, AddTheSameHoweverTheTextIsCut) {
  for (size_t size = 1; size < kAnswer.size(); ++size) {
    AnswerEvents events(plan());
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
    for (size_t at = 0; at < kAnswer.size(); at += size) {
      const AnswerEvent event = events.read(step(kAnswer.substr(at, size)));
      EXPECT_TRUE(event.is_news());
      add(event.added);
    }
    const AnswerEvent last = events.read(step("", FinishReason::stop));
    add(last.added);
    EXPECT_EQ(text, "Well.");
    EXPECT_EQ(thought, "Hm");
    ASSERT_EQ(calls.size(), 2u) << size;
    EXPECT_EQ(calls[0].name, "f");
    EXPECT_EQ(calls[0].arguments, "{\"x\":1}");
    EXPECT_EQ(calls[1].arguments, "{}");
    EXPECT_TRUE(last.calls_tools);
    EXPECT_EQ(last.counts.n_generated, (kAnswer.size() + size - 1) / size);
    EXPECT_GE(last.counts.n_thought, std::string_view("<think>Hm").size() / size);
    EXPECT_LE(last.counts.n_thought, kAnswer.find("Well") / size + 1);
  }
}

TEST(AnswerEvents, EndThoughtsThatAreTooLong) {
  AnswerPlan limited = plan();
  limited.thought_limit.emplace(false, 1, std::vector<TokenId>{90});
  AnswerEvents events(limited);
  const auto forced_after = [&](std::string_view text, std::string_view held = {}) {
    GenerationStep next = step(text);
    next.held = held;
    next.ends_character = true;
    events.read(std::move(next));
    return events.forced();
  };
  EXPECT_EQ(forced_after("<think>"), kNoToken);
  EXPECT_EQ(forced_after("Hm"), 90);
  // The model ends the thought itself, and a stop string may begin with its mark.
  EXPECT_EQ(forced_after("", "</think>"), kNoToken);
  EXPECT_EQ(forced_after("</think>Well."), kNoToken);
}

TEST(AnswerEvents, HaveNoMoreCallsThanThePlanAllows) {
  AnswerPlan one_call = plan();
  one_call.n_calls_most = 1;
  const AnswerEvent event = AnswerEvents(one_call).read(step(kAnswer, FinishReason::stop));
  ASSERT_EQ(event.added.calls.size(), 1u);
  EXPECT_EQ(event.added.calls[0].arguments, "{\"x\":1}");
  EXPECT_TRUE(event.calls_tools);
}

TEST(AnswerEvents, EndWithLengthIfACallIsNotWhole) {
  const auto finish = [](std::string_view said, FinishReason reason, size_t n_most = 9) {
    AnswerPlan limited = plan();
    limited.n_calls_most = n_most;
    return AnswerEvents(limited).read(step(said, reason)).finish;
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
