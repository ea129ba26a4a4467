#include "server/messages.h"

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "server/tools.h"

namespace kinglet::server {
namespace {

struct Call {
  Json id;
  std::string name;
  std::string arguments;  // JSON
};

ApiError wrong_message(std::string message) { return invalid(std::move(message), "messages"); }

ApiResult<std::string> role_of(const Json& message) {
  const Json role = message.value("role", Json());
  if (!role.is_string()) return wrong_message("each of the messages must have a role");
  // OpenAI's newer models call the system "developer".
  return role == "developer" ? "system" : role.get<std::string>();
}

// Returns the content of a message: a text, or the joined parts of type "text" and "refusal".
ApiResult<std::string> text_of(const Json& message) {
  const Json content = message.value("content", Json());
  if (content.is_null()) return std::string();
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return wrong_message("the content of a message must be a text or parts");
  std::string text;
  for (const Json& part : content) {
    const Json type = part.is_object() ? part.value("type", Json()) : Json();
    const char* key = type == "refusal" ? "refusal" : "text";
    if ((type != "text" && type != "refusal") || !part.value(key, Json()).is_string()) {
      return wrong_message(
          cat("a part of type ", print(type), " is not supported: the model reads text only"));
    }
    text += part[key].get<std::string>();
  }
  return text;
}

ApiResult<std::vector<Call>> calls_of(const Json& message) {
  std::vector<Call> calls;
  const Json given = message.value("tool_calls", Json());
  if (given.is_null()) return calls;
  for (const Json& call : given) {
    if (call.is_object() && call.value("type", Json()) == "custom") continue;
    const Json function = call.is_object() ? call.value("function", Json()) : Json();
    const bool is_call = given.is_array() && function.is_object() &&
                         function.value("name", Json()).is_string() &&
                         function.value("arguments", Json()).is_string();
    if (!is_call) {
      return wrong_message(
          R"(each of the tool_calls must hold "function": {"name": …, "arguments": …}, both texts)");
    }
    calls.push_back({call.value("id", Json()), function["name"].get<std::string>(),
                     function["arguments"].get<std::string>()});
  }
  return calls;
}

void add_thoughts(const Json& message, Json& made) {
  const Json thoughts = message.value("reasoning_content", Json());
  if (thoughts.is_string()) made["reasoning_content"] = thoughts;
}

// Converts a message for a template that knows tools. Such a template knows these messages too, but
// expects the arguments of calls as values, not as JSON text.
ApiResult<Json> taught_message(const Json& message) {
  KINGLET_ASSIGN(const std::string role, role_of(message));
  KINGLET_ASSIGN(const std::string text, text_of(message));
  KINGLET_ASSIGN(const std::vector<Call> calls, calls_of(message));
  Json made = {{"role", role}, {"content", text}};
  for (const Call& call : calls) {
    const auto arguments = parse_json(call.arguments.empty() ? "{}" : call.arguments);
    if (!arguments.ok()) {
      return wrong_message(
          cat("the arguments of the earlier call of \"", call.name, "\" are not JSON"));
    }
    Json item = {{"type", "function"},
                 {"function", {{"name", call.name}, {"arguments", arguments.value()}}}};
    if (!call.id.is_null()) item["id"] = call.id;
    made["tool_calls"].push_back(std::move(item));
  }
  for (const char* key : {"tool_call_id", "name"}) {
    if (message.value(key, Json()).is_string()) made[key] = message[key];
  }
  add_thoughts(message, made);
  return made;
}

// Converts a message for a template that knows only text.
ApiResult<Json> untaught_message(const Json& message) {
  KINGLET_ASSIGN(const std::string role, role_of(message));
  KINGLET_ASSIGN(std::string text, text_of(message));
  if (role == "tool") {
    return Json{{"role", "user"},
                {"content", cat("<tool_response>\n", text, "\n</tool_response>")}};
  }
  KINGLET_ASSIGN(const std::vector<Call> calls, calls_of(message));
  for (const Call& call : calls) {
    if (!text.empty()) text += '\n';
    text += spell_call(call.name, call.arguments);
  }
  Json made = {{"role", role}, {"content", text}};
  add_thoughts(message, made);
  return made;
}

void add_instructions(const std::string& instructions, Json& messages) {
  if (messages[0]["role"] == "system") {
    messages[0]["content"] = cat(messages[0]["content"].get<std::string>(), "\n\n", instructions);
  } else {
    messages.insert(messages.begin(), Json{{"role", "system"}, {"content", instructions}});
  }
}

}  // namespace

ApiResult<Json> template_messages(const Json& messages, const Json& tools, bool knows_tools) {
  if (!messages.is_array() || messages.empty()) {
    return wrong_message("messages must be a list of at least one object");
  }
  Json made = Json::array();
  for (const Json& message : messages) {
    if (!message.is_object()) return wrong_message("messages must be a list of objects");
    KINGLET_ASSIGN(Json one, knows_tools ? taught_message(message) : untaught_message(message));
    made.push_back(std::move(one));
  }
  if (!tools.empty() && !knows_tools) add_instructions(tool_instructions(tools), made);
  return made;
}

}  // namespace kinglet::server
