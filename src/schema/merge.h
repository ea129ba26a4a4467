// Merges two schemas into one that requires both.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "json/json.h"
#include "schema/keywords.h"

namespace kinglet::schema {

// Owns what merging makes. What requires the same is the same object: a schema that contains itself
// combines with another one in only so many ways.
class MergedContents {
 public:
  Content keep(Merged merged);
  Content keep(Json json) { return {&json_.emplace_back(std::move(json)), nullptr}; }

 private:
  std::list<Merged> merged_;
  std::list<Json> json_;
  std::unordered_map<std::string, const Merged*> known_;
};

// Returns nullopt if no value can be valid, and if the combination is refused.
std::optional<PlainSchema> merge(const PlainSchema& a, const PlainSchema& b, std::string_view at,
                                 MergedContents& contents, Refusal& refusal);

// Returns the required properties of a merged schema that allows only objects, each of which must
// fit its schema; none if other values are allowed.
std::vector<Property> required_properties(const PlainSchema& schema, std::string_view at,
                                          Refusal& refusal);

}  // namespace kinglet::schema
