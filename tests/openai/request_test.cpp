// Reading a client's JSON.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/format.h"
#include "openai/encoding_request.h"
#include "openai/generation_request.h"
#include "openai/messages.h"
#include "openai/parsed.h"
#include "openai/served_model.h"
#include "openai/tools.h"
#include "session/sessions.h"

namespace kinglet::openai {
namespace {

class RequestTest : public testing::Test {
 protected:
  ApiResult<GenerationRequest> read(std::string_view text) const {
    return read_completion_request(json(text), model_);
  }
  std::string wrong_field(std::string_view text) const {
    const auto request = read(text);
    return request.ok() ? "none" : request.error().param;
  }

  LanguageModel loaded_ = load_tiny();
  ChatLayout layout_{loaded_.model.header(), loaded_.tokenizer->vocabulary()};
  ServedModel model_{loaded_,
                     layout_,
                     {.name = "tiny", .n_ctx = 16, .sampling = {.temperature = 0.5f, .seed = 1}}};
};

TEST_F(RequestTest, ReadsWhatIsGivenAndLeavesTheRestToTheFile) {
  const auto request = read(R"({"prompt": "ab", "top_p": 0.25, "seed": -3, "stop": "x",
      "n": 2, "logit_bias": {"4": -7.5}, "max_tokens": 9.0, "user": "u", "stream": null})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const GenerationRequest& read = request.value();
  EXPECT_EQ(read.options.sampler.temperature, 0.5f);
  EXPECT_EQ(read.options.sampler.top_p, 0.25f);
  ASSERT_EQ(read.options.sampler.logit_bias.size(), 1u);
  EXPECT_EQ(read.options.sampler.logit_bias[0].token, 4);
  EXPECT_EQ(read.options.max_tokens, 9u);
  EXPECT_EQ(read.options.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(read.n_choices, 2u);
  EXPECT_EQ(read.model, "tiny");
  EXPECT_EQ(options_of_choice(read, 1).sampler.seed, read.options.sampler.seed + 1);
}

TEST_F(RequestTest, DrawsASeedForEachChoiceWithoutOne) {
  const auto request = read(R"({"prompt": "ab"})");
  ASSERT_TRUE(request.ok());
  EXPECT_NE(options_of_choice(request.value(), 1).sampler.seed,
            options_of_choice(request.value(), 2).sampler.seed);
}

TEST_F(RequestTest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(wrong_field(R"({})"), "prompt");
  EXPECT_EQ(wrong_field(R"({"prompt": 3})"), "prompt");
  EXPECT_EQ(wrong_field(R"({"prompt": []})"), "prompt");
  EXPECT_EQ(wrong_field(R"({"prompt": [[1], 2]})"), "prompt");
  EXPECT_EQ(wrong_field(R"({"prompt": [1, 99]})"), "prompt");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "temperature": "hot"})"), "temperature");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "temperature": 1e300})"), "temperature");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "top_k": 1.5})"), "top_k");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "n": 0})"), "n");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "max_tokens": -1})"), "max_tokens");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "stop": ["x", 3]})"), "stop");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "stream": "yes"})"), "stream");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "stream_options": []})"), "stream_options");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "logit_bias": {"x": 1}})"), "logit_bias");
  for (const char* key : {"", "4294967296", "-1", "1.5", "0x1", "99999999999999999999"}) {
    const Json body = {{"prompt", "a"}, {"logit_bias", {{key, 1}}}};
    EXPECT_EQ(wrong_field(print(body)), "logit_bias") << key;
  }
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "logit_bias": {"99": 1}})"), "logit_bias");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "logit_bias": {"1": 1e300}})"), "logit_bias.1");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "logit_bias": {"1": -100.5}})"), "logit_bias.1");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "stream_options": {"a": 1}})"), "stream_options.a");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "suffix": "b"})"), "suffix");
  EXPECT_EQ(read(R"({"prompt": "aaaaaaaaaaaaaaaaaaaaaaaa"})").error().code,
            "context_length_exceeded");
  EXPECT_FALSE(read(R"({"prompt": "a", "stop": ""})").ok());
  EXPECT_FALSE(read(R"({"prompt": "a", "top_p": 7})").ok());
}

TEST_F(RequestTest, AcceptsFieldsThatChangeNothing) {
  for (const char* fine :
       {R"("best_of": 1)", R"("n": 2, "best_of": 2)", R"("suffix": "")", R"("suffix": null)",
        R"("modalities": ["text"])", R"("truncation": "auto")", R"("truncation": "disabled")",
        R"("cache_prompt": false, "id_slot": 3, "timings_per_token": true)",
        R"("return_progress": true, "verbose": true)", R"("min_tokens": 0)",
        R"("ignore_eos": false, "use_beam_search": false, "skip_special_tokens": true)"}) {
    EXPECT_EQ(wrong_field(cat(R"({"prompt": "a", )", fine, "}")), "none") << fine;
  }
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "best_of": 2})"), "best_of");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "modalities": ["text", "audio"]})"), "modalities");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "truncation": 3})"), "truncation");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "min_tokens": 5})"), "min_tokens");
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "ignore_eos": true})"), "ignore_eos");
}

TEST_F(RequestTest, NamesTheTextThatIsWrong) {
  const auto message = [](const auto& request) {
    return request.ok() ? "none" : cat(request.error().param, " | ", request.error().message);
  };
  const std::string longest(23, 'a');  // and BOS
  for (const Json& text : {Json(longest), Json(Json::Array(24, 1))}) {
    const Json one = {{"prompt", text}};
    EXPECT_EQ(message(read_completion_request(one, model_)),
              "prompt | the prompt has 24 tokens, but the context has room for 16");
    const Json second = {{"prompt", Json::array({"a", text})}};
    EXPECT_EQ(message(read_completion_request(second, model_)),
              "prompt | prompt[1]: the prompt has 24 tokens, but the context has room for 16");
  }
  EXPECT_EQ(message(read(R"({"prompt": ["a", [1, 99]]})")),
            "prompt | prompt[1]: token 1 is 99, expected an id from 0 to 7");
  EXPECT_EQ(message(read(R"({"prompt": ["a", 3]})")),
            "prompt | prompt[1] is 3, expected a string or an array of at least one token id");
  const std::string beyond(loaded_.model.config().context_length + 1, 'a');
  for (const Json& text : {Json(beyond), Json(Json::Array(beyond.size(), 1))}) {
    const Json body = {{"input", Json::array({"a", text})}, {"pooling", "mean"}};
    EXPECT_TRUE(message(read_embedding_request(body, model_))
                    .starts_with("input | input[1]: the text has "));
  }
  const Json labelled = {{"input", Json::array({"a", longest})},
                         {"labels", Json::array({"a", "b"})}};
  EXPECT_TRUE(message(read_classify_request(labelled, model_))
                  .starts_with("input | input[0]: the prompt has "));
}

TEST_F(RequestTest, TakesTextsAndTokensTogether) {
  const auto request =
      read_embedding_request(json(R"({"input": ["a", [1, 2], "b"], "pooling": "mean"})"), model_);
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request.value().texts.size(), 3u);
  EXPECT_EQ(request.value().texts[1], (std::vector<TokenId>{1, 2}));
}

TEST_F(RequestTest, RefusesUnknownFieldsAtEveryDepth) {
  const auto wrong_field_of_chat = [&](std::string_view more) {
    const auto request = read_chat_request(
        json(cat(R"({"messages": [{"role": "user", "content": "a"}], )", more, "}")), model_, {});
    return request.ok() ? "none" : request.error().param;
  };
  EXPECT_EQ(wrong_field_of_chat(R"("response_format": {"type": "text", "schema": {}})"),
            "response_format.schema");
  EXPECT_EQ(wrong_field_of_chat(R"("response_format": {"type": "json_object", "scheme": {}})"),
            "response_format.scheme");
  EXPECT_EQ(wrong_field_of_chat(
                R"("response_format": {"type": "json_schema", "json_schema": {"scheme": {}}})"),
            "response_format.json_schema.scheme");
  EXPECT_EQ(
      wrong_field_of_chat(R"("tools": [{"type": "function", "x": 1, "function": {"name": "f"}}])"),
      "tools[0].x");
  EXPECT_EQ(wrong_field_of_chat(
                R"("tools": [{"type": "function", "function": {"name": "f", "params": {}}}])"),
            "tools[0].function.params");
  EXPECT_EQ(wrong_field_of_chat(R"("tools": [{"type": "function", "function": {"name": "f"}}],
                "tool_choice": {"type": "function", "function": {"name": "f", "x": 1}})"),
            "tool_choice.function.x");
}

TEST_F(RequestTest, RefusesTopLogprobsWithoutLogprobs) {
  const auto wrong = [&](std::string_view more) {
    const auto request = read_chat_request(
        json(cat(R"({"messages": [{"role": "user", "content": "a"}], )", more, "}")), model_, {});
    return request.error().param;
  };
  EXPECT_EQ(wrong(R"("top_logprobs": 3)"), "top_logprobs");
  EXPECT_EQ(wrong(R"("top_logprobs": 3, "logprobs": false)"), "top_logprobs");
  EXPECT_EQ(wrong(R"("top_logprobs": 101)"), "top_logprobs");
  EXPECT_EQ(wrong(R"("top_logprobs": 101, "logprobs": true)"), "top_logprobs");
  EXPECT_EQ(wrong(R"("top_logprobs": 3, "logprobs": true)"), "");  // the model has no template
  EXPECT_EQ(wrong(R"("top_logprobs": 0)"), "");
}

TEST_F(RequestTest, SaysWhatTheResponseFormatNeeds) {
  const auto message = [&](std::string_view format) {
    const Json body = {{"messages", json(R"([{"role": "user", "content": "a"}])")},
                       {"response_format", json(format)}};
    return read_chat_request(body, model_, {}).error().message;
  };
  EXPECT_EQ(message(R"({"type": "json_schema"})"),
            R"(the response_format "json_schema" needs "json_schema": {"schema": …})");
  EXPECT_EQ(
      message(R"({"type": "xml"})"),
      R"(the response_format "xml" is not supported: expected "text", "json_object" or "json_schema")");
}

TEST_F(RequestTest, TakesNullForAbsent) {
  const auto request = read_chat_request(json(R"({"messages": [{"role": "user", "content": "a",
      "name": null, "tool_calls": null, "tool_call_id": null, "refusal": null, "audio": null}],
      "tools": null, "tool_choice": null, "parallel_tool_calls": null, "response_format": null,
      "reasoning_effort": null, "chat_template_kwargs": null, "stream_options": null,
      "logit_bias": null, "logprobs": null, "top_logprobs": null, "stop": null, "n": null,
      "seed": null, "max_completion_tokens": null})"),
                                         model_, {});
  ASSERT_FALSE(request.ok());  // the model has no template
  EXPECT_NE(request.error().message.find("no chat template"), std::string::npos)
      << request.error().message;
  const Json body = {{"tools", json(R"([{"type": "function", "function": {"name": "f",
      "description": null, "parameters": null, "strict": null}}])")}};
  Fields fields(body);
  const auto tools = read_tools(fields);
  ASSERT_TRUE(tools.ok()) << tools.error().message;
  EXPECT_EQ(tools.value().tools[0]["function"], json(R"({"name": "f"})"));
}

Json two_tools() {
  return json(R"([{"type": "function", "function": {"name": "f", "parameters":
      {"type": "object", "properties": {"x": {"type": "string"}, "n": {"type": "integer"}}}}},
      {"type": "function", "function": {"name": "g"}}])");
}

TEST(Tools, AreChosenByName) {
  const auto chosen = [](std::string_view choice) {
    const Json body = {{"tools", two_tools()}, {"tool_choice", json(choice)}};
    Fields fields(body);
    return read_tools(fields);
  };
  EXPECT_EQ(chosen("\"auto\"").value().tools.size(), 2u);
  EXPECT_FALSE(chosen("\"auto\"").value().is_forced);
  EXPECT_TRUE(chosen("\"none\"").value().tools.empty());
  EXPECT_TRUE(chosen("\"required\"").value().is_forced);
  const auto named = chosen(R"({"type": "function", "function": {"name": "g"}})");
  ASSERT_TRUE(named.ok());
  EXPECT_TRUE(named.value().is_named);
  EXPECT_FALSE(chosen("\"required\"").value().is_named);
  EXPECT_EQ(named.value().tools.size(), 1u);
  EXPECT_EQ(named.value().tools[0]["function"]["name"], "g");
  const auto allowed = chosen(R"({"type": "allowed_tools", "allowed_tools": {"mode": "auto",
      "tools": [{"type": "function", "function": {"name": "f"}}]}})");
  ASSERT_TRUE(allowed.ok());
  EXPECT_FALSE(allowed.value().is_forced);
  EXPECT_FALSE(chosen(R"({"type": "function", "function": {"name": "h"}})").ok());
  EXPECT_FALSE(chosen("\"some\"").ok());
  EXPECT_FALSE(chosen(R"({"type": "custom"})").ok());
}

// Loops over lists of any length notice it, also where no check says why.
TEST(Messages, AndToolsAreCancelled) {
  const std::atomic<uint32_t> word = 1;
  const Deadline deadline{.check = {}, .cancellation = {&word, 1}};
  const Json messages = json(R"([{"role": "user", "content": "a"}])");
  const auto made = read_messages(messages, deadline);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "cancelled");
  const Json body = {{"tools", two_tools()}};
  Fields fields(body);
  const auto tools = read_tools(fields, deadline);
  ASSERT_FALSE(tools.ok());
  EXPECT_EQ(tools.error().message, "cancelled");
}

TEST(Messages, AreTextsWithTheirCalls) {
  const Json given = json(R"([{"role": "developer", "content": [{"type": "text", "text": "Be "},
      {"type": "text", "text": "kind."}]}, {"role": "assistant", "content": null, "tool_calls":
      [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"n\":1}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "5"}])");
  const auto read = read_messages(given);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value()[0], json(R"({"role": "developer", "content": "Be kind."})"));
  EXPECT_EQ(read.value()[1]["content"], "");
  EXPECT_EQ(read.value()[1]["tool_calls"][0]["function"]["arguments"], "{\"n\":1}");
  EXPECT_EQ(read.value()[2]["tool_call_id"], "a");
}

TEST(Messages, OfAWrongFormAreRefused) {
  for (const char* text :
       {"{}", "[]", "[3]", R"([{"content": "x"}])", R"([{"role": "user", "content": 3}])",
        R"([{"role": "user", "content": [{"type": "image_url"}]}])",
        R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}])",
        R"([{"role": "user", "content": "a", "contents": "b"}])",
        R"([{"role": "user", "content": [{"type": "text", "text": "a", "x": 1}]}])",
        R"([{"role": "user", "content": [{"type": "text", "text": null}]}])",
        R"([{"role": "assistant", "tool_calls":
            [{"function": {"name": "f", "arguments": "{}", "x": 1}}]}])"}) {
    EXPECT_FALSE(read_messages(json(text)).ok()) << text;
  }
}

}  // namespace
}  // namespace kinglet::openai
