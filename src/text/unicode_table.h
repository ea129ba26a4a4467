// The general categories of Unicode, as far as pre-tokenizers ask for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

class UnicodeTable {
 public:
  // Unpacked by the first call; 10 KB.
  static const UnicodeTable& get();

  uint8_t traits(char32_t code_point) const;

 private:
  UnicodeTable();

  // Runs of code points with equal traits, in order: the first code point in the upper 24 bits, the
  // traits in the lower 8. In a run with kUpper and kLower the two take turns, upper first.
  std::vector<uint32_t> runs_;
};

// The data, generated, as pages download it. A run is a byte, with the index of its traits in
// kRunKinds in bits 0 to 3 and its length in bits 4 to 6, and as long as bit 7 is set another one
// with the next higher seven bits of the length.
constexpr size_t kNumRunKinds = 10;
constexpr size_t kNumPackedBytes = 3481;
extern const uint8_t kRunKinds[kNumRunKinds];
extern const uint8_t kPackedRuns[kNumPackedBytes];

}  // namespace kinglet
