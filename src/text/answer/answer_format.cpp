#include "text/answer/answer_format.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.h"
#include "text/answer/marks.h"

namespace kinglet {

namespace {

constexpr std::string_view kArguments = "[ARGS]";
constexpr std::string_view kCallId = "[CALL_ID]";

// The end mark identifies a row: some templates have only the end mark, to cut off thoughts.
constexpr auto kThoughtMarks = std::to_array<ThoughtMarks>({
    {"<think>", "</think>", {}},                                  // Qwen, DeepSeek R1, SmolLM3 …
    {"<|channel>thought", "<channel|>", "<|channel>"},            // Gemma 4
    {"[THINK]", "[/THINK]", {}},                                  // Mistral
    {"<seed:think>", "</seed:think>", {}},                        // Seed-OSS
    {"<|inner_prefix|>", "<|inner_suffix|>", {}},                 // Apertus
    {"<|START_THINKING|>", "<|END_THINKING|>", {}},               // Command A
    {"Here is my thought process:", "Here is my response:", {}},  // Granite 3.2
});

// Hermes, Qwen 2.5 and 3, SmolLM3, Granite 4
constexpr CallMarks kHermes = {
    CallSyntax::json, "<tool_call>", "</tool_call>", {}, &kHermesNotation};
// Templates that use tools, but have the sign of no known format
constexpr CallMarks kBare = {CallSyntax::json, {}, {}, {}, &kJsonNotation};
constexpr CallMarks kLlama = {CallSyntax::json, {}, {}, {}, &kLlamaNotation};
// GLM-4.5 and 4.6; from 4.7 on, without line breaks
constexpr CallMarks kGlm45 = {
    CallSyntax::pairs, "<tool_call>", "</tool_call>", {}, &kGlm45Notation};
constexpr CallMarks kLfm2 = {
    CallSyntax::python, "<|tool_call_start|>", "<|tool_call_end|>", {}, &kLfm2Notation};

struct KnownCalls {
  std::string_view sign;  // a text in templates of this format
  CallMarks marks;
};

// The format of a template is the first row whose sign the template contains.
constexpr auto kCalls = std::to_array<KnownCalls>({
    // Gemma 4; FunctionGemma
    {"<|tool_call>",
     {CallSyntax::named_object, "<|tool_call>", "<tool_call|>", "<|\"|>", &kGemma4Notation}},
    {"<start_function_call>",
     {CallSyntax::named_object, "<start_function_call>", "<end_function_call>", "<escape>",
      &kFunctionGemmaNotation}},
    {"<|tool_call_start|>", kLfm2},
    {"<|tool_list_start|>", kLfm2},
    // Apertus
    {"<|tools_prefix|>",
     {CallSyntax::keyed_json, "<|tools_prefix|>", "<|tools_suffix|>", {}, &kApertusNotation}},
    // Command R7B and A
    {"<|START_ACTION|>",
     {CallSyntax::json, "<|START_ACTION|>", "<|END_ACTION|>", {}, &kCommandNotation}},
    // Seed-OSS
    {"<seed:tool_call>",
     {CallSyntax::inline_parameters, "<seed:tool_call>", "</seed:tool_call>", {}, &kSeedNotation}},
    // MiniCPM5
    {"<function name=", {CallSyntax::xml, "<function", {}, {}, &kMiniCpm5Notation}},
    // Qwen 3.5 and Qwen3-Coder
    {"<function=", {CallSyntax::parameters, "<tool_call>", "</tool_call>", {}, &kQwen35Notation}},
    // Hunyuan: version 3; calls in lists; calls with marks of their own
    {"<tool_sep>", {CallSyntax::blocks, "<tool_calls>", "</tool_calls>", {}, &kHunyuan3Notation}},
    {"<tool_calls>[",
     {CallSyntax::json, "<tool_calls>", "</tool_calls>", {}, &kHunyuanListNotation}},
    {"<tool_calls>", {CallSyntax::blocks, "<tool_calls>", "</tool_calls>", {}, &kHunyuanNotation}},
    {"</arg_key>\n", kGlm45},
    {"</arg_key>", {CallSyntax::pairs, "<tool_call>", "</tool_call>", {}, &kGlm47Notation}},
    // OLMo 3
    {"<function_calls>",
     {CallSyntax::python, "<function_calls>", "</function_calls>", {}, &kOlmo3Notation}},
    {"<tool_call>", kHermes},
    // Granite 3
    {"<|tool_call|>", {CallSyntax::json, "<|tool_call|>", {}, {}, &kGranite3Notation}},
    // Mistral, with the name in front of the JSON or inside
    {kCallId, {CallSyntax::named_json, "[TOOL_CALLS]", {}, {}, &kNumberedMistralNotation}},
    {kArguments, {CallSyntax::named_json, "[TOOL_CALLS]", {}, {}, &kNamedMistralNotation}},
    {"[TOOL_CALLS] [", {CallSyntax::json, "[TOOL_CALLS]", {}, {}, &kSpacedMistralNotation}},
    {"[TOOL_CALLS]", {CallSyntax::json, "[TOOL_CALLS]", {}, {}, &kMistralNotation}},
    // Llama 3
    {"\"parameters\": dictionary", kLlama},
    {"\"parameters\":dictionary", kLlama},
    // GLM-4
    {"<|observation|>", {CallSyntax::named_line, {}, {}, {}, &kGlm4Notation}},
});

// The marks inside calls that some vocabularies have tokens for.
std::span<const std::string_view> inner_marks(CallSyntax syntax) {
  static constexpr std::string_view kNamed[] = {kArguments, kCallId};
  static constexpr std::string_view kXml[] = {"</function>", "<param", "</param>", "<![CDATA[",
                                              "]]>"};
  static constexpr std::string_view kPairs[] = {"<arg_key>", "</arg_key>", "<arg_value>",
                                                "</arg_value>"};
  static constexpr std::string_view kBlocks[] = {"<tool_call>", "</tool_call>", "<tool_sep>",
                                                 "<arg_key>",   "</arg_key>",   "<arg_value>",
                                                 "</arg_value>"};
  switch (syntax) {
    case CallSyntax::named_json:
      return kNamed;
    case CallSyntax::xml:
      return kXml;
    case CallSyntax::pairs:
      return kPairs;
    case CallSyntax::blocks:
      return kBlocks;
    default:
      return {};
  }
}

bool is_name_character(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

// Whether a template reads the variable `tools`, and not only tools_in_user_message or the like.
bool names_tools(std::string_view text) {
  constexpr std::string_view kName = "tools";
  for (size_t at = text.find(kName); at != std::string_view::npos; at = text.find(kName, at + 1)) {
    const size_t end = at + kName.size();
    const bool begins = at == 0 || !is_name_character(text[at - 1]);
    if (begins && (end == text.size() || !is_name_character(text[end]))) return true;
  }
  return false;
}

}  // namespace

AnswerFormat find_answer_format(std::string_view chat_template) {
  const auto has = [&](std::string_view mark) {
    return chat_template.find(mark) != std::string_view::npos;
  };
  AnswerFormat format;
  for (const ThoughtMarks& marks : kThoughtMarks) {
    if (!has(marks.end)) continue;
    format.thoughts = marks;
    break;
  }
  format.knows_tools = names_tools(chat_template);
  format.calls = format.knows_tools ? kBare : kHermes;
  if (!format.knows_tools) return format;
  for (const KnownCalls& known : kCalls) {
    if (!has(known.sign)) continue;
    format.calls = known.marks;
    break;
  }
  return format;
}

bool AnswerFormat::is_thinking_after(std::string_view prompt) const {
  return thoughts && without_trailing_space(prompt).ends_with(thoughts->begin);
}

std::vector<std::string_view> AnswerFormat::marks(bool with_calls) const {
  std::vector<std::string_view> found;
  if (with_calls) {
    found = {calls.begin, calls.end, calls.quote};
    for (const std::string_view mark : inner_marks(calls.syntax)) found.push_back(mark);
    if (calls.begin.empty()) found.push_back(kPythonTag);
  }
  if (thoughts) {
    const bool is_word = thoughts->token.empty();
    found.insert(found.end(), {is_word ? thoughts->begin : thoughts->token, thoughts->end});
  }
  std::erase(found, std::string_view());
  return found;
}

std::vector<MarkToken> mark_tokens(const AnswerFormat& format, const Tokenizer& tokenizer) {
  std::vector<MarkToken> found;
  for (const std::string_view mark : format.marks(true)) {
    const auto ids = tokenizer.encode(mark, {.add_bos = false, .parse_special = true});
    const bool is_token = ids.size() == 1 && tokenizer.piece(ids[0], true) == mark;
    if (is_token) found.push_back({mark, ids[0]});
  }
  return found;
}

}  // namespace kinglet
