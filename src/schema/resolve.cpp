#include "schema/resolve.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/percent.h"
#include "base/utf8.h"

namespace kinglet::schema {
namespace {

// The numbers of choices multiply when schemas are combined.
constexpr size_t kMaxVariants = 200;
constexpr size_t kMaxMerges = 200'000;  // of a whole schema

using Variants = std::vector<PlainSchema>;

// Whether the keyword is not left in a PlainSchema.
bool is_resolved(std::string_view keyword) {
  constexpr auto kResolved = std::to_array<std::string_view>(
      {"$ref", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "nullable",
       "dependencies", "dependentRequired", "dependentSchemas"});
  return is_among(keyword, kResolved);
}

// Decodes a part of a reference: first the escapes of URIs, then those of JSON pointers (RFC 6901).
// Returns nullopt if they are wrong.
std::optional<std::string> decoded(std::string_view part) {
  const auto text = percent_decoded(part);
  if (!text || find_ill_formed(*text) != text->npos) return std::nullopt;
  std::string name;
  for (size_t i = 0; i < text->size(); ++i) {
    const std::string_view rest = std::string_view(*text).substr(i);
    const bool is_escape = rest.starts_with("~0") || rest.starts_with("~1");
    name += !is_escape ? rest[0] : (*text)[++i] == '0' ? '~' : '/';
  }
  return name;
}

// Returns what the rest of a JSON pointer refers to; null if there is nothing.
const Json* find_below(const Json& root, std::string_view pointer) {
  const Json* found = &root;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    const auto name = decoded(pointer.substr(0, end));
    pointer.remove_prefix(end);
    if (!name) return nullptr;
    if (found->is_array()) {
      const auto index = parse_decimal<size_t>(*name);
      found = index && *index < found->size() ? &found->as_array()[*index] : nullptr;
    } else {
      found = found->find(*name);
    }
    if (found == nullptr) return nullptr;
  }
  return found;
}

}  // namespace

const Json* find_reference(const Json& root, const Json& reference) {
  if (!reference.is_string()) return nullptr;
  const std::string_view text = reference.as_string();
  return text == "#" || text.starts_with("#/") ? find_below(root, text.substr(1)) : nullptr;
}

const Json* find_reference(const Json& root, const SchemaSurvey& names, const Json& reference) {
  if (const Json* found = find_reference(root, reference)) return found;
  if (!reference.is_string()) return nullptr;
  const std::string& text = reference.as_string();
  const std::string address = address_of(id_of(root), text);
  const auto find = [&](const std::string& one) {
    const auto found = names.by_address.find(one);
    return found == names.by_address.end() ? nullptr : found->second;
  };
  if (const Json* found = find(address)) return found;
  const size_t mark = std::min(address.find('#'), address.size());
  const Json* document = find(address.substr(0, mark));
  const std::string_view pointer =
      std::string_view(address).substr(std::min(mark + 1, address.size()));
  const bool is_pointer = pointer.empty() || pointer.starts_with('/');
  return document != nullptr && is_pointer ? find_below(*document, pointer) : nullptr;
}

SchemaResolver::SchemaResolver(const Json& root, Refusal& refusal)
    : root_(root), names_(survey(root)), refusal_(refusal) {}

void refuse_depth(std::string_view at, Refusal& refusal) {
  refusal.set(at, cat("schemas are nested more than ", kMaxSchemaDepth, " deep"));
}

Schema SchemaResolver::resolve(const Json& reference, std::string_view at) {
  static const Json none = false;
  const std::string pointer = reference.is_string() ? reference.as_string() : print(reference);
  const auto [known, is_new] = targets_.try_emplace(pointer);
  if (is_new) known->second = find_reference(root_, names_, reference);
  const Json* found = known->second;
  if (found == nullptr) {
    refusal_.set(at, pointer.starts_with('#')
                         ? cat("the reference ", shown(pointer), " points to nothing")
                         : cat("the reference ", shown(pointer),
                               " is not supported: it must point into this schema"));
    return {&none};
  }
  check_schema({found}, pointer, refusal_);
  return {found};
}

Variants SchemaResolver::variants(Schema schema, std::string_view at) {
  if (depth_ == kMaxSchemaDepth) refuse_depth(at, refusal_);
  if (refusal_.is_set()) return {};
  ++depth_;
  Variants found = find_variants(schema, at);
  --depth_;
  return found;
}

SchemaResolver::Keywords SchemaResolver::keywords_of(Schema schema, const CheckedSchema& checked,
                                                     std::string_view at) {
  Keywords keywords;
  for (const std::string_view keyword : checked.keywords) {
    PlainSchema& holder = is_resolved(keyword) ? keywords.others : keywords.own;
    if (schema.json != nullptr) {
      holder.set(keyword, {schema.json->find(keyword)});
    } else {
      holder.set(keyword, schema.merged->is_negated ? schema.merged->contents[0] : schema);
    }
  }
  if (schema.json != nullptr) add_older(keywords.own, *schema.json);
  if (const Content* value = keywords.others.find("const")) restrict(keywords.own, *value->json);
  const Content* nullable = keywords.others.find("nullable");
  const std::vector<std::string_view> types = types_of(keywords.own, at, refusal_);
  if (nullable != nullptr && *nullable->json == Json(true) && !types.empty()) {
    std::vector<std::string_view> more = types;
    more.push_back("null");
    keywords.own.set("type", contents_.keep(Merged{.names = std::move(more)}));
  }
  return keywords;
}

// Says what older drafts say in the words of the last one, and "contains" as a list.
void SchemaResolver::add_older(PlainSchema& own, const Json& schema) {
  const Json* items = schema.find("items");
  const Json* more = schema.find("additionalItems");
  own.remove("additionalItems");
  if (items != nullptr && items->is_array()) {
    own.remove("items");
    own.set("prefixItems", {items});
    if (more != nullptr) own.set("items", {more});
  }
  for (const bool is_least : {true, false}) {
    const std::string_view closed = is_least ? "minimum" : "maximum";
    const std::string_view open = is_least ? "exclusiveMinimum" : "exclusiveMaximum";
    const Json* is_open = schema.find(open);
    if (is_open == nullptr || !is_open->is_boolean()) continue;
    own.remove(open);
    const Json* limit = schema.find(closed);
    if (!is_open->as_boolean() || limit == nullptr) continue;
    own.remove(closed);
    own.set(open, {limit});
  }
  if (const Json* wanted = schema.find("contains")) {
    own.remove("contains");
    own.set(kContainsEach, contents_.keep(Merged{.contents = {{wanted}}}));
  } else {
    own.remove("minContains");
    own.remove("maxContains");
  }
}

Variants SchemaResolver::find_variants(Schema schema, std::string_view at) {
  constexpr size_t kSteps = 20;
  refusal_.count(kSteps);
  const CheckedSchema checked = check_schema(schema, at, refusal_);
  if (checked.boolean) return *checked.boolean ? Variants(1) : Variants();
  auto [own, others] = keywords_of(schema, checked, at);
  Variants found = {std::move(own)};
  if (others.has("$ref")) demand(of_reference(others, false, at), at, found);
  for (const std::string_view keyword : {"allOf", "anyOf", "oneOf"}) {
    if (!others.has(keyword)) continue;
    const std::vector<Schema> schemas = list_of(others, keyword, at, refusal_);
    std::vector<Variants> branches;
    Variants choices;  // of all branches
    for (const Schema& branch : schemas) {
      branches.push_back(variants(branch, below(at, keyword, branches.size())));
      refusal_.count(kSteps * branches.back().size());
      if (refusal_.is_set()) return {};
      choices.insert(choices.end(), branches.back().begin(), branches.back().end());
    }
    if (keyword == "oneOf") choices = exactly_one(schemas, branches, at);
    if (keyword != "allOf") branches = {std::move(choices)};
    for (const Variants& branch : branches) demand(branch, at, found);
  }
  if (const Content* inner = others.find("not"))
    demand(negated(*inner, below(at, "not")), at, found);
  if (others.has("if")) demand(conditional(others, false, at), at, found);
  for (const auto& [name, needed] : dependencies_of(others, at)) {
    static const Json none = false;
    PlainSchema without;
    without.set("properties", contents_.keep(Merged{.contents = {{&none}}, .names = {name}}));
    Variants choices = variants(needed, at);
    PlainSchema with;
    with.set("required", contents_.keep(Merged{.names = {name}}));
    demand({with}, at, choices);
    choices.push_back(std::move(without));
    demand(choices, at, found);
  }
  return found;
}

Variants SchemaResolver::of_reference(const PlainSchema& schema, bool is_negated,
                                      std::string_view at) {
  const std::vector<std::string_view> texts = texts_of(schema, "$ref", at, refusal_);
  if (texts.empty()) return {};
  if (std::find(open_.begin(), open_.end(), texts[0]) != open_.end()) {
    refusal_.set(at, cat("the reference ", shown(texts[0]), " leads back to itself"));
    return {};
  }
  const Schema target = resolve(*schema.find("$ref")->json, at);
  open_.push_back(texts[0]);
  Variants found = is_negated ? negated(target, texts[0]) : variants(target, texts[0]);
  open_.pop_back();
  return found;
}

// Returns what "if", "then" and "else" allow, or what they forbid.
Variants SchemaResolver::conditional(const PlainSchema& schema, bool is_negated,
                                     std::string_view at) {
  const auto branch = [&](std::string_view keyword) {
    const Content* content = schema.find(keyword);
    if (content == nullptr) return is_negated ? Variants() : Variants(1);
    const std::string place = below(at, keyword);
    return is_negated ? negated(*content, place) : variants(*content, place);
  };
  Variants found = variants(*schema.find("if"), below(at, "if"));
  demand(branch("then"), at, found);
  const Variants otherwise = branch("else");
  if (otherwise.empty()) return found;
  Variants rest = negated(*schema.find("if"), below(at, "if"));
  demand(otherwise, at, rest);
  found.insert(found.end(), rest.begin(), rest.end());
  return found;
}

// Returns what the presence of a property demands.
std::vector<Property> SchemaResolver::dependencies_of(const PlainSchema& schema,
                                                      std::string_view at) {
  std::vector<Property> found;
  for (const std::string_view keyword : {"dependencies", "dependentRequired", "dependentSchemas"}) {
    for (const auto& [name, needed] : properties_of(schema, keyword, at, refusal_)) {
      constexpr size_t kSteps = 2000;  // each makes two schemas, which combine with all others
      refusal_.count(kSteps);
      if (refusal_.is_set()) return {};
      const bool are_names = needed.json->is_array() || needed.json->is_string();
      found.push_back({name, are_names ? needs_all(needed) : needed});
    }
  }
  return found;
}

// Returns a schema of objects that have all of the named properties.
Schema SchemaResolver::needs_all(const Schema& names) {
  Json required = names.json->is_array() ? *names.json : Json::array({*names.json});
  return contents_.keep(Json{{"required", std::move(required)}});
}

// Keeps only the value of "const".
void SchemaResolver::restrict(PlainSchema& schema, const Json& value) {
  const Content* given = schema.find("enum");
  Merged values;
  if (given == nullptr || !given->json->is_array()) {
    values.contents.push_back({&value});
  } else {
    for (const Json& one : given->json->as_array()) {
      if (one == value) values.contents.push_back({&one});
    }
  }
  schema.set("enum", contents_.keep(std::move(values)));
}

// Demands one of the choices in addition to one of those that were found before.
void SchemaResolver::demand(const Variants& choices, std::string_view at, Variants& found) {
  Variants both;
  for (const PlainSchema& a : found) {
    for (const PlainSchema& b : choices) {
      if (auto merged = merge_counted(a, b, at)) both.push_back(std::move(*merged));
      if (both.size() > kMaxVariants) {
        refusal_.set(at, cat("it combines into more than ", kMaxVariants, " alternatives"));
      }
      if (refusal_.is_set()) return;
    }
  }
  found = std::move(both);
}

std::optional<PlainSchema> SchemaResolver::merge_counted(const PlainSchema& a, const PlainSchema& b,
                                                         std::string_view at) {
  if (++n_merges_ > kMaxMerges) refusal_.set(at, "its schemas combine in too many ways");
  if (refusal_.is_set()) return std::nullopt;
  return merge(a, b, at, contents_, refusal_);
}

// Returns what only one of the schemas allows.
Variants SchemaResolver::exactly_one(const std::vector<Schema>& schemas,
                                     const std::vector<Variants>& branches, std::string_view at) {
  const size_t n = branches.size();
  std::vector<std::vector<size_t>> overlaps(n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i && !refusal_.is_set(); ++j) {
      if (are_apart(branches[i], branches[j], at)) continue;
      overlaps[i].push_back(j);
      overlaps[j].push_back(i);
    }
  }
  Variants found;
  for (size_t i = 0; i < n && !refusal_.is_set(); ++i) {
    Variants only = branches[i];
    for (const size_t j : overlaps[i]) {
      const bool was_exact = std::exchange(is_exact_, true);
      demand(negated(schemas[j], below(at, "oneOf", j)), at, only);
      const bool is_unknown = !is_exact_ && only.empty();
      is_exact_ = is_exact_ && was_exact;
      if (!is_unknown) continue;
      refusal_.set(at, cat("alternatives ", std::min(i, j), " and ", std::max(i, j),
                           " of \"oneOf\" may both match the same value: tell them apart by a type "
                           "or by a required property with a \"const\", or use \"anyOf\""));
    }
    found.insert(found.end(), only.begin(), only.end());
  }
  return found;
}

bool SchemaResolver::are_apart(const Variants& a, const Variants& b, std::string_view at) {
  for (const PlainSchema& one : a) {
    for (const PlainSchema& other : b) {
      if (!are_apart(one, other, at)) return false;
    }
  }
  return true;
}

// Returns true if no value is valid under both; false also if that is not known.
bool SchemaResolver::are_apart(const PlainSchema& a, const PlainSchema& b, std::string_view at) {
  const std::optional<PlainSchema> merged = merge_counted(a, b, at);
  if (!merged) return true;
  const bool was_exact = std::exchange(is_exact_, true);
  // Look for a required property for which no value is valid under both schemas.
  auto open = std::exchange(open_, {});
  bool are = false;
  for (const auto& [name, schema] : required_properties(*merged, at, refusal_)) {
    are = are || variants(schema, below(at, "properties", name)).empty();
  }
  open_ = std::move(open);
  are = are && is_exact_;  // what was left out could be valid
  is_exact_ = is_exact_ && was_exact;
  return are;
}

}  // namespace kinglet::schema
