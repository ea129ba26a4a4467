// Any answer in any format: the places where it is cut do not change what is read.
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "text/answer/answer_reader.h"

namespace kinglet::fuzz {
namespace {

constexpr std::string_view kTemplates[] = {
    "",
    "{{ tools }}",
    "{{ tools }} <tool_call> </think>",
    "{{ tools }} <|python_tag|>",
    "{{ tools }} [TOOL_CALLS] [ARGS] [/THINK]",
    "{{ tools }} <|tool_list_start|>",
    "{{ tools }} <|tool_call> <channel|>",
    "{{ tools }} <start_function_call>",
    "{{ tools }} <tool_call> <function= </think>",
    "{{ tools }} <function name= </think>",
    "{{ tools }} <|tool_call|>",
    "{{ tools }} <function_calls>",
    "{{ tools }} <|observation|>",
    "{{ tools }} <tool_call> </arg_key> </think>",
    "{{ tools }} <tool_calls> </think>",
    "{{ tools }} <seed:tool_call> <function=",
    "{{ tools }} <|tools_prefix|>",
};

// Joins the parts, so that only their content counts.
class Said {
 public:
  void add(const std::vector<AnswerPart>& parts) {
    for (const AnswerPart& part : parts) {
      check(!part.text.empty(), "an empty part");
      if (part.kind == AnswerPart::Kind::call) calls_.emplace_back();
      if (part.kind == AnswerPart::Kind::arguments) calls_.back() += part.text;
      if (part.kind != kind_ || part.kind == AnswerPart::Kind::call) {
        text_ += static_cast<char>('0' + static_cast<int>(part.kind));
      }
      kind_ = part.kind;
      text_ += part.text;
    }
  }

  const std::string& text() const { return text_; }
  const std::vector<std::string>& calls() const { return calls_; }

 private:
  std::string text_;
  std::vector<std::string> calls_;  // their arguments
  AnswerPart::Kind kind_ = AnswerPart::Kind::arguments;
};

}  // namespace

void answer(Bytes bytes) {
  Input input(bytes);
  const AnswerFormat format =
      find_answer_format(kTemplates[input.up_to(std::size(kTemplates) - 1)]);
  std::vector<KnownTool> tools;
  if (input.flag()) tools = {{"f", {"s"}, {{"n", kIntegerType}}}, {"g"}};
  const std::string_view prompt = input.flag() ? "<think>" : "";
  const size_t size = input.up_to(40) + 1;
  const std::string_view text = input.rest_text();

  AnswerReader at_once(format, tools, prompt);
  AnswerReader in_pieces(format, tools, prompt);
  Said whole;
  Said cut;
  std::vector<AnswerPart> parts;
  at_once.push(text, parts);
  at_once.end(parts);
  whole.add(parts);
  for (size_t begin = 0; begin < text.size(); begin += size) {
    parts.clear();
    in_pieces.push(text.substr(begin, size), parts);
    cut.add(parts);
  }
  parts.clear();
  in_pieces.end(parts);
  cut.add(parts);
  check(whole.text() == cut.text(), "the cuts of an answer change what it says");
  check(at_once.has_whole_calls(SIZE_MAX) == in_pieces.has_whole_calls(SIZE_MAX),
        "the cuts of an answer change whether its calls are whole");
  if (!at_once.has_whole_calls(SIZE_MAX)) return;
  for (const std::string& arguments : whole.calls()) {
    check(is_json_object(arguments), "the arguments of a whole call are not an object");
  }
}

}  // namespace kinglet::fuzz
