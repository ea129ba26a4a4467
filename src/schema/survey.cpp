#include "schema/survey.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
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

std::string lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// Returns how many letters were added, left out, replaced or swapped.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before;
  std::vector<size_t> last(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row = {i};
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row.push_back(std::min({replaced, last[j] + 1, row[j - 1] + 1}));
      const bool are_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (are_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

// Returns the keyword for which this one was probably meant; empty if there is none.
std::string_view meant_by(std::string_view keyword) {
  constexpr size_t kShort = 5;
  constexpr size_t kLong = 24;
  if (keyword.size() > kLong) return {};
  const std::string lower = lower_case(keyword);
  std::string_view meant;
  size_t least = 3;
  for (const std::string_view known : limiting_keywords()) {
    if (known.size() < 4) continue;
    const size_t n = distance(lower, lower_case(known));
    const bool is_near =
        n < least && n <= (std::min(known.size(), keyword.size()) > kShort ? 2 : 1);
    if (!is_near) continue;
    least = n;
    meant = known;
  }
  return meant;
}

struct Place {
  const Json* schema;
  std::string at;
  std::string base;
};

}  // namespace

std::string_view id_of(const Json& schema) {
  const std::string* id = schema.find_string("$id");
  if (id == nullptr) id = schema.find_string("id");
  return id == nullptr ? std::string_view() : *id;
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
      if (inner.is_object()) todo.push_back({&inner, std::move(place), document});
    };
    for (const auto& [keyword, content] : here->as_object()) {
      if (!is_known_keyword(keyword) && found.warnings.size() < kMostWarnings) {
        const std::string_view meant = meant_by(keyword);
        if (!meant.empty()) {
          found.warnings.push_back(cat("the JSON schema, at ", at, ": \"", keyword,
                                       "\" is no keyword and limits nothing; \"", meant,
                                       "\" may be meant"));
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
