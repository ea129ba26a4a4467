// The characters of strings. If a text must be distinguished from others (by a pattern or as a
// property's name), each character has only one spelling: it is escaped only if it must be.
#pragma once

#include <string>
#include <string_view>

#include "grammar/character_set.h"
#include "grammar/expression.h"

namespace kinglet::schema {

// GBNF for any character of a JSON string, in all spellings but one: two escapes for a surrogate
// pair are not allowed, because one of them alone would be half a character.
constexpr std::string_view kAnyJsonCharacter =
    R"([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | )"
    R"([dD] [0-7] [0-9a-fA-F]{2})))";

// GBNF for the characters of a JSON string that are not printable ASCII, and for the quotation mark
// and the backslash: in one spelling each.
constexpr std::string_view kOtherJsonCharacter =
    R"([\u007f-\ud7ff\ue000-\U0010ffff] | "\\" (["\\bfnrt] | "u00" ("0" [0-7be] | "1" [0-9a-f])))";

// How the characters of a string are spelled.
struct Characters {
  // The mark on both sides of the string. Then JSON's escapes are used. '\0': there are no escapes,
  // and so no control characters but tabs and line breaks.
  char quote = '\0';

  // Returns an expression of one of the characters; empty if none of them can be spelled.
  Expression spell(const CharacterSet& characters) const;
};

// Returns the text as a JSON string, but between other quotation marks.
std::string quoted(std::string_view text, char quote);

}  // namespace kinglet::schema
