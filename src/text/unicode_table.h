// The general categories of Unicode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kinglet {

// What tokenizers need of the categories: the bits of a code point's traits. Unassigned code points
// have no bits.
namespace trait {
constexpr uint16_t kLetter = 1;       // \p{L}
constexpr uint16_t kNumber = 2;       // \p{N}
constexpr uint16_t kMark = 4;         // \p{M}
constexpr uint16_t kPunctuation = 8;  // \p{P}
constexpr uint16_t kSymbol = 16;      // \p{S}
constexpr uint16_t kSpace = 32;       // \p{White_Space}
constexpr uint16_t kUpper = 64;       // \p{Lu} and \p{Lt}, in addition to kLetter
constexpr uint16_t kLower = 128;      // \p{Ll}, in addition to kLetter
constexpr uint16_t kAccent = 256;     // \p{Mn}, in addition to kMark
constexpr uint16_t kControl = 512;    // \p{Cc}, \p{Cf}, \p{Co}, except tab, LF and CR
}  // namespace trait

// The general categories, in the order of the bits of a set. Surrogates (Cs) count as unassigned.
enum class Category : uint8_t {
  // clang-format off
  lu, ll, lt, lm, lo,          // letters
  mn, mc, me,                  // marks
  nd, nl, no,                  // numbers
  pc, pd, ps, pe, pi, pf, po,  // punctuation
  sm, sc, sk, so,              // symbols
  zs, zl, zp,                  // separators
  cc, cf, co, cn,              // others
  // clang-format on
};
using Categories = uint32_t;

constexpr Categories bit_of(Category category) {
  return Categories{1} << static_cast<unsigned>(category);
}

// From the first code point to the last.
struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Whether one of the ranges, which are in ascending order, contains the code point.
bool is_in(std::span<const CodePointRange> ranges, char32_t code_point);

class UnicodeTable {
 public:
  // The first call unpacks the table (10 KB).
  static const UnicodeTable& get();

  uint16_t traits(char32_t code_point) const;

  // Returns the code points of these categories, in order.
  std::vector<CodePointRange> with_categories(Categories categories) const;

 private:
  UnicodeTable();

  // Runs of code points of the same kind, in order: the first code point in the upper 21 bits, the
  // kind in the lower 11. Kinds are categories, and those of unicode_table.cpp.
  std::vector<uint32_t> runs_;
};

// Generated data, packed because pages download it. The first byte of a run has its kind in bits 0
// to 4, and the low bits of its length in bits 5 and 6. If bit 7 of a byte is set, another byte
// follows, with the next seven bits of the length.
constexpr size_t kNumPackedBytes = 4538;
extern const uint8_t kPackedRuns[kNumPackedBytes];

}  // namespace kinglet
