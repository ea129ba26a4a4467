// Sets of characters, as ranges of code points.
#pragma once

#include <vector>

namespace kinglet {

// From the first code point to the last.
struct CodePoints {
  char32_t first;
  char32_t last;

  bool operator==(const CodePoints&) const = default;
};

// The first functions here take ranges in any order, and return them in order and apart.
using CharacterSet = std::vector<CodePoints>;

constexpr char32_t kLastCodePoint = 0x10ffff;
constexpr CodePoints kAnyCodePoint = {0, kLastCodePoint};

CharacterSet normalized(CharacterSet set);
CharacterSet complement(CharacterSet set);
CharacterSet intersection(const CharacterSet& a, const CharacterSet& b);

// The set's ranges are in order.
bool contains(const CharacterSet& set, char32_t code_point);

}  // namespace kinglet
