// Requests of the Responses API, as requests of chats.
#include "openai/response_request.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/format.h"
#include "openai/parsed.h"
#include "session/sessions.h"

namespace kinglet::openai {
namespace {

Json chat_of(std::string_view body) {
  auto chat = chat_body(json(body));
  EXPECT_TRUE(chat.ok()) << chat.error().message;
  return chat.ok() ? chat.value() : Json();
}

Json messages_of(std::string_view items) {
  return chat_of(cat(R"({"input": )", items, "}"))["messages"];
}

TEST(ResponseRequests, AreChatsWithOtherNames) {
  EXPECT_EQ(chat_of(R"({"input": "Hi", "instructions": "Be kind.", "max_output_tokens": 9,
      "temperature": 0.5, "seed": 3, "store": false, "include": ["message.output_text.logprobs"],
      "top_logprobs": 2, "parallel_tool_calls": false, "reasoning": {"effort": "low",
      "summary": "auto"}, "text": {"format": {"type": "json_schema", "name": "n", "strict": true,
      "schema": {"type": "null"}, "open_objects": true}, "verbosity": "low"}, "background": false, "user": null,
      "tools": [{"type": "function", "name": "f", "parameters": null, "strict": true}],
      "tool_choice": {"type": "function", "name": "f"}})"),
            json(R"({"messages": [{"role": "system", "content": "Be kind."},
      {"role": "user", "content": "Hi"}], "max_completion_tokens": 9, "temperature": 0.5,
      "seed": 3, "store": false, "logprobs": true, "top_logprobs": 2,
      "parallel_tool_calls": false, "reasoning_effort": "low", "response_format":
      {"type": "json_schema", "json_schema": {"schema": {"type": "null"}, "open_objects": true}},
      "tools": [{"type": "function", "function": {"name": "f", "parameters": null,
      "strict": true}}],
      "tool_choice": {"type": "function", "function": {"name": "f"}}})"));
  EXPECT_EQ(chat_of(R"({"input": "a", "tool_choice": {"type": "allowed_tools", "mode": "auto",
      "tools": [{"type": "function", "name": "f"}]}})")["tool_choice"],
            json(R"({"type": "allowed_tools", "allowed_tools": {"mode": "auto",
      "tools": [{"type": "function", "function": {"name": "f"}}]}})"));
}

TEST(ResponseRequests, JoinTheItemsOfAnAnswer) {
  EXPECT_EQ(messages_of(R"([{"role": "user", "content": [{"type": "input_text", "text": "a"},
      {"type": "input_image", "image_url": "data:x", "detail": "low"}]},
      {"type": "reasoning", "id": "rs", "summary": [], "content":
          [{"type": "reasoning_text", "text": "h"}, {"type": "reasoning_text", "text": "m"}]},
      {"type": "message", "role": "assistant", "status": "completed", "content":
          [{"type": "output_text", "text": "b", "annotations": [], "logprobs": []}]},
      {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
      {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "1", "output": "c"},
      {"role": "assistant", "content": "d"}, {"role": "assistant", "content": "e"},
      {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]}])"),
            json(R"([{"role": "user", "content": [{"type": "text", "text": "a"},
      {"type": "image_url", "image_url": {"url": "data:x"}}]},
      {"role": "assistant", "reasoning_content": "hm", "content": [{"type": "text", "text": "b"}],
       "tool_calls": [
          {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
          {"id": "2", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "c"},
      {"role": "assistant", "content": "d"}, {"role": "assistant", "content": "e"},
      {"role": "assistant", "reasoning_content": "s"}])"));
}

std::string wrong_parameter(std::string_view body) {
  const auto chat = chat_body(json(body));
  return chat.ok() ? "none" : chat.error().param;
}

TEST(ResponseRequests, AreRefusedWithTheNameOfTheirParameter) {
  for (const auto& [more, expected] : {
           std::pair<std::string_view, std::string_view>{R"("n": 2)", "n"},
           {R"("messages": [])", "messages"},
           {R"("max_tokens": 3)", "max_tokens"},
           {R"("max_output_tokens": 0)", "max_output_tokens"},
           {R"("background": true)", "background"},
           {R"("previous_response_id": "x")", "previous_response_id"},
           {R"("include": 3)", "include"},
           {R"("text": {"size": 1})", "text.size"},
           {R"("text": {"format": {"type": "text", "x": 1}})", "text.format.x"},
           {R"("reasoning": {"effort": 1})", "reasoning.effort"},
           {R"("reasoning": {"depth": 1})", "reasoning.depth"},
           {R"("tools": [{"type": "web_search"}])", "tools[0]"},
           {R"("tools": {})", "tools"},
           {R"("tool_choice": {"type": "file_search"})", "tool_choice"},
           {R"("instructions": [])", "instructions"},
       }) {
    EXPECT_EQ(wrong_parameter(cat(R"({"input": "a", )", more, "}")), expected);
  }
  for (
      const auto& [input, expected] : {
          std::pair<std::string_view, std::string_view>{"3", "input"},
          {"null", "input"},
          {"[3]", "input[0]"},
          {R"([{"role": "tool", "content": "a"}])", "input[0].role"},
          {R"([{"role": "user", "content": 3}])", "input[0].content"},
          {R"([{"role": "user", "content": [{"type": "input_file"}]}])", "input[0].content[0]"},
          {R"([{"role": "user", "content": [{"type": "input_image", "file_id": "x"}]}])",
           "input[0].content[0].file_id"},
          {R"([{"role": "user", "content": [{"type": "input_image"}]}])",
           "input[0].content[0].image_url"},
          {R"([{"role": "user", "content": "a", "x": 1}])", "input[0].x"},
          {R"([{"type": "item_reference", "id": "x"}])", "input[0]"},
          {R"([{"type": "function_call", "arguments": "{}"}])", "input[0].name"},
          {R"([{"type": "reasoning", "content": [{"type": "input_image", "image_url": "data:"}]}])",
           "input[0].content"},
      }) {
    EXPECT_EQ(wrong_parameter(cat(R"({"input": )", input, "}")), expected) << input;
  }
}

class ResponseRequestTest : public testing::Test {
 protected:
  LanguageModel loaded_ = load_tiny({.edit = [](GgufBuilder& file) {
    file.set("tokenizer.chat_template", std::string_view("{{ messages[0].content }}"));
  }});
  ChatLayout layout_{loaded_.model.header(), loaded_.tokenizer->vocabulary()};
  ServedModel model_{loaded_, layout_, {.name = "tiny", .n_ctx = 4}};
};

TEST_F(ResponseRequestTest, RepeatsWhatWasAskedFor) {
  const auto read = read_response_request(
      json(R"({"model": "m", "input": "a", "max_output_tokens": 3, "metadata": {"a": "b"},
          "truncation": "auto", "top_p": 0.5, "tools": []})"),
      model_, {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().options.max_tokens, 3u);
  EXPECT_EQ(read.value().model, "m");
  EXPECT_EQ(read.value().repeated,
            json(R"({"instructions": null, "max_output_tokens": 3, "metadata": {"a": "b"},
      "parallel_tool_calls": true, "previous_response_id": null, "temperature": null,
      "top_p": 0.5, "text": {"format": {"type": "text"}}, "tools": [], "tool_choice": "auto",
      "truncation": "auto"})"));
}

TEST_F(ResponseRequestTest, NamesItsOwnParametersForThoseOfChats) {
  const auto wrong = [&](std::string_view more) {
    const auto read = read_response_request(json(cat(R"({"input": "a", )", more, "}")), model_, {});
    return read.ok() ? "none" : read.error().param;
  };
  EXPECT_EQ(wrong(R"("text": {"format": {"type": "xml"}})"), "text.format");
  EXPECT_EQ(wrong(R"("text": {"format": {"type": "json_schema", "schema": {"if": 1}}})"),
            "text.format");
  EXPECT_EQ(wrong(R"("input": [{"role": "user", "content": [{"type": "input_image",
      "image_url": "data:x"}]}])"),
            "input");
  EXPECT_EQ(wrong(R"("conversation": "x")"), "conversation");
  EXPECT_EQ(wrong(R"("truncation": "half")"), "truncation");
}

TEST_F(ResponseRequestTest, CountsTokensOfPromptsThatAreTooLong) {
  const Json body = json(R"({"input": "aaaaaaaa"})");
  EXPECT_EQ(read_response_request(body, model_, {}).error().code, "context_length_exceeded");
  const auto count = count_response_tokens(body, model_, {});
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_GE(count.value(), 8u);
  const Json chat = json(R"({"messages": [{"role": "user", "content": "aaaaaaaa"}]})");
  EXPECT_EQ(count_chat_tokens(chat, model_, {}).value(), count.value());
}

}  // namespace
}  // namespace kinglet::openai
