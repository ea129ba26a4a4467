// Calls that a model must make. In each family's syntax, the calls that its template writes fit the
// grammar, and every text that fits the grammar is read as a call.
#include "server/call_grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <sstream>

#include "base/format.h"
#include "server/json_schema.h"
#include "server/parsed.h"
#include "server/tools.h"
#include "session/constraint.h"
#include "session/grammar_support.h"
#include "text/answer/answer_reader.h"
#include "text/chat_template.h"
#include "text/test_tokenizers.h"

namespace kinglet::server {
namespace {

constexpr TokenId kEos = 2;

// Names are in alphabetical order, because some families write them in this order.
constexpr std::string_view kTools = R"([
  {"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"},
    "unit": {"enum": ["C", "F"]}}, "required": ["city", "unit"]}}},
  {"type": "function", "function": {"name": "plan", "parameters": {"$defs": {"mood": {"const": "calm"},
    "stop": {"type": "object", "properties": {"name": {"type": "string"}, "open": {"type": "boolean"},
    "then": {"$ref": "#/$defs/stop"}}, "required": ["name"]}}, "type": "object", "properties": {
    "budget": {"type": "number"}, "flags": {"type": "array", "items": {"type": "boolean"}},
    "goal": {"anyOf": [{"$ref": "#/$defs/stop"}, {"type": "null"}]}, "mood": {"$ref": "#/$defs/mood"},
    "notes": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
    "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}, "maxItems": 3}}}}},
  {"type": "function", "function": {"name": "get-time"}}
])";

constexpr std::string_view kCalls = R"([
  {"name": "get_weather", "arguments": {"city": "São Paulo, 5 < 6", "days": 3, "unit": "C"}},
  {"name": "get_weather", "arguments": {"city": "", "unit": "F"}},
  {"name": "plan", "arguments": {"budget": -2.5, "flags": [true, false], "goal": null,
    "mood": "calm", "notes": {"a": "b, c"}, "stops": [{"name": "x", "then": {"name": "y"}},
    {"name": "z", "open": true}]}},
  {"name": "plan", "arguments": {"goal": {"name": "Hof"}, "notes": {}, "stops": []}},
  {"name": "plan", "arguments": {}},
  {"name": "get-time", "arguments": {"zone": "CET", "exact": true}}
])";

std::string template_of(std::string_view family) {
  std::ifstream file(cat(KINGLET_SOURCE_DIR, "/tests/fixtures/calls/", family, ".jinja"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text that the template writes for calls.
std::string written(const std::string& source, const Json& calls) {
  Json message = {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array()}};
  for (const Json& call : calls.as_array()) {
    message["tool_calls"].push_back(
        {{"type", "function"}, {"id", "aB3dE6gH9"}, {"function", call}});
  }
  const auto chat = ChatTemplate::parse(source, "<s>", "</s>");
  EXPECT_TRUE(chat.ok()) << chat.error().message;
  auto variables = chat_variables({{"messages", Json::array({message})}});
  EXPECT_TRUE(variables.ok());
  const auto text = chat.value().render(std::move(variables.value()), {});
  EXPECT_TRUE(text.ok()) << text.error().message;
  return text.ok() ? text.value().text : "";
}

struct ReadCall {
  std::string name;
  std::string arguments;
};

class Family {
 public:
  // `has_tokens`: the vocabulary has tokens for the marks.
  Family(const std::string& name, bool has_tokens)
      : source_(template_of(name)), format_(find_answer_format(source_)) {
    std::vector<TestToken> tokens = {{"</"}, {"\","}, {"e\": "}, {">\n"}};
    if (has_tokens) {
      for (const auto mark : format_.marks(true)) {
        tokens.push_back({std::string(mark), 0, TokenType::control});
      }
    }
    tokenizer_ = spm_tokenizer(tokens, false);
  }

  const std::string& source() const { return source_; }
  const AnswerFormat& format() const { return format_; }

  ApiResult<std::string> gbnf(const Json& tools, std::string_view prompt, bool is_parallel) const {
    return grammar_of_calls({tools, known_tools(tools), format_, *tokenizer_, is_parallel}, prompt);
  }

  void force(const Json& tools, std::string_view prompt = "", bool is_parallel = true) {
    const auto text = gbnf(tools, prompt, is_parallel);
    ASSERT_TRUE(text.ok()) << text.error().message;
    grammar_ = grammar_of(text.value());
    tools_ = known_tools(tools);
    prompt_ = prompt;
  }

  bool takes(std::string_view text) const {
    Constraint constraint(grammar_, *tokenizer_, false);
    for (const TokenId id : tokenizer_->encode(text, {.add_bos = false, .parse_special = true})) {
      if (!constraint.allows(id)) return false;
      constraint.accept(id);
    }
    return constraint.allows(kEos);
  }

  // Draws a random text of the grammar; nullopt if it does not end in time.
  std::optional<std::string> draw(std::mt19937& random) const {
    constexpr std::string_view kLikely = "\"'<>])}0,";
    Constraint constraint(grammar_, *tokenizer_, false);
    std::string text;
    std::vector<float> logits(static_cast<size_t>(tokenizer_->n_tokens()));
    for (int n = 0; n < 700; ++n) {
      std::fill(logits.begin(), logits.end(), 0.0f);
      constraint.mask(logits);
      std::vector<double> weights;
      for (size_t i = 0; i < logits.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        const std::string_view piece = tokenizer_->piece(id, true);
        const bool is_likely = id == kEos || id >= kFirstExtra ||
                               (piece.size() == 1 && kLikely.find(piece[0]) != kLikely.npos);
        weights.push_back(logits[i] == kRefusedLogit ? 0 : is_likely ? 40 : 1);
      }
      std::discrete_distribution<TokenId> any(weights.begin(), weights.end());
      const TokenId id = any(random);
      if (id == kEos) return text;
      text += tokenizer_->piece(id, true);
      constraint.accept(id);
      if (constraint.is_finished()) return text;
    }
    return std::nullopt;
  }

  // The calls of an answer that has only calls and thoughts; nullopt for any other answer.
  std::optional<std::vector<ReadCall>> read(std::string_view answer) const {
    AnswerReader reader(format_, tools_, prompt_);
    std::vector<AnswerPart> parts;
    reader.push(answer, parts);
    reader.end(parts);
    std::vector<ReadCall> calls;
    for (const AnswerPart& part : parts) {
      if (part.kind == AnswerPart::Kind::text) return std::nullopt;
      if (part.kind == AnswerPart::Kind::call) calls.push_back({part.text, ""});
      if (part.kind == AnswerPart::Kind::arguments) calls.back().arguments += part.text;
    }
    return calls;
  }

 private:
  std::string source_;
  AnswerFormat format_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::shared_ptr<const Grammar> grammar_;
  std::vector<KnownTool> tools_;
  std::string prompt_;
};

Json tools() { return json(kTools); }
Json one_tool(size_t index) { return Json::array({tools()[index]}); }

class EachFamily : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  Family family_{std::get<0>(GetParam()), std::get<1>(GetParam())};
};

TEST_P(EachFamily, TakesWhatTheTemplateWrites) {
  family_.force(tools());
  const Json written_calls = json(kCalls);
  for (const Json& call : written_calls.as_array()) {
    const std::string text = written(family_.source(), Json::array({call}));
    EXPECT_TRUE(family_.takes(text)) << text;
    const auto calls = family_.read(text);
    ASSERT_TRUE(calls && calls->size() == 1) << text;
    EXPECT_EQ((*calls)[0].name, call["name"].as_string());
    Json arguments = json((*calls)[0].arguments);
    EXPECT_EQ(arguments, call["arguments"]) << text;
  }
}

TEST_P(EachFamily, RefusesWhatTheToolsDoNotAllow) {
  family_.force(one_tool(0));
  const std::string fine =
      written(family_.source(), json(R"([{"name": "get_weather", "arguments": {"city": "x",
          "days": 1, "unit": "C"}}])"));
  ASSERT_TRUE(family_.takes(fine)) << fine;
  for (const char* call :
       {R"({"name": "get_rain", "arguments": {"city": "x", "unit": "C"}})",
        R"({"name": "plan", "arguments": {}})",
        R"({"name": "get_weather", "arguments": {"city": "x"}})",
        R"({"name": "get_weather", "arguments": {"city": "x", "unit": "K"}})",
        R"({"name": "get_weather", "arguments": {"city": "x", "days": 1.5, "unit": "C"}})",
        R"({"name": "get_weather", "arguments": {"city": "x", "days": "one", "unit": "C"}})",
        R"({"name": "get_weather", "arguments": {"city": "x", "rain": true, "unit": "C"}})"}) {
    const std::string text = written(family_.source(), Json::array({json(call)}));
    EXPECT_FALSE(family_.takes(text)) << text;
  }
  EXPECT_FALSE(family_.takes(""));
  EXPECT_FALSE(family_.takes("Hello"));
  EXPECT_FALSE(family_.takes(fine.substr(0, fine.size() - 1)));
  EXPECT_FALSE(family_.takes(fine + "x"));
}

TEST_P(EachFamily, TakesSeveralCallsWhereTheyMayBe) {
  if (family_.format().calls.notation->between.empty()) return;
  Json calls = json(kCalls);
  const std::string several = written(family_.source(), calls);
  family_.force(tools());
  EXPECT_TRUE(family_.takes(several)) << several;
  ASSERT_TRUE(family_.read(several));
  EXPECT_EQ(family_.read(several)->size(), calls.size());
  family_.force(tools(), "", false);
  EXPECT_FALSE(family_.takes(several));
  EXPECT_TRUE(family_.takes(written(family_.source(), Json::array({calls[0]}))));
}

TEST_P(EachFamily, WhatFitsIsReadAsACallOfAToolWithArgumentsThatAreValid) {
  family_.force(tools());
  std::mt19937 random(7);
  size_t n_calls = 0;
  for (int i = 0; i < 60; ++i) {
    const auto text = family_.draw(random);
    if (!text) continue;
    const auto calls = family_.read(*text);
    ASSERT_TRUE(calls && !calls->empty()) << *text;
    for (const ReadCall& call : *calls) {
      ++n_calls;
      const Json::Array all = tools().as_array();
      const auto tool = std::find_if(all.begin(), all.end(), [&](const Json& one) {
        return one["function"]["name"] == call.name;
      });
      ASSERT_NE(tool, all.end()) << *text;
      const Json* parameters = (*tool)["function"].find("parameters");
      const auto schema =
          grammar_of_schema(parameters == nullptr ? Json{{"type", "object"}} : *parameters);
      ASSERT_TRUE(schema.ok());
      GrammarMatcher matcher(grammar_of(schema.value()));
      EXPECT_TRUE(accepts(matcher, call.arguments)) << *text << "\n" << call.arguments;
    }
  }
  EXPECT_GT(n_calls, 20u);
}

TEST_P(EachFamily, EndsAThoughtThatThePromptHasBegun) {
  if (!family_.format().thoughts) return;
  const std::string begun(family_.format().thoughts->begin);
  const std::string end(family_.format().thoughts->end);
  const std::string call =
      written(family_.source(), json(R"([{"name": "plan", "arguments": {}}])"));
  family_.force(tools(), begun + "\n");
  EXPECT_TRUE(family_.takes(cat("Hm, ", end.substr(0, 3), " 2 < 3.\n", end, "\n\n", call)));
  EXPECT_TRUE(family_.takes(cat(end, call)));
  EXPECT_FALSE(family_.takes(call));
  EXPECT_FALSE(family_.takes(cat("Hm", end, "Well, ", call)));
  ASSERT_TRUE(family_.read(cat("Hm", end, call)));
  EXPECT_EQ(family_.read(cat("Hm", end, call))->size(), 1u);
  family_.force(tools(), cat(begun, "\n", end));
  EXPECT_TRUE(family_.takes(call));
  EXPECT_FALSE(family_.takes(cat("Hm", end, call)));
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<const char*, bool>>& info) {
  std::string name = cat(std::get<0>(info.param), std::get<1>(info.param) ? "_tokens" : "_text");
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    CallGrammar, EachFamily,
    testing::Combine(testing::Values("hermes", "llama", "mistral", "nemo", "mistral-named",
                                     "mistral-numbered", "granite", "lfm2", "gemma4",
                                     "functiongemma", "qwen3.5", "qwen3-coder", "minicpm5"),
                     testing::Bool()),
    name_of_case);

TEST(CallGrammar, TakesMarksAsTokensWhereThereAreSuch) {
  Family family("gemma4", true);
  const auto gbnf = family.gbnf(tools(), "", true);
  ASSERT_TRUE(gbnf.ok());
  EXPECT_EQ(gbnf.value().find("<|tool_call>"), std::string::npos);
  EXPECT_NE(gbnf.value().find("root ::= <[263]> \"call:\""), std::string::npos) << gbnf.value();
}

TEST(CallGrammar, SaysWhatItCannotWrite) {
  const auto error = [](const char* name, std::string_view function) {
    const Json given = Json::array({Json{{"type", "function"}, {"function", json(function)}}});
    const auto gbnf = Family(name, true).gbnf(given, "", true);
    EXPECT_TRUE(gbnf.ok() || gbnf.error().param == "tools");
    return gbnf.ok() ? "" : gbnf.error().message;
  };
  EXPECT_EQ(error("hermes", R"({"name": "a b"})"), "");
  EXPECT_EQ(error("lfm2", R"({"name": "a b"})"),
            "this model cannot call a tool of the name \"a b\"");
  constexpr std::string_view kKey =
      R"({"name": "f", "parameters": {"type": "object", "properties": {"a b": {}}}})";
  EXPECT_EQ(error("hermes", kKey), "");
  for (const char* name : {"gemma4", "lfm2", "qwen3.5"}) {
    EXPECT_EQ(error(name, kKey),
              "the tool \"f\": the JSON schema at #/properties/a b: a call of this model cannot "
              "have the name \"a b\"");
  }
  EXPECT_EQ(error("gemma4", R"({"name": "f", "parameters": {"type": "object", "properties":
                {"x": {"const": "a<|\"|>b"}}}})"),
            "the tool \"f\": the JSON schema at #/properties/x: a call of this model cannot have "
            "the value \"a<|\\\"|>b\"");
  for (const char* name : {"hermes", "qwen3.5"}) {
    EXPECT_EQ(error(name, R"({"name": "f", "parameters": {"type": "string"}})"),
              "the tool \"f\": the JSON schema at #: the arguments of a call must be an object");
    EXPECT_EQ(error(name, R"({"name": "f", "parameters": {"type": "object", "properties":
                  {"x": {"enum": ["a", 1]}}}})"),
              "");
    EXPECT_EQ(error(name, R"({"name": "f", "parameters": {"type": "object", "properties":
                  {"x": {"type": "string", "enum": [1]}}}})"),
              "the tool \"f\": the JSON schema at #/properties/x: its keywords allow none of the "
              "listed values");
  }
}

}  // namespace
}  // namespace kinglet::server
