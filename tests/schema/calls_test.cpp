// Calls that a model must make. In each family's notation, the calls that its template writes fit
// the grammar, and every text that fits the grammar is read as a call with valid arguments.
#include "schema/calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <tuple>

#include "base/format.h"
#include "errors.h"
#include "schema/schema_case.h"
#include "session/constraint.h"
#include "text/answer/answer_reader.h"
#include "text/chat_template.h"
#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

constexpr TokenId kEos = 2;

// Names are in alphabetical order, because some families write them in this order.
constexpr std::string_view kTools = R"([
  {"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"},
    "days": {"type": "integer", "minimum": 1, "maximum": 14}, "unit": {"enum": ["C", "F"]}},
    "required": ["city", "unit"]}}},
  {"type": "function", "function": {"name": "plan", "parameters": {
    "$defs": {"mood": {"enum": ["calm", "a <b> & \"c\""]},
    "stop": {"type": "object", "properties": {"name": {"type": "string", "minLength": 1,
    "maxLength": 9}, "open": {"type": "boolean"}, "then": {"$ref": "#/$defs/stop"}},
    "required": ["name"]}},
    "type": "object", "properties": {
    "any": {"description": "What you like"},
    "budget": {"type": "number"},
    "code": {"type": "string", "pattern": "^[a-z<]{2,5}$"},
    "fixed": {"const": {"a": [1, "x", null]}},
    "flags": {"type": "array", "items": {"type": "boolean"}},
    "goal": {"anyOf": [{"$ref": "#/$defs/stop"}, {"type": "null"}]},
    "mood": {"$ref": "#/$defs/mood"},
    "note": {"type": "string", "minLength": 3},
    "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}, "maxItems": 3},
    "tags": {"type": "object", "additionalProperties": {"type": ["string", "null"]}}}}}},
  {"type": "function", "function": {"name": "get-time", "parameters": {"type": "object"}}},
  {"type": "function", "function": {"name": "now"}}
])";

const std::vector<KnownTool>& tools_of_the_calls() {
  static const std::vector<KnownTool> known = known_tools(json_of(kTools)).value();
  return known;
}

constexpr std::string_view kCalls = R"([
  {"name": "get_weather", "arguments": {"city": "São Paulo, 5 < 6", "days": 3, "unit": "C"}},
  {"name": "get_weather", "arguments": {"city": "", "unit": "F"}},
  {"name": "plan", "arguments": {"any": "thing", "budget": -2.5, "code": "a<b",
    "fixed": {"a": [1, "x", null]}, "flags": [true, false], "goal": null, "mood": "calm",
    "note": "two words", "stops": [{"name": "x", "then": {"name": "y"}},
    {"name": "z", "open": true}], "tags": {"a": "b, c"}}},
  {"name": "plan", "arguments": {"goal": {"name": "Hof"}, "stops": [], "tags": {}}},
  {"name": "plan", "arguments": {}},
  {"name": "get-time", "arguments": {"zone": "CET", "exact": true}},
  {"name": "now", "arguments": {}}
])";

std::string template_of(std::string_view family) {
  std::ifstream file(cat(KINGLET_SOURCE_DIR, "/tests/fixtures/calls/", family, ".jinja"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text that the template writes for calls.
std::string written(const std::string& source, const Json& calls) {
  Json made = Json::array();
  for (const Json& call : calls.as_array()) {
    made.push_back({{"type", "function"}, {"id", "aB3dE6gH9"}, {"function", call}});
  }
  Json messages = Json::array();
  messages.push_back({{"role", "assistant"}, {"content", ""}, {"tool_calls", made}});
  const auto chat = ChatTemplate::parse(source, "<s>", "</s>");
  EXPECT_TRUE(chat.ok()) << chat.error().message;
  auto variables = chat_variables(Json{{"messages", messages}});
  EXPECT_TRUE(variables.ok());
  const auto text = chat.value().render(std::move(variables.value()), {});
  EXPECT_TRUE(text.ok()) << text.error().message;
  return text.ok() ? text.value().text : "";
}

std::string written(const std::string& source, std::string_view name, std::string_view arguments) {
  return written(source, json_of(cat("[{\"name\":\"", name, "\",\"arguments\":", arguments, "}]")));
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
    marks_ = mark_tokens(format_, *tokenizer_);
  }

  const std::string& source() const { return source_; }
  const AnswerFormat& format() const { return format_; }
  const std::vector<MarkToken>& marks() const { return marks_; }

  void force(const Json& tools, const std::vector<KnownTool>& known, std::string_view prompt = "",
             bool is_parallel = true) {
    grammar_ = expect_shared(grammar_of_calls({tools, known, format_, marks_, is_parallel},
                                              format_.is_thinking_after(prompt)));
    ASSERT_NE(grammar_, nullptr);
    prompt_ = prompt;
  }

  void force_all(std::string_view prompt = "", bool is_parallel = true) {
    force(json_of(kTools), tools_of_the_calls(), prompt, is_parallel);
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
    for (int n = 0; n < 700; ++n) {
      const std::vector<TokenId> allowed = ids_of(constraint.allowed());
      if (allowed.empty()) return std::nullopt;
      std::vector<double> weights;
      for (const TokenId id : allowed) {
        const std::string_view piece = tokenizer_->piece(id, true);
        const bool is_likely = id == kEos || id >= kFirstExtra ||
                               (piece.size() == 1 && kLikely.find(piece[0]) != kLikely.npos);
        weights.push_back(is_likely ? 40 : 1);
      }
      std::discrete_distribution<size_t> any(weights.begin(), weights.end());
      const TokenId id = allowed[any(random)];
      if (id == kEos) return text;
      text += tokenizer_->piece(id, true);
      constraint.accept(id);
      if (constraint.is_finished()) return text;
    }
    return std::nullopt;
  }

  // The calls of an answer that has only calls and thoughts; nullopt for any other answer.
  std::optional<std::vector<ReadCall>> read(std::string_view answer) const {
    AnswerReader reader(format_, tools_of_the_calls(), prompt_);
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
  std::vector<MarkToken> marks_;
  std::shared_ptr<const Grammar> grammar_;
  std::string prompt_;
};

class EachFamily : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  Family family_{std::get<0>(GetParam()), std::get<1>(GetParam())};
};

TEST_P(EachFamily, TakesWhatTheTemplateWrites) {
  family_.force_all();
  const Json calls = json_of(kCalls);
  for (const Json& call : calls.as_array()) {
    const std::string text = written(family_.source(), Json::Array{call});
    EXPECT_TRUE(family_.takes(text)) << text;
    const auto read = family_.read(text);
    ASSERT_TRUE(read && read->size() == 1) << text;
    EXPECT_EQ((*read)[0].name, *call.find_string("name"));
    EXPECT_EQ(json_of((*read)[0].arguments), *call.find("arguments")) << text;
  }
}

TEST_P(EachFamily, TakesStringsOfSeveralLines) {
  // LFM2's template writes strings as they are, but Python would escape line breaks.
  if (family_.format().calls.syntax == CallSyntax::python) return;
  family_.force_all();
  for (const char* arguments : {R"({"note": "two\n\tlines"})", R"({"note": "\n two \n\n"})"}) {
    const std::string text = written(family_.source(), "plan", arguments);
    EXPECT_TRUE(family_.takes(text)) << text;
    ASSERT_TRUE(family_.read(text));
    EXPECT_EQ(json_of(family_.read(text)->at(0).arguments), json_of(arguments));
  }
}

TEST_P(EachFamily, RefusesWhatTheToolsDoNotAllow) {
  family_.force(Json::Array{json_of(kTools).as_array()[0]}, {tools_of_the_calls()[0]});
  const std::string fine =
      written(family_.source(), "get_weather", R"({"city": "x", "days": 1, "unit": "C"})");
  ASSERT_TRUE(family_.takes(fine)) << fine;
  struct Case {
    const char* name;
    const char* arguments;
  };
  for (const auto& [name, arguments] :
       {Case{"get_rain", R"({"city": "x", "unit": "C"})"}, Case{"plan", "{}"},
        Case{"get_weather", R"({"city": "x"})"},
        Case{"get_weather", R"({"city": "x", "unit": "K"})"},
        Case{"get_weather", R"({"city": "x", "days": 15, "unit": "C"})"},
        Case{"get_weather", R"({"city": "x", "days": 1.5, "unit": "C"})"},
        Case{"get_weather", R"({"city": "x", "days": "one", "unit": "C"})"},
        Case{"get_weather", R"({"city": "x", "rain": true, "unit": "C"})"}}) {
    const std::string text = written(family_.source(), name, arguments);
    EXPECT_FALSE(family_.takes(text)) << text;
  }
  EXPECT_FALSE(family_.takes(""));
  EXPECT_FALSE(family_.takes("Hello"));
  EXPECT_FALSE(family_.takes(fine.substr(0, fine.size() - 1)));
  EXPECT_FALSE(family_.takes(fine + "x"));
}

TEST_P(EachFamily, TakesSeveralCallsWhereTheyMayBe) {
  if (family_.format().calls.notation->between.empty()) return;
  const Json calls = json_of(kCalls);
  const std::string several = written(family_.source(), calls);
  family_.force_all();
  EXPECT_TRUE(family_.takes(several)) << several;
  ASSERT_TRUE(family_.read(several));
  EXPECT_EQ(family_.read(several)->size(), calls.size());
  family_.force_all("", false);
  EXPECT_FALSE(family_.takes(several));
  EXPECT_TRUE(family_.takes(written(family_.source(), Json::Array{calls.as_array()[0]})));
}

TEST_P(EachFamily, WhatFitsIsReadAsACallOfAToolWithArgumentsThatAreValid) {
  family_.force_all();
  std::vector<Texts> valid;
  const Json tools = json_of(kTools);
  for (const Json& tool : tools.as_array()) {
    const Json* parameters = tool.find("function")->find("parameters");
    const Json any{{"type", "object"}};
    valid.emplace_back(grammar_for(print(parameters == nullptr ? any : *parameters)));
  }
  std::mt19937 random(7);
  size_t n_calls = 0;
  for (int i = 0; i < 120; ++i) {
    const auto text = family_.draw(random);
    if (!text) continue;
    const auto calls = family_.read(*text);
    ASSERT_TRUE(calls && !calls->empty()) << *text;
    for (const ReadCall& call : *calls) {
      ++n_calls;
      const auto& known = tools_of_the_calls();
      const auto tool = std::find_if(known.begin(), known.end(),
                                     [&](const KnownTool& one) { return one.name == call.name; });
      ASSERT_NE(tool, known.end()) << *text;
      Texts& arguments = valid[static_cast<size_t>(tool - known.begin())];
      EXPECT_TRUE(arguments.have(call.arguments)) << *text << "\n" << call.arguments;
    }
  }
  EXPECT_GT(n_calls, 20u);
}

TEST_P(EachFamily, EndsAThoughtThatThePromptHasBegun) {
  if (!family_.format().thoughts) return;
  const std::string begun(family_.format().thoughts->begin);
  const std::string end(family_.format().thoughts->end);
  const std::string call = written(family_.source(), "plan", "{}");
  family_.force_all(begun + "\n");
  EXPECT_TRUE(family_.takes(cat("Hm, ", end.substr(0, 3), " 2 < 3.\n", end, "\n\n", call)));
  EXPECT_TRUE(family_.takes(cat(end, call)));
  EXPECT_FALSE(family_.takes(call));
  EXPECT_FALSE(family_.takes(cat("Hm", end, "Well, ", call)));
  ASSERT_TRUE(family_.read(cat("Hm", end, call)));
  EXPECT_EQ(family_.read(cat("Hm", end, call))->size(), 1u);
  family_.force_all(cat(begun, "\n", end));
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
    SchemaCalls, EachFamily,
    testing::Combine(testing::Values("hermes", "llama", "mistral", "nemo", "mistral-named",
                                     "mistral-numbered", "granite", "lfm2", "gemma4",
                                     "functiongemma", "qwen3.5", "qwen3-coder", "seed", "minicpm5",
                                     "olmo3", "glm-4", "glm-4.5", "glm-4.7", "hunyuan",
                                     "hunyuan-list", "hunyuan-3"),
                     testing::Bool()),
    name_of_case);

Result<Grammar> calls_of_all(const Family& family, const Json::Array& functions) {
  Json::Array tools;
  std::vector<KnownTool> known;
  for (const Json& function : functions) {
    tools.push_back({{"type", "function"}, {"function", function}});
    known.push_back({.name = *function.find_string("name")});
  }
  return grammar_of_calls({Json(std::move(tools)), known, family.format(), family.marks()}, false);
}

// The grammar of calls of one tool.
Result<Grammar> calls_of(const char* family, const Json& function, bool has_tokens = false) {
  return calls_of_all(Family(family, has_tokens), {function});
}

std::string message_of(const char* family, const Json& function) {
  const auto grammar = calls_of(family, function);
  return grammar.ok() ? "" : grammar.error().message;
}

Json with_properties(std::string_view properties) {
  return {{"name", "f"},
          {"parameters", json_of(cat(R"({"type":"object","properties":)", properties, "}"))}};
}

// In Python, "#" begins a comment: a name with it would not be read back.
TEST(SchemaCalls, OfPythonHaveNoNumberSignInNames) {
  const char* const family = "olmo3";
  EXPECT_EQ(message_of(family, with_properties(R"({"#a":{}})")),
            "the tool \"f\": the JSON schema, at #/properties/#a: calls of this model cannot "
            "contain the parameter name \"#a\"");
  Family one(family, false);
  one.force(
      json_of(R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])"),
      {{.name = "f"}});
  EXPECT_TRUE(one.takes("<function_calls>f(a=1)</function_calls>"));
  EXPECT_FALSE(one.takes("<function_calls>f(#a=1)</function_calls>"));
}

TEST(SchemaCalls, OfAToolWithoutParametersHaveNoArguments) {
  Family family("hermes", false);
  family.force(json_of(R"([{"type": "function", "function": {"name": "now"}}])"),
               {{.name = "now"}});
  const auto call = [](std::string_view arguments) {
    return cat("<tool_call>\n{\"name\": \"now\", \"arguments\": ", arguments, "}\n</tool_call>");
  };
  EXPECT_TRUE(family.takes(call("{}")));
  EXPECT_FALSE(family.takes(call(R"({"a": 1})")));
}

TEST(SchemaCalls, OfTooManyToolsAreRefused) {
  const auto named = [](size_t i) { return Json{{"name", cat("f", i, std::string(4000, 'x'))}}; };
  const Family family("hermes", false);
  Json::Array functions;
  for (size_t i = 0; i < 300; ++i) functions.push_back(named(i));
  expect_error(calls_of_all(family, functions), ErrorCode::invalid_grammar,
               "a rule of the schema's grammar makes the grammar too large: more than "
               "1048576 steps");
}

TEST(SchemaCalls, TakeMarksAsTokensWhereThereAreSuch) {
  const auto grammar = calls_of("gemma4", with_properties(R"({"x":{"const":"a"}})"), true);
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  const auto tokens = grammar.value().tokens();
  for (const int32_t mark : {263, 265}) {
    EXPECT_NE(std::find(tokens.begin(), tokens.end(), mark), tokens.end()) << mark;
  }
}

TEST(SchemaCalls, SortNamesAsTheTemplateDoes) {
  const Json function = with_properties(
      R"({"b":{"type":"null"},"Ä":{"type":"null"},"C":{"type":"null"},"ä":{"type":"null"},
          "a":{"type":"null"}})");
  Family family("gemma4", false);
  family.force(Json::Array{{{"type", "function"}, {"function", function}}}, {{.name = "f"}});
  const std::string sorted =
      written(family.source(), "f", R"({"b":null,"Ä":null,"C":null,"ä":null,"a":null})");
  EXPECT_LT(sorted.find("b:"), sorted.find("C:")) << sorted;
  EXPECT_TRUE(family.takes(sorted)) << sorted;
}

TEST(SchemaCalls, WriteTheRulesOfAnyTextOnce) {
  std::string properties = "{\"p0\":{}";
  for (int i = 1; i < 30; ++i) properties += cat(",\"p", i, "\":{}");
  const auto n_steps = [](const std::string& own) {
    return calls_of("qwen3.5", with_properties(own)).value().steps().size();
  };
  EXPECT_LT(n_steps(properties + "}"), n_steps("{\"p0\":{}}") + 30 * 200);
}

TEST(SchemaCalls, SayWhatCannotBeWritten) {
  EXPECT_EQ(message_of("hermes", {{"name", "a b"}}), "");
  EXPECT_EQ(message_of("lfm2", {{"name", "a b"}}), "this model cannot call a tool named \"a b\"");
  const Json spaced = with_properties(R"({"a b":{}})");
  EXPECT_EQ(message_of("hermes", spaced), "");
  for (const char* family : {"gemma4", "lfm2", "qwen3.5"}) {
    EXPECT_EQ(message_of(family, spaced),
              "the tool \"f\": the JSON schema, at #/properties/a b: calls of this model cannot "
              "contain the "
              "parameter name \"a b\"");
  }
  EXPECT_EQ(
      message_of("gemma4", with_properties(R"({"x":{"const":"a<|\"|>b"}})")),
      "the tool \"f\": the JSON schema, at #/properties/x: calls of this model cannot contain "
      "the value "
      "\"a<|\\\"|>b\"");
  for (const char* family : {"hermes", "qwen3.5"}) {
    EXPECT_EQ(message_of(family, {{"name", "f"}, {"parameters", {{"type", "string"}}}}),
              "the tool \"f\": its parameters do not allow any object");
    EXPECT_EQ(message_of(family, with_properties(R"({"x":{"unevaluatedItems":{}}})")),
              "the tool \"f\": the JSON schema, at #/properties/x: \"unevaluatedItems\" is not "
              "supported");
  }
}

TEST(SchemaCalls, AnswersMayComeAfterAThought) {
  const Family family("qwen3.5", false);
  const Json schema{{"type", "integer"}};
  const auto grammar = [&](bool is_thinking) {
    return expect_shared(grammar_of_answer(schema, family.format(), family.marks(), is_thinking));
  };
  Texts thinking(grammar(true));
  EXPECT_TRUE(thinking.have("Hm </thin, 5 < 6\n</think>\n\n7"));
  EXPECT_TRUE(thinking.have("</think>7"));
  EXPECT_FALSE(thinking.have("7"));
  EXPECT_FALSE(thinking.have("Hm</think>x"));
  Texts plain(grammar(false));
  EXPECT_TRUE(plain.have("7"));
  EXPECT_FALSE(plain.have("</think>7"));
}

}  // namespace
}  // namespace kinglet
