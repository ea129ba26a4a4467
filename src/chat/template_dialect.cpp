#include "chat/template_dialect.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"

namespace kinglet {
namespace {

constexpr std::string_view kMark = "<tool_call>";
constexpr std::string_view kEndMark = "</tool_call>";

// The call without its id and type.
const Json& function_of(const Json& call) {
  const Json* function = call.find("function");
  return function == nullptr ? call : *function;
}

Status check_calls(const Json& calls, const Cancellation& cancellation) {
  for (const Json& call : calls.as_array()) {
    if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    const Json& function = function_of(call);
    const std::string* arguments = function.find_string("arguments");
    if (arguments == nullptr || parse_json(*arguments, {.cancellation = cancellation}).ok()) {
      continue;
    }
    if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    return Error{ErrorCode::invalid_argument,
                 cat("the arguments of the earlier call to ", in_quotes(function.text_of("name")),
                     " are not JSON")};
  }
  return {};
}

std::string spelled(const Json& call) {
  const Json& function = function_of(call);
  const Json& arguments = function["arguments"];
  return cat(kMark, "\n{\"name\": ", print(function["name"]),
             ", \"arguments\": ", arguments.is_string() ? arguments.as_string() : print(arguments),
             "}\n", kEndMark);
}

// Makes a text of a message's calls, or of a tool's result.
void spell_out(Json& message) {
  std::string text(message.text_of("content"));
  if (message.text_of("role") == "tool") {
    message = {{"role", "user"}, {"content", cat("<tool_response>\n", text, "\n</tool_response>")}};
    return;
  }
  const Json* calls = message.find("tool_calls");
  if (calls == nullptr) return;
  if (calls->is_array()) {
    for (const Json& call : calls->as_array()) {
      if (!text.empty()) text += '\n';
      text += spelled(call);
    }
  }
  message.erase("tool_calls");
  message["content"] = std::move(text);
}

std::string instructions_for(const Json& tools) {
  std::string text = "You can call these functions, given by their JSON schemas:\n";
  for (const Json& tool : tools.as_array()) text += cat(print(function_of(tool)), "\n");
  return text + cat("\nTo call one, answer with ", kMark,
                    "\n{\"name\": its name, \"arguments\": its arguments}\n", kEndMark);
}

void add_to_system(const std::string& text, Json& messages) {
  Json::Array& list = messages.as_array();
  if (!list.empty() && list[0].text_of("role") == "system" &&
      list[0].find_string("content") != nullptr) {
    list[0]["content"].as_string() += cat("\n\n", text);
  } else {
    list.insert(list.begin(), Json{{"role", "system"}, {"content", text}});
  }
}

}  // namespace

Result<Json> in_dialect(Json messages, const Json& tools, const TemplateDialect& dialect,
                        const Cancellation& cancellation) {
  if (!messages.is_array()) return messages;
  const bool describes_tools = !dialect.knows_tools && tools.is_array() && !tools.empty();
  const bool spells_calls = describes_tools || !dialect.knows_calls;
  for (Json& message : messages.as_array()) {
    if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    if (!message.is_object()) continue;
    if (!dialect.knows_developer && message.text_of("role") == "developer") {
      message["role"] = "system";
    }
    if (spells_calls) {
      spell_out(message);
    } else if (const Json& calls = std::as_const(message)["tool_calls"]; calls.is_array()) {
      KINGLET_TRY(check_calls(calls, cancellation));
    }
  }
  if (describes_tools) add_to_system(instructions_for(tools), messages);
  return messages;
}

}  // namespace kinglet
