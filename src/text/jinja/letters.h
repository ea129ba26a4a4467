// The upper and lower case of letters, as in Python's str, for the most common scripts.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinglet::jinja {

enum class Case : uint8_t {
  none,  // not a letter, or a letter without case
  lower,
  upper,
  unknown,  // this file does not know the case
};

struct Letter {
  Case own = Case::none;
  char32_t other = 0;  // the same letter in the other case
};

Letter letter_of(char32_t code_point);

}  // namespace kinglet::jinja
