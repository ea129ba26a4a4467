#include "schema/survey.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/misspelling.h"
#include "schema/keywords.h"

namespace kinglet::schema {
namespace {

constexpr auto kWithSchema = std::to_array<std::string_view>(
    {"not", "if", "then", "else", "items", "additionalItems", "contains", "additionalProperties",
     "propertyNames", "unevaluatedItems", "unevaluatedProperties"});
constexpr auto kWithSchemas =
    std::to_array<std::string_view>({"allOf", "anyOf", "oneOf", "prefixItems", "items"});
constexpr auto kWithNamedSchemas =
    std::to_array<std::string_view>({"properties", "patternProperties", "dependentSchemas",
                                     "dependencies", "$defs", "definitions"});

constexpr size_t kMostWarnings = 20;
// The most unknown words that are compared with the keywords.
constexpr size_t kMostCompared = 1000;
// The longest address of a schema: each part of it has a copy.
constexpr size_t kLongestAddress = 1000;

struct Place {
  const Json* schema;
  std::string at;
  std::string base;
};

}  // namespace

std::string_view id_of(const Json& schema) {
  const std::string* id = schema.find_string("$id");
  if (id == nullptr) id = schema.find_string("id");
  return id == nullptr || id->size() > kLongestAddress ? std::string_view() : *id;
}

std::string address_of(std::string_view base, std::string_view reference) {
  const size_t colon = reference.find(':');
  if (colon != reference.npos && colon < reference.find_first_of("/#?")) {
    return std::string(reference);
  }
  base = base.substr(0, base.find('#'));
  if (reference.empty() || reference.starts_with('#')) return cat(base, reference);
  const size_t slashes = base.find("://");
  const size_t root = base.find('/', slashes == base.npos ? 0 : slashes + 3);
  if (reference.starts_with('/')) return cat(base.substr(0, root), reference);
  const size_t folder = base.rfind('/');
  return cat(folder == base.npos || folder < slashes + 3 ? "" : base.substr(0, folder + 1),
             reference);
}

SchemaSurvey survey(const Json& schema) {
  SchemaSurvey found;
  if (lacks_keywords(schema)) {
    found.warnings.emplace_back(
        "the JSON schema, at #: it has none of JSON Schema's keywords, so any value is valid");
  }
  size_t n_compared = 0;
  std::vector<Place> todo = {{&schema, "#", ""}};
  while (!todo.empty()) {
    auto [here, at, base] = std::move(todo.back());
    todo.pop_back();
    if (!here->is_object()) continue;
    if (const std::string_view id = id_of(*here); !id.empty()) {
      const std::string address = address_of(base, id);
      // Older drafts name a part with an "id" that is only a fragment.
      if (!id.starts_with('#')) base = address.substr(0, address.find('#'));
      found.by_address.emplace(address.ends_with('#') ? base : address, here);
    }
    if (const std::string* anchor = here->find_string("$anchor")) {
      found.by_address.emplace(cat(base, "#", *anchor), here);
    }
    const auto add = [&todo, &document = base](const Json& inner, std::string place) {
      if (inner.is_object() && !inner.empty()) todo.push_back({&inner, std::move(place), document});
    };
    for (const auto& [keyword, content] : here->as_object()) {
      if (!is_known_keyword(keyword) && found.warnings.size() < kMostWarnings &&
          ++n_compared <= kMostCompared) {
        const std::string_view meant = meant_by(keyword, limiting_keywords());
        if (!meant.empty()) {
          found.warnings.push_back(cat("the JSON schema, at ", at, ": \"", keyword,
                                       "\" is not a keyword and has no effect; did you mean \"",
                                       meant, "\"?"));
        }
      }
      if (is_among(keyword, kWithSchema)) add(content, below(at, keyword));
      if (is_among(keyword, kWithSchemas) && content.is_array()) {
        for (size_t i = 0; i < content.size(); ++i) add(content[i], below(at, keyword, i));
      }
      if (is_among(keyword, kWithNamedSchemas) && content.is_object()) {
        for (const auto& [name, inner] : content.as_object()) {
          add(inner, below(at, keyword, name));
        }
      }
    }
  }
  return found;
}

}  // namespace kinglet::schema
