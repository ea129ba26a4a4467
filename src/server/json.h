// Reads the JSON of clients, and writes the JSON of answers.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "server/api_error.h"

namespace kinglet::server {

// Objects keep the order of their members: an answer's members have the order of its schema.
using Json = nlohmann::ordered_json;

// Limits of what is read: a larger request makes no sense, and would take long to read.
constexpr size_t kMostJsonDepth = 128;
constexpr size_t kMostJsonKeys = 1024;  // of an object

// Parses a text. Fails if it is not JSON in UTF-8, is nested too deep, or has an object with too
// many keys.
ApiResult<Json> parse_json(std::string_view text);

// Prints JSON on one line. Bytes that are not UTF-8 are replaced by U+FFFD.
std::string print(const Json& value);

}  // namespace kinglet::server
