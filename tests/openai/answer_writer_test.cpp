// Answers that are written while a model makes them.
#include "openai/answer_writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "openai/parsed.h"
#include "openai/response_writer.h"
#include "session/sessions.h"
#include "text/answer/answer_format.h"

namespace kinglet::openai {
namespace {

constexpr std::string_view kSaid =
    "<think>Hm</think>Well.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n"
    "</tool_call><tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";

class AnswerWriterTest : public testing::Test {
 protected:
  AnswerWriterTest() {
    request_.model = "m";
    request_.prompts.push_back({{1, 2, 3}, ""});
    request_.answer.format =
        find_answer_format("{{ tools }}<tool_call></tool_call><think></think>");
    request_.answer.tools = {{.name = "f"}};
    request_.repeated = Json::object();
  }

  // Writes the answer in pieces of `size` bytes, one for each token; returns the chunks.
  std::vector<Json> write(AnswerWriter& writer, std::string_view said, size_t size,
                          FinishReason finish = FinishReason::stop) const {
    std::vector<Json> chunks;
    writer.begin_choice(request_.prompts[0], true, 0, chunks);
    AnswerEvents events(request_.answer);
    const auto read = [&](const GenerationStep& step) {
      AnswerEvent event = events.read(step);
      event.counts.n_cached = 2;
      writer.read(event, chunks);
    };
    GenerationStep step;
    step.token = 4;
    for (size_t at = 0; at < said.size(); at += size) {
      step.text = said.substr(at, size);
      read(step);
    }
    GenerationStep last;
    last.finish = finish;
    read(last);
    return chunks;
  }

  LanguageModel loaded_ = load_tiny();
  ResponseRequest request_;
};

// Assembles the items from the events of a stream, as clients do.
Json assembled(const std::vector<Json>& events) {
  Json items = Json::array();
  for (const Json& event : events) {
    const std::string& type = event["type"].as_string();
    if (type == "response.output_item.added") {
      EXPECT_EQ(event["output_index"], items.size());
      items.push_back(event["item"]);
    } else if (type == "response.content_part.added") {
      items.as_array().back()["content"].push_back(event["part"]);
    } else if (type == "response.function_call_arguments.delta") {
      items.as_array().back()["arguments"].as_string() += event["delta"].as_string();
    } else if (type.ends_with(".delta")) {
      Json& part = items.as_array().back()["content"].as_array().back();
      part["text"].as_string() += event["delta"].as_string();
      if (!event.contains("logprobs")) continue;
      for (const Json& token : event["logprobs"].as_array()) part["logprobs"].push_back(token);
    } else if (type == "response.output_item.done") {
      items.as_array().back()["status"] = event["item"]["status"];
      EXPECT_EQ(items.as_array().back(), event["item"]);
    }
  }
  return items;
}

TEST_F(AnswerWriterTest, ResponsesAreItemsThatGrow) {
  request_.options.n_logprobs = 0;
  for (size_t size = 1; size < kSaid.size(); ++size) {
    ResponseWriter writer(request_, *loaded_.tokenizer);
    const std::vector<Json> events = write(writer, kSaid, size);
    for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["sequence_number"], i);
    EXPECT_EQ(events[0]["type"], "response.created");
    EXPECT_EQ(events[1]["type"], "response.in_progress");
    EXPECT_EQ(events[1]["response"]["status"], "in_progress");
    EXPECT_EQ(events.back()["type"], "response.completed");
    const Json whole = writer.whole();
    EXPECT_EQ(events.back()["response"], whole);
    EXPECT_EQ(whole["output"], assembled(events));
    ASSERT_EQ(whole["output"].size(), 4u) << size;
    EXPECT_EQ(whole["output"][0]["content"][0]["text"], "Hm");
    EXPECT_EQ(whole["output"][1]["content"][0]["text"], "Well.");
    EXPECT_EQ(whole["output"][2]["arguments"], "{\"x\":1}");
    EXPECT_EQ(whole["output"][3]["arguments"], "{}");
    EXPECT_EQ(whole["output_text"], "Well.");
    EXPECT_EQ(whole["status"], "completed");
  }
}

// The log names them if the client leaves.
TEST_F(AnswerWriterTest, CountsTheTokensSoFar) {
  ResponseWriter writer(request_, *loaded_.tokenizer);
  std::vector<Json> chunks;
  GenerationStep step;
  step.token = 4;
  step.text = "a";
  for (uint64_t choice = 0; choice < 2; ++choice) {
    writer.begin_choice(request_.prompts[0], choice == 0, 0, chunks);
    AnswerEvents events(request_.answer, /*n_cached=*/2);
    for (uint64_t n = 1; n <= 3; ++n) {
      writer.read(events.read(step), chunks);
      EXPECT_EQ(writer.usage().completion_tokens, choice * 3 + n);
      EXPECT_EQ(writer.usage().cached_tokens, 2u);
    }
  }
  EXPECT_EQ(writer.usage().prompt_tokens, 3u);
}

TEST_F(AnswerWriterTest, ResponsesTellTheirTokens) {
  ResponseWriter writer(request_, *loaded_.tokenizer);
  write(writer, kSaid, 1);
  const Json usage = writer.whole()["usage"];
  EXPECT_EQ(usage["input_tokens"], 3);
  EXPECT_EQ(usage["input_tokens_details"]["cached_tokens"], 2);
  EXPECT_EQ(usage["output_tokens"], kSaid.size());
  EXPECT_EQ(usage["total_tokens"], kSaid.size() + 3);
  // The text of a thought may be certain only some tokens later.
  const auto n_thought = *usage["output_tokens_details"]["reasoning_tokens"].as_integer();
  EXPECT_GE(n_thought, static_cast<int64_t>(std::string_view("<think>Hm").size()));
  EXPECT_LE(n_thought, static_cast<int64_t>(kSaid.find("Well")));
}

TEST_F(AnswerWriterTest, ResponsesThatAreCutAreIncomplete) {
  for (const std::string_view said : {std::string_view("Well"), kSaid.substr(0, 70)}) {
    ResponseWriter writer(request_, *loaded_.tokenizer);
    const std::vector<Json> events = write(writer, said, 3, FinishReason::length);
    EXPECT_EQ(events.back()["type"], "response.incomplete");
    EXPECT_EQ(writer.whole()["incomplete_details"]["reason"], "max_output_tokens");
    EXPECT_EQ(writer.whole()["output"].as_array().back()["status"], "incomplete");
  }
  ResponseWriter empty(request_, *loaded_.tokenizer);
  write(empty, "", 1);
  EXPECT_EQ(empty.whole()["output"][0]["content"][0]["text"], "");
}

TEST_F(AnswerWriterTest, CallsWithoutAnObjectAreCut) {
  for (const char* arguments : {"\"hello\"", "\"{\\\"a\\\": 1\"", "null", "[1]", "5", "true"}) {
    const std::string call =
        cat("<tool_call>{\"name\": \"f\", \"arguments\": ", arguments, "}</tool_call>");
    const std::string said = cat(call, "<tool_call>{\"name\": \"f\"}</tool_call>");
    ChatWriter chat(request_, *loaded_.tokenizer);
    write(chat, said, 5);
    EXPECT_EQ(chat.whole()["choices"][0]["finish_reason"], "length") << arguments;
    ResponseWriter response(request_, *loaded_.tokenizer);
    write(response, said, 5);
    EXPECT_EQ(response.whole()["status"], "incomplete") << arguments;
    EXPECT_EQ(response.whole()["output"][0]["status"], "incomplete") << arguments;
  }
  ChatWriter chat(request_, *loaded_.tokenizer);
  write(chat, R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)", 5);
  EXPECT_EQ(chat.whole()["choices"][0]["finish_reason"], "tool_calls");
}

TEST_F(AnswerWriterTest, StreamsOfResponsesNameTheirEvents) {
  ResponseWriter writer(request_, *loaded_.tokenizer);
  EXPECT_EQ(writer.event({{"type", "a.b"}}), "event: a.b\ndata: {\"type\":\"a.b\"}\n\n");
  EXPECT_EQ(writer.last_events(), "");
  EXPECT_TRUE(writer.error_event(invalid("no")).starts_with("event: error\ndata: {\"type\":\"er"));
}

TEST_F(AnswerWriterTest, ChatsTellThoughtsCallsAndTheirTokens) {
  request_.answer.n_calls_most = 1;
  request_.includes_usage = true;
  ChatWriter writer(request_, *loaded_.tokenizer);
  const std::vector<Json> chunks = write(writer, kSaid, 1);
  const Json whole = writer.whole();
  EXPECT_EQ(whole["system_fingerprint"], "kinglet-0.1.0");
  EXPECT_EQ(chunks[0]["system_fingerprint"], "kinglet-0.1.0");
  const Json& choice = whole["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["reasoning_content"], "Hm");
  EXPECT_EQ(choice["message"]["content"], "Well.");
  EXPECT_EQ(choice["message"]["tool_calls"].size(), 1u);
  ResponseWriter other(request_, *loaded_.tokenizer);
  write(other, kSaid, 1);
  EXPECT_EQ(whole["usage"]["completion_tokens_details"]["reasoning_tokens"],
            other.whole()["usage"]["output_tokens_details"]["reasoning_tokens"]);
  const std::string end = writer.last_events();
  EXPECT_NE(end.find("\"reasoning_tokens\""), end.npos);
  EXPECT_TRUE(end.ends_with("data: [DONE]\n\n"));
}

}  // namespace
}  // namespace kinglet::openai
