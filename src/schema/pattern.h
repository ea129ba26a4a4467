// Parses regular expressions (ECMA-262 with the u flag, as JSON Schema requires) into trees.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/character_set.h"

namespace kinglet::schema {

struct Pattern {
  enum class Kind : uint8_t {
    set,
    sequence,
    choice,
    repeat,  // of the only part
    start,
    end,         // ^ and $
    look_ahead,  // the only part follows, or does not if it `is_negated`
  };

  Kind kind;
  std::vector<Pattern> parts = {};
  CharacterSet characters = {};
  uint64_t least = 0;
  uint64_t most = 0;  // may be kUnlimited
  bool is_negated = false;
};

// Backslashes may stand in front of marks that need none, such as \@ or \", as in ECMAScript
// without the u flag and in other languages. ErrorCode::invalid_argument says why a pattern is not
// supported.
Result<Pattern> parse_pattern(std::string_view pattern);

}  // namespace kinglet::schema
