// The supported values of the keyword "format".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kinglet::schema {

// Returns the format as a pattern of whole texts: RFC 3339 with its durations, RFC 9562, and the
// usual kinds of addresses. A pattern may allow less than its format. Returns nullopt for a format
// that is not supported.
std::optional<std::string> pattern_of_format(std::string_view format);

// Returns a pattern of at least all texts of the format: for texts that must not have it. Empty if
// there is none.
std::string_view wider_pattern_of_format(std::string_view format);

}  // namespace kinglet::schema
