// The general categories of Unicode, as far as tokenizers ask for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kinglet {

// Bits of a code point's traits. Unassigned code points have none.
namespace trait {
constexpr uint16_t kLetter = 1;       // \p{L}
constexpr uint16_t kNumber = 2;       // \p{N}
constexpr uint16_t kMark = 4;         // \p{M}
constexpr uint16_t kPunctuation = 8;  // \p{P}
constexpr uint16_t kSymbol = 16;      // \p{S}
constexpr uint16_t kSpace = 32;       // \p{White_Space}
constexpr uint16_t kUpper = 64;       // \p{Lu} and \p{Lt}, besides kLetter
constexpr uint16_t kLower = 128;      // \p{Ll}, besides kLetter
constexpr uint16_t kAccent = 256;     // \p{Mn}, besides kMark
constexpr uint16_t kControl = 512;    // \p{Cc}, \p{Cf}, \p{Co}, but for tab, LF and CR
}  // namespace trait

class UnicodeTable {
 public:
  // Unpacked by the first call; 10 KB.
  static const UnicodeTable& get();

  uint16_t traits(char32_t code_point) const;

 private:
  UnicodeTable();

  // Runs of code points with equal traits, in order: the first code point in the upper 21 bits, the
  // traits in the lower 11. In a run with kUpper and kLower the two take turns, upper first.
  std::vector<uint32_t> runs_;
};

// The data, generated, as pages download it. A run is a byte, with the index of its traits in
// kRunKinds in bits 0 to 3 and its length in bits 4 to 6, and as long as bit 7 is set another one
// with the next higher seven bits of the length.
constexpr size_t kNumRunKinds = 13;
constexpr size_t kNumPackedBytes = 3728;
extern const uint16_t kRunKinds[kNumRunKinds];
extern const uint8_t kPackedRuns[kNumPackedBytes];

}  // namespace kinglet
