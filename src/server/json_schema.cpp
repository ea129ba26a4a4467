#include "server/json_schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"

namespace kinglet::server {
namespace {

// What every schema may use.
constexpr std::string_view kCommonRules = R"gbnf(
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair ("," ws pair)*)? ws "}"
pair ::= string ":" ws value
array ::= "[" ws (value ("," ws value)*)? ws "]"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))
number ::= integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
ws ::= (" " | "\n" [ \t]{0,20})?
)gbnf";

// Keywords that say nothing about what is valid, or are read elsewhere.
constexpr auto kAnnotations = std::to_array<std::string_view>(
    {"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default",
     "examples", "deprecated", "readOnly", "writeOnly"});

constexpr size_t kMostReferences = 512;
constexpr int64_t kMostItems = 1000;

// A literal of GBNF.
std::string literal(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) out += cat(out.empty() ? "" : separator, part);
  return parts.size() == 1 ? out : cat("(", out, ")");
}

ApiError schema_error(const std::string& at, std::string_view message) {
  return invalid(cat("the JSON schema at ", at, ": ", message), "response_format");
}

// Where a member of the schema stands, as a JSON pointer.
std::string below(const std::string& at, std::string_view name) { return cat(at, "/", name); }

class SchemaCompiler {
 public:
  explicit SchemaCompiler(const Json& schema) : schema_(schema) {}

  ApiResult<std::string> compile() {
    KINGLET_ASSIGN(const std::string root, convert(schema_, "#"));
    std::string grammar = cat("root ::= ", root, "\n");
    for (const auto& [pointer, rule] : references_) {
      grammar += cat(rule.name, " ::= ", rule.body, "\n");
    }
    grammar += kCommonRules;
    return grammar;
  }

 private:
  struct Rule {
    std::string name;
    std::string body;
  };

  ApiResult<std::string> convert(const Json& schema, const std::string& at) {
    if (schema == true) return std::string("value");
    if (!schema.is_object()) {
      return schema_error(at, cat("found ", schema.type_name(), ", expected an object or true"));
    }
    if (schema.contains("$ref")) return reference(schema, at);
    if (schema.contains("anyOf")) return any_of(schema, at);
    if (schema.contains("const")) {
      KINGLET_TRY(check_keywords(schema, at, {"const", "type"}));
      return literal(print(schema["const"]));
    }
    if (schema.contains("enum")) return enumeration(schema, at);
    const auto type = schema.find("type");
    if (type == schema.end()) return implied_type(schema, at);
    if (type->is_string()) return of_type(type->get<std::string>(), schema, at);
    return several_types(schema, *type, at);
  }

  ApiResult<std::string> several_types(const Json& schema, const Json& types,
                                       const std::string& at) {
    if (!types.is_array() || types.empty()) {
      return schema_error(at, "\"type\" must be a name or a list of names");
    }
    std::vector<std::string> branches;
    for (const Json& type : types) {
      if (!type.is_string()) return schema_error(at, "\"type\" must hold names");
      KINGLET_ASSIGN(std::string branch, of_type(type.get<std::string>(), schema, at, true));
      branches.push_back(std::move(branch));
    }
    return joined(branches, " | ");
  }

  // A schema that only speaks of objects or arrays means those.
  ApiResult<std::string> implied_type(const Json& schema, const std::string& at) {
    if (schema.contains("properties") || schema.contains("required") ||
        schema.contains("additionalProperties")) {
      return object(schema, at, false);
    }
    if (schema.contains("items")) return array(schema, at, false);
    KINGLET_TRY(check_keywords(schema, at, {}));
    return std::string("value");
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
    if (type == "boolean") return std::string("(\"true\" | \"false\")");
    return type == "null" ? "\"null\"" : type;
  }

  ApiResult<std::string> enumeration(const Json& schema, const std::string& at) {
    KINGLET_TRY(check_keywords(schema, at, {"enum", "type"}));
    const Json& values = schema["enum"];
    if (!values.is_array() || values.empty()) {
      return schema_error(at, "\"enum\" must be a list of values");
    }
    std::vector<std::string> branches;
    for (const Json& value : values) branches.push_back(literal(print(value)));
    return joined(branches, " | ");
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

  // A rule of its own, which may refer to itself.
  ApiResult<std::string> reference(const Json& schema, const std::string& at) {
    KINGLET_TRY(check_keywords(schema, at, {"$ref"}));
    if (!schema["$ref"].is_string()) return schema_error(at, "\"$ref\" must be a text");
    const auto pointer = schema["$ref"].get<std::string>();
    if (const auto known = references_.find(pointer); known != references_.end()) {
      return known->second.name;
    }
    if (references_.size() == kMostReferences) {
      return schema_error(at, cat("more than ", kMostReferences, " schemas are referred to"));
    }
    KINGLET_ASSIGN(const Json* target, find_target(pointer, at));
    const std::string name = cat("ref-", references_.size());
    references_[pointer] = {name, ""};
    KINGLET_ASSIGN(std::string body, convert(*target, pointer));
    references_[pointer].body = std::move(body);
    return name;
  }

  ApiResult<const Json*> find_target(const std::string& pointer, const std::string& at) {
    if (pointer == "#") return &schema_;
    for (const char* table : {"$defs", "definitions"}) {
      const std::string prefix = cat("#/", table, "/");
      if (!pointer.starts_with(prefix) || !schema_.contains(table)) continue;
      const Json& definitions = schema_[table];
      const auto found = definitions.is_object() ? definitions.find(pointer.substr(prefix.size()))
                                                 : definitions.end();
      if (found != definitions.end()) return &*found;
    }
    return schema_error(
        at, cat("\"$ref\" names \"", pointer, "\", expected \"#\" or one of \"#/$defs/\""));
  }

  ApiResult<std::string> object(const Json& schema, const std::string& at, bool is_one_of) {
    KINGLET_TRY(is_one_of ? check_keywords(schema, at, kOfSeveralTypes)
                          : check_keywords(schema, at, kOfObjects));
    const Json properties = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    if (!properties.is_object()) return schema_error(at, "\"properties\" must be an object");
    std::set<std::string> names;
    for (const Json& name : required) {
      if (!required.is_array() || !name.is_string()) {
        return schema_error(at, "\"required\" must be a list of names");
      }
      names.insert(name.get<std::string>());
      if (!properties.contains(name.get<std::string>())) {
        return schema_error(
            at, cat("\"required\" names ", print(name), ", which is not among the \"properties\""));
      }
    }
    if (properties.empty()) return open_object(schema, at);
    const Json additional = schema.value("additionalProperties", Json(false));
    if (additional != false) {
      return schema_error(
          at, "\"additionalProperties\" beside \"properties\" is not supported, but for false");
    }
    return braces(properties, names, at);
  }

  ApiResult<std::string> open_object(const Json& schema, const std::string& at) {
    const Json additional = schema.value("additionalProperties", Json(true));
    if (additional == true) return std::string("object");
    if (additional == false) return std::string("\"{\" ws \"}\"");
    KINGLET_ASSIGN(const std::string value, convert(additional, below(at, "additionalProperties")));
    const std::string pair = cat("string \":\" ws ", value);
    return cat("(\"{\" ws (", pair, " (\",\" ws ", pair, ")*)? ws \"}\")");
  }

  // The properties in their order. From the last to the first, `next` matches what may follow a
  // property, `first` what may stand where none was written yet; each as a rule of its own, as it
  // stands in both.
  ApiResult<std::string> braces(const Json& properties, const std::set<std::string>& required,
                                const std::string& at) {
    std::string next;
    std::string first;
    bool may_be_empty = true;
    std::vector<std::pair<std::string, std::string>> members(properties.size());
    size_t n = 0;
    for (const auto& [name, value] : properties.items()) {
      KINGLET_ASSIGN(std::string body, convert(value, below(at, cat("properties/", name))));
      members[n++] = {name, cat(literal(print(name) + ":"), " ws ", body)};
    }
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      const std::string text = add_rule(member->second);
      const std::string after = next.empty() ? "" : cat(" ", add_rule(next));
      const std::string another = cat("\",\" ws ", text, after);
      const bool is_required = required.contains(member->first);
      if (is_required) {
        next = another;
        first = cat(text, after);
      } else {
        next = after.empty() ? cat("(", another, ")?") : cat("(", another, " |", after, ")");
        first = first.empty() ? cat(text, after) : cat("(", text, after, " | ", first, ")");
      }
      may_be_empty = may_be_empty && !is_required;
    }
    return cat("(\"{\" ws ", may_be_empty ? cat("(", first, ")?") : first, " ws \"}\")");
  }

  ApiResult<std::string> array(const Json& schema, const std::string& at, bool is_one_of) {
    KINGLET_TRY(is_one_of ? check_keywords(schema, at, kOfSeveralTypes)
                          : check_keywords(schema, at, kOfArrays));
    KINGLET_ASSIGN(const int64_t least, count(schema, "minItems", 0, at));
    KINGLET_ASSIGN(const int64_t most, count(schema, "maxItems", -1, at));
    if (most >= 0 && least > most) return schema_error(at, "\"minItems\" is above \"maxItems\"");
    std::string item = "value";
    if (schema.contains("items")) {
      KINGLET_ASSIGN(item, convert(schema["items"], below(at, "items")));
    }
    if (most == 0) return std::string("(\"[\" ws \"]\")");
    std::string items = item;
    if (most != 1) {
      const std::string last = most < 0 ? "" : cat(most - 1);
      items = cat("(", item, " (\",\" ws ", item, "){", std::max<int64_t>(least - 1, 0), ",", last,
                  "})");
    }
    return cat("(\"[\" ws ", items, least == 0 ? "?" : "", " ws \"]\")");
  }

  ApiResult<int64_t> count(const Json& schema, const char* keyword, int64_t otherwise,
                           const std::string& at) {
    if (!schema.contains(keyword)) return otherwise;
    const Json& value = schema[keyword];
    if (value.is_number_integer() && value >= 0 && value <= kMostItems) return value.get<int64_t>();
    return schema_error(at, cat("\"", keyword, "\" must be a whole number from 0 to ", kMostItems));
  }

  std::string add_rule(const std::string& body) {
    const auto known = names_.find(body);
    if (known != names_.end()) return known->second;
    const std::string name = cat("part-", names_.size());
    names_[body] = name;
    references_[name] = {name, body};
    return name;
  }

  using Keywords = std::vector<std::string_view>;

  static ApiStatus check_keywords(const Json& schema, const std::string& at,
                                  const Keywords& known) {
    for (const auto& [name, value] : schema.items()) {
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

  const Json& schema_;
  std::map<std::string, Rule> references_;    // by pointer, or by their own name
  std::map<std::string, std::string> names_;  // of parts, by their bodies
};

}  // namespace

ApiResult<std::string> grammar_of_schema(const Json& schema) {
  return SchemaCompiler(schema).compile();
}

}  // namespace kinglet::server
