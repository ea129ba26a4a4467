// The part of SchemaCompiler that tells whether a listed value is valid.
#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>
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

SchemaCompiler::ValueRules SchemaCompiler::rules_for_values(const PlainSchema& schema,
                                                            std::string_view at) {
  ValueRules rules{.schema = schema};
  const Names types = types_of(schema, at, refusal_);
  rules.types = {types.begin(), types.end()};
  for (const auto& [keyword, content] : schema.keywords) {
    const std::string_view type = type_of_keyword(keyword);
    if (!type.empty()) rules.limited.push_back(type);
  }
  return rules;
}

// Whether the value is valid under a schema.
bool SchemaCompiler::is_valid(Schema schema, const Json& value, std::string_view at) {
  refusal_.count();
  if (refusal_.is_set()) return false;
  const void* key = schema.json;
  if (schema.json == nullptr) key = schema.merged;
  auto known = value_rules_.find(key);
  if (known == value_rules_.end()) {
    std::vector<ValueRules> all;
    for (const PlainSchema& variant : resolver_.variants(schema, at)) {
      all.push_back(rules_for_values(variant, at));
    }
    known = value_rules_.emplace(key, std::move(all)).first;
  }
  std::vector<ValueRules>& variants = known->second;
  return std::any_of(variants.begin(), variants.end(), [&](ValueRules& variant) {
    return !refusal_.is_set() &&
           (!variant.schema.has("enum") || is_listed(variant, "enum", value, at)) &&
           allows(variant, value, at);
  });
}

// Whether the value is in the list of a keyword.
bool SchemaCompiler::is_listed(const ValueRules& rules, std::string_view keyword, const Json& value,
                               std::string_view at) {
  const Content* list = rules.schema.find(keyword);
  if (list == nullptr) return false;
  const void* key = list->json;
  if (list->json == nullptr) key = list->merged;
  auto known = listed_.find(key);
  if (known == listed_.end()) {
    std::vector<std::string> texts;
    for (const Content& one : list_of(rules.schema, keyword, at, refusal_)) {
      texts.push_back(canonical_text(*one.json));
    }
    std::sort(texts.begin(), texts.end());
    known = listed_.emplace(key, std::move(texts)).first;
  }
  return std::binary_search(known->second.begin(), known->second.end(), canonical_text(value));
}

// Whether the schema allows the value, whatever its "enum" says.
bool SchemaCompiler::allows(ValueRules& rules, const Json& value, std::string_view at) {
  const auto is_of = [&](std::string_view type) { return is_of_type(value, type); };
  refusal_.count();
  if (rules.schema.has("type") && std::none_of(rules.types.begin(), rules.types.end(), is_of)) {
    return false;
  }
  if (is_listed(rules, kNotEnum, value, at)) return false;
  if (std::none_of(rules.limited.begin(), rules.limited.end(), is_of)) return true;
  constexpr size_t kSteps = 20;  // these take longer
  refusal_.count(kSteps);
  if (value.is_number()) return allows_number(rules.schema, value, at);
  if (value.is_string()) {
    if (rules.texts == nullptr) rules.texts = texts(rules.schema, at);
    refusal_.count(value.as_string().size());
    const bool is_inside = languages_.contains(rules.texts, value.as_string());
    check_work();
    return is_inside;
  }
  return value.is_array() ? allows_list(rules.schema, value.as_array(), at)
                          : allows_object(rules, value, at);
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
    std::vector<std::string> texts;
    for (const Json& item : items) texts.push_back(canonical_text(item));
    std::sort(texts.begin(), texts.end());
    if (std::adjacent_find(texts.begin(), texts.end()) != texts.end()) return false;
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

bool SchemaCompiler::allows_object(ValueRules& rules, const Json& value, std::string_view at) {
  const PlainSchema& schema = rules.schema;
  const Limits limits = limits_of(schema, "minProperties", "maxProperties", at, refusal_);
  if (value.size() < limits.least || value.size() > limits.most) return false;
  std::unordered_set<std::string_view> present;
  for (const auto& [name, content] : value.as_object()) present.insert(name);
  for (const std::string_view name : required_of(schema, at, refusal_)) {
    if (!present.contains(name)) return false;
  }
  if (rules.named.empty()) {
    for (const Property& property : properties_of(schema, "properties", at, refusal_)) {
      rules.named.emplace(property.name, property.schema);
    }
  }
  const std::vector<Property> patterns = properties_of(schema, "patternProperties", at, refusal_);
  const Content* others = schema.find("additionalProperties");
  const Content* names = schema.find("propertyNames");
  const std::vector<Content> some = list_of(schema, kSomeProperty, at, refusal_);
  std::vector<bool> has_some(some.size() / 2);
  for (const auto& [name, content] : value.as_object()) {
    if (refusal_.is_set()) return false;
    std::vector<Schema> demands;
    if (const auto own = rules.named.find(name); own != rules.named.end()) {
      demands.push_back(own->second);
    }
    refusal_.count(patterns.size() * (1 + name.size()));
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
