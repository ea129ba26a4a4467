#include "text/answer/call_notation.h"

namespace kinglet {

namespace {

constexpr CallNotation in_json(std::string_view begin, std::string_view between,
                               std::string_view end) {
  return {.begin = begin, .name_end = R"(", "arguments": )", .between = between, .end = end};
}

constexpr CallNotation mistral(std::string_view begin) {
  CallNotation notation = in_json(begin, R"(}, {"name": ")", "}]");
  notation.id_member = R"(, "id": ")";
  return notation;
}

constexpr CallNotation named_mistral(std::string_view id_mark) {
  return {.begin = "[TOOL_CALLS]",
          .id_mark = id_mark,
          .name_end = "[ARGS]",
          .between = "[TOOL_CALLS]",
          .has_plain_names = true};
}

constexpr CallNotation gemma(std::string_view begin, std::string_view between, std::string_view end,
                             std::string_view text_quote) {
  return {.begin = begin,
          .between = between,
          .end = end,
          .separator = ",",
          .colon = ":",
          .text_quote = text_quote,
          .has_plain_names = true,
          .has_plain_keys = true,
          .sorts_keys = true,
          .has_python_words = true};
}

// `space` is around the values of parameters.
constexpr CallNotation with_parameters(std::string_view begin, std::string_view between,
                                       std::string_view end, std::string_view space) {
  return {.begin = begin,
          .name_end = ">\n",
          .between = between,
          .end = end,
          .argument_begin = "<parameter=",
          .key_end = space.empty() ? ">" : ">\n",
          .value_end = space.empty() ? "</parameter>\n" : "\n</parameter>\n",
          .arguments_end = "</function>",
          .text_end = "</parameter>",
          .has_plain_names = true,
          .has_python_words = true};
}

constexpr CallNotation with_pairs(std::string_view begin, std::string_view name_end,
                                  std::string_view between, std::string_view end,
                                  std::string_view key_end, std::string_view value_end) {
  return {.begin = begin,
          .name_end = name_end,
          .between = between,
          .end = end,
          .argument_begin = "<arg_key>",
          .key_end = key_end,
          .value_end = value_end,
          .text_end = "</arg_value>",
          .has_plain_names = true};
}

}  // namespace

constexpr CallNotation kHermesNotation = in_json(
    "<tool_call>\n{\"name\": \"", "}\n</tool_call>\n<tool_call>\n{\"name\": \"", "}\n</tool_call>");

constexpr CallNotation kLlamaNotation = [] {
  CallNotation notation = in_json(R"({"name": ")", {}, "}");
  notation.name_end = R"(", "parameters": )";
  return notation;
}();

constexpr CallNotation kJsonNotation = in_json(R"({"name": ")", {}, "}");

constexpr CallNotation kMistralNotation = mistral(R"([TOOL_CALLS][{"name": ")");
constexpr CallNotation kSpacedMistralNotation = mistral(R"([TOOL_CALLS] [{"name": ")");
constexpr CallNotation kNamedMistralNotation = named_mistral({});
constexpr CallNotation kNumberedMistralNotation = named_mistral("[CALL_ID]");

constexpr CallNotation kGranite3Notation =
    in_json(R"(<|tool_call|>[{"name": ")", R"(}, {"name": ")", "}]");

constexpr CallNotation kLfm2Notation = {.begin = "<|tool_call_start|>[",
                                        .between = ", ",
                                        .end = "]<|tool_call_end|>",
                                        .arguments_begin = "(",
                                        .key_end = "=",
                                        .argument_separator = ", ",
                                        .arguments_end = ")",
                                        .quotes = "\"'",
                                        .has_plain_names = true,
                                        .has_python_strings = true,
                                        .has_python_words = true};
constexpr CallNotation kOlmo3Notation = {.begin = "<function_calls>",
                                         .between = "\n",
                                         .end = "</function_calls>",
                                         .arguments_begin = "(",
                                         .key_end = "=",
                                         .argument_separator = ", ",
                                         .arguments_end = ")",
                                         .has_plain_names = true,
                                         .has_python_strings = true,
                                         .has_python_words = true};

constexpr CallNotation kGemma4Notation =
    gemma("<|tool_call>call:", "<tool_call|><|tool_call>call:", "<tool_call|>", "<|\"|>");
constexpr CallNotation kFunctionGemmaNotation =
    gemma("<start_function_call>call:", "<end_function_call><start_function_call>call:",
          "<end_function_call>", "<escape>");

constexpr CallNotation kApertusNotation = {.begin = R"(<|tools_prefix|>[{")",
                                           .name_end = R"(": )",
                                           .between = R"(}, {")",
                                           .end = "}]<|tools_suffix|>"};

constexpr CallNotation kCommandNotation = {
    .begin = "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"",
    .name_end = R"(", "parameters": )",
    .between = "},\n    {\"tool_call_id\": \"0\", \"tool_name\": \"",
    .end = "}\n]<|END_ACTION|>"};

// Arguments that are not strings are JSON, with the words of JSON or Python (true or True).
constexpr CallNotation kQwen35Notation = with_parameters(
    "<tool_call>\n<function=", "\n</tool_call>\n<tool_call>\n<function=", "\n</tool_call>", "\n");
constexpr CallNotation kSeedNotation =
    with_parameters("<seed:tool_call>\n<function=",
                    "\n</seed:tool_call>\n<seed:tool_call>\n<function=", "\n</seed:tool_call>", "");

constexpr CallNotation kMiniCpm5Notation = {.begin = "<function name=\"",
                                            .name_end = "\">",
                                            .between = "<function name=\"",
                                            .argument_begin = "<param name=\"",
                                            .key_end = "\">",
                                            .value_end = "</param>",
                                            .arguments_end = "</function>",
                                            .text_end = "<",
                                            .text_mark = "&",
                                            .cdata_begin = "<![CDATA[",
                                            .cdata_end = "]]>",
                                            .has_plain_names = true,
                                            .has_python_strings = true,
                                            .has_python_words = true};

constexpr CallNotation kGlm4Notation = {.name_end = "\n", .has_plain_names = true};
constexpr CallNotation kGlm45Notation =
    with_pairs("<tool_call>", "\n", "</tool_call>\n<tool_call>", "</tool_call>",
               "</arg_key>\n<arg_value>", "</arg_value>\n");
constexpr CallNotation kGlm47Notation =
    with_pairs("<tool_call>", "", "</tool_call><tool_call>", "</tool_call>",
               "</arg_key><arg_value>", "</arg_value>");

constexpr CallNotation kHunyuan3Notation =
    with_pairs("<tool_calls>\n<tool_call>", "<tool_sep>\n", "</tool_call>\n<tool_call>",
               "</tool_call>\n</tool_calls>", "</arg_key>\n<arg_value>", "</arg_value>\n");
constexpr CallNotation kHunyuanNotation = {.begin = "<tool_calls>\n<tool_call>",
                                           .name_end = "\n```json\n",
                                           .between = "\n```\n</tool_call>\n<tool_call>",
                                           .end = "\n```\n</tool_call>\n</tool_calls>",
                                           .has_plain_names = true};
constexpr CallNotation kHunyuanListNotation =
    in_json(R"(<tool_calls>[{"name": ")", R"(}, {"name": ")", "}]</tool_calls>");

}  // namespace kinglet
