#include "server/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "base/utf8.h"
#include "server/value_style.h"

namespace kinglet::server {
namespace {

// Keywords that do not affect which values are valid, or that are read elsewhere.
constexpr auto kAnnotations = std::to_array<std::string_view>(
    {"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default",
     "examples", "deprecated", "readOnly", "writeOnly"});

constexpr size_t kMostReferences = 512;
constexpr int64_t kMostItems = 1000;

ApiError schema_error(const std::string& at, std::string_view message) {
  return invalid(cat("the JSON schema at ", at, ": ", message), "response_format");
}

std::string optional_list(const std::string& item, const std::string& separator) {
  return cat("(", item, " (", separator, " ", item, ")*)?");
}

Json member_or(const Json& object, std::string_view name, const Json& otherwise) {
  const Json* found = object.find(name);
  return found == nullptr ? otherwise : *found;
}

// The JSON pointer to a member of the schema at `at`.
std::string below(const std::string& at, std::string_view name) { return cat(at, "/", name); }

// Python's lower() for ASCII letters.
std::string lower(std::string text) {
  for (char& c : text) c = to_lower(c);
  return text;
}

bool is_whole(const Json& value) {
  return value.is_number() && std::trunc(value.as_double()) == value.as_double();
}

const std::map<std::string, bool (*)(const Json&), std::less<>> kTypes = {
    {"object", [](const Json& value) { return value.is_object(); }},
    {"array", [](const Json& value) { return value.is_array(); }},
    {"string", [](const Json& value) { return value.is_string(); }},
    {"number", [](const Json& value) { return value.is_number(); }},
    {"integer", is_whole},
    {"boolean", [](const Json& value) { return value.is_boolean(); }},
    {"null", [](const Json& value) { return value.is_null(); }},
};

// For each keyword: whether it allows the number.
const std::map<std::string, bool (*)(double number, double limit)> kNumberLimits = {
    {"minimum", [](double number, double limit) { return number >= limit; }},
    {"maximum", [](double number, double limit) { return number <= limit; }},
    {"exclusiveMinimum", [](double number, double limit) { return number > limit; }},
    {"exclusiveMaximum", [](double number, double limit) { return number < limit; }},
    {"multipleOf",
     [](double number, double limit) { return std::trunc(number / limit) == number / limit; }},
};

class SchemaCompiler {
 public:
  SchemaCompiler(const Json& schema, const ValueStyle& style, SchemaRules& rules)
      : schema_(schema), style_(style), rules_(rules) {}

  ApiResult<std::string> compile() { return convert(schema_, "#"); }

  // Compiles the arguments of a call. Those named in `texts` are written without quotes.
  ApiResult<std::string> compile_arguments(const std::vector<std::string>& texts) {
    if (style_.has_texts()) texts_ = texts;
    place_ = Place::arguments;
    return compile();
  }

 private:
  // What is being converted: the arguments of a call, an argument that is a string without quotes,
  // another argument, or any other value.
  enum class Place : uint8_t { arguments, text, argument, value };

  ApiResult<std::string> convert(const Json& schema, const std::string& at) {
    if (schema == true) return any_value();
    if (!schema.is_object()) {
      return schema_error(
          at, cat("found ", json_type_name(schema.type()), ", expected an object or true"));
    }
    if (schema.contains("$ref")) return reference(schema, at);
    if (schema.contains("anyOf")) return any_of(schema, at);
    if (schema.contains("const") || schema.contains("enum")) return enumeration(schema, at);
    const Json* type = schema.find("type");
    if (type == nullptr) return implied_type(schema, at);
    if (type->is_string()) return of_type(type->as_string(), schema, at);
    return several_types(schema, *type, at);
  }

  ApiResult<std::string> several_types(const Json& schema, const Json& types,
                                       const std::string& at) {
    if (!types.is_array() || types.empty()) {
      return schema_error(at, "\"type\" must be a name or a list of names");
    }
    std::vector<std::string> branches;
    for (const Json& type : types.as_array()) {
      if (!type.is_string()) return schema_error(at, "\"type\" must hold names");
      KINGLET_ASSIGN(std::string branch, of_type(type.as_string(), schema, at, true));
      branches.push_back(std::move(branch));
    }
    return joined(branches, " | ");
  }

  // A schema without a type, but with keywords of objects or arrays, is treated as of that type.
  ApiResult<std::string> implied_type(const Json& schema, const std::string& at) {
    if (schema.contains("properties") || schema.contains("required") ||
        schema.contains("additionalProperties")) {
      return object(schema, at, false);
    }
    if (schema.contains("items")) return array(schema, at, false);
    KINGLET_TRY(check_keywords(schema, at, {}));
    return any_value();
  }

  bool in_arguments() const { return place_ == Place::arguments && style_.has_arguments(); }

  std::string any_object() const { return in_arguments() ? "arguments" : "object"; }

  std::string any_value() const {
    if (place_ == Place::arguments) return any_object();
    return place_ == Place::argument ? style_.any_argument() : "value";
  }

  ApiStatus check_is_value(const std::string& at) const {
    if (place_ != Place::arguments) return {};
    return schema_error(at, "the arguments of a call must be an object");
  }

  ApiResult<std::string> spelled(const Json& value, const std::string& at) const {
    KINGLET_TRY(check_is_value(at));
    std::string text = place_ != Place::text ? style_.spell(value)
                       : value.is_string()   ? style_.spell_text(value.as_string())
                                             : "";
    if (!text.empty()) return text;
    return schema_error(at, cat("a call of this model cannot have the value ", print(value)));
  }

  // `is_one_of`: the schema may have keywords of other types too.
  ApiResult<std::string> of_type(const std::string& type, const Json& schema, const std::string& at,
                                 bool is_one_of = false) {
    if (type == "object") return object(schema, at, is_one_of);
    if (type == "array") return array(schema, at, is_one_of);
    constexpr std::array kScalars = {"string", "number", "integer", "boolean", "null"};
    if (std::find(kScalars.begin(), kScalars.end(), type) == kScalars.end()) {
      return schema_error(at, cat("the type \"", type, "\" is unknown"));
    }
    KINGLET_TRY(is_one_of ? check_keywords(schema, at, kOfSeveralTypes)
                          : check_keywords(schema, at, {"type"}));
    KINGLET_TRY(check_is_value(at));
    if (type == "boolean") return cat("(", style_.word("true"), " | ", style_.word("false"), ")");
    if (type == "null") return style_.word("null");
    return type == "string" && place_ == Place::text ? "text" : type;
  }

  // Converts "enum" and "const" to those of their values that the other keywords allow.
  ApiResult<std::string> enumeration(const Json& schema, const std::string& at) {
    KINGLET_TRY(check_keywords(schema, at, kOfValues));
    const Json values = schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
    if (!values.is_array() || values.empty()) {
      return schema_error(at, "\"enum\" must be a list of values");
    }
    std::vector<std::string> branches;
    for (const Json& value : values.as_array()) {
      KINGLET_ASSIGN(const bool is_valid, allows(schema, value, at));
      if (!is_valid) continue;
      KINGLET_ASSIGN(std::string branch, spelled(value, at));
      branches.push_back(std::move(branch));
    }
    if (branches.empty()) return schema_error(at, "its keywords allow none of the listed values");
    return joined(branches, " | ");
  }

  // Whether a value that "enum" or "const" lists is valid under the schema's other keywords.
  static ApiResult<bool> allows(const Json& schema, const Json& value, const std::string& at) {
    if (schema.contains("const") && schema["const"] != value) return false;
    KINGLET_ASSIGN(const bool has_type, has_one_of_types(schema, value, at));
    if (!has_type) return false;
    const double number = value.is_number() ? value.as_double() : 0;
    for (const auto& [keyword, allows_number] : kNumberLimits) {
      if (!schema.contains(keyword)) continue;
      const Json& limit = schema[keyword];
      if (!limit.is_number()) return schema_error(at, cat("\"", keyword, "\" must be a number"));
      if (value.is_number() && !allows_number(number, limit.as_double())) return false;
    }
    const auto is_within = [&](const char* least, const char* most,
                               size_t size) -> ApiResult<bool> {
      KINGLET_ASSIGN(const int64_t smallest, count(schema, least, 0, at));
      KINGLET_ASSIGN(const int64_t largest, count(schema, most, INT64_MAX, at));
      return size >= static_cast<size_t>(smallest) && size <= static_cast<size_t>(largest);
    };
    if (value.is_string()) {
      const size_t length = count_characters(value.as_string());
      return is_within("minLength", "maxLength", length);
    }
    if (value.is_array()) return is_within("minItems", "maxItems", value.size());
    return true;
  }

  static ApiResult<bool> has_one_of_types(const Json& schema, const Json& value,
                                          const std::string& at) {
    if (!schema.contains("type")) return true;
    const Json& given = schema["type"];
    const Json types = given.is_array() ? given : Json::array({given});
    bool has_type = false;
    for (const Json& type : types.as_array()) {
      const auto known = type.is_string() ? kTypes.find(type.as_string()) : kTypes.end();
      if (known == kTypes.end())
        return schema_error(at, cat("the type ", print(type), " is unknown"));
      has_type = has_type || known->second(value);
    }
    return has_type;
  }

  ApiResult<std::string> any_of(const Json& schema, const std::string& at) {
    KINGLET_TRY(check_keywords(schema, at, {"anyOf"}));
    const Json& branches = schema["anyOf"];
    if (!branches.is_array() || branches.empty()) {
      return schema_error(at, "\"anyOf\" must be a list of schemas");
    }
    std::vector<std::string> parts;
    for (size_t i = 0; i < branches.size(); ++i) {
      KINGLET_ASSIGN(std::string part, convert(branches[i], below(at, cat("anyOf/", i))));
      parts.push_back(std::move(part));
    }
    return joined(parts, " | ");
  }

  // Makes a rule for the schema that is referred to. The rule may refer to itself.
  ApiResult<std::string> reference(const Json& schema, const std::string& at) {
    KINGLET_TRY(check_keywords(schema, at, {"$ref"}));
    if (!schema["$ref"].is_string()) return schema_error(at, "\"$ref\" must be a text");
    const auto pointer = schema["$ref"].as_string();
    const std::pair key(place_, pointer);
    if (open_.contains(key)) {
      return schema_error(at, cat("\"$ref\" to \"", pointer, "\" leads back to itself"));
    }
    if (const auto known = references_.find(key); known != references_.end()) return known->second;
    if (references_.size() == kMostReferences) {
      return schema_error(at, cat("more than ", kMostReferences, " schemas are referred to"));
    }
    KINGLET_ASSIGN(const Json* target, find_target(pointer, at));
    const std::string name = rules_.reserve();
    references_[key] = name;
    open_.insert(key);
    KINGLET_ASSIGN(const std::string body, convert(*target, pointer));
    open_.erase(key);
    rules_.define(name, body);
    return name;
  }

  ApiResult<const Json*> find_target(const std::string& pointer, const std::string& at) {
    if (pointer == "#") return &schema_;
    for (const char* table : {"$defs", "definitions"}) {
      const std::string prefix = cat("#/", table, "/");
      if (!pointer.starts_with(prefix)) continue;
      const Json* found = schema_[table].find(pointer.substr(prefix.size()));
      if (found != nullptr) return found;
    }
    return schema_error(
        at, cat("\"$ref\" names \"", pointer, "\", expected \"#\" or one of \"#/$defs/\""));
  }

  ApiResult<std::string> object(const Json& schema, const std::string& at, bool is_one_of) {
    KINGLET_TRY(is_one_of ? check_keywords(schema, at, kOfSeveralTypes)
                          : check_keywords(schema, at, kOfObjects));
    const Json properties = member_or(schema, "properties", Json::object());
    const Json required = member_or(schema, "required", Json::array());
    if (!properties.is_object()) return schema_error(at, "\"properties\" must be an object");
    if (!required.is_array()) return schema_error(at, "\"required\" must be a list of names");
    std::set<std::string> names;
    for (const Json& name : required.as_array()) {
      if (!name.is_string()) return schema_error(at, "\"required\" must be a list of names");
      names.insert(name.as_string());
      if (!properties.contains(name.as_string())) {
        return schema_error(
            at, cat("\"required\" names ", print(name), ", which is not among the \"properties\""));
      }
    }
    if (properties.empty()) return open_object(schema, at);
    const Json additional = member_or(schema, "additionalProperties", false);
    if (additional != false) {
      return schema_error(
          at, "\"additionalProperties\" beside \"properties\" is not supported, but for false");
    }
    return braces(properties, names, at);
  }

  ApiResult<std::string> open_object(const Json& schema, const std::string& at) {
    const Json additional = member_or(schema, "additionalProperties", true);
    if (additional == true) return any_object();
    const ObjectStyle& style = object_style();
    if (additional == false) return cat("(", style.begin, " ", style.end, ")");
    const std::string key = in_arguments() ? "argument-key" : "key";
    KINGLET_ASSIGN(const std::string value,
                   convert_value(Place::value, additional, below(at, "additionalProperties")));
    return cat("(", style.begin, " ",
               optional_list(cat(key, " ", value, style.value_end), style.separator), " ",
               style.end, ")");
  }

  const ObjectStyle& object_style() const {
    return in_arguments() ? style_.arguments() : style_.object();
  }

  // Converts the schema of a value inside an object or a list.
  ApiResult<std::string> convert_value(Place place, const Json& schema, const std::string& at) {
    const Place outer = std::exchange(place_, place);
    auto outer_open = std::exchange(open_, {});
    auto converted = convert(schema, at);
    place_ = outer;
    open_ = std::move(outer_open);
    return converted;
  }

  ApiResult<std::string> member(const std::string& name, const Json& schema,
                                const std::string& at) {
    if (in_arguments() ? !is_plain_name(name) : !style_.can_be_key(name)) {
      return schema_error(at, cat("a call of this model cannot have the name ", print(name)));
    }
    KINGLET_ASSIGN(const std::string body, convert_value(place_of(name), schema, at));
    return cat(in_arguments() ? style_.argument_key(name) : style_.key(name), " ", body, " ",
               object_style().value_end);
  }

  // The place of a member of the object that is being converted.
  Place place_of(const std::string& name) const {
    if (!in_arguments()) return Place::value;
    const bool is_text = std::find(texts_.begin(), texts_.end(), name) != texts_.end();
    return is_text ? Place::text : Place::argument;
  }

  // Converts the properties, in their order. The loop goes from the last property to the first:
  // `next` matches what may follow a property, `firsts` what may come when none was written yet.
  // Properties and `next` become rules, because they occur more than once.
  ApiResult<std::string> braces(const Json& properties, const std::set<std::string>& required,
                                const std::string& at) {
    std::string next;
    std::vector<std::string> firsts;
    bool may_be_empty = true;
    std::vector<std::pair<std::string, std::string>> members;
    for (const std::string& name : ordered_names(properties)) {
      KINGLET_ASSIGN(std::string body,
                     member(name, properties[name], below(at, cat("properties/", name))));
      members.emplace_back(name, std::move(body));
    }
    const ObjectStyle& style = object_style();
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      const std::string text = rules_.add(member->second);
      const std::string after = next.empty() ? "" : cat(" ", rules_.add(next));
      const std::string another = cat(style.separator, " ", text, after);
      const bool is_required = required.contains(member->first);
      if (is_required) {
        next = another;
        firsts.clear();
      } else {
        next = after.empty() ? cat("(", another, ")?") : cat("(", another, " |", after, ")");
      }
      firsts.push_back(cat(text, after));
      may_be_empty = may_be_empty && !is_required;
    }
    const std::string first = joined(firsts, " | ");
    return cat("(", style.begin, " ", may_be_empty ? cat("(", first, ")?") : first, " ", style.end,
               ")");
  }

  std::vector<std::string> ordered_names(const Json& properties) const {
    std::vector<std::pair<std::string, size_t>> keys;
    std::vector<std::string> names;
    for (const auto& [name, value] : properties.as_object()) {
      keys.emplace_back(lower(name), names.size());
      names.push_back(name);
    }
    if (!style_.sorts_keys()) return names;
    std::sort(keys.begin(), keys.end());
    std::vector<std::string> sorted;
    for (const auto& [key, index] : keys) sorted.push_back(names[index]);
    return sorted;
  }

  ApiResult<std::string> array(const Json& schema, const std::string& at, bool is_one_of) {
    KINGLET_TRY(is_one_of ? check_keywords(schema, at, kOfSeveralTypes)
                          : check_keywords(schema, at, kOfArrays));
    KINGLET_ASSIGN(const int64_t least, count(schema, "minItems", 0, at));
    KINGLET_ASSIGN(const int64_t most, count(schema, "maxItems", -1, at));
    if (most >= 0 && least > most) return schema_error(at, "\"minItems\" is above \"maxItems\"");
    KINGLET_TRY(check_is_value(at));
    std::string item = "value";
    if (schema.contains("items")) {
      KINGLET_ASSIGN(item, convert_value(Place::value, schema["items"], below(at, "items")));
    }
    const ObjectStyle& style = style_.list();
    if (most == 0) return cat("(", style.begin, " ", style.end, ")");
    std::string items = item;
    if (most != 1) {
      const std::string last = most < 0 ? "" : cat(most - 1);
      items = cat("(", item, " (", style.separator, " ", item, "){",
                  std::max<int64_t>(least - 1, 0), ",", last, "})");
    }
    return cat("(", style.begin, " ", items, least == 0 ? "?" : "", " ", style.end, ")");
  }

  static ApiResult<int64_t> count(const Json& schema, const char* keyword, int64_t otherwise,
                                  const std::string& at) {
    if (!schema.contains(keyword)) return otherwise;
    const Json& value = schema[keyword];
    const auto number = value.is_number() ? value.as_integer() : std::nullopt;
    if (number && *number >= 0 && *number <= kMostItems) return *number;
    return schema_error(at, cat("\"", keyword, "\" must be a whole number from 0 to ", kMostItems));
  }

  using Keywords = std::vector<std::string_view>;

  static ApiStatus check_keywords(const Json& schema, const std::string& at,
                                  const Keywords& known) {
    for (const auto& [name, value] : schema.as_object()) {
      const std::string_view keyword = name;
      const auto is_name = [keyword](std::string_view other) { return other == keyword; };
      if (std::any_of(known.begin(), known.end(), is_name)) continue;
      if (std::any_of(kAnnotations.begin(), kAnnotations.end(), is_name)) continue;
      return schema_error(at, cat("\"", name, "\" is not supported here"));
    }
    return {};
  }

  inline static const Keywords kOfObjects = {"type", "properties", "required",
                                             "additionalProperties"};
  inline static const Keywords kOfArrays = {"type", "items", "minItems", "maxItems"};
  inline static const Keywords kOfSeveralTypes = {
      "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems"};

  inline static const Keywords kOfValues = {"enum",
                                            "const",
                                            "type",
                                            "minimum",
                                            "maximum",
                                            "exclusiveMinimum",
                                            "exclusiveMaximum",
                                            "multipleOf",
                                            "minLength",
                                            "maxLength",
                                            "minItems",
                                            "maxItems"};

  const Json& schema_;
  const ValueStyle& style_;
  SchemaRules& rules_;
  Place place_ = Place::value;
  std::vector<std::string> texts_;                                   // see compile_arguments()
  std::map<std::pair<Place, std::string>, std::string> references_;  // rules' names, by pointer
  // The references that are being converted, and whose value has not begun.
  std::set<std::pair<Place, std::string>> open_;
};

}  // namespace

std::string SchemaRules::add(const std::string& body) {
  const auto [found, is_new] = names_.try_emplace(body, cat("part-", names_.size()));
  if (is_new) define(found->second, body);
  return found->second;
}

ApiResult<std::string> grammar_of_schema(const Json& schema) {
  KINGLET_ASSIGN(const SchemaGrammar compiled, compile_schema(schema));
  return cat("root ::= ", compiled.value, "\n", compiled.rules);
}

ApiResult<SchemaGrammar> compile_schema(const Json& schema) {
  const ValueStyle json;
  SchemaRules rules;
  KINGLET_ASSIGN(std::string value, SchemaCompiler(schema, json, rules).compile());
  return SchemaGrammar{std::move(value), cat(rules.text(), json.rules())};
}

ApiResult<std::string> compile_arguments(const Json& schema, const std::vector<std::string>& texts,
                                         const ValueStyle& style, SchemaRules& rules) {
  return SchemaCompiler(schema, style, rules).compile_arguments(texts);
}

}  // namespace kinglet::server
