// What the name of a token says about it if the file does not.
#pragma once

#include <cstdint>
#include <string_view>

#include "gguf/header.h"

namespace kinglet {

enum class NameMeaning : uint8_t {
  none,
  mark,  // a mark of structure, whatever type the file gives the token
  end,   // a mark of structure that ends generation
};

// Whether an id in the metadata means that there is no such token. Converters write -1 then, or
// what -1 becomes in a type without a sign.
bool means_no_token(const MetadataValue& id);

// Returns the meaning of a token spelled `text` in the vocabulary of `header`.
NameMeaning meaning_of_name(const GgufHeader& header, std::string_view text);

}  // namespace kinglet
