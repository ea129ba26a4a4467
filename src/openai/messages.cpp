#include "openai/messages.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "openai/fields.h"

namespace kinglet::openai {
namespace {

struct Call {
  std::string id;
  std::string name;
  std::string arguments;  // JSON
};

struct Message {
  std::string role;
  std::string text;
  std::vector<Call> calls;
  std::string thoughts;
  std::string tool_call_id;
  std::string name;
};

// Returns the text of a part of type "text" or "refusal".
ApiResult<std::string> text_of_part(const Json& part, const std::string& place) {
  const std::string* type = part.find_string("type");
  if (type == nullptr || (*type != "text" && *type != "refusal")) {
    return invalid(
        cat("a part of type ", print(part["type"]),
            " is not supported: without a picture reader (mmproj), the model reads text only"),
        place);
  }
  Fields fields(part, place);
  fields.ignore({"type"});
  std::optional<std::string> text;
  KINGLET_TRY(fields.take(*type, text));
  KINGLET_TRY(fields.check_all_known());
  if (!text) return wrong_value(fields.place_of(*type), nullptr, "a string");
  return *text;
}

// Returns the content of a message: a text, or the joined parts.
ApiResult<std::string> text_of(Fields& fields, const Deadline& deadline) {
  const Json* content = fields.find("content");
  std::string text;
  KINGLET_TRY(fields.take("refusal", text));  // what an assistant says instead of a content
  if (content == nullptr) return text;
  if (content->is_string()) return content->as_string();
  const std::string place = fields.place_of("content");
  if (!content->is_array()) return wrong_value(place, *content, "a string or an array of parts");
  text.clear();
  for (size_t i = 0; i < content->size(); ++i) {
    KINGLET_TRY(deadline.check_cancelled());
    KINGLET_ASSIGN(const std::string part, text_of_part((*content)[i], cat(place, "[", i, "]")));
    text += part;
  }
  return text;
}

ApiResult<Call> read_call(const Json& given, const std::string& place) {
  constexpr std::string_view kExpected =
      R"({"id": …, "type": "function", "function": {"name": …, "arguments": …}}, all strings)";
  if (!given.is_object()) return wrong_value(place, given, kExpected);
  Call call;
  Fields fields(given, place);
  fields.ignore({"type", "index"});
  KINGLET_TRY(fields.take("id", call.id));
  KINGLET_ASSIGN(const Json* function, fields.take_object("function"));
  if (function == nullptr) return wrong_value(place, given, kExpected);
  KINGLET_TRY(fields.check_all_known());
  Fields inner(*function, fields.place_of("function"));
  inner.ignore({"parsed_arguments"});
  std::optional<std::string> arguments;
  KINGLET_TRY(inner.take("name", call.name));
  KINGLET_TRY(inner.take("arguments", arguments));
  KINGLET_TRY(inner.check_all_known());
  if (call.name.empty() || !arguments) return wrong_value(place, given, kExpected);
  call.arguments = arguments->empty() ? "{}" : *arguments;
  return call;
}

ApiResult<std::vector<Call>> read_calls(Fields& fields, const Deadline& deadline) {
  std::vector<Call> calls;
  const Json* given = fields.find("tool_calls");
  if (given == nullptr) return calls;
  const std::string place = fields.place_of("tool_calls");
  if (!given->is_array()) return wrong_value(place, *given, "an array of calls");
  for (size_t i = 0; i < given->size(); ++i) {
    KINGLET_TRY(deadline.check_cancelled());
    const Json& one = (*given)[i];
    if (one["type"] == "custom") continue;
    KINGLET_ASSIGN(Call call, read_call(one, cat(place, "[", i, "]")));
    calls.push_back(std::move(call));
  }
  return calls;
}

ApiResult<Message> read_message(const Json& given, const std::string& place,
                                const Deadline& deadline) {
  if (!given.is_object()) return wrong_value(place, given, "an object");
  Fields fields(given, place);
  // Clients give answers back with these fields, which repeat what the others say.
  fields.ignore({"annotations", "parsed"});
  Message message;
  KINGLET_TRY(fields.take("role", message.role));
  if (message.role.empty()) {
    return invalid(cat(place, " has no role"), fields.place_of("role"));
  }
  KINGLET_ASSIGN(message.text, text_of(fields, deadline));
  KINGLET_ASSIGN(message.calls, read_calls(fields, deadline));
  KINGLET_TRY(fields.take("reasoning_content", message.thoughts));
  KINGLET_TRY(fields.take("tool_call_id", message.tool_call_id));
  KINGLET_TRY(fields.take("name", message.name));
  KINGLET_TRY(fields.check_all_known());
  return message;
}

// Adds a text to an object, unless it is empty.
void add_text(const char* key, const std::string& text, Json& made) {
  if (!text.empty()) made[key] = text;
}

Json chat_message(const Message& message) {
  Json made = {{"role", message.role}, {"content", message.text}};
  for (const Call& call : message.calls) {
    Json item = {{"type", "function"},
                 {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
    add_text("id", call.id, item);
    made["tool_calls"].push_back(std::move(item));
  }
  add_text("tool_call_id", message.tool_call_id, made);
  add_text("name", message.name, made);
  add_text("reasoning_content", message.thoughts, made);
  return made;
}

}  // namespace

ApiResult<Json> read_messages(const Json& messages, const Deadline& deadline) {
  if (!messages.is_array() || messages.empty()) {
    return invalid("messages must be an array of at least one object", "messages");
  }
  Json made = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    KINGLET_TRY(deadline.check_cancelled());
    KINGLET_ASSIGN(const Message message,
                   read_message(messages[i], cat("messages[", i, "]"), deadline));
    made.push_back(chat_message(message));
  }
  return made;
}

}  // namespace kinglet::openai
