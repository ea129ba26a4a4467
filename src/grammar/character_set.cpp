#include "grammar/character_set.h"

#include <algorithm>
#include <utility>

namespace kinglet {

CharacterSet normalized(CharacterSet set) {
  std::sort(set.begin(), set.end(), [](CodePoints a, CodePoints b) { return a.first < b.first; });
  CharacterSet out;
  for (const CodePoints range : set) {
    if (!out.empty() && range.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

CharacterSet complement(CharacterSet set) {
  CharacterSet out;
  char32_t next = 0;
  set = normalized(std::move(set));
  for (const CodePoints range : set) {
    if (range.first > next) out.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) out.push_back({next, kLastCodePoint});
  return out;
}

CharacterSet intersection(const CharacterSet& a, const CharacterSet& b) {
  CharacterSet outside = complement(a);
  const CharacterSet outside_b = complement(b);
  outside.insert(outside.end(), outside_b.begin(), outside_b.end());
  return complement(std::move(outside));
}

bool contains(const CharacterSet& set, char32_t code_point) {
  const auto range = std::partition_point(
      set.begin(), set.end(), [code_point](CodePoints before) { return before.last < code_point; });
  return range != set.end() && code_point >= range->first;
}

}  // namespace kinglet
