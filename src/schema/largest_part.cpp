#include "schema/largest_part.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "schema/keywords.h"

namespace kinglet::schema {
namespace {

// About how many steps of a grammar there are for a property, and for another schema in a list.
constexpr uint64_t kStepsOfProperty = 20;
constexpr uint64_t kStepsOfSchema = 10;

constexpr auto kOfValues =
    std::to_array<std::string_view>({"enum", "const", "default", "examples"});
constexpr auto kOfProperties =
    std::to_array<std::string_view>({"properties", "patternProperties", "required"});
constexpr auto kOfSchemas =
    std::to_array<std::string_view>({"allOf", "anyOf", "oneOf", "prefixItems", "items"});
constexpr auto kOfCounts = std::to_array<std::string_view>(
    {"minItems", "maxItems", "minLength", "maxLength", "minContains", "maxContains",
     "minProperties", "maxProperties"});

struct Part {
  uint64_t n_steps = 0;
  std::string words = {};
};

// Returns what a keyword takes by itself.
Part part_of(std::string_view keyword, const Json& value) {
  const auto counted = [&](uint64_t n, std::string_view things) {
    return cat("\"", keyword, "\" has ", n, " ", things);
  };
  const uint64_t n = value.size();
  if (keyword == "enum" || keyword == "const") {
    const uint64_t n_bytes = print(value).size();
    return {n_bytes,
            cat(keyword == "enum" ? counted(n, "values") : cat("\"", keyword, "\" has a value"),
                ", which take ", n_bytes, " bytes")};
  }
  if (is_among(keyword, kOfProperties)) {
    return {n * kStepsOfProperty, counted(n, keyword == "required" ? "names" : "properties")};
  }
  if (is_among(keyword, kOfSchemas) && value.is_array()) {
    return {n * kStepsOfSchema, counted(n, "schemas")};
  }
  if (keyword == "pattern" && value.is_string()) {
    return {value.as_string().size(), counted(value.as_string().size(), "bytes")};
  }
  if (is_among(keyword, kOfCounts) && value.is_number()) {
    const auto count = static_cast<uint64_t>(std::max<int64_t>(value.as_integer().value_or(0), 0));
    return {count, cat("\"", keyword, "\" is ", count)};
  }
  return {};
}

}  // namespace

std::string largest_part(const Json& schema) {
  Part largest;
  std::string place = "#";
  visit_members(schema, [&](std::string_view at, std::string_view keyword, const Json& content) {
    Part part = part_of(keyword, content);
    if (part.n_steps > largest.n_steps) {
      largest = std::move(part);
      place = at;
    }
    return !is_among(keyword, kOfValues);
  });
  if (largest.words.empty()) return "the JSON schema, at #: it is too large";
  return cat("the JSON schema, at ", place, ": it is too large, mostly because ", largest.words);
}

}  // namespace kinglet::schema
