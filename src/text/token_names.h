// What the name of a token tells where a file does not.
#pragma once

#include <cstdint>
#include <string_view>

#include "gguf/header.h"

namespace kinglet {

enum class NameMeaning : uint8_t {
  none,
  mark,  // of structure, whatever type the file gives the token
  end,   // a mark at which generation ends
};

// Of a token spelled `text` in a vocabulary of `header`.
NameMeaning meaning_of_name(const GgufHeader& header, std::string_view text);

}  // namespace kinglet
