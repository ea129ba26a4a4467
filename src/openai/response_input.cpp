#include "openai/response_input.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "openai/fields.h"

namespace kinglet::openai {
namespace {

constexpr std::string_view kTextParts[] = {"input_text",   "output_text", "reasoning_text",
                                           "summary_text", "text",        "refusal"};

ApiResult<std::string> text_of_item_part(Fields& fields, const Json& part,
                                         const std::string& place) {
  const std::string* type = part.find_string("type");
  const std::string* text = type == nullptr      ? nullptr
                            : *type == "refusal" ? part.find_string("refusal")
                                                 : part.find_string("text");
  fields.ignore({"type", "text", "refusal", "annotations", "logprobs", "parsed"});
  const bool is_text = type != nullptr && is_among(*type, kTextParts);
  if (is_text && text != nullptr) return *text;
  return invalid(cat("a part of type ", print(part["type"]),
                     " is not supported: models read text and pictures (input_image) only"),
                 place);
}

// The size in which a model reads a picture does not depend on the part's "detail".
ApiResult<Json> picture_of_part(Fields& fields) {
  fields.ignore({"type", "detail"});
  std::string url;
  KINGLET_TRY(fields.take("image_url", url));
  KINGLET_TRY(fields.check_all_known());
  if (url.empty()) return wrong_value(fields.place_of("image_url"), nullptr, "a data URL");
  return Json{{"type", "image_url"}, {"image_url", {{"url", url}}}};
}

ApiResult<Json> part_of(const Json& part, const std::string& place) {
  if (!part.is_object()) return wrong_value(place, part, "an object");
  Fields fields(part, place);
  if (part["type"] == "input_image") return picture_of_part(fields);
  KINGLET_ASSIGN(std::string text, text_of_item_part(fields, part, place));
  KINGLET_TRY(fields.check_all_known());
  return Json{{"type", "text"}, {"text", std::move(text)}};
}

// Returns a text, or the parts. No content is an empty text.
ApiResult<Json> content_of(const Json* content, const std::string& place) {
  if (content == nullptr) return Json("");
  if (content->is_string()) return *content;
  if (!content->is_array()) {
    return invalid("the content of an item must be a string or an array of parts", place);
  }
  Json parts = Json::array();
  for (size_t i = 0; i < content->size(); ++i) {
    KINGLET_ASSIGN(Json part, part_of((*content)[i], cat(place, "[", i, "]")));
    parts.push_back(std::move(part));
  }
  return parts;
}

// Returns the content as one text.
ApiResult<std::string> thought_of(const Json* content, const std::string& place) {
  KINGLET_ASSIGN(const Json given, content_of(content, place));
  if (given.is_string()) return given.as_string();
  std::string text;
  for (const Json& part : given.as_array()) {
    const std::string* piece = part.find_string("text");
    if (piece == nullptr) return invalid("a part of a reasoning item must be text", place);
    text += *piece;
  }
  return text;
}

// Adds a part of an answer, the member `name`, to the last message if that is the same answer: a
// thought, or text after text or calls, begins another one.
void add_answer(const char* name, Json part, Json& messages) {
  const std::string_view member = name;
  Json* last = messages.empty() ? nullptr : &messages.as_array().back();
  const bool is_open =
      last != nullptr && std::as_const(*last)["role"] == "assistant" &&
      member != "reasoning_content" &&
      !(member == "content" && (last->contains("content") || last->contains("tool_calls")));
  if (!is_open) {
    messages.push_back({{"role", "assistant"}});
    last = &messages.as_array().back();
  }
  if (member == "tool_calls") {
    (*last)[name].push_back(std::move(part));
  } else {
    (*last)[name] = std::move(part);
  }
}

ApiStatus add_message(Fields& fields, Json& messages) {
  std::string role;
  KINGLET_TRY(fields.take("role", role));
  KINGLET_ASSIGN(Json content, content_of(fields.find("content"), fields.place_of("content")));
  if (role == "assistant") {
    add_answer("content", std::move(content), messages);
  } else if (role == "user" || role == "system" || role == "developer") {
    messages.push_back({{"role", role}, {"content", std::move(content)}});
  } else {
    return invalid(cat("an input message with the role ", print(role), " is not supported"),
                   fields.place_of("role"));
  }
  return {};
}

ApiStatus add_thought(Fields& fields, Json& messages) {
  const Json* content = fields.find("content");
  const Json* summary = fields.find("summary");
  const std::string place = fields.place_of(content == nullptr ? "summary" : "content");
  KINGLET_ASSIGN(std::string thought, thought_of(content == nullptr ? summary : content, place));
  add_answer("reasoning_content", std::move(thought), messages);
  return {};
}

ApiStatus add_call(Fields& fields, Json& messages) {
  std::string id;
  std::string name;
  std::string arguments;
  KINGLET_TRY(fields.take("call_id", id));
  KINGLET_TRY(fields.take("name", name));
  KINGLET_TRY(fields.take("arguments", arguments));
  if (name.empty()) return wrong_value(fields.place_of("name"), name, "the name of a function");
  add_answer(
      "tool_calls",
      {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}},
      messages);
  return {};
}

ApiStatus add_call_output(Fields& fields, Json& messages) {
  std::string id;
  KINGLET_TRY(fields.take("call_id", id));
  KINGLET_ASSIGN(Json content, content_of(fields.find("output"), fields.place_of("output")));
  messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(content)}});
  return {};
}

ApiStatus add_item_of_type(std::string_view type, Fields& fields, const std::string& place,
                           Json& messages) {
  if (type == "message") return add_message(fields, messages);
  if (type == "reasoning") return add_thought(fields, messages);
  if (type == "function_call") return add_call(fields, messages);
  if (type == "function_call_output") return add_call_output(fields, messages);
  return invalid(cat("an input item of type ", print(type), " is not supported"), place);
}

ApiStatus add_item(const Json& item, const std::string& place, Json& messages) {
  if (!item.is_object()) return invalid("input must be a string or an array of items", place);
  Fields fields(item, place);
  // Clients give answers back with these members.
  fields.ignore({"id", "status", "role", "content", "summary", "encrypted_content", "phase",
                 "call_id", "name", "arguments", "output", "parsed_arguments"});
  std::string type = "message";
  KINGLET_TRY(fields.take("type", type));
  KINGLET_TRY(add_item_of_type(type, fields, place, messages));
  return fields.check_all_known();
}

}  // namespace

ApiStatus add_input(const Json& input, const Deadline& deadline, Json& messages) {
  if (input.is_string()) {
    messages.push_back({{"role", "user"}, {"content", input}});
    return {};
  }
  if (!input.is_array()) return invalid("input must be a string or an array of items", "input");
  for (size_t i = 0; i < input.size(); ++i) {
    KINGLET_TRY(deadline.check_cancelled());
    KINGLET_TRY(add_item(input[i], cat("input[", i, "]"), messages));
  }
  return {};
}

}  // namespace kinglet::openai
