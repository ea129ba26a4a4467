// Finds a text in another one in time proportional to the sum of their sizes, not to the product: a
// template may search 'aaa…' for 'aaa…b'.
#pragma once

#include <cstddef>
#include <string_view>

namespace kinglet::jinja {

// Like std::string_view::find() and rfind(): both return `npos` if `part` is not found.
size_t find_text(std::string_view whole, std::string_view part, size_t from = 0);
// Returns the last occurrence that begins at or before `last`.
size_t find_last_text(std::string_view whole, std::string_view part,
                      size_t last = std::string_view::npos);

}  // namespace kinglet::jinja
