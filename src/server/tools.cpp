#include "server/tools.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace kinglet::server {
namespace {

constexpr std::string_view kMark = "<tool_call>";
constexpr std::string_view kEndMark = "</tool_call>";

// Returns the name in {"function": {"name": …}}, which is the form of tools and of tool choices.
// Null if there is none.
const std::string* name_of(const Json& tool) {
  if (!tool.is_object() || !tool.contains("function")) return nullptr;
  const Json& function = tool["function"];
  if (!function.is_object() || !function.contains("name")) return nullptr;
  return function["name"].get_ptr<const std::string*>();
}

ApiStatus check_tool(const Json& tool) {
  const std::string* name = name_of(tool);
  const bool is_function = tool.is_object() && tool.value("type", Json()) == "function";
  if (!is_function || name == nullptr || name->empty()) {
    return invalid(R"(each of the tools must be {"type": "function", "function": {"name": …}})",
                   "tools");
  }
  const Json& function = tool["function"];
  if (!function.value("parameters", Json::object()).is_object()) {
    return invalid(cat("the parameters of the tool \"", *name, "\" must be a JSON schema"),
                   "tools");
  }
  return {};
}

ApiResult<Json> named(const Json& tools, const Json& choices) {
  Json chosen = Json::array();
  for (const Json& choice : choices) {
    const std::string* name = name_of(choice);
    const auto found = std::find_if(tools.begin(), tools.end(), [&](const Json& tool) {
      return name != nullptr && *name_of(tool) == *name;
    });
    if (found == tools.end()) {
      return invalid(cat("tool_choice names the tool \"", name == nullptr ? "" : *name,
                         "\", which is not among the tools"),
                     "tool_choice");
    }
    chosen.push_back(*found);
  }
  return chosen;
}

ApiResult<ChosenTools> forced(Json tools) {
  if (!tools.empty()) return ChosenTools{std::move(tools), true};
  return invalid("tool_choice asks for a call, but there are no tools", "tool_choice");
}

// Reads a choice {"type": "function", "function": {"name": …}} or
// {"type": "allowed_tools", "allowed_tools": {"mode": …, "tools": […]}}.
ApiResult<ChosenTools> choose_by_name(const Json& tools, const Json& choice) {
  const Json type = choice.is_object() ? choice.value("type", Json()) : Json();
  if (type == "function") {
    KINGLET_ASSIGN(Json chosen, named(tools, Json::array({choice})));
    return ChosenTools{std::move(chosen), true};
  }
  const Json allowed = type == "allowed_tools" ? choice.value("allowed_tools", Json()) : Json();
  if (!allowed.is_object() || !allowed.value("tools", Json()).is_array()) {
    return wrong_value("tool_choice", choice,
                       "\"none\", \"auto\", \"required\" or a choice of functions");
  }
  KINGLET_ASSIGN(Json chosen, named(tools, allowed["tools"]));
  KINGLET_ASSIGN(ChosenTools all, forced(std::move(chosen)));
  all.is_forced = allowed.value("mode", Json()) == "required";
  return all;
}

// Returns the definition in `parameters` that `schema` refers to, or `schema` if it refers to none.
const Json* definition_of(const Json* schema, const Json& parameters) {
  const auto reference = schema->find("$ref");
  if (reference == schema->end() || !reference->is_string()) return schema;
  for (const char* table : {"$defs", "definitions"}) {
    const std::string prefix = cat("#/", table, "/");
    const auto pointer = reference->get<std::string>();
    const auto definitions = parameters.find(table);
    if (!pointer.starts_with(prefix) || definitions == parameters.end()) continue;
    if (!definitions->is_object()) continue;
    const auto found = definitions->find(pointer.substr(prefix.size()));
    if (found != definitions->end()) return &*found;
  }
  return schema;
}

bool is_text(const Json& given, const Json& parameters) {
  if (!given.is_object()) return false;
  const Json& schema = *definition_of(&given, parameters);
  if (!schema.is_object()) return false;
  if (schema.contains("type")) return schema["type"] == "string";
  if (schema.contains("const")) return schema["const"].is_string();
  const Json values = schema.value("enum", Json());
  return values.is_array() && std::all_of(values.begin(), values.end(),
                                          [](const Json& value) { return value.is_string(); });
}

}  // namespace

ApiResult<ChosenTools> read_tools(Fields& fields) {
  const Json* given = fields.find("tools");
  const Json* choice = fields.find("tool_choice");
  const Json tools = given == nullptr ? Json::array() : *given;
  if (!tools.is_array()) return wrong_value("tools", tools, "a list of tools");
  for (const Json& tool : tools) KINGLET_TRY(check_tool(tool));
  if (choice == nullptr || *choice == "auto") return ChosenTools{tools, false};
  if (*choice == "none") return ChosenTools{};
  if (*choice == "required") return forced(tools);
  return choose_by_name(tools, *choice);
}

std::vector<KnownTool> known_tools(const Json& tools) {
  std::vector<KnownTool> known;
  for (const Json& tool : tools) {
    KnownTool& one = known.emplace_back(KnownTool{*name_of(tool), {}});
    const Json parameters = tool["function"].value("parameters", Json::object());
    const Json properties = parameters.value("properties", Json::object());
    for (const auto& [name, schema] : properties.items()) {
      if (is_text(schema, parameters)) one.text_parameters.push_back(name);
    }
  }
  return known;
}

std::string tool_instructions(const Json& tools) {
  std::string text = "You can call these functions, given by their JSON schemas:\n";
  for (const Json& tool : tools) text += cat(print(tool["function"]), "\n");
  return text + cat("\nTo call one, answer with ", kMark,
                    "\n{\"name\": its name, \"arguments\": its arguments}\n", kEndMark);
}

std::string spell_call(const std::string& name, const std::string& arguments) {
  return cat(kMark, "\n{\"name\": ", print(name), ", \"arguments\": ", arguments, "}\n", kEndMark);
}

}  // namespace kinglet::server
