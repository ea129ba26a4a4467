// JSON as it comes from clients and goes to them.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "server/api_error.h"

namespace kinglet::server {

// Objects keep the order of their members: a schema's is that of the answer.
using Json = nlohmann::ordered_json;

// Beyond these no request makes sense, and reading it would take long.
constexpr size_t kMostJsonDepth = 128;
constexpr size_t kMostJsonKeys = 1024;  // of an object

// Refuses what is not JSON in UTF-8, is nested too deep, or has objects with too many keys.
ApiResult<Json> parse_json(std::string_view text);

// On one line. Texts that are not UTF-8 get U+FFFD.
std::string print(const Json& value);

}  // namespace kinglet::server
