// Resolves references and combinations of schemas into alternatives without either.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/json.h"
#include "schema/keywords.h"
#include "schema/merge.h"
#include "schema/survey.h"

namespace kinglet::schema {

// The limit for schemas inside schemas, because of the stack.
constexpr int kMaxSchemaDepth = 200;

void refuse_depth(std::string_view at, Refusal& refusal);

// Returns the part of `root` that a reference names: by a pointer ("#/…"), an "$anchor" or an
// "$id". Null if there is none.
const Json* find_reference(const Json& root, const SchemaSurvey& names, const Json& reference);

// Returns the part of `root` that a pointer names, "#" or "#/…"; null for other references.
const Json* find_reference(const Json& root, const Json& reference);

class SchemaResolver {
 public:
  // `root` and `refusal` must outlive what this returns, and so must this.
  SchemaResolver(const Json& root, Refusal& refusal);

  // Returns the schema to which a reference such as "#/$defs/name" points.
  Schema resolve(const Json& reference, std::string_view at);

  // Returns alternatives: a value is valid if it is valid under one of them. Returns none if no
  // value is valid.
  std::vector<PlainSchema> variants(Schema schema, std::string_view at);

  // Returns alternatives for the values that are not valid under the schema. Refuses those that
  // cannot be said. Where only some of them cannot, these are left out.
  std::vector<PlainSchema> negated(Schema schema, std::string_view at);

  // Returns a schema that requires all of these.
  Schema all_of(std::vector<Schema> schemas) {
    return contents_.keep(Merged{.contents = std::move(schemas)});
  }

  // Returns the schema with a property that objects must have; nullopt if there are none.
  std::optional<PlainSchema> with_property(const PlainSchema& schema, const Property& property,
                                           std::string_view at);

  // Returns the schema of what is not valid under this one.
  Schema negation_of(Schema schema) {
    return contents_.keep(Merged{.contents = {schema}, .is_negated = true});
  }

 private:
  using Variants = std::vector<PlainSchema>;

  // The keywords of a schema: those that stay in a PlainSchema, and the others.
  struct Keywords {
    PlainSchema own;
    PlainSchema others;
  };

  Variants find_variants(Schema schema, std::string_view at);
  Variants find_negated(Schema schema, std::string_view at);
  Keywords keywords_of(Schema schema, const CheckedSchema& checked, std::string_view at);
  void add_older(PlainSchema& own, const Json& schema);
  Variants of_reference(const PlainSchema& schema, bool is_negated, std::string_view at);
  void restrict(PlainSchema& schema, const Json& value);
  void demand(const Variants& choices, std::string_view at, Variants& found);
  std::optional<PlainSchema> merge_counted(const PlainSchema& a, const PlainSchema& b,
                                           std::string_view at);
  Variants exactly_one(const std::vector<Schema>& schemas, const std::vector<Variants>& branches,
                       std::string_view at);
  bool are_apart(const Variants& a, const Variants& b, std::string_view at);
  bool are_apart(const PlainSchema& a, const PlainSchema& b, std::string_view at);
  Variants conditional(const PlainSchema& schema, bool is_negated, std::string_view at);
  std::vector<Property> dependencies_of(const PlainSchema& schema, std::string_view at);
  Schema needs_all(const Schema& names);
  void negate_own(const PlainSchema& own, std::string_view at, Variants& found);

  const Json& root_;
  const SchemaSurvey names_;
  Refusal& refusal_;
  MergedContents contents_;
  int depth_ = 0;
  size_t n_merges_ = 0;
  std::unordered_map<std::string, const Json*> targets_;  // of references
  std::vector<std::string_view> open_;                    // the references that are being followed
  bool is_exact_ = true;                                  // nothing was left out of a negation
};

}  // namespace kinglet::schema
