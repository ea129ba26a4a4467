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
  constexpr auto kResolved =
      std::to_array<std::string_view>({"$ref", "const", "allOf", "anyOf", "oneOf"});
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

bool is_pointer(std::string_view reference) {
  return reference == "#" || reference.starts_with("#/");
}

}  // namespace

const Json* find_reference(const Json& root, const Json& reference) {
  if (!reference.is_string() || !is_pointer(reference.as_string())) return nullptr;
  return find_below(root, std::string_view(reference.as_string()).substr(1));
}

void refuse_depth(std::string_view at, Refusal& refusal) {
  refusal.set(at, cat("schemas are nested more than ", kMaxSchemaDepth, " deep"));
}

Schema SchemaResolver::resolve(const Json& reference, std::string_view at) {
  static const Json none = false;
  const std::string pointer = reference.is_string() ? reference.as_string() : "";
  if (!is_pointer(pointer)) {
    refusal_.set(at, cat("the reference ", print(reference),
                         " is not supported, only \"#\" and \"#/…\" are"));
    return {&none};
  }
  const Json* found = find_reference(root_, reference);
  if (found == nullptr) {
    refusal_.set(at, cat("there is nothing at the reference \"", pointer, "\""));
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

Variants SchemaResolver::find_variants(Schema schema, std::string_view at) {
  const CheckedSchema checked = check_schema(schema, at, refusal_);
  if (checked.boolean) return *checked.boolean ? Variants(1) : Variants();
  PlainSchema own;
  PlainSchema others;
  for (const std::string_view keyword : checked.keywords) {
    PlainSchema& holder = is_resolved(keyword) ? others : own;
    holder.set(keyword, schema.merged != nullptr ? schema : Content{schema.json->find(keyword)});
  }
  if (const Content* value = others.find("const")) restrict(own, *value->json);
  Variants found = {std::move(own)};
  if (others.has("$ref")) demand(of_reference(others, at), at, found);
  for (const std::string_view keyword : {"allOf", "anyOf", "oneOf"}) {
    if (!others.has(keyword)) continue;
    std::vector<Variants> branches;
    Variants choices;  // of all branches
    for (const Schema& branch : list_of(others, keyword, at, refusal_)) {
      branches.push_back(variants(branch, below(at, keyword, branches.size())));
      choices.insert(choices.end(), branches.back().begin(), branches.back().end());
    }
    if (keyword == "oneOf" && checked_.insert(schema.json).second) check_apart(branches, at);
    if (keyword != "allOf") branches = {std::move(choices)};
    for (const Variants& branch : branches) demand(branch, at, found);
  }
  return found;
}

Variants SchemaResolver::of_reference(const PlainSchema& schema, std::string_view at) {
  const std::vector<std::string_view> texts = texts_of(schema, "$ref", at, refusal_);
  if (texts.empty()) return {};
  if (std::find(open_.begin(), open_.end(), texts[0]) != open_.end()) {
    refusal_.set(at, cat("\"", texts[0], "\" is defined by itself"));
    return {};
  }
  const Schema target = resolve(*schema.find("$ref")->json, at);
  open_.push_back(texts[0]);
  Variants found = variants(target, texts[0]);
  open_.pop_back();
  return found;
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
        refusal_.set(at, cat("it stands for more than ", kMaxVariants, " alternatives"));
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

// Refuses branches of "oneOf" that may overlap: a value that is valid under two of them is invalid.
void SchemaResolver::check_apart(const std::vector<Variants>& branches, std::string_view at) {
  for (size_t i = 0; i < branches.size(); ++i) {
    for (size_t j = 0; j < i && !refusal_.is_set(); ++j) {
      if (are_apart(branches[i], branches[j], at)) continue;
      refusal_.set(at, cat("alternatives ", j, " and ", i,
                           " of \"oneOf\" may both be true of a value: tell them apart by a type "
                           "or by a required property with a \"const\", or use \"anyOf\""));
    }
  }
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
  const auto size_before = contents_.size();
  const std::optional<PlainSchema> merged = merge_counted(a, b, at);
  if (!merged) return true;
  // Look for a required property for which no value is valid under both schemas.
  auto open = std::exchange(open_, {});
  bool are = false;
  for (const auto& [name, schema] : required_properties(*merged, at, refusal_)) {
    are = are || variants(schema, below(at, "properties", name)).empty();
  }
  open_ = std::move(open);
  contents_.drop_after(size_before);
  return are;
}

}  // namespace kinglet::schema
