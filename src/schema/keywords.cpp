#include "schema/keywords.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "base/format.h"
#include "base/utf8.h"

namespace kinglet::schema {
namespace {

struct Keyword {
  std::string_view name;
  std::string_view type;  // of values to which the keyword applies; empty: of any type
};

// The keywords that limit values, and are supported.
constexpr auto kKeywords = std::to_array<Keyword>({
    {"type", {}},
    {"enum", {}},
    {"const", {}},
    {"$ref", {}},
    {"allOf", {}},
    {"anyOf", {}},
    {"oneOf", {}},
    {"not", {}},
    {"if", {}},
    {"then", {}},
    {"else", {}},
    {"nullable", {}},
    {kNotEnum, {}},
    {"properties", "object"},
    {"required", "object"},
    {"additionalProperties", "object"},
    {"propertyNames", "object"},
    {"patternProperties", "object"},
    {"minProperties", "object"},
    {"maxProperties", "object"},
    {"dependencies", "object"},
    {"dependentRequired", "object"},
    {"dependentSchemas", "object"},
    {kSomeProperty, "object"},
    {"items", "array"},
    {"additionalItems", "array"},
    {"prefixItems", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"uniqueItems", "array"},
    {"contains", "array"},
    {kContainsEach, "array"},
    {"minContains", "array"},
    {"maxContains", "array"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"pattern", "string"},
    {"format", "string"},
    {kNotPattern, "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
    {"multipleOf", "number"},
    {kNotMultipleOf, "number"},
});

// Keywords of JSON Schema, drafts 4 to 2020-12, that limit values and are not supported.
constexpr auto kUnsupported = std::to_array<std::string_view>(
    {"unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef"});

// Keywords that limit nothing. The last ones are OpenAPI's.
constexpr auto kAnnotations = std::to_array<std::string_view>({"$schema",
                                                               "$id",
                                                               "id",
                                                               "$anchor",
                                                               "$comment",
                                                               "$defs",
                                                               "$vocabulary",
                                                               "$dynamicAnchor",
                                                               "$recursiveAnchor",
                                                               "definitions",
                                                               "title",
                                                               "description",
                                                               "default",
                                                               "examples",
                                                               "deprecated",
                                                               "readOnly",
                                                               "writeOnly",
                                                               "contentEncoding",
                                                               "contentMediaType",
                                                               "contentSchema",
                                                               "discriminator",
                                                               "example",
                                                               "externalDocs",
                                                               "xml"});

// The most properties of an object, and of all objects of a schema.
constexpr size_t kMostProperties = 10'000;
constexpr size_t kMostPropertiesInAll = 20'000;

// The most values of one "enum", and schemas of one list.
constexpr size_t kMostValues = 100'000;
constexpr size_t kMostSchemas = 50'000;

// The most steps of work on a schema.
constexpr size_t kMostSteps = 10'000'000;

// The most bytes of a place in a schema, of one of its names, and of a value, in messages.
constexpr size_t kMostPlaceBytes = 2000;
constexpr size_t kMostNameBytes = 200;
constexpr size_t kMostValueBytes = 200;

// The largest whole number up to which doubles have all.
constexpr int64_t kMaxCount = (int64_t{1} << 53) - 1;

// Returns null if the keyword is not supported.
const Keyword* find_keyword(std::string_view name) {
  const auto* found = std::find_if(kKeywords.begin(), kKeywords.end(),
                                   [name](const Keyword& one) { return one.name == name; });
  return found == kKeywords.end() ? nullptr : found;
}

// Whether schemas can have the keyword. Those with a space are only for PlainSchema.
bool is_of_schemas(std::string_view keyword) { return keyword.find(' ') == keyword.npos; }

// Returns the first bytes of a text that are whole characters.
std::string_view beginning(std::string_view text, size_t n_bytes) {
  if (text.size() <= n_bytes) return text;
  while (n_bytes > 0 && (static_cast<unsigned char>(text[n_bytes]) & 0xc0) == 0x80) --n_bytes;
  return text.substr(0, n_bytes);
}

// Refuses a keyword whose value is of a wrong type.
void refuse_value(std::string_view at, std::string_view keyword, const Json& value,
                  std::string_view expected, Refusal& refusal) {
  refusal.set(at, cat("\"", keyword, "\" is ", shown(value), ", expected ", expected));
}

}  // namespace

const Content* PlainSchema::find(std::string_view keyword) const {
  for (const auto& [name, content] : keywords) {
    if (name == keyword) return &content;
  }
  return nullptr;
}

void PlainSchema::set(std::string_view keyword, Content content) {
  for (auto& [name, known] : keywords) {
    if (name != keyword) continue;
    known = content;
    return;
  }
  keywords.emplace_back(keyword, content);
}

void PlainSchema::remove(std::string_view keyword) {
  std::erase_if(keywords, [keyword](const auto& own) { return own.first == keyword; });
}

std::vector<std::string_view> limiting_keywords() {
  std::vector<std::string_view> names(kUnsupported.begin(), kUnsupported.end());
  for (const Keyword& keyword : kKeywords) {
    if (is_of_schemas(keyword.name)) names.push_back(keyword.name);
  }
  return names;
}

bool is_known_keyword(std::string_view keyword) {
  return (is_of_schemas(keyword) && find_keyword(keyword) != nullptr) ||
         is_among(keyword, kUnsupported) || is_among(keyword, kAnnotations);
}

std::string_view type_of_keyword(std::string_view keyword) {
  const Keyword* found = find_keyword(keyword);
  return found == nullptr ? std::string_view() : found->type;
}

void Refusal::set(std::string_view at, std::string_view message) {
  if (!is_set()) message_ = cat("the JSON schema, at ", at, ": ", message);
}

void Refusal::set(std::string_view at, std::string_view what, const Error& reason) {
  set(at, cat(what, " is not supported: ", reason.message));
}

void Refusal::count(size_t n_steps) {
  constexpr size_t kBetweenChecks = 1000;
  n_steps_ += n_steps;
  if (n_steps_ > kMostSteps) {
    set("#", "its lists and combinations are too large: they take too many steps to compile");
  }
  if (n_steps_ - n_checked_ < kBetweenChecks) return;
  n_checked_ = n_steps_;
  if (is_set() || !cancellation_.requested()) return;
  code_ = ErrorCode::cancelled;
  message_ = "compiling the JSON schema was cancelled";
}

std::string shown(const Json& value) {
  const std::string text = print(value);
  const std::string_view begin = beginning(text, kMostValueBytes);
  return begin.size() == text.size() ? text : cat(begin, "…");
}

std::string below(std::string_view at, std::string_view key) {
  std::string place = at.size() > kMostPlaceBytes ? "#/…/" : cat(at, "/");
  const std::string_view begin = beginning(key, kMostNameBytes);
  for (const char c : begin) {
    if (c == '~') {
      place += "~0";
    } else if (c == '/') {
      place += "~1";
    } else {
      place += c;
    }
  }
  if (begin.size() < key.size()) place += "…";
  return place;
}

std::string below(std::string_view at, std::string_view keyword, std::string_view key) {
  return below(below(at, keyword), key);
}

std::string below(std::string_view at, std::string_view keyword, size_t index) {
  return below(at, keyword, std::string_view(cat(index)));
}

bool lacks_keywords(const Json& schema) {
  return schema.is_object() && !schema.empty() &&
         std::none_of(schema.as_object().begin(), schema.as_object().end(),
                      [](const Json::Member& one) { return is_known_keyword(one.first); });
}

void check_is_schema(const Json& schema, Refusal& refusal) {
  if (!lacks_keywords(schema)) return;
  for (const std::string_view inner : {"schema", "jsonSchema"}) {
    if (!schema[inner].is_object()) continue;
    refusal.set("#", cat("it has none of JSON Schema's keywords; the schema seems to be in \"",
                         inner, "\": give only that"));
  }
}

void check_size(const Json& schema, Refusal& refusal) {
  constexpr auto kCounted =
      std::to_array<std::string_view>({"properties", "patternProperties", "required"});
  constexpr auto kDependencies =
      std::to_array<std::string_view>({"dependentRequired", "dependencies"});
  constexpr auto kLists =
      std::to_array<std::string_view>({"allOf", "anyOf", "oneOf", "prefixItems", "items"});
  size_t n_in_all = 0;
  visit_members(schema, [&](std::string_view at, std::string_view keyword, const Json& content) {
    const size_t n = content.size();
    if (n > kMostValues && keyword == "enum") {
      refusal.set(at, cat("\"enum\" has ", n, " values, expected at most ", kMostValues));
    }
    if (n > kMostSchemas && content.is_array() && is_among(keyword, kLists)) {
      refusal.set(at,
                  cat("\"", keyword, "\" has ", n, " schemas, expected at most ", kMostSchemas));
    }
    if (is_among(keyword, kDependencies) && content.is_object()) {
      for (const auto& [name, needed] : content.as_object()) {
        if (needed.is_array()) n_in_all += needed.size();
      }
    }
    if (is_among(keyword, kCounted) && n > kMostProperties) {
      refusal.set(at,
                  cat("\"", keyword, "\" has ", n, " members, expected at most ", kMostProperties));
    }
    if (is_among(keyword, kCounted) && keyword != "required") n_in_all += n;
    if (n_in_all > kMostPropertiesInAll) {
      refusal.set(at,
                  cat("the schema has more than ", kMostPropertiesInAll, " properties in total"));
    }
    return !refusal.is_set();
  });
}

void visit_members(const Json& schema,
                   const std::function<bool(std::string_view at, std::string_view keyword,
                                            const Json& content)>& visit) {
  std::vector<std::pair<const Json*, std::string>> todo = {{&schema, "#"}};
  while (!todo.empty()) {
    const auto [value, at] = std::move(todo.back());
    todo.pop_back();
    if (value->is_array()) {
      const Json::Array& items = value->as_array();
      for (size_t i = 0; i < items.size(); ++i) {
        if (items[i].size() > 0) todo.emplace_back(&items[i], below(at, cat(i)));
      }
    }
    if (!value->is_object()) continue;
    for (const auto& [keyword, content] : value->as_object()) {
      const bool goes_on = visit(at, keyword, content);
      if (goes_on && content.size() > 0) todo.emplace_back(&content, below(at, keyword));
    }
  }
}

CheckedSchema check_schema(Schema schema, std::string_view at, Refusal& refusal) {
  if (schema.merged != nullptr) return {.keywords = {schema.merged->is_negated ? "not" : "allOf"}};
  const Json& value = *schema.json;
  if (value.is_boolean()) return {.boolean = value.as_boolean()};
  CheckedSchema checked;
  if (!value.is_object()) {
    refusal.set(at, cat("found ", shown(value), ", expected a schema"));
    return checked;
  }
  refusal.count(value.size());
  for (const auto& [keyword, content] : value.as_object()) {
    if (is_of_schemas(keyword) && find_keyword(keyword) != nullptr) {
      checked.keywords.push_back(keyword);
    } else if (is_among(keyword, kUnsupported)) {
      refusal.set(at, cat("\"", keyword, "\" is not supported"));
    }
  }
  return checked;
}

std::vector<Content> list_of(const PlainSchema& schema, std::string_view keyword,
                             std::string_view at, Refusal& refusal) {
  const Content* content = schema.find(keyword);
  std::vector<Content> items;
  if (content == nullptr) return items;
  refusal.count(content->merged != nullptr ? content->merged->contents.size()
                                           : content->json->size());
  if (content->merged != nullptr) return content->merged->contents;
  if (!content->json->is_array()) {
    refuse_value(at, keyword, *content->json, "an array", refusal);
    return items;
  }
  for (const Json& item : content->json->as_array()) items.push_back({&item});
  return items;
}

std::vector<Property> properties_of(const PlainSchema& schema, std::string_view keyword,
                                    std::string_view at, Refusal& refusal) {
  const Content* content = schema.find(keyword);
  std::vector<Property> properties;
  if (content == nullptr) return properties;
  refusal.count(content->merged != nullptr ? content->merged->names.size() : content->json->size());
  if (content->merged != nullptr) {
    const auto& [contents, names, is_negated] = *content->merged;
    for (size_t i = 0; i < names.size(); ++i) properties.push_back({names[i], contents[i]});
  } else if (content->json->is_object()) {
    for (const auto& [name, value] : content->json->as_object()) {
      properties.push_back({name, {&value}});
    }
  } else if (!content->json->is_null()) {
    refuse_value(at, keyword, *content->json, "an object", refusal);
  }
  return properties;
}

std::vector<std::string_view> required_of(const PlainSchema& schema, std::string_view at,
                                          Refusal& refusal) {
  const Content* content = schema.find("required");
  if (content != nullptr && content->merged != nullptr) {
    refusal.count(content->merged->names.size());
    return content->merged->names;
  }
  std::vector<std::string_view> names;
  for (const Content& item : list_of(schema, "required", at, refusal)) {
    if (item.json->is_string()) {
      names.push_back(item.json->as_string());
    } else {
      refusal.set(at, "\"required\" is not an array of names");
    }
  }
  return names;
}

std::vector<std::string_view> types_of(const PlainSchema& schema, std::string_view at,
                                       Refusal& refusal) {
  const Content* content = schema.find("type");
  std::vector<std::string_view> types;
  if (content == nullptr) return types;
  if (content->merged != nullptr) return content->merged->names;
  const Json& value = *content->json;
  const Json* const one = value.is_array() ? value.as_array().data() : &value;
  const size_t n = value.is_array() ? value.size() : 1;
  for (const Json* type = one; type != one + n; ++type) {
    if (type->is_string() && is_among(type->as_string(), kTypeNames)) {
      types.push_back(type->as_string());
      continue;
    }
    std::string known;
    for (const std::string_view name : kTypeNames) known += cat(known.empty() ? "" : ", ", name);
    refusal.set(at, cat("the type ", shown(*type), " is unknown (known: ", known, ")"));
  }
  return types;
}

std::vector<std::string_view> texts_of(const PlainSchema& schema, std::string_view keyword,
                                       std::string_view at, Refusal& refusal) {
  const Content* content = schema.find(keyword);
  if (content == nullptr) return {};
  if (content->merged != nullptr) return content->merged->names;
  if (content->json->is_string()) return {content->json->as_string()};
  refuse_value(at, keyword, *content->json, "a string", refusal);
  return {};
}

const Json* number_of(const PlainSchema& schema, std::string_view keyword, std::string_view at,
                      Refusal& refusal) {
  const Content* content = schema.find(keyword);
  if (content == nullptr) return nullptr;
  const Json* value = content->json;
  if (value->is_number() && std::isfinite(value->as_double())) return value;
  refuse_value(at, keyword, *value, "a number", refusal);
  return nullptr;
}

Limits limits_of(const PlainSchema& schema, std::string_view least, std::string_view most,
                 std::string_view at, Refusal& refusal) {
  Limits limits;
  const auto read = [&](std::string_view keyword, uint64_t& limit) {
    const Json* const value = number_of(schema, keyword, at, refusal);
    if (value == nullptr) return;
    const int64_t count = value->as_integer().value_or(-1);
    if (count < 0 || count > kMaxCount) {
      refuse_value(at, keyword, *value, "a whole number, 0 or more", refusal);
    }
    limit = static_cast<uint64_t>(count);
  };
  read(least, limits.least);
  read(most, limits.most);
  return limits;
}

}  // namespace kinglet::schema
