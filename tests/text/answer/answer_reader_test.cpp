// Answers in the formats of several model families, cut at every place.
#include "text/answer/answer_reader.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace kinglet {
namespace {

// The parts of an answer in order; neighbours of one kind are joined.
std::string spelled(const std::vector<AnswerPart>& parts) {
  std::string out;
  auto kind = AnswerPart::Kind::arguments;
  for (const AnswerPart& part : parts) {
    const bool is_new = part.kind != kind || part.kind == AnswerPart::Kind::call;
    kind = part.kind;
    if (is_new) {
      switch (kind) {
        case AnswerPart::Kind::text:
          out += "|text:";
          break;
        case AnswerPart::Kind::thought:
          out += "|thought:";
          break;
        case AnswerPart::Kind::call:
          out += "|call:";
          break;
        case AnswerPart::Kind::arguments:
          out += "|";
          break;
      }
    }
    out += part.text;
  }
  return out;
}

struct Case {
  std::string_view chat_template;
  std::string_view answer;
  std::string_view expected;
  std::string_view prompt = {};
};

std::vector<KnownTool> tools() { return {{"weather", {"city", "note"}}, {"get_time", {}}}; }

std::string read(const Case& c, const std::vector<KnownTool>& known,
                 const std::vector<std::string_view>& pieces) {
  AnswerReader reader(find_answer_format(c.chat_template), known, c.prompt);
  std::vector<AnswerPart> parts;
  for (const std::string_view piece : pieces) reader.push(piece, parts);
  reader.end(parts);
  return spelled(parts);
}

void check(const Case& c, const std::vector<KnownTool>& known = tools()) {
  SCOPED_TRACE(c.answer);
  EXPECT_EQ(read(c, known, {c.answer}), c.expected);
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < c.answer.size(); ++i) bytes.push_back(c.answer.substr(i, 1));
  EXPECT_EQ(read(c, known, bytes), c.expected);
  for (size_t cut = 1; cut < c.answer.size(); ++cut) {
    EXPECT_EQ(read(c, known, {c.answer.substr(0, cut), c.answer.substr(cut)}), c.expected)
        << "cut at " << cut;
  }
}

constexpr std::string_view kHermes = "{{ tools }} <tool_call> </think>";
constexpr std::string_view kLlama = "{{ tools }} <|python_tag|>";
constexpr std::string_view kMistral = "{{ tools }} [TOOL_CALLS]";
constexpr std::string_view kMistralNamed = "{{ tools }} [TOOL_CALLS] [ARGS] [THINK] [/THINK]";
constexpr std::string_view kLfm2 = "{{ tools }} <|tool_list_start|>";
constexpr std::string_view kGemma4 = "{{ tools }} <|tool_call> <|channel>thought <channel|>";
constexpr std::string_view kFunctionGemma = "{{ tools }} <start_function_call>";
constexpr std::string_view kQwen35 = "{{ tools }} <tool_call> <function= </think>";
constexpr std::string_view kMiniCpm5 = "{{ tools }} <function name= </think>";
constexpr std::string_view kGranite3 = "{{ tools }} <|tool_call|>";

TEST(AnswerReader, TellsThoughtsFromTheAnswer) {
  check({kHermes, "<think>\nLet me see.\n</think>\n\nYes. ", "|thought:Let me see.|text:Yes. "});
  check({kHermes, "Let me see.\n</think>\n\nYes.", "|thought:Let me see.|text:Yes.",
         "<|im_start|>assistant\n<think>\n"});
  check({kHermes, "Yes.", "|text:Yes.", "<think>\n\n</think>\n\n"});
  check({kHermes, "<think>\n\n</think>\n\nYes.", "|text:Yes."});
  check({kHermes, "\n <think>never ended \n", "|thought:never ended"});
  check({kHermes, "Write <think> in front </think>.", "|text:Write <think> in front </think>."});
  check({kMistralNamed, "[THINK]Hm[/THINK]So", "|thought:Hm|text:So"});
  check({kGemma4, "<|channel>thought\nHm<channel|>So<|channel>thought\n<channel|>.",
         "|thought:Hm|text:So."});
  check({"</seed:think>", "<seed:think>a</seed:think>b", "|thought:a|text:b"});
  check({"<|inner_suffix|>", "<|inner_prefix|>a<|inner_suffix|>b", "|thought:a|text:b"});
}

TEST(AnswerReader, LeavesAnAnswerWithoutMarksAsItIs) {
  check({"{{ messages }}", " a <think> b\n ", "|text: a <think> b\n "});
  check({kHermes, "<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>",
         "|text:<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"},
        {});
  check({kLlama, "{\"a\": 1}", "|text:{\"a\": 1}"}, {});
}

TEST(AnswerReader, ReadsHermesCalls) {
  check({kHermes,
         "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"K\\u00f6ln\", "
         "\"days\": [1, 2.5e3, -0]}}\n</tool_call>\n<tool_call>{\"arguments\": {}, \"name\": "
         "\"get_time\"}</tool_call>\nDone.",
         "|text:I look.|call:weather|{\"city\":\"K\\u00f6ln\",\"days\":[1,2.5e3,-0]}"
         "|call:get_time|{}|text:Done."});
  check({kHermes, "<tool_call>{\"name\": \"get_time\"}", "|call:get_time|{}"});
  check({kHermes, "<tool_call>{\"name\": \"get_time\", \"arguments\": \"{\\\"a\\\": 1}\"}",
         "|call:get_time|{\"a\": 1}"});
  check({kHermes,
         "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"get_time\", "
         "\"parameters\": {}}}</tool_call>",
         "|call:get_time|{}"});
  check({kHermes, "<think>x</think><tool_call>{'name': 'get_time', 'arguments': {'a': True}}",
         "|thought:x|call:get_time|{\"a\":true}"});
  // The answer continues a prompt that asks for a call.
  check({kHermes, "{\"name\": \"get_time\", \"arguments\": {}}", "|call:get_time|{}",
         "<|im_start|>assistant\n<tool_call>\n"});
}

TEST(AnswerReader, ShowsWhatIsNoCallAsText) {
  check({kHermes, "See <tool_call>soon</tool_call>!", "|text:See <tool_call>soon</tool_call>!"});
  check({kHermes, "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>",
         "|text:<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>"});
  check({kHermes, "<tool_call>{\"nam", "|text:<tool_call>{\"nam"});
  check({kHermes, "a < b <tool", "|text:a < b <tool"});
  check({kLlama, "{\"name\": \"Ann\"}", "|text:{\"name\": \"Ann\"}"});
  check({kLlama, "[1] says {\"name\": \"weather\", \"parameters\": {}}",
         "|text:[1] says {\"name\": \"weather\", \"parameters\": {}}"});
}

TEST(AnswerReader, EndsArgumentsWhereTheyCannotBeReadOn) {
  check({kHermes, "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Pa",
         "|call:weather|{\"city\":\"Pa"});
  check({kHermes, "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": ?}}",
         "|call:weather|{\"city\":?}}"});
  check({kHermes,
         "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": ?}}\n</tool_call>\nSo.",
         "|call:weather|{\"city\":?}}|text:So."});
  const std::string deep =
      "<tool_call>{\"name\": \"weather\", \"arguments\": " + std::string(100'000, '[');
  AnswerReader reader(find_answer_format(kHermes), tools(), {});
  std::vector<AnswerPart> parts;
  reader.push(deep, parts);
  reader.end(parts);
  ASSERT_GE(parts.size(), 2u);
  EXPECT_EQ(parts[0].text, "weather");
  EXPECT_EQ(parts[1].text, std::string(64, '['));
}

// Whether the answer's calls are whole, and where it ended otherwise.
bool is_whole(std::string_view chat_template, std::string_view answer, size_t n_most = 100) {
  AnswerReader reader(find_answer_format(chat_template), tools(), {});
  std::vector<AnswerPart> parts;
  for (const char c : answer) reader.push({&c, 1}, parts);
  reader.end(parts);
  return reader.has_whole_calls(n_most);
}

TEST(AnswerReader, KnowsWhetherCallsAreWhole) {
  const std::string first = "<tool_call>{\"name\": \"get_time\", \"arguments\": {}}";
  const std::string second =
      "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\", \"days\": [1, 2]}}";
  for (size_t n = 0; n < first.size(); ++n) {
    EXPECT_FALSE(is_whole(kHermes, first.substr(0, n))) << n;
  }
  EXPECT_TRUE(is_whole(kHermes, first));
  EXPECT_TRUE(is_whole(kHermes, first + "</tool_call>\nSo."));
  const std::string both = first + "</tool_call>" + second;
  for (size_t n = first.size() + 23; n < both.size(); ++n) {
    EXPECT_FALSE(is_whole(kHermes, both.substr(0, n))) << n;
    EXPECT_TRUE(is_whole(kHermes, both.substr(0, n), 1)) << n;
  }
  EXPECT_TRUE(is_whole(kHermes, both));
  EXPECT_FALSE(is_whole(kHermes, "Hello."));
  EXPECT_FALSE(
      is_whole(kHermes, "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": ?}}" +
                            ("</tool_call>" + first)));
  EXPECT_TRUE(is_whole(kHermes, first.substr(0, first.size() - 1) + "</tool_call>"));
  EXPECT_FALSE(is_whole(kQwen35, "<tool_call><function=weather><parameter=city>Ro"));
  EXPECT_FALSE(is_whole(kLfm2, "<|tool_call_start|>[get_time(), weather(\"Rome\")]"));
  EXPECT_FALSE(is_whole(kGemma4, "<|tool_call>call:weather{city:<|\"|>Ro"));
}

TEST(AnswerReader, ReadsBareJson) {
  check({kLlama, "{\"name\": \"weather\", \"parameters\": {\"city\": \"Rome\"}}",
         "|call:weather|{\"city\":\"Rome\"}"});
  check(
      {kLlama, " <|python_tag|>{\"name\": \"get_time\", \"parameters\": {}}", "|call:get_time|{}"});
  check({"{{ tools }}",
         "[{\"name\": \"get_time\", \"arguments\": {}}, {\"name\": \"weather\", "
         "\"arguments\": {}}]",
         "|call:get_time|{}|call:weather|{}"});
}

TEST(AnswerReader, ReadsMistralsCalls) {
  check({kMistral, "[TOOL_CALLS] [{\"name\": \"get_time\", \"arguments\": {}, \"id\": \"x\"}]",
         "|call:get_time|{}"});
  check({kMistralNamed,
         "Hm.[TOOL_CALLS]weather[CALL_ID]a1[ARGS]{\"city\": \"Rome\"}[TOOL_CALLS]get_time[ARGS]{}",
         "|text:Hm.|call:weather|{\"city\":\"Rome\"}|call:get_time|{}"});
}

TEST(AnswerReader, ReadsPythonCalls) {
  check({kLfm2,
         "<|tool_call_start|>[weather(city='O\\'Hare \"x\"', days=3, deep={'a': [None, False]}), "
         "get_time()]<|tool_call_end|>Wait.",
         "|call:weather|{\"city\":\"O'Hare \\\"x\\\"\",\"days\":3,\"deep\":{\"a\":[null,false]}}"
         "|call:get_time|{}|text:Wait."});
  check({kLfm2, "<|tool_call_start|>[{\"name\": \"get_time\", \"arguments\": {}}]<|tool_call_end|>",
         "|call:get_time|{}"});
  check({kLfm2, "<|tool_call_start|>[weather(\"Rome\")]<|tool_call_end|>",
         "|call:weather|{\"Rome\")]"});
}

TEST(AnswerReader, ReadsGemmasCalls) {
  check({kGemma4,
         "<|tool_call>call:weather{city:<|\"|>Sao \"Paulo\"\n<|\"|>,days:2,deep:{a:[true,null]}}"
         "<tool_call|><|tool_call>call:get_time{}<tool_call|>",
         "|call:weather|{\"city\":\"Sao \\\"Paulo\\\"\\n\",\"days\":2,\"deep\":{\"a\":[true,null]}}"
         "|call:get_time|{}"});
  check({kFunctionGemma,
         "<start_function_call>call:weather{city:<escape>Rome<escape>}<end_function_call>",
         "|call:weather|{\"city\":\"Rome\"}"});
}

TEST(AnswerReader, ReadsCallsWhoseParametersStandBetweenMarks) {
  check({kQwen35,
         "<think>\nHm\n<tool_call>\n<function=weather>\n<parameter=city>\n  12\n</parameter>\n"
         "<parameter=days>\n12\n</parameter>\n<parameter=odd>\nnot \"json\"\n</parameter>\n"
         "</function>\n</tool_call>",
         "|thought:Hm|call:weather|{\"city\":\"  12\",\"days\":12,\"odd\":\"not \\\"json\\\"\"}"});
  check({kQwen35, "<tool_call>\n<function=get_time>\n</function>\n</tool_call>\nSo.",
         "|call:get_time|{}|text:So."});
  check({kMiniCpm5,
         "Well. <function name=\"weather\"><param name=\"city\">Rome</param><param "
         "name=\"note\"><![CDATA[a</param>b]]></param><param name=\"days\">[1]</param></function>\n"
         "<function name=\"get_time\"></function> Done",
         "|text:Well.|call:weather|{\"city\":\"Rome\",\"note\":\"a</param>b\",\"days\":[1]}"
         "|call:get_time|{}|text:Done"});
  check({kMiniCpm5, "In C++: #include <functional>", "|text:In C++: #include <functional>"});
}

TEST(AnswerReader, TakesForAStringWhatIsNoOtherAllowedValue) {
  const std::vector<KnownTool> known = {
      {"f", {}, {{"either", kStringType | kNullType}, {"count", kStringType | kIntegerType}}}};
  const auto answer = [](std::string_view name, std::string_view value) {
    return "<tool_call><function=f><parameter=" + std::string(name) + ">\n" + std::string(value) +
           "\n</parameter></function></tool_call>";
  };
  check({kQwen35, answer("either", "12345"), "|call:f|{\"either\":\"12345\"}"}, known);
  check({kQwen35, answer("either", "true"), "|call:f|{\"either\":\"true\"}"}, known);
  check({kQwen35, answer("either", " a"), "|call:f|{\"either\":\" a\"}"}, known);
  check({kQwen35, answer("either", "null"), "|call:f|{\"either\":null}"}, known);
  check({kQwen35, answer("count", "12"), "|call:f|{\"count\":12}"}, known);
  check({kQwen35, answer("count", "1.5"), "|call:f|{\"count\":\"1.5\"}"}, known);
  check({kQwen35, answer("other", "12345"), "|call:f|{\"other\":12345}"}, known);
}

TEST(AnswerReader, ReadsApertusCalls) {
  constexpr std::string_view kApertus = "{{ tools }} <|tools_prefix|> <|inner_suffix|>";
  check({kApertus,
         "<|inner_prefix|>Hm<|inner_suffix|><|tools_prefix|>[{\"weather\": {\"city\": \"Rome\"}}, "
         "{\"get_time\": {}}]<|tools_suffix|>So.",
         "|thought:Hm|call:weather|{\"city\":\"Rome\"}|call:get_time|{}|text:So."});
  check({kApertus, "<|tools_prefix|>[{\"name\": \"get_time\", \"arguments\": {}}]<|tools_suffix|>",
         "|call:get_time|{}"});
  check({kApertus, "<|tools_prefix|>[{\"fly\": {}}]<|tools_suffix|>",
         "|text:<|tools_prefix|>[{\"fly\": {}}]<|tools_suffix|>"});
  EXPECT_FALSE(is_whole(kApertus, "<|tools_prefix|>[{\"weather\": {\"city\": \"Ro"));
}

TEST(AnswerReader, ReadsCommandsCalls) {
  check(
      {"{{ tools }} <|START_ACTION|> <|END_THINKING|>",
       "<|START_THINKING|>Hm<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", "
       "\"tool_name\": \"weather\", \"parameters\": {\"city\": \"Rome\"}},\n    {\"tool_call_id\": "
       "\"1\", \"tool_name\": \"get_time\", \"parameters\": {}}\n]<|END_ACTION|>",
       "|thought:Hm|call:weather|{\"city\":\"Rome\"}|call:get_time|{}"});
}

TEST(AnswerReader, ReadsSeedsCalls) {
  check({"{{ tools }} <seed:tool_call> <function= </seed:think>",
         "<seed:think>Hm</seed:think><seed:tool_call>\n<function=weather>\n<parameter=city>12"
         "</parameter>\n<parameter=days>12</parameter>\n</function>\n</seed:tool_call>",
         "|thought:Hm|call:weather|{\"city\":\"12\",\"days\":12}"});
}

TEST(AnswerReader, ReadsGranitesCalls) {
  check({kGranite3, "<|tool_call|>[{\"name\": \"get_time\", \"arguments\": {}}]",
         "|call:get_time|{}"});
}

TEST(AnswerFormat, TakesOnlyTheVariableForTools) {
  EXPECT_FALSE(find_answer_format("{% if tools_in_user_message %}").knows_tools);
  EXPECT_FALSE(find_answer_format("builtin_tools").knows_tools);
  EXPECT_TRUE(find_answer_format("{% if tools %}").knows_tools);
}

TEST(AnswerFormat, NamesTheMarksThatMayBeTokens) {
  const std::vector<std::string_view> expected = {"<|tool_call>", "<tool_call|>", "<|\"|>",
                                                  "<|channel>", "<channel|>"};
  EXPECT_EQ(find_answer_format(kGemma4).marks(true), expected);
  const std::vector<std::string_view> of_thoughts = {"<|channel>", "<channel|>"};
  EXPECT_EQ(find_answer_format(kGemma4).marks(false), of_thoughts);
}

}  // namespace
}  // namespace kinglet
