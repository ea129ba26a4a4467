// The cases of letters, as Python's str knows them, in the scripts that are written most.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinglet::jinja {

enum class Case : uint8_t {
  none,  // no letter, or of a script without cases
  lower,
  upper,
  unknown,  // in a script whose cases are not here
};

struct Letter {
  Case own = Case::none;
  char32_t other = 0;  // the same letter in the other case
};

Letter letter_of(char32_t code_point);

}  // namespace kinglet::jinja
