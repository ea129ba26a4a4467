// The part of SchemaCompiler that tells whether a listed value is valid.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "schema/compiler.h"

namespace kinglet::schema {

bool is_of_type(const Json& value, std::string_view type) {
  switch (value.type()) {
    case Json::Type::null:
      return type == "null";
    case Json::Type::boolean:
      return type == "boolean";
    case Json::Type::number:
      return type == "number" ||
             (type == "integer" && std::trunc(value.as_double()) == value.as_double());
    case Json::Type::string:
      return type == "string";
    case Json::Type::array:
      return type == "array";
    case Json::Type::object:
      return type == "object";
  }
  return false;
}

// Whether the value is valid under a schema.
bool SchemaCompiler::is_valid(Schema schema, const Json& value, std::string_view at) {
  const std::vector<PlainSchema> variants = resolver_.variants(schema, at);
  return std::any_of(variants.begin(), variants.end(), [&](const PlainSchema& variant) {
    return !refusal_.is_set() && allows(variant, value, at);
  });
}

bool SchemaCompiler::allows(const PlainSchema& schema, const Json& value, std::string_view at) {
  if (schema.has("type")) {
    const Names types = types_of(schema, at, refusal_);
    const bool has_type = std::any_of(
        types.begin(), types.end(), [&](std::string_view type) { return is_of_type(value, type); });
    if (!has_type) return false;
  }
  const auto is_listed = [&](std::string_view keyword) {
    const std::vector<Content> values = list_of(schema, keyword, at, refusal_);
    return std::any_of(values.begin(), values.end(),
                       [&](const Content& one) { return *one.json == value; });
  };
  if ((schema.has("enum") && !is_listed("enum")) || is_listed(kNotEnum)) return false;
  const bool is_limited =
      std::any_of(schema.keywords.begin(), schema.keywords.end(), [&](const auto& own) {
        const std::string_view type = type_of_keyword(own.first);
        return !type.empty() && is_of_type(value, type);
      });
  if (!is_limited) return true;
  if (value.is_number()) return allows_number(schema, value, at);
  if (value.is_string()) {
    const Language* language = texts(schema, at);
    const bool is_inside = languages_.contains(language, value.as_string());
    check_work();
    return is_inside;
  }
  return value.is_array() ? allows_list(schema, value.as_array(), at)
                          : allows_object(schema, value, at);
}

bool SchemaCompiler::allows_list(const PlainSchema& schema, const Json::Array& items,
                                 std::string_view at) {
  const Limits limits = limits_of(schema, "minItems", "maxItems", at, refusal_);
  if (items.size() < limits.least || items.size() > limits.most) return false;
  const std::vector<Schema> prefix = list_of(schema, "prefixItems", at, refusal_);
  const Content* rest = schema.find("items");
  for (size_t i = 0; i < items.size(); ++i) {
    const Schema* item = i < prefix.size() ? &prefix[i] : rest;
    if (item != nullptr && !is_valid(*item, items[i], below(at, "items"))) return false;
  }
  const Content* unique = schema.find("uniqueItems");
  if (unique != nullptr && *unique->json == Json(true)) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (std::find(items.begin(), items.begin() + static_cast<ptrdiff_t>(i), items[i]) !=
          items.begin() + static_cast<ptrdiff_t>(i)) {
        return false;
      }
    }
  }
  const Limits hits = limits_of(schema, "minContains", "maxContains", at, refusal_);
  for (const Schema& wanted : list_of(schema, kContainsEach, at, refusal_)) {
    const auto n =
        static_cast<uint64_t>(std::count_if(items.begin(), items.end(), [&](const Json& item) {
          return is_valid(wanted, item, below(at, "contains"));
        }));
    if (n < (schema.has("minContains") ? hits.least : 1) || n > hits.most) return false;
  }
  return true;
}

bool SchemaCompiler::allows_object(const PlainSchema& schema, const Json& value,
                                   std::string_view at) {
  const Limits limits = limits_of(schema, "minProperties", "maxProperties", at, refusal_);
  if (value.size() < limits.least || value.size() > limits.most) return false;
  for (const std::string_view name : required_of(schema, at, refusal_)) {
    if (!value.contains(name)) return false;
  }
  const std::vector<Property> patterns = properties_of(schema, "patternProperties", at, refusal_);
  const std::vector<Property> named = properties_of(schema, "properties", at, refusal_);
  const Content* others = schema.find("additionalProperties");
  const Content* names = schema.find("propertyNames");
  const std::vector<Content> some = list_of(schema, kSomeProperty, at, refusal_);
  std::vector<bool> has_some(some.size() / 2);
  for (const auto& [name, content] : value.as_object()) {
    std::vector<Schema> demands;
    for (const Property& property : named) {
      if (property.name == name) demands.push_back(property.schema);
    }
    for (const Property& pattern : patterns) {
      if (languages_.contains(pattern_texts(std::string(pattern.name), at), name)) {
        demands.push_back(pattern.schema);
      }
    }
    if (demands.empty() && others != nullptr &&
        !(others->json != nullptr && others->json->is_null())) {
      demands.push_back(*others);
    }
    for (const Schema& demand : demands) {
      if (!is_valid(demand, content, at)) return false;
    }
    if (names != nullptr && !is_valid(*names, Json(name), at)) return false;
    for (size_t i = 0; i < has_some.size(); ++i) {
      has_some[i] = has_some[i] || (is_valid(some[2 * i], Json(name), at) &&
                                    is_valid(some[2 * i + 1], content, at));
    }
  }
  check_work();
  return std::find(has_some.begin(), has_some.end(), false) == has_some.end();
}

}  // namespace kinglet::schema
