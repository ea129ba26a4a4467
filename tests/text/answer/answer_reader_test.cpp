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

// The mark or the beginning of a call that the end cuts after whole calls is not text.
TEST(AnswerReader, DropsTheCutBeginningOfALaterCall) {
  const std::string call = "<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>";
  const std::string next = "\n<tool_call>\n{\"name\": \"wea";
  for (size_t n = 2; n <= next.size(); ++n) {
    const std::string answer = call + next.substr(0, n);
    check({kHermes, answer, "|call:get_time|{}"});
    AnswerReader reader(find_answer_format(kHermes), tools(), "");
    std::vector<AnswerPart> parts;
    reader.push(answer, parts);
    reader.end(parts);
    EXPECT_FALSE(reader.has_whole_calls(SIZE_MAX)) << answer;
    EXPECT_TRUE(reader.has_whole_calls(1)) << answer;
  }
  check({kHermes, call + "\na <b", "|call:get_time|{}|text:a <b"});
}

// A first call without arguments is text only if the model left it so.
TEST(AnswerReader, DropsTheCutBeginningOfTheFirstCall) {
  const std::string answer = "I look.\n<tool_call>\n{\"name\": \"wea";
  for (const bool was_cut : {false, true}) {
    AnswerReader reader(find_answer_format(kHermes), tools(), "");
    std::vector<AnswerPart> parts;
    reader.push(answer, parts);
    reader.end(parts, was_cut);
    EXPECT_EQ(spelled(parts), was_cut ? "|text:I look." : "|text:" + answer);
    EXPECT_FALSE(reader.has_whole_calls(SIZE_MAX));
  }
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
  check({kLfm2, R"([weather(city='\x1b' "b", days=(1, .5), note='''a'b''', path=r'C:\n')])",
         R"(|call:weather|{"city":"\u001bb","days":[1,0.5],"note":"a'b","path":"C:\\n"})",
         "<|tool_call_start|>"});
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

TEST(AnswerReader, EndsAValueWhereTheFormGoesOn) {
  const auto answer = [](std::string_view value, std::string_view end) {
    return "<tool_call>\n<function=weather>\n<parameter=city>\n" + std::string(value) +
           "\n</parameter>\n" + std::string(end);
  };
  const std::string_view whole = "</function>\n</tool_call>\nSo.";
  check({kQwen35, answer("a </parameter> b </para", whole),
         "|call:weather|{\"city\":\"a </parameter> b </para\"}|text:So."});
  check({kQwen35, answer("</parameter></parameter>", whole),
         "|call:weather|{\"city\":\"</parameter></parameter>\"}|text:So."});
  check({kQwen35,
         answer("</parameter></p>", "<parameter=note>x</parameter></function></tool_call>"),
         "|call:weather|{\"city\":\"</parameter></p>\",\"note\":\"x\"}"});
  check({kQwen35, answer("\n \n", whole), "|call:weather|{\"city\":\"\\n \\n\"}|text:So."});
  EXPECT_TRUE(is_whole(kQwen35, answer("a </parameter> b", whole)));
  // Marks of calls end a value that lacks the end of its call.
  const std::string both = answer("a", "</tool_call>\n<tool_call><function=get_time></function>");
  check({kQwen35, both, "|call:weather|{\"city\":\"a\"|call:get_time|{}"});
  EXPECT_FALSE(is_whole(kQwen35, both));
}

TEST(AnswerReader, ReadsXml) {
  const std::vector<KnownTool> known = {{"f",
                                         {"s"},
                                         {{"n", kIntegerType},
                                          {"l", kArrayType},
                                          {"b", kBooleanType},
                                          {"m", kStringType | kObjectType},
                                          {"o", kObjectType}}}};
  const auto with = [&](std::string_view name, std::string_view value, std::string_view json) {
    const std::string element = "<param name=\"" + std::string(name) + "\">";
    const std::string answer =
        "<function name=\"f\">" + element + std::string(value) + "</param></function> So";
    check({kMiniCpm5, answer,
           "|call:f|{\"" + std::string(name) + "\":" + std::string(json) + "}|text:So"},
          known);
  };
  with("s", "1 &lt; 2 &amp;&amp; 3 &gt; 2 &quot;&apos;&#10;&#x41;&#233;",
       R"("1 < 2 && 3 > 2 \"'\nAé")");
  with("s", "a & b &c; &#0; &#xd800; &#x110000; &lt &amp;lt;",
       R"("a & b &c; &#0; &#xd800; &#x110000; &lt &lt;")");
  with("s", "\n one\ntwo \n", R"("\n one\ntwo \n")");
  with("s", "<![CDATA[\na &lt; <b>\n]]>", R"("\na &lt; <b>\n")");
  with("s", "\n<![CDATA[a]]]]><![CDATA[>b]]>\n", R"("a]]>b")");
  with("s", "a <![CDATA[<b>]]> &amp; c", R"("a <b> & c")");
  with("s", "a < b </b>", R"("a < b </b>")");
  with("s", "", R"("")");
  with("x", "\n12\n", "12");
  with("x", "\ntwo\n", R"("\ntwo\n")");
  with("x", "<![CDATA[12]]>", R"("12")");
  with("n", "<![CDATA[12]]>", "12");
  with("b", "<![CDATA[ True\n]]>", "true");
  with("l", "<![CDATA[[1, \"a<b\"]]]>", R"([1,"a<b"])");
  with("l", R"(['it\'s', (1, None), '\x41'])", R"(["it's",[1,null],"A"])");
  with("o", "<![CDATA[\n{\"a\": \"<\"}\n]]>", R"({"a":"<"})");
  with("o", "{&quot;a&quot;: 1}", R"({"a":1})");
  with("m", "<![CDATA[{\"a\": 1}]]>", R"({"a":1})");
  with("m", "<![CDATA[a\nb]]>", R"("a\nb")");
  check({kMiniCpm5,
         "<function\n name = 'f' id=\"1\" >\n <param\tname='s' >a</param >\n<param name=\"x\"/>"
         "<param type='a>b' name=\"&lt;y\">b</param></function >\n<function name=\"f\" /> So",
         R"(|call:f|{"s":"a","x":"","<y":"b"}|call:f|{}|text:So)"},
        known);
  check({kMiniCpm5, "<function id=\"f\"></function>", "|text:<function id=\"f\"></function>"},
        known);
}

TEST(AnswerReader, TakesOnlyObjectsForArguments) {
  const auto hermes = [](std::string_view arguments) {
    return R"(<tool_call>{"name": "weather", "arguments": )" + std::string(arguments) +
           "}</tool_call>";
  };
  for (const std::string_view arguments :
       {R"("hello")", R"("{\"a\": 1")", "null", "[1]", "5", "true", R"("")", R"("[1]")", "'x'",
        R"({"a": "\ud83d"})"}) {
    EXPECT_FALSE(is_whole(kHermes, hermes(arguments))) << arguments;
  }
  for (const std::string_view arguments :
       {"{}", R"("{\"a\": 1}")", R"('{"a": 1}')", R"("{'a': True}")", R"(" {} ")"}) {
    EXPECT_TRUE(is_whole(kHermes, hermes(arguments))) << arguments;
  }
  check({kHermes, hermes(R"("hello")"), "|call:weather|hello"});
  check({kHermes, hermes("null"), "|call:weather|null"});
  check({kHermes, hermes(R"("{'a': True}")"), R"(|call:weather|{"a":true})"});
  check({kMistralNamed, R"([TOOL_CALLS]weather[ARGS]"{\"a\": 1}")", R"(|call:weather|{"a": 1})"});
  EXPECT_FALSE(is_whole(kMistralNamed, R"([TOOL_CALLS]weather[ARGS]"hello")"));
  EXPECT_FALSE(is_whole(kLfm2, "<|tool_call_start|>[weather(x=1e999)]<|tool_call_end|>"));
}

TEST(AnswerReader, TakesAnObjectWithoutArgumentsForACallOnlyIfItHasNothingElse) {
  for (const std::string_view object :
       {R"({"name": "weather", "age": 30})", R"({"age": 30, "name": "weather"})",
        R"({"name": "weather", "type": "x", "city": "Rome"})"}) {
    const std::string text = "|text:" + std::string(object);
    check({kLlama, object, text});
    check({"{{ tools }}", object, text});
    check({kHermes, object, text});
    const std::string marked = "<tool_call>" + std::string(object) + "</tool_call>";
    check({kHermes, marked, "|text:" + marked});
  }
  check({kLlama, R"({"type": "function", "name": "weather"})", "|call:weather|{}"});
  check({kLlama, R"({"note": "x", "name": "weather", "parameters": {"city": "Rome"}})",
         R"(|call:weather|{"city":"Rome"})"});
}

TEST(AnswerReader, ReadsSeveralCallsOfLlama) {
  const std::string first = R"({"name": "get_time", "parameters": {}})";
  const std::string second = R"({"name": "weather", "parameters": {"city": "Rome"}})";
  for (const std::string_view between : {"; ", ";", "\n;\n", ", ", "\n"}) {
    const std::string both = first + std::string(between) + second;
    check({kLlama, both, R"(|call:get_time|{}|call:weather|{"city":"Rome"})"});
    EXPECT_TRUE(is_whole(kLlama, both));
  }
}

TEST(AnswerReader, ReadsOlmosCalls) {
  constexpr std::string_view kOlmo3 = "{{ tools }} <function_calls>";
  check({kOlmo3,
         "So.\n<function_calls>weather(city=\"S\\u00e3o\", days=3, deep={\"a\": [null, false]})\n"
         "get_time()</function_calls>Wait.",
         "|text:So.|call:weather|{\"city\":\"São\",\"days\":3,\"deep\":{\"a\":[null,false]}}"
         "|call:get_time|{}|text:Wait."});
  EXPECT_FALSE(is_whole(kOlmo3, "<function_calls>weather(city=\"Ro"));
}

TEST(AnswerReader, ReadsGlmsCalls) {
  constexpr std::string_view kGlm4 = "{{ tools }} <|observation|>";
  check({kGlm4, "weather\n{\"city\": \"Rome\"}", "|call:weather|{\"city\":\"Rome\"}"});
  check({kGlm4, "\nget_time \n{}\nweather\n{\"city\": 1}",
         "|call:get_time|{}|call:weather|{\"city\":1}"});
  check({kGlm4, "weather is fine", "|text:weather is fine"});
  check({kGlm4, "wea", "|text:wea"});
  check({kGlm4, "other\n{\"a\": 1}", "|text:other\n{\"a\": 1}"});
  check({kGlm4, R"({"name": "get_time", "arguments": {}})", "|call:get_time|{}"});
  EXPECT_FALSE(is_whole(kGlm4, "weather\n{\"city\": \"Ro"));
  EXPECT_FALSE(is_whole(kGlm4, "weather\n{\"city\": ?}"));
  constexpr std::string_view kGlm45 = "{{ tools }} <tool_call> </arg_key>\n </think>";
  check(
      {kGlm45,
       "<think>Hm</think>\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>12</arg_value>\n"
       "<arg_key>days</arg_key>\n<arg_value>[1, 2]</arg_value>\n<arg_key>odd</arg_key>\n"
       "<arg_value>\na </arg_value> b\n</arg_value>\n</tool_call>\n<tool_call>get_time\n"
       "</tool_call>\nSo.",
       "|thought:Hm|call:weather|{\"city\":\"12\",\"days\":[1,2],\"odd\":\"\\na </arg_value> "
       "b\\n\"}"
       "|call:get_time|{}|text:So."});
  check({kGlm45,
         "<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>"
         "<tool_call>get_time</tool_call>",
         "|call:weather|{\"city\":\"Rome\"}|call:get_time|{}"});
  check({kGlm45,
         "<tool_call>get_time\n{}</tool_call><tool_call>{\"name\": \"get_time\", \"arguments\": "
         "{}}</tool_call>",
         "|call:get_time|{}|call:get_time|{}"});
  check({kGlm45, "<tool_call>weather is fine</tool_call>",
         "|text:<tool_call>weather is fine</tool_call>"});
  EXPECT_FALSE(is_whole(kGlm45, "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Ro"));
  EXPECT_FALSE(is_whole(kGlm45, "<tool_call>get_time\n"));
}

TEST(AnswerReader, ReadsHunyuansCalls) {
  constexpr std::string_view kHunyuan = "{{ tools }} <tool_calls> </think>";
  check({kHunyuan,
         "<think>\nHm\n</think>\nSo. <tool_calls>\n<tool_call>weather\n```json\n{\"city\": "
         "\"Rome\"}\n```\n</tool_call>\n<tool_call>get_time\n```json\n{}\n```\n</tool_call>\n"
         "</tool_calls>\nWait.",
         "|thought:Hm|text:So.|call:weather|{\"city\":\"Rome\"}|call:get_time|{}|text:Wait."});
  check({kHunyuan,
         "<tool_calls>[{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}, {\"name\": "
         "\"get_time\", \"arguments\": {}}]</tool_calls>",
         "|call:weather|{\"city\":\"Rome\"}|call:get_time|{}"});
  check({kHunyuan,
         "<tool_calls><tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>"
         "</tool_calls>",
         "|call:get_time|{}"});
  check({kHunyuan,
         "<tool_calls>\n<tool_call>weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>12"
         "</arg_value>\n</tool_call>\n<tool_call>get_time<tool_sep></tool_call>\n</tool_calls>",
         "|call:weather|{\"city\":\"12\"}|call:get_time|{}"});
  check({kHunyuan,
         "<tool_calls><tool_call>function<tool_sep>weather\n```json\n{\"city\": \"Rome\"}\n```"
         "</tool_call></tool_calls>",
         "|call:weather|{\"city\":\"Rome\"}"});
  const std::string begin = "<tool_calls>\n<tool_call>weather\n```json\n";
  EXPECT_FALSE(is_whole(kHunyuan, begin + "{\"city\": \"Ro"));
  EXPECT_FALSE(is_whole(kHunyuan, begin + "\"x\"\n```\n</tool_call>"));
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
