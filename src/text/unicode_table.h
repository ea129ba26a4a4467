// The general categories of Unicode, as far as pre-tokenizers ask for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace kinglet {

// Bits of a code point's traits. Unassigned code points, controls and formats have none.
namespace trait {
constexpr uint8_t kLetter = 1;       // \p{L}
constexpr uint8_t kNumber = 2;       // \p{N}
constexpr uint8_t kMark = 4;         // \p{M}
constexpr uint8_t kPunctuation = 8;  // \p{P}
constexpr uint8_t kSymbol = 16;      // \p{S}
constexpr uint8_t kSpace = 32;       // \p{White_Space}
constexpr uint8_t kUpper = 64;       // \p{Lu} and \p{Lt}, besides kLetter
constexpr uint8_t kLower = 128;      // \p{Ll}, besides kLetter
}  // namespace trait

// Runs of code points with equal traits, in order: the first code point in the upper 24 bits, the
// traits in the lower 8. In a run with kUpper and kLower the two take turns, upper first.
constexpr size_t kNumUnicodeRuns = 2562;
extern const uint32_t kUnicodeRuns[kNumUnicodeRuns];

inline uint8_t unicode_traits(char32_t code_point) {
  const uint32_t after = (static_cast<uint32_t>(code_point) + 1) << 8;
  const uint32_t run =
      *std::prev(std::lower_bound(std::begin(kUnicodeRuns), std::end(kUnicodeRuns), after));
  constexpr uint32_t kAlternates = trait::kUpper | trait::kLower;
  if ((run & kAlternates) != kAlternates) return static_cast<uint8_t>(run);
  const bool is_lower = (code_point - (run >> 8)) % 2 != 0;
  return trait::kLetter | (is_lower ? trait::kLower : trait::kUpper);
}

}  // namespace kinglet
