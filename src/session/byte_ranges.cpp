#include "session/byte_ranges.h"

#include <algorithm>

namespace kinglet {
namespace {

constexpr char32_t kLastCodePoint = 0x10ffff;

}  // namespace

std::vector<CodePointRange> normalized(std::vector<CodePointRange> ranges, bool negated) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<CodePointRange> members;
  std::vector<CodePointRange> others;
  char32_t next = 0;  // the first character that is not yet in either
  for (const CodePointRange range : ranges) {
    const char32_t first = std::max(first_of(range), next);
    if (last_of(range) < first) continue;
    if (first > next) others.push_back(code_points(next, first - 1));
    members.push_back(code_points(first, last_of(range)));
    next = last_of(range) + 1;
  }
  if (next <= kLastCodePoint) others.push_back(code_points(next, kLastCodePoint));
  return negated ? others : members;
}

// Returns characters of equal length at the beginning of the range. Their bytes are first the same
// in all characters, then one byte is in a range, and each byte after that may be anything.
CodePointRange first_byte_sequence(CodePointRange range) {
  // The last characters of one byte, of two, of three (below the surrogates, the surrogates, above
  // them) and of four.
  constexpr char32_t kLast[] = {0x7f, 0x7ff, 0xd7ff, 0xdfff, 0xffff, kLastCodePoint};
  const char32_t first = first_of(range);
  const char32_t* kind = kLast;
  while (*kind < first) ++kind;
  const char32_t last = std::min(last_of(range), *kind);
  char32_t end = last;
  for (char32_t low_bits = 0x3f; last >= 0x80 && low_bits <= 0x3ffff;
       low_bits = low_bits << 6 | 0x3f) {
    if ((first & ~low_bits) == (last & ~low_bits)) break;
    if ((first & low_bits) != 0)
      return code_points(first, std::min<char32_t>(end, first | low_bits));
    if ((last & low_bits) != low_bits) end = (last & ~low_bits) - 1;
  }
  return code_points(first, end);
}

}  // namespace kinglet
