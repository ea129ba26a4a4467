// The part of SchemaResolver that finds what is not valid under a schema.
#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "schema/formats.h"
#include "schema/resolve.h"

namespace kinglet::schema {
namespace {

using Names = std::vector<std::string_view>;
using Variants = std::vector<PlainSchema>;

const Json kNothing = false;
const Json kEverything = true;

bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Variants SchemaResolver::negated(Schema schema, std::string_view at) {
  if (depth_ == kMaxSchemaDepth) refuse_depth(at, refusal_);
  if (refusal_.is_set()) return {};
  ++depth_;
  Variants found = find_negated(schema, at);
  --depth_;
  return found;
}

// A value is not valid if it breaks one of the demands, so each keyword adds the variants that
// break it; they may overlap. By De Morgan's laws: allOf is broken where one of its schemas is;
// anyOf where all are at once; oneOf where all are, or where two are valid together.
Variants SchemaResolver::find_negated(Schema schema, std::string_view at) {
  constexpr size_t kSteps = 20;
  refusal_.count(kSteps);
  const CheckedSchema checked = check_schema(schema, at, refusal_);
  if (checked.boolean) return *checked.boolean ? Variants() : Variants(1);
  const auto [own, others] = keywords_of(schema, checked, at);
  Variants found;
  const auto add = [&](const Variants& more) {
    found.insert(found.end(), more.begin(), more.end());
  };
  negate_own(own, at, found);
  if (others.has("$ref")) add(of_reference(others, true, at));
  for (const std::string_view keyword : {"allOf", "anyOf", "oneOf"}) {
    const std::vector<Schema> schemas = list_of(others, keyword, at, refusal_);
    Variants none(schemas.empty() ? 0 : 1);  // all schemas so far are broken
    for (size_t i = 0; i < schemas.size(); ++i) {
      if (refusal_.is_set()) return {};
      const Variants broken = negated(schemas[i], below(at, keyword, i));
      if (keyword == "allOf") {
        add(broken);
      } else {
        demand(broken, at, none);
      }
      for (size_t j = 0; j < i && keyword == "oneOf"; ++j) {
        if (refusal_.is_set()) return {};
        Variants both = variants(schemas[i], below(at, keyword, i));
        demand(variants(schemas[j], below(at, keyword, j)), at, both);
        add(both);
      }
    }
    if (keyword != "allOf") add(none);
  }
  if (const Content* inner = others.find("not")) add(variants(*inner, below(at, "not")));
  if (others.has("if")) add(conditional(others, true, at));
  for (const auto& [name, needed] : dependencies_of(others, at)) {
    Variants broken = negated(needed, at);
    PlainSchema with = of_types({"object"});
    with.set("required", contents_.keep(Merged{.names = {name}}));
    demand({with}, at, broken);
    add(broken);
  }
  return found;
}

PlainSchema SchemaResolver::of_types(Names types) {
  PlainSchema schema;
  schema.set("type", contents_.keep(Merged{.names = std::move(types)}));
  return schema;
}

std::optional<PlainSchema> SchemaResolver::with_property(const PlainSchema& schema,
                                                         const Property& property,
                                                         std::string_view at) {
  PlainSchema with = of_types({"object"});
  with.set("required", contents_.keep(Merged{.names = {property.name}}));
  with.set("properties",
           contents_.keep(Merged{.contents = {property.schema}, .names = {property.name}}));
  return merge_counted(schema, with, at);
}

void SchemaResolver::negate_own(const PlainSchema& own, std::string_view at, Variants& found) {
  std::string_view left_out;
  for (const auto& [keyword, content] : own.keywords) {
    if (!negate_keyword(keyword, own, at, found)) left_out = keyword;
  }
  if (left_out.empty()) return;
  is_exact_ = false;
  if (found.empty()) refusal_.set(at, cat("\"not\" with \"", left_out, "\" is not supported"));
}

void SchemaResolver::negate_types(const PlainSchema& own, std::string_view at, Variants& found) {
  // Integers are numbers: without "number", "integer" leaves the fractions to be found below.
  const Names given = types_of(own, at, refusal_);
  const bool has_integers = has(given, "integer") && !has(given, "number");
  Names others;
  for (const std::string_view type : kTypeNames) {
    if (type != "integer" && type != "number" && !has(given, type)) others.push_back(type);
  }
  if (!has(given, "number") && !has_integers) others.push_back("number");
  if (!others.empty()) found.push_back(of_types(std::move(others)));
  if (!has_integers) return;
  PlainSchema fractions = of_types({"number"});
  fractions.set(kNotMultipleOf, contents_.keep(Merged{.names = {"1"}}));
  found.push_back(std::move(fractions));
}

// Adds the values that break this demand. Returns false if they cannot be said.
bool SchemaResolver::negate_keyword(std::string_view keyword, const PlainSchema& own,
                                    std::string_view at, Variants& found) {
  const Content& content = *own.find(keyword);
  if (keyword == "type") {
    negate_types(own, at, found);
    return true;
  }
  const auto add = [&](std::string_view type, std::string_view name, Content value) {
    PlainSchema& added = found.emplace_back(of_types({type}));
    added.set(name, value);
    return &added;
  };
  const auto kept = [&](std::string_view name) { return contents_.keep(Merged{.names = {name}}); };
  if (keyword == "enum") {
    PlainSchema& others = found.emplace_back(of_types({kTypeNames.begin(), kTypeNames.end()}));
    others.set(kNotEnum, contents_.keep(Merged{list_of(own, keyword, at, refusal_)}));
    return true;
  }
  if (keyword == "required") {
    for (const std::string_view name : required_of(own, at, refusal_)) {
      add("object", "properties",
          contents_.keep(Merged{.contents = {{&kNothing}}, .names = {name}}));
    }
    return true;
  }
  if (keyword == "properties") {
    for (const auto& [name, schema] : properties_of(own, keyword, at, refusal_)) {
      const CheckedSchema checked = check_schema(schema, at, refusal_);
      if (checked.keywords.empty() && checked.boolean.value_or(true)) continue;
      if (auto broken = with_property({}, {name, negation_of(schema)}, at)) {
        found.push_back(std::move(*broken));
      }
    }
    return true;
  }
  if (keyword == "items" && !own.has("prefixItems")) {
    add("array", kContainsEach, contents_.keep(Merged{.contents = {negation_of(content)}}));
    return true;
  }
  if (keyword == "prefixItems") {
    const std::vector<Content> items = list_of(own, keyword, at, refusal_);
    // One variant for each place: item i breaks its schema, whatever the others are.
    for (size_t i = 0; i < items.size(); ++i) {
      refusal_.count(4 * i);
      if (refusal_.is_set()) return true;
      std::vector<Content> prefix(i, Content{&kEverything});
      prefix.push_back(negation_of(items[i]));
      PlainSchema* added = add("array", keyword, contents_.keep(Merged{std::move(prefix)}));
      added->set("items", {&kEverything});
      added->set("minItems", contents_.keep(Json(i + 1)));
    }
    return true;
  }
  if (keyword == kContainsEach && !own.has("minContains") && !own.has("maxContains")) {
    for (const Content& wanted : list_of(own, keyword, at, refusal_)) {
      add("array", "items", negation_of(wanted));
    }
    return true;
  }
  const auto add_some = [&](Schema name, Schema value) {
    add("object", kSomeProperty, contents_.keep(Merged{.contents = {name, value}}));
  };
  if (keyword == "patternProperties") {
    for (const auto& [pattern, schema] : properties_of(own, keyword, at, refusal_)) {
      add_some(contents_.keep(Json{{"pattern", pattern}}), negation_of(schema));
    }
    return true;
  }
  if (keyword == "propertyNames") {
    add_some(negation_of(content), {&kEverything});
    return true;
  }
  if (keyword == "additionalProperties") {
    if (content.json != nullptr && (content.json->is_null() || *content.json == kEverything)) {
      return true;
    }
    // The opposite is a property that neither a name nor a pattern covers, with a value that breaks
    // the schema of the others.
    Json named = Json::array();
    for (const Property& property : properties_of(own, "properties", at, refusal_)) {
      named.push_back(property.name);
    }
    std::vector<Schema> others = {negation_of(contents_.keep(Json{{"enum", std::move(named)}}))};
    for (const Property& one : properties_of(own, "patternProperties", at, refusal_)) {
      others.push_back(negation_of(contents_.keep(Json{{"pattern", one.name}})));
    }
    add_some(all_of(std::move(others)), negation_of(content));
    return true;
  }
  if (keyword == "uniqueItems") return content.json != nullptr && *content.json == Json(false);
  if (keyword == "pattern" || keyword == "format") {
    for (const std::string_view text : texts_of(own, keyword, at, refusal_)) {
      if (keyword == "format") {
        const std::string_view wide = wider_pattern_of_format(text);
        if (wide.empty()) return !pattern_of_format(text);
        add("string", kNotPattern, kept(wide));
      } else {
        add("string", kNotPattern, kept(text));
      }
    }
    return true;
  }
  if (keyword == "multipleOf") {
    const Json* step = number_of(own, keyword, at, refusal_);
    if (step != nullptr) add("number", kNotMultipleOf, kept(step->spelling()));
    return true;
  }
  if (keyword == "items") {
    return content.json != nullptr && content.json->is_boolean() && content.json->as_boolean();
  }
  const Json* limit =
      type_of_keyword(keyword).empty() || content.json == nullptr || !content.json->is_number()
          ? nullptr
          : number_of(own, keyword, at, refusal_);
  return limit != nullptr && negate_limit(keyword, *limit, found);
}

bool SchemaResolver::negate_limit(std::string_view keyword, const Json& limit, Variants& found) {
  struct Opposite {
    std::string_view of;
    std::string_view is;
  };
  constexpr auto kOpposites = std::to_array<Opposite>({{"minimum", "exclusiveMaximum"},
                                                       {"maximum", "exclusiveMinimum"},
                                                       {"exclusiveMinimum", "maximum"},
                                                       {"exclusiveMaximum", "minimum"},
                                                       {"minLength", "maxLength"},
                                                       {"maxLength", "minLength"},
                                                       {"minItems", "maxItems"},
                                                       {"maxItems", "minItems"},
                                                       {"minProperties", "maxProperties"},
                                                       {"maxProperties", "minProperties"}});
  const auto* known = std::find_if(kOpposites.begin(), kOpposites.end(),
                                   [&](const Opposite& one) { return one.of == keyword; });
  if (known == kOpposites.end()) return false;
  const std::string_view type = type_of_keyword(keyword);
  PlainSchema opposite = of_types({type});
  if (type == "number") {
    opposite.set(known->is, {&limit});
  } else {
    const int64_t count = limit.as_integer().value_or(-1);
    const bool is_least = keyword.starts_with("min");
    if (count < 0 || count > INT32_MAX) return false;
    if (is_least && count == 0) return true;  // nothing breaks "at least 0"
    opposite.set(known->is, contents_.keep(Json(is_least ? count - 1 : count + 1)));
  }
  found.push_back(std::move(opposite));
  return true;
}

}  // namespace kinglet::schema
