#include "openai/tools.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/format.h"

namespace kinglet::openai {
namespace {

// Returns the object without members that are null.
Json without_nulls(const Json& object) {
  Json::Object kept;
  for (const Json::Member& member : object.as_object()) {
    if (!member.second.is_null()) kept.push_back(member);
  }
  return Json::from_members(std::move(kept));
}

// Reads {"type": "function", "function": …}, the form of tools and of choices of tools.
ApiResult<const Json*> function_of(const Json& tool, const std::string& place,
                                   std::string_view expected) {
  if (!tool.is_object()) return wrong_value(place, tool, expected);
  Fields fields(tool, place);
  std::string type;
  KINGLET_TRY(fields.take("type", type));
  KINGLET_ASSIGN(const Json* function, fields.take_object("function"));
  if (type != "function" || function == nullptr) return wrong_value(place, tool, expected);
  KINGLET_TRY(fields.check_all_known());
  return function;
}

// Returns the tool as a template is to see it.
ApiResult<Json> checked_tool(const Json& tool, const std::string& place) {
  constexpr std::string_view kExpected =
      R"({"type": "function", "function": {"name": …, "parameters": a JSON schema}})";
  KINGLET_ASSIGN(const Json* function, function_of(tool, place, kExpected));
  Fields fields(*function, cat(place, ".function"));
  std::string name;
  std::string description;
  bool is_strict = false;
  KINGLET_TRY(fields.take("name", name));
  KINGLET_TRY(fields.take("description", description));
  KINGLET_TRY(fields.take("strict", is_strict));
  KINGLET_TRY(fields.take_object("parameters"));
  KINGLET_TRY(fields.check_all_known());
  if (name.empty()) return wrong_value(place, tool, kExpected);
  return Json{{"type", "function"}, {"function", without_nulls(*function)}};
}

// The name of a checked tool.
const std::string& name_of(const Json& tool) { return tool["function"]["name"].as_string(); }

using ToolsByName = std::unordered_map<std::string_view, const Json*>;

// Of tools with the same name, the first.
ToolsByName by_name(const Json& tools) {
  ToolsByName found;
  for (const Json& tool : tools.as_array()) found.try_emplace(name_of(tool), &tool);
  return found;
}

// Returns the tool that {"type": "function", "function": {"name": …}} chooses.
ApiResult<Json> named(const ToolsByName& tools, const Json& choice, const std::string& place) {
  KINGLET_ASSIGN(const Json* function,
                 function_of(choice, place, R"({"type": "function", "function": {"name": …}})"));
  Fields fields(*function, cat(place, ".function"));
  std::string name;
  KINGLET_TRY(fields.take("name", name));
  KINGLET_TRY(fields.check_all_known());
  if (const auto found = tools.find(name); found != tools.end()) return *found->second;
  return invalid(cat("tool_choice names the tool \"", name, "\", which is not one of the tools"),
                 "tool_choice");
}

ApiResult<ChosenTools> forced(Json tools) {
  if (!tools.empty()) return ChosenTools{.tools = std::move(tools), .is_forced = true};
  return invalid("tool_choice requires a call, but there are no tools", "tool_choice");
}

// Reads {"mode": …, "tools": […]}.
ApiResult<ChosenTools> allowed(const ToolsByName& tools, const Json& given,
                               const std::string& place) {
  Fields fields(given, place);
  std::string mode;
  KINGLET_TRY(fields.take("mode", mode));
  const Json* choices = fields.find("tools");
  KINGLET_TRY(fields.check_all_known());
  if (choices == nullptr || !choices->is_array() || (mode != "auto" && mode != "required")) {
    return wrong_value(place, given, R"({"mode": "auto" or "required", "tools": an array})");
  }
  Json chosen = Json::array();
  for (size_t i = 0; i < choices->size(); ++i) {
    KINGLET_ASSIGN(Json tool, named(tools, (*choices)[i], cat(place, ".tools[", i, "]")));
    chosen.push_back(std::move(tool));
  }
  KINGLET_ASSIGN(ChosenTools all, forced(std::move(chosen)));
  all.is_forced = mode == "required";
  return all;
}

// Reads a choice {"type": "function", "function": {"name": …}} or
// {"type": "allowed_tools", "allowed_tools": …}.
ApiResult<ChosenTools> choose_by_name(const Json& tools, const Json& choice) {
  const std::string place = "tool_choice";
  const Json& type = choice["type"];
  if (type == "function") {
    KINGLET_ASSIGN(Json chosen, named(by_name(tools), choice, place));
    return ChosenTools{
        .tools = Json::array({std::move(chosen)}), .is_forced = true, .is_named = true};
  }
  if (type != "allowed_tools") {
    return wrong_value(place, choice, "\"none\", \"auto\", \"required\" or a choice of functions");
  }
  Fields fields(choice, place);
  fields.ignore({"type"});
  KINGLET_ASSIGN(const Json* given, fields.take_object("allowed_tools"));
  KINGLET_TRY(fields.check_all_known());
  return allowed(by_name(tools), given == nullptr ? Json::object() : *given,
                 cat(place, ".allowed_tools"));
}

}  // namespace

ApiResult<ChosenTools> read_tools(Fields& fields, const Deadline& deadline) {
  const Json* given = fields.find("tools");
  const Json* choice = fields.find("tool_choice");
  Json tools = Json::array();
  if (given != nullptr && !given->is_array())
    return wrong_value("tools", *given, "an array of tools");
  for (size_t i = 0; given != nullptr && i < given->size(); ++i) {
    KINGLET_TRY(deadline.check_cancelled());
    KINGLET_ASSIGN(Json tool, checked_tool((*given)[i], cat("tools[", i, "]")));
    tools.push_back(std::move(tool));
  }
  if (choice == nullptr || *choice == "auto") return ChosenTools{std::move(tools)};
  if (*choice == "none") return ChosenTools{};
  if (*choice == "required") return forced(std::move(tools));
  return choose_by_name(tools, *choice);
}

}  // namespace kinglet::openai
