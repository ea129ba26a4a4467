// Resolves references and combinations of schemas into alternatives without either.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "json/json.h"
#include "schema/keywords.h"
#include "schema/merge.h"

namespace kinglet::schema {

// The limit for schemas inside schemas, because of the stack.
constexpr int kMaxSchemaDepth = 200;

void refuse_depth(std::string_view at, Refusal& refusal);

// Returns the part of `root` that a reference names, "#" or "#/…"; null if it is another reference,
// or names nothing.
const Json* find_reference(const Json& root, const Json& reference);

class SchemaResolver {
 public:
  // `root` and `refusal` must outlive what this returns, and so must this.
  SchemaResolver(const Json& root, Refusal& refusal) : root_(root), refusal_(refusal) {}

  // Returns the schema to which a reference such as "#/$defs/name" points.
  Schema resolve(const Json& reference, std::string_view at);

  // Returns alternatives: a value is valid if it is valid under one of them. Returns none if no
  // value is valid.
  std::vector<PlainSchema> variants(Schema schema, std::string_view at);

  // Returns a schema that requires all of these.
  Schema all_of(std::vector<Schema> schemas) {
    return contents_.keep(Merged{.contents = std::move(schemas)});
  }

 private:
  using Variants = std::vector<PlainSchema>;

  Variants find_variants(Schema schema, std::string_view at);
  Variants of_reference(const PlainSchema& schema, std::string_view at);
  void restrict(PlainSchema& schema, const Json& value);
  void demand(const Variants& choices, std::string_view at, Variants& found);
  std::optional<PlainSchema> merge_counted(const PlainSchema& a, const PlainSchema& b,
                                           std::string_view at);
  void check_apart(const std::vector<Variants>& branches, std::string_view at);
  bool are_apart(const Variants& a, const Variants& b, std::string_view at);
  bool are_apart(const PlainSchema& a, const PlainSchema& b, std::string_view at);

  const Json& root_;
  Refusal& refusal_;
  MergedContents contents_;
  int depth_ = 0;
  size_t n_merges_ = 0;
  std::vector<std::string_view> open_;       // the references that are being followed
  std::unordered_set<const Json*> checked_;  // schemas with "oneOf" whose branches are apart
};

}  // namespace kinglet::schema
