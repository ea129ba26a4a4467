// The characters with a property of Unicode, as patterns name it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "grammar/character_set.h"

namespace kinglet::schema {

// `property` is what stands between the braces of \p{}: a general category ("L", "Letter",
// "gc=Letter"), or one of a few properties of single characters, such as "Alphabetic" and "Emoji".
// Returns nullopt for others.
std::optional<CharacterSet> characters_with(std::string_view property);

// Generated data, packed because pages download it. For each property in the order of
// unicode_property.cpp: the number of ranges of its characters that are not in its categories, then
// for each range how many characters are between it and the one before, and in it. Each number has
// seven bits in a byte, the low ones first; bit 7 is set in all bytes but its last.
constexpr size_t kNumPropertyBytes = 1601;
extern const uint8_t kPackedProperties[kNumPropertyBytes];

}  // namespace kinglet::schema
