// Reading a client's JSON.
#include <gtest/gtest.h>

#include <string>

#include "server/generation_request.h"
#include "server/guard.h"
#include "server/messages.h"
#include "server/parsed.h"
#include "server/served_model.h"
#include "server/tools.h"
#include "session/sessions.h"

namespace kinglet::server {
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
  ServedModel model_{loaded_, "tiny", 16, {.temperature = 0.5f, .seed = 1}};
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
  EXPECT_EQ(wrong_field(R"({"prompt": "a", "suffix": "b"})"), "suffix");
  EXPECT_EQ(read(R"({"prompt": "aaaaaaaaaaaaaaaaaaaaaaaa"})").error().code,
            "context_length_exceeded");
  EXPECT_FALSE(read(R"({"prompt": "a", "stop": ""})").ok());
  EXPECT_FALSE(read(R"({"prompt": "a", "top_p": 7})").ok());
}

TEST(ParseJson, RefusesWhatWouldTakeLong) {
  EXPECT_FALSE(parse_json("{").ok());
  EXPECT_FALSE(parse_json("\"\xff\"").ok());
  EXPECT_TRUE(parse_json(std::string(100, '[') + std::string(100, ']')).ok());
  EXPECT_FALSE(parse_json(std::string(200, '[') + std::string(200, ']')).ok());
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')).ok());
  std::string keys;
  for (int i = 0; i < 1024; ++i) keys += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":{}";
  EXPECT_TRUE(parse_json("[{" + keys + "},{" + keys + "}]").ok());
  EXPECT_FALSE(parse_json("{\"a\":{" + keys + ",\"more\":1}}").ok());
}

constexpr bool kTaught = true;
constexpr bool kUntaught = false;

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

TEST(Tools, TellTextsFromNumbers) {
  const std::vector<KnownTool> known = known_tools(two_tools());
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].name, "f");
  EXPECT_EQ(known[0].text_parameters, std::vector<std::string>{"x"});
}

TEST(Messages, AreAsTemplatesExpectThem) {
  const Json given = json(R"([{"role": "developer", "content": [{"type": "text", "text": "Be "},
      {"type": "text", "text": "kind."}]}, {"role": "assistant", "content": null, "tool_calls":
      [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"n\":1}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "5"}])");
  const auto taught = template_messages(given, Json::array(), kTaught);
  ASSERT_TRUE(taught.ok()) << taught.error().message;
  EXPECT_EQ(taught.value()[0], json(R"({"role": "system", "content": "Be kind."})"));
  EXPECT_EQ(taught.value()[1]["tool_calls"][0]["function"]["arguments"]["n"], 1);
  EXPECT_EQ(taught.value()[2]["tool_call_id"], "a");
  const auto untaught = template_messages(given, two_tools(), kUntaught);
  ASSERT_TRUE(untaught.ok());
  EXPECT_NE(untaught.value()[0]["content"].get<std::string>().find("{\"name\":\"f\""),
            std::string::npos);
  EXPECT_EQ(untaught.value()[1]["content"],
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\":1}}\n</tool_call>");
  EXPECT_EQ(untaught.value()[2]["role"], "user");
}

TEST(Messages, OfAWrongFormAreRefused) {
  for (const char* text :
       {"{}", "[]", "[3]", R"([{"content": "x"}])", R"([{"role": "user", "content": 3}])",
        R"([{"role": "user", "content": [{"type": "image_url"}]}])",
        R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}])",
        R"([{"role": "assistant", "tool_calls":
            [{"function": {"name": "f", "arguments": "{"}}]}])"}) {
    EXPECT_FALSE(template_messages(json(text), Json::array(), kTaught).ok()) << text;
  }
}

TEST(Guard, KnowsHostsPagesAndKeys) {
  const GuardOptions options{"127.0.0.1", "key", "https://page"};
  const Caller fine{"/v1/models", "localhost:80", "", "Bearer key"};
  const auto status = [&](Caller caller) {
    const auto refused = refuse(options, caller);
    return refused ? refused->status : 200;
  };
  EXPECT_EQ(status(fine), 200);
  EXPECT_EQ(status({"/v1/models", "[::1]:80", "", "Bearer key"}), 200);
  EXPECT_EQ(status({"/v1/models", "[::1]", "https://page", "Bearer key"}), 200);
  EXPECT_EQ(status({"/v1/models", "localhost:80", "http://localhost:80", "Bearer key"}), 200);
  EXPECT_EQ(status({"/v1/models", "localhost:80", "http://localhost:81", "Bearer key"}), 403);
  EXPECT_EQ(status({"/v1/models", "a.example", "", "Bearer key"}), 403);
  EXPECT_EQ(status({"/v1/models", "", "", "Bearer key"}), 403);
  EXPECT_EQ(status({"/v1/models", "localhost", "", ""}), 401);
  EXPECT_EQ(status({"/v1/models", "localhost", "", "Bearer ke"}), 401);
  EXPECT_EQ(status({"/v1/models", "localhost", "", "Bearer keyy"}), 401);
  EXPECT_EQ(status({"/v1/models", "localhost", "", "Bearer keykey"}), 401);
  EXPECT_EQ(status({"/health", "localhost", "", ""}), 200);
  const GuardOptions open{"0.0.0.0", "", "*"};
  EXPECT_FALSE(refuse(open, {"/v1/models", "a.example", "https://any", ""}));
}

}  // namespace
}  // namespace kinglet::server
