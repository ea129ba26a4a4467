#include "grammar/byte_ranges.h"

#include <algorithm>

namespace kinglet {

// Returns characters of equal length at the beginning of the range. Their bytes are first the same
// in all characters, then one byte is in a range, and each byte after that may be anything.
CodePoints first_byte_sequence(CodePoints range) {
  // The last characters of one byte, of two, of three (below the surrogates, the surrogates, above
  // them) and of four.
  constexpr char32_t kLast[] = {0x7f, 0x7ff, 0xd7ff, 0xdfff, 0xffff, kLastCodePoint};
  const char32_t first = range.first;
  const char32_t* kind = kLast;
  while (*kind < first) ++kind;
  const char32_t last = std::min(range.last, *kind);
  char32_t end = last;
  for (char32_t low_bits = 0x3f; last >= 0x80 && low_bits <= 0x3ffff;
       low_bits = low_bits << 6 | 0x3f) {
    if ((first & ~low_bits) == (last & ~low_bits)) break;
    if ((first & low_bits) != 0) return {first, std::min<char32_t>(end, first | low_bits)};
    if ((last & low_bits) != low_bits) end = (last & ~low_bits) - 1;
  }
  return {first, end};
}

}  // namespace kinglet
