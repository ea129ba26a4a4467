// Finding a text in another in time that grows with their sizes, not with the product of them: a
// template may ask for 'aaa…b' in 'aaa…'.
#pragma once

#include <cstddef>
#include <string_view>

namespace kinglet::jinja {

// As the methods of std::string_view: `npos` where there is none.
size_t find_text(std::string_view whole, std::string_view part, size_t from = 0);
// The last one that begins at `last` or before.
size_t find_last_text(std::string_view whole, std::string_view part,
                      size_t last = std::string_view::npos);

}  // namespace kinglet::jinja
