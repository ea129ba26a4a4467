// Looks through a schema for names that references use, and for keywords that seem to be misspelt.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/json.h"

namespace kinglet::schema {

struct SchemaSurvey {
  // The schemas with "$id" or "$anchor", by their whole addresses: "https://a.example/b#name".
  std::unordered_map<std::string, const Json*> by_address;
  // What is probably a mistake, with its place.
  std::vector<std::string> warnings;
};

SchemaSurvey survey(const Json& schema);

// Returns the address that a reference names in a document of the address `base`.
std::string address_of(std::string_view base, std::string_view reference);

// Returns what "$id" or "id" says; empty if there is neither.
std::string_view id_of(const Json& schema);

}  // namespace kinglet::schema
