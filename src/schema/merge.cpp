#include "schema/merge.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/format.h"
#include "schema/numbers.h"

namespace kinglet::schema {
namespace {

// Whether both are written alike, so far as that is known in so many steps.
bool are_alike(const Json& a, const Json& b, Refusal& refusal) {
  constexpr size_t kBytesInStep = 64;
  refusal.count();
  if (a.type() != b.type() || a.size() != b.size() || refusal.is_set()) return false;
  if (a.is_string()) {
    refusal.count(a.as_string().size() / kBytesInStep);
    return a.as_string() == b.as_string();
  }
  if (a.is_array()) {
    return std::equal(
        a.as_array().begin(), a.as_array().end(), b.as_array().begin(),
        [&](const Json& one, const Json& other) { return are_alike(one, other, refusal); });
  }
  if (a.is_number() && a.spelling() == b.spelling()) return true;
  if (!a.is_object()) return a == b;
  return std::equal(a.as_object().begin(), a.as_object().end(), b.as_object().begin(),
                    [&](const Json::Member& one, const Json::Member& other) {
                      return one.first == other.first &&
                             are_alike(one.second, other.second, refusal);
                    });
}

bool are_equal(Content a, Content b, Refusal& refusal) {
  if (a.json != nullptr && b.json != nullptr) {
    return a.json == b.json || are_alike(*a.json, *b.json, refusal);
  }
  if (a.merged == nullptr || b.merged == nullptr) return false;
  refusal.count(a.merged->names.size() + a.merged->contents.size());
  return a.merged == b.merged ||
         (!refusal.is_set() && a.merged->is_negated == b.merged->is_negated &&
          a.merged->names == b.merged->names &&
          std::equal(a.merged->contents.begin(), a.merged->contents.end(),
                     b.merged->contents.begin(), b.merged->contents.end(),
                     [&](Content one, Content other) { return are_equal(one, other, refusal); }));
}

bool allows_anything(const Content* schema) {
  return schema == nullptr ||
         (schema->json != nullptr && schema->json->is_boolean() && schema->json->as_boolean());
}

bool allows_nothing(const Content& schema) {
  return schema.json != nullptr && schema.json->is_boolean() && !schema.json->as_boolean();
}

// Whether "additionalProperties" limits the properties that are not named.
bool limits_others(const PlainSchema& schema) {
  const Content* others = schema.find("additionalProperties");
  return !allows_anything(others) && !(others->json != nullptr && others->json->is_null());
}

bool names_some(const PlainSchema& schema) {
  return schema.has("properties") || schema.has("required");
}

bool is_set(const Content* content) {
  return content->json != nullptr && content->json->is_boolean() && content->json->as_boolean();
}

// Whether the list has no items. For keywords that have to be lists.
bool is_empty_list(const Content* content) {
  if (content == nullptr) return false;
  if (content->merged != nullptr) {
    return content->merged->contents.empty() && content->merged->names.empty();
  }
  return content->json->is_array() && content->json->size() == 0;
}

// Merges keyword by keyword. Where only one schema has a keyword, its content stands as it is. The
// two that list places by name or by number ("properties", "prefixItems") are merged even then,
// because the other schema has its say on the places that it does not list.
class Merger {
 public:
  Merger(const PlainSchema& a, const PlainSchema& b, std::string_view at, MergedContents& contents,
         Refusal& refusal)
      : a_(a), b_(b), at_(at), contents_(contents), refusal_(refusal) {}

  std::optional<PlainSchema> run() {
    if (a_.has("patternProperties") || b_.has("patternProperties")) check_patterns();
    constexpr size_t kSteps = 20;
    refusal_.count(kSteps);
    PlainSchema merged = a_;
    merged.is_combined = a_.is_combined || b_.is_combined || (names_some(a_) && names_some(b_));
    for (const auto& [keyword, content] : b_.keywords) {
      if (!a_.has(keyword)) {
        merged.set(keyword, content);
      } else if (keyword != "properties" && keyword != "prefixItems") {
        merged.set(keyword, merge_keyword(keyword));
      }
    }
    if (merged.has("properties")) merged.set("properties", merge_properties());
    if (merged.has("prefixItems")) merged.set("prefixItems", merge_items());
    // Nothing can be valid if no type or value is left, or a required property must be absent.
    if (refusal_.is_set() || is_empty_list(merged.find("type")) ||
        is_empty_list(merged.find("enum")) || lacks_required(merged)) {
      return std::nullopt;
    }
    return merged;
  }

 private:
  using Names = std::vector<std::string_view>;

  // Whether the schema allows only objects, and a required property must be absent.
  bool lacks_required(const PlainSchema& merged) {
    const std::vector<Property> required = required_properties(merged, at_, refusal_);
    return std::any_of(required.begin(), required.end(),
                       [](const Property& property) { return allows_nothing(property.schema); });
  }

  // "additionalProperties" do not apply to names that match a pattern of the same schema. This
  // cannot be said any more when the other schema has names or patterns of its own.
  void check_patterns() {
    for (const auto& [one, other] : {std::pair(&a_, &b_), std::pair(&b_, &a_)}) {
      if (!limits_others(*one)) continue;
      bool has_own = other->has("patternProperties");
      std::unordered_set<std::string_view> named;
      for (const Property& own : properties_of(*one, "properties", at_, refusal_)) {
        named.insert(own.name);
      }
      for (const Property& property : properties_of(*other, "properties", at_, refusal_)) {
        has_own = has_own || (one->has("patternProperties") && !named.contains(property.name) &&
                              !allows_nothing(property.schema));
      }
      if (!has_own) continue;
      refusal_.set(at_,
                   "\"patternProperties\" and \"additionalProperties\" in different schemas of one "
                   "object are not supported: put them in one schema");
    }
  }

  Content merge_keyword(std::string_view keyword) {
    if (keyword == "type") return merge_types();
    if (keyword == "enum") return merge_values();
    if (keyword == kNotEnum || keyword == kSomeProperty) {
      Merged values{list_of(a_, keyword, at_, refusal_)};
      const std::vector<Content> more = list_of(b_, keyword, at_, refusal_);
      values.contents.insert(values.contents.end(), more.begin(), more.end());
      refusal_.count(2 * values.contents.size());
      return contents_.keep(std::move(values));
    }
    if (keyword == "uniqueItems")
      return is_set(a_.find(keyword)) ? *a_.find(keyword) : *b_.find(keyword);
    if (keyword == "patternProperties") return merge_patterns();
    if (keyword == kContainsEach) return merge_contains();
    if (keyword.ends_with("Contains")) return the_same(keyword);
    if (keyword == "required") {
      const Names a = required_of(a_, at_, refusal_);
      return all_names(a, required_of(b_, at_, refusal_));
    }
    const bool has_texts = keyword == "pattern" || keyword == "format" || keyword == kNotPattern ||
                           keyword == kNotMultipleOf;
    if (has_texts) {
      const Names a = texts_of(a_, keyword, at_, refusal_);
      return all_names(a, texts_of(b_, keyword, at_, refusal_));
    }
    if (keyword == "multipleOf") return merge_steps();
    const bool is_count = keyword.starts_with("min") || keyword.starts_with("max");
    const bool is_number = type_of_keyword(keyword) == "number";
    if (is_count || is_number) return merge_limits(keyword, is_count && !is_number);
    return both(a_.find(keyword), b_.find(keyword));
  }

  Content merge_types() {
    const Names a = types_of(a_, at_, refusal_);
    const Names b = types_of(b_, at_, refusal_);
    const auto includes = [](const Names& types, std::string_view type) {
      const auto has = [&](std::string_view name) {
        return std::find(types.begin(), types.end(), name) != types.end();
      };
      return has(type) || (type == "integer" && has("number"));
    };
    // A name stays if both lists include it: "integer" and "number" meet in "integer".
    Names common = union_of(a, b);
    std::erase_if(common,
                  [&](std::string_view type) { return !includes(a, type) || !includes(b, type); });
    return contents_.keep(Merged{.names = std::move(common)});
  }

  Content merge_values() {
    constexpr size_t kBytesInStep = 16;
    const auto text_of = [&](const Content& value) {
      std::string text = canonical_text(*value.json);
      refusal_.count(1 + text.size() / kBytesInStep);
      return text;
    };
    // Values are compared by a text that is the same for equal values, so that long lists take
    // n log n steps.
    std::vector<std::string> others;
    std::vector<Content> common = list_of(a_, "enum", at_, refusal_);
    for (const Content& value : list_of(b_, "enum", at_, refusal_)) {
      others.push_back(text_of(value));
    }
    std::sort(others.begin(), others.end());
    std::erase_if(common, [&](const Content& value) {
      return !std::binary_search(others.begin(), others.end(), text_of(value));
    });
    return contents_.keep(Merged{.contents = std::move(common)});
  }

  // Returns the names in their order, each once.
  static Names union_of(const Names& a, const Names& b) {
    std::unordered_set<std::string_view> seen;
    Names all;
    for (const Names* names : {&a, &b}) {
      for (const std::string_view name : *names) {
        if (seen.insert(name).second) all.push_back(name);
      }
    }
    return all;
  }

  Content all_names(const Names& a, const Names& b) {
    return contents_.keep(Merged{.names = union_of(a, b)});
  }

  // Returns the tighter of two limits.
  Content merge_limits(std::string_view keyword, bool is_count) {
    if (is_count) {
      limits_of(a_, keyword, keyword, at_, refusal_);
      limits_of(b_, keyword, keyword, at_, refusal_);
    }
    const Json* const a = number_of(a_, keyword, at_, refusal_);
    const Json* const b = number_of(b_, keyword, at_, refusal_);
    if (a == nullptr || b == nullptr) return *a_.find(keyword);
    const bool takes_less = keyword.starts_with("max") || keyword == "exclusiveMaximum";
    const bool is_a_less = a->as_double() < b->as_double();
    return {is_a_less == takes_less ? a : b};
  }

  Content merge_steps() {
    const Json* const a = number_of(a_, "multipleOf", at_, refusal_);
    const Json* const b = number_of(b_, "multipleOf", at_, refusal_);
    if (a == nullptr || b == nullptr) return *a_.find("multipleOf");
    const bool are_positive = a->as_double() > 0 && b->as_double() > 0;
    const auto multiple =
        are_positive ? common_multiple(a->spelling(), b->spelling()) : std::nullopt;
    if (multiple) return contents_.keep(Json::number(*multiple));
    refusal_.set(at_, cat("multiples of both ", a->spelling(), " and ", b->spelling(),
                          " are not supported"));
    return {a};
  }

  Content merge_patterns() {
    Merged merged;
    std::unordered_map<std::string_view, size_t> places;
    for (const PlainSchema* schema : {&a_, &b_}) {
      for (const Property& property : properties_of(*schema, "patternProperties", at_, refusal_)) {
        const auto [found, is_new] = places.try_emplace(property.name, merged.names.size());
        if (is_new) {
          merged.names.push_back(property.name);
          merged.contents.push_back(property.schema);
        } else {
          Content& known = merged.contents[found->second];
          known = both(&known, &property.schema);
        }
      }
    }
    return contents_.keep(std::move(merged));
  }

  Content merge_contains() {
    Merged all{list_of(a_, kContainsEach, at_, refusal_)};
    for (const Content& wanted : list_of(b_, kContainsEach, at_, refusal_)) {
      refusal_.count(20 * all.contents.size());
      const bool is_known =
          std::any_of(all.contents.begin(), all.contents.end(),
                      [&](const Content& known) { return are_equal(known, wanted, refusal_); });
      if (!is_known) all.contents.push_back(wanted);
    }
    return contents_.keep(std::move(all));
  }

  // Returns the content of both schemas, which cannot differ.
  Content the_same(std::string_view keyword) {
    if (!are_equal(*a_.find(keyword), *b_.find(keyword), refusal_)) {
      refusal_.set(at_,
                   cat("two different \"", keyword, "\" for the same value are not supported"));
    }
    return *a_.find(keyword);
  }

  // If one schema does not name a property, its "additionalProperties" apply to that property.
  Content merge_properties() {
    const std::vector<Property> of_a = properties_of(a_, "properties", at_, refusal_);
    const std::vector<Property> of_b = properties_of(b_, "properties", at_, refusal_);
    std::unordered_map<std::string_view, size_t> in_b;
    for (size_t i = 0; i < of_b.size(); ++i) in_b.emplace(of_b[i].name, i);
    const Content* const others_a = a_.find("additionalProperties");
    const Content* const others_b = b_.find("additionalProperties");
    Merged merged;
    const auto add = [&](std::string_view name, const Schema* a, const Schema* b) {
      merged.names.push_back(name);
      merged.contents.push_back(both(a, b));
    };
    // The order of properties is that of `a`, then of `b`. Names that must be absent have no place
    // in it: they come last, where they still refuse the name.
    std::vector<const Property*> absent;
    std::unordered_set<std::string_view> absent_names;
    for (const Property& property : of_a) {
      const auto found = in_b.find(property.name);
      const bool is_in_b = found != in_b.end();
      if (allows_nothing(property.schema)) {
        absent.push_back(&property);
        absent_names.insert(property.name);
      } else {
        add(property.name, &property.schema, is_in_b ? &of_b[found->second].schema : others_b);
        if (is_in_b) in_b.erase(found);
      }
    }
    for (const Property& property : of_b) {
      if (in_b.contains(property.name) && !absent_names.contains(property.name)) {
        add(property.name, others_a, &property.schema);
      }
    }
    for (const Property* property : absent) add(property->name, &property->schema, nullptr);
    return contents_.keep(std::move(merged));
  }

  // Whether one of the schemas that `a` requires is the opposite of `b`.
  bool excludes(const Schema& a, const Schema& b) {
    refusal_.count();
    if (a.merged == nullptr || refusal_.is_set()) return false;
    if (a.merged->is_negated) return are_equal(a.merged->contents[0], b, refusal_);
    return std::any_of(a.merged->contents.begin(), a.merged->contents.end(),
                       [&](const Schema& part) { return excludes(part, b) || excludes(b, part); });
  }

  Content merge_items() {
    const std::vector<Content> of_a = list_of(a_, "prefixItems", at_, refusal_);
    const std::vector<Content> of_b = list_of(b_, "prefixItems", at_, refusal_);
    Merged merged;
    for (size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
      merged.contents.push_back(both(i < of_a.size() ? &of_a[i] : a_.find("items"),
                                     i < of_b.size() ? &of_b[i] : b_.find("items")));
    }
    return contents_.keep(std::move(merged));
  }

  // Returns a schema that requires both. Null requires nothing.
  Schema both(const Schema* a, const Schema* b) {
    static const Json anything = true;
    static const Json nothing = false;
    const bool has_b = b != nullptr && !(b->json != nullptr && b->json->is_null());
    if (allows_anything(a)) return has_b ? *b : Schema{&anything};
    if (allows_anything(b) || are_equal(*a, *b, refusal_)) return *a;
    if (excludes(*a, *b) || excludes(*b, *a)) return {&nothing};
    return contents_.keep(Merged{.contents = {*a, *b}});
  }

  const PlainSchema& a_;
  const PlainSchema& b_;
  std::string_view at_;
  MergedContents& contents_;
  Refusal& refusal_;
};

}  // namespace

// Parts are compared by their addresses: equal parts were kept once, so they have one address.
Content MergedContents::keep(Merged merged) {
  std::string key(1, merged.is_negated ? '-' : '+');
  const auto add = [&](const void* part) {
    key.append(reinterpret_cast<const char*>(&part), sizeof part);
  };
  for (const Content& content : merged.contents) {
    add(content.json);
    add(content.merged);
  }
  for (const std::string_view name : merged.names) key += cat(name.size(), " ", name);
  const Merged*& known = known_[std::move(key)];
  if (known == nullptr) known = &merged_.emplace_back(std::move(merged));
  return {nullptr, known};
}

std::optional<PlainSchema> merge(const PlainSchema& a, const PlainSchema& b, std::string_view at,
                                 MergedContents& contents, Refusal& refusal) {
  return Merger(a, b, at, contents, refusal).run();
}

std::vector<Property> required_properties(const PlainSchema& schema, std::string_view at,
                                          Refusal& refusal) {
  std::vector<Property> found;
  Refusal no_type;  // then it is not the type of objects
  const std::vector<std::string_view> types = types_of(schema, at, no_type);
  if (types.size() != 1 || types[0] != "object" || no_type.is_set()) return found;
  const std::vector<Property> properties = properties_of(schema, "properties", at, refusal);
  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < properties.size(); ++i) places.emplace(properties[i].name, i);
  const Content* const others = schema.find("additionalProperties");
  for (const std::string_view name : required_of(schema, at, refusal)) {
    if (const auto place = places.find(name); place != places.end()) {
      found.push_back(properties[place->second]);
    } else if (others != nullptr) {
      found.push_back({name, *others});
    }
  }
  return found;
}

}  // namespace kinglet::schema
