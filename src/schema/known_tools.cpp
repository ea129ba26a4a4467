#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "schema/calls.h"
#include "schema/resolve.h"

namespace kinglet {
namespace {

uint8_t type_named(const Json& name) {
  if (name == "null") return kNullType;
  if (name == "boolean") return kBooleanType;
  if (name == "integer") return kIntegerType;
  if (name == "number") return kIntegerType | kNumberType;
  if (name == "string") return kStringType;
  if (name == "array") return kArrayType;
  return name == "object" ? kObjectType : kAnyType;
}

// Looks at each part of a tool's parameters once: references may lead to the same part again and
// again.
class TypeReader {
 public:
  explicit TypeReader(const Json& root) : root_(root) {}

  // Returns the types that a schema allows. A schema without a type, but with keywords of strings,
  // is one of strings.
  uint8_t types_of(const Json& schema, int depth) {
    constexpr int kMostDepth = 16;
    if (!schema.is_object() || depth > kMostDepth) return kAnyType;
    const auto [known, is_new] = types_.try_emplace(&schema, kAnyType);
    if (!is_new) return known->second;
    const uint8_t types = read(schema, depth);
    return types_[&schema] = types;
  }

 private:
  uint8_t read(const Json& schema, int depth) {
    uint8_t types = kAnyType;
    const auto either = [](const Json& items, const auto& types_of_item) {
      uint8_t some = 0;
      for (const Json& item : items.as_array()) some |= types_of_item(item);
      return some;
    };
    const auto inside = [&](const Json& inner) { return types_of(inner, depth + 1); };
    const auto of_value = [](const Json& value) { return type_of_json(print(value)); };
    for (const auto& [keyword, value] : schema.as_object()) {
      if (keyword == "type")
        types &= value.is_array() ? either(value, type_named) : type_named(value);
      if (keyword == "const") types &= of_value(value);
      if (keyword == "enum" && value.is_array()) types &= either(value, of_value);
      if ((keyword == "anyOf" || keyword == "oneOf") && value.is_array()) {
        types &= either(value, inside);
      }
      if (keyword == "allOf" && value.is_array()) {
        for (const Json& part : value.as_array()) types &= inside(part);
      }
      if (keyword == "$ref" && value.is_string()) {
        const auto [known, is_new] = targets_.try_emplace(value.as_string());
        if (is_new) known->second = schema::find_reference(root_, value);
        const Json* found = known->second;
        if (found != nullptr) types &= inside(*found);
      }
      const bool is_of_strings = keyword == "minLength" || keyword == "maxLength" ||
                                 keyword == "pattern" || keyword == "format";
      if (is_of_strings && (types & kStringType) != 0 && !schema.contains("type")) {
        types &= kStringType;
      }
    }
    return types;
  }

  const Json& root_;
  std::unordered_map<const Json*, uint8_t> types_;
  std::unordered_map<std::string_view, const Json*> targets_;
};

}  // namespace

Status check_tools(const Json& tools) {
  const auto is_tool = [](const Json& tool) { return tool["function"]["name"].is_string(); };
  if (tools.is_array() && std::all_of(tools.as_array().begin(), tools.as_array().end(), is_tool)) {
    return {};
  }
  return Error{ErrorCode::invalid_argument,
               R"(each of the tools must be {"type": "function", "function": {"name": …}})"};
}

Result<std::vector<KnownTool>> known_tools(const Json& tools) {
  KINGLET_TRY(check_tools(tools));
  std::vector<KnownTool> known;
  for (const Json& tool : tools.as_array()) {
    const Json& function = tool["function"];
    KnownTool& one = known.emplace_back(KnownTool{.name = function["name"].as_string()});
    const Json& parameters = function["parameters"];
    const Json& properties = parameters["properties"];
    if (!properties.is_object()) continue;
    TypeReader reader(parameters);
    for (const auto& [name, schema] : properties.as_object()) {
      const uint8_t types = reader.types_of(schema, 0);
      if (types == kStringType) {
        one.text_parameters.push_back(name);
      } else if (types != kAnyType && types != 0) {
        one.mixed_parameters.push_back({name, types});
      }
    }
  }
  return known;
}

}  // namespace kinglet
