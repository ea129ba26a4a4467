// The part of SchemaResolver that finds what is not valid under a schema.
#include <algorithm>
#include <array>
#include <iterator>
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

PlainSchema of_types(Names types, MergedContents& contents) {
  PlainSchema schema;
  schema.set("type", contents.keep(Merged{.names = std::move(types)}));
  return schema;
}

// Finds the values that break the demand of one keyword of a schema: a row for each keyword.
class KeywordNegation {
 public:
  KeywordNegation(SchemaResolver& resolver, MergedContents& contents, Refusal& refusal,
                  const PlainSchema& own, std::string_view at)
      : resolver_(resolver), contents_(contents), refusal_(refusal), own_(own), at_(at) {}

  // Adds to found(). Returns false if these values cannot be said.
  bool negate(std::string_view keyword, const Content& content);

  Variants& found() { return found_; }

 private:
  struct Row {
    std::string_view keyword;
    bool (KeywordNegation::*negate)(const Row& row, const Content& content);
    std::string_view opposite = {};  // of a limit: the keyword that demands what breaks it
  };

  bool negate_types(const Row&, const Content&) {
    // Integers are numbers: without "number", "integer" leaves the fractions to be found below.
    const Names given = types_of(own_, at_, refusal_);
    const bool has_integers = has(given, "integer") && !has(given, "number");
    Names others;
    for (const std::string_view type : kTypeNames) {
      if (type != "integer" && type != "number" && !has(given, type)) others.push_back(type);
    }
    if (!has(given, "number") && !has_integers) others.push_back("number");
    if (!others.empty()) found_.push_back(of_types(std::move(others), contents_));
    if (has_integers) add("number", kNotMultipleOf, kept("1"));
    return true;
  }

  bool negate_values(const Row& row, const Content&) {
    PlainSchema& others =
        found_.emplace_back(of_types({kTypeNames.begin(), kTypeNames.end()}, contents_));
    others.set(kNotEnum, contents_.keep(Merged{list_of(own_, row.keyword, at_, refusal_)}));
    return true;
  }

  // --- Objects ----------------------------------------------------------------------------------

  bool negate_required(const Row&, const Content&) {
    for (const std::string_view name : required_of(own_, at_, refusal_)) {
      add("object", "properties",
          contents_.keep(Merged{.contents = {{&kNothing}}, .names = {name}}));
    }
    return true;
  }

  bool negate_properties(const Row& row, const Content&) {
    for (const auto& [name, schema] : properties_of(own_, row.keyword, at_, refusal_)) {
      const CheckedSchema checked = check_schema(schema, at_, refusal_);
      if (checked.keywords.empty() && checked.boolean.value_or(true)) continue;
      auto broken = resolver_.with_property({}, {name, resolver_.negation_of(schema)}, at_);
      if (broken) found_.push_back(std::move(*broken));
    }
    return true;
  }

  bool negate_pattern_properties(const Row& row, const Content&) {
    for (const auto& [pattern, schema] : properties_of(own_, row.keyword, at_, refusal_)) {
      add_property(of_pattern(pattern), resolver_.negation_of(schema));
    }
    return true;
  }

  bool negate_property_names(const Row&, const Content& content) {
    add_property(resolver_.negation_of(content), {&kEverything});
    return true;
  }

  // The opposite is a property that neither a name nor a pattern covers, with a value that breaks
  // the schema of the others.
  bool negate_additional_properties(const Row&, const Content& content) {
    if (is_boolean(content, true) || (content.json != nullptr && content.json->is_null())) {
      return true;
    }
    Json named = Json::array();
    for (const Property& property : properties_of(own_, "properties", at_, refusal_)) {
      named.push_back(property.name);
    }
    std::vector<Schema> others = {
        resolver_.negation_of(contents_.keep(Json{{"enum", std::move(named)}}))};
    for (const Property& one : properties_of(own_, "patternProperties", at_, refusal_)) {
      others.push_back(resolver_.negation_of(of_pattern(one.name)));
    }
    add_property(resolver_.all_of(std::move(others)), resolver_.negation_of(content));
    return true;
  }

  // --- Arrays -----------------------------------------------------------------------------------

  bool negate_items(const Row&, const Content& content) {
    if (own_.has("prefixItems")) return is_boolean(content, true);
    add("array", kContainsEach,
        contents_.keep(Merged{.contents = {resolver_.negation_of(content)}}));
    return true;
  }

  // One variant for each place: item i breaks its schema, whatever the others are.
  bool negate_prefix_items(const Row& row, const Content&) {
    const std::vector<Content> items = list_of(own_, row.keyword, at_, refusal_);
    for (size_t i = 0; i < items.size(); ++i) {
      refusal_.count(4 * i);
      if (refusal_.is_set()) return true;
      std::vector<Content> prefix(i, Content{&kEverything});
      prefix.push_back(resolver_.negation_of(items[i]));
      PlainSchema& added = add("array", row.keyword, contents_.keep(Merged{std::move(prefix)}));
      added.set("items", {&kEverything});
      added.set("minItems", contents_.keep(Json(i + 1)));
    }
    return true;
  }

  bool negate_contains(const Row& row, const Content&) {
    if (own_.has("minContains") || own_.has("maxContains")) return false;
    for (const Content& wanted : list_of(own_, row.keyword, at_, refusal_)) {
      add("array", "items", resolver_.negation_of(wanted));
    }
    return true;
  }

  bool negate_unique(const Row&, const Content& content) { return is_boolean(content, false); }

  // --- Strings and numbers ----------------------------------------------------------------------

  bool negate_patterns(const Row& row, const Content&) {
    for (const std::string_view pattern : texts_of(own_, row.keyword, at_, refusal_)) {
      add("string", kNotPattern, kept(pattern));
    }
    return true;
  }

  bool negate_formats(const Row& row, const Content&) {
    for (const std::string_view format : texts_of(own_, row.keyword, at_, refusal_)) {
      const std::string_view wide = wider_pattern_of_format(format);
      if (wide.empty()) return !pattern_of_format(format);
      add("string", kNotPattern, kept(wide));
    }
    return true;
  }

  bool negate_steps(const Row& row, const Content&) {
    const Json* step = number_of(own_, row.keyword, at_, refusal_);
    if (step != nullptr) add("number", kNotMultipleOf, kept(step->spelling()));
    return true;
  }

  bool negate_limit(const Row& row, const Content& content) {
    const bool is_number = content.json != nullptr && content.json->is_number();
    const Json* limit = is_number ? number_of(own_, row.keyword, at_, refusal_) : nullptr;
    if (limit == nullptr) return false;
    const std::string_view type = type_of_keyword(row.keyword);
    if (type == "number") {
      add(type, row.opposite, {limit});
      return true;
    }
    const int64_t count = limit->as_integer().value_or(-1);
    const bool is_least = row.keyword.starts_with("min");
    if (count < 0 || count > INT32_MAX) return false;
    if (is_least && count == 0) return true;  // nothing breaks "at least 0"
    add(type, row.opposite, contents_.keep(Json(is_least ? count - 1 : count + 1)));
    return true;
  }

  PlainSchema& add(std::string_view type, std::string_view keyword, Content content) {
    PlainSchema& added = found_.emplace_back(of_types({type}, contents_));
    added.set(keyword, content);
    return added;
  }
  void add_property(Schema name, Schema value) {
    add("object", kSomeProperty, contents_.keep(Merged{.contents = {name, value}}));
  }
  Content kept(std::string_view name) { return contents_.keep(Merged{.names = {name}}); }
  Schema of_pattern(std::string_view pattern) { return contents_.keep(Json{{"pattern", pattern}}); }
  static bool is_boolean(const Content& content, bool value) {
    return content.json != nullptr && *content.json == Json(value);
  }

  SchemaResolver& resolver_;
  MergedContents& contents_;
  Refusal& refusal_;
  const PlainSchema& own_;
  std::string_view at_;
  Variants found_;
};

bool KeywordNegation::negate(std::string_view keyword, const Content& content) {
  using Self = KeywordNegation;
  static constexpr auto kTable = std::to_array<Row>({
      {"type", &Self::negate_types},
      {"enum", &Self::negate_values},
      {"required", &Self::negate_required},
      {"properties", &Self::negate_properties},
      {"patternProperties", &Self::negate_pattern_properties},
      {"propertyNames", &Self::negate_property_names},
      {"additionalProperties", &Self::negate_additional_properties},
      {"minProperties", &Self::negate_limit, "maxProperties"},
      {"maxProperties", &Self::negate_limit, "minProperties"},
      {"items", &Self::negate_items},
      {"prefixItems", &Self::negate_prefix_items},
      {kContainsEach, &Self::negate_contains},
      {"uniqueItems", &Self::negate_unique},
      {"minItems", &Self::negate_limit, "maxItems"},
      {"maxItems", &Self::negate_limit, "minItems"},
      {"pattern", &Self::negate_patterns},
      {"format", &Self::negate_formats},
      {"minLength", &Self::negate_limit, "maxLength"},
      {"maxLength", &Self::negate_limit, "minLength"},
      {"multipleOf", &Self::negate_steps},
      {"minimum", &Self::negate_limit, "exclusiveMaximum"},
      {"maximum", &Self::negate_limit, "exclusiveMinimum"},
      {"exclusiveMinimum", &Self::negate_limit, "maximum"},
      {"exclusiveMaximum", &Self::negate_limit, "minimum"},
  });
  const auto* row = std::find_if(kTable.begin(), kTable.end(),
                                 [keyword](const Row& one) { return one.keyword == keyword; });
  return row != kTable.end() && (this->*row->negate)(*row, content);
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
    PlainSchema with = of_types({"object"}, contents_);
    with.set("required", contents_.keep(Merged{.names = {name}}));
    demand({with}, at, broken);
    add(broken);
  }
  return found;
}

std::optional<PlainSchema> SchemaResolver::with_property(const PlainSchema& schema,
                                                         const Property& property,
                                                         std::string_view at) {
  PlainSchema with = of_types({"object"}, contents_);
  with.set("required", contents_.keep(Merged{.names = {property.name}}));
  with.set("properties",
           contents_.keep(Merged{.contents = {property.schema}, .names = {property.name}}));
  return merge_counted(schema, with, at);
}

void SchemaResolver::negate_own(const PlainSchema& own, std::string_view at, Variants& found) {
  KeywordNegation negation(*this, contents_, refusal_, own, at);
  std::string_view left_out;
  for (const auto& [keyword, content] : own.keywords) {
    if (!negation.negate(keyword, content)) left_out = keyword;
  }
  std::move(negation.found().begin(), negation.found().end(), std::back_inserter(found));
  if (left_out.empty()) return;
  is_exact_ = false;
  if (found.empty()) refusal_.set(at, cat("\"not\" with \"", left_out, "\" is not supported"));
}

}  // namespace kinglet::schema
