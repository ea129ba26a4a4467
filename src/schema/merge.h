// Merges two schemas into one that requires both.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string_view>
#include <utility>

#include "json/json.h"
#include "schema/keywords.h"

namespace kinglet::schema {

// Owns what merging makes.
class MergedContents {
 public:
  Content keep(Merged merged) { return {nullptr, &merged_.emplace_back(std::move(merged))}; }
  Content keep(Json json) { return {&json_.emplace_back(std::move(json)), nullptr}; }

  // What was made after a size() can be dropped.
  std::pair<size_t, size_t> size() const { return {merged_.size(), json_.size()}; }
  void drop_after(std::pair<size_t, size_t> size) {
    merged_.resize(size.first);
    json_.resize(size.second);
  }

 private:
  std::list<Merged> merged_;
  std::list<Json> json_;
};

// Returns nullopt if no value can be valid, and if the combination is refused.
std::optional<PlainSchema> merge(const PlainSchema& a, const PlainSchema& b, std::string_view at,
                                 MergedContents& contents, Refusal& refusal);

// Returns the required properties of a merged schema that allows only objects, each of which must
// fit its schema; none if other values are allowed.
std::vector<Property> required_properties(const PlainSchema& schema, std::string_view at,
                                          Refusal& refusal);

}  // namespace kinglet::schema
