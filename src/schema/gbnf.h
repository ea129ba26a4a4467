// Writes GBNF. Every expression from here can be put into a sequence or repeated without brackets.
// An empty string is not an expression: it stands for one that is absent or matches nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "schema/character_set.h"

namespace kinglet::schema {

constexpr uint64_t kUnlimited = UINT64_MAX;

// Matches the empty text.
constexpr std::string_view kEmptyText = R"("")";

std::string literal(std::string_view text);

// Matches one of the characters; there must be at least one.
std::string one_of(const CharacterSet& characters);

// Leaves out absent parts.
std::string sequence(std::initializer_list<std::string_view> parts);
std::string sequence(const std::vector<std::string>& parts);

// Leaves out parts that match nothing, and repeated ones. Empty if none is left.
std::string alternatives(std::initializer_list<std::string_view> parts);
std::string alternatives(const std::vector<std::string>& parts);

// `most` may be kUnlimited.
std::string repeat(std::string_view part, uint64_t least, uint64_t most);

}  // namespace kinglet::schema
