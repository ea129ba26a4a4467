#include "openai/response_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "openai/fields.h"
#include "openai/response_input.h"

namespace kinglet::openai {
namespace {

// Parameters of this API that chats do not have, or have in another form. Only calls of
// a service's own tools are counted by "max_tool_calls".
constexpr std::string_view kOwn[] = {
    "input",      "instructions", "max_output_tokens",    "include",
    "text",       "tools",        "tool_choice",          "reasoning",
    "background", "top_logprobs", "previous_response_id", "max_tool_calls",
    "truncation"};

// Parameters of chats that this API does not have, or has by another name.
constexpr std::string_view kForeign[] = {
    "messages",        "n", "max_tokens", "max_completion_tokens", "logprobs", "response_format",
    "reasoning_effort"};

// Copies what chats call the same.
ApiResult<Json> shared_members(const Json& body) {
  Json::Object chat;
  for (const auto& [name, value] : body.as_object()) {
    if (value.is_null() || is_among(name, kOwn)) continue;
    if (is_among(name, kForeign)) {
      return invalid(cat("the parameter \"", name, "\" is not supported"), name);
    }
    chat.emplace_back(name, value);
  }
  return Json::from_members(std::move(chat));
}

ApiStatus refuse_kept_answers(Fields& fields) {
  bool in_background = false;
  std::optional<std::string> previous;
  KINGLET_TRY(fields.take("background", in_background));
  KINGLET_TRY(fields.take("previous_response_id", previous));
  if (in_background) {
    return invalid("background is not supported: answers are not stored", "background");
  }
  if (!previous) return {};
  return invalid(
      "previous_response_id is not supported, because answers are not stored: send the "
      "earlier items again as input, those of the answer included",
      "previous_response_id");
}

ApiStatus add_limit(Fields& fields, Json& chat) {
  std::optional<int64_t> most;
  KINGLET_TRY(fields.take("max_output_tokens", most, 1, UINT32_MAX));
  if (most) chat["max_completion_tokens"] = *most;
  return {};
}

// {"truncation": "auto"} drops items from the beginning of an input that does not fit.
ApiStatus add_truncation(Fields& fields, Json& chat) {
  std::string truncation = "disabled";
  KINGLET_TRY(fields.take("truncation", truncation));
  if (truncation == "auto") chat["on_full"] = "dropOldest";
  if (truncation == "auto" || truncation == "disabled") return {};
  return wrong_value("truncation", truncation, R"("auto" or "disabled")");
}

ApiStatus add_logprobs(Fields& fields, Json& chat) {
  std::vector<std::string> included;
  KINGLET_TRY(fields.take("include", included));
  const Json* n_top = fields.find("top_logprobs");
  if (!is_among("message.output_text.logprobs", included)) return {};
  chat["logprobs"] = true;
  if (n_top != nullptr) chat["top_logprobs"] = *n_top;
  return {};
}

// {"type": "json_schema", "name": …, "schema": …} becomes {"type": …, "json_schema": {…}}.
ApiStatus add_format(const Json& given, Json& chat) {
  Fields fields(given, "text.format");
  std::string type;
  std::string text;
  bool is_strict = false;
  KINGLET_TRY(fields.take("type", type));
  KINGLET_TRY(fields.take("name", text));
  KINGLET_TRY(fields.take("description", text));
  KINGLET_TRY(fields.take("strict", is_strict));
  const Json* schema = fields.find("schema");
  const Json* open_objects = fields.find("open_objects");
  KINGLET_TRY(fields.check_all_known());
  Json format = {{"type", type}};
  const bool is_schema = type == "json_schema";
  Json& holder = is_schema ? format["json_schema"] : format;
  if (is_schema) holder["schema"] = Json::object();
  if (schema != nullptr) holder["schema"] = *schema;
  if (open_objects != nullptr) holder["open_objects"] = *open_objects;
  chat["response_format"] = std::move(format);
  return {};
}

ApiStatus add_text_options(Fields& fields, Json& chat) {
  KINGLET_ASSIGN(const Json* given, fields.take_object("text"));
  if (given == nullptr) return {};
  Fields options(*given, "text");
  options.ignore({"verbosity"});
  KINGLET_ASSIGN(const Json* format, options.take_object("format"));
  KINGLET_TRY(options.check_all_known());
  if (format == nullptr) return {};
  return add_format(*format, chat);
}

ApiStatus add_reasoning(Fields& fields, Json& chat) {
  KINGLET_ASSIGN(const Json* given, fields.take_object("reasoning"));
  if (given == nullptr) return {};
  Fields options(*given, "reasoning");
  options.ignore({"summary", "generate_summary"});
  std::optional<std::string> effort;
  KINGLET_TRY(options.take("effort", effort));
  if (effort) chat["reasoning_effort"] = *effort;
  return options.check_all_known();
}

// Only functions are supported, and no tools of services.
ApiResult<Json> chat_tool(const Json& tool, const std::string& place) {
  if (!tool.is_object()) return wrong_value(place, tool, "a tool");
  if (tool["type"] != "function") {
    return invalid(
        cat("a tool of type ", print(tool["type"]), " is not supported, only \"function\" is"),
        place);
  }
  Json function = tool;
  function.erase("type");
  return Json{{"type", "function"}, {"function", std::move(function)}};
}

ApiStatus add_tools(Fields& fields, const Deadline& deadline, Json& chat) {
  const Json* given = fields.find("tools");
  if (given == nullptr) return {};
  if (!given->is_array()) return wrong_value("tools", *given, "an array of tools");
  Json tools = Json::array();
  for (size_t i = 0; i < given->size(); ++i) {
    KINGLET_TRY(deadline.check_cancelled());
    KINGLET_ASSIGN(Json tool, chat_tool((*given)[i], cat("tools[", i, "]")));
    tools.push_back(std::move(tool));
  }
  chat["tools"] = std::move(tools);
  return {};
}

Json named_function(const Json& choice) {
  return {{"type", "function"}, {"function", {{"name", choice["name"]}}}};
}

// {"type": "function", "name": …} or {"type": "allowed_tools", "mode": …, "tools": […]}
ApiStatus add_tool_choice(Fields& fields, Json& chat) {
  const Json* choice = fields.find("tool_choice");
  if (choice == nullptr) return {};
  const Json& type = (*choice)["type"];
  if (!choice->is_object()) {
    chat["tool_choice"] = *choice;
  } else if (type == "function") {
    chat["tool_choice"] = named_function(*choice);
  } else if (type == "allowed_tools" && (*choice)["tools"].is_array()) {
    Json tools = Json::array();
    for (const Json& tool : (*choice)["tools"].as_array()) tools.push_back(named_function(tool));
    chat["tool_choice"] = {
        {"type", type},
        {"allowed_tools", {{"mode", (*choice)["mode"]}, {"tools", std::move(tools)}}}};
  } else {
    return invalid(cat("a tool_choice of type ", print(type), " is not supported"), "tool_choice");
  }
  return {};
}

ApiStatus add_messages(Fields& fields, const Deadline& deadline, Json& chat) {
  std::optional<std::string> instructions;
  KINGLET_TRY(fields.take("instructions", instructions));
  Json messages = Json::array();
  if (instructions) messages.push_back({{"role", "system"}, {"content", *instructions}});
  const Json* input = fields.find("input");
  static const Json nothing;
  KINGLET_TRY(add_input(input == nullptr ? nothing : *input, deadline, messages));
  chat["messages"] = std::move(messages);
  return {};
}

// Names the parameter of this API for that of the chat's.
ApiError renamed(ApiError error) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"messages", "input"}, {"response_format", "text.format"}};
  for (const auto& [theirs, own] : kNames) {
    if (error.param.starts_with(theirs)) error.param = own;
  }
  return error;
}

Json or_default(const Json& body, std::string_view name, const Json& otherwise = nullptr) {
  const Json& given = body[name];
  return given.is_null() ? otherwise : given;
}

Json repeated_members(const Json& body) {
  return {{"instructions", body["instructions"]},
          {"max_output_tokens", body["max_output_tokens"]},
          {"metadata", body["metadata"]},
          {"parallel_tool_calls", or_default(body, "parallel_tool_calls", true)},
          {"previous_response_id", nullptr},
          {"temperature", body["temperature"]},
          {"top_p", body["top_p"]},
          {"text", {{"format", or_default(body["text"], "format", {{"type", "text"}})}}},
          {"tools", or_default(body, "tools", Json::array())},
          {"tool_choice", or_default(body, "tool_choice", "auto")},
          {"truncation", or_default(body, "truncation", "disabled")}};
}

}  // namespace

ApiResult<Json> chat_body(const Json& body, const Deadline& deadline) {
  KINGLET_ASSIGN(Json chat, shared_members(body));
  Fields fields(body);
  KINGLET_TRY(refuse_kept_answers(fields));
  KINGLET_TRY(add_limit(fields, chat));
  KINGLET_TRY(add_truncation(fields, chat));
  KINGLET_TRY(add_logprobs(fields, chat));
  KINGLET_TRY(add_text_options(fields, chat));
  KINGLET_TRY(add_reasoning(fields, chat));
  KINGLET_TRY(add_tools(fields, deadline, chat));
  KINGLET_TRY(add_tool_choice(fields, chat));
  KINGLET_TRY(add_messages(fields, deadline, chat));
  return chat;
}

ApiResult<ResponseRequest> read_response_request(const Json& body, const ServedModel& model,
                                                 const ReadPictures& read_pictures,
                                                 const Deadline& deadline) {
  KINGLET_ASSIGN(const Json chat, chat_body(body, deadline));
  auto read = read_chat_request(chat, model, read_pictures, deadline);
  if (!read.ok()) return renamed(std::move(read.error()));
  return ResponseRequest{std::move(read.value()), repeated_members(body)};
}

ApiResult<size_t> count_response_tokens(const Json& body, const ServedModel& model,
                                        const ReadPictures& read_pictures,
                                        const Deadline& deadline) {
  KINGLET_ASSIGN(const Json chat, chat_body(body, deadline));
  auto count = count_chat_tokens(chat, model, read_pictures, deadline);
  if (!count.ok()) return renamed(std::move(count.error()));
  return count;
}

}  // namespace kinglet::openai
